# %% [markdown]
# Rules:
#
# - "called after each epoch. It saves"
# - "for the **`keep` highest steps**"
# - "which may differ from call to call"
# - "Steps grow, or repeat the last one"
# - "they may have seven digits"
# - "the entry with the highest score ever saved to this folder"
# - "At a tie the earlier stays"
# - "NaN is never the best"
# - "the next call may come from a new process: what you need to know has to be in the folder"
# - "which may have any name"
# - "it has written nothing else, neither there nor beside"
# - "the working folder stays what it is"
# - "The system's folder for temporary files may be on another disk"
# - "files of other names stay"
# - "whether you can read them or not"
# - "each of these files that is there loads"
# - "there are no fewer steps than before"
# - "`best.pt` is as good as before or better"
# - "what a killed save leaves behind must not end in `.pt`"
# - "must not disturb the next call"
#
# Admits:
#
# - "which may differ from call to call": keep falls from 4 to 2
# - "or repeat the last one": the last step again, with another score
# - "they may have seven digits": seven digits
# - "A score is finite or NaN": negative scores, the best one's own file is gone
# - "NaN is never the best": nothing but NaN
# - "At a tie the earlier stays": a tie, and NaN between
# - "files of other names stay": other files: step-final.pt, step-000001.pt.old, best.pt.old
# - "(what is named by `step-`, digits and `.pt` is yours)": other files: step-1_000.pt
# - "which may have any name": run [1]
# - "the next call may come from a new process": another process saves between two calls of this one

# %% wrong="saves under the final name" breaks="each of these files that is there loads" says=["is broken: write beside it, then rename"]
def best_checkpoint(folder, state, step, score, keep=2):
    entry = {"state": state, "step": step, "score": score}
    torch.save(entry, os.path.join(folder, f"step-{step:06d}.pt"))
    best = os.path.join(folder, "best.pt")
    if score == score and (not os.path.exists(best) or score > torch.load(best)["score"]):
        torch.save(entry, best)
    names = [n for n in os.listdir(folder) if n.startswith("step-") and n.endswith(".pt")]
    for name in sorted(names, key=lambda n: int(n[5:-3]))[:-keep]:
        os.remove(os.path.join(folder, name))


# %% wrong="remembers the best in a variable" breaks="the next call may come from a new process: what you need to know has to be in the folder" says=["best.pt", "the highest score ever, the earlier at a tie"]
best_so_far = float("-inf")


def best_checkpoint(folder, state, step, score, keep=2):
    global best_so_far
    entry = {"state": state, "step": step, "score": score}
    atomic_save(entry, os.path.join(folder, f"step-{step:06d}.pt"))
    if score > best_so_far:
        best_so_far = score
        atomic_save(entry, os.path.join(folder, "best.pt"))
    names = [n for n in os.listdir(folder) if n.startswith("step-") and n.endswith(".pt")]
    for name in sorted(names, key=lambda n: int(n[5:-3]))[:-keep]:
        os.remove(os.path.join(folder, name))


# %% wrong="sorts the names as text" breaks="they may have seven digits" says=["seven digits", "compared as numbers"]
def best_checkpoint(folder, state, step, score, keep=2):
    entry = {"state": state, "step": step, "score": score}
    atomic_save(entry, os.path.join(folder, f"step-{step:06d}.pt"))
    best = os.path.join(folder, "best.pt")
    if score == score and (not os.path.exists(best) or score > torch.load(best)["score"]):
        atomic_save(entry, best)
    names = [n for n in os.listdir(folder) if n.startswith("step-") and n.endswith(".pt")]
    for name in sorted(names)[:-keep]:
        os.remove(os.path.join(folder, name))


# %% wrong="makes room first" breaks="there are no fewer steps than before" says=["remove the old ones last"]
def best_checkpoint(folder, state, step, score, keep=2):
    entry = {"state": state, "step": step, "score": score}
    names = [n for n in os.listdir(folder) if n.startswith("step-") and n.endswith(".pt")]
    names = sorted(
        [n for n in names if int(n[5:-3]) != step], key=lambda n: int(n[5:-3]), reverse=True
    )
    for name in names[keep - 1 :]:
        os.remove(os.path.join(folder, name))
    atomic_save(entry, os.path.join(folder, f"step-{step:06d}.pt"))
    best = os.path.join(folder, "best.pt")
    if score == score and (not os.path.exists(best) or score > torch.load(best)["score"]):
        atomic_save(entry, best)


# %% wrong="copies the step's file to best.pt" says=["best.pt is broken: write beside it, then rename"]
import shutil  # noqa: E402


def best_checkpoint(folder, state, step, score, keep=2):
    entry = {"state": state, "step": step, "score": score}
    mine = os.path.join(folder, f"step-{step:06d}.pt")
    best = os.path.join(folder, "best.pt")
    better = score == score and (not os.path.exists(best) or score > torch.load(best)["score"])
    atomic_save(entry, mine)
    if better:
        shutil.copy(mine, best)
    names = [n for n in os.listdir(folder) if n.startswith("step-") and n.endswith(".pt")]
    for name in sorted(names, key=lambda n: int(n[5:-3]))[:-keep]:
        os.remove(os.path.join(folder, name))


