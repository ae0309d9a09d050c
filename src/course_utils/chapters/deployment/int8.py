"""Exercise 19.10: a linear layer in whole numbers, and the detector in eight bits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from course_utils.chapters.deployment.noise import quiet
from course_utils.learner.other_states import check_states
from course_utils.learner.tracebacks import ends_in_notebook


def quantise_file(source: str | Path, target: str | Path, pictures: torch.Tensor) -> None:
    """Make an int8 ONNX file of a float32 one: weights per channel, calibrated on pictures."""
    from onnxruntime.quantization import CalibrationDataReader, QuantType, quantize_static

    class Reader(CalibrationDataReader):
        def __init__(self) -> None:
            self.batches = iter(pictures.split(20))

        def get_next(self) -> Any:
            batch = next(self.batches, None)
            return None if batch is None else {"picture": batch.numpy()}

    with quiet():
        quantize_static(
            str(source), str(target), Reader(), per_channel=True, weight_type=QuantType.QInt8
        )


def layer(kind: str) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, float, float]:
    """``x``, ``weight``, ``bias``, ``low``, ``high`` of a case; no number is near a tie."""
    generator = torch.Generator().manual_seed(19)
    sizes = {"one row": (1, 5, 3), "no row": (0, 5, 3), "large sums": (2, 9000, 6)}
    sizes |= {"one output": (4, 5, 1), "as many rows as outputs": (6, 37, 6)}
    rows, ins, outs = sizes.get(kind, (4, 37, 6))
    low, high = (0.0, 3.0) if "from 0" in kind else (-1.0, 2.5)
    if "down to" in kind:
        low, high = -4.0, 0.0
    if "far beyond" in kind:  # both ends are rounded away from 0, which makes 256
        low, high = -73.5, 181.5

    def near_whole(low: int, high: int, *shape: int) -> torch.Tensor:
        whole = torch.randint(low, high + 1, shape, generator=generator).double()
        return whole + 0.4 * torch.rand(shape, generator=generator).double() - 0.2

    scale = (high - low) / 255
    zero = round(-low / scale)
    x = (near_whole(0, 255, rows, ins) - zero) * scale
    if ("beyond" in kind or "from 0" in kind) and rows:
        x[0, :4] = torch.tensor([high + 1, low - 1, high * 40 + 1, low - 100])
    if "far beyond" in kind:
        x[1, :4] = torch.tensor([1e30, -1e30, torch.inf, -torch.inf])
    weight = near_whole(-100, 100, outs, ins)
    weight[:, 0] = 127.0 * torch.tensor([1.0, -1.0]).repeat(outs)[:outs]
    factors = 10.0 ** torch.linspace(-3, 2, outs).double()
    weight = weight * factors[:, None] / 127
    if "zeros" in kind:
        weight[1] = 0
    if "tiny" in kind:
        weight[1] *= 1e-20
    if "large" in kind:
        weight = weight.abs()
        x = x.abs()
    if "transposed" in kind:
        x, weight = x.T.contiguous().T, weight.T.contiguous().T
    bias = torch.randn(outs, generator=generator)
    own = "layer's own" in kind
    return x.float(), weight.float().requires_grad_(own), bias.requires_grad_(own), low, high


def truth(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    low: float,
    high: float,
    slip: str = "",
) -> tuple[torch.Tensor, torch.Tensor]:
    """The integers and the floats that the exercise asks for, or what a slip gives instead."""
    if slip == "anew" and x.numel() and x.isfinite().all():
        low, high = min(0.0, x.min().item()), max(0.0, x.max().item())
    if slip == "falsy" and x.numel() and x.isfinite().all():
        low, high = low or min(0.0, x.min().item()), high or max(0.0, x.max().item())
    scale = (high - low) / (256 if slip == "256" else 255)
    zero = int(-low / scale) if slip == "zero cut" else round(-low / scale)
    if "fraction" in slip:
        zero = -low / scale
    if slip == "middle":
        zero = 128
    if slip == "symmetric":
        scale, zero = 2 * max(-low, high) / 255, 128
    ratio = x.double() / torch.tensor(scale, dtype=torch.float32).double()
    whole = {"trunc": ratio.trunc, "floor": ratio.floor}.get(slip, ratio.round)() + zero
    if slip == "fraction":
        whole = (ratio + zero).round()
    if slip == "wrap":
        whole = whole % 256
    elif slip != "no clamp":
        whole = whole.clamp(0, 255)
    sizes = (weight if slip == "signed" else weight.abs()).amax(1, keepdim=True)
    if slip == "per tensor":
        sizes = weight.abs().max().expand_as(sizes)
    steps = torch.where(sizes == 0, 1.0, sizes.double() / (128 if "128" in slip else 127))
    if slip == "all ones" and bool((sizes == 0).any()):
        steps = torch.ones_like(steps)
    ints = (weight.double() / steps).round()
    if slip == "128 in int8":
        ints = (ints + 128) % 256 - 128
    if slip == "trunc weights":  # in float32: a row's largest may fall just below 127
        single = sizes / 127
        ints = (weight / torch.where(sizes == 0, 1.0, single)).trunc().double()
    if slip != "no zero":
        whole = whole - zero
    if slip == "int8 activations":
        whole = (whole + 128) % 256 - 128
    if slip == "uint8 activations":
        whole = whole % 256
    total = (whole @ ints.T).round().to(torch.int32)
    if slip == "bias in total":
        total = total + (bias.double() / (scale * steps.T)).round().to(torch.int32)
    if slip in ("int8 sum", "int16 sum"):
        narrow = torch.int8 if slip == "int8 sum" else torch.int16
        total = total.to(narrow).to(torch.int32)
    y = total.double() * scale * steps.T
    if slip != "no bias":
        y = y + bias.double()
    return total, y.float()


SLIPS = {
    "no zero": "the zero point is still in the sum: a float of 0 has to add nothing",
    "per tensor": "the weights have one scale for all rows: each row has its own",
    "no clamp": "what lies beyond low and high isn't clamped to 0 and 255",
    "wrap": "what lies beyond low and high wraps around: clamp before it becomes uint8",
    "trunc": "numbers are cut off where they should be rounded",
    "floor": "numbers are rounded down where they should be rounded to the nearest",
    "trunc weights": "the weights are cut off where they should be rounded",
    "signed": "a row's largest is its largest by size: a negative weight counts as well",
    "256": "from low to high there are 256 values, and so 255 steps",
    "128": "the weights' whole numbers go from -127 to 127: a row's step is its largest / 127",
    "128 in int8": "the weights' whole numbers go from -127 to 127: 128 isn't an int8",
    "all ones": "the scale 1 is for the row of zeros alone: the others keep theirs",
    "fraction": "the zero point is a whole number: round it before it is added",
    "fraction added last": "the zero point is a whole number: round it before it is added",
    "bias in total": "the bias belongs to y; total is the sum of products alone",
    "zero cut": "the zero point is cut off where it should be rounded to the nearest",
    "middle": "the zero point isn't always 128: it is what `low` and the step make it",
    "symmetric": "that is symmetric, as if low were -high: low has its own whole number, 0",
    "anew": "low and high come from calibration; don't look for them in x",
    "falsy": "`low` or `high` may be 0: `if low` and `low or …` take that 0 for a missing number",
    "int8 activations": "an activation minus the zero point goes up to 255: more than int8 holds",
    "uint8 activations": "below the zero point an activation minus it is negative, and uint8 wraps "
    "around: subtract in int32",
    "int8 sum": "the sum doesn't fit into eight bits: add up in int32",
    "int16 sum": "the sum doesn't fit into sixteen bits: add up in int32",
}


def check_other_states(quantised_inference: Callable) -> None:
    """Whether the layer gives the same in states in which a slip doesn't count on it."""
    what, without = "quantised_inference(x, …)", ("old_gradient", "inside_a_graph")
    check_states(quantised_inference, *layer("in range"), what=what, but=without)


