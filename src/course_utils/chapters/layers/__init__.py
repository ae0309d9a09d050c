"""What the chapter on layers compares with: what PyTorch's layers do, and what known slips give."""

from course_utils.chapters.layers.attention import (
    check_attention_1,
    check_attention_2,
    run_with_weights,
)
from course_utils.chapters.layers.convolutions import (
    check_conv_arithmetic,
    check_faint_edges,
    check_receptive_field_1,
    check_receptive_field_2,
    check_tiny_weights,
    check_transposed_conv,
    run_conv_arithmetic,
    run_footprint,
)
from course_utils.chapters.layers.embeddings import check_embedding_details
from course_utils.chapters.layers.gradients import check_states, gradients_of
from course_utils.chapters.layers.linear import check_linear_by_hand
from course_utils.chapters.layers.norms import (
    check_backward_far,
    check_batch_norm_1,
    check_batch_norm_3,
    check_batch_norm_far,
    check_norm_family,
    check_norm_far,
)
from course_utils.chapters.layers.parts import choose_parts
from course_utils.chapters.layers.pooling import (
    check_pooling_and_back_1,
    check_pooling_and_back_2,
    check_pooling_and_back_3,
)
from course_utils.chapters.layers.recurrent import (
    check_packed_sequences,
    check_reset,
    check_rnn_by_hand_1,
    check_rnn_by_hand_2,
    run_packed_sequences,
)
from course_utils.chapters.layers.transformer import (
    check_tiny_transformer_1,
    run_tiny_transformer,
)
from course_utils.chapters.layers.trials import dry_run, refused, watched_in_use
