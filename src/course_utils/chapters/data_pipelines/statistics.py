"""Mean and deviation that are merged, batch by batch."""

from __future__ import annotations

import gc
import tracemalloc
import weakref
from numbers import Integral

import torch

from course_utils.learner.changes import forbid_changes
from course_utils.learner.checks import check_close, check_equal
from course_utils.learner.garbage import what_is_new_alone
from course_utils.learner.tracebacks import what_was_raised


def images_to_try(drawn: list) -> dict[str, list]:
    """Lists of images, by what is special in each; ``drawn`` are three of bytes."""
    one, nine = torch.zeros(1, 1, 1), torch.full((1, 3, 3), 10.0)
    far = [1e8 + torch.tensor([[[0.0, 1.0, 2.0]]]).double(), 1e8 + torch.ones(1, 2, 2).double()]
    dark = (torch.arange(600) % 3).reshape(1, 20, 30).double()
    equal = torch.tensor([1.0, 2.0, 300.0])[:, None, None].expand(3, 4, 5)
    return {
        "the example": [torch.tensor([[[1.0, 3.0]]])],
        "1 and 9 pixels": [one, nine],
        "9 pixels, then 1": [nine, one + 3],
        "three uint8 images of different size": drawn,
        "values near 1e8 that differ by 1": far,
        "one channel near 0, the other near 1e8": [torch.cat([dark, 1e8 + dark])],
        "one pixel": [one + 3],
        "black pixels among others": [torch.tensor([[[0.0, 2.0, 4.0]]]), nine],
        "half images, from -300 to 300": [
            torch.tensor([[[-300.0, 0.0, 300.0]]]).half(),
            nine.half(),
        ],
        "half images, a third": [torch.tensor([[[0.0, 0.0, 1.0]]]).half(), nine.half()],
        "transposed images": [drawn[0].float().mT, drawn[1].mT],
        "a cut-out, and an image of one colour, expanded": [drawn[0][:, 3:, 5:].float(), equal],
        "bfloat16 images, a dtype that NumPy lacks": [
            drawn[0].bfloat16(),
            drawn[1][:, 2:].bfloat16() / 3,
        ],
        "grey uint8 images": [drawn[0][:1], drawn[1][:1]],
        "a NaN in one channel": [torch.tensor([[[1.0]], [[torch.nan]]]), torch.ones(2, 1, 2)],
        "a NaN beside other numbers": [
            torch.ones(1, 1, 2),
            torch.tensor([[[2.0, torch.nan, 3.0]]]),
        ],
    }


def run_statistics(running_statistics, images: list) -> tuple:
    """What a generator over copies of the images gives, and how many were alive at once at most."""
    alive, most = [], 0

    def generate():
        nonlocal most
        for image in images:
            copy = image.clone()
            alive.append(weakref.ref(copy))
            most = max(most, sum(ref() is not None for ref in alive))
            yield copy
            del copy

    return running_statistics(generate()), most


def _alive() -> int:
    """Bytes of tensors that are new, and of what Python and NumPy hold."""
    tensors = [thing for thing in gc.get_objects() if issubclass(type(thing), torch.Tensor)]
    storages = {x.untyped_storage().data_ptr(): x.untyped_storage().nbytes() for x in tensors}
    return sum(storages.values()) + tracemalloc.get_traced_memory()[0]


def run_memory(running_statistics) -> list[int]:
    """How many images' bytes more are in memory when each of twelve images is asked for than when
    the first one is.

    The images are uint8, all of one size, and come from a generator that keeps none.
    """
    pixels, alive = 3 * 128 * 128, []

    def generate():
        for number in range(12):
            gc.collect()
            alive.append(_alive())
            image = torch.full((3, 128, 128), number, dtype=torch.uint8)
            yield image
            del image

    with what_is_new_alone():
        tracemalloc.start()
        try:
            running_statistics(generate())
        finally:
            tracemalloc.stop()
    return [round((more - alive[0]) / pixels) for more in alive]


def check_memory(run):
    """Whether the numbers of more than two images are kept: of two at a time, with what is computed
    of them, as much is there when the third or the fourth is asked for as ever later."""
    found = run()
    assert len(found) == 12, "the generator of twelve images was not walked through"
    usual, most = max(found[:4]), max(found)
    number = found.index(most) + 1
    words = f"when image {number} was asked for, {most} images' bytes were in memory; when one of "
    words += f"the first four was, {usual} at most"
    assert most <= usual + 2, (
        f"{words}: the numbers of more than two images are kept, in copies; keep triples"
    )


def check_many(merge_statistics):
    """Counts whose product is beyond int64, as those of a few million photographs are."""
    n = 10**10 + 777  # float32 has no such number
    one, two = ((n, torch.tensor([x]).double(), torch.tensor([y]).double()) for x, y in COUNTED)
    try:
        found = merge_statistics(one, two)
    except (OverflowError, RuntimeError) as error:
        words = "n_a times n_b is more than int64 holds: divide by n first"
        raise AssertionError(f"{what_was_raised(error)} ({words})") from None
    right = 2 * n, torch.tensor([2.0]).double(), torch.tensor([10.0 + 2 * n], dtype=torch.float64)
    check_triple(found, right, "merged")
    why = "right to some digits: is all of it float64, the counts as well?"
    check_close(found[2], right[2], "merged: S", rtol=1e-12, because=why)


COUNTED = (1.0, 3.0), (3.0, 7.0)  # a mean and S each


