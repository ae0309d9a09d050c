"""Exercise 8.4: what the learner's own Module has to say."""

from __future__ import annotations

import torch

from course_utils.learner.checks import check_close, check_equal


def check_load(trial, state, bad, words):
    """Load a state into the tree; ``bad`` are the names that its RuntimeError has to contain."""
    right = mini_state()
    new = {name: tensor + 10.5 for name, tensor in right.items()}
    error, same, flags, kept, apart, after = trial("load", state)
    assert same, "the model's tensors are new objects, or not leaves: copy the values in place"
    if bad:
        assert error, f"{words}: no RuntimeError was raised"
        silent = [name for name in bad if name not in error]
        assert not silent, f"{words}: the message does not name {', '.join(silent)}: {error!r}"
    else:
        assert not error, f"a state dict that fits raised a RuntimeError: {error}"
    for name, tensor in (right if bad else new).items():
        what = f"{name} after a load that failed (nothing is loaded)" if bad else f"{name}, loaded"
        assert name in after, f"{name} is not in state_dict()"
        check_close(after[name], tensor, what)
    check_equal(
        flags,
        [True, True, False, False, False],
        "requires_grad",
        "the last weight was frozen before",
    )
    assert kept, "the dict that was loaded lost some of its names: only read it"
    words = "tensors of the dict that was loaded change with the model: copy their values"
    assert apart, words


CHANGES = {
    "special parameter": (["x"], [], ["x"], "Special", [1.0]),
    "buffer, longer tensor": ([], ["x"], ["x"], "Tensor", [2.0, 3.0]),
    "buffer, whole numbers": ([], ["x"], ["x"], "Tensor", [2]),
    "parameter, None": ([], [], [], "NoneType", None),
    "parameter, text": ([], [], [], "str", None),
    "text, parameter": (["x"], [], ["x"], "MiniParameter", [1.0]),
    "parameter, module": (
        ["x.weight"],
        ["x.seen", "x.cache"],
        ["x.seen", "x.weight"],
        "module",
        None,
    ),
    "text, module": (["x.weight"], ["x.seen", "x.cache"], ["x.seen", "x.weight"], "module", None),
    "module, parameter": (["x"], [], ["x"], "MiniParameter", [1.0]),
    "tensor": ([], [], [], "Tensor", [2.0]),
    "buffer, tensor": ([], ["x"], ["x"], "Tensor", [2.0]),
    "buffer, tensor that requires grad": ([], ["x"], ["x"], "Tensor", [2.0]),
    "buffer, module": (["x.weight"], ["x.seen", "x.cache"], ["x.seen", "x.weight"], "module", None),
    "buffer, None, tensor": ([], [], [], "Tensor", [2.0]),
    "counter": ([], ["x"], ["x"], "Tensor", 4),
    "parameter, tensor": ([], [], [], "Tensor", [2.0]),
    "buffer, None": ([], [], [], "NoneType", None),
    "buffer, number": ([], [], [], "int", None),
    "buffer, parameter": (["x"], [], ["x"], "MiniParameter", [1.0]),
    "module, text": ([], [], [], "str", None),
    "buffer, text, tensor": ([], [], [], "Tensor", [2.0]),
    "parameter, buffer": ([], ["x"], ["x"], "Tensor", [0.0]),
    "module, buffer": ([], ["x"], ["x"], "Tensor", [0.0]),
    "number, buffer": ([], ["x"], ["x"], "Tensor", [0.0]),
    "fleeting, tensor": ([], ["x"], [], "Tensor", [2.0]),
    "fleeting, buffer": ([], ["x"], ["x"], "Tensor", [0.0]),
    "fleeting, parameter": (["x"], [], ["x"], "MiniParameter", [1.0]),
}


# What a case is about, where it is more than that a name holds one thing.
ABOUT = {
    "fleeting, tensor": "the new tensor is as persistent as the buffer whose name it takes",
    "fleeting, buffer": "persistent is what register_buffer says last of a name",
    "buffer, fleeting": "persistent is what register_buffer says last of a name",
}
ASKED = ("named_parameters()", "named_buffers()", "state_dict()", "the type of x", "the value of x")


def check_one_name(trial, changes, right):
    """One name, assigned to several times: what the module says of it."""
    *found, other = trial(changes)
    why = ABOUT.get(", ".join(changes), "a name holds one thing")
    for what, expected, got in zip(ASKED, right, found, strict=True):
        check_equal(got, expected, what, why)
    what = "an older module's buffer that isn't persistent: named_buffers() and state_dict()"
    why = "each module has its own drawers and its own notes"
    why = "it isn't saved, but it is a buffer" if other == ([], []) else why
    check_equal(other, (["x"], []), what, why)


