# %% [markdown]
# Rules:
#
# - "with `dcp.save`"
# - "No rank has room for a whole DTensor"
# - "a path that may not exist yet"
# - "fills `state`, in place"
# - "from the **highest** step"
# - "whose save was completed"
# - "and returns this step"
# - "(an `int` from 0)"
# - "If there is none, it returns -1"
# - "and leaves `state` alone"
# - "The number of ranks may differ from that at the save"
# - "must not spoil what was saved under other steps"
# - "A save that is killed at any moment"
# - "its step may be saved once more"
# - "`state` keeps its entries: add none to the caller's dict"
# - "The system lists a folder's entries in any order"
#
# Admits:
#
# - "a path that may not exist yet": nothing was saved
# - "A save that is killed at any moment": is killed while the shards are written
# - "The number of ranks may differ from that at the save": loaded by 3
# - "(an `int` from 0)": after step 0, step 1 is killed
# - "its step may be saved once more": and saved once more

# %% wrong="one folder for all" breaks="must not spoil what was saved under other steps" says=["that save was killed", "a folder of its own"]
def sharded_checkpoint(folder, step, state):
    dcp.save({"state": state, "step": torch.tensor(step)}, checkpoint_id=folder)


def newest_checkpoint(folder, state):
    if not (Path(folder) / ".metadata").exists():
        return -1
    whole = {"state": state, "step": torch.tensor(-1)}
    dcp.load(whole, checkpoint_id=folder)
    return int(whole["step"])


# %% wrong="compares texts" says=["compare steps as numbers", "the step on rank 0 is 9, expected 10"]
def sharded_checkpoint(folder, step, state):
    dcp.save(state, checkpoint_id=f"{folder}/{step}")


def newest_checkpoint(folder, state):
    steps = sorted(p.parent.name for p in Path(folder).glob("*/.metadata"))
    if not steps:
        return -1
    dcp.load(state, checkpoint_id=f"{folder}/{steps[-1]}")
    return int(steps[-1])


# %% wrong="takes the killed save for complete" breaks="whose save was completed" says=["take only a step that has .metadata"]
def sharded_checkpoint(folder, step, state):
    dcp.save(state, checkpoint_id=f"{folder}/{step}")


def newest_checkpoint(folder, state):
    if not os.path.isdir(folder):
        return -1
    step = max(map(int, os.listdir(folder)), default=-1)
    if step >= 0:
        dcp.load(state, checkpoint_id=f"{folder}/{step}")
    return step


# %% wrong="step 0 is no step" breaks="(an `int` from 0)" says=["the step on rank", "expected 0"]
def sharded_checkpoint(folder, step, state):
    dcp.save(state, checkpoint_id=f"{folder}/{step}")


def newest_checkpoint(folder, state):
    step = max((int(p.parent.name) for p in Path(folder).glob("*/.metadata")), default=0)
    if not step:
        return -1
    dcp.load(state, checkpoint_id=f"{folder}/{step}")
    return step


# %% wrong="a pointer written before the save" says=["take only a step that has .metadata"]
def sharded_checkpoint(folder, step, state):
    os.makedirs(folder, exist_ok=True)
    Path(folder, "newest").write_text(str(step))
    dcp.save(state, checkpoint_id=f"{folder}/{step}")


def newest_checkpoint(folder, state):
    if not Path(folder, "newest").exists():
        return -1
    step = int(Path(folder, "newest").read_text())
    dcp.load(state, checkpoint_id=f"{folder}/{step}")
    return step


# %% wrong="forgets to load" says=["holds what it held before"]
def sharded_checkpoint(folder, step, state):
    dcp.save(state, checkpoint_id=f"{folder}/{step}")


def newest_checkpoint(folder, state):
    return max((int(p.parent.name) for p in Path(folder).glob("*/.metadata")), default=-1)


# %% wrong="stumbles over a folder that doesn't exist" breaks="a path that may not exist yet" says=["nothing was saved", "FileNotFoundError"]
def sharded_checkpoint(folder, step, state):
    dcp.save(state, checkpoint_id=f"{folder}/{step}")


def newest_checkpoint(folder, state):
    done = [int(n) for n in os.listdir(folder) if os.path.exists(f"{folder}/{n}/.metadata")]
    if not done:
        return -1
    dcp.load(state, checkpoint_id=f"{folder}/{max(done)}")
    return max(done)


