"""Values cross the wire unchanged, and no lie that crosses it does harm on the other side."""

import json
import math
import socket
import struct
from typing import NamedTuple

import numpy as np
import pytest
import torch

from course_utils.grading.verdict import encoding, memory, wire
from course_utils.grading.verdict.known import Known


def no_handle(value):
    raise AssertionError(f"{type(value).__name__} became a handle")


def cross(value):
    """``value`` as the other side sees it, after a journey through bytes."""
    return crossing(value)[0]


def crossing(value):
    """What the other side sees, and its decoder."""
    encoder = encoding.Encoder(Known(), no_handle)
    message = json.loads(json.dumps(encoder.encode(value)))
    decoder = encoding.Decoder(encoder.blobs, Known(), no_handle)
    return decoder.decode(message), decoder


def decode(message, *blobs, known=None):
    return encoding.Decoder(list(blobs), known or Known(), no_handle).decode(message)


PLAIN = [
    *(None, True, False, 0, -1, 2**70, 1.5, "", "word", "\U0001f600", b"", b"\x00\xff"),
    *(1 + 2j, ..., range(1, 9, 3), slice(None, 3, None), torch.float16, torch.device("cpu")),
    *((), [], {}, set(), (1, [2, {"a": (3,)}]), {(1, 2): "x", None: [..., 1j]}, {1, 2}),
    torch.Size((2, 3)),
]


@pytest.mark.parametrize("value", PLAIN, ids=repr)
def test_a_plain_value_arrives_as_it_is(value):
    arrived = cross(value)
    assert type(arrived) is type(value)
    assert arrived == value


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_float_that_is_no_number_arrives(value):
    assert repr(cross(value)) == repr(value)


NUMBERS = [np.float32(1.5), np.int8(-3), np.bool_(True), np.uint64(2**63), np.float16(0.5)]


@pytest.mark.parametrize("value", NUMBERS, ids=repr)
def test_a_number_of_numpy_keeps_its_kind(value):
    arrived = cross(value)
    assert type(arrived) is type(value)
    assert arrived == value


def test_nan_of_numpy_arrives():
    assert math.isnan(cross(np.float64("nan")))


ARRAYS = [np.arange(6.0).reshape(2, 3), np.zeros((0, 2)), np.array(3), np.arange(9)[::-2]]


@pytest.mark.parametrize("value", ARRAYS, ids=repr)
def test_an_array_arrives(value):
    arrived = cross(value)
    assert (arrived.dtype, arrived.shape) == (value.dtype, value.shape)
    assert (arrived == value).all()


base = torch.arange(24.0)
LAYOUTS = {
    "plain": base,
    "a slice with an offset": base.view(4, 6)[1:, 2:5],
    "transposed": base.view(4, 6).t(),
    "expanded": base[:1].expand(3, 5),
    "overlapping": base.as_strided((4, 3), (1, 2), 5),
    "without dimensions": torch.tensor(7.0),
    "empty": torch.empty(0, 3),
    "an empty slice at the end": base[24:],
    "booleans": base > 3,
    "half": base.half()[3:],
    "bfloat16": base.bfloat16(),
    "complex": torch.complex(base, -base).view(6, 4).t(),
    "nan and infinities": torch.tensor([math.nan, math.inf, -math.inf, -0.0]),
    "channels last": torch.zeros(2, 3, 4, 5).contiguous(memory_format=torch.channels_last),
}


@pytest.mark.parametrize("tensor", LAYOUTS.values(), ids=LAYOUTS)
def test_a_tensor_arrives_with_its_layout_and_its_storage(tensor):
    arrived = cross(tensor)
    assert type(arrived) is torch.Tensor
    assert memory.layout_of(arrived) == memory.layout_of(tensor)
    assert arrived._is_view() == tensor._is_view()
    assert arrived.untyped_storage().nbytes() == tensor.untyped_storage().nbytes()
    assert torch.equal(arrived.isnan(), tensor.isnan())
    assert torch.equal(arrived.nan_to_num(5.0), tensor.nan_to_num(5.0))


@pytest.mark.parametrize(
    "tensor", [torch.tensor([1 + 2j]).conj(), torch.tensor([1 + 2j]).conj().imag]
)
def test_a_lazily_negated_or_conjugated_tensor_arrives_with_its_values(tensor):
    assert cross(tensor).tolist() == tensor.tolist()


def test_whether_a_gradient_is_wanted_arrives():
    leaf = torch.ones(2, requires_grad=True)
    assert cross(leaf).requires_grad
    assert not cross(leaf.detach()).requires_grad


