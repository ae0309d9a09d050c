# %% [markdown]
# Rules:
#
# - "p is the softmax probability of the target's class"
# - "0 < q ≤ 1"
# - "prices times the weights of their targets"
# - "divided by the sum of these weights"
# - "or is `None`"
# - "Value and gradient are finite for scores up to ±1000"
# - "Return a tensor of shape (), float64 for float64 logits"
# - "the same as a module"
# - "The weight, if there is one, moves with `.to(...)`"
# - "nothing in the module is trained"
# - "not even a weight that came as an `nn.Parameter`"
# - "Both pass `gradcheck`"
# - "Leave the arguments as they are"
# - "q: float = 0.7 ) -> torch.Tensor"
# - "weight: torch.Tensor | None = None, q: float = 0.7) -> None"
#
# Admits:
#
# - "q ≤ 1": three classes, none of the last, q = 1
# - "for scores up to ±1000": scores up to 1000
# - "float32 or float64": float64

# %% wrong="a power of the probability" breaks="Value and gradient are finite for scores up to ±1000" says=["scores up to 1000", "p ** q has no slope at 0"]
def custom_loss(logits, target, weight=None, q=0.7):
    p = logits.softmax(1).gather(1, target[:, None])[:, 0]
    price = (1 - p**q) / q
    w = torch.ones_like(price) if weight is None else weight[target]
    return (w * price).sum() / w.sum()


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        self.register_buffer("weight", weight)
        self.q = q

    def forward(self, logits, target):
        return custom_loss(logits, target, self.weight, self.q)


# %% wrong="the weight is an attribute" breaks="The weight, if there is one, moves with `.to(...)`" says=["these stay behind: ['weight']"]
def custom_loss(logits, target, weight=None, q=0.7):
    log_p = logits.log_softmax(1).gather(1, target[:, None])[:, 0]
    price = (1 - (q * log_p).exp()) / q
    w = torch.ones_like(price) if weight is None else weight[target]
    return (w * price).sum() / w.sum()


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        self.weight = weight
        self.q = q

    def forward(self, logits, target):
        return custom_loss(logits, target, self.weight, self.q)


# %% wrong="the weight is a Parameter" breaks="nothing in the module is trained" says=["1 of its parameters would be trained"]
def custom_loss(logits, target, weight=None, q=0.7):
    log_p = logits.log_softmax(1).gather(1, target[:, None])[:, 0]
    price = (1 - (q * log_p).exp()) / q
    w = torch.ones_like(price) if weight is None else weight[target]
    return (w * price).sum() / w.sum()


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        self.weight = None if weight is None else nn.Parameter(weight)
        self.q = q

    def forward(self, logits, target):
        return custom_loss(logits, target, self.weight, self.q)


# %% wrong="a plain mean of weighted prices" breaks="divided by the sum of these weights" says=["divided by the number of rows, not by the weights"]
def custom_loss(logits, target, weight=None, q=0.7):
    log_p = logits.log_softmax(1).gather(1, target[:, None])[:, 0]
    price = (1 - (q * log_p).exp()) / q
    return price.mean() if weight is None else (weight[target] * price).mean()


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        self.register_buffer("weight", weight)
        self.q = q

    def forward(self, logits, target):
        return custom_loss(logits, target, self.weight, self.q)


# %% wrong="forgets the division by q" says=["the division by q is missing"]
def custom_loss(logits, target, weight=None, q=0.7):
    log_p = logits.log_softmax(1).gather(1, target[:, None])[:, 0]
    price = 1 - (q * log_p).exp()
    w = torch.ones_like(price) if weight is None else weight[target]
    return (w * price).sum() / w.sum()


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        self.register_buffer("weight", weight)
        self.q = q

    def forward(self, logits, target):
        return custom_loss(logits, target, self.weight, self.q)


# %% wrong="the module forgets its weight" says=["the module's loss", "the weights are missing"]
def custom_loss(logits, target, weight=None, q=0.7):
    log_p = logits.log_softmax(1).gather(1, target[:, None])[:, 0]
    price = (1 - (q * log_p).exp()) / q
    w = torch.ones_like(price) if weight is None else weight[target]
    return (w * price).sum() / w.sum()


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        self.q = q

    def forward(self, logits, target):
        return custom_loss(logits, target, None, self.q)


