"""What the notebook's locked cells and checks call, an exercise a line."""

from course_utils.chapters.modules.averages import check_average, run_average
from course_utils.chapters.modules.dropping import (
    check_draws,
    check_range,
    check_shapes,
    check_shares,
    check_still,
    check_training,
    run_dropout,
    run_module,
)
from course_utils.chapters.modules.freezing import (
    check_freeze,
    check_norms,
    check_refused,
    check_small,
    run_freeze,
)
from course_utils.chapters.modules.lists import (
    check_trap,
    check_weight,
    run_list_trap,
    run_set_weight,
)
from course_utils.chapters.modules.own_module import run_modes, run_names, run_state, run_tree
from course_utils.chapters.modules.own_module_checks import (
    CHANGES,
    check_load,
    check_modes,
    check_names,
    check_one_name,
    check_state,
    check_tree,
    mini_state,
)
from course_utils.chapters.modules.registration import check_registration
from course_utils.chapters.modules.replacing import check_swap, run_replace
from course_utils.chapters.modules.starts import (
    check_squares,
    check_zoo,
    run_init,
    run_init_alone,
    run_squares,
)
from course_utils.chapters.modules.surgery import (
    Tricky,
    check_besides,
    check_prefixes,
    check_report,
    check_unlike,
    filled,
    run_surgery,
)
from course_utils.chapters.modules.twins import (
    check_ensemble,
    check_twin,
    run_ensemble,
    run_functional_twin,
)

__all__ = [
    "CHANGES",
    "Tricky",
    "check_average",
    "check_besides",
    "check_draws",
    "check_ensemble",
    "check_freeze",
    "check_load",
    "check_modes",
    "check_names",
    "check_norms",
    "check_one_name",
    "check_prefixes",
    "check_range",
    "check_refused",
    "check_registration",
    "check_report",
    "check_shapes",
    "check_shares",
    "check_small",
    "check_squares",
    "check_state",
    "check_still",
    "check_swap",
    "check_training",
    "check_trap",
    "check_tree",
    "check_twin",
    "check_unlike",
    "check_weight",
    "check_zoo",
    "filled",
    "mini_state",
    "run_average",
    "run_dropout",
    "run_ensemble",
    "run_freeze",
    "run_functional_twin",
    "run_init",
    "run_init_alone",
    "run_list_trap",
    "run_modes",
    "run_module",
    "run_names",
    "run_replace",
    "run_set_weight",
    "run_squares",
    "run_state",
    "run_surgery",
    "run_tree",
]
