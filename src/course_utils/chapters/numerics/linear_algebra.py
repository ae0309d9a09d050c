"""Exercises 4.8 to 4.11: blocks, eigenvectors, orthogonal columns, least squares."""

from __future__ import annotations

from math import prod

import torch

from course_utils.chapters.numerics.notes import Answer, check_form, few_digits
from course_utils.learner.cases import every_case
from course_utils.learner.changes import forbid_changes
from course_utils.learner.checks import check_close, check_copied
from course_utils.learner.operators import count_operators
from course_utils.learner.values import check_value

SYSTEMS = "_linalg_solve_ex", "linalg_cholesky_ex", "linalg_ldl_factor_ex", "linalg_lu_factor_ex"
FITS = {"normal": SYSTEMS, "qr": ("linalg_qr", "geqrf"), "lstsq": ("linalg_lstsq",)}
FIT_NAMES = {"normal": "a solve or Cholesky", "qr": "linalg.qr", "lstsq": "linalg.lstsq"}


def _blocks_by_loop(blocks: torch.Tensor) -> torch.Tensor:
    *batch, n, p, q = blocks.shape
    truth = blocks.new_zeros(*batch, n * p, n * q)
    for k in range(n):
        truth[..., k * p : (k + 1) * p, k * q : (k + 1) * q] = blocks[..., k, :, :]
    return truth


def check_blocks(answer: Answer, case: every_case, blocks: torch.Tensor, name: str) -> None:
    """Block-diagonal matrices beside a loop."""
    truth = _blocks_by_loop(blocks)
    with case(name):
        with forbid_changes(blocks):
            result = answer(blocks)
        known = isinstance(result, torch.Tensor) and result.shape == truth.shape
        spread = known and bool((result.isnan() & ~truth.isnan()).any())
        words = "NaN outside of the block: 0 · ∞ is NaN, so place the blocks, don't multiply"
        assert not spread, words
        *batch, n, p, q = blocks.shape
        pairs = blocks.new_zeros(*batch, n, n, p, q)
        pairs.diagonal(dim1=-4, dim2=-3).copy_(blocks.movedim(-3, -1))
        words = "block row, block column, row, column is not the order of a matrix: the row comes "
        words += "before the block column"
        check_value(result, truth, "the result", {words: pairs.reshape(truth.shape)}, 0, 0)


def check_growth(
    answer: Answer, case: every_case, few: torch.Tensor, many: torch.Tensor, what: str
) -> None:
    """That more blocks take no more operators."""
    with case(what):
        ran = []
        for blocks in (few, many):
            with count_operators() as counts:
                result = answer(blocks)
            given = isinstance(result, torch.Tensor)
            assert given, f"a {type(result).__name__} came back: is there an answer yet?"
            ran.append(counts.total())
        words = f"{ran[0]} operators for {len(few)} and {ran[1]} for {len(many)}: is there a loop?"
        assert ran[1] <= ran[0], words
        check_close(result, _blocks_by_loop(many), "the result")


