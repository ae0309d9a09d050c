"""What the chapter on custom gradients draws with, and how its exercises are tried and checked.

A ``run_…`` function takes a learner's function or class and returns plain values. In the notebook a
locked function that runs with the answer calls it. A ``check_…`` function takes that locked
function, tries one case and compares, with words for the slips that are known.
"""

from course_utils.chapters.custom_gradients.checkpoints import (
    check_checkpoint,
    check_state,
    run_checkpoint,
    states_of,
)
from course_utils.chapters.custom_gradients.curvature import (
    LANDSCAPES,
    check_newton,
    check_product,
    descent_path,
    newton_path,
    run_curvature,
    solve,
)
from course_utils.chapters.custom_gradients.elementwise import (
    check_elu,
    check_length,
    elu_inputs,
    length_inputs,
    run_elu,
    run_length,
)
from course_utils.chapters.custom_gradients.gradient_tests import (
    BASES,
    check_verdicts,
    line_up,
    run_the_test,
)
from course_utils.chapters.custom_gradients.jacobians import (
    MAPS,
    check_jacobian,
    draw_jacobian,
    run_jacobian,
)
from course_utils.chapters.custom_gradients.relu_and_friends import (
    NEEDS,
    check_binarize,
    check_clamp,
    check_relu,
    check_work,
    clamp_inputs,
    run_function,
)
from course_utils.chapters.custom_gradients.samples import (
    check_clip,
    check_samples,
    check_work_of_batches,
    clip_inputs,
    moons,
    rows_of,
    run_samples,
    train,
)
from course_utils.chapters.custom_gradients.watching import (
    Largest,
    LiveBytes,
    gradient_words,
    memory_of,
)
