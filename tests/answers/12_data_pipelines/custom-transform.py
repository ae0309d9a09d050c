# %% [markdown]
# Rules:
#
# - "something that can be called with a dict"
# - "With probability `p`"
# - "else it leaves everything as it is"
# - "turns everything in the dict by 90°"
# - "of any dtype"
# - "to be turned like `torch.rot90(x, 1, (-2, -1))`"
# - "N may be 0"
# - "A column x of an image that is W wide becomes row W − x"
# - "Left must stay left of right"
# - "The canvas (H, W) becomes (W, H)"
# - "a plain number, which stays"
# - "Return a new dict of the same keys, types and dtypes, turned or not"
# - "change neither the dict that came in nor its tensors"
# - "Each call tosses a new coin"
# - "one for the whole dict"
# - "from PyTorch's global generator"
#
# Admits:
#
# - "of any dtype": int64, beyond what float32 counts
# - "N may be 0": floats, and no box at all
# - "fits into `v2.Compose`": inside v2.Compose
# - "With probability `p`": called a thousand times, one transform, p=0.05

# %% wrong="right is a pixel" breaks="A column x of an image that is W wide becomes row W − x" says=["right is an edge, not a pixel"]
def custom_transform(p=1.0):
    def turn(sample):
        if torch.rand(()) >= p:
            return dict(sample)
        image, mask, boxes = sample["image"], sample["mask"], sample["boxes"]
        h, w = boxes.canvas_size
        left, t, r, b = boxes.unbind(-1)
        new = torch.stack([t, w - 1 - r, b, w - 1 - left], -1)
        return {
            "image": tv_tensors.Image(torch.rot90(image, 1, (-2, -1))),
            "mask": tv_tensors.Mask(torch.rot90(mask, 1, (-2, -1))),
            "boxes": tv_tensors.BoundingBoxes(new, format="XYXY", canvas_size=(w, h)),
            "label": sample["label"],
        }

    return turn


# %% wrong="left and right are swapped" breaks="Left must stay left of right" says=["left and right are swapped"]
def custom_transform(p=1.0):
    def turn(sample):
        if torch.rand(()) >= p:
            return dict(sample)
        image, mask, boxes = sample["image"], sample["mask"], sample["boxes"]
        h, w = boxes.canvas_size
        left, t, r, b = boxes.unbind(-1)
        new = torch.stack([t, w - left, b, w - r], -1)
        return {
            "image": tv_tensors.Image(torch.rot90(image, 1, (-2, -1))),
            "mask": tv_tensors.Mask(torch.rot90(mask, 1, (-2, -1))),
            "boxes": tv_tensors.BoundingBoxes(new, format="XYXY", canvas_size=(w, h)),
            "label": sample["label"],
        }

    return turn


# %% wrong="the boxes stay" says=["they were not turned"]
def custom_transform(p=1.0):
    class Turn(v2.Transform):
        def make_params(self, flat_inputs):
            return {"turn": torch.rand(()).item() < p}

        def transform(self, x, params):
            if isinstance(x, tv_tensors.BoundingBoxes) or not params["turn"]:
                return x
            return tv_tensors.wrap(torch.rot90(x, 1, (-2, -1)), like=x)

    return Turn()


# %% wrong="a coin for each part" breaks="one for the whole dict" says=["not turned by the same coin"]
def custom_transform(p=1.0):
    class Turn(v2.Transform):
        def transform(self, x, params):
            if torch.rand(()) >= p:
                return x
            if isinstance(x, tv_tensors.BoundingBoxes):
                h, w = x.canvas_size
                left, t, r, b = x.unbind(-1)
                return tv_tensors.BoundingBoxes(
                    torch.stack([t, w - r, b, w - left], -1), format="XYXY", canvas_size=(w, h)
                )
            return tv_tensors.wrap(torch.rot90(x, 1, (-2, -1)), like=x)

    return Turn()


# %% wrong="types lost, canvas stays" says=["wrap what you computed as its type again"]
def custom_transform(p=1.0):
    def turn(sample):
        if torch.rand(()) >= p:
            return dict(sample)
        h, w = sample["boxes"].canvas_size
        left, t, r, b = sample["boxes"].unbind(-1)
        return {
            "image": torch.rot90(sample["image"], 1, (-2, -1)),
            "mask": torch.rot90(sample["mask"], 1, (-2, -1)),
            "boxes": torch.stack([t, w - r, b, w - left], -1),
            "label": sample["label"],
        }

    return turn


# %% wrong="the old canvas" breaks="The canvas (H, W) becomes (W, H)" says=["canvas_size, (height, width)"]
def custom_transform(p=1.0):
    class Turn(v2.Transform):
        def make_params(self, flat_inputs):
            return {"turn": torch.rand(()).item() < p}

        def transform(self, x, params):
            if not params["turn"]:
                return x
            if isinstance(x, tv_tensors.BoundingBoxes):
                h, w = x.canvas_size
                left, t, r, b = x.unbind(-1)
                return tv_tensors.wrap(torch.stack([t, w - r, b, w - left], -1), like=x)
            return tv_tensors.wrap(torch.rot90(x, 1, (-2, -1)), like=x)

    return Turn()


