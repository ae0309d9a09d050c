"""Exercise 13.3: metrics from counts, and what known slips count."""

from __future__ import annotations

from functools import partial
from operator import is_not

import numpy as np
import torch
from sklearn.metrics import f1_score

from course_utils.chapters.training.states import frozen
from course_utils.chapters.training.tries import Tried
from course_utils.learner.cases import every_case
from course_utils.learner.changes import forbid_changes
from course_utils.learner.checks import check_close
from course_utils.learner.devices import device
from course_utils.learner.other_states import check_states
from course_utils.learner.tracebacks import add_words


def macro_f1(truth, guess, classes) -> float:
    """scikit-learn's, where 0/0 counts as 0."""
    return float(f1_score(truth, guess, labels=list(classes), average="macro", zero_division=0))


def check_number(name, mine, value, samples, slip="", few_were_right=False):
    """Compare one number. ``slip``: words that explain it in each case where it is wrong;
    ``few_were_right``: all cases of few samples were passed before."""
    assert isinstance(mine, float), f"{mine!r} is a {type(mine).__name__}, not a Python float"
    if abs(mine - value) < 1e-5:
        return
    words = f"this is {slip}" if slip else ""
    words = "NaN; what is 0/0 for an F1 counts as 0" if mine != mine else words
    many = samples > 2048
    if not words and many and few_were_right:
        words = (
            "few samples were right, these many are not: was a count kept in half precision? It is "
            "exact up to 2048 only, as int16 is up to 32767"
        )
    count = mine * samples
    if not words and name != "macro_f1" and not many and abs(count - round(count)) > 1e-3:
        words = f"no share of {samples} samples: were the batches' shares averaged?"
    raise AssertionError(f"{mine:.6f}, expected {value:.6f}" + (f": {words}" if words else ""))


ONCE = "where equal pairs of a batch count once, as by += at an index; bincount counts each"


def _counted_once(batches, classes) -> np.ndarray:
    """The matrix by ``matrix[labels, guess] += 1``, which adds 1 to each pair of a batch once."""
    matrix = np.zeros((classes, classes), dtype=np.int64)
    for z, y in batches:
        matrix[y.cpu().numpy(), z.float().argmax(1).cpu().numpy()] += 1
    return matrix


def check_confusion(mine, right, once):
    counted_once = isinstance(mine, torch.Tensor) and np.array_equal(mine.cpu().numpy(), once)
    assert not counted_once or np.array_equal(once, right), f"the matrix {ONCE}"
    matrix = torch.from_numpy(right).to(device)
    turned = isinstance(mine, torch.Tensor) and torch.equal(mine.cpu(), matrix.T.cpu())
    if turned and not torch.equal(matrix, matrix.T):
        raise AssertionError("transposed: rows are the true classes, columns the predicted")
    pairs = f", whose pairs are numbered up to {matrix.numel() - 1}: does the dtype hold that?"
    check_close(mine, matrix, "the matrix" + pairs * (len(matrix) > 100))


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
    more = float(((-logits).argsort(1)[:, : k + 1] == truth[:, None]).any(1).mean())
    sides = [right["confusion"].sum(n).clip(1) for n in (0, 1)]
    precision, recall = (float((right["confusion"].diagonal() / side).mean()) for side in sides)
    weighted = f1_score(truth, guess, average="weighted", zero_division=0)
    f1 = {
        "weighted by how often a class occurs; macro gives each class the same weight": weighted,
        "the F1 of the mean precision and the mean recall; take each class's F1, then the mean": (
            2 * precision * recall / max(precision + recall, 1e-12)
        ),
        "the mean of the batches' F1; count first, divide once": sum(parts) / len(parts),
        "the accuracy (micro F1); macro gives each class the same weight": right["accuracy"],
        "the mean of the classes' precisions; F1 takes the recalls as well": precision,
        "the mean of the classes' recalls; F1 takes the precisions as well": recall,
        "half of F1, which is 2 · TP / (2 · TP + FP + FN)": right["macro_f1"] / 2,
        "what comes out where 0/0 counts as 1; it counts as 0": float(
            f1_score(truth, guess, labels=range(classes), average="macro", zero_division=1)
        ),
        "the mean over the classes that occur; the others count as 0": macro_f1(
            truth, guess, occurring
        ),
        "the mean over the classes that the labels hold; the others count as 0": macro_f1(
            truth, guess, sorted({*truth.tolist()})
        ),
    }
    slips = {words: ("macro_f1", number) for words, number in f1.items()}
    once = _counted_once(batches, classes)
    both = (once.sum(0) + once.sum(1)).clip(1)
    slips[f"the matrix {ONCE}"] = "confusion", once
    slips[f"F1 of the matrix {ONCE}"] = "macro_f1", float((2 * once.diagonal() / both).mean())
    slips[f"the diagonal {ONCE}"] = "accuracy", float(once.trace() / len(truth))
    slips["the mean of the classes' recalls; count over all samples"] = "accuracy", recall
    slips["the share among the k smallest logits"] = "top_k", low
    first = "the share with the largest logit alone; look among the k largest"
    slips[first] = "top_k", right["accuracy"]
    hits = (order == truth[:, None]).any(1)
    behind = float((order[:, min(1, k - 1) :] == truth[:, None]).any(1).mean())
    slips["the share behind the largest logit; the largest is among the k"] = "top_k", behind
    slips["a count divided by k as well; a sample counts whole"] = "top_k", float(hits.mean() / k)
    last = np.concatenate([s for s in spans if len(s)][-1:])
    slips["the last batch's alone; count over all batches"] = "top_k", float(hits[last].mean())
    own = float((guess == truth)[last].mean())
    slips["the last batch's alone, for the accuracy; count over all batches"] = "accuracy", own
    coarse = torch.cat([z for z, _ in batches]).half().float().cpu().numpy()
    half = "{} of logits that were rounded to half precision; compare them as they are"
    rounded = coarse.argmax(1)
    slips[half.format("the accuracy")] = "accuracy", float((rounded == truth).mean())
    slips[half.format("F1")] = "macro_f1", macro_f1(truth, rounded, range(classes))
    soft = [
        (z.softmax(1).topk(k).indices == y[:, None]).sum().item() / len(truth) for z, y in batches
    ]
    slips["the share by a softmax, which makes small ones equal; take the logits"] = (
        "top_k",
        sum(soft),
    )
    for name, words in {"accuracy": "the accuracy", "top_k": "top_k", "macro_f1": "F1"}.items():
        slips[f"{words} in percent; a share from 0 to 1 is asked for"] = name, 100 * right[name]
        for digits in (2, 3, 4):
            rounded = round(float(right[name]), digits)
            slips[f"{words} rounded to {digits} digits; give all"] = name, rounded
        many = right[name] * len(truth) / len(batches)
        slips[f"{words}'s count, divided by the batches; divide by the samples"] = name, many
    return right, slips | {"the share among the k + 1 largest logits": ("top_k", more)}