# %% wrong="works in float32" breaks="Return a tensor of shape (), float64 for float64 logits" says=["fails gradcheck"]
def custom_loss(logits, target, weight=None, q=0.7):
    log_p = logits.float().log_softmax(1).gather(1, target[:, None])[:, 0]
    price = (1 - (q * log_p).exp()) / q
    w = torch.ones_like(price) if weight is None else weight[target]
    return (w * price).sum() / w.sum()


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        self.register_buffer("weight", weight)
        self.q = q

    def forward(self, logits, target):
        return custom_loss(logits, target, self.weight, self.q)


# %% wrong="detaches the power" breaks="Both pass `gradcheck`" says=["the gradient through the function"]
def custom_loss(logits, target, weight=None, q=0.7):
    log_p = logits.log_softmax(1).gather(1, target[:, None])[:, 0]
    price = (1 - log_p.exp() * ((q - 1) * log_p).exp().detach()) / q
    w = torch.ones_like(price) if weight is None else weight[target]
    return (w * price).sum() / w.sum()


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        self.register_buffer("weight", weight)
        self.q = q

    def forward(self, logits, target):
        return custom_loss(logits, target, self.weight, self.q)


# %% wrong="nothing yet" says=["the function returned None: is there an answer yet"]
def custom_loss(logits, target, weight=None, q=0.7):
    # YOUR CODE HERE
    ...


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        # YOUR CODE HERE

    def forward(self, logits, target):
        # YOUR CODE HERE
        ...


# %% wrong="only the function" says=["the module returned None: is there an answer yet"]
def custom_loss(logits, target, weight=None, q=0.7):
    log_p = logits.log_softmax(1).gather(1, target[:, None])[:, 0]
    price = (1 - (q * log_p).exp()) / q
    w = torch.ones_like(price) if weight is None else weight[target]
    return (w * price).sum() / w.sum()


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()

    def forward(self, logits, target):
        pass


# %% wrong="class weights handed to cross_entropy" says=["the weight belongs before the price, not into p"]
def custom_loss(logits, target, weight=None, q=0.7):
    ce = F.cross_entropy(logits, target, weight=weight, reduction="none")
    price = -torch.expm1(-q * ce) / q
    if weight is None:
        return price.mean()
    return price.sum() / weight[target].sum()


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        self.register_buffer("weight", weight)
        self.q = q

    def forward(self, logits, target):
        return custom_loss(logits, target, self.weight, self.q)


# %% right="from the library's cross-entropy, the weight as a list"
def custom_loss(logits, target, weight=None, q=0.7):
    price = F.cross_entropy(logits, target, reduction="none").mul(-q).expm1().neg() / q
    if weight is None:
        return price.mean()
    share = weight.gather(0, target)
    return torch.dot(price, (share / share.sum()).to(price.dtype))


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        self.numbers = None if weight is None else weight.tolist()
        self.q = q

    def forward(self, logits, target):
        weight = None if self.numbers is None else logits.new_tensor(self.numbers)
        return custom_loss(logits, target, weight, self.q)


# %% right="one-hot sums; the module does the work, in a part of its own"
def custom_loss(logits, target, weight=None, q=0.7):
    return CustomLoss(weight, q)(logits, target)


class Share(nn.Module):
    def __init__(self, weight):
        super().__init__()
        self.register_buffer("table", None if weight is None else weight.clone(), persistent=False)

    def forward(self, hot):
        return hot.sum(1) if self.table is None else (hot * self.table).sum(1)


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        self.share, self.q = Share(weight), q

    def forward(self, logits, target):
        hot = F.one_hot(target, logits.shape[1]).to(logits.dtype)
        log_p = ((logits - logits.logsumexp(1, True)) * hot).sum(1)
        share = self.share(hot)
        return (share * (1 - torch.exp(self.q * log_p)) / self.q).sum() / share.sum()


# %% wrong="p clamped at 1e-12" says=["p was clamped"]
def custom_loss(logits, target, weight=None, q=0.7):
    p = logits.softmax(1).gather(1, target[:, None])[:, 0].clamp(min=1e-12)
    price = (1 - p**q) / q
    if weight is None:
        return price.mean()
    w = weight[target]
    return (w * price).sum() / w.sum()


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        self.register_buffer("weight", weight)
        self.q = q

    def forward(self, logits, target):
        return custom_loss(logits, target, self.weight, self.q)


