# %% [markdown]
# Rules:
#
# - "Let p be the probability of the right answer"
# - "times `pos_weight` where the target is 1"
# - "Return the mean over *all elements*"
# - "for float64 in float64"
# - "`gamma` is 0 or at least 1"
# - "value and gradient have to be finite"
# - "Return the probabilities that it would give without the weight"
# - "in the shape and dtype of `logits`"
# - "Here, too, a logit may be ±1000"
# - "`True` where the remedy makes the measured value differ"
# - "pos_weight: float = 1.0"
# - "gamma: float = 0.0"
#
# Admits:
#
# - "any shape": shape ()
# - "entries as large as ±1000": logits of 1000 and -1000
# - "for float64 in float64": shape (2, 2), float64

# %% wrong="divides by the weights" breaks="Return the mean over *all elements*" says=["the mean is over all elements, not over weights"]
def imbalance(logits, target, pos_weight=1.0, gamma=0.0):
    s = 2 * target - 1
    w = torch.where(target > 0, pos_weight, 1.0)
    price = -(torch.sigmoid(-s * logits) ** gamma) * F.logsigmoid(s * logits)
    return (w * price).sum() / w.sum()


def recalibrate(logits, pos_weight):
    return torch.sigmoid(logits - math.log(pos_weight))


it_changes = {
    name: name not in ("focal, recall", "threshold moved, mean probability")
    for name in (
        "weighted, mean probability",
        "weighted, recall",
        "resampled, mean probability",
        "resampled, recall",
        "focal, mean probability",
        "focal, recall",
        "threshold moved, mean probability",
        "threshold moved, recall",
    )
}


# %% wrong="sigmoid, then log" breaks="value and gradient have to be finite" says=["logits of 1000 and -1000", "stay with logits"]
def imbalance(logits, target, pos_weight=1.0, gamma=0.0):
    p = torch.sigmoid(logits)
    yes = -pos_weight * target * (1 - p) ** gamma * p.log()
    no = -(1 - target) * p**gamma * (1 - p).log()
    return (yes + no).mean()


def recalibrate(logits, pos_weight):
    return torch.sigmoid(logits) / pos_weight


it_changes = {}


# %% wrong="p is the sigmoid for both" breaks="Let p be the probability of the right answer" says=["p is the right answer's probability"]
def imbalance(logits, target, pos_weight=1.0, gamma=0.0):
    price = F.binary_cross_entropy_with_logits(
        logits, target, pos_weight=torch.tensor(pos_weight, device=logits.device), reduction="none"
    )
    return ((1 - torch.sigmoid(logits)) ** gamma * price).mean()


def recalibrate(logits, pos_weight):
    return torch.sigmoid(logits + math.log(pos_weight))


it_changes = {}


# %% wrong="weights everything" breaks="times `pos_weight` where the target is 1" says=["the weight belongs only where the target is 1"]
def imbalance(logits, target, pos_weight=1.0, gamma=0.0):
    price = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
    return (pos_weight * (1 - torch.exp(-price)) ** gamma * price).mean()


def recalibrate(logits, pos_weight):
    return torch.sigmoid(logits)


it_changes = {}


# %% wrong="the weight is inside p" says=["four logits"]
def imbalance(logits, target, pos_weight=1.0, gamma=0.0):
    price = F.binary_cross_entropy_with_logits(
        logits, target, pos_weight=torch.tensor(pos_weight, device=logits.device), reduction="none"
    )
    return ((1 - torch.exp(-price)) ** gamma * price).mean()


def recalibrate(logits, pos_weight):
    return torch.sigmoid(logits - pos_weight)


it_changes = {}


# %% wrong="divides the probability by the weight" breaks="Return the probabilities that it would give without the weight" says=["the weight multiplied the odds, not the probability"]
def imbalance(logits, target, pos_weight=1.0, gamma=0.0):
    price = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
    w = torch.where(target == 1, pos_weight, 1.0)
    return (w * (1 - torch.exp(-price)) ** gamma * price).mean()


def recalibrate(logits, pos_weight):
    return torch.sigmoid(logits) / pos_weight


it_changes = {}


