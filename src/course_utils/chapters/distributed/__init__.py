"""How the exercises of the chapter on distributed training are tried and judged.

For each there is a function ``run_…``, which a locked function of the notebook calls with the
learner's answer: it launches ranks and returns plain values. A function ``check_…`` compares these
with the truth that it works out by itself, in one process.
"""

from course_utils.chapters.distributed.accumulation import check_no_sync, run_no_sync
from course_utils.chapters.distributed.batch_norm import bn_case, check_sync_bn, run_sync_bn
from course_utils.chapters.distributed.collectives import (
    check_collectives,
    check_ring,
    run_collectives,
    run_ring,
)
from course_utils.chapters.distributed.compression import check_compress, run_compress
from course_utils.chapters.distributed.data_parallel import SIDES, Branches, check_ddp, run_ddp
from course_utils.chapters.distributed.launches import launched, seconds, stuck
from course_utils.chapters.distributed.repair import check_repair, run_repair
from course_utils.chapters.distributed.samplers import check_sampler, run_sampler
from course_utils.chapters.distributed.scaling import check_scaling, run_scaling
from course_utils.chapters.distributed.unequal import check_unequal, run_unequal
