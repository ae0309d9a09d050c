# %% [markdown]
# Rules:
#
# - "What lies beyond is clamped"
# - "one scale and zero point for all of `x`"
# - "one scale for each row of `weight`"
# - "rounding to the nearest"
# - "A row of zeros has the scale 1"
# - "`total`, int32"
# - "sums of products of whole numbers"
# - "the zero point subtracted"
# - "`y`, float32"
# - "plus the bias"
# - "Calibration found"
# - "what they are worth"
# - "The two may be a layer's own parameters, which require grad"
#
# Admits:
#
# - "`weight` is float32": transposed views
# - "float32, (out, in)": one output
# - "What lies beyond is clamped": far beyond low and high
# - "n may be 0": no row
# - "What lies beyond": beyond low and high
# - "`low` ≤ 0": from 0 up
# - "`high` ≥ 0": down to 0, beyond
# - "a layer's own parameters, which require grad": a layer's own parameters, which require grad

# %% wrong="forgets the zero point" breaks="the zero point subtracted" says=["the zero point is still in the sum"]
def quantised_inference(x, weight, bias, low, high):
    scale = (high - low) / 255
    zero = round(-low / scale)
    whole = ((x / scale).round() + zero).clamp(0, 255).to(torch.int32)
    largest = weight.abs().amax(1)
    step = torch.where(largest == 0, 1.0, largest / 127)
    ints = (weight / step[:, None]).round().to(torch.int32)
    total = (whole[:, None] * ints).sum(2, dtype=torch.int32)
    return total, total * (scale * step) + bias


# %% wrong="one scale for all weights" breaks="one scale for each row of `weight`" says=["each row has its own"]
def quantised_inference(x, weight, bias, low, high):
    scale = (high - low) / 255
    zero = round(-low / scale)
    whole = ((x / scale).round() + zero).clamp(0, 255).to(torch.int32) - zero
    step = weight.abs().max() / 127
    ints = (weight / step).round().to(torch.int32)
    total = (whole[:, None] * ints).sum(2, dtype=torch.int32)
    return total, total * (scale * step) + bias


# %% wrong="no clamp" breaks="What lies beyond is clamped" says=["isn't clamped to 0 and 255"]
def quantised_inference(x, weight, bias, low, high):
    scale = (high - low) / 255
    whole = (x / scale).round().to(torch.int32)
    largest = weight.abs().amax(1)
    step = torch.where(largest == 0, 1.0, largest / 127)
    ints = (weight / step[:, None]).round().to(torch.int32)
    total = (whole[:, None] * ints).sum(2, dtype=torch.int32)
    return total, total * (scale * step) + bias


# %% wrong="divides by a row of zeros" breaks="A row of zeros has the scale 1" says=["a row of zeros has the scale 1"]
def quantised_inference(x, weight, bias, low, high):
    scale = (high - low) / 255
    zero = round(-low / scale)
    whole = ((x / scale).round() + zero).clamp(0, 255).to(torch.int32) - zero
    step = weight.abs().amax(1) / 127
    ints = (weight / step[:, None]).round().to(torch.int32)
    total = (whole[:, None] * ints).sum(2, dtype=torch.int32)
    return total, total * (scale * step) + bias


# %% wrong="cuts off instead of rounding" says=["cut off where they should be rounded"]
def quantised_inference(x, weight, bias, low, high):
    scale = (high - low) / 255
    zero = round(-low / scale)
    whole = ((x / scale).to(torch.int32) + zero).clamp(0, 255) - zero
    largest = weight.abs().amax(1)
    step = torch.where(largest == 0, 1.0, largest / 127)
    ints = (weight / step[:, None]).round().to(torch.int32)
    total = (whole[:, None] * ints).sum(2, dtype=torch.int32)
    return total, total * (scale * step) + bias


# %% wrong="no bias, and int64" breaks="`total`, int32" says=["total is torch.int64, expected torch.int32"]
def quantised_inference(x, weight, bias, low, high):
    scale = (high - low) / 255
    zero = round(-low / scale)
    whole = ((x / scale).round() + zero).clamp(0, 255).long() - zero
    largest = weight.abs().amax(1)
    step = torch.where(largest == 0, 1.0, largest / 127)
    ints = (weight / step[:, None]).round().long()
    total = (whole[:, None] * ints).sum(2)
    return total, total * (scale * step)


