# %% [markdown]
# Rules:
#
# - "Try things in this order"
# - "the first such i"
# - "of batch b (from 0, unshuffled, the last may be smaller)"
# - "can't be joined by `default_collate`"
# - "`pickle.dumps(dataset)` raises"
# - "gives no batch within `seconds`"
# - "its worker ends without an exception"
# - "its worker raises an exception, though this process did not"
# - "of whatever class"
# - "go through all batches"
# - "no process that you started may be left"
# - "the caller's own still run"
# - "num_workers=1"
# - "and may have any words after that"
#
# Admits:
#
# - "the last may be smaller": a long item at the end

# %% wrong="starts with the worker" says=["ask the dataset itself first", "it has a lambda"]
# ruff: noqa: E402
from torch.utils.data import DataLoader


def loader_autopsy(dataset, batch_size, seconds):
    try:
        for _ in DataLoader(dataset, batch_size, num_workers=1, timeout=seconds):
            pass
    except RuntimeError as error:
        if "timed out" in str(error):
            return "hang", None
        return ("dies", None) if "exited" in str(error) else ("raises", None)
    except Exception:
        return "raises", None
    return "fine", None


# %% wrong="never asks a worker" says=["in the worker alone, at item 5", "in the worker alone, at the first item"]
import pickle

from torch.utils.data import default_collate


def loader_autopsy(dataset, batch_size, seconds):
    for n in range(len(dataset)):
        try:
            dataset[n]
        except Exception:
            return "item", n
    for b, start in enumerate(range(0, len(dataset), batch_size)):
        try:
            stop = min(len(dataset), start + batch_size)
            default_collate([dataset[n] for n in range(start, stop)])
        except Exception:
            return "collate", b
    try:
        pickle.dumps(dataset)
    except Exception:
        return "pickle", None
    return "fine", None


# %% wrong="the first item of the batch, not its number" says=["item 6 is in batch 1, of items 4 to 7"]
import pickle

from torch.utils.data import DataLoader, default_collate


def loader_autopsy(dataset, batch_size, seconds):
    for n in range(len(dataset)):
        try:
            dataset[n]
        except Exception:
            return "item", n
    for start in range(0, len(dataset), batch_size):
        try:
            stop = min(len(dataset), start + batch_size)
            default_collate([dataset[n] for n in range(start, stop)])
        except Exception:
            return "collate", start
    try:
        pickle.dumps(dataset)
    except Exception:
        return "pickle", None
    try:
        list(DataLoader(dataset, batch_size, num_workers=1, timeout=seconds))
    except Exception as error:
        for words, verdict in (("timed out", "hang"), ("unexpectedly", "dies"), ("killed", "dies")):
            if words in str(error):
                return verdict, None
        return "raises", None
    return "fine", None


# %% wrong="every RuntimeError is a dead worker" breaks="its worker ends without an exception" says=["a RuntimeError, but the worker lives"]
import pickle

from torch.utils.data import DataLoader, default_collate


def loader_autopsy(dataset, batch_size, seconds):
    for n in range(len(dataset)):
        try:
            dataset[n]
        except Exception:
            return "item", n
    for start in range(0, len(dataset), batch_size):
        try:
            stop = min(len(dataset), start + batch_size)
            default_collate([dataset[n] for n in range(start, stop)])
        except Exception:
            return "collate", start // batch_size
    try:
        pickle.dumps(dataset)
    except Exception:
        return "pickle", None
    try:
        list(DataLoader(dataset, batch_size, num_workers=1, timeout=seconds))
    except RuntimeError as error:
        return ("hang" if "timed out" in str(error) else "dies"), None
    return "fine", None


# %% wrong="walks past the end" says=["('item', 10)", "the verdict"]
def loader_autopsy(dataset, batch_size, seconds):
    n = 0
    while True:
        try:
            dataset[n]
        except Exception:
            return "item", n
        n += 1


# %% right="step by step, with contextlib"
import multiprocessing
import pickle

import torch.utils.data as data


def loader_autopsy(dataset, batch_size, seconds):
    items = []
    for n in range(len(dataset)):
        try:
            items.append(dataset[n])
        except Exception:
            return ("item", n)
    batches = [items[k : k + batch_size] for k in range(0, len(items), batch_size)]
    for b, batch in enumerate(batches):
        try:
            data.default_collate(batch)
        except Exception:
            return ("collate", b)
    try:
        pickle.dumps(dataset)
    except Exception:
        return ("pickle", None)
    before = set(multiprocessing.active_children())
    verdict = "fine"
    try:
        iterator = iter(
            data.DataLoader(dataset, batch_size=batch_size, num_workers=1, timeout=seconds)
        )
        for _ in iterator:
            pass
    except Exception as error:
        words = str(error)
        if words.startswith("Caught "):
            verdict = "raises"
        elif "timed out after" in words:
            verdict = "hang"
        else:
            verdict = "dies"
    for child in set(multiprocessing.active_children()) - before:
        child.terminate()
        child.join()
    return (verdict, None)


# %% right="one process of its own asks for the batches"
import multiprocessing
import pickle

from torch.utils.data import DataLoader


def attempt(function):
    try:
        function()
    except Exception as error:
        return error


