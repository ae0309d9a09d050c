# %% [markdown]
# Rules:
#
# - "if it is neither `torch.int64` nor `torch.uint8`"
# - "else both shapes as tuples"
# - "as tuples, the one that is wanted and the one that came"
# - "(batch,) or (batch, d1, d2, …)"
# - "the first wrong label and its index as a tuple"
# - "neither in 0 … class − 1 nor `ignore_index`"
# - "First is meant in row-major order"
# - "Return `None` if the labels are fine"
# - "else raise a `ValueError`"
# - "Nothing is changed"
#
# Admits:
#
# - "(batch, class, d1, d2, …)": a label map, row by row
# - "A batch of 0 is fine": an empty batch
# - "`torch.uint8`": uint8, which the loss takes

# %% wrong="forgets ignore_index" says=["-100, the default ignore_index: these labels are fine", "[0, 255], with ignore_index=255"]
# ruff: noqa: E402
def labels_in_range(scores, labels, ignore_index=-100):
    if labels.dtype not in (torch.int64, torch.uint8):
        raise ValueError(f"dtype {labels.dtype}")
    wanted = (scores.shape[0], *scores.shape[2:])
    if tuple(labels.shape) != wanted:
        raise ValueError(f"shape {tuple(labels.shape)}, expected {wanted}")
    wrong = (labels.long() < 0) | (labels.long() >= scores.shape[1])
    if wrong.any():
        index = tuple(wrong.nonzero()[0].tolist())
        raise ValueError(f"label {labels[index].item()} at {index}")


# %% wrong="looks at the largest alone" says=["label -1: no ValueError", "does not contain (1,)"]
def labels_in_range(scores, labels, ignore_index=-100):
    if labels.dtype not in (torch.int64, torch.uint8):
        raise ValueError(f"dtype {labels.dtype}")
    wanted = (scores.shape[0], *scores.shape[2:])
    if tuple(labels.shape) != wanted:
        raise ValueError(f"shape {tuple(labels.shape)}, expected {wanted}")
    if labels.numel() and labels.max() >= scores.shape[1] and labels.max() != ignore_index:
        raise ValueError(f"label {labels.max().item()}")


# %% wrong="up to and including the number of classes" breaks="neither in 0 … class − 1 nor `ignore_index`" says=["label 3 of three classes: no ValueError"]
def labels_in_range(scores, labels, ignore_index=-100):
    if labels.dtype not in (torch.int64, torch.uint8):
        raise ValueError(f"dtype {labels.dtype}")
    wanted = (scores.shape[0], *scores.shape[2:])
    if tuple(labels.shape) != wanted:
        raise ValueError(f"shape {tuple(labels.shape)}, expected {wanted}")
    ids = labels.long()
    wrong = ((ids < 0) | (ids > scores.shape[1])) & (ids != ignore_index)
    if wrong.any():
        index = tuple(wrong.nonzero()[0].tolist())
        raise ValueError(f"label {labels[index].item()} at {index}")


# %% wrong="the classes are the last dimension" says=["a label map"]
def labels_in_range(scores, labels, ignore_index=-100):
    if labels.dtype not in (torch.int64, torch.uint8):
        raise ValueError(f"dtype {labels.dtype}")
    if labels.shape != scores.shape[:-1]:
        raise ValueError(f"shape {tuple(labels.shape)}, expected {tuple(scores.shape[:-1])}")
    ids = labels.long()
    wrong = ((ids < 0) | (ids >= scores.shape[-1])) & (ids != ignore_index)
    if wrong.any():
        index = tuple(wrong.nonzero()[0].tolist())
        raise ValueError(f"label {labels[index].item()} at {index}")


# %% wrong="an assert" breaks="else raise a `ValueError`" says=["raised AssertionError (labels out of range), expected a ValueError of your own", "label -1"]
def labels_in_range(scores, labels, ignore_index=-100):
    assert labels.dtype in (torch.int64, torch.uint8), f"{labels.dtype}"
    assert ((labels >= 0) & (labels < scores.shape[1])).all(), "labels out of range"