def check_tree(trial, case):
    """Names, calls and attributes of a small tree."""
    listed = ["scale", "tied", "left.weight", "inner.leaf.weight", "last.weight"]
    leaves = ("left", "right", "inner.leaf", "last")
    buffers = [f"{leaf}.{name}" for leaf in leaves for name in ("seen", "cache")]
    tree_names = {"named_parameters": listed, "named_buffers": buffers}
    for method, right in tree_names.items():
        with case(method):
            found = trial(method)
            twice, lost = (
                [n for n in a if n not in b] for a, b in ((found, right), (right, found))
            )
            hint = f"; {', '.join(twice)}: listed a second time?" if twice else ""
            if "right.weight" in found and "tied" not in found:
                hint = "; the first name is the module's own: own ones first, then the children's"
            elif twice and lost:
                hint = "; what is shared goes by the name that was assigned first"
            elif lost and all(name.endswith("cache") for name in lost):
                hint = "; a buffer that isn't persistent is a buffer all the same"
            elif [*found, "last.weight"] == right:
                hint = "; last.weight is frozen, yet it is a parameter"
            assert sorted(found) == sorted(right), f"expected {right}, got {found}{hint}"
            check_equal(found, right, "the order", "own ones first, then each child with all below")
    with case("the parameters that are listed"):
        assert trial("same objects") is True, "they are not the objects that were assigned"
    with case("two parameters of equal values"):
        names = trial("equal values")
        why = "two objects are two parameters, whatever their values: compare by id"
        check_equal(names, ["first", "second"], "named_parameters()", why)
    with case("two parameters in one memory"):
        why = "two objects are two parameters, even in one memory: compare by id, not data_ptr"
        check_equal(trial("one memory")[0], ["first", "second"], "named_parameters()", why)
    with case("two buffers in one memory"):
        why = "two objects are two buffers, even in one memory: compare by id, not data_ptr"
        check_equal(trial("one memory")[1], ["third", "fourth"], "named_buffers()", why)
    with case("buffers, persistent and not in turn"):
        why = "in the order of assignment, persistent or not"
        check_equal(trial("mixed"), ["b0", "b1", "b2", "b3"], "named_buffers()", why)
    with case("the lists, asked again after left.late and left.late_too were assigned"):
        why = "walk the tree at each call"
        check_equal(trial("later"), ["left.late", "left.late_too"], "the new names in them", why)
    with case("a list of modules, and a list of a parameter"):
        why = "a list is a plain attribute: what is in it is neither child nor parameter"
        what = "named_parameters(), named_buffers(), state_dict(), and the type of the attribute"
        check_equal(trial("list"), [[], [], [], "list"], what, why)
    with case("a child in eval mode, assigned to a module in training mode"):
        why = "train() and eval() set modes; to assign a child sets none"
        check_equal(trial("asleep"), (False, True), "training of the child and of the module", why)
    with case("a float64 tensor assigned to a float32 buffer's name"):
        found, right = trial("new value"), ([1.0, 1.0], "torch.float64", [0.0, 0.0])
        why = "the buffer is that tensor now; the old one, which others may hold, stays as it was"
        check_equal(found, right, "the buffer's values and dtype, and the old tensor's values", why)
    with case("a tensor of the same shape and dtype, assigned to a buffer's name"):
        why = "the old tensor, which others may hold, stays as it was: nothing is copied into it"
        what = "is module.name that tensor now, and the old tensor's values"
        check_equal(trial("another object"), (True, [0.0, 0.0]), what, why)
    with case("module(x, shift=1.0) calls forward"):
        right = torch.tensor([3.0 * 5 + 1, 2.0 * 3 * 2 * 6 + 1])
        check_close(trial("call"), right, "its result")
    with case("gradients"):
        grads = [sum([1.0 * 5, 2.0 * 6]), [3.0, 6.0], [15.0, 18.0], None, None]
        check_equal(trial("trains"), grads, "the parameters' grad after backward()")
    with case("a plain attribute, and training"):
        check_equal(trial("plain"), ("plain", True), "leaf.note and leaf.training of a new leaf")
    with case("a name that doesn't exist"):
        found = trial("unknown")
        assert not found, f"no AttributeError: hasattr(module, {found[0]!r}) is True"
    with case("a child whose class is derived from a class that is derived from MiniModule"):
        why = "an instance of a subclass of a subclass is a child, too: ask isinstance"
        right = (["part.weight"], ["part.seen", "part.cache"])
        check_equal(trial("grandchild"), right, "named_parameters() and named_buffers()", why)


