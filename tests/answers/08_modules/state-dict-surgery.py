# %% [markdown]
# Rules:
#
# - "From the front of a key"
# - "one after the other"
# - "until the rest is a name in `model.state_dict()`"
# - "in words such as `module_list`, these letters stay"
# - "the name and the shape of a tensor in `model.state_dict()`"
# - "copy the values in"
# - "The model's tensors stay the same objects"
# - "in their own memory"
# - "with their dtype"
# - "without their prefixes"
# - "in both, with different shapes"
# - "in the model only"
# - "in the checkpoint only"
# - "If nothing can be loaded: `ValueError`"
# - "`checkpoint` stays as it is"
# - "the modules' modes"
# - "each `requires_grad`"
# - "what isn't loaded"
#
# Admits:
#
# - "one after the other": _orig_mod.module.module. in front
# - "with their dtype": a float64 checkpoint without the statistics
# - "with different shapes": as many numbers in another shape
# - "If nothing can be loaded": a checkpoint of another model

# %% wrong="strict=False, and hope" says=["ValueError"]
def state_dict_surgery(model, checkpoint):
    answer = model.load_state_dict(checkpoint, strict=False)
    loaded = [name for name in checkpoint if name not in answer.unexpected_keys]
    if not loaded:
        raise ValueError("nothing")
    return {
        "loaded": loaded,
        "mismatched": [],
        "missing": answer.missing_keys,
        "unexpected": answer.unexpected_keys,
    }


# %% wrong="lstrip" says=["once its prefixes are off, all of them and no more"]
def state_dict_surgery(model, checkpoint):
    own = model.state_dict()
    found = {
        k if k in own else k.lstrip("module.").lstrip("_orig_mod."): v
        for k, v in checkpoint.items()
    }
    loaded = [k for k in own if k in found and found[k].shape == own[k].shape]
    if not loaded:
        raise ValueError("nothing fits")
    model.load_state_dict({k: found[k] for k in loaded}, strict=False)
    return {
        "loaded": loaded,
        "mismatched": [k for k in own if k in found and k not in loaded],
        "missing": [k for k in own if k not in found],
        "unexpected": [k for k in found if k not in own],
    }


# %% wrong="replace" breaks="From the front of a key" says=["a child that is called module, in DataParallel", "'loaded' lacks"]
def state_dict_surgery(model, checkpoint):
    own = model.state_dict()
    found = {k.replace("module.", "").replace("_orig_mod.", ""): v for k, v in checkpoint.items()}
    loaded = [k for k in own if k in found and found[k].shape == own[k].shape]
    if not loaded:
        raise ValueError("nothing fits")
    model.load_state_dict({k: found[k] for k in loaded}, strict=False)
    return {
        "loaded": loaded,
        "mismatched": [k for k in own if k in found and k not in loaded],
        "missing": [k for k in own if k not in found],
        "unexpected": [k for k in found if k not in own],
    }


# %% wrong="takes all prefixes off, always" breaks="until the rest is a name in `model.state_dict()`" says=["a child that is called module, no prefix"]
def state_dict_surgery(model, checkpoint):
    own, found = model.state_dict(), {}
    for k, v in checkpoint.items():
        while k.startswith(("module.", "_orig_mod.")):
            k = k.split(".", 1)[1]
        found[k] = v
    loaded = [k for k in own if k in found and found[k].shape == own[k].shape]
    if not loaded:
        raise ValueError("nothing fits")
    model.load_state_dict({k: found[k] for k in loaded}, strict=False)
    return {
        "loaded": loaded,
        "mismatched": [k for k in own if k in found and k not in loaded],
        "missing": [k for k in own if k not in found],
        "unexpected": [k for k in found if k not in own],
    }


# %% wrong="one prefix of each only" breaks="one after the other" says=["_orig_mod.module.module. in front"]
def state_dict_surgery(model, checkpoint):
    own, found = model.state_dict(), {}
    for k, v in checkpoint.items():
        for prefix in ("module.", "_orig_mod."):
            if k not in own:
                k = k.removeprefix(prefix)
        found[k] = v
    loaded = [k for k in own if k in found and found[k].shape == own[k].shape]
    if not loaded:
        raise ValueError("nothing fits")
    model.load_state_dict({k: found[k] for k in loaded}, strict=False)
    return {
        "loaded": loaded,
        "mismatched": [k for k in own if k in found and k not in loaded],
        "missing": [k for k in own if k not in found],
        "unexpected": [k for k in found if k not in own],
    }


# %% wrong="assign=True" says=["the model's tensors are new objects"]
def state_dict_surgery(model, checkpoint):
    own, found = model.state_dict(), {}
    for k, v in checkpoint.items():
        while k not in own and k.startswith(("module.", "_orig_mod.")):
            k = k.split(".", 1)[1]
        found[k] = v
    loaded = [k for k in own if k in found and found[k].shape == own[k].shape]
    if not loaded:
        raise ValueError("nothing fits")
    model.load_state_dict({k: found[k].to(own[k]) for k in loaded}, strict=False, assign=True)
    return {
        "loaded": loaded,
        "mismatched": [k for k in own if k in found and k not in loaded],
        "missing": [k for k in own if k not in found],
        "unexpected": [k for k in found if k not in own],
    }


# %% wrong="silent when nothing fits" breaks="If nothing can be loaded: `ValueError`" says=["no ValueError was raised"]
def state_dict_surgery(model, checkpoint):
    own, found = model.state_dict(), {}
    for k, v in checkpoint.items():
        while k not in own and k.startswith(("module.", "_orig_mod.")):
            k = k.split(".", 1)[1]
        found[k] = v
    loaded = [k for k in own if k in found and found[k].shape == own[k].shape]
    model.load_state_dict({k: found[k] for k in loaded}, strict=False)
    return {
        "loaded": loaded,
        "mismatched": [k for k in own if k in found and k not in loaded],
        "missing": [k for k in own if k not in found],
        "unexpected": [k for k in found if k not in own],
    }