# %% wrong="returns the verdict" says=["returned True, expected None or a ValueError"]
def labels_in_range(scores, labels, ignore_index=-100):
    ids = labels.long()
    return bool((((ids >= 0) & (ids < scores.shape[1])) | (ids == ignore_index)).all())


# %% right="a loop over all indices"
import itertools


def labels_in_range(scores, labels, ignore_index=-100):
    if labels.dtype != torch.int64 and labels.dtype != torch.uint8:
        raise ValueError("the labels' dtype is " + str(labels.dtype))
    batch, classes, *rest = scores.shape
    if list(labels.shape) != [batch, *rest]:
        raise ValueError(f"came: {tuple(labels.shape)}; wanted: {(batch, *rest)}")
    for index in itertools.product(*map(range, labels.shape)):
        value = labels[index].item()
        if value != ignore_index and value not in range(classes):
            raise ValueError(f"at {index} stands {value}")


# %% right="argmax of the mask"
import numpy as np


def labels_in_range(scores, labels, ignore_index=-100):
    if str(labels.dtype) not in ("torch.int64", "torch.uint8"):
        raise ValueError(f"{labels.dtype} is no dtype for class ids")
    wanted = tuple(n for dim, n in enumerate(scores.shape) if dim != 1)
    if tuple(labels.shape) != wanted:
        raise ValueError(f"labels of shape {tuple(labels.shape)} for {wanted}")
    flat = labels.cpu().numpy().astype(np.int64)
    bad = np.argwhere((flat != ignore_index) & ~np.isin(flat, np.arange(scores.shape[1])))
    if len(bad):
        index = tuple(int(i) for i in bad[0])
        raise ValueError(f"label={flat[index]} index={index}")


# %% wrong="the largest one first" says=["too small, then too large: the first", "does not contain -5"]
def labels_in_range(scores: torch.Tensor, labels: torch.Tensor, ignore_index: int = -100) -> None:
    if labels.dtype not in (torch.int64, torch.uint8):
        raise ValueError(f"labels are {labels.dtype}")
    wanted = (scores.shape[0], *scores.shape[2:])
    if tuple(labels.shape) != wanted:
        raise ValueError(f"wanted {wanted}, got {tuple(labels.shape)}")
    kept = labels[labels != ignore_index]
    if kept.numel() and kept.max() >= scores.shape[1]:
        where = tuple((labels == kept.max()).nonzero()[0].tolist())
        raise ValueError(f"label {kept.max().item()} at {where}")
    if kept.numel() and kept.min() < 0:
        where = tuple((labels == kept.min()).nonzero()[0].tolist())
        raise ValueError(f"label {kept.min().item()} at {where}")


# %% right="a plain loop over numpy's ndenumerate"
def labels_in_range(scores: torch.Tensor, labels: torch.Tensor, ignore_index: int = -100) -> None:
    import numpy as np

    if labels.dtype != torch.int64 and labels.dtype != torch.uint8:
        raise ValueError(str(labels.dtype))
    n, c, *rest = scores.shape
    if list(labels.shape) != [n, *rest]:
        raise ValueError(f"{(n, *rest)} is wanted and {tuple(labels.shape)} came")
    for index, label in np.ndenumerate(labels.cpu().numpy()):
        if label != ignore_index and not 0 <= int(label) < c:
            raise ValueError(f"label {label} at {index}: there are {c} classes")


