# %% [markdown]
# Rules:
#
# - "which fault a training has"
# - "all rows of `x` are equal"
# - "y is floating, and the model's output has another shape than y"
# - "the model ends in probabilities, though the loss is cross-entropy"
# - "every score is 0 for every input"
# - "some parameters get no gradient"
# - "the optimizer lacks some"
# - "clears the gradients before the optimizer uses them"
# - "all is right but the learning rate, which is far too small"
# - "its optimizer may have several groups, one of them slow on purpose"
#
# Admits:
#
# - "a healthy one may be a regression": healthy regression
# - "its optimizer may have several groups, one of them slow": healthy with a slow body

# %% wrong="by the curve alone" says=["softmax twice: it was taken for", "cut: it was taken for"]
def not_learning(patient):
    losses = [patient.step() for _ in range(60)]
    if losses[-1] < 0.3 * losses[0]:
        return "healthy"
    return "dead head" if losses[0] == losses[-1] else "rate"


# %% wrong="zero scores and small weights are one" says=["rate: it was taken for 'wiped'"]
def not_learning(patient):
    model, x, y = patient.model, patient.x, patient.y
    if (x == x[0]).all():
        return "same inputs"
    scores = model(x)
    if y.is_floating_point() and scores.shape != y.shape:
        return "broadcast"
    if not scores.any():
        return "dead head"
    if not y.is_floating_point() and torch.allclose(scores.sum(1), torch.ones_like(scores[:, 0])):
        return "softmax twice"
    patient.loss(scores, y).backward()
    if any(p.grad is None for p in model.parameters()):
        return "cut"
    held = {id(p) for p in patient.optimizer.param_groups[0]["params"]}
    if any(id(p) not in held for p in model.parameters()):
        return "not in the optimizer"
    before = [p.clone() for p in model.parameters()]
    patient.step()
    if all(torch.allclose(p, q) for p, q in zip(before, model.parameters(), strict=True)):
        return "wiped"
    return "healthy"


# %% wrong="a regression must have class scores" says=["healthy regression: it was taken for 'broadcast'"]
def not_learning(patient):
    model, x, y = patient.model, patient.x, patient.y
    if (x == x[0]).all():
        return "same inputs"
    scores = model(x)
    if y.is_floating_point():
        return "broadcast"
    if not scores.any():
        return "dead head"
    if torch.allclose(scores.sum(1), torch.ones_like(scores[:, 0])):
        return "softmax twice"
    patient.loss(scores, y).backward()
    if any(p.grad is None for p in model.parameters()):
        return "cut"
    held = {id(p) for p in patient.optimizer.param_groups[0]["params"]}
    if any(id(p) not in held for p in model.parameters()):
        return "not in the optimizer"
    patient.step()
    if all(p.grad is None for p in model.parameters()):
        return "wiped"
    return "rate" if patient.optimizer.param_groups[0]["lr"] < 1e-3 else "healthy"


# %% wrong="other words" breaks="which fault a training has" says=["expected one of same inputs, broadcast"]
def not_learning(patient):
    if not patient.model(patient.x).any():
        return "dead relu"
    return "fine"


# %% wrong="equal scores mean a dead head" says=["same inputs: it was taken for 'dead head'"]
def not_learning(patient):
    model, x, y = patient.model, patient.x, patient.y
    scores = model(x)
    if torch.allclose(scores.std(0), torch.zeros_like(scores[0]), atol=1e-5):
        return "dead head"
    if y.is_floating_point() and scores.shape != y.shape:
        return "broadcast"
    if not y.is_floating_point() and torch.allclose(scores.sum(1), torch.ones_like(scores[:, 0])):
        return "softmax twice"
    patient.loss(scores, y).backward()
    if any(p.grad is None for p in model.parameters()):
        return "cut"
    held = {id(p) for p in patient.optimizer.param_groups[0]["params"]}
    if any(id(p) not in held for p in model.parameters()):
        return "not in the optimizer"
    patient.step()
    if all(p.grad is None for p in model.parameters()):
        return "wiped"
    return "rate" if patient.optimizer.param_groups[0]["lr"] < 1e-3 else "healthy"


# %% right="by what moves"
def not_learning(patient):
    model, x, y = patient.model, patient.x, patient.y
    if x.unique(dim=0).shape[0] == 1:
        return "same inputs"
    with torch.no_grad():
        scores = model(x)
    if y.dtype == torch.float32:
        if scores.shape != y.shape:
            return "broadcast"
    elif scores.min() >= 0 and (scores.sum(1) - 1).abs().max() < 1e-4:
        return "softmax twice"
    if (scores == 0).all():
        return "dead head"
    names, params = zip(*model.named_parameters(), strict=True)
    grads = torch.autograd.grad(patient.loss(model(x), y), params, allow_unused=True)
    if None in [g if g is None else 0 for g in grads]:
        return "cut"
    groups = [p for group in patient.optimizer.param_groups for p in group["params"]]
    if not all(any(p is q for q in groups) for p in params):
        return "not in the optimizer"
    old = [p.detach().clone() for p in params]
    patient.step()
    moved = max((p - q).abs().max().item() for p, q in zip(params, old, strict=True))
    if moved == 0 and all(p.grad is None or p.grad.norm() == 0 for p in params):
        return "wiped"
    return "healthy" if moved > 1e-4 else "rate"


# %% right="watches a step from outside"
def not_learning(patient):
    x, y, model, optimizer = patient.x, patient.y, patient.model, patient.optimizer
    if (x.max(0).values == x.min(0).values).all():
        return "same inputs"
    out = model(x)
    if y.is_floating_point() and out.shape != y.shape:
        return "broadcast"
    if not y.is_floating_point() and ((out.sum(1) - 1).abs() < 1e-4).all() and out.min() >= 0:
        return "softmax twice"
    if float(out.abs().sum()) == 0.0:
        return "dead head"
    seen = []
    optimizer.register_step_pre_hook(
        lambda o, args, kwargs: seen.append(
            [p.grad is None or not p.grad.any() for p in model.parameters()]
        )
    )
    patient.loss(model(x), y).backward()
    if any(p.grad is None for p in model.parameters()):
        return "cut"
    if {p.data_ptr() for p in model.parameters()} != {
        p.data_ptr() for group in optimizer.param_groups for p in group["params"]
    }:
        return "not in the optimizer"
    patient.step()
    if all(seen[0]):
        return "wiped"
    return ("rate", "healthy")[max(group["lr"] for group in optimizer.param_groups) > 1e-3]


