# %% [markdown]
# Rules:
#
# - "For each write `(what, where)`"
# - "*where* is the number of the lowest line in the traceback that belongs to the program"
# - "the line that was running, which is not always the line to mend"
# - "Empty lines count"
# - "*what* is one of"

# %% wrong="the line to mend, not the line that ran" breaks="the line that was running, which is not always the line to mend" says=["G is not ('graph', 3)", "line 3 is to blame, yet it ran"]
read_the_message = {
    "A": ("shape", 4),
    "B": ("name", 2),
    "C": ("dtype", 3),
    "D": ("range", 3),
    "E": ("device", 3),
    "F": ("none", 3),
    "G": ("graph", 3),
    "H": ("dtype", 2),
}


# %% wrong="where the layers are made" says=["A is not ('shape', 2)", "C is not ('shape', 1)", "the sizes fit"]
read_the_message = {
    "A": ("shape", 2),
    "B": ("name", 2),
    "C": ("shape", 1),
    "D": ("range", 1),
    "E": ("device", 3),
    "F": ("none", 6),
    "G": ("graph", 4),
    "H": ("dtype", 2),
}

# %% wrong="the call of the function, not the line inside" breaks="*where* is the number of the lowest line in the traceback that belongs to the program" says=["H is not ('dtype', 5)", "the one inside scale, not its call"]
read_the_message = {
    "A": ("shape", 4),
    "B": ("name", 2),
    "C": ("dtype", 3),
    "D": ("range", 3),
    "E": ("device", 3),
    "F": ("none", 6),
    "G": ("graph", 4),
    "H": ("dtype", 5),
}

# %% wrong="the first four only" says=["4 of 4 predictions are still blank"]
read_the_message = dict.fromkeys("ABCDEFGH")
read_the_message |= {"A": ("shape", 4), "B": ("name", 2), "C": ("dtype", 3), "D": ("range", 3)}

# %% wrong="words alone" breaks="For each write `(what, where)`" says=["Write a pair such as ('range', 2)"]
read_the_message = dict(zip("ABCDEFGH", ["shape"] * 8, strict=True))

# %% right="lists, from two strings"
words = "shape name dtype range device none graph dtype".split()
read_the_message = {
    letter: [word, int(line)]
    for letter, word, line in zip("ABCDEFGH", words, "42333642", strict=True)
}

# %% right="asked the machine for the lines"
words = "shape name dtype range device none graph dtype".split()
read_the_message = {
    name: (word, run_program(source)[1])
    for word, (name, source) in zip(words, PROGRAMS.items(), strict=True)
}


# %% wrong="a list in the dict's place" says=["leave the dict, fill it in"]
read_the_message = [("shape", 4)] * 8


# %% wrong="passes over the empty line" breaks="Empty lines count" says=["empty lines count"]
read_the_message = {
    "A": ("shape", 4),
    "B": ("name", 2),
    "C": ("dtype", 3),
    "D": ("range", 3),
    "E": ("device", 3),
    "F": ("none", 5),
    "G": ("graph", 4),
    "H": ("dtype", 2),
}


# %% wrong="a None is a name that is missing" breaks="*what* is one of" says=["forward has no return: y is None"]
read_the_message = {
    "A": ("shape", 4),
    "B": ("name", 2),
    "C": ("dtype", 3),
    "D": ("range", 3),
    "E": ("device", 3),
    "F": ("name", 6),
    "G": ("graph", 4),
    "H": ("dtype", 2),
}
