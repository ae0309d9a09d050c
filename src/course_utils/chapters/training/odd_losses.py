"""Exercise 13.2: batches whose loss is 0, large, infinite or NaN, and the steps that they get."""

from __future__ import annotations

import torch
import torch.nn as nn
import torch.nn.functional as F

from course_utils.learner.cases import every_case
from course_utils.learner.devices import device

ODD_LOSSES = {
    "exactly 0": 30.0,
    "0, its gradient too": 200.0,
    "above 300": -300.0,
    "infinite": float("-inf"),
    "NaN": torch.nan,
}


class Echo(nn.Module):
    """Logits are its input; it notes the gradient of each step that followed a training batch."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.steps = nn.Parameter(torch.zeros(3)), []

    def forward(self, x):
        if self.training:
            self.steps.append([])
        return x + self.weight

    def note(self, *_) -> None:
        """A step was taken; it is undone, so that the next batch's loss is what it would be."""
        for found in self.steps[-1:]:
            found.append([] if self.weight.grad is None else self.weight.grad.tolist())
        with torch.no_grad():
            self.weight.zero_()


def _batches(loss: str) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Five batches of two samples; ``loss``, a key of ``ODD_LOSSES``, is that of the third."""
    plain, y = torch.zeros(2, 3, device=device), torch.zeros(2, dtype=torch.int64, device=device)
    odd = torch.tensor([[ODD_LOSSES[loss], 0.0, 0.0]] * 2, device=device)
    return [(x, y) for x in (plain, plain, odd, plain, plain)]


def run_steps(fit, loss: str) -> tuple[list[list], float]:
    """For each of five training batches the gradients at the steps that followed; the average."""
    model, train = Echo().to(device), _batches(loss)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    optimizer.register_step_post_hook(model.note)
    history = fit(model, train, train[:1], optimizer, 1)
    return model.steps, float(history[0]["train_loss"])


def _check_steps(run, loss: str) -> None:
    """One step for each of five batches, by its gradient, and a mean over all of them."""
    steps, mean = run(loss)
    words = f"the loss of the third of five batches is {loss}"
    assert len(steps) == 5, f"{words}: {len(steps)} batches were trained on, expected 5"
    losses = []
    for number, (found, (x, y)) in enumerate(zip(steps, _batches(loss), strict=True), start=1):
        text = f"{words}; batch {number} got {len(found)} steps: one for each, whatever it is"
        assert len(found) == 1, text
        logits = x.clone().requires_grad_()
        losses.append(F.cross_entropy(logits, y))
        right = torch.autograd.grad(losses[-1], logits)[0].sum(0).cpu()
        close = torch.allclose(torch.tensor(found[0]), right, rtol=1e-3, atol=0.0, equal_nan=True)
        text = f"{words}; batch {number}: step() takes the gradient as backward() left it"
        assert close, f"{text}, neither cut off nor replaced"
    right = torch.stack(losses).mean().cpu()
    text = f"{words}; train_loss is {mean:.4g}, expected {right.item():.4g}: each loss counts"
    # A running mean turns infinity into NaN at the next batch, and still leaves nothing out.
    gone = not right.isfinite() and mean != mean
    assert gone or torch.allclose(torch.tensor(mean), right, rtol=1e-3, equal_nan=True), text


def check_steps(run) -> None:
    """The same for each of the odd losses."""
    with every_case() as case:
        for loss in ODD_LOSSES:
            with case(f"a batch whose loss is {loss}"):
                _check_steps(run, loss)
