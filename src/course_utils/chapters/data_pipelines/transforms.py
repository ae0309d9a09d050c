"""Transforms of images with boxes."""

from __future__ import annotations

from typing import Any, cast

import torch
from torchvision import tv_tensors
from torchvision.transforms import v2

from course_utils.learner.checks import check_close, check_equal


def _plain_tensor(x) -> torch.Tensor:
    return x.as_subclass(torch.Tensor).clone() if isinstance(x, torch.Tensor) else x


def run_custom(custom_transform, p, image, mask, boxes, seed=0, composed=False) -> dict:
    """What the transform makes of these, as plain tensors, with the names of their types."""
    size = tuple(image.shape[-2:])
    sample = {
        "image": cast(Any, tv_tensors.Image)(image.clone()),
        "mask": cast(Any, tv_tensors.Mask)(mask.clone()),
    }
    sample["boxes"] = cast(Any, tv_tensors.BoundingBoxes)(
        boxes.clone(), format="XYXY", canvas_size=size
    )
    sample["label"] = 7.5
    before = dict(sample)
    torch.manual_seed(seed + 1)
    turn = custom_transform(p)
    words = "making the transform seeded PyTorch's global generator, from which others draw, too"
    assert torch.initial_seed() == seed + 1, words
    assert turn is not None, f"custom_transform({p}) is None: is there an answer yet?"
    assert callable(turn), f"custom_transform({p}) is {turn!r}, nothing that can be called"
    torch.manual_seed(seed)
    out = (v2.Compose([turn, v2.Identity()]) if composed else turn)(sample)
    assert isinstance(out, dict), f"the transform returned {type(out).__name__}, no dict"
    assert out is not sample, f"p={p}: this is the dict that came in: return a new one"
    same = list(sample) == list(before) and all(sample[key] is before[key] for key in before)
    for key, was in {"image": image, "mask": mask, "boxes": boxes}.items():
        same = same and torch.equal(_plain_tensor(before[key]), was)
    kinds = {key: type(value).__name__ for key, value in out.items()}
    canvas = getattr(out.get("boxes"), "canvas_size", None)
    form = getattr(getattr(out.get("boxes"), "format", None), "name", None)
    plain = {key: _plain_tensor(value) for key, value in out.items()}
    return {"out": plain, "kinds": kinds, "canvas": canvas and tuple(canvas), "form": form} | {
        "untouched": same
    }


def turns_to_try() -> dict[str, tuple]:
    """p, image, mask, boxes, and whether all is inside a Compose, by what is special."""
    image, mask = torch.arange(72).reshape(3, 4, 6).to(torch.uint8), torch.arange(24).reshape(4, 6)
    boxes = torch.tensor([[0, 1, 2, 4], [3, 0, 6, 1]])
    large = 2**24 + 1 + 2 * mask
    return {
        "p=1": (1.0, image, mask, boxes, False),
        "p=0": (0.0, image, mask, boxes, False),
        "floats, and no box at all": (1.0, image / 255, mask > 11, torch.zeros(0, 4), False),
        "no box at all, int64": (1.0, image, mask, boxes[:0], False),
        "boxes that end between two pixels": (1.0, image, mask, boxes / 4, False),
        "inside v2.Compose": (1.0, image, mask, boxes, True),
        "int64, beyond what float32 counts": (1.0, large[None], large, boxes, False),
        "a bfloat16 image, a dtype that NumPy lacks": (
            1.0,
            image.bfloat16(),
            mask.bfloat16(),
            boxes,
            False,
        ),
        "float64 boxes, thirds": (1.0, image, mask, boxes.double().flip(0) / 3, False),
        "an image of one row": (1.0, image[:, :1], mask[:1], boxes[1:], False),
        "a square image": (1.0, image[..., :4], mask[:, :4], boxes[:1], False),
    }


SIZES = ((4, 6), (5, 3))  # height and width of every second image


def run_often(custom_transform, p: float, count: int, seed: int) -> list:
    """One transform, called again and again: sizes of image and mask, the canvas, and the box."""
    turn, found, out = custom_transform(p), [], None
    assert callable(turn), f"custom_transform({p}) is {turn!r}: is there an answer yet?"
    torch.manual_seed(seed)
    for n in range(count):
        height, width = SIZES[n % 2]
        make: Any = tv_tensors
        sample = {
            "image": make.Image(torch.zeros(3, height, width)),
            "mask": make.Mask(torch.zeros(height, width)),
            "boxes": make.BoundingBoxes([[0, 1, 2, 4]], format="XYXY", canvas_size=(height, width)),
            "label": n,
        }
        earlier, out = out, turn(sample)
        assert out is not earlier, "two calls gave one and the same dict: return a new one each"
        words = f"the label came as the int {n} and is {out.get('label')!r}: it stays as it is"
        assert repr(out.get("label")) == repr(n), words
        sizes = [tuple(out[key].shape[-2:]) for key in ("image", "mask")]
        found.append((*sizes, tuple(out["boxes"].canvas_size), out["boxes"].tolist()[0]))
    return found


def run_default(custom_transform) -> tuple:
    """How often a transform turns that was made without ``p``, of twenty calls; and one that was
    made with ``p=1``, before another was made with ``p=0``."""

    def first_of_two(p):
        first = custom_transform(p)
        custom_transform(0.0)
        return first

    times = [
        sum(row[2] != SIZES[n % 2] for n, row in enumerate(run_often(make, 1.0, 20, 0)))
        for make in (lambda p: custom_transform(), first_of_two)
    ]
    return tuple(times)


