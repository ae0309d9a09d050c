# %% [markdown]
# Rules:
#
# - "Each operand is read once"
# - "each result written once"
# - "`itemsize` bytes an element"
# - "A size may be 0"
# - "or huge: flops and bytes are exact"
# - "An addition is one flop, a multiplication one"
# - "if the flops take longer than the bytes"
# - "`x.add_(y)`, in place"
# - "with `b` of shape (columns,)"
# - "padded to keep the size"
# - "also for an even kernel"
# - "the same with a group for each channel"
# - "A product of n terms counts n multiplications and n additions"
# - "else `"memory"`"
# - "`x.clone()`"
#
# Admits:
#
# - "`"depthwise"`": depthwise
# - "`itemsize` bytes an element": copy

# %% wrong="multiply-adds" says=["those are multiply-adds"]
def roofline(
    kind: str, sizes: tuple[int, ...], itemsize: int, peak: float, bandwidth: float
) -> tuple[int, int, str]:
    if kind == "linear":
        batch, inputs, outputs = sizes
        flops = batch * inputs * outputs
        elements = batch * inputs + inputs * outputs + batch * outputs
    elif kind == "bias":
        rows, columns = sizes
        flops, elements = rows * columns, 2 * rows * columns + columns
    elif kind in ("conv", "depthwise"):
        *channels, height, width, kernel = sizes[1:]
        places = sizes[0] * height * width
        weight = kernel**2 * (channels[0] * channels[1] if kind == "conv" else channels[0])
        flops, elements = places * weight, places * (channels[0] + channels[-1]) + weight
    else:
        flops = {"copy": 0, "add": 1, "add_": 1, "axpy": 2}[kind] * sizes[0]
        elements = (2 if kind == "copy" else 3) * sizes[0]
    nbytes = elements * itemsize
    return flops, nbytes, "compute" if flops / peak > nbytes / bandwidth else "memory"


# %% wrong="the result is not written" breaks="each result written once" says=["the result is written, too"]
def roofline(
    kind: str, sizes: tuple[int, ...], itemsize: int, peak: float, bandwidth: float
) -> tuple[int, int, str]:
    if kind == "linear":
        batch, inputs, outputs = sizes
        flops = 2 * batch * inputs * outputs
        elements = batch * inputs + inputs * outputs
    elif kind == "bias":
        rows, columns = sizes
        flops, elements = rows * columns, rows * columns + columns
    elif kind in ("conv", "depthwise"):
        *channels, height, width, kernel = sizes[1:]
        places = sizes[0] * height * width
        weight = kernel**2 * (channels[0] * channels[1] if kind == "conv" else channels[0])
        flops, elements = 2 * places * weight, places * (channels[0]) + weight
    else:
        flops = {"copy": 0, "add": 1, "add_": 1, "axpy": 2}[kind] * sizes[0]
        elements = (1 if kind == "copy" else 2) * sizes[0]
    nbytes = elements * itemsize
    return flops, nbytes, "compute" if flops / peak > nbytes / bandwidth else "memory"


# %% wrong="the weight is not read" breaks="Each operand is read once" says=["the weight is read, too"]
def roofline(
    kind: str, sizes: tuple[int, ...], itemsize: int, peak: float, bandwidth: float
) -> tuple[int, int, str]:
    if kind == "linear":
        batch, inputs, outputs = sizes
        flops = 2 * batch * inputs * outputs
        elements = batch * inputs + batch * outputs
    elif kind == "bias":
        rows, columns = sizes
        flops, elements = rows * columns, 2 * rows * columns + columns
    elif kind in ("conv", "depthwise"):
        *channels, height, width, kernel = sizes[1:]
        places = sizes[0] * height * width
        weight = kernel**2 * (channels[0] * channels[1] if kind == "conv" else channels[0])
        flops, elements = 2 * places * weight, places * (channels[0] + channels[-1])
    else:
        flops = {"copy": 0, "add": 1, "add_": 1, "axpy": 2}[kind] * sizes[0]
        elements = (2 if kind == "copy" else 3) * sizes[0]
    nbytes = elements * itemsize
    return flops, nbytes, "compute" if flops / peak > nbytes / bandwidth else "memory"


# %% wrong="always four bytes" breaks="`itemsize` bytes an element" says=["aren't always 4"]
def roofline(
    kind: str, sizes: tuple[int, ...], itemsize: int, peak: float, bandwidth: float
) -> tuple[int, int, str]:
    if kind == "linear":
        batch, inputs, outputs = sizes
        flops = 2 * batch * inputs * outputs
        elements = batch * inputs + inputs * outputs + batch * outputs
    elif kind == "bias":
        rows, columns = sizes
        flops, elements = rows * columns, 2 * rows * columns + columns
    elif kind in ("conv", "depthwise"):
        *channels, height, width, kernel = sizes[1:]
        places = sizes[0] * height * width
        weight = kernel**2 * (channels[0] * channels[1] if kind == "conv" else channels[0])
        flops, elements = 2 * places * weight, places * (channels[0] + channels[-1]) + weight
    else:
        flops = {"copy": 0, "add": 1, "add_": 1, "axpy": 2}[kind] * sizes[0]
        elements = (2 if kind == "copy" else 3) * sizes[0]
    nbytes = elements * 4
    return flops, nbytes, "compute" if flops / peak > nbytes / bandwidth else "memory"


