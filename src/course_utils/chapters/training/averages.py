"""Exercise 13.9: averaged weights, swapped in and out."""

from __future__ import annotations

import torch
import torch.nn as nn

from course_utils.chapters.training.states import frozen
from course_utils.learner.checks import check_close, check_equal
from course_utils.learner.devices import device


def run_swapped_in(swapped_in, goes_wrong: bool) -> dict:
    """What a block saw, and what is left after it."""
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)).to(device)
    parameters = list(model.parameters())
    average = {name: torch.full_like(value, 7) for name, value in model.state_dict().items()}
    before, error = frozen(dict(model.state_dict())), ""
    try:
        swap = swapped_in(model, average)
        assert hasattr(swap, "__enter__"), f"{swap}, no context manager: is there an answer yet?"
        with swap:
            inside = sorted({v for s in model.state_dict().values() for v in s.flatten().tolist()})
            if goes_wrong:
                raise ZeroDivisionError
    except ZeroDivisionError:
        error = "ZeroDivisionError"
    pairs = zip(parameters, model.parameters(), strict=True)
    same = all(one is other and one.requires_grad for one, other in pairs)
    after = frozen(dict(model.state_dict())) == before
    with torch.no_grad():
        for value in model.state_dict().values():
            value.fill_(3)
    kept = all(bool((value == 7).all()) for value in average.values())
    return {"inside": inside, "after": after, "same": same, "kept": kept, "error": error}


def make_states(dtype, seed):
    """An average and a state: a weight, a counter and a mask."""
    generator, states = torch.Generator().manual_seed(seed), []
    for count in (3, 8):
        weight = torch.randn(2, 3, generator=generator).to(device, dtype)
        mask = torch.tensor([count == 3, False], device=device)
        states.append(
            {"weight": weight, "tracked": torch.tensor(count, device=device), "mask": mask}
        )
    return states


def check_weight(mine, average, state, step, decay):
    d, dtype = min(decay, (1 + step) / (10 + step)), average.dtype
    old, new = average.double(), state.double()
    found = (
        mine.double()
        if isinstance(mine, torch.Tensor) and mine.shape == old.shape
        else old * torch.nan
    )
    turned = torch.allclose(found, (1 - d) * old + d * new, atol=1e-3) and abs(d - 0.5) > 0.05
    assert not turned, (
        "weight: d belongs to the average, 1 - d to the state, not the other way round"
    )
    cold = torch.allclose(found, decay * old + (1 - decay) * new, atol=1e-3)
    words = f"weight: this is d = {decay}, without the warm-up; it is {d:.3f} at step {step}"
    assert not cold or abs(d - decay) < 0.05, words
    loose = {torch.bfloat16: 2e-2, torch.float16: 2e-3}.get(dtype, 1e-5)
    check_close(mine, (d * old + (1 - d) * new).to(dtype), "weight", rtol=loose, atol=loose)


def check_average(found, average, state, step, decay):
    assert isinstance(found, dict), "ema returned no dict: is there an answer yet?"
    check_equal(sorted(found), sorted(state), "the names")
    check_weight(found["weight"], average["weight"], state["weight"], step, decay)
    for name in ("tracked", "mask"):
        words = f"{name}, which has no floating point, so as in state"
        check_close(found[name], state[name], words)
    for name, value in found.items():
        shared = value.untyped_storage().data_ptr() == state[name].untyped_storage().data_ptr()
        assert not shared, f"{name} shares its memory with state: clone it"
