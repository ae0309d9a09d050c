# %% [markdown]
# Rules:
#
# - "of deeper modules such as `block.0`"
# - "or as a part of a larger model"
# - "each renamed key adds a string"
# - "both as they stand in the dict"
# - "at each load"
# - "A name begins right after the prefix and ends at a dot"
# - "nor the end of `block.fc`"
# - "it is renamed once"
# - "Names may be swapped"
# - "is an error as always"
# - "A checkpoint without old names loads as it did"
# - "are taken for the new ones"
# - "Other keys stay as they are"
#
# Admits:
#
# - "deeper modules such as `block.0`": block.conv for block.0
# - "as a part of a larger model": a part of a part of a model
# - "Names may be swapped": head and tail swapped
# - "`fc` is neither the beginning of `fc2`": fc for stem and fc2 for head
# - "nor the end of `block.fc`": 0 for tail, and a block.0 besides
# - "A checkpoint without old names": {"new": True}
# - "at each load": "loads": 2
# - "unexpected is an error": check_unknown_key(try_loading)

# %% wrong="replaces the word wherever it is" breaks="A name begins right after the prefix and ends at a dot" says=["fc for stem and fc2 for head: load_state_dict raised", "a name begins right after the prefix and ends at a dot"]
def state_dict_hooks(model, renamed):
    log = []

    def rename(module, state_dict, prefix, *rest):
        for key in list(state_dict):
            for old, new in renamed.items():
                if key.startswith(prefix + old):
                    new_key = key.replace(old, new)
                    state_dict[new_key] = state_dict.pop(key)
                    log.append(f"{key} -> {new_key}")
                    break

    model.register_load_state_dict_pre_hook(rename)
    return log


# %% wrong="forgets the prefix" breaks="or as a part of a larger model" says=["a part of a part of a model: load_state_dict raised"]
def state_dict_hooks(model, renamed):
    log = []

    def rename(module, state_dict, prefix, *rest):
        for key in list(state_dict):
            for old, new in renamed.items():
                if key.startswith(old + "."):
                    new_key = new + key[len(old) :]
                    state_dict[new_key] = state_dict.pop(key)
                    log.append(f"{key} -> {new_key}")
                    break

    model.register_load_state_dict_pre_hook(rename)
    return log


# %% wrong="renames part by part" breaks="of deeper modules such as `block.0`" says=["block.conv for block.0: load_state_dict raised"]
def state_dict_hooks(model, renamed):
    log = []

    def rename(module, state_dict, prefix, *rest):
        for key in list(state_dict):
            parts = key.split(".")
            new_key = ".".join(renamed.get(part, part) for part in parts)
            if new_key != key:
                state_dict[new_key] = state_dict.pop(key)
                log.append(f"{key} -> {new_key}")

    model.register_load_state_dict_pre_hook(rename)
    return log


# %% wrong="adds the new and keeps the old" breaks="are taken for the new ones" says=["Unexpected key(s)", "fc for head: load_state_dict raised"]
def state_dict_hooks(model, renamed):
    log = []

    def rename(module, state_dict, prefix, *rest):
        for key in list(state_dict):
            for old, new in renamed.items():
                if key.startswith(f"{prefix}{old}."):
                    new_key = prefix + new + key[len(prefix + old) :]
                    state_dict[new_key] = state_dict[key]
                    log.append(f"{key} -> {new_key}")
                    break

    model.register_load_state_dict_pre_hook(rename)
    return log


# %% wrong="throws away what it does not know" breaks="is an error as always" says=["an unknown key has to stay an error"]
def state_dict_hooks(model, renamed):
    log = []

    def rename(module, state_dict, prefix, meta, strict, missing, unexpected, errors):
        for key in list(state_dict):
            for old, new in renamed.items():
                if key.startswith(f"{prefix}{old}."):
                    new_key = prefix + new + key[len(prefix + old) :]
                    state_dict[new_key] = state_dict.pop(key)
                    log.append(f"{key} -> {new_key}")
                    break
        own = module.state_dict()
        for key in list(state_dict):
            if key.startswith(prefix) and key[len(prefix) :] not in own:
                if not prefix:
                    del state_dict[key]
        for key, value in own.items():
            state_dict.setdefault(prefix + key, value)

    model.register_load_state_dict_pre_hook(rename)
    return log