# %% wrong="no itemsize" says=["each element has itemsize bytes"]
def roofline(
    kind: str, sizes: tuple[int, ...], itemsize: int, peak: float, bandwidth: float
) -> tuple[int, int, str]:
    if kind == "linear":
        batch, inputs, outputs = sizes
        flops = 2 * batch * inputs * outputs
        elements = batch * inputs + inputs * outputs + batch * outputs
    elif kind == "bias":
        rows, columns = sizes
        flops, elements = rows * columns, 2 * rows * columns + columns
    elif kind in ("conv", "depthwise"):
        *channels, height, width, kernel = sizes[1:]
        places = sizes[0] * height * width
        weight = kernel**2 * (channels[0] * channels[1] if kind == "conv" else channels[0])
        flops, elements = 2 * places * weight, places * (channels[0] + channels[-1]) + weight
    else:
        flops = {"copy": 0, "add": 1, "add_": 1, "axpy": 2}[kind] * sizes[0]
        elements = (2 if kind == "copy" else 3) * sizes[0]
    nbytes = elements
    return flops, nbytes, "compute" if flops / peak > nbytes / bandwidth else "memory"


# %% wrong="a depthwise one as a full one" breaks="the same with a group for each channel" says=["each output channel reads its own input channel alone"]
def roofline(
    kind: str, sizes: tuple[int, ...], itemsize: int, peak: float, bandwidth: float
) -> tuple[int, int, str]:
    if kind == "linear":
        batch, inputs, outputs = sizes
        flops = 2 * batch * inputs * outputs
        elements = batch * inputs + inputs * outputs + batch * outputs
    elif kind == "bias":
        rows, columns = sizes
        flops, elements = rows * columns, 2 * rows * columns + columns
    elif kind in ("conv", "depthwise"):
        *channels, height, width, kernel = sizes[1:]
        places = sizes[0] * height * width
        weight = kernel**2 * channels[0] * channels[-1]
        flops, elements = 2 * places * weight, places * (channels[0] + channels[-1]) + weight
    else:
        flops = {"copy": 0, "add": 1, "add_": 1, "axpy": 2}[kind] * sizes[0]
        elements = (2 if kind == "copy" else 3) * sizes[0]
    nbytes = elements * itemsize
    return flops, nbytes, "compute" if flops / peak > nbytes / bandwidth else "memory"


# %% wrong="kernel, not kernel squared" says=["kernel · kernel places"]
def roofline(
    kind: str, sizes: tuple[int, ...], itemsize: int, peak: float, bandwidth: float
) -> tuple[int, int, str]:
    if kind == "linear":
        batch, inputs, outputs = sizes
        flops = 2 * batch * inputs * outputs
        elements = batch * inputs + inputs * outputs + batch * outputs
    elif kind == "bias":
        rows, columns = sizes
        flops, elements = rows * columns, 2 * rows * columns + columns
    elif kind in ("conv", "depthwise"):
        *channels, height, width, kernel = sizes[1:]
        places = sizes[0] * height * width
        weight = kernel * (channels[0] * channels[1] if kind == "conv" else channels[0])
        flops, elements = 2 * places * weight, places * (channels[0] + channels[-1]) + weight
    else:
        flops = {"copy": 0, "add": 1, "add_": 1, "axpy": 2}[kind] * sizes[0]
        elements = (2 if kind == "copy" else 3) * sizes[0]
    nbytes = elements * itemsize
    return flops, nbytes, "compute" if flops / peak > nbytes / bandwidth else "memory"


# %% wrong="in place moves less" breaks="`x.add_(y)`, in place" says=["in place, x is read and written"]
def roofline(
    kind: str, sizes: tuple[int, ...], itemsize: int, peak: float, bandwidth: float
) -> tuple[int, int, str]:
    if kind == "linear":
        batch, inputs, outputs = sizes
        flops = 2 * batch * inputs * outputs
        elements = batch * inputs + inputs * outputs + batch * outputs
    elif kind == "bias":
        rows, columns = sizes
        flops, elements = rows * columns, 2 * rows * columns + columns
    elif kind in ("conv", "depthwise"):
        *channels, height, width, kernel = sizes[1:]
        places = sizes[0] * height * width
        weight = kernel**2 * (channels[0] * channels[1] if kind == "conv" else channels[0])
        flops, elements = 2 * places * weight, places * (channels[0] + channels[-1]) + weight
    else:
        flops = {"copy": 0, "add": 1, "add_": 1, "axpy": 2}[kind] * sizes[0]
        elements = (2 if kind in ("copy", "add_") else 3) * sizes[0]
    nbytes = elements * itemsize
    return flops, nbytes, "compute" if flops / peak > nbytes / bandwidth else "memory"


