# %% [markdown]
# Rules:
#
# - "both from the same global random state"
# - "Run each once on `x`"
# - "in the mode they are in"
# - "in the run of `one`"
# - "the first operator of which any result differs"
# - "*module* is the name, as in `one.named_modules()`"
# - "of the innermost module of `one` that was running"
# - "Results differ if shape, dtype or any value does"
# - "two NaN are equal here"
# - "and so are 0 and −0"
# - "Results may be tuples or lists of tensors"
# - "a later operator may write in place"
# - "Leave out operators with `empty` in their names"
# - "If the two runs call different operators at some point, that is the first difference"
# - "if one run is longer, it is the operator with which that run continues"
# - "Where only `other` continues, return its operator with the module name"
# - "Afterwards `x`"
# - "both models (hooks and buffers included)"
# - "the global random state are as they were"
#
# Admits:
#
# - "two NaN are equal here": NaN on both sides
# - "dtype or any value": a bias in float64
# - "two models and an input": a bias in bfloat16

# %% wrong="the random state of the first run is over" breaks="both from the same global random state" says=["in training: dropout draws the same from the same state", "random state"]
# ruff: noqa: E402
from torch.utils._pytree import tree_leaves


def run(model, x):
    rows, running = [], [""]

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            if "empty" not in name:
                tensors = [t for t in tree_leaves(result) if isinstance(t, torch.Tensor)]
                rows.append((running[-1], name, [t.detach().clone() for t in tensors]))
            return result

    handles = []
    for name, module in model.named_modules():
        handles.append(
            module.register_forward_pre_hook(lambda m, a, name=name: running.append(name))
        )
        handles.append(module.register_forward_hook(lambda m, a, o: running.pop() and None))
    with Mode():
        model(x)
    for handle in handles:
        handle.remove()
    return rows


def same(a, b):
    return all(
        s.shape == t.shape and s.dtype == t.dtype and torch.equal(s.nan_to_num(7), t.nan_to_num(7))
        for s, t in zip(a, b, strict=True)
    )


def first_difference(one, other, x):
    a, b = run(one, x), run(other, x)
    for r, s in zip(a, b, strict=False):
        if r[1] != s[1] or not same(r[2], s[2]):
            return r[0], r[1]
    if len(a) > len(b):
        return a[len(b)][:2]
    return ("", b[len(a)][1]) if len(b) > len(a) else None


# %% wrong="close is equal" breaks="Results differ if shape, dtype or any value does" says=["a difference of 1e-6 counts"]
from torch.utils._pytree import tree_leaves


def run(model, x):
    rows, running = [], [""]

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            if "empty" not in name:
                tensors = [t for t in tree_leaves(result) if isinstance(t, torch.Tensor)]
                rows.append((running[-1], name, [t.detach().clone() for t in tensors]))
            return result

    handles = []
    for name, module in model.named_modules():
        handles.append(
            module.register_forward_pre_hook(lambda m, a, name=name: running.append(name))
        )
        handles.append(module.register_forward_hook(lambda m, a, o: running.pop() and None))
    with torch.random.fork_rng(), Mode():
        model(x)
    for handle in handles:
        handle.remove()
    return rows


def first_difference(one, other, x):
    a, b = run(one, x), run(other, x)
    for r, s in zip(a, b, strict=False):
        pairs = zip(r[2], s[2], strict=False)
        if r[1] != s[1] or not all(
            torch.allclose(p, q, atol=1e-4, equal_nan=True) for p, q in pairs
        ):
            return r[0], r[1]
    if len(a) > len(b):
        return a[len(b)][:2]
    return ("", b[len(a)][1]) if len(b) > len(a) else None


# %% wrong="keeps no copies" breaks="a later operator may write in place" says=["keep copies: before it, both were equal"]
from torch.utils._pytree import tree_leaves


def run(model, x):
    rows, running = [], [""]

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            if "empty" not in name:
                tensors = [t for t in tree_leaves(result) if isinstance(t, torch.Tensor)]
                rows.append((running[-1], name, [t.detach() for t in tensors]))
            return result

    handles = []
    for name, module in model.named_modules():
        handles.append(
            module.register_forward_pre_hook(lambda m, a, name=name: running.append(name))
        )
        handles.append(module.register_forward_hook(lambda m, a, o: running.pop() and None))
    with torch.random.fork_rng(), Mode():
        model(x)
    for handle in handles:
        handle.remove()
    return rows


def same(a, b):
    return all(
        s.shape == t.shape and s.dtype == t.dtype and torch.equal(s.nan_to_num(7), t.nan_to_num(7))
        for s, t in zip(a, b, strict=True)
    )


def first_difference(one, other, x):
    a, b = run(one, x), run(other, x)
    for r, s in zip(a, b, strict=False):
        if r[1] != s[1] or not same(r[2], s[2]):
            return r[0], r[1]
    if len(a) > len(b):
        return a[len(b)][:2]
    return ("", b[len(a)][1]) if len(b) > len(a) else None


# %% wrong="compares modules by hooks, hooks stay" breaks="both models (hooks and buffers included)" says=["hooks"]
def first_difference(one, other, x):
    outputs = []
    for model in (one, other):
        rows = []
        for name, module in model.named_modules():
            module.register_forward_hook(
                lambda m, a, o, name=name, rows=rows: rows.append((name, o))
            )
        with torch.random.fork_rng():
            model(x)
        outputs.append(rows)
    for (name, a), (_, b) in zip(*outputs, strict=False):
        if not torch.equal(a, b):
            return name, type(dict(one.named_modules())[name]).__name__.lower()
    return None


# %% wrong="stops with the shorter run" breaks="if one run is longer, it is the operator with which that run continues" says=["the run of one is longer", "the run of the other is longer"]
from torch.utils._pytree import tree_leaves


def run(model, x):
    rows, running = [], [""]

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            if "empty" not in name:
                tensors = [t for t in tree_leaves(result) if isinstance(t, torch.Tensor)]
                rows.append((running[-1], name, [t.detach().clone() for t in tensors]))
            return result

    handles = []
    for name, module in model.named_modules():
        handles.append(
            module.register_forward_pre_hook(lambda m, a, name=name: running.append(name))
        )
        handles.append(module.register_forward_hook(lambda m, a, o: running.pop() and None))
    with torch.random.fork_rng(), Mode():
        model(x)
    for handle in handles:
        handle.remove()
    return rows


def first_difference(one, other, x):
    for r, s in zip(run(one, x), run(other, x), strict=False):
        if r[1] != s[1] or not all(map(torch.equal, r[2], s[2])):
            return r[0], r[1]
    return None


# %% right="copies of the models, bytes of the results"
import copy

from torch.utils._pytree import tree_flatten


class Tape(TorchDispatchMode):
    def __init__(self, model):
        super().__init__()
        self.rows, self.stack = [], [""]
        for name, module in model.named_modules():
            module.register_forward_pre_hook(lambda m, a, n=name: self.stack.append(n))
            module.register_forward_hook(lambda m, a, o: self.stack.__delitem__(-1))

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if "empty" not in str(func):
            kept = []
            for leaf in tree_flatten(out)[0]:
                if isinstance(leaf, torch.Tensor):
                    value = leaf.detach().cpu().double().numpy().copy()
                    kept.append((leaf.shape, leaf.dtype, value))
            self.rows.append((self.stack[-1], func.overloadpacket.__name__, kept))
        return out


def first_difference(one, other, x):
    import numpy as np

    state = torch.get_rng_state()
    tapes = []
    for model in (one, other):
        twin = copy.deepcopy(model)
        torch.set_rng_state(state)
        if x.is_cuda:
            torch.cuda.manual_seed(0)
        with Tape(twin) as tape:
            twin(x.clone())
        tapes.append(tape.rows)
    torch.set_rng_state(state)
    a, b = tapes
    n = 0
    while n < len(a) and n < len(b):
        equal = a[n][1] == b[n][1] and len(a[n][2]) == len(b[n][2])
        for (shape, dtype, value), (shape2, dtype2, value2) in zip(a[n][2], b[n][2], strict=False):
            equal = equal and shape == shape2 and dtype == dtype2
            equal = equal and np.array_equal(value, value2, equal_nan=True)
        if not equal:
            return [a[n][0], a[n][1]]
        n += 1
    if n < len(a):
        return [a[n][0], a[n][1]]
    if n < len(b):
        return ["", b[n][1]]


# %% right="wrapped forwards, compared with ne"
from torch.utils._pytree import tree_leaves


