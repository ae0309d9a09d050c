"""Images and their annotations from a folder, as samples that lie in memory."""

import json
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from .targets import make_targets

SIDE = 64  # the network's images are squares of so many pixels
MEAN, STD = 0.4, 0.25


def prepare(image: Image.Image) -> torch.Tensor:
    """An image as the network wants it: (3, SIDE, SIDE), float32. Training and use share this."""
    small = image.convert("RGB").resize((SIDE, SIDE), Image.Resampling.BILINEAR)
    pixels = torch.from_numpy(np.array(small)).permute(2, 0, 1)
    return (pixels / 255 - MEAN) / STD


class ShapesFolder(torch.utils.data.Dataset):
    """Prepared image, target and the boxes as shares of the image, for every ``parts``-th image.

    Args:
        folder: with ``images/`` and ``annotations.json``.
        split: ``"train"`` leaves out each fifth image, ``"val"`` has these alone.
    """

    def __init__(self, folder: str | Path, split: str) -> None:
        notes = sorted(json.loads((Path(folder) / "annotations.json").read_text()).items())
        chosen = [one for n, one in enumerate(notes) if (n % 5 == 4) == (split == "val")]
        self.names = [name for name, _ in chosen]
        self.samples = [self._read(Path(folder), name, note) for name, note in chosen]

    @staticmethod
    def _read(folder: Path, name: str, note: dict) -> tuple[torch.Tensor, ...]:
        with Image.open(folder / "images" / f"{name}.jpg") as image:
            x = prepare(image)
        height, width = note["size"]
        boxes, labels = torch.tensor(note["boxes"]), torch.tensor(note["labels"])
        target = make_targets(boxes, labels, (height, width))
        shares = boxes / torch.tensor([width, height, width, height])
        return x, target, torch.cat([labels[:, None].float(), shares], 1)

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, ...]:
        return self.samples[index]


class Batches:
    """The share of each rank in each step; it follows from the step alone, so nothing is saved.

    A call with ``step``, ``rank`` and ``world_size`` gives images and targets. The ranks' shares
    of a step are parts of the same draw, ``size`` samples together.
    """

    def __init__(self, samples: ShapesFolder, size: int, seed: int = 0, flip: bool = True) -> None:
        self.samples, self.size, self.seed, self.flip = samples, size, seed, flip

    def __call__(self, step: int, rank: int, world_size: int) -> tuple[torch.Tensor, torch.Tensor]:
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + step)
        drawn = torch.randint(len(self.samples), (self.size,), generator=generator)
        turned = torch.rand(self.size, generator=generator) < 0.5
        mine = [self.samples[n] for n in drawn[rank::world_size].tolist()]
        x, y = torch.stack([one[0] for one in mine]), torch.stack([one[1] for one in mine])
        turn = turned[rank::world_size]
        if self.flip:
            x[turn] = x[turn].flip(-1)
            mirrored = y[turn].flip(-1)
            mirrored[:, 4] = (1 - mirrored[:, 4]) * mirrored[:, 0]
            y[turn] = mirrored
        return x, y
