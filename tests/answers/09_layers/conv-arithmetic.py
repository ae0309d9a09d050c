# %% [markdown]
# Rules:
#
# - "the list of sizes after each layer"
# - "each an `int`"
# - "maybe `"stride"` (default 1)"
# - "`"dilation"` (1)"
# - "`"padding"` (0)"
# - "if it is transposed, `"output_padding"` (0)"
# - "always with stride 1"
# - "the same arithmetic"
# - "its default stride is its kernel"
# - "which always gives one pixel or more"
# - "reaches over more than the padded input"
# - "raise `ValueError`"
# - "no call of PyTorch"
# - "Leave `layers` and its dicts as they are"
#
# Admits:
#
# - "always with stride 1": padding 'same' with an even kernel
# - "if it is transposed": transposed, with the default stride
# - "reaches over more than the padded input": too small for the kernel
# - "its default stride is its kernel": a pool whose own stride is 1

# %% wrong="forgets the dilation" breaks="`\"dilation\"` (1)" says=["dilation: the list of sizes from 10: expected [6], got [8]", "reaches over d (k - 1) + 1 pixels"]
def conv_arithmetic(layers, size):
    sizes = []
    for layer in layers:
        k, p = layer["kernel"], layer.get("padding", 0)
        s = layer.get("stride", k if layer["kind"] == "pool" else 1)
        if layer["kind"] == "transposed":
            size = (size - 1) * s - 2 * p + k + layer.get("output_padding", 0)
        elif p != "same":
            if k > size + 2 * p:
                raise ValueError
            size = (size + 2 * p - k) // s + 1
        sizes.append(size)
    return sizes


# %% wrong="a pool's stride is 1" breaks="its default stride is its kernel" says=["the example", "a pool's stride is its kernel"]
def conv_arithmetic(layers, size):
    sizes = []
    for layer in layers:
        k, p, s = layer["kernel"], layer.get("padding", 0), layer.get("stride", 1)
        r = layer.get("dilation", 1) * (k - 1) + 1
        if layer["kind"] == "transposed":
            size = (size - 1) * s - 2 * p + r + layer.get("output_padding", 0)
        elif p != "same":
            if r > size + 2 * p:
                raise ValueError
            size = (size + 2 * p - r) // s + 1
        sizes.append(size)
    return sizes


# %% wrong="rounds up" says=["a step that does not fit is lost: round down"]
def conv_arithmetic(layers, size):
    import math

    sizes = []
    for layer in layers:
        k, p = layer["kernel"], layer.get("padding", 0)
        s = layer.get("stride", k if layer["kind"] == "pool" else 1)
        r = layer.get("dilation", 1) * (k - 1) + 1
        if layer["kind"] == "transposed":
            size = (size - 1) * s - 2 * p + r + layer.get("output_padding", 0)
        elif p != "same":
            if r > size + 2 * p:
                raise ValueError
            size = math.ceil((size + 2 * p - r) / s) + 1
        sizes.append(size)
    return sizes


