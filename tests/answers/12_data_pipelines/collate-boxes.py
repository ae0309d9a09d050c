# %% [markdown]
# Rules:
#
# - "or `None`, which you leave out"
# - "zeros to the right of an image and below it"
# - "(B, 2), int64, H and W of each image"
# - "(B, largest N, 4), boxes first, then zeros"
# - "(B, largest N), bool: which boxes are real"
# - "Items keep their order"
# - "images and boxes their dtype"
# - "If no item is left, or none came, return `None`"
# - "Leave the arguments as they are"
#
# Admits:
#
# - "both of any numbers": boxes of -1
# - "any numbers and any dtype": bfloat16 images and boxes, a dtype that NumPy lacks
# - "All images have the same number of channels": one channel
# - "all boxes share a dtype, too": half images, int64 boxes
# - "N may be 0": an image without boxes
# - "If no item is left": nothing but damaged files
# - "or none came": no item at all

# %% wrong="the mask from values" breaks="(B, largest N), bool: which boxes are real" says=["a box whose four numbers are 0", "the mask (from the counts, not from the values)"]
def collate_boxes(items):
    items = [item for item in items if item is not None]
    if not items:
        return None
    h = max(image.shape[1] for image, _ in items)
    w = max(image.shape[2] for image, _ in items)
    n = max(len(boxes) for _, boxes in items)
    images = torch.stack(
        [torch.nn.functional.pad(x, (0, w - x.shape[2], 0, h - x.shape[1])) for x, _ in items]
    )
    boxes = torch.stack([torch.nn.functional.pad(b, (0, 0, 0, n - len(b))) for _, b in items])
    sizes = torch.tensor([x.shape[1:] for x, _ in items])
    return {"images": images, "sizes": sizes, "boxes": boxes, "mask": (boxes != 0).any(-1)}


# %% wrong="forgets the damaged file" breaks="or `None`, which you leave out" says=["a damaged file among them", "NoneType"]
def collate_boxes(items):
    images, boxes = zip(*items)
    h, w = max(x.shape[1] for x in images), max(x.shape[2] for x in images)
    out = torch.zeros(len(images), images[0].shape[0], h, w, dtype=images[0].dtype)
    for k, x in enumerate(images):
        out[k, :, : x.shape[1], : x.shape[2]] = x
    padded = torch.nn.utils.rnn.pad_sequence(boxes, batch_first=True)
    counts = torch.tensor([len(b) for b in boxes])
    mask = torch.arange(padded.shape[1]) < counts[:, None]
    return {
        "images": out,
        "sizes": torch.tensor([x.shape[1:] for x in images]),
        "boxes": padded,
        "mask": mask,
    }


# %% wrong="float images and centred padding" says=["uint8 images", "has dtype torch.float32, expected torch.uint8"]
def collate_boxes(items):
    items = [item for item in items if item is not None]
    if not items:
        return None
    h = max(image.shape[1] for image, _ in items)
    w = max(image.shape[2] for image, _ in items)
    n = max(len(boxes) for _, boxes in items)
    images, boxes = torch.zeros(len(items), 3, h, w), torch.zeros(len(items), n, 4)
    mask = torch.zeros(len(items), n, dtype=torch.bool)
    for k, (image, box) in enumerate(items):
        images[k, :, : image.shape[1], : image.shape[2]] = image
        boxes[k, : len(box)] = box
        mask[k, : len(box)] = True
    return {
        "images": images,
        "sizes": torch.tensor([x.shape[1:] for x, _ in items]),
        "boxes": boxes,
        "mask": mask,
    }


# %% wrong="pads above and to the left" breaks="zeros to the right of an image and below it" says=["images, padded on the right and below"]
def collate_boxes(items):
    items = [item for item in items if item is not None]
    if not items:
        return None
    h = max(image.shape[1] for image, _ in items)
    w = max(image.shape[2] for image, _ in items)
    images = torch.stack(
        [torch.nn.functional.pad(x, (w - x.shape[2], 0, h - x.shape[1], 0)) for x, _ in items]
    )
    boxes = torch.nn.utils.rnn.pad_sequence([b for _, b in items], batch_first=True)
    counts = torch.tensor([len(b) for _, b in items])
    mask = torch.arange(boxes.shape[1]) < counts[:, None]
    return {
        "images": images,
        "sizes": torch.tensor([x.shape[1:] for x, _ in items]),
        "boxes": boxes,
        "mask": mask,
    }


# %% wrong="sizes as width and height, counts for a mask" says=["sizes"]
def collate_boxes(items):
    items = [item for item in items if item is not None]
    if not items:
        return None
    h = max(image.shape[1] for image, _ in items)
    w = max(image.shape[2] for image, _ in items)
    images = torch.stack(
        [torch.nn.functional.pad(x, (0, w - x.shape[2], 0, h - x.shape[1])) for x, _ in items]
    )
    boxes = torch.nn.utils.rnn.pad_sequence([b for _, b in items], batch_first=True)
    sizes = torch.tensor([(x.shape[2], x.shape[1]) for x, _ in items])
    return {
        "images": images,
        "sizes": sizes,
        "boxes": boxes,
        "mask": torch.tensor([len(b) for _, b in items]),
    }


# %% wrong="an empty batch for nothing" says=["with no item left it is None"]
def collate_boxes(items):
    items = [item for item in items if item is not None]
    h = max([image.shape[1] for image, _ in items], default=0)
    w = max([image.shape[2] for image, _ in items], default=0)
    if not items:
        return {}
    images = torch.stack(
        [torch.nn.functional.pad(x, (0, w - x.shape[2], 0, h - x.shape[1])) for x, _ in items]
    )
    boxes = torch.nn.utils.rnn.pad_sequence([b for _, b in items], batch_first=True)
    counts = torch.tensor([len(b) for _, b in items])
    mask = torch.arange(boxes.shape[1]) < counts[:, None]
    return {
        "images": images,
        "sizes": torch.tensor([x.shape[1:] for x, _ in items]),
        "boxes": boxes,
        "mask": mask,
    }


