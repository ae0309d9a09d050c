"""The learner's parts where they are right, spare parts where they aren't."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from course_utils.chapters.internals import (
    block_trials,
    dispatcher_trials,
    record_trials,
    storage_trials,
    tape_trials,
)
from course_utils.chapters.internals.scenarios import Scenario, check_scenario, play
from course_utils.chapters.internals.small_torch import (
    NUMPY_KERNELS,
    SLOPES,
    list_kernels,
    wrapped,
)
from course_utils.chapters.internals.spare_parts import TwoFloors, kernels_by_numpy

_PARTS = ("elementwise", "Dispatcher", "autograd_kernel", "backward")
_TRIED = {
    "elementwise": storage_trials.ELEMENTWISE,
    "Dispatcher": dispatcher_trials.TABLE | block_trials.BELOW,
}


def _passes(scenarios: Mapping[str, Scenario], *answers: Any) -> bool:
    try:
        for scenario in scenarios.values():
            check_scenario(play(scenario, *answers), scenario)
    except AssertionError:
        return False
    return True


def _is_right(name: str, names: Mapping[str, Any]) -> bool:
    if name not in names:
        return False
    if name in _TRIED:
        return _passes(_TRIED[name], names[name])
    both = names.get("autograd_kernel"), names.get("backward")
    return None not in both and _passes(record_trials.RECORD | tape_trials.BACKWARD, *both)


def choose(name: str, names: Mapping[str, Any]) -> Any:
    """The learner's part of that name if it passes its trials.

    Else a spare dispatcher; for the other names ``None``: then NumPy or PyTorch does their work.
    """
    if _is_right(name, names):
        return names[name]
    return TwoFloors if name == "Dispatcher" else None


def solved(names: Mapping[str, Any]) -> list[str]:
    """The names of the learner's parts that are right."""
    return [name for name in _PARTS if _is_right(name, names)]


def backends(elementwise: Callable | None) -> dict[str, dict[str, Callable]]:
    """Kernels on handles by key and operator: lists by ``elementwise``, and NumPy.

    Args:
        elementwise: the learner's loop; ``None`` leaves the arithmetic of lists to NumPy.
    """
    lists = kernels_by_numpy() if elementwise is None else list_kernels(elementwise)
    kernels = {"List": lists, "NumPy": NUMPY_KERNELS}
    return {
        key: {name: wrapped(kernel, key) for name, kernel in table.items()}
        for key, table in kernels.items()
    }


def engine(names: Mapping[str, Any]) -> tuple[Any, Callable | None]:
    """A dispatcher with both backends and autograd in front, and the walk back.

    Without the learner's autograd nothing is in front, and the walk back is ``None``.
    """
    dispatcher = choose("Dispatcher", names)(("Autograd", "List", "NumPy"))
    for key, kernels in backends(choose("elementwise", names)).items():
        for name, kernel in kernels.items():
            dispatcher.register(name, key, kernel)
    in_front, backward = choose("autograd_kernel", names), choose("backward", names)
    if in_front is None or backward is None:
        return dispatcher, None
    for name, slopes in SLOPES.items():
        dispatcher.register(name, "Autograd", in_front(dispatcher, name, slopes))
    return dispatcher, backward
