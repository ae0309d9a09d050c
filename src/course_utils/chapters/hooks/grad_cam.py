"""Exercise 7.7: Grad-CAM."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from course_utils.chapters.hooks import slips as known_slips
from course_utils.chapters.hooks.counting import Network, about_names, bystander, hooks_on
from course_utils.learner.checks import check_equal
from course_utils.learner.tracebacks import ends_in_notebook
from course_utils.learner.values import check_value


def run_grad_cam(
    grad_cam: Callable, model: Network, layer: str, image: Tensor, target: int
) -> tuple:
    """The map, what was raised, what was changed besides, and the hooks that are left."""
    image, before = image.clone(), image
    model.fc.register_forward_hook(bystander)
    model.features.eval()
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    model.fc.bias.requires_grad_(False)
    heat, error = None, ""
    try:
        heat = grad_cam(model, layer, image, target)
    except Exception as caught:
        error = about_names(caught, model)
        if "does not require grad" in error:
            error += " (fc.bias is frozen here: ask for the gradient of the maps alone)"
    grads = [parameter.grad for parameter in model.parameters()]
    changed = []
    if not all(grad is not None and bool((grad == 1).all()) for grad in grads):
        changed.append("the .grad of the parameters: ask torch.autograd.grad for one gradient")
    frozen = [name for name, one in model.named_parameters() if not one.requires_grad]
    if frozen != ["fc.bias"]:
        changed.append("requires_grad of the parameters, of which one was frozen")
    if not (model.training and model.fc.training) or model.features.training:
        changed.append("the mode (train or eval) of the model")
    if not torch.equal(image, before):
        changed.append("the image itself: its shape or its values (unsqueeze_ works in place)")
    if image.requires_grad:
        changed.append("requires_grad of the image")
    if not torch.is_grad_enabled():
        changed.append("autograd's mode: it is switched off")
        torch.set_grad_enabled(True)
    return heat, error, changed, hooks_on(model)


@ends_in_notebook
def check_grad_cam(
    trial: Callable,
    model: Network,
    image: Tensor,
    target: int,
    cut: int = 9,
    bias: float = 0.0,
    factor: float = 3.0,
) -> None:
    """Check the map of one class at one layer of the chapter's CNN, a ``ShapeNet``."""
    __tracebackhide__ = True
    model, layer = model.to(image), "features" if cut == 9 else f"features.{cut - 1}"
    with torch.no_grad():
        model.fc.weight.mul_(factor).add_(bias)
    state = {key: value.detach() for key, value in model.state_dict().items()}
    heat, error, changed, hooks = trial(state, layer, image, target)
    assert not error, error
    maps = model.features[:cut](image[None])
    truth, slips = known_slips.heat_maps(
        lambda maps: model.fc(model.features[cut:](maps).mean(dim=(2, 3))), maps, target
    )
    nan = isinstance(heat, Tensor) and bool(heat.isnan().any())
    assert not nan, "the map holds NaN: what is 0 / 0?"
    rtol = 1e-9 if image.dtype == torch.float64 else 2e-3
    check_value(heat, truth, "the map", slips, rtol=rtol, atol=rtol / 20)
    assert not heat.requires_grad, "the map hangs on the graph: detach it"
    _check_left(changed, hooks)


@ends_in_notebook
def _check_left(changed: list[str], hooks: dict[str, int]) -> None:
    __tracebackhide__ = True
    assert not changed, f"this is not as it was: {'; '.join(changed)}"
    check_equal(hooks, {"fc": 1}, "hooks on the model", "one on fc, which is not yours")


@ends_in_notebook
def check_cam_that_raises(trial: Callable, model: nn.Module, image: Tensor) -> None:
    """Check that all is left as it was if the model raises, as it does for this image."""
    __tracebackhide__ = True
    state = {key: value.detach() for key, value in model.to(image).state_dict().items()}
    _, error, changed, hooks = trial(state, "features", image, 0)
    assert error, "the model's exception did not come out"
    _check_left(changed, hooks)
