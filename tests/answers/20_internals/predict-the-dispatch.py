# %% [markdown]
# Rules:
#
# - "in one string"
# - "Leave out keys that fall through"
# - "The path of a composite operator ends where its kernel runs"
# - "write the keys whose kernels run, in order"
# - "`g` requires grad"
# - "`m` is on `meta`"
# - "`s` is sparse"

# %% wrong="without requires_grad no autograd" says=["not whether something is recorded"]
predict_the_dispatch = {
    "torch.mul(a, b)": "CPU",
    "torch.mul(g, b), under no_grad": "AutogradCPU CPU",
    "torch.mul(g, b), under inference_mode": "CPU",
    "a.mul_(b)": "AutogradCPU ADInplaceOrView CPU",
    "torch.mul(m, m)": "AutogradMeta Meta",
    "torch.mul(s, s)": "AutogradCPU SparseCPU",
    "a.view(4)": "AutogradCPU ADInplaceOrView CPU",
    "torch.mm(a, b), under autocast": "AutocastCPU AutogradCPU CPU",
    "torch.relu(a), under autocast": "AutogradCPU CPU",
    "torch.matmul(a, b)": "AutogradCPU",
}


# %% wrong="no_grad takes the key out" breaks="`g` requires grad" says=["no_grad is a flag"]
predict_the_dispatch = {
    "torch.mul(a, b)": "AutogradCPU CPU",
    "torch.mul(g, b), under no_grad": "CPU",
    "torch.mul(g, b), under inference_mode": "CPU",
    "a.mul_(b)": "AutogradCPU ADInplaceOrView CPU",
    "torch.mul(m, m)": "AutogradMeta Meta",
    "torch.mul(s, s)": "AutogradCPU SparseCPU",
    "a.view(4)": "AutogradCPU ADInplaceOrView CPU",
    "torch.mm(a, b), under autocast": "AutocastCPU AutogradCPU CPU",
    "torch.relu(a), under autocast": "AutogradCPU CPU",
    "torch.matmul(a, b)": "AutogradCPU",
}


# %% wrong="inference_mode is no_grad" says=["it takes a key out"]
predict_the_dispatch = {
    "torch.mul(a, b)": "AutogradCPU CPU",
    "torch.mul(g, b), under no_grad": "AutogradCPU CPU",
    "torch.mul(g, b), under inference_mode": "AutogradCPU CPU",
    "a.mul_(b)": "AutogradCPU ADInplaceOrView CPU",
    "torch.mul(m, m)": "AutogradMeta Meta",
    "torch.mul(s, s)": "AutogradCPU SparseCPU",
    "a.view(4)": "AutogradCPU ADInplaceOrView CPU",
    "torch.mm(a, b), under autocast": "AutocastCPU AutogradCPU CPU",
    "torch.relu(a), under autocast": "AutogradCPU CPU",
    "torch.matmul(a, b)": "AutogradCPU",
}


# %% wrong="in place like any other" says=["a version is counted"]
predict_the_dispatch = {
    "torch.mul(a, b)": "AutogradCPU CPU",
    "torch.mul(g, b), under no_grad": "AutogradCPU CPU",
    "torch.mul(g, b), under inference_mode": "CPU",
    "a.mul_(b)": "AutogradCPU CPU",
    "torch.mul(m, m)": "AutogradMeta Meta",
    "torch.mul(s, s)": "AutogradCPU SparseCPU",
    "a.view(4)": "AutogradCPU ADInplaceOrView CPU",
    "torch.mm(a, b), under autocast": "AutocastCPU AutogradCPU CPU",
    "torch.relu(a), under autocast": "AutogradCPU CPU",
    "torch.matmul(a, b)": "AutogradCPU",
}


# %% wrong="a view like any other" says=["a view notes its base"]
predict_the_dispatch = {
    "torch.mul(a, b)": "AutogradCPU CPU",
    "torch.mul(g, b), under no_grad": "AutogradCPU CPU",
    "torch.mul(g, b), under inference_mode": "CPU",
    "a.mul_(b)": "AutogradCPU ADInplaceOrView CPU",
    "torch.mul(m, m)": "AutogradMeta Meta",
    "torch.mul(s, s)": "AutogradCPU SparseCPU",
    "a.view(4)": "AutogradCPU CPU",
    "torch.mm(a, b), under autocast": "AutocastCPU AutogradCPU CPU",
    "torch.relu(a), under autocast": "AutogradCPU CPU",
    "torch.matmul(a, b)": "AutogradCPU",
}


# %% wrong="meta has the CPU's autograd" breaks="`m` is on `meta`" says=["the device is in two of the keys"]
predict_the_dispatch = {
    "torch.mul(a, b)": "AutogradCPU CPU",
    "torch.mul(g, b), under no_grad": "AutogradCPU CPU",
    "torch.mul(g, b), under inference_mode": "CPU",
    "a.mul_(b)": "AutogradCPU ADInplaceOrView CPU",
    "torch.mul(m, m)": "AutogradCPU Meta",
    "torch.mul(s, s)": "AutogradCPU SparseCPU",
    "a.view(4)": "AutogradCPU ADInplaceOrView CPU",
    "torch.mm(a, b), under autocast": "AutocastCPU AutogradCPU CPU",
    "torch.relu(a), under autocast": "AutogradCPU CPU",
    "torch.matmul(a, b)": "AutogradCPU",
}


