"""What the chapter on optimizers tries answers with, and compares them with."""

from course_utils.chapters.optimizers.adam import (
    ADAM_CASES,
    ADAM_OPTIONS,
    NAN,
    check_adam_run,
    check_defaults,
    check_halved,
    check_odd_runs,
    run_adam,
    torch_adam,
)
from course_utils.chapters.optimizers.clipping import check_clip, run_clip
from course_utils.chapters.optimizers.decays import decay_of
from course_utils.chapters.optimizers.groups import GROUPS, check_groups, run_groups
from course_utils.chapters.optimizers.library_parts import (
    library_clip,
    library_groups,
    library_schedule,
)
from course_utils.chapters.optimizers.minimum import check_minimum, run_lbfgs
from course_utils.chapters.optimizers.muon import MUON_CASES, check_muon
from course_utils.chapters.optimizers.race import (
    BUDGET,
    TARGET,
    by_library,
    run_race,
    run_race_with,
)
from course_utils.chapters.optimizers.range_runs import (
    RANGE_CASES,
    check_range_of_line,
    check_range_of_network,
    run_range,
)
from course_utils.chapters.optimizers.schedules import (
    RATE_CASES,
    check_rates,
    machine_rates,
    rounded,
)
from course_utils.chapters.optimizers.settles import NEAR_CASES, SETTLE_CASES, check_settles
from course_utils.chapters.optimizers.sgd_small import SGD_SMALL, check_small
from course_utils.chapters.optimizers.steps import (
    SGD_CASES,
    check_sgd_run,
    check_sgd_step,
    run_sgd_with,
    told,
)
from course_utils.chapters.optimizers.stories import tell_story