# %% wrong="walks over what it changes" says=["OrderedDict mutated during iteration"]
def state_dict_hooks(model, renamed):
    log = []

    def rename(module, state_dict, prefix, *rest):
        for key in state_dict:
            for old, new in renamed.items():
                if key.startswith(f"{prefix}{old}."):
                    new_key = prefix + new + key[len(prefix + old) :]
                    state_dict[new_key] = state_dict.pop(key)
                    log.append(f"{key} -> {new_key}")

    model.register_load_state_dict_pre_hook(rename)
    return log


# %% wrong="says nothing" breaks="each renamed key adds a string" says=["fc for head: the log: 2 lines are missing, such as 'fc.weight -> head.weight'"]
def state_dict_hooks(model, renamed):
    def rename(module, state_dict, prefix, *rest):
        for key in list(state_dict):
            for old, new in renamed.items():
                if key.startswith(f"{prefix}{old}."):
                    state_dict[prefix + new + key[len(prefix + old) :]] = state_dict.pop(key)
                    break

    model.register_load_state_dict_pre_hook(rename)
    return []


# %% wrong="logs names, not keys" breaks="both as they stand in the dict" says=["2 are not expected, such as 'fc -> head'"]
def state_dict_hooks(model, renamed):
    log = []

    def rename(module, state_dict, prefix, *rest):
        for key in list(state_dict):
            for old, new in renamed.items():
                if key.startswith(f"{prefix}{old}."):
                    state_dict[prefix + new + key[len(prefix + old) :]] = state_dict.pop(key)
                    log.append(f"{old} -> {new}")
                    break

    model.register_load_state_dict_pre_hook(rename)
    return log


# %% wrong="replaces the name and a dot wherever they are" breaks="nor the end of `block.fc`" says=["0 for tail, and a block.0 besides: load_state_dict raised"]
def state_dict_hooks(model, renamed):
    log = []

    def pre(m, sd, prefix, *r):
        fresh = {}
        for k, v in sd.items():
            n = k
            for o, w in renamed.items():
                if o + "." in k:
                    n = k.replace(o + ".", w + ".")
                    log.append(f"{k} -> {n}")
                    break
            fresh[n] = v
        sd.clear()
        sd.update(fresh)

    model.register_load_state_dict_pre_hook(pre)
    return log


# %% wrong="renames twice" breaks="it is renamed once" says=["head and tail swapped", "is a key written over before it was read?"]
def state_dict_hooks(model, renamed):
    log = []

    def pre(m, sd, prefix, *r):
        for o, w in renamed.items():
            for k in list(sd):
                if k.startswith(prefix + o + "."):
                    n = prefix + w + k[len(prefix + o) :]
                    sd[n] = sd.pop(k)
                    log.append(f"{k} -> {n}")

    model.register_load_state_dict_pre_hook(pre)
    return log


# %% wrong="logs once" breaks="at each load" says=["two loads, one after the other: the log: 2 lines are missing"]
def state_dict_hooks(model, renamed):
    log = []

    def pre(m, sd, prefix, *r):
        moved = {}
        for k in list(sd):
            for o, w in renamed.items():
                if k.startswith(prefix + o + "."):
                    n = prefix + w + k[len(prefix + o) :]
                    moved[n] = sd.pop(k)
                    if f"{k} -> {n}" not in log:
                        log.append(f"{k} -> {n}")
                    break
        sd.update(moved)

    model.register_load_state_dict_pre_hook(pre)
    return log


# %% right="builds the dict anew"
def state_dict_hooks(model, renamed):
    import re

    log = []

    def rename(module, state_dict, prefix, local_metadata, strict, missing, unexpected, errors):
        fresh = {}
        for key, value in state_dict.items():
            new_key = key
            for old, new in renamed.items():
                found = re.fullmatch(re.escape(prefix + old) + r"(\..+)", key)
                if found:
                    new_key = f"{prefix}{new}{found[1]}"
                    log.append(" -> ".join([key, new_key]))
                    break
            fresh[new_key] = value
        state_dict.clear()
        state_dict.update(fresh)

    model.register_load_state_dict_pre_hook(rename)
    return log


# %% wrong="the tensor lies in the renamed module itself" says=["the old name twice in a key", "Missing key(s)"]
def state_dict_hooks(model, renamed):
    log, old_of = [], {new: old for old, new in renamed.items()}

    def rename(module, state_dict, prefix, *rest):
        found = {}
        for name in module.state_dict():
            parent, _, leaf = name.rpartition(".")
            if parent in old_of:
                old_key, new_key = f"{prefix}{old_of[parent]}.{leaf}", prefix + name
                if old_key in state_dict:
                    found[new_key] = old_key
                    log.append(f"{old_key} -> {new_key}")
        state_dict.update({new: state_dict.pop(old) for new, old in found.items()})

    model.register_load_state_dict_pre_hook(rename)
    return log


