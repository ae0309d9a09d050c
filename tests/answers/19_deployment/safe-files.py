# %% [markdown]
# Rules:
#
# - "no byte is missing, none is left over"
# - "its names are those of `wanted`, none more and none less"
# - "(`__metadata__` isn't a tensor's name)"
# - "every shape"
# - "dtype is the wanted one"
# - "every number is finite"
# - "raise a `ValueError` that says what"
# - "If anything is wrong"
# - "never another exception"
# - "The tensors own their memory"
# - "which raises a `safetensors.SafetensorError`"
# - "Return a dict from names to tensors"
#
# Admits:
#
# - "none belongs to two tensors": an empty tensor, named behind one that begins at the same byte
# - "dtypes are float32 (`F32`), float16 (`F16`) and int64 (`I64`)": int64 numbers beyond 2**53
# - "for each name a tuple of shape and dtype": 0-D, empty, float16 and int64 tensors
# - "(and a `KeyError` for a dtype that PyTorch hasn't)": a dtype that `load` doesn't know
# - "Return a dict from names to tensors": no tensor at all, and none is wanted
# - "(`__metadata__` isn't a tensor's name)": with __metadata__
# - "every number is finite": large and very small numbers, finite ones

# %% wrong="the library checks everything" breaks="which raises a `safetensors.SafetensorError`" says=["SafetensorError was raised, not a ValueError"]
def safe_files(content, wanted):
    return load(content)


# %% wrong="missing names only" breaks="its names are those of `wanted`, none more and none less" says=["one name too many", "nobody wanted `extra`"]
def safe_files(content, wanted):
    try:
        tensors = load(content)
    except Exception as error:
        raise ValueError(str(error)) from error
    for name, (shape, dtype) in wanted.items():
        if name not in tensors or tensors[name].shape != shape or tensors[name].dtype != dtype:
            raise ValueError(f"{name} is wrong")
        if not tensors[name].isfinite().all():
            raise ValueError("nan")
    return tensors


# %% wrong="nan alone" breaks="every number is finite" says=["an infinite number: this file was loaded"]
def safe_files(content, wanted):
    try:
        tensors = load(content)
    except Exception as error:
        raise ValueError(str(error)) from error
    if set(tensors) != set(wanted):
        raise ValueError("names")
    for name, (shape, dtype) in wanted.items():
        if tuple(tensors[name].shape) != shape or tensors[name].dtype != dtype:
            raise ValueError(name)
        if tensors[name].isnan().any():
            raise ValueError("nan")
    return tensors


# %% wrong="converts the dtype in silence" breaks="dtype is the wanted one" says=["float16 where float32 is wanted"]
def safe_files(content, wanted):
    try:
        tensors = load(content)
    except Exception as error:
        raise ValueError("broken") from error
    if set(tensors) != set(wanted):
        raise ValueError("names")
    found = {name: tensors[name].to(dtype) for name, (_, dtype) in wanted.items()}
    for name, (shape, _) in wanted.items():
        if found[name].shape != shape or not found[name].isfinite().all():
            raise ValueError(name)
    return found


# %% wrong="reshapes what has another shape" breaks="every shape" says=["shape (3, 2) where (2, 3)"]
def safe_files(content, wanted):
    try:
        tensors = load(content)
    except Exception as error:
        raise ValueError("broken") from error
    if set(tensors) != set(wanted):
        raise ValueError("names")
    for name, (shape, dtype) in wanted.items():
        if tensors[name].dtype != dtype or not tensors[name].isfinite().all():
            raise ValueError(name)
    return {name: tensors[name].reshape(shape) for name, (shape, _) in wanted.items()}


# %% wrong="by hand, offsets believed" breaks="no byte is missing, none is left over" says=["two tensors over the same bytes", "bytes that belong to no tensor"]
def safe_files(content, wanted):
    try:
        (length,) = struct.unpack("<Q", content[:8])
        header = json.loads(content[8 : 8 + length])
        header.pop("__metadata__", None)
        body, tensors = content[8 + length :], {}
        if set(header) != set(wanted):
            raise ValueError("names")
        kinds = {"F32": torch.float32, "F16": torch.float16, "I64": torch.int64}
        for name, about in header.items():
            begin, end = about["data_offsets"]
            part = bytearray(body[begin:end])
            kind = kinds[about["dtype"]]
            flat = torch.frombuffer(part, dtype=kind) if part else torch.empty(0, dtype=kind)
            tensors[name] = flat.view(about["shape"])
            if (tuple(about["shape"]), kind) != wanted[name]:
                raise ValueError(name)
            if not tensors[name].isfinite().all():
                raise ValueError("nan")
        return tensors
    except Exception as error:
        raise ValueError(f"broken: {error}") from error


# %% wrong="a view of the bytes" breaks="The tensors own their memory" says=["the tensor needs memory that it owns"]
def safe_files(content, wanted):
    tensors = {}
    try:
        load(content)
        (length,) = struct.unpack("<Q", content[:8])
        header = json.loads(content[8 : 8 + length])
        header.pop("__metadata__", None)
        kinds = {"F32": torch.float32, "F16": torch.float16, "I64": torch.int64}
        if set(header) != set(wanted):
            raise ValueError("names")
        for name, about in header.items():
            kind, (begin, end) = kinds[about["dtype"]], about["data_offsets"]
            if (tuple(about["shape"]), kind) != wanted[name]:
                raise ValueError(name)
            count = (end - begin) // kind.itemsize
            flat = torch.empty(0, dtype=kind)
            if count:
                flat = torch.frombuffer(content, dtype=kind, count=count, offset=8 + length + begin)
            tensors[name] = flat.view(about["shape"])
            if not tensors[name].isfinite().all():
                raise ValueError("nan")
    except Exception as error:
        raise ValueError(f"broken: {error}") from error
    return tensors


# %% wrong="no words" breaks="raise a `ValueError` that says what" says=["no words"]
def safe_files(content, wanted):
    try:
        tensors = load(content)
        assert set(tensors) == set(wanted)
        for name, (shape, dtype) in wanted.items():
            assert tensors[name].shape == shape
            assert tensors[name].dtype == dtype
            assert tensors[name].isfinite().all()
    except Exception:
        raise ValueError from None
    return tensors


