import math

import torch
from expect import a_tensor, close

from shapefinder.losses import detection_loss


def a_target(*objects, n=1, cells=2, dtype=torch.float32):
    """Objects are (image, row, column, class, box)."""
    target = torch.zeros(n, 8, cells, cells, dtype=dtype)
    for image, row, column, kind, box in objects:
        target[image, 0, row, column] = target[image, 1 + kind, row, column] = 1
        target[image, 4:, row, column] = torch.tensor(box, dtype=dtype)
    return target


BOX = (0.5, 0.25, 0.5, 0.75)
ONE = a_target((0, 0, 1, 0, BOX))
TWO = a_target((0, 0, 1, 0, BOX), (1, 1, 1, 2, (0.5, 0.5, 0.5, 0.1)), n=2)


def losses(output, target, dtype=torch.float32):
    before = output.detach().clone(), target.clone()
    asked = output.requires_grad, target.requires_grad
    written = output._version, target._version
    try:
        result = detection_loss(output, target)
    except IndexError as error:
        if (target[:, 0] == 1).sum() != 1:
            raise
        words = "one cell has an object. A list of one cell is a list, too; squeeze() undoes it"
        raise AssertionError(f"raised IndexError, {error}; {words}") from None
    same = (output._version, target._version) == written
    assert same, "output or target was written into: the arguments stay as they are"
    a_tensor(result, (3,), dtype, f"the tensor of losses, for {dtype} numbers,")
    kept = torch.equal(output.detach(), before[0]) and torch.equal(target, before[1])
    assert kept, "output or target was changed"
    kept = result.requires_grad or not output.requires_grad
    assert kept, "the losses have no graph: were they made of plain numbers?"
    after = output.requires_grad, target.requires_grad
    assert after == asked, "requires_grad of output or target was changed"
    return result


def test_zeros_everywhere():
    there, kind, box = losses(torch.zeros(1, 8, 2, 2), ONE).tolist()
    assert not math.isclose(there, math.log(2), rel_tol=1e-4), (
        "the object loss of four cells is that of a single one: wanted is the sum over all cells, "
        "with an object or without, divided by the objects"
    )
    right = 4 * math.log(2)
    assert math.isclose(there, right, rel_tol=1e-4), (
        f"the object loss of four cells, each knowing nothing, is {there:.4f}, not {right:.4f}"
    )
    assert kind != 0, "no cell counts as one with an object: the target says which, not the output"
    assert not math.isclose(kind, 4 * math.log(3), rel_tol=1e-4), (
        "the class loss of an object is a sum over all four cells: only its own cell counts"
    )
    assert not math.isclose(kind, 3 * math.log(2), rel_tol=1e-4), (
        "the class loss of an object is that of three yes or no questions: wanted is one softmax "
        "over the three classes"
    )
    assert math.isclose(kind, math.log(3), rel_tol=1e-4), (
        f"the class loss of an object, each of three classes equally likely, is {kind:.4f}, "
        f"not {math.log(3):.4f}"
    )
    assert not math.isclose(box, 0.125, rel_tol=1e-4), (
        "the box loss is a mean over four numbers, or made of squares: wanted is the sum of four "
        "absolute differences"
    )
    assert math.isclose(box, 0.5, rel_tol=1e-4), (
        "with sigmoid(0) = 0.5 the box is off by 0, 0.25, 0 and 0.25; "
        f"the loss is {box:.4f}, not 0.5"
    )
    first = losses(torch.zeros(1, 8, 2, 2), ONE)
    before = first.clone()
    losses(torch.ones(1, 8, 2, 2), ONE)
    assert torch.equal(first, before), (
        "a second call wrote into the losses that the first one returned: make new ones each time"
    )


def test_divided_by_the_objects_of_the_batch():
    there, kind, box = losses(torch.zeros(2, 8, 2, 2), TWO).tolist()
    right = {"object": 4 * math.log(2), "class": math.log(3), "box": 0.45}
    for (name, wanted), value in zip(right.items(), (there, kind, box), strict=True):
        by_two = any(math.isclose(value, k * wanted, rel_tol=1e-4) for k in (0.5, 2))
        why = ": the sum is divided by the number of objects, once" if by_two else ""
        assert math.isclose(value, wanted, rel_tol=1e-4), (
            f"the {name} loss of two images with an object each is {value:.4f}, not "
            f"{wanted:.4f}{why}"
        )


