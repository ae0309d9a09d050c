# %% wrong="means everywhere" says=["the object loss of four cells is that of a single one"]
import torch
import torch.nn.functional as F


def detection_loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Three losses, (3,): is there an object, which class, which box.

    Args:
        output: (n, 8, h, w), raw numbers of the network.
        target: the same shape and dtype, from ``make_targets``.
    """
    has = target[:, 0] == 1
    count = has.sum().clamp(min=1)
    there = F.binary_cross_entropy_with_logits(output[:, 0], target[:, 0], reduction="mean")
    guess, true = output.movedim(1, -1)[has], target.movedim(1, -1)[has]  # (objects, 8)
    kind = F.cross_entropy(guess[:, 1:4], true[:, 1:4].argmax(1), reduction="mean")
    box = F.l1_loss(guess[:, 4:].sigmoid(), true[:, 4:], reduction="mean")
    return torch.stack([there, kind, box]) / count


# %% wrong="divided by images" says=["divide by objects, not by images"]
import torch
import torch.nn.functional as F


def detection_loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Three losses, (3,): is there an object, which class, which box.

    Args:
        output: (n, 8, h, w), raw numbers of the network.
        target: the same shape and dtype, from ``make_targets``.
    """
    has = target[:, 0] == 1
    count = len(output)
    there = F.binary_cross_entropy_with_logits(output[:, 0], target[:, 0], reduction="sum")
    guess, true = output.movedim(1, -1)[has], target.movedim(1, -1)[has]  # (objects, 8)
    kind = F.cross_entropy(guess[:, 1:4], true[:, 1:4].argmax(1), reduction="sum")
    box = F.l1_loss(guess[:, 4:].sigmoid(), true[:, 4:], reduction="sum")
    return torch.stack([there, kind, box]) / count


# %% wrong="divided by no objects" says=["divided by 1, not by 0"]
import torch
import torch.nn.functional as F


def detection_loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Three losses, (3,): is there an object, which class, which box.

    Args:
        output: (n, 8, h, w), raw numbers of the network.
        target: the same shape and dtype, from ``make_targets``.
    """
    has = target[:, 0] == 1
    count = has.sum()
    there = F.binary_cross_entropy_with_logits(output[:, 0], target[:, 0], reduction="sum")
    guess, true = output.movedim(1, -1)[has], target.movedim(1, -1)[has]  # (objects, 8)
    kind = F.cross_entropy(guess[:, 1:4], true[:, 1:4].argmax(1), reduction="sum")
    box = F.l1_loss(guess[:, 4:].sigmoid(), true[:, 4:], reduction="sum")
    return torch.stack([there, kind, box]) / count


# %% wrong="softmax twice" says=["one softmax, no more"]
import torch
import torch.nn.functional as F


def detection_loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Three losses, (3,): is there an object, which class, which box.

    Args:
        output: (n, 8, h, w), raw numbers of the network.
        target: the same shape and dtype, from ``make_targets``.
    """
    has = target[:, 0] == 1
    count = has.sum().clamp(min=1)
    there = F.binary_cross_entropy_with_logits(output[:, 0], target[:, 0], reduction="sum")
    guess, true = output.movedim(1, -1)[has], target.movedim(1, -1)[has]  # (objects, 8)
    kind = F.cross_entropy(guess[:, 1:4].softmax(1), true[:, 1:4].argmax(1), reduction="sum")
    box = F.l1_loss(guess[:, 4:].sigmoid(), true[:, 4:], reduction="sum")
    return torch.stack([there, kind, box]) / count


# %% wrong="sigmoid, then cross-entropy" says=["work with the raw numbers"]
import torch
import torch.nn.functional as F