# %% wrong="writes into the dict" breaks="change neither the dict that came in nor its tensors" says=["the dict that came in, or a tensor in it, was changed"]
def custom_transform(p=1.0):
    def turn(sample):
        if torch.rand(()) < p:
            h, w = sample["boxes"].canvas_size
            left, t, r, b = sample["boxes"].unbind(-1)
            sample["image"] = tv_tensors.Image(torch.rot90(sample["image"], 1, (-2, -1)))
            sample["mask"] = tv_tensors.Mask(torch.rot90(sample["mask"], 1, (-2, -1)))
            sample["boxes"] = tv_tensors.BoundingBoxes(
                torch.stack([t, w - r, b, w - left], -1), format="XYXY", canvas_size=(w, h)
            )
        return dict(sample)

    return turn


# %% wrong="clockwise" breaks="turns everything in the dict by 90°" says=["this is a turn clockwise"]
def custom_transform(p=1.0):
    class Turn(v2.Transform):
        def make_params(self, flat_inputs):
            return {"turn": torch.rand(()).item() < p}

        def transform(self, x, params):
            if not params["turn"]:
                return x
            if isinstance(x, tv_tensors.BoundingBoxes):
                h, w = x.canvas_size
                left, t, r, b = x.unbind(-1)
                return tv_tensors.BoundingBoxes(
                    torch.stack([h - b, left, h - t, r], -1), format="XYXY", canvas_size=(w, h)
                )
            return tv_tensors.wrap(torch.rot90(x, -1, (-2, -1)), like=x)

    return Turn()


# %% right="a function, by transposing and flipping"
def custom_transform(p=1.0):
    def turn(sample):
        if not torch.rand(1).item() < p:
            return dict(sample)
        out = {}
        for key, value in sample.items():
            if key in ("image", "mask"):
                out[key] = type(value)(value.transpose(-1, -2).flip(-2))
            elif key == "boxes":
                width = value.canvas_size[1]
                rows = [[t, width - r, b, width - left] for left, t, r, b in value.tolist()]
                turned = torch.tensor(rows, dtype=value.dtype).reshape(-1, 4)
                out[key] = tv_tensors.BoundingBoxes(
                    turned, format="XYXY", canvas_size=value.canvas_size[::-1]
                )
            else:
                out[key] = value
        return out

    return turn


# %% right="a module that calls v2's functionals"
def custom_transform(p=1.0):
    class Turn(torch.nn.Module):
        def forward(self, sample):
            if torch.rand(()) >= p:
                return {**sample}
            turn = lambda x: v2.functional.rotate(x, 90, expand=True)
            out = {**sample, "image": turn(sample["image"])}
            out["mask"] = tv_tensors.Mask(torch.rot90(sample["mask"], 1, (-2, -1)))
            boxes = sample["boxes"]
            height, width = boxes.canvas_size
            corners = boxes.as_subclass(torch.Tensor)[:, [1, 2, 3, 0]].clone()
            corners[:, [1, 3]] = width - corners[:, [1, 3]]
            out["boxes"] = tv_tensors.BoundingBoxes(
                corners, format="XYXY", canvas_size=(width, height)
            )
            return out

    return Turn()


# %% wrong="Python's random for the coin" breaks="from PyTorch's global generator" says=["another coin: draw with torch.rand"]
import random as rnd


def custom_transform(p=1.0):
    def turn(sample):
        if rnd.random() < p:
            image, mask, boxes = sample["image"], sample["mask"], sample["boxes"]
            H, W = image.shape[-2:]
            image = tv_tensors.Image(image.rot90(1, (-2, -1)))
            mask = tv_tensors.Mask(mask.rot90(1, (-2, -1)))
            new = torch.stack((boxes[:, 1], W - boxes[:, 2], boxes[:, 3], W - boxes[:, 0]), dim=1)
            boxes = tv_tensors.BoundingBoxes(new, format="XYXY", canvas_size=(W, H))
            return {**sample, "image": image, "mask": mask, "boxes": boxes}
        return dict(sample)

    return turn


# %% wrong="the library's rotate for everything" breaks="N may be 0" says=["floats, and no box at all", "canvas_size"]
def custom_transform(p=1.0):
    def turn(sample):
        if torch.rand(1) >= p:
            return dict(sample)
        out = {}
        for k, v in sample.items():
            out[k] = (
                v2.functional.rotate(v, 90, expand=True)
                if isinstance(v, tv_tensors.TVTensor)
                else v
            )
        return out

    return turn