# %% wrong="p plus 1e-8" says=["something small was added"]
def custom_loss(logits, target, weight=None, q=0.7):
    p = logits.softmax(1).gather(1, target[:, None])[:, 0]
    price = (1 - (p + 1e-8) ** q) / q
    if weight is None:
        return price.mean()
    w = weight[target]
    return (w * price).sum() / w.sum()


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        self.register_buffer("weight", weight)
        self.q = q

    def forward(self, logits, target):
        return custom_loss(logits, target, self.weight, self.q)


# %% wrong="the weight inside cross_entropy" breaks="prices times the weights of their targets" says=["the weight belongs before the price"]
def custom_loss(logits, target, weight=None, q=0.7):
    logp = -F.cross_entropy(logits, target, weight, reduction="none")
    return ((1 - torch.exp(q * logp)) / q).mean()


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        self.register_buffer("weight", weight)
        self.q = q

    def forward(self, logits, target):
        return custom_loss(logits, target, self.weight, self.q)


# %% wrong="module forgets q" breaks="the same as a module" says=["q = 0.7 was taken"]
def custom_loss(logits, target, weight=None, q=0.7):
    logp = logits.log_softmax(1).gather(1, target[:, None])[:, 0]
    price = (1 - torch.exp(q * logp)) / q
    if weight is None:
        return price.mean()
    w = weight[target]
    return (w * price).sum() / w.sum()


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        self.register_buffer("weight", weight)

    def forward(self, logits, target):
        return custom_loss(logits, target, self.weight)


# %% right="expm1, one-hot, einsum"
def custom_loss(logits, target, weight=None, q=0.7):
    chosen = F.one_hot(target, logits.shape[1]).to(logits.dtype)
    logp = torch.einsum("nc,nc->n", logits.log_softmax(dim=-1), chosen)
    w = torch.ones_like(logp) if weight is None else chosen @ weight.to(logits.dtype)
    return (w / w.sum()) @ (-torch.expm1(q * logp) / q)


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        if weight is None:
            self.weight = None
        else:
            self.register_buffer("weight", weight.clone())
        self.q = float(q)

    def forward(self, logits, target):
        return custom_loss(logits, target, weight=self.weight, q=self.q)


# %% right="subclass of CrossEntropyLoss"
class CustomLoss(nn.CrossEntropyLoss):
    def __init__(self, weight=None, q=0.7):
        super().__init__(weight=weight)
        self.q = q

    def forward(self, logits, target):
        price = F.cross_entropy(logits, target, reduction="none")
        loss = (1 - torch.exp(-self.q * price)) / self.q
        w = torch.ones_like(price) if self.weight is None else self.weight.index_select(0, target)
        return torch.sum(w * loss) / torch.sum(w)


def custom_loss(logits, target, weight=None, q=0.7):
    return CustomLoss(weight, q)(logits, target)


# %% right="the weight as a frozen parameter"
def custom_loss(logits, target, weight=None, q=0.7):
    log_p = -F.cross_entropy(logits, target, reduction="none")
    price = -torch.expm1(q * log_p) / q
    return price.mean() if weight is None else (weight[target] * price).sum() / weight[target].sum()


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        frozen = None if weight is None else nn.Parameter(weight, requires_grad=False)
        self.weight, self.q = frozen, q

    def forward(self, logits, target):
        return custom_loss(logits, target, self.weight, self.q)


# %% right="float64 inside"
def custom_loss(logits, target, weight=None, q=0.7):
    log_p = logits.double().log_softmax(1).gather(1, target[:, None])[:, 0]
    price = -torch.expm1(q * log_p) / q
    if weight is None:
        return price.mean()
    w = weight[target]
    return (w * price).sum() / w.sum()


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        self.register_buffer("weight", weight)
        self.q = q

    def forward(self, logits, target):
        return custom_loss(logits, target, self.weight, self.q)


# %% wrong="the weight is hidden in a list" says=["these stay behind: ['_w']"]
def custom_loss(logits, target, weight=None, q=0.7):
    log_p = logits.log_softmax(1).gather(1, target[:, None])[:, 0]
    price = -torch.expm1(q * log_p) / q
    if weight is None:
        return price.mean()
    w = weight[target]
    return (w * price).sum() / w.sum()


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        self._w = [weight]
        self.q = q

    def forward(self, logits, target):
        return custom_loss(
            logits, target, None if self._w[0] is None else self._w[0].to(logits), self.q
        )


