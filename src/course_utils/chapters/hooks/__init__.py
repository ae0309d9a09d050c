"""How the chapter on hooks tries an answer: models, a count of hooks, runs, and what is right.

A function ``run_…`` calls the learner's function, in the learner's process, and returns plain
values. A function ``check_…`` is handed a function of the notebook that does so, and compares with
what it computes by itself.
"""

from course_utils.chapters.hooks.backward_hooks import (
    check_ill_layer,
    check_monitor,
    check_places,
    order_of_hooks,
    run_monitor,
)
from course_utils.chapters.hooks.capture import check_capture, check_unknown_name, run_capture
from course_utils.chapters.hooks.counting import hooks_on
from course_utils.chapters.hooks.grad_cam import (
    check_cam_that_raises,
    check_grad_cam,
    run_grad_cam,
)
from course_utils.chapters.hooks.in_state import check_all_states, run_in_state
from course_utils.chapters.hooks.intervention import (
    check_clean_after_error,
    check_deciding,
    check_intervention,
    make_committee,
    run_intervention,
    transplant,
)
from course_utils.chapters.hooks.loading import check_loading, check_unknown_key, run_loading
from course_utils.chapters.hooks.saved_tensors import check_bring_back, check_offload, run_offload
from course_utils.chapters.hooks.steps import check_steps, run_steps
from course_utils.chapters.hooks.tensor_hooks import (
    check_freezing,
    check_reversal,
    frozen_row_moves,
    run_freezing,
    run_reversal,
)
from course_utils.chapters.hooks.weight_norm import check_weight_norm, run_weight_norm