# %% wrong="repeats the last pixels, times a mask" says=["∞ and NaN among the numbers", "what is padded has to be 0, and NaN or ∞ times 0 is NaN"]
def collate_boxes(items: list) -> dict[str, torch.Tensor] | None:
    items = [item for item in items if item is not None]
    if not items:
        return None
    sizes = torch.tensor([list(image.shape[-2:]) for image, _ in items], dtype=torch.int64)
    counts = torch.tensor([boxes.shape[0] for _, boxes in items], dtype=torch.int64)
    height, width = (int(n) for n in sizes.max(dim=0).values)
    most = int(counts.max())
    rows, columns = torch.arange(height), torch.arange(width)
    images = []
    for image, _ in items:
        h, w = image.shape[-2:]
        spread = image[:, rows.clamp(max=h - 1)][:, :, columns.clamp(max=w - 1)]
        inside = (rows < h)[:, None] & (columns < w)[None, :]
        images.append(spread * inside.to(image.dtype))
    mask = torch.arange(most) < counts[:, None]
    boxes = items[0][1].new_zeros(len(items), most, 4)
    for k, (_, own) in enumerate(items):
        boxes[k, : len(own)] = own
    return {"images": torch.stack(images), "sizes": sizes, "boxes": boxes, "mask": mask}


# %% wrong="pads with -∞, and makes it 0" says=["∞ and NaN among the numbers", "NaN and ∞ are numbers of the image: they stay"]
def collate_boxes(items):
    items = [item for item in items if item is not None]
    if not items:
        return None
    images, boxes = zip(*items)
    sizes = torch.tensor([list(x.shape[1:]) for x in images])
    h, w = sizes.amax(0).tolist()
    fill = -torch.inf if images[0].is_floating_point() else 0
    padded = [
        torch.nn.functional.pad(x, (0, w - x.shape[2], 0, h - x.shape[1]), value=fill)
        for x in images
    ]
    padded = torch.stack(padded)
    if images[0].is_floating_point():
        padded = padded.masked_fill(padded == fill, 0)
    counts = torch.tensor([len(b) for b in boxes])
    boxes = torch.nn.utils.rnn.pad_sequence(boxes, batch_first=True)
    mask = torch.arange(boxes.shape[1]) < counts[:, None]
    return {"images": padded, "sizes": sizes, "boxes": boxes, "mask": mask}


# %% right="pad and pad_sequence"
def collate_boxes(items):
    kept = list(filter(lambda item: item is not None, items))
    if len(kept) == 0:
        return None
    images, boxes = [list(part) for part in zip(*kept)]
    sizes = torch.stack([torch.tensor(x.shape[-2:]) for x in images])
    high, wide = sizes.max(0).values
    padded = [
        torch.nn.functional.pad(x, (0, wide - x.shape[2], 0, high - x.shape[1])) for x in images
    ]
    truth = [torch.ones(len(b), dtype=torch.bool) for b in boxes]
    join = lambda rows: torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
    return {
        "images": torch.stack(padded),
        "sizes": sizes,
        "boxes": join(boxes),
        "mask": join(truth),
    }


# %% right="loops and cat"
def collate_boxes(items):
    rows = []
    for item in items:
        if item is not None:
            rows.append(item)
    if not rows:
        return None
    big_h = big_w = most = 0
    for image, boxes in rows:
        big_h, big_w, most = (
            max(big_h, image.size(1)),
            max(big_w, image.size(2)),
            max(most, boxes.size(0)),
        )
    out = {"images": [], "sizes": [], "boxes": [], "mask": []}
    for image, boxes in rows:
        c, h, w = image.shape
        wide = torch.cat([image, image.new_zeros(c, h, big_w - w)], 2)
        out["images"].append(torch.cat([wide, image.new_zeros(c, big_h - h, big_w)], 1))
        out["sizes"].append(torch.tensor([h, w]))
        out["boxes"].append(
            torch.cat([boxes, torch.zeros(most - len(boxes), 4, dtype=boxes.dtype)])
        )
        out["mask"].append(torch.tensor([k < len(boxes) for k in range(most)], dtype=torch.bool))
    return {key: torch.stack(value) for key, value in out.items()}


# %% wrong="three channels assumed" says=["one channel", "has shape"]
def collate_boxes(items):
    items = [x for x in items if x is not None]
    if not items:
        return None
    h = max(i.shape[-2] for i, _ in items)
    w = max(i.shape[-1] for i, _ in items)
    n = max(b.shape[0] for _, b in items)
    img0, box0 = items[0]
    images = torch.zeros(len(items), 3, h, w, dtype=img0.dtype)
    boxes = torch.zeros(len(items), n, 4, dtype=box0.dtype)
    for k, (i, b) in enumerate(items):
        images[k, :, : i.shape[-2], : i.shape[-1]] = i
        boxes[k, : b.shape[0]] = b
    mask = torch.tensor(
        [[j < len(b) for j in range(n)] for _, b in items], dtype=torch.bool
    ).reshape(len(items), n)
    return {
        "images": images,
        "sizes": torch.tensor([list(i.shape[1:]) for i, _ in items]),
        "boxes": boxes,
        "mask": mask,
    }


# %% wrong="numpy arrays filled, then from_numpy" says=["bfloat16 images and boxes, a dtype that NumPy lacks", "stay with tensors"]
import numpy as np


def collate_boxes(items):
    images, boxes = [], []
    for item in items:
        if item is None:
            continue
        images.append(item[0].detach().numpy())
        boxes.append(item[1].detach().numpy())
    if not images:
        return
    c = images[0].shape[0]
    big = np.zeros(
        (len(images), c, max(i.shape[1] for i in images), max(i.shape[2] for i in images)),
        images[0].dtype,
    )
    frames = np.zeros((len(images), max(map(len, boxes)), 4), boxes[0].dtype)
    mask = np.zeros(frames.shape[:2], bool)
    sizes = np.zeros((len(images), 2), np.int64)
    for k in range(len(images)):
        _, h, w = images[k].shape
        big[k, :, :h, :w], sizes[k] = images[k], (h, w)
        frames[k, : len(boxes[k])], mask[k, : len(boxes[k])] = boxes[k], True
    return {
        k: torch.from_numpy(v)
        for k, v in zip(("images", "sizes", "boxes", "mask"), (big, sizes, frames, mask))
    }