def loader_autopsy(dataset, batch_size, seconds):
    known = set(multiprocessing.active_children())
    size = len(dataset)
    for n in range(size):
        if attempt(lambda n=n: dataset[n]):
            return ["item", n]
    plain = DataLoader(dataset, batch_size)
    rows = iter(plain)
    for b in range(len(plain)):
        if attempt(lambda: next(rows)):
            return ["collate", b]
    if attempt(lambda: pickle.dumps(dataset)):
        return ["pickle", None]
    loader = DataLoader(dataset, batch_size, num_workers=1, timeout=seconds)
    error = attempt(lambda: sum(1 for _ in loader))
    for child in set(multiprocessing.active_children()) - known:
        child.kill()
        child.join()
    if error is None:
        return ["fine", None]
    words = str(error)
    if words.startswith("Caught"):
        return ["raises", None]
    return ["hang" if "timed out after" in words else "dies", None]


# %% wrong="one batch is enough" breaks="go through all batches" says=["hangs: the verdict", "in the worker alone, at item 5"]
def loader_autopsy(dataset: Dataset, batch_size: int, seconds: float) -> tuple[str, int | None]:
    import pickle

    from torch.utils.data import default_collate

    for i in range(len(dataset)):
        try:
            dataset[i]
        except Exception:
            return "item", i
    for b, s in enumerate(range(0, len(dataset), batch_size)):
        try:
            default_collate([dataset[i] for i in range(s, min(s + batch_size, len(dataset)))])
        except Exception:
            return "collate", b
    try:
        pickle.dumps(dataset)
    except Exception:
        return "pickle", None
    known = multiprocessing.active_children()
    try:
        next(iter(DataLoader(dataset, batch_size, num_workers=1, timeout=seconds)))
    except Exception as e:
        if str(e).startswith("Caught"):
            return "raises", None
        return ("hang" if "timed out after" in str(e) else "dies"), None
    finally:
        for child in multiprocessing.active_children():
            if child not in known:
                child.terminate()
                child.join()
    return "fine", None


# %% right="looks at the exception's type and the worker's exit code"
def loader_autopsy(dataset: Dataset, batch_size: int, seconds: float) -> tuple[str, int | None]:
    import io
    import pickle

    from torch.utils.data import default_collate

    items = []
    for i in range(len(dataset)):
        try:
            items.append(dataset[i])
        except Exception:
            return ("item", i)
    batch = 0
    while items[batch * batch_size :]:
        try:
            default_collate(items[batch * batch_size :][:batch_size])
        except Exception:
            return ("collate", batch)
        batch += 1
    try:
        pickle.Pickler(io.BytesIO()).dump(dataset)
    except Exception:
        return ("pickle", None)
    old = {p.pid for p in multiprocessing.active_children()}
    verdict = "fine"
    try:
        iterator = iter(DataLoader(dataset, batch_size, num_workers=1, timeout=seconds))
        for _ in range(batch):
            next(iterator)
    except Exception as e:
        text = str(e)
        verdict = (
            "raises"
            if text.startswith("Caught")
            else "hang"
            if "timed out after" in text
            else "dies"
        )
    if verdict != "hang":
        iterator = None  # its worker ends; killed while it is in use, the loader raises for it
    for p in multiprocessing.active_children():
        if p.pid not in old:
            p.kill()
            p.join()
    return (verdict, None)


# %% wrong="RuntimeErrors alone" breaks="of whatever class" says=["a KeyError in the worker", "KeyError came out of the answer"]
import pickle

from torch.utils.data import DataLoader, default_collate


def loader_autopsy(dataset, batch_size, seconds):
    known = set(multiprocessing.active_children())
    for n in range(len(dataset)):
        try:
            dataset[n]
        except Exception:
            return "item", n
    for start in range(0, len(dataset), batch_size):
        batch = range(start, min(len(dataset), start + batch_size))
        items = [dataset[n] for n in batch]
        try:
            default_collate(items)
        except Exception:
            return "collate", start // batch_size
    try:
        pickle.dumps(dataset)
    except Exception:
        return "pickle", None
    try:
        list(DataLoader(dataset, batch_size, num_workers=1, timeout=seconds))
    except RuntimeError as error:
        said = str(error)
        if said.startswith("Caught"):
            return "raises", None
        return ("hang" if "timed out after" in said else "dies"), None
    finally:
        for child in set(multiprocessing.active_children()) - known:
            child.terminate()
            child.join()
    return "fine", None


# %% wrong="whole batches alone" says=["the last, smaller batch", "items 8 and 9"]
import pickle

from torch.utils.data import DataLoader, default_collate


def loader_autopsy(dataset, batch_size, seconds):
    known = set(multiprocessing.active_children())
    for n in range(len(dataset)):
        try:
            dataset[n]
        except Exception:
            return "item", n
    for start in range(0, len(dataset) - batch_size + 1, batch_size):
        batch = range(start, min(len(dataset), start + batch_size))
        items = [dataset[n] for n in batch]
        try:
            default_collate(items)
        except Exception:
            return "collate", start // batch_size
    try:
        pickle.dumps(dataset)
    except Exception:
        return "pickle", None
    try:
        list(DataLoader(dataset, batch_size, num_workers=1, timeout=seconds))
    except Exception as error:
        said = str(error)
        if said.startswith("Caught"):
            return "raises", None
        return ("hang" if "timed out after" in said else "dies"), None
    finally:
        for child in set(multiprocessing.active_children()) - known:
            child.terminate()
            child.join()
    return "fine", None


