"""Exercise ``pr-and-confusion``: precision, recall, thresholds and the confusion matrix."""

from __future__ import annotations

from collections.abc import Callable

import torch

from course_utils.chapters.visualization.comparing import FAILED, check_seen, on_cpu, tried
from course_utils.learner.calls import python_calls
from course_utils.learner.changes import forbid_changes
from course_utils.learner.difference_drawings import show_difference
from course_utils.learner.tracebacks import ends_in_notebook


def seen_pr(
    answer: Callable, scores: torch.Tensor, labels: torch.Tensor, threshold: float
) -> tuple:
    """What was returned, and whether a function of scikit-learn ran."""
    result, names = python_calls(answer, scores, labels, threshold)
    return on_cpu(result), any(name.startswith("sklearn.") for name in names)


def true_pr(scores, labels, strict=False):
    """Precision and recall at each distinct score; strictly above it, for a known slip."""
    scores, labels = scores.double().cpu(), labels.cpu().bool()
    steps = scores.unique()
    said = scores > steps[:, None] if strict else scores >= steps[:, None]  # (threshold, sample)
    hits = (said & labels).sum(1)
    return hits / said.sum(1), hits / labels.sum(), steps


@ends_in_notebook
def check_pr(case, attempt, name, scores, labels, threshold) -> None:
    """All four results, each a case of its own."""

    def why(error: Exception) -> str:
        if isinstance(error, IndexError) and threshold > scores.max():
            return "the argument threshold may be above all scores: nothing is called then"
        four = "[2, 2]" in str(error) and "is invalid for input of size" in str(error)
        return "a cell of the matrix may be empty: bincount's minlength=4 counts it" * four

    with forbid_changes(scores, labels):
        found = tried(case, name, attempt, scores, labels, threshold, why=why)
    if found is FAILED:
        return
    result, by_library = found
    ok = isinstance(result, (tuple, list)) and len(result) == 4
    assert ok, f"{result!r} is not (precision, recall, thresholds, matrix): is there an answer yet?"
    assert not by_library, "scikit-learn ran; here it is done by hand"
    truth, above = true_pr(scores, labels), true_pr(scores, labels, strict=True)
    hits = (truth[1] * labels.cpu().sum()).round()
    said = torch.stack([(scores.cpu() >= s).sum() for s in scores.cpu().unique()])
    bytes_of_hits = hits % 256 / said, hits % 256 / labels.cpu().sum(), truth[2]
    in_half = (hits.half() / said).double(), (hits.half() / labels.cpu().sum()).double()
    rounded_hits = *in_half, truth[2]
    for n, part in enumerate(("precision", "recall", "thresholds")):
        slips = {
            "above the threshold; equal counts as called, too": above[n].nan_to_num(0),
            "above the threshold (NaN where nothing is); equal counts as called, too": above[n],
            "descending; wanted ascending": truth[n].flip(0),
            "hits counted in uint8 begin anew at 256": bytes_of_hits[n],
            "counts in half precision are rounded": rounded_hits[n],
        }
        if name == "scores that are close":
            near = scores.cpu() > truth[2][:, None] - 1e-3
            hits = (near & labels.cpu().bool()).sum(1)
            close = "scores as close as these are two thresholds: compare them as they are"
            slips[close] = hits / near.sum(1) if n == 0 else hits / labels.cpu().sum()
        if n < 2:
            order = scores.cpu().argsort(descending=True)
            down = scores.cpu()[order]
            first = torch.cat([torch.ones(1, dtype=torch.bool), down[1:] != down[:-1]])
            hit = labels.cpu().bool()[order].cumsum(0)
            share = hit / (torch.arange(len(hit)) + 1 if n == 0 else labels.cpu().sum())
            slips["equal scores come in together, all of them"] = share[first].flip(0)
            slips["precision and recall have changed places"] = truth[1 - n]
            below = scores.cpu() <= truth[2][:, None]
            few = (below & labels.cpu().bool()).sum(1)
            slips["what is below the threshold was called a 1: score >= threshold is"] = (
                few / below.sum(1) if n == 0 else few / labels.cpu().sum()
            )
            slips["turned over: the hits come first, and are divided"] = 1 / truth[n]
            called = scores.cpu() >= truth[2][:, None]
            right = (called & labels.cpu().bool()).sum(1)
            slips["that is the number of hits; it is divided"] = right
            slips["whatever was called counts as a hit; a hit is a 1 that was called"] = called.sum(
                1
            ) / (called.sum(1) if n == 0 else labels.cpu().sum())
            slips["divided by the calls at all thresholds together; each has its own"] = (
                right / called.sum() if n == 0 else truth[n]
            )
        said, one = scores.cpu() >= truth[2][:, None], labels.cpu().bool()
        if n == 0:
            slips["that is the accuracy at each threshold"] = (said == one).double().mean(1)
            slips["hits divided by all samples; by those that were called a 1"] = (
                (said & one).double().mean(1)
            )
            slips["that is 1 - precision, the share of false alarms"] = 1 - truth[0]
            slips["it may fall as the threshold rises: leave it as it is"] = (
                truth[0].cummax(0).values
            )
            few = "nothing is added below the line: at each threshold something was called a 1"
            slips[few] = truth[0] * said.sum(1) / (said.sum(1) + 1e-6)
        if n == 1:
            slips["that is the share of the zeros that were called a 1"] = (said & ~one).sum(1) / (
                ~one
            ).sum().clamp(min=1)
            slips["hits divided by the number of zeros; by those that are a 1"] = (said & one).sum(
                1
            ) / (~one).sum()
            slips["hits divided by all samples; by those that are a 1"] = (
                (said & one).double().mean(1)
            )
            slips["that is 1 - recall, the share that was missed"] = 1 - truth[1]
        if n < 2 and labels.dtype is not torch.bool and len(scores) > 1:
            picked = said[:, labels.cpu().long()].sum(1)
            slips["0 and 1 as an index pick the samples 0 and 1: a mask is made of bools"] = (
                picked / (said.sum(1) if n == 0 else labels.cpu().sum())
            )
        if n == 2:
            slips["the scores as they are, not their sigmoid"] = truth[2].sigmoid()
            slips["equal scores are one threshold"] = scores.cpu().double().sort().values
        with case(f"{name}: {part}"):
            mine = result[n]
            floats = isinstance(mine, torch.Tensor) and mine.is_floating_point()
            kind = mine.dtype if isinstance(mine, torch.Tensor) else type(mine).__name__
            assert floats, f"{part}: a float tensor is asked for; that is of the kind {kind}"
            fine = 5e-7 if n == 0 else 1e-4  # 1e-6 beside a count shows
            close = max(fine, 0.51 * torch.finfo(mine.dtype).eps)  # rounded once, not twice
            mine = mine.double()
            size, steps = mine.shape, len(truth[2])
            if n == 2 and size not in ((steps,), (len(scores),)):
                raise AssertionError(
                    f"thresholds: of shape {tuple(size)}, and there are {steps} distinct scores"
                )
            more = n < 2 and size == (steps + 1,) and mine[-1] == 1 - n
            if more and torch.allclose(mine[:-1], truth[n].double()):
                raise AssertionError("one entry too many: without the point (1, 0) of libraries")
            what = (
                "precision (hits among those called, at each threshold)",
                "recall (hits among those that are a 1, at each threshold)",
                "thresholds",
            )[n]
            fits = n == 2 or size == (steps,)
            words = f"{what}: of shape {tuple(size)}, and there are {steps} thresholds"
            if size == (len(scores),):
                words = f"{what}: one entry for each sample; equal scores are one threshold"
            assert fits, words
            check_seen(mine, truth[n].double(), what, slips, rtol=close, atol=close / 10)
    said, is_one = scores.cpu() >= threshold, labels.cpu().bool()
    table = torch.tensor(
        [[((is_one == i) & (said == j)).sum() for j in (False, True)] for i in (False, True)]
    )
    mine = torch.as_tensor(result[3])
    strict = scores.cpu() > threshold
    near = truth[2][(truth[2] - threshold).abs().argmin()]
    slips = {
        "rows and columns have changed places: rows are the truth": table.T,
        "1 comes before 0": table.flip(0, 1),
        "equal to the threshold counts as called": torch.tensor(
            [[((is_one == i) & (strict == j)).sum() for j in (False, True)] for i in (False, True)]
        ),
        "counts at 0.5, not at the argument threshold": torch.tensor(
            [
                [((is_one == i) & ((scores.cpu() >= 0.5) == j)).sum() for j in (False, True)]
                for i in (False, True)
            ]
        ),
        "count what is called at the argument threshold, without a margin": torch.tensor(
            [
                [((is_one == i) & ((scores.cpu() >= threshold - 1e-2) == j)).sum() for j in (0, 1)]
                for i in (0, 1)
            ]
        ),
        "count at the argument threshold itself, not at the nearest score": torch.tensor(
            [
                [((is_one == i) & ((scores.cpu() >= near) == j)).sum() for j in (0, 1)]
                for i in (0, 1)
            ]
        ),
        "counts of the sigmoid's numbers, not of the scores as they are": torch.tensor(
            [
                [
                    ((is_one == i) & ((scores.cpu().sigmoid() >= threshold) == j)).sum()
                    for j in (0, 1)
                ]
                for i in (0, 1)
            ]
        ),
        "counts in uint8 begin anew at 256": table % 256,
        "all of it in one row: rows are the truth, so the labels count": (
            torch.stack([table.sum(0), 0 * table[0]])
        ),
        "all of it in one column: columns are what was said, so the scores count": (
            torch.stack([table.sum(1), 0 * table[0]], 1)
        ),
        "all of it in the row of the ones: rows are the truth, so the labels count": (
            torch.stack([0 * table[0], table.sum(0)])
        ),
        "counts in half precision are rounded": table.half().double(),
        "an index that occurs twice is added to once: count, by bincount or accumulate=True": (
            table.clamp(max=1)
        ),
        "counts were asked for, not shares": table / table.sum(),
        "counts were asked for, not shares of the rows": table / table.sum(1, keepdim=True),
    }
    if threshold > scores.max():
        high = "the argument threshold is above all scores: nothing is called a 1 then"
        slips[high] = table.flip(1)
    with case(f"{name}: matrix"):
        if name == "the example" and mine.shape == (2, 2) and mine.tolist() != table.tolist():
            show_difference(mine, table, "the matrix")
        words = f"the matrix is of shape {tuple(mine.shape)}; two rows of two: rows are the truth"
        assert mine.shape == (2, 2), words
        check_seen(mine.double(), table.double(), "the matrix", slips)
