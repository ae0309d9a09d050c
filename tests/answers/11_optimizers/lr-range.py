# %% [markdown]
# Rules:
#
# - "from `lowest` to `highest`, both included"
# - "each the rate before it times the same factor"
# - "In one run"
# - "note the rate and the loss, `F.mse_loss(model(x), y)`, before the step"
# - "stop if this loss is not finite"
# - "exceeds four times the smallest so far"
# - "take a plain SGD step with this rate"
# - "the pair of lists of plain numbers"
# - "of equal length"
# - "perhaps with frozen parameters"
# - "the same weights"
# - "to the last digit"
# - "the same buffers"
# - "modes (train or eval)"
# - "and `.grad`"
# - "`x` and `y` stay as they are"
# - "say what is wrong in each of the five runs"
#
# Admits:
#
# - "or a weight that two layers share": a network, two of whose layers share a weight
# - "`forward` may put a new tensor in a buffer's place": forward may put a new tensor
# - "not finite": a loss that is nan at once
# - "exceeds four times the smallest so far": a loss of 4.41 times the smallest

# %% wrong="equal differences" breaks="each the rate before it times the same factor" says=["equal differences"]
diagnosis = dict.fromkeys(("run 1", "run 2", "run 3", "run 4", "run 5"))


def lr_range(model, x, y, lowest, highest, steps):
    before, rates, losses = copy.deepcopy(model.state_dict()), [], []
    for k in range(steps):
        loss = F.mse_loss(model(x), y)
        rates.append(lowest + (highest - lowest) * k / (steps - 1))
        losses.append(loss.item())
        if not loss.isfinite() or losses[-1] > 4 * min(losses):
            break
        loss.backward()
        torch.optim.SGD(model.parameters(), lr=rates[-1]).step()
        model.zero_grad()
    model.load_state_dict(before)
    return rates, losses


# %% wrong="the loss after the step" breaks="note the rate and the loss, `F.mse_loss(model(x), y)`, before the step" says=["noted after the step"]
diagnosis = dict.fromkeys(("run 1", "run 2", "run 3", "run 4", "run 5"))


def lr_range(model, x, y, lowest, highest, steps):
    before, rates, losses = copy.deepcopy(model.state_dict()), [], []
    for k in range(steps):
        rates.append(lowest * (highest / lowest) ** (k / (steps - 1)))
        F.mse_loss(model(x), y).backward()
        torch.optim.SGD(model.parameters(), lr=rates[-1]).step()
        model.zero_grad()
        losses.append(F.mse_loss(model(x), y).item())
        if losses[-1] > 4 * min(losses):
            break
    model.load_state_dict(before)
    return rates, losses


# %% wrong="the model stays trained" breaks="the same weights" says=["the test has trained it"]
diagnosis = dict.fromkeys(("run 1", "run 2", "run 3", "run 4", "run 5"))


def lr_range(model, x, y, lowest, highest, steps):
    rates, losses = [], []
    for k in range(steps):
        loss = F.mse_loss(model(x), y)
        rates.append(lowest * (highest / lowest) ** (k / (steps - 1)))
        losses.append(loss.item())
        if not loss.isfinite() or losses[-1] > 4 * min(losses):
            break
        loss.backward()
        torch.optim.SGD(model.parameters(), lr=rates[-1]).step()
        model.zero_grad()
    return rates, losses


# %% wrong="a state_dict that is no copy" says=["the test has trained it"]
diagnosis = dict.fromkeys(("run 1", "run 2", "run 3", "run 4", "run 5"))


def lr_range(model, x, y, lowest, highest, steps):
    before, rates, losses = model.state_dict(), [], []
    for k in range(steps):
        loss = F.mse_loss(model(x), y)
        rates.append(lowest * (highest / lowest) ** (k / (steps - 1)))
        losses.append(loss.item())
        if not loss.isfinite() or losses[-1] > 4 * min(losses):
            break
        loss.backward()
        torch.optim.SGD(model.parameters(), lr=rates[-1]).step()
        model.zero_grad()
    model.load_state_dict(before)
    return rates, losses


# %% wrong="never stops" says=["it never stops"]
diagnosis = dict.fromkeys(("run 1", "run 2", "run 3", "run 4", "run 5"))


def lr_range(model, x, y, lowest, highest, steps):
    before, rates, losses = copy.deepcopy(model.state_dict()), [], []
    for k in range(steps):
        loss = F.mse_loss(model(x), y)
        rates.append(lowest * (highest / lowest) ** (k / (steps - 1)))
        losses.append(loss.item())
        loss.backward()
        torch.optim.SGD(model.parameters(), lr=rates[-1]).step()
        model.zero_grad()
    model.load_state_dict(before)
    return rates, losses


# %% wrong="stops before it notes the jump" says=["that end the run are noted, too"]
diagnosis = dict.fromkeys(("run 1", "run 2", "run 3", "run 4", "run 5"))


def lr_range(model, x, y, lowest, highest, steps):
    before, rates, losses = copy.deepcopy(model.state_dict()), [], []
    for k in range(steps):
        loss = F.mse_loss(model(x), y)
        if losses and (not loss.isfinite() or loss.item() > 4 * min(losses)):
            break
        rates.append(lowest * (highest / lowest) ** (k / (steps - 1)))
        losses.append(loss.item())
        loss.backward()
        torch.optim.SGD(model.parameters(), lr=rates[-1]).step()
        model.zero_grad()
    model.load_state_dict(before)
    return rates, losses


# %% wrong="infinity is not above four times infinity" says=["a loss that is infinite at once"]
diagnosis = dict.fromkeys(("run 1", "run 2", "run 3", "run 4", "run 5"))


def lr_range(model, x, y, lowest, highest, steps):
    before, rates, losses = copy.deepcopy(model.state_dict()), [], []
    for k in range(steps):
        loss = F.mse_loss(model(x), y)
        rates.append(lowest * (highest / lowest) ** (k / (steps - 1)))
        losses.append(loss.item())
        if losses[-1] > 4 * min(losses):
            break
        loss.backward()
        torch.optim.SGD(model.parameters(), lr=rates[-1]).step()
        model.zero_grad()
    model.load_state_dict(before)
    return rates, losses


# %% wrong="each rate from the first weights" breaks="In one run" says=["it is one run"]
diagnosis = dict.fromkeys(("run 1", "run 2", "run 3", "run 4", "run 5"))


