# %% [markdown]
# Rules:
#
# - "It calls the operator below Autograd"
# - "returns that result"
# - "If any of the values requires grad"
# - "the result gets `requires_grad = True`"
# - "in addition to its own"
# - "a `node` in which you keep what backward needs"
# - "Else it is left alone"
# - "the key by itself doesn't mean that something is recorded"
# - "starts with the gradient `g`"
# - "in each leaf that requires grad"
# - "If there was one already, the two are added"
# - "by `dispatcher.call("add", …)`"
# - "in a new handle"
# - "Only leaves (`node is None`) keep a `grad`"
# - "`slopes` may hold `None` for a value: nothing is paid there"
# - "Compute everything below Autograd, so that nothing is recorded"
# - "no recursion"
# - "calling each step's `slopes` once"
# - "leave those that you are given as they are"
#
# Admits:
#
# - "If there was one already": an old gradient that requires grad
# - "starts with the gradient `g` (a handle) at `result`": from a leaf
# - "If there was one already": twice
# - "Chains of 3,000 steps have to work": a chain of 3,000
# - "`slopes` may hold `None`": a slope that is None, at a leaf
# - "the key by itself": the key Autograd, but nothing requires grad
# - "All values are handles": a backend that stores lists

# %% wrong="calls the kernel again in front" breaks="It calls the operator below Autograd" says=["RecursionError"]
from collections.abc import Callable


def autograd_kernel(dispatcher: "Dispatcher", operator: str, slopes: Callable) -> Callable:
    """A kernel for the key Autograd: calls below it, then puts a note on the result."""

    def kernel(*values):
        result = dispatcher.call(operator, *values)
        if any(value.requires_grad for value in values):
            result.requires_grad = True
            result.keys |= {"Autograd"}
            result.node = slopes, values
        return result

    return kernel


def backward(dispatcher: "Dispatcher", result: Handle, g: Handle) -> None:
    """Bring ``g`` from ``result`` back to the leaves, and add it to their ``grad``."""
    users, waiting = {result: 0}, [result]
    while waiting:
        handle = waiting.pop()
        for value in handle.node[1] if handle.node else ():
            if value not in users:
                users[value] = 0
                waiting.append(value)
            users[value] += 1

    def add(known, more):
        return more if known is None else dispatcher.call("add", known, more)

    account, free = {result: g}, [result]
    with dispatcher.below("Autograd"):
        while free:
            handle = free.pop()
            g = account.pop(handle, None)
            if handle.node is None:
                if handle.requires_grad and g is not None:
                    handle.grad = add(handle.grad, g)
                continue
            slopes, values = handle.node
            parts = [None] * len(values)
            if g is not None and handle.requires_grad:
                parts = slopes(dispatcher.call, g, handle, *values)
            for value, part in zip(values, parts, strict=True):
                if part is not None:
                    account[value] = add(account.get(value), part)
                users[value] -= 1
                if users[value] == 0:
                    free.append(value)


def autograd_in_front(dispatcher: "Dispatcher", table: dict) -> None:
    """Given: put your kernel in front of each operator of a table of slopes."""
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="the first argument decides" says=["not the first alone"]
from collections.abc import Callable


def autograd_kernel(dispatcher: "Dispatcher", operator: str, slopes: Callable) -> Callable:
    """A kernel for the key Autograd: calls below it, then puts a note on the result."""

    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if values[0].requires_grad:
            result.requires_grad = True
            result.keys |= {"Autograd"}
            result.node = slopes, values
        return result

    return kernel


def backward(dispatcher: "Dispatcher", result: Handle, g: Handle) -> None:
    """Bring ``g`` from ``result`` back to the leaves, and add it to their ``grad``."""
    users, waiting = {result: 0}, [result]
    while waiting:
        handle = waiting.pop()
        for value in handle.node[1] if handle.node else ():
            if value not in users:
                users[value] = 0
                waiting.append(value)
            users[value] += 1

    def add(known, more):
        return more if known is None else dispatcher.call("add", known, more)

    account, free = {result: g}, [result]
    with dispatcher.below("Autograd"):
        while free:
            handle = free.pop()
            g = account.pop(handle, None)
            if handle.node is None:
                if handle.requires_grad and g is not None:
                    handle.grad = add(handle.grad, g)
                continue
            slopes, values = handle.node
            parts = [None] * len(values)
            if g is not None and handle.requires_grad:
                parts = slopes(dispatcher.call, g, handle, *values)
            for value, part in zip(values, parts, strict=True):
                if part is not None:
                    account[value] = add(account.get(value), part)
                users[value] -= 1
                if users[value] == 0:
                    free.append(value)


def autograd_in_front(dispatcher: "Dispatcher", table: dict) -> None:
    """Given: put your kernel in front of each operator of a table of slopes."""
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="all arguments have to" breaks="If any of the values requires grad" says=["a sum"]
from collections.abc import Callable


def autograd_kernel(dispatcher: "Dispatcher", operator: str, slopes: Callable) -> Callable:
    """A kernel for the key Autograd: calls below it, then puts a note on the result."""

    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if all(value.requires_grad for value in values):
            result.requires_grad = True
            result.keys |= {"Autograd"}
            result.node = slopes, values
        return result

    return kernel


def backward(dispatcher: "Dispatcher", result: Handle, g: Handle) -> None:
    """Bring ``g`` from ``result`` back to the leaves, and add it to their ``grad``."""
    users, waiting = {result: 0}, [result]
    while waiting:
        handle = waiting.pop()
        for value in handle.node[1] if handle.node else ():
            if value not in users:
                users[value] = 0
                waiting.append(value)
            users[value] += 1

    def add(known, more):
        return more if known is None else dispatcher.call("add", known, more)

    account, free = {result: g}, [result]
    with dispatcher.below("Autograd"):
        while free:
            handle = free.pop()
            g = account.pop(handle, None)
            if handle.node is None:
                if handle.requires_grad and g is not None:
                    handle.grad = add(handle.grad, g)
                continue
            slopes, values = handle.node
            parts = [None] * len(values)
            if g is not None and handle.requires_grad:
                parts = slopes(dispatcher.call, g, handle, *values)
            for value, part in zip(values, parts, strict=True):
                if part is not None:
                    account[value] = add(account.get(value), part)
                users[value] -= 1
                if users[value] == 0:
                    free.append(value)


def autograd_in_front(dispatcher: "Dispatcher", table: dict) -> None:
    """Given: put your kernel in front of each operator of a table of slopes."""
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="records by the key" breaks="the key by itself doesn't mean that something is recorded" says=["the key alone says nothing"]
from collections.abc import Callable


def autograd_kernel(dispatcher: "Dispatcher", operator: str, slopes: Callable) -> Callable:
    """A kernel for the key Autograd: calls below it, then puts a note on the result."""

    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any("Autograd" in value.keys for value in values):
            result.requires_grad = True
            result.keys |= {"Autograd"}
            result.node = slopes, values
        return result

    return kernel


def backward(dispatcher: "Dispatcher", result: Handle, g: Handle) -> None:
    """Bring ``g`` from ``result`` back to the leaves, and add it to their ``grad``."""
    users, waiting = {result: 0}, [result]
    while waiting:
        handle = waiting.pop()
        for value in handle.node[1] if handle.node else ():
            if value not in users:
                users[value] = 0
                waiting.append(value)
            users[value] += 1

    def add(known, more):
        return more if known is None else dispatcher.call("add", known, more)

    account, free = {result: g}, [result]
    with dispatcher.below("Autograd"):
        while free:
            handle = free.pop()
            g = account.pop(handle, None)
            if handle.node is None:
                if handle.requires_grad and g is not None:
                    handle.grad = add(handle.grad, g)
                continue
            slopes, values = handle.node
            parts = [None] * len(values)
            if g is not None and handle.requires_grad:
                parts = slopes(dispatcher.call, g, handle, *values)
            for value, part in zip(values, parts, strict=True):
                if part is not None:
                    account[value] = add(account.get(value), part)
                users[value] -= 1
                if users[value] == 0:
                    free.append(value)


def autograd_in_front(dispatcher: "Dispatcher", table: dict) -> None:
    """Given: put your kernel in front of each operator of a table of slopes."""
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="records always" says=["leave the result alone"]
from collections.abc import Callable


def autograd_kernel(dispatcher: "Dispatcher", operator: str, slopes: Callable) -> Callable:
    """A kernel for the key Autograd: calls below it, then puts a note on the result."""

    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        result.requires_grad = True
        result.keys |= {"Autograd"}
        result.node = slopes, values
        return result

    return kernel


def backward(dispatcher: "Dispatcher", result: Handle, g: Handle) -> None:
    """Bring ``g`` from ``result`` back to the leaves, and add it to their ``grad``."""
    users, waiting = {result: 0}, [result]
    while waiting:
        handle = waiting.pop()
        for value in handle.node[1] if handle.node else ():
            if value not in users:
                users[value] = 0
                waiting.append(value)
            users[value] += 1

    def add(known, more):
        return more if known is None else dispatcher.call("add", known, more)

    account, free = {result: g}, [result]
    with dispatcher.below("Autograd"):
        while free:
            handle = free.pop()
            g = account.pop(handle, None)
            if handle.node is None:
                if handle.requires_grad and g is not None:
                    handle.grad = add(handle.grad, g)
                continue
            slopes, values = handle.node
            parts = [None] * len(values)
            if g is not None and handle.requires_grad:
                parts = slopes(dispatcher.call, g, handle, *values)
            for value, part in zip(values, parts, strict=True):
                if part is not None:
                    account[value] = add(account.get(value), part)
                users[value] -= 1
                if users[value] == 0:
                    free.append(value)


def autograd_in_front(dispatcher: "Dispatcher", table: dict) -> None:
    """Given: put your kernel in front of each operator of a table of slopes."""
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="no key on the result" says=["has the key Autograd too"]
from collections.abc import Callable


def autograd_kernel(dispatcher: "Dispatcher", operator: str, slopes: Callable) -> Callable:
    """A kernel for the key Autograd: calls below it, then puts a note on the result."""

    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any(value.requires_grad for value in values):
            result.requires_grad = True
            result.node = slopes, values
        return result

    return kernel


def backward(dispatcher: "Dispatcher", result: Handle, g: Handle) -> None:
    """Bring ``g`` from ``result`` back to the leaves, and add it to their ``grad``."""
    users, waiting = {result: 0}, [result]
    while waiting:
        handle = waiting.pop()
        for value in handle.node[1] if handle.node else ():
            if value not in users:
                users[value] = 0
                waiting.append(value)
            users[value] += 1

    def add(known, more):
        return more if known is None else dispatcher.call("add", known, more)

    account, free = {result: g}, [result]
    with dispatcher.below("Autograd"):
        while free:
            handle = free.pop()
            g = account.pop(handle, None)
            if handle.node is None:
                if handle.requires_grad and g is not None:
                    handle.grad = add(handle.grad, g)
                continue
            slopes, values = handle.node
            parts = [None] * len(values)
            if g is not None and handle.requires_grad:
                parts = slopes(dispatcher.call, g, handle, *values)
            for value, part in zip(values, parts, strict=True):
                if part is not None:
                    account[value] = add(account.get(value), part)
                users[value] -= 1
                if users[value] == 0:
                    free.append(value)


def autograd_in_front(dispatcher: "Dispatcher", table: dict) -> None:
    """Given: put your kernel in front of each operator of a table of slopes."""
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="loses the backend's key" breaks="in addition to its own" says=["has the key Autograd too"]
from collections.abc import Callable


def autograd_kernel(dispatcher: "Dispatcher", operator: str, slopes: Callable) -> Callable:
    """A kernel for the key Autograd: calls below it, then puts a note on the result."""

    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any(value.requires_grad for value in values):
            result.requires_grad = True
            result.keys = frozenset({"Autograd"})
            result.node = slopes, values
        return result

    return kernel


def backward(dispatcher: "Dispatcher", result: Handle, g: Handle) -> None:
    """Bring ``g`` from ``result`` back to the leaves, and add it to their ``grad``."""
    users, waiting = {result: 0}, [result]
    while waiting:
        handle = waiting.pop()
        for value in handle.node[1] if handle.node else ():
            if value not in users:
                users[value] = 0
                waiting.append(value)
            users[value] += 1

    def add(known, more):
        return more if known is None else dispatcher.call("add", known, more)

    account, free = {result: g}, [result]
    with dispatcher.below("Autograd"):
        while free:
            handle = free.pop()
            g = account.pop(handle, None)
            if handle.node is None:
                if handle.requires_grad and g is not None:
                    handle.grad = add(handle.grad, g)
                continue
            slopes, values = handle.node
            parts = [None] * len(values)
            if g is not None and handle.requires_grad:
                parts = slopes(dispatcher.call, g, handle, *values)
            for value, part in zip(values, parts, strict=True):
                if part is not None:
                    account[value] = add(account.get(value), part)
                users[value] -= 1
                if users[value] == 0:
                    free.append(value)


