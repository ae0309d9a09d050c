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


# %% wrong="passes alpha alone" says=["dim is handed on"]
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


# %% wrong="adds apples" says=["unequal units don't add"]
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


# %% wrong="TypeError for units" says=["unequal units don't add"]
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


# %% wrong="a plain number goes with anything" says=["metres + 1"]
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


# %% wrong="zero powers stay" says=["a power of 0 is left out"]
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


# %% wrong="divides like multiplying" says=["powers are subtracted"]
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


# %% wrong="the root keeps the unit" says=["powers are halved"]
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


# %% wrong="half powers" says=["an odd power can't be halved"]
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


# %% wrong="any function" says=["return NotImplemented"]
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


# %% wrong="a plain tensor comes out" says=["it has lost its unit"]
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


# %% wrong="changes the unit in place" says=["the unit of a result is a new dict"]
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


# %% wrong="shares the unit" says=["the unit of a result is a new dict"]
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


# %% wrong="sum counts" says=["the sum"]
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


# %% wrong="powers become floats" says=["powers stay whole numbers"]
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

        rules = {"add": same, "sub": same, "sqrt": root, "sum": lambda a: a, "mean": lambda a: a}
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