# %% wrong="sparse has an autograd of its own" breaks="`s` is sparse" says=["the layout is in the last key alone"]
predict_the_dispatch = {
    "torch.mul(a, b)": "AutogradCPU CPU",
    "torch.mul(g, b), under no_grad": "AutogradCPU CPU",
    "torch.mul(g, b), under inference_mode": "CPU",
    "a.mul_(b)": "AutogradCPU ADInplaceOrView CPU",
    "torch.mul(m, m)": "AutogradMeta Meta",
    "torch.mul(s, s)": "AutogradSparseCPU SparseCPU",
    "a.view(4)": "AutogradCPU ADInplaceOrView CPU",
    "torch.mm(a, b), under autocast": "AutocastCPU AutogradCPU CPU",
    "torch.relu(a), under autocast": "AutogradCPU CPU",
    "torch.matmul(a, b)": "AutogradCPU",
}


# %% wrong="autocast for all" breaks="Leave out keys that fall through" says=["autocast leaves relu alone"]
predict_the_dispatch = {
    "torch.mul(a, b)": "AutogradCPU CPU",
    "torch.mul(g, b), under no_grad": "AutogradCPU CPU",
    "torch.mul(g, b), under inference_mode": "CPU",
    "a.mul_(b)": "AutogradCPU ADInplaceOrView CPU",
    "torch.mul(m, m)": "AutogradMeta Meta",
    "torch.mul(s, s)": "AutogradCPU SparseCPU",
    "a.view(4)": "AutogradCPU ADInplaceOrView CPU",
    "torch.mm(a, b), under autocast": "AutocastCPU AutogradCPU CPU",
    "torch.relu(a), under autocast": "AutocastCPU AutogradCPU CPU",
    "torch.matmul(a, b)": "AutogradCPU",
}


# %% wrong="autocast for none" says=["cast to a lower precision"]
predict_the_dispatch = {
    "torch.mul(a, b)": "AutogradCPU CPU",
    "torch.mul(g, b), under no_grad": "AutogradCPU CPU",
    "torch.mul(g, b), under inference_mode": "CPU",
    "a.mul_(b)": "AutogradCPU ADInplaceOrView CPU",
    "torch.mul(m, m)": "AutogradMeta Meta",
    "torch.mul(s, s)": "AutogradCPU SparseCPU",
    "a.view(4)": "AutogradCPU ADInplaceOrView CPU",
    "torch.mm(a, b), under autocast": "AutogradCPU CPU",
    "torch.relu(a), under autocast": "AutogradCPU CPU",
    "torch.matmul(a, b)": "AutogradCPU",
}


# %% wrong="autocast behind autograd" breaks="write the keys whose kernels run, in order" says=["cast to a lower precision"]
predict_the_dispatch = {
    "torch.mul(a, b)": "AutogradCPU CPU",
    "torch.mul(g, b), under no_grad": "AutogradCPU CPU",
    "torch.mul(g, b), under inference_mode": "CPU",
    "a.mul_(b)": "AutogradCPU ADInplaceOrView CPU",
    "torch.mul(m, m)": "AutogradMeta Meta",
    "torch.mul(s, s)": "AutogradCPU SparseCPU",
    "a.view(4)": "AutogradCPU ADInplaceOrView CPU",
    "torch.mm(a, b), under autocast": "AutogradCPU AutocastCPU CPU",
    "torch.relu(a), under autocast": "AutogradCPU CPU",
    "torch.matmul(a, b)": "AutogradCPU",
}


# %% wrong="matmul is a kernel" breaks="The path of a composite operator ends where its kernel runs" says=["a composite kernel"]
predict_the_dispatch = {
    "torch.mul(a, b)": "AutogradCPU CPU",
    "torch.mul(g, b), under no_grad": "AutogradCPU CPU",
    "torch.mul(g, b), under inference_mode": "CPU",
    "a.mul_(b)": "AutogradCPU ADInplaceOrView CPU",
    "torch.mul(m, m)": "AutogradMeta Meta",
    "torch.mul(s, s)": "AutogradCPU SparseCPU",
    "a.view(4)": "AutogradCPU ADInplaceOrView CPU",
    "torch.mm(a, b), under autocast": "AutocastCPU AutogradCPU CPU",
    "torch.relu(a), under autocast": "AutogradCPU CPU",
    "torch.matmul(a, b)": "AutogradCPU CPU",
}


# %% right="with arrows"
predict_the_dispatch = {
    "torch.mul(a, b)": "AutogradCPU -> CPU",
    "torch.mul(g, b), under no_grad": "AutogradCPU CPU",
    "torch.mul(g, b), under inference_mode": "CPU",
    "a.mul_(b)": "AutogradCPU, ADInplaceOrView, CPU",
    "torch.mul(m, m)": "AutogradMeta Meta",
    "torch.mul(s, s)": "AutogradCPU SparseCPU",
    "a.view(4)": "AutogradCPU ADInplaceOrView CPU",
    "torch.mm(a, b), under autocast": "AutocastCPU AutogradCPU CPU",
    "torch.relu(a), under autocast": "AutogradCPU CPU",
    "torch.matmul(a, b)": "AutogradCPU",
}


# %% wrong="a list of keys" breaks="in one string" says=["the keys go into one string"]
predict_the_dispatch = {
    "torch.mul(a, b)": ["AutogradCPU", "CPU"],
    "torch.mul(g, b), under no_grad": "AutogradCPU CPU",
    "torch.mul(g, b), under inference_mode": "CPU",
    "a.mul_(b)": "AutogradCPU ADInplaceOrView CPU",
    "torch.mul(m, m)": "AutogradMeta Meta",
    "torch.mul(s, s)": "AutogradCPU SparseCPU",
    "a.view(4)": "AutogradCPU ADInplaceOrView CPU",
    "torch.mm(a, b), under autocast": "AutocastCPU AutogradCPU CPU",
    "torch.relu(a), under autocast": "AutogradCPU CPU",
    "torch.matmul(a, b)": "AutogradCPU",
}
