# %% [markdown]
# Rules:
#
# - "there is no zip archive at `path`"
# - "whose keys are all strings and whose values are all tensors"
# - "a name of `model.state_dict()` is missing"
# - "or one is too many"
# - "all such names, sorted"
# - "a tensor has another shape than the model's"
# - "their names, sorted"
# - "the weights are now in the model"
# - "the model is exactly as it was"
# - "Nothing that a file carries may ever be run"
# - "no exception leaves the function"
# - "and here that counts"
#
# Admits:
#
# - "A file of the old format that loads is fine": the old format
# - "`torch.load` raises, and there is one": a spoilt pickle

# %% wrong="weights_only=False" breaks="Nothing that a file carries may ever be run" says=["the program inside the file was run"]
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


# %% wrong="loads, and reads the message" breaks="the model is exactly as it was" says=["the model was changed", "load_state_dict copies what fits before it raises"]
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


# %% wrong="missing keys alone" breaks="or one is too many" says=["names of both kinds", "keys and shapes"]
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


# %% wrong="checks, and forgets to load" breaks="the weights are now in the model" says=["in the model afterwards"]
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
    sizes = {n: tuple(v.shape) for n, v in twin.state_dict().items()}
    other = sorted(n for n in sizes if sizes[n] != tuple(found[n].shape))
    if other:
        return ["shapes", other]
    twin.load_state_dict(found)
    model.load_state_dict(twin.state_dict())
    return ["fine", []]


# %% right="tensors copied one by one"
def checkpoint_errors(path, model):
    try:
        state = torch.load(str(path), weights_only=True, map_location="cpu")
    except (Exception, EOFError):
        return ["unreadable", "refused"][zipfile.is_zipfile(str(path))], []
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


# %% right="copies by hand under no_grad"
def checkpoint_errors(path: Path, model: nn.Module) -> tuple[str, list[str]]:
    is_zip = zipfile.is_zipfile(path)
    try:
        state = torch.load(str(path), map_location="cpu", weights_only=True)
    except Exception:
        return ("unreadable", "refused")[is_zip], []
    good = (
        isinstance(state, dict)
        and all(type(k) is str for k in state)
        and all(torch.is_tensor(v) for v in state.values())
    )
    if not good:
        return "no state dict", []
    mine = model.state_dict()
    if odd := sorted(mine.keys() ^ state.keys()):
        return "keys", odd
    if odd := sorted(k for k, v in mine.items() if v.shape != state[k].shape):
        return "shapes", odd
    with torch.no_grad():
        for k, v in mine.items():
            v.copy_(state[k])
    return "fine", []


# %% wrong="believes load_state_dict(strict=False)" breaks="and here that counts" says=["an empty dict", "the BatchNorm's counter as well"]
def checkpoint_errors(path: Path, model: nn.Module) -> tuple[str, list[str]]:
    import copy
    import re

    try:
        with open(path, "rb") as file:
            state = torch.load(file)
    except Exception:
        return ("refused" if zipfile.is_zipfile(path) else "unreadable"), []
    try:
        assert all(
            isinstance(name, str) and isinstance(value, torch.Tensor)
            for name, value in state.items()
        )
    except Exception:
        return "no state dict", []
    twin = copy.deepcopy(model)
    try:
        missing, unexpected = twin.load_state_dict(state, strict=False)
        shapes = []
    except RuntimeError as error:
        shapes = sorted(re.findall(r"size mismatch for ([\w.]+)", str(error)))
        missing = [k for k in twin.state_dict() if k not in state]
        unexpected = [k for k in state if k not in twin.state_dict()]
    if missing or unexpected:
        return "keys", sorted([*missing, *unexpected])
    if shapes:
        return "shapes", shapes
    model.load_state_dict(state)
    return "fine", []


