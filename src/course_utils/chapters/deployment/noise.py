"""What libraries print while they export, kept out of the notebook."""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Callable, Generator
from typing import Any

LOUD = ("torch", "torch.onnx", "torch.export", "onnxscript", "onnx_ir", "torchao", "root")


@contextlib.contextmanager
def quiet() -> Generator[None]:
    """A block that prints nothing: no warnings, no log lines, no graphs of refused programs."""
    levels = {name: logging.getLogger(name).level for name in LOUD}
    before = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


def refusal(call: Callable[[], Any]) -> str:
    """The name and first sentence of what ``call()`` raises; ``"accepted"`` if nothing."""
    try:
        with quiet():
            call()
    except Exception as error:
        first = str(error).strip().splitlines()[0] if str(error).strip() else ""
        return f"{type(error).__name__}: {first.split(' (unhinted')[0][:90]}"
    return "accepted"
