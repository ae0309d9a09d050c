# %% [markdown]
# Rules:
#
# - "`save_run(run)` returns a dict"
# - "in a process with other random states"
# - "both runs do the same to the last bit"
# - "The run may stop anywhere, before its first step and in the middle of an epoch too"
# - "it can't be replayed from the start"
# - "The state is a **snapshot**"
# - "Taking it changes nothing"
# - "It survives `torch.save` and a plain `torch.load`"
# - "Write what each lost into the dict `saboteur`"
#
# Admits:
#
# - "before its first step": before the first step
# - "in the middle of an epoch": in the middle of one

# %% wrong="the usual checkpoint" breaks="in a process with other random states" says=["right after exact_resume these are not as they were", "the scheduler", "Python's random state", "the generator that shuffles"]
def save_run(run):
    return copy.deepcopy({"model": run.model.state_dict(), "optimizer": run.optimizer.state_dict()})


def exact_resume(run, state):
    run.model.load_state_dict(state["model"])
    run.optimizer.load_state_dict(state["optimizer"])


saboteur = {
    "A": "random states",
    "B": "model",
    "C": "scaler",
    "D": "scheduler",
    "E": "optimizer",
    "F": "sampler",
}


# %% wrong="live tensors" breaks="The state is a **snapshot**" says=["state_dict() hands out live tensors; copy them"]
def save_run(run):
    kind, keys, *rest = np.random.get_state()
    return dict(
        {
            "model": run.model.state_dict(),
            "optimizer": run.optimizer.state_dict(),
            "scheduler": run.scheduler.state_dict(),
            "scaler": run.scaler.state_dict(),
            "generator": run.generator.get_state(),
            "sampler": (run.order, run.position),
            "python": random.getstate(),
            "numpy": (kind, keys.tolist(), *rest),
            "torch": torch.get_rng_state(),
        }
    )


def exact_resume(run, state):
    for name in ("model", "optimizer", "scheduler", "scaler"):
        getattr(run, name).load_state_dict(state[name])
    run.generator.set_state(state["generator"])
    run.order, run.position = state["sampler"]
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])
    torch.set_rng_state(state["torch"])


saboteur = {
    "A": "random states",
    "B": "model",
    "C": "scaler",
    "D": "scheduler",
    "E": "optimizer",
    "F": "sampler",
}


# %% wrong="NumPy's array as it is" breaks="It survives `torch.save` and a plain `torch.load`" says=["plain torch.load refuses the state: state['numpy'][1] is NumPy's ndarray"]
def save_run(run):
    return copy.deepcopy(
        {
            "model": run.model.state_dict(),
            "optimizer": run.optimizer.state_dict(),
            "scheduler": run.scheduler.state_dict(),
            "scaler": run.scaler.state_dict(),
            "generator": run.generator.get_state(),
            "sampler": (run.order, run.position),
            "python": random.getstate(),
            "numpy": np.random.get_state(),
            "torch": torch.get_rng_state(),
        }
    )


def exact_resume(run, state):
    for name in ("model", "optimizer", "scheduler", "scaler"):
        getattr(run, name).load_state_dict(state[name])
    run.generator.set_state(state["generator"])
    run.order, run.position = state["sampler"]
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])
    torch.set_rng_state(state["torch"])


saboteur = {
    "A": "random states",
    "B": "model",
    "C": "scaler",
    "D": "scheduler",
    "E": "optimizer",
    "F": "sampler",
}


# %% wrong="forgets the second number that NumPy keeps" says=["not as they were: the normal number that NumPy keeps in reserve"]
def save_run(run):
    kind, keys, *rest = np.random.get_state()
    return copy.deepcopy(
        {
            "model": run.model.state_dict(),
            "optimizer": run.optimizer.state_dict(),
            "scheduler": run.scheduler.state_dict(),
            "scaler": run.scaler.state_dict(),
            "generator": run.generator.get_state(),
            "sampler": (run.order, run.position),
            "python": random.getstate(),
            "numpy": (kind, keys.tolist(), rest[0]),
            "torch": torch.get_rng_state(),
        }
    )


def exact_resume(run, state):
    for name in ("model", "optimizer", "scheduler", "scaler"):
        getattr(run, name).load_state_dict(state[name])
    run.generator.set_state(state["generator"])
    run.order, run.position = state["sampler"]
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])
    torch.set_rng_state(state["torch"])


saboteur = {
    "A": "random states",
    "B": "model",
    "C": "scaler",
    "D": "scheduler",
    "E": "optimizer",
    "F": "sampler",
}


# %% wrong="without the scaler" breaks="both runs do the same to the last bit" says=["not as they were: the scaler"]
def save_run(run):
    kind, keys, *rest = np.random.get_state()
    return copy.deepcopy(
        {
            "model": run.model.state_dict(),
            "optimizer": run.optimizer.state_dict(),
            "scheduler": run.scheduler.state_dict(),
            "scaler": run.scaler.state_dict(),
            "generator": run.generator.get_state(),
            "sampler": (run.order, run.position),
            "python": random.getstate(),
            "numpy": (kind, keys.tolist(), *rest),
            "torch": torch.get_rng_state(),
        }
    )