def detection_loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Three losses, (3,): is there an object, which class, which box.

    Args:
        output: (n, 8, h, w), raw numbers of the network.
        target: the same shape and dtype, from ``make_targets``.
    """
    has = target[:, 0] == 1
    count = has.sum().clamp(min=1)
    there = F.binary_cross_entropy(output[:, 0].sigmoid(), target[:, 0], reduction="sum")
    guess, true = output.movedim(1, -1)[has], target.movedim(1, -1)[has]  # (objects, 8)
    kind = F.cross_entropy(guess[:, 1:4], true[:, 1:4].argmax(1), reduction="sum")
    box = F.l1_loss(guess[:, 4:].sigmoid(), true[:, 4:], reduction="sum")
    return torch.stack([there, kind, box]) / count


# %% wrong="the box without a sigmoid" says=["with sigmoid(0) = 0.5"]
import torch
import torch.nn.functional as F


def detection_loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Three losses, (3,): is there an object, which class, which box.

    Args:
        output: (n, 8, h, w), raw numbers of the network.
        target: the same shape and dtype, from ``make_targets``.
    """
    has = target[:, 0] == 1
    count = has.sum().clamp(min=1)
    there = F.binary_cross_entropy_with_logits(output[:, 0], target[:, 0], reduction="sum")
    guess, true = output.movedim(1, -1)[has], target.movedim(1, -1)[has]  # (objects, 8)
    kind = F.cross_entropy(guess[:, 1:4], true[:, 1:4].argmax(1), reduction="sum")
    box = F.l1_loss(guess[:, 4:], true[:, 4:], reduction="sum")
    return torch.stack([there, kind, box]) / count


# %% wrong="plain numbers" says=["the losses have no graph"]
import torch
import torch.nn.functional as F


def detection_loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Three losses, (3,): is there an object, which class, which box.

    Args:
        output: (n, 8, h, w), raw numbers of the network.
        target: the same shape and dtype, from ``make_targets``.
    """
    has = target[:, 0] == 1
    count = has.sum().clamp(min=1)
    there = F.binary_cross_entropy_with_logits(output[:, 0], target[:, 0], reduction="sum")
    guess, true = output.movedim(1, -1)[has], target.movedim(1, -1)[has]  # (objects, 8)
    kind = F.cross_entropy(guess[:, 1:4], true[:, 1:4].argmax(1), reduction="sum")
    box = F.l1_loss(guess[:, 4:].sigmoid(), true[:, 4:], reduction="sum")
    return torch.tensor([there.item(), kind.item(), box.item()]) / count.item()


# %% wrong="class of every cell" says=["the class loss of an object"]
import torch
import torch.nn.functional as F


def detection_loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Three losses, (3,): is there an object, which class, which box.

    Args:
        output: (n, 8, h, w), raw numbers of the network.
        target: the same shape and dtype, from ``make_targets``.
    """
    has = target[:, 0] == 1
    count = has.sum().clamp(min=1)
    there = F.binary_cross_entropy_with_logits(output[:, 0], target[:, 0], reduction="sum")
    guess, true = (
        output.movedim(1, -1).reshape(-1, 8),
        target.movedim(1, -1).reshape(-1, 8),
    )  # (objects, 8)
    kind = F.cross_entropy(guess[:, 1:4], true[:, 1:4].argmax(1), reduction="sum")
    box = F.l1_loss(guess[:, 4:].sigmoid(), true[:, 4:], reduction="sum")
    return torch.stack([there, kind, box]) / count


# %% wrong="always float32" says=["not torch.float64"]
import torch
import torch.nn.functional as F