# %% wrong="pickle first" breaks="Try things in this order" says=["all three", "and before pickle"]
import pickle

from torch.utils.data import DataLoader, default_collate


def loader_autopsy(dataset, batch_size, seconds):
    known = set(multiprocessing.active_children())
    try:
        pickle.dumps(dataset)
    except Exception:
        return "pickle", None
    for n in range(len(dataset)):
        try:
            dataset[n]
        except Exception:
            return "item", n
    for start in range(0, len(dataset), batch_size):
        batch = range(start, min(len(dataset), start + batch_size))
        items = [dataset[n] for n in batch]
        try:
            default_collate(items)
        except Exception:
            return "collate", start // batch_size
    try:
        list(DataLoader(dataset, batch_size, num_workers=1, timeout=seconds))
    except Exception as error:
        said = str(error)
        if said.startswith("Caught"):
            return "raises", None
        return ("hang" if "timed out after" in said else "dies"), None
    finally:
        for child in set(multiprocessing.active_children()) - known:
            child.terminate()
            child.join()
    return "fine", None


# %% wrong="an IndexError is the end" says=["an item with an IndexError"]
import pickle

from torch.utils.data import DataLoader, default_collate


def loader_autopsy(dataset, batch_size, seconds):
    known = set(multiprocessing.active_children())
    n = 0
    while True:
        try:
            dataset[n]
        except IndexError:
            break
        except Exception:
            return "item", n
        n += 1
    for start in range(0, len(dataset), batch_size):
        batch = range(start, min(len(dataset), start + batch_size))
        items = [dataset[n] for n in batch]
        try:
            default_collate(items)
        except Exception:
            return "collate", start // batch_size
    try:
        pickle.dumps(dataset)
    except Exception:
        return "pickle", None
    try:
        list(DataLoader(dataset, batch_size, num_workers=1, timeout=seconds))
    except Exception as error:
        said = str(error)
        if said.startswith("Caught"):
            return "raises", None
        return ("hang" if "timed out after" in said else "dies"), None
    finally:
        for child in set(multiprocessing.active_children()) - known:
            child.terminate()
            child.join()
    return "fine", None


# %% wrong="whatever speaks of a time-out" breaks="and may have any words after that" says=["a server's time-out", "begins with"]
import pickle

from torch.utils.data import DataLoader, default_collate


def loader_autopsy(dataset, batch_size, seconds):
    known = set(multiprocessing.active_children())
    for n in range(len(dataset)):
        try:
            dataset[n]
        except Exception:
            return "item", n
    for start in range(0, len(dataset), batch_size):
        batch = range(start, min(len(dataset), start + batch_size))
        items = [dataset[n] for n in batch]
        try:
            default_collate(items)
        except Exception:
            return "collate", start // batch_size
    try:
        pickle.dumps(dataset)
    except Exception:
        return "pickle", None
    try:
        list(DataLoader(dataset, batch_size, num_workers=1, timeout=seconds))
    except Exception as error:
        said = str(error)
        if "timed out after" in said:
            return "hang", None
        return ("raises" if said.startswith("Caught") else "dies"), None
    finally:
        for child in set(multiprocessing.active_children()) - known:
            child.terminate()
            child.join()
    return "fine", None


# %% wrong="whatever speaks of an unexpected exit" breaks="its worker raises an exception, though this process did not" says=["a server's time-out", "begins with"]
import pickle

from torch.utils.data import DataLoader, default_collate


def loader_autopsy(dataset, batch_size, seconds):
    known = set(multiprocessing.active_children())
    for n in range(len(dataset)):
        try:
            dataset[n]
        except Exception:
            return "item", n
    for start in range(0, len(dataset), batch_size):
        batch = range(start, min(len(dataset), start + batch_size))
        items = [dataset[n] for n in batch]
        try:
            default_collate(items)
        except Exception:
            return "collate", start // batch_size
    try:
        pickle.dumps(dataset)
    except Exception:
        return "pickle", None
    try:
        list(DataLoader(dataset, batch_size, num_workers=1, timeout=seconds))
    except Exception as error:
        said = str(error)
        if "exited unexpectedly" in said:
            return "dies", None
        return ("raises" if said.startswith("Caught") else "hang"), None
    finally:
        for child in set(multiprocessing.active_children()) - known:
            child.terminate()
            child.join()
    return "fine", None


# %% wrong="leaves the worker to the loader" breaks="no process that you started may be left" says=["processes left"]
import pickle

from torch.utils.data import DataLoader, default_collate


def loader_autopsy(dataset, batch_size, seconds):
    for n in range(len(dataset)):
        try:
            dataset[n]
        except Exception:
            return "item", n
    for start in range(0, len(dataset), batch_size):
        batch = range(start, min(len(dataset), start + batch_size))
        items = [dataset[n] for n in batch]
        try:
            default_collate(items)
        except Exception:
            return "collate", start // batch_size
    try:
        pickle.dumps(dataset)
    except Exception:
        return "pickle", None
    try:
        list(DataLoader(dataset, batch_size, num_workers=1, timeout=seconds))
    except Exception as error:
        said = str(error)
        if said.startswith("Caught"):
            return "raises", None
        return ("hang" if "timed out after" in said else "dies"), None
    return "fine", None


