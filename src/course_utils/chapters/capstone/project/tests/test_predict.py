import io
import math
from contextlib import contextmanager, suppress

import torch
import torch.nn as nn
from expect import NOTHING, close
from PIL import Image

from shapefinder.folder import prepare
from shapefinder.predict import find_shapes


def an_image(mode="RGB", size=(100, 60)):
    ramp = Image.linear_gradient("L").resize(size)
    picture = Image.merge("RGB", [ramp, ramp.rotate(90).resize(size), Image.new("L", size, 40)])
    picture = picture.convert(mode)
    if mode == "RGBA":
        picture.putalpha(ramp)  # transparent in places
    return picture


class Notes(list):
    """A copy of the model writes into the same notes."""

    def __deepcopy__(self, memo):
        return self


class Fixed(nn.Module):
    """Whatever it gets, it finds the same shapes, and it remembers what it got."""

    def __init__(self, *objects, dtype=torch.float32, trains=True):
        super().__init__()
        self.weight = nn.Parameter(torch.full((1,), 1 / 3, dtype=dtype), requires_grad=trains)
        self.frozen = nn.Parameter(torch.zeros(1, dtype=torch.float64), requires_grad=False)
        self.part = nn.Dropout(0.5)
        self.outer = nn.Sequential(nn.Dropout(0.5))
        self.again = nn.Sequential(self.outer[0])
        self.objects, self.got, self.modes, self.graphs = objects, Notes(), Notes(), Notes()

    def forward(self, x):
        self.got.append(x.detach().clone())
        self.modes.append((self.training, self.part.training))
        assert x.dtype == self.weight.dtype, (
            f"{x.dtype} came, and the first parameter is {self.weight.dtype}"
        )
        assert not torch.is_autocast_enabled("cpu"), (
            "the network ran under autocast: it computes in the dtype of its first parameter"
        )
        output = torch.full((len(x), 8, 8, 8), -9.0, dtype=self.weight.dtype)
        for row, column, label, sure in self.objects:
            output[:, 0, row, column] = math.log(sure / (1 - sure))
            output[:, 1 + label, row, column] = 9.0
            output[:, 4:6, row, column] = 0.0
            output[:, 6:, row, column] = -math.log(3)  # a quarter of width and height
        output = output + 0 * self.weight
        self.graphs.append(output.requires_grad)
        return output


@contextmanager
def all_as_it_was(model):
    """What is no result, also after an error; hooks that were there run as before."""
    before = [(weight.dtype, weight.requires_grad) for weight in model.parameters()]
    numbers = [weight.detach().clone() for weight in model.parameters()]
    parts = [len(part._forward_hooks) + len(part._forward_pre_hooks) for part in model.modules()]
    model.weight.grad = torch.ones_like(model.weight)
    called = []
    theirs = model.register_forward_hook(lambda *_: called.append(True))
    later = "after an error: "
    try:
        yield called
        later = ""
    finally:
        assert model.weight.grad is not None and model.weight.grad.item() == 1, (
            f"{later}the weights' gradients were changed: whoever trains the model still needs them"
        )
        assert [(weight.dtype, weight.requires_grad) for weight in model.parameters()] == before, (
            f"{later}the model was changed: its weights keep their dtype and whether they require "
            "grad"
        )
        hooks = list(model._forward_hooks)
        gone = f"{later}a hook that was on the model before is gone: it isn't yours"
        assert theirs.id in hooks, gone
        theirs.remove()
        assert hooks == [theirs.id], f"{later}a hook is left on the model"
        after = [len(one._forward_hooks) + len(one._forward_pre_hooks) for one in model.modules()]
        assert after == parts, f"{later}the model or a part of it has other hooks than before"
        assert all(map(torch.equal, numbers, model.parameters())), (
            f"{later}the weights have other numbers than before: whoever uses a network doesn't "
            "write into it"
        )
        kept = f"{later}a weight without a gradient has one behind the call"
        assert model.frozen.grad is None, kept


def find(model, image):
    with all_as_it_was(model) as called:
        result = find_shapes(model, image)
    assert result is not None, NOTHING
    if model.got:
        assert called, "a hook of the network didn't run: call model(x), not model.forward(x)"
    assert isinstance(result, list), f"a {type(result).__name__} came back, not a list"
    for shape in result:
        assert isinstance(shape, dict), f"the list holds a {type(shape).__name__}, not dicts"
        assert set(shape) == {"shape", "confidence", "box"}, f"the keys are {sorted(shape)}"
        plain = type(shape["confidence"]) is float and type(shape["box"]) is list
        assert plain and all(type(edge) is float for edge in shape["box"]), (
            "confidence is a float and the box a list of four floats, and here they are "
            f"{type(shape['confidence']).__name__} and {type(shape['box']).__name__} of "
            f"{sorted({type(edge).__name__ for edge in shape['box']})}: `tolist` gives plain ones"
        )
    return result


