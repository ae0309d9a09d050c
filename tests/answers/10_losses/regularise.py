# %% [markdown]
# Rules:
#
# - "`l1` times the sum of |w|"
# - "`l2` times the sum of w²"
# - "over all entries of the model's parameters"
# - "that have at least two dimensions"
# - "aren't frozen (`requires_grad` is `True`)"
# - "A parameter that is used twice counts once"
# - "Modules may be nested"
# - "Return a tensor of shape (), float64 if they are"
# - "through which a gradient flows to them"
# - "even where `l1` and `l2` are 0"
# - "where there are no such parameters, a zero"
# - "Leave the model as it is"
# - "its `.grad`"
# - "its mode (train or eval) too"
# - "soft thresholding"
# - "in a new tensor of the same shape and dtype"
# - "`step` is a number, 0 or more"
#
# Admits:
#
# - "A parameter that is used twice": tied
# - "Modules may be nested": nested
# - "aren't frozen (`requires_grad` is `True`)": frozen
# - "where there are no such parameters": vectors only
# - "0 or more": a step of 0

# %% wrong="all parameters" breaks="that have at least two dimensions" says=["biases and other vectors are counted, too"]
def regularise(model, l1, l2):
    return sum(l1 * p.abs().sum() + l2 * p.pow(2).sum() for p in model.parameters())


def shrink(weight, step):
    return weight - step * weight.sign()


# %% wrong="by name, which misses the norm layers" says=["model 'nested'", "scales of normalisation layers are counted"]
def regularise(model, l1, l2):
    total = torch.zeros((), device=device)
    for name, p in model.named_parameters():
        if "bias" not in name and p.requires_grad:
            total = total + l1 * p.abs().sum() + l2 * p.pow(2).sum()
    return total


def shrink(weight, step):
    return weight * (weight.abs() > step)


# %% wrong="frozen ones, too" breaks="aren't frozen (`requires_grad` is `True`)" says=["model 'frozen'", "a frozen parameter is counted"]
def regularise(model, l1, l2):
    total = torch.zeros((), device=device)
    for p in model.parameters():
        if p.dim() > 1:
            total = total + l1 * p.abs().sum() + l2 * p.pow(2).sum()
    return total


def shrink(weight, step):
    weight.copy_(weight.sign() * (weight.abs() - step).clamp(min=0))
    return weight


# %% wrong="walks the modules, so tied weights count twice" breaks="A parameter that is used twice counts once" says=["model 'tied'", "a parameter that is used twice counts once"]
def regularise(model, l1, l2):
    total = torch.zeros((), device=device)
    for name, p in model.named_parameters(remove_duplicate=False):
        if p.dim() > 1 and p.requires_grad:
            total = total + l1 * p.abs().sum() + l2 * p.pow(2).sum()
    return total


def shrink(weight, step):
    return (weight - step).clamp(min=0)


# %% wrong="half of the squares" says=["there is no factor of one half"]
def regularise(model, l1, l2):
    total = torch.zeros((), device=device)
    for p in model.parameters():
        if p.dim() > 1 and p.requires_grad:
            total = total + l1 * p.abs().sum() + l2 / 2 * p.pow(2).sum()
    return total


def shrink(weight, step):
    return None


# %% wrong="the length" breaks="`l2` times the sum of w²" says=["a sum of squares, without a root"]
def regularise(model, l1, l2):
    total = torch.zeros((), device=device)
    for p in model.parameters():
        if p.dim() > 1 and p.requires_grad:
            total = total + l1 * p.abs().sum() + l2 * p.norm()
    return total


def shrink(weight, step):
    return weight - step * weight.sign()


# %% wrong="no tensor where there is nothing" breaks="where there are no such parameters, a zero" says=["model 'vectors only'", "not a tensor: a zero is asked for as a tensor"]
def regularise(model, l1, l2):
    chosen = [p for p in model.parameters() if p.dim() > 1 and p.requires_grad]
    return sum(l1 * p.abs().sum() + l2 * p.square().sum() for p in chosen)


