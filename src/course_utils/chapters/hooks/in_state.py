"""Trials of an answer in awkward states, named by words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from course_utils.chapters.hooks import (
    further_states,
    later_states,
    monitor_states,
    rare_states,
    states,
    step_states,
)
from course_utils.learner.tracebacks import ends_in_notebook

_TRIALS: dict[str, dict[str, Callable[..., Any]]] = {}
for _module in (states, monitor_states, step_states, later_states, rare_states, further_states):
    for _exercise, _trials in _module.STATES.items():
        _TRIALS[_exercise] = {**_TRIALS.get(_exercise, {}), **_trials}

# The names of the learner's functions that an exercise's states are handed.
_ANSWERS = {
    "capture": ["capture"],
    "reversal": ["gradient_reversal", "Reversal"],
    "freezing": ["freeze_rows"],
    "monitor": ["grad_monitor"],
    "cam": ["grad_cam"],
    "steps": ["step_in_backward"],
    "offload": ["offload_saved", "bring_back"],
    "weight norm": ["weight_norm", "WeightNorm"],
    "loading": ["state_dict_hooks"],
    "intervention": ["intervention"],
}


def states_of(exercise: str) -> list[str]:
    """The words of all states in which answers to an exercise are tried."""
    return [*_TRIALS[exercise]]


def run_in_state(exercise: str, state: str, namespace: dict[str, Any]) -> str:
    """Try the learner's functions in a state: what is wrong there, in words, or nothing."""
    try:
        _TRIALS[exercise][state](*(namespace[name] for name in _ANSWERS[exercise]))
    except AssertionError as error:
        return str(error)
    except Exception as error:
        blank = ": it returned None; is there an answer yet?" * ("NoneType" in str(error))
        return f"raised {type(error).__name__}: {' '.join(str(error).split())}{blank}"
    return ""


@ends_in_notebook
def check_all_states(case: Any, trial: Callable, exercise: str) -> None:
    """Check an answer in each state of an exercise, each as a case of its own."""
    __tracebackhide__ = True
    for state in states_of(exercise):
        with case(state):
            wrong = trial(exercise, state)
            assert not wrong, wrong