# %% right="temporary names"
def state_dict_hooks(model, renamed):
    class Log(list):
        pass

    log = Log()

    def pre(m, sd, prefix, *rest):
        for k in tuple(sd):
            module = k[len(prefix) :] if k.startswith(prefix) else None
            if module is None:
                continue
            for o in renamed:
                if module.startswith(o + "."):
                    sd["\0" + prefix + renamed[o] + module[len(o) :]] = sd.pop(k)
                    log.append(f"{k} -> {prefix}{renamed[o]}{module[len(o) :]}")
                    break
        for k in tuple(sd):
            if k[0] == "\0":
                sd[k[1:]] = sd.pop(k)

    model.register_load_state_dict_pre_hook(pre)
    return log


# %% wrong="clears the model's hooks first" says=["a hook that was on a part of the model before is gone"]
def state_dict_hooks(model, renamed):
    for part in model.modules():
        part._forward_hooks.clear()
    log = []

    def rename(module, state, prefix, *rest):
        values = {}
        for key in list(state):
            for old, new in renamed.items():
                if key.startswith(f"{prefix}{old}."):
                    new_key = prefix + new + key.removeprefix(prefix + old)
                    values[new_key] = state.pop(key)
                    log.append(f"{key} -> {new_key}")
        state.update(values)

    model.register_load_state_dict_pre_hook(rename)
    return log


# %% wrong="writes over what it has not read yet" breaks="Names may be swapped" says=["head and tail swapped: load_state_dict raised", "is a key written over before it was read?"]
def state_dict_hooks(model, renamed):
    log = []

    def rename(module, state_dict, prefix, *rest):
        for key in list(state_dict):
            for old, new in renamed.items():
                if key.startswith(f"{prefix}{old}.") and key in state_dict:
                    new_key = prefix + new + key.removeprefix(prefix + old)
                    state_dict[new_key] = state_dict.pop(key)
                    log.append(f"{key} -> {new_key}")
                    break

    model.register_load_state_dict_pre_hook(rename)
    return log


# %% wrong="expects the old names" breaks="A checkpoint without old names loads as it did" says=["a checkpoint without old names: load_state_dict raised KeyError"]
def state_dict_hooks(model, renamed):
    log = []

    def rename(module, state_dict, prefix, *rest):
        values = {}
        for old, new in renamed.items():
            for part in ("weight", "bias"):
                key, after = f"{prefix}{old}.{part}", f"{prefix}{new}.{part}"
                values[after] = state_dict.pop(key)
                log.append(f"{key} -> {after}")
        state_dict.update(values)

    model.register_load_state_dict_pre_hook(rename)
    return log


# %% wrong="replaces every place after the prefix" says=["the old name twice in a key"]
def state_dict_hooks(model, renamed):
    told, names = [], dict(renamed)

    def hook(module, state_dict, prefix, *rest):
        moved = {}
        for key in list(state_dict):
            for old, new in names.items():
                start = prefix + old + "."
                if key.startswith(start):
                    new_key = prefix + key[len(prefix) :].replace(old + ".", new + ".")
                    moved[new_key] = state_dict.pop(key)
                    told.append(f"{key} -> {new_key}")
                    break
        state_dict.update(moved)

    model.register_load_state_dict_pre_hook(hook)
    return told


# %% wrong="dot of the name as any character" says=["block_0 beside block.0"]
import re


def state_dict_hooks(model, renamed):
    told, names = [], dict(renamed)

    def hook(module, state_dict, prefix, *rest):
        moved = {}
        for key in list(state_dict):
            for old, new in names.items():
                start = prefix + old + "."
                if re.match(old + "[.]", key[len(prefix) :]) and key.startswith(prefix):
                    new_key = prefix + new + "." + key[len(start) :]
                    moved[new_key] = state_dict.pop(key)
                    told.append(f"{key} -> {new_key}")
                    break
        state_dict.update(moved)

    model.register_load_state_dict_pre_hook(hook)
    return told


# %% wrong="a key that is the name itself" says=["a parameter of the old name"]
def state_dict_hooks(model, renamed):
    told, names = [], dict(renamed)

    def hook(module, state_dict, prefix, *rest):
        moved = {}
        for key in list(state_dict):
            for old, new in names.items():
                start = prefix + old + "."
                if key == prefix + old:
                    moved[prefix + new] = state_dict.pop(key)
                    told.append(f"{key} -> {prefix + new}")
                    break
                if key.startswith(start):
                    new_key = prefix + new + "." + key[len(start) :]
                    moved[new_key] = state_dict.pop(key)
                    told.append(f"{key} -> {new_key}")
                    break
        state_dict.update(moved)

    model.register_load_state_dict_pre_hook(hook)
    return told