def lr_range(model, x, y, lowest, highest, steps):
    before, rates, losses = copy.deepcopy(model.state_dict()), [], [F.mse_loss(model(x), y).item()]
    for k in range(steps):
        rates.append(lowest * (highest / lowest) ** (k / (steps - 1)))
        F.mse_loss(model(x), y).backward()
        torch.optim.SGD(model.parameters(), lr=rates[-1]).step()
        model.zero_grad()
        losses.append(F.mse_loss(model(x), y).item())
        model.load_state_dict(before)
    return rates, losses[:-1]


# %% wrong="never clears the gradients" says=["gradients were never cleared"]
diagnosis = dict.fromkeys(("run 1", "run 2", "run 3", "run 4", "run 5"))


def lr_range(model, x, y, lowest, highest, steps):
    before, rates, losses = copy.deepcopy(model.state_dict()), [], []
    for k in range(steps):
        loss = F.mse_loss(model(x), y)
        rates.append(lowest * (highest / lowest) ** (k / (steps - 1)))
        losses.append(loss.item())
        if not loss.isfinite() or losses[-1] > 4 * min(losses):
            break
        loss.backward()
        torch.optim.SGD(model.parameters(), lr=rates[-1]).step()
    model.load_state_dict(before)
    model.zero_grad()
    return rates, losses


# %% wrong="leaves gradients" breaks="and `.grad`" says=["goes with gradients"]
diagnosis = dict.fromkeys(("run 1", "run 2", "run 3", "run 4", "run 5"))


def lr_range(model, x, y, lowest, highest, steps):
    before, rates, losses = copy.deepcopy(model.state_dict()), [], []
    for k in range(steps):
        loss = F.mse_loss(model(x), y)
        rates.append(lowest * (highest / lowest) ** (k / (steps - 1)))
        losses.append(loss.item())
        if not loss.isfinite() or losses[-1] > 4 * min(losses):
            break
        model.zero_grad()
        loss.backward()
        torch.optim.SGD(model.parameters(), lr=rates[-1]).step()
    model.load_state_dict(before)
    return rates, losses


# %% wrong="tensors in the lists" breaks="the pair of lists of plain numbers" says=["no list of plain numbers"]
diagnosis = dict.fromkeys(("run 1", "run 2", "run 3", "run 4", "run 5"))


def lr_range(model, x, y, lowest, highest, steps):
    rates = torch.logspace(0, 1, steps)
    return list(rates), list(rates)


# %% wrong="floor and milestone mixed up" breaks="say what is wrong in each of the five runs" says=["something happened at step 150", "it wobbles at one level"]
diagnosis = {
    "run 1": "noise floor: the rate should fall now",
    "run 2": "zero_grad forgotten",
    "run 3": "rate above the limit",
    "run 4": "rate too low",
    "run 5": "a milestone cut the rate",
}

# %% wrong="waves for a rate above the limit" says=["a pendulum without friction"]
diagnosis = {
    "run 1": "a milestone cut the rate",
    "run 2": "rate above the limit",
    "run 3": "zero_grad forgotten",
    "run 4": "rate too low",
    "run 5": "noise floor: the rate should fall now",
}

# %% wrong="functional, a tensor for each name" says=["two of whose layers share a weight", "became two weights"]
import math


def lr_range(
    model: nn.Module, x: torch.Tensor, y: torch.Tensor, lowest: float, highest: float, steps: int
) -> tuple[list[float], list[float]]:
    names = list(model.named_parameters(remove_duplicate=False))
    params = {n: p.detach().clone().requires_grad_(p.requires_grad) for n, p in names}
    buffers = {n: b.clone() for n, b in model.named_buffers()}
    rates, losses = [], []
    for k in range(steps):
        rate = lowest * (highest / lowest) ** (k / (steps - 1))
        answer = torch.func.functional_call(model, {**params, **buffers}, (x,), tie_weights=False)
        loss = F.mse_loss(answer, y)
        rates.append(rate)
        losses.append(loss.item())
        if not math.isfinite(losses[-1]) or losses[-1] > 4 * min(losses):
            break
        trained = [n for n, p in params.items() if p.requires_grad]
        grads = torch.autograd.grad(loss, [params[n] for n in trained], allow_unused=True)
        for n, g in zip(trained, grads):
            if g is not None:
                params[n] = (params[n] - rate * g).detach().requires_grad_()
    return rates, losses


diagnosis = {
    "run 1": "a milestone cut the rate",
    "run 2": "zero_grad forgotten",
    "run 3": "rate above the limit",
    "run 4": "rate too low",
    "run 5": "noise floor: the rate should fall now",
}


# %% wrong="each layer's parameters in turn" says=["two of whose layers share a weight", "takes one step, not two"]
import copy
import math

diagnosis = {
    "run 1": "a milestone cut the rate",
    "run 2": "zero_grad forgotten",
    "run 3": "rate above the limit",
    "run 4": "rate too low",
    "run 5": "noise floor: the rate should fall now",
}


def lr_range(model, x, y, lowest, highest, steps):
    before = copy.deepcopy(model.state_dict())
    rates, losses = [], []
    for k in range(steps):
        rate = lowest * (highest / lowest) ** (k / (steps - 1))
        loss = F.mse_loss(model(x), y)
        rates.append(rate)
        losses.append(loss.item())
        if not math.isfinite(losses[-1]) or losses[-1] > 4 * min(losses):
            break
        loss.backward()
        with torch.no_grad():
            for m in model.modules():
                for p in m.parameters(recurse=False):
                    if p.grad is not None:
                        p -= rate * p.grad
        model.zero_grad()
    model.load_state_dict(before)
    return rates, losses


# %% right="a copy of the model, steps by hand"
diagnosis = dict.fromkeys(("run 1", "run 2", "run 3", "run 4", "run 5"))


def lr_range(model, x, y, lowest, highest, steps):
    twin, rate, factor = copy.deepcopy(model), lowest, (highest / lowest) ** (1 / (steps - 1))
    rates, losses = [], []
    while len(rates) < steps:
        loss = F.mse_loss(twin(x), y)
        rates, losses = [*rates, rate], [*losses, loss.item()]
        if not losses[-1] < float("inf") or losses[-1] > 4 * min(losses):
            break
        grads = torch.autograd.grad(loss, [p for p in twin.parameters() if p.requires_grad])
        with torch.no_grad():
            for p, g in zip([p for p in twin.parameters() if p.requires_grad], grads, strict=True):
                p -= rate * g
        rate *= factor
    return rates, losses