def slips_of_all(cases: dict[str, tuple], given: dict) -> dict[str, str]:
    """By number, words for a slip that gives what was found in every case, wrong or right."""
    fits: dict[str, list[str]] = {}
    wrong = set()
    for case, found in given.items():
        right, slips = right_metrics(*cases[case])
        for name in ("accuracy", "top_k", "macro_f1"):
            mine = found.get(name) if isinstance(found, dict) else None
            if isinstance(mine, float) and mine != mine:
                continue  # NaN is told by itself, and fits with any slip elsewhere
            mine = mine if isinstance(mine, float) else float("inf")
            if not abs(mine - right[name]) < 1e-5:
                wrong.add(name)
            gives = {words: value for words, (where, value) in slips.items() if where == name}
            here = [words for words, value in gives.items() if abs(mine - value) < 1e-5]
            fits[name] = [words for words in fits.get(name, here) if words in here]
    return {name: words[0] for name, words in fits.items() if words and name in wrong}


def check_counts(found, batches, classes, k, named=None, few_were_right=False):
    """Compare all that ``metrics`` gives. ``named``: by number, words for what is wrong."""
    assert found is not None, "metrics returned None: is there an answer yet, and does it return?"
    assert isinstance(found, dict), f"metrics returned a {type(found).__name__}, expected a dict"
    right, slips = right_metrics(batches, classes, k)
    samples = sum(len(y) for _, y in batches)
    with every_case() as part:
        for name, value in right.items():
            with part(name):
                assert name in found, f"the dict has no {name!r}"
                if name == "confusion":
                    check_confusion(found[name], value, slips[f"the matrix {ONCE}"][1])
                else:
                    slip = (named or {}).get(name, "")
                    check_number(name, found[name], value, samples, slip, few_were_right)


