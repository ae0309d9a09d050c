import pytest

from support.tiny import make_tiny_course


@pytest.fixture
def tiny_chapter(tmp_path):
    """The only chapter of a throw-away course in ``tmp_path``, not yet built."""
    return make_tiny_course(tmp_path)