diagnosis = {
    "run 1": "a milestone cut the rate",
    "run 2": "zero_grad forgotten",
    "run 3": "rate above the limit",
    "run 4": "rate too low",
    "run 5": "noise floor: the rate should fall now",
}

# %% right="functional_call, and tuples"
diagnosis = dict.fromkeys(("run 1", "run 2", "run 3", "run 4", "run 5"))


def lr_range(model, x, y, lowest, highest, steps):
    import math

    params = {name: p.detach().clone() for name, p in model.named_parameters()}
    theirs = {name: value.clone() for name, value in model.named_buffers()}
    found = []
    for rate in torch.logspace(
        math.log10(lowest), math.log10(highest), steps, dtype=torch.float64
    ).tolist():
        grads, loss = torch.func.grad_and_value(
            lambda q, b: F.mse_loss(torch.func.functional_call(model, (q, b), (x,)), y)
        )(params, theirs)
        found.append((rate, loss.item()))
        if not math.isfinite(loss.item()) or loss.item() > 4 * min(value for _, value in found):
            break
        free = {name for name, p in model.named_parameters() if p.requires_grad}
        params = {name: p - rate * grads[name] * (name in free) for name, p in params.items()}
    return tuple(zip(*found, strict=True))


diagnosis = dict(
    zip(
        diagnosis,
        (
            "a milestone cut the rate",
            "zero_grad forgotten",
            "rate above the limit",
            "rate too low",
            "noise floor: the rate should fall now",
        ),
        strict=True,
    )
)


# %% wrong="compares with the first loss" breaks="exceeds four times the smallest so far" says=["four times the *smallest*"]
def lr_range(model, x, y, lowest, highest, steps):
    import math

    saved = {k: v.clone() for k, v in model.state_dict().items()}
    rates, losses = [], []
    factor = (highest / lowest) ** (1 / (steps - 1))
    rate = lowest
    for _ in range(steps):
        o = torch.optim.SGD(model.parameters(), lr=rate)
        o.zero_grad()
        loss = F.mse_loss(model(x), y)
        rates.append(rate)
        losses.append(loss.item())
        if not math.isfinite(loss.item()) or loss.item() > 4 * losses[0]:
            break
        loss.backward()
        o.step()
        rate *= factor
    model.load_state_dict(saved)
    return rates, losses


diagnosis = {
    "run 1": "a milestone cut the rate",
    "run 2": "zero_grad forgotten",
    "run 3": "rate above the limit",
    "run 4": "rate too low",
    "run 5": "noise floor: the rate should fall now",
}


# %% wrong="one factor too many: highest is never reached" breaks="from `lowest` to `highest`, both included" says=["highest is one of the rates"]
def lr_range(model, x, y, lowest, highest, steps):

    import copy

    model = copy.deepcopy(model)
    rates, losses = [], []
    for k in range(steps):
        rate = lowest * (highest / lowest) ** (k / steps)
        o = torch.optim.SGD(model.parameters(), lr=rate)
        loss = F.mse_loss(model(x), y)
        rates.append(rate)
        losses.append(loss.item())
        if not loss.isfinite() or loss.item() > 4 * min(losses):
            break
        o.zero_grad()
        loss.backward()
        o.step()
    return rates, losses


diagnosis = {
    "run 1": "noise floor: the rate should fall now",
    "run 2": "rate above the limit",
    "run 3": "zero_grad forgotten",
    "run 4": "rate too low",
    "run 5": "a milestone cut the rate",
}


# %% wrong="SGD with momentum" breaks="take a plain SGD step with this rate" says=["a plain step was asked for"]
def lr_range(model, x, y, lowest, highest, steps):

    import copy

    start = copy.deepcopy(model.state_dict())
    o = torch.optim.SGD(model.parameters(), lr=lowest, momentum=0.9)
    rates, losses = [], []
    for rate in torch.logspace(
        torch.tensor(lowest).log10().item(), torch.tensor(highest).log10().item(), steps
    ).tolist():
        o.param_groups[0]["lr"] = rate
        loss = F.mse_loss(model(x), y)
        rates.append(rate)
        losses.append(loss.item())
        if not loss.isfinite() or loss.item() > 4 * min(losses):
            break
        o.zero_grad()
        loss.backward()
        o.step()
    model.load_state_dict(start)
    model.zero_grad()
    return rates, losses


diagnosis = {
    "run 1": "noise floor: the rate should fall now",
    "run 2": "rate above the limit",
    "run 3": "zero_grad forgotten",
    "run 4": "rate too low",
    "run 5": "a milestone cut the rate",
}


# %% right="functional_call: the model is never touched"
def lr_range(model, x, y, lowest, highest, steps):

    from torch.func import functional_call

    params = {k: p.detach().clone() for k, p in model.named_parameters()}
    theirs = {k: value.clone() for k, value in model.named_buffers()}
    lo, hi = float(lowest), float(highest)
    rates, losses, best = [], [], float("inf")
    for k in range(steps):
        rate = lo ** (1 - k / (steps - 1)) * hi ** (k / (steps - 1))
        free = {n: p for n, p in params.items() if model.get_parameter(n).requires_grad}
        leaves = {n: p.requires_grad_() for n, p in free.items()}
        loss = F.mse_loss(functional_call(model, {**params, **theirs}, (x,)), y)
        value = loss.item()
        rates, losses = rates + [rate], losses + [value]
        best = min(best, value)
        if not (value < float("inf")) or value > 4 * best:
            break
        grads = torch.autograd.grad(loss, list(leaves.values()))
        params |= {n: (p - rate * g).detach() for (n, p), g in zip(leaves.items(), grads)}
    return rates, losses


diagnosis = {
    "run 1": "a milestone cut the rate",
    "run 2": "zero_grad forgotten",
    "run 3": "rate above the limit",
    "run 4": "rate too low",
    "run 5": "noise floor: the rate should fall now",
}


# %% wrong="four times the loss before" says=["*smallest* loss so far ends it, not four times the one before"]
diagnosis = dict.fromkeys(("run 1", "run 2", "run 3", "run 4", "run 5"))


