"""A small pipeline that is run for real, with its work counted.

Clocks differ from machine to machine; counts do not.
"""

from __future__ import annotations

import io
import tempfile
import zlib
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset, get_worker_info

from course_utils.learner.shapes_data import draw_shapes

# Milliseconds for one unit of what is counted: a file opened, a pixel decoded, a number computed
# as a float, a byte copied, a worker started.
PRICES = {"open": 0.4, "decode": 2e-5, "transform": 1e-5, "collate": 2e-6, "start": 30.0}
CHOICES = {
    "reader": ("per item", "per process"),
    "decode": ("each time", "once"),
    "floats": ("first", "last"),
    "collate": ("grow", "stack"),
    "workers": tuple(range(5)),
    "persistent": (True, False),
}


def _start(worker_id: int) -> None:
    worker = get_worker_info()
    assert worker is not None
    assert isinstance(worker.dataset, _Pipeline)
    worker.dataset.fresh = True


class _Pipeline(Dataset):
    """Small JPEG images in one file, read, decoded and transformed as the settings say.

    An item is an image and the counts of what was done for it, in the order of ``PRICES``.
    """

    def __init__(self, settings: dict[str, Any]) -> None:
        from PIL import Image

        self.settings, self.kept, self.file, self.fresh = settings, {}, None, False
        side, self.path, self.ends = settings["size"], Path(tempfile.mkdtemp()) / "pack", [0]
        with open(self.path, "wb") as file:
            for n in range(settings["items"]):
                picture = Image.fromarray(draw_shapes(n).image).resize((side, side))
                picture.save(file, "JPEG", quality=90)
                self.ends.append(file.tell())

    def __len__(self) -> int:
        return self.settings["items"]

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        opened = decoded = 0
        if index not in self.kept or self.settings["decode"] == "each time":
            self.kept[index], opened = self.read(index)
            decoded = self.kept[index].shape[1] * self.kept[index].shape[2]
        image, computed = self.transform(self.kept[index])
        started, self.fresh = int(self.fresh), False
        return image, torch.tensor([opened, decoded, computed, 0, started])

    def read(self, index: int) -> tuple[torch.Tensor, int]:
        from PIL import Image
        from torchvision.transforms.v2.functional import pil_to_tensor

        opened = 0
        if self.file is None or self.settings["reader"] == "per item":
            self.file, opened = open(self.path, "rb"), 1  # noqa: SIM115
        self.file.seek(self.ends[index])
        data = self.file.read(self.ends[index + 1] - self.ends[index])
        if self.settings["reader"] == "per item":
            self.file.close()
        return pil_to_tensor(Image.open(io.BytesIO(data)).convert("RGB")), opened

    def transform(self, image: torch.Tensor) -> tuple[torch.Tensor, int]:
        first = image / 255 if self.settings["floats"] == "first" else image
        step = max(1, image.shape[-1] // 32)
        small = first[:, ::step, ::step]
        last = small if small.is_floating_point() else small / 255
        return last, (first if first.is_floating_point() else last).numel()

    def __del__(self) -> None:
        if self.file is not None:
            self.file.close()


class _Collate:
    """Stacks images and adds up counts; ``grow`` copies the batch once for each image."""

    def __init__(self, how: str) -> None:
        self.how = how

    def __call__(self, items: list) -> tuple[torch.Tensor, torch.Tensor]:
        images, counts = zip(*items, strict=True)
        if self.how == "stack":
            batch = torch.stack(images)
            copied = batch.nbytes
        else:
            batch, copied = images[0][None], images[0].nbytes
            for image in images[1:]:
                batch = torch.cat([batch, image[None]])
                copied += batch.nbytes
        return batch, sum(counts) + torch.tensor([0, 0, 0, copied, 0])


def measure_pipeline(settings: dict[str, Any]) -> tuple[dict[str, float], list[int]]:
    """Run a pipeline and say what each of its parts costs, in counts times fixed prices.

    Args:
        settings: ``size``, ``items``, ``batch_size`` and ``epochs``, whole numbers, and a choice of
            ``CHOICES`` for each of its keys.

    Returns:
        Milliseconds by part, and a checksum of each batch, in order.
    """
    workers = settings["workers"]
    loader = DataLoader(
        _Pipeline(settings),
        batch_size=settings["batch_size"],
        num_workers=workers,
        collate_fn=_Collate(settings["collate"]),
        persistent_workers=settings["persistent"] and workers > 0,
        worker_init_fn=_start,
    )
    counts, sums = torch.zeros(len(PRICES), dtype=torch.int64), []
    for _ in range(settings["epochs"]):
        for batch, counted in loader:
            counts += counted
            sums.append(zlib.crc32(batch.numpy().tobytes()))
    prices = zip(PRICES.items(), counts.tolist(), strict=True)
    return {part: round(count * price, 1) for (part, price), count in prices}, sums
