"""Batches of items of unequal size."""

from __future__ import annotations

import torch
from torchvision.transforms import v2

from course_utils.learner.changes import forbid_changes
from course_utils.learner.checks import check_close

numbers = torch.Generator().manual_seed(0)


def item(height, width, count, dtype=torch.float32, channels=3):
    image = torch.randint(1, 255, (channels, height, width), generator=numbers).to(dtype)
    return image, torch.randint(1, 9, (count, 4), generator=numbers).float()


def run_kept(collate_boxes, items: list) -> bool:
    """Whether the list holds the same items after the call as before."""
    kept = list(items)
    collate_boxes(items)
    return len(items) == len(kept) and all(a is b for a, b in zip(items, kept, strict=True))


def check_batch(collate_boxes, items, what):
    tensors = [tensor for item in items if item is not None for tensor in item]
    with forbid_changes(*tensors):
        batch = collate_boxes(items)
    kept = [item for item in items if item is not None]
    if not kept:
        assert batch is None, f"{what}: with no item left it is None, not {batch!r}"
        return
    assert batch is not None, f"{what} is None: is there an answer yet?"
    assert isinstance(batch, dict), f"{what}: it returned {type(batch).__name__}, expected a dict"
    missing = {"images", "sizes", "boxes", "mask"} - set(batch)
    assert not missing, f"{what}: {sorted(missing)} are missing in the dict"
    sizes = torch.tensor([image.shape[1:] for image, _ in kept])
    check_close(batch["sizes"], sizes, f"{what}: sizes")
    (height, width), most = sizes.amax(0).tolist(), max(len(boxes) for _, boxes in kept)
    images = torch.stack(
        [v2.functional.pad(x, [0, 0, width - x.shape[2], height - x.shape[1]]) for x, _ in kept]
    )
    check_close(batch["images"], images, f"{what}: images, padded on the right and below")
    rows = [torch.cat([b, b.new_zeros(most - len(b), 4)]) for _, b in kept]
    check_close(batch["boxes"], torch.stack(rows), f"{what}: boxes")
    counts = torch.tensor([len(b) for _, b in kept])
    mask = torch.arange(most) < counts[:, None]
    check_close(batch["mask"], mask, f"{what}: the mask (from the counts, not from the values)")
