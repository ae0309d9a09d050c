"""The files of the course's own package."""

from support.answers import ROOT

# What 21 hands to learners: a package with settings and tests of its own (test_capstone runs them).
HANDED_OUT = ROOT / "src" / "course_utils" / "chapters" / "capstone" / "project"
PACKAGE = [path for path in ROOT.glob("src/**/*.py") if not path.is_relative_to(HANDED_OUT)]
