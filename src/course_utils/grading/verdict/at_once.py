"""What is told to the judge at once: values for which no fork has to stay."""

from __future__ import annotations

from typing import Any

import torch

from course_utils.grading.verdict import encoding, wire
from course_utils.grading.verdict.known import Known
from course_utils.grading.verdict.messages import Names

# A message that a socket takes whole, though nobody reads it yet.
SMALL_BYTES = 2**16


def small_message(namespace: dict[str, Any], names: list[str]) -> bytes | None:
    """The message with the values of names; None where a fork has to send it.

    None of the answer's own code is run for it.
    """
    encoder = SmallEncoder(Known(), SmallEncoder.refuse)
    try:
        message = wire.pack(named_values(namespace, names, encoder).fields(), [])
    except Exception:  # whatever it is, the fork will see to it
        return None
    return message if len(message) <= SMALL_BYTES else None


def named_values(namespace: dict[str, Any], names: list[str], encoder: encoding.Encoder) -> Names:
    """The values of those names that there are."""
    here = [name for name in names if name in namespace]
    return Names([[name, encoder.encode(namespace[name])] for name in here])


class SmallEncoder(encoding.Encoder):
    """Encodes numbers, texts and their containers, and refuses all else."""

    @staticmethod
    def refuse(value: Any) -> list:
        raise TypeError(f"a {type(value).__name__} is not sent at once")

    def _tensor(self, tensor: torch.Tensor) -> Any:
        return self.refuse(tensor)

    def add_blob(self, content: bytes) -> int:
        raise TypeError("an array is not sent at once")
