# %% [markdown]
# Rules:
#
# - "runs the model once"
# - "in eval mode"
# - "a row for each call of a module that has no children"
# - "**in the order of the calls**"
# - "the name as in `named_modules()`"
# - "the output's shape"
# - "shape as a tuple"
# - "the module's number of parameters (biases too)"
# - "of this call for the whole batch"
# - "(any number of dimensions)"
# - "(any stride, padding, dilation, groups)"
# - "have MACs, without biases"
# - "so have classes derived from them"
# - "all others 0"
# - "A module that is called twice has two rows"
# - "if it has no children, is the only row"
# - "A part that is `None` is no child"
# - "a call may be by keyword"
# - "Leave the model as it was: modes"
# - "hooks, gradients, buffers"
# - "also where it raises"
# - "Frozen parameters count"
#
# Admits:
#
# - "(any number of dimensions)": called twice, three dimensions
# - "if it has no children": one linear layer alone, one dimension
# - "a call may be by keyword": layers that are called by keyword
# - "any stride, padding": paddings 'same' and 'valid'
# - "classes derived from them": other layers, a derived class

# %% wrong="the stub" says=["it returned None, no list: is there an answer yet?"]
def network_drawn(model, x):
    pass


# %% wrong="listed, not called; FLOPs; groups and biases" says=["the names", "in the order of the calls, one for each call", "these are FLOPs: one MAC is two"]
def network_drawn(model, x):
    rows, handles, modes = {}, [], [(m, m.training) for m in model.modules()]
    for name, module in model.named_modules():
        if not list(module.children()):

            def note(m, args, out, name=name):
                macs = 0
                if isinstance(m, nn.Linear):
                    macs = 2 * out.numel() * m.in_features
                if isinstance(m, nn.Conv2d):
                    macs = (
                        2
                        * out.numel()
                        * m.in_channels
                        // m.groups
                        * m.kernel_size[0]
                        * m.kernel_size[1]
                    )
                rows[name] = (name, tuple(out.shape), sum(p.numel() for p in m.parameters()), macs)

            rows[name] = None
            handles.append(module.register_forward_hook(note))
    with torch.no_grad():
        model.eval()(x)
    for handle in handles:
        handle.remove()
    for m, mode in modes:
        m.training = mode
    return list(rows.values())


# %% wrong="kernel squared, no groups, one sample" says=["a group sees only its own input channels", "for the whole batch, not one sample", "the channels of both groups"]
def network_drawn(model, x):
    rows, handles, modes = [], [], [(m, m.training) for m in model.modules()]
    for name, module in model.named_modules():
        if not list(module.children()):

            def note(m, args, out, name=name):
                macs = 0
                if isinstance(m, nn.Linear):
                    macs = out[0].numel() * m.in_features
                if isinstance(m, nn.Conv2d):
                    macs = out.numel() * m.in_channels * m.kernel_size[0] * m.kernel_size[1]
                rows.append((name, tuple(out.shape), sum(p.numel() for p in m.parameters()), macs))

            handles.append(module.register_forward_hook(note))
    with torch.no_grad():
        model.eval()(x)
    for handle in handles:
        handle.remove()
    for m, mode in modes:
        m.training = mode
    return rows


# %% wrong="output pixels forgotten; hooks left; parents too" says=["no row for a module with children", "a hook is left", "(train or eval)"]
def network_drawn(model, x):
    rows = []
    for name, module in model.named_modules():

        def note(m, args, out, name=name):
            macs = 0
            if isinstance(m, nn.Linear):
                macs = m.weight.numel()
            if isinstance(m, nn.Conv2d):
                macs = m.weight.numel()
            rows.append((name, tuple(out.shape), sum(p.numel() for p in m.parameters()), macs))

        module.register_forward_hook(note)
    with torch.no_grad():
        model.eval()(x)
    return rows


# %% wrong="weights only, no output pixels" says=["a kernel is used again at each output pixel", "biases too"]
def network_drawn(model, x):
    rows, handles, modes = [], [], [(m, m.training) for m in model.modules()]
    for name, module in model.named_modules():
        if not list(module.children()):

            def note(m, args, out, name=name):
                macs = m.weight.numel() if isinstance(m, (nn.Linear, nn.Conv2d)) else 0
                rows.append(
                    (name, tuple(out.shape), m.weight.numel() if hasattr(m, "weight") else 0, macs)
                )

            handles.append(module.register_forward_hook(note))
    with torch.no_grad():
        model.eval()(x)
    for handle in handles:
        handle.remove()
    for m, mode in modes:
        m.training = mode
    return rows


# %% wrong="biases counted, in training mode" says=["without biases", "BatchNorm saw the batch in training mode"]
def network_drawn(model, x):
    rows, handles = [], []
    for name, module in model.named_modules():
        if not list(module.children()):

            def note(m, args, out, name=name):
                macs = 0
                if isinstance(m, (nn.Linear, nn.Conv2d)):
                    macs = out.numel() * m.weight[0].numel() + (
                        out.numel() if m.bias is not None else 0
                    )
                rows.append((name, tuple(out.shape), sum(p.numel() for p in m.parameters()), macs))

            handles.append(module.register_forward_hook(note))
    with torch.no_grad():
        model(x)
    for handle in handles:
        handle.remove()
    return rows