# %% wrong="wiped and rate by whether anything moves" breaks="all is right but the learning rate, which is far too small" says=["wiped: it was taken for 'cut'"]
def not_learning(patient: Patient) -> str:
    x, y, model = patient.x, patient.y, patient.model
    if (x == x[0]).all():
        return "same inputs"
    out = model(x)
    if y.is_floating_point() and out.shape != y.shape:
        return "broadcast"
    if isinstance(list(model.modules())[-1], nn.Softmax):
        return "softmax twice"
    if not out.any():
        return "dead head"
    old = [p.detach().clone() for p in model.parameters()]
    patient.step()
    if any(p.grad is None for p in model.parameters()):
        return "cut"
    held = [id(p) for p in patient.optimizer.param_groups[0]["params"]]
    if any(id(p) not in held for p in model.parameters()):
        return "not in the optimizer"
    moved = max((p - o).abs().max().item() for p, o in zip(model.parameters(), old))
    if moved < 1e-4:
        return "rate"
    return "healthy"


# %% right="by behaviour: train sixty steps and see"
def not_learning(patient: Patient) -> str:
    x, y = patient.x, patient.y
    if torch.equal(x, x[:1].expand_as(x)):
        return "same inputs"
    with torch.no_grad():
        s = patient.model(x)
    if y.dtype.is_floating_point and s.shape != y.shape:
        return "broadcast"
    if (
        not y.dtype.is_floating_point
        and torch.allclose(s.sum(1), s.new_ones(len(s)))
        and bool((s > -1e-9).all())
    ):
        return "softmax twice"
    if float(s.abs().sum()) == 0:
        return "dead head"
    first = patient.step()
    params = list(patient.model.parameters())
    if any(
        all(p is not q for g in patient.optimizer.param_groups for q in g["params"]) for p in params
    ):
        return "not in the optimizer"
    patient.loss(patient.model(x), y).backward()
    if any(p.grad is None for p in params):
        return "cut"
    patient.step()
    if all(p.grad is None or float(p.grad.abs().sum()) == 0 for p in params):
        return "wiped"
    for _ in range(58):
        last = patient.step()
    return "healthy" if last < first * 0.95 else "rate"


# %% wrong="compares two rows alone" breaks="all rows of `x` are equal" says=["healthy: it was taken for 'same inputs'"]
def not_learning(patient: Patient) -> str:
    """The fault of a training, as one of the words of the table."""
    model, x, y = patient.model, patient.x, patient.y
    if (x[0] == x[1]).any():
        return "same inputs"
    scores = model(x)
    if y.is_floating_point() and scores.shape != y.shape:
        return "broadcast"
    if not scores.any():
        return "dead head"
    sums = scores.sum(-1)
    if (
        not y.is_floating_point()
        and (scores >= 0).all()
        and torch.allclose(sums, sums.new_ones(()))
    ):
        return "softmax twice"
    patient.loss(scores, y).backward()
    if any(p.grad is None for p in model.parameters()):
        return "cut"
    held = {id(p) for group in patient.optimizer.param_groups for p in group["params"]}
    if any(id(p) not in held for p in model.parameters()):
        return "not in the optimizer"
    patient.step()
    if all(p.grad is None or not p.grad.any() for p in model.parameters()):
        return "wiped"
    return "rate" if patient.optimizer.param_groups[0]["lr"] < 1e-4 else "healthy"


# %% wrong="compares the number of dimensions" breaks="y is floating, and the model's output has another shape than y" says=["broadcast regression", "compare the whole shapes"]
def not_learning(patient: Patient) -> str:
    """The fault of a training, as one of the words of the table."""
    model, x, y = patient.model, patient.x, patient.y
    if (x == x[:1]).all():
        return "same inputs"
    scores = model(x)
    if y.is_floating_point() and scores.dim() != y.dim():
        return "broadcast"
    if not scores.any():
        return "dead head"
    sums = scores.sum(-1)
    if (
        not y.is_floating_point()
        and (scores >= 0).all()
        and torch.allclose(sums, sums.new_ones(()))
    ):
        return "softmax twice"
    patient.loss(scores, y).backward()
    if any(p.grad is None for p in model.parameters()):
        return "cut"
    held = {id(p) for group in patient.optimizer.param_groups for p in group["params"]}
    if any(id(p) not in held for p in model.parameters()):
        return "not in the optimizer"
    patient.step()
    if all(p.grad is None or not p.grad.any() for p in model.parameters()):
        return "wiped"
    return "rate" if patient.optimizer.param_groups[0]["lr"] < 1e-4 else "healthy"


# %% wrong="scores from 0 to 1 are probabilities" breaks="the model ends in probabilities, though the loss is cross-entropy" says=["healthy with scores from 0 to 1", "these don't"]
def not_learning(patient: Patient) -> str:
    """The fault of a training, as one of the words of the table."""
    model, x, y = patient.model, patient.x, patient.y
    if (x == x[:1]).all():
        return "same inputs"
    scores = model(x)
    if y.is_floating_point() and scores.shape != y.shape:
        return "broadcast"
    if not scores.any():
        return "dead head"
    if not y.is_floating_point() and (scores >= 0).all() and (scores <= 1).all():
        return "softmax twice"
    patient.loss(scores, y).backward()
    if any(p.grad is None for p in model.parameters()):
        return "cut"
    held = {id(p) for group in patient.optimizer.param_groups for p in group["params"]}
    if any(id(p) not in held for p in model.parameters()):
        return "not in the optimizer"
    patient.step()
    if all(p.grad is None or not p.grad.any() for p in model.parameters()):
        return "wiped"
    return "rate" if patient.optimizer.param_groups[0]["lr"] < 1e-4 else "healthy"