def shrink(weight, step):
    return weight - step * weight.sign()


# %% wrong="detached" breaks="through which a gradient flows to them" says=["a gradient flows to []"]
def regularise(model, l1, l2):
    total = torch.zeros((), device=device)
    with torch.no_grad():
        for p in model.parameters():
            if p.dim() > 1 and p.requires_grad:
                total = total + l1 * p.abs().sum() + l2 * p.square().sum()
    return total


def shrink(weight, step):
    return F.softshrink(weight, step)


# %% wrong="goes beyond zero" says=["small weights went beyond 0"]
def regularise(model, l1, l2):
    total = torch.zeros((), device=device)
    for p in model.parameters():
        if p.dim() > 1 and p.requires_grad:
            total = total + l1 * p.abs().sum() + l2 * p.square().sum()
    return total


def shrink(weight, step):
    return weight - step * weight.sign()


# %% wrong="hard thresholding" breaks="soft thresholding" says=["the large weights have to move, too"]
def regularise(model, l1, l2):
    total = torch.zeros((), device=device)
    for p in model.parameters():
        if p.dim() > 1 and p.requires_grad:
            total = total + l1 * p.abs().sum() + l2 * p.square().sum()
    return total


def shrink(weight, step):
    return torch.where(weight.abs() > step, weight, 0)


# %% wrong="nothing yet" says=["it returned None, not a tensor: is there an answer yet", "is None: is there an answer yet"]
def regularise(model, l1, l2):
    # YOUR CODE HERE
    ...


def shrink(weight, step):
    # YOUR CODE HERE
    ...


# %% right="one long vector, the library's shrink"
def regularise(model, l1, l2):
    chosen = [p.flatten() for p in model.parameters() if p.dim() >= 2 and p.requires_grad]
    vector = torch.cat([torch.zeros(1, device=device), *chosen])
    return l1 * vector.norm(1) + l2 * vector.dot(vector)


def shrink(weight, step):
    return F.softshrink(weight, step)


# %% right="walks the modules with a set, clamps"
def regularise(model, l1, l2):
    seen, total = set(), torch.tensor(0.0, device=device)
    for module in model.modules():
        for parameter in module._parameters.values():
            if parameter is None or id(parameter) in seen:
                continue
            seen.add(id(parameter))
            if parameter.ndim > 1 and parameter.requires_grad:
                total = (
                    total + F.l1_loss(parameter, torch.zeros_like(parameter), reduction="sum") * l1
                )
                total = total + (parameter * parameter).sum() * l2
    return total


def shrink(weight, step):
    return weight - weight.clamp(-step, step)


# %% wrong="empties .grad first" breaks="its `.grad`" says=["the call changed the model: .grad"]
def regularise(model, l1, l2):
    model.zero_grad()
    total = torch.zeros((), device=device)
    for p in model.parameters():
        if p.requires_grad and p.dim() >= 2:
            total = total + l1 * p.abs().sum() + l2 * p.square().sum()
    return total


def shrink(weight, step):
    return weight.sign() * (weight.abs() - step).clamp(min=0)


# %% wrong="only layers known by name: Linear, Conv2d" says=["other layers than linear"]
def regularise(model, l1, l2):
    seen = {
        id(m.weight): m.weight for m in model.modules() if isinstance(m, (nn.Linear, nn.Conv2d))
    }
    total = torch.zeros((), device=device)
    for p in seen.values():
        if p.requires_grad:
            total = total + l1 * p.abs().sum() + l2 * p.square().sum()
    return total


def shrink(weight, step):
    return weight.sign() * (weight.abs() - step).clamp(min=0)


# %% wrong="switches to eval and back to train" breaks="its mode (train or eval) too" says=["train or eval mode"]
def regularise(model, l1, l2):
    model.eval()
    total = torch.zeros((), device=device)
    for p in model.parameters():
        if p.dim() > 1 and p.requires_grad:
            total = total + l1 * p.abs().sum() + l2 * p.square().sum()
    return total


def shrink(weight, step):
    return weight.sign() * (weight.abs() - step).clamp(min=0)