def check_default(run):
    """Whether p is 1 where it is left out, and each transform's own."""
    left_out, first = run()
    assert left_out == 20, f"p left out: turned {left_out} times of 20: the default is p=1.0"
    words = f"turned {first} times of 20 with p=1, after another transform was made with p=0: each "
    assert first == 20, words + "keeps a p of its own, in the object"


def check_often(run, p, least, most, calls=100):
    """Whether each call tosses one coin, and the coins fall as often as they should."""
    found, turned = run(p, calls, 0), []
    for n, (*sizes, box) in enumerate(found):
        height, width = SIZES[n % 2]
        what = f"image {n}, after one of another size" if n else "image 0"
        both = {(height, width), (width, height)}
        assert sizes[2] in both, f"{what}: canvas_size is {sizes[2]}, its size is {height, width}"
        once = [size == (width, height) for size in sizes]
        assert len(set(once)) == 1, "image, mask and boxes were not turned by the same coin"
        turned += once[:1]
        right = [1, width - 2, 4, width] if once[0] else [0, 1, 2, 4]
        check_equal(box, right, f"the box of {what}")
    one = "" if 0 < sum(turned) < calls else ": is the coin tossed when the transform is made, "
    one += "or drawn from a generator that is seeded in each call?" if one else ""
    words = f"turned {sum(turned)} times of {calls}, expected about {round(calls * p)}"
    words += one if calls == 100 else ": with probability p, whatever p is"
    assert least <= sum(turned) <= most, words
    same = "the same torch.manual_seed, another coin: draw with torch.rand"
    assert run(p, calls, 0) == found, same
    assert run(p, calls, 1) != found, (
        "torch.manual_seed doesn't decide the coin: draw with torch.rand"
    )


def check_turn(found, image, mask, boxes, turned, what):
    kinds = {"image": "Image", "mask": "Mask", "boxes": "BoundingBoxes", "label": "float"}
    words = f"{what}: the label came as 7.5 and is {found['out'].get('label')!r}: it stays"
    assert found["kinds"].get("label", "float") == "float", words
    because = "wrap what you computed as its type again"
    check_equal(sorted(found["kinds"].items()), sorted(kinds.items()), f"{what}: types ({because})")
    height, width = mask.shape
    out, where, size = found["out"], f"{what}: the boxes", (height, width)
    if turned:
        flat, found_image = image.mT, out["image"]
        mirrored = found_image.shape == flat.shape and bool((found_image == flat).all())
        words = "this is the transpose, which mirrors, too: it is to be like torch.rot90"
        assert not mirrored, f"{what}: image: {words}"
        back = torch.rot90(image, -1, (-2, -1))
        clockwise = found_image.shape == back.shape and bool((found_image == back).all())
        image, mask = torch.rot90(image, 1, (-2, -1)), torch.rot90(mask, 1, (-2, -1))
        words = "this is a turn clockwise"
        assert torch.equal(image, back) or not clockwise, f"{what}: image: {words}"
        size, (left, top, right, bottom) = (width, height), boxes.unbind(-1)
        slips = {
            "left and right are swapped: order them": [top, width - left, bottom, width - right],
            "right is an edge, not a pixel: no 1 is taken off": [
                top,
                width - 1 - right,
                bottom,
                width - 1 - left,
            ],
            "this is a turn clockwise": [height - bottom, left, height - top, right],
            "it is the width that x is taken from": [top, height - right, bottom, height - left],
            "they were not turned": [left, top, right, bottom],
        }
        boxes = torch.stack([top, width - right, bottom, width - left], -1)
        for words, slip in slips.items():
            wrong = torch.equal(out["boxes"].float(), torch.stack(slip, -1).float())
            assert torch.equal(boxes, torch.stack(slip, -1)) or not wrong, f"{where}: {words}"
        if out["boxes"].shape == boxes.shape:
            edges = out["boxes"].float().reshape(-1, 2)
            inside = (edges >= 0) & (edges <= torch.tensor([height, width]))
            words = "an edge is outside of the turned image: column x becomes row W − x"
            assert bool(inside.all()), f"{where}: {words}"
    for cut in (torch.round, torch.floor, torch.ceil):
        whole = out["boxes"].shape == boxes.shape and bool((out["boxes"] == cut(boxes)).all())
        words = "they are whole numbers now: an edge may lie between two pixels"
        assert not whole or torch.equal(boxes, cut(boxes)), f"{where}: {words}"
    exact = {"rtol": 1e-12, "atol": 1e-12} if boxes.dtype == torch.float64 else {}
    for key, right in {"image": image, "mask": mask, "boxes": boxes}.items():
        digits = exact and key == "boxes" and out[key].shape == right.shape
        digits = digits and torch.equal(out[key].float(), right.float())
        why = "float32's digits: compute in the dtype of the boxes" if digits else ""
        if key == "boxes" and len(boxes) > 1 and torch.equal(out[key], right.flip(0)):
            why = "they are in another order: each box stays in its row"
        check_close(
            out[key], right, f"{what}: {key}", because=why, **(exact if key == "boxes" else {})
        )
    words = "left, top, right, bottom, as they came"
    check_equal(found["form"], "XYXY", f"{what}: the format of the boxes", words)
    check_equal(found["canvas"], size, f"{what}: canvas_size, (height, width)")
    check_equal(out["label"], 7.5, f"{what}: the label")
    assert found["untouched"], f"{what}: the dict that came in, or a tensor in it, was changed"
