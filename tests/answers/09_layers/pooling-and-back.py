# %% [markdown]
# Rules:
#
# - "without PyTorch's pooling and unpooling"
# - "and `F.interpolate`, which pools as well"
# - "any memory layout"
# - "a floating dtype, which the results keep"
# - "with its digits"
# - "a float16 sum may overflow, its mean may not"
# - "windows k × k, side by side"
# - "Rows and columns that fill no window are left out"
# - "`where` holds positions in the image"
# - "of dtype int64"
# - "each value in its place"
# - "zeros elsewhere"
# - "which may have one dimension or more"
# - "to m means"
# - "N may be 0"
#
# Admits:
#
# - "any memory layout": values and where that are transposed views, float16
# - "a float16 sum may overflow": float16, numbers about 30000
# - "Rows and columns that fill no window": rows and columns are left over
# - "If several pixels are largest": ties everywhere
# - "one dimension or more": windows that overlap, in one dimension
# - "have a floating dtype": bfloat16, numbers about 1e30
# - "N may be 0": no image
# - "The other dimensions may be 0": no row

# %% wrong="where counts inside the window" breaks="`where` holds positions in the image" says=["where: it counts the pixels of the whole image"]
def pooling_and_back(x, k):
    windows = x.unfold(2, k, k).unfold(3, k, k).flatten(4)
    largest, where = windows.max(4)
    return largest, where, windows.mean(4)


def unpool(values, where, height, width):
    flat = values.new_zeros(*values.shape[:2], height * width)
    return flat.scatter(2, where.flatten(2), values.flatten(2)).unflatten(2, (height, width))