# %% wrong="shrink forgets the negative side" says=["negative weights move up"]
def regularise(model, l1, l2):
    total = torch.zeros((), device=next(model.parameters()).device)
    for p in model.parameters():
        if p.requires_grad and p.dim() > 1:
            total = total + l1 * p.abs().sum() + l2 * (p * p).sum()
    return total


def shrink(weight, step):
    return (weight - step).clamp(min=0)


# %% right="flat vector; softshrink"
def regularise(model, l1, l2):
    rows = [p.flatten() for p in model.parameters() if p.requires_grad and p.ndim >= 2]
    if not rows:
        return torch.tensor(0.0, requires_grad=True)
    w = torch.cat(rows)
    return l1 * w.norm(p=1) + l2 * w @ w


def shrink(weight, step):
    return F.softshrink(weight, step)


# %% wrong="a list of layer types" says=["model 'transposed and attention'"]
def regularise(model, l1, l2):
    kinds = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.Embedding, nn.Bilinear)
    total, seen = torch.zeros((), device=device), set()
    for part in model.modules():
        if isinstance(part, kinds) and part.weight.requires_grad and id(part.weight) not in seen:
            seen.add(id(part.weight))
            total = total + l1 * part.weight.abs().sum() + l2 * part.weight.square().sum()
    return total


def shrink(weight, step):
    return weight.sign() * (weight.abs() - step).clamp(min=0)


# %% wrong="each module once, so a shared weight twice" says=["model 'one weight in two modules'", "counts once"]
def regularise(model, l1, l2):
    total = torch.zeros((), device=device)
    for part in model.modules():
        for parameter in part.parameters(recurse=False):
            if parameter.dim() > 1 and parameter.requires_grad:
                total = total + l1 * parameter.abs().sum() + l2 * parameter.square().sum()
    return total


def shrink(weight, step):
    return weight.sign() * (weight.abs() - step).clamp(min=0)


# %% wrong="asks a model without parameters for one" says=["model 'no parameters'", "has no first one"]
def regularise(model, l1, l2):
    total = torch.zeros((), device=next(model.parameters()).device)
    for parameter in model.parameters():
        if parameter.dim() > 1 and parameter.requires_grad:
            total = total + l1 * parameter.abs().sum() + l2 * parameter.square().sum()
    return total


def shrink(weight, step):
    return weight.sign() * (weight.abs() - step).clamp(min=0)


# %% right="modules, each weight once by its identity"
def regularise(model, l1, l2):
    found = {
        id(weight): weight
        for part in model.modules()
        for weight in part.parameters(recurse=False)
        if weight.dim() >= 2 and weight.requires_grad
    }
    return sum(
        (l1 * w.abs().sum() + l2 * (w * w).sum() for w in found.values()),
        start=torch.tensor(0.0, device=device),
    )


def shrink(weight, step):
    return weight.sign() * (weight.abs() - step).clamp(min=0)


# %% wrong="takes equal weights for one" says=["two equal layers"]
def regularise(model, l1, l2):
    total, seen = torch.zeros((), device=device), []
    for p in model.parameters():
        if p.ndim >= 2 and p.requires_grad and not any(torch.equal(p, q) for q in seen):
            seen.append(p)
            total = total + l1 * p.abs().sum() + l2 * p.square().sum()
    return total


def shrink(weight, step):
    return weight.sign() * (weight.abs() - step).clamp(min=0)


# %% wrong="all in float32" breaks="Return a tensor of shape (), float64 if they are" says=["expected torch.float64"]
def regularise(model, l1, l2):
    ps = [p.flatten().float() for p in model.parameters() if p.ndim >= 2 and p.requires_grad]
    w = torch.cat(ps) if ps else torch.zeros(0)
    return l1 * w.abs().sum() + l2 * w.square().sum()


def shrink(weight, step):
    return weight.sign() * (weight.abs() - step).clamp(min=0)


