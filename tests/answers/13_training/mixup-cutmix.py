# %% [markdown]
# Rules:
#
# - "image `i` is mixed with image `order[i]`"
# - "from 0 to 1"
# - "`weight` of image `i` and `1 - weight` of its partner"
# - "that rectangle comes from the partner"
# - "all else is as it was, also where a pixel is infinite"
# - "The box may stick out on any side"
# - "or be outside altogether"
# - "only what is inside the image counts, for the label too"
# - "images like `x` in shape and dtype"
# - "in memory of their own"
# - "labels (n, classes)"
# - "in the dtype of `x`"
# - "both as exact as that is"
# - "`x`, `y` and `order` stay as they are"
# - "With both or neither, raise `ValueError`"
#
# Admits:
#
# - "n > 0": one image, weight=0.25
# - "`x` is float (n, channels, height, width)": float16, not contiguous
# - "in the dtype of `x`": float64, not contiguous
# - "from 0 to 1": weight=0.0
# - "both as exact as that is": images as they are and far brighter ones
# - "The box may stick out on any side": box=(-1, 2, 8, 3) of a 9 × 4 image
# - "With both or neither": both given, the weight is 0

# %% wrong="the planned area" breaks="only what is inside the image counts, for the label too" says=["this is the planned area; count the pixels inside the image"]
def mixup_cutmix(x, y, classes, order, weight=None, box=None):
    if (weight is None) == (box is None):
        raise ValueError("one of the two")
    hard = F.one_hot(y, classes).to(x.dtype)
    if box is not None:
        top, left, height, width = box
        t, b = max(top, 0), min(max(top + height, 0), x.shape[2])
        w, r = max(left, 0), min(max(left + width, 0), x.shape[3])
        mixed = x.clone()
        mixed[:, :, t:b, w:r] = x[order][:, :, t:b, w:r]
        weight = 1 - height * width / (x.shape[2] * x.shape[3])
    else:
        mixed = weight * x + (1 - weight) * x[order]
    return mixed, weight * hard + (1 - weight) * hard[order]


# %% wrong="the weights are swapped" breaks="`weight` of image `i` and `1 - weight` of its partner" says=["the weights are swapped: weight belongs to image i"]
def mixup_cutmix(x, y, classes, order, weight=None, box=None):
    if (weight is None) == (box is None):
        raise ValueError("one of the two")
    hard = F.one_hot(y, classes).to(x.dtype)
    if box is not None:
        top, left, height, width = box
        t, b = max(top, 0), min(max(top + height, 0), x.shape[2])
        w, r = max(left, 0), min(max(left + width, 0), x.shape[3])
        mixed = x.clone()
        mixed[:, :, t:b, w:r] = x[order][:, :, t:b, w:r]
        weight = 1 - max(b - t, 0) * max(r - w, 0) / (x.shape[2] * x.shape[3])
    else:
        mixed = weight * x + (1 - weight) * x[order]
    return mixed, (1 - weight) * hard + weight * hard[order]


# %% wrong="negative bounds count from the end" breaks="The box may stick out on any side" says=["box=(-2, 6, 4, 4) of an 8 × 8 image", "a negative bound counts from the end in a slice"]
def mixup_cutmix(x, y, classes, order, weight=None, box=None):
    if (weight is None) == (box is None):
        raise ValueError("one of the two")
    hard = F.one_hot(y, classes).to(x.dtype)
    if box is not None:
        top, left, height, width = box
        t, b = top, top + height
        w, r = left, left + width
        mixed = x.clone()
        mixed[:, :, t:b, w:r] = x[order][:, :, t:b, w:r]
        weight = 1 - x[0, 0, t:b, w:r].numel() / (x.shape[2] * x.shape[3])
    else:
        mixed = weight * x + (1 - weight) * x[order]
    return mixed, weight * hard + (1 - weight) * hard[order]


# %% wrong="pastes in place" breaks="`x`, `y` and `order` stay as they are" says=["an argument was changed"]
def mixup_cutmix(x, y, classes, order, weight=None, box=None):
    if (weight is None) == (box is None):
        raise ValueError("one of the two")
    hard = F.one_hot(y, classes).to(x.dtype)
    if box is not None:
        top, left, height, width = box
        t, b = max(top, 0), min(max(top + height, 0), x.shape[2])
        w, r = max(left, 0), min(max(left + width, 0), x.shape[3])
        mixed = x
        mixed[:, :, t:b, w:r] = x[order][:, :, t:b, w:r]
        weight = 1 - max(b - t, 0) * max(r - w, 0) / (x.shape[2] * x.shape[3])
    else:
        mixed = weight * x + (1 - weight) * x[order]
    return mixed, weight * hard + (1 - weight) * hard[order]


# %% wrong="pastes within one image: x[order] of the changed batch" breaks="that rectangle comes from the partner" says=["had been pasted into already"]
def mixup_cutmix(x, y, classes, order, weight=None, box=None):
    if (weight is None) == (box is None):
        raise ValueError("one of the two")
    hard = F.one_hot(y, classes).to(x.dtype)
    if box is not None:
        top, left, height, width = box
        t, b = max(top, 0), min(max(top + height, 0), x.shape[2])
        w, r = max(left, 0), min(max(left + width, 0), x.shape[3])
        mixed = x.clone()
        for i, j in enumerate(order):
            mixed[i, :, t:b, w:r] = mixed[j, :, t:b, w:r]
        weight = 1 - max(b - t, 0) * max(r - w, 0) / (x.shape[2] * x.shape[3])
    else:
        mixed = weight * x + (1 - weight) * x[order]
    return mixed, weight * hard + (1 - weight) * hard[order]


