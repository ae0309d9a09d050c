"""What the chapter training tries answers with, and compares them with."""

from course_utils.chapters.training.averages import (
    check_average,
    check_odd,
    check_swapped,
    check_weight,
    make_states,
    run_swapped_in,
)
from course_utils.chapters.training.counts import (
    call_metrics,
    check_counts,
    check_twice,
    few_samples,
    make_batches,
    right_metrics,
    run_reads,
    try_all,
)
from course_utils.chapters.training.data import digits, make_model, score, train_epoch
from course_utils.chapters.training.determinism import (
    check_alone,
    check_apart,
    check_kept,
    check_normal,
    check_pairs,
    check_shuffled,
    pairs_of,
    run_deterministic,
    run_kept,
    run_many,
)
from course_utils.chapters.training.distilling import (
    DISTILLED,
    check_loss,
    check_slope,
    distill_once,
    one_slip_in,
    right_loss,
    run_distill,
)
from course_utils.chapters.training.fitting import (
    FITS,
    check_calls,
    check_numbers,
    check_plain,
    check_weights,
    run_fit,
    true_fit,
)
from course_utils.chapters.training.killed import (
    every_moment,
    in_a_child,
    made_in_a_child,
    resume_from_a_child,
)
from course_utils.chapters.training.mixing import (
    BOXES,
    MIXED,
    check_mix,
    close,
    image_slip_of,
    make_mix,
    one_slip_of,
    right_mix,
)
from course_utils.chapters.training.odd_losses import check_steps, run_steps
from course_utils.chapters.training.patients import KINDS, patient, patients
from course_utils.chapters.training.precision import BECAUSE, amp_plain, seen_dtypes, seen_scales
from course_utils.chapters.training.saves import (
    SAVES,
    check_again,
    check_files,
    check_remains,
    right_folder,
    run_kills,
    run_saves,
)
from course_utils.chapters.training.states import frozen, not_plain, parts_of
from course_utils.chapters.training.stopping import (
    STOPS,
    check_stopped,
    one_slip,
    right_stop,
    run_early_stopping,
)
from course_utils.chapters.training.transferring import (
    check_bare,
    check_elsewhere,
    check_modes,
    check_rates,
    check_single,
    make_two,
    run_bare,
    run_elsewhere,
    run_norms,
    run_transfer,
)
from course_utils.chapters.training.tries import Tried
from course_utils.learner.processes import end_at_once
