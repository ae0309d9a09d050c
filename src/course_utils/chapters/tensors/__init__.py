"""What the chapter tensors tries answers with, by what is special in each."""

from course_utils.chapters.tensors.cases import (
    labels_to_encode,
    pictures,
    planes_of_pictures,
    rows_to_average,
    rows_to_sort,
    rows_with_gradients,
    scores_in_rows,
    scores_with_labels,
    segments_to_sum,
    shapes_in_pairs,
    tables_to_draw_from,
    why_they_fit,
    words_of_packed,
)
from course_utils.chapters.tensors.images import (
    check_by_hand,
    check_image,
    check_planes,
    dtype_under_float64,
)
from course_utils.chapters.tensors.keeping import (
    check_gradient_by,
    count_storages,
    gradients_of,
    taken_out,
)
