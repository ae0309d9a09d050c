"""Two hundred honest calls of PyTorch's functions, none of which the second witness may accuse."""

import contextlib
import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd import forward_ad
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils.checkpoint import checkpoint

from course_utils import count_operators
from support.judged import answered

FUNCTIONS = {
    "sine": lambda x: (x**2).sin(),
    "softmax": lambda x: (x / 10).softmax(-1),
    "products": lambda x: torch.einsum("ij,kj->ik", x, x),
    "where": lambda x: torch.where(x > 3, x, x.exp()),
    "in place": lambda x: x.clone().mul_(2).add_(1),
    "views": lambda x: x.t().reshape(3, 4)[:, ::2] * 2,
    "norm": lambda x: F.layer_norm(x, (4,)),
    "sum": lambda x: x.cumsum(0) - x.mean(),
    "gather": lambda x: x.gather(1, torch.zeros(3, 2, dtype=torch.int64)) * x[:, :2],
}


def linearized(f, x):
    _, product = torch.func.linearize(f, x)
    return product(x)


def by_dual_numbers(f, x):
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(f(forward_ad.make_dual(x, torch.ones_like(x)))).tangent


def by_checkpoint(f, x):
    y = x.clone().requires_grad_()
    checkpoint(f, y, use_reentrant=False).sum().backward()
    return y.grad


TRANSFORMS = {
    "plain": lambda f, x: f(x),
    "linearize": linearized,
    "jacfwd": lambda f, x: torch.func.jacfwd(f)(x),
    "jacrev": lambda f, x: torch.func.jacrev(f)(x),
    "hessian": lambda f, x: torch.func.hessian(lambda y: f(y).sum())(x),
    "jvp": lambda f, x: torch.func.jvp(f, (x,), (x,)),
    "vjp": lambda f, x: torch.func.vjp(f, x)[1](f(x)),
    "vmap": lambda f, x: torch.vmap(f)(torch.stack([x, x])),
    "vmap of jvp": lambda f, x: torch.vmap(lambda v: torch.func.jvp(f, (x,), (v,))[1])(x[None]),
    "vmap of grad": lambda f, x: torch.vmap(torch.func.grad(lambda y: f(y).sum()))(x[None]),
    "functionalize": lambda f, x: torch.func.functionalize(f)(x),
    "make_fx": lambda f, x: make_fx(f)(x)(x),
    "dual numbers": by_dual_numbers,
    "checkpoint": by_checkpoint,
    "jacobian": lambda f, x: torch.autograd.functional.jacobian(f, x),
    "product": lambda f, x: torch.autograd.functional.vjp(f, x, f(x)),
}


def caught_in_vmap(x):
    with contextlib.suppress(RuntimeError):
        torch.vmap(lambda row: row.view(99))(x)
    return x + 1


def sparse_embedding(x):
    table = nn.Embedding(5, 2, sparse=True)
    table(torch.tensor([1, 2])).sum().backward()
    return table.weight.grad.to_dense()


def checked(x, **how):
    return torch.autograd.gradcheck(FUNCTIONS["sine"], x.double().requires_grad_(), **how)


def one_step(optimizer):
    def step(x):
        weight = nn.Parameter(x.clone())
        (weight**2).sum().backward()
        optimizer([weight], lr=0.1).step()
        return weight.detach()

    return step