# %% wrong="prefix of the first load" says=["by itself, then as a part"]
def state_dict_hooks(model, renamed):
    told, names, first = [], dict(renamed), []

    def hook(module, state_dict, prefix, *rest):
        first.append(prefix)
        prefix = first[0]
        moved = {}
        for key in list(state_dict):
            for old, new in names.items():
                start = prefix + old + "."
                if key.startswith(start):
                    new_key = prefix + new + "." + key[len(start) :]
                    moved[new_key] = state_dict.pop(key)
                    told.append(f"{key} -> {new_key}")
                    break
        state_dict.update(moved)

    model.register_load_state_dict_pre_hook(hook)
    return told


# %% wrong="what already begins with the new name is taken for renamed" says=["a new name that begins with the old one"]
def state_dict_hooks(model, renamed):
    told, names = [], dict(renamed)

    def hook(module, state_dict, prefix, *rest):
        moved = {}
        for key in list(state_dict):
            for old, new in names.items():
                start = prefix + old + "."
                if key.startswith(start) and not (new.startswith(old) and len(names) == 1):
                    new_key = prefix + new + "." + key[len(start) :]
                    moved[new_key] = state_dict.pop(key)
                    told.append(f"{key} -> {new_key}")
                    break
        state_dict.update(moved)

    model.register_load_state_dict_pre_hook(hook)
    return told


# %% wrong="fills in what is missing" says=["what is missing is an error as always"]
def state_dict_hooks(model, renamed):
    told = []

    def hook(module, state_dict, prefix, *rest):
        taken = {}
        for key in list(state_dict):
            for old, new in renamed.items():
                if key.startswith(prefix + old + "."):
                    name = prefix + new + key[len(prefix + old) :]
                    taken[name] = state_dict.pop(key)
                    told.append(f"{key} -> {name}")
                    break
        state_dict.update(taken)
        for name, value in module.state_dict().items():
            state_dict.setdefault(prefix + name, value)

    model.register_load_state_dict_pre_hook(hook)
    return told


# %% wrong="values go through float32" says=["leave the value alone"]
def state_dict_hooks(model, renamed):
    told = []

    def hook(module, state_dict, prefix, *rest):
        taken = {}
        for key in list(state_dict):
            for old, new in renamed.items():
                if key.startswith(prefix + old + "."):
                    name = prefix + new + key[len(prefix + old) :]
                    taken[name] = state_dict.pop(key).float()
                    told.append(f"{key} -> {name}")
                    break
        state_dict.update(taken)

    model.register_load_state_dict_pre_hook(hook)
    return told


# %% wrong="drops old keys that do not fit" says=["neither drop nor change"]
def state_dict_hooks(model, renamed):
    told = []

    def hook(module, state_dict, prefix, *rest):
        taken = {}
        for key in list(state_dict):
            for old, new in renamed.items():
                if key.startswith(prefix + old + "."):
                    name = prefix + new + key[len(prefix + old) :]
                    value = state_dict.pop(key)
                    if name not in module.state_dict(prefix=prefix):
                        break
                    taken[name] = value
                    told.append(f"{key} -> {name}")
                    break
        state_dict.update(taken)

    model.register_load_state_dict_pre_hook(hook)
    return told


# %% wrong="takes the prefix out wherever it is" breaks="A name begins right after the prefix and ends at a dot" says=["the prefix net. comes in a key once more"]
def state_dict_hooks(model: nn.Module, renamed: dict[str, str]) -> list[str]:
    told = []

    def rename(module, state_dict, prefix, *rest):
        found = {}
        for key in list(state_dict):
            if not key.startswith(prefix):
                continue
            own = key.replace(prefix, "") if prefix else key
            for old, new in renamed.items():
                if own.startswith(old + "."):
                    found[prefix + new + own[len(old) :]] = state_dict.pop(key)
                    told.append(f"{key} -> {prefix + new + own[len(old) :]}")
                    break
        state_dict.update(found)

    model.register_load_state_dict_pre_hook(rename)
    return told