# %% wrong="a plain dict and nothing else" says=["state_dict() itself, an OrderedDict"]
def checkpoint_errors(path, model):
    try:
        state = torch.load(path)
    except Exception:
        return ("refused" if zipfile.is_zipfile(path) else "unreadable"), []
    if not (type(state) is dict and all(isinstance(v, torch.Tensor) for v in state.values())):
        return "no state dict", []
    own = model.state_dict()
    if set(own) != set(state):
        return "keys", sorted(set(own) ^ set(state))
    wrong = sorted(n for n in own if own[n].shape != state[n].shape)
    if wrong:
        return "shapes", wrong
    model.load_state_dict(state)
    return "fine", []


# %% wrong="plain tensors and nothing else" says=["parameters among the values"]
def checkpoint_errors(path, model):
    try:
        state = torch.load(path)
    except Exception:
        return ("refused" if zipfile.is_zipfile(path) else "unreadable"), []
    if not (isinstance(state, dict) and all(type(v) is torch.Tensor for v in state.values())):
        return "no state dict", []
    own = model.state_dict()
    if set(own) != set(state):
        return "keys", sorted(set(own) ^ set(state))
    wrong = sorted(n for n in own if own[n].shape != state[n].shape)
    if wrong:
        return "shapes", wrong
    model.load_state_dict(state)
    return "fine", []


# %% wrong="looks at the values alone" breaks="whose keys are all strings and whose values are all tensors" says=["numbers for names"]
def checkpoint_errors(path, model):
    try:
        state = torch.load(path)
    except Exception:
        return ("refused" if zipfile.is_zipfile(path) else "unreadable"), []
    if not (isinstance(state, dict) and all(isinstance(v, torch.Tensor) for v in state.values())):
        return "no state dict", []
    own = model.state_dict()
    if set(own) != set(state):
        return "keys", sorted(set(own) ^ set(state))
    wrong = sorted(n for n in own if own[n].shape != state[n].shape)
    if wrong:
        return "shapes", wrong
    model.load_state_dict(state)
    return "fine", []


# %% wrong="leaves it in eval mode, thawed" says=["the model was changed", "modes"]
def checkpoint_errors(path, model):
    try:
        state = torch.load(path)
    except Exception:
        return ("refused" if zipfile.is_zipfile(path) else "unreadable"), []
    if not (
        isinstance(state, dict)
        and all(isinstance(v, torch.Tensor) for v in state.values())
        and all(isinstance(k, str) for k in state)
    ):
        return "no state dict", []
    model.eval().requires_grad_()
    own = model.state_dict()
    if set(own) != set(state):
        return "keys", sorted(set(own) ^ set(state))
    wrong = sorted(n for n in own if own[n].shape != state[n].shape)
    if wrong:
        return "shapes", wrong
    model.load_state_dict(state)
    return "fine", []


# %% wrong="a missing file escapes" breaks="no exception leaves the function" says=["FileNotFoundError left the function"]
def checkpoint_errors(path: Path, model: nn.Module) -> tuple[str, list[str]]:
    """A verdict in words, and the names it is about; loads the weights if they are fine."""
    try:
        state = torch.load(path, map_location="cpu")
    except FileNotFoundError:
        raise
    except Exception:
        return ("refused" if zipfile.is_zipfile(path) else "unreadable"), []
    entries = state.items() if isinstance(state, dict) else [(None, None)]
    if not all(
        isinstance(name, str) and isinstance(value, torch.Tensor) for name, value in entries
    ):
        return "no state dict", []
    own = model.state_dict()
    if names := sorted(set(own) ^ set(state)):
        return "keys", names
    if names := sorted(name for name in own if own[name].shape != state[name].shape):
        return "shapes", names
    model.load_state_dict(state)
    return "fine", []


