"""Exercise ``show-batch``: pictures and titles of a figure."""

from __future__ import annotations

from collections.abc import Callable

import matplotlib.pyplot as plt
import numpy as np
import torch

from course_utils.chapters.visualization.comparing import check_seen
from course_utils.learner.changes import forbid_changes
from course_utils.learner.checks import check_equal
from course_utils.learner.devices import device
from course_utils.learner.tracebacks import ends_in_notebook, what_was_raised


class OnGPU(torch.Tensor):
    """A tensor that matplotlib can't read, as if it were on a GPU; a copy by ``cpu()`` it can.

    What is computed from such a tensor is one as well. No GPU is needed.
    """

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        Tensor, kwargs = torch.Tensor, kwargs or {}
        if func in (Tensor.numpy, Tensor.__array__, Tensor.__dlpack__):
            words = "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the"
            raise TypeError(words + " tensor to host memory first.")
        result = super().__torch_function__(func, types, args, kwargs)
        asked = [kwargs.get("device"), *args[1:]]
        to_cpu = func is Tensor.to and any(str(entry) == "cpu" for entry in asked)
        if func is Tensor.cpu or to_cpu:
            return result.as_subclass(Tensor)
        return result


def seen_show_batch(answer: Callable, on_gpu: bool, images, labels, names, mean, std) -> dict:
    """The titles and pictures in the figure, or what went wrong."""
    if on_gpu:
        images, mean, std = (tensor.as_subclass(OnGPU) for tensor in (images, mean, std))
    try:
        figure = answer(images, labels, names, mean, std)
        more = None if len(images) < 3 else answer(images.flip(0), labels, names, mean, std)
        if more is not None and more is figure:
            words = "a second call gave the same figure, and drew over the first one's pictures"
            return {"error": f"{words}: make a new one in each call"}
    except Exception as error:
        return {"error": f"it {what_was_raised(error)}"}
    finally:
        plt.close("all")
    if not isinstance(figure, plt.Figure):
        what = "None" if figure is None else f"a {type(figure).__name__}"
        return {"error": f"it returned {what}, not the figure"}
    shown, pictures = [axes for axes in figure.axes if axes.images], []
    for axes in shown:
        array = np.asarray(axes.images[0].get_array())
        pictures.append(torch.tensor(array / (255 if array.dtype == np.uint8 else 1)).float())
    titles = [[axes.get_title(loc=side) for side in ("left", "center", "right")] for axes in shown]
    return {"titles": ["".join(title) for title in titles], "pictures": pictures}


