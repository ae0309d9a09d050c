"""Exercise 19.5: models in ONNX files, run without PyTorch, and how far apart the two may be."""

from __future__ import annotations

import contextlib
import copy
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from course_utils.chapters.deployment.noise import quiet
from course_utils.chapters.deployment.operator_tables import one_table
from course_utils.learner.awkward import replaced
from course_utils.learner.tracebacks import ends_in_notebook


def runner(path: str | Path) -> Callable[[Any], list[np.ndarray]]:
    """Run an ONNX file by ONNX Runtime on one thread of the CPU.

    Returns:
        A function from an array or tensor, for the file's only input, to a list of arrays.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    providers = ["CPUExecutionProvider"]
    session: Any = onnxruntime.InferenceSession(str(path), options, providers=providers)
    name = session.get_inputs()[0].name
    return lambda x: session.run(None, {name: np.asarray(x)})


def missing_operator(call: Callable[[], Any]) -> str:
    """The ATen operator for which an ONNX export found no counterpart; ``"none"`` if it has all."""
    try:
        with quiet(), one_table():
            call()
    except Exception as error:
        found = re.search(r"No ONNX function found for <OpOverload\(op='([^']+)'", str(error))
        return found[1] if found else f"{type(error).__name__}"
    return "none"


class Two(nn.Module):
    """(n, 6) -> (n, 3), (n, 4); with a batch norm, a dropout, and a factor for each output.

    ``third`` adds an output (n,), with the largest numbers. A buffer is float64, and not used.
    """

    def __init__(self, small: float, large: float, third: bool = False) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.5))
        self.again = nn.Sequential(self.body[3])  # a part of two modules, in a mode of its own
        self.first, self.second = nn.Linear(16, 3), nn.Linear(16, 4)
        self.small, self.large, self.third = small, large, third
        self.register_buffer("exact", torch.tensor(1 / 3, dtype=torch.float64))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        hidden = self.body(x)
        two = self.small * self.first(hidden), self.large * self.second(hidden)
        return (*two, 30 * self.large * self.second(hidden).sum(1)) if self.third else two


class Renamed(Two):
    """The same, but the argument of its forward is called ``rows``."""

    def forward(self, rows: torch.Tensor) -> tuple[torch.Tensor, ...]:  # ty: ignore[lost-keyword-for-regular-parameter]
        return super().forward(rows)


def model_of(kind: str) -> tuple[nn.Module, torch.Tensor]:
    """A model and the rows that it is compared on; the kind says what is awkward about it."""
    torch.manual_seed(19)
    sizes = (1.0, 1000.0) if "second" in kind else (1000.0, 1.0)
    model = Renamed(1000.0, 1000.0, third=True) if "three" in kind else Two(*sizes)
    with torch.no_grad():
        for _ in range(3):
            model(3 * torch.randn(20, 6) + 1)
    model.eval()
    if "training" in kind:
        model.train()
        model.body[1].eval()
        model.again.eval()  # and its part, which is one of model.body as well, isn't
        model.body[3].train()
        model.first.weight.requires_grad_(False)
    if "one part trains" in kind:  # and the model itself doesn't
        model.body[3].train()
    model.first.weight.grad = torch.ones_like(model.first.weight)  # of a step before
    rows = 1 if "one row" in kind else 70
    return model, torch.randn(rows, 6)


def try_parity(onnx_parity: Callable, kind: str) -> dict[str, Any]:
    """Call the answer on a fresh model: what it returned, what its file does, what it left."""
    import onnx

    state = torch.get_rng_state()
    model, x = model_of(kind)
    modes = [part.training for part in model.modules()]
    requires = [(part.requires_grad, part.grad) for part in model.parameters()]
    given, switches = x.clone(), (torch.get_default_dtype(), torch.is_grad_enabled())
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    said: dict[str, Any] = {"name": "model" if "three" in kind else "model.onnx"}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / said["name"]
        path.write_bytes(b"an older file")
        try:
            with quiet(), one_table():
                said["returned"] = result = onnx_parity(model, x, str(path))
        except Exception as error:
            root: BaseException = error
            while root.__cause__ is not None:  # the exporter's own words are where to ask for help
                root = root.__cause__
            said["raised"] = f"{type(root).__name__}: {str(root).strip()[:200]}"
        if isinstance(said.get("returned"), (list, tuple)):
            said["returned"] = [
                float(v) if isinstance(v, float) else f"a {type(v).__name__}"
                for v in said["returned"]
            ]
            said["kind"] = type(result).__name__
        elif "returned" in said:
            said["returned"] = type(said["returned"]).__name__
        said["modes"] = modes == [part.training for part in model.modules()]
        left = [(part.requires_grad, part.grad) for part in model.parameters()]
        # An old gradient is the same object, with the numbers that it had.
        said["grads"] = all(
            one == other and was is now and (now is None or bool((now == 1).all()))
            for (one, was), (other, now) in zip(requires, left, strict=True)
        )
        said["x"] = torch.equal(x, given) and not x.requires_grad
        said["switches"] = switches == (torch.get_default_dtype(), torch.is_grad_enabled())
        torch.set_default_dtype(switches[0])
        torch.set_grad_enabled(switches[1])
        said["weights"] = all(
            value.dtype == weights[name].dtype and torch.equal(value, weights[name])
            for name, value in model.state_dict().items()
        )
        said["files"] = sorted(one.name for one in Path(folder).iterdir())
        if said["name"] in said["files"]:
            said["old"] = path.read_bytes() == b"an older file"
        if said.get("old") is False:
            _look_at(said, onnx.load(str(path)), path, model, x)
        full = replaced(torch.onnx, "export", _on_a_full_disk)
        with contextlib.suppress(Exception), quiet(), full:
            onnx_parity(model, x, str(path))
        said["after an error"] = modes == [part.training for part in model.modules()]
    torch.set_rng_state(state)
    return said


def _on_a_full_disk(*arguments: Any, **options: Any) -> None:
    raise OSError("the disk is full")


def _look_at(said: dict[str, Any], graph: Any, path: Path, model: nn.Module, x: torch.Tensor):
    said["input"] = [one.name for one in graph.graph.input]
    plain = copy.deepcopy(model).float().eval().requires_grad_(False)
    rows = {"the rows of x": x, "one row": x[:1], "seven rows": torch.randn(7, 6), "none": x[:0]}
    said["differences"] = {}
    for name, some in rows.items():
        try:
            found = runner(path)(some)
        except Exception as error:
            said["differences"][name] = f"{type(error).__name__}: {str(error)[:120]}"
            continue
        truth = plain(some)
        same = [tuple(one.shape) for one in truth] == [one.shape for one in found]
        said["differences"][name] = _apart(found, truth) if same else "other shapes"
    if isinstance(said["differences"]["the rows of x"], str):
        return
    outputs, own, exact = runner(path)(x), plain(x), copy.deepcopy(plain).double()(x.double())
    said["own"], said["file's own"] = _apart(own, exact), _apart(outputs, exact)
    said["signed"] = [_signed(outputs, own), _signed(own, exact)]
    said["first"] = _apart(outputs[:1], own[:1])
    said["first two"] = _apart(outputs[:2], own[:2])
    said["own first"] = [_apart(own[:count], exact[:count]) for count in (1, 2)]
    for name, pair in (("", (outputs, own)), ("own ", (own, exact))):
        each = [_apart([one], [other]) for one, other in zip(*pair, strict=True)]
        said[f"{name}row"] = _apart(*([part[:1] for part in parts] for parts in pair))
        said[f"{name}sum"] = sum(each)
        said[f"{name}mean"] = _mean(*pair)
        said[f"{name}relative"] = _relative(*pair)
    said["rounded"] = _apart(own, [one.float() for one in exact])


def _gaps(one: Any, other: Any) -> list[np.ndarray]:
    """The differences of each output's numbers, in float64."""
    return [
        np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64)
        for a, b in zip(one, other, strict=True)
    ]


