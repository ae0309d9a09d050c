"""Recurrent layers: cells by hand, and packed sequences."""

from __future__ import annotations

from types import MethodType
from typing import Any

import torch
import torch.nn as nn

from course_utils.chapters.layers.digits import check_digits
from course_utils.chapters.layers.slips import (
    COUNTED_LATE,
    bptt_gradient,
    common_slips,
    gradient_slips,
    gru_slips,
    lstm_slips,
    rnn_slips,
)
from course_utils.chapters.layers.trials import refused
from course_utils.learner.awkward import forbid_side_effects
from course_utils.learner.calls import check_rules
from course_utils.learner.checks import check_equal
from course_utils.learner.devices import device, seeded
from course_utils.learner.tracebacks import add_words
from course_utils.learner.values import check_parts

CELLS = {"rnn": torch.rnn_tanh_cell, "gru": torch.gru_cell, "lstm": torch.lstm_cell}


RECURRENT = ("*rnn*", "*gru*", "*lstm*")
ONE_STEP = "the first step reads its state of zeros by w_hh, too: after it the gradient is zeros"
TIME_FIRST = "the rectangle is (time, batch, features), unless it is asked for with batch_first"


def check_rnn_by_hand_1(
    try_rnn_by_hand, kind, batch, features, size, normal, dtype=torch.float32, trained=False
):
    gates = {"rnn": 1, "gru": 3, "lstm": 4}[kind]
    x, h, c = (normal(batch, n).to(dtype) for n in (features, size, size))
    weights = normal(gates * size, features), normal(gates * size, size), *normal(2, gates * size)
    weights = tuple(weight.to(dtype) for weight in weights)
    state: Any = (h, c) if kind == "lstm" else h
    right: Any = CELLS[kind](x, state, *weights)
    given = [weight.clone().requires_grad_(trained) for weight in weights]
    found, names, changed = try_rnn_by_hand(kind, x, state, *given)
    check_rules(names, changed, *RECURRENT)
    common, slips = common_slips(kind, x, state, weights, gates), {}
    order = f"the gates come in the order {'r, z, n' if kind == 'gru' else 'i, f, g, o'}"
    if kind == "lstm":
        found, right = check_parts(found, "h", "c"), right
        slips = {words: wrong[1] for words, wrong in common.items()}
        slips |= lstm_slips(x, state, weights, order) | {"h comes first, then c": right[0]}
        check_digits(found[1], right[1], "c", slips)
        gate = right[0] / right[1].tanh()
        slips = {"h is o times the tanh of c": gate * right[1]}
        slips["h is o times the tanh of the new c, not of the old"] = gate * c.tanh()
        common = {words: wrong[0] for words, wrong in common.items()}
        found, right = found[0], right[0]
    if kind == "gru":
        slips = gru_slips(x, h, weights, order)
    if kind == "rnn":
        slips = rnn_slips(x, h, weights)
    check_digits(found, right, "h", slips | common)


def check_reset(try_rnn_by_hand, normal):
    """A GRU whose w_hh is zero: of the recurrent part only b_hh is left."""
    x, h, w_ih, (b_ih, b_hh) = normal(2, 3), normal(2, 4), normal(12, 3), normal(2, 12)
    weights = w_ih, torch.zeros(12, 4, device=device), b_ih, b_hh
    slips = gru_slips(x, h, weights, "the gates come in the order r, z, n")
    slips |= common_slips("gru", x, h, weights, 3)
    found, _, _ = try_rnn_by_hand("gru", x, h, *weights)
    check_digits(found, torch.gru_cell(x, h, *weights), "h", slips)