# %% wrong="pickle fails in two classes" breaks="`pickle.dumps(dataset)` raises" says=["holds a lock", "a TypeError here: any class counts"]
def loader_autopsy(dataset: Dataset, batch_size: int, seconds: float) -> tuple[str, int | None]:
    known = set(multiprocessing.active_children())
    """The first verdict that applies: ("item", i), ("collate", b), ("pickle", None), …"""
    import pickle

    def fails(function, *args) -> str | None:
        try:
            function(*args)
        except Exception as error:
            return str(error) or "no words"

    for index in range(len(dataset)):
        if fails(dataset.__getitem__, index):
            return "item", index
    for start in range(0, len(dataset), batch_size):
        items = [dataset[n] for n in range(start, min(start + batch_size, len(dataset)))]
        if fails(torch.utils.data.default_collate, items):
            return "collate", start // batch_size
    try:
        pickle.dumps(dataset)
        bad = False
    except (pickle.PicklingError, AttributeError):
        bad = True
    except Exception:
        bad = False
    if bad:
        return "pickle", None
    loader = DataLoader(dataset, batch_size, num_workers=1, timeout=seconds)
    said = fails(lambda: [*loader])
    [(child.terminate(), child.join()) for child in set(multiprocessing.active_children()) - known]
    if said is None or said.startswith("Caught"):
        return "raises" if said else "fine", None
    return "hang" if "timed out after" in said else "dies", None


# %% wrong="collate fails in one class" breaks="can't be joined by `default_collate`" says=["an item that is None", "a KeyError, in the batch of item 6"]
def loader_autopsy(dataset: Dataset, batch_size: int, seconds: float) -> tuple[str, int | None]:
    known = set(multiprocessing.active_children())
    """The first verdict that applies: ("item", i), ("collate", b), ("pickle", None), …"""
    import pickle

    def fails(function, *args) -> str | None:
        try:
            function(*args)
        except Exception as error:
            return str(error) or "no words"

    for index in range(len(dataset)):
        if fails(dataset.__getitem__, index):
            return "item", index
    for start in range(0, len(dataset), batch_size):
        items = [dataset[n] for n in range(start, min(start + batch_size, len(dataset)))]
        try:
            torch.utils.data.default_collate(items)
        except RuntimeError:
            return "collate", start // batch_size
        except Exception:
            pass
    if fails(pickle.dumps, dataset):
        return "pickle", None
    loader = DataLoader(dataset, batch_size, num_workers=1, timeout=seconds)
    said = fails(lambda: [*loader])
    [(child.terminate(), child.join()) for child in set(multiprocessing.active_children()) - known]
    if said is None or said.startswith("Caught"):
        return "raises" if said else "fine", None
    return "hang" if "timed out after" in said else "dies", None


# %% wrong="two workers" breaks="num_workers=1" says=["a DataLoader with 2 workers ran"]
def loader_autopsy(dataset: Dataset, batch_size: int, seconds: float) -> tuple[str, int | None]:
    known = set(multiprocessing.active_children())
    """The first verdict that applies: ("item", i), ("collate", b), ("pickle", None), …"""
    import pickle

    def fails(function, *args) -> str | None:
        try:
            function(*args)
        except Exception as error:
            return str(error) or "no words"

    for index in range(len(dataset)):
        if fails(dataset.__getitem__, index):
            return "item", index
    for start in range(0, len(dataset), batch_size):
        items = [dataset[n] for n in range(start, min(start + batch_size, len(dataset)))]
        if fails(torch.utils.data.default_collate, items):
            return "collate", start // batch_size
    if fails(pickle.dumps, dataset):
        return "pickle", None
    loader = DataLoader(dataset, batch_size, num_workers=2, timeout=seconds)
    said = fails(lambda: [*loader])
    [(child.terminate(), child.join()) for child in set(multiprocessing.active_children()) - known]
    if said is None or said.startswith("Caught"):
        return "raises" if said else "fine", None
    return "hang" if "timed out after" in said else "dies", None


# %% wrong="leaves the last batch out" breaks="of batch b (from 0, unshuffled, the last may be smaller)" says=["raises in the worker, at the last item", "go through all batches"]
def loader_autopsy(dataset, batch_size, seconds):
    known = set(multiprocessing.active_children())
    import pickle

    from torch.utils.data import default_collate

    for i in range(len(dataset)):
        try:
            dataset[i]
        except Exception:
            return "item", i
    for b, start in enumerate(range(0, len(dataset), batch_size)):
        try:
            default_collate(
                [dataset[i] for i in range(start, min(start + batch_size, len(dataset)))]
            )
        except Exception:
            return "collate", b
    try:
        pickle.dumps(dataset)
    except Exception:
        return "pickle", None
    loader = DataLoader(dataset, batch_size, drop_last=True, num_workers=1, timeout=seconds)
    try:
        for _ in loader:
            pass
        return "fine", None
    except Exception as error:
        said = str(error)
        if said.startswith("Caught"):
            return "raises", None
        return ("hang" if "timed out after" in said else "dies"), None
    finally:
        for child in set(multiprocessing.active_children()) - known:
            child.terminate()
            child.join()


