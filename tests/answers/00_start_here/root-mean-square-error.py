# %% [markdown]
# Rules:
#
# - "square each difference"
# - "average the squares"
# - "take the root"
# - "both are floating-point tensors of the same dtype"
# - "of any shape"
# - "the result is a tensor without dimensions"
# - "of their dtype and on their device"
# - "if their shapes differ, it raises `ValueError`"
# - "also where they would broadcast"
# - "without any element the result is `nan`"
# - "every element counts"
# - "equal tensors give exactly 0"
# - "they may require a gradient"
# - "Not allowed: changing `outputs` or `targets`"
# - "same shape, dtype and device"
#
# Admits:
#
# - "of any shape": the result of two single numbers
# - "any shape": the result in three dimensions
# - "floating-point tensors": the result in {dtype}
# - "floating-point": torch.float16, torch.bfloat16
# - "are floating-point tensors": the result in float64, where one row is all right
# - "without any element": the result without any element
# - "also where they would broadcast": others
# - "on the same device": device=device

# %% wrong="left as it came" says=["None", "is there an answer yet, and does it return a value?"]
def root_mean_square_error(outputs, targets):
    """The root of the mean of the squared differences."""


# %% wrong="prints and returns nothing" says=["None", "does it return a value?"]
def root_mean_square_error(outputs, targets):
    if outputs.shape != targets.shape:
        raise ValueError("shapes differ")
    print(((outputs - targets) ** 2).mean().sqrt())


# %% wrong="takes whatever broadcasts" breaks="also where they would broadcast" says=["shape (3, 1) against shape (3,)", "expected it to raise ValueError"]
def root_mean_square_error(outputs, targets):
    return ((outputs - targets) ** 2).mean().sqrt()


# %% wrong="asserts instead of raising ValueError" breaks="if their shapes differ, it raises `ValueError`" says=["raised AssertionError", "expected ValueError"]
def root_mean_square_error(outputs, targets):
    assert outputs.shape == targets.shape, "the shapes differ"
    return ((outputs - targets) ** 2).mean().sqrt()


# %% wrong="returns the error instead of raising it" says=["expected it to raise ValueError"]
def root_mean_square_error(outputs, targets):
    if outputs.shape != targets.shape:
        return ValueError("shapes differ")
    return ((outputs - targets) ** 2).mean().sqrt()


# %% wrong="compares the numbers of elements" says=["expected it to raise ValueError"]
def root_mean_square_error(outputs, targets):
    if outputs.numel() != targets.numel():
        raise ValueError("shapes differ")
    return ((outputs - targets) ** 2).mean().sqrt()


# %% wrong="reshapes one to fit the other" says=["expected it to raise ValueError"]
def root_mean_square_error(outputs, targets):
    return ((outputs - targets.view_as(outputs)) ** 2).mean().sqrt()


# %% wrong="forgets the root" breaks="take the root" says=["got 25.0", "the root is missing"]
def root_mean_square_error(outputs, targets):
    if outputs.shape != targets.shape:
        raise ValueError("shapes differ")
    return ((outputs - targets) ** 2).mean()


# %% wrong="sums instead of averaging" breaks="average the squares" says=["got 10.0", "divide by the number of elements"]
def root_mean_square_error(outputs, targets):
    if outputs.shape != targets.shape:
        raise ValueError("shapes differ")
    return ((outputs - targets) ** 2).sum().sqrt()


# %% wrong="takes the root before the mean" says=["got 4.5", "mean of the absolute errors", "take the root last"]
def root_mean_square_error(outputs, targets):
    if outputs.shape != targets.shape:
        raise ValueError("shapes differ")
    return ((outputs - targets) ** 2).sqrt().mean()


# %% wrong="squares the mean" breaks="square each difference" says=["got 1.0", "cancelled"]
def root_mean_square_error(outputs, targets):
    if outputs.shape != targets.shape:
        raise ValueError("shapes differ")
    return ((outputs - targets).mean() ** 2).sqrt()


# %% wrong="divides by len" says=["got 7.071", "count every element"]
def root_mean_square_error(outputs, targets):
    if outputs.shape != targets.shape:
        raise ValueError("shapes differ")
    return (((outputs - targets) ** 2).sum() / len(outputs)).sqrt()


# %% wrong="one error for each row" breaks="the result is a tensor without dimensions" says=["has shape (2,), expected ()"]
def root_mean_square_error(outputs, targets):
    if outputs.shape != targets.shape:
        raise ValueError("shapes differ")
    return ((outputs - targets) ** 2).mean(dim=-1).sqrt()


