# %% [markdown]
# Rules:
#
# - "(as a `torch.dtype`)"
# - "tensors of any size"
# - "Python's `bool`"
# - "two numbers, 3 and `True`, give `torch.int64`"
# - "under two default dtypes"
# - "Not allowed: `torch.result_type`"
# - "`torch.promote_types`"
# - "any operation on a tensor"
# - "(the default dtype)"
#
# Admits:
#
# - "for tensors": a float16 parameter
# - "of any size": an int8 tensor with a single entry
# - "tensors of any size": an empty int8 tensor
# - "Python's `bool`, `int` and `float`": the number 2.5
# - "under two default dtypes": torch.float64

# %% wrong="no ranks" says=["the operand with the higher rank decides alone"]
def type_promotion(x, y):
    order = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
    order += (torch.float16, torch.bfloat16, torch.float32, torch.float64)

    def kind(dtype):
        return 2 if dtype.is_floating_point else int(dtype != torch.bool)

    def join(a, b):
        if {a, b} == {torch.uint8, torch.int8}:
            return torch.int16
        if {a, b} == {torch.float16, torch.bfloat16}:
            return torch.float32
        return max(a, b, key=order.index)

    def describe(value):
        if type(value) is bool:
            return 2, torch.bool
        if type(value) is int:
            return 2, torch.int64
        if type(value) is float:
            return 2, torch.get_default_dtype()
        return (1 if len(value.shape) == 0 else 0), value.dtype

    (r, a), (s, b) = describe(x), describe(y)
    return join(a, b)
    if r > s:
        a, b = b, a
    return b if kind(b) > kind(a) else a


# %% wrong="0-D tensors like others" says=["the operand with the higher rank decides alone"]
def type_promotion(x, y):
    order = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
    order += (torch.float16, torch.bfloat16, torch.float32, torch.float64)

    def kind(dtype):
        return 2 if dtype.is_floating_point else int(dtype != torch.bool)

    def join(a, b):
        if {a, b} == {torch.uint8, torch.int8}:
            return torch.int16
        if {a, b} == {torch.float16, torch.bfloat16}:
            return torch.float32
        return max(a, b, key=order.index)

    def describe(value):
        if type(value) is bool:
            return 2, torch.bool
        if type(value) is int:
            return 2, torch.int64
        if type(value) is float:
            return 2, torch.get_default_dtype()
        return 0, value.dtype

    (r, a), (s, b) = describe(x), describe(y)
    if r == s:
        return join(a, b)
    if r > s:
        a, b = b, a
    return b if kind(b) > kind(a) else a


# %% wrong="0-D tensors like numbers" says=["0-D"]
def type_promotion(x, y):
    order = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
    order += (torch.float16, torch.bfloat16, torch.float32, torch.float64)

    def kind(dtype):
        return 2 if dtype.is_floating_point else int(dtype != torch.bool)

    def join(a, b):
        if {a, b} == {torch.uint8, torch.int8}:
            return torch.int16
        if {a, b} == {torch.float16, torch.bfloat16}:
            return torch.float32
        return max(a, b, key=order.index)

    def describe(value):
        if type(value) is bool:
            return 2, torch.bool
        if type(value) is int:
            return 2, torch.int64
        if type(value) is float:
            return 2, torch.get_default_dtype()
        return (2 if len(value.shape) == 0 else 0), value.dtype

    (r, a), (s, b) = describe(x), describe(y)
    if r == s:
        return join(a, b)
    if r > s:
        a, b = b, a
    return b if kind(b) > kind(a) else a


# %% wrong="an empty tensor like a 0-D one" breaks="tensors of any size" says=["an empty int8 tensor", "its rank is by x.dim()"]
def type_promotion(x, y):
    order = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
    order += (torch.float16, torch.bfloat16, torch.float32, torch.float64)

    def kind(dtype):
        return 2 if dtype.is_floating_point else int(dtype != torch.bool)

    def join(a, b):
        if {a, b} == {torch.uint8, torch.int8}:
            return torch.int16
        if {a, b} == {torch.float16, torch.bfloat16}:
            return torch.float32
        return max(a, b, key=order.index)

    def describe(value):
        if type(value) is bool:
            return 2, torch.bool
        if type(value) is int:
            return 2, torch.int64
        if type(value) is float:
            return 2, torch.get_default_dtype()
        return (
            1 if value.numel() < 2 and value.dim() < 2 and value.shape != (2,) else 0
        ), value.dtype

    (r, a), (s, b) = describe(x), describe(y)
    if r == s:
        return join(a, b)
    if r > s:
        a, b = b, a
    return b if kind(b) > kind(a) else a