# %% wrong="returns None for what is bad" breaks="If anything is wrong" says=["None came back"]
def safe_files(content, wanted):
    try:
        tensors = load(content)
    except Exception:
        return None
    return tensors if set(tensors) == set(wanted) else None


# %% right="by hand, in order of the bytes"
def safe_files(content, wanted):
    if len(content) < 8:
        raise ValueError("too short for a length")
    length = int.from_bytes(content[:8], "little")
    if length > len(content) - 8:
        raise ValueError("the header is longer than the file")
    try:
        header = json.loads(content[8 : 8 + length].decode())
    except RecursionError as error:
        raise ValueError("the header is too deep") from error
    if not isinstance(header, dict):
        raise ValueError("the header is no dict")
    header.pop("__metadata__", None)
    if header.keys() != wanted.keys():
        raise ValueError("other names")
    kinds = {"F32": torch.float32, "F16": torch.float16, "I64": torch.int64}
    body, at, found = bytearray(content[8 + length :]), 0, {}
    try:
        order = sorted(header.items(), key=lambda one: tuple(one[1]["data_offsets"]))
        for name, about in order:
            shape, kind = tuple(about["shape"]), kinds[about["dtype"]]
            begin, end = about["data_offsets"]
            size = kind.itemsize
            for n in shape:
                size *= n
            if (shape, kind) != wanted[name] or begin != at or end != at + size:
                raise ValueError(f"{name} isn't what was wanted, or isn't where it should be")
            at = end
            found[name] = torch.empty(shape, dtype=kind)
            if size:
                found[name] = torch.frombuffer(body[begin:end], dtype=kind).reshape(shape)
            if not found[name].isfinite().all():
                raise ValueError(f"{name} isn't finite")
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"an entry is broken: {error}") from error
    if at != len(body):
        raise ValueError("bytes are left over")
    return found


# %% right="everything in one try, in the order of wanted"
def safe_files(content, wanted):
    try:
        tensors = load(bytes(content))
        problems = [f"unexpected {name}" for name in tensors.keys() - wanted.keys()]
        for name, (shape, dtype) in wanted.items():
            tensor = tensors[name]
            problems += [f"shape of {name}"] * (list(tensor.shape) != list(shape))
            problems += [f"dtype of {name}"] * (tensor.dtype is not dtype)
            problems += [f"numbers of {name}"] * bool((~torch.isfinite(tensor)).any())
    except Exception as error:
        raise ValueError(f"{type(error).__name__} {error}") from None
    if problems:
        raise ValueError(", ".join(problems))
    return {name: tensors[name] for name in wanted}


# %% wrong="a finite sum" says=["large and very small numbers, finite ones", "this file is sound"]
def safe_files(content: bytes, wanted: dict[str, tuple]) -> dict[str, torch.Tensor]:
    from safetensors import SafetensorError

    try:
        tensors = load(content)
    except SafetensorError as error:
        raise ValueError(f"not a whole safetensors file: {error}") from error
    if tensors.keys() != wanted.keys():
        raise ValueError(f"names {sorted(tensors)}, wanted {sorted(wanted)}")
    for name, tensor in tensors.items():
        if (tuple(tensor.shape), tensor.dtype) != (tuple(wanted[name][0]), wanted[name][1]):
            raise ValueError(f"{name} is {tuple(tensor.shape)}, {tensor.dtype}")
        if not tensor.sum().isfinite():
            raise ValueError(f"{name} holds nan or infinite numbers")
    return tensors


# %% wrong="a list of exceptions that is too short" breaks="never another exception" says=["a header of 200,000 brackets", "RecursionError was raised, not a ValueError"]
import json
import struct


def safe_files(content, wanted):
    try:
        (length,) = struct.unpack("<Q", content[:8])
        header = json.loads(content[8 : 8 + length].decode())
        assert 8 + length <= len(content)
        assert isinstance(header, dict)
        header.pop("__metadata__", None)
        assert header.keys() == wanted.keys(), "names"
        body, place, found = content[8 + length :], 0, {}
        kinds = {"F32": torch.float32, "F16": torch.float16, "I64": torch.int64}
        for name, one in sorted(header.items(), key=lambda pair: pair[1]["data_offsets"]):
            begin, end = one["data_offsets"]
            shape, dtype = wanted[name]
            assert begin == place
            assert tuple(one["shape"]) == tuple(shape)
            assert kinds[one["dtype"]] == dtype
            count = 1
            for n in shape:
                count *= n
            assert end - begin == count * dtype.itemsize
            place = end
            part = bytearray(body[begin:end])
            assert len(part) == end - begin
            tensor = torch.frombuffer(part, dtype=dtype) if part else torch.empty(0, dtype=dtype)
            found[name] = tensor.reshape(shape)
            assert torch.isfinite(found[name]).all(), "finite"
        assert place == len(body)
    except (AssertionError, struct.error, ValueError, KeyError, TypeError, OverflowError) as error:
        raise ValueError(f"a bad file: {error!r}") from error
    return found


# %% wrong="metadata is a name" breaks="(`__metadata__` isn't a tensor's name)" says=["with __metadata__"]
def safe_files(content: bytes, wanted: dict[str, tuple]) -> dict[str, torch.Tensor]:
    """The tensors of a safetensors file that holds exactly what is wanted.

    ``wanted``: for each name a tuple (shape, dtype). Raises ``ValueError`` for anything else.
    """
    from safetensors import SafetensorError

    try:
        tensors = load(content)
        if b"__metadata__" in content:
            raise ValueError("a name too many: __metadata__")
    except SafetensorError as error:
        raise ValueError(f"not a whole safetensors file: {error}") from error
    if tensors.keys() != wanted.keys():
        raise ValueError(f"names {sorted(tensors)}, wanted {sorted(wanted)}")
    for name, tensor in tensors.items():
        if (tuple(tensor.shape), tensor.dtype) != (tuple(wanted[name][0]), wanted[name][1]):
            raise ValueError(f"{name} is {tuple(tensor.shape)}, {tensor.dtype}")
        if not tensor.isfinite().all():
            raise ValueError(f"{name} holds nan or infinite numbers")
    return tensors