# %% wrong="a single score of 0" breaks="every score is 0 for every input" says=["healthy regression: it was taken for 'dead head'"]
def not_learning(patient: Patient) -> str:
    """The fault of a training, as one of the words of the table."""
    model, x, y = patient.model, patient.x, patient.y
    if (x == x[:1]).all():
        return "same inputs"
    scores = model(x)
    if y.is_floating_point() and scores.shape != y.shape:
        return "broadcast"
    if not scores.all():
        return "dead head"
    sums = scores.sum(-1)
    if (
        not y.is_floating_point()
        and (scores >= 0).all()
        and torch.allclose(sums, sums.new_ones(()))
    ):
        return "softmax twice"
    patient.loss(scores, y).backward()
    if any(p.grad is None for p in model.parameters()):
        return "cut"
    held = {id(p) for group in patient.optimizer.param_groups for p in group["params"]}
    if any(id(p) not in held for p in model.parameters()):
        return "not in the optimizer"
    patient.step()
    if all(p.grad is None or not p.grad.any() for p in model.parameters()):
        return "wiped"
    return "rate" if patient.optimizer.param_groups[0]["lr"] < 1e-4 else "healthy"


# %% wrong="the softmax by its class" says=["softmax twice with no layer of its own"]
def not_learning(patient):
    model, x, y = patient.model, patient.x, patient.y
    if (x == x[:1]).all():
        return "same inputs"
    scores = model(x)
    if y.is_floating_point() and scores.shape != y.shape:
        return "broadcast"
    if not scores.any():
        return "dead head"
    if not y.is_floating_point() and isinstance(model[-1], nn.Softmax):
        return "softmax twice"
    patient.loss(scores, y).backward()
    if any(p.grad is None for p in model.parameters()):
        return "cut"
    held = {id(p) for g in patient.optimizer.param_groups for p in g["params"]}
    if any(id(p) not in held for p in model.parameters()):
        return "not in the optimizer"
    patient.step()
    if all(p.grad is None or not p.grad.any() for p in model.parameters()):
        return "wiped"
    return "rate" if patient.optimizer.param_groups[0]["lr"] < 1e-4 else "healthy"


# %% wrong="the dead head by its class" says=["healthy with a ReLU at its end"]
def not_learning(patient):
    model, x, y = patient.model, patient.x, patient.y
    if (x == x[:1]).all():
        return "same inputs"
    scores = model(x)
    if y.is_floating_point() and scores.shape != y.shape:
        return "broadcast"
    if isinstance(model[-1], nn.ReLU):
        return "dead head"
    if (
        not y.is_floating_point()
        and (scores >= 0).all()
        and torch.allclose(scores.sum(-1), torch.ones_like(scores[:, 0]))
    ):
        return "softmax twice"
    patient.loss(scores, y).backward()
    if any(p.grad is None for p in model.parameters()):
        return "cut"
    held = {id(p) for g in patient.optimizer.param_groups for p in g["params"]}
    if any(id(p) not in held for p in model.parameters()):
        return "not in the optimizer"
    patient.step()
    if all(p.grad is None or not p.grad.any() for p in model.parameters()):
        return "wiped"
    return "rate" if patient.optimizer.param_groups[0]["lr"] < 1e-4 else "healthy"


# %% wrong="a gradient of 0 is none" breaks="some parameters get no gradient" says=["healthy with a head that starts at 0", "but it is there"]
def not_learning(patient):
    model, x, y = patient.model, patient.x, patient.y
    if (x == x[:1]).all():
        return "same inputs"
    scores = model(x)
    if y.is_floating_point() and scores.shape != y.shape:
        return "broadcast"
    if not scores.any():
        return "dead head"
    if (
        not y.is_floating_point()
        and (scores >= 0).all()
        and torch.allclose(scores.sum(-1), torch.ones_like(scores[:, 0]))
    ):
        return "softmax twice"
    patient.loss(scores, y).backward()
    if any(p.grad is None or not p.grad.any() for p in model.parameters()):
        return "cut"
    held = {id(p) for g in patient.optimizer.param_groups for p in g["params"]}
    if any(id(p) not in held for p in model.parameters()):
        return "not in the optimizer"
    patient.step()
    if all(p.grad is None or not p.grad.any() for p in model.parameters()):
        return "wiped"
    return "rate" if patient.optimizer.param_groups[0]["lr"] < 1e-4 else "healthy"


# %% wrong="the optimizer holds one of them" breaks="the optimizer lacks some" says=["not in the optimizer with a new head"]
def not_learning(patient):
    model, x, y = patient.model, patient.x, patient.y
    if (x == x[:1]).all():
        return "same inputs"
    scores = model(x)
    if y.is_floating_point() and scores.shape != y.shape:
        return "broadcast"
    if not scores.any():
        return "dead head"
    if (
        not y.is_floating_point()
        and (scores >= 0).all()
        and torch.allclose(scores.sum(-1), torch.ones_like(scores[:, 0]))
    ):
        return "softmax twice"
    patient.loss(scores, y).backward()
    if any(p.grad is None for p in model.parameters()):
        return "cut"
    held = {id(p) for g in patient.optimizer.param_groups for p in g["params"]}
    if all(id(p) not in held for p in model.parameters()):
        return "not in the optimizer"
    patient.step()
    if all(p.grad is None or not p.grad.any() for p in model.parameters()):
        return "wiped"
    return "rate" if patient.optimizer.param_groups[0]["lr"] < 1e-4 else "healthy"


# %% wrong="one column with little spread" says=["healthy with constant features"]
def not_learning(patient):
    model, x, y = patient.model, patient.x, patient.y
    if (x.std(0) < 0.9).any():
        return "same inputs"
    scores = model(x)
    if y.is_floating_point() and scores.shape != y.shape:
        return "broadcast"
    if not scores.any():
        return "dead head"
    if (
        not y.is_floating_point()
        and (scores >= 0).all()
        and torch.allclose(scores.sum(-1), torch.ones_like(scores[:, 0]))
    ):
        return "softmax twice"
    patient.loss(scores, y).backward()
    if any(p.grad is None for p in model.parameters()):
        return "cut"
    held = {id(p) for g in patient.optimizer.param_groups for p in g["params"]}
    if any(id(p) not in held for p in model.parameters()):
        return "not in the optimizer"
    patient.step()
    if all(p.grad is None or not p.grad.any() for p in model.parameters()):
        return "wiped"
    return "rate" if patient.optimizer.param_groups[0]["lr"] < 1e-4 else "healthy"