# %% wrong="compares uint8 labels with -100" says=["label 156, uint8", "-100 as uint8 is 156"]
def labels_in_range(scores, labels, ignore_index=-100):
    if labels.dtype not in (torch.int64, torch.uint8):
        raise ValueError(f"labels are {labels.dtype}")
    wanted = (scores.shape[0], *scores.shape[2:])
    if tuple(labels.shape) != wanted:
        raise ValueError(f"wanted {wanted}, got {tuple(labels.shape)}")
    wrong = ((labels < 0) | (labels >= scores.shape[1])) & (labels != ignore_index)
    if wrong.any():
        index = tuple(wrong.nonzero()[0].tolist())
        raise ValueError(f"label {labels[index].item()} at {index}")


# %% wrong="compares uint8 labels with 300 classes" says=["label 50 of 300 classes, uint8", "300 as uint8 is 44"]
def labels_in_range(scores, labels, ignore_index=-100):
    if labels.dtype not in (torch.int64, torch.uint8):
        raise ValueError(f"labels are {labels.dtype}")
    wanted = (scores.shape[0], *scores.shape[2:])
    if tuple(labels.shape) != wanted:
        raise ValueError(f"wanted {wanted}, got {tuple(labels.shape)}")
    wrong = ((labels < 0) | (labels >= scores.shape[1])) & (labels.long() != ignore_index)
    if wrong.any():
        index = tuple(wrong.nonzero()[0].tolist())
        raise ValueError(f"label {labels[index].item()} at {index}")


# %% wrong="the values first, then the shape" breaks="else both shapes as tuples" says=["a wrong shape and a wrong label"]
def labels_in_range(scores, labels, ignore_index=-100):
    if labels.dtype not in (torch.int64, torch.uint8):
        raise ValueError(f"labels are {labels.dtype}")
    ids = labels.long()
    wrong = ((ids < 0) | (ids >= scores.shape[1])) & (ids != ignore_index)
    if wrong.any():
        index = tuple(wrong.nonzero()[0].tolist())
        raise ValueError(f"label {labels[index].item()} at {index}")
    wanted = (scores.shape[0], *scores.shape[2:])
    if tuple(labels.shape) != wanted:
        raise ValueError(f"wanted {wanted}, got {tuple(labels.shape)}")


# %% wrong="lets the loss speak" says=["raised IndexError", "expected a ValueError"]
def labels_in_range(scores, labels, ignore_index=-100):
    F.cross_entropy(scores, labels, ignore_index=ignore_index)


# %% wrong="no labels are fine for any batch" says=["no labels for a batch of two"]
def labels_in_range(scores, labels, ignore_index=-100):
    if labels.dtype not in (torch.int64, torch.uint8):
        raise ValueError(f"{labels.dtype}")
    if labels.numel() == 0:
        return None
    w = (scores.shape[0], *scores.shape[2:])
    if tuple(labels.shape) != w:
        raise ValueError(f"{tuple(labels.shape)} {w}")
    ids = labels.long()
    bad = ((ids < 0) | (ids >= scores.shape[1])) & (ids != ignore_index)
    if bad.any():
        i = tuple(bad.nonzero()[0].tolist())
        raise ValueError(f"label {ids[i]} at {i}")


# %% wrong="compares the batch, not the last sizes" breaks="(batch,) or (batch, d1, d2, …)" says=["a label map that is turned"]
def labels_in_range(scores, labels, ignore_index=-100):
    if labels.dtype not in (torch.int64, torch.uint8):
        raise ValueError(f"{labels.dtype}")
    w = (scores.shape[0], *scores.shape[2:])
    if labels.dim() != len(w) or len(labels) != w[0]:
        raise ValueError(f"{tuple(labels.shape)} {w}")
    ids = labels.long()
    bad = ((ids < 0) | (ids >= scores.shape[1])) & (ids != ignore_index)
    if bad.any():
        i = tuple(bad.nonzero()[0].tolist())
        raise ValueError(f"label {ids[i]} at {i}")


