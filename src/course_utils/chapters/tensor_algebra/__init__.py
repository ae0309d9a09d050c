"""What the chapter tensor algebra tries answers with, and compares them with."""

from course_utils.chapters.tensor_algebra.einsums import check_strings
from course_utils.chapters.tensor_algebra.patterns import (
    check_patterns,
    draw_tiles,
    truths_of_six,
    truths_of_tiles,
)
from course_utils.chapters.tensor_algebra.pooling import (
    images_to_pool,
    slip_of_pooling,
    slopes_to_pool,
    small_storages,
)
from course_utils.chapters.tensor_algebra.puzzles import check_growth, digits, more_slips