def detection_loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Three losses, (3,): is there an object, which class, which box.

    Args:
        output: (n, 8, h, w), raw numbers of the network.
        target: the same shape and dtype, from ``make_targets``.
    """
    has = target[:, 0] == 1
    count = has.sum().clamp(min=1)
    there = F.binary_cross_entropy_with_logits(output[:, 0], target[:, 0], reduction="sum")
    guess, true = output.movedim(1, -1)[has], target.movedim(1, -1)[has]  # (objects, 8)
    kind = F.cross_entropy(guess[:, 1:4], true[:, 1:4].argmax(1), reduction="sum")
    box = F.l1_loss(guess[:, 4:].sigmoid(), true[:, 4:], reduction="sum")
    return torch.stack([there, kind, box]).float() / count


# %% wrong="mean of the class alone" says=["the sum is divided by the number of objects"]
import torch
import torch.nn.functional as F


def detection_loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Three losses, (3,): is there an object, which class, which box.

    Args:
        output: (n, 8, h, w), raw numbers of the network.
        target: the same shape and dtype, from ``make_targets``.
    """
    has = target[:, 0] == 1
    count = has.sum().clamp(min=1)
    there = F.binary_cross_entropy_with_logits(output[:, 0], target[:, 0], reduction="sum")
    guess, true = output.movedim(1, -1)[has], target.movedim(1, -1)[has]  # (objects, 8)
    kind = F.cross_entropy(guess[:, 1:4], true[:, 1:4].argmax(1), reduction="mean")
    box = F.l1_loss(guess[:, 4:].sigmoid(), true[:, 4:], reduction="sum")
    return torch.stack([there, kind, box]) / count


# %% wrong="reshapes instead of moving" says=["class or box numbers of empty cells count"]
import torch
import torch.nn.functional as F


def detection_loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Three losses, (3,): is there an object, which class, which box.

    Args:
        output: (n, 8, h, w), raw numbers of the network.
        target: the same shape and dtype, from ``make_targets``.
    """
    has = target[:, 0] == 1
    count = has.sum().clamp(min=1)
    there = F.binary_cross_entropy_with_logits(output[:, 0], target[:, 0], reduction="sum")
    guess, true = output.reshape(-1, 8)[has.flatten()], target.movedim(1, -1)[has]  # (objects, 8)
    kind = F.cross_entropy(guess[:, 1:4], true[:, 1:4].argmax(1), reduction="sum")
    box = F.l1_loss(guess[:, 4:].sigmoid(), true[:, 4:], reduction="sum")
    return torch.stack([there, kind, box]) / count


# %% right="a loop over the objects"
import torch
import torch.nn.functional as F


def detection_loss(output, target):
    there, kind, box = (output.new_zeros(()) for _ in range(3))
    places = target[:, 0].nonzero().tolist()
    there = there + F.softplus(output[:, 0]).sum() - (output[:, 0] * target[:, 0]).sum()
    for image, row, column in places:
        mine, right = output[image, :, row, column], target[image, :, row, column]
        kind = kind - mine[1:4].log_softmax(0)[right[1:4].argmax()]
        box = box + (torch.sigmoid(mine[4:]) - right[4:]).abs().sum()
    return torch.stack((there, kind, box)).div(max(len(places), 1))


# %% right="masks as weights"
import torch
import torch.nn.functional as F


def detection_loss(output, target):
    has = target[:, 0]
    there = F.binary_cross_entropy_with_logits(output[:, 0], has, reduction="none").sum()
    kind = (F.cross_entropy(output[:, 1:4], target[:, 1:4], reduction="none") * has).sum()
    box = ((output[:, 4:].sigmoid() - target[:, 4:]).abs() * has[:, None]).sum()
    return torch.stack([there, kind, box]) / has.sum().clamp_min(1)


# %% wrong="a mean of the images' losses" says=["a mean of the images' means"]
import torch
import torch.nn.functional as F


def detection_loss(output, target):
    res = []
    for out, tg in zip(output, target):
        m = tg[0] == 1
        n = m.sum().clamp(min=1)
        o = out[:, m].T
        t = tg[:, m].T
        res.append(
            torch.stack(
                [
                    F.binary_cross_entropy_with_logits(out[0], tg[0], reduction="sum"),
                    F.cross_entropy(o[:, 1:4], t[:, 1:4], reduction="sum"),
                    (o[:, 4:].sigmoid() - t[:, 4:]).abs().sum(),
                ]
            )
            / n
        )
    return torch.stack(res).mean(0)


# %% wrong="the object loss over cells with an object" says=["wanted is the sum over all cells"]
import torch
import torch.nn.functional as F


def detection_loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    has = target[:, 0] == 1
    count = has.sum().clamp(min=1)
    there = F.binary_cross_entropy_with_logits(
        output[:, 0][has], target[:, 0][has], reduction="sum"
    )
    guess, true = output.movedim(1, -1)[has], target.movedim(1, -1)[has]  # (objects, 8)
    kind = F.cross_entropy(guess[:, 1:4], true[:, 1:4].argmax(1), reduction="sum")
    box = F.l1_loss(guess[:, 4:].sigmoid(), true[:, 4:], reduction="sum")
    return torch.stack([there, kind, box]) / count


# %% wrong="float32 for the number of objects" says=["bfloat16", "not torch.bfloat16"]
import torch
import torch.nn.functional as F


def detection_loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    has = target[:, 0] == 1
    count = has.sum().clamp(min=1)
    there = F.binary_cross_entropy_with_logits(output[:, 0], target[:, 0], reduction="sum")
    guess, true = output.movedim(1, -1)[has], target.movedim(1, -1)[has]  # (objects, 8)
    kind = F.cross_entropy(guess[:, 1:4], true[:, 1:4].argmax(1), reduction="sum")
    box = F.l1_loss(guess[:, 4:].sigmoid(), true[:, 4:], reduction="sum")
    return torch.stack([part / count.float() for part in (there, kind, box)])


# %% wrong="squares instead of absolute differences" says=["or made of squares"]
import torch
import torch.nn.functional as F


def detection_loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Three losses, (3,): is there an object, which class, which box.

    Args:
        output: (n, 8, h, w), raw numbers of the network.
        target: the same shape and dtype, from ``make_targets``.
    """
    has = target[:, 0] == 1
    count = has.sum().clamp(min=1)
    there = F.binary_cross_entropy_with_logits(output[:, 0], target[:, 0], reduction="sum")
    guess, true = output.movedim(1, -1)[has], target.movedim(1, -1)[has]  # (objects, 8)
    kind = F.cross_entropy(guess[:, 1:4], true[:, 1:4].argmax(1), reduction="sum")
    box = F.mse_loss(guess[:, 4:].sigmoid(), true[:, 4:], reduction="sum")
    return torch.stack([there, kind, box]) / count