# %% wrong="hard labels" says=["soft has"]
def mixup_cutmix(x, y, classes, order, weight=None, box=None):
    if (weight is None) == (box is None):
        raise ValueError("one of the two")
    if box is not None:
        top, left, height, width = box
        t, b = max(top, 0), min(max(top + height, 0), x.shape[2])
        w, r = max(left, 0), min(max(left + width, 0), x.shape[3])
        mixed = x.clone()
        mixed[:, :, t:b, w:r] = x[order][:, :, t:b, w:r]
        weight = 1 - max(b - t, 0) * max(r - w, 0) / (x.shape[2] * x.shape[3])
    else:
        mixed = weight * x + (1 - weight) * x[order]
    return mixed, y if weight >= 0.5 else y[order]


# %% wrong="labels in float32" breaks="in the dtype of `x`" says=["soft has dtype"]
def mixup_cutmix(x, y, classes, order, weight=None, box=None):
    if (weight is None) == (box is None):
        raise ValueError("one of the two")
    hard = F.one_hot(y, classes).float()
    if box is not None:
        top, left, height, width = box
        t, b = max(top, 0), min(max(top + height, 0), x.shape[2])
        w, r = max(left, 0), min(max(left + width, 0), x.shape[3])
        mixed = x.clone()
        mixed[:, :, t:b, w:r] = x[order][:, :, t:b, w:r]
        weight = 1 - max(b - t, 0) * max(r - w, 0) / (x.shape[2] * x.shape[3])
    else:
        mixed = weight * x + (1 - weight) * x[order]
    return mixed, weight * hard + (1 - weight) * hard[order]


# %% wrong="0 is taken for not given" breaks="from 0 to 1" says=["weight=0.0"]
def mixup_cutmix(x, y, classes, order, weight=None, box=None):
    if bool(weight) == bool(box):
        raise ValueError("one of the two")
    hard = F.one_hot(y, classes).to(x.dtype)
    if box is not None:
        top, left, height, width = box
        t, b = max(top, 0), min(max(top + height, 0), x.shape[2])
        w, r = max(left, 0), min(max(left + width, 0), x.shape[3])
        mixed = x.clone()
        mixed[:, :, t:b, w:r] = x[order][:, :, t:b, w:r]
        weight = 1 - max(b - t, 0) * max(r - w, 0) / (x.shape[2] * x.shape[3])
    else:
        mixed = weight * x + (1 - weight) * x[order]
    return mixed, weight * hard + (1 - weight) * hard[order]


# %% wrong="nothing is refused" breaks="With both or neither, raise `ValueError`" says=["both given", "neither given"]
def mixup_cutmix(x, y, classes, order, weight=None, box=None):
    weight = 0.5 if weight is None and box is None else weight
    hard = F.one_hot(y, classes).to(x.dtype)
    if box is not None:
        top, left, height, width = box
        t, b = max(top, 0), min(max(top + height, 0), x.shape[2])
        w, r = max(left, 0), min(max(left + width, 0), x.shape[3])
        mixed = x.clone()
        mixed[:, :, t:b, w:r] = x[order][:, :, t:b, w:r]
        weight = 1 - max(b - t, 0) * max(r - w, 0) / (x.shape[2] * x.shape[3])
    else:
        mixed = weight * x + (1 - weight) * x[order]
    return mixed, weight * hard + (1 - weight) * hard[order]


# %% right="a mask, scatter_add for the labels"
def mixup_cutmix(x, y, classes, order, weight=None, box=None):
    if weight is not None and box is not None:
        raise ValueError("both")
    if weight is None and box is None:
        raise ValueError("neither")
    n, _, height, width = x.shape
    own = 1.0 if weight is None else weight
    share = torch.full((height, width), own, dtype=torch.float64, device=x.device)
    if box is not None:
        rows = torch.arange(height, device=x.device)[:, None]
        columns = torch.arange(width, device=x.device)
        inside = (rows >= box[0]) & (rows < box[0] + box[2])
        inside = inside & (columns >= box[1]) & (columns < box[1] + box[3])
        share = torch.where(inside, torch.zeros_like(share), share)
    mixed = torch.lerp(x[order].double(), x.double(), share.double()).to(x.dtype)
    mixed = torch.where(share == 0, x[order], torch.where(share == 1, x, mixed))
    own = share.mean().item()
    soft = torch.zeros(n, classes, dtype=torch.float64, device=x.device)
    soft.scatter_add_(1, y[:, None], torch.full((n, 1), own, dtype=torch.float64, device=x.device))
    rest = torch.full((n, 1), 1 - own, dtype=torch.float64, device=x.device)
    soft.scatter_add_(1, y[order][:, None], rest)
    return [mixed, soft.to(x.dtype)]


