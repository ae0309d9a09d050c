# %% [markdown]
# Rules:
#
# - "of one floating dtype"
# - "It returns a tensor `(3,)`"
# - "**sum over the batch"
# - "divided by the batch's number of objects**"
# - "or by 1 if it has none"
# - "over all cells"
# - "cross-entropy of numbers 1 to 3"
# - "over the cells with an object"
# - "absolute differences"
# - "the **sigmoid** of numbers 4 to 7"
# - "Numbers as large as 100 must do no harm"
# - "the gradient reaches `output`"
# - "the arguments stay as they are"
#
# Admits:
#
# - "one floating dtype": in bfloat16
# - "or by 1 if it has none": without an object the sums are divided by 1
# - "two tensors `(n, 8, h, w)`": such as transposed ones
# - "(n, 8, h, w)": a grid of one row
# - "Numbers as large as 100": the class is surely wrong, by 200
# - "the gradient reaches `output`": in cells with and without an object: the gradient

# %% wrong="means everywhere" breaks="**sum over the batch" says=["the object loss of four cells is that of a single one"]
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


# %% wrong="divided by images" breaks="divided by the batch's number of objects**" says=["divide by objects, not by images"]
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


# %% wrong="divided by no objects" breaks="or by 1 if it has none" says=["divided by 1, not by 0"]
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


# %% wrong="the box without a sigmoid" breaks="the **sigmoid** of numbers 4 to 7" says=["with sigmoid(0) = 0.5"]
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


# %% wrong="plain numbers" breaks="the gradient reaches `output`" says=["the losses have no graph"]
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


# %% wrong="class of every cell" breaks="over the cells with an object" says=["the class loss of an object"]
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


# %% wrong="always float32" breaks="of one floating dtype" says=["not torch.float64"]
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


# %% wrong="a mean of the images' losses" breaks="It returns a tensor `(3,)`" says=["a mean of the images' means"]
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


# %% wrong="the object loss over cells with an object" breaks="over all cells" says=["wanted is the sum over all cells"]
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


# %% wrong="squares instead of absolute differences" breaks="absolute differences" says=["or made of squares"]
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


# %% wrong="a sigmoid for each class" breaks="cross-entropy of numbers 1 to 3" says=["one softmax over the three classes"]
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


# %% wrong="softmax, then a logarithm" breaks="Numbers as large as 100 must do no harm" says=["surely wrong, by 200", "not with a softmax and a logarithm"]
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
    kind = -(guess[:, 1:4].softmax(1).log() * true[:, 1:4]).nan_to_num(0).sum()
    box = F.l1_loss(guess[:, 4:].sigmoid(), true[:, 4:], reduction="sum")
    return torch.stack([there, kind, box]) / count


# %% wrong="view of the output" says=["may be views, such as transposed ones"]
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
    n, c = output.shape[:2]
    flat, goal = output.view(n, c, -1), target.view(n, c, -1)
    there2 = has.view(n, -1)
    guess, true = flat.movedim(1, -1)[there2], goal.movedim(1, -1)[there2]
    kind = F.cross_entropy(guess[:, 1:4], true[:, 1:4].argmax(1), reduction="sum")
    box = F.l1_loss(guess[:, 4:].sigmoid(), true[:, 4:], reduction="sum")
    return torch.stack([there, kind, box]) / count


# %% wrong="epsilon in the logarithm" says=["surely wrong, by 200"]
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
    kind = -((guess[:, 1:4].softmax(1) + 1e-8).log() * true[:, 1:4]).sum()
    box = F.l1_loss(guess[:, 4:].sigmoid(), true[:, 4:], reduction="sum")
    return torch.stack([there, kind, box]) / count


# %% wrong="sigmoid in place" breaks="the arguments stay as they are" says=["output or target was written into"]
import torch
import torch.nn.functional as F


