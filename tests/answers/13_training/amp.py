# %% [markdown]
# Rules:
#
# - "Fill in the dtypes"
# - "what `.grad` holds after the first `backward()`"
# - "the scale after each `update()`"
# - "the weight at the end"

# %% wrong="everything in the block is bfloat16" breaks="Fill in the dtypes" says=["5 of 17 predictions differ", "a sum is on no list", "ordinary promotion takes the wider", "float32 only, never float64", "cast copy is used", "what runs in float32"]
amp = {
    "a @ b": "bfloat16",
    "a + b": "bfloat16",
    "h.relu()": "bfloat16",
    "h + a": "bfloat16",
    "d @ d": "bfloat16",
    "layer(a)": "bfloat16",
    "layer.weight": "bfloat16",
    "F.mse_loss(h, a)": "bfloat16",
    "h + h, after the block": "bfloat16",
    "a @ b, after the block": "float32",
    ".grad after the first backward()": 4.0,
    "scale after step 1": 16.0,
    "scale after step 2": 8.0,
    "scale after step 3": 8.0,
    "scale after step 4": 16.0,
    "scale after step 5": 8.0,
    "weight at the end": 0.25,
}


# %% wrong="the block casts back" says=["h keeps its dtype when the block ends"]
amp = {
    "a @ b": "bfloat16",
    "a + b": "float32",
    "h.relu()": "bfloat16",
    "h + a": "float32",
    "d @ d": "float64",
    "layer(a)": "bfloat16",
    "layer.weight": "float32",
    "F.mse_loss(h, a)": "float32",
    "h + h, after the block": "float32",
    "a @ b, after the block": "float32",
    ".grad after the first backward()": 4.0,
    "scale after step 1": 16.0,
    "scale after step 2": 8.0,
    "scale after step 3": 8.0,
    "scale after step 4": 16.0,
    "scale after step 5": 8.0,
    "weight at the end": 0.25,
}


# %% wrong="backward() divides by the scale" breaks="what `.grad` holds after the first `backward()`" says=["the loss was multiplied by the scale, 16"]
amp = {
    "a @ b": "bfloat16",
    "a + b": "float32",
    "h.relu()": "bfloat16",
    "h + a": "float32",
    "d @ d": "float64",
    "layer(a)": "bfloat16",
    "layer.weight": "float32",
    "F.mse_loss(h, a)": "float32",
    "h + h, after the block": "bfloat16",
    "a @ b, after the block": "float32",
    ".grad after the first backward()": 0.25,
    "scale after step 1": 16.0,
    "scale after step 2": 8.0,
    "scale after step 3": 8.0,
    "scale after step 4": 16.0,
    "scale after step 5": 8.0,
    "weight at the end": 0.25,
}


# %% wrong="an overflow does not reset the count, and is applied" says=["one good step since the overflow", "the skipped ones leave it"]
amp = {
    "a @ b": "bfloat16",
    "a + b": "float32",
    "h.relu()": "bfloat16",
    "h + a": "float32",
    "d @ d": "float64",
    "layer(a)": "bfloat16",
    "layer.weight": "float32",
    "F.mse_loss(h, a)": "float32",
    "h + h, after the block": "bfloat16",
    "a @ b, after the block": "float32",
    ".grad after the first backward()": 4.0,
    "scale after step 1": 16.0,
    "scale after step 2": 8.0,
    "scale after step 3": 16.0,
    "scale after step 4": 16.0,
    "scale after step 5": 8.0,
    "weight at the end": 0.0,
}


# %% wrong="grows after each good step" breaks="the scale after each `update()`" says=["it grows after two in a row"]
amp = {
    "a @ b": "bfloat16",
    "a + b": "float32",
    "h.relu()": "bfloat16",
    "h + a": "float32",
    "d @ d": "float64",
    "layer(a)": "bfloat16",
    "layer.weight": "float32",
    "F.mse_loss(h, a)": "float32",
    "h + h, after the block": "bfloat16",
    "a @ b, after the block": "float32",
    ".grad after the first backward()": 4.0,
    "scale after step 1": 32.0,
    "scale after step 2": 16.0,
    "scale after step 3": 8.0,
    "scale after step 4": 16.0,
    "scale after step 5": 8.0,
    "weight at the end": 0.25,
}


# %% right="torch's own dtypes"
amp = {
    "a @ b": torch.bfloat16,
    "a + b": torch.float32,
    "h.relu()": torch.bfloat16,
    "h + a": torch.float32,
    "d @ d": torch.float64,
    "layer(a)": torch.bfloat16,
    "layer.weight": torch.float32,
    "F.mse_loss(h, a)": torch.float32,
    "h + h, after the block": torch.bfloat16,
    "a @ b, after the block": torch.float32,
    ".grad after the first backward()": 4.0,
    "scale after step 1": 16.0,
    "scale after step 2": 8.0,
    "scale after step 3": 8.0,
    "scale after step 4": 16.0,
    "scale after step 5": 8.0,
    "weight at the end": 0.25,
}


# %% right="asked the machine, short names"
amp = {
    "a @ b": "bf16",
    "a + b": "fp32",
    "h.relu()": "bf16",
    "h + a": "fp32",
    "d @ d": "torch.float64",
    "layer(a)": "bf16",
    "layer.weight": "fp32",
    "F.mse_loss(h, a)": "fp32",
    "h + h, after the block": "bf16",
    "a @ b, after the block": "fp32",
    ".grad after the first backward()": 4.0,
    "scale after step 1": 16,
    "scale after step 2": 8,
    "scale after step 3": 8,
    "scale after step 4": 16,
    "scale after step 5": 8,
    "weight at the end": 0.25,
}


# %% wrong="the skipped steps are taken" breaks="the weight at the end" says=["weight at the end is not nan", "the skipped ones leave it"]
amp = {
    "a @ b": "bfloat16",
    "a + b": "float32",
    "h.relu()": "bfloat16",
    "h + a": "float32",
    "d @ d": "float64",
    "layer(a)": "bfloat16",
    "layer.weight": "float32",
    "F.mse_loss(h, a)": "float32",
    "h + h, after the block": "bfloat16",
    "a @ b, after the block": "float32",
    ".grad after the first backward()": 4.0,
    "scale after step 1": 16.0,
    "scale after step 2": 8.0,
    "scale after step 3": 8.0,
    "scale after step 4": 16.0,
    "scale after step 5": 8.0,
    "weight at the end": float("nan"),
}