# %% wrong="a RuntimeError is a broken file" says=["an archive of NumPy's"]
def checkpoint_errors(path: Path, model: nn.Module) -> tuple[str, list[str]]:
    """A verdict in words, and the names it is about; loads the weights if they are fine."""
    try:
        state = torch.load(path, map_location="cpu")
    except (RuntimeError, EOFError):
        return "unreadable", []
    except Exception:
        return "refused" if zipfile.is_zipfile(path) else "unreadable", []
    entries = state.items() if isinstance(state, dict) else [(None, None)]
    if not all(
        isinstance(name, str) and isinstance(value, torch.Tensor) for name, value in entries
    ):
        return "no state dict", []
    own = model.state_dict()
    if names := sorted(set(own) ^ set(state)):
        return "keys", names
    if names := sorted(name for name in own if own[name].shape != state[name].shape):
        return "shapes", names
    model.load_state_dict(state)
    return "fine", []


# %% wrong="takes a prefix off" says=["a prefix"]
def checkpoint_errors(path, model):
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception:
        return ("refused" if zipfile.is_zipfile(path) else "unreadable"), []
    if not isinstance(state, dict) or not all(
        isinstance(k, str) and isinstance(v, torch.Tensor) for k, v in state.items()
    ):
        return "no state dict", []
    state = {k.removeprefix("module."): v for k, v in state.items()}
    own = model.state_dict()
    names = sorted(set(own) ^ set(state))
    if names:
        return "keys", names
    names = sorted(k for k in own if own[k].shape != state[k].shape)
    if names:
        return "shapes", names
    model.load_state_dict(state)
    return "fine", []


# %% wrong="assign=True" says=["not only its weights"]
def checkpoint_errors(path, model):
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception:
        return ("refused" if zipfile.is_zipfile(path) else "unreadable"), []
    if not isinstance(state, dict) or not all(
        isinstance(k, str) and isinstance(v, torch.Tensor) for k, v in state.items()
    ):
        return "no state dict", []
    own = model.state_dict()
    names = sorted(set(own) ^ set(state))
    if names:
        return "keys", names
    names = sorted(k for k in own if own[k].shape != state[k].shape)
    if names:
        return "shapes", names
    model.load_state_dict(state, assign=True)
    return "fine", []


# %% wrong="a zip by its first letters" breaks="there is no zip archive at `path`" says=["it is no zip archive any more"]
def checkpoint_errors(path, model):
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception:
        return ("refused" if path.exists() and path.read_bytes()[:2] == b"PK" else "unreadable"), []
    if not isinstance(state, dict) or not all(
        isinstance(k, str) and isinstance(v, torch.Tensor) for k, v in state.items()
    ):
        return "no state dict", []
    own = model.state_dict()
    names = sorted(set(own) ^ set(state))
    if names:
        return "keys", names
    names = sorted(k for k in own if own[k].shape != state[k].shape)
    if names:
        return "shapes", names
    model.load_state_dict(state)
    return "fine", []


# %% wrong="compares the numbers of elements" breaks="a tensor has another shape than the model's" says=["every such name"]
def checkpoint_errors(path, model):
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception:
        return ("refused" if zipfile.is_zipfile(path) else "unreadable"), []
    if not isinstance(state, dict) or not all(
        isinstance(k, str) and isinstance(v, torch.Tensor) for k, v in state.items()
    ):
        return "no state dict", []
    own = model.state_dict()
    names = sorted(set(own) ^ set(state))
    if names:
        return "keys", names
    names = sorted(k for k in own if own[k].numel() != state[k].numel())
    if names:
        return "shapes", names
    model.load_state_dict(state)
    return "fine", []


# %% right="ZipFile, lists"
def checkpoint_errors(path, model):
    try:
        with open(path, "rb") as file:
            loaded = torch.load(file, map_location=next(model.parameters()).device)
    except Exception:
        try:
            zipfile.ZipFile(path).close()
        except (OSError, zipfile.BadZipFile):
            return ["unreadable", []]
        return ["refused", []]
    if (
        not isinstance(loaded, dict)
        or any(type(k) is not str for k in loaded)
        or any(not torch.is_tensor(v) for v in loaded.values())
    ):
        return ["no state dict", []]
    mine = model.state_dict()
    odd = [k for k in mine if k not in loaded] + [k for k in loaded if k not in mine]
    if odd:
        return ["keys", sorted(odd)]
    odd = [k for k, v in mine.items() if v.size() != loaded[k].size()]
    if odd:
        return ["shapes", sorted(odd)]
    with torch.no_grad():
        for k, v in mine.items():
            v.copy_(loaded[k])
    return ["fine", []]