def check_merge(merge_statistics, a, b, what):
    none = torch.zeros(len((a + b or [[0]])[0])).double()
    triples = [triple_of(part) if part else (0, none, none.clone()) for part in (a, b)]
    with forbid_changes(*triples[0][1:], *triples[1][1:]):
        try:
            found = merge_statistics(*triples)
        except ZeroDivisionError as error:
            words = "without a pixel there is nothing to divide by: treat that first"
            raise AssertionError(f"{what}: ZeroDivisionError: {error} ({words})") from None
    right = triple_of(a + b) if a + b else triples[0]
    if not (a and b):
        what = f"{what} with an empty one, which changes nothing"
    check_triple(found, right, what, a + b if a and b else ())


def triple_of(images: list) -> tuple:
    """The truth, from all pixels at once."""
    values = torch.cat([image.double().flatten(1) for image in images], dim=1)
    mean = values.mean(1)
    return values.shape[1], mean, ((values - mean[:, None]) ** 2).sum(1)


def check_triple(found, right, what, images=()):
    assert found is not None, f"{what}: it returned None: is there an answer yet?"
    assert isinstance(found, (tuple, list)), f"{what}: it returned {found!r}, expected a triple"
    assert len(found) == 3, f"{what}: it returned {len(found)} values, expected (count, mean, S)"
    words = f"{what}: the count is a {type(found[0]).__name__}, expected an int"
    assert isinstance(found[0], (Integral, torch.Tensor)), words
    why = "H times W of each image, added up"
    why = "the images are counted; count their pixels" if found[0] == len(images) > 1 else why
    last = len(images) > 1 and found[0] == images[-1][0].numel()
    why = "the last image's alone" if last else why
    if len(images) > 1 and right[0] - found[0] == images[0][0].numel():
        why = "the first image is left out: what comes from a generator comes once"
    check_equal(found[0], right[0], f"{what}: the count of pixels for each channel", why)
    means = torch.stack([image.double().mean((1, 2)) for image in images]) if images else None
    slip = means is not None and isinstance(found[1], torch.Tensor)
    if slip and found[1].shape == right[1].shape and not torch.allclose(means.mean(0), right[1]):
        each = torch.allclose(found[1].double(), means.mean(0))
        assert not each, f"{what}: this is the mean of the images' means; count pixels"
    why = _why_mean(found[1], right[0], right[1], means)
    check_close(found[1], right[1], f"{what}: the mean", rtol=1e-10, atol=1e-12, because=why)
    spread = found[2]
    if isinstance(spread, torch.Tensor) and spread.shape == right[2].shape and right[0] > 1:
        for power, name in ((1, "the variance"), (0.5, "the standard deviation")):
            for count in {right[0], max(right[0] - 1, 1)}:
                slip = torch.allclose(spread.double(), (right[2] / count) ** power, rtol=1e-6)
                same = torch.allclose(right[2], (right[2] / count) ** power)
                assert same or not slip, f"{what}: this is {name}; S is a sum"
    why = _why_spread(spread, right, images)
    check_close(spread, right[2], f"{what}: S", rtol=1e-6, atol=1e-9, because=why)


def _fits(found, right) -> bool:
    same = isinstance(found, torch.Tensor) and found.shape == right.shape
    return same and found.dtype == right.dtype


def _why_mean(found, count, right, means) -> str:
    """What a wrong mean looks like; ``means`` are those of the images."""
    if means is None or not _fits(found, right):
        return ""
    if bool((right.isnan() & ~found.isnan()).any()):
        return "a NaN among the pixels of a channel makes its mean NaN: no pixel is left out"
    if torch.allclose(found, right * count):
        return "this is the sum; divide it by the count"
    if torch.allclose(found, right, rtol=1e-3):
        return "right to some digits: is all of it float64?"
    if len(means) == 1:
        return "one image: the sum of its pixels over their count"
    for number, name in ((0, "first"), (-1, "last")):
        if torch.allclose(found, means[number]):
            return f"this is the {name} one's mean: each moves it by its share of the pixels"
    low, high = means.amin(0) - 1e-6, means.amax(0) + 1e-6
    if not bool(((low <= found) & (found <= high)).all()):
        return (
            "no mean of theirs: it is outside of what their means span; d = m_b − m_a, and n_b / n"
        )
    return "each pixel counts the same: the share of b is n_b / n"


def _why_spread(found, right, images) -> str:
    """What a wrong S looks like, or whether it is a matter of rounding."""
    if _fits(found, right[2]) and right[0] > 10**10:
        return "n_a · n_b is more than int64 holds: divide by n first"
    if not _fits(found, right[2]) or not images:
        return ""
    if bool((found.isnan() & ~right[2].isnan()).any()):
        return "NaN, though the pixels are numbers: of one pixel n − 1 is 0, and 0 / 0 is NaN"
    far = bool((right[1] ** 2 * right[0] > 1e10 * right[2]).any())
    close = torch.allclose(found, right[2], rtol=1e-2)
    if far or close or not bool(found.isfinite().all()):
        return "stable, in float64?"
    if bool((found < 0).any()):
        return "a sum of squared distances is never below 0"
    if len(images) == 1:
        return "one image: its distances from the mean, squared, then added up"
    own = sum(triple_of([image])[2] for image in images)
    if torch.allclose(found, own):
        return "the images' own S, added up: how far their means are apart is left out"
    return "S of both, and of what their means are apart: d² · n_a · n_b / n"