def test_three_objects_in_one_image():
    target = a_target(*[(0, 0, column, 1, BOX) for column in range(3)], cells=3)
    found = losses(torch.zeros(1, 8, 3, 3), target).tolist()
    right, names = (3 * math.log(2), math.log(3), 0.5), ("object", "class", "box")
    thrice = all(math.isclose(a, 3 * b, rel_tol=1e-4) for a, b in zip(found, right, strict=True))
    why = ": divide by objects, not by images" if thrice else ""
    for value, wanted, name in zip(found, right, names, strict=True):
        assert math.isclose(value, wanted, rel_tol=1e-4), (
            f"with three objects in one image the {name} loss is {value:.4f}, not {wanted:.4f}{why}"
        )


def test_a_crowded_image_beside_a_lonely_object():
    crowd = [(0, 0, column, 1, BOX) for column in range(3)]
    target = a_target(*crowd, (1, 2, 0, 0, (1.0, 1.0, 1.0, 1.0)), n=2, cells=3)
    output = torch.zeros(2, 8, 3, 3)
    output[1, 0] = -1.0
    result = losses(output, target)
    box = result[2].item()
    assert not math.isclose(box, 1.25, rel_tol=1e-4), (
        "a mean of the images' means: an object in a crowded image counts less than a lonely one"
    )
    why = ": divide by objects, not by images" if math.isclose(box, 1.75, rel_tol=1e-4) else ""
    assert math.isclose(box, 3.5 / 4, rel_tol=1e-4), (
        f"three boxes are off by 0.5 and one by 2: the box loss is {box:.4f}, not 0.8750{why}"
    )
    there = (9 * math.log(2) + 9 * math.log1p(math.exp(-1)) + 1) / 4
    close(result[0], torch.tensor(there), "the object loss of four objects in two images")


def test_raw_numbers_of_the_class():
    output = torch.zeros(1, 8, 2, 2)
    output[0, 1, 0, 1] = 2.0
    kind = losses(output, ONE)[1].item()
    assert math.isclose(kind, math.log(math.e**2 + 2) - 2, rel_tol=1e-4), (
        f"the class loss of the raw numbers 2, 0, 0 is {kind:.4f}: it is the cross-entropy of one "
        "softmax, no more"
    )
    output[0, 1:4, 0, 1] = torch.tensor([2.0, 0.0, -1.0])
    for label, raw in enumerate((2, 0, -1)):
        kind = losses(output, a_target((0, 0, 1, label, BOX)))[1].item()
        right = math.log(math.e**2 + 1 + math.exp(-1)) - raw
        assert math.isclose(kind, right, rel_tol=1e-4), (
            f"the class is {label}, the raw numbers are 2, 0, -1: the class loss is {kind:.4f}, "
            f"not {right:.4f}; numbers 1 to 3 of the target say which class"
        )


def test_large_numbers_of_the_class():
    output = torch.zeros(1, 8, 2, 2, requires_grad=True)
    with torch.no_grad():
        output[0, 1:4, 0, 1] = torch.tensor([-100.0, 100.0, 0.0])
    kind = losses(output, ONE)[1]
    assert math.isclose(kind.item(), 200, rel_tol=1e-3), (
        f"the class is surely wrong, by 200: the class loss is {kind.item():.4f}; work with the "
        "raw numbers, not with a softmax and a logarithm"
    )
    kind.backward()
    slope = output.grad[0, 1:4, 0, 1]
    close(slope, torch.tensor([-1.0, 1, 0]), "the class is surely wrong: the gradient")


def test_numbers_in_another_order():
    output = torch.zeros(1, 8, 2, 2).transpose(2, 3)
    target = ONE.transpose(2, 3).contiguous().transpose(2, 3)
    try:
        result = losses(output, target)
    except RuntimeError as error:
        words = "output and target may be views, such as transposed ones"
        raise AssertionError(f"{words}: {error}") from None
    right = torch.tensor([4 * math.log(2), math.log(3), 0.5])
    close(result, right, "output and target are transposed views")


