"""Exercise 13.10: mixup and CutMix with known shares."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from course_utils.learner.cases import every_case
from course_utils.learner.checks import check_close, check_copied
from course_utils.learner.devices import device


def right_mix(x, y, classes, order, weight=1.0, box=None):
    """Images mixed pixel by pixel, their labels, and the share of the first."""
    own = torch.ones(x.shape[2:], dtype=torch.bool, device=x.device)
    for row in range(x.shape[2]):
        for column in range(x.shape[3]):
            if box and box[0] <= row < box[0] + box[2] and box[1] <= column < box[1] + box[3]:
                own[row, column] = False
    share = own.double().mean().item() if box else weight
    mixed = torch.where(own, x, x[order]) if box else weight * x + (1 - weight) * x[order]
    labels = torch.zeros(len(y), classes, device=x.device, dtype=x.dtype)
    for i in range(len(y)):
        labels[i, y[i]] += share
        labels[i, y[order[i]]] += 1 - share
    return mixed, labels, share


BOXES = [
    *((1, 2, 3, 2), (-2, 6, 4, 4), (5, -3, 9, 5), (0, 0, 8, 8)),
    *((9, 1, 3, 3), (1, 10, 3, 3), (-5, -5, 3, 3), (2, 2, 0, 4), (-5, 2, 3, 4), (2, -5, 4, 3)),
    (9, 10, 3, 3),
]

F32, F64, HALF = torch.float32, torch.float64, torch.float16
# Images, their size, classes, seed, dtype, gaps, flat, endless; and a weight or a box.
MIXED: dict[str, tuple] = {
    "the example's weight": (5, (1, 4, 4), 3, {"weight": 0.75}),
    "weight=0.0, a weight like any: ask for None": (3, (2, 3, 5), 4, {"weight": 0.0}),
    "weight=1.0": (3, (2, 3, 5), 4, {"weight": 1.0}),
    "weight=1, a whole number": (4, (2, 4, 5), 3, 1, {"weight": 1}),
    "box=(2, -1, 3, 8) of a 4 × 9 image": (4, (1, 4, 9), 3, {"box": (2, -1, 3, 8)}),
    "box=(-1, 2, 8, 3) of a 9 × 4 image": (4, (1, 9, 4), 3, {"box": (-1, 2, 8, 3)}),
    **{f"box={box} of an 8 × 8 image": (6, (2, 8, 8), 5, {"box": box}) for box in BOXES},
    "float16, not contiguous": (4, (1, 6, 8), 3, 0, HALF, True, {"box": BOXES[0]}),
    **{
        f"weight={weight}, images as they are and far brighter ones": (
            *(4, (1, 2, 3), 3, 1, F32, False, False, False, True),
            {"weight": weight},
        )
        for weight in (0.0, 1.0)
    },
    "one image, weight=0.25": (1, (1, 3, 2), 4, {"weight": 0.25}),
    "one image of one channel, a box": (1, (1, 5, 4), 3, {"box": (1, 1, 2, 2)}),
    "images of one grey, a box": (4, (3, 4, 5), 3, 1, F32, False, True, {"box": (0, 1, 2, 3)}),
    "infinite pixels, a box": (4, (2, 4, 5), 3, 1, F32, False, False, True, {"box": (1, 1, 2, 3)}),
    "bfloat16, a box": (4, (2, 4, 4), 3, 1, torch.bfloat16, {"box": (1, 1, 2, 2)}),
    "bfloat16, weight=0.3": (4, (2, 3, 4), 3, 2, torch.bfloat16, {"weight": 0.3}),
    "float16, weight=0.3": (4, (2, 3, 4), 3, 3, HALF, {"weight": 0.3}),
    "float64, not contiguous": (3, (1, 2, 3), 4, 0, F64, True, {"weight": 0.3}),
}


def make_mix(n, size, classes, seed, dtype, gaps, flat=False, endless=False, bright=False):
    """Seeded images, labels, the number of classes, and an order to mix them in.

    ``flat``: all pixels are equal, so that they don't tell what was pasted. ``endless``: the first
    row of each image is infinite. ``bright``: every other image is far brighter.
    """
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.float64 if dtype == torch.float64 else torch.float32
    x = torch.rand(n, *size, generator=generator, dtype=drawn).to(device, dtype)
    x = torch.full_like(x, 0.5) if flat else x
    x[:, :, :1] = torch.inf if endless else x[:, :, :1]
    x[::2] *= 1e8 if bright else 1
    x = x.transpose(2, 3).contiguous().transpose(2, 3) if gaps else x
    y = torch.randint(classes, (n,), generator=generator).to(device)
    return x, y, classes, torch.randperm(n, generator=generator).to(device)


def labels_of(share, y, order, right):
    hard = F.one_hot(y, right.shape[1]).to(right.dtype)
    return share * hard + (1 - share) * hard[order]


def _pasted(x, order, box, outside=False, channels=slice(None), shift=True, keep=0, **slips):
    """``x`` with what is inside ``box`` from its partners, as known slips paste it."""
    top, left, height, width = box
    bottom, right = min(top + height, x.shape[2] - keep), min(left + width, x.shape[3] - keep)
    if shift:
        top, left = max(top, 0), max(left, 0)
    here, there = (x[order], x) if outside else (x, x[order])
    mixed = here.clone()
    if slips.get("below") or (top < bottom and left < right):
        part = (slice(None), channels, slice(top, bottom), slice(left, right))
        if slips.get("in_turn"):
            for image, partner in zip(mixed, order.tolist(), strict=True):
                image[part[1:]] = mixed[partner][part[1:]]
        else:
            mixed[part] = there[part]
    return mixed


def _moved(x, box):
    top, left = (min(max(edge, 0), side) for edge, side in zip(box, x.shape[2:], strict=False))
    return top, left, *box[2:]


def _mixed(x, order, how, order_of=None, box_of=None, weight_of=None, begins="", **paste):
    """What a slip gives: its own order, box or weight, or its own way to paste."""
    order = order_of(order) if order_of else order
    if how.get("box"):
        box = box_of(x, how["box"]) if box_of else how["box"]
        return _pasted(x, order, box, **paste)
    weight = weight_of(how["weight"]) if weight_of else how["weight"]
    if begins:
        first, second = (x, x[order]) if begins == "own" else (x[order], x)
        return first + (1 - weight if begins == "own" else weight) * (second - first)
    return weight * x + (1 - weight) * x[order]


BY_DIFFERENCE = (
    "of an image with weight 1 each pixel is what it was; this is {} plus a part of a difference, "
    "in which small numbers beside large ones get lost: add up the two, each by its weight"
)
IMAGE_SLIPS = {
    "the weights are swapped: weight belongs to image i": {"weight_of": lambda w: 1 - w},
    "inside and outside are exchanged: the rectangle comes from the partner": {"outside": True},
    "box is (top, left, height, width): left was taken for top": {
        "box_of": lambda x, b: (b[1], b[0], b[3], b[2])
    },
    "box is (top, left, height, width): width was taken for height": {
        "box_of": lambda x, b: (b[0], b[1], b[3], b[2])
    },
    "the last two of box are height and width, not where it ends": {
        "box_of": lambda x, b: (b[0], b[1], b[2] - b[0], b[3] - b[1])
    },
    "a negative bound counts from the end in a slice: clamp it to 0": {"shift": False},
    "a box before the image ends below 0, which in a slice counts from the end: clamp it": {
        "below": True
    },
    "the last row or column of the image is left out": {"keep": 1},
    "a box that sticks out is cut off, not moved into the image": {"box_of": _moved},
    "all channels are pasted, not the first alone": {"channels": slice(0, 1)},
    "the partner had been pasted into already: take the rectangle from x as it came": {
        "in_turn": True
    },
    "nothing of the partner was pasted": {"box_of": lambda x, b: (0, 0, 0, 0)},
    "image i is mixed with image order[i]; this is the other way round, order.argsort()": {
        "order_of": torch.argsort
    },
    BY_DIFFERENCE.format("image i"): {"begins": "own"},
    BY_DIFFERENCE.format("the partner"): {"begins": "partner"},
    "the partner is image order[i], not a neighbour": {
        "order_of": lambda order: torch.arange(len(order), device=order.device).roll(1)
    },
    "the partner is image order[i], not the image that follows": {
        "order_of": lambda order: torch.arange(len(order), device=order.device).roll(-1)
    },
}


def image_slip_of(tried: list[dict]) -> str:
    """Words for the slip that gives the images found in every one of the cases, or ""."""
    wrong = [case for case in tried if not close(case["images"], case["mixed"])]
    for words, slip in IMAGE_SLIPS.items():
        gives = [_mixed(case["x"], case["order"], case["how"], **slip) for case in wrong]
        if wrong and all(map(close, [case["images"] for case in wrong], gives)):
            return words
    return ""


SLIPS = {
    "the weights are swapped: weight belongs to image i": lambda case: 1 - case["share"],
    "this is the planned area; count the pixels inside the image": lambda case: case["planned"],
    "image i keeps its own label, unmixed": lambda case: 1.0,
    "half and half, whatever the area; the area inside the image counts": lambda case: (
        0.5 if case["share"] < 1 else 1.0
    ),
    "this is the share of the rows alone; the area counts": lambda case: 1 - _side(case, 0),
    "this is the share of the columns alone; the area counts": lambda case: 1 - _side(case, 1),
    "a box outside the image has no area; this is a negative length times another length": (
        lambda case: 1 - _length(case, 0) * _length(case, 1)
    ),
    "the area is divided by height times height; an image has height times width pixels": (
        lambda case: 1 - (1 - case["share"]) * case["x"].shape[3] / case["x"].shape[2]
    ),
}


def _side(case: dict, side: int) -> float:
    """The part of one side that the box covers inside the image."""
    box, size = case["how"].get("box"), case["x"].shape[2 + side]
    if not box:
        return 1 - case["share"]
    return max(min(box[side] + box[side + 2], size) - max(box[side], 0), 0) / size


def _length(case: dict, side: int) -> float:
    """The same part, negative where the box is outside, as a slip has it."""
    box, size = case["how"].get("box"), case["x"].shape[2 + side]
    if not box:
        return _side(case, side) if side else 1.0
    return (min(box[side] + box[side + 2], size) - max(box[side], 0)) / size


def _overwritten(case: dict) -> torch.Tensor:
    """The labels where the partner's weight is written over the own one."""
    labels, rows = torch.zeros_like(case["soft"]), torch.arange(len(case["y"]))
    rows = rows.to(labels.device)
    labels[rows, case["y"]] = case["share"]
    labels[rows, case["y"][case["order"]]] = 1 - case["share"]
    return labels