# %% wrong="compares the number of labels" says=["a label map that is turned"]
def labels_in_range(scores, labels, ignore_index=-100):
    if labels.dtype not in (torch.int64, torch.uint8):
        raise ValueError(f"{labels.dtype}")
    w = (scores.shape[0], *scores.shape[2:])
    if labels.dim() != len(w) or labels.numel() != scores[:, 0].numel():
        raise ValueError(f"{tuple(labels.shape)} {w}")
    ids = labels.long()
    bad = ((ids < 0) | (ids >= scores.shape[1])) & (ids != ignore_index)
    if bad.any():
        i = tuple(bad.nonzero()[0].tolist())
        raise ValueError(f"label {ids[i]} at {i}")


# %% wrong="any integer dtype but int32" breaks="if it is neither `torch.int64` nor `torch.uint8`" says=["int16: no ValueError"]
def labels_in_range(scores, labels, ignore_index=-100):
    if labels.is_floating_point() or labels.dtype in (torch.bool, torch.int32):
        raise ValueError(f"{labels.dtype}")
    w = (scores.shape[0], *scores.shape[2:])
    if tuple(labels.shape) != w:
        raise ValueError(f"{tuple(labels.shape)} {w}")
    ids = labels.long()
    bad = ((ids < 0) | (ids >= scores.shape[1])) & (ids != ignore_index)
    if bad.any():
        i = tuple(bad.nonzero()[0].tolist())
        raise ValueError(f"label {ids[i]} at {i}")


# %% wrong="looks for the first wrong label column by column" breaks="First is meant in row-major order" says=["a label map, row by row", "does not contain 9"]
def labels_in_range(scores, labels, ignore_index=-100):
    if labels.dtype not in (torch.int64, torch.uint8):
        raise ValueError(f"labels are {labels.dtype}")
    wanted = (scores.shape[0], *scores.shape[2:])
    if tuple(labels.shape) != wanted:
        raise ValueError(f"wanted {wanted}, came {tuple(labels.shape)}")
    values = labels.long()
    wrong = ((values < 0) | (values >= scores.shape[1])) & (values != ignore_index)
    places = wrong.permute(*reversed(range(wrong.dim()))).nonzero().flip(1)
    if len(places):
        place = tuple(places[0].tolist())
        raise ValueError(f"label {values[place].item()} at {place}")


# %% wrong="takes ignore_index=0 for none given" says=["[0, -100], with ignore_index=0"]
def labels_in_range(scores, labels, ignore_index=-100):
    if labels.dtype not in (torch.int64, torch.uint8):
        raise ValueError(f"labels are {labels.dtype}")
    wanted = (scores.shape[0], *scores.shape[2:])
    if tuple(labels.shape) != wanted:
        raise ValueError(f"wanted {wanted}, came {tuple(labels.shape)}")
    values = labels.long()
    wrong = ((values < 0) | (values >= scores.shape[1])) & (values != (ignore_index or -100))
    places = wrong.nonzero()
    if len(places):
        place = tuple(places[0].tolist())
        raise ValueError(f"label {values[place].item()} at {place}")


# %% wrong="the place in the flat labels" breaks="the first wrong label and its index as a tuple" says=["does not contain (0, 0, 1): a tuple has an entry for each dimension"]
def labels_in_range(scores, labels, ignore_index=-100):
    if labels.dtype not in (torch.int64, torch.uint8):
        raise ValueError(f"{labels.dtype}")
    wanted = (scores.shape[0], *scores.shape[2:])
    if tuple(labels.shape) != wanted:
        raise ValueError(f"{tuple(labels.shape)} {wanted}")
    C = scores.shape[1]
    ids = labels.long()
    bad = ((ids < 0) | (ids >= C)) & (ids != ignore_index)
    if bad.any():
        at = tuple(bad.nonzero()[0].tolist())
        flat = int(bad.flatten().nonzero()[0])
        raise ValueError(f"label {ids[at].item()} at ({flat},) of {C}")