# %% wrong="adds the logarithm once more" says=["the weight added log(w) to the logit; take it away"]
def imbalance(logits, target, pos_weight=1.0, gamma=0.0):
    price = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
    w = torch.where(target == 1, pos_weight, 1.0)
    return (w * (1 - torch.exp(-price)) ** gamma * price).mean()


def recalibrate(logits, pos_weight):
    return torch.sigmoid(logits + math.log(pos_weight))


it_changes = {}


# %% wrong="believes that focal loss finds the rare" breaks="`True` where the remedy makes the measured value differ" says=["focal, recall is not True: it treats both classes the same way", "threshold moved, mean probability is not True: the model is the same one"]
def imbalance(logits, target, pos_weight=1.0, gamma=0.0):
    price = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
    w = torch.where(target == 1, pos_weight, 1.0)
    return (w * (1 - torch.exp(-price)) ** gamma * price).mean()


def recalibrate(logits, pos_weight):
    odds = logits.exp() / pos_weight
    return odds / (1 + odds)


it_changes = dict.fromkeys(
    (
        "weighted, mean probability",
        "weighted, recall",
        "resampled, mean probability",
        "resampled, recall",
        "focal, mean probability",
        "focal, recall",
        "threshold moved, mean probability",
        "threshold moved, recall",
    ),
    True,
)


# %% wrong="nothing yet" says=["it returned None: is there an answer yet", "is None", "8 of 8 predictions are still blank"]
def imbalance(logits, target, pos_weight=1.0, gamma=0.0):
    # YOUR CODE HERE
    ...


def recalibrate(logits, pos_weight):
    # YOUR CODE HERE
    ...


it_changes = dict.fromkeys(
    (
        "weighted, mean probability",
        "weighted, recall",
        "resampled, mean probability",
        "resampled, recall",
        "focal, mean probability",
        "focal, recall",
        "threshold moved, mean probability",
        "threshold moved, recall",
    ),
    None,
)


# %% right="from the library's price"
def imbalance(logits, target, pos_weight=1.0, gamma=0.0):
    price = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
    w = torch.where(target == 1, pos_weight, 1.0)
    return (w * (1 - torch.exp(-price)) ** gamma * price).mean()


def recalibrate(logits, pos_weight):
    return 1 / (1 + pos_weight * torch.exp(-logits))


it_changes = dict(
    {
        "weighted, mean probability": True,
        "weighted, recall": True,
        "resampled, mean probability": True,
        "resampled, recall": True,
        "focal, mean probability": True,
        "focal, recall": False,
        "threshold moved, mean probability": False,
        "threshold moved, recall": True,
    }
)


# %% right="two classes through log_softmax, one element after the other"
def imbalance(logits, target, pos_weight=1.0, gamma=0.0):
    pair = torch.stack([torch.zeros_like(logits), logits], dim=-1).reshape(-1, 2)
    log_p = torch.log_softmax(pair, dim=1)
    total = 0
    for row, goal in zip(log_p, target.reshape(-1).long().tolist()):
        other = row[1 - goal].exp()
        factor = other**gamma if gamma else 1.0
        total = total - factor * row[goal] * (pos_weight if goal else 1.0)
    return total / len(log_p)


def recalibrate(logits, pos_weight):
    p = torch.sigmoid(logits)
    return p / (p + pos_weight * (1 - p))


it_changes = {
    name: "focal, recall" != name and "moved, mean" not in name
    for name in (
        "weighted, mean probability",
        "weighted, recall",
        "resampled, mean probability",
        "resampled, recall",
        "focal, mean probability",
        "focal, recall",
        "threshold moved, mean probability",
        "threshold moved, recall",
    )
}


# %% wrong="sigmoid, clamp, log" says=["is a probability clamped"]
def imbalance(logits, target, pos_weight=1.0, gamma=0.0):
    p = logits.sigmoid().clamp(1e-7, 1 - 1e-7)
    p = torch.where(target == 1, p, 1 - p)
    w = torch.where(target == 1, pos_weight, 1.0)
    return (w * -((1 - p) ** gamma) * p.log()).mean()


def recalibrate(logits, pos_weight):
    return torch.sigmoid(logits - math.log(pos_weight))


it_changes = {
    "weighted, mean probability": True,
    "weighted, recall": True,
    "resampled, mean probability": True,
    "resampled, recall": True,
    "focal, mean probability": True,
    "focal, recall": False,
    "threshold moved, mean probability": False,
    "threshold moved, recall": True,
}


