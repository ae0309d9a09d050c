"""The ``course`` command, for instructors and CI. No notebook imports from here."""

from course_utils import lean_imports as lean_imports