# %% wrong="waits longer" breaks="gives no batch within `seconds`" says=["expected timeout="]
def loader_autopsy(dataset, batch_size, seconds):
    known = set(multiprocessing.active_children())
    import pickle

    from torch.utils.data import default_collate

    for i in range(len(dataset)):
        try:
            dataset[i]
        except Exception:
            return "item", i
    for b, start in enumerate(range(0, len(dataset), batch_size)):
        try:
            default_collate(
                [dataset[i] for i in range(start, min(start + batch_size, len(dataset)))]
            )
        except Exception:
            return "collate", b
    try:
        pickle.dumps(dataset)
    except Exception:
        return "pickle", None
    loader = DataLoader(
        dataset, batch_size, num_workers=1, timeout=0 if seconds > 5 else seconds + 4
    )
    try:
        for _ in loader:
            pass
        return "fine", None
    except Exception as error:
        said = str(error)
        if said.startswith("Caught"):
            return "raises", None
        return ("hang" if "timed out after" in said else "dies"), None
    finally:
        for child in set(multiprocessing.active_children()) - known:
            child.terminate()
            child.join()


# %% wrong="doesn't wait for the end" says=["processes left"]
def loader_autopsy(dataset, batch_size, seconds):
    known = set(multiprocessing.active_children())
    import pickle

    from torch.utils.data import default_collate

    for i in range(len(dataset)):
        try:
            dataset[i]
        except Exception:
            return "item", i
    for b, start in enumerate(range(0, len(dataset), batch_size)):
        try:
            default_collate(
                [dataset[i] for i in range(start, min(start + batch_size, len(dataset)))]
            )
        except Exception:
            return "collate", b
    try:
        pickle.dumps(dataset)
    except Exception:
        return "pickle", None
    loader = DataLoader(dataset, batch_size, num_workers=1, timeout=seconds)
    try:
        for _ in loader:
            pass
        return "fine", None
    except Exception as error:
        said = str(error)
        if said.startswith("Caught"):
            return "raises", None
        return ("hang" if "timed out after" in said else "dies"), None
    finally:
        for child in set(multiprocessing.active_children()) - known:
            child.terminate()


# %% wrong="pickles the items" says=["unpicklable"]
def loader_autopsy(dataset, batch_size, seconds):
    known = set(multiprocessing.active_children())
    import pickle

    from torch.utils.data import default_collate

    for i in range(len(dataset)):
        try:
            dataset[i]
        except Exception:
            return "item", i
    for b, start in enumerate(range(0, len(dataset), batch_size)):
        try:
            default_collate(
                [dataset[i] for i in range(start, min(start + batch_size, len(dataset)))]
            )
        except Exception:
            return "collate", b
    try:
        pickle.dumps([dataset[i] for i in range(len(dataset))])
    except Exception:
        return "pickle", None
    loader = DataLoader(dataset, batch_size, num_workers=1, timeout=seconds)
    try:
        for _ in loader:
            pass
        return "fine", None
    except Exception as error:
        said = str(error)
        if said.startswith("Caught"):
            return "raises", None
        return ("hang" if "timed out after" in said else "dies"), None
    finally:
        for child in set(multiprocessing.active_children()) - known:
            child.terminate()
            child.join()


