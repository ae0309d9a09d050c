# %% [markdown]
# Rules:
#
# - "in order of falling confidence"
# - "true boxes of its label"
# - "that are still free"
# - "the one with the largest overlap"
# - "if that is at least 0.5"
# - "from the sums over all photographs"
# - "0 / 0 counts as 1"
# - "the share of photographs with as many found boxes as true ones"
# - "the quantiles 0.025 and 0.975"
# - "of the f1 of `draws` sets"
# - "`torch.randint(n, (draws, n), generator=g)`"
# - "It returns a dict of plain floats"
# - "Torch's default generator"
# - "and the arguments stay as they are"
#
# Admits:
#
# - "k and m may be 0": nothing is there and nothing found
# - "at least one photograph": everything was found
# - "`draws` sets": drawn sets with seed
# - "draws: int = 200, seed: int = 0": the same images gave two different intervals

# %% wrong="in the order they come" breaks="in order of falling confidence" says=["the surest box takes the shape"]
import torch
from torchvision.ops import box_iou


def evaluate(
    found: list[torch.Tensor], true: list[torch.Tensor], draws: int = 200, seed: int = 0
) -> dict[str, float]:
    """Compare what was found with what is there.

    Args:
        found: for each image (k, 6): confidence, label, left, top, right, bottom.
        true: for each image (m, 5): label, left, top, right, bottom.
        draws: how often the images are drawn anew for the interval.
        seed: of the generator that draws them.

    Returns:
        ``precision``, ``recall``, ``f1``, ``count``, and ``low`` and ``high`` of f1's interval.
    """
    rows = []  # for each image: hits, found, true
    for mine, theirs in zip(found, true, strict=True):
        free, hits = torch.ones(len(theirs), dtype=torch.bool), 0
        for box in mine:
            overlap = box_iou(box[None, 2:].double(), theirs[:, 1:].double())[0]
            overlap[~free | (theirs[:, 0] != box[1])] = -1
            if len(theirs) and overlap.max() >= 0.5:
                free[overlap.argmax()] = False
                hits += 1
        rows.append([hits, len(mine), len(theirs)])
    counts = torch.tensor(rows, dtype=torch.float64)  # (images, 3)

    def share(part: torch.Tensor, whole: torch.Tensor) -> torch.Tensor:
        return torch.where(whole > 0, part / whole, 1.0)

    hits, mine, theirs = counts.sum(0)
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(len(rows), (draws, len(rows)), generator=generator)
    sums = counts[drawn].sum(1)  # (draws, 3)
    scores = share(2 * sums[:, 0], sums[:, 1] + sums[:, 2])
    low, high = scores.quantile(torch.tensor([0.025, 0.975], dtype=torch.float64))
    results = {
        "precision": share(hits, mine),
        "recall": share(hits, theirs),
        "f1": share(2 * hits, mine + theirs),
        "count": (counts[:, 1] == counts[:, 2]).double().mean(),
        "low": low,
        "high": high,
    }
    return {name: value.item() for name, value in results.items()}


# %% wrong="finds a shape twice" breaks="that are still free" says=["a hit and a miss"]
import torch
from torchvision.ops import box_iou


def evaluate(
    found: list[torch.Tensor], true: list[torch.Tensor], draws: int = 200, seed: int = 0
) -> dict[str, float]:
    """Compare what was found with what is there.

    Args:
        found: for each image (k, 6): confidence, label, left, top, right, bottom.
        true: for each image (m, 5): label, left, top, right, bottom.
        draws: how often the images are drawn anew for the interval.
        seed: of the generator that draws them.

    Returns:
        ``precision``, ``recall``, ``f1``, ``count``, and ``low`` and ``high`` of f1's interval.
    """
    rows = []  # for each image: hits, found, true
    for mine, theirs in zip(found, true, strict=True):
        free, hits = torch.ones(len(theirs), dtype=torch.bool), 0
        for box in mine[mine[:, 0].argsort(descending=True, stable=True)]:
            overlap = box_iou(box[None, 2:].double(), theirs[:, 1:].double())[0]
            overlap[theirs[:, 0] != box[1]] = -1
            if len(theirs) and overlap.max() >= 0.5:
                free[overlap.argmax()] = False
                hits += 1
        rows.append([hits, len(mine), len(theirs)])
    counts = torch.tensor(rows, dtype=torch.float64)  # (images, 3)

    def share(part: torch.Tensor, whole: torch.Tensor) -> torch.Tensor:
        return torch.where(whole > 0, part / whole, 1.0)

    hits, mine, theirs = counts.sum(0)
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(len(rows), (draws, len(rows)), generator=generator)
    sums = counts[drawn].sum(1)  # (draws, 3)
    scores = share(2 * sums[:, 0], sums[:, 1] + sums[:, 2])
    low, high = scores.quantile(torch.tensor([0.025, 0.975], dtype=torch.float64))
    results = {
        "precision": share(hits, mine),
        "recall": share(hits, theirs),
        "f1": share(2 * hits, mine + theirs),
        "count": (counts[:, 1] == counts[:, 2]).double().mean(),
        "low": low,
        "high": high,
    }
    return {name: value.item() for name, value in results.items()}


# %% wrong="best of all, then the class" breaks="true boxes of its label" says=["best box of its own class"]
import torch
from torchvision.ops import box_iou


def evaluate(
    found: list[torch.Tensor], true: list[torch.Tensor], draws: int = 200, seed: int = 0
) -> dict[str, float]:
    """Compare what was found with what is there.

    Args:
        found: for each image (k, 6): confidence, label, left, top, right, bottom.
        true: for each image (m, 5): label, left, top, right, bottom.
        draws: how often the images are drawn anew for the interval.
        seed: of the generator that draws them.

    Returns:
        ``precision``, ``recall``, ``f1``, ``count``, and ``low`` and ``high`` of f1's interval.
    """
    rows = []  # for each image: hits, found, true
    for mine, theirs in zip(found, true, strict=True):
        free, hits = torch.ones(len(theirs), dtype=torch.bool), 0
        for box in mine[mine[:, 0].argsort(descending=True, stable=True)]:
            overlap = box_iou(box[None, 2:].double(), theirs[:, 1:].double())[0]
            overlap[~free] = -1
            if len(theirs) and theirs[overlap.argmax(), 0] != box[1]:
                overlap[:] = -1
            if len(theirs) and overlap.max() >= 0.5:
                free[overlap.argmax()] = False
                hits += 1
        rows.append([hits, len(mine), len(theirs)])
    counts = torch.tensor(rows, dtype=torch.float64)  # (images, 3)

    def share(part: torch.Tensor, whole: torch.Tensor) -> torch.Tensor:
        return torch.where(whole > 0, part / whole, 1.0)

    hits, mine, theirs = counts.sum(0)
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(len(rows), (draws, len(rows)), generator=generator)
    sums = counts[drawn].sum(1)  # (draws, 3)
    scores = share(2 * sums[:, 0], sums[:, 1] + sums[:, 2])
    low, high = scores.quantile(torch.tensor([0.025, 0.975], dtype=torch.float64))
    results = {
        "precision": share(hits, mine),
        "recall": share(hits, theirs),
        "f1": share(2 * hits, mine + theirs),
        "count": (counts[:, 1] == counts[:, 2]).double().mean(),
        "low": low,
        "high": high,
    }
    return {name: value.item() for name, value in results.items()}


# %% wrong="a mean over photographs" breaks="from the sums over all photographs" says=["not averaged image by image"]
import torch
from torchvision.ops import box_iou


def evaluate(
    found: list[torch.Tensor], true: list[torch.Tensor], draws: int = 200, seed: int = 0
) -> dict[str, float]:
    """Compare what was found with what is there.

    Args:
        found: for each image (k, 6): confidence, label, left, top, right, bottom.
        true: for each image (m, 5): label, left, top, right, bottom.
        draws: how often the images are drawn anew for the interval.
        seed: of the generator that draws them.

    Returns:
        ``precision``, ``recall``, ``f1``, ``count``, and ``low`` and ``high`` of f1's interval.
    """
    rows = []  # for each image: hits, found, true
    for mine, theirs in zip(found, true, strict=True):
        free, hits = torch.ones(len(theirs), dtype=torch.bool), 0
        for box in mine[mine[:, 0].argsort(descending=True, stable=True)]:
            overlap = box_iou(box[None, 2:].double(), theirs[:, 1:].double())[0]
            overlap[~free | (theirs[:, 0] != box[1])] = -1
            if len(theirs) and overlap.max() >= 0.5:
                free[overlap.argmax()] = False
                hits += 1
        rows.append([hits, len(mine), len(theirs)])
    counts = torch.tensor(rows, dtype=torch.float64)  # (images, 3)

    def share(part: torch.Tensor, whole: torch.Tensor) -> torch.Tensor:
        return torch.where(whole > 0, part / whole, 1.0)

    hits, mine, theirs = counts.sum(0)
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(len(rows), (draws, len(rows)), generator=generator)
    sums = counts[drawn].sum(1)  # (draws, 3)
    scores = share(2 * sums[:, 0], sums[:, 1] + sums[:, 2])
    low, high = scores.quantile(torch.tensor([0.025, 0.975], dtype=torch.float64))
    results = {
        "precision": share(counts[:, 0], counts[:, 1]).mean(),
        "recall": share(hits, theirs),
        "f1": share(2 * hits, mine + theirs),
        "count": (counts[:, 1] == counts[:, 2]).double().mean(),
        "low": low,
        "high": high,
    }
    return {name: value.item() for name, value in results.items()}


# %% wrong="shuffles instead of drawing" breaks="`torch.randint(n, (draws, n), generator=g)`" says=["f1 lies within its interval"]
import torch
from torchvision.ops import box_iou


