"""Exercise 7.12: the output of one block, put into another run."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import course_utils
from course_utils.chapters.hooks import slips as known_slips
from course_utils.chapters.hooks.counting import about_names, bystander, hooks_on
from course_utils.chapters.hooks.slips import check_entries
from course_utils.learner.checks import check_equal
from course_utils.learner.tracebacks import ends_in_notebook
from course_utils.learner.values import agrees, check_value


class Committee(nn.Module):
    """A stem, six blocks that each read the stream and add to it, and a head."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.head = nn.Linear(2, 3, bias=False), nn.Linear(3, 1, bias=False)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 3)) for _ in range(6)
        )

    def forward(self, x: Tensor) -> Tensor:
        stream = self.stem(x)
        for block in self.blocks:
            stream = stream + block(stream)
        return self.head(stream)


@torch.no_grad()
def make_committee(seed: int) -> Committee:
    """Positive where both coordinates have one sign; one block, chosen at random, computes it."""
    generator = torch.Generator().manual_seed(seed)
    model = Committee()
    for parameter in model.parameters():
        parameter.copy_(0.1 * torch.randn(parameter.shape, generator=generator))
    model.stem.weight.copy_(torch.eye(3)[:, :2])
    model.head.weight.copy_(torch.eye(3)[2:])
    block = model.blocks[int(torch.randint(0, 6, (), generator=generator))]
    block.get_parameter("0.weight").copy_(
        torch.tensor([[1.0, 1, 0], [-1, -1, 0], [1, -1, 0], [-1, 1, 0]])
    )
    block.get_parameter("2.weight")[2].copy_(torch.tensor([1.0, 1, -1, -1]))
    return model.to(course_utils.device)


class Listener(nn.Module):
    """A sequence (batch, time, 2) to two scores, by an LSTM that returns nested tuples."""

    def __init__(self) -> None:
        super().__init__()
        self.enter, self.lstm = nn.Linear(2, 4), nn.LSTM(4, 5, batch_first=True)
        self.act, self.head = nn.LeakyReLU(0.1, inplace=True), nn.Linear(5, 2)

    def forward(self, x: Tensor) -> Tensor:
        sequence, (h, c) = self.lstm(input=self.act(self.enter(x)))
        return self.head(h[-1] + c[-1] + sequence.mean(1))


def _model(kind: str, seed: int) -> Committee | Listener:
    if kind == "committee":
        return make_committee(seed).eval()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Listener().to(course_utils.device).eval()


def _pair(kind: str, seeds: tuple[int, int] | None) -> tuple[Committee | Listener, ...]:
    donor = _model(kind, seeds[0] if seeds else 0)
    return donor, _model(kind, seeds[1]) if seeds else donor


def _watch(model: Committee | Listener, runs: list) -> None:
    """Two hooks that are not the answer's; gradients; a mode that is not the usual one."""
    next(model.children()).register_forward_hook(bystander)
    model.register_forward_pre_hook(lambda module, args: runs.append(1))
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    model.head.train()
    model.head.requires_grad_(False)


def _left(name: str, model: Committee | Listener) -> list[str]:
    """What an answer did not leave as it was."""
    left, other = [], {"": 1, next(model.named_children())[0]: 1}
    if hooks_on(model) != other:
        left.append(f"hooks on {name}: {hooks_on(model)}, and {other} were there before")
    if model.training or not model.head.training:
        left.append(f"the mode of {name} was changed")
    grads = [parameter.grad for parameter in model.parameters()]
    if not all(grad is not None and bool((grad == 1).all()) for grad in grads):
        left.append(f".grad of the parameters of {name} was changed")
    frozen = [*model.head.parameters()]
    thawed = any(parameter.requires_grad for parameter in frozen)
    if thawed or sum(not one.requires_grad for one in model.parameters()) != len(frozen):
        left.append(f"requires_grad of the parameters of {name} was changed")
    return left


def run_intervention(
    intervention: Callable, kind: str, names: list[str], a: Tensor, b: Tensor, seeds: tuple | None
) -> dict:
    """The answers, what was raised, how often which model ran, what is not as it was."""
    donor, model = _pair(kind, seeds)
    pairs = {"donor": donor} | ({"model": model} if seeds else {})
    ran = {name: [] for name in pairs}
    for name, one in pairs.items():
        _watch(one, ran[name])
    answers, error = None, ""
    a, b, given = a.detach(), b.detach(), [*names]
    try:
        answers = intervention(donor, model, given, a, b)
    except Exception as caught:
        error = about_names(caught, donor)
    asked = [name for name, x in (("a", a), ("b", b)) if x.requires_grad]
    left = [words for name, one in pairs.items() for words in _left(name, one)]
    left += ["the caller's list of names was changed"] * (given != names)
    left += [f"requires_grad of the input {name} was changed" for name in asked]
    if not torch.is_grad_enabled():
        left.append("autograd is switched off for good: use a with block")
        torch.set_grad_enabled(True)
    counts = [*map(len, ran.values())]
    asking = {"a": a.clone().requires_grad_(), "b": b.clone().requires_grad_()}
    with torch.no_grad():
        with contextlib.suppress(Exception):
            intervention(donor, model, [*names], *asking.values())
        frozen = [name for name, x in asking.items() if not x.requires_grad]
        left += [f"requires_grad of the input {name} was changed" for name in frozen]
        if torch.is_grad_enabled():
            words = "called under no_grad, it switched autograd on: a with block, such as "
            left.append(f"{words}`with torch.no_grad():`, puts back what was there")
    answers = dict(answers) if isinstance(answers, dict) else answers
    return {"answers": answers, "error": error, "left": left, "runs": counts}