@ends_in_notebook
def check_layer(kind: str, result: Any, inputs: tuple) -> None:
    """Check the two tensors that the answer gave for a case."""
    __tracebackhide__ = True
    from course_utils.learner.values import check_parts

    total, y = check_parts(result, "total", "y")
    inputs = (*(part.detach().cpu() for part in inputs[:3]), *inputs[3:])
    right, floats = truth(*inputs)
    for name, got, expected in (("total", total, right), ("y", y, floats)):
        assert isinstance(got, torch.Tensor), f"{name} is a {type(got).__name__}, not a tensor"
        assert got.shape == expected.shape, (
            f"{name} has shape {tuple(got.shape)}, expected {tuple(expected.shape)}"
        )
        assert got.dtype == expected.dtype, f"{name} is {got.dtype}, expected {expected.dtype}"
    total, y = total.detach().cpu(), y.detach().cpu()
    if not torch.equal(total, right):
        for slip, words in SLIPS.items():
            wrong = truth(*inputs, slip=slip)[0]
            apart, given = (total - wrong).abs().max(), (right - wrong).abs().max()
            # Other rounding in a slip's own scale moves a sum by some weights at most.
            most = 4 * 127 if slip in ("anew", "falsy") else 1 if "fraction" in slip else 0
            assert apart > most or given <= 4 * most, f"total: {words}"
        near = torch.allclose(total.double(), right.double(), rtol=1e-4)
        assert not near or not bool((right.abs() > 2**24).any()), (
            "total: a sum beyond 2**24 is off by a little: float32 doesn't hold every whole number "
            "there; add up in int32"
        )
        at_zeros = kind == "a row of zeros" and torch.equal(total[:, 2:], right[:, 2:])
        assert not at_zeros, "total: a row of zeros has the scale 1: 0 / 0 isn't a number"
        # A row of zeros gives 0 whatever its scale is: that it is right says nothing.
        sound = (total == right).all(0) & (inputs[1] != 0).any(1)
        off = (total != right).any(0).nonzero()[:, 0].tolist()
        assert kind != "a row of tiny weights" or off != [1], (
            "total: a row of tiny weights is wrong, the others right: its scale is its largest / "
            "127, however small; only a row of zeros has another"
        )
        below = (inputs[1].amax(1) < inputs[1].abs().amax(1)).nonzero()[:, 0].tolist()
        assert not (bool(sound.any()) and off == below), (
            f"total: rows {off} of `weight` are wrong, those whose largest number by size is "
            "negative: it counts as well, without its sign"
        )
        assert not bool(sound.any()), (
            f"total: rows {off} of `weight` are wrong, the others right: what is a row's scale?"
        )
        assert "far beyond" not in kind, (
            "total: far beyond the range even an int32 overflows, and high itself may become 256: "
            "clamp to 0 and 255 while the numbers are floats"
        )
        raise AssertionError("total differs from the sum of products of whole numbers")
    if not torch.allclose(y, floats, rtol=1e-4, atol=1e-5):
        plain = truth(*inputs, slip="no bias")[1]
        assert not torch.allclose(y, plain, rtol=1e-4, atol=1e-5), "y: the bias isn't added"
        x, weight, bias = inputs[:3]
        single = torch.nn.functional.linear(x, weight, bias)
        assert not torch.allclose(y, single, rtol=1e-4, atol=1e-5), (
            "y: that is the layer in float32; y is what `total` is worth"
        )
        steps = weight.abs().amax(1, keepdim=True).double() / 127
        whole = (weight / steps.where(steps != 0, 1)).round() * steps
        half = x.clamp(*inputs[3:]).double() @ whole.T + bias
        assert not torch.allclose(y, half.float(), rtol=1e-4, atol=1e-5), (
            "y: x came in as floats there; y is what `total` is worth"
        )
        if y.shape[0] == y.shape[1] > 1:
            turned = total * ((inputs[4] - inputs[3]) / 255) * steps + bias
            assert not torch.allclose(y, turned.float(), rtol=1e-4, atol=1e-5), (
                "y: the steps of the rows of `weight` went to the rows of y: they belong to its "
                "columns"
            )
        raise AssertionError("y: a unit of total is worth x's step times its row's step")
