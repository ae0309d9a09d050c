import math

import torch
from expect import NOTHING

from shapefinder.evaluate import evaluate

A, B, C = (0.0, 0.0, 0.4, 0.4), (0.5, 0.5, 0.9, 0.9), (0.0, 0.5, 0.4, 0.9)
COUNT = "count is the share of photographs with as many found boxes as true ones, hits or not"
NAMES = ["precision", "recall", "f1", "count", "low", "high"]


def score(*images, **options):
    """Each image is a list of found (confidence, label, box) and a list of true (label, box)."""
    found = [torch.tensor([(s, k, *b) for s, k, b in f]).reshape(-1, 6) for f, _ in images]
    true = [torch.tensor([(k, *b) for k, b in t]).reshape(-1, 5) for _, t in images]
    return scored(found, true, **options)


def scored(found, true, **options):
    given, before = found + true, [one.clone() for one in found + true]
    state = torch.get_rng_state()
    try:
        result = evaluate(found, true, **options)
    except IndexError as error:
        if all(map(len, found + true)):
            raise
        words = "a photograph may have no box, found or true"
        raise AssertionError(f"{words}: raised IndexError, {error}") from None
    kept = [*map(id, found + true)] == [*map(id, given)]
    assert kept, "a list of the caller's was changed: it holds other tensors"
    assert torch.equal(torch.get_rng_state(), state), "torch's default generator was used"
    assert all(map(torch.equal, before, found + true)), "found or true was changed"
    asks = any(one.requires_grad for one in found + true)
    assert not asks, "found or true require grad afterwards: leave them as they are"
    assert result is not None, NOTHING
    assert isinstance(result, dict), f"a {type(result).__name__} came back, not a dict"
    assert sorted(result) == sorted(NAMES), f"the keys are {list(result)}"
    for name, value in result.items():
        kind = type(value).__name__
        assert type(value) is float, f"{name} is not a float but of type {kind}: float() makes one"
        assert math.isfinite(value), f"{name} is {value}"
    return result


def check(result, why, **right):
    for name, value in right.items():
        assert abs(result[name] - value) < 1e-6, (
            f"{why}: {name} is {result[name]:.4f}, not {value:.4f}"
        )


def test_all_found():
    result = score(([(0.9, 0, A), (0.8, 1, B)], [(0, A), (1, B)]))
    check(result, "everything was found", precision=1, recall=1, f1=1, count=1, low=1, high=1)


def test_precision_and_recall():
    result = score(([(0.9, 0, A), (0.8, 0, B), (0.7, 0, C)], [(0, A)]))
    check(result, "one of three found boxes is right, and nothing is missed",
          precision=1 / 3, recall=1, f1=0.5)  # fmt: skip
    check(result, COUNT, count=0)
    result = score(([(0.9, 0, A)], [(0, A), (1, B), (2, C)]))
    check(result, "one box was found of three", precision=1, recall=1 / 3, f1=0.5, count=0)


def test_a_shape_is_found_once():
    result = score(([(0.9, 0, A), (0.8, 0, A)], [(0, A)]))
    check(result, "two boxes on the same shape are a hit and a miss", precision=0.5, recall=1)


def test_another_class_is_no_hit():
    for mine, right in ((1, 0), (0, 1), (2, 0), (1, 2), (2, 1), (7, 8)):
        result = score(([(0.9, mine, A)], [(right, A)]))
        check(result, "the box is right and the class wrong", precision=0, recall=0)
        check(result, "a found box, a true one, no hit: 2 · hits / (found + true)", f1=0)
        check(result, COUNT, count=1)
    result = score(([(0.9, 1, A)], [(0, A), (1, (0.0, 0.0, 0.4, 0.3))]))
    check(result, "the best box of its own class counts, not the best of all",
          precision=1, recall=0.5)  # fmt: skip


def test_half_an_overlap_is_enough():
    wide, half = (0.0, 0.0, 0.5, 0.5), (0.0, 0.0, 0.5, 0.25)
    result = score(([(0.9, 0, half)], [(0, wide)]))
    check(result, "intersection over union is exactly 0.5", precision=1, recall=1)
    for high in (0.24, 0.24999):
        result = score(([(0.9, 0, (0.0, 0.0, 0.5, high))], [(0, wide)]))
        why = f"intersection over union is {2 * high:g}, less than a half"
        check(result, why, precision=0, recall=0)
    far = (6000.0, 6000.0, 8000.0, 8000.0)
    why = "half an overlap and a box 8000 pixels away: a shift of each class would round its boxes"
    for high in (513 / 2048, 515 / 2048):
        found = [(0.9, 0, far), (0.8, 2, (0.0, 0.0, 90.0, high))]
        check(score((found, [(0, far), (2, (0.0, 0.0, 90.0, 2 * high))])), why, precision=1)