def exact_resume(run, state):
    for name in ("model", "optimizer", "scheduler"):
        getattr(run, name).load_state_dict(state[name])
    run.generator.set_state(state["generator"])
    run.order, run.position = state["sampler"]
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])
    torch.set_rng_state(state["torch"])


saboteur = {
    "A": "random states",
    "B": "model",
    "C": "scaler",
    "D": "scheduler",
    "E": "optimizer",
    "F": "sampler",
}


# %% wrong="starts the epoch anew" breaks="The run may stop anywhere, before its first step and in the middle of an epoch too" says=["the order of this epoch and the position in it"]
def save_run(run):
    kind, keys, *rest = np.random.get_state()
    return copy.deepcopy(
        {
            "model": run.model.state_dict(),
            "optimizer": run.optimizer.state_dict(),
            "scheduler": run.scheduler.state_dict(),
            "scaler": run.scaler.state_dict(),
            "generator": run.generator.get_state(),
            "sampler": (run.order, run.position),
            "python": random.getstate(),
            "numpy": (kind, keys.tolist(), *rest),
            "torch": torch.get_rng_state(),
        }
    )


def exact_resume(run, state):
    for name in ("model", "optimizer", "scheduler", "scaler"):
        getattr(run, name).load_state_dict(state[name])
    run.generator.set_state(state["generator"])
    run.order, run.position = torch.arange(0), 0
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])
    torch.set_rng_state(state["torch"])


saboteur = {
    "A": "random states",
    "B": "model",
    "C": "scaler",
    "D": "scheduler",
    "E": "optimizer",
    "F": "sampler",
}


# %% wrong="reseeds while it saves" breaks="Taking it changes nothing" says=["save_run changed PyTorch's random state"]
def save_run(run):
    torch.manual_seed(0)
    kind, keys, *rest = np.random.get_state()
    return copy.deepcopy(
        {
            "model": run.model.state_dict(),
            "optimizer": run.optimizer.state_dict(),
            "scheduler": run.scheduler.state_dict(),
            "scaler": run.scaler.state_dict(),
            "generator": run.generator.get_state(),
            "sampler": (run.order, run.position),
            "python": random.getstate(),
            "numpy": (kind, keys.tolist(), *rest),
            "torch": torch.get_rng_state(),
        }
    )


def exact_resume(run, state):
    for name in ("model", "optimizer", "scheduler", "scaler"):
        getattr(run, name).load_state_dict(state[name])
    run.generator.set_state(state["generator"])
    run.order, run.position = state["sampler"]
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])
    torch.set_rng_state(state["torch"])


saboteur = {
    "A": "random states",
    "B": "model",
    "C": "scaler",
    "D": "scheduler",
    "E": "optimizer",
    "F": "sampler",
}


# %% wrong="takes the random states for the model, and the other way round" breaks="Write what each lost into the dict `saboteur`" says=["2 of 6 predictions differ", "far too high: nothing is known", "other noise, another mask"]
def save_run(run):
    kind, keys, *rest = np.random.get_state()
    return copy.deepcopy(
        {
            "model": run.model.state_dict(),
            "optimizer": run.optimizer.state_dict(),
            "scheduler": run.scheduler.state_dict(),
            "scaler": run.scaler.state_dict(),
            "generator": run.generator.get_state(),
            "sampler": (run.order, run.position),
            "python": random.getstate(),
            "numpy": (kind, keys.tolist(), *rest),
            "torch": torch.get_rng_state(),
        }
    )


def exact_resume(run, state):
    for name in ("model", "optimizer", "scheduler", "scaler"):
        getattr(run, name).load_state_dict(state[name])
    run.generator.set_state(state["generator"])
    run.order, run.position = state["sampler"]
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])
    torch.set_rng_state(state["torch"])


saboteur = {
    "A": "model",
    "B": "random states",
    "C": "scaler",
    "D": "scheduler",
    "E": "optimizer",
    "F": "sampler",
}


# %% wrong="a word of its own" says=["'momentum' is none of"]
def save_run(run):
    kind, keys, *rest = np.random.get_state()
    return copy.deepcopy(
        {
            "model": run.model.state_dict(),
            "optimizer": run.optimizer.state_dict(),
            "scheduler": run.scheduler.state_dict(),
            "scaler": run.scaler.state_dict(),
            "generator": run.generator.get_state(),
            "sampler": (run.order, run.position),
            "python": random.getstate(),
            "numpy": (kind, keys.tolist(), *rest),
            "torch": torch.get_rng_state(),
        }
    )