# %% wrong="abs of a list" says=["a list is no tensor", "take abs() of each"]
def regularise(model, l1, l2):
    ws = [p for p in model.parameters() if p.ndim >= 2 and p.requires_grad]
    return l1 * abs(ws) + l2 * sum(w.square().sum() for w in ws)


def shrink(weight, step):
    return weight.sign() * (weight.abs() - step).clamp(min=0)


# %% wrong="shrink by lists" says=["work on the whole tensor"]
def regularise(model, l1, l2):
    total = torch.zeros((), device=device)
    for p in model.parameters():
        if p.ndim >= 2 and p.requires_grad:
            total = total + l1 * p.abs().sum() + l2 * p.square().sum()
    return total


def shrink(weight, step):
    return torch.tensor([max(abs(w) - step, 0) * (1 if w > 0 else -1) for w in weight.tolist()])


# %% wrong="shrink by proportion" says=["not in proportion to their size"]
def regularise(model, l1, l2):
    total = torch.zeros((), device=device)
    for p in model.parameters():
        if p.ndim >= 2 and p.requires_grad:
            total = total + l1 * p.abs().sum() + l2 * p.square().sum()
    return total


def shrink(weight, step):
    return weight * (1 - step)


# %% wrong="shrink divides by the size" says=["is a weight of 0 divided by"]
def regularise(model, l1, l2):
    total = torch.zeros((), device=device)
    for p in model.parameters():
        if p.ndim >= 2 and p.requires_grad:
            total = total + l1 * p.abs().sum() + l2 * p.square().sum()
    return total


def shrink(weight, step):
    return weight * (1 - step / weight.abs()).clamp(min=0)


# %% wrong="matrices called bias are left out" says=["a matrix may be called bias"]
def regularise(model, l1, l2):
    total = torch.zeros(())
    for name, p in model.named_parameters():
        if p.dim() > 1 and p.requires_grad and "bias" not in name:
            total = total + l1 * p.abs().sum() + l2 * p.square().sum()
    return total


def shrink(weight, step):
    return weight.sign() * (weight.abs() - step).clamp(min=0)


# %% wrong="joins what may be nothing" says=["nothing can't be joined: a zero is asked for"]
def regularise(model, l1, l2):
    flat = torch.cat([p.flatten() for p in model.parameters() if p.dim() > 1 and p.requires_grad])
    return l1 * flat.abs().sum() + l2 * flat.square().sum()


def shrink(weight, step):
    return weight.sign() * (weight.abs() - step).clamp(min=0)


# %% wrong="shrink by an if" says=["decide for each entry"]
def regularise(model, l1, l2):
    total = torch.zeros(())
    for p in model.parameters():
        if p.dim() > 1 and p.requires_grad:
            total = total + l1 * p.abs().sum() + l2 * p.square().sum()
    return total


def shrink(weight, step):
    if weight.abs() < step:
        return torch.zeros_like(weight)
    return weight - step * weight.sign()


# %% wrong="root of squares for the size" says=["has a nan"]
def regularise(model, l1, l2):
    total = torch.zeros(())
    for p in model.parameters():
        if p.requires_grad and p.dim() > 1:
            total = total.to(p.device) + l1 * p.square().sqrt().sum() + l2 * p.square().sum()
    return total


def shrink(weight, step):
    return weight.sign() * (weight.abs() - step).clamp(min=0)


# %% wrong="square of the root of the sum" says=["has a nan"]
def regularise(model, l1, l2):
    total = torch.zeros(())
    for p in model.parameters():
        if p.requires_grad and p.dim() > 1:
            total = total.to(p.device) + l1 * p.abs().sum() + l2 * p.square().sum().sqrt() ** 2
    return total


def shrink(weight, step):
    return weight.sign() * (weight.abs() - step).clamp(min=0)


# %% wrong="leaves hooks on the parameters" says=["hooks"]
def regularise(model, l1, l2):
    total = torch.zeros(())
    for p in model.parameters():
        if p.requires_grad and p.dim() > 1:
            p.register_hook(lambda g: g)
            total = total.to(p.device) + l1 * p.abs().sum() + l2 * p.square().sum()
    return total