# %% wrong="hands the dict itself back when the coin says no" breaks="Return a new dict of the same keys, types and dtypes, turned or not" says=["this is the dict that came in: return a new one"]
def custom_transform(p=1.0):
    def turn(s):
        if torch.rand(()) >= p:
            return s
        h, w = s["image"].shape[-2:]
        x1, y1, x2, y2 = s["boxes"].unbind(-1)
        b = torch.stack([y1, w - x2, y2, w - x1], -1)
        return s | {
            "image": tv_tensors.Image(torch.rot90(s["image"], 1, (-2, -1))),
            "mask": tv_tensors.Mask(torch.rot90(s["mask"], 1, (-2, -1))),
            "boxes": tv_tensors.BoundingBoxes(b, format="XYXY", canvas_size=(w, h)),
        }

    return turn


# %% right="the library's functional rotate, the canvas said again"
def custom_transform(p=1.0):
    def turn(sample):
        if torch.rand(1) >= p:
            return dict(sample)
        out = {}
        for k, v in sample.items():
            out[k] = (
                v2.functional.rotate(v, 90, expand=True)
                if isinstance(v, tv_tensors.TVTensor)
                else v
            )
        h, w = sample["boxes"].canvas_size
        out["boxes"] = tv_tensors.BoundingBoxes(out["boxes"], format="XYXY", canvas_size=(w, h))
        return out

    return turn


# %% wrong="tosses its coin when it is made" breaks="Each call tosses a new coin" says=["is the coin tossed when the transform is made"]
def custom_transform(p=1.0):
    turns = bool(torch.rand(()) < p)

    def turn(sample):
        if not turns:
            return {key: x.clone() if hasattr(x, "clone") else x for key, x in sample.items()}
        image, boxes = sample["image"], sample["boxes"]
        height, width = image.shape[-2:]
        left, top, right, bottom = boxes.unbind(-1)
        moved = torch.stack([top, width - right, bottom, width - left], -1)
        return {
            "image": tv_tensors.Image(torch.rot90(image, 1, (-2, -1))),
            "mask": tv_tensors.Mask(torch.rot90(sample["mask"], 1, (-2, -1))),
            "boxes": tv_tensors.BoundingBoxes(moved, format="XYXY", canvas_size=(width, height)),
            "label": sample["label"],
        }

    return turn


# %% wrong="a fair coin whatever p" breaks="With probability `p`" says=["p=0.2: turned", "expected about 20"]
def custom_transform(p=1.0):
    def turn(sample):
        if p < 1 and (p == 0 or torch.rand(()) < 0.5):
            return dict(sample)
        image, boxes = sample["image"], sample["boxes"]
        height, width = image.shape[-2:]
        left, top, right, bottom = boxes.unbind(-1)
        moved = torch.stack([top, width - right, bottom, width - left], -1)
        return {
            "image": tv_tensors.Image(torch.rot90(image, 1, (-2, -1))),
            "mask": tv_tensors.Mask(torch.rot90(sample["mask"], 1, (-2, -1))),
            "boxes": tv_tensors.BoundingBoxes(moved, format="XYXY", canvas_size=(width, height)),
            "label": sample["label"],
        }

    return turn


# %% wrong="remembers the size of the first image" says=["another size"]
def custom_transform(p=1.0):
    known = []

    def turn(sample):
        if torch.rand(()) >= p:
            return dict(sample)
        image, boxes = sample["image"], sample["boxes"]
        known.append(boxes.canvas_size)
        height, width = known[0]
        left, top, right, bottom = boxes.unbind(-1)
        moved = torch.stack([top, width - right, bottom, width - left], -1)
        return {
            "image": tv_tensors.Image(torch.rot90(image, 1, (-2, -1))),
            "mask": tv_tensors.Mask(torch.rot90(sample["mask"], 1, (-2, -1))),
            "boxes": tv_tensors.BoundingBoxes(moved, format="XYXY", canvas_size=(width, height)),
            "label": sample["label"],
        }

    return turn


# %% wrong="a die of ten sides for a coin" says=["called a thousand times, one transform, p=0.05", "expected about 50"]
def custom_transform(p=1.0):
    def turn(sample):
        if int(torch.randint(10, ())) >= round(10 * p):
            return dict(sample)
        height, width = sample["image"].shape[-2:]
        left, top, right, bottom = sample["boxes"].unbind(-1)
        boxes = torch.stack([top, width - right, bottom, width - left], -1)
        return {
            "image": tv_tensors.Image(torch.rot90(sample["image"], 1, (-2, -1))),
            "mask": tv_tensors.Mask(torch.rot90(sample["mask"], 1, (-2, -1))),
            "boxes": tv_tensors.BoundingBoxes(boxes, format="XYXY", canvas_size=(width, height)),
            "label": sample["label"],
        }

    return turn