# %% wrong="bounds swapped" breaks="if the flops take longer than the bytes" says=["the longer one is waited for"]
def roofline(
    kind: str, sizes: tuple[int, ...], itemsize: int, peak: float, bandwidth: float
) -> tuple[int, int, str]:
    if kind == "linear":
        batch, inputs, outputs = sizes
        flops = 2 * batch * inputs * outputs
        elements = batch * inputs + inputs * outputs + batch * outputs
    elif kind == "bias":
        rows, columns = sizes
        flops, elements = rows * columns, 2 * rows * columns + columns
    elif kind in ("conv", "depthwise"):
        *channels, height, width, kernel = sizes[1:]
        places = sizes[0] * height * width
        weight = kernel**2 * (channels[0] * channels[1] if kind == "conv" else channels[0])
        flops, elements = 2 * places * weight, places * (channels[0] + channels[-1]) + weight
    else:
        flops = {"copy": 0, "add": 1, "add_": 1, "axpy": 2}[kind] * sizes[0]
        elements = (2 if kind == "copy" else 3) * sizes[0]
    nbytes = elements * itemsize
    return flops, nbytes, "compute" if flops / peak < nbytes / bandwidth else "memory"


# %% wrong="intensity compared with peak alone" says=["the longer one is waited for"]
def roofline(
    kind: str, sizes: tuple[int, ...], itemsize: int, peak: float, bandwidth: float
) -> tuple[int, int, str]:
    if kind == "linear":
        batch, inputs, outputs = sizes
        flops = 2 * batch * inputs * outputs
        elements = batch * inputs + inputs * outputs + batch * outputs
    elif kind == "bias":
        rows, columns = sizes
        flops, elements = rows * columns, 2 * rows * columns + columns
    elif kind in ("conv", "depthwise"):
        *channels, height, width, kernel = sizes[1:]
        places = sizes[0] * height * width
        weight = kernel**2 * (channels[0] * channels[1] if kind == "conv" else channels[0])
        flops, elements = 2 * places * weight, places * (channels[0] + channels[-1]) + weight
    else:
        flops = {"copy": 0, "add": 1, "add_": 1, "axpy": 2}[kind] * sizes[0]
        elements = (2 if kind == "copy" else 3) * sizes[0]
    nbytes = elements * itemsize
    return flops, nbytes, "compute" if flops > nbytes else "memory"


# %% wrong="copying computes" breaks="`x.clone()`" says=["copying computes nothing"]
def roofline(
    kind: str, sizes: tuple[int, ...], itemsize: int, peak: float, bandwidth: float
) -> tuple[int, int, str]:
    if kind == "linear":
        batch, inputs, outputs = sizes
        flops = 2 * batch * inputs * outputs
        elements = batch * inputs + inputs * outputs + batch * outputs
    elif kind == "bias":
        rows, columns = sizes
        flops, elements = rows * columns, 2 * rows * columns + columns
    elif kind in ("conv", "depthwise"):
        *channels, height, width, kernel = sizes[1:]
        places = sizes[0] * height * width
        weight = kernel**2 * (channels[0] * channels[1] if kind == "conv" else channels[0])
        flops, elements = 2 * places * weight, places * (channels[0] + channels[-1]) + weight
    else:
        flops = {"copy": 1, "add": 1, "add_": 1, "axpy": 2}[kind] * sizes[0]
        elements = (2 if kind == "copy" else 3) * sizes[0]
    nbytes = elements * itemsize
    return flops, nbytes, "compute" if flops / peak > nbytes / bandwidth else "memory"


# %% wrong="b is a matrix" breaks="with `b` of shape (columns,)" says=["b has a row of elements"]
def roofline(
    kind: str, sizes: tuple[int, ...], itemsize: int, peak: float, bandwidth: float
) -> tuple[int, int, str]:
    if kind == "linear":
        batch, inputs, outputs = sizes
        flops = 2 * batch * inputs * outputs
        elements = batch * inputs + inputs * outputs + batch * outputs
    elif kind == "bias":
        rows, columns = sizes
        flops, elements = rows * columns, 3 * rows * columns
    elif kind in ("conv", "depthwise"):
        *channels, height, width, kernel = sizes[1:]
        places = sizes[0] * height * width
        weight = kernel**2 * (channels[0] * channels[1] if kind == "conv" else channels[0])
        flops, elements = 2 * places * weight, places * (channels[0] + channels[-1]) + weight
    else:
        flops = {"copy": 0, "add": 1, "add_": 1, "axpy": 2}[kind] * sizes[0]
        elements = (2 if kind == "copy" else 3) * sizes[0]
    nbytes = elements * itemsize
    return flops, nbytes, "compute" if flops / peak > nbytes / bandwidth else "memory"


# %% wrong="axpy is one flop" breaks="An addition is one flop, a multiplication one" says=["those are multiply-adds"]
def roofline(
    kind: str, sizes: tuple[int, ...], itemsize: int, peak: float, bandwidth: float
) -> tuple[int, int, str]:
    if kind == "linear":
        batch, inputs, outputs = sizes
        flops = 2 * batch * inputs * outputs
        elements = batch * inputs + inputs * outputs + batch * outputs
    elif kind == "bias":
        rows, columns = sizes
        flops, elements = rows * columns, 2 * rows * columns + columns
    elif kind in ("conv", "depthwise"):
        *channels, height, width, kernel = sizes[1:]
        places = sizes[0] * height * width
        weight = kernel**2 * (channels[0] * channels[1] if kind == "conv" else channels[0])
        flops, elements = 2 * places * weight, places * (channels[0] + channels[-1]) + weight
    else:
        flops = {"copy": 0, "add": 1, "add_": 1, "axpy": 1}[kind] * sizes[0]
        elements = (2 if kind == "copy" else 3) * sizes[0]
    nbytes = elements * itemsize
    return flops, nbytes, "compute" if flops / peak > nbytes / bandwidth else "memory"


