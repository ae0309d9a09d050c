# %% wrong="forgets the transpose" says=["a row of weight belongs to an output"]
def linear_by_hand(x, weight, bias):
    if weight.shape[0] != weight.shape[1]:
        weight = weight.t()
    y = x @ weight
    return y if bias is None else y + bias


# %% wrong="never transposes" says=["4 of 4 cases fail", "raised RuntimeError", "a row of weight belongs to an output"]
def linear_by_hand(x, weight, bias):
    y = x @ weight
    return y if bias is None else y + bias


# %% wrong="forgets the bias" says=["the bias is missing"]
def linear_by_hand(x, weight, bias):
    return x @ weight.t()


# %% wrong="a bias of None is not thought of" says=["leading dimensions (2, 5, 3), no bias: raised TypeError"]
def linear_by_hand(x, weight, bias):
    return x @ weight.t() + bias


# %% wrong="two dimensions only" says=["leading dimensions (2, 5, 3), no bias"]
def linear_by_hand(x, weight, bias):
    y = torch.mm(x.reshape(-1, x.shape[-1]), weight.t()).squeeze(0)
    return y if bias is None else y + bias


# %% wrong="the library" says=["the answer calls linear"]
def linear_by_hand(x, weight, bias):
    return F.linear(x, weight, bias)


# %% wrong="the module" says=["the answer calls linear"]
def linear_by_hand(x, weight, bias):
    layer = nn.Linear(weight.shape[1], weight.shape[0], bias is not None, device=x.device)
    with torch.no_grad():
        layer.weight.copy_(weight)
        if bias is not None:
            layer.bias.copy_(bias)
    return layer(x)


# %% wrong="adds into the bias" says=["an argument was changed"]
def linear_by_hand(x, weight, bias):
    y = x @ weight.t()
    if bias is None:
        return y
    if x.dim() == 1:
        return bias.add_(y)
    return y + bias


# %% right="a sum of products"
def linear_by_hand(x, weight, bias):
    y = (x.unsqueeze(-2) * weight).sum(-1)
    return y + (0 if bias is None else bias)


# %% right="einsum"
def linear_by_hand(x, weight, bias=None):
    y = torch.einsum("...i,oi->...o", x, weight)
    if bias is not None:
        y += bias
    return y


# %% wrong="view on a transposed input" says=["a transposed input: raised RuntimeError"]
def linear_by_hand(x, weight, bias):
    y = (x.view(-1, x.shape[-1]) @ weight.t()).view(*x.shape[:-1], -1)
    return y if bias is None else y + bias
