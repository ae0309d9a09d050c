# %% [markdown]
# Rules:
#
# - "*standard deviation* `noise`"
# - "independent from example to example; a batch takes the mean"
# - "A step is w ← w - rate · (c · w + the batch's noise)"
# - "the mean of w²"
# - "after very many steps"
# - "All four are positive"
# - "Where it grows without bound, return `float("inf")`"
# - "No simulation"
# - "it should be exact"
# - "however small the rate is"

# %% wrong="noise taken for a variance" breaks="*standard deviation* `noise`" says=["square it"]
def batch_and_rate(rate, batch, curvature, noise):
    factor = (1 - rate * curvature) ** 2
    return float("inf") if factor >= 1 else rate**2 * noise / batch / (1 - factor)


# %% wrong="the formula for small rates" says=["holds for small rates only"]
def batch_and_rate(rate, batch, curvature, noise):
    return float("inf") if rate * curvature >= 2 else rate * noise**2 / (2 * batch * curvature)


# %% wrong="the batch is left out" breaks="independent from example to example; a batch takes the mean" says=["has the variance noise² / B"]
def batch_and_rate(rate, batch, curvature, noise):
    factor = (1 - rate * curvature) ** 2
    return float("inf") if factor >= 1 else rate**2 * noise**2 / (1 - factor)


# %% wrong="the batch squared" says=["has the variance noise² / B"]
def batch_and_rate(rate, batch, curvature, noise):
    factor = (1 - rate * curvature) ** 2
    return float("inf") if factor >= 1 else rate**2 * noise**2 / batch**2 / (1 - factor)


# %% wrong="negative above the limit" breaks="Where it grows without bound, return `float(\"inf\")`" says=["it grows without bound"]
def batch_and_rate(rate, batch, curvature, noise):
    factor = (1 - rate * curvature) ** 2
    return rate**2 * noise**2 / batch / (1 - factor) if factor != 1 else float("inf")


# %% wrong="divides by zero at the limit" says=["0 stands below a fraction bar"]
def batch_and_rate(rate, batch, curvature, noise):
    return rate * noise**2 / (batch * curvature * (2 - rate * curvature))


# %% wrong="the factor is not squared" says=["the mean of w²: expected"]
def batch_and_rate(rate, batch, curvature, noise):
    factor = abs(1 - rate * curvature)
    return float("inf") if factor >= 1 else rate**2 * noise**2 / batch / (1 - factor)


# %% wrong="isclose with its default" says=["batch_and_rate(1.999999999", "this rate is below"]
import math


def batch_and_rate(rate, batch, curvature, noise):
    x = rate * curvature
    if x > 2 or math.isclose(x, 2):
        return float("inf")
    return rate * noise**2 / (batch * curvature * (2 - x))


# %% right="solved for V"
def batch_and_rate(rate, batch, curvature, noise):
    left = 2 - rate * curvature
    return rate * noise * noise / (batch * curvature * left) if left > 0 else float("inf")


# %% wrong="many steps of the variance, as a tensor's number" says=["not settled after so few steps"]
def batch_and_rate(rate, batch, curvature, noise):
    if rate * curvature >= 2:
        return torch.inf
    v, factor = 0.0, (1 - rate * curvature) ** 2
    for _ in range(20000):
        v = factor * v + rate**2 * noise**2 / batch
    return v


# %% wrong="a thousand rounds" breaks="after very many steps" says=["not settled after so few steps"]
def batch_and_rate(rate, batch, curvature, noise):
    if abs(1 - rate * curvature) >= 1:
        return float("inf")
    v = 0.0
    for _ in range(1000):
        v = (1 - rate * curvature) ** 2 * v + rate**2 * noise**2 / batch
    return v


# %% wrong="until it hardly changes" says=["not settled after so few steps"]
def batch_and_rate(rate, batch, curvature, noise):
    if rate * curvature >= 2:
        return float("inf")
    v, old = 0.0, -1.0
    while abs(v - old) > 1e-12:
        v, old = (1 - rate * curvature) ** 2 * v + rate**2 * noise**2 / batch, v
    return v


