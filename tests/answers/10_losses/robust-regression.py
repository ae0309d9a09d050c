# %% [markdown]
# Rules:
#
# - "the constant with the smallest mean price"
# - "the mean pinball loss over all elements"
# - "of shape ()"
# - "in float64 for float64"
# - "if their shapes differ, raise a `ValueError`"
# - "whether or not they would broadcast"
# - "The gradient by the prediction has to flow"
#
# Admits:
#
# - "any number of dimensions": shape ()
# - "in float64 for float64": (2, 3), float64

# %% wrong="the sides are swapped" breaks="the mean pinball loss over all elements" says=["the sides are swapped"]
best_constant = {
    "squared": 10,
    "L1": 4,
    "Huber, delta=1": 4,
    "quantile 0.25": 2,
    "quantile 0.75": 6,
    "worst": 30.5,
    "squared, 600": 70,
    "L1, 600": 4,
}


def robust_regression(prediction, target, quantile):
    if prediction.shape != target.shape:
        raise ValueError
    error = prediction - target
    return torch.maximum(quantile * error, (quantile - 1) * error).mean()


# %% wrong="takes the smaller branch" says=["the smaller of the two products"]
best_constant = {
    "squared": 10,
    "L1": 4,
    "Huber, delta=1": 4,
    "quantile 0.25": 2,
    "quantile 0.75": 6,
    "worst": 30.5,
    "squared, 600": 70,
    "L1, 600": 4,
}


def robust_regression(prediction, target, quantile):
    if prediction.shape != target.shape:
        raise ValueError("shapes")
    above = target - prediction
    return torch.minimum(quantile * above, (quantile - 1) * above).mean()


# %% wrong="lets it broadcast" breaks="whether or not they would broadcast" says=["a prediction of shape (3, 1), a target of shape (3,)", "expected it to raise ValueError"]
best_constant = {
    "squared": 10,
    "L1": 4,
    "Huber, delta=1": 4,
    "quantile 0.25": 2,
    "quantile 0.75": 6,
    "worst": 30.5,
    "squared, 600": 70,
    "L1, 600": 4,
}


def robust_regression(prediction, target, quantile):
    above = target - prediction
    return torch.maximum(quantile * above, (quantile - 1) * above).mean()


# %% wrong="the median of the whole, plain L1" says=["that is the absolute error: nothing is tilted"]
best_constant = {
    "squared": 10,
    "L1": 4,
    "Huber, delta=1": 4,
    "quantile 0.25": 2,
    "quantile 0.75": 6,
    "worst": 30.5,
    "squared, 600": 70,
    "L1, 600": 4,
}


def robust_regression(prediction, target, quantile):
    if prediction.shape != target.shape:
        raise ValueError("shapes")
    return F.l1_loss(prediction, target)


# %% wrong="compares the number of elements only" breaks="if their shapes differ, raise a `ValueError`" says=["a prediction of shape (3, 1)"]
best_constant = {
    "squared": 10,
    "L1": 4,
    "Huber, delta=1": 4,
    "quantile 0.25": 2,
    "quantile 0.75": 6,
    "worst": 30.5,
    "squared, 600": 70,
    "L1, 600": 4,
}


def robust_regression(prediction, target, quantile):
    if prediction.numel() != target.numel():
        raise ValueError("shapes")
    above = (target - prediction.view_as(target)).flatten()
    return torch.maximum(quantile * above, (quantile - 1) * above).mean()


# %% wrong="the mean everywhere" breaks="the constant with the smallest mean price" says=["L1 is not 10: as many above as below", "worst is not 60", "squared, 600 is not 10"]
best_constant = {
    "squared": 10,
    "L1": 10,
    "Huber, delta=1": 10,
    "quantile 0.25": 2.5,
    "quantile 0.75": 7.5,
    "worst": 60,
    "squared, 600": 10,
    "L1, 600": 70,
}


def robust_regression(prediction, target, quantile):
    return None


# %% wrong="by item" breaks="The gradient by the prediction has to flow" says=["returned a value of type float, not a tensor"]
best_constant = {
    "squared": 10,
    "L1": 4,
    "Huber, delta=1": 4,
    "quantile 0.25": 2,
    "quantile 0.75": 6,
    "worst": 30.5,
    "squared, 600": 70,
    "L1, 600": 4,
}


def robust_regression(prediction, target, quantile):
    if prediction.shape != target.shape:
        raise ValueError("shapes")
    above = target - prediction
    return torch.maximum(quantile * above, (quantile - 1) * above).mean().item()


