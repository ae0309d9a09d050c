# %% [markdown]
# Rules:
#
# - "compute nothing but on `meta`"
# - "the note of the result"
# - "Return a `Lazy`"
# - "the call that will give it"
# - "An operator that writes raises a `RuntimeError`"
# - "(`kwargs` may be `None`.)"
# - "`value(self)`: the plain tensor"
# - "in lists and dicts too"
# - "Each operation runs once"
# - "however often its result is used or `value()` is called"
# - "Plain tensors may be among the arguments"
#
# Admits:
#
# - "in lists and dicts too": a list of tensors
# - "in lists and dicts": a call with a list in a dict
# - "`kwargs` may be `None`": kwargs is None
# - "Plain tensors may be among the arguments": a plain tensor on the left
# - "An operator that writes": zero_ on a view
# - "the note of the result": another dtype

# %% wrong="computes at once" says=["before value() no operator may run"]
from torch.utils._pytree import tree_map


class Lazy(lazy.Noted):
    """A tensor that knows how it would be computed; making one is given."""

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        """What runs in place of an operator's kernel: a note is made."""
        if func._schema.is_mutable:
            raise RuntimeError(f"{func} writes: a lazy tensor can't")
        call = func, args, kwargs or {}
        ask = lambda x: x.value() if isinstance(x, Lazy) else x
        a, k = tree_map(ask, call[1:])
        result = func(*a, **k)
        lazy_result = cls(result, call)
        lazy_result.known = result
        return lazy_result

    def value(self) -> torch.Tensor:
        """The plain tensor, computed when it is first asked for."""
        if self.known is None:
            ask = lambda x: x.value() if isinstance(x, Lazy) else x  # noqa: E731
            func, args, kwargs = tree_map(ask, self.call)
            self.known = func(*args, **kwargs)
        return self.known


def torch_dispatch(x: torch.Tensor) -> Lazy:
    """Given: a lazy tensor whose value is x."""
    return Lazy(x, (lambda: x, (), {}))


# %% wrong="forgets what is known" breaks="however often its result is used or `value()` is called" says=["each operation runs once"]
from torch.utils._pytree import tree_map


class Lazy(lazy.Noted):
    """A tensor that knows how it would be computed; making one is given."""

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        """What runs in place of an operator's kernel: a note is made."""
        if func._schema.is_mutable:
            raise RuntimeError(f"{func} writes: a lazy tensor can't")
        call = func, args, kwargs or {}
        twins, options = as_meta(call[1:])
        return cls(func(*twins, **options), call)

    def value(self) -> torch.Tensor:
        """The plain tensor, computed when it is first asked for."""
        if self.known is None:
            ask = lambda x: x.value() if isinstance(x, Lazy) else x  # noqa: E731
            func, args, kwargs = tree_map(ask, self.call)
            return func(*args, **kwargs)
        return self.known


def torch_dispatch(x: torch.Tensor) -> Lazy:
    """Given: a lazy tensor whose value is x."""
    return Lazy(x, (lambda: x, (), {}))


# %% wrong="a 0 isn't known" says=["compare with None"]
from torch.utils._pytree import tree_map


class Lazy(lazy.Noted):
    """A tensor that knows how it would be computed; making one is given."""

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        """What runs in place of an operator's kernel: a note is made."""
        if func._schema.is_mutable:
            raise RuntimeError(f"{func} writes: a lazy tensor can't")
        call = func, args, kwargs or {}
        twins, options = as_meta(call[1:])
        return cls(func(*twins, **options), call)

    def value(self) -> torch.Tensor:
        """The plain tensor, computed when it is first asked for."""
        if self.known is None or not self.known.any():
            ask = lambda x: x.value() if isinstance(x, Lazy) else x  # noqa: E731
            func, args, kwargs = tree_map(ask, self.call)
            self.known = func(*args, **kwargs)
        return self.known


def torch_dispatch(x: torch.Tensor) -> Lazy:
    """Given: a lazy tensor whose value is x."""
    return Lazy(x, (lambda: x, (), {}))


# %% wrong="lists are not searched" breaks="in lists and dicts too" says=["a list of tensors"]
from torch.utils._pytree import tree_map


class Lazy(lazy.Noted):
    """A tensor that knows how it would be computed; making one is given."""

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        """What runs in place of an operator's kernel: a note is made."""
        if func._schema.is_mutable:
            raise RuntimeError(f"{func} writes: a lazy tensor can't")
        call = func, args, kwargs or {}
        twins, options = as_meta(call[1:])
        return cls(func(*twins, **options), call)

    def value(self) -> torch.Tensor:
        """The plain tensor, computed when it is first asked for."""
        if self.known is None:
            ask = lambda x: x.value() if isinstance(x, Lazy) else x  # noqa: E731
            func, args, kwargs = self.call
            args, kwargs = tuple(map(ask, args)), {k: ask(v) for k, v in kwargs.items()}
            self.known = func(*args, **kwargs)
        return self.known


def torch_dispatch(x: torch.Tensor) -> Lazy:
    """Given: a lazy tensor whose value is x."""
    return Lazy(x, (lambda: x, (), {}))


# %% wrong="keywords are dropped" says=["keywords are handed on"]
from torch.utils._pytree import tree_map


class Lazy(lazy.Noted):
    """A tensor that knows how it would be computed; making one is given."""

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        """What runs in place of an operator's kernel: a note is made."""
        if func._schema.is_mutable:
            raise RuntimeError(f"{func} writes: a lazy tensor can't")
        call = func, args, {}
        twins, options = as_meta(call[1:])
        return cls(func(*twins, **options), call)

    def value(self) -> torch.Tensor:
        """The plain tensor, computed when it is first asked for."""
        if self.known is None:
            ask = lambda x: x.value() if isinstance(x, Lazy) else x  # noqa: E731
            func, args, kwargs = tree_map(ask, self.call)
            self.known = func(*args, **kwargs)
        return self.known