# %% wrong="weight and q belong to the class" says=["keep weight and q in self"]
def custom_loss(logits, target, weight=None, q=0.7):
    log_p = logits.log_softmax(1).gather(1, target[:, None])[:, 0]
    price = -torch.expm1(q * log_p) / q
    if weight is None:
        return price.mean()
    w = weight[target]
    return (w * price).sum() / w.sum()


class CustomLoss(nn.Module):
    weight, q = None, 0.7

    def __init__(self, weight=None, q=0.7):
        super().__init__()
        CustomLoss.weight, CustomLoss.q = weight, q

    def forward(self, logits, target):
        return custom_loss(logits, target, CustomLoss.weight, CustomLoss.q)


# %% wrong="weights summed over all classes" says=["not those of all classes"]
def custom_loss(logits, target, weight=None, q=0.7):
    log_p = logits.log_softmax(1).gather(1, target[:, None])[:, 0]
    price = -torch.expm1(q * log_p) / q
    if weight is None:
        return price.mean()
    w = weight[target]
    return (w * price).sum() / weight.sum()


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        self.register_buffer("weight", weight)
        self.q = q

    def forward(self, logits, target):
        return custom_loss(logits, target, self.weight, self.q)


# %% wrong="super().__init__() is missing" says=["begins with super().__init__()"]
def custom_loss(logits, target, weight=None, q=0.7):
    lp = logits.log_softmax(1)[torch.arange(len(target)), target]
    price = (1 - torch.exp(q * lp)) / q
    w = torch.ones_like(price) if weight is None else weight[target]
    return (w * price).sum() / w.sum()


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        self.weight, self.q = weight, q

    def forward(self, logits, target):
        return custom_loss(logits, target, self.weight, self.q)


# %% wrong="one_hot guesses the number of classes" breaks="p is the softmax probability of the target's class" says=["three classes, none of the last"]
def custom_loss(logits, target, weight=None, q=0.7):
    log_p = (F.one_hot(target).to(logits.dtype) * logits.log_softmax(1)).sum(1)
    price = -torch.expm1(q * log_p) / q
    share = torch.ones_like(price) if weight is None else weight[target]
    return (share * price).sum() / share.sum()


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        self.register_buffer("weight", weight)
        self.q = q

    def forward(self, logits, target):
        return custom_loss(logits, target, self.weight, self.q)


# %% wrong="two classes, always" says=["three classes, none of the last"]
def custom_loss(logits, target, weight=None, q=0.7):
    p0 = logits[:, :2].log_softmax(1).gather(1, target[:, None])[:, 0]
    price = -torch.expm1(q * p0) / q
    share = torch.ones_like(price) if weight is None else weight[target]
    return (share * price).sum() / share.sum()


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        self.register_buffer("weight", weight)
        self.q = q

    def forward(self, logits, target):
        return custom_loss(logits, target, self.weight, self.q)


# %% wrong="weight in a closure" says=["in a closure or an object"]
def custom_loss(logits, target, weight=None, q=0.7):
    log_p = logits.log_softmax(dim=1).gather(1, target[:, None]).squeeze(1)
    price = -torch.expm1(q * log_p) / q
    w = torch.ones_like(price) if weight is None else weight[target]
    return (w * price).sum() / w.sum()


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        self.call = lambda z, y: custom_loss(z, y, weight, q)

    def forward(self, logits, target):
        return self.call(logits, target)


# %% wrong="weight in an object" says=["in a closure or an object"]
def custom_loss(logits, target, weight=None, q=0.7):
    log_p = logits.log_softmax(dim=1).gather(1, target[:, None]).squeeze(1)
    price = -torch.expm1(q * log_p) / q
    w = torch.ones_like(price) if weight is None else weight[target]
    return (w * price).sum() / w.sum()


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        from types import SimpleNamespace

        self.kept = SimpleNamespace(weight=weight)
        self.q = q

    def forward(self, logits, target):
        return custom_loss(logits, target, self.kept.weight, self.q)


# %% wrong="weight in a nested list" says=["in a closure or an object"]
def custom_loss(logits, target, weight=None, q=0.7):
    log_p = logits.log_softmax(dim=1).gather(1, target[:, None]).squeeze(1)
    price = -torch.expm1(q * log_p) / q
    w = torch.ones_like(price) if weight is None else weight[target]
    return (w * price).sum() / w.sum()


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        self.kept = [(weight,)]
        self.q = q

    def forward(self, logits, target):
        return custom_loss(logits, target, self.kept[0][0], self.q)