def _bfloat16_of_many() -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Logits of 300 classes without ties in bfloat16, which holds no whole number above 256 but
    every second; the labels are above it."""
    batches = []
    for logits, labels in make_batches([9, 7], 300, 13):
        steps = 0x3F80 + logits.to(torch.int16)  # bits of 1.0 and of the numbers that follow it
        batches.append((steps.view(torch.bfloat16), 256 + labels % 44))
    return batches


def few_samples() -> dict[str, tuple]:
    """Batches, the number of classes and k, by what is special in each; few samples in all."""
    logits = [[3.0, 1, 2], [1, 3, 2], [1, 3, 2], [1, 2, 3], [3, 1, 2]]  # the five of the text
    z, y = torch.tensor(logits, device=device), torch.tensor([0, 0, 1, 2, 2], device=device)
    slanted = [(z.t().contiguous().t(), y) for z, y in make_batches([6, 1], 5, 8)]
    two = [(z[:1], y[:1]), (z[2:3], y[2:3])]
    far = [(200 * z, y) for z, y in make_batches([7, 2], 6, 11)]  # softmax makes zeros of most
    steps = torch.tensor([-torch.inf, -3e4, 2e4, 3e4, torch.inf], device=device)
    endless = [(steps[z.long()], y) for z, y in make_batches([6, 4], 5, 12)]
    return {
        "logits hundreds apart, k = 5": (far, 6, 5),
        "the example": ([(z, y)], 3, 2),
        "the example in two batches": ([(z[:3], y[:3]), (z[3:], y[3:])], 3, 2),
        "a class that never occurs, an empty batch, k = 1": (
            make_batches([4, 0, 3], 6, 1, present=4),
            *(6, 1),
        ),
        "logits that half precision can't tell apart": (
            [(1 + 1e-4 * z, y) for z, y in make_batches([6, 3], 5, 9)],
            *(5, 2),
        ),
        "the first batch is empty, k = 7 of 8": (make_batches([0, 4, 3], 8, 5), 8, 7),
        "two samples, so class 2 occurs neither in truth nor in predictions": (two, 3, 3),
        "logits that aren't contiguous": (slanted, 5, 2),
        "infinite logits beside 20 000 and 30 000, whose softmax is NaN": (endless, 5, 2),
        "a single class": (make_batches([3, 1], 1, 10), 1, 1),
        "300 classes in bfloat16, which make 90 000 pairs": (_bfloat16_of_many(), 300, 150),
    }


def call_metrics(metrics, batches, classes, k):
    with forbid_changes(*[part for batch in batches for part in batch]):
        # A list of its own: what becomes of it is asked once, where the answer runs (run_reads).
        try:
            return metrics([*batches], classes, k)
        except RuntimeError as error:
            if "in-place" in str(error) or "inplace" in str(error):
                add_words(error, "the batches stay as they are: nothing in place on their tensors")
            raise


def check_twice(metrics, given: tuple) -> None:
    """The same result from the same arguments, whatever was counted before."""
    first, second = (frozen(call_metrics(metrics, *given)) for _ in range(2))
    assert first == second, "the second call gives something else: what is kept from the first?"
    check_states(metrics, make_batches([4, 1], 4, 9), 4, 2, what="metrics(batches, 4, 2)")


def try_all(metrics, cases: dict[str, tuple]) -> tuple[Tried, dict[str, str]]:
    """What ``metrics`` gives in each case, and by number words for a slip that explains all."""
    calls = {name: partial(call_metrics, metrics, *given) for name, given in cases.items()}
    tried = Tried(calls)
    return tried, slips_of_all(cases, tried.given)


def _lists_a_tensor(parts) -> bool:
    """Whether a list below holds a tensor: a tensor made from it needs its value."""
    lists = [part for part in parts if isinstance(part, (list, tuple))]
    return any(isinstance(part, torch.Tensor) for one in lists for part in one) or any(
        map(_lists_a_tensor, lists)
    )


class Reads(torch.overrides.TorchFunctionMode):
    """Counts the calls that bring a value from the device to Python."""

    NAMES = "item tolist numpy cpu equal allclose is_nonzero"
    SPECIAL = "array bool int float complex index format repr contains"  # between underscores

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.names = {*self.NAMES.split(), *(f"__{name}__" for name in self.SPECIAL.split())}

    def __torch_function__(self, func, types, args=(), kwargs=None):
        name = getattr(func, "__name__", "")
        index = list(args)[1] if name in ("__getitem__", "__setitem__") else ()
        parts = index if isinstance(index, tuple) else (index,)
        single = any(isinstance(part, torch.Tensor) and part.dim() == 0 for part in parts)
        # A device may be the tensor's own: to(z.device) reads nothing, on the CPU either.
        given = [part for part in (*args[1:], *(kwargs or {}).values()) if isinstance(part, str)]
        to_cpu = name == "to" and "cpu" in given
        made = name in ("tensor", "as_tensor", "asarray") and _lists_a_tensor(args)
        self.count += name in self.names or single or to_cpu or made
        return func(*args, **(kwargs or {}))


def run_reads(metrics, sizes: list[int]) -> tuple[int, bool]:
    """How often ``metrics`` reads from the device for batches of these sizes; whether its argument
    is what it was."""
    batches = make_batches(sizes, 3, 3)
    before = list(batches)
    with Reads() as reads:
        metrics(batches, 3, 2)
    kept = len(batches) == len(before) and not any(map(is_not, batches, before))
    return reads.count, kept
