"""The memory of a training step: measured, tracked over time, and predicted wrongly."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from typing import Any

import torch
import torch.nn as nn
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from course_utils.learner.byte_counts import bytes_of
from course_utils.learner.cases import every_case
from course_utils.learner.tracebacks import ends_in_notebook, what_was_raised

KEYS = ("parameters", "gradients", "optimizer", "activations")
_RIGHT = "as it should be"
_HUGE = 10**6  # layers with a larger size than this aren't made
# What is said of a huge layer alone, behind what its entry is.
_ROUND = "; that went round at 2**31 or 2**63; whole numbers of Python itself have no limit"
_DIGITS = "; they are right to a few digits only: count in whole numbers"
_ACTIVATIONS = {"relu": nn.ReLU, "tanh": nn.Tanh, "gelu": nn.GELU}
_OPTIMIZERS: dict[str, tuple[Callable[..., torch.optim.Optimizer], dict]] = {
    "sgd": (torch.optim.SGD, {}),
    "momentum": (torch.optim.SGD, {"momentum": 0.9}),
    "adam": (torch.optim.Adam, {}),
}


class track_memory(TorchDispatchMode):
    """Note after each operator of a ``with`` block how many bytes made in it are still alive.

    Attributes:
        history: ``(operator, bytes alive)``, in order.
    """

    def __init__(self) -> None:
        super().__init__()
        self.alive: dict[int, tuple[StorageWeakRef, int]] = {}
        self.history: list[tuple[str, int]] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        known = {s._cdata for s in _storages((args, kwargs))}
        result = func(*args, **(kwargs or {}))
        for storage in _storages(result):
            if storage._cdata not in known:
                self.alive[storage._cdata] = StorageWeakRef(storage), storage.nbytes()
        self.alive = {key: pair for key, pair in self.alive.items() if not pair[0].expired()}
        self.history.append((func.overloadpacket.__name__, self.nbytes))
        return result

    @property
    def nbytes(self) -> int:
        """Bytes that are alive now."""
        return sum(size for ref, size in self.alive.values() if not ref.expired())


def _storages(values: Any) -> list:
    return [t.untyped_storage() for t in tree_leaves(values) if isinstance(t, torch.Tensor)]


class PretendAllocator:
    """A caching allocator: what is freed stays with the process, for the next request of its size.

    Attributes:
        allocated: bytes in tensors that are alive.
        reserved: bytes taken from the device, in tensors or cached.
        asked: how often the device was asked for memory, which is slow.
    """

    def __init__(self) -> None:
        self.allocated = self.reserved = self.asked = 0
        self.cached: list[int] = []

    def malloc(self, size: int) -> int:
        """Take a block: a cached one of this size, or a new one from the device."""
        if size in self.cached:
            self.cached.remove(size)
        else:
            self.asked += 1
            self.reserved += size
        self.allocated += size
        return size

    def free(self, size: int) -> None:
        """A tensor dies: its block goes into the cache."""
        self.allocated -= size
        self.cached.append(size)

    def empty_cache(self) -> None:
        """Give cached blocks back to the device; live tensors stay."""
        self.reserved -= sum(self.cached)
        self.cached.clear()

    def __str__(self) -> str:
        return f"allocated {self.allocated}, reserved {self.reserved}, asked {self.asked} times"


def build(layers: Sequence[tuple], dtype: torch.dtype = torch.float32) -> nn.Sequential:
    """The model of a list such as ``[("linear", 3, 4), ("relu",)]``."""
    return nn.Sequential(
        *(
            nn.Linear(*sizes, dtype=dtype) if name == "linear" else _ACTIVATIONS[name]()
            for name, *sizes in layers
        )
    )


def measured(layers: Sequence[tuple], batch: int, optimizer: str, itemsize: int = 4) -> dict:
    """The bytes of one real step, by ``KEYS``."""
    dtype = {2: torch.bfloat16, 4: torch.float32, 8: torch.float64}[itemsize]
    with torch.enable_grad():
        model, x = build(layers, dtype), torch.rand(batch, layers[0][1], dtype=dtype)
        kind, options = _OPTIMIZERS[optimizer]
        chosen = kind(model.parameters(), lr=0.1, **options)
        saved = []
        hooks = torch.autograd.graph.saved_tensors_hooks(
            lambda tensor: saved.append(tensor) or tensor, lambda tensor: tensor
        )
        with hooks:
            result = model(x)
        result.backward(torch.ones_like(result))
        chosen.step()
    kept = tree_leaves(list(chosen.state.values()))
    states = [value for value in kept if isinstance(value, torch.Tensor) and value.dim()]
    numbers = (
        bytes_of(list(model.parameters())),
        bytes_of([p.grad for p in model.parameters()]),
        bytes_of(states),
        bytes_of(saved, without=model.parameters()),
    )
    return dict(zip(KEYS, numbers, strict=True))


def predicted(layers: Sequence[tuple], batch: int, optimizer: str, itemsize: int = 4) -> dict:
    """The bytes of a step that fits into no memory, by ``KEYS``."""
    sizes = [sizes for name, *sizes in layers if name == "linear"]
    parameters = sum((inputs + 1) * outputs for inputs, outputs in sizes) * itemsize
    states = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer] * parameters
    saved = _activations(layers, _saves) * batch * itemsize
    return dict(zip(KEYS, (parameters, parameters, states, saved), strict=True))


def _saves(name: str, k: int) -> set[int]:
    """The number of the tensor that layer k saves; tensor k goes into it."""
    return {k + 1} if name in ("relu", "tanh") else {k}


def _fewer(layers: Sequence[tuple], *dropped: tuple) -> int:
    """What is kept if one of ``dropped`` behind its equal were no layer at all."""
    pairs = zip([None, *layers], layers, strict=False)
    return _activations([b for a, b in pairs if a != b or b not in dropped], _saves)


def _activations(layers: Sequence[tuple], rule: Callable[[str, int], set[int]]) -> int:
    """Elements a row of the tensors that ``rule`` says are kept; tensor k goes into layer k."""
    widths, kept = [layers[0][1]], set()
    for k, (name, *sizes) in enumerate(layers):
        widths.append(sizes[1] if name == "linear" else widths[-1])
        kept |= rule(name, k)
    return sum(widths[k] for k in kept)


def _reads(layers: Sequence[tuple], k: int) -> bool:
    """Whether layer k saves what goes into it, or is behind the last one."""
    return k == len(layers) or layers[k][0] in ("linear", "gelu")


def _activation_slips(layers: Sequence[tuple], factor: int) -> dict[str, int]:
    output, right = ("relu", "tanh"), _saves
    sizes = {
        "every output is counted, also one that no layer needs again": _activations(
            layers, lambda name, k: {k + 1}
        ),
        "every tensor is counted; a layer saves only what its gradient needs": _activations(
            layers, lambda name, k: {k, k + 1}
        ),
        "ReLU and tanh save their result; a tensor that two layers save is there once": sum(
            _kept_widths(layers, right)
        ),
        "GELU saves its input, not its result": _activations(
            layers, lambda name, k: {k} if name == "linear" else {k + 1}
        ),
        "GELU saves its input alone, not its result as well": _activations(
            layers, lambda name, k: right(name, k) | ({k + 1} if name == "gelu" else set())
        ),
        "ReLU and tanh save their results, also behind another activation": _activations(
            layers,
            lambda name, k: (
                right(name, k)
                if name not in output or k == 0 or layers[k - 1][0] == "linear"
                else set()
            ),
        ),
        "a ReLU behind a ReLU has a result of its own, and saves it": _fewer(layers, ("relu",)),
        "an activation behind an equal one has a result of its own": _fewer(
            layers, *((name,) for name in _ACTIVATIONS)
        ),
        "the result of ReLU and tanh is saved, not their input": _activations(
            layers, lambda name, k: {k}
        ),
        "tanh saves its result, as ReLU does": _activations(
            layers, lambda name, k: {k + 1} if name == "relu" else {k}
        ),
        "ReLU saves its result, as tanh does": _activations(
            layers, lambda name, k: {k + 1} if name == "tanh" else {k}
        ),
        "the last result is saved only where the last layer needs it": _activations(
            layers, lambda name, k: right(name, k) | ({k + 1} if k + 1 == len(layers) else set())
        ),
        "ReLU and tanh save their results, also where the next layer doesn't": _activations(
            layers,
            lambda name, k: (
                right(name, k) if name not in output or _reads(layers, k + 1) else set()
            ),
        ),
        "ReLU and tanh save their results, also where the next layer doesn't ": _activations(
            layers, lambda name, k: set() if name in output else {k}
        ),
        "equal layers are several layers, each with a tensor of its own": _activations(
            layers, lambda name, k: right(name, layers.index(layers[k]))
        ),
        "equal layers are several layers, each with a tensor of its own ": _by_layer(layers, right),
        "a tensor that two layers save is there once, also where a GELU reads it": _activations(
            layers, right
        )
        + sum(
            _activations(layers, lambda name, k, n=n: {n} if k == n else set())
            for n in range(1, len(layers))
            if layers[n][0] == "gelu" and layers[n - 1][0] in output
        ),
        "a linear layer and a GELU save their input, also where no activation made it": (
            _activations(layers, lambda name, k: {0} if name == "linear" else {0, k + 1})
        ),
        "only linear layers are counted": _activations(
            layers, lambda name, k: {k} if name == "linear" else set()
        ),
        "the batch that goes into the first linear layer is saved, too": _activations(
            layers, lambda name, k: right(name, k) - {0}
        ),
        "a result that the last layer saves is counted, too": _activations(
            layers, lambda name, k: right(name, k) - {len(layers)}
        ),
        "tensors of the same size are several tensors, all of which are there": sum(
            _different(layers, right)
        ),
    }
    return {words: size * factor for words, size in sizes.items()}


def _with_masks(layers: Sequence[tuple], batch: int, itemsize: int) -> list[int]:
    """Bytes if each ReLU, or each whose result no other layer saves, had a mask of bytes."""

    def other(name, k):
        return {"relu": set(), "tanh": {k + 1}}.get(name, {k})

    kept = [k for n, layer in enumerate(layers) for k in other(layer[0], n)]
    masks = [n + 1 for n, layer in enumerate(layers) if layer[0] == "relu"]
    alone = [k for k in masks if k not in kept]
    rest = _activations(layers, other) * batch * itemsize
    return [
        rest + batch * _activations(layers, lambda name, k, some=some: {k + 1} & {*some})
        for some in (masks, alone)
    ]


def _different(layers: Sequence[tuple], rule: Callable) -> set[int]:
    """The widths of all kept tensors, equal ones once."""
    kept = {k for n, layer in enumerate(layers) for k in rule(layer[0], n)}
    return {_activations(layers, lambda name, k, n=n: {n}) for n in kept}


def _by_layer(layers: Sequence[tuple], rule: Callable) -> int:
    """The widths of the kept tensors in a dict by the layers that they go into, equal ones once."""
    kept = {}
    for n, (name, *_) in enumerate(layers):
        for k in rule(name, n):
            width = _activations(layers, lambda _, m, k=k: {k})
            kept[layers[k] if k < len(layers) else None] = width
    return sum(kept.values())


def _kept_widths(layers: Sequence[tuple], rule: Callable) -> list[int]:
    """The width of what each layer keeps, also where two keep the same."""
    return [
        _activations(layers, lambda name, k, n=n: rule(name, k) if k == n else set())
        for n in range(len(layers))
    ]


def _explained(
    found: Any, layers: Sequence[tuple], batch: int, optimizer: str, itemsize: int
) -> dict[str, set[str]]:
    """For each entry the words of all slips that give it, and ``_RIGHT`` where it is right.

    Raises:
        AssertionError: it is no dict with these entries.
    """
    __tracebackhide__ = True
    assert found is not None, "the function returned None: is there an answer yet?"
    assert isinstance(found, dict), f"a {type(found).__name__} came back, expected a dict"
    missing = [key for key in KEYS if found.get(key) is None]
    assert not missing, f"the dict has no {', '.join(missing)}"
    broken = [key for key in KEYS if not isinstance(found[key], Integral)]
    assert not broken, f"{broken[0]} is of type {type(found[broken[0]]).__name__}, expected an int"
    huge = any(size > _HUGE for _, *sizes in layers for size in sizes)
    bytes_of_step = predicted if huge else measured
    right = bytes_of_step(layers, batch, optimizer, itemsize)
    weights = sum(a * b for name, *sizes in layers if name == "linear" for a, b in [sizes])
    kept = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
    words = {
        "sgd": "plain SGD keeps nothing",
        "momentum": "momentum keeps one buffer for each parameter",
        "adam": "Adam keeps two averages for each parameter",
    }[optimizer]
    no_bias = "biases are parameters, too"
    turned = "a bias has an element for each output, not for each input"
    by_input = weights + sum(sizes[0] for name, *sizes in layers if name == "linear")
    bare = {no_bias: weights * itemsize, turned: by_input * itemsize}
    rows = right["parameters"] + layers[0][1] * batch * itemsize
    slips = {
        "parameters": bare,
        "gradients": bare | {"after backward, those of the parameters alone are there": rows},
        "optimizer": {text: kept * nbytes for text, nbytes in bare.items()}
        | {words + " " * n: n * right["parameters"] for n in range(4) if n != kept},
        "activations": _activation_slips(layers, batch * itemsize),
    }
    told = {}
    for key in KEYS:
        mine, truth = found[key], right[key]
        told[key] = {text.strip() for text, slip in slips[key].items() if slip == mine}
        if mine * itemsize == truth:
            told[key].add("those are elements; each has itemsize bytes")
        if mine * itemsize == truth * 4:
            told[key].add("each element has itemsize bytes, not always 4")
        if key == "activations" and mine in _with_masks(layers, batch, itemsize):
            told[key].add("ReLU saves its result, not a mask with a byte for each element")
        if key == "activations" and mine == bytes_of_step(layers, 1, optimizer, itemsize)[key]:
            told[key].add("that is for one row; the batch has more")
        if mine == truth:
            told[key].add(_RIGHT)
        elif huge and (mine - truth) % 2**32 == 0:
            told[key].add(_ROUND)
        elif huge and math.isclose(mine, truth, rel_tol=1e-6):
            told[key].add(_DIGITS)
    sizes = {"those are elements; each has itemsize bytes"}
    sizes |= {"each element has itemsize bytes, not always 4"}
    common = told["parameters"] & told["optimizer"] & sizes
    if common and _RIGHT not in told["optimizer"]:  # the size of an element explains both
        told["optimizer"] = common
    return told


@ends_in_notebook
def check_ledgers(predict: Callable[..., Any], settings: Mapping[str, tuple]) -> None:
    """Compare predicted bytes with those of real steps; a slip is named if it explains all cases.

    Args:
        predict: the learner's function.
        settings: ``(layers, batch, optimizer, itemsize)`` by the case's name.
    """
    __tracebackhide__ = True
    told, broken = {}, {}
    for name, setting in settings.items():
        try:
            layers, *others = setting
            mine = list(layers)
            found = predict(mine, *others)
        except Exception as error:
            broken[name] = what_was_raised(error)
            if "memory" in str(error):
                broken[name] += "; predict from the sizes: no layer has to be made for that"
            continue
        if mine != layers:
            broken[name] = "layers was changed: it is the caller's list"
            continue
        try:
            told[name] = _explained(found, *setting)
        except AssertionError as error:
            broken[name] = str(error)

    def common(key, name):
        # A slip must explain every case, also those that are right; each optimizer has its own.
        alike = [n for n in told if key != "optimizer" or settings[n][2] == settings[name][2]]
        return set.intersection(*[told[n][key] for n in alike])

    with every_case() as case:
        for name in settings:
            said, more = [broken[name]] if name in broken else [], ""
            for key, words in told.get(name, {}).items():
                if _RIGHT not in words:
                    named = min(words & common(key, name), default="")
                    said.append(key + (f": {named}" if named else " are not what the step takes"))
                    more = more or min(words & {_ROUND, _DIGITS}, default="")
            with case(name):
                assert not said, "; ".join(said) + more
