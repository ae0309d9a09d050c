"""Batches of items of unequal size."""

from __future__ import annotations

import torch
from torchvision.transforms import v2

from course_utils.learner.changes import forbid_changes, same_values
from course_utils.learner.checks import check_close
from course_utils.learner.other_states import check_states
from course_utils.learner.tracebacks import what_was_raised

numbers = torch.Generator().manual_seed(0)


def item(height, width, count, dtype=torch.float32, channels=3):
    image = torch.randint(1, 255, (channels, height, width), generator=numbers).to(dtype)
    return image, torch.randint(1, 9, (count, 4), generator=numbers).float()


def batches_to_try() -> dict[str, list]:
    """Lists of items, by what is special in each: the same at each call."""
    numbers.manual_seed(0)
    nothing = (torch.ones(3, 2, 2), torch.zeros(1, 4))  # a real box of zeros
    cases = {
        "2 × 3 and 4 × 1 pixels": [item(2, 3, 1), item(4, 1, 2)],
        "a damaged file among them": [item(2, 3, 1), None, item(4, 1, 2)],
        "an image without boxes": [item(3, 3, 0), item(2, 2, 2)],
        "no boxes at all": [item(3, 3, 0), item(2, 2, 0)],
        "a box whose four numbers are 0": [nothing, item(2, 2, 2)],
        "boxes of -1": [(torch.ones(3, 2, 2), torch.full((2, 4), -1.0)), item(2, 2, 3)],
        "uint8 images": [item(2, 3, 1, torch.uint8), item(3, 2, 1, torch.uint8)],
        "one channel": [item(2, 3, 1, channels=1), item(3, 2, 0, channels=1)],
        "nothing but damaged files": [None, None],
        "no item at all": [],
    }
    cases["images below 0"] = [(-image, boxes) for image, boxes in (item(2, 3, 1), item(3, 2, 1))]
    # The second is another number in float32 than in float64.
    for dtype, number in {"float32": 2**24 + 1, "float64": 2**53 + 2**28 + 1}.items():
        large = torch.full((1, 2, 2), number), torch.full((1, 4), number)
        cases[f"int64 images and boxes, beyond what {dtype} counts"] = [large, large]
    half = [item(2, 3, 1, torch.half), item(4, 1, 2, torch.half)]
    cases["half images, int64 boxes"] = [(image, boxes.long()) for image, boxes in half]
    wide = [item(2, 3, 1, torch.float64), item(3, 2, 2, torch.float64)]
    cases["float64 images, half boxes"] = [(image / 3, boxes.half()) for image, boxes in wide]
    halves = [item(2, 3, 1, torch.half), item(4, 1, 2, torch.half)]
    thirds = [(image, boxes.double() / 3) for image, boxes in halves]
    cases["half images, float64 boxes of thirds"] = thirds
    cases["no boxes at all, int64"] = [(x, b.long()) for x, b in (item(3, 3, 0), item(2, 2, 0))]
    turned = [(image.mT, boxes.T.contiguous().T) for image, boxes in (item(2, 3, 2), item(4, 2, 3))]
    cases["transposed images and boxes"] = turned
    odd = [item(2, 3, 1), item(3, 2, 2)]
    for (image, boxes), number in zip(odd, (torch.inf, torch.nan), strict=True):
        image[0, 0, 0] = boxes[0, 0] = number
        image[0, -1, -1] = boxes[0, -1] = -number
    cases["∞ and NaN among the numbers"] = odd
    bits = [(image > 99, boxes.char() - 5) for image, boxes in (item(2, 3, 1), item(3, 2, 2))]
    cases["bool images, int8 boxes, some below 0"] = bits
    cases |= _hard_to_tell(item(2, 3, 1), item(3, 2, 2))
    long = torch.ones(1, 1, 2**16 + 1, dtype=torch.uint8)
    cases["an image 65 537 pixels wide"] = [(long, torch.ones(1, 4)), item(2, 1, 1, long.dtype, 1)]
    cases["one item"] = [item(2, 3, 1)]
    cases["one item, all of it below 0"] = [tuple(-tensor for tensor in item(2, 3, 1))]
    large = torch.randn(3, 5, 6, generator=numbers), torch.randn(9, 5, generator=numbers)
    cut = large[0][:, 1:4, 2:], large[1][2::3, :4]
    cases["cut-outs, and one colour expanded"] = [
        cut,
        (torch.ones(3, 1, 1).expand(3, 2, 5), cut[1]),
    ]
    cases["three hundred boxes"] = [item(2, 2, 300), item(2, 2, 1)]
    black = torch.zeros(3, 2, 2), torch.full((1, 4), 2.0)
    cases["a black image, with a box"] = [black, item(3, 2, 2)]
    cases["a small, a large and a middling image"] = [item(1, 2, 1), item(4, 5, 3), item(3, 2, 2)]
    return cases