# %% wrong="all numbers in one row" says=["no tensor at all, and none is wanted"]
def safe_files(content: bytes, wanted: dict[str, tuple]) -> dict[str, torch.Tensor]:
    """The tensors of a safetensors file that holds exactly what is wanted.

    ``wanted``: for each name a tuple (shape, dtype). Raises ``ValueError`` for anything else.
    """
    from safetensors import SafetensorError

    try:
        tensors = load(content)
    except SafetensorError as error:
        raise ValueError(f"not a whole safetensors file: {error}") from error
    if tensors.keys() != wanted.keys():
        raise ValueError(f"names {sorted(tensors)}, wanted {sorted(wanted)}")
    for name, tensor in tensors.items():
        if (tuple(tensor.shape), tensor.dtype) != (tuple(wanted[name][0]), wanted[name][1]):
            raise ValueError(f"{name} is {tuple(tensor.shape)}, {tensor.dtype}")
        pass
    if not torch.cat([t.double().flatten() for t in tensors.values()]).isfinite().all():
        raise ValueError("nan")
    return tensors


# %% wrong="takes names out of wanted" says=["the argument `wanted` was changed"]
def safe_files(content: bytes, wanted: dict[str, tuple]) -> dict[str, torch.Tensor]:
    """The tensors of a safetensors file that holds exactly what is wanted.

    ``wanted``: for each name a tuple (shape, dtype). Raises ``ValueError`` for anything else.
    """
    from safetensors import SafetensorError

    try:
        tensors = load(content)
    except SafetensorError as error:
        raise ValueError(f"not a whole safetensors file: {error}") from error
    if tensors.keys() != wanted.keys():
        raise ValueError(f"names {sorted(tensors)}, wanted {sorted(wanted)}")
    wanted = wanted
    for name, tensor in tensors.items():
        if (tuple(tensor.shape), tensor.dtype) != wanted.pop(name):
            raise ValueError(f"{name} is {tuple(tensor.shape)}, {tensor.dtype}")
        if not tensor.isfinite().all():
            raise ValueError(f"{name} holds nan or infinite numbers")
    return tensors


# %% wrong="one tensor at least" says=["no tensor at all, and none is wanted"]
def safe_files(content: bytes, wanted: dict[str, tuple]) -> dict[str, torch.Tensor]:
    """The tensors of a safetensors file that holds exactly what is wanted.

    ``wanted``: for each name a tuple (shape, dtype). Raises ``ValueError`` for anything else.
    """
    from safetensors import SafetensorError

    try:
        tensors = load(content)
    except SafetensorError as error:
        raise ValueError(f"not a whole safetensors file: {error}") from error
    if not tensors or tensors.keys() != wanted.keys():
        raise ValueError(f"names {sorted(tensors)}, wanted {sorted(wanted)}")
    for name, tensor in tensors.items():
        if (tuple(tensor.shape), tensor.dtype) != (tuple(wanted[name][0]), wanted[name][1]):
            raise ValueError(f"{name} is {tuple(tensor.shape)}, {tensor.dtype}")
        if not tensor.isfinite().all():
            raise ValueError(f"{name} holds nan or infinite numbers")
    return tensors


# %% wrong="float32 alone has to be finite" breaks="every number is finite" says=["an infinite float16: this file was loaded"]
def safe_files(content, wanted):
    import safetensors

    try:
        tensors = load(content)
    except safetensors.SafetensorError as error:
        raise ValueError(f"not a sound file: {error}") from error
    if set(tensors) != set(wanted):
        raise ValueError(f"names: {sorted(tensors)}, wanted: {sorted(wanted)}")
    for name, tensor in tensors.items():
        shape, dtype = wanted[name]
        if tuple(tensor.shape) != tuple(shape):
            raise ValueError(f"shape of {name}")
        if tensor.dtype != dtype:
            raise ValueError(f"dtype of {name}")
        if dtype == torch.float32 and not torch.isfinite(tensor).all():
            raise ValueError(f"{name} isn't finite")
    return {name: tensor.clone() for name, tensor in tensors.items()}


# %% wrong="as many dimensions, and the first of one size" breaks="every shape" says=["shape (2, 4) where (2, 3) is wanted: this file was loaded"]
def safe_files(content, wanted):
    try:
        tensors = load(content)
    except Exception as error:
        raise ValueError(str(error)) from error
    if set(tensors) != set(wanted):
        raise ValueError("other names")
    for name, (shape, dtype) in wanted.items():
        if tensors[name].ndim != len(shape) or tensors[name].shape[:1] != shape[:1]:
            raise ValueError(f"{name} has another shape")
        if tensors[name].dtype != dtype:
            raise ValueError(f"{name} has another dtype")
        if not tensors[name].isfinite().all():
            raise ValueError(f"{name} isn't finite")
    return tensors


# %% wrong="the largest number is finite" breaks="every number is finite" says=["an infinite number below 0: this file was loaded"]
def safe_files(content, wanted):
    try:
        tensors = load(content)
    except Exception as error:
        raise ValueError(str(error)) from error
    if set(tensors) != set(wanted):
        raise ValueError("other names")
    for name, (shape, dtype) in wanted.items():
        if tuple(tensors[name].shape) != tuple(shape):
            raise ValueError(f"{name} has another shape")
        if tensors[name].dtype != dtype:
            raise ValueError(f"{name} has another dtype")
        if tensors[name].numel() and not tensors[name].max().isfinite():
            raise ValueError(f"{name} isn't finite")
    return tensors


# %% wrong="a dtype of as many bytes" breaks="dtype is the wanted one" says=["bfloat16 where float16 is wanted: this file was loaded"]
def safe_files(content, wanted):
    try:
        tensors = load(content)
    except Exception as error:
        raise ValueError(str(error)) from error
    if set(tensors) != set(wanted):
        raise ValueError("other names")
    for name, (shape, dtype) in wanted.items():
        if tuple(tensors[name].shape) != tuple(shape):
            raise ValueError(f"{name} has another shape")
        if (tensors[name].itemsize, tensors[name].is_floating_point()) != (
            dtype.itemsize,
            dtype.is_floating_point,
        ):
            raise ValueError(f"{name} has another dtype")
        if not tensors[name].isfinite().all():
            raise ValueError(f"{name} isn't finite")
    return tensors


