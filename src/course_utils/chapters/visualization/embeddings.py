"""Exercise ``embedding-map``: principal directions, neighbours, the projector's files."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch.utils.tensorboard import SummaryWriter

from course_utils.chapters.visualization.comparing import (
    FAILED,
    check_seen,
    kept_from_before,
    on_cpu,
    tried,
)
from course_utils.learner.changes import forbid_changes
from course_utils.learner.checks import check_equal
from course_utils.learner.devices import device
from course_utils.learner.tracebacks import ends_in_notebook

GROUPS = "two groups, far from each other"
APART = "two groups in float64, far from each other"
EXACT = "donot_use_mm_for_euclid_dist"  # cdist multiplies from 26 rows on, which rounds


def seen_embedding_map(
    answer: Callable, features: torch.Tensor, labels: list[str], again: bool = False
) -> dict:
    """What was returned, and the files for the projector; ``again``: is a second call as good?"""

    def alone(x: torch.Tensor) -> tuple:
        torch.manual_seed(0)  # an SVD may draw
        with tempfile.TemporaryDirectory() as folder, SummaryWriter(folder) as writer:
            return answer(writer, x, list(labels))

    if again:
        alone(features.flip(1))  # of the same shape, with other directions
    kept = kept_from_before(alone, features) if again else []
    with tempfile.TemporaryDirectory() as folder:
        writer = SummaryWriter(folder)
        result = answer(writer, features, labels)
        writer.close()
        tables = [np.loadtxt(file, ndmin=2) for file in Path(folder).rglob("tensors.tsv")]
        words = [
            file.read_text("utf-8").splitlines() for file in Path(folder).rglob("metadata.tsv")
        ]
    found = {"tables": [torch.tensor(table) for table in tables], "labels": words}
    return found | {"result": on_cpu(result), "kept": kept}


def some_of(numbers: list[int]) -> str:
    """The first six of them, in words."""
    return str(numbers[:6]) + f" and {len(numbers) - 6} more" * (len(numbers) > 6)


def _map_of(x: torch.Tensor) -> torch.Tensor:
    """The first two coordinates of a cloud, centred."""
    x = x - x.mean(0)
    return x @ torch.linalg.svd(x, full_matrices=False).Vh[:2].T


@ends_in_notebook
def check_pca(mine: torch.Tensor, features: torch.Tensor) -> None:
    x = features.detach().double().cpu()
    centred = x - x.mean(0)
    unit = min(1.0, float(centred.abs().max()))  # of a tiny cloud, small differences count
    u, s, v = torch.linalg.svd(centred, full_matrices=False)
    truth, raw = centred @ v[:2].T, torch.linalg.svd(x, full_matrices=False)
    assert isinstance(mine, torch.Tensor), f"the coordinates are {mine!r}, no tensor"
    check_equal(tuple(mine.shape), (len(x), 2), "the shape of the coordinates")
    mine = mine.double()
    if torch.isclose(s[0], s[1]):  # any two directions of a plane will do: compare products
        check_seen(mine @ mine.T, truth @ truth.T, "the products of the coordinates", {})
        return
    flips = (mine * truth).sum(0).sign()
    flips[flips == 0] = 1
    slips = {
        "the features were not centred": x @ raw.Vh[:2].T,
        "the directions are those of the features as they came: centre them before the SVD": (
            centred @ raw.Vh[:2].T
        ),
        "the first direction stands there twice": truth[:, [0, 0]],
        "the directions fit, but the features were not centred before they were projected": x
        @ v[:2].T,
        "scaled to equal lengths (that is U alone); times the singular values": u[:, :2],
        "one mean was taken over everything; each feature has its own": (x - x.mean())
        @ torch.linalg.svd(x - x.mean(), full_matrices=False).Vh[:2].T,
        "the last two directions, the shortest; take the first": centred @ v[-2:].T,
        "the second direction stands first": truth.flip(1),
        "the two shortest directions (eigh's order is ascending); take the longest": (
            centred @ v[-2:].flip(0).T
        ),
        "each feature was divided by its standard deviation: leave the lengths": _map_of(
            centred / centred.std(0).clamp(min=1e-12)
        ),
        "each sample was scaled to length 1: leave the lengths": _map_of(
            x / x.norm(dim=1, keepdim=True).clamp(min=1e-12)
        ),
        "multiplied by the singular values, which the coordinates hold already": truth * s[:2],
        "each coordinate was divided by its standard deviation; unscaled is asked for": truth
        / truth.std(0).clamp(min=1e-12),
        "the first two features are no principal directions": centred[:, :2],
        "each sample's own mean was subtracted; each feature has its mean": (
            (x - x.mean(1, keepdim=True))
            @ torch.linalg.svd(x - x.mean(1, keepdim=True), full_matrices=False).Vh[:2].T
        ),
        "rounded to float32: float64 features keep their precision": _map_of(x.float().double()),
        "columns of V were taken; what torch calls Vh has the directions in its rows": centred
        @ v[:, :2]
        if v.shape[0] == v.shape[1]
        else truth + 1,
    }
    for a, b in itertools.permutations(range(len(v)), 2):
        words = (
            f"directions {a} and {b}, counted from 0, the longest: take 0 and 1 (eig doesn't sort)"
        )
        slips[words] = centred @ v[[a, b]].T
    for words, slip in slips.items():
        signs = (mine * slip).sum(0).sign() if slip.shape == mine.shape else 1
        room = 1e-3 * min(1.0, float(slip.abs().max()))
        same = slip.shape == mine.shape and torch.allclose(mine * signs, slip, 1e-3, room)
        if same and not torch.allclose(mine * flips, truth, 1e-3, 1e-3 * unit):
            raise AssertionError(f"the coordinates: {words}")

    what = "the coordinates (by the two longest directions of the centred features, up to signs)"
    largest = float(features.abs().max())
    rounding = torch.finfo(features.dtype).eps * largest  # of what came
    room = 0.05 * float(truth.abs().max())
    if features.dtype == torch.float64:
        room = max(room, 8 * torch.finfo(torch.float32).eps * largest)
    if float((mine * flips - truth).abs().max()) < room:
        what += (
            "; near, but not exact: by an approximation, as torch.pca_lowrank is, or in float32?"
        )
    check_seen(mine * flips, truth, what, {}, rtol=1e-4, atol=1e-5 * unit + 20 * rounding)


@ends_in_notebook
def check_neighbours(mine: torch.Tensor, features: torch.Tensor) -> None:
    x = features.detach().double().cpu()
    far = torch.cdist(x, x, compute_mode=EXACT)
    mine = torch.as_tensor(mine)
    each = "an index for each sample"
    check_equal(tuple(mine.shape), (len(far),), "the shape of the neighbours", each)
    rows = torch.arange(len(far))
    assert mine.dtype not in (torch.float32, torch.float64), (
        "the neighbours are floats, not indices"
    )
    assert not (mine == rows).all(), (
        "each sample is its own neighbour: leave it out, however far away the others are"
    )
    own = rows[mine == rows].tolist()
    told = ", each the nearest to itself: leave out the distance of a sample to itself, also where "
    told += "the distances are computed in blocks of rows"
    assert not own, f"samples {some_of(own)} are their own neighbours{told}"
    alone = torch.eye(len(far), dtype=torch.bool)
    best = far.masked_fill(alone, float("inf")).amin(1)
    missed = far[rows, mine] > best + 1e-6 * min(1.0, float(far.max()))
    wrong = rows[missed].tolist()
    unit = x / x.norm(dim=1, keepdim=True).clamp(min=1e-12)
    other = {
        "two equal samples are neighbours of each other: a distance of 0 counts": (
            far.masked_fill(far == 0, float("inf"))
        ),
        "nearest by angle (the cosine), not by distance": -(unit @ unit.T),
        "nearest by the sum of differences, not by Euclid's distance": torch.cdist(x, x, p=1),
        "the farthest, not the nearest": -far,
        "nearest in the map of two coordinates; by all the features is asked for": torch.cdist(
            _map_of(x), _map_of(x), compute_mode=EXACT
        ),
        "rounded to float32: float64 features keep their precision": torch.cdist(
            x.float().double(), x.float().double(), compute_mode=EXACT
        ),
    }
    for words, table in other.items():
        slip = table.masked_fill(alone, float("inf")).argmin(1)
        assert not (wrong and torch.equal(slip, mine.long())), words
    rounds = "the distances are rounded: subtract first, then square; no products of features"
    room = 16 * torch.finfo(features.dtype).eps * x.square().sum(1).max()  # of a product's rounding
    near = bool((far[rows, mine] ** 2 - best**2 < room).all())
    assert not (wrong and near), f"{rounds} (cdist: compute_mode), for samples {some_of(wrong)}"
    where = "a nearer sample exists (by all the features, not in the map?)"
    assert not wrong, f"{where} for samples {some_of(wrong)}"


@ends_in_notebook
def check_map(case, attempt, name, features):
    labels, features = [f"größe {-n % 7}" for n in range(len(features))], features.to(device)
    handed = list(labels)
    with forbid_changes(features):
        found = tried(case, name, attempt, features, handed, "twelve" in name)
    if found is FAILED:
        return
    parts = found["result"]
    is_pair = isinstance(parts, (tuple, list)) and len(parts) == 2
    assert is_pair, f"{parts!r} is no pair: is there an answer yet?"
    with case(f"{name}: coordinates"):
        assert not found["kept"], found["kept"][0]
        if name not in (GROUPS, APART):  # there a covariance is too coarse, and may be taken
            check_pca(parts[0], features)
    with case(f"{name}: neighbours"):
        check_neighbours(parts[1], features)
    with case(f"{name}: the projector's files"):
        assert found["tables"], "nothing was handed to the projector"
        check_seen(
            found["tables"][0],
            features.cpu().double(),
            "the projector's table",
            {"centred; it gets the features as they are": (features - features.mean(0)).cpu()},
            rtol=1e-3,
            atol=1e-4,
        )
    with case(f"{name}: the projector's labels"):
        why = "metadata=labels: all of them, as they came and in their order"
        check_equal(found["labels"], [labels], "the projector's labels", why)
        check_equal(handed, labels, "the list of labels afterwards", "it is the caller's")