# %% wrong="takes the damaged files out of the caller's list" breaks="Leave the arguments as they are" says=["the list that came in was changed"]
def collate_boxes(items):
    while None in [item if item is None else 0 for item in items]:
        items.remove(None)
    if not items:
        return None
    h = max(image.shape[1] for image, _ in items)
    w = max(image.shape[2] for image, _ in items)
    images = torch.stack(
        [torch.nn.functional.pad(x, (0, w - x.shape[2], 0, h - x.shape[1])) for x, _ in items]
    )
    boxes = torch.nn.utils.rnn.pad_sequence([b for _, b in items], batch_first=True)
    counts = torch.tensor([len(b) for _, b in items])
    mask = torch.arange(boxes.shape[1]) < counts[:, None]
    sizes = torch.tensor([x.shape[1:] for x, _ in items])
    return {"images": images, "sizes": sizes, "boxes": boxes, "mask": mask}


# %% wrong="boxes as floats" breaks="images and boxes their dtype" says=["half images, int64 boxes"]
def collate_boxes(items):
    items = [item for item in items if item is not None]
    if not items:
        return None
    h = max(image.shape[1] for image, _ in items)
    w = max(image.shape[2] for image, _ in items)
    n = max(len(boxes) for _, boxes in items)
    images = torch.stack(
        [torch.nn.functional.pad(x, (0, w - x.shape[2], 0, h - x.shape[1])) for x, _ in items]
    )
    boxes, mask = torch.zeros(len(items), n, 4), torch.zeros(len(items), n, dtype=torch.bool)
    for k, (_, box) in enumerate(items):
        boxes[k, : len(box)], mask[k, : len(box)] = box, True
    sizes = torch.tensor([x.shape[1:] for x, _ in items])
    return {"images": images, "sizes": sizes, "boxes": boxes, "mask": mask}


# %% wrong="leaves out images without boxes" says=["an image without boxes"]
def collate_boxes(items):
    items = [item for item in items if item is not None and len(item[1])]
    if not items:
        return None
    h = max(image.shape[1] for image, _ in items)
    w = max(image.shape[2] for image, _ in items)
    images = torch.stack(
        [torch.nn.functional.pad(x, (0, w - x.shape[2], 0, h - x.shape[1])) for x, _ in items]
    )
    boxes = torch.nn.utils.rnn.pad_sequence([b for _, b in items], batch_first=True)
    counts = torch.tensor([len(b) for _, b in items])
    mask = torch.arange(boxes.shape[1]) < counts[:, None]
    sizes = torch.tensor([x.shape[1:] for x, _ in items])
    return {"images": images, "sizes": sizes, "boxes": boxes, "mask": mask}


# %% wrong="returns None where all are damaged, not where none came" breaks="If no item is left, or none came, return `None`" says=["no item at all", "ValueError"]
def collate_boxes(items):
    all_damaged = None in items and not any(item is not None for item in items)
    items = [item for item in items if item is not None]
    if all_damaged:
        return None
    height = max(image.shape[1] for image, _ in items)
    width = max(image.shape[2] for image, _ in items)
    most = max(len(boxes) for _, boxes in items)
    images = torch.zeros(len(items), items[0][0].shape[0], height, width, dtype=items[0][0].dtype)
    padded = torch.zeros(len(items), most, 4, dtype=items[0][1].dtype)
    mask = torch.zeros(len(items), most, dtype=torch.bool)
    for n, (image, boxes) in enumerate(items):
        images[n, :, : image.shape[1], : image.shape[2]] = image
        padded[n, : len(boxes)] = boxes
        mask[n, : len(boxes)] = True
    sizes = torch.tensor([[*image.shape[1:]] for image, _ in items])
    return {"images": images, "sizes": sizes, "boxes": padded, "mask": mask}


# %% wrong="no wider than float32" says=["float64 images, half boxes", "has dtype torch.float32, expected torch.float64"]
def collate_boxes(items):
    items = [item for item in items if item is not None]
    if not items:
        return None
    height = max(image.shape[1] for image, _ in items)
    width = max(image.shape[2] for image, _ in items)
    most = max(len(boxes) for _, boxes in items)
    images = torch.zeros(
        len(items),
        items[0][0].shape[0],
        height,
        width,
        dtype=torch.promote_types(items[0][0].dtype, torch.uint8)
        if items[0][0].dtype != torch.float64
        else torch.float32,
    )
    padded = torch.zeros(len(items), most, 4, dtype=items[0][1].dtype)
    mask = torch.zeros(len(items), most, dtype=torch.bool)
    for n, (image, boxes) in enumerate(items):
        images[n, :, : image.shape[1], : image.shape[2]] = image
        padded[n, : len(boxes)] = boxes
        mask[n, : len(boxes)] = True
    sizes = torch.tensor([[*image.shape[1:]] for image, _ in items])
    return {"images": images, "sizes": sizes, "boxes": padded, "mask": mask}


# %% wrong="boxes in float32 unless they are whole" says=["float64 images, half boxes", "has dtype torch.float32, expected torch.float16"]
def collate_boxes(items):
    items = [item for item in items if item is not None]
    if not items:
        return None
    height = max(image.shape[1] for image, _ in items)
    width = max(image.shape[2] for image, _ in items)
    most = max(len(boxes) for _, boxes in items)
    images = torch.zeros(len(items), items[0][0].shape[0], height, width, dtype=items[0][0].dtype)
    padded = torch.zeros(
        len(items),
        most,
        4,
        dtype=torch.int64 if items[0][1].dtype == torch.int64 else torch.float32,
    )
    mask = torch.zeros(len(items), most, dtype=torch.bool)
    for n, (image, boxes) in enumerate(items):
        images[n, :, : image.shape[1], : image.shape[2]] = image
        padded[n, : len(boxes)] = boxes
        mask[n, : len(boxes)] = True
    sizes = torch.tensor([[*image.shape[1:]] for image, _ in items])
    return {"images": images, "sizes": sizes, "boxes": padded, "mask": mask}


# %% wrong="pads with -1 and looks for it" says=["boxes of -1: the batch: boxes differs"]
from torch.nn.utils.rnn import pad_sequence


def collate_boxes(items):
    items = [item for item in items if item is not None]
    if not items:
        return None
    height = max(image.shape[1] for image, _ in items)
    width = max(image.shape[2] for image, _ in items)
    images = [
        torch.nn.functional.pad(image, (0, width - image.shape[2], 0, height - image.shape[1]))
        for image, _ in items
    ]
    boxes = pad_sequence([boxes for _, boxes in items], batch_first=True, padding_value=-1)
    mask = (boxes != -1).any(-1)
    sizes = torch.tensor([[*image.shape[1:]] for image, _ in items])
    boxes = torch.where(mask[..., None], boxes, 0)
    return {
        "images": torch.stack(images),
        "sizes": sizes,
        "boxes": boxes.to(items[0][1].dtype),
        "mask": mask,
    }