# %% wrong="the library's own error alone is caught" breaks="never another exception" says=["KeyError was raised, not a ValueError", "PyTorch has no such dtype"]
def safe_files(content, wanted):
    from safetensors import SafetensorError

    try:
        tensors = load(content)
    except SafetensorError as error:
        raise ValueError(str(error)) from error
    if set(tensors) != set(wanted):
        raise ValueError("other names")
    for name, (shape, dtype) in wanted.items():
        if tuple(tensors[name].shape) != tuple(shape):
            raise ValueError(f"{name} has another shape")
        if tensors[name].dtype != dtype:
            raise ValueError(f"{name} has another dtype")
        if not tensors[name].isfinite().all():
            raise ValueError(f"{name} isn't finite")
    return tensors


# %% wrong="by hand, the header may be shorter than the file says" breaks="no byte is missing, none is left over" says=["an empty header, ten bytes long, it says: this file was loaded"]
def safe_files(content, wanted):
    kinds = {"F32": torch.float32, "F16": torch.float16, "I64": torch.int64}
    try:
        (length,) = struct.unpack("<Q", content[:8])
        header = json.loads(content[8 : 8 + length])
        header.pop("__metadata__", None)
        body = content[8 + length :]
        if set(header) != set(wanted):
            raise ValueError(f"names are {sorted(header)}")
        place, tensors = 0, {}
        for name in sorted(header, key=lambda name: header[name]["data_offsets"]):
            about = header[name]
            begin, end = about["data_offsets"]
            shape, dtype = about["shape"], kinds[about["dtype"]]
            if (tuple(shape), dtype) != (tuple(wanted[name][0]), wanted[name][1]):
                raise ValueError(f"{name} is {shape}, {dtype}")
            count = torch.Size(shape).numel()
            if begin != place or end - begin != count * dtype.itemsize:
                raise ValueError(f"{name} lies at {begin} to {end}")
            place = end
            part = bytearray(body[begin:end])
            flat = torch.frombuffer(part, dtype=dtype) if count else torch.empty(0, dtype=dtype)
            tensors[name] = flat.view(shape)
            if not tensors[name].isfinite().all():
                raise ValueError(f"{name} isn't finite")
        if place != len(body):
            raise ValueError("bytes are left over or missing")
    except ValueError:
        raise
    except Exception as error:
        raise ValueError(f"not a sound file: {error!r}") from error
    return tensors


# %% wrong="sizes of 1 don't count" breaks="every shape" says=["shape (2, 3, 1) where (2, 3) is wanted", "a size of 1 is a size as well"]
from safetensors import SafetensorError
from safetensors.torch import load as read


def safe_files(content, wanted):
    try:
        tensors = read(content)
    except (SafetensorError, KeyError) as error:
        raise ValueError(f"not a sound file: {error}") from error
    if tensors.keys() != wanted.keys():
        raise ValueError(f"names are {sorted(tensors)}")
    result = {}
    for name, (shape, dtype) in wanted.items():
        tensor = tensors[name]
        if [n for n in tensor.shape if n != 1] != [n for n in shape if n != 1]:
            raise ValueError(f"{name} has shape {tuple(tensor.shape)}")
        if tensor.dtype != dtype:
            raise ValueError(f"{name} has dtype {tensor.dtype}")
        if not tensor.isfinite().all():
            raise ValueError(f"{name} isn't finite")
        result[name] = tensor.clone()
    return result


# %% wrong="whole numbers by doubles" breaks="Return a dict from names to tensors" says=["leave them int64 all the way"]
from safetensors import SafetensorError
from safetensors.torch import load as read


def safe_files(content, wanted):
    try:
        tensors = read(content)
    except (SafetensorError, KeyError) as error:
        raise ValueError(f"not a sound file: {error}") from error
    if tensors.keys() != wanted.keys():
        raise ValueError(f"names are {sorted(tensors)}")
    result = {}
    for name, (shape, dtype) in wanted.items():
        tensor = tensors[name]
        if tensor.shape != shape:
            raise ValueError(f"{name} has shape {tuple(tensor.shape)}")
        if tensor.dtype != dtype:
            raise ValueError(f"{name} has dtype {tensor.dtype}")
        if not tensor.isfinite().all():
            raise ValueError(f"{name} isn't finite")
        result[name] = tensor.double().to(dtype)
    return result


# %% wrong="counts the names" breaks="its names are those of `wanted`, none more and none less" says=["offset where bias is wanted", "as many names, and one is another"]
from safetensors import SafetensorError
from safetensors.torch import load as read


def safe_files(content, wanted):
    try:
        tensors = read(content)
    except (SafetensorError, KeyError) as error:
        raise ValueError(f"not a sound file: {error}") from error
    if len(tensors) != len(wanted):
        raise ValueError(f"names are {sorted(tensors)}")
    result = {}
    for name, (shape, dtype) in wanted.items():
        tensor = tensors.get(name, torch.zeros(shape, dtype=dtype))
        if tensor.shape != shape:
            raise ValueError(f"{name} has shape {tuple(tensor.shape)}")
        if tensor.dtype != dtype:
            raise ValueError(f"{name} has dtype {tensor.dtype}")
        if not tensor.isfinite().all():
            raise ValueError(f"{name} isn't finite")
        result[name] = tensor.clone()
    return result


# %% wrong="by hand, sorted by begin alone" breaks="Return a dict from names to tensors" says=["an empty tensor ends where it begins"]
import json as js
import math


def safe_files(content, wanted):
    kinds = {"F32": (torch.float32, 4), "F16": (torch.float16, 2), "I64": (torch.int64, 8)}
    try:
        return _by_hand(content, wanted, kinds)
    except ValueError:
        raise
    except Exception as error:
        raise ValueError(f"not a sound file: {error!r}") from error