def test_tensors_that_share_memory_share_it_on_the_other_side():
    first, second, other = cross((base[3:], base.view(4, 6).t(), torch.ones(2)))
    assert first.untyped_storage().data_ptr() == second.untyped_storage().data_ptr()
    assert other.untyped_storage().data_ptr() != first.untyped_storage().data_ptr()


def test_a_tensor_that_went_through_numpy_still_shares_memory():
    first, second = cross((base, torch.from_numpy(base.numpy()[4:])))
    first[4] = -1.0
    assert second[0] == -1.0


def test_a_tensor_sent_twice_is_one_tensor():
    one, two, view = cross((base, base, base[:]))
    assert one is two
    assert view is not one


def test_a_tensor_that_the_other_side_knows_stays_that_tensor():
    known, tensor = Known(), torch.ones(3)
    storage = tensor.untyped_storage()
    known.name(tensor, known.storages.add(storage, memory.storage_bytes(storage)), False)
    encoder = encoding.Encoder(known, no_handle)
    assert encoder.encode([tensor]) == ["list", [["same", 0]]]
    assert encoder.blobs == []


class Liar(torch.Tensor):
    """A tensor that says it equals everything, has any shape and holds other values."""

    shape = property(lambda self: torch.Size((1, 2, 3)))
    stride = tolist = detach = __eq__ = lambda self, *_: self

    def __hash__(self):
        return 0

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return torch.full((3,), 42.0)


class EqualToAll(int):
    def __eq__(self, other):
        return True

    def __hash__(self):
        return 0

    def __int__(self):
        return 77

    __index__ = __add__ = __int__


class LyingText(str):
    def __eq__(self, other):
        return True

    __hash__ = str.__hash__

    def __str__(self):
        return "something else"

    def __add__(self, other):
        return "something else"


class LyingFloat(float):
    def __add__(self, other):
        return 3.0


class LyingDict(dict):
    def items(self):
        return [("a", 9)]

    def __getitem__(self, key):
        return 9

    __iter__ = keys = lambda self: iter(["a"])


class LyingList(list):
    def __iter__(self):
        return iter([9])


class LyingSize(tuple):
    __slots__ = ()

    def __iter__(self):
        return iter([9])


def test_a_subclass_that_lies_arrives_as_the_plain_value_inside():
    lie = torch.arange(3.0).as_subclass(Liar)
    values = [
        (lie, torch.Tensor),
        (torch.nn.Parameter(torch.arange(3.0)), torch.Tensor),
        (EqualToAll(5), int),
        (LyingText("truth"), str),
        (LyingFloat(1.5), float),
        (LyingDict(b=1), dict),
        (LyingList([1, 2]), list),
        (LyingSize((1, 2)), tuple),
    ]
    for value, kind in values:
        assert type(cross(value)) is kind
    assert cross(lie).tolist() == [0.0, 1.0, 2.0]
    assert cross(EqualToAll(5)) == 5
    assert cross(LyingText("truth")) == "truth"
    assert cross(LyingFloat(1.5)) == 1.5
    assert cross(LyingDict(b=1)) == {"b": 1}
    assert cross(LyingList([1, 2])) == [1, 2]
    assert cross(LyingSize((1, 2))) == (1, 2)


class LyingClass:
    __class__ = torch.Tensor

    def __eq__(self, other):
        return True

    __hash__ = object.__hash__


@pytest.mark.parametrize(
    "value",
    [
        *(LyingClass(), object(), int, len, base.to_sparse()),
        *(np.longdouble(1), np.ones(2, np.longdouble), np.datetime64("2026")),
    ],
    ids=[
        *("a class that lies", "an object", "a class", "a function", "a sparse tensor"),
        *("a long double", "an array of them", "a date"),
    ],
)
def test_what_is_no_plain_value_becomes_a_handle(value):
    handles = []
    encoder = encoding.Encoder(Known(), lambda v: handles.append(v) or ["handle"])
    assert encoder.encode([value]) == ["list", [["handle"]]]
    assert len(handles) == 1
    assert handles[0] is value


def test_nesting_without_end_becomes_a_handle():
    value = []
    value.append(value)
    encoder = encoding.Encoder(Known(), lambda _: ["handle"])
    assert '["handle"]' in json.dumps(encoder.encode(value))


def tensor(number=0, blob=0, size=(4,), stride=(1,), offset=0, dtype="torch.float32", grad=False):
    return ["tensor", number, blob, [list(size), list(stride), offset, dtype], grad, True, False]