OTHERS = {
    "an error caught in vmap": caught_in_vmap,
    "gradcheck": checked,
    "gradcheck forward": lambda x: checked(x, check_forward_ad=True),
    "gradcheck batched": lambda x: checked(x, check_batched_grad=True),
    "a sparse embedding": sparse_embedding,
    "sparse": lambda x: (x.to_sparse() * 2).to_dense(),
    "sparse result": lambda x: x.to_sparse(),
    "compressed rows": lambda x: x.to_sparse_csr() @ x.T,
    "nested": lambda x: torch.nested.nested_tensor([x, x[:1]]) * 2,
    "jagged": lambda x: torch.nested.nested_tensor([x, x[:1]], layout=torch.jagged) * 2,
    "masked": lambda x: torch.masked.masked_tensor(x, x > 2).sum(),
    "meta": lambda x: torch.empty(3, device="meta").sin().shape,
    "symbolic trace": lambda x: torch.fx.symbolic_trace(nn.Linear(4, 2))(x),
    "lstm": lambda x: nn.LSTM(4, 3)(x)[0],
    "attention": lambda x: nn.MultiheadAttention(4, 2)(x, x, x)[0],
    "encoder": lambda x: nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).eval()(x[None]),
    "convolution": lambda x: nn.Conv2d(1, 2, 2)(x[None, None]),
    "batch norm": lambda x: nn.BatchNorm1d(4)(x),
    "spectral norm": lambda x: nn.utils.parametrizations.spectral_norm(nn.Linear(4, 2))(x),
    "orthogonal": lambda x: nn.utils.parametrizations.orthogonal(nn.Linear(4, 4))(x),
    "foreach": lambda x: torch._foreach_add([x, x], 1),
    "normal": lambda x: torch.distributions.Normal(0.0, 1.0).rsample((3,)),
    "categorical": lambda x: torch.distributions.Categorical(logits=x).log_prob(torch.arange(3)),
    "closeness": lambda x: torch.testing.assert_close(x, x + 0.0),
    "block": lambda x: torch.block_diag(x, x),
    "meshgrid": lambda x: torch.meshgrid(x[0], x[1], indexing="ij"),
    "fft": lambda x: torch.fft.fft(x).abs(),
    "bits": lambda x: x.view(torch.int32) & 3,
    "max": lambda x: x.max(0).values,
    "items": lambda x: [x.sum().item(), x.tolist(), bool(x.any()), len(x), x[0] in x],
}
SQUARE = "svd eigh qr inv det matrix_exp cholesky pinv cond matrix_rank eigvals slogdet lu"
UNARY = "abs neg exp log1p sqrt rsqrt sin cos tanh sigmoid erf floor round sign square isnan relu"
REDUCTIONS = "sum mean amax amin prod std var median logsumexp argmax all any cumsum sort topk"
OPTIMIZERS = "SGD Adam AdamW RMSprop Adagrad Adadelta NAdam RAdam Rprop ASGD Adamax"


def calls():
    """Every honest call, by name."""
    found = dict(OTHERS)
    for how, transform in TRANSFORMS.items():
        for what, f in FUNCTIONS.items():
            found[f"{how}: {what}"] = lambda x, t=transform, f=f: t(f, x)
    for name in SQUARE.split():
        function = getattr(torch.linalg, name)
        found[name] = lambda x, f=function: f(x @ x.T + torch.eye(3))
    for name in UNARY.split():
        found[name] = getattr(torch, name)
    for name in REDUCTIONS.split():
        dim = 2 if name == "topk" else 0
        found[f"reduction {name}"] = lambda x, n=name, d=dim: getattr(torch, n)(x, d)
    for name in OPTIMIZERS.split():
        found[name] = one_step(getattr(torch.optim, name))
    return found


@pytest.mark.filterwarnings("ignore")
def test_no_honest_call_is_accused():
    honest, accused = calls(), {}
    assert len(honest) >= 200
    with warnings.catch_warnings(), answered(honest) as names:
        warnings.simplefilter("ignore")
        for name in honest:
            try:
                with count_operators() as counts:
                    names[name](torch.arange(12.0).view(3, 4) + 0.5)
                assert counts
            except Exception as error:
                accused[name] = f"{type(error).__name__}: {str(error)[:200]}"
    # A known limit: a masked tensor refuses a recorder that it does not know.
    assert set(accused) == {"masked"}, accused


def test_the_answers_own_error_comes_first():
    works = {"work": lambda x: torch.vmap(lambda row: row.view(99))(x)}
    with answered(works) as names, count_operators(), pytest.raises(RuntimeError, match="99"):
        names["work"](torch.ones(3, 4))