def _hard_to_tell(*two) -> dict[str, list]:
    """Batches whose boxes hold what padding may be marked by, and of a dtype that NumPy lacks."""
    (image, _), other = two
    finite, marks = torch.finfo(), [[number] * 4 for number in (0, 255)]
    bytes_ = [(image, torch.tensor(marks, dtype=torch.uint8)), (other[0], other[1].byte())]
    floats = torch.tensor([torch.nan, torch.inf, -torch.inf, finite.min, finite.max])
    wide = [(image, floats[:, None].repeat(1, 4)), (other[0].new_ones(3, 2, 2), other[1][:1])]
    return {
        "uint8 boxes, one of zeros and one of 255": [(x.byte(), boxes) for x, boxes in bytes_],
        "boxes of NaN, of ∞ and of float32's smallest number": wide,
        "bfloat16 images and boxes, a dtype that NumPy lacks": [
            (x.bfloat16(), boxes.bfloat16()) for x, boxes in two
        ],
    }


def run_kept(collate_boxes, items: list) -> bool:
    """Whether the list holds the same items after the call as before."""
    kept = list(items)
    collate_boxes(items)
    return len(items) == len(kept) and all(a is b for a, b in zip(items, kept, strict=True))


def check_other_states(function, tensors: list, what: str):
    """Whether a function of a list gives the same in states in which a slip does not count on it;
    gradients are nobody's business here."""
    check_states(function, tensors, what=what, but=("old_gradient", "inside_a_graph"))


def _why_raised(error: Exception, items: list, kept: list) -> str:
    """What a call that raised may have met."""
    if not kept:
        return " (no item is left: return None)"
    if "in-place" in str(error):
        return " (leave the arguments as they are: a method that ends in _ works in place)"
    if "BFloat16" in str(error):
        return " (NumPy has no bfloat16: stay with tensors)"
    if len(kept) < len(items) and "NoneType" in str(error):
        return " (an item is None: leave those out first)"
    sizes = [tuple(image.shape[1:]) for image, _ in kept]
    if (max(h for h, _ in sizes), max(w for _, w in sizes)) not in sizes:
        return " (no image has both the largest height and the largest width: take each by itself)"
    return ""


def _why_digits(found, right: torch.Tensor) -> str:
    """Whether a result has lost what float32, or float64, can't hold."""
    if getattr(found, "shape", None) != right.shape or found.dtype != right.dtype:
        return ""
    for dtype in (torch.float32, torch.float64):
        if same_values(found, right.to(dtype).to(right.dtype)):
            words = f"{right.dtype} by name, with {dtype}'s digits: compute in the dtype that came"
            return words.replace("torch.", "")
    return ""


def _why_zeros(found, right: torch.Tensor) -> str:
    """Whether all that differs became 0."""
    if getattr(found, "shape", None) != right.shape or found.dtype != right.dtype:
        return ""
    differ = (found != right) & ~(found.isnan() & right.isnan())
    words = "a box may hold any numbers: which ones are real follows from the counts, not from them"
    return "" if bool(found[differ].any()) else words