def evaluate(
    found: list[torch.Tensor], true: list[torch.Tensor], draws: int = 200, seed: int = 0
) -> dict[str, float]:
    """Compare what was found with what is there.

    Args:
        found: for each image (k, 6): confidence, label, left, top, right, bottom.
        true: for each image (m, 5): label, left, top, right, bottom.
        draws: how often the images are drawn anew for the interval.
        seed: of the generator that draws them.

    Returns:
        ``precision``, ``recall``, ``f1``, ``count``, and ``low`` and ``high`` of f1's interval.
    """
    rows = []  # for each image: hits, found, true
    for mine, theirs in zip(found, true, strict=True):
        free, hits = torch.ones(len(theirs), dtype=torch.bool), 0
        for box in mine[mine[:, 0].argsort(descending=True, stable=True)]:
            overlap = box_iou(box[None, 2:].double(), theirs[:, 1:].double())[0]
            overlap[~free | (theirs[:, 0] != box[1])] = -1
            if len(theirs) and overlap.max() >= 0.5:
                free[overlap.argmax()] = False
                hits += 1
        rows.append([hits, len(mine), len(theirs)])
    counts = torch.tensor(rows, dtype=torch.float64)  # (images, 3)

    def share(part: torch.Tensor, whole: torch.Tensor) -> torch.Tensor:
        return torch.where(whole > 0, part / whole, 1.0)

    hits, mine, theirs = counts.sum(0)
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.stack([torch.randperm(len(rows), generator=generator) for _ in range(draws)])
    sums = counts[drawn].sum(1)  # (draws, 3)
    scores = share(2 * sums[:, 0], sums[:, 1] + sums[:, 2])
    low, high = scores.quantile(torch.tensor([0.025, 0.975], dtype=torch.float64))
    results = {
        "precision": share(hits, mine),
        "recall": share(hits, theirs),
        "f1": share(2 * hits, mine + theirs),
        "count": (counts[:, 1] == counts[:, 2]).double().mean(),
        "low": low,
        "high": high,
    }
    return {name: value.item() for name, value in results.items()}


# %% wrong="the default generator" breaks="Torch's default generator" says=["torch's default generator was used"]
import torch
from torchvision.ops import box_iou


def evaluate(
    found: list[torch.Tensor], true: list[torch.Tensor], draws: int = 200, seed: int = 0
) -> dict[str, float]:
    """Compare what was found with what is there.

    Args:
        found: for each image (k, 6): confidence, label, left, top, right, bottom.
        true: for each image (m, 5): label, left, top, right, bottom.
        draws: how often the images are drawn anew for the interval.
        seed: of the generator that draws them.

    Returns:
        ``precision``, ``recall``, ``f1``, ``count``, and ``low`` and ``high`` of f1's interval.
    """
    rows = []  # for each image: hits, found, true
    for mine, theirs in zip(found, true, strict=True):
        free, hits = torch.ones(len(theirs), dtype=torch.bool), 0
        for box in mine[mine[:, 0].argsort(descending=True, stable=True)]:
            overlap = box_iou(box[None, 2:].double(), theirs[:, 1:].double())[0]
            overlap[~free | (theirs[:, 0] != box[1])] = -1
            if len(theirs) and overlap.max() >= 0.5:
                free[overlap.argmax()] = False
                hits += 1
        rows.append([hits, len(mine), len(theirs)])
    counts = torch.tensor(rows, dtype=torch.float64)  # (images, 3)

    def share(part: torch.Tensor, whole: torch.Tensor) -> torch.Tensor:
        return torch.where(whole > 0, part / whole, 1.0)

    hits, mine, theirs = counts.sum(0)
    torch.Generator().manual_seed(seed)
    drawn = torch.randint(len(rows), (draws, len(rows)))
    sums = counts[drawn].sum(1)  # (draws, 3)
    scores = share(2 * sums[:, 0], sums[:, 1] + sums[:, 2])
    low, high = scores.quantile(torch.tensor([0.025, 0.975], dtype=torch.float64))
    results = {
        "precision": share(hits, mine),
        "recall": share(hits, theirs),
        "f1": share(2 * hits, mine + theirs),
        "count": (counts[:, 1] == counts[:, 2]).double().mean(),
        "low": low,
        "high": high,
    }
    return {name: value.item() for name, value in results.items()}


# %% wrong="nothing of nothing is 0" breaks="0 / 0 counts as 1" says=["nothing is there and nothing found"]
import torch
from torchvision.ops import box_iou


def evaluate(
    found: list[torch.Tensor], true: list[torch.Tensor], draws: int = 200, seed: int = 0
) -> dict[str, float]:
    """Compare what was found with what is there.

    Args:
        found: for each image (k, 6): confidence, label, left, top, right, bottom.
        true: for each image (m, 5): label, left, top, right, bottom.
        draws: how often the images are drawn anew for the interval.
        seed: of the generator that draws them.

    Returns:
        ``precision``, ``recall``, ``f1``, ``count``, and ``low`` and ``high`` of f1's interval.
    """
    rows = []  # for each image: hits, found, true
    for mine, theirs in zip(found, true, strict=True):
        free, hits = torch.ones(len(theirs), dtype=torch.bool), 0
        for box in mine[mine[:, 0].argsort(descending=True, stable=True)]:
            overlap = box_iou(box[None, 2:].double(), theirs[:, 1:].double())[0]
            overlap[~free | (theirs[:, 0] != box[1])] = -1
            if len(theirs) and overlap.max() >= 0.5:
                free[overlap.argmax()] = False
                hits += 1
        rows.append([hits, len(mine), len(theirs)])
    counts = torch.tensor(rows, dtype=torch.float64)  # (images, 3)

    def share(part: torch.Tensor, whole: torch.Tensor) -> torch.Tensor:
        return torch.where(whole > 0, part / whole, 0.0)

    hits, mine, theirs = counts.sum(0)
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(len(rows), (draws, len(rows)), generator=generator)
    sums = counts[drawn].sum(1)  # (draws, 3)
    scores = share(2 * sums[:, 0], sums[:, 1] + sums[:, 2])
    low, high = scores.quantile(torch.tensor([0.025, 0.975], dtype=torch.float64))
    results = {
        "precision": share(hits, mine),
        "recall": share(hits, theirs),
        "f1": share(2 * hits, mine + theirs),
        "count": (counts[:, 1] == counts[:, 2]).double().mean(),
        "low": low,
        "high": high,
    }
    return {name: value.item() for name, value in results.items()}


# %% wrong="more than a half" breaks="if that is at least 0.5" says=["exactly 0.5"]
import torch
from torchvision.ops import box_iou


def evaluate(
    found: list[torch.Tensor], true: list[torch.Tensor], draws: int = 200, seed: int = 0
) -> dict[str, float]:
    """Compare what was found with what is there.

    Args:
        found: for each image (k, 6): confidence, label, left, top, right, bottom.
        true: for each image (m, 5): label, left, top, right, bottom.
        draws: how often the images are drawn anew for the interval.
        seed: of the generator that draws them.

    Returns:
        ``precision``, ``recall``, ``f1``, ``count``, and ``low`` and ``high`` of f1's interval.
    """
    rows = []  # for each image: hits, found, true
    for mine, theirs in zip(found, true, strict=True):
        free, hits = torch.ones(len(theirs), dtype=torch.bool), 0
        for box in mine[mine[:, 0].argsort(descending=True, stable=True)]:
            overlap = box_iou(box[None, 2:].double(), theirs[:, 1:].double())[0]
            overlap[~free | (theirs[:, 0] != box[1])] = -1
            if len(theirs) and overlap.max() > 0.5:
                free[overlap.argmax()] = False
                hits += 1
        rows.append([hits, len(mine), len(theirs)])
    counts = torch.tensor(rows, dtype=torch.float64)  # (images, 3)

    def share(part: torch.Tensor, whole: torch.Tensor) -> torch.Tensor:
        return torch.where(whole > 0, part / whole, 1.0)

    hits, mine, theirs = counts.sum(0)
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(len(rows), (draws, len(rows)), generator=generator)
    sums = counts[drawn].sum(1)  # (draws, 3)
    scores = share(2 * sums[:, 0], sums[:, 1] + sums[:, 2])
    low, high = scores.quantile(torch.tensor([0.025, 0.975], dtype=torch.float64))
    results = {
        "precision": share(hits, mine),
        "recall": share(hits, theirs),
        "f1": share(2 * hits, mine + theirs),
        "count": (counts[:, 1] == counts[:, 2]).double().mean(),
        "low": low,
        "high": high,
    }
    return {name: value.item() for name, value in results.items()}


# %% wrong="takes the first that fits" breaks="the one with the largest overlap" says=["the surest box takes the shape that it overlaps most"]
import torch
from torchvision.ops import box_iou


def evaluate(
    found: list[torch.Tensor], true: list[torch.Tensor], draws: int = 200, seed: int = 0
) -> dict[str, float]:
    """Compare what was found with what is there.

    Args:
        found: for each image (k, 6): confidence, label, left, top, right, bottom.
        true: for each image (m, 5): label, left, top, right, bottom.
        draws: how often the images are drawn anew for the interval.
        seed: of the generator that draws them.

    Returns:
        ``precision``, ``recall``, ``f1``, ``count``, and ``low`` and ``high`` of f1's interval.
    """
    rows = []  # for each image: hits, found, true
    for mine, theirs in zip(found, true, strict=True):
        free, hits = torch.ones(len(theirs), dtype=torch.bool), 0
        for box in mine[mine[:, 0].argsort(descending=True, stable=True)]:
            overlap = box_iou(box[None, 2:].double(), theirs[:, 1:].double())[0]
            overlap[~free | (theirs[:, 0] != box[1])] = -1
            if len(theirs) and overlap.max() >= 0.5:
                free[(overlap >= 0.5).nonzero()[0, 0]] = False
                hits += 1
        rows.append([hits, len(mine), len(theirs)])
    counts = torch.tensor(rows, dtype=torch.float64)  # (images, 3)

    def share(part: torch.Tensor, whole: torch.Tensor) -> torch.Tensor:
        return torch.where(whole > 0, part / whole, 1.0)

    hits, mine, theirs = counts.sum(0)
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(len(rows), (draws, len(rows)), generator=generator)
    sums = counts[drawn].sum(1)  # (draws, 3)
    scores = share(2 * sums[:, 0], sums[:, 1] + sums[:, 2])
    low, high = scores.quantile(torch.tensor([0.025, 0.975], dtype=torch.float64))
    results = {
        "precision": share(hits, mine),
        "recall": share(hits, theirs),
        "f1": share(2 * hits, mine + theirs),
        "count": (counts[:, 1] == counts[:, 2]).double().mean(),
        "low": low,
        "high": high,
    }
    return {name: value.item() for name, value in results.items()}