def torch_dispatch(x: torch.Tensor) -> Lazy:
    """Given: a lazy tensor whose value is x."""
    return Lazy(x, (lambda: x, (), {}))


# %% wrong="keywords are dropped in value" says=["keywords are handed on"]
from torch.utils._pytree import tree_map


class Lazy(lazy.Noted):
    """A tensor that knows how it would be computed; making one is given."""

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        """What runs in place of an operator's kernel: a note is made."""
        if func._schema.is_mutable:
            raise RuntimeError(f"{func} writes: a lazy tensor can't")
        call = func, args, kwargs or {}
        twins, options = as_meta(call[1:])
        return cls(func(*twins, **options), call)

    def value(self) -> torch.Tensor:
        """The plain tensor, computed when it is first asked for."""
        if self.known is None:
            ask = lambda x: x.value() if isinstance(x, Lazy) else x  # noqa: E731
            func, args, kwargs = tree_map(ask, self.call)
            self.known = func(*args)
        return self.known


def torch_dispatch(x: torch.Tensor) -> Lazy:
    """Given: a lazy tensor whose value is x."""
    return Lazy(x, (lambda: x, (), {}))


# %% wrong="writers are let in" breaks="An operator that writes raises a `RuntimeError`" says=["an operator that writes is refused"]
from torch.utils._pytree import tree_map


class Lazy(lazy.Noted):
    """A tensor that knows how it would be computed; making one is given."""

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        """What runs in place of an operator's kernel: a note is made."""
        call = func, args, kwargs or {}
        twins, options = as_meta(call[1:])
        return cls(func(*twins, **options), call)

    def value(self) -> torch.Tensor:
        """The plain tensor, computed when it is first asked for."""
        if self.known is None:
            ask = lambda x: x.value() if isinstance(x, Lazy) else x  # noqa: E731
            func, args, kwargs = tree_map(ask, self.call)
            self.known = func(*args, **kwargs)
        return self.known


def torch_dispatch(x: torch.Tensor) -> Lazy:
    """Given: a lazy tensor whose value is x."""
    return Lazy(x, (lambda: x, (), {}))


# %% wrong="only names with an underscore" says=["out="]
from torch.utils._pytree import tree_map


class Lazy(lazy.Noted):
    """A tensor that knows how it would be computed; making one is given."""

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        """What runs in place of an operator's kernel: a note is made."""
        if func._schema.name.endswith("_"):
            raise RuntimeError(f"{func} writes: a lazy tensor can't")
        call = func, args, kwargs or {}
        twins, options = as_meta(call[1:])
        return cls(func(*twins, **options), call)

    def value(self) -> torch.Tensor:
        """The plain tensor, computed when it is first asked for."""
        if self.known is None:
            ask = lambda x: x.value() if isinstance(x, Lazy) else x  # noqa: E731
            func, args, kwargs = tree_map(ask, self.call)
            self.known = func(*args, **kwargs)
        return self.known


def torch_dispatch(x: torch.Tensor) -> Lazy:
    """Given: a lazy tensor whose value is x."""
    return Lazy(x, (lambda: x, (), {}))


# %% wrong="NotImplementedError is a RuntimeError, TypeError isn't" says=["an operator that writes is refused"]
from torch.utils._pytree import tree_map


class Lazy(lazy.Noted):
    """A tensor that knows how it would be computed; making one is given."""

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        """What runs in place of an operator's kernel: a note is made."""
        if func._schema.is_mutable:
            raise TypeError(f"{func} writes: a lazy tensor can't")
        call = func, args, kwargs or {}
        twins, options = as_meta(call[1:])
        return cls(func(*twins, **options), call)

    def value(self) -> torch.Tensor:
        """The plain tensor, computed when it is first asked for."""
        if self.known is None:
            ask = lambda x: x.value() if isinstance(x, Lazy) else x  # noqa: E731
            func, args, kwargs = tree_map(ask, self.call)
            self.known = func(*args, **kwargs)
        return self.known


def torch_dispatch(x: torch.Tensor) -> Lazy:
    """Given: a lazy tensor whose value is x."""
    return Lazy(x, (lambda: x, (), {}))


# %% wrong="keeps the twins" breaks="the call that will give it" says=["on meta"]
from torch.utils._pytree import tree_map


class Lazy(lazy.Noted):
    """A tensor that knows how it would be computed; making one is given."""

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        """What runs in place of an operator's kernel: a note is made."""
        if func._schema.is_mutable:
            raise RuntimeError(f"{func} writes: a lazy tensor can't")
        call = func, args, kwargs or {}
        twins, options = as_meta(call[1:])
        return cls(func(*twins, **options), (func, twins, options))

    def value(self) -> torch.Tensor:
        """The plain tensor, computed when it is first asked for."""
        if self.known is None:
            ask = lambda x: x.value() if isinstance(x, Lazy) else x  # noqa: E731
            func, args, kwargs = tree_map(ask, self.call)
            self.known = func(*args, **kwargs)
        return self.known


def torch_dispatch(x: torch.Tensor) -> Lazy:
    """Given: a lazy tensor whose value is x."""
    return Lazy(x, (lambda: x, (), {}))


# %% wrong="the call on the class" says=["RecursionError: maximum recursion depth exceeded"]
from torch.utils._pytree import tree_map