# %% wrong="same is half the kernel on both sides" breaks="always with stride 1" says=["padding 'same' with an even kernel", "the size stays"]
def conv_arithmetic(layers, size):
    sizes = []
    for layer in layers:
        k, p = layer["kernel"], layer.get("padding", 0)
        s = layer.get("stride", k if layer["kind"] == "pool" else 1)
        r = layer.get("dilation", 1) * (k - 1) + 1
        p = (r // 2) if p == "same" else p
        if layer["kind"] == "transposed":
            size = (size - 1) * s - 2 * p + r + layer.get("output_padding", 0)
        else:
            if r > size + 2 * p:
                raise ValueError
            size = (size + 2 * p - r) // s + 1
        sizes.append(size)
    return sizes


# %% wrong="never refuses, forgets output_padding" says=["too small for the kernel", "expected 'ValueError'", "output_padding adds to the size"]
def conv_arithmetic(layers, size):
    sizes = []
    for layer in layers:
        k, p = layer["kernel"], layer.get("padding", 0)
        s = layer.get("stride", k if layer["kind"] == "pool" else 1)
        r = layer.get("dilation", 1) * (k - 1) + 1
        if layer["kind"] == "transposed":
            size = (size - 1) * s - 2 * p + r
        elif p != "same":
            size = (size + 2 * p - r) // s + 1
        sizes.append(size)
    return sizes


# %% wrong="only the last size" breaks="the list of sizes after each layer" says=["the list of sizes from 28: expected [24, 12], got 12"]
def conv_arithmetic(layers, size):
    for layer in layers:
        k, p = layer["kernel"], layer.get("padding", 0)
        s = layer.get("stride", k if layer["kind"] == "pool" else 1)
        r = layer.get("dilation", 1) * (k - 1) + 1
        if layer["kind"] == "transposed":
            size = (size - 1) * s - 2 * p + r + layer.get("output_padding", 0)
        elif p != "same":
            if r > size + 2 * p:
                raise ValueError
            size = (size + 2 * p - r) // s + 1
    return size


# %% wrong="lets PyTorch calculate" breaks="no call of PyTorch" says=["plain numbers, please", "conv1d"]
def conv_arithmetic(layers, size):
    x, sizes = torch.empty(1, 1, size, device="meta"), []
    for layer in layers:
        rest = {k: v for k, v in layer.items() if k not in ("kind", "kernel")}
        w = torch.empty(1, 1, layer["kernel"], device="meta")
        try:
            if layer["kind"] == "pool":
                x = F.max_pool1d(x, layer["kernel"], **rest)
            else:
                x = (F.conv1d if layer["kind"] == "conv" else F.conv_transpose1d)(x, w, **rest)
        except RuntimeError:
            raise ValueError
        sizes.append(x.shape[-1])
    return sizes


# %% wrong="empties the dicts" says=["'stride' was written into a dict of layers (setdefault does that)"]
def conv_arithmetic(layers, size):
    sizes = []
    for layer in layers:
        kind, k = layer.pop("kind"), layer.pop("kernel")
        layer.setdefault("stride", k if kind == "pool" else 1)
        p, s, r = layer.get("padding", 0), layer["stride"], layer.get("dilation", 1) * (k - 1) + 1
        layer |= {"kind": kind, "kernel": k}
        if kind == "transposed":
            size = (size - 1) * s - 2 * p + r + layer.get("output_padding", 0)
        elif p != "same":
            if r > size + 2 * p:
                raise ValueError
            size = (size + 2 * p - r) // s + 1
        sizes.append(size)
    return sizes


# %% right="counts the positions one by one"
def conv_arithmetic(layers, size):
    def after(size, kind, kernel, stride=None, padding=0, dilation=1, output_padding=0):
        stride = stride or (kernel if kind == "pool" else 1)
        taps = range(0, dilation * kernel, dilation)[:kernel]
        if kind == "transposed":
            return (size - 1) * stride + taps[-1] + 1 - 2 * padding + output_padding
        if padding == "same":
            return size
        starts = [
            i for i in range(0, size + 2 * padding, stride) if i + taps[-1] < size + 2 * padding
        ]
        if not starts:
            raise ValueError("too small")
        return len(starts)

    return [size := after(size, **layer) for layer in layers]


# %% right="recursion, a tuple of floats made whole"
def conv_arithmetic(layers, size):
    if not layers:
        return ()
    first, *rest = layers
    o = {
        "stride": first["kernel"] if first["kind"] == "pool" else 1,
        "padding": 0,
        "dilation": 1,
        "output_padding": 0,
    } | first
    reach = 1 + o["dilation"] * (o["kernel"] - 1)
    if o["kind"] == "transposed":
        new = o["stride"] * (size - 1) + reach - 2 * o["padding"] + o["output_padding"]
    elif o["padding"] == "same":
        new = size
    else:
        room = size + 2 * o["padding"] - reach
        if room < 0:
            raise ValueError(first)
        new = int(room / o["stride"] + 1)
    return (new, *conv_arithmetic(rest, new))


# %% wrong="refuses transposed layers as well" breaks="which always gives one pixel or more" says=["transposed: from 3 it raised ValueError", "it always fits"]
def conv_arithmetic(layers, size):
    sizes = []
    for layer in layers:
        k, p = layer["kernel"], layer.get("padding", 0)
        s = layer.get("stride", k if layer["kind"] == "pool" else 1)
        r = layer.get("dilation", 1) * (k - 1) + 1
        if p != "same" and r > size + 2 * p:
            raise ValueError
        if layer["kind"] == "transposed":
            size = (size - 1) * s - 2 * p + r + layer.get("output_padding", 0)
        elif p != "same":
            size = (size + 2 * p - r) // s + 1
        sizes.append(size)
    return sizes


# %% wrong="compares the kernel, not its reach, with the input" breaks="reaches over more than the padded input" says=["a reach of 7 does not fit into 4 + 2 pixels"]
def conv_arithmetic(layers, size):
    sizes = []
    for layer in layers:
        k = layer["kernel"]
        s = layer.get("stride", k if layer["kind"] == "pool" else 1)
        p = layer.get("padding", 0)
        d = layer.get("dilation", 1)
        r = d * (k - 1) + 1
        if layer["kind"] == "transposed":
            size = (size - 1) * s - 2 * p + r + layer.get("output_padding", 0)
        elif p == "same":
            pass
        else:
            if k > size + 2 * p:
                raise ValueError("too small")
            size = (size + 2 * p - r) // s + 1
        sizes.append(size)
    return sizes


# %% right="counting starts with range"
def conv_arithmetic(layers, size):
    sizes = []
    for layer in layers:
        k = layer["kernel"]
        s = layer.get("stride", k if layer["kind"] == "pool" else 1)
        p = layer.get("padding", 0)
        d = layer.get("dilation", 1)
        r = d * (k - 1) + 1
        if layer["kind"] == "transposed":
            size = (size - 1) * s - 2 * p + r + layer.get("output_padding", 0)
        elif p == "same":
            pass
        else:
            if r > size + 2 * p:
                raise ValueError("too small")
            size = len(range(-p, size + p - r + 1, s))
        sizes.append(size)
    return sizes


# %% wrong="setdefault on the caller's dicts" says=["'padding' was written into a dict of layers (setdefault does that)", "leave them as they are"]
def conv_arithmetic(layers, size):
    sizes = []
    for layer in layers:
        k, pool = layer["kernel"], layer["kind"] == "pool"
        s, p = layer.setdefault("stride", k if pool else 1), layer.setdefault("padding", 0)
        r = layer.setdefault("dilation", 1) * (k - 1) + 1
        if layer["kind"] == "transposed":
            size = (size - 1) * s - 2 * p + r + layer.setdefault("output_padding", 0)
        elif p != "same":
            if r > size + 2 * p:
                raise ValueError
            size = (size + 2 * p - r) // s + 1
        sizes.append(size)
    return sizes


# %% wrong="an assert for the ValueError" breaks="raise `ValueError`" says=["it raised AssertionError: too small; expected ValueError: raise it yourself, an assert raises another"]
def conv_arithmetic(layers, size):
    sizes = []
    for layer in layers:
        k, p = layer["kernel"], layer.get("padding", 0)
        s = layer.get("stride", k if layer["kind"] == "pool" else 1)
        r = layer.get("dilation", 1) * (k - 1) + 1
        if layer["kind"] == "transposed":
            size = (size - 1) * s - 2 * p + r + layer.get("output_padding", 0)
        elif p != "same":
            assert r <= size + 2 * p, "too small"
            size = (size + 2 * p - r) // s + 1
        sizes.append(size)
    return sizes


# %% wrong="kinds and options by square brackets" says=["it raised KeyError: 'padding'; expected [24, 12]"]
def conv_arithmetic(layers, size):
    return [size := (size + 2 * d["padding"] - d["kernel"]) // d["stride"] + 1 for d in layers]


# %% wrong="pops a dict's entries" breaks="Leave `layers` and its dicts as they are" says=["was taken out of a dict of layers (pop does that)"]
def conv_arithmetic(layers, size):
    sizes = []
    for layer in layers:
        kind, k = layer.pop("kind"), layer["kernel"]
        p, s = layer.get("padding", 0), layer.get("stride", k if kind == "pool" else 1)
        r = layer.get("dilation", 1) * (k - 1) + 1
        if kind == "transposed":
            size = (size - 1) * s - 2 * p + r + layer.get("output_padding", 0)
        elif p != "same":
            if r > size + 2 * p:
                raise ValueError
            size = (size + 2 * p - r) // s + 1
        sizes.append(size)
    return sizes


# %% right="an error of its own that is a ValueError"
class TooSmall(ValueError):
    pass


def conv_arithmetic(layers, size):
    sizes = [size]
    for d in map(dict, layers):
        kind, kernel = d.pop("kind"), d.pop("kernel")
        stride = d.setdefault("stride", kernel if kind == "pool" else 1)
        reach = (kernel - 1) * d.setdefault("dilation", 1)
        n, p = sizes[-1], d.get("padding", 0)
        if kind == "transposed":
            sizes.append((n - 1) * stride - 2 * p + reach + 1 + d.get("output_padding", 0))
        elif p == "same":
            sizes.append(n)
        elif n + 2 * p <= reach:
            raise TooSmall(kind)
        else:
            sizes.append((n + 2 * p - reach - 1 + stride) // stride)
    return sizes[1:]


# %% wrong="a pool pads same as conv; the stride of the pool before" says=["a pool with kernel 3"]
def conv_arithmetic(layers, size):
    sizes = []
    for layer in layers:
        k = layer["kernel"]
        s = layer.get("stride", 2 if layer["kind"] == "pool" else 1)
        p = layer.get("padding", 0)
        r = layer.get("dilation", 1) * (k - 1) + 1
        if layer["kind"] == "transposed":
            size = (size - 1) * s - 2 * p + r + layer.get("output_padding", 0)
        elif p == "same":
            pass
        else:
            if size + 2 * p < r:
                raise ValueError("too small")
            size = (size + 2 * p - r) // s + 1
        sizes.append(size)
    return sizes


# %% wrong="checks before the whole stack" says=["fits after a transposed layer"]
def conv_arithmetic(layers, size):
    sizes = []
    if any(
        one["kernel"] > size + 2 * one.get("padding", 0)
        for one in layers
        if one.get("padding") != "same" and one["kind"] != "transposed"
    ):
        raise ValueError("too small")
    for layer in layers:
        k = layer["kernel"]
        s = layer.get("stride", k if layer["kind"] == "pool" else 1)
        p = layer.get("padding", 0)
        r = layer.get("dilation", 1) * (k - 1) + 1
        if layer["kind"] == "transposed":
            size = (size - 1) * s - 2 * p + r + layer.get("output_padding", 0)
        elif p == "same":
            pass
        else:
            if size + 2 * p < r:
                raise ValueError("too small")
            size = (size + 2 * p - r) // s + 1
        sizes.append(size)
    return sizes


# %% wrong="refuses a pool padded by half its kernel" says=["a pool padded by half its kernel: from 7 it raised ValueError"]
def conv_arithmetic(layers, size):
    sizes = []
    for layer in layers:
        kind, k = layer["kind"], layer["kernel"]
        s = layer.get("stride", k if kind == "pool" else 1)
        p, d = layer.get("padding", 0), layer.get("dilation", 1)
        r = d * (k - 1) + 1
        if p == "same":
            pass
        elif kind == "transposed":
            size = (size - 1) * s - 2 * p + r + layer.get("output_padding", 0)
        else:
            if r > size + 2 * p or (kind == "pool" and 2 * p >= k):
                raise ValueError("too large")
            size = (size + 2 * p - r) // s + 1
        sizes.append(size)
    return sizes


# %% wrong="padding on one side" breaks="`\"padding\"` (0)" says=["(padding is on both sides)"]
def conv_arithmetic(layers, size):
    sizes = []
    for layer in layers:
        kind, k = layer["kind"], layer["kernel"]
        s = layer.get("stride", k if kind == "pool" else 1)
        p, d = layer.get("padding", 0), layer.get("dilation", 1)
        r = d * (k - 1) + 1
        if p == "same":
            pass
        elif kind == "transposed":
            size = (size - 1) * s - 2 * p + r + layer.get("output_padding", 0)
        else:
            if r > size + 2 * p:
                raise ValueError("too large")
            size = (size + p - r) // s + 1
        sizes.append(size)
    return sizes


# %% wrong="every layer sees the first size" says=["(each layer sees what the last one made)"]
def conv_arithmetic(layers, size):
    sizes, first = [], size
    for layer in layers:
        kind, k = layer["kind"], layer["kernel"]
        s = layer.get("stride", k if kind == "pool" else 1)
        p, d = layer.get("padding", 0), layer.get("dilation", 1)
        r = d * (k - 1) + 1
        if p == "same":
            pass
        elif kind == "transposed":
            size = (size - 1) * s - 2 * p + r + layer.get("output_padding", 0)
        else:
            if r > size + 2 * p:
                raise ValueError("too large")
            size = (first + 2 * p - r) // s + 1
        sizes.append(size)
    return sizes


# %% wrong="pools without dilation" breaks="the same arithmetic" says=["a pool with a stride of its own, dilated", "reaches over d (k - 1) + 1 pixels"]
def conv_arithmetic(layers, size):
    sizes = []
    for layer in layers:
        kind, k = layer["kind"], layer["kernel"]
        s = layer.get("stride", k if kind == "pool" else 1)
        p, d = layer.get("padding", 0), layer.get("dilation", 1)
        r = (1 if kind == "pool" else d) * (k - 1) + 1
        if p == "same":
            pass
        elif kind == "transposed":
            size = (size - 1) * s - 2 * p + r + layer.get("output_padding", 0)
        else:
            if r > size + 2 * p:
                raise ValueError("too large")
            size = (size + 2 * p - r) // s + 1
        sizes.append(size)
    return sizes


# %% wrong="a transposed layer's stride is its kernel" breaks="maybe `\"stride\"` (default 1)" says=["transposed, with the default stride", "the default stride of a transposed layer is 1"]
def conv_arithmetic(layers, size):
    out = []
    for layer in layers:
        k, d, p = layer["kernel"], layer.get("dilation", 1), layer.get("padding", 0)
        s = layer.get("stride", 1 if layer["kind"] == "conv" else k)
        r = d * (k - 1) + 1
        if layer["kind"] == "transposed":
            size = (size - 1) * s - 2 * p + r + layer.get("output_padding", 0)
        elif p != "same":
            if r > size + 2 * p:
                raise ValueError("no")
            size = (size + 2 * p - r) // s + 1
        out.append(size)
    return out


# %% wrong="floats in the list" breaks="each an `int`" says=["the sizes: [24.0] has the type float; pixels are counted by an int"]
def conv_arithmetic(layers, size):
    out = []
    for layer in layers:
        k, d, p = layer["kernel"], layer.get("dilation", 1), layer.get("padding", 0)
        s = layer.get("stride", k if layer["kind"] == "pool" else 1)
        r = d * (k - 1) + 1
        if layer["kind"] == "transposed":
            size = (size - 1) * s - 2 * p + r + layer.get("output_padding", 0)
        elif p != "same":
            if r > size + 2 * p:
                raise ValueError("no")
            size = (size + 2 * p - r) / s + 1
            size = size - size % 1
        out.append(size)
    return out


# %% wrong="refuses a kernel that same would pad" says=["padding 'same' with an even kernel", "expected [9]"]
def conv_arithmetic(layers, size):
    out = []
    for layer in layers:
        k, d, p = layer["kernel"], layer.get("dilation", 1), layer.get("padding", 0)
        s = layer.get("stride", k if layer["kind"] == "pool" else 1)
        r = d * (k - 1) + 1
        if layer["kind"] == "transposed":
            size = (size - 1) * s - 2 * p + r + layer.get("output_padding", 0)
        elif p == "same":
            if r > size:
                raise ValueError("kernel too large")
        else:
            if r > size + 2 * p:
                raise ValueError("no")
            size = (size + 2 * p - r) // s + 1
        out.append(size)
    return out


# %% right="a class of steps, accumulated"
class _Step:
    def __init__(self, kind, kernel, stride=None, padding=0, dilation=1, output_padding=0):
        self.kind, self.padding, self.extra = kind, padding, output_padding
        self.stride = stride if stride is not None else {"pool": kernel}.get(kind, 1)
        self.reach = dilation * (kernel - 1) + 1

    def __call__(self, n):
        if self.kind == "transposed":
            return (n - 1) * self.stride + self.reach - 2 * self.padding + self.extra
        if self.padding == "same":
            return n
        free = n + 2 * self.padding - self.reach
        if free < 0:
            raise ValueError(n)
        return 1 + free // self.stride


def conv_arithmetic(layers, size):
    import itertools

    return list(
        itertools.accumulate((_Step(**layer) for layer in layers), lambda n, f: f(n), initial=size)
    )[1:]


# %% wrong="a list as default argument" says=["no layer: the list of sizes from 7: expected [], got [24, 12]"]
def conv_arithmetic(layers, size, out=[]):
    for layer in layers:
        k, d, p = layer["kernel"], layer.get("dilation", 1), layer.get("padding", 0)
        s = layer.get("stride", k if layer["kind"] == "pool" else 1)
        r = d * (k - 1) + 1
        if layer["kind"] == "transposed":
            size = (size - 1) * s - 2 * p + r + layer.get("output_padding", 0)
        elif p != "same":
            if r > size + 2 * p:
                raise ValueError("no")
            size = (size + 2 * p - r) // s + 1
        out.append(size)
    return out


# %% wrong="output_padding is forgotten" breaks="if it is transposed, `\"output_padding\"` (0)" says=["expected [14], got [13] (output_padding adds to the size)"]
def conv_arithmetic(layers, size):
    sizes = []
    for layer in layers:
        kind, kernel = layer["kind"], layer["kernel"]
        stride = layer.get("stride", kernel if kind == "pool" else 1)
        padding, dilation = layer.get("padding", 0), layer.get("dilation", 1)
        reach = dilation * (kernel - 1) + 1
        if kind == "transposed":
            size = (size - 1) * stride - 2 * padding + reach
        elif padding != "same":
            if reach > size + 2 * padding:
                raise ValueError("reach")
            size = (size + 2 * padding - reach) // stride + 1
        sizes.append(size)
    return sizes


# %% wrong="the list of sizes is a default argument" says=["no layer: the list of sizes from 7", "sizes of an earlier call come first"]
def conv_arithmetic(layers, size, sizes=[]):
    for layer in layers:
        kind, k = layer["kind"], layer["kernel"]
        s = layer.get("stride", k if kind == "pool" else 1)
        p = layer.get("padding", 0)
        d = layer.get("dilation", 1)
        r = d * (k - 1) + 1
        if kind == "transposed":
            size = (size - 1) * s - 2 * p + r + layer.get("output_padding", 0)
        elif p != "same":
            if r > size + 2 * p:
                raise ValueError("the kernel reaches over the input")
            size = (size + 2 * p - r) // s + 1
        sizes.append(size)
    return sizes


# %% wrong="a pool's own stride of 1 is taken for the default" says=["a pool whose own stride is 1", "a pool may have a stride other than its kernel"]
def conv_arithmetic(layers, size):
    sizes = []
    for layer in layers:
        kind, k = layer["kind"], layer["kernel"]
        s = layer.get("stride", 1)
        if kind == "pool" and s == 1:
            s = k
        p, d = layer.get("padding", 0), layer.get("dilation", 1)
        reach = d * (k - 1) + 1
        if kind == "transposed":
            size = (size - 1) * s - 2 * p + reach + layer.get("output_padding", 0)
        elif p != "same":
            if reach > size + 2 * p:
                raise ValueError("too small")
            size = (size + 2 * p - reach) // s + 1
        sizes.append(size)
    return sizes


# %% wrong="a pool's stride is its reach" says=["a dilated pool"]
def conv_arithmetic(layers, size):
    sizes = []
    for layer in layers:
        kind, kernel = layer["kind"], layer["kernel"]
        stride = layer.get(
            "stride", layer.get("dilation", 1) * (kernel - 1) + 1 if kind == "pool" else 1
        )
        padding, dilation = layer.get("padding", 0), layer.get("dilation", 1)
        reach = dilation * (kernel - 1) + 1
        if kind == "transposed":
            size = (size - 1) * stride - 2 * padding + reach + layer.get("output_padding", 0)
        elif padding == "same":
            pass
        else:
            if reach > size + 2 * padding:
                raise ValueError("too large")
            size = (size + 2 * padding - reach) // stride + 1
        sizes.append(size)
    return sizes


# %% wrong="ValueError at the first layer alone" says=["the third layer is too large"]
def conv_arithmetic(layers, size):
    sizes = []
    for layer in layers:
        kind, kernel = layer["kind"], layer["kernel"]
        stride = layer.get("stride", kernel if kind == "pool" else 1)
        padding, dilation = layer.get("padding", 0), layer.get("dilation", 1)
        reach = dilation * (kernel - 1) + 1
        if kind == "transposed":
            size = (size - 1) * stride - 2 * padding + reach + layer.get("output_padding", 0)
        elif padding == "same":
            pass
        else:
            if reach > size + 2 * padding and layer is layers[0]:
                raise ValueError("too large")
            size = (size + 2 * padding - reach) // stride + 1
        sizes.append(size)
    return sizes
