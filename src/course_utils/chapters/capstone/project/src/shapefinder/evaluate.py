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
    return {name: value.item() for name, value in results.items()}