def shrink(weight, step):
    return weight.sign() * (weight.abs() - step).clamp(min=0)


# %% wrong="leaves an attribute on the model" breaks="Leave the model as it is" says=["attributes"]
def regularise(model, l1, l2):
    total = torch.zeros(())
    for p in model.parameters():
        if p.requires_grad and p.dim() > 1:
            total = total.to(p.device) + l1 * p.abs().sum() + l2 * p.square().sum()
    model.penalty = total
    return total


def shrink(weight, step):
    return weight.sign() * (weight.abs() - step).clamp(min=0)


# %% wrong="all but names that end in bias" says=["a matrix may be called bias"]
def regularise(model, l1, l2):
    total = torch.zeros(())
    for name, p in model.named_parameters():
        if p.requires_grad and p.dim() > 1 and not name.endswith("bias"):
            total = total.to(p.device) + l1 * p.abs().sum() + l2 * p.square().sum()
    return total


def shrink(weight, step):
    return weight.sign() * (weight.abs() - step).clamp(min=0)


# %% wrong="a root of squares plus a little" says=["model 'float64'", "something small was added"]
def regularise(model, l1, l2):
    total = torch.zeros(())
    for p in model.parameters():
        if p.dim() >= 2 and p.requires_grad:
            total = total + l1 * (p.square() + 1e-12).sqrt().sum() + l2 * (p * p).sum()
    return total


def shrink(weight, step):
    return F.softshrink(weight, step)


# %% wrong="buffers, too" breaks="over all entries of the model's parameters" says=["a buffer is counted; parameters are asked for"]
def regularise(model, l1, l2):
    total, seen = torch.zeros(()), set()
    for p in model.state_dict(keep_vars=True).values():
        buffer = not isinstance(p, nn.Parameter)
        if p.dim() >= 2 and id(p) not in seen and (p.requires_grad or buffer):
            seen.add(id(p))
            total = total + l1 * p.abs().sum() + l2 * p.square().sum()
    return total


def shrink(weight, step):
    return weight - weight.clamp(-step, step)


# %% right="stacked, with two clamps"
def regularise(model, l1, l2):
    picked = [w for w in model.parameters() if len(w.shape) >= 2 and w.requires_grad]
    if not picked:
        return torch.zeros(())
    return torch.stack([(l1 * w.abs() + l2 * w**2).sum() for w in picked]).sum()


def shrink(weight, step):
    return (weight - step).clamp(min=0) + (weight + step).clamp(max=0)


# %% wrong="takes the mean of the sizes" breaks="`l1` times the sum of |w|" says=["model 'linear': l1=0.1, l2=0.01: the penalty: expected 0.35, got 0.2"]
def regularise(model, l1, l2):
    total = None
    for p in model.parameters():
        if p.dim() >= 2 and p.requires_grad:
            piece = l1 * p.abs().mean() + l2 * p.square().sum()
            total = piece if total is None else total + piece
    if total is None:
        return torch.zeros(())
    return total


def shrink(weight, step):
    return weight.sign() * (weight.abs() - step).clamp(min=0)


# %% wrong="the children's own parameters alone" breaks="Modules may be nested" says=["model 'nested'"]
def regularise(model, l1, l2):
    total = None
    for p in [q for m in (model, *model.children()) for q in m.parameters(recurse=False)]:
        if p.dim() >= 2 and p.requires_grad:
            piece = l1 * p.abs().sum() + l2 * p.square().sum()
            total = piece if total is None else total + piece
    if total is None:
        return torch.zeros(())
    return total


def shrink(weight, step):
    return weight.sign() * (weight.abs() - step).clamp(min=0)


# %% wrong="shrinks in place" breaks="in a new tensor of the same shape and dtype" says=["an argument was changed"]
def regularise(model, l1, l2):
    total = None
    for p in model.parameters():
        if p.dim() >= 2 and p.requires_grad:
            piece = l1 * p.abs().sum() + l2 * p.square().sum()
            total = piece if total is None else total + piece
    if total is None:
        return torch.zeros(())
    return total