def test_the_surest_chooses_first():
    # The surer box fits both shapes, the first one better; the other box fits the first alone.
    first, second = (0.0, 0.0, 0.4, 0.4), (0.12, 0.0, 0.52, 0.4)
    surer = 0.9, 0, (0.05, 0.0, 0.45, 0.4)
    less, closer = (0.6, 0, (0.0, 0.0, 0.3, 0.4)), (0.6, 0, (0.0, 0.0, 0.36, 0.4))
    for found in ([surer, less], [less, surer], [surer, closer], [closer, surer]):
        for true in ([(0, first), (0, second)], [(0, second), (0, first)]):
            why = (
                "the surest box takes the shape that it overlaps most, in whatever order boxes "
                "and shapes come, and leaves none for the other"
            )
            if closer in found:
                why += ", though the other overlaps it more"
            check(score((found, true)), why, precision=0.5, recall=0.5)


def test_a_little_surer_is_surer():
    # Two shapes; the box that comes last is surer by a thousandth, and leaves the other nothing.
    first, second = (0.0, 0.0, 0.4, 0.4), (0.12, 0.0, 0.52, 0.4)
    found = [(0.901, 0, (0.0, 0.0, 0.3, 0.4)), (0.902, 0, (0.05, 0.0, 0.45, 0.4))]
    why = "confidences of 0.901 and 0.902: the second box is surer, and chooses first"
    check(score((found, [(0, first), (0, second)])), why, precision=0.5, recall=0.5)


def test_views_and_other_dtypes():
    rows = torch.tensor([[0.9, 0, *A], [0.8, 0, *B], [0.7, 1, *C]])
    shapes = rows[[0, 2]][:, 1:]
    wide, turned = torch.cat([rows, rows], 1)[:, :6], rows.t().contiguous().t()
    gone = torch.cat([torch.zeros(2, 1), shapes], 1)[:, 1:]
    for found, true, name in (
        (wide, gone, "columns of wider tensors"),
        (turned, shapes.t().contiguous().t(), "transposed tensors"),
        (rows.double(), shapes.double(), "float64 tensors"),
    ):
        try:
            result = scored([found], [true])
        except (AssertionError, RuntimeError) as error:
            raise AssertionError(f"found and true may be {name}: {error}") from None
        check(result, f"found and true are {name}", precision=2 / 3, recall=1, f1=0.8, count=0)
    first, second = (0.0, 0.0, 0.4, 0.4), (0.12, 0.0, 0.52, 0.4)
    found = [(0.9, 0, 0.0, 0.0, 0.3, 0.4), (0.9 + 1e-9, 0, 0.05, 0.0, 0.45, 0.4)]
    true = torch.tensor([(0, *first), (0, *second)], dtype=torch.float64)
    result = scored([torch.tensor(found, dtype=torch.float64)], [true])
    why = "in float64 the second box is surer by 1e-9, and chooses first: float32 can't tell"
    check(result, why, precision=0.5, recall=0.5)


def test_boxes_in_pixels():
    wide, half = (0.0, 0.0, 90.0, 50.0), (0.0, 0.0, 90.0, 20.0)
    why = "boxes may be in pixels: don't cut them at 1"
    check(score(([(0.9, 0, half)], [(0, wide)])), why, precision=0, recall=0)
    check(score(([(0.9, 7, wide)], [(7, wide)])), "label 7 is a label as any other", f1=1)


def test_many_boxes():
    boxes = [(n / 20, 0.0, n / 20 + 0.04, 0.04) for n in range(20)]
    found = [(0.9 - n / 100, n % 3, box) for n, box in enumerate(boxes)]
    result = score((found, [(n % 3, box) for n, box in enumerate(boxes)]))
    check(result, "20 found boxes in an image, all of them right", precision=1, recall=1)


def test_boxes_of_little_confidence_count():
    for sure in (0.3, 0.0):
        result = score(([(0.9, 0, A), (sure, 0, B)], [(0, A)]))
        why = f"a found box of confidence {sure} is a found box: evaluate leaves none out"
        check(result, why, precision=0.5, f1=2 / 3, count=0)


def test_a_taken_shape_leaves_the_next_best():
    left, right = (0.0, 0.0, 0.4, 0.4), (0.1, 0.0, 0.5, 0.4)
    both = [(0.9, 0, (0.02, 0.0, 0.42, 0.4)), (0.6, 0, (0.02, 0.0, 0.42, 0.4))]
    result = score((both, [(0, left), (0, right)]))
    check(result, "the second box overlaps the shape that is still free by more than half",
          precision=1, recall=1)  # fmt: skip
    far = (0.25, 0.0, 0.65, 0.4)
    result = score(([(0.9, 0, far), (0.6, 0, A)], [(0, A)]))
    check(result, "the surest box overlaps the shape by less than a half, so it doesn't take it: "
          "it is free for the next box", precision=0.5, recall=1)  # fmt: skip