# %% wrong="nothing yet" says=["None came back: is there an answer yet"]
def roofline(
    kind: str, sizes: tuple[int, ...], itemsize: int, peak: float, bandwidth: float
) -> tuple[int, int, str]:
    if kind == "linear":
        batch, inputs, outputs = sizes
        flops = 2 * batch * inputs * outputs
        elements = batch * inputs + inputs * outputs + batch * outputs
    elif kind == "bias":
        rows, columns = sizes
        flops, elements = rows * columns, 2 * rows * columns + columns
    elif kind in ("conv", "depthwise"):
        *channels, height, width, kernel = sizes[1:]
        places = sizes[0] * height * width
        weight = kernel**2 * (channels[0] * channels[1] if kind == "conv" else channels[0])
        flops, elements = 2 * places * weight, places * (channels[0] + channels[-1]) + weight
    else:
        flops = {"copy": 0, "add": 1, "add_": 1, "axpy": 2}[kind] * sizes[0]
        elements = (2 if kind == "copy" else 3) * sizes[0]
    nbytes = elements * itemsize
    _ = flops, nbytes, "compute" if flops / peak > nbytes / bandwidth else "memory"


# %% right="shapes first, math.prod"
import math  # noqa: E402


def roofline(kind, sizes, itemsize, peak, bandwidth):
    n = sizes[0]
    if kind == "linear":
        b, i, o = sizes
        shapes, terms = [(b, i), (o, i), (b, o)], i
    elif kind == "bias":
        shapes, terms = [tuple(sizes), (sizes[1],), tuple(sizes)], 0.5
    elif kind == "conv":
        b, i, o, h, w, k = sizes
        shapes, terms = [(b, i, h, w), (o, i, k, k), (b, o, h, w)], i * k * k
    elif kind == "depthwise":
        b, c, h, w, k = sizes
        shapes, terms = [(b, c, h, w), (c, 1, k, k), (b, c, h, w)], k * k
    else:
        shapes = [(n,)] * (2 if kind == "copy" else 3)
        terms = {"copy": 0, "add": 0.5, "add_": 0.5, "axpy": 1}[kind]
    nbytes = itemsize * sum(math.prod(shape) for shape in shapes)
    flops = int(2 * terms * math.prod(shapes[-1]))
    return [flops, nbytes, "memory" if flops * bandwidth <= nbytes * peak else "compute"]


# %% wrong="no padding" breaks="padded to keep the size" says=["it is padded"]
def roofline(
    kind: str, sizes: tuple[int, ...], itemsize: int, peak: float, bandwidth: float
) -> tuple[int, int, str]:
    if kind == "linear":
        batch, inputs, outputs = sizes
        flops = 2 * batch * inputs * outputs
        elements = batch * inputs + inputs * outputs + batch * outputs
    elif kind == "bias":
        rows, columns = sizes
        flops, elements = rows * columns, 2 * rows * columns + columns
    elif kind in ("conv", "depthwise"):
        *channels, height, width, kernel = sizes[1:]
        places = sizes[0] * (height - kernel + 1) * (width - kernel + 1)
        weight = kernel**2 * (channels[0] * channels[1] if kind == "conv" else channels[0])
        flops, elements = 2 * places * weight, places * (channels[0] + channels[-1]) + weight
    else:
        flops = {"copy": 0, "add": 1, "add_": 1, "axpy": 2}[kind] * sizes[0]
        elements = (2 if kind == "copy" else 3) * sizes[0]
    nbytes = elements * itemsize
    return flops, nbytes, "compute" if flops / peak > nbytes / bandwidth else "memory"


# %% wrong="a depthwise weight for each pair of channels" says=["a kernel for each channel, not for each pair"]
def roofline(
    kind: str, sizes: tuple[int, ...], itemsize: int, peak: float, bandwidth: float
) -> tuple[int, int, str]:
    if kind == "linear":
        batch, inputs, outputs = sizes
        flops = 2 * batch * inputs * outputs
        elements = batch * inputs + inputs * outputs + batch * outputs
    elif kind == "bias":
        rows, columns = sizes
        flops, elements = rows * columns, 2 * rows * columns + columns
    elif kind in ("conv", "depthwise"):
        *channels, height, width, kernel = sizes[1:]
        places = sizes[0] * height * width
        weight = kernel**2 * (channels[0] * channels[1] if kind == "conv" else channels[0])
        flops, elements = (
            2 * places * weight,
            places * (channels[0] + channels[-1]) + kernel**2 * channels[0] * channels[-1],
        )
    else:
        flops = {"copy": 0, "add": 1, "add_": 1, "axpy": 2}[kind] * sizes[0]
        elements = (2 if kind == "copy" else 3) * sizes[0]
    nbytes = elements * itemsize
    return flops, nbytes, "compute" if flops / peak > nbytes / bandwidth else "memory"


