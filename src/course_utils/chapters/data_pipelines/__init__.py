"""What the chapter on data pipelines tries answers with."""

from course_utils.chapters.data_pipelines.batches import (
    batches_to_try,
    check_batch,
    check_other_states,
    item,
    run_kept,
)
from course_utils.chapters.data_pipelines.bottleneck import CHOICES, measure_pipeline
from course_utils.chapters.data_pipelines.damaged import (
    check_on_error,
    damaged_folder,
    run_on_error,
)
from course_utils.chapters.data_pipelines.files import run_replaced
from course_utils.chapters.data_pipelines.folders import (
    check_listing,
    check_other_files,
    check_said,
    check_too_large,
    names,
    run_folder,
    run_listing,
    run_other_files,
    run_too_large,
    run_transform,
)
from course_utils.chapters.data_pipelines.frames import (
    check_calls,
    check_drawn,
    check_frames,
    check_likely,
    check_long,
    check_middles,
    run_calls,
    run_tsn,
    run_twice,
)
from course_utils.chapters.data_pipelines.killed import (
    RAISED,
    check_other_names,
    check_steps,
    run_killed,
    run_other_names,
    run_repacked,
    run_steps,
)
from course_utils.chapters.data_pipelines.loaders import (
    check_global_seeds,
    check_read,
    run_global_seeds,
    run_read,
)
from course_utils.chapters.data_pipelines.packs import (
    check_copied,
    check_forked,
    check_gigabyte,
    check_many_items,
    check_on_another_disk,
    check_pack,
    make_items,
    run_copied,
    run_forked,
    run_gigabyte,
    run_many,
    run_on_another_disk,
    run_pack,
)
from course_utils.chapters.data_pipelines.pickles import through_pickle
from course_utils.chapters.data_pipelines.samplers import (
    check_balance,
    check_buckets,
    check_few_draws,
    check_kept,
    check_one_draw,
    check_other_process,
    check_rare,
    check_seeds_and_epochs,
    check_shuffled,
    check_ties,
    run_sampler,
)
from course_utils.chapters.data_pipelines.statistics import (
    check_many,
    check_memory,
    check_merge,
    check_triple,
    images_to_try,
    run_memory,
    run_statistics,
    triple_of,
)
from course_utils.chapters.data_pipelines.streams import (
    check_disturbed,
    check_left,
    check_orders,
    check_pairs,
    check_resumed,
    check_stream,
    run_disturbed,
    run_pairs,
    run_resumable,
    run_stream,
)
from course_utils.chapters.data_pipelines.transforms import (
    check_default,
    check_often,
    check_turn,
    run_custom,
    run_default,
    run_often,
    turns_to_try,
)
from course_utils.chapters.data_pipelines.workers import (
    check_draws,
    check_seeds,
    check_shares,
    run_shard,
    run_unhashable,
    run_worker_rng,
)