def check_rnn_by_hand_2(
    try_truncated_gradient, time, k, normal, dtype=torch.float32, trained=False
):
    x, w_ih, w_hh = normal(time, 2, 3), normal(4, 3) / 2, normal(4, 4) / 2
    x, w_ih, w_hh = (t.to(dtype) for t in (x, w_ih, w_hh))
    given = [weight.clone().requires_grad_(trained) for weight in (x, w_ih, w_hh)]
    try:
        found, names, spoilt = try_truncated_gradient(*given, k)
    except RuntimeError as error:
        left_out = "element 0" in str(error) or "not have been used" in str(error)
        if time == 1 and left_out and of_two_steps(try_truncated_gradient, given, k) is not None:
            raise AssertionError(f"raised RuntimeError: {error}; {ONE_STEP}") from None
        again = refused(lambda: try_truncated_gradient(*given, 2)) if k == 1 else "not asked"
        if "element 0" in str(error) and again == "nothing":
            raise AssertionError(f"raised RuntimeError: {error}; {COUNTED_LATE}") from None
        if dtype == torch.float32 or "dtype" not in str(error):
            raise
        words = "here all is float64: is something that you make, such as the state, float32?"
        raise AssertionError(f"raised RuntimeError: {error}; {words}") from None
    check_rules(names, spoilt, "*rnn*", "*gru*", "*lstm*")
    if found is None and time == 1:
        later = of_two_steps(try_truncated_gradient, given, k)
        assert later is None, f"the gradient is None; {ONE_STEP}"
    right = bptt_gradient(x, w_ih, w_hh, range(k, time, k))
    slips = gradient_slips(x, w_ih, w_hh, k, right)
    check_digits(found, right, "the gradient", slips)


def of_two_steps(try_truncated_gradient, given, k):
    """What the answer gives where it reads ``x`` twice: None where it raises or gives nothing."""
    x, *weights = given
    try:
        return try_truncated_gradient(torch.cat([x, x]), *weights, k)[0]
    except RuntimeError:
        return None


def make_rnn(
    kind: str, dtype: torch.dtype = torch.double, blank: bool = False, **options
) -> nn.Module:
    """A layer of 3 features and a state of 4 in a used state: frozen, with an old gradient.

    A GRU is in training mode, the others in eval; without dropout they give the same in both.
    ``blank``: all weights are 0, and so are the outputs.
    """
    rnn, normal = getattr(nn, kind)(3, 4, **options, device=device, dtype=dtype), seeded(7)
    with torch.no_grad():
        for parameter in rnn.parameters():
            parameter.copy_(normal(*parameter.shape) * (0 if blank else 0.5))
    rnn.weight_ih_l0.requires_grad_(False)
    rnn.weight_hh_l0.grad = torch.full_like(rnn.weight_hh_l0, 0.25)
    rnn.register_forward_hook(lambda module, args, output: None)
    return rnn.train(kind == "GRU")


def run_packed_sequences(
    packed_sequences,
    kind: str,
    options: dict,
    sequences: list[torch.Tensor],
    again: bool = False,
) -> tuple:
    """The outputs of two calls, how often the layer ran, what changed, gradients, and more.

    More are the outputs for the same tensors while their numbers are halved, and what sends no
    gradient back where it alone requires one.

    Args:
        packed_sequences: the answer.
        kind: RNN, GRU or LSTM.
        options: of the layer.
        sequences: what the layer reads.
        again: the last sequence is the very object that the first is.
    """
    rnn, calls = make_rnn(kind, sequences[0].dtype, **options), []
    sequences = [sequence.detach().clone().requires_grad_() for sequence in sequences]
    sequences = [*sequences[:-1], sequences[0]] if again else sequences
    given, copies = list(sequences), [sequence.clone() for sequence in sequences]

    def counted(self, *args, **more):
        calls.append(1)
        return type(self).forward(self, *args, **more)

    rnn.forward = MethodType(counted, rnn)  # a copy of the layer gets a method of its own
    effects = forbid_side_effects(rnn).__enter__()
    results, count, changed, gradients = [], 0, [], [None]
    torch.rand(1)
    for _ in range(2):
        state = torch.get_rng_state()
        outputs = packed_sequences(rnn, sequences)
        count = count or len(calls)
        changed = changed or effects.changes()
        drawn = not torch.equal(state, torch.get_rng_state())
        changed = changed + ["PyTorch's random generator was moved or seeded"] * drawn
        if isinstance(outputs, (list, tuple)):
            tensors = [y for y in outputs if isinstance(y, torch.Tensor)]
            if not results:
                gradients = gradients_of_all(rnn, tensors, given)
            outputs = [y.detach() if isinstance(y, torch.Tensor) else y for y in outputs]
        results.append(outputs)
        if len(given) != len(sequences):
            break
    moved = len(given) != len(sequences) or any(
        x is not y for x, y in zip(given, sequences, strict=False)
    )
    moved = moved or any(not torch.equal(x, y) for x, y in zip(given, copies, strict=True))
    other = make_rnn(kind, copies[0].dtype, **options)
    changed = ["the list of sequences was changed"] * moved + changed
    changed += ["the layer's batch_first was changed"] * (rnn.batch_first != other.batch_first)
    halved, lost = None, ""
    if not changed and isinstance(results[0], (list, tuple)):
        halved = with_halves(packed_sequences, rnn, sequences)
        lost = lost_alone(
            packed_sequences, lambda: make_rnn(kind, copies[0].dtype, **options), copies
        )
    return results[0], results[-1], count, sorted(set(changed)), gradients, halved, lost