def detection_loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Three losses, (3,): is there an object, which class, which box.

    Args:
        output: (n, 8, h, w), raw numbers of the network.
        target: the same shape and dtype, from ``make_targets``.
    """
    with torch.no_grad():
        output[:, 4:].sigmoid_()
    has = target[:, 0] == 1
    count = has.sum().clamp(min=1)
    there = F.binary_cross_entropy_with_logits(output[:, 0], target[:, 0], reduction="sum")
    guess, true = output.movedim(1, -1)[has], target.movedim(1, -1)[has]  # (objects, 8)
    kind = F.cross_entropy(guess[:, 1:4], true[:, 1:4].argmax(1), reduction="sum")
    box = F.l1_loss(guess[:, 4:], true[:, 4:], reduction="sum")
    return torch.stack([there, kind, box]) / count


# %% wrong="clamped numbers" says=["work with the raw numbers"]
import torch
import torch.nn.functional as F


def detection_loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Three losses, (3,): is there an object, which class, which box.

    Args:
        output: (n, 8, h, w), raw numbers of the network.
        target: the same shape and dtype, from ``make_targets``.
    """
    output = output.clamp(-30, 30)
    has = target[:, 0] == 1
    count = has.sum().clamp(min=1)
    there = F.binary_cross_entropy_with_logits(output[:, 0], target[:, 0], reduction="sum")
    guess, true = output.movedim(1, -1)[has], target.movedim(1, -1)[has]  # (objects, 8)
    kind = F.cross_entropy(guess[:, 1:4], true[:, 1:4].argmax(1), reduction="sum")
    box = F.l1_loss(guess[:, 4:].sigmoid(), true[:, 4:], reduction="sum")
    return torch.stack([there, kind, box]) / count


# %% right="log_softmax and softplus"
import torch
import torch.nn.functional as F


def detection_loss(output, target):
    m = target[:, 0]
    n = m.sum(dtype=torch.float64).clamp_min(1).to(output.dtype)
    z = output[:, 0]
    there = (F.softplus(z) - z * m).sum()
    kind = -(output[:, 1:4].log_softmax(1) * target[:, 1:4]).sum()
    box = ((output[:, 4:].sigmoid() - target[:, 4:]).abs() * m.unsqueeze(1)).sum()
    return torch.stack((there, kind, box)).div(n)


# %% wrong="float32 inside, whatever came" breaks="of one floating dtype" says=["float64 numbers, exact as in float32 alone"]
import torch
import torch.nn.functional as F


def detection_loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    dtype, output, target = output.dtype, output.float(), target.float()
    has = target[:, 0] == 1
    count = has.sum().clamp(min=1)
    there = F.binary_cross_entropy_with_logits(output[:, 0], target[:, 0], reduction="sum")
    guess, true = output.movedim(1, -1)[has], target.movedim(1, -1)[has]
    kind = F.cross_entropy(guess[:, 1:4], true[:, 1:4].argmax(1), reduction="sum")
    box = F.l1_loss(guess[:, 4:].sigmoid(), true[:, 4:], reduction="sum")
    return (torch.stack([there, kind, box]) / count).to(dtype)


# %% wrong="the class is looked for from number 0 on" says=["numbers 1 to 3 of the target say which class"]
import torch
import torch.nn.functional as F


def detection_loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    has = target[:, 0] == 1
    count = has.sum().clamp(min=1)
    there = F.binary_cross_entropy_with_logits(output[:, 0], target[:, 0], reduction="sum")
    guess, true = output.movedim(1, -1)[has], target.movedim(1, -1)[has]
    kind = F.cross_entropy(guess[:, 1:4], true[:, :3].argmax(1), reduction="sum")
    box = F.l1_loss(guess[:, 4:].sigmoid(), true[:, 4:], reduction="sum")
    return torch.stack([there, kind, box]) / count


# %% wrong="small objects are passed over" breaks="over the cells with an object" says=["a hundredth wide"]
import torch
import torch.nn.functional as F


def detection_loss(output, target):
    there = target[:, 6] > 0.2
    count = there.sum().clamp(min=1)
    seen = F.binary_cross_entropy_with_logits(output[:, 0], target[:, 0], reduction="sum")
    rows, wanted = output.movedim(1, -1)[there], target.movedim(1, -1)[there]
    kind = F.cross_entropy(rows[:, 1:4], wanted[:, 1:4], reduction="sum")
    box = (rows[:, 4:].sigmoid() - wanted[:, 4:]).abs().sum()
    return torch.stack([seen, kind, box]) / count


# %% wrong="objects are counted where a box has a width" says=["of two objects, one has a box"]
import torch
import torch.nn.functional as F