# %% right="renamed when complete"
def sharded_checkpoint(folder, step, state):
    part = os.path.join(folder, f"part-{step:09d}")
    dcp.save(state, checkpoint_id=part)
    if dist.get_rank() == 0:
        os.replace(part, os.path.join(folder, f"done-{step:09d}"))
    dist.barrier()


def newest_checkpoint(folder, state):
    done = sorted(Path(folder).glob("done-*")) if os.path.exists(folder) else []
    if not done:
        return -1
    dcp.load(state, storage_reader=dcp.FileSystemReader(done[-1]))
    return int(done[-1].name.removeprefix("done-"))


# %% right="a pointer written after the save"
def sharded_checkpoint(folder, step, state):
    place = Path(folder, "steps", str(step))
    dcp.save({"all": state}, storage_writer=dcp.FileSystemWriter(place))
    dist.barrier()
    if dist.get_rank() == 0:
        place.with_suffix(".ok").touch()
    dist.barrier()


def newest_checkpoint(folder, state):
    steps = [int(file.stem) for file in Path(folder, "steps").glob("*.ok")]
    if len(steps) == 0:
        return -1
    newest = sorted(steps)[-1]
    dcp.load({"all": state}, checkpoint_id=str(Path(folder, "steps", str(newest))))
    return newest


# %% wrong="the save that was last, not the highest" breaks="from the **highest** step" says=["the highest step counts"]
def sharded_checkpoint(folder, step, state):
    dcp.save(state, checkpoint_id=os.path.join(folder, str(step)))
    if dist.get_rank() == 0:
        Path(folder, "newest.new").write_text(str(step))
        os.replace(Path(folder, "newest.new"), Path(folder, "newest"))
    dist.barrier()


def newest_checkpoint(folder, state):
    try:
        step = int(Path(folder, "newest").read_text())
    except FileNotFoundError:
        return -1
    dcp.load(state, checkpoint_id=os.path.join(folder, str(step)))
    return step


# %% wrong="loads into a state of its own" breaks="fills `state`, in place" says=["fills them in place"]
def sharded_checkpoint(folder, step, state):
    dcp.save(state, checkpoint_id=f"{folder}/{step}")


def newest_checkpoint(folder, state):
    steps = [int(p.parent.name) for p in Path(folder).glob("*/.metadata")]
    if not steps:
        return -1
    state = {name: value.clone() for name, value in state.items()}
    dcp.load(state, checkpoint_id=f"{folder}/{max(steps)}")
    return max(steps)


# %% right="tries from the highest down"
def sharded_checkpoint(folder, step, state):
    dcp.save(state, checkpoint_id=f"{folder}/{step}")


def newest_checkpoint(folder, state):
    steps = sorted(map(int, os.listdir(folder)), reverse=True) if os.path.isdir(folder) else []
    for step in steps:
        try:
            dcp.load(state, checkpoint_id=f"{folder}/{step}")
        except dcp.CheckpointException:
            continue
        return step
    return -1


# %% wrong="pads the step with zeros and compares texts" says=["steps 10, 50, 999999 and 1000000", "compare steps as numbers"]
def sharded_checkpoint(folder, step, state):
    dcp.save(state, checkpoint_id=f"{folder}/{step:06d}")


def newest_checkpoint(folder, state):
    done = sorted(Path(folder).glob("*/.metadata"))
    if not done:
        return -1
    dcp.load(state, checkpoint_id=done[-1].parent)
    return int(done[-1].parent.name)


# %% wrong="the last of an unsorted glob" breaks="The system lists a folder's entries in any order" says=["in any order", "expected 22"]
def sharded_checkpoint(folder, step, state):
    dcp.save(state, checkpoint_id=f"{folder}/{step}")


def newest_checkpoint(folder, state):
    done = list(Path(folder).glob("*/.metadata"))
    if not done:
        return -1
    dcp.load(state, checkpoint_id=done[-1].parent)
    return int(done[-1].parent.name)


# %% wrong="the first of a listing" says=["in any order", "expected 22"]
def sharded_checkpoint(folder, step, state):
    dcp.save(state, checkpoint_id=f"{folder}/{step}")


def newest_checkpoint(folder, state):
    names = os.listdir(folder) if os.path.isdir(folder) else []
    done = [name for name in names if os.path.exists(f"{folder}/{name}/.metadata")]
    if not done:
        return -1
    dcp.load(state, checkpoint_id=f"{folder}/{done[0]}")
    return int(done[0])


