# %% [markdown]
# Rules:
#
# - "the *trace* was then put into eval mode by `.eval()`"
# - "if it gives what the function itself gives for that"
# - "if it gives other numbers"

# %% wrong="a trace keeps Python's branches" breaks="if it gives what the function itself gives for that" says=["branch is not 'same'", "chose a side"]
trace_lies = {
    "length": "other",
    "sum": "same",
    "branch": "same",
    "rows": "error",
    "item": "other",
    "where": "same",
    "zeros": "same",
    "dropout": "other",
}


# %% wrong="every size is burnt in" breaks="if it gives other numbers" says=["zeros is not 'other'", "does record"]
trace_lies = {
    "length": "other",
    "sum": "other",
    "branch": "other",
    "rows": "error",
    "item": "other",
    "where": "same",
    "zeros": "other",
    "dropout": "other",
}


# %% wrong="eval reaches into a trace, and loops adapt" breaks="the *trace* was then put into eval mode by `.eval()`" says=["dropout is not 'same'", "rows is not 'same'", "four times"]
trace_lies = {
    "length": "same",
    "sum": "same",
    "branch": "other",
    "rows": "same",
    "item": "same",
    "where": "other",
    "zeros": "same",
    "dropout": "same",
}


# %% right="asked the machine"
def ask(name):
    function = traced_functions[name]
    if name == "dropout":
        function.train()
    trace = tracing.old_trace(function, torch.ones(4))
    if name == "dropout":
        trace.eval()
        function.eval()
    y = torch.tensor([-1.0, -2.0])
    right = function(y)
    try:
        return "same" if all(torch.equal(trace(y), right) for _ in range(20)) else "other"
    except Exception:
        return "error"


trace_lies = {name: ask(name) for name in traced_functions}