class Lazy(lazy.Noted):
    """A tensor that knows how it would be computed; making one is given."""

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        """What runs in place of an operator's kernel: a note is made."""
        if func._schema.is_mutable:
            raise RuntimeError(f"{func} writes: a lazy tensor can't")
        call = func, args, kwargs or {}
        twins, options = as_meta(call[1:])
        result = cls(func(*twins, **options), call)
        cls.latest = call
        return result

    def value(self) -> torch.Tensor:
        """The plain tensor, computed when it is first asked for."""
        if self.known is None:
            ask = lambda x: x.value() if isinstance(x, Lazy) else x  # noqa: E731
            func, args, kwargs = tree_map(
                ask, getattr(Lazy, "latest", self.call) if self.call[1] else self.call
            )
            self.known = func(*args, **kwargs)
        return self.known


def torch_dispatch(x: torch.Tensor) -> Lazy:
    """Given: a lazy tensor whose value is x."""
    return Lazy(x, (lambda: x, (), {}))


# %% wrong="a plain tensor comes out" breaks="Return a `Lazy`" says=["not Lazy"]
from torch.utils._pytree import tree_map


class Lazy(lazy.Noted):
    """A tensor that knows how it would be computed; making one is given."""

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        """What runs in place of an operator's kernel: a note is made."""
        if func._schema.is_mutable:
            raise RuntimeError(f"{func} writes: a lazy tensor can't")
        call = func, args, kwargs or {}
        twins, options = as_meta(call[1:])
        return func(*twins, **options)

    def value(self) -> torch.Tensor:
        """The plain tensor, computed when it is first asked for."""
        if self.known is None:
            ask = lambda x: x.value() if isinstance(x, Lazy) else x  # noqa: E731
            func, args, kwargs = tree_map(ask, self.call)
            self.known = func(*args, **kwargs)
        return self.known


def torch_dispatch(x: torch.Tensor) -> Lazy:
    """Given: a lazy tensor whose value is x."""
    return Lazy(x, (lambda: x, (), {}))


# %% wrong="returns nothing" says=["is there an answer yet?"]
from torch.utils._pytree import tree_map


class Lazy(lazy.Noted):
    """A tensor that knows how it would be computed; making one is given."""

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        """What runs in place of an operator's kernel: a note is made."""
        if func._schema.is_mutable:
            raise RuntimeError(f"{func} writes: a lazy tensor can't")
        call = func, args, kwargs or {}
        twins, options = as_meta(call[1:])
        cls(func(*twins, **options), call)

    def value(self) -> torch.Tensor:
        """The plain tensor, computed when it is first asked for."""
        if self.known is None:
            ask = lambda x: x.value() if isinstance(x, Lazy) else x  # noqa: E731
            func, args, kwargs = tree_map(ask, self.call)
            self.known = func(*args, **kwargs)
        return self.known


def torch_dispatch(x: torch.Tensor) -> Lazy:
    """Given: a lazy tensor whose value is x."""
    return Lazy(x, (lambda: x, (), {}))


# %% wrong="the note of the first argument" says=["promised differently"]
from torch.utils._pytree import tree_map


class Lazy(lazy.Noted):
    """A tensor that knows how it would be computed; making one is given."""

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        """What runs in place of an operator's kernel: a note is made."""
        if func._schema.is_mutable:
            raise RuntimeError(f"{func} writes: a lazy tensor can't")
        call = func, args, kwargs or {}
        twins, options = as_meta(call[1:])
        first = next((x for x in twins if isinstance(x, torch.Tensor)), None)
        return cls(func(*twins, **options) if first is None else first, call)

    def value(self) -> torch.Tensor:
        """The plain tensor, computed when it is first asked for."""
        if self.known is None:
            ask = lambda x: x.value() if isinstance(x, Lazy) else x  # noqa: E731
            func, args, kwargs = tree_map(ask, self.call)
            self.known = func(*args, **kwargs)
        return self.known


def torch_dispatch(x: torch.Tensor) -> Lazy:
    """Given: a lazy tensor whose value is x."""
    return Lazy(x, (lambda: x, (), {}))


# %% wrong="float32 throughout" says=["promised differently"]
from torch.utils._pytree import tree_map


class Lazy(lazy.Noted):
    """A tensor that knows how it would be computed; making one is given."""

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        """What runs in place of an operator's kernel: a note is made."""
        if func._schema.is_mutable:
            raise RuntimeError(f"{func} writes: a lazy tensor can't")
        call = func, args, kwargs or {}
        twins, options = as_meta(call[1:])
        return cls(func(*twins, **options).float(), call)

    def value(self) -> torch.Tensor:
        """The plain tensor, computed when it is first asked for."""
        if self.known is None:
            ask = lambda x: x.value() if isinstance(x, Lazy) else x  # noqa: E731
            func, args, kwargs = tree_map(ask, self.call)
            self.known = func(*args, **kwargs)
        return self.known


def torch_dispatch(x: torch.Tensor) -> Lazy:
    """Given: a lazy tensor whose value is x."""
    return Lazy(x, (lambda: x, (), {}))


# %% wrong="value gives the lazy tensor" breaks="`value(self)`: the plain tensor" says=["value() gives a Lazy"]
from torch.utils._pytree import tree_map


class Lazy(lazy.Noted):
    """A tensor that knows how it would be computed; making one is given."""

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        """What runs in place of an operator's kernel: a note is made."""
        if func._schema.is_mutable:
            raise RuntimeError(f"{func} writes: a lazy tensor can't")
        call = func, args, kwargs or {}
        twins, options = as_meta(call[1:])
        return cls(func(*twins, **options), call)

    def value(self) -> torch.Tensor:
        """The plain tensor, computed when it is first asked for."""
        if self.known is None:
            ask = lambda x: x.value() if isinstance(x, Lazy) else x  # noqa: E731
            func, args, kwargs = tree_map(ask, self.call)
            self.known = func(*args, **kwargs)
        return self