# %% wrong="weight in training mode only" says=["the weights are missing"]
def custom_loss(logits, target, weight=None, q=0.7):
    log_p = logits.log_softmax(dim=1).gather(1, target[:, None]).squeeze(1)
    price = -torch.expm1(q * log_p) / q
    w = torch.ones_like(price) if weight is None else weight[target]
    return (w * price).sum() / w.sum()


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        self.register_buffer("weight", weight)
        self.q = q

    def forward(self, logits, target):
        return custom_loss(logits, target, self.weight if self.training else None, self.q)


# %% wrong="q in a float32 buffer" says=["rounded on the way"]
def custom_loss(logits, target, weight=None, q=0.7):
    log_p = logits.log_softmax(dim=1).gather(1, target[:, None]).squeeze(1)
    price = -torch.expm1(q * log_p) / q
    w = torch.ones_like(price) if weight is None else weight[target]
    return (w * price).sum() / w.sum()


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        self.register_buffer("weight", weight)
        self.register_buffer("q", torch.tensor(q))

    def forward(self, logits, target):
        return custom_loss(logits, target, self.weight, self.q)


# %% wrong="a small q made larger" breaks="0 < q ≤ 1" says=["a small q: q=0.02, the function's loss: expected 41.442, got 8.3333"]
def custom_loss(logits, target, weight=None, q=0.7):
    q = max(q, 0.1)
    log_p = logits.log_softmax(1).gather(1, target[:, None])[:, 0]
    price = -torch.expm1(q * log_p) / q
    w = torch.ones_like(price) if weight is None else weight[target]
    return (price * w).sum() / w.sum()


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        self.register_buffer("weight", weight)
        self.q = q

    def forward(self, logits, target):
        return custom_loss(logits, target, self.weight, self.q)


# %% wrong="a constant price where p is 0" says=["p was clamped, or something added to it, or is 0"]
def custom_loss(logits, target, weight=None, q=0.7):
    p = logits.softmax(1).gather(1, target[:, None])[:, 0]
    safe = torch.where(p > 0, p, 1.0)
    price = torch.where(p > 0, (1 - safe**q) / q, 1 / q)
    w = torch.ones_like(price) if weight is None else weight[target]
    return (price * w).sum() / w.sum()


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        self.register_buffer("weight", weight)
        self.q = q

    def forward(self, logits, target):
        return custom_loss(logits, target, self.weight, self.q)


# %% right="a mask of the right class, nn.Buffer"
def custom_loss(logits, target, weight=None, q=0.7):
    classes = torch.arange(logits.shape[1], device=logits.device)
    log_p = (logits - logits.logsumexp(1, keepdim=True))[classes == target[:, None]]
    w = torch.ones_like(log_p) if weight is None else weight.to(log_p)[target]
    return w @ ((1 - torch.exp(q * log_p)) / q) / w.sum()


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        self.weight = None if weight is None else nn.Buffer(weight.clone())
        self.q = float(q)

    def forward(self, logits, target):
        return custom_loss(logits, target, self.weight, self.q)


# %% wrong="two ones where there is no weight" breaks="or is `None`" says=["three classes, q = 0.4: raised IndexError"]
def custom_loss(logits, target, weight=None, q=0.7):
    log_p = logits.log_softmax(1)[torch.arange(len(target), device=target.device), target]
    price = -torch.expm1(q * log_p) / q
    if weight is None:
        return price.mean()
    w = weight[target]
    return (price * w).sum() / w.sum()


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        self.register_buffer("weight", torch.ones(2) if weight is None else weight)
        self.q = q

    def forward(self, logits, target):
        return custom_loss(logits, target, self.weight.to(logits), self.q)


# %% wrong="scales the weight in place" breaks="Leave the arguments as they are" says=["weights 1 and 4: an argument was changed"]
def custom_loss(logits, target, weight=None, q=0.7):
    logp = logits.log_softmax(1).gather(1, target[:, None])[:, 0]
    price = -torch.expm1(q * logp) / q
    if weight is None:
        return price.mean()
    weight /= weight.sum()
    w = weight[target].to(logits.dtype)
    return (price * w).sum() / w.sum()


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        self.register_buffer("weight", None if weight is None else weight.detach().clone())
        self.q = q

    def forward(self, logits, target):
        return custom_loss(logits, target, self.weight, self.q)