def shrink(weight, step):
    return weight.copy_(weight.sign() * (weight.abs() - step).clamp(min=0))


# %% wrong="hands the weight back for a step of 0" breaks="`step` is a number, 0 or more" says=["a step of 0: return a new tensor"]
def regularise(model, l1, l2):
    total = None
    for p in model.parameters():
        if p.dim() >= 2 and p.requires_grad:
            piece = l1 * p.abs().sum() + l2 * p.square().sum()
            total = piece if total is None else total + piece
    if total is None:
        return torch.zeros(())
    return total


def shrink(weight, step):
    if step == 0:
        return weight
    return weight.sign() * (weight.abs() - step).clamp(min=0)


# %% wrong="two dimensions exactly" says=["three or four dimensions will do"]
def regularise(model, l1, l2):
    total = torch.zeros((), device=device)
    for p in model.parameters():
        if p.requires_grad and p.dim() == 2:
            total = total + (l1 * p.abs() + l2 * p * p).sum()
    return total


def shrink(weight, step):
    return weight - weight.clamp(-step, step)


# %% wrong="a parameter for each shape" says=["two parameters of one shape are two"]
def regularise(model, l1, l2):
    total = torch.zeros((), device=device)
    for p in {p.shape: p for p in model.parameters()}.values():
        if p.requires_grad and p.dim() >= 2:
            total = total + (l1 * p.abs() + l2 * p * p).sum()
    return total


def shrink(weight, step):
    return weight - weight.clamp(-step, step)


# %% wrong="names that end in weight" says=["a parameter counts whatever its name, also without .weight at its end"]
def regularise(model, l1, l2):
    total = torch.zeros((), device=device)
    for p in [p for name, p in model.named_parameters() if name.endswith("weight")]:
        if p.requires_grad and p.dim() >= 2:
            total = total + (l1 * p.abs() + l2 * p * p).sum()
    return total


def shrink(weight, step):
    return weight - weight.clamp(-step, step)


# %% wrong="shrink keeps what is small" says=["small weights become 0; here they stay as they are"]
def regularise(model, l1, l2):
    total = torch.zeros((), device=device)
    for p in model.parameters():
        if p.requires_grad and p.dim() >= 2:
            total = total + (l1 * p.abs() + l2 * p * p).sum()
    return total


def shrink(weight, step):
    return torch.where(weight.abs() > step, weight - step * weight.sign(), weight)


# %% wrong="only positive weights shrink" says=["negative weights move towards 0, too"]
def regularise(model, l1, l2):
    total = torch.zeros(())
    for p in model.parameters():
        if p.requires_grad and p.dim() >= 2:
            total = total.to(p.device) + l1 * p.abs().sum() + l2 * p.square().sum()
    return total


def shrink(weight, step):
    return torch.where(weight > 0, (weight - step).clamp(min=0), weight)


# %% wrong="a step of 1 or more clears everything" says=["a large step: shrink by 2.0"]
def regularise(model, l1, l2):
    total = torch.zeros(())
    for p in model.parameters():
        if p.requires_grad and p.dim() >= 2:
            total = total.to(p.device) + l1 * p.abs().sum() + l2 * p.square().sum()
    return total


def shrink(weight, step):
    return weight - weight.clamp(-step, step) if step < 1 else torch.zeros_like(weight)


# %% wrong="trained is what has a gradient by now" says=["requires_grad says what is trained, not whether there is a .grad"]
def regularise(model, l1, l2):
    total = torch.zeros(())
    for p in model.parameters():
        if (
            p.dim() >= 2
            and (p.grad is not None or all(q.grad is None for q in model.parameters()))
            and p.requires_grad
        ):
            total = total + l1 * p.abs().sum() + l2 * p.square().sum()
    return total


def shrink(weight, step):
    return weight.sign() * (weight.abs() - step).clamp(min=0)


