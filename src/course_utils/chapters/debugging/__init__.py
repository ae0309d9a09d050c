"""Broken things to practise on: models, trainings, datasets, files; and what was done to them.

Everything here is made on purpose, for the chapter on debugging. A function that makes a broken
thing takes the name of what is wrong with it and gives the same thing every time.
"""

from course_utils.chapters.debugging.bad_numbers import (
    LOGGED,
    NOT_TO_BLAME,
    WIDE_AND_NARROW,
    Beneath,
    check_logged,
    hunt_with,
)
from course_utils.chapters.debugging.checkpoints import (
    UNUSUAL_FILES,
    check_load,
    not_saved,
    small_model,
    write_checkpoint,
)
from course_utils.chapters.debugging.findings import (
    changes,
    check_finding,
    no_mode_left,
    state_of,
)
from course_utils.chapters.debugging.guards import (
    check_device,
    check_guard,
    class_ids,
    ignored_labels,
    on_meta,
    repaired,
    unusual_labels,
    unusual_mixes,
)
from course_utils.chapters.debugging.leaks import (
    SMALL_LEAKS,
    check_leaks,
    counts,
    hunt_leaks,
    neighbours,
)
from course_utils.chapters.debugging.loaders import UNJOINED, autopsy_with, check_autopsy
from course_utils.chapters.debugging.programs import PROGRAMS, check_pairs, explain, run_program
from course_utils.chapters.debugging.scripts import (
    ODD_LINES,
    SCRIPT,
    check_shrunk,
    numbers,
    shrink_with,
)
from course_utils.chapters.debugging.suspects import (
    RUNS,
    UNUSUAL_SUSPECTS,
    check_detective,
    make_suspect,
)
from course_utils.chapters.debugging.trainings import (
    ILLNESSES,
    SIGNS,
    UNUSUAL_PAIRS,
    Patient,
    check_verdict,
    make_pair,
    make_patient,
)
from course_utils.learner.tracebacks import about_bfloat16
