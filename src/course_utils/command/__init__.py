"""The instructor's and CI's door: the ``course`` command. No notebook imports from here."""

from course_utils import lean_imports as lean_imports
