# %% [markdown]
# Rules:
#
# - "A later entry replaces an earlier one"
# - "puts an entry into this dispatcher's table"
# - "a function or `FALLTHROUGH`"
# - "for every operator that has no entry under this key"
# - "under this key"
# - "Such a kernel gets the operator's name first"
# - "takes the keys of all values together"
# - "A value of any class may have `keys`"
# - "a value without `keys`, such as a number, has none"
# - "asks them by priority"
# - "FALLTHROUGH means the next key"
# - "A kernel is called with the values as they are"
# - "what it returns, be it `None`, is returned"
# - "what it raises passes through"
# - "A key without an entry"
# - "or no key left, raises a `NotImplementedError`"
# - "this dispatcher's calls skip `key`"
# - "and all keys before it"
# - "an inner one never skips fewer keys than the outer"
# - "it is as before"
# - "also if an exception leaves it"
# - "the exception passes through"
#
# Admits:
#
# - "the keys of all values": a handle of a subclass
# - "a number, has none": a number beside a handle
# - "be it `None`": a kernel that returns None
# - "Blocks nest": a wider block inside
# - "no key left": no handle at all

# %% wrong="the first argument's keys alone" breaks="takes the keys of all values together" says=["the keys of all arguments count together"]
from contextlib import contextmanager


class Dispatcher:
    """A table of kernels by operator and key; see the statement."""

    def __init__(self, priority: tuple[str, ...]) -> None:
        """An empty table; ``priority`` has the first key to ask first."""
        self.priority, self.table, self.first = priority, {}, 0

    def register(self, operator: str, key: str, kernel) -> None:
        """Put a kernel, or FALLTHROUGH, into the table."""
        self.table[operator, key] = kernel

    def call(self, operator: str, *values):
        """Find the kernel for these values and call it."""
        keys = set(getattr(values[0], "keys", ()))
        for key in self.priority[self.first :]:
            if key not in keys:
                continue
            own = (operator, key) in self.table
            kernel = self.table.get((operator if own else "*", key))
            if kernel is None:
                raise NotImplementedError(f"{operator} has no entry for {key}")
            if kernel != FALLTHROUGH:
                return kernel(*values) if own else kernel(operator, *values)
        raise NotImplementedError(f"{operator}: no kernel for {keys}")

    @contextmanager
    def below(self, key: str):
        """Inside the block, skip ``key`` and all before it."""
        before = self.first
        self.first = max(before, self.priority.index(key) + 1)
        try:
            yield
        finally:
            self.first = before


def my_dispatcher() -> Dispatcher:
    """Given: an empty dispatcher for the keys of this chapter."""
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="handles alone" says=["is handed on in its place"]
from contextlib import contextmanager


class Dispatcher:
    """A table of kernels by operator and key; see the statement."""

    def __init__(self, priority: tuple[str, ...]) -> None:
        """An empty table; ``priority`` has the first key to ask first."""
        self.priority, self.table, self.first = priority, {}, 0

    def register(self, operator: str, key: str, kernel) -> None:
        """Put a kernel, or FALLTHROUGH, into the table."""
        self.table[operator, key] = kernel

    def call(self, operator: str, *values):
        """Find the kernel for these values and call it."""
        keys = {key for value in values for key in getattr(value, "keys", ())}
        for key in self.priority[self.first :]:
            if key not in keys:
                continue
            own = (operator, key) in self.table
            kernel = self.table.get((operator if own else "*", key))
            if kernel is None:
                raise NotImplementedError(f"{operator} has no entry for {key}")
            if kernel != FALLTHROUGH:
                values = [value for value in values if hasattr(value, "keys")]
                return kernel(*values) if own else kernel(operator, *values)
        raise NotImplementedError(f"{operator}: no kernel for {keys}")

    @contextmanager
    def below(self, key: str):
        """Inside the block, skip ``key`` and all before it."""
        before = self.first
        self.first = max(before, self.priority.index(key) + 1)
        try:
            yield
        finally:
            self.first = before


def my_dispatcher() -> Dispatcher:
    """Given: an empty dispatcher for the keys of this chapter."""
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="a number has no keys attribute" breaks="a value without `keys`, such as a number, has none" says=["AttributeError"]
from contextlib import contextmanager


class Dispatcher:
    """A table of kernels by operator and key; see the statement."""

    def __init__(self, priority: tuple[str, ...]) -> None:
        """An empty table; ``priority`` has the first key to ask first."""
        self.priority, self.table, self.first = priority, {}, 0

    def register(self, operator: str, key: str, kernel) -> None:
        """Put a kernel, or FALLTHROUGH, into the table."""
        self.table[operator, key] = kernel

    def call(self, operator: str, *values):
        """Find the kernel for these values and call it."""
        keys = {key for value in values for key in value.keys}
        for key in self.priority[self.first :]:
            if key not in keys:
                continue
            own = (operator, key) in self.table
            kernel = self.table.get((operator if own else "*", key))
            if kernel is None:
                raise NotImplementedError(f"{operator} has no entry for {key}")
            if kernel != FALLTHROUGH:
                return kernel(*values) if own else kernel(operator, *values)
        raise NotImplementedError(f"{operator}: no kernel for {keys}")

    @contextmanager
    def below(self, key: str):
        """Inside the block, skip ``key`` and all before it."""
        before = self.first
        self.first = max(before, self.priority.index(key) + 1)
        try:
            yield
        finally:
            self.first = before


def my_dispatcher() -> Dispatcher:
    """Given: an empty dispatcher for the keys of this chapter."""
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="the order of the keys" breaks="asks them by priority" says=["the order of priority decides"]
from contextlib import contextmanager


class Dispatcher:
    """A table of kernels by operator and key; see the statement."""

    def __init__(self, priority: tuple[str, ...]) -> None:
        """An empty table; ``priority`` has the first key to ask first."""
        self.priority, self.table, self.first = priority, {}, 0

    def register(self, operator: str, key: str, kernel) -> None:
        """Put a kernel, or FALLTHROUGH, into the table."""
        self.table[operator, key] = kernel

    def call(self, operator: str, *values):
        """Find the kernel for these values and call it."""
        keys = {key for value in values for key in getattr(value, "keys", ())}
        for key in sorted(keys, reverse=False):
            if self.priority.index(key) < self.first:
                continue
            own = (operator, key) in self.table
            kernel = self.table.get((operator if own else "*", key))
            if kernel is None:
                raise NotImplementedError(f"{operator} has no entry for {key}")
            if kernel != FALLTHROUGH:
                return kernel(*values) if own else kernel(operator, *values)
        raise NotImplementedError(f"{operator}: no kernel for {keys}")

    @contextmanager
    def below(self, key: str):
        """Inside the block, skip ``key`` and all before it."""
        before = self.first
        self.first = max(before, self.priority.index(key) + 1)
        try:
            yield
        finally:
            self.first = before


def my_dispatcher() -> Dispatcher:
    """Given: an empty dispatcher for the keys of this chapter."""
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="priority turned around" says=["the order of priority decides"]
from contextlib import contextmanager


class Dispatcher:
    """A table of kernels by operator and key; see the statement."""

    def __init__(self, priority: tuple[str, ...]) -> None:
        """An empty table; ``priority`` has the first key to ask first."""
        self.priority, self.table, self.first = priority, {}, 0

    def register(self, operator: str, key: str, kernel) -> None:
        """Put a kernel, or FALLTHROUGH, into the table."""
        self.table[operator, key] = kernel

    def call(self, operator: str, *values):
        """Find the kernel for these values and call it."""
        keys = {key for value in values for key in getattr(value, "keys", ())}
        for key in self.priority[self.first :][::-1]:
            if key not in keys:
                continue
            own = (operator, key) in self.table
            kernel = self.table.get((operator if own else "*", key))
            if kernel is None:
                raise NotImplementedError(f"{operator} has no entry for {key}")
            if kernel != FALLTHROUGH:
                return kernel(*values) if own else kernel(operator, *values)
        raise NotImplementedError(f"{operator}: no kernel for {keys}")

    @contextmanager
    def below(self, key: str):
        """Inside the block, skip ``key`` and all before it."""
        before = self.first
        self.first = max(before, self.priority.index(key) + 1)
        try:
            yield
        finally:
            self.first = before


def my_dispatcher() -> Dispatcher:
    """Given: an empty dispatcher for the keys of this chapter."""
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="skips keys without an entry" breaks="A key without an entry" says=["only FALLTHROUGH steps aside"]
from contextlib import contextmanager


class Dispatcher:
    """A table of kernels by operator and key; see the statement."""

    def __init__(self, priority: tuple[str, ...]) -> None:
        """An empty table; ``priority`` has the first key to ask first."""
        self.priority, self.table, self.first = priority, {}, 0

    def register(self, operator: str, key: str, kernel) -> None:
        """Put a kernel, or FALLTHROUGH, into the table."""
        self.table[operator, key] = kernel

    def call(self, operator: str, *values):
        """Find the kernel for these values and call it."""
        keys = {key for value in values for key in getattr(value, "keys", ())}
        for key in self.priority[self.first :]:
            if key not in keys:
                continue
            own = (operator, key) in self.table
            kernel = self.table.get((operator if own else "*", key))
            if kernel is None:
                continue
            if kernel != FALLTHROUGH:
                return kernel(*values) if own else kernel(operator, *values)
        raise NotImplementedError(f"{operator}: no kernel for {keys}")

    @contextmanager
    def below(self, key: str):
        """Inside the block, skip ``key`` and all before it."""
        before = self.first
        self.first = max(before, self.priority.index(key) + 1)
        try:
            yield
        finally:
            self.first = before


def my_dispatcher() -> Dispatcher:
    """Given: an empty dispatcher for the keys of this chapter."""
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="calls the sentinel" breaks="a function or `FALLTHROUGH`" says=["TypeError"]
from contextlib import contextmanager