# %% wrong="the focal factor is detached" says=["has a gradient, too"]
def imbalance(logits, target, pos_weight=1.0, gamma=0.0):
    price = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
    with torch.no_grad():
        focus = (1 - torch.exp(-price)) ** gamma * (1 + (pos_weight - 1) * target)
    return (focus * price).mean()


def recalibrate(logits, pos_weight):
    return torch.sigmoid(logits - math.log(pos_weight))


it_changes = {
    "weighted, mean probability": True,
    "weighted, recall": True,
    "resampled, mean probability": True,
    "resampled, recall": True,
    "focal, mean probability": True,
    "focal, recall": False,
    "threshold moved, mean probability": False,
    "threshold moved, recall": True,
}


# %% wrong="p from the weighted price" says=["p has no weight in it"]
def imbalance(logits, target, pos_weight=1.0, gamma=0.0):
    w = torch.tensor(pos_weight, device=logits.device, dtype=logits.dtype)
    price = F.binary_cross_entropy_with_logits(logits, target, pos_weight=w, reduction="none")
    p = torch.exp(-price)
    return ((1 - p) ** gamma * price).mean()


def recalibrate(logits, pos_weight):
    return torch.sigmoid(logits - math.log(pos_weight))


it_changes = {
    "weighted, mean probability": True,
    "weighted, recall": True,
    "resampled, mean probability": True,
    "resampled, recall": True,
    "focal, mean probability": True,
    "focal, recall": False,
    "threshold moved, mean probability": False,
    "threshold moved, recall": True,
}


# %% wrong="way back on the probability, focal finds more" says=["the odds are p / (1 - p), not p"]
def imbalance(logits, target, pos_weight=1.0, gamma=0.0):
    s = 2 * target - 1
    w = 1 + (pos_weight - 1) * target
    return (-w * torch.sigmoid(-s * logits) ** gamma * F.logsigmoid(s * logits)).mean()


def recalibrate(logits, pos_weight):
    p = logits.sigmoid()
    return p / (p + pos_weight)


it_changes = {
    "weighted, mean probability": True,
    "weighted, recall": True,
    "resampled, mean probability": False,
    "resampled, recall": True,
    "focal, mean probability": False,
    "focal, recall": True,
    "threshold moved, mean probability": True,
    "threshold moved, recall": True,
}


# %% right="softplus and odds"
def imbalance(logits, target, pos_weight=1.0, gamma=0.0):
    flipped = torch.where(target > 0.5, -logits, logits)
    price = F.softplus(flipped)
    hard = torch.exp(-gamma * F.softplus(-flipped))
    return torch.mean(hard * price * torch.where(target > 0.5, float(pos_weight), 1.0))


def recalibrate(logits, pos_weight):
    p = torch.sigmoid(logits)
    return p / (p + pos_weight * (1 - p))


it_changes = {
    "weighted, mean probability": True,
    "weighted, recall": True,
    "resampled, mean probability": True,
    "resampled, recall": True,
    "focal, mean probability": True,
    "focal, recall": False,
    "threshold moved, mean probability": False,
    "threshold moved, recall": True,
}


# %% wrong="the way back through p / (1 - p)" breaks="Here, too, a logit may be ±1000" says=["nan or inf for a large logit", "stay with the logit"]
def imbalance(logits, target, pos_weight=1.0, gamma=0.0):
    sign = 2 * target - 1
    wrong = torch.sigmoid(-sign * logits)
    price = -(wrong**gamma) * F.logsigmoid(sign * logits)
    return (price * (1 + (pos_weight - 1) * target)).mean()


def recalibrate(logits, pos_weight):
    p = logits.sigmoid()
    odds = p / (1 - p) / pos_weight
    return odds / (1 + odds)


it_changes = {}


# %% wrong="gamma made a whole number" breaks="`gamma` is 0 or at least 1" says=["gamma=1.5"]
def imbalance(logits, target, pos_weight=1.0, gamma=0.0):
    sign = 2 * target - 1
    wrong = torch.sigmoid(-sign * logits)
    price = -(wrong ** int(gamma)) * F.logsigmoid(sign * logits)
    return (price * (1 + (pos_weight - 1) * target)).mean()