# %% wrong="a tie counts as compute" breaks="else `\"memory\"`" says=["the longer one is waited for"]
def roofline(
    kind: str, sizes: tuple[int, ...], itemsize: int, peak: float, bandwidth: float
) -> tuple[int, int, str]:
    """Flops, bytes, and what is waited for: ``"compute"`` or ``"memory"``."""
    if kind == "linear":
        batch, inputs, outputs = sizes
        flops = 2 * batch * inputs * outputs
        elements = batch * inputs + inputs * outputs + batch * outputs
    elif kind == "bias":
        rows, columns = sizes
        flops, elements = rows * columns, 2 * rows * columns + columns
    elif kind in ("conv", "depthwise"):
        *channels, height, width, kernel = sizes[1:]
        places = sizes[0] * height * width
        weight = kernel**2 * (channels[0] * channels[1] if kind == "conv" else channels[0])
        flops, elements = 2 * places * weight, places * (channels[0] + channels[-1]) + weight
    else:
        flops = {"copy": 0, "add": 1, "add_": 1, "axpy": 2}[kind] * sizes[0]
        elements = (2 if kind == "copy" else 3) * sizes[0]
    nbytes = elements * itemsize
    return flops, nbytes, "compute" if flops / peak >= nbytes / bandwidth else "memory"


# %% wrong="flops of n - 1 additions" breaks="A product of n terms counts n multiplications and n additions" says=["counts n additions here"]
def roofline(
    kind: str, sizes: tuple[int, ...], itemsize: int, peak: float, bandwidth: float
) -> tuple[int, int, str]:
    """Flops, bytes, and what is waited for: ``"compute"`` or ``"memory"``."""
    if kind == "linear":
        batch, inputs, outputs = sizes
        flops = (2 * inputs - 1) * batch * outputs
        elements = batch * inputs + inputs * outputs + batch * outputs
    elif kind == "bias":
        rows, columns = sizes
        flops, elements = rows * columns, 2 * rows * columns + columns
    elif kind in ("conv", "depthwise"):
        *channels, height, width, kernel = sizes[1:]
        places = sizes[0] * height * width
        weight = kernel**2 * (channels[0] * channels[1] if kind == "conv" else channels[0])
        flops, elements = 2 * places * weight, places * (channels[0] + channels[-1]) + weight
    else:
        flops = {"copy": 0, "add": 1, "add_": 1, "axpy": 2}[kind] * sizes[0]
        elements = (2 if kind == "copy" else 3) * sizes[0]
    nbytes = elements * itemsize
    return flops, nbytes, "compute" if flops / peak > nbytes / bandwidth else "memory"


# %% wrong="axpy as two operators" says=["one kernel: x and y are read once"]
def roofline(kind, sizes, itemsize, peak, bandwidth):
    if kind in ("copy", "add", "add_", "axpy"):
        (n,) = sizes
        flops = {"copy": 0, "add": n, "add_": n, "axpy": 2 * n}[kind]
        elements = {"copy": 2, "add": 3, "add_": 3, "axpy": 5}[kind] * n
    elif kind == "bias":
        rows, columns = sizes
        flops, elements = rows * columns, 2 * rows * columns + columns
    elif kind == "linear":
        batch, inputs, outputs = sizes
        flops = 2 * batch * inputs * outputs
        elements = batch * inputs + inputs * outputs + batch * outputs
    elif kind == "conv":
        batch, inputs, outputs, height, width, kernel = sizes
        flops = 2 * batch * outputs * height * width * inputs * kernel**2
        elements = batch * (inputs + outputs) * height * width + inputs * outputs * kernel**2
    else:
        batch, channels, height, width, kernel = sizes
        flops = 2 * batch * channels * height * width * kernel**2
        elements = 2 * batch * channels * height * width + channels * kernel**2
    nbytes = elements * itemsize
    bound = "compute" if flops / peak > nbytes / bandwidth else "memory"
    return flops, nbytes, bound


# %% wrong="square images" says=["an image has height · width places"]
def roofline(kind, sizes, itemsize, peak, bandwidth):
    if kind in ("copy", "add", "add_", "axpy"):
        (n,) = sizes
        flops = {"copy": 0, "add": n, "add_": n, "axpy": 2 * n}[kind]
        elements = 2 * n if kind == "copy" else 3 * n
    elif kind == "bias":
        rows, columns = sizes
        flops, elements = rows * columns, 2 * rows * columns + columns
    elif kind == "linear":
        batch, inputs, outputs = sizes
        flops = 2 * batch * inputs * outputs
        elements = batch * inputs + inputs * outputs + batch * outputs
    elif kind == "conv":
        batch, inputs, outputs, height, width, kernel = sizes
        flops = 2 * batch * outputs * height * height * inputs * kernel**2
        elements = batch * (inputs + outputs) * height * width + inputs * outputs * kernel**2
    else:
        batch, channels, height, width, kernel = sizes
        flops = 2 * batch * channels * height * width * kernel**2
        elements = 2 * batch * channels * height * width + channels * kernel**2
    nbytes = elements * itemsize
    bound = "compute" if flops / peak > nbytes / bandwidth else "memory"
    return flops, nbytes, bound


# %% wrong="four bytes in the bound" says=["axpy, sizes (6,), itemsize 2: not memory-bound"]
def roofline(kind, sizes, itemsize, peak, bandwidth):
    if kind in ("copy", "add", "add_", "axpy"):
        n = sizes[0]
        flops = {"copy": 0, "add": n, "add_": n, "axpy": 2 * n}[kind]
        elements = 2 * n if kind == "copy" else 3 * n
    elif kind == "bias":
        r, c = sizes
        flops, elements = r * c, 2 * r * c + c
    elif kind == "linear":
        b, i, o = sizes
        flops, elements = 2 * b * i * o, b * i + i * o + b * o
    elif kind == "conv":
        b, i, o, h, w, k = sizes
        flops, elements = 2 * b * i * o * h * w * k * k, b * h * w * (i + o) + i * o * k * k
    else:
        b, c, h, w, k = sizes
        flops, elements = 2 * b * c * h * w * k * k, 2 * b * c * h * w + c * k * k
    nbytes = elements * itemsize
    return flops, nbytes, "compute" if flops / peak > 4 * elements / bandwidth else "memory"