# %% wrong="renames in the checkpoint itself" breaks="`checkpoint` stays as it is" says=["the checkpoint was changed: build a new dict"]
def state_dict_surgery(model, checkpoint):
    own = model.state_dict()
    for k in list(checkpoint):
        name = k
        while name not in own and name.startswith(("module.", "_orig_mod.")):
            name = name.split(".", 1)[1]
        checkpoint[name] = checkpoint.pop(k)
    found = checkpoint
    loaded = [k for k in own if k in found and found[k].shape == own[k].shape]
    if not loaded:
        raise ValueError("nothing fits")
    model.load_state_dict({k: found[k] for k in loaded}, strict=False)
    return {
        "loaded": loaded,
        "mismatched": [k for k in own if k in found and k not in loaded],
        "missing": [k for k in own if k not in found],
        "unexpected": [k for k in found if k not in own],
    }


# %% wrong="only the parameters" breaks="in the checkpoint only" says=["'unexpected' wrongly has ['features.0.norm.num_batches_tracked'"]
def state_dict_surgery(model, checkpoint):
    own, found = dict(model.named_parameters()), {}
    for k, v in checkpoint.items():
        while k not in own and k.startswith(("module.", "_orig_mod.")):
            k = k.split(".", 1)[1]
        found[k] = v
    loaded = [k for k in own if k in found and found[k].shape == own[k].shape]
    if not loaded:
        raise ValueError("nothing fits")
    with torch.no_grad():
        for k in loaded:
            own[k].copy_(found[k])
    return {
        "loaded": loaded,
        "mismatched": [k for k in own if k in found and k not in loaded],
        "missing": [k for k in own if k not in found],
        "unexpected": [k for k in found if k not in own],
    }


# %% wrong="a mismatch counts as missing" breaks="in both, with different shapes" says=["'mismatched' lacks ['bias']", "'missing' wrongly has ['bias']"]
def state_dict_surgery(model, checkpoint):
    own, found = model.state_dict(), {}
    for k, v in checkpoint.items():
        while k not in own and k.startswith(("module.", "_orig_mod.")):
            k = k.split(".", 1)[1]
        if k not in own or v.shape == own[k].shape:
            found[k] = v
    answer = model.load_state_dict(found, strict=False)
    loaded = [k for k in found if k in own]
    if not loaded:
        raise ValueError("nothing fits")
    return {
        "loaded": loaded,
        "mismatched": [],
        "missing": answer.missing_keys,
        "unexpected": answer.unexpected_keys,
    }


# %% right="a regular expression, sets, and copy_"
def state_dict_surgery(model, checkpoint):
    import re

    own = model.state_dict()

    def plain(key):
        if key in own:
            return key
        match = re.match(r"(?:module|_orig_mod)\.(.*)", key)
        return plain(match[1]) if match else key

    found = {plain(key): tensor for key, tensor in checkpoint.items()}
    both = found.keys() & own.keys()
    loaded = {name for name in both if found[name].shape == own[name].shape}
    if not loaded:
        raise ValueError("none of the names and shapes agree")
    for name in loaded:
        own[name].copy_(found[name])
    return dict(
        loaded=loaded,
        mismatched=both - loaded,
        missing=own.keys() - found.keys(),
        unexpected=found.keys() - own.keys(),
    )


# %% right="one pass, tensors one by one under no_grad"
class NothingFits(ValueError):
    pass


def state_dict_surgery(model, checkpoint):
    report = {key: () for key in ("loaded", "mismatched", "missing", "unexpected")}
    targets = model.state_dict(keep_vars=True)
    rest = dict(targets)
    for key, value in checkpoint.items():
        parts = key.split(".")
        while (
            ".".join(parts) not in targets
            and len(parts) > 1
            and parts[0] in ("module", "_orig_mod")
        ):
            parts = parts[1:]
        name = ".".join(parts)
        if name not in targets:
            report["unexpected"] += (name,)
            continue
        target = rest.pop(name)
        kind = "loaded" if target.shape == value.shape else "mismatched"
        report[kind] += (name,)
        if kind == "loaded":
            with torch.no_grad():
                target.copy_(value)
    report["missing"] = tuple(rest)
    if not report["loaded"]:
        raise NothingFits
    return report


# %% wrong="the prefix without its dot" breaks="in words such as `module_list`, these letters stay" says=["a word that begins like a prefix"]
def state_dict_surgery(model, checkpoint):
    own = model.state_dict()

    def strip(name):
        if name in own:
            return name
        return (
            strip(name[7:])
            if name.startswith("module")
            else strip(name[10:])
            if name.startswith("_orig_mod.")
            else name
        )

    state = {strip(k): v for k, v in checkpoint.items()}
    both = own.keys() & state.keys()
    fits = {k for k in both if own[k].shape == state[k].shape}
    if not fits:
        raise ValueError("nothing can be loaded")
    with torch.no_grad():
        for k in fits:
            own[k].copy_(state[k])
    return dict(
        loaded=fits,
        mismatched=both - fits,
        missing=set(own) - set(state),
        unexpected=set(state) - set(own),
    )


# %% wrong="as many dimensions are enough" says=["only what has the same shape may be loaded"]
def state_dict_surgery(model, checkpoint):
    own = model.state_dict()

    def strip(name):
        if name in own:
            return name
        head, dot, rest = name.partition(".")
        return strip(rest) if dot and head in {"module", "_orig_mod"} else name

    state = {strip(k): v for k, v in checkpoint.items()}
    both = own.keys() & state.keys()
    fits = {k for k in both if own[k].dim() == state[k].dim()}
    if not fits:
        raise ValueError("nothing can be loaded")
    with torch.no_grad():
        for k in fits:
            own[k].copy_(state[k])
    return dict(
        loaded=fits,
        mismatched=both - fits,
        missing=set(own) - set(state),
        unexpected=set(state) - set(own),
    )


