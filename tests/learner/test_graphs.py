"""The picture of a graph: what it says of nodes, saved tensors, versions and gradients."""

import io
import re

import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image

from course_utils import draw_graph
from course_utils.learner.graphs import MOST_NODES
from support.kernel import run_cells


def leaves():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    w = torch.full((3,), 2.0, requires_grad=True)
    return x, w


def titles(picture):
    return [node.title for node in picture.nodes]


def lines_of(picture, title):
    (node,) = [node for node in picture.nodes if node.title == title]
    return node.lines


def test_nodes_edges_and_leaves_are_those_of_grad_fn():
    x, w = leaves()
    picture = draw_graph((x * w).exp().sum(), x=x, w=w)
    assert titles(picture) == [
        "result ()", "SumBackward0", "ExpBackward0", "MulBackward0", *titles(picture)[4:]
    ]  # fmt: skip
    assert sorted(titles(picture)[4:]) == ["w (3,)", "x (3,)"]
    edges = [
        (node.title, child.title, output) for node in picture.nodes for child, output in node.inputs
    ]
    assert edges == [
        ("result ()", "SumBackward0", 0),
        ("SumBackward0", "ExpBackward0", 0),
        ("ExpBackward0", "MulBackward0", 0),
        ("MulBackward0", "x (3,)", 0),
        ("MulBackward0", "w (3,)", 0),
    ]


def test_a_tensor_that_is_used_twice_is_one_node_with_two_edges():
    x, _ = leaves()
    picture = draw_graph(x * x, x=x)
    assert [child.title for child, _ in picture.nodes[1].inputs] == ["x (3,)", "x (3,)"]
    assert titles(picture).count("x (3,)") == 1
    assert picture.mermaid.count("n1 --> n2") == 2


def test_the_outputs_of_one_function_are_told_apart():
    x, _ = leaves()
    first, second = x.split([1, 2])
    picture = draw_graph(first.sum() * second.sum())
    assert "(its output 1)" in picture.alt
    assert '-->|"output 1"|' in picture.mermaid


def test_every_node_comes_before_those_that_its_gradients_go_to():
    x, w = leaves()
    h = x * w
    picture = draw_graph((h * h + h.exp() * x).sum())
    place = {id(node): number for number, node in enumerate(picture.nodes)}
    for node in picture.nodes:
        assert all(place[id(child)] > place[id(node)] for child, _ in node.inputs)


def test_saved_tensors_have_name_shape_and_bytes_and_are_counted_once():
    x, w = leaves()
    h = x * w
    picture = draw_graph((h.exp() * w).sum(), x=x, w=w, h=h)
    assert lines_of(picture, "ExpBackward0") == ["saved result: (3,), 12 B"]
    product = next(node for node in picture.nodes if "gives h (3,)" in node.lines)
    assert product.lines[1:] == ["saved other: w (3,), 12 B", "saved self: x (3,), 12 B"]
    # The result of exp is saved by exp and by the second product, w by both products.
    assert picture.saved_bytes == 3 * 12
    assert "Saved for it: 36 bytes." in picture.caption


def test_what_was_changed_in_place_says_so_with_both_versions():
    x, _ = leaves()
    y = x.exp()
    y.detach().add_(1)
    picture = draw_graph(y, y=y)
    assert picture.nodes[1].kind == "broken"
    assert lines_of(picture, "ExpBackward0") == ["saved result: CHANGED, version 0, now 1"]
    assert "What was changed is not counted" in picture.caption
    assert ":::broken" in picture.mermaid
    assert picture.nodes[0].lines == ["version 1"]


def test_what_a_backward_freed_says_so():
    x, _ = leaves()
    y = x.exp().sum()
    y.backward()
    picture = draw_graph(y)
    assert lines_of(picture, "ExpBackward0") == ["saved result: freed"]
    assert picture.saved_bytes == 0


def test_gradients_are_shown_after_backward():
    x, w = leaves()
    h = x * w
    h.retain_grad()
    loss = (h * h).sum()
    assert lines_of(draw_graph(loss, x=x), "x (3,)") == ["grad None"]
    loss.backward()
    picture = draw_graph(loss, x=x, w=w, h=h)
    assert lines_of(picture, "x (3,)") == ["grad [8, 16, 24]"]
    assert any(line == "gives h (3,), grad [4, 8, 12]" for n in picture.nodes for line in n.lines)
    big = torch.ones(10, requires_grad=True)
    loss = big.sum()
    loss.backward()
    assert lines_of(draw_graph(loss), "leaf (10,)") == ["grad (10,), norm 3.16"]