# %% wrong="divides by the bytes: fails where there are none" breaks="A size may be 0" says=["add, sizes (0,), itemsize 4: raised ZeroDivisionError"]
def roofline(
    kind: str, sizes: tuple[int, ...], itemsize: int, peak: float, bandwidth: float
) -> tuple[int, int, str]:
    if kind == "copy":
        (n,) = sizes
        flops, elements = 0, 2 * n
    elif kind in ("add", "add_"):
        (n,) = sizes
        flops, elements = n, 3 * n
    elif kind == "axpy":
        (n,) = sizes
        flops, elements = 2 * n, 3 * n
    elif kind == "bias":
        rows, columns = sizes
        flops, elements = rows * columns, 2 * rows * columns + columns
    elif kind == "linear":
        batch, inputs, outputs = sizes
        flops = 2 * batch * inputs * outputs
        elements = batch * inputs + inputs * outputs + batch * outputs
    elif kind == "conv":
        batch, inputs, outputs, height, width, kernel = sizes
        flops = 2 * batch * outputs * height * width * inputs * kernel * kernel
        elements = (
            batch * inputs * height * width
            + outputs * inputs * kernel * kernel
            + batch * outputs * height * width
        )
    else:
        batch, channels, height, width, kernel = sizes
        flops = 2 * batch * channels * height * width * kernel * kernel
        elements = 2 * batch * channels * height * width + channels * kernel * kernel
    nbytes = elements * itemsize
    bound = "compute" if flops / nbytes > peak / bandwidth else "memory"
    return flops, nbytes, bound


# %% wrong="a depthwise kernel of 3" says=["depthwise, sizes (2, 5, 6, 7, 5)"]
def roofline(
    kind: str, sizes: tuple[int, ...], itemsize: int, peak: float, bandwidth: float
) -> tuple[int, int, str]:
    if kind == "copy":
        (n,) = sizes
        flops, elements = 0, 2 * n
    elif kind in ("add", "add_"):
        (n,) = sizes
        flops, elements = n, 3 * n
    elif kind == "axpy":
        (n,) = sizes
        flops, elements = 2 * n, 3 * n
    elif kind == "bias":
        rows, columns = sizes
        flops, elements = rows * columns, 2 * rows * columns + columns
    elif kind == "linear":
        batch, inputs, outputs = sizes
        flops = 2 * batch * inputs * outputs
        elements = batch * inputs + inputs * outputs + batch * outputs
    elif kind == "conv":
        batch, inputs, outputs, height, width, kernel = sizes
        flops = 2 * batch * outputs * height * width * inputs * kernel * kernel
        elements = (
            batch * inputs * height * width
            + outputs * inputs * kernel * kernel
            + batch * outputs * height * width
        )
    else:
        batch, channels, height, width, kernel = sizes
        flops = 2 * batch * channels * height * width * kernel * kernel
        elements = 2 * batch * channels * height * width + channels * 9
    nbytes = elements * itemsize
    bound = "compute" if flops / peak > nbytes / bandwidth else "memory"
    return flops, nbytes, bound


# %% wrong="seconds rounded to nanoseconds" says=["the longer one is waited for"]
def roofline(
    kind: str, sizes: tuple[int, ...], itemsize: int, peak: float, bandwidth: float
) -> tuple[int, int, str]:
    if kind == "copy":
        (n,) = sizes
        flops, elements = 0, 2 * n
    elif kind in ("add", "add_"):
        (n,) = sizes
        flops, elements = n, 3 * n
    elif kind == "axpy":
        (n,) = sizes
        flops, elements = 2 * n, 3 * n
    elif kind == "bias":
        rows, columns = sizes
        flops, elements = rows * columns, 2 * rows * columns + columns
    elif kind == "linear":
        batch, inputs, outputs = sizes
        flops = 2 * batch * inputs * outputs
        elements = batch * inputs + inputs * outputs + batch * outputs
    elif kind == "conv":
        batch, inputs, outputs, height, width, kernel = sizes
        flops = 2 * batch * outputs * height * width * inputs * kernel * kernel
        elements = (
            batch * inputs * height * width
            + outputs * inputs * kernel * kernel
            + batch * outputs * height * width
        )
    else:
        batch, channels, height, width, kernel = sizes
        flops = 2 * batch * channels * height * width * kernel * kernel
        elements = 2 * batch * channels * height * width + channels * kernel * kernel
    nbytes = elements * itemsize
    bound = "compute" if round(flops / peak, 9) > round(nbytes / bandwidth, 9) else "memory"
    return flops, nbytes, bound


