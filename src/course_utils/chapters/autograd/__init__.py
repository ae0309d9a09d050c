"""What the checks of the chapter on autograd compare with: right values, and those of known slips.

A function here that needs an answer takes it, or a locked function that tries it, as its first
argument, so that the judge can hand over a stand-in.
"""

from course_utils.chapters.autograd.by_hand import WALK, check_walk
from course_utils.chapters.autograd.bytes_kept import (
    FUNCTIONS,
    bytes_over_time,
    check_bytes,
    check_counts,
    kept,
    large,
    more_bytes,
    try_counting,
)
from course_utils.chapters.autograd.drawings import draw_matrix
from course_utils.chapters.autograd.engines import (
    ENGINES,
    MORE_RULES,
    ORDERS,
    check_chain,
    check_engine,
    check_order,
    check_rule,
    made_from,
    random_programs,
    torch_engine,
)
from course_utils.chapters.autograd.networks import (
    check_networks,
    further_networks,
    network_by_autograd,
    network_slips,
)
from course_utils.chapters.autograd.products import (
    EMPTY_VJPS,
    check_sums,
    check_vjp,
    check_vjps,
    further_vjps,
    more_sums,
)
from course_utils.chapters.autograd.repairs import check_repair, check_repairs, verdict_on
from course_utils.learner.line_limits import TooManyLines, at_most_lines
