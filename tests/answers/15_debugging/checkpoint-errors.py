# %% wrong="weights_only=False" says=["the program inside the file was run"]
# ruff: noqa: E402
def checkpoint_errors(path, model):
    try:
        state = torch.load(path, weights_only=False)
    except Exception:
        return ("refused" if zipfile.is_zipfile(path) else "unreadable"), []
    if not isinstance(state, dict) or not all(isinstance(v, torch.Tensor) for v in state.values()):
        return "no state dict", []
    own = model.state_dict()
    if set(own) != set(state):
        return "keys", sorted(set(own) ^ set(state))
    wrong = sorted(n for n in own if own[n].shape != state[n].shape)
    if wrong:
        return "shapes", wrong
    model.load_state_dict(state)
    return "fine", []


# %% wrong="loads, and reads the message" says=["the model was changed", "load_state_dict copies what fits before it raises"]
def checkpoint_errors(path, model):
    try:
        state = torch.load(path)
    except Exception:
        return ("refused" if zipfile.is_zipfile(path) else "unreadable"), []
    if not isinstance(state, dict) or not all(isinstance(v, torch.Tensor) for v in state.values()):
        return "no state dict", []
    own = model.state_dict()
    try:
        model.load_state_dict(state)
    except RuntimeError as error:
        if "key(s)" in str(error):
            return "keys", sorted(set(own) ^ set(state))
        return "shapes", sorted(n for n in own if own[n].shape != state[n].shape)
    return "fine", []


# %% wrong="whatever is no zip is unreadable" says=["the old format", "torch.load reads both formats"]
def checkpoint_errors(path, model):
    if not zipfile.is_zipfile(path):
        return "unreadable", []
    try:
        state = torch.load(path)
    except Exception:
        return "refused", []
    if not isinstance(state, dict) or not all(isinstance(v, torch.Tensor) for v in state.values()):
        return "no state dict", []
    own = model.state_dict()
    if set(own) != set(state):
        return "keys", sorted(set(own) ^ set(state))
    wrong = sorted(n for n in own if own[n].shape != state[n].shape)
    if wrong:
        return "shapes", wrong
    model.load_state_dict(state)
    return "fine", []


# %% wrong="missing keys alone" says=["names of both kinds", "keys and shapes"]
def checkpoint_errors(path, model):
    try:
        state = torch.load(path)
    except Exception:
        return ("refused" if zipfile.is_zipfile(path) else "unreadable"), []
    if not isinstance(state, dict) or not all(isinstance(v, torch.Tensor) for v in state.values()):
        return "no state dict", []
    own = model.state_dict()
    missing = sorted(set(own) - set(state))
    if missing:
        return "keys", missing
    wrong = sorted(n for n in own if own[n].shape != state[n].shape)
    if wrong:
        return "shapes", wrong
    model.load_state_dict(state, strict=False)
    return "fine", []


# %% wrong="UnpicklingError is a refusal" says=["a web page", "but no zip archive"]
import pickle


def checkpoint_errors(path, model):
    try:
        state = torch.load(path)
    except pickle.UnpicklingError:
        return "refused", []
    except Exception:
        return "unreadable", []
    if not isinstance(state, dict) or not all(isinstance(v, torch.Tensor) for v in state.values()):
        return "no state dict", []
    own = model.state_dict()
    if set(own) != set(state):
        return "keys", sorted(set(own) ^ set(state))
    wrong = sorted(n for n in own if own[n].shape != state[n].shape)
    if wrong:
        return "shapes", wrong
    model.load_state_dict(state)
    return "fine", []


# %% wrong="checks, and forgets to load" says=["in the model afterwards"]
def checkpoint_errors(path, model):
    try:
        state = torch.load(path)
    except Exception:
        return ("refused" if zipfile.is_zipfile(path) else "unreadable"), []
    if not isinstance(state, dict) or not all(isinstance(v, torch.Tensor) for v in state.values()):
        return "no state dict", []
    own = model.state_dict()
    if set(own) != set(state):
        return "keys", sorted(set(own) ^ set(state))
    wrong = sorted(n for n in own if own[n].shape != state[n].shape)
    return ("shapes" if wrong else "fine"), wrong


# %% right="loads into a copy first"
import copy


def checkpoint_errors(path, model):
    try:
        found = torch.load(path, map_location=next(model.parameters()).device)
    except Exception:
        return ["refused" if zipfile.is_zipfile(path) else "unreadable", []]
    if type(found).__name__ not in ("dict", "OrderedDict"):
        return ["no state dict", []]
    for name, value in found.items():
        if not (isinstance(name, str) and torch.is_tensor(value)):
            return ["no state dict", []]
    twin = copy.deepcopy(model)
    result = copy.deepcopy(model).load_state_dict(
        {n: v for n, v in found.items() if n not in dict(twin.state_dict())}, strict=False
    )
    extra = list(result.unexpected_keys)
    missing = [n for n in twin.state_dict() if n not in found]
    if extra or missing:
        return ["keys", sorted(extra + missing)]
    try:
        twin.load_state_dict(found)
    except RuntimeError:
        sizes = {n: tuple(v.shape) for n, v in twin.state_dict().items()}
        return ["shapes", sorted(n for n in sizes if sizes[n] != tuple(found[n].shape))]
    model.load_state_dict(twin.state_dict())
    return ["fine", []]


# %% right="tensors copied one by one"
def checkpoint_errors(path, model):
    try:
        state = torch.load(str(path), weights_only=True, map_location="cpu")
    except (Exception, EOFError):
        with open(path, "rb") as file:
            return ("refused" if zipfile.is_zipfile(file) else "unreadable"), []
    own = model.state_dict()
    try:
        shapes = {"" + name: value.shape for name, value in state.items()}
    except (AttributeError, TypeError):
        return "no state dict", []
    odd = [n for n in [*own, *shapes] if (n in own) != (n in shapes)]
    if odd:
        return "keys", sorted(odd)
    odd = [n for n in own if own[n].shape != shapes[n]]
    if odd:
        return "shapes", sorted(odd)
    with torch.no_grad():
        for name in own:
            own[name].copy_(state[name])
    return "fine", []
