"""What a whole process shares, and an answer can leave changed: read, compared in words, put back.

Each :class:`Setting` is read in microseconds; a library's is left out until the library is there.
"""

from __future__ import annotations

import os
import random
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.nn.modules import module as modules
from torch.overrides import _get_current_function_mode_stack, _pop_mode
from torch.utils import _python_dispatch as dispatch

_AUTOGRAD: Any = getattr(torch._C, "_autograd")  # noqa: B009  torch imports it


def _told(what: str) -> Callable[[Any, Any], str]:
    return lambda before, now: what.format(before=before, now=now)


@dataclass(frozen=True)
class Setting:
    """One thing that the process has once.

    Attributes:
        read: what it is now.
        put: makes it what it was.
        words: what is wrong, from what it was and is; empty where the change is nobody's business.
        there: whether it can be read yet.
        silent: whether a change is put back without words: it does no harm meanwhile.
    """

    read: Callable[[], Any]
    put: Callable[[Any], Any]
    words: Callable[[Any, Any], str]
    there: Callable[[], bool] = lambda: True
    silent: bool = False


def _imported(name: str) -> Callable[[], bool]:
    return lambda: name in sys.modules


def _grad_words(before: bool, now: bool) -> str:
    if now:
        return "gradients are on, and were off"
    return "gradients are off: torch.set_grad_enabled(False), or a no_grad that is never left"


def _put_modes(read: Callable, pop: Callable) -> Callable[[list], None]:
    def put(before: list) -> None:
        while len(read()) > len(before):
            pop()

    return put


def _mode_words(before: list, now: list) -> str:
    names = ", ".join(type(mode).__name__ for mode in now[len(before) :])
    return f"a mode is entered and never left ({names})" if names else "a mode was taken away"


def _top_saved_hooks() -> Any:
    return _AUTOGRAD._top_saved_tensors_default_hooks(True)


def _put_saved_hooks(before: Any) -> None:
    while _top_saved_hooks() not in (before, None):
        _AUTOGRAD._pop_saved_tensors_default_hooks()


BROAD = (Warning, UserWarning, DeprecationWarning, FutureWarning, RuntimeWarning)


def _filter_words(before: list, now: list) -> str:
    """A library adds filters when it is imported: only what hides a whole kind counts."""
    added = [rule for rule in now if rule not in before]
    hides = [rule for rule in added if not rule[1] and not rule[3] and rule[2] in BROAD]
    if hides:
        return f"warnings are told otherwise ({hides[0][0]}, {hides[0][2].__name__})"
    return "filters of warnings were taken away" if not now else ""


def _put_filters(before: list) -> None:
    warnings.filters[:] = before  # ty: ignore[invalid-assignment]  a list, though typed shorter
    warnings._filters_mutated()  # ty: ignore[missing-attribute]


def _put_environment(before: dict[str, str]) -> None:
    for name in os.environ.keys() - before.keys():
        del os.environ[name]
    os.environ.update(before)


# What libraries set by themselves when they are imported or first used.
OWN_VARIABLES = ("KMP_", "OMP_", "MKL_", "TORCH", "PYTORCH_", "TRITON_", "TF_", "CUDA_", "NUMBA_")


def _environment_words(before: dict[str, str], now: dict[str, str]) -> str:
    names = {name for name in before.keys() | now.keys() if before.get(name) != now.get(name)}
    told = sorted(name for name in names if not name.startswith(OWN_VARIABLES))
    return f"environment variables are not as they were ({', '.join(told)})" if told else ""


GLOBAL_HOOKS = [name for name in vars(modules) if name.startswith("_global_") and "hooks" in name]


def _read_global_hooks() -> dict[str, dict]:
    hooks = {name: getattr(modules, name) for name in GLOBAL_HOOKS}
    return {name: dict(table) for name, table in hooks.items() if isinstance(table, dict)}


def _put_global_hooks(before: dict[str, dict]) -> None:
    for name, table in before.items():
        getattr(modules, name).clear()
        getattr(modules, name).update(table)


def _folder() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        return ""


def _put_folder(before: str) -> None:
    if before:
        os.chdir(before)


def _read_device() -> torch.device | None:
    context = getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None)
    return None if context is None else context.device


def _image_flags() -> dict[str, Any]:
    flags = {}
    for module, name in (
        ("PIL.ImageFile", "LOAD_TRUNCATED_IMAGES"),
        ("PIL.Image", "MAX_IMAGE_PIXELS"),
    ):
        if module in sys.modules:
            flags[f"{module}.{name}"] = getattr(sys.modules[module], name)
    return flags


def _put_image_flags(before: dict[str, Any]) -> None:
    for path, value in before.items():
        module, _, name = path.rpartition(".")
        setattr(sys.modules[module], name, value)


def _image_words(before: dict[str, Any], now: dict[str, Any]) -> str:
    names = [path for path in before if before[path] != now.get(path)]
    return f"{', '.join(names)} is set" if names else ""


def _deterministic() -> tuple[bool, bool]:
    return (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
    )


def _cudnn() -> tuple[bool, bool, bool]:
    flags = torch.backends.cudnn
    return flags.enabled, flags.benchmark, flags.deterministic


def _put_cudnn(before: tuple[bool, bool, bool]) -> None:
    flags = torch.backends.cudnn
    flags.enabled, flags.benchmark, flags.deterministic = before


def _autocast() -> tuple[bool, torch.dtype]:
    return torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")