# %% wrong="the last wrong label" says=["too small, then too large: the first"]
def labels_in_range(scores, labels, ignore_index=-100):
    if labels.dtype not in (torch.int64, torch.uint8):
        raise ValueError(f"{labels.dtype}")
    wanted = (scores.shape[0], *scores.shape[2:])
    if tuple(labels.shape) != wanted:
        raise ValueError(f"{tuple(labels.shape)} {wanted}")
    C = scores.shape[1]
    ids = labels.long()
    bad = ((ids < 0) | (ids >= C)) & (ids != ignore_index)
    if bad.any():
        at = tuple(bad.nonzero()[-1].tolist())
        raise ValueError(f"label {ids[at].item()} at {at} of {C}")


# %% wrong="another order for a view" says=["a transposed map, row by row"]
def labels_in_range(scores, labels, ignore_index=-100):
    if labels.dtype not in (torch.int64, torch.uint8):
        raise ValueError(f"{labels.dtype}")
    wanted = (scores.shape[0], *scores.shape[2:])
    if tuple(labels.shape) != wanted:
        raise ValueError(f"{tuple(labels.shape)} {wanted}")
    C = scores.shape[1]
    ids = labels.long()
    bad = ((ids < 0) | (ids >= C)) & (ids != ignore_index)
    if bad.any():
        at = (
            tuple(int(v) for v in bad.int().argmax().unsqueeze(0))
            if bad.dim() == 1
            else tuple(
                torch.stack(
                    torch.unravel_index(bad.T.contiguous().T.int().flatten().argmax(), bad.shape)
                ).tolist()
            )
            if bad.is_contiguous()
            else tuple(bad.flip(-1).nonzero()[0].tolist())
        )
        raise ValueError(f"label {ids[at].item()} at {at} of {C}")


# %% wrong="the classes are the last dimension of scores" says=["a label map"]
def labels_in_range(scores, labels, ignore_index=-100):
    if labels.dtype not in (torch.int64, torch.uint8):
        raise ValueError(f"{labels.dtype}")
    wanted = (scores.shape[0], *scores.shape[1:-1])
    if tuple(labels.shape) != wanted:
        raise ValueError(f"{tuple(labels.shape)} {wanted}")
    C = scores.shape[1]
    ids = labels.long()
    bad = ((ids < 0) | (ids >= C)) & (ids != ignore_index)
    if bad.any():
        at = tuple(bad.nonzero()[0].tolist())
        raise ValueError(f"label {ids[at].item()} at {at} of {C}")


# %% wrong="shapes as torch.Size" breaks="as tuples, the one that is wanted and the one that came" says=["does not contain (2,): a torch.Size prints like this"]
def labels_in_range(scores, labels, ignore_index=-100):
    if labels.dtype not in (torch.int64, torch.uint8):
        raise ValueError(f"{labels.dtype}")
    wanted = (scores.shape[0], *scores.shape[2:])
    if tuple(labels.shape) != wanted:
        raise ValueError(f"{labels.shape} {torch.Size(wanted)}")
    C = scores.shape[1]
    ids = labels.long()
    bad = ((ids < 0) | (ids >= C)) & (ids != ignore_index)
    if bad.any():
        at = tuple(bad.nonzero()[0].tolist())
        raise ValueError(f"label {ids[at].item()} at {at} of {C}")


# %% right="unravel_index"
def labels_in_range(scores, labels, ignore_index=-100):
    if labels.dtype not in (torch.int64, torch.uint8):
        raise ValueError(f"{labels.dtype}")
    wanted = (scores.shape[0], *scores.shape[2:])
    if tuple(labels.shape) != wanted:
        raise ValueError(f"{tuple(labels.shape)} {wanted}")
    C = scores.shape[1]
    ids = labels.to(torch.int64)
    ok = (ids == ignore_index) | ((0 <= ids) & (ids < C))
    if bool(ok.all()):
        return
    n = int((~ok).flatten().int().argmax())
    at = tuple(int(v) for v in torch.unravel_index(torch.tensor(n), ok.shape))
    raise ValueError(f"{int(ids.reshape(-1)[n])} is no class, {at}, there are {C}")