def test_shares_over_all_images():
    many = [(0.9 - n / 10, 0, box) for n, box in enumerate((A, B, C))]
    images = (many, [(0, A)]), ([(0.9, 0, A)], [(0, A)])
    result = score(*images)
    check(result, "the sums over all images are divided, not averaged image by image",
          precision=0.5, recall=1, f1=2 / 3)  # fmt: skip
    check(result, COUNT, count=0.5)
    two, three = [(0.9, 0, A), (0.8, 0, B)], [(0, A), (0, B), (0, C)]
    check(score((two, three)), f"two boxes were found and three are there: {COUNT}", count=0)
    empty = [], []
    result = score(images[0], empty, empty, images[0])
    check(result, "two of four images have no box, neither found nor true, and are images as well: "
          "both agree in their number", precision=1 / 3, recall=1, count=0.5)  # fmt: skip


def test_a_share_of_nothing_is_one():
    check(score(([], [])), "nothing is there and nothing found",
          precision=1, recall=1, f1=1, count=1, low=1, high=1)  # fmt: skip
    check(score(([], [(0, A)])), "nothing was found", precision=1, recall=0, f1=0, count=0)
    result = score(([(0.9, 0, A)], []))
    check(result, "nothing is there", precision=0, recall=1, f1=0)
    check(result, COUNT, count=0)


GOOD = [(0.9, 0, A)], [(0, A)]
BAD = [(0.9, 0, B)], [(0, A), (0, C)]
MANY = [(0.9 - n / 10, 0, box) for n, box in enumerate((A, B, C))], [(0, A), (0, B)]
FEW = [(0.9, 0, A)], [(0, A), (0, B), (0, C)]
IMAGES = [GOOD] * 11 + [BAD] * 7 + [MANY] * 5 + [FEW] * 4
LOW, HIGH = 0.4239489, 0.7062178  # of f1, for these images, 60 drawn sets and seed 15
SLIPS = {
    (0.4935184, 0.7083204): "these are the numbers of seed 0: pass `seed` to the generator",
    (0.4473684, 0.7106203): "these are the numbers of 200 drawn sets: draw as many as `draws` says",
    (0.4665854, 0.7466667): "200 sets were drawn with seed 0: `draws` and `seed` change nothing",
    (0.4551336, 0.6948871): "these are the quantiles 5 % and 95 %: the middle 90 %, not 95 %",
    (0.5422389, 0.6333199): "these are the quantiles 25 % and 75 %: the middle half",
    (0.4010313, 0.7359778): "these are the quantiles 1 % and 99 %: the middle 98 %",
    (0.4793519, 0.7612037): "that is the mean of the images' own f1: add up hits, found and true "
    "over a drawn set, then divide",
    (0.4513241, 0.6751705): "randint has the shape (n, draws) here: row i is set i, (draws, n)",
    (0.5473582, 0.8009512): "that is the interval of precision",
    (0.3460000, 0.6924396): "that is the interval of recall",
    (0.4427618, 0.7301774): "that is the mean plus and minus 1.96 standard deviations",
    (0.3947368, 0.7750000): "these are the smallest and the largest f1 of all drawn sets",
    (0.4054054, 0.7032967): "these are entries of the sorted f1: a quantile lies between two of "
    "them, as torch.quantile finds it",
    (0.4054054, 0.7088608): "these are entries of the sorted f1: a quantile lies between two of "
    "them, as torch.quantile finds it",
}


def test_the_interval():
    result = score(*IMAGES, draws=60, seed=15)
    check(result, "25 hits, 37 found and 47 true boxes", f1=50 / 84)
    for slip, words in SLIPS.items():
        got = result["low"], result["high"]
        assert any(abs(x - y) > 1e-4 for x, y in zip(got, slip, strict=True)), (
            f"of 60 drawn sets with seed 15, low is {got[0]:.4f} and high is {got[1]:.4f}: {words}"
        )
    check(result, "of 60 drawn sets with seed 15: the 2.5 % and 97.5 % quantiles of their f1",
          low=LOW, high=HIGH)  # fmt: skip


def test_the_interval_again():
    first, second = score(*IMAGES), score(*IMAGES)
    assert first == second, "the same images gave two different intervals: seed the generator"
    assert first["low"] < first["f1"] < first["high"], "f1 lies within its interval"
    one = score(*IMAGES, draws=1)
    assert one["low"] == one["high"], "of a single drawn set, low and high are both its f1"