# %% wrong="simulated by draws" breaks="No simulation" says=["not settled after so few steps"]
def batch_and_rate(rate, batch, curvature, noise):
    if rate * curvature >= 2:
        return float("inf")
    g, w, seen = torch.Generator().manual_seed(0), torch.zeros(2000, dtype=torch.float64), []
    for _ in range(400):
        w = w - rate * (
            curvature * w + noise / batch**0.5 * torch.randn(2000, generator=g, dtype=torch.float64)
        )
        seen.append(w.square().mean().item())
    return sum(seen[200:]) / 200


# %% wrong="0 / 0 at the limit" says=["0 stands below a fraction bar"]
def batch_and_rate(rate, batch, curvature, noise):
    f = 1 - rate * curvature
    return rate**2 * noise**2 / batch / (1 - f * f) if abs(f) <= 1 else float("inf")


# %% wrong="three digits only" breaks="it should be exact" says=["expected 0.666667, got 0.667"]
def batch_and_rate(rate, batch, curvature, noise):
    if rate * curvature >= 2:
        return float("inf")
    return float(f"{rate * noise**2 / (batch * curvature * (2 - rate * curvature)):.3g}")


# %% wrong="the limit at 1 / c" says=["it is inf: the limit is 2 / curvature"]
def batch_and_rate(rate, batch, curvature, noise):
    if rate * curvature >= 1:
        return float("inf")
    return rate**2 * noise**2 / batch / (1 - (1 - rate * curvature) ** 2)


# %% wrong="the root" breaks="the mean of w²" says=["that is the root: the mean of w² is asked for"]
def batch_and_rate(rate, batch, curvature, noise):
    factor = (1 - rate * curvature) ** 2
    if factor >= 1:
        return float("inf")
    return (rate**2 * noise**2 / batch / (1 - factor)) ** 0.5


# %% wrong="noise without the rate" breaks="A step is w ← w - rate · (c · w + the batch's noise)" says=["a step adds rate times the noise"]
def batch_and_rate(rate, batch, curvature, noise):
    factor = (1 - rate * curvature) ** 2
    return noise**2 / batch / (1 - factor) if factor < 1 else float("inf")


# %% right="in tensors of float64"
def batch_and_rate(rate, batch, curvature, noise):
    rate, batch, c, noise = torch.tensor([rate, batch, curvature, noise], dtype=torch.float64)
    settled = rate * noise**2 / (batch * c * (2 - rate * c))
    return torch.where(rate * c < 2, settled, torch.inf)


# %% wrong="whole standard deviations" breaks="All four are positive" says=["is it int() or //?"]
def batch_and_rate(rate, batch, curvature, noise):
    if rate * curvature >= 2:
        return float("inf")
    return rate * int(noise) ** 2 / batch / (curvature * (2 - rate * curvature))