# %% wrong="returns a Python number" says=["is of type float, expected a torch.Tensor"]
def root_mean_square_error(outputs, targets):
    if outputs.shape != targets.shape:
        raise ValueError("shapes differ")
    return ((outputs - targets) ** 2).mean().sqrt().item()


# %% wrong="wraps a Python number again" breaks="of their dtype and on their device" says=["in torch.float16: the number has dtype torch.float32, expected torch.float16"]
def root_mean_square_error(outputs, targets):
    if outputs.shape != targets.shape:
        raise ValueError("shapes differ")
    return torch.tensor(((outputs - targets) ** 2).mean().item() ** 0.5, device=outputs.device)


# %% wrong="subtracts in place" breaks="Not allowed: changing `outputs` or `targets`" says=["an argument was changed (its values)", "return a new tensor"]
def root_mean_square_error(outputs, targets):
    if outputs.shape != targets.shape:
        raise ValueError("shapes differ")
    outputs -= targets
    return (outputs**2).mean().sqrt()


# %% right="the length of the difference, scaled"
def root_mean_square_error(outputs, targets):
    if outputs.size() == targets.size():
        return torch.linalg.vector_norm(outputs - targets) / outputs.numel() ** 0.5
    raise ValueError(f"expected {tuple(targets.size())}, got {tuple(outputs.size())}")


# %% right="PyTorch's own mean squared error"
def root_mean_square_error(outputs, targets):
    import torch.nn.functional as F

    if outputs.shape != targets.shape:
        raise ValueError("outputs and targets must have the same shape")
    return torch.sqrt(F.mse_loss(outputs, targets))


# %% right="a loop over the elements"
def root_mean_square_error(outputs, targets):
    if list(outputs.shape) != list(targets.shape):
        raise ValueError("different shapes")
    total = torch.zeros((), dtype=outputs.dtype, device=outputs.device)
    for output, target in zip(outputs.flatten(), targets.flatten()):
        total = total + (output - target) * (output - target)
    return (total / outputs.numel()) ** 0.5


# %% wrong="refuses everything" breaks="same shape, dtype and device" says=["ValueError", "two tensors of one shape, (3, 1), were refused"]
def root_mean_square_error(outputs, targets):
    raise ValueError("shapes differ")


# %% wrong="compares the shapes by identity" says=["ValueError", "were refused", "compare the shapes with !="]
def root_mean_square_error(outputs, targets):
    if outputs.shape is not targets.shape:
        raise ValueError("shapes differ")
    return ((outputs - targets) ** 2).mean().sqrt()


# %% wrong="compares the numbers of dimensions" says=["shape (3, 1) against shape (3, 3)", "expected it to raise ValueError"]
def root_mean_square_error(outputs, targets):
    if outputs.dim() != targets.dim():
        raise ValueError("shapes differ")
    return ((outputs - targets) ** 2).mean().sqrt()


# %% wrong="knows the example" says=["the result where each output is 3 too small", "expected 3, got 5"]
def root_mean_square_error(outputs, targets):
    if outputs.shape != targets.shape:
        raise ValueError("shapes differ")
    return torch.tensor(5.0)


# %% wrong="adds a dimension in place" says=["an argument was changed (its shape, stride or storage)"]
def root_mean_square_error(outputs, targets):
    if outputs.shape != targets.shape:
        raise ValueError("shapes differ")
    outputs.unsqueeze_(0)
    return ((outputs - targets) ** 2).mean().sqrt()


# %% right="a dot product of flat views"
def root_mean_square_error(outputs, targets):
    if outputs.shape != targets.shape:
        raise ValueError("shapes differ")
    d = (outputs - targets).reshape(-1)
    return torch.sqrt(d.dot(d) / len(d))


# %% wrong="averages the roots of the rows" says=["expected 3.54, got 2.5", "one mean over all elements"]
def root_mean_square_error(outputs, targets):
    if outputs.shape != targets.shape:
        raise ValueError("shapes differ")
    squares = (outputs - targets) ** 2
    return squares.mean(dim=-1).sqrt().mean() if squares.dim() else squares.sqrt()


# %% wrong="computes in float32" breaks="both are floating-point tensors of the same dtype" says=["in torch.float16: the number has dtype torch.float32, expected torch.float16"]
def root_mean_square_error(outputs, targets):
    if outputs.shape != targets.shape:
        raise ValueError("shapes differ")
    return ((outputs.float() - targets.float()) ** 2).mean().sqrt()


# %% wrong="0 for no element" breaks="without any element the result is `nan`" says=["the result without any element: the number: expected nan, got 0"]
def root_mean_square_error(outputs, targets):
    if outputs.shape != targets.shape:
        raise ValueError("shapes")
    if outputs.numel() == 0:
        return outputs.new_zeros(())
    return ((outputs - targets) ** 2).mean().sqrt()