# %% wrong="counts the buffers that aren't saved" breaks="a name of `model.state_dict()` is missing" says=["1.not_saved"]
def checkpoint_errors(path, model):
    try:
        state = torch.load(path)
    except Exception:
        return ("refused" if zipfile.is_zipfile(path) else "unreadable"), []
    if not (
        isinstance(state, dict)
        and all(isinstance(k, str) and isinstance(v, torch.Tensor) for k, v in state.items())
    ):
        return "no state dict", []
    own = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    names = set(own) ^ set(state)
    if names:
        return "keys", sorted(names)
    wrong = [n for n in own if own[n].shape != state[n].shape]
    if wrong:
        return "shapes", sorted(wrong)
    model.load_state_dict(state)
    return "fine", []


# %% wrong="names in the order in which they are found" breaks="all such names, sorted" says=["the names are right, but not sorted"]
def checkpoint_errors(path, model):
    try:
        state = torch.load(path)
    except Exception:
        return ("refused" if zipfile.is_zipfile(path) else "unreadable"), []
    if not (
        isinstance(state, dict)
        and all(isinstance(k, str) and isinstance(v, torch.Tensor) for k, v in state.items())
    ):
        return "no state dict", []
    own = model.state_dict()
    names = set(own) ^ set(state)
    if names:
        return "keys", [n for n in list(own) + list(state) if n in names]
    wrong = [n for n in own if own[n].shape != state[n].shape]
    if wrong:
        return "shapes", sorted(wrong)
    model.load_state_dict(state)
    return "fine", []


# %% wrong="shapes in the model's order" breaks="their names, sorted" says=["the names are right, but not sorted"]
def checkpoint_errors(path, model):
    try:
        state = torch.load(path)
    except Exception:
        return ("refused" if zipfile.is_zipfile(path) else "unreadable"), []
    if not (
        isinstance(state, dict)
        and all(isinstance(k, str) and isinstance(v, torch.Tensor) for k, v in state.items())
    ):
        return "no state dict", []
    own = model.state_dict()
    names = set(own) ^ set(state)
    if names:
        return "keys", sorted(names)
    wrong = [n for n in own if own[n].shape != state[n].shape]
    if wrong:
        return "shapes", wrong
    model.load_state_dict(state)
    return "fine", []


# %% wrong="takes the state dict out of a larger dict" says=["3 is no tensor"]
def checkpoint_errors(path, model):
    try:
        state = torch.load(path)
    except Exception:
        return ("refused" if zipfile.is_zipfile(path) else "unreadable"), []
    if isinstance(state, dict) and "state_dict" in state:
        state = state["state_dict"]
    if not (
        isinstance(state, dict)
        and all(isinstance(k, str) and isinstance(v, torch.Tensor) for k, v in state.items())
    ):
        return "no state dict", []
    own = model.state_dict()
    names = set(own) ^ set(state)
    if names:
        return "keys", sorted(names)
    wrong = [n for n in own if own[n].shape != state[n].shape]
    if wrong:
        return "shapes", sorted(wrong)
    model.load_state_dict(state)
    return "fine", []


# %% wrong="copies by flat views" says=["view size is not compatible"]
def checkpoint_errors(path, model):
    try:
        state = torch.load(path)
    except Exception:
        return ("refused" if zipfile.is_zipfile(path) else "unreadable"), []
    if not (
        isinstance(state, dict)
        and all(isinstance(k, str) and isinstance(v, torch.Tensor) for k, v in state.items())
    ):
        return "no state dict", []
    own = model.state_dict()
    names = set(own) ^ set(state)
    if names:
        return "keys", sorted(names)
    wrong = [n for n in own if own[n].shape != state[n].shape]
    if wrong:
        return "shapes", sorted(wrong)
    for n, v in own.items():
        v.view(-1).copy_(state[n].view(-1))
    return "fine", []