SIXTEEN = bytes(16)
LIES = {
    "reaches behind its storage": tensor(size=[5]),
    "starts behind its storage": tensor(offset=1),
    "a stride that reaches behind": tensor(size=[2], stride=[4]),
    "a wider dtype": tensor(dtype="torch.float64"),
    "a negative size": tensor(size=[-1]),
    "a negative stride": tensor(stride=[-1]),
    "a negative offset": tensor(offset=-1),
    "sizes whose product overflows": tensor(size=[2**40, 2**40], stride=[0, 0], dtype="torch.int8"),
    "a size past 64 bits": tensor(size=[2**70], stride=[0]),
    "a stride past 64 bits": tensor(size=[1], stride=[2**70]),
    "more strides than sizes": tensor(stride=[1, 1]),
    "a fraction as a size": tensor(size=[1.5]),
    "truth as a size": tensor(size=[True]),
    "words as a size": tensor(size=["4"]),
    "no layout": ["tensor", 0, 0, None, False, True, False],
    "a layout cut short": ["tensor", 0, 0, [[4]], False, True, False],
    "an unknown dtype": tensor(dtype="torch.float31"),
    "no dtype": tensor(dtype=None),
    "a function of torch as a dtype": tensor(dtype="torch.save"),
    "a quantized dtype": tensor(dtype="torch.qint8"),
    "whole numbers with a gradient": tensor(dtype="torch.int32", grad=True),
    "an unknown storage": tensor(number=3, blob=None),
    "a storage before the first": tensor(number=-1, blob=None),
    "a storage out of order": tensor(number=5),
    "an unknown blob": tensor(blob=7),
    "a blob before the first": tensor(blob=-1),
    "a word for a blob": tensor(blob="0"),
    "the same as none": ["same", 0],
    "the same as the one before the first": ["same", -1],
    "the same as a truth": ["same", True],
    "no arguments": ["tensor"],
    "an empty list": [],
    "a bare object": {"a": 1},
    "an object inside": ["list", [{"a": 1}]],
    "entries that are none": ["list", 5],
    "a tuple of none": ["tuple", None],
    "a list as a dict's key": ["dict", [[["list", []], 1]]],
    "a dict of three": ["dict", [[1, 2, 3]]],
    "a list in a set": ["set", [["list", []]]],
    "a size of words": ["size", ["a"]],
    "no device": ["device", "warp drive"],
    "a list as a device": ["device", [1]],
    "a number as bytes": ["bytes", 5],
    "no bytes": ["bytes", "ä"],
    "a range without step": ["range", 0, 5, 0],
    "a range of fractions": ["range", 1.5],
    "a range of nothing": ["range"],
    "a slice of four": ["slice", 1, 2, 3, 4],
    "a complex word": ["complex", "1", 2],
    "objects of numpy": ["array", "O", [2], 0],
    "numbers of objects": ["number", "O", 1],
    "records": ["array", [["a", "f8"]], [2], 0],
    "a date": ["number", "datetime64[s]", 1],
    "a word as a number": ["number", "float64", "x"],
    "a list as a number": ["number", "float64", [1, 2]],
    "a number too large": ["number", "int8", 1000],
    "an array of the wrong length": ["array", "float64", [3], 0],
    "an array of negative sizes": ["array", "float64", [-1, -2], 0],
    "an array of any size": ["array", "float64", [-1], 0],
    "an array of odd bytes": ["array", "float64", [2], 1],
    "a dict as the kind": [{"a": 1}],
    "half a character": "\ud800",
    "half a character inside": ["list", ["\udc80"]],
    "a list as the kind": [["list"]],
    "a tower of lists": json.loads('["list",[' * 400 + "1" + "]]" * 400),
}


@pytest.mark.parametrize("message", LIES.values(), ids=LIES)
def test_a_lie_is_refused(message):
    with pytest.raises(wire.WireError):
        decode(message, SIXTEEN, b"odd")


def test_a_lie_about_a_storage_of_the_judges_is_refused():
    known, mine = Known(), torch.zeros(4)
    known.name(mine, known.storages.add(mine.untyped_storage(), SIXTEEN), False)
    for lie in (tensor(blob=None, size=[5]), tensor(blob=None, offset=4), tensor(number=0, blob=0)):
        with pytest.raises(wire.WireError):
            decode(lie, SIXTEEN, known=known)
    assert mine.untyped_storage().nbytes() == 16


def test_nothing_is_counted_from_the_end():
    known, mine = Known(), torch.zeros(4)
    known.name(mine, known.storages.add(mine.untyped_storage(), SIXTEEN), False)
    for lie in (tensor(blob=-1, number=1), tensor(number=-1, blob=None), ["same", -1]):
        with pytest.raises(wire.WireError):
            decode(lie, SIXTEEN, known=known)


def test_the_end_of_a_storage_can_be_reached_but_not_passed():
    assert decode(tensor(size=[2, 2], stride=[2, 1]), SIXTEEN).shape == (2, 2)
    assert decode(tensor(size=[0], offset=400), SIXTEEN).numel() == 0
    assert decode(tensor(size=[1000], stride=[0], offset=3), SIXTEEN).shape == (1000,)