# %% wrong="a small p is taken for none" says=["turned 0 times of 1000, expected about 50"]
def custom_transform(p=1.0):
    def turn(sample):
        if torch.rand(()).item() >= p or p < 0.1:
            return dict(sample)
        height, width = sample["image"].shape[-2:]
        left, top, right, bottom = sample["boxes"].unbind(-1)
        boxes = torch.stack([top, width - right, bottom, width - left], -1)
        return {
            "image": tv_tensors.Image(torch.rot90(sample["image"], 1, (-2, -1))),
            "mask": tv_tensors.Mask(torch.rot90(sample["mask"], 1, (-2, -1))),
            "boxes": tv_tensors.BoundingBoxes(boxes, format="XYXY", canvas_size=(width, height)),
            "label": sample["label"],
        }

    return turn


# %% wrong="the label as an int" breaks="a plain number, which stays" says=["the label came as 7.5 and is 7"]
class Turn:
    def __init__(self, p):
        self.p = p

    def __call__(self, sample):
        if torch.rand(()) >= self.p:
            return dict(sample)
        image, mask, boxes = sample["image"], sample["mask"], sample["boxes"]
        h, w = image.shape[-2:]
        x0, y0, x1, y1 = boxes.as_subclass(torch.Tensor).unbind(1)
        turned = torch.stack([y0, w - x1, y1, w - x0], 1)
        out = dict(sample)
        out["image"] = tv_tensors.Image(torch.rot90(image.as_subclass(torch.Tensor), 1, (-2, -1)))
        out["mask"] = tv_tensors.Mask(torch.rot90(mask.as_subclass(torch.Tensor), 1, (-2, -1)))
        out["boxes"] = tv_tensors.BoundingBoxes(turned, format="XYXY", canvas_size=(w, h))
        out["label"] = int(out["label"])
        return out


def custom_transform(p=1.0):
    return Turn(p)


# %% wrong="boxes rounded" says=["boxes that end between two pixels"]
class Turn:
    def __init__(self, p):
        self.p = p

    def __call__(self, sample):
        if torch.rand(()) >= self.p:
            return dict(sample)
        image, mask, boxes = sample["image"], sample["mask"], sample["boxes"]
        h, w = image.shape[-2:]
        x0, y0, x1, y1 = boxes.as_subclass(torch.Tensor).unbind(1)
        turned = torch.stack([y0, w - x1, y1, w - x0], 1).round()
        out = dict(sample)
        out["image"] = tv_tensors.Image(torch.rot90(image.as_subclass(torch.Tensor), 1, (-2, -1)))
        out["mask"] = tv_tensors.Mask(torch.rot90(mask.as_subclass(torch.Tensor), 1, (-2, -1)))
        out["boxes"] = tv_tensors.BoundingBoxes(turned, format="XYXY", canvas_size=(w, h))
        return out


def custom_transform(p=1.0):
    return Turn(p)


# %% wrong="another format for the boxes" says=["the format of the boxes: expected 'XYXY', got 'XYWH'"]
def custom_transform(p=1.0):
    def turn(sample):
        out = dict(sample)
        if torch.rand(()) >= p:
            return out
        b = sample["boxes"]
        h, w = b.canvas_size
        left, t, r, bo = b.unbind(-1)
        out["boxes"] = tv_tensors.BoundingBoxes(
            torch.stack([t, w - r, bo, w - left], -1), format="XYWH", canvas_size=(w, h)
        )
        out["image"] = tv_tensors.Image(torch.rot90(sample["image"], 1, (-2, -1)))
        out["mask"] = tv_tensors.Mask(torch.rot90(sample["mask"], 1, (-2, -1)))
        return out

    return turn


# %% wrong="everything through float32" says=["int64, beyond what float32 counts"]
def custom_transform(p=1.0):
    def turn(sample):
        out = dict(sample)
        if torch.rand(()) >= p:
            return out
        b = sample["boxes"]
        h, w = b.canvas_size
        left, t, r, bo = b.float().unbind(-1)
        out["boxes"] = tv_tensors.BoundingBoxes(
            torch.stack([t, w - r, bo, w - left], -1).to(b.dtype), format="XYXY", canvas_size=(w, h)
        )
        out["image"] = tv_tensors.Image(
            torch.rot90(sample["image"].float(), 1, (-2, -1)).to(sample["image"].dtype)
        )
        out["mask"] = tv_tensors.Mask(
            torch.rot90(sample["mask"].float(), 1, (-2, -1)).to(sample["mask"].dtype)
        )
        return out

    return turn


