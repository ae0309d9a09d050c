"""What the installed package holds of PyTorch's sources."""

from __future__ import annotations

from pathlib import Path

import torchgen


def generated_from(name: str, start: str, lines: int) -> str:
    """The first lines of an entry in one of the files from which PyTorch's code is generated.

    Args:
        name: such as ``"native_functions.yaml"``.
        start: how the entry's first line begins.
        lines: how many lines of it.

    Raises:
        LookupError: no line of the file begins like that.
    """
    (path,) = (Path(torchgen.__file__).parent / "packaged").rglob(name)
    text = path.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(text):
        if line.startswith(start):
            return "\n".join(text[number : number + lines])
    raise LookupError(f"{name} has no line that begins with {start!r}")