def detection_loss(output, target):
    out, goal = output.movedim(1, -1), target.movedim(1, -1)
    has = goal[..., 0] == 1
    objects = (goal[..., 6] > 0).sum().clamp(min=1)
    seen = F.binary_cross_entropy_with_logits(out[..., 0], goal[..., 0], reduction="sum")
    kind = F.cross_entropy(out[has][:, 1:4], goal[has][:, 1:4], reduction="sum")
    box = (out[has][:, 4:].sigmoid() - goal[has][:, 4:]).abs().sum()
    return torch.stack([seen, kind, box]) / objects


# %% wrong="an object is where a box has an area" says=["a box without width or height"]
import torch
import torch.nn.functional as F


def detection_loss(output, target):
    out, goal = output.movedim(1, -1), target.movedim(1, -1)
    has = (goal[..., 6] > 0) & (goal[..., 7] > 0)
    objects = has.sum().clamp(min=1)
    seen = F.binary_cross_entropy_with_logits(out[..., 0], goal[..., 0], reduction="sum")
    kind = F.cross_entropy(out[has][:, 1:4], goal[has][:, 1:4], reduction="sum")
    box = (out[has][:, 4:].sigmoid() - goal[has][:, 4:]).abs().sum()
    return torch.stack([seen, kind, box]) / objects


# %% right="by the places of objects"
import torch
import torch.nn as nn


def detection_loss(output, target):
    n, r, c = torch.nonzero(target[:, 0] > 0.5, as_tuple=True)
    count = max(len(n), 1)
    mine, goal = output[n, :, r, c], target[n, :, r, c]
    losses = [
        nn.BCEWithLogitsLoss(reduction="sum")(output[:, 0], target[:, 0]),
        nn.CrossEntropyLoss(reduction="sum")(mine[:, 1:4], goal[:, 1:4].argmax(1)),
        nn.L1Loss(reduction="sum")(mine[:, 4:].sigmoid(), goal[:, 4:]),
    ]
    return torch.stack(losses).div(count)


# %% wrong="boxes stay off the edges" breaks="the **sigmoid** of numbers 4 to 7" says=["the sigmoid is taken as it is"]
import torch
import torch.nn.functional as F


def detection_loss(output, target):
    out, goal = output.movedim(1, -1), target.movedim(1, -1)
    has = goal[..., 0] == 1
    objects = has.sum().clamp(min=1)
    seen = F.binary_cross_entropy_with_logits(out[..., 0], goal[..., 0], reduction="sum")
    kind = F.cross_entropy(out[has][:, 1:4], goal[has][:, 1:4], reduction="sum")
    box = (out[has][:, 4:].sigmoid().clamp(0.05, 0.95) - goal[has][:, 4:]).abs().sum()
    return torch.stack([seen, kind, box]) / objects


# %% wrong="at most four objects count" says=["16 cells with 16 objects"]
import torch
import torch.nn.functional as F


def detection_loss(output, target):
    out, goal = output.movedim(1, -1), target.movedim(1, -1)
    has = goal[..., 0] == 1
    objects = has.sum().clamp(1, 4)
    seen = F.binary_cross_entropy_with_logits(out[..., 0], goal[..., 0], reduction="sum")
    kind = F.cross_entropy(out[has][:, 1:4], goal[has][:, 1:4], reduction="sum")
    box = (out[has][:, 4:].sigmoid() - goal[has][:, 4:]).abs().sum()
    return torch.stack([seen, kind, box]) / objects


# %% wrong="images without an object are left out" says=["its cells count as well, all 8"]
import torch
import torch.nn.functional as F


def detection_loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    has = target[:, 0] == 1
    if has.any():
        keep = has.flatten(1).any(1)
        output, target, has = output[keep], target[keep], has[keep]
    count = max(int(has.sum()), 1)
    o, t = output.movedim(1, -1), target.movedim(1, -1)
    there = F.binary_cross_entropy_with_logits(o[..., 0], t[..., 0], reduction="sum")
    o, t = o[has], t[has]
    kind = F.cross_entropy(o[:, 1:4], t[:, 1:4].argmax(1), reduction="sum")
    box = (o[:, 4:].sigmoid() - t[:, 4:]).abs().sum()
    return torch.stack([there, kind, box]) / count


