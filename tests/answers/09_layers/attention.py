# %% [markdown]
# Rules:
#
# - "boolean (`True`: may look)"
# - "floating (added to the scaled scores)"
# - "any that broadcasts to (…, T, S)"
# - "query i sees keys 0 to i"
# - "a mask may come on top of that"
# - "T and S may differ"
# - "A query that sees nothing, for whichever reason, gets zeros"
# - "its gradients hold no NaN"
# - "Large scores must not overflow in the softmax"
# - "in any order"
# - "`True` where a word is a pad"
# - "which no query may see"
# - "Leave the dict as it is"
# - "Not allowed: `F.scaled_dot_product_attention`"
# - "and so has the result"
#
# Admits:
#
# - "boolean (`True`: may look)": a boolean mask (batch, 1, S)
# - "T and S may differ": values of 2 features, no batch, causal
# - "A query that sees nothing": a floating mask, a query that sees nothing
# - "Large scores": scores of a few thousand
# - "float16": 2 heads, float16, 2 sentences of 3 and 1 words
# - "T and S may differ": a single key, which query 1 may not see
# - "`True` where a word is a pad": the pads in front

# %% wrong="no division" says=["divide the scores by the root of d"]
def attention(q, k, v, mask=None, causal=False):
    scores = torch.einsum("...td,...sd->...ts", q, k)
    if mask is not None:
        if mask.dtype == torch.bool:
            scores = scores.masked_fill(~mask, float("-inf"))
        else:
            scores = scores + mask
    if causal:
        t, s = scores.shape[-2:]
        look = torch.arange(s, device=q.device) <= torch.arange(t, device=q.device).view(-1, 1)
        scores = scores.masked_fill(~look, float("-inf"))
    weights = scores.softmax(-1)
    weights = weights.nan_to_num(0.0)
    return weights @ v