# %% wrong="wiped means None" breaks="clears the gradients before the optimizer uses them" says=["wiped with zeros left"]
def not_learning(patient):
    model, x, y = patient.model, patient.x, patient.y
    if (x == x[:1]).all():
        return "same inputs"
    scores = model(x)
    if y.is_floating_point() and scores.shape != y.shape:
        return "broadcast"
    if not scores.any():
        return "dead head"
    if (
        not y.is_floating_point()
        and (scores >= 0).all()
        and torch.allclose(scores.sum(-1), torch.ones_like(scores[:, 0]))
    ):
        return "softmax twice"
    patient.loss(scores, y).backward()
    if any(p.grad is None for p in model.parameters()):
        return "cut"
    held = {id(p) for g in patient.optimizer.param_groups for p in g["params"]}
    if any(id(p) not in held for p in model.parameters()):
        return "not in the optimizer"
    patient.step()
    if all(p.grad is None for p in model.parameters()):
        return "wiped"
    return "rate" if patient.optimizer.param_groups[0]["lr"] < 1e-4 else "healthy"


# %% wrong="wiped and rate by the loss" says=["rate with nothing that moves"]
def not_learning(patient):
    model, x, y = patient.model, patient.x, patient.y
    if (x == x[:1]).all():
        return "same inputs"
    scores = model(x)
    if y.is_floating_point() and scores.shape != y.shape:
        return "broadcast"
    if not scores.any():
        return "dead head"
    if (
        not y.is_floating_point()
        and (scores >= 0).all()
        and torch.allclose(scores.sum(-1), torch.ones_like(scores[:, 0]))
    ):
        return "softmax twice"
    patient.loss(scores, y).backward()
    if any(p.grad is None for p in model.parameters()):
        return "cut"
    held = {id(p) for g in patient.optimizer.param_groups for p in g["params"]}
    if any(id(p) not in held for p in model.parameters()):
        return "not in the optimizer"
    a = patient.step()
    b = patient.step()
    if a == b:
        return "wiped"
    if all(p.grad is None or not p.grad.any() for p in model.parameters()):
        return "wiped"
    return "rate" if patient.optimizer.param_groups[0]["lr"] < 1e-4 else "healthy"


# %% right="measures how far a step goes"
def not_learning(patient):
    m, x, y = patient.model, patient.x, patient.y
    if float((x - x[0]).abs().max()) == 0:
        return "same inputs"
    with torch.no_grad():
        s = m(x)
    if torch.is_floating_point(y):
        if s.size() != y.size():
            return "broadcast"
    elif s.min() >= 0 and (s.sum(1) - 1).abs().max() < 1e-4:
        return "softmax twice"
    if s.abs().max() == 0:
        return "dead head"
    m.zero_grad(set_to_none=True)
    patient.loss(m(x), y).backward()
    ps = list(m.parameters())
    if [p for p in ps if p.grad is None]:
        return "cut"
    mine = [q for g in patient.optimizer.param_groups for q in g["params"]]
    if not all(any(p is q for q in mine) for p in ps):
        return "not in the optimizer"
    old = [p.detach().clone() for p in ps]
    patient.step()
    if not any(p.grad is not None and p.grad.abs().sum() > 0 for p in ps):
        return "wiped"
    far = max(
        float((p.detach() - o).abs().max() / (p.grad.abs().max() + 1e-12)) for p, o in zip(ps, old)
    )
    return "rate" if far < 1e-3 else "healthy"


# %% wrong="sums of 1 are probabilities" says=["some of its scores are below 0"]
def not_learning(patient):
    x, y, model, optimizer = patient.x, patient.y, patient.model, patient.optimizer
    if (x == x[0]).all():
        return "same inputs"
    scores = model(x)
    if y.is_floating_point():
        if scores.shape != y.shape:
            return "broadcast"
    elif torch.allclose(scores.sum(1), torch.ones(len(x)).to(scores)):
        return "softmax twice"
    if (scores == 0).all():
        return "dead head"
    for p in model.parameters():
        p.grad = None
    patient.loss(scores, y).backward()
    if any(p.grad is None for p in model.parameters()):
        return "cut"
    held = {id(p) for g in optimizer.param_groups for p in g["params"]}
    if any(id(p) not in held for p in model.parameters()):
        return "not in the optimizer"
    before = [p.detach().clone() for p in model.parameters()]
    patient.step()
    if all(p.grad is None or not p.grad.any() for p in model.parameters()):
        return "wiped"
    moved = max(
        float((p.detach() - b).norm() / b.norm().clamp(min=1e-12))
        for p, b in zip(model.parameters(), before)
    )
    return "rate" if moved < 1e-5 else "healthy"


# %% wrong="compares parameters by their numbers" says=["it holds equal numbers in other tensors"]
def not_learning(patient):
    x, y, model, optimizer = patient.x, patient.y, patient.model, patient.optimizer
    if (x == x[0]).all():
        return "same inputs"
    scores = model(x)
    if y.is_floating_point():
        if scores.shape != y.shape:
            return "broadcast"
    elif (scores >= 0).all() and torch.allclose(scores.sum(1), torch.ones(len(x)).to(scores)):
        return "softmax twice"
    if (scores == 0).all():
        return "dead head"
    for p in model.parameters():
        p.grad = None
    patient.loss(scores, y).backward()
    if any(p.grad is None for p in model.parameters()):
        return "cut"
    if any(
        not any(
            p.shape == q.shape and (p == q).all()
            for g in optimizer.param_groups
            for q in g["params"]
        )
        for p in model.parameters()
    ):
        return "not in the optimizer"
    before = [p.detach().clone() for p in model.parameters()]
    patient.step()
    if all(p.grad is None or not p.grad.any() for p in model.parameters()):
        return "wiped"
    moved = max(
        float((p.detach() - b).norm() / b.norm().clamp(min=1e-12))
        for p, b in zip(model.parameters(), before)
    )
    return "rate" if moved < 1e-5 else "healthy"


