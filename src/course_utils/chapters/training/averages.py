"""Exercise 13.9: averaged weights, swapped in and out."""

from __future__ import annotations

import torch

from course_utils.chapters.training.states import frozen
from course_utils.learner.awkward import awkward_model, forbid_side_effects
from course_utils.learner.cases import every_case
from course_utils.learner.checks import check_close, check_equal
from course_utils.learner.devices import device
from course_utils.learner.other_states import check_states

RENEWED = "second.norm.running_mean"  # in one block a new tensor comes in this one's place
DTYPES = {"ValueError": torch.bfloat16}
RAISED = {kind.__name__: kind for kind in (ZeroDivisionError, KeyboardInterrupt, ValueError)}


def drawn(number: int) -> torch.Generator:
    """A generator of its own."""
    return torch.Generator().manual_seed(number)


def filled(like: torch.Tensor) -> torch.Tensor:
    """The average of one entry: 7, and in float64 a little more than float32 can hold."""
    return torch.full_like(like, 7 + 2**-40 * (like.dtype == torch.float64))


def run_swapped_in(swapped_in, ends: str) -> dict:
    """What a block saw, and what is left after it.

    ``ends`` names what it raises, or is "", "without gradients" or "after another block".
    """
    fine = ends == "after another block"  # float64, and values that float32 can't hold
    dtype = torch.float64 if fine else DTYPES.get(ends, torch.float32)
    model = awkward_model(dtype=dtype).to(device)
    x = torch.randn(5, 4, generator=drawn(1)).to(device, dtype)
    average = {name: filled(value) for name, value in reversed(model.state_dict().items())}
    recording = ends != "without gradients"
    objects, before = model.state_dict(keep_vars=True), frozen(dict(model.state_dict()))
    attributes = [set(vars(part)) for part in model.modules()]
    watch = forbid_side_effects(model, but=("values",)).__enter__()
    swap, error, grad = swapped_in(model, average), "", None
    changes = watch.changes()
    assert not changes, f"when swapped_in was called, before the block: {changes[0]}"
    assert hasattr(swap, "__enter__"), f"{swap}, no context manager: is there an answer yet?"
    words = "the model changed when swapped_in was called: swap when the block begins"
    assert frozen(dict(model.state_dict())) == before, words
    with torch.no_grad():  # a step between the call and the block
        for value in model.state_dict().values():
            value.add_(1 if value.is_floating_point() else 2**60)  # what no float can hold
        if ends == "ZeroDivisionError":  # training has gone wrong
            next(model.parameters()).view(-1)[0] = torch.nan
    if ends == "after another block":
        with swapped_in(model, average):
            pass
        with torch.no_grad():
            for value in model.state_dict().values():
                value.add_(1)
    wanted = {name: value.clone() for name, value in model.state_dict().items()}
    before, watch = frozen(dict(model.state_dict())), forbid_side_effects(model, but=("values",))
    watch.__enter__()
    state = None
    with torch.set_grad_enabled(recording):
        try:
            with swap:
                state = {name: value.detach().clone() for name, value in model.state_dict().items()}
                grad = torch.is_grad_enabled()
                now = model.state_dict(keep_vars=True)
                same = all(now[name] is value for name, value in objects.items())
                inner = watch.changes()
                lent = all(torch.equal(value, filled(value)) for value in average.values())
                nested = ends != "" or _nested(swapped_in, model)
                model(x)  # in training mode: batch norm moves its statistics
                if fine:  # an optimizer's step, and a layer that makes a new tensor of its buffer
                    _step(model)
                if ends in RAISED:
                    raise RAISED[ends]
        except tuple(RAISED.values()) as raised:
            error = type(raised).__name__
        except RuntimeError as raised:
            words = (
                "an entry of average went to another of the model: pair them by name, not by order"
            )
            if "must match the size" in str(raised):
                raise AssertionError(words) from raised
            raise
        except TypeError as raised:
            if "BFloat16" not in str(raised):
                raise
            words = "the model's parameters are of bfloat16, which NumPy doesn't know: keep tensors"
            raise AssertionError(words) from raised
        except KeyError as raised:
            twice = "state_dict() has a buffer that two modules share twice, named_buffers() once"
            unsaved = "state_dict() leaves out a buffer that isn't saved, named_buffers() has it"
            words = twice if raised.args[0] in average else unsaved
            raise AssertionError(f"it raised KeyError: {raised}: {words}") from raised
        left = torch.is_grad_enabled()
    assert state is not None, "the block did not run: is there a yield in swapped_in?"
    inside = [name for name, value in state.items() if not torch.equal(value, filled(value))]
    after = frozen(dict(model.state_dict())) == before
    odd = [
        name for name, value in model.state_dict().items() if not torch.equal(value, wanted[name])
    ]
    digits = not after and all(
        torch.allclose(value.double(), wanted[name].double(), rtol=1e-5)
        for name, value in model.state_dict().items()
    )
    if fine:  # what the block put in a buffer's place may be there, or what was there before
        model.second.norm.running_mean = objects[RENEWED]
    changed = watch.changes()
    kept = all(torch.equal(value, filled(value)) for value in average.values())
    asked = [name for name, value in average.items() if value.requires_grad]
    assert not asked, f"{asked[0]} in average requires a gradient now: it stays as it is"
    with torch.no_grad():
        for value in model.state_dict().values():
            value.fill_(3)
    apart = all(torch.equal(value, filled(value)) for value in average.values())
    seen = {"inside": inside, "same": same, "grad": grad == recording, "inner": inner}
    seen = seen | {"error": error, "left": left == recording}
    seen = seen | {"after": after, "digits": digits, "lent": lent, "nested": nested}
    seen["stale"] = odd == [RENEWED]
    pairs = zip(attributes, model.modules(), strict=True)
    seen["attributes"] = sorted({name for old, part in pairs for name in set(vars(part)) - old})
    return seen | {"changed": changed, "kept": kept, "apart": apart}