def autograd_in_front(dispatcher: "Dispatcher", table: dict) -> None:
    """Given: put your kernel in front of each operator of a table of slopes."""
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="requires_grad forgotten" breaks="the result gets `requires_grad = True`" says=["the result requires grad"]
from collections.abc import Callable


def autograd_kernel(dispatcher: "Dispatcher", operator: str, slopes: Callable) -> Callable:
    """A kernel for the key Autograd: calls below it, then puts a note on the result."""

    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any(value.requires_grad for value in values):
            result.keys |= {"Autograd"}
            result.node = slopes, values
        return result

    return kernel


def backward(dispatcher: "Dispatcher", result: Handle, g: Handle) -> None:
    """Bring ``g`` from ``result`` back to the leaves, and add it to their ``grad``."""
    users, waiting = {result: 0}, [result]
    while waiting:
        handle = waiting.pop()
        for value in handle.node[1] if handle.node else ():
            if value not in users:
                users[value] = 0
                waiting.append(value)
            users[value] += 1

    def add(known, more):
        return more if known is None else dispatcher.call("add", known, more)

    account, free = {result: g}, [result]
    with dispatcher.below("Autograd"):
        while free:
            handle = free.pop()
            g = account.pop(handle, None)
            if handle.node is None:
                if handle.requires_grad and g is not None:
                    handle.grad = add(handle.grad, g)
                continue
            slopes, values = handle.node
            parts = [None] * len(values)
            if g is not None and handle.requires_grad:
                parts = slopes(dispatcher.call, g, handle, *values)
            for value, part in zip(values, parts, strict=True):
                if part is not None:
                    account[value] = add(account.get(value), part)
                users[value] -= 1
                if users[value] == 0:
                    free.append(value)


def autograd_in_front(dispatcher: "Dispatcher", table: dict) -> None:
    """Given: put your kernel in front of each operator of a table of slopes."""
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="the node on the argument" breaks="a `node` in which you keep what backward needs" says=["the result is what gets a node"]
from collections.abc import Callable


def autograd_kernel(dispatcher: "Dispatcher", operator: str, slopes: Callable) -> Callable:
    """A kernel for the key Autograd: calls below it, then puts a note on the result."""

    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any(value.requires_grad for value in values):
            result.requires_grad = True
            result.keys |= {"Autograd"}
            result.node = slopes, values
            values[0].node = slopes, values
        return result

    return kernel


def backward(dispatcher: "Dispatcher", result: Handle, g: Handle) -> None:
    """Bring ``g`` from ``result`` back to the leaves, and add it to their ``grad``."""
    users, waiting = {result: 0}, [result]
    while waiting:
        handle = waiting.pop()
        for value in handle.node[1] if handle.node else ():
            if value not in users:
                users[value] = 0
                waiting.append(value)
            users[value] += 1

    def add(known, more):
        return more if known is None else dispatcher.call("add", known, more)

    account, free = {result: g}, [result]
    with dispatcher.below("Autograd"):
        while free:
            handle = free.pop()
            g = account.pop(handle, None)
            if handle.node is None:
                if handle.requires_grad and g is not None:
                    handle.grad = add(handle.grad, g)
                continue
            slopes, values = handle.node
            parts = [None] * len(values)
            if g is not None and handle.requires_grad:
                parts = slopes(dispatcher.call, g, handle, *values)
            for value, part in zip(values, parts, strict=True):
                if part is not None:
                    account[value] = add(account.get(value), part)
                users[value] -= 1
                if users[value] == 0:
                    free.append(value)


def autograd_in_front(dispatcher: "Dispatcher", table: dict) -> None:
    """Given: put your kernel in front of each operator of a table of slopes."""
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="writes grad on the arguments" says=["the arguments stay as they were"]
from collections.abc import Callable


def autograd_kernel(dispatcher: "Dispatcher", operator: str, slopes: Callable) -> Callable:
    """A kernel for the key Autograd: calls below it, then puts a note on the result."""

    def kernel(*values):
        for value in values:
            value.grad = value
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any(value.requires_grad for value in values):
            result.requires_grad = True
            result.keys |= {"Autograd"}
            result.node = slopes, values
        return result

    return kernel


def backward(dispatcher: "Dispatcher", result: Handle, g: Handle) -> None:
    """Bring ``g`` from ``result`` back to the leaves, and add it to their ``grad``."""
    users, waiting = {result: 0}, [result]
    while waiting:
        handle = waiting.pop()
        for value in handle.node[1] if handle.node else ():
            if value not in users:
                users[value] = 0
                waiting.append(value)
            users[value] += 1

    def add(known, more):
        return more if known is None else dispatcher.call("add", known, more)

    account, free = {result: g}, [result]
    with dispatcher.below("Autograd"):
        while free:
            handle = free.pop()
            g = account.pop(handle, None)
            if handle.node is None:
                if handle.requires_grad and g is not None:
                    handle.grad = add(handle.grad, g)
                continue
            slopes, values = handle.node
            parts = [None] * len(values)
            if g is not None and handle.requires_grad:
                parts = slopes(dispatcher.call, g, handle, *values)
            for value, part in zip(values, parts, strict=True):
                if part is not None:
                    account[value] = add(account.get(value), part)
                users[value] -= 1
                if users[value] == 0:
                    free.append(value)


def autograd_in_front(dispatcher: "Dispatcher", table: dict) -> None:
    """Given: put your kernel in front of each operator of a table of slopes."""
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="overwrites a payment" says=["both payments to A count"]
from collections.abc import Callable


def autograd_kernel(dispatcher: "Dispatcher", operator: str, slopes: Callable) -> Callable:
    """A kernel for the key Autograd: calls below it, then puts a note on the result."""

    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any(value.requires_grad for value in values):
            result.requires_grad = True
            result.keys |= {"Autograd"}
            result.node = slopes, values
        return result

    return kernel


def backward(dispatcher: "Dispatcher", result: Handle, g: Handle) -> None:
    """Bring ``g`` from ``result`` back to the leaves, and add it to their ``grad``."""
    users, waiting = {result: 0}, [result]
    while waiting:
        handle = waiting.pop()
        for value in handle.node[1] if handle.node else ():
            if value not in users:
                users[value] = 0
                waiting.append(value)
            users[value] += 1

    def add(known, more):
        return more if known is None else dispatcher.call("add", known, more)

    account, free = {result: g}, [result]
    with dispatcher.below("Autograd"):
        while free:
            handle = free.pop()
            g = account.pop(handle, None)
            if handle.node is None:
                if handle.requires_grad and g is not None:
                    handle.grad = add(handle.grad, g)
                continue
            slopes, values = handle.node
            parts = [None] * len(values)
            if g is not None and handle.requires_grad:
                parts = slopes(dispatcher.call, g, handle, *values)
            for value, part in zip(values, parts, strict=True):
                if part is not None:
                    account[value] = part
                users[value] -= 1
                if users[value] == 0:
                    free.append(value)


def autograd_in_front(dispatcher: "Dispatcher", table: dict) -> None:
    """Given: put your kernel in front of each operator of a table of slopes."""
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="hands on too early" says=["when everyone who used it has paid in"]
from collections.abc import Callable


def autograd_kernel(dispatcher: "Dispatcher", operator: str, slopes: Callable) -> Callable:
    """A kernel for the key Autograd: calls below it, then puts a note on the result."""

    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any(value.requires_grad for value in values):
            result.requires_grad = True
            result.keys |= {"Autograd"}
            result.node = slopes, values
        return result

    return kernel


def backward(dispatcher: "Dispatcher", result: Handle, g: Handle) -> None:
    """Bring ``g`` from ``result`` back to the leaves, and add it to their ``grad``."""
    done = []
    users, waiting = {result: 0}, [result]
    while waiting:
        handle = waiting.pop()
        for value in handle.node[1] if handle.node else ():
            if value not in users:
                users[value] = 0
                waiting.append(value)
            users[value] += 1

    def add(known, more):
        return more if known is None else dispatcher.call("add", known, more)

    account, free = {result: g}, [result]
    with dispatcher.below("Autograd"):
        while free:
            handle = free.pop(0)
            g = account.pop(handle, None)
            if handle.node is None:
                if handle.requires_grad and g is not None:
                    handle.grad = add(handle.grad, g)
                continue
            slopes, values = handle.node
            parts = [None] * len(values)
            if g is not None and handle.requires_grad:
                parts = slopes(dispatcher.call, g, handle, *values)
            for value, part in zip(values, parts, strict=True):
                if part is not None:
                    account[value] = add(account.get(value), part)
                if value not in done:
                    done.append(value)
                    free.append(value)


def autograd_in_front(dispatcher: "Dispatcher", table: dict) -> None:
    """Given: put your kernel in front of each operator of a table of slopes."""
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="overwrites the leaf's grad" breaks="If there was one already, the two are added" says=["adds what the second backward brings"]
from collections.abc import Callable


def autograd_kernel(dispatcher: "Dispatcher", operator: str, slopes: Callable) -> Callable:
    """A kernel for the key Autograd: calls below it, then puts a note on the result."""

    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any(value.requires_grad for value in values):
            result.requires_grad = True
            result.keys |= {"Autograd"}
            result.node = slopes, values
        return result

    return kernel


def backward(dispatcher: "Dispatcher", result: Handle, g: Handle) -> None:
    """Bring ``g`` from ``result`` back to the leaves, and add it to their ``grad``."""
    users, waiting = {result: 0}, [result]
    while waiting:
        handle = waiting.pop()
        for value in handle.node[1] if handle.node else ():
            if value not in users:
                users[value] = 0
                waiting.append(value)
            users[value] += 1

    def add(known, more):
        return more if known is None else dispatcher.call("add", known, more)

    account, free = {result: g}, [result]
    with dispatcher.below("Autograd"):
        while free:
            handle = free.pop()
            g = account.pop(handle, None)
            if handle.node is None:
                if handle.requires_grad and g is not None:
                    handle.grad = g
                continue
            slopes, values = handle.node
            parts = [None] * len(values)
            if g is not None and handle.requires_grad:
                parts = slopes(dispatcher.call, g, handle, *values)
            for value, part in zip(values, parts, strict=True):
                if part is not None:
                    account[value] = add(account.get(value), part)
                users[value] -= 1
                if users[value] == 0:
                    free.append(value)


def autograd_in_front(dispatcher: "Dispatcher", table: dict) -> None:
    """Given: put your kernel in front of each operator of a table of slopes."""
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="adds into the old handle" breaks="in a new handle" says=["in a new handle"]
from collections.abc import Callable


def autograd_kernel(dispatcher: "Dispatcher", operator: str, slopes: Callable) -> Callable:
    """A kernel for the key Autograd: calls below it, then puts a note on the result."""

    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any(value.requires_grad for value in values):
            result.requires_grad = True
            result.keys |= {"Autograd"}
            result.node = slopes, values
        return result

    return kernel


def backward(dispatcher: "Dispatcher", result: Handle, g: Handle) -> None:
    """Bring ``g`` from ``result`` back to the leaves, and add it to their ``grad``."""
    users, waiting = {result: 0}, [result]
    while waiting:
        handle = waiting.pop()
        for value in handle.node[1] if handle.node else ():
            if value not in users:
                users[value] = 0
                waiting.append(value)
            users[value] += 1

    def add(known, more):
        return more if known is None else dispatcher.call("add", known, more)

    account, free = {result: g}, [result]
    with dispatcher.below("Autograd"):
        while free:
            handle = free.pop()
            g = account.pop(handle, None)
            if handle.node is None:
                if handle.requires_grad and g is not None:
                    total = add(handle.grad, g)
                    if handle.grad is None:
                        handle.grad = total
                    else:
                        handle.grad.stored = total.stored
                continue
            slopes, values = handle.node
            parts = [None] * len(values)
            if g is not None and handle.requires_grad:
                parts = slopes(dispatcher.call, g, handle, *values)
            for value, part in zip(values, parts, strict=True):
                if part is not None:
                    account[value] = add(account.get(value), part)
                users[value] -= 1
                if users[value] == 0:
                    free.append(value)


def autograd_in_front(dispatcher: "Dispatcher", table: dict) -> None:
    """Given: put your kernel in front of each operator of a table of slopes."""
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="records the gradients" breaks="Compute everything below Autograd, so that nothing is recorded" says=["gradients are computed below it"]
from collections.abc import Callable


def autograd_kernel(dispatcher: "Dispatcher", operator: str, slopes: Callable) -> Callable:
    """A kernel for the key Autograd: calls below it, then puts a note on the result."""

    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any(value.requires_grad for value in values):
            result.requires_grad = True
            result.keys |= {"Autograd"}
            result.node = slopes, values
        return result

    return kernel


