import math
from unittest.mock import patch

import torch
import torch.nn as nn
from expect import NOTHING, a_tensor, close

from shapefinder.model import build_model


def build(seed=0, **options):
    torch.manual_seed(seed)
    model = build_model(**options)
    assert model is not None, NOTHING
    assert isinstance(model, nn.Module), f"a {type(model).__name__} came back, not a module"
    return model


def shaken(model, seed=1):
    """The same model with other weights, as after some training."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn(parameter.shape, generator=generator)
    return model


def ran(model, x):
    try:
        return model(x)
    except (ValueError, RuntimeError) as error:
        n, _, height, width = x.shape
        words = f"{n} images {height} x {width}: h and w may be any from 1"
        raise AssertionError(f"{words}. {error}") from None


def images(n, height, width, seed=2):
    return torch.randn(n, 3, height, width, generator=torch.Generator().manual_seed(seed))


def test_eight_numbers_for_each_cell():
    model = build()
    for n, height, width in ((2, 64, 64), (1, 48, 80), (3, 8, 16)):
        shape = (n, 8, height // 8, width // 8)
        result = ran(model, images(n, height, width))
        a_tensor(result, shape, name=f"for {n} images {height} x {width}")


def test_images_may_be_views():
    model, x = shaken(build()), images(3, 16, 24)
    turned = x.transpose(2, 3).contiguous().transpose(2, 3)
    for name, view in (
        ("transposed images", turned),
        ("images with their channels last", x.contiguous(memory_format=torch.channels_last)),
    ):
        try:
            result = model(view)
        except RuntimeError as error:
            words = f"{name} are images, too: `reshape` takes what `view` refuses"
            raise AssertionError(f"{words}. {error}") from None
        close(result, model(x), f"{name} give other numbers than the same pixels", 1e-3, 1e-4)


def test_a_single_cell_in_both_modes():
    for width, mode in ((16, True), (16, False), (8, True), (8, False)):
        name = f"one image of one cell, width {width}, training is {mode}"
        try:
            result = shaken(build(width=width)).train(mode)(images(1, 8, 8))
        except (ValueError, RuntimeError) as error:
            words = "h and w may be 1, and then each channel has a single number"
            raise AssertionError(f"{name}: {words}. {error}") from None
        a_tensor(result, (1, 8, 1, 1), name=name)


def test_before_training_every_cell_has_the_prior():
    for prior in (0.3, 0.05, 1e-3, 0.999):
        raw = build(prior=prior)(images(2, 64, 64))[:, 0]
        there = raw.sigmoid()
        assert not torch.allclose(raw, torch.full_like(raw, prior)), (
            "number 0 is the prior itself: its sigmoid has to be the prior"
        )
        assert not torch.allclose(there, torch.full_like(raw, 1 - prior)), (
            f"the sigmoid of number 0 is {1 - prior:g}, one minus the prior: odds are p / (1 - p)"
        )
        fixed = prior == 0.3 and torch.allclose(there, torch.full_like(raw, 0.05), atol=1e-3)
        assert not fixed, f"the prior is {prior}, and the sigmoid of number 0 is still 0.05"
        assert raw.max() - raw.min() < 1e-4, (
            "before training number 0 differs from cell to cell: the last layer's weights are zero"
        )
        why = f"with prior {prior}, which is allowed as any other, the sigmoid of number 0"
        close(there, torch.full_like(there, prior), why, 1e-4)
    found = build(prior=1e-5)(images(1, 64, 64))[:, 0].sigmoid().max().item()
    assert math.isclose(found, 1e-5, rel_tol=0.01), (
        f"with prior 0.00001 the sigmoid of number 0 is {found:.6f}: a small prior counts as it is "
        "and is not cut off"
    )
    there = build()(images(1, 64, 64))[:, 0].sigmoid()
    close(there, torch.full_like(there, 0.05), "without a prior it is 0.05")
    for width, height, wide in ((8, 72, 40), (24, 8, 24), (32, 16, 8)):
        there = ran(build(width=width, prior=0.2), images(2, height, wide))[:, 0].sigmoid()
        why = f"width {width}, prior 0.2, images {height} x {wide}: the sigmoid of number 0"
        close(there, torch.full_like(there, 0.2), why, 1e-4)


def test_the_width_counts():
    made = {}
    for width in (8, 24, 40, 72, 120):
        try:
            made[width] = dict(build(width=width).named_parameters())
        except (ValueError, RuntimeError) as error:
            raise AssertionError(
                f"a width of {width} is a multiple of 8, too, and the model isn't made: {error}"
            ) from None
    for narrow, wide in ((8, 24), (24, 72), (72, 120)):
        small, large = made[narrow], made[wide]
        few, many = (sum(p.numel() for p in one.values()) for one in (small, large))
        assert few < many, (
            f"{few} parameters at width {narrow} and {many} at width {wide}: all layers grow with "
            "the width"
        )
        layers = [name for name, p in small.items() if p.squeeze().dim() > 1 and name in large]
        stay = [name for name in layers if large[name].numel() <= small[name].numel()]
        assert not stay, (
            f"{', '.join(stay[:3])} is as large at width {narrow} as at width {wide}: all layers "
            "but the last grow with the width"
        )
        sizes = {name: (p.squeeze().shape[:1], large.get(name, p)) for name, p in small.items()}
        stay = [n for n, (size, p) in sizes.items() if size and 8 < size[0] == p.squeeze().shape[0]]
        assert not stay, (
            f"{', '.join(stay[:3])} has as many channels at width {narrow} as at width {wide}: all "
            "layers but the last grow with the width, those in the middle as well"
        )
    default = sum(p.numel() for p in build().parameters())
    assert default <= 250_000, f"{default} parameters, at most 250000 are allowed"
    assert default == sum(p.numel() for p in build(width=16).parameters()), "the width is 16"


def test_the_numbers_are_raw():
    lowest = torch.stack([shaken(build(), n)(images(2, 64, 64)).amin((0, 2, 3)) for n in range(8)])
    for channel, low in enumerate(lowest.amin(0).tolist()):
        assert low < 0, (
            f"number {channel} is never negative, with eight times other weights: the eight "
            "numbers are raw, without an activation behind the last layer"
        )
    model = shaken(build())
    with torch.no_grad():
        for parameter in model.parameters():
            parameter *= 100
    large = model(images(4, 64, 64)).detach()
    for channel in range(8):
        most = large[:, channel].abs().max().item()
        assert not most <= 50, (
            f"with weights a hundred times as large number {channel} still lies within {most:.3g} "
            "of 0: raw numbers are not clipped"
        )


def held(x, groups, weight=None, bias=None, eps=1e-5):
    """Group norm whose mean and variance count as constants: they come from the whole image."""
    parts = x.unflatten(1, (groups, -1))
    with torch.no_grad():
        variance, mean = torch.var_mean(parts, (2, 3, 4), correction=0, keepdim=True)
    y = ((parts - mean) / (variance + eps).sqrt()).flatten(1, 2)
    y = y if weight is None else y * weight[:, None, None]
    return y if bias is None else y + bias[:, None, None]


def held_instance(x, *means, weight=None, bias=None, eps=1e-5, **others):
    return held(x, x.shape[1], weight, bias, eps)


def seen_by_a_cell(model, height, width):
    """Which pixels of an image the cell of the pixels 64 to 71 depends on."""
    x = images(1, height, width).requires_grad_()
    home = "torch.nn.functional."
    with patch(home + "group_norm", held), patch(home + "instance_norm", held_instance):
        numbers = ran(model, x)[0, :, 8 * (height > 8), 8 * (width > 8)]
    numbers.square().sum().backward()
    return x.grad[0].abs().sum(0) > 0


def test_a_cell_sees_the_pixels_around_it():
    for height, width in ((128, 128), (8, 128), (128, 8)):
        name = f"an image {height} x {width}"
        seen = seen_by_a_cell(shaken(build()).eval(), height, width)
        assert seen.any(), f"{name}: a cell depends on no pixel at all"
        rows, columns = seen.any(1).nonzero(), seen.any(0).nonzero()
        for along, side, found in (("y", height, rows), ("x", width, columns)):
            low, high = int(found.min()), int(found.max())
            assert side == 8 or (low <= 64 - 16 and high >= 71 + 16), (
                f"{name}: the cell of pixels 64 to 71 sees {low} to {high} along {along}, and "
                "should see 16 more on every side: a shape is larger than a cell"
            )


def test_an_image_is_judged_alone():
    model, x = shaken(build()), images(3, 64, 64)
    x[0] *= 20  # a bright one beside the others
    assert not torch.equal(model(x), model(x.flip(2))), (
        "other images of the same shape gave the numbers of an earlier call"
    )
    for mode in (True, False):
        model.train(mode)
        together, alone = model(x)[1:2], model(x[1:2])
        close(model(x)[1:2], together, "the same images gave other numbers: is something random in "
              "the network?", 1e-3, 1e-4)  # fmt: skip
        name = "training" if mode else "evaluation"
        why = f"in {name} mode an image's numbers depend on the others"
        close(together, alone, why, 1e-3, 1e-4)


def test_both_modes_agree():
    model, x = shaken(build()), images(2, 64, 64)
    close(model.train()(x), model.eval()(x), "training and evaluation mode differ", 1e-4, 1e-5)


def test_every_parameter_is_used():
    model = shaken(build())
    model(images(2, 64, 64)).square().sum().backward()
    idle = [name for name, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    assert not idle, f"no gradient reaches {idle[:3]}: make no layer that forward does not use"


def test_a_seed_makes_the_model():
    first, second, other = build(3), build(3), build(4)
    same = [torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True)]
    assert all(same), "the same seed made two different models"
    weights = {name: p for name, p in first.named_parameters() if p.squeeze().dim() > 1}
    drawn = {name: p for name, p in weights.items() if not bool((p == p.flatten()[0]).all())}
    assert drawn or not weights, (
        "all weights are alike, and so are the gradients of a layer's channels: the last layer's "
        "alone may begin with zeros"
    )
    others = dict(other.named_parameters())
    same = [name for name, p in drawn.items() if torch.equal(p, others[name])]
    assert not same or len(same) < len(drawn), (
        "two seeds made the same model: leave the seed to the caller, and draw from torch's "
        "default generator"
    )
    assert not same, (
        f"two seeds gave {', '.join(same[:3])} the same numbers: draw every weight from torch's "
        "default generator"
    )
    earlier = dict(build(3).named_parameters())
    later = dict(build_model().named_parameters())  # nobody has seeded in between
    same = [name for name in drawn if torch.equal(earlier[name], later[name])]
    assert not same, (
        f"{', '.join(same[:3])} is alike in two models that were made one after the other: draw "
        "every weight from torch's default generator, which goes on, not from one of your own"
    )
    shared = {id(value) for value in first.parameters()} & {id(v) for v in second.parameters()}
    assert not shared, (
        "two models share a layer, and training one would change the other: make every layer anew"
    )
    after = [(build(seed), torch.get_rng_state())[1] for seed in (3, 4)]
    assert not torch.equal(*after), "the generator was seeded anew: leave the seed to the caller"


def test_other_dtypes():
    model = shaken(build())
    first = model(images(1, 64, 64))
    try:
        second = model.double()(images(1, 64, 64).double())
    except RuntimeError as error:
        words = "after .double() some tensor is still float32: it is no parameter and no buffer"
        raise AssertionError(f"{words}. {error}") from None
    a_tensor(second, (1, 8, 8, 8), torch.float64, "in float64, after a call in float32")
    close(second, first, "in float64 the numbers are others than in float32", 1e-3, 1e-4)
    finer = model(images(1, 64, 64).double() + 1e-13)
    assert not torch.equal(finer, second), "in float64 the network still counts in float32"
    x = images(1, 64, 64)
    before = x.clone()
    shaken(build())(x)
    assert torch.equal(x, before), "the images were changed"
