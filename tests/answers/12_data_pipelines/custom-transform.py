# %% wrong="right is a pixel" says=["right is an edge, not a pixel"]
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


# %% wrong="left and right are swapped" says=["left and right are swapped"]
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


# %% wrong="a coin for each part" says=["not turned by the same coin"]
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


# %% wrong="the old canvas" says=["canvas_size, (height, width)"]
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


# %% wrong="writes into the dict" says=["the dict that came in, or a tensor in it, was changed"]
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


# %% wrong="clockwise" says=["this is a turn clockwise"]
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