# %% wrong="a whole-number division" says=["is it int() or //?"]
def batch_and_rate(rate, batch, curvature, noise):
    if rate * curvature >= 2:
        return float("inf")
    return rate * (noise**2 // 1) / batch / (curvature * (2 - rate * curvature))


# %% wrong="the rate once" says=["a step adds rate times the noise, whose variance has rate²"]
def batch_and_rate(rate, batch, curvature, noise):
    factor = (1 - rate * curvature) ** 2
    if factor >= 1:
        return float("inf")
    return rate * noise**2 / batch / (1 - factor)


# %% wrong="the root of the batch" says=["the noise of a mean of B examples has the variance noise² / B"]
def batch_and_rate(rate, batch, curvature, noise):
    factor = (1 - rate * curvature) ** 2
    if factor >= 1:
        return float("inf")
    return rate**2 * noise**2 / batch**0.5 / (1 - factor)


# %% wrong="w² by the factor of w" says=["w is multiplied by 1 - rate * c, and so w² by its square"]
def batch_and_rate(rate, batch, curvature, noise):
    factor = 1 - rate * curvature
    if factor >= 1:
        return float("inf")
    return rate**2 * noise**2 / batch / (1 - factor)


# %% wrong="an error where it grows" says=["where it grows without bound, float('inf') is asked for"]
def batch_and_rate(rate, batch, curvature, noise):
    if rate * curvature >= 2:
        raise ValueError("the rate is above the limit")
    return rate * noise**2 / (batch * curvature * (2 - rate * curvature))


# %% wrong="rounds the factor" says=["something was rounded on the way"]
def batch_and_rate(rate, batch, curvature, noise):
    shrink = round((1 - rate * curvature) ** 2, 6)
    if shrink >= 1:
        return float("inf")
    return rate**2 * noise**2 / batch / (1 - shrink)


# %% wrong="in float32" breaks="it should be exact" says=["rounded on the way: is it float32"]
def batch_and_rate(rate: float, batch: int, curvature: float, noise: float) -> float:
    """The mean of w² at which SGD settles; ``noise`` is one example's standard deviation."""
    r, c, n = torch.tensor([rate, curvature, noise])
    if r * c >= 2:
        return float("inf")
    return (r * n**2 / (batch * c * (2 - r * c))).item()


# %% wrong="one minus the square" breaks="however small the rate is" says=["batch_and_rate(3e-15, 2, 0.5, 1.0)", "takes nearly equal numbers from each other: multiply it out"]
def batch_and_rate(rate: float, batch: int, curvature: float, noise: float) -> float:
    factor = (1 - rate * curvature) ** 2
    if factor >= 1:
        return float("inf")
    return rate**2 * noise**2 / batch / (1 - factor)


# %% wrong="a factor that seems to be 1" says=["batch_and_rate(1e-100, 2, 0.5, 1.0): it is inf: 1 - (1 - rate · c)² takes nearly equal"]
def batch_and_rate(rate: float, batch: int, curvature: float, noise: float) -> float:
    if abs(1 - rate * curvature) >= 1:
        return float("inf")
    return rate * noise**2 / (batch * curvature * (2 - rate * curvature))


# %% wrong="infinite just below the limit as well" breaks="Where it grows without bound, return `float(\"inf\")`" says=["batch_and_rate(1.9999, 2, 1.0, 1.0): it is inf: the limit is 2 / curvature, and this rate is below"]
def batch_and_rate(rate, batch, curvature, noise):
    x = rate * curvature
    if x > 2 - 1e-3:
        return float("inf")
    return rate * noise**2 / (batch * curvature * (2 - x))


# %% right="by expm1 of logarithms where the rate is small"
import math


def batch_and_rate(rate, batch, curvature, noise):
    x = rate * curvature
    if x >= 2:
        return math.inf
    shrinks = -math.expm1(2 * math.log1p(-x)) if x < 0.5 else 1 - (1 - x) ** 2
    return rate * rate * noise**2 / batch / shrinks


# %% wrong="twenty-eight digits" breaks="however small the rate is" says=["batch_and_rate(1e-100, 2, 0.5, 1.0): it is inf: 1 - (1 - rate · c)² takes nearly equal"]
def batch_and_rate(rate, batch, curvature, noise):
    from decimal import Decimal

    rate, curvature, noise = Decimal(rate), Decimal(curvature), Decimal(noise)
    factor = (1 - rate * curvature) ** 2
    if factor >= 1:
        return float("inf")
    return float(rate**2 * noise**2 / batch / (1 - factor))


# %% wrong="a small number below the fraction bar" breaks="it should be exact" says=["batch_and_rate(1.999999999", "a small number shows that is added below the fraction bar"]
def batch_and_rate(rate: float, batch: int, curvature: float, noise: float) -> float:
    if rate * curvature >= 2:
        return float("inf")
    return rate * noise**2 / (batch * curvature * (2 - rate * curvature) + 1e-12)


# %% right="a variance, and what is lost of it in a step"
def batch_and_rate(rate: float, batch: int, curvature: float, noise: float) -> float:
    x = rate * curvature
    variance = rate**2 * noise**2 / batch
    return variance / (x * (2 - x)) if x < 2 else float("inf")