def recalibrate(logits, pos_weight):
    return torch.sigmoid(logits - math.log(pos_weight))


it_changes = {}


# %% wrong="float32 inside" breaks="for float64 in float64" says=["expected torch.float64"]
def imbalance(logits, target, pos_weight=1.0, gamma=0.0):
    logits, target = logits.float(), target.float()
    s = 2 * target - 1
    price = -(gamma * F.logsigmoid(-s * logits)).exp() * F.logsigmoid(s * logits)
    return (price * torch.where(target == 1, pos_weight, 1.0)).mean()


def recalibrate(logits, pos_weight):
    return (logits - math.log(pos_weight)).sigmoid()


it_changes = {
    "weighted, mean probability": True,
    "weighted, recall": True,
    "resampled, mean probability": True,
    "resampled, recall": True,
    "focal, mean probability": True,
    "focal, recall": False,
    "threshold moved, mean probability": False,
    "threshold moved, recall": True,
}


# %% wrong="the way back of shape () in float64" breaks="in the shape and dtype of `logits`" says=["has dtype torch.float64, expected torch.float32"]
def imbalance(logits, target, pos_weight=1.0, gamma=0.0):
    s = 2 * target - 1
    price = -(gamma * F.logsigmoid(-s * logits)).exp() * F.logsigmoid(s * logits)
    return (price * torch.where(target == 1, pos_weight, 1.0)).mean()


def recalibrate(logits, pos_weight):
    shift = torch.tensor(math.log(pos_weight), dtype=torch.float64)
    return torch.sigmoid(logits - shift)


it_changes = {
    "weighted, mean probability": True,
    "weighted, recall": True,
    "resampled, mean probability": True,
    "resampled, recall": True,
    "focal, mean probability": True,
    "focal, recall": False,
    "threshold moved, mean probability": False,
    "threshold moved, recall": True,
}


# %% wrong="the way back without dimensions of length 1" breaks="in the shape and dtype of `logits`" says=["has shape (3,), expected (1, 3)"]
def imbalance(logits, target, pos_weight=1.0, gamma=0.0):
    s = 2 * target - 1
    price = -(gamma * F.logsigmoid(-s * logits)).exp() * F.logsigmoid(s * logits)
    return (price * torch.where(target == 1, pos_weight, 1.0)).mean()


def recalibrate(logits, pos_weight):
    return torch.sigmoid(logits.squeeze() - math.log(pos_weight))


it_changes = {
    "weighted, mean probability": True,
    "weighted, recall": True,
    "resampled, mean probability": True,
    "resampled, recall": True,
    "focal, mean probability": True,
    "focal, recall": False,
    "threshold moved, mean probability": False,
    "threshold moved, recall": True,
}


# %% wrong="the way back in float32" breaks="in the shape and dtype of `logits`" says=["has dtype torch.float32"]
def imbalance(logits, target, pos_weight=1.0, gamma=0.0):
    s = 2 * target - 1
    price = -(gamma * F.logsigmoid(-s * logits)).exp() * F.logsigmoid(s * logits)
    return (price * torch.where(target == 1, pos_weight, 1.0)).mean()


def recalibrate(logits, pos_weight):
    return (logits.float() - math.log(pos_weight)).sigmoid()


it_changes = {
    "weighted, mean probability": True,
    "weighted, recall": True,
    "resampled, mean probability": True,
    "resampled, recall": True,
    "focal, mean probability": True,
    "focal, recall": False,
    "threshold moved, mean probability": False,
    "threshold moved, recall": True,
}


# %% wrong="the way back gives logits" says=["these are logits"]
def imbalance(logits, target, pos_weight=1.0, gamma=0.0):
    s = 2 * target - 1
    price = -(gamma * F.logsigmoid(-s * logits)).exp() * F.logsigmoid(s * logits)
    return (price * torch.where(target == 1, pos_weight, 1.0)).mean()


def recalibrate(logits, pos_weight):
    return logits - math.log(pos_weight)


it_changes = {
    "weighted, mean probability": True,
    "weighted, recall": True,
    "resampled, mean probability": True,
    "resampled, recall": True,
    "focal, mean probability": True,
    "focal, recall": False,
    "threshold moved, mean probability": False,
    "threshold moved, recall": True,
}


