# %% [markdown]
# Rules:
#
# - "Write for each letter what happened"
# - "in one of these words"
# - "Each word fits once"

# %% wrong="takes the flat line for wrong labels" says=["2 of 5 predictions differ", "the line is flat to the end", "A is not 'other parameters'"]
overfit_one_batch = {
    "A": "other parameters",
    "B": "rate too high",
    "C": "wrong labels",
    "D": "healthy",
    "E": "rate too low",
}

# %% wrong="takes the slow run for the healthy one" breaks="Write for each letter what happened" says=["no other run falls", "has hardly begun"]
overfit_one_batch = {
    "A": "wrong labels",
    "B": "rate too high",
    "C": "other parameters",
    "D": "rate too low",
    "E": "healthy",
}

# %% wrong="words of its own" breaks="in one of these words" says=["'diverges' is none of the five words"]
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


# %% wrong="healthy twice" breaks="Each word fits once" says=["A is not 'healthy': no image has a label to learn"]
overfit_one_batch = {
    letter: word if word != "wrong labels" else "healthy" for letter, word in patients.items()
}