# %% right="loops over images and pixels"
def mixup_cutmix(x, y, classes, order, weight=None, box=None):
    assert_one = [weight, box].count(None)
    if assert_one != 1:
        raise ValueError(f"{assert_one} of two are missing")
    mixed = torch.empty_like(x)
    soft = x.new_zeros(len(y), classes)
    height, width = x.shape[-2:]
    for i, j in enumerate(order.tolist()):
        if box is None:
            mixed[i], own = x[i] * weight + x[j] * (1 - weight), weight
        else:
            mixed[i], pasted = x[i], 0
            for row in range(box[0], box[0] + box[2]):
                for column in range(box[1], box[1] + box[3]):
                    if 0 <= row < height and 0 <= column < width:
                        mixed[i, :, row, column] = x[j, :, row, column]
                        pasted += 1
            own = 1 - pasted / (height * width)
        soft[i, y[i]] += own
        soft[i, y[j]] += 1 - own
    return mixed, soft


# %% wrong="tests the weight by its truth" says=["weight=0.0, a weight like any: ask for None: raised ValueError"]
def mixup_cutmix(x, y, classes, order, weight=None, box=None):
    if bool(weight) == bool(box):
        raise ValueError("one of both")
    hard = F.one_hot(y, classes).to(x.dtype)
    if weight:
        return weight * x + (1 - weight) * x[order], weight * hard + (1 - weight) * hard[order]
    t, left, h, w = box
    H, W = x.shape[2:]
    t0, b0, l0, r0 = max(0, t), max(0, min(H, t + h)), max(0, left), max(0, min(W, left + w))
    mixed = x.clone()
    mixed[:, :, t0:b0, l0:r0] = x[order][:, :, t0:b0, l0:r0]
    own = 1 - max(0, b0 - t0) * max(0, r0 - l0) / (H * W)
    return mixed, own * hard + (1 - own) * hard[order]


# %% wrong="moves the box inside instead of cutting it" says=["box=(-2, 6, 4, 4)", "soft differs"]
def mixup_cutmix(x, y, classes, order, weight=None, box=None):
    if (weight is None) == (box is None):
        raise ValueError("one of both")
    hard = F.one_hot(y, classes).to(x.dtype)
    if weight is not None:
        return weight * x + (1 - weight) * x[order], weight * hard + (1 - weight) * hard[order]
    t, left, h, w = box
    H, W = x.shape[2:]
    t, left = min(max(t, 0), H), min(max(left, 0), W)
    b, r = min(t + h, H), min(left + w, W)
    mixed = x.clone()
    mixed[:, :, t:b, left:r] = x[order][:, :, t:b, left:r]
    own = 1 - (b - t) * (r - left) / (H * W)
    return mixed, own * hard + (1 - own) * hard[order]


# %% wrong="labels float32 whatever x is" says=["soft has dtype torch.float32"]
def mixup_cutmix(x, y, classes, order, weight=None, box=None):
    if (weight is None) == (box is None):
        raise ValueError("one of both")
    hard = F.one_hot(y, classes).float()
    if weight is not None:
        return weight * x + (1 - weight) * x[order], weight * hard + (1 - weight) * hard[order]
    t, left, h, w = box
    H, W = x.shape[2:]
    t0, b0, l0, r0 = max(0, t), max(0, min(H, t + h)), max(0, left), max(0, min(W, left + w))
    mixed = x.clone()
    mixed[:, :, t0:b0, l0:r0] = x[order][:, :, t0:b0, l0:r0]
    own = 1 - max(0, b0 - t0) * max(0, r0 - l0) / (H * W)
    return mixed, own * hard + (1 - own) * hard[order]


# %% right="pixel by pixel, image by image"
def mixup_cutmix(x, y, classes, order, weight=None, box=None):
    match weight, box:
        case (None, None):
            raise ValueError("neither")
        case (_, None):
            mixed = torch.stack([torch.lerp(x[int(j)], x[i], weight) for i, j in enumerate(order)])
            share = weight
        case (None, (top, left, height, width)):
            mixed, pasted = x.clone(), 0
            for r in set(range(top, top + height)) & set(range(x.size(2))):
                for c in set(range(left, left + width)) & set(range(x.size(3))):
                    mixed[..., r, c] = x[order, :, r, c]
                    pasted += 1
            share = 1 - pasted / (x.size(2) * x.size(3))
        case _:
            raise ValueError("both")
    eye = torch.eye(classes, dtype=x.dtype, device=x.device)
    return mixed, torch.lerp(eye[y[order]], eye[y], share)


# %% right="both corners cut off"
def mixup_cutmix(x, y, classes, order, weight=None, box=None):
    if (weight is None) == (box is None):
        raise ValueError("one of both")
    hard = F.one_hot(y, classes).to(x.dtype)
    if weight is not None:
        return weight * x + (1 - weight) * x[order], weight * hard + (1 - weight) * hard[order]
    t, left, h, w = box
    H, W = x.shape[2:]
    b, r = max(0, min(t + h, H)), max(0, min(left + w, W))
    t, left = min(max(t, 0), b), min(max(left, 0), r)
    mixed = x.clone()
    mixed[:, :, t:b, left:r] = x[order][:, :, t:b, left:r]
    own = 1 - (b - t) * (r - left) / (H * W)
    return mixed, own * hard + (1 - own) * hard[order]


