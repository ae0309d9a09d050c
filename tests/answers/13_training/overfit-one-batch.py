# %% wrong="takes the flat line for wrong labels" says=["2 of 5 predictions differ", "the line is flat to the end", "A is not 'other parameters'"]
overfit_one_batch = {
    "A": "other parameters",
    "B": "rate too high",
    "C": "wrong labels",
    "D": "healthy",
    "E": "softmax twice",
}

# %% wrong="takes the floor for health" says=["log(e + 9) - 1 = 1.46", "no other run falls"]
overfit_one_batch = {
    "A": "wrong labels",
    "B": "rate too high",
    "C": "other parameters",
    "D": "softmax twice",
    "E": "healthy",
}

# %% wrong="words of its own" says=["'diverges' is none of the five words"]
overfit_one_batch = {
    "A": "wrong labels",
    "B": "diverges",
    "C": "other parameters",
    "D": "healthy",
    "E": "softmax twice",
}

# %% wrong="half of it" says=["2 of 5 predictions are still blank: A, C"]
overfit_one_batch = {
    "A": None,
    "B": "rate too high",
    "C": None,
    "D": "healthy",
    "E": "softmax twice",
}

# %% right="built by dict()"
overfit_one_batch = dict(
    E="softmax twice", D="healthy", C="other parameters", B="rate too high", A="wrong labels"
)

# %% right="from the other side"
overfit_one_batch = {
    letter: word
    for word, letter in {
        "healthy": "D",
        "softmax twice": "E",
        "wrong labels": "A",
        "rate too high": "B",
        "other parameters": "C",
    }.items()
}