# %% wrong="the box counts in float16" says=["the box's raw numbers are"]
import torch
import torch.nn.functional as F


def detection_loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    has = target[:, 0] == 1
    count = max(int(has.sum()), 1)
    o, t = output.movedim(1, -1), target.movedim(1, -1)
    there = F.binary_cross_entropy_with_logits(o[..., 0], t[..., 0], reduction="sum")
    o, t = o[has], t[has]
    kind = F.cross_entropy(o[:, 1:4], t[:, 1:4].argmax(1), reduction="sum")
    box = (o[:, 4:].half().sigmoid().to(o.dtype) - t[:, 4:]).abs().sum()
    return torch.stack([there, kind, box]) / count


# %% wrong="a loss is a thousand at most" says=["it is as large as it comes"]
import torch
import torch.nn.functional as F


def detection_loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    has = target[:, 0] == 1
    count = max(int(has.sum()), 1)
    o, t = output.movedim(1, -1), target.movedim(1, -1)
    there = F.binary_cross_entropy_with_logits(o[..., 0], t[..., 0], reduction="sum")
    o, t = o[has], t[has]
    kind = F.cross_entropy(o[:, 1:4], t[:, 1:4].argmax(1), reduction="sum")
    box = (o[:, 4:].sigmoid() - t[:, 4:]).abs().sum()
    return (torch.stack([there, kind, box]) / count).clamp(max=1e3)


# %% wrong="an object is where a box is not zero" says=["a point on the corner of its cell, four zeros"]
import torch
import torch.nn.functional as F


def detection_loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    has = (target[:, 4:] != 0).any(1)
    number = max(int(has.sum()), 1)
    there = F.binary_cross_entropy_with_logits(output[:, 0], target[:, 0], reduction="sum")
    mine, wanted = output.movedim(1, -1)[has], target.movedim(1, -1)[has]
    kind = F.cross_entropy(mine[:, 1:4], wanted[:, 1:4].argmax(1), reduction="sum")
    box = (mine[:, 4:].sigmoid() - wanted[:, 4:]).abs().sum()
    return torch.stack([there, kind, box]) / number


# %% wrong="without an object zeros of float32" says=["not torch."]
import torch
import torch.nn.functional as F


def detection_loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    rows, wanted = output.movedim(1, -1), target.movedim(1, -1)
    mask = wanted[..., 0] == 1
    count = max(int(mask.sum()), 1)
    there = F.binary_cross_entropy_with_logits(rows[..., 0], wanted[..., 0], reduction="sum")
    if not mask.any():
        zero = torch.zeros(())
        return torch.stack([there, zero, zero])
    mine, theirs = rows[mask], wanted[mask]
    kind = F.cross_entropy(mine[:, 1:4], theirs[:, 1:4], reduction="sum")
    box = (mine[:, 4:].sigmoid() - theirs[:, 4:]).abs().sum()
    return torch.stack([there, kind, box]) / count


# %% wrong="a batch of no image is a mean of nothing" says=["a batch of no image"]
import torch
import torch.nn.functional as F


def detection_loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    rows, wanted = output.movedim(1, -1), target.movedim(1, -1)
    mask = wanted[..., 0] == 1
    count = max(int(mask.sum()), 1)
    there = F.binary_cross_entropy_with_logits(rows[..., 0], wanted[..., 0])
    there = there * mask.numel()
    mine, theirs = rows[mask], wanted[mask]
    kind = F.cross_entropy(mine[:, 1:4], theirs[:, 1:4], reduction="sum")
    box = (mine[:, 4:].sigmoid() - theirs[:, 4:]).abs().sum()
    return torch.stack([there, kind, box]) / count


# %% wrong="squeeze() takes the list away from a single place" says=["A list of one cell is a list, too"]
import torch
import torch.nn.functional as F


