"""Exercise ``diagnose``: trainings that went wrong, and their cures."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from course_utils.chapters.visualization.trainings import HEALTHY, run
from course_utils.learner.checks import check_predictions
from course_utils.learner.tracebacks import ends_in_notebook

ILLNESSES = {
    "rate too high": {"rate": 2.0}, "rate too low": {"rate": 1e-4},
    "gradients pile up": {"zero": False}, "labels of other images": {"pairs": False, "data": 300},
    "softmax twice": {"logits": False}, "dead units": {"bias": -20.0},
    "vanishing gradients": {"deep": True}, "inputs not scaled": {"scale": 1000.0},
    "overfitting": {"data": 30}, "not shuffled": {"shuffle": False},
    "exp overflows": {"safe": False}, "weight decay too strong": {"decay": 0.5},
}  # fmt: skip
CURES: dict[str, dict[str, Any]] = {
    "lower the rate": {}, "raise the rate": {},
    "zero the gradients in each step": {"zero": True}, "pair images and labels": {"pairs": True},
    "give the loss logits": {"logits": True}, "start biases at 0": {"bias": 0.0},
    "ReLU and Kaiming's start": {"deep": False}, "scale the inputs": {"scale": 1.0},
    "get more data": {"data": 1000}, "shuffle": {"shuffle": True},
    "compute the loss by log_softmax": {"safe": True}, "decay less": {"decay": 0.0},
}  # fmt: skip
PATIENTS = {
    letter: ILLNESSES[list(ILLNESSES)[n]]
    for letter, n in zip("ABCDEFGHIJKL", np.random.default_rng(7).permutation(12), strict=True)
}


def healed(letter: str, cure: str) -> dict:
    """The run of a patient with a cure."""
    changes = PATIENTS[letter] | CURES[cure]
    rate = changes.get("rate", HEALTHY["rate"])
    if cure == "lower the rate":
        changes["rate"] = min(0.1, rate / 5)
    if cure == "raise the rate":
        changes["rate"] = max(0.1, rate * 5)
    return run(**{key: value for key, value in changes.items() if HEALTHY[key] != value})


def after_cure(letter: str, cures: dict) -> dict:
    """The run of a patient with the cure that was chosen for it, or else with the table's."""
    cure = cures.get(letter) if isinstance(cures, dict) else None
    if not isinstance(cure, str) or cure not in CURES:
        illness = next(word for word, changes in ILLNESSES.items() if changes == PATIENTS[letter])
        cure = dict(zip(ILLNESSES, CURES, strict=True))[illness]
    return healed(letter, cure)


def draw_runs(runs: dict[str, dict]) -> plt.Figure:
    """A row for each run: losses, gradients' norms, weights' norms."""
    figure, grid = plt.subplots(
        len(runs), 3, figsize=(10, 0.7 + 1.5 * len(runs)), squeeze=False, layout="constrained"
    )
    for (name, seen), row in zip(runs.items(), grid, strict=True):
        top = max([v for v in seen["loss"] + seen["validation"] if np.isfinite(v)] or [1])
        row[0].plot(seen["loss"], lw=0.8, label="training")
        row[0].plot(seen["validation"], lw=0.8, label="validation")
        row[0].set_ylabel(name, rotation=0, labelpad=14, fontsize=13, ha="right")
        row[0].set(ylim=(0, 1.05 * top), xlim=(-5, 205))
        if top > 20:
            row[0].set_yscale("symlog", linthresh=3)
            row[0].set_yticks([0] + [10.0**n for n in range(1, 9, 2 if top > 1e3 else 1)])
            row[0].set_ylim(0, 1.5 * top)
        for n, norms in enumerate(np.array(seen["gradients"]).T):
            row[1].plot(np.maximum(norms, 1e-8), lw=0.8, color=plt.cm.viridis(n / 4))
        row[1].set(yscale="log", ylim=(2e-9, 1e8), xlim=(-5, 205))
        row[1].set_yticks((1e-8, 1e-4, 1, 1e4, 1e8))
        row[1].minorticks_off()
        for n, norms in enumerate(np.array(seen["weights"]).T):
            row[2].plot(norms, lw=0.8, color=plt.cm.viridis(n / 4), label=f"layer {n + 1}")
        row[2].set(xlim=(-5, 205))
        row[2].set_ylim(0)
    for axes, title in zip(grid[0], ("loss", "norm of gradients", "norm of weights"), strict=True):
        axes.set_title(title)
    for axes in grid[-1]:
        axes.set_xlabel("step")
    widest = max(grid[:, 2], key=lambda axes: len(axes.lines))  # some have more layers
    handles = grid[0, 0].lines[:2] + widest.lines[:]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), fontsize=8)
    return figure


TRACES = {
    "rate too high": "the start is healthy, 2.3; within some steps loss and weights shoot up",
    "rate too low": "loss and weights stand still, and the gradients are there",
    "gradients pile up": "the gradients rise and never fall again, and the weights grow and grow",
    "labels of other images": "training loss falls a little, validation rises above 2.3",
    "softmax twice": "it learns, slowly, and the loss stays above 1.46",
    "dead units": "all gradients are 0 from the first step on",
    "vanishing gradients": "the layers' gradients lie in steps, each ten times smaller",
    "inputs not scaled": "look at the very first loss",
    "overfitting": "training loss 0, validation loss rising again",
    "not shuffled": "the training loss goes in waves, as class follows class; validation stays bad",
    "exp overflows": "the curves end in the middle: after that there are no numbers",
    "weight decay too strong": "the norms of the weights fall to 0",
}


@ends_in_notebook
def check_diagnosis(diagnose) -> None:
    """The illness of each patient."""
    truth = {
        letter: next(w for w, c in ILLNESSES.items() if c == changes)
        for letter, changes in PATIENTS.items()
    }
    given = diagnose if isinstance(diagnose, dict) else {}
    odd = [word for word in given.values() if word not in (None, ...) and type(word) is not str]
    assert not odd, f"{odd[0]!r} is no word: one illness for each patient, in quotes"
    unknown = sorted(
        {str(word) for word in given.values() if word is not None and word not in ILLNESSES}
    )
    assert not unknown, f"no illness of the table: {', '.join(unknown)}"
    because = {
        letter: f"of {word!r} you would see: {TRACES[word]}"
        for letter, word in given.items()
        if word
    }
    check_predictions(diagnose, truth, because=because)


@ends_in_notebook
def check_cures(case, cures) -> None:
    """A cure for each patient, tried out."""
    assert isinstance(cures, dict), f"cures is {cures!r}, not a dict"
    blank = [letter for letter in PATIENTS if cures.get(letter) is None]
    assert not blank, f"no cure yet for {', '.join(blank)}"
    for letter in PATIENTS:
        with case(letter):
            known = isinstance(cures[letter], str) and cures[letter] in CURES
            assert known, f"{cures[letter]!r} is no cure of the table"
            accuracy = healed(letter, cures[letter])["accuracy"][-1]
            assert accuracy >= 0.85, f"with {cures[letter]!r} the accuracy is {accuracy:.2f}"