def _why_padding(found, kept: list, right: torch.Tensor) -> str:
    """What a batch of the right shape has in a wrong place."""
    if getattr(found, "shape", None) != right.shape or found.dtype != right.dtype:
        return ""
    if digits := _why_digits(found, right):
        return digits
    sizes = [image.shape[1:] for image, _ in kept]
    pairs = [*zip(found, (image for image, _ in kept), sizes, strict=True)]
    if all(same_values(padded[:, :h, :w], image) for padded, image, (h, w) in pairs):
        times = ", and NaN or ∞ times 0 is NaN" if bool((found != found).sum() > 1) else ""
        return f"the images are in place; what is padded has to be 0{times}"
    finite = right.isfinite()
    lost = bool(found[~finite].isfinite().any())
    if lost and same_values(found[finite], right[finite]):
        return "NaN and ∞ are numbers of the image: they stay"
    if bool((found.isnan() & finite).any()):
        return "a number became NaN: NaN or ∞ times 0 is NaN"
    if all(same_values(padded[:, -h:, -w:], image) for padded, image, (h, w) in pairs):
        return "the images are at the right and at the bottom: boxes count from left and top"
    return "each image starts at the left and at the top, with its own pixels"


def check_batch(collate_boxes, items, what):
    tensors = [tensor for item in items if item is not None for tensor in item]
    kept = [item for item in items if item is not None]
    with forbid_changes(*tensors):
        try:
            batch = collate_boxes(items)
        except (TypeError, ValueError, IndexError, AttributeError, RuntimeError) as error:
            why = _why_raised(error, items, kept)
            words = f"{what}: {what_was_raised(error)}{why}"
            raise AssertionError(words) from None
    if not kept:
        assert batch is None, f"{what}: with no item left it is None, not {batch!r}"
        return
    left = f"{len(kept)} items are left, with boxes or without"
    assert batch is not None, f"{what} is None, though {left}: is there an answer yet?"
    assert isinstance(batch, dict), f"{what}: it returned {type(batch).__name__}, expected a dict"
    missing = {"images", "sizes", "boxes", "mask"} - set(batch)
    assert not missing, f"{what}: {sorted(missing)} are missing in the dict"
    sizes = torch.tensor([image.shape[1:] for image, _ in kept])
    there = batch["sizes"].tolist() if isinstance(batch["sizes"], torch.Tensor) else []
    count = len(there) if there and isinstance(there[0], list) else len(kept)
    words = f"{what}: items in it: {count}, expected {len(kept)}: only None is left out"
    assert count == len(kept) or count == len(items), words
    wrong, turned = there != sizes.tolist(), there == sizes.flip(1).tolist()
    other = wrong and sorted(there) == sorted(sizes.tolist())
    words = "those of the images in another order: items keep theirs"
    words += " (or width comes first, where H does)" if turned else ""
    assert not other, f"{what}: sizes are {words}"
    assert not (wrong and turned), f"{what}: sizes are width and height: H comes first, then W"
    check_close(batch["sizes"], sizes, f"{what}: sizes")
    (height, width), most = sizes.amax(0).tolist(), max(len(boxes) for _, boxes in kept)
    images = torch.stack(
        [v2.functional.pad(x, [0, 0, width - x.shape[2], height - x.shape[1]]) for x, _ in kept]
    )
    exact = {"rtol": 0.0, "atol": 0.0}
    where = f"{what}: images, padded on the right and below"
    why = _why_padding(batch["images"], kept, images)
    check_close(batch["images"], images, where, **exact, because=why)
    rows = [torch.cat([b, b.new_zeros(most - len(b), 4)]) for _, b in kept]
    boxes, shape = batch["boxes"], (len(kept), most, 4)
    if getattr(boxes, "shape", None) == shape:
        behind = any(bool(row[len(b) :].any()) for row, (_, b) in zip(boxes, kept, strict=True))
        assert not behind, f"{what}: boxes: behind the boxes of an item come zeros"
    right = torch.stack(rows)
    why = _why_digits(boxes, right) or _why_zeros(boxes, right)
    check_close(boxes, right, f"{what}: boxes", **exact, because=why)
    counts = torch.tensor([len(b) for _, b in kept])
    mask = torch.arange(most) < counts[:, None]
    if getattr(batch["mask"], "shape", mask.shape) != mask.shape:
        words = f"has shape {tuple(batch['mask'].shape)}, expected {tuple(mask.shape)}"
        raise AssertionError(f"{what}: the mask {words}: a row for each item, as wide as boxes")
    check_close(batch["mask"], mask, f"{what}: the mask (from the counts, not from the values)")