# %% wrong="a later tie wins, and NaN too" says=["NaN is never the best", "the earlier at a tie"]
def best_checkpoint(folder, state, step, score, keep=2):
    entry = {"state": state, "step": step, "score": score}
    atomic_save(entry, os.path.join(folder, f"step-{step:06d}.pt"))
    best = os.path.join(folder, "best.pt")
    if not os.path.exists(best) or not score < torch.load(best)["score"]:
        atomic_save(entry, best)
    names = [n for n in os.listdir(folder) if n.startswith("step-") and n.endswith(".pt")]
    for name in sorted(names, key=lambda n: int(n[5:-3]))[:-keep]:
        os.remove(os.path.join(folder, name))


# %% wrong="cleans the whole folder" breaks="files of other names stay" says=["gone: init.pt, notes.txt; files of other names aren't yours"]
def best_checkpoint(folder, state, step, score, keep=2):
    entry = {"state": state, "step": step, "score": score}
    atomic_save(entry, os.path.join(folder, f"step-{step:06d}.pt"))
    best = os.path.join(folder, "best.pt")
    if score == score and (not os.path.exists(best) or score > torch.load(best)["score"]):
        atomic_save(entry, best)
    names = sorted(n for n in os.listdir(folder) if n.startswith("step-") and n.endswith(".pt"))
    names = sorted(names, key=lambda n: int(n[5:-3]))[-keep:]
    for name in os.listdir(folder):
        if name not in (*names, "best.pt"):
            os.remove(os.path.join(folder, name))


# %% wrong="a temporary file that ends in .pt" breaks="what a killed save leaves behind must not end in `.pt`" says=["what is half written must not end in .pt"]
def best_checkpoint(folder, state, step, score, keep=2):
    entry = {"state": state, "step": step, "score": score}

    def write(name):
        with open(os.path.join(folder, "tmp-" + name), "wb") as file:
            torch.save(entry, file)
        os.replace(os.path.join(folder, "tmp-" + name), os.path.join(folder, name))

    best = os.path.join(folder, "best.pt")
    better = score == score and (not os.path.exists(best) or score > torch.load(best)["score"])
    write(f"step-{step:06d}.pt")
    if better:
        write("best.pt")
    names = [n for n in os.listdir(folder) if n.startswith("step-") and n.endswith(".pt")]
    for name in sorted(names, key=lambda n: int(n[5:-3]))[:-keep]:
        os.remove(os.path.join(folder, name))


# %% right="pathlib, bytes first, a hard link for the best"
import io  # noqa: E402
import re  # noqa: E402
from pathlib import Path  # noqa: E402


def best_checkpoint(folder, state, step, score, keep=2):
    folder = Path(folder)
    buffer = io.BytesIO()
    torch.save(dict(score=score, step=step, state=state), buffer)

    def put(name):
        draft = folder / (name + ".tmp")
        draft.write_bytes(buffer.getvalue())
        draft.replace(folder / name)

    name = f"step-{step:06}.pt"
    put(name)
    best = folder / "best.pt"
    better = best.exists() and score > torch.load(best, weights_only=True)["score"]
    if better or (not best.exists() and score == score):
        link = folder / "best.link"
        link.unlink(missing_ok=True)
        os.link(folder / name, link)
        os.replace(link, best)
    found = {}
    for path in folder.iterdir():
        match = re.fullmatch(r"step-(\d+)\.pt", path.name)
        if match:
            found[int(match[1])] = path
    for number in sorted(found, reverse=True)[keep:]:
        found[number].unlink()


# %% right="tempfile in the same folder, the best first"
import glob  # noqa: E402
import math  # noqa: E402
import tempfile  # noqa: E402


def best_checkpoint(folder, state, step, score, keep=2):
    entry = {"state": state, "step": step, "score": score}

    def write(path):
        handle, draft = tempfile.mkstemp(dir=folder, suffix=".partial")
        with os.fdopen(handle, "wb") as file:
            torch.save(entry, file)
            file.flush()
            os.fsync(file.fileno())
        os.rename(draft, path)

    best = os.path.join(folder, "best.pt")
    try:
        high = torch.load(best)["score"]
    except FileNotFoundError:
        high = -math.inf
    if not math.isnan(score) and score > high:
        write(best)
    write(os.path.join(folder, f"step-{step:06d}.pt"))
    digits = lambda path: os.path.basename(path)[5:-3]
    paths = glob.glob(os.path.join(glob.escape(folder), "step-[0-9]*.pt"))
    paths = sorted(filter(lambda path: digits(path).isdigit(), paths), key=lambda p: int(digits(p)))
    while len(paths) > keep:
        os.unlink(paths.pop(0))


# %% wrong="copies the step's file onto best.pt" says=["best.pt is broken: write beside it, then rename"]
def best_checkpoint(folder, state, step, score, keep=2):
    import glob
    import shutil

    path = f"{folder}/step-{step:06d}.pt"
    atomic_save({"state": state, "step": step, "score": score}, path)
    best = f"{folder}/best.pt"
    old = torch.load(best)["score"] if os.path.exists(best) else -float("inf")
    if score > old:
        shutil.copyfile(path, best)
    files = sorted(glob.glob(f"{folder}/step-*.pt"), key=lambda p: int(os.path.basename(p)[5:-3]))
    for p in files[:-keep]:
        os.remove(p)