def lr_range(model, x, y, lowest, highest, steps):
    before = copy.deepcopy(model.state_dict())
    rates, losses = [], []
    for k in range(steps):
        rate = lowest * (highest / lowest) ** (k / (steps - 1))
        loss = F.mse_loss(model(x), y)
        rates.append(rate)
        losses.append(loss.item())
        if not loss.isfinite() or k and losses[-1] > 4 * losses[-2]:
            break
        model.zero_grad()
        loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                p -= rate * p.grad if p.grad is not None else 0
    model.zero_grad()
    model.load_state_dict(before)
    return rates, losses


# %% wrong="equal is too much" says=["does not exceed it"]
diagnosis = dict.fromkeys(("run 1", "run 2", "run 3", "run 4", "run 5"))


def lr_range(model, x, y, lowest, highest, steps):
    before = copy.deepcopy(model.state_dict())
    rates, losses = [], []
    for k in range(steps):
        rate = lowest * (highest / lowest) ** (k / (steps - 1))
        loss = F.mse_loss(model(x), y)
        rates.append(rate)
        losses.append(loss.item())
        if not loss.isfinite() or k and losses[-1] >= 4 * min(losses):
            break
        model.zero_grad()
        loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                p -= rate * p.grad if p.grad is not None else 0
    model.zero_grad()
    model.load_state_dict(before)
    return rates, losses


# %% wrong="the buffers have moved" breaks="the same buffers" says=["does not have the buffers"]
diagnosis = dict.fromkeys(("run 1", "run 2", "run 3", "run 4", "run 5"))


def lr_range(model, x, y, lowest, highest, steps):
    before = [p.detach().clone() for p in model.parameters()]
    rates, losses = [], []
    for k in range(steps):
        rate = lowest * (highest / lowest) ** (k / (steps - 1))
        loss = F.mse_loss(model(x), y)
        rates.append(rate)
        losses.append(loss.item())
        if not loss.isfinite() or losses[-1] > 4 * min(losses):
            break
        model.zero_grad()
        loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                p -= rate * p.grad if p.grad is not None else 0
    model.zero_grad()
    with torch.no_grad():
        for p, old in zip(model.parameters(), before):
            p.copy_(old)
    return rates, losses


# %% wrong="other parameters in their place, by assign=True" says=["the model has other Parameters than before", "without assign=True"]
import math


def lr_range(model, x, y, lowest, highest, steps):
    saved = {k: v.clone() for k, v in model.state_dict().items()}
    rates, losses = [], []
    for k in range(steps):
        rate = lowest * (highest / lowest) ** (k / (steps - 1))
        model.zero_grad()
        loss = F.mse_loss(model(x), y)
        rates.append(rate)
        losses.append(loss.item())
        if not loss.isfinite() or losses[-1] > 4 * min(losses):
            break
        loss.backward()
        torch.optim.SGD(model.parameters(), lr=rate).step()
    model.load_state_dict(saved, assign=True)
    model.zero_grad()
    return rates, losses


diagnosis = {
    "run 1": "a milestone cut the rate",
    "run 2": "zero_grad forgotten",
    "run 3": "rate above the limit",
    "run 4": "rate too low",
    "run 5": "noise floor: the rate should fall now",
}


# %% wrong="eval on the way" breaks="modes (train or eval)" says=["a network, two of whose layers share a weight"]
import math


def lr_range(model, x, y, lowest, highest, steps):
    saved = {k: v.clone() for k, v in model.state_dict().items()}
    rates, losses = [], []
    model.eval()
    for k in range(steps):
        rate = lowest * (highest / lowest) ** (k / (steps - 1))
        model.zero_grad()
        loss = F.mse_loss(model(x), y)
        rates.append(rate)
        losses.append(loss.item())
        if not loss.isfinite() or losses[-1] > 4 * min(losses):
            break
        loss.backward()
        torch.optim.SGD(model.parameters(), lr=rate).step()
    model.load_state_dict(saved)
    model.zero_grad()
    model.train()
    return rates, losses


diagnosis = {
    "run 1": "a milestone cut the rate",
    "run 2": "zero_grad forgotten",
    "run 3": "rate above the limit",
    "run 4": "rate too low",
    "run 5": "noise floor: the rate should fall now",
}


# %% wrong="infinite, but not nan" breaks="stop if this loss is not finite" says=["nan isn't finite"]
import math


def lr_range(model, x, y, lowest, highest, steps):
    before, rates, losses = {k: v.clone() for k, v in model.state_dict().items()}, [], []
    for k in range(steps):
        rate = lowest * (highest / lowest) ** (k / (steps - 1))
        loss = F.mse_loss(model(x), y)
        rates.append(rate)
        losses.append(loss.item())
        if math.isinf(losses[-1]) or losses[-1] > 4 * min(losses):
            break
        loss.backward()
        torch.optim.SGD(model.parameters(), lr=rate).step()
        model.zero_grad()
    model.load_state_dict(before)
    return rates, losses


diagnosis = {
    "run 1": "a milestone cut the rate",
    "run 2": "zero_grad forgotten",
    "run 3": "rate above the limit",
    "run 4": "rate too low",
    "run 5": "noise floor: the rate should fall now",
}


# %% wrong="all of it in training" says=["a part of it is in eval"]
import math


def lr_range(model, x, y, lowest, highest, steps):
    before, rates, losses = {k: v.clone() for k, v in model.state_dict().items()}, [], []
    for k in range(steps):
        rate = lowest * (highest / lowest) ** (k / (steps - 1))
        loss = F.mse_loss(model(x), y)
        rates.append(rate)
        losses.append(loss.item())
        if not loss.isfinite() or losses[-1] > 4 * min(losses):
            break
        loss.backward()
        torch.optim.SGD(model.parameters(), lr=rate).step()
        model.zero_grad()
    model.load_state_dict(before)
    model.train()
    return rates, losses


diagnosis = {
    "run 1": "a milestone cut the rate",
    "run 2": "zero_grad forgotten",
    "run 3": "rate above the limit",
    "run 4": "rate too low",
    "run 5": "noise floor: the rate should fall now",
}


# %% wrong="steps on what is frozen" breaks="perhaps with frozen parameters" says=["a frozen parameter has .grad None"]
import math