# %% wrong="copies by storages" says=["copied in storage order: copy the tensor, not its memory"]
def checkpoint_errors(path, model):
    try:
        state = torch.load(path)
    except Exception:
        return ("refused" if zipfile.is_zipfile(path) else "unreadable"), []
    if not (
        isinstance(state, dict)
        and all(isinstance(k, str) and isinstance(v, torch.Tensor) for k, v in state.items())
    ):
        return "no state dict", []
    own = model.state_dict()
    names = set(own) ^ set(state)
    if names:
        return "keys", sorted(names)
    wrong = [n for n in own if own[n].shape != state[n].shape]
    if wrong:
        return "shapes", sorted(wrong)
    for n, v in own.items():
        v.untyped_storage().copy_(state[n].to(v.dtype).untyped_storage())
    return "fine", []


# %% wrong="wants contiguous weights" says=["strides are no matter of a tensor's name or shape"]
def checkpoint_errors(path, model):
    try:
        state = torch.load(path)
    except Exception:
        return ("refused" if zipfile.is_zipfile(path) else "unreadable"), []
    if not (
        isinstance(state, dict)
        and all(isinstance(k, str) and isinstance(v, torch.Tensor) for k, v in state.items())
    ):
        return "no state dict", []
    own = model.state_dict()
    names = set(own) ^ set(state)
    if names:
        return "keys", sorted(names)
    wrong = [n for n in own if own[n].shape != state[n].shape or not state[n].is_contiguous()]
    if wrong:
        return "shapes", sorted(wrong)
    model.load_state_dict(state)
    return "fine", []


# %% wrong="compares strides" says=["strides are no matter of a tensor's name or shape"]
def checkpoint_errors(path, model):
    try:
        state = torch.load(path)
    except Exception:
        return ("refused" if zipfile.is_zipfile(path) else "unreadable"), []
    if not (
        isinstance(state, dict)
        and all(isinstance(k, str) and isinstance(v, torch.Tensor) for k, v in state.items())
    ):
        return "no state dict", []
    own = model.state_dict()
    names = set(own) ^ set(state)
    if names:
        return "keys", sorted(names)
    wrong = [
        n for n in own if own[n].shape != state[n].shape or own[n].stride() != state[n].stride()
    ]
    if wrong:
        return "shapes", sorted(wrong)
    model.load_state_dict(state)
    return "fine", []


# %% wrong="looks at the first entry alone" says=["weights and an epoch", "the last of its values, 3, is no tensor"]
def checkpoint_errors(path, model):
    try:
        state = torch.load(path, map_location="cpu")
    except Exception:
        return ("refused" if zipfile.is_zipfile(path) else "unreadable"), []
    if not isinstance(state, dict):
        return "no state dict", []
    for name, value in list(state.items())[:1]:
        if not isinstance(name, str) or not isinstance(value, torch.Tensor):
            return "no state dict", []
    own = model.state_dict()
    if set(own) != set(state):
        return "keys", sorted(map(str, set(own) ^ set(state)))
    wrong = sorted(name for name in own if own[name].shape != state[name].shape)
    if wrong:
        return "shapes", wrong
    model.load_state_dict(state)
    return "fine", []


# %% wrong="compares shapes in all layers but the last" says=["other shapes: the answer", "every such name"]
def checkpoint_errors(path, model):
    try:
        state = torch.load(path, map_location="cpu")
    except Exception:
        return ("refused" if zipfile.is_zipfile(path) else "unreadable"), []
    if not isinstance(state, dict):
        return "no state dict", []
    for name, value in state.items():
        if not isinstance(name, str) or not isinstance(value, torch.Tensor):
            return "no state dict", []
    own = model.state_dict()
    if set(own) != set(state):
        return "keys", sorted(map(str, set(own) ^ set(state)))
    wrong = sorted(name for name in list(own)[:-1] if own[name].shape != state[name].shape)
    if wrong:
        return "shapes", wrong
    model.load_state_dict(state)
    return "fine", []