def detection_loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    mine, right = output.movedim(1, -1).reshape(-1, 8), target.movedim(1, -1).reshape(-1, 8)
    there = F.binary_cross_entropy_with_logits(mine[:, 0], right[:, 0], reduction="sum")
    places = (right[:, 0] == 1).nonzero().squeeze()
    count = max(places.numel(), 1)
    mine, right = mine[places], right[places]
    kind = F.cross_entropy(mine[:, 1:4], right[:, 1:4], reduction="sum")
    box = F.l1_loss(mine[:, 4:].sigmoid(), right[:, 4:], reduction="sum")
    return torch.stack([there, kind, box]) / count


# %% right="masked sums, by a formula whose slope at 0 is another"
import torch
import torch.nn.functional as F


def detection_loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    mask = target[:, 0]
    count = mask.sum(dtype=torch.float64).clamp(min=1).item()
    raw = output[:, 0]
    there = raw.clamp(min=0) - raw * mask + torch.log1p(torch.exp(-raw.abs()))
    kind = -(F.log_softmax(output[:, 1:4], 1) * target[:, 1:4]).sum(1) * mask
    box = (torch.sigmoid(output[:, 4:]) - target[:, 4:]).abs().sum(1) * mask
    return torch.stack([part.sum() for part in (there, kind, box)]) / count


# %% right="squeezes output and target alike"
import torch
import torch.nn.functional as F


def detection_loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    has = (target[:, 0:1] == 1).squeeze()
    count = has.sum().clamp(min=1)
    cells, wanted = output.transpose(0, 1).squeeze(), target.transpose(0, 1).squeeze()
    mine, right = cells[:, has], wanted[:, has]
    there = F.binary_cross_entropy_with_logits(output[:, 0], target[:, 0], reduction="sum")
    kind = F.cross_entropy(mine[1:4].T, right[1:4].T, reduction="sum")
    box = (mine[4:].sigmoid() - right[4:]).abs().sum((-1, -2)) / count
    return torch.stack([there / count, kind / count, box])


# %% wrong="one tensor for all results" says=["a second call wrote into the losses that the first one returned"]
import torch
import torch.nn.functional as F

RESULTS = {}


def detection_loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    has = target[:, 0] == 1
    there = F.binary_cross_entropy_with_logits(output[:, 0], target[:, 0], reduction="sum")
    guess, true = output.movedim(1, -1)[has], target.movedim(1, -1)[has]
    kind = F.cross_entropy(guess[:, 1:4], true[:, 1:4].argmax(1), reduction="sum")
    box = F.l1_loss(guess[:, 4:].sigmoid(), true[:, 4:], reduction="sum")
    result = torch.stack([there, kind, box]) / has.sum().clamp(min=1)
    if result.requires_grad:
        return result
    return RESULTS.setdefault(result.dtype, torch.empty_like(result)).copy_(result)


# %% wrong="a sigmoid of an exponential that overflows" breaks="Numbers as large as 100 must do no harm" says=["all raw numbers are -100", "the gradient of the box's numbers", "An exponential that overflows leaves nan there"]
import torch
import torch.nn.functional as F


def detection_loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    has = target[:, 0] == 1
    count = has.sum().clamp(min=1)
    o, t = output.permute(0, 2, 3, 1)[has], target.permute(0, 2, 3, 1)[has]
    there = F.binary_cross_entropy_with_logits(output[:, 0], target[:, 0], reduction="sum")
    kind = -(t[:, 1:4] * o[:, 1:4].log_softmax(1)).sum()
    box = (1 / (1 + torch.exp(-o[:, 4:])) - t[:, 4:]).abs().sum()
    return torch.stack([there, kind, box]) / count


# %% wrong="where takes one of two formulas, and the other one overflows" breaks="Numbers as large as 100 must do no harm" says=["the gradient of the object's numbers", "An exponential that overflows leaves nan there"]
import torch
import torch.nn.functional as F


def detection_loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    has = target[:, 0] == 1
    o, t = output.movedim(1, -1)[has], target.movedim(1, -1)[has]
    x = output[:, 0]
    soft = torch.where(x > 0, x + (-x).exp().log1p(), x.exp().log1p())
    there = (soft - x * target[:, 0]).sum()
    kind = F.cross_entropy(o[:, 1:4], t[:, 1:4], reduction="sum")
    box = F.l1_loss(o[:, 4:].sigmoid(), t[:, 4:], reduction="sum")
    return torch.stack([there, kind, box]) / has.sum().clamp(min=1)
