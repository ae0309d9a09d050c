import torch
from expect import a_tensor, close

from shapefinder.targets import make_targets


def targets(boxes, labels, size, cells=8, dtype=torch.int64):
    boxes, labels = torch.tensor(boxes, dtype=dtype).reshape(-1, 4), torch.tensor(labels).long()
    before = boxes.clone(), labels.clone()
    try:
        result = make_targets(boxes, labels, size, cells)
    except IndexError as error:
        raise AssertionError(
            f"raised IndexError, {error}: a cell outside the grid. size is (height, width), rows "
            f"follow from y, columns from x, and this grid has {cells} of each"
        ) from None
    kept = torch.equal(boxes, before[0]) and torch.equal(labels, before[1])
    same = ": `to` and `double` of float64 boxes give the same tensor, not a copy"
    same = same if boxes.dtype == torch.float64 else ": the arguments stay as they are"
    assert kept, f"boxes or labels were changed{same}"
    assert not boxes.requires_grad, "boxes require grad afterwards: leave them as they are"
    a_tensor(result, (8, cells, cells), name="the target")
    return result


def cells_of(target):
    return [tuple(place) for place in (target[0] == 1).nonzero().tolist()]


# In an image 40 high and 80 wide: centre at x = 55, y = 12, so in row 2 and column 5 of 8.
ONE = ([[50, 8, 60, 16]], [2], (40, 80))


def test_the_cell_holds_the_centre():
    found = cells_of(targets(*ONE))
    assert found != [(5, 2)], "row and column are swapped: rows count y, columns x"
    assert found != [(2, 2)] and found != [(2, 10)], "x goes with the width, y with the height"
    assert found != [(2, 6)], "the centre is at 5.5 cells, within cell 5: cut off, don't round"
    assert found == [(2, 5)], f"the object is in {found}, and its centre is in row 2, column 5"


def test_the_eight_numbers():
    numbers = targets(*ONE)[:, 2, 5]
    close(numbers[:4], torch.tensor([1.0, 0, 0, 1]), "object, then one of three classes")
    close(numbers[4:6], torch.tensor([0.5, 0.4]), "x, then y of the centre within its cell")
    close(numbers[6:], torch.tensor([0.125, 0.2]), "width by the image's width, height by height")


def test_other_cells_hold_zeros():
    target = targets(*ONE)
    target[:, 2, 5] = 0
    assert not target.any(), "a cell without a centre has eight zeros"


def test_a_centre_between_two_pixels():
    target = targets([[1, 1, 4, 4]], [0], (16, 16))
    assert cells_of(target) == [(1, 1)], "the centre is at 2.5: half pixels count"
    close(target[4:6, 1, 1], torch.tensor([0.25, 0.25]), "the centre is at 2.5: half pixels count")


def test_no_shape():
    for cells in (8, 3):
        assert not targets([], [], (30, 20), cells).any(), "without shapes all is zero"


def test_a_box_without_width_or_height():
    for box, place in (([21, 8, 21, 16], (2, 4)), ([20, 12, 28, 12], (2, 4))):
        found = cells_of(targets([box], [1], (40, 40)))
        assert found == [place], (
            f"the box {box} has no area, and its centre is in row 2, column 4, not in {found}: "
            "every centre has its cell"
        )
    for box, right in (([21, 8, 21, 16], [0, 0.2]), ([20, 12, 28, 12], [0.2, 0])):
        numbers = targets([box], [1], (40, 40))[6:, 2, 4]
        close(numbers, torch.tensor(right), f"the box {box}: width and height may be 0, and stay 0")


def test_a_box_that_reaches_out_of_the_image():
    for box, place in (
        ([-10, 8, 20, 16], (2, 0)),
        ([70, 30, 86, 46], (7, 7)),
        ([-30, -40, 120, 64], (2, 4)),
    ):
        target = targets([box], [1], (40, 80))
        why = f"the box {box} reaches out of an image 40 high and 80 wide"
        assert cells_of(target) == [place], f"{why}: its centre counts as it is, don't cut the box"
        right = torch.tensor([(box[2] - box[0]) / 80, (box[3] - box[1]) / 40])
        close(target[6:, *place], right, f"{why}: its size counts as it is, don't cut the box")
    out, inside = [-30, 8, 34, 16], [0, 4, 18, 22]  # 272 of its 512 pixels are inside
    why = "of two shapes in a cell one reaches out of the image: its whole area counts"
    target = targets([inside, out], [0, 2], (40, 80))
    close(target[1:4, 2, 0], torch.tensor([0.0, 0, 1]), why)


def test_one_grid_for_each_call():
    first = targets(*ONE)
    before = first.clone()
    second = targets([[0, 0, 4, 4]], [0], (40, 80))
    assert torch.equal(first, before), (
        "a second call wrote into the grid that the first one returned: make a new one each time"
    )
    assert cells_of(second) == [(0, 0)], "the second call's grid has the first call's shape"