# %% wrong="opens what is called model" says=["epoch and weights: the answer", "open none"]
def checkpoint_errors(path, model):
    try:
        loaded = torch.load(path)
    except Exception:
        return ("refused" if zipfile.is_zipfile(path) else "unreadable"), []
    if isinstance(loaded, dict) and "model" in loaded:
        loaded = loaded["model"]
    plain = isinstance(loaded, dict) and all(
        isinstance(k, str) and isinstance(v, torch.Tensor) for k, v in loaded.items()
    )
    if not plain:
        return "no state dict", []
    own = model.state_dict()
    if set(own) != set(loaded):
        return "keys", sorted(set(own) ^ set(loaded))
    shapes = sorted(n for n in own if own[n].shape != loaded[n].shape)
    if shapes:
        return "shapes", shapes
    model.load_state_dict(loaded)
    return "fine", []


# %% wrong="tried on a copy: a counter of one dimension fits" says=["a counter of one dimension"]
import copy


def checkpoint_errors(path, model):
    try:
        state = torch.load(path, weights_only=True)
    except Exception:
        return ("refused" if zipfile.is_zipfile(path) else "unreadable"), []
    if not isinstance(state, dict):
        return "no state dict", []
    if not all(isinstance(k, str) and isinstance(v, torch.Tensor) for k, v in state.items()):
        return "no state dict", []
    own = model.state_dict()
    names = sorted(set(own) ^ set(state))
    if names:
        return "keys", names
    try:
        copy.deepcopy(model).load_state_dict(state)
    except RuntimeError:
        return "shapes", sorted(name for name in own if own[name].shape != state[name].shape)
    model.load_state_dict(state)
    return "fine", []


# %% wrong="a folder is opened as an archive" says=["a folder"]
def checkpoint_errors(path: Path, model: nn.Module) -> tuple[str, list[str]]:
    try:
        state = torch.load(path, weights_only=True)
    except Exception:
        try:
            zipfile.ZipFile(path).close()
        except (zipfile.BadZipFile, FileNotFoundError):
            return "unreadable", []
        return "refused", []
    if not isinstance(state, dict):
        return "no state dict", []
    if not all(isinstance(k, str) and isinstance(v, torch.Tensor) for k, v in state.items()):
        return "no state dict", []
    own = model.state_dict()
    names = sorted(set(own) ^ set(state))
    if names:
        return "keys", names
    names = sorted(name for name in own if own[name].shape != state[name].shape)
    if names:
        return "shapes", names
    model.load_state_dict(state)
    return "fine", []


# %% wrong="told by words of the exception" says=["torch.load refuses it; it is no zip archive"]
def checkpoint_errors(path, model):
    try:
        state = torch.load(path)
    except Exception as error:
        return (
            "refused"
            if zipfile.is_zipfile(path) or "Unsupported global" in str(error)
            else "unreadable"
        ), []
    if not isinstance(state, dict):
        return "no state dict", []
    for key, value in state.items():
        if not isinstance(key, str) or not isinstance(value, torch.Tensor):
            return "no state dict", []
    own = model.state_dict()
    odd = sorted(set(own) ^ set(state))
    if odd:
        return "keys", odd
    odd = sorted(name for name in own if own[name].shape != state[name].shape)
    if odd:
        return "shapes", odd
    model.load_state_dict(state)
    return "fine", []