# %% right="a regular expression, tuples, data"
def state_dict_surgery(model, checkpoint):
    import re

    own = dict(model.named_parameters(remove_duplicate=False))
    own |= {k: v for k, v in model.named_buffers(remove_duplicate=False)}
    own = {k: own[k] for k in model.state_dict()}
    report = {key: () for key in ("loaded", "mismatched", "unexpected")}
    seen, todo = set(), []
    for key, tensor in checkpoint.items():
        while key not in own and re.match(r"(module|_orig_mod)\.", key):
            key = re.sub(r"^(module|_orig_mod)\.", "", key)
        seen.add(key)
        if key not in own:
            report["unexpected"] += (key,)
        elif own[key].size() != tensor.size():
            report["mismatched"] += (key,)
        else:
            report["loaded"] += (key,)
            todo.append((own[key], tensor))
    report["missing"] = tuple(key for key in own if key not in seen)
    if not todo:
        raise ValueError("no name fits")
    for old, new in todo:
        old.data.copy_(new)
    return report


# %% wrong="ends in eval mode" breaks="the modules' modes" says=["training of each module"]
def state_dict_surgery(model, checkpoint):
    own = model.state_dict()
    found = {}
    for name, tensor in checkpoint.items():
        while name not in own and name.startswith(("module.", "_orig_mod.")):
            name = name.partition(".")[2]
        found[name] = tensor
    both = [name for name in own if name in found]
    loaded = [name for name in both if found[name].shape == own[name].shape]
    if not loaded:
        raise ValueError("nothing fits")
    model.load_state_dict({name: found[name] for name in loaded}, strict=False)
    model.eval()
    return {
        "loaded": loaded,
        "mismatched": [name for name in both if name not in loaded],
        "missing": [name for name in own if name not in found],
        "unexpected": [name for name in found if name not in own],
    }


# %% wrong="takes the checkpoint's memory" breaks="in their own memory" says=["in the checkpoint's memory now"]
def state_dict_surgery(model, checkpoint):
    own = model.state_dict(keep_vars=True)
    found = {}
    for name, tensor in checkpoint.items():
        while name not in own and name.startswith(("module.", "_orig_mod.")):
            name = name.partition(".")[2]
        found[name] = tensor
    both = [name for name in own if name in found]
    loaded = [name for name in both if found[name].shape == own[name].shape]
    if not loaded:
        raise ValueError("nothing fits")
    for name in loaded:
        own[name].data = found[name].detach().to(own[name].dtype)
    return {
        "loaded": loaded,
        "mismatched": [name for name in both if name not in loaded],
        "missing": [name for name in own if name not in found],
        "unexpected": [name for name in found if name not in own],
    }


# %% wrong="as many numbers will do" breaks="the name and the shape of a tensor in `model.state_dict()`" says=["as many numbers in another shape"]
def state_dict_surgery(model, checkpoint):
    own = model.state_dict()
    found = {}
    for name, tensor in checkpoint.items():
        while name not in own and name.startswith(("module.", "_orig_mod.")):
            name = name.partition(".")[2]
        found[name] = tensor
    both = [name for name in own if name in found]
    loaded = [name for name in both if found[name].numel() == own[name].numel()]
    if not loaded:
        raise ValueError("nothing fits")
    for name in loaded:
        own[name].copy_(found[name].detach().view_as(own[name]))
    return {
        "loaded": loaded,
        "mismatched": [name for name in both if name not in loaded],
        "missing": [name for name in own if name not in found],
        "unexpected": [name for name in found if name not in own],
    }


# %% wrong="parameters and buffers for the state" says=["wrongly has ['mask']"]
def state_dict_surgery(model, checkpoint):
    own = dict(model.named_parameters()) | dict(model.named_buffers())
    found = {}
    for name, tensor in checkpoint.items():
        while name not in own and name.startswith(("module.", "_orig_mod.")):
            name = name.partition(".")[2]
        found[name] = tensor
    both = [name for name in own if name in found]
    loaded = [name for name in both if found[name].shape == own[name].shape]
    if not loaded:
        raise ValueError("nothing fits")
    with torch.no_grad():
        for name in loaded:
            own[name].copy_(found[name])
    return {
        "loaded": loaded,
        "mismatched": [name for name in both if name not in loaded],
        "missing": [name for name in own if name not in found],
        "unexpected": [name for name in found if name not in own],
    }


# %% wrong="reports, and loads nothing" breaks="copy the values in" says=["reported as loaded, and the model still has the old values"]
def state_dict_surgery(model, checkpoint):
    own = model.state_dict()
    found = {}
    for name, tensor in checkpoint.items():
        while name not in own and name.startswith(("module.", "_orig_mod.")):
            name = name.partition(".")[2]
        found[name] = tensor
    both = [name for name in own if name in found]
    loaded = [name for name in both if found[name].shape == own[name].shape]
    if not loaded:
        raise ValueError("nothing fits")
    copies = {name: tensor.clone() for name, tensor in own.items()}
    for name in loaded:
        copies[name].copy_(found[name])
    return {
        "loaded": loaded,
        "mismatched": [name for name in both if name not in loaded],
        "missing": [name for name in own if name not in found],
        "unexpected": [name for name in found if name not in own],
    }


# %% wrong="takes off model. as well" says=["lacks ['model.nose.weight']"]
def state_dict_surgery(model, checkpoint):
    own, found = model.state_dict(), {}
    for name, tensor in checkpoint.items():
        while name not in own and name.startswith(("module.", "_orig_mod.", "model.")):
            name = name.partition(".")[2]
        found[name] = tensor
    both = [n for n in own if n in found]
    loaded = [n for n in both if found[n].shape == own[n].shape]
    if not loaded:
        raise ValueError("nothing")
    model.load_state_dict({n: found[n] for n in loaded}, strict=False)
    return {
        "loaded": loaded,
        "mismatched": [n for n in both if n not in loaded],
        "missing": [n for n in own if n not in found],
        "unexpected": [n for n in found if n not in own],
    }