# %% right="a temporary file by tempfile, and os.link"
def best_checkpoint(folder, state, step, score, keep=2):
    with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
        torch.save({"state": state, "step": step, "score": score}, file)
        file.flush()
        os.fsync(file.fileno())
    target = os.path.join(folder, f"step-{step:06d}.pt")
    os.rename(file.name, target)
    best = os.path.join(folder, "best.pt")
    record = float("-inf")
    if os.path.isfile(best):
        record = torch.load(best, weights_only=True)["score"]
    if score > record:
        extra = file.name + ".link"
        os.link(target, extra)
        os.replace(extra, best)
    stems = [name[5:-3] for name in os.listdir(folder) if re.match("step-.*[.]pt$", name)]
    stems = sorted((stem for stem in stems if stem.isdigit()), key=int)
    for stem in stems[: max(0, len(stems) - keep)]:
        os.unlink(os.path.join(folder, f"step-{stem}.pt"))


# %% wrong="the best score of each folder in a dict of the module" says=["negative scores", "best.pt holds", "the highest score ever"]
scores_of = {}


def best_checkpoint(folder, state, step, score, keep=2):
    entry = {"state": state, "step": step, "score": score}
    atomic_save(entry, os.path.join(folder, f"step-{step:06d}.pt"))
    best = os.path.join(folder, "best.pt")
    if score > scores_of.get(folder, float("-inf")):
        scores_of[folder] = score
        atomic_save(entry, best)
    names = [name for name in os.listdir(folder) if re.fullmatch(r"step-\d{6,}\.pt", name)]
    for name in sorted(names, key=lambda name: int(name[5:-3]))[:-keep]:
        os.remove(os.path.join(folder, name))


# %% wrong="stumbles over a file that isn't its own" says=["step-final.pt", "it raised ValueError: invalid literal for int()"]
def best_checkpoint(folder, state, step, score, keep=2):
    entry = {"state": state, "step": step, "score": score}
    atomic_save(entry, os.path.join(folder, f"step-{step:06d}.pt"))
    best = os.path.join(folder, "best.pt")
    if score == score and (not os.path.exists(best) or score > torch.load(best)["score"]):
        atomic_save(entry, best)
    names = [name for name in os.listdir(folder) if name[:5] == "step-" and name[-3:] == ".pt"]
    for name in sorted(names, key=lambda name: int(name[5:-3]))[:-keep]:
        os.remove(os.path.join(folder, name))


# %% wrong="removes step-final.pt as the oldest" says=["gone: step-final.pt; files of other names aren't yours"]
def best_checkpoint(folder, state, step, score, keep=2):
    entry = {"state": state, "step": step, "score": score}
    atomic_save(entry, os.path.join(folder, f"step-{step:06d}.pt"))
    best = os.path.join(folder, "best.pt")
    if score == score and (not os.path.exists(best) or score > torch.load(best)["score"]):
        atomic_save(entry, best)
    names = [name for name in os.listdir(folder) if re.fullmatch(r"step-\d{6,}\.pt", name)]
    names += [name for name in os.listdir(folder) if name == "step-final.pt"]
    number = lambda name: int(name[5:-3]) if name[5:-3].isdigit() else -1
    for name in sorted(names, key=number)[:-keep]:
        os.remove(os.path.join(folder, name))


# %% wrong="removes one file at most" breaks="which may differ from call to call" says=["keep falls from 4 to 2", "the 2 highest, compared as numbers"]
def best_checkpoint(folder, state, step, score, keep=2):
    entry = {"state": state, "step": step, "score": score}
    atomic_save(entry, os.path.join(folder, f"step-{step:06d}.pt"))
    best = os.path.join(folder, "best.pt")
    if score == score and (not os.path.exists(best) or score > torch.load(best)["score"]):
        atomic_save(entry, best)
    names = [name for name in os.listdir(folder) if re.fullmatch(r"step-\d{6,}\.pt", name)]
    if len(names) > keep:
        os.remove(os.path.join(folder, min(names, key=lambda name: int(name[5:-3]))))


# %% wrong="removes the file of step - keep" says=["the files of steps", "as numbers"]
def best_checkpoint(folder, state, step, score, keep=2):
    entry = {"state": state, "step": step, "score": score}
    atomic_save(entry, os.path.join(folder, f"step-{step:06d}.pt"))
    best = os.path.join(folder, "best.pt")
    if score == score and (not os.path.exists(best) or score > torch.load(best)["score"]):
        atomic_save(entry, best)
    old = os.path.join(folder, f"step-{step - keep:06d}.pt")
    if os.path.exists(old):
        os.remove(old)


# %% wrong="writes the step into the caller's state" says=["state was changed: it is the caller's"]
def best_checkpoint(folder, state, step, score, keep=2):
    state["step"] = step
    entry = {"state": state, "step": step, "score": score}
    atomic_save(entry, os.path.join(folder, f"step-{step:06d}.pt"))
    best = os.path.join(folder, "best.pt")
    if score == score and (not os.path.exists(best) or score > torch.load(best)["score"]):
        atomic_save(entry, best)
    names = [name for name in os.listdir(folder) if re.fullmatch(r"step-\d{6,}\.pt", name)]
    for name in sorted(names, key=lambda name: int(name[5:-3]))[:-keep]:
        os.remove(os.path.join(folder, name))


# %% wrong="changes into the folder and stays" breaks="the working folder stays what it is" says=["the working folder was changed"]
def best_checkpoint(folder, state, step, score, keep=2):
    os.chdir(folder)
    folder = "."
    entry = {"state": state, "step": step, "score": score}
    atomic_save(entry, f"{folder}/step-{step:06d}.pt")
    best = f"{folder}/best.pt"
    top = torch.load(best)["score"] if os.path.exists(best) else float("-inf")
    if score > top:
        atomic_save(entry, best)
    names = [name for name in os.listdir(folder) if re.fullmatch(r"step-\d{6,}\.pt", name)]
    for name in sorted(names, key=lambda name: int(name[5:-3]))[:-keep]:
        os.remove(f"{folder}/{name}")


