# %% [markdown]
# Rules:
#
# - "Return `(field, jump)`"
# - "each an `int`"
# - "some of them tiny"
# - "a bias may be anything"
# - "how many pixels the output `m // 2` covers"
# - "from the first that it sees to the last"
# - "as an `int`"
# - "Find it by what the model does"
# - "not from its layers' attributes"
# - "Leave the model as it was"
# - "what is frozen"
# - "each mode"
# - "every `.grad`"
#
# Admits:
#
# - "some of them tiny": eight layers, then with tiny weights
# - "from the first that it sees to the last": a gap in the middle: an even kernel, dilated

# %% wrong="forgets the jump" says=["spreads the kernels after it", "expected (7, 2)"]
def receptive_field(layers):
    field, jump = 1, 1
    for kernel, stride, dilation in layers:
        field += dilation * (kernel - 1)
        jump *= stride
    return field, jump


def footprint(model, size):
    x = torch.zeros(1, 1, size, device=next(model.parameters()).device, requires_grad=True)
    y = model(x)[0, 0]
    (g,) = torch.autograd.grad(y[len(y) // 2], x)
    seen = g.flatten().nonzero().flatten().tolist()
    return seen[-1] - seen[0] + 1


# %% wrong="jump first" breaks="Return `(field, jump)`" says=["expected (7, 2)", "a stride at the end", "after the layer's kernel has added to the field"]
def receptive_field(layers):
    field, jump = 1, 1
    for kernel, stride, dilation in layers:
        jump *= stride
        field += dilation * (kernel - 1) * jump
    return field, jump


def footprint(model, size):
    x = torch.zeros(1, 1, size, device=next(model.parameters()).device, requires_grad=True)
    y = model(x)[0, 0]
    (g,) = torch.autograd.grad(y[len(y) // 2], x)
    seen = g.flatten().nonzero().flatten().tolist()
    return seen[-1] - seen[0] + 1


# %% wrong="counts the pixels that are looked at" breaks="from the first that it sees to the last" says=["the first pixel to the last, gaps included", "expected 5, got 3"]
def receptive_field(layers):
    field, jump = 1, 1
    for kernel, stride, dilation in layers:
        field, jump = field + dilation * (kernel - 1) * jump, jump * stride
    return field, jump


def footprint(model, size):
    x = torch.zeros(1, 1, size, device=next(model.parameters()).device, requires_grad=True)
    y = model(x)[0, 0]
    (g,) = torch.autograd.grad(y[len(y) // 2], x)
    return int((g != 0).sum())


# %% wrong="backward fills the parameters' grad" breaks="every `.grad`" says=["the gradient (.grad) of 1.weight was changed: it is the caller's"]
def receptive_field(layers):
    field, jump = 1, 1
    for kernel, stride, dilation in layers:
        field, jump = field + dilation * (kernel - 1) * jump, jump * stride
    return field, jump


def footprint(model, size):
    x = torch.zeros(1, 1, size, device=next(model.parameters()).device, requires_grad=True)
    y = model(x)[0, 0]
    y[len(y) // 2].backward()
    seen = x.grad.flatten().nonzero().flatten().tolist()
    return seen[-1] - seen[0] + 1


# %% wrong="the gradient of all outputs" breaks="how many pixels the output `m // 2` covers" says=["of one output, in the middle", "expected 7, got 19"]
def receptive_field(layers):
    field, jump = 1, 1
    for kernel, stride, dilation in layers:
        field, jump = field + dilation * (kernel - 1) * jump, jump * stride
    return field, jump


def footprint(model, size):
    x = torch.zeros(1, 1, size, device=next(model.parameters()).device, requires_grad=True)
    (g,) = torch.autograd.grad(model(x).sum(), x)
    seen = g.flatten().nonzero().flatten().tolist()
    return seen[-1] - seen[0] + 1


# %% wrong="last minus first, and a tensor" breaks="as an `int`" says=["is a tensor, expected the plain value"]
def receptive_field(layers):
    field, jump = 1, 1
    for kernel, stride, dilation in layers:
        field, jump = field + dilation * (kernel - 1) * jump, jump * stride
    return field, jump


def footprint(model, size):
    x = torch.zeros(1, 1, size, device=next(model.parameters()).device, requires_grad=True)
    y = model(x)[0, 0]
    (g,) = torch.autograd.grad(y[len(y) // 2], x)
    seen = g.flatten().nonzero().flatten()
    return seen[-1] - seen[0] + 1


# %% wrong="forgets to count both ends, and dilates the whole kernel" says=["expected 7, got 6", "a kernel of k taps, d apart, covers d (k - 1) + 1 pixels"]
def receptive_field(layers):
    field, jump = 1, 1
    for kernel, stride, dilation in layers:
        field, jump = field + (dilation * kernel - 1) * jump, jump * stride
    return field, jump


def footprint(model, size):
    x = torch.zeros(1, 1, size, device=next(model.parameters()).device, requires_grad=True)
    y = model(x)[0, 0]
    (g,) = torch.autograd.grad(y[len(y) // 2], x)
    seen = g.flatten().nonzero().flatten().tolist()
    return seen[-1] - seen[0]


# %% wrong="turns off the weights' gradients" says=["requires_grad of 1.weight was changed"]
def receptive_field(layers):
    field, jump = 1, 1
    for kernel, stride, dilation in layers:
        field, jump = field + dilation * (kernel - 1) * jump, jump * stride
    return field, jump


def footprint(model, size):
    model.requires_grad_(False)
    x = torch.zeros(1, 1, size, device=next(model.parameters()).device, requires_grad=True)
    y = model(x)[0, 0]
    y[len(y) // 2].backward()
    seen = x.grad.flatten().nonzero().flatten().tolist()
    return seen[-1] - seen[0] + 1


# %% right="from the last layer back; moves each pixel of a copy without biases"
def receptive_field(layers):
    field, jump = 1, 1
    for kernel, stride, dilation in reversed(layers):
        field = (field - 1) * stride + (kernel - 1) * dilation + 1
        jump *= stride
    return [field, jump]


@torch.no_grad()
def footprint(model, size):
    import copy

    twin = copy.deepcopy(model)
    for name, parameter in twin.named_parameters():
        if name.endswith("bias"):
            parameter.zero_()
    pixels = torch.eye(size, device=next(model.parameters()).device).unsqueeze(1)
    y = twin(pixels)[:, 0]
    seen = [i for i in range(size) if y[i, y.shape[1] // 2] != 0]
    return max(seen) - min(seen) + 1


# %% right="sums of products; a jacobian"
def receptive_field(layers):
    import math

    jumps = [math.prod(stride for _, stride, _ in layers[:n]) for n in range(len(layers) + 1)]
    return 1 + sum(d * (k - 1) * j for (k, _, d), j in zip(layers, jumps)), jumps[-1]


def footprint(model, size):
    x = torch.zeros(1, 1, size, device=next(model.parameters()).device)
    rows = torch.func.jacrev(lambda x: model(x)[0, 0])(x)[:, 0, 0]
    row = rows[len(rows) // 2].detach().cpu().numpy()
    seen = row.nonzero()[0]
    return int(seen.max() - seen.min()) + 1


# %% wrong="the footprint by the formula again" breaks="Find it by what the model does" says=["the model never ran: find the footprint by what it does"]
def receptive_field(layers):
    field, jump = 1, 1
    for kernel, stride, dilation in layers:
        field, jump = field + dilation * (kernel - 1) * jump, jump * stride
    return field, jump


def footprint(model, size):
    layers = [(c.kernel_size[0], c.stride[0], c.dilation[0]) for c in model]
    return receptive_field(layers)[0]


# %% wrong="one-hot images, the bias still in" breaks="a bias may be anything" says=["is it the bias that you see?"]
def receptive_field(layers):
    field, jump = 1, 1
    for kernel, stride, dilation in layers:
        field, jump = field + dilation * (kernel - 1) * jump, jump * stride
    return field, jump


@torch.no_grad()
def footprint(model, size):
    pixels = torch.eye(size, device=next(model.parameters()).device).unsqueeze(1)
    y = model(pixels)[:, 0]
    seen = y[:, y.shape[1] // 2].nonzero().flatten().tolist()
    return seen[-1] - seen[0] + 1


# %% wrong="runs once for show, then reads the attributes" breaks="not from its layers' attributes" says=["that is what the layers' attributes tell"]
def receptive_field(layers):
    field, jump = 1, 1
    for kernel, stride, dilation in layers:
        field, jump = field + dilation * (kernel - 1) * jump, jump * stride
    return field, jump


def footprint(model, size):
    model(torch.zeros(1, 1, size, device=next(model.parameters()).device))
    return receptive_field([(c.kernel_size[0], c.stride[0], c.dilation[0]) for c in model])[0]


# %% wrong="empties the list of layers" says=["layers was changed (pop and clear do that)"]
def receptive_field(layers):
    field, jump = 1, 1
    while layers:
        kernel, stride, dilation = layers.pop(0)
        field, jump = field + dilation * (kernel - 1) * jump, jump * stride
    return field, jump


def footprint(model, size):
    x = torch.zeros(1, 1, size, device=next(model.parameters()).device, requires_grad=True)
    y = model(x)[0, 0]
    (g,) = torch.autograd.grad(y[len(y) // 2], x)
    seen = g.flatten().nonzero().flatten().tolist()
    return seen[-1] - seen[0] + 1


# %% wrong="backward, then zero_grad" says=["the gradient (.grad) of 1.weight was changed: it is the caller's"]
def receptive_field(layers):
    field, jump = 1, 1
    for kernel, stride, dilation in layers:
        field, jump = field + dilation * (kernel - 1) * jump, jump * stride
    return field, jump


def footprint(model, size):
    x = torch.zeros(1, 1, size, device=next(model.parameters()).device, requires_grad=True)
    y = model(x)[0, 0]
    y[len(y) // 2].backward()
    model.zero_grad()
    seen = x.grad.flatten().nonzero().flatten().tolist()
    return seen[-1] - seen[0] + 1


# %% wrong="freezes for a while and thaws all" breaks="what is frozen" says=["requires_grad of 0.weight, 0.bias was changed: was something frozen or thawed?"]
def receptive_field(layers):
    field, jump = 1, 1
    for kernel, stride, dilation in layers:
        field, jump = field + dilation * (kernel - 1) * jump, jump * stride
    return field, jump


def footprint(model, size):
    model.requires_grad_(False)
    x = torch.zeros(1, 1, size, device=next(model.parameters()).device, requires_grad=True)
    y = model(x)[0, 0]
    y[len(y) // 2].backward()
    model.requires_grad_(True)
    seen = x.grad.flatten().nonzero().flatten().tolist()
    return seen[-1] - seen[0] + 1


# %% wrong="eval, then train" breaks="each mode" says=["the mode of 0 was changed (train or eval)"]
def receptive_field(layers):
    field, jump = 1, 1
    for kernel, stride, dilation in layers:
        field, jump = field + dilation * (kernel - 1) * jump, jump * stride
    return field, jump


def footprint(model, size):
    model.eval()
    x = torch.zeros(1, 1, size, device=next(model.parameters()).device, requires_grad=True)
    y = model(x)[0, 0]
    (g,) = torch.autograd.grad(y[len(y) // 2], x)
    model.train()
    seen = g.flatten().nonzero().flatten().tolist()
    return seen[-1] - seen[0] + 1


# %% wrong="counts until the first gap" says=["a gap in the middle", "dilation"]
def receptive_field(layers):
    field, jump = 1, 1
    for kernel, stride, dilation in layers:
        field, jump = field + dilation * (kernel - 1) * jump, jump * stride
    return field, jump


def footprint(model, size):
    x = torch.zeros(1, 1, size, device=next(model.parameters()).device, requires_grad=True)
    y = model(x)[0, 0]
    (g,) = torch.autograd.grad(y[len(y) // 2], x)
    middle = (g.flatten() != 0).tolist()
    first = middle.index(True)
    return middle[first:].index(False) if False in middle[first:] else size - first


# %% right="a deep copy may be spoilt"
def receptive_field(layers):
    field, jump = 1, 1
    for kernel, stride, dilation in layers:
        field, jump = field + dilation * (kernel - 1) * jump, jump * stride
    return field, jump


def footprint(model, size):
    import copy

    mine = copy.deepcopy(model)
    x = torch.rand(1, 1, size, device=next(model.parameters()).device).requires_grad_()
    row = mine(x).flatten()
    row[row.numel() // 2].backward()
    where = x.grad.flatten().ne(0).nonzero()
    return (where.max() - where.min() + 1).item()


# %% right="pushes each pixel with functional_call"
def receptive_field(layers):
    field, jump = 1, 1
    for kernel, stride, dilation in layers:
        field, jump = field + dilation * (kernel - 1) * jump, jump * stride
    return field, jump


def footprint(model, size):
    weights = {name: p.detach() for name, p in model.named_parameters()}
    device = next(iter(weights.values())).device
    run = lambda x: torch.func.functional_call(model, weights, (x,))
    _, push = torch.func.vjp(run, torch.zeros(1, 1, size, device=device))
    y = run(torch.zeros(1, 1, size, device=device))
    hot = torch.zeros_like(y)
    hot[0, 0, y.shape[2] // 2] = 1
    hits = [i for i, value in enumerate(push(hot)[0].flatten().tolist()) if value]
    return hits[-1] - hits[0] + 1


# %% wrong="a threshold of 1e-6" says=["only a gradient of exactly 0"]
def receptive_field(layers):
    field, jump = 1, 1
    for k, s, d in layers:
        field += (k - 1) * d * jump
        jump *= s
    return field, jump


def footprint(model, size):
    x = torch.zeros(1, 1, size, requires_grad=True)
    y = model(x)
    m = y.shape[-1] // 2
    (g,) = torch.autograd.grad(y[0, 0, m], x)
    seen = [i for i in range(size) if g[0, 0, i] > 1e-6]
    return seen[-1] - seen[0] + 1


# %% wrong="a threshold of 1e-9" breaks="some of them tiny" says=["only a gradient of exactly 0"]
def receptive_field(layers):
    field, jump = 1, 1
    for k, s, d in layers:
        field += (k - 1) * d * jump
        jump *= s
    return field, jump


def footprint(model, size):
    x = torch.zeros(1, 1, size, requires_grad=True)
    y = model(x)
    m = y.shape[-1] // 2
    (g,) = torch.autograd.grad(y[0, 0, m], x)
    seen = [i for i in range(size) if g[0, 0, i] > 1e-9]
    return seen[-1] - seen[0] + 1


# %% wrong="allclose" says=["only a gradient of exactly 0"]
def receptive_field(layers):
    field, jump = 1, 1
    for k, s, d in layers:
        field += (k - 1) * d * jump
        jump *= s
    return field, jump


def footprint(model, size):
    x = torch.zeros(1, 1, size, requires_grad=True)
    y = model(x)
    m = y.shape[-1] // 2
    (g,) = torch.autograd.grad(y[0, 0, m], x)
    a = torch.isclose(g[0, 0], torch.tensor(0.0))
    seen = [i for i in range(size) if not a[i]]
    return seen[-1] - seen[0] + 1


# %% wrong="a float" says=["has the type float; pixels are counted by an int"]
def receptive_field(layers):
    field, jump = 1, 1
    for k, s, d in layers:
        field += (k - 1) * d * jump
        jump *= s
    return field, jump


def footprint(model, size):
    x = torch.zeros(1, 1, size, requires_grad=True)
    y = model(x)
    m = y.shape[-1] // 2
    (g,) = torch.autograd.grad(y[0, 0, m], x)
    seen = [i for i in range(size) if g[0, 0, i] != 0]
    return float(seen[-1] - seen[0] + 1)


# %% wrong="pixels that count more than a hundredth of the most" says=["however small its gradient"]
def receptive_field(layers):
    field, jump = 1, 1
    for k, s, d in layers:
        field += (k - 1) * d * jump
        jump *= s
    return field, jump


def footprint(model, size):
    x = torch.zeros(1, 1, size, requires_grad=True)
    y = model(x)
    m = y.shape[-1] // 2
    (g,) = torch.autograd.grad(y[0, 0, m], x)
    seen = [i for i in range(size) if g[0, 0, i] > 0.01 * g.max()]
    return seen[-1] - seen[0] + 1


# %% wrong="the dilation multiplies the jump" says=["the stride alone multiplies the jump, not the dilation"]
def receptive_field(layers):
    field, jump = 1, 1
    for k, s, d in layers:
        field += d * (k - 1) * jump
        jump *= s * d
    return field, jump


def footprint(model, size):
    p = next(model.parameters())
    x = torch.zeros(1, 1, size, device=p.device, dtype=torch.double, requires_grad=True)
    from torch.func import functional_call

    state = {n: q.detach().double().sign() for n, q in model.named_parameters()}
    y = functional_call(model, state, (x,))
    (g,) = torch.autograd.grad(y[0, 0, y.shape[-1] // 2], x)
    seen = g[0, 0].nonzero().flatten()
    return int(seen[-1] - seen[0]) + 1


# %% wrong="a product of strides as a float" breaks="each an `int`" says=["field and jump: [2.0] has the type float"]
def receptive_field(layers):
    import math

    f = 1 + sum(
        d * (k - 1) * math.prod(s for _, s, _ in layers[:i]) for i, (k, _, d) in enumerate(layers)
    )
    return f, float(math.prod(s for _, s, _ in layers))


def footprint(model, size):
    x = torch.zeros(1, 1, size, requires_grad=True)
    y = model(x)
    (g,) = torch.autograd.grad(y[0, 0, y.shape[-1] // 2], x)
    seen = g[0, 0].nonzero()
    return int(seen.max() - seen.min()) + 1


# %% wrong="leaves a hook" breaks="Leave the model as it was" says=["the hooks of the model are not those that were there before"]
def receptive_field(layers):
    f, j = 1, 1
    for k, s, d in layers:
        f += d * (k - 1) * j
        j *= s
    return f, j


def footprint(model, size):
    outs = []
    model.register_forward_hook(lambda m, a, o: outs.append(o))
    x = torch.zeros(1, 1, size, requires_grad=True)
    model(x)
    y = outs[0]
    (g,) = torch.autograd.grad(y[0, 0, y.shape[-1] // 2], x)
    seen = g[0, 0].nonzero()
    return int(seen.max() - seen.min()) + 1


# %% wrong="a NaN in each pixel, counted without the gaps" says=["gaps included"]
def receptive_field(layers):
    f, j = 1, 1
    for k, s, d in layers:
        f += d * (k - 1) * j
        j *= s
    return f, j


def footprint(model, size):
    m = model(torch.zeros(1, 1, size)).shape[-1]
    hits = []
    for i in range(size):
        x = torch.zeros(1, 1, size)
        x[..., i] = float("nan")
        if torch.isnan(model(x)[0, 0, m // 2]):
            hits.append(i)
    return len(hits)


# %% right="a NaN in each pixel, from the first to the last"
def receptive_field(layers):
    import math

    f = 1 + sum(
        d * (k - 1) * math.prod(s for _, s, _ in layers[:i]) for i, (k, _, d) in enumerate(layers)
    )
    return f, math.prod(s for _, s, _ in layers)


def footprint(model, size):
    with torch.no_grad():
        m = model(torch.zeros(1, 1, size)).shape[-1]
        hits = []
        for i in range(size):
            x = torch.zeros(1, 1, size)
            x[..., i] = float("nan")
            if torch.isnan(model(x)[0, 0, m // 2]):
                hits.append(i)
    return hits[-1] - hits[0] + 1


# %% wrong="the model in float64 and back" says=["raised RuntimeError"]
def receptive_field(layers):
    f, j = 1, 1
    for k, s, d in layers:
        f += d * (k - 1) * j
        j *= s
    return f, j


def footprint(model, size):
    model.double()
    x = torch.zeros(1, 1, size, requires_grad=True, dtype=torch.float64)
    y = model(x)
    model.float()
    (g,) = torch.autograd.grad(y[0, 0, y.shape[-1] // 2], x)
    seen = g[0, 0].nonzero()
    return int(seen.max() - seen.min()) + 1


# %% wrong="two images that differ by a pixel" says=["5 + 1e-36 is 5 in float32"]
def receptive_field(layers):
    field, jump = 1, 1
    for kernel, stride, dilation in layers:
        field, jump = field + dilation * (kernel - 1) * jump, jump * stride
    return field, jump


def footprint(model, size):
    with torch.no_grad():
        base = model(torch.zeros(1, 1, size, device=device))[0, 0]
        m = len(base) // 2
        seen = [
            i
            for i in range(size)
            if model(torch.eye(size, device=device)[i].view(1, 1, -1))[0, 0][m] != base[m]
        ]
    return seen[-1] - seen[0] + 1


# %% wrong="a threshold of 1e-8 of the largest" says=["a gradient of 1e-36 isn't 0, also beside one of 1"]
def receptive_field(layers):
    field, jump = 1, 1
    for kernel, stride, dilation in layers:
        field, jump = field + dilation * (kernel - 1) * jump, jump * stride
    return field, jump


def footprint(model, size):
    with torch.enable_grad():
        x = torch.zeros(1, 1, size, device=device, requires_grad=True)
        y = model(x)[0, 0]
        (g,) = torch.autograd.grad(y[len(y) // 2], x)
    seen = (g[0, 0] > 1e-8 * g.max()).nonzero().flatten()
    return int(seen[-1] - seen[0]) + 1


# %% wrong="backward, then zeros where there was no gradient" says=["eight layers, then with tiny weights: the model is not as it was: the gradient (.grad) of 1.weight"]
def receptive_field(layers):
    field, jump = 1, 1
    for kernel, stride, dilation in layers:
        field, jump = field + dilation * (kernel - 1) * jump, jump * stride
    return field, jump


def footprint(model, size):
    image = torch.zeros(1, 1, size, requires_grad=True)
    y = model(image)[0, 0]
    old = [p.grad if p.grad is None else p.grad.clone() for p in model.parameters()]
    y[len(y) // 2].backward()
    gradient = image.grad
    for p, kept in zip(model.parameters(), old):
        p.grad = torch.zeros_like(p) if kept is None and p.requires_grad else kept
    seen = gradient[0, 0].nonzero()
    return int(seen[-1] - seen[0]) + 1


# %% wrong="a last kernel of 1 adds its stride" says=["[(3, 2, 1), (1, 3, 1)]"]
def receptive_field(layers):
    field, jump = 1, 1
    for kernel, stride, dilation in layers:
        field, jump = (
            field
            + (
                dilation * (kernel - 1)
                + (
                    stride - 1
                    if (kernel, stride, dilation) == tuple(layers[-1]) and kernel == 1
                    else 0
                )
            )
            * jump,
            jump * stride,
        )
    return field, jump


def footprint(model, size):
    parameter = next(model.parameters())
    image = torch.zeros(
        1, 1, size, device=parameter.device, dtype=torch.float64, requires_grad=True
    )
    import copy

    twin = copy.deepcopy(model).double()
    with torch.enable_grad():
        y = twin(image)[0, 0]
        gradient = torch.autograd.grad(y[len(y) // 2], image)[0][0, 0]
    seen = gradient.nonzero()
    return int(seen.max() - seen.min()) + 1


# %% wrong="a product of NumPy's" breaks="each an `int`" says=["has the type int64 of NumPy; pixels are counted by an int"]
import numpy as np


def receptive_field(layers):
    jumps = np.cumprod([1, *(stride for _, stride, _ in layers)])
    field = 1 + sum(d * (k - 1) * jump for (k, _, d), jump in zip(layers, jumps, strict=False))
    return field, jumps[-1]


def footprint(model, size):
    x = torch.zeros(1, 1, size, device=next(model.parameters()).device, requires_grad=True)
    y = model(x)[0, 0]
    (g,) = torch.autograd.grad(y[len(y) // 2], x)
    seen = g.flatten().nonzero().flatten().tolist()
    return seen[-1] - seen[0] + 1
