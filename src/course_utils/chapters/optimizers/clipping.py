"""Clipped and accumulated gradients."""

from __future__ import annotations

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

from course_utils.learner.checks import check_close, check_equal
from course_utils.learner.devices import device


def make_classifier(kind="plain"):
    """Three numbers in, classes out; in float64, in training but for its dropout."""
    torch.manual_seed(0)
    width, classes = {"zero gradient": (5, 1), "tied": (3, 3)}.get(kind, (5, 4))
    first, last = nn.Linear(3, width), nn.Linear(width, classes)
    model = nn.Sequential(first, nn.Tanh(), nn.Dropout(0.5).eval(), last)
    if kind == "tied":
        last.weight = first.weight
    if kind == "transposed":
        first.weight = nn.Parameter(first.weight.detach().t().contiguous().t())
    model = model.double().to(device)
    if kind == "frozen":
        model[0].requires_grad_(False)
    return model


def make_pieces(sizes, classes=4):
    draw, pieces = torch.Generator().manual_seed(sum(sizes)), []
    for size in sizes:
        x = 3 * torch.randn(size, 3, generator=draw, dtype=torch.float64)
        pieces.append((x.to(device), torch.randint(classes, (size,), generator=draw).to(device)))
    return pieces


def run_clip(clip_and_accumulate, kind, sizes, max_norm):
    """The norm that was returned, the gradients, and what happened to the model on the way."""
    model, events = make_classifier(kind), []

    def note(module, args, output):
        if len(args[0]):
            events.append("forward")
            if output.requires_grad:
                output.register_hook(lambda grad: events.append("backward"))

    handle = model.register_forward_hook(note)
    before = copy.deepcopy(model.state_dict())
    for p in model.parameters():
        p.grad = torch.full_like(p, 7.0) if p.requires_grad else None
        if kind == "broken past":
            p.grad = torch.full_like(p, torch.inf)
            p.grad[0] = torch.nan
    with torch.random.fork_rng(devices=[]):
        given = make_pieces(sizes, model[-1].out_features)
        kept, fresh = list(given), make_pieces(sizes, model[-1].out_features)
        try:
            norm = clip_and_accumulate(model, given, max_norm)
        except (TypeError, AttributeError) as error:
            words = "a frozen parameter has .grad None: leave it out of the norm and the clipping"
            raise AssertionError(words) if "NoneType" in str(error) else error from None
        except ZeroDivisionError:
            words = "the norm may be 0: divide by it only where it exceeds max_norm"
            raise AssertionError(f"raised ZeroDivisionError: {words}") from None
        except RuntimeError as error:
            words = (
                "a weight may be stored transposed, and .grad with it: take .reshape or .flatten"
            )
            stuck = "view size is not compatible" in str(error)
            raise AssertionError(f"{error} ({words})") if stuck else error from None
    assert handle.id in model._forward_hooks, "a hook that was on the model before is gone"
    handle.remove()
    assert list(map(id, given)) == list(map(id, kept)), "the list of pieces was changed"
    pairs = [
        (mine, was)
        for a, b in zip(kept, fresh, strict=True)
        for mine, was in zip(a, b, strict=True)
    ]
    same = all(torch.equal(mine, was) and not mine.requires_grad for mine, was in pairs)
    assert same, "a piece's inputs or labels were changed (or require a gradient now): leave them"
    assert norm is not None, "clip_and_accumulate returned None: is there an answer yet?"
    assert isinstance(norm, (int, float)) or getattr(norm, "shape", None) == (), (
        f"the norm is {norm!r}, no number"
    )
    same = all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert same, "the weights were changed: only .grad should be"
    assert not any(p.grad is not None and p.grad.requires_grad for p in model.parameters()), (
        ".grad carries a graph, as create_graph=True makes it: one large batch's gradient has none"
    )
    flags = [[p.requires_grad for p in m.parameters()] for m in (model, make_classifier(kind))]
    modes = [[part.training for part in m.modules()] for m in (model, make_classifier(kind))]
    assert modes[0] == modes[1], "the model's mode was changed; a part of it is in eval, and stays"
    hooked = any(p._backward_hooks for p in model.parameters()) or any(
        part._forward_hooks or part._forward_pre_hooks for part in model.modules()
    )
    assert not hooked, "a hook of yours is left in the model: remove it"
    assert flags[0] == flags[1], "a parameter's requires_grad was changed"
    return float(norm), {name: p.grad for name, p in model.named_parameters()}, events


def large_batch(kind, sizes, weights=None):
    """The gradients of all examples in one batch, each piece weighted."""
    model = make_classifier(kind)
    pieces = make_pieces(sizes, model[-1].out_features)
    for (x, y), weight in zip(pieces, weights or [1 / sum(sizes)] * len(sizes), strict=True):
        (F.cross_entropy(model(x), y, reduction="sum") * weight).backward()
    return {name: p.grad for name, p in model.named_parameters()}


def norm_of(gradients):
    return sum(g.square().sum().item() for g in gradients.values() if g is not None) ** 0.5


OLD_NAN = (
    "an old gradient was NaN or infinite, and times 0 that is NaN: set .grad to None, or fill it "
    "with zeros"
)


CLIP_ONCE = "each piece was clipped: clip once, after the last"


def clipped_piecewise(kind, sizes, max_norm):
    """What the last piece's clipping returns, and the gradients, where each piece is clipped."""
    model, norm = make_classifier(kind), 0.0
    for x, y in make_pieces(sizes, model[-1].out_features):
        (F.cross_entropy(model(x), y, reduction="sum") / sum(sizes)).backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm).item()
    return norm, {name: p.grad for name, p in model.named_parameters()}