def one_slip_of(tried: list[dict]) -> str:
    """Words for the slip that gives the labels found in every one of the cases, or ""."""
    for words, share_of in SLIPS.items():
        gives = [
            labels_of(share_of(case), case["y"], case["order"], case["soft"]) for case in tried
        ]
        if tried and all(map(close, [case["found"] for case in tried], gives)):
            return words
    turned = [
        labels_of(case["share"], case["y"], case["order"].argsort(), case["soft"]) for case in tried
    ]
    if tried and all(map(close, [case["found"] for case in tried], turned)):
        return "image i is mixed with image order[i]; this is the other way round, order.argsort()"
    if tried and all(close(case["found"], _overwritten(case)) for case in tried):
        return (
            "where both images have one class, the weights add up; one was written over the other"
        )
    return ""


LOOSE = {torch.float16: 2e-3, torch.bfloat16: 1e-2}


def close(found, right, tolerance=0.0) -> bool:
    """Whether a tensor of the right shape has these values."""
    tolerance = tolerance or LOOSE.get(right.dtype, 2e-3)
    fits = isinstance(found, torch.Tensor) and found.shape == right.shape
    return fits and torch.allclose(found.to(right.dtype), right, rtol=0, atol=tolerance)


def check_soft(soft, right, slip, loose):
    """Compare the labels; ``slip`` has words that explain all of them."""
    assert not slip or close(soft, right), f"soft: {slip}"
    table = isinstance(soft, torch.Tensor) and soft.dim() == 2 and len(soft) == len(right)
    columns = soft.shape[1] if table else right.shape[1]
    words = f"soft has {columns} columns; one for each of {right.shape[1]} classes is asked for"
    few = f"{words}: without the number of classes F.one_hot counts those that occur"
    assert columns >= right.shape[1], few
    check_close(soft, right, "soft", **loose)