# %% wrong="height and width of the image confused" says=["box=(2, -1, 3, 8) of a 4 × 9 image", "box=(-1, 2, 8, 3) of a 9 × 4 image"]
def mixup_cutmix(x, y, classes, order, weight=None, box=None):
    if (weight is None) == (box is None):
        raise ValueError("one of both")
    hard = F.one_hot(y, classes).to(x.dtype)
    if weight is not None:
        return weight * x + (1 - weight) * x[order], weight * hard + (1 - weight) * hard[order]
    t, left, h, w = box
    W, H = x.shape[2:]
    b, r = max(0, min(t + h, H)), max(0, min(left + w, W))
    t, left = min(max(t, 0), b), min(max(left, 0), r)
    mixed = x.clone()
    mixed[:, :, t:b, left:r] = x[order][:, :, t:b, left:r]
    own = 1 - (b - t) * (r - left) / (H * W)
    return mixed, own * hard + (1 - own) * hard[order]


# %% wrong="the inverse permutation" breaks="image `i` is mixed with image `order[i]`" says=["the example's weight", "this is the other way round, order.argsort()"]
def mixup_cutmix(x, y, classes, order, weight=None, box=None):
    if (weight is None) == (box is None):
        raise ValueError("one of both")
    order = order.argsort()
    hard = F.one_hot(y, classes).to(x.dtype)
    if weight is not None:
        return weight * x + (1 - weight) * x[order], weight * hard + (1 - weight) * hard[order]
    t, left, h, w = box
    H, W = x.shape[2:]
    b, r = max(0, min(t + h, H)), max(0, min(left + w, W))
    t, left = min(max(t, 0), b), min(max(left, 0), r)
    mixed = x.clone()
    mixed[:, :, t:b, left:r] = x[order][:, :, t:b, left:r]
    own = 1 - (b - t) * (r - left) / (H * W)
    return mixed, own * hard + (1 - own) * hard[order]


# %% wrong="labels stay unmixed" says=["soft: image i keeps its own label, unmixed"]
def mixup_cutmix(x, y, classes, order, weight=None, box=None):
    if (weight is None) == (box is None):
        raise ValueError("one of both")
    hard = F.one_hot(y, classes).to(x.dtype)
    if weight is not None:
        return weight * x + (1 - weight) * x[order], hard
    t, left, h, w = box
    H, W = x.shape[2:]
    b, r = max(0, min(t + h, H)), max(0, min(left + w, W))
    t, left = min(max(t, 0), b), min(max(left, 0), r)
    mixed = x.clone()
    mixed[:, :, t:b, left:r] = x[order][:, :, t:b, left:r]
    return mixed, hard


# %% wrong="CutMix alone is swapped" says=["the weights are swapped: weight belongs to image i"]
def mixup_cutmix(x, y, classes, order, weight=None, box=None):
    if (weight is None) == (box is None):
        raise ValueError("one of both")
    hard = F.one_hot(y, classes).to(x.dtype)
    if weight is not None:
        return weight * x + (1 - weight) * x[order], weight * hard + (1 - weight) * hard[order]
    t, left, h, w = box
    H, W = x.shape[2:]
    b, r = max(0, min(t + h, H)), max(0, min(left + w, W))
    t, left = min(max(t, 0), b), min(max(left, 0), r)
    mixed = x.clone()
    mixed[:, :, t:b, left:r] = x[order][:, :, t:b, left:r]
    own = (b - t) * (r - left) / (H * W)
    return mixed, own * hard + (1 - own) * hard[order]


# %% wrong="the share by counting pixels that stayed" says=["images of one grey, a box", "soft differs"]
def mixup_cutmix(x, y, classes, order, weight=None, box=None):
    if (weight is None) == (box is None):
        raise ValueError("give one of weight and box")
    if weight is not None:
        mixed = weight * x + (1 - weight) * x[order]
    else:
        top, left, tall, wide = box
        bottom, right = max(top + tall, 0), max(left + wide, 0)
        top, left = max(top, 0), max(left, 0)
        mixed = x.clone()
        mixed[:, :, top:bottom, left:right] = x[order][:, :, top:bottom, left:right]
        weight = (mixed == x).float().mean().item()
    hard = F.one_hot(y, classes).to(x.dtype)
    return mixed, weight * hard + (1 - weight) * hard[order]


# %% wrong="squeezes a batch of one image" breaks="images like `x` in shape and dtype" says=["one image, weight=0.25", "mixed has shape"]
def mixup_cutmix(x, y, classes, order, weight=None, box=None):
    if (weight is None) == (box is None):
        raise ValueError("give one of weight and box")
    if weight is not None:
        mixed = weight * x + (1 - weight) * x[order]
    else:
        top, left, tall, wide = box
        bottom, right = max(top + tall, 0), max(left + wide, 0)
        top, left = max(top, 0), max(left, 0)
        mixed = x.clone()
        mixed[:, :, top:bottom, left:right] = x[order][:, :, top:bottom, left:right]
        weight = 1 - x[0, 0, top:bottom, left:right].numel() / x[0, 0].numel()
    hard = F.one_hot(y, classes).to(x.dtype)
    soft = weight * hard + (1 - weight) * hard[order]
    return mixed.squeeze(0), soft.squeeze(0)


# %% wrong="a weight of 0 beside a box" says=["both given, the weight is 0"]
def mixup_cutmix(x, y, classes, order, weight=None, box=None):
    if (weight and box) or (weight is None and box is None):
        raise ValueError("give one of weight and box")
    if box is None:
        mixed = weight * x + (1 - weight) * x[order]
    else:
        top, left, tall, wide = box
        bottom, right = max(top + tall, 0), max(left + wide, 0)
        top, left = max(top, 0), max(left, 0)
        mixed = x.clone()
        mixed[:, :, top:bottom, left:right] = x[order][:, :, top:bottom, left:right]
        weight = 1 - x[0, 0, top:bottom, left:right].numel() / x[0, 0].numel()
    hard = F.one_hot(y, classes).to(x.dtype)
    return mixed, weight * hard + (1 - weight) * hard[order]


