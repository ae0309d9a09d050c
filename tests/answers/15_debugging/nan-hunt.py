# %% [markdown]
# Rules:
#
# - "call it once"
# - "if nothing is to blame and the loss requires a gradient"
# - "the first operator to blame"
# - "*name* is `func.overloadpacket.__name__`"
# - "All that `forward()` runs is forward, also where it takes a gradient itself"
# - "a NaN, while **none** of its inputs has one"
# - "an infinity, while **all** of its inputs are finite"
# - "the Python numbers among its arguments"
# - "The number 1e300 is finite, though float32 has none as large"
# - "as they were **before** it ran"
# - "They may be in lists"
# - "be keyword arguments"
# - "Leave out operators with `empty` in their names"
# - "Results may be tensors or tuples and lists of them"
#
# Admits:
#
# - "tuples and lists of them": a list of results
# - "Results may be tensors or tuples": two gradients
# - "a scalar loss": no gradient

# %% wrong="looks at the inputs afterwards" breaks="as they were **before** it ran" says=["in place", "look at the inputs before it runs"]
# ruff: noqa: E402
from torch.utils._pytree import tree_leaves


def bad(values, test):
    return any(
        bool(test(torch.as_tensor(v, dtype=getattr(v, "dtype", torch.float64))).any())
        for v in tree_leaves(values)
        if isinstance(v, (torch.Tensor, float))
    )


def nan_hunt(forward):
    class Hunt(TorchDispatchMode):
        phase, found = "forward", None

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            nan, inf = bad((args, kwargs), torch.isnan), bad((args, kwargs), torch.isinf)
            if self.found is None and "empty" not in name:
                if (bad(result, torch.isnan) and not nan) or (
                    bad(result, torch.isinf) and not nan and not inf
                ):
                    self.found = (self.phase, name)
            return result

    with Hunt() as hunt:
        loss = forward()
        if hunt.found is None and loss.requires_grad:
            hunt.phase = "backward"
            loss.backward()
    return hunt.found


# %% wrong="NaN alone" says=["the infinity is first"]
def nan_hunt(forward):
    class Hunt(TorchDispatchMode):
        phase, found = "forward", None

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            if isinstance(result, torch.Tensor) and self.found is None and result.isnan().any():
                self.found = (self.phase, func.overloadpacket.__name__)
            return result

    with Hunt() as hunt:
        loss = forward()
        if hunt.found is None and loss.requires_grad:
            hunt.phase = "backward"
            loss.backward()
    return hunt.found


# %% wrong="whatever is not finite first, inputs aside" says=["masked_fill was handed the number -inf", "empty memory holds anything"]
def nan_hunt(forward):
    class Hunt(TorchDispatchMode):
        phase, found = "forward", None

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            results = result if isinstance(result, (tuple, list)) else [result]
            for r in results:
                if isinstance(r, torch.Tensor) and self.found is None and not r.isfinite().all():
                    self.found = (self.phase, func.overloadpacket.__name__)
            return result

    with Hunt() as hunt:
        loss = forward()
        if hunt.found is None and loss.requires_grad:
            hunt.phase = "backward"
            loss.backward()
    return hunt.found


# %% wrong="never goes back" says=["0/0 comes on the way back", "calls of backward()"]
from torch.utils._pytree import tree_leaves


def bad(values, test):
    return any(
        bool(test(torch.as_tensor(v, dtype=getattr(v, "dtype", torch.float64))).any())
        for v in tree_leaves(values)
        if isinstance(v, (torch.Tensor, float))
    )


def nan_hunt(forward):
    class Hunt(TorchDispatchMode):
        found = None

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            name = func.overloadpacket.__name__
            nan, inf = bad((args, kwargs), torch.isnan), bad((args, kwargs), torch.isinf)
            result = func(*args, **(kwargs or {}))
            if self.found is None and "empty" not in name:
                if (bad(result, torch.isnan) and not nan) or (
                    bad(result, torch.isinf) and not nan and not inf
                ):
                    self.found = ("forward", name)
            return result

    with Hunt() as hunt:
        forward()
    return hunt.found


# %% wrong="by detect_anomaly alone" says=["there is something to find", "entropy"]
def nan_hunt(forward):
    try:
        with torch.autograd.detect_anomaly():
            loss = forward()
            if loss.requires_grad:
                loss.backward()
    except RuntimeError as error:
        return "backward", str(error).split("'")[1].removesuffix("Backward0").lower()
    return None


# %% wrong="an infinite input excuses a NaN" breaks="a NaN, while **none** of its inputs has one" says=["a row all masked"]
from torch.utils._pytree import tree_leaves


def finite(values):
    return all(
        bool(torch.as_tensor(v, dtype=getattr(v, "dtype", torch.float64)).isfinite().all())
        for v in tree_leaves(values)
        if isinstance(v, (torch.Tensor, float))
    )


