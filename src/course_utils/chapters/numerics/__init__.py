"""What the chapter on numerics checks and draws with: cases whose failures name the slip.

Each ``check_…`` tries one or a few cases, under ``with case(name):`` of :class:`every_case`. Where
a graph or a count is needed that cannot travel from the judge, it takes a function of a locked
cell that runs with the answer (``gradient``, ``calls``, ``operators``), called with its name.
"""

from course_utils.chapters.numerics.distances import (
    check_distance_corners,
    check_distance_cost,
    check_distances,
    check_far_distances,
    check_root,
    check_root_in_use,
)
from course_utils.chapters.numerics.linear_algebra import (
    check_blocks,
    check_eigen,
    check_eigen_corners,
    check_first_step,
    check_fit,
    check_fit_corners,
    check_fit_way,
    check_growth,
    check_lost,
    check_only_norms,
    check_own_generator,
    check_qr,
    check_steps,
)
from course_utils.chapters.numerics.notes import check_form, check_left, left_on, operators_of
from course_utils.chapters.numerics.pictures import (
    draw_bands,
    draw_errors,
    draw_gaps,
    draw_guesses,
    draw_window,
)
from course_utils.chapters.numerics.rulers import LIBRARY, check_white, check_white_far, solved
from course_utils.chapters.numerics.softmax import (
    check_logsumexp,
    check_logsumexp_corners,
    check_logsumexp_slope,
    check_logsumexp_slope_corners,
    check_masked,
    check_masked_corners,
    check_masked_slope,
)
from course_utils.chapters.numerics.sums import (
    check_covariance,
    check_covariance_corners,
    check_covariance_way,
    check_sum_corners,
    check_sum_error,
    check_sum_way,
)
