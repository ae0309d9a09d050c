"""nbgrader's settings that students and instructors share: where the exchange is."""

from pathlib import Path

c = get_config()  # noqa: F821 -- traitlets defines it when it loads this file

c.CourseDirectory.course_id = "pytorch"
c.Exchange.root = str(Path(__file__).resolve().parents[1] / "exchange")