def test_versions_of_leaves_are_shown_once_they_were_written_to():
    x, _ = leaves()
    with torch.no_grad():
        x += 1
    assert lines_of(draw_graph(x.exp(), x=x), "x (3,)") == ["version 1", "grad None"]


def test_names_that_the_graph_does_not_reach_are_listed():
    x, w = leaves()
    h = x * 2
    picture = draw_graph((x * 3).sum(), x=x, w=w, h=h, constant=torch.ones(3))
    assert "Not in this graph: w, h, constant." in picture.caption
    assert "x" not in picture.strangers


def test_a_leaf_alone_is_one_box():
    x, _ = leaves()
    picture = draw_graph(x, x=x)
    assert [(node.kind, node.title) for node in picture.nodes] == [("leaf", "x (3,)")]
    assert Image.open(io.BytesIO(picture._repr_mimebundle_()[0]["image/png"])).format == "PNG"


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return 2 * x * gradient


def test_a_function_of_ones_own_is_drawn():
    x, _ = leaves()
    y = Square.apply(x)
    assert lines_of(draw_graph(y, x=x), "SquareBackward") == ["saved tensors[0]: x (3,), 12 B"]
    y.sum().backward()
    assert lines_of(draw_graph(y, x=x), "SquareBackward") == ["saved: freed"]


def test_lists_of_saved_tensors_are_drawn():
    x, _ = leaves()
    picture = draw_graph(x[[0, 2]], x=x)
    assert lines_of(picture, "IndexBackward0") == ["saved indices[0]: (2,), 16 B"]


def test_a_sparse_gradient_is_drawn():
    table = nn.Embedding(4, 2, sparse=True)
    loss = table(torch.tensor([1, 3])).sum()
    loss.backward()
    assert "grad (4, 2), sparse" in draw_graph(loss).alt


def test_a_module_is_drawn_with_the_names_of_its_parameters():
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    loss = F.cross_entropy(model(torch.ones(5, 4)), torch.zeros(5, dtype=torch.long))
    picture = draw_graph(loss, **dict(model.named_parameters()))
    for name, parameter in model.named_parameters():
        assert f"{name} {tuple(parameter.shape)}" in titles(picture)
    assert picture.strangers == []


def test_drawing_leaves_the_graph_as_it_was():
    x, w = leaves()
    y = (x * w).exp().sum()
    draw_graph(y, x=x)._repr_mimebundle_()
    y.backward()
    assert torch.equal(x.grad, (w * (x * w).exp()).detach())


def scalars():
    a = torch.tensor(2.0, requires_grad=True)
    b = torch.tensor(0.5, requires_grad=True)
    s = a * b
    return a, b, s, s.exp()


def test_values_and_slopes_stand_in_every_box_of_a_scalar_graph():
    a, b, s, t = scalars()
    y = s * t
    picture = draw_graph(y, values=True, a=a, b=b, s=s, t=t)
    assert {node.title: node.lines for node in picture.nodes} == {
        "y = 2.72": ["MulBackward0", "slope 1"],
        "t = 2.72": ["ExpBackward0", "slope 1"],
        "s = 1": ["MulBackward0", "slope 5.44"],
        "a = 2": ["slope 2.72"],
        "b = 0.5": ["slope 10.9"],
    }
    assert [node.kind for node in picture.nodes[:2]] == ["output", "function"]
    assert picture.caption == "Arrows: the way of backward. Each slope is that of y there."
    assert Image.open(io.BytesIO(picture._repr_mimebundle_()[0]["image/png"])).format == "PNG"
    # Neither the graph nor a gradient is used up.
    assert a.grad is None
    y.backward()
    assert a.grad.item() == pytest.approx(2.7183, abs=1e-3)
    # Without what was saved there is no slope, and the numbers stay.
    freed = draw_graph(y, values=True, a=a, b=b, s=s, t=t)
    assert {node.title for node in freed.nodes} == {node.title for node in picture.nodes}
    assert not any("slope" in line for node in freed.nodes for line in node.lines)


