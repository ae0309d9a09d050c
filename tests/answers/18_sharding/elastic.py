# %% [markdown]
# Rules:
#
# - "each time the job is started"
# - "perhaps once more after its end"
# - "Run each of the steps 0, …, `steps` - 1"
# - "After every `every` steps"
# - "**rank 0 alone** saves"
# - "saves with `torch.save`"
# - "and at no other time"
# - "it is completed when a restart can use all of it"
# - "A restarted rank resumes after the last completed save"
# - "rank 0 in any `torch.save`"
# - "A rank can die in any `run`"
# - "the same weights as the undisturbed one"
# - "is empty at first"
#
# Admits:
#
# - "A rank can die in any `run`": rank 1 dies in step 5
# - "rank 0 in any `torch.save`": rank 0 dies in the last torch.save of the third save
# - "perhaps once more after its end": started once more after the end
# - "One save may be one file or several": rank 0 dies in the middle of the third save

# %% wrong="the model alone" breaks="the same weights as the undisturbed one" says=["lost its momentum: save the optimizer"]
def elastic(training, folder, rank, steps, every):
    file, first = Path(folder) / "newest.pt", 0
    if file.exists():
        saved = torch.load(file)
        training.model.load_state_dict(saved["model"])
        first = saved["next"]
    for step in range(first, steps):
        training.run(step)
        if rank == 0 and (step + 1) % every == 0:
            torch.save({"model": training.model.state_dict(), "next": step + 1}, f"{file}.part")
            os.replace(f"{file}.part", file)


# %% wrong="saves the step that is done, and runs it again" says=["the save already holds step 2"]
def elastic(training, folder, rank, steps, every):
    file, first = Path(folder) / "newest.pt", 0
    if file.exists():
        saved = torch.load(file)
        training.model.load_state_dict(saved["model"])
        training.optimizer.load_state_dict(saved["optimizer"])
        first = saved["step"]
    for step in range(first, steps):
        training.run(step)
        if rank == 0 and (step + 1) % every == 0:
            both = {
                "model": training.model.state_dict(),
                "optimizer": training.optimizer.state_dict(),
            }
            torch.save({**both, "step": step}, f"{file}.part")
            os.replace(f"{file}.part", file)


# %% wrong="writes over the old file" breaks="rank 0 in any `torch.save`" says=["write beside it, then os.replace"]
def elastic(training, folder, rank, steps, every):
    file, first = Path(folder) / "newest.pt", 0
    if file.exists():
        saved = torch.load(file)
        training.model.load_state_dict(saved["model"])
        training.optimizer.load_state_dict(saved["optimizer"])
        first = saved["next"]
    for step in range(first, steps):
        training.run(step)
        if rank == 0 and (step + 1) % every == 0:
            both = {
                "model": training.model.state_dict(),
                "optimizer": training.optimizer.state_dict(),
            }
            torch.save({**both, "next": step + 1}, file)


# %% wrong="begins from scratch" breaks="A restarted rank resumes after the last completed save" says=["it begins from scratch"]
def elastic(training, folder, rank, steps, every):
    for step in range(steps):
        training.run(step)


# %% wrong="every rank saves" breaks="**rank 0 alone** saves" says=["rank 0 alone saves"]
def elastic(training, folder, rank, steps, every):
    file, first = Path(folder) / f"newest{rank}.pt", 0
    if file.exists():
        saved = torch.load(file)
        training.model.load_state_dict(saved["model"])
        training.optimizer.load_state_dict(saved["optimizer"])
        first = saved["next"]
    for step in range(first, steps):
        training.run(step)
        if (step + 1) % every == 0:
            both = {
                "model": training.model.state_dict(),
                "optimizer": training.optimizer.state_dict(),
            }
            torch.save({**both, "next": step + 1}, f"{file}.part")
            os.replace(f"{file}.part", file)


