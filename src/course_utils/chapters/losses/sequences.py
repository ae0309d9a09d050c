"""Losses over sequences, some of them padded."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

Sequences = list[tuple[Tensor, Tensor]]


def priced(*prices: float, device: torch.device | str = "cpu") -> tuple[Tensor, Tensor]:
    """A sequence of two classes (logits, targets) whose positions cost ``prices``."""
    price = torch.tensor(prices, device=device)
    logits = torch.stack([-price, torch.log(-torch.expm1(-price))], dim=1)
    return logits, torch.zeros(len(prices), dtype=torch.long, device=device)


def padded_batch(
    sequences: Sequences, fill: float = 0.0, wrong: int = 0, more: int = 0
) -> tuple[Tensor, ...]:
    """Sequences as one batch (logits, targets, lengths), with ``fill`` and ``wrong`` as padding.

    Every second class of the padding has ``-fill``. Behind the longest there are ``more`` positions
    of padding, and one where all are empty.
    """
    logits, targets = zip(*sequences, strict=True)
    lengths = torch.tensor([len(part) for part in targets], device=targets[0].device)
    padded = pad_sequence(list(logits), batch_first=True, padding_value=fill)
    numbers = pad_sequence(list(targets), batch_first=True, padding_value=wrong)
    more = more if lengths.any() else max(1, more)
    padded = F.pad(padded, (0, 0, 0, more), value=fill)
    numbers = F.pad(numbers, (0, more), value=wrong)
    behind = torch.arange(padded.shape[1], device=lengths.device) >= lengths[:, None]
    signs = 1 - 2 * (torch.arange(padded.shape[2], device=lengths.device) % 2)
    padded[behind] = (fill * signs).to(padded)
    return padded, numbers, lengths


def _priced_padding(every: list[Tensor], pads: list[int], places: int, zeros: float) -> dict:
    """Both means if padding of zeros is priced as well, in all rows or in those not empty."""
    total, real = torch.cat(every).sum(), len(torch.cat(every))
    full, some = total + zeros * (places - real), total + zeros * sum(pads)
    sums = [price.sum() + zeros * n for price, n in zip(filter(len, every), pads, strict=True)]
    counts = [len(price) for price in every if len(price)]
    rows = list(zip(sums, counts, pads, strict=True))
    return {
        "token": (full / places, full / real, some / real),
        "sequence": (
            sum(price / (count + n) for price, count, n in rows) / len(rows),
            sum(price / count for price, count, _ in rows) / len(rows),
        ),
    }


def sequence_truths(groups: list[Sequences], more: int = 0) -> Iterator[tuple]:
    """For "token" and "sequence": the mean loss, its gradients by the padded logits, slips."""
    leaves = [[logits.detach().clone().requires_grad_() for logits, _ in group] for group in groups]
    every, own, batch_means, own_means, places = [], [], [], [], 0
    held = []  # of each batch that isn't empty: the two means, and its rows, sequences and tokens
    pads = []  # how much longer than its sequence a row is, for those that aren't empty
    for group, group_leaves in zip(groups, leaves, strict=True):
        prices = [
            F.cross_entropy(leaf, targets, reduction="none")
            for leaf, (_, targets) in zip(group_leaves, group, strict=True)
        ]
        every += prices
        own += [price.mean() for price in prices if len(price)]
        batch_means.append(torch.cat(prices).mean())
        means_here = [price.mean() for price in prices if len(price)]
        own_means += [sum(means_here) / len(means_here)] if means_here else []
        both = {"token": batch_means[-1], "sequence": own_means[-1] if own_means else 0}
        counts = (len(group), len(means_here), sum(map(len, prices)))
        held += [(both, counts)] if means_here else []
        time = max(1, *(len(price) + more for price in prices))
        places += len(group) * time
        pads += [time - len(price) for price in prices if len(price)]
    total = torch.cat(every).sum()
    zeros = math.log(groups[0][0][0].shape[1])  # what a position of zeros costs
    padded = _priced_padding([price.detach() for price in every], pads, places, zeros)
    full = [len(price) for price in every if len(price)]
    full = [n + more for n, more in zip(full, pads, strict=True)]
    filled = {"token": total / sum(full)}
    shares = [price.sum() / n for price, n in zip(filter(len, every), full, strict=True)]
    filled["sequence"] = torch.stack(shares).mean()
    means = {"token": torch.cat(every).mean(), "sequence": torch.stack(own).mean()}
    flat = [leaf for group in leaves for leaf in group]
    for per, right in means.items():
        found = torch.autograd.grad(right, flat, retain_graph=True, materialize_grads=True)
        rest = iter(found)
        gradients = [
            padded_batch([(next(rest), y) for _, y in part], more=more)[0] for part in groups
        ]
        slips = {
            "a mean of the batches' means depends on the split": sum(batch_means) / len(groups),
            "a mean of the batches' means over their sequences depends on the split": (
                sum(own_means) / len(own_means)
            ),
            "a batch's mean counts once for each token, or each sequence that isn't empty": tuple(
                sum(both[per] * counts[k] for both, counts in held)
                / sum(counts[k] for _, counts in held)
                for k in range(3)
            ),
            "that is the other one of the two means": means[
                "token" if per != "token" else "sequence"
            ],
            "divided by all positions, padded ones too": (total / places, filled[per]),
            "the padding is priced, too: lengths alone says what is real": padded[per],
            "empty sequences are counted": sum(own) / len(every),
            "that is a sum, not yet a mean": total if per == "token" else sum(own),
        }
        slips = {
            words: number
            for words, number in slips.items()
            if isinstance(number, tuple) or torch.as_tensor(number).isfinite()
        }
        if len(own) < len(every):
            slips["0 / 0: an empty sequence has no mean, nor has a batch of nothing"] = math.nan
        yield per, right.detach(), gradients, slips