# %% wrong="small letters only" says=["'loaded' lacks ['Gain']"]
def state_dict_surgery(model, checkpoint):
    own, found = model.state_dict(), {}
    for name, tensor in checkpoint.items():
        while name not in own and name.startswith(("module.", "_orig_mod.")):
            name = name.partition(".")[2]
        found[name.lower()] = tensor
    both = [n for n in own if n in found]
    loaded = [n for n in both if found[n].shape == own[n].shape]
    if not loaded:
        raise ValueError("nothing")
    model.load_state_dict({n: found[n] for n in loaded}, strict=False)
    return {
        "loaded": loaded,
        "mismatched": [n for n in both if n not in loaded],
        "missing": [n for n in own if n not in found],
        "unexpected": [n for n in found if n not in own],
    }


# %% wrong="compares the number of dimensions and the first" says=["the first size fits, the second doesn't"]
def state_dict_surgery(model, checkpoint):
    own = model.state_dict()
    new = {}
    for key, value in checkpoint.items():
        while key not in own:
            for prefix in ("module.", "_orig_mod."):
                if key.startswith(prefix):
                    key = key[len(prefix) :]
                    break
            else:
                break
        new[key] = value
    out = {"loaded": [], "mismatched": [], "missing": [], "unexpected": []}
    for key in new:
        if key not in own:
            out["unexpected"].append(key)
        elif own[key].shape[:1] != new[key].shape[:1]:
            out["mismatched"].append(key)
        else:
            out["loaded"].append(key)
    out["missing"] = [key for key in own if key not in new]
    if not out["loaded"]:
        raise ValueError("nothing fits")
    with torch.no_grad():
        for key in out["loaded"]:
            own[key].copy_(new[key].reshape(own[key].shape))
    return out


# %% wrong="what is missing is set to zero" breaks="what isn't loaded" says=["nothing fits it, so it stays"]
def state_dict_surgery(model, checkpoint):
    own = model.state_dict()
    new = {}
    for key, value in checkpoint.items():
        while key not in own:
            for prefix in ("module.", "_orig_mod."):
                if key.startswith(prefix):
                    key = key[len(prefix) :]
                    break
            else:
                break
        new[key] = value
    out = {"loaded": [], "mismatched": [], "missing": [], "unexpected": []}
    for key in new:
        if key not in own:
            out["unexpected"].append(key)
        elif own[key].shape != new[key].shape:
            out["mismatched"].append(key)
        else:
            out["loaded"].append(key)
    out["missing"] = [key for key in own if key not in new]
    if not out["loaded"]:
        raise ValueError("nothing fits")
    with torch.no_grad():
        for key in out["loaded"]:
            own[key].copy_(new[key])
    for key in out["missing"]:
        own[key].zero_()
    return out


# %% wrong="a float16 detour" says=["in the model afterwards"]
def state_dict_surgery(model, checkpoint):
    own = model.state_dict()
    new = {}
    for key, value in checkpoint.items():
        while key not in own:
            for prefix in ("module.", "_orig_mod."):
                if key.startswith(prefix):
                    key = key[len(prefix) :]
                    break
            else:
                break
        new[key] = value
    out = {"loaded": [], "mismatched": [], "missing": [], "unexpected": []}
    for key in new:
        if key not in own:
            out["unexpected"].append(key)
        elif own[key].shape != new[key].shape:
            out["mismatched"].append(key)
        else:
            out["loaded"].append(key)
    out["missing"] = [key for key in own if key not in new]
    if not out["loaded"]:
        raise ValueError("nothing fits")
    with torch.no_grad():
        for key in out["loaded"]:
            own[key].copy_(new[key].half())
    return out


# %% wrong="casts the checkpoint's own tensors" says=["the checkpoint's names, values or dtypes were changed"]
def state_dict_surgery(model, checkpoint):
    own = model.state_dict()
    renamed = {}
    for key, tensor in checkpoint.items():
        while key not in own and key.startswith(("module.", "_orig_mod.")):
            key = key.split(".", 1)[1]
        renamed[key] = tensor
    fits = {n: t for n, t in renamed.items() if n in own and own[n].shape == t.shape}
    if not fits:
        raise ValueError("nothing fits")
    for n, t in fits.items():
        t.data = t.to(own[n].dtype)
    model.load_state_dict(fits, strict=False)
    return {
        "loaded": list(fits),
        "mismatched": [n for n in renamed if n in own and n not in fits],
        "missing": [n for n in own if n not in renamed],
        "unexpected": [n for n in renamed if n not in own],
    }


# %% wrong="shapes compared without their ones" says=["(1,) in place of (): a counter of batches"]
def state_dict_surgery(model, checkpoint):
    own = model.state_dict()
    report = {"loaded": [], "mismatched": [], "missing": [], "unexpected": []}
    new = {}
    for key, t in checkpoint.items():
        k = key
        while k not in own:
            if k.startswith("module."):
                k = k[7:]
            elif k.startswith("_orig_mod."):
                k = k[10:]
            else:
                break
        new[k] = t
    for k, t in new.items():
        if k not in own:
            report["unexpected"].append(k)
        elif tuple(own[k].shape) != tuple(t.squeeze().shape) and own[k].shape != t.shape:
            report["mismatched"].append(k)
        else:
            report["loaded"].append(k)
    report["missing"] = [k for k in own if k not in new]
    if not report["loaded"]:
        raise ValueError("nothing")
    with torch.no_grad():
        for k in report["loaded"]:
            own[k].copy_(new[k])
    return report


# %% wrong="a mismatch is missing, too" says=["'missing' wrongly has ['bias']"]
def state_dict_surgery(model, checkpoint):
    own = model.state_dict()
    report = {"loaded": [], "mismatched": [], "missing": [], "unexpected": []}
    new = {}
    for key, t in checkpoint.items():
        k = key
        while k not in own:
            if k.startswith("module."):
                k = k[7:]
            elif k.startswith("_orig_mod."):
                k = k[10:]
            else:
                break
        new[k] = t
    for k, t in new.items():
        if k not in own:
            report["unexpected"].append(k)
        elif own[k].shape != t.shape:
            report["mismatched"].append(k)
        else:
            report["loaded"].append(k)
    report["missing"] = [k for k in own if k not in report["loaded"]]
    if not report["loaded"]:
        raise ValueError("nothing")
    with torch.no_grad():
        for k in report["loaded"]:
            own[k].copy_(new[k])
    return report


