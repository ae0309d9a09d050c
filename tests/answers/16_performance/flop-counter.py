# %% [markdown]
# Rules:
#
# - "calls `run()` once"
# - "its name"
# - "the flops of all its calls"
# - "any other isn't counted"
# - "nor are biases"
# - "any stride, padding, dilation and groups"
# - "The mask tells which gradients are computed"
# - "by the bias"
# - "Each of the first two takes as many flops as the forward pass"
# - "it is wrong for groups"
# - "of one call of ``run``"
# - "`bmm(x, y)`"
# - "Convolutions have one to three dimensions"
# - "What `run` computes stays the same"
# - "and what it raises goes on to the caller"
# - "perhaps with `out=`"
#
# Admits:
#
# - "Convolutions have one to three dimensions": one dimension, backward
# - "any stride, padding, dilation and groups": strided, dilated
# - "One that doesn't run is left out": nothing to multiply
# - "The mask tells which gradients": no gradient by the image
# - "perhaps with `out=`": out=, twice
# - "any other isn't counted": mm and others
# - "by `x`, by `weight`, by the bias": backward by the bias alone
# - "`baddbmm(bias, x, y)`": baddbmm, one row for all

# %% wrong="multiply-adds" says=["those are multiply-adds"]
def flop_counter(run: Callable) -> dict[str, int]:
    counts: dict[str, int] = {}

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            flops = 0
            if name in ("mm", "bmm"):
                flops = result.numel() * args[0].shape[-1]
            elif name in ("addmm", "baddbmm"):
                flops = result.numel() * args[1].shape[-1]
            elif name == "convolution":
                flops = result.numel() * args[1][0].numel()
            elif name == "convolution_backward":
                flops = args[0].numel() * args[2][0].numel() * sum(args[10][:2])
            if flops:
                counts[name] = counts.get(name, 0) + flops
            return result

    with Mode():
        run()
    return counts


# %% wrong="backward always twice" breaks="The mask tells which gradients are computed" says=["only what output_mask asks for"]
def flop_counter(run: Callable) -> dict[str, int]:
    counts: dict[str, int] = {}

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            flops = 0
            if name in ("mm", "bmm"):
                flops = 2 * result.numel() * args[0].shape[-1]
            elif name in ("addmm", "baddbmm"):
                flops = 2 * result.numel() * args[1].shape[-1]
            elif name == "convolution":
                flops = 2 * result.numel() * args[1][0].numel()
            elif name == "convolution_backward":
                flops = 2 * args[0].numel() * args[2][0].numel() * 2
            if flops:
                counts[name] = counts.get(name, 0) + flops
            return result

    with Mode():
        run()
    return counts


# %% wrong="the bias counts as a third" breaks="by the bias" says=["the third of the mask, isn't counted"]
def flop_counter(run: Callable) -> dict[str, int]:
    counts: dict[str, int] = {}

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            flops = 0
            if name in ("mm", "bmm"):
                flops = 2 * result.numel() * args[0].shape[-1]
            elif name in ("addmm", "baddbmm"):
                flops = 2 * result.numel() * args[1].shape[-1]
            elif name == "convolution":
                flops = 2 * result.numel() * args[1][0].numel()
            elif name == "convolution_backward":
                flops = 2 * args[0].numel() * args[2][0].numel() * sum(args[10])
            if flops:
                counts[name] = counts.get(name, 0) + flops
            return result

    with Mode():
        run()
    return counts


# %% wrong="groups times too many" breaks="any stride, padding, dilation and groups" says=["nothing to multiply"]
def flop_counter(run: Callable) -> dict[str, int]:
    counts: dict[str, int] = {}

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            flops = 0
            if name in ("mm", "bmm"):
                flops = 2 * result.numel() * args[0].shape[-1]
            elif name in ("addmm", "baddbmm"):
                flops = 2 * result.numel() * args[1].shape[-1]
            elif name == "convolution":
                flops = 2 * result.numel() * args[1][0].numel() * args[8]
            elif name == "convolution_backward":
                flops = 2 * args[0].numel() * args[2][0].numel() * args[9] * sum(args[10][:2])
            if flops:
                counts[name] = counts.get(name, 0) + flops
            return result

    with Mode():
        run()
    return counts


# %% wrong="no backward of convolutions" breaks="Each of the first two takes as many flops as the forward pass" says=["convolution_backward is missing"]
def flop_counter(run: Callable) -> dict[str, int]:
    counts: dict[str, int] = {}

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            flops = 0
            if name in ("mm", "bmm"):
                flops = 2 * result.numel() * args[0].shape[-1]
            elif name in ("addmm", "baddbmm"):
                flops = 2 * result.numel() * args[1].shape[-1]
            elif name == "convolution":
                flops = 2 * result.numel() * args[1][0].numel()

            if flops:
                counts[name] = counts.get(name, 0) + flops
            return result

    with Mode():
        run()
    return counts


