"""Exercise 7.11: checkpoints whose names have changed."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

import course_utils
from course_utils.chapters.hooks.counting import bystander
from course_utils.chapters.hooks.slips import check_log
from course_utils.learner.awkward import forbid_side_effects
from course_utils.learner.tracebacks import ends_in_notebook
from course_utils.learner.values import check_value


class Pieces(nn.Module):
    """Modules of one shape, so that their names can be swapped."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.head, self.tail = (nn.Linear(2, 2) for _ in range(3))
        self.block = nn.ModuleDict({"head": nn.Linear(2, 2), "0": nn.Linear(2, 2)})


def _pieces(seed: int) -> Pieces:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Pieces().to(course_utils.device)


def _new_state() -> dict[str, Tensor]:
    return {key: value.detach() for key, value in _pieces(0).state_dict().items()}


def run_loading(
    state_dict_hooks: Callable, state: dict, renamed: dict[str, str], prefix: str, loads: int
) -> tuple:
    """The log, the module's state after loading, and the error if there was one."""
    module, error = _pieces(1), ""
    module.head.eval()
    module.tail.requires_grad_(False)
    module.stem.weight.grad = torch.ones_like(module.stem.weight)
    module.stem.register_forward_hook(bystander)
    given = dict(renamed)
    with forbid_side_effects(module, but=("hooks",)):
        log = state_dict_hooks(module, renamed)
    kept = bystander in module.stem._forward_hooks.values()
    assert kept, "a hook that was on a part of the model before is gone"
    blank = f"state_dict_hooks returned {log!r}, no list: is there an answer yet?"
    assert isinstance(log, list), blank
    model = module
    for name in reversed(prefix.split(".")) if prefix else ():
        model = nn.ModuleDict({name: model, "other": nn.ModuleDict({"fc": nn.Linear(1, 1)})})
    own = {key: value for key, value in model.state_dict().items() if "other.fc" in key}
    state = {**own, **state}
    keys = sorted(state)
    try:
        for _ in range(loads):
            model.load_state_dict(state)
    except Exception as caught:
        error = f"{type(caught).__name__}: {caught}"
    assert sorted(state) == keys, "the caller's dict was changed"
    assert renamed == given, f"the dict of names was changed, from {given} to {renamed}"
    return log, {name: value.clone() for name, value in module.state_dict().items()}, error


@ends_in_notebook
def check_loading(
    trial: Callable, renamed: dict[str, str], prefix: str = "", loads: int = 1, new: bool = False
) -> None:
    """Check a load of a checkpoint with old names, or with ``new`` of one without."""
    __tracebackhide__ = True
    truth = _new_state()
    back = {} if new else {after: before for before, after in renamed.items()}
    old_keys = {}
    for key in truth:
        module, _, rest = key.rpartition(".")
        old_keys[key] = f"{prefix}{back.get(module, module)}.{rest}"
    log = [f"{old} -> {prefix}{key}" for key, old in old_keys.items() if old != prefix + key]
    state = {old_keys[key]: value for key, value in truth.items()}
    found, loaded, error = trial(state, renamed, prefix.rstrip("."), loads)
    lost = "; is a key written over before it was read?" if {*renamed} & {*back} else ""
    replaced = {key.replace(old, name) for old, name in renamed.items() for key in state}
    if any(f'"{key}"' in error for key in replaced - {*state} - {prefix + key for key in truth}):
        lost = "; a name begins right after the prefix and ends at a dot, and only there it counts"
    if "mutated during iteration" in error:
        lost = "; walk over list(state_dict), and change the dict itself"
    elif prefix and not found:
        lost = "; as a part of a larger model its keys begin with the prefix that the hook is told"
    elif "Missing" in error and "Unexpected" not in error and not lost:
        lost = "; the new names did not arrive: put them into the dict that the hook is handed"
    elif any(f'Unexpected key(s) in state_dict: "{key}"' in error for key in state) and found:
        lost = lost or "; under its old name a key is unknown to the model: take it out"
    assert not error, f"load_state_dict raised {' '.join(error.split())[:240]}{lost}"
    for key, value in truth.items():
        others = {
            f"it has the weights of {name}: was one written over, or renamed twice?": other
            for name, other in truth.items()
            if name != key
        }
        check_value(loaded[key], value, f"{key} after loading", others)
    check_log(found, loads * log)


@ends_in_notebook
def check_unknown_key(trial: Callable) -> None:
    """Check that a key which was not renamed, and which the model doesn't know, is an error."""
    __tracebackhide__ = True
    state = {key.replace("tail", "nose"): value for key, value in _new_state().items()}
    error = trial(state, {"fc": "head"}, "", 1)[2]
    assert "Unexpected key(s)" in error, "an unknown key has to stay an error"