def torch_dispatch(x: torch.Tensor) -> Lazy:
    """Given: a lazy tensor whose value is x."""
    return Lazy(x, (lambda: x, (), {}))


# %% wrong="errors come late" says=["the error comes at the call"]
from torch.utils._pytree import tree_map


class Lazy(lazy.Noted):
    """A tensor that knows how it would be computed; making one is given."""

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        """What runs in place of an operator's kernel: a note is made."""
        if func._schema.is_mutable:
            raise RuntimeError(f"{func} writes: a lazy tensor can't")
        call = func, args, kwargs or {}
        twins, options = as_meta(call[1:])
        try:
            note = func(*twins, **options)
        except RuntimeError:
            note = twins[0]
        return cls(note, call)

    def value(self) -> torch.Tensor:
        """The plain tensor, computed when it is first asked for."""
        if self.known is None:
            ask = lambda x: x.value() if isinstance(x, Lazy) else x  # noqa: E731
            func, args, kwargs = tree_map(ask, self.call)
            self.known = func(*args, **kwargs)
        return self.known


def torch_dispatch(x: torch.Tensor) -> Lazy:
    """Given: a lazy tensor whose value is x."""
    return Lazy(x, (lambda: x, (), {}))


# %% wrong="plain tensors are wrapped" breaks="Plain tensors may be among the arguments" says=["'Tensor' object has no attribute 'value'"]
from torch.utils._pytree import tree_map


class Lazy(lazy.Noted):
    """A tensor that knows how it would be computed; making one is given."""

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        """What runs in place of an operator's kernel: a note is made."""
        if func._schema.is_mutable:
            raise RuntimeError(f"{func} writes: a lazy tensor can't")
        call = func, args, kwargs or {}
        twins, options = as_meta(call[1:])
        return cls(func(*twins, **options), call)

    def value(self) -> torch.Tensor:
        """The plain tensor, computed when it is first asked for."""
        if self.known is None:
            ask = lambda x: x.value() if isinstance(x, torch.Tensor) else x  # noqa: E731
            func, args, kwargs = tree_map(ask, self.call)
            self.known = func(*args, **kwargs)
        return self.known


def torch_dispatch(x: torch.Tensor) -> Lazy:
    """Given: a lazy tensor whose value is x."""
    return Lazy(x, (lambda: x, (), {}))


# %% wrong="remembers the last step alone" breaks="Each operation runs once" says=["each operation runs once"]
from torch.utils._pytree import tree_map


class Lazy(lazy.Noted):
    """A tensor that knows how it would be computed; making one is given."""

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        """What runs in place of an operator's kernel: a note is made."""
        if func._schema.is_mutable:
            raise RuntimeError(f"{func} writes: a lazy tensor can't")
        call = func, args, kwargs or {}
        twins, options = as_meta(call[1:])
        return cls(func(*twins, **options), call)

    def value(self) -> torch.Tensor:
        """The plain tensor, computed when it is first asked for."""
        if self.known is None:

            def again(x):
                if not isinstance(x, Lazy):
                    return x
                func, args, kwargs = tree_map(again, x.call)
                return func(*args, **kwargs)

            func, args, kwargs = tree_map(again, self.call)
            self.known = func(*args, **kwargs)
        return self.known


def torch_dispatch(x: torch.Tensor) -> Lazy:
    """Given: a lazy tensor whose value is x."""
    return Lazy(x, (lambda: x, (), {}))


# %% wrong="kwargs is never None" breaks="(`kwargs` may be `None`.)" says=["kwargs may be None"]
from torch.utils._pytree import tree_map


class Lazy(lazy.Noted):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func._schema.is_mutable:
            raise RuntimeError(f"{func} writes")
        margs, mkwargs = as_meta((args, kwargs))
        note = func(*margs, **mkwargs)
        return cls(note, (func, args, kwargs))

    def value(self):
        if self.known is None:
            func, args, kwargs = self.call
            args, kwargs = tree_map(
                lambda a: a.value() if isinstance(a, Lazy) else a, (args, kwargs)
            )
            self.known = func(*args, **kwargs)
        return self.known


def torch_dispatch(x):
    return Lazy(x, (lambda: x, (), {}))


# %% wrong="keywords aren't searched" says=["a tensor as a keyword"]
from torch.utils._pytree import tree_map


class Lazy(lazy.Noted):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func._schema.is_mutable:
            raise RuntimeError(f"{func} writes")
        margs, mkwargs = as_meta((args, kwargs))
        note = func(*margs, **mkwargs)
        return cls(note, (func, args, kwargs))

    def value(self):
        if self.known is None:
            func, args, kwargs = self.call
            args = tree_map(lambda a: a.value() if isinstance(a, Lazy) else a, args)
            self.known = func(*args, **kwargs)
        return self.known


def torch_dispatch(x):
    return Lazy(x, (lambda: x, (), {}))


# %% right="flatten"
from torch.utils._pytree import tree_flatten, tree_unflatten