# %% wrong="weight on the wrong class" says=["the weight is on the wrong side"]
def imbalance(logits, target, pos_weight=1.0, gamma=0.0):
    s = 2 * target - 1
    price = -(gamma * F.logsigmoid(-s * logits)).exp() * F.logsigmoid(s * logits)
    return (price * torch.where(target == 0, pos_weight, 1.0)).mean()


def recalibrate(logits, pos_weight):
    return (logits - math.log(pos_weight)).sigmoid()


it_changes = {
    "weighted, mean probability": True,
    "weighted, recall": True,
    "resampled, mean probability": True,
    "resampled, recall": True,
    "focal, mean probability": True,
    "focal, recall": False,
    "threshold moved, mean probability": False,
    "threshold moved, recall": True,
}


# %% wrong="sum over rows, mean over batch" says=["not over the rows alone"]
def imbalance(logits, target, pos_weight=1.0, gamma=0.0):
    s = 2 * target - 1
    price = -(gamma * F.logsigmoid(-s * logits)).exp() * F.logsigmoid(s * logits)
    return (price * torch.where(target == 1, pos_weight, 1.0)).sum() / (
        len(logits) if logits.ndim else 1
    )


def recalibrate(logits, pos_weight):
    return (logits - math.log(pos_weight)).sigmoid()


it_changes = {
    "weighted, mean probability": True,
    "weighted, recall": True,
    "resampled, mean probability": True,
    "resampled, recall": True,
    "focal, mean probability": True,
    "focal, recall": False,
    "threshold moved, mean probability": False,
    "threshold moved, recall": True,
}


# %% wrong="the way back by the logarithm to base 10" says=["take the natural logarithm of the weight"]
def imbalance(logits, target, pos_weight=1.0, gamma=0.0):
    price = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
    w = torch.where(target == 1, pos_weight, 1.0)
    return ((1 - torch.exp(-price)) ** gamma * price * w).mean()


def recalibrate(logits, pos_weight):
    return torch.sigmoid(logits - math.log10(pos_weight))


it_changes = {
    "weighted, mean probability": True,
    "weighted, recall": True,
    "resampled, mean probability": True,
    "resampled, recall": True,
    "focal, mean probability": True,
    "focal, recall": False,
    "threshold moved, mean probability": False,
    "threshold moved, recall": True,
}


# %% wrong="the way back takes the weight itself off" says=["to the logit it added its logarithm"]
def imbalance(logits, target, pos_weight=1.0, gamma=0.0):
    price = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
    w = torch.where(target == 1, pos_weight, 1.0)
    return ((1 - torch.exp(-price)) ** gamma * price * w).mean()


def recalibrate(logits, pos_weight):
    return torch.sigmoid(logits - pos_weight)


it_changes = {
    "weighted, mean probability": True,
    "weighted, recall": True,
    "resampled, mean probability": True,
    "resampled, recall": True,
    "focal, mean probability": True,
    "focal, recall": False,
    "threshold moved, mean probability": False,
    "threshold moved, recall": True,
}


# %% wrong="a mean for each kind of target" says=["not one for each kind of target"]
def imbalance(logits, target, pos_weight=1.0, gamma=0.0):
    p = torch.where(target == 1, logits, -logits)
    price = -((1 - p.sigmoid()) ** gamma * F.logsigmoid(p))
    return pos_weight * price[target == 1].mean() + price[target == 0].mean()


def recalibrate(logits, pos_weight):
    return torch.sigmoid(logits - math.log(pos_weight))


it_changes = {
    "weighted, mean probability": True,
    "weighted, recall": True,
    "resampled, mean probability": True,
    "resampled, recall": True,
    "focal, mean probability": True,
    "focal, recall": False,
    "threshold moved, mean probability": False,
    "threshold moved, recall": True,
}


# %% wrong="logits to float32" says=["rounded on the way"]
def imbalance(logits, target, pos_weight=1.0, gamma=0.0):
    signed = (2 * target - 1) * logits.float()
    log_p, log_miss = F.logsigmoid(signed), F.logsigmoid(-signed)
    weight = 1 + (pos_weight - 1) * target
    return (-weight * (gamma * log_miss).exp() * log_p).mean()