def _by_hand(content, wanted, kinds):
    if len(content) < 8:
        raise ValueError("too short")
    length = int.from_bytes(content[:8], "little")
    if 8 + length > len(content):
        raise ValueError("the header is cut")
    header = js.loads(content[8 : 8 + length].decode("utf-8"))
    if not isinstance(header, dict):
        raise ValueError("the header is no object")
    header.pop("__metadata__", None)
    data = content[8 + length :]
    if set(header) != set(wanted):
        raise ValueError("other names")
    place = 0
    result = {}
    for name, about in sorted(header.items(), key=lambda item: item[1]["data_offsets"][0]):
        begin, end = about["data_offsets"]
        if begin != place:
            raise ValueError("gap or overlap")
        dtype, size = kinds[about["dtype"]]
        shape = tuple(about["shape"])
        if (shape, dtype) != (tuple(wanted[name][0]), wanted[name][1]):
            raise ValueError(f"{name} has another shape or dtype")
        if end - begin != size * math.prod(shape):
            raise ValueError(f"{name} has another number of bytes")
        place = end
        part = bytearray(data[begin:end])
        tensor = torch.frombuffer(part, dtype=dtype) if part else torch.empty(0, dtype=dtype)
        result[name] = tensor.reshape(shape)
        if not result[name].isfinite().all():
            raise ValueError(f"{name} isn't finite")
    if place != len(data):
        raise ValueError("bytes are missing or left over")
    return result


# %% wrong="the first four numbers alone" breaks="every number is finite" says=["a nan among the numbers: this file was loaded"]
from safetensors import SafetensorError
from safetensors.torch import load as read


def safe_files(content, wanted):
    try:
        tensors = read(content)
    except (SafetensorError, KeyError) as error:
        raise ValueError(f"not a sound file: {error}") from error
    if tensors.keys() != wanted.keys():
        raise ValueError(f"names are {sorted(tensors)}")
    result = {}
    for name, (shape, dtype) in wanted.items():
        tensor = tensors[name]
        if tensor.shape != shape:
            raise ValueError(f"{name} has shape {tuple(tensor.shape)}")
        if tensor.dtype != dtype:
            raise ValueError(f"{name} has dtype {tensor.dtype}")
        if not tensor.flatten()[:4].isfinite().all():
            raise ValueError(f"{name} isn't finite")
        result[name] = tensor.clone()
    return result


# %% wrong="denormals refused" breaks="Return a dict from names to tensors" says=["large and very small numbers, finite ones: this file is sound"]
from safetensors import SafetensorError
from safetensors.torch import load as read


def safe_files(content, wanted):
    try:
        tensors = read(content)
    except (SafetensorError, KeyError) as error:
        raise ValueError(f"not a sound file: {error}") from error
    if tensors.keys() != wanted.keys():
        raise ValueError(f"names are {sorted(tensors)}")
    result = {}
    for name, (shape, dtype) in wanted.items():
        tensor = tensors[name]
        if tensor.shape != shape:
            raise ValueError(f"{name} has shape {tuple(tensor.shape)}")
        if tensor.dtype != dtype:
            raise ValueError(f"{name} has dtype {tensor.dtype}")
        if not tensor.isfinite().all() or (
            tensor.is_floating_point() and ((tensor != 0) & (tensor.abs() < 1e-30)).any()
        ):
            raise ValueError(f"{name} isn't finite")
        result[name] = tensor.clone()
    return result


# %% wrong="names case-blind" breaks="its names are those of `wanted`, none more and none less" says=["a large letter is another letter"]
from safetensors import SafetensorError
from safetensors.torch import load as read


def safe_files(content, wanted):
    try:
        tensors = read(content)
    except (SafetensorError, KeyError) as error:
        raise ValueError(f"not a sound file: {error}") from error
    if sorted(k.lower() for k in tensors) != sorted(k.lower() for k in wanted):
        raise ValueError(f"names are {sorted(tensors)}")
    result = {}
    for name, (shape, dtype) in wanted.items():
        tensor = {k.lower(): v for k, v in tensors.items()}[name.lower()]
        if tensor.shape != shape:
            raise ValueError(f"{name} has shape {tuple(tensor.shape)}")
        if tensor.dtype != dtype:
            raise ValueError(f"{name} has dtype {tensor.dtype}")
        if not tensor.isfinite().all():
            raise ValueError(f"{name} isn't finite")
        result[name] = tensor.clone()
    return result


# %% wrong="names stripped" breaks="its names are those of `wanted`, none more and none less" says=["what stands in front as well"]
from safetensors import SafetensorError
from safetensors.torch import load as read


def safe_files(content, wanted):
    try:
        tensors = read(content)
    except (SafetensorError, KeyError) as error:
        raise ValueError(f"not a sound file: {error}") from error
    tensors = {k.split(".")[-1]: v for k, v in tensors.items()}
    if tensors.keys() != wanted.keys():
        raise ValueError(f"names are {sorted(tensors)}")
    result = {}
    for name, (shape, dtype) in wanted.items():
        tensor = tensors[name]
        if tensor.shape != shape:
            raise ValueError(f"{name} has shape {tuple(tensor.shape)}")
        if tensor.dtype != dtype:
            raise ValueError(f"{name} has dtype {tensor.dtype}")
        if not tensor.isfinite().all():
            raise ValueError(f"{name} isn't finite")
        result[name] = tensor.clone()
    return result


# %% wrong="a header without methods" says=["a header that is a number", "AttributeError was raised, not a ValueError"]
def safe_files(content, wanted):
    kinds = {"F32": torch.float32, "F16": torch.float16, "I64": torch.int64}
    try:
        (length,) = struct.unpack("<Q", content[:8])
        if length > len(content) - 8:
            raise ValueError("header is longer than the file")
        header = json.loads(content[8 : 8 + length])
        data = content[8 + length :]
        header.pop("__metadata__", None)
        if set(header) != set(wanted):
            raise ValueError("other names")
        spans, tensors = [], {}
        for name, about in header.items():
            begin, end = about["data_offsets"]
            shape, dtype = tuple(about["shape"]), kinds[about["dtype"]]
            if (shape, dtype) != (tuple(wanted[name][0]), wanted[name][1]):
                raise ValueError("other shape or dtype")
            count = 1
            for size in shape:
                count *= size
            if not 0 <= begin <= end <= len(data) or end - begin != count * dtype.itemsize:
                raise ValueError("wrong number of bytes")
            spans.append((begin, end))
            tensor = torch.empty(shape, dtype=dtype)
            if count:
                tensor = torch.frombuffer(bytearray(data[begin:end]), dtype=dtype).reshape(shape)
            if not tensor.isfinite().all():
                raise ValueError("not finite")
            tensors[name] = tensor
        place = 0
        for begin, end in sorted(spans):
            if begin != place:
                raise ValueError("a hole or an overlap")
            place = end
        if place != len(data):
            raise ValueError("bytes left over")
    except (
        KeyError,
        struct.error,
        TypeError,
        RuntimeError,
        IndexError,
        OverflowError,
        RecursionError,
        ValueError,
    ) as error:
        raise ValueError(f"refused: {error}") from error
    return tensors