def test_a_value_without_a_name_keeps_its_functions():
    a, b, _, t = scalars()
    picture = draw_graph(t * t, values=True, a=a, b=b)
    assert picture.nodes[0].title == "result = 7.39"
    assert lines_of(picture, "ExpBackward0") == ["slope 5.44"]


def test_saved_tensors_are_left_out_or_shown_as_asked():
    a, b, s, t = scalars()
    shown = draw_graph(t, values=True, saved=True, a=a, b=b, s=s)
    assert "saved result: (), 4 B" in lines_of(shown, "t = 2.72")
    left_out = draw_graph(t, saved=False, a=a, b=b, s=s)
    assert not any("saved" in line for node in left_out.nodes for line in node.lines)
    assert left_out.saved_bytes == draw_graph(t).saved_bytes == 12
    assert "Saved" not in left_out.caption


def test_a_leaf_and_several_outputs_have_slopes():
    a, *_ = scalars()
    assert [(n.title, n.lines) for n in draw_graph(a, values=True).nodes] == [
        ("a = 2", ["slope 1"])
    ]
    x, _ = leaves()
    first, second = x.split([1, 2])
    loss = first.sum() * second.sum()
    picture = draw_graph(loss, values=True, x=x)
    assert lines_of(picture, "SplitWithSizesBackward0") == ["slope [5]", "slope [1, 1]"]
    assert lines_of(picture, "x = [1, 2, 3]") == ["slope [5, 1, 1]"]


def test_slopes_of_several_numbers_are_refused():
    with pytest.raises(ValueError, match=r"slopes of one number; the tensor has shape \(3,\)"):
        draw_graph(leaves()[0] * 2, values=True)


@pytest.mark.parametrize("make", [lambda x: x.detach(), lambda x: torch.ones(2)])
def test_a_tensor_without_a_graph_is_refused(make):
    with pytest.raises(ValueError, match="does not require grad"):
        draw_graph(make(leaves()[0]))


def test_a_graph_that_is_too_large_is_refused():
    x, _ = leaves()
    for _ in range(MOST_NODES):
        x = x + 1
    with pytest.raises(ValueError, match="more than 60 nodes"):
        draw_graph(x)


def test_a_notebook_gets_mermaid_a_picture_and_words(monkeypatch):
    monkeypatch.delenv("COURSE_PICTURES", raising=False)
    x, w = leaves()
    picture = draw_graph((x * w).sum(), x=x, w=w)
    data, metadata = picture._repr_mimebundle_()
    assert set(data) == {"text/vnd.mermaid", "image/png", "text/plain"}
    assert metadata["image/png"]["alt"] == data["text/plain"] == picture.alt
    image = Image.open(io.BytesIO(data["image/png"]))
    assert image.format == "PNG"
    assert len(image.convert("RGB").getcolors(100_000)) > 5
    # Where a grader draws, a page may not fetch Mermaid's script; where nobody looks, words do.
    monkeypatch.setenv("COURSE_PICTURES", "drawn")
    assert set(picture._repr_mimebundle_()[0]) == {"image/png", "text/plain"}
    monkeypatch.setenv("COURSE_PICTURES", "words")
    assert set(picture._repr_mimebundle_()[0]) == {"text/plain"}


def test_mermaid_is_what_its_grammar_takes():
    x, w = leaves()
    text = draw_graph((x * w).sum(), **{'a"b<c': x, "{w}": w}).mermaid
    # What is said to who sees no picture ends at the first brace, so it must hold none.
    said, lines = re.fullmatch(
        r"flowchart TD\n  accTitle: .*\n  accDescr \{\n([^{}]*)\n  \}\n(.*)", text, re.DOTALL
    ).groups()
    assert "MulBackward0" in said
    for line in lines.splitlines():
        assert re.fullmatch(
            r'  (n\d+\["[^"]*"\]:::\w+|n\d+ --> n\d+|caption\["[^"]*"\]:::caption|classDef .*)',
            line,
        ), line
    assert "a&quot;b&lt;c" in text


def test_a_cell_shows_the_picture_once():
    (cell,) = run_cells(
        "import torch\nfrom course_utils import draw_graph\n"
        "x = torch.ones(2, requires_grad=True)\ndraw_graph(x * x, x=x)"
    )
    (output,) = cell.outputs
    assert output.metadata["image/png"]["alt"].startswith("A graph")
    assert output.data["text/vnd.mermaid"].startswith("flowchart TD")