def check_eigen(
    answer: Answer, case: every_case, a: torch.Tensor, name: str, tol: float | None = 1e-5
) -> None:
    """The eigenvalue largest in size, with its sign, and its eigenvector; tol None: left out."""
    given, tol = () if tol is None else (tol,), 1e-5 if tol is None else tol
    every = torch.linalg.eigvalsh(a.double())
    truth = every[every.abs().argmax()]
    slips = {
        "the sign is lost: a length has none": truth.abs(),
        "the largest eigenvalue, not the largest in absolute value": every.max(),
        "the smallest in absolute value": every[every.abs().argmin()],
    }
    slips = {words: wrong.to(a.dtype) for words, wrong in slips.items()}
    with case(name):
        try:
            with forbid_changes(a):
                pair = answer(a, *given)
        except RuntimeError as error:
            words = f"it gave up (RuntimeError: {error}), though there is an answer: "
            words += (
                "does the rule hold for a negative eigenvalue, and for 0?"
                if tol
                else "both sides may be 0: compare with <="
            )
            raise AssertionError(words) from None
        fits = isinstance(pair, (tuple, list)) and len(pair) == 2
        assert fits, "return the pair (eigenvalue, eigenvector): is there an answer yet?"
        value, v = pair
        if isinstance(value, torch.Tensor) and value.numel() == 1 and truth != 0:
            size, far = abs(truth.item()), abs(value.item() - truth.item())
            near = 3 * tol * size + 1e-12 < far < 1e-3 * size
            words = "the eigenvalue is nearly right: is |Av - λv| compared with tol · |λ|?"
            assert not near, words
        check_value(value, truth.to(a.dtype), "the eigenvalue", slips, rtol=3 * tol, atol=1e-12)
        check_form(v, a[0], "the eigenvector")
        length = v.double().square().sum().sqrt().item()
        assert abs(length - 1) < 1e-4, f"the eigenvector has length {length:.4g}, expected 1"
        words = "the eigenvector has length 1 to float32's digits alone: compute in the dtype of a"
        assert abs(length - 1) < 1e-10 or a.dtype == torch.float32, words
        few = few_digits(v) and few_digits(value.reshape(1)) and not few_digits(a)
        assert not few, "float32's digits alone: compute in the dtype of a"
        own = (a.double() @ v.double() - value.double() * v.double()).square().sum().sqrt()
        words = f"|Av - λv| is {own / value.abs():.2g} · |λ|, more than tol, {tol:g}: "
        words += "take the length of the whole vector, and the tol given, 1e-5 where it is left out"
        most = 1.01 * tol + (1e-12 if a.dtype == torch.float64 else 1e-6)
        assert own <= most * value.abs() + 1e-15, words
        left = (a.double() @ v.double() - truth * v.double()).square().sum().sqrt().item()
        assert left <= 3 * tol * abs(truth) + 1e-12, f"|Av - λv| is {left:.1e}, not small"


def check_eigen_corners(answer: Answer, case: every_case, slow: torch.Tensor) -> None:
    """Where a start, a sign or a bound of one's own fails; two calls. ``slow`` settles slowly."""
    nothing = slow.new_tensor([[4.0, -2.0], [-2.0, 1.0]]).float()
    check_eigen(answer, case, nothing, "[[4, -2], [-2, 1]], where Av = 0 for (1, 2)")
    check_eigen(answer, case, torch.diag(slow.new_tensor([2.0, -5.0])).float(), "diag(2, -5)")
    name = "diag(2, 3, 2.5), tol and max_steps left out"
    check_eigen(answer, case, slow, name, tol=None)
    check_eigen(answer, case, torch.eye(3).to(slow) / 3, "a third of the identity, in float64")
    wide = torch.diag(slow.new_tensor([4.0, 9, 1, 9, 2]))
    check_eigen(answer, case, wide[::2, ::2], "diag(4, 1, 2), a view with gaps")
    i = torch.arange(1.0, 13).to(slow)
    dense = (0.3 * i[:, None] * i).sin()
    check_eigen(answer, case, dense, "a 12 × 12 matrix in float64", tol=1e-10)
    hardly = torch.diag(slow.new_tensor([0.98, -1.0]))
    check_eigen(answer, case, hardly, "diag(0.98, -1), which takes hundreds of steps", tol=None)
    with case("diag(2, 3, 2.5), called a second time with the numbers' signs changed"):
        given = slow.clone()
        first = answer(given)
        kept = [one.clone() for one in first]
        value, _ = answer(given.neg_())
        same = all(torch.equal(one, was) for one, was in zip(first, kept, strict=True))
        assert same, "the second call changed what the first gave: make new tensors in each call"
        words = "is the pair kept by its matrix? Its numbers are others by now"
        check_close(value, slow.new_tensor(-3.0), "the eigenvalue", because=words)
    with case("[[0, 1], [1, 0]], tol and max_steps left out"):
        try:
            answer(torch.eye(2).to(slow).flip(0))
        except RuntimeError:
            return
        raise AssertionError("an answer was returned; where nothing settles, raise RuntimeError")