# %% wrong="no bias" breaks="plus the bias" says=["the bias isn't added"]
def quantised_inference(x, weight, bias, low, high):
    scale = (high - low) / 255
    zero = round(-low / scale)
    whole = ((x / scale).round() + zero).clamp(0, 255).to(torch.int32) - zero
    largest = weight.abs().amax(1)
    step = torch.where(largest == 0, 1.0, largest / 127)
    ints = (weight / step[:, None]).round().to(torch.int32)
    total = (whole[:, None] * ints).sum(2, dtype=torch.int32)
    return total, total * (scale * step)


# %% wrong="the sum in int8" breaks="sums of products of whole numbers" says=["the sum doesn't fit into eight bits"]
def quantised_inference(x, weight, bias, low, high):
    scale = (high - low) / 255
    zero = round(-low / scale)
    whole = ((x / scale).round() + zero).clamp(0, 255).to(torch.int32) - zero
    largest = weight.abs().amax(1)
    step = torch.where(largest == 0, 1.0, largest / 127)
    ints = (weight / step[:, None]).round().to(torch.int8)
    total = (whole[:, None] * ints).sum(2).to(torch.int8).to(torch.int32)
    return total, total * (scale * step) + bias


# %% right="corrects for the zero point behind the sum, in float64"
def quantised_inference(x, weight, bias, low, high):
    scale = (high - low) / 255
    zero = int(-low / scale + 0.5)
    whole = torch.clamp(torch.round(x / scale) + zero, 0, 255).double()
    step = weight.abs().max(dim=1).values / 127
    step[step == 0] = 1
    ints = torch.round(weight / step.view(-1, 1)).double()
    total = whole @ ints.t() - zero * ints.sum(dim=1)
    y = F.linear(whole - zero, ints * step.double().view(-1, 1)) * scale + bias.double()
    return total.to(torch.int32), y.float()


# %% wrong="256 steps" says=["255 steps"]
def quantised_inference(x, weight, bias, low, high):
    scale = (high - low) / 256
    zero = round(-low / scale)
    q = ((x / scale).round() + zero).clamp(0, 255).to(torch.int32)
    step = weight.abs().amax(1) / 127
    step = torch.where(step == 0, 1.0, step)
    ints = (weight / step[:, None]).round().to(torch.int32)
    total = ((q - zero)[:, None] * ints).sum(2, dtype=torch.int32)
    return total, total * (scale * step) + bias


# %% wrong="a row divided by 128" says=["largest / 127"]
def quantised_inference(x, weight, bias, low, high):
    scale = (high - low) / 255
    zero = round(-low / scale)
    q = ((x / scale).round() + zero).clamp(0, 255).to(torch.int32)
    step = weight.abs().amax(1) / 128
    step = torch.where(step == 0, 1.0, step)
    ints = (weight / step[:, None]).round().to(torch.int32)
    total = ((q - zero)[:, None] * ints).sum(2, dtype=torch.int32)
    return total, total * (scale * step) + bias


# %% wrong="calibrates on each batch" breaks="Calibration found" says=["don't look for them in x"]
def quantised_inference(x, weight, bias, low, high):
    if x.numel():
        low, high = min(0.0, x.min().item()), max(0.0, x.max().item())
    scale = (high - low) / 255
    zero = round(-low / scale)
    q = ((x / scale).round() + zero).clamp(0, 255).to(torch.int32)
    step = weight.abs().amax(1) / 127
    step = torch.where(step == 0, 1.0, step)
    ints = (weight / step[:, None]).round().to(torch.int32)
    total = ((q - zero)[:, None] * ints).sum(2, dtype=torch.int32)
    return total, total * (scale * step) + bias


# %% wrong="the sum in int16" says=["doesn't fit into sixteen bits"]
def quantised_inference(x, weight, bias, low, high):
    scale = (high - low) / 255
    zero = round(-low / scale)
    q = ((x / scale).round() + zero).clamp(0, 255).to(torch.int32)
    step = weight.abs().amax(1) / 127
    step = torch.where(step == 0, 1.0, step)
    ints = (weight / step[:, None]).round().to(torch.int32)
    total = ((q - zero)[:, None] * ints).sum(2, dtype=torch.int16).int()
    return total, total * (scale * step) + bias


