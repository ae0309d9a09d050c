"""What the chapter of the whole project alone needs.

``project/`` is that project, ``shapefinder``: its package, its tests, its README. ``workshop``
writes it out and puts a learner's modules into it; ``trials`` runs its tests on an answer, and
``hidden`` has seeded cases beyond them. ``.ignore`` keeps the course's type checker out of the
project, which is a package of its own; a test of the chapter lints it by its own settings.
"""

from course_utils.chapters.capstone.workshop import Workshop as Workshop