def test_raw_numbers_of_the_object():
    output = torch.zeros(1, 8, 2, 2)
    output[0, 0] = torch.tensor([[-100.0, 100.0], [-100.0, -100.0]])
    there = losses(output, ONE)[0].item()
    assert abs(there) < 1e-4, f"all cells are surely right, and the object loss is {there:.4f}"
    half, whole = (losses(-output * part, ONE)[0].item() for part in (0.5, 1.0))
    twice = math.isclose(whole, 2 * half, rel_tol=1e-3)
    why = "" if twice else ": work with the raw numbers, not with a sigmoid and a logarithm"
    for size, there in ((50, half), (100, whole)):
        assert math.isclose(there, 4 * size, rel_tol=1e-3), (
            f"four cells are surely wrong by {size}: the object loss is {there:.4f}, not "
            f"{4 * size}{why}"
        )
    there = losses(
        100 * (1 - 2 * a_target((0, 0, 1, 0, BOX), cells=8)), a_target((0, 0, 1, 0, BOX), cells=8)
    )[0].item()
    assert math.isclose(there, 6400, rel_tol=1e-3), (
        f"64 cells are surely wrong by 100: the object loss of an object is {there:.4f}, not 6400: "
        "it is as large as it comes"
    )
    for label in range(3):
        there = losses(output, a_target((0, 0, 1, label, BOX)))[0].item()
        assert abs(there) < 1e-4, (
            f"an object of class {label}, all cells are surely right, and the object loss is "
            f"{there:.4f}: number 0 of the target says whether there is an object"
        )


def test_cells_without_an_object_have_neither_class_nor_box():
    output = torch.zeros(1, 8, 2, 2)
    output[:, 1:, 1] = 7.0  # no object in row 1
    output[:, 1:, 0, 0] = -7.0
    close(losses(output, ONE)[1:], losses(torch.zeros(1, 8, 2, 2), ONE)[1:],
          "class or box numbers of empty cells count")  # fmt: skip


def test_no_object_at_all():
    output = torch.zeros(2, 8, 2, 2, requires_grad=True)
    result = losses(output, a_target(n=2))
    assert not result.isnan().any(), "without an object the sums are divided by 1, not by 0"
    why = "without an object there is neither class nor box, all cells still count as empty, and "
    why += "each sum is divided by 1"
    close(result, torch.tensor([8 * math.log(2), 0.0, 0.0]), why)
    result.sum().backward()
    assert output.grad is not None and not output.grad.isnan().any(), "the gradient is NaN"


def test_no_object_in_other_dtypes():
    for dtype in (torch.float64, torch.bfloat16, torch.float16):
        output = torch.zeros(2, 8, 1, 3, dtype=dtype)
        found = losses(output, torch.zeros(2, 8, 1, 3, dtype=dtype), dtype)
        right = torch.tensor([6 * math.log(2), 0.0, 0.0])
        close(found, right, f"without an object, in {dtype}, each sum is divided by 1", 2e-2)


def test_a_single_cell_and_no_image():
    target = a_target((0, 0, 0, 1, BOX), cells=1)
    right = torch.tensor([math.log(2), math.log(3), 0.5])
    close(losses(torch.zeros(1, 8, 1, 1), target), right, "one image of one cell")
    for n, height, width in ((0, 2, 2), (0, 1, 3)):
        empty = torch.zeros(n, 8, height, width)
        try:
            found = losses(empty, empty.clone())
        except (RuntimeError, ValueError, IndexError, ZeroDivisionError) as error:
            raise AssertionError(f"a batch of no image: its sums are 0. {error}") from None
        close(found, torch.zeros(3), "a batch of no image: its sums are 0, divided by 1")


def test_an_image_without_an_object_beside_another():
    found = losses(torch.zeros(2, 8, 2, 2), a_target((1, 0, 1, 0, BOX), n=2))
    right = torch.tensor([8 * math.log(2), math.log(3), 0.5])
    close(found, right, "of two images the first has no object: its cells count as well, all 8")


def test_the_gradient():
    output = torch.full((1, 8, 2, 2), 0.4, requires_grad=True)  # at 0 |x| has two slopes
    result = losses(output, ONE)
    assert result.requires_grad, "the losses have no graph: were they made of plain numbers?"
    result.sum().backward()
    there, kind, box = output.grad[0, 0], output.grad[0, 1:4], output.grad[0, 4:]
    sure = 1 / (1 + math.exp(-0.4))
    right = torch.tensor([[sure, sure - 1], [sure, sure]])
    close(there, right, "the gradient of the object's numbers")
    close(kind[:, 0, 1], torch.tensor([-2.0, 1, 1]) / 3, "the gradient of the class's numbers")
    right = sure * (1 - sure) * torch.tensor([1.0, 1, 1, -1])
    close(box[:, 0, 1], right, "the gradient of the box's numbers")
    assert not output.grad[0, 1:, 1].any(), "class and box of an empty cell have a gradient"
    old = output.grad.clone()
    losses(output, ONE)
    kept = output.grad is not None and torch.equal(output.grad, old)
    assert kept, "the old gradient of output is changed or gone: leave it to the training loop"


