"""Small jobs on several processes, and the words of what went wrong there."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable

import torch
from torch.distributed.tensor import DTensor
from torch.utils._python_dispatch import TorchDispatchMode

from course_utils.learner.launch_reports import LaunchError, LaunchTimeout
from course_utils.learner.launching import launch


def local(tensor: torch.Tensor) -> torch.Tensor:
    """What this rank holds of a tensor."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def on_ranks(function: Callable, world_size: int, *args, timeout: float = 30) -> list:
    """``launch`` on the CPU, whatever this machine has."""
    return launch(function, world_size, *args, backend="gloo", timeout=timeout, quiet=True)


PATIENCE, AFTER_A_HANG = 8.0, 4.0
_patience = {"seconds": PATIENCE}


def attempt(function: Callable, world_size: int, *args) -> list | str:
    """What each rank returned, or the words of what went wrong.

    Where one job hung, the next one often does: it gets less time, so that a check of many cases
    comes to its end.
    """
    try:
        found = _at_work(function, world_size, *args)
    except LaunchError as error:
        hung = isinstance(error, LaunchTimeout)
        _patience["seconds"] = AFTER_A_HANG if hung else PATIENCE
        return _words_of(error)[:1500]
    _patience["seconds"] = PATIENCE
    return found


def _at_work(function: Callable, world_size: int, *args) -> list:
    """What each rank returned; more time where a rank had not even begun, on a busy machine."""
    seconds = _patience["seconds"]
    while True:
        try:
            return on_ranks(function, world_size, *args, timeout=seconds)
        except LaunchTimeout as error:
            if error.all_had_begun or seconds >= 4 * PATIENCE:
                raise
            seconds = 4 * PATIENCE


def _words_of(error: LaunchError) -> str:
    """What went wrong, without what differs from run to run: folders, times, who else failed."""
    words = str(error)
    failed = [r for kind in ("ended", "raised") for r in error.reports if r.status == kind]
    if failed and not isinstance(error, LaunchTimeout):
        failed[0].output = ""
        words = failed[0].tell_for_a_check().split("Traceback (most")[0].rstrip()
    words = words.replace("\n    in __torch_dispatch__", "")  # of the mode that counts collectives
    words = re.sub(
        r"(\[rank\d+\]:)?\[\w+ [\d:.]+ [\w.]+:\d+\] ", "", words
    )  # a log's time and line
    return re.sub(re.escape(tempfile.gettempdir()) + r"/\w+/?", "", words)


def gradients_are_on(after: str) -> None:
    """Fail where a call left grad mode off: the caller's next forward pass would have no graph."""
    assert torch.is_grad_enabled(), (
        f"gradients are still switched off after {after}, and the caller's next forward pass has "
        "no graph: `with torch.no_grad():` puts them back"
    )


def check_evaluations(
    name: str, function: Callable, leaves: list[torch.Tensor], right: torch.Tensor
) -> None:
    """Without gradients the result is the same, and with other numbers in the leaves it is theirs.

    The numbers are changed in place, as by an optimizer's step, and no tensor's version tells it.
    """
    found = _without_gradients(name, function, leaves)
    kept = found.clone()
    same = kept.shape == right.shape and torch.allclose(kept, right, 1e-4, 1e-5)
    assert same, f"under torch.no_grad() {name} gives another result"
    for leaf in leaves:
        leaf.data.mul_(0.75)
    later = _without_gradients(name, function, leaves)
    truth = _without_gradients(name, function, [leaf.detach().clone() for leaf in leaves])
    assert torch.equal(found, kept), (
        f"the result of one call of {name} was changed by the next: make a new tensor in each call"
    )
    same = later.shape == truth.shape and torch.allclose(later, truth, 1e-4, 1e-5)
    assert same, (
        "with other numbers in the same tensors, as after an optimizer's step, the result of "
        f"{name} is not theirs: what does a call keep for the next one?"
    )


def _without_gradients(name: str, function: Callable, leaves: list[torch.Tensor]) -> torch.Tensor:
    with torch.no_grad():
        try:
            result = local(function(*leaves))
        except (AttributeError, RuntimeError, TypeError) as error:
            raise AssertionError(
                f"under torch.no_grad(), where no graph is made, {name} raised "
                f"{type(error).__name__}: {error}"
            ) from None
        assert not torch.is_grad_enabled(), (
            f"gradients are switched on after {name} was called under torch.no_grad(): the mode is "
            "the caller's"
        )
    return result


def random_like(shape: tuple, *seeds: int) -> torch.Tensor:
    """Normal numbers, the same for the same seeds."""
    seed = sum((7919**place) * (number + 1) for place, number in enumerate(seeds))
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


class Sent(TorchDispatchMode):
    """Notes each collective, barrier, send and receive: CommDebugMode leaves out the last three."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if DTensor in types:
            return NotImplemented  # its own collectives come here one by one
        name = func.__name__.split(".")[0]
        waits = name in ("wait_tensor", "_wrap_tensor_autograd")
        if func.namespace in ("c10d", "_c10d_functional") and not waits:
            self.names.append(name.strip("_"))
        return func(*args, **(kwargs or {}))


class Untouched:
    """What a call may not leave behind on the caller's leaves; `changes()` says it in words."""

    def __init__(self, leaves: dict[str, torch.Tensor]) -> None:
        self.leaves = leaves
        self.before = {name: self._state_of(leaf) for name, leaf in leaves.items()}

    @staticmethod
    def _state_of(leaf: torch.Tensor) -> tuple:
        hooks = [*(leaf._backward_hooks or {}), *(leaf._post_accumulate_grad_hooks or {})]
        return set(vars(leaf)), len(hooks), leaf.requires_grad, leaf.detach().clone()

    def changes(self) -> list[str]:
        found = []
        for name, leaf in self.leaves.items():
            (names, hooks, requires_grad, value) = self.before[name]
            (new_names, new_hooks, now_requires_grad, new_value) = self._state_of(leaf)
            if new_hooks != hooks:
                found.append(
                    f"a hook on {name} is still there after the call: a second call with the same "
                    "x would meet it, and one more each time"
                )
            if new_names - names:
                attributes = ", ".join(sorted(new_names - names))
                found.append(
                    f"{name} has a new attribute after the call ({attributes}): it is the caller's "
                    "tensor, and a call leaves nothing behind on it"
                )
            if now_requires_grad != requires_grad:
                found.append(
                    f"{name} {'requires' if now_requires_grad else 'does not require'} grad after "
                    "the call, and before it was the other way round: leave the caller's "
                    f"{name} as it is"
                )
            if not torch.equal(new_value, value):
                found.append(f"the values of {name} are others after the call: change no argument")
        return found