# %% wrong="the near edge alone is cut off at 0" says=["box=(-5, 2, 3, 4) of an 8 \u00d7 8 image"]
def mixup_cutmix(x, y, classes, order, weight=None, box=None):
    if (weight is None) == (box is None):
        raise ValueError
    one = F.one_hot(y, classes).to(x.dtype)
    if box is None:
        mixed = weight * x + (1 - weight) * x[order]
    else:
        top, left, h, w = box
        H, W = x.shape[2:]
        t, b = (min(max(top, 0), H), min(top + h, H))
        near, far = (min(max(v, 0), W) for v in (left, left + w))
        mixed = x.clone()
        mixed[:, :, t:b, near:far] = x[order][:, :, t:b, near:far]
        weight = 1 - (b - t) * (far - near) / (H * W)
    return mixed, weight * one + (1 - weight) * one[order]


# %% right="masks of ranges, rows of eye"
def mixup_cutmix(x, y, classes, order, weight=None, box=None):
    if [weight, box].count(None) != 1:
        raise ValueError("exactly one of weight and box")
    rows = torch.arange(x.size(2), device=x.device)
    cols = torch.arange(x.size(3), device=x.device)
    if box is None:
        share = torch.tensor(float(weight), dtype=torch.float64)
        images = torch.lerp(x[order], x, float(weight))
    else:
        t, left, h, w = box
        inside = ((rows >= t) & (rows < t + h))[:, None] & ((cols >= left) & (cols < left + w))
        share = 1 - inside.double().mean().cpu()
        images = torch.where(inside, x.index_select(0, order), x)
    eye = torch.eye(classes, dtype=torch.float64, device=x.device)
    soft = share.item() * eye[y] + (1 - share.item()) * eye[y[order]]
    return images, soft.to(x.dtype)


# %% wrong="labels of the classes that occur" breaks="labels (n, classes)" says=["soft has 2 columns", "counts those that occur"]
def mixup_cutmix(x, y, classes, order, weight=None, box=None):
    if (weight is None) == (box is None):
        raise ValueError
    n, c, H, W = x.shape
    if box is not None:
        top, left, h, w = box
        r0, r1, c0, c1 = (
            max(top, 0),
            min(max(top + h, 0), H),
            max(left, 0),
            min(max(left + w, 0), W),
        )
        mixed = x.clone()
        mixed[:, :, r0:r1, c0:c1] = x[order][:, :, r0:r1, c0:c1]
        weight = 1 - max(r1 - r0, 0) * max(c1 - c0, 0) / (H * W)
    else:
        mixed = weight * x + (1 - weight) * x[order]
    hard = F.one_hot(y).to(x.dtype)
    return mixed, weight * hard + (1 - weight) * hard[order]


# %% wrong="two cut lengths below 0 make a share" breaks="or be outside altogether" says=["box=(-5, -5, 3, 3) of an 8 × 8 image: 2 of 2 cases fail"]
def mixup_cutmix(x, y, classes, order, weight=None, box=None):
    if (weight is None) == (box is None):
        raise ValueError("give weight or box")
    labels = F.one_hot(y, classes).to(x.dtype)
    if weight is not None:
        return weight * x + (1 - weight) * x[order], weight * labels + (1 - weight) * labels[order]
    h, w = x.shape[-2:]
    top, left, height, width = box
    t, b = max(top, 0), min(top + height, h)
    start, end = max(left, 0), min(left + width, w)
    mixed = x.clone()
    mixed[:, :, t:b, start:end] = x[order, :, t:b, start:end]
    share = (b - t) * (end - start) / (h * w)
    return mixed, (1 - share) * labels + share * labels[order]


# %% wrong="a box to the right of the image has a negative width" breaks="or be outside altogether" says=["box=(1, 10, 3, 3) of an 8 × 8 image"]
def mixup_cutmix(x, y, classes, order, weight=None, box=None):
    if (weight is None) == (box is None):
        raise ValueError("exactly one")
    mixed = x.clone()
    if box is None:
        w = weight
        mixed = w * x + (1 - w) * x[order]
    else:
        top, left, height, width = box
        H, W = x.shape[2:]
        a, b = min(max(top, 0), H), min(max(top + height, 0), H)
        c, d = max(left, 0), min(max(left + width, 0), W)
        mixed[:, :, a:b, c:d] = x[order][:, :, a:b, c:d]
        w = 1 - (b - a) * (d - c) / (H * W)
    one = F.one_hot(y, classes).to(x.dtype)
    return mixed, w * one + (1 - w) * one[order]


# %% wrong="box order left top width height" says=["left was taken for top"]
def mixup_cutmix(x, y, classes, order, weight=None, box=None):
    if (weight is None) == (box is None):
        raise ValueError("exactly one of weight and box")
    hot = F.one_hot(y, classes).to(x.dtype)
    if weight is not None:
        mixed = weight * x + (1 - weight) * x[order]
    else:
        height, width = x.shape[2:]
        left, top, w, h = box
        bottom, right = min(top + h, height), min(left + w, width)
        top, left = max(top, 0), max(left, 0)
        mixed = x.clone()
        area = 0
        if bottom > top and right > left:
            mixed[:, :, top:bottom, left:right] = x[order][:, :, top:bottom, left:right]
            area = (bottom - top) * (right - left)
        weight = 1 - area / (height * width)
    return mixed, weight * hot + (1 - weight) * hot[order]


