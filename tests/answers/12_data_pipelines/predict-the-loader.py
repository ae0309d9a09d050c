# %% [markdown]
# Rules:
#
# - "Write what you expect: a number, a list"
# - "`True` or `False`"
# - "`"main"` or `"worker"` for a process"

# %% wrong="workers share the list" says=["each worker appended to its own copy"]
predict_the_loader = dict(
    zip(questions, [3, 2, [8, 9], 10, False, True, 4, "main", "worker", 10], strict=True)
)

# %% wrong="floor, and items in batches" breaks="Write what you expect: a number, a list" says=["4, 4 and 2: the short one counts", "it counts items"]
predict_the_loader = dict(
    zip(questions, [2, 2, [8, 9], 1, False, True, 4, "main", "worker", 0], strict=True)
)

# %% wrong="one order for ever, and a getitem for a batch" says=["drawn anew when a loop begins", "it returns one item"]
predict_the_loader = dict(
    zip(questions, [3, 2, [8, 9], 10, True, True, 1, "main", "worker", 0], strict=True)
)

# %% wrong="collating stays in the main process" breaks='`"main"` or `"worker"` for a process' says=["a whole batch travels back"]
predict_the_loader = dict(
    zip(questions, [3, 2, [8, 9], 10, False, True, 4, "main", "main", 0], strict=True)
)

# %% wrong="seeds don't matter" breaks="`True` or `False`" says=["equal seeds, equal draws"]
predict_the_loader = dict(
    zip(questions, [3, 2, [8, 9], 10, False, False, 4, "main", "worker", 0], strict=True)
)

# %% right="tuples and NumPy numbers"
predict_the_loader = {key: None for key in questions}
values = [np.int64(3), 2, (8, 9), 10, False, True, np.int64(4), "main", "worker", 0]
for key, value in zip(questions, values, strict=True):
    predict_the_loader[key] = value

# %% right="asked the machine"
numbers_to_ten = list(range(10))
loader = DataLoader(numbers_to_ten, batch_size=4)
found = [len(loader), 10 // 4, [x.tolist() for x in loader][-1], 10, 1 == 2, 1 == 1]
predict_the_loader = dict(zip(questions, [*found, 4, "main", "worker", len([])], strict=True))
