# %% [markdown]
# Rules:
#
# - "For each of the twelve write `True`"
# - "if its first entry is 7 now"
# - "`False` if it is still 0"
# - "x[[0, 1]]"

# %% wrong="every call makes something new" breaks="if its first entry is 7 now" says=["4 of 12 predictions differ", "as_tensor shares where nothing has to change", "detach cuts the gradient, not the memory", "to returns x itself"]
who_sees_the_write = {
    "torch.tensor(array)": False,
    "torch.as_tensor(array)": False,
    "torch.as_tensor(array, dtype=torch.float64)": False,
    "x.numpy()": False,
    "x.tolist()": False,
    "x.clone()": False,
    "x.detach()": False,
    "x.detach().clone()": False,
    "x.to(torch.float32)": False,
    "x.double()": False,
    "x[:2]": True,
    "x[[0, 1]]": False,
}

# %% wrong="indexing always shares" breaks="x[[0, 1]]" says=["1 of 12 predictions differs", "a list of indices gives a copy"]
who_sees_the_write = {
    "torch.tensor(array)": False,
    "torch.as_tensor(array)": True,
    "torch.as_tensor(array, dtype=torch.float64)": False,
    "x.numpy()": True,
    "x.tolist()": False,
    "x.clone()": False,
    "x.detach()": True,
    "x.detach().clone()": False,
    "x.to(torch.float32)": True,
    "x.double()": False,
    "x[:2]": True,
    "x[[0, 1]]": True,
}

# %% wrong="NumPy is always shared, whatever the dtype" breaks="`False` if it is still 0" says=["torch.tensor always copies", "another dtype needs other memory"]
who_sees_the_write = {
    "torch.tensor(array)": True,
    "torch.as_tensor(array)": True,
    "torch.as_tensor(array, dtype=torch.float64)": True,
    "x.numpy()": True,
    "x.tolist()": False,
    "x.clone()": False,
    "x.detach()": True,
    "x.detach().clone()": False,
    "x.to(torch.float32)": True,
    "x.double()": True,
    "x[:2]": True,
    "x[[0, 1]]": False,
}

# %% wrong="words for truth values" breaks="For each of the twelve write `True`" says=["write True or False, not torch.tensor(array): 'no'"]
who_sees_the_write = {
    "torch.tensor(array)": "no",
    "torch.as_tensor(array)": "yes",
    "torch.as_tensor(array, dtype=torch.float64)": "no",
    "x.numpy()": "yes",
    "x.tolist()": "no",
    "x.clone()": "no",
    "x.detach()": "yes",
    "x.detach().clone()": "no",
    "x.to(torch.float32)": "yes",
    "x.double()": "no",
    "x[:2]": "yes",
    "x[[0, 1]]": "no",
}

# %% right="tried it"
array = np.zeros(3, dtype=np.float32)
x = torch.from_numpy(array)
tried = {
    "torch.tensor(array)": torch.tensor(array),
    "torch.as_tensor(array)": torch.as_tensor(array),
    "torch.as_tensor(array, dtype=torch.float64)": torch.as_tensor(array, dtype=torch.float64),
    "x.numpy()": x.numpy(),
    "x.tolist()": x.tolist(),
    "x.clone()": x.clone(),
    "x.detach()": x.detach(),
    "x.detach().clone()": x.detach().clone(),
    "x.to(torch.float32)": x.to(torch.float32),
    "x.double()": x.double(),
    "x[:2]": x[:2],
    "x[[0, 1]]": x[[0, 1]],
}
array[0] = 7
who_sees_the_write = {name: float(y[0]) == 7.0 for name, y in tried.items()}