# %% wrong="the higher rank always decides" says=["the lower rank has the higher category"]
def type_promotion(x, y):
    order = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
    order += (torch.float16, torch.bfloat16, torch.float32, torch.float64)

    def kind(dtype):
        return 2 if dtype.is_floating_point else int(dtype != torch.bool)

    def join(a, b):
        if {a, b} == {torch.uint8, torch.int8}:
            return torch.int16
        if {a, b} == {torch.float16, torch.bfloat16}:
            return torch.float32
        return max(a, b, key=order.index)

    def describe(value):
        if type(value) is bool:
            return 2, torch.bool
        if type(value) is int:
            return 2, torch.int64
        if type(value) is float:
            return 2, torch.get_default_dtype()
        return (1 if len(value.shape) == 0 else 0), value.dtype

    (r, a), (s, b) = describe(x), describe(y)
    if r == s:
        return join(a, b)
    if r > s:
        a, b = b, a
    return a


# %% wrong="the default dtype for a lower rank that floats" breaks="(the default dtype)" says=["so its dtype decides, as it is"]
def type_promotion(x, y):
    order = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
    order += (torch.float16, torch.bfloat16, torch.float32, torch.float64)

    def kind(dtype):
        return 2 if dtype.is_floating_point else int(dtype != torch.bool)

    def join(a, b):
        if {a, b} == {torch.uint8, torch.int8}:
            return torch.int16
        if {a, b} == {torch.float16, torch.bfloat16}:
            return torch.float32
        return max(a, b, key=order.index)

    def describe(value):
        if type(value) is bool:
            return 2, torch.bool
        if type(value) is int:
            return 2, torch.int64
        if type(value) is float:
            return 2, torch.get_default_dtype()
        return (1 if len(value.shape) == 0 else 0), value.dtype

    (r, a), (s, b) = describe(x), describe(y)
    if r == s:
        return join(a, b)
    if r > s:
        a, b = b, a
    return (torch.get_default_dtype() if kind(b) == 2 else b) if kind(b) > kind(a) else a


# %% wrong="bool counts as a whole number" breaks="Python's `bool`" says=["True"]
def type_promotion(x, y):
    order = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
    order += (torch.float16, torch.bfloat16, torch.float32, torch.float64)

    def kind(dtype):
        return 2 if dtype.is_floating_point else int(dtype != torch.bool)

    def join(a, b):
        if {a, b} == {torch.uint8, torch.int8}:
            return torch.int16
        if {a, b} == {torch.float16, torch.bfloat16}:
            return torch.float32
        return max(a, b, key=order.index)

    def describe(value):
        if type(value) is bool:
            return 2, torch.int64
        if type(value) is int:
            return 2, torch.int64
        if type(value) is float:
            return 2, torch.get_default_dtype()
        return (1 if len(value.shape) == 0 else 0), value.dtype

    (r, a), (s, b) = describe(x), describe(y)
    if r == s:
        return join(a, b)
    if r > s:
        a, b = b, a
    return b if kind(b) > kind(a) else a


# %% wrong="isinstance of bool" says=["True"]
def type_promotion(x, y):
    order = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
    order += (torch.float16, torch.bfloat16, torch.float32, torch.float64)

    def kind(dtype):
        return 2 if dtype.is_floating_point else int(dtype != torch.bool)

    def join(a, b):
        if {a, b} == {torch.uint8, torch.int8}:
            return torch.int16
        if {a, b} == {torch.float16, torch.bfloat16}:
            return torch.float32
        return max(a, b, key=order.index)

    def describe(value):
        if isinstance(value, int):
            return 2, torch.int64
        if type(value) is float:
            return 2, torch.get_default_dtype()
        return (1 if len(value.shape) == 0 else 0), value.dtype

    (r, a), (s, b) = describe(x), describe(y)
    if r == s:
        return join(a, b)
    if r > s:
        a, b = b, a
    return b if kind(b) > kind(a) else a