class Dispatcher:
    """A table of kernels by operator and key; see the statement."""

    def __init__(self, priority: tuple[str, ...]) -> None:
        """An empty table; ``priority`` has the first key to ask first."""
        self.priority, self.table, self.first = priority, {}, 0

    def register(self, operator: str, key: str, kernel) -> None:
        """Put a kernel, or FALLTHROUGH, into the table."""
        self.table[operator, key] = kernel

    def call(self, operator: str, *values):
        """Find the kernel for these values and call it."""
        keys = {key for value in values for key in getattr(value, "keys", ())}
        for key in self.priority[self.first :]:
            if key not in keys:
                continue
            own = (operator, key) in self.table
            kernel = self.table.get((operator if own else "*", key))
            if kernel is None:
                raise NotImplementedError(f"{operator} has no entry for {key}")
            return kernel(*values) if own else kernel(operator, *values)
        raise NotImplementedError(f"{operator}: no kernel for {keys}")

    @contextmanager
    def below(self, key: str):
        """Inside the block, skip ``key`` and all before it."""
        before = self.first
        self.first = max(before, self.priority.index(key) + 1)
        try:
            yield
        finally:
            self.first = before


def my_dispatcher() -> Dispatcher:
    """Given: an empty dispatcher for the keys of this chapter."""
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="fallthrough is an error" breaks="FALLTHROUGH means the next key" says=["FALLTHROUGH steps aside for the next key"]
from contextlib import contextmanager


class Dispatcher:
    """A table of kernels by operator and key; see the statement."""

    def __init__(self, priority: tuple[str, ...]) -> None:
        """An empty table; ``priority`` has the first key to ask first."""
        self.priority, self.table, self.first = priority, {}, 0

    def register(self, operator: str, key: str, kernel) -> None:
        """Put a kernel, or FALLTHROUGH, into the table."""
        self.table[operator, key] = kernel

    def call(self, operator: str, *values):
        """Find the kernel for these values and call it."""
        keys = {key for value in values for key in getattr(value, "keys", ())}
        for key in self.priority[self.first :]:
            if key not in keys:
                continue
            own = (operator, key) in self.table
            kernel = self.table.get((operator if own else "*", key))
            if kernel is None:
                raise NotImplementedError(f"{operator} has no entry for {key}")
            if kernel == FALLTHROUGH:
                break
            else:
                return kernel(*values) if own else kernel(operator, *values)
        raise NotImplementedError(f"{operator}: no kernel for {keys}")

    @contextmanager
    def below(self, key: str):
        """Inside the block, skip ``key`` and all before it."""
        before = self.first
        self.first = max(before, self.priority.index(key) + 1)
        try:
            yield
        finally:
            self.first = before


def my_dispatcher() -> Dispatcher:
    """Given: an empty dispatcher for the keys of this chapter."""
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="no fallback" says=["a fallback for all operators"]
from contextlib import contextmanager


class Dispatcher:
    """A table of kernels by operator and key; see the statement."""

    def __init__(self, priority: tuple[str, ...]) -> None:
        """An empty table; ``priority`` has the first key to ask first."""
        self.priority, self.table, self.first = priority, {}, 0

    def register(self, operator: str, key: str, kernel) -> None:
        """Put a kernel, or FALLTHROUGH, into the table."""
        self.table[operator, key] = kernel

    def call(self, operator: str, *values):
        """Find the kernel for these values and call it."""
        keys = {key for value in values for key in getattr(value, "keys", ())}
        for key in self.priority[self.first :]:
            if key not in keys:
                continue
            own = (operator, key) in self.table
            kernel = self.table.get((operator, key))
            if kernel is None:
                raise NotImplementedError(f"{operator} has no entry for {key}")
            if kernel != FALLTHROUGH:
                return kernel(*values) if own else kernel(operator, *values)
        raise NotImplementedError(f"{operator}: no kernel for {keys}")

    @contextmanager
    def below(self, key: str):
        """Inside the block, skip ``key`` and all before it."""
        before = self.first
        self.first = max(before, self.priority.index(key) + 1)
        try:
            yield
        finally:
            self.first = before


def my_dispatcher() -> Dispatcher:
    """Given: an empty dispatcher for the keys of this chapter."""
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="the fallback goes first" breaks="for every operator that has no entry under this key" says=["an entry for the operator goes before"]
from contextlib import contextmanager


class Dispatcher:
    """A table of kernels by operator and key; see the statement."""

    def __init__(self, priority: tuple[str, ...]) -> None:
        """An empty table; ``priority`` has the first key to ask first."""
        self.priority, self.table, self.first = priority, {}, 0

    def register(self, operator: str, key: str, kernel) -> None:
        """Put a kernel, or FALLTHROUGH, into the table."""
        self.table[operator, key] = kernel

    def call(self, operator: str, *values):
        """Find the kernel for these values and call it."""
        keys = {key for value in values for key in getattr(value, "keys", ())}
        for key in self.priority[self.first :]:
            if key not in keys:
                continue
            own = ("*", key) not in self.table
            kernel = self.table.get((operator if own else "*", key))
            if kernel is None:
                raise NotImplementedError(f"{operator} has no entry for {key}")
            if kernel != FALLTHROUGH:
                return kernel(*values) if own else kernel(operator, *values)
        raise NotImplementedError(f"{operator}: no kernel for {keys}")

    @contextmanager
    def below(self, key: str):
        """Inside the block, skip ``key`` and all before it."""
        before = self.first
        self.first = max(before, self.priority.index(key) + 1)
        try:
            yield
        finally:
            self.first = before


def my_dispatcher() -> Dispatcher:
    """Given: an empty dispatcher for the keys of this chapter."""
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="the fallback without a name" breaks="Such a kernel gets the operator's name first" says=["gets the operator's name first"]
from contextlib import contextmanager


class Dispatcher:
    """A table of kernels by operator and key; see the statement."""

    def __init__(self, priority: tuple[str, ...]) -> None:
        """An empty table; ``priority`` has the first key to ask first."""
        self.priority, self.table, self.first = priority, {}, 0

    def register(self, operator: str, key: str, kernel) -> None:
        """Put a kernel, or FALLTHROUGH, into the table."""
        self.table[operator, key] = kernel

    def call(self, operator: str, *values):
        """Find the kernel for these values and call it."""
        keys = {key for value in values for key in getattr(value, "keys", ())}
        for key in self.priority[self.first :]:
            if key not in keys:
                continue
            own = (operator, key) in self.table
            kernel = self.table.get((operator if own else "*", key))
            if kernel is None:
                raise NotImplementedError(f"{operator} has no entry for {key}")
            if kernel != FALLTHROUGH:
                return kernel(*values)
        raise NotImplementedError(f"{operator}: no kernel for {keys}")

    @contextmanager
    def below(self, key: str):
        """Inside the block, skip ``key`` and all before it."""
        before = self.first
        self.first = max(before, self.priority.index(key) + 1)
        try:
            yield
        finally:
            self.first = before


def my_dispatcher() -> Dispatcher:
    """Given: an empty dispatcher for the keys of this chapter."""
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="the fallback beside a fallthrough" says=["it goes before the one for all operators"]
from contextlib import contextmanager


class Dispatcher:
    """A table of kernels by operator and key; see the statement."""

    def __init__(self, priority: tuple[str, ...]) -> None:
        """An empty table; ``priority`` has the first key to ask first."""
        self.priority, self.table, self.first = priority, {}, 0

    def register(self, operator: str, key: str, kernel) -> None:
        """Put a kernel, or FALLTHROUGH, into the table."""
        self.table[operator, key] = kernel

    def call(self, operator: str, *values):
        """Find the kernel for these values and call it."""
        keys = {key for value in values for key in getattr(value, "keys", ())}
        for key in self.priority[self.first :]:
            if key not in keys:
                continue
            own = (operator, key) in self.table and ("*", key) not in self.table
            kernel = self.table.get((operator if own else "*", key))
            if kernel is None:
                raise NotImplementedError(f"{operator} has no entry for {key}")
            if kernel != FALLTHROUGH:
                return kernel(*values) if own else kernel(operator, *values)
        raise NotImplementedError(f"{operator}: no kernel for {keys}")

    @contextmanager
    def below(self, key: str):
        """Inside the block, skip ``key`` and all before it."""
        before = self.first
        self.first = max(before, self.priority.index(key) + 1)
        try:
            yield
        finally:
            self.first = before


def my_dispatcher() -> Dispatcher:
    """Given: an empty dispatcher for the keys of this chapter."""
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="KeyError" says=["KeyError"]
from contextlib import contextmanager


class Dispatcher:
    """A table of kernels by operator and key; see the statement."""

    def __init__(self, priority: tuple[str, ...]) -> None:
        """An empty table; ``priority`` has the first key to ask first."""
        self.priority, self.table, self.first = priority, {}, 0

    def register(self, operator: str, key: str, kernel) -> None:
        """Put a kernel, or FALLTHROUGH, into the table."""
        self.table[operator, key] = kernel

    def call(self, operator: str, *values):
        """Find the kernel for these values and call it."""
        keys = {key for value in values for key in getattr(value, "keys", ())}
        for key in self.priority[self.first :]:
            if key not in keys:
                continue
            own = (operator, key) in self.table
            kernel = self.table[operator if own else "*", key]
            if kernel is None:
                raise NotImplementedError(f"{operator} has no entry for {key}")
            if kernel != FALLTHROUGH:
                return kernel(*values) if own else kernel(operator, *values)
        raise NotImplementedError(f"{operator}: no kernel for {keys}")

    @contextmanager
    def below(self, key: str):
        """Inside the block, skip ``key`` and all before it."""
        before = self.first
        self.first = max(before, self.priority.index(key) + 1)
        try:
            yield
        finally:
            self.first = before


