# %% [markdown]
# Rules:
#
# - "For each of the six tensors below"
# - "write `(size, stride, offset)`"
# - "One of them has no note"
# - "is that tensor"
# - "sixteen boxes"
# - "windows that overlap"
# - "two columns as rows"
# - "a row, three times"

# %% wrong="left as it came" breaks="For each of the six tensors below" says=["6 of 6 cases fail", "a row, three times: still blank", "upwards: still blank"]
write_the_note = {
    "a row, three times": None,
    "two columns as rows": None,
    "the anti-diagonal": None,
    "windows that overlap": None,
    "the four corners": None,
    "the first column, upwards": None,
}

# %% wrong="a negative stride" breaks="One of them has no note" says=["1 of 6", "the first column, upwards", "it would have to step by -4"]
write_the_note = {
    "a row, three times": ((3, 4), (0, 1), 4),
    "two columns as rows": ((2, 4), (1, 4), 0),
    "the anti-diagonal": ((4,), (3,), 3),
    "windows that overlap": ((3, 4), (2, 1), 0),
    "the four corners": ((2, 2), (12, 3), 0),
    "the first column, upwards": ((4,), (-4,), 12),
}

# %% wrong="forgets the offsets" breaks="a row, three times" says=["2 of 6", "a row, three times: ((3, 4), (0, 1), 0) reads [[0, 1, 2, 3]", "the anti-diagonal: ((4,), (3,), 0) reads [0, 3, 6, 9]"]
write_the_note = {
    "a row, three times": ((3, 4), (0, 1), 0),
    "two columns as rows": ((2, 4), (1, 4), 0),
    "the anti-diagonal": ((4,), (3,), 0),
    "windows that overlap": ((3, 4), (2, 1), 0),
    "the four corners": ((2, 2), (12, 3), 0),
    "the first column, upwards": "impossible",
}

# %% wrong="row-major strides of the output" breaks="is that tensor" says=["a row, three times: ((3, 4), (4, 1), 4) reads", "down it stays in its boxes", "the four corners: ((2, 2), (2, 1), 0) reads [[0, 1], [2, 3]]: how far is it from 0 to 12?"]
write_the_note = {
    "a row, three times": ((3, 4), (4, 1), 4),
    "two columns as rows": ((2, 4), (4, 1), 0),
    "the anti-diagonal": ((4,), (1,), 3),
    "windows that overlap": ((3, 4), (4, 1), 0),
    "the four corners": ((2, 2), (2, 1), 0),
    "the first column, upwards": "impossible",
}

# %% wrong="the step of the diagonal" breaks="sixteen boxes" says=["the anti-diagonal: ((4,), (5,), 3) reads up to box 18, and there are sixteen"]
write_the_note = {
    "a row, three times": ((3, 4), (0, 1), 4),
    "two columns as rows": ((2, 4), (1, 4), 0),
    "the anti-diagonal": ((4,), (5,), 3),
    "windows that overlap": ((3, 4), (2, 1), 0),
    "the four corners": ((2, 2), (12, 3), 0),
    "the first column, upwards": "impossible",
}

# %% wrong="a tensor cannot overlap itself" breaks="windows that overlap" says=["2 of 6", "a row, three times: there is a note for it", "windows that overlap: there is a note for it: down it steps by 2"]
write_the_note = {
    "a row, three times": "impossible",
    "two columns as rows": ((2, 4), (1, 4), 0),
    "the anti-diagonal": ((4,), (3,), 3),
    "windows that overlap": "impossible",
    "the four corners": ((2, 2), (12, 3), 0),
    "the first column, upwards": "impossible",
}

# %% wrong="one number where a tuple is meant" breaks="write `(size, stride, offset)`" says=["the anti-diagonal: (4, 3, 3)? write (size, stride, offset), with the comma in (4,)"]
write_the_note = {
    "a row, three times": ((3, 4), (0, 1), 4),
    "two columns as rows": ((2, 4), (1, 4), 0),
    "the anti-diagonal": ((4), (3), 3),
    "windows that overlap": ((3, 4), (2, 1), 0),
    "the four corners": ((2, 2), (12, 3), 0),
    "the first column, upwards": "impossible",
}

# %% wrong="the size the wrong way round" breaks="two columns as rows" says=["two columns as rows: its size is (2, 4), not (4, 2)"]
write_the_note = {
    "a row, three times": ((3, 4), (0, 1), 4),
    "two columns as rows": ((4, 2), (4, 1), 0),
    "the anti-diagonal": ((4,), (3,), 3),
    "windows that overlap": ((3, 4), (2, 1), 0),
    "the four corners": ((2, 2), (12, 3), 0),
    "the first column, upwards": "impossible",
}

# %% right="read off views of PyTorch, as lists"
grid = torch.arange(16).view(4, 4)
found = [
    grid[1].expand(3, 4),
    grid.t()[:2],
    grid.view(16)[3:13:3],
    grid.view(16)[:8].unfold(0, 4, 2),
    grid[::3, ::3],
]
write_the_note = {
    name: [list(y.shape), list(y.stride()), y.storage_offset()]
    for name, y in zip(
        ["a row, three times", "two columns as rows", "the anti-diagonal"]
        + ["windows that overlap", "the four corners"],
        found,
    )
}
write_the_note["the first column, upwards"] = "impossible"

# %% right="torch.Size for the sizes"
write_the_note = {
    "the first column, upwards": "impossible",
    "the four corners": (torch.Size([2, 2]), (12, 3), 0),
    "windows that overlap": (torch.Size([3, 4]), (2, 1), 0),
    "the anti-diagonal": (torch.Size([4]), (3,), 3),
    "two columns as rows": (torch.Size([2, 4]), (1, 4), 0),
    "a row, three times": (torch.Size([3, 4]), (0, 1), 4),
}