# %% wrong="the names of the last call for all" says=["each has its own names and its own list"]
def state_dict_hooks(model: nn.Module, renamed: dict[str, str]) -> list[str]:
    told = []
    state_dict_hooks.renamed = renamed

    def rename(module, state_dict, prefix, *rest):
        found = {}
        for key in list(state_dict):
            if not key.startswith(prefix):
                continue
            own = key[len(prefix) :]
            for old, new in state_dict_hooks.renamed.items():
                if own.startswith(old + "."):
                    found[prefix + new + own[len(old) :]] = state_dict.pop(key)
                    told.append(f"{key} -> {prefix + new + own[len(old) :]}")
                    break
        state_dict.update(found)

    model.register_load_state_dict_pre_hook(rename)
    return told


# %% wrong="floating-point tensors only" breaks="are taken for the new ones" says=["buffers under an old name"]
def state_dict_hooks(model: nn.Module, renamed: dict[str, str]) -> list[str]:
    told = []

    def rename(module, state_dict, prefix, *rest):
        found = {}
        for key in list(state_dict):
            if not key.startswith(prefix):
                continue
            own = key[len(prefix) :]
            for old, new in renamed.items():
                if own.startswith(old + ".") and state_dict[key].is_floating_point():
                    found[prefix + new + own[len(old) :]] = state_dict.pop(key)
                    told.append(f"{key} -> {prefix + new + own[len(old) :]}")
                    break
        state_dict.update(found)

    model.register_load_state_dict_pre_hook(rename)
    return told


# %% wrong="weights and biases only" breaks="are taken for the new ones" says=["buffers under an old name"]
def state_dict_hooks(model: nn.Module, renamed: dict[str, str]) -> list[str]:
    told = []

    def rename(module, state_dict, prefix, *rest):
        found = {}
        for key in list(state_dict):
            if not key.startswith(prefix):
                continue
            own = key[len(prefix) :]
            for old, new in renamed.items():
                if own.startswith(old + ".") and own.rpartition(".")[2] in ("weight", "bias"):
                    found[prefix + new + own[len(old) :]] = state_dict.pop(key)
                    told.append(f"{key} -> {prefix + new + own[len(old) :]}")
                    break
        state_dict.update(found)

    model.register_load_state_dict_pre_hook(rename)
    return told


# %% wrong="capital letters are as good" breaks="Other keys stay as they are" says=["FC beside fc"]
def state_dict_hooks(model: nn.Module, renamed: dict[str, str]) -> list[str]:
    told = []

    def rename(module, state_dict, prefix, *rest):
        found = {}
        for key in list(state_dict):
            if not key.startswith(prefix):
                continue
            own = key[len(prefix) :]
            for old, new in renamed.items():
                if own.lower().startswith(old.lower() + "."):
                    found[prefix + new + own[len(old) :]] = state_dict.pop(key)
                    told.append(f"{key} -> {prefix + new + own[len(old) :]}")
                    break
        state_dict.update(found)

    model.register_load_state_dict_pre_hook(rename)
    return told


# %% wrong="clears the errors" breaks="is an error as always" says=["beside the model, in a larger one, first.weight is of a wrong shape"]
def state_dict_hooks(model: nn.Module, renamed: dict[str, str]) -> list[str]:
    told = []

    def rename(module, state_dict, prefix, *rest):
        found = {}
        for key in list(state_dict):
            if not key.startswith(prefix):
                continue
            own = key[len(prefix) :]
            for old, new in renamed.items():
                if own.startswith(old + "."):
                    found[prefix + new + own[len(old) :]] = state_dict.pop(key)
                    told.append(f"{key} -> {prefix + new + own[len(old) :]}")
                    break
        state_dict.update(found)
        del rest[4][:]

    model.register_load_state_dict_pre_hook(rename)
    return told


# %% wrong="uses the names up" says=["the dict of names was changed"]
def state_dict_hooks(model: nn.Module, renamed: dict[str, str]) -> list[str]:
    told = []

    def rename(module, state_dict, prefix, *rest):
        found = {}
        for key in list(state_dict):
            if not key.startswith(prefix):
                continue
            own = key[len(prefix) :]
            for old, new in renamed.items():
                if own.startswith(old + "."):
                    found[prefix + new + own[len(old) :]] = state_dict.pop(key)
                    told.append(f"{key} -> {prefix + new + own[len(old) :]}")
                    del renamed[old]
                    break
        state_dict.update(found)

    model.register_load_state_dict_pre_hook(rename)
    return told