# %% wrong="images through float32" says=["beyond what float32 counts", "int64 by name, with float32's digits"]
def collate_boxes(items):
    items = [i for i in items if i is not None]
    if not items:
        return None
    images, boxes = zip(*items)
    h = max(i.shape[1] for i in images)
    w = max(i.shape[2] for i in images)
    n = max(len(b) for b in boxes)
    out = torch.zeros(len(items), images[0].shape[0], h, w)
    bx = boxes[0].new_zeros(len(items), n, 4)
    mask = torch.zeros(len(items), n, dtype=torch.bool)
    for k, (i, b) in enumerate(items):
        out[k, :, : i.shape[1], : i.shape[2]] = i
        bx[k, : len(b)] = b
        mask[k, : len(b)] = True
    sizes = torch.tensor([i.shape[1:] for i in images])
    return {"images": out.to(images[0].dtype), "sizes": sizes, "boxes": bx, "mask": mask}


# %% wrong="boxes through float32" says=["beyond what float32 counts", "int64 by name, with float32's digits"]
def collate_boxes(items):
    items = [i for i in items if i is not None]
    if not items:
        return None
    images, boxes = zip(*items)
    h = max(i.shape[1] for i in images)
    w = max(i.shape[2] for i in images)
    n = max(len(b) for b in boxes)
    out = images[0].new_zeros(len(items), images[0].shape[0], h, w)
    bx = torch.zeros(len(items), n, 4)
    mask = torch.zeros(len(items), n, dtype=torch.bool)
    for k, (i, b) in enumerate(items):
        out[k, :, : i.shape[1], : i.shape[2]] = i
        bx[k, : len(b)] = b
        mask[k, : len(b)] = True
    sizes = torch.tensor([i.shape[1:] for i in images])
    return {"images": out, "sizes": sizes, "boxes": bx.to(boxes[0].dtype), "mask": mask}


# %% wrong="images clamped to 0 and up" says=["images below 0"]
def collate_boxes(items):
    items = [i for i in items if i is not None]
    if not items:
        return None
    images, boxes = zip(*items)
    h = max(i.shape[1] for i in images)
    w = max(i.shape[2] for i in images)
    n = max(len(b) for b in boxes)
    out = images[0].new_zeros(len(items), images[0].shape[0], h, w)
    bx = boxes[0].new_zeros(len(items), n, 4)
    mask = torch.zeros(len(items), n, dtype=torch.bool)
    for k, (i, b) in enumerate(items):
        out[k, :, : i.shape[1], : i.shape[2]] = i.clamp(min=0)
        bx[k, : len(b)] = b
        mask[k, : len(b)] = True
    sizes = torch.tensor([i.shape[1:] for i in images])
    return {"images": out, "sizes": sizes, "boxes": bx, "mask": mask}


# %% wrong="sorted by size" breaks="Items keep their order" says=["items keep theirs"]
def collate_boxes(items):
    items = sorted([i for i in items if i is not None], key=lambda i: -i[0].numel())
    if not items:
        return None
    sizes = torch.tensor([i.shape[-2:] for i, _ in items])
    h, w = sizes.amax(0).tolist()
    n = max(len(b) for _, b in items)
    images = torch.stack(
        [torch.nn.functional.pad(i, (0, w - i.shape[2], 0, h - i.shape[1])) for i, _ in items]
    )
    boxes = torch.stack([torch.nn.functional.pad(b, (0, 0, 0, n - len(b))) for _, b in items])
    mask = torch.stack([torch.arange(n) < len(b) for _, b in items])
    return {"images": images, "sizes": sizes, "boxes": boxes, "mask": mask}


# %% wrong="at least one row of boxes" breaks="(B, largest N, 4), boxes first, then zeros" says=["no boxes at all"]
def collate_boxes(items):
    items = [i for i in items if i is not None]
    if not items:
        return None
    sizes = torch.tensor([i.shape[-2:] for i, _ in items])
    h, w = sizes.amax(0).tolist()
    n = max(1, *(len(b) for _, b in items))
    images = torch.stack(
        [torch.nn.functional.pad(i, (0, w - i.shape[2], 0, h - i.shape[1])) for i, _ in items]
    )
    boxes = torch.stack([torch.nn.functional.pad(b, (0, 0, 0, n - len(b))) for _, b in items])
    mask = torch.stack([torch.arange(n) < len(b) for _, b in items])
    return {"images": images, "sizes": sizes, "boxes": boxes, "mask": mask}


# %% right="zeros narrowed and copied into"
def collate_boxes(items):
    kept = list(filter(lambda i: i is not None, items))
    if len(kept) == 0:
        return None
    hs, ws = [i.size(1) for i, _ in kept], [i.size(2) for i, _ in kept]
    ns = [b.size(0) for _, b in kept]
    out = torch.zeros(len(kept), kept[0][0].size(0), max(hs), max(ws), dtype=kept[0][0].dtype)
    bx = torch.zeros(len(kept), max(ns), 4, dtype=kept[0][1].dtype)
    mask = torch.zeros(len(kept), max(ns), dtype=torch.bool)
    for k, (i, b) in enumerate(kept):
        out[k].narrow(1, 0, hs[k]).narrow(2, 0, ws[k]).copy_(i)
        bx[k].narrow(0, 0, ns[k]).copy_(b)
        mask[k, : ns[k]] = True
    return dict(images=out, sizes=torch.tensor(list(zip(hs, ws))), boxes=bx, mask=mask)


# %% wrong="sizes as width and height" breaks="(B, 2), int64, H and W of each image" says=["sizes are width and height: H comes first, then W"]
def collate_boxes(items):
    items = [item for item in items if item is not None]
    if not items:
        return None
    images, boxes = zip(*items)
    sizes = torch.tensor([(x.shape[2], x.shape[1]) for x in images])
    width, height = sizes.amax(0).tolist()
    most = max(len(b) for b in boxes)
    out = images[0].new_zeros(len(items), len(images[0]), height, width)
    padded = boxes[0].new_zeros(len(items), most, 4)
    for k, (x, b) in enumerate(items):
        out[k, :, : x.shape[1], : x.shape[2]] = x
        padded[k, : len(b)] = b
    counts = torch.tensor([len(b) for b in boxes])
    mask = torch.arange(most) < counts[:, None]
    return {"images": out, "sizes": sizes, "boxes": padded, "mask": mask}