def lr_range(model, x, y, lowest, highest, steps):
    before, rates, losses = {k: v.clone() for k, v in model.state_dict().items()}, [], []
    for k in range(steps):
        rate = lowest * (highest / lowest) ** (k / (steps - 1))
        loss = F.mse_loss(model(x), y)
        rates.append(rate)
        losses.append(loss.item())
        if not loss.isfinite() or losses[-1] > 4 * min(losses):
            break
        loss.backward()

        with torch.no_grad():
            for p in model.parameters():
                p -= rate * p.grad
        model.zero_grad()
    model.load_state_dict(before)
    return rates, losses


diagnosis = {
    "run 1": "a milestone cut the rate",
    "run 2": "zero_grad forgotten",
    "run 3": "rate above the limit",
    "run 4": "rate too low",
    "run 5": "noise floor: the rate should fall now",
}


# %% wrong="thaws what is frozen" says=["requires_grad was changed"]
import math


def lr_range(model, x, y, lowest, highest, steps):
    model.requires_grad_(True)
    before, rates, losses = {k: v.clone() for k, v in model.state_dict().items()}, [], []
    for k in range(steps):
        rate = lowest * (highest / lowest) ** (k / (steps - 1))
        loss = F.mse_loss(model(x), y)
        rates.append(rate)
        losses.append(loss.item())
        if not loss.isfinite() or losses[-1] > 4 * min(losses):
            break
        loss.backward()
        torch.optim.SGD(model.parameters(), lr=rate).step()
        model.zero_grad()
    model.load_state_dict(before)
    return rates, losses


diagnosis = {
    "run 1": "a milestone cut the rate",
    "run 2": "zero_grad forgotten",
    "run 3": "rate above the limit",
    "run 4": "rate too low",
    "run 5": "noise floor: the rate should fall now",
}


# %% wrong="frozen set free" says=["a frozen parameter was trained"]
import copy
import math


def lr_range(model, x, y, lowest, highest, steps):
    model = copy.deepcopy(model)
    model.requires_grad_(True)
    optimizer = torch.optim.SGD(model.parameters(), lr=lowest)
    rates, losses = [], []
    for k in range(steps):
        rate = lowest * (highest / lowest) ** (k / (steps - 1))
        loss = F.mse_loss(model(x), y)
        rates.append(rate), losses.append(loss.item())
        if not loss.isfinite() or losses[-1] > 4 * min(losses):
            break
        optimizer.zero_grad()
        loss.backward()
        optimizer.param_groups[0]["lr"] = rate
        optimizer.step()
    return rates, losses


diagnosis = {
    "run 1": "a milestone cut the rate",
    "run 2": "zero_grad forgotten",
    "run 3": "rate above the limit",
    "run 4": "rate too low",
    "run 5": "noise floor: the rate should fall now",
}


# %% wrong="five times the smallest" says=["a loss of 4.41 times the smallest: the rates", "it exceeds four times the smallest loss: stop there"]
def lr_range(model, x, y, lowest, highest, steps):
    before, rates, losses = copy.deepcopy(model.state_dict()), [], []
    for k in range(steps):
        loss = F.mse_loss(model(x), y)
        rates.append(lowest * (highest / lowest) ** (k / (steps - 1)))
        losses.append(loss.item())
        if not loss.isfinite() or losses[-1] > 5 * min(losses):
            break
        loss.backward()
        torch.optim.SGD(model.parameters(), lr=rates[-1]).step()
        model.zero_grad()
    model.load_state_dict(before)
    return rates, losses


diagnosis = {
    "run 1": "a milestone cut the rate",
    "run 2": "zero_grad forgotten",
    "run 3": "rate above the limit",
    "run 4": "rate too low",
    "run 5": "noise floor: the rate should fall now",
}


# %% wrong="three times the smallest" says=["a loss of 3.61 times the smallest: the rates", "it stopped at less than four times the smallest loss"]
def lr_range(model, x, y, lowest, highest, steps):
    before, rates, losses = copy.deepcopy(model.state_dict()), [], []
    for k in range(steps):
        loss = F.mse_loss(model(x), y)
        rates.append(lowest * (highest / lowest) ** (k / (steps - 1)))
        losses.append(loss.item())
        if not loss.isfinite() or losses[-1] > 3 * min(losses):
            break
        loss.backward()
        torch.optim.SGD(model.parameters(), lr=rates[-1]).step()
        model.zero_grad()
    model.load_state_dict(before)
    return rates, losses


diagnosis = {
    "run 1": "a milestone cut the rate",
    "run 2": "zero_grad forgotten",
    "run 3": "rate above the limit",
    "run 4": "rate too low",
    "run 5": "noise floor: the rate should fall now",
}


# %% wrong="clears the model's hooks" says=["the hooks of the model are not those that were there before"]
def lr_range(model, x, y, lowest, highest, steps):
    before, rates, losses = copy.deepcopy(model.state_dict()), [], []
    for k in range(steps):
        loss = F.mse_loss(model(x), y)
        rates.append(lowest * (highest / lowest) ** (k / (steps - 1)))
        losses.append(loss.item())
        if not loss.isfinite() or losses[-1] > 4 * min(losses):
            break
        loss.backward()
        torch.optim.SGD(model.parameters(), lr=rates[-1]).step()
        model.zero_grad()
    model.load_state_dict(before)
    for part in model.modules():
        part._forward_hooks.clear()
    return rates, losses


diagnosis = {
    "run 1": "a milestone cut the rate",
    "run 2": "zero_grad forgotten",
    "run 3": "rate above the limit",
    "run 4": "rate too low",
    "run 5": "noise floor: the rate should fall now",
}


# %% wrong="sums of squares" says=["F.mse_loss takes the mean"]
import copy


def lr_range(model, x, y, lowest, highest, steps):
    model, rates, losses = copy.deepcopy(model), [], []
    for k in range(steps):
        rates.append(lowest * (highest / lowest) ** (k / (steps - 1)))
        loss = F.mse_loss(model(x), y, reduction="sum")
        losses.append(loss.item())
        if not loss.isfinite() or losses[-1] > 4 * min(losses):
            break
        model.zero_grad()
        loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                if p.grad is not None:
                    p -= rates[-1] * p.grad
    return rates, losses