def test_the_model_gets_what_it_was_trained_on():
    for mode in ("RGB", "L", "RGBA", "P", "CMYK"):
        model, image = Fixed(), an_image(mode)
        right = prepare(image)[None]
        find(model, image)
        x = model.got[0]
        assert x.shape == right.shape, f"{mode}: the model got {tuple(x.shape)}"
        close(x, right, f"mode {mode}: the model's pixels are not those of training", 0, 1e-6)
    for size in ((1, 1), (1, 300), (900, 2)):
        model, image = Fixed(), an_image(size=size)
        right = prepare(image)[None]
        try:
            find(model, image)
        except (ValueError, ZeroDivisionError) as error:
            raise AssertionError(
                f"an image of {size} pixels is an image as well: {error}"
            ) from None
        close(model.got[0], right, f"an image of {size} pixels", 0, 1e-6)


def test_an_image_that_was_taken_sideways():
    file, exif = io.BytesIO(), Image.Exif()
    exif[0x0112] = 6  # the camera was turned, and viewers turn the picture
    an_image(size=(1000, 600)).save(file, "JPEG", exif=exif)
    right, image, model = prepare(Image.open(file))[None], Image.open(file), Fixed((2, 5, 0, 0.9))
    (found,) = find(model, image)
    assert image.size == (1000, 600), "the image was changed: a JPEG file came smaller"
    why = "the file says that the camera was turned, and training doesn't look at that"
    close(model.got[0], right, f"{why}: the model's pixels", 0, 1e-6)
    assert found["box"][2] > 600, f"{why}: the box is in pixels of `image`, 1000 wide and 600 high"


def test_names():
    for label, name in enumerate(("circle", "square", "triangle")):
        found = find(Fixed((3, 3, label, 0.9)), an_image())
        assert [one["shape"] for one in found] == [name], (
            f"label {label} is a {name}, and was called {[one['shape'] for one in found]}"
        )


def test_boxes_in_pixels_of_the_image():
    for size in ((100, 60), (60, 100), (64, 64)):
        (found,) = find(Fixed((2, 5, 0, 0.9)), an_image(size=size))
        width, height = size
        shares = [11 / 16 - 1 / 8, 5 / 16 - 1 / 8, 11 / 16 + 1 / 8, 5 / 16 + 1 / 8]
        right = [share * side for share, side in zip(shares, (width, height) * 2, strict=True)]
        slips = {
            "width and height are exchanged: `image.size` is (width, height)": (height, width) * 2,
            "these are shares of the image: wanted are its pixels": (1, 1, 1, 1),
        }
        wrong = {
            words: [share * side for share, side in zip(shares, sides, strict=True)]
            for words, sides in slips.items()
            if sides != (width, height) * 2
        }
        wrong["left, top, width, height: wanted are left, top, right, bottom"] = [
            *right[:2], right[2] - right[0], right[3] - right[1],
        ]  # fmt: skip
        for words, box in wrong.items():
            near = all(abs(a - b) < 1e-2 for a, b in zip(found["box"], box, strict=True))
            assert not near, f"in an image {width} wide and {height} high the box is off: {words}"
        off = max(abs(a - b) for a, b in zip(found["box"], right, strict=True))
        assert off < 1e-2, (
            f"in an image {width} wide and {height} high the box {found['box']} is off by "
            f"{off:.1f} pixels"
        )


def test_the_surest_first():
    objects = [(1, 1, 0, 0.6), (5, 5, 1, 0.95), (1, 6, 2, 0.8)]
    found = find(Fixed(*objects), an_image())
    assert [round(one["confidence"], 2) for one in found] == [0.95, 0.8, 0.6], (
        f"confidences {[round(one['confidence'], 2) for one in found]}: the surest comes first"
    )


def test_confidences_are_not_rounded():
    (found,) = find(Fixed((3, 3, 0, 0.87654)), an_image())
    off = abs(found["confidence"] - 0.87654)
    assert off < 1e-5, f"the confidence 0.87654 came out as {found['confidence']}: don't round it"


def test_many_shapes():
    places = [(row, column) for row in range(0, 8, 2) for column in range(0, 8, 2)]
    model = Fixed(*((*place, n % 3, 0.9) for n, place in enumerate(places)))
    for size in ((100, 60), (20, 12)):
        found = find(model, an_image(size=size))
        assert len(found) == 16, (
            f"16 shapes are in the output for an image of {size} pixels, and {len(found)} came "
            "back: keep all"
        )