# %% wrong="no bmm" says=["bmm ran, and is not counted"]
def flop_counter(run: Callable) -> dict[str, int]:
    counts: dict[str, int] = {}

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            flops = 0
            if name in ("mm",):
                flops = 2 * result.numel() * args[0].shape[-1]
            elif name in ("addmm", "baddbmm"):
                flops = 2 * result.numel() * args[1].shape[-1]
            elif name == "convolution":
                flops = 2 * result.numel() * args[1][0].numel()
            elif name == "convolution_backward":
                flops = 2 * args[0].numel() * args[2][0].numel() * sum(args[10][:2])
            if flops:
                counts[name] = counts.get(name, 0) + flops
            return result

    with Mode():
        run()
    return counts


# %% wrong="the bias taken for a factor" breaks="nor are biases" says=["addmm"]
def flop_counter(run: Callable) -> dict[str, int]:
    counts: dict[str, int] = {}

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            flops = 0
            if name in ("mm", "bmm"):
                flops = 2 * result.numel() * args[0].shape[-1]
            elif name in ("addmm", "baddbmm"):
                flops = 2 * result.numel() * args[0].shape[-1]
            elif name == "convolution":
                flops = 2 * result.numel() * args[1][0].numel()
            elif name == "convolution_backward":
                flops = 2 * args[0].numel() * args[2][0].numel() * sum(args[10][:2])
            if flops:
                counts[name] = counts.get(name, 0) + flops
            return result

    with Mode():
        run()
    return counts


# %% wrong="only the last call" breaks="the flops of all its calls" says=["add its calls up"]
def flop_counter(run: Callable) -> dict[str, int]:
    counts: dict[str, int] = {}

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            flops = 0
            if name in ("mm", "bmm"):
                flops = 2 * result.numel() * args[0].shape[-1]
            elif name in ("addmm", "baddbmm"):
                flops = 2 * result.numel() * args[1].shape[-1]
            elif name == "convolution":
                flops = 2 * result.numel() * args[1][0].numel()
            elif name == "convolution_backward":
                flops = 2 * args[0].numel() * args[2][0].numel() * sum(args[10][:2])
            if flops:
                counts[name] = flops
            return result

    with Mode():
        run()
    return counts


# %% wrong="runs twice" breaks="calls `run()` once" says=["run was called 2 times"]
def flop_counter(run: Callable) -> dict[str, int]:
    counts: dict[str, int] = {}

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            flops = 0
            if name in ("mm", "bmm"):
                flops = 2 * result.numel() * args[0].shape[-1]
            elif name in ("addmm", "baddbmm"):
                flops = 2 * result.numel() * args[1].shape[-1]
            elif name == "convolution":
                flops = 2 * result.numel() * args[1][0].numel()
            elif name == "convolution_backward":
                flops = 2 * args[0].numel() * args[2][0].numel() * sum(args[10][:2])
            if flops:
                counts[name] = counts.get(name, 0) + flops
            return result

    with Mode():
        run()
        run()
    return counts


# %% wrong="stays on" says=["a mode is entered and never left"]
def flop_counter(run: Callable) -> dict[str, int]:
    counts: dict[str, int] = {}

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            flops = 0
            if name in ("mm", "bmm"):
                flops = 2 * result.numel() * args[0].shape[-1]
            elif name in ("addmm", "baddbmm"):
                flops = 2 * result.numel() * args[1].shape[-1]
            elif name == "convolution":
                flops = 2 * result.numel() * args[1][0].numel()
            elif name == "convolution_backward":
                flops = 2 * args[0].numel() * args[2][0].numel() * sum(args[10][:2])
            if flops:
                counts[name] = counts.get(name, 0) + flops
            return result

    Mode().__enter__()
    run()
    return counts


# %% wrong="counts elementwise, too" breaks="any other isn't counted" says=["is not among the operators"]
def flop_counter(run: Callable) -> dict[str, int]:
    counts: dict[str, int] = {}

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            flops = 1
            if name in ("mm", "bmm"):
                flops = 2 * result.numel() * args[0].shape[-1]
            elif name in ("addmm", "baddbmm"):
                flops = 2 * result.numel() * args[1].shape[-1]
            elif name == "convolution":
                flops = 2 * result.numel() * args[1][0].numel()
            elif name == "convolution_backward":
                flops = 2 * args[0].numel() * args[2][0].numel() * sum(args[10][:2])
            if flops:
                counts[name] = counts.get(name, 0) + flops
            return result

    with Mode():
        run()
    return counts


# %% wrong="keys are operators" breaks="its name" says=["the keys are names"]
def flop_counter(run: Callable) -> dict[str, int]:
    counts: dict[str, int] = {}

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            flops = 0
            if name in ("mm", "bmm"):
                flops = 2 * result.numel() * args[0].shape[-1]
            elif name in ("addmm", "baddbmm"):
                flops = 2 * result.numel() * args[1].shape[-1]
            elif name == "convolution":
                flops = 2 * result.numel() * args[1][0].numel()
            elif name == "convolution_backward":
                flops = 2 * args[0].numel() * args[2][0].numel() * sum(args[10][:2])
            if flops:
                counts[func] = counts.get(func, 0) + flops
            return result

    with Mode():
        run()
    return counts