# %% wrong="quantiles of 90 %" breaks="the quantiles 0.025 and 0.975" says=["the quantiles 5 % and 95 %"]
import torch
from torchvision.ops import box_iou


def evaluate(
    found: list[torch.Tensor], true: list[torch.Tensor], draws: int = 200, seed: int = 0
) -> dict[str, float]:
    """Compare what was found with what is there.

    Args:
        found: for each image (k, 6): confidence, label, left, top, right, bottom.
        true: for each image (m, 5): label, left, top, right, bottom.
        draws: how often the images are drawn anew for the interval.
        seed: of the generator that draws them.

    Returns:
        ``precision``, ``recall``, ``f1``, ``count``, and ``low`` and ``high`` of f1's interval.
    """
    rows = []  # for each image: hits, found, true
    for mine, theirs in zip(found, true, strict=True):
        free, hits = torch.ones(len(theirs), dtype=torch.bool), 0
        for box in mine[mine[:, 0].argsort(descending=True, stable=True)]:
            overlap = box_iou(box[None, 2:].double(), theirs[:, 1:].double())[0]
            overlap[~free | (theirs[:, 0] != box[1])] = -1
            if len(theirs) and overlap.max() >= 0.5:
                free[overlap.argmax()] = False
                hits += 1
        rows.append([hits, len(mine), len(theirs)])
    counts = torch.tensor(rows, dtype=torch.float64)  # (images, 3)

    def share(part: torch.Tensor, whole: torch.Tensor) -> torch.Tensor:
        return torch.where(whole > 0, part / whole, 1.0)

    hits, mine, theirs = counts.sum(0)
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(len(rows), (draws, len(rows)), generator=generator)
    sums = counts[drawn].sum(1)  # (draws, 3)
    scores = share(2 * sums[:, 0], sums[:, 1] + sums[:, 2])
    low, high = scores.quantile(torch.tensor([0.05, 0.95], dtype=torch.float64))
    results = {
        "precision": share(hits, mine),
        "recall": share(hits, theirs),
        "f1": share(2 * hits, mine + theirs),
        "count": (counts[:, 1] == counts[:, 2]).double().mean(),
        "low": low,
        "high": high,
    }
    return {name: value.item() for name, value in results.items()}


# %% wrong="interval of precision" breaks="of the f1 of `draws` sets" says=["the interval of precision"]
import torch
from torchvision.ops import box_iou


def evaluate(
    found: list[torch.Tensor], true: list[torch.Tensor], draws: int = 200, seed: int = 0
) -> dict[str, float]:
    """Compare what was found with what is there.

    Args:
        found: for each image (k, 6): confidence, label, left, top, right, bottom.
        true: for each image (m, 5): label, left, top, right, bottom.
        draws: how often the images are drawn anew for the interval.
        seed: of the generator that draws them.

    Returns:
        ``precision``, ``recall``, ``f1``, ``count``, and ``low`` and ``high`` of f1's interval.
    """
    rows = []  # for each image: hits, found, true
    for mine, theirs in zip(found, true, strict=True):
        free, hits = torch.ones(len(theirs), dtype=torch.bool), 0
        for box in mine[mine[:, 0].argsort(descending=True, stable=True)]:
            overlap = box_iou(box[None, 2:].double(), theirs[:, 1:].double())[0]
            overlap[~free | (theirs[:, 0] != box[1])] = -1
            if len(theirs) and overlap.max() >= 0.5:
                free[overlap.argmax()] = False
                hits += 1
        rows.append([hits, len(mine), len(theirs)])
    counts = torch.tensor(rows, dtype=torch.float64)  # (images, 3)

    def share(part: torch.Tensor, whole: torch.Tensor) -> torch.Tensor:
        return torch.where(whole > 0, part / whole, 1.0)

    hits, mine, theirs = counts.sum(0)
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(len(rows), (draws, len(rows)), generator=generator)
    sums = counts[drawn].sum(1)  # (draws, 3)
    scores = share(sums[:, 0], sums[:, 1])
    low, high = scores.quantile(torch.tensor([0.025, 0.975], dtype=torch.float64))
    results = {
        "precision": share(hits, mine),
        "recall": share(hits, theirs),
        "f1": share(2 * hits, mine + theirs),
        "count": (counts[:, 1] == counts[:, 2]).double().mean(),
        "low": low,
        "high": high,
    }
    return {name: value.item() for name, value in results.items()}


# %% wrong="tensors come back" breaks="It returns a dict of plain floats" says=["not a float"]
import torch
from torchvision.ops import box_iou


def evaluate(
    found: list[torch.Tensor], true: list[torch.Tensor], draws: int = 200, seed: int = 0
) -> dict[str, float]:
    """Compare what was found with what is there.

    Args:
        found: for each image (k, 6): confidence, label, left, top, right, bottom.
        true: for each image (m, 5): label, left, top, right, bottom.
        draws: how often the images are drawn anew for the interval.
        seed: of the generator that draws them.

    Returns:
        ``precision``, ``recall``, ``f1``, ``count``, and ``low`` and ``high`` of f1's interval.
    """
    rows = []  # for each image: hits, found, true
    for mine, theirs in zip(found, true, strict=True):
        free, hits = torch.ones(len(theirs), dtype=torch.bool), 0
        for box in mine[mine[:, 0].argsort(descending=True, stable=True)]:
            overlap = box_iou(box[None, 2:].double(), theirs[:, 1:].double())[0]
            overlap[~free | (theirs[:, 0] != box[1])] = -1
            if len(theirs) and overlap.max() >= 0.5:
                free[overlap.argmax()] = False
                hits += 1
        rows.append([hits, len(mine), len(theirs)])
    counts = torch.tensor(rows, dtype=torch.float64)  # (images, 3)

    def share(part: torch.Tensor, whole: torch.Tensor) -> torch.Tensor:
        return torch.where(whole > 0, part / whole, 1.0)

    hits, mine, theirs = counts.sum(0)
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(len(rows), (draws, len(rows)), generator=generator)
    sums = counts[drawn].sum(1)  # (draws, 3)
    scores = share(2 * sums[:, 0], sums[:, 1] + sums[:, 2])
    low, high = scores.quantile(torch.tensor([0.025, 0.975], dtype=torch.float64))
    results = {
        "precision": share(hits, mine),
        "recall": share(hits, theirs),
        "f1": share(2 * hits, mine + theirs),
        "count": (counts[:, 1] == counts[:, 2]).double().mean(),
        "low": low,
        "high": high,
    }
    return {name: value for name, value in results.items()}


# %% right="plain Python"
import torch


def iou(a, b):
    wide = max(0.0, min(a[2], b[2]) - max(a[0], b[0]))
    high = max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
    both = wide * high
    union = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both
    return both / union if union > 0 else 0.0


def evaluate(found, true, draws=200, seed=0):
    rows = []
    for mine, theirs in zip(found, true):
        left, hits = theirs.tolist(), 0
        for box in sorted(mine.tolist(), key=lambda b: -b[0]):
            fitting = [t for t in left if t[0] == box[1]]
            best = max(fitting, key=lambda t: iou(t[1:], box[2:]), default=None)
            if best is not None and iou(best[1:], box[2:]) >= 0.5:
                left.remove(best)
                hits += 1
        rows.append((hits, len(mine), len(theirs)))

    def ratio(a, b):
        return a / b if b else 1.0

    def f1(some):
        return ratio(2 * sum(r[0] for r in some), sum(r[1] + r[2] for r in some))

    g = torch.Generator().manual_seed(seed)
    sets = torch.randint(len(rows), (draws, len(rows)), generator=g).tolist()
    scores = torch.tensor([f1([rows[n] for n in one]) for one in sets], dtype=torch.float64)
    return {
        "precision": ratio(sum(r[0] for r in rows), sum(r[1] for r in rows)),
        "recall": ratio(sum(r[0] for r in rows), sum(r[2] for r in rows)),
        "f1": f1(rows),
        "count": sum(r[1] == r[2] for r in rows) / len(rows),
        "low": float(torch.quantile(scores, 0.025)),
        "high": float(torch.quantile(scores, 0.975)),
    }


# %% wrong="takes the list apart" breaks="and the arguments stay as they are" says=["a list of the caller's was changed"]
import torch
from torchvision.ops import box_iou