# %% wrong="the largest with its sign" says=["a negative weight counts as well"]
def quantised_inference(x, weight, bias, low, high):
    scale = (high - low) / 255
    zero = round(-low / scale)
    q = ((x / scale).round() + zero).clamp(0, 255).to(torch.int32)
    step = weight.amax(1) / 127
    step = torch.where(step == 0, 1.0, step)
    ints = (weight / step[:, None]).round().to(torch.int32)
    total = ((q - zero)[:, None] * ints).sum(2, dtype=torch.int32)
    return total, total * (scale * step) + bias


# %% wrong="weights cut off" says=["the weights are cut off"]
def quantised_inference(x, weight, bias, low, high):
    scale = (high - low) / 255
    zero = round(-low / scale)
    q = ((x / scale).round() + zero).clamp(0, 255).to(torch.int32)
    step = weight.abs().amax(1) / 127
    step = torch.where(step == 0, 1.0, step)
    ints = (weight / step[:, None]).trunc().to(torch.int32)
    total = ((q - zero)[:, None] * ints).sum(2, dtype=torch.int32)
    return total, total * (scale * step) + bias


# %% wrong="rounds down" breaks="rounding to the nearest" says=["rounded down"]
def quantised_inference(x, weight, bias, low, high):
    scale = (high - low) / 255
    zero = round(-low / scale)
    q = ((x / scale).floor() + zero).clamp(0, 255).to(torch.int32)
    step = weight.abs().amax(1) / 127
    step = torch.where(step == 0, 1.0, step)
    ints = (weight / step[:, None]).round().to(torch.int32)
    total = ((q - zero)[:, None] * ints).sum(2, dtype=torch.int32)
    return total, total * (scale * step) + bias


# %% right="PyTorch's fake quantisation, and einsum"
def quantised_inference(x, weight, bias, low, high):
    scale = (high - low) / 255
    zero = round(-low / scale)
    q = torch.fake_quantize_per_tensor_affine(x, scale, zero, 0, 255)
    q = (q / scale).round().long()
    step = weight.abs().amax(1, keepdim=True) / 127
    step[step == 0] = 1
    ints = (weight / step).round().long()
    total = torch.einsum("ni,oi->no", q, ints).int()
    return total, total * scale * step.T + bias


# %% wrong="sums in float32" says=["large sums", "float32 doesn't hold every whole number there"]
def quantised_inference(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, low: float, high: float
) -> tuple[torch.Tensor, torch.Tensor]:
    scale = (high - low) / 255
    zero = round(-low / scale)
    whole = ((x / scale).round() + zero).clamp(0, 255).to(torch.int32) - zero
    largest = weight.abs().amax(1)
    step = torch.where(largest == 0, 1.0, largest / 127)
    ints = (weight / step[:, None]).round().to(torch.int32)
    total = (whole.float() @ ints.float().T).to(torch.int32)
    return total, total * (scale * step) + bias


# %% right="sums in float64"
def quantised_inference(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, low: float, high: float
) -> tuple[torch.Tensor, torch.Tensor]:
    scale = (high - low) / 255
    zero = round(-low / scale)
    whole = ((x / scale).round() + zero).clamp(0, 255).to(torch.int32) - zero
    largest = weight.abs().amax(1)
    step = torch.where(largest == 0, 1.0, largest / 127)
    ints = (weight / step[:, None]).round().to(torch.int32)
    total = (whole.double() @ ints.double().T).to(torch.int32)
    return total, total * (scale * step) + bias