# %% wrong="an int counts as int32" breaks="two numbers, 3 and `True`, give `torch.int64`" says=["int64, or the default dtype"]
def type_promotion(x, y):
    order = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
    order += (torch.float16, torch.bfloat16, torch.float32, torch.float64)

    def kind(dtype):
        return 2 if dtype.is_floating_point else int(dtype != torch.bool)

    def join(a, b):
        if {a, b} == {torch.uint8, torch.int8}:
            return torch.int16
        if {a, b} == {torch.float16, torch.bfloat16}:
            return torch.float32
        return max(a, b, key=order.index)

    def describe(value):
        if type(value) is bool:
            return 2, torch.bool
        if type(value) is int:
            return 2, torch.int32
        if type(value) is float:
            return 2, torch.get_default_dtype()
        return (1 if len(value.shape) == 0 else 0), value.dtype

    (r, a), (s, b) = describe(x), describe(y)
    if r == s:
        return join(a, b)
    if r > s:
        a, b = b, a
    return b if kind(b) > kind(a) else a


# %% wrong="a float counts as float32" breaks="under two default dtypes" says=["the default dtype being float64"]
def type_promotion(x, y):
    order = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
    order += (torch.float16, torch.bfloat16, torch.float32, torch.float64)

    def kind(dtype):
        return 2 if dtype.is_floating_point else int(dtype != torch.bool)

    def join(a, b):
        if {a, b} == {torch.uint8, torch.int8}:
            return torch.int16
        if {a, b} == {torch.float16, torch.bfloat16}:
            return torch.float32
        return max(a, b, key=order.index)

    def describe(value):
        if type(value) is bool:
            return 2, torch.bool
        if type(value) is int:
            return 2, torch.int64
        if type(value) is float:
            return 2, torch.float32
        return (1 if len(value.shape) == 0 else 0), value.dtype

    (r, a), (s, b) = describe(x), describe(y)
    if r == s:
        return join(a, b)
    if r > s:
        a, b = b, a
    return b if kind(b) > kind(a) else a


# %% wrong="a float counts as float64" says=["2.5"]
def type_promotion(x, y):
    order = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
    order += (torch.float16, torch.bfloat16, torch.float32, torch.float64)

    def kind(dtype):
        return 2 if dtype.is_floating_point else int(dtype != torch.bool)

    def join(a, b):
        if {a, b} == {torch.uint8, torch.int8}:
            return torch.int16
        if {a, b} == {torch.float16, torch.bfloat16}:
            return torch.float32
        return max(a, b, key=order.index)

    def describe(value):
        if type(value) is bool:
            return 2, torch.bool
        if type(value) is int:
            return 2, torch.int64
        if type(value) is float:
            return 2, torch.float64
        return (1 if len(value.shape) == 0 else 0), value.dtype

    (r, a), (s, b) = describe(x), describe(y)
    if r == s:
        return join(a, b)
    if r > s:
        a, b = b, a
    return b if kind(b) > kind(a) else a


# %% wrong="uint8 and int8 give int8" says=["what holds all the values of both"]
def type_promotion(x, y):
    order = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
    order += (torch.float16, torch.bfloat16, torch.float32, torch.float64)

    def kind(dtype):
        return 2 if dtype.is_floating_point else int(dtype != torch.bool)

    def join(a, b):
        if {a, b} == {torch.float16, torch.bfloat16}:
            return torch.float32
        return max(a, b, key=order.index)

    def describe(value):
        if type(value) is bool:
            return 2, torch.bool
        if type(value) is int:
            return 2, torch.int64
        if type(value) is float:
            return 2, torch.get_default_dtype()
        return (1 if len(value.shape) == 0 else 0), value.dtype

    (r, a), (s, b) = describe(x), describe(y)
    if r == s:
        return join(a, b)
    if r > s:
        a, b = b, a
    return b if kind(b) > kind(a) else a