# %% wrong="rank 0 alone loads" breaks="A rank can die in any `run`" says=["8 steps, a save every 3, rank 1 dies in step 5"]
def elastic(training, folder, rank, steps, every):
    file, first = Path(folder) / "newest.pt", 0
    if file.exists() and rank == 0:
        saved = torch.load(file)
        training.model.load_state_dict(saved["model"])
        training.optimizer.load_state_dict(saved["optimizer"])
        first = saved["next"]
    for step in range(first, steps):
        training.run(step)
        if rank == 0 and (step + 1) % every == 0:
            both = {
                "model": training.model.state_dict(),
                "optimizer": training.optimizer.state_dict(),
            }
            torch.save({**both, "next": step + 1}, f"{file}.part")
            os.replace(f"{file}.part", file)


# %% wrong="saves before the step" says=["begins with step"]
def elastic(training, folder, rank, steps, every):
    file, first = Path(folder) / "newest.pt", 0
    if file.exists():
        saved = torch.load(file)
        training.model.load_state_dict(saved["model"])
        training.optimizer.load_state_dict(saved["optimizer"])
        first = saved["next"]
    for step in range(first, steps):
        if rank == 0 and (step + 1) % every == 0:
            both = {
                "model": training.model.state_dict(),
                "optimizer": training.optimizer.state_dict(),
            }
            torch.save({**both, "next": step}, f"{file}.part")
            os.replace(f"{file}.part", file)
        training.run(step)


# %% right="a file for each save, renamed when complete"
def elastic(training, folder, rank, steps, every):
    done = sorted(Path(folder).glob("*.pt"), key=lambda file: int(file.stem))
    first = 0
    if done:
        model, optimizer = torch.load(done[-1], weights_only=True)
        training.model.load_state_dict(model)
        training.optimizer.load_state_dict(optimizer)
        first = int(done[-1].stem)
    dist.barrier()
    for step in range(first, steps):
        training.run(step)
        if rank == 0 and step % every == every - 1:
            part = Path(folder) / "writing"
            with open(part, "wb") as file:
                torch.save((training.model.state_dict(), training.optimizer.state_dict()), file)
            part.rename(Path(folder) / f"{step + 1}.pt")


