"""Recurrent layers: cells by hand, and packed sequences."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn as nn

from course_utils.chapters.layers.slips import (
    bptt_gradient,
    common_slips,
    gradient_slips,
    lstm_slips,
    with_gates,
)
from course_utils.learner.calls import check_rules
from course_utils.learner.checks import check_equal
from course_utils.learner.devices import device, seeded
from course_utils.learner.values import check_parts, check_value

CELLS = {"rnn": torch.rnn_tanh_cell, "gru": torch.gru_cell, "lstm": torch.lstm_cell}


RECURRENT = ("*rnn*", "*gru*", "*lstm*")


def check_rnn_by_hand_1(try_rnn_by_hand, kind, batch, features, size, normal):
    gates = {"rnn": 1, "gru": 3, "lstm": 4}[kind]
    x, h, c = normal(batch, features), normal(batch, size), normal(batch, size)
    weights = normal(gates * size, features), normal(gates * size, size), *normal(2, gates * size)
    state: Any = (h, c) if kind == "lstm" else h
    right = CELLS[kind](x, state, *weights)
    found, names, changed = try_rnn_by_hand(kind, x, state, *weights)
    check_rules(names, changed, *RECURRENT)
    common, slips = common_slips(kind, x, state, weights, gates), {}
    order = f"the gates stand in the order {'r, z, n' if kind == 'gru' else 'i, f, g, o'}"
    if kind == "lstm":
        found, right = check_parts(found, "h", "c"), right
        slips = {words: wrong[1] for words, wrong in common.items()}
        slips |= lstm_slips(x, state, weights, order) | {"h comes first, then c": right[0]}
        check_value(found[1], right[1], "c", slips)
        slips = {"h is o times the tanh of c": right[0] / right[1].tanh() * right[1]}
        common = {words: wrong[0] for words, wrong in common.items()}
        found, right = found[0], right[0]
    if kind == "gru":
        slips[order] = with_gates(kind, x, h, weights, (1, 0, 2))
        words = "z keeps the old state, 1 - z takes the new one"
        slips[words] = with_gates(kind, x, h, weights, (0, 1, 2), turned=1)
    check_value(found, right, "h", slips | common)


def check_reset(try_rnn_by_hand, normal):
    """A GRU whose w_hh is zero: of the recurrent part only b_hh is left."""
    x, h, w_ih, (b_ih, b_hh) = normal(2, 3), normal(2, 4), normal(12, 3), normal(2, 12)
    w_hh, wide_open = torch.zeros(12, 4, device=device), b_ih.clone()
    wide_open[:4] = 100
    words = "r multiplies all of b_n, its bias too, and stands behind the product with the weight"
    slips = {words: torch.gru_cell(x, h, w_ih, w_hh, wide_open, b_hh)}
    found, _, _ = try_rnn_by_hand("gru", x, h, w_ih, w_hh, b_ih, b_hh)
    check_value(found, torch.gru_cell(x, h, w_ih, w_hh, b_ih, b_hh), "h", slips)


def check_rnn_by_hand_2(try_truncated_gradient, time, k, normal):
    x, w_ih, w_hh = normal(time, 2, 3), normal(4, 3) / 2, normal(4, 4) / 2
    found, names, spoilt = try_truncated_gradient(x, w_ih, w_hh, k)
    check_rules(names, spoilt, "*rnn*", "*gru*", "*lstm*")
    right = bptt_gradient(x, w_ih, w_hh, range(k, time, k))
    slips = gradient_slips(x, w_ih, w_hh, k, right)
    check_value(found, right, "the gradient", slips)


def make_rnn(kind: str, **options) -> nn.Module:
    rnn, normal = getattr(nn, kind)(3, 4, **options, device=device, dtype=torch.double), seeded(7)
    with torch.no_grad():
        for parameter in rnn.parameters():
            parameter.copy_(normal(*parameter.shape) / 2)
    return rnn


def run_packed_sequences(
    packed_sequences, kind: str, options: dict, sequences: list[torch.Tensor]
) -> tuple:
    """The outputs, how often the layer ran, and what is not as it was."""
    rnn, calls, given = make_rnn(kind, **options), [], list(sequences)
    copies = [sequence.clone() for sequence in sequences]
    rnn.forward = lambda *args, run=rnn.forward, **more: calls.append(1) or run(*args, **more)
    outputs = packed_sequences(rnn, sequences)
    if isinstance(outputs, (list, tuple)):
        outputs = [y.detach() if isinstance(y, torch.Tensor) else y for y in outputs]
    other = make_rnn(kind, **options)
    same = zip(rnn.parameters(), other.parameters(), strict=True)
    moved = len(given) != len(sequences) or any(
        x is not y for x, y in zip(given, sequences, strict=False)
    )
    moved = moved or any(not torch.equal(x, y) for x, y in zip(given, copies, strict=True))
    changed = ["the list of sequences"] * moved
    changed += ["the layer's weights"] * any(not torch.equal(p, q) for p, q in same)
    changed += ["the layer's mode or options"] * (
        not rnn.training or rnn.batch_first != other.batch_first
    )
    return outputs, len(calls), changed


def check_packed_sequences(try_packed_sequences, kind, lengths, seed=0, **options):
    normal = seeded(seed)
    sequences = [normal(n, 3).double() for n in lengths]
    rnn: Any = make_rnn(kind, **options)
    right = [rnn(sequence)[0].detach() for sequence in sequences]
    found, calls, changed = try_packed_sequences(kind, options, list(sequences))
    assert not changed, f"not as it was: {', '.join(changed)}"
    assert found is not None, "packed_sequences returned None: is there an answer yet?"
    assert isinstance(found, (list, tuple)), f"a {type(found).__name__} came back, expected a list"
    check_equal(len(found), len(right), "how many outputs")
    wrong = [tuple(y.shape) for y in found if not isinstance(y, torch.Tensor) or y.dim() != 2]
    assert not wrong, f"an output has shape {wrong[:1]}, expected (time, features)"
    times, expected = [len(y) for y in found], [len(y) for y in right]
    sort = "these are the sorted ones: bring them back into the order of sequences"
    sort = sort if sorted(times) == sorted(expected) else ""
    check_equal(times, expected, "the outputs' times", sort)
    rows = nn.utils.rnn.pad_sequence(sequences, batch_first=rnn.batch_first)
    padded = rnn(rows)[0].detach()
    padded = padded if rnn.batch_first else padded.transpose(0, 1)
    joined = rnn(torch.cat(sequences))[0].detach().split(lengths)
    for i, (y, truth) in enumerate(zip(found, right, strict=True)):
        slips = {"the layer read the padding: pack the sequences": padded[i, : len(truth)]}
        slips["each sequence starts from zeros, not from another's state"] = joined[i]
        check_value(y, truth, f"output {i}, of length {len(truth)}", slips)
    check_equal(calls, 1, "how often the layer was called")