def recalibrate(logits, pos_weight):
    return (logits - math.log(pos_weight)).sigmoid()


it_changes = {
    "weighted, mean probability": True,
    "weighted, recall": True,
    "resampled, mean probability": True,
    "resampled, recall": True,
    "focal, mean probability": True,
    "focal, recall": False,
    "threshold moved, mean probability": False,
    "threshold moved, recall": True,
}


# %% wrong="the way back, rounded to float32" says=["it is near, but rounded on the way: is something float32?"]
def imbalance(logits, target, pos_weight=1.0, gamma=0.0):
    sign = 2 * target - 1
    price = -(torch.sigmoid(-sign * logits) ** gamma) * F.logsigmoid(sign * logits)
    return (price * (1 + (pos_weight - 1) * target)).mean()


def recalibrate(logits, pos_weight):
    return torch.sigmoid(logits.float() - math.log(pos_weight)).to(logits.dtype)


it_changes = {
    "weighted, mean probability": True,
    "weighted, recall": True,
    "resampled, mean probability": True,
    "resampled, recall": True,
    "focal, mean probability": True,
    "focal, recall": False,
    "threshold moved, mean probability": False,
    "threshold moved, recall": True,
}


# %% wrong="the mean factor times the mean price" says=["the factor belongs to each price, before the mean"]
def imbalance(logits, target, pos_weight=1.0, gamma=0.0):
    weight = torch.tensor(pos_weight).to(logits)
    price = F.binary_cross_entropy_with_logits(logits, target, pos_weight=weight)
    p = torch.where(target == 1, logits.sigmoid(), 1 - logits.sigmoid())
    return ((1 - p) ** gamma).mean() * price


def recalibrate(logits, pos_weight):
    return torch.sigmoid(logits - math.log(pos_weight))


it_changes = {
    "weighted, mean probability": True,
    "weighted, recall": True,
    "resampled, mean probability": True,
    "resampled, recall": True,
    "focal, mean probability": True,
    "focal, recall": False,
    "threshold moved, mean probability": False,
    "threshold moved, recall": True,
}


# %% wrong="the mean weight times the mean price" says=["the weight belongs to each price, before the mean"]
def imbalance(logits, target, pos_weight=1.0, gamma=0.0):
    s = 2 * target - 1
    price = -(torch.sigmoid(-s * logits) ** gamma) * F.logsigmoid(s * logits)
    return price.mean() * (1 + (pos_weight - 1) * target.mean())


def recalibrate(logits, pos_weight):
    return torch.sigmoid(logits - math.log(pos_weight))


it_changes = {
    "weighted, mean probability": True,
    "weighted, recall": True,
    "resampled, mean probability": True,
    "resampled, recall": True,
    "focal, mean probability": True,
    "focal, recall": False,
    "threshold moved, mean probability": False,
    "threshold moved, recall": True,
}


# %% wrong="the weight is 19 by default" breaks="pos_weight: float = 1.0" says=["by default pos_weight is 1 and gamma is 0"]
def imbalance(logits, target, pos_weight=19.0, gamma=0.0):
    sign = target * 2 - 1
    logp = F.logsigmoid(logits * sign)
    miss = torch.sigmoid(-logits * sign)
    price = -logp * (1 if gamma == 0 else miss**gamma)
    return (price * torch.where(target == 1, pos_weight, 1.0)).mean()


def recalibrate(logits, pos_weight):
    return torch.sigmoid(
        logits - torch.tensor(pos_weight, dtype=torch.float64).log().to(logits.dtype)
    )


it_changes = {
    "weighted, mean probability": True,
    "weighted, recall": True,
    "resampled, mean probability": True,
    "resampled, recall": True,
    "focal, mean probability": True,
    "focal, recall": False,
    "threshold moved, mean probability": False,
    "threshold moved, recall": True,
}


# %% wrong="gamma is 2 by default" breaks="gamma: float = 0.0" says=["by default pos_weight is 1 and gamma is 0"]
def imbalance(logits, target, pos_weight=1.0, gamma=2.0):
    sign = target * 2 - 1
    logp = F.logsigmoid(logits * sign)
    miss = torch.sigmoid(-logits * sign)
    price = -logp * (1 if gamma == 0 else miss**gamma)
    return (price * torch.where(target == 1, pos_weight, 1.0)).mean()