def backward(dispatcher: "Dispatcher", result: Handle, g: Handle) -> None:
    """Bring ``g`` from ``result`` back to the leaves, and add it to their ``grad``."""
    users, waiting = {result: 0}, [result]
    while waiting:
        handle = waiting.pop()
        for value in handle.node[1] if handle.node else ():
            if value not in users:
                users[value] = 0
                waiting.append(value)
            users[value] += 1

    def add(known, more):
        return more if known is None else dispatcher.call("add", known, more)

    account, free = {result: g}, [result]
    if True:
        while free:
            handle = free.pop()
            g = account.pop(handle, None)
            if handle.node is None:
                if handle.requires_grad and g is not None:
                    handle.grad = add(handle.grad, g)
                continue
            slopes, values = handle.node
            parts = [None] * len(values)
            if g is not None and handle.requires_grad:
                parts = slopes(dispatcher.call, g, handle, *values)
            for value, part in zip(values, parts, strict=True):
                if part is not None:
                    account[value] = add(account.get(value), part)
                users[value] -= 1
                if users[value] == 0:
                    free.append(value)


def autograd_in_front(dispatcher: "Dispatcher", table: dict) -> None:
    """Given: put your kernel in front of each operator of a table of slopes."""
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="grads everywhere" breaks="Only leaves (`node is None`) keep a `grad`" says=["leaves alone keep a grad"]
from collections.abc import Callable


def autograd_kernel(dispatcher: "Dispatcher", operator: str, slopes: Callable) -> Callable:
    """A kernel for the key Autograd: calls below it, then puts a note on the result."""

    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any(value.requires_grad for value in values):
            result.requires_grad = True
            result.keys |= {"Autograd"}
            result.node = slopes, values
        return result

    return kernel


def backward(dispatcher: "Dispatcher", result: Handle, g: Handle) -> None:
    """Bring ``g`` from ``result`` back to the leaves, and add it to their ``grad``."""
    users, waiting = {result: 0}, [result]
    while waiting:
        handle = waiting.pop()
        for value in handle.node[1] if handle.node else ():
            if value not in users:
                users[value] = 0
                waiting.append(value)
            users[value] += 1

    def add(known, more):
        return more if known is None else dispatcher.call("add", known, more)

    account, free = {result: g}, [result]
    with dispatcher.below("Autograd"):
        while free:
            handle = free.pop()
            g = account.pop(handle, None)
            if handle.node is not None:
                handle.grad = g
            if handle.node is None:
                if handle.requires_grad and g is not None:
                    handle.grad = add(handle.grad, g)
                continue
            slopes, values = handle.node
            parts = [None] * len(values)
            if g is not None and handle.requires_grad:
                parts = slopes(dispatcher.call, g, handle, *values)
            for value, part in zip(values, parts, strict=True):
                if part is not None:
                    account[value] = add(account.get(value), part)
                users[value] -= 1
                if users[value] == 0:
                    free.append(value)


def autograd_in_front(dispatcher: "Dispatcher", table: dict) -> None:
    """Given: put your kernel in front of each operator of a table of slopes."""
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="pays constants" says=["what doesn't require grad gets none"]
from collections.abc import Callable


def autograd_kernel(dispatcher: "Dispatcher", operator: str, slopes: Callable) -> Callable:
    """A kernel for the key Autograd: calls below it, then puts a note on the result."""

    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any(value.requires_grad for value in values):
            result.requires_grad = True
            result.keys |= {"Autograd"}
            result.node = slopes, values
        return result

    return kernel


def backward(dispatcher: "Dispatcher", result: Handle, g: Handle) -> None:
    """Bring ``g`` from ``result`` back to the leaves, and add it to their ``grad``."""
    users, waiting = {result: 0}, [result]
    while waiting:
        handle = waiting.pop()
        for value in handle.node[1] if handle.node else ():
            if value not in users:
                users[value] = 0
                waiting.append(value)
            users[value] += 1

    def add(known, more):
        return more if known is None else dispatcher.call("add", known, more)

    account, free = {result: g}, [result]
    with dispatcher.below("Autograd"):
        while free:
            handle = free.pop()
            g = account.pop(handle, None)
            if handle.node is None:
                if g is not None:
                    handle.grad = add(handle.grad, g)
                continue
            slopes, values = handle.node
            parts = [None] * len(values)
            if g is not None and handle.requires_grad:
                parts = slopes(dispatcher.call, g, handle, *values)
            for value, part in zip(values, parts, strict=True):
                if part is not None:
                    account[value] = add(account.get(value), part)
                users[value] -= 1
                if users[value] == 0:
                    free.append(value)


def autograd_in_front(dispatcher: "Dispatcher", table: dict) -> None:
    """Given: put your kernel in front of each operator of a table of slopes."""
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="None is paid" breaks="`slopes` may hold `None` for a value: nothing is paid there" says=["a slope that is None"]
from collections.abc import Callable


def autograd_kernel(dispatcher: "Dispatcher", operator: str, slopes: Callable) -> Callable:
    """A kernel for the key Autograd: calls below it, then puts a note on the result."""

    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any(value.requires_grad for value in values):
            result.requires_grad = True
            result.keys |= {"Autograd"}
            result.node = slopes, values
        return result

    return kernel


def backward(dispatcher: "Dispatcher", result: Handle, g: Handle) -> None:
    """Bring ``g`` from ``result`` back to the leaves, and add it to their ``grad``."""
    users, waiting = {result: 0}, [result]
    while waiting:
        handle = waiting.pop()
        for value in handle.node[1] if handle.node else ():
            if value not in users:
                users[value] = 0
                waiting.append(value)
            users[value] += 1

    def add(known, more):
        return more if known is None else dispatcher.call("add", known, more)

    account, free = {result: g}, [result]
    with dispatcher.below("Autograd"):
        while free:
            handle = free.pop()
            g = account.pop(handle, None)
            if handle.node is None:
                if handle.requires_grad and g is not None:
                    handle.grad = add(handle.grad, g)
                continue
            slopes, values = handle.node
            parts = [None] * len(values)
            if g is not None and handle.requires_grad:
                parts = slopes(dispatcher.call, g, handle, *values)
            for value, part in zip(values, parts, strict=True):
                part = g if part is None else part
                if handle.requires_grad and part is not None:
                    account[value] = add(account.get(value), part)
                users[value] -= 1
                if users[value] == 0:
                    free.append(value)


def autograd_in_front(dispatcher: "Dispatcher", table: dict) -> None:
    """Given: put your kernel in front of each operator of a table of slopes."""
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="starts with ones" breaks="starts with the gradient `g`" says=["the walk starts with g"]
from collections.abc import Callable


def autograd_kernel(dispatcher: "Dispatcher", operator: str, slopes: Callable) -> Callable:
    """A kernel for the key Autograd: calls below it, then puts a note on the result."""

    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any(value.requires_grad for value in values):
            result.requires_grad = True
            result.keys |= {"Autograd"}
            result.node = slopes, values
        return result

    return kernel


def backward(dispatcher: "Dispatcher", result: Handle, g: Handle) -> None:
    """Bring ``g`` from ``result`` back to the leaves, and add it to their ``grad``."""
    users, waiting = {result: 0}, [result]
    while waiting:
        handle = waiting.pop()
        for value in handle.node[1] if handle.node else ():
            if value not in users:
                users[value] = 0
                waiting.append(value)
            users[value] += 1

    def add(known, more):
        return more if known is None else dispatcher.call("add", known, more)

    account, free = {result: Handle(np.ones_like(g.stored), "NumPy")}, [result]
    with dispatcher.below("Autograd"):
        while free:
            handle = free.pop()
            g = account.pop(handle, None)
            if handle.node is None:
                if handle.requires_grad and g is not None:
                    handle.grad = add(handle.grad, g)
                continue
            slopes, values = handle.node
            parts = [None] * len(values)
            if g is not None and handle.requires_grad:
                parts = slopes(dispatcher.call, g, handle, *values)
            for value, part in zip(values, parts, strict=True):
                if part is not None:
                    account[value] = add(account.get(value), part)
                users[value] -= 1
                if users[value] == 0:
                    free.append(value)


def autograd_in_front(dispatcher: "Dispatcher", table: dict) -> None:
    """Given: put your kernel in front of each operator of a table of slopes."""
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="writes into the start" says=["a product", "used twice"]
from collections.abc import Callable


def autograd_kernel(dispatcher: "Dispatcher", operator: str, slopes: Callable) -> Callable:
    """A kernel for the key Autograd: calls below it, then puts a note on the result."""

    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any(value.requires_grad for value in values):
            result.requires_grad = True
            result.keys |= {"Autograd"}
            result.node = slopes, values
        return result

    return kernel


def backward(dispatcher: "Dispatcher", result: Handle, g: Handle) -> None:
    """Bring ``g`` from ``result`` back to the leaves, and add it to their ``grad``."""
    g.stored *= 1.5
    users, waiting = {result: 0}, [result]
    while waiting:
        handle = waiting.pop()
        for value in handle.node[1] if handle.node else ():
            if value not in users:
                users[value] = 0
                waiting.append(value)
            users[value] += 1

    def add(known, more):
        return more if known is None else dispatcher.call("add", known, more)

    account, free = {result: g}, [result]
    with dispatcher.below("Autograd"):
        while free:
            handle = free.pop()
            g = account.pop(handle, None)
            if handle.node is None:
                if handle.requires_grad and g is not None:
                    handle.grad = add(handle.grad, g)
                continue
            slopes, values = handle.node
            parts = [None] * len(values)
            if g is not None and handle.requires_grad:
                parts = slopes(dispatcher.call, g, handle, *values)
            for value, part in zip(values, parts, strict=True):
                if part is not None:
                    account[value] = add(account.get(value), part)
                users[value] -= 1
                if users[value] == 0:
                    free.append(value)


def autograd_in_front(dispatcher: "Dispatcher", table: dict) -> None:
    """Given: put your kernel in front of each operator of a table of slopes."""
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="a leaf has nothing to do" says=["a leaf is paid g itself"]
from collections.abc import Callable


def autograd_kernel(dispatcher: "Dispatcher", operator: str, slopes: Callable) -> Callable:
    """A kernel for the key Autograd: calls below it, then puts a note on the result."""

    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any(value.requires_grad for value in values):
            result.requires_grad = True
            result.keys |= {"Autograd"}
            result.node = slopes, values
        return result

    return kernel


def backward(dispatcher: "Dispatcher", result: Handle, g: Handle) -> None:
    """Bring ``g`` from ``result`` back to the leaves, and add it to their ``grad``."""
    if result.node is None:
        return
    users, waiting = {result: 0}, [result]
    while waiting:
        handle = waiting.pop()
        for value in handle.node[1] if handle.node else ():
            if value not in users:
                users[value] = 0
                waiting.append(value)
            users[value] += 1

    def add(known, more):
        return more if known is None else dispatcher.call("add", known, more)

    account, free = {result: g}, [result]
    with dispatcher.below("Autograd"):
        while free:
            handle = free.pop()
            g = account.pop(handle, None)
            if handle.node is None:
                if handle.requires_grad and g is not None:
                    handle.grad = add(handle.grad, g)
                continue
            slopes, values = handle.node
            parts = [None] * len(values)
            if g is not None and handle.requires_grad:
                parts = slopes(dispatcher.call, g, handle, *values)
            for value, part in zip(values, parts, strict=True):
                if part is not None:
                    account[value] = add(account.get(value), part)
                users[value] -= 1
                if users[value] == 0:
                    free.append(value)


def autograd_in_front(dispatcher: "Dispatcher", table: dict) -> None:
    """Given: put your kernel in front of each operator of a table of slopes."""
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="recursion" breaks="no recursion" says=["no recursion"]
def autograd_kernel(dispatcher, operator, slopes):
    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any(value.requires_grad for value in values):
            result.requires_grad, result.keys = True, result.keys | {"Autograd"}
            result.node = slopes, values
        return result

    return kernel


def backward(dispatcher, result, g):
    order = []

    def visit(handle):
        if handle in order:
            return
        for value in handle.node[1] if handle.node else ():
            visit(value)
        order.append(handle)

    visit(result)
    account = {result: g}
    with dispatcher.below("Autograd"):
        for handle in reversed(order):
            g = account.get(handle)
            if g is None or not handle.requires_grad:
                continue
            if handle.node is None:
                handle.grad = g if handle.grad is None else dispatcher.call("add", handle.grad, g)
                continue
            slopes, values = handle.node
            for value, part in zip(
                values, slopes(dispatcher.call, g, handle, *values), strict=True
            ):
                if part is not None:
                    known = account.get(value)
                    account[value] = part if known is None else dispatcher.call("add", known, part)