def check_names(trial, case):
    """One name, assigned to several times; a fleeting buffer is one that is not persistent."""
    for change, right in CHANGES.items():
        with case(f"one name: {change}"):
            check_one_name(trial, change.split(", "), right)


def mini_state() -> dict[str, torch.Tensor]:
    """The right state dict of the tree."""
    right = {"scale": torch.tensor(3.0), "tied": torch.tensor([5.0, 6.0])}
    for leaf, start in {
        "left": 1.0,
        "right": 5.0,
        "again": 1.0,
        "inner.leaf": 7.0,
        "last": 9.0,
    }.items():
        right[f"{leaf}.weight"] = torch.tensor([start, start + 1])
        right[f"{leaf}.seen"] = torch.zeros(2)
    return right | {"last.twin": torch.zeros(2)}


def check_state(trial, case, right):
    """state_dict()."""
    with case("state_dict"):
        found = trial("state")
        fleeting = [name for name in found if "cache" in name]
        assert not fleeting, f"{', '.join(fleeting)}: not persistent, so not to be saved"
        missing = [name for name in right if name not in found]
        assert not missing, f"not in it: {', '.join(missing)} (shared ones are under each name)"
        check_equal(sorted(found), sorted(right), "its names")
        for name, tensor in right.items():
            check_close(found[name], tensor, name)
    with case("state_dict, detached"):
        check_equal(trial("detached"), [], "those that require grad")
    with case("state_dict, asked again after left.late was assigned"):
        check_equal(trial("later"), ["again.late", "left.late"], "the new names in it")
    with case("state_dict, a buffer elsewhere has a saved one's name and isn't persistent"):
        saved = sorted(name for name in right if name.endswith("seen"))
        why = "whether a buffer is saved is noted for each module"
        check_equal(trial("namesakes"), saved, "the buffers called seen", why)
    with case("state_dict, in the model's memory"):
        memory = trial("memory")
        check_equal(memory, ([9.0, 9.0], [8.0, 8.0]), "the dict after the model changed in place")
    with case("state_dict, in the model's memory: a transposed parameter, every second number"):
        why = "detached, and no copy, contiguous or not"
        right = ([[9.0, 9.0]], [8.0, 8.0])
        check_equal(trial("views"), right, "the dict after the model changed in place", why)


def check_exact(trial, case):
    """load_state_dict with a whole number that float32 can't hold, and a third in float64."""
    large, third = torch.tensor(2**24 + 1), torch.tensor([1.0], dtype=torch.float64) / 3
    with case("load_state_dict, a whole number of 25 bits and a third in float64"):
        error, count, value = trial("exact", {"count": large, "third": third})
        assert not error, f"a state dict that fits raised a {error}"
        why = "copy_ as it is: float32 has 24 bits"
        check_equal((count, value), (large.item(), third.item()), "both, loaded", why)
    with case("load_state_dict, a buffer of whole numbers is missing"):
        error, count, value = trial("exact", {"third": third})
        told = f"the error was {error!r}"
        words = "a buffer of another dtype has to be there, too: a RuntimeError that names count"
        named = error.startswith("RuntimeError") and "count" in error
        assert named, f"{words}; {told}"
        check_equal((count, value), (4, 0.0), "both after a load that failed", "nothing is loaded")


IN_TREE = (
    "training of root, left, right, inner, inner.leaf, inner.leaf.more.end, and"
    " inner.leaf.more.empty (which holds nothing)"
)


def check_modes(trial, case):
    """train() and eval()."""
    for deep, mode in ((True, False), (True, True), (False, True), (False, False)):
        call = f"{'root' if deep else 'left'}.{'train' if mode or not deep else 'eval'}"
        with case(f"{call}({'' if deep else mode})"):
            modes, itself = trial(deep, mode)
            other = [mode] * 7 if deep else [not mode, mode, *[not mode] * 5]
            check_equal(modes, other, IN_TREE)
            assert itself, "it does not return the module"
    for mode in (True, False):
        with case(f"root.{'train' if mode else 'eval'}(), the root is in that mode, a leaf isn't"):
            modes, _ = trial(True, mode, True)
            check_equal(modes, [mode] * 7, IN_TREE)