def recalibrate(logits, pos_weight):
    return torch.sigmoid(
        logits - torch.tensor(pos_weight, dtype=torch.float64).log().to(logits.dtype)
    )


it_changes = {
    "weighted, mean probability": True,
    "weighted, recall": True,
    "resampled, mean probability": True,
    "resampled, recall": True,
    "focal, mean probability": True,
    "focal, recall": False,
    "threshold moved, mean probability": False,
    "threshold moved, recall": True,
}


# %% wrong="the factor for targets of 0 alone" says=["the factor belongs to both kinds of target, not to one alone"]
def imbalance(logits, target, pos_weight=1.0, gamma=0.0):
    z = torch.where(target == 1, logits, -logits)
    price = F.softplus(-z) * torch.where(target == 1, 1.0, torch.exp(-gamma * F.softplus(z)))
    price = torch.where(target == 1, pos_weight * price, price)
    return price.mean()


def recalibrate(logits, pos_weight):
    return torch.sigmoid(logits - math.log(pos_weight))


it_changes = {
    "weighted, mean probability": True,
    "weighted, recall": True,
    "resampled, mean probability": True,
    "resampled, recall": True,
    "focal, mean probability": True,
    "focal, recall": False,
    "threshold moved, mean probability": False,
    "threshold moved, recall": True,
}

# %% right="odds of the weighted probabilities"
import math


def imbalance(logits, target, pos_weight=1.0, gamma=0.0):
    sign = 2 * target - 1
    wrong = torch.sigmoid(-sign * logits)
    price = -(wrong**gamma) * F.logsigmoid(sign * logits)
    return (price * (1 + (pos_weight - 1) * target)).mean()


def recalibrate(logits, pos_weight):
    p = logits.sigmoid()
    return p / (p + pos_weight * (1 - p))


it_changes = {
    "weighted, mean probability": True,
    "weighted, recall": True,
    "resampled, mean probability": True,
    "resampled, recall": True,
    "focal, mean probability": True,
    "focal, recall": False,
    "threshold moved, mean probability": False,
    "threshold moved, recall": True,
}


# %% right="one less the probability of the other class"
import math


def imbalance(logits, target, pos_weight=1.0, gamma=0.0):
    sign = 2 * target - 1
    wrong = torch.sigmoid(-sign * logits)
    price = -(wrong**gamma) * F.logsigmoid(sign * logits)
    return (price * (1 + (pos_weight - 1) * target)).mean()


def recalibrate(logits, pos_weight):
    p = logits.sigmoid()
    return 1 - pos_weight * (1 - p) / (p + pos_weight * (1 - p))


it_changes = {
    "weighted, mean probability": True,
    "weighted, recall": True,
    "resampled, mean probability": True,
    "resampled, recall": True,
    "focal, mean probability": True,
    "focal, recall": False,
    "threshold moved, mean probability": False,
    "threshold moved, recall": True,
}


# %% wrong="gamma no larger than 2" breaks="`gamma` is 0 or at least 1" says=["gamma=4.0"]
def imbalance(logits, target, pos_weight=1.0, gamma=0.0):
    sign = 2 * target - 1
    log_p = F.logsigmoid(sign * logits)
    price = -log_p
    if gamma:
        price = price * torch.sigmoid(-sign * logits) ** min(gamma, 2)
    weight = torch.where(target == 1, pos_weight, 1.0).to(price)
    return (weight * price).mean()


def recalibrate(logits, pos_weight):
    return torch.sigmoid(logits - math.log(pos_weight))


it_changes = {
    "weighted, mean probability": True,
    "weighted, recall": True,
    "resampled, mean probability": True,
    "resampled, recall": True,
    "focal, mean probability": True,
    "focal, recall": False,
    "threshold moved, mean probability": False,
    "threshold moved, recall": True,
}


# %% wrong="a single target is taken for a 1" breaks="Let p be the probability of the right answer" says=["the target is 0.0"]
def imbalance(logits, target, pos_weight=1.0, gamma=0.0):
    sign = 2 * target - 1 if target.dim() else torch.ones_like(target)
    log_p = F.logsigmoid(sign * logits)
    price = -log_p
    if gamma:
        price = price * torch.sigmoid(-sign * logits) ** gamma
    weight = torch.where(target == 1, pos_weight, 1.0).to(price)
    return (weight * price).mean()