def nan_hunt(forward):
    class Hunt(TorchDispatchMode):
        phase, found = "forward", None

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            name, before = func.overloadpacket.__name__, finite((args, kwargs))
            result = func(*args, **(kwargs or {}))
            if self.found is None and "empty" not in name and before and not finite(result):
                self.found = (self.phase, name)
            return result

    with Hunt() as hunt:
        loss = forward()
        if hunt.found is None and loss.requires_grad:
            hunt.phase = "backward"
            loss.backward()
    return hunt.found


# %% right="an exception ends the hunt"
import math


class Found(Exception):
    pass


def leaves(value):
    if isinstance(value, (list, tuple)):
        return [leaf for entry in value for leaf in leaves(entry)]
    if isinstance(value, dict):
        return leaves(list(value.values()))
    return [value]


def kinds(values):
    nan = inf = False
    for value in leaves(values):
        if isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex()):
            nan, inf = nan or bool(value.isnan().any()), inf or bool(value.isinf().any())
        elif isinstance(value, float):
            nan, inf = nan or math.isnan(value), inf or math.isinf(value)
    return nan, inf


class Watch(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        had_nan, had_inf = kinds([args, kwargs or {}])
        out = func(*args, **(kwargs or {}))
        has_nan, has_inf = kinds(out)
        name = func.overloadpacket.__name__
        if "empty" not in name and (
            (has_nan and not had_nan) or (has_inf and not had_nan and not had_inf)
        ):
            raise Found(name)
        return out


def nan_hunt(forward):
    try:
        with Watch():
            loss = forward()
    except Found as found:
        return "forward", str(found)
    if not loss.requires_grad:
        return None
    try:
        with Watch():
            loss.backward()
    except Found as found:
        return ["backward", str(found)]


# %% right="notes first, judges afterwards"
from torch.utils._pytree import tree_flatten


def state(values):
    flat = [v for v in tree_flatten(values)[0] if isinstance(v, (float, torch.Tensor))]
    sums = [torch.as_tensor(v, dtype=getattr(v, "dtype", torch.float64)) for v in flat]
    return any(t.isnan().any() for t in sums), any(t.isinf().any() for t in sums)


def nan_hunt(forward):
    rows, phase = [], ["forward"]

    class Notes(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            before = state([args, kwargs])
            result = func(*args, **(kwargs or {}))
            rows.append((phase[0], func.overloadpacket.__name__, before, state(result)))
            return result

    def first():
        for where, name, (nan, inf), (new_nan, new_inf) in rows:
            if "empty" in name:
                continue
            if (new_nan and not nan) or (new_inf and not (nan or inf)):
                return where, name

    with Notes():
        loss = forward()
        answer = first()
        if answer is None and loss.requires_grad:
            phase[0] = "backward"
            loss.backward()
            answer = first()
    return answer


# %% wrong="looks at tensors only, not at Python numbers" breaks="the Python numbers among its arguments" says=["masked_fill was handed the number -inf"]
def nan_hunt(forward: Callable[[], torch.Tensor]) -> tuple[str, str] | None:
    from torch.utils._pytree import tree_leaves

    def bad(things):
        ts = [
            t for t in tree_leaves(things) if isinstance(t, torch.Tensor) and t.is_floating_point()
        ]
        return any(t.isnan().any() for t in ts), any(t.isinf().any() for t in ts)

    class Hunt(TorchDispatchMode):
        found, phase = None, "forward"

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            nan, inf = bad((args, kwargs or {}))
            out = func(*args, **(kwargs or {}))
            name = func.overloadpacket.__name__
            if "empty" not in name and self.found is None:
                n, i = bad(out)
                if (n and not nan) or (i and not nan and not inf):
                    self.found = (self.phase, name)
            return out

    with Hunt() as hunt:
        loss = forward()
        if hunt.found is None and loss.requires_grad:
            hunt.phase = "backward"
            loss.backward()
    return hunt.found


# %% right="stops at the first find by an exception of its own"
import math


def nan_hunt(forward: Callable[[], torch.Tensor]) -> tuple[str, str] | None:
    class Found(Exception):
        pass

    def flat(thing):
        if isinstance(thing, torch.Tensor):
            if thing.is_floating_point() or thing.is_complex():
                yield bool(thing.isnan().any()), bool(thing.isinf().any())
        elif isinstance(thing, (list, tuple)):
            for part in thing:
                yield from flat(part)
        elif isinstance(thing, dict):
            yield from flat(list(thing.values()))
        elif isinstance(thing, float):
            yield math.isnan(thing), math.isinf(thing)

    def verdict(thing):
        pairs = list(flat(thing))
        return any(p[0] for p in pairs), any(p[1] for p in pairs)

    phase = "forward"

    class Hunt(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            before = verdict([args, kwargs or {}])
            out = func(*args, **(kwargs or {}))
            name = func.overloadpacket.__name__
            if "empty" in name:
                return out
            nan, inf = verdict(out)
            if nan and not before[0] or inf and not any(before):
                raise Found(name)
            return out

    try:
        with Hunt():
            loss = forward()
            if loss.requires_grad:
                phase = "backward"
                loss.backward()
    except Found as found:
        return phase, found.args[0]
    return None


# %% wrong="an infinity beside a NaN" breaks="an infinity, while **all** of its inputs are finite" says=["a NaN beside a zero", "not all of its inputs are finite"]
from torch.utils._pytree import tree_leaves


def nan_hunt(forward):
    def has(values, test):
        numbers = [v for v in tree_leaves(values) if isinstance(v, (torch.Tensor, float))]
        return any(
            bool(test(torch.as_tensor(v, dtype=getattr(v, "dtype", torch.float64))).any())
            for v in numbers
        )

    class Hunt(TorchDispatchMode):
        phase, found = "forward", None

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            nan, inf = (has((args, kwargs), test) for test in (torch.isnan, torch.isinf))
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            if self.found is None and "empty" not in name:
                new_nan, new_inf = has(result, torch.isnan), has(result, torch.isinf)
                if (new_nan and not nan) or (new_inf and not inf):
                    self.found = (self.phase, name)
            return result

    with Hunt() as hunt:
        loss = forward()
        if hunt.found is None and loss.requires_grad:
            hunt.phase = "backward"
            loss.backward()
    return hunt.found


# %% wrong="results that are tuples are passed over" says=["a tuple of results"]
from torch.utils._pytree import tree_leaves


def nan_hunt(forward):
    def has(values, test):
        numbers = [v for v in tree_leaves(values) if isinstance(v, (torch.Tensor, float))]
        return any(
            bool(test(torch.as_tensor(v, dtype=getattr(v, "dtype", torch.float64))).any())
            for v in numbers
        )

    class Hunt(TorchDispatchMode):
        phase, found = "forward", None

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            nan, inf = (has((args, kwargs), test) for test in (torch.isnan, torch.isinf))
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            if self.found is None and isinstance(result, torch.Tensor) and "empty" not in name:
                new_nan, new_inf = has(result, torch.isnan), has(result, torch.isinf)
                if (new_nan and not nan) or (new_inf and not (nan or inf)):
                    self.found = (self.phase, name)
            return result

    with Hunt() as hunt:
        loss = forward()
        if hunt.found is None and loss.requires_grad:
            hunt.phase = "backward"
            loss.backward()
    return hunt.found


# %% wrong="keyword arguments are passed over" breaks="be keyword arguments" says=["an infinite keyword argument"]
from torch.utils._pytree import tree_leaves


def nan_hunt(forward):
    def has(values, test):
        numbers = [v for v in tree_leaves(values) if isinstance(v, (torch.Tensor, float))]
        return any(
            bool(test(torch.as_tensor(v, dtype=getattr(v, "dtype", torch.float64))).any())
            for v in numbers
        )

    class Hunt(TorchDispatchMode):
        phase, found = "forward", None

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            nan, inf = (has(args, test) for test in (torch.isnan, torch.isinf))
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            if self.found is None and "empty" not in name:
                new_nan, new_inf = has(result, torch.isnan), has(result, torch.isinf)
                if (new_nan and not nan) or (new_inf and not (nan or inf)):
                    self.found = (self.phase, name)
            return result

    with Hunt() as hunt:
        loss = forward()
        if hunt.found is None and loss.requires_grad:
            hunt.phase = "backward"
            loss.backward()
    return hunt.found


# %% wrong="adds everything up" says=["large and finite", "its sum overflows"]
from torch.utils._pytree import tree_leaves


def nan_hunt(forward):
    def has(values, test):
        numbers = [v for v in tree_leaves(values) if isinstance(v, (torch.Tensor, float))]
        numbers = [torch.as_tensor(v, dtype=getattr(v, "dtype", torch.float64)) for v in numbers]
        if test is torch.isnan:
            return any(bool(n.isnan().any()) for n in numbers)
        return any(n.is_floating_point() and bool(n.sum().isinf()) for n in numbers)

    class Hunt(TorchDispatchMode):
        phase, found = "forward", None

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            nan, inf = (has((args, kwargs), test) for test in (torch.isnan, torch.isinf))
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            if self.found is None and "empty" not in name:
                new_nan, new_inf = has(result, torch.isnan), has(result, torch.isinf)
                if (new_nan and not nan) or (new_inf and not (nan or inf)):
                    self.found = (self.phase, name)
            return result

    with Hunt() as hunt:
        loss = forward()
        if hunt.found is None and loss.requires_grad:
            hunt.phase = "backward"
            loss.backward()
    return hunt.found


# %% wrong="enters the mode and never leaves it" says=["a mode is still switched on", "use with"]
from torch.utils._pytree import tree_leaves


def nan_hunt(forward):
    def has(values, test):
        numbers = [v for v in tree_leaves(values) if isinstance(v, (torch.Tensor, float))]
        return any(
            bool(test(torch.as_tensor(v, dtype=getattr(v, "dtype", torch.float64))).any())
            for v in numbers
        )

    class Hunt(TorchDispatchMode):
        phase, found = "forward", None

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            nan, inf = (has((args, kwargs), test) for test in (torch.isnan, torch.isinf))
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            if self.found is None and "empty" not in name:
                new_nan, new_inf = has(result, torch.isnan), has(result, torch.isinf)
                if (new_nan and not nan) or (new_inf and not (nan or inf)):
                    self.found = (self.phase, name)
            return result

    hunt = Hunt()
    hunt.__enter__()
    loss = forward()
    if hunt.found is None and loss.requires_grad:
        hunt.phase = "backward"
        loss.backward()
    return hunt.found


# %% wrong="goes back in any case" breaks="if nothing is to blame and the loss requires a gradient" says=["no gradient", "the loss requires no gradient"]
from torch.utils._pytree import tree_leaves


def nan_hunt(forward):
    def has(values, test):
        numbers = [v for v in tree_leaves(values) if isinstance(v, (torch.Tensor, float))]
        return any(
            bool(test(torch.as_tensor(v, dtype=getattr(v, "dtype", torch.float64))).any())
            for v in numbers
        )

    class Hunt(TorchDispatchMode):
        phase, found = "forward", None

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            nan, inf = (has((args, kwargs), test) for test in (torch.isnan, torch.isinf))
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            if self.found is None and "empty" not in name:
                new_nan, new_inf = has(result, torch.isnan), has(result, torch.isinf)
                if (new_nan and not nan) or (new_inf and not (nan or inf)):
                    self.found = (self.phase, name)
            return result

    with Hunt() as hunt:
        loss = forward()
        if hunt.found is None:
            hunt.phase = "backward"
            loss.backward()
    return hunt.found


# %% wrong="passes over what has no dimension" says=["an infinite tensor of no dimension", "a number of no dimension"]
def nan_hunt(forward):
    from torch.utils._pytree import tree_leaves

    def has(values, test):
        return any(
            bool(test(torch.as_tensor(v, dtype=getattr(v, "dtype", torch.float64))).any())
            for v in tree_leaves(values)
            if isinstance(v, torch.Tensor)
            and v.is_floating_point()
            and v.dim() > 0
            or isinstance(v, float)
        )

    class Hunt(TorchDispatchMode):
        phase, found = "forward", None

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            before = (args, kwargs or {})
            nan, inf = (has(before, t) for t in (torch.isnan, torch.isinf))
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            if self.found is None and "empty" not in name:
                if (has(result, torch.isnan) and not nan) or (
                    has(result, torch.isinf) and not (nan or inf)
                ):
                    self.found = (self.phase, name)
            return result

    with Hunt() as hunt:
        loss = forward()
        if hunt.found is None and loss.requires_grad:
            hunt.phase = "backward"
            loss.backward()
    return hunt.found


# %% wrong="goes back outside of the mode" says=["0/0 comes on the way back"]
def nan_hunt(forward):
    from torch.utils._pytree import tree_leaves

    def has(values, test):
        return any(
            bool(test(torch.as_tensor(v, dtype=getattr(v, "dtype", torch.float64))).any())
            for v in tree_leaves(values)
            if isinstance(v, (torch.Tensor, float))
        )

    class Hunt(TorchDispatchMode):
        phase, found = "forward", None

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            before = (args, kwargs or {})
            nan, inf = (has(before, t) for t in (torch.isnan, torch.isinf))
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            if self.found is None and "empty" not in name:
                if (has(result, torch.isnan) and not nan) or (
                    has(result, torch.isinf) and not (nan or inf)
                ):
                    self.found = (self.phase, name)
            return result

    with Hunt() as hunt:
        loss = forward()
        if hunt.found is None and loss.requires_grad:
            hunt.phase = "backward"
            pass
    if hunt.found is None and loss.requires_grad:
        loss.backward()
    return hunt.found


# %% wrong="a NaN of infinities passes" says=["a row all masked"]
def nan_hunt(forward):
    from torch.utils._pytree import tree_leaves

    def has(values, test):
        return any(
            bool(test(torch.as_tensor(v, dtype=getattr(v, "dtype", torch.float64))).any())
            for v in tree_leaves(values)
            if isinstance(v, (torch.Tensor, float))
        )

    class Hunt(TorchDispatchMode):
        phase, found = "forward", None

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            before = (args, kwargs or {})
            nan, inf = (has(before, t) for t in (torch.isnan, torch.isinf))
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            if self.found is None and "empty" not in name:
                if (has(result, torch.isnan) and not (nan or inf)) or (
                    has(result, torch.isinf) and not (nan or inf)
                ):
                    self.found = (self.phase, name)
            return result

    with Hunt() as hunt:
        loss = forward()
        if hunt.found is None and loss.requires_grad:
            hunt.phase = "backward"
            loss.backward()
    return hunt.found


# %% wrong="lists of inputs are passed over" breaks="They may be in lists" says=["in a list"]
def nan_hunt(forward):
    from torch.utils._pytree import tree_leaves

    def has(values, test):
        return any(
            bool(test(torch.as_tensor(v, dtype=getattr(v, "dtype", torch.float64))).any())
            for v in tree_leaves(values)
            if isinstance(v, (torch.Tensor, float))
        )

    class Hunt(TorchDispatchMode):
        phase, found = "forward", None

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            before = [a for a in args if not isinstance(a, (list, tuple))] + list(
                (kwargs or {}).values()
            )
            nan, inf = (has(before, t) for t in (torch.isnan, torch.isinf))
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            if self.found is None and "empty" not in name:
                if (has(result, torch.isnan) and not nan) or (
                    has(result, torch.isinf) and not (nan or inf)
                ):
                    self.found = (self.phase, name)
            return result

    with Hunt() as hunt:
        loss = forward()
        if hunt.found is None and loss.requires_grad:
            hunt.phase = "backward"
            loss.backward()
    return hunt.found


# %% wrong="calls forward twice" breaks="call it once" says=["how often forward() was called: expected 1, got 2"]
def nan_hunt(forward):
    from torch.utils._pytree import tree_leaves

    def has(values, test):
        return any(
            bool(test(torch.as_tensor(v, dtype=getattr(v, "dtype", torch.float64))).any())
            for v in tree_leaves(values)
            if isinstance(v, (torch.Tensor, float))
        )

    class Hunt(TorchDispatchMode):
        phase, found = "forward", None

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            before = (args, kwargs or {})
            nan, inf = (has(before, t) for t in (torch.isnan, torch.isinf))
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            if self.found is None and "empty" not in name:
                if (has(result, torch.isnan) and not nan) or (
                    has(result, torch.isinf) and not (nan or inf)
                ):
                    self.found = (self.phase, name)
            return result

    with Hunt() as hunt:
        forward()
        loss = forward()
        if hunt.found is None and loss.requires_grad:
            hunt.phase = "backward"
            loss.backward()
    return hunt.found


# %% wrong="leaves the underscore out" breaks="*name* is `func.overloadpacket.__name__`" says=["in place: the answer"]
def nan_hunt(forward):
    from torch.utils._pytree import tree_leaves

    def has(values, test):
        return any(
            bool(test(torch.as_tensor(v, dtype=getattr(v, "dtype", torch.float64))).any())
            for v in tree_leaves(values)
            if isinstance(v, (torch.Tensor, float))
        )

    class Hunt(TorchDispatchMode):
        phase, found = "forward", None

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            before = (args, kwargs or {})
            nan, inf = (has(before, t) for t in (torch.isnan, torch.isinf))
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            if self.found is None and "empty" not in name:
                if (has(result, torch.isnan) and not nan) or (
                    has(result, torch.isinf) and not (nan or inf)
                ):
                    self.found = (self.phase, name.rstrip("_"))
            return result

    with Hunt() as hunt:
        loss = forward()
        if hunt.found is None and loss.requires_grad:
            hunt.phase = "backward"
            loss.backward()
    return hunt.found


# %% right="a recorder that is entered twice"
def nan_hunt(forward):
    import math

    log = []

    def flat(v):
        if isinstance(v, dict):
            v = list(v.values())
        if isinstance(v, (list, tuple)):
            return [t for e in v for t in flat(e)]
        return [v]

    def kinds(vs):
        nan = inf = False
        for v in flat(vs):
            if isinstance(v, torch.Tensor) and (v.is_floating_point() or v.is_complex()):
                nan |= bool(v.isnan().any())
                inf |= bool(v.isinf().any())
            elif isinstance(v, float):
                nan |= math.isnan(v)
                inf |= math.isinf(v)
        return nan, inf

    class M(TorchDispatchMode):
        where = "forward"

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            i = kinds([args, kwargs or {}])
            out = func(*args, **(kwargs or {}))
            o = kinds([out])
            n = func.overloadpacket.__name__
            if "empty" not in n and ((o[0] and not i[0]) or (o[1] and not any(i))):
                log.append((self.where, n))
            return out

    m = M()
    with m:
        loss = forward()
    if log or not loss.requires_grad:
        return log[0] if log else None
    m.where = "backward"
    with m:
        torch.autograd.backward(loss)
    return log[0] if log else None


# %% wrong="the last to blame" breaks="the first operator to blame" says=["expected"]
from torch.utils._pytree import tree_leaves


def _state(values):
    nan = inf = False
    for v in tree_leaves(values):
        if isinstance(v, torch.Tensor) and (v.is_floating_point() or v.is_complex()):
            nan |= v.isnan().any().item()
            inf |= v.isinf().any().item()
        elif isinstance(v, float):
            nan |= v != v
            inf |= v in (float("inf"), -float("inf"))
    return nan, inf


def nan_hunt(forward):
    class Watch(TorchDispatchMode):
        found, phase = None, "forward"

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            nan, inf = _state((args, kwargs))
            result = func(*args, **(kwargs or {}))
            name = func.overloadpacket.__name__
            if "empty" not in name:
                nan_now, inf_now = _state(result)
                if (nan_now and not nan) or (inf_now and not nan and not inf):
                    self.found = (self.phase, name)
            return result

    with Watch() as watch:
        loss = forward()
        if watch.found is None and loss.requires_grad:
            watch.phase = "backward"
            loss.backward()
    return watch.found


# %% wrong="whatever runs without a graph is backward" breaks="All that `forward()` runs is forward, also where it takes a gradient itself" says=["it has no graph"]
from torch.utils._pytree import tree_leaves


def _state(values):
    nan = inf = False
    for v in tree_leaves(values):
        if isinstance(v, torch.Tensor) and (v.is_floating_point() or v.is_complex()):
            nan |= v.isnan().any().item()
            inf |= v.isinf().any().item()
        elif isinstance(v, float):
            nan |= v != v
            inf |= v in (float("inf"), -float("inf"))
    return nan, inf


def nan_hunt(forward):
    class Watch(TorchDispatchMode):
        found, phase = None, "forward"

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            nan, inf = _state((args, kwargs))
            result = func(*args, **(kwargs or {}))
            name = func.overloadpacket.__name__
            if self.found is None and "empty" not in name:
                nan_now, inf_now = _state(result)
                if (nan_now and not nan) or (inf_now and not nan and not inf):
                    self.found = ("forward" if torch.is_grad_enabled() else "backward", name)
            return result

    with Watch() as watch:
        loss = forward()
        if watch.found is None and loss.requires_grad:
            watch.phase = "backward"
            loss.backward()
    return watch.found


# %% wrong="what is empty counts as well" breaks="Leave out operators with `empty` in their names" says=["empty memory holds anything"]
from torch.utils._pytree import tree_leaves


def _state(values):
    nan = inf = False
    for v in tree_leaves(values):
        if isinstance(v, torch.Tensor) and (v.is_floating_point() or v.is_complex()):
            nan |= v.isnan().any().item()
            inf |= v.isinf().any().item()
        elif isinstance(v, float):
            nan |= v != v
            inf |= v in (float("inf"), -float("inf"))
    return nan, inf


def nan_hunt(forward):
    class Watch(TorchDispatchMode):
        found, phase = None, "forward"

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            nan, inf = _state((args, kwargs))
            result = func(*args, **(kwargs or {}))
            name = func.overloadpacket.__name__
            if self.found is None:
                nan_now, inf_now = _state(result)
                if (nan_now and not nan) or (inf_now and not nan and not inf):
                    self.found = (self.phase, name)
            return result

    with Watch() as watch:
        loss = forward()
        if watch.found is None and loss.requires_grad:
            watch.phase = "backward"
            loss.backward()
    return watch.found


# %% wrong="the first of several results alone" breaks="Results may be tensors or tuples and lists of them" says=["the second has the NaN"]
from torch.utils._pytree import tree_leaves


def _state(values):
    nan = inf = False
    for v in tree_leaves(values):
        if isinstance(v, torch.Tensor) and (v.is_floating_point() or v.is_complex()):
            nan |= v.isnan().any().item()
            inf |= v.isinf().any().item()
        elif isinstance(v, float):
            nan |= v != v
            inf |= v in (float("inf"), -float("inf"))
    return nan, inf


def nan_hunt(forward):
    class Watch(TorchDispatchMode):
        found, phase = None, "forward"

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            nan, inf = _state((args, kwargs))
            result = func(*args, **(kwargs or {}))
            name = func.overloadpacket.__name__
            if self.found is None and "empty" not in name:
                nan_now, inf_now = _state(
                    result[0] if isinstance(result, (tuple, list)) else result
                )
                if (nan_now and not nan) or (inf_now and not nan and not inf):
                    self.found = (self.phase, name)
            return result

    with Watch() as watch:
        loss = forward()
        if watch.found is None and loss.requires_grad:
            watch.phase = "backward"
            loss.backward()
    return watch.found


# %% wrong="a name with backward in it is backward" says=["it has no graph"]
from torch.utils._pytree import tree_leaves


def _state(values):
    nan = inf = False
    for v in tree_leaves(values):
        if isinstance(v, torch.Tensor) and (v.is_floating_point() or v.is_complex()):
            nan |= v.isnan().any().item()
            inf |= v.isinf().any().item()
        elif isinstance(v, float):
            nan |= v != v
            inf |= v in (float("inf"), -float("inf"))
    return nan, inf


def nan_hunt(forward):
    class Watch(TorchDispatchMode):
        found, phase = None, "forward"

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            nan, inf = _state((args, kwargs))
            result = func(*args, **(kwargs or {}))
            name = func.overloadpacket.__name__
            if self.found is None and "empty" not in name:
                nan_now, inf_now = _state(result)
                if (nan_now and not nan) or (inf_now and not nan and not inf):
                    self.found = ("backward" if "backward" in name else self.phase, name)
            return result

    with Watch() as watch:
        loss = forward()
        if watch.found is None and loss.requires_grad:
            watch.phase = "backward"
            loss.backward()
    return watch.found


# %% wrong="float32 alone" says=["too much for float16"]
from torch.utils._pytree import tree_leaves


def _state(values):
    nan = inf = False
    for v in tree_leaves(values):
        if isinstance(v, torch.Tensor) and v.dtype == torch.float32:
            nan |= v.isnan().any().item()
            inf |= v.isinf().any().item()
        elif isinstance(v, float):
            nan |= v != v
            inf |= v in (float("inf"), -float("inf"))
    return nan, inf


def nan_hunt(forward):
    class Watch(TorchDispatchMode):
        found, phase = None, "forward"

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            nan, inf = _state((args, kwargs))
            result = func(*args, **(kwargs or {}))
            name = func.overloadpacket.__name__
            if self.found is None and "empty" not in name:
                nan_now, inf_now = _state(result)
                if (nan_now and not nan) or (inf_now and not nan and not inf):
                    self.found = (self.phase, name)
            return result

    with Watch() as watch:
        loss = forward()
        if watch.found is None and loss.requires_grad:
            watch.phase = "backward"
            loss.backward()
    return watch.found


# %% wrong="a NaN in the first result alone" says=["two gradients: the answer", "NaN in the second"]
from torch.utils._pytree import tree_leaves


def nan_hunt(forward):
    def has(values, test):
        numbers = [v for v in tree_leaves(values) if isinstance(v, (torch.Tensor, float))]
        return any(
            bool(test(torch.as_tensor(v, dtype=getattr(v, "dtype", torch.float64))).any())
            for v in numbers
        )

    class Hunt(TorchDispatchMode):
        phase, found = "forward", None

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            nan, inf = (has((args, kwargs), test) for test in (torch.isnan, torch.isinf))
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            first = result[0] if isinstance(result, tuple) else result
            if self.found is None and "empty" not in name:
                fresh_nan = has(first, torch.isnan) and not nan
                fresh_inf = has(result, torch.isinf) and not (nan or inf)
                if fresh_nan or fresh_inf:
                    self.found = (self.phase, name)
            return result

    with Hunt() as hunt:
        loss = forward()
        if hunt.found is None and loss.requires_grad:
            hunt.phase = "backward"
            loss.backward()
    return hunt.found


# %% wrong="leaves out only names that begin with empty" says=["found ('forward', 'new_empty')", "empty memory holds anything"]
from torch.utils._pytree import tree_leaves


def has(test, value):
    if isinstance(value, torch.Tensor):
        return bool(getattr(torch, test)(value).any())
    if isinstance(value, (int, float)):
        return bool(getattr(torch, test)(torch.tensor(float(value), dtype=torch.float64)))
    return False


def nan_hunt(forward):
    class Hunt(TorchDispatchMode):
        phase, found = "forward", None

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            inputs = tree_leaves((args, kwargs))
            nan = any(has("isnan", value) for value in inputs)
            inf = any(has("isinf", value) for value in inputs)
            result = func(*args, **kwargs)
            name = func.overloadpacket.__name__
            if name.startswith("empty"):
                return result
            results = tree_leaves(result)
            new_nan = not nan and any(has("isnan", value) for value in results)
            new_inf = not nan and not inf and any(has("isinf", value) for value in results)
            if self.found is None and (new_nan or new_inf):
                self.found = (self.phase, name)
            return result

    with Hunt() as hunt:
        loss = forward()
        if hunt.found is None and loss.requires_grad:
            hunt.phase = "backward"
            loss.backward()
    return hunt.found


# %% wrong="looks at everything in float32" says=["fine", "2e306 in float64"]
from torch.utils._pytree import tree_leaves


def has(test, value):
    if isinstance(value, torch.Tensor):
        return bool(getattr(torch, test)(value.float()).any())
    if isinstance(value, (int, float)):
        return bool(getattr(torch, test)(torch.tensor(float(value), dtype=torch.float64)))
    return False


def nan_hunt(forward):
    class Hunt(TorchDispatchMode):
        phase, found = "forward", None

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            inputs = tree_leaves((args, kwargs))
            nan = any(has("isnan", value) for value in inputs)
            inf = any(has("isinf", value) for value in inputs)
            result = func(*args, **kwargs)
            name = func.overloadpacket.__name__
            if "empty" in name:
                return result
            results = tree_leaves(result)
            new_nan = not nan and any(has("isnan", value) for value in results)
            new_inf = not nan and not inf and any(has("isinf", value) for value in results)
            if self.found is None and (new_nan or new_inf):
                self.found = (self.phase, name)
            return result

    with Hunt() as hunt:
        loss = forward()
        if hunt.found is None and loss.requires_grad:
            hunt.phase = "backward"
            loss.backward()
    return hunt.found


# %% wrong="the largest of no element" says=["fine: "]
import math

from torch.utils._pytree import tree_leaves


def signs(structure):
    nan = inf = False
    for leaf in tree_leaves(structure):
        if isinstance(leaf, torch.Tensor):
            if leaf.is_floating_point():
                nan = nan or bool(torch.isnan(leaf).any())
                inf = inf or bool(torch.isinf(leaf.abs().max()))
        elif isinstance(leaf, float):
            nan = nan or math.isnan(leaf)
            inf = inf or math.isinf(leaf)
    return nan, inf


class Hunter(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.phase, self.found = "forward", None

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = func.overloadpacket.__name__
        nan, inf = signs((args, kwargs))
        result = func(*args, **kwargs)
        if self.found is None and "empty" not in name:
            new_nan, new_inf = signs(result)
            if (new_nan and not nan) or (new_inf and not nan and not inf):
                self.found = (self.phase, name)
        return result


def nan_hunt(forward):
    with Hunter() as hunter:
        loss = forward()
        if hunter.found is None and loss.requires_grad:
            hunter.phase = "backward"
            loss.backward()
    return hunter.found


# %% wrong="numbers in float32" breaks="The number 1e300 is finite, though float32 has none as large" says=["a number beyond float32", "1e300 is finite in Python"]
from torch.utils._pytree import tree_leaves


def _state(things):
    leaves = [x for x in tree_leaves(things) if isinstance(x, (torch.Tensor, int, float))]
    tensors = [x if isinstance(x, torch.Tensor) else torch.tensor(float(x)) for x in leaves]
    return any(bool(t.isnan().any()) for t in tensors), any(bool(t.isinf().any()) for t in tensors)


def nan_hunt(forward: Callable[[], torch.Tensor]) -> tuple[str, str] | None:
    class Hunt(TorchDispatchMode):
        phase, found = "forward", None

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            nan, inf = _state((args, kwargs))
            result = func(*args, **(kwargs or {}))
            name = func.overloadpacket.__name__
            new_nan, new_inf = _state(result)
            to_blame = (new_nan and not nan) or (new_inf and not (nan or inf))
            if self.found is None and "empty" not in name and to_blame:
                self.found = (self.phase, name)
            return result

    with Hunt() as hunt:
        loss = forward()
        hunt.phase = "backward"
        if hunt.found is None and loss.requires_grad:
            loss.backward()
    return hunt.found


# %% wrong="asks for a grad_fn" breaks="if nothing is to blame and the loss requires a gradient" says=["the loss is the parameter", "calls of backward(): expected 1, got 0"]
import math

from torch.utils._pytree import tree_leaves


def nan_hunt(forward):
    def look(tree):
        nan = inf = False
        for leaf in tree_leaves(tree):
            if isinstance(leaf, float):
                nan, inf = nan or math.isnan(leaf), inf or math.isinf(leaf)
            elif isinstance(leaf, torch.Tensor) and leaf.is_floating_point():
                nan, inf = nan or bool(leaf.isnan().any()), inf or bool(leaf.isinf().any())
        return nan, inf

    class Hunt(TorchDispatchMode):
        phase, found = "forward", None

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            nan, inf = look((args, kwargs or {}))
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            new_nan, new_inf = look(result)
            blame = (new_nan and not nan) or (new_inf and not nan and not inf)
            if blame and self.found is None and "empty" not in name:
                self.found = (self.phase, name)
            return result

    with Hunt() as hunt:
        loss = forward()
        if hunt.found is None and loss.grad_fn is not None:
            hunt.phase = "backward"
            loss.backward()
    return hunt.found