def _counted(kind, sizes):
    """Words for what doesn't belong in the norm, each with the norm that it would give."""
    right = large_batch(kind, sizes)
    if kind == "frozen":
        yield "a frozen parameter is no part of it", norm_of(large_batch("plain", sizes))
    if kind == "tied":
        twice = {**right, "again": right["0.weight"]}
        yield "a parameter that two layers share counts once", norm_of(twice)
        words = "a parameter that two layers share was divided twice: go through parameters()"
        for by in (sum(sizes), 2):
            yield words, norm_of({**right, "0.weight": right["0.weight"] / by})


def _parts(gradients):
    """Words for a norm that isn't that of all entries together, each with that norm."""
    all_of = [g for g in gradients.values() if g is not None]
    norms = [g.norm().item() for g in all_of]
    yield "the largest norm of a single parameter", max(norms)
    yield "the sum of sizes, without squares", sum(g.abs().sum().item() for g in all_of)
    yield "the sum of the parameters' norms", sum(norms)
    yield "the mean of the parameters' norms", sum(norms) / len(norms)
    flat, wide = ([g for g in all_of if (g.ndim < 2) == small] for small in (True, False))
    yield "the norm without the biases", norm_of(dict(enumerate(wide)))
    yield "the norm of the biases alone", norm_of(dict(enumerate(flat)))


def check_clip(found, kind, sizes, max_norm):
    """Compare with one large batch; name the known slips."""
    norm, gradients, events = found
    right = large_batch(kind, sizes)
    expected, full = norm_of(right), [size for size in sizes if size]
    slips = {
        "the mean of the means: each piece counts as much as another, however small it is": [
            1 / max(size, 1) / len(sizes) for size in sizes
        ],
        "the mean of the means, of pieces that aren't empty: each counts as much as another": [
            1 / max(size, 1) / len(full) for size in sizes
        ],
        "means that are added up, not divided by anything": [1 / max(size, 1) for size in sizes],
        "sums that were never divided by the whole count": [1.0] * len(sizes),
        "gradients are cleared before each piece: the last piece's alone are left": [
            *[0.0] * (len(sizes) - 1),
            1 / sum(sizes),
        ],
        "the pieces are of unequal sizes: count the examples of all": [
            1 / (max(1, sizes[0]) * len(sizes))
        ]
        * len(sizes),
    }
    if not abs(norm - expected) <= 1e-4 * max(expected, 1e-3):
        words = [
            said
            for said, w in slips.items()
            if abs(norm - norm_of(large_batch(kind, sizes, w))) < 1e-6
        ]
        last, each = clipped_piecewise(kind, sizes, max_norm)
        each = {name: g for name, g in each.items() if g is not None}
        near = [
            gradients[name] is not None and torch.allclose(gradients[name], g, 1e-3)
            for name, g in each.items()
        ]
        apart = [not torch.allclose(g, right[name], 1e-3) for name, g in each.items()]
        piecewise = all(near) and any(apart)
        after = "the norm after clipping" + (f"; and {CLIP_ONCE}" if piecewise else "")
        words += [after] if abs(norm - min(expected, max_norm)) < 1e-4 else []
        words += [CLIP_ONCE] if abs(norm - last) < 1e-4 else []
        words += (
            ["that is its square: the root is missing"] if abs(norm - expected**2) < 1e-6 else []
        )
        largest = max(g.abs().max().item() for g in right.values() if g is not None)
        words += ["that is the largest entry"] if abs(norm - largest) < 1e-6 else []
        words += ["the old gradients are still in it"] if norm > 20 else []
        words += [OLD_NAN] if kind == "broken past" and norm != norm else []
        parts = " or ".join(said for said, other in _parts(right) if abs(norm - other) < 1e-6)
        words += [f"all gradients are one long vector, and that is {parts}"] if parts else []
        words += [said for said, other in _counted(kind, sizes) if abs(norm - other) < 1e-6]
        words += ["is there a 0 / 0?"] if norm != norm else []
        # To a limit of 0 a piece is cut whole: then this looks as if it had been cleared.
        words.sort(key=lambda said: said != CLIP_ONCE if max_norm == 0 else 0)
        raise AssertionError(
            f"the norm: expected {expected:.5f}, got {norm:.5f}{': '.join(['', *words[:1]])}"
        )
    for name, g in right.items():
        if g is None:
            assert gradients[name] is None, f"{name} is frozen: its .grad should stay None"
            continue
        assert gradients[name] is not None, f"{name}.grad is None"
        words = f"{name}.grad has a nan: is there a 0 / 0, or inf times 0?"
        assert gradients[name].isfinite().all(), words
        scaled = g * min(1.0, max_norm / max(expected, 1e-12))
        slips = {
            "it was scaled although the norm does not exceed max_norm": g
            * max_norm
            / max(expected, 1e-12),
            "each parameter was clipped alone: the norm is that of all together": g
            * min(1.0, max_norm / max(g.norm().item(), 1e-12)),
            "entries were cut one by one: that turns the direction": g.clamp(-max_norm, max_norm),
            "it was not clipped": g,
        }
        words = [
            said
            for said, slip in slips.items()
            if torch.allclose(gradients[name], slip, rtol=1e-3)
            and not torch.allclose(slip, scaled, rtol=1e-3)
        ]
        assert not words, f"{name}.grad: {words[0]}"
        what = f"{name}.grad, with the norm {expected:.3f} and max_norm {max_norm:g},"
        check_close(gradients[name], scaled, what, rtol=1e-3, atol=1e-6)
    orders = {"forward": events.count("forward"), "backward": events.count("backward")}
    check_equal(
        orders["forward"], len(full), "how often the model was called on examples", "once a piece"
    )
    in_turn = events == ["forward", "backward"] * len(full)
    assert in_turn, (
        "all graphs were alive at once: backward of a piece comes before the next forward"
    )
