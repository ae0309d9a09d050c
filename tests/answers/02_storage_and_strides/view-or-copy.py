# %% [markdown]
# Rules:
#
# - "if the result lies in the storage of `x`"
# - "An operation that returns `x` itself counts as"
# - "For each, write"
# - "`reshape` arranges the same elements, in the same order, in another shape"

# %% wrong="indexing and reshaping always share" breaks="if the result lies in the storage of `x`" says=["x[[0, 2]] is not 'view': a list of indices is advanced indexing", "no stride can describe what a mask picks"]
names = """x[1:]; x[[0, 2]]; x[x > 5]; x.t(); x.flatten(); x.t().flatten();
x[:, ::2].reshape(3, 2, 1); x.expand(2, 3, 4); x.repeat(2, 1, 1); x.contiguous();
x.t().contiguous(); torch.cat([x]); x.split(2)[0]; x.detach()""".replace("\n", " ").split("; ")
view_or_copy = dict.fromkeys(names, "view")
view_or_copy.update({"x.repeat(2, 1, 1)": "copy", "torch.cat([x])": "copy"})

# %% wrong="reshape and contiguous of anything not contiguous copy" breaks="`reshape` arranges the same elements, in the same order, in another shape" says=["1 of 14", "x[:, ::2].reshape(3, 2, 1) is not 'copy'", "reshape copies only if no strides can do it"]
names = """x[1:]; x[[0, 2]]; x[x > 5]; x.t(); x.flatten(); x.t().flatten();
x[:, ::2].reshape(3, 2, 1); x.expand(2, 3, 4); x.repeat(2, 1, 1); x.contiguous();
x.t().contiguous(); torch.cat([x]); x.split(2)[0]; x.detach()""".replace("\n", " ").split("; ")
view_or_copy = dict.fromkeys(names, "view")
view_or_copy.update({"x[[0, 2]]": "copy", "x[x > 5]": "copy", "x.t().flatten()": "copy"})
view_or_copy.update({"x[:, ::2].reshape(3, 2, 1)": "copy", "x.repeat(2, 1, 1)": "copy"})
view_or_copy.update({"x.t().contiguous()": "copy", "torch.cat([x])": "copy"})

# %% wrong="detach and contiguous copy, expand writes out" breaks="An operation that returns `x` itself counts as" says=["detach shares the memory", "the new dimension has stride 0", "x is contiguous already"]
names = """x[1:]; x[[0, 2]]; x[x > 5]; x.t(); x.flatten(); x.t().flatten();
x[:, ::2].reshape(3, 2, 1); x.expand(2, 3, 4); x.repeat(2, 1, 1); x.contiguous();
x.t().contiguous(); torch.cat([x]); x.split(2)[0]; x.detach()""".replace("\n", " ").split("; ")
copied = "x[[0, 2]]; x[x > 5]; x.t().flatten(); x.expand(2, 3, 4); x.repeat(2, 1, 1)".split("; ")
copied += "x.contiguous(); x.t().contiguous(); torch.cat([x]); x.detach()".split("; ")
view_or_copy = {name: "copy" if name in copied else "view" for name in names}

# %% wrong="half of it" breaks="For each, write" says=["7 of 14 predictions are still blank", "torch.cat([x])"]
names = """x[1:]; x[[0, 2]]; x[x > 5]; x.t(); x.flatten(); x.t().flatten();
x[:, ::2].reshape(3, 2, 1); x.expand(2, 3, 4); x.repeat(2, 1, 1); x.contiguous();
x.t().contiguous(); torch.cat([x]); x.split(2)[0]; x.detach()""".replace("\n", " ").split("; ")
answers = ["view", "copy", "copy", "view", "view", "copy", "view"] + [None] * 7
view_or_copy = dict(zip(names, answers))

# %% right="by asking which results share"
names = """x[1:]; x[[0, 2]]; x[x > 5]; x.t(); x.flatten(); x.t().flatten();
x[:, ::2].reshape(3, 2, 1); x.expand(2, 3, 4); x.repeat(2, 1, 1); x.contiguous();
x.t().contiguous(); torch.cat([x]); x.split(2)[0]; x.detach()""".replace("\n", " ").split("; ")
x = torch.zeros(3, 4)
view_or_copy = {
    name: "view"
    if eval(name).untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    else "copy"
    for name in names
}