def _no_norm(name: str) -> bool:
    """Whether a function or an operator is one of ``torch.linalg`` and no norm."""
    return "linalg" in name and "norm" not in name


def check_steps(
    operators: Answer,
    case: every_case,
    a: torch.Tensor,
    name: str,
    steps: int,
    settles: bool,
    at_most: int,
    tol: float = 1e-5,
) -> None:
    """How many products with the matrix ran, and whether it gave up where it should."""
    n = len(a)
    with case(f"{name}, max_steps={steps}"):
        notes, raised, pair = operators("power_iteration", a, tol, steps)
        banned = [op for op, *_ in notes if _no_norm(op)]
        assert not banned, f"{banned[0]} ran: the products are to do it"
        assert not (settles and raised), f"{raised} was raised, though {steps} steps are enough"
        assert raised or pair is not None, "it returned None: is there an answer yet?"
        words = "an answer was returned; where nothing settles, raise RuntimeError"
        assert settles or raised, words
        assert settles or raised == "RuntimeError", f"{raised} was raised, expected RuntimeError"
        # A product: one argument has the matrix's size, the new result a vector's.
        ran = sum(
            bool(new) and prod(size) == n and n * n in map(prod, sizes)
            for _, sizes, size, new in notes
        )
        words = f"{ran} product{'s' * (ran != 1)} with the matrix ran, at most {at_most}"
        assert ran <= at_most, f"{words}: one a step, and stop as soon as |Av - λv| is small"
        assert ran or not steps, "no product with the matrix ran: is it made by PyTorch?"
        words = f"{ran} products ran before it gave up, expected max_steps, {steps}"
        assert settles or steps in (0, ran), words
        if settles:
            fits = isinstance(pair, (tuple, list)) and len(pair) == 2
            assert fits, "return the pair (eigenvalue, eigenvector): is there an answer yet?"
            every = torch.linalg.eigvalsh(a)
            check_close(pair[0], every[every.abs().argmax()], "the eigenvalue", rtol=1e-3)
            check_form(pair[1], a[0], "the eigenvector")
            check_close(a @ pair[1], pair[0] * pair[1], "A v", rtol=1e-2, atol=1e-3)


def check_only_norms(names: list[str]) -> None:
    """That no function of ``torch.linalg`` but a norm is among those that were called."""
    banned = [name for name in names if _no_norm(name)]
    words = "was called: from torch.linalg only norms are allowed"
    assert not banned, f"{banned[0].replace('_', '.', 1)} {words}"


def check_own_generator(operators: Answer, a: torch.Tensor) -> None:
    """That no operator draws from the global generator, not even one that is put back behind it."""
    notes, *_ = operators("power_iteration", a)
    drawn = [op for op, *_ in notes if op.startswith("global ")]
    words = "drew from PyTorch's global generator, which was put back: hand it one of your own"
    assert not drawn, f"{drawn[0].split()[-1]} {words}"


def check_first_step(answer: Answer, case: every_case, a: torch.Tensor, name: str) -> None:
    """That the rule did not hold two steps earlier: ``a`` settles slowly, and has an inverse."""
    with case(name):
        value, v = answer(a)
        check_form(v, a[0], "the eigenvector")
        # Where the next v is returned, A v at length 1, the rule held one step earlier.
        early = torch.linalg.solve(a, torch.linalg.solve(a, v))
        early = early / early.norm()
        off = (a @ early - value * early).norm() / value.abs()
        words = f"|Av - λv| was {off:.2g} · |λ| two steps earlier, for a v of length 1, and tol is "
        words += (
            "1e-05: stop at the first step; is v longer than 1 in the comparison, or are steps "
        )
        words += "passed over?"
        assert off > 0.99e-5, words


