"""What the chapter on layers compares with: what PyTorch's layers do, and what known slips give."""

from course_utils.chapters.layers.trials import dry_run, refused