def adaptive_mean(x, m):
    n = x.shape[-1]
    return torch.stack([x[..., i * n // m : -(-(i + 1) * n // m)].mean(-1) for i in range(m)], -1)


# %% wrong="rows as long as the output; windows that never overlap" says=["where", "windows that overlap, in one dimension"]
def pooling_and_back(x, k):
    windows = x.unfold(2, k, k).unfold(3, k, k).flatten(4)
    largest, inside = windows.max(4)
    h, w = largest.shape[2:]
    rows = torch.arange(h, device=x.device).view(-1, 1) * k + inside // k
    columns = torch.arange(w, device=x.device) * k + inside % k
    return largest, rows * w + columns, windows.mean(4)


def unpool(values, where, height, width):
    flat = values.new_zeros(*values.shape[:2], height * width)
    return flat.scatter(2, where.flatten(2), values.flatten(2)).unflatten(2, (height, width))


def adaptive_mean(x, m):
    n = x.shape[-1]
    return torch.stack([x[..., i * n // m : (i + 1) * n // m].mean(-1) for i in range(m)], -1)


# %% wrong="the library" breaks="without PyTorch's pooling and unpooling" says=["the answer calls avg_pool2d, max_pool2d_with_indices", "the answer calls max_unpool2d", "adaptive_avg_pool1d"]
def pooling_and_back(x, k):
    return *F.max_pool2d(x, k, return_indices=True), F.avg_pool2d(x, k)


def unpool(values, where, height, width):
    k = height // values.shape[2]
    return F.max_unpool2d(values, where, k, output_size=(height, width))


def adaptive_mean(x, m):
    return F.adaptive_avg_pool1d(x.reshape(1, -1, x.shape[-1]), m).view(*x.shape[:-1], m)


# %% wrong="a reshape that mixes rows; unpool repeats" breaks="windows k × k, side by side" says=["largest", "here it is repeated"]
def pooling_and_back(x, k):
    n, c, h, w = x.shape
    h, w = h // k, w // k
    windows = x[:, :, : h * k, : w * k].reshape(n, c, h, w, k * k)
    largest, inside = windows.max(4)
    rows = torch.arange(h, device=x.device).view(-1, 1) * k + inside // k
    columns = torch.arange(w, device=x.device) * k + inside % k
    return largest, rows * x.shape[3] + columns, windows.mean(4)


def unpool(values, where, height, width):
    return F.interpolate(values, (height, width))


def adaptive_mean(x, m):
    n = x.shape[-1]
    return torch.stack([x[..., i * n // m : -(-(i + 1) * n // m)].mean(-1) for i in range(m)], -1)


# %% wrong="pads what is left over, and only (largest, where)" breaks="Rows and columns that fill no window are left out" says=["2 parts came back", "expected a tuple (largest, where, mean)"]
def pooling_and_back(x, k):
    windows = x.unfold(2, k, k).unfold(3, k, k).flatten(4)
    return windows.max(4)


def unpool(values, where, height, width):
    flat = values.new_zeros(*values.shape[:2], height * width)
    return flat.scatter(2, where.flatten(2), values.flatten(2)).unflatten(2, (height, width))


def adaptive_mean(x, m):
    n = x.shape[-1]
    return torch.stack([x[..., i * n // m : -(-(i + 1) * n // m)].mean(-1) for i in range(m)], -1)


# %% wrong="only one channel's values are put back" says=["unpool differs"]
def pooling_and_back(x, k):
    windows = x.unfold(2, k, k).unfold(3, k, k).flatten(4)
    largest, inside = windows.max(4)
    h, w = largest.shape[2:]
    rows = torch.arange(h, device=x.device).view(-1, 1) * k + inside // k
    columns = torch.arange(w, device=x.device) * k + inside % k
    return largest, rows * x.shape[3] + columns, windows.mean(4)


def unpool(values, where, height, width):
    y = values.new_zeros(*values.shape[:2], height, width)
    y.view(-1)[where.flatten()] = values.flatten()
    return y


def adaptive_mean(x, m):
    n = x.shape[-1]
    return torch.stack([x[..., i * n // m : -(-(i + 1) * n // m)].mean(-1) for i in range(m)], -1)


# %% right="loops over windows and pixels"
def pooling_and_back(x, k):
    n, c, height, width = x.shape
    h, w = height // k, width // k
    largest, mean = x.new_zeros(n, c, h, w), x.new_zeros(n, c, h, w)
    where = torch.zeros(n, c, h, w, dtype=torch.int64, device=x.device)
    for i in range(h):
        for j in range(w):
            window = x[:, :, i * k : i * k + k, j * k : j * k + k].flatten(2)
            inside = window.argmax(2)
            largest[:, :, i, j], mean[:, :, i, j] = window.amax(2), window.mean(2)
            where[:, :, i, j] = (i * k + inside // k) * width + j * k + inside % k
    return [largest, where, mean]


def unpool(values, where, height, width):
    n, c = values.shape[:2]
    y = torch.zeros(n, c, height, width, dtype=values.dtype, device=values.device)
    for a in range(n):
        for b in range(c):
            for value, place in zip(values[a, b].flatten(), where[a, b].flatten().tolist()):
                y[a, b, place // width, place % width] = value
    return y


def adaptive_mean(x, m):
    import math

    n, sums = x.shape[-1], F.pad(x.double().cumsum(-1), (1, 0))
    means = []
    for i in range(m):
        a, b = math.floor(i * n / m), math.ceil((i + 1) * n / m)
        means.append((sums[..., b] - sums[..., a]) / (b - a))
    return torch.stack(means, -1).to(x.dtype)


# %% right="positions are pooled along with the values"
def pooling_and_back(x, k):
    h, w = x.shape[2] // k * k, x.shape[3] // k * k
    places = (
        torch.arange(x.shape[2] * x.shape[3], device=x.device).view(x.shape[2:]).expand(x.shape)
    )

    def cut(t):
        t = t[:, :, :h, :w]
        return t.unflatten(3, (-1, k)).unflatten(2, (-1, k)).transpose(3, 4).flatten(4)

    values = cut(x)
    best = values.argmax(-1, keepdim=True)
    return values.gather(-1, best)[..., 0], cut(places).gather(-1, best)[..., 0], cut(x).mean(-1)


def unpool(values, where, height, width):
    places = torch.arange(height * width, device=values.device)
    hits = where.flatten(2).unsqueeze(-1) == places
    return (hits * values.flatten(2).unsqueeze(-1)).sum(2).unflatten(2, (height, width))


def adaptive_mean(x, m):
    n = x.shape[-1]
    i, j = torch.arange(m, device=x.device).view(-1, 1), torch.arange(n, device=x.device)
    inside = ((j >= i * n // m) & (j * m < (i + 1) * n)).to(x.dtype)
    return x @ (inside / inside.sum(1, keepdim=True)).t()


# %% wrong="keeps the larger of value and zero" breaks="zeros elsewhere" says=["negative values: unpool differs"]
def pooling_and_back(x, k):
    windows = x.unfold(2, k, k).unfold(3, k, k).flatten(4)
    largest, inside = windows.max(4)
    h, w = largest.shape[2:]
    rows = torch.arange(h, device=x.device).view(-1, 1) * k + inside // k
    columns = torch.arange(w, device=x.device) * k + inside % k
    return largest, rows * x.shape[3] + columns, windows.mean(4)


def unpool(values, where, height, width):
    flat = values.new_zeros(*values.shape[:2], height * width)
    flat = flat.scatter_reduce(2, where.flatten(2), values.flatten(2), "amax")
    return flat.unflatten(2, (height, width))


def adaptive_mean(x, m):
    n = x.shape[-1]
    return torch.stack([x[..., i * n // m : -(-(i + 1) * n // m)].mean(-1) for i in range(m)], -1)


# %% wrong="adaptive end rounds down" breaks="to m means" says=["here it is rounded down"]
def pooling_and_back(x, k):
    w = x.unfold(2, k, k).unfold(3, k, k).flatten(-2)
    largest, at = w.max(-1)
    rows = torch.arange(largest.shape[2], device=x.device).view(-1, 1) * k + at // k
    cols = torch.arange(largest.shape[3], device=x.device) * k + at % k
    return largest, rows * x.shape[3] + cols, w.mean(-1)


def unpool(values, where, height, width):
    out = values.new_zeros(*values.shape[:2], height * width)
    out.scatter_(2, where.flatten(2), values.flatten(2))
    return out.view(*values.shape[:2], height, width)


def adaptive_mean(x, m):
    n = x.shape[-1]
    return torch.stack(
        [x[..., i * n // m : max((i + 1) * n // m, i * n // m + 1)].mean(-1) for i in range(m)], -1
    )


# %% wrong="adaptive by equal windows n // m" says=["the windows are not n // m long"]
def pooling_and_back(x, k):
    w = x.unfold(2, k, k).unfold(3, k, k).flatten(-2)
    largest, at = w.max(-1)
    rows = torch.arange(largest.shape[2], device=x.device).view(-1, 1) * k + at // k
    cols = torch.arange(largest.shape[3], device=x.device) * k + at % k
    return largest, rows * x.shape[3] + cols, w.mean(-1)


def unpool(values, where, height, width):
    out = values.new_zeros(*values.shape[:2], height * width)
    out.scatter_(2, where.flatten(2), values.flatten(2))
    return out.view(*values.shape[:2], height, width)


def adaptive_mean(x, m):
    k = x.shape[-1] // m
    return x.unfold(-1, k, k)[..., :m, :].mean(-1)


# %% right="F.unfold of positions, one-hot, a matrix"
def pooling_and_back(x, k):
    n, c, h, w = x.shape
    windows = F.unfold(x.reshape(n * c, 1, h, w), k, stride=k)
    places = torch.arange(h * w, device=x.device).view(h, w)[: h // k * k, : w // k * k]
    places = places.reshape(h // k, k, w // k, k).transpose(1, 2).reshape(1, -1, k * k).mT
    best, at = windows.max(1, keepdim=True)
    where = places.expand(n * c, -1, -1).gather(1, at)
    shape = n, c, h // k, w // k
    return best.reshape(shape), where.reshape(shape), windows.mean(1).reshape(shape)


def unpool(values, where, height, width):
    hot = F.one_hot(where.flatten(2), height * width).to(values.dtype)
    return torch.einsum("ncp,ncpq->ncq", values.flatten(2), hot).unflatten(-1, (height, width))


def adaptive_mean(x, m):
    n = x.shape[-1]
    matrix = torch.zeros(n, m, dtype=x.dtype, device=x.device)
    for i in range(m):
        a, b = i * n // m, ((i + 1) * n + m - 1) // m
        matrix[a:b, i] = 1 / (b - a)
    return x @ matrix


# %% wrong="means in float32" says=["a transposed image, float64: mean has dtype torch.float32, expected torch.float64"]
def pooling_and_back(x, k):
    windows = x.unfold(2, k, k).unfold(3, k, k).flatten(4)
    largest, inside = windows.max(4)
    h, w = largest.shape[2:]
    rows = torch.arange(h, device=x.device).view(-1, 1) * k + inside // k
    columns = torch.arange(w, device=x.device) * k + inside % k
    return largest, rows * x.shape[3] + columns, windows.float().mean(4)


def unpool(values, where, height, width):
    flat = values.new_zeros(*values.shape[:2], height * width)
    return flat.scatter(2, where.flatten(2), values.flatten(2)).unflatten(2, (height, width))


def adaptive_mean(x, m):
    n = x.shape[-1]
    return torch.stack([x[..., i * n // m : -(-(i + 1) * n // m)].mean(-1) for i in range(m)], -1)


# %% wrong="unpools into float32 zeros" breaks="a floating dtype, which the results keep" says=["a larger image than the windows fill, float64: unpool has dtype torch.float32"]
def pooling_and_back(x, k):
    windows = x.unfold(2, k, k).unfold(3, k, k).flatten(4)
    largest, inside = windows.max(4)
    h, w = largest.shape[2:]
    rows = torch.arange(h, device=x.device).view(-1, 1) * k + inside // k
    columns = torch.arange(w, device=x.device) * k + inside % k
    return largest, rows * x.shape[3] + columns, windows.mean(4)


def unpool(values, where, height, width):
    n, c = values.shape[:2]
    flat = torch.zeros(n, c, height * width, device=values.device)
    for i in range(n):
        for j in range(c):
            places = where[i, j].flatten().tolist()
            for place, value in zip(places, values[i, j].flatten().tolist()):
                flat[i, j, place] = value
    return flat.view(n, c, height, width)


def adaptive_mean(x, m):
    n = x.shape[-1]
    return torch.stack([x[..., i * n // m : -(-(i + 1) * n // m)].mean(-1) for i in range(m)], -1)


# %% wrong="view where any layout is admitted" breaks="any memory layout" says=["values and where that are transposed views, float16: raised RuntimeError"]
def pooling_and_back(x, k):
    windows = x.unfold(2, k, k).unfold(3, k, k).flatten(4)
    largest, inside = windows.max(4)
    h, w = largest.shape[2:]
    rows = torch.arange(h, device=x.device).view(-1, 1) * k + inside // k
    columns = torch.arange(w, device=x.device) * k + inside % k
    return largest, rows * x.shape[3] + columns, windows.mean(4)


def unpool(values, where, height, width):
    n, c = values.shape[:2]
    y = values.new_zeros(n, c, height * width)
    return y.scatter(2, where.view(n, c, -1), values.view(n, c, -1)).view(n, c, height, width)


def adaptive_mean(x, m):
    n = x.shape[-1]
    return torch.stack([x[..., i * n // m : -(-(i + 1) * n // m)].mean(-1) for i in range(m)], -1)


# %% wrong="bounds by float steps" says=["14 to 50, a transposed view, float16: adaptive_mean of 14 to 50: n / m is a float"]
def pooling_and_back(x, k):
    windows = x.unfold(2, k, k).unfold(3, k, k).flatten(4)
    largest, inside = windows.max(4)
    h, w = largest.shape[2:]
    rows = torch.arange(h, device=x.device).view(-1, 1) * k + inside // k
    columns = torch.arange(w, device=x.device) * k + inside % k
    return largest, rows * x.shape[3] + columns, windows.mean(4)


def unpool(values, where, height, width):
    flat = values.new_zeros(*values.shape[:2], height * width)
    return flat.scatter(2, where.flatten(2), values.flatten(2)).unflatten(2, (height, width))


def adaptive_mean(x, m):
    import math

    step, means = x.shape[-1] / m, []
    for i in range(m):
        means.append(x[..., math.floor(i * step) : math.ceil((i + 1) * step)].mean(-1))
    return torch.stack(means, -1)


# %% wrong="interpolates by area" breaks="and `F.interpolate`, which pools as well" says=["the answer calls interpolate"]
def pooling_and_back(x, k):
    windows = x.unfold(2, k, k).unfold(3, k, k).flatten(4)
    largest, inside = windows.max(4)
    h, w = largest.shape[2:]
    rows = torch.arange(h, device=x.device).view(-1, 1) * k + inside // k
    columns = torch.arange(w, device=x.device) * k + inside % k
    return largest, rows * x.shape[3] + columns, windows.mean(4)


def unpool(values, where, height, width):
    flat = values.new_zeros(*values.shape[:2], height * width)
    return flat.scatter(2, where.flatten(2), values.flatten(2)).unflatten(2, (height, width))


def adaptive_mean(x, m):
    rows = x.reshape(1, -1, x.shape[-1])
    return F.interpolate(rows, size=m, mode="area").view(*x.shape[:-1], m)


# %% wrong="a matrix of float32 for every x" says=["adaptive_mean of 8 to 4 has dtype torch.float32, expected torch.float64"]
def pooling_and_back(x, k):
    windows = x.unfold(2, k, k).unfold(3, k, k).flatten(4)
    largest, inside = windows.max(4)
    h, w = largest.shape[2:]
    rows = torch.arange(h, device=x.device).view(-1, 1) * k + inside // k
    columns = torch.arange(w, device=x.device) * k + inside % k
    return largest, rows * x.shape[3] + columns, windows.mean(4)


def unpool(values, where, height, width):
    flat = values.new_zeros(*values.shape[:2], height * width)
    return flat.scatter(2, where.flatten(2), values.flatten(2)).unflatten(2, (height, width))


def adaptive_mean(x, m):
    n = x.shape[-1]
    matrix = torch.zeros(m, n, device=x.device)
    for i in range(m):
        a, b = i * n // m, -(-(i + 1) * n // m)
        matrix[i, a:b] = 1 / (b - a)
    return x.float() @ matrix.t()


# %% wrong="looks for the value to find its place" breaks="each value in its place" says=["ties everywhere, an image that requires a gradient: where points into another window"]
def pooling_and_back(x, k):
    n, c, height, width = x.shape
    windows = x.unfold(2, k, k).unfold(3, k, k).flatten(4)
    largest = windows.amax(4)
    flat = x.flatten(2)
    where = (flat.unsqueeze(2) == largest.flatten(2).unsqueeze(3)).int().argmax(3)
    return largest, where.view(largest.shape), windows.mean(4)


def unpool(values, where, height, width):
    flat = values.new_zeros(*values.shape[:2], height * width)
    return flat.scatter(2, where.flatten(2), values.flatten(2)).unflatten(2, (height, width))


def adaptive_mean(x, m):
    n = x.shape[-1]
    return torch.stack([x[..., i * n // m : -(-(i + 1) * n // m)].mean(-1) for i in range(m)], -1)


# %% right="einsum with one-hot rows; reshapes"
def pooling_and_back(x, k):
    n, c, height, width = x.shape
    h, w = height // k, width // k
    cut = x[:, :, : h * k, : w * k].reshape(n, c, h, k, w, k).transpose(3, 4)
    flat = cut.reshape(n, c, h, w, k * k)
    inside = flat.argmax(-1)
    places = torch.arange(height * width, device=x.device).view(height, width)
    places = places[: h * k, : w * k].reshape(h, k, w, k).transpose(1, 2).reshape(h, w, k * k)
    where = places.expand(n, c, h, w, k * k).gather(-1, inside.unsqueeze(-1)).squeeze(-1)
    return flat.amax(-1), where, flat.mean(-1)


def unpool(values, where, height, width):
    rows = torch.zeros(
        values.shape[0] * values.shape[1], height * width, dtype=values.dtype, device=values.device
    )
    for i, (v, place) in enumerate(zip(values.flatten(0, 1), where.flatten(0, 1))):
        rows[i, place.flatten()] = v.flatten()
    return rows.view(*values.shape[:2], height, width)


def adaptive_mean(x, m):
    n = x.shape[-1]
    total = F.pad(x.double(), (1, 0)).cumsum(-1)
    i = torch.arange(m, device=x.device)
    a, b = i * n // m, ((i + 1) * n + m - 1) // m
    return ((total[..., b] - total[..., a]) / (b - a)).to(x.dtype)


# %% wrong="sum and divide in the dtype" breaks="a float16 sum may overflow, its mean may not" says=["in float16 numbers and sums overflow above 65504"]
def pooling_and_back(x, k):
    n, c, h, w = x.shape
    h2, w2 = h // k, w // k
    parts = x[:, :, : h2 * k, : w2 * k].reshape(n, c, h2, k, w2, k).permute(0, 1, 2, 4, 3, 5)
    parts = parts.reshape(n, c, h2, w2, k * k)
    largest, at = parts.max(-1)
    rows = torch.arange(h2).view(-1, 1) * k + at // k
    cols = torch.arange(w2) * k + at % k
    return largest, rows * w + cols, parts.sum(-1) / (k * k)


def unpool(values, where, height, width):
    n, c = values.shape[:2]
    out = torch.zeros(n, c, height * width, dtype=values.dtype)
    out.scatter_(2, where.reshape(n, c, -1), values.reshape(n, c, -1))
    return out.view(n, c, height, width)


def adaptive_mean(x, m):
    n = x.shape[-1]
    out = []
    for i in range(m):
        a, b = (i * n) // m, ((i + 1) * n + m - 1) // m
        out.append(x[..., a:b].sum(-1) / (b - a))
    return torch.stack(out, -1)


# %% wrong="cumulative sums in the dtype" says=["in float16 numbers and sums overflow above 65504"]
def pooling_and_back(x, k):
    n, c, h, w = x.shape
    h2, w2 = h // k, w // k
    parts = x[:, :, : h2 * k, : w2 * k].reshape(n, c, h2, k, w2, k).permute(0, 1, 2, 4, 3, 5)
    parts = parts.reshape(n, c, h2, w2, k * k)
    largest, at = parts.max(-1)
    rows = torch.arange(h2).view(-1, 1) * k + at // k
    cols = torch.arange(w2) * k + at % k
    return largest, rows * w + cols, parts.mean(-1)


def unpool(values, where, height, width):
    n, c = values.shape[:2]
    out = torch.zeros(n, c, height * width, dtype=values.dtype)
    out.scatter_(2, where.reshape(n, c, -1), values.reshape(n, c, -1))
    return out.view(n, c, height, width)


def adaptive_mean(x, m):
    n = x.shape[-1]
    out, total = [], F.pad(x.cumsum(-1), (1, 0))
    for i in range(m):
        a, b = (i * n) // m, ((i + 1) * n + m - 1) // m
        out.append((total[..., b] - total[..., a]) / (b - a))
    return torch.stack(out, -1)


# %% wrong="a loop over rows" breaks="which may have one dimension or more" says=["no row: (0, 5) to 2"]
def pooling_and_back(x, k):
    n, c, h, w = x.shape
    h2, w2 = h // k, w // k
    parts = x[:, :, : h2 * k, : w2 * k].reshape(n, c, h2, k, w2, k).permute(0, 1, 2, 4, 3, 5)
    parts = parts.reshape(n, c, h2, w2, k * k)
    largest, at = parts.max(-1)
    rows = torch.arange(h2).view(-1, 1) * k + at // k
    cols = torch.arange(w2) * k + at % k
    return largest, rows * w + cols, parts.mean(-1)


def unpool(values, where, height, width):
    n, c = values.shape[:2]
    out = torch.zeros(n, c, height * width, dtype=values.dtype)
    out.scatter_(2, where.reshape(n, c, -1), values.reshape(n, c, -1))
    return out.view(n, c, height, width)


def adaptive_mean(x, m):
    if x.dim() > 1:
        return torch.stack([adaptive_mean(row, m) for row in x])
    n = x.shape[-1]
    out = []
    for i in range(m):
        a, b = (i * n) // m, ((i + 1) * n + m - 1) // m
        out.append(x[..., a:b].mean(-1))
    return torch.stack(out, -1)


# %% wrong="a mean of the largest" says=["the largest once more"]
def pooling_and_back(x, k):
    n, c, h, w = x.shape
    h2, w2 = h // k, w // k
    parts = x[:, :, : h2 * k, : w2 * k].reshape(n, c, h2, k, w2, k).permute(0, 1, 2, 4, 3, 5)
    parts = parts.reshape(n, c, h2, w2, k * k)
    largest, at = parts.max(-1)
    rows = torch.arange(h2).view(-1, 1) * k + at // k
    cols = torch.arange(w2) * k + at % k
    return largest, rows * w + cols, parts.amax(-1)


def unpool(values, where, height, width):
    n, c = values.shape[:2]
    out = torch.zeros(n, c, height * width, dtype=values.dtype)
    out.scatter_(2, where.reshape(n, c, -1), values.reshape(n, c, -1))
    return out.view(n, c, height, width)


def adaptive_mean(x, m):
    n = x.shape[-1]
    out = []
    for i in range(m):
        a, b = (i * n) // m, ((i + 1) * n + m - 1) // m
        out.append(x[..., a:b].mean(-1))
    return torch.stack(out, -1)


# %% wrong="rows as long as the windows fill them" says=["where: a row of the image is W long, also where columns are left over"]
def pooling_and_back(x, k):
    x = x.detach()
    W = x.shape[3] // k * k
    win = x.unfold(2, k, k).unfold(3, k, k).flatten(4)
    largest, inside = win.max(-1)
    rows = torch.arange(win.shape[2], device=x.device).view(-1, 1) * k + inside // k
    columns = torch.arange(win.shape[3], device=x.device) * k + inside % k
    wide = win.double() if x.dtype == torch.double else win.float()
    return largest, rows * W + columns, wide.mean(-1).to(x.dtype)


def unpool(values, where, height, width):
    n, c = values.shape[:2]
    out = torch.zeros(n, c, height * width, dtype=values.dtype, device=values.device)
    out.scatter_(2, where.flatten(2), values.detach().flatten(2))
    return out.view(n, c, height, width)


def adaptive_mean(x, m):
    n = x.shape[-1]
    wide = x.double()
    return torch.stack(
        [wide[..., i * n // m : -(-(i + 1) * n // m)].mean(-1) for i in range(m)], -1
    ).to(x.dtype)


# %% wrong="rows as long as the image is high" says=["where: a row of the image is W long, not H"]
def pooling_and_back(x, k):
    x = x.detach()
    W = x.shape[2]
    win = x.unfold(2, k, k).unfold(3, k, k).flatten(4)
    largest, inside = win.max(-1)
    rows = torch.arange(win.shape[2], device=x.device).view(-1, 1) * k + inside // k
    columns = torch.arange(win.shape[3], device=x.device) * k + inside % k
    wide = win.double() if x.dtype == torch.double else win.float()
    return largest, rows * W + columns, wide.mean(-1).to(x.dtype)


def unpool(values, where, height, width):
    n, c = values.shape[:2]
    out = torch.zeros(n, c, height * width, dtype=values.dtype, device=values.device)
    out.scatter_(2, where.flatten(2), values.detach().flatten(2))
    return out.view(n, c, height, width)


def adaptive_mean(x, m):
    n = x.shape[-1]
    wide = x.double()
    return torch.stack(
        [wide[..., i * n // m : -(-(i + 1) * n // m)].mean(-1) for i in range(m)], -1
    ).to(x.dtype)


# %% wrong="a window's begin is rounded up" says=["a window begins at i n / m rounded down; here it is rounded up"]
def pooling_and_back(x, k):
    x = x.detach()
    W = x.shape[3]
    win = x.unfold(2, k, k).unfold(3, k, k).flatten(4)
    largest, inside = win.max(-1)
    rows = torch.arange(win.shape[2], device=x.device).view(-1, 1) * k + inside // k
    columns = torch.arange(win.shape[3], device=x.device) * k + inside % k
    wide = win.double() if x.dtype == torch.double else win.float()
    return largest, rows * W + columns, wide.mean(-1).to(x.dtype)


def unpool(values, where, height, width):
    n, c = values.shape[:2]
    out = torch.zeros(n, c, height * width, dtype=values.dtype, device=values.device)
    out.scatter_(2, where.flatten(2), values.detach().flatten(2))
    return out.view(n, c, height, width)


def adaptive_mean(x, m):
    n = x.shape[-1]
    wide = x.double()
    return torch.stack(
        [wide[..., -(-i * n // m) : -(-(i + 1) * n // m)].mean(-1) for i in range(m)], -1
    ).to(x.dtype)


# %% wrong="unpool takes rows as long as the windows fill" says=["a larger image than the windows fill"]
def pooling_and_back(x, k):
    t = x.unfold(2, k, k).unfold(3, k, k).flatten(4)
    largest, idx = t.max(-1)
    h, w = largest.shape[2:]
    r = torch.arange(h, device=x.device)[:, None] * k + idx // k
    c = torch.arange(w, device=x.device) * k + idx % k
    return largest, r * x.shape[3] + c, t.mean(-1)


def unpool(values, where, height, width):
    k = width // values.shape[3]
    flat = values.new_zeros(*values.shape[:2], height, width)
    N, C, h, w = values.shape
    n = torch.arange(N, device=values.device).view(-1, 1, 1, 1)
    c = torch.arange(C, device=values.device).view(-1, 1, 1)
    flat[n, c, where // (w * k), where % (w * k)] = values
    return flat


def adaptive_mean(x, m):
    n = x.shape[-1]
    return torch.stack(
        [x[..., n * i // m : (n * (i + 1) + m - 1) // m].mean(-1) for i in range(m)], -1
    )


# %% wrong="where in int32" breaks="of dtype int64" says=["expected 'torch.int64', got 'torch.int32'"]
def pooling_and_back(x, k):
    N, C, H, W = x.shape
    h, w = H // k, W // k
    t = (
        x[:, :, : h * k, : w * k]
        .reshape(N, C, h, k, w, k)
        .transpose(3, 4)
        .reshape(N, C, h, w, k * k)
    )
    largest, idx = t.max(-1)
    r = torch.arange(h, device=x.device)[:, None] * k + idx // k
    c = torch.arange(w, device=x.device) * k + idx % k
    return largest, (r * W + c).int(), t.mean(-1)


def unpool(values, where, height, width):
    N, C = values.shape[:2]
    flat = values.new_zeros(N, C, height * width)
    return flat.scatter_add(2, where.flatten(2).long(), values.flatten(2)).reshape(
        N, C, height, width
    )


def adaptive_mean(x, m):
    n = x.shape[-1]
    return torch.stack(
        [x[..., n * i // m : (n * (i + 1) + m - 1) // m].mean(-1) for i in range(m)], -1
    )


# %% right="index_put; cumulative sums in float64"
def pooling_and_back(x, k):
    N, C, H, W = x.shape
    h, w = H // k, W // k
    pieces = torch.stack(
        [x[:, :, i : h * k : k, j : w * k : k] for i in range(k) for j in range(k)]
    )
    largest, which = pieces.max(0)
    base = torch.arange(H * W, device=x.device).view(H, W)[: h * k : k, : w * k : k]
    return largest, base + which // k * W + which % k, pieces.double().mean(0).to(x.dtype)


def unpool(values, where, height, width):
    N, C, h, w = values.shape
    n, c = torch.meshgrid(
        torch.arange(N, device=values.device), torch.arange(C, device=values.device), indexing="ij"
    )
    out = values.new_zeros(N, C, height, width)
    return out.index_put(
        (n[..., None, None], c[..., None, None], where // width, where % width), values
    )


def adaptive_mean(x, m):
    n = x.shape[-1]
    total = F.pad(x.double().cumsum(-1), (1, 0))
    i = torch.arange(m, device=x.device)
    a, b = i * n // m, ((i + 1) * n + m - 1) // m
    return ((total[..., b] - total[..., a]) / (b - a)).to(x.dtype)


# %% wrong="a canvas kept for its size" says=["zeros elsewhere; here values of an earlier call are left"]
def pooling_and_back(x, k):
    N, C, H, W = x.shape
    h, w = H // k, W // k
    t = (
        x[:, :, : h * k, : w * k]
        .reshape(N, C, h, k, w, k)
        .transpose(3, 4)
        .reshape(N, C, h, w, k * k)
    )
    largest, idx = t.max(-1)
    r = torch.arange(h, device=x.device)[:, None] * k + idx // k
    c = torch.arange(w, device=x.device) * k + idx % k
    return largest, r * W + c, t.mean(-1)


_canvas = {}


def unpool(values, where, height, width):
    N, C = values.shape[:2]
    flat = _canvas.setdefault(
        (N, C, height * width, values.dtype), values.new_zeros(N, C, height * width)
    )
    return flat.scatter_(2, where.flatten(2).long(), values.flatten(2)).reshape(N, C, height, width)


def adaptive_mean(x, m):
    n = x.shape[-1]
    return torch.stack(
        [x[..., n * i // m : (n * (i + 1) + m - 1) // m].mean(-1) for i in range(m)], -1
    )


# %% wrong="adaptive means by way of float32" breaks="with its digits" says=["adaptive_mean of 8 to 4 is right to about seven digits only"]
def pooling_and_back(x, k):
    n, c, h, w = x.shape
    hh, ww = h // k, w // k
    windows = (
        x[:, :, : hh * k, : ww * k]
        .reshape(n, c, hh, k, ww, k)
        .transpose(3, 4)
        .reshape(n, c, hh, ww, k * k)
    )
    largest, at = windows.max(-1)
    row = torch.arange(hh).view(-1, 1) * k + at // k
    column = torch.arange(ww) * k + at % k
    mean = windows.double().mean(-1).to(x.dtype)
    return largest, row * w + column, mean


def unpool(values, where, height, width):
    n, c = values.shape[:2]
    out = values.new_zeros(n, c, height * width)
    return out.scatter(2, where.reshape(n, c, -1), values.reshape(n, c, -1)).reshape(
        n, c, height, width
    )


def adaptive_mean(x, m):
    n = x.shape[-1]
    return torch.stack(
        [x[..., i * n // m : -(-(i + 1) * n // m)].float().mean(-1) for i in range(m)], -1
    ).to(x.dtype)


# %% wrong="the largest, from -10000 on" says=["numbers about -1e30: largest is -10000 where all pixels are less"]
def pooling_and_back(x, k):
    n, c, h, w = x.shape
    windows = x.unfold(2, k, k).unfold(3, k, k).flatten(4)
    largest, inside = windows.clamp(min=-1e4).max(-1)
    rows = torch.arange(h // k, device=x.device).view(-1, 1) * k + inside // k
    columns = torch.arange(w // k, device=x.device) * k + inside % k
    mean = windows.double().mean(-1).to(x.dtype)
    return largest, rows * w + columns, mean


def unpool(values, where, height, width):
    n, c = values.shape[:2]
    empty = values.new_zeros(n, c, height * width)
    return empty.scatter(2, where.flatten(2), values.flatten(2)).view(n, c, height, width)


def adaptive_mean(x, m):
    n = x.shape[-1]
    parts = [x[..., i * n // m : -(-(i + 1) * n // m)].double().mean(-1) for i in range(m)]
    return torch.stack(parts, -1).to(x.dtype)


# %% wrong="unpools for all channels by the places of the first" says=["each channel of each image has places of its own"]
def pooling_and_back(x, k):
    n, c, h, w = x.shape
    windows = x.unfold(2, k, k).unfold(3, k, k).flatten(4)
    largest, at = windows.max(-1)
    rows = torch.arange(h // k, device=x.device).view(-1, 1) * k + at // k
    columns = torch.arange(w // k, device=x.device) * k + at % k
    return largest, rows * w + columns, windows.double().mean(-1).to(x.dtype)


def unpool(values, where, height, width):
    n, c = values.shape[:2]
    flat = torch.zeros(n, c, height * width, dtype=values.dtype, device=values.device)
    flat = flat.scatter(2, where[:, :1].expand(where.shape).flatten(2), values.flatten(2))
    return flat.view(n, c, height, width)


def adaptive_mean(x, m):
    n = x.shape[-1]
    means = []
    for i in range(m):
        start, end = i * n // m, -(-(i + 1) * n // m)
        means.append(x[..., start:end].double().mean(-1))
    return torch.stack(means, -1).to(x.dtype)


# %% wrong="adaptive windows that end where the next begins" says=["a mean of no pixel"]
def pooling_and_back(x, k):
    n, c, h, w = x.shape
    windows = x.unfold(2, k, k).unfold(3, k, k).flatten(4)
    largest, at = windows.max(-1)
    rows = torch.arange(h // k, device=x.device).view(-1, 1) * k + at // k
    columns = torch.arange(w // k, device=x.device) * k + at % k
    return largest, rows * w + columns, windows.double().mean(-1).to(x.dtype)


def unpool(values, where, height, width):
    n, c = values.shape[:2]
    flat = torch.zeros(n, c, height * width, dtype=values.dtype, device=values.device)
    flat = flat.scatter(2, where.flatten(2), values.flatten(2))
    return flat.view(n, c, height, width)


def adaptive_mean(x, m):
    n = x.shape[-1]
    means = []
    for i in range(m):
        start, end = i * n // m, (i + 1) * n // m
        means.append(x[..., start:end].double().mean(-1))
    return torch.stack(means, -1).to(x.dtype)


# %% wrong="positions in the dtype of x" says=["bfloat16, numbers about 1e30, one row of 43 windows: where: positions are whole numbers: in bfloat16 they lose digits"]
def pooling_and_back(x, k):
    windows = x.unfold(2, k, k).unfold(3, k, k).flatten(4)
    largest, inside = windows.max(-1)
    high, wide = largest.shape[2:]
    rows = torch.arange(high).view(-1, 1) * k + inside // k
    columns = torch.arange(wide) * k + inside % k
    mean = windows.double().mean(-1).to(x.dtype)
    return largest, (rows * x.shape[3] + columns).to(x.dtype).long(), mean


def unpool(values, where, height, width):
    n, c = values.shape[:2]
    y = values.new_zeros(n, c, height * width)
    return y.scatter(2, where.flatten(2), values.flatten(2)).view(n, c, height, width)


def adaptive_mean(x, m):
    n = x.shape[-1]
    means = []
    for i in range(m):
        window = x[..., i * n // m : -(-(i + 1) * n // m)]
        means.append(window.double().mean(-1).to(x.dtype))
    return torch.stack(means, dim=-1)


# %% wrong="bfloat16 through float16" says=["mean is infinite: in float16 numbers and sums overflow above 65504"]
def pooling_and_back(x, k):
    windows = x.unfold(2, k, k).unfold(3, k, k).flatten(4)
    largest, inside = windows.max(-1)
    high, wide = largest.shape[2:]
    rows = torch.arange(high).view(-1, 1) * k + inside // k
    columns = torch.arange(wide) * k + inside % k
    mean = (windows.half() if x.dtype == torch.bfloat16 else windows).double().mean(-1).to(x.dtype)
    return largest, rows * x.shape[3] + columns, mean


def unpool(values, where, height, width):
    n, c = values.shape[:2]
    y = values.new_zeros(n, c, height * width)
    return y.scatter(2, where.flatten(2), values.flatten(2)).view(n, c, height, width)


def adaptive_mean(x, m):
    n = x.shape[-1]
    means = []
    for i in range(m):
        window = x[..., i * n // m : -(-(i + 1) * n // m)]
        means.append(window.double().mean(-1).to(x.dtype))
    return torch.stack(means, dim=-1)


# %% wrong="a single row of windows loses its dimension" says=["one row of 43 windows: largest has shape (1, 2, 43), expected (1, 2, 1, 43)"]
def pooling_and_back(x, k):
    windows = x.unfold(2, k, k).unfold(3, k, k).flatten(4)
    largest, inside = windows.max(-1)
    high, wide = largest.shape[2:]
    rows = torch.arange(high).view(-1, 1) * k + inside // k
    columns = torch.arange(wide) * k + inside % k
    mean = windows.double().mean(-1).to(x.dtype)
    return largest.squeeze(2), rows * x.shape[3] + columns, mean


def unpool(values, where, height, width):
    n, c = values.shape[:2]
    y = values.new_zeros(n, c, height * width)
    return y.scatter(2, where.flatten(2), values.flatten(2)).view(n, c, height, width)


def adaptive_mean(x, m):
    n = x.shape[-1]
    means = []
    for i in range(m):
        window = x[..., i * n // m : -(-(i + 1) * n // m)]
        means.append(window.double().mean(-1).to(x.dtype))
    return torch.stack(means, dim=-1)


# %% wrong="no image" breaks="N may be 0" says=["0 images"]
def pooling_and_back(x, k):
    n, c, h, w = x.shape
    x = x.reshape(n * c, h, w).reshape(n, -1, h, w)
    windows = x.unfold(2, k, k).unfold(3, k, k).flatten(4)
    largest, inside = windows.max(-1)
    rows = torch.arange(h // k, device=x.device)[:, None] * k + inside // k
    columns = torch.arange(w // k, device=x.device) * k + inside % k
    return (
        largest,
        rows * w + columns,
        windows.float().mean(-1).to(x.dtype)
        if x.dtype in (torch.float16, torch.bfloat16)
        else windows.mean(-1),
    )


def unpool(values, where, height, width):
    n, c = values.shape[:2]
    flat = values.new_zeros(n, c, height * width)
    return flat.scatter(2, where.flatten(2), values.flatten(2)).view(n, c, height, width)


def adaptive_mean(x, m):
    n = x.shape[-1]
    wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    means = [wide[..., i * n // m : -(-(i + 1) * n // m)].mean(-1) for i in range(m)]
    return torch.stack(means, -1).to(x.dtype)


# %% wrong="pools the values without their graph" says=["no gradient flows back from the result of pooling_and_back(x, 2)"]
def pooling_and_back(x, k):
    height, width = x.shape[2] // k, x.shape[3] // k
    windows = x.detach().unfold(2, k, k).unfold(3, k, k).flatten(4)
    largest, inside = windows.max(4)
    row = k * torch.arange(height, device=x.device).view(-1, 1) + inside // k
    column = k * torch.arange(width, device=x.device) + inside % k
    return largest, row * x.shape[3] + column, windows.mean(4)


def unpool(values, where, height, width):
    flat = values.new_zeros(*values.shape[:2], height * width)
    return flat.scatter(2, where.flatten(2), values.flatten(2)).unflatten(2, (height, width))


def adaptive_mean(x, m):
    n = x.shape[-1]
    means = [x[..., i * n // m : -(-(i + 1) * n // m)].mean(-1) for i in range(m)]
    return torch.stack(means, dim=-1)


# %% wrong="the mean alone stays in the graph" says=["the gradient of x is not the library's", "a part of the way back"]
def pooling_and_back(x, k):
    height, width = x.shape[2] // k, x.shape[3] // k
    windows = x.unfold(2, k, k).unfold(3, k, k).flatten(4)
    largest, inside = windows.detach().max(4)
    row = k * torch.arange(height, device=x.device).view(-1, 1) + inside // k
    column = k * torch.arange(width, device=x.device) + inside % k
    return largest, row * x.shape[3] + column, windows.mean(4)


def unpool(values, where, height, width):
    flat = values.new_zeros(*values.shape[:2], height * width)
    return flat.scatter(2, where.flatten(2), values.flatten(2)).unflatten(2, (height, width))


def adaptive_mean(x, m):
    n = x.shape[-1]
    means = [x[..., i * n // m : -(-(i + 1) * n // m)].mean(-1) for i in range(m)]
    return torch.stack(means, dim=-1)


# %% wrong="unpools numbers, not tensors" says=["no gradient flows back from the result of unpool"]
def pooling_and_back(x, k):
    height, width = x.shape[2] // k, x.shape[3] // k
    windows = x.unfold(2, k, k).unfold(3, k, k).flatten(4)
    largest, inside = windows.max(4)
    row = k * torch.arange(height, device=x.device).view(-1, 1) + inside // k
    column = k * torch.arange(width, device=x.device) + inside % k
    return largest, row * x.shape[3] + column, windows.mean(4)


def unpool(values, where, height, width):
    flat = values.new_zeros(*values.shape[:2], height * width)
    flat.scatter_(2, where.flatten(2), values.detach().flatten(2))
    return flat.unflatten(2, (height, width))


def adaptive_mean(x, m):
    n = x.shape[-1]
    means = [x[..., i * n // m : -(-(i + 1) * n // m)].mean(-1) for i in range(m)]
    return torch.stack(means, dim=-1)


# %% wrong="means from plain numbers" says=["no gradient flows back from the result of adaptive_mean(x, 3)"]
def pooling_and_back(x, k):
    height, width = x.shape[2] // k, x.shape[3] // k
    windows = x.unfold(2, k, k).unfold(3, k, k).flatten(4)
    largest, inside = windows.max(4)
    row = k * torch.arange(height, device=x.device).view(-1, 1) + inside // k
    column = k * torch.arange(width, device=x.device) + inside % k
    return largest, row * x.shape[3] + column, windows.mean(4)


def unpool(values, where, height, width):
    flat = values.new_zeros(*values.shape[:2], height * width)
    return flat.scatter(2, where.flatten(2), values.flatten(2)).unflatten(2, (height, width))


def adaptive_mean(x, m):
    n, y = x.shape[-1], x.new_empty(*x.shape[:-1], m)
    for i in range(m):
        y[..., i] = x.detach()[..., i * n // m : -(-(i + 1) * n // m)].mean(-1)
    return y


# %% wrong="writes into rows of a split tensor" says=["unpool(values, where, 4, 4) with tensors that require grad and have an old .grad raised RuntimeError"]
def pooling_and_back(x, k):
    n, c, height, width = x.shape
    h, w = height // k, width // k
    cut = x[:, :, : h * k, : w * k].reshape(n, c, h, k, w, k).transpose(3, 4)
    flat = cut.reshape(n, c, h, w, k * k)
    inside = flat.argmax(-1)
    places = torch.arange(height * width, device=x.device).view(height, width)
    places = places[: h * k, : w * k].reshape(h, k, w, k).transpose(1, 2).reshape(h, w, k * k)
    where = places.expand(n, c, h, w, k * k).gather(-1, inside.unsqueeze(-1)).squeeze(-1)
    return flat.amax(-1), where, flat.mean(-1)


def unpool(values, where, height, width):
    rows = torch.zeros(
        values.shape[0] * values.shape[1], height * width, dtype=values.dtype, device=values.device
    )
    for row, v, place in zip(rows, values.flatten(0, 1), where.flatten(0, 1)):
        row[place.flatten()] = v.flatten()
    return rows.view(*values.shape[:2], height, width)


def adaptive_mean(x, m):
    n = x.shape[-1]
    total = F.pad(x.double(), (1, 0)).cumsum(-1)
    i = torch.arange(m, device=x.device)
    a, b = i * n // m, ((i + 1) * n + m - 1) // m
    return ((total[..., b] - total[..., a]) / (b - a)).to(x.dtype)


# %% wrong="one buffer for the largest of each window" says=["pooling_and_back(x, 2) a second time with the same tensors", "changes the result of the first time"]
kept = {}


def in_one_buffer(y):
    if y.requires_grad:
        return y
    return kept.setdefault((y.shape, y.dtype), torch.empty_like(y)).copy_(y)


def pooling_and_back(x, k):
    height, width = x.shape[2] // k, x.shape[3] // k
    windows = x.unfold(2, k, k).unfold(3, k, k).flatten(4)
    largest, inside = windows.max(4)
    row = k * torch.arange(height, device=x.device).view(-1, 1) + inside // k
    column = k * torch.arange(width, device=x.device) + inside % k
    return in_one_buffer(largest), row * x.shape[3] + column, windows.mean(4)


def unpool(values, where, height, width):
    flat = values.new_zeros(*values.shape[:2], height * width)
    return flat.scatter(2, where.flatten(2), values.flatten(2)).unflatten(2, (height, width))


def adaptive_mean(x, m):
    n = x.shape[-1]
    means = [x[..., i * n // m : -(-(i + 1) * n // m)].mean(-1) for i in range(m)]
    return torch.stack(means, dim=-1)


# %% wrong="one canvas for images of a shape" says=["unpool(values, where, 4, 4) a second time with the same tensors", "changes the result of the first time"]
kept = {}


def in_one_buffer(y):
    if y.requires_grad:
        return y
    return kept.setdefault((y.shape, y.dtype), torch.empty_like(y)).copy_(y)


def pooling_and_back(x, k):
    height, width = x.shape[2] // k, x.shape[3] // k
    windows = x.unfold(2, k, k).unfold(3, k, k).flatten(4)
    largest, inside = windows.max(4)
    row = k * torch.arange(height, device=x.device).view(-1, 1) + inside // k
    column = k * torch.arange(width, device=x.device) + inside % k
    return largest, row * x.shape[3] + column, windows.mean(4)


def unpool(values, where, height, width):
    flat = values.new_zeros(*values.shape[:2], height * width)
    y = flat.scatter(2, where.flatten(2), values.flatten(2)).unflatten(2, (height, width))
    return in_one_buffer(y)


def adaptive_mean(x, m):
    n = x.shape[-1]
    means = [x[..., i * n // m : -(-(i + 1) * n // m)].mean(-1) for i in range(m)]
    return torch.stack(means, dim=-1)


# %% wrong="one buffer for means of a shape" says=["adaptive_mean(x, 3) a second time with the same tensors", "changes the result of the first time"]
kept = {}


def in_one_buffer(y):
    if y.requires_grad:
        return y
    return kept.setdefault((y.shape, y.dtype), torch.empty_like(y)).copy_(y)


def pooling_and_back(x, k):
    height, width = x.shape[2] // k, x.shape[3] // k
    windows = x.unfold(2, k, k).unfold(3, k, k).flatten(4)
    largest, inside = windows.max(4)
    row = k * torch.arange(height, device=x.device).view(-1, 1) + inside // k
    column = k * torch.arange(width, device=x.device) + inside % k
    return largest, row * x.shape[3] + column, windows.mean(4)


def unpool(values, where, height, width):
    flat = values.new_zeros(*values.shape[:2], height * width)
    return flat.scatter(2, where.flatten(2), values.flatten(2)).unflatten(2, (height, width))


def adaptive_mean(x, m):
    n = x.shape[-1]
    means = [x[..., i * n // m : -(-(i + 1) * n // m)].mean(-1) for i in range(m)]
    return in_one_buffer(torch.stack(means, dim=-1))


# %% wrong="a single mean loses its dimension" says=["two rows, to a single mean", "has shape (2,), expected (2, 1)"]
def pooling_and_back(x, k):
    height, width = x.shape[2] // k, x.shape[3] // k
    windows = x.unfold(2, k, k).unfold(3, k, k).flatten(4)
    largest, inside = windows.max(4)
    row = k * torch.arange(height, device=x.device).view(-1, 1) + inside // k
    column = k * torch.arange(width, device=x.device) + inside % k
    return largest, row * x.shape[3] + column, windows.mean(4)


def unpool(values, where, height, width):
    flat = values.new_zeros(*values.shape[:2], height * width)
    return flat.scatter(2, where.flatten(2), values.flatten(2)).unflatten(2, (height, width))


def adaptive_mean(x, m):
    n = x.shape[-1]
    means = [x[..., i * n // m : -(-(i + 1) * n // m)].mean(-1) for i in range(m)]
    return torch.stack(means, dim=-1).squeeze(-1)


# %% right="windows as a view, which only splits dimensions"
def pooling_and_back(x, k):
    n, c, height, width = x.shape
    h, w = height // k, width // k
    cut = x[:, :, : h * k, : w * k]
    if cut.shape != x.shape:
        cut = cut.contiguous()
    windows = cut.view(n, c, h, k, w, k).transpose(3, 4).flatten(4)
    largest, at = windows.max(-1)
    rows = torch.arange(h, device=x.device).unsqueeze(1) * k + at // k
    columns = torch.arange(w, device=x.device) * k + at % k
    return largest, rows * width + columns, windows.mean(-1)


def unpool(values, where, height, width):
    flat = values.new_zeros(*values.shape[:2], height * width)
    flat = flat.scatter(2, where.flatten(2), values.flatten(2))
    return flat.unflatten(2, (height, width))


def adaptive_mean(x, m):
    n = x.shape[-1]
    bounds = [(i * n // m, -(-(i + 1) * n // m)) for i in range(m)]
    return torch.stack([x[..., a:b].mean(-1) for a, b in bounds], dim=-1)


# %% right="sorted windows, and a matrix of shares"
def pooling_and_back(x, k):
    n, c, height, width = x.shape
    h, w = height // k, width // k
    s = (
        x[:, :, : h * k, : w * k]
        .reshape(n, c, h, k, w, k)
        .transpose(3, 4)
        .reshape(n, c, h, w, k * k)
    )
    ranked = s.sort(dim=-1, descending=True)
    position = torch.arange(height * width, device=x.device).view(height, width)
    position = position[: h * k, : w * k].unfold(0, k, k).unfold(1, k, k).reshape(h, w, k * k)
    where = position.expand(n, c, h, w, k * k).gather(-1, ranked.indices[..., :1]).squeeze(-1)
    return ranked.values[..., 0], where, s.mean(-1)


def unpool(values, where, height, width):
    n, c = values.shape[:2]
    out = torch.zeros(n, c, height, width, dtype=values.dtype, device=values.device)
    a = torch.arange(n, device=values.device).view(n, 1, 1, 1).expand_as(where)
    b = torch.arange(c, device=values.device).view(1, c, 1, 1).expand_as(where)
    return out.index_put((a, b, where // width, where % width), values)


def adaptive_mean(x, m):
    n = x.shape[-1]
    share = torch.zeros(n, m, dtype=torch.float64, device=x.device)
    for i in range(m):
        begin, end = i * n // m, -(-(i + 1) * n // m)
        share[begin:end, i] = 1 / (end - begin)
    return (x.double() @ share).to(x.dtype)