# %% wrong="two names at most" says=["three names"]
def state_dict_hooks(model, renamed):
    log = []

    def hook(module, state_dict, prefix, *rest):
        moved = {}
        for key in list(state_dict):
            for old, new in list(renamed.items())[:2]:
                if key.startswith(f"{prefix}{old}."):
                    target = f"{prefix}{new}.{key[len(prefix) + len(old) + 1 :]}"
                    moved[target] = state_dict.pop(key)
                    log.append(f"{key} -> {target}")
                    break
        state_dict.update(moved)

    model.register_load_state_dict_pre_hook(hook)
    return log


# %% wrong="changes the dict that it walks over" says=["walk over list(state_dict)"]
def state_dict_hooks(model, renamed):
    told = []

    def rename(module, state_dict, prefix, *rest):
        moved = {}
        for key in state_dict:
            for old, new in renamed.items():
                if key.startswith(f"{prefix}{old}."):
                    to = prefix + new + key[len(prefix) + len(old) :]
                    moved[to] = state_dict.pop(key)
                    told.append(f"{key} -> {to}")
                    break
        state_dict.update(moved)

    model.register_load_state_dict_pre_hook(rename)
    return told


# %% wrong="binds a new dict to the name" says=["put them into the dict that the hook is handed"]
def state_dict_hooks(model, renamed):
    told = []

    def rename(module, state_dict, prefix, *rest):
        moved = {}
        for key in list(state_dict):
            for old, new in renamed.items():
                if key.startswith(f"{prefix}{old}."):
                    to = prefix + new + key[len(prefix) + len(old) :]
                    moved[to] = state_dict.pop(key)
                    told.append(f"{key} -> {to}")
                    break
        state_dict = {**state_dict, **moved}

    model.register_load_state_dict_pre_hook(rename)
    return told


# %% wrong="a name of several parts is compared by its last" says=["block.0"]
def state_dict_hooks(model, renamed):
    done = []

    def hook(module, state_dict, prefix, *rest):
        fresh = {}
        for key in list(state_dict):
            for old, new in renamed.items():
                if (
                    key.startswith(prefix + old.split(".")[0] + ".")
                    and "." + old.split(".")[-1] + "." in "." + key
                ):
                    target = prefix + new + key[len(prefix + old) :]
                    fresh[target] = state_dict.pop(key)
                    done.append(f"{key} -> {target}")
                    break
        state_dict.update(fresh)

    model.register_load_state_dict_pre_hook(hook)
    return done


# %% wrong="autograd is on afterwards" says=["called under no_grad, it switched autograd on"]
def state_dict_hooks(model, renamed):
    log = []

    def rename(module, state_dict, prefix, *rest):
        values = {}
        for key in list(state_dict):
            for old, new in renamed.items():
                if key.startswith(f"{prefix}{old}."):
                    new_key = prefix + new + key.removeprefix(prefix + old)
                    values[new_key] = state_dict.pop(key)
                    log.append(f"{key} -> {new_key}")
                    break
        state_dict.update(values)

    torch.set_grad_enabled(False)
    model.register_load_state_dict_pre_hook(rename)
    torch.set_grad_enabled(True)
    return log


# %% wrong="the hook switches autograd on" says=["called under no_grad, it switched autograd on"]
def state_dict_hooks(model, renamed):
    log = []

    def rename(module, state_dict, prefix, *rest):
        torch.set_grad_enabled(False)
        values = {}
        for key in list(state_dict):
            for old, new in renamed.items():
                if key.startswith(f"{prefix}{old}."):
                    new_key = prefix + new + key.removeprefix(prefix + old)
                    values[new_key] = state_dict.pop(key)
                    log.append(f"{key} -> {new_key}")
                    break
        state_dict.update(values)
        torch.set_grad_enabled(True)

    model.register_load_state_dict_pre_hook(rename)
    return log


# %% wrong="renames only to what the model has" breaks="are taken for the new ones" says=["the key fc.scale, of shape (1,), does not fit the model", "a key of an old name is renamed, whatever comes of it"]
def state_dict_hooks(model, renamed):
    notes = []

    def hook(module, state_dict, prefix, *rest):
        own = module.state_dict(prefix=prefix)
        moved = {}
        for key in list(state_dict):
            for old, new in renamed.items():
                start = f"{prefix}{old}."
                if not key.startswith(start):
                    continue
                target = f"{prefix}{new}." + key.removeprefix(start)
                if target in own:
                    moved[target] = state_dict.pop(key)
                    notes.append(f"{key} -> {target}")
                break
        state_dict.update(moved)

    model.register_load_state_dict_pre_hook(hook)
    return notes
