# %% [markdown]
# Rules:
#
# - "Write an order in which the five values may hand on"
# - "as a list of names"
# - "that begins with"
# - "and then the slope of `y` in each of the five"
# - "put it where all its payments have arrived"
# - "q = p + b"
# - "y = p * q"

# %% wrong="p hands on too early" breaks="Write an order in which the five values may hand on" says=["q was made from p, so p has to wait", "the slope in p: not 9: that is what y pays", "p handed on before q had paid it"]
walk_by_hand = {"order": ["y", "p", "q", "a", "b"], "y": 1, "q": 6, "p": 9, "a": 27, "b": 24}


# %% wrong="b is paid once" breaks="q = p + b" says=["the slope in b: not 30: b was used twice"]
walk_by_hand = {"order": ["y", "q", "p", "a", "b"], "y": 1, "q": 6, "p": 15, "a": 45, "b": 30}


# %% wrong="the order of computing" breaks="that begins with" says=["q has to wait until y has paid in"]
walk_by_hand = {"order": ["a", "b", "p", "q", "y"], "y": 1, "q": 6, "p": 15, "a": 45, "b": 36}


# %% wrong="values in place of slopes" breaks="y = p * q" says=["the walk starts with 1 at y", "9 is q itself"]
walk_by_hand = {"order": "y q p a b", "y": 54, "q": 9, "p": 6, "a": 2, "b": 3}


# %% wrong="b before p" breaks="put it where all its payments have arrived" says=["p was made from b, so b has to wait until p has paid in"]
walk_by_hand = {"order": ["y", "q", "b", "p", "a"], "y": 1, "q": 6, "p": 15, "a": 45, "b": 36}


# %% wrong="without the leaves" breaks="as a list of names" says=["a, b, p, q and y, each once"]
walk_by_hand = {"order": ["y", "q", "p"], "y": 1, "q": 6, "p": 15, "a": 45, "b": 36}


# %% wrong="the order alone" breaks="and then the slope of `y` in each of the five" says=["still blank: y, q, p, a, b"]
walk_by_hand = {
    "order": ["y", "q", "p", "a", "b"],
    "y": None,
    "q": None,
    "p": None,
    "a": None,
    "b": None,
}


# %% right="a string, and floats"
walk_by_hand = {"order": "y, q, p, b, a", "y": 1.0, "q": 6.0, "p": 15.0, "a": 45.0, "b": 36.0}


# %% right="by formula"
a, b = 2, 3
p = a * b
q = p + b
to_p = q + p
walk_by_hand = {
    "order": tuple("yqpab"),
    "y": 1,
    "q": p,
    "p": to_p,
    "a": b * to_p,
    "b": a * to_p + p,
}


# %% right="arrows between the names"
walk_by_hand = {"order": "y → q → p → a → b", "y": 1, "q": 6, "p": 15, "a": 45, "b": 36}


# %% right="the names in one word"
walk_by_hand = {"order": "yqpba", "y": 1, "q": 6, "p": 15, "a": 45, "b": 36}