def evaluate(
    found: list[torch.Tensor], true: list[torch.Tensor], draws: int = 200, seed: int = 0
) -> dict[str, float]:
    """Compare what was found with what is there.

    Args:
        found: for each image (k, 6): confidence, label, left, top, right, bottom.
        true: for each image (m, 5): label, left, top, right, bottom.
        draws: how often the images are drawn anew for the interval.
        seed: of the generator that draws them.

    Returns:
        ``precision``, ``recall``, ``f1``, ``count``, and ``low`` and ``high`` of f1's interval.
    """
    rows = []  # for each image: hits, found, true
    while found:
        mine, theirs = found.pop(0), true.pop(0)
        free, hits = torch.ones(len(theirs), dtype=torch.bool), 0
        for box in mine[mine[:, 0].argsort(descending=True, stable=True)]:
            overlap = box_iou(box[None, 2:].double(), theirs[:, 1:].double())[0]
            overlap[~free | (theirs[:, 0] != box[1])] = -1
            if len(theirs) and overlap.max() >= 0.5:
                free[overlap.argmax()] = False
                hits += 1
        rows.append([hits, len(mine), len(theirs)])
    counts = torch.tensor(rows, dtype=torch.float64)  # (images, 3)

    def share(part: torch.Tensor, whole: torch.Tensor) -> torch.Tensor:
        return torch.where(whole > 0, part / whole, 1.0)

    hits, mine, theirs = counts.sum(0)
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(len(rows), (draws, len(rows)), generator=generator)
    sums = counts[drawn].sum(1)  # (draws, 3)
    scores = share(2 * sums[:, 0], sums[:, 1] + sums[:, 2])
    low, high = scores.quantile(torch.tensor([0.025, 0.975], dtype=torch.float64))
    results = {
        "precision": share(hits, mine),
        "recall": share(hits, theirs),
        "f1": share(2 * hits, mine + theirs),
        "count": (counts[:, 1] == counts[:, 2]).double().mean(),
        "low": low,
        "high": high,
    }
    return {name: value.item() for name, value in results.items()}


# %% wrong="count of hits" breaks="the share of photographs with as many found boxes as true ones" says=["hits or not"]
import torch
from torchvision.ops import box_iou


def evaluate(
    found: list[torch.Tensor], true: list[torch.Tensor], draws: int = 200, seed: int = 0
) -> dict[str, float]:
    """Compare what was found with what is there.

    Args:
        found: for each image (k, 6): confidence, label, left, top, right, bottom.
        true: for each image (m, 5): label, left, top, right, bottom.
        draws: how often the images are drawn anew for the interval.
        seed: of the generator that draws them.

    Returns:
        ``precision``, ``recall``, ``f1``, ``count``, and ``low`` and ``high`` of f1's interval.
    """
    rows = []  # for each image: hits, found, true
    for mine, theirs in zip(found, true, strict=True):
        free, hits = torch.ones(len(theirs), dtype=torch.bool), 0
        for box in mine[mine[:, 0].argsort(descending=True, stable=True)]:
            overlap = box_iou(box[None, 2:].double(), theirs[:, 1:].double())[0]
            overlap[~free | (theirs[:, 0] != box[1])] = -1
            if len(theirs) and overlap.max() >= 0.5:
                free[overlap.argmax()] = False
                hits += 1
        rows.append([hits, len(mine), len(theirs)])
    counts = torch.tensor(rows, dtype=torch.float64)  # (images, 3)

    def share(part: torch.Tensor, whole: torch.Tensor) -> torch.Tensor:
        return torch.where(whole > 0, part / whole, 1.0)

    hits, mine, theirs = counts.sum(0)
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(len(rows), (draws, len(rows)), generator=generator)
    sums = counts[drawn].sum(1)  # (draws, 3)
    scores = share(2 * sums[:, 0], sums[:, 1] + sums[:, 2])
    low, high = scores.quantile(torch.tensor([0.025, 0.975], dtype=torch.float64))
    results = {
        "precision": share(hits, mine),
        "recall": share(hits, theirs),
        "f1": share(2 * hits, mine + theirs),
        "count": ((counts[:, 0] == counts[:, 1]) & (counts[:, 1] == counts[:, 2])).double().mean(),
        "low": low,
        "high": high,
    }
    return {name: value.item() for name, value in results.items()}


# %% right="nested lists"
import torch


def evaluate(found, true, draws=200, seed=0):
    def iou(a, b):
        w = max(0.0, min(a[2], b[2]) - max(a[0], b[0]))
        h = max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
        both = w * h
        return both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both)

    hits = []
    for f, t in zip(found, true):
        left = t.tolist()
        n = 0
        for c, k, *box in sorted(f.tolist(), key=lambda row: row[0], reverse=True):
            fits = [(iou(box, other[1:]), i) for i, other in enumerate(left) if other[0] == k]
            if fits and max(fits)[0] >= 0.5:
                left.pop(max(fits)[1])
                n += 1
        hits.append((n, len(f), len(t)))

    def ratio(a, b):
        return a / b if b else 1.0

    def f1(rows):
        a, b, c = map(sum, zip(*rows))
        return ratio(2 * a, b + c)

    g = torch.Generator().manual_seed(seed)
    rows = torch.randint(len(hits), (draws, len(hits)), generator=g).tolist()
    scores = torch.tensor([f1([hits[i] for i in row]) for row in rows], dtype=torch.float64)
    a, b, c = map(sum, zip(*hits))
    return {
        "precision": float(ratio(a, b)),
        "recall": float(ratio(a, c)),
        "f1": float(f1(hits)),
        "count": sum(y == z for _, y, z in hits) / len(hits),
        "low": scores.quantile(0.025).item(),
        "high": scores.quantile(0.975).item(),
    }


# %% wrong="the seed is ignored" says=["these are the numbers of seed 0"]
import torch
from torchvision.ops import box_iou


def evaluate(
    found: list[torch.Tensor], true: list[torch.Tensor], draws: int = 200, seed: int = 0
) -> dict[str, float]:
    """Compare what was found with what is there.

    Args:
        found: for each image (k, 6): confidence, label, left, top, right, bottom.
        true: for each image (m, 5): label, left, top, right, bottom.
        draws: how often the images are drawn anew for the interval.
        seed: of the generator that draws them.

    Returns:
        ``precision``, ``recall``, ``f1``, ``count``, and ``low`` and ``high`` of f1's interval.
    """
    rows = []  # for each image: hits, found, true
    for mine, theirs in zip(found, true, strict=True):
        free, hits = torch.ones(len(theirs), dtype=torch.bool), 0
        for box in mine[mine[:, 0].argsort(descending=True, stable=True)]:
            overlap = box_iou(box[None, 2:].double(), theirs[:, 1:].double())[0]
            overlap[~free | (theirs[:, 0] != box[1])] = -1
            if len(theirs) and overlap.max() >= 0.5:
                free[overlap.argmax()] = False
                hits += 1
        rows.append([hits, len(mine), len(theirs)])
    counts = torch.tensor(rows, dtype=torch.float64)  # (images, 3)

    def share(part: torch.Tensor, whole: torch.Tensor) -> torch.Tensor:
        return torch.where(whole > 0, part / whole, 1.0)

    hits, mine, theirs = counts.sum(0)
    generator = torch.Generator().manual_seed(0)
    drawn = torch.randint(len(rows), (draws, len(rows)), generator=generator)
    sums = counts[drawn].sum(1)  # (draws, 3)
    scores = share(2 * sums[:, 0], sums[:, 1] + sums[:, 2])
    low, high = scores.quantile(torch.tensor([0.025, 0.975], dtype=torch.float64))
    results = {
        "precision": share(hits, mine),
        "recall": share(hits, theirs),
        "f1": share(2 * hits, mine + theirs),
        "count": (counts[:, 1] == counts[:, 2]).double().mean(),
        "low": low,
        "high": high,
    }
    return {name: value.item() for name, value in results.items()}


# %% wrong="draws is ignored" says=["these are the numbers of 200 drawn sets"]
import torch
from torchvision.ops import box_iou


def evaluate(
    found: list[torch.Tensor], true: list[torch.Tensor], draws: int = 200, seed: int = 0
) -> dict[str, float]:
    """Compare what was found with what is there.

    Args:
        found: for each image (k, 6): confidence, label, left, top, right, bottom.
        true: for each image (m, 5): label, left, top, right, bottom.
        draws: how often the images are drawn anew for the interval.
        seed: of the generator that draws them.

    Returns:
        ``precision``, ``recall``, ``f1``, ``count``, and ``low`` and ``high`` of f1's interval.
    """
    rows = []  # for each image: hits, found, true
    for mine, theirs in zip(found, true, strict=True):
        free, hits = torch.ones(len(theirs), dtype=torch.bool), 0
        for box in mine[mine[:, 0].argsort(descending=True, stable=True)]:
            overlap = box_iou(box[None, 2:].double(), theirs[:, 1:].double())[0]
            overlap[~free | (theirs[:, 0] != box[1])] = -1
            if len(theirs) and overlap.max() >= 0.5:
                free[overlap.argmax()] = False
                hits += 1
        rows.append([hits, len(mine), len(theirs)])
    counts = torch.tensor(rows, dtype=torch.float64)  # (images, 3)

    def share(part: torch.Tensor, whole: torch.Tensor) -> torch.Tensor:
        return torch.where(whole > 0, part / whole, 1.0)

    hits, mine, theirs = counts.sum(0)
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(len(rows), (200, len(rows)), generator=generator)
    sums = counts[drawn].sum(1)  # (draws, 3)
    scores = share(2 * sums[:, 0], sums[:, 1] + sums[:, 2])
    low, high = scores.quantile(torch.tensor([0.025, 0.975], dtype=torch.float64))
    results = {
        "precision": share(hits, mine),
        "recall": share(hits, theirs),
        "f1": share(2 * hits, mine + theirs),
        "count": (counts[:, 1] == counts[:, 2]).double().mean(),
        "low": low,
        "high": high,
    }
    return {name: value.item() for name, value in results.items()}


# %% wrong="transposed" says=["row i is set i"]
import torch
from torchvision.ops import box_iou