# %% wrong="writes the step into the caller's dict" breaks="`state` keeps its entries: add none to the caller's dict" says=["`state` was changed"]
def sharded_checkpoint(folder, step, state):
    state["step"] = torch.tensor(step)
    dcp.save(state, checkpoint_id=f"{folder}/{step}")


def newest_checkpoint(folder, state):
    step = max((int(p.parent.name) for p in Path(folder).glob("*/.metadata")), default=-1)
    if step >= 0:
        dcp.load(state, checkpoint_id=f"{folder}/{step}")
    return step


# %% wrong="looks for the step in the caller's dict" says=["`state` was changed"]
def sharded_checkpoint(folder, step, state):
    dcp.save({**state, "step": torch.tensor(step)}, checkpoint_id=f"{folder}/{step}")


def newest_checkpoint(folder, state):
    step = max((int(p.parent.name) for p in Path(folder).glob("*/.metadata")), default=-1)
    if step >= 0:
        state["step"] = torch.tensor(-1)
        dcp.load(state, checkpoint_id=f"{folder}/{step}")
        return int(state["step"])
    return step


# %% wrong="returns the folder's name" breaks="and returns this step" says=["a text", "return an int"]
def sharded_checkpoint(folder, step, state):
    dcp.save(state, checkpoint_id=f"{folder}/{step}")


def newest_checkpoint(folder, state):
    done = sorted(Path(folder).glob("*/.metadata"), key=lambda p: int(p.parent.name))
    if not done:
        return -1
    dcp.load(state, checkpoint_id=done[-1].parent)
    return done[-1].parent.name


# %% wrong="fails where a killed save left its folder" breaks="its step may be saved once more" says=["saved once more"]
def sharded_checkpoint(folder, step, state):
    place = Path(folder) / str(step)
    if dist.get_rank() == 0:
        place.mkdir(parents=True)
    dist.barrier()
    dcp.save(state, checkpoint_id=place)


def newest_checkpoint(folder, state):
    step = max((int(p.parent.name) for p in Path(folder).glob("*/.metadata")), default=-1)
    if step >= 0:
        dcp.load(state, checkpoint_id=f"{folder}/{step}")
    return step


# %% wrong="keeps only the newest save" says=["expected 5", "of 3 completed saves 1 was left"]
def sharded_checkpoint(folder, step, state):
    import shutil

    dcp.save(state, checkpoint_id=f"{folder}/{step}")
    dist.barrier()
    if dist.get_rank() == 0:
        for other in Path(folder).iterdir():
            if other.name != str(step):
                shutil.rmtree(other)
    dist.barrier()


def newest_checkpoint(folder, state):
    step = max((int(p.parent.name) for p in Path(folder).glob("*/.metadata")), default=-1)
    if step >= 0:
        dcp.load(state, checkpoint_id=f"{folder}/{step}")
    return step


# %% wrong="0 where nothing was saved" breaks="If there is none, it returns -1" says=["is 0, expected -1: no save is complete"]
def sharded_checkpoint(folder, step, state):
    dcp.save(state, checkpoint_id=Path(folder) / str(step))


def newest_checkpoint(folder, state):
    steps = [int(path.parent.name) for path in Path(folder).glob("*/.metadata")]
    if not steps:
        return 0
    dcp.load(state, checkpoint_id=Path(folder) / str(max(steps)))
    return max(steps)


# %% wrong="removes older steps before it saves" breaks="A save that is killed at any moment" says=["of 1 completed saves none was left"]
import shutil


def sharded_checkpoint(folder, step, state):
    if dist.get_rank() == 0:
        for old in Path(folder).glob("*"):
            if int(old.name) < step:
                shutil.rmtree(old)
    dist.barrier()
    dcp.save(state, checkpoint_id=Path(folder) / str(step))


def newest_checkpoint(folder, state):
    step = max((int(p.parent.name) for p in Path(folder).glob("*/.metadata")), default=-1)
    if step >= 0:
        dcp.load(state, checkpoint_id=Path(folder) / str(step))
    return step


# %% wrong="keeps one older folder, a killed one perhaps" says=["the saves of 6 and 7 are both killed", "of 2 completed saves none was left"]
import shutil


