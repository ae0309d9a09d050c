"""What the installed package holds of PyTorch's sources."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torchgen

from course_utils import check_predictions
from course_utils.learner.tracebacks import ends_in_notebook


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


_FOLDERS = {
    "the slope of torch.atan2 is wrong": ("tools/autograd", "slopes are generated from one file"),
    "nn.Dropout's docstring has a typo": ("torch", "modules are written in Python"),
    "the CPU loop of cumsum skips an entry": (
        "aten/src/ATen/native",
        "the loop is in the kernel itself",
    ),
    "a new dispatch key is needed": ("c10", "keys are part of every tensor, below all kernels"),
    "backward() starves with many threads": (
        "torch/csrc",
        "the walk back is C++, next to the bindings",
    ),
    "the plan of loops merges too little": (
        "aten/src/ATen",
        "TensorIterator serves the kernels, and isn't any of them",
    ),
    "a compiled model's generated C++ is slow": (
        "torch/_inductor",
        "what was captured is made into kernels by a part that is written in Python",
    ),
    "the CUDA caching allocator splits badly": ("c10", "storages are made below all kernels"),
}


@ends_in_notebook
def check_folders(answer: Any) -> None:
    """Check where the errands begin; a slash at the end of a folder doesn't matter."""
    __tracebackhide__ = True
    if isinstance(answer, dict):
        answer = {k: v.strip().strip("/") if isinstance(v, str) else v for k, v in answer.items()}
    right = {errand: folder for errand, (folder, _) in _FOLDERS.items()}
    check_predictions(answer, right, {errand: words for errand, (_, words) in _FOLDERS.items()})