def recalibrate(logits, pos_weight):
    return torch.sigmoid(logits - math.log(pos_weight))


it_changes = {
    "weighted, mean probability": True,
    "weighted, recall": True,
    "resampled, mean probability": True,
    "resampled, recall": True,
    "focal, mean probability": True,
    "focal, recall": False,
    "threshold moved, mean probability": False,
    "threshold moved, recall": True,
}


# %% wrong="flattens both by view" says=["imbalance(…, 3.0, 2.0) with tensors that have gaps in memory"]
def imbalance(logits, target, pos_weight=1.0, gamma=0.0):
    z, y = logits.view(-1), target.view(-1)
    sign = 2 * y - 1
    price = -(gamma * F.logsigmoid(-sign * z)).exp() * F.logsigmoid(sign * z)
    return (price * (1 + (pos_weight - 1) * y)).mean()


def recalibrate(logits, pos_weight):
    return (logits.view(-1) - math.log(pos_weight)).sigmoid().view(logits.shape)


it_changes = {
    "weighted, mean probability": True,
    "weighted, recall": True,
    "resampled, mean probability": True,
    "resampled, recall": True,
    "focal, mean probability": True,
    "focal, recall": False,
    "threshold moved, mean probability": False,
    "threshold moved, recall": True,
}


# %% wrong="one buffer for all losses" says=["imbalance(…, 3.0, 2.0) a second time with the same tensors", "changes the result of the first time"]
kept = {}


def in_one_buffer(y):
    if y.requires_grad:
        return y
    return kept.setdefault((y.shape, y.dtype), torch.empty_like(y)).copy_(y)


def imbalance(logits, target, pos_weight=1.0, gamma=0.0):
    sign = 2 * target - 1
    wrong = torch.sigmoid(-sign * logits)
    price = -(wrong**gamma) * F.logsigmoid(sign * logits)
    return in_one_buffer((price * (1 + (pos_weight - 1) * target)).mean())


def recalibrate(logits, pos_weight):
    return torch.sigmoid(logits - math.log(pos_weight))


it_changes = {
    "weighted, mean probability": True,
    "weighted, recall": True,
    "resampled, mean probability": True,
    "resampled, recall": True,
    "focal, mean probability": True,
    "focal, recall": False,
    "threshold moved, mean probability": False,
    "threshold moved, recall": True,
}


# %% wrong="kept by its tensors" says=["imbalance(…, 3.0, 2.0) a second time with the same tensors, which had other numbers", "make each result anew"]
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


@by_its_tensors
def imbalance(logits, target, pos_weight=1.0, gamma=0.0):
    sign = 2 * target - 1
    wrong = torch.sigmoid(-sign * logits)
    price = -(wrong**gamma) * F.logsigmoid(sign * logits)
    return (price * (1 + (pos_weight - 1) * target)).mean()


def recalibrate(logits, pos_weight):
    return torch.sigmoid(logits - math.log(pos_weight))


it_changes = {
    "weighted, mean probability": True,
    "weighted, recall": True,
    "resampled, mean probability": True,
    "resampled, recall": True,
    "focal, mean probability": True,
    "focal, recall": False,
    "threshold moved, mean probability": False,
    "threshold moved, recall": True,
}


# %% wrong="the mean of each kind, times its share" says=["a mean over nothing is nan: there may be no target of a kind"]
def imbalance(logits, target, pos_weight=1.0, gamma=0.0):
    ill = target == 1
    share = ill.to(logits.dtype).mean()

    def mean_price(z):
        return (-F.logsigmoid(z) * torch.sigmoid(-z) ** gamma).mean()

    return pos_weight * share * mean_price(logits[ill]) + (1 - share) * mean_price(-logits[~ill])


def recalibrate(logits, pos_weight):
    return (logits - math.log(pos_weight)).sigmoid()


it_changes = {
    "weighted, mean probability": True,
    "weighted, recall": True,
    "resampled, mean probability": True,
    "resampled, recall": True,
    "focal, mean probability": True,
    "focal, recall": False,
    "threshold moved, mean probability": False,
    "threshold moved, recall": True,
}