def evaluate(
    found: list[torch.Tensor], true: list[torch.Tensor], draws: int = 200, seed: int = 0
) -> dict[str, float]:
    """Compare what was found with what is there.

    Args:
        found: for each image (k, 6): confidence, label, left, top, right, bottom.
        true: for each image (m, 5): label, left, top, right, bottom.
        draws: how often the images are drawn anew for the interval.
        seed: of the generator that draws them.

    Returns:
        ``precision``, ``recall``, ``f1``, ``count``, and ``low`` and ``high`` of f1's interval.
    """
    rows = []  # for each image: hits, found, true
    for mine, theirs in zip(found, true, strict=True):
        free, hits = torch.ones(len(theirs), dtype=torch.bool), 0
        for box in mine[mine[:, 0].argsort(descending=True, stable=True)]:
            overlap = box_iou(box[None, 2:].double(), theirs[:, 1:].double())[0]
            overlap[~free | (theirs[:, 0] != box[1])] = -1
            if len(theirs) and overlap.max() >= 0.5:
                free[overlap.argmax()] = False
                hits += 1
        rows.append([hits, len(mine), len(theirs)])
    counts = torch.tensor(rows, dtype=torch.float64)  # (images, 3)

    def share(part: torch.Tensor, whole: torch.Tensor) -> torch.Tensor:
        return torch.where(whole > 0, part / whole, 1.0)

    hits, mine, theirs = counts.sum(0)
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(len(rows), (len(rows), draws), generator=generator)
    sums = counts[drawn].sum(0)  # (draws, 3)
    scores = share(2 * sums[:, 0], sums[:, 1] + sums[:, 2])
    low, high = scores.quantile(torch.tensor([0.025, 0.975], dtype=torch.float64))
    results = {
        "precision": share(hits, mine),
        "recall": share(hits, theirs),
        "f1": share(2 * hits, mine + theirs),
        "count": (counts[:, 1] == counts[:, 2]).double().mean(),
        "low": low,
        "high": high,
    }
    return {name: value.item() for name, value in results.items()}


# %% wrong="min max" says=["the smallest and the largest f1"]
import torch
from torchvision.ops import box_iou


def evaluate(
    found: list[torch.Tensor], true: list[torch.Tensor], draws: int = 200, seed: int = 0
) -> dict[str, float]:
    """Compare what was found with what is there.

    Args:
        found: for each image (k, 6): confidence, label, left, top, right, bottom.
        true: for each image (m, 5): label, left, top, right, bottom.
        draws: how often the images are drawn anew for the interval.
        seed: of the generator that draws them.

    Returns:
        ``precision``, ``recall``, ``f1``, ``count``, and ``low`` and ``high`` of f1's interval.
    """
    rows = []  # for each image: hits, found, true
    for mine, theirs in zip(found, true, strict=True):
        free, hits = torch.ones(len(theirs), dtype=torch.bool), 0
        for box in mine[mine[:, 0].argsort(descending=True, stable=True)]:
            overlap = box_iou(box[None, 2:].double(), theirs[:, 1:].double())[0]
            overlap[~free | (theirs[:, 0] != box[1])] = -1
            if len(theirs) and overlap.max() >= 0.5:
                free[overlap.argmax()] = False
                hits += 1
        rows.append([hits, len(mine), len(theirs)])
    counts = torch.tensor(rows, dtype=torch.float64)  # (images, 3)

    def share(part: torch.Tensor, whole: torch.Tensor) -> torch.Tensor:
        return torch.where(whole > 0, part / whole, 1.0)

    hits, mine, theirs = counts.sum(0)
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(len(rows), (draws, len(rows)), generator=generator)
    sums = counts[drawn].sum(1)  # (draws, 3)
    scores = share(2 * sums[:, 0], sums[:, 1] + sums[:, 2])
    low, high = scores.quantile(torch.tensor([0.0, 1.0], dtype=torch.float64))
    results = {
        "precision": share(hits, mine),
        "recall": share(hits, theirs),
        "f1": share(2 * hits, mine + theirs),
        "count": (counts[:, 1] == counts[:, 2]).double().mean(),
        "low": low,
        "high": high,
    }
    return {name: value.item() for name, value in results.items()}


# %% wrong="sorted entries" says=["entries of the sorted f1"]
import torch
from torchvision.ops import box_iou


def evaluate(
    found: list[torch.Tensor], true: list[torch.Tensor], draws: int = 200, seed: int = 0
) -> dict[str, float]:
    """Compare what was found with what is there.

    Args:
        found: for each image (k, 6): confidence, label, left, top, right, bottom.
        true: for each image (m, 5): label, left, top, right, bottom.
        draws: how often the images are drawn anew for the interval.
        seed: of the generator that draws them.

    Returns:
        ``precision``, ``recall``, ``f1``, ``count``, and ``low`` and ``high`` of f1's interval.
    """
    rows = []  # for each image: hits, found, true
    for mine, theirs in zip(found, true, strict=True):
        free, hits = torch.ones(len(theirs), dtype=torch.bool), 0
        for box in mine[mine[:, 0].argsort(descending=True, stable=True)]:
            overlap = box_iou(box[None, 2:].double(), theirs[:, 1:].double())[0]
            overlap[~free | (theirs[:, 0] != box[1])] = -1
            if len(theirs) and overlap.max() >= 0.5:
                free[overlap.argmax()] = False
                hits += 1
        rows.append([hits, len(mine), len(theirs)])
    counts = torch.tensor(rows, dtype=torch.float64)  # (images, 3)

    def share(part: torch.Tensor, whole: torch.Tensor) -> torch.Tensor:
        return torch.where(whole > 0, part / whole, 1.0)

    hits, mine, theirs = counts.sum(0)
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(len(rows), (draws, len(rows)), generator=generator)
    sums = counts[drawn].sum(1)  # (draws, 3)
    scores = share(2 * sums[:, 0], sums[:, 1] + sums[:, 2])
    low, high = scores.sort().values[[int(0.025 * draws), int(0.975 * draws)]]
    results = {
        "precision": share(hits, mine),
        "recall": share(hits, theirs),
        "f1": share(2 * hits, mine + theirs),
        "count": (counts[:, 1] == counts[:, 2]).double().mean(),
        "low": low,
        "high": high,
    }
    return {name: value.item() for name, value in results.items()}


# %% wrong="count over all photographs together" breaks="the share of photographs with as many found boxes as true ones" says=["count is the share of photographs"]
import torch
from torchvision.ops import box_iou


def evaluate(found, true, draws=200, seed=0):
    rows = []
    for f, t in zip(found, true, strict=True):
        free = torch.ones(len(t), dtype=torch.bool)
        hits = 0
        for n in f[:, 0].argsort(descending=True, stable=True).tolist():
            if not len(t):
                break
            overlap = box_iou(f[n : n + 1, 2:], t[:, 1:])[0]
            overlap = torch.where(free & (t[:, 0] == f[n, 1]), overlap, -1.0)
            best = overlap.argmax()
            if overlap[best] >= 0.5:
                free[best] = False
                hits += 1
        rows.append([hits, len(f), len(t)])
    counts = torch.tensor(rows, dtype=torch.float64)

    def share(a, b):
        return torch.where(b == 0, 1.0, a / b)

    hits, some, all_ = counts.sum(0)
    g = torch.Generator().manual_seed(seed)
    n = len(found)
    sums = counts[torch.randint(n, (draws, n), generator=g)].sum(1)
    scores = share(2 * sums[:, 0], sums[:, 1] + sums[:, 2])
    low, high = torch.quantile(scores, torch.tensor([0.025, 0.975], dtype=torch.float64)).tolist()
    return {
        "precision": share(hits, some).item(),
        "recall": share(hits, all_).item(),
        "f1": share(2 * hits, some + all_).item(),
        "count": float(some == all_),
        "low": low,
        "high": high,
    }


# %% wrong="the pair with the largest overlap first" breaks="in order of falling confidence" says=["though the other overlaps it more"]
import torch
from torchvision.ops import box_iou


def hits_of(f, t):
    free = [True] * len(t)
    hits = 0
    overlaps = box_iou(f[:, 2:], t[:, 1:]).tolist()
    for i in sorted(range(len(f)), key=lambda k: -max(overlaps[k], default=0)):
        best, most = -1, -1.0
        for j in range(len(t)):
            if free[j] and t[j, 0] == f[i, 1] and overlaps[i][j] > most:
                best, most = j, overlaps[i][j]
        if best >= 0 and most >= 0.5:
            free[best] = False
            hits += 1
    return hits


def share(a, b):
    return a / b if b else 1.0


def evaluate(found, true, draws=200, seed=0):
    rows = torch.tensor(
        [[hits_of(f, t), len(f), len(t)] for f, t in zip(found, true)], dtype=torch.float64
    )
    hits, many, there = rows.sum(0).tolist()
    n = len(rows)
    g = torch.Generator().manual_seed(seed)
    drawn = torch.randint(n, (draws, n), generator=g)
    sums = rows[drawn].sum(1)
    below = sums[:, 1] + sums[:, 2]
    f1s = torch.where(below > 0, 2 * sums[:, 0] / below.clamp(min=1), 1.0)
    low, high = f1s.quantile(torch.tensor([0.025, 0.975], dtype=torch.float64)).tolist()
    count = (rows[:, 1] == rows[:, 2]).double().mean().item()
    return {
        "precision": share(hits, many),
        "recall": share(hits, there),
        "f1": share(2 * hits, many + there),
        "count": count,
        "low": low,
        "high": high,
    }


# %% wrong="overlaps in half precision" breaks="if that is at least 0.5" says=["intersection over union is 0.49998"]
import torch
from torchvision.ops import box_iou


