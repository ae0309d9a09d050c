"""How far away SGD settles: cases of its exercise, and what known slips give."""

from __future__ import annotations

import torch

from course_utils.chapters.optimizers.steps import told

SMALL = "rate * noise² / (2 * B * c) holds for small rates only."


MEAN_OF_B = "the noise of a mean of B examples has the variance noise² / B."


UNSETTLED = "It has not settled after so few steps: solve for what a step leaves unchanged."


CUT = "What is behind a decimal point was cut off: is it int() or //?"


ROUNDED = "something was rounded on the way: (1 - rate · c)² may be very near 1."


LOST = "1 - (1 - rate · c)² takes nearly equal numbers from each other: multiply it out first."


GUARDED = "near the limit a small number shows that is added below the fraction bar: leave it out."


SETTLE_CASES = {  # rate, batch, curvature, noise; the mean of w², and slips by what they give
    (0.5, 2, 1.0, 2.0): (2 / 3, {}),
    (0.1, 10, 3.0, 1.0): (1 / 510, {}),
    (1.5, 1, 1.0, 1.0): (3.0, {}),
    (1, 4, 1, 2): (1.0, {}),
    (0.25, 3, 2.0, 1.5): (0.0625, dict.fromkeys((1 / 36, 1 / 18, 0.0), CUT)),
    # So slow that a simulation doesn't get there.
    (1e-6, 2, 0.5, 1.0): (
        5.00000125e-07,
        dict.fromkeys((0.0, 9.9e-9, 1.98e-8), UNSETTLED),
    ),
    (2.6e-6, 2, 0.5, 1.0): (1.300000845e-06, {1.1266667e-06: ROUNDED}),
    (3e-15, 2, 0.5, 1.0): (1.5e-15, {}),
    (1e-100, 2, 0.5, 1.0): (5e-101, {}),
    (1.9999, 2, 1.0, 1.0): (9999.5, {}),
    (2.0, 4, 1.0, 1.0): (float("inf"), {}),
    (0.9, 4, 3.0, 1.0): (float("inf"), {}),
    (1e100, 2, 1.0, 1.0): (float("inf"), {}),
}


# After all others have passed: a simulation would take a thousand million steps.
NEAR_CASES = {(1.999999999, 2, 1.0, 1.0): (1.999999999 / 2 / (2 - 1.999999999), {})}


def check_settles(answer, arguments, right, slips):
    """A number near the right one, or inf where that is right."""
    try:
        found = answer(*arguments)
    except ValueError as error:
        words = "where it grows without bound, float('inf') is asked for"
        if right != float("inf"):
            words = "1 - rate * curvature may be below 0, and it still settles"
        raise AssertionError(f"raised ValueError: {error}; {words}") from None
    except ZeroDivisionError:
        words = "at rate * curvature = 2 it grows without bound, too"
        words = words if right == float("inf") else LOST
        raise AssertionError(f"0 stands below a fraction bar: {words}") from None
    assert found is not None, "it is None: is there an answer yet?"
    found = found.item() if isinstance(found, torch.Tensor) and found.numel() == 1 else found
    if right == float("inf"):
        words = "above the limit, at rate * curvature = 2 and more, it grows without bound"
        infinite = isinstance(found, (int, float)) and found == right
        assert infinite, f"expected inf, got {found}: {words}"
    else:
        early = isinstance(found, (int, float)) and found == float("inf")
        words = (
            LOST if arguments[0] < 1e-9 else "the limit is 2 / curvature, and this rate is below"
        )
        assert not early, f"it is inf: {words}"
    size = 0.0 if right == float("inf") else right
    if size and isinstance(found, (int, float)):
        slips = {**slips, **_settle_slips(found, right, *arguments)}
    told(found, right, "the mean of w²", slips, atol=1e-5 * size, near=0.006 * size)
    words = f"{found!r} is near {right!r}, but rounded on the way: is it float32, or round()?"
    rate, _, curvature, _ = arguments
    exact = 1e-5 if 0 < 2 - rate * curvature < 1e-6 else 1e-8  # 2x - x² is right as well
    assert not size or abs(found - right) <= exact * size, f"the mean of w²: {words}"


def _settle_slips(found, right, rate, batch, curvature, noise):
    """Words for what leads to this number: all that would, joined by "Or:"."""
    factor = (1 - rate * curvature) ** 2
    slips = {
        "noise is a standard deviation: square it.": [right / noise],
        MEAN_OF_B: [right * batch, right / batch, right * batch**0.5],
        "a step adds rate times the noise, whose variance has rate².": [
            right / rate,
            right / rate**2,
        ],
        "that is the root: the mean of w² is asked for.": [right**0.5],
        SMALL: [rate * noise**2 / (2 * batch * curvature)],
        "w is multiplied by 1 - rate * c, and so w² by its square.": [
            right * (1 - factor) / (rate * curvature)
        ],
    }
    shrinks = 1 - rate * curvature
    rests = 1 - factor, 1 - shrinks * shrinks, (1 - shrinks) * (1 + shrinks)
    slips[LOST] = [(rate * noise) ** 2 / batch / rest for rest in rests if rest]
    fits = [
        words
        for words, numbers in slips.items()
        if any(abs(found - n) <= 1e-6 * n and abs(n - right) > 1e-3 * right for n in numbers)
    ]
    lowest = [(1, batch * curvature * (1 + shrinks)), (rate, batch * (1 - factor))]
    guarded = [rate * noise**2 * by / (low + 10.0**-k) for by, low in lowest for k in range(4, 17)]
    guarded = [n for n in guarded if 1e-5 * right < abs(n - right) < 0.1 * right]
    if any(abs(found - n) <= 1e-6 * n for n in guarded):
        fits.append(GUARDED)
    return {found: " Or: ".join(fits)} if fits else {}