def test_a_small_object():
    for numbers, words in (
        ((0.5, 0.5, 0.01, 0.01), "a hundredth wide"),
        ((0.5, 0.5, 0.0, 0.0), "a box without width or height"),
        ((0.0, 0.0, 0.0, 0.0), "a point on the corner of its cell, four zeros"),
    ):
        target = a_target((0, 0, 1, 0, numbers))
        found = losses(torch.zeros(1, 8, 2, 2), target).tolist()
        right = [4 * math.log(2), math.log(3), sum(abs(0.5 - number) for number in numbers)]
        assert all(math.isclose(a, b, rel_tol=1e-4) for a, b in zip(found, right, strict=True)), (
            f"an object is {words}: the losses are {[round(one, 4) for one in found]}; it "
            "counts as any other: number 0 of the target says where an object is"
        )
    target = a_target((0, 0, 1, 0, (0.5, 0.5, 0.0, 0.0)), (0, 1, 1, 0, BOX))
    found, right = losses(torch.zeros(1, 8, 2, 2), target), [2 * math.log(2), math.log(3), 0.75]
    why = "of two objects, one has a box without width or height, and counts as the other"
    close(found, torch.tensor(right), why)


def test_raw_numbers_of_the_box():
    output, raw = torch.zeros(1, 8, 2, 2), (1.3, -0.7, 2.1, 0.4)
    output[0, 4:, 0, 1] = torch.tensor(raw)
    right = sum(abs(1 / (1 + math.exp(-a)) - b) for a, b in zip(raw, BOX, strict=True))
    why = f"the box's raw numbers are {raw}, its target is {BOX}: the box loss"
    close(losses(output, ONE)[2], torch.tensor(right), why)


def test_large_numbers_of_the_box():
    for raw, target in ((100.0, 1.0), (-100.0, 0.0)):
        output = torch.zeros(1, 8, 2, 2)
        output[0, 4:] = raw
        box = losses(output, a_target((0, 0, 1, 0, (target,) * 4)))[2].item()
        assert abs(box) < 1e-4, (
            f"the raw numbers are {raw:g}, their sigmoid is {target:g}, as it should be: the box "
            f"loss is {box:.4f}, not 0; the sigmoid is taken as it is"
        )


def test_the_gradient_of_large_numbers():
    for raw in (100.0, -100.0):
        output = torch.full((1, 8, 2, 2), raw, requires_grad=True)
        losses(output, ONE).sum().backward()
        right = torch.zeros(1, 8, 2, 2)
        right[:, 0] = float(raw > 0) - ONE[:, 0]
        right[0, 1:4, 0, 1] = 1 / 3 - ONE[0, 1:4, 0, 1]
        for name, part in (("object", slice(1)), ("class", slice(1, 4)), ("box", slice(4, 8))):
            why = (
                f"all raw numbers are {raw:g}, in cells with and without an object: the gradient "
                f"of the {name}'s numbers"
            )
            if output.grad[:, part].isnan().any():
                why += (
                    ". An exponential that overflows leaves nan there, even where the loss is "
                    "right, or where `where` or a mask leaves its value out"
                )
            close(output.grad[:, part], right[:, part], why)


def test_an_object_in_every_cell():
    target = a_target(*[(0, n // 4, n % 4, 1, BOX) for n in range(16)], cells=4)
    found, right = losses(torch.zeros(1, 8, 4, 4), target), [math.log(2), math.log(3), 0.5]
    close(found, torch.tensor(right), "16 cells with 16 objects: all of them count")


def test_float64():
    target = a_target((0, 0, 1, 0, BOX), dtype=torch.float64)
    found = losses(torch.zeros(1, 8, 2, 2, dtype=torch.float64), target, torch.float64)
    right = torch.tensor([4 * math.log(2), math.log(3), 0.5], dtype=torch.float64)
    words = "float64 numbers, exact as in float32 alone: compute in their dtype"
    close(found, right, words, rtol=1e-12, atol=0)


def test_bfloat16():
    target = a_target((0, 0, 1, 0, BOX), dtype=torch.bfloat16)
    found = losses(torch.zeros(1, 8, 2, 2, dtype=torch.bfloat16), target, torch.bfloat16)
    right = torch.tensor([4 * math.log(2), math.log(3), 0.5])
    close(found, right, "the losses of four cells, one with an object, in bfloat16", 2e-2)


def test_not_a_square():
    target = torch.zeros(1, 8, 1, 3)
    target[0, :, 0, 2] = torch.tensor([1.0, 0, 1, 0, *BOX])
    close(losses(torch.zeros(1, 8, 1, 3), target),
          torch.tensor([3 * math.log(2), math.log(3), 0.5]), "a grid of one row")  # fmt: skip