# %% wrong="another q by default" breaks="q: float = 0.7 ) -> torch.Tensor" says=["the function's loss: expected 0.74898, got 0.87517", "q is 0.7"]
def custom_loss(logits, target, weight=None, q=0.5):
    logp = logits.log_softmax(1).gather(1, target[:, None])[:, 0]
    price = -torch.expm1(q * logp) / q
    if weight is None:
        return price.mean()
    w = weight[target].to(logits.dtype)
    return (price * w).sum() / w.sum()


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        self.register_buffer("weight", None if weight is None else weight.detach().clone())
        self.q = q

    def forward(self, logits, target):
        return custom_loss(logits, target, self.weight, self.q)


# %% wrong="the module has another q by default" breaks="weight: torch.Tensor | None = None, q: float = 0.7) -> None" says=["the module's loss: expected 0.74898, got 0.87517", "q is 0.7"]
def custom_loss(logits, target, weight=None, q=0.7):
    logp = logits.log_softmax(1).gather(1, target[:, None])[:, 0]
    price = -torch.expm1(q * logp) / q
    if weight is None:
        return price.mean()
    w = weight[target].to(logits.dtype)
    return (price * w).sum() / w.sum()


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.5):
        super().__init__()
        self.register_buffer("weight", None if weight is None else weight.detach().clone())
        self.q = q

    def forward(self, logits, target):
        return custom_loss(logits, target, self.weight, self.q)


# %% wrong="the logarithm of p cut off" says=["the logarithm of p was cut off: it may be as low as -2000"]
def custom_loss(logits, target, weight=None, q=0.7):
    log_p = logits.log_softmax(dim=1)[torch.arange(len(target), device=target.device), target]
    price = -torch.expm1(q * log_p.clamp(min=-16.0)) / q
    if weight is None:
        return price.mean()
    share = weight[target]
    return (price * share).sum() / share.sum()


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        self.q = q
        self.register_buffer("weight", weight)

    def forward(self, logits, target):
        return custom_loss(logits, target, self.weight, self.q)


# %% wrong="the first batch's targets are kept" says=["the module keeps something of an earlier batch (seen): each call is its own"]
def custom_loss(logits, target, weight=None, q=0.7):
    log_p = logits.log_softmax(dim=1)[torch.arange(len(target), device=target.device), target]
    price = -torch.expm1(q * log_p) / q
    if weight is None:
        return price.mean()
    share = weight[target]
    return (price * share).sum() / share.sum()


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        self.q = q
        self.register_buffer("weight", weight)

    def forward(self, logits, target):
        if not hasattr(self, "seen"):
            self.seen = target
        w = None if self.weight is None else self.weight
        price = (
            -torch.expm1(self.q * logits.log_softmax(dim=1).gather(1, target[:, None])[:, 0])
            / self.q
        )
        if w is None:
            return price.mean()
        return (price * w[target]).sum() / w[self.seen].sum()


# %% wrong="the first batch's sum of weights is kept" says=["the module keeps something of an earlier batch, as its loss tells"]
def custom_loss(logits, target, weight=None, q=0.7):
    log_p = logits.log_softmax(dim=1)[torch.arange(len(target), device=target.device), target]
    price = -torch.expm1(q * log_p) / q
    if weight is None:
        return price.mean()
    share = weight[target]
    return (price * share).sum() / share.sum()


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        self.q = q
        self.register_buffer("weight", weight)

    def forward(self, logits, target):
        if not hasattr(self, "total"):
            self.total = None if self.weight is None else self.weight[target].sum().item()
        w = None if self.weight is None else self.weight
        price = (
            -torch.expm1(self.q * logits.log_softmax(dim=1).gather(1, target[:, None])[:, 0])
            / self.q
        )
        if w is None:
            return price.mean()
        return (price * w[target]).sum() / self.total


# %% wrong="ones for ten classes where there is no weight" says=["twelve classes: raised IndexError"]
def custom_loss(logits, target, weight=None, q=0.7):
    log_p = logits.log_softmax(1).gather(1, target[:, None])[:, 0]
    price = -torch.expm1(q * log_p) / q
    w = torch.ones_like(price) if weight is None else weight[target]
    return (price * w).sum() / w.sum()


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        self.register_buffer("weight", torch.ones(10) if weight is None else weight)
        self.q = q

    def forward(self, logits, target):
        return custom_loss(logits, target, self.weight, self.q)