# %% wrong="probabilities are always wrong" says=["healthy with shares for targets", "its loss is no cross-entropy"]
def not_learning(patient):
    model, x, y = patient.model, patient.x, patient.y
    if (x == x[:1]).all():
        return "same inputs"
    scores = model(x)
    if y.is_floating_point() and scores.shape != y.shape:
        return "broadcast"
    if not scores.any():
        return "dead head"
    rows = scores.sum(-1)
    if (scores >= 0).all() and torch.allclose(rows, torch.ones_like(rows)):
        return "softmax twice"
    patient.loss(scores, y).backward()
    if any(p.grad is None for p in model.parameters()):
        return "cut"
    held = {id(p) for group in patient.optimizer.param_groups for p in group["params"]}
    if any(id(p) not in held for p in model.parameters()):
        return "not in the optimizer"
    patient.step()
    if all(p.grad is None or not p.grad.any() for p in model.parameters()):
        return "wiped"
    return "rate" if patient.optimizer.param_groups[0]["lr"] < 1e-4 else "healthy"


# %% wrong="a single gradient of 0 is wiped" says=["healthy with units that are off", "some gradients are 0, and others aren't"]
def not_learning(patient):
    model, x, y = patient.model, patient.x, patient.y
    if (x == x[:1]).all():
        return "same inputs"
    scores = model(x)
    if y.is_floating_point() and scores.shape != y.shape:
        return "broadcast"
    if not scores.any():
        return "dead head"
    rows = scores.sum(-1)
    if (
        not y.is_floating_point()
        and (scores >= 0).all()
        and torch.allclose(rows, torch.ones_like(rows))
    ):
        return "softmax twice"
    patient.loss(scores, y).backward()
    if any(p.grad is None for p in model.parameters()):
        return "cut"
    held = {id(p) for group in patient.optimizer.param_groups for p in group["params"]}
    if any(id(p) not in held for p in model.parameters()):
        return "not in the optimizer"
    patient.step()
    if all(p.grad is None or (p.grad == 0).any() for p in model.parameters()):
        return "wiped"
    return "rate" if patient.optimizer.param_groups[0]["lr"] < 1e-4 else "healthy"


# %% wrong="reads the rate, and takes one below 0.01 for too small" says=["healthy with a rate of 0.009", "Adam's steps are as long as its rate"]
def not_learning(patient):
    model, x, y = patient.model, patient.x, patient.y
    if (x == x[0]).all():
        return "same inputs"
    scores = model(x)
    if y.is_floating_point() and scores.shape != y.shape:
        return "broadcast"
    sums = scores.sum(-1)
    if not y.is_floating_point() and scores.min() >= 0 and (sums - 1).abs().max() < 1e-4:
        return "softmax twice"
    if not scores.any():
        return "dead head"
    parameters = list(model.parameters())
    patient.loss(scores, y).backward()
    if any(p.grad is None for p in parameters):
        return "cut"
    held = {id(p) for group in patient.optimizer.param_groups for p in group["params"]}
    if any(id(p) not in held for p in parameters):
        return "not in the optimizer"
    patient.step()
    if all(p.grad is None or not p.grad.any() for p in parameters):
        return "wiped"
    return "rate" if patient.optimizer.param_groups[0]["lr"] < 0.01 else "healthy"


# %% wrong="compares the first two rows alone" says=["it was taken for 'same inputs'", "not all rows of x are equal"]
def not_learning(patient):
    x, y = patient.x, patient.y
    if torch.equal(x[0], x[1]):
        return "same inputs"
    scores = patient.model(x)
    if scores.shape != y.shape:
        return "broadcast"
    return "healthy"


# %% wrong="compares the shapes of class labels as well" says=["it was taken for 'broadcast'", "its y is of integers"]
def not_learning(patient):
    x, y = patient.x, patient.y
    if (x == x[0]).all():
        return "same inputs"
    if patient.model(x).shape != y.shape:
        return "broadcast"
    return "healthy"


# %% wrong="asks the first group of the optimizer alone" breaks="its optimizer may have several groups, one of them slow on purpose" says=["healthy with a slow head", "only one of them is slow"]
def not_learning(patient):
    model, x, y = patient.model, patient.x, patient.y
    if (x == x[:1]).all():
        return "same inputs"
    scores = model(x)
    if y.is_floating_point() and scores.shape != y.shape:
        return "broadcast"
    if not scores.any():
        return "dead head"
    if (
        not y.is_floating_point()
        and (scores >= 0).all()
        and torch.allclose(scores.sum(-1), torch.ones_like(scores[:, 0]))
    ):
        return "softmax twice"
    patient.loss(scores, y).backward()
    if any(p.grad is None for p in model.parameters()):
        return "cut"
    held = {id(p) for p in patient.optimizer.param_groups[0]["params"]}
    if any(id(p) not in held for p in model.parameters()):
        return "not in the optimizer"
    patient.step()
    if all(p.grad is None or not p.grad.any() for p in model.parameters()):
        return "wiped"
    return "rate" if patient.optimizer.param_groups[0]["lr"] < 1e-4 else "healthy"