# %% wrong="puts new tensors in the drawers" breaks="The model's tensors stay the same objects" says=["the model's tensors are new objects"]
def state_dict_surgery(model, checkpoint):
    own = model.state_dict()
    report = {"loaded": [], "mismatched": [], "missing": [], "unexpected": []}
    new = {}
    for key, t in checkpoint.items():
        k = key
        while k not in own:
            if k.startswith("module."):
                k = k[7:]
            elif k.startswith("_orig_mod."):
                k = k[10:]
            else:
                break
        new[k] = t
    for k, t in new.items():
        if k not in own:
            report["unexpected"].append(k)
        elif own[k].shape != t.shape:
            report["mismatched"].append(k)
        else:
            report["loaded"].append(k)
    report["missing"] = [k for k in own if k not in new]
    if not report["loaded"]:
        raise ValueError("nothing")
    with torch.no_grad():
        for k in report["loaded"]:
            path, _, leaf = k.rpartition(".")
            m = model.get_submodule(path)
            if leaf in m._parameters:
                m._parameters[leaf] = nn.Parameter(new[k].to(own[k]))
            else:
                m._buffers[leaf] = new[k].to(own[k])
    return report


# %% wrong="floats only" says=["'loaded' lacks ['features.0.norm.num_batches_tracked'"]
def state_dict_surgery(model, checkpoint):
    own = model.state_dict()
    report = {"loaded": [], "mismatched": [], "missing": [], "unexpected": []}
    new = {}
    for key, t in checkpoint.items():
        k = key
        while k not in own:
            if k.startswith("module."):
                k = k[7:]
            elif k.startswith("_orig_mod."):
                k = k[10:]
            else:
                break
        new[k] = t
    for k, t in new.items():
        if k not in own:
            report["unexpected"].append(k)
        elif own[k].shape != t.shape:
            report["mismatched"].append(k)
        elif not t.is_floating_point():
            pass
        else:
            report["loaded"].append(k)
    report["missing"] = [k for k in own if k not in new]
    if not report["loaded"]:
        raise ValueError("nothing")
    with torch.no_grad():
        for k in report["loaded"]:
            own[k].copy_(new[k])
    return report


# %% right="slices of names, copy_ by name"
def state_dict_surgery(model, checkpoint):
    own = model.state_dict()
    report = {"loaded": [], "mismatched": [], "missing": [], "unexpected": []}
    new = {}
    for key, t in checkpoint.items():
        k = key
        while k not in own:
            if k.startswith("module."):
                k = k[7:]
            elif k.startswith("_orig_mod."):
                k = k[10:]
            else:
                break
        new[k] = t
    for k, t in new.items():
        if k not in own:
            report["unexpected"].append(k)
        elif own[k].shape != t.shape:
            report["mismatched"].append(k)
        else:
            report["loaded"].append(k)
    report["missing"] = [k for k in own if k not in new]
    if not report["loaded"]:
        raise ValueError("nothing")
    with torch.no_grad():
        for k in report["loaded"]:
            own[k].copy_(new[k])
    return report


# %% wrong="takes the checkpoint's dtype" breaks="with their dtype" says=["has dtype torch.float64, expected torch.float32"]
def state_dict_surgery(model, checkpoint):
    own = model.state_dict()
    found = {}
    for key, value in checkpoint.items():
        while key not in own:
            for prefix in ("module.", "_orig_mod."):
                if key.startswith(prefix):
                    key = key[len(prefix) :]
                    break
            else:
                break
        found[key] = value
    loaded = [k for k in found if k in own and found[k].shape == own[k].shape]
    if not loaded:
        raise ValueError("nothing fits")
    with torch.no_grad():
        for k in loaded:
            tensor = {
                **dict(model.named_parameters(remove_duplicate=False)),
                **dict(model.named_buffers()),
            }[k]
            tensor.data = found[k].clone()
    return {
        "loaded": loaded,
        "mismatched": [k for k in found if k in own and k not in loaded],
        "missing": [k for k in own if k not in found],
        "unexpected": [k for k in found if k not in own],
    }


# %% wrong="tells what is unexpected by its key" breaks="without their prefixes" says=["'unexpected' wrongly has ['module.stem.module.weight']"]
def state_dict_surgery(model, checkpoint):
    own = model.state_dict()
    found, keys = {}, {}
    for whole, value in checkpoint.items():
        key = whole
        while key not in own:
            for prefix in ("module.", "_orig_mod."):
                if key.startswith(prefix):
                    key = key[len(prefix) :]
                    break
            else:
                break
        found[key] = value
        keys[key] = whole
    loaded = [k for k in found if k in own and found[k].shape == own[k].shape]
    if not loaded:
        raise ValueError("nothing fits")
    with torch.no_grad():
        for k in loaded:
            own[k].copy_(found[k])
    return {
        "loaded": loaded,
        "mismatched": [k for k in found if k in own and k not in loaded],
        "missing": [k for k in own if k not in found],
        "unexpected": [keys[k] for k in found if k not in own],
    }


# %% wrong="parameters alone can be missing" breaks="in the model only" says=["'missing' lacks ['features.0.norm.num_batches_tracked'"]
def state_dict_surgery(model, checkpoint):
    own = model.state_dict()
    found = {}
    for key, value in checkpoint.items():
        while key not in own:
            for prefix in ("module.", "_orig_mod."):
                if key.startswith(prefix):
                    key = key[len(prefix) :]
                    break
            else:
                break
        found[key] = value
    loaded = [k for k in found if k in own and found[k].shape == own[k].shape]
    if not loaded:
        raise ValueError("nothing fits")
    with torch.no_grad():
        for k in loaded:
            own[k].copy_(found[k])
    return {
        "loaded": loaded,
        "mismatched": [k for k in found if k in own and k not in loaded],
        "missing": [k for k, _ in model.named_parameters() if k not in found],
        "unexpected": [k for k in found if k not in own],
    }