# %% wrong="each path for itself" says=["both payments to A count", "paid"]
def autograd_kernel(dispatcher, operator, slopes):
    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any(value.requires_grad for value in values):
            result.requires_grad, result.keys = True, result.keys | {"Autograd"}
            result.node = slopes, values
        return result

    return kernel


def backward(dispatcher, result, g):
    with dispatcher.below("Autograd"):
        if result.node is None:
            result.grad = g
            return
        slopes, values = result.node
        for value, part in zip(values, slopes(dispatcher.call, g, result, *values), strict=True):
            if part is not None and value.requires_grad:
                backward(dispatcher, value, part)


# %% wrong="the key on every result" breaks="Else it is left alone" says=["leave the result alone"]
def autograd_kernel(dispatcher, operator, slopes):
    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        result.keys = set(result.keys) | {"Autograd"}
        if any(v.requires_grad for v in values):
            result.requires_grad = True
            result.node = (slopes, values)
        return result

    return kernel


def backward(dispatcher, result, g):
    order, seen, stack = [], set(), [(result, False)]
    while stack:
        h, done = stack.pop()
        if done:
            order.append(h)
            continue
        if h in seen or not h.requires_grad:
            continue
        seen.add(h)
        stack.append((h, True))
        if h.node is not None:
            stack += [(v, False) for v in h.node[1]]
    acc = {result: g}
    with dispatcher.below("Autograd"):
        for h in reversed(order):
            if h not in acc:
                continue
            if h.node is None:
                h.grad = acc[h] if h.grad is None else dispatcher.call("add", h.grad, acc[h])
            else:
                for v, p in zip(h.node[1], h.node[0](dispatcher.call, acc[h], h, *h.node[1])):
                    if p is None or not v.requires_grad:
                        continue
                    acc[v] = dispatcher.call("add", acc[v], p) if v in acc else p


# %% right="numbered nodes and a heap"
import heapq
import itertools

clock = itertools.count()


class Node:
    def __init__(self, slopes, values):
        self.slopes, self.values, self.number = slopes, values, -next(clock)