def multi_head(x, weights, heads, padding=None):
    n, t, e = x.shape
    qkv = x @ weights["in_proj_weight"].t() + weights["in_proj_bias"]
    q, k, v = (part.view(n, t, heads, e // heads).transpose(1, 2) for part in qkv.chunk(3, -1))
    mask = None
    if padding is not None:
        mask = ~padding.view(n, 1, 1, t)
    y = attention(q, k, v, mask)
    y = y.transpose(1, 2).reshape(n, t, e)
    return y @ weights["out_proj.weight"].t() + weights["out_proj.bias"]


# %% wrong="divides by d" says=["the root of d, not d itself"]
def attention(q, k, v, mask=None, causal=False):
    scores = torch.einsum("...td,...sd->...ts", q, k) / q.shape[-1]
    if mask is not None:
        if mask.dtype == torch.bool:
            scores = scores.masked_fill(~mask, float("-inf"))
        else:
            scores = scores + mask
    if causal:
        t, s = scores.shape[-2:]
        look = torch.arange(s, device=q.device) <= torch.arange(t, device=q.device).view(-1, 1)
        scores = scores.masked_fill(~look, float("-inf"))
    weights = scores.softmax(-1)
    weights = weights.nan_to_num(0.0)
    return weights @ v


def multi_head(x, weights, heads, padding=None):
    n, t, e = x.shape
    qkv = x @ weights["in_proj_weight"].t() + weights["in_proj_bias"]
    q, k, v = (part.view(n, t, heads, e // heads).transpose(1, 2) for part in qkv.chunk(3, -1))
    mask = None
    if padding is not None:
        mask = ~padding.view(n, 1, 1, t)
    y = attention(q, k, v, mask)
    y = y.transpose(1, 2).reshape(n, t, e)
    return y @ weights["out_proj.weight"].t() + weights["out_proj.bias"]


# %% wrong="the mask says where not to look" breaks="boolean (`True`: may look)" says=["True means that a query may look"]
def attention(q, k, v, mask=None, causal=False):
    scores = torch.einsum("...td,...sd->...ts", q, k) / q.shape[-1] ** 0.5
    if mask is not None:
        if mask.dtype == torch.bool:
            scores = scores.masked_fill(mask, float("-inf"))
        else:
            scores = scores + mask
    if causal:
        t, s = scores.shape[-2:]
        look = torch.arange(s, device=q.device) <= torch.arange(t, device=q.device).view(-1, 1)
        scores = scores.masked_fill(~look, float("-inf"))
    weights = scores.softmax(-1)
    weights = weights.nan_to_num(0.0)
    return weights @ v


def multi_head(x, weights, heads, padding=None):
    n, t, e = x.shape
    qkv = x @ weights["in_proj_weight"].t() + weights["in_proj_bias"]
    q, k, v = (part.view(n, t, heads, e // heads).transpose(1, 2) for part in qkv.chunk(3, -1))
    mask = None
    if padding is not None:
        mask = padding.view(n, 1, 1, t)
    y = attention(q, k, v, mask)
    y = y.transpose(1, 2).reshape(n, t, e)
    return y @ weights["out_proj.weight"].t() + weights["out_proj.bias"]


# %% wrong="a query that sees nothing gets NaN" breaks="A query that sees nothing, for whichever reason, gets zeros" says=["a query that sees nothing got NaN (0/0)"]
def attention(q, k, v, mask=None, causal=False):
    scores = torch.einsum("...td,...sd->...ts", q, k) / q.shape[-1] ** 0.5
    if mask is not None:
        if mask.dtype == torch.bool:
            scores = scores.masked_fill(~mask, float("-inf"))
        else:
            scores = scores + mask
    if causal:
        t, s = scores.shape[-2:]
        look = torch.arange(s, device=q.device) <= torch.arange(t, device=q.device).view(-1, 1)
        scores = scores.masked_fill(~look, float("-inf"))
    weights = scores.softmax(-1)
    return weights @ v


def multi_head(x, weights, heads, padding=None):
    n, t, e = x.shape
    qkv = x @ weights["in_proj_weight"].t() + weights["in_proj_bias"]
    q, k, v = (part.view(n, t, heads, e // heads).transpose(1, 2) for part in qkv.chunk(3, -1))
    mask = None
    if padding is not None:
        mask = ~padding.view(n, 1, 1, t)
    y = attention(q, k, v, mask)
    y = y.transpose(1, 2).reshape(n, t, e)
    return y @ weights["out_proj.weight"].t() + weights["out_proj.bias"]


# %% wrong="-1e9" says=["a query that sees nothing still got a mean"]
def attention(q, k, v, mask=None, causal=False):
    scores = torch.einsum("...td,...sd->...ts", q, k) / q.shape[-1] ** 0.5
    if mask is not None:
        if mask.dtype == torch.bool:
            scores = scores.masked_fill(~mask, -1e9)
        else:
            scores = scores + mask
    if causal:
        t, s = scores.shape[-2:]
        look = torch.arange(s, device=q.device) <= torch.arange(t, device=q.device).view(-1, 1)
        scores = scores.masked_fill(~look, -1e9)
    weights = scores.softmax(-1)
    weights = weights.nan_to_num(0.0)
    return weights @ v


def multi_head(x, weights, heads, padding=None):
    n, t, e = x.shape
    qkv = x @ weights["in_proj_weight"].t() + weights["in_proj_bias"]
    q, k, v = (part.view(n, t, heads, e // heads).transpose(1, 2) for part in qkv.chunk(3, -1))
    mask = None
    if padding is not None:
        mask = ~padding.view(n, 1, 1, t)
    y = attention(q, k, v, mask)
    y = y.transpose(1, 2).reshape(n, t, e)
    return y @ weights["out_proj.weight"].t() + weights["out_proj.bias"]


# %% wrong="causal without oneself" breaks="query i sees keys 0 to i" says=["causal: the result: query i sees key i itself too"]
def attention(q, k, v, mask=None, causal=False):
    scores = torch.einsum("...td,...sd->...ts", q, k) / q.shape[-1] ** 0.5
    if mask is not None:
        if mask.dtype == torch.bool:
            scores = scores.masked_fill(~mask, float("-inf"))
        else:
            scores = scores + mask
    if causal:
        t, s = scores.shape[-2:]
        look = torch.arange(s, device=q.device) < torch.arange(t, device=q.device).view(-1, 1)
        scores = scores.masked_fill(~look, float("-inf"))
    weights = scores.softmax(-1)
    weights = weights.nan_to_num(0.0)
    return weights @ v


def multi_head(x, weights, heads, padding=None):
    n, t, e = x.shape
    qkv = x @ weights["in_proj_weight"].t() + weights["in_proj_bias"]
    q, k, v = (part.view(n, t, heads, e // heads).transpose(1, 2) for part in qkv.chunk(3, -1))
    mask = None
    if padding is not None:
        mask = ~padding.view(n, 1, 1, t)
    y = attention(q, k, v, mask)
    y = y.transpose(1, 2).reshape(n, t, e)
    return y @ weights["out_proj.weight"].t() + weights["out_proj.bias"]


# %% wrong="softmax over the queries" says=["the softmax goes over the keys, not over the queries"]
def attention(q, k, v, mask=None, causal=False):
    scores = torch.einsum("...td,...sd->...ts", q, k) / q.shape[-1] ** 0.5
    if mask is not None:
        if mask.dtype == torch.bool:
            scores = scores.masked_fill(~mask, float("-inf"))
        else:
            scores = scores + mask
    if causal:
        t, s = scores.shape[-2:]
        look = torch.arange(s, device=q.device) <= torch.arange(t, device=q.device).view(-1, 1)
        scores = scores.masked_fill(~look, float("-inf"))
    weights = scores.softmax(-2)
    weights = weights.nan_to_num(0.0)
    return weights @ v


def multi_head(x, weights, heads, padding=None):
    n, t, e = x.shape
    qkv = x @ weights["in_proj_weight"].t() + weights["in_proj_bias"]
    q, k, v = (part.view(n, t, heads, e // heads).transpose(1, 2) for part in qkv.chunk(3, -1))
    mask = None
    if padding is not None:
        mask = ~padding.view(n, 1, 1, t)
    y = attention(q, k, v, mask)
    y = y.transpose(1, 2).reshape(n, t, e)
    return y @ weights["out_proj.weight"].t() + weights["out_proj.bias"]


# %% wrong="exp by hand" breaks="Large scores must not overflow in the softmax" says=["scores of a few thousand"]
def attention(q, k, v, mask=None, causal=False):
    scores = torch.einsum("...td,...sd->...ts", q, k) / q.shape[-1] ** 0.5
    if mask is not None:
        if mask.dtype == torch.bool:
            scores = scores.masked_fill(~mask, float("-inf"))
        else:
            scores = scores + mask
    if causal:
        t, s = scores.shape[-2:]
        look = torch.arange(s, device=q.device) <= torch.arange(t, device=q.device).view(-1, 1)
        scores = scores.masked_fill(~look, float("-inf"))
    e = scores.exp()
    weights = e / e.sum(-1, keepdim=True)
    weights = weights.nan_to_num(0.0)
    return weights @ v


def multi_head(x, weights, heads, padding=None):
    n, t, e = x.shape
    qkv = x @ weights["in_proj_weight"].t() + weights["in_proj_bias"]
    q, k, v = (part.view(n, t, heads, e // heads).transpose(1, 2) for part in qkv.chunk(3, -1))
    mask = None
    if padding is not None:
        mask = ~padding.view(n, 1, 1, t)
    y = attention(q, k, v, mask)
    y = y.transpose(1, 2).reshape(n, t, e)
    return y @ weights["out_proj.weight"].t() + weights["out_proj.bias"]


# %% wrong="either causal or a mask" breaks="a mask may come on top of that" says=["causal and a mask together: the result: the mask was not obeyed"]
def attention(q, k, v, mask=None, causal=False):
    scores = torch.einsum("...td,...sd->...ts", q, k) / q.shape[-1] ** 0.5
    if mask is not None and not causal:
        if mask.dtype == torch.bool:
            scores = scores.masked_fill(~mask, float("-inf"))
        else:
            scores = scores + mask
    if causal:
        t, s = scores.shape[-2:]
        look = torch.arange(s, device=q.device) <= torch.arange(t, device=q.device).view(-1, 1)
        scores = scores.masked_fill(~look, float("-inf"))
    weights = scores.softmax(-1)
    weights = weights.nan_to_num(0.0)
    return weights @ v


def multi_head(x, weights, heads, padding=None):
    n, t, e = x.shape
    qkv = x @ weights["in_proj_weight"].t() + weights["in_proj_bias"]
    q, k, v = (part.view(n, t, heads, e // heads).transpose(1, 2) for part in qkv.chunk(3, -1))
    mask = None
    if padding is not None:
        mask = ~padding.view(n, 1, 1, t)
    y = attention(q, k, v, mask)
    y = y.transpose(1, 2).reshape(n, t, e)
    return y @ weights["out_proj.weight"].t() + weights["out_proj.bias"]


# %% wrong="takes floating masks for boolean ones" says=["a floating mask, any numbers"]
def attention(q, k, v, mask=None, causal=False):
    scores = torch.einsum("...td,...sd->...ts", q, k) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    if causal:
        t, s = scores.shape[-2:]
        look = torch.arange(s, device=q.device) <= torch.arange(t, device=q.device).view(-1, 1)
        scores = scores.masked_fill(~look, float("-inf"))
    weights = scores.softmax(-1)
    weights = weights.nan_to_num(0.0)
    return weights @ v


def multi_head(x, weights, heads, padding=None):
    n, t, e = x.shape
    qkv = x @ weights["in_proj_weight"].t() + weights["in_proj_bias"]
    q, k, v = (part.view(n, t, heads, e // heads).transpose(1, 2) for part in qkv.chunk(3, -1))
    mask = None
    if padding is not None:
        mask = ~padding.view(n, 1, 1, t)
    y = attention(q, k, v, mask)
    y = y.transpose(1, 2).reshape(n, t, e)
    return y @ weights["out_proj.weight"].t() + weights["out_proj.bias"]


# %% wrong="scales the mask as well" breaks="floating (added to the scaled scores)" says=["a floating mask is added after the division"]
def attention(q, k, v, mask=None, causal=False):
    scores = torch.einsum("...td,...sd->...ts", q, k)
    if mask is not None:
        if mask.dtype == torch.bool:
            scores = scores.masked_fill(~mask, float("-inf"))
        else:
            scores = scores + mask
    if causal:
        t, s = scores.shape[-2:]
        look = torch.arange(s, device=q.device) <= torch.arange(t, device=q.device).view(-1, 1)
        scores = scores.masked_fill(~look, float("-inf"))
    weights = (scores / q.shape[-1] ** 0.5).softmax(-1)
    weights = weights.nan_to_num(0.0)
    return weights @ v


def multi_head(x, weights, heads, padding=None):
    n, t, e = x.shape
    qkv = x @ weights["in_proj_weight"].t() + weights["in_proj_bias"]
    q, k, v = (part.view(n, t, heads, e // heads).transpose(1, 2) for part in qkv.chunk(3, -1))
    mask = None
    if padding is not None:
        mask = ~padding.view(n, 1, 1, t)
    y = attention(q, k, v, mask)
    y = y.transpose(1, 2).reshape(n, t, e)
    return y @ weights["out_proj.weight"].t() + weights["out_proj.bias"]


# %% wrong="a square causal mask" breaks="T and S may differ" says=["T and S may differ: the causal mask is (3, 6) here"]
def attention(q, k, v, mask=None, causal=False):
    scores = torch.einsum("...td,...sd->...ts", q, k) / q.shape[-1] ** 0.5
    if mask is not None:
        if mask.dtype == torch.bool:
            scores = scores.masked_fill(~mask, float("-inf"))
        else:
            scores = scores + mask
    if causal:
        t = s = scores.shape[-2]
        look = torch.arange(s, device=q.device) <= torch.arange(t, device=q.device).view(-1, 1)
        scores = scores.masked_fill(~look, float("-inf"))
    weights = scores.softmax(-1)
    weights = weights.nan_to_num(0.0)
    return weights @ v


def multi_head(x, weights, heads, padding=None):
    n, t, e = x.shape
    qkv = x @ weights["in_proj_weight"].t() + weights["in_proj_bias"]
    q, k, v = (part.view(n, t, heads, e // heads).transpose(1, 2) for part in qkv.chunk(3, -1))
    mask = None
    if padding is not None:
        mask = ~padding.view(n, 1, 1, t)
    y = attention(q, k, v, mask)
    y = y.transpose(1, 2).reshape(n, t, e)
    return y @ weights["out_proj.weight"].t() + weights["out_proj.bias"]


# %% wrong="the library" breaks="Not allowed: `F.scaled_dot_product_attention`" says=["the answer calls scaled_dot_product_attention"]
def attention(q, k, v, mask=None, causal=False):
    if causal:
        lower = torch.ones(q.shape[-2], k.shape[-2], device=q.device).tril() > 0
        if mask is None or mask.dtype == torch.bool:
            mask = lower if mask is None else lower & mask
        else:
            mask = mask.masked_fill(~lower, float("-inf"))
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def multi_head(x, weights, heads, padding=None):
    n, t, e = x.shape
    qkv = x @ weights["in_proj_weight"].t() + weights["in_proj_bias"]
    q, k, v = (part.view(n, t, heads, e // heads).transpose(1, 2) for part in qkv.chunk(3, -1))
    mask = None
    if padding is not None:
        mask = ~padding.view(n, 1, 1, t)
    y = attention(q, k, v, mask)
    y = y.transpose(1, 2).reshape(n, t, e)
    return y @ weights["out_proj.weight"].t() + weights["out_proj.bias"]


# %% wrong="padding the other way round" breaks="`True` where a word is a pad" says=["True means pad here: ignore this key"]
def attention(q, k, v, mask=None, causal=False):
    scores = torch.einsum("...td,...sd->...ts", q, k) / q.shape[-1] ** 0.5
    if mask is not None:
        if mask.dtype == torch.bool:
            scores = scores.masked_fill(~mask, float("-inf"))
        else:
            scores = scores + mask
    if causal:
        t, s = scores.shape[-2:]
        look = torch.arange(s, device=q.device) <= torch.arange(t, device=q.device).view(-1, 1)
        scores = scores.masked_fill(~look, float("-inf"))
    weights = scores.softmax(-1)
    weights = weights.nan_to_num(0.0)
    return weights @ v


def multi_head(x, weights, heads, padding=None):
    n, t, e = x.shape
    qkv = x @ weights["in_proj_weight"].t() + weights["in_proj_bias"]
    q, k, v = (part.view(n, t, heads, e // heads).transpose(1, 2) for part in qkv.chunk(3, -1))
    mask = None
    if padding is not None:
        mask = padding.view(n, 1, 1, t)
    y = attention(q, k, v, mask)
    y = y.transpose(1, 2).reshape(n, t, e)
    return y @ weights["out_proj.weight"].t() + weights["out_proj.bias"]


# %% wrong="heads by a bare reshape" says=["this reshape mixes words"]
def attention(q, k, v, mask=None, causal=False):
    scores = torch.einsum("...td,...sd->...ts", q, k) / q.shape[-1] ** 0.5
    if mask is not None:
        if mask.dtype == torch.bool:
            scores = scores.masked_fill(~mask, float("-inf"))
        else:
            scores = scores + mask
    if causal:
        t, s = scores.shape[-2:]
        look = torch.arange(s, device=q.device) <= torch.arange(t, device=q.device).view(-1, 1)
        scores = scores.masked_fill(~look, float("-inf"))
    weights = scores.softmax(-1)
    weights = weights.nan_to_num(0.0)
    return weights @ v


def multi_head(x, weights, heads, padding=None):
    n, t, e = x.shape
    qkv = x @ weights["in_proj_weight"].t() + weights["in_proj_bias"]
    q, k, v = (part.reshape(n, heads, t, e // heads) for part in qkv.chunk(3, -1))
    mask = None
    if padding is not None:
        mask = ~padding.view(n, 1, 1, t)
    y = attention(q, k, v, mask)
    y = y.reshape(n, t, e)
    return y @ weights["out_proj.weight"].t() + weights["out_proj.bias"]


# %% wrong="heads joined without going back" says=["change places again before the heads are joined"]
def attention(q, k, v, mask=None, causal=False):
    scores = torch.einsum("...td,...sd->...ts", q, k) / q.shape[-1] ** 0.5
    if mask is not None:
        if mask.dtype == torch.bool:
            scores = scores.masked_fill(~mask, float("-inf"))
        else:
            scores = scores + mask
    if causal:
        t, s = scores.shape[-2:]
        look = torch.arange(s, device=q.device) <= torch.arange(t, device=q.device).view(-1, 1)
        scores = scores.masked_fill(~look, float("-inf"))
    weights = scores.softmax(-1)
    weights = weights.nan_to_num(0.0)
    return weights @ v


def multi_head(x, weights, heads, padding=None):
    n, t, e = x.shape
    qkv = x @ weights["in_proj_weight"].t() + weights["in_proj_bias"]
    q, k, v = (part.view(n, t, heads, e // heads).transpose(1, 2) for part in qkv.chunk(3, -1))
    mask = None
    if padding is not None:
        mask = ~padding.view(n, 1, 1, t)
    y = attention(q, k, v, mask)
    y = y.reshape(n, t, e)
    return y @ weights["out_proj.weight"].t() + weights["out_proj.bias"]


# %% wrong="no last projection" says=["the last projection is missing"]
def attention(q, k, v, mask=None, causal=False):
    scores = torch.einsum("...td,...sd->...ts", q, k) / q.shape[-1] ** 0.5
    if mask is not None:
        if mask.dtype == torch.bool:
            scores = scores.masked_fill(~mask, float("-inf"))
        else:
            scores = scores + mask
    if causal:
        t, s = scores.shape[-2:]
        look = torch.arange(s, device=q.device) <= torch.arange(t, device=q.device).view(-1, 1)
        scores = scores.masked_fill(~look, float("-inf"))
    weights = scores.softmax(-1)
    weights = weights.nan_to_num(0.0)
    return weights @ v


def multi_head(x, weights, heads, padding=None):
    n, t, e = x.shape
    qkv = x @ weights["in_proj_weight"].t() + weights["in_proj_bias"]
    q, k, v = (part.view(n, t, heads, e // heads).transpose(1, 2) for part in qkv.chunk(3, -1))
    mask = None
    if padding is not None:
        mask = ~padding.view(n, 1, 1, t)
    y = attention(q, k, v, mask)
    y = y.transpose(1, 2).reshape(n, t, e)
    return y


# %% wrong="fills the scores of the mask in place" says=["an argument was changed"]
def attention(q, k, v, mask=None, causal=False):
    scores = torch.einsum("...td,...sd->...ts", q, k) / q.shape[-1] ** 0.5
    if mask is not None:
        if mask.dtype == torch.bool:
            scores = scores.masked_fill(~mask, float("-inf"))
        else:
            scores = (
                mask.add_(scores)
                if mask.shape == scores.shape[-2:] and scores.dim() == 2
                else scores + mask
            )
            mask *= 0
    if causal:
        t, s = scores.shape[-2:]
        look = torch.arange(s, device=q.device) <= torch.arange(t, device=q.device).view(-1, 1)
        scores = scores.masked_fill(~look, float("-inf"))
    weights = scores.softmax(-1)
    weights = weights.nan_to_num(0.0)
    return weights @ v


def multi_head(x, weights, heads, padding=None):
    n, t, e = x.shape
    qkv = x @ weights["in_proj_weight"].t() + weights["in_proj_bias"]
    q, k, v = (part.view(n, t, heads, e // heads).transpose(1, 2) for part in qkv.chunk(3, -1))
    mask = None
    if padding is not None:
        mask = ~padding.view(n, 1, 1, t)
    y = attention(q, k, v, mask)
    y = y.transpose(1, 2).reshape(n, t, e)
    return y @ weights["out_proj.weight"].t() + weights["out_proj.bias"]


# %% right="einsum and where"
def attention(q, k, v, mask=None, causal=False):
    scores = torch.einsum("...td,...sd->...ts", q, k) / q.shape[-1] ** 0.5
    if mask is not None:
        if mask.dtype == torch.bool:
            scores = scores.masked_fill(~mask, float("-inf"))
        else:
            scores = scores + mask
    if causal:
        t, s = scores.shape[-2:]
        look = torch.arange(s, device=q.device) <= torch.arange(t, device=q.device).view(-1, 1)
        scores = scores.masked_fill(~look, float("-inf"))
    blind = scores.isneginf().all(-1, keepdim=True)
    weights = torch.where(blind, 0.0, scores).softmax(-1)
    return torch.where(blind, 0.0, weights) @ v


def multi_head(x, weights, heads, padding=None):
    n, t, e = x.shape
    qkv = x @ weights["in_proj_weight"].t() + weights["in_proj_bias"]
    q, k, v = (part.view(n, t, heads, e // heads).transpose(1, 2) for part in qkv.chunk(3, -1))
    mask = None
    if padding is not None:
        mask = ~padding.view(n, 1, 1, t)
    y = attention(q, k, v, mask)
    y = y.transpose(1, 2).reshape(n, t, e)
    return y @ weights["out_proj.weight"].t() + weights["out_proj.bias"]


# %% right="query by query; heads one after the other"
def attention(q, k, v, mask=None, causal=False):
    t, s = q.shape[-2], k.shape[-2]
    if mask is None:
        mask = torch.zeros((), dtype=q.dtype, device=q.device)
    if mask.dtype == torch.bool:
        mask = torch.zeros(mask.shape, dtype=q.dtype, device=q.device).masked_fill(
            mask.logical_not(), -torch.inf
        )
    mask = mask.expand(torch.broadcast_shapes(mask.shape, (t, s)))
    rows = []
    for i in range(t):
        scores = (k * q[..., i : i + 1, :]).sum(-1) * q.shape[-1] ** -0.5 + mask[..., i, :]
        seen = scores > -torch.inf
        if causal:
            seen = seen & (torch.arange(s, device=q.device) <= i)
        top = torch.where(seen, scores, torch.finfo(q.dtype).min).amax(-1, keepdim=True)
        e = torch.where(seen, (torch.where(seen, scores, top) - top).exp(), 0)
        weights = e / e.sum(-1, keepdim=True).clamp(min=torch.finfo(q.dtype).tiny)
        rows.append((weights.unsqueeze(-2) @ v).squeeze(-2))
    return torch.stack(rows, -2)


def multi_head(x, weights, heads, padding=None):
    width = x.shape[-1]
    size, answers = width // heads, []
    for head in range(heads):
        parts = []
        for which in range(3):
            rows = slice(which * width + head * size, which * width + (head + 1) * size)
            parts.append(
                F.linear(x, weights["in_proj_weight"][rows], weights["in_proj_bias"][rows])
            )
        mask = None if padding is None else padding.logical_not().unsqueeze(1)
        answers.append(attention(*parts, mask=mask))
    return F.linear(torch.cat(answers, -1), weights["out_proj.weight"], weights["out_proj.bias"])


# %% wrong="masks after the softmax without renormalising" says=["mask the scores before the softmax"]
def attention(q, k, v, mask=None, causal=False):
    s = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if mask is not None and mask.dtype != torch.bool:
        s = s + mask
    w = torch.where((s == -torch.inf).all(-1, keepdim=True), 0, s.softmax(-1))
    if causal:
        w = w.tril()
    if mask is not None and mask.dtype == torch.bool:
        w = w * mask
    return w @ v


def multi_head(x, weights, heads, padding=None):
    n, t, e = x.shape
    qkv = x @ weights["in_proj_weight"].t() + weights["in_proj_bias"]
    q, k, v = (p.view(n, t, heads, e // heads).transpose(1, 2) for p in qkv.chunk(3, -1))
    mask = None if padding is None else ~padding[:, None, None, :]
    y = attention(q, k, v, mask).transpose(1, 2).reshape(n, t, e)
    return y @ weights["out_proj.weight"].t() + weights["out_proj.bias"]


# %% wrong="causal for the last queries (aligned to the end)" says=["counted from the start"]
def attention(q, k, v, mask=None, causal=False):
    s = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if causal:
        s = s.masked_fill(
            torch.ones(s.shape[-2:], dtype=torch.bool, device=s.device).triu(
                1 + s.shape[-1] - s.shape[-2]
            ),
            -torch.inf,
        )
    if mask is not None:
        s = s.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else s + mask
    blind = (s == -torch.inf).all(-1, keepdim=True)
    return s.softmax(-1).masked_fill(blind, 0) @ v


def multi_head(x, weights, heads, padding=None):
    n, t, e = x.shape
    qkv = x @ weights["in_proj_weight"].t() + weights["in_proj_bias"]
    q, k, v = (p.view(n, t, heads, e // heads).transpose(1, 2) for p in qkv.chunk(3, -1))
    mask = None if padding is None else ~padding[:, None, None, :]
    y = attention(q, k, v, mask).transpose(1, 2).reshape(n, t, e)
    return y @ weights["out_proj.weight"].t() + weights["out_proj.bias"]


# %% wrong="scaled by the whole width" says=["the root of a head's width, not of the whole"]
def attention(q, k, v, mask=None, causal=False):
    s = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if causal:
        s = s.masked_fill(
            torch.ones(s.shape[-2:], dtype=torch.bool, device=s.device).triu(1), -torch.inf
        )
    if mask is not None:
        s = s.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else s + mask
    blind = (s == -torch.inf).all(-1, keepdim=True)
    return s.softmax(-1).masked_fill(blind, 0) @ v


def multi_head(x, weights, heads, padding=None):
    n, t, e = x.shape
    qkv = x @ weights["in_proj_weight"].t() + weights["in_proj_bias"]
    q, k, v = (p.view(n, t, heads, e // heads).transpose(1, 2) for p in qkv.chunk(3, -1))
    mask = None if padding is None else ~padding[:, None, None, :]
    y = attention(q * heads**-0.5, k, v, mask).transpose(1, 2).reshape(n, t, e)
    return y @ weights["out_proj.weight"].t() + weights["out_proj.bias"]


# %% wrong="padding masks the queries" breaks="which no query may see" says=["padding hides keys"]
def attention(q, k, v, mask=None, causal=False):
    s = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if causal:
        s = s.masked_fill(
            torch.ones(s.shape[-2:], dtype=torch.bool, device=s.device).triu(1), -torch.inf
        )
    if mask is not None:
        s = s.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else s + mask
    blind = (s == -torch.inf).all(-1, keepdim=True)
    return s.softmax(-1).masked_fill(blind, 0) @ v


def multi_head(x, weights, heads, padding=None):
    n, t, e = x.shape
    qkv = x @ weights["in_proj_weight"].t() + weights["in_proj_bias"]
    q, k, v = (p.view(n, t, heads, e // heads).transpose(1, 2) for p in qkv.chunk(3, -1))
    mask = None if padding is None else ~padding[:, None, :, None]
    y = attention(q, k, v, mask).transpose(1, 2).reshape(n, t, e)
    return y @ weights["out_proj.weight"].t() + weights["out_proj.bias"]


# %% wrong="order k q v" says=["queries first, then keys, then values"]
def attention(q, k, v, mask=None, causal=False):
    s = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if causal:
        s = s.masked_fill(
            torch.ones(s.shape[-2:], dtype=torch.bool, device=s.device).triu(1), -torch.inf
        )
    if mask is not None:
        s = s.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else s + mask
    blind = (s == -torch.inf).all(-1, keepdim=True)
    return s.softmax(-1).masked_fill(blind, 0) @ v


def multi_head(x, weights, heads, padding=None):
    n, t, e = x.shape
    qkv = x @ weights["in_proj_weight"].t() + weights["in_proj_bias"]
    k, q, v = (p.view(n, t, heads, e // heads).transpose(1, 2) for p in qkv.chunk(3, -1))
    mask = None if padding is None else ~padding[:, None, None, :]
    y = attention(q, k, v, mask).transpose(1, 2).reshape(n, t, e)
    return y @ weights["out_proj.weight"].t() + weights["out_proj.bias"]


# %% wrong="the biases forgotten" says=["in_proj_bias is missing"]
def attention(q, k, v, mask=None, causal=False):
    s = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if causal:
        s = s.masked_fill(
            torch.ones(s.shape[-2:], dtype=torch.bool, device=s.device).triu(1), -torch.inf
        )
    if mask is not None:
        s = s.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else s + mask
    blind = (s == -torch.inf).all(-1, keepdim=True)
    return s.softmax(-1).masked_fill(blind, 0) @ v


def multi_head(x, weights, heads, padding=None):
    n, t, e = x.shape
    qkv = x @ weights["in_proj_weight"].t()
    q, k, v = (p.view(n, t, heads, e // heads).transpose(1, 2) for p in qkv.chunk(3, -1))
    mask = None if padding is None else ~padding[:, None, None, :]
    y = attention(q, k, v, mask).transpose(1, 2).reshape(n, t, e)
    return y @ weights["out_proj.weight"].t() + weights["out_proj.bias"]


# %% wrong="a causal mask from a square of the keys" says=["6 queries, 3 keys, values of 2 features, no batch, causal: raised"]
def attention(q, k, v, mask=None, causal=False):
    scores = torch.einsum("...td,...sd->...ts", q, k) / q.shape[-1] ** 0.5
    if mask is not None:
        if mask.dtype == torch.bool:
            scores = scores.masked_fill(~mask, float("-inf"))
        else:
            scores = scores + mask
    if causal:
        t, s = scores.shape[-2:]
        look = torch.ones(s, s, dtype=torch.bool, device=q.device).tril()[:t]
        scores = scores.masked_fill(~look, float("-inf"))
    weights = scores.softmax(-1)
    weights = weights.nan_to_num(0.0)
    return weights @ v


def multi_head(x, weights, heads, padding=None):
    n, t, e = x.shape
    qkv = x @ weights["in_proj_weight"].t() + weights["in_proj_bias"]
    q, k, v = (part.view(n, t, heads, e // heads).transpose(1, 2) for part in qkv.chunk(3, -1))
    mask = None
    if padding is not None:
        mask = ~padding.view(n, 1, 1, t)
    y = attention(q, k, v, mask)
    y = y.transpose(1, 2).reshape(n, t, e)
    return y @ weights["out_proj.weight"].t() + weights["out_proj.bias"]


# %% wrong="a float32 mask, whatever the dtype" says=["float16, causal, a query that sees nothing"]
def attention(q, k, v, mask=None, causal=False):
    scores = torch.einsum("...td,...sd->...ts", q, k) / q.shape[-1] ** 0.5
    if mask is not None:
        if mask.dtype == torch.bool:
            scores = scores.masked_fill(~mask, float("-inf"))
        else:
            scores = scores + mask
    if causal:
        t, s = scores.shape[-2:]
        look = torch.arange(s, device=q.device) <= torch.arange(t, device=q.device).view(-1, 1)
        scores = scores + torch.zeros(look.shape, device=q.device).masked_fill(~look, -torch.inf)
    weights = scores.softmax(-1)
    weights = weights.nan_to_num(0.0)
    return weights @ v


def multi_head(x, weights, heads, padding=None):
    n, t, e = x.shape
    qkv = x @ weights["in_proj_weight"].t() + weights["in_proj_bias"]
    q, k, v = (part.view(n, t, heads, e // heads).transpose(1, 2) for part in qkv.chunk(3, -1))
    mask = None
    if padding is not None:
        mask = ~padding.view(n, 1, 1, t)
    y = attention(q, k, v, mask)
    y = y.transpose(1, 2).reshape(n, t, e)
    return y @ weights["out_proj.weight"].t() + weights["out_proj.bias"]


# %% wrong="blind rows from the mask alone" says=["causal, and a mask (S,) without key 0: query 0 sees nothing: a query that sees nothing got NaN"]
def attention(q, k, v, mask=None, causal=False):
    scores = torch.einsum("...td,...sd->...ts", q, k) / q.shape[-1] ** 0.5
    if mask is not None:
        if mask.dtype == torch.bool:
            scores = scores.masked_fill(~mask, float("-inf"))
        else:
            scores = scores + mask
    if causal:
        t, s = scores.shape[-2:]
        look = torch.arange(s, device=q.device) <= torch.arange(t, device=q.device).view(-1, 1)
        scores = scores.masked_fill(~look, float("-inf"))
    weights = scores.softmax(-1)
    if mask is not None:
        seen = mask if mask.dtype == torch.bool else mask > -torch.inf
        weights = weights.masked_fill(~seen.any(-1, keepdim=True), 0.0)
    return weights @ v


def multi_head(x, weights, heads, padding=None):
    n, t, e = x.shape
    qkv = x @ weights["in_proj_weight"].t() + weights["in_proj_bias"]
    q, k, v = (part.view(n, t, heads, e // heads).transpose(1, 2) for part in qkv.chunk(3, -1))
    mask = None
    if padding is not None:
        mask = ~padding.view(n, 1, 1, t)
    y = attention(q, k, v, mask)
    y = y.transpose(1, 2).reshape(n, t, e)
    return y @ weights["out_proj.weight"].t() + weights["out_proj.bias"]


# %% wrong="takes the weights out of the dict" breaks="Leave the dict as it is" says=["the dict weights is the caller's: in_proj_weight was taken out"]
def attention(q, k, v, mask=None, causal=False):
    scores = torch.einsum("...td,...sd->...ts", q, k) / q.shape[-1] ** 0.5
    if mask is not None:
        if mask.dtype == torch.bool:
            scores = scores.masked_fill(~mask, float("-inf"))
        else:
            scores = scores + mask
    if causal:
        t, s = scores.shape[-2:]
        look = torch.arange(s, device=q.device) <= torch.arange(t, device=q.device).view(-1, 1)
        scores = scores.masked_fill(~look, float("-inf"))
    weights = scores.softmax(-1)
    weights = weights.nan_to_num(0.0)
    return weights @ v


def multi_head(x, weights, heads, padding=None):
    n, t, e = x.shape
    qkv = x @ weights.pop("in_proj_weight").t() + weights["in_proj_bias"]
    q, k, v = (part.view(n, t, heads, e // heads).transpose(1, 2) for part in qkv.chunk(3, -1))
    mask = None
    if padding is not None:
        mask = ~padding.view(n, 1, 1, t)
    y = attention(q, k, v, mask)
    y = y.transpose(1, 2).reshape(n, t, e)
    return y @ weights["out_proj.weight"].t() + weights["out_proj.bias"]


# %% wrong="padding by -1e9" says=["float16", "a number such as -1e9 is too large for torch.float16"]
def attention(q, k, v, mask=None, causal=False):
    scores = torch.einsum("...td,...sd->...ts", q / q.shape[-1] ** 0.5, k)
    t, s = scores.shape[-2:]
    if mask is not None:
        if mask.dtype == torch.bool:
            scores = scores.masked_fill(~mask, float("-inf"))
        else:
            scores = scores + mask
    if causal:
        later = torch.arange(s) > torch.arange(t).unsqueeze(1)
        scores = scores.masked_fill(later, float("-inf"))
    blind = scores.isneginf().all(-1, keepdim=True)
    weights = torch.softmax(scores.masked_fill(blind, 0.0), -1).masked_fill(blind, 0.0)
    return weights @ v


def multi_head(x, weights, heads, padding=None):
    n, t, e = x.shape
    qkv = x @ weights["in_proj_weight"].t() + weights["in_proj_bias"]
    q, k, v = (part.reshape(n, t, heads, e // heads).transpose(1, 2) for part in qkv.chunk(3, -1))
    mask = None
    if padding is not None:
        mask = torch.zeros(n, 1, 1, t, dtype=x.dtype).masked_fill(padding[:, None, None, :], -1e9)
    y = attention(q, k, v, mask).transpose(1, 2).reshape(n, t, e)
    return y @ weights["out_proj.weight"].t() + weights["out_proj.bias"]


# %% wrong="padding in float32" breaks="and so has the result" says=["float16"]
def attention(q, k, v, mask=None, causal=False):
    scores = torch.einsum("...td,...sd->...ts", q / q.shape[-1] ** 0.5, k)
    t, s = scores.shape[-2:]
    if mask is not None:
        if mask.dtype == torch.bool:
            scores = scores.masked_fill(~mask, float("-inf"))
        else:
            scores = scores + mask
    if causal:
        later = torch.arange(s) > torch.arange(t).unsqueeze(1)
        scores = scores.masked_fill(later, float("-inf"))
    blind = scores.isneginf().all(-1, keepdim=True)
    weights = torch.softmax(scores.masked_fill(blind, 0.0), -1).masked_fill(blind, 0.0)
    return weights @ v


def multi_head(x, weights, heads, padding=None):
    n, t, e = x.shape
    qkv = x @ weights["in_proj_weight"].t() + weights["in_proj_bias"]
    q, k, v = (part.reshape(n, t, heads, e // heads).transpose(1, 2) for part in qkv.chunk(3, -1))
    mask = None
    if padding is not None:
        mask = torch.zeros(n, 1, 1, t).masked_fill(padding[:, None, None, :], float("-inf"))
    y = attention(q, k, v, mask).transpose(1, 2).reshape(n, t, e)
    return y @ weights["out_proj.weight"].t() + weights["out_proj.bias"]


# %% wrong="heads interleaved" says=["here they alternate"]
def attention(q, k, v, mask=None, causal=False):
    scores = torch.einsum("...td,...sd->...ts", q / q.shape[-1] ** 0.5, k)
    t, s = scores.shape[-2:]
    if mask is not None:
        if mask.dtype == torch.bool:
            scores = scores.masked_fill(~mask, float("-inf"))
        else:
            scores = scores + mask
    if causal:
        later = torch.arange(s) > torch.arange(t).unsqueeze(1)
        scores = scores.masked_fill(later, float("-inf"))
    blind = scores.isneginf().all(-1, keepdim=True)
    weights = torch.softmax(scores.masked_fill(blind, 0.0), -1).masked_fill(blind, 0.0)
    return weights @ v


def multi_head(x, weights, heads, padding=None):
    n, t, e = x.shape
    qkv = x @ weights["in_proj_weight"].t() + weights["in_proj_bias"]
    q, k, v = (
        part.reshape(n, t, e // heads, heads).permute(0, 3, 1, 2) for part in qkv.chunk(3, -1)
    )
    mask = None
    if padding is not None:
        mask = ~padding[:, None, None, :]
    y = attention(q, k, v, mask).transpose(1, 2).reshape(n, t, e)
    return y @ weights["out_proj.weight"].t() + weights["out_proj.bias"]


# %% wrong="mask of numbers as truth" says=["happens to hold zeros and ones"]
def attention(q, k, v, mask=None, causal=False):
    scores = torch.einsum("...td,...sd->...ts", q / q.shape[-1] ** 0.5, k)
    t, s = scores.shape[-2:]
    if mask is not None:
        if mask.dtype == torch.bool or set(mask.unique().tolist()) <= {0.0, 1.0}:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        else:
            scores = scores + mask
    if causal:
        later = torch.arange(s) > torch.arange(t).unsqueeze(1)
        scores = scores.masked_fill(later, float("-inf"))
    blind = scores.isneginf().all(-1, keepdim=True)
    weights = torch.softmax(scores.masked_fill(blind, 0.0), -1).masked_fill(blind, 0.0)
    return weights @ v


def multi_head(x, weights, heads, padding=None):
    n, t, e = x.shape
    qkv = x @ weights["in_proj_weight"].t() + weights["in_proj_bias"]
    q, k, v = (part.reshape(n, t, heads, e // heads).transpose(1, 2) for part in qkv.chunk(3, -1))
    mask = None
    if padding is not None:
        mask = ~padding[:, None, None, :]
    y = attention(q, k, v, mask).transpose(1, 2).reshape(n, t, e)
    return y @ weights["out_proj.weight"].t() + weights["out_proj.bias"]


# %% wrong="multiplies by a boolean mask" says=["a masked score is minus infinity; a score of 0 still gets a weight"]
def attention(q, k, v, mask=None, causal=False):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    T, S = scores.shape[-2:]
    if mask is not None:
        if mask.dtype == torch.bool:
            scores = scores * mask
        else:
            scores = scores + mask
    if causal:
        scores = scores.masked_fill(
            torch.ones(T, S, dtype=torch.bool, device=q.device).triu(1), -torch.inf
        )
    none = (scores == -torch.inf).all(-1, keepdim=True)
    weights = scores.masked_fill(none, 0).softmax(-1).masked_fill(none, 0)
    return weights @ v


def multi_head(x, weights, heads, padding=None):
    n, t, e = x.shape
    q, k, v = (x @ weights["in_proj_weight"].t() + weights["in_proj_bias"]).chunk(3, -1)
    q, k, v = (z.view(n, t, heads, -1).transpose(1, 2) for z in (q, k, v))
    mask = None if padding is None else ~padding.view(n, 1, 1, t)
    y = attention(q, k, v, mask).transpose(1, 2).reshape(n, t, e)
    return y @ weights["out_proj.weight"].t() + weights["out_proj.bias"]


# %% wrong="the root of the values' width" says=["the last dimension of q, not of v"]
def attention(q, k, v, mask=None, causal=False):
    scores = q @ k.transpose(-2, -1) / v.shape[-1] ** 0.5
    T, S = scores.shape[-2:]
    if mask is not None:
        if mask.dtype == torch.bool:
            scores = scores.masked_fill(~mask, -torch.inf)
        else:
            scores = scores + mask
    if causal:
        scores = scores.masked_fill(
            torch.ones(T, S, dtype=torch.bool, device=q.device).triu(1), -torch.inf
        )
    none = (scores == -torch.inf).all(-1, keepdim=True)
    weights = scores.masked_fill(none, 0).softmax(-1).masked_fill(none, 0)
    return weights @ v


def multi_head(x, weights, heads, padding=None):
    n, t, e = x.shape
    q, k, v = (x @ weights["in_proj_weight"].t() + weights["in_proj_bias"]).chunk(3, -1)
    q, k, v = (z.view(n, t, heads, -1).transpose(1, 2) for z in (q, k, v))
    mask = None if padding is None else ~padding.view(n, 1, 1, t)
    y = attention(q, k, v, mask).transpose(1, 2).reshape(n, t, e)
    return y @ weights["out_proj.weight"].t() + weights["out_proj.bias"]


# %% wrong="a bias alone where a pad looks" says=["no query may see a pad, but a pad may look"]
def attention(q, k, v, mask=None, causal=False):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    T, S = scores.shape[-2:]
    if mask is not None:
        if mask.dtype == torch.bool:
            scores = scores.masked_fill(~mask, -torch.inf)
        else:
            scores = scores + mask
    if causal:
        scores = scores.masked_fill(
            torch.ones(T, S, dtype=torch.bool, device=q.device).triu(1), -torch.inf
        )
    none = (scores == -torch.inf).all(-1, keepdim=True)
    weights = scores.masked_fill(none, 0).softmax(-1).masked_fill(none, 0)
    return weights @ v


def multi_head(x, weights, heads, padding=None):
    n, t, e = x.shape
    q, k, v = (x @ weights["in_proj_weight"].t() + weights["in_proj_bias"]).chunk(3, -1)
    q, k, v = (z.view(n, t, heads, -1).transpose(1, 2) for z in (q, k, v))
    mask = None if padding is None else ~padding.view(n, 1, 1, t)
    y = attention(q, k, v, mask).transpose(1, 2).reshape(n, t, e)
    if padding is not None:
        y = y.masked_fill(padding.unsqueeze(-1), 0)
    return y @ weights["out_proj.weight"].t() + weights["out_proj.bias"]


# %% wrong="heads that alternate, there and back" says=["here they alternate"]
def attention(q, k, v, mask=None, causal=False):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    T, S = scores.shape[-2:]
    if mask is not None:
        if mask.dtype == torch.bool:
            scores = scores.masked_fill(~mask, -torch.inf)
        else:
            scores = scores + mask
    if causal:
        scores = scores.masked_fill(
            torch.ones(T, S, dtype=torch.bool, device=q.device).triu(1), -torch.inf
        )
    none = (scores == -torch.inf).all(-1, keepdim=True)
    weights = scores.masked_fill(none, 0).softmax(-1).masked_fill(none, 0)
    return weights @ v


def multi_head(x, weights, heads, padding=None):
    n, t, e = x.shape
    q, k, v = (x @ weights["in_proj_weight"].t() + weights["in_proj_bias"]).chunk(3, -1)
    q, k, v = (z.view(n, t, -1, heads).permute(0, 3, 1, 2) for z in (q, k, v))
    mask = None if padding is None else ~padding.view(n, 1, 1, t)
    y = attention(q, k, v, mask).permute(0, 2, 3, 1).reshape(n, t, e)
    return y @ weights["out_proj.weight"].t() + weights["out_proj.bias"]


# %% wrong="out_proj not transposed" says=["out_proj.weight is (out, in): multiply by its transpose"]
def attention(q, k, v, mask=None, causal=False):
    s = q @ k.mT / q.shape[-1] ** 0.5
    T, S = s.shape[-2:]
    if mask is not None:
        if mask.dtype == torch.bool:
            s = s.masked_fill(~mask, float("-inf"))
        else:
            s = s + mask
    if causal:
        i = torch.arange(T, device=q.device)[:, None]
        j = torch.arange(S, device=q.device)
        s = s.masked_fill(j > i, float("-inf"))
    w = torch.softmax(s, -1)
    w = torch.where(torch.isnan(w), 0.0, w)
    return w @ v


def multi_head(x, weights, heads, padding=None):
    N, T, E = x.shape
    q, k, v = (x @ weights["in_proj_weight"].T + weights["in_proj_bias"]).split(E, -1)
    q, k, v = (t.view(N, T, heads, E // heads).transpose(1, 2) for t in (q, k, v))
    mask = None if padding is None else padding.logical_not()[:, None, None]
    y = attention(q, k, v, mask).transpose(1, 2).reshape(N, T, E)
    return y @ weights["out_proj.weight"] + weights["out_proj.bias"]


# %% wrong="the largest score of all is taken off" says=["scores of a few thousand", "does the exponential of a large score overflow?"]
def attention(q, k, v, mask=None, causal=False):
    s = q @ k.mT / q.shape[-1] ** 0.5
    T, S = s.shape[-2:]
    if mask is not None:
        s = s.masked_fill(~mask, float("-inf")) if mask.dtype == torch.bool else s + mask
    if causal:
        s = s.masked_fill(
            torch.ones(T, S, dtype=torch.bool, device=q.device).triu(1), float("-inf")
        )
    e = (s - s.max()).exp()
    w = e / e.sum(-1, keepdim=True)
    return torch.nan_to_num(w) @ v


def multi_head(x, weights, heads, padding=None):
    N, T, E = x.shape
    q, k, v = (x @ weights["in_proj_weight"].T + weights["in_proj_bias"]).split(E, -1)
    q, k, v = (t.view(N, T, heads, E // heads).transpose(1, 2) for t in (q, k, v))
    mask = None if padding is None else padding.logical_not()[:, None, None]
    y = attention(q, k, v, mask).transpose(1, 2).reshape(N, T, E)
    return y @ weights["out_proj.weight"].T + weights["out_proj.bias"]


# %% wrong="weights by their place in the dict" breaks="in any order" says=["a pad: raised RuntimeError", "the dict's entries come in any order: look each up by its name"]
def attention(q, k, v, mask=None, causal=False):
    s = q @ k.mT / q.shape[-1] ** 0.5
    T, S = s.shape[-2:]
    if mask is not None:
        s = s.masked_fill(~mask, float("-inf")) if mask.dtype == torch.bool else s + mask
    if causal:
        s = s.masked_fill(
            torch.ones(T, S, dtype=torch.bool, device=q.device).triu(1), float("-inf")
        )
    return torch.nan_to_num(torch.softmax(s, -1)) @ v


def multi_head(x, weights, heads, padding=None):
    N, T, E = x.shape
    iw, ib, ow, ob = weights.values()
    q, k, v = (x @ iw.T + ib).split(E, -1)
    q, k, v = (t.view(N, T, heads, E // heads).transpose(1, 2) for t in (q, k, v))
    mask = None if padding is None else padding.logical_not()[:, None, None]
    y = attention(q, k, v, mask).transpose(1, 2).reshape(N, T, E)
    return y @ ow.T + ob


# %% wrong="turns the mask in place" says=["a boolean mask (batch, 1, S): an argument was changed"]
def attention(q, k, v, mask=None, causal=False):
    s = q @ k.mT / q.shape[-1] ** 0.5
    T, S = s.shape[-2:]
    if mask is not None:
        s = (
            s.masked_fill(mask.logical_not_(), float("-inf"))
            if mask.dtype == torch.bool
            else s + mask
        )
    if causal:
        s = s.masked_fill(
            torch.ones(T, S, dtype=torch.bool, device=q.device).triu(1), float("-inf")
        )
    return torch.nan_to_num(torch.softmax(s, -1)) @ v


def multi_head(x, weights, heads, padding=None):
    N, T, E = x.shape
    q, k, v = (x @ weights["in_proj_weight"].T + weights["in_proj_bias"]).split(E, -1)
    q, k, v = (t.view(N, T, heads, E // heads).transpose(1, 2) for t in (q, k, v))
    mask = None if padding is None else padding.logical_not()[:, None, None]
    y = attention(q, k, v, mask).transpose(1, 2).reshape(N, T, E)
    return y @ weights["out_proj.weight"].T + weights["out_proj.bias"]


# %% right="exp with finite guards, heads by einsum"
def attention(q, k, v, mask=None, causal=False):
    s = torch.einsum("...td,...sd->...ts", q * q.shape[-1] ** -0.5, k)
    T, S = s.shape[-2:]
    bias = torch.zeros((), dtype=s.dtype, device=s.device)
    if mask is not None:
        bias = torch.where(mask, 0.0, -torch.inf).to(s.dtype) if mask.dtype == torch.bool else mask
    if causal:
        j = torch.arange(S, device=s.device)
        i = torch.arange(T, device=s.device).unsqueeze(1)
        bias = bias + torch.where(i >= j, 0.0, -torch.inf).to(s.dtype)
    s = s + bias
    top = s.amax(-1, keepdim=True).clamp(min=torch.finfo(s.dtype).min)
    e = (s - top).exp()
    return (e / e.sum(-1, keepdim=True).clamp(min=torch.finfo(s.dtype).tiny)) @ v


def multi_head(x, weights, heads, padding=None):
    w = weights["in_proj_weight"].unflatten(0, (3, heads, -1))
    b = weights["in_proj_bias"].unflatten(0, (3, heads, -1))
    qkv = torch.einsum("nte,phde->pnhtd", x, w) + b[:, None, :, None]
    m = None
    if padding is not None:
        m = torch.zeros(padding.shape, dtype=x.dtype, device=x.device).masked_fill(
            padding, -torch.inf
        )[:, None, None, :]
    y = attention(*qkv, mask=m)
    o = weights["out_proj.weight"].unflatten(1, (heads, -1))
    return torch.einsum("nhtd,ehd->nte", y, o) + weights["out_proj.bias"]


# %% wrong="a causal mask kept for its T" says=["3 queries, 4 keys", "no dimension here is 6: is a causal mask kept from an earlier call?"]
_causal = {}


def attention(q, k, v, mask=None, causal=False):
    s = q @ k.mT / q.shape[-1] ** 0.5
    T, S = s.shape[-2:]
    if mask is not None:
        s = s.masked_fill(~mask, float("-inf")) if mask.dtype == torch.bool else s + mask
    if causal:
        s = s.masked_fill(
            _causal.setdefault(T, torch.ones(T, S, dtype=torch.bool, device=q.device).triu(1)),
            float("-inf"),
        )
    return torch.nan_to_num(torch.softmax(s, -1)) @ v


def multi_head(x, weights, heads, padding=None):
    N, T, E = x.shape
    q, k, v = (x @ weights["in_proj_weight"].T + weights["in_proj_bias"]).split(E, -1)
    q, k, v = (t.view(N, T, heads, E // heads).transpose(1, 2) for t in (q, k, v))
    mask = None if padding is None else padding.logical_not()[:, None, None]
    y = attention(q, k, v, mask).transpose(1, 2).reshape(N, T, E)
    return y @ weights["out_proj.weight"].T + weights["out_proj.bias"]


# %% wrong="the end of a large causal mask" says=["counted from the start, however many keys there are"]
def attention(q, k, v, mask=None, causal=False):
    s = q @ k.mT / q.shape[-1] ** 0.5
    T, S = s.shape[-2:]
    if mask is not None:
        s = s.masked_fill(~mask, float("-inf")) if mask.dtype == torch.bool else s + mask
    if causal:
        s = s.masked_fill(
            torch.ones(64, 64, dtype=torch.bool, device=q.device).triu(1)[-T:, -S:], float("-inf")
        )
    return torch.nan_to_num(torch.softmax(s, -1)) @ v


def multi_head(x, weights, heads, padding=None):
    N, T, E = x.shape
    q, k, v = (x @ weights["in_proj_weight"].T + weights["in_proj_bias"]).split(E, -1)
    q, k, v = (t.view(N, T, heads, E // heads).transpose(1, 2) for t in (q, k, v))
    mask = None if padding is None else padding.logical_not()[:, None, None]
    y = attention(q, k, v, mask).transpose(1, 2).reshape(N, T, E)
    return y @ weights["out_proj.weight"].T + weights["out_proj.bias"]


# %% wrong="a large number for infinity" says=["scores below -100,000, and a boolean mask"]
def attention(q, k, v, mask=None, causal=False):
    scores = (
        (q @ k.mT).float() if False else (q / q.shape[-1] ** 0.25) @ (k / k.shape[-1] ** 0.25).mT
    )
    t, s = scores.shape[-2:]
    allowed = torch.ones(t, s, dtype=torch.bool)
    if causal:
        allowed = allowed.tril()
    if mask is not None:
        if mask.dtype == torch.bool:
            allowed = allowed & mask
        else:
            scores = scores + mask
    scores = scores.masked_fill(~allowed, -1e4)
    none = (scores <= -1e4).all(-1, keepdim=True)
    weights = scores.masked_fill(none, 0.0).softmax(-1).masked_fill(none, 0.0)
    return weights @ v


def multi_head(x, weights, heads, padding=None):
    n, t, e = x.shape
    q, k, v = (x @ weights["in_proj_weight"].mT + weights["in_proj_bias"]).chunk(3, -1)
    split = lambda z: z.reshape(n, t, heads, e // heads).transpose(1, 2)
    mask = None if padding is None else ~padding[:, None, None, :]
    y = attention(split(q), split(k), split(v), mask).transpose(1, 2).reshape(n, t, e)
    return y @ weights["out_proj.weight"].mT + weights["out_proj.bias"]


# %% wrong="a mask for each batch alone" breaks="any that broadcasts to (…, T, S)" says=["a boolean mask (batch, 1, S): raised RuntimeError", "a mask may have any shape that broadcasts to (…, T, S): here (2, 1, 5)"]
def attention(q, k, v, mask=None, causal=False):
    scores = (
        (q @ k.mT).float() if False else (q / q.shape[-1] ** 0.25) @ (k / k.shape[-1] ** 0.25).mT
    )
    t, s = scores.shape[-2:]
    allowed = torch.ones(t, s, dtype=torch.bool)
    if causal:
        allowed = allowed.tril()
    if mask is not None:
        if mask.dtype == torch.bool:
            allowed = allowed & mask.expand(t, s)
        else:
            scores = scores + mask
    scores = scores.masked_fill(~allowed, -torch.inf)
    none = (scores == -torch.inf).all(-1, keepdim=True)
    weights = scores.masked_fill(none, 0.0).softmax(-1).masked_fill(none, 0.0)
    return weights @ v


def multi_head(x, weights, heads, padding=None):
    n, t, e = x.shape
    q, k, v = (x @ weights["in_proj_weight"].mT + weights["in_proj_bias"]).chunk(3, -1)
    split = lambda z: z.reshape(n, t, heads, e // heads).transpose(1, 2)
    mask = None if padding is None else ~padding[:, None, None, :]
    y = attention(split(q), split(k), split(v), mask).transpose(1, 2).reshape(n, t, e)
    return y @ weights["out_proj.weight"].mT + weights["out_proj.bias"]


# %% wrong="pads set to zero" says=["a pad whose features are zeros is still seen: in_proj_bias gives it a key"]
def attention(q, k, v, mask=None, causal=False):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if mask is not None:
        if mask.dtype == torch.bool:
            scores = scores.masked_fill(~mask, -torch.inf)
        else:
            scores = scores + mask
    if causal:
        t, s = scores.shape[-2:]
        future = torch.ones(t, s, dtype=torch.bool, device=q.device).triu(1)
        scores = scores.masked_fill(future, -torch.inf)
    blind = (scores == -torch.inf).all(-1, keepdim=True)
    weights = scores.masked_fill(blind, 0).softmax(-1).masked_fill(blind, 0)
    return weights @ v


def multi_head(x, weights, heads, padding=None):
    x = x if padding is None else x.masked_fill(padding.unsqueeze(-1), 0)
    qkv = x @ weights["in_proj_weight"].t() + weights["in_proj_bias"]
    q, k, v = (p.unflatten(-1, (heads, -1)).transpose(1, 2) for p in qkv.chunk(3, -1))
    mask = None
    y = attention(q, k, v, mask).transpose(1, 2).flatten(2)
    return y @ weights["out_proj.weight"].t() + weights["out_proj.bias"]


# %% wrong="each head's queries, keys and values side by side" says=["each head has its own three side by side"]
def attention(q, k, v, mask=None, causal=False):
    scores = (q / q.shape[-1] ** 0.5) @ k.transpose(-2, -1)
    if mask is not None:
        scores = (
            scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
        )
    if causal:
        future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
        scores = scores.masked_fill(future, -torch.inf)
    nothing = (scores == -torch.inf).all(-1, keepdim=True)
    weights = scores.masked_fill(nothing, 0).softmax(-1).masked_fill(nothing, 0)
    return weights @ v


def multi_head(x, weights, heads, padding=None):
    qkv = F.linear(x, weights["in_proj_weight"], weights["in_proj_bias"])
    q, k, v = qkv.unflatten(-1, (heads, 3, -1)).permute(3, 0, 2, 1, 4)
    mask = None if padding is None else ~padding[:, None, None, :]
    y = attention(q, k, v, mask).transpose(1, 2).flatten(2)
    return F.linear(y, weights["out_proj.weight"], weights["out_proj.bias"])


# %% wrong="padding lines up the sentences with the heads" says=["to all of its heads, not to head i", "without padding it runs"]
def attention(q, k, v, mask=None, causal=False):
    scores = (q / q.shape[-1] ** 0.5) @ k.transpose(-2, -1)
    if mask is not None:
        scores = (
            scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
        )
    if causal:
        future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
        scores = scores.masked_fill(future, -torch.inf)
    nothing = (scores == -torch.inf).all(-1, keepdim=True)
    weights = scores.masked_fill(nothing, 0).softmax(-1).masked_fill(nothing, 0)
    return weights @ v


def multi_head(x, weights, heads, padding=None):
    qkv = F.linear(x, weights["in_proj_weight"], weights["in_proj_bias"])
    q, k, v = (t.unflatten(-1, (heads, -1)).transpose(1, 2) for t in qkv.chunk(3, -1))
    mask = None if padding is None else ~padding[:, None, :]
    y = attention(q, k, v, mask).transpose(1, 2).flatten(2)
    return F.linear(y, weights["out_proj.weight"], weights["out_proj.bias"])


# %% wrong="a single query gets no causal mask" says=["a single query, 4 keys, causal: the result: causal was not obeyed"]
def attention(q, k, v, mask=None, causal=False):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = (
            scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
        )
    if causal and q.shape[-2] > 1:
        future = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device).triu(1)
        scores = scores.masked_fill(future, -torch.inf)
    nothing = (scores == -torch.inf).all(-1, keepdim=True)
    return scores.masked_fill(nothing, 0).softmax(-1).masked_fill(nothing, 0) @ v


def multi_head(x, weights, heads, padding=None):
    qkv = x @ weights["in_proj_weight"].t() + weights["in_proj_bias"]
    q, k, v = (part.unflatten(-1, (heads, -1)).transpose(1, 2) for part in qkv.chunk(3, dim=-1))
    mask = None if padding is None else ~padding[:, None, None, :]
    y = attention(q, k, v, mask).transpose(1, 2).flatten(2)
    return y @ weights["out_proj.weight"].t() + weights["out_proj.bias"]


# %% wrong="writes the future into a floating mask" says=["causal, and a floating mask (T, S): an argument was changed"]
def attention(q, k, v, mask=None, causal=False):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if causal and mask is not None and mask.dtype != torch.bool and mask.dim() == 2:
        mask.masked_fill_(torch.ones(mask.shape).triu(1) > 0, -torch.inf)
    if mask is not None:
        scores = (
            scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
        )
    if causal:
        future = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device).triu(1)
        scores = scores.masked_fill(future, -torch.inf)
    nothing = (scores == -torch.inf).all(-1, keepdim=True)
    return scores.masked_fill(nothing, 0).softmax(-1).masked_fill(nothing, 0) @ v


def multi_head(x, weights, heads, padding=None):
    qkv = x @ weights["in_proj_weight"].t() + weights["in_proj_bias"]
    q, k, v = (part.unflatten(-1, (heads, -1)).transpose(1, 2) for part in qkv.chunk(3, dim=-1))
    mask = None if padding is None else ~padding[:, None, None, :]
    y = attention(q, k, v, mask).transpose(1, 2).flatten(2)
    return y @ weights["out_proj.weight"].t() + weights["out_proj.bias"]


# %% wrong="counts the pads, as if they were last" says=["the pads in front: the result: pads may stand anywhere"]
def attention(q, k, v, mask=None, causal=False):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = (
            scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
        )
    if causal:
        future = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device).triu(1)
        scores = scores.masked_fill(future, -torch.inf)
    nothing = (scores == -torch.inf).all(-1, keepdim=True)
    return scores.masked_fill(nothing, 0).softmax(-1).masked_fill(nothing, 0) @ v


def multi_head(x, weights, heads, padding=None):
    qkv = x @ weights["in_proj_weight"].t() + weights["in_proj_bias"]
    q, k, v = (part.unflatten(-1, (heads, -1)).transpose(1, 2) for part in qkv.chunk(3, dim=-1))
    mask = (
        None
        if padding is None
        else (torch.arange(x.shape[1]) < (~padding).sum(1, keepdim=True))[:, None, None, :]
    )
    y = attention(q, k, v, mask).transpose(1, 2).flatten(2)
    return y @ weights["out_proj.weight"].t() + weights["out_proj.bias"]


# %% wrong="a single key is always seen" says=["a single key, which query 1 may not see: a query that sees nothing still got a mean"]
def attention(q, k, v, mask=None, causal=False):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = (
            scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
        )
    if causal:
        future = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device).triu(1)
        scores = scores.masked_fill(future, -torch.inf)
    nothing = (scores == -torch.inf).all(-1, keepdim=True)
    return (
        scores.masked_fill(nothing, 0).softmax(-1).masked_fill(nothing, 0) @ v
        if scores.shape[-1] > 1
        else v.expand(*scores.shape[:-1], v.shape[-1])
    )


def multi_head(x, weights, heads, padding=None):
    qkv = x @ weights["in_proj_weight"].t() + weights["in_proj_bias"]
    q, k, v = (part.unflatten(-1, (heads, -1)).transpose(1, 2) for part in qkv.chunk(3, dim=-1))
    mask = None if padding is None else ~padding[:, None, None, :]
    y = attention(q, k, v, mask).transpose(1, 2).flatten(2)
    return y @ weights["out_proj.weight"].t() + weights["out_proj.bias"]


# %% wrong="whatever a floating mask adds hides the key" says=["a floating mask is added, whatever its numbers"]
def attention(q, k, v, mask=None, causal=False):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = (
            scores.masked_fill(~mask, -torch.inf)
            if mask.dtype == torch.bool
            else scores.masked_fill(mask != 0, -torch.inf)
        )
    if causal:
        future = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device).triu(1)
        scores = scores.masked_fill(future, -torch.inf)
    nothing = (scores == -torch.inf).all(-1, keepdim=True)
    return scores.masked_fill(nothing, 0).softmax(-1).masked_fill(nothing, 0) @ v


def multi_head(x, weights, heads, padding=None):
    qkv = x @ weights["in_proj_weight"].t() + weights["in_proj_bias"]
    q, k, v = (part.unflatten(-1, (heads, -1)).transpose(1, 2) for part in qkv.chunk(3, dim=-1))
    mask = None if padding is None else ~padding[:, None, None, :]
    y = attention(q, k, v, mask).transpose(1, 2).flatten(2)
    return y @ weights["out_proj.weight"].t() + weights["out_proj.bias"]


# %% wrong="causal with the key behind" says=["query i sees keys 0 to i, but not the key behind that"]
def attention(q, k, v, mask=None, causal=False):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = (
            scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
        )
    if causal:
        future = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device).triu(2)
        scores = scores.masked_fill(future, -torch.inf)
    nothing = (scores == -torch.inf).all(-1, keepdim=True)
    return scores.masked_fill(nothing, 0).softmax(-1).masked_fill(nothing, 0) @ v


def multi_head(x, weights, heads, padding=None):
    qkv = x @ weights["in_proj_weight"].t() + weights["in_proj_bias"]
    q, k, v = (part.unflatten(-1, (heads, -1)).transpose(1, 2) for part in qkv.chunk(3, dim=-1))
    mask = None if padding is None else ~padding[:, None, None, :]
    y = attention(q, k, v, mask).transpose(1, 2).flatten(2)
    return y @ weights["out_proj.weight"].t() + weights["out_proj.bias"]


# %% wrong="a padding mask of the default dtype" says=["without padding it runs: is its mask torch.float16"]
def attention(q, k, v, mask=None, causal=False):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = (
            scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
        )
    if causal:
        future = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device).triu(1)
        scores = scores.masked_fill(future, -torch.inf)
    nothing = (scores == -torch.inf).all(-1, keepdim=True)
    return scores.masked_fill(nothing, 0).softmax(-1).masked_fill(nothing, 0) @ v


def multi_head(x, weights, heads, padding=None):
    qkv = x @ weights["in_proj_weight"].t() + weights["in_proj_bias"]
    q, k, v = (part.unflatten(-1, (heads, -1)).transpose(1, 2) for part in qkv.chunk(3, dim=-1))
    mask = (
        None
        if padding is None
        else torch.zeros(padding.shape).masked_fill(padding, -torch.inf)[:, None, None, :]
    )
    y = attention(q, k, v, mask).transpose(1, 2).flatten(2)
    return y @ weights["out_proj.weight"].t() + weights["out_proj.bias"]


# %% wrong="scores added into the mask" says=["a floating mask for each sentence"]
def attention(q, k, v, mask=None, causal=False):
    scores = q / q.shape[-1] ** 0.5 @ k.transpose(-2, -1)
    if mask is not None:
        if mask.dtype == torch.bool:
            scores = scores.masked_fill(~mask, -torch.inf)
        else:
            scores = mask.add_(scores) if mask.shape == scores.shape else scores + mask
    if causal:
        t, s = scores.shape[-2:]
        later = torch.ones(t, s, dtype=torch.bool, device=q.device).triu(1)
        scores = scores.masked_fill(later, -torch.inf)
    blind = (scores == -torch.inf).all(-1, keepdim=True)
    weights = scores.masked_fill(blind, 0).softmax(-1).masked_fill(blind, 0)
    return weights @ v


def multi_head(x, weights, heads, padding=None):
    n, t, e = x.shape
    qkv = x @ weights["in_proj_weight"].t() + weights["in_proj_bias"]
    q, k, v = (part.view(n, t, heads, e // heads).transpose(1, 2) for part in qkv.chunk(3, -1))
    mask = None if padding is None else ~padding[:, None, None, :]
    y = attention(q, k, v, mask).transpose(1, 2).reshape(n, t, e)
    return y @ weights["out_proj.weight"].t() + weights["out_proj.bias"]


# %% wrong="the weights without their graph" says=["attention(q, k, v, mask, True): no gradient reaches q"]
def attention(q, k, v, mask=None, causal=False):
    with torch.no_grad():
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        if mask is not None:
            off = mask.logical_not() if mask.dtype == torch.bool else None
            scores = scores + mask if off is None else scores.masked_fill(off, -torch.inf)
        if causal:
            future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
            scores = scores.masked_fill(future, -torch.inf)
        blind = (scores == -torch.inf).all(dim=-1, keepdim=True)
        weights = scores.masked_fill(blind, 0).softmax(dim=-1).masked_fill(blind, 0)
    return weights @ v


def multi_head(x, weights, heads, padding=None):
    qkv = F.linear(x, weights["in_proj_weight"], weights["in_proj_bias"])
    q, k, v = qkv.unflatten(-1, (3, heads, -1)).permute(2, 0, 3, 1, 4)
    mask = None if padding is None else ~padding[:, None, None, :]
    mixed = attention(q, k, v, mask).transpose(1, 2).flatten(2)
    return F.linear(mixed, weights["out_proj.weight"], weights["out_proj.bias"])


# %% wrong="no_grad around the heads" says=["no gradient flows back from the result of multi_head(x, weights, 2)"]
def attention(q, k, v, mask=None, causal=False):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if mask is not None:
        off = mask.logical_not() if mask.dtype == torch.bool else None
        scores = scores + mask if off is None else scores.masked_fill(off, -torch.inf)
    if causal:
        future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
        scores = scores.masked_fill(future, -torch.inf)
    blind = (scores == -torch.inf).all(dim=-1, keepdim=True)
    return scores.masked_fill(blind, 0).softmax(dim=-1).masked_fill(blind, 0) @ v


@torch.no_grad()
def multi_head(x, weights, heads, padding=None):
    qkv = F.linear(x, weights["in_proj_weight"], weights["in_proj_bias"])
    q, k, v = qkv.unflatten(-1, (3, heads, -1)).permute(2, 0, 3, 1, 4)
    mask = None if padding is None else ~padding[:, None, None, :]
    mixed = attention(q, k, v, mask).transpose(1, 2).flatten(2)
    return F.linear(mixed, weights["out_proj.weight"], weights["out_proj.bias"])


# %% wrong="nan_to_num repairs the values alone" breaks="its gradients hold no NaN" says=["where a query sees nothing: the gradient of q has a NaN where the values have none", "0/0 arose on the way"]
def attention(q, k, v, mask=None, causal=False):
    scores = torch.einsum("...td,...sd->...ts", q, k) / q.shape[-1] ** 0.5
    if mask is not None:
        if mask.dtype == torch.bool:
            scores = scores.masked_fill(~mask, float("-inf"))
        else:
            scores = scores + mask
    if causal:
        t, s = scores.shape[-2:]
        look = torch.arange(s, device=q.device) <= torch.arange(t, device=q.device).view(-1, 1)
        scores = scores.masked_fill(~look, float("-inf"))
    weights = scores.softmax(-1)
    weights = weights.nan_to_num(0.0)
    return weights @ v


def multi_head(x, weights, heads, padding=None):
    n, t, e = x.shape
    qkv = x @ weights["in_proj_weight"].t() + weights["in_proj_bias"]
    q, k, v = (part.view(n, t, heads, e // heads).transpose(1, 2) for part in qkv.chunk(3, -1))
    mask = None
    if padding is not None:
        mask = ~padding.view(n, 1, 1, t)
    y = attention(q, k, v, mask)
    y = y.transpose(1, 2).reshape(n, t, e)
    return y @ weights["out_proj.weight"].t() + weights["out_proj.bias"]


# %% wrong="one buffer for results of a shape" says=["attention(q, k, v, mask, True) a second time with the same tensors", "changes the result of the first time"]
kept = {}


def in_one_buffer(y):
    if y.requires_grad:
        return y
    return kept.setdefault((y.shape, y.dtype), torch.empty_like(y)).copy_(y)


def attention(q, k, v, mask=None, causal=False):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if mask is not None:
        off = mask.logical_not() if mask.dtype == torch.bool else None
        scores = scores + mask if off is None else scores.masked_fill(off, -torch.inf)
    if causal:
        future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
        scores = scores.masked_fill(future, -torch.inf)
    blind = (scores == -torch.inf).all(dim=-1, keepdim=True)
    return in_one_buffer(scores.masked_fill(blind, 0).softmax(dim=-1).masked_fill(blind, 0) @ v)


def multi_head(x, weights, heads, padding=None):
    qkv = F.linear(x, weights["in_proj_weight"], weights["in_proj_bias"])
    q, k, v = qkv.unflatten(-1, (3, heads, -1)).permute(2, 0, 3, 1, 4)
    mask = None if padding is None else ~padding[:, None, None, :]
    mixed = attention(q, k, v, mask).transpose(1, 2).flatten(2)
    return F.linear(mixed, weights["out_proj.weight"], weights["out_proj.bias"])


# %% wrong="one buffer for what the heads give" says=["multi_head(x, weights, 2) a second time with the same tensors", "changes the result of the first time"]
kept = {}


def in_one_buffer(y):
    if y.requires_grad:
        return y
    return kept.setdefault((y.shape, y.dtype), torch.empty_like(y)).copy_(y)


def attention(q, k, v, mask=None, causal=False):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if mask is not None:
        off = mask.logical_not() if mask.dtype == torch.bool else None
        scores = scores + mask if off is None else scores.masked_fill(off, -torch.inf)
    if causal:
        future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
        scores = scores.masked_fill(future, -torch.inf)
    blind = (scores == -torch.inf).all(dim=-1, keepdim=True)
    return scores.masked_fill(blind, 0).softmax(dim=-1).masked_fill(blind, 0) @ v


def multi_head(x, weights, heads, padding=None):
    qkv = F.linear(x, weights["in_proj_weight"], weights["in_proj_bias"])
    q, k, v = qkv.unflatten(-1, (3, heads, -1)).permute(2, 0, 3, 1, 4)
    mask = None if padding is None else ~padding[:, None, None, :]
    mixed = attention(q, k, v, mask).transpose(1, 2).flatten(2)
    return in_one_buffer(F.linear(mixed, weights["out_proj.weight"], weights["out_proj.bias"]))


# %% wrong="a causal mask of float32 for float16" says=["float16, causal", "all floating tensors are torch.float16 here: is one that you make"]
def attention(q, k, v, mask=None, causal=False):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = (
            scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
        )
    if causal:
        scores = scores + torch.full(scores.shape[-2:], -torch.inf, device=q.device).triu(1)
    empty = (scores == -torch.inf).all(-1, keepdim=True)
    weights = scores.masked_fill(empty, 0).softmax(-1).masked_fill(empty, 0)
    return weights @ v


def multi_head(x, weights, heads, padding=None):
    n, t, e = x.shape
    qkv = x @ weights["in_proj_weight"].t() + weights["in_proj_bias"]
    q, k, v = (p.reshape(n, t, heads, e // heads).transpose(1, 2) for p in qkv.chunk(3, -1))
    mask = None if padding is None else ~padding[:, None, None, :]
    y = attention(q, k, v, mask).transpose(1, 2).reshape(n, t, e)
    return y @ weights["out_proj.weight"].t() + weights["out_proj.bias"]


# %% right="logsumexp, and the heads by einsum"
def attention(q, k, v, mask=None, causal=False):
    s = torch.einsum("...td,...sd->...ts", q, k) / q.shape[-1] ** 0.5
    allowed = torch.ones(s.shape[-2:], dtype=torch.bool, device=q.device)
    if causal:
        allowed = allowed.tril()
    if mask is not None and mask.dtype == torch.bool:
        allowed = allowed & mask
    elif mask is not None:
        s = s + mask.clamp(min=torch.finfo(s.dtype).min / 4).where(mask != float("-inf"), 0.0)
        allowed = allowed & (mask != float("-inf"))
    s = s.float() if s.dtype == torch.half else s
    lost = ~allowed.any(-1, keepdim=True)
    s = torch.where(allowed | lost, s, float("-inf"))
    w = torch.exp(s - s.logsumexp(-1, keepdim=True))
    w = torch.where(lost, 0.0, w).to(v.dtype)
    return w @ v


def multi_head(x, weights, heads, padding=None):
    n, t, e = x.shape
    w = weights["in_proj_weight"].view(3, heads, e // heads, e)
    b = weights["in_proj_bias"].view(3, heads, 1, e // heads)
    q, k, v = torch.einsum("nte,zhde->znhtd", x, w) + b.unsqueeze(1)
    mask = None if padding is None else ~padding[:, None, None, :].expand(n, 1, t, t)
    y = attention(q, k, v, mask)
    o = weights["out_proj.weight"].view(e, heads, e // heads)
    return torch.einsum("nhtd,ehd->nte", y, o) + weights["out_proj.bias"]


# %% wrong="joins the causal mask to the caller's in place" says=["float16, causal, a query that sees nothing: an argument was changed"]
def attention(q, k, v, mask=None, causal=False):
    scores = (q / q.shape[-1] ** 0.5) @ k.transpose(-2, -1)
    allowed = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device)
    if mask is not None and mask.dtype != torch.bool:
        scores = scores + mask
    elif mask is not None:
        allowed = mask
    if causal:
        seen = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).tril()
        allowed = allowed.logical_and_(seen) if allowed.shape == seen.shape else allowed & seen
    scores = scores.masked_fill(~allowed, -torch.inf)
    blind = (scores == -torch.inf).all(dim=-1, keepdim=True)
    return scores.masked_fill(blind, 0.0).softmax(dim=-1).masked_fill(blind, 0.0) @ v


def multi_head(x, weights, heads, padding=None):
    qkv = F.linear(x, weights["in_proj_weight"], weights["in_proj_bias"])
    q, k, v = (part.unflatten(2, (heads, -1)).transpose(1, 2) for part in qkv.chunk(3, dim=2))
    mask = None if padding is None else ~padding[:, None, None, :]
    y = attention(q, k, v, mask).transpose(1, 2).flatten(2)
    return F.linear(y, weights["out_proj.weight"], weights["out_proj.bias"])