# %% wrong="the mask through uint8" breaks="of any dtype" says=["int64, beyond what float32 counts: one image: mask"]
def custom_transform(p=1.0):
    def turn(sample):
        out = dict(sample)
        if torch.rand(()) >= p:
            return out
        b = sample["boxes"]
        h, w = b.canvas_size
        left, t, r, bo = b.unbind(-1)
        out["boxes"] = tv_tensors.BoundingBoxes(
            torch.stack([t, w - r, bo, w - left], -1), format="XYXY", canvas_size=(w, h)
        )
        out["image"] = tv_tensors.Image(torch.rot90(sample["image"], 1, (-2, -1)))
        out["mask"] = tv_tensors.Mask(
            torch.rot90(sample["mask"].to(torch.uint8), 1, (-2, -1)).to(sample["mask"].dtype)
        )
        return out

    return turn


# %% wrong="through NumPy" says=["a bfloat16 image"]
def custom_transform(p=1.0):
    def turn(sample):
        out = dict(sample)
        if torch.rand(()) >= p:
            return out
        b = sample["boxes"]
        h, w = b.canvas_size
        left, t, r, bo = b.unbind(-1)
        out["boxes"] = tv_tensors.BoundingBoxes(
            torch.stack([t, w - r, bo, w - left], -1), format="XYXY", canvas_size=(w, h)
        )
        for key in ("image", "mask"):
            x = torch.from_numpy(np.rot90(sample[key].numpy(), 1, (-2, -1)).copy())
            out[key] = tv_tensors.wrap(x, like=sample[key])
        return out

    return turn


# %% wrong="a generator seeded in each call" says=["or drawn from a generator that is seeded in each call"]
def custom_transform(p=1.0):
    def turn(sample):
        out = dict(sample)
        g = torch.Generator().manual_seed(torch.initial_seed())
        if torch.rand((), generator=g) >= p:
            return out
        b = sample["boxes"]
        h, w = b.canvas_size
        left, t, r, bo = b.unbind(-1)
        out["boxes"] = tv_tensors.BoundingBoxes(
            torch.stack([t, w - r, bo, w - left], -1), format="XYXY", canvas_size=(w, h)
        )
        out["image"] = tv_tensors.Image(torch.rot90(sample["image"], 1, (-2, -1)))
        out["mask"] = tv_tensors.Mask(torch.rot90(sample["mask"], 1, (-2, -1)))
        return out

    return turn


# %% right="a module, flipped transposes and one copy of the corners"
def custom_transform(p=1.0):
    class Turn(torch.nn.Module):
        def forward(self, sample):
            b = sample["boxes"]
            w = b.canvas_size[1]
            corners = b.as_subclass(torch.Tensor)
            flipped = corners[:, [1, 2, 3, 0]] * 1
            flipped[:, 1] = w - corners[:, 2]
            flipped[:, 3] = w - corners[:, 0]
            return {
                **sample,
                "image": tv_tensors.wrap(sample["image"].mT.flip(-2), like=sample["image"]),
                "mask": tv_tensors.wrap(sample["mask"].mT.flip(-2), like=sample["mask"]),
                "boxes": tv_tensors.wrap(
                    flipped, like=b, canvas_size=tuple(reversed(b.canvas_size))
                ),
            }

    inner = Turn()

    def call(sample):
        return inner(sample) if torch.bernoulli(torch.tensor(float(p))).item() else {**sample}

    return call


# %% wrong="takes the parts by their names" breaks="something that can be called with a dict" says=["missing 3 required positional arguments"]
def custom_transform(p=1.0):
    def turn(image, mask, boxes, label):
        new = {"image": image, "mask": mask, "boxes": boxes, "label": label}
        if torch.rand(()) >= p:
            return new
        height, width = image.shape[-2:]
        new["image"] = tv_tensors.Image(torch.rot90(image.as_subclass(torch.Tensor), 1, (-2, -1)))
        new["mask"] = tv_tensors.Mask(torch.rot90(mask.as_subclass(torch.Tensor), 1, (-2, -1)))
        x1, y1, x2, y2 = boxes.as_subclass(torch.Tensor).unbind(-1)
        turned = torch.stack([y1, width - x2, y2, width - x1], -1)
        new["boxes"] = tv_tensors.BoundingBoxes(turned, format="XYXY", canvas_size=(width, height))
        return new

    return turn


# %% wrong="the canvas is turned, whatever the coin says" breaks="else it leaves everything as it is" says=["p=0: one image: canvas_size, (height, width): expected (4, 6), got (6, 4)"]
def custom_transform(p=1.0):
    def turn(sample):
        new = dict(sample)
        if torch.rand(()) >= p:
            size = sample["boxes"].canvas_size[::-1]
            new["boxes"] = tv_tensors.BoundingBoxes(
                sample["boxes"].clone(), format="XYXY", canvas_size=size
            )
            return new
        image, mask, boxes = sample["image"], sample["mask"], sample["boxes"]
        height, width = image.shape[-2:]
        new["image"] = tv_tensors.Image(torch.rot90(image.as_subclass(torch.Tensor), 1, (-2, -1)))
        new["mask"] = tv_tensors.Mask(torch.rot90(mask.as_subclass(torch.Tensor), 1, (-2, -1)))
        x1, y1, x2, y2 = boxes.as_subclass(torch.Tensor).unbind(-1)
        turned = torch.stack([y1, width - x2, y2, width - x1], -1)
        new["boxes"] = tv_tensors.BoundingBoxes(turned, format="XYXY", canvas_size=(width, height))
        return new

    return turn