# %% wrong="floats in place of whole numbers" says=["flops is of type float, expected an int"]
def roofline(kind, sizes, itemsize, peak, bandwidth):
    if kind == "copy":
        (n,) = sizes
        flops, elements = 0, 2 * n
    elif kind in ("add", "add_"):
        (n,) = sizes
        flops, elements = n, 3 * n
    elif kind == "axpy":
        (n,) = sizes
        flops, elements = 2 * n, 3 * n
    elif kind == "bias":
        rows, columns = sizes
        flops, elements = rows * columns, 2 * rows * columns + columns
    elif kind == "linear":
        batch, inputs, outputs = sizes
        flops, elements = (
            2 * batch * inputs * outputs,
            batch * inputs + inputs * outputs + batch * outputs,
        )
    elif kind == "conv":
        batch, inputs, outputs, height, width, kernel = sizes
        places = batch * height * width
        flops = 2 * places * outputs * inputs * kernel**2
        elements = places * (inputs + outputs) + inputs * outputs * kernel**2
    else:
        batch, channels, height, width, kernel = sizes
        places = batch * height * width
        flops = 2 * places * channels * kernel**2
        elements = 2 * places * channels + channels * kernel**2
    nbytes = elements * itemsize
    return float(flops), float(nbytes), "compute" if flops / peak > nbytes / bandwidth else "memory"


# %% right="shapes on the device meta"
def roofline(kind, sizes, itemsize, peak, bandwidth):
    n, *rest = sizes
    if kind == "linear":
        shapes, terms = [(n, rest[0]), (rest[1], rest[0]), (n, rest[1])], rest[0]
    elif kind == "bias":
        shapes, terms = [tuple(sizes), (rest[0],), tuple(sizes)], 0.5
    elif kind == "conv":
        i, o, h, w, k = rest
        shapes, terms = [(n, i, h, w), (o, i, k, k), (n, o, h, w)], i * k * k
    elif kind == "depthwise":
        c, h, w, k = rest
        shapes, terms = [(n, c, h, w), (c, k, k), (n, c, h, w)], k * k
    else:
        shapes = [(n,)] * (2 if kind == "copy" else 3)
        terms = {"copy": 0, "add": 0.5, "add_": 0.5, "axpy": 1}[kind]
    counts = [torch.empty(shape, device="meta").numel() for shape in shapes]
    flops, nbytes = int(2 * terms) * counts[-1], sum(counts) * itemsize
    return flops, nbytes, ("memory", "compute")[flops / peak > nbytes / bandwidth]


# %% wrong="a result as large as x" says=["the result has outputs channels"]
def roofline(kind, sizes, itemsize, peak, bandwidth):
    if kind in ("copy", "add", "add_", "axpy"):
        (n,) = sizes
        flops = {"copy": 0, "axpy": 2 * n}.get(kind, n)
        elements = 2 * n if kind == "copy" else 3 * n
    elif kind == "bias":
        rows, columns = sizes
        flops, elements = rows * columns, 2 * rows * columns + columns
    elif kind == "linear":
        batch, inputs, outputs = sizes
        flops = 2 * batch * inputs * outputs
        elements = batch * inputs + outputs * inputs + batch * outputs
    elif kind == "conv":
        batch, inputs, outputs, height, width, kernel = sizes
        flops = 2 * batch * outputs * height * width * inputs * kernel**2
        elements = 2 * batch * inputs * height * width + outputs * inputs * kernel**2
    else:
        batch, channels, height, width, kernel = sizes
        flops = 2 * batch * channels * height * width * kernel**2
        elements = 2 * batch * channels * height * width + channels * kernel**2
    nbytes = elements * itemsize
    return flops, nbytes, "compute" if flops / peak > nbytes / bandwidth else "memory"


# %% wrong="half of an even kernel on each side" breaks="also for an even kernel" says=["with an even kernel, too"]
def roofline(
    kind: str, sizes: tuple[int, ...], itemsize: int, peak: float, bandwidth: float
) -> tuple[int, int, str]:
    if kind == "copy":
        (n,) = sizes
        flops, moved = 0, 2 * n
    elif kind in ("add", "add_"):
        (n,) = sizes
        flops, moved = n, 3 * n
    elif kind == "axpy":
        (n,) = sizes
        flops, moved = 2 * n, 3 * n
    elif kind == "bias":
        rows, columns = sizes
        flops, moved = rows * columns, 2 * rows * columns + columns
    elif kind == "linear":
        batch, inputs, outputs = sizes
        flops = 2 * batch * inputs * outputs
        moved = batch * inputs + inputs * outputs + batch * outputs
    elif kind == "conv":
        batch, inputs, outputs, height, width, kernel = sizes
        pad = kernel // 2
        high, wide = height + 2 * pad - kernel + 1, width + 2 * pad - kernel + 1
        places, results = batch * height * width, batch * high * wide
        flops = 2 * results * inputs * outputs * kernel**2
        moved = places * inputs + results * outputs + inputs * outputs * kernel**2
    else:
        batch, channels, height, width, kernel = sizes
        pad = kernel // 2
        high, wide = height + 2 * pad - kernel + 1, width + 2 * pad - kernel + 1
        places, results = batch * height * width, batch * high * wide
        flops = 2 * results * channels * kernel**2
        moved = (places + results) * channels + channels * kernel**2
    nbytes = moved * itemsize
    return flops, nbytes, "compute" if flops / peak > nbytes / bandwidth else "memory"