def exact_resume(run, state):
    for name in ("model", "optimizer", "scheduler", "scaler"):
        getattr(run, name).load_state_dict(state[name])
    run.generator.set_state(state["generator"])
    run.order, run.position = state["sampler"]
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])
    torch.set_rng_state(state["torch"])


saboteur = {
    "A": "random states",
    "B": "model",
    "C": "scaler",
    "D": "scheduler",
    "E": "momentum",
    "F": "sampler",
}


# %% right="pickled bytes as a tensor, through vars(run)"
import io  # noqa: E402
import pickle  # noqa: E402


def save_run(run):
    parts = {k: v for k, v in vars(run).items() if k not in ("x", "y", "scheduler", "optimizer")}
    extra = [run.optimizer.state_dict(), run.scheduler.state_dict()]
    worlds = [random.getstate(), np.random.get_state(), torch.get_rng_state()]
    blob = pickle.dumps((parts["model"].state_dict(), parts["scaler"].state_dict(), extra, worlds))
    return {
        "blob": list(blob),
        "generator": run.generator.get_state(),
        "order": run.order.clone(),
        "position": run.position,
    }


def exact_resume(run, state):
    model, scaler, extra, worlds = pickle.loads(bytes(state["blob"]))
    run.model.load_state_dict(model)
    run.scaler.load_state_dict(scaler)
    run.optimizer.load_state_dict(extra[0])
    run.scheduler.load_state_dict(extra[1])
    random.setstate(worlds[0])
    np.random.set_state(worlds[1])
    torch.set_rng_state(worlds[2])
    run.generator = torch.Generator()
    run.generator.set_state(state["generator"])
    run.order, run.position = state["order"], int(state["position"])


saboteur = {
    "A": "random states",
    "B": "model",
    "C": "scaler",
    "D": "scheduler",
    "E": "optimizer",
    "F": "sampler",
}


# %% right="through a buffer, NumPy's keys as a tensor, only what is left of the order"
import io  # noqa: E402


def save_run(run):
    name, keys, pos, has, cached = np.random.get_state()
    state = {}
    for part in ("model", "optimizer", "scheduler", "scaler"):
        state[part] = getattr(run, part).state_dict()
    state["left"] = run.order[run.position :].tolist()
    state["generator"] = run.generator.get_state()
    state["numpy"] = [name, torch.tensor(keys.astype("int64")), pos, has, cached]
    version, numbers, gauss = random.getstate()
    state["python"] = {"version": version, "numbers": list(numbers), "gauss": gauss}
    state["torch"] = torch.random.get_rng_state()
    buffer = io.BytesIO()
    torch.save(state, buffer)
    buffer.seek(0)
    return torch.load(buffer)


def exact_resume(run, state):
    for part in ("model", "optimizer", "scheduler", "scaler"):
        getattr(run, part).load_state_dict(copy.deepcopy(state[part]))
    run.order = torch.tensor(state["left"], dtype=torch.int64)
    run.position = 0
    run.generator.set_state(state["generator"])
    name, keys, pos, has, cached = state["numpy"]
    np.random.set_state((name, keys.numpy().astype("uint32"), pos, has, cached))
    old = state["python"]
    random.setstate((old["version"], tuple(old["numbers"]), old["gauss"]))
    torch.random.set_rng_state(state["torch"])


saboteur = {
    "A": "random states",
    "B": "model",
    "C": "scaler",
    "D": "scheduler",
    "E": "optimizer",
    "F": "sampler",
}


# %% wrong="order and position, but not the generator that shuffles" says=["not as they were: the generator that shuffles"]
def save_run(run):
    n = np.random.get_state()
    return copy.deepcopy(
        {
            "m": run.model.state_dict(),
            "o": run.optimizer.state_dict(),
            "s": run.scheduler.state_dict(),
            "c": run.scaler.state_dict(),
            "order": run.order,
            "position": run.position,
            "py": random.getstate(),
            "np": [n[0], n[1].tolist(), *n[2:]],
            "t": torch.get_rng_state(),
        }
    )


def exact_resume(run, state):
    run.model.load_state_dict(state["m"])
    run.optimizer.load_state_dict(state["o"])
    run.scheduler.load_state_dict(state["s"])
    run.scaler.load_state_dict(state["c"])
    run.order, run.position = state["order"], state["position"]
    random.setstate(state["py"])
    np.random.set_state(tuple(state["np"]))
    torch.set_rng_state(state["t"])


saboteur = {
    "A": "random states",
    "B": "model",
    "C": "scaler",
    "D": "scheduler",
    "E": "optimizer",
    "F": "sampler",
}


# %% wrong="replays the first steps with seed 0" breaks="it can't be replayed from the start" says=["right after exact_resume these are not as they were", "the model"]
def save_run(run):
    return {"steps": run.scheduler.last_epoch}


def exact_resume(run, state):
    vars(run).update(vars(after(state["steps"])))