def test_one_blob_named_often_does_not_fill_the_memory(monkeypatch):
    def full(*_):
        raise MemoryError

    monkeypatch.setattr(encoding, "new_storage", full)
    with pytest.raises(wire.WireError):
        decode(tensor(), SIXTEEN)


def test_an_unknown_kind_goes_to_the_handle():
    class Refused(Exception):
        pass

    def refuse(parts):
        raise wire.WireError(parts[0])

    decoder = encoding.Decoder([], Known(), refuse)
    for kind in ("decode", "_decode", "__init__", "import", "eval", "handle", "blobs"):
        with pytest.raises(wire.WireError):
            decoder.decode([kind, "os"])


@pytest.fixture
def pair():
    """What the judge reads from, and the other side's socket."""
    ours, theirs = socket.socketpair()
    for end in (ours, theirs):
        end.settimeout(5)
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
    with ours, theirs, ours.makefile("rb") as stream:
        yield stream, theirs


def test_a_message_arrives_with_its_blobs(pair):
    ours, theirs = pair
    wire.send(theirs, {"a": [1, "ä"]}, [b"", b"xyz"])
    assert wire.receive(ours) == ({"a": [1, "ä"]}, [b"", b"xyz"])


NO_MESSAGES = {
    "no JSON": b"hello",
    "half of it": b"[1, [2",
    "a bare number": b"5",
    "three parts": b"[1, [], 3]",
    "lengths that are none": b"[1, 5]",
    "a negative length": b"[1, [-1, 1]]",
    "a fraction": b"[1, [0.0]]",
    "lengths of other bytes": b"[1, [4]]",
    "a tower of lists": b"[" * 100_000,
    "a number of very many digits": b"[" + b"9" * 100_000 + b", []]",
    "invalid UTF-8": b"[\xff, []]",
}


@pytest.mark.parametrize("text", NO_MESSAGES.values(), ids=NO_MESSAGES)
def test_what_is_no_message_is_refused(pair, text):
    ours, theirs = pair
    theirs.sendall(wire.HEADER.pack(len(text), 0) + text)
    with pytest.raises(wire.WireError):
        wire.receive(ours)


def test_a_message_that_claims_to_be_huge_is_refused_unread(pair):
    ours, theirs = pair
    theirs.sendall(struct.pack("!II", 2**32 - 1, 2**32 - 1))
    with pytest.raises(wire.WireError, match="too long"):
        wire.receive(ours)


@pytest.mark.parametrize("start", [b"", b"\x00\x00", wire.HEADER.pack(9, 0) + b"[1,"])
def test_a_hang_up_is_told_apart(pair, start):
    ours, theirs = pair
    theirs.sendall(start)
    theirs.close()
    with pytest.raises(wire.Gone):
        wire.receive(ours)


class Point(NamedTuple):
    x: int
    y: list


def test_a_named_tuple_arrives_with_its_fields():
    point = cross(Point(1, [2.5]))
    assert (point.x, point.y) == (1, [2.5])
    assert repr(point) == "Point(x=1, y=[2.5])"
    assert point == Point(1, [2.5])
    largest = cross(torch.tensor([[1.0, 3.0]]).max(1))
    assert largest.values.tolist() == [3]
    assert largest.indices.tolist() == [1]


@pytest.mark.parametrize(
    "message",
    [
        ["named", "P", ["a", "b"], [1]],
        ["named", "P", ["a", "a"], [1, 2]],
        ["named", "P", ["_a"], [1]],
        ["named", "P", ["a=__import__('os')"], [1]],
        ["named", "P x", ["a"], [1]],
        ["named", "class", ["a"], [1]],
        ["named", "P" * 100, ["a"], [1]],
        ["named", "P", ["\u017f", "s"], [1, 2]],
        ["named", "P", [["a"]], [1]],
        ["named", 3, ["a"], [1]],
        ["named", "P", [f"a{n}" for n in range(1000)], list(range(1000))],
    ],
)
def test_a_named_tuple_that_is_none_is_refused(message):
    with pytest.raises(wire.WireError):
        decode(message)


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x.to_sparse(),
        lambda x: x.to_sparse_csr(),
        lambda x: x.to_mkldnn(),
        lambda x: torch.nested.nested_tensor([x, x[:1]]),
        lambda x: torch.nested.nested_tensor([x, x[:1]], layout=torch.jagged),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_a_tensor_without_a_storage_becomes_a_handle(make):
    handles = []
    encoder = encoding.Encoder(Known(), lambda value: handles.append(value) or ["it"])
    assert encoder.encode(make(torch.ones(2, 2))) == ["it"]
    assert len(handles) == 1