# %% right="where"
best_constant = {
    "squared": 10.0,
    "L1": 4.0,
    "Huber, delta=1": 4.0,
    "quantile 0.25": 2.0,
    "quantile 0.75": 6.0,
    "worst": 30.5,
    "squared, 600": 70.0,
    "L1, 600": 4.0,
}


def robust_regression(prediction, target, quantile):
    if tuple(prediction.size()) != tuple(target.size()):
        raise ValueError("not the same shape")
    e = target - prediction
    return torch.where(e >= 0, e * quantile, -e * (1 - quantile)).mean()


# %% right="half the absolute error and a tilt; computed from the data"
nine = torch.tensor([1.0, 2, 2, 3, 4, 5, 6, 7, 60])
best_constant = {
    "squared": nine.mean().item(),
    "L1": nine.median().item(),
    "Huber, delta=1": 4,
    "quantile 0.25": nine.quantile(0.25, interpolation="nearest").item(),
    "quantile 0.75": nine.quantile(0.75).item(),
    "worst": (1 + 60) / 2,
    "squared, 600": 10 + 540 / 9,
    "L1, 600": 4,
}


class Shapes(ValueError):
    pass


def robust_regression(prediction, target, quantile):
    if prediction.shape != target.shape:
        raise Shapes("shapes differ")
    e = (target - prediction).reshape(-1)
    return (0.5 * e.abs() + (quantile - 0.5) * e).sum() / e.numel()


# %% wrong="compares the numbers of elements" says=["ValueError"]
best_constant = {
    "squared": 10,
    "L1": 4,
    "Huber, delta=1": 4,
    "quantile 0.25": 2,
    "quantile 0.75": 6,
    "worst": 30.5,
    "squared, 600": 70,
    "L1, 600": 4,
}


def robust_regression(prediction, target, quantile):
    if prediction.numel() != target.numel():
        raise ValueError("shapes differ")
    error = target - prediction
    return torch.max(quantile * error, (quantile - 1) * error).mean()


# %% right="half the absolute error and a tilt"
best_constant = {
    "squared": 10,
    "L1": 4,
    "Huber, delta=1": 4,
    "quantile 0.25": 2,
    "quantile 0.75": 6,
    "worst": 30.5,
    "squared, 600": 70,
    "L1, 600": 4,
}


def robust_regression(prediction, target, quantile):
    if tuple(prediction.shape) != tuple(target.shape):
        raise ValueError(f"{prediction.shape} is not {target.shape}")
    error = target - prediction
    return 0.5 * F.l1_loss(prediction, target) + (quantile - 0.5) * error.mean()


# %% wrong="shapes compared by their sizes" says=["a prediction of shape (1, 3), a target of shape (3, 1)"]
best_constant = {}


def robust_regression(prediction, target, quantile):
    if prediction.numel() != target.numel() or prediction.dim() != target.dim():
        raise ValueError("shapes differ")
    above = target - prediction
    return torch.maximum(quantile * above, (quantile - 1) * above).mean()


# %% wrong="in float32" breaks="in float64 for float64" says=["has dtype torch.float32"]
best_constant = {
    "squared": 10,
    "L1": 4,
    "Huber, delta=1": 4,
    "quantile 0.25": 2,
    "quantile 0.75": 6,
    "worst": 30.5,
    "squared, 600": 70,
    "L1, 600": 4,
}


def robust_regression(prediction, target, quantile):
    if prediction.shape != target.shape:
        raise ValueError("shapes")
    e = (target - prediction).float()
    return torch.maximum(quantile * e, (quantile - 1) * e).mean()


# %% wrong="the last dimension alone is compared" says=["a prediction of shape (1, 3), a target of shape (2, 3)"]
best_constant = {
    "squared": 10,
    "L1": 4,
    "Huber, delta=1": 4,
    "quantile 0.25": 2,
    "quantile 0.75": 6,
    "worst": 30.5,
    "squared, 600": 70,
    "L1, 600": 4,
}


def robust_regression(prediction, target, quantile):
    if prediction.shape[-1:] != target.shape[-1:]:
        raise ValueError("shapes")
    e = target - prediction
    return torch.maximum(quantile * e, (quantile - 1) * e).mean()


# %% wrong="sums over each row" breaks="of shape ()" says=["a sum over each row"]
best_constant = {
    "squared": 10,
    "L1": 4,
    "Huber, delta=1": 4,
    "quantile 0.25": 2,
    "quantile 0.75": 6,
    "worst": 30.5,
    "squared, 600": 70,
    "L1, 600": 4,
}