# %% wrong="a floor of float32 zeros" breaks="in a new tensor of the same shape and dtype" says=["half precision: shrink by 0.5 has dtype torch.float32"]
def regularise(model, l1, l2):
    total = torch.zeros((), device=device)
    for p in model.parameters():
        if p.dim() > 1 and p.requires_grad:
            total = total + l1 * p.abs().sum() + l2 * p.square().sum()
    return total


def shrink(weight, step):
    floor = torch.zeros(weight.shape, device=weight.device)
    return weight.sign() * torch.maximum(weight.abs() - step, floor)


# %% wrong="each result in the same tensor" breaks="in a new tensor of the same shape and dtype" says=["the next call changed the result"]
shrunk = {}


def regularise(model, l1, l2):
    total = torch.zeros((), device=device)
    for p in model.parameters():
        if p.dim() > 1 and p.requires_grad:
            total = total + l1 * p.abs().sum() + l2 * p.square().sum()
    return total


def shrink(weight, step):
    key = tuple(weight.shape), weight.dtype
    if key not in shrunk:
        shrunk[key] = torch.empty_like(weight, memory_format=torch.contiguous_format)
    with torch.no_grad():
        return shrunk[key].copy_(weight - weight.clamp(-step, step))


# %% wrong="adds a term only where its factor isn't 0" breaks="even where `l1` and `l2` are 0" says=["1 of 43 cases fail", "model 'linear', both are 0: l1 and l2 are 0, and no gradient flows"]
def regularise(model, l1, l2):
    weights = [p for p in model.parameters() if p.requires_grad and p.dim() > 1]
    total = weights[0].new_zeros(()) if weights else torch.zeros(())
    if l1:
        total = total + l1 * sum(p.abs().sum() for p in weights)
    if l2:
        total = total + l2 * sum(p.square().sum() for p in weights)
    return total


def shrink(weight, step):
    return weight.sign() * (weight.abs() - step).clamp(min=0)


# %% wrong="whatever is called weight" says=["dimensions decide, not the name"]
def regularise(model, l1, l2):
    total = torch.zeros(())
    for name, p in model.named_parameters():
        if "weight" in name and p.requires_grad:
            total = total + l1 * p.abs().sum() + l2 * p.square().sum()
    return total


def shrink(weight, step):
    return F.softshrink(weight, step)


# %% wrong="the norm of order 1 of a matrix" says=["a matrix norm, of columns; sum over all entries"]
def regularise(model, l1, l2):
    weights = [p for p in model.parameters() if p.dim() >= 2 and p.requires_grad]
    if not weights:
        return torch.zeros(())
    absolute = sum(torch.linalg.norm(w.flatten(1), ord=1) for w in weights)
    return l1 * absolute + l2 * sum(torch.linalg.norm(w.flatten(1)) ** 2 for w in weights)


def shrink(weight, step):
    return weight.sign() * (weight.abs() - step).clamp(min=0)


# %% wrong="a layer is frozen if one of its parameters is" breaks="aren't frozen (`requires_grad` is `True`)" says=["one parameter of a layer is frozen, not the layer"]
def regularise(model, l1, l2):
    total, seen = torch.zeros(()), set()
    for part in model.modules():
        own = list(part.parameters(recurse=False))
        if all(parameter.requires_grad for parameter in own):
            for w in own:
                if w.dim() > 1 and id(w) not in seen:
                    seen.add(id(w))
                    total = total.to(w.device) + l1 * w.abs().sum() + l2 * w.square().sum()
    return total


def shrink(weight, step):
    return weight.sign() * (weight.abs() - step).clamp(min=0)


# %% wrong="asks what is made of a parameter" breaks="aren't frozen (`requires_grad` is `True`)" says=["inside torch.no_grad() it is 0", "ask the parameter itself"]
def regularise(model, l1, l2):
    total = torch.zeros(())
    for parameter in model.parameters():
        weight = parameter * 1
        if weight.requires_grad and weight.dim() > 1:
            total = total + l1 * weight.abs().sum() + l2 * weight.square().sum()
    return total


def shrink(weight, step):
    return weight.sign() * (weight.abs() - step).clamp(min=0)