# %% wrong="freezes what it has loaded" breaks="each `requires_grad`" says=["requires_grad of the parameters"]
def state_dict_surgery(model, checkpoint):
    own = model.state_dict()
    found = {}
    for key, value in checkpoint.items():
        while key not in own:
            for prefix in ("module.", "_orig_mod."):
                if key.startswith(prefix):
                    key = key[len(prefix) :]
                    break
            else:
                break
        found[key] = value
    loaded = [k for k in found if k in own and found[k].shape == own[k].shape]
    if not loaded:
        raise ValueError("nothing fits")
    with torch.no_grad():
        for k in loaded:
            own[k].copy_(found[k])
    for k, parameter in model.named_parameters():
        parameter.requires_grad_(k not in loaded)
    return {
        "loaded": loaded,
        "mismatched": [k for k in found if k in own and k not in loaded],
        "missing": [k for k in own if k not in found],
        "unexpected": [k for k in found if k not in own],
    }


# %% wrong="a report for an empty checkpoint" says=["an empty checkpoint: nothing can be loaded, and no ValueError was raised"]
def state_dict_surgery(model, checkpoint):
    own = model.state_dict()
    found = {}
    for key, value in checkpoint.items():
        while key not in own:
            for prefix in ("module.", "_orig_mod."):
                if key.startswith(prefix):
                    key = key[len(prefix) :]
                    break
            else:
                break
        found[key] = value
    loaded = [k for k in found if k in own and found[k].shape == own[k].shape]
    if checkpoint and not loaded:
        raise ValueError("nothing fits")
    with torch.no_grad():
        for k in loaded:
            own[k].copy_(found[k])
    return {
        "loaded": loaded,
        "mismatched": [k for k in found if k in own and k not in loaded],
        "missing": [k for k in own if k not in found],
        "unexpected": [k for k in found if k not in own],
    }


# %% wrong="turns matrices that lie on their side" says=["in place of (10, 16)", "'loaded' wrongly has ['head.weight']"]
def state_dict_surgery(model, checkpoint):
    own = model.state_dict()
    found = {}
    for key, value in checkpoint.items():
        while key not in own:
            for prefix in ("module.", "_orig_mod."):
                if key.startswith(prefix):
                    key = key[len(prefix) :]
                    break
            else:
                break
        found[key] = value
    for k, value in found.items():
        if k in own and value.dim() == 2 and value.T.shape == own[k].shape:
            found[k] = value.T
    loaded = [k for k in found if k in own and found[k].shape == own[k].shape]
    if not loaded:
        raise ValueError("nothing fits")
    with torch.no_grad():
        for k in loaded:
            own[k].copy_(found[k])
    return {
        "loaded": loaded,
        "mismatched": [k for k in found if k in own and k not in loaded],
        "missing": [k for k in own if k not in found],
        "unexpected": [k for k in found if k not in own],
    }


# %% wrong="a RuntimeError where nothing fits" says=["a ValueError belongs where nothing fits"]
def state_dict_surgery(model, checkpoint):
    own = model.state_dict()
    renamed = {}
    for key, tensor in checkpoint.items():
        while key not in own and key.startswith(("module.", "_orig_mod.")):
            key = key.split(".", 1)[1]
        renamed[key] = tensor
    fits = {n: t for n, t in renamed.items() if n in own and own[n].shape == t.shape}
    if not fits:
        raise RuntimeError("nothing fits")
    model.load_state_dict(fits, strict=False)
    return {
        "loaded": list(fits),
        "mismatched": [n for n in renamed if n in own and n not in fits],
        "missing": [n for n in own if n not in renamed],
        "unexpected": [n for n in renamed if n not in own],
    }


# %% wrong="takes off any first word" says=["'unexpected' wrongly has ['weight'] and lacks ['model.nose.weight', 'module_x.weight']"]
def state_dict_surgery(model, checkpoint):
    own = model.state_dict()
    renamed = {}
    for key, tensor in checkpoint.items():
        while key not in own and "." in key:
            key = key.split(".", 1)[1]
        renamed[key] = tensor
    fits = {n: t for n, t in renamed.items() if n in own and own[n].shape == t.shape}
    if not fits:
        raise ValueError("nothing fits")
    model.load_state_dict(fits, strict=False)
    return {
        "loaded": list(fits),
        "mismatched": [n for n in renamed if n in own and n not in fits],
        "missing": [n for n in own if n not in renamed],
        "unexpected": [n for n in renamed if n not in own],
    }


# %% wrong="leaves out tensors without a number" breaks="in both, with different shapes" says=["no number at all, (0, 2) in place of (2, 2): 'mismatched' lacks ['weight']"]
def state_dict_surgery(model, checkpoint):
    own = model.state_dict()
    renamed = {}
    for key, tensor in checkpoint.items():
        name = key
        while name not in own and name.startswith(("module.", "_orig_mod.")):
            name = name.partition(".")[2]
        renamed[name] = tensor
    fits = {n: t for n, t in renamed.items() if n in own and t.shape == own[n].shape}
    if not fits:
        raise ValueError("nothing fits")
    model.load_state_dict(fits, strict=False)
    return {
        "loaded": list(fits),
        "mismatched": [n for n in renamed if n in own and n not in fits and renamed[n].numel()],
        "missing": [n for n in own if n not in renamed],
        "unexpected": [n for n in renamed if n not in own],
    }