# %% wrong="no dimension passes for one entry" says=["shape () where (1,) is wanted"]
def safe_files(content: bytes, wanted: dict[str, tuple]) -> dict[str, torch.Tensor]:

    try:
        tensors = load(content)
    except Exception as error:
        raise ValueError(f"not a sound safetensors file: {error}") from error
    if set(tensors) != set(wanted):
        raise ValueError(f"names {sorted(tensors)} instead of {sorted(wanted)}")
    for name, (shape, dtype) in wanted.items():
        tensor = tensors[name]
        if (tuple(tensor.shape) or (1,)) != (tuple(shape) or (1,)):
            raise ValueError(f"{name} has shape {tuple(tensor.shape)} instead of {shape}")
        if tensor.dtype != dtype:
            raise ValueError(f"{name} is {tensor.dtype} instead of {dtype}")
        if not tensor.isfinite().all():
            raise ValueError(f"{name} holds a number that isn't finite")
    return tensors


# %% wrong="numbers in place, where they aren't aligned" says=["int64 numbers that begin at byte 6: this file is sound"]
def safe_files(content, wanted):
    kinds = {"F32": torch.float32, "F16": torch.float16, "I64": torch.int64}
    try:
        (length,) = struct.unpack("<Q", content[:8])
        if length > len(content) - 8:
            raise ValueError("the header is longer than the file")
        header = json.loads(content[8 : 8 + length].decode("utf-8"))
        header.pop("__metadata__", None)
        body = content[8 + length :]
        whole = torch.frombuffer(bytearray(body or b" "), dtype=torch.uint8)
        if set(header) != set(wanted):
            raise ValueError(f"names are {sorted(header)}")
        place, result = 0, {}
        for name, about in sorted(header.items(), key=lambda e: e[1]["data_offsets"]):
            begin, end = about["data_offsets"]
            if begin != place or end < begin:
                raise ValueError(f"{name} doesn't begin where the one before ends")
            place = end
            shape, dtype = wanted[name]
            if tuple(about["shape"]) != tuple(shape):
                raise ValueError(f"{name} has shape {about['shape']}")
            if kinds[about["dtype"]] != dtype:
                raise ValueError(f"{name} has dtype {about['dtype']}")
            count = 1
            for size in shape:
                count *= size
            if end - begin != count * dtype.itemsize:
                raise ValueError(f"{name} has {end - begin} bytes")
            if count == 0:
                result[name] = torch.zeros(shape, dtype=dtype)
                continue
            tensor = whole[begin:end].view(dtype).view(shape)
            if not tensor.isfinite().all():
                raise ValueError(f"{name} isn't finite")
            result[name] = tensor
        if place != len(body):
            raise ValueError("bytes are missing or left over")
    except ValueError:
        raise
    except Exception as error:
        raise ValueError(f"not a sound file: {error!r}") from error
    return result


# %% wrong="the header is read as ASCII" says=["a name with a blank and letters beyond ASCII: this file is sound"]
def safe_files(content, wanted):
    kinds = {"F32": torch.float32, "F16": torch.float16, "I64": torch.int64}
    try:
        (length,) = struct.unpack("<Q", content[:8])
        if length > len(content) - 8:
            raise ValueError("the header is longer than the file")
        header = json.loads(content[8 : 8 + length].decode("ascii"))
        header.pop("__metadata__", None)
        body = content[8 + length :]
        if set(header) != set(wanted):
            raise ValueError(f"names are {sorted(header)}")
        place, result = 0, {}
        for name, about in sorted(header.items(), key=lambda e: e[1]["data_offsets"]):
            begin, end = about["data_offsets"]
            if begin != place or end < begin:
                raise ValueError(f"{name} doesn't begin where the one before ends")
            place = end
            shape, dtype = wanted[name]
            if tuple(about["shape"]) != tuple(shape):
                raise ValueError(f"{name} has shape {about['shape']}")
            if kinds[about["dtype"]] != dtype:
                raise ValueError(f"{name} has dtype {about['dtype']}")
            count = 1
            for size in shape:
                count *= size
            if end - begin != count * dtype.itemsize:
                raise ValueError(f"{name} has {end - begin} bytes")
            if count == 0:
                result[name] = torch.zeros(shape, dtype=dtype)
                continue
            tensor = torch.frombuffer(bytearray(body[begin:end]), dtype=dtype).view(shape)
            if not tensor.isfinite().all():
                raise ValueError(f"{name} isn't finite")
            result[name] = tensor
        if place != len(body):
            raise ValueError("bytes are missing or left over")
    except ValueError:
        raise
    except Exception as error:
        raise ValueError(f"not a sound file: {error!r}") from error
    return result