# %% wrong="uint8 with any signed gives more" says=["what holds all the values of both"]
def type_promotion(x, y):
    order = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
    order += (torch.float16, torch.bfloat16, torch.float32, torch.float64)

    def kind(dtype):
        return 2 if dtype.is_floating_point else int(dtype != torch.bool)

    def join(a, b):
        if torch.uint8 in (a, b) and a != b and kind(a) == kind(b):
            return order[min(order.index(max(a, b, key=order.index)) + 1, 5)]
        if {a, b} == {torch.float16, torch.bfloat16}:
            return torch.float32
        return max(a, b, key=order.index)

    def describe(value):
        if type(value) is bool:
            return 2, torch.bool
        if type(value) is int:
            return 2, torch.int64
        if type(value) is float:
            return 2, torch.get_default_dtype()
        return (1 if len(value.shape) == 0 else 0), value.dtype

    (r, a), (s, b) = describe(x), describe(y)
    if r == s:
        return join(a, b)
    if r > s:
        a, b = b, a
    return b if kind(b) > kind(a) else a


# %% wrong="two halves give bfloat16" says=["the smallest type that holds all the values of both"]
def type_promotion(x, y):
    order = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
    order += (torch.float16, torch.bfloat16, torch.float32, torch.float64)

    def kind(dtype):
        return 2 if dtype.is_floating_point else int(dtype != torch.bool)

    def join(a, b):
        if {a, b} == {torch.uint8, torch.int8}:
            return torch.int16
        return max(a, b, key=order.index)

    def describe(value):
        if type(value) is bool:
            return 2, torch.bool
        if type(value) is int:
            return 2, torch.int64
        if type(value) is float:
            return 2, torch.get_default_dtype()
        return (1 if len(value.shape) == 0 else 0), value.dtype

    (r, a), (s, b) = describe(x), describe(y)
    if r == s:
        return join(a, b)
    if r > s:
        a, b = b, a
    return b if kind(b) > kind(a) else a


# %% wrong="whole numbers in float32" says=["and the higher category decides"]
def type_promotion(x, y):
    order = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
    order += (torch.float16, torch.bfloat16, torch.float32, torch.float64)

    def kind(dtype):
        return 2 if dtype.is_floating_point else int(dtype != torch.bool)

    def join(a, b):
        if {a, b} == {torch.uint8, torch.int8}:
            return torch.int16
        if {a, b} == {torch.float16, torch.bfloat16}:
            return torch.float32
        if kind(a) != kind(b) and 2 in (kind(a), kind(b)):
            return max(a, b, torch.float32, key=order.index)
        return max(a, b, key=order.index)

    def describe(value):
        if type(value) is bool:
            return 2, torch.bool
        if type(value) is int:
            return 2, torch.int64
        if type(value) is float:
            return 2, torch.get_default_dtype()
        return (1 if len(value.shape) == 0 else 0), value.dtype

    (r, a), (s, b) = describe(x), describe(y)
    if r == s:
        return join(a, b)
    if r > s:
        a, b = b, a
    return b if kind(b) > kind(a) else a


# %% wrong="asks the library" breaks="Not allowed: `torch.result_type`" says=["find it by the rules"]
def type_promotion(x, y):
    return torch.result_type(x, y)


# %% wrong="adds them" breaks="any operation on a tensor" says=["an operation ran on tensors"]
def type_promotion(x, y):
    z = x + y
    return z.dtype if isinstance(z, torch.Tensor) else torch.tensor(z).dtype


# %% wrong="a name in place of a dtype" breaks="(as a `torch.dtype`)" says=["not a dtype"]
def type_promotion(x, y):
    order = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
    order += (torch.float16, torch.bfloat16, torch.float32, torch.float64)

    def kind(dtype):
        return 2 if dtype.is_floating_point else int(dtype != torch.bool)

    def join(a, b):
        if {a, b} == {torch.uint8, torch.int8}:
            return torch.int16
        if {a, b} == {torch.float16, torch.bfloat16}:
            return torch.float32
        return max(a, b, key=order.index)

    def describe(value):
        if type(value) is bool:
            return 2, torch.bool
        if type(value) is int:
            return 2, torch.int64
        if type(value) is float:
            return 2, torch.get_default_dtype()
        return (1 if len(value.shape) == 0 else 0), value.dtype

    if x is y:
        return "float32"
    (r, a), (s, b) = describe(x), describe(y)
    if r == s:
        return join(a, b)
    if r > s:
        a, b = b, a
    return b if kind(b) > kind(a) else a