# %% wrong="the first key alone is asked" says=["all keys are strings but the last, 7"]
def checkpoint_errors(path, model):
    try:
        state = torch.load(path)
    except Exception:
        return ("refused" if zipfile.is_zipfile(path) else "unreadable"), []
    if not isinstance(state, dict):
        return "no state dict", []
    for key, value in state.items():
        if not isinstance(next(iter(state)), str) or not isinstance(value, torch.Tensor):
            return "no state dict", []
    own = model.state_dict()
    odd = sorted(set(own) ^ set(state))
    if odd:
        return "keys", odd
    odd = sorted(name for name in own if own[name].shape != state[name].shape)
    if odd:
        return "shapes", odd
    model.load_state_dict(state)
    return "fine", []


# %% wrong="missing first, then extra" says=["the names are right, but not sorted"]
def checkpoint_errors(path, model):
    try:
        state = torch.load(path)
    except Exception:
        return ("refused" if zipfile.is_zipfile(path) else "unreadable"), []
    if not isinstance(state, dict):
        return "no state dict", []
    for key, value in state.items():
        if not isinstance(key, str) or not isinstance(value, torch.Tensor):
            return "no state dict", []
    own = model.state_dict()
    odd = sorted(set(own) - set(state)) + sorted(set(state) - set(own))
    if odd:
        return "keys", odd
    odd = sorted(name for name in own if own[name].shape != state[name].shape)
    if odd:
        return "shapes", odd
    model.load_state_dict(state)
    return "fine", []


# %% wrong="shapes in the order of the file" says=["names in another order", "compare by name"]
def checkpoint_errors(path: Path, model: nn.Module) -> tuple[str, list[str]]:
    try:
        state = torch.load(path, weights_only=True)
    except Exception:
        return ("refused" if zipfile.is_zipfile(path) else "unreadable"), []
    if not isinstance(state, dict):
        return "no state dict", []
    if not all(isinstance(k, str) and isinstance(v, torch.Tensor) for k, v in state.items()):
        return "no state dict", []
    own = model.state_dict()
    names = sorted(set(own) ^ set(state))
    if names:
        return "keys", names
    names = sorted(name for (name, a), b in zip(own.items(), state.values()) if a.shape != b.shape)
    if names:
        return "shapes", names
    model.load_state_dict(state)
    return "fine", []


# %% wrong="asks for the checksums as well" says=["a wrong checksum", "torch.load doesn't compare it"]
def checkpoint_errors(path: Path, model: nn.Module) -> tuple[str, list[str]]:
    archive = zipfile.is_zipfile(path)
    try:
        if archive:
            with zipfile.ZipFile(path) as entries:
                if entries.testzip() is not None:
                    return "unreadable", []
        state = torch.load(path, weights_only=True)
    except Exception:
        return ("refused" if archive else "unreadable"), []
    if not isinstance(state, dict) or not all(
        isinstance(k, str) and isinstance(v, torch.Tensor) for k, v in state.items()
    ):
        return "no state dict", []
    own = model.state_dict()
    if set(state) != set(own):
        return "keys", sorted(set(state) ^ set(own))
    wrong = sorted(name for name in own if own[name].shape != state[name].shape)
    if wrong:
        return "shapes", wrong
    model.load_state_dict(state)
    return "fine", []


# %% wrong="catches the classes that the text shows" breaks="no exception leaves the function" says=["a table of losses: IndexError left the function", "a spoilt pickle: KeyError left the function"]
import pickle


def checkpoint_errors(path: Path, model: nn.Module) -> tuple[str, list[str]]:
    try:
        state = torch.load(path, weights_only=True)
    except (RuntimeError, EOFError, OSError, pickle.UnpicklingError):
        return ("refused" if zipfile.is_zipfile(path) else "unreadable"), []
    if not isinstance(state, dict) or not all(
        isinstance(k, str) and isinstance(v, torch.Tensor) for k, v in state.items()
    ):
        return "no state dict", []
    own = model.state_dict()
    if set(state) != set(own):
        return "keys", sorted(set(state) ^ set(own))
    wrong = sorted(name for name in own if own[name].shape != state[name].shape)
    if wrong:
        return "shapes", wrong
    model.load_state_dict(state)
    return "fine", []
