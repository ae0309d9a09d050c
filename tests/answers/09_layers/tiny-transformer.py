# %% wrong="no causal mask" says=["the mask is not causal"]
def tiny_transformer(ids, weights, heads):
    n, t = ids.shape
    x = F.embedding(ids, weights["token.weight"]) + weights["place.weight"][:t]
    e = x.shape[-1]

    def norm(x, w):
        return (
            (x - x.mean(-1, keepdim=True))
            / (x.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()
            * w
        )

    torch.ones(t, t, device=ids.device).triu(1).bool()
    block = 0
    while f"encoder.layers.{block}.norm1.weight" in weights:
        w = {
            k.split(f"layers.{block}.")[1]: v for k, v in weights.items() if f"layers.{block}." in k
        }
        h = norm(x, w["norm1.weight"])
        q, k, v = (
            (h @ m.t()).view(n, t, heads, e // heads).transpose(1, 2)
            for m in w["self_attn.in_proj_weight"].chunk(3)
        )
        scores = (q @ k.transpose(2, 3)) / (e // heads) ** 0.5
        y = (scores.softmax(-1) @ v).transpose(1, 2).reshape(n, t, e)
        x = x + y @ w["self_attn.out_proj.weight"].t()
        h = norm(x, w["norm2.weight"])
        x = x + F.gelu(h @ w["linear1.weight"].t()) @ w["linear2.weight"].t()
        block += 1
    x = norm(x, weights["encoder.norm.weight"])
    return x @ weights["token.weight"].t()


# %% wrong="forgets the last norm" says=["the last norm is missing"]
def tiny_transformer(ids, weights, heads):
    n, t = ids.shape
    x = F.embedding(ids, weights["token.weight"]) + weights["place.weight"][:t]
    e = x.shape[-1]

    def norm(x, w):
        return (
            (x - x.mean(-1, keepdim=True))
            / (x.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()
            * w
        )

    future = torch.ones(t, t, device=ids.device).triu(1).bool()
    block = 0
    while f"encoder.layers.{block}.norm1.weight" in weights:
        w = {
            k.split(f"layers.{block}.")[1]: v for k, v in weights.items() if f"layers.{block}." in k
        }
        h = norm(x, w["norm1.weight"])
        q, k, v = (
            (h @ m.t()).view(n, t, heads, e // heads).transpose(1, 2)
            for m in w["self_attn.in_proj_weight"].chunk(3)
        )
        scores = (q @ k.transpose(2, 3)) / (e // heads) ** 0.5
        scores = scores.masked_fill(future, -torch.inf)
        y = (scores.softmax(-1) @ v).transpose(1, 2).reshape(n, t, e)
        x = x + y @ w["self_attn.out_proj.weight"].t()
        h = norm(x, w["norm2.weight"])
        x = x + F.gelu(h @ w["linear1.weight"].t()) @ w["linear2.weight"].t()
        block += 1
    return x @ weights["token.weight"].t()


# %% wrong="forgets the places" says=["the places are missing"]
def tiny_transformer(ids, weights, heads):
    n, t = ids.shape
    x = F.embedding(ids, weights["token.weight"])
    e = x.shape[-1]

    def norm(x, w):
        return (
            (x - x.mean(-1, keepdim=True))
            / (x.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()
            * w
        )

    future = torch.ones(t, t, device=ids.device).triu(1).bool()
    block = 0
    while f"encoder.layers.{block}.norm1.weight" in weights:
        w = {
            k.split(f"layers.{block}.")[1]: v for k, v in weights.items() if f"layers.{block}." in k
        }
        h = norm(x, w["norm1.weight"])
        q, k, v = (
            (h @ m.t()).view(n, t, heads, e // heads).transpose(1, 2)
            for m in w["self_attn.in_proj_weight"].chunk(3)
        )
        scores = (q @ k.transpose(2, 3)) / (e // heads) ** 0.5
        scores = scores.masked_fill(future, -torch.inf)
        y = (scores.softmax(-1) @ v).transpose(1, 2).reshape(n, t, e)
        x = x + y @ w["self_attn.out_proj.weight"].t()
        h = norm(x, w["norm2.weight"])
        x = x + F.gelu(h @ w["linear1.weight"].t()) @ w["linear2.weight"].t()
        block += 1
    x = norm(x, weights["encoder.norm.weight"])
    return x @ weights["token.weight"].t()


# %% wrong="relu" says=["the activation is the exact gelu, not relu"]
def tiny_transformer(ids, weights, heads):
    n, t = ids.shape
    x = F.embedding(ids, weights["token.weight"]) + weights["place.weight"][:t]
    e = x.shape[-1]

    def norm(x, w):
        return (
            (x - x.mean(-1, keepdim=True))
            / (x.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()
            * w
        )

    future = torch.ones(t, t, device=ids.device).triu(1).bool()
    block = 0
    while f"encoder.layers.{block}.norm1.weight" in weights:
        w = {
            k.split(f"layers.{block}.")[1]: v for k, v in weights.items() if f"layers.{block}." in k
        }
        h = norm(x, w["norm1.weight"])
        q, k, v = (
            (h @ m.t()).view(n, t, heads, e // heads).transpose(1, 2)
            for m in w["self_attn.in_proj_weight"].chunk(3)
        )
        scores = (q @ k.transpose(2, 3)) / (e // heads) ** 0.5
        scores = scores.masked_fill(future, -torch.inf)
        y = (scores.softmax(-1) @ v).transpose(1, 2).reshape(n, t, e)
        x = x + y @ w["self_attn.out_proj.weight"].t()
        h = norm(x, w["norm2.weight"])
        x = x + F.relu(h @ w["linear1.weight"].t()) @ w["linear2.weight"].t()
        block += 1
    x = norm(x, weights["encoder.norm.weight"])
    return x @ weights["token.weight"].t()


# %% wrong="norms behind" says=["the norms stand in front of the two steps"]
def tiny_transformer(ids, weights, heads):
    n, t = ids.shape
    x = F.embedding(ids, weights["token.weight"]) + weights["place.weight"][:t]
    e = x.shape[-1]

    def norm(x, w):
        return (
            (x - x.mean(-1, keepdim=True))
            / (x.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()
            * w
        )

    future = torch.ones(t, t, device=ids.device).triu(1).bool()
    block = 0
    while f"encoder.layers.{block}.norm1.weight" in weights:
        w = {
            k.split(f"layers.{block}.")[1]: v for k, v in weights.items() if f"layers.{block}." in k
        }
        h = x
        q, k, v = (
            (h @ m.t()).view(n, t, heads, e // heads).transpose(1, 2)
            for m in w["self_attn.in_proj_weight"].chunk(3)
        )
        scores = (q @ k.transpose(2, 3)) / (e // heads) ** 0.5
        scores = scores.masked_fill(future, -torch.inf)
        y = (scores.softmax(-1) @ v).transpose(1, 2).reshape(n, t, e)
        x = h = norm(x + y @ w["self_attn.out_proj.weight"].t(), w["norm1.weight"])
        x = norm(
            x + F.gelu(h @ w["linear1.weight"].t()) @ w["linear2.weight"].t(), w["norm2.weight"]
        )
        block += 1
    x = norm(x, weights["encoder.norm.weight"])
    return x @ weights["token.weight"].t()


# %% wrong="forgets to add the input" says=["the result differs", "the loss is"]
def tiny_transformer(ids, weights, heads):
    n, t = ids.shape
    x = F.embedding(ids, weights["token.weight"]) + weights["place.weight"][:t]
    e = x.shape[-1]

    def norm(x, w):
        return (
            (x - x.mean(-1, keepdim=True))
            / (x.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()
            * w
        )

    future = torch.ones(t, t, device=ids.device).triu(1).bool()
    block = 0
    while f"encoder.layers.{block}.norm1.weight" in weights:
        w = {
            k.split(f"layers.{block}.")[1]: v for k, v in weights.items() if f"layers.{block}." in k
        }
        h = norm(x, w["norm1.weight"])
        q, k, v = (
            (h @ m.t()).view(n, t, heads, e // heads).transpose(1, 2)
            for m in w["self_attn.in_proj_weight"].chunk(3)
        )
        scores = (q @ k.transpose(2, 3)) / (e // heads) ** 0.5
        scores = scores.masked_fill(future, -torch.inf)
        y = (scores.softmax(-1) @ v).transpose(1, 2).reshape(n, t, e)
        x = y @ w["self_attn.out_proj.weight"].t()
        h = norm(x, w["norm2.weight"])
        x = F.gelu(h @ w["linear1.weight"].t()) @ w["linear2.weight"].t()
        block += 1
    x = norm(x, weights["encoder.norm.weight"])
    return x @ weights["token.weight"].t()


# %% wrong="divides by the root of the whole width" says=["the root of a head's width, not of the whole"]
def tiny_transformer(ids, weights, heads):
    n, t = ids.shape
    x = F.embedding(ids, weights["token.weight"]) + weights["place.weight"][:t]
    e = x.shape[-1]

    def norm(x, w):
        return (
            (x - x.mean(-1, keepdim=True))
            / (x.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()
            * w
        )

    future = torch.ones(t, t, device=ids.device).triu(1).bool()
    block = 0
    while f"encoder.layers.{block}.norm1.weight" in weights:
        w = {
            k.split(f"layers.{block}.")[1]: v for k, v in weights.items() if f"layers.{block}." in k
        }
        h = norm(x, w["norm1.weight"])
        q, k, v = (
            (h @ m.t()).view(n, t, heads, e // heads).transpose(1, 2)
            for m in w["self_attn.in_proj_weight"].chunk(3)
        )
        scores = (q @ k.transpose(2, 3)) / e**0.5
        scores = scores.masked_fill(future, -torch.inf)
        y = (scores.softmax(-1) @ v).transpose(1, 2).reshape(n, t, e)
        x = x + y @ w["self_attn.out_proj.weight"].t()
        h = norm(x, w["norm2.weight"])
        x = x + F.gelu(h @ w["linear1.weight"].t()) @ w["linear2.weight"].t()
        block += 1
    x = norm(x, weights["encoder.norm.weight"])
    return x @ weights["token.weight"].t()


# %% wrong="one block only" says=["only 1 of the blocks ran"]
def tiny_transformer(ids, weights, heads):
    n, t = ids.shape
    x = F.embedding(ids, weights["token.weight"]) + weights["place.weight"][:t]
    e = x.shape[-1]

    def norm(x, w):
        return (
            (x - x.mean(-1, keepdim=True))
            / (x.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()
            * w
        )

    future = torch.ones(t, t, device=ids.device).triu(1).bool()
    block = 0
    while block < 1:
        w = {
            k.split(f"layers.{block}.")[1]: v for k, v in weights.items() if f"layers.{block}." in k
        }
        h = norm(x, w["norm1.weight"])
        q, k, v = (
            (h @ m.t()).view(n, t, heads, e // heads).transpose(1, 2)
            for m in w["self_attn.in_proj_weight"].chunk(3)
        )
        scores = (q @ k.transpose(2, 3)) / (e // heads) ** 0.5
        scores = scores.masked_fill(future, -torch.inf)
        y = (scores.softmax(-1) @ v).transpose(1, 2).reshape(n, t, e)
        x = x + y @ w["self_attn.out_proj.weight"].t()
        h = norm(x, w["norm2.weight"])
        x = x + F.gelu(h @ w["linear1.weight"].t()) @ w["linear2.weight"].t()
        block += 1
    x = norm(x, weights["encoder.norm.weight"])
    return x @ weights["token.weight"].t()


# %% wrong="no graph" says=["no gradient flows from the scores to the weights"]
@torch.no_grad()
def tiny_transformer(ids, weights, heads):
    n, t = ids.shape
    x = F.embedding(ids, weights["token.weight"]) + weights["place.weight"][:t]
    e = x.shape[-1]

    def norm(x, w):
        return (
            (x - x.mean(-1, keepdim=True))
            / (x.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()
            * w
        )

    future = torch.ones(t, t, device=ids.device).triu(1).bool()
    block = 0
    while f"encoder.layers.{block}.norm1.weight" in weights:
        w = {
            k.split(f"layers.{block}.")[1]: v for k, v in weights.items() if f"layers.{block}." in k
        }
        h = norm(x, w["norm1.weight"])
        q, k, v = (
            (h @ m.t()).view(n, t, heads, e // heads).transpose(1, 2)
            for m in w["self_attn.in_proj_weight"].chunk(3)
        )
        scores = (q @ k.transpose(2, 3)) / (e // heads) ** 0.5
        scores = scores.masked_fill(future, -torch.inf)
        y = (scores.softmax(-1) @ v).transpose(1, 2).reshape(n, t, e)
        x = x + y @ w["self_attn.out_proj.weight"].t()
        h = norm(x, w["norm2.weight"])
        x = x + F.gelu(h @ w["linear1.weight"].t()) @ w["linear2.weight"].t()
        block += 1
    x = norm(x, weights["encoder.norm.weight"])
    return x @ weights["token.weight"].t()


# %% wrong="probabilities instead of scores" says=["without softmax"]
def tiny_transformer(ids, weights, heads):
    n, t = ids.shape
    x = F.embedding(ids, weights["token.weight"]) + weights["place.weight"][:t]
    e = x.shape[-1]

    def norm(x, w):
        return (
            (x - x.mean(-1, keepdim=True))
            / (x.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()
            * w
        )

    future = torch.ones(t, t, device=ids.device).triu(1).bool()
    block = 0
    while f"encoder.layers.{block}.norm1.weight" in weights:
        w = {
            k.split(f"layers.{block}.")[1]: v for k, v in weights.items() if f"layers.{block}." in k
        }
        h = norm(x, w["norm1.weight"])
        q, k, v = (
            (h @ m.t()).view(n, t, heads, e // heads).transpose(1, 2)
            for m in w["self_attn.in_proj_weight"].chunk(3)
        )
        scores = (q @ k.transpose(2, 3)) / (e // heads) ** 0.5
        scores = scores.masked_fill(future, -torch.inf)
        y = (scores.softmax(-1) @ v).transpose(1, 2).reshape(n, t, e)
        x = x + y @ w["self_attn.out_proj.weight"].t()
        h = norm(x, w["norm2.weight"])
        x = x + F.gelu(h @ w["linear1.weight"].t()) @ w["linear2.weight"].t()
        block += 1
    x = norm(x, weights["encoder.norm.weight"])
    return (x @ weights["token.weight"].t()).softmax(-1)


# %% right="all by hand"
def tiny_transformer(ids, weights, heads):
    n, t = ids.shape
    x = F.embedding(ids, weights["token.weight"]) + weights["place.weight"][:t]
    e = x.shape[-1]

    def norm(x, w):
        return (
            (x - x.mean(-1, keepdim=True))
            / (x.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()
            * w
        )

    future = torch.ones(t, t, device=ids.device).triu(1).bool()
    block = 0
    while f"encoder.layers.{block}.norm1.weight" in weights:
        w = {
            k.split(f"layers.{block}.")[1]: v for k, v in weights.items() if f"layers.{block}." in k
        }
        h = norm(x, w["norm1.weight"])
        q, k, v = (
            (h @ m.t()).view(n, t, heads, e // heads).transpose(1, 2)
            for m in w["self_attn.in_proj_weight"].chunk(3)
        )
        scores = (q @ k.transpose(2, 3)) / (e // heads) ** 0.5
        scores = scores.masked_fill(future, -torch.inf)
        y = (scores.softmax(-1) @ v).transpose(1, 2).reshape(n, t, e)
        x = x + y @ w["self_attn.out_proj.weight"].t()
        h = norm(x, w["norm2.weight"])
        x = x + F.gelu(h @ w["linear1.weight"].t()) @ w["linear2.weight"].t()
        block += 1
    x = norm(x, weights["encoder.norm.weight"])
    return x @ weights["token.weight"].t()


# %% right="PyTorch's module, called with these weights"
def tiny_transformer(ids, weights, heads):
    width, layers = weights["token.weight"].shape[1], sum("linear1" in name for name in weights)
    block = nn.TransformerEncoderLayer(
        width,
        heads,
        4 * width,
        0.0,
        "gelu",
        batch_first=True,
        norm_first=True,
        bias=False,
        device=ids.device,
    )
    norm = nn.LayerNorm(width, bias=False, device=ids.device)
    encoder = nn.TransformerEncoder(block, layers, norm, enable_nested_tensor=False)
    mine = {k.removeprefix("encoder."): v for k, v in weights.items() if k.startswith("encoder.")}
    x = weights["token.weight"][ids] + weights["place.weight"][: ids.shape[1]]
    mask = nn.Transformer.generate_square_subsequent_mask(ids.shape[1], device=ids.device)
    x = torch.func.functional_call(encoder, mine, (x,), {"mask": mask, "is_causal": True})
    return x @ weights["token.weight"].t()


# %% wrong="a width of 32, whatever comes" says=["3 blocks, 2 heads, 24 features: raised"]
def tiny_transformer(ids, weights, heads):
    n, t = ids.shape
    x = weights["token.weight"][ids] + weights["place.weight"][:t]
    for block in range(sum("norm1" in name for name in weights)):
        w = {
            k.split(f"layers.{block}.")[1]: v for k, v in weights.items() if f"layers.{block}." in k
        }
        qkv = F.layer_norm(x, (32,), w["norm1.weight"]) @ w["self_attn.in_proj_weight"].t()
        q, k, v = (part.view(n, t, heads, 32 // heads).transpose(1, 2) for part in qkv.chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + y.transpose(1, 2).reshape(n, t, 32) @ w["self_attn.out_proj.weight"].t()
        h = F.gelu(F.layer_norm(x, (32,), w["norm2.weight"]) @ w["linear1.weight"].t())
        x = x + h @ w["linear2.weight"].t()
    return F.layer_norm(x, (32,), weights["encoder.norm.weight"]) @ weights["token.weight"].t()


# %% wrong="gelu by tanh" says=["the activation is the exact gelu, not gelu by tanh"]
def tiny_transformer(ids, weights, heads):
    n, t = ids.shape
    x = weights["token.weight"][ids] + weights["place.weight"][:t]
    e = x.shape[-1]
    for block in range(sum("norm1" in name for name in weights)):
        w = {
            k.split(f"layers.{block}.")[1]: v for k, v in weights.items() if f"layers.{block}." in k
        }
        qkv = F.layer_norm(x, (e,), w["norm1.weight"]) @ w["self_attn.in_proj_weight"].t()
        q, k, v = (part.view(n, t, heads, e // heads).transpose(1, 2) for part in qkv.chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + y.transpose(1, 2).reshape(n, t, e) @ w["self_attn.out_proj.weight"].t()
        h = F.layer_norm(x, (e,), w["norm2.weight"]) @ w["linear1.weight"].t()
        x = x + F.gelu(h, approximate="tanh") @ w["linear2.weight"].t()
    return F.layer_norm(x, (e,), weights["encoder.norm.weight"]) @ weights["token.weight"].t()


# %% wrong="two blocks hard-coded" says=["only 2 of the blocks ran"]
def tiny_transformer(ids, weights, heads):
    t = ids.shape[1]
    x = weights["token.weight"][ids] + weights["place.weight"][:t]
    width = x.shape[-1]
    for i in range(2):
        if f"encoder.layers.{i}.norm1.weight" not in weights:
            break
        w = lambda name: weights[f"encoder.layers.{i}.{name}.weight"]
        z = F.layer_norm(x, (width,), w("norm1"))
        q, k, v = (z @ weights[f"encoder.layers.{i}.self_attn.in_proj_weight"].t()).chunk(3, -1)
        q, k, v = (p.unflatten(-1, (heads, -1)).transpose(1, 2) for p in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        x = x + y @ w("self_attn.out_proj").t()
        x = x + F.gelu(F.layer_norm(x, (width,), w("norm2")) @ w("linear1").t()) @ w("linear2").t()
    x = F.layer_norm(x, (width,), weights["encoder.norm.weight"])
    return x @ weights["token.weight"].t()


# %% wrong="no residual on attention" says=["its input is added behind attention"]
def tiny_transformer(ids, weights, heads):
    t = ids.shape[1]
    x = weights["token.weight"][ids] + weights["place.weight"][:t]
    width = x.shape[-1]
    i = 0
    while f"encoder.layers.{i}.norm1.weight" in weights:
        w = lambda name: weights[f"encoder.layers.{i}.{name}.weight"]
        z = F.layer_norm(x, (width,), w("norm1"))
        q, k, v = (z @ weights[f"encoder.layers.{i}.self_attn.in_proj_weight"].t()).chunk(3, -1)
        q, k, v = (p.unflatten(-1, (heads, -1)).transpose(1, 2) for p in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        x = y @ w("self_attn.out_proj").t()
        x = x + F.gelu(F.layer_norm(x, (width,), w("norm2")) @ w("linear1").t()) @ w("linear2").t()
        i += 1
    x = F.layer_norm(x, (width,), weights["encoder.norm.weight"])
    return x @ weights["token.weight"].t()


# %% wrong="one head whatever heads says" says=["each with its own part of the features"]
def tiny_transformer(ids, weights, heads):
    t = ids.shape[1]
    x = weights["token.weight"][ids] + weights["place.weight"][:t]
    width = x.shape[-1]
    i = 0
    while f"encoder.layers.{i}.norm1.weight" in weights:
        w = lambda name: weights[f"encoder.layers.{i}.{name}.weight"]
        z = F.layer_norm(x, (width,), w("norm1"))
        q, k, v = (z @ weights[f"encoder.layers.{i}.self_attn.in_proj_weight"].t()).chunk(3, -1)
        q, k, v = (p.unflatten(-1, (1, -1)).transpose(1, 2) for p in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        x = x + y @ w("self_attn.out_proj").t()
        x = x + F.gelu(F.layer_norm(x, (width,), w("norm2")) @ w("linear1").t()) @ w("linear2").t()
        i += 1
    x = F.layer_norm(x, (width,), weights["encoder.norm.weight"])
    return x @ weights["token.weight"].t()


# %% right="functional_call on PyTorch's layers"
def tiny_transformer(ids, weights, heads):
    width = weights["token.weight"].shape[1]
    x = F.embedding(ids, weights["token.weight"]) + F.embedding(
        torch.arange(ids.shape[1], device=ids.device), weights["place.weight"]
    )
    mask = torch.full((ids.shape[1],) * 2, -torch.inf, device=ids.device).triu(1)
    names = sorted({int(n.split(".")[2]) for n in weights if n.startswith("encoder.layers.")})
    for number in names:
        prefix = f"encoder.layers.{number}."
        part = {n.removeprefix(prefix): t for n, t in weights.items() if n.startswith(prefix)}
        layer = nn.TransformerEncoderLayer(
            width,
            heads,
            part["linear1.weight"].shape[0],
            dropout=0.0,
            activation="gelu",
            batch_first=True,
            norm_first=True,
            bias=False,
            device=ids.device,
        )
        x = torch.func.functional_call(layer, part, (x,), {"src_mask": mask})
    x = F.layer_norm(x, (width,), weights["encoder.norm.weight"])
    return torch.einsum("nte,le->ntl", x, weights["token.weight"])


# %% wrong="blocks sorted as words" says=["11 blocks, 8 features: the result: the blocks run by number; sorted as words, 10 comes before 2"]
def tiny_transformer(ids, weights, heads):
    width = weights["token.weight"].shape[1]
    x = F.embedding(ids, weights["token.weight"]) + F.embedding(
        torch.arange(ids.shape[1], device=ids.device), weights["place.weight"]
    )
    mask = torch.full((ids.shape[1],) * 2, -torch.inf, device=ids.device).triu(1)
    names = sorted({n.split(".")[2] for n in weights if n.startswith("encoder.layers.")})
    for number in names:
        prefix = f"encoder.layers.{number}."
        part = {n.removeprefix(prefix): t for n, t in weights.items() if n.startswith(prefix)}
        layer = nn.TransformerEncoderLayer(
            width,
            heads,
            part["linear1.weight"].shape[0],
            dropout=0.0,
            activation="gelu",
            batch_first=True,
            norm_first=True,
            bias=False,
            device=ids.device,
        )
        x = torch.func.functional_call(layer, part, (x,), {"src_mask": mask})
    x = F.layer_norm(x, (width,), weights["encoder.norm.weight"])
    return torch.einsum("nte,le->ntl", x, weights["token.weight"])


# %% wrong="the look-up detached" says=["the look-up passes no gradient on: the table is detached there"]
def tiny_transformer(ids, weights, heads):
    width = weights["token.weight"].shape[1]
    x = F.embedding(ids, weights["token.weight"].detach()) + F.embedding(
        torch.arange(ids.shape[1], device=ids.device), weights["place.weight"]
    )
    mask = torch.full((ids.shape[1],) * 2, -torch.inf, device=ids.device).triu(1)
    names = sorted({int(n.split(".")[2]) for n in weights if n.startswith("encoder.layers.")})
    for number in names:
        prefix = f"encoder.layers.{number}."
        part = {n.removeprefix(prefix): t for n, t in weights.items() if n.startswith(prefix)}
        layer = nn.TransformerEncoderLayer(
            width,
            heads,
            part["linear1.weight"].shape[0],
            dropout=0.0,
            activation="gelu",
            batch_first=True,
            norm_first=True,
            bias=False,
            device=ids.device,
        )
        x = torch.func.functional_call(layer, part, (x,), {"src_mask": mask})
    x = F.layer_norm(x, (width,), weights["encoder.norm.weight"])
    return torch.einsum("nte,le->ntl", x, weights["token.weight"])


# %% wrong="letter 0 as padding" says=["letter 0 is no pad"]
def tiny_transformer(ids, weights, heads):
    width = weights["token.weight"].shape[1]
    x = F.embedding(ids, weights["token.weight"], padding_idx=0) + F.embedding(
        torch.arange(ids.shape[1], device=ids.device), weights["place.weight"]
    )
    mask = torch.full((ids.shape[1],) * 2, -torch.inf, device=ids.device).triu(1)
    names = sorted({int(n.split(".")[2]) for n in weights if n.startswith("encoder.layers.")})
    for number in names:
        prefix = f"encoder.layers.{number}."
        part = {n.removeprefix(prefix): t for n, t in weights.items() if n.startswith(prefix)}
        layer = nn.TransformerEncoderLayer(
            width,
            heads,
            part["linear1.weight"].shape[0],
            dropout=0.0,
            activation="gelu",
            batch_first=True,
            norm_first=True,
            bias=False,
            device=ids.device,
        )
        x = torch.func.functional_call(layer, part, (x,), {"src_mask": mask})
    x = F.layer_norm(x, (width,), weights["encoder.norm.weight"])
    return torch.einsum("nte,le->ntl", x, weights["token.weight"])


# %% wrong="heads cut without a transpose" says=["this view mixes letters"]
def tiny_transformer(ids, weights, heads):
    n, t = ids.shape
    table = weights["token.weight"]
    x = F.embedding(ids, table) + weights["place.weight"][:t]
    e = x.shape[-1]
    count = 1 + max(
        int(name.split(".")[2]) for name in weights if name.startswith("encoder.layers.")
    )
    for i in range(count):
        w = {
            k.removeprefix(f"encoder.layers.{i}."): p
            for k, p in weights.items()
            if k.startswith(f"encoder.layers.{i}.")
        }
        y = F.layer_norm(x, (e,), w["norm1.weight"], eps=1e-5)
        q, k, v = (y @ w["self_attn.in_proj_weight"].t()).chunk(3, -1)
        q, k, v = (p.reshape(n, heads, t, -1) for p in (q, k, v))
        scores = q @ k.transpose(2, 3) / (e / heads) ** 0.5
        scores = scores.masked_fill(torch.ones(t, t).triu(1).bool(), float("-inf"))
        y = (scores.softmax(-1) @ v).transpose(1, 2).reshape(n, t, e)
        x = x + y @ w["self_attn.out_proj.weight"].t()
        y = F.layer_norm(x, (e,), w["norm2.weight"], eps=1e-5)
        x = x + F.gelu(y @ w["linear1.weight"].t()) @ w["linear2.weight"].t()
    x = F.layer_norm(x, (e,), weights["encoder.norm.weight"], eps=1e-5)
    return x @ table.t()