# %% wrong="returns True" breaks="Return `None` if the labels are fine" says=["returned True, expected None or a ValueError"]
def labels_in_range(scores, labels, ignore_index=-100):
    if labels.dtype not in (torch.int64, torch.uint8):
        raise ValueError(f"labels are {labels.dtype}")
    wanted = (scores.shape[0], *scores.shape[2:])
    if tuple(labels.shape) != wanted:
        raise ValueError(f"labels have shape {tuple(labels.shape)}, wanted {wanted}")
    classes = scores.shape[1]
    wide = labels.long()
    wrong = ((wide < 0) | (wide >= classes)) & (wide != ignore_index)
    places = wrong.nonzero()
    if not len(places):
        return True
    if len(places):
        where = tuple(places[0].tolist())
        raise ValueError(f"label {labels[where].item()} at {where}: there are {classes} classes")


# %% wrong="puts the ignored labels to 0" breaks="Nothing is changed" says=["an argument was changed (its values)"]
def labels_in_range(scores, labels, ignore_index=-100):
    if labels.dtype not in (torch.int64, torch.uint8):
        raise ValueError(f"labels are {labels.dtype}")
    wanted = (scores.shape[0], *scores.shape[2:])
    if tuple(labels.shape) != wanted:
        raise ValueError(f"labels have shape {tuple(labels.shape)}, wanted {wanted}")
    classes = scores.shape[1]
    labels[labels == ignore_index] = 0
    wide = labels.long()
    wrong = ((wide < 0) | (wide >= classes)) & (wide != ignore_index)
    places = wrong.nonzero()
    if len(places):
        where = tuple(places[0].tolist())
        raise ValueError(f"label {labels[where].item()} at {where}: there are {classes} classes")


# %% wrong="the classes are the last size of the scores" says=["these labels are fine, but they were refused"]
def labels_in_range(scores, labels, ignore_index=-100):
    if labels.dtype not in (torch.int64, torch.uint8):
        raise ValueError(f"labels are {labels.dtype}")
    wanted = (scores.shape[0], *scores.shape[2:])
    if tuple(labels.shape) != wanted:
        raise ValueError(f"labels have shape {tuple(labels.shape)}, wanted {wanted}")
    classes = scores.shape[-1]
    wide = labels.long()
    wrong = ((wide < 0) | (wide >= classes)) & (wide != ignore_index)
    places = wrong.nonzero()
    if len(places):
        where = tuple(places[0].tolist())
        raise ValueError(f"label {labels[where].item()} at {where}: there are {classes} classes")


# %% wrong="a label of -1 is never ignored" breaks="neither in 0 … class − 1 nor `ignore_index`" says=["[-1, 0], with ignore_index=-1: these labels are fine"]
def labels_in_range(scores: torch.Tensor, labels: torch.Tensor, ignore_index: int = -100) -> None:
    if labels.dtype not in (torch.int64, torch.uint8):
        raise ValueError(f"labels are {labels.dtype}: make them int64")
    wanted, came = (scores.shape[0], *scores.shape[2:]), tuple(labels.shape)
    if wanted != came:
        raise ValueError(f"labels of shape {wanted} are wanted, not {came}")
    classes, values = scores.shape[1], labels.long()
    wrong = ((values < 0) | (values >= classes)) & ((values != ignore_index) | (values == -1))
    if wrong.any():
        index = tuple(wrong.nonzero()[0].tolist())
        raise ValueError(f"label {values[index].item()} at {index}: there are {classes} classes")