# %% wrong="repeats an item's last box where zeros belong" says=["behind the boxes of an item come zeros"]
def collate_boxes(items):
    items = [item for item in items if item is not None]
    if not items:
        return None
    images, boxes = zip(*items, strict=True)
    sizes = torch.tensor([image.shape[-2:] for image in images])
    counts = torch.tensor([len(box) for box in boxes])
    height, width = sizes.amax(0).tolist()
    batch = images[0].new_zeros(len(items), images[0].shape[0], height, width)
    padded = boxes[0].new_zeros(len(items), int(counts.max()), 4)
    for n, (image, box) in enumerate(items):
        batch[n, :, : image.shape[1], : image.shape[2]] = image
        padded[n] = box[-1] if len(box) else 0
        padded[n, : len(box)] = box
    mask = torch.arange(padded.shape[1]) < counts[:, None]
    return {"images": batch, "sizes": sizes, "boxes": padded, "mask": mask}


# %% wrong="a mask as wide as the batch is long" says=["a row for each item, as wide as boxes"]
def collate_boxes(items):
    items = [item for item in items if item is not None]
    if not items:
        return None
    images, boxes = zip(*items, strict=True)
    sizes = torch.tensor([image.shape[-2:] for image in images])
    counts = torch.tensor([len(box) for box in boxes])
    height, width = sizes.amax(0).tolist()
    batch = images[0].new_zeros(len(items), images[0].shape[0], height, width)
    padded = boxes[0].new_zeros(len(items), int(counts.max()), 4)
    for n, (image, box) in enumerate(items):
        batch[n, :, : image.shape[1], : image.shape[2]] = image
        padded[n, : len(box)] = box
    mask = torch.arange(len(items)) < counts[:, None]
    return {"images": batch, "sizes": sizes, "boxes": padded, "mask": mask}


# %% wrong="float64 images by way of float32" says=["float64 images, half boxes", "float64 by name, with float32's digits"]
def collate_boxes(items):
    items = [item for item in items if item is not None]
    if not items:
        return None
    images, boxes = zip(*items, strict=True)
    sizes = torch.tensor([image.shape[-2:] for image in images])
    counts = torch.tensor([len(box) for box in boxes])
    height, width = sizes.amax(0).tolist()
    batch = images[0].new_zeros(len(items), images[0].shape[0], height, width)
    padded = boxes[0].new_zeros(len(items), int(counts.max()), 4)
    for n, (image, box) in enumerate(items):
        through = image.float() if image.is_floating_point() else image
        batch[n, :, : image.shape[1], : image.shape[2]] = through
        padded[n, : len(box)] = box
    mask = torch.arange(padded.shape[1]) < counts[:, None]
    return {"images": batch, "sizes": sizes, "boxes": padded, "mask": mask}


# %% wrong="at the right and at the bottom" says=["the images are at the right and at the bottom"]
def collate_boxes(items):
    items = [i for i in items if i is not None]
    if not items:
        return None
    images, boxes = zip(*items)
    height, width = max(i.shape[1] for i in images), max(i.shape[2] for i in images)
    most = max(len(b) for b in boxes)
    out = images[0].new_zeros(len(items), images[0].shape[0], height, width)
    padded = boxes[0].new_zeros(len(items), most, 4)
    for n, (image, box) in enumerate(items):
        out[n, :, height - image.shape[1] :, width - image.shape[2] :] = image
        padded[n, : len(box)] = box
    counts = torch.tensor([len(b) for b in boxes], device=boxes[0].device)
    return {
        "images": out,
        "sizes": torch.tensor([i.shape[1:] for i in images]),
        "boxes": padded,
        "mask": torch.arange(most, device=boxes[0].device) < counts[:, None],
    }


# %% wrong="padded with ones" says=["what is padded has to be 0"]
def collate_boxes(items):
    items = [i for i in items if i is not None]
    if not items:
        return None
    images, boxes = zip(*items)
    height, width = max(i.shape[1] for i in images), max(i.shape[2] for i in images)
    most = max(len(b) for b in boxes)
    out = images[0].new_zeros(len(items), images[0].shape[0], height, width)
    padded = boxes[0].new_zeros(len(items), most, 4)
    out += 1
    for n, (image, box) in enumerate(items):
        out[n, :, : image.shape[1], : image.shape[2]] = image
        padded[n, : len(box)] = box
    counts = torch.tensor([len(b) for b in boxes], device=boxes[0].device)
    return {
        "images": out,
        "sizes": torch.tensor([i.shape[1:] for i in images]),
        "boxes": padded,
        "mask": torch.arange(most, device=boxes[0].device) < counts[:, None],
    }


# %% wrong="an image of zeros is taken for a damaged one" says=["a black image, with a box", "items in it: 1, expected 2: only None is left out"]
def collate_boxes(items):
    kept = [item for item in items if item is not None and item[0].any()]
    if not kept:
        return None
    images, boxes = [i for i, _ in kept], [b for _, b in kept]
    channels = images[0].shape[0]
    height, width = max(x.shape[1] for x in images), max(x.shape[2] for x in images)
    most = max(len(b) for b in boxes)
    canvas = images[0].new_zeros((len(kept), channels, height, width))
    padded = boxes[0].new_zeros((len(kept), most, 4))
    for k in range(len(kept)):
        canvas[k, :, : images[k].shape[1], : images[k].shape[2]] = images[k]
        padded[k, : len(boxes[k])] = boxes[k]
    counts = torch.tensor([len(b) for b in boxes])
    return {
        "images": canvas,
        "sizes": torch.tensor([x.shape[1:] for x in images]),
        "boxes": padded,
        "mask": torch.arange(most) < counts[:, None],
    }


# %% wrong="no boxes anywhere: default type" says=["no boxes at all, int64", "has dtype torch.float32"]
def collate_boxes(items):
    kept = [item for item in items if item is not None]
    if not kept:
        return None
    images, boxes = zip(*kept)
    sizes = torch.tensor([[x.shape[1], x.shape[2]] for x in images])
    counts = torch.tensor([len(b) for b in boxes])
    most = int(counts.max())
    tall, wide = sizes.max(0).values.tolist()
    batch = images[0].new_zeros(len(images), images[0].shape[0], tall, wide)
    padded = boxes[0].new_zeros(len(boxes), most, 4)
    for k, (image, box) in enumerate(kept):
        batch[k, :, : image.shape[1], : image.shape[2]] = image
        padded[k, : len(box)] = box
    if most == 0:
        padded = torch.zeros(len(boxes), 0, 4)
    mask = torch.arange(most) < counts[:, None]
    return {"images": batch, "sizes": sizes, "boxes": padded, "mask": mask}


