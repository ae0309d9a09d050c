"""Chapter 14's data, its small trainings, and what its checks look at and compare.

What an answer makes here are figures, event files, windows of a server, changes to a model: none of
that travels to a judge. So for each exercise there is a function ``seen_…``, which calls the answer
and returns plain values, and a function ``check_…``, which compares them with its own truth. In the
notebook a locked function ``try_…`` hands the answer to the first.
"""

from course_utils.chapters.visualization.batches import check_example, seen_show_batch
from course_utils.chapters.visualization.class_maps import (
    SHAPES,
    ShapeNet,
    check_cams,
    draw_shape,
    seen_cam,
    shape_network,
    shapes,
)
from course_utils.chapters.visualization.comparing import check_seen
from course_utils.chapters.visualization.curves import (
    check_lies,
    draw_honest,
    draw_lies,
    seen_lie_detector,
    two_settings,
)
from course_utils.chapters.visualization.diagnosis import (
    CURES,
    ILLNESSES,
    PATIENTS,
    after_cure,
    check_cures,
    check_diagnosis,
    draw_runs,
)
from course_utils.chapters.visualization.embeddings import (
    APART,
    GROUPS,
    check_map,
    seen_embedding_map,
)
from course_utils.chapters.visualization.event_files import (
    NAN,
    SHARED,
    SHARING,
    check_dashboard,
    seen_training_dashboard,
)
from course_utils.chapters.visualization.filters import SHORT, check_filters, climb, seen_filters
from course_utils.chapters.visualization.histograms import (
    BELOW,
    FAINT_UNITS,
    ONE,
    RAISES,
    check_histograms,
    seen_histograms,
)
from course_utils.chapters.visualization.landscapes import check_slice, seen_landscape
from course_utils.chapters.visualization.network_tables import (
    BY_KEYWORD,
    BY_WORDS,
    NO_ROWS,
    TOO_WIDE,
    check_table,
    seen_network_drawn,
)
from course_utils.chapters.visualization.precision_recall import check_pr, seen_pr
from course_utils.chapters.visualization.trainings import HEALTHY, digits, run
from course_utils.chapters.visualization.valleys import (
    FAR,
    MANY,
    TIED,
    make_direction,
    make_valley,
)
from course_utils.chapters.visualization.windows import check_windows, seen_visdom_live