def sharded_checkpoint(folder, step, state):
    if dist.get_rank() == 0:
        olds = sorted((p for p in Path(folder).glob("*")), key=lambda p: int(p.name))
        for old in olds[:-1]:
            shutil.rmtree(old)
    dist.barrier()
    dcp.save(state, checkpoint_id=Path(folder) / str(step))


def newest_checkpoint(folder, state):
    step = max((int(p.parent.name) for p in Path(folder).glob("*/.metadata")), default=-1)
    if step >= 0:
        dcp.load(state, checkpoint_id=Path(folder) / str(step))
    return step


# %% wrong="the lowest step" says=["the highest step counts"]
def sharded_checkpoint(folder, step, state):
    dcp.save(state, checkpoint_id=Path(folder) / str(step))


def newest_checkpoint(folder, state):
    step = min((int(p.parent.name) for p in Path(folder).glob("*/.metadata")), default=-1)
    if step >= 0:
        dcp.load(state, checkpoint_id=Path(folder) / str(step))
    return step


# %% right="a list of completed steps"
import json


def sharded_checkpoint(folder, step, state):
    root = Path(folder)
    dcp.save(state, checkpoint_id=root / "data" / hex(step))
    if dist.get_rank() == 0:
        book = root / "book.json"
        steps = json.loads(book.read_text()) if book.exists() else []
        (root / "book.new").write_text(json.dumps(sorted({*steps, step})))
        os.replace(root / "book.new", book)
    dist.barrier()


def newest_checkpoint(folder, state):
    try:
        step = json.loads((Path(folder) / "book.json").read_text())[-1]
    except FileNotFoundError:
        return -1
    dcp.load(state, checkpoint_id=Path(folder) / "data" / hex(step))
    return step


# %% right="one rank decides, older saves go"
import shutil


def sharded_checkpoint(folder, step, state):
    place = os.path.join(folder, f"step_{step}")
    dcp.save(state, checkpoint_id=place)
    if dist.get_rank() == 0:
        done = sorted(int(p.parent.name[5:]) for p in Path(folder).glob("step_*/.metadata"))
        for old in done[:-2]:
            shutil.rmtree(os.path.join(folder, f"step_{old}"))
    dist.barrier()


def newest_checkpoint(folder, state):
    box = [-1]
    if dist.get_rank() == 0 and os.path.isdir(folder):
        with os.scandir(folder) as entries:
            for e in entries:
                if os.path.exists(os.path.join(e.path, ".metadata")):
                    box[0] = max(box[0], int(e.name[5:]))
    dist.broadcast_object_list(box, 0)
    if box[0] > -1:
        dcp.load(state, checkpoint_id=os.path.join(folder, f"step_{box[0]}"))
    return box[0]


# %% wrong="gathered, and torch.save on rank 0" breaks="with `dcp.save`" says=["does it save with dcp.save?"]
def sharded_checkpoint(folder, step, state):
    whole = {k: v.full_tensor() if isinstance(v, DTensor) else v for k, v in state.items()}
    if dist.get_rank() == 0:
        os.makedirs(folder, exist_ok=True)
        torch.save(whole, Path(folder, f"{step}.part"))
        os.replace(Path(folder, f"{step}.part"), Path(folder, f"{step}.pt"))
    dist.barrier()


def newest_checkpoint(folder, state):
    steps = [int(p.stem) for p in Path(folder).glob("*.pt")]
    if not steps:
        return -1
    whole = torch.load(Path(folder, f"{max(steps)}.pt"))
    for k, v in state.items():
        if isinstance(v, DTensor):
            v.copy_(distribute_tensor(whole[k], v.device_mesh, v.placements))
        else:
            v.copy_(whole[k])
    return max(steps)


# %% wrong="zeros where there is none" breaks="and leaves `state` alone" says=["no save is complete, and `state` was changed"]
def sharded_checkpoint(folder, step, state):
    dcp.save(state, checkpoint_id=os.path.join(folder, str(step)))


def newest_checkpoint(folder, state):
    steps = [int(path.parent.name) for path in Path(folder).glob("*/.metadata")]
    if not steps:
        for tensor in state.values():
            tensor.zero_()
        return -1
    dcp.load(state, checkpoint_id=os.path.join(folder, str(max(steps))))
    return max(steps)


# %% wrong="a folder for each number of ranks" breaks="The number of ranks may differ from that at the save" says=["2 ranks saved, and 3 load"]
def sharded_checkpoint(folder, step, state):
    dcp.save(state, checkpoint_id=os.path.join(folder, f"{dist.get_world_size()}-{step}"))