def evaluate(found, true, draws=200, seed=0):
    rows = []
    for boxes, goal in zip(found, true):
        free = [True] * len(goal)
        hits = 0
        for n in boxes[:, 0].argsort(descending=True, stable=True).tolist():
            best, place = 0.5, None
            for m in range(len(goal)):
                if free[m] and goal[m, 0] == boxes[n, 1]:
                    overlap = box_iou(
                        boxes[n : n + 1, 2:].half().float(), goal[m : m + 1, 1:].double()
                    ).item()
                    if overlap > best or (overlap == best and place is None):
                        best, place = overlap, m
            if place is not None:
                free[place] = False
                hits += 1
        rows.append([hits, len(boxes), len(goal)])
    counts = torch.tensor(rows, dtype=torch.float64)

    def ratio(a, b):
        return torch.where(b == 0, 1.0, a / b)

    hits, k, m = counts.sum(0)
    n = len(rows)
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(n, (draws, n), generator=generator)
    sums = counts[drawn].sum(1)
    scores = ratio(2 * sums[:, 0], sums[:, 1] + sums[:, 2])
    low, high = scores.quantile(torch.tensor([0.025, 0.975], dtype=torch.float64)).tolist()
    return {
        "precision": ratio(hits, k).item(),
        "recall": ratio(hits, m).item(),
        "f1": ratio(2 * hits, k + m).item(),
        "count": (counts[:, 1] == counts[:, 2]).double().mean().item(),
        "low": low,
        "high": high,
    }


# %% wrong="boxes of little confidence are left out" says=["evaluate leaves none out"]
import torch
from torchvision.ops import box_iou


def evaluate(found, true, draws=200, seed=0):
    rows = []
    for boxes, goal in zip(found, true):
        free = [True] * len(goal)
        hits = 0
        for n in boxes[:, 0].argsort(descending=True, stable=True).tolist():
            best, place = 0.5, None
            for m in range(len(goal)):
                if free[m] and goal[m, 0] == boxes[n, 1]:
                    overlap = box_iou(
                        boxes[n : n + 1, 2:].double(), goal[m : m + 1, 1:].double()
                    ).item()
                    if overlap > best or (overlap == best and place is None):
                        best, place = overlap, m
            if place is not None:
                free[place] = False
                hits += 1
        rows.append([hits, int((boxes[:, 0] >= 0.5).sum()), len(goal)])
    counts = torch.tensor(rows, dtype=torch.float64)

    def ratio(a, b):
        return torch.where(b == 0, 1.0, a / b)

    hits, k, m = counts.sum(0)
    n = len(rows)
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(n, (draws, n), generator=generator)
    sums = counts[drawn].sum(1)
    scores = ratio(2 * sums[:, 0], sums[:, 1] + sums[:, 2])
    low, high = scores.quantile(torch.tensor([0.025, 0.975], dtype=torch.float64)).tolist()
    return {
        "precision": ratio(hits, k).item(),
        "recall": ratio(hits, m).item(),
        "f1": ratio(2 * hits, k + m).item(),
        "count": (counts[:, 1] == counts[:, 2]).double().mean().item(),
        "low": low,
        "high": high,
    }


# %% wrong="confidences are rounded to hundredths" says=["0.901 and 0.902"]
import torch
from torchvision.ops import box_iou


def evaluate(found, true, draws=200, seed=0):
    rows = []
    for boxes, goal in zip(found, true):
        free = [True] * len(goal)
        hits = 0
        for n in boxes[:, 0].round(decimals=2).argsort(descending=True, stable=True).tolist():
            best, place = 0.5, None
            for m in range(len(goal)):
                if free[m] and goal[m, 0] == boxes[n, 1]:
                    overlap = box_iou(
                        boxes[n : n + 1, 2:].double(), goal[m : m + 1, 1:].double()
                    ).item()
                    if overlap > best or (overlap == best and place is None):
                        best, place = overlap, m
            if place is not None:
                free[place] = False
                hits += 1
        rows.append([hits, len(boxes), len(goal)])
    counts = torch.tensor(rows, dtype=torch.float64)

    def ratio(a, b):
        return torch.where(b == 0, 1.0, a / b)

    hits, k, m = counts.sum(0)
    n = len(rows)
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(n, (draws, n), generator=generator)
    sums = counts[drawn].sum(1)
    scores = ratio(2 * sums[:, 0], sums[:, 1] + sums[:, 2])
    low, high = scores.quantile(torch.tensor([0.025, 0.975], dtype=torch.float64)).tolist()
    return {
        "precision": ratio(hits, k).item(),
        "recall": ratio(hits, m).item(),
        "f1": ratio(2 * hits, k + m).item(),
        "count": (counts[:, 1] == counts[:, 2]).double().mean().item(),
        "low": low,
        "high": high,
    }


# %% wrong="labels as yes or no" says=["the box is right and the class wrong"]
import torch
from torchvision.ops import box_iou


def evaluate(found, true, draws=200, seed=0):
    rows = []
    for boxes, goal in zip(found, true):
        free = [True] * len(goal)
        hits = 0
        for n in boxes[:, 0].argsort(descending=True, stable=True).tolist():
            best, place = 0.5, None
            for m in range(len(goal)):
                if free[m] and bool(goal[m, 0]) == bool(boxes[n, 1]):
                    overlap = box_iou(
                        boxes[n : n + 1, 2:].double(), goal[m : m + 1, 1:].double()
                    ).item()
                    if overlap > best or (overlap == best and place is None):
                        best, place = overlap, m
            if place is not None:
                free[place] = False
                hits += 1
        rows.append([hits, len(boxes), len(goal)])
    counts = torch.tensor(rows, dtype=torch.float64)

    def ratio(a, b):
        return torch.where(b == 0, 1.0, a / b)

    hits, k, m = counts.sum(0)
    n = len(rows)
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(n, (draws, n), generator=generator)
    sums = counts[drawn].sum(1)
    scores = ratio(2 * sums[:, 0], sums[:, 1] + sums[:, 2])
    low, high = scores.quantile(torch.tensor([0.025, 0.975], dtype=torch.float64)).tolist()
    return {
        "precision": ratio(hits, k).item(),
        "recall": ratio(hits, m).item(),
        "f1": ratio(2 * hits, k + m).item(),
        "count": (counts[:, 1] == counts[:, 2]).double().mean().item(),
        "low": low,
        "high": high,
    }


# %% right="by a matrix of overlaps"
import torch
from torchvision.ops import box_iou


def count(boxes, goal):
    hits = 0
    if len(boxes) and len(goal):
        overlap = box_iou(boxes[:, 2:].float(), goal[:, 1:].float())
        overlap[boxes[:, 1, None] != goal[None, :, 0]] = -1
        for n in sorted(range(len(boxes)), key=lambda n: -boxes[n, 0].item()):
            value, place = overlap[n].max(0)
            if value >= 0.5:
                overlap[:, place] = -1
                hits += 1
    return hits, len(boxes), len(goal)


def evaluate(found, true, draws=200, seed=0):
    counts = torch.tensor([count(b, g) for b, g in zip(found, true, strict=True)])

    def share(part, whole):
        return float(part) / float(whole) if whole else 1.0

    hits, k, m = counts.sum(0).tolist()
    g = torch.Generator().manual_seed(seed)
    picked = torch.randint(len(counts), (draws, len(counts)), generator=g)
    f1 = [share(2 * h, a + b) for h, a, b in counts[picked].sum(1).tolist()]
    edges = torch.quantile(torch.tensor(f1), torch.tensor([0.025, 0.975]))
    same = sum(a == b for _, a, b in counts.tolist()) / len(counts)
    return dict(
        precision=share(hits, k),
        recall=share(hits, m),
        f1=share(2 * hits, k + m),
        count=same,
        low=float(edges[0]),
        high=float(edges[1]),
    )


# %% wrong="boxes are cut at 1" says=["don't cut them at 1"]
import torch
from torchvision.ops import box_iou


def evaluate(found, true, draws=200, seed=0):
    rows = []
    for boxes, goal in zip(found, true):
        free = [True] * len(goal)
        hits = 0
        for n in boxes[:, 0].argsort(descending=True, stable=True).tolist():
            best, place = 0.5, None
            for m in range(len(goal)):
                if free[m] and goal[m, 0] == boxes[n, 1]:
                    overlap = box_iou(
                        boxes[n : n + 1, 2:].double().clamp(0, 1),
                        goal[m : m + 1, 1:].double().clamp(0, 1),
                    ).item()
                    if overlap > best or (overlap == best and place is None):
                        best, place = overlap, m
            if place is not None:
                free[place] = False
                hits += 1
        rows.append([hits, len(boxes), len(goal)])
    counts = torch.tensor(rows, dtype=torch.float64)

    def ratio(a, b):
        return torch.where(b == 0, 1.0, a / b)

    hits, k, m = counts.sum(0)
    n = len(rows)
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(n, (draws, n), generator=generator)
    sums = counts[drawn].sum(1)
    scores = ratio(2 * sums[:, 0], sums[:, 1] + sums[:, 2])
    low, high = scores.quantile(torch.tensor([0.025, 0.975], dtype=torch.float64)).tolist()
    return {
        "precision": ratio(hits, k).item(),
        "recall": ratio(hits, m).item(),
        "f1": ratio(2 * hits, k + m).item(),
        "count": (counts[:, 1] == counts[:, 2]).double().mean().item(),
        "low": low,
        "high": high,
    }


# %% wrong="three labels alone" says=["label 7 is a label"]
import torch
from torchvision.ops import box_iou