diagnosis = {
    "run 1": "a milestone cut the rate",
    "run 2": "zero_grad forgotten",
    "run 3": "rate above the limit",
    "run 4": "rate too low",
    "run 5": "noise floor: the rate should fall now",
}


# %% wrong="empties the targets" breaks="`x` and `y` stay as they are" says=["x or y was changed"]
import copy


def lr_range(model, x, y, lowest, highest, steps):
    model, rates, losses = copy.deepcopy(model), [], []
    for k in range(steps):
        rates.append(lowest * (highest / lowest) ** (k / (steps - 1)))
        loss = F.mse_loss(model(x), y)
        losses.append(loss.item())
        if not loss.isfinite() or losses[-1] > 4 * min(losses):
            break
        model.zero_grad()
        loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                if p.grad is not None:
                    p -= rates[-1] * p.grad
    y.sub_(1)
    return rates, losses


diagnosis = {
    "run 1": "a milestone cut the rate",
    "run 2": "zero_grad forgotten",
    "run 3": "rate above the limit",
    "run 4": "rate too low",
    "run 5": "noise floor: the rate should fall now",
}


# %% wrong="the rate of the jump is missing" breaks="of equal length" says=["4 rates and 5 losses"]
def lr_range(model, x, y, lowest, highest, steps):
    import copy

    work = copy.deepcopy(model)
    rates, losses = [], []
    params = [p for p in work.parameters() if p.requires_grad]
    for i in range(steps):
        rate = lowest * (highest / lowest) ** (i / (steps - 1))
        with torch.enable_grad():
            loss = F.mse_loss(work(x), y)
            losses.append(loss.item())
            if len(losses) < 2 or losses[-1] <= 4 * min(losses):
                rates.append(rate)
            if not loss.isfinite() or losses[-1] > 4 * min(losses):
                break
            grads = torch.autograd.grad(loss, params, allow_unused=True)
        with torch.no_grad():
            for p, g in zip(params, grads):
                if g is not None:
                    p.sub_(rate * g)
    return rates, losses


diagnosis = {
    "run 1": "a milestone cut the rate",
    "run 2": "zero_grad forgotten",
    "run 3": "rate above the limit",
    "run 4": "rate too low",
    "run 5": "noise floor: the rate should fall now",
}


# %% wrong="with momentum, in a list of sums" says=["that is SGD with momentum"]
def lr_range(model, x, y, lowest, highest, steps):
    import copy
    import math

    kept = copy.deepcopy(model.state_dict())
    factor = (highest / lowest) ** (1 / (steps - 1))
    trained = [p for p in model.parameters() if p.requires_grad]
    rates, losses, sums = [], [], [torch.zeros_like(p) for p in trained]
    for step in range(steps):
        loss = F.mse_loss(model(x), y)
        rates.append(lowest * factor**step)
        losses.append(loss.item())
        if not math.isfinite(losses[-1]) or losses[-1] > 4 * min(losses):
            break
        gradients = torch.autograd.grad(loss, trained)
        with torch.no_grad():
            for p, g, s in zip(trained, gradients, sums):
                g = s.mul_(0.9).add_(g)
                p -= rates[-1] * g
    model.load_state_dict(kept)
    return rates, losses


diagnosis = {
    "run 1": "a milestone cut the rate",
    "run 2": "zero_grad forgotten",
    "run 3": "rate above the limit",
    "run 4": "rate too low",
    "run 5": "noise floor: the rate should fall now",
}


# %% wrong="the rate of the first step in all" says=["a slow climb: four times the smallest loss, not the one before: the losses", "each step was taken with the first rate"]
import copy
import math


def lr_range(model, x, y, lowest, highest, steps):
    kept = copy.deepcopy(model.state_dict())
    params = [p for p in model.parameters() if p.requires_grad]
    factor = (highest / lowest) ** (1 / (steps - 1))
    rates, losses = [], []
    for k in range(steps):
        loss = F.mse_loss(model(x), y)
        rates.append(lowest * factor**k)
        losses.append(loss.item())
        if not math.isfinite(losses[-1]) or losses[-1] > 4 * min(losses):
            break
        gradients = torch.autograd.grad(loss, params)
        with torch.no_grad():
            for p, g in zip(params, gradients):
                p -= rates[0] * g
    model.load_state_dict(kept)
    return rates, losses


diagnosis = {
    "run 1": "a milestone cut the rate",
    "run 2": "zero_grad forgotten",
    "run 3": "rate above the limit",
    "run 4": "rate too low",
    "run 5": "noise floor: the rate should fall now",
}


# %% wrong="frozen weights are asked for a gradient" says=["a frozen parameter has no gradient: ask those"]
import copy
import math


def lr_range(model, x, y, lowest, highest, steps):
    kept = copy.deepcopy(model.state_dict())
    params = [p for p in model.parameters()]
    factor = (highest / lowest) ** (1 / (steps - 1))
    rates, losses = [], []
    for k in range(steps):
        loss = F.mse_loss(model(x), y)
        rates.append(lowest * factor**k)
        losses.append(loss.item())
        if not math.isfinite(losses[-1]) or losses[-1] > 4 * min(losses):
            break
        gradients = torch.autograd.grad(loss, params)
        with torch.no_grad():
            for p, g in zip(params, gradients):
                p -= rates[-1] * g
    model.load_state_dict(kept)
    return rates, losses


diagnosis = {
    "run 1": "a milestone cut the rate",
    "run 2": "zero_grad forgotten",
    "run 3": "rate above the limit",
    "run 4": "rate too low",
    "run 5": "noise floor: the rate should fall now",
}


# %% wrong="a sum over the batch in the step" says=["the step is that of a sum over the batch"]
import copy
import math


def lr_range(model, x, y, lowest, highest, steps):
    kept = copy.deepcopy(model.state_dict())
    params = [p for p in model.parameters() if p.requires_grad]
    factor = (highest / lowest) ** (1 / (steps - 1))
    rates, losses = [], []
    for k in range(steps):
        loss = F.mse_loss(model(x), y)
        rates.append(lowest * factor**k)
        losses.append(loss.item())
        if not math.isfinite(losses[-1]) or losses[-1] > 4 * min(losses):
            break
        gradients = torch.autograd.grad(loss * len(x), params)
        with torch.no_grad():
            for p, g in zip(params, gradients):
                p -= rates[-1] * g
    model.load_state_dict(kept)
    return rates, losses


