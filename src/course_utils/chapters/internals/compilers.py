"""A C++ function, where there is a compiler."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any


def compiled(source: str, name: str) -> Callable[..., Any] | None:
    """The function ``name`` of a C++ source, or ``None`` where no compiler is installed.

    Raises:
        RuntimeError: the compiler refused the source; its words.
    """
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        code, library = Path(folder, "kernel.cpp"), Path(folder, "kernel.so")
        code.write_text(source, encoding="utf-8")
        command = [compiler, "-O3", "-shared", "-fPIC", str(code), "-o", str(library)]
        run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        if run.returncode:
            raise RuntimeError(run.stderr[:500])
        return getattr(ctypes.CDLL(str(library)), name)