# %% wrong="the rate of the first group alone" breaks="its optimizer may have several groups, one of them slow on purpose" says=["healthy with a slow body: it was taken for 'rate'", "only one of them is slow"]
def not_learning(patient):
    model, x, y = patient.model, patient.x, patient.y
    if (x == x[:1]).all():
        return "same inputs"
    scores = model(x)
    if y.is_floating_point() and scores.shape != y.shape:
        return "broadcast"
    if not scores.any():
        return "dead head"
    if (
        not y.is_floating_point()
        and (scores >= 0).all()
        and torch.allclose(scores.sum(-1), torch.ones_like(scores[:, 0]))
    ):
        return "softmax twice"
    patient.loss(scores, y).backward()
    if any(p.grad is None for p in model.parameters()):
        return "cut"
    held = {id(p) for group in patient.optimizer.param_groups for p in group["params"]}
    if any(id(p) not in held for p in model.parameters()):
        return "not in the optimizer"
    patient.step()
    if all(p.grad is None or not p.grad.any() for p in model.parameters()):
        return "wiped"
    return "rate" if patient.optimizer.param_groups[0]["lr"] < 1e-4 else "healthy"


# %% wrong="the rate of the last group alone" breaks="its optimizer may have several groups, one of them slow on purpose" says=["healthy with a slow head: it was taken for 'rate'", "only one of them is slow"]
def not_learning(patient):
    model, x, y = patient.model, patient.x, patient.y
    if (x == x[:1]).all():
        return "same inputs"
    scores = model(x)
    if y.is_floating_point() and scores.shape != y.shape:
        return "broadcast"
    if not scores.any():
        return "dead head"
    if (
        not y.is_floating_point()
        and (scores >= 0).all()
        and torch.allclose(scores.sum(-1), torch.ones_like(scores[:, 0]))
    ):
        return "softmax twice"
    patient.loss(scores, y).backward()
    if any(p.grad is None for p in model.parameters()):
        return "cut"
    held = {id(p) for group in patient.optimizer.param_groups for p in group["params"]}
    if any(id(p) not in held for p in model.parameters()):
        return "not in the optimizer"
    patient.step()
    if all(p.grad is None or not p.grad.any() for p in model.parameters()):
        return "wiped"
    return "rate" if patient.optimizer.param_groups[-1]["lr"] < 1e-4 else "healthy"


# %% wrong="the first row against the last" says=["it was taken for 'same inputs'"]
def not_learning(patient):
    x, y, model, optimizer = patient.x, patient.y, patient.model, patient.optimizer
    if torch.equal(x[0], x[-1]):
        return "same inputs"
    scores = model(x)
    if y.is_floating_point() and scores.shape != y.shape:
        return "broadcast"
    sums = scores.sum(-1)
    if not y.is_floating_point() and (scores >= 0).all() and (sums - 1).abs().max() < 1e-4:
        return "softmax twice"
    if not scores.any():
        return "dead head"
    for p in model.parameters():
        p.grad = None
    patient.loss(scores, y).backward()
    if any(p.grad is None for p in model.parameters()):
        return "cut"
    held = {id(p) for group in optimizer.param_groups for p in group["params"]}
    if any(id(p) not in held for p in model.parameters()):
        return "not in the optimizer"
    before = [p.detach().clone() for p in model.parameters()]
    patient.step()
    if all(p.grad is None or not p.grad.any() for p in model.parameters()):
        return "wiped"
    moved = max((p - old).abs().max().item() for p, old in zip(model.parameters(), before))
    return "rate" if moved < 1e-5 else "healthy"


# %% wrong="the scores of the first point alone" says=["healthy regression: it was taken for 'dead head'"]
def not_learning(patient):
    x, y, model, optimizer = patient.x, patient.y, patient.model, patient.optimizer
    if (x == x[0]).all():
        return "same inputs"
    scores = model(x)
    if y.is_floating_point() and scores.shape != y.shape:
        return "broadcast"
    sums = scores.sum(-1)
    if not y.is_floating_point() and (scores >= 0).all() and (sums - 1).abs().max() < 1e-4:
        return "softmax twice"
    if not scores[0].any():
        return "dead head"
    for p in model.parameters():
        p.grad = None
    patient.loss(scores, y).backward()
    if any(p.grad is None for p in model.parameters()):
        return "cut"
    held = {id(p) for group in optimizer.param_groups for p in group["params"]}
    if any(id(p) not in held for p in model.parameters()):
        return "not in the optimizer"
    before = [p.detach().clone() for p in model.parameters()]
    patient.step()
    if all(p.grad is None or not p.grad.any() for p in model.parameters()):
        return "wiped"
    moved = max((p - old).abs().max().item() for p, old in zip(model.parameters(), before))
    return "rate" if moved < 1e-5 else "healthy"


# %% wrong="cut is asked of the first parameter" says=["cut with a branch beside", "side has None"]
def not_learning(patient):
    x, y, model, optimizer = patient.x, patient.y, patient.model, patient.optimizer
    if (x == x[0]).all():
        return "same inputs"
    scores = model(x)
    if y.is_floating_point() and scores.shape != y.shape:
        return "broadcast"
    sums = scores.sum(-1)
    if not y.is_floating_point() and (scores >= 0).all() and (sums - 1).abs().max() < 1e-4:
        return "softmax twice"
    if not scores.any():
        return "dead head"
    for p in model.parameters():
        p.grad = None
    patient.loss(scores, y).backward()
    if next(model.parameters()).grad is None:
        return "cut"
    held = {id(p) for group in optimizer.param_groups for p in group["params"]}
    if any(id(p) not in held for p in model.parameters()):
        return "not in the optimizer"
    before = [p.detach().clone() for p in model.parameters()]
    patient.step()
    if all(p.grad is None or not p.grad.any() for p in model.parameters()):
        return "wiped"
    moved = max((p - old).abs().max().item() for p, old in zip(model.parameters(), before))
    return "rate" if moved < 1e-5 else "healthy"


# %% wrong="the rate of the defaults" says=["rate with a group of its own", "defaults has another, not used"]
def not_learning(patient):
    x, y, model, optimizer = patient.x, patient.y, patient.model, patient.optimizer
    if (x == x[0]).all():
        return "same inputs"
    scores = model(x)
    if y.is_floating_point() and scores.shape != y.shape:
        return "broadcast"
    sums = scores.sum(-1)
    if not y.is_floating_point() and (scores >= 0).all() and (sums - 1).abs().max() < 1e-4:
        return "softmax twice"
    if not scores.any():
        return "dead head"
    for p in model.parameters():
        p.grad = None
    patient.loss(scores, y).backward()
    if any(p.grad is None for p in model.parameters()):
        return "cut"
    held = {id(p) for group in optimizer.param_groups for p in group["params"]}
    if any(id(p) not in held for p in model.parameters()):
        return "not in the optimizer"
    patient.step()
    if all(p.grad is None or not p.grad.any() for p in model.parameters()):
        return "wiped"
    return "rate" if optimizer.defaults["lr"] < 1e-5 else "healthy"