# %% right="FlopCounterMode on each call, on a copy"
def network_drawn(model, x):
    import copy

    from torch.utils.flop_counter import FlopCounterMode

    twin, rows = copy.deepcopy(model).eval(), []
    for name, module in twin.named_modules():
        if next(module.children(), None) is None:

            def wrapped(*args, name=name, module=module, old=module.forward, **named):
                with FlopCounterMode(display=False) as counter, torch.no_grad():
                    out = old(*args, **named)
                size = sum(p.numel() for p in module.parameters())
                counted = isinstance(module, (nn.Linear, nn.Conv2d))
                rows.append([name, out.shape, size, counted * counter.get_total_flops() // 2])
                return out

            module.forward = wrapped
    twin(x)
    return rows


# %% right="one hook for the whole library"
def network_drawn(model, x):
    names = {id(m): name for name, m in model.named_modules() if len(list(m.children())) == 0}
    modes, rows = [m.training for m in model.modules()], []

    def hook(m, args, out):
        if id(m) in names:
            if isinstance(m, nn.Conv2d):
                b, c, h, w = out.shape
                macs = b * h * w * m.weight.numel()
            elif isinstance(m, nn.Linear):
                macs = out.numel() // m.out_features * m.weight.numel()
            else:
                macs = 0
            rows.append(
                (names[id(m)], tuple(out.shape), sum(map(torch.numel, m.parameters())), macs)
            )

    try:
        with nn.modules.module.register_module_forward_hook(hook), torch.inference_mode():
            model.eval()
            model(x)
    finally:
        for m, mode in zip(model.modules(), modes):
            m.training = mode
    return rows


# %% wrong="leaves out the module itself" breaks="if it has no children, is the only row" says=["if it has no children, is called ''"]
def network_drawn(model, x):
    modes = [(m, m.training) for m in model.modules()]
    model.eval()
    names = {m: n for n, m in model.named_modules()}
    rows, handles = [], []

    def hook(m, i, o):
        macs = 0
        if isinstance(m, nn.Linear):
            macs = o.numel() * m.in_features
        if isinstance(m, nn.Conv2d):
            macs = o.numel() * m.weight[0].numel()
        rows.append((names[m], tuple(o.shape), sum(p.numel() for p in m.parameters()), macs))

    for n, m in model.named_modules():
        if n and not list(m.children()):
            handles.append(m.register_forward_hook(hook))
    with torch.no_grad():
        model(x)
    for h in handles:
        h.remove()
    for m, mode in modes:
        m.training = mode
    return rows


# %% wrong="input pixels instead of output pixels" says=["a sum for each output pixel"]
def network_drawn(model, x):
    modes = [(m, m.training) for m in model.modules()]
    model.eval()
    names = {m: n for n, m in model.named_modules()}
    rows, handles = [], []

    def hook(m, i, o):
        macs = 0
        if isinstance(m, nn.Linear):
            macs = o.numel() * m.in_features
        if isinstance(m, nn.Conv2d):
            macs = i[0].shape[0] * i[0].shape[2] * i[0].shape[3] * m.weight.numel()
        rows.append((names[m], tuple(o.shape), sum(p.numel() for p in m.parameters()), macs))

    for m in model.modules():
        if not list(m.children()):
            handles.append(m.register_forward_hook(hook))
    with torch.no_grad():
        model(x)
    for h in handles:
        h.remove()
    for m, mode in modes:
        m.training = mode
    return rows


# %% wrong="two-dimensional linear layers only" breaks="(any number of dimensions)" says=["for each position of the middle dimension"]
def network_drawn(model, x):
    modes = [(m, m.training) for m in model.modules()]
    model.eval()
    names = {m: n for n, m in model.named_modules()}
    rows, handles = [], []

    def hook(m, i, o):
        macs = 0
        if isinstance(m, nn.Linear):
            macs = o.shape[0] * m.in_features * m.out_features
        if isinstance(m, nn.Conv2d):
            macs = o.numel() * m.weight[0].numel()
        rows.append(
            (
                names[m],
                tuple(o.shape),
                sum(p.numel() for p in m.parameters() if p.requires_grad),
                macs,
            )
        )

    for n, m in model.named_modules():
        if not list(m.children()):
            handles.append(m.register_forward_hook(hook))
    with torch.no_grad():
        model(x)
    for h in handles:
        h.remove()
    for m, mode in modes:
        m.training = mode
    return rows


# %% right="a copy on the meta device"
import copy
import math


def network_drawn(model, x):
    twin = copy.deepcopy(model).to("meta").eval()
    rows = []

    def note(name):
        def hook(m, args, out):
            shape = tuple(out.shape)
            if isinstance(m, nn.Linear):
                macs = math.prod(shape[:-1]) * m.in_features * m.out_features
            elif isinstance(m, nn.Conv2d):
                b, c, h, w = shape
                kh, kw = m.kernel_size
                macs = b * c * h * w * kh * kw * m.in_channels // m.groups
            else:
                macs = 0
            rows.append((name, shape, sum(math.prod(p.shape) for p in m.parameters()), macs))

        return hook

    for name, m in twin.named_modules():
        if not any(True for _ in m.children()):
            m.register_forward_hook(note(name))
    twin(x.to("meta"))
    return rows


# %% wrong="counts only the parameters that train" breaks="Frozen parameters count" says=["frozen parameters count, too"]
def network_drawn(model, x):
    modes = [(m, m.training) for m in model.modules()]
    names = {m: n for n, m in model.named_modules()}
    rows, handles = [], []

    def hook(m, i, o):
        each = m.in_features if isinstance(m, nn.Linear) else 0
        each = m.weight[0].numel() if isinstance(m, nn.Conv2d) else each
        trained = sum(p.numel() for p in m.parameters() if p.requires_grad)
        rows.append((names[m], tuple(o.shape), trained, o.numel() * each))

    for m in model.modules():
        if not list(m.children()):
            handles.append(m.register_forward_hook(hook))
    with torch.no_grad():
        model.eval()(x)
    for h in handles:
        h.remove()
    for m, mode in modes:
        m.training = mode
    return rows


# %% wrong="clears other people's hooks, wipes the caller's gradients" breaks="hooks, gradients, buffers" says=["a hook of somebody else's is gone", "it is the caller's"]
def network_drawn(model, x):
    modes = [(m, m.training) for m in model.modules()]
    names = {m: n for n, m in model.named_modules()}
    rows = []

    def hook(m, i, o):
        each = m.in_features if isinstance(m, nn.Linear) else 0
        each = m.weight[0].numel() if isinstance(m, nn.Conv2d) else each
        count = sum(p.numel() for p in m.parameters())
        rows.append((names[m], tuple(o.shape), count, o.numel() * each))

    for m in model.modules():
        if not list(m.children()):
            m.register_forward_hook(hook)
    model.eval()(x)
    model.zero_grad()
    for m, mode in modes:
        m.training = mode
        m._forward_hooks.clear()
    return rows


# %% wrong="a kernel's height alone, buffers among the parameters" says=["both sides of the kernel count", "buffers are no parameters"]
def network_drawn(model, x):
    modes = [(m, m.training) for m in model.modules()]
    names = {m: n for n, m in model.named_modules()}
    rows, handles = [], []

    def hook(m, i, o):
        each = m.in_features if isinstance(m, nn.Linear) else 0
        if isinstance(m, nn.Conv2d):
            each = m.in_channels // m.groups * m.kernel_size[0] ** 2
        count = sum(v.numel() for v in m.state_dict().values())
        rows.append((names[m], tuple(o.shape), count, o.numel() * each))

    for m in model.modules():
        if not list(m.children()):
            handles.append(m.register_forward_hook(hook))
    with torch.no_grad():
        model.eval()(x)
    for h in handles:
        h.remove()
    for m, mode in modes:
        m.training = mode
    return rows


# %% wrong="runs the model twice" breaks="runs the model once" says=["the model ran 2 times; once is asked for"]
def network_drawn(model, x):
    modes = [(m, m.training) for m in model.modules()]
    names = {m: n for n, m in model.named_modules()}
    rows, shapes, handles = [], [], []

    def hook(m, i, o):
        each = m.in_features if isinstance(m, nn.Linear) else 0
        each = m.weight[0].numel() if isinstance(m, nn.Conv2d) else each
        count = sum(p.numel() for p in m.parameters())
        rows.append((names[m], tuple(o.shape), count, o.numel() * each))

    with torch.no_grad():
        shapes.append(model.eval()(x).shape)
        for m in model.modules():
            if not list(m.children()):
                handles.append(m.register_forward_hook(hook))
        model(x)
    for h in handles:
        h.remove()
    for m, mode in modes:
        m.training = mode
    return rows


# %% wrong="whatever has a matrix has MACs" breaks="all others 0" says=["only nn.Linear and nn.Conv2d have MACs here"]
def network_drawn(model, x):
    rows, handles = [], []
    modes = {m: m.training for m in model.modules()}

    def note(name, m, o):
        w = getattr(m, "weight", None)
        each = w[0].numel() if w is not None and w.dim() > 1 else 0
        rows.append(
            (name, tuple(o.shape), sum(p.numel() for p in m.parameters()), o.numel() * each)
        )

    for n, m in model.named_modules():
        if not list(m.children()):
            handles.append(m.register_forward_hook(lambda m, a, o, n=n: note(n, m, o)))
    with torch.no_grad():
        model.eval()(x)
    for h in handles:
        h.remove()
    for m, t in modes.items():
        m.training = t
    return rows


# %% wrong="compares types" breaks="so have classes derived from them" says=["a class derived from nn.Linear is an nn.Linear"]
def network_drawn(model, x):
    rows, handles = [], []
    modes = {m: m.training for m in model.modules()}

    def note(name, m, o):
        each = (
            m.in_features
            if type(m) is nn.Linear
            else m.weight[0].numel()
            if type(m) is nn.Conv2d
            else 0
        )
        rows.append(
            (name, tuple(o.shape), sum(p.numel() for p in m.parameters()), o.numel() * each)
        )

    for n, m in model.named_modules():
        if not list(m.children()):
            handles.append(m.register_forward_hook(lambda m, a, o, n=n: note(n, m, o)))
    with torch.no_grad():
        model.eval()(x)
    for h in handles:
        h.remove()
    for m, t in modes.items():
        m.training = t
    return rows


# %% wrong="shapes as lists" breaks="shape as a tuple" says=["a tuple is asked for"]
def network_drawn(model, x):
    rows, hs = [], []
    was = {m: m.training for m in model.modules()}

    def hook(name):
        def f(m, i, o):
            k = (
                m.in_features
                if isinstance(m, nn.Linear)
                else m.in_channels / m.groups * m.kernel_size[0] * m.kernel_size[1]
                if isinstance(m, nn.Conv2d)
                else 0
            )
            rows.append(
                (name, list(o.shape), sum(p.numel() for p in m.parameters()), o.numel() * k)
            )

        return f

    for n, m in model.named_modules():
        if not list(m.children()):
            hs.append(m.register_forward_hook(hook(n)))
    model.eval()
    with torch.no_grad():
        model(x)
    for h in hs:
        h.remove()
    for m, t in was.items():
        m.training = t
    return rows


# %% wrong="counts the gaps of a dilated kernel" breaks="(any stride, padding, dilation, groups)" says=["the gaps of a dilated kernel"]
def network_drawn(model, x):
    rows, hs = [], []
    was = {m: m.training for m in model.modules()}

    def hook(name):
        def f(m, i, o):
            k = 0
            if isinstance(m, nn.Linear):
                k = m.in_features
            if isinstance(m, nn.Conv2d):
                k = (
                    m.in_channels
                    // m.groups
                    * ((m.kernel_size[0] - 1) * m.dilation[0] + 1)
                    * ((m.kernel_size[1] - 1) * m.dilation[1] + 1)
                )
            rows.append(
                (name, tuple(o.shape), sum(p.numel() for p in m.parameters()), o.numel() * k)
            )

        return f

    for n, m in model.named_modules():
        if not list(m.children()):
            hs.append(m.register_forward_hook(hook(n)))
    model.eval()
    with torch.no_grad():
        model(x)
    for h in hs:
        h.remove()
    for m, t in was.items():
        m.training = t
    return rows


# %% wrong="the input's shape" breaks="the output's shape" says=["the output's shape"]
def network_drawn(model, x):
    rows, hs = [], []
    was = {m: m.training for m in model.modules()}

    def hook(name):
        def f(m, i, o):
            k = (
                m.in_features
                if isinstance(m, nn.Linear)
                else m.weight[0].numel()
                if isinstance(m, nn.Conv2d)
                else 0
            )
            rows.append(
                (name, tuple(i[0].shape), sum(p.numel() for p in m.parameters()), o.numel() * k)
            )

        return f

    for n, m in model.named_modules():
        if not list(m.children()):
            hs.append(m.register_forward_hook(hook(n)))
    model.eval()
    with torch.no_grad():
        model(x)
    for h in hs:
        h.remove()
    for m, t in was.items():
        m.training = t
    return rows


# %% wrong="in training mode" breaks="in eval mode" says=["BatchNorm"]
from functools import partial


def network_drawn(model, x):
    rows, handles, modes = [], [], {m: m.training for m in model.modules()}

    def note(name, module, args, out):
        macs = (
            out.numel() * module.weight[0].numel()
            if isinstance(module, (nn.Linear, nn.Conv2d))
            else 0
        )
        rows.append((name, tuple(out.shape), sum(p.numel() for p in module.parameters()), macs))

    for name, module in model.named_modules():
        if not list(module.children()):
            handles.append(module.register_forward_hook(partial(note, name)))
    try:
        with torch.no_grad():
            model(x)
    finally:
        for h in handles:
            h.remove()
        for m, mode in modes.items():
            m.training = mode
    return rows


# %% wrong="parts with children, too" breaks="a row for each call of a module that has no children" says=["rows"]
from functools import partial


def network_drawn(model, x):
    rows, handles, modes = [], [], {m: m.training for m in model.modules()}

    def note(name, module, args, out):
        macs = (
            out.numel() * module.weight[0].numel()
            if isinstance(module, (nn.Linear, nn.Conv2d))
            else 0
        )
        rows.append((name, tuple(out.shape), sum(p.numel() for p in module.parameters()), macs))

    for name, module in model.named_modules():
        if True:
            handles.append(module.register_forward_hook(partial(note, name)))
    try:
        model.eval()
        with torch.no_grad():
            model(x)
    finally:
        for h in handles:
            h.remove()
        for m, mode in modes.items():
            m.training = mode
    return rows


# %% wrong="in the order of the names" breaks="**in the order of the calls**" says=["order"]
from functools import partial


def network_drawn(model, x):
    rows, handles, modes = [], [], {m: m.training for m in model.modules()}

    def note(name, module, args, out):
        macs = (
            out.numel() * module.weight[0].numel()
            if isinstance(module, (nn.Linear, nn.Conv2d))
            else 0
        )
        rows.append((name, tuple(out.shape), sum(p.numel() for p in module.parameters()), macs))

    for name, module in model.named_modules():
        if not list(module.children()):
            handles.append(module.register_forward_hook(partial(note, name)))
    try:
        model.eval()
        with torch.no_grad():
            model(x)
    finally:
        for h in handles:
            h.remove()
        for m, mode in modes.items():
            m.training = mode
    order = [n for n, _ in model.named_modules()]
    return sorted(rows, key=lambda r: order.index(r[0]))


# %% wrong="the class's name" breaks="the name as in `named_modules()`" says=["named_modules()"]
def network_drawn(model, x):
    rows, handles = [], []
    modes = {module: module.training for module in model.modules()}

    def note(module, args, out):
        each = module.weight[0].numel() if isinstance(module, (nn.Linear, nn.Conv2d)) else 0
        count = sum(p.numel() for p in module.parameters())
        rows.append((type(module).__name__, tuple(out.shape), count, out.numel() * each))

    for module in model.modules():
        if not list(module.children()):
            handles.append(module.register_forward_hook(note))
    with torch.no_grad():
        model.eval()(x)
    for handle in handles:
        handle.remove()
    for module, mode in modes.items():
        module.training = mode
    return rows


# %% wrong="no biases among the parameters" breaks="the module's number of parameters (biases too)" says=["the number of parameters"]
from functools import partial


def network_drawn(model, x):
    rows, handles, modes = [], [], {m: m.training for m in model.modules()}

    def note(name, module, args, out):
        macs = (
            out.numel() * module.weight[0].numel()
            if isinstance(module, (nn.Linear, nn.Conv2d))
            else 0
        )
        rows.append(
            (
                name,
                tuple(out.shape),
                module.weight.numel() if getattr(module, "weight", None) is not None else 0,
                macs,
            )
        )

    for name, module in model.named_modules():
        if not list(module.children()):
            handles.append(module.register_forward_hook(partial(note, name)))
    try:
        model.eval()
        with torch.no_grad():
            model(x)
    finally:
        for h in handles:
            h.remove()
        for m, mode in modes.items():
            m.training = mode
    return rows


# %% wrong="one sample's work" breaks="of this call for the whole batch" says=["the MACs"]
from functools import partial


def network_drawn(model, x):
    rows, handles, modes = [], [], {m: m.training for m in model.modules()}

    def note(name, module, args, out):
        macs = (
            out[0].numel() * module.weight[0].numel()
            if isinstance(module, (nn.Linear, nn.Conv2d))
            else 0
        )
        rows.append((name, tuple(out.shape), sum(p.numel() for p in module.parameters()), macs))

    for name, module in model.named_modules():
        if not list(module.children()):
            handles.append(module.register_forward_hook(partial(note, name)))
    try:
        model.eval()
        with torch.no_grad():
            model(x)
    finally:
        for h in handles:
            h.remove()
        for m, mode in modes.items():
            m.training = mode
    return rows


# %% wrong="biases among the products" breaks="have MACs, without biases" says=["the MACs"]
from functools import partial


def network_drawn(model, x):
    rows, handles, modes = [], [], {m: m.training for m in model.modules()}

    def note(name, module, args, out):
        macs = (
            out.numel() * (module.weight[0].numel() + (module.bias is not None))
            if isinstance(module, (nn.Linear, nn.Conv2d))
            else 0
        )
        rows.append((name, tuple(out.shape), sum(p.numel() for p in module.parameters()), macs))

    for name, module in model.named_modules():
        if not list(module.children()):
            handles.append(module.register_forward_hook(partial(note, name)))
    try:
        model.eval()
        with torch.no_grad():
            model(x)
    finally:
        for h in handles:
            h.remove()
        for m, mode in modes.items():
            m.training = mode
    return rows


# %% wrong="each module once" breaks="A module that is called twice has two rows" says=["rows"]
from functools import partial


def network_drawn(model, x):
    rows, handles, modes = [], [], {m: m.training for m in model.modules()}

    def note(name, module, args, out):
        macs = (
            out.numel() * module.weight[0].numel()
            if isinstance(module, (nn.Linear, nn.Conv2d))
            else 0
        )
        if name not in [r[0] for r in rows]:
            rows.append((name, tuple(out.shape), sum(p.numel() for p in module.parameters()), macs))

    for name, module in model.named_modules():
        if not list(module.children()):
            handles.append(module.register_forward_hook(partial(note, name)))
    try:
        model.eval()
        with torch.no_grad():
            model(x)
    finally:
        for h in handles:
            h.remove()
        for m, mode in modes.items():
            m.training = mode
    return rows


# %% wrong="in training afterwards" breaks="Leave the model as it was: modes" says=["was changed (train or eval)"]
from functools import partial


def network_drawn(model, x):
    rows, handles = [], []

    def note(name, module, args, out):
        macs = (
            out.numel() * module.weight[0].numel()
            if isinstance(module, (nn.Linear, nn.Conv2d))
            else 0
        )
        rows.append((name, tuple(out.shape), sum(p.numel() for p in module.parameters()), macs))

    for name, module in model.named_modules():
        if not list(module.children()):
            handles.append(module.register_forward_hook(partial(note, name)))
    try:
        model.eval()
        with torch.no_grad():
            model(x)
    finally:
        for h in handles:
            h.remove()
        model.train()
    return rows


# %% wrong="the last of two names" says=["a module with two names is in named_modules() once, under the first"]
def network_drawn(model, x):
    modes = [(module, module.training) for module in model.modules()]
    rows, handles = [], []

    def watch(name):
        def hook(module, inputs, output):
            macs = 0
            if isinstance(module, (nn.Linear, nn.Conv2d)):
                macs = output.numel() * module.weight[0].numel()
            count = sum(p.numel() for p in module.parameters())
            rows.append((name, tuple(output.shape), count, macs))

        return hook

    for module, name in {
        module: name for name, module in model.named_modules(remove_duplicate=False)
    }.items():
        if not list(module.children()):
            handles.append(module.register_forward_hook(watch(name)))
    model.eval()
    with torch.no_grad():
        model(x)
    for handle in handles:
        handle.remove()
    for module, mode in modes:
        module.training = mode
    return rows


# %% wrong="weight and bias, by these names" says=["a parameter counts, whatever it is called"]
def network_drawn(model, x):
    rows, handles = [], []
    modes = [(module, module.training) for module in model.modules()]

    def note(name):
        def hook(module, args, output):
            macs = 0
            if isinstance(module, nn.Linear):
                macs = output.numel() * module.in_features
            elif isinstance(module, nn.Conv2d):
                macs = output.numel() * module.weight[0].numel()
            number = sum(
                p.numel()
                for p in (getattr(module, "weight", None), getattr(module, "bias", None))
                if isinstance(p, nn.Parameter)
            )
            rows.append((name, tuple(output.shape), number, macs))

        return hook

    for name, module in model.named_modules():
        if not list(module.children()):
            handles.append(module.register_forward_hook(note(name)))
    model.eval()
    try:
        with torch.no_grad():
            model(x)
    finally:
        for handle in handles:
            handle.remove()
        for module, mode in modes:
            module.training = mode
    return rows


# %% wrong="a row for what has parameters of its own" says=["no row for a module with children"]
def network_drawn(model: nn.Module, x: torch.Tensor) -> list[tuple[str, tuple, int, int]]:
    names = {module: name for name, module in model.named_modules()}
    leaves = [
        module for module in model.modules() if not list(module.children()) or module._parameters
    ]
    modes = [(module, module.training) for module in model.modules()]
    rows = []

    def hook(module, args, out):
        macs = 0
        if isinstance(module, (nn.Linear, nn.Conv2d)):
            macs = out.numel() * module.weight[0].numel()
        parameters = sum(p.numel() for p in module.parameters())
        rows.append((names[module], tuple(out.shape), parameters, macs))

    handles = [module.register_forward_hook(hook) for module in leaves]
    try:
        model.eval()
        with torch.no_grad():
            model(x)
    finally:
        for handle in handles:
            handle.remove()
        for module, was in modes:
            module.training = was
    return rows


# %% wrong="every convolution has work" says=["only nn.Linear and nn.Conv2d have MACs here"]
def network_drawn(model: nn.Module, x: torch.Tensor) -> list[tuple[str, tuple, int, int]]:
    names = {module: name for name, module in model.named_modules()}
    leaves = [module for module in model.modules() if not list(module.children())]
    modes = [(module, module.training) for module in model.modules()]
    rows = []

    def hook(module, args, out):
        macs = 0
        if isinstance(module, (nn.Linear, nn.modules.conv._ConvNd)):
            macs = out.numel() * module.weight[0].numel()
        parameters = sum(p.numel() for p in module.parameters())
        rows.append((names[module], tuple(out.shape), parameters, macs))

    handles = [module.register_forward_hook(hook) for module in leaves]
    try:
        model.eval()
        with torch.no_grad():
            model(x)
    finally:
        for handle in handles:
            handle.remove()
        for module, was in modes:
            module.training = was
    return rows


# %% wrong="a derived convolution has no work" says=["a class derived from nn.Conv2d is an nn.Conv2d"]
def network_drawn(model: nn.Module, x: torch.Tensor) -> list[tuple[str, tuple, int, int]]:
    names = {module: name for name, module in model.named_modules()}
    leaves = [module for module in model.modules() if not list(module.children())]
    modes = [(module, module.training) for module in model.modules()]
    rows = []

    def hook(module, args, out):
        macs = 0
        if isinstance(module, nn.Linear) or type(module) is nn.Conv2d:
            macs = out.numel() * module.weight[0].numel()
        parameters = sum(p.numel() for p in module.parameters())
        rows.append((names[module], tuple(out.shape), parameters, macs))

    handles = [module.register_forward_hook(hook) for module in leaves]
    try:
        model.eval()
        with torch.no_grad():
            model(x)
    finally:
        for handle in handles:
            handle.remove()
        for module, was in modes:
            module.training = was
    return rows


# %% wrong="modes of parts by train" says=["the mode of"]
def network_drawn(model: nn.Module, x: torch.Tensor) -> list[tuple[str, tuple, int, int]]:
    names = {module: name for name, module in model.named_modules()}
    leaves = [module for module in model.modules() if not list(module.children())]
    modes = [(module, module.training) for module in model.modules()]
    rows = []

    def hook(module, args, out):
        macs = 0
        if isinstance(module, (nn.Linear, nn.Conv2d)):
            macs = out.numel() * module.weight[0].numel()
        parameters = sum(p.numel() for p in module.parameters())
        rows.append((names[module], tuple(out.shape), parameters, macs))

    handles = [module.register_forward_hook(hook) for module in leaves]
    try:
        model.eval()
        with torch.no_grad():
            model(x)
    finally:
        for handle in handles:
            handle.remove()
        for module, was in modes:
            module.train(was)
    return rows


# %% wrong="what is not called has a row" says=["a module that isn't called has no row"]
def network_drawn(model: nn.Module, x: torch.Tensor) -> list[tuple[str, tuple, int, int]]:
    names = {module: name for name, module in model.named_modules()}
    leaves = [module for module in model.modules() if not list(module.children())]
    modes = [(module, module.training) for module in model.modules()]
    rows = []

    def hook(module, args, out):
        macs = 0
        if isinstance(module, (nn.Linear, nn.Conv2d)):
            macs = out.numel() * module.weight[0].numel()
        parameters = sum(p.numel() for p in module.parameters())
        rows.append((names[module], tuple(out.shape), parameters, macs))

    handles = [module.register_forward_hook(hook) for module in leaves]
    try:
        model.eval()
        with torch.no_grad():
            model(x)
    finally:
        for handle in handles:
            handle.remove()
        for module, was in modes:
            module.training = was
    called = [row[0] for row in rows]
    rest = [(names[m], (), sum(p.numel() for p in m.parameters()), 0) for m in leaves]
    return rows + [row for row in rest if row[0] not in called]


# %% wrong="a weight that two layers share is counted once" says=["a weight that two layers share counts in both"]
def network_drawn(model, x):
    modes = {m: m.training for m in model.modules()}
    rows, hooks, seen = [], [], {}
    for name, m in model.named_modules():
        if not list(m.children()):

            def hook(m, i, o, name=name):
                macs = 0
                if isinstance(m, (nn.Linear, nn.Conv2d)):
                    macs = o.numel() * m.weight[0].numel()
                count = sum(p.numel() for p in m.parameters() if seen.setdefault(p, m) is m)
                rows.append((name, tuple(o.shape), count, macs))

            hooks.append(m.register_forward_hook(hook))
    model.eval()
    with torch.no_grad():
        model(x)
    for h in hooks:
        h.remove()
    for m, mode in modes.items():
        m.training = mode
    return rows


# %% wrong="one sample's MACs times the rows: a batch of no rows has no first sample" says=["a batch of no rows, one weight in two layers: raised IndexError"]
def network_drawn(model, x):
    modes = {m: m.training for m in model.modules()}
    rows, hooks = [], []
    for name, m in model.named_modules():
        if not list(m.children()):

            def hook(m, i, o, name=name):
                macs = 0
                if isinstance(m, (nn.Linear, nn.Conv2d)):
                    macs = len(o) * o[0].numel() * m.weight[0].numel()
                rows.append((name, tuple(o.shape), sum(p.numel() for p in m.parameters()), macs))

            hooks.append(m.register_forward_hook(hook))
    model.eval()
    with torch.no_grad():
        model(x)
    for h in hooks:
        h.remove()
    for m, mode in modes.items():
        m.training = mode
    return rows


# %% wrong="containers told by their class: an empty Sequential has no row" says=["an empty Sequential has no children: it is called, and has a row"]
def network_drawn(model, x):
    modes = {m: m.training for m in model.modules()}
    rows, hooks = [], []
    for name, m in model.named_modules():
        if not isinstance(m, nn.Sequential) and not list(m.children()):

            def hook(m, i, o, name=name):
                macs = 0
                if isinstance(m, (nn.Linear, nn.Conv2d)):
                    macs = o.numel() * m.weight[0].numel()
                rows.append((name, tuple(o.shape), sum(p.numel() for p in m.parameters()), macs))

            hooks.append(m.register_forward_hook(hook))
    model.eval()
    with torch.no_grad():
        model(x)
    for h in hooks:
        h.remove()
    for m, mode in modes.items():
        m.training = mode
    return rows


# %% wrong="switches recording off and on" says=["the caller had switched it off"]
def network_drawn(model, x):
    rows, handles = [], []
    modes = {module: module.training for module in model.modules()}

    def note(name):
        def hook(module, args, output):
            each = module.in_features if isinstance(module, nn.Linear) else 0
            each = module.weight[0].numel() if isinstance(module, nn.Conv2d) else each
            count = sum(p.numel() for p in module.parameters())
            rows.append((name, tuple(output.shape), count, output.numel() * each))

        return hook

    for name, module in model.named_modules():
        if not list(module.children()):
            handles.append(module.register_forward_hook(note(name)))
    try:
        model.eval()
        torch.set_grad_enabled(False)
        model(x)
    finally:
        torch.set_grad_enabled(True)
        for handle in handles:
            handle.remove()
        for module, mode in modes.items():
            module.training = mode
    return rows


# %% wrong="puts back only where all went well" breaks="also where it raises" says=["a hook is left", "in a `finally`"]
def network_drawn(model, x):
    rows, handles = [], []
    modes = {module: module.training for module in model.modules()}

    def note(name):
        def hook(module, args, output):
            each = module.in_features if isinstance(module, nn.Linear) else 0
            each = module.weight[0].numel() if isinstance(module, nn.Conv2d) else each
            count = sum(p.numel() for p in module.parameters())
            rows.append((name, tuple(output.shape), count, output.numel() * each))

        return hook

    for name, module in model.named_modules():
        if not list(module.children()):
            handles.append(module.register_forward_hook(note(name)))
    model.eval()
    with torch.no_grad():
        model(x)
    for handle in handles:
        handle.remove()
    for module, mode in modes.items():
        module.training = mode
    return rows


# %% wrong="leaves out a frozen bias" says=["the number of parameters"]
def network_drawn(model, x):
    rows, handles = [], []
    modes = {module: module.training for module in model.modules()}

    def note(name):
        def hook(module, args, output):
            each = module.in_features if isinstance(module, nn.Linear) else 0
            each = module.weight[0].numel() if isinstance(module, nn.Conv2d) else each
            kept = [p for n, p in module.named_parameters() if n != "bias" or p.requires_grad]
            count = sum(p.numel() for p in kept)
            rows.append((name, tuple(output.shape), count, output.numel() * each))

        return hook

    for name, module in model.named_modules():
        if not list(module.children()):
            handles.append(module.register_forward_hook(note(name)))
    try:
        model.eval()
        with torch.no_grad():
            model(x)
    finally:
        for handle in handles:
            handle.remove()
        for module, mode in modes.items():
            module.training = mode
    return rows


# %% wrong="a part that is None as a child" breaks="A part that is `None` is no child" says=["a part that is None, as in 'plane', is no child: ask children() for them"]
def network_drawn(model, x):
    names = {m: n for n, m in model.named_modules()}
    modes = [(m, m.training) for m in model.modules()]
    rows, handles = [], []

    def hook(m, inputs, out):
        macs = out.numel() * m.weight[0].numel() if isinstance(m, (nn.Linear, nn.Conv2d)) else 0
        rows.append((names[m], tuple(out.shape), sum(p.numel() for p in m.parameters()), macs))

    try:
        for m in names:
            if not m._modules:
                handles.append(m.register_forward_hook(hook))
        model.eval()
        with torch.no_grad():
            model(x)
    finally:
        for h in handles:
            h.remove()
        for m, mode in modes:
            m.training = mode
    return rows


# %% wrong="works by the input, which a call by keyword hides" breaks="a call may be by keyword" says=["layers that are called by keyword: raised", "a hook gets no inputs of a call by keyword"]
def network_drawn(model, x):
    modes = [(m, m.training) for m in model.modules()]
    rows, handles = [], []

    def hook(m, args, out, name):
        macs = 0
        if isinstance(m, nn.Linear):
            macs = args[0].numel() * m.out_features
        if isinstance(m, nn.Conv2d):
            macs = out.numel() * m.weight[0].numel()
        rows.append((name, tuple(out.shape), sum(p.numel() for p in m.parameters()), macs))

    for name, m in model.named_modules():
        if not list(m.children()):
            handles.append(m.register_forward_hook(lambda *given, name=name: hook(*given, name)))
    try:
        with torch.no_grad():
            model.eval()(x)
    finally:
        for handle in handles:
            handle.remove()
        for m, mode in modes:
            m.training = mode
    return rows


# %% wrong="the formula of the output's size" breaks="(any stride, padding, dilation, groups)" says=["paddings 'same' and 'valid': raised", "a convolution's padding may be a word"]
def _pixels(conv, size):
    count = 1
    for n in (0, 1):
        reach = conv.dilation[n] * (conv.kernel_size[n] - 1) + 1
        count *= (size[n] + 2 * conv.padding[n] - reach) // conv.stride[n] + 1
    return count


def network_drawn(model, x):
    modes = [(m, m.training) for m in model.modules()]
    rows, handles = [], []

    def hook(m, args, kwargs, out, name):
        last = args[0] if args else kwargs["input"]
        macs = 0
        if isinstance(m, nn.Linear):
            macs = out.numel() * m.in_features
        if isinstance(m, nn.Conv2d):
            macs = out.shape[0] * _pixels(m, last.shape[-2:]) * m.weight.numel()
        rows.append((name, tuple(out.shape), sum(p.numel() for p in m.parameters()), macs))

    for name, m in model.named_modules():
        if not list(m.children()):
            handles.append(
                m.register_forward_hook(
                    lambda *given, name=name: hook(*given, name), with_kwargs=True
                )
            )
    try:
        with torch.no_grad():
            model.eval()(x)
    finally:
        for handle in handles:
            handle.remove()
        for m, mode in modes:
            m.training = mode
    return rows


# %% wrong="counts a weight where it is met first" says=["one layer under two names", "has its parameters in each of its rows"]
def network_drawn(model, x):
    modes = [(m, m.training) for m in model.modules()]
    rows, handles, seen = [], [], set()

    def hook(m, args, out, name):
        macs = 0
        if isinstance(m, nn.Linear):
            macs = out.numel() * m.in_features
        if isinstance(m, nn.Conv2d):
            macs = out.numel() * m.weight[0].numel()
        size = sum(p.numel() for p in m.parameters() if id(p) not in seen)
        seen.update(map(id, m.parameters()))
        rows.append((name, tuple(out.shape), size, macs))

    for name, m in model.named_modules():
        if not list(m.children()):
            handles.append(m.register_forward_hook(lambda *given, name=name: hook(*given, name)))
    try:
        with torch.no_grad():
            model.eval()(x)
    finally:
        for handle in handles:
            handle.remove()
        for m, mode in modes:
            m.training = mode
    return rows
