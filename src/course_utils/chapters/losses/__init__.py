"""What the checks of the chapter on losses compare with: right values, and those of known slips.

A loss is one number. When it is wrong, the number often tells which mistake was made: so a check
computes what each well-known slip would give, and :func:`check_number` says the words for it.
"""

from course_utils.chapters.losses.cross_entropy import check_cross_entropy, ignorance_slips
from course_utils.chapters.losses.distributions import (
    check_kl_directions,
    check_pinball,
    check_recipe,
    check_unequal,
    kl_truths,
    pinball_truth,
)
from course_utils.chapters.losses.embeddings import (
    check_info_nce,
    check_no_loop,
    check_triplets,
    info_nce_truth,
    photos_of_persons,
)
from course_utils.chapters.losses.numbers import (
    check_number,
    every_case,
    names_of_calls,
    value_and_gradient,
)
from course_utils.chapters.losses.own_loss import (
    after_an_earlier_batch,
    check_generalised,
    left_on_the_cpu,
    made_loss,
    spoilt_digits,
    trained_as_given,
)
from course_utils.chapters.losses.penalties import (
    check_penalty,
    check_shrink,
    penalty_model,
    penalty_truth,
    run_penalty,
)
from course_utils.chapters.losses.rare_classes import (
    check_imbalance,
    check_way_back,
    fit_linear,
    focal,
    skewed_set,
)
from course_utils.chapters.losses.sequences import padded_batch, priced, sequence_truths