saboteur = {
    "A": "random states",
    "B": "model",
    "C": "scaler",
    "D": "scheduler",
    "E": "optimizer",
    "F": "sampler",
}


# %% right="a snapshot through a buffer, a new generator object"
def save_run(run):
    version, numbers, gauss = random.getstate()
    legacy = np.random.get_state(legacy=False)
    state = dict(
        net=run.model.state_dict(),
        opt=run.optimizer.state_dict(),
        sched=run.scheduler.state_dict(),
        amp=run.scaler.state_dict(),
        shuffle=run.generator.get_state(),
        order=run.order.tolist(),
        at=int(run.position),
        torch=torch.get_rng_state(),
        py=[version, list(numbers), gauss],
        key=legacy["state"]["key"].tolist(),
        pos=int(legacy["state"]["pos"]),
        has=int(legacy["has_gauss"]),
        gauss=float(legacy["gauss"]),
    )
    box = io.BytesIO()
    torch.save(state, box)
    box.seek(0)
    return torch.load(box)


def exact_resume(run, state):
    run.model.load_state_dict(state["net"])
    run.optimizer.load_state_dict(state["opt"])
    run.scheduler.load_state_dict(state["sched"])
    run.scaler.load_state_dict(state["amp"])
    run.generator = torch.Generator()
    run.generator.set_state(state["shuffle"])
    run.order = torch.tensor(state["order"], dtype=torch.int64)
    run.position = state["at"]
    torch.set_rng_state(state["torch"])
    random.setstate((state["py"][0], tuple(state["py"][1]), state["py"][2]))
    np.random.set_state(
        (
            "MT19937",
            np.array(state["key"], dtype=np.uint32),
            state["pos"],
            state["has"],
            state["gauss"],
        )
    )


saboteur = {
    "A": "random states",
    "B": "model",
    "C": "scaler",
    "D": "scheduler",
    "E": "optimizer",
    "F": "sampler",
}


# %% wrong="saves in evaluation mode, and stays in it" says=["save_run changed the model's mode"]
def save_run(run):
    run.model.eval()
    kind, keys, *rest = np.random.get_state()
    return copy.deepcopy(
        {
            "model": run.model.state_dict(),
            "optimizer": run.optimizer.state_dict(),
            "scheduler": run.scheduler.state_dict(),
            "scaler": run.scaler.state_dict(),
            "order": run.order,
            "position": run.position,
            "generator": run.generator.get_state(),
            "python": random.getstate(),
            "numpy": (kind, keys.tolist(), *rest),
            "torch": torch.get_rng_state(),
        }
    )


def exact_resume(run, state):
    state = copy.deepcopy(state)
    for part in ("model", "optimizer", "scheduler", "scaler"):
        getattr(run, part).load_state_dict(state[part])
    run.order, run.position = state["order"], state["position"]
    run.generator.set_state(state["generator"])
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])
    torch.set_rng_state(state["torch"])


saboteur = {
    "A": "random states",
    "B": "model",
    "C": "scaler",
    "D": "scheduler",
    "E": "optimizer",
    "F": "sampler",
}


# %% right="clones by hand, attributes one at a time"
def save_run(run):
    def plain(v):
        if isinstance(v, torch.Tensor):
            return v.detach().clone()
        if isinstance(v, dict):
            return {k: plain(x) for k, x in v.items()}
        if isinstance(v, (list, tuple)):
            return type(v)(plain(x) for x in v)
        if isinstance(v, np.ndarray):
            return [int(x) for x in v]
        return v

    out = {
        name: plain(getattr(run, name).state_dict())
        for name in ("model", "optimizer", "scheduler", "scaler")
    }
    out["order"], out["position"] = plain(run.order), run.position
    out["states"] = [
        plain(random.getstate()),
        plain(np.random.get_state()),
        torch.random.get_rng_state().clone(),
        run.generator.get_state().clone(),
    ]
    return out


def exact_resume(run, state):
    py, nump, tor, gen = state["states"]
    for name in ("scaler", "scheduler", "optimizer", "model"):
        getattr(run, name).load_state_dict(state[name])
    run.order, run.position = state["order"], state["position"]
    run.generator = torch.Generator()
    run.generator.set_state(gen)
    random.setstate(py)
    np.random.set_state((nump[0], np.array(nump[1], dtype=np.uint32), *nump[2:]))
    torch.random.set_rng_state(tor)


saboteur = {
    "F": "sampler",
    "E": "optimizer",
    "D": "scheduler",
    "C": "scaler",
    "B": "model",
    "A": "random states",
}


