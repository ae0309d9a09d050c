# %% [markdown]
# Rules:
#
# - "all tensors are float32 or all are float64, and so is the result"
# - "for the LSTM the pair `(h, c)`"
# - "The weights are stacked as in PyTorch"
# - "Return the new state"
# - "The loss is the sum of all entries of all states"
# - "from a state of zeros"
# - "The graph is cut before the steps k, 2k, …"
# - "the state's values are carried over there"
# - "gradients are not"
# - "`time` need not be a multiple of k"
# - "Not allowed: PyTorch's recurrent layers and cells, modules or functions"
# - "no argument's `grad` or `requires_grad` may change"
#
# Admits:
#
# - "or all are float64": batch of 1, float64, weights that require a gradient
# - "`x` and the weights may require a gradient already": truncated_gradient, float64, all three require a gradient
# - "`time` need not be a multiple of k": ((6, 3), (7, 3), (5, 1), (4, 9), (4, 3), (5, 5), (1, 1))

# %% wrong="z the other way round" breaks="Return the new state" says=["z keeps the old state, 1 - z takes the new one"]
def rnn_by_hand(kind, x, state, w_ih, w_hh, b_ih, b_hh):
    if kind == "rnn":
        return torch.tanh(F.linear(x, w_ih, b_ih) + F.linear(state, w_hh, b_hh))
    if kind == "gru":
        i_r, i_z, i_n = F.linear(x, w_ih, b_ih).chunk(3, 1)
        h_r, h_z, h_n = F.linear(state, w_hh, b_hh).chunk(3, 1)
        r, z = torch.sigmoid(i_r + h_r), torch.sigmoid(i_z + h_z)
        n = torch.tanh(i_n + r * h_n)
        return z * n + (1 - z) * state
    h, c = state
    i, f, g, o = (F.linear(x, w_ih, b_ih) + F.linear(h, w_hh, b_hh)).chunk(4, 1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def truncated_gradient(x, w_ih, w_hh, k):
    x, w_ih, w = x.detach(), w_ih.detach(), w_hh.detach().clone().requires_grad_()
    h = torch.zeros(x.shape[1], len(w), dtype=x.dtype, device=x.device)
    for start in range(0, len(x), k):
        loss, h = 0, h.detach()
        for step in x[start : start + k]:
            h = torch.tanh(F.linear(step, w_ih) + F.linear(h, w))
            loss = loss + h.sum()
        loss.backward()
    return w.grad


# %% wrong="resets before the product, as in the paper" says=["r multiplies all of b_n, its bias too, and comes after the product"]
def rnn_by_hand(kind, x, state, w_ih, w_hh, b_ih, b_hh):
    if kind == "rnn":
        return torch.tanh(F.linear(x, w_ih, b_ih) + F.linear(state, w_hh, b_hh))
    if kind == "gru":
        i_r, i_z, i_n = F.linear(x, w_ih, b_ih).chunk(3, 1)
        h_r, h_z, h_n = F.linear(state, w_hh, b_hh).chunk(3, 1)
        r, z = torch.sigmoid(i_r + h_r), torch.sigmoid(i_z + h_z)
        size = state.shape[1]
        n = torch.tanh(i_n + F.linear(r * state, w_hh[2 * size :], b_hh[2 * size :]))
        return (1 - z) * n + z * state
    h, c = state
    i, f, g, o = (F.linear(x, w_ih, b_ih) + F.linear(h, w_hh, b_hh)).chunk(4, 1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def truncated_gradient(x, w_ih, w_hh, k):
    x, w_ih, w = x.detach(), w_ih.detach(), w_hh.detach().clone().requires_grad_()
    h = torch.zeros(x.shape[1], len(w), dtype=x.dtype, device=x.device)
    for start in range(0, len(x), k):
        loss, h = 0, h.detach()
        for step in x[start : start + k]:
            h = torch.tanh(F.linear(step, w_ih) + F.linear(h, w))
            loss = loss + h.sum()
        loss.backward()
    return w.grad


# %% wrong="the order z, r, n" breaks="The weights are stacked as in PyTorch" says=["the gates come in the order r, z, n"]
def rnn_by_hand(kind, x, state, w_ih, w_hh, b_ih, b_hh):
    if kind == "rnn":
        return torch.tanh(F.linear(x, w_ih, b_ih) + F.linear(state, w_hh, b_hh))
    if kind == "gru":
        i_z, i_r, i_n = F.linear(x, w_ih, b_ih).chunk(3, 1)
        h_z, h_r, h_n = F.linear(state, w_hh, b_hh).chunk(3, 1)
        r, z = torch.sigmoid(i_r + h_r), torch.sigmoid(i_z + h_z)
        n = torch.tanh(i_n + r * h_n)
        return (1 - z) * n + z * state
    h, c = state
    i, f, g, o = (F.linear(x, w_ih, b_ih) + F.linear(h, w_hh, b_hh)).chunk(4, 1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def truncated_gradient(x, w_ih, w_hh, k):
    x, w_ih, w = x.detach(), w_ih.detach(), w_hh.detach().clone().requires_grad_()
    h = torch.zeros(x.shape[1], len(w), dtype=x.dtype, device=x.device)
    for start in range(0, len(x), k):
        loss, h = 0, h.detach()
        for step in x[start : start + k]:
            h = torch.tanh(F.linear(step, w_ih) + F.linear(h, w))
            loss = loss + h.sum()
        loss.backward()
    return w.grad


# %% wrong="the order i, f, o, g" says=["the gates come in the order i, f, g, o"]
def rnn_by_hand(kind, x, state, w_ih, w_hh, b_ih, b_hh):
    if kind == "rnn":
        return torch.tanh(F.linear(x, w_ih, b_ih) + F.linear(state, w_hh, b_hh))
    if kind == "gru":
        i_r, i_z, i_n = F.linear(x, w_ih, b_ih).chunk(3, 1)
        h_r, h_z, h_n = F.linear(state, w_hh, b_hh).chunk(3, 1)
        r, z = torch.sigmoid(i_r + h_r), torch.sigmoid(i_z + h_z)
        n = torch.tanh(i_n + r * h_n)
        return (1 - z) * n + z * state
    h, c = state
    i, f, o, g = (F.linear(x, w_ih, b_ih) + F.linear(h, w_hh, b_hh)).chunk(4, 1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def truncated_gradient(x, w_ih, w_hh, k):
    x, w_ih, w = x.detach(), w_ih.detach(), w_hh.detach().clone().requires_grad_()
    h = torch.zeros(x.shape[1], len(w), dtype=x.dtype, device=x.device)
    for start in range(0, len(x), k):
        loss, h = 0, h.detach()
        for step in x[start : start + k]:
            h = torch.tanh(F.linear(step, w_ih) + F.linear(h, w))
            loss = loss + h.sum()
        loss.backward()
    return w.grad


# %% wrong="h without tanh" says=["h is o times the tanh of c"]
def rnn_by_hand(kind, x, state, w_ih, w_hh, b_ih, b_hh):
    if kind == "rnn":
        return torch.tanh(F.linear(x, w_ih, b_ih) + F.linear(state, w_hh, b_hh))
    if kind == "gru":
        i_r, i_z, i_n = F.linear(x, w_ih, b_ih).chunk(3, 1)
        h_r, h_z, h_n = F.linear(state, w_hh, b_hh).chunk(3, 1)
        r, z = torch.sigmoid(i_r + h_r), torch.sigmoid(i_z + h_z)
        n = torch.tanh(i_n + r * h_n)
        return (1 - z) * n + z * state
    h, c = state
    i, f, g, o = (F.linear(x, w_ih, b_ih) + F.linear(h, w_hh, b_hh)).chunk(4, 1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * c, c


def truncated_gradient(x, w_ih, w_hh, k):
    x, w_ih, w = x.detach(), w_ih.detach(), w_hh.detach().clone().requires_grad_()
    h = torch.zeros(x.shape[1], len(w), dtype=x.dtype, device=x.device)
    for start in range(0, len(x), k):
        loss, h = 0, h.detach()
        for step in x[start : start + k]:
            h = torch.tanh(F.linear(step, w_ih) + F.linear(h, w))
            loss = loss + h.sum()
        loss.backward()
    return w.grad


# %% wrong="the LSTM returns h alone" breaks="for the LSTM the pair `(h, c)`" says=["expected a tuple (h, c)"]
def rnn_by_hand(kind, x, state, w_ih, w_hh, b_ih, b_hh):
    if kind == "rnn":
        return torch.tanh(F.linear(x, w_ih, b_ih) + F.linear(state, w_hh, b_hh))
    if kind == "gru":
        i_r, i_z, i_n = F.linear(x, w_ih, b_ih).chunk(3, 1)
        h_r, h_z, h_n = F.linear(state, w_hh, b_hh).chunk(3, 1)
        r, z = torch.sigmoid(i_r + h_r), torch.sigmoid(i_z + h_z)
        n = torch.tanh(i_n + r * h_n)
        return (1 - z) * n + z * state
    h, c = state
    i, f, g, o = (F.linear(x, w_ih, b_ih) + F.linear(h, w_hh, b_hh)).chunk(4, 1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c)


def truncated_gradient(x, w_ih, w_hh, k):
    x, w_ih, w = x.detach(), w_ih.detach(), w_hh.detach().clone().requires_grad_()
    h = torch.zeros(x.shape[1], len(w), dtype=x.dtype, device=x.device)
    for start in range(0, len(x), k):
        loss, h = 0, h.detach()
        for step in x[start : start + k]:
            h = torch.tanh(F.linear(step, w_ih) + F.linear(h, w))
            loss = loss + h.sum()
        loss.backward()
    return w.grad


# %% wrong="forgets b_hh" says=["rnn, batch of 2, 3 features, a state of 4: h: b_hh is missing"]
def rnn_by_hand(kind, x, state, w_ih, w_hh, b_ih, b_hh):
    if kind == "rnn":
        return torch.tanh(F.linear(x, w_ih, b_ih) + F.linear(state, w_hh))
    if kind == "gru":
        i_r, i_z, i_n = F.linear(x, w_ih, b_ih).chunk(3, 1)
        h_r, h_z, h_n = F.linear(state, w_hh, b_hh).chunk(3, 1)
        r, z = torch.sigmoid(i_r + h_r), torch.sigmoid(i_z + h_z)
        n = torch.tanh(i_n + r * h_n)
        return (1 - z) * n + z * state
    h, c = state
    i, f, g, o = (F.linear(x, w_ih, b_ih) + F.linear(h, w_hh, b_hh)).chunk(4, 1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def truncated_gradient(x, w_ih, w_hh, k):
    x, w_ih, w = x.detach(), w_ih.detach(), w_hh.detach().clone().requires_grad_()
    h = torch.zeros(x.shape[1], len(w), dtype=x.dtype, device=x.device)
    for start in range(0, len(x), k):
        loss, h = 0, h.detach()
        for step in x[start : start + k]:
            h = torch.tanh(F.linear(step, w_ih) + F.linear(h, w))
            loss = loss + h.sum()
        loss.backward()
    return w.grad


# %% wrong="the library's cells" breaks="Not allowed: PyTorch's recurrent layers and cells, modules or functions" says=["the answer calls rnn_tanh_cell", "the answer calls lstm_cell"]
def rnn_by_hand(kind, x, state, w_ih, w_hh, b_ih, b_hh):
    cells = {"rnn": torch.rnn_tanh_cell, "gru": torch.gru_cell, "lstm": torch.lstm_cell}
    return cells[kind](x, state, w_ih, w_hh, b_ih, b_hh)


def truncated_gradient(x, w_ih, w_hh, k):
    x, w_ih, w = x.detach(), w_ih.detach(), w_hh.detach().clone().requires_grad_()
    h = torch.zeros(x.shape[1], len(w), dtype=x.dtype, device=x.device)
    for start in range(0, len(x), k):
        loss, h = 0, h.detach()
        for step in x[start : start + k]:
            h = torch.tanh(F.linear(step, w_ih) + F.linear(h, w))
            loss = loss + h.sum()
        loss.backward()
    return w.grad


# %% wrong="no cut" breaks="gradients are not" says=["nothing is cut: this is the whole gradient"]
def rnn_by_hand(kind, x, state, w_ih, w_hh, b_ih, b_hh):
    if kind == "rnn":
        return torch.tanh(F.linear(x, w_ih, b_ih) + F.linear(state, w_hh, b_hh))
    if kind == "gru":
        i_r, i_z, i_n = F.linear(x, w_ih, b_ih).chunk(3, 1)
        h_r, h_z, h_n = F.linear(state, w_hh, b_hh).chunk(3, 1)
        r, z = torch.sigmoid(i_r + h_r), torch.sigmoid(i_z + h_z)
        n = torch.tanh(i_n + r * h_n)
        return (1 - z) * n + z * state
    h, c = state
    i, f, g, o = (F.linear(x, w_ih, b_ih) + F.linear(h, w_hh, b_hh)).chunk(4, 1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def truncated_gradient(x, w_ih, w_hh, k):
    x, w_ih, w = x.detach(), w_ih.detach(), w_hh.detach().clone().requires_grad_()
    h = torch.zeros(x.shape[1], len(w), dtype=x.dtype, device=x.device)
    for start in range(0, len(x), k):
        loss, h = 0, h
        for step in x[start : start + k]:
            h = torch.tanh(F.linear(step, w_ih) + F.linear(h, w))
            loss = loss + h.sum()
        loss.backward(retain_graph=True)
    return w.grad


# %% wrong="the state starts anew" breaks="the state's values are carried over there" says=["the state's values are carried over at a cut; here they start from zero"]
def rnn_by_hand(kind, x, state, w_ih, w_hh, b_ih, b_hh):
    if kind == "rnn":
        return torch.tanh(F.linear(x, w_ih, b_ih) + F.linear(state, w_hh, b_hh))
    if kind == "gru":
        i_r, i_z, i_n = F.linear(x, w_ih, b_ih).chunk(3, 1)
        h_r, h_z, h_n = F.linear(state, w_hh, b_hh).chunk(3, 1)
        r, z = torch.sigmoid(i_r + h_r), torch.sigmoid(i_z + h_z)
        n = torch.tanh(i_n + r * h_n)
        return (1 - z) * n + z * state
    h, c = state
    i, f, g, o = (F.linear(x, w_ih, b_ih) + F.linear(h, w_hh, b_hh)).chunk(4, 1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def truncated_gradient(x, w_ih, w_hh, k):
    x, w_ih, w = x.detach(), w_ih.detach(), w_hh.detach().clone().requires_grad_()
    h = torch.zeros(x.shape[1], len(w), dtype=x.dtype, device=x.device)
    for start in range(0, len(x), k):
        loss, h = 0, torch.zeros_like(h)
        for step in x[start : start + k]:
            h = torch.tanh(F.linear(step, w_ih) + F.linear(h, w))
            loss = loss + h.sum()
        loss.backward()
    return w.grad


# %% wrong="detaches at every step" says=["the graph is cut at every step"]
def rnn_by_hand(kind, x, state, w_ih, w_hh, b_ih, b_hh):
    if kind == "rnn":
        return torch.tanh(F.linear(x, w_ih, b_ih) + F.linear(state, w_hh, b_hh))
    if kind == "gru":
        i_r, i_z, i_n = F.linear(x, w_ih, b_ih).chunk(3, 1)
        h_r, h_z, h_n = F.linear(state, w_hh, b_hh).chunk(3, 1)
        r, z = torch.sigmoid(i_r + h_r), torch.sigmoid(i_z + h_z)
        n = torch.tanh(i_n + r * h_n)
        return (1 - z) * n + z * state
    h, c = state
    i, f, g, o = (F.linear(x, w_ih, b_ih) + F.linear(h, w_hh, b_hh)).chunk(4, 1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def truncated_gradient(x, w_ih, w_hh, k):
    x, w_ih, w = x.detach(), w_ih.detach(), w_hh.detach().clone().requires_grad_()
    h = torch.zeros(x.shape[1], len(w), dtype=x.dtype, device=x.device)
    for start in range(0, len(x), k):
        loss, h = 0, h.detach()
        for step in x[start : start + k]:
            h = torch.tanh(F.linear(step, w_ih) + F.linear(h.detach(), w))
            loss = loss + h.sum()
        loss.backward()
    return w.grad


# %% wrong="cuts behind every k-th step" breaks="The graph is cut before the steps k, 2k, …" says=["time 6, k = 3", "the first cut is before step k"]
def rnn_by_hand(kind, x, state, w_ih, w_hh, b_ih, b_hh):
    if kind == "rnn":
        return torch.tanh(F.linear(x, w_ih, b_ih) + F.linear(state, w_hh, b_hh))
    if kind == "gru":
        i_r, i_z, i_n = F.linear(x, w_ih, b_ih).chunk(3, 1)
        h_r, h_z, h_n = F.linear(state, w_hh, b_hh).chunk(3, 1)
        r, z = torch.sigmoid(i_r + h_r), torch.sigmoid(i_z + h_z)
        n = torch.tanh(i_n + r * h_n)
        return (1 - z) * n + z * state
    h, c = state
    i, f, g, o = (F.linear(x, w_ih, b_ih) + F.linear(h, w_hh, b_hh)).chunk(4, 1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def truncated_gradient(x, w_ih, w_hh, k):
    w, total = w_hh.detach().clone().requires_grad_(), 0
    h = torch.zeros(x.shape[1], len(w), dtype=x.dtype, device=x.device)
    for t, step in enumerate(x, start=1):
        h = h.detach() if t % k == 0 else h
        h = torch.tanh(F.linear(step, w_ih) + F.linear(h, w))
        total = total + h.sum()
    return torch.autograd.grad(total, w)[0]


# %% wrong="fills the argument's grad" breaks="no argument's `grad` or `requires_grad` may change" says=["an argument was changed"]
def rnn_by_hand(kind, x, state, w_ih, w_hh, b_ih, b_hh):
    if kind == "rnn":
        return torch.tanh(F.linear(x, w_ih, b_ih) + F.linear(state, w_hh, b_hh))
    if kind == "gru":
        i_r, i_z, i_n = F.linear(x, w_ih, b_ih).chunk(3, 1)
        h_r, h_z, h_n = F.linear(state, w_hh, b_hh).chunk(3, 1)
        r, z = torch.sigmoid(i_r + h_r), torch.sigmoid(i_z + h_z)
        n = torch.tanh(i_n + r * h_n)
        return (1 - z) * n + z * state
    h, c = state
    i, f, g, o = (F.linear(x, w_ih, b_ih) + F.linear(h, w_hh, b_hh)).chunk(4, 1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def truncated_gradient(x, w_ih, w_hh, k):
    w = w_hh.requires_grad_()
    h = torch.zeros(x.shape[1], len(w), dtype=x.dtype, device=x.device)
    for start in range(0, len(x), k):
        loss, h = 0, h.detach()
        for step in x[start : start + k]:
            h = torch.tanh(F.linear(step, w_ih) + F.linear(h, w))
            loss = loss + h.sum()
        loss.backward()
    return w.grad


# %% wrong="the last piece only" says=["the loss counts the states of every piece"]
def rnn_by_hand(kind, x, state, w_ih, w_hh, b_ih, b_hh):
    if kind == "rnn":
        return torch.tanh(F.linear(x, w_ih, b_ih) + F.linear(state, w_hh, b_hh))
    if kind == "gru":
        i_r, i_z, i_n = F.linear(x, w_ih, b_ih).chunk(3, 1)
        h_r, h_z, h_n = F.linear(state, w_hh, b_hh).chunk(3, 1)
        r, z = torch.sigmoid(i_r + h_r), torch.sigmoid(i_z + h_z)
        n = torch.tanh(i_n + r * h_n)
        return (1 - z) * n + z * state
    h, c = state
    i, f, g, o = (F.linear(x, w_ih, b_ih) + F.linear(h, w_hh, b_hh)).chunk(4, 1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def truncated_gradient(x, w_ih, w_hh, k):
    x, w_ih, w = x.detach(), w_ih.detach(), w_hh.detach().clone().requires_grad_()
    h = torch.zeros(x.shape[1], len(w), dtype=x.dtype, device=x.device)
    for start in range(0, len(x), k):
        loss, h = 0, h.detach()
        for step in x[start : start + k]:
            h = torch.tanh(F.linear(step, w_ih) + F.linear(h, w))
            loss = loss + h.sum()
    return torch.autograd.grad(loss, w)[0]


# %% right="backward for each piece"
def rnn_by_hand(kind, x, state, w_ih, w_hh, b_ih, b_hh):
    if kind == "rnn":
        return torch.tanh(F.linear(x, w_ih, b_ih) + F.linear(state, w_hh, b_hh))
    if kind == "gru":
        i_r, i_z, i_n = F.linear(x, w_ih, b_ih).chunk(3, 1)
        h_r, h_z, h_n = F.linear(state, w_hh, b_hh).chunk(3, 1)
        r, z = torch.sigmoid(i_r + h_r), torch.sigmoid(i_z + h_z)
        n = torch.tanh(i_n + r * h_n)
        return (1 - z) * n + z * state
    h, c = state
    i, f, g, o = (F.linear(x, w_ih, b_ih) + F.linear(h, w_hh, b_hh)).chunk(4, 1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def truncated_gradient(x, w_ih, w_hh, k):
    x, w_ih, w = x.detach(), w_ih.detach(), w_hh.detach().clone().requires_grad_()
    h = torch.zeros(x.shape[1], len(w), dtype=x.dtype, device=x.device)
    for start in range(0, len(x), k):
        loss, h = 0, h.detach()
        for step in x[start : start + k]:
            h = torch.tanh(F.linear(step, w_ih) + F.linear(h, w))
            loss = loss + h.sum()
        loss.backward()
    return w.grad


# %% right="slices of the weights; the gradient by formulas"
def rnn_by_hand(kind, x, state, w_ih, w_hh, b_ih, b_hh):
    h = state[0] if isinstance(state, (tuple, list)) else state
    size = w_hh.shape[1]

    def part(n, reset=None):
        rows = slice(n * size, (n + 1) * size)
        ours = torch.einsum("bi,oi->bo", h, w_hh[rows]) + b_hh[rows]
        return (
            torch.einsum("bi,oi->bo", x, w_ih[rows])
            + b_ih[rows]
            + (ours if reset is None else reset * ours)
        )

    def gate(n):
        return 1 / (1 + torch.exp(-part(n)))

    if kind == "rnn":
        return part(0).tanh()
    if kind == "gru":
        return h + (1 - gate(1)) * (part(2, gate(0)).tanh() - h)
    c = gate(1) * state[1] + gate(0) * part(2).tanh()
    return [gate(3) * c.tanh(), c]


def truncated_gradient(x, w_ih, w_hh, k):
    states = [x.new_zeros(x.shape[1], len(w_hh))]
    for step in x:
        states.append(torch.tanh(step @ w_ih.T + states[-1] @ w_hh.T))
    gradient = torch.zeros_like(w_hh)
    for end in range(len(x), 0, -1):
        if end == len(x) or end % k == 0:
            arriving = torch.zeros_like(states[0])
        inner = (arriving + 1) * (1 - states[end] ** 2)
        gradient += inner.T @ states[end - 1]
        arriving = inner @ w_hh
    return gradient


# %% wrong="lstm gate g by sigmoid" says=["g goes through tanh"]
def rnn_by_hand(kind, x, state, w_ih, w_hh, b_ih, b_hh):
    h, c = state if kind == "lstm" else (state, None)
    a, b = x @ w_ih.t() + b_ih, h @ w_hh.t() + b_hh
    if kind == "rnn":
        return (a + b).tanh()
    if kind == "gru":
        (ar, az, an), (br, bz, bn) = a.chunk(3, 1), b.chunk(3, 1)
        r, z = (ar + br).sigmoid(), (az + bz).sigmoid()
        n = (an + r * bn).tanh()
        return (1 - z) * n + z * h
    i, f, g, o = (a + b).chunk(4, 1)
    c = f.sigmoid() * c + i.sigmoid() * g.sigmoid()
    return o.sigmoid() * c.tanh(), c


def truncated_gradient(x, w_ih, w_hh, k):
    w = w_hh.detach().clone().requires_grad_()
    h, total = x.new_zeros(x.shape[1], w_hh.shape[0]), 0
    for t, step in enumerate(x):
        if t % k == 0:
            h = h.detach()
        h = (step @ w_ih.t() + h @ w.t()).tanh()
        total = total + h.sum()
    return torch.autograd.grad(total, w)[0]


# %% wrong="lstm returns (c, h)" says=["h comes first, then c"]
def rnn_by_hand(kind, x, state, w_ih, w_hh, b_ih, b_hh):
    h, c = state if kind == "lstm" else (state, None)
    a, b = x @ w_ih.t() + b_ih, h @ w_hh.t() + b_hh
    if kind == "rnn":
        return (a + b).tanh()
    if kind == "gru":
        (ar, az, an), (br, bz, bn) = a.chunk(3, 1), b.chunk(3, 1)
        r, z = (ar + br).sigmoid(), (az + bz).sigmoid()
        n = (an + r * bn).tanh()
        return (1 - z) * n + z * h
    i, f, g, o = (a + b).chunk(4, 1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return c, o.sigmoid() * c.tanh()


def truncated_gradient(x, w_ih, w_hh, k):
    w = w_hh.detach().clone().requires_grad_()
    h, total = x.new_zeros(x.shape[1], w_hh.shape[0]), 0
    for t, step in enumerate(x):
        if t % k == 0:
            h = h.detach()
        h = (step @ w_ih.t() + h @ w.t()).tanh()
        total = total + h.sum()
    return torch.autograd.grad(total, w)[0]


# %% wrong="weights interleaved: reshape to (size, gates)" says=["each gate is a block of rows"]
def rnn_by_hand(kind, x, state, w_ih, w_hh, b_ih, b_hh):
    h, c = state if kind == "lstm" else (state, None)
    a, b = x @ w_ih.t() + b_ih, h @ w_hh.t() + b_hh
    if kind == "rnn":
        return (a + b).tanh()
    if kind == "gru":
        (ar, az, an), (br, bz, bn) = a.chunk(3, 1), b.chunk(3, 1)
        r, z = (ar + br).sigmoid(), (az + bz).sigmoid()
        n = (an + r * bn).tanh()
        return (1 - z) * n + z * h
    i, f, g, o = (a + b).view(len(x), -1, 4).unbind(2)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def truncated_gradient(x, w_ih, w_hh, k):
    w = w_hh.detach().clone().requires_grad_()
    h, total = x.new_zeros(x.shape[1], w_hh.shape[0]), 0
    for t, step in enumerate(x):
        if t % k == 0:
            h = h.detach()
        h = (step @ w_ih.t() + h @ w.t()).tanh()
        total = total + h.sum()
    return torch.autograd.grad(total, w)[0]


# %% wrong="loss of the last state alone" breaks="The loss is the sum of all entries of all states" says=["the loss counts every state"]
def rnn_by_hand(kind, x, state, w_ih, w_hh, b_ih, b_hh):
    h, c = state if kind == "lstm" else (state, None)
    a, b = x @ w_ih.t() + b_ih, h @ w_hh.t() + b_hh
    if kind == "rnn":
        return (a + b).tanh()
    if kind == "gru":
        (ar, az, an), (br, bz, bn) = a.chunk(3, 1), b.chunk(3, 1)
        r, z = (ar + br).sigmoid(), (az + bz).sigmoid()
        n = (an + r * bn).tanh()
        return (1 - z) * n + z * h
    i, f, g, o = (a + b).chunk(4, 1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def truncated_gradient(x, w_ih, w_hh, k):
    w = w_hh.detach().clone().requires_grad_()
    h, total = x.new_zeros(x.shape[1], w_hh.shape[0]), 0
    for t, step in enumerate(x):
        if t % k == 0:
            h = h.detach()
        h = (step @ w_ih.t() + h @ w.t()).tanh()
        total = h.sum()
    return torch.autograd.grad(total, w)[0]


# %% right="by hand backward; numpy-ish; sigmoid by exp"
def _s(t):
    return 1 / (1 + torch.exp(-t))


def rnn_by_hand(kind, x, state, w_ih, w_hh, b_ih, b_hh):
    if kind == "rnn":
        return torch.tanh(x.matmul(w_ih.T) + state.matmul(w_hh.T) + b_ih + b_hh)
    if kind == "gru":
        W, U, p, q = w_ih.chunk(3), w_hh.chunk(3), b_ih.chunk(3), b_hh.chunk(3)
        r = _s(x @ W[0].T + p[0] + state @ U[0].T + q[0])
        z = _s(x @ W[1].T + p[1] + state @ U[1].T + q[1])
        n = torch.tanh(x @ W[2].T + p[2] + r * (state @ U[2].T + q[2]))
        return torch.lerp(n, state, z)
    h, c = state
    parts = [
        x @ A.T + a + h @ B.T + b
        for A, B, a, b in zip(w_ih.chunk(4), w_hh.chunk(4), b_ih.chunk(4), b_hh.chunk(4))
    ]
    i, f, g, o = (fn(p) for fn, p in zip((_s, _s, torch.tanh, _s), parts))
    c = f * c + i * g
    return (o * torch.tanh(c), c)


def truncated_gradient(x, w_ih, w_hh, k):
    states = [x.new_zeros(x.shape[1], len(w_hh))]
    with torch.no_grad():
        for step in x:
            states.append(torch.tanh(step @ w_ih.T + states[-1] @ w_hh.T))
        grad, arriving = torch.zeros_like(w_hh), torch.zeros_like(states[0])
        for t in reversed(range(len(x))):
            h = states[t + 1]
            inner = (1 + arriving) * (1 - h * h)
            grad += inner.T @ states[t]
            arriving = inner @ w_hh if t % k else torch.zeros_like(inner)
    return grad


# %% wrong="backward fills the grad of a w_ih that requires one" says=["float64, all three require a gradient", "an argument was changed"]
def rnn_by_hand(kind, x, state, w_ih, w_hh, b_ih, b_hh):
    if kind == "rnn":
        return torch.tanh(F.linear(x, w_ih, b_ih) + F.linear(state, w_hh, b_hh))
    if kind == "gru":
        i_r, i_z, i_n = F.linear(x, w_ih, b_ih).chunk(3, 1)
        h_r, h_z, h_n = F.linear(state, w_hh, b_hh).chunk(3, 1)
        r, z = torch.sigmoid(i_r + h_r), torch.sigmoid(i_z + h_z)
        n = torch.tanh(i_n + r * h_n)
        return (1 - z) * n + z * state
    h, c = state
    i, f, g, o = (F.linear(x, w_ih, b_ih) + F.linear(h, w_hh, b_hh)).chunk(4, 1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def truncated_gradient(x, w_ih, w_hh, k):
    w = w_hh.detach().clone().requires_grad_()
    h = torch.zeros(x.shape[1], len(w), dtype=x.dtype, device=x.device)
    for start in range(0, len(x), k):
        loss, h = 0, h.detach()
        for step in x[start : start + k]:
            h = torch.tanh(F.linear(step, w_ih) + F.linear(h, w))
            loss = loss + h.sum()
        loss.backward()
    return w.grad


# %% wrong="whole pieces only" breaks="`time` need not be a multiple of k" says=["the last, shorter piece counts, too"]
def rnn_by_hand(kind, x, state, w_ih, w_hh, b_ih, b_hh):
    h = state[0] if kind == "lstm" else state
    a, b = x @ w_ih.t() + b_ih, h @ w_hh.t() + b_hh
    if kind == "rnn":
        return (a + b).tanh()
    if kind == "gru":
        (ar, az, an), (br, bz, bn) = a.chunk(3, 1), b.chunk(3, 1)
        r, z = (ar + br).sigmoid(), (az + bz).sigmoid()
        n = (an + r * bn).tanh()
        return (1 - z) * n + z * h
    i, f, g, o = (a + b).chunk(4, 1)
    c = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def truncated_gradient(x, w_ih, w_hh, k):
    w = w_hh.detach().clone().requires_grad_()
    w_ih = w_ih.detach()
    h = x.new_zeros(x.shape[1], len(w_hh))
    loss = 0
    with torch.enable_grad():
        for t, step in enumerate(x.detach()[: len(x) // k * k or len(x)]):
            if t % k == 0:
                h = h.detach()
            h = (step @ w_ih.t() + h @ w.t()).tanh()
            loss = loss + h.sum()
        return torch.autograd.grad(loss, w)[0]


# %% wrong="a mean over the steps" says=["the loss is a sum over the steps, not a mean"]
def rnn_by_hand(kind, x, state, w_ih, w_hh, b_ih, b_hh):
    h = state[0] if kind == "lstm" else state
    a, b = x @ w_ih.t() + b_ih, h @ w_hh.t() + b_hh
    if kind == "rnn":
        return (a + b).tanh()
    if kind == "gru":
        (ar, az, an), (br, bz, bn) = a.chunk(3, 1), b.chunk(3, 1)
        r, z = (ar + br).sigmoid(), (az + bz).sigmoid()
        n = (an + r * bn).tanh()
        return (1 - z) * n + z * h
    i, f, g, o = (a + b).chunk(4, 1)
    c = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def truncated_gradient(x, w_ih, w_hh, k):
    w = w_hh.detach().clone().requires_grad_()
    w_ih = w_ih.detach()
    h = x.new_zeros(x.shape[1], len(w_hh))
    loss = 0
    with torch.enable_grad():
        for t, step in enumerate(x.detach()):
            if t % k == 0:
                h = h.detach()
            h = (step @ w_ih.t() + h @ w.t()).tanh()
            loss = loss + h.sum()
        return torch.autograd.grad(loss / len(x), w)[0]


# %% wrong="a forget gate that begins open" says=["f is the sigmoid of a + b, as it is: nothing is added"]
def rnn_by_hand(kind, x, state, w_ih, w_hh, b_ih, b_hh):
    if kind == "rnn":
        return torch.tanh(F.linear(x, w_ih, b_ih) + F.linear(state, w_hh, b_hh))
    if kind == "gru":
        a, b = F.linear(x, w_ih, b_ih), F.linear(state, w_hh, b_hh)
        ar, az, an = a.chunk(3, 1)
        br, bz, bn = b.chunk(3, 1)
        r, z = torch.sigmoid(ar + br), torch.sigmoid(az + bz)
        c = torch.tanh(an + r * bn)
        return (1 - z) * c + z * state
    h, c = state
    i, f, g, o = (F.linear(x, w_ih, b_ih) + F.linear(h, w_hh, b_hh)).chunk(4, 1)
    c = (f + 1).sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def truncated_gradient(x, w_ih, w_hh, k):
    w = w_hh.detach().clone().requires_grad_()
    h = x.new_zeros(x.shape[1], w.shape[0])
    total = 0
    for chunk in x.split(k):
        h = h.detach()
        for s in chunk:
            h = torch.tanh(s @ w_ih.T + h @ w.T)
        total = total + h.sum()
    return torch.autograd.grad(total, w)[0]


# %% wrong="writes the new state into the old" says=["an argument was changed"]
def rnn_by_hand(kind, x, state, w_ih, w_hh, b_ih, b_hh):
    if kind == "rnn":
        return torch.tanh(F.linear(x, w_ih, b_ih) + F.linear(state, w_hh, b_hh))
    if kind == "gru":
        a, b = F.linear(x, w_ih, b_ih), F.linear(state, w_hh, b_hh)
        ar, az, an = a.chunk(3, 1)
        br, bz, bn = b.chunk(3, 1)
        r, z = torch.sigmoid(ar + br), torch.sigmoid(az + bz)
        c = torch.tanh(an + r * bn)
        with torch.no_grad():
            state.mul_(z).add_((1 - z) * c)
        return state
    h, c = state
    i, f, g, o = (F.linear(x, w_ih, b_ih) + F.linear(h, w_hh, b_hh)).chunk(4, 1)
    with torch.no_grad():
        c.mul_(f.sigmoid()).add_(i.sigmoid() * g.tanh())
    return o.sigmoid() * c.tanh(), c


def truncated_gradient(x, w_ih, w_hh, k):
    w = w_hh.detach().clone().requires_grad_()
    h = x.new_zeros(x.shape[1], w.shape[0])
    total = 0
    for chunk in x.split(k):
        h = h.detach()
        for s in chunk:
            h = torch.tanh(s @ w_ih.T + h @ w.T)
            total = total + h.sum()
    return torch.autograd.grad(total, w)[0]


# %% wrong="requires_grad on and off again" says=["all three require a gradient: an argument was changed"]
def rnn_by_hand(kind, x, state, w_ih, w_hh, b_ih, b_hh):
    if kind == "rnn":
        return torch.tanh(F.linear(x, w_ih, b_ih) + F.linear(state, w_hh, b_hh))
    if kind == "gru":
        a, b = F.linear(x, w_ih, b_ih), F.linear(state, w_hh, b_hh)
        ar, az, an = a.chunk(3, 1)
        br, bz, bn = b.chunk(3, 1)
        r, z = torch.sigmoid(ar + br), torch.sigmoid(az + bz)
        return (1 - z) * torch.tanh(an + r * bn) + z * state
    h, c = state
    i, f, g, o = (F.linear(x, w_ih, b_ih) + F.linear(h, w_hh, b_hh)).chunk(4, 1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def truncated_gradient(x, w_ih, w_hh, k):
    w_hh.requires_grad_(True)
    h = x.new_zeros(x.shape[1], w_hh.shape[0])
    total = 0
    for t, s in enumerate(x):
        h = h.detach() if t % k == 0 else h
        h = torch.tanh(s @ w_ih.T + h @ w_hh.T)
        total = total + h.sum()
    g = torch.autograd.grad(total, w_hh)[0]
    w_hh.requires_grad_(False)
    return g


# %% right="func.grad, stacked gates, lerp"
def rnn_by_hand(kind, x, state, w_ih, w_hh, b_ih, b_hh):
    h = state if torch.is_tensor(state) else state[0]
    stack = {"rnn": 1, "gru": 3, "lstm": 4}[kind]
    a = (torch.einsum("bi,oi->bo", x, w_ih) + b_ih).unflatten(1, (stack, -1))
    b = (torch.einsum("bi,oi->bo", h, w_hh) + b_hh).unflatten(1, (stack, -1))
    if kind == "rnn":
        return torch.tanh(a + b)[:, 0]
    if kind == "gru":
        rz = torch.special.expit(a[:, :2] + b[:, :2])
        new = torch.tanh(a[:, 2] + rz[:, 0] * b[:, 2])
        return torch.lerp(new, h, rz[:, 1])
    s = a + b
    gates = torch.special.expit(s)
    c = gates[:, 1] * state[1] + gates[:, 0] * torch.tanh(s[:, 2])
    return [gates[:, 3] * torch.tanh(c), c]


def truncated_gradient(x, w_ih, w_hh, k):
    w_ih, w_hh = w_ih.detach(), w_hh.detach()

    def loss(w):
        h, total = x.new_zeros(x.shape[1], len(w)), 0.0
        for t, s in enumerate(x):
            if t % k == 0 and t > 0:
                h = h.detach()
            h = torch.tanh(s @ w_ih.mT + h @ w.mT)
            total = total + h.sum()
        return total

    return torch.func.grad(loss)(w_hh)


# %% wrong="a state of float32 zeros" breaks="all tensors are float32 or all are float64, and so is the result" says=["truncated_gradient, float64, all three require a gradient: raised RuntimeError", "is something that you make, such as the state, float32?"]
def rnn_by_hand(kind, x, state, w_ih, w_hh, b_ih, b_hh):
    if kind == "lstm":
        h, c = state
        i, f, g, o = (x @ w_ih.t() + b_ih + h @ w_hh.t() + b_hh).chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c
    a, b = x @ w_ih.t() + b_ih, state @ w_hh.t() + b_hh
    if kind == "rnn":
        return (a + b).tanh()
    ar, az, an = a.chunk(3, 1)
    br, bz, bn = b.chunk(3, 1)
    r, z = (ar + br).sigmoid(), (az + bz).sigmoid()
    n = (an + r * bn).tanh()
    return (1 - z) * n + z * state


def truncated_gradient(x, w_ih, w_hh, k):
    with torch.enable_grad():
        w = w_hh.detach().clone().requires_grad_()
        h = torch.zeros(x.shape[1], len(w), device=x.device)
        total = 0
        for t in range(len(x)):
            if t % k == 0:
                h = h.detach()
            h = (x[t].detach() @ w_ih.detach().t() + h @ w.t()).tanh()
            total = total + h.sum()
        return torch.autograd.grad(total, w)[0]


# %% wrong="the first state is all ones" breaks="from a state of zeros" says=["truncated_gradient, time 6, k = 3: the gradient differs"]
def rnn_by_hand(kind, x, state, w_ih, w_hh, b_ih, b_hh):
    if kind == "lstm":
        h, c = state
        i, f, g, o = (x @ w_ih.t() + b_ih + h @ w_hh.t() + b_hh).chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c
    a, b = x @ w_ih.t() + b_ih, state @ w_hh.t() + b_hh
    if kind == "rnn":
        return (a + b).tanh()
    ar, az, an = a.chunk(3, 1)
    br, bz, bn = b.chunk(3, 1)
    r, z = (ar + br).sigmoid(), (az + bz).sigmoid()
    n = (an + r * bn).tanh()
    return (1 - z) * n + z * state


def truncated_gradient(x, w_ih, w_hh, k):
    with torch.enable_grad():
        w = w_hh.detach().clone().requires_grad_()
        h = x.new_ones(x.shape[1], len(w))
        total = 0
        for t in range(len(x)):
            if t % k == 0:
                h = h.detach()
            h = (x[t].detach() @ w_ih.detach().t() + h @ w.t()).tanh()
            total = total + h.sum()
        return torch.autograd.grad(total, w)[0]


# %% wrong="r multiplies a's part" says=["r multiplies the part of b"]
def rnn_by_hand(kind, x, state, w_ih, w_hh, b_ih, b_hh):
    h = state[0] if kind == "lstm" else state
    a, b = x @ w_ih.t() + b_ih, h @ w_hh.t() + b_hh
    if kind == "rnn":
        return (a + b).tanh()
    if kind == "gru":
        (ar, az, an), (br, bz, bn) = a.chunk(3, 1), b.chunk(3, 1)
        r, z = (ar + br).sigmoid(), (az + bz).sigmoid()
        n = (r * an + bn).tanh()
        return (1 - z) * n + z * h
    i, f, g, o = (a + b).chunk(4, 1)
    c = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def truncated_gradient(x, w_ih, w_hh, k):
    w = w_hh.detach().clone().requires_grad_()
    h, loss = x.new_zeros(x.shape[1], len(w_hh)), 0
    for t, step in enumerate(x.detach()):
        if t % k == 0:
            h = h.detach()
        h = (step @ w_ih.detach().t() + h @ w.t()).tanh()
        loss = loss + h.sum()
    return torch.autograd.grad(loss, w)[0]


# %% wrong="detached before it is added to the loss" says=["add it up before you detach it", "k = 1: raised RuntimeError: element 0"]
def rnn_by_hand(kind, x, state, w_ih, w_hh, b_ih, b_hh):
    h = state[0] if kind == "lstm" else state
    a, b = x @ w_ih.t() + b_ih, h @ w_hh.t() + b_hh
    if kind == "rnn":
        return (a + b).tanh()
    if kind == "gru":
        (ar, az, an), (br, bz, bn) = a.chunk(3, 1), b.chunk(3, 1)
        r, z = (ar + br).sigmoid(), (az + bz).sigmoid()
        n = (an + r * bn).tanh()
        return (1 - z) * n + z * h
    i, f, g, o = (a + b).chunk(4, 1)
    c = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def truncated_gradient(x, w_ih, w_hh, k):
    w = w_hh.detach().clone().requires_grad_()
    h, loss = x.new_zeros(x.shape[1], len(w_hh)), 0
    for t, step in enumerate(x.detach()):
        h = (step @ w_ih.detach().t() + h @ w.t()).tanh()
        if (t + 1) % k == 0:
            h = h.detach()
        loss = loss + h.sum()
    return torch.autograd.grad(loss, w)[0]


# %% wrong="only the last state of a piece counts" says=["not the last of each piece"]
def rnn_by_hand(kind, x, state, w_ih, w_hh, b_ih, b_hh):
    h = state[0] if kind == "lstm" else state
    a, b = x @ w_ih.t() + b_ih, h @ w_hh.t() + b_hh
    if kind == "rnn":
        return (a + b).tanh()
    if kind == "gru":
        (ar, az, an), (br, bz, bn) = a.chunk(3, 1), b.chunk(3, 1)
        r, z = (ar + br).sigmoid(), (az + bz).sigmoid()
        n = (an + r * bn).tanh()
        return (1 - z) * n + z * h
    i, f, g, o = (a + b).chunk(4, 1)
    c = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def truncated_gradient(x, w_ih, w_hh, k):
    w = w_hh.detach().clone().requires_grad_()
    h, loss = x.new_zeros(x.shape[1], len(w_hh)), 0
    for t, step in enumerate(x.detach()):
        if t % k == 0:
            h = h.detach()
        h = (step @ w_ih.detach().t() + h @ w.t()).tanh()
        if (t + 1) % k == 0 or t + 1 == len(x):
            loss = loss + h.sum()
    return torch.autograd.grad(loss, w)[0]


# %% wrong="cuts after k steps once only" says=["not before k alone"]
def rnn_by_hand(kind, x, state, w_ih, w_hh, b_ih, b_hh):
    h = state[0] if kind == "lstm" else state
    a, b = x @ w_ih.t() + b_ih, h @ w_hh.t() + b_hh
    if kind == "rnn":
        return (a + b).tanh()
    if kind == "gru":
        (ar, az, an), (br, bz, bn) = a.chunk(3, 1), b.chunk(3, 1)
        r, z = (ar + br).sigmoid(), (az + bz).sigmoid()
        n = (an + r * bn).tanh()
        return (1 - z) * n + z * h
    i, f, g, o = (a + b).chunk(4, 1)
    c = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def truncated_gradient(x, w_ih, w_hh, k):
    w = w_hh.detach().clone().requires_grad_()
    h, loss = x.new_zeros(x.shape[1], len(w_hh)), 0
    for t, step in enumerate(x.detach()):
        if t == k:
            h = h.detach()
        h = (step @ w_ih.detach().t() + h @ w.t()).tanh()
        loss = loss + h.sum()
    return torch.autograd.grad(loss, w)[0]


# %% wrong="backward fills the grad of an x that requires one" says=["all three require a gradient: an argument was changed (its grad)"]
def rnn_by_hand(kind, x, state, w_ih, w_hh, b_ih, b_hh):
    h = state[0] if kind == "lstm" else state
    a, b = x @ w_ih.t() + b_ih, h @ w_hh.t() + b_hh
    if kind == "rnn":
        return (a + b).tanh()
    if kind == "gru":
        (a_r, a_z, a_n), (b_r, b_z, b_n) = a.chunk(3, 1), b.chunk(3, 1)
        r, z = (a_r + b_r).sigmoid(), (a_z + b_z).sigmoid()
        n = (a_n + r * b_n).tanh()
        return (1 - z) * n + z * h
    i, f, g, o = (a + b).chunk(4, 1)
    c = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def truncated_gradient(x, w_ih, w_hh, k):
    with torch.enable_grad():
        w = w_hh.detach().clone().requires_grad_()
        h, loss = x.new_zeros(x.shape[1], w.shape[0]), 0
        for t, step in enumerate(x):
            if t % k == 0:
                h = h.detach()
            h = (step @ w_ih.detach().t() + h @ w.t()).tanh()
            loss = loss + h.sum()
        loss.backward()
        return w.grad


# %% wrong="b_ih twice" says=["each product has a bias of its own; here b_ih is added twice"]
def rnn_by_hand(kind, x, state, w_ih, w_hh, b_ih, b_hh):
    h = state[0] if kind == "lstm" else state
    a, b = x @ w_ih.t() + b_ih, h @ w_hh.t() + b_ih
    if kind == "rnn":
        return (a + b).tanh()
    if kind == "gru":
        (a_r, a_z, a_n), (b_r, b_z, b_n) = a.chunk(3, 1), b.chunk(3, 1)
        r, z = (a_r + b_r).sigmoid(), (a_z + b_z).sigmoid()
        n = (a_n + r * b_n).tanh()
        return (1 - z) * n + z * h
    i, f, g, o = (a + b).chunk(4, 1)
    c = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def truncated_gradient(x, w_ih, w_hh, k):
    with torch.enable_grad():
        w = w_hh.detach().clone().requires_grad_()
        h, loss = x.new_zeros(x.shape[1], w.shape[0]), 0
        for t, step in enumerate(x.detach()):
            if t % k == 0:
                h = h.detach()
            h = (step @ w_ih.detach().t() + h @ w.t()).tanh()
            loss = loss + h.sum()
        return torch.autograd.grad(loss, w)[0]


# %% wrong="no cut where one step is left" says=["time 4, k = 3"]
def rnn_by_hand(kind, x, state, w_ih, w_hh, b_ih, b_hh):
    h = state[0] if kind == "lstm" else state
    a, b = x @ w_ih.t() + b_ih, h @ w_hh.t() + b_hh
    if kind == "rnn":
        return (a + b).tanh()
    if kind == "gru":
        (ar, az, an), (br, bz, bn) = a.chunk(3, 1), b.chunk(3, 1)
        r, z = (ar + br).sigmoid(), (az + bz).sigmoid()
        n = (an + r * bn).tanh()
        return (1 - z) * n + z * h
    i, f, g, o = (a + b).chunk(4, 1)
    c = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def truncated_gradient(x, w_ih, w_hh, k):
    with torch.enable_grad():
        w = w_hh.detach().clone().requires_grad_()
        w_in, x = w_ih.detach(), x.detach()
        h, total = x.new_zeros(x.shape[1], w.shape[0]), 0
        for t in range(len(x)):
            if t % k == 0 and k < len(x) - 1:
                h = h.detach()
            h = (x[t] @ w_in.t() + h @ w.t()).tanh()
            total = total + h.sum()
        (gradient,) = torch.autograd.grad(total, w)
    return gradient


# %% wrong="the old state is cut off in a step, too" says=["no gradient reaches state"]
def rnn_by_hand(kind, x, state, w_ih, w_hh, b_ih, b_hh):
    h = (state[0] if kind == "lstm" else state).detach()
    a, b = x @ w_ih.t() + b_ih, h @ w_hh.t() + b_hh
    if kind == "rnn":
        return (a + b).tanh()
    if kind == "gru":
        (a_r, a_z, a_n), (b_r, b_z, b_n) = a.chunk(3, dim=1), b.chunk(3, dim=1)
        z, n = (a_z + b_z).sigmoid(), (a_n + (a_r + b_r).sigmoid() * b_n).tanh()
        return (1 - z) * n + z * h
    i, f, g, o = (a + b).chunk(4, dim=1)
    c = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def truncated_gradient(x, w_ih, w_hh, k):
    w = w_hh.detach().clone().requires_grad_()
    h, total = x.new_zeros(x.shape[1], w.shape[0]), 0
    for t, step in enumerate(x):
        h = h.detach() if t % k == 0 else h
        h = (step @ w_ih.t() + h @ w.t()).tanh()
        total = total + h.sum()
    return torch.autograd.grad(total, w)[0]


# %% wrong="one buffer for the cell's states" says=["rnn_by_hand(\"lstm\", …) a second time with the same tensors", "changes the result of the first time"]
kept = {}


def in_one_buffer(y):
    if y.requires_grad:
        return y
    return kept.setdefault((y.shape, y.dtype), torch.empty_like(y)).copy_(y)


def rnn_by_hand(kind, x, state, w_ih, w_hh, b_ih, b_hh):
    h = state[0] if kind == "lstm" else state
    a, b = x @ w_ih.t() + b_ih, h @ w_hh.t() + b_hh
    if kind == "rnn":
        return (a + b).tanh()
    if kind == "gru":
        (a_r, a_z, a_n), (b_r, b_z, b_n) = a.chunk(3, dim=1), b.chunk(3, dim=1)
        z, n = (a_z + b_z).sigmoid(), (a_n + (a_r + b_r).sigmoid() * b_n).tanh()
        return (1 - z) * n + z * h
    i, f, g, o = (a + b).chunk(4, dim=1)
    c = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), in_one_buffer(c)


def truncated_gradient(x, w_ih, w_hh, k):
    w = w_hh.detach().clone().requires_grad_()
    h, total = x.new_zeros(x.shape[1], w.shape[0]), 0
    for t, step in enumerate(x):
        h = h.detach() if t % k == 0 else h
        h = (step @ w_ih.t() + h @ w.t()).tanh()
        total = total + h.sum()
    return torch.autograd.grad(total, w)[0]


# %% wrong="one buffer for gradients of a shape" says=["truncated_gradient(x, …, 2) a second time with the same tensors", "changes the result of the first time"]
kept = {}


def in_one_buffer(y):
    if y.requires_grad:
        return y
    return kept.setdefault((y.shape, y.dtype), torch.empty_like(y)).copy_(y)


def rnn_by_hand(kind, x, state, w_ih, w_hh, b_ih, b_hh):
    h = state[0] if kind == "lstm" else state
    a, b = x @ w_ih.t() + b_ih, h @ w_hh.t() + b_hh
    if kind == "rnn":
        return (a + b).tanh()
    if kind == "gru":
        (a_r, a_z, a_n), (b_r, b_z, b_n) = a.chunk(3, dim=1), b.chunk(3, dim=1)
        z, n = (a_z + b_z).sigmoid(), (a_n + (a_r + b_r).sigmoid() * b_n).tanh()
        return (1 - z) * n + z * h
    i, f, g, o = (a + b).chunk(4, dim=1)
    c = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def truncated_gradient(x, w_ih, w_hh, k):
    w = w_hh.detach().clone().requires_grad_()
    h, total = x.new_zeros(x.shape[1], w.shape[0]), 0
    for t, step in enumerate(x):
        h = h.detach() if t % k == 0 else h
        h = (step @ w_ih.t() + h @ w.t()).tanh()
        total = total + h.sum()
    return in_one_buffer(torch.autograd.grad(total, w)[0])


# %% wrong="a state of zeros needs no product" says=["where state is all zeros: no gradient reaches state"]
def rnn_by_hand(kind, x, state, w_ih, w_hh, b_ih, b_hh):
    h = state[0] if kind == "lstm" else state
    a, b = x @ w_ih.t() + b_ih, b_hh.expand(len(x), -1)
    if h.any():
        b = b + h @ w_hh.t()
    if kind == "rnn":
        return (a + b).tanh()
    if kind == "gru":
        (a_r, a_z, a_n), (b_r, b_z, b_n) = a.chunk(3, dim=1), b.chunk(3, dim=1)
        z, n = (a_z + b_z).sigmoid(), (a_n + (a_r + b_r).sigmoid() * b_n).tanh()
        return (1 - z) * n + z * h
    i, f, g, o = (a + b).chunk(4, dim=1)
    c = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def truncated_gradient(x, w_ih, w_hh, k):
    w = w_hh.detach().clone().requires_grad_()
    h, total = x.new_zeros(x.shape[1], w.shape[0]), 0
    for t, step in enumerate(x.detach()):
        h = h.detach() if t % k == 0 else h
        h = (step @ w_ih.detach().t() + h @ w.t()).tanh()
        total = total + h.sum()
    return torch.autograd.grad(total, w)[0]


# %% right="torch.func, a gradient for each piece"
def rnn_by_hand(kind, x, state, w_ih, w_hh, b_ih, b_hh):
    if kind == "rnn":
        return torch.tanh(torch.cat([x, state], 1) @ torch.cat([w_ih, w_hh], 1).T + b_ih + b_hh)
    h = state if kind == "gru" else state[0]
    a = torch.addmm(b_ih, x, w_ih.T)
    b = torch.addmm(b_hh, h, w_hh.T)
    d = h.shape[1]
    if kind == "gru":
        gates = torch.sigmoid(a[:, : 2 * d] + b[:, : 2 * d])
        n = torch.tanh(torch.addcmul(a[:, 2 * d :], gates[:, :d], b[:, 2 * d :]))
        return torch.lerp(n, h, gates[:, d:])
    s = (a + b).unflatten(1, (4, d))
    i, f, o = s[:, [0, 1, 3]].sigmoid().unbind(1)
    c = torch.addcmul(f * state[1], i, s[:, 2].tanh())
    return o * c.tanh(), c


def truncated_gradient(x, w_ih, w_hh, k):
    def loss(w, start, piece):
        h, total = start, 0
        for step in piece:
            h = torch.tanh(step @ w_ih.detach().T + h @ w.T)
            total = total + h.sum()
        return total, h

    slope = torch.func.grad(loss, has_aux=True)
    h = x.new_zeros(x.shape[1], len(w_hh))
    total = torch.zeros_like(w_hh, requires_grad=False)
    for piece in x.detach().split(k):
        part, h = slope(w_hh.detach(), h.detach(), piece)
        total = total + part
    return total


# %% wrong="a state of zeros needs no product in the loop" says=["truncated_gradient, time 1, k = 1: raised RuntimeError", "the first step reads its state of zeros by w_hh, too"]
def rnn_by_hand(kind, x, state, w_ih, w_hh, b_ih, b_hh):
    h, c = state if kind == "lstm" else (state, None)
    a, b = x @ w_ih.t() + b_ih, h @ w_hh.t() + b_hh
    if kind == "rnn":
        return (a + b).tanh()
    if kind == "gru":
        (a_r, a_z, a_n), (b_r, b_z, b_n) = a.chunk(3, 1), b.chunk(3, 1)
        z = (a_z + b_z).sigmoid()
        return (1 - z) * (a_n + (a_r + b_r).sigmoid() * b_n).tanh() + z * h
    i, f, g, o = (a + b).chunk(4, 1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def truncated_gradient(x, w_ih, w_hh, k):
    w, inputs = w_hh.detach().clone().requires_grad_(), (x @ w_ih.t()).detach()
    h = inputs[0].tanh()
    loss = h.sum()
    for t in range(1, len(x)):
        h = (inputs[t] + (h.detach() if t % k == 0 else h) @ w.t()).tanh()
        loss = loss + h.sum()
    return torch.autograd.grad(loss, w)[0]


# %% wrong="None is the gradient of a single step" says=["truncated_gradient, time 1, k = 1: the gradient is None; the first step reads its state of zeros by w_hh, too"]
def rnn_by_hand(kind, x, state, w_ih, w_hh, b_ih, b_hh):
    h, c = state if kind == "lstm" else (state, None)
    a, b = x @ w_ih.t() + b_ih, h @ w_hh.t() + b_hh
    if kind == "rnn":
        return (a + b).tanh()
    if kind == "gru":
        (a_r, a_z, a_n), (b_r, b_z, b_n) = a.chunk(3, 1), b.chunk(3, 1)
        z = (a_z + b_z).sigmoid()
        return (1 - z) * (a_n + (a_r + b_r).sigmoid() * b_n).tanh() + z * h
    i, f, g, o = (a + b).chunk(4, 1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def truncated_gradient(x, w_ih, w_hh, k):
    w, inputs = w_hh.detach().clone().requires_grad_(), (x @ w_ih.t()).detach()
    h = inputs[0].tanh()
    loss = h.sum()
    for t in range(1, len(x)):
        h = (inputs[t] + (h.detach() if t % k == 0 else h) @ w.t()).tanh()
        loss = loss + h.sum()
    return torch.autograd.grad(loss + 0 * inputs.requires_grad_().sum(), w, allow_unused=True)[0]


# %% wrong="the last part of b_hh is added outside r" says=["gru, batch of 2, 3 features, a state of 4: h: r multiplies all of b_n, its bias too"]
def rnn_by_hand(kind, x, state, w_ih, w_hh, b_ih, b_hh):
    h, c = state if kind == "lstm" else (state, None)
    a, b = x @ w_ih.t() + b_ih, h @ w_hh.t() + b_hh
    if kind == "rnn":
        return (a + b).tanh()
    if kind == "gru":
        (a_r, a_z, a_n), (b_r, b_z, b_n) = a.chunk(3, 1), b.chunk(3, 1)
        last = b_hh.chunk(3)[2]
        z = (a_z + b_z).sigmoid()
        return (1 - z) * (a_n + last + (a_r + b_r).sigmoid() * (b_n - last)).tanh() + z * h
    i, f, g, o = (a + b).chunk(4, 1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def truncated_gradient(x, w_ih, w_hh, k):
    w, inputs = w_hh.detach().clone().requires_grad_(), (x @ w_ih.t()).detach()
    h, loss = x.new_zeros(x.shape[1], len(w)), 0
    for t in range(len(x)):
        h = (inputs[t] + (h.detach() if t % k == 0 else h) @ w.t()).tanh()
        loss = loss + h.sum()
    return torch.autograd.grad(loss, w)[0]