def _step(model) -> None:
    """What a block may do: an optimizer's step, and a layer that makes a new tensor of a buffer."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(1)
    norm = model.second.norm
    norm.running_mean = norm.running_mean + 1


def _nested(swapped_in, model) -> bool:
    """Whether a block inside a block gives back what the model had when the inner one began."""
    before = frozen(dict(model.state_dict()))
    other = {name: torch.zeros_like(value) for name, value in model.state_dict().items()}
    with swapped_in(model, other):
        pass
    return frozen(dict(model.state_dict())) == before


def check_swapped(seen, ends):
    words = "inside the block not all values, buffers included, are the average's"
    assert not seen["inside"], f"{words}: {', '.join(seen['inside'][:3])}"
    words = "inside the block the parameters are other objects: copy into them"
    assert seen["same"], f"{words}; an optimizer and old gradients belong to the first"
    words = "inside the block grad mode is another: "
    off = "gradients are off; end no_grad before the yield"
    on = "gradients are on, where they were off before"
    lent = "inside the block average holds other values: it stays as it is, there too; keep the "
    assert seen["lent"], lent + "model's own values elsewhere"
    nested = "after a block inside the block the model doesn't have what it had when the inner one "
    nested += "began: keep the values for each block by themselves, in a local name"
    assert seen["nested"], nested
    assert seen["grad"], words + (on if ends == "without gradients" else off)
    assert seen["left"], "after the block grad mode is another than before it"
    assert not seen["inner"], f"inside the block: {seen['inner'][0]}"
    words = "swallowed on the way out? what the block raises goes on, and finally lets it"
    words *= not seen["error"]
    check_equal(seen["error"], ends if ends in RAISED else "", "what the block raised", words)
    left = ", ".join(seen["attributes"])
    words = f"after the block the model has a new attribute, {left}: all else stays"
    assert not seen["attributes"], f"{words}; keep the values in a local name"
    words = "after the block values have lost digits: keep each in its own dtype"
    assert not seen["digits"], words
    words = "after the block a buffer isn't what it was: a forward pass may put a new tensor in "
    words += "its place, under the old name; ask model.state_dict() anew on the way out"
    assert not seen["stale"], words
    words = (
        "after the block the model's own values, those of when the block began, are not back: take "
        "copies on the way in, not the live tensors, and put them back in a finally"
    )
    assert seen["after"], words
    assert not seen["changed"], f"after the block: {seen['changed'][0]}"
    words = "the average changed when the model did: they share memory; copy values into the model"
    assert seen["kept"], words
    assert seen["apart"], words


def make_states(dtype, seed):
    """An average and a state: a weight, a counter and a mask; the names of the average come in
    the other order."""
    generator, states = torch.Generator().manual_seed(seed), []
    for count in (3, 8):
        weight = torch.randn(2, 3, generator=generator).to(device, dtype)
        mask = torch.tensor([count == 3, False], device=device)
        states.append(
            {
                "weight": weight,
                "scale": weight[0, 0].clone(),  # of no dimension
                "norm.running_mean": weight[1] + 1,  # a buffer is averaged like a parameter
                "nothing": weight.new_zeros(0, 3),
                "tracked": torch.tensor(count, device=device),
                "large": torch.tensor([2**60 + count], device=device),  # no float holds all digits
                "mask": mask,
                "phase": torch.tensor([1j * count], device=device),  # is_floating_point(): False
            }
        )
    return [dict(reversed(states[0].items())), states[1]]


def check_weight(name, mine, average, state, step, decay):
    d, dtype = min(decay, (1 + step) / (10 + step)), average.dtype
    paired = isinstance(mine, torch.Tensor) and mine.is_complex()
    assert not paired, f"{name} got another entry's numbers: pair entries by name, not by order"
    old, new = average.double(), state.double()
    found = (
        mine.double()
        if isinstance(mine, torch.Tensor) and mine.shape == old.shape
        else old * torch.nan
    )
    turned = torch.allclose(found, (1 - d) * old + d * new, atol=1e-3) and abs(d - 0.5) > 0.05
    words = f"{name}: d belongs to the average, 1 - d to the state, not the other way round"
    assert not turned, words
    cold = torch.allclose(found, decay * old + (1 - decay) * new, atol=1e-3)
    words = f"{name}: this is d = {decay}, without the warm-up (or with max for min)"
    assert not cold or abs(d - decay) < 0.05, f"{words}; it is {d:.3f} at step {step}"
    late = min(decay, (2 + step) / (11 + step))
    next_one = torch.allclose(found, late * old + (1 - late) * new, atol=1e-3)
    words = f"{name}: this is the d of step {step + 1}: steps are counted from 0"
    assert not next_one or abs(d - late) < 0.01, words
    loose = {torch.bfloat16: 2e-2, torch.float16: 2e-3, torch.float64: 1e-12}.get(dtype, 1e-5)
    right = (d * old + (1 - d) * new).to(dtype)
    same = isinstance(mine, torch.Tensor) and mine.dtype == dtype
    if same and not torch.allclose(found, right.double(), atol=loose):
        parts = {"average": (d * old,), "state": ((1 - d) * new, new)}
        for part, values in parts.items():
            alone = any(torch.allclose(found, value, atol=1e-3) for value in values)
            assert not alone, f"{name}: this is the {part}'s part alone: both are added"
        low, high = torch.minimum(old, new) - loose, torch.maximum(old, new) + loose
        words = f"{name}: a value is outside of what lies between average and state: "
        inside = bool(((low <= found) & (found <= high)).all())
        assert inside, words + "d and 1 - d add up to 1, and neither is below 0"
        words = f"{name}: at step {step} d is {d:.4f}, the lesser of decay and (1 + t) / (10 + t)"
        assert torch.allclose(found, right.double(), atol=1e-4 + loose), words
    words = f"{name}, right to seven digits or so: was float64 computed in float32?"
    few = dtype == torch.float64 and torch.allclose(found, right, rtol=1e-5)
    check_close(mine, right, words if few else name, rtol=loose, atol=loose)


def check_nan(ema) -> None:
    """A state or an average that has a NaN gives an average that has it."""
    average, state = torch.tensor([1.0, 1.0, torch.nan]), torch.tensor([2.0, torch.nan, 2.0])
    found = ema({"w": average}, {"w": state}, 0, 0.99)["w"]
    words = "what is NaN in the state is NaN in the average: the formula holds for each number"
    assert found.isnan().tolist()[:2] == [False, True], words
    words = "what is NaN in the average stays NaN: the formula holds for each number"
    assert found.isnan().tolist()[2], words


def check_tied(ema) -> None:
    """Two names for one tensor, as of a model whose weights are tied: each is averaged once."""
    average, state = torch.ones(2), torch.full((2,), 2.0)
    found = ema({"w": average, "tied": average}, {"w": state, "tied": state}, 0, 0.99)
    words = "w and tied are one tensor under two names, as in a model with tied weights: it was "
    words += "averaged twice. deepcopy keeps shared what is shared: make a new tensor for each name"
    for name in ("w", "tied"):
        twice = isinstance(found[name], torch.Tensor) and torch.allclose(
            found[name].double(), torch.tensor(1.99).double()
        )
        assert not twice, words
        check_weight(name, found[name], average, state, 0, 0.99)


def check_small(ema, dtype) -> None:
    """1 - d is 0.001 where half precision would round d to 1."""
    zeros, ones = torch.zeros(2, dtype=dtype), torch.ones(2, dtype=dtype)
    found = ema({"w": zeros}, {"w": ones}, 10**6, 0.999)["w"]
    words = "entries of 0 in the average and 1 in the state, decay 0.999, step 1000000"
    rounded = isinstance(found, torch.Tensor) and not found.any()
    text = f"{words}: they stay 0. Was d rounded to {dtype}? Keep it a Python number"
    assert not rounded, text
    check_close(found, torch.full_like(ones, 0.001), words, rtol=1e-2, atol=0.0)


def check_odd(ema) -> None:
    """NaN, other states, and decays near 1 in half precision."""
    with every_case() as case:
        with case("a NaN in the state, and in the average"):
            check_nan(ema)
        with case("one tensor under two names"):
            check_tied(ema)
        with case("called twice, and in inference mode"):
            states, what = make_states(torch.float32, 1), "ema(average, state, 3, 0.9)"
            check_states(ema, *states, 3, 0.9, what=what, but=["old_gradient", "inside_a_graph"])
        for dtype in (torch.float16, torch.bfloat16):
            with case(f"{dtype}, a decay near 1"):
                check_small(ema, dtype)


def check_average(found, average, state, step, decay):
    assert isinstance(found, dict), "ema returned no dict: is there an answer yet?"
    check_equal(sorted(found), sorted(state), "the names")
    for name in ("weight", "scale", "norm.running_mean"):
        check_weight(name, found[name], average[name], state[name], step, decay)
    for name in ("tracked", "mask", "phase", "nothing", "large"):
        words = f"{name}, no entry of floating-point numbers, so as in state"
        check_close(found[name], state[name], words)
    for name in state:
        value = found[name]
        if not value.numel():
            continue
        shared = value.untyped_storage().data_ptr() == state[name].untyped_storage().data_ptr()
        assert not shared, f"{name} shares its memory with state: clone it"