# %% wrong="bottom right corners" says=["not where it ends"]
def mixup_cutmix(x, y, classes, order, weight=None, box=None):
    if (weight is None) == (box is None):
        raise ValueError("exactly one of weight and box")
    hot = F.one_hot(y, classes).to(x.dtype)
    if weight is not None:
        mixed = weight * x + (1 - weight) * x[order]
    else:
        height, width = x.shape[2:]
        top, left, h, w = box
        bottom, right = min(h, height), min(w, width)
        top, left = max(top, 0), max(left, 0)
        mixed = x.clone()
        area = 0
        if bottom > top and right > left:
            mixed[:, :, top:bottom, left:right] = x[order][:, :, top:bottom, left:right]
            area = (bottom - top) * (right - left)
        weight = 1 - area / (height * width)
    return mixed, weight * hot + (1 - weight) * hot[order]


# %% wrong="half half labels in cutmix" says=["half and half, whatever the area"]
def mixup_cutmix(x, y, classes, order, weight=None, box=None):
    if (weight is None) == (box is None):
        raise ValueError("exactly one of weight and box")
    hot = F.one_hot(y, classes).to(x.dtype)
    if weight is not None:
        mixed = weight * x + (1 - weight) * x[order]
    else:
        height, width = x.shape[2:]
        top, left, h, w = box
        bottom, right = min(top + h, height), min(left + w, width)
        top, left = max(top, 0), max(left, 0)
        mixed = x.clone()
        area = 0
        if bottom > top and right > left:
            mixed[:, :, top:bottom, left:right] = x[order][:, :, top:bottom, left:right]
            area = (bottom - top) * (right - left)
        weight = 0.5 if area else 1.0
    return mixed, weight * hot + (1 - weight) * hot[order]


# %% wrong="images as rows by view" says=["float64, not contiguous", "view size is not compatible"]
def mixup_cutmix(x, y, classes, order, weight=None, box=None):
    if (weight is None) == (box is None):
        raise ValueError("one of the two")
    px, py = x[order], y[order]
    hot, phot = F.one_hot(y, classes).to(x.dtype), F.one_hot(py, classes).to(x.dtype)
    if weight is not None:
        return (weight * x.view(len(x), -1) + (1 - weight) * px.view(len(x), -1)).view(
            x.shape
        ), weight * hot + (1 - weight) * phot
    H, W = x.shape[2:]
    top, left = max(box[0], 0), max(box[1], 0)
    bottom, right = min(max(box[0] + box[2], 0), H), min(max(box[1] + box[3], 0), W)
    out = x.clone()
    out[:, :, top:bottom, left:right] = px[:, :, top:bottom, left:right]
    share = max(bottom - top, 0) * max(right - left, 0) / (H * W)
    return out, (1 - share) * hot + share * phot


# %% wrong="writes the partner's weight over the own one" says=["one was written over the other"]
def mixup_cutmix(x, y, classes, order, weight=None, box=None):
    if (weight is None) == (box is None):
        raise ValueError("one of the two")
    px, py = x[order], y[order]

    def soften(w):
        soft = torch.zeros(len(y), classes, dtype=x.dtype, device=x.device)
        rows = torch.arange(len(y), device=x.device)
        soft[rows, y] = w
        soft[rows, py] = 1 - w
        return soft

    if weight is not None:
        return weight * x + (1 - weight) * px, soften(weight)
    H, W = x.shape[2:]
    top, left = max(box[0], 0), max(box[1], 0)
    bottom, right = min(max(box[0] + box[2], 0), H), min(max(box[1] + box[3], 0), W)
    out = x.clone()
    out[:, :, top:bottom, left:right] = px[:, :, top:bottom, left:right]
    share = max(bottom - top, 0) * max(right - left, 0) / (H * W)
    return out, soften(1 - share)


# %% wrong="pastes from images that were pasted into already" says=["had been pasted into already"]
def mixup_cutmix(x, y, classes, order, weight=None, box=None):
    if (weight is None) == (box is None):
        raise ValueError("one of the two")
    px, py = x[order], y[order]
    hot, phot = F.one_hot(y, classes).to(x.dtype), F.one_hot(py, classes).to(x.dtype)
    if weight is not None:
        return weight * x + (1 - weight) * px, weight * hot + (1 - weight) * phot
    H, W = x.shape[2:]
    top, left = max(box[0], 0), max(box[1], 0)
    bottom, right = min(max(box[0] + box[2], 0), H), min(max(box[1] + box[3], 0), W)
    out = x.clone()
    for i in range(len(x)):
        out[i, :, top:bottom, left:right] = out[order[i], :, top:bottom, left:right]
    share = max(bottom - top, 0) * max(right - left, 0) / (H * W)
    return out, (1 - share) * hot + share * phot