def my_dispatcher() -> Dispatcher:
    """Given: an empty dispatcher for the keys of this chapter."""
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="the first registration stays" breaks="A later entry replaces an earlier one" says=["the later registration replaces the earlier"]
from contextlib import contextmanager


class Dispatcher:
    """A table of kernels by operator and key; see the statement."""

    def __init__(self, priority: tuple[str, ...]) -> None:
        """An empty table; ``priority`` has the first key to ask first."""
        self.priority, self.table, self.first = priority, {}, 0

    def register(self, operator: str, key: str, kernel) -> None:
        """Put a kernel, or FALLTHROUGH, into the table."""
        self.table.setdefault((operator, key), kernel)

    def call(self, operator: str, *values):
        """Find the kernel for these values and call it."""
        keys = {key for value in values for key in getattr(value, "keys", ())}
        for key in self.priority[self.first :]:
            if key not in keys:
                continue
            own = (operator, key) in self.table
            kernel = self.table.get((operator if own else "*", key))
            if kernel is None:
                raise NotImplementedError(f"{operator} has no entry for {key}")
            if kernel != FALLTHROUGH:
                return kernel(*values) if own else kernel(operator, *values)
        raise NotImplementedError(f"{operator}: no kernel for {keys}")

    @contextmanager
    def below(self, key: str):
        """Inside the block, skip ``key`` and all before it."""
        before = self.first
        self.first = max(before, self.priority.index(key) + 1)
        try:
            yield
        finally:
            self.first = before


def my_dispatcher() -> Dispatcher:
    """Given: an empty dispatcher for the keys of this chapter."""
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="a table for all dispatchers" breaks="puts an entry into this dispatcher's table" says=["each dispatcher has a table to itself"] judge="differs"
from contextlib import contextmanager


class Dispatcher:
    """A table of kernels by operator and key; see the statement."""

    table = {}

    def __init__(self, priority: tuple[str, ...]) -> None:
        """An empty table; ``priority`` has the first key to ask first."""
        self.priority, self.first = priority, 0

    def register(self, operator: str, key: str, kernel) -> None:
        """Put a kernel, or FALLTHROUGH, into the table."""
        self.table[operator, key] = kernel

    def call(self, operator: str, *values):
        """Find the kernel for these values and call it."""
        keys = {key for value in values for key in getattr(value, "keys", ())}
        for key in self.priority[self.first :]:
            if key not in keys:
                continue
            own = (operator, key) in self.table
            kernel = self.table.get((operator if own else "*", key))
            if kernel is None:
                raise NotImplementedError(f"{operator} has no entry for {key}")
            if kernel != FALLTHROUGH:
                return kernel(*values) if own else kernel(operator, *values)
        raise NotImplementedError(f"{operator}: no kernel for {keys}")

    @contextmanager
    def below(self, key: str):
        """Inside the block, skip ``key`` and all before it."""
        before = self.first
        self.first = max(before, self.priority.index(key) + 1)
        try:
            yield
        finally:
            self.first = before


def my_dispatcher() -> Dispatcher:
    """Given: an empty dispatcher for the keys of this chapter."""
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="a cache of found kernels" says=["is read anew at each call"]
from contextlib import contextmanager


class Dispatcher:
    """A table of kernels by operator and key; see the statement."""

    def __init__(self, priority: tuple[str, ...]) -> None:
        """An empty table; ``priority`` has the first key to ask first."""
        self.priority, self.table, self.first = priority, {}, 0

    def register(self, operator: str, key: str, kernel) -> None:
        """Put a kernel, or FALLTHROUGH, into the table."""
        self.table[operator, key] = kernel

    def call(self, operator: str, *values):
        """Find the kernel for these values and call it."""
        if not hasattr(self, "cache"):
            self.cache = {}
        key = (operator, self.first, *(getattr(v, "keys", None) for v in values))
        if key not in self.cache:
            self.cache[key] = self.find(operator, *values)
        return self.cache[key](*values)

    def find(self, operator, *values):
        keys = {key for value in values for key in getattr(value, "keys", ())}
        for key in self.priority[self.first :]:
            if key not in keys:
                continue
            own = (operator, key) in self.table
            kernel = self.table.get((operator if own else "*", key))
            if kernel is None:
                raise NotImplementedError(f"{operator} has no entry for {key}")
            if kernel != FALLTHROUGH:
                return kernel if own else lambda *v: kernel(operator, *v)
        raise NotImplementedError(f"{operator}: no kernel for {keys}")

    @contextmanager
    def below(self, key: str):
        """Inside the block, skip ``key`` and all before it."""
        before = self.first
        self.first = max(before, self.priority.index(key) + 1)
        try:
            yield
        finally:
            self.first = before


def my_dispatcher() -> Dispatcher:
    """Given: an empty dispatcher for the keys of this chapter."""
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="returns nothing" says=["is there an answer yet?"]
from contextlib import contextmanager


class Dispatcher:
    """A table of kernels by operator and key; see the statement."""

    def __init__(self, priority: tuple[str, ...]) -> None:
        """An empty table; ``priority`` has the first key to ask first."""
        self.priority, self.table, self.first = priority, {}, 0

    def register(self, operator: str, key: str, kernel) -> None:
        """Put a kernel, or FALLTHROUGH, into the table."""
        self.table[operator, key] = kernel

    def call(self, operator: str, *values):
        """Find the kernel for these values and call it."""
        keys = {key for value in values for key in getattr(value, "keys", ())}
        for key in self.priority[self.first :]:
            if key not in keys:
                continue
            own = (operator, key) in self.table
            kernel = self.table.get((operator if own else "*", key))
            if kernel is None:
                raise NotImplementedError(f"{operator} has no entry for {key}")
            if kernel != FALLTHROUGH:
                kernel(*values) if own else kernel(operator, *values)
                return None
        raise NotImplementedError(f"{operator}: no kernel for {keys}")

    @contextmanager
    def below(self, key: str):
        """Inside the block, skip ``key`` and all before it."""
        before = self.first
        self.first = max(before, self.priority.index(key) + 1)
        try:
            yield
        finally:
            self.first = before


def my_dispatcher() -> Dispatcher:
    """Given: an empty dispatcher for the keys of this chapter."""
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="a result of None means nothing was found" breaks="what it returns, be it `None`, is returned" says=["None is a result like any other"]
from contextlib import contextmanager


class Dispatcher:
    """A table of kernels by operator and key; see the statement."""

    def __init__(self, priority: tuple[str, ...]) -> None:
        """An empty table; ``priority`` has the first key to ask first."""
        self.priority, self.table, self.first = priority, {}, 0

    def register(self, operator: str, key: str, kernel) -> None:
        """Put a kernel, or FALLTHROUGH, into the table."""
        self.table[operator, key] = kernel

    def call(self, operator: str, *values):
        """Find the kernel for these values and call it."""
        keys = {key for value in values for key in getattr(value, "keys", ())}
        for key in self.priority[self.first :]:
            if key not in keys:
                continue
            own = (operator, key) in self.table
            kernel = self.table.get((operator if own else "*", key))
            if kernel is None:
                raise NotImplementedError(f"{operator} has no entry for {key}")
            if kernel != FALLTHROUGH:
                result = kernel(*values) if own else kernel(operator, *values)
                if result is not None:
                    return result
        raise NotImplementedError(f"{operator}: no kernel for {keys}")

    @contextmanager
    def below(self, key: str):
        """Inside the block, skip ``key`` and all before it."""
        before = self.first
        self.first = max(before, self.priority.index(key) + 1)
        try:
            yield
        finally:
            self.first = before


def my_dispatcher() -> Dispatcher:
    """Given: an empty dispatcher for the keys of this chapter."""
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="returns NotImplemented" says=["a key without an entry"]
from contextlib import contextmanager


class Dispatcher:
    """A table of kernels by operator and key; see the statement."""

    def __init__(self, priority: tuple[str, ...]) -> None:
        """An empty table; ``priority`` has the first key to ask first."""
        self.priority, self.table, self.first = priority, {}, 0

    def register(self, operator: str, key: str, kernel) -> None:
        """Put a kernel, or FALLTHROUGH, into the table."""
        self.table[operator, key] = kernel

    def call(self, operator: str, *values):
        """Find the kernel for these values and call it."""
        keys = {key for value in values for key in getattr(value, "keys", ())}
        for key in self.priority[self.first :]:
            if key not in keys:
                continue
            own = (operator, key) in self.table
            kernel = self.table.get((operator if own else "*", key))
            if kernel is None:
                return NotImplemented
            if kernel != FALLTHROUGH:
                return kernel(*values) if own else kernel(operator, *values)
        raise NotImplementedError(f"{operator}: no kernel for {keys}")

    @contextmanager
    def below(self, key: str):
        """Inside the block, skip ``key`` and all before it."""
        before = self.first
        self.first = max(before, self.priority.index(key) + 1)
        try:
            yield
        finally:
            self.first = before


def my_dispatcher() -> Dispatcher:
    """Given: an empty dispatcher for the keys of this chapter."""
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="skips only the key" breaks="and all keys before it" says=["that key and all before it are skipped"]
from contextlib import contextmanager