# %% wrong="the states set first, then a Run made" says=["right after exact_resume these are not as they were: Python's random state"]
def save_run(run):
    kind, keys, *rest = np.random.get_state()
    return copy.deepcopy(
        {
            "m": run.model.state_dict(),
            "o": run.optimizer.state_dict(),
            "s": run.scheduler.state_dict(),
            "c": run.scaler.state_dict(),
            "g": run.generator.get_state(),
            "order": run.order,
            "position": run.position,
            "p": random.getstate(),
            "n": (kind, keys.tolist(), *rest),
            "t": torch.get_rng_state(),
        }
    )


def exact_resume(run, state):
    random.setstate(state["p"])
    np.random.set_state(state["n"])
    torch.set_rng_state(state["t"])
    fresh = Run(0)
    vars(run).update(vars(fresh))
    run.model.load_state_dict(state["m"])
    run.optimizer.load_state_dict(state["o"])
    run.scheduler.load_state_dict(state["s"])
    run.scaler.load_state_dict(state["c"])
    run.generator.set_state(state["g"])
    run.order, run.position = state["order"], state["position"]


saboteur = dict(
    zip("ABCDEF", ["random states", "model", "scaler", "scheduler", "optimizer", "sampler"])
)


# %% wrong="a list of the parts" breaks="`save_run(run)` returns a dict" says=["save_run returned a list, no dict"]
def save_run(run):
    name, keys, *rest = np.random.get_state()
    parts = {
        "model": copy.deepcopy(run.model.state_dict()),
        "optimizer": copy.deepcopy(run.optimizer.state_dict()),
        "scheduler": copy.deepcopy(run.scheduler.state_dict()),
        "scaler": copy.deepcopy(run.scaler.state_dict()),
        "python": random.getstate(),
        "numpy": (name, keys.tolist(), *rest),
        "torch": torch.get_rng_state(),
        "generator": run.generator.get_state(),
        "order": run.order.clone(),
        "position": run.position,
    }
    return list(parts.items())


def exact_resume(run, state):
    state = dict(state)
    run.model.load_state_dict(state["model"])
    run.optimizer.load_state_dict(state["optimizer"])
    run.scheduler.load_state_dict(state["scheduler"])
    run.scaler.load_state_dict(state["scaler"])
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])
    torch.set_rng_state(state["torch"])
    run.generator.set_state(state["generator"])
    run.order, run.position = state["order"], state["position"]


lost_order = torch.randperm(6, generator=torch.Generator().manual_seed(3)).tolist()
saboteur = {letter: PARTS[n] for letter, n in zip("ABCDEF", lost_order)}


# %% wrong="weights put into new objects" says=["the optimizer's hold on the model's parameters: they are other objects"]
def save_run(run):
    name, keys, *rest = np.random.get_state()
    return {
        "model": copy.deepcopy(run.model.state_dict()),
        "optimizer": copy.deepcopy(run.optimizer.state_dict()),
        "scheduler": copy.deepcopy(run.scheduler.state_dict()),
        "scaler": copy.deepcopy(run.scaler.state_dict()),
        "python": random.getstate(),
        "numpy": (name, keys.tolist(), *rest),
        "torch": torch.get_rng_state(),
        "generator": run.generator.get_state(),
        "order": run.order.clone(),
        "position": run.position,
    }


def exact_resume(run, state):
    run.model.load_state_dict(state["model"], assign=True)
    run.optimizer.load_state_dict(state["optimizer"])
    run.scheduler.load_state_dict(state["scheduler"])
    run.scaler.load_state_dict(state["scaler"])
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])
    torch.set_rng_state(state["torch"])
    run.generator.set_state(state["generator"])
    run.order, run.position = state["order"], state["position"]


lost_order = torch.randperm(6, generator=torch.Generator().manual_seed(3)).tolist()
saboteur = {letter: PARTS[n] for letter, n in zip("ABCDEF", lost_order)}


# %% wrong="Python's reserve is lost" breaks="in a process with other random states" says=["not as they were: the normal number that Python keeps in reserve"]
def save_run(run):
    kind, keys, *rest = np.random.get_state()
    return copy.deepcopy(
        {
            "model": run.model.state_dict(),
            "optimizer": run.optimizer.state_dict(),
            "scheduler": run.scheduler.state_dict(),
            "scaler": run.scaler.state_dict(),
            "generator": run.generator.get_state(),
            "sampler": (run.order, run.position),
            "python": random.getstate()[:2],
            "numpy": (kind, keys.tolist(), *rest),
            "torch": torch.get_rng_state(),
        }
    )


def exact_resume(run, state):
    for name in ("model", "optimizer", "scheduler", "scaler"):
        getattr(run, name).load_state_dict(state[name])
    run.generator.set_state(state["generator"])
    run.order, run.position = state["sampler"]
    random.setstate((*state["python"], None))
    np.random.set_state(state["numpy"])
    torch.set_rng_state(state["torch"])


saboteur = {
    "A": "random states",
    "B": "model",
    "C": "scaler",
    "D": "scheduler",
    "E": "optimizer",
    "F": "sampler",
}