class Lazy(lazy.Noted):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        schema = func._schema
        if any(a.alias_info is not None and a.alias_info.is_write for a in schema.arguments):
            raise RuntimeError("refused")
        kwargs = {} if kwargs is None else kwargs
        leaves, spec = tree_flatten((args, kwargs))
        positional, named = tree_unflatten([as_meta(leaf) for leaf in leaves], spec)
        note = func(*positional, **named)
        return cls(note, (func, args, kwargs))

    def value(self):
        if isinstance(self.known, torch.Tensor):
            return self.known
        func, args, kwargs = self.call
        leaves, spec = tree_flatten((args, kwargs))
        ready = [leaf.value() if isinstance(leaf, Lazy) else leaf for leaf in leaves]
        args, kwargs = tree_unflatten(ready, spec)
        self.known = func(*args, **kwargs)
        self.call = None
        return self.known


# %% right="without recursion"
from torch.utils._pytree import tree_map_only


class Lazy(lazy.Noted):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        assert_pure(func)
        twins = as_meta(list(args))
        result = func(*twins, **as_meta(kwargs or {}))
        return cls(result, (func, list(args), kwargs or {}))

    def value(self):
        """Without recursion: everything behind this tensor, the oldest first."""
        order, waiting = [], [self]
        while waiting:
            node = waiting.pop()
            if node.known is None:
                order.append(node)
                tree_map_only(Lazy, waiting.append, node.call[1:])
        for node in reversed(order):
            if node.known is None:
                func, args, kwargs = node.call
                args = tree_map_only(Lazy, lambda x: x.known, args)
                node.known = func(*args, **tree_map_only(Lazy, lambda x: x.known, kwargs))
        return self.known


def assert_pure(func):
    if func._schema.is_mutable:
        raise RuntimeError(f"{func} writes into its arguments")


# %% wrong="clones plain tensors" breaks="compute nothing but on `meta`" says=["before value() no operator may run but on meta", "before value() no operator may run"]
from torch.utils._pytree import tree_map


class Lazy(lazy.Noted):
    """A tensor that knows how it would be computed; making one is given."""

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        """What runs in place of an operator's kernel: a note is made."""
        if func._schema.is_mutable:
            raise RuntimeError(f"{func} writes: a lazy tensor can't")
        args = tree_map(lambda v: v.clone() if type(v) is torch.Tensor else v, args)
        call = func, args, kwargs or {}
        twins, options = as_meta(call[1:])
        return cls(func(*twins, **options), call)

    def value(self) -> torch.Tensor:
        """The plain tensor, computed when it is first asked for."""
        if self.known is None:
            func, args, kw = tree_map(lambda x: x.value() if isinstance(x, Lazy) else x, self.call)
            self.known = func(*args, **kw)
        return self.known


def torch_dispatch(x: torch.Tensor) -> Lazy:
    """Given: a lazy tensor whose value is x."""
    return Lazy(x, (lambda: x, (), {}))


# %% wrong="a contiguous note" breaks="the note of the result" says=["the strides were promised differently"]
from torch.utils._pytree import tree_map


class Lazy(lazy.Noted):
    """A tensor that knows how it would be computed; making one is given."""

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        """What runs in place of an operator's kernel: a note is made."""
        if func._schema.is_mutable:
            raise RuntimeError(f"{func} writes: a lazy tensor can't")
        call = func, args, kwargs or {}
        twins, options = as_meta(call[1:])
        return cls(func(*twins, **options).contiguous(), call)

    def value(self) -> torch.Tensor:
        """The plain tensor, computed when it is first asked for."""
        if self.known is None:
            func, args, kw = tree_map(lambda x: x.value() if isinstance(x, Lazy) else x, self.call)
            self.known = func(*args, **kw)
        return self.known


def torch_dispatch(x: torch.Tensor) -> Lazy:
    """Given: a lazy tensor whose value is x."""
    return Lazy(x, (lambda: x, (), {}))


# %% wrong="an empty value counts as unknown" says=["an empty tensor is known as well"]
from torch.utils._pytree import tree_map


class Lazy(lazy.Noted):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func._schema.is_mutable:
            raise RuntimeError(f"{func} writes")
        twins, named = as_meta((args, kwargs))
        return cls(func(*twins, **named), (func, args, kwargs))

    def value(self):
        if self.known is None or self.known.numel() == 0:
            function, args, kwargs = self.call

            def plain(one):
                return one.value() if isinstance(one, Lazy) else one

            self.known = function(*tree_map(plain, args), **tree_map(plain, kwargs))
        return self.known


def torch_dispatch(x):
    return Lazy(x, (lambda: x, (), {}))


# %% wrong="writers are known by _ or out" says=["written, and neither _ nor out"]
from torch.utils._pytree import tree_map


class Lazy(lazy.Noted):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if "out" in kwargs or func._schema.name.endswith("_"):
            raise RuntimeError(f"{func} writes")
        meta_args, meta_kwargs = lazy.as_meta((args, kwargs))
        result = func(*meta_args, **meta_kwargs)
        return Lazy(result, (func, args, kwargs))

    def value(self) -> torch.Tensor:
        if self.known is None:
            function, args, kwargs = self.call
            args, kwargs = tree_map(
                lambda v: v.value() if isinstance(v, Lazy) else v, (args, kwargs)
            )
            self.known = function(*args, **kwargs)
        return self.known


def torch_dispatch(x: torch.Tensor) -> Lazy:
    return Lazy(x, (lambda: x, (), {}))


# %% wrong="what is known by the operator and its arguments, without keywords" says=["two calls with other keywords"]
from torch.utils._pytree import tree_map


