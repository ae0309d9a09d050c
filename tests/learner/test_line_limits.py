"""How long a block may work."""

import pytest

from course_utils.learner.line_limits import TooManyLines, at_most_lines


def test_a_walk_that_never_ends_is_stopped():
    with pytest.raises(TooManyLines), at_most_lines(100):
        sum_of_all(1000)
    with at_most_lines(100):
        assert sum_of_all(3) == 3


def sum_of_all(count: int) -> int:
    total = 0
    for number in range(count):
        total += number
    return total