def check_qr(answer: Answer, case: every_case, a: torch.Tensor, name: str) -> None:
    """Q and R of both ways."""
    n = a.shape[1]
    for modified in (False, True):
        with case(f"{name}, modified={modified}"):
            with forbid_changes(a), count_operators() as counts:
                pair = answer(a, modified)
            fits = isinstance(pair, (tuple, list)) and len(pair) == 2
            assert fits, "return the pair (Q, R): is there an answer yet?"
            banned = [op for op in counts if "geqrf" in op or _no_norm(op)]
            assert not banned, f"{', '.join(banned)} ran: build it from products and lengths"
            words = (
                f"{counts.total()} of PyTorch's operators for {n} columns: is it made elsewhere?"
            )
            assert counts.total() >= 2 * n, words
            q, r = pair
            check_form(q, a, "Q")
            check_form(r, a.new_empty(n, n), "R")
            check_copied(q, a, "Q")
            nan = q.isnan().any() or r.isnan().any()
            assert not nan, "there is NaN: a length of 0?"
            words = "R has entries below the diagonal: r[i, j] belongs to q[:, i] and a[:, j]"
            assert torch.equal(r, r.triu()), words
            lengths = q.square().sum(0)
            words = f"the columns of Q have the squared lengths {lengths.tolist()}, expected 1"
            exact, wrong = 1e-5 if a.dtype == torch.float32 else 1e-12, (lengths - 1).abs().max()
            if few_digits(q) and wrong < 1e-3:
                words = "Q has length 1 to float32's digits alone: compute in the dtype of a"
            assert wrong < exact, words
            off = (q.T @ q - torch.eye(n).to(a)).abs().max().item()
            lost = f"columns of Q are not orthogonal: a product is {off:.2g}"
            assert off < 1e-3, lost
            close = 1e-4 if a.dtype == torch.float32 else 1e-10
            words = "Q R is a to float32's digits alone: compute in the dtype of a"
            product, size = q @ r, a.abs().max().item()
            near = (product - a).abs().max().item() < 1e-4 * size
            assert not near or torch.allclose(product, a, close, close), words
            check_close(product, a, "Q @ R", rtol=close, atol=close * size)
            words = f"{lost}, as of float32: compute in the dtype of a"
            assert off < 1e-9 or a.dtype == torch.float32, words
            assert (r.diagonal() > 0).all(), "the diagonal of R should be positive (lengths)"


def check_lost(answer: Answer, case: every_case, a: torch.Tensor, name: str) -> None:
    """That nearly equal columns stay orthogonal the modified way, and do not the classical way."""
    n = a.shape[1]
    for way, given in (("=False", (False,)), ("=True", (True,)), (" left out", ())):
        modified = given != (False,)
        with case(f"{name}, modified{way}"):
            try:
                pair = answer(a, *given)
            except Exception:  # the judge may know another kind, with other words
                raise AssertionError("it stops with an error for nearly equal columns") from None
            fits = isinstance(pair, (tuple, list)) and len(pair) == 2
            assert fits, "return the pair (Q, R): is there an answer yet?"
            q, r = pair
            check_form(q, a, "Q")
            check_form(r, a.new_empty(n, n), "R")
            assert not q.isnan().any(), "there is NaN in Q: a length of 0?"
            check_close(q @ r, a, "Q @ R", rtol=1e-3, atol=1e-3)
            off = (q.double() @ r.double() - a.double()).abs().max().item()
            words = f"Q R is off a by {off:.1g}, far more than rounding: is R made afterwards, from"
            words += " Q and a? Into R goes the coefficient that you subtract"
            assert off < 3e-6, words
            lost = (q.T @ q - torch.eye(n).to(q)).abs().max().item()
            cure = "take each coefficient from what is left" if given else "the default is True"
            assert lost < 1e-3 or not modified, f"orthogonality is lost ({lost:.2g}): {cure}"
            words = "too orthogonal: the classical way takes all coefficients from the given column"
            assert lost > 0.1 or modified, words