# %% right="asks for each batch by next"
def loader_autopsy(dataset, batch_size, seconds):
    import io
    import pickle

    n = len(dataset)
    items = []
    for i in range(n):
        try:
            items.append(dataset[i])
        except Exception:
            return ("item", i)
    for b in range(-(-n // batch_size)):
        try:
            torch.utils.data.default_collate(items[b * batch_size : (b + 1) * batch_size])
        except Exception:
            return ("collate", b)
    try:
        pickle.Pickler(io.BytesIO()).dump(dataset)
    except Exception:
        return ("pickle", None)
    before = set(multiprocessing.active_children())
    verdict = "fine"
    batches = iter(DataLoader(dataset, batch_size=batch_size, num_workers=1, timeout=seconds))
    while True:
        try:
            next(batches)
        except StopIteration:
            break
        except Exception as e:
            text = str(e)
            verdict = (
                "raises" if text.startswith("Caught") else "hang" if "timed out" in text else "dies"
            )
            break
    for p in set(multiprocessing.active_children()) - before:
        p.kill()
        p.join()
    return (verdict, None)


# %% wrong="the last such item" breaks="the first such i" says=["expected ('item', 7), got ('item', 8)"]
def loader_autopsy(dataset, batch_size, seconds):
    bad = None
    for index in range(len(dataset)):
        try:
            dataset[index]
        except Exception:
            bad = index
    return ("item", bad) if bad is not None else ("fine", None)


# %% wrong="items and batches by turns" says=["all three", "all items come before any batch"]
import pickle

from torch.utils.data import DataLoader, default_collate


def loader_autopsy(dataset, batch_size, seconds):
    known = set(multiprocessing.active_children())
    items = []
    for n in range(len(dataset)):
        try:
            items.append(dataset[n])
        except Exception:
            return "item", n
        if len(items) == batch_size or n == len(dataset) - 1:
            try:
                default_collate(items)
            except Exception:
                return "collate", n // batch_size
            items = []
    try:
        pickle.dumps(dataset)
    except Exception:
        return "pickle", None
    try:
        list(DataLoader(dataset, batch_size, num_workers=1, timeout=seconds))
    except Exception as error:
        said = str(error)
        if said.startswith("Caught"):
            return "raises", None
        return ("hang" if "timed out after" in said else "dies"), None
    finally:
        for child in set(multiprocessing.active_children()) - known:
            child.terminate()
            child.join()
    return "fine", None


# %% wrong="a loader without the batch size" says=["a DataLoader with batch_size=1 ran, expected 4"]
import pickle

from torch.utils.data import DataLoader, default_collate


def loader_autopsy(dataset, batch_size, seconds):
    known = set(multiprocessing.active_children())
    items = []
    for n in range(len(dataset)):
        try:
            items.append(dataset[n])
        except Exception:
            return "item", n
    for b, start in enumerate(range(0, len(items), batch_size)):
        try:
            default_collate(items[start : start + batch_size])
        except Exception:
            return "collate", b
    try:
        pickle.dumps(dataset)
    except Exception:
        return "pickle", None
    try:
        for _ in DataLoader(dataset, num_workers=1, timeout=seconds):
            pass
    except Exception as error:
        said = str(error)
        if said.startswith("Caught"):
            return "raises", None
        return ("hang" if "timed out after" in said else "dies"), None
    finally:
        for child in set(multiprocessing.active_children()) - known:
            child.terminate()
            child.join()
    return "fine", None


# %% wrong="ends the caller's processes as well" breaks="the caller's own still run" says=["which ran before: end your own alone"]
import pickle

from torch.utils.data import default_collate


def loader_autopsy(dataset, batch_size, seconds):
    items = []
    for i in range(len(dataset)):
        try:
            items.append(dataset[i])
        except Exception:
            return "item", i
    for b, start in enumerate(range(0, len(items), batch_size)):
        try:
            default_collate(items[start : start + batch_size])
        except Exception:
            return "collate", b
    try:
        pickle.dumps(dataset)
    except Exception:
        return "pickle", None
    try:
        for _ in DataLoader(dataset, batch_size, num_workers=1, timeout=seconds):
            pass
    except Exception as error:
        words = str(error)
        if words.startswith("Caught"):
            return "raises", None
        if "timed out after" in words:
            return "hang", None
        if "exited unexpectedly" in words:
            return "dies", None
        return "raises", None
    finally:
        for child in multiprocessing.active_children():
            child.terminate()
            child.join()
    return "fine", None


# %% wrong="a shuffled loader" says=["a DataLoader ran shuffled"]
import pickle

from torch.utils.data import default_collate


def loader_autopsy(dataset, batch_size, seconds):
    items = []
    for i in range(len(dataset)):
        try:
            items.append(dataset[i])
        except Exception:
            return "item", i
    for b, start in enumerate(range(0, len(items), batch_size)):
        try:
            default_collate(items[start : start + batch_size])
        except Exception:
            return "collate", b
    try:
        pickle.dumps(dataset)
    except Exception:
        return "pickle", None
    before = {child.pid for child in multiprocessing.active_children()}
    try:
        for _ in DataLoader(dataset, batch_size, num_workers=1, shuffle=True, timeout=seconds):
            pass
    except Exception as error:
        words = str(error)
        if words.startswith("Caught"):
            return "raises", None
        if "timed out after" in words:
            return "hang", None
        if "exited unexpectedly" in words:
            return "dies", None
        return "raises", None
    finally:
        for child in multiprocessing.active_children():
            if child.pid not in before:
                child.terminate()
                child.join()
    return "fine", None


# %% right="step by step, ends what is new"
import pickle

from torch.utils.data import default_collate


def loader_autopsy(dataset, batch_size, seconds):
    n = len(dataset)
    data = []
    for i in range(n):
        try:
            item = dataset[i]
        except Exception:
            return ("item", i)
        data.append(item)
    batch = 0
    while batch * batch_size < n:
        part = data[batch * batch_size : (batch + 1) * batch_size]
        try:
            default_collate(part)
        except Exception:
            return ("collate", batch)
        batch += 1
    try:
        pickle.dumps(dataset)
    except Exception:
        return ("pickle", None)
    old = multiprocessing.active_children()
    verdict = ("fine", None)
    try:
        loader = DataLoader(dataset, batch_size=batch_size, num_workers=1, timeout=seconds)
        for batch in loader:
            pass
    except Exception as error:
        text = str(error)
        if text.startswith("Caught"):
            verdict = ("raises", None)
        elif "timed out" in text:
            verdict = ("hang", None)
        else:
            verdict = ("dies", None)
    mine = [c for c in multiprocessing.active_children() if c not in old]
    for child in mine:
        child.terminate()
        child.join(5)
        if child.is_alive():
            child.kill()
            child.join()
    return verdict


# %% wrong="five classes of exceptions for the items" says=["an item without a file: FileNotFoundError came out"]
import pickle

from torch.utils.data import default_collate


def loader_autopsy(dataset, batch_size, seconds):
    items = []
    for i in range(len(dataset)):
        try:
            items.append(dataset[i])
        except (RuntimeError, ValueError, KeyError, IndexError, TypeError):
            return "item", i
    for b, start in enumerate(range(0, len(items), batch_size)):
        try:
            default_collate(items[start : start + batch_size])
        except Exception:
            return "collate", b
    try:
        pickle.dumps(dataset)
    except Exception:
        return "pickle", None
    before = multiprocessing.active_children()
    try:
        for _ in DataLoader(dataset, batch_size, num_workers=1, timeout=seconds):
            pass
    except Exception as error:
        text = str(error)
        if text.startswith("Caught"):
            return "raises", None
        return ("hang", None) if "timed out after" in text else ("dies", None)
    finally:
        for child in multiprocessing.active_children():
            if child not in before:
                child.terminate()
                child.join()
    return "fine", None


# %% wrong="asks for pickle after the worker" says=["unpicklable, and raises in the worker", "ask before any worker"]
import pickle

from torch.utils.data import default_collate


def loader_autopsy(dataset, batch_size, seconds):
    items = []
    for i in range(len(dataset)):
        try:
            items.append(dataset[i])
        except Exception:
            return "item", i
    for b, start in enumerate(range(0, len(items), batch_size)):
        try:
            default_collate(items[start : start + batch_size])
        except Exception:
            return "collate", b
    before = multiprocessing.active_children()
    try:
        for _ in DataLoader(dataset, batch_size, num_workers=1, timeout=seconds):
            pass
    except Exception as error:
        text = str(error)
        if text.startswith("Caught"):
            return "raises", None
        return ("hang", None) if "timed out after" in text else ("dies", None)
    finally:
        for child in multiprocessing.active_children():
            if child not in before:
                child.terminate()
                child.join()
    try:
        pickle.dumps(dataset)
    except Exception:
        return "pickle", None
    return "fine", None


# %% wrong="an exception has Error in its name" says=["raises in the worker, at the last item"]
import pickle

from torch.utils.data import default_collate


def loader_autopsy(dataset, batch_size, seconds):
    items = []
    for i in range(len(dataset)):
        try:
            items.append(dataset[i])
        except Exception:
            return "item", i
    for b, start in enumerate(range(0, len(items), batch_size)):
        try:
            default_collate(items[start : start + batch_size])
        except Exception:
            return "collate", b
    try:
        pickle.dumps(dataset)
    except Exception:
        return "pickle", None
    before = multiprocessing.active_children()
    try:
        for _ in DataLoader(dataset, batch_size, num_workers=1, timeout=seconds):
            pass
    except Exception as error:
        words = str(error)
        if "Caught" in words and False or "Error" in words:
            return "raises", None
        return ("hang" if "timed out after" in words else "dies"), None
    finally:
        for child in multiprocessing.active_children():
            if child not in before:
                child.terminate()
                child.join()
    return "fine", None


# %% wrong="whole seconds alone" says=["hangs: a DataLoader waited for 1 seconds, expected timeout=1.5"]
import pickle

from torch.utils.data import default_collate


def loader_autopsy(dataset: Dataset, batch_size: int, seconds: float) -> tuple[str, int | None]:
    """The first verdict that applies: ("item", i), ("collate", b), ("pickle", None), …"""
    items = []
    for i in range(len(dataset)):
        try:
            items.append(dataset[i])
        except Exception:
            return "item", i
    for b in range(0, len(items), batch_size):
        try:
            default_collate(items[b : b + batch_size])
        except Exception:
            return "collate", b // batch_size
    try:
        pickle.dumps(dataset)
    except Exception:
        return "pickle", None
    before = multiprocessing.active_children()
    try:
        for _ in DataLoader(dataset, batch_size, num_workers=1, timeout=int(seconds)):
            pass
    except Exception as error:
        words = str(error)
        if words.startswith("Caught"):
            return "raises", None
        if "timed out after" in words:
            return "hang", None
        return "dies", None
    finally:
        for child in multiprocessing.active_children():
            if child not in before:
                child.terminate()
                child.join()
    return "fine", None


# %% wrong="the usual errors of pickle alone" says=["a state that nobody tells"]
import pickle

from torch.utils.data import default_collate


def loader_autopsy(dataset: Dataset, batch_size: int, seconds: float) -> tuple[str, int | None]:
    """The first verdict that applies: ("item", i), ("collate", b), ("pickle", None), …"""
    items = []
    for i in range(len(dataset)):
        try:
            items.append(dataset[i])
        except Exception:
            return "item", i
    for b in range(0, len(items), batch_size):
        try:
            default_collate(items[b : b + batch_size])
        except Exception:
            return "collate", b // batch_size
    try:
        pickle.dumps(dataset)
    except (pickle.PicklingError, AttributeError, TypeError):
        return "pickle", None
    before = multiprocessing.active_children()
    try:
        for _ in DataLoader(dataset, batch_size, num_workers=1, timeout=seconds):
            pass
    except Exception as error:
        words = str(error)
        if words.startswith("Caught"):
            return "raises", None
        if "timed out after" in words:
            return "hang", None
        return "dies", None
    finally:
        for child in multiprocessing.active_children():
            if child not in before:
                child.terminate()
                child.join()
    return "fine", None


# %% wrong="the usual errors of items alone" says=["an item with an exception of its own"]
import pickle

from torch.utils.data import default_collate


def loader_autopsy(dataset: Dataset, batch_size: int, seconds: float) -> tuple[str, int | None]:
    """The first verdict that applies: ("item", i), ("collate", b), ("pickle", None), …"""
    items = []
    for i in range(len(dataset)):
        try:
            items.append(dataset[i])
        except (KeyError, ValueError, IndexError, RuntimeError, OSError, TypeError):
            return "item", i
    for b in range(0, len(items), batch_size):
        try:
            default_collate(items[b : b + batch_size])
        except Exception:
            return "collate", b // batch_size
    try:
        pickle.dumps(dataset)
    except Exception:
        return "pickle", None
    before = multiprocessing.active_children()
    try:
        for _ in DataLoader(dataset, batch_size, num_workers=1, timeout=seconds):
            pass
    except Exception as error:
        words = str(error)
        if words.startswith("Caught"):
            return "raises", None
        if "timed out after" in words:
            return "hang", None
        return "dies", None
    finally:
        for child in multiprocessing.active_children():
            if child not in before:
                child.terminate()
                child.join()
    return "fine", None


# %% wrong="no item is an item error" says=["no item: the verdict"]
import pickle

from torch.utils.data import default_collate


def loader_autopsy(dataset: Dataset, batch_size: int, seconds: float) -> tuple[str, int | None]:
    """The first verdict that applies: ("item", i), ("collate", b), ("pickle", None), …"""
    items = []
    if not len(dataset):
        return "item", 0
    for i in range(len(dataset)):
        try:
            items.append(dataset[i])
        except Exception:
            return "item", i
    for b in range(0, len(items), batch_size):
        try:
            default_collate(items[b : b + batch_size])
        except Exception:
            return "collate", b // batch_size
    try:
        pickle.dumps(dataset)
    except Exception:
        return "pickle", None
    before = multiprocessing.active_children()
    try:
        for _ in DataLoader(dataset, batch_size, num_workers=1, timeout=seconds):
            pass
    except Exception as error:
        words = str(error)
        if words.startswith("Caught"):
            return "raises", None
        if "timed out after" in words:
            return "hang", None
        return "dies", None
    finally:
        for child in multiprocessing.active_children():
            if child not in before:
                child.terminate()
                child.join()
    return "fine", None


# %% wrong="another pickler" breaks="`pickle.dumps(dataset)` raises" says=["holds a socket", "other picklers take more"]
from multiprocessing.reduction import ForkingPickler

from torch.utils.data import default_collate


def loader_autopsy(dataset: Dataset, batch_size: int, seconds: float) -> tuple[str, int | None]:
    items = []
    for i in range(len(dataset)):
        try:
            items.append(dataset[i])
        except Exception:
            return ("item", i)
    for b, start in enumerate(range(0, len(items), batch_size)):
        try:
            default_collate(items[start : start + batch_size])
        except Exception:
            return ("collate", b)
    try:
        ForkingPickler.dumps(dataset)
    except Exception:
        return ("pickle", None)
    before = set(multiprocessing.active_children())
    try:
        for _ in DataLoader(dataset, batch_size, num_workers=1, timeout=seconds):
            pass
    except Exception as error:
        said = str(error)
        if said.startswith("Caught"):
            return ("raises", None)
        return ("hang", None) if "timed out after" in said else ("dies", None)
    finally:
        for child in set(multiprocessing.active_children()) - before:
            child.terminate()
            child.join()
    return ("fine", None)


# %% wrong="joins by np.stack" breaks="can't be joined by `default_collate`" says=["items that are None", "ask default_collate"]
import multiprocessing
import pickle

import numpy as np
from torch.utils._pytree import tree_map


def loader_autopsy(dataset: Dataset, batch_size: int, seconds: float) -> tuple[str, int | None]:
    items = []
    for i in range(len(dataset)):
        try:
            items.append(dataset[i])
        except Exception:
            return "item", i
    for b, start in enumerate(range(0, len(items), batch_size)):
        try:
            tree_map(lambda *leaves: np.stack(leaves), *items[start : start + batch_size])
        except Exception:
            return "collate", b
    try:
        pickle.dumps(dataset)
    except Exception:
        return "pickle", None
    before = multiprocessing.active_children()
    try:
        for _ in DataLoader(dataset, batch_size, num_workers=1, timeout=seconds):
            pass
    except Exception as error:
        if str(error).lstrip("'\"").startswith("Caught"):
            return "raises", None
        return ("hang" if "timed out after" in str(error) else "dies"), None
    finally:
        for process in multiprocessing.active_children():
            if process not in before:
                process.terminate()
                process.join()
    return "fine", None


# %% wrong="batches of nearly equal size" breaks="of batch b (from 0, unshuffled, the last may be smaller)" says=["item 6 is the last of batch 0, of items 0 to 6"]
import math
import multiprocessing
import pickle


def loader_autopsy(dataset, batch_size, seconds):
    items = []
    for i in range(len(dataset)):
        try:
            items.append(dataset[i])
        except Exception:
            return "item", i
    parts = max(1, math.ceil(len(items) / batch_size))
    for b, places in enumerate(torch.arange(len(items)).tensor_split(parts)):
        try:
            if len(places):
                torch.utils.data.default_collate([items[place] for place in places])
        except Exception:
            return "collate", b
    try:
        pickle.dumps(dataset)
    except Exception:
        return "pickle", None
    before = multiprocessing.active_children()
    try:
        for _ in DataLoader(dataset, batch_size, num_workers=1, timeout=seconds):
            pass
    except Exception as error:
        text = str(error)
        if text.startswith("Caught"):
            return "raises", None
        return ("hang" if "timed out after" in text else "dies"), None
    finally:
        for process in multiprocessing.active_children():
            if process not in before:
                process.terminate()
                process.join()
    return "fine", None
