# %% [markdown]
# Rules:
#
# - "the part that takes most"
# - "a dict with *one* changed setting"
# - "cuts the total to less than 60 %"
# - "the batches must stay the same"

# %% wrong="decoding is always to blame" breaks="the part that takes most" says=["takes", "of the total; measure(slow['A'])", "pipeline E"]
find_the_bottleneck = {name: ("decode", {"decode": "once"}) for name in "ABCDE"}

# %% wrong="more workers" says=["pipeline A: 'open' is the part", "{'workers': 4} brings the total to"]
find_the_bottleneck = {
    "A": ("open", {"workers": 4}),
    "B": ("transform", {"floats": "last"}),
    "C": ("decode", {"decode": "once"}),
    "D": ("start", {"workers": 4}),
    "E": ("collate", {"collate": "stack"}),
}

# %% wrong="two settings at once, and a part alone" says=["changes 2 settings: change one", "write (part, change)"]
find_the_bottleneck = {
    "A": ("open", {"reader": "per process", "decode": "once"}),
    "B": "transform",
    "C": ("decode", {"decode": "once"}),
    "D": ("start", {"persistent": True}),
    "E": ("collate", {"collate": "stack"}),
}

# %% wrong="changes what is given" breaks="the batches must stay the same" says=["'batch_size' is none of the settings that may be changed"]
find_the_bottleneck = {
    "A": ("open", {"reader": "per process"}),
    "B": ("transform", {"floats": "last"}),
    "C": ("decode", {"decode": "once"}),
    "D": ("start", {"persistent": True}),
    "E": ("collate", {"batch_size": 8}),
}

# %% wrong="mends another part than it names" says=["change what this part depends on"]
find_the_bottleneck = {
    "A": ("open", {"collate": "stack"}),
    "B": ("transform", {"decode": "once"}),
    "C": ("decode", {"reader": "per process"}),
    "D": ("start", {"floats": "last"}),
    "E": ("collate", {"reader": "per process"}),
}

# %% right="no workers at all for D, lists for tuples"
find_the_bottleneck = {
    "A": ["open", {"reader": "per process"}],
    "B": ["transform", {"floats": "last"}],
    "C": ["decode", {"decode": "once"}],
    "D": ["start", {"workers": 0}],
    "E": ["collate", {"collate": "stack"}],
}

# %% right="measured in the answer"
find_the_bottleneck = {}
changes = {
    "open": {"reader": "per process"},
    "decode": {"decode": "once"},
    "transform": {"floats": "last"},
    "collate": {"collate": "stack"},
    "start": {"persistent": True},
}
for pipeline, settings in slow.items():
    took, _ = measure_pipeline(settings)
    part = max(took, key=took.get)
    find_the_bottleneck[pipeline] = (part, changes[part])


# %% wrong="the right part, and another part's setting" breaks="cuts the total to less than 60 %" says=["pipeline B: 'transform' is the part", "{'decode': 'once'} brings the total to 100%"]
find_the_bottleneck = {
    "A": ("open", {"reader": "per process"}),
    "B": ("transform", {"decode": "once"}),
    "C": ("decode", {"floats": "first"}),
    "D": ("start", {"persistent": True}),
    "E": ("collate", {"collate": "stack"}),
}


# %% wrong="the right part, and more workers for it" says=["'open' is the part", "{'workers': 4} brings the total to"]
find_the_bottleneck = {
    "A": ("open", {"workers": 4}),
    "B": ("transform", {"floats": "last"}),
    "C": ("decode", {"decode": "once"}),
    "D": ("start", {"persistent": True}),
    "E": ("collate", {"collate": "stack"}),
}


# %% wrong="two settings at once" breaks="a dict with *one* changed setting" says=["changes 2 settings: change one"]
find_the_bottleneck = {
    "A": ("open", {"reader": "per process", "collate": "stack"}),
    "B": ("transform", {"floats": "last"}),
    "C": ("decode", {"decode": "once"}),
    "D": ("start", {"persistent": True}),
    "E": ("collate", {"collate": "stack"}),
}