def evaluate(found, true, draws=200, seed=0):
    rows = []
    for boxes, goal in zip(found, true):
        free = [True] * len(goal)
        hits = 0
        for n in boxes[:, 0].argsort(descending=True, stable=True).tolist():
            best, place = 0.5, None
            for m in range(len(goal)):
                if free[m] and goal[m, 0] < 3 and goal[m, 0] == boxes[n, 1]:
                    overlap = box_iou(
                        boxes[n : n + 1, 2:].double(), goal[m : m + 1, 1:].double()
                    ).item()
                    if overlap > best or (overlap == best and place is None):
                        best, place = overlap, m
            if place is not None:
                free[place] = False
                hits += 1
        rows.append([hits, len(boxes), len(goal)])
    counts = torch.tensor(rows, dtype=torch.float64)

    def ratio(a, b):
        return torch.where(b == 0, 1.0, a / b)

    hits, k, m = counts.sum(0)
    n = len(rows)
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(n, (draws, n), generator=generator)
    sums = counts[drawn].sum(1)
    scores = ratio(2 * sums[:, 0], sums[:, 1] + sums[:, 2])
    low, high = scores.quantile(torch.tensor([0.025, 0.975], dtype=torch.float64)).tolist()
    return {
        "precision": ratio(hits, k).item(),
        "recall": ratio(hits, m).item(),
        "f1": ratio(2 * hits, k + m).item(),
        "count": (counts[:, 1] == counts[:, 2]).double().mean().item(),
        "low": low,
        "high": high,
    }


# %% wrong="three boxes a photograph" says=["20 found boxes in an image"]
import torch
from torchvision.ops import box_iou


def evaluate(found, true, draws=200, seed=0):
    rows = []
    for boxes, goal in zip(found, true):
        free = [True] * len(goal)
        hits = 0
        for n in boxes[:, 0].argsort(descending=True, stable=True).tolist()[:3]:
            best, place = 0.5, None
            for m in range(len(goal)):
                if free[m] and goal[m, 0] == boxes[n, 1]:
                    overlap = box_iou(
                        boxes[n : n + 1, 2:].double(), goal[m : m + 1, 1:].double()
                    ).item()
                    if overlap > best or (overlap == best and place is None):
                        best, place = overlap, m
            if place is not None:
                free[place] = False
                hits += 1
        rows.append([hits, len(boxes), len(goal)])
    counts = torch.tensor(rows, dtype=torch.float64)

    def ratio(a, b):
        return torch.where(b == 0, 1.0, a / b)

    hits, k, m = counts.sum(0)
    n = len(rows)
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(n, (draws, n), generator=generator)
    sums = counts[drawn].sum(1)
    scores = ratio(2 * sums[:, 0], sums[:, 1] + sums[:, 2])
    low, high = scores.quantile(torch.tensor([0.025, 0.975], dtype=torch.float64)).tolist()
    return {
        "precision": ratio(hits, k).item(),
        "recall": ratio(hits, m).item(),
        "f1": ratio(2 * hits, k + m).item(),
        "count": (counts[:, 1] == counts[:, 2]).double().mean().item(),
        "low": low,
        "high": high,
    }


# %% wrong="taken even if it is too small" says=["it is free for the next box"]
import torch
from torchvision.ops import box_iou


def ratio(a, b):
    return torch.where(b > 0, a / b.clamp(min=1), torch.ones_like(a))


def evaluate(found, true, draws=200, seed=0):
    rows = []
    for f, t in zip(found, true, strict=True):
        free = torch.ones(len(t), dtype=torch.bool)
        hits = 0
        for row in f[f[:, 0].argsort(descending=True, stable=True)]:
            over = box_iou(row[None, 2:], t[:, 1:])[0]
            over = over.masked_fill(~free | (t[:, 0] != row[1]), -1.0)
            if len(t) and over.max() > 0:
                free[over.argmax()] = False
                hits += int(over.max() >= 0.5)
        rows.append((hits, len(f), len(t)))
    counts = torch.tensor(rows, dtype=torch.float64)
    g = torch.Generator().manual_seed(seed)
    drawn = torch.randint(len(counts), (draws, len(counts)), generator=g)
    hits, k, m = counts.sum(0)
    sets = counts[drawn].sum(1)
    f1 = ratio(2 * sets[:, 0], sets[:, 1] + sets[:, 2])
    ends = torch.tensor([0.025, 0.975], dtype=torch.float64)
    low, high = f1.quantile(ends).tolist()
    return {
        "precision": ratio(hits, k).item(),
        "recall": ratio(hits, m).item(),
        "f1": ratio(2 * hits, k + m).item(),
        "count": (counts[:, 1] == counts[:, 2]).double().mean().item(),
        "low": low,
        "high": high,
    }


# %% wrong="empty photographs are left out" says=["are images as well"]
import torch
from torchvision.ops import box_iou


def ratio(a, b):
    return torch.where(b > 0, a / b.clamp(min=1), torch.ones_like(a))


def evaluate(found, true, draws=200, seed=0):
    rows = []
    for f, t in zip(found, true, strict=True):
        if not len(f) and not len(t) and any(len(o) for o in [*found, *true]):
            continue
        free = torch.ones(len(t), dtype=torch.bool)
        hits = 0
        for row in f[f[:, 0].argsort(descending=True, stable=True)]:
            over = box_iou(row[None, 2:], t[:, 1:])[0]
            over = over.masked_fill(~free | (t[:, 0] != row[1]), -1.0)
            if len(t) and over.max() >= 0.5:
                free[over.argmax()] = False
                hits += 1
        rows.append((hits, len(f), len(t)))
    counts = torch.tensor(rows, dtype=torch.float64)
    g = torch.Generator().manual_seed(seed)
    drawn = torch.randint(len(counts), (draws, len(counts)), generator=g)
    hits, k, m = counts.sum(0)
    sets = counts[drawn].sum(1)
    f1 = ratio(2 * sets[:, 0], sets[:, 1] + sets[:, 2])
    ends = torch.tensor([0.025, 0.975], dtype=torch.float64)
    low, high = f1.quantile(ends).tolist()
    return {
        "precision": ratio(hits, k).item(),
        "recall": ratio(hits, m).item(),
        "f1": ratio(2 * hits, k + m).item(),
        "count": (counts[:, 1] == counts[:, 2]).double().mean().item(),
        "low": low,
        "high": high,
    }


# %% wrong="equal counts to within one" says=["two boxes were found and three are there"]
import torch
from torchvision.ops import box_iou


def ratio(a, b):
    return torch.where(b > 0, a / b.clamp(min=1), torch.ones_like(a))


def evaluate(found, true, draws=200, seed=0):
    rows = []
    for f, t in zip(found, true, strict=True):
        free = torch.ones(len(t), dtype=torch.bool)
        hits = 0
        for row in f[f[:, 0].argsort(descending=True, stable=True)]:
            over = box_iou(row[None, 2:], t[:, 1:])[0]
            over = over.masked_fill(~free | (t[:, 0] != row[1]), -1.0)
            if len(t) and over.max() >= 0.5:
                free[over.argmax()] = False
                hits += 1
        rows.append((hits, len(f), len(t)))
    counts = torch.tensor(rows, dtype=torch.float64)
    g = torch.Generator().manual_seed(seed)
    drawn = torch.randint(len(counts), (draws, len(counts)), generator=g)
    hits, k, m = counts.sum(0)
    sets = counts[drawn].sum(1)
    f1 = ratio(2 * sets[:, 0], sets[:, 1] + sets[:, 2])
    ends = torch.tensor([0.025, 0.975], dtype=torch.float64)
    low, high = f1.quantile(ends).tolist()
    return {
        "precision": ratio(hits, k).item(),
        "recall": ratio(hits, m).item(),
        "f1": ratio(2 * hits, k + m).item(),
        "count": ((counts[:, 1] - counts[:, 2]).abs() <= (counts[:, 2] > 2)).double().mean().item(),
        "low": low,
        "high": high,
    }


# %% wrong="labels cut to three" says=["the box is right and the class wrong"]
import torch
from torchvision.ops import box_iou


def ratio(a, b):
    return torch.where(b > 0, a / b.clamp(min=1), torch.ones_like(a))


def evaluate(found, true, draws=200, seed=0):
    rows = []
    for f, t in zip(found, true, strict=True):
        free = torch.ones(len(t), dtype=torch.bool)
        hits = 0
        for row in f[f[:, 0].argsort(descending=True, stable=True)]:
            over = box_iou(row[None, 2:], t[:, 1:])[0]
            over = over.masked_fill(~free | (t[:, 0].clamp(max=2) != row[1].clamp(max=2)), -1.0)
            if len(t) and over.max() >= 0.5:
                free[over.argmax()] = False
                hits += 1
        rows.append((hits, len(f), len(t)))
    counts = torch.tensor(rows, dtype=torch.float64)
    g = torch.Generator().manual_seed(seed)
    drawn = torch.randint(len(counts), (draws, len(counts)), generator=g)
    hits, k, m = counts.sum(0)
    sets = counts[drawn].sum(1)
    f1 = ratio(2 * sets[:, 0], sets[:, 1] + sets[:, 2])
    ends = torch.tensor([0.025, 0.975], dtype=torch.float64)
    low, high = f1.quantile(ends).tolist()
    return {
        "precision": ratio(hits, k).item(),
        "recall": ratio(hits, m).item(),
        "f1": ratio(2 * hits, k + m).item(),
        "count": (counts[:, 1] == counts[:, 2]).double().mean().item(),
        "low": low,
        "high": high,
    }


# %% wrong="spread instead of quantiles for few sets" says=["of a single drawn set"]
import torch
from torchvision.ops import box_iou


def ratio(a, b):
    return torch.where(b > 0, a / b.clamp(min=1), torch.ones_like(a))


