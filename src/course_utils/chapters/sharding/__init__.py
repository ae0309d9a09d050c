"""What chapter 18 tries its exercises with: small jobs on several processes, and their checks.

Functions named ``check_…`` compare what came back from the ranks with one process's own result, and
say which known slip an answer shows. The others run inside the ranks.
"""

from course_utils.chapters.sharding.checkpoints import check_checkpoint, checkpoint_trial
from course_utils.chapters.sharding.elastic import Training, check_elastic, elastic_trial
from course_utils.chapters.sharding.fully_sharded import (
    check_fully_sharded,
    run_fully_sharded,
    some_of,
)
from course_utils.chapters.sharding.gathering import gather_rows, scatter_mean_rows
from course_utils.chapters.sharding.jobs import attempt, local, on_ranks, random_like
from course_utils.chapters.sharding.optimizers import check_sharded_optimizer, train_sharded
from course_utils.chapters.sharding.pictures import draw_mesh, draw_overlap, most_whole, overlap
from course_utils.chapters.sharding.plans import why_not
from course_utils.chapters.sharding.schedules import (
    check_bubble,
    check_run,
    check_schedules,
    draw_timeline,
    in_time,
    make_stage,
    run_stage,
)
from course_utils.chapters.sharding.tensor_parallel import (
    check_tensor_parallel,
    run_tensor_parallel,
)
