"""Exercise 7.9: saved tensors that are kept smaller."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from course_utils.learner.byte_counts import bytes_of
from course_utils.learner.changes import forbid_changes
from course_utils.learner.checks import check_close
from course_utils.learner.tracebacks import ends_in_notebook
from course_utils.learner.values import check_value


def run_offload(keep: Callable, back: Callable, x: Tensor) -> tuple[int, list[Tensor], bool]:
    """Bytes kept for a small CNN's backward, its gradients, and whether its output is set free."""
    import weakref

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        first, second = nn.Conv2d(2, 4, 3), nn.Conv2d(4, 6, 3)
    network, kept = nn.Sequential(first, nn.GELU(), nn.MaxPool2d(2), second, nn.Tanh()).to(x), []
    plain = {Tensor, nn.Parameter, torch.dtype, torch.device, torch.Size, int, float, bool, str}
    plain.add(type(None))

    def pack(tensor):
        kept.append((keep(tensor), tensor.dtype))
        kinds = {type(leaf) for leaf in tree_leaves(kept[-1])} - plain
        assert not kinds, f"keep tensors and plain values, not {kinds}"
        return kept[-1]

    def unpack(pair):
        tensor = back(pair[0])
        assert isinstance(tensor, Tensor), f"bring_back gave {tensor!r}, no tensor"
        assert tensor.dtype == pair[1], f"{pair[1]} was saved, and bring_back gave {tensor.dtype}"
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        output = network(x)
        unused = network(x)
    size, watched = bytes_of(kept, network.parameters()) // 2, weakref.ref(unused)
    gradients = torch.autograd.grad(output.square().sum(), list(network.parameters()))
    kept.clear()
    del unused
    return size, list(gradients), watched() is None


def _keep(tensor: Tensor) -> tuple[Tensor, torch.dtype]:
    halved = tensor.dtype == torch.float32 and not isinstance(tensor, nn.Parameter)
    return (tensor.half() if halved else tensor.detach()), tensor.dtype


@ends_in_notebook
def check_offload(trial: Callable, x: Tensor) -> None:
    """Check what is kept of a CNN's run, and its gradients."""
    __tracebackhide__ = True
    least, truth, _ = run_offload(_keep, lambda pair: pair[0].to(pair[1]), x)
    size, gradients, free = trial(x)
    for gradient, right, layer in zip(gradients, truth, (0, 0, 3, 3), strict=True):
        check_close(gradient, right, f"a gradient of layer {layer}", rtol=1e-3, atol=1e-3)
    many = "was a float32 tensor kept whole, or a parameter or what is kept exactly copied?"
    assert size <= least, f"{size} bytes are kept, {least} are enough: {many}"
    assert free, "the output is never set free: a saved tensor holds its own node; detach it"


@ends_in_notebook
def check_bring_back(offload_saved: Callable, bring_back: Callable, tensor: Tensor) -> None:
    """Check that a tensor comes back, rounded if it is of float32 and exactly otherwise."""
    __tracebackhide__ = True
    right = _keep(tensor)[0].to(tensor.dtype)
    if tensor.dtype == torch.float32:
        slips = {"this is bfloat16's rounding, not float16's": tensor.bfloat16().float()}
        slips["it comes back unrounded: was it kept in float16?"] = tensor
    else:
        parts = torch.view_as_real(tensor) if tensor.is_complex() else tensor
        rounded = parts.half().to(parts.dtype)
        rounded = torch.view_as_complex(rounded) if tensor.is_complex() else rounded
        slips = {"it was rounded, and should be kept exactly": rounded}
    with forbid_changes(tensor):
        kept = bring_back(offload_saved(tensor))
    check_value(kept, right, f"{tensor.tolist()}, kept and brought back", slips, 0, 0)