def _put_autocast(before: tuple[bool, torch.dtype]) -> None:
    torch.set_autocast_enabled("cpu", before[0])
    torch.set_autocast_dtype("cpu", before[1])


def _printing() -> dict[str, Any]:
    return dict(vars(torch._tensor_str.PRINT_OPTS))


def _parameters() -> dict[str, Any]:
    """Matplotlib's parameters, but for what a notebook sets when it begins to draw.

    The backend is not even read: that would load it.
    """
    parameters = sys.modules["matplotlib"].rcParams
    return {
        name: value
        # As a plain dict: its own way of reading asks for each name whether it has become another.
        for name, value in dict.items(parameters)
        if "backend" not in name and name != "interactive"
    }


def _parameters_words(before: dict[str, Any], now: dict[str, Any]) -> str:
    """Which of matplotlib's parameters differ."""
    names = [name for name in before if before[name] != now.get(name)]
    return f"matplotlib's rcParams differ: {', '.join(names)}" if names else ""


SETTINGS: dict[str, Setting] = {
    "inference mode": Setting(
        torch.is_inference_mode_enabled,
        # It can't be set by itself: who entered it has to leave it.
        lambda before: None,
        _told("inference mode is entered and never left"),
    ),
    "gradients": Setting(torch.is_grad_enabled, torch.set_grad_enabled, _grad_words),
    "dtype": Setting(
        torch.get_default_dtype,
        torch.set_default_dtype,
        _told("the default dtype is {now}, and was {before}"),
    ),
    "device": Setting(
        _read_device,
        torch.set_default_device,
        lambda before, now: f"the default device is {now}, and was {before or 'the cpu'}",
    ),
    "function modes": Setting(
        lambda: list(_get_current_function_mode_stack()),
        _put_modes(_get_current_function_mode_stack, _pop_mode),
        _mode_words,
    ),
    "dispatch modes": Setting(
        lambda: list(dispatch._get_current_dispatch_mode_stack()),
        _put_modes(dispatch._get_current_dispatch_mode_stack, dispatch._pop_mode),
        _mode_words,
    ),
    "saved tensors": Setting(
        _top_saved_hooks,
        _put_saved_hooks,
        _told("hooks for saved tensors are entered and never left"),
    ),
    "anomaly": Setting(
        lambda: (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()),
        lambda before: torch.autograd.set_detect_anomaly(*before),
        _told("anomaly detection is not as it was"),
    ),
    "autocast": Setting(_autocast, _put_autocast, _told("autocast is not as it was")),
    "determinism": Setting(
        _deterministic,
        lambda before: torch.use_deterministic_algorithms(before[0], warn_only=before[1]),
        _told("torch.use_deterministic_algorithms is not as it was"),
    ),
    "cudnn": Setting(
        _cudnn, _put_cudnn, _told("flags of torch.backends.cudnn are not as they were")
    ),
    "precision": Setting(
        torch.get_float32_matmul_precision,
        torch.set_float32_matmul_precision,
        _told("the precision of float32 products is {now}, and was {before}"),
    ),
    "threads": Setting(
        torch.get_num_threads,
        torch.set_num_threads,
        _told("torch computes with {now} threads, and did with {before}"),
    ),
    "printing": Setting(
        _printing,
        lambda before: vars(torch._tensor_str.PRINT_OPTS).update(before),
        _told("torch.set_printoptions is not as it was"),
    ),
    "global hooks": Setting(
        _read_global_hooks,
        _put_global_hooks,
        _told("a hook for every module is left (torch.nn.modules.module.register_module_…)"),
    ),
    "safe globals": Setting(
        lambda: set(torch.serialization.get_safe_globals()),
        lambda before: (
            torch.serialization.clear_safe_globals(),
            torch.serialization.add_safe_globals(list(before)),
        ),
        # PyTorch adds classes of its own when parts of it are imported.
        lambda before, now: (
            "classes are added to torch.serialization's safe globals"
            if any(kind.__module__ == "__main__" for kind in now - before)
            else ""
        ),
    ),
    "numpy's errors": Setting(
        np.geterr,
        lambda before: np.seterr(**before),
        _told("np.seterr is not as it was"),
    ),
    "numpy's printing": Setting(
        np.get_printoptions,
        lambda before: np.set_printoptions(**before),
        _told("np.set_printoptions is not as it was"),
    ),
    "images": Setting(_image_flags, _put_image_flags, _image_words, _imported("PIL.Image")),
    "matplotlib": Setting(
        _parameters,
        lambda before: dict.update(sys.modules["matplotlib"].rcParams, before),
        _parameters_words,
        _imported("matplotlib.pyplot"),
    ),
    "warnings": Setting(lambda: list(warnings.filters), _put_filters, _filter_words),
    "showing warnings": Setting(
        lambda: warnings.showwarning,
        lambda before: setattr(warnings, "showwarning", before),
        _told("warnings.showwarning is replaced"),
    ),
    "environment": Setting(lambda: dict(os.environ), _put_environment, _environment_words),
    "folder": Setting(_folder, _put_folder, _told("the working folder is another one")),
    "recursion": Setting(
        sys.getrecursionlimit,
        sys.setrecursionlimit,
        _told("the recursion limit is another one"),
        silent=True,
    ),
    "random": Setting(random.getstate, random.setstate, _told("numbers are drawn"), silent=True),
    "numpy's random": Setting(
        np.random.get_state, np.random.set_state, _told("numbers are drawn"), silent=True
    ),
}