# %% wrong="transposed, which mirrors too" breaks="to be turned like `torch.rot90(x, 1, (-2, -1))`" says=["this is the transpose, which mirrors, too"]
def custom_transform(p=1.0):
    def turn(sample):
        new = dict(sample)
        if torch.rand(()) >= p:
            return new
        image, mask, boxes = sample["image"], sample["mask"], sample["boxes"]
        height, width = image.shape[-2:]
        new["image"] = tv_tensors.Image(image.as_subclass(torch.Tensor).mT)
        new["mask"] = tv_tensors.Mask(mask.as_subclass(torch.Tensor).mT)
        x1, y1, x2, y2 = boxes.as_subclass(torch.Tensor).unbind(-1)
        turned = torch.stack([y1, width - x2, y2, width - x1], -1)
        new["boxes"] = tv_tensors.BoundingBoxes(turned, format="XYXY", canvas_size=(width, height))
        return new

    return turn


# %% wrong="seeds when the transform is made" says=["making the transform seeded PyTorch's global generator"]
def custom_transform(p=1.0):
    torch.manual_seed(0)

    class Turn(v2.Transform):
        def make_params(self, flat_inputs):
            return {"turn": torch.rand(()).item() < p}

        def transform(self, x, params):
            if not params["turn"]:
                return x
            if isinstance(x, tv_tensors.BoundingBoxes):
                h, w = x.canvas_size
                left, t, r, b = x.unbind(-1)
                new = torch.stack([t, w - r, b, w - left], -1)
                return tv_tensors.BoundingBoxes(new, format="XYXY", canvas_size=(w, h))
            return tv_tensors.wrap(torch.rot90(x, 1, (-2, -1)), like=x)

    return Turn()


# %% wrong="takes the width from the edge" says=["an edge is outside of the turned image"]
def custom_transform(p=1.0):
    class Turn(v2.Transform):
        def make_params(self, flat_inputs):
            return {"turn": torch.rand(()).item() < p}

        def transform(self, x, params):
            if not params["turn"]:
                return x
            if isinstance(x, tv_tensors.BoundingBoxes):
                h, w = x.canvas_size
                left, t, r, b = x.unbind(-1)
                new = torch.stack([t, r - w, b, left - w], -1)
                return tv_tensors.BoundingBoxes(new, format="XYXY", canvas_size=(w, h))
            return tv_tensors.wrap(torch.rot90(x, 1, (-2, -1)), like=x)

    return Turn()


# %% wrong="boxes in whole pixels" says=["an edge may lie between two pixels"]
def custom_transform(p=1.0):
    def turn(sample):
        if torch.rand(()) >= p:
            return {k: (v.clone() if isinstance(v, torch.Tensor) else v) for k, v in sample.items()}
        image, mask, boxes = sample["image"], sample["mask"], sample["boxes"]
        height, width = boxes.canvas_size
        left, top, right, bottom = boxes.as_subclass(torch.Tensor).unbind(-1)
        new = torch.stack([top, width - right, bottom, width - left], -1).round()
        return {
            **sample,
            "image": tv_tensors.Image(torch.rot90(image.as_subclass(torch.Tensor), 1, (-2, -1))),
            "mask": tv_tensors.Mask(torch.rot90(mask.as_subclass(torch.Tensor), 1, (-2, -1))),
            "boxes": tv_tensors.BoundingBoxes(new, format="XYXY", canvas_size=(width, height)),
        }

    return turn


# %% wrong="default a half" says=["the default is p=1.0"]
def custom_transform(p=0.5):
    def turn(sample):
        out = dict(sample)
        if torch.rand(()).item() >= p:
            return out
        boxes = sample["boxes"]
        height, width = boxes.canvas_size
        left, top, right, bottom = boxes.as_subclass(torch.Tensor).unbind(-1)
        new = torch.stack([top, width - right, bottom, width - left], -1)
        image = torch.rot90(sample["image"].as_subclass(torch.Tensor), 1, (-2, -1))
        mask = torch.rot90(sample["mask"].as_subclass(torch.Tensor), 1, (-2, -1))
        out["image"] = tv_tensors.Image(image)
        out["mask"] = tv_tensors.Mask(mask)
        out["boxes"] = tv_tensors.BoundingBoxes(new, format="XYXY", canvas_size=(width, height))
        return out

    return turn