class Dispatcher:
    """A table of kernels by operator and key; see the statement."""

    def __init__(self, priority: tuple[str, ...]) -> None:
        """An empty table; ``priority`` has the first key to ask first."""
        self.priority, self.table, self.first = priority, {}, 0

    def register(self, operator: str, key: str, kernel) -> None:
        """Put a kernel, or FALLTHROUGH, into the table."""
        self.table[operator, key] = kernel

    def call(self, operator: str, *values):
        """Find the kernel for these values and call it."""
        keys = {key for value in values for key in getattr(value, "keys", ())}
        for key in self.priority[self.first :]:
            if key not in keys or key in getattr(self, "skipped", ()):
                continue
            own = (operator, key) in self.table
            kernel = self.table.get((operator if own else "*", key))
            if kernel is None:
                raise NotImplementedError(f"{operator} has no entry for {key}")
            if kernel != FALLTHROUGH:
                return kernel(*values) if own else kernel(operator, *values)
        raise NotImplementedError(f"{operator}: no kernel for {keys}")

    @contextmanager
    def below(self, key: str):
        """Inside the block, skip ``key`` and all before it."""
        self.skipped = (*getattr(self, "skipped", ()), key)
        try:
            yield
        finally:
            self.skipped = self.skipped[:-1]


def my_dispatcher() -> Dispatcher:
    """Given: an empty dispatcher for the keys of this chapter."""
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="the key itself stays" says=["nested blocks"]
from contextlib import contextmanager


class Dispatcher:
    """A table of kernels by operator and key; see the statement."""

    def __init__(self, priority: tuple[str, ...]) -> None:
        """An empty table; ``priority`` has the first key to ask first."""
        self.priority, self.table, self.first = priority, {}, 0

    def register(self, operator: str, key: str, kernel) -> None:
        """Put a kernel, or FALLTHROUGH, into the table."""
        self.table[operator, key] = kernel

    def call(self, operator: str, *values):
        """Find the kernel for these values and call it."""
        keys = {key for value in values for key in getattr(value, "keys", ())}
        for key in self.priority[self.first :]:
            if key not in keys:
                continue
            own = (operator, key) in self.table
            kernel = self.table.get((operator if own else "*", key))
            if kernel is None:
                raise NotImplementedError(f"{operator} has no entry for {key}")
            if kernel != FALLTHROUGH:
                return kernel(*values) if own else kernel(operator, *values)
        raise NotImplementedError(f"{operator}: no kernel for {keys}")

    @contextmanager
    def below(self, key: str):
        """Inside the block, skip ``key`` and all before it."""
        before = self.first
        self.first = max(before, self.priority.index(key))
        try:
            yield
        finally:
            self.first = before


def my_dispatcher() -> Dispatcher:
    """Given: an empty dispatcher for the keys of this chapter."""
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="an inner block replaces the outer" breaks="an inner one never skips fewer keys than the outer" says=["an inner block adds to the outer one"]
from contextlib import contextmanager


class Dispatcher:
    """A table of kernels by operator and key; see the statement."""

    def __init__(self, priority: tuple[str, ...]) -> None:
        """An empty table; ``priority`` has the first key to ask first."""
        self.priority, self.table, self.first = priority, {}, 0

    def register(self, operator: str, key: str, kernel) -> None:
        """Put a kernel, or FALLTHROUGH, into the table."""
        self.table[operator, key] = kernel

    def call(self, operator: str, *values):
        """Find the kernel for these values and call it."""
        keys = {key for value in values for key in getattr(value, "keys", ())}
        for key in self.priority[self.first :]:
            if key not in keys:
                continue
            own = (operator, key) in self.table
            kernel = self.table.get((operator if own else "*", key))
            if kernel is None:
                raise NotImplementedError(f"{operator} has no entry for {key}")
            if kernel != FALLTHROUGH:
                return kernel(*values) if own else kernel(operator, *values)
        raise NotImplementedError(f"{operator}: no kernel for {keys}")

    @contextmanager
    def below(self, key: str):
        """Inside the block, skip ``key`` and all before it."""
        before = self.first
        self.first = self.priority.index(key) + 1
        try:
            yield
        finally:
            self.first = before


def my_dispatcher() -> Dispatcher:
    """Given: an empty dispatcher for the keys of this chapter."""
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="after a block all keys are asked" breaks="it is as before" says=["after a block it is as before"]
from contextlib import contextmanager


class Dispatcher:
    """A table of kernels by operator and key; see the statement."""

    def __init__(self, priority: tuple[str, ...]) -> None:
        """An empty table; ``priority`` has the first key to ask first."""
        self.priority, self.table, self.first = priority, {}, 0

    def register(self, operator: str, key: str, kernel) -> None:
        """Put a kernel, or FALLTHROUGH, into the table."""
        self.table[operator, key] = kernel

    def call(self, operator: str, *values):
        """Find the kernel for these values and call it."""
        keys = {key for value in values for key in getattr(value, "keys", ())}
        for key in self.priority[self.first :]:
            if key not in keys:
                continue
            own = (operator, key) in self.table
            kernel = self.table.get((operator if own else "*", key))
            if kernel is None:
                raise NotImplementedError(f"{operator} has no entry for {key}")
            if kernel != FALLTHROUGH:
                return kernel(*values) if own else kernel(operator, *values)
        raise NotImplementedError(f"{operator}: no kernel for {keys}")

    @contextmanager
    def below(self, key: str):
        """Inside the block, skip ``key`` and all before it."""
        before = self.first
        self.first = max(before, self.priority.index(key) + 1)
        try:
            yield
        finally:
            self.first = 0


def my_dispatcher() -> Dispatcher:
    """Given: an empty dispatcher for the keys of this chapter."""
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="no finally" breaks="also if an exception leaves it" says=["the block ends also when an exception leaves it"]
from contextlib import contextmanager


class Dispatcher:
    """A table of kernels by operator and key; see the statement."""

    def __init__(self, priority: tuple[str, ...]) -> None:
        """An empty table; ``priority`` has the first key to ask first."""
        self.priority, self.table, self.first = priority, {}, 0

    def register(self, operator: str, key: str, kernel) -> None:
        """Put a kernel, or FALLTHROUGH, into the table."""
        self.table[operator, key] = kernel

    def call(self, operator: str, *values):
        """Find the kernel for these values and call it."""
        keys = {key for value in values for key in getattr(value, "keys", ())}
        for key in self.priority[self.first :]:
            if key not in keys:
                continue
            own = (operator, key) in self.table
            kernel = self.table.get((operator if own else "*", key))
            if kernel is None:
                raise NotImplementedError(f"{operator} has no entry for {key}")
            if kernel != FALLTHROUGH:
                return kernel(*values) if own else kernel(operator, *values)
        raise NotImplementedError(f"{operator}: no kernel for {keys}")

    @contextmanager
    def below(self, key: str):
        """Inside the block, skip ``key`` and all before it."""
        before = self.first
        self.first = max(before, self.priority.index(key) + 1)
        yield
        self.first = before


def my_dispatcher() -> Dispatcher:
    """Given: an empty dispatcher for the keys of this chapter."""
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="swallows the exception" breaks="the exception passes through" says=["lets the exception out"]
from contextlib import contextmanager


class Dispatcher:
    """A table of kernels by operator and key; see the statement."""

    def __init__(self, priority: tuple[str, ...]) -> None:
        """An empty table; ``priority`` has the first key to ask first."""
        self.priority, self.table, self.first = priority, {}, 0

    def register(self, operator: str, key: str, kernel) -> None:
        """Put a kernel, or FALLTHROUGH, into the table."""
        self.table[operator, key] = kernel

    def call(self, operator: str, *values):
        """Find the kernel for these values and call it."""
        keys = {key for value in values for key in getattr(value, "keys", ())}
        for key in self.priority[self.first :]:
            if key not in keys:
                continue
            own = (operator, key) in self.table
            kernel = self.table.get((operator if own else "*", key))
            if kernel is None:
                raise NotImplementedError(f"{operator} has no entry for {key}")
            if kernel != FALLTHROUGH:
                return kernel(*values) if own else kernel(operator, *values)
        raise NotImplementedError(f"{operator}: no kernel for {keys}")

    @contextmanager
    def below(self, key: str):
        """Inside the block, skip ``key`` and all before it."""
        before = self.first
        self.first = max(before, self.priority.index(key) + 1)
        try:
            yield
        except Exception:
            pass
        self.first = before


def my_dispatcher() -> Dispatcher:
    """Given: an empty dispatcher for the keys of this chapter."""
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="a block for all dispatchers" breaks="this dispatcher's calls skip `key`" says=["leaves another alone"]
from contextlib import contextmanager


class Dispatcher:
    """A table of kernels by operator and key; see the statement."""

    first = 0

    def __init__(self, priority: tuple[str, ...]) -> None:
        """An empty table; ``priority`` has the first key to ask first."""
        self.priority, self.table = priority, {}

    def register(self, operator: str, key: str, kernel) -> None:
        """Put a kernel, or FALLTHROUGH, into the table."""
        self.table[operator, key] = kernel

    def call(self, operator: str, *values):
        """Find the kernel for these values and call it."""
        keys = {key for value in values for key in getattr(value, "keys", ())}
        for key in self.priority[self.first :]:
            if key not in keys:
                continue
            own = (operator, key) in self.table
            kernel = self.table.get((operator if own else "*", key))
            if kernel is None:
                raise NotImplementedError(f"{operator} has no entry for {key}")
            if kernel != FALLTHROUGH:
                return kernel(*values) if own else kernel(operator, *values)
        raise NotImplementedError(f"{operator}: no kernel for {keys}")

    @contextmanager
    def below(self, key: str):
        """Inside the block, skip ``key`` and all before it."""
        before = Dispatcher.first
        Dispatcher.first = max(before, self.priority.index(key) + 1)
        try:
            yield
        finally:
            Dispatcher.first = before


def my_dispatcher() -> Dispatcher:
    """Given: an empty dispatcher for the keys of this chapter."""
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="FALLTHROUGH asks the fallback" says=["FALLTHROUGH is an entry too"]
from contextlib import contextmanager