# %% wrong="the padded image is read" says=["bytes: the image is read, not the zeros around it"]
def roofline(
    kind: str, sizes: tuple[int, ...], itemsize: int, peak: float, bandwidth: float
) -> tuple[int, int, str]:
    if kind == "linear":
        batch, inputs, outputs = sizes
        flops = 2 * batch * inputs * outputs
        elements = batch * inputs + inputs * outputs + batch * outputs
    elif kind == "bias":
        rows, columns = sizes
        flops, elements = rows * columns, 2 * rows * columns + columns
    elif kind in ("conv", "depthwise"):
        *channels, height, width, kernel = sizes[1:]
        places = sizes[0] * height * width
        wide = sizes[0] * (height + kernel - 1) * (width + kernel - 1)
        weight = kernel**2 * (channels[0] * channels[1] if kind == "conv" else channels[0])
        flops, elements = 2 * places * weight, wide * channels[0] + places * channels[-1] + weight
    else:
        flops = {"copy": 0, "add": 1, "add_": 1, "axpy": 2}[kind] * sizes[0]
        elements = (2 if kind == "copy" else 3) * sizes[0]
    nbytes = elements * itemsize
    return flops, nbytes, "compute" if flops / peak > nbytes / bandwidth else "memory"


# %% wrong="divides by the groups: fails without channels" says=["depthwise, sizes (2, 0, 5, 7, 3), itemsize 4: raised ZeroDivisionError"]
def roofline(
    kind: str, sizes: tuple[int, ...], itemsize: int, peak: float, bandwidth: float
) -> tuple[int, int, str]:
    """A linear layer is a 1 x 1 convolution of 1 x 1 images; a depthwise one has as many groups."""

    def convolution(batch, inputs, outputs, height, width, kernel, groups=1):
        weight = outputs * (inputs // groups) * kernel**2
        out = batch * outputs * height * width
        flops = 2 * batch * height * width * weight
        return flops, batch * inputs * height * width + weight + out

    if kind == "linear":
        flops, numbers = convolution(*sizes, 1, 1, 1)
    elif kind == "conv":
        flops, numbers = convolution(*sizes)
    elif kind == "depthwise":
        batch, channels, *rest = sizes
        flops, numbers = convolution(batch, channels, channels, *rest, groups=channels)
    elif kind == "bias":
        flops, numbers = sizes[0] * sizes[1], (2 * sizes[0] + 1) * sizes[1]
    else:
        per = {"copy": (0, 2), "add": (1, 3), "add_": (1, 3), "axpy": (2, 3)}[kind]
        flops, numbers = per[0] * sizes[0], per[1] * sizes[0]
    nbytes = numbers * itemsize
    return flops, nbytes, "compute" if flops * bandwidth > nbytes * peak else "memory"


# %% wrong="products in NumPy's int64" breaks="or huge: flops and bytes are exact" says=["went round at 2**63"]
import numpy as np


def roofline(
    kind: str, sizes: tuple[int, ...], itemsize: int, peak: float, bandwidth: float
) -> tuple[int, int, str]:
    s = np.asarray(sizes, dtype=np.int64)
    elementwise = {"copy": (0, 2), "add": (1, 3), "add_": (1, 3), "axpy": (2, 3)}
    if kind in elementwise:
        flops, numbers = (factor * s[0] for factor in elementwise[kind])
    elif kind == "bias":
        flops, numbers = s.prod(), 2 * s.prod() + s[1]
    elif kind == "linear":
        flops, numbers = 2 * s.prod(), s[[0, 1]].prod() + s[[1, 2]].prod() + s[[0, 2]].prod()
    elif kind == "conv":
        flops = 2 * s.prod() * s[-1]
        numbers = s[[0, 1, 3, 4]].prod() + s[[0, 2, 3, 4]].prod() + s[[1, 2, 5, 5]].prod()
    else:
        flops = 2 * s.prod() * s[-1]
        numbers = 2 * s[:4].prod() + s[[1, 4, 4]].prod()
    flops, nbytes = int(flops), int(numbers * itemsize)
    return flops, nbytes, "compute" if flops / peak > nbytes / bandwidth else "memory"


# %% wrong="peak and bandwidth in whole numbers" says=["not compute-bound", "peak and bandwidth needn't be whole numbers"]
def roofline(
    kind: str, sizes: tuple[int, ...], itemsize: int, peak: float, bandwidth: float
) -> tuple[int, int, str]:
    if kind == "linear":
        batch, inputs, outputs = sizes
        flops = 2 * batch * inputs * outputs
        elements = batch * inputs + inputs * outputs + batch * outputs
    elif kind == "bias":
        rows, columns = sizes
        flops, elements = rows * columns, 2 * rows * columns + columns
    elif kind in ("conv", "depthwise"):
        *channels, height, width, kernel = sizes[1:]
        places = sizes[0] * height * width
        weight = kernel**2 * (channels[0] * channels[1] if kind == "conv" else channels[0])
        flops, elements = 2 * places * weight, places * (channels[0] + channels[-1]) + weight
    else:
        flops = {"copy": 0, "add": 1, "add_": 1, "axpy": 2}[kind] * sizes[0]
        elements = (2 if kind == "copy" else 3) * sizes[0]
    nbytes = elements * itemsize
    slower = flops * int(bandwidth) > nbytes * int(peak)
    return flops, nbytes, "compute" if slower else "memory"
