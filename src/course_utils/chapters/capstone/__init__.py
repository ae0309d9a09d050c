"""What the chapter of the whole project alone needs.

``project/`` is that project, ``shapefinder``: its package, its tests, its README. ``workshop``
writes it out and puts a learner's modules into it; ``trials`` runs its tests on an answer, and
``hidden`` has seeded cases beyond them. The project is a package with settings of its own: the
course's linters leave it out, and a test of the chapter lints it by those.
"""

from course_utils.chapters.capstone.workshop import Workshop as Workshop