def check_exact(found, right, name):
    """Float64 is exact to 16 digits; float32 in between leaves seven."""
    if right.dtype == torch.float64 and close(found, right):
        words = f"{name} is float64, but exact to seven digits alone"
        assert close(found, right, 1e-12), f"{words}: was it calculated in float32 in between?"


def check_mix(seen, slip="", image_slip=""):
    """Compare images and labels, each by itself; words that explain all that is wrong with them."""
    loose = dict.fromkeys(("rtol", "atol"), LOOSE.get(seen["mixed"].dtype, 1e-5))
    with every_case() as part:
        with part("images"):
            assert not image_slip or close(seen["images"], seen["mixed"]), f"mixed: {image_slip}"
            spoilt = isinstance(seen["images"], torch.Tensor) and seen["images"].isnan().any()
            spoilt = spoilt and seen["mixed"].isinf().any()
            words = "mixed has NaN: a mask times an infinite pixel? Paste, or choose by where"
            assert not spoilt, words
            check_close(seen["images"], seen["mixed"], "mixed", **loose)
            check_exact(seen["images"], seen["mixed"], "mixed")
            check_copied(seen["images"], seen["x"], "mixed, beside x,")
        with part("labels"):
            check_soft(seen["found"], seen["soft"], slip, loose)
            check_exact(seen["found"], seen["soft"], "soft")