def evaluate(found, true, draws=200, seed=0):
    rows = []
    for f, t in zip(found, true, strict=True):
        free = torch.ones(len(t), dtype=torch.bool)
        hits = 0
        for row in f[f[:, 0].argsort(descending=True, stable=True)]:
            over = box_iou(row[None, 2:], t[:, 1:])[0]
            over = over.masked_fill(~free | (t[:, 0] != row[1]), -1.0)
            if len(t) and over.max() >= 0.5:
                free[over.argmax()] = False
                hits += 1
        rows.append((hits, len(f), len(t)))
    counts = torch.tensor(rows, dtype=torch.float64)
    g = torch.Generator().manual_seed(seed)
    drawn = torch.randint(len(counts), (draws, len(counts)), generator=g)
    hits, k, m = counts.sum(0)
    sets = counts[drawn].sum(1)
    f1 = ratio(2 * sets[:, 0], sets[:, 1] + sets[:, 2])
    ends = torch.tensor([0.025, 0.975], dtype=torch.float64)
    low, high = (
        f1.quantile(ends).tolist()
        if draws > 1
        else (float(f1.mean()) - 0.1, float(f1.mean()) + 0.1)
    )
    return {
        "precision": ratio(hits, k).item(),
        "recall": ratio(hits, m).item(),
        "f1": ratio(2 * hits, k + m).item(),
        "count": (counts[:, 1] == counts[:, 2]).double().mean().item(),
        "low": low,
        "high": high,
    }


# %% wrong="sorts by float32" says=["in float64 the second box is surer"]
import torch
from torchvision.ops import box_iou


def evaluate(
    found: list[torch.Tensor], true: list[torch.Tensor], draws: int = 200, seed: int = 0
) -> dict[str, float]:
    counts = []
    for mine, theirs in zip(found, true, strict=True):
        hits = 0
        overlaps = box_iou(mine[:, 2:], theirs[:, 1:])
        overlaps[mine[:, 1, None] != theirs[None, :, 0]] = -1
        for n in mine[:, 0].float().argsort(descending=True, stable=True).tolist():
            if len(theirs) and overlaps[n].max() >= 0.5:
                overlaps[:, overlaps[n].argmax()] = -1
                hits += 1
        counts.append([hits, len(mine), len(theirs)])
    counts = torch.tensor(counts, dtype=torch.float64)

    def ratio(a, b):
        return torch.where(b > 0, a / b.clamp(min=1), 1.0)

    hits, mine, theirs = counts.sum(0)
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(len(counts), (draws, len(counts)), generator=generator)
    sums = counts[drawn].sum(1)
    scores = ratio(2 * sums[:, 0], sums[:, 1] + sums[:, 2])
    return {
        "precision": ratio(hits, mine).item(),
        "recall": ratio(hits, theirs).item(),
        "f1": ratio(2 * hits, mine + theirs).item(),
        "count": (counts[:, 1] == counts[:, 2]).double().mean().item(),
        "low": scores.quantile(0.025).item(),
        "high": scores.quantile(0.975).item(),
    }


# %% wrong="a taken shape loses its label, in float64 the caller's" says=["found and true may be float64 tensors: found or true was changed"]
import torch
from torchvision.ops import box_iou


def share(a: float, b: float) -> float:
    return a / b if b else 1.0


def evaluate(
    found: list[torch.Tensor], true: list[torch.Tensor], draws: int = 200, seed: int = 0
) -> dict[str, float]:
    rows = []
    for f, t in zip(found, true, strict=True):
        f, t = f.double(), t.double()
        hits = 0
        if len(f) and len(t):
            overlap = box_iou(f[:, 2:], t[:, 1:])
            for one in f[:, 0].argsort(descending=True, stable=True).tolist():
                fits = torch.where(t[:, 0] == f[one, 1], overlap[one], -1.0)
                best = int(fits.argmax())
                if fits[best] >= 0.5:
                    hits += 1
                    t[best, 0] = -1  # no found box has this label
        rows.append([hits, len(f), len(t)])
    counts = torch.tensor(rows, dtype=torch.float64)
    hits, k, m = counts.sum(0).tolist()
    g = torch.Generator().manual_seed(seed)
    n = len(rows)
    sums = counts[torch.randint(n, (draws, n), generator=g)].sum(1)
    both = sums[:, 1] + sums[:, 2]
    f1 = torch.where(both > 0, 2 * sums[:, 0] / both.clamp(min=1), 1.0)
    low, high = f1.quantile(torch.tensor([0.025, 0.975], dtype=f1.dtype)).tolist()
    return {
        "precision": share(hits, k),
        "recall": share(hits, m),
        "f1": share(2 * hits, k + m),
        "count": sum(a == b for _, a, b in rows) / n,
        "low": low,
        "high": high,
    }


# %% wrong="float64 tensors in the caller's lists" says=["it holds other tensors"]
import torch
from torchvision.ops import box_iou


def share(a: float, b: float) -> float:
    return a / b if b else 1.0


def evaluate(
    found: list[torch.Tensor], true: list[torch.Tensor], draws: int = 200, seed: int = 0
) -> dict[str, float]:
    rows = []
    for i in range(len(found)):
        found[i], true[i] = found[i].double(), true[i].double()
        f, t = found[i], true[i]
        hits = 0
        if len(f) and len(t):
            overlap = box_iou(f[:, 2:], t[:, 1:])
            for one in f[:, 0].argsort(descending=True, stable=True).tolist():
                fits = torch.where(t[:, 0] == f[one, 1], overlap[one], -1.0)
                best = int(fits.argmax())
                if fits[best] >= 0.5:
                    hits += 1
                    overlap[:, best] = -1
        rows.append([hits, len(f), len(t)])
    counts = torch.tensor(rows, dtype=torch.float64)
    hits, k, m = counts.sum(0).tolist()
    g = torch.Generator().manual_seed(seed)
    n = len(rows)
    sums = counts[torch.randint(n, (draws, n), generator=g)].sum(1)
    both = sums[:, 1] + sums[:, 2]
    f1 = torch.where(both > 0, 2 * sums[:, 0] / both.clamp(min=1), 1.0)
    low, high = f1.quantile(torch.tensor([0.025, 0.975], dtype=f1.dtype)).tolist()
    return {
        "precision": share(hits, k),
        "recall": share(hits, m),
        "f1": share(2 * hits, k + m),
        "count": sum(a == b for _, a, b in rows) / n,
        "low": low,
        "high": high,
    }


# %% wrong="float32 boxes, shifted by class" breaks="if that is at least 0.5" says=["a shift of each class would round its boxes"]
import torch
from torchvision.ops import box_iou


def _match(found: torch.Tensor, true: torch.Tensor) -> int:
    """Greedy matching of all classes at once: a shift by class, as in batched_nms, keeps them apart."""
    if not len(found) or not len(true):
        return 0
    order = found[:, 0].argsort(descending=True, stable=True)
    boxes, labels = found[order, 2:], found[order, 1:2]
    reach = torch.cat([boxes, true[:, 1:]])
    shift = (reach.max() - reach.min() + 1).float()
    overlap = box_iou(boxes.float() + labels * shift, true[:, 1:].float() + true[:, :1] * shift)
    hits = 0
    for row in overlap.unbind(0):
        best = row.argmax()
        if row[best] >= 0.5:
            overlap[:, best] = 0
            hits += 1
    return hits


def evaluate(
    found: list[torch.Tensor], true: list[torch.Tensor], draws: int = 200, seed: int = 0
) -> dict[str, float]:
    counts = torch.tensor(
        [[_match(f, t), len(f), len(t)] for f, t in zip(found, true, strict=True)],
        dtype=torch.float64,
    )

    def f1_of(sums: torch.Tensor) -> torch.Tensor:
        return (2 * sums[..., 0] / (sums[..., 1] + sums[..., 2])).nan_to_num(1.0)

    total = counts.sum(0)
    generator = torch.Generator().manual_seed(seed)
    chosen = torch.randint(len(counts), (draws, len(counts)), generator=generator)
    drawn = f1_of(counts[chosen].sum(1))
    return {
        "precision": (total[0] / total[1]).nan_to_num(1.0).item(),
        "recall": (total[0] / total[2]).nan_to_num(1.0).item(),
        "f1": f1_of(total).item(),
        "count": (counts[:, 1] == counts[:, 2]).double().mean().item(),
        "low": drawn.quantile(0.025).item(),
        "high": drawn.quantile(0.975).item(),
    }


# %% right="shifted by class, in float64"
import torch
from torchvision.ops import box_iou


def _match(found: torch.Tensor, true: torch.Tensor) -> int:
    """Greedy matching of all classes at once: a shift by class, as in batched_nms, keeps them apart."""
    if not len(found) or not len(true):
        return 0
    order = found[:, 0].argsort(descending=True, stable=True)
    boxes, labels = found[order, 2:], found[order, 1:2]
    reach = torch.cat([boxes, true[:, 1:]])
    shift = (reach.max() - reach.min() + 1).float()
    overlap = box_iou(boxes.double() + labels * shift, true[:, 1:].double() + true[:, :1] * shift)
    hits = 0
    for row in overlap.unbind(0):
        best = row.argmax()
        if row[best] >= 0.5:
            overlap[:, best] = 0
            hits += 1
    return hits


def evaluate(
    found: list[torch.Tensor], true: list[torch.Tensor], draws: int = 200, seed: int = 0
) -> dict[str, float]:
    counts = torch.tensor(
        [[_match(f, t), len(f), len(t)] for f, t in zip(found, true, strict=True)],
        dtype=torch.float64,
    )

    def f1_of(sums: torch.Tensor) -> torch.Tensor:
        return (2 * sums[..., 0] / (sums[..., 1] + sums[..., 2])).nan_to_num(1.0)

    total = counts.sum(0)
    generator = torch.Generator().manual_seed(seed)
    chosen = torch.randint(len(counts), (draws, len(counts)), generator=generator)
    drawn = f1_of(counts[chosen].sum(1))
    return {
        "precision": (total[0] / total[1]).nan_to_num(1.0).item(),
        "recall": (total[0] / total[2]).nan_to_num(1.0).item(),
        "f1": f1_of(total).item(),
        "count": (counts[:, 1] == counts[:, 2]).double().mean().item(),
        "low": drawn.quantile(0.025).item(),
        "high": drawn.quantile(0.975).item(),
    }