# %% right="a join, and ranks compared"
def type_promotion(x, y):
    order = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
    order += (torch.float16, torch.bfloat16, torch.float32, torch.float64)

    def kind(dtype):
        return 2 if dtype.is_floating_point else int(dtype != torch.bool)

    def join(a, b):
        if {a, b} == {torch.uint8, torch.int8}:
            return torch.int16
        if {a, b} == {torch.float16, torch.bfloat16}:
            return torch.float32
        return max(a, b, key=order.index)

    def describe(value):
        if type(value) is bool:
            return 2, torch.bool
        if type(value) is int:
            return 2, torch.int64
        if type(value) is float:
            return 2, torch.get_default_dtype()
        return (1 if len(value.shape) == 0 else 0), value.dtype

    (r, a), (s, b) = describe(x), describe(y)
    if r == s:
        return join(a, b)
    if r > s:
        a, b = b, a
    return b if kind(b) > kind(a) else a


# %% right="itemsize"
def type_promotion(x, y):
    half = {torch.float16, torch.bfloat16}
    groups = {}
    for value in (x, y):
        if isinstance(value, torch.Tensor):
            rank, dtype = 1 - min(value.dim(), 1), value.dtype
        else:
            names = {bool: torch.bool, int: torch.int64, float: torch.get_default_dtype()}
            rank, dtype = 2, names[type(value)]
        groups.setdefault(rank, set()).add(dtype)

    def category(dtype):
        return 0 if dtype is torch.bool else 1 if not dtype.is_floating_point else 2

    answer = None
    for rank in sorted(groups):
        top = max(map(category, groups[rank]))
        left = {d for d in groups[rank] if category(d) == top}
        if left == half:
            dtype = torch.float32
        elif left == {torch.uint8, torch.int8}:
            dtype = torch.int16
        else:
            dtype = max(left, key=lambda d: d.itemsize)
        if answer is None or category(dtype) > category(answer):
            answer = dtype
    return answer


# %% wrong="asks torch.promote_types" breaks="`torch.promote_types`" says=["find it by the rules"]
def type_promotion(x, y):
    def kind(v):
        if isinstance(v, torch.Tensor):
            return v.dim() == 0, v.dtype
        return 2, {bool: torch.bool, int: torch.int64, float: torch.get_default_dtype()}[type(v)]

    def category(d):
        return 2 if d.is_floating_point else int(d != torch.bool)

    (a, p), (b, q) = kind(x), kind(y)
    if a == b:
        return torch.promote_types(p, q)
    if a > b:
        (a, p), (b, q) = (b, q), (a, p)
    return q if category(q) > category(p) else p


# %% wrong="a single entry is no dimension" says=["a single entry, and a dimension all the same"]
ORDER = [
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
]


def category(dtype):
    if dtype == torch.bool:
        return 0
    return 2 if dtype.is_floating_point else 1


def join(a, b):
    if {a, b} == {torch.uint8, torch.int8}:
        return torch.int16
    if {a, b} == {torch.float16, torch.bfloat16}:
        return torch.float32
    return max(a, b, key=ORDER.index)


def rank_and_dtype(value):
    if isinstance(value, torch.Tensor):
        return (0 if value.numel() != 1 else 1), value.dtype
    if isinstance(value, bool):
        return 2, torch.bool
    if isinstance(value, int):
        return 2, torch.int64
    return 2, torch.get_default_dtype()


def type_promotion(x: torch.Tensor | float, y: torch.Tensor | float) -> torch.dtype:
    (rank_x, dtype_x), (rank_y, dtype_y) = rank_and_dtype(x), rank_and_dtype(y)
    if rank_x == rank_y:
        return join(dtype_x, dtype_y)
    if rank_x > rank_y:
        dtype_x, dtype_y = dtype_y, dtype_x
    return dtype_y if category(dtype_y) > category(dtype_x) else dtype_x


# %% wrong="a parameter is taken for a number" says=["a parameter is a tensor, of a subclass"]
ORDER = [
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
]


def category(dtype):
    if dtype == torch.bool:
        return 0
    return 2 if dtype.is_floating_point else 1


def join(a, b):
    if {a, b} == {torch.uint8, torch.int8}:
        return torch.int16
    if {a, b} == {torch.float16, torch.bfloat16}:
        return torch.float32
    return max(a, b, key=ORDER.index)