# %% wrong="a sigmoid for each class" says=["one softmax over the three classes"]
import torch
import torch.nn.functional as F


def detection_loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Three losses, (3,): is there an object, which class, which box.

    Args:
        output: (n, 8, h, w), raw numbers of the network.
        target: the same shape and dtype, from ``make_targets``.
    """
    has = target[:, 0] == 1
    count = has.sum().clamp(min=1)
    there = F.binary_cross_entropy_with_logits(output[:, 0], target[:, 0], reduction="sum")
    guess, true = output.movedim(1, -1)[has], target.movedim(1, -1)[has]  # (objects, 8)
    kind = F.binary_cross_entropy_with_logits(guess[:, 1:4], true[:, 1:4], reduction="sum")
    box = F.l1_loss(guess[:, 4:].sigmoid(), true[:, 4:], reduction="sum")
    return torch.stack([there, kind, box]) / count


# %% wrong="the output says where objects are" says=["the target says which, not the output"]
import torch
import torch.nn.functional as F


def detection_loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Three losses, (3,): is there an object, which class, which box.

    Args:
        output: (n, 8, h, w), raw numbers of the network.
        target: the same shape and dtype, from ``make_targets``.
    """
    has = output[:, 0] > 0
    count = has.sum().clamp(min=1)
    there = F.binary_cross_entropy_with_logits(output[:, 0], target[:, 0], reduction="sum")
    guess, true = output.movedim(1, -1)[has], target.movedim(1, -1)[has]  # (objects, 8)
    kind = F.cross_entropy(guess[:, 1:4], true[:, 1:4].argmax(1), reduction="sum")
    box = F.l1_loss(guess[:, 4:].sigmoid(), true[:, 4:], reduction="sum")
    return torch.stack([there, kind, box]) / count