class Lazy(lazy.Noted):
    """A tensor that knows how it would be computed; making one is given."""

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        """What runs in place of an operator's kernel: a note is made."""
        kwargs = kwargs or {}
        if func._schema.is_mutable:
            raise RuntimeError("a lazy tensor can't be written")
        meta_args, meta_kwargs = as_meta((args, kwargs))
        return cls(func(*meta_args, **meta_kwargs), (func, args, kwargs))

    def value(self) -> torch.Tensor:
        """The plain tensor, computed when it is first asked for."""
        if self.known is None:
            func, args, kwargs = self.call
            args, kwargs = tree_map(
                lambda a: a.value() if isinstance(a, Lazy) else a, (args, kwargs)
            )
            type(self).cache = getattr(type(self), "cache", {})
            key = (func, tuple(map(id, args)))
            if key not in type(self).cache:
                type(self).cache[key] = func(*args, **kwargs)
            self.known = type(self).cache[key]
        return self.known


def torch_dispatch(x: torch.Tensor) -> Lazy:
    """Given: a lazy tensor whose value is x."""
    return Lazy(x, (lambda: x, (), {}))


# %% wrong="a single number is computed at once" says=["nothing of a view, a list, a comparison, a sum"]
from torch.utils._pytree import tree_map


class Lazy(lazy.Noted):
    """A tensor that knows how it would be computed; making one is given."""

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        """What runs in place of an operator's kernel: a note is made."""
        kwargs = kwargs or {}
        if func._schema.is_mutable:
            raise RuntimeError("a lazy tensor can't be written")
        meta_args, meta_kwargs = as_meta((args, kwargs))
        result = func(*meta_args, **meta_kwargs)
        if result.dim() == 0:
            args, kwargs = tree_map(
                lambda a: a.value() if isinstance(a, Lazy) else a, (args, kwargs)
            )
        return cls(result, (func, args, kwargs))

    def value(self) -> torch.Tensor:
        """The plain tensor, computed when it is first asked for."""
        if self.known is None:
            func, args, kwargs = self.call
            args, kwargs = tree_map(
                lambda a: a.value() if isinstance(a, Lazy) else a, (args, kwargs)
            )
            self.known = func(*args, **kwargs)
        return self.known


def torch_dispatch(x: torch.Tensor) -> Lazy:
    """Given: a lazy tensor whose value is x."""
    return Lazy(x, (lambda: x, (), {}))


# %% wrong="views are computed at once" says=["nothing of a view, a list, a comparison, a sum"]
from torch.utils._pytree import tree_map


class Lazy(lazy.Noted):
    """A tensor that knows how it would be computed; making one is given."""

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        """What runs in place of an operator's kernel: a note is made."""
        kwargs = kwargs or {}
        if func._schema.is_mutable:
            raise RuntimeError("a lazy tensor can't be written")
        if any(a.alias_info for a in func._schema.arguments):
            args, kwargs = tree_map(
                lambda a: a.value() if isinstance(a, Lazy) else a, (args, kwargs)
            )
        meta_args, meta_kwargs = as_meta((args, kwargs))
        return cls(func(*meta_args, **meta_kwargs), (func, args, kwargs))

    def value(self) -> torch.Tensor:
        """The plain tensor, computed when it is first asked for."""
        if self.known is None:
            func, args, kwargs = self.call
            args, kwargs = tree_map(
                lambda a: a.value() if isinstance(a, Lazy) else a, (args, kwargs)
            )
            self.known = func(*args, **kwargs)
        return self.known


def torch_dispatch(x: torch.Tensor) -> Lazy:
    """Given: a lazy tensor whose value is x."""
    return Lazy(x, (lambda: x, (), {}))


# %% wrong="lists are asked at once" says=["nothing of a view, a list, a comparison, a sum"]
from torch.utils._pytree import tree_map


class Lazy(lazy.Noted):
    """A tensor that knows how it would be computed; making one is given."""

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        """What runs in place of an operator's kernel: a note is made."""
        kwargs = kwargs or {}
        if func._schema.is_mutable:
            raise RuntimeError("a lazy tensor can't be written")
        meta_args, meta_kwargs = as_meta((args, kwargs))
        args = tuple(
            [v.value() if isinstance(v, Lazy) else v for v in a] if isinstance(a, list) else a
            for a in args
        )
        return cls(func(*meta_args, **meta_kwargs), (func, args, kwargs))

    def value(self) -> torch.Tensor:
        """The plain tensor, computed when it is first asked for."""
        if self.known is None:
            func, args, kwargs = self.call
            args, kwargs = tree_map(
                lambda a: a.value() if isinstance(a, Lazy) else a, (args, kwargs)
            )
            self.known = func(*args, **kwargs)
        return self.known


def torch_dispatch(x: torch.Tensor) -> Lazy:
    """Given: a lazy tensor whose value is x."""
    return Lazy(x, (lambda: x, (), {}))


# %% wrong="comparison computes at once" says=["nothing of a view, a list, a comparison, a sum"]
from torch.utils._pytree import tree_map


class Lazy(lazy.Noted):
    """A tensor that knows how it would be computed; making one is given."""

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        """What runs in place of an operator's kernel: a note is made."""
        kwargs = kwargs or {}
        if func._schema.is_mutable:
            raise RuntimeError("a lazy tensor can't be written")
        meta_args, meta_kwargs = as_meta((args, kwargs))
        if func._schema.name.split("::")[1] in ("gt", "lt", "eq"):
            args, kwargs = tree_map(
                lambda a: a.value() if isinstance(a, Lazy) else a, (args, kwargs)
            )
        return cls(func(*meta_args, **meta_kwargs), (func, args, kwargs))

    def value(self) -> torch.Tensor:
        """The plain tensor, computed when it is first asked for."""
        if self.known is None:
            func, args, kwargs = self.call
            args, kwargs = tree_map(
                lambda a: a.value() if isinstance(a, Lazy) else a, (args, kwargs)
            )
            self.known = func(*args, **kwargs)
        return self.known