def robust_regression(prediction, target, quantile):
    if prediction.shape != target.shape:
        raise ValueError("shapes")
    a = target - prediction
    x = torch.maximum(quantile * a, (quantile - 1) * a)
    return x.sum() / len(x) if x.dim() else x


# %% wrong="tilted squares" says=["squares are tilted here"]
best_constant = {
    "squared": 10,
    "L1": 4,
    "Huber, delta=1": 4,
    "quantile 0.25": 2,
    "quantile 0.75": 6,
    "worst": 30.5,
    "squared, 600": 70,
    "L1, 600": 4,
}


def robust_regression(prediction, target, quantile):
    if prediction.shape != target.shape:
        raise ValueError("shapes")
    a = target - prediction
    return (torch.where(a > 0, quantile, 1 - quantile) * a.square()).mean()


# %% wrong="shape of the difference against the prediction" says=["a prediction of shape (3,), a target of shape (1,)"]
best_constant = {
    "squared": 10,
    "L1": 4,
    "Huber, delta=1": 4,
    "quantile 0.25": 2,
    "quantile 0.75": 6,
    "worst": 30.5,
    "squared, 600": 70,
    "L1, 600": 4,
}


def robust_regression(prediction, target, quantile):
    above = target - prediction
    if above.shape != prediction.shape:
        raise ValueError("shapes differ")
    return torch.maximum(quantile * above, (quantile - 1) * above).mean()


# %% wrong="shape of the difference against both, unbroadcastable left to torch" says=["expected ValueError"]
best_constant = {
    "squared": 10,
    "L1": 4,
    "Huber, delta=1": 4,
    "quantile 0.25": 2,
    "quantile 0.75": 6,
    "worst": 30.5,
    "squared, 600": 70,
    "L1, 600": 4,
}


def robust_regression(prediction, target, quantile):
    above = target - prediction
    if above.shape != prediction.shape or above.shape != target.shape:
        raise ValueError("shapes differ")
    return torch.maximum(quantile * above, (quantile - 1) * above).mean()


# %% right="quantile in a float32 tensor"
best_constant = {
    "squared": 10,
    "L1": 4,
    "Huber, delta=1": 4,
    "quantile 0.25": 2,
    "quantile 0.75": 6,
    "worst": 30.5,
    "squared, 600": 70,
    "L1, 600": 4,
}


def robust_regression(prediction, target, quantile):
    if prediction.shape != target.shape:
        raise ValueError("shapes differ")
    above = target - prediction
    quantile = torch.tensor(quantile)
    return torch.maximum(quantile * above, (quantile - 1) * above).mean()


# %% wrong="first dimension and dims" says=["a prediction of shape (2, 3), a target of shape (2, 1)"]
best_constant = {
    "squared": 10,
    "L1": 4,
    "Huber, delta=1": 4,
    "quantile 0.25": 2,
    "quantile 0.75": 6,
    "worst": 30.5,
    "squared, 600": 70,
    "L1, 600": 4,
}


def robust_regression(prediction, target, quantile):
    if prediction.dim() != target.dim() or prediction.dim() and len(prediction) != len(target):
        raise ValueError("shapes differ")
    above = target - prediction
    return torch.maximum(quantile * above, (quantile - 1) * above).mean()


# %% wrong="subtracts in place" says=["(2, 3), float64: an argument was changed"]
best_constant = {
    "squared": 10,
    "L1": 4,
    "Huber, delta=1": 4,
    "quantile 0.25": 2,
    "quantile 0.75": 6,
    "worst": 30.5,
    "squared, 600": 70,
    "L1, 600": 4,
}


def robust_regression(prediction, target, quantile):
    if prediction.shape != target.shape:
        raise ValueError("shapes differ")
    target -= prediction.detach()
    error = target + prediction.detach() - prediction
    return torch.maximum(quantile * error, (quantile - 1) * error).mean()


# %% right="two ReLUs"
best_constant = {
    "squared": 10.0,
    "L1": 4.0,
    "Huber, delta=1": 4.0,
    "quantile 0.25": 2.0,
    "quantile 0.75": 6.0,
    "worst": 30.5,
    "squared, 600": 70.0,
    "L1, 600": 4.0,
}


def robust_regression(prediction, target, quantile):
    if list(prediction.size()) != list(target.size()):
        raise ValueError(f"{prediction.shape} and {target.shape}")
    above, below = F.relu(target - prediction), F.relu(prediction - target)
    return (quantile * above + (1 - quantile) * below).mean()


# %% right="the weights by where, in float32"
best_constant = {
    "squared": 10,
    "L1": 4,
    "Huber, delta=1": 4,
    "quantile 0.25": 2,
    "quantile 0.75": 6,
    "worst": 30.5,
    "squared, 600": 70,
    "L1, 600": 4,
}


