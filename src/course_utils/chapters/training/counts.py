"""Exercise 13.3: metrics from counts, and what known slips count."""

from __future__ import annotations

import numpy as np
import torch
from sklearn.metrics import f1_score

from course_utils.learner.checks import check_close
from course_utils.learner.devices import device


def macro_f1(truth, guess, classes) -> float:
    """scikit-learn's, where 0/0 counts as 0."""
    return float(f1_score(truth, guess, labels=list(classes), average="macro", zero_division=0))


def check_number(name, mine, value, samples, slips):
    assert isinstance(mine, float), f"{mine!r} is a {type(mine).__name__}, no Python float"
    if abs(mine - value) < 1e-5:
        return
    words = "NaN; what is 0/0 for an F1 counts as 0" if mine != mine else ""
    for slip, (where, number) in slips.items():
        if name == where and abs(mine - number) < 1e-6:
            words = f"this is {slip}"
    if not words and name != "macro_f1" and abs(mine * samples - round(mine * samples)) > 1e-3:
        words = (
            "no whole number of samples: were batch shares averaged, or counts kept in half "
            "precision?"
        )
    if not words and samples > 2048:
        words = "was a count kept in half precision? It is exact up to 2048 only"
    raise AssertionError(f"{mine:.6f}, expected {value:.6f}" + (f": {words}" if words else ""))


def check_confusion(mine, right):
    matrix = torch.from_numpy(right).to(device)
    turned = isinstance(mine, torch.Tensor) and torch.equal(mine.cpu(), matrix.T.cpu())
    if turned and not torch.equal(matrix, matrix.T):
        raise AssertionError("transposed: rows are the true classes, columns the predicted")
    check_close(mine, matrix, "the matrix")


def make_batches(sizes, classes, seed, dtype=torch.float32, present=None):
    """Batches whose logits are a permutation in each row: no ties in any precision."""
    generator = torch.Generator().manual_seed(seed)
    batches = []
    for n in sizes:
        logits = torch.rand(n, classes, generator=generator).argsort(1).to(device, dtype)
        labels = torch.randint(present or classes, (n,), generator=generator).to(device)
        batches.append((logits, labels))
    return batches


def right_metrics(batches, classes, k):
    """What is right, and what known slips give."""
    truth = torch.cat([y for _, y in batches]).cpu().numpy()
    logits = torch.cat([z for z, _ in batches]).float().cpu().numpy()
    guess, order = logits.argmax(1), (-logits).argsort(1)[:, :k]
    right = {"accuracy": float((guess == truth).mean())}
    right["top_k"] = float((order == truth[:, None]).any(1).mean())
    right["confusion"] = np.zeros((classes, classes), dtype=np.int64)
    np.add.at(right["confusion"], (truth, guess), 1)
    right["macro_f1"] = macro_f1(truth, guess, range(classes))
    spans = np.split(np.arange(len(truth)), np.cumsum([len(y) for _, y in batches])[:-1])
    parts = [macro_f1(truth[s], guess[s], range(classes)) for s in spans if len(s)]
    occurring = sorted({*truth.tolist(), *guess.tolist()})
    low = float((logits.argsort(1)[:, :k] == truth[:, None]).any(1).mean())
    f1 = {
        "the mean of the batches' F1; count first, divide once": sum(parts) / len(parts),
        "the accuracy (micro F1); macro gives each class the same weight": right["accuracy"],
        "the mean over the classes that occur; the others count as 0": macro_f1(
            truth, guess, occurring
        ),
    }
    slips = {words: ("macro_f1", number) for words, number in f1.items()}
    return right, slips | {"the share among the k smallest logits": ("top_k", low)}


class Reads(torch.overrides.TorchFunctionMode):
    """Counts the calls that bring a value from the device to Python."""

    NAMES = "item tolist numpy cpu equal allclose is_nonzero __array__ __bool__ __int__ __float__"

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        name = getattr(func, "__name__", "")
        self.count += name in [*self.NAMES.split(), "__index__"] or (name == "to" and "cpu" in args)
        return func(*args, **(kwargs or {}))


def run_reads(metrics, sizes: list[int]) -> int:
    """How often ``metrics`` reads from the device for batches of these sizes."""
    batches = make_batches(sizes, 3, 3)
    with Reads() as reads:
        metrics(batches, 3, 2)
    return reads.count