# %% wrong="padding by times 0" says=["NaN or ∞ times 0 is NaN"]
def collate_boxes(items):
    kept = [item for item in items if item is not None]
    if not kept:
        return None
    images, boxes = zip(*kept)
    sizes = torch.tensor([[x.shape[1], x.shape[2]] for x in images])
    counts = torch.tensor([len(b) for b in boxes])
    most = int(counts.max())
    tall, wide = sizes.max(0).values.tolist()
    batch = images[0][:1, :1, :1].expand(len(images), images[0].shape[0], tall, wide) * 0
    padded = boxes[0].new_zeros(len(boxes), most, 4)
    for k, (image, box) in enumerate(kept):
        batch[k, :, : image.shape[1], : image.shape[2]] = image
        padded[k, : len(box)] = box
    mask = torch.arange(most) < counts[:, None]
    return {"images": batch, "sizes": sizes, "boxes": padded, "mask": mask}


# %% wrong="box padding by times 0" says=["∞ and NaN among the numbers", "behind the boxes of an item come zeros"]
def collate_boxes(items):
    kept = [item for item in items if item is not None]
    if not kept:
        return None
    images, boxes = zip(*kept)
    sizes = torch.tensor([[x.shape[1], x.shape[2]] for x in images])
    counts = torch.tensor([len(b) for b in boxes])
    most = int(counts.max())
    tall, wide = sizes.max(0).values.tolist()
    batch = images[0].new_zeros(len(images), images[0].shape[0], tall, wide)
    padded = (
        (torch.cat(boxes)[:1, :1].expand(len(boxes), most, 4) * 0)
        if most
        else boxes[0].new_zeros(len(boxes), 0, 4)
    )
    for k, (image, box) in enumerate(kept):
        batch[k, :, : image.shape[1], : image.shape[2]] = image
        padded[k, : len(box)] = box
    mask = torch.arange(most) < counts[:, None]
    return {"images": batch, "sizes": sizes, "boxes": padded, "mask": mask}


# %% wrong="padding with NaN, then nan_to_num" says=["∞ and NaN among the numbers", "boxes differs"]
def collate_boxes(items):
    kept = [item for item in items if item is not None]
    if not kept:
        return None
    images, boxes = zip(*kept)
    sizes = torch.tensor([[x.shape[1], x.shape[2]] for x in images])
    counts = torch.tensor([len(b) for b in boxes])
    most = int(counts.max())
    tall, wide = sizes.max(0).values.tolist()
    batch = images[0].new_zeros(len(images), images[0].shape[0], tall, wide)
    padded = boxes[0].new_zeros(len(boxes), most, 4)
    for k, (image, box) in enumerate(kept):
        batch[k, :, : image.shape[1], : image.shape[2]] = image
        padded[k, : len(box)] = box
    padded = padded.nan_to_num(0) if padded.is_floating_point() else padded
    mask = torch.arange(most) < counts[:, None]
    return {"images": batch, "sizes": sizes, "boxes": padded, "mask": mask}


# %% wrong="images nan_to_num" says=["NaN and ∞ are numbers of the image"]
def collate_boxes(items):
    kept = [item for item in items if item is not None]
    if not kept:
        return None
    images, boxes = zip(*kept)
    sizes = torch.tensor([[x.shape[1], x.shape[2]] for x in images])
    counts = torch.tensor([len(b) for b in boxes])
    most = int(counts.max())
    tall, wide = sizes.max(0).values.tolist()
    batch = images[0].new_zeros(len(images), images[0].shape[0], tall, wide)
    padded = boxes[0].new_zeros(len(boxes), most, 4)
    for k, (image, box) in enumerate(kept):
        batch[k, :, : image.shape[1], : image.shape[2]] = image
        padded[k, : len(box)] = box
    batch = batch.nan_to_num(0) if batch.is_floating_point() else batch
    mask = torch.arange(most) < counts[:, None]
    return {"images": batch, "sizes": sizes, "boxes": padded, "mask": mask}


# %% wrong="boxes by way of lists" says=["with float32's digits"]
def collate_boxes(items):
    kept = [item for item in items if item is not None]
    if not kept:
        return None
    images, boxes = zip(*kept)
    sizes = torch.tensor([[x.shape[1], x.shape[2]] for x in images])
    counts = torch.tensor([len(b) for b in boxes])
    most = int(counts.max())
    tall, wide = sizes.max(0).values.tolist()
    batch = images[0].new_zeros(len(images), images[0].shape[0], tall, wide)
    padded = boxes[0].new_zeros(len(boxes), most, 4)
    for k, (image, box) in enumerate(kept):
        batch[k, :, : image.shape[1], : image.shape[2]] = image
        padded[k, : len(box)] = torch.tensor(box.tolist()).reshape(-1, 4).to(box.dtype)
    mask = torch.arange(most) < counts[:, None]
    return {"images": batch, "sizes": sizes, "boxes": padded, "mask": mask}


# %% wrong="view of rows" says=["transposed images and boxes"]
def collate_boxes(items):
    kept = [item for item in items if item is not None]
    if not kept:
        return None
    images, boxes = zip(*kept)
    sizes = torch.tensor([[x.shape[1], x.shape[2]] for x in images])
    counts = torch.tensor([len(b) for b in boxes])
    most = int(counts.max())
    tall, wide = sizes.max(0).values.tolist()
    batch = images[0].new_zeros(len(images), images[0].shape[0], tall, wide)
    padded = boxes[0].new_zeros(len(boxes), most, 4)
    for k, (image, box) in enumerate(kept):
        batch[k, :, : image.shape[1], : image.shape[2]] = image.view(image.shape[0], -1).view(
            image.shape
        )
        padded[k, : len(box)] = box
    mask = torch.arange(most) < counts[:, None]
    return {"images": batch, "sizes": sizes, "boxes": padded, "mask": mask}


