# %% [markdown]
# Rules:
#
# - "write the number that it gives"
# - "Where it is not a number, write `"nan"`"
# - "nll(-cost, right_class, class_weight)"
# - "F.mse_loss(torch.zeros(2, 3), far_off)"

# %% wrong="divides the weighted mean by four" breaks="nll(-cost, right_class, class_weight)" says=["1 of 8 predictions differs", "weight is not 5.25: each price times its weight"]
predict_reductions = {
    "plain": 3,
    "ignore_index=0": 4.5,
    "all ignored": "nan",
    "weight": 5.25,
    "weight, then mean": 5.25,
    "mean of batches of 3 and 1": 4,
    "mask, then mean": 2,
    "mse": 3,
}

# %% wrong="thinks that a mean of means is the mean" breaks="write the number that it gives" says=["mean of batches of 3 and 1 is not 3", "mask, then mean is not 4: the zeros of the padding"]
predict_reductions = {
    "plain": 3,
    "ignore_index=0": 4.5,
    "all ignored": "nan",
    "weight": 3.5,
    "weight, then mean": 5.25,
    "mean of batches of 3 and 1": 3,
    "mask, then mean": 4,
    "mse": 3,
}

# %% wrong="ignored is zero" breaks="Where it is not a number, write `\"nan\"`" says=["all ignored is not 0: a mean over nothing", "ignore_index=0 is not 2.25"]
predict_reductions = {
    "plain": 3,
    "ignore_index=0": 2.25,
    "all ignored": 0,
    "weight": 3.5,
    "weight, then mean": 5.25,
    "mean of batches of 3 and 1": 4,
    "mask, then mean": 2,
    "mse": 3,
}

# %% wrong="mse per example" breaks="F.mse_loss(torch.zeros(2, 3), far_off)" says=["mse is not 9: the mean is over all six elements"]
predict_reductions = {
    "plain": 3,
    "ignore_index=0": 4.5,
    "all ignored": "nan",
    "weight": 3.5,
    "weight, then mean": 5.25,
    "mean of batches of 3 and 1": 4,
    "mask, then mean": 2,
    "mse": 9,
}

# %% wrong="half of them" says=["4 of 8 predictions are still blank"]
predict_reductions = {
    "plain": 3,
    "ignore_index=0": None,
    "all ignored": "nan",
    "weight": 3.5,
    "weight, then mean": None,
    "mean of batches of 3 and 1": None,
    "mask, then mean": None,
    "mse": 3,
}

# %% right="floats and a real nan"
predict_reductions = dict(
    [("plain", 12 / 4), ("ignore_index=0", 9 / 2), ("all ignored", float("nan"))],
    **{"weight": 21 / 6, "weight, then mean": 21 / 4, "mean of batches of 3 and 1": (2 + 6) / 2},
    **{"mask, then mean": 12 / 6, "mse": 18 / 6},
)

# %% right="tensors"
predict_reductions = {
    name: torch.tensor(value)
    for name, value in {
        "plain": 3.0,
        "ignore_index=0": 4.5,
        "all ignored": torch.nan,
        "weight": 3.5,
        "weight, then mean": 5.25,
        "mean of batches of 3 and 1": 4.0,
        "mask, then mean": 2.0,
        "mse": 3.0,
    }.items()
}


# %% wrong="numbers in quotes" says=["4.5': in quotes it is a text"]
predict_reductions = {
    "plain": "3",
    "ignore_index=0": "4.5",
    "all ignored": "nan",
    "weight": "3.5",
    "weight, then mean": "5.25",
    "mean of batches of 3 and 1": "4",
    "mask, then mean": "2",
    "mse": "3",
}