class Dispatcher:
    def __init__(self, priority):
        self.priority = list(priority)
        self.t = {}
        self.skip = [0]

    def register(self, operator, key, kernel):
        self.t[operator, key] = kernel

    def call(self, operator, *values):
        keys = set().union(*(getattr(v, "keys", ()) for v in values))
        for k in self.priority[self.skip[-1] :]:
            if k not in keys:
                continue
            f = self.t.get((operator, k))
            args = values
            if f is None or f is FALLTHROUGH:
                if ("*", k) in self.t:
                    f, args = self.t["*", k], (operator, *values)
            if f is None:
                raise NotImplementedError
            if f is FALLTHROUGH:
                continue
            return f(*args)
        raise NotImplementedError(operator)

    @contextmanager
    def below(self, key):
        self.skip.append(max(self.skip[-1], self.priority.index(key) + 1))
        try:
            yield
        finally:
            self.skip.pop()


# %% wrong="swallows a kernel's KeyError" says=["passes through as it is"]
from contextlib import contextmanager


class Dispatcher:
    def __init__(self, priority):
        self.priority = list(priority)
        self.t = {}
        self.skip = 0

    def register(self, operator, key, kernel):
        self.t[operator, key] = kernel

    def call(self, operator, *values):
        keys = set().union(*(getattr(v, "keys", ()) for v in values))
        for k in self.priority[self.skip :]:
            if k not in keys:
                continue
            try:
                if (operator, k) in self.t:
                    f = self.t[operator, k]
                    if f is FALLTHROUGH:
                        continue
                    return f(*values)
                f = self.t["*", k]
                if f is FALLTHROUGH:
                    continue
                return f(operator, *values)
            except KeyError:
                raise NotImplementedError(operator)
        raise NotImplementedError(operator)

    @contextmanager
    def below(self, key):
        old = self.skip
        self.skip = max(old, self.priority.index(key) + 1)
        try:
            yield
        finally:
            self.skip = old


# %% right="a stack of hidden sets"
class Dispatcher:
    class Below:
        def __init__(self, owner, key):
            self.owner, self.key = owner, key

        def __enter__(self):
            hidden = set(self.owner.priority[: self.owner.priority.index(self.key) + 1])
            self.owner.hidden.append(hidden)

        def __exit__(self, *error):
            self.owner.hidden.pop()

    def __init__(self, priority):
        self.priority = list(priority)
        self.entries = {key: {} for key in priority}
        self.hidden = []

    def register(self, operator, key, kernel):
        self.entries[key][operator] = kernel

    def below(self, key):
        return self.Below(self, key)

    def call(self, operator, *values):
        keys = set().union(*[v.keys for v in values if hasattr(v, "keys")])
        keys -= set().union(*self.hidden)
        for key in sorted(keys, key=self.priority.index):
            entries = self.entries[key]
            if operator in entries:
                if entries[operator] is FALLTHROUGH:
                    continue
                return entries[operator](*values)
            if "*" not in entries:
                raise NotImplementedError(f"no entry for {operator} under {key}")
            if entries["*"] is not FALLTHROUGH:
                return entries["*"](operator, *values)
        raise NotImplementedError("no key is left")


# %% right="recursion over the priority"
from contextlib import contextmanager
from functools import partial


class Dispatcher:
    def __init__(self, priority):
        self.priority = priority
        self.rows = []
        self.skip = [0]

    def register(self, operator, key, kernel):
        self.rows.insert(0, (operator, key, kernel))

    def lookup(self, operator, key):
        for wanted in (operator, "*"):
            for name, at, kernel in self.rows:
                if (name, at) == (wanted, key):
                    if kernel == FALLTHROUGH or wanted != "*":
                        return kernel
                    return partial(kernel, operator)
        raise NotImplementedError(operator, key)

    def call(self, operator, *values, place=None):
        place = self.skip[-1] if place is None else place
        if place >= len(self.priority):
            raise NotImplementedError(operator)
        key = self.priority[place]
        if any(key in getattr(value, "keys", ()) for value in values):
            kernel = self.lookup(operator, key)
            if kernel != FALLTHROUGH:
                return kernel(*values)
        return self.call(operator, *values, place=place + 1)

    @contextmanager
    def below(self, key):
        self.skip.append(max(self.skip[-1], 1 + self.priority.index(key)))
        try:
            yield self
        finally:
            self.skip.pop()


# %% wrong="hands on copies" breaks="A kernel is called with the values as they are" says=["the kernel gets the arguments themselves, not copies", "not copies"]
from contextlib import contextmanager


class Dispatcher:
    """A table of kernels by operator and key; see the statement."""

    def __init__(self, priority: tuple[str, ...]) -> None:
        """An empty table; ``priority`` has the first key to ask first."""
        self.priority, self.table, self.first = priority, {}, 0

    def register(self, operator: str, key: str, kernel) -> None:
        """Put a kernel, or FALLTHROUGH, into the table."""
        self.table[operator, key] = kernel

    def call(self, operator: str, *values):
        """Find the kernel for these values and call it."""
        keys = {key for value in values for key in getattr(value, "keys", ())}
        for key in self.priority[self.first :]:
            if key not in keys:
                continue
            own = (operator, key) in self.table
            kernel = self.table.get((operator if own else "*", key))
            if kernel is None:
                raise NotImplementedError(f"{operator} has no entry for {key}")
            if kernel != FALLTHROUGH:
                import copy

                values = [copy.copy(v) for v in values]
                return kernel(*values) if own else kernel(operator, *values)
        raise NotImplementedError(f"{operator}: no kernel for {keys}")

    @contextmanager
    def below(self, key: str):
        """Inside the block, skip ``key`` and all before it."""
        before = self.first
        self.first = max(before, self.priority.index(key) + 1)
        try:
            yield
        finally:
            self.first = before


def my_dispatcher() -> Dispatcher:
    """Given: an empty dispatcher for the keys of this chapter."""
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="fallthrough forgets below" breaks="or no key left, raises a `NotImplementedError`" says=["below the last key", "no key left raises"]
from contextlib import contextmanager


class Dispatcher:
    """A table of kernels by operator and key; see the statement."""

    def __init__(self, priority: tuple[str, ...]) -> None:
        """An empty table; ``priority`` has the first key to ask first."""
        self.priority, self.table, self.first = priority, {}, 0

    def register(self, operator: str, key: str, kernel) -> None:
        """Put a kernel, or FALLTHROUGH, into the table."""
        self.table[operator, key] = kernel

    def call(self, operator: str, *values):
        """Find the kernel for these values and call it."""
        keys = {key for value in values for key in getattr(value, "keys", ())}
        for key in self.priority[self.first :] or self.priority:
            if key not in keys:
                continue
            own = (operator, key) in self.table
            kernel = self.table.get((operator if own else "*", key))
            if kernel is None:
                raise NotImplementedError(f"{operator} has no entry for {key}")
            if kernel != FALLTHROUGH:
                return kernel(*values) if own else kernel(operator, *values)
        raise NotImplementedError(f"{operator}: no kernel for {keys}")

    @contextmanager
    def below(self, key: str):
        """Inside the block, skip ``key`` and all before it."""
        before = self.first
        self.first = max(before, self.priority.index(key) + 1)
        try:
            yield
        finally:
            self.first = before


def my_dispatcher() -> Dispatcher:
    """Given: an empty dispatcher for the keys of this chapter."""
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="NotImplementedError of a kernel is taken for no kernel" breaks="what it raises passes through" says=["no other kernel is asked"]
from contextlib import contextmanager


class Dispatcher:
    """A table of kernels by operator and key; see the statement."""

    def __init__(self, priority: tuple[str, ...]) -> None:
        """An empty table; ``priority`` has the first key to ask first."""
        self.priority, self.table, self.first = priority, {}, 0

    def register(self, operator: str, key: str, kernel) -> None:
        """Put a kernel, or FALLTHROUGH, into the table."""
        self.table[operator, key] = kernel

    def call(self, operator: str, *values):
        """Find the kernel for these values and call it."""
        keys = {key for value in values for key in getattr(value, "keys", ())}
        for key in self.priority[self.first :]:
            if key not in keys:
                continue
            own = (operator, key) in self.table
            kernel = self.table.get((operator if own else "*", key))
            if kernel is None:
                raise NotImplementedError(f"{operator} has no entry for {key}")
            if kernel != FALLTHROUGH:
                try:
                    return kernel(*values) if own else kernel(operator, *values)
                except NotImplementedError:
                    continue
        raise NotImplementedError(f"{operator}: no kernel for {keys}")

    @contextmanager
    def below(self, key: str):
        """Inside the block, skip ``key`` and all before it."""
        before = self.first
        self.first = max(before, self.priority.index(key) + 1)
        try:
            yield
        finally:
            self.first = before


def my_dispatcher() -> Dispatcher:
    """Given: an empty dispatcher for the keys of this chapter."""
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="the star counts for all keys" breaks="under this key" says=["counts under its key alone"]
from contextlib import contextmanager


class Dispatcher:
    """A table of kernels by operator and key; see the statement."""

    def __init__(self, priority: tuple[str, ...]) -> None:
        """An empty table; ``priority`` has the first key to ask first."""
        self.priority, self.table, self.first = priority, {}, 0

    def register(self, operator: str, key: str, kernel) -> None:
        """Put a kernel, or FALLTHROUGH, into the table."""
        self.table[operator, key] = kernel

    def call(self, operator: str, *values):
        """Find the kernel for these values and call it."""
        keys = {key for value in values for key in getattr(value, "keys", ())}
        for key in self.priority[self.first :]:
            if key not in keys:
                continue
            own = (operator, key) in self.table
            kernel = self.table.get(
                (operator if own else "*", key),
                next((v for (o, k), v in self.table.items() if o == "*"), None),
            )
            if kernel is None:
                raise NotImplementedError(f"{operator} has no entry for {key}")
            if kernel != FALLTHROUGH:
                return kernel(*values) if own else kernel(operator, *values)
        raise NotImplementedError(f"{operator}: no kernel for {keys}")

    @contextmanager
    def below(self, key: str):
        """Inside the block, skip ``key`` and all before it."""
        before = self.first
        self.first = max(before, self.priority.index(key) + 1)
        try:
            yield
        finally:
            self.first = before