# %% right="two files in turn, the torn one is passed over"
def elastic(training, folder, rank, steps, every):
    saved = {"next": 0}
    for name in ("a", "b"):
        try:
            found = torch.load(os.path.join(folder, name))
        except Exception:
            continue
        saved = found if found["next"] > saved["next"] else saved
    if saved["next"]:
        training.model.load_state_dict(saved["model"])
        training.optimizer.load_state_dict(saved["optimizer"])
    dist.barrier()
    step = saved["next"]
    while step < steps:
        training.run(step)
        step += 1
        if step % every == 0:
            if rank == 0:
                name = "ab"[step // every % 2]
                job = {"model": training.model.state_dict(), "next": step}
                job["optimizer"] = training.optimizer.state_dict()
                torch.save(job, os.path.join(folder, name))
            dist.barrier()


# %% wrong="catches the torn file and begins anew" says=["it begins from scratch"]
def elastic(training, folder, rank, steps, every):
    path = os.path.join(folder, "model.pt")
    first = 0
    try:
        saved = torch.load(path)
        training.model.load_state_dict(saved["model"])
        training.optimizer.load_state_dict(saved["optimizer"])
        first = saved["next"]
    except Exception:
        pass
    for step in range(first, steps):
        training.run(step)
        if (step + 1) % every == 0 and rank == 0:
            torch.save(
                {
                    "model": training.model.state_dict(),
                    "optimizer": training.optimizer.state_dict(),
                    "next": step + 1,
                },
                path,
            )


# %% wrong="saves `every` as the next step each time" says=["begins with step 3, expected 6"]
def elastic(training, folder, rank, steps, every):
    path = os.path.join(folder, "model.pt")
    first = 0
    if os.path.exists(path):
        saved = torch.load(path)
        training.model.load_state_dict(saved["model"])
        training.optimizer.load_state_dict(saved["optimizer"])
        first = saved["next"]
    for step in range(first, steps):
        training.run(step)
        if (step + 1) % every == 0 and rank == 0:
            torch.save(
                {
                    "model": training.model.state_dict(),
                    "optimizer": training.optimizer.state_dict(),
                    "next": every,
                },
                path + "x",
            )
            os.rename(path + "x", path)


# %% wrong="rank 0 loads and tells the others the step alone" says=["the ranks end with different weights"]
def elastic(training, folder, rank, steps, every):
    path = os.path.join(folder, "model.pt")
    first = [0]
    if rank == 0 and os.path.exists(path):
        saved = torch.load(path)
        training.model.load_state_dict(saved["model"])
        training.optimizer.load_state_dict(saved["optimizer"])
        first = [saved["step"]]
    dist.broadcast_object_list(first, src=0)
    for step in range(first[0], steps):
        training.run(step)
        if (step + 1) % every == 0 and rank == 0:
            torch.save(
                {
                    "model": training.model.state_dict(),
                    "optimizer": training.optimizer.state_dict(),
                    "step": step + 1,
                },
                path + "x",
            )
            os.rename(path + "x", path)


# %% right="a file for each save, and a mark when it is whole"
def elastic(training, folder, rank, steps, every):
    folder = Path(folder)
    at = max((int(mark.stem) for mark in folder.glob("*.ok")), default=0)
    if at:
        model, optimizer = torch.load(folder / f"{at}.pt")
        training.model.load_state_dict(model)
        training.optimizer.load_state_dict(optimizer)
    while at < steps:
        training.run(at)
        at += 1
        if at % every == 0:
            if rank == 0:
                whole = training.model.state_dict(), training.optimizer.state_dict()
                torch.save(whole, folder / f"{at}.pt")
                (folder / f"{at}.ok").touch()
            dist.barrier()


# %% wrong="the newest by name" says=["104 steps", "as texts"]
def elastic(training, folder, rank, steps, every):
    done = sorted(Path(folder).glob("*.pt"))
    first = 0
    if done:
        model, optimizer = torch.load(done[-1])
        training.model.load_state_dict(model)
        training.optimizer.load_state_dict(optimizer)
        first = int(done[-1].stem)
    for step in range(first, steps):
        training.run(step)
        if rank == 0 and (step + 1) % every == 0:
            part = Path(folder) / "part"
            torch.save((training.model.state_dict(), training.optimizer.state_dict()), part)
            os.replace(part, Path(folder) / f"{step + 1}.pt")


# %% wrong="the newest by name, two digits" says=["104 steps", "as texts"]
def elastic(training, folder, rank, steps, every):
    done = sorted(Path(folder).glob("step-*.pt"))
    first = 0
    if done:
        model, optimizer = torch.load(done[-1])
        training.model.load_state_dict(model)
        training.optimizer.load_state_dict(optimizer)
        first = int(done[-1].stem[5:]) + 1
    for step in range(first, steps):
        training.run(step)
        if rank == 0 and (step + 1) % every == 0:
            part = Path(folder) / "part"
            torch.save((training.model.state_dict(), training.optimizer.state_dict()), part)
            os.replace(part, Path(folder) / f"step-{step:02d}.pt")


# %% wrong="no save after the last step" breaks="After every `every` steps" says=["6 steps, a save every 3", "after step 5"]
def elastic(training, folder, rank, steps, every):
    file, first = Path(folder) / "newest.pt", 0
    if file.exists():
        saved = torch.load(file)
        training.model.load_state_dict(saved["model"])
        training.optimizer.load_state_dict(saved["optimizer"])
        first = saved["next"]
    for step in range(first, steps):
        training.run(step)
        if rank == 0 and (step + 1) % every == 0 and step < steps - 1:
            both = {
                "model": training.model.state_dict(),
                "optimizer": training.optimizer.state_dict(),
            }
            torch.save({**both, "next": step + 1}, f"{file}.part")
            os.replace(f"{file}.part", file)


# %% wrong="saves after each step" breaks="and at no other time" says=["expected after"]
def elastic(training, folder, rank, steps, every):
    file, first = Path(folder) / "newest.pt", 0
    if file.exists():
        saved = torch.load(file)
        training.model.load_state_dict(saved["model"])
        training.optimizer.load_state_dict(saved["optimizer"])
        first = saved["next"]
    for step in range(first, steps):
        training.run(step)
        if rank == 0:
            both = {
                "model": training.model.state_dict(),
                "optimizer": training.optimizer.state_dict(),
            }
            torch.save({**both, "next": step + 1}, f"{file}.part")
            os.replace(f"{file}.part", file)


# %% wrong="two files, each replaced at once" breaks="it is completed when a restart can use all of it" says=["the model of one save and the optimizer of another"]
def elastic(training, folder, rank, steps, every):
    model, optimizer, first = Path(folder) / "model.pt", Path(folder) / "optimizer.pt", 0
    if optimizer.exists():
        training.model.load_state_dict(torch.load(model))
        saved = torch.load(optimizer)
        training.optimizer.load_state_dict(saved["state"])
        first = saved["next"]
    for step in range(first, steps):
        training.run(step)
        if rank == 0 and (step + 1) % every == 0:
            torch.save(training.model.state_dict(), f"{model}.part")
            os.replace(f"{model}.part", model)
            both = {"state": training.optimizer.state_dict(), "next": step + 1}
            torch.save(both, f"{optimizer}.part")
            os.replace(f"{optimizer}.part", optimizer)


# %% wrong="reads a file that isn't there" breaks="is empty at first" says=["8 steps, a save every 3, undisturbed", "FileNotFoundError"]
def elastic(training, folder, rank, steps, every):
    saved = torch.load(Path(folder) / "newest.pt")
    training.model.load_state_dict(saved["model"])
    training.optimizer.load_state_dict(saved["optimizer"])
    for step in range(saved["next"], steps):
        training.run(step)


# %% right="two files a save, in a folder that is named when both are whole"
def elastic(training, folder, rank, steps, every):
    done = [int(place.name) for place in Path(folder).iterdir() if place.name.isdecimal()]
    first = max(done, default=0)
    if first:
        place = Path(folder) / str(first)
        training.model.load_state_dict(torch.load(place / "model.pt"))
        training.optimizer.load_state_dict(torch.load(place / "optimizer.pt"))
    dist.barrier()
    for step in range(first, steps):
        training.run(step)
        if rank == 0 and (step + 1) % every == 0:
            part = Path(folder) / "part"
            part.mkdir(exist_ok=True)
            torch.save(training.model.state_dict(), part / "model.pt")
            torch.save(training.optimizer.state_dict(), part / "optimizer.pt")
            part.rename(Path(folder) / str(step + 1))


# %% wrong="rank 0 alone loads, and the others begin at 0" says=["the ranks' last start begins with the steps", "every rank loads"]
def elastic(training, folder, rank, steps, every):
    file, first = Path(folder) / "newest.pt", 0
    if rank == 0 and file.exists():
        saved = torch.load(file)
        training.model.load_state_dict(saved["model"])
        training.optimizer.load_state_dict(saved["optimizer"])
        first = saved["next"]
    for step in range(first, steps):
        training.run(step)
        if rank == 0 and (step + 1) % every == 0:
            model, optimizer = training.model.state_dict(), training.optimizer.state_dict()
            torch.save({"model": model, "optimizer": optimizer, "next": step + 1}, f"{file}.part")
            os.replace(f"{file}.part", file)


# %% wrong="falls back on the save before, which may not be there" says=["6 steps, a save every 3, rank 0 dies in the middle of the first save", "No save is complete yet"]
def elastic(training, folder, rank, steps, every):
    file, old, first = Path(folder) / "newest.pt", Path(folder) / "old.pt", 0
    if file.exists():
        try:
            saved = torch.load(file)
        except Exception:
            saved = torch.load(old)
        training.model.load_state_dict(saved["model"])
        training.optimizer.load_state_dict(saved["optimizer"])
        first = saved["next"]
    for step in range(first, steps):
        training.run(step)
        if rank == 0 and (step + 1) % every == 0:
            if file.exists():
                os.replace(file, old)
            torch.save(
                {
                    "model": training.model.state_dict(),
                    "optimizer": training.optimizer.state_dict(),
                    "next": step + 1,
                },
                file,
            )


# %% wrong="the number in a file of its own, written first" says=["the number of the next step belongs in the same save"]
def elastic(training, folder, rank, steps, every):
    file, num, first = Path(folder) / "newest.pt", Path(folder) / "next.txt", 0
    if file.exists():
        saved = torch.load(file)
        training.model.load_state_dict(saved["model"])
        training.optimizer.load_state_dict(saved["optimizer"])
        first = int(num.read_text())
    for step in range(first, steps):
        training.run(step)
        if rank == 0 and (step + 1) % every == 0:
            num.write_text(str(step + 1))
            torch.save(
                {
                    "model": training.model.state_dict(),
                    "optimizer": training.optimizer.state_dict(),
                },
                f"{file}.part",
            )
            os.replace(f"{file}.part", file)


# %% wrong="removes the old save first" says=["it begins from scratch"]
def elastic(training, folder, rank, steps, every):
    file, first = Path(folder) / "newest.pt", 0
    if file.exists():
        saved = torch.load(file)
        training.model.load_state_dict(saved["model"])
        training.optimizer.load_state_dict(saved["optimizer"])
        first = saved["next"]
    for step in range(first, steps):
        training.run(step)
        if rank == 0 and (step + 1) % every == 0:
            file.unlink(missing_ok=True)
            torch.save(
                {
                    "model": training.model.state_dict(),
                    "optimizer": training.optimizer.state_dict(),
                    "next": step + 1,
                },
                f"{file}.part",
            )
            os.replace(f"{file}.part", file)


# %% right="bytes in memory, then a file"
import io


def elastic(training, folder, rank, steps, every):
    path = Path(folder, "job")
    start = 0
    if path.is_file():
        job = torch.load(io.BytesIO(path.read_bytes()), weights_only=True)
        start = job.pop("start")
        training.model.load_state_dict(job["m"])
        training.optimizer.load_state_dict(job["o"])
    dist.barrier()
    for step in range(start, steps):
        training.run(step)
        if (step + 1) % every or rank:
            continue
        buffer = io.BytesIO()
        torch.save(
            {
                "m": training.model.state_dict(),
                "o": training.optimizer.state_dict(),
                "start": step + 1,
            },
            buffer,
        )
        Path(folder, "job.new").write_bytes(buffer.getvalue())
        os.replace(Path(folder, "job.new"), path)


# %% wrong="one step too many" breaks="Run each of the steps 0, …, `steps` - 1" says=["the steps of the last start"]
def elastic(training, folder, rank, steps, every):
    file, part = Path(folder, "last.pt"), Path(folder, "last.part")
    first = 0
    if file.exists():
        saved = torch.load(file)
        training.model.load_state_dict(saved["model"])
        training.optimizer.load_state_dict(saved["optimizer"])
        first = saved["next"]
    for step in range(first, steps + 1):
        training.run(step)
        if (step + 1) % every == 0 and rank == 0:
            state = {
                "model": training.model.state_dict(),
                "optimizer": training.optimizer.state_dict(),
                "next": step + 1,
            }
            torch.save(state, part)
            os.replace(part, file)


# %% wrong="pickle in place of torch.save" breaks="saves with `torch.save`" says=["torch.save was not called"]
import pickle


def elastic(training, folder, rank, steps, every):
    file, part = Path(folder, "last.pt"), Path(folder, "last.part")
    first = 0
    if file.exists():
        saved = pickle.loads(file.read_bytes())
        training.model.load_state_dict(saved["model"])
        training.optimizer.load_state_dict(saved["optimizer"])
        first = saved["next"]
    for step in range(first, steps):
        training.run(step)
        if (step + 1) % every == 0 and rank == 0:
            state = {
                "model": training.model.state_dict(),
                "optimizer": training.optimizer.state_dict(),
                "next": step + 1,
            }
            part.write_bytes(pickle.dumps(state))
            os.replace(part, file)


# %% wrong="the model's state is not loaded" says=["whose model began anew"]
def elastic(training, folder, rank, steps, every):
    file, part = Path(folder, "last.pt"), Path(folder, "last.part")
    first = 0
    if file.exists():
        saved = torch.load(file)
        training.optimizer.load_state_dict(saved["optimizer"])
        first = saved["next"]
    for step in range(first, steps):
        training.run(step)
        if (step + 1) % every == 0 and rank == 0:
            state = {
                "model": training.model.state_dict(),
                "optimizer": training.optimizer.state_dict(),
                "next": step + 1,
            }
            torch.save(state, part)
            os.replace(part, file)


# %% wrong="two files, the number of the step in the first" says=["it loads the model of one save and the optimizer of another"]
def elastic(training, folder, rank, steps, every):
    model, optimizer = Path(folder, "model.pt"), Path(folder, "optimizer.pt")
    first = 0
    if model.exists() and optimizer.exists():
        saved = torch.load(model)
        training.model.load_state_dict(saved["model"])
        first = saved["next"]
        training.optimizer.load_state_dict(torch.load(optimizer))
    for step in range(first, steps):
        training.run(step)
        if rank == 0 and (step + 1) % every == 0:
            torch.save({"model": training.model.state_dict(), "next": step + 1}, f"{model}.part")
            os.replace(f"{model}.part", model)
            torch.save(training.optimizer.state_dict(), f"{optimizer}.part")
            os.replace(f"{optimizer}.part", optimizer)


# %% wrong="every rank saves to the same name" says=["rank 0 alone saves"]
def elastic(training, folder, rank, steps, every):
    file, part = Path(folder, "last.pt"), Path(folder, "last.part")
    first = 0
    if file.exists():
        saved = torch.load(file)
        training.model.load_state_dict(saved["model"])
        training.optimizer.load_state_dict(saved["optimizer"])
        first = saved["next"]
    for step in range(first, steps):
        training.run(step)
        if (step + 1) % every == 0:
            state = {
                "model": training.model.state_dict(),
                "optimizer": training.optimizer.state_dict(),
                "next": step + 1,
            }
            torch.save(state, part)
            os.replace(part, file)


# %% wrong="a loop that looks at its end only after a step" breaks="perhaps once more after its end" says=["6 steps, a save every 3, started once more after the end", "none is left"]
def elastic(training, folder, rank, steps, every):
    file, step = Path(folder) / "newest.pt", 0
    if file.exists():
        saved = torch.load(file)
        training.model.load_state_dict(saved["model"])
        training.optimizer.load_state_dict(saved["optimizer"])
        step = saved["next"]
    while True:
        training.run(step)
        step += 1
        if rank == 0 and step % every == 0:
            state = {
                "model": training.model.state_dict(),
                "optimizer": training.optimizer.state_dict(),
                "next": step,
            }
            torch.save(state, f"{file}.part")
            os.replace(f"{file}.part", file)
        if step >= steps:
            break


# %% wrong="saves how many steps this start has run" breaks="each time the job is started" says=["the third start begins with step 2, expected 6", "save the number of the next step"]
def elastic(training, folder, rank, steps, every):
    file, first = Path(folder) / "newest.pt", 0
    if file.exists():
        saved = torch.load(file)
        training.model.load_state_dict(saved["model"])
        training.optimizer.load_state_dict(saved["optimizer"])
        first = saved["next"]
    for done, step in enumerate(range(first, steps), 1):
        training.run(step)
        if rank == 0 and (step + 1) % every == 0:
            state = {
                "model": training.model.state_dict(),
                "optimizer": training.optimizer.state_dict(),
                "next": done,
            }
            torch.save(state, f"{file}.part")
            os.replace(f"{file}.part", file)


# %% wrong="three files, each renamed when it is there" says=["the number of the next step of another", "completed at one moment"]
def elastic(training, folder, rank, steps, every):
    folder = Path(folder)
    parts = {"model": training.model, "optimizer": training.optimizer}
    first = 0
    if (folder / "next.pt").exists():
        first = torch.load(folder / "next.pt")
        for name, part in parts.items():
            part.load_state_dict(torch.load(folder / f"{name}.pt"))
    for step in range(first, steps):
        training.run(step)
        if (step + 1) % every == 0 and rank == 0:
            for name, part in parts.items():
                torch.save(part.state_dict(), folder / f"{name}.part")
                os.replace(folder / f"{name}.part", folder / f"{name}.pt")
            torch.save(step + 1, folder / "next.part")
            os.replace(folder / "next.part", folder / "next.pt")


# %% wrong="loads only where a step is left" says=["the model is as new: load what was saved"]
def elastic(training, folder, rank, steps, every):
    file, part = Path(folder) / "checkpoint.pt", Path(folder) / "part"
    saved = torch.load(file) if file.exists() else {"next": 0}
    if 0 < saved["next"] < steps:
        training.model.load_state_dict(saved["model"])
        training.optimizer.load_state_dict(saved["optimizer"])
    for step in range(saved["next"], steps):
        training.run(step)
        if (step + 1) % every == 0 and rank == 0:
            model, optimizer = training.model.state_dict(), training.optimizer.state_dict()
            torch.save({"model": model, "optimizer": optimizer, "next": step + 1}, part)
            part.replace(file)


# %% wrong="the optimizer as it was before the step" says=["whose optimizer is a step behind its model"]
def elastic(training, folder, rank, steps, every):
    import copy

    file, part, first = Path(folder) / "checkpoint.pt", Path(folder) / "part", 0
    if file.exists():
        saved = torch.load(file)
        training.model.load_state_dict(saved["model"])
        training.optimizer.load_state_dict(saved["optimizer"])
        first = saved["next"]
    for step in range(first, steps):
        before = copy.deepcopy(training.optimizer.state_dict())
        training.run(step)
        if (step + 1) % every == 0 and rank == 0:
            model = training.model.state_dict()
            torch.save({"model": model, "optimizer": before, "next": step + 1}, part)
            part.replace(file)


# %% wrong="a save that can't be read is passed over, if the error is RuntimeError" says=["6 steps, a save every 3, rank 0 dies in the middle of the first save", "No save is complete yet"]
def elastic(training, folder, rank, steps, every):
    def newest():
        for number in sorted((int(p.stem) for p in Path(folder).glob("*.pt")), reverse=True):
            try:
                return number, torch.load(Path(folder) / f"{number}.pt")
            except RuntimeError:
                continue  # a save that was killed in the middle
        return 0, None

    start, saved = newest()
    if saved is not None:
        training.model.load_state_dict(saved["model"])
        training.optimizer.load_state_dict(saved["optimizer"])
    for step in range(start, steps):
        training.run(step)
        if rank == 0 and (step + 1) % every == 0:
            state = {
                "model": training.model.state_dict(),
                "optimizer": training.optimizer.state_dict(),
            }
            torch.save(state, Path(folder) / f"{step + 1}.pt")