def torch_dispatch(x: torch.Tensor) -> Lazy:
    """Given: a lazy tensor whose value is x."""
    return Lazy(x, (lambda: x, (), {}))


# %% wrong="plain tensors as float32" says=["a plain float64 tensor"]
from torch.utils._pytree import tree_map


class Lazy(lazy.Noted):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func._schema.is_mutable:
            raise RuntimeError(f"{func} writes")
        meta_args, meta_kwargs = lazy.as_meta((args, kwargs))
        return cls(func(*meta_args, **meta_kwargs), (func, args, kwargs))

    def value(self):
        if self.known is None:
            function, args, kwargs = self.call
            args, kwargs = tree_map(
                lambda v: (
                    v.value()
                    if isinstance(v, Lazy)
                    else v.float()
                    if isinstance(v, torch.Tensor)
                    else v
                ),
                (args, kwargs),
            )
            self.known = function(*args, **kwargs)
        return self.known


def torch_dispatch(x):
    """Given: a lazy tensor whose value is x."""
    return Lazy(x, (lambda: x, (), {}))


# %% wrong="computes where all are lazy" says=["also where all operands are lazy"]
from torch.utils._pytree import tree_map


class Lazy(lazy.Noted):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func._schema.is_mutable:
            raise RuntimeError(f"{func} writes")
        meta_args, meta_kwargs = lazy.as_meta((args, kwargs))
        if args and all(isinstance(a, Lazy) for a in args):
            args = tuple(Lazy(a, (lambda v=a.value(): v, (), {})) for a in args)
        return cls(func(*meta_args, **meta_kwargs), (func, args, kwargs))

    def value(self):
        if self.known is None:
            function, args, kwargs = self.call
            args, kwargs = tree_map(
                lambda v: v.value() if isinstance(v, Lazy) else v, (args, kwargs)
            )
            self.known = function(*args, **kwargs)
        return self.known


def torch_dispatch(x):
    """Given: a lazy tensor whose value is x."""
    return Lazy(x, (lambda: x, (), {}))


# %% wrong="a half value becomes a float" says=["half: shape or dtype was promised differently"]
from torch.utils._pytree import tree_map


class Lazy(lazy.Noted):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func._schema.is_mutable:
            raise RuntimeError("writes")
        meta_args, meta_kwargs = lazy.as_meta((args, kwargs))
        return cls(func(*meta_args, **meta_kwargs), (func, args, kwargs))

    def value(self) -> torch.Tensor:
        if self.known is None:
            function, args, kwargs = self.call
            args, kwargs = tree_map(
                lambda x: x.value() if isinstance(x, Lazy) else x, (args, kwargs)
            )
            self.known = function(*args, **kwargs)
            if self.known.dtype == torch.float16:
                self.known = self.known.float()
        return self.known


def torch_dispatch(x: torch.Tensor) -> Lazy:
    return Lazy(x, (lambda: x, (), {}))


# %% right="writers raise a NotImplementedError, which is a RuntimeError"

from torch.utils._pytree import tree_map_only


class Lazy(lazy.Noted):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func._schema.is_mutable:
            raise NotImplementedError("a lazy tensor isn't written")
        kwargs = dict(kwargs or {})
        to_meta = lambda t: (
            t.to("meta")
            if not isinstance(t, Lazy)
            else torch.empty_strided(t.size(), t.stride(), dtype=t.dtype, device="meta")
        )
        a, k = tree_map_only(torch.Tensor, to_meta, (args, kwargs))
        note = func(*a, **k)
        return cls(note, (func, args, kwargs))

    def value(self):
        if self.known is not None:
            return self.known
        f, a, k = self.call
        a, k = tree_map_only(Lazy, Lazy.value, (a, k))
        self.known, self.call = f(*a, **k), None
        return self.known


def torch_dispatch(x: torch.Tensor) -> Lazy:
    """Given: a lazy tensor whose value is x."""
    return Lazy(x, (lambda: x, (), {}))


# %% wrong="twins without strides" breaks="the note of the result" says=["behind a transposed one", "the strides were promised differently"]
from torch.utils._pytree import tree_map


class Lazy(lazy.Noted):
    """A tensor that knows how it would be computed; making one is given."""

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        """What runs in place of an operator's kernel: a note is made."""
        kwargs = kwargs or {}
        if func._schema.is_mutable:
            raise RuntimeError(f"{func} writes")
        twins, named = tree_map(
            lambda leaf: (
                torch.empty(leaf.shape, dtype=leaf.dtype, device="meta")
                if isinstance(leaf, torch.Tensor)
                else leaf
            ),
            (args, kwargs),
        )
        return Lazy(func(*twins, **named), (func, args, kwargs))

    def value(self) -> torch.Tensor:
        """The plain tensor, computed when it is first asked for."""
        if self.known is None:
            function, args, kwargs = self.call
            args, kwargs = tree_map(
                lambda leaf: leaf.value() if isinstance(leaf, Lazy) else leaf, (args, kwargs)
            )
            self.known = function(*args, **kwargs)
        return self.known


def torch_dispatch(x: torch.Tensor) -> Lazy:
    """Given: a lazy tensor whose value is x."""
    return Lazy(x, (lambda: x, (), {}))


# %% wrong="computes at once where all is known" breaks="compute nothing but on `meta`" says=["a step after value()", "the step waits for its value()"]
from torch.utils._pytree import tree_map


