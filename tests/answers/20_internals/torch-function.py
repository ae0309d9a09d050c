# %% [markdown]
# Rules:
#
# - "the units have to be equal"
# - "else a `ValueError`"
# - "the result has that unit"
# - "powers are added or subtracted"
# - "a power of 0 is left out"
# - "powers are halved"
# - "stay whole numbers"
# - "an odd power raises a `ValueError`"
# - "the unit stays"
# - "any other: return `NotImplemented`"
# - "functions with these names"
# - "A plain tensor or number among the arguments has no unit, `{}`"
# - "keyword arguments are handed on as they are"
# - "so may be the dimension of `sum` and `mean`"
# - "The result is a new `Quantity`"
# - "with a new dict"
# - "its value computed by the same function on the values"
# - "so that gradients flow"
# - "Leave the arguments as they are"
#
# Admits:
#
# - "so may be the dimension of `sum` and `mean`": the mean along 1, by position
# - "a tensor, and a `unit`": float64 values
# - "a dict from names to powers": m/s + m/s, the names in another order
# - "has no unit, `{}`": the root of no unit
# - "A plain tensor or number among the arguments": a plain tensor / metres
# - "keyword arguments": div with rounding_mode

# %% wrong="compares with torch's functions" says=["go by its name"]
class Quantity(units.Measured):
    """A tensor with a unit; ``__init__(value, unit)`` and the operators are given."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """What PyTorch calls in place of ``func`` when a Quantity is among its arguments."""
        name, kwargs = func.__name__, kwargs or {}
        if func not in (
            torch.add,
            torch.sub,
            torch.mul,
            torch.div,
            torch.sqrt,
            torch.sum,
            torch.mean,
        ):
            return NotImplemented
        unit, *others = [dict(getattr(value, "unit", {})) for value in args]
        if name in ("add", "sub") and others[0] != unit:
            raise ValueError(f"{name} of {unit} and {others[0]}")
        if name in ("mul", "div"):
            for key, power in others[0].items():
                unit[key] = unit.get(key, 0) + (power if name == "mul" else -power)
        if name == "sqrt":
            if any(power % 2 for power in unit.values()):
                raise ValueError(f"no root of {unit}")
            unit = {key: power // 2 for key, power in unit.items()}
        value = func(*(getattr(value, "value", value) for value in args), **kwargs)
        return cls(value, {key: power for key, power in unit.items() if power})


def torch_function(values: list[float], **unit: int) -> Quantity:
    """Given: a quantity, such as 3 m/s by torch_function([3.0], m=1, s=-1)."""
    return Quantity(torch.tensor(values), unit)


# %% wrong="kwargs is never None" says=["kwargs is None where no keyword was given"]
class Quantity(units.Measured):
    """A tensor with a unit; ``__init__(value, unit)`` and the operators are given."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """What PyTorch calls in place of ``func`` when a Quantity is among its arguments."""
        name, kwargs = func.__name__, kwargs
        if name not in ("add", "sub", "mul", "div", "sqrt", "sum", "mean"):
            return NotImplemented
        unit, *others = [dict(getattr(value, "unit", {})) for value in args]
        if name in ("add", "sub") and others[0] != unit:
            raise ValueError(f"{name} of {unit} and {others[0]}")
        if name in ("mul", "div"):
            for key, power in others[0].items():
                unit[key] = unit.get(key, 0) + (power if name == "mul" else -power)
        if name == "sqrt":
            if any(power % 2 for power in unit.values()):
                raise ValueError(f"no root of {unit}")
            unit = {key: power // 2 for key, power in unit.items()}
        value = func(*(getattr(value, "value", value) for value in args), **kwargs)
        return cls(value, {key: power for key, power in unit.items() if power})


def torch_function(values: list[float], **unit: int) -> Quantity:
    """Given: a quantity, such as 3 m/s by torch_function([3.0], m=1, s=-1)."""
    return Quantity(torch.tensor(values), unit)


# %% wrong="drops keywords" says=["keywords are handed on"]
class Quantity(units.Measured):
    """A tensor with a unit; ``__init__(value, unit)`` and the operators are given."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """What PyTorch calls in place of ``func`` when a Quantity is among its arguments."""
        name, kwargs = func.__name__, kwargs or {}
        if name not in ("add", "sub", "mul", "div", "sqrt", "sum", "mean"):
            return NotImplemented
        unit, *others = [dict(getattr(value, "unit", {})) for value in args]
        if name in ("add", "sub") and others[0] != unit:
            raise ValueError(f"{name} of {unit} and {others[0]}")
        if name in ("mul", "div"):
            for key, power in others[0].items():
                unit[key] = unit.get(key, 0) + (power if name == "mul" else -power)
        if name == "sqrt":
            if any(power % 2 for power in unit.values()):
                raise ValueError(f"no root of {unit}")
            unit = {key: power // 2 for key, power in unit.items()}
        value = func(*(getattr(value, "value", value) for value in args))
        return cls(value, {key: power for key, power in unit.items() if power})


def torch_function(values: list[float], **unit: int) -> Quantity:
    """Given: a quantity, such as 3 m/s by torch_function([3.0], m=1, s=-1)."""
    return Quantity(torch.tensor(values), unit)


# %% wrong="passes alpha alone" breaks="keyword arguments are handed on as they are" says=["dim is handed on"]
class Quantity(units.Measured):
    """A tensor with a unit; ``__init__(value, unit)`` and the operators are given."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """What PyTorch calls in place of ``func`` when a Quantity is among its arguments."""
        name, kwargs = func.__name__, kwargs or {}
        if name not in ("add", "sub", "mul", "div", "sqrt", "sum", "mean"):
            return NotImplemented
        unit, *others = [dict(getattr(value, "unit", {})) for value in args]
        if name in ("add", "sub") and others[0] != unit:
            raise ValueError(f"{name} of {unit} and {others[0]}")
        if name in ("mul", "div"):
            for key, power in others[0].items():
                unit[key] = unit.get(key, 0) + (power if name == "mul" else -power)
        if name == "sqrt":
            if any(power % 2 for power in unit.values()):
                raise ValueError(f"no root of {unit}")
            unit = {key: power // 2 for key, power in unit.items()}
        value = func(
            *(getattr(value, "value", value) for value in args),
            **{k: v for k, v in kwargs.items() if k != "dim"},
        )
        return cls(value, {key: power for key, power in unit.items() if power})


def torch_function(values: list[float], **unit: int) -> Quantity:
    """Given: a quantity, such as 3 m/s by torch_function([3.0], m=1, s=-1)."""
    return Quantity(torch.tensor(values), unit)


# %% wrong="adds apples" breaks="the units have to be equal" says=["unequal units don't add"]
class Quantity(units.Measured):
    """A tensor with a unit; ``__init__(value, unit)`` and the operators are given."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """What PyTorch calls in place of ``func`` when a Quantity is among its arguments."""
        name, kwargs = func.__name__, kwargs or {}
        if name not in ("add", "sub", "mul", "div", "sqrt", "sum", "mean"):
            return NotImplemented
        unit, *others = [dict(getattr(value, "unit", {})) for value in args]
        if name in ("mul", "div"):
            for key, power in others[0].items():
                unit[key] = unit.get(key, 0) + (power if name == "mul" else -power)
        if name == "sqrt":
            if any(power % 2 for power in unit.values()):
                raise ValueError(f"no root of {unit}")
            unit = {key: power // 2 for key, power in unit.items()}
        value = func(*(getattr(value, "value", value) for value in args), **kwargs)
        return cls(value, {key: power for key, power in unit.items() if power})


def torch_function(values: list[float], **unit: int) -> Quantity:
    """Given: a quantity, such as 3 m/s by torch_function([3.0], m=1, s=-1)."""
    return Quantity(torch.tensor(values), unit)


# %% wrong="sub isn't checked" says=["metres - m²"]
class Quantity(units.Measured):
    """A tensor with a unit; ``__init__(value, unit)`` and the operators are given."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """What PyTorch calls in place of ``func`` when a Quantity is among its arguments."""
        name, kwargs = func.__name__, kwargs or {}
        if name not in ("add", "sub", "mul", "div", "sqrt", "sum", "mean"):
            return NotImplemented
        unit, *others = [dict(getattr(value, "unit", {})) for value in args]
        if name == "add" and others[0] != unit:
            raise ValueError(f"{name} of {unit} and {others[0]}")
        if name in ("mul", "div"):
            for key, power in others[0].items():
                unit[key] = unit.get(key, 0) + (power if name == "mul" else -power)
        if name == "sqrt":
            if any(power % 2 for power in unit.values()):
                raise ValueError(f"no root of {unit}")
            unit = {key: power // 2 for key, power in unit.items()}
        value = func(*(getattr(value, "value", value) for value in args), **kwargs)
        return cls(value, {key: power for key, power in unit.items() if power})


def torch_function(values: list[float], **unit: int) -> Quantity:
    """Given: a quantity, such as 3 m/s by torch_function([3.0], m=1, s=-1)."""
    return Quantity(torch.tensor(values), unit)


# %% wrong="compares names alone" says=["metres - m²"]
class Quantity(units.Measured):
    """A tensor with a unit; ``__init__(value, unit)`` and the operators are given."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """What PyTorch calls in place of ``func`` when a Quantity is among its arguments."""
        name, kwargs = func.__name__, kwargs or {}
        if name not in ("add", "sub", "mul", "div", "sqrt", "sum", "mean"):
            return NotImplemented
        unit, *others = [dict(getattr(value, "unit", {})) for value in args]
        if name in ("add", "sub") and set(others[0]) != set(unit):
            raise ValueError(f"{name} of {unit} and {others[0]}")
        if name in ("mul", "div"):
            for key, power in others[0].items():
                unit[key] = unit.get(key, 0) + (power if name == "mul" else -power)
        if name == "sqrt":
            if any(power % 2 for power in unit.values()):
                raise ValueError(f"no root of {unit}")
            unit = {key: power // 2 for key, power in unit.items()}
        value = func(*(getattr(value, "value", value) for value in args), **kwargs)
        return cls(value, {key: power for key, power in unit.items() if power})


def torch_function(values: list[float], **unit: int) -> Quantity:
    """Given: a quantity, such as 3 m/s by torch_function([3.0], m=1, s=-1)."""
    return Quantity(torch.tensor(values), unit)


# %% wrong="TypeError for units" breaks="else a `ValueError`" says=["unequal units don't add"]
class Quantity(units.Measured):
    """A tensor with a unit; ``__init__(value, unit)`` and the operators are given."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """What PyTorch calls in place of ``func`` when a Quantity is among its arguments."""
        name, kwargs = func.__name__, kwargs or {}
        if name not in ("add", "sub", "mul", "div", "sqrt", "sum", "mean"):
            return NotImplemented
        unit, *others = [dict(getattr(value, "unit", {})) for value in args]
        if name in ("add", "sub") and others[0] != unit:
            raise TypeError(f"{name} of {unit} and {others[0]}")
        if name in ("mul", "div"):
            for key, power in others[0].items():
                unit[key] = unit.get(key, 0) + (power if name == "mul" else -power)
        if name == "sqrt":
            if any(power % 2 for power in unit.values()):
                raise ValueError(f"no root of {unit}")
            unit = {key: power // 2 for key, power in unit.items()}
        value = func(*(getattr(value, "value", value) for value in args), **kwargs)
        return cls(value, {key: power for key, power in unit.items() if power})


def torch_function(values: list[float], **unit: int) -> Quantity:
    """Given: a quantity, such as 3 m/s by torch_function([3.0], m=1, s=-1)."""
    return Quantity(torch.tensor(values), unit)


# %% wrong="a plain number goes with anything" breaks="A plain tensor or number among the arguments has no unit, `{}`" says=["metres + 1"]
class Quantity(units.Measured):
    """A tensor with a unit; ``__init__(value, unit)`` and the operators are given."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """What PyTorch calls in place of ``func`` when a Quantity is among its arguments."""
        name, kwargs = func.__name__, kwargs or {}
        if name not in ("add", "sub", "mul", "div", "sqrt", "sum", "mean"):
            return NotImplemented
        unit, *others = [dict(getattr(value, "unit", {})) for value in args]
        if (
            name in ("add", "sub")
            and others[0] != unit
            and hasattr(args[1], "unit")
            and hasattr(args[0], "unit")
        ):
            raise ValueError(f"{name} of {unit} and {others[0]}")
        if name in ("add", "sub"):
            unit = unit or others[0]
        if name in ("mul", "div"):
            for key, power in others[0].items():
                unit[key] = unit.get(key, 0) + (power if name == "mul" else -power)
        if name == "sqrt":
            if any(power % 2 for power in unit.values()):
                raise ValueError(f"no root of {unit}")
            unit = {key: power // 2 for key, power in unit.items()}
        value = func(*(getattr(value, "value", value) for value in args), **kwargs)
        return cls(value, {key: power for key, power in unit.items() if power})


def torch_function(values: list[float], **unit: int) -> Quantity:
    """Given: a quantity, such as 3 m/s by torch_function([3.0], m=1, s=-1)."""
    return Quantity(torch.tensor(values), unit)


# %% wrong="zero powers stay" breaks="a power of 0 is left out" says=["a power of 0 is left out"]
class Quantity(units.Measured):
    """A tensor with a unit; ``__init__(value, unit)`` and the operators are given."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """What PyTorch calls in place of ``func`` when a Quantity is among its arguments."""
        name, kwargs = func.__name__, kwargs or {}
        if name not in ("add", "sub", "mul", "div", "sqrt", "sum", "mean"):
            return NotImplemented
        unit, *others = [dict(getattr(value, "unit", {})) for value in args]
        if name in ("add", "sub") and others[0] != unit:
            raise ValueError(f"{name} of {unit} and {others[0]}")
        if name in ("mul", "div"):
            for key, power in others[0].items():
                unit[key] = unit.get(key, 0) + (power if name == "mul" else -power)
        if name == "sqrt":
            if any(power % 2 for power in unit.values()):
                raise ValueError(f"no root of {unit}")
            unit = {key: power // 2 for key, power in unit.items()}
        value = func(*(getattr(value, "value", value) for value in args), **kwargs)
        return cls(value, unit)


def torch_function(values: list[float], **unit: int) -> Quantity:
    """Given: a quantity, such as 3 m/s by torch_function([3.0], m=1, s=-1)."""
    return Quantity(torch.tensor(values), unit)


# %% wrong="divides like multiplying" breaks="powers are added or subtracted" says=["powers are subtracted"]
class Quantity(units.Measured):
    """A tensor with a unit; ``__init__(value, unit)`` and the operators are given."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """What PyTorch calls in place of ``func`` when a Quantity is among its arguments."""
        name, kwargs = func.__name__, kwargs or {}
        if name not in ("add", "sub", "mul", "div", "sqrt", "sum", "mean"):
            return NotImplemented
        unit, *others = [dict(getattr(value, "unit", {})) for value in args]
        if name in ("add", "sub") and others[0] != unit:
            raise ValueError(f"{name} of {unit} and {others[0]}")
        if name in ("mul", "div"):
            for key, power in others[0].items():
                unit[key] = unit.get(key, 0) + power
        if name == "sqrt":
            if any(power % 2 for power in unit.values()):
                raise ValueError(f"no root of {unit}")
            unit = {key: power // 2 for key, power in unit.items()}
        value = func(*(getattr(value, "value", value) for value in args), **kwargs)
        return cls(value, {key: power for key, power in unit.items() if power})


def torch_function(values: list[float], **unit: int) -> Quantity:
    """Given: a quantity, such as 3 m/s by torch_function([3.0], m=1, s=-1)."""
    return Quantity(torch.tensor(values), unit)


# %% wrong="loses the divisor's unit" says=["a plain tensor / metres"]
class Quantity(units.Measured):
    """A tensor with a unit; ``__init__(value, unit)`` and the operators are given."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """What PyTorch calls in place of ``func`` when a Quantity is among its arguments."""
        name, kwargs = func.__name__, kwargs or {}
        if name not in ("add", "sub", "mul", "div", "sqrt", "sum", "mean"):
            return NotImplemented
        unit, *others = [dict(getattr(value, "unit", {})) for value in args]
        if name in ("add", "sub") and others[0] != unit:
            raise ValueError(f"{name} of {unit} and {others[0]}")
        if name in ("mul", "div"):
            for key, power in others[0].items():
                unit[key] = (
                    unit.get(key, 0)
                    if key in unit
                    else 0 + (power if name == "mul" or key not in unit else -power)
                )
        if name == "sqrt":
            if any(power % 2 for power in unit.values()):
                raise ValueError(f"no root of {unit}")
            unit = {key: power // 2 for key, power in unit.items()}
        value = func(*(getattr(value, "value", value) for value in args), **kwargs)
        return cls(value, {key: power for key, power in unit.items() if power})


def torch_function(values: list[float], **unit: int) -> Quantity:
    """Given: a quantity, such as 3 m/s by torch_function([3.0], m=1, s=-1)."""
    return Quantity(torch.tensor(values), unit)


# %% wrong="the root keeps the unit" breaks="powers are halved" says=["powers are halved"]
class Quantity(units.Measured):
    """A tensor with a unit; ``__init__(value, unit)`` and the operators are given."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """What PyTorch calls in place of ``func`` when a Quantity is among its arguments."""
        name, kwargs = func.__name__, kwargs or {}
        if name not in ("add", "sub", "mul", "div", "sqrt", "sum", "mean"):
            return NotImplemented
        unit, *others = [dict(getattr(value, "unit", {})) for value in args]
        if name in ("add", "sub") and others[0] != unit:
            raise ValueError(f"{name} of {unit} and {others[0]}")
        if name in ("mul", "div"):
            for key, power in others[0].items():
                unit[key] = unit.get(key, 0) + (power if name == "mul" else -power)
        if name == "sqrt":
            if any(power % 2 for power in unit.values()):
                raise ValueError(f"no root of {unit}")
        value = func(*(getattr(value, "value", value) for value in args), **kwargs)
        return cls(value, {key: power for key, power in unit.items() if power})


def torch_function(values: list[float], **unit: int) -> Quantity:
    """Given: a quantity, such as 3 m/s by torch_function([3.0], m=1, s=-1)."""
    return Quantity(torch.tensor(values), unit)


# %% wrong="half powers" breaks="an odd power raises a `ValueError`" says=["an odd power can't be halved"]
class Quantity(units.Measured):
    """A tensor with a unit; ``__init__(value, unit)`` and the operators are given."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """What PyTorch calls in place of ``func`` when a Quantity is among its arguments."""
        name, kwargs = func.__name__, kwargs or {}
        if name not in ("add", "sub", "mul", "div", "sqrt", "sum", "mean"):
            return NotImplemented
        unit, *others = [dict(getattr(value, "unit", {})) for value in args]
        if name in ("add", "sub") and others[0] != unit:
            raise ValueError(f"{name} of {unit} and {others[0]}")
        if name in ("mul", "div"):
            for key, power in others[0].items():
                unit[key] = unit.get(key, 0) + (power if name == "mul" else -power)
        if name == "sqrt":
            unit = {key: power // 2 for key, power in unit.items()}
        value = func(*(getattr(value, "value", value) for value in args), **kwargs)
        return cls(value, {key: power for key, power in unit.items() if power})


def torch_function(values: list[float], **unit: int) -> Quantity:
    """Given: a quantity, such as 3 m/s by torch_function([3.0], m=1, s=-1)."""
    return Quantity(torch.tensor(values), unit)


# %% wrong="any function" breaks="any other: return `NotImplemented`" says=["return NotImplemented"]
class Quantity(units.Measured):
    """A tensor with a unit; ``__init__(value, unit)`` and the operators are given."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """What PyTorch calls in place of ``func`` when a Quantity is among its arguments."""
        name, kwargs = func.__name__, kwargs or {}
        if name not in ("add", "sub", "mul", "div", "sqrt", "sum", "mean"):
            return func(*(getattr(value, "value", value) for value in args))
        unit, *others = [dict(getattr(value, "unit", {})) for value in args]
        if name in ("add", "sub") and others[0] != unit:
            raise ValueError(f"{name} of {unit} and {others[0]}")
        if name in ("mul", "div"):
            for key, power in others[0].items():
                unit[key] = unit.get(key, 0) + (power if name == "mul" else -power)
        if name == "sqrt":
            if any(power % 2 for power in unit.values()):
                raise ValueError(f"no root of {unit}")
            unit = {key: power // 2 for key, power in unit.items()}
        value = func(*(getattr(value, "value", value) for value in args), **kwargs)
        return cls(value, {key: power for key, power in unit.items() if power})


def torch_function(values: list[float], **unit: int) -> Quantity:
    """Given: a quantity, such as 3 m/s by torch_function([3.0], m=1, s=-1)."""
    return Quantity(torch.tensor(values), unit)


# %% wrong="raises by itself" says=["return NotImplemented"]
class Quantity(units.Measured):
    """A tensor with a unit; ``__init__(value, unit)`` and the operators are given."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """What PyTorch calls in place of ``func`` when a Quantity is among its arguments."""
        name, kwargs = func.__name__, kwargs or {}
        if name not in ("add", "sub", "mul", "div", "sqrt", "sum", "mean"):
            raise RuntimeError(f"{name} is not for quantities")
        unit, *others = [dict(getattr(value, "unit", {})) for value in args]
        if name in ("add", "sub") and others[0] != unit:
            raise ValueError(f"{name} of {unit} and {others[0]}")
        if name in ("mul", "div"):
            for key, power in others[0].items():
                unit[key] = unit.get(key, 0) + (power if name == "mul" else -power)
        if name == "sqrt":
            if any(power % 2 for power in unit.values()):
                raise ValueError(f"no root of {unit}")
            unit = {key: power // 2 for key, power in unit.items()}
        value = func(*(getattr(value, "value", value) for value in args), **kwargs)
        return cls(value, {key: power for key, power in unit.items() if power})


def torch_function(values: list[float], **unit: int) -> Quantity:
    """Given: a quantity, such as 3 m/s by torch_function([3.0], m=1, s=-1)."""
    return Quantity(torch.tensor(values), unit)


# %% wrong="detached" says=["no detach"]
class Quantity(units.Measured):
    """A tensor with a unit; ``__init__(value, unit)`` and the operators are given."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """What PyTorch calls in place of ``func`` when a Quantity is among its arguments."""
        name, kwargs = func.__name__, kwargs or {}
        if name not in ("add", "sub", "mul", "div", "sqrt", "sum", "mean"):
            return NotImplemented
        unit, *others = [dict(getattr(value, "unit", {})) for value in args]
        if name in ("add", "sub") and others[0] != unit:
            raise ValueError(f"{name} of {unit} and {others[0]}")
        if name in ("mul", "div"):
            for key, power in others[0].items():
                unit[key] = unit.get(key, 0) + (power if name == "mul" else -power)
        if name == "sqrt":
            if any(power % 2 for power in unit.values()):
                raise ValueError(f"no root of {unit}")
            unit = {key: power // 2 for key, power in unit.items()}
        value = func(*(getattr(value, "value", value) for value in args), **kwargs)
        return cls(value.detach(), {key: power for key, power in unit.items() if power})


def torch_function(values: list[float], **unit: int) -> Quantity:
    """Given: a quantity, such as 3 m/s by torch_function([3.0], m=1, s=-1)."""
    return Quantity(torch.tensor(values), unit)


# %% wrong="by numbers" says=["is a float"]
class Quantity(units.Measured):
    """A tensor with a unit; ``__init__(value, unit)`` and the operators are given."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """What PyTorch calls in place of ``func`` when a Quantity is among its arguments."""
        name, kwargs = func.__name__, kwargs or {}
        if name not in ("add", "sub", "mul", "div", "sqrt", "sum", "mean"):
            return NotImplemented
        unit, *others = [dict(getattr(value, "unit", {})) for value in args]
        if name in ("add", "sub") and others[0] != unit:
            raise ValueError(f"{name} of {unit} and {others[0]}")
        if name in ("mul", "div"):
            for key, power in others[0].items():
                unit[key] = unit.get(key, 0) + (power if name == "mul" else -power)
        if name == "sqrt":
            if any(power % 2 for power in unit.values()):
                raise ValueError(f"no root of {unit}")
            unit = {key: power // 2 for key, power in unit.items()}
        value = func(*(getattr(value, "value", value) for value in args), **kwargs)
        value = value.item() if value.dim() == 0 else value
        return cls(value, {key: power for key, power in unit.items() if power})


def torch_function(values: list[float], **unit: int) -> Quantity:
    """Given: a quantity, such as 3 m/s by torch_function([3.0], m=1, s=-1)."""
    return Quantity(torch.tensor(values), unit)


# %% wrong="a plain tensor comes out" breaks="The result is a new `Quantity`" says=["it has lost its unit"]
class Quantity(units.Measured):
    """A tensor with a unit; ``__init__(value, unit)`` and the operators are given."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """What PyTorch calls in place of ``func`` when a Quantity is among its arguments."""
        name, kwargs = func.__name__, kwargs or {}
        if name not in ("add", "sub", "mul", "div", "sqrt", "sum", "mean"):
            return NotImplemented
        unit, *others = [dict(getattr(value, "unit", {})) for value in args]
        if name in ("add", "sub") and others[0] != unit:
            raise ValueError(f"{name} of {unit} and {others[0]}")
        if name in ("mul", "div"):
            for key, power in others[0].items():
                unit[key] = unit.get(key, 0) + (power if name == "mul" else -power)
        if name == "sqrt":
            if any(power % 2 for power in unit.values()):
                raise ValueError(f"no root of {unit}")
            unit = {key: power // 2 for key, power in unit.items()}
        value = func(*(getattr(value, "value", value) for value in args), **kwargs)
        return value


def torch_function(values: list[float], **unit: int) -> Quantity:
    """Given: a quantity, such as 3 m/s by torch_function([3.0], m=1, s=-1)."""
    return Quantity(torch.tensor(values), unit)


# %% wrong="changes the unit in place" breaks="Leave the arguments as they are" says=["the unit of a result is a new dict"]
class Quantity(units.Measured):
    """A tensor with a unit; ``__init__(value, unit)`` and the operators are given."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """What PyTorch calls in place of ``func`` when a Quantity is among its arguments."""
        name, kwargs = func.__name__, kwargs or {}
        if name not in ("add", "sub", "mul", "div", "sqrt", "sum", "mean"):
            return NotImplemented
        unit, *others = [getattr(value, "unit", {}) for value in args]
        if name in ("add", "sub") and others[0] != unit:
            raise ValueError(f"{name} of {unit} and {others[0]}")
        if name in ("mul", "div"):
            for key, power in others[0].items():
                unit[key] = unit.get(key, 0) + (power if name == "mul" else -power)
        if name == "sqrt":
            if any(power % 2 for power in unit.values()):
                raise ValueError(f"no root of {unit}")
            unit = {key: power // 2 for key, power in unit.items()}
        value = func(*(getattr(value, "value", value) for value in args), **kwargs)
        return cls(value, {key: power for key, power in unit.items() if power})


def torch_function(values: list[float], **unit: int) -> Quantity:
    """Given: a quantity, such as 3 m/s by torch_function([3.0], m=1, s=-1)."""
    return Quantity(torch.tensor(values), unit)


# %% wrong="shares the unit" breaks="with a new dict" says=["the unit of a result is a new dict"]
class Quantity(units.Measured):
    """A tensor with a unit; ``__init__(value, unit)`` and the operators are given."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """What PyTorch calls in place of ``func`` when a Quantity is among its arguments."""
        name, kwargs = func.__name__, kwargs or {}
        if name not in ("add", "sub", "mul", "div", "sqrt", "sum", "mean"):
            return NotImplemented
        unit, *others = [dict(getattr(value, "unit", {})) for value in args]
        if name in ("add", "sub") and others[0] != unit:
            raise ValueError(f"{name} of {unit} and {others[0]}")
        if name in ("mul", "div"):
            for key, power in others[0].items():
                unit[key] = unit.get(key, 0) + (power if name == "mul" else -power)
        if name == "sqrt":
            if any(power % 2 for power in unit.values()):
                raise ValueError(f"no root of {unit}")
            unit = {key: power // 2 for key, power in unit.items()}
        value = func(*(getattr(value, "value", value) for value in args), **kwargs)
        unit = {key: power for key, power in unit.items() if power}
        same = [v.unit for v in args if hasattr(v, "unit") and v.unit == unit]
        return cls(value, same[0] if same else unit)


def torch_function(values: list[float], **unit: int) -> Quantity:
    """Given: a quantity, such as 3 m/s by torch_function([3.0], m=1, s=-1)."""
    return Quantity(torch.tensor(values), unit)


# %% wrong="sum counts" breaks="the unit stays" says=["the sum"]
class Quantity(units.Measured):
    """A tensor with a unit; ``__init__(value, unit)`` and the operators are given."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """What PyTorch calls in place of ``func`` when a Quantity is among its arguments."""
        name, kwargs = func.__name__, kwargs or {}
        if name not in ("add", "sub", "mul", "div", "sqrt", "sum", "mean"):
            return NotImplemented
        unit, *others = [dict(getattr(value, "unit", {})) for value in args]
        if name in ("add", "sub") and others[0] != unit:
            raise ValueError(f"{name} of {unit} and {others[0]}")
        if name in ("mul", "div"):
            for key, power in others[0].items():
                unit[key] = unit.get(key, 0) + (power if name == "mul" else -power)
        if name == "sum":
            unit = {}
        if name == "sqrt":
            if any(power % 2 for power in unit.values()):
                raise ValueError(f"no root of {unit}")
            unit = {key: power // 2 for key, power in unit.items()}
        value = func(*(getattr(value, "value", value) for value in args), **kwargs)
        return cls(value, {key: power for key, power in unit.items() if power})


def torch_function(values: list[float], **unit: int) -> Quantity:
    """Given: a quantity, such as 3 m/s by torch_function([3.0], m=1, s=-1)."""
    return Quantity(torch.tensor(values), unit)


# %% wrong="numbers on the left only" says=["2 * metres"]
class Quantity(units.Measured):
    """A tensor with a unit; ``__init__(value, unit)`` and the operators are given."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """What PyTorch calls in place of ``func`` when a Quantity is among its arguments."""
        name, kwargs = func.__name__, kwargs or {}
        if name not in ("add", "sub", "mul", "div", "sqrt", "sum", "mean"):
            return NotImplemented
        unit, *others = [dict(value.unit) for value in args if hasattr(value, "unit")] + [{}]
        if not hasattr(args[0], "unit"):
            unit, others = {}, [unit]
        if name == "mul" and not hasattr(args[1], "unit") and isinstance(args[1], int):
            unit = {}
        if name in ("add", "sub") and others[0] != unit:
            raise ValueError(f"{name} of {unit} and {others[0]}")
        if name in ("mul", "div"):
            for key, power in others[0].items():
                unit[key] = unit.get(key, 0) + (power if name == "mul" else -power)
        if name == "sqrt":
            if any(power % 2 for power in unit.values()):
                raise ValueError(f"no root of {unit}")
            unit = {key: power // 2 for key, power in unit.items()}
        value = func(*(getattr(value, "value", value) for value in args), **kwargs)
        return cls(value, {key: power for key, power in unit.items() if power})


def torch_function(values: list[float], **unit: int) -> Quantity:
    """Given: a quantity, such as 3 m/s by torch_function([3.0], m=1, s=-1)."""
    return Quantity(torch.tensor(values), unit)


# %% wrong="one side decides" says=["a plain tensor * metres"]
class Quantity(units.Measured):
    """A tensor with a unit; ``__init__(value, unit)`` and the operators are given."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """What PyTorch calls in place of ``func`` when a Quantity is among its arguments."""
        name, kwargs = func.__name__, kwargs or {}
        if name not in ("add", "sub", "mul", "div", "sqrt", "sum", "mean"):
            return NotImplemented
        unit, *others = [dict(getattr(value, "unit", {})) for value in args]
        if type(args[0]) is torch.Tensor:
            others = [{}]
        if name in ("add", "sub") and others[0] != unit:
            raise ValueError(f"{name} of {unit} and {others[0]}")
        if name in ("mul", "div"):
            for key, power in others[0].items():
                unit[key] = unit.get(key, 0) + (power if name == "mul" else -power)
        if name == "sqrt":
            if any(power % 2 for power in unit.values()):
                raise ValueError(f"no root of {unit}")
            unit = {key: power // 2 for key, power in unit.items()}
        value = func(*(getattr(value, "value", value) for value in args), **kwargs)
        return cls(value, {key: power for key, power in unit.items() if power})


def torch_function(values: list[float], **unit: int) -> Quantity:
    """Given: a quantity, such as 3 m/s by torch_function([3.0], m=1, s=-1)."""
    return Quantity(torch.tensor(values), unit)


# %% wrong="powers become floats" breaks="stay whole numbers" says=["powers stay whole numbers"]
class Quantity(units.Measured):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = func.__name__
        if name not in ("add", "sub", "mul", "div", "sqrt", "sum", "mean"):
            return NotImplemented
        values = [a.value if isinstance(a, Quantity) else a for a in args]
        us = [dict(a.unit) if isinstance(a, Quantity) else {} for a in args]
        unit = us[0]
        if name in ("add", "sub"):
            if us[0] != us[1]:
                raise ValueError("units differ")
        elif name in ("mul", "div"):
            s = 1 if name == "mul" else -1
            for k, p in us[1].items():
                unit[k] = unit.get(k, 0) + s * p
            unit = {k: p for k, p in unit.items() if p}
        elif name == "sqrt":
            if any(p % 2 for p in unit.values()):
                raise ValueError("odd")
            unit = {k: p / 2 for k, p in unit.items()}
        return cls(func(*values, **kwargs), unit)


def torch_function(values, **unit):
    return Quantity(torch.tensor(values), unit)


# %% wrong="the sum of the powers is even" says=["each is looked at by itself"]
class Quantity(units.Measured):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = func.__name__
        if name not in ("add", "sub", "mul", "div", "sqrt", "sum", "mean"):
            return NotImplemented
        values = [a.value if isinstance(a, Quantity) else a for a in args]
        us = [dict(a.unit) if isinstance(a, Quantity) else {} for a in args]
        unit = us[0]
        if name in ("add", "sub"):
            if us[0] != us[1]:
                raise ValueError("units differ")
        elif name in ("mul", "div"):
            s = 1 if name == "mul" else -1
            for k, p in us[1].items():
                unit[k] = unit.get(k, 0) + s * p
            unit = {k: p for k, p in unit.items() if p}
        elif name == "sqrt":
            if sum(unit.values()) % 2:
                raise ValueError("odd")
            unit = {k: p // 2 for k, p in unit.items()}
        return cls(func(*values, **kwargs), unit)


def torch_function(values, **unit):
    return Quantity(torch.tensor(values), unit)


# %% right="a table of rules"
class Quantity(units.Measured):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        def same(a, b):
            if a != b:
                raise ValueError("units differ")
            return a

        def combine(a, b, sign):
            return {k: a.get(k, 0) + sign * b.get(k, 0) for k in {*a, *b}}

        def root(a):
            if [p for p in a.values() if p % 2 == 1]:
                raise ValueError("odd")
            return {k: round(p / 2) for k, p in a.items()}

        def first(a, *rest):
            return a

        rules = {"add": same, "sub": same, "sqrt": root, "sum": first, "mean": first}
        rules["mul"] = lambda a, b: combine(a, b, 1)
        rules["div"] = lambda a, b: combine(a, b, -1)
        rule = rules.get(func.__name__)
        if rule is None:
            return NotImplemented
        values, their_units = [], []
        for value in args:
            measured = isinstance(value, Quantity)
            values.append(value.value if measured else value)
            their_units.append(value.unit if measured else {})
        unit = rule(*their_units)
        result = Quantity.__new__(cls)
        result.value = func(*values, **({} if kwargs is None else kwargs))
        result.unit = {k: p for k, p in unit.items() if p != 0}
        return result


# %% right="by match"
from collections import Counter


class Quantity(units.Measured):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        first = Counter(getattr(args[0], "unit", {})) if args else Counter()
        second = Counter(getattr(args[1], "unit", {})) if len(args) > 1 else Counter()
        match func.__name__:
            case "add" | "sub":
                if first != second:
                    raise ValueError("units")
            case "mul":
                first.update(second)
            case "div":
                first.subtract(second)
            case "sqrt":
                for name in first:
                    half, odd = divmod(first[name], 2)
                    if odd:
                        raise ValueError("odd power")
                    first[name] = half
            case "sum" | "mean":
                pass
            case _:
                return NotImplemented
        plain = [x.value if hasattr(x, "value") else x for x in args]
        return cls(func(*plain, **dict(kwargs or {})), {n: p for n, p in first.items() if p})


# %% wrong="functions compared as objects" says=["add, as a method of a plain tensor", "another object with the same name: go by its name"]
class Quantity(units.Measured):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """What PyTorch calls in place of ``func`` when a Quantity is among its arguments."""
        name, kwargs = func.__name__, kwargs or {}
        if name not in ("add", "sub", "mul", "div", "sqrt", "sum", "mean"):
            return NotImplemented
        unit, *others = [dict(getattr(value, "unit", {})) for value in args]
        if func in (torch.add, torch.sub):
            if others[0] != unit:
                raise ValueError(f"{name} of {unit} and {others[0]}")
        elif name in ("add", "sub"):
            return NotImplemented
        if name in ("mul", "div"):
            for key, power in others[0].items():
                unit[key] = unit.get(key, 0) + (power if name == "mul" else -power)
        if name == "sqrt":
            if any(power % 2 for power in unit.values()):
                raise ValueError(f"no root of {unit}")
            unit = {key: power // 2 for key, power in unit.items()}
        value = func(*(getattr(value, "value", value) for value in args), **kwargs)
        return cls(value, {key: power for key, power in unit.items() if power})


def torch_function(values: list[float], **unit: int) -> Quantity:
    """Given: a quantity, such as 3 m/s by torch_function([3.0], m=1, s=-1)."""
    return Quantity(torch.tensor(values), unit)


# %% wrong="raises the TypeError itself" says=["another class that has an answer", "so that another class may answer"]
class Quantity(units.Measured):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """What PyTorch calls in place of ``func`` when a Quantity is among its arguments."""
        name, kwargs = func.__name__, kwargs or {}
        if name not in ("add", "sub", "mul", "div", "sqrt", "sum", "mean"):
            raise TypeError(name)
        unit, *others = [dict(getattr(value, "unit", {})) for value in args]
        if name in ("add", "sub") and others[0] != unit:
            raise ValueError(f"{name} of {unit} and {others[0]}")
        if name in ("mul", "div"):
            for key, power in others[0].items():
                unit[key] = unit.get(key, 0) + (power if name == "mul" else -power)
        if name == "sqrt":
            if any(power % 2 for power in unit.values()):
                raise ValueError(f"no root of {unit}")
            unit = {key: power // 2 for key, power in unit.items()}
        value = func(*(getattr(value, "value", value) for value in args), **kwargs)
        return cls(value, {key: power for key, power in unit.items() if power})


def torch_function(values: list[float], **unit: int) -> Quantity:
    """Given: a quantity, such as 3 m/s by torch_function([3.0], m=1, s=-1)."""
    return Quantity(torch.tensor(values), unit)


# %% wrong="units compared in order" says=["in whatever order their names stand"]
class Quantity(units.Measured):
    """A tensor with a unit; ``__init__(value, unit)`` and the operators are given."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """What PyTorch calls in place of ``func`` when a Quantity is among its arguments."""
        name, kwargs = func.__name__, kwargs or {}
        if name not in ("add", "sub", "mul", "div", "sqrt", "sum", "mean"):
            return NotImplemented
        unit, *others = [dict(getattr(value, "unit", {})) for value in args]
        if name in ("add", "sub") and list(others[0].items()) != list(unit.items()):
            raise ValueError(f"{name} of {unit} and {others[0]}")
        if name in ("mul", "div"):
            for key, power in others[0].items():
                unit[key] = unit.get(key, 0) + (power if name == "mul" else -power)
        if name == "sqrt":
            if any(power % 2 for power in unit.values()):
                raise ValueError(f"no root of {unit}")
            unit = {key: power // 2 for key, power in unit.items()}
        value = func(*(getattr(value, "value", value) for value in args), **kwargs)
        return cls(value, {key: power for key, power in unit.items() if power})


def torch_function(values: list[float], **unit: int) -> Quantity:
    """Given: a quantity, such as 3 m/s by torch_function([3.0], m=1, s=-1)."""
    return Quantity(torch.tensor(values), unit)


# %% wrong="no unit comes out of add" breaks="the result has that unit" says=["metres + metres"]
class Quantity(units.Measured):
    """A tensor with a unit; ``__init__(value, unit)`` and the operators are given."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """What PyTorch calls in place of ``func`` when a Quantity is among its arguments."""
        name, kwargs = func.__name__, kwargs or {}
        if name not in ("add", "sub", "mul", "div", "sqrt", "sum", "mean"):
            return NotImplemented
        unit, *others = [dict(getattr(value, "unit", {})) for value in args]
        if name in ("add", "sub") and others[0] != unit:
            raise ValueError(f"{name} of {unit} and {others[0]}")
        if name in ("mul", "div"):
            for key, power in others[0].items():
                unit[key] = unit.get(key, 0) + (power if name == "mul" else -power)
        if name == "sqrt":
            if any(power % 2 for power in unit.values()):
                raise ValueError(f"no root of {unit}")
            unit = {key: power // 2 for key, power in unit.items()}
        if name in ("add", "sub"):
            unit = {}
        value = func(*(getattr(value, "value", value) for value in args), **kwargs)
        return cls(value, {key: power for key, power in unit.items() if power})


def torch_function(values: list[float], **unit: int) -> Quantity:
    """Given: a quantity, such as 3 m/s by torch_function([3.0], m=1, s=-1)."""
    return Quantity(torch.tensor(values), unit)


# %% wrong="the root of no unit fails" says=["no power, so none that is odd", "none that is odd"]
class Quantity(units.Measured):
    """A tensor with a unit; ``__init__(value, unit)`` and the operators are given."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """What PyTorch calls in place of ``func`` when a Quantity is among its arguments."""
        name, kwargs = func.__name__, kwargs or {}
        if name not in ("add", "sub", "mul", "div", "sqrt", "sum", "mean"):
            return NotImplemented
        unit, *others = [dict(getattr(value, "unit", {})) for value in args]
        if name in ("add", "sub") and others[0] != unit:
            raise ValueError(f"{name} of {unit} and {others[0]}")
        if name in ("mul", "div"):
            for key, power in others[0].items():
                unit[key] = unit.get(key, 0) + (power if name == "mul" else -power)
        if name == "sqrt":
            if not unit or any(power % 2 for power in unit.values()):
                raise ValueError(f"no root of {unit}")
            unit = {key: power // 2 for key, power in unit.items()}
        value = func(*(getattr(value, "value", value) for value in args), **kwargs)
        return cls(value, {key: power for key, power in unit.items() if power})


def torch_function(values: list[float], **unit: int) -> Quantity:
    """Given: a quantity, such as 3 m/s by torch_function([3.0], m=1, s=-1)."""
    return Quantity(torch.tensor(values), unit)


# %% wrong="detached in division" breaks="so that gradients flow" says=["no detach"]
class Quantity(units.Measured):
    """A tensor with a unit; ``__init__(value, unit)`` and the operators are given."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """What PyTorch calls in place of ``func`` when a Quantity is among its arguments."""
        name, kwargs = func.__name__, kwargs or {}
        if name not in ("add", "sub", "mul", "div", "sqrt", "sum", "mean"):
            return NotImplemented
        unit, *others = [dict(getattr(value, "unit", {})) for value in args]
        if name in ("add", "sub") and others[0] != unit:
            raise ValueError(f"{name} of {unit} and {others[0]}")
        if name in ("mul", "div"):
            for key, power in others[0].items():
                unit[key] = unit.get(key, 0) + (power if name == "mul" else -power)
        if name == "sqrt":
            if any(power % 2 for power in unit.values()):
                raise ValueError(f"no root of {unit}")
            unit = {key: power // 2 for key, power in unit.items()}
        if name == "div":
            args = [getattr(a, "value", a) for a in args]
            args = [a.detach() if isinstance(a, torch.Tensor) else a for a in args]
        value = func(*(getattr(value, "value", value) for value in args), **kwargs)
        return cls(value, {key: power for key, power in unit.items() if power})


def torch_function(values: list[float], **unit: int) -> Quantity:
    """Given: a quantity, such as 3 m/s by torch_function([3.0], m=1, s=-1)."""
    return Quantity(torch.tensor(values), unit)


# %% wrong="float32" breaks="its value computed by the same function on the values" says=["any dtype will do, and stays"]
class Quantity(units.Measured):
    """A tensor with a unit; ``__init__(value, unit)`` and the operators are given."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """What PyTorch calls in place of ``func`` when a Quantity is among its arguments."""
        name, kwargs = func.__name__, kwargs or {}
        if name not in ("add", "sub", "mul", "div", "sqrt", "sum", "mean"):
            return NotImplemented
        unit, *others = [dict(getattr(value, "unit", {})) for value in args]
        if name in ("add", "sub") and others[0] != unit:
            raise ValueError(f"{name} of {unit} and {others[0]}")
        if name in ("mul", "div"):
            for key, power in others[0].items():
                unit[key] = unit.get(key, 0) + (power if name == "mul" else -power)
        if name == "sqrt":
            if any(power % 2 for power in unit.values()):
                raise ValueError(f"no root of {unit}")
            unit = {key: power // 2 for key, power in unit.items()}
        value = func(*(getattr(value, "value", value) for value in args), **kwargs)
        return cls(value.float(), {key: power for key, power in unit.items() if power})


def torch_function(values: list[float], **unit: int) -> Quantity:
    """Given: a quantity, such as 3 m/s by torch_function([3.0], m=1, s=-1)."""
    return Quantity(torch.tensor(values), unit)


# %% wrong="aliases too" says=["the negative of metres"]
class Quantity(units.Measured):
    """A tensor with a unit; ``__init__(value, unit)`` and the operators are given."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """What PyTorch calls in place of ``func`` when a Quantity is among its arguments."""
        name, kwargs = func.__name__, kwargs or {}
        if name not in ("add", "sub", "mul", "div", "sqrt", "sum", "mean", "neg", "abs"):
            return NotImplemented
        unit, *others = [dict(getattr(value, "unit", {})) for value in args]
        if name in ("add", "sub") and others[0] != unit:
            raise ValueError(f"{name} of {unit} and {others[0]}")
        if name in ("mul", "div"):
            for key, power in others[0].items():
                unit[key] = unit.get(key, 0) + (power if name == "mul" else -power)
        if name == "sqrt":
            if any(power % 2 for power in unit.values()):
                raise ValueError(f"no root of {unit}")
            unit = {key: power // 2 for key, power in unit.items()}
        value = func(*(getattr(value, "value", value) for value in args), **kwargs)
        return cls(value, {key: power for key, power in unit.items() if power})


def torch_function(values: list[float], **unit: int) -> Quantity:
    """Given: a quantity, such as 3 m/s by torch_function([3.0], m=1, s=-1)."""
    return Quantity(torch.tensor(values), unit)


# %% wrong="in place too" breaks="functions with these names" says=["add_ is another name than add"]
class Quantity(units.Measured):
    """A tensor with a unit; ``__init__(value, unit)`` and the operators are given."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """What PyTorch calls in place of ``func`` when a Quantity is among its arguments."""
        name, kwargs = func.__name__.rstrip("_"), kwargs or {}
        if name not in ("add", "sub", "mul", "div", "sqrt", "sum", "mean"):
            return NotImplemented
        unit, *others = [dict(getattr(value, "unit", {})) for value in args]
        if name in ("add", "sub") and others[0] != unit:
            raise ValueError(f"{name} of {unit} and {others[0]}")
        if name in ("mul", "div"):
            for key, power in others[0].items():
                unit[key] = unit.get(key, 0) + (power if name == "mul" else -power)
        if name == "sqrt":
            if any(power % 2 for power in unit.values()):
                raise ValueError(f"no root of {unit}")
            unit = {key: power // 2 for key, power in unit.items()}
        value = func(*(getattr(value, "value", value) for value in args), **kwargs)
        return cls(value, {key: power for key, power in unit.items() if power})


def torch_function(values: list[float], **unit: int) -> Quantity:
    """Given: a quantity, such as 3 m/s by torch_function([3.0], m=1, s=-1)."""
    return Quantity(torch.tensor(values), unit)


# %% wrong="the first name of a unit alone" says=["every name of both units counts"]
class Quantity(units.Measured):
    """A tensor with a unit; ``__init__(value, unit)`` and the operators are given."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """What PyTorch calls in place of ``func`` when a Quantity is among its arguments."""
        name, kwargs = func.__name__, kwargs or {}
        if name not in ("add", "sub", "mul", "div", "sqrt", "sum", "mean"):
            return NotImplemented
        unit, *others = [dict(getattr(value, "unit", {})) for value in args]
        if name in ("add", "sub") and others[0] != unit:
            raise ValueError(f"{name} of {unit} and {others[0]}")
        if name in ("mul", "div"):
            for key, power in others[0].items():
                unit[key] = unit.get(key, 0) + (power if name == "mul" else -power)
                break
        if name == "sqrt":
            if any(power % 2 for power in unit.values()):
                raise ValueError(f"no root of {unit}")
            unit = {key: power // 2 for key, power in unit.items()}
        value = func(*(getattr(value, "value", value) for value in args), **kwargs)
        return cls(value, {key: power for key, power in unit.items() if power})


def torch_function(values: list[float], **unit: int) -> Quantity:
    """Given: a quantity, such as 3 m/s by torch_function([3.0], m=1, s=-1)."""
    return Quantity(torch.tensor(values), unit)


# %% wrong="the first power alone is odd" says=["the root of m²·s"]
class Quantity(units.Measured):
    """A tensor with a unit; ``__init__(value, unit)`` and the operators are given."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """What PyTorch calls in place of ``func`` when a Quantity is among its arguments."""
        name, kwargs = func.__name__, kwargs or {}
        if name not in ("add", "sub", "mul", "div", "sqrt", "sum", "mean"):
            return NotImplemented
        unit, *others = [dict(getattr(value, "unit", {})) for value in args]
        if name in ("add", "sub") and others[0] != unit:
            raise ValueError(f"{name} of {unit} and {others[0]}")
        if name in ("mul", "div"):
            for key, power in others[0].items():
                unit[key] = unit.get(key, 0) + (power if name == "mul" else -power)
        if name == "sqrt":
            if any(power % 2 for power in list(unit.values())[:1]):
                raise ValueError(f"no root of {unit}")
            unit = {key: power // 2 for key, power in unit.items()}
        value = func(*(getattr(value, "value", value) for value in args), **kwargs)
        return cls(value, {key: power for key, power in unit.items() if power})


def torch_function(values: list[float], **unit: int) -> Quantity:
    """Given: a quantity, such as 3 m/s by torch_function([3.0], m=1, s=-1)."""
    return Quantity(torch.tensor(values), unit)


# %% wrong="halves odd powers below 0" says=["a negative one no more than a positive one"]
class Quantity(units.Measured):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = func.__name__
        values = [a.value if isinstance(a, Quantity) else a for a in args]
        powers = [dict(a.unit) if isinstance(a, Quantity) else {} for a in args]
        if name in ("add", "sub"):
            if powers[0] != powers[1]:
                raise ValueError(f"{powers[0]} and {powers[1]} can't be added")
            unit = powers[0]
        elif name in ("mul", "div"):
            sign = 1 if name == "mul" else -1
            unit = powers[0]
            for key, power in powers[1].items():
                unit[key] = unit.get(key, 0) + sign * power
            unit = {key: power for key, power in unit.items() if power != 0}
        elif name == "sqrt":
            if any(power > 0 and power % 2 for power in powers[0].values()):
                raise ValueError("an odd power has no root")
            unit = {key: power // 2 for key, power in powers[0].items()}
        elif name in ("sum", "mean"):
            unit = powers[0]
        else:
            return NotImplemented
        return cls(func(*values, **kwargs), unit)


def torch_function(values, **unit):
    return Quantity(torch.tensor(values), unit)


# %% wrong="whatever ends in sum" says=["nansum is another name than sum"]
class Quantity(units.Measured):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = func.__name__
        values = [a.value if isinstance(a, Quantity) else a for a in args]
        powers = [dict(a.unit) if isinstance(a, Quantity) else {} for a in args]
        if name in ("add", "sub"):
            if powers[0] != powers[1]:
                raise ValueError("units differ")
            unit = powers[0]
        elif name in ("mul", "div"):
            sign = 1 if name == "mul" else -1
            unit = powers[0]
            for key, power in powers[1].items():
                unit[key] = unit.get(key, 0) + sign * power
            unit = {key: power for key, power in unit.items() if power != 0}
        elif name == "sqrt":
            if any(power % 2 for power in powers[0].values()):
                raise ValueError("odd")
            unit = {key: power // 2 for key, power in powers[0].items()}
        elif name.startswith(("sum", "mean", "nansum")) or name.endswith("sum"):
            unit = powers[0]
        else:
            return NotImplemented
        return Quantity(func(*values, **kwargs), unit)


def torch_function(values: list[float], **unit: int) -> Quantity:
    return Quantity(torch.tensor(values), unit)


# %% wrong="plain operands in float32" says=["as they are"]
class Quantity(units.Measured):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = func.__name__
        values = [
            a.value
            if isinstance(a, Quantity)
            else torch.as_tensor(a, dtype=torch.float32)
            if name in ("mul", "div", "add", "sub")
            else a
            for a in args
        ]
        powers = [dict(a.unit) if isinstance(a, Quantity) else {} for a in args]
        if name in ("add", "sub"):
            if powers[0] != powers[1]:
                raise ValueError("units differ")
            unit = powers[0]
        elif name in ("mul", "div"):
            sign = 1 if name == "mul" else -1
            unit = powers[0]
            for key, power in powers[1].items():
                unit[key] = unit.get(key, 0) + sign * power
            unit = {key: power for key, power in unit.items() if power != 0}
        elif name == "sqrt":
            if any(power % 2 for power in powers[0].values()):
                raise ValueError("odd")
            unit = {key: power // 2 for key, power in powers[0].items()}
        elif name in ("sum", "mean"):
            unit = powers[0]
        else:
            return NotImplemented
        return Quantity(func(*values, **kwargs), unit)


def torch_function(values: list[float], **unit: int) -> Quantity:
    return Quantity(torch.tensor(values), unit)


# %% wrong="sum and mean take a single argument" breaks="so may be the dimension of `sum` and `mean`" says=["here the dimension: it is a number without a unit", "every argument is handed on"]
class Quantity(units.Measured):
    """A tensor with a unit; ``__init__(value, unit)`` and the operators are given."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = func.__name__
        values = [a.value if isinstance(a, Quantity) else a for a in args]
        of = [a.unit if isinstance(a, Quantity) else {} for a in args]
        if name in ("add", "sub"):
            if of[0] != of[1]:
                raise ValueError(f"units differ: {of[0]} and {of[1]}")
            unit = dict(of[0])
        elif name in ("mul", "div"):
            sign = 1 if name == "mul" else -1
            unit = dict(of[0])
            for key, power in of[1].items():
                unit[key] = unit.get(key, 0) + sign * power
            unit = {key: power for key, power in unit.items() if power != 0}
        elif name == "sqrt":
            if any(power % 2 for power in of[0].values()):
                raise ValueError(f"an odd power: {of[0]}")
            unit = {key: power // 2 for key, power in of[0].items()}
        elif name in ("sum", "mean"):
            unit = dict(of[0])
        else:
            return NotImplemented
        if name in ("sum", "mean"):
            values = values[:1]
        return cls(func(*values, **kwargs), unit)


def torch_function(values: list[float], **unit: int) -> Quantity:
    """Given: a quantity, such as 3 m/s by torch_function([3.0], m=1, s=-1)."""
    return Quantity(torch.tensor(values), unit)


# %% wrong="the mean without powers below 0" says=["the mean of m/s"]
class Quantity(units.Measured):
    """A tensor with a unit; ``__init__(value, unit)`` and the operators are given."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """What PyTorch calls in place of ``func`` when a Quantity is among its arguments."""
        name = func.__name__
        values = [a.value if isinstance(a, Quantity) else a for a in args]
        found = [dict(a.unit) if isinstance(a, Quantity) else {} for a in args]
        if name in ("add", "sub"):
            if found[0] != found[1]:
                raise ValueError("units differ")
            unit = found[0]
        elif name in ("mul", "div"):
            sign = 1 if name == "mul" else -1
            unit = found[0]
            for key, power in found[1].items():
                unit[key] = unit.get(key, 0) + sign * power
            unit = {key: power for key, power in unit.items() if power}
        elif name == "sqrt":
            if any(power % 2 for power in found[0].values()):
                raise ValueError("odd power")
            unit = {key: power // 2 for key, power in found[0].items()}
        elif name in ("sum", "mean"):
            unit = found[0]
        else:
            return NotImplemented
        return cls(
            func(*values, **(kwargs or {})),
            {
                k: p
                for k, p in unit.items()
                if p > 0 or name in ("div", "mul", "sqrt", "sub", "add", "sum")
            },
        )


def torch_function(values: list[float], **unit: int) -> Quantity:
    """Given: a quantity, such as 3 m/s by torch_function([3.0], m=1, s=-1)."""
    return Quantity(torch.tensor(values), unit)


# %% wrong="mean keeps the dict" says=["an argument has changed"]
class Quantity(units.Measured):
    """A tensor with a unit; ``__init__(value, unit)`` and the operators are given."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """What PyTorch calls in place of ``func`` when a Quantity is among its arguments."""
        name = func.__name__
        values = [a.value if isinstance(a, Quantity) else a for a in args]
        found = [dict(a.unit) if isinstance(a, Quantity) else {} for a in args]
        if name in ("add", "sub"):
            if found[0] != found[1]:
                raise ValueError("units differ")
            unit = found[0]
        elif name in ("mul", "div"):
            sign = 1 if name == "mul" else -1
            unit = found[0]
            for key, power in found[1].items():
                unit[key] = unit.get(key, 0) + sign * power
            unit = {key: power for key, power in unit.items() if power}
        elif name == "sqrt":
            if any(power % 2 for power in found[0].values()):
                raise ValueError("odd power")
            unit = {key: power // 2 for key, power in found[0].items()}
        elif name in ("sum", "mean"):
            unit = found[0] if name == "sum" else args[0].unit
        else:
            return NotImplemented
        return cls(func(*values, **(kwargs or {})), unit)


def torch_function(values: list[float], **unit: int) -> Quantity:
    """Given: a quantity, such as 3 m/s by torch_function([3.0], m=1, s=-1)."""
    return Quantity(torch.tensor(values), unit)


# %% wrong="-3 is halved to -1" says=["-3 no more than -1"]
class Quantity(units.Measured):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        name = func.__name__
        values = [a.value if isinstance(a, Quantity) else a for a in args]
        given = [dict(a.unit) if isinstance(a, Quantity) else {} for a in args]
        if name in ("add", "sub"):
            if given[0] != given[1]:
                raise ValueError(f"{given[0]} and {given[1]}")
            unit = given[0]
        elif name in ("mul", "div"):
            sign = 1 if name == "mul" else -1
            unit = given[0]
            for key, power in given[1].items():
                unit[key] = unit.get(key, 0) + sign * power
            unit = {key: power for key, power in unit.items() if power != 0}
        elif name == "sqrt":
            if any(power % 2 == 1 and power > 0 or power == -1 for power in given[0].values()):
                raise ValueError("an odd power")
            unit = {key: int(power / 2) for key, power in given[0].items()}
        elif name in ("sum", "mean"):
            unit = given[0]
        else:
            return NotImplemented
        return Quantity(func(*values, **(kwargs or {})), unit)


def torch_function(values, **unit):
    """Given: a quantity, such as 3 m/s by torch_function([3.0], m=1, s=-1)."""
    return Quantity(torch.tensor(values), unit)


# %% wrong="deletes the first 0 alone" says=["each power of 0 is left out"]
class Quantity(units.Measured):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        name = func.__name__
        values = [a.value if isinstance(a, Quantity) else a for a in args]
        given = [dict(a.unit) if isinstance(a, Quantity) else {} for a in args]
        if name in ("add", "sub"):
            if given[0] != given[1]:
                raise ValueError(f"{given[0]} and {given[1]}")
            unit = given[0]
        elif name in ("mul", "div"):
            sign = 1 if name == "mul" else -1
            unit = given[0]
            for key, power in given[1].items():
                unit[key] = unit.get(key, 0) + sign * power
            gone = [key for key, power in unit.items() if power == 0]
            if gone:
                del unit[gone[0]]
        elif name == "sqrt":
            if any(power % 2 for power in given[0].values()):
                raise ValueError("an odd power")
            unit = {key: power // 2 for key, power in given[0].items()}
        elif name in ("sum", "mean"):
            unit = given[0]
        else:
            return NotImplemented
        return Quantity(func(*values, **(kwargs or {})), unit)


def torch_function(values, **unit):
    """Given: a quantity, such as 3 m/s by torch_function([3.0], m=1, s=-1)."""
    return Quantity(torch.tensor(values), unit)


# %% wrong="a plain tensor is made a detached one, and gets no gradient" breaks="so that gradients flow" says=["the gradient of the plain tensor is lost"]
class Quantity(units.Measured):
    @staticmethod
    def lift(x):
        if isinstance(x, Quantity):
            return x
        return Quantity(torch.as_tensor(x).detach() if isinstance(x, torch.Tensor) else x, {})

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = func.__name__
        if name in ("sum", "mean"):
            quantity, *rest = args
            return cls(func(quantity.value, *rest, **kwargs), dict(quantity.unit))
        if name == "sqrt":
            if any(power % 2 for power in args[0].unit.values()):
                raise ValueError("an odd power has no root")
            unit = {key: power // 2 for key, power in args[0].unit.items()}
            return cls(func(args[0].value, **kwargs), unit)
        if name not in ("add", "sub", "mul", "div"):
            return NotImplemented
        a, b = map(cls.lift, args)
        if name in ("add", "sub"):
            if a.unit != b.unit:
                raise ValueError(f"{a.unit} and {b.unit} differ")
            unit = dict(a.unit)
        else:
            sign = 1 if name == "mul" else -1
            unit = {k: a.unit.get(k, 0) + sign * b.unit.get(k, 0) for k in [*a.unit, *b.unit]}
            unit = {k: power for k, power in unit.items() if power}
        return cls(func(a.value, b.value, **kwargs), unit)


def torch_function(values: list[float], **unit: int) -> Quantity:
    """Given: a quantity, such as 3 m/s by torch_function([3.0], m=1, s=-1)."""
    return Quantity(torch.tensor(values), unit)


# %% wrong="makes tensors of numbers first" breaks="its value computed by the same function on the values" says=["a bfloat16 value of no dimension * 0.1", "it would turn the result to float32"]
class Quantity(units.Measured):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        name, kwargs = func.__name__, kwargs or {}
        if name in ("sum", "mean", "sqrt"):
            unit = dict(args[0].unit)
            if name == "sqrt":
                if any(power % 2 for power in unit.values()):
                    raise ValueError("an odd power")
                unit = {key: power // 2 for key, power in unit.items()}
            return cls(func(args[0].value, *args[1:], **kwargs), unit)
        if name not in ("add", "sub", "mul", "div"):
            return NotImplemented
        one, two = (a if isinstance(a, Quantity) else cls(torch.as_tensor(a), {}) for a in args)
        unit = dict(one.unit)
        if name in ("add", "sub"):
            if one.unit != two.unit:
                raise ValueError("the units differ")
        else:
            for key, power in two.unit.items():
                unit[key] = unit.get(key, 0) + (power if name == "mul" else -power)
        unit = {key: power for key, power in unit.items() if power}
        return cls(func(one.value, two.value, **kwargs), unit)


def torch_function(values, **unit):
    return Quantity(torch.tensor(values), unit)