def test_boxes_may_be_floating_point():
    for dtype in (torch.float32, torch.float64):
        target = targets([[50.0, 8.5, 61.0, 16.5]], [1], (40, 80), dtype=dtype)
        assert cells_of(target) == [(2, 5)], f"{dtype}: the centre is in row 2, column 5"
        numbers = torch.tensor([0.55, 0.5, 0.1375, 0.2])
        close(target[4:, 2, 5], numbers, f"the box of a {dtype} tensor")


def test_boxes_may_be_a_view():
    rows = torch.tensor([[0.9, 2.0, 50.0, 8.0, 60.0, 16.0]] * 2)
    try:
        target = make_targets(rows[:, 2:], torch.tensor([2, 1]), (40, 80))
        turned = make_targets(rows[:, 2:].t().contiguous().t(), torch.tensor([2, 1]), (40, 80))
    except RuntimeError as error:
        raise AssertionError(f"the boxes are columns of a wider tensor: {error}") from None
    for result, name in ((target, "columns of a wider tensor"), (turned, "a transposed tensor")):
        a_tensor(result, (8, 8, 8), name=f"the target of {name}")
        assert cells_of(result) == [(2, 5)], f"the boxes are {name}: cell (2, 5) has the object"


def test_the_largest_shape_keeps_the_cell():
    small, large = [10, 10, 14, 14], [8, 8, 18, 18]
    for boxes, labels in (([small, large], [0, 2]), ([large, small], [2, 0])):
        target = targets(boxes, labels, (64, 64))
        where = "first" if boxes[0] == large else "last"
        assert cells_of(target) == [(1, 1)], "both centres are in row 1, column 1"
        said = target[1:4, 1, 1].tolist()
        assert said != [1, 0, 1], (
            f"the large shape comes {where}: its cell has two classes, "
            "the small one's is still there"
        )
        assert said != [1, 0, 0], f"the large shape comes {where}, and the small one got the cell"
        why = f"the large shape comes {where}: "
        close(target[1:4, 1, 1], torch.tensor([0.0, 0, 1]), why + "its class")
        right = torch.tensor([10.0, 10]) / 64
        close(target[6:, 1, 1], right, why + "its width and height as shares of the image")
    target = targets([[10, 9, 15, 16], [9, 9, 15, 15]], [0, 2], (64, 64))
    why = "areas of 35 and 36: the larger one counts, however little it is larger"
    close(target[1:4, 1, 1], torch.tensor([0.0, 0, 1]), why)
    boxes = [[1000, 1000, 5096, 5098], [1000, 1000, 5097, 5097]]
    for dtype in (torch.int64, torch.float32):
        target = targets(boxes, [0, 2], (6400, 6400), 1, dtype)
        why = (
            f"boxes are {dtype}, areas 16785408 and 16785409 pixels: float32 can't tell them apart"
            ", integers and float64 can"
        )
        close(target[1:4, 0, 0], torch.tensor([0.0, 0, 1]), why)
    for right, area in ((11.3, "9.9"), (11.3999, "10.1997")):
        boxes = [[8, 8, right, 11], [8, 8, 11.4, 11]]
        target = targets(boxes, [0, 2], (64, 64), dtype=torch.float64)
        why = f"areas of {area} and 10.2: parts of a pixel count, don't round areas or sides"
        close(target[1:4, 1, 1], torch.tensor([0.0, 0, 1]), why)


def test_cells_that_are_no_whole_pixels():
    target = targets([[38, 20, 42, 28]], [1], (50, 81))
    assert cells_of(target) == [(3, 3)], (
        "50 by 81 pixels, cells 6.25 high and 10.125 wide: the centre, x = 40 and y = 24, is in "
        f"row 3, column 3, not in {cells_of(target)}"
    )


def test_every_cell_has_its_own_largest():
    small = [[10 * x + 4, 10 * y + 4, 10 * x + 6, 10 * y + 6] for y in range(2) for x in range(2)]
    large = [[10 * x + 2, 10 * y + 2, 10 * x + 8, 10 * y + 8] for y in range(2) for x in range(2)]
    large[0] = [0, 0, 10, 10]
    target = targets([*small, *large], [0] * 4 + [2] * 4, (20, 20), cells=2)
    found = cells_of(target)
    assert len(found) == 4, f"each of four neighbouring cells has a centre, and only {found} count"
    right = torch.tensor([0.0, 0, 1])[:, None, None].expand(3, 2, 2)
    close(target[1:4], right, "two shapes in each of four cells: each keeps its own largest")


