"""Exercise 13.6: hashes that don't change, and the global random states."""

from __future__ import annotations

import random
from contextlib import nullcontext

import numpy as np
import torch

from course_utils.chapters.training.killed import made_in_a_child
from course_utils.chapters.training.states import frozen
from course_utils.learner.awkward import other_hashes
from course_utils.learner.cases import every_case
from course_utils.learner.checks import check_equal
from course_utils.learner.devices import seed_everything
from course_utils.learner.tracebacks import ends_in_notebook


class Walked(set):
    """A set of names that is walked in an order of its own, as another process may walk it."""

    def __init__(self, names: list[str], turn: int) -> None:
        super().__init__(names)
        names = sorted(names)
        self.walk = names[turn % max(1, len(names)) :] + names[: turn % max(1, len(names))]

    def __iter__(self):
        return iter(self.walk)


def global_states() -> dict[str, tuple[str, str]]:
    """For each library its random state, and the normal number that it keeps in reserve."""
    python, numpy = random.getstate(), tuple(np.random.get_state())
    states = {
        "Python": (python[:2], python[2:]),
        "NumPy": (numpy[:3], numpy[3:]),
        "PyTorch": (torch.get_rng_state(), None),
    }
    return {name: (frozen(state), frozen(spare)) for name, (state, spare) in states.items()}


def _moved(kept: dict[str, tuple[str, str]]) -> list[str]:
    """Words for the global random states that aren't what they were."""
    words = []
    for name, now in global_states().items():
        if now[0] != kept[name][0]:
            words.append(f"that of {name}")
        elif now != kept[name]:
            words.append(f"the normal number that {name} keeps in reserve, a part of its state,")
    return words


def run_deterministic(
    deterministic, names: list[str], seed: int, epoch: int, turn: int, before: int
) -> tuple:
    """The answer where the set is walked differently, and with ``turn < 0`` strings hash
    differently; states that it changed."""
    seed_everything(before)
    random.gauss(), np.random.standard_normal(), torch.randn(())  # they come in pairs: one is left
    kept = global_states()
    with other_hashes() if turn < 0 else nullcontext():
        given = Walked(names, turn)
        pairs = deterministic(given, seed, epoch)
    changed = _moved(kept)
    return pairs, [*changed, *(["the set of names"] if sorted(given | set(given)) != names else [])]


def run_many(deterministic, names: list[str], pairs: list[tuple[int, int]]) -> list[tuple]:
    """For each pair of seed and epoch: the order as a text, and the noise, sorted, as a text."""
    found = []
    for seed, epoch in pairs:
        result = check_pairs(deterministic(set(names), seed, epoch), ())
        noise = sorted(float(value) for _, value in result)
        found.append(("|".join(str(name) for name, _ in result), str(noise)))
    return found


def _plain_pairs(deterministic, names: set[str]) -> list[tuple[str, float]]:
    return [(str(name), float(noise)) for name, noise in deterministic(names, 5, 6)]


def run_kept(deterministic, names: list[str]) -> list[str]:
    """Words for what an answer keeps from one call to the next."""
    first = deterministic(set(names), 3, 4)
    assert isinstance(first, (list, tuple)), f"it returned {first!r}: is there an answer yet?"
    before, words = list(first), []
    fewer = [name for name, _ in deterministic(set(names[:9]), 3, 4)]
    if sorted(fewer) != names[:9]:
        words.append("other names with the same seed and epoch gave the names of an earlier call")
    others = sorted([*names[:5], "another animal", *names[6:]])
    if sorted(name for name, _ in deterministic(set(others), 3, 4)) != others:
        words.append("as many names, of which one is another, gave the names of an earlier call")
    alone = made_in_a_child(_plain_pairs, deterministic, set(names[-9:]))
    _plain_pairs(deterministic, set(names))
    if _plain_pairs(deterministic, set(names[-9:])) != alone:
        words.append("after a call with more names some got other noise than in a new process")
    if isinstance(first, list):
        first.clear()
    if list(deterministic(set(names), 3, 4)) != before:
        words.append("the list that came out was emptied, and the next call gave something else")
    return words


