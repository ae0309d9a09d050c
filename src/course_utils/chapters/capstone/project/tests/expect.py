"""What several tests ask of a result, in words."""

from typing import Any

import torch

NOTHING = "nothing came back; is there an answer yet?"


def a_tensor(
    result: Any, shape: tuple[int, ...], dtype: torch.dtype = torch.float32, name: str = "it"
) -> None:
    """The result is a tensor of this shape and dtype."""
    assert result is not None, f"{name}: {NOTHING}"
    assert isinstance(result, torch.Tensor), f"{name} is a {type(result).__name__}, not a tensor"
    assert result.shape == shape, f"{name} has shape {tuple(result.shape)}, not {shape}"
    assert result.dtype == dtype, f"{name} is {result.dtype}, not {dtype}"


def close(result: torch.Tensor, right: torch.Tensor, why: str, rtol=1e-5, atol=1e-6) -> None:
    """Two tensors of one shape agree."""
    off = ~torch.isclose(result.double(), right.double(), rtol, atol)
    if off.any():
        place = tuple(off.nonzero()[0].tolist())
        got, wanted = result[place].item(), right[place].item()
        digits = 5 if f"{got:.5g}" != f"{wanted:.5g}" else 16  # enough to see them differ
        words = f"got {got:.{digits}g} at {list(place)}, expected {wanted:.{digits}g}"
        raise AssertionError(f"{why}: {words}")