def newest_checkpoint(folder, state):
    steps = [
        int(path.parent.name.split("-")[1])
        for path in Path(folder).glob(f"{dist.get_world_size()}-*/.metadata")
    ]
    if not steps:
        return -1
    dcp.load(state, checkpoint_id=os.path.join(folder, f"{dist.get_world_size()}-{max(steps)}"))
    return max(steps)


# %% wrong="returns the next step" says=["return the step that was loaded"]
def sharded_checkpoint(folder, step, state):
    dcp.save(state, checkpoint_id=os.path.join(folder, str(step)))


def newest_checkpoint(folder, state):
    steps = [int(path.parent.name) for path in Path(folder).glob("*/.metadata")]
    if not steps:
        return -1
    dcp.load(state, checkpoint_id=os.path.join(folder, str(max(steps))))
    return max(steps) + 1


# %% wrong="saves in the background and doesn't wait" says=["was still writing: use dcp.save, or wait"]
def sharded_checkpoint(folder: str, step: int, state: dict) -> None:
    dcp.async_save(
        state, checkpoint_id=str(Path(folder) / str(step)), process_group=dist.new_group()
    )


def newest_checkpoint(folder: str, state: dict) -> int:
    steps = [int(file.parent.name) for file in Path(folder).glob("*/.metadata")]
    if not steps:
        return -1
    dcp.load(state, checkpoint_id=str(Path(folder) / str(max(steps))))
    return max(steps)


# %% right="saved in the background, waited for"
def sharded_checkpoint(folder: str, step: int, state: dict) -> None:
    dcp.async_save(
        state, checkpoint_id=str(Path(folder) / str(step)), process_group=dist.new_group()
    ).result()


def newest_checkpoint(folder: str, state: dict) -> int:
    steps = [int(file.parent.name) for file in Path(folder).glob("*/.metadata")]
    if not steps:
        return -1
    dcp.load(state, checkpoint_id=str(Path(folder) / str(max(steps))))
    return max(steps)


# %% wrong="the folder's name is read as a pattern" breaks="a path that may not exist yet" says=["glob.glob takes brackets for a pattern"]
def sharded_checkpoint(folder, step, state):
    dcp.save(state, checkpoint_id=f"{folder}/{step}")


def newest_checkpoint(folder, state):
    import glob

    done = [Path(name).parent.name for name in glob.glob(f"{folder}/*/.metadata")]
    step = max(map(int, done), default=-1)
    if step >= 0:
        dcp.load(state, checkpoint_id=f"{folder}/{step}")
    return step


# %% wrong="the step is saved under a name of the caller's" breaks="fills `state`, in place" says=["the caller may have an entry of any name"]
def sharded_checkpoint(folder, step, state):
    dcp.save({**state, "step": torch.tensor(step)}, checkpoint_id=f"{folder}/{step}")


def newest_checkpoint(folder, state):
    step = max((int(p.parent.name) for p in Path(folder).glob("*/.metadata")), default=-1)
    if step >= 0:
        dcp.load(state, checkpoint_id=f"{folder}/{step}")
    return step


# %% wrong="saves whole tensors" breaks="No rank has room for a whole DTensor" says=["gathers a whole tensor", "hand dcp.save the DTensors as they are"]
def sharded_checkpoint(folder, step, state):
    whole = {k: v.full_tensor() if isinstance(v, DTensor) else v for k, v in state.items()}
    dcp.save(whole, checkpoint_id=os.path.join(folder, str(step)))


def newest_checkpoint(folder, state):
    steps = [int(p.parent.name) for p in Path(folder).glob("*/.metadata")]
    if not steps:
        return -1
    dcp.load(state, checkpoint_id=os.path.join(folder, str(max(steps))))
    return max(steps)


# %% wrong="a folder that was loaded is not loaded again" says=["holds what it held before"]
loaded = {}


def sharded_checkpoint(folder, step, state):
    dcp.save(state, checkpoint_id=Path(folder) / str(step))


def newest_checkpoint(folder, state):
    if folder not in loaded:
        done = [int(path.parent.name) for path in Path(folder).glob("*/.metadata")]
        loaded[folder] = max(done, default=-1)
        if done:
            dcp.load(state, checkpoint_id=Path(folder) / str(max(done)))
    return loaded[folder]