# %% wrong="maps of two dimensions at most" breaks="(batch,) or (batch, d1, d2, …)" says=["a volume: no ValueError"]
def labels_in_range(scores: torch.Tensor, labels: torch.Tensor, ignore_index: int = -100) -> None:
    if labels.dtype not in (torch.int64, torch.uint8):
        raise ValueError(f"labels are {labels.dtype}: make them int64")
    wanted, came = (scores.shape[0], *scores.shape[2:]), tuple(labels.shape)
    if wanted != came:
        raise ValueError(f"labels of shape {wanted} are wanted, not {came}")
    if scores.ndim > 4:
        return
    classes, values = scores.shape[1], labels.long()
    wrong = ((values < 0) | (values >= classes)) & (values != ignore_index)
    if wrong.any():
        index = tuple(wrong.nonzero()[0].tolist())
        raise ValueError(f"label {values[index].item()} at {index}: there are {classes} classes")


# %% wrong="the largest of no label" says=["maps without a pixel"]
def labels_in_range(scores: torch.Tensor, labels: torch.Tensor, ignore_index: int = -100) -> None:
    if labels.dtype not in (torch.int64, torch.uint8):
        raise ValueError(f"labels are {labels.dtype}: make them int64")
    wanted, came = (scores.shape[0], *scores.shape[2:]), tuple(labels.shape)
    if wanted != came:
        raise ValueError(f"labels of shape {wanted} are wanted, not {came}")
    classes, values = scores.shape[1], labels.long()
    if len(values):
        values.max()
    wrong = ((values < 0) | (values >= classes)) & (values != ignore_index)
    if wrong.any():
        index = tuple(wrong.nonzero()[0].tolist())
        raise ValueError(f"label {values[index].item()} at {index}: there are {classes} classes")


# %% wrong="int32 on the way" says=["a label beyond int32"]
def labels_in_range(scores: torch.Tensor, labels: torch.Tensor, ignore_index: int = -100) -> None:
    if labels.dtype not in (torch.int64, torch.uint8):
        raise ValueError(f"labels are {labels.dtype}: make them int64")
    wanted, came = (scores.shape[0], *scores.shape[2:]), tuple(labels.shape)
    if wanted != came:
        raise ValueError(f"labels of shape {wanted} are wanted, not {came}")
    classes, values = scores.shape[1], labels.int()
    wrong = ((values < 0) | (values >= classes)) & (values != ignore_index)
    if wrong.any():
        index = tuple(wrong.nonzero()[0].tolist())
        raise ValueError(f"label {values[index].item()} at {index}: there are {classes} classes")


# %% wrong="one class: nothing to look for" says=["one class alone: no ValueError"]
def labels_in_range(scores: torch.Tensor, labels: torch.Tensor, ignore_index: int = -100) -> None:
    if labels.dtype not in (torch.int64, torch.uint8):
        raise ValueError(f"labels are {labels.dtype}: make them int64")
    wanted, came = (scores.shape[0], *scores.shape[2:]), tuple(labels.shape)
    if wanted != came:
        raise ValueError(f"labels of shape {wanted} are wanted, not {came}")
    if scores.shape[1] == 1:
        return
    classes, values = scores.shape[1], labels.long()
    wrong = ((values < 0) | (values >= classes)) & (values != ignore_index)
    if wrong.any():
        index = tuple(wrong.nonzero()[0].tolist())
        raise ValueError(f"label {values[index].item()} at {index}: there are {classes} classes")


# %% wrong="range asked before dtype" says=["int32 and a wrong label"]
def labels_in_range(scores, labels, ignore_index=-100):
    wanted = tuple(scores.shape[:1] + scores.shape[2:])
    if tuple(labels.shape) != wanted:
        raise ValueError(f"wanted {wanted}, got {tuple(labels.shape)}")
    classes = scores.shape[1]
    numbers = labels.long()
    wrong = ((numbers < 0) | (numbers >= classes)) & (numbers != ignore_index)
    if not wrong.any() and labels.dtype not in (torch.int64, torch.uint8):
        raise ValueError(f"labels are {labels.dtype}")
    if wrong.any():
        place = tuple(wrong.nonzero()[0].tolist())
        if labels.dtype not in (torch.int64, torch.uint8):
            raise ValueError(f"labels are wrong at {place}")
        raise ValueError(f"label {numbers[place].item()} at {place}: {classes} classes")