# %% wrong="boxes in a list, reshaped, default type" says=["float64 boxes, thirds", "has dtype torch.float32"]
def custom_transform(p=1.0):
    def turn(sample):
        out = dict(sample)
        if torch.rand(()).item() >= p:
            return out
        boxes = sample["boxes"]
        height, width = boxes.canvas_size
        new = torch.tensor([[t, width - r, b, width - x] for x, t, r, b in boxes.tolist()]).reshape(
            -1, 4
        )
        image = torch.rot90(sample["image"].as_subclass(torch.Tensor), 1, (-2, -1))
        mask = torch.rot90(sample["mask"].as_subclass(torch.Tensor), 1, (-2, -1))
        out["image"] = tv_tensors.Image(image)
        out["mask"] = tv_tensors.Mask(mask)
        out["boxes"] = tv_tensors.BoundingBoxes(new, format="XYXY", canvas_size=(width, height))
        return out

    return turn


# %% wrong="boxes by way of float32" says=["float32's digits"]
def custom_transform(p=1.0):
    def turn(sample):
        out = dict(sample)
        if torch.rand(()).item() >= p:
            return out
        boxes = sample["boxes"]
        height, width = boxes.canvas_size
        left, top, right, bottom = boxes.as_subclass(torch.Tensor).float().unbind(-1)
        new = torch.stack([top, width - right, bottom, width - left], -1).to(boxes.dtype)
        image = torch.rot90(sample["image"].as_subclass(torch.Tensor), 1, (-2, -1))
        mask = torch.rot90(sample["mask"].as_subclass(torch.Tensor), 1, (-2, -1))
        out["image"] = tv_tensors.Image(image)
        out["mask"] = tv_tensors.Mask(mask)
        out["boxes"] = tv_tensors.BoundingBoxes(new, format="XYXY", canvas_size=(width, height))
        return out

    return turn


# %% wrong="image squeezed" says=["an image of one row", "the same sizes in another order"]
def custom_transform(p=1.0):
    def turn(sample):
        out = dict(sample)
        if torch.rand(()).item() >= p:
            return out
        boxes = sample["boxes"]
        height, width = boxes.canvas_size
        left, top, right, bottom = boxes.as_subclass(torch.Tensor).unbind(-1)
        new = torch.stack([top, width - right, bottom, width - left], -1)
        image = torch.rot90(sample["image"].as_subclass(torch.Tensor), 1, (-2, -1))
        mask = torch.rot90(sample["mask"].as_subclass(torch.Tensor), 1, (-2, -1))
        out["image"] = tv_tensors.Image(image.squeeze())
        out["mask"] = tv_tensors.Mask(mask)
        out["boxes"] = tv_tensors.BoundingBoxes(new, format="XYXY", canvas_size=(width, height))
        return out

    return turn


# %% wrong="mask squeezed" says=["an image of one row", "a dimension of size 1"]
def custom_transform(p=1.0):
    def turn(sample):
        out = dict(sample)
        if torch.rand(()).item() >= p:
            return out
        boxes = sample["boxes"]
        height, width = boxes.canvas_size
        left, top, right, bottom = boxes.as_subclass(torch.Tensor).unbind(-1)
        new = torch.stack([top, width - right, bottom, width - left], -1)
        image = torch.rot90(sample["image"].as_subclass(torch.Tensor), 1, (-2, -1))
        mask = torch.rot90(sample["mask"].as_subclass(torch.Tensor), 1, (-2, -1))
        out["image"] = tv_tensors.Image(image)
        out["mask"] = tv_tensors.Mask(mask.squeeze())
        out["boxes"] = tv_tensors.BoundingBoxes(new, format="XYXY", canvas_size=(width, height))
        return out

    return turn


# %% wrong="image written in place when square" says=["a square image", "was changed"]
def custom_transform(p=1.0):
    def turn(sample):
        out = dict(sample)
        if torch.rand(()).item() >= p:
            return out
        boxes = sample["boxes"]
        height, width = boxes.canvas_size
        left, top, right, bottom = boxes.as_subclass(torch.Tensor).unbind(-1)
        new = torch.stack([top, width - right, bottom, width - left], -1)
        image = torch.rot90(sample["image"].as_subclass(torch.Tensor), 1, (-2, -1))
        mask = torch.rot90(sample["mask"].as_subclass(torch.Tensor), 1, (-2, -1))
        if image.shape == sample["image"].shape:
            image = sample["image"].copy_(image.clone())
        out["image"] = tv_tensors.Image(image)
        out["mask"] = tv_tensors.Mask(mask)
        out["boxes"] = tv_tensors.BoundingBoxes(new, format="XYXY", canvas_size=(width, height))
        return out

    return turn


