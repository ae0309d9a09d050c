# %% wrong="takes the flat line for wrong labels" says=["2 of 5 predictions differ", "the line is flat to the end", "A is not 'other parameters'"]
overfit_one_batch = {
    "A": "other parameters",
    "B": "rate too high",
    "C": "wrong labels",
    "D": "healthy",
    "E": "rate too low",
}

# %% wrong="takes the slow run for the healthy one" says=["no other run falls", "has hardly begun"]
overfit_one_batch = {
    "A": "wrong labels",
    "B": "rate too high",
    "C": "other parameters",
    "D": "rate too low",
    "E": "healthy",
}

# %% wrong="words of its own" says=["'diverges' is none of the five words"]
overfit_one_batch = {
    "A": "wrong labels",
    "B": "diverges",
    "C": "other parameters",
    "D": "healthy",
    "E": "rate too low",
}

# %% wrong="half of it" says=["2 of 5 predictions are still blank: A, C"]
overfit_one_batch = {
    "A": None,
    "B": "rate too high",
    "C": None,
    "D": "healthy",
    "E": "rate too low",
}

# %% right="built by dict()"
overfit_one_batch = dict(
    E="rate too low", D="healthy", C="other parameters", B="rate too high", A="wrong labels"
)

# %% right="from the other side"
overfit_one_batch = {
    letter: word
    for word, letter in {
        "healthy": "D",
        "rate too low": "E",
        "wrong labels": "A",
        "rate too high": "B",
        "other parameters": "C",
    }.items()
}