# %% wrong="the order is kept in a global" says=["right after exact_resume these are not as they were: the order of this epoch"]
last = {}


def save_run(run):
    last["order"] = run.order
    kind, keys, place, has, kept = np.random.get_state()
    return copy.deepcopy(
        {
            "model": run.model.state_dict(),
            "optimizer": run.optimizer.state_dict(),
            "scheduler": run.scheduler.state_dict(),
            "scaler": run.scaler.state_dict(),
            "generator": run.generator.get_state(),
            "position": run.position,
            "torch": torch.get_rng_state(),
            "python": random.getstate(),
            "numpy": (kind, keys.tolist(), place, has, kept),
        }
    )


def exact_resume(run, state):
    run.model.load_state_dict(state["model"])
    run.optimizer.load_state_dict(state["optimizer"])
    run.scheduler.load_state_dict(state["scheduler"])
    run.scaler.load_state_dict(state["scaler"])
    run.generator.set_state(state["generator"])
    run.order = last["order"]
    run.position = state["position"]
    torch.set_rng_state(state["torch"])
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])


saboteur = {
    "A": "random states",
    "B": "model",
    "C": "scaler",
    "D": "scheduler",
    "E": "optimizer",
    "F": "sampler",
}


# %% wrong="the position one batch back" says=["before the first step: right after exact_resume these are not as they were: the order of this epoch"]
def save_run(run):
    kind, keys, place, has, kept = np.random.get_state()
    return copy.deepcopy(
        {
            "model": run.model.state_dict(),
            "optimizer": run.optimizer.state_dict(),
            "scheduler": run.scheduler.state_dict(),
            "scaler": run.scaler.state_dict(),
            "generator": run.generator.get_state(),
            "order": run.order,
            "position": run.position - 64,
            "torch": torch.get_rng_state(),
            "python": random.getstate(),
            "numpy": (kind, keys.tolist(), place, has, kept),
        }
    )


def exact_resume(run, state):
    run.model.load_state_dict(state["model"])
    run.optimizer.load_state_dict(state["optimizer"])
    run.scheduler.load_state_dict(state["scheduler"])
    run.scaler.load_state_dict(state["scaler"])
    run.generator.set_state(state["generator"])
    run.order = state["order"]
    run.position = state["position"]
    torch.set_rng_state(state["torch"])
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])


saboteur = {
    "A": "random states",
    "B": "model",
    "C": "scaler",
    "D": "scheduler",
    "E": "optimizer",
    "F": "sampler",
}


# %% wrong="a number for a state that stays in the process" says=["nothing is: another process saved this state, so all that counts has to be in it"]
shelf = []


def save_run(run):
    name, keys, position, has_gauss, gauss = np.random.get_state()
    shelf.append(
        {
            "model": copy.deepcopy(run.model.state_dict()),
            "optimizer": copy.deepcopy(run.optimizer.state_dict()),
            "scheduler": copy.deepcopy(run.scheduler.state_dict()),
            "scaler": copy.deepcopy(run.scaler.state_dict()),
            "python": random.getstate(),
            "numpy": (name, keys.tolist(), position, has_gauss, gauss),
            "torch": torch.get_rng_state(),
            "generator": run.generator.get_state(),
            "order": run.order.clone(),
            "position": run.position,
        }
    )
    return {"number": len(shelf) - 1}


def exact_resume(run, state):
    state = shelf[state["number"]]
    run.model.load_state_dict(state["model"])
    run.optimizer.load_state_dict(state["optimizer"])
    run.scheduler.load_state_dict(state["scheduler"])
    run.scaler.load_state_dict(state["scaler"])
    run.order, run.position = state["order"], state["position"]
    run.generator.set_state(state["generator"])
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])
    torch.set_rng_state(state["torch"])


saboteur = {
    "A": "random states",
    "B": "model",
    "C": "scaler",
    "D": "scheduler",
    "E": "optimizer",
    "F": "sampler",
}


# %% wrong="a new optimizer that the scheduler does not know" says=["the scheduler's hold on the optimizer: it is another object"]
def save_run(run):
    name, keys, position, has_gauss, gauss = np.random.get_state()
    return {
        "model": copy.deepcopy(run.model.state_dict()),
        "optimizer": copy.deepcopy(run.optimizer.state_dict()),
        "scheduler": copy.deepcopy(run.scheduler.state_dict()),
        "scaler": copy.deepcopy(run.scaler.state_dict()),
        "python": random.getstate(),
        "numpy": (name, keys.tolist(), position, has_gauss, gauss),
        "torch": torch.get_rng_state(),
        "generator": run.generator.get_state(),
        "order": run.order.clone(),
        "position": run.position,
    }