def check_fit(
    answer: Answer,
    case: every_case,
    a: torch.Tensor,
    b: torch.Tensor,
    truth: torch.Tensor,
    name: str,
    ways: tuple[str, ...] = ("normal", "qr", "lstsq"),
    rtol: float = 1e-4,
    atol: float = 1e-4,
) -> None:
    """Least squares: the values, in each way."""
    for how in ways:
        with case(f'"{how}", {name}'):
            with forbid_changes(a, b):
                x = answer(a, b, how)
            check_form(x, truth, "x")
            near = torch.allclose(x, truth, 1e-3, 1e-3) and x.dtype == torch.float64
            words = "right to a few digits alone: is it computed in float32, or something added?"
            fine = torch.allclose(x, truth, rtol, atol)
            assert fine or not near, words
            q, r = torch.linalg.qr(a)
            lower = (q.mT @ b[..., None])[..., 0] / r.diagonal(dim1=-2, dim2=-1)
            slips = {"R was read as lower triangular: say upper=True": lower}
            check_value(x, truth, "x", slips, rtol, atol)


def check_fit_corners(answer: Answer, case: every_case, u: torch.Tensor, v: torch.Tensor) -> None:
    """Least squares, in float64: small numbers, a large condition number, all digits."""
    one = torch.ones(len(v), dtype=u.dtype, device=u.device)
    for size, dtype in ((1.0, torch.float64), (1e-3, torch.float32), (1e-9, torch.float64)):
        a = (size * u @ v.T).to(dtype)
        loose = 1e-11 if dtype == torch.float64 else 1e-4
        name = f"numbers of size {size:g}, in {dtype}: nothing is added or bounded"
        check_fit(answer, case, a, a.sum(1), one.to(dtype), name, rtol=loose, atol=loose)
    a = u * torch.arange(1.0, len(u) + 1).to(u)[:, None]  # equations of different lengths
    b = torch.arange(1.0, len(u) + 1).to(u).cos()
    truth = (torch.linalg.pinv(a) @ b[:, None])[:, 0]
    name = "equations that cannot all hold: each counts once, as it is"
    check_fit(answer, case, a, b, truth, name, rtol=1e-9, atol=1e-9)
    hard = u * torch.tensor([1.0, 1e-5, 1e-9]).to(u) @ v.T
    name = "a condition number of 1e9, in float64: no direction is left out"
    check_fit(answer, case, hard, hard.sum(1), one, name, ("qr", "lstsq"), 1e-5, 1e-5)


def check_fit_way(
    answer: Answer, operators: Answer, case: every_case, a: torch.Tensor, name: str
) -> None:
    """Least squares: which factorisation ran, and how often."""
    square = [a.shape[-1]] * 2
    for how in FITS:
        with case(f'"{how}", {name}'):
            with count_operators() as counts:
                x = answer(a, a.sum(-1), how)
            check_close(x, torch.ones_like(a[:, 0]), "x", rtol=1e-3, atol=1e-3)
            inverses = {"linalg_inv_ex", "linalg_pinv", "cholesky_inverse", "_linalg_svd"}
            inverses = sorted(inverses & set(counts))
            assert not inverses, f"{', '.join(inverses)} ran: solve, don't invert"
            notes, *_ = operators("least_squares", a, a.sum(-1), how)
            # Both arguments are square matrices: the right-hand side is the identity.
            whole = [
                op
                for op, sizes, *_ in notes
                if "solve" in op and len(sizes) > 1 and all(size[-2:] == square for size in sizes)
                if a.shape[-1] > 1  # else b is such a side as well
            ]
            words = "ran on a square right-hand side: that makes an inverse; solve for b"
            assert not whole, f"{', '.join(sorted(set(whole)))} {words}"
            ran = sum(counts[operator] for operator in FITS[how])
            assert ran == 1, f"{FIT_NAMES[how]} ran {ran} times for the whole batch, expected once"
            other = [key for key in FITS if key != how and any(counts[op] for op in FITS[key])]
            what = FIT_NAMES[other[0]] if other else ""
            assert not other, f"{what} ran as well: it belongs to {other[0]!r}" + (
                "; R is triangular, use that" if how == "qr" else ""
            )