# %% wrong="labels of no dimension broadcast" says=["one label without its dimension"]
def labels_in_range(scores, labels, ignore_index=-100):
    if labels.dtype not in (torch.int64, torch.uint8):
        raise ValueError(f"labels are {labels.dtype}")
    wanted = tuple(scores.shape[:1] + scores.shape[2:])
    if labels.ndim and tuple(labels.shape) != wanted:
        raise ValueError(f"wanted {wanted}, got {tuple(labels.shape)}")
    classes = scores.shape[1]
    numbers = labels.long().expand(wanted)
    wrong = ((numbers < 0) | (numbers >= classes)) & (numbers != ignore_index)
    if wrong.any():
        place = tuple(wrong.nonzero()[0].tolist())
        raise ValueError(f"label {numbers[place].item()} at {place}: {classes} classes")


# %% wrong="the too small ones first" breaks="First is meant in row-major order" says=["too large, then too small: the first", "does not contain 7"]
def labels_in_range(scores: torch.Tensor, labels: torch.Tensor, ignore_index: int = -100) -> None:
    if labels.dtype not in (torch.int64, torch.uint8):
        raise ValueError(f"labels of dtype {labels.dtype}: int64 or uint8 is wanted")
    wanted = (scores.shape[0], *scores.shape[2:])
    if tuple(labels.shape) != tuple(wanted):
        raise ValueError(f"labels of shape {tuple(wanted)} are wanted, {tuple(labels.shape)} came")
    ids, classes = labels.long(), scores.shape[1]
    counted = ids != ignore_index
    for wrong in ((ids < 0) & counted, (ids >= classes) & counted):
        if wrong.any():
            index = tuple(wrong.nonzero()[0].tolist())
            raise ValueError(f"label {ids[index].item()} at {index}: there are {classes} classes")


# %% wrong="labels by way of float" breaks="the first wrong label and its index as a tuple" says=["a label beyond int32 and floats", "does not contain 1152921504606846977"]
def labels_in_range(scores: torch.Tensor, labels: torch.Tensor, ignore_index: int = -100) -> None:
    if labels.dtype not in (torch.int64, torch.uint8):
        raise ValueError(f"labels of dtype {labels.dtype}")
    wanted = (scores.shape[0], *scores.shape[2:])
    if tuple(labels.shape) != wanted:
        raise ValueError(f"wanted {wanted}, got {tuple(labels.shape)}")
    ids = labels.float()
    wrong = ((ids < 0) | (ids >= scores.shape[1])) & (ids != ignore_index)
    places = wrong.nonzero()
    if len(places):
        place = tuple(places[0].tolist())
        raise ValueError(f"label {int(ids[place].item())} at {place}")


# %% wrong="NumPy's numbers in the index" says=["does not contain (1,): NumPy's numbers print like this"]
import numpy as np


def labels_in_range(scores: torch.Tensor, labels: torch.Tensor, ignore_index: int = -100) -> None:
    if labels.dtype not in (torch.int64, torch.uint8):
        raise ValueError(f"labels of dtype {labels.dtype}")
    wanted = (scores.shape[0], *scores.shape[2:])
    if tuple(labels.shape) != wanted:
        raise ValueError(f"wanted {wanted}, got {tuple(labels.shape)}")
    ids = labels.detach().cpu().numpy().astype(np.int64)
    wrong = ((ids < 0) | (ids >= scores.shape[1])) & (ids != ignore_index)
    places = np.argwhere(wrong)
    if places.size:
        place = tuple(places[0])
        raise ValueError(f"label {ids[place]} at {place}: there are {scores.shape[1]} classes")