def my_dispatcher() -> Dispatcher:
    """Given: an empty dispatcher for the keys of this chapter."""
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="skips the keys before it and not the key" says=["below skips the key itself, too"]
from contextlib import contextmanager


class Dispatcher:
    def __init__(self, priority):
        self.priority = tuple(priority)
        self.table = {}
        self.skipped = 0

    def register(self, operator, key, kernel):
        self.table[operator, key] = kernel

    def call(self, operator, *values):
        keys = set()
        for value in values:
            keys |= set(getattr(value, "keys", ()))
        for key in self.priority[self.skipped :]:
            if key not in keys:
                continue
            if (operator, key) in self.table:
                kernel = self.table[operator, key]
                if kernel is FALLTHROUGH:
                    continue
                return kernel(*values)
            if ("*", key) in self.table:
                kernel = self.table["*", key]
                if kernel is FALLTHROUGH:
                    continue
                return kernel(operator, *values)
            raise NotImplementedError(f"{operator} has no kernel under {key}")
        raise NotImplementedError(f"{operator}: no key left")

    @contextmanager
    def below(self, key):
        before = self.skipped
        self.skipped = max(before, self.priority.index(key))
        try:
            yield
        finally:
            self.skipped = before


def my_dispatcher():
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="a FALLTHROUGH stays for good" says=["registered after FALLTHROUGH"]
from contextlib import contextmanager


class Dispatcher:
    def __init__(self, priority: tuple[str, ...]) -> None:
        self.priority = priority
        self.table = {}
        self.skipped = 0

    def register(self, operator: str, key: str, kernel) -> None:
        if self.table.get((operator, key)) is not FALLTHROUGH:
            self.table[operator, key] = kernel

    def call(self, operator: str, *values):
        keys = set()
        for value in values:
            keys |= set(getattr(value, "keys", ()))
        for key in self.priority[self.skipped :]:
            if key not in keys:
                continue
            if (operator, key) in self.table:
                kernel, before = self.table[operator, key], ()
            elif ("*", key) in self.table:
                kernel, before = self.table["*", key], (operator,)
            else:
                raise NotImplementedError(f"no {operator} for {key}")
            if kernel is FALLTHROUGH:
                continue
            return kernel(*before, *values)
        raise NotImplementedError(f"no key left for {operator}")

    @contextmanager
    def below(self, key: str):
        before = self.skipped
        self.skipped = max(before, self.priority.index(key) + 1)
        try:
            yield
        finally:
            self.skipped = before


def my_dispatcher() -> Dispatcher:
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="handles of the class itself alone have keys" says=["ask a value for its keys, not for its type"]
from contextlib import contextmanager


class Dispatcher:
    def __init__(self, priority: tuple[str, ...]) -> None:
        self.priority = priority
        self.table = {}
        self.skipped = 0

    def register(self, operator: str, key: str, kernel) -> None:
        self.table[operator, key] = kernel

    def call(self, operator: str, *values):
        keys = set()
        for value in values:
            keys |= value.keys if type(value) is Handle else frozenset()
        for key in self.priority[self.skipped :]:
            if key not in keys:
                continue
            arguments = values
            if (operator, key) in self.table:
                kernel = self.table[operator, key]
            elif ("*", key) in self.table:
                kernel, arguments = self.table["*", key], (operator, *values)
            else:
                raise NotImplementedError(f"no kernel of {operator} for {key}")
            if kernel is not FALLTHROUGH:
                return kernel(*arguments)
        raise NotImplementedError(f"no key left for {operator}")

    @contextmanager
    def below(self, key: str):
        before = self.skipped
        self.skipped = max(before, self.priority.index(key) + 1)
        try:
            yield
        finally:
            self.skipped = before


def my_dispatcher() -> Dispatcher:
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="without a key the star of the last key is asked" says=["no handle at all, and fallbacks"]
from contextlib import contextmanager


class Dispatcher:
    def __init__(self, priority: tuple[str, ...]) -> None:
        self.priority = tuple(priority)
        self.table = {}
        self.skipped = 0

    def register(self, operator: str, key: str, kernel) -> None:
        self.table[operator, key] = kernel

    def call(self, operator: str, *values):
        keys = set()
        for value in values:
            keys |= set(getattr(value, "keys", ()))
        for key in self.priority[self.skipped :]:
            if key not in keys:
                continue
            if (operator, key) in self.table:
                kernel = self.table[operator, key]
                if kernel is FALLTHROUGH:
                    continue
                return kernel(*values)
            if ("*", key) in self.table:
                kernel = self.table["*", key]
                if kernel is FALLTHROUGH:
                    continue
                return kernel(operator, *values)
            raise NotImplementedError(f"{operator} has no kernel under {key}")
        if ("*", self.priority[-1]) in self.table and self.table[
            "*", self.priority[-1]
        ] is not FALLTHROUGH:
            return self.table["*", self.priority[-1]](operator, *values)
        raise NotImplementedError(f"{operator}: no key left")

    @contextmanager
    def below(self, key: str):
        before = self.skipped
        self.skipped = max(before, self.priority.index(key) + 1)
        try:
            yield
        finally:
            self.skipped = before


def my_dispatcher() -> Dispatcher:
    """Given: an empty dispatcher for the keys of this chapter."""
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="a fallthrough counts in later calls" says=["FALLTHROUGH steps aside in this call alone"]
from contextlib import contextmanager


class Dispatcher:
    def __init__(self, priority: tuple[str, ...]) -> None:
        self.priority = tuple(priority)
        self.table = {}
        self.skipped = 0

    def register(self, operator: str, key: str, kernel) -> None:
        self.table[operator, key] = kernel

    def call(self, operator: str, *values):
        keys = set()
        for value in values:
            keys |= set(getattr(value, "keys", ()))
        for key in self.priority[self.skipped :]:
            if key not in keys:
                continue
            if (operator, key) in self.table:
                kernel = self.table[operator, key]
                if kernel is FALLTHROUGH:
                    self.skipped = max(self.skipped, self.priority.index(key) + 1)
                    continue
                return kernel(*values)
            if ("*", key) in self.table:
                kernel = self.table["*", key]
                if kernel is FALLTHROUGH:
                    continue
                return kernel(operator, *values)
            raise NotImplementedError(f"{operator} has no kernel under {key}")
        raise NotImplementedError(f"{operator}: no key left")

    @contextmanager
    def below(self, key: str):
        before = self.skipped
        self.skipped = max(before, self.priority.index(key) + 1)
        try:
            yield
        finally:
            self.skipped = before


def my_dispatcher() -> Dispatcher:
    """Given: an empty dispatcher for the keys of this chapter."""
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="an exception leaves all blocks" says=["an exception in the inner of two"]
from contextlib import contextmanager


class Dispatcher:
    def __init__(self, priority: tuple[str, ...]) -> None:
        self.priority = tuple(priority)
        self.table = {}
        self.skipped = 0

    def register(self, operator: str, key: str, kernel) -> None:
        self.table[operator, key] = kernel

    def call(self, operator: str, *values):
        keys = set()
        for value in values:
            keys |= set(getattr(value, "keys", ()))
        for key in self.priority[self.skipped :]:
            if key not in keys:
                continue
            if (operator, key) in self.table:
                kernel = self.table[operator, key]
                if kernel is FALLTHROUGH:
                    continue
                return kernel(*values)
            if ("*", key) in self.table:
                kernel = self.table["*", key]
                if kernel is FALLTHROUGH:
                    continue
                return kernel(operator, *values)
            raise NotImplementedError(f"{operator} has no kernel under {key}")
        raise NotImplementedError(f"{operator}: no key left")

    @contextmanager
    def below(self, key: str):
        before = self.skipped
        self.skipped = max(before, self.priority.index(key) + 1)
        try:
            yield
        except BaseException:
            self.skipped = 0
            raise
        self.skipped = before


def my_dispatcher() -> Dispatcher:
    """Given: an empty dispatcher for the keys of this chapter."""
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="the kernel runs below its own key" says=["a block alone skips keys"]
from contextlib import contextmanager


class Dispatcher:
    def __init__(self, priority: tuple[str, ...]) -> None:
        self.priority = tuple(priority)
        self.table = {}
        self.skipped = 0

    def register(self, operator: str, key: str, kernel) -> None:
        self.table[operator, key] = kernel

    def call(self, operator: str, *values):
        keys = set()
        for value in values:
            keys |= set(getattr(value, "keys", ()))
        for key in self.priority[self.skipped :]:
            if key not in keys:
                continue
            if (operator, key) in self.table:
                kernel = self.table[operator, key]
                if kernel is FALLTHROUGH:
                    continue
                with self.below(key):
                    return kernel(*values)
            if ("*", key) in self.table:
                kernel = self.table["*", key]
                if kernel is FALLTHROUGH:
                    continue
                return kernel(operator, *values)
            raise NotImplementedError(f"{operator} has no kernel under {key}")
        raise NotImplementedError(f"{operator}: no key left")

    @contextmanager
    def below(self, key: str):
        before = self.skipped
        self.skipped = max(before, self.priority.index(key) + 1)
        try:
            yield
        finally:
            self.skipped = before


def my_dispatcher() -> Dispatcher:
    """Given: an empty dispatcher for the keys of this chapter."""
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="swallows ValueErrors of a block" says=["lets the exception out, whatever it is"]
from contextlib import contextmanager