def exact_resume(run, state):
    run.model.load_state_dict(state["model"])
    run.optimizer = torch.optim.AdamW(run.model.parameters(), lr=0.02)
    run.optimizer.load_state_dict(state["optimizer"])
    run.scheduler.load_state_dict(state["scheduler"])
    run.scaler.load_state_dict(state["scaler"])
    run.order, run.position = state["order"], state["position"]
    run.generator.set_state(state["generator"])
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])
    torch.set_rng_state(state["torch"])


saboteur = {
    "A": "random states",
    "B": "model",
    "C": "scaler",
    "D": "scheduler",
    "E": "optimizer",
    "F": "sampler",
}


# %% wrong="the order stays in the process, by the step's number" says=["not as they were: the order of this epoch and the position in it"]
orders = {}


def save_run(run):
    orders[run.scheduler.last_epoch] = run.order.clone()
    name, keys, position, has_gauss, gauss = np.random.get_state()
    return {
        "model": copy.deepcopy(run.model.state_dict()),
        "optimizer": copy.deepcopy(run.optimizer.state_dict()),
        "scheduler": copy.deepcopy(run.scheduler.state_dict()),
        "scaler": copy.deepcopy(run.scaler.state_dict()),
        "python": random.getstate(),
        "numpy": (name, keys.tolist(), position, has_gauss, gauss),
        "torch": torch.get_rng_state(),
        "generator": run.generator.get_state(),
        "order": run.scheduler.last_epoch,
        "position": run.position,
    }


def exact_resume(run, state):
    run.model.load_state_dict(state["model"])
    run.optimizer.load_state_dict(state["optimizer"])
    run.scheduler.load_state_dict(state["scheduler"])
    run.scaler.load_state_dict(state["scaler"])
    run.order, run.position = orders[state["order"]], state["position"]
    run.generator.set_state(state["generator"])
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])
    torch.set_rng_state(state["torch"])


saboteur = {
    "A": "random states",
    "B": "model",
    "C": "scaler",
    "D": "scheduler",
    "E": "optimizer",
    "F": "sampler",
}


# %% wrong="the optimizer's weight decay is lost" says=["not as they were: the optimizer's settings"]
def save_run(run):
    name, keys, position, has_gauss, gauss = np.random.get_state()
    return {
        "model": copy.deepcopy(run.model.state_dict()),
        "optimizer": copy.deepcopy(run.optimizer.state_dict()),
        "scheduler": copy.deepcopy(run.scheduler.state_dict()),
        "scaler": copy.deepcopy(run.scaler.state_dict()),
        "python": random.getstate(),
        "numpy": (name, keys.tolist(), position, has_gauss, gauss),
        "torch": torch.get_rng_state(),
        "generator": run.generator.get_state(),
        "order": run.order.clone(),
        "position": run.position,
    }


def exact_resume(run, state):
    run.model.load_state_dict(state["model"])
    run.optimizer.load_state_dict(
        {**state["optimizer"], "param_groups": run.optimizer.state_dict()["param_groups"]}
    )
    run.optimizer.param_groups[0]["weight_decay"] = 0.0
    run.optimizer.param_groups[0]["lr"] = state["optimizer"]["param_groups"][0]["lr"]
    run.scheduler.load_state_dict(state["scheduler"])
    run.scaler.load_state_dict(state["scaler"])
    run.order, run.position = state["order"], state["position"]
    run.generator.set_state(state["generator"])
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])
    torch.set_rng_state(state["torch"])


saboteur = {
    "A": "random states",
    "B": "model",
    "C": "scaler",
    "D": "scheduler",
    "E": "optimizer",
    "F": "sampler",
}


# %% wrong="writes each state into the tensors of the one before" says=["the state changed when other runs were saved: make each state anew"]
_KEPT = {}


def save_run(run):
    kind, keys, *rest = np.random.get_state()
    state = copy.deepcopy(
        {
            "model": run.model.state_dict(),
            "optimizer": run.optimizer.state_dict(),
            "scheduler": run.scheduler.state_dict(),
            "scaler": run.scaler.state_dict(),
            "generator": run.generator.get_state(),
            "sampler": (run.order, run.position),
            "python": random.getstate(),
            "numpy": (kind, keys.tolist(), *rest),
            "torch": torch.get_rng_state(),
        }
    )
    for name, value in state["model"].items():
        state["model"][name] = _KEPT.setdefault(name, value).copy_(value)
    return state


def exact_resume(run, state):
    for name in ("model", "optimizer", "scheduler", "scaler"):
        getattr(run, name).load_state_dict(state[name])
    run.generator.set_state(state["generator"])
    run.order, run.position = state["sampler"]
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])
    torch.set_rng_state(state["torch"])


saboteur = dict(
    zip(
        "ABCDEF",
        ["random states", "model", "scaler", "scheduler", "optimizer", "sampler"],
        strict=True,
    )
)


# %% wrong="keeps a run's state by the run" says=["the state is what it was three steps before: save_run kept it"]
_KEPT = {}