# %% wrong="an area that is negative outside" says=["a negative length times another length"]
def mixup_cutmix(x, y, classes, order, weight=None, box=None):
    if (weight is None) == (box is None):
        raise ValueError("one of the two")
    px, py = x[order], y[order]
    hot, phot = F.one_hot(y, classes).to(x.dtype), F.one_hot(py, classes).to(x.dtype)
    if weight is not None:
        return weight * x + (1 - weight) * px, weight * hot + (1 - weight) * phot
    H, W = x.shape[2:]
    top, left = max(box[0], 0), max(box[1], 0)
    bottom, right = min(box[0] + box[2], H), min(box[1] + box[3], W)
    out = x.clone()
    if bottom > top and right > left:
        out[:, :, top:bottom, left:right] = px[:, :, top:bottom, left:right]
    share = (bottom - top) * (right - left) / (H * W)
    return out, (1 - share) * hot + share * phot


# %% wrong="images through float32" breaks="both as exact as that is" says=["mixed is float64, but exact to seven digits alone"]
def mixup_cutmix(x, y, classes, order, weight=None, box=None):
    if (weight is None) == (box is None):
        raise ValueError("give weight or box")
    partner = x[order]
    if box is None:
        mixed = (weight * x.float() + (1 - weight) * partner.float()).to(x.dtype)
    else:
        top, left, height, width = box
        high, wide = x.shape[-2:]
        t, b = min(max(top, 0), high), min(max(top + height, 0), high)
        first, last = min(max(left, 0), wide), min(max(left + width, 0), wide)
        mixed = x.clone()
        mixed[:, :, t:b, first:last] = partner[:, :, t:b, first:last]
        weight = 1 - (b - t) * (last - first) / (high * wide)
    hot = F.one_hot(y, classes).to(x.dtype)
    return mixed, weight * hot + (1 - weight) * hot[order]


# %% wrong="pasted pixels of float64 through float32" says=["float64, a box", "exact to seven digits alone"]
def mixup_cutmix(x, y, classes, order, weight=None, box=None):
    if (weight is None) == (box is None):
        raise ValueError("give weight or box")
    partner = x[order]
    if box is None:
        mixed = weight * x + (1 - weight) * partner
    else:
        top, left, height, width = box
        high, wide = x.shape[-2:]
        t, b = min(max(top, 0), high), min(max(top + height, 0), high)
        first, last = min(max(left, 0), wide), min(max(left + width, 0), wide)
        mixed = x.clone()
        mixed[:, :, t:b, first:last] = partner[:, :, t:b, first:last].float().to(x.dtype)
        weight = 1 - (b - t) * (last - first) / (high * wide)
    hot = F.one_hot(y, classes).to(x.dtype)
    return mixed, weight * hot + (1 - weight) * hot[order]


# %% wrong="end of the box below 0" breaks="or be outside altogether" says=["ends below 0", "counts from the end"]
def mixup_cutmix(x, y, classes, order, weight=None, box=None):
    if (weight is None) == (box is None):
        raise ValueError("one of weight and box")
    hot = F.one_hot(y, classes).to(x.dtype)
    if weight is not None:
        return weight * x + (1 - weight) * x[order], weight * hot + (1 - weight) * hot[order]
    high, wide = x.shape[2:]
    top, left, height, width = box
    bottom, right = min(top + height, high), min(left + width, wide)
    top, left = max(top, 0), max(left, 0)
    mixed = x.clone()
    mixed[:, :, top:bottom, left:right] = x[order][:, :, top:bottom, left:right]
    share = max(bottom - top, 0) * max(right - left, 0) / (high * wide)
    return mixed, (1 - share) * hot + share * hot[order]


# %% wrong="multiplies the images by a mask" breaks="all else is as it was, also where a pixel is infinite" says=["a mask times an infinite pixel"]
def mixup_cutmix(x, y, classes, order, weight=None, box=None):
    if (weight is None) == (box is None):
        raise ValueError("give either a weight or a box")
    labels = F.one_hot(y, classes).to(x.dtype)
    other = x[order]
    if box is None:
        mixed, share = weight * x + (1 - weight) * other, weight
    else:
        top, left, height, width = box
        h, w = x.shape[2:]
        t, b = max(top, 0), min(top + height, h)
        le, r = max(left, 0), min(left + width, w)
        area = max(b - t, 0) * max(r - le, 0)
        mixed = x.clone()
        if area:
            mask = torch.zeros_like(x)
            mask[:, :, t:b, le:r] = 1
            mixed = x * (1 - mask) + other * mask
        share = 1 - area / (h * w)
    return mixed, share * labels + (1 - share) * labels[order]


# %% wrong="where nothing is pasted x itself comes back" breaks="in memory of their own" says=["shares the storage"]
def mixup_cutmix(x, y, classes, order, weight=None, box=None):
    if (weight is None) == (box is None):
        raise ValueError("one of weight and box")
    one = F.one_hot(y, classes).to(x.dtype)
    if weight is not None:
        return weight * x + (1 - weight) * x[order], weight * one + (1 - weight) * one[order]
    h, w = x.shape[-2:]
    top, left, height, width = box
    t, b = max(top, 0), min(top + height, h)
    first, last = max(left, 0), min(left + width, w)
    b, last = max(b, t), max(last, first)
    mixed = x.clone() if b > t and last > first else x
    mixed[:, :, t:b, first:last] = x[order][:, :, t:b, first:last]
    share = 1 - max(0, b - t) * max(0, last - first) / (h * w)
    return mixed, share * one + (1 - share) * one[order]