# %% wrong="raises a KeyError" breaks="If nothing can be loaded: `ValueError`" says=["a KeyError was raised"]
def state_dict_surgery(model, checkpoint):
    own = model.state_dict()
    renamed = {}
    for key, tensor in checkpoint.items():
        name = key
        while name not in own and name.startswith(("module.", "_orig_mod.")):
            name = name.partition(".")[2]
        renamed[name] = tensor
    fits = {n: t for n, t in renamed.items() if n in own and t.shape == own[n].shape}
    if not fits:
        raise KeyError("nothing fits")
    model.load_state_dict(fits, strict=False)
    return {
        "loaded": list(fits),
        "mismatched": [n for n in renamed if n in own and n not in fits],
        "missing": [n for n in own if n not in renamed],
        "unexpected": [n for n in renamed if n not in own],
    }


# %% wrong="copies through float32" breaks="copy the values in" says=["a model in float64", "what goes through float32?"]
def state_dict_surgery(model: nn.Module, checkpoint: dict[str, torch.Tensor]) -> dict:
    mine = model.state_dict()
    renamed = {}
    for key, tensor in checkpoint.items():
        while key not in mine:
            if key.startswith("module."):
                key = key.removeprefix("module.")
            elif key.startswith("_orig_mod."):
                key = key.removeprefix("_orig_mod.")
            else:
                break
        renamed[key] = tensor
    both = [name for name in mine if name in renamed]
    loaded = [name for name in both if mine[name].shape == renamed[name].shape]
    if not loaded:
        raise ValueError("nothing fits")
    with torch.no_grad():
        for name in loaded:
            mine[name].copy_(renamed[name].float())
    return {
        "loaded": loaded,
        "mismatched": [name for name in both if name not in loaded],
        "missing": [name for name in mine if name not in renamed],
        "unexpected": [name for name in renamed if name not in mine],
    }


# %% wrong="counters go through float32" breaks="copy the values in" says=["num_batches_tracked in the model afterwards"]
def state_dict_surgery(model: nn.Module, checkpoint: dict[str, torch.Tensor]) -> dict:
    mine = model.state_dict()
    renamed = {}
    for key, tensor in checkpoint.items():
        while key not in mine:
            if key.startswith("module."):
                key = key.removeprefix("module.")
            elif key.startswith("_orig_mod."):
                key = key.removeprefix("_orig_mod.")
            else:
                break
        renamed[key] = tensor
    both = [name for name in mine if name in renamed]
    loaded = [name for name in both if mine[name].shape == renamed[name].shape]
    if not loaded:
        raise ValueError("nothing fits")
    with torch.no_grad():
        for name in loaded:
            mine[name].copy_(
                renamed[name].float() if not renamed[name].is_floating_point() else renamed[name]
            )
    return {
        "loaded": loaded,
        "mismatched": [name for name in both if name not in loaded],
        "missing": [name for name in mine if name not in renamed],
        "unexpected": [name for name in renamed if name not in mine],
    }


# %% wrong="capital letters are taken for small ones" says=["capital and small letters differ"]
def state_dict_surgery(model: nn.Module, checkpoint: dict[str, torch.Tensor]) -> dict:
    mine = model.state_dict()
    renamed = {}
    for key, tensor in checkpoint.items():
        if key.lower() in mine:
            key = key.lower()
        while key not in mine:
            if key.startswith("module."):
                key = key.removeprefix("module.")
            elif key.startswith("_orig_mod."):
                key = key.removeprefix("_orig_mod.")
            else:
                break
        renamed[key] = tensor
    both = [name for name in mine if name in renamed]
    loaded = [name for name in both if mine[name].shape == renamed[name].shape]
    if not loaded:
        raise ValueError("nothing fits")
    with torch.no_grad():
        for name in loaded:
            mine[name].copy_(renamed[name])
    return {
        "loaded": loaded,
        "mismatched": [name for name in both if name not in loaded],
        "missing": [name for name in mine if name not in renamed],
        "unexpected": [name for name in renamed if name not in mine],
    }


# %% wrong="takes off three prefixes at most" breaks="one after the other" says=["six prefixes in front"]
def state_dict_surgery(model: nn.Module, checkpoint: dict[str, torch.Tensor]) -> dict:
    mine = model.state_dict()
    renamed = {}
    for key, tensor in checkpoint.items():
        for _ in range(3):
            if key in mine:
                break
            if key.startswith("module."):
                key = key.removeprefix("module.")
            elif key.startswith("_orig_mod."):
                key = key.removeprefix("_orig_mod.")
            else:
                break
        renamed[key] = tensor
    both = [name for name in mine if name in renamed]
    loaded = [name for name in both if mine[name].shape == renamed[name].shape]
    if not loaded:
        raise ValueError("nothing fits")
    with torch.no_grad():
        for name in loaded:
            mine[name].copy_(renamed[name])
    return {
        "loaded": loaded,
        "mismatched": [name for name in both if name not in loaded],
        "missing": [name for name in mine if name not in renamed],
        "unexpected": [name for name in renamed if name not in mine],
    }


# %% wrong="reads a checkpoint's memory in its order" breaks="copy the values in" says=["a transposed view with infinite numbers"]
def state_dict_surgery(model: nn.Module, checkpoint: dict[str, torch.Tensor]) -> dict:
    mine = model.state_dict()
    renamed = {}
    for key, tensor in checkpoint.items():
        while key not in mine:
            if key.startswith("module."):
                key = key.removeprefix("module.")
            elif key.startswith("_orig_mod."):
                key = key.removeprefix("_orig_mod.")
            else:
                break
        renamed[key] = tensor
    both = [name for name in mine if name in renamed]
    loaded = [name for name in both if mine[name].shape == renamed[name].shape]
    if not loaded:
        raise ValueError("nothing fits")
    with torch.no_grad():
        for name in loaded:
            mine[name].copy_(
                torch.as_strided(
                    renamed[name], mine[name].shape, torch.empty(mine[name].shape).stride()
                )
            )
    return {
        "loaded": loaded,
        "mismatched": [name for name in both if name not in loaded],
        "missing": [name for name in mine if name not in renamed],
        "unexpected": [name for name in renamed if name not in mine],
    }