def save_run(run):
    if run in _KEPT:
        return _KEPT[run]
    kind, keys, *rest = np.random.get_state()
    state = copy.deepcopy(
        {
            "model": run.model.state_dict(),
            "optimizer": run.optimizer.state_dict(),
            "scheduler": run.scheduler.state_dict(),
            "scaler": run.scaler.state_dict(),
            "generator": run.generator.get_state(),
            "sampler": (run.order, run.position),
            "python": random.getstate(),
            "numpy": (kind, keys.tolist(), *rest),
            "torch": torch.get_rng_state(),
        }
    )
    _KEPT[run] = state
    return state


def exact_resume(run, state):
    for name in ("model", "optimizer", "scheduler", "scaler"):
        getattr(run, name).load_state_dict(state[name])
    run.generator.set_state(state["generator"])
    run.order, run.position = state["sampler"]
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])
    torch.set_rng_state(state["torch"])


saboteur = dict(
    zip(
        "ABCDEF",
        ["random states", "model", "scaler", "scheduler", "optimizer", "sampler"],
        strict=True,
    )
)


# %% wrong="order written into the run's own" says=["before the first step: exact_resume raised RuntimeError", "run.order is empty: assign it"]
import copy
import random

import numpy as np


def save_run(run: Run) -> dict:
    kind, keys, *rest = np.random.get_state()
    return copy.deepcopy(
        {
            "model": run.model.state_dict(),
            "optimizer": run.optimizer.state_dict(),
            "scheduler": run.scheduler.state_dict(),
            "scaler": run.scaler.state_dict(),
            "python": random.getstate(),
            "numpy": (kind, keys.tolist(), *rest),
            "torch": torch.get_rng_state(),
            "generator": run.generator.get_state(),
            "order": run.order,
            "position": run.position,
        }
    )


def exact_resume(run: Run, state: dict) -> None:
    for name in ("model", "optimizer", "scheduler", "scaler"):
        getattr(run, name).load_state_dict(state[name])
    run.generator.set_state(state["generator"])
    run.order.copy_(state["order"])
    run.position = state["position"]
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])
    torch.set_rng_state(state["torch"])


saboteur = {
    "A": "random states",
    "B": "model",
    "C": "scaler",
    "D": "scheduler",
    "E": "optimizer",
    "F": "sampler",
}


# %% wrong="parameters alone, buffers not" says=["not as they were: the model's buffers, such as batch norm's"]
import copy
import random

import numpy as np


def save_run(run: Run) -> dict:
    kind, keys, *rest = np.random.get_state()
    return copy.deepcopy(
        {
            "model": {name: p.detach() for name, p in run.model.named_parameters()},
            "optimizer": run.optimizer.state_dict(),
            "scheduler": run.scheduler.state_dict(),
            "scaler": run.scaler.state_dict(),
            "python": random.getstate(),
            "numpy": (kind, keys.tolist(), *rest),
            "torch": torch.get_rng_state(),
            "generator": run.generator.get_state(),
            "order": run.order,
            "position": run.position,
        }
    )


def exact_resume(run: Run, state: dict) -> None:
    run.model.load_state_dict(state["model"], strict=False)
    for name in ("optimizer", "scheduler", "scaler"):
        getattr(run, name).load_state_dict(state[name])
    run.generator.set_state(state["generator"])
    run.order, run.position = state["order"], state["position"]
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])
    torch.set_rng_state(state["torch"])


saboteur = {
    "A": "random states",
    "B": "model",
    "C": "scaler",
    "D": "scheduler",
    "E": "optimizer",
    "F": "sampler",
}


# %% wrong="a Run made last, to compare shapes" says=["were the random states set last? Making a Run seeds all three"]
import copy
import random

import numpy as np


def save_run(run: Run) -> dict:
    kind, keys, *rest = np.random.get_state()
    return copy.deepcopy(
        {
            "model": run.model.state_dict(),
            "optimizer": run.optimizer.state_dict(),
            "scheduler": run.scheduler.state_dict(),
            "scaler": run.scaler.state_dict(),
            "python": random.getstate(),
            "numpy": (kind, keys.tolist(), *rest),
            "torch": torch.get_rng_state(),
            "generator": run.generator.get_state(),
            "order": run.order,
            "position": run.position,
        }
    )


def exact_resume(run: Run, state: dict) -> None:
    for name in ("model", "optimizer", "scheduler", "scaler"):
        getattr(run, name).load_state_dict(state[name])
    run.generator.set_state(state["generator"])
    run.order, run.position = state["order"], state["position"]
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])
    torch.set_rng_state(state["torch"])
    shapes = {name: value.shape for name, value in Run(0).model.state_dict().items()}
    assert shapes == {name: value.shape for name, value in run.model.state_dict().items()}


saboteur = {
    "A": "random states",
    "B": "model",
    "C": "scaler",
    "D": "scheduler",
    "E": "optimizer",
    "F": "sampler",
}