# %% wrong="a weight of 1 gives x itself" breaks="in memory of their own" says=["shares the storage"]
def mixup_cutmix(x, y, classes, order, weight=None, box=None):
    if (weight is None) == (box is None):
        raise ValueError("one of weight and box")
    one = F.one_hot(y, classes).to(x.dtype)
    if weight is not None:
        if weight == 1:
            return x, one
        return weight * x + (1 - weight) * x[order], weight * one + (1 - weight) * one[order]
    h, w = x.shape[-2:]
    top, left, height, width = box
    t, b = max(top, 0), min(top + height, h)
    first, last = max(left, 0), min(left + width, w)
    b, last = max(b, t), max(last, first)
    mixed = x.clone()
    mixed[:, :, t:b, first:last] = x[order][:, :, t:b, first:last]
    share = 1 - max(0, b - t) * max(0, last - first) / (h * w)
    return mixed, share * one + (1 - share) * one[order]


# %% wrong="mixup of half comes back in float32" says=["bfloat16, weight=0.3"]
def mixup_cutmix(x, y, classes, order, weight=None, box=None):
    if (weight is None) == (box is None):
        raise ValueError("one of weight and box")
    labels = F.one_hot(y, classes).double()
    if box is None:
        mixed = (weight * x.double() + (1 - weight) * x.double()[order]).to(
            torch.promote_types(x.dtype, torch.float32)
        )
        own = weight
    else:
        top, left, height, width = box
        rows, columns = x.shape[2:]
        first, last = max(top, 0), min(top + height, rows)
        start, stop = max(left, 0), min(left + width, columns)
        last, stop = max(last, first), max(stop, start)
        mixed = x.clone()
        mixed[:, :, first:last, start:stop] = x[order][:, :, first:last, start:stop]
        own = 1 - (last - first) * (stop - start) / (rows * columns)
    soft = own * labels + (1 - own) * labels[order]
    return mixed, soft.to(x.dtype)


# %% wrong="two negative sides of a box behind the image" breaks="or be outside altogether" says=["box=(9, 10, 3, 3) of an 8 × 8 image", "a negative length times another length"]
def mixup_cutmix(x, y, classes, order, weight=None, box=None):
    if (weight is None) == (box is None):
        raise ValueError("either a weight or a box")
    hot = F.one_hot(y, classes).to(x.dtype)
    if weight is not None:
        mixed = weight * x + (1 - weight) * x[order]
    else:
        top, left, height, width = box
        rows, columns = x.shape[2:]
        a, b = max(top, 0), max(min(top + height, rows), 0)
        c, d = max(left, 0), max(min(left + width, columns), 0)
        mixed = x.clone()
        mixed[:, :, a:b, c:d] = x[order][:, :, a:b, c:d]
        weight = 1 - max((b - a) * (d - c), 0) / (rows * columns)
    return mixed, weight * hot + (1 - weight) * hot[order]


# %% wrong="image i and a part of the difference" breaks="both as exact as that is" says=["images as they are and far brighter ones", "this is image i plus a part of a difference"]
def mixup_cutmix(x, y, classes, order, weight=None, box=None):
    if (weight is None) == (box is None):
        raise ValueError("give weight or box")
    hard = F.one_hot(y, classes).to(x.dtype)
    if box is None:
        mixed = x + (1 - weight) * (x[order] - x)
    else:
        top, left, height, width = box
        t, b = (min(max(edge, 0), x.shape[2]) for edge in (top, top + height))
        w, r = (min(max(edge, 0), x.shape[3]) for edge in (left, left + width))
        mixed = x.clone()
        mixed[:, :, t:b, w:r] = x[order, :, t:b, w:r]
        weight = 1 - (b - t) * (r - w) / (x.shape[2] * x.shape[3])
    return mixed, weight * hard + (1 - weight) * hard[order]


# %% wrong="the partner and a part of the difference" breaks="both as exact as that is" says=["images as they are and far brighter ones", "this is the partner plus a part of a difference"]
def mixup_cutmix(x, y, classes, order, weight=None, box=None):
    if (weight is None) == (box is None):
        raise ValueError("give weight or box")
    hard = F.one_hot(y, classes).to(x.dtype)
    if box is None:
        mixed = x[order] + weight * (x - x[order])
    else:
        top, left, height, width = box
        t, b = (min(max(edge, 0), x.shape[2]) for edge in (top, top + height))
        w, r = (min(max(edge, 0), x.shape[3]) for edge in (left, left + width))
        mixed = x.clone()
        mixed[:, :, t:b, w:r] = x[order, :, t:b, w:r]
        weight = 1 - (b - t) * (r - w) / (x.shape[2] * x.shape[3])
    return mixed, weight * hard + (1 - weight) * hard[order]


# %% right="lerp, whose ends are exact"
def mixup_cutmix(x, y, classes, order, weight=None, box=None):
    if (weight is None) == (box is None):
        raise ValueError("give weight or box")
    hard, partner = F.one_hot(y, classes).to(x.dtype), x[order]
    if box is None:
        return x.lerp(partner, 1 - weight), hard.lerp(hard[order], 1 - weight)
    top, left, height, width = box
    rows, columns = (torch.arange(side, device=x.device) for side in x.shape[2:])
    inside = ((rows >= top) & (rows < top + height))[:, None] & (
        (columns >= left) & (columns < left + width)
    )
    share = 1 - inside.double().mean().item()
    return torch.where(inside, partner, x), share * hard + (1 - share) * hard[order]