class Dispatcher:
    def __init__(self, priority):
        self.priority = tuple(priority)
        self.table = {}
        self.skipped = 0

    def register(self, operator, key, kernel):
        self.table[operator, key] = kernel

    def call(self, operator, *values):
        keys = set()
        for value in values:
            keys |= set(getattr(value, "keys", ()))
        for key in self.priority[self.skipped :]:
            if key not in keys:
                continue
            if (operator, key) in self.table:
                kernel, args = self.table[operator, key], values
            elif ("*", key) in self.table:
                kernel, args = self.table["*", key], (operator, *values)
            else:
                raise NotImplementedError(f"no kernel of {operator} for {key}")
            if kernel is not FALLTHROUGH:
                return kernel(*args)
        raise NotImplementedError(f"no key left for {operator}")

    @contextmanager
    def below(self, key):
        before = self.skipped
        self.skipped = max(before, self.priority.index(key) + 1)
        try:
            yield
        except ValueError:
            pass
        finally:
            self.skipped = before


def my_dispatcher():
    """Given: an empty dispatcher for the keys of this chapter."""
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="not restored when it is interrupted" says=["interrupted inside"]
from contextlib import contextmanager


class Dispatcher:
    def __init__(self, priority):
        self.priority = tuple(priority)
        self.table = {}
        self.skipped = 0

    def register(self, operator, key, kernel):
        self.table[operator, key] = kernel

    def call(self, operator, *values):
        keys = set()
        for value in values:
            keys |= set(getattr(value, "keys", ()))
        for key in self.priority[self.skipped :]:
            if key not in keys:
                continue
            if (operator, key) in self.table:
                kernel, args = self.table[operator, key], values
            elif ("*", key) in self.table:
                kernel, args = self.table["*", key], (operator, *values)
            else:
                raise NotImplementedError(f"no kernel of {operator} for {key}")
            if kernel is not FALLTHROUGH:
                return kernel(*args)
        raise NotImplementedError(f"no key left for {operator}")

    @contextmanager
    def below(self, key):
        before = self.skipped
        self.skipped = max(before, self.priority.index(key) + 1)
        try:
            yield
        except Exception:
            self.skipped = before
            raise
        self.skipped = before


def my_dispatcher():
    """Given: an empty dispatcher for the keys of this chapter."""
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="a set of skipped keys, from which an inner block takes" says=["the outer one still skips the key"]
from contextlib import contextmanager


class Dispatcher:
    def __init__(self, priority):
        self.priority = tuple(priority)
        self.table = {}
        self.off = set()

    def register(self, operator, key, kernel):
        self.table[operator, key] = kernel

    def call(self, operator, *values):
        keys = set()
        for value in values:
            keys |= set(getattr(value, "keys", ()))
        for key in [k for k in self.priority if k not in self.off]:
            if key not in keys:
                continue
            if (operator, key) in self.table:
                kernel, args = self.table[operator, key], values
            elif ("*", key) in self.table:
                kernel, args = self.table["*", key], (operator, *values)
            else:
                raise NotImplementedError(f"no kernel of {operator} for {key}")
            if kernel is not FALLTHROUGH:
                return kernel(*args)
        raise NotImplementedError(f"no key left for {operator}")

    @contextmanager
    def below(self, key):
        mine = set(self.priority[: self.priority.index(key) + 1])
        self.off |= mine
        try:
            yield
        finally:
            self.off -= mine


def my_dispatcher():
    """Given: an empty dispatcher for the keys of this chapter."""
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="a kernel's KeyError means no entry" says=["whatever its class, from one call"]
from contextlib import contextmanager


class Dispatcher:
    def __init__(self, priority):
        self.priority = tuple(priority)
        self.table = {}
        self.skipped = 0

    def register(self, operator, key, kernel):
        self.table[operator, key] = kernel

    def call(self, operator, *values):
        keys = set()
        for value in values:
            keys |= set(getattr(value, "keys", ()))
        for key in self.priority[self.skipped :]:
            if key not in keys:
                continue
            if (operator, key) in self.table:
                kernel, args = self.table[operator, key], values
            elif ("*", key) in self.table:
                kernel, args = self.table["*", key], (operator, *values)
            else:
                raise NotImplementedError(f"no kernel of {operator} for {key}")
            if kernel is not FALLTHROUGH:
                try:
                    return kernel(*args)
                except LookupError:
                    raise NotImplementedError(operator) from None
        raise NotImplementedError(f"no key left for {operator}")

    @contextmanager
    def below(self, key):
        before = self.skipped
        self.skipped = max(before, self.priority.index(key) + 1)
        try:
            yield
        finally:
            self.skipped = before


def my_dispatcher():
    """Given: an empty dispatcher for the keys of this chapter."""
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="a zero asks the next key" says=["kernels that return 0, False and an empty text", "whatever it is"]
from contextlib import contextmanager


class Dispatcher:
    def __init__(self, priority: tuple[str, ...]) -> None:
        self.priority = tuple(priority)
        self.table = {}
        self.skipped = 0

    def register(self, operator: str, key: str, kernel) -> None:
        self.table[operator, key] = kernel

    def call(self, operator: str, *values):
        keys = set()
        for value in values:
            keys |= set(getattr(value, "keys", ()))
        for key in self.priority[self.skipped :]:
            if key not in keys:
                continue
            first = ()
            if (operator, key) in self.table:
                kernel = self.table[operator, key]
            elif ("*", key) in self.table:
                kernel = self.table["*", key]
                first = (operator,)
            else:
                raise NotImplementedError(f"no kernel for {operator} under {key}")
            if kernel is FALLTHROUGH:
                continue
            result = kernel(*first, *values)
            if result is None or isinstance(result, Handle) or result:
                return result
        raise NotImplementedError(f"no key is left for {operator}")

    @contextmanager
    def below(self, key: str):
        before = self.skipped
        self.skipped = max(before, self.priority.index(key) + 1)
        try:
            yield
        finally:
            self.skipped = before


def my_dispatcher() -> Dispatcher:
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="the first fallback stays" breaks="A later entry replaces an earlier one" says=["a fallback registered twice"]
from contextlib import contextmanager


class Dispatcher:
    def __init__(self, priority: tuple[str, ...]) -> None:
        self.priority = tuple(priority)
        self.table = {}
        self.skipped = 0

    def register(self, operator: str, key: str, kernel) -> None:
        if operator == "*" and (operator, key) in self.table:
            return
        self.table[operator, key] = kernel

    def call(self, operator: str, *values):
        keys = set()
        for value in values:
            keys |= set(getattr(value, "keys", ()))
        for key in self.priority[self.skipped :]:
            if key not in keys:
                continue
            first = ()
            if (operator, key) in self.table:
                kernel = self.table[operator, key]
            elif ("*", key) in self.table:
                kernel = self.table["*", key]
                first = (operator,)
            else:
                raise NotImplementedError(f"no kernel for {operator} under {key}")
            if kernel is FALLTHROUGH:
                continue
            return kernel(*first, *values)
        raise NotImplementedError(f"no key is left for {operator}")

    @contextmanager
    def below(self, key: str):
        before = self.skipped
        self.skipped = max(before, self.priority.index(key) + 1)
        try:
            yield
        finally:
            self.skipped = before


def my_dispatcher() -> Dispatcher:
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="skips before the with" says=["a block that is made before its with"]
from contextlib import contextmanager


class Dispatcher:
    def __init__(self, priority: tuple[str, ...]) -> None:
        self.priority = tuple(priority)
        self.table = {}
        self.skipped = 0

    def register(self, operator: str, key: str, kernel) -> None:
        self.table[operator, key] = kernel

    def call(self, operator: str, *values):
        keys = set()
        for value in values:
            keys |= set(getattr(value, "keys", ()))
        for key in self.priority[self.skipped :]:
            if key not in keys:
                continue
            first = ()
            if (operator, key) in self.table:
                kernel = self.table[operator, key]
            elif ("*", key) in self.table:
                kernel = self.table["*", key]
                first = (operator,)
            else:
                raise NotImplementedError(f"no kernel for {operator} under {key}")
            if kernel is FALLTHROUGH:
                continue
            return kernel(*first, *values)
        raise NotImplementedError(f"no key is left for {operator}")

    def below(self, key: str):
        before = self.skipped
        self.skipped = max(before, self.priority.index(key) + 1)

        @contextmanager
        def block():
            try:
                yield
            finally:
                self.skipped = before

        return block()


def my_dispatcher() -> Dispatcher:
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="inside a block what is missing is skipped" says=["inside a block, a key without an entry"]
from contextlib import contextmanager


class Dispatcher:
    def __init__(self, priority: tuple[str, ...]) -> None:
        self.priority = tuple(priority)
        self.table = {}
        self.skipped = 0

    def register(self, operator: str, key: str, kernel) -> None:
        self.table[operator, key] = kernel

    def call(self, operator: str, *values):
        keys = set()
        for value in values:
            keys |= set(getattr(value, "keys", ()))
        for key in self.priority[self.skipped :]:
            if key not in keys:
                continue
            first = ()
            if (operator, key) in self.table:
                kernel = self.table[operator, key]
            elif ("*", key) in self.table:
                kernel = self.table["*", key]
                first = (operator,)
            else:
                if self.skipped:
                    continue
                raise NotImplementedError(f"no kernel for {operator} under {key}")
            if kernel is FALLTHROUGH:
                continue
            return kernel(*first, *values)
        raise NotImplementedError(f"no key is left for {operator}")

    @contextmanager
    def below(self, key: str):
        before = self.skipped
        self.skipped = max(before, self.priority.index(key) + 1)
        try:
            yield
        finally:
            self.skipped = before


def my_dispatcher() -> Dispatcher:
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="a kernel's own calls skip nothing" says=["inside a block, a kernel that calls another operator"]
from contextlib import contextmanager