def autograd_kernel(dispatcher, operator, slopes):
    def in_front(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if True in [value.requires_grad for value in values]:
            result.requires_grad = True
            result.keys = frozenset([*result.keys, "Autograd"])
            result.node = Node(slopes, values)
        return result

    return in_front


def backward(dispatcher, result, g):
    paid = {id(result): g}
    heap = [(result.node.number if result.node else 0, id(result), result)]
    with dispatcher.below("Autograd"):
        while heap:
            _, name, handle = heapq.heappop(heap)
            g = paid.pop(name)
            if not handle.requires_grad:
                continue
            if not handle.node:
                handle.grad = g if handle.grad is None else dispatcher.call("add", handle.grad, g)
                continue
            parts = handle.node.slopes(dispatcher.call, g, handle, *handle.node.values)
            for value, part in zip(handle.node.values, parts, strict=True):
                if part is None or not value.requires_grad:
                    continue
                if id(value) in paid:
                    paid[id(value)] = dispatcher.call("add", paid[id(value)], part)
                else:
                    paid[id(value)] = part
                    number = value.node.number if value.node else 1
                    heapq.heappush(heap, (number, id(value), value))


# %% right="noted after all it was made from"
def autograd_kernel(dispatcher, operator, slopes):
    def kernel(*values):
        guard = dispatcher.below("Autograd")
        with guard:
            result = dispatcher.call(operator, *values)
        sources = [value for value in values if value.requires_grad]
        if sources:
            result.requires_grad = True
            result.keys = result.keys.union(["Autograd"])
            result.node = {"slopes": slopes, "values": values}
        return result

    return kernel


def backward(dispatcher, result, g):
    order, waiting, seen = [], [(result, False)], set()
    while waiting:
        handle, finished = waiting.pop()
        if finished:
            order.insert(0, handle)
        elif id(handle) not in seen and handle.requires_grad:
            seen.add(id(handle))
            waiting.append((handle, True))
            if handle.node is not None:
                waiting.extend((value, False) for value in handle.node["values"])
    sums = {id(handle): [] for handle in order}
    sums[id(result)] = [g]
    with dispatcher.below("Autograd"):
        for handle in order:
            if not sums[id(handle)]:
                continue
            total, *more = sums[id(handle)]
            for part in more:
                total = dispatcher.call("add", total, part)
            if handle.node is None:
                old = handle.grad
                handle.grad = total if old is None else dispatcher.call("add", old, total)
            else:
                values = handle.node["values"]
                parts = handle.node["slopes"](dispatcher.call, total, handle, *values)
                for value, part in zip(values, parts, strict=True):
                    if part is not None and id(value) in sums:
                        sums[id(value)].append(part)


# %% wrong="hands on at each payment" says=["forty doublings", "hands on once, when everyone who used it has paid in"]
from collections.abc import Callable


def autograd_kernel(dispatcher: "Dispatcher", operator: str, slopes: Callable) -> Callable:

    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any(value.requires_grad for value in values):
            result.requires_grad = True
            result.keys |= {"Autograd"}
            result.node = slopes, values
        return result

    return kernel


def backward(dispatcher: "Dispatcher", result: Handle, g: Handle) -> None:
    """Bring ``g`` from ``result`` back to the leaves, and add it to their ``grad``."""
    users, waiting = {result: 0}, [result]
    while waiting:
        handle = waiting.pop()
        for value in handle.node[1] if handle.node else ():
            if value not in users:
                users[value] = 0
                waiting.append(value)
            users[value] += 1

    def add(known, more):
        return more if known is None else dispatcher.call("add", known, more)

    account, free = {result: g}, [result]
    with dispatcher.below("Autograd"):
        while free:
            handle = free.pop()
            g = account.pop(handle, None)
            if handle.node is None:
                if handle.requires_grad and g is not None:
                    handle.grad = add(handle.grad, g)
                continue
            slopes, values = handle.node
            parts = [None] * len(values)
            if g is not None and handle.requires_grad:
                parts = slopes(dispatcher.call, g, handle, *values)
            for value, part in zip(values, parts, strict=True):
                if part is not None:
                    account[value] = add(account.get(value), part)
                users[value] -= 1
                free.append(value)


def autograd_in_front(dispatcher: "Dispatcher", table: dict) -> None:
    """Given: put your kernel in front of each operator of a table of slopes."""
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="the key on the first argument too" says=["the arguments stay as they were"]
from collections.abc import Callable


def autograd_kernel(dispatcher: "Dispatcher", operator: str, slopes: Callable) -> Callable:
    """A kernel for the key Autograd: calls below it, then puts a note on the result."""

    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any(value.requires_grad for value in values):
            result.requires_grad = True
            values[0].keys |= {"Autograd"}
            result.keys |= {"Autograd"}
            result.node = slopes, values
        return result

    return kernel


def backward(dispatcher: "Dispatcher", result: Handle, g: Handle) -> None:
    """Bring ``g`` from ``result`` back to the leaves, and add it to their ``grad``."""
    users, waiting = {result: 0}, [result]
    while waiting:
        handle = waiting.pop()
        for value in handle.node[1] if handle.node else ():
            if value not in users:
                users[value] = 0
                waiting.append(value)
            users[value] += 1

    def add(known, more):
        return more if known is None else dispatcher.call("add", known, more)

    account, free = {result: g}, [result]
    with dispatcher.below("Autograd"):
        while free:
            handle = free.pop()
            g = account.pop(handle, None)
            if handle.node is None:
                if handle.requires_grad and g is not None:
                    handle.grad = add(handle.grad, g)
                continue
            slopes, values = handle.node
            parts = [None] * len(values)
            if g is not None and handle.requires_grad:
                parts = slopes(dispatcher.call, g, handle, *values)
            for value, part in zip(values, parts, strict=True):
                if part is not None:
                    account[value] = add(account.get(value), part)
                users[value] -= 1
                if users[value] == 0:
                    free.append(value)


def autograd_in_front(dispatcher: "Dispatcher", table: dict) -> None:
    """Given: put your kernel in front of each operator of a table of slopes."""
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="adds what is stored" breaks="by `dispatcher.call(\"add\", …)`" says=["a backend that stores lists", "autograd knows no backend"]
from collections.abc import Callable


def autograd_kernel(dispatcher: "Dispatcher", operator: str, slopes: Callable) -> Callable:
    """A kernel for the key Autograd: calls below it, then puts a note on the result."""

    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any(value.requires_grad for value in values):
            result.requires_grad = True
            result.keys |= {"Autograd"}
            result.node = slopes, values
        return result

    return kernel


def backward(dispatcher: "Dispatcher", result: Handle, g: Handle) -> None:
    """Bring ``g`` from ``result`` back to the leaves, and add it to their ``grad``."""
    users, waiting = {result: 0}, [result]
    while waiting:
        handle = waiting.pop()
        for value in handle.node[1] if handle.node else ():
            if value not in users:
                users[value] = 0
                waiting.append(value)
            users[value] += 1

    def add(known, more):
        return more if known is None else type(known)(known.stored + more.stored, "NumPy")

    account, free = {result: g}, [result]
    with dispatcher.below("Autograd"):
        while free:
            handle = free.pop()
            g = account.pop(handle, None)
            if handle.node is None:
                if handle.requires_grad and g is not None:
                    handle.grad = add(handle.grad, g)
                continue
            slopes, values = handle.node
            parts = [None] * len(values)
            if g is not None and handle.requires_grad:
                parts = slopes(dispatcher.call, g, handle, *values)
            for value, part in zip(values, parts, strict=True):
                if part is not None:
                    account[value] = add(account.get(value), part)
                users[value] -= 1
                if users[value] == 0:
                    free.append(value)


def autograd_in_front(dispatcher: "Dispatcher", table: dict) -> None:
    """Given: put your kernel in front of each operator of a table of slopes."""
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="None takes the account away" says=["what others pay to that value stays"]
from collections.abc import Callable


def autograd_kernel(dispatcher: "Dispatcher", operator: str, slopes: Callable) -> Callable:
    """A kernel for the key Autograd: calls below it, then puts a note on the result."""

    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any(value.requires_grad for value in values):
            result.requires_grad = True
            result.keys |= {"Autograd"}
            result.node = slopes, values
        return result

    return kernel


def backward(dispatcher: "Dispatcher", result: Handle, g: Handle) -> None:
    """Bring ``g`` from ``result`` back to the leaves, and add it to their ``grad``."""
    users, waiting = {result: 0}, [result]
    while waiting:
        handle = waiting.pop()
        for value in handle.node[1] if handle.node else ():
            if value not in users:
                users[value] = 0
                waiting.append(value)
            users[value] += 1

    def add(known, more):
        return more if known is None else dispatcher.call("add", known, more)

    account, free = {result: g}, [result]
    with dispatcher.below("Autograd"):
        while free:
            handle = free.pop()
            g = account.pop(handle, None)
            if handle.node is None:
                if handle.requires_grad and g is not None:
                    handle.grad = add(handle.grad, g)
                continue
            slopes, values = handle.node
            parts = [None] * len(values)
            if g is not None and handle.requires_grad:
                parts = slopes(dispatcher.call, g, handle, *values)
            for value, part in zip(values, parts, strict=True):
                if True:
                    account[value] = add(account.get(value), part)
                users[value] -= 1
                if users[value] == 0:
                    free.append(value)


def autograd_in_front(dispatcher: "Dispatcher", table: dict) -> None:
    """Given: put your kernel in front of each operator of a table of slopes."""
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="a constant leaf is paid" breaks="in each leaf that requires grad" says=["isn't paid, if it is the result as well", "isn't paid, if it is the result"]
from collections.abc import Callable


def autograd_kernel(dispatcher: "Dispatcher", operator: str, slopes: Callable) -> Callable:
    """A kernel for the key Autograd: calls below it, then puts a note on the result."""

    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any(value.requires_grad for value in values):
            result.requires_grad = True
            result.keys |= {"Autograd"}
            result.node = slopes, values
        return result

    return kernel


def backward(dispatcher: "Dispatcher", result: Handle, g: Handle) -> None:
    """Bring ``g`` from ``result`` back to the leaves, and add it to their ``grad``."""
    users, waiting = {result: 0}, [result]
    while waiting:
        handle = waiting.pop()
        for value in handle.node[1] if handle.node else ():
            if value not in users:
                users[value] = 0
                waiting.append(value)
            users[value] += 1

    def add(known, more):
        return more if known is None else dispatcher.call("add", known, more)

    account, free = {result: g}, [result]
    with dispatcher.below("Autograd"):
        while free:
            handle = free.pop()
            g = account.pop(handle, None)
            if handle.node is None:
                if (handle.requires_grad or handle is result) and g is not None:
                    handle.grad = add(handle.grad, g)
                continue
            slopes, values = handle.node
            parts = [None] * len(values)
            if g is not None and handle.requires_grad:
                parts = slopes(dispatcher.call, g, handle, *values)
            for value, part in zip(values, parts, strict=True):
                if part is not None:
                    account[value] = add(account.get(value), part)
                users[value] -= 1
                if users[value] == 0:
                    free.append(value)


def autograd_in_front(dispatcher: "Dispatcher", table: dict) -> None:
    """Given: put your kernel in front of each operator of a table of slopes."""
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="counters on the handles" breaks="leave those that you are given as they are" says=["keep counts in a dict"]
from collections.abc import Callable


def autograd_kernel(dispatcher: "Dispatcher", operator: str, slopes: Callable) -> Callable:
    """A kernel for the key Autograd: calls below it, then puts a note on the result."""

    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any(value.requires_grad for value in values):
            result.requires_grad = True
            result.keys |= {"Autograd"}
            result.node = slopes, values
        return result

    return kernel


def backward(dispatcher: "Dispatcher", result: Handle, g: Handle) -> None:
    """Bring ``g`` from ``result`` back to the leaves, and add it to their ``grad``."""
    users, waiting = {result: 0}, [result]
    while waiting:
        handle = waiting.pop()
        for value in handle.node[1] if handle.node else ():
            if value not in users:
                users[value] = 0
                waiting.append(value)
            users[value] += 1

    for handle, n in users.items():
        handle.users = n

    def add(known, more):
        return more if known is None else dispatcher.call("add", known, more)

    account, free = {result: g}, [result]
    with dispatcher.below("Autograd"):
        while free:
            handle = free.pop()
            g = account.pop(handle, None)
            if handle.node is None:
                if handle.requires_grad and g is not None:
                    handle.grad = add(handle.grad, g)
                continue
            slopes, values = handle.node
            parts = [None] * len(values)
            if g is not None and handle.requires_grad:
                parts = slopes(dispatcher.call, g, handle, *values)
            for value, part in zip(values, parts, strict=True):
                if part is not None:
                    account[value] = add(account.get(value), part)
                users[value] -= 1
                if users[value] == 0:
                    free.append(value)


def autograd_in_front(dispatcher: "Dispatcher", table: dict) -> None:
    """Given: put your kernel in front of each operator of a table of slopes."""
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="a fresh handle" breaks="returns that result" says=["is returned itself"]
from collections.abc import Callable


def autograd_kernel(dispatcher: "Dispatcher", operator: str, slopes: Callable) -> Callable:
    """A kernel for the key Autograd: calls below it, then puts a note on the result."""

    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any(value.requires_grad for value in values):
            result.requires_grad = True
            result.keys |= {"Autograd"}
            result.node = slopes, values
        fresh = Handle(result.stored, *result.keys, requires_grad=result.requires_grad)
        fresh.node = result.node
        return fresh

    return kernel


def backward(dispatcher: "Dispatcher", result: Handle, g: Handle) -> None:
    """Bring ``g`` from ``result`` back to the leaves, and add it to their ``grad``."""
    users, waiting = {result: 0}, [result]
    while waiting:
        handle = waiting.pop()
        for value in handle.node[1] if handle.node else ():
            if value not in users:
                users[value] = 0
                waiting.append(value)
            users[value] += 1

    def add(known, more):
        return more if known is None else dispatcher.call("add", known, more)

    account, free = {result: g}, [result]
    with dispatcher.below("Autograd"):
        while free:
            handle = free.pop()
            g = account.pop(handle, None)
            if handle.node is None:
                if handle.requires_grad and g is not None:
                    handle.grad = add(handle.grad, g)
                continue
            slopes, values = handle.node
            parts = [None] * len(values)
            if g is not None and handle.requires_grad:
                parts = slopes(dispatcher.call, g, handle, *values)
            for value, part in zip(values, parts, strict=True):
                if part is not None:
                    account[value] = add(account.get(value), part)
                users[value] -= 1
                if users[value] == 0:
                    free.append(value)


def autograd_in_front(dispatcher: "Dispatcher", table: dict) -> None:
    """Given: put your kernel in front of each operator of a table of slopes."""
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="a leaf is paid None" says=["None for a leaf that has a gradient"]
from collections.abc import Callable


def autograd_kernel(dispatcher: "Dispatcher", operator: str, slopes: Callable) -> Callable:
    """A kernel for the key Autograd: calls below it, then puts a note on the result."""

    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any(value.requires_grad for value in values):
            result.requires_grad = True
            result.keys |= {"Autograd"}
            result.node = slopes, values
        return result

    return kernel


def backward(dispatcher: "Dispatcher", result: Handle, g: Handle) -> None:
    """Bring ``g`` from ``result`` back to the leaves, and add it to their ``grad``."""
    users, waiting = {result: 0}, [result]
    while waiting:
        handle = waiting.pop()
        for value in handle.node[1] if handle.node else ():
            if value not in users:
                users[value] = 0
                waiting.append(value)
            users[value] += 1

    def add(known, more):
        return more if known is None else dispatcher.call("add", known, more)

    account, free = {result: g}, [result]
    with dispatcher.below("Autograd"):
        while free:
            handle = free.pop()
            g = account.pop(handle, None)
            if handle.node is None:
                if handle.requires_grad:
                    handle.grad = add(handle.grad, g)
                continue
            slopes, values = handle.node
            parts = [None] * len(values)
            if g is not None and handle.requires_grad:
                parts = slopes(dispatcher.call, g, handle, *values)
            for value, part in zip(values, parts, strict=True):
                if part is not None:
                    account[value] = add(account.get(value), part)
                users[value] -= 1
                if users[value] == 0:
                    free.append(value)


def autograd_in_front(dispatcher: "Dispatcher", table: dict) -> None:
    """Given: put your kernel in front of each operator of a table of slopes."""
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="a step that was paid nothing pays" says=["None for a step in between"]
from collections.abc import Callable


def autograd_kernel(dispatcher: "Dispatcher", operator: str, slopes: Callable) -> Callable:
    """A kernel for the key Autograd: calls below it, then puts a note on the result."""

    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any(value.requires_grad for value in values):
            result.requires_grad = True
            result.keys |= {"Autograd"}
            result.node = slopes, values
        return result

    return kernel


def backward(dispatcher: "Dispatcher", result: Handle, g: Handle) -> None:
    """Bring ``g`` from ``result`` back to the leaves, and add it to their ``grad``."""
    users, waiting = {result: 0}, [result]
    while waiting:
        handle = waiting.pop()
        for value in handle.node[1] if handle.node else ():
            if value not in users:
                users[value] = 0
                waiting.append(value)
            users[value] += 1

    def add(known, more):
        return more if known is None else dispatcher.call("add", known, more)

    account, free = {result: g}, [result]
    with dispatcher.below("Autograd"):
        while free:
            handle = free.pop()
            g = account.pop(handle, None)
            if handle.node is None:
                if handle.requires_grad and g is not None:
                    handle.grad = add(handle.grad, g)
                continue
            slopes, values = handle.node
            parts = [None] * len(values)
            if handle.requires_grad:
                parts = slopes(dispatcher.call, g, handle, *values)
            for value, part in zip(values, parts, strict=True):
                if part is not None:
                    account[value] = add(account.get(value), part)
                users[value] -= 1
                if users[value] == 0:
                    free.append(value)


def autograd_in_front(dispatcher: "Dispatcher", table: dict) -> None:
    """Given: put your kernel in front of each operator of a table of slopes."""
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="a handle's turn comes with the first payment" says=["each step takes twice as long as the last"]
def autograd_kernel(dispatcher, operator, slopes):
    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any(v.requires_grad for v in values if isinstance(v, Handle)):
            result.requires_grad = True
            result.keys = set(result.keys) | {"Autograd"}
            result.node = (slopes, values)
        return result

    return kernel


def backward(dispatcher, result, g):
    uses, stack, seen = {}, [result], {result}
    while stack:
        handle = stack.pop()
        if handle.node is None:
            continue
        for value in handle.node[1]:
            if isinstance(value, Handle) and value.requires_grad:
                uses[value] = uses.get(value, 0) + 1
                if value not in seen:
                    seen.add(value)
                    stack.append(value)
    with dispatcher.below("Autograd"):
        account, ready = {result: g}, [result]
        while ready:
            handle = ready.pop()
            paid = account.pop(handle, None)
            if handle.node is None:
                if paid is not None and handle.requires_grad:
                    handle.grad = (
                        paid if handle.grad is None else dispatcher.call("add", handle.grad, paid)
                    )
                continue
            slopes, values = handle.node
            gains = (
                slopes(dispatcher.call, paid, handle, *values)
                if paid is not None
                else [None] * len(values)
            )
            for value, gain in zip(values, gains):
                if not (isinstance(value, Handle) and value.requires_grad):
                    continue
                if gain is not None:
                    account[value] = (
                        dispatcher.call("add", account[value], gain) if value in account else gain
                    )
                uses[value] -= 1
                if value not in ready:
                    ready.append(value)


def autograd_in_front(dispatcher, table):
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="keeps a copy of the values" says=["no leaf was paid: is the way back kept"]
def autograd_kernel(dispatcher, operator, slopes):
    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any(v.requires_grad for v in values if isinstance(v, Handle)):
            result.requires_grad = True
            result.keys = set(result.keys) | {"Autograd"}
            result.node = (slopes, tuple(Handle(v.stored, *v.keys) for v in values))
        return result

    return kernel


def backward(dispatcher, result, g):
    uses, stack, seen = {}, [result], {result}
    while stack:
        handle = stack.pop()
        if handle.node is None:
            continue
        for value in handle.node[1]:
            if isinstance(value, Handle) and value.requires_grad:
                uses[value] = uses.get(value, 0) + 1
                if value not in seen:
                    seen.add(value)
                    stack.append(value)
    with dispatcher.below("Autograd"):
        account, ready = {result: g}, [result]
        while ready:
            handle = ready.pop()
            paid = account.pop(handle, None)
            if handle.node is None:
                if paid is not None and handle.requires_grad:
                    handle.grad = (
                        paid if handle.grad is None else dispatcher.call("add", handle.grad, paid)
                    )
                continue
            slopes, values = handle.node
            gains = (
                slopes(dispatcher.call, paid, handle, *values)
                if paid is not None
                else [None] * len(values)
            )
            for value, gain in zip(values, gains):
                if not (isinstance(value, Handle) and value.requires_grad):
                    continue
                if gain is not None:
                    account[value] = (
                        dispatcher.call("add", account[value], gain) if value in account else gain
                    )
                uses[value] -= 1
                if uses[value] == 0:
                    ready.append(value)


def autograd_in_front(dispatcher, table):
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="calls from the top again" says=["is asked again without end: call the operator below it"]
def autograd_kernel(dispatcher, operator, slopes):
    def kernel(*values):
        with dispatcher.below("Autograd"):
            pass
        result = dispatcher.call(operator, *values)
        if any(v.requires_grad for v in values if isinstance(v, Handle)):
            result.requires_grad = True
            result.keys = set(result.keys) | {"Autograd"}
            result.node = (slopes, values)
        return result

    return kernel


def backward(dispatcher, result, g):
    uses, stack, seen = {}, [result], {result}
    while stack:
        handle = stack.pop()
        if handle.node is None:
            continue
        for value in handle.node[1]:
            if isinstance(value, Handle) and value.requires_grad:
                uses[value] = uses.get(value, 0) + 1
                if value not in seen:
                    seen.add(value)
                    stack.append(value)
    with dispatcher.below("Autograd"):
        account, ready = {result: g}, [result]
        while ready:
            handle = ready.pop()
            paid = account.pop(handle, None)
            if handle.node is None:
                if paid is not None and handle.requires_grad:
                    handle.grad = (
                        paid if handle.grad is None else dispatcher.call("add", handle.grad, paid)
                    )
                continue
            slopes, values = handle.node
            gains = (
                slopes(dispatcher.call, paid, handle, *values)
                if paid is not None
                else [None] * len(values)
            )
            for value, gain in zip(values, gains):
                if not (isinstance(value, Handle) and value.requires_grad):
                    continue
                if gain is not None:
                    account[value] = (
                        dispatcher.call("add", account[value], gain) if value in account else gain
                    )
                uses[value] -= 1
                if uses[value] == 0:
                    ready.append(value)


def autograd_in_front(dispatcher, table):
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="a value that an operator uses twice counts once" says=["squared: ", "a value hands on only when everyone"]
def autograd_kernel(dispatcher, operator, slopes):
    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any(value.requires_grad for value in values):
            result.requires_grad = True
            result.keys = result.keys | {"Autograd"}
            result.node = (slopes, values)
        return result

    return kernel


def backward(dispatcher, result, g):
    uses = {result: 0}
    stack = [result]
    while stack:
        handle = stack.pop()
        if handle.node is None:
            continue
        for value in set(handle.node[1]):
            if not value.requires_grad:
                continue
            if value not in uses:
                uses[value] = 0
                stack.append(value)
            uses[value] += 1
    account = {result: g}
    ready = [result]
    with dispatcher.below("Autograd"):
        while ready:
            handle = ready.pop()
            arrived = account.pop(handle, None)
            if handle.node is None:
                if arrived is None or not handle.requires_grad:
                    continue
                if handle.grad is None:
                    handle.grad = arrived
                else:
                    handle.grad = dispatcher.call("add", handle.grad, arrived)
                continue
            slopes, values = handle.node
            if arrived is None:
                paid = [None] * len(values)
            else:
                paid = slopes(dispatcher.call, arrived, handle, *values)
            for value, one in zip(values, paid):
                if not value.requires_grad:
                    continue
                if one is not None and value in account:
                    account[value] = dispatcher.call("add", account[value], one)
                elif one is not None:
                    account[value] = one
                uses[value] -= 1
                if uses[value] == 0:
                    ready.append(value)


def autograd_in_front(dispatcher, table):
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="None for the result" says=["its third argument is the handle of the result"]
from collections.abc import Callable


def autograd_kernel(dispatcher: "Dispatcher", operator: str, slopes: Callable) -> Callable:
    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any(value.requires_grad for value in values):
            result.requires_grad = True
            result.keys = result.keys | {"Autograd"}
            result.node = (slopes, values)
        return result

    return kernel


def backward(dispatcher: "Dispatcher", result: Handle, g: Handle) -> None:
    if not result.requires_grad:
        return
    uses, seen, stack = {}, {id(result)}, [result]
    while stack:
        handle = stack.pop()
        if handle.node is None:
            continue
        for value in handle.node[1]:
            if value.requires_grad:
                uses[id(value)] = uses.get(id(value), 0) + 1
                if id(value) not in seen:
                    seen.add(id(value))
                    stack.append(value)
    account, ready = {id(result): g}, [result]
    with dispatcher.below("Autograd"):
        while ready:
            handle = ready.pop()
            paid = account.pop(id(handle), None)
            if handle.node is None:
                if paid is not None:
                    if handle.grad is not None:
                        paid = dispatcher.call("add", handle.grad, paid)
                    handle.grad = paid
                continue
            slopes, values = handle.node
            if paid is None:
                payments = [None] * len(values)
            else:
                payments = slopes(dispatcher.call, paid, None, *values)
            for value, payment in zip(values, payments):
                if not value.requires_grad:
                    continue
                if payment is not None:
                    if id(value) in account:
                        payment = dispatcher.call("add", account[id(value)], payment)
                    account[id(value)] = payment
                uses[id(value)] -= 1
                if uses[id(value)] == 0:
                    ready.append(value)


def autograd_in_front(dispatcher: "Dispatcher", table: dict) -> None:
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="a block made once for all calls" says=["opens once"]
from collections.abc import Callable


def autograd_kernel(dispatcher: "Dispatcher", operator: str, slopes: Callable) -> Callable:
    block = dispatcher.below("Autograd")

    def kernel(*values):
        with block:
            result = dispatcher.call(operator, *values)
        if any(value.requires_grad for value in values):
            result.requires_grad = True
            result.keys = result.keys | {"Autograd"}
            result.node = (slopes, values)
        return result

    return kernel


def backward(dispatcher: "Dispatcher", result: Handle, g: Handle) -> None:
    if not result.requires_grad:
        return
    uses, seen, stack = {}, {id(result)}, [result]
    while stack:
        handle = stack.pop()
        if handle.node is None:
            continue
        for value in handle.node[1]:
            if value.requires_grad:
                uses[id(value)] = uses.get(id(value), 0) + 1
                if id(value) not in seen:
                    seen.add(id(value))
                    stack.append(value)
    account, ready = {id(result): g}, [result]
    with dispatcher.below("Autograd"):
        while ready:
            handle = ready.pop()
            paid = account.pop(id(handle), None)
            if handle.node is None:
                if paid is not None:
                    if handle.grad is not None:
                        paid = dispatcher.call("add", handle.grad, paid)
                    handle.grad = paid
                continue
            slopes, values = handle.node
            if paid is None:
                payments = [None] * len(values)
            else:
                payments = slopes(dispatcher.call, paid, handle, *values)
            for value, payment in zip(values, payments):
                if not value.requires_grad:
                    continue
                if payment is not None:
                    if id(value) in account:
                        payment = dispatcher.call("add", account[id(value)], payment)
                    account[id(value)] = payment
                uses[id(value)] -= 1
                if uses[id(value)] == 0:
                    ready.append(value)


def autograd_in_front(dispatcher: "Dispatcher", table: dict) -> None:
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="an account for what is stored" says=["each handle has an account to itself"]
from collections.abc import Callable


def autograd_kernel(dispatcher: "Dispatcher", operator: str, slopes: Callable) -> Callable:
    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any(value.requires_grad for value in values):
            result.requires_grad = True
            result.keys = result.keys | {"Autograd"}
            result.node = (slopes, values)
        return result

    return kernel


def backward(dispatcher: "Dispatcher", result: Handle, g: Handle) -> None:
    if not result.requires_grad:
        return
    uses, found = {result: 0}, [result]
    while found:
        handle = found.pop()
        if handle.node is None:
            continue
        for value in handle.node[1]:
            if value.requires_grad:
                if value not in uses:
                    uses[value] = 0
                    found.append(value)
                uses[value] += 1
    account, ready = {id(result.stored): g}, [result]
    with dispatcher.below("Autograd"):
        while ready:
            handle = ready.pop()
            paid = account.pop(id(handle.stored), None)
            if handle.node is None:
                if paid is not None:
                    if handle.grad is None:
                        handle.grad = paid
                    else:
                        handle.grad = dispatcher.call("add", handle.grad, paid)
                continue
            slopes, values = handle.node
            if paid is None:
                shares = [None] * len(values)
            else:
                shares = slopes(dispatcher.call, paid, handle, *values)
            for value, share in zip(values, shares):
                if not value.requires_grad:
                    continue
                if share is not None:
                    if id(value.stored) in account:
                        share = dispatcher.call("add", account[id(value.stored)], share)
                    account[id(value.stored)] = share
                uses[value] -= 1
                if uses[value] == 0:
                    ready.append(value)


def autograd_in_front(dispatcher: "Dispatcher", table: dict) -> None:
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="adds up above Autograd" says=["adding to the old gradient is computed below Autograd too"]
from collections.abc import Callable


def autograd_kernel(dispatcher: "Dispatcher", operator: str, slopes: Callable) -> Callable:
    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any(value.requires_grad for value in values):
            result.requires_grad = True
            result.keys = result.keys | {"Autograd"}
            result.node = (slopes, values)
        return result

    return kernel


def backward(dispatcher: "Dispatcher", result: Handle, g: Handle) -> None:
    if not result.requires_grad:
        return
    uses, found = {result: 0}, [result]
    while found:
        handle = found.pop()
        if handle.node is None:
            continue
        for value in handle.node[1]:
            if value.requires_grad:
                if value not in uses:
                    uses[value] = 0
                    found.append(value)
                uses[value] += 1
    account, ready = {result: g}, [result]
    if True:
        while ready:
            handle = ready.pop()
            paid = account.pop(handle, None)
            if handle.node is None:
                if paid is not None:
                    if handle.grad is None:
                        handle.grad = paid
                    else:
                        handle.grad = dispatcher.call("add", handle.grad, paid)
                continue
            slopes, values = handle.node
            if paid is None:
                shares = [None] * len(values)
            else:
                with dispatcher.below("Autograd"):
                    shares = slopes(dispatcher.call, paid, handle, *values)
            for value, share in zip(values, shares):
                if not value.requires_grad:
                    continue
                if share is not None:
                    if value in account:
                        share = dispatcher.call("add", account[value], share)
                    account[value] = share
                uses[value] -= 1
                if uses[value] == 0:
                    ready.append(value)


def autograd_in_front(dispatcher: "Dispatcher", table: dict) -> None:
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="adds the old gradient into what arrives" says=["from a leaf that has a gradient", "the old gradient and g stay as they are"]
from collections.abc import Callable


def autograd_kernel(dispatcher: "Dispatcher", operator: str, slopes: Callable) -> Callable:
    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any(value.requires_grad for value in values):
            result.requires_grad = True
            result.keys = result.keys | {"Autograd"}
            result.node = (slopes, values)
        return result

    return kernel


def backward(dispatcher: "Dispatcher", result: Handle, g: Handle) -> None:
    uses, seen, todo = {}, {id(result)}, [result]
    while todo:
        handle = todo.pop()
        if handle.node is None:
            continue
        for value in handle.node[1]:
            uses[id(value)] = uses.get(id(value), 0) + 1
            if id(value) not in seen:
                seen.add(id(value))
                todo.append(value)
    with dispatcher.below("Autograd"):
        account, ready = {id(result): g}, [result]
        while ready:
            handle = ready.pop()
            paid = account.pop(id(handle), None)
            if handle.node is None:
                if handle.requires_grad and paid is not None:
                    old = handle.grad
                    if old is None:
                        handle.grad = paid
                    else:
                        paid.stored = dispatcher.call("add", old, paid).stored
                        handle.grad = paid
                continue
            slopes, values = handle.node
            if paid is None:
                shares = [None] * len(values)
            else:
                shares = slopes(dispatcher.call, paid, handle, *values)
            for value, share in zip(values, shares):
                if share is not None:
                    old = account.get(id(value))
                    account[id(value)] = (
                        share if old is None else dispatcher.call("add", old, share)
                    )
                uses[id(value)] -= 1
                if uses[id(value)] == 0:
                    ready.append(value)


def autograd_in_front(dispatcher: "Dispatcher", table: dict) -> None:
    """Given: put your kernel in front of each operator of a table of slopes."""
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="requires_grad is set to False where nothing is recorded" says=["the result is left alone, whatever is on it"]
from collections.abc import Callable


def autograd_kernel(dispatcher: "Dispatcher", operator: str, slopes: Callable) -> Callable:
    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any(isinstance(v, Handle) and v.requires_grad for v in values):
            result.requires_grad = True
            result.keys = result.keys | {"Autograd"}
            result.node = (slopes, values)
        else:
            result.requires_grad = False
            result.keys = result.keys - {"Autograd"}
            result.node = None
        return result

    return kernel


def backward(dispatcher: "Dispatcher", result: Handle, g: Handle) -> None:
    uses, todo, seen = {}, [result], {id(result)}
    while todo:
        handle = todo.pop()
        if handle.node is None:
            continue
        for value in handle.node[1]:
            if isinstance(value, Handle) and value.requires_grad:
                uses[id(value)] = uses.get(id(value), 0) + 1
                if id(value) not in seen:
                    seen.add(id(value))
                    todo.append(value)
    accounts, ready = {id(result): g}, [result]
    with dispatcher.below("Autograd"):
        while ready:
            handle = ready.pop()
            gradient = accounts.pop(id(handle), None)
            if handle.node is None:
                if gradient is not None and handle.requires_grad:
                    old = handle.grad
                    handle.grad = gradient if old is None else dispatcher.call("add", old, gradient)
                continue
            slopes, values = handle.node
            paid = [None] * len(values)
            if gradient is not None:
                paid = slopes(dispatcher.call, gradient, handle, *values)
            for value, part in zip(values, paid):
                if not (isinstance(value, Handle) and value.requires_grad):
                    continue
                if part is not None:
                    have = accounts.get(id(value))
                    accounts[id(value)] = (
                        part if have is None else dispatcher.call("add", have, part)
                    )
                uses[id(value)] -= 1
                if uses[id(value)] == 0:
                    ready.append(value)


def autograd_in_front(dispatcher: "Dispatcher", table: dict) -> None:
    """Given: put your kernel in front of each operator of a table of slopes."""
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="g no longer requires grad" says=["g is left as it is, also what autograd keeps on it"]
from collections.abc import Callable


def autograd_kernel(dispatcher: "Dispatcher", operator: str, slopes: Callable) -> Callable:
    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any(isinstance(v, Handle) and v.requires_grad for v in values):
            result.requires_grad = True
            result.keys = result.keys | {"Autograd"}
            result.node = (slopes, values)
        return result

    return kernel


def backward(dispatcher: "Dispatcher", result: Handle, g: Handle) -> None:
    uses, todo, seen = {}, [result], {id(result)}
    while todo:
        handle = todo.pop()
        if handle.node is None:
            continue
        for value in handle.node[1]:
            if isinstance(value, Handle) and value.requires_grad:
                uses[id(value)] = uses.get(id(value), 0) + 1
                if id(value) not in seen:
                    seen.add(id(value))
                    todo.append(value)
    g.requires_grad = False
    g.keys = g.keys - {"Autograd"}
    accounts, ready = {id(result): g}, [result]
    with dispatcher.below("Autograd"):
        while ready:
            handle = ready.pop()
            gradient = accounts.pop(id(handle), None)
            if handle.node is None:
                if gradient is not None and handle.requires_grad:
                    old = handle.grad
                    handle.grad = gradient if old is None else dispatcher.call("add", old, gradient)
                continue
            slopes, values = handle.node
            paid = [None] * len(values)
            if gradient is not None:
                paid = slopes(dispatcher.call, gradient, handle, *values)
            for value, part in zip(values, paid):
                if not (isinstance(value, Handle) and value.requires_grad):
                    continue
                if part is not None:
                    have = accounts.get(id(value))
                    accounts[id(value)] = (
                        part if have is None else dispatcher.call("add", have, part)
                    )
                uses[id(value)] -= 1
                if uses[id(value)] == 0:
                    ready.append(value)


def autograd_in_front(dispatcher: "Dispatcher", table: dict) -> None:
    """Given: put your kernel in front of each operator of a table of slopes."""
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="the same g once" says=["also where both are the same handle"]
from collections.abc import Callable


def autograd_kernel(dispatcher: "Dispatcher", operator: str, slopes: Callable) -> Callable:
    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any(isinstance(v, Handle) and v.requires_grad for v in values):
            result.requires_grad = True
            result.keys = result.keys | {"Autograd"}
            result.node = (slopes, values)
        return result

    return kernel


def backward(dispatcher: "Dispatcher", result: Handle, g: Handle) -> None:
    uses, todo, seen = {}, [result], {id(result)}
    while todo:
        handle = todo.pop()
        if handle.node is None:
            continue
        for value in handle.node[1]:
            if isinstance(value, Handle) and value.requires_grad:
                uses[id(value)] = uses.get(id(value), 0) + 1
                if id(value) not in seen:
                    seen.add(id(value))
                    todo.append(value)
    accounts, ready = {id(result): g}, [result]
    with dispatcher.below("Autograd"):
        while ready:
            handle = ready.pop()
            gradient = accounts.pop(id(handle), None)
            if handle.node is None:
                if gradient is not None and handle.requires_grad:
                    old = handle.grad
                    handle.grad = (
                        gradient
                        if old is None or old is gradient
                        else dispatcher.call("add", old, gradient)
                    )
                continue
            slopes, values = handle.node
            paid = [None] * len(values)
            if gradient is not None:
                paid = slopes(dispatcher.call, gradient, handle, *values)
            for value, part in zip(values, paid):
                if not (isinstance(value, Handle) and value.requires_grad):
                    continue
                if part is not None:
                    have = accounts.get(id(value))
                    accounts[id(value)] = (
                        part if have is None else dispatcher.call("add", have, part)
                    )
                uses[id(value)] -= 1
                if uses[id(value)] == 0:
                    ready.append(value)


def autograd_in_front(dispatcher: "Dispatcher", table: dict) -> None:
    """Given: put your kernel in front of each operator of a table of slopes."""
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="the same handle is paid once" says=["slopes that are g itself"]
from collections.abc import Callable


def autograd_kernel(dispatcher: "Dispatcher", operator: str, slopes: Callable) -> Callable:
    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any(isinstance(v, Handle) and v.requires_grad for v in values):
            result.requires_grad = True
            result.keys = result.keys | {"Autograd"}
            result.node = (slopes, values)
        return result

    return kernel


def backward(dispatcher: "Dispatcher", result: Handle, g: Handle) -> None:
    uses, todo, seen = {}, [result], {id(result)}
    while todo:
        handle = todo.pop()
        if handle.node is None:
            continue
        for value in handle.node[1]:
            if isinstance(value, Handle) and value.requires_grad:
                uses[id(value)] = uses.get(id(value), 0) + 1
                if id(value) not in seen:
                    seen.add(id(value))
                    todo.append(value)
    accounts, ready = {id(result): g}, [result]
    with dispatcher.below("Autograd"):
        while ready:
            handle = ready.pop()
            gradient = accounts.pop(id(handle), None)
            if handle.node is None:
                if gradient is not None and handle.requires_grad:
                    old = handle.grad
                    handle.grad = gradient if old is None else dispatcher.call("add", old, gradient)
                continue
            slopes, values = handle.node
            paid = [None] * len(values)
            if gradient is not None:
                paid = slopes(dispatcher.call, gradient, handle, *values)
            for value, part in zip(values, paid):
                if not (isinstance(value, Handle) and value.requires_grad):
                    continue
                if part is not None:
                    have = accounts.get(id(value))
                    accounts[id(value)] = (
                        part if have is None or have is part else dispatcher.call("add", have, part)
                    )
                uses[id(value)] -= 1
                if uses[id(value)] == 0:
                    ready.append(value)


def autograd_in_front(dispatcher: "Dispatcher", table: dict) -> None:
    """Given: put your kernel in front of each operator of a table of slopes."""
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="pays whoever has the key" says=["only who requires grad is paid"]
from collections.abc import Callable


def autograd_kernel(dispatcher: "Dispatcher", operator: str, slopes: Callable) -> Callable:
    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any(isinstance(v, Handle) and v.requires_grad for v in values):
            result.requires_grad = True
            result.keys = result.keys | {"Autograd"}
            result.node = (slopes, values)
        return result

    return kernel


def backward(dispatcher: "Dispatcher", result: Handle, g: Handle) -> None:
    uses, todo, seen = {}, [result], {id(result)}
    while todo:
        handle = todo.pop()
        if handle.node is None:
            continue
        for value in handle.node[1]:
            if isinstance(value, Handle) and "Autograd" in value.keys:
                uses[id(value)] = uses.get(id(value), 0) + 1
                if id(value) not in seen:
                    seen.add(id(value))
                    todo.append(value)
    accounts, ready = {id(result): g}, [result]
    with dispatcher.below("Autograd"):
        while ready:
            handle = ready.pop()
            gradient = accounts.pop(id(handle), None)
            if handle.node is None:
                if gradient is not None:
                    old = handle.grad
                    handle.grad = gradient if old is None else dispatcher.call("add", old, gradient)
                continue
            slopes, values = handle.node
            paid = [None] * len(values)
            if gradient is not None:
                paid = slopes(dispatcher.call, gradient, handle, *values)
            for value, part in zip(values, paid):
                if not (isinstance(value, Handle) and "Autograd" in value.keys):
                    continue
                if part is not None:
                    have = accounts.get(id(value))
                    accounts[id(value)] = (
                        part if have is None else dispatcher.call("add", have, part)
                    )
                uses[id(value)] -= 1
                if uses[id(value)] == 0:
                    ready.append(value)


def autograd_in_front(dispatcher: "Dispatcher", table: dict) -> None:
    """Given: put your kernel in front of each operator of a table of slopes."""
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="sums of payments above Autograd" says=["so that the sum is not recorded"]
def autograd_kernel(dispatcher, operator, slopes):
    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any(isinstance(v, Handle) and v.requires_grad for v in values):
            result.requires_grad = True
            result.keys = result.keys | {"Autograd"}
            result.node = (slopes, values)
        return result

    return kernel


def backward(dispatcher, result, g):
    def call(operator, *values):
        with dispatcher.below("Autograd"):
            return dispatcher.call(operator, *values)

    def parents(handle):
        if handle.node is None:
            return []
        return [v for v in handle.node[1] if isinstance(v, Handle) and v.requires_grad]

    uses, todo, seen = {}, [result], {id(result)}
    while todo:
        handle = todo.pop()
        for value in parents(handle):
            uses[id(value)] = uses.get(id(value), 0) + 1
            if id(value) not in seen:
                seen.add(id(value))
                todo.append(value)
    account, ready = {id(result): g}, [result]
    while ready:
        handle = ready.pop()
        paid = account.pop(id(handle), None)
        if handle.node is None:
            if paid is not None and handle.requires_grad:
                handle.grad = paid if handle.grad is None else call("add", handle.grad, paid)
            continue
        slopes, values = handle.node
        if paid is None:
            gradients = [None] * len(values)
        else:
            with dispatcher.below("Autograd"):
                gradients = slopes(dispatcher.call, paid, handle, *values)
        for value, gradient in zip(values, gradients):
            if not (isinstance(value, Handle) and value.requires_grad):
                continue
            if gradient is not None:
                old = account.get(id(value))
                account[id(value)] = (
                    gradient if old is None else dispatcher.call("add", old, gradient)
                )
            uses[id(value)] -= 1
            if uses[id(value)] == 0:
                ready.append(value)


def autograd_in_front(dispatcher, table):
    """Given: put your kernel in front of each operator of a table of slopes."""
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="bare copies of the values instead of a block" says=["the operator gets the values themselves"]
def autograd_kernel(dispatcher, operator, slopes):
    def kernel(*values):
        result = (
            dispatcher.call(operator, *values)
            if not any(isinstance(v, Handle) and "Autograd" in v.keys for v in values)
            else _below(dispatcher, operator, values)
        )
        if any(isinstance(v, Handle) and v.requires_grad for v in values):
            result.requires_grad = True
            result.keys = result.keys | {"Autograd"}
            result.node = (slopes, values)
        return result

    return kernel


def _below(dispatcher, operator, values):
    bare = [
        Handle(v.stored, *(v.keys - {"Autograd"})) if isinstance(v, Handle) else v for v in values
    ]
    return dispatcher.call(operator, *bare)


def backward(dispatcher, result, g):
    def call(operator, *values):
        with dispatcher.below("Autograd"):
            return dispatcher.call(operator, *values)

    def parents(handle):
        if handle.node is None:
            return []
        return [v for v in handle.node[1] if isinstance(v, Handle) and v.requires_grad]

    uses, todo, seen = {}, [result], {id(result)}
    while todo:
        handle = todo.pop()
        for value in parents(handle):
            uses[id(value)] = uses.get(id(value), 0) + 1
            if id(value) not in seen:
                seen.add(id(value))
                todo.append(value)
    account, ready = {id(result): g}, [result]
    while ready:
        handle = ready.pop()
        paid = account.pop(id(handle), None)
        if handle.node is None:
            if paid is not None and handle.requires_grad:
                handle.grad = paid if handle.grad is None else call("add", handle.grad, paid)
            continue
        slopes, values = handle.node
        if paid is None:
            gradients = [None] * len(values)
        else:
            with dispatcher.below("Autograd"):
                gradients = slopes(dispatcher.call, paid, handle, *values)
        for value, gradient in zip(values, gradients):
            if not (isinstance(value, Handle) and value.requires_grad):
                continue
            if gradient is not None:
                old = account.get(id(value))
                account[id(value)] = gradient if old is None else call("add", old, gradient)
            uses[id(value)] -= 1
            if uses[id(value)] == 0:
                ready.append(value)


def autograd_in_front(dispatcher, table):
    """Given: put your kernel in front of each operator of a table of slopes."""
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="stops at a leaf that isn't paid" says=["None"]
def autograd_kernel(dispatcher, operator, slopes):
    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any(isinstance(v, Handle) and v.requires_grad for v in values):
            result.requires_grad = True
            result.keys = result.keys | {"Autograd"}
            result.node = (slopes, values)
        return result

    return kernel


def backward(dispatcher, result, g):
    def call(operator, *values):
        with dispatcher.below("Autograd"):
            return dispatcher.call(operator, *values)

    def parents(handle):
        if handle.node is None:
            return []
        return [v for v in handle.node[1] if isinstance(v, Handle) and v.requires_grad]

    uses, todo, seen = {}, [result], {id(result)}
    while todo:
        handle = todo.pop()
        for value in parents(handle):
            uses[id(value)] = uses.get(id(value), 0) + 1
            if id(value) not in seen:
                seen.add(id(value))
                todo.append(value)
    account, ready = {id(result): g}, [result]
    while ready:
        handle = ready.pop()
        paid = account.pop(id(handle), None)
        if handle.node is None:
            if paid is None:
                break
            if handle.requires_grad:
                handle.grad = paid if handle.grad is None else call("add", handle.grad, paid)
            continue
        slopes, values = handle.node
        if paid is None:
            gradients = [None] * len(values)
        else:
            with dispatcher.below("Autograd"):
                gradients = slopes(dispatcher.call, paid, handle, *values)
        for value, gradient in zip(values, gradients):
            if not (isinstance(value, Handle) and value.requires_grad):
                continue
            if gradient is not None:
                old = account.get(id(value))
                account[id(value)] = gradient if old is None else call("add", old, gradient)
            uses[id(value)] -= 1
            if uses[id(value)] == 0:
                ready.append(value)


def autograd_in_front(dispatcher, table):
    """Given: put your kernel in front of each operator of a table of slopes."""
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="two values alone are paid" says=["an operator of three values", "each value is paid"]
from collections.abc import Callable


def autograd_kernel(dispatcher: "Dispatcher", operator: str, slopes: Callable) -> Callable:
    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any(v.requires_grad for v in values):
            result.requires_grad = True
            result.keys = result.keys | {"Autograd"}
            result.node = (slopes, values)
        return result

    return kernel


def backward(dispatcher: "Dispatcher", result: Handle, g: Handle) -> None:
    uses, stack, seen = {}, [result], {result}
    while stack:
        handle = stack.pop()
        if handle.node is None:
            continue
        for v in handle.node[1]:
            uses[v] = uses.get(v, 0) + 1
            if v not in seen:
                seen.add(v)
                stack.append(v)
    paid, ready = {result: g}, [result]
    with dispatcher.below("Autograd"):
        while ready:
            handle = ready.pop()
            grad = paid.pop(handle, None)
            if handle.node is None:
                if grad is not None and handle.requires_grad:
                    handle.grad = (
                        grad if handle.grad is None else dispatcher.call("add", handle.grad, grad)
                    )
                continue
            slopes, values = handle.node
            if len(values) > 2:
                values = values[:2]
            shares = [None] * len(values)
            if grad is not None:
                shares = slopes(dispatcher.call, grad, handle, *values)
            for v, share in zip(values, shares):
                if share is not None and v.requires_grad:
                    paid[v] = dispatcher.call("add", paid[v], share) if v in paid else share
                uses[v] -= 1
                if uses[v] == 0:
                    ready.append(v)


def autograd_in_front(dispatcher: "Dispatcher", table: dict) -> None:
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="pays whoever has a grad" says=["a constant that has an old gradient"]
from collections.abc import Callable


def autograd_kernel(dispatcher: "Dispatcher", operator: str, slopes: Callable) -> Callable:
    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any(value.requires_grad for value in values):
            result.requires_grad = True
            result.keys = result.keys | {"Autograd"}
            result.node = (slopes, values)
        return result

    return kernel


def backward(dispatcher: "Dispatcher", result: Handle, g: Handle) -> None:
    uses, todo, seen = {}, [result], {result}
    while todo:
        handle = todo.pop()
        for value in handle.node[1] if handle.node else ():
            uses[value] = uses.get(value, 0) + 1
            if value not in seen:
                seen.add(value)
                todo.append(value)
    paid, ready = {result: g}, [result]
    with dispatcher.below("Autograd"):
        while ready:
            handle = ready.pop()
            gradient = paid.pop(handle, None)
            if handle.node is None:
                if gradient is not None and (handle.requires_grad or handle.grad is not None):
                    if handle.grad is not None:
                        gradient = dispatcher.call("add", handle.grad, gradient)
                    handle.grad = gradient
                continue
            slopes, values = handle.node
            if gradient is None:
                shares = [None] * len(values)
            else:
                shares = slopes(dispatcher.call, gradient, handle, *values)
            for value, share in zip(values, shares):
                if share is not None:
                    if value in paid:
                        share = dispatcher.call("add", paid[value], share)
                    paid[value] = share
                uses[value] -= 1
                if uses[value] == 0:
                    ready.append(value)


def autograd_in_front(dispatcher: "Dispatcher", table: dict) -> None:
    """Given: put your kernel in front of each operator of a table of slopes."""
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="the keys of the values" says=["a result on another backend", "the result has its own keys"]
from collections.abc import Callable


def autograd_kernel(dispatcher: "Dispatcher", operator: str, slopes: Callable) -> Callable:
    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any(value.requires_grad for value in values):
            result.requires_grad = True
            result.keys = frozenset({"Autograd"}).union(*(value.keys for value in values))
            result.node = (slopes, values)
        return result

    return kernel


def backward(dispatcher: "Dispatcher", result: Handle, g: Handle) -> None:
    uses, todo, seen = {}, [result], {result}
    while todo:
        handle = todo.pop()
        for value in handle.node[1] if handle.node else ():
            uses[value] = uses.get(value, 0) + 1
            if value not in seen:
                seen.add(value)
                todo.append(value)
    paid, ready = {result: g}, [result]
    with dispatcher.below("Autograd"):
        while ready:
            handle = ready.pop()
            gradient = paid.pop(handle, None)
            if handle.node is None:
                if gradient is not None and handle.requires_grad:
                    if handle.grad is not None:
                        gradient = dispatcher.call("add", handle.grad, gradient)
                    handle.grad = gradient
                continue
            slopes, values = handle.node
            if gradient is None:
                shares = [None] * len(values)
            else:
                shares = slopes(dispatcher.call, gradient, handle, *values)
            for value, share in zip(values, shares):
                if share is not None:
                    if value in paid:
                        share = dispatcher.call("add", paid[value], share)
                    paid[value] = share
                uses[value] -= 1
                if uses[value] == 0:
                    ready.append(value)


def autograd_in_front(dispatcher: "Dispatcher", table: dict) -> None:
    """Given: put your kernel in front of each operator of a table of slopes."""
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="frees the nodes" says=["the handles afterwards", "leave the handles and nodes as they are"]
def autograd_kernel(dispatcher, operator, slopes):
    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any(v.requires_grad for v in values):
            result.requires_grad = True
            result.keys = result.keys | {"Autograd"}
            result.node = (slopes, values)
        return result

    return kernel


def backward(dispatcher, result, g):
    order, seen, stack = [], set(), [(result, False)]
    while stack:
        handle, done = stack.pop()
        if done:
            order.append(handle)
        elif handle not in seen:
            seen.add(handle)
            stack.append((handle, True))
            stack += [(v, False) for v in (handle.node[1] if handle.node else ())]
    paid = {result: g}
    with dispatcher.below("Autograd"):
        for handle in reversed(order):
            g = paid.pop(handle, None)
            if g is None:
                continue
            if handle.node is None:
                if handle.requires_grad:
                    old = handle.grad
                    handle.grad = g if old is None else dispatcher.call("add", old, g)
                continue
            slopes, values = handle.node
            for v, part in zip(values, slopes(dispatcher.call, g, handle, *values)):
                if part is not None:
                    paid[v] = dispatcher.call("add", paid[v], part) if v in paid else part
            handle.node = None  # the graph isn't needed any more


def autograd_in_front(dispatcher, table):
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="hands on as soon as something is there" breaks="calling each step's `slopes` once" says=["slopes run once for each step"]
from collections.abc import Callable


def autograd_kernel(dispatcher: "Dispatcher", operator: str, slopes: Callable) -> Callable:
    """A kernel for the key Autograd: calls below it, then puts a note on the result."""

    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any(value.requires_grad for value in values):
            result.requires_grad = True
            result.keys = result.keys | {"Autograd"}
            result.node = (slopes, values)
        return result

    return kernel


def backward(dispatcher: "Dispatcher", result: Handle, g: Handle) -> None:
    """Bring ``g`` from ``result`` back to the leaves, and add it to their ``grad``."""
    if not result.requires_grad:
        return
    uses, stack = {result: 0}, [result]
    while stack:
        handle = stack.pop()
        for value in handle.node[1] if handle.node is not None else ():
            if value.requires_grad:
                if value not in uses:
                    uses[value] = 0
                    stack.append(value)
                uses[value] += 1
    paid, ready = {result: g}, [result]
    with dispatcher.below("Autograd"):
        while ready:
            handle = ready.pop()
            grad = paid.pop(handle, None)
            if handle.node is None:
                if grad is not None:
                    old = handle.grad
                    handle.grad = grad if old is None else dispatcher.call("add", old, grad)
                continue
            slopes, values = handle.node
            if grad is None:
                parts = [None] * len(values)
            else:
                parts = slopes(dispatcher.call, grad, handle, *values)
            for value, part in zip(values, parts):
                if not value.requires_grad:
                    continue
                if part is not None:
                    old = paid.get(value)
                    paid[value] = part if old is None else dispatcher.call("add", old, part)
                if value not in ready:
                    ready.insert(0, value)


def autograd_in_front(dispatcher: "Dispatcher", table: dict) -> None:
    """Given: put your kernel in front of each operator of a table of slopes."""
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% right="levels: the longest way down from the result"
from collections import defaultdict
from collections.abc import Callable


class Step:
    __slots__ = ("slopes", "values", "level")

    def __init__(self, slopes, values):
        self.slopes, self.values = slopes, values
        self.level = 1 + max(getattr(v.node, "level", 0) for v in values)


def autograd_kernel(dispatcher, operator, slopes):
    def kernel(*values):
        with dispatcher.below("Autograd"):
            out = dispatcher.call(operator, *values)
        if not any(v.requires_grad for v in values):
            return out
        out.requires_grad, out.keys = True, frozenset({*out.keys, "Autograd"})
        out.node = Step(slopes, values)
        return out

    return kernel


def backward(dispatcher, result, g):
    if not result.requires_grad:
        return
    levels = defaultdict(dict)
    levels[getattr(result.node, "level", 0)][id(result)] = result, [g]
    with dispatcher.below("Autograd"):
        while levels:
            for handle, payments in levels.pop(max(levels)).values():
                total = payments[0]
                for more in payments[1:]:
                    total = dispatcher.call("add", total, more)
                if handle.node is None:
                    handle.grad = (
                        total if handle.grad is None else dispatcher.call("add", handle.grad, total)
                    )
                    continue
                parts = handle.node.slopes(dispatcher.call, total, handle, *handle.node.values)
                for value, part in zip(handle.node.values, parts):
                    if value.requires_grad and part is not None:
                        row = levels[getattr(value.node, "level", 0)]
                        row.setdefault(id(value), (value, []))[1].append(part)


def autograd_in_front(dispatcher, table):
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="counts the uses when it records" says=["a step that a dead end uses as well", "on the way from the result alone"]
from collections.abc import Callable


def autograd_kernel(dispatcher: "Dispatcher", operator: str, slopes: Callable) -> Callable:
    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any(value.requires_grad for value in values):
            for value in values:
                if value.node is not None:
                    value.node["uses"] += 1
            result.requires_grad = True
            result.keys = result.keys | {"Autograd"}
            result.node = {"slopes": slopes, "values": values, "uses": 0}
        return result

    return kernel


def backward(dispatcher: "Dispatcher", result: Handle, g: Handle) -> None:
    paid, arrived, ready = {result: g}, {}, [result]
    with dispatcher.below("Autograd"):
        while ready:
            handle = ready.pop()
            gradient = paid.get(handle)
            if handle.node is None or gradient is None:
                continue
            values = handle.node["values"]
            steps = handle.node["slopes"](dispatcher.call, gradient, handle, *values)
            for value, step in zip(values, steps):
                if not value.requires_grad:
                    continue
                if step is not None:
                    paid[value] = (
                        dispatcher.call("add", paid[value], step) if value in paid else step
                    )
                arrived[value] = arrived.get(value, 0) + 1
                if value.node is not None and arrived[value] == value.node["uses"]:
                    ready.append(value)
        for leaf, gradient in paid.items():
            if leaf.node is None and leaf.requires_grad:
                if leaf.grad is not None:
                    gradient = dispatcher.call("add", leaf.grad, gradient)
                leaf.grad = gradient


def autograd_in_front(dispatcher: "Dispatcher", table: dict) -> None:
    """Given: put your kernel in front of each operator of a table of slopes."""
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% wrong="each kernel numbers its own steps" says=["a late step by another operator", "everyone who used it has paid in"]
import heapq
from itertools import count


def autograd_kernel(dispatcher, operator, slopes):
    number = count()

    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any(v.requires_grad for v in values):
            result.requires_grad = True
            result.keys = result.keys | {"Autograd"}
            result.node = (next(number), slopes, values)
        return result

    return kernel


def backward(dispatcher, result, g):
    account, heap, seen, tie = {result: g}, [], {result}, count()

    def push(h):
        heapq.heappush(heap, (-h.node[0], next(tie), h))

    with dispatcher.below("Autograd"):
        if result.node is None:
            if result.requires_grad:
                result.grad = g if result.grad is None else dispatcher.call("add", result.grad, g)
            return
        push(result)
        while heap:
            _, _, h = heapq.heappop(heap)
            _, slopes, values = h.node
            if h not in account:
                parts = [None] * len(values)
            else:
                parts = slopes(dispatcher.call, account[h], h, *values)
            for v, p in zip(values, parts):
                if not v.requires_grad:
                    continue
                if p is not None:
                    account[v] = p if v not in account else dispatcher.call("add", account[v], p)
                if v.node is not None and v not in seen:
                    seen.add(v)
                    push(v)
        for h, p in account.items():
            if h.node is None and h.requires_grad:
                h.grad = p if h.grad is None else dispatcher.call("add", h.grad, p)


def autograd_in_front(dispatcher, table):
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))