# %% wrong="nothing yet" says=["is there an answer yet"]
def flop_counter(run: Callable) -> dict[str, int]:
    counts: dict[str, int] = {}

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            flops = 0
            if name in ("mm", "bmm"):
                flops = 2 * result.numel() * args[0].shape[-1]
            elif name in ("addmm", "baddbmm"):
                flops = 2 * result.numel() * args[1].shape[-1]
            elif name == "convolution":
                flops = 2 * result.numel() * args[1][0].numel()
            elif name == "convolution_backward":
                flops = 2 * args[0].numel() * args[2][0].numel() * sum(args[10][:2])
            if flops:
                counts[name] = counts.get(name, 0) + flops
            return result

    with Mode():
        run()
    counts.clear()


# %% wrong="the library, wrong for groups" breaks="it is wrong for groups" says=["with groups, the gradient by the weight takes the forward pass's flops, no more"]
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402


def flop_counter(run):
    with FlopCounterMode(display=False) as counter:
        run()
    return {
        operator.__name__: flops
        for operator, flops in counter.get_flop_counts().get("Global", {}).items()
    }


# %% right="a table of formulas; zeros are left in"
import math  # noqa: E402


def flop_counter(run):
    def forward(y, w):
        return 2 * y.numel() * math.prod(w.shape[1:])

    formulas = {
        "mm": lambda y, a, b, **_: 2 * math.prod(a.shape) * b.shape[-1],
        "bmm": lambda y, a, b, **_: 2 * math.prod(a.shape) * b.shape[-1],
        "addmm": lambda y, c, a, b, **_: 2 * math.prod(a.shape) * b.shape[-1],
        "baddbmm": lambda y, c, a, b, **_: 2 * math.prod(a.shape) * b.shape[-1],
        "convolution": lambda y, x, w, *_: forward(y, w),
        "convolution_backward": lambda y, g, x, w, *rest: (
            forward(g, w) * (rest[-1][0] + rest[-1][1])
        ),
    }
    counts = dict.fromkeys(formulas, 0)

    class Watching(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            y = func(*args, **kwargs)
            name = str(func).split(".")[1]
            if name in formulas:
                counts[name] += formulas[name](y, *args, **kwargs)
            return y

    with Watching():
        run()
    return counts


# %% wrong="counts of earlier calls remain" breaks="of one call of ``run``" says=["didn't run in this call: is it from an earlier one?"]
class Counting(TorchDispatchMode):
    counts = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
        flops = 0
        if name in ("mm", "bmm"):
            flops = 2 * result.numel() * args[0].shape[-1]
        elif name in ("addmm", "baddbmm"):
            flops = 2 * result.numel() * args[1].shape[-1]
        elif name == "convolution":
            flops = 2 * result.numel() * args[1][0].numel()
        elif name == "convolution_backward":
            flops = 2 * args[0].numel() * args[2][0].numel() * sum(args[10][:2])
        if flops:
            self.counts[name] = self.counts.get(name, 0) + flops
        return result


def flop_counter(run):
    with Counting() as counting:
        run()
    return counting.counts


# %% wrong="one product for a whole batch" breaks="`bmm(x, y)`" says=["bmm and baddbmm do a product for each of the batch"]
def flop_counter(run: Callable) -> dict[str, int]:
    counts: dict[str, int] = {}

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            flops = 0
            if name in ("mm", "bmm"):
                flops = (
                    2
                    * result[-1].numel()
                    * (len(result) if name == "mm" else 1)
                    * args[0].shape[-1]
                )
            elif name in ("addmm", "baddbmm"):
                flops = 2 * result.numel() * args[1].shape[-1]
            elif name == "convolution":
                flops = 2 * result.numel() * args[1][0].numel()
            elif name == "convolution_backward":
                flops = 2 * args[0].numel() * args[2][0].numel() * sum(args[10][:2])
            if flops:
                counts[name] = counts.get(name, 0) + flops
            return result

    with Mode():
        run()
    return counts


# %% wrong="places of the image" breaks="Convolutions have one to three dimensions" says=["count its places, not the image's"]
def flop_counter(run: Callable) -> dict[str, int]:
    """Flops by operator, of one call of ``run``."""
    counts: dict[str, int] = {}

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            flops = 0
            if name in ("mm", "bmm"):
                flops = 2 * result.numel() * args[0].shape[-1]
            elif name in ("addmm", "baddbmm"):
                flops = 2 * result.numel() * args[1].shape[-1]
            elif name == "convolution":
                flops = 2 * args[0][:, :1].numel() * args[1].numel()
            elif name == "convolution_backward":
                flops = 2 * args[0].numel() * args[2][0].numel() * sum(args[10][:2])
            if flops:
                counts[name] = counts.get(name, 0) + flops
            return result

    with Mode():
        run()
    return counts


# %% wrong="all filters for each element" says=["over one filter, weight[0], not over all"]
def flop_counter(run):

    found = {}

    class Count(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            name = func.overloadpacket.__name__
            flops = None
            if name in ("mm", "bmm"):
                flops = 2 * result.numel() * args[0].shape[-1]
            elif name in ("addmm", "baddbmm"):
                flops = 2 * result.numel() * args[1].shape[-1]
            elif name == "convolution":
                flops = 2 * result.numel() * args[1].numel()
            elif name == "convolution_backward":
                once = 2 * args[0].numel() * args[2][0].numel()
                flops = once * sum(args[10][:2])
            if flops is not None:
                found[name] = found.get(name, 0) + flops
            return result

    with Count():
        run()
    return found


# %% wrong="takes the bias for a factor" says=["the factors come after the bias"]
def flop_counter(run):

    found = {}

    class Count(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            name = func.overloadpacket.__name__
            flops = None
            if name in ("mm", "bmm"):
                flops = 2 * result.numel() * args[0].shape[-1]
            elif name in ("addmm", "baddbmm"):
                flops = 2 * result.numel() * args[0].shape[-1]
            elif name == "convolution":
                flops = 2 * result.numel() * args[1][0].numel()
            elif name == "convolution_backward":
                once = 2 * args[0].numel() * args[2][0].numel()
                flops = once * sum(args[10][:2])
            if flops is not None:
                found[name] = found.get(name, 0) + flops
            return result

    with Count():
        run()
    return found


# %% wrong="the way back by the size of x" says=["count the places of grad_output"]
def flop_counter(run):

    found = {}

    class Count(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            name = func.overloadpacket.__name__
            flops = None
            if name in ("mm", "bmm"):
                flops = 2 * result.numel() * args[0].shape[-1]
            elif name in ("addmm", "baddbmm"):
                flops = 2 * result.numel() * args[1].shape[-1]
            elif name == "convolution":
                flops = 2 * result.numel() * args[1][0].numel()
            elif name == "convolution_backward":
                once = 2 * args[1].numel() * args[2][0].numel()
                flops = once * sum(args[10][:2])
            if flops is not None:
                found[name] = found.get(name, 0) + flops
            return result

    with Count():
        run()
    return found


# %% wrong="kwargs dropped" says=["a factor made with a dtype: raised", "an operator gets its kwargs as well"]
def flop_counter(run):
    counts = {}

    class Counter(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args)
            name = func.overloadpacket.__name__
            flops = None
            if name in ("mm", "bmm"):
                flops = 2 * out.numel() * args[0].shape[-1]
            elif name in ("addmm", "baddbmm"):
                flops = 2 * out.numel() * args[1].shape[-1]
            elif name == "convolution":
                flops = 2 * out.numel() * args[1][0].numel()
            elif name == "convolution_backward":
                mask = args[10]
                flops = 2 * args[0].numel() * args[2][0].numel() * (mask[0] + mask[1])
            if flops is not None:
                counts[name] = counts.get(name, 0) + flops
            return out

    with Counter():
        run()
    return counts


# %% wrong="result not returned" says=["what func gives is what __torch_dispatch__ returns"]
def flop_counter(run):
    counts = {}

    class Counter(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            name = func.overloadpacket.__name__
            flops = None
            if name in ("mm", "bmm"):
                flops = 2 * out.numel() * args[0].shape[-1]
            elif name in ("addmm", "baddbmm"):
                flops = 2 * out.numel() * args[1].shape[-1]
            elif name == "convolution":
                flops = 2 * out.numel() * args[1][0].numel()
            elif name == "convolution_backward":
                mask = args[10]
                flops = 2 * args[0].numel() * args[2][0].numel() * (mask[0] + mask[1])
            if flops is not None:
                counts[name] = counts.get(name, 0) + flops
            return None

    with Counter():
        run()
    return counts


# %% wrong="without gradients" says=["run records gradients: leave them on"]
def flop_counter(run):
    counts = {}

    class Counter(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            name = func.overloadpacket.__name__
            flops = None
            if name in ("mm", "bmm"):
                flops = 2 * out.numel() * args[0].shape[-1]
            elif name in ("addmm", "baddbmm"):
                flops = 2 * out.numel() * args[1].shape[-1]
            elif name == "convolution":
                flops = 2 * out.numel() * args[1][0].numel()
            elif name == "convolution_backward":
                mask = args[10]
                flops = 2 * args[0].numel() * args[2][0].numel() * (mask[0] + mask[1])
            if flops is not None:
                counts[name] = counts.get(name, 0) + flops
            return out

    with Counter(), torch.no_grad():
        run()
    return counts


# %% wrong="places of the image, forward and back" says=["also on the way back"]
def flop_counter(run):
    counts = {}

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            name = func.overloadpacket.__name__
            flops = 0
            if name in ("mm", "bmm"):
                flops = 2 * out.numel() * args[0].shape[-1]
            elif name in ("addmm", "baddbmm"):
                flops = 2 * out.numel() * args[1].shape[-1]
            elif name == "convolution":
                flops = 2 * args[0].shape[0] * args[0][0, 0].numel() * args[1].numel()
            elif name == "convolution_backward":
                flops = (
                    2
                    * args[1].shape[0]
                    * args[1][0, 0].numel()
                    * args[2].numel()
                    * sum(args[-1][:2])
                )
            if flops:
                counts[name] = counts.get(name, 0) + flops
            return out

    with Mode():
        run()
    return counts


# %% wrong="square filters" says=["a filter needn't be square"]
def flop_counter(run):
    counts = {}

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            name = func.overloadpacket.__name__
            flops = 0
            if name in ("mm", "bmm"):
                flops = 2 * out.numel() * args[0].shape[-1]
            elif name in ("addmm", "baddbmm"):
                flops = 2 * out.numel() * args[1].shape[-1]
            elif name == "convolution":
                flops = 2 * out.numel() * args[1].shape[1] * args[1].shape[-1] ** (args[1].ndim - 2)
            elif name == "convolution_backward":
                w = args[2]
                flops = (
                    2
                    * args[0].numel()
                    * w.shape[1]
                    * w.shape[-1] ** (w.ndim - 2)
                    * sum(args[-1][:2])
                )
            if flops:
                counts[name] = counts.get(name, 0) + flops
            return out

    with Mode():
        run()
    return counts


# %% wrong="only the first call" says=["add all its calls up, not the first alone"]
def flop_counter(run):
    counts = {}

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            name = func.overloadpacket.__name__
            flops = 0
            if name in ("mm", "bmm"):
                flops = 2 * out.numel() * args[0].shape[-1]
            elif name in ("addmm", "baddbmm"):
                flops = 2 * out.numel() * args[1].shape[-1]
            elif name == "convolution":
                flops = 2 * out.numel() * args[1][0].numel()
            elif name == "convolution_backward":
                flops = 2 * args[0].numel() * args[2][0].numel() * sum(args[-1][:2])
            counts.setdefault(name, flops)
            return out

    with Mode():
        run()
    return {name: n for name, n in counts.items() if n}


# %% wrong="the gradient by the weight is always there" breaks="The mask tells which gradients are computed" says=["backward by the image alone", "only what output_mask asks for"]
def flop_counter(run):
    found = {}

    class Counting(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            flops = 0
            if name in ("mm", "bmm", "addmm", "baddbmm"):
                first = args[1] if "add" in name else args[0]
                flops = 2 * result.numel() * first.shape[-1]
            elif name == "convolution":
                flops = 2 * result.numel() * args[1][0].numel()
            elif name == "convolution_backward":
                flops = 2 * args[0].numel() * args[2][0].numel() * (2 if args[10][0] else 1)
            if flops:
                found[name] = found.get(name, 0) + flops
            return result

    with Counting():
        run()
    return found


# %% wrong="divides by the number of rows" says=["no rows: raised ZeroDivisionError"]
def flop_counter(run):
    found = {}

    class Counting(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            flops = 0
            if name in ("mm", "bmm", "addmm", "baddbmm"):
                first = args[1] if "add" in name else args[0]
                rows = result.numel() // result.shape[-1]
                flops = 2 * result.numel() * (first.numel() // rows)
            elif name == "convolution":
                flops = 2 * result.numel() * args[1][0].numel()
            elif name == "convolution_backward":
                flops = 2 * args[0].numel() * args[2][0].numel() * sum(args[10][:2])
            if flops:
                found[name] = found.get(name, 0) + flops
            return result

    with Counting():
        run()
    return found


# %% wrong="stays on where run raises" says=["a mode is entered and never left"]
def flop_counter(run):
    found = {}

    class Counting(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            flops = 0
            if name in ("mm", "bmm", "addmm", "baddbmm"):
                first = args[1] if "add" in name else args[0]
                flops = 2 * result.numel() * first.shape[-1]
            elif name == "convolution":
                flops = 2 * result.numel() * args[1][0].numel()
            elif name == "convolution_backward":
                flops = 2 * args[0].numel() * args[2][0].numel() * sum(args[10][:2])
            if flops:
                found[name] = found.get(name, 0) + flops
            return result

    mode = Counting()
    mode.__enter__()
    run()
    mode.__exit__(None, None, None)
    return found


# %% wrong="divides by the number of terms" says=["terms: none"]
from torch.utils._python_dispatch import TorchDispatchMode


class Counting(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.flops = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        flops = None
        if name in ("mm", "bmm"):
            flops = (
                2
                * args[0].numel()
                * args[1].numel()
                // args[0].shape[-1]
                // (args[0].shape[0] if args[0].dim() == 3 else 1)
            )
        elif name in ("addmm", "baddbmm"):
            flops = 2 * result.numel() * args[1].shape[-1]
        elif name == "convolution":
            flops = 2 * result.numel() * args[1][0].numel()
        elif name == "convolution_backward":
            flops = 2 * args[0].numel() * args[2][0].numel() * sum(args[-1][:2])
        if flops is not None:
            self.flops[name] = self.flops.get(name, 0) + flops
        return result


def flop_counter(run):
    with Counting() as counting:
        run()
    return counting.flops


# %% wrong="calls again what isn't counted" breaks="What `run` computes stays the same" says=["edited in place: run computes something else while it is counted"]
from torch.utils._python_dispatch import TorchDispatchMode


class Counting(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.flops = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        flops = None
        if name in ("mm", "bmm"):
            flops = 2 * result.numel() * args[0].shape[-1]
        elif name in ("addmm", "baddbmm"):
            flops = 2 * result.numel() * args[1].shape[-1]
        elif name == "convolution":
            flops = 2 * result.numel() * args[1][0].numel()
        elif name == "convolution_backward":
            flops = 2 * args[0].numel() * args[2][0].numel() * sum(args[-1][:2])
        if flops is not None:
            self.flops[name] = self.flops.get(name, 0) + flops
        return result if flops is not None else func(*args, **(kwargs or {}))


def flop_counter(run):
    with Counting() as counting:
        run()
    return counting.flops


# %% wrong="hides what run raises" breaks="and what it raises goes on to the caller" says=["run raised a ZeroDivisionError, and the caller isn't told"]
from torch.utils._python_dispatch import TorchDispatchMode


class Counting(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.flops = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        flops = None
        if name in ("mm", "bmm"):
            flops = 2 * result.numel() * args[0].shape[-1]
        elif name in ("addmm", "baddbmm"):
            flops = 2 * result.numel() * args[1].shape[-1]
        elif name == "convolution":
            flops = 2 * result.numel() * args[1][0].numel()
        elif name == "convolution_backward":
            flops = 2 * args[0].numel() * args[2][0].numel() * sum(args[-1][:2])
        if flops is not None:
            self.flops[name] = self.flops.get(name, 0) + flops
        return result


def flop_counter(run):
    with Counting() as counting:
        try:
            run()
        except Exception:
            pass
    return counting.flops


# %% wrong="nothing counts in inference mode" says=["in inference mode: mm ran, and is not counted"]
from torch.utils._python_dispatch import TorchDispatchMode


class Counting(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.flops = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        flops = None
        if name in ("mm", "bmm"):
            flops = 2 * result.numel() * args[0].shape[-1]
        elif name in ("addmm", "baddbmm"):
            flops = 2 * result.numel() * args[1].shape[-1]
        elif name == "convolution":
            flops = 2 * result.numel() * args[1][0].numel()
        elif name == "convolution_backward":
            flops = 2 * args[0].numel() * args[2][0].numel() * sum(args[-1][:2])
        if flops is not None and not torch.is_inference_mode_enabled():
            self.flops[name] = self.flops.get(name, 0) + flops
        return result


def flop_counter(run):
    with Counting() as counting:
        run()
    return counting.flops


# %% wrong="addmm without beta and alpha" says=["factors beta and alpha: run computes something else"]
from torch.utils._python_dispatch import TorchDispatchMode


class Counting(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.flops = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.overloadpacket.__name__
        result = func(*args) if name == "addmm" else func(*args, **(kwargs or {}))
        flops = None
        if name in ("mm", "bmm"):
            flops = 2 * result.numel() * args[0].shape[-1]
        elif name in ("addmm", "baddbmm"):
            flops = 2 * result.numel() * args[1].shape[-1]
        elif name == "convolution":
            flops = 2 * result.numel() * args[1][0].numel()
        elif name == "convolution_backward":
            flops = 2 * args[0].numel() * args[2][0].numel() * sum(args[-1][:2])
        if flops is not None:
            self.flops[name] = self.flops.get(name, 0) + flops
        return result


def flop_counter(run):
    with Counting() as counting:
        run()
    return counting.flops


# %% wrong="baddbmm without beta and alpha" says=["a batch, beta and alpha: run computes something else"]
from torch.utils._python_dispatch import TorchDispatchMode


class Counting(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.flops = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.overloadpacket.__name__
        result = func(*args) if name == "baddbmm" else func(*args, **(kwargs or {}))
        flops = None
        if name in ("mm", "bmm"):
            flops = 2 * result.numel() * args[0].shape[-1]
        elif name in ("addmm", "baddbmm"):
            flops = 2 * result.numel() * args[1].shape[-1]
        elif name == "convolution":
            flops = 2 * result.numel() * args[1][0].numel()
        elif name == "convolution_backward":
            flops = 2 * args[0].numel() * args[2][0].numel() * sum(args[-1][:2])
        if flops is not None:
            self.flops[name] = self.flops.get(name, 0) + flops
        return result


def flop_counter(run):
    with Counting() as counting:
        run()
    return counting.flops


# %% wrong="as many sums as the bias has elements" says=["linear: a bias may have fewer elements than the result"]
def flop_counter(run: Callable) -> dict[str, int]:
    counts = {}

    class Counter(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            name, flops = func.overloadpacket.__name__, None
            if name in ("mm", "bmm"):
                flops = 2 * out.numel() * args[0].shape[-1]
            elif name in ("addmm", "baddbmm"):
                flops = 2 * args[0].numel() * args[1].shape[-1]
            elif name == "convolution":
                flops = 2 * out.numel() * args[1][0].numel()
            elif name == "convolution_backward":
                once = 2 * args[0].numel() * args[2][0].numel()
                flops = once * sum(args[10][:2])
            if flops is not None:
                counts[name] = counts.get(name, 0) + flops
            return out

    with Counter():
        run()
    return counts


# %% wrong="square filters by the first size" says=["convolution: a filter needn't be square"]
def flop_counter(run: Callable) -> dict[str, int]:
    counts = {}

    class Counter(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            name, flops = func.overloadpacket.__name__, None
            if name in ("mm", "bmm"):
                flops = 2 * out.numel() * args[0].shape[-1]
            elif name in ("addmm", "baddbmm"):
                flops = 2 * out.numel() * args[1].shape[-1]
            elif name == "convolution":
                flops = 2 * out.numel() * args[1].shape[1] * args[1].shape[2] ** (args[1].dim() - 2)
            elif name == "convolution_backward":
                once = (
                    2 * args[0].numel() * args[2].shape[1] * args[2].shape[2] ** (args[2].dim() - 2)
                )
                flops = once * sum(args[10][:2])
            if flops is not None:
                counts[name] = counts.get(name, 0) + flops
            return out

    with Counter():
        run()
    return counts


# %% wrong="names of default overloads alone" breaks="perhaps with `out=`" says=["out=, twice: addmm, mm ran, and is not counted"]
from torch.utils._python_dispatch import TorchDispatchMode


class Counts(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.flops = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        name = func.name().removeprefix("aten::")
        flops = None
        if name in ("mm", "bmm"):
            flops = 2 * out.numel() * args[0].shape[-1]
        elif name in ("addmm", "baddbmm"):
            flops = 2 * out.numel() * args[1].shape[-1]
        elif name == "convolution":
            flops = 2 * out.numel() * args[1][0].numel()
        elif name == "convolution_backward":
            flops = 2 * args[0].numel() * args[2][0].numel() * sum(args[-1][:2])
        if flops is not None:
            self.flops[name] = self.flops.get(name, 0) + flops
        return out


def flop_counter(run: Callable) -> dict[str, int]:
    with Counts() as counts:
        run()
    return counts.flops


# %% wrong="unpacks two dimensions" says=["a weight has two sizes more than its convolution has dimensions"]
def flop_counter(run: Callable) -> dict[str, int]:
    counts = {}

    class Counter(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            name, flops = func.overloadpacket.__name__, 0
            if name in ("mm", "bmm"):
                flops = 2 * out.numel() * args[0].shape[-1]
            elif name in ("addmm", "baddbmm"):
                flops = 2 * out.numel() * args[1].shape[-1]
            elif name == "convolution":
                _, inputs, high, wide = args[1].shape
                flops = 2 * out.numel() * inputs * high * wide
            elif name == "convolution_backward":
                _, inputs, high, wide = args[2].shape
                flops = 2 * args[0].numel() * inputs * high * wide * sum(args[10][:2])
            if flops:
                counts[name] = counts.get(name, 0) + flops
            return out

    with Counter():
        run()
    return counts


# %% wrong="in-place operators as the others" breaks="any other isn't counted" says=["mm and others: addmm_, in place, is another operator than addmm"]
from torch.utils._python_dispatch import TorchDispatchMode


class Counting(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.flops, self.known = {}, {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__.strip("_")
        flops = None
        if name in ("mm", "bmm"):
            flops = 2 * result.numel() * args[0].shape[-1]
        elif name in ("addmm", "baddbmm"):
            flops = 2 * result.numel() * args[1].shape[-1]
        elif name == "convolution":
            flops = 2 * result.numel() * args[1][0].numel()
        elif name == "convolution_backward":
            flops = 2 * args[0].numel() * args[2][0].numel() * sum(args[-1][:2])
        if flops is not None:
            self.flops[name] = self.flops.get(name, 0) + flops
        return result


def flop_counter(run):
    with Counting() as counting:
        run()
    return counting.flops


# %% wrong="remembered by name and shapes" breaks="any stride, padding, dilation and groups" says=["the same shapes, other strides: calls of the same shapes differ by stride and mask"]
from torch.utils._python_dispatch import TorchDispatchMode


class Counting(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.flops, self.known = {}, {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        flops = None
        if name in ("mm", "bmm"):
            flops = 2 * result.numel() * args[0].shape[-1]
        elif name in ("addmm", "baddbmm"):
            flops = 2 * result.numel() * args[1].shape[-1]
        elif name == "convolution":
            flops = 2 * result.numel() * args[1][0].numel()
        elif name == "convolution_backward":
            flops = 2 * args[0].numel() * args[2][0].numel() * sum(args[-1][:2])
        if flops is not None:
            key = name, tuple(a.shape for a in args if isinstance(a, torch.Tensor))
            flops = self.known.setdefault(key, flops)
            self.flops[name] = self.flops.get(name, 0) + flops
        return result


def flop_counter(run):
    with Counting() as counting:
        run()
    return counting.flops


# %% wrong="the image's elements for its gradient" breaks="Each of the first two takes as many flops as the forward pass" says=["groups, backward: convolution_backward: count the places of grad_output, not those of x"]
from torch.utils._python_dispatch import TorchDispatchMode


class Counting(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.flops, self.known = {}, {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        flops = None
        if name in ("mm", "bmm"):
            flops = 2 * result.numel() * args[0].shape[-1]
        elif name in ("addmm", "baddbmm"):
            flops = 2 * result.numel() * args[1].shape[-1]
        elif name == "convolution":
            flops = 2 * result.numel() * args[1][0].numel()
        elif name == "convolution_backward":
            by_x = 2 * args[1].numel() * args[2][:, 0].numel() // args[9]
            by_weight = 2 * args[0].numel() * args[2][0].numel()
            flops = by_x * args[-1][0] + by_weight * args[-1][1]
        if flops is not None:
            self.flops[name] = self.flops.get(name, 0) + flops
        return result


def flop_counter(run):
    with Counting() as counting:
        run()
    return counting.flops


# %% wrong="a result's size without dilation" says=["strided, dilated: a filter with dilation reaches further"]
import math  # noqa: E402

from torch.utils._python_dispatch import TorchDispatchMode


class Counting(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.flops, self.known = {}, {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        flops = None
        if name in ("mm", "bmm"):
            flops = 2 * result.numel() * args[0].shape[-1]
        elif name in ("addmm", "baddbmm"):
            flops = 2 * result.numel() * args[1].shape[-1]
        elif name == "convolution":
            flops = (
                2
                * math.prod(
                    (len(result), len(args[1]))
                    + tuple(
                        (n + 2 * p - k) // s + 1
                        for n, k, s, p in zip(
                            args[0].shape[2:], args[1].shape[2:], args[3], args[4], strict=True
                        )
                    )
                )
                * args[1][0].numel()
            )
        elif name == "convolution_backward":
            flops = 2 * args[0].numel() * args[2][0].numel() * sum(args[-1][:2])
        if flops is not None:
            self.flops[name] = self.flops.get(name, 0) + flops
        return result


def flop_counter(run):
    with Counting() as counting:
        run()
    return counting.flops


# %% wrong="wraps what run raises" breaks="and what it raises goes on to the caller" says=["run raised a ZeroDivisionError, and a RuntimeError came out"]
from torch.utils._python_dispatch import TorchDispatchMode


class Counting(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.flops, self.known = {}, {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        flops = None
        if name in ("mm", "bmm"):
            flops = 2 * result.numel() * args[0].shape[-1]
        elif name in ("addmm", "baddbmm"):
            flops = 2 * result.numel() * args[1].shape[-1]
        elif name == "convolution":
            flops = 2 * result.numel() * args[1][0].numel()
        elif name == "convolution_backward":
            flops = 2 * args[0].numel() * args[2][0].numel() * sum(args[-1][:2])
        if flops is not None:
            self.flops[name] = self.flops.get(name, 0) + flops
        return result


def flop_counter(run):
    with Counting() as counting:
        try:
            run()
        except Exception as error:
            raise RuntimeError(f"run failed: {error}") from error
    return counting.flops


# %% wrong="one product at least on the way back" breaks="The mask tells which gradients are computed" says=["backward by the bias alone: convolution_backward", "where it alone is asked for, that is 0"]
def flop_counter(run: Callable) -> dict[str, int]:
    flops: dict[str, int] = {}

    class Counting(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            found = 0
            if name in ("mm", "bmm"):
                found = 2 * args[0].numel() * args[1].shape[-1]
            elif name == "addmm":
                found = 2 * args[1].numel() * args[2].shape[-1]
            elif name == "baddbmm":
                found = 2 * args[1].numel() * args[2].shape[-1]
            elif name == "convolution":
                found = 2 * out.numel() * args[1][0].numel()
            elif name == "convolution_backward":
                found = (
                    2
                    * args[0].numel()
                    * args[2][0].numel()
                    * (2 if args[10][0] and args[10][1] else 1)
                )
            flops[name] = flops.get(name, 0) + found
            return out

    with Counting():
        run()
    return {name: count for name, count in flops.items() if count}


# %% wrong="the sums of baddbmm by its bias" says=["baddbmm, one row for all: a bias may have fewer elements than the result"]
def flop_counter(run: Callable) -> dict[str, int]:
    flops: dict[str, int] = {}

    class Counting(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            found = 0
            if name in ("mm", "bmm"):
                found = 2 * args[0].numel() * args[1].shape[-1]
            elif name == "addmm":
                found = 2 * args[1].numel() * args[2].shape[-1]
            elif name == "baddbmm":
                found = 2 * args[0].numel() * args[1].shape[-1]
            elif name == "convolution":
                found = 2 * out.numel() * args[1][0].numel()
            elif name == "convolution_backward":
                found = 2 * args[0].numel() * args[2][0].numel() * sum(args[10][:2])
            flops[name] = flops.get(name, 0) + found
            return out

    with Counting():
        run()
    return {name: count for name, count in flops.items() if count}


# %% wrong="what PyTorch raises in run is kept back" breaks="and what it raises goes on to the caller" says=["run raised a RuntimeError, and the caller isn't told"]
def flop_counter(run: Callable) -> dict[str, int]:
    """Flops by operator, of one call of ``run``."""
    counts: dict[str, int] = {}

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            flops = 0
            if name in ("mm", "bmm"):
                flops = 2 * result.numel() * args[0].shape[-1]
            elif name in ("addmm", "baddbmm"):
                flops = 2 * result.numel() * args[1].shape[-1]
            elif name == "convolution":
                flops = 2 * result.numel() * args[1][0].numel()
            elif name == "convolution_backward":
                flops = 2 * args[0].numel() * args[2][0].numel() * sum(args[10][:2])
            if flops:
                counts[name] = counts.get(name, 0) + flops
            return result

    with Mode():
        try:
            run()
        except RuntimeError as error:
            print(error)
    return counts
