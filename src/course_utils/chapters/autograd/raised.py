"""What PyTorch's exceptions mean in these exercises, in words."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager

from course_utils.learner.tracebacks import what_was_raised

OTHER_DTYPE = "a tensor on the way has another dtype (the default?): give it the arguments' dtype"
ALL_SUMMED = (
    "too much was summed up: sum() over an empty list of dimensions is the sum over all, too"
)
SQUEEZED = "a tensor on the way has fewer dimensions: was one of size 1 squeezed?"
# A pattern for the message, and what it means.
MEANINGS = {
    "cannot reshape tensor of 0 elements": "with no element, a size given as -1 can't be told",
    "unsupported ScalarType BFloat16": "NumPy has no bfloat16",
    "to have the same dtype": OTHER_DTYPE,
    "expected scalar type": OTHER_DTYPE,
    r"for input of size 1$": ALL_SUMMED,
    "too many indices": SQUEEZED,
    "same number of dimensions as input": SQUEEZED,
    "Dimension out of range": "there are fewer dimensions here: count them from the end",
}


@contextmanager
def said_in_words(because: str = "") -> Generator[None]:
    """An exception inside the block is an AssertionError that says what it means.

    Args:
        because: words for any exception, such as what the case is about.
    """
    try:
        yield
    except AssertionError:
        raise
    except Exception as error:
        meanings = [means for part, means in MEANINGS.items() if re.search(part, str(error))]
        words = "; ".join(filter(None, (because, *meanings)))
        told = what_was_raised(error)
        raise AssertionError(f"{told} ({words})" if words else told) from error
