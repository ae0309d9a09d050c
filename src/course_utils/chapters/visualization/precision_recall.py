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
    with forbid_changes(scores, labels):
        found = tried(case, name, attempt, scores, labels, threshold)
    if found is FAILED:
        return
    result, by_library = found
    ok = isinstance(result, (tuple, list)) and len(result) == 4
    assert ok, f"{result!r} is not (precision, recall, thresholds, matrix): is there an answer yet?"
    assert not by_library, "scikit-learn ran; here it is done by hand"
    truth, above = true_pr(scores, labels), true_pr(scores, labels, strict=True)
    every = torch.stack(
        [(scores.cpu() >= s) & labels.cpu().bool() for s in scores.cpu().sort().values]
    ).sum(1)
    for n, part in enumerate(("precision", "recall", "thresholds")):
        slips = {
            "above the threshold; equal counts as called, too": above[n],
            "descending; wanted ascending": truth[n].flip(0),
        }
        if n < 2:
            slips["precision and recall have changed places"] = truth[1 - n]
        if n == 0:
            each = (scores.cpu() >= scores.cpu().sort().values[:, None]).sum(1)
            slips["one entry for each sample; equal scores are one threshold"] = every / each
        if n == 1:
            slips["one entry for each sample; equal scores are one threshold"] = (
                every / labels.cpu().sum()
            )
        if n == 2:
            slips["equal scores are one threshold"] = scores.cpu().double().sort().values
        with case(f"{name}: {part}"):
            mine = result[n].double() if isinstance(result[n], torch.Tensor) else result[n]
            size, steps = getattr(mine, "shape", None), len(truth[2])
            if n == 2 and size is not None and size not in ((steps,), (steps + 1,), (len(scores),)):
                raise AssertionError(
                    f"thresholds: of shape {tuple(size)}, and there are {steps} distinct scores"
                )
            more = isinstance(mine, torch.Tensor) and mine.shape == (len(truth[n]) + 1,)
            if more and torch.allclose(mine[:-1], truth[n].double()):
                raise AssertionError("one entry too many: without the point (1, 0) of libraries")
            check_seen(mine, truth[n].double(), part, slips)
    said, is_one = scores.cpu() >= threshold, labels.cpu().bool()
    table = torch.tensor(
        [[((is_one == i) & (said == j)).sum() for j in (False, True)] for i in (False, True)]
    )
    mine = torch.as_tensor(result[3])
    strict = scores.cpu() > threshold
    slips = {
        "rows and columns have changed places: rows are the truth": table.T,
        "1 comes before 0": table.flip(0, 1),
        "equal to the threshold counts as called": torch.tensor(
            [[((is_one == i) & (strict == j)).sum() for j in (False, True)] for i in (False, True)]
        ),
        "counts were asked for, not shares": table / table.sum(),
        "counts were asked for, not shares of the rows": table / table.sum(1, keepdim=True),
    }
    with case(f"{name}: matrix"):
        if name == "the example" and mine.tolist() != table.tolist():
            show_difference(mine, table, "the matrix")
        check_seen(mine.double(), table.double(), "the matrix", slips)