def with_halves(packed_sequences, rnn, sequences: list[torch.Tensor]) -> list | None:
    """The outputs for these very tensors while they hold half of their numbers."""
    own = {id(sequence): sequence.detach() for sequence in sequences}.values()
    for sequence in own:
        sequence.mul_(0.5)
    outputs = packed_sequences(rnn, sequences)
    for sequence in own:
        sequence.mul_(2)
    found = outputs if isinstance(outputs, (list, tuple)) else []
    return [y.detach() if isinstance(y, torch.Tensor) else y for y in found]


def lost_alone(packed_sequences, make, sequences: list[torch.Tensor]) -> str:
    """The layer or the sequences, whichever gets no gradient where the other requires none."""
    for name in ("the layer's weights", "the sequences"):
        rnn, given = make(), [sequence.detach().clone() for sequence in sequences]
        if name == "the sequences":
            rnn.requires_grad_(False)
            given = [sequence.requires_grad_() for sequence in given]
        outputs = packed_sequences(rnn, given)
        if not all(y.requires_grad for y in outputs if isinstance(y, torch.Tensor)):
            return name
    return ""


def gradients_of_all(
    rnn, outputs: list[torch.Tensor], sequences: list[torch.Tensor]
) -> list[torch.Tensor | None]:
    """What the sum of the outputs sends back to a bias of the layer and to the sequences."""
    if not outputs or not all(y.requires_grad for y in outputs):
        return [None] * (1 + len(sequences))
    total = torch.stack([y.sum() for y in outputs]).sum()
    return list(torch.autograd.grad(total, [rnn.bias_hh_l0, *sequences], allow_unused=True))