# %% wrong="boxes viewed flat" says=["transposed images and boxes"]
def collate_boxes(items):
    kept = [item for item in items if item is not None]
    if not kept:
        return None
    images, boxes = zip(*kept)
    sizes = torch.tensor([[x.shape[1], x.shape[2]] for x in images])
    counts = torch.tensor([len(b) for b in boxes])
    most = int(counts.max())
    tall, wide = sizes.max(0).values.tolist()
    batch = images[0].new_zeros(len(images), images[0].shape[0], tall, wide)
    padded = boxes[0].new_zeros(len(boxes), most, 4)
    for k, (image, box) in enumerate(kept):
        batch[k, :, : image.shape[1], : image.shape[2]] = image
        padded[k, : len(box)] = box.view(-1).view(-1, 4)
    mask = torch.arange(most) < counts[:, None]
    return {"images": batch, "sizes": sizes, "boxes": padded, "mask": mask}


# %% wrong="one item is not padded" says=["one item", "sizes has shape (2,)"]
def collate_boxes(items):
    kept = [item for item in items if item is not None]
    if not kept:
        return None
    images, boxes = zip(*kept)
    if len(kept) == 1:
        return {
            "images": images[0],
            "sizes": torch.tensor(images[0].shape[1:]),
            "boxes": boxes[0],
            "mask": torch.ones(len(boxes[0]), dtype=torch.bool),
        }
    sizes = torch.tensor([[x.shape[1], x.shape[2]] for x in images])
    counts = torch.tensor([len(b) for b in boxes])
    most = int(counts.max())
    tall, wide = sizes.max(0).values.tolist()
    batch = images[0].new_zeros(len(images), images[0].shape[0], tall, wide)
    padded = boxes[0].new_zeros(len(boxes), most, 4)
    for k, (image, box) in enumerate(kept):
        batch[k, :, : image.shape[1], : image.shape[2]] = image
        padded[k, : len(box)] = box
    mask = torch.arange(most) < counts[:, None]
    return {"images": batch, "sizes": sizes, "boxes": padded, "mask": mask}


# %% wrong="mask uint8 counts" says=["three hundred boxes"]
def collate_boxes(items):
    kept = [item for item in items if item is not None]
    if not kept:
        return None
    images, boxes = zip(*kept)
    sizes = torch.tensor([[x.shape[1], x.shape[2]] for x in images])
    counts = torch.tensor([len(b) for b in boxes], dtype=torch.uint8)
    most = max(len(b) for b in boxes)
    tall, wide = sizes.max(0).values.tolist()
    batch = images[0].new_zeros(len(images), images[0].shape[0], tall, wide)
    padded = boxes[0].new_zeros(len(boxes), most, 4)
    for k, (image, box) in enumerate(kept):
        batch[k, :, : image.shape[1], : image.shape[2]] = image
        padded[k, : len(box)] = box
    mask = torch.arange(most) < counts[:, None]
    return {"images": batch, "sizes": sizes, "boxes": padded, "mask": mask}


# %% wrong="bool images come back as uint8" breaks="images and boxes their dtype" says=["bool images, int8 boxes, some below 0: the batch: images", "torch.uint8"]
import torch


def collate_boxes(items):
    kept = [item for item in items if item is not None]
    if not kept:
        return None
    images, boxes = zip(*kept)
    sizes = torch.tensor([list(x.shape[1:]) for x in images])
    height, width = sizes.amax(0).tolist()
    counts = torch.tensor([len(b) for b in boxes])
    most = int(counts.max())
    out = torch.zeros(
        len(kept),
        images[0].shape[0],
        height,
        width,
        dtype=images[0].dtype if images[0].dtype != torch.bool else torch.uint8,
    )
    padded = boxes[0].new_zeros(len(kept), most, 4)
    for k, (image, box) in enumerate(kept):
        out[k, :, : image.shape[1], : image.shape[2]] += image
        padded[k, : len(box)] = box
    mask = torch.arange(most) < counts[:, None]
    return {"images": out, "sizes": sizes, "boxes": padded, "mask": mask}


# %% wrong="int8 boxes lose their sign" breaks="(B, largest N, 4), boxes first, then zeros" says=["bool images, int8 boxes, some below 0: the batch: boxes"]
import torch


def collate_boxes(items):
    kept = [item for item in items if item is not None]
    if not kept:
        return None
    images, boxes = zip(*kept)
    sizes = torch.tensor([list(x.shape[1:]) for x in images])
    height, width = sizes.amax(0).tolist()
    counts = torch.tensor([len(b) for b in boxes])
    most = max(int(counts.max()), len(boxes[0]))
    out = images[0].new_zeros(len(kept), images[0].shape[0], height, width)
    padded = boxes[0].new_zeros(len(kept), most, 4)
    for k, (image, box) in enumerate(kept):
        out[k, :, : image.shape[1], : image.shape[2]] = image
        padded[k, : len(box)] = box.abs() if box.dtype == torch.int8 else box
    mask = torch.arange(most) < counts[:, None]
    return {"images": out, "sizes": sizes, "boxes": padded, "mask": mask}


# %% wrong="one item is handed out as it is, cut at 0" breaks="Leave the arguments as they are" says=["one item, all of it below 0"]
def collate_boxes(items):
    kept = [item for item in items if item is not None]
    if not kept:
        return None
    images, boxes = zip(*kept)
    sizes = torch.tensor([x.shape[1:] for x in images])
    counts = torch.tensor([len(b) for b in boxes])
    if len(kept) == 1:
        out, padded = images[0][None], boxes[0][None]
        if out.is_floating_point():
            out.clamp_(min=0)
    else:
        out = images[0].new_zeros(len(kept), len(images[0]), *sizes.amax(0).tolist())
        padded = boxes[0].new_zeros(len(kept), int(counts.max()), 4)
        for k, (image, box) in enumerate(kept):
            out[k, :, : image.shape[1], : image.shape[2]] = image
            padded[k, : len(box)] = box
    mask = torch.arange(padded.shape[1]) < counts[:, None]
    return {"images": out, "sizes": sizes, "boxes": padded, "mask": mask}


# %% wrong="one buffer for all batches of a shape" says=["which had other numbers the first time changes the result of the first time"]
BUFFERS = {}