# %% wrong="a symmetric scale" breaks="one scale and zero point for all of `x`" says=["total"]
def quantised_inference(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, low: float, high: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """A linear layer in uint8 times int8: int32 sums and float32 results, both (n, out)."""
    scale = 2 * max(-low, high) / 255
    zero = 128
    whole = ((x / scale).round() + zero).clamp(0, 255).to(torch.int32) - zero
    largest = weight.abs().amax(1)
    step = torch.where(largest == 0, 1.0, largest / 127)
    ints = (weight / step[:, None]).round().to(torch.int32)
    total = (whole[:, None] * ints).sum(2, dtype=torch.int32)
    return total, total * (scale * step) + bias


# %% wrong="y in float64" breaks="`y`, float32" says=["y is torch.float64, expected torch.float32"]
def quantised_inference(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, low: float, high: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """A linear layer in uint8 times int8: int32 sums and float32 results, both (n, out)."""
    scale = (high - low) / 255
    zero = round(-low / scale)
    whole = ((x / scale).round() + zero).clamp(0, 255).to(torch.int32) - zero
    largest = weight.abs().amax(1)
    step = torch.where(largest == 0, 1.0, largest / 127)
    ints = (weight / step[:, None]).round().to(torch.int32)
    total = (whole[:, None] * ints).sum(2, dtype=torch.int32)
    return total, (total * (scale * step) + bias).double()


# %% wrong="zero point cut off" says=["total"]
def quantised_inference(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, low: float, high: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """A linear layer in uint8 times int8: int32 sums and float32 results, both (n, out)."""
    scale = (high - low) / 255
    zero = int(-low / scale)
    whole = ((x / scale).round() + zero).clamp(0, 255).to(torch.int32) - zero
    largest = weight.abs().amax(1)
    step = torch.where(largest == 0, 1.0, largest / 127)
    ints = (weight / step[:, None]).round().to(torch.int32)
    total = (whole[:, None] * ints).sum(2, dtype=torch.int32)
    return total, total * (scale * step) + bias


# %% wrong="a row divided by 128, in int8" says=["128 isn't an int8"]
def quantised_inference(x, weight, bias, low, high):
    scale = (high - low) / 255
    zero = round(-low / scale)
    whole = ((x / scale).round() + zero).clamp(0, 255).to(torch.uint8)
    step = weight.abs().amax(1) / 128
    step = torch.where(step == 0, 1.0, step)
    ints = (weight / step[:, None]).round().to(torch.int8)
    total = ((whole.int() - zero)[:, None] * ints.int()).sum(2, dtype=torch.int32)
    return total, total * scale * step + bias


# %% wrong="the largest, at least 0" says=["those whose largest number by size is negative"]
def quantised_inference(x, weight, bias, low, high):
    scale = (high - low) / 255
    zero = round(-low / scale)
    whole = ((x / scale).round() + zero).clamp(0, 255).to(torch.uint8)
    step = weight.amax(1).clamp(min=0) / 127
    step = torch.where(step == 0, 1.0, step)
    ints = (weight / step[:, None]).round().to(torch.int8)
    total = ((whole.int() - zero)[:, None] * ints.int()).sum(2, dtype=torch.int32)
    return total, total * scale * step + bias


# %% wrong="no step below a thousandth" says=["the others right: what is a row's scale?"]
def quantised_inference(x, weight, bias, low, high):
    scale = (high - low) / 255
    zero = round(-low / scale)
    whole = ((x / scale).round() + zero).clamp(0, 255).to(torch.uint8)
    step = weight.abs().amax(1) / 127
    step = step.clamp(min=1e-3)
    ints = (weight / step[:, None]).round().to(torch.int8)
    total = ((whole.int() - zero)[:, None] * ints.int()).sum(2, dtype=torch.int32)
    return total, total * scale * step + bias


# %% wrong="a row of zeros changes all rows" breaks="A row of zeros has the scale 1" says=["the scale 1 is for the row of zeros alone"]
def quantised_inference(x, weight, bias, low, high):
    scale = (high - low) / 255
    zero = round(-low / scale)
    whole = ((x / scale).round() + zero).clamp(0, 255).to(torch.uint8)
    step = weight.abs().amax(1) / 127
    step = step if bool((step > 0).all()) else torch.ones_like(step)
    ints = (weight / step[:, None]).round().to(torch.int8)
    total = ((whole.int() - zero)[:, None] * ints.int()).sum(2, dtype=torch.int32)
    return total, total * scale * step + bias


# %% wrong="the bias in the total" breaks="sums of products of whole numbers" says=["the bias belongs to y"]
def quantised_inference(x, weight, bias, low, high):
    scale = (high - low) / 255
    zero = round(-low / scale)
    whole = ((x / scale).round() + zero).clamp(0, 255).to(torch.uint8)
    step = weight.abs().amax(1) / 127
    step = torch.where(step == 0, 1.0, step)
    ints = (weight / step[:, None]).round().to(torch.int8)
    total = ((whole.int() - zero)[:, None] * ints.int()).sum(2, dtype=torch.int32)
    total = total + (bias / (scale * step)).round().int()
    return total, total * scale * step


# %% wrong="y from the float layer" breaks="what they are worth" says=["y: that is the layer in float32"]
def quantised_inference(x, weight, bias, low, high):
    scale = (high - low) / 255
    zero = round(-low / scale)
    whole = ((x / scale).round() + zero).clamp(0, 255).to(torch.uint8)
    step = weight.abs().amax(1) / 127
    step = torch.where(step == 0, 1.0, step)
    ints = (weight / step[:, None]).round().to(torch.int8)
    total = ((whole.int() - zero)[:, None] * ints.int()).sum(2, dtype=torch.int32)
    return total, F.linear(x, weight, bias)


# %% wrong="a zero point with a fraction" says=["the zero point is a whole number"]
def quantised_inference(x, weight, bias, low, high):
    scale = (high - low) / 255
    zero = -low / scale
    whole = (x / scale + zero).round().clamp(0, 255).to(torch.uint8)
    step = weight.abs().amax(1) / 127
    step = torch.where(step == 0, 1.0, step)
    ints = (weight / step[:, None]).round().to(torch.int8)
    total = ((whole.int() - zero)[:, None] * ints.int()).sum(2).round().to(torch.int32)
    return total, total * scale * step + bias


# %% wrong="128 for the zero point" says=["total: the zero point isn't always 128"]
def quantised_inference(x, weight, bias, low, high):
    scale = (high - low) / 255
    zero = 128
    whole = ((x / scale).round() + zero).clamp(0, 255).to(torch.int32)
    largest = weight.abs().amax(1, keepdim=True)
    step = torch.where(largest > 0, largest / 127, 1.0)
    ints = (weight / step).round().to(torch.int32)
    total = ((whole - zero)[:, None] * ints).sum(2, dtype=torch.int32)
    return total, total * scale * step[:, 0] + bias


# %% wrong="a step of a millionth at least" breaks="one scale for each row of `weight`" says=["a row of tiny weights is wrong, the others right"]
def quantised_inference(x, weight, bias, low, high):
    scale = (high - low) / 255
    zero = round(-low / scale)
    whole = ((x / scale).round() + zero).clamp(0, 255).to(torch.uint8)
    step = weight.abs().amax(1, keepdim=True) / 127
    step = step.clamp(min=1e-6)
    ints = (weight / step).round().to(torch.int8)
    total = ((whole.int() - zero)[:, None] * ints.int()).sum(2, dtype=torch.int32)
    return total, total * scale * step[:, 0] + bias


# %% wrong="activations in int8, the zero point taken away" breaks="sums of products of whole numbers" says=["goes up to 255: more than int8 holds"]
def quantised_inference(x, weight, bias, low, high):
    scale = (high - low) / 255
    zero = round(-low / scale)
    whole = ((x / scale).round() + zero).clamp(0, 255).to(torch.int32) - zero
    largest = weight.abs().amax(1)
    step = torch.where(largest == 0, 1.0, largest / 127)
    ints = (weight / step[:, None]).round().to(torch.int32)
    total = (whole.to(torch.int8).int()[:, None] * ints).sum(2, dtype=torch.int32)
    return total, total * (scale * step) + bias


# %% wrong="y from floats of x" breaks="what they are worth" says=["y: x came in as floats there"]
def quantised_inference(x, weight, bias, low, high):
    scale = (high - low) / 255
    zero = round(-low / scale)
    whole = ((x / scale).round() + zero).clamp(0, 255).to(torch.int32) - zero
    largest = weight.abs().amax(1)
    step = torch.where(largest == 0, 1.0, largest / 127)
    ints = (weight / step[:, None]).round().to(torch.int32)
    total = (whole[:, None] * ints).sum(2, dtype=torch.int32)
    return total, F.linear(x.clamp(low, high), ints * step[:, None]) + bias


# %% wrong="clamped as whole numbers only" breaks="What lies beyond is clamped" says=["far beyond the range even an int32 overflows"]
def quantised_inference(x, weight, bias, low, high):
    scale = (high - low) / 255
    zero = round(-low / scale)
    whole = ((x / scale).round().int() + zero).clamp(0, 255).to(torch.uint8)
    step = weight.abs().amax(1) / 127
    step = torch.where(step == 0, 1.0, step)
    ints = (weight / step[:, None]).round().to(torch.int8)
    total = ((whole.int() - zero)[:, None] * ints.int()).sum(2, dtype=torch.int32)
    return total, total * scale * step + bias


# %% wrong="256 wraps" breaks="What lies beyond is clamped" says=["far beyond low and high"]
def quantised_inference(x, weight, bias, low, high):
    scale = (high - low) / 255
    zero = round(-low / scale)
    whole = ((x.clamp(low, high) / scale).round() + zero).to(torch.uint8)
    step = weight.abs().amax(1) / 127
    step = torch.where(step == 0, 1.0, step)
    ints = (weight / step[:, None]).round().to(torch.int8)
    total = ((whole.int() - zero)[:, None] * ints.int()).sum(2, dtype=torch.int32)
    return total, total * scale * step + bias


# %% wrong="steps by the wrong dimension" breaks="what they are worth" says=["they belong to its columns"]
def quantised_inference(x, weight, bias, low, high):
    scale = (high - low) / 255
    zero = round(-low / scale)
    whole = ((x.clamp(low, high) / scale).round() + zero).clamp(0, 255).to(torch.uint8)
    step = weight.abs().amax(1) / 127
    step = torch.where(step == 0, 1.0, step)
    ints = (weight / step[:, None]).round().to(torch.int8)
    total = ((whole.int() - zero)[:, None] * ints.int()).sum(2, dtype=torch.int32)
    return total, total * scale * (step[:, None] if len(x) == len(step) else step) + bias


# %% wrong="one output squeezed" breaks="`total`, int32" says=["one output: total has shape (4,), expected (4, 1)"]
def quantised_inference(x, weight, bias, low, high):
    scale = (high - low) / 255
    zero = round(-low / scale)
    whole = ((x.clamp(low, high) / scale).round() + zero).clamp(0, 255).to(torch.uint8)
    step = weight.abs().amax(1) / 127
    step = torch.where(step == 0, 1.0, step)
    ints = (weight / step[:, None]).round().to(torch.int8)
    total = ((whole.int() - zero)[:, None] * ints.int()).sum(2, dtype=torch.int32)
    y = total * scale * step + bias
    return (total.squeeze(1), y.squeeze(1)) if len(weight) == 1 else (total, y)


# %% wrong="view of the weight" breaks="sums of products of whole numbers" says=["transposed views: raised RuntimeError"]
def quantised_inference(x, weight, bias, low, high):
    scale = (high - low) / 255
    zero = round(-low / scale)
    whole = ((x.clamp(low, high) / scale).round() + zero).clamp(0, 255).to(torch.uint8)
    step = weight.view(-1).abs().view(len(weight), -1).amax(1) / 127
    step = torch.where(step == 0, 1.0, step)
    ints = (weight / step[:, None]).round().to(torch.int8)
    total = ((whole.int() - zero)[:, None] * ints.int()).sum(2, dtype=torch.int32)
    return total, total * scale * step + bias


# %% wrong="large weights cut at 1" breaks="one scale for each row of `weight`" says=["what is a row's scale?"]
def quantised_inference(x, weight, bias, low, high):
    scale = (high - low) / 255
    zero = round(-low / scale)
    whole = ((x.clamp(low, high) / scale).round() + zero).clamp(0, 255).to(torch.uint8)
    step = weight.abs().amax(1).clamp(max=1) / 127
    step = torch.where(step == 0, 1.0, step)
    ints = (weight / step[:, None]).round().to(torch.int8)
    total = ((whole.int() - zero)[:, None] * ints.int()).sum(2, dtype=torch.int32)
    return total, total * scale * step + bias


# %% wrong="where low is 0, nothing is clamped below" says=["from 0 up: "]
def quantised_inference(x, weight, bias, low, high):
    scale = (high - low) / 255
    zero = round(-low / scale)
    whole = (
        ((x / scale).round() + zero).clamp(0, 255)
        if low < 0
        else (x / scale).round().clamp(max=255).to(torch.uint8)
    )
    largest = weight.abs().amax(1, keepdim=True)
    step = torch.where(largest == 0, torch.ones_like(largest), largest / 127)
    ints = (weight / step).round().to(torch.int8)
    total = ((whole.int() - zero)[:, None] * ints.int()).sum(2, dtype=torch.int32)
    y = total * scale * step[:, 0] + bias
    return total, y


# %% wrong="storage read in order" says=["that have gaps in memory"]
def quantised_inference(x, weight, bias, low, high):
    scale = (high - low) / 255
    zero = round(-low / scale)
    whole = (
        ((x.as_strided(x.shape, (x.shape[1], 1)) / scale).round() + zero)
        .clamp(0, 255)
        .to(torch.uint8)
    )
    step = weight.abs().amax(1) / 127
    step = torch.where(step == 0, 1.0, step)
    ints = (weight / step[:, None]).round().to(torch.int8)
    total = ((whole.int() - zero)[:, None] * ints.int()).sum(2, dtype=torch.int32)
    return total, total * scale * step + bias


# %% wrong="result in a buffer" says=["which had other numbers the first time changes the result of the first time"]
KEPT = {}


def quantised_inference(x, weight, bias, low, high):
    scale = (high - low) / 255
    zero = round(-low / scale)
    whole = ((x / scale).round() + zero).clamp(0, 255).to(torch.uint8)
    step = weight.abs().amax(1) / 127
    step = torch.where(step == 0, 1.0, step)
    ints = (weight / step[:, None]).round().to(torch.int8)
    total = ((whole.int() - zero)[:, None] * ints.int()).sum(2, dtype=torch.int32)
    total = KEPT.setdefault(total.shape, total).copy_(total)
    return total, total * scale * step + bias


# %% wrong="the zero point taken away in uint8" breaks="the zero point subtracted" says=["and uint8 wraps around: subtract in int32"]
def quantised_inference(x, weight, bias, low, high):
    scale = (high - low) / 255
    zero = round(-low / scale)
    whole = ((x / scale).round() + zero).clamp(0, 255).to(torch.uint8)
    step = weight.abs().amax(1, keepdim=True) / 127
    step = torch.where(step == 0, 1.0, step)
    ints = (weight / step).round().to(torch.int8)
    total = ((whole - zero).int()[:, None] * ints.int()).sum(2, dtype=torch.int32)
    return total, total * scale * step[:, 0] + bias


# %% wrong="NumPy, without detach" breaks="The two may be a layer's own parameters, which require grad" says=["a layer's own parameters, which require grad: raised RuntimeError"]
def quantised_inference(x, weight, bias, low, high):
    xs, w, b = x.numpy(), weight.numpy(), bias.numpy()
    scale = (high - low) / 255
    zero = round(-low / scale)
    whole = np.clip(np.rint(xs / np.float32(scale)) + zero, 0, 255).astype(np.int32) - zero
    largest = np.abs(w).max(1, keepdims=True)
    step = np.where(largest == 0, np.float32(1), largest / np.float32(127))
    total = whole @ np.rint(w / step).astype(np.int32).T
    y = (total * scale * step[:, 0] + b).astype(np.float32)
    return torch.from_numpy(total), torch.from_numpy(y)


# %% wrong="a low of 0 is taken for a missing one" breaks="Calibration found" says=["from 0 up: total: `low` or `high` may be 0"]
def quantised_inference(x, weight, bias, low, high):
    if x.numel():
        low = low or min(x.min().item(), 0.0)
        high = high or max(x.max().item(), 0.0)
    scale = (high - low) / 255
    zero = round(-low / scale)
    whole = ((x / scale).round() + zero).clamp(0, 255).int() - zero
    largest = weight.abs().amax(1, keepdim=True)
    step = torch.where(largest == 0, 1.0, largest / 127)
    ints = (weight / step).round().int()
    total = (whole[:, None] * ints).sum(2, dtype=torch.int32)
    return total, total * scale * step[:, 0] + bias
