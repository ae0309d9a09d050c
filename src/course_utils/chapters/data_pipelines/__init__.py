"""What the chapter on data pipelines tries answers with."""

from course_utils.chapters.data_pipelines.bottleneck import CHOICES, measure_pipeline
from course_utils.chapters.data_pipelines.damaged import damaged_folder
from course_utils.chapters.data_pipelines.pickles import through_pickle