def test_nothing_to_find():
    assert find(Fixed(), an_image()) == [], "where nothing is found the list is empty"
    assert find(Fixed((1, 1, 0, 0.4)), an_image()) == [], "below a confidence of 0.5 nothing counts"


def test_modes():
    for outer in (True, False):
        model = Fixed((3, 3, 1, 0.9)).train(outer)
        model.part.train(not outer)
        model.outer[0].train(not outer)  # this part belongs to model.again as well
        before = [part.training for part in model.modules()]
        find(model, an_image())
        assert model.modes[0] == (False, False), "the model ran in training mode"
        assert model.training is outer, "the model's mode has changed"
        assert model.part.training is not outer, "the mode of a part of the model has changed"
        assert model.outer.training is outer, "the mode of a part of the model has changed"
        assert model.outer[0].training is not outer, (
            "the mode of a part within a part has changed; `train(…)` of a module sets its parts, "
            "too, also a part that two modules share"
        )
        after = [part.training for part in model.modules()]
        assert after == before, "the mode of a part of the model has changed: put back that of each"


def test_modes_after_an_error():
    for error in (RuntimeError("out of memory"), KeyboardInterrupt()):

        class Broken(Fixed):
            def forward(self, x, error=error):
                raise error

        model = Broken()
        model.part.eval()
        with suppress(RuntimeError, KeyboardInterrupt):
            find(model, an_image())
        assert model.training and not model.part.training, (
            f"the model raised {type(error).__name__}, and was left in another mode: put the modes "
            "back in any case"
        )


def test_modes_after_an_image_that_breaks_off():
    file = io.BytesIO()
    an_image(size=(300, 200)).save(file, "JPEG")
    model = Fixed()
    model.part.eval()
    with suppress(OSError):
        find(model, Image.open(io.BytesIO(file.getvalue()[: len(file.getvalue()) // 2])))
    assert model.training and not model.part.training, (
        "the image could not be read to its end, and the model was left in another mode: what "
        "`prepare` raises counts, too"
    )


def test_modes_of_a_second_call():
    model = Fixed((3, 3, 1, 0.9))
    for outer in (True, False, True):
        model.train(outer)
        model.part.train(not outer)
        find(model, an_image())
        assert (model.training, model.part.training) == (outer, not outer), (
            "a later call put back the modes of an earlier one: note them anew in each call"
        )


def test_each_call_looks_anew():
    image = an_image()
    names = [find(Fixed((3, 3, label, 0.9)), image)[0]["shape"] for label in (0, 2)]
    assert names == ["circle", "triangle"], (
        f"two models found {names} in the same image, not a circle and a triangle: each call asks "
        "the model that it gets"
    )
    model = Fixed((2, 5, 0, 0.9))
    boxes = [find(model, an_image(size=size))[0]["box"] for size in ((100, 60), (60, 100))]
    assert boxes[0] != boxes[1], "two images of different sizes got the same box"
    assert len(model.got) == 2, f"two images, and the model was called {len(model.got)} times"


def test_no_graph():
    model = Fixed((3, 3, 1, 0.9))
    find(model, an_image())
    assert model.graphs == [False], "the model ran with a graph"
    assert torch.is_grad_enabled(), "gradients stay switched off behind the call"


def test_a_graph_is_off_already():
    model = Fixed((3, 3, 1, 0.9))
    with torch.no_grad():
        find(model, an_image())
        assert not torch.is_grad_enabled(), "gradients were off, and are on behind the call"


def test_other_weights():
    (plain,) = find(Fixed((3, 3, 1, 0.9)), an_image())
    for dtype in (torch.float64, torch.bfloat16, torch.float16):
        (found,) = find(Fixed((3, 3, 1, 0.9), dtype=dtype), an_image())
        assert found["shape"] == plain["shape"], f"a model in {dtype} found something else"
    model = Fixed((3, 3, 1, 0.9), trains=False)
    model.later = nn.Parameter(torch.zeros(1, dtype=torch.float64))
    find(model, an_image())
    assert model.got[0].dtype == torch.float32, "the first parameter counts, also if it is frozen"
    first, model = nn.Identity(), Fixed((3, 3, 1, 0.9))
    first.register_buffer("seen", torch.zeros(1, dtype=torch.float64))
    try:
        find_shapes(nn.Sequential(first, model), an_image())
    except AssertionError as error:
        why = "the network's state dict begins with a buffer, which is no parameter"
        raise AssertionError(f"{why}: {error}") from None


def test_the_image_stays():
    for image in (an_image("RGBA"), an_image(size=(900, 700))):
        before = image.copy()
        find(Fixed((3, 3, 1, 0.9)), image)
        assert image.size == before.size, f"the image was changed: it had {before.size} pixels"
        assert image == before, (
            "the image was changed, its mode, its pixels or its dict `info`: it stays as it is"
        )