def _apart(one: Any, other: Any) -> float:
    gaps = _gaps(one, other)
    return max((float(np.abs(gap).max()) for gap in gaps if gap.size), default=0.0)


def _mean(one: Any, other: Any) -> list[float]:
    """The mean absolute difference: the largest over the outputs, their mean, and over all."""
    gaps = [np.abs(gap).flatten() for gap in _gaps(one, other)]
    means = [float(gap.mean()) for gap in gaps]
    return [max(means), sum(means) / len(means), float(np.concatenate(gaps).mean())]


def _relative(one: Any, other: Any) -> list[float]:
    """The largest difference as a share of the number that it is of, by either of the two."""
    found = []
    for numbers in (one, other):
        pairs = zip(_gaps(one, other), numbers, strict=True)
        shares = [np.abs(gap) / np.maximum(np.abs(np.asarray(part)), 1e-12) for gap, part in pairs]
        found.append(max(float(share.max()) for share in shares))
    return found


def _signed(one: Any, other: Any) -> list[float]:
    """The largest difference without its sign taken off, both ways round."""
    gaps = _gaps(one, other)
    return [max(float(gap.max()) for gap in gaps), max(float(-gap.min()) for gap in gaps)]


@ends_in_notebook
def check_parity(kind: str, said: dict[str, Any]) -> None:
    """Check what :func:`try_parity` says: the file, what was returned, and what was left."""
    __tracebackhide__ = True
    assert "invalid dimensions" not in said.get("raised", ""), (
        "the file takes a fixed number of rows: is its first dimension free? "
        + said["raised"].splitlines()[0]
    )
    assert said.get("returned") != "NoneType", "None came back: is there an answer yet?"
    raised = said.get("raised", "")
    by_name = ("be the arg names", "argument 'x'", "argument: 'rows'")
    assert not any(words in raised for words in by_name), (
        "the argument of forward is called `rows` here, not `x`: hand over the batch, and "
        f"dynamic_shapes=(…,), by their place; {raised}"
    )
    assert "not in range" not in raised, (
        f"any number of rows is asked for, and Dim(…, max=…) bounds it: raised {raised}"
    )
    other = [name for name in said["files"] if name.startswith(f"{said['name']}.onnx")]
    assert not (said.get("old") and other), (
        f"`path` is a file called '{said['name']}' here, and the model went to '{other[0]}': take "
        "`path` as it is, with any ending or none"
    )
    assert not said.get("old") or (raised and "Protobuf" not in raised), (
        "the older file at `path` is still there: export writes over it, each time"
    )
    assert "raised" not in said, f"raised {said.get('raised')}"
    assert said["name"] in said["files"], "no file was written at `path`"
    assert said["files"] == [said["name"]], (
        f"more than the file came: {', '.join(said['files'])}; external_data=False puts the "
        "weights into it"
    )
    assert said["input"] == ["picture"], f"the file's inputs are {said['input']}, not ['picture']"
    for name, difference in said["differences"].items():
        assert not isinstance(difference, str), (
            f"the file can't be run on {name}: is its first dimension free? {difference}"
        )
    worst = max(said["differences"].values())
    assert worst < 0.01, (
        "the file and the model in eval mode say something else: in which mode was every part of "
        "it exported?"
    )
    returned = said["returned"]
    pair = said.get("kind") == "tuple" and len(returned) == 2
    assert pair, "expected a tuple of two floats (difference, own_error)"
    for name, one in zip(("difference", "own_error"), returned, strict=True):
        assert isinstance(one, float), f"{name} is {one}, not a float: float(…) makes it one"
    apart = said["differences"]["the rows of x"]
    part = (
        "eval() is for the model whatever its own mode is: here a part of it alone is in training"
    )
    assert returned[0] < 1000 * max(apart, said["own"]), (
        "difference is far more than rounding: the file was compared with a model in training mode"
        + (f"; {part}" if "one part trains" in kind else "")
    )
    signed = "a difference below 0 counts by its size: take the absolute value"
    alone = "that is of the first {} alone; take the largest over all"
    slips: list[tuple[str, float]] = [(alone.format("output"), said["first"])]
    slips += [(alone.format("two outputs"), said["first two"])]
    mean = "that is a mean: take the largest difference"
    both = "that is the sum of the outputs' largest; take the largest over all"
    slips += [(signed, one) for one in said["signed"][0]]
    slips += [(both, said["sum"]), *((mean, one) for one in said["mean"])]
    slips += [
        (
            "that is the file against the float64 copy; the model itself is meant",
            said["file's own"],
        ),
        ("that is own_error; the file's outputs have to be compared with the model's", said["own"]),
    ]
    share = "that is a share of the outputs; the absolute difference is asked for"
    slips += [(share, one) for one in said["relative"]]
    row = "that is of the first row alone; take the largest over all rows of x"
    slips += [(row, said["row"])]
    _check_number(returned[0], apart, "difference", slips)
    words = "that is the difference to ONNX Runtime again: compare the model with a float64 copy"
    between = "that is between the file and the float64 copy; compare the model with its copy"
    slips = [(words, apart), (between, said["file's own"])]
    slips += [(alone.format("output"), said["own first"][0])]
    slips += [(alone.format("two outputs"), said["own first"][1])]
    rounded = "the float64 copy's outputs were rounded to float32; subtract in float64"
    slips += [(signed, one) for one in said["signed"][1]]
    slips += [(both, said["own sum"]), *((mean, one) for one in said["own mean"])]
    slips += [(row, said["own row"]), ("the same numbers twice: one of the two is in float64", 0.0)]
    slips += [(rounded, said["rounded"]), *((share, one) for one in said["own relative"])]
    assert returned[1] < 1000 * max(apart, said["own"]), (
        "own_error is far more than rounding: is the float64 copy in eval mode, and does it get x "
        "itself as float64?"
    )
    _check_number(returned[1], said["own"], "own_error", slips)
    assert said["modes"], (
        "the model, or a part of it, is left in another mode: some parts were in training, others "
        "in eval; train(…) of a module sets its parts, too, also one that two modules share"
    )
    assert said["weights"], (
        "the model's weights or dtypes are changed (a buffer is float64): work on a deepcopy"
    )
    assert said["after an error"], (
        "the disk was full, torch.onnx.export raised, and parts of the model are left in another "
        "mode: restore them in a `finally`, or work on a deepcopy"
    )
    assert said["x"], "x was changed: leave the argument alone, make tensors of your own"
    assert said["switches"], (
        "PyTorch's default dtype or its recording of gradients is left switched: that is for all "
        "code that runs afterwards"
    )
    assert said["grads"], (
        "requires_grad or .grad of the model's weights is changed: leave them as they are, work on "
        "a deepcopy"
    )


def _check_number(got: float, right: float, what: str, slips: list[tuple[str, float]]) -> None:
    near = lambda one: abs(got - one) <= 0.02 * abs(one) + 1e-9  # noqa: E731
    if near(right):
        return
    words = dict.fromkeys(words for words, wrong in slips if near(wrong))
    assert not words, f"{what}: {', or '.join(words)}"
    raise AssertionError(
        f"{what} is {got:.3g}, which isn't the largest absolute difference on the rows of x"
    )