def check_alone(run, names, first, changed):
    """Whether nothing but the arguments decides, and nothing else is changed."""
    ways = {
        "the set walked in another order": (
            {"turn": 7},
            "the result differs: sort the names first",
        ),
        "another process, where strings have other hashes": (
            {"turn": -1},
            "the result differs: hash() of a string is another in each process",
        ),
        "the global generators seeded differently": ({"before": 9}, "use a separate generator"),
    }
    twice = pairs_of(run, names, 0, 0) == first
    assert twice, "called twice, the second call gives something else: what is kept from the first?"
    with every_case() as part:
        for name, (how, words) in ways.items():
            with part(name):
                assert pairs_of(run, names, 0, 0, **how) == first, words
        with part("global random states, and the set"):
            assert not changed, f"{' and '.join(changed)} was changed"
        with part("names that differ in capitals, blanks and accents alone"):
            capitals = sorted(
                {*"aAbBcCdDeE", "Ant", "ANT", "ant", "aNT", " ant", "ant ", "änt", ""}
            )
            other = pairs_of(run, capitals, 3, 4, turn=5)
            words = "the set walked in another order gave another result: sort by the whole name"
            assert other == pairs_of(run, capitals, 3, 4), f"{words}, as it is"
        with part("one name"):
            noise = {str(pairs_of(run, ["a"], seed, 4)[0][1]) for seed in range(9)}
            words = "nine seeds gave some noise twice: it is drawn, for one name as well"
            assert len(noise) == 9, words


def check_kept(words):
    kept = "what an answer keeps decides"
    assert not words, f"{'; '.join(words)}: the result hangs on its arguments alone ({kept})"


def check_apart(pairs, found):
    """No two pairs of seed and epoch give the same order, or the same noise."""
    for kind, texts in zip(("order", "noise"), zip(*found, strict=True), strict=True):
        seen = {}
        for pair, text in zip(pairs, texts, strict=True):
            words = f"(seed, epoch) = {seen.get(text)} and {pair} give the same {kind}"
            assert text not in seen, f"{words}: mix the two so that no two pairs collide"
            seen[text] = pair
    orders = [order.split("|") for order, _ in found]
    lengths = sorted({len(order) for order in orders})
    counts = " and of ".join(map(str, lengths))
    words = f"one set of names gave lists of {counts} names: is one kept from another call?"
    assert len(lengths) == 1, words
    mean = len(orders) / len(orders[0])
    for place, names in enumerate(zip(*orders, strict=True), start=1):
        for name, count in {name: names.count(name) for name in orders[0]}.items():
            words = f"in {len(orders)} calls {name!r} came {count} times at place {place} of "
            words += f"{len(orders[0])}, expected about {mean:.0f}: shuffle them all together"
            assert 0.4 * mean < count < 1.8 * mean, words


@ends_in_notebook
def check_pairs(pairs, changed, names=None):
    """The pairs as tuples, if they have the right form."""
    assert pairs is not None, "deterministic returned None: is there an answer yet?"
    listed = isinstance(pairs, (list, tuple))
    words = "a tuple came back, where a list is asked for: it is the caller's to change"
    assert not isinstance(pairs, tuple), words
    whole = listed and all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in pairs)
    assert whole, f"expected a list of pairs (name, noise), got {str(pairs)[:60]}"
    odd = [pair for pair in pairs if not isinstance(pair[0], str)]
    assert not odd, f"{str(odd[:1])[1:-1]}: a pair is (name, noise), in this order"
    if names is not None:
        check_equal(sorted(name for name, _ in pairs), names, "the names", "each of them once")
    odd = [value for _, value in pairs if not isinstance(value, float)]
    assert not odd, f"the noise {odd[:1]} isn't a Python float"
    return [tuple(pair) for pair in pairs]


def check_shuffled(pairs):
    for values, words in zip(
        map(list, zip(*pairs, strict=True)),
        ("the names are in order, not shuffled", "the noise is in order: each name has a draw"),
        strict=True,
    ):
        assert values not in (sorted(values), sorted(values, reverse=True)), words


def check_normal(values):
    """The noise of 200 calls with twenty names: 4000 numbers."""
    values = torch.tensor(values)
    mean, deviation = values.mean(), values.std()
    words = (
        f"4000 numbers have mean {mean:.2f} and deviation {deviation:.2f}, expected about 0 and 1"
    )
    assert abs(mean) < 0.08, words
    assert 0.95 < deviation < 1.05, words
    assert len(values.unique()) > 3900, "the same noise comes again and again"
    words = "none of 4000 numbers is beyond 3 or -3: of a normal distribution's, eleven are"
    assert values.abs().max() > 3, words
    spread = values.view(200, 20).mean(1).std()
    words = "in each call the numbers have the same mean: draw each without regard to the others"
    assert spread > 0.15, words


@ends_in_notebook
def pairs_of(try_deterministic, names, seed, epoch, turn=0, before=0):
    return check_pairs(*try_deterministic(names, seed, epoch, turn, before), sorted(names))