def check_packed_sequences(
    try_packed_sequences,
    kind,
    lengths,
    seed=0,
    dtype=torch.double,
    again=False,
    quiet=False,
    **options,
):
    """``again``: the last sequence is the first; ``quiet``: each ends with a row of zeros."""
    normal = seeded(seed)
    sequences = [normal(3, n).to(dtype).t() for n in lengths]  # transposed views
    for sequence in sequences if quiet else ():
        sequence[-1] = 0
    sequences = [sequence.requires_grad_() for sequence in sequences]
    sequences = [*sequences[:-1], sequences[0]] if again else sequences
    rnn: Any = make_rnn(kind, dtype, **options)
    right = [rnn(sequence)[0] for sequence in sequences]
    wanted: Any = gradients_of_all(rnn, right, sequences)
    right = [y.detach() for y in right]
    given = kind, options, [sequence.detach() for sequence in sequences], again
    try:
        result = try_packed_sequences(*given)
    except RuntimeError as error:
        if options.get("proj_size") and ("size" in str(error) or "number of" in str(error)):
            add_words(error, "with a proj_size h is narrower than c, and so are the outputs")
        raise
    found, second, calls, changed, gradients, halved, lost = result
    assert not changed, f"not as it was: {'; '.join(changed)}"
    assert found is not None, "packed_sequences returned None: is there an answer yet?"
    assert isinstance(found, (list, tuple)), f"a {type(found).__name__} came back, expected a list"
    check_equal(len(found), len(right), "how many outputs")
    none = [i for i, y in enumerate(found) if not isinstance(y, torch.Tensor)]
    twice = (
        ": the list holds a sequence twice: are places looked up by the tensor?" if again else ""
    )
    words = "expected a tensor (time, features)" + twice
    assert not none, f"output {none[0]} is of type {type(found[none[0]]).__name__}, {words}"
    wrong = [tuple(y.shape) for y in found if y.dim() != 2]
    assert not wrong, f"an output has shape {wrong[:1]}, expected (time, features)"
    times, expected = [len(y) for y in found], [len(y) for y in right]
    sort = "these are the sorted ones: bring them back into the order of sequences"
    sort = sort if sorted(times) == sorted(expected) else ""
    longest = "the padding is still there: cut each output at its sequence's length"
    sort = longest if set(times) == {max(expected)} else sort
    if times == [min(n, len(right)) for n in expected]:
        sort = TIME_FIRST
    if quiet and times == [n - 1 for n in expected]:
        sort = "a row of zeros is a word like any other, not padding"
    if options.get("blank") and times != expected and not any(times):
        sort = "an output of zeros is an output: its sequence's length says where it ends"
    check_equal(times, expected, "the outputs' times", sort)
    kept = "a second call with the same sequences gives another result: what is kept?"
    for y, later in zip(found, second, strict=True):
        assert y.shape == later.shape, kept
        assert torch.allclose(y, later, atol=1e-5, equal_nan=True), kept
    rows = nn.utils.rnn.pad_sequence(sequences, batch_first=rnn.batch_first)
    padded = rnn(rows)[0].detach()
    padded = padded if rnn.batch_first else padded.transpose(0, 1)
    by_time = nn.utils.rnn.pad_sequence(right)
    joined = rnn(torch.cat(sequences))[0].detach().split([len(x) for x in sequences])
    for i, (y, truth) in enumerate(zip(found, right, strict=True)):
        slips = {"the layer read the padding: pack the sequences": padded[i, : len(truth)]}
        slips["each sequence starts from zeros, not from another's state"] = joined[i]
        slips[TIME_FIRST] = by_time[i : i + 1, : len(truth)].flatten(0, 1)
        for j, other in enumerate(right):
            if i != j and other.shape == truth.shape:
                slips[f"this belongs to sequence {j}, which is as long"] = other
        check_digits(y, truth, f"output {i}, of length {len(truth)}", slips)
    check_equal(calls, 1, "how often the layer was called")
    words = "no gradient flows from an output to the layer's weights (detach, no_grad, a copy?)"
    assert gradients[0] is not None, words
    check_digits(gradients[0], wanted[0], "the gradient of bias_hh_l0 from all outputs", atol=1e-4)
    for i, (gradient, truth) in enumerate(zip(gradients[1:], wanted[1:], strict=True)):
        words = f"no gradient flows from the outputs back to sequence {i}: is it detached?"
        assert gradient is not None, words
        check_digits(gradient, truth, f"the gradient of sequence {i} from all outputs", atol=1e-4)
    why = "is the graph made only if others do (.requires_grad, .training)?"
    assert not lost, f"no gradient flows back to {lost}, which alone require one: {why}"
    later = [rnn(sequence.detach() / 2)[0].detach() for sequence in sequences]
    same = len(halved) == len(later) and all(
        isinstance(y, torch.Tensor)
        and y.shape == truth.shape
        and torch.allclose(y, truth, 1e-3, 1e-5)
        for y, truth in zip(halved, later, strict=False)
    )
    why = "a tensor's numbers can change between two calls: make each result anew"
    assert same, f"the same tensors with other numbers give other outputs than the layer: {why}"