# %% wrong="gaps are looked for between tensors alone" says=["bytes that belong to no tensor, in front: this file was loaded"]
def safe_files(content, wanted):
    kinds = {"F32": torch.float32, "F16": torch.float16, "I64": torch.int64}
    try:
        (length,) = struct.unpack("<Q", content[:8])
        if length > len(content) - 8:
            raise ValueError("the header is longer than the file")
        header = json.loads(content[8 : 8 + length].decode("utf-8"))
        header.pop("__metadata__", None)
        body = content[8 + length :]
        if set(header) != set(wanted):
            raise ValueError(f"names are {sorted(header)}")
        place, result = None, {}
        for name, about in sorted(header.items(), key=lambda e: e[1]["data_offsets"]):
            begin, end = about["data_offsets"]
            if (place is not None and begin != place) or end < begin:
                raise ValueError(f"{name} doesn't begin where the one before ends")
            place = end
            shape, dtype = wanted[name]
            if tuple(about["shape"]) != tuple(shape):
                raise ValueError(f"{name} has shape {about['shape']}")
            if kinds[about["dtype"]] != dtype:
                raise ValueError(f"{name} has dtype {about['dtype']}")
            count = 1
            for size in shape:
                count *= size
            if end - begin != count * dtype.itemsize:
                raise ValueError(f"{name} has {end - begin} bytes")
            if count == 0:
                result[name] = torch.zeros(shape, dtype=dtype)
                continue
            tensor = torch.frombuffer(bytearray(body[begin:end]), dtype=dtype).view(shape)
            if not tensor.isfinite().all():
                raise ValueError(f"{name} isn't finite")
            result[name] = tensor
        if (place or 0) != len(body):
            raise ValueError("bytes are missing or left over")
    except ValueError:
        raise
    except Exception as error:
        raise ValueError(f"not a sound file: {error!r}") from error
    return result


# %% wrong="where an empty tensor is doesn't matter" says=["an empty tensor that begins behind the last byte: this file was loaded"]
def safe_files(content, wanted):
    kinds = {"F32": torch.float32, "F16": torch.float16, "I64": torch.int64}
    try:
        (length,) = struct.unpack("<Q", content[:8])
        if length > len(content) - 8:
            raise ValueError("the header is longer than the file")
        header = json.loads(content[8 : 8 + length].decode("utf-8"))
        header.pop("__metadata__", None)
        body = content[8 + length :]
        if set(header) != set(wanted):
            raise ValueError(f"names are {sorted(header)}")
        place, result = 0, {}
        for name, about in sorted(header.items(), key=lambda e: e[1]["data_offsets"]):
            begin, end = about["data_offsets"]
            if begin != end and begin != place or end < begin:
                raise ValueError(f"{name} doesn't begin where the one before ends")
            place = place if begin == end else end
            shape, dtype = wanted[name]
            if tuple(about["shape"]) != tuple(shape):
                raise ValueError(f"{name} has shape {about['shape']}")
            if kinds[about["dtype"]] != dtype:
                raise ValueError(f"{name} has dtype {about['dtype']}")
            count = 1
            for size in shape:
                count *= size
            if end - begin != count * dtype.itemsize:
                raise ValueError(f"{name} has {end - begin} bytes")
            if count == 0:
                result[name] = torch.zeros(shape, dtype=dtype)
                continue
            tensor = torch.frombuffer(bytearray(body[begin:end]), dtype=dtype).view(shape)
            if not tensor.isfinite().all():
                raise ValueError(f"{name} isn't finite")
            result[name] = tensor
        if place != len(body):
            raise ValueError("bytes are missing or left over")
    except ValueError:
        raise
    except Exception as error:
        raise ValueError(f"not a sound file: {error!r}") from error
    return result


# %% wrong="a number without dimensions isn't looked at" says=["a nan alone, without dimensions: this file was loaded"]
def safe_files(content, wanted):
    try:
        tensors = load(content)
    except Exception as error:
        raise ValueError(f"not a sound file: {error}") from error
    if set(tensors) != set(wanted):
        raise ValueError(f"names {sorted(tensors)}, wanted {sorted(wanted)}")
    for name, (shape, dtype) in wanted.items():
        tensor = tensors[name]
        if tuple(tensor.shape) != tuple(shape):
            raise ValueError(f"{name} has shape {tuple(tensor.shape)}, wanted {shape}")
        if tensor.dtype != dtype:
            raise ValueError(f"{name} has dtype {tensor.dtype}, wanted {dtype}")
        if tensor.ndim and not all(row.isfinite().all() for row in tensor):
            raise ValueError(f"{name} has numbers that aren't finite")
    return tensors


# %% wrong="integers let through for floats" says=["int64 where float32 is wanted: this file was loaded"]
def safe_files(content, wanted):
    try:
        tensors = load(content)
    except Exception as error:
        raise ValueError(f"not a sound file: {error}") from error
    if set(tensors) != set(wanted):
        raise ValueError(f"names {sorted(tensors)}, wanted {sorted(wanted)}")
    for name, (shape, dtype) in wanted.items():
        tensor = tensors[name]
        if tuple(tensor.shape) != tuple(shape):
            raise ValueError(f"{name} has shape {tuple(tensor.shape)}, wanted {shape}")
        if tensor.dtype != dtype and tensor.is_floating_point():
            raise ValueError(f"{name} has dtype {tensor.dtype}, wanted {dtype}")
        if not tensor.isfinite().all():
            raise ValueError(f"{name} has numbers that aren't finite")
    return tensors


# %% wrong="names without the blanks around them" says=["a name with a blank behind it: "]
def safe_files(content, wanted):
    try:
        tensors = load(content)
    except Exception as error:
        raise ValueError(f"not a sound file: {error}") from error
    if {n.strip() for n in tensors} != {n.strip() for n in wanted}:
        raise ValueError(f"names {sorted(tensors)}, wanted {sorted(wanted)}")
    for name, (shape, dtype) in wanted.items():
        tensor = tensors[name]
        if tuple(tensor.shape) != tuple(shape):
            raise ValueError(f"{name} has shape {tuple(tensor.shape)}, wanted {shape}")
        if tensor.dtype != dtype:
            raise ValueError(f"{name} has dtype {tensor.dtype}, wanted {dtype}")
        if not tensor.isfinite().all():
            raise ValueError(f"{name} has numbers that aren't finite")
    return tensors


# %% wrong="by hand, lengths added up alone" breaks="no byte is missing, none is left over" says=["a number in two tensors, and another one in none: this file was loaded", "and yet two overlap"]
import math