class Dispatcher:
    def __init__(self, priority: tuple[str, ...]) -> None:
        self.priority = tuple(priority)
        self.table = {}
        self.skipped = 0

    def register(self, operator: str, key: str, kernel) -> None:
        self.table[operator, key] = kernel

    def call(self, operator: str, *values):
        keys = set()
        for value in values:
            keys |= set(getattr(value, "keys", ()))
        for key in self.priority[self.skipped :]:
            if key not in keys:
                continue
            first = ()
            if (operator, key) in self.table:
                kernel = self.table[operator, key]
            elif ("*", key) in self.table:
                kernel = self.table["*", key]
                first = (operator,)
            else:
                raise NotImplementedError(f"no kernel for {operator} under {key}")
            if kernel is FALLTHROUGH:
                continue
            kept, self.skipped = self.skipped, 0
            try:
                return kernel(*first, *values)
            finally:
                self.skipped = kept
        raise NotImplementedError(f"no key is left for {operator}")

    @contextmanager
    def below(self, key: str):
        before = self.skipped
        self.skipped = max(before, self.priority.index(key) + 1)
        try:
            yield
        finally:
            self.skipped = before


def my_dispatcher() -> Dispatcher:
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="a value is hashed" says=["a list beside a handle"]
from contextlib import contextmanager


class Dispatcher:
    def __init__(self, priority: tuple[str, ...]) -> None:
        self.priority = tuple(priority)
        self.table = {}
        self.skipped = 0

    def register(self, operator: str, key: str, kernel) -> None:
        self.table[operator, key] = kernel

    def call(self, operator: str, *values):
        keys = set()
        for value in dict.fromkeys(values):
            keys |= set(getattr(value, "keys", ()))
        for key in self.priority[self.skipped :]:
            if key not in keys:
                continue
            first = ()
            if (operator, key) in self.table:
                kernel = self.table[operator, key]
            elif ("*", key) in self.table:
                kernel = self.table["*", key]
                first = (operator,)
            else:
                raise NotImplementedError(f"no kernel for {operator} under {key}")
            if kernel is FALLTHROUGH:
                continue
            return kernel(*first, *values)
        raise NotImplementedError(f"no key is left for {operator}")

    @contextmanager
    def below(self, key: str):
        before = self.skipped
        self.skipped = max(before, self.priority.index(key) + 1)
        try:
            yield
        finally:
            self.skipped = before


def my_dispatcher() -> Dispatcher:
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="RuntimeErrors are taken for missing kernels" says=["an error of the kernel's passes through"]
from contextlib import contextmanager


class Dispatcher:
    def __init__(self, priority: tuple[str, ...]) -> None:
        self.priority = tuple(priority)
        self.table = {}
        self.skipped = 0

    def register(self, operator: str, key: str, kernel) -> None:
        self.table[operator, key] = kernel

    def call(self, operator: str, *values):
        keys = set()
        for value in values:
            keys |= set(getattr(value, "keys", ()))
        for key in self.priority[self.skipped :]:
            if key not in keys:
                continue
            first = ()
            if (operator, key) in self.table:
                kernel = self.table[operator, key]
            elif ("*", key) in self.table:
                kernel = self.table["*", key]
                first = (operator,)
            else:
                raise NotImplementedError(f"no kernel for {operator} under {key}")
            if kernel is FALLTHROUGH:
                continue
            try:
                return kernel(*first, *values)
            except RuntimeError as e:
                raise NotImplementedError(str(e)) from e
        raise NotImplementedError(f"no key is left for {operator}")

    @contextmanager
    def below(self, key: str):
        before = self.skipped
        self.skipped = max(before, self.priority.index(key) + 1)
        try:
            yield
        finally:
            self.skipped = before


def my_dispatcher() -> Dispatcher:
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="a cache that a later fallback doesn't empty" breaks="A later entry replaces an earlier one" says=["a call after each of several registrations", "the table is read anew at each call"]
from contextlib import contextmanager


class Dispatcher:
    """Kernels are looked up once for each operator and key set, as PyTorch does it."""

    def __init__(self, priority: tuple[str, ...]) -> None:
        self.priority = tuple(priority)
        self.table: dict[str, dict[str, object]] = {}
        self.resolved: dict[str, dict[tuple, tuple]] = {}
        self.level = 0

    def register(self, operator: str, key: str, kernel) -> None:
        self.table.setdefault(operator, {})[key] = kernel
        self.resolved.pop(operator, None)  # what was found before is out of date

    def resolve(self, operator: str, keys: frozenset) -> tuple:
        found = self.resolved.setdefault(operator, {})
        if (keys, self.level) in found:
            return found[keys, self.level]
        own, general = self.table.get(operator, {}), self.table.get("*", {})
        for key in self.priority[self.level :]:
            if key not in keys:
                continue
            if key in own:
                entry = (own[key], ())
            elif key in general:
                entry = (general[key], (operator,))
            else:
                raise NotImplementedError(f"no kernel for {operator} under {key}")
            if entry[0] is not FALLTHROUGH:
                found[keys, self.level] = entry
                return entry
        raise NotImplementedError(f"no key left for {operator}")

    def call(self, operator: str, *values):
        keys = frozenset(k for value in values for k in getattr(value, "keys", ()))
        kernel, first = self.resolve(operator, keys)
        return kernel(*first, *values)

    @contextmanager
    def below(self, key: str):
        before = self.level
        self.level = max(before, self.priority.index(key) + 1)
        try:
            yield
        finally:
            self.level = before


def my_dispatcher() -> Dispatcher:
    """Given: an empty dispatcher for the keys of this chapter."""
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="handles alone have keys" breaks="A value of any class may have `keys`" says=["keys on something that is no handle"]
from contextlib import contextmanager


class Dispatcher:
    def __init__(self, priority: tuple[str, ...]) -> None:
        self.priority = tuple(priority)
        self.table = {}
        self.skip = 0

    def register(self, operator: str, key: str, kernel) -> None:
        self.table[key, operator] = kernel

    def call(self, operator: str, *values):
        handles = [value for value in values if isinstance(value, Handle)]
        keys = frozenset().union(*(handle.keys for handle in handles))
        for key in self.priority[self.skip :]:
            if key not in keys:
                continue
            if (key, operator) in self.table:
                kernel, arguments = self.table[key, operator], values
            elif (key, "*") in self.table:
                kernel, arguments = self.table[key, "*"], (operator, *values)
            else:
                raise NotImplementedError(f"no entry for {operator} under {key}")
            if kernel is not FALLTHROUGH:
                return kernel(*arguments)
        raise NotImplementedError(f"no key is left for {operator}")

    @contextmanager
    def below(self, key: str):
        old, self.skip = self.skip, max(self.skip, self.priority.index(key) + 1)
        try:
            yield
        finally:
            self.skip = old


def my_dispatcher() -> Dispatcher:
    """Given: an empty dispatcher for the keys of this chapter."""
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="a kernel that returns NotImplemented is taken as a fallthrough" breaks="what it returns, be it `None`, is returned" says=["only the entry FALLTHROUGH steps aside"]
from contextlib import contextmanager


class Dispatcher:
    def __init__(self, priority: tuple[str, ...]) -> None:
        self.priority, self.table, self.level = tuple(priority), {}, 0

    def register(self, operator: str, key: str, kernel) -> None:
        self.table[operator, key] = kernel

    def call(self, operator: str, *values):
        keys = set()
        for value in values:
            keys.update(getattr(value, "keys", ()))
        for key in self.priority[self.level :]:
            if key not in keys:
                continue
            if (operator, key) in self.table:
                kernel, first = self.table[operator, key], ()
            elif ("*", key) in self.table:
                kernel, first = self.table["*", key], (operator,)
            else:
                raise NotImplementedError(f"no kernel for {operator!r} under {key!r}")
            if kernel is FALLTHROUGH:
                continue
            result = kernel(*first, *values)
            if result is not NotImplemented:
                return result
        raise NotImplementedError(f"no key left for {operator!r}")

    @contextmanager
    def below(self, key: str):
        before = self.level
        self.level = max(before, self.priority.index(key) + 1)
        try:
            yield
        finally:
            self.level = before


def my_dispatcher() -> Dispatcher:
    """Given: an empty dispatcher for the keys of this chapter."""
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% wrong="a block remembers the level of the time it was made, not entered" breaks="it is as before" says=["not when below(…) made it"]
class Block:
    def __init__(self, dispatcher, key):
        self.dispatcher = dispatcher
        self.before = dispatcher.level
        self.level = dispatcher.priority.index(key) + 1

    def __enter__(self):
        self.dispatcher.level = max(self.dispatcher.level, self.level)

    def __exit__(self, *error):
        self.dispatcher.level = self.before
        return False


class Dispatcher:
    def __init__(self, priority: tuple[str, ...]) -> None:
        self.priority, self.table, self.level = tuple(priority), {}, 0

    def register(self, operator: str, key: str, kernel) -> None:
        self.table[operator, key] = kernel

    def call(self, operator: str, *values):
        keys = set().union(*(getattr(value, "keys", ()) for value in values))
        for key in self.priority[self.level :]:
            if key not in keys:
                continue
            if (operator, key) in self.table:
                kernel, first = self.table[operator, key], ()
            elif ("*", key) in self.table:
                kernel, first = self.table["*", key], (operator,)
            else:
                raise NotImplementedError(f"{operator} has no kernel for {key}")
            if kernel is not FALLTHROUGH:
                return kernel(*first, *values)
        raise NotImplementedError(f"no key is left for {operator}")

    def below(self, key: str):
        return Block(self, key)


def my_dispatcher() -> Dispatcher:
    """Given: an empty dispatcher for the keys of this chapter."""
    return Dispatcher(("Autograd", "List", "NumPy"))