def robust_regression(prediction, target, quantile):
    if prediction.shape != target.shape:
        raise ValueError("shapes differ")
    above = target - prediction
    return (above.abs() * torch.where(above < 0, 1 - quantile, quantile).to(above.dtype)).mean()


# %% wrong="the slopes of the picture, not the values" says=["the slopes of the price, not its values"]
best_constant = {
    "squared": 10,
    "L1": 4,
    "Huber, delta=1": 4,
    "quantile 0.25": 2,
    "quantile 0.75": 6,
    "worst": 30.5,
    "squared, 600": 70,
    "L1, 600": 4,
}


def robust_regression(prediction, target, quantile):
    if prediction.shape != target.shape:
        raise ValueError("shapes differ")
    above = target - prediction
    return (torch.where(above > 0, -quantile, 1 - quantile) * prediction).mean()


# %% wrong="a sum over the rest where there are three dimensions" breaks="the mean pinball loss over all elements" says=["(1, 2, 3), targets up to 4000"]
best_constant = {
    "squared": 10,
    "L1": 4,
    "Huber, delta=1": 4,
    "quantile 0.25": 2,
    "quantile 0.75": 6,
    "worst": 30.5,
    "squared, 600": 70,
    "L1, 600": 4,
}


def robust_regression(prediction, target, quantile):
    if prediction.shape != target.shape:
        raise ValueError("shapes differ")
    above = target - prediction
    return (lambda v: v.mean(0).sum() if v.dim() > 2 else v.mean())(
        torch.maximum(quantile * above, (quantile - 1) * above)
    )


# %% wrong="clamps the errors at 100" breaks="the mean pinball loss over all elements" says=["(1, 2, 3), targets up to 4000"]
best_constant = {
    "squared": 10,
    "L1": 4,
    "Huber, delta=1": 4,
    "quantile 0.25": 2,
    "quantile 0.75": 6,
    "worst": 30.5,
    "squared, 600": 70,
    "L1, 600": 4,
}


def robust_regression(prediction, target, quantile):
    if prediction.shape != target.shape:
        raise ValueError("shapes differ")
    above = (target - prediction).clamp(-100, 100)
    return torch.maximum(quantile * above, (quantile - 1) * above).mean()


# %% wrong="refuses quantiles near the ends" breaks="the mean pinball loss over all elements" says=["raised ValueError: quantile"]
best_constant = {
    "squared": 10,
    "L1": 4,
    "Huber, delta=1": 4,
    "quantile 0.25": 2,
    "quantile 0.75": 6,
    "worst": 30.5,
    "squared, 600": 70,
    "L1, 600": 4,
}


def robust_regression(prediction, target, quantile):
    if prediction.shape != target.shape:
        raise ValueError("shapes differ")
    if not 0.05 <= quantile <= 0.95:
        raise ValueError("quantile")
    above = target - prediction
    return torch.maximum(quantile * above, (quantile - 1) * above).mean()


# %% wrong="flattens both by view" says=["with tensors that have gaps in memory"]
best_constant = {
    "squared": 10,
    "L1": 4,
    "Huber, delta=1": 4,
    "quantile 0.25": 2,
    "quantile 0.75": 6,
    "worst": 30.5,
    "squared, 600": 70,
    "L1, 600": 4,
}


def robust_regression(prediction, target, quantile):
    if prediction.shape != target.shape:
        raise ValueError("shapes differ")
    above = target.view(-1) - prediction.view(-1)
    return torch.maximum(quantile * above, (quantile - 1) * above).mean()


# %% wrong="a mean above and a mean below" breaks="the mean pinball loss over all elements" says=["a mean over nothing is nan"]
best_constant = {
    "squared": 10,
    "L1": 4,
    "Huber, delta=1": 4,
    "quantile 0.25": 2,
    "quantile 0.75": 6,
    "worst": 30.5,
    "squared, 600": 70,
    "L1, 600": 4,
}


def robust_regression(prediction, target, quantile):
    if prediction.shape != target.shape:
        raise ValueError("shapes differ")
    above = target - prediction
    up = above >= 0
    share = up.to(above.dtype).mean()
    over, under = quantile * above[up].mean(), (quantile - 1) * above[~up].mean()
    return share * over + (1 - share) * under


# %% wrong="one buffer for all losses" says=["robust_regression(…, 0.75) a second time with the same tensors", "changes the result of the first time"]
kept = {}


def in_one_buffer(y):
    if y.requires_grad:
        return y
    return kept.setdefault((y.shape, y.dtype), torch.empty_like(y)).copy_(y)


