"""What works on nbgrader's files and its database: steps of its own, feedback, and its plug-ins."""

from course_utils import lean_imports as lean_imports
