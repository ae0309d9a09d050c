# %% [markdown]
# Rules:
#
# - "It returns the Euclidean distances"
# - "without a product of matrices"
# - "by the identity, with one product of matrices"
# - "No storage may be larger than the largest of `x`, `y` and the result"
# - "by one call of `torch.cdist`"
# - "by its direct way, whatever the number of points"
# - "no loop"
# - "gradients flow"
# - "Points far from the origin are handled"
# - "subtract the same vector from both sets"
# - "the distance is 0, up to rounding"
# - "the gradient of that distance is 0, never NaN"
# - "n, m or d may be 0"
# - "float32 or float64"
#
# Admits:
#
# - "float32 or float64": points 2**30 away from the origin, in float64
# - "n, m or d may be 0": no x, in float32
# - "m or d may be 0": points without coordinates
# - "two points coincide": a set against itself

# %% wrong="takes the root of zero" breaks="the gradient of that distance is 0, never NaN" says=["a set against itself: the gradient by x is NaN or infinite", "what is the slope of the root at 0?"]
def pairwise_three_ways(x, y, how):
    if how == "cdist":
        return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")
    if how == "broadcast":
        return ((x[:, None] - y) ** 2).sum(-1).sqrt()
    centre = y.sum(0) / max(len(y), 1)
    x, y = x - centre, y - centre
    return ((x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * x @ y.T).clamp_min(0).sqrt()


# %% wrong="masks after the root alone" says=["the gradient by x is NaN or infinite"]
def pairwise_three_ways(x, y, how):
    if how == "cdist":
        return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")
    if how == "broadcast":
        squared = ((x[:, None] - y) ** 2).sum(-1)
    else:
        centre = y.sum(0) / max(len(y), 1)
        x, y = x - centre, y - centre
        squared = (x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * x @ y.T
    return torch.where(squared > 0, squared.sqrt(), 0)


# %% wrong="the identity without a centre" breaks="Points far from the origin are handled" says=["points far from the origin, in float32", '"gram"']
def pairwise_three_ways(x, y, how):
    if how == "cdist":
        return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")
    if how == "broadcast":
        squared = ((x[:, None] - y) ** 2).sum(-1)
    else:
        squared = (x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * x @ y.T
    zero = squared <= 0
    return squared.masked_fill(zero, 1).sqrt().masked_fill(zero, 0)


# %% wrong="cdist by default" breaks="by its direct way, whatever the number of points" says=["cdist took the Gram identity; name its compute_mode"]
def pairwise_three_ways(x, y, how):
    if how == "cdist":
        return torch.cdist(x, y)
    if how == "broadcast":
        squared = ((x[:, None] - y) ** 2).sum(-1)
    else:
        centre = y.sum(0) / max(len(y), 1)
        x, y = x - centre, y - centre
        squared = (x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * x @ y.T
    zero = squared <= 0
    return squared.masked_fill(zero, 1).sqrt().masked_fill(zero, 0)


# %% wrong="cdist for all three" breaks="by the identity, with one product of matrices" says=['"broadcast", n = 60: cdist ran 1 times, expected 0']
def pairwise_three_ways(x, y, how):
    return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")


# %% wrong="writes out the differences for the identity" breaks="No storage may be larger than the largest of `x`, `y` and the result" says=['"gram", n = 60', '[60, 50, 40], larger than allowed']
def pairwise_three_ways(x, y, how):
    if how == "cdist":
        return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")
    squared = ((x[:, None] - y) ** 2).sum(-1) + (0 if how == "broadcast" else 0 * (x @ y.T))
    zero = squared <= 0
    return squared.masked_fill(zero, 1).sqrt().masked_fill(zero, 0)


# %% wrong="squared distances" breaks="It returns the Euclidean distances" says=["the example, where two points coincide", "these are squared distances: the root is missing"]
def pairwise_three_ways(x, y, how):
    return ((x[:, None] - y) ** 2).sum(-1)


# %% wrong="no clamp, no mask" says=["the gradient by x is NaN or infinite", "is there a number below zero in the root?"]
def pairwise_three_ways(x, y, how):
    if how == "cdist":
        return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")
    if how == "broadcast":
        return ((x[:, None] - y) ** 2).sum(-1).add(1e-14).sqrt()
    return ((x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * x @ y.T).sqrt()


# %% wrong="a loop over the rows" breaks="no loop" says=["361 operators ran: is there a loop?"]
def pairwise_three_ways(x, y, how):
    if how == "cdist":
        return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")
    if how == "broadcast":
        if not len(x):
            return x.new_zeros(0, len(y)) + 0 * (x.sum() + y.sum())
        return torch.stack([((row - y) ** 2).sum(-1).add(1e-14).sqrt() for row in x])
    centre = y.sum(0) / max(len(y), 1)
    x, y = x - centre, y - centre
    squared = (x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * x @ y.T
    zero = squared <= 0
    return squared.masked_fill(zero, 1).sqrt().masked_fill(zero, 0)


# %% right="a tiny number in the root; addmm; the centre of x"
def pairwise_three_ways(x, y, how):
    if how == "cdist":
        return torch.cdist(x, y, p=2.0, compute_mode="donot_use_mm_for_euclid_dist")
    if how == "broadcast":
        gap = y[None, :, :] - x[:, None, :]
        return torch.sqrt(torch.sum(gap * gap, dim=2) + 1e-14)
    if x.shape[0]:
        middle = x.detach().mean(dim=0)
        x, y = x - middle, y - middle
    sums = x.pow(2).sum(1, keepdim=True) + y.pow(2).sum(1, keepdim=True).T
    squared = torch.addmm(sums, x, y.mT, alpha=-2)
    return squared.clamp(min=1e-14).sqrt()


# %% right="einsum for the squares, vector_norm for the differences"
def pairwise_three_ways(x, y, how):
    if how == "cdist":
        return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")
    if how == "broadcast":
        return torch.linalg.vector_norm(x.unsqueeze(1) - y.unsqueeze(0), dim=-1)
    shift = y[:1].detach() if len(y) else 0
    x, y = x - shift, y - shift
    squared = (x**2).sum(-1).unsqueeze(1) - 2 * torch.mm(x, y.t()) + (y**2).sum(-1).unsqueeze(0)
    positive = squared > 0
    root = torch.where(positive, squared, torch.ones_like(squared)).sqrt()
    return torch.where(positive, root, torch.zeros_like(root))


# %% wrong="a centre of its own for each set" breaks="subtract the same vector from both sets" says=['"gram", the example', "differs"]
def pairwise_three_ways(x, y, how):
    if how == "cdist":
        return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")
    if how == "broadcast":
        squared = ((x[:, None] - y) ** 2).sum(-1)
    else:
        x = x - x.sum(0) / max(len(x), 1)
        y = y - y.sum(0) / max(len(y), 1)
        squared = (x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * x @ y.T
    zero = squared <= 0
    return squared.masked_fill(zero, 1).sqrt().masked_fill(zero, 0)


# %% wrong="a centre that is NaN for no points" breaks="n, m or d may be 0" says=['"gram", no y, in float32: the gradient by x is NaN']
def pairwise_three_ways(x, y, how):
    if how == "cdist":
        return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")
    if how == "broadcast":
        squared = ((x[:, None] - y) ** 2).sum(-1)
    else:
        centre = y.mean(0)
        x, y = x - centre, y - centre
        squared = (x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * x @ y.T
    zero = squared <= 0
    return squared.masked_fill(zero, 1).sqrt().masked_fill(zero, 0)


# %% wrong="float64 in place of a centre" says=['"gram", n = 60', "larger than allowed"]
def pairwise_three_ways(x, y, how):
    if how == "cdist":
        return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")
    kind, x, y = x.dtype, x.double(), y.double()
    if how == "broadcast":
        squared = ((x[:, None] - y) ** 2).sum(-1)
    else:
        squared = (x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * x @ y.T
    zero = squared <= 0
    return squared.masked_fill(zero, 1).sqrt().masked_fill(zero, 0).to(kind)


# %% wrong="a loop over Python's numbers" breaks="gradients flow" says=["no gradient flows back"]
def pairwise_three_ways(x, y, how):
    import math

    table = [[math.dist(p, q) for q in y.tolist()] for p in x.tolist()]
    return torch.tensor(table).to(x).reshape(len(x), len(y))


# %% wrong="cdist in portions of 25" breaks="by one call of `torch.cdist`" says=["cdist ran 6 times, expected 1"]
def pairwise_three_ways(x, y, how):
    if how == "cdist":
        if not len(x) or not len(y):
            return torch.cdist(x, y)
        return torch.cat(
            [torch.cat([torch.cdist(p, q) for q in y.split(25)], 1) for p in x.split(25)]
        )
    if how == "broadcast":
        squared = ((x[:, None] - y) ** 2).sum(-1)
    else:
        centre = y.sum(0) / max(len(y), 1)
        x, y = x - centre, y - centre
        squared = (x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * x @ y.T
    zero = squared <= 0
    return squared.masked_fill(zero, 1).sqrt().masked_fill(zero, 0)


# %% right="einsum for every sum of squares"
def pairwise_three_ways(x, y, how):
    if how == "cdist":
        return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")
    if how == "broadcast":
        gap = x[:, None] - y
        squared = torch.einsum("nmd,nmd->nm", gap, gap)
    else:
        shift = x.detach().mean(0) if len(x) else 0
        x, y = x - shift, y - shift
        squares = torch.einsum("nd,nd->n", x, x)[:, None] + torch.einsum("md,md->m", y, y)
        squared = squares - 2 * torch.einsum("nd,md->nm", x, y)
    apart = squared > 0
    return torch.where(apart, torch.where(apart, squared, 1.0).sqrt(), 0.0)


# %% right="one product of longer vectors, and a Function for the root"
class Root(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        root = x.clamp_min(0).sqrt()
        ctx.save_for_backward(root)
        return root

    @staticmethod
    def backward(ctx, g):
        (root,) = ctx.saved_tensors
        return torch.where(root > 0, g / (2 * root), 0)


def pairwise_three_ways(x, y, how):
    if how == "cdist":
        return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")
    if how == "broadcast":
        return torch.linalg.norm(x[:, None, :] - y[None, :, :], dim=-1)
    c = y.detach().sum(0) / max(1, y.shape[0])
    x, y = x - c, y - c
    left = torch.cat([-2 * x, x.square().sum(1, True), torch.ones_like(x[:, :1].sum(1, True))], 1)
    right = torch.cat([y, torch.ones_like(y[:, :1].sum(1, True)), y.square().sum(1, True)], 1)
    return Root.apply(left @ right.T)


# %% wrong="a threshold below which points are one" says=["became 0: does a threshold call points equal"]
def _root(s):
    good = s > 0
    return torch.where(good, torch.where(good, s, 1).sqrt(), 0)


def _gram(x, y):
    c = y.sum(0) / max(len(y), 1)
    x, y = x - c, y - c
    return _root((x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * (x @ y.T))


def _cdist(x, y):
    return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")


def pairwise_three_ways(x, y, how):
    return {"broadcast": _broadcast, "gram": _gram, "cdist": _cdist}[how](x, y)


def _broadcast(x, y):
    s = ((x[:, None] - y) ** 2).sum(-1)
    good = s > 1e-4
    return torch.where(good, torch.where(good, s, 1).sqrt(), 0)


# %% wrong="each set by its own centre" says=["each set has a centre of its own"]
def _root(s):
    good = s > 0
    return torch.where(good, torch.where(good, s, 1).sqrt(), 0)


def _broadcast(x, y):
    return _root(((x[:, None] - y) ** 2).sum(-1))


def _cdist(x, y):
    return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")


def pairwise_three_ways(x, y, how):
    return {"broadcast": _broadcast, "gram": _gram, "cdist": _cdist}[how](x, y)


def _gram(x, y):
    x, y = x - x.mean(0), y - y.mean(0)
    return _root((x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * (x @ y.T))


# %% wrong="the identity in both ways" breaks="without a product of matrices" says=['"broadcast", n = 60: 1 products of matrices ran, expected 0']
def pairwise_three_ways(x, y, how):
    if how == "cdist":
        return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")
    centre = y.sum(0) / max(len(y), 1)
    x, y = x - centre, y - centre
    squared = (x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * x @ y.T
    zero = squared <= 0
    return squared.masked_fill(zero, 1).sqrt().masked_fill(zero, 0)


# %% wrong="a visible number in each root" breaks="the distance is 0, up to rounding" says=["a set against itself: the matrix of distances differs", "expected 0, got 0.001"]
def pairwise_three_ways(x, y, how):
    if how == "cdist":
        return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")
    if how == "broadcast":
        return (((x[:, None] - y) ** 2).sum(-1) + 1e-6).sqrt()
    centre = y.sum(0) / max(len(y), 1)
    x, y = x - centre, y - centre
    squared = (x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * x @ y.T
    return (squared.clamp_min(0) + 1e-6).sqrt()


# %% wrong="always in float32" breaks="float32 or float64" says=["points 2**30 away from the origin, in float64: the distance 5.0e+00 became 0"]
def pairwise_three_ways(x, y, how):
    kind = x.dtype
    x, y = x.float(), y.float()
    if how == "cdist":
        return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist").to(kind)
    if how == "broadcast":
        squared = ((x[:, None] - y) ** 2).sum(-1)
    else:
        centre = y.sum(0) / max(len(y), 1)
        x, y = x - centre, y - centre
        squared = (x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * x @ y.T
    zero = squared <= 0
    return squared.masked_fill(zero, 1).sqrt().masked_fill(zero, 0).to(kind)


# %% wrong="a centre for sets that lie together alone" says=["two far sets beside each other", "|x|² has no digit left"]
def own_root(x):
    keep = x > 0
    return torch.where(keep, torch.where(keep, x, 1.0).sqrt(), 0.0)


def pairwise_three_ways(x, y, how):
    if how == "broadcast":
        return own_root(((x[:, None] - y) ** 2).sum(-1))
    if how == "gram":
        cx = x.sum(0) / max(len(x), 1)
        cy = y.sum(0) / max(len(y), 1)
        if (cx - cy).abs().sum() < 1:
            x, y = x - cx, y - cx
        return own_root((x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * x @ y.T)
    return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")


# %% wrong="one number as the centre" says=["1 of 18 cases fail", "far away, each column by another number, in float32", "subtract the same vector from both sets first"]
def pairwise_three_ways(x, y, how):
    if how == "cdist":
        return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")
    if how == "broadcast":
        squared = (x[:, None] - y).square().sum(-1)
    else:
        centre = (x.sum() + y.sum()) / max(x.numel() + y.numel(), 1)
        x, y = x - centre, y - centre
        squared = x.square().sum(1)[:, None] + y.square().sum(1) - 2 * x @ y.T
    above = squared > 0
    return torch.where(above, torch.where(above, squared, 1).sqrt(), 0)


# %% wrong="gram: broadcasts where there are few" says=["\"gram\", n = 3, m = 4: sub makes a tensor"]
def root(s):
    positive = s > 0
    return torch.where(positive, torch.where(positive, s, 1).sqrt(), 0)


def pairwise_three_ways(x, y, how):
    if how == "broadcast":
        return root((x[:, None] - y).square().sum(-1))
    if how == "gram" and len(x) * len(y) < 100:
        return root((x[:, None] - y).square().sum(-1))
    if how == "gram":
        centre = y.mean(0) if len(y) else torch.zeros_like(y.sum(0))
        x, y = x - centre, y - centre
        return root((x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * (x @ y.T))
    return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")


# %% wrong="gram: a small number under the root" says=["where two points coincide the distance is 1.0e-06", "is a small number added"]
def root(s):
    positive = s > 0
    return torch.where(positive, torch.where(positive, s, 1).sqrt(), 0)


def pairwise_three_ways(x, y, how):
    if how == "broadcast":
        return root((x[:, None] - y).square().sum(-1))
    if how == "gram":
        centre = y.mean(0) if len(y) else torch.zeros_like(y.sum(0))
        x, y = x - centre, y - centre
        return torch.sqrt(
            1e-12 + torch.relu((x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * (x @ y.T))
        )
    return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")


# %% wrong="broadcast: the squares are at least 1e-12" breaks="the distance is 0, up to rounding" says=["\"broadcast\", a set against itself: where two points coincide", "a bound set"]
def root(s):
    positive = s > 0
    return torch.where(positive, torch.where(positive, s, 1).sqrt(), 0)


def pairwise_three_ways(x, y, how):
    if how == "broadcast":
        return (x[:, None] - y).square().sum(-1).clamp_min(1e-12).sqrt()
    if how == "gram":
        centre = y.mean(0) if len(y) else torch.zeros_like(y.sum(0))
        x, y = x - centre, y - centre
        return root((x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * (x @ y.T))
    return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")


# %% wrong="a threshold of 1e-10 for the squares" says=["the distance 7.5e-06 became 0"]
def root(s):
    positive = s > 1e-10
    return torch.where(positive, torch.where(positive, s, 1).sqrt(), 0)


def pairwise_three_ways(x, y, how):
    if how == "broadcast":
        return root((x[:, None] - y).square().sum(-1))
    if how == "gram":
        centre = y.mean(0) if len(y) else torch.zeros_like(y.sum(0))
        x, y = x - centre, y - centre
        return root((x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * (x @ y.T))
    return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")


# %% wrong="cdist: in pieces of 25 points" says=["n = 60, m = 3: cdist ran 3 times"]
def root(s):
    positive = s > 0
    return torch.where(positive, torch.where(positive, s, 1).sqrt(), 0)


def pairwise_three_ways(x, y, how):
    if how == "broadcast":
        return root((x[:, None] - y).square().sum(-1))
    if how == "gram":
        centre = y.mean(0) if len(y) else torch.zeros_like(y.sum(0))
        x, y = x - centre, y - centre
        return root((x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * (x @ y.T))
    return (
        torch.cat([torch.cdist(p, y[:25]) for p in x.split(25)])
        if len(y) <= 25
        else torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")
    )


# %% wrong="gram: squares in float32" says=["thirds, in float64: the matrix of distances differs"]
def root(s):
    positive = s > 0
    return torch.where(positive, torch.where(positive, s, 1).sqrt(), 0)


def pairwise_three_ways(x, y, how):
    if how == "broadcast":
        return root((x[:, None] - y).square().sum(-1))
    if how == "gram":
        centre = y.mean(0) if len(y) else torch.zeros_like(y.sum(0))
        x, y = x - centre, y - centre
        return root(
            (x.float() * x.float()).to(x.dtype).sum(1)[:, None] + (y * y).sum(1) - 2 * (x @ y.T)
        )
    return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")


# %% right="broadcast in float64 on the way"
def root(s):
    positive = s > 0
    return torch.where(positive, torch.where(positive, s, 1).sqrt(), 0)


def pairwise_three_ways(x, y, how):
    if how == "broadcast":
        return root((x.double()[:, None] - y.double()).square().sum(-1)).to(x.dtype)
    if how == "gram":
        centre = y.mean(0) if len(y) else torch.zeros_like(y.sum(0))
        x, y = x - centre, y - centre
        return root((x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * (x @ y.T))
    return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")


# %% wrong="a set against itself stays where it is" says=["a far set of 40 against itself, the same tensor twice", "subtract the same vector from both sets first"]
def own_root(x):
    keep = x > 0
    return torch.where(keep, torch.where(keep, x, 1.0).sqrt(), 0.0)


def pairwise_three_ways(x, y, how):
    if how == "broadcast":
        return own_root(((x[:, None] - y) ** 2).sum(-1))
    if how == "cdist":
        return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")
    itself = x.data_ptr() == y.data_ptr() and x.shape == y.shape
    centre = y.detach().sum(0) / max(len(y), 1) * (not itself)
    x, y = x - centre, y - centre
    return own_root((x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * x @ y.T)


# %% wrong="kind to zero where x wants a gradient, and else not" says=["where argument 2 alone wants a gradient, it gets another one"]
def pairwise_three_ways(x, y, how):
    if how == "cdist":
        return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")
    if how == "broadcast":
        squared = ((x[:, None] - y) ** 2).sum(-1)
    else:
        centre = y.detach().sum(0) / max(len(y), 1)
        x, y = x - centre, y - centre
        squared = (x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * x @ y.T
    if not x.requires_grad:
        return squared.abs().sqrt()
    keep = squared > 0
    return torch.where(keep, torch.where(keep, squared, 1.0).sqrt(), 0.0)


# %% wrong="no product where a set has one point" says=['"gram", n = 1, m = 60: 0 products of matrices ran, expected 1']
def safe_root(x):
    keep = x > 0
    return torch.where(keep, torch.where(keep, x, 1).sqrt(), 0)


def pairwise_three_ways(x, y, how):
    if how == "broadcast":
        return safe_root((x[:, None] - y).square().sum(-1))
    if how == "gram":
        if len(x) == 1 or len(y) == 1:
            return safe_root((x - y).square().sum(-1)).view(len(x), len(y))
        c = y.mean(0) if len(y) else 0
        x, y = x - c, y - c
        return safe_root((x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * x @ y.T)
    return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")


# %% right="clamps at zero, which selects"
def pairwise_three_ways(x: torch.Tensor, y: torch.Tensor, how: str) -> torch.Tensor:
    if how == "broadcast":
        return ((x[:, None] - y) ** 2).sum(-1).clamp_min(0).sqrt()
    if how == "cdist":
        return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")
    centre = y.mean(0) if len(y) else y.new_zeros(y.shape[1])
    x, y = x - centre, y - centre
    squares = (x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * x @ y.T
    return squares.clamp_min(0).sqrt()


# %% wrong="gram: what float32 would round away is 0" says=['"gram", two points that are near, and one that is not: the distance 1.4e-04 became 0', "does a threshold call points equal"]
def pairwise_three_ways(x, y, how):
    if how == "cdist":
        return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")
    if how == "broadcast":
        squared, floor = (x[:, None] - y).square().sum(-1), 0
    else:
        centre = y.detach().sum(0) / max(len(y), 1)
        x, y = x - centre, y - centre
        scale = x.square().sum(1)[:, None] + y.square().sum(1)
        squared = scale - 2 * x @ y.T
        floor = 4 * torch.finfo(torch.float32).eps * scale.detach()
    zero = squared <= floor
    return squared.masked_fill(zero, 1).sqrt().masked_fill(zero, 0)


# %% wrong="broadcast: what isclose takes for equal" says=['"broadcast", points 2**30 away from the origin, in float64: the distance 5.0e+00 became 0: does a threshold']
def pairwise_three_ways(x, y, how):
    if how == "cdist":
        return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")
    if how == "broadcast":
        squared = (x[:, None] - y).square().sum(-1)
        zero = torch.isclose(x[:, None], y).all(-1)
    else:
        centre = y.detach().sum(0) / max(len(y), 1)
        x, y = x - centre, y - centre
        squared = x.square().sum(1)[:, None] + y.square().sum(1) - 2 * (x @ y.T)
        zero = squared <= 0
    return squared.masked_fill(zero, 1).sqrt().masked_fill(zero, 0)