def test_of_equal_areas_the_first_keeps_the_cell():
    for boxes in ([[4, 6, 8, 15], [3, 3, 9, 9]], [[3, 3, 9, 9], [4, 6, 8, 15]]):
        target = targets(boxes, [1, 0], (36, 48), cells=2)
        why = "both areas are 36 pixels: the first counts"
        close(target[1:4, 0, 0], torch.tensor([0.0, 1, 0]), why)
    narrow, flat = [20, 8, 20, 16], [16, 12, 24, 12]
    for boxes in ([narrow, flat], [flat, narrow]):
        target = targets(boxes, [1, 0], (40, 40))
        why = (
            "two shapes in a cell, one without width and one without height: both areas are 0, and "
            "the first counts. A cell is taken when its number 0 is 1"
        )
        close(target[1:4, 2, 4], torch.tensor([0.0, 1, 0]), why)
    target = targets([[3, 3, 9, 9]] * 40, [1] + [0, 2] * 19 + [0], (64, 64))
    why = "forty equal areas: the first counts. A sort keeps their order where it is stable=True"
    close(target[1:4, 0, 0], torch.tensor([0.0, 1, 0]), why)
    for n in (100, 300, 1000):  # a sort that isn't stable may keep short rows in order
        boxes = [[3, 3, 9, 9] if k % 3 == 1 else [4, 4, 8, 8] for k in range(n)]
        target = targets(boxes, [0] + [1] + [2] * (n - 2), (64, 64))
        why = (
            f"every third of {n} boxes is the largest, all in one cell: the first of them counts. "
            "A sort keeps the order of equal areas where it is stable: stable=True in torch, "
            'kind="stable" in NumPy'
        )
        close(target[1:4, 0, 0], torch.tensor([0.0, 1, 0]), why)


def test_of_three_equal_areas_the_first_keeps_the_cell():
    boxes = [[3, 3, 9, 9], [4, 6, 8, 15], [2, 5, 14, 8]]
    for turn in range(3):
        turned = boxes[turn:] + boxes[:turn]
        for size in ((36, 48), (53, 31), (64, 64), (30, 38), (30, 46), (30, 63)):
            target = targets(turned, [1, 0, 2], size, cells=1)
            why = "three areas of 36 pixels: the first"
            close(target[1:4, 0, 0], torch.tensor([0.0, 1, 0]), why)


def test_a_centre_on_the_line_between_two_cells():
    found = cells_of(targets([[4, 20, 12, 28]], [0], (64, 64)))
    assert found == [(3, 1)], (
        f"the centre, x = 8 and y = 24, is on two lines, and the object is in {found}: it belongs "
        "to the cell to the right, and below"
    )
    target = targets([[4, 20, 12, 28]], [0], (64, 64))
    close(target[4:6, 3, 1], torch.zeros(2), "on the line the place within the cell is 0")
    found = cells_of(targets([[44, 94, 54, 102]], [0], (392, 392)))
    assert found == [(2, 1)], (
        f"the centre of a photograph of 392 x 392, x = 49 and y = 98, is on two lines, and the "
        f"object is in {found}: 49 * (8 / 392) is less than 1, as the fraction was rounded first; "
        "multiply by 8, then divide by 392"
    )
    found = cells_of(targets([[4.0, 20, 12 - 4e-8, 28]], [0], (64, 64), dtype=torch.float64))
    assert found == [(3, 0)], (
        f"the centre, x = 8 - 2e-8, is left of the line, and the object is in {found}: float32 "
        "rounds it to 8, float64 doesn't"
    )
    found = cells_of(targets([[4 + 2**-21, 20, 12 - 2**-20, 28]], [0], (64, 64), 8, torch.float32))
    assert found == [(3, 0)], (
        "the boxes are float32, and the centre is just left of the line x = 8: the object is in "
        f"{found}. float32 rounds left + right to 16: make float64 of the boxes before you add"
    )


def test_several_shapes_and_another_grid():
    boxes = [[0, 0, 20, 20], [60, 40, 80, 60], [0, 40, 10, 60]]
    target = targets(boxes, [0, 1, 2], (60, 80), cells=4)
    assert cells_of(target) == [(0, 0), (3, 0), (3, 3)], (
        f"in 4 by 4 cells the centres are in (0, 0), (3, 3) and (3, 0), not {cells_of(target)}"
    )
    close(target[1:4, 3, 3], torch.tensor([0.0, 1, 0]), "each shape keeps its own class")
    target = targets([[81, 4, 87, 8], [2, 14, 6, 18]], [0, 1], (100, 100), cells=10)
    found = cells_of(target)
    assert found == [(0, 8), (1, 0)], (
        f"of 10 by 10 cells, (0, 8) and (1, 0) are two, and objects are in {found}: a row has "
        "`cells` cells, not 8"
    )
    place = targets([[1702, 0, 1704, 4]], [0], (1777, 1777), cells=300)[4, 0, 287:288]
    right = torch.tensor([1703 * 300 / 1777 - 287])
    close(place, right, "a grid of 300 cells: the place within the cell, counted in float64")
    boxes = [[10 * n, 0, 10 * n + 3 + 5 * n % 7, 6] for n in range(6)]  # not in order of size
    target = targets(boxes, [0, 1, 2, 0, 1, 2], (48, 64), cells=6)
    for n, (left, _, right, _) in enumerate(boxes):
        numbers = target[1:, 0, int((left + right) / 2 * 6 / 64)]
        kind, wide = torch.eye(3)[n % 3], torch.tensor([(right - left) / 64])
        close(numbers[:3], kind, f"shape {n} of six, of other sizes: each keeps its own class")
        close(numbers[5:6], wide, f"shape {n} of six, of other sizes: each keeps its own width")