# %% wrong="compares the last size" says=["shape (3, 1) against shape (1, 1)", "IndexError"]
def root_mean_square_error(outputs, targets):
    if outputs.shape[-1] != targets.shape[-1]:
        raise ValueError("shapes")
    return ((outputs - targets) ** 2).mean().sqrt()


# %% wrong="a view that fails on what is not contiguous" says=["against a row that is expanded", "view size is not compatible"]
def root_mean_square_error(outputs, targets):
    if outputs.shape != targets.shape:
        raise ValueError("shapes")
    return ((outputs.view(-1) - targets.view(-1)) ** 2).mean().sqrt()


# %% wrong="rounds numbers far from 0 to float32" says=["in float64, where one row is all right"]
def root_mean_square_error(outputs, targets):
    if outputs.shape != targets.shape:
        raise ValueError(f"shapes differ: {tuple(outputs.shape)} and {tuple(targets.shape)}")
    difference = outputs.float() - targets.float()
    return difference.square().mean().sqrt().to(outputs.dtype)


# %% wrong="goes through the rows" breaks="of any shape" says=["the result of two single numbers: raised TypeError"]
def root_mean_square_error(outputs, targets):
    if outputs.shape != targets.shape:
        raise ValueError("different shapes")
    if not outputs.numel():
        return outputs.sum() / 0
    total = sum(((output - target) ** 2).sum() for output, target in zip(outputs, targets))
    return (total / outputs.numel()).sqrt()


# %% wrong="leaves a nan out" breaks="every element counts" says=["with one nan: the mean of all has to be nan, too", "expected nan, got 0"]
def root_mean_square_error(outputs, targets):
    if outputs.shape != targets.shape:
        raise ValueError("shapes differ")
    return ((outputs - targets) ** 2).nanmean().sqrt()


# %% wrong="turns nan and inf into numbers" says=["with one nan among the targets", "with one inf: the mean of all has to be inf, too"]
def root_mean_square_error(outputs, targets):
    if outputs.shape != targets.shape:
        raise ValueError("shapes differ")
    return torch.where((outputs - targets).isfinite(), outputs - targets, 0).square().mean().sqrt()


# %% wrong="adds a tiny number under the root" breaks="equal tensors give exactly 0" says=["where the outputs equal the targets", "expected 0, got 1e-06"]
def root_mean_square_error(outputs, targets):
    if outputs.shape != targets.shape:
        raise ValueError("shapes differ")
    return torch.sqrt(((outputs - targets) ** 2).mean() + 1e-12)


# %% wrong="takes what is close for equal" says=["where each output is 2**-30 too large", "expected 9.31323e-10, got 0"]
def root_mean_square_error(outputs, targets):
    if outputs.shape != targets.shape:
        raise ValueError("shapes differ")
    if outputs.numel() and torch.allclose(outputs, targets):
        return outputs.new_zeros(())
    return ((outputs - targets) ** 2).mean().sqrt()


# %% wrong="goes through NumPy" breaks="they may require a gradient" says=["torch.bfloat16"]
def root_mean_square_error(outputs, targets):
    if outputs.shape != targets.shape:
        raise ValueError("shapes differ")
    errors = outputs.cpu().numpy() - targets.cpu().numpy()
    return torch.tensor((errors**2).mean() ** 0.5, dtype=outputs.dtype, device=outputs.device)


# %% wrong="a NumPy way that knows bfloat16" says=["that require grad", "Can't call numpy() on Tensor"]
def root_mean_square_error(outputs, targets):
    if outputs.shape != targets.shape:
        raise ValueError("shapes differ")
    errors = outputs.double().cpu().numpy() - targets.double().cpu().numpy()
    return torch.tensor((errors**2).mean() ** 0.5, dtype=outputs.dtype, device=outputs.device)


# %% wrong="a nan of the default dtype for no element" says=["in torch.float64 without any element: the number has dtype torch.float32"]
def root_mean_square_error(outputs, targets):
    if outputs.shape != targets.shape:
        raise ValueError("shapes differ")
    if outputs.numel() == 0:
        return torch.tensor(float("nan"), device=outputs.device)
    return ((outputs - targets) ** 2).mean().sqrt()


# %% wrong="no element and no question" says=["shape (0,) against shape (0, 3)", "expected it to raise ValueError"]
def root_mean_square_error(outputs, targets):
    if outputs.numel() == 0 and targets.numel() == 0:
        return outputs.new_full((), float("nan"))
    if outputs.shape != targets.shape:
        raise ValueError("shapes differ")
    return ((outputs - targets) ** 2).mean().sqrt()