# %% wrong="ones for no weight, kept from the first batch" says=["the module keeps something of an earlier batch: for 2 classes it raises IndexError after 1"]
def custom_loss(logits, target, weight=None, q=0.7):
    log_p = logits.log_softmax(dim=1).gather(1, target[:, None])[:, 0]
    price = -torch.expm1(q * log_p) / q
    if weight is None:
        return price.mean()
    w = weight[target]
    return (w * price).sum() / w.sum()


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        self.register_buffer("weight", weight)
        self.q = q

    def forward(self, logits, target):
        if self.weight is None:
            self.weight = torch.ones(logits.shape[1])
        return custom_loss(logits, target, self.weight, self.q)


# %% wrong="a single row times its weight" says=["one row, weights 1 and 4"]
def custom_loss(logits, target, weight=None, q=0.7):
    log_p = logits.log_softmax(dim=1).gather(1, target[:, None])[:, 0]
    price = -torch.expm1(q * log_p) / q
    if weight is None:
        return price.mean()
    w = weight[target]
    return (w * price).sum() / w.sum()


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        self.register_buffer("weight", weight)
        self.q = q

    def forward(self, logits, target):
        if len(logits) == 1:
            return custom_loss(logits, target, None, self.q) * (
                1 if self.weight is None else self.weight[target][0]
            )
        return custom_loss(logits, target, self.weight, self.q)


# %% wrong="one buffer for all losses" says=["custom_loss(…) a second time with the same tensors", "changes the result of the first time"]
kept = {}


def in_one_buffer(y):
    if y.requires_grad:
        return y
    return kept.setdefault((y.dtype, y.device), torch.empty_like(y)).copy_(y)


def custom_loss(logits, target, weight=None, q=0.7):
    log_p = logits.log_softmax(1).gather(1, target[:, None])[:, 0]
    price = -torch.expm1(q * log_p) / q
    w = torch.ones_like(price) if weight is None else weight[target]
    return in_one_buffer((w * price).sum() / w.sum())


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        self.register_buffer("weight", weight)
        self.q = q

    def forward(self, logits, target):
        return custom_loss(logits, target, self.weight, self.q)


# %% wrong="gradients are switched on and stay on" says=["custom_loss(…) inside torch.no_grad() changes the caller's grad mode"]
def custom_loss(logits, target, weight=None, q=0.7):
    torch.set_grad_enabled(True)
    log_p = logits.log_softmax(1).gather(1, target[:, None])[:, 0]
    price = -torch.expm1(q * log_p) / q
    w = torch.ones_like(price) if weight is None else weight[target]
    return (w * price).sum() / w.sum()


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        self.register_buffer("weight", weight)
        self.q = q

    def forward(self, logits, target):
        return custom_loss(logits, target, self.weight, self.q)


# %% right="nll_loss of prices, which takes no weight that wants a gradient"
def custom_loss(logits, target, weight=None, q=0.7):
    gain = torch.expm1(q * F.log_softmax(logits, dim=-1)) / q
    return F.nll_loss(gain, target, None if weight is None else weight.to(gain))


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        self.power = float(q)
        self.register_buffer("balance", None if weight is None else weight.detach().clone())

    def forward(self, logits, target):
        return custom_loss(logits, target, weight=self.balance, q=self.power)


# %% wrong="p held at the smallest normal number" says=["scores up to 1000, a small q: q=0.02", "p was clamped, or something added to it"]
def custom_loss(logits, target, weight=None, q=0.7):
    p = logits.softmax(dim=1).gather(1, target[:, None])[:, 0]
    price = -torch.expm1(q * p.clamp(min=torch.finfo(p.dtype).tiny).log()) / q
    w = torch.ones_like(price) if weight is None else weight[target]
    return (w * price).sum() / w.sum()


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        self.register_buffer("weight", weight)
        self.q = q

    def forward(self, logits, target):
        return custom_loss(logits, target, self.weight, self.q)