@ends_in_notebook
def check_batch(attempt, on_gpu, images, labels, names, mean, std) -> None:
    with forbid_changes(images, mean, std):
        found = attempt(on_gpu, images, labels, names, mean, std)
    hint = "; is there an answer yet? imshow wants (height, width, channel)"
    hint = hint if "Invalid shape (3, " in str(found) else ""
    if "Invalid shape (3,)" in str(found):
        hint = "; all three dimensions stay, also where the height or width is 1"
    if "must match the size of tensor" in str(found):
        hint = "; mean and std have an entry for each channel: give them two dimensions behind it"
    assert "error" not in found, found["error"] + hint
    wanted = [names[label] for label in labels]
    titles, shown = found["titles"], len(found["titles"])
    why = f"axes with a picture: {shown}, images: {len(images)}" if shown != len(images) else ""
    why = "in the order of the images" if sorted(titles) == sorted(wanted) else why
    why = "a title is the label's name, names[label]" if set(titles) - set(names) else why
    check_equal(titles, wanted, "the titles, one axes for each image, in order", why)
    images, m, s = images.detach().cpu(), mean.cpu()[:, None, None], std.cpu()[:, None, None]
    first = (images[0] * s + m).clamp(0, 1).permute(1, 2, 0)
    for n, (x, picture) in enumerate(zip(images, found["pictures"], strict=True)):
        truth, back = (x * s + m).clamp(0, 1), x * s + m
        stretched = (back - back.min()) / (back.max() - back.min() + 1e-12)
        slips = {
            "that is the first image; each has its own axes": first,
            "it is still normalised: times std, plus mean": x.clamp(0, 1).permute(1, 2, 0),
            "mean and std have changed places": (x * m + s).clamp(0, 1).permute(1, 2, 0),
            "that normalises it once more; go back": ((x - m) / s).clamp(0, 1).permute(1, 2, 0),
            "plus mean comes after times std": ((x + m) * s).clamp(0, 1).permute(1, 2, 0),
            "height and width have changed places": truth.permute(2, 1, 0),
            "view and reshape don't move the channel": truth.reshape(*x.shape[1:], 3),
            "stretched to its own range: cut off at 0 and 1 instead": stretched.permute(1, 2, 0),
            "stretched to its own range instead of times std, plus mean": (
                (x - x.min()) / (x.max() - x.min() + 1e-12)
            ).permute(1, 2, 0),
            "clamp comes last, after times std, plus mean": (x.clamp(0, 1) * s + m).permute(
                1, 2, 0
            ),
            "clamp comes last, after plus mean": ((x * s).clamp(0, 1) + m)
            .clamp(max=1)
            .permute(1, 2, 0),
            "black all over: clamp(0, 1) takes the lower limit first": 0 * x.permute(1, 2, 0),
            "white all over: cut off at 0 below and at 1 above": 0 * x.permute(1, 2, 0) + 1,
            "the mean of each channel, not one for all": (x * s + m.mean())
            .clamp(0, 1)
            .permute(1, 2, 0),
            "mean and std of each channel, not one for all": (x * s.mean() + m.mean())
            .clamp(0, 1)
            .permute(1, 2, 0),
            "mean and std of the first channel; each channel has its own": (x * s[0] + m[0])
            .clamp(0, 1)
            .permute(1, 2, 0),
            "plus mean: it was subtracted": (x * s - m).clamp(0, 1).permute(1, 2, 0),
            "what is below 0 is shown as 0, not with its sign turned": back.abs()
            .clamp(0, 1)
            .permute(1, 2, 0),
            "the channels are in reverse order": truth.flip(0).permute(1, 2, 0),
            "upside down": truth.flip(1).permute(1, 2, 0),
            "left and right have changed places": truth.flip(2).permute(1, 2, 0),
            "mean and std belong to channels, not to columns": (x * s[:, 0, 0] + m[:, 0, 0])
            .clamp(0, 1)
            .permute(1, 2, 0)
            if x.shape[2] == 3
            else 0 * first - 1,
            "mean and std belong to channels, not to rows": (x * s[:, 0] + m[:, 0])
            .clamp(0, 1)
            .permute(1, 2, 0)
            if x.shape[1] == 3
            else 0 * first - 1,
            "cut off at 0 and 1: it was wrapped round": (back % 1).permute(1, 2, 0),
            "plus the mean that was handed in, not the image's own": (
                x * s + x.mean((1, 2), keepdim=True)
            )
            .clamp(0, 1)
            .permute(1, 2, 0),
            "plus mean is missing": (x * s).clamp(0, 1).permute(1, 2, 0),
            "times std is missing": (x + m).clamp(0, 1).permute(1, 2, 0),
            "times std: it was divided by it": (x / s + m).clamp(0, 1).permute(1, 2, 0),
            "floats are shown from 0 to 1, not to 255": (truth * 255).clamp(0, 1).permute(1, 2, 0),
            "divided by its largest number: cut off at 1 instead": (
                back.clamp(min=0) / back.max().clamp(min=1)
            ).permute(1, 2, 0),
            "bytes wrap around: clamp at 0 as well": (
                (back.clamp(max=1) * 255).long() % 256
            ).permute(1, 2, 0)
            / 255,
            "bytes wrap around: clamp first": ((back * 255).long() % 256).permute(1, 2, 0) / 255,
        }
        wanted = f"{(*x.shape[1:], 3)}: three colours, also where the height or width is 1"
        assert picture.dim() == 3, f"picture {n} has shape {tuple(picture.shape)}, not {wanted}"
        check_seen(picture, truth.permute(1, 2, 0), f"picture {n}", slips, atol=0.005)


@ends_in_notebook
def check_example(
    attempt, batch, needs_gradient=False, which=0, even=False, on_gpu=False, size=(4, 6), view=False
):
    generator = torch.Generator().manual_seed(which)
    images = 2 * torch.randn(batch, 3, *size, generator=generator).to(device)
    if view:  # columns of wider images, in another order in memory
        images = torch.cat([images, images], 3).transpose(1, 2).contiguous().transpose(1, 2)
        images = images[..., : size[1]]
    mean = torch.full((3,), 0.5) if even else torch.tensor([0.5, 0.3, 0.6])
    std = torch.full((3,), 0.25) if even else torch.tensor([0.25, 0.3, 0.2])
    labels = torch.randint(3, (batch,), generator=generator).tolist()
    images = images.requires_grad_(needs_gradient)
    names = ["cat", "dog", "owl"]
    check_batch(attempt, on_gpu, images, labels, names, mean.to(device), std.to(device))