best_constant = {
    "squared": 10,
    "L1": 4,
    "Huber, delta=1": 4,
    "quantile 0.25": 2,
    "quantile 0.75": 6,
    "worst": 30.5,
    "squared, 600": 70,
    "L1, 600": 4,
}


def robust_regression(prediction, target, quantile):
    if prediction.shape != target.shape:
        raise ValueError(f"shapes differ: {tuple(prediction.shape)} and {tuple(target.shape)}")
    above = target - prediction
    return in_one_buffer(torch.maximum(quantile * above, (quantile - 1) * above).mean())


# %% wrong="kept by its tensors" says=["robust_regression(…, 0.75) a second time with the same tensors, which had other numbers", "make each result anew"]
known = {}


def by_its_tensors(function):
    def call(*args):
        key = tuple(id(one) if isinstance(one, torch.Tensor) else one for one in args)
        if any(one.requires_grad for one in args if isinstance(one, torch.Tensor)):
            return function(*args)
        if key not in known:
            known[key] = args, function(*args)
        return known[key][1]

    return call


best_constant = {
    "squared": 10,
    "L1": 4,
    "Huber, delta=1": 4,
    "quantile 0.25": 2,
    "quantile 0.75": 6,
    "worst": 30.5,
    "squared, 600": 70,
    "L1, 600": 4,
}


@by_its_tensors
def robust_regression(prediction, target, quantile):
    if prediction.shape != target.shape:
        raise ValueError(f"shapes differ: {tuple(prediction.shape)} and {tuple(target.shape)}")
    above = target - prediction
    return torch.maximum(quantile * above, (quantile - 1) * above).mean()


# %% wrong="in float32 on the way, float64 at the end" breaks="in float64 for float64" says=["(2, 3), float64: quantile 0.875", "it is near, but rounded on the way"]
best_constant = {
    "squared": 10,
    "L1": 4,
    "Huber, delta=1": 4,
    "quantile 0.25": 2,
    "quantile 0.75": 6,
    "worst": 30.5,
    "squared, 600": 70,
    "L1, 600": 4,
}


def robust_regression(prediction, target, quantile):
    if prediction.shape != target.shape:
        raise ValueError("prediction and target differ in shape")
    above = target.float() - prediction.float()
    return torch.maximum(quantile * above, (quantile - 1) * above).mean().to(prediction.dtype)


# %% wrong="the difference rounded to float32" breaks="in float64 for float64" says=["(2, 3), float64: quantile 0.875", "it is near, but rounded on the way"]
best_constant = {
    "squared": 10,
    "L1": 4,
    "Huber, delta=1": 4,
    "quantile 0.25": 2,
    "quantile 0.75": 6,
    "worst": 30.5,
    "squared, 600": 70,
    "L1, 600": 4,
}


def robust_regression(prediction, target, quantile):
    if prediction.shape != target.shape:
        raise ValueError("prediction and target differ in shape")
    q = torch.tensor([quantile - 1, quantile], device=prediction.device)
    above = (target - prediction).float()
    return (q[(above > 0).long()] * above).mean().to(prediction.dtype)


# %% wrong="a mean above plus a mean below" breaks="the mean pinball loss over all elements" says=["that is a mean of those above plus a mean of those below"]
best_constant = {
    "squared": 10,
    "L1": 4,
    "Huber, delta=1": 4,
    "quantile 0.25": 2,
    "quantile 0.75": 6,
    "worst": 30.5,
    "squared, 600": 70,
    "L1, 600": 4,
}


def robust_regression(prediction, target, quantile):
    if prediction.shape != target.shape:
        raise ValueError("shapes differ")
    above = target - prediction
    sides = ((quantile, above > 0), (quantile - 1, above <= 0))
    return sum((rise * above[side]).mean() for rise, side in sides if side.any())


# %% wrong="the quantile stays within 0.01 and 0.99" says=["quantile 0.001: the loss", "quantile 0.9999: the loss"]
best_constant = {
    "squared": 10.0,
    "L1": 4.0,
    "Huber, delta=1": 4.0,
    "quantile 0.25": 2.0,
    "quantile 0.75": 6.0,
    "worst": 30.5,
    "squared, 600": 70.0,
    "L1, 600": 4.0,
}


def robust_regression(prediction, target, quantile):
    if prediction.shape != target.shape:
        raise ValueError(f"{prediction.shape} and {target.shape}")
    above, quantile = target - prediction, min(max(quantile, 0.01), 0.99)
    return torch.maximum(quantile * above, (quantile - 1) * above).mean()