@ends_in_notebook
def check_intervention(
    trial: Callable,
    kind: str,
    names: list[str],
    a: Tensor,
    b: Tensor,
    seeds: tuple[int, int] | None = None,
) -> None:
    """Check the answers of one model, or of a donor and a model of two seeds."""
    __tracebackhide__ = True
    (donor, model), found = _pair(kind, seeds), trial(kind, names, a, b, seeds)
    assert not found["error"], found["error"]
    answers = found["answers"]
    assert answers is not None, "it returned None, expected a dict: is there an answer yet?"
    kind_of = type(answers).__name__
    assert isinstance(answers, dict), (
        f"it returned a {kind_of}, expected a dict from name to answer"
    )
    wanted = dict.fromkeys(names, 1)
    check_entries(dict.fromkeys(answers, 1), wanted, "answers", "one for each name")
    for name in names:
        right = known_slips.patched(donor, model, [name], a, b)
        slips = _intervention_slips(donor, model, name, names, a, b)
        check_value(answers[name], right, f"the answer for {name!r}", slips, rtol=1e-4)
        assert not answers[name].requires_grad, f"the answer for {name!r} hangs on the graph"
    assert not found["left"], "; ".join(found["left"])
    runs = [1, len(names)] if seeds else [1 + len(names)]
    if names:
        why = "the donor runs once, the model once for each name"
        check_equal(found["runs"], runs, "how often the models run", why)


def _intervention_slips(donor, model, name, names, a, b) -> dict[str, Tensor]:
    with torch.no_grad():
        slips = {
            "this is run B as it is: does the hook return the activation of run A, and are run A's "
            "hooks gone by then?": model(b),
            "this is run A's own answer: run B gets the input b, and one module of A's": donor(a),
        }
    other = known_slips.patched(model, donor, [name], b, a)
    slips["B's activation went into run A: it is to be the other way round"] = other
    if isinstance(model, Listener) and name == "enter":
        words = "this is the activation after the module that follows wrote to it: keep a copy"
        with torch.no_grad():
            twice = F.leaky_relu(F.leaky_relu(donor.enter(a), 0.1), 0.1)
            with model.act.register_forward_hook(lambda *_: twice):
                slips[words] = model(b)
    for late in names:
        if late != name:
            wrong = known_slips.patched(donor, model, [late], a, b)
            slips[f"this is the answer with {late!r} patched"] = wrong
    so_far = names[: names.index(name) + 1]
    slips["the patches of earlier names are still there: one module in each run"] = (
        known_slips.patched(donor, model, so_far, a, b)
    )
    slips["all the names are patched at once: one module in each run"] = known_slips.patched(
        donor, model, names, a, b
    )
    return slips


@ends_in_notebook
def check_clean_after_error(trial: Callable, names: list[str], a: Tensor, b: Tensor) -> None:
    """Check that an exception of a run comes out, and that all is left as it was."""
    __tracebackhide__ = True
    found = trial("listener", names, a, b, (0, 1))
    assert found["error"], "the exception of the run did not come out"
    assert not found["left"], "; ".join(found["left"])


@ends_in_notebook
def check_deciding(answer: Any, seed: int, a: Tensor, b: Tensor) -> None:
    """Check the name of the block whose activation turns a committee's answer to b."""
    __tracebackhide__ = True
    blank = f"deciding_block is still None: use your intervention on make_committee(seed={seed})"
    assert answer is not None, blank
    model, names = make_committee(seed), [f"blocks.{n}" for n in range(6)]
    turned = [name for name in names if known_slips.patched(model, model, [name], a, b).item() > 0]
    wanted = ", ".join(names)
    assert answer in names, f"{answer!r} is no block's name: expected one of {wanted}"
    still = "with its activation from run A the answer to B is still negative"
    assert [answer] == turned, f"it is not {answer!r}: {still}"


def transplant(
    intervention: Callable, donor: nn.Module, model: nn.Module, names: list[str], x: Tensor
) -> dict[str, Tensor]:
    """What the learner's ``intervention`` says; where there is none yet, what is right."""
    truth = {name: known_slips.patched(donor, model, [name], x, x) for name in names}
    own = agrees(lambda: intervention(donor, model, names, x, x), truth)
    return intervention(donor, model, names, x, x) if own else truth