# %% wrong="a probability is above 0" says=["softmax twice with probabilities of 0","some round to 0"]
def not_learning(patient):
    x, y, model, optimizer = patient.x, patient.y, patient.model, patient.optimizer
    if (x == x[0]).all():
        return "same inputs"
    scores = model(x)
    if y.is_floating_point() and scores.shape != y.shape:
        return "broadcast"
    sums = scores.sum(-1)
    if not y.is_floating_point() and (scores > 0).all() and (sums - 1).abs().max() < 1e-4:
        return "softmax twice"
    if not scores.any():
        return "dead head"
    for p in model.parameters():
        p.grad = None
    patient.loss(scores, y).backward()
    if any(p.grad is None for p in model.parameters()):
        return "cut"
    held = {id(p) for group in optimizer.param_groups for p in group["params"]}
    if any(id(p) not in held for p in model.parameters()):
        return "not in the optimizer"
    before = [p.detach().clone() for p in model.parameters()]
    patient.step()
    if all(p.grad is None or not p.grad.any() for p in model.parameters()):
        return "wiped"
    moved = max((p - old).abs().max().item() for p, old in zip(model.parameters(), before))
    return "rate" if moved < 1e-5 else "healthy"


# %% wrong="the last parameter isn't looked for" says=["with all but the last bias","a single parameter is not in it"]
def not_learning(patient):
    x, y, model, optimizer = patient.x, patient.y, patient.model, patient.optimizer
    if (x == x[0]).all():
        return "same inputs"
    scores = model(x)
    if y.is_floating_point() and scores.shape != y.shape:
        return "broadcast"
    sums = scores.sum(-1)
    if not y.is_floating_point() and (scores >= 0).all() and (sums - 1).abs().max() < 1e-4:
        return "softmax twice"
    if not scores.any():
        return "dead head"
    for p in model.parameters():
        p.grad = None
    patient.loss(scores, y).backward()
    if any(p.grad is None for p in model.parameters()):
        return "cut"
    held = {id(p) for group in optimizer.param_groups for p in group["params"]}
    if any(id(p) not in held for p in [*model.parameters()][:-1]):
        return "not in the optimizer"
    before = [p.detach().clone() for p in model.parameters()]
    patient.step()
    if all(p.grad is None or not p.grad.any() for p in model.parameters()):
        return "wiped"
    moved = max((p - old).abs().max().item() for p, old in zip(model.parameters(), before))
    return "rate" if moved < 1e-5 else "healthy"


# %% wrong="the first column alone" says=["healthy with constant features", "compare whole rows"]
def not_learning(patient):
    model, optimizer, x, y = patient.model, patient.optimizer, patient.x, patient.y
    if bool((x[:, 0] == x[0, 0]).all()):
        return "same inputs"
    scores = model(x)
    if y.is_floating_point():
        if scores.shape != y.shape:
            return "broadcast"
    elif bool((scores >= 0).all()) and torch.allclose(scores.sum(1), torch.ones(len(x))):
        return "softmax twice"
    if not scores.any():
        return "dead head"
    parameters = list(model.parameters())
    for p in parameters:
        p.grad = None
    patient.loss(scores, y).backward()
    if any(p.grad is None for p in parameters):
        return "cut"
    held = {id(p) for group in optimizer.param_groups for p in group["params"]}
    if any(id(p) not in held for p in parameters):
        return "not in the optimizer"
    before = [p.detach().clone() for p in parameters]
    patient.step()
    moved = max((p.detach() - old).abs().max().item() for p, old in zip(parameters, before))
    if moved == 0 and all(p.grad is None or not p.grad.any() for p in parameters):
        return "wiped"
    if moved < 1e-4:
        return "rate"
    return "healthy"


# %% wrong="output of fewer dimensions fits" says=["model(x) is (96,), y is (96, 1)"]
def not_learning(patient):
    model, optimizer, x, y = patient.model, patient.optimizer, patient.x, patient.y
    if (x == x[:1]).all():
        return "same inputs"
    scores = model(x)
    if y.is_floating_point():
        if scores.ndim > y.ndim or scores.shape[-1:] != y.shape[-1:] and scores.ndim == y.ndim:
            return "broadcast"
    elif (scores >= 0).all() and torch.allclose(scores.sum(1), torch.ones(len(x)), atol=1e-4):
        return "softmax twice"
    if not scores.any():
        return "dead head"
    for parameter in model.parameters():
        parameter.grad = None
    patient.loss(scores, y).backward()
    parameters = list(model.parameters())
    if any(p.grad is None for p in parameters):
        return "cut"
    held = {id(p) for group in optimizer.param_groups for p in group["params"]}
    if any(id(p) not in held for p in parameters):
        return "not in the optimizer"
    patient.step()
    if all(p.grad is None or not p.grad.any() for p in parameters):
        return "wiped"
    if max(group["lr"] for group in optimizer.param_groups) < 1e-4:
        return "rate"
    return "healthy"


# %% wrong="dead head asked of classes only" says=["in a regression, too, all are 0"]
def not_learning(patient):
    model, optimizer, x, y = patient.model, patient.optimizer, patient.x, patient.y
    if (x == x[:1]).all():
        return "same inputs"
    scores = model(x)
    if y.is_floating_point():
        if scores.shape != y.shape:
            return "broadcast"
    elif (scores >= 0).all() and torch.allclose(scores.sum(1), torch.ones(len(x)), atol=1e-4):
        return "softmax twice"
    if not y.is_floating_point() and not scores.any():
        return "dead head"
    for parameter in model.parameters():
        parameter.grad = None
    patient.loss(scores, y).backward()
    parameters = list(model.parameters())
    if any(p.grad is None for p in parameters):
        return "cut"
    held = {id(p) for group in optimizer.param_groups for p in group["params"]}
    if any(id(p) not in held for p in parameters):
        return "not in the optimizer"
    patient.step()
    if all(p.grad is None or not p.grad.any() for p in parameters):
        return "wiped"
    if max(group["lr"] for group in optimizer.param_groups) < 1e-4:
        return "rate"
    return "healthy"