diagnosis = {
    "run 1": "a milestone cut the rate",
    "run 2": "zero_grad forgotten",
    "run 3": "rate above the limit",
    "run 4": "rate too low",
    "run 5": "noise floor: the rate should fall now",
}


# %% wrong="momentum in every step" says=["the loss jumps at the fifth: the losses", "that is SGD with momentum"]
import copy
import math


def lr_range(model, x, y, lowest, highest, steps):
    kept = copy.deepcopy(model.state_dict())
    params = [p for p in model.parameters() if p.requires_grad]
    factor = (highest / lowest) ** (1 / (steps - 1))
    rates, losses, velocity = [], [], [0] * len(params)
    for k in range(steps):
        loss = F.mse_loss(model(x), y)
        rates.append(lowest * factor**k)
        losses.append(loss.item())
        if not math.isfinite(losses[-1]) or losses[-1] > 4 * min(losses):
            break
        gradients = torch.autograd.grad(loss, params)
        with torch.no_grad():
            velocity = [0.9 * v + g for v, g in zip(velocity, gradients)]
            for p, v in zip(params, velocity):
                p -= rates[-1] * v
    model.load_state_dict(kept)
    return rates, losses


diagnosis = {
    "run 1": "a milestone cut the rate",
    "run 2": "zero_grad forgotten",
    "run 3": "rate above the limit",
    "run 4": "rate too low",
    "run 5": "noise floor: the rate should fall now",
}


# %% wrong="ends before it notes the loss" says=["a loss of 4.41 times the smallest: the rates: expected [1.55, 1.5748], got [1.55]: the rate and the loss that end the run are noted, too"]
import copy
import math


def lr_range(model, x, y, lowest, highest, steps):
    kept = copy.deepcopy(model.state_dict())
    params = [p for p in model.parameters() if p.requires_grad]
    factor = (highest / lowest) ** (1 / (steps - 1))
    rates, losses = [], []
    for k in range(steps):
        loss = F.mse_loss(model(x), y)
        if losses and (not loss.isfinite() or loss.item() > 4 * min(losses)):
            break
        rates.append(lowest * factor**k)
        losses.append(loss.item())
        gradients = torch.autograd.grad(loss, params)
        with torch.no_grad():
            for p, g in zip(params, gradients):
                p -= rates[-1] * g
    model.load_state_dict(kept)
    return rates, losses


diagnosis = {
    "run 1": "a milestone cut the rate",
    "run 2": "zero_grad forgotten",
    "run 3": "rate above the limit",
    "run 4": "rate too low",
    "run 5": "noise floor: the rate should fall now",
}


# %% wrong="takes at least three rates" says=["two rates"]
def lr_range(model, x, y, lowest, highest, steps):
    kept = {name: value.clone() for name, value in model.state_dict().items()}
    factor = (highest / lowest) ** (1 / (steps - 1))
    rates, losses = [], []
    for k in range(max(3, steps)):
        rate = lowest * factor**k
        loss = F.mse_loss(model(x), y)
        rates.append(rate)
        losses.append(loss.item())
        if not loss.isfinite() or losses[-1] > 4 * min(losses):
            break
        model.zero_grad()
        loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                if p.grad is not None:
                    p -= rate * p.grad
    model.zero_grad()
    model.load_state_dict(kept)
    return rates, losses


diagnosis = {
    "run 1": "a milestone cut the rate",
    "run 2": "zero_grad forgotten",
    "run 3": "rate above the limit",
    "run 4": "rate too low",
    "run 5": "noise floor: the rate should fall now",
}


# %% wrong="keeps the smallest of the last four losses" says=["a loss that climbs for sixteen steps"]
def lr_range(model, x, y, lowest, highest, steps):
    kept = {name: value.clone() for name, value in model.state_dict().items()}
    factor = (highest / lowest) ** (1 / (steps - 1))
    rates, losses = [], []
    for k in range(steps):
        rate = lowest * factor**k
        loss = F.mse_loss(model(x), y)
        rates.append(rate)
        losses.append(loss.item())
        if not loss.isfinite() or losses[-1] > 4 * min(losses[-4:]):
            break
        model.zero_grad()
        loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                if p.grad is not None:
                    p -= rate * p.grad
    model.zero_grad()
    model.load_state_dict(kept)
    return rates, losses


diagnosis = {
    "run 1": "a milestone cut the rate",
    "run 2": "zero_grad forgotten",
    "run 3": "rate above the limit",
    "run 4": "rate too low",
    "run 5": "noise floor: the rate should fall now",
}


# %% wrong="starts the smallest at 1" says=["losses above 1"]
def lr_range(model, x, y, lowest, highest, steps):
    kept = {name: value.clone() for name, value in model.state_dict().items()}
    factor = (highest / lowest) ** (1 / (steps - 1))
    rates, losses = [], []
    for k in range(steps):
        rate = lowest * factor**k
        loss = F.mse_loss(model(x), y)
        rates.append(rate)
        losses.append(loss.item())
        if not loss.isfinite() or losses[-1] > 4 * min([1.0, *losses]):
            break
        model.zero_grad()
        loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                if p.grad is not None:
                    p -= rate * p.grad
    model.zero_grad()
    model.load_state_dict(kept)
    return rates, losses


diagnosis = {
    "run 1": "a milestone cut the rate",
    "run 2": "zero_grad forgotten",
    "run 3": "rate above the limit",
    "run 4": "rate too low",
    "run 5": "noise floor: the rate should fall now",
}


# %% wrong="one column is all that it expects" says=["must match"]
def lr_range(model, x, y, lowest, highest, steps):
    import copy

    before = copy.deepcopy(model.state_dict())
    rates, losses = [], []
    factor = (highest / lowest) ** (1 / (steps - 1))
    for k in range(steps):
        rate = lowest * factor**k
        model.zero_grad()
        loss = (model(x) - y.view(-1, 1)).square().mean()
        rates.append(rate)
        losses.append(loss.item())
        if not math.isfinite(losses[-1]) or losses[-1] > 4 * min(losses):
            break
        loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                if p.grad is not None:
                    p -= rate * p.grad
    model.load_state_dict(before)
    model.zero_grad()
    return rates, losses