class Lazy(lazy.Noted):
    """A tensor that knows how it would be computed; making one is given."""

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        """What runs in place of an operator's kernel: a note is made."""
        kwargs = kwargs or {}
        if func._schema.is_mutable:
            raise RuntimeError(f"{func} writes")
        inputs = []
        tree_map(
            lambda leaf: inputs.append(leaf) if isinstance(leaf, Lazy) else None, (args, kwargs)
        )
        if all(leaf.known is not None for leaf in inputs):  # their values are there already
            plain, named = tree_map(
                lambda leaf: leaf.known if isinstance(leaf, Lazy) else leaf, (args, kwargs)
            )
            result = func(*plain, **named)
            return Lazy(result, (lambda: result, (), {}))
        twins, named = lazy.as_meta((args, kwargs))
        return Lazy(func(*twins, **named), (func, args, kwargs))

    def value(self) -> torch.Tensor:
        """The plain tensor, computed when it is first asked for."""
        if self.known is None:
            function, args, kwargs = self.call
            args, kwargs = tree_map(
                lambda leaf: leaf.value() if isinstance(leaf, Lazy) else leaf, (args, kwargs)
            )
            self.known = function(*args, **kwargs)
        return self.known


def torch_dispatch(x: torch.Tensor) -> Lazy:
    """Given: a lazy tensor whose value is x."""
    return Lazy(x, (lambda: x, (), {}))


# %% wrong="a function of a known value is computed at once" says=["a step after value()", "the step waits for its value()"]
from torch.utils._pytree import tree_map


class Lazy(lazy.Noted):
    """A tensor that knows how it would be computed; making one is given."""

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        """What runs in place of an operator's kernel: a note is made."""
        if func._schema.is_mutable:
            raise RuntimeError(f"{func} writes: a lazy tensor can't")
        call = func, args, kwargs or {}
        first = next((a for a in args if isinstance(a, Lazy)), None)
        if first is not None and first.known is not None and len(args) == 1:
            known = func(first.known, *args[1:], **call[2])
            made = cls(known, call)
            made.known = known
            return made
        twins, options = as_meta(call[1:])
        return cls(func(*twins, **options), call)

    def value(self) -> torch.Tensor:
        """The plain tensor, computed when it is first asked for."""
        if self.known is None:
            func, args, kw = tree_map(lambda x: x.value() if isinstance(x, Lazy) else x, self.call)
            self.known = func(*args, **kw)
        return self.known


def torch_dispatch(x: torch.Tensor) -> Lazy:
    """Given: a lazy tensor whose value is x."""
    return Lazy(x, (lambda: x, (), {}))


# %% wrong="equal calls are noted once" says=["the same call a second time", "two equal calls are two operations"]
from torch.utils._pytree import tree_flatten, tree_map


class Lazy(lazy.Noted):
    notes = {}  # common subexpressions: the same call on the same arguments is noted once

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func._schema.is_mutable:
            raise RuntimeError(f"{func} writes")
        leaves, spec = tree_flatten((args, kwargs))
        key = (
            func,
            str(spec),
            *(id(a) if isinstance(a, torch.Tensor) else repr(a) for a in leaves),
        )
        if key not in cls.notes:
            twins, options = lazy.as_meta((args, kwargs))
            cls.notes[key] = Lazy(func(*twins, **options), (func, args, kwargs))
        return cls.notes[key]

    def value(self) -> torch.Tensor:
        if self.known is None:
            function, args, kwargs = self.call
            args, kwargs = tree_map(
                lambda a: a.value() if isinstance(a, Lazy) else a, (args, kwargs)
            )
            self.known = function(*args, **kwargs)
        return self.known


def torch_dispatch(x: torch.Tensor) -> Lazy:
    """Given: a lazy tensor whose value is x."""
    return Lazy(x, (lambda: x, (), {}))


# %% wrong="a write into a plain tensor is noted instead of refused" breaks="An operator that writes raises a `RuntimeError`" says=["whatever it writes into"]
from torch.utils._pytree import tree_map


class Lazy(lazy.Noted):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        given = dict(zip((a.name for a in func._schema.arguments), args)) | kwargs
        for argument in func._schema.arguments:
            info = argument.alias_info
            if info is not None and info.is_write and isinstance(given.get(argument.name), Lazy):
                raise RuntimeError(f"{func} writes into the lazy {argument.name}")
        note = func(*lazy.as_meta(args), **lazy.as_meta(kwargs))
        return Lazy(note, (func, args, kwargs))

    def value(self) -> torch.Tensor:
        if self.known is None:
            function, *rest = self.call
            args, kwargs = tree_map(lambda x: x.value() if isinstance(x, Lazy) else x, rest)
            self.known = function(*args, **kwargs)
        return self.known


def torch_dispatch(x: torch.Tensor) -> Lazy:
    """Given: a lazy tensor whose value is x."""
    return Lazy(x, (lambda: x, (), {}))


# %% wrong="walks lists alone" breaks="in lists and dicts too" says=["a call with a list in a dict", "tree_map is there to reach it"]
class Lazy(lazy.Noted):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func._schema.is_mutable:
            raise RuntimeError(f"{func} writes")
        twins, options = as_meta((args, kwargs))
        return cls(func(*twins, **options), (func, args, kwargs))

    @staticmethod
    def plain(item):
        if isinstance(item, Lazy):
            return item.value()
        if isinstance(item, list | tuple):
            return type(item)([Lazy.plain(part) for part in item])
        return item

    def value(self):
        if self.known is None:
            func, args, kwargs = self.call
            named = {key: Lazy.plain(item) for key, item in kwargs.items()}
            self.known = func(*(Lazy.plain(item) for item in args), **named)
        return self.known


def torch_dispatch(x):
    return Lazy(x, (lambda: x, (), {}))