# %% wrong="rate by SGD's step: rate times gradient" says=["rate with Adam"]
def not_learning(patient):
    model, optimizer, x, y = patient.model, patient.optimizer, patient.x, patient.y
    if (x == x[:1]).all():
        return "same inputs"
    scores = model(x)
    if y.is_floating_point():
        if scores.shape != y.shape:
            return "broadcast"
    elif (scores >= 0).all() and torch.allclose(scores.sum(1), torch.ones(len(x)), atol=1e-4):
        return "softmax twice"
    if not scores.any():
        return "dead head"
    for parameter in model.parameters():
        parameter.grad = None
    patient.loss(scores, y).backward()
    parameters = list(model.parameters())
    if any(p.grad is None for p in parameters):
        return "cut"
    held = {id(p) for group in optimizer.param_groups for p in group["params"]}
    if any(id(p) not in held for p in parameters):
        return "not in the optimizer"
    patient.step()
    if all(p.grad is None or not p.grad.any() for p in parameters):
        return "wiped"
    if (
        max(
            g["lr"] * p.grad.abs().max().item() for g in optimizer.param_groups for p in g["params"]
        )
        < 1e-8
    ):
        return "rate"
    return "healthy"


# %% wrong="a spread of exactly zero" says=["same inputs with one feature", "a mean or a std of them is rounded"]
def not_learning(patient):
    x, y, model = patient.x, patient.y, patient.model
    if (x.std(dim=0) == 0).all():
        return "same inputs"
    scores = model(x)
    if y.is_floating_point() and scores.shape != y.shape:
        return "broadcast"
    if (
        not y.is_floating_point()
        and (scores >= 0).all()
        and torch.allclose(scores.sum(1), torch.ones(len(x)))
    ):
        return "softmax twice"
    if not scores.any():
        return "dead head"
    model.zero_grad(set_to_none=True)
    patient.loss(scores, y).backward()
    if any(p.grad is None for p in model.parameters()):
        return "cut"
    held = {id(p) for group in patient.optimizer.param_groups for p in group["params"]}
    if any(id(p) not in held for p in model.parameters()):
        return "not in the optimizer"
    patient.step()
    if all(p.grad is None or not p.grad.any() for p in model.parameters()):
        return "wiped"
    losses = [float(patient.step()) for _ in range(60)]
    return "rate" if losses[-1] > 0.98 * losses[0] else "healthy"


# %% wrong="rows that go in one direction" says=["same inputs with one feature"]
def not_learning(patient):
    x, y, model = patient.x, patient.y, patient.model
    if (torch.corrcoef(x) > 0.999).all():
        return "same inputs"
    scores = model(x)
    if y.is_floating_point() and scores.shape != y.shape:
        return "broadcast"
    if not scores.any():
        return "dead head"
    if (
        not y.is_floating_point()
        and (scores >= 0).all()
        and torch.allclose(scores.sum(1), torch.ones(len(x), device=x.device))
    ):
        return "softmax twice"
    patient.loss(scores, y).backward()
    if any(p.grad is None for p in model.parameters()):
        return "cut"
    held = {id(p) for group in patient.optimizer.param_groups for p in group["params"]}
    if any(id(p) not in held for p in model.parameters()):
        return "not in the optimizer"
    patient.step()
    if all(p.grad is None or not p.grad.any() for p in model.parameters()):
        return "wiped"
    return "rate" if max(g["lr"] for g in patient.optimizer.param_groups) < 1e-4 else "healthy"


# %% right="counts the different rows"
def not_learning(patient):
    x, y, model = patient.x, patient.y, patient.model
    if len(x.unique(dim=0)) == 1:
        return "same inputs"
    scores = model(x)
    if y.is_floating_point() and scores.shape != y.shape:
        return "broadcast"
    if not scores.any():
        return "dead head"
    if (
        not y.is_floating_point()
        and (scores >= 0).all()
        and torch.allclose(scores.sum(1), torch.ones(len(x), device=x.device))
    ):
        return "softmax twice"
    patient.loss(scores, y).backward()
    if any(p.grad is None for p in model.parameters()):
        return "cut"
    held = {id(p) for group in patient.optimizer.param_groups for p in group["params"]}
    if any(id(p) not in held for p in model.parameters()):
        return "not in the optimizer"
    patient.step()
    if all(p.grad is None or not p.grad.any() for p in model.parameters()):
        return "wiped"
    return "rate" if max(g["lr"] for g in patient.optimizer.param_groups) < 1e-4 else "healthy"


# %% wrong="close rows are equal" breaks="all rows of `x` are equal" says=["healthy with features in metres", "its rows are close"]
import numpy as np


def not_learning(patient: Patient) -> str:
    model, x, y = patient.model, patient.x, patient.y
    rows = x.numpy()
    if np.allclose(rows, rows[:1]):
        return "same inputs"
    scores = model(x)
    if y.is_floating_point() and scores.shape != y.shape:
        return "broadcast"
    if not y.is_floating_point() and (scores >= 0).all():
        if torch.allclose(scores.sum(-1), torch.ones(len(scores))):
            return "softmax twice"
    if not scores.any():
        return "dead head"
    patient.loss(scores, y).backward()
    if any(p.grad is None for p in model.parameters()):
        return "cut"
    groups = patient.optimizer.param_groups
    held = {id(p) for group in groups for p in group["params"]}
    if any(id(p) not in held for p in model.parameters()):
        return "not in the optimizer"
    patient.step()
    if all(p.grad is None or not p.grad.any() for p in model.parameters()):
        return "wiped"
    if max(group["lr"] for group in groups) < 1e-4:
        return "rate"
    return "healthy"