def first_difference(one, other, x):
    def record(model):
        rows, names = [], ["the outside"]

        class Mode(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                out = func(*args, **(kwargs or {}))
                name = func.overloadpacket.__name__
                if "empty" not in name:
                    rows.append(
                        (
                            names[-1],
                            name,
                            [v.clone() for v in tree_leaves(out) if hasattr(v, "clone")],
                        )
                    )
                return out

        def begin(name):
            def hook(module, args):
                names.append(name)

            return hook

        def end(module, args, output):
            names.pop()

        handles = [m.register_forward_pre_hook(begin(n)) for n, m in model.named_modules()]
        handles += [m.register_forward_hook(end) for m in model.modules()]
        held = [(buffer, buffer.clone()) for buffer in model.buffers()]
        state = torch.get_rng_state()
        cuda = torch.cuda.get_rng_state() if x.is_cuda else None
        try:
            with torch.no_grad(), Mode():
                model(x.clone())
        finally:
            for buffer, old in held:
                buffer.copy_(old)
            torch.set_rng_state(state)
            if cuda is not None:
                torch.cuda.set_rng_state(cuda)
            for handle in handles:
                handle.remove()
        return rows

    def differ(a, b):
        if a.shape != b.shape or a.dtype != b.dtype:
            return True
        return bool((a.ne(b) & ~(a.isnan() & b.isnan())).any())

    first, second = record(one), record(other)
    for n in range(max(len(first), len(second))):
        if n >= len(second):
            return first[n][0], first[n][1]
        if n >= len(first):
            return "", second[n][1]
        left, right = first[n], second[n]
        if left[1] != right[1] or any(map(differ, left[2], right[2])):
            return left[0], left[1]
    return None


# %% wrong="keeps the results themselves, no copies" says=["keep copies: before it, both were equal", "the same values in two dtypes"]
def first_difference(one: nn.Module, other: nn.Module, x: torch.Tensor) -> tuple[str, str] | None:
    import copy

    def run(model):
        model, stack, rows = copy.deepcopy(model), [], []

        def push(name, *_):
            stack.append(name)

        def pop(*_):
            stack.pop()

        for name, m in model.named_modules():
            m.register_forward_pre_hook(partial(push, name))
            m.register_forward_hook(pop)

        class R(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                out = func(*args, **(kwargs or {}))
                name = func.overloadpacket.__name__
                if "empty" not in name:
                    rows.append(
                        (stack[-1], name, out if isinstance(out, (tuple, list)) else (out,))
                    )
                return out

        with torch.random.fork_rng(), R():
            model(x)
        return rows

    a, b = run(one), run(other)
    for (m, n, r), (_, n2, r2) in zip(a, b):
        if n != n2 or any(not torch.equal(p, q) for p, q in zip(r, r2)):
            return m, n
    if len(a) > len(b):
        return a[len(b)][:2]
    if len(b) > len(a):
        return "", b[len(a)][1]
    return None


# %% right="bytes as fingerprints"
def first_difference(one: nn.Module, other: nn.Module, x: torch.Tensor) -> tuple[str, str] | None:
    import copy

    def fingerprint(out):
        if isinstance(out, torch.Tensor):
            t = out.detach().cpu().double() + 0.0  # of -0 it makes 0
            return (out.dtype, tuple(out.shape), repr(t.tolist()))
        if isinstance(out, (list, tuple)):
            return tuple(map(fingerprint, out))
        return None

    def run(model):
        twin, stack, rows = copy.deepcopy(model), [""], []

        def wrap(name, forward):
            def inner(*args, **kwargs):
                stack.append(name)
                try:
                    return forward(*args, **kwargs)
                finally:
                    stack.pop()

            return inner

        for name, module in twin.named_modules():
            module.forward = wrap(name, module.forward)

        class Look(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                out = func(*args, **(kwargs or {}))
                if "empty" not in func.overloadpacket.__name__:
                    rows.append((stack[-1], func.overloadpacket.__name__, fingerprint(out)))
                return out

        with torch.random.fork_rng(), Look():
            twin(x.clone())
        return rows

    a, b = run(one), run(other)
    n = 0
    while n < len(a) and n < len(b) and a[n][1:] == b[n][1:]:
        n += 1
    if n < len(a):
        return a[n][:2]
    return ("", b[n][1]) if n < len(b) else None


# %% wrong="compares results alone, not operators" breaks="If the two runs call different operators at some point, that is the first difference" says=["equal results", "another operator runs there"]
from itertools import zip_longest

from torch.utils._pytree import tree_leaves


def first_difference(one, other, x):
    def run(model, x):
        rows, running, handles = [], [""], []

        class Rows(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
                if "empty" not in name:
                    kept = [t.detach().clone() for t in tree_leaves(result) if torch.is_tensor(t)]
                    rows.append((running[-1], name, kept))
                return result

        for name, module in model.named_modules():
            handles += [
                module.register_forward_pre_hook(lambda m, a, name=name: running.append(name)),
                module.register_forward_hook(lambda *_: running.pop() and None),
            ]
        with torch.random.fork_rng(), Rows():
            model(x)
        [handle.remove() for handle in handles]
        return rows

    def same(left, right):
        return len(left) == len(right) and all(
            s.dtype == t.dtype
            and s.shape == t.shape
            and s.isnan().equal(t.isnan())
            and s.nan_to_num().equal(t.nan_to_num())
            for s, t in zip(left, right, strict=True)
        )

    for a, b in zip_longest(run(one, x.clone()), run(other, x.clone())):
        if a is None:
            return "", b[1]
        if b is None or not same(a[2], b[2]):
            return a[:2]
    return None


# %% wrong="hands x to both" breaks="Afterwards `x`" says=["begins in place"]
from itertools import zip_longest

from torch.utils._pytree import tree_leaves


def first_difference(one, other, x):
    def run(model, x):
        rows, running, handles = [], [""], []

        class Rows(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
                if "empty" not in name:
                    kept = [t.detach().clone() for t in tree_leaves(result) if torch.is_tensor(t)]
                    rows.append((running[-1], name, kept))
                return result

        for name, module in model.named_modules():
            handles += [
                module.register_forward_pre_hook(lambda m, a, name=name: running.append(name)),
                module.register_forward_hook(lambda *_: running.pop() and None),
            ]
        with torch.random.fork_rng(), Rows():
            model(x)
        [handle.remove() for handle in handles]
        return rows

    def same(left, right):
        return len(left) == len(right) and all(
            s.dtype == t.dtype
            and s.shape == t.shape
            and s.isnan().equal(t.isnan())
            and s.nan_to_num().equal(t.nan_to_num())
            for s, t in zip(left, right, strict=True)
        )

    for a, b in zip_longest(run(one, x), run(other, x)):
        if a is None:
            return "", b[1]
        if b is None or a[1] != b[1] or not same(a[2], b[2]):
            return a[:2]
    return None


# %% wrong="one copy of x for both" says=["begins in place", "hand each run a copy of x"]
from itertools import zip_longest

from torch.utils._pytree import tree_leaves


def first_difference(one, other, x):
    def run(model, x):
        rows, running, handles = [], [""], []

        class Rows(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
                if "empty" not in name:
                    kept = [t.detach().clone() for t in tree_leaves(result) if torch.is_tensor(t)]
                    rows.append((running[-1], name, kept))
                return result

        for name, module in model.named_modules():
            handles += [
                module.register_forward_pre_hook(lambda m, a, name=name: running.append(name)),
                module.register_forward_hook(lambda *_: running.pop() and None),
            ]
        with torch.random.fork_rng(), Rows():
            model(x)
        [handle.remove() for handle in handles]
        return rows

    def same(left, right):
        return len(left) == len(right) and all(
            s.dtype == t.dtype
            and s.shape == t.shape
            and s.isnan().equal(t.isnan())
            and s.nan_to_num().equal(t.nan_to_num())
            for s, t in zip(left, right, strict=True)
        )

    y = x.clone()

    for a, b in zip_longest(run(one, y), run(other, y)):
        if a is None:
            return "", b[1]
        if b is None or a[1] != b[1] or not same(a[2], b[2]):
            return a[:2]
    return None


# %% wrong="NaN taken for 0" says=["NaN against 0"]
def first_difference(one: nn.Module, other: nn.Module, x: torch.Tensor) -> tuple[str, str] | None:
    """The first operator of which a result differs, as (module of ``one``, operator), or None."""
    from itertools import zip_longest

    from torch.utils._pytree import tree_leaves

    class Rows(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            if "empty" not in name:
                kept = [
                    t.detach().clone() for t in tree_leaves(result) if isinstance(t, torch.Tensor)
                ]
                self.rows.append((self.running[-1], name, kept))
            return result

    def run(model) -> list:
        mode = Rows()
        mode.rows, mode.running = [], [""]
        with contextlib.ExitStack() as stack:
            stack.enter_context(torch.random.fork_rng([x.device] if x.is_cuda else []))
            for name, module in model.named_modules():
                enter = partial(lambda name, *_: mode.running.append(name), name)
                leave = lambda *_: [mode.running.pop(), None][1]
                stack.enter_context(module.register_forward_pre_hook(enter))
                stack.enter_context(module.register_forward_hook(leave))
            stack.enter_context(mode)
            model(x.clone())
        return mode.rows

    def same(s, t) -> bool:
        if s.shape != t.shape or s.dtype != t.dtype:
            return False
        return torch.equal(torch.nan_to_num(s.double()), torch.nan_to_num(t.double()))

    for row, its in zip_longest(run(one), run(other)):
        if row is None:
            return "", its[1]
        if its is None or row[1] != its[1] or not all(map(same, row[2], its[2])):
            return row[:2]
    return None


# %% wrong="NaN equal to anything" says=["NaN equals NaN here, and nothing else"]
def first_difference(one: nn.Module, other: nn.Module, x: torch.Tensor) -> tuple[str, str] | None:
    """The first operator of which a result differs, as (module of ``one``, operator), or None."""
    from itertools import zip_longest

    from torch.utils._pytree import tree_leaves

    class Rows(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            if "empty" not in name:
                kept = [
                    t.detach().clone() for t in tree_leaves(result) if isinstance(t, torch.Tensor)
                ]
                self.rows.append((self.running[-1], name, kept))
            return result

    def run(model) -> list:
        mode = Rows()
        mode.rows, mode.running = [], [""]
        with contextlib.ExitStack() as stack:
            stack.enter_context(torch.random.fork_rng([x.device] if x.is_cuda else []))
            for name, module in model.named_modules():
                enter = partial(lambda name, *_: mode.running.append(name), name)
                leave = lambda *_: [mode.running.pop(), None][1]
                stack.enter_context(module.register_forward_pre_hook(enter))
                stack.enter_context(module.register_forward_hook(leave))
            stack.enter_context(mode)
            model(x.clone())
        return mode.rows

    def same(s, t) -> bool:
        if s.shape != t.shape or s.dtype != t.dtype:
            return False
        return not bool(((s - t).abs() > 0).any())

    for row, its in zip_longest(run(one), run(other)):
        if row is None:
            return "", its[1]
        if its is None or row[1] != its[1] or not all(map(same, row[2], its[2])):
            return row[:2]
    return None


# %% wrong="shapes that broadcast are equal" says=["zeros on both sides, in two shapes"]
def first_difference(one: nn.Module, other: nn.Module, x: torch.Tensor) -> tuple[str, str] | None:
    """The first operator of which a result differs, as (module of ``one``, operator), or None."""
    from itertools import zip_longest

    from torch.utils._pytree import tree_leaves

    class Rows(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            if "empty" not in name:
                kept = [
                    t.detach().clone() for t in tree_leaves(result) if isinstance(t, torch.Tensor)
                ]
                self.rows.append((self.running[-1], name, kept))
            return result

    def run(model) -> list:
        mode = Rows()
        mode.rows, mode.running = [], [""]
        with contextlib.ExitStack() as stack:
            stack.enter_context(torch.random.fork_rng([x.device] if x.is_cuda else []))
            for name, module in model.named_modules():
                enter = partial(lambda name, *_: mode.running.append(name), name)
                leave = lambda *_: [mode.running.pop(), None][1]
                stack.enter_context(module.register_forward_pre_hook(enter))
                stack.enter_context(module.register_forward_hook(leave))
            stack.enter_context(mode)
            model(x.clone())
        return mode.rows

    def same(s, t) -> bool:
        if s.dtype != t.dtype:
            return False
        return bool(((s == t) | ((s != s) & (t != t))).all())

    for row, its in zip_longest(run(one), run(other)):
        if row is None:
            return "", its[1]
        if its is None or row[1] != its[1] or not all(map(same, row[2], its[2])):
            return row[:2]
    return None


# %% wrong="the first of several results" breaks="Results may be tuples or lists of tensors" says=["the second of its two results differs"]
def first_difference(one: nn.Module, other: nn.Module, x: torch.Tensor) -> tuple[str, str] | None:
    """The first operator of which a result differs, as (module of ``one``, operator), or None."""
    from itertools import zip_longest

    from torch.utils._pytree import tree_leaves

    class Rows(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            if "empty" not in name:
                kept = [
                    t.detach().clone() for t in tree_leaves(result) if isinstance(t, torch.Tensor)
                ]
                self.rows.append((self.running[-1], name, kept))
            return result

    def run(model) -> list:
        mode = Rows()
        mode.rows, mode.running = [], [""]
        with contextlib.ExitStack() as stack:
            stack.enter_context(torch.random.fork_rng([x.device] if x.is_cuda else []))
            for name, module in model.named_modules():
                enter = partial(lambda name, *_: mode.running.append(name), name)
                leave = lambda *_: [mode.running.pop(), None][1]
                stack.enter_context(module.register_forward_pre_hook(enter))
                stack.enter_context(module.register_forward_hook(leave))
            stack.enter_context(mode)
            model(x.clone())
        return mode.rows

    def same(s, t) -> bool:
        if s.shape != t.shape or s.dtype != t.dtype:
            return False
        return bool(((s == t) | ((s != s) & (t != t))).all())

    for row, its in zip_longest(run(one), run(other)):
        if row is None:
            return "", its[1]
        if its is None or row[1] != its[1] or not (not row[2] or same(row[2][0], its[2][0])):
            return row[:2]
    return None


# %% wrong="the module of the other run" breaks="*module* is the name, as in `one.named_modules()`" says=["the module is named as in one"]
def first_difference(one: nn.Module, other: nn.Module, x: torch.Tensor) -> tuple[str, str] | None:
    """The first operator of which a result differs, as (module of ``one``, operator), or None."""
    from itertools import zip_longest

    from torch.utils._pytree import tree_leaves

    class Rows(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            if "empty" not in name:
                kept = [
                    t.detach().clone() for t in tree_leaves(result) if isinstance(t, torch.Tensor)
                ]
                self.rows.append((self.running[-1], name, kept))
            return result

    def run(model) -> list:
        mode = Rows()
        mode.rows, mode.running = [], [""]
        with contextlib.ExitStack() as stack:
            stack.enter_context(torch.random.fork_rng([x.device] if x.is_cuda else []))
            for name, module in model.named_modules():
                enter = partial(lambda name, *_: mode.running.append(name), name)
                leave = lambda *_: [mode.running.pop(), None][1]
                stack.enter_context(module.register_forward_pre_hook(enter))
                stack.enter_context(module.register_forward_hook(leave))
            stack.enter_context(mode)
            model(x.clone())
        return mode.rows

    def same(s, t) -> bool:
        if s.shape != t.shape or s.dtype != t.dtype:
            return False
        return bool(((s == t) | ((s != s) & (t != t))).all())

    for row, its in zip_longest(run(one), run(other)):
        if row is None:
            return "", its[1]
        if its is None or row[1] != its[1] or not all(map(same, row[2], its[2])):
            return its[0] if its else row[0], row[1]
    return None


# %% wrong="compares sums" says=["the same numbers in another order"]
def first_difference(one, other, x):
    from itertools import zip_longest

    from torch.utils._pytree import tree_leaves

    class Rows(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            if "empty" not in name:
                self.rows.append(
                    (
                        self.running[-1],
                        name,
                        [
                            t.detach().clone()
                            for t in tree_leaves(result)
                            if isinstance(t, torch.Tensor)
                        ],
                    )
                )
            return result

    def run(model):
        mode = Rows()
        mode.rows, mode.running = [], [""]
        with contextlib.ExitStack() as stack:
            stack.enter_context(torch.random.fork_rng([x.device] if x.is_cuda else []))
            for name, module in model.named_modules():
                enter = partial(lambda name, *_: mode.running.append(name), name)
                leave = lambda *_: [mode.running.pop(), None][1]
                stack.enter_context(module.register_forward_pre_hook(enter))
                stack.enter_context(module.register_forward_hook(leave))
            stack.enter_context(mode)
            model(x.clone())
        return mode.rows

    def same(s, t):
        return (
            s.shape == t.shape
            and s.dtype == t.dtype
            and str(s.double().sum().item()) == str(t.double().sum().item())
        )

    for row, its in zip_longest(run(one), run(other)):
        if row is None:
            return "", its[1]
        if its is None or row[1] != its[1] or not all(map(same, row[2], its[2])):
            return row[:2]
    return None


# %% wrong="the last of several results" says=["the first of its two results differs"]
def first_difference(one, other, x):
    from itertools import zip_longest

    from torch.utils._pytree import tree_leaves

    class Rows(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            if "empty" not in name:
                self.rows.append(
                    (
                        self.running[-1],
                        name,
                        [
                            t.detach().clone()
                            for t in tree_leaves(result)
                            if isinstance(t, torch.Tensor)
                        ],
                    )
                )
            return result

    def run(model):
        mode = Rows()
        mode.rows, mode.running = [], [""]
        with contextlib.ExitStack() as stack:
            stack.enter_context(torch.random.fork_rng([x.device] if x.is_cuda else []))
            for name, module in model.named_modules():
                enter = partial(lambda name, *_: mode.running.append(name), name)
                leave = lambda *_: [mode.running.pop(), None][1]
                stack.enter_context(module.register_forward_pre_hook(enter))
                stack.enter_context(module.register_forward_hook(leave))
            stack.enter_context(mode)
            model(x.clone())
        return mode.rows

    def same(s, t):
        return (
            s.shape == t.shape
            and s.dtype == t.dtype
            and bool(((s == t) | ((s != s) & (t != t))).all())
        )

    for row, its in zip_longest(run(one), run(other)):
        if row is None:
            return "", its[1]
        if its is None or row[1] != its[1] or (row[2] and not same(row[2][-1], its[2][-1])):
            return row[:2]
    return None


# %% wrong="the outermost module" breaks="of the innermost module of `one` that was running" says=["a difference of 1e-6 counts"]
def first_difference(one, other, x):
    from itertools import zip_longest

    from torch.utils._pytree import tree_leaves

    class Rows(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            if "empty" not in name:
                self.rows.append(
                    (
                        (self.running[1] if len(self.running) > 1 else ""),
                        name,
                        [
                            t.detach().clone()
                            for t in tree_leaves(result)
                            if isinstance(t, torch.Tensor)
                        ],
                    )
                )
            return result

    def run(model):
        mode = Rows()
        mode.rows, mode.running = [], [""]
        with contextlib.ExitStack() as stack:
            stack.enter_context(torch.random.fork_rng([x.device] if x.is_cuda else []))
            for name, module in model.named_modules():
                enter = partial(lambda name, *_: mode.running.append(name), name)
                leave = lambda *_: [mode.running.pop(), None][1]
                stack.enter_context(module.register_forward_pre_hook(enter))
                stack.enter_context(module.register_forward_hook(leave))
            stack.enter_context(mode)
            model(x.clone())
        return mode.rows

    def same(s, t):
        return (
            s.shape == t.shape
            and s.dtype == t.dtype
            and bool(((s == t) | ((s != s) & (t != t))).all())
        )

    for row, its in zip_longest(run(one), run(other)):
        if row is None:
            return "", its[1]
        if its is None or row[1] != its[1] or not all(map(same, row[2], its[2])):
            return row[:2]
    return None


# %% wrong="the operator of the other run" breaks="in the run of `one`" says=["another operator runs there"]
def first_difference(one, other, x):
    from itertools import zip_longest

    from torch.utils._pytree import tree_leaves

    class Rows(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            if "empty" not in name:
                self.rows.append(
                    (
                        self.running[-1],
                        name,
                        [
                            t.detach().clone()
                            for t in tree_leaves(result)
                            if isinstance(t, torch.Tensor)
                        ],
                    )
                )
            return result

    def run(model):
        mode = Rows()
        mode.rows, mode.running = [], [""]
        with contextlib.ExitStack() as stack:
            stack.enter_context(torch.random.fork_rng([x.device] if x.is_cuda else []))
            for name, module in model.named_modules():
                enter = partial(lambda name, *_: mode.running.append(name), name)
                leave = lambda *_: [mode.running.pop(), None][1]
                stack.enter_context(module.register_forward_pre_hook(enter))
                stack.enter_context(module.register_forward_hook(leave))
            stack.enter_context(mode)
            model(x.clone())
        return mode.rows

    def same(s, t):
        return (
            s.shape == t.shape
            and s.dtype == t.dtype
            and bool(((s == t) | ((s != s) & (t != t))).all())
        )

    for row, its in zip_longest(run(one), run(other)):
        if row is None:
            return "", its[1]
        if its is None or row[1] != its[1] or not all(map(same, row[2], its[2])):
            return (row[0], (its or row)[1])
    return None


# %% right="flat results, nan_to_num"
def first_difference(one, other, x):
    import copy

    from torch.utils._pytree import tree_flatten

    state = torch.get_rng_state()

    def record(model):
        model, rows, stack = copy.deepcopy(model), [], [""]

        class T(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                out = func(*args, **(kwargs or {}))
                n = func.overloadpacket.__name__
                if "empty" not in n:
                    leaves, _ = tree_flatten(out)
                    rows.append(
                        (
                            stack[-1],
                            n,
                            tuple(
                                copy.deepcopy(leaf.detach())
                                for leaf in leaves
                                if torch.is_tensor(leaf)
                            ),
                        )
                    )
                return out

        hs = []
        for n, m in model.named_modules():

            def pre(m, a, n=n):
                stack.append(n)

            def post(m, a, o):
                del stack[-1]

            hs += [m.register_forward_pre_hook(pre), m.register_forward_hook(post)]
        torch.set_rng_state(state)
        try:
            with T():
                model(x.detach().clone())
        finally:
            for h in hs:
                h.remove()
            torch.set_rng_state(state)
        return rows

    a, b, big = record(one), record(other), float("inf")
    for p, q in zip(a, b):
        if p[1] != q[1] or len(p[2]) != len(q[2]):
            return p[0], p[1]
        for s, t in zip(p[2], q[2]):
            if (
                s.dtype != t.dtype
                or s.shape != t.shape
                or not torch.equal(s.nan_to_num(7.25, big, -big), t.nan_to_num(7.25, big, -big))
                or not torch.equal(s.isnan(), t.isnan())
            ):
                return p[0], p[1]
    if len(a) > len(b):
        return a[len(b)][:2]
    if len(b) > len(a):
        return "", b[len(a)][1]


# %% wrong="in eval mode" breaks="in the mode they are in" says=["another share is dropped, in training"]
from torch.utils._pytree import tree_leaves


def first_difference(one, other, x):
    names = {m: n for n, m in one.named_modules()}

    def rows_of(model, names):
        rows, running, handles = [], [""], []

        class Watch(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                result = func(*args, **(kwargs or {}))
                name = func.overloadpacket.__name__
                if "empty" not in name:
                    kept = [
                        t.detach().clone()
                        for t in tree_leaves(result)
                        if isinstance(t, torch.Tensor)
                    ]
                    rows.append((running[-1], name, kept))
                return result

        for n, m in model.named_modules():
            handles.append(m.register_forward_pre_hook(lambda m, a, n=n: running.append(n)))
            handles.append(m.register_forward_hook(lambda *_: running.pop() and None))
        model.eval()
        try:
            with torch.random.fork_rng(), torch.no_grad(), Watch():
                model(x.detach().clone())
        finally:
            for h in handles:
                h.remove()
        return rows

    def same(a, b):
        return (
            a.shape == b.shape
            and a.dtype == b.dtype
            and bool(((a == b) | ((a != a) & (b != b))).all())
        )

    first, second = rows_of(one, names), rows_of(other, {})
    for (module, name, a), (_, name2, b) in zip(first, second):
        if name != name2 or len(a) != len(b) or not all(map(same, a, b)):
            return module, name
    if len(first) > len(second):
        return first[len(second)][:2]
    if len(second) > len(first):
        return "", second[len(first)][1]
    return None


# %% wrong="two NaN differ" breaks="two NaN are equal here" says=["two NaN are equal here"]
from torch.utils._pytree import tree_leaves


def first_difference(one, other, x):
    names = {m: n for n, m in one.named_modules()}

    def rows_of(model, names):
        rows, running, handles = [], [""], []

        class Watch(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                result = func(*args, **(kwargs or {}))
                name = func.overloadpacket.__name__
                if "empty" not in name:
                    kept = [
                        t.detach().clone()
                        for t in tree_leaves(result)
                        if isinstance(t, torch.Tensor)
                    ]
                    rows.append((running[-1], name, kept))
                return result

        for n, m in model.named_modules():
            handles.append(m.register_forward_pre_hook(lambda m, a, n=n: running.append(n)))
            handles.append(m.register_forward_hook(lambda *_: running.pop() and None))
        try:
            with torch.random.fork_rng(), torch.no_grad(), Watch():
                model(x.detach().clone())
        finally:
            for h in handles:
                h.remove()
        return rows

    def same(a, b):
        return a.shape == b.shape and a.dtype == b.dtype and torch.equal(a, b)

    first, second = rows_of(one, names), rows_of(other, {})
    for (module, name, a), (_, name2, b) in zip(first, second):
        if name != name2 or len(a) != len(b) or not all(map(same, a, b)):
            return module, name
    if len(first) > len(second):
        return first[len(second)][:2]
    if len(second) > len(first):
        return "", second[len(first)][1]
    return None


# %% wrong="what is empty is compared as well" breaks="Leave out operators with `empty` in their names" says=["in training"]
from torch.utils._pytree import tree_leaves


def first_difference(one, other, x):
    names = {m: n for n, m in one.named_modules()}

    def rows_of(model, names):
        rows, running, handles = [], [""], []

        class Watch(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                result = func(*args, **(kwargs or {}))
                name = func.overloadpacket.__name__
                if True:
                    kept = [
                        t.detach().clone()
                        for t in tree_leaves(result)
                        if isinstance(t, torch.Tensor)
                    ]
                    rows.append((running[-1], name, kept))
                return result

        for n, m in model.named_modules():
            handles.append(m.register_forward_pre_hook(lambda m, a, n=n: running.append(n)))
            handles.append(m.register_forward_hook(lambda *_: running.pop() and None))
        try:
            with torch.random.fork_rng(), torch.no_grad(), Watch():
                model(x.detach().clone())
        finally:
            for h in handles:
                h.remove()
        return rows

    def same(a, b):
        return (
            a.shape == b.shape
            and a.dtype == b.dtype
            and bool(((a == b) | ((a != a) & (b != b))).all())
        )

    first, second = rows_of(one, names), rows_of(other, {})
    for (module, name, a), (_, name2, b) in zip(first, second):
        if name != name2 or len(a) != len(b) or not all(map(same, a, b)):
            return module, name
    if len(first) > len(second):
        return first[len(second)][:2]
    if len(second) > len(first):
        return "", second[len(first)][1]
    return None


# %% wrong="names the module in which the other continues" breaks="Where only `other` continues, return its operator with the module name" says=["the run of the other is longer"]
from torch.utils._pytree import tree_leaves


def first_difference(one, other, x):
    names = {m: n for n, m in one.named_modules()}

    def rows_of(model, names):
        rows, running, handles = [], [""], []

        class Watch(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                result = func(*args, **(kwargs or {}))
                name = func.overloadpacket.__name__
                if "empty" not in name:
                    kept = [
                        t.detach().clone()
                        for t in tree_leaves(result)
                        if isinstance(t, torch.Tensor)
                    ]
                    rows.append((running[-1], name, kept))
                return result

        for n, m in model.named_modules():
            handles.append(m.register_forward_pre_hook(lambda m, a, n=n: running.append(n)))
            handles.append(m.register_forward_hook(lambda *_: running.pop() and None))
        try:
            with torch.random.fork_rng(), torch.no_grad(), Watch():
                model(x.detach().clone())
        finally:
            for h in handles:
                h.remove()
        return rows

    def same(a, b):
        return (
            a.shape == b.shape
            and a.dtype == b.dtype
            and bool(((a == b) | ((a != a) & (b != b))).all())
        )

    first, second = rows_of(one, names), rows_of(other, {})
    for (module, name, a), (_, name2, b) in zip(first, second):
        if name != name2 or len(a) != len(b) or not all(map(same, a, b)):
            return module, name
    if len(first) > len(second):
        return first[len(second)][:2]
    if len(second) > len(first):
        return second[len(first)][:2]
    return None


# %% wrong="sets a seed of its own" breaks="the global random state are as they were" says=["random state"]
from torch.utils._pytree import tree_leaves


def first_difference(one, other, x):
    names = {m: n for n, m in one.named_modules()}

    def rows_of(model, names):
        rows, running, handles = [], [""], []

        class Watch(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                result = func(*args, **(kwargs or {}))
                name = func.overloadpacket.__name__
                if "empty" not in name:
                    kept = [
                        t.detach().clone()
                        for t in tree_leaves(result)
                        if isinstance(t, torch.Tensor)
                    ]
                    rows.append((running[-1], name, kept))
                return result

        for n, m in model.named_modules():
            handles.append(m.register_forward_pre_hook(lambda m, a, n=n: running.append(n)))
            handles.append(m.register_forward_hook(lambda *_: running.pop() and None))
        try:
            torch.manual_seed(0)
            with torch.no_grad(), Watch():
                model(x.detach().clone())
        finally:
            for h in handles:
                h.remove()
        return rows

    def same(a, b):
        return (
            a.shape == b.shape
            and a.dtype == b.dtype
            and bool(((a == b) | ((a != a) & (b != b))).all())
        )

    first, second = rows_of(one, names), rows_of(other, {})
    for (module, name, a), (_, name2, b) in zip(first, second):
        if name != name2 or len(a) != len(b) or not all(map(same, a, b)):
            return module, name
    if len(first) > len(second):
        return first[len(second)][:2]
    if len(second) > len(first):
        return "", second[len(first)][1]
    return None


# %% wrong="the last operator of the longer run" says=["the run of one is longer"]
from torch.utils._pytree import tree_leaves


def first_difference(one, other, x):
    names = {m: n for n, m in one.named_modules()}

    def rows_of(model, names):
        rows, running, handles = [], [""], []

        class Watch(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                result = func(*args, **(kwargs or {}))
                name = func.overloadpacket.__name__
                if "empty" not in name:
                    kept = [
                        t.detach().clone()
                        for t in tree_leaves(result)
                        if isinstance(t, torch.Tensor)
                    ]
                    rows.append((running[-1], name, kept))
                return result

        for n, m in model.named_modules():
            handles.append(m.register_forward_pre_hook(lambda m, a, n=n: running.append(n)))
            handles.append(m.register_forward_hook(lambda *_: running.pop() and None))
        try:
            with torch.random.fork_rng(), torch.no_grad(), Watch():
                model(x.detach().clone())
        finally:
            for h in handles:
                h.remove()
        return rows

    def same(a, b):
        return (
            a.shape == b.shape
            and a.dtype == b.dtype
            and bool(((a == b) | ((a != a) & (b != b))).all())
        )

    first, second = rows_of(one, names), rows_of(other, {})
    for (module, name, a), (_, name2, b) in zip(first, second):
        if name != name2 or len(a) != len(b) or not all(map(same, a, b)):
            return module, name
    if len(first) > len(second):
        return first[-1][:2]
    if len(second) > len(first):
        return "", second[len(first)][1]
    return None


# %% wrong="listens to modules without children alone" says=["the part was running, no child of it"]
from torch.utils._pytree import tree_leaves


def first_difference(one, other, x):
    names = {m: n for n, m in one.named_modules()}

    def rows_of(model, names):
        rows, running, handles = [], [""], []

        class Watch(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                result = func(*args, **(kwargs or {}))
                name = func.overloadpacket.__name__
                if "empty" not in name:
                    kept = [
                        t.detach().clone()
                        for t in tree_leaves(result)
                        if isinstance(t, torch.Tensor)
                    ]
                    rows.append((running[-1], name, kept))
                return result

        for n, m in model.named_modules():
            if list(m.children()):
                continue
            handles.append(m.register_forward_pre_hook(lambda m, a, n=n: running.append(n)))
            handles.append(m.register_forward_hook(lambda *_: running.pop() and None))
        try:
            with torch.random.fork_rng(), torch.no_grad(), Watch():
                model(x.detach().clone())
        finally:
            for h in handles:
                h.remove()
        return rows

    def same(a, b):
        return (
            a.shape == b.shape
            and a.dtype == b.dtype
            and bool(((a == b) | ((a != a) & (b != b))).all())
        )

    first, second = rows_of(one, names), rows_of(other, {})
    for (module, name, a), (_, name2, b) in zip(first, second):
        if name != name2 or len(a) != len(b) or not all(map(same, a, b)):
            return module, name
    if len(first) > len(second):
        return first[len(second)][:2]
    if len(second) > len(first):
        return "", second[len(first)][1]
    return None


# %% wrong="compares values in float32" breaks="Results differ if shape, dtype or any value does" says=["a difference of 1e-12 counts"]
from torch.utils._pytree import tree_leaves


def first_difference(one, other, x):
    names = {m: n for n, m in one.named_modules()}

    def rows_of(model, names):
        rows, running, handles = [], [""], []

        class Watch(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                result = func(*args, **(kwargs or {}))
                name = func.overloadpacket.__name__
                if "empty" not in name:
                    kept = [
                        t.detach().clone()
                        for t in tree_leaves(result)
                        if isinstance(t, torch.Tensor)
                    ]
                    rows.append((running[-1], name, kept))
                return result

        for n, m in model.named_modules():
            handles.append(m.register_forward_pre_hook(lambda m, a, n=n: running.append(n)))
            handles.append(m.register_forward_hook(lambda *_: running.pop() and None))
        try:
            with torch.random.fork_rng(), torch.no_grad(), Watch():
                model(x.detach().clone())
        finally:
            for h in handles:
                h.remove()
        return rows

    def same(a, b):
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        a, b = a.float(), b.float()
        return bool(((a == b) | (a.isnan() & b.isnan())).all())

    first, second = rows_of(one, names), rows_of(other, {})
    for (module, name, a), (_, name2, b) in zip(first, second):
        if name != name2 or len(a) != len(b) or not all(map(same, a, b)):
            return module, name
    if len(first) > len(second):
        return first[len(second)][:2]
    if len(second) > len(first):
        return "", second[len(first)][1]
    return None


# %% wrong="each model runs twice, to warm up" breaks="Run each once on `x`" says=["two models ran 4 times in all"]
from torch.utils._pytree import tree_leaves


def first_difference(one, other, x):
    def rows_of(model):
        running, rows, handles = [""], [], []

        class Rows(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                result = func(*args, **(kwargs or {}))
                name = func.overloadpacket.__name__
                if "empty" not in name:
                    kept = [
                        v.detach().clone()
                        for v in tree_leaves(result)
                        if isinstance(v, torch.Tensor)
                    ]
                    rows.append((running[-1], name, kept))
                return result

        for name, module in model.named_modules():
            handles.append(
                module.register_forward_pre_hook(lambda m, a, name=name: running.append(name))
            )
            handles.append(module.register_forward_hook(lambda *_: (running.pop(), None)[1]))
        given = x.clone()
        with torch.random.fork_rng():
            try:
                model(x.clone())
                with Rows():
                    model(given)
            finally:
                for handle in handles:
                    handle.remove()
        return rows

    def same(a, b):
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        return bool(((a == b) | (a.isnan() & b.isnan())).all())

    left, right = rows_of(one), rows_of(other)
    for (module, name, kept), (_, name2, kept2) in zip(left, right):
        if name != name2 or len(kept) != len(kept2) or not all(map(same, kept, kept2)):
            return module, name
    if len(left) > len(right):
        return left[len(right)][:2]
    if len(right) > len(left):
        return "", right[len(left)][1]
    return None


# %% right="a mode with a list, and the chapter's tree_leaves"
import copy


class Rows(TorchDispatchMode):
    def __init__(self, model):
        super().__init__()
        self.rows, self.running = [], [""]
        for name, module in model.named_modules():
            module.register_forward_pre_hook(partial(self.begin, name))
            module.register_forward_hook(self.finish)

    def begin(self, name, module, args):
        self.running.append(name)

    def finish(self, module, args, output):
        self.running.pop()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        if "empty" not in name:
            kept = [r.detach().clone() for r in tree_leaves(result) if isinstance(r, torch.Tensor)]
            self.rows.append((self.running[-1], name, kept))
        return result


def rows_of(model, x):
    twin = copy.deepcopy(model)
    with torch.random.fork_rng():
        with Rows(twin) as rows:
            twin(x)
    return rows.rows


def same(a, b):
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    return bool(((a == b) | ((a != a) & (b != b))).all())


def first_difference(one, other, x):
    first, second = rows_of(one, x.clone()), rows_of(other, x.clone())
    for (module, name, results), (_, other_name, others) in zip(first, second):
        if name != other_name or len(results) != len(others):
            return module, name
        if not all(map(same, results, others)):
            return module, name
    if len(first) > len(second):
        return first[len(second)][:2]
    if len(second) > len(first):
        return "", second[len(first)][1]
    return None


# %% wrong="infinities of any sign are equal" breaks="Results differ if shape, dtype or any value does" says=["infinities of two signs"]
import copy
from itertools import zip_longest

from torch.utils._pytree import tree_leaves


def _run(model, x):
    model, x = copy.deepcopy(model), x.detach().clone().requires_grad_(x.requires_grad)
    running, rows = [""], []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            name = func.overloadpacket.__name__
            if "empty" not in name:
                kept = [
                    t.detach().clone() for t in tree_leaves(result) if isinstance(t, torch.Tensor)
                ]
                rows.append((running[-1], name, kept))
            return result

    for name, module in model.named_modules():
        module.register_forward_pre_hook(lambda *_, name=name: running.append(name))
        module.register_forward_hook(lambda *_: running.pop() and None)
    with torch.random.fork_rng(), Watch():
        model(x)
    return rows


def _same(a, b):
    return (
        a.shape == b.shape
        and a.dtype == b.dtype
        and torch.equal(a.isnan(), b.isnan())
        and torch.equal(
            torch.nan_to_num(a, nan=0.0, posinf=0.0, neginf=0.0) if a.is_floating_point() else a,
            torch.nan_to_num(b, nan=0.0, posinf=0.0, neginf=0.0) if b.is_floating_point() else b,
        )
    )


def first_difference(one: nn.Module, other: nn.Module, x: torch.Tensor) -> tuple[str, str] | None:
    for a, b in zip_longest(_run(one, x), _run(other, x)):
        if a is None:
            return "", b[1]
        if b is None or a[1] != b[1] or len(a[2]) != len(b[2]):
            return a[:2]
        if not all(map(_same, a[2], b[2])):
            return a[:2]
    return None


# %% wrong="flat numbers are compared" says=["another shape of as many", "the same numbers in two shapes"]
import copy
from itertools import zip_longest

from torch.utils._pytree import tree_leaves


def _run(model, x):
    model, x = copy.deepcopy(model), x.detach().clone().requires_grad_(x.requires_grad)
    running, rows = [""], []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            name = func.overloadpacket.__name__
            if "empty" not in name:
                kept = [
                    t.detach().clone() for t in tree_leaves(result) if isinstance(t, torch.Tensor)
                ]
                rows.append((running[-1], name, kept))
            return result

    for name, module in model.named_modules():
        module.register_forward_pre_hook(lambda *_, name=name: running.append(name))
        module.register_forward_hook(lambda *_: running.pop() and None)
    with torch.random.fork_rng(), Watch():
        model(x)
    return rows


def _same(a, b):
    if a.is_floating_point() and a.dtype == b.dtype and a.numel() == b.numel():
        a, b = a.flatten(), b.flatten()
    return (
        a.shape == b.shape
        and a.dtype == b.dtype
        and torch.equal(a.isnan(), b.isnan())
        and torch.equal(
            torch.nan_to_num(a, nan=0.0, posinf=float("inf"), neginf=-float("inf"))
            if a.is_floating_point()
            else a,
            torch.nan_to_num(b, nan=0.0, posinf=float("inf"), neginf=-float("inf"))
            if b.is_floating_point()
            else b,
        )
    )


def first_difference(one: nn.Module, other: nn.Module, x: torch.Tensor) -> tuple[str, str] | None:
    for a, b in zip_longest(_run(one, x), _run(other, x)):
        if a is None:
            return "", b[1]
        if b is None or a[1] != b[1] or len(a[2]) != len(b[2]):
            return a[:2]
        if not all(map(_same, a[2], b[2])):
            return a[:2]
    return None


# %% wrong="the first tensor of a list" breaks="Results may be tuples or lists of tensors" says=["a list of results", "the second of a list differs"]
import copy
from itertools import zip_longest

from torch.utils._pytree import tree_leaves


def _run(model, x):
    model, x = copy.deepcopy(model), x.detach().clone().requires_grad_(x.requires_grad)
    running, rows = [""], []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            name = func.overloadpacket.__name__
            if "empty" not in name:
                kept = [
                    t.detach().clone()
                    for t in tree_leaves(result[:1] if isinstance(result, list) else result)
                    if isinstance(t, torch.Tensor)
                ]
                rows.append((running[-1], name, kept))
            return result

    for name, module in model.named_modules():
        module.register_forward_pre_hook(lambda *_, name=name: running.append(name))
        module.register_forward_hook(lambda *_: running.pop() and None)
    with torch.random.fork_rng(), Watch():
        model(x)
    return rows


def _same(a, b):
    return (
        a.shape == b.shape
        and a.dtype == b.dtype
        and torch.equal(a.isnan(), b.isnan())
        and torch.equal(
            torch.nan_to_num(a, nan=0.0, posinf=float("inf"), neginf=-float("inf"))
            if a.is_floating_point()
            else a,
            torch.nan_to_num(b, nan=0.0, posinf=float("inf"), neginf=-float("inf"))
            if b.is_floating_point()
            else b,
        )
    )


def first_difference(one: nn.Module, other: nn.Module, x: torch.Tensor) -> tuple[str, str] | None:
    for a, b in zip_longest(_run(one, x), _run(other, x)):
        if a is None:
            return "", b[1]
        if b is None or a[1] != b[1] or len(a[2]) != len(b[2]):
            return a[:2]
        if not all(map(_same, a[2], b[2])):
            return a[:2]
    return None


# %% wrong="in training, whatever the mode" breaks="in the mode they are in" says=["another dropout", "in eval mode dropout does nothing"]
import copy
from itertools import zip_longest

from torch.utils._pytree import tree_leaves


def _run(model, x):
    model, x = copy.deepcopy(model), x.detach().clone().requires_grad_(x.requires_grad)
    model.train()
    running, rows = [""], []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            name = func.overloadpacket.__name__
            if "empty" not in name:
                kept = [
                    t.detach().clone() for t in tree_leaves(result) if isinstance(t, torch.Tensor)
                ]
                rows.append((running[-1], name, kept))
            return result

    for name, module in model.named_modules():
        module.register_forward_pre_hook(lambda *_, name=name: running.append(name))
        module.register_forward_hook(lambda *_: running.pop() and None)
    with torch.random.fork_rng(), Watch():
        model(x)
    return rows


def _same(a, b):
    return (
        a.shape == b.shape
        and a.dtype == b.dtype
        and torch.equal(a.isnan(), b.isnan())
        and torch.equal(
            torch.nan_to_num(a, nan=0.0, posinf=float("inf"), neginf=-float("inf"))
            if a.is_floating_point()
            else a,
            torch.nan_to_num(b, nan=0.0, posinf=float("inf"), neginf=-float("inf"))
            if b.is_floating_point()
            else b,
        )
    )


def first_difference(one: nn.Module, other: nn.Module, x: torch.Tensor) -> tuple[str, str] | None:
    for a, b in zip_longest(_run(one, x), _run(other, x)):
        if a is None:
            return "", b[1]
        if b is None or a[1] != b[1] or len(a[2]) != len(b[2]):
            return a[:2]
        if not all(map(_same, a[2], b[2])):
            return a[:2]
    return None


# %% wrong="infinities are as large numbers" says=["infinity against the largest number", "they are two values"]
import copy
from functools import partial
from itertools import zip_longest

from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


def first_difference(one, other, x):
    def record(model):
        model, rows, running = copy.deepcopy(model), [], [""]

        class Rows(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                result = func(*args, **(kwargs or {}))
                name = func.overloadpacket.__name__
                if "empty" not in name:
                    kept = [
                        t.detach().clone()
                        for t in tree_leaves(result)
                        if isinstance(t, torch.Tensor)
                    ]
                    rows.append((running[-1], name, kept))
                return result

        def begin(name, *_):
            running.append(name)

        def finish(*_):
            running.pop()

        for name, module in model.named_modules():
            module.register_forward_pre_hook(partial(begin, name), prepend=True)
            module.register_forward_hook(finish)
        given = x.clone()
        with torch.random.fork_rng(), Rows():
            model(given)
        return rows

    def same(a, b):
        return (
            a.shape == b.shape
            and a.dtype == b.dtype
            and torch.equal(torch.nan_to_num(a, nan=7.25), torch.nan_to_num(b, nan=7.25))
        )

    for a, b in zip_longest(record(one), record(other)):
        if a is None:
            return "", b[1]
        if b is None or a[1] != b[1] or len(a[2]) != len(b[2]):
            return a[:2]
        if not all(map(same, a[2], b[2])):
            return a[:2]
    return None


# %% wrong="the hooks of the model are cleared" says=["only other has a hook that runs a mul there"]
import copy
from functools import partial
from itertools import zip_longest

from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


def first_difference(one, other, x):
    def record(model):
        model, rows, running = copy.deepcopy(model), [], [""]

        class Rows(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                result = func(*args, **(kwargs or {}))
                name = func.overloadpacket.__name__
                if "empty" not in name:
                    kept = [
                        t.detach().clone()
                        for t in tree_leaves(result)
                        if isinstance(t, torch.Tensor)
                    ]
                    rows.append((running[-1], name, kept))
                return result

        def begin(name, *_):
            running.append(name)

        def finish(*_):
            running.pop()

        for name, module in model.named_modules():
            module._forward_hooks.clear()
            module._forward_pre_hooks.clear()
            module.register_forward_pre_hook(partial(begin, name), prepend=True)
            module.register_forward_hook(finish)
        given = x.clone()
        with torch.random.fork_rng(), Rows():
            model(given)
        return rows

    def same(a, b):
        return (
            a.shape == b.shape
            and a.dtype == b.dtype
            and torch.allclose(a, b, rtol=0, atol=0, equal_nan=True)
        )

    for a, b in zip_longest(record(one), record(other)):
        if a is None:
            return "", b[1]
        if b is None or a[1] != b[1] or len(a[2]) != len(b[2]):
            return a[:2]
        if not all(map(same, a[2], b[2])):
            return a[:2]
    return None


# %% wrong="asks for the largest difference" says=["no row: raised"]
import copy
from functools import partial
from itertools import zip_longest

from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


def first_difference(one, other, x):
    def record(model):
        model, rows, running = copy.deepcopy(model), [], [""]

        class Rows(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                result = func(*args, **(kwargs or {}))
                name = func.overloadpacket.__name__
                if "empty" not in name:
                    kept = [
                        t.detach().clone()
                        for t in tree_leaves(result)
                        if isinstance(t, torch.Tensor)
                    ]
                    rows.append((running[-1], name, kept))
                return result

        def begin(name, *_):
            running.append(name)

        def finish(*_):
            running.pop()

        for name, module in model.named_modules():
            module.register_forward_pre_hook(partial(begin, name), prepend=True)
            module.register_forward_hook(finish)
        given = x.clone()
        with torch.random.fork_rng(), Rows():
            model(given)
        return rows

    def same(a, b):
        return (
            a.shape == b.shape
            and a.dtype == b.dtype
            and not (torch.nan_to_num((a.double() - b.double()).abs(), nan=0.0).max() > 0)
            and bool((a.isnan() == b.isnan()).all())
            and bool((a.isinf() == b.isinf()).all())
        )

    for a, b in zip_longest(record(one), record(other)):
        if a is None:
            return "", b[1]
        if b is None or a[1] != b[1] or len(a[2]) != len(b[2]):
            return a[:2]
        if not all(map(same, a[2], b[2])):
            return a[:2]
    return None


# %% wrong="subtracts bools" says=["a mask: raised"]
import copy
from functools import partial
from itertools import zip_longest

from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


def first_difference(one, other, x):
    def record(model):
        model, rows, running = copy.deepcopy(model), [], [""]

        class Rows(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                result = func(*args, **(kwargs or {}))
                name = func.overloadpacket.__name__
                if "empty" not in name:
                    kept = [
                        t.detach().clone()
                        for t in tree_leaves(result)
                        if isinstance(t, torch.Tensor)
                    ]
                    rows.append((running[-1], name, kept))
                return result

        def begin(name, *_):
            running.append(name)

        def finish(*_):
            running.pop()

        for name, module in model.named_modules():
            module.register_forward_pre_hook(partial(begin, name), prepend=True)
            module.register_forward_hook(finish)
        given = x.clone()
        with torch.random.fork_rng(), Rows():
            model(given)
        return rows

    def same(a, b):
        return (
            a.shape == b.shape
            and a.dtype == b.dtype
            and (
                not ((a - b) != 0).logical_and((a == a) | (b == b)).any()
                or torch.allclose(a, b, rtol=0, atol=0, equal_nan=True)
            )
        )

    for a, b in zip_longest(record(one), record(other)):
        if a is None:
            return "", b[1]
        if b is None or a[1] != b[1] or len(a[2]) != len(b[2]):
            return a[:2]
        if not all(map(same, a[2], b[2])):
            return a[:2]
    return None


# %% wrong="named by its last name, without prepend" says=["named_modules() names it once"]
import copy
from functools import partial
from itertools import zip_longest

from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


def first_difference(one, other, x):
    def record(model):
        model, rows, running = copy.deepcopy(model), [], [""]

        class Rows(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                result = func(*args, **(kwargs or {}))
                name = func.overloadpacket.__name__
                if "empty" not in name:
                    kept = [
                        t.detach().clone()
                        for t in tree_leaves(result)
                        if isinstance(t, torch.Tensor)
                    ]
                    rows.append((running[-1], name, kept))
                return result

        def begin(name, *_):
            running.append(name)

        def finish(*_):
            running.pop()

        for name, module in model.named_modules(remove_duplicate=False):
            module.register_forward_pre_hook(partial(begin, name))
            module.register_forward_hook(finish)
        given = x.clone()
        with torch.random.fork_rng(), Rows():
            model(given)
        return rows

    def same(a, b):
        return (
            a.shape == b.shape
            and a.dtype == b.dtype
            and torch.allclose(a, b, rtol=0, atol=0, equal_nan=True)
        )

    for a, b in zip_longest(record(one), record(other)):
        if a is None:
            return "", b[1]
        if b is None or a[1] != b[1] or len(a[2]) != len(b[2]):
            return a[:2]
        if not all(map(same, a[2], b[2])):
            return a[:2]
    return None


# %% wrong="runs the models themselves, whose buffers count" breaks="both models (hooks and buffers included)" says=["a part with buffers, in training", "changed and not put back: parameters or buffers"]
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


def _record(model, x):
    rows, running, handles = [], [""], []

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            if "empty" not in func.overloadpacket.__name__:
                kept = [
                    t.detach().clone() for t in tree_leaves(result) if isinstance(t, torch.Tensor)
                ]
                rows.append((running[-1], func.overloadpacket.__name__, kept))
            return result

    for name, module in model.named_modules():
        handles.append(module.register_forward_pre_hook(lambda *_, name=name: running.append(name)))
        handles.append(module.register_forward_hook(lambda *_: (running.pop(), None)[1]))
    try:
        with torch.random.fork_rng(), Mode():
            model(x.clone())
    finally:
        for handle in handles:
            handle.remove()
    return rows


def _same(p, q):
    return (
        p.shape == q.shape
        and p.dtype == q.dtype
        and bool(((p == q) | (p.isnan() & q.isnan())).all())
    )


def first_difference(one, other, x):
    a, b = _record(one, x), _record(other, x)
    for n in range(max(len(a), len(b))):
        if n >= len(b):
            return a[n][:2]
        if n >= len(a):
            return "", b[n][1]
        (module, name, mine), (_, another, theirs) = a[n], b[n]
        if name != another or len(mine) != len(theirs) or not all(map(_same, mine, theirs)):
            return module, name
    return None


# %% wrong="puts a state dict back, which lacks a buffer that isn't saved" says=["a part with buffers, in training"]
from torch.utils._pytree import tree_leaves


def _rows(model, x):
    rows, running = [], [""]

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            name = func.overloadpacket.__name__
            if "empty" not in name:
                kept = [t.detach().clone() for t in tree_leaves(out) if isinstance(t, torch.Tensor)]
                rows.append((running[-1], name, kept))
            return out

    old = {k: v.clone() for k, v in model.state_dict().items()}
    handles = []
    for name, m in model.named_modules():
        handles.append(m.register_forward_pre_hook(lambda *_, name=name: running.append(name)))
        handles.append(m.register_forward_hook(lambda *_: [running.pop(), None][1]))
    with torch.random.fork_rng(), Mode():
        model(x.clone())
    for h in handles:
        h.remove()
    model.load_state_dict(old)
    return rows


def _same(a, b):
    return (
        a.shape == b.shape and a.dtype == b.dtype and bool(((a == b) | (a != a) & (b != b)).all())
    )


def first_difference(one, other, x):
    a, b = _rows(one, x), _rows(other, x)
    for p, q in zip(a, b):
        if p[1] != q[1] or len(p[2]) != len(q[2]) or not all(map(_same, p[2], q[2])):
            return p[:2]
    if len(a) > len(b):
        return a[len(b)][:2]
    return ("", b[len(a)][1]) if len(b) > len(a) else None


# %% right="a functional call with copies of the buffers"
from torch.utils._pytree import tree_leaves


def _rows(model, x):
    rows, running, handles = [], [""], []

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            name = func.overloadpacket.__name__
            if "empty" not in name:
                kept = [t.detach().clone() for t in tree_leaves(out) if isinstance(t, torch.Tensor)]
                rows.append((running[-1], name, kept))
            return out

    copies = {k: v.detach().clone() for k, v in model.named_buffers()}
    for name, m in model.named_modules():
        handles.append(m.register_forward_pre_hook(lambda *_, name=name: running.append(name)))
        handles.append(m.register_forward_hook(lambda *_: [running.pop(), None][1]))
    try:
        with torch.random.fork_rng(), Mode():
            torch.func.functional_call(model, copies, (x.clone(),))
    finally:
        for h in handles:
            h.remove()
    return rows


def _same(a, b):
    return (
        a.shape == b.shape and a.dtype == b.dtype and bool(((a == b) | (a != a) & (b != b)).all())
    )


def first_difference(one, other, x):
    a, b = _rows(one, x), _rows(other, x)
    for p, q in zip(a, b):
        if p[1] != q[1] or len(p[2]) != len(q[2]) or not all(map(_same, p[2], q[2])):
            return p[:2]
    if len(a) > len(b):
        return a[len(b)][:2]
    return ("", b[len(a)][1]) if len(b) > len(a) else None


# %% wrong="None where the last results are equal" breaks="the first operator of which any result differs" says=["alike in the end", "they differ on the way"]
import copy
from itertools import zip_longest


def first_difference(one: nn.Module, other: nn.Module, x: torch.Tensor) -> tuple[str, str] | None:
    def record(model):
        twin, running, rows = copy.deepcopy(model), [""], []

        def begin(name, *_):
            running.append(name)

        def finish(*_):
            running.pop()

        for name, module in twin.named_modules():
            module.register_forward_pre_hook(partial(begin, name))
            module.register_forward_hook(finish)

        class Rows(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                result = func(*args, **(kwargs or {}))
                name = func.overloadpacket.__name__
                if "empty" not in name:
                    tensors = [t for t in tree_leaves(result) if isinstance(t, torch.Tensor)]
                    rows.append((running[-1], name, [t.detach().clone() for t in tensors]))
                return result

        given = x.detach().clone().requires_grad_(x.requires_grad)
        with torch.random.fork_rng(), Rows():
            twin(given)
        return rows

    def same(a, b):
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        return bool(((a == b) | ((a != a) & (b != b))).all())

    first, second = record(one), record(other)
    if len(first) == len(second) and all(map(same, first[-1][2], second[-1][2])):
        return None
    for mine, theirs in zip_longest(first, second):
        if mine is None:
            return "", theirs[1]
        if theirs is None or mine[1] != theirs[1] or len(mine[2]) != len(theirs[2]):
            return mine[:2]
        if not all(map(same, mine[2], theirs[2])):
            return mine[:2]
    return None


# %% wrong="compares bytes" breaks="and so are 0 and −0" says=["zeros of two signs", "compare values, not bytes"]
import copy
from itertools import zip_longest


def first_difference(one: nn.Module, other: nn.Module, x: torch.Tensor) -> tuple[str, str] | None:
    def record(model):
        twin, running, rows = copy.deepcopy(model), [""], []

        def begin(name, *_):
            running.append(name)

        def finish(*_):
            running.pop()

        for name, module in twin.named_modules():
            module.register_forward_pre_hook(partial(begin, name))
            module.register_forward_hook(finish)

        class Rows(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                result = func(*args, **(kwargs or {}))
                name = func.overloadpacket.__name__
                if "empty" not in name:
                    tensors = [t for t in tree_leaves(result) if isinstance(t, torch.Tensor)]
                    rows.append((running[-1], name, [t.detach().clone() for t in tensors]))
                return result

        given = x.detach().clone().requires_grad_(x.requires_grad)
        with torch.random.fork_rng(), Rows():
            twin(given)
        return rows

    def same(a, b):
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        return bytes(a.contiguous().clone().untyped_storage()) == bytes(
            b.contiguous().clone().untyped_storage()
        )

    for mine, theirs in zip_longest(record(one), record(other)):
        if mine is None:
            return "", theirs[1]
        if theirs is None or mine[1] != theirs[1] or len(mine[2]) != len(theirs[2]):
            return mine[:2]
        if not all(map(same, mine[2], theirs[2])):
            return mine[:2]
    return None


# %% wrong="pairs first, leaves out then" breaks="Leave out operators with `empty` in their names" says=["memory in one run alone", "leave new_empty out before"]
import copy
from itertools import zip_longest


def first_difference(one: nn.Module, other: nn.Module, x: torch.Tensor) -> tuple[str, str] | None:
    def record(model):
        twin, running, rows = copy.deepcopy(model), [""], []

        def begin(name, *_):
            running.append(name)

        def finish(*_):
            running.pop()

        for name, module in twin.named_modules():
            module.register_forward_pre_hook(partial(begin, name))
            module.register_forward_hook(finish)

        class Rows(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                result = func(*args, **(kwargs or {}))
                name = func.overloadpacket.__name__
                tensors = [t for t in tree_leaves(result) if isinstance(t, torch.Tensor)]
                rows.append((running[-1], name, [t.detach().clone() for t in tensors]))
                return result

        given = x.detach().clone().requires_grad_(x.requires_grad)
        with torch.random.fork_rng(), Rows():
            twin(given)
        return rows

    def same(a, b):
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        return bool(((a == b) | ((a != a) & (b != b))).all())

    for mine, theirs in zip_longest(record(one), record(other)):
        if any(row is not None and "empty" in row[1] for row in (mine, theirs)):
            continue
        if mine is None:
            return "", theirs[1]
        if theirs is None or mine[1] != theirs[1] or len(mine[2]) != len(theirs[2]):
            return mine[:2]
        if not all(map(same, mine[2], theirs[2])):
            return mine[:2]
    return None


# %% wrong="keeps NumPy arrays" says=["a bias in bfloat16: raised TypeError", "NumPy has no bfloat16"]
import copy
from itertools import zip_longest

import numpy as np


def _equal(a, b):
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    return np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


def _rows(model, x, state):
    twin, running, rows = copy.deepcopy(model), [""], []

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            name = func.overloadpacket.__name__
            if "empty" not in name:
                leaves = [t for t in tree_leaves(result) if torch.is_tensor(t)]
                rows.append((running[-1], name, [t.detach().cpu().numpy().copy() for t in leaves]))
            return result

    for name, module in twin.named_modules():
        module.register_forward_pre_hook(lambda m, a, name=name: running.append(name))
        module.register_forward_hook(lambda *_: running.__delitem__(-1), always_call=True)
    torch.set_rng_state(state)
    given = x.clone()
    with Mode():
        twin(given)
    return rows


def first_difference(one: nn.Module, other: nn.Module, x: torch.Tensor) -> tuple[str, str] | None:
    with torch.random.fork_rng():
        state = torch.get_rng_state()
        first, second = _rows(one, x, state), _rows(other, x, state)
    for row, row2 in zip_longest(first, second):
        if row is None:
            return "", row2[1]
        if row2 is None or row[1] != row2[1] or len(row[2]) != len(row2[2]):
            return row[:2]
        if not all(map(_equal, row[2], row2[2])):
            return row[:2]
    return None


# %% wrong="what runs, in a dict by name" breaks="of the innermost module of `one` that was running" says=["a part that calls itself: the answer", "its inner call was over"]
import copy
from itertools import zip_longest


def _equal(a, b):
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    return bool(((a == b) | ((a != a) & (b != b))).all())


def _rows(model, x, state):
    twin, running, rows = copy.deepcopy(model), {"": 1}, []

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            name = func.overloadpacket.__name__
            if "empty" not in name:
                kept = [t.detach().clone() for t in tree_leaves(result) if torch.is_tensor(t)]
                rows.append(([*running][-1], name, kept))
            return result

    for name, module in twin.named_modules():
        module.register_forward_pre_hook(partial(lambda name, *_: running.update({name: 1}), name))
        module.register_forward_hook(
            partial(lambda name, *_: running.pop(name, None) and None, name)
        )
    torch.set_rng_state(state)
    given = x.clone()
    with Mode():
        twin(given)
    return rows


def first_difference(one: nn.Module, other: nn.Module, x: torch.Tensor) -> tuple[str, str] | None:
    with torch.random.fork_rng():
        state = torch.get_rng_state()
        first, second = _rows(one, x, state), _rows(other, x, state)
    for row, row2 in zip_longest(first, second):
        if row is None:
            return "", row2[1]
        if row2 is None or row[1] != row2[1] or len(row[2]) != len(row2[2]):
            return row[:2]
        if not all(map(_equal, row[2], row2[2])):
            return row[:2]
    return None