import math

diagnosis = {
    "run 1": "a milestone cut the rate",
    "run 2": "zero_grad forgotten",
    "run 3": "rate above the limit",
    "run 4": "rate too low",
    "run 5": "noise floor: the rate should fall now",
}


# %% wrong="writes into the buffers that it listed before the run" breaks="the same buffers" says=["forward may put a new tensor in a buffer's place"]
def lr_range(
    model: nn.Module, x: torch.Tensor, y: torch.Tensor, lowest: float, highest: float, steps: int
) -> tuple[list[float], list[float]]:
    tensors = [*model.parameters(), *model.buffers()]
    copies = [tensor.detach().clone() for tensor in tensors]
    rates, losses = [], []
    for k in range(steps):
        loss = F.mse_loss(model(x), y)
        rates.append(lowest * (highest / lowest) ** (k / (steps - 1)))
        losses.append(loss.item())
        if not loss.isfinite() or losses[-1] > 4 * min(losses):
            break
        loss.backward()
        torch.optim.SGD(model.parameters(), lr=rates[-1]).step()
        model.zero_grad()
    with torch.no_grad():
        for tensor, copied in zip(tensors, copies, strict=True):
            tensor.copy_(copied)
    return rates, losses


floor, cut = "noise floor: the rate should fall now", "a milestone cut the rate"
found = (cut, "zero_grad forgotten", "rate above the limit", "rate too low", floor)
diagnosis = {f"run {number}": words for number, words in enumerate(found, start=1)}


# %% wrong="the copy is in float32" breaks="to the last digit" says=["they were rounded, as in float32"]
import math


def lr_range(model, x, y, lowest, highest, steps):
    before = {name: value.float() for name, value in copy.deepcopy(model.state_dict()).items()}
    optimizer = torch.optim.SGD(model.parameters(), lr=lowest)
    rates, losses = [], []
    for i in range(steps):
        optimizer.param_groups[0]["lr"] = lowest * (highest / lowest) ** (i / (steps - 1))
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        rates.append(optimizer.param_groups[0]["lr"])
        losses.append(loss.item())
        if not math.isfinite(losses[-1]) or losses[-1] > 4 * min(losses):
            break
        loss.backward()
        optimizer.step()
    optimizer.zero_grad()
    model.load_state_dict(before)
    return rates, losses


diagnosis = {
    "run 1": "a milestone cut the rate",
    "run 2": "zero_grad forgotten",
    "run 3": "rate above the limit",
    "run 4": "rate too low",
    "run 5": "noise floor: the rate should fall now",
}


# %% wrong="all of it is put into training mode" breaks="note the rate and the loss, `F.mse_loss(model(x), y)`, before the step" says=["all of it was in training mode"]
import copy
import math


def lr_range(model, x, y, lowest, highest, steps):
    before = copy.deepcopy(model.state_dict())
    modes = {module: module.training for module in model.modules()}
    model.train()
    factor = (highest / lowest) ** (1 / (steps - 1))
    rates, losses = [], []
    for i in range(steps):
        lr = lowest * factor**i
        model.zero_grad()
        loss = F.mse_loss(model(x), y)
        rates.append(lr)
        losses.append(loss.item())
        if not math.isfinite(losses[-1]) or losses[-1] > 4 * min(losses):
            break
        loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                if p.grad is not None:
                    p -= lr * p.grad
    model.zero_grad()
    model.load_state_dict(before)
    for module, mode in modes.items():
        module.training = mode
    return rates, losses


diagnosis = {
    "run 1": "a milestone cut the rate",
    "run 2": "zero_grad forgotten",
    "run 3": "rate above the limit",
    "run 4": "rate too low",
    "run 5": "noise floor: the rate should fall now",
}


# %% wrong="copies into the buffers that there were" breaks="the same buffers" says=["forward may put a new tensor in a buffer's place"]
import numpy as np


def _losses(model, x, y, rates):
    for rate in rates:
        loss = F.mse_loss(model(x), y)
        yield loss.item()
        if not loss.requires_grad:
            continue
        loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                if p.grad is not None:
                    p.sub_(rate * p.grad)
                    p.grad = None


def lr_range(model, x, y, lowest, highest, steps):
    held = [*model.parameters(), *model.buffers()]
    copies = [tensor.detach().clone() for tensor in held]
    rates = [float(rate) for rate in np.geomspace(lowest, highest, steps)]
    losses = []
    for value in _losses(model, x.detach(), y.detach(), rates):
        losses.append(value)
        if not np.isfinite(value) or value > 4 * min(losses):
            break
    with torch.no_grad():
        for tensor, kept in zip(held, copies):
            tensor.copy_(kept)
    return rates[: len(losses)], losses


diagnosis = {
    "run 1": "a milestone cut the rate",
    "run 2": "zero_grad forgotten",
    "run 3": "rate above the limit",
    "run 4": "rate too low",
    "run 5": "noise floor: the rate should fall now",
}


# %% right="a context manager, and a scheduler for the rates"
import math
from contextlib import contextmanager


@contextmanager
def _borrowed(model):
    kept = {name: value.detach().clone() for name, value in model.state_dict().items()}
    try:
        yield
    finally:
        for p in model.parameters():
            p.grad = None
        model.load_state_dict(kept)


def lr_range(model, x, y, lowest, highest, steps):
    record = []
    with _borrowed(model):
        optimizer = torch.optim.SGD(model.parameters(), lr=float(lowest))
        factor = (highest / lowest) ** (1 / (steps - 1))
        growing = torch.optim.lr_scheduler.ExponentialLR(optimizer, factor)
        while len(record) < steps:
            optimizer.zero_grad()
            loss = F.mse_loss(model(x.detach()), y.detach())
            record.append((float(optimizer.param_groups[0]["lr"]), loss.item()))
            if not math.isfinite(record[-1][1]):
                break
            if record[-1][1] > 4 * min(value for _, value in record):
                break
            if loss.requires_grad:
                loss.backward()
            optimizer.step()
            growing.step()
    rates, losses = zip(*record)
    return list(rates), list(losses)


diagnosis = {
    "run 1": "a milestone cut the rate",
    "run 2": "zero_grad forgotten",
    "run 3": "rate above the limit",
    "run 4": "rate too low",
    "run 5": "noise floor: the rate should fall now",
}