# %% wrong="a pattern meets a folder with brackets" breaks="which may have any name" says=["none was removed", "glob.escape"]
import glob


def best_checkpoint(folder, state, step, score, keep=2):
    entry = {"state": state, "step": step, "score": score}
    atomic_save(entry, f"{folder}/step-{step:06d}.pt")
    best = f"{folder}/best.pt"
    top = torch.load(best)["score"] if os.path.exists(best) else float("-inf")
    if score > top:
        atomic_save(entry, best)
    names = glob.glob(f"{folder}/step-[0-9]*.pt")
    names = [os.path.basename(name) for name in names]
    for name in sorted(names, key=lambda name: int(name[5:-3]))[:-keep]:
        os.remove(f"{folder}/{name}")


# %% wrong="forgets the folder" says=["step-000001.pt was written into the working folder", "join folder and name"]
def best_checkpoint(folder, state, step, score, keep=2):
    entry = {"state": state, "step": step, "score": score}
    atomic_save(entry, f"step-{step:06d}.pt")
    best = f"{folder}/best.pt"
    top = torch.load(best)["score"] if os.path.exists(best) else float("-inf")
    if score > top:
        atomic_save(entry, best)
    names = [name for name in os.listdir(folder) if re.fullmatch(r"step-\d{6,}\.pt", name)]
    for name in sorted(names, key=lambda name: int(name[5:-3]))[:-keep]:
        os.remove(f"{folder}/{name}")


# %% wrong="takes -1 for the least score" breaks="the entry with the highest score ever saved to this folder" says=["negative scores", "no file, expected (1, -5.0, 2.0)"]
def best_checkpoint(folder, state, step, score, keep=2):
    entry = {"state": state, "step": step, "score": score}
    atomic_save(entry, f"{folder}/step-{step:06d}.pt")
    best = f"{folder}/best.pt"
    top = torch.load(best)["score"] if os.path.exists(best) else -1.0
    if score > top:
        atomic_save(entry, best)
    names = [name for name in os.listdir(folder) if re.fullmatch(r"step-\d{6,}\.pt", name)]
    for name in sorted(names, key=lambda name: int(name[5:-3]))[:-keep]:
        os.remove(f"{folder}/{name}")


# %% wrong="the files that were written last" breaks="for the **`keep` highest steps**" says=["the files of steps", "compared as numbers"]
def best_checkpoint(folder, state, step, score, keep=2):
    entry = {"state": state, "step": step, "score": score}
    atomic_save(entry, f"{folder}/step-{step:06d}.pt")
    best = f"{folder}/best.pt"
    top = torch.load(best)["score"] if os.path.exists(best) else float("-inf")
    if score > top:
        atomic_save(entry, best)
    names = [name for name in os.listdir(folder) if re.fullmatch(r"step-\d{6,}\.pt", name)]
    for name in sorted(names, key=lambda name: os.path.getmtime(f"{folder}/{name}"))[:-keep]:
        os.remove(f"{folder}/{name}")


# %% wrong="rounds the score" breaks="called after each epoch. It saves" says=["scores that differ in the eighth digit", "(3, 0.412, 6.0), expected (3, 0.41234568, 6.0)"]
def best_checkpoint(folder, state, step, score, keep=2):
    entry = {"state": state, "step": step, "score": round(score, 3)}
    atomic_save(entry, f"{folder}/step-{step:06d}.pt")
    best = f"{folder}/best.pt"
    top = torch.load(best)["score"] if os.path.exists(best) else float("-inf")
    if score > top:
        atomic_save(entry, best)
    names = [name for name in os.listdir(folder) if re.fullmatch(r"step-\d{6,}\.pt", name)]
    for name in sorted(names, key=lambda name: int(name[5:-3]))[:-keep]:
        os.remove(f"{folder}/{name}")


# %% wrong="a step that is there isn't written again" breaks="Steps grow, or repeat the last one" says=["a step that is saved again is written again"]
def best_checkpoint(folder, state, step, score, keep=2):
    content = {"state": state, "step": step, "score": score}
    best = os.path.join(folder, "best.pt")
    old = torch.load(best)["score"] if os.path.exists(best) else float("-inf")
    if score > old:
        atomic_save(content, best)
    if not os.path.exists(os.path.join(folder, f"step-{step:06d}.pt")):
        atomic_save(content, os.path.join(folder, f"step-{step:06d}.pt"))
    steps = sorted(
        int(m[1]) for n in os.listdir(folder) if (m := re.fullmatch(r"step-([0-9]{6,})\.pt", n))
    )
    for s in steps[:-keep]:
        os.remove(os.path.join(folder, f"step-{s:06d}.pt"))


# %% wrong="scores in a file of text" breaks="it has written nothing else, neither there nor beside" says=["scores.txt was left behind"]
import re


def best_checkpoint(folder, state, step, score, keep=2):
    content = {"state": state, "step": step, "score": score}
    best = os.path.join(folder, "best.pt")
    old = torch.load(best)["score"] if os.path.exists(best) else float("-inf")
    with open(os.path.join(folder, "scores.txt"), "a") as f:
        f.write(f"{step} {score}\n")
    if score > old:
        atomic_save(content, best)
    atomic_save(content, os.path.join(folder, f"step-{step:06d}.pt"))
    steps = sorted(
        int(m[1]) for n in os.listdir(folder) if (m := re.fullmatch(r"step-([0-9]{6,})\.pt", n))
    )
    for s in steps[:-keep]:
        os.remove(os.path.join(folder, f"step-{s:06d}.pt"))