def safe_files(content: bytes, wanted: dict[str, tuple]) -> dict[str, torch.Tensor]:
    kinds = {"F32": torch.float32, "F16": torch.float16, "I64": torch.int64}
    try:
        (length,) = struct.unpack("<Q", content[:8])
        if 8 + length > len(content):
            raise ValueError("the header is cut")
        header = json.loads(content[8 : 8 + length].decode())
        header.pop("__metadata__", None)
        data = bytearray(content[8 + length :])
        if set(header) != set(wanted):
            raise ValueError("other names")
        place = 0
        entries = sorted(header.items(), key=lambda entry: tuple(entry[1]["data_offsets"]))
        tensors = {}
        for name, about in entries:
            begin, end = about["data_offsets"]
            shape, dtype = wanted[name]
            if tuple(about["shape"]) != tuple(shape) or kinds[about["dtype"]] != dtype:
                raise ValueError(f"{name} has another shape or dtype")
            if begin < 0 or end - begin != math.prod(shape) * dtype.itemsize:
                raise ValueError(f"{name} has other bytes")
            place += end - begin
            if end > len(data):
                raise ValueError("the data are cut")
            if begin == end:
                tensors[name] = torch.empty(shape, dtype=dtype)
            else:
                tensors[name] = torch.frombuffer(data[begin:end], dtype=dtype).view(shape)
            if not tensors[name].isfinite().all():
                raise ValueError(f"{name} isn't finite")
        if place != len(data):
            raise ValueError("bytes are left over")
    except ValueError:
        raise
    except Exception as error:
        raise ValueError(f"not a sound file: {error!r}") from error
    return tensors


# %% wrong="one buffer for each name" breaks="The tensors own their memory" says=["or wrote into them: each call makes its own"]
import math

KINDS = {
    "F32": (torch.float32, "f", 4),
    "F16": (torch.float16, "e", 2),
    "I64": (torch.int64, "q", 8),
}


def once(pairs):
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a name is there twice")
    return result


def whole_numbers(values):
    if type(values) is not list or any(type(n) is not int or n < 0 for n in values):
        raise ValueError(f"{values} should be whole numbers")
    return values


def by_hand(content, wanted):
    (length,) = struct.unpack("<Q", content[:8])
    if 8 + length > len(content):
        raise ValueError("the header is cut")
    text = content[8 : 8 + length].decode()
    if not text.startswith("{"):
        raise ValueError("the header is no object")
    header = json.loads(text, object_pairs_hook=once)
    notes = header.pop("__metadata__", {})
    if type(notes) is not dict or any(type(note) is not str for note in notes.values()):
        raise ValueError("__metadata__ isn't text")
    if header.keys() != wanted.keys():
        raise ValueError(f"names {sorted(header)}, wanted {sorted(wanted)}")
    numbers, pieces = content[8 + length :], []
    for name, about in header.items():
        begin, end = whole_numbers(about["data_offsets"])
        pieces.append(
            (begin, end, name, tuple(whole_numbers(about["shape"])), KINDS[about["dtype"]])
        )
    place, tensors = 0, {}
    for begin, end, name, shape, (dtype, letter, width) in sorted(
        pieces, key=lambda piece: piece[:2]
    ):
        count = math.prod(shape)
        if begin != place or end != begin + count * width or end > len(numbers):
            raise ValueError(f"{name}: its bytes aren't from {begin} to {end}")
        if shape != tuple(wanted[name][0]) or dtype != wanted[name][1]:
            raise ValueError(f"{name}: {shape}, {dtype}; wanted {wanted[name]}")
        values = struct.unpack(f"<{count}{letter}", numbers[begin:end])
        if not all(math.isfinite(value) for value in values):
            raise ValueError(f"{name} isn't finite")
        tensors[name] = torch.tensor(values, dtype=dtype).reshape(shape)
        place = end
    if place != len(numbers):
        raise ValueError(f"{len(numbers) - place} bytes are left over")
    return tensors


def safe_files(content, wanted):
    try:
        return by_hand(content, wanted)
    except ValueError:
        raise
    except Exception as error:
        raise ValueError(f"no sound file: {error!r}") from error


_once = safe_files
_kept = {}


def safe_files(content, wanted):
    found = _once(content, wanted)
    for name, value in found.items():
        key = name, value.shape, value.dtype
        found[name] = _kept.setdefault(key, torch.empty_like(value)).copy_(value)
    return found


# %% wrong="names in underscores are left out" breaks="(`__metadata__` isn't a tensor's name)" says=["a tensor named __hidden__ that nobody wanted: this file was loaded", "`__metadata__` alone"]
CODES = {"F32": (torch.float32, 4), "F16": (torch.float16, 2), "I64": (torch.int64, 8)}


def safe_files(content: bytes, wanted: dict[str, tuple]) -> dict[str, torch.Tensor]:
    try:
        tensors = load(content)
    except Exception as error:
        raise ValueError(f"not a sound file: {error!r}") from error
    tensors = {
        name: tensor
        for name, tensor in tensors.items()
        if not (name.startswith("__") and name.endswith("__"))  # metadata
    }
    if sorted(tensors) != sorted(wanted):
        raise ValueError(f"the names are {sorted(tensors)}, not {sorted(wanted)}")
    for name, tensor in tensors.items():
        if (tuple(tensor.shape), tensor.dtype) != (tuple(wanted[name][0]), wanted[name][1]):
            raise ValueError(f"{name} is {tensor.dtype} of shape {tuple(tensor.shape)}")
        if not tensor.isfinite().all():
            raise ValueError(f"{name} has numbers that aren't finite")
    return tensors


# %% wrong="an empty tensor more does no harm" breaks="its names are those of `wanted`, none more and none less" says=["one name too many, of an empty tensor: this file was loaded"]
CODES = {"F32": (torch.float32, 4), "F16": (torch.float16, 2), "I64": (torch.int64, 8)}


def safe_files(content: bytes, wanted: dict[str, tuple]) -> dict[str, torch.Tensor]:
    try:
        tensors = load(content)
    except Exception as error:
        raise ValueError(f"not a sound file: {error!r}") from error
    tensors = {name: tensor for name, tensor in tensors.items() if tensor.numel() or name in wanted}
    if sorted(tensors) != sorted(wanted):
        raise ValueError(f"the names are {sorted(tensors)}, not {sorted(wanted)}")
    for name, tensor in tensors.items():
        if (tuple(tensor.shape), tensor.dtype) != (tuple(wanted[name][0]), wanted[name][1]):
            raise ValueError(f"{name} is {tensor.dtype} of shape {tuple(tensor.shape)}")
        if not tensor.isfinite().all():
            raise ValueError(f"{name} has numbers that aren't finite")
    return tensors