# %% wrong="p on the class" says=["after another transform was made with p=0"]
class Turn(v2.Transform):
    def __init__(self, p):
        super().__init__()
        Turn.p = p

    def make_params(self, flat_inputs):
        return {"on": bool(torch.rand(1) < self.p)}

    def transform(self, inpt, params):
        if not params["on"]:
            return inpt
        if isinstance(inpt, tv_tensors.BoundingBoxes):
            h, w = inpt.canvas_size
            x = inpt.as_subclass(torch.Tensor)
            x = torch.stack([x[:, 1], w - x[:, 2], x[:, 3], w - x[:, 0]], 1)
            return tv_tensors.BoundingBoxes(x, format=inpt.format, canvas_size=(w, h))
        return tv_tensors.wrap(torch.rot90(inpt, 1, (-2, -1)), like=inpt)


def custom_transform(p=1.0):
    return Turn(p)


# %% wrong="boxes sorted from left to right" says=["each box stays in its row"]
def custom_transform(p=1.0):
    def turn(sample):
        out = dict(sample)
        if torch.rand(()).item() >= p:
            return out
        boxes = sample["boxes"]
        if len(boxes):
            boxes = tv_tensors.wrap(boxes[boxes[:, 0].argsort()], like=boxes)
        height, width = boxes.canvas_size
        left, top, right, bottom = boxes.as_subclass(torch.Tensor).unbind(-1)
        new = torch.stack([top, width - right, bottom, width - left], -1)
        image = torch.rot90(sample["image"].as_subclass(torch.Tensor), 1, (-2, -1))
        mask = torch.rot90(sample["mask"].as_subclass(torch.Tensor), 1, (-2, -1))
        out["image"] = tv_tensors.Image(image)
        out["mask"] = tv_tensors.Mask(mask)
        out["boxes"] = tv_tensors.BoundingBoxes(new, format="XYXY", canvas_size=(width, height))
        return out

    return turn


# %% wrong="the label becomes a float" breaks="a plain number, which stays" says=["it stays as it is"]
import torch
from torchvision import tv_tensors


class QuarterTurn:
    def __init__(self, p):
        self.p = p

    def turn(self, x):
        plain = x.as_subclass(torch.Tensor)
        if isinstance(x, tv_tensors.BoundingBoxes):
            height, width = x.canvas_size
            left, top, right, bottom = plain.unbind(-1)
            boxes = torch.stack([top, width - right, bottom, width - left], -1)
            return tv_tensors.BoundingBoxes(boxes, format="XYXY", canvas_size=(width, height))
        return tv_tensors.wrap(torch.rot90(plain, 1, (-2, -1)), like=x)

    def __call__(self, sample):
        if torch.rand(()).item() >= self.p:
            return dict(sample)
        return {
            k: self.turn(x) if isinstance(x, torch.Tensor) else float(x) for k, x in sample.items()
        }


def custom_transform(p=1.0):
    return QuarterTurn(p)


# %% wrong="no boxes: float zeros" breaks="Return a new dict of the same keys, types and dtypes, turned or not" says=["no box at all, int64", "boxes has dtype torch.float32"]
class QuarterTurn:
    def __init__(self, p):
        self.p = p

    def __call__(self, sample):
        if torch.rand(()) >= self.p:
            return dict(sample)
        image, mask, boxes = sample["image"], sample["mask"], sample["boxes"]
        height, width = image.shape[-2:]
        x1, y1, x2, y2 = boxes.as_subclass(torch.Tensor).unbind(-1)
        turned = torch.stack([y1, width - x2, y2, width - x1], -1)
        if len(boxes) == 0:
            turned = torch.zeros(0, 4)
        return {
            **sample,
            "image": tv_tensors.Image(torch.rot90(image, 1, (-2, -1))),
            "mask": tv_tensors.Mask(torch.rot90(mask, 1, (-2, -1))),
            "boxes": tv_tensors.BoundingBoxes(turned, format="XYXY", canvas_size=(width, height)),
        }


def custom_transform(p=1.0):
    return QuarterTurn(p)


# %% wrong="one dict for all calls" breaks="Return a new dict of the same keys, types and dtypes, turned or not" says=["two calls gave one and the same dict"]
class QuarterTurn:
    def __init__(self, p):
        self.p, self.out = p, {}

    def __call__(self, sample):
        if torch.rand(()) >= self.p:
            return dict(sample)
        image, mask, boxes = sample["image"], sample["mask"], sample["boxes"]
        height, width = image.shape[-2:]
        x1, y1, x2, y2 = boxes.as_subclass(torch.Tensor).unbind(-1)
        turned = torch.stack([y1, width - x2, y2, width - x1], -1)
        self.out |= {
            **sample,
            "image": tv_tensors.Image(torch.rot90(image, 1, (-2, -1))),
            "mask": tv_tensors.Mask(torch.rot90(mask, 1, (-2, -1))),
            "boxes": tv_tensors.BoundingBoxes(turned, format="XYXY", canvas_size=(width, height)),
        }
        return self.out


def custom_transform(p=1.0):
    return QuarterTurn(p)