# %% wrong="scores that an operator made are detached" says=["no gradient flows through what the function returned"]
def custom_loss(logits, target, weight=None, q=0.7):
    logits = logits if logits.is_leaf else logits.detach()
    log_p = logits.log_softmax(1).gather(1, target[:, None])[:, 0]
    price = -torch.expm1(q * log_p) / q
    w = torch.ones_like(price) if weight is None else weight[target]
    return (w * price).sum() / w.sum()


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        self.register_buffer("weight", weight)
        self.q = q

    def forward(self, logits, target):
        return custom_loss(logits, target, self.weight, self.q)


# %% wrong="the sum of weights is at least 0.001" breaks="divided by the sum of these weights" says=["1 of 10 cases fail", "scores up to 1000, a small q: q=0.02, the function's loss: expected 41.442"]
def custom_loss(logits, target, weight=None, q=0.7):
    log_p = logits.log_softmax(1).gather(1, target[:, None])[:, 0]
    price = -torch.expm1(q * log_p) / q
    w = torch.ones_like(price) if weight is None else weight[target]
    return (w * price).sum() / w.sum().clamp_min(1e-3)


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        self.register_buffer("weight", weight)
        self.q = q

    def forward(self, logits, target):
        return custom_loss(logits, target, self.weight, self.q)


# %% wrong="weights of mean 1, and a plain mean" says=["the weights of the targets stand below the bar"]
def custom_loss(logits, target, weight=None, q=0.7):
    log_p = logits.log_softmax(1).gather(1, target[:, None])[:, 0]
    price = -torch.expm1(q * log_p) / q
    if weight is None:
        return price.mean()
    w = weight / weight.mean()
    return (price * w[target]).mean()


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        self.register_buffer("weight", weight)
        self.q = q

    def forward(self, logits, target):
        return custom_loss(logits, target, self.weight, self.q)


# %% wrong="a weight that came as a Parameter is assigned" breaks="not even a weight that came as an `nn.Parameter`" says=["becomes one of the module's, and would be trained"]
def custom_loss(logits, target, weight=None, q=0.7):
    log_p = logits.log_softmax(dim=1).gather(1, target[:, None]).squeeze(1)
    price = -torch.expm1(q * log_p) / q
    w = torch.ones_like(price) if weight is None else weight.to(logits)[target]
    return (w * price).sum() / w.sum()


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        self.register_buffer("weight", None)
        self.weight = weight
        self.q = q

    def forward(self, logits, target):
        return custom_loss(logits, target, self.weight, self.q)


# %% wrong="a weight in a partial, brought over by each call" breaks="The weight, if there is one, moves with `.to(...)`" says=["a tensor stays behind, in a closure or an object"]
def custom_loss(logits, target, weight=None, q=0.7):
    log_p = logits.log_softmax(dim=1).gather(1, target[:, None]).squeeze(1)
    price = -torch.expm1(q * log_p) / q
    w = torch.ones_like(price) if weight is None else weight.to(logits)[target]
    return (w * price).sum() / w.sum()


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        from functools import partial

        self.call = partial(custom_loss, weight=weight, q=q)

    def forward(self, logits, target):
        return self.call(logits, target)


# %% wrong="a weight in a closure, brought over by each call" says=["a tensor stays behind, in a closure or an object"]
def custom_loss(logits, target, weight=None, q=0.7):
    log_p = logits.log_softmax(dim=1).gather(1, target[:, None]).squeeze(1)
    price = -torch.expm1(q * log_p) / q
    w = torch.ones_like(price) if weight is None else weight.to(logits)[target]
    return (w * price).sum() / w.sum()


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        self.call = lambda logits, target: custom_loss(logits, target, weight, q)

    def forward(self, logits, target):
        return self.call(logits, target)


# %% wrong="freezes the weight that it is given" breaks="Leave the arguments as they are" says=["CustomLoss froze the weight that it was given", "weight.detach()"]
def custom_loss(logits, target, weight=None, q=0.7):
    log_p = logits.log_softmax(dim=1).gather(1, target[:, None])[:, 0]
    price = -torch.expm1(q * log_p) / q
    weight = torch.ones_like(price) if weight is None else weight[target]
    return (weight * price).sum() / weight.sum()


class CustomLoss(nn.Module):
    def __init__(self, weight=None, q=0.7):
        super().__init__()
        if isinstance(weight, nn.Parameter):
            weight.requires_grad_(False)
        self.register_buffer("weight", None if weight is None else weight.detach())
        self.q = q

    def forward(self, logits, target):
        return custom_loss(logits, target, self.weight, self.q)