def rank_and_dtype(value):
    if type(value) is torch.Tensor:
        return (0 if value.dim() > 0 else 1), value.dtype
    if isinstance(value, bool):
        return 2, torch.bool
    if isinstance(value, int):
        return 2, torch.int64
    return 2, torch.get_default_dtype()


def type_promotion(x: torch.Tensor | float, y: torch.Tensor | float) -> torch.dtype:
    (rank_x, dtype_x), (rank_y, dtype_y) = rank_and_dtype(x), rank_and_dtype(y)
    if rank_x == rank_y:
        return join(dtype_x, dtype_y)
    if rank_x > rank_y:
        dtype_x, dtype_y = dtype_y, dtype_x
    return dtype_y if category(dtype_y) > category(dtype_x) else dtype_x


# %% wrong="whole floats are ints" says=["the number 2.0"]
def type_promotion(x, y):
    order = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
    order += [torch.float16, torch.bfloat16, torch.float32, torch.float64]

    def join(a, b):
        if a == b:
            return a
        if {a, b} == {torch.uint8, torch.int8}:
            return torch.int16
        if {a, b} == {torch.float16, torch.bfloat16}:
            return torch.float32
        return max(a, b, key=order.index)

    def category(dtype):
        return 0 if dtype == torch.bool else 2 if dtype.is_floating_point else 1

    def place(value):
        if isinstance(value, torch.Tensor):
            return (0 if value.dim() else 1), value.dtype
        if isinstance(value, bool):
            return 2, torch.bool
        if isinstance(value, int):
            return 2, torch.int64
        if float(value).is_integer():
            return 2, torch.int64
        return 2, torch.get_default_dtype()

    (rank_x, dtype_x), (rank_y, dtype_y) = place(x), place(y)
    if rank_x == rank_y:
        return join(dtype_x, dtype_y)
    high, low = (dtype_x, dtype_y) if rank_x < rank_y else (dtype_y, dtype_x)
    return low if category(low) > category(high) else high


# %% wrong="matrices rank above vectors" says=["an int8 matrix"]
def type_promotion(x, y):
    order = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
    order += [torch.float16, torch.bfloat16, torch.float32, torch.float64]

    def join(a, b):
        if a == b:
            return a
        if {a, b} == {torch.uint8, torch.int8}:
            return torch.int16
        if {a, b} == {torch.float16, torch.bfloat16}:
            return torch.float32
        return max(a, b, key=order.index)

    def category(dtype):
        return 0 if dtype == torch.bool else 2 if dtype.is_floating_point else 1

    def place(value):
        if isinstance(value, torch.Tensor):
            return (1 - min(value.dim(), 2)) if value.dim() != 1 else 0, value.dtype
        if isinstance(value, bool):
            return 2, torch.bool
        if isinstance(value, int):
            return 2, torch.int64
        return 2, torch.get_default_dtype()

    (rank_x, dtype_x), (rank_y, dtype_y) = place(x), place(y)
    if rank_x == rank_y:
        return join(dtype_x, dtype_y)
    high, low = (dtype_x, dtype_y) if rank_x < rank_y else (dtype_y, dtype_x)
    return low if category(low) > category(high) else high


# %% wrong="infinity is float64" says=["infinity"]
def type_promotion(x, y):
    order = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
    order += [torch.float16, torch.bfloat16, torch.float32, torch.float64]

    def join(a, b):
        if a == b:
            return a
        if {a, b} == {torch.uint8, torch.int8}:
            return torch.int16
        if {a, b} == {torch.float16, torch.bfloat16}:
            return torch.float32
        return max(a, b, key=order.index)

    def category(dtype):
        return 0 if dtype == torch.bool else 2 if dtype.is_floating_point else 1

    def place(value):
        if isinstance(value, torch.Tensor):
            return (0 if value.dim() else 1), value.dtype
        if isinstance(value, bool):
            return 2, torch.bool
        if isinstance(value, int):
            return 2, torch.int64
        if value in (float("inf"), float("-inf")):
            return 2, torch.float64
        return 2, torch.get_default_dtype()

    (rank_x, dtype_x), (rank_y, dtype_y) = place(x), place(y)
    if rank_x == rank_y:
        return join(dtype_x, dtype_y)
    high, low = (dtype_x, dtype_y) if rank_x < rank_y else (dtype_y, dtype_x)
    return low if category(low) > category(high) else high