# %% wrong="replaces infinite numbers" breaks="copy the values in" says=["a transposed view with infinite numbers"]
def state_dict_surgery(model: nn.Module, checkpoint: dict[str, torch.Tensor]) -> dict:
    mine = model.state_dict()
    renamed = {}
    for key, tensor in checkpoint.items():
        while key not in mine:
            if key.startswith("module."):
                key = key.removeprefix("module.")
            elif key.startswith("_orig_mod."):
                key = key.removeprefix("_orig_mod.")
            else:
                break
        renamed[key] = tensor
    both = [name for name in mine if name in renamed]
    loaded = [name for name in both if mine[name].shape == renamed[name].shape]
    if not loaded:
        raise ValueError("nothing fits")
    with torch.no_grad():
        for name in loaded:
            mine[name].copy_(torch.nan_to_num(renamed[name]))
    return {
        "loaded": loaded,
        "mismatched": [name for name in both if name not in loaded],
        "missing": [name for name in mine if name not in renamed],
        "unexpected": [name for name in renamed if name not in mine],
    }


# %% wrong="skips tensors without numbers" says=["'loaded' lacks ['empty']"]
def state_dict_surgery(model: nn.Module, checkpoint: dict[str, torch.Tensor]) -> dict:
    mine = model.state_dict()
    renamed = {}
    for key, tensor in checkpoint.items():
        while key not in mine:
            if key.startswith("module."):
                key = key.removeprefix("module.")
            elif key.startswith("_orig_mod."):
                key = key.removeprefix("_orig_mod.")
            else:
                break
        renamed[key] = tensor
    both = [name for name in mine if name in renamed]
    loaded = [
        name for name in both if mine[name].numel() and mine[name].shape == renamed[name].shape
    ]
    if not loaded:
        raise ValueError("nothing fits")
    with torch.no_grad():
        for name in loaded:
            mine[name].copy_(renamed[name])
    return {
        "loaded": loaded,
        "mismatched": [name for name in both if name not in loaded],
        "missing": [name for name in mine if name not in renamed],
        "unexpected": [name for name in renamed if name not in mine],
    }


# %% wrong="a ValueError where no parameter fits, though a buffer does" breaks="If nothing can be loaded: `ValueError`" says=["nothing but a counter of batches"]
def state_dict_surgery(model, checkpoint):
    own = model.state_dict()
    renamed = {}
    for name, tensor in checkpoint.items():
        while name not in own and name.startswith(("module.", "_orig_mod.")):
            name = name.split(".", 1)[1]
        renamed[name] = tensor
    loaded = [n for n in own if n in renamed and renamed[n].shape == own[n].shape]
    mismatched = [n for n in own if n in renamed and renamed[n].shape != own[n].shape]
    missing = [n for n in own if n not in renamed]
    unexpected = [n for n in renamed if n not in own]
    if not [n for n in loaded if n in dict(model.named_parameters())]:
        raise ValueError("nothing fits")
    model.load_state_dict({n: renamed[n] for n in loaded}, strict=False)
    return {
        "loaded": loaded,
        "mismatched": mismatched,
        "missing": missing,
        "unexpected": unexpected,
    }


# %% wrong="assigns to .data" says=["have other memory (.data = …?)"]
def state_dict_surgery(model: nn.Module, checkpoint: dict[str, torch.Tensor]) -> dict:
    own = model.state_dict(keep_vars=True)
    renamed = {}
    for name, tensor in checkpoint.items():
        while name not in own and name.startswith(("module.", "_orig_mod.")):
            name = name.split(".", 1)[1]
        renamed[name] = tensor
    fits = {n: t for n, t in renamed.items() if n in own and t.shape == own[n].shape}
    if not fits:
        raise ValueError("nothing can be loaded")
    for name, tensor in fits.items():
        mine = own[name]
        mine.data = tensor.detach().clone().to(device=mine.device, dtype=mine.dtype)
    return {
        "loaded": list(fits),
        "mismatched": [n for n in renamed if n in own and n not in fits],
        "missing": [n for n in own if n not in renamed],
        "unexpected": [n for n in renamed if n not in own],
    }


# %% wrong="takes one prefix of each kind off in every turn" breaks="until the rest is a name in `model.state_dict()`" says=["_orig_mod. belongs to its own names", "all of them and no more"]
PREFIXES = ("module.", "_orig_mod.")


def state_dict_surgery(model: nn.Module, checkpoint: dict[str, torch.Tensor]) -> dict:
    own = model.state_dict()
    report = {"loaded": [], "mismatched": [], "missing": [], "unexpected": []}
    seen, chosen = set(), {}
    for name, tensor in checkpoint.items():
        while name not in own and name.startswith(PREFIXES):
            for prefix in PREFIXES:
                name = name.removeprefix(prefix)
        seen.add(name)
        if name not in own:
            report["unexpected"].append(name)
        elif own[name].shape == tensor.shape:
            report["loaded"].append(name)
            chosen[name] = tensor
        else:
            report["mismatched"].append(name)
    report["missing"] = [name for name in own if name not in seen]
    if not chosen:
        raise ValueError("nothing to load")
    with torch.no_grad():
        for name, tensor in chosen.items():
            own[name].copy_(tensor)
    return report


# %% wrong="reads tensors through NumPy" says=["a tensor that requires grad, while autograd records"]
def state_dict_surgery(model: nn.Module, checkpoint: dict[str, torch.Tensor]) -> dict:
    """Load what fits into ``model``; which names were loaded, and which were not."""
    own = model.state_dict()
    renamed = {}
    for key, tensor in checkpoint.items():
        while key not in own and key.startswith(("module.", "_orig_mod.")):
            key = key.partition(".")[2]
        renamed[key] = tensor
    both = [name for name in renamed if name in own]
    loaded = [name for name in both if own[name].shape == renamed[name].shape]
    if not loaded:
        raise ValueError("nothing in the checkpoint fits")
    for name in loaded:
        own[name].numpy()[...] = renamed[name].numpy()
    return {
        "loaded": loaded,
        "mismatched": [name for name in both if name not in loaded],
        "missing": [name for name in own if name not in renamed],
        "unexpected": [name for name in renamed if name not in own],
    }