def collate_boxes(items):
    items = [item for item in items if item is not None]
    if not items:
        return None
    images, boxes = zip(*items, strict=True)
    height, width = max(x.shape[1] for x in images), max(x.shape[2] for x in images)
    most = max(len(b) for b in boxes)
    key = (len(images), images[0].shape[0], height, width, images[0].dtype)
    batch = BUFFERS.setdefault(key, torch.zeros(key[:4], dtype=key[4])).zero_()
    padded = boxes[0].new_zeros(len(boxes), most, 4)
    for k, (x, b) in enumerate(items):
        batch[k, :, : x.shape[1], : x.shape[2]] = x
        padded[k, : len(b)] = b
    sizes = torch.tensor([[x.shape[1], x.shape[2]] for x in images])
    counts = torch.tensor([len(b) for b in boxes])
    return {
        "images": batch,
        "sizes": sizes,
        "boxes": padded,
        "mask": torch.arange(most) < counts[:, None],
    }


# %% wrong="padding marked by the dtype's smallest number" says=["uint8 boxes, one of zeros and one of 255", "the mask (from the counts, not from the values)", "which ones are real follows from the counts"]
from torch.nn.utils.rnn import pad_sequence


def collate_boxes(items: list) -> dict[str, torch.Tensor] | None:
    items = [item for item in items if item is not None]
    if not items:
        return None
    images, boxes = zip(*items, strict=True)
    dtype = boxes[0].dtype
    info = torch.finfo(dtype) if dtype.is_floating_point else torch.iinfo(dtype)
    padded = pad_sequence(list(boxes), batch_first=True, padding_value=info.min)
    mask = (padded != info.min).any(dim=-1)
    padded = padded.masked_fill(~mask[..., None], 0)
    sizes = torch.tensor([image.shape[1:] for image in images])
    tall, wide = sizes.amax(0).tolist()
    batch = images[0].new_zeros(len(images), images[0].shape[0], tall, wide)
    for slot, image in zip(batch, images, strict=True):
        slot[:, : image.shape[1], : image.shape[2]] = image
    return {"images": batch, "sizes": sizes, "boxes": padded, "mask": mask}


# %% right="masks first, then all numbers at once"
def collate_boxes(items: list) -> dict[str, torch.Tensor] | None:
    kept = [item for item in items if item is not None]
    if len(kept) == 0:
        return None
    sizes = torch.tensor([image.shape[1:] for image, _ in kept], dtype=torch.long)
    counts = torch.tensor([boxes.shape[0] for _, boxes in kept], dtype=torch.long)
    channels = kept[0][0].shape[0]
    tall, wide, most = int(sizes[:, 0].max()), int(sizes[:, 1].max()), int(counts.max())

    mask = torch.arange(most)[None, :] < counts[:, None]
    boxes = torch.zeros(len(kept), most, 4, dtype=kept[0][1].dtype)
    boxes[mask] = torch.cat([some for _, some in kept])

    rows = torch.arange(tall)[None, :] < sizes[:, :1]
    columns = torch.arange(wide)[None, :] < sizes[:, 1:]
    inside = rows[:, :, None] & columns[:, None, :]
    last = torch.zeros(len(kept), tall, wide, channels, dtype=kept[0][0].dtype)
    last[inside] = torch.cat([image.permute(1, 2, 0).reshape(-1, channels) for image, _ in kept])
    return {
        "images": last.permute(0, 3, 1, 2).contiguous(),
        "sizes": sizes,
        "boxes": boxes,
        "mask": mask,
    }


# %% wrong="a float64 canvas" says=["int64 images and boxes, beyond what float64 counts", "int64 by name, with float64's digits"]
def collate_boxes(items: list) -> dict[str, torch.Tensor] | None:
    """One padded batch of ``(image (C, H, W), boxes (N, 4))`` or ``None`` entries, with a mask."""
    kept = [item for item in items if item is not None]
    if not kept:
        return None

    def padded(parts, shape):
        canvas = np.zeros((len(parts), *shape))
        for row, part in zip(canvas, parts, strict=True):
            row[tuple(slice(n) for n in part.shape)] = part.detach().double().numpy()
        return torch.from_numpy(canvas).to(parts[0].dtype)

    images, boxes = [item[0] for item in kept], [item[1] for item in kept]
    sizes = np.array([image.shape[1:] for image in images], dtype=np.int64)
    counts = np.array([len(b) for b in boxes])
    return {
        "images": padded(images, (images[0].shape[0], *sizes.max(0))),
        "sizes": torch.from_numpy(sizes),
        "boxes": padded(boxes, (counts.max(), 4)),
        "mask": torch.from_numpy(np.arange(counts.max()) < counts[:, None]),
    }


# %% wrong="takes the caller's tensors out of their graph" breaks="Leave the arguments as they are" says=["Can't detach views in-place", "a method that ends in _ works in place"]
def collate_boxes(items):
    items = [item for item in items if item is not None]
    if not items:
        return None
    images, boxes = zip(*items, strict=True)
    for image, b in items:
        image.detach_()
        b.detach_()
    sizes = torch.tensor([image.shape[-2:] for image in images])
    counts = torch.tensor([len(box) for box in boxes])
    height, width = sizes.amax(0).tolist()
    batch = images[0].new_zeros(len(items), images[0].shape[0], height, width)
    padded = boxes[0].new_zeros(len(items), int(counts.max()), 4)
    for n, (image, box) in enumerate(items):
        batch[n, :, : image.shape[1], : image.shape[2]] = image
        padded[n, : len(box)] = box
    mask = torch.arange(padded.shape[1]) < counts[:, None]
    return {"images": batch, "sizes": sizes, "boxes": padded, "mask": mask}


# %% wrong="sizes in 16 bits" breaks="(B, 2), int64, H and W of each image" says=["an image 65 537 pixels wide"]
def collate_boxes(items):
    items = [item for item in items if item is not None]
    if not items:
        return None
    h, w = (max(image.shape[d] for image, _ in items) for d in (1, 2))
    n = max(len(boxes) for _, boxes in items)
    first, its = items[0]
    images = first.new_zeros(len(items), first.shape[0], h, w)
    boxes = its.new_zeros(len(items), n, 4)
    mask = torch.zeros(len(items), n, dtype=torch.bool, device=its.device)
    sizes = torch.zeros(len(items), 2, dtype=torch.int16)
    for i, (image, b) in enumerate(items):
        images[i, :, : image.shape[1], : image.shape[2]] = image
        boxes[i, : len(b)] = b
        mask[i, : len(b)] = True
        sizes[i] = torch.tensor(image.shape[1:]).short()
    return {"images": images, "sizes": sizes.long(), "boxes": boxes, "mask": mask}