# %% wrong="a temporary folder is left for each save" says=["was left behind"]
import tempfile


def best_checkpoint(folder, state, step, score, keep=2):
    def atomic_save(content, path):
        t = tempfile.mkdtemp(dir=folder)
        torch.save(content, os.path.join(t, "x"))
        os.replace(os.path.join(t, "x"), path)

    content = {"state": state, "step": step, "score": score}
    best = os.path.join(folder, "best.pt")
    old = torch.load(best)["score"] if os.path.exists(best) else float("-inf")
    if score > old:
        atomic_save(content, best)
    atomic_save(content, os.path.join(folder, f"step-{step:06d}.pt"))
    steps = sorted(
        int(m[1]) for n in os.listdir(folder) if (m := re.fullmatch(r"step-([0-9]{6,})\.pt", n))
    )
    for s in steps[:-keep]:
        os.remove(os.path.join(folder, f"step-{s:06d}.pt"))


# %% wrong="written where temporary files are, and renamed" breaks="The system's folder for temporary files may be on another disk" says=["a rename works within one disk: write in the folder"]
def best_checkpoint(folder, state, step, score, keep=2):
    def save(content, name):
        with tempfile.NamedTemporaryFile(delete=False) as file:
            torch.save(content, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(file.name, os.path.join(folder, name))

    entry = {"state": state, "step": step, "score": score}
    save(entry, f"step-{step:06d}.pt")
    best = os.path.join(folder, "best.pt")
    if score > (torch.load(best)["score"] if os.path.exists(best) else float("-inf")):
        save(entry, "best.pt")
    steps = sorted(
        int(m[1]) for m in (re.fullmatch(r"step-(\d+)\.pt", n) for n in os.listdir(folder)) if m
    )
    for old in steps[:-keep]:
        os.remove(os.path.join(folder, f"step-{old:06d}.pt"))


# %% wrong="written where temporary files are, and moved" says=["is broken: write beside it, then rename"]
def best_checkpoint(folder, state, step, score, keep=2):
    import shutil

    def save(content, name):
        with tempfile.TemporaryDirectory() as place:
            half = os.path.join(place, name)
            torch.save(content, half)
            shutil.move(half, os.path.join(folder, name))

    entry = {"state": state, "step": step, "score": score}
    save(entry, f"step-{step:06d}.pt")
    best = os.path.join(folder, "best.pt")
    if score > (torch.load(best)["score"] if os.path.exists(best) else float("-inf")):
        save(entry, "best.pt")
    steps = sorted(
        int(m[1]) for m in (re.fullmatch(r"step-(\d+)\.pt", n) for n in os.listdir(folder)) if m
    )
    for old in steps[:-keep]:
        os.remove(os.path.join(folder, f"step-{old:06d}.pt"))


# %% wrong="six digits exactly" says=["the 2 highest, compared as numbers"]
def best_checkpoint(folder, state, step, score, keep=2):
    entry = {"state": state, "step": step, "score": score}
    atomic_save(entry, os.path.join(folder, f"step-{step:06d}.pt"))
    best = os.path.join(folder, "best.pt")
    if score > (torch.load(best)["score"] if os.path.exists(best) else float("-inf")):
        atomic_save(entry, best)
    steps = sorted(
        int(m[1]) for m in (re.fullmatch(r"step-(\d{6})\.pt", n) for n in os.listdir(folder)) if m
    )
    for old in steps[:-keep]:
        os.remove(os.path.join(folder, f"step-{old:06d}.pt"))


# %% right="the best first, bytes for both, pathlib"
import io


def best_checkpoint(folder, state, step, score, keep=2):
    from pathlib import Path

    place = Path(folder)
    buffer = io.BytesIO()
    torch.save(dict(state=state, step=step, score=score), buffer)

    def put(name):
        half = place / (name + "~")
        with half.open("wb") as file:
            file.write(buffer.getbuffer())
            file.flush()
            os.fsync(file.fileno())
        half.rename(place / name)

    try:
        before = torch.load(place / "best.pt", weights_only=True)["score"]
    except FileNotFoundError:
        before = None
    if score == score and (before is None or before < score):
        put("best.pt")
    put("step-" + str(step).zfill(6) + ".pt")
    numbers = {}
    for file in place.iterdir():
        middle = file.name.removeprefix("step-").removesuffix(".pt")
        if file.name == f"step-{middle}.pt" and middle.isdecimal():
            numbers[int(middle)] = file
    for number in sorted(numbers)[: max(0, len(numbers) - keep)]:
        numbers[number].unlink()


# %% wrong="a later tie wins" breaks="At a tie the earlier stays" says=["a tie, and NaN between: best.pt holds", "the earlier at a tie"]
def best_checkpoint(folder, state, step, score, keep=2):
    import math

    content = {"state": state, "step": step, "score": score}
    atomic_save(content, os.path.join(folder, f"step-{step:06d}.pt"))
    best = os.path.join(folder, "best.pt")
    known = torch.load(best)["score"] if os.path.exists(best) else -math.inf
    if score >= known:
        atomic_save(content, best)
    steps = [n for n in os.listdir(folder) if re.fullmatch(r"step-[0-9]+\.pt", n)]
    steps.sort(key=lambda n: int(n[5:-3]))
    for name in steps[:-keep]:
        os.remove(os.path.join(folder, name))


# %% wrong="a NaN may be the first best" breaks="NaN is never the best" says=["nothing but NaN: best.pt holds", "NaN is never the best"]
def best_checkpoint(folder, state, step, score, keep=2):
    import math

    content = {"state": state, "step": step, "score": score}
    atomic_save(content, os.path.join(folder, f"step-{step:06d}.pt"))
    best = os.path.join(folder, "best.pt")
    known = torch.load(best)["score"] if os.path.exists(best) else -math.inf
    if not os.path.exists(best) or score > known:
        atomic_save(content, best)
    steps = [n for n in os.listdir(folder) if re.fullmatch(r"step-[0-9]+\.pt", n)]
    steps.sort(key=lambda n: int(n[5:-3]))
    for name in steps[:-keep]:
        os.remove(os.path.join(folder, name))


# %% wrong="reads every file that ends in .pt" breaks="whether you can read them or not" says=["does it load a file of another name, which may be anything?"]
def best_checkpoint(folder, state, step, score, keep=2):
    import math

    content = {"state": state, "step": step, "score": score}
    atomic_save(content, os.path.join(folder, f"step-{step:06d}.pt"))
    best = os.path.join(folder, "best.pt")
    known = torch.load(best)["score"] if os.path.exists(best) else -math.inf
    if score > known:
        atomic_save(content, best)
    for n in os.listdir(folder):
        if n.endswith(".pt"):
            torch.load(os.path.join(folder, n))
    steps = [n for n in os.listdir(folder) if re.fullmatch(r"step-[0-9]+\.pt", n)]
    steps.sort(key=lambda n: int(n[5:-3]))
    for name in steps[:-keep]:
        os.remove(os.path.join(folder, name))


# %% wrong="the old best goes before the new one comes" breaks="`best.pt` is as good as before or better" says=["best.pt is gone, or worse than before"]
def best_checkpoint(folder, state, step, score, keep=2):
    import math

    content = {"state": state, "step": step, "score": score}
    atomic_save(content, os.path.join(folder, f"step-{step:06d}.pt"))
    best = os.path.join(folder, "best.pt")
    known = torch.load(best)["score"] if os.path.exists(best) else -math.inf
    if score > known:
        if os.path.exists(best):
            os.remove(best)
        atomic_save(content, best)
    steps = [n for n in os.listdir(folder) if re.fullmatch(r"step-[0-9]+\.pt", n)]
    steps.sort(key=lambda n: int(n[5:-3]))
    for name in steps[:-keep]:
        os.remove(os.path.join(folder, name))


# %% wrong="a file that is left over is in the way" breaks="must not disturb the next call" says=["FileExistsError", "that is what the killed save left: remove or overwrite it"]
def best_checkpoint(folder, state, step, score, keep=2):
    def put(name):
        beside = os.path.join(folder, name + ".part")
        with open(beside, "xb") as file:
            torch.save({"state": state, "step": step, "score": score}, file)
        os.replace(beside, os.path.join(folder, name))

    put(f"step-{step:06d}.pt")
    best = os.path.join(folder, "best.pt")
    known = torch.load(best)["score"] if os.path.exists(best) else -float("inf")
    if score > known:
        put("best.pt")
    steps = [n for n in os.listdir(folder) if re.fullmatch(r"step-[0-9]+\.pt", n)]
    steps.sort(key=lambda n: int(n[5:-3]))
    for name in steps[:-keep]:
        os.remove(os.path.join(folder, name))


# %% wrong="a score of 0 is none" says=["a score of 0, the highest of three", "the highest score ever"]
import re


def best_checkpoint(folder, state, step, score, keep=2):
    entry = {"state": state, "step": step, "score": score}
    best = os.path.join(folder, "best.pt")
    atomic_save(entry, os.path.join(folder, f"step-{step:06d}.pt"))
    old = torch.load(best)["score"] if os.path.exists(best) else float("-inf")
    if score and score > old:
        atomic_save(entry, best)
    names = [name for name in os.listdir(folder) if re.fullmatch(r"step-[0-9]+\.pt", name)]
    names.sort(key=lambda name: int(name[5:-3]))
    for name in names[:-keep]:
        os.remove(os.path.join(folder, name))


# %% wrong="five keys" says=["an entry has state, step and score, and nothing else"]
import re


def best_checkpoint(folder, state, step, score, keep=2):
    entry = {"state": state, "step": step, "score": score, "keep": keep}
    best = os.path.join(folder, "best.pt")
    atomic_save(entry, os.path.join(folder, f"step-{step:06d}.pt"))
    old = torch.load(best)["score"] if os.path.exists(best) else float("-inf")
    if score > old:
        atomic_save(entry, best)
    names = [name for name in os.listdir(folder) if re.fullmatch(r"step-[0-9]+\.pt", name)]
    names.sort(key=lambda name: int(name[5:-3]))
    for name in names[:-keep]:
        os.remove(os.path.join(folder, name))


# %% wrong="a dot in the pattern that is any character" says=["step-000001-pt; files of other names"]
def best_checkpoint(folder, state, step, score, keep=2):
    content = {"state": state, "step": step, "score": score}
    atomic_save(content, os.path.join(folder, f"step-{step:06d}.pt"))
    best = os.path.join(folder, "best.pt")
    old = torch.load(best)["score"] if os.path.exists(best) else float("-inf")
    if score > old:
        atomic_save(content, best)
    names = [n for n in os.listdir(folder) if re.fullmatch(r"step-[0-9]+.pt", n)]
    names.sort(key=lambda n: int(n[5:-3]))
    for n in names[:-keep]:
        os.remove(os.path.join(folder, n))


# %% wrong="whatever int() reads is a step" says=["a name with + or _ was taken for a step"]
def best_checkpoint(folder, state, step, score, keep=2):
    content = {"state": state, "step": step, "score": score}
    atomic_save(content, os.path.join(folder, f"step-{step:06d}.pt"))
    best = os.path.join(folder, "best.pt")
    old = torch.load(best)["score"] if os.path.exists(best) else float("-inf")
    if score > old:
        atomic_save(content, best)
    names = []
    for n in os.listdir(folder):
        if n.startswith("step-") and n.endswith(".pt"):
            try:
                int(n[5:-3])
            except ValueError:
                continue
            names.append(n)
    names.sort(key=lambda n: int(n[5:-3]))
    for n in names[:-keep]:
        os.remove(os.path.join(folder, n))


# %% wrong="sweeps up everything that ends in .part" says=["gone: notes.part"]
def best_checkpoint(folder, state, step, score, keep=2):
    for n in os.listdir(folder):
        if n.endswith(".part"):
            os.remove(os.path.join(folder, n))
    content = {"state": state, "step": step, "score": score}
    atomic_save(content, os.path.join(folder, f"step-{step:06d}.pt"))
    best = os.path.join(folder, "best.pt")
    old = torch.load(best)["score"] if os.path.exists(best) else float("-inf")
    if score > old:
        atomic_save(content, best)
    names = [n for n in os.listdir(folder) if re.fullmatch(r"step-[0-9]+\.pt", n)]
    names.sort(key=lambda n: int(n[5:-3]))
    for n in names[:-keep]:
        os.remove(os.path.join(folder, n))


# %% wrong="rounds scores before it compares them" says=["scores that differ in the eighth digit"]
def best_checkpoint(folder, state, step, score, keep=2):
    content = {"state": state, "step": step, "score": score}
    atomic_save(content, os.path.join(folder, f"step-{step:06d}.pt"))
    best = os.path.join(folder, "best.pt")
    old = torch.load(best)["score"] if os.path.exists(best) else float("-inf")
    if score == score and round(score, 3) > (round(old, 3) if old > float("-inf") else old):
        atomic_save(content, best)
    names = [n for n in os.listdir(folder) if re.fullmatch(r"step-[0-9]+\.pt", n)]
    names.sort(key=lambda n: int(n[5:-3]))
    for n in names[:-keep]:
        os.remove(os.path.join(folder, n))


# %% right="the best by a hard link, a leftover removed first"
from pathlib import Path


def best_checkpoint(folder, state, step, score, keep=2):
    home = Path(folder)
    target, best, spare = home / f"step-{step:06d}.pt", home / "best.pt", home / "best.linked"
    try:
        better = score > torch.load(best)["score"]
    except FileNotFoundError:
        better = score == score
    atomic_save(dict(state=state, step=step, score=score), str(target))
    if better:
        spare.unlink(missing_ok=True)
        os.link(target, spare)
        os.replace(spare, best)
    steps = {}
    for file in home.iterdir():
        middle = file.name.removeprefix("step-").removesuffix(".pt")
        if file.name == f"step-{middle}.pt" and middle.isdecimal():
            steps[file] = int(middle)
    for file in sorted(steps, key=steps.get, reverse=True)[keep:]:
        file.unlink()


# %% wrong="cut by a negative length" breaks="for the **`keep` highest steps**" says=["too many were removed", "a slice from the end"]
def best_checkpoint(folder, state, step, score, keep=2):
    import re

    entry = {"state": state, "step": step, "score": score}
    atomic_save(entry, os.path.join(folder, f"step-{step:06d}.pt"))
    best = os.path.join(folder, "best.pt")
    old = torch.load(best)["score"] if os.path.exists(best) else float("-inf")
    if score > old:
        atomic_save(entry, best)
    mine = [name for name in os.listdir(folder) if re.fullmatch(r"step-[0-9]+\.pt", name)]
    mine.sort(key=lambda name: int(name[5:-3]))
    for name in mine[: len(mine) - keep]:
        os.remove(os.path.join(folder, name))


# %% wrong="removes the file of a step that comes again" says=["remove the old ones last", "the last step again, a new best"]
import re


def best_checkpoint(folder, state, step, score, keep=2):
    entry = {"state": state, "step": step, "score": score}
    path = os.path.join(folder, f"step-{step:06d}.pt")
    if os.path.exists(path):
        os.remove(path)
    atomic_save(entry, path)
    best = os.path.join(folder, "best.pt")
    so_far = torch.load(best)["score"] if os.path.exists(best) else float("-inf")
    if score > so_far:
        atomic_save(entry, best)
    found = [n for n in os.listdir(folder) if re.fullmatch(r"step-[0-9]+\.pt", n)]
    found.sort(key=lambda n: int(n[5:-3]))
    for name in found[:-keep]:
        os.remove(os.path.join(folder, name))


# %% wrong="goes by the first call's keep" says=["each goes by its own, not by an earlier one"]
import re

KEEP = []


def best_checkpoint(folder, state, step, score, keep=2):
    KEEP.append(keep)
    keep = KEEP[0]
    entry = {"state": state, "step": step, "score": score}
    atomic_save(entry, os.path.join(folder, f"step-{step:06d}.pt"))
    best = os.path.join(folder, "best.pt")
    so_far = torch.load(best)["score"] if os.path.exists(best) else float("-inf")
    if score > so_far:
        atomic_save(entry, best)
    found = [n for n in os.listdir(folder) if re.fullmatch(r"step-[0-9]+\.pt", n)]
    found.sort(key=lambda n: int(n[5:-3]))
    for name in found[:-keep]:
        os.remove(os.path.join(folder, name))


# %% wrong="makes the name to remove anew" says=["beside a file step-0.pt", "by the name that it has"]
import math


def best_checkpoint(folder, state, step, score, keep=2):
    entry = {"state": state, "step": step, "score": score}
    atomic_save(entry, os.path.join(folder, f"step-{step:06d}.pt"))
    best = os.path.join(folder, "best.pt")
    old = torch.load(best)["score"] if os.path.exists(best) else -math.inf
    if score > old:
        atomic_save(entry, best)
    found = []
    for name in os.listdir(folder):
        match = re.fullmatch(r"step-([0-9]+)\.pt", name)
        if match:
            found.append((int(match[1]), name))
    for number, name in sorted(found)[:-keep]:
        os.remove(os.path.join(folder, f"step-{number:06d}.pt"))


# %% right="six digits or more are a step, a shorter name is left alone"
import math


def best_checkpoint(folder, state, step, score, keep=2):
    entry = {"state": state, "step": step, "score": score}
    atomic_save(entry, os.path.join(folder, f"step-{step:06d}.pt"))
    best = os.path.join(folder, "best.pt")
    old = torch.load(best)["score"] if os.path.exists(best) else -math.inf
    if score > old:
        atomic_save(entry, best)
    found = []
    for name in os.listdir(folder):
        match = re.fullmatch(r"step-([0-9]{6,})\.pt", name)
        if match:
            found.append((int(match[1]), name))
    for _, name in sorted(found)[:-keep]:
        os.remove(os.path.join(folder, name))


# %% wrong="remembers the best of all folders" says=["of this folder: another run has its own"]
import math


def best_checkpoint(folder, state, step, score, keep=2):
    entry = {"state": state, "step": step, "score": score}
    atomic_save(entry, os.path.join(folder, f"step-{step:06d}.pt"))
    best = os.path.join(folder, "best.pt")
    old = torch.load(best)["score"] if os.path.exists(best) else -math.inf
    old = max(old, getattr(best_checkpoint, "seen", -math.inf))
    best_checkpoint.seen = max(old, score if score == score else -math.inf)
    if score > old:
        atomic_save(entry, best)
    found = []
    for name in os.listdir(folder):
        match = re.fullmatch(r"step-([0-9]+)\.pt", name)
        if match:
            found.append((int(match[1]), name))
    for _, name in sorted(found)[:-keep]:
        os.remove(os.path.join(folder, name))


# %% wrong="the step's file becomes best.pt, and is written anew" breaks="there are no fewer steps than before" says=["the last step again, a new best", "are left, there were"]
def best_checkpoint(folder, state, step, score, keep=2):
    entry = {"state": state, "step": step, "score": score}
    mine, best = (os.path.join(folder, name) for name in (f"step-{step:06d}.pt", "best.pt"))
    old = torch.load(best)["score"] if os.path.exists(best) else float("-inf")
    atomic_save(entry, mine)
    if score > old:
        os.replace(mine, best)
        atomic_save(entry, mine)
    names = [n for n in os.listdir(folder) if re.fullmatch(r"step-[0-9]+\.pt", n)]
    for name in sorted(names, key=lambda n: int(n[5:-3]))[:-keep]:
        os.remove(os.path.join(folder, name))


# %% wrong="scores compared in float32" breaks="the entry with the highest score ever saved to this folder" says=["scores that differ in the eighth digit", "(2, 0.41234567, 4.0), expected (3, 0.41234568, 6.0)"]
def best_checkpoint(folder, state, step, score, keep=2):
    entry = {"state": state, "step": step, "score": score}
    best = os.path.join(folder, "best.pt")
    old = torch.load(best)["score"] if os.path.exists(best) else float("-inf")
    atomic_save(entry, os.path.join(folder, f"step-{step:06d}.pt"))
    if torch.tensor(score) > torch.tensor(old):
        atomic_save(entry, best)
    names = [n for n in os.listdir(folder) if re.fullmatch(r"step-[0-9]+\.pt", n)]
    for name in sorted(names, key=lambda n: int(n[5:-3]))[:-keep]:
        os.remove(os.path.join(folder, name))


# %% wrong="the best score of each folder kept in memory" breaks="the next call may come from a new process: what you need to know has to be in the folder" says=["another process saves between two calls of this one", "another process saved that one, so read in each call what is in the folder"]
import re

best_scores = {}


def best_checkpoint(folder, state, step, score, keep=2):
    entry, best = {"state": state, "step": step, "score": score}, os.path.join(folder, "best.pt")
    atomic_save(entry, os.path.join(folder, f"step-{step:06d}.pt"))
    if folder not in best_scores:
        known = os.path.exists(best)
        best_scores[folder] = torch.load(best)["score"] if known else float("-inf")
    if score > best_scores[folder]:
        atomic_save(entry, best)
        best_scores[folder] = score
    names = [name for name in os.listdir(folder) if re.fullmatch(r"step-[0-9]+\.pt", name)]
    for name in sorted(names, key=lambda name: int(name[5:-3]))[:-keep]:
        os.remove(os.path.join(folder, name))