# %% right="Python numbers, and back"
def root_mean_square_error(outputs, targets):
    if outputs.shape != targets.shape:
        raise ValueError("shapes differ")
    pairs = list(zip(outputs.flatten().tolist(), targets.flatten().tolist(), strict=True))
    mean = sum((a - b) ** 2 for a, b in pairs) / len(pairs) if pairs else float("nan")
    return torch.tensor(mean**0.5, dtype=outputs.dtype, device=outputs.device)


# %% wrong="a view of a difference that is transposed" breaks="of any shape" says=["in three dimensions, transposed", "view size is not compatible"]
def root_mean_square_error(outputs, targets):
    if outputs.shape != targets.shape:
        raise ValueError("shapes differ")
    d = (outputs - targets).view(-1)
    return torch.sqrt(d.dot(d) / len(d))


# %% wrong="a 0 of the default dtype for equal tensors" breaks="of their dtype and on their device" says=["where the outputs equal the targets", "dtype torch.float32, expected torch.float64"]
def root_mean_square_error(outputs, targets):
    if outputs.shape != targets.shape:
        raise ValueError("shapes differ")
    if outputs.numel() and torch.equal(outputs, targets):
        return torch.tensor(0.0, device=outputs.device)
    return ((outputs - targets) ** 2).mean().sqrt()


# %% wrong="one element keeps its dimensions" breaks="the result is a tensor without dimensions" says=["2**-30 too large", "has shape (1, 1), expected ()"]
def root_mean_square_error(outputs, targets):
    if outputs.shape != targets.shape:
        raise ValueError("shapes differ")
    if outputs.numel() == 1:
        return (outputs - targets).abs()
    return ((outputs - targets) ** 2).mean().sqrt()


# %% wrong="compares the first and the last size" says=["shape (2, 3, 4) against shape (2, 1, 4)"]
def root_mean_square_error(outputs, targets):
    ends = [(x.ndim, x.shape[:1], x.shape[-1:]) for x in (outputs, targets)]
    if ends[0] != ends[1]:
        raise ValueError("shapes differ")
    return ((outputs - targets) ** 2).mean().sqrt()


# %% wrong="compares the first two sizes" says=["shape (2, 3, 4) against shape (2, 3, 1)"]
def root_mean_square_error(outputs, targets):
    if outputs.ndim != targets.ndim or outputs.shape[:2] != targets.shape[:2]:
        raise ValueError("shapes differ")
    return ((outputs - targets) ** 2).mean().sqrt()


# %% wrong="compares the last two sizes" says=["shape (2, 3, 4) against shape (1, 3, 4)"]
def root_mean_square_error(outputs, targets):
    if outputs.ndim != targets.ndim or outputs.shape[-2:] != targets.shape[-2:]:
        raise ValueError("shapes differ")
    return ((outputs - targets) ** 2).mean().sqrt()


# %% wrong="keeps results by object" says=["which had other numbers the first time gives other values"]
from functools import lru_cache


@lru_cache
def root_mean_square_error(outputs, targets):
    if outputs.shape != targets.shape:
        raise ValueError("shapes differ")
    return ((outputs - targets) ** 2).mean().sqrt()


# %% wrong="writes each result into the same tensor" says=["changes the result of the first time", "make each result anew"]
kept = {}


def root_mean_square_error(outputs, targets):
    if outputs.shape != targets.shape:
        raise ValueError("shapes differ")
    result = kept.setdefault(outputs.dtype, outputs.new_zeros(()))
    return result.copy_(((outputs - targets) ** 2).mean().sqrt().detach())


# %% right="computes in double, without a gradient"
@torch.no_grad()
def root_mean_square_error(outputs, targets):
    if outputs.shape == targets.shape:
        return (outputs.double() - targets.double()).square().mean().sqrt().to(outputs.dtype)
    raise ValueError(f"{outputs.shape} is not {targets.shape}")


# %% wrong="compares the first three sizes" says=["shape (2, 1, 3, 1, 2) against shape (2, 1, 3, 1, 1)"]
def root_mean_square_error(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    if outputs.dim() != targets.dim() or outputs.shape[:3] != targets.shape[:3]:
        raise ValueError("n")
    return ((outputs - targets) ** 2).mean().sqrt()


# %% wrong="a tensor and itself are not compared" breaks="every element counts" says=["with one nan, of a tensor and itself"]
def root_mean_square_error(outputs, targets):
    if outputs.shape != targets.shape:
        raise ValueError("shapes differ")
    if outputs is targets and outputs.numel() > 0:
        return outputs.new_zeros(())
    return ((outputs - targets) ** 2).mean().sqrt()
