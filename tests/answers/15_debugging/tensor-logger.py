# %% [markdown]
# Rules:
#
# - "*name* is `func.overloadpacket.__name__`"
# - "positional arguments come first, then the keyword arguments as they come"
# - "arguments and result are put into words by `describe`"
# - "arguments are described as they were **before** the operator ran"
# - "every operator calls `write` with one line"
# - "when it has run"
# - "the exception's class name"
# - "the exception is raised again"
# - "results are what they would be without you"
# - "after the block nothing is written"
# - "each logger has its own `write`"
# - "each call is described anew"
#
# Admits:
#
# - "if the operator raises": misfit

# %% wrong="forgets the result" says=["the result inside the block is None"]
# ruff: noqa: E402
def tensor_logger(write):
    class Logger(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            said = [*map(describe, args), *(f"{k}={describe(v)}" for k, v in kwargs.items())]
            result = func(*args, **kwargs)
            write(f"{func.overloadpacket.__name__}({', '.join(said)}) -> {describe(result)}")

    return Logger()


# %% wrong="describes afterwards" breaks="arguments are described as they were **before** the operator ran" says=["in place", "describe the arguments before it runs"]
def tensor_logger(write):
    class Logger(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs, name = kwargs or {}, func.overloadpacket.__name__
            try:
                result = func(*args, **kwargs)
                end = describe(result)
            except Exception as error:
                end = type(error).__name__
                raise
            finally:
                said = [*map(describe, args), *(f"{k}={describe(v)}" for k, v in kwargs.items())]
                write(f"{name}({', '.join(said)}) -> {end}")
            return result

    return Logger()


# %% wrong="no keyword arguments" breaks="positional arguments come first, then the keyword arguments as they come" says=["keyword arguments as key=value"]
def tensor_logger(write):
    class Logger(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            call = f"{func.overloadpacket.__name__}({', '.join(map(describe, args))}) -> "
            try:
                result = func(*args, **(kwargs or {}))
            except Exception as error:
                write(call + type(error).__name__)
                raise
            write(call + describe(result))
            return result

    return Logger()


# %% wrong="says nothing of what raises" says=["misfit: no line was written"]
def tensor_logger(write):
    class Logger(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            said = [*map(describe, args), *(f"{k}={describe(v)}" for k, v in kwargs.items())]
            result = func(*args, **kwargs)
            write(f"{func.overloadpacket.__name__}({', '.join(said)}) -> {describe(result)}")
            return result

    return Logger()


# %% wrong="swallows the exception" breaks="the exception is raised again" says=["misfit: what came out of the block"]
def tensor_logger(write):
    class Logger(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            said = [*map(describe, args), *(f"{k}={describe(v)}" for k, v in kwargs.items())]
            call = f"{func.overloadpacket.__name__}({', '.join(said)}) -> "
            try:
                result = func(*args, **kwargs)
                write(call + describe(result))
                return result
            except Exception as error:
                write(call + type(error).__name__)
                return args[0]

    return Logger()


# %% wrong="listens to functions, not operators" says=["backward() was not written down"]
from torch.overrides import TorchFunctionMode


def tensor_logger(write):
    class Logger(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            said = [*map(describe, args), *(f"{k}={describe(v)}" for k, v in kwargs.items())]
            call = f"{func.__name__}({', '.join(said)}) -> "
            try:
                result = func(*args, **kwargs)
            except Exception as error:
                write(call + type(error).__name__)
                raise
            write(call + describe(result))
            return result

    return Logger()


# %% right="a class with a writer, and finally"
class Logbook(TorchDispatchMode):
    def __init__(self, write):
        super().__init__()
        self.write = write

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        words = [describe(a) for a in args]
        for key in kwargs or {}:
            words.append(key + "=" + describe(kwargs[key]))
        line, end = func.overloadpacket.__name__ + "(" + ", ".join(words) + ")", ""
        try:
            out = func(*args, **(kwargs or {}))
            end = describe(out)
            return out
        except BaseException as error:
            end = error.__class__.__name__
            raise
        finally:
            self.write(f"{line} -> {end}")


def tensor_logger(write):
    return Logbook(write)


# %% right="a generator"
import contextlib


@contextlib.contextmanager
def tensor_logger(write):
    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = {} if kwargs is None else kwargs
            inside = describe(list(args))[1:-1]
            for key, value in kwargs.items():
                inside += (", " if inside else "") + f"{key}={describe(value)}"
            start = f"{str(func).split('.')[1]}({inside}) -> "
            try:
                result = func(*args, **kwargs)
            except Exception as error:
                write(start + type(error).__name__)
                raise error
            write(start + describe(result))
            return result

    with Mode() as mode:
        yield mode


# %% wrong="writes before it runs, so no line ends in the exception" says=["an operator that raises gets its line, too"]
def tensor_logger(write: Callable[[str], object]) -> TorchDispatchMode:
    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            words = [describe(a) for a in args] + [f"{k}={describe(v)}" for k, v in kwargs.items()]
            text = f"{func.overloadpacket.__name__}({', '.join(words)})"
            out = func(*args, **kwargs)
            write(f"{text} -> {describe(out)}")
            return out

    return Log()


# %% right="a generator with contextlib"
import contextlib


@contextlib.contextmanager
def tensor_logger(write: Callable[[str], object]):
    class Spy(TorchDispatchMode):
        def __torch_dispatch__(self, op, _types, args=(), kwargs=None):
            kwargs = kwargs or {}
            said = list(map(describe, args))
            said.extend("=".join((k, describe(v))) for k, v in kwargs.items())
            head, tail = op.overloadpacket.__name__ + "(" + ", ".join(said) + ") -> ", None
            try:
                result = op(*args, **kwargs)
                tail = describe(result)
                return result
            except BaseException as error:
                tail = error.__class__.__name__
                raise
            finally:
                write(head + tail)

    with Spy():
        yield


# %% wrong="catches RuntimeErrors alone" says=["out of range: no line was written", "here IndexError"]
def tensor_logger(write):
    class Logger(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            said = [*map(describe, args), *(f"{k}={describe(v)}" for k, v in kwargs.items())]
            call = f"{func.overloadpacket.__name__}({', '.join(said)})"
            try:
                result = func(*args, **kwargs)
            except RuntimeError as error:
                write(f"{call} -> {type(error).__name__}")
                raise
            write(f"{call} -> {describe(result)}")
            return result

    return Logger()


# %% wrong="keyword arguments as they print" breaks="arguments and result are put into words by `describe`" says=["out=", "keyword arguments go through describe as well"]
def tensor_logger(write):
    class Logger(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            said = [*map(describe, args), *(f"{k}={v!r}" for k, v in kwargs.items())]
            call = f"{func.overloadpacket.__name__}({', '.join(said)})"
            try:
                result = func(*args, **kwargs)
            except Exception as error:
                write(f"{call} -> {type(error).__name__}")
                raise
            write(f"{call} -> {describe(result)}")
            return result

    return Logger()


# %% wrong="hands out copies" breaks="results are what they would be without you" says=["through a view", "hand out what the operator returned, not a copy"]
def tensor_logger(write):
    from torch.utils._pytree import tree_map_only

    class Logger(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            said = [*map(describe, args), *(f"{k}={describe(v)}" for k, v in kwargs.items())]
            call = f"{func.overloadpacket.__name__}({', '.join(said)})"
            try:
                result = func(*args, **kwargs)
            except Exception as error:
                write(f"{call} -> {type(error).__name__}")
                raise
            write(f"{call} -> {describe(result)}")
            return tree_map_only(torch.Tensor, torch.clone, result)

    return Logger()


# %% wrong="writes everything when the block ends" breaks="when it has run" says=["when it has run, not when the block ends"]
def tensor_logger(write):
    class Logger(TorchDispatchMode):
        def __enter__(self):
            self.lines = []
            return super().__enter__()

        def __exit__(self, *exception):
            super().__exit__(*exception)
            for line in self.lines:
                write(line)

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            said = [*map(describe, args), *(f"{k}={describe(v)}" for k, v in kwargs.items())]
            call = f"{func.overloadpacket.__name__}({', '.join(said)})"
            try:
                result = func(*args, **kwargs)
            except Exception as error:
                self.lines.append(f"{call} -> {type(error).__name__}")
                raise
            self.lines.append(f"{call} -> {describe(result)}")
            return result

    return Logger()


# %% wrong="remembers results by the call's text" breaks="each call is described anew" says=["one call, two sizes"]
def tensor_logger(write):
    class L(TorchDispatchMode):
        cache = {}

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            key = f"{func.overloadpacket.__name__}({', '.join([*map(describe, args), *(f'{k}={describe(v)}' for k, v in kwargs.items())])})"
            try:
                r = func(*args, **kwargs)
            except Exception as e:
                write(f"{key} -> {type(e).__name__}")
                raise
            L.cache.setdefault(key, describe(r))
            write(f"{key} -> {L.cache[key]}")
            return r

    return L()


# %% wrong="one write for all loggers" breaks="each logger has its own `write`" says=["another logger was made meanwhile", "calls the write that it was made with"]
def _writes():
    pass


class _L(TorchDispatchMode):
    write = None

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        key = f"{func.overloadpacket.__name__}({', '.join([*map(describe, args), *(f'{k}={describe(v)}' for k, v in kwargs.items())])})"
        try:
            r = func(*args, **kwargs)
        except Exception as e:
            _L.write(f"{key} -> {type(e).__name__}")
            raise
        _L.write(f"{key} -> {describe(r)}")
        return r


def tensor_logger(write):
    _L.write = staticmethod(write)
    return _L()


# %% wrong="writes each line once" breaks="every operator calls `write` with one line" says=["the same call twice"]
def tensor_logger(write):
    seen = set()

    class L(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            key = f"{func.overloadpacket.__name__}({', '.join([*map(describe, args), *(f'{k}={describe(v)}' for k, v in kwargs.items())])})"
            try:
                r = func(*args, **kwargs)
            except Exception as e:
                write(f"{key} -> {type(e).__name__}")
                raise
            line = f"{key} -> {describe(r)}"
            if line not in seen:
                write(line)
            seen.add(line)
            return r

    return L()


# %% wrong="makes results contiguous" says=["not a copy"]
def tensor_logger(write):
    class L(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            key = f"{func.overloadpacket.__name__}({', '.join([*map(describe, args), *(f'{k}={describe(v)}' for k, v in kwargs.items())])})"
            try:
                r = func(*args, **kwargs)
            except Exception as e:
                write(f"{key} -> {type(e).__name__}")
                raise
            write(f"{key} -> {describe(r)}")
            return r.contiguous() if isinstance(r, torch.Tensor) else r

    return L()


# %% wrong="the overload's name" breaks="*name* is `func.overloadpacket.__name__`" says=["the overload, behind the dot, is left out", "leave out what is behind the dot"]
def tensor_logger(write):
    class Logger(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            said = ", ".join(
                [*map(describe, args), *(f"{k}={describe(v)}" for k, v in kwargs.items())]
            )
            name = str(func).replace("aten.", "")
            try:
                result = func(*args, **kwargs)
            except Exception as error:
                write(f"{name}({said}) -> {type(error).__name__}")
                raise
            write(f"{name}({said}) -> {describe(result)}")
            return result

    return Logger()


# %% wrong="leaves views out" says=["through a view"]
def tensor_logger(write):
    class Logger(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            said = ", ".join(
                [*map(describe, args), *(f"{k}={describe(v)}" for k, v in kwargs.items())]
            )
            name = func.overloadpacket.__name__
            if func.is_view:
                return func(*args, **kwargs)
            try:
                result = func(*args, **kwargs)
            except Exception as error:
                write(f"{name}({said}) -> {type(error).__name__}")
                raise
            write(f"{name}({said}) -> {describe(result)}")
            return result

    return Logger()


# %% wrong="raises another class" says=["what came out of the block"]
def tensor_logger(write):
    class Logger(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            said = ", ".join(
                [*map(describe, args), *(f"{k}={describe(v)}" for k, v in kwargs.items())]
            )
            name = func.overloadpacket.__name__
            try:
                result = func(*args, **kwargs)
            except Exception as error:
                write(f"{name}({said}) -> {type(error).__name__}")
                raise RuntimeError(str(error)) from error
            write(f"{name}({said}) -> {describe(result)}")
            return result

    return Logger()


# %% wrong="the exception's words" breaks="the exception's class name" says=["misfit: a line"]
def tensor_logger(write):
    class Logger(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            said = ", ".join(
                [*map(describe, args), *(f"{k}={describe(v)}" for k, v in kwargs.items())]
            )
            name = func.overloadpacket.__name__
            try:
                result = func(*args, **kwargs)
            except Exception as error:
                write(f"{name}({said}) -> {repr(error)}")
                raise
            write(f"{name}({said}) -> {describe(result)}")
            return result

    return Logger()


# %% right="a line in finally"
def tensor_logger(write):
    import contextlib

    def line(func, args, kwargs):
        return (
            func.overloadpacket.__name__
            + "("
            + ", ".join(
                [describe(a) for a in args] + [k + "=" + describe(v) for k, v in kwargs.items()]
            )
            + ") -> "
        )

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs={}):
            start, end = line(func, args, kwargs), None
            try:
                out = func(*args, **kwargs)
                end = describe(out)
                return out
            except BaseException as e:
                end = e.__class__.__name__
                raise
            finally:
                write(start + end)

    @contextlib.contextmanager
    def block():
        with Mode() as m:
            yield m

    return block()


# %% wrong="switches the mode on before the block" breaks="after the block nothing is written" says=["a mode is entered and never left"]
def tensor_logger(write):
    class Logger(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            words = [describe(a) for a in args] + [f"{k}={describe(v)}" for k, v in kwargs.items()]
            call = f"{func.overloadpacket.__name__}({', '.join(words)}) -> "
            try:
                result = func(*args, **kwargs)
            except Exception as error:
                write(call + type(error).__name__)
                raise
            write(call + describe(result))
            return result

    mode = Logger()
    mode.__enter__()
    return mode


# %% wrong="sorts the keyword arguments" says=["keyword arguments as they come, not sorted"]
def tensor_logger(write):
    class Logger(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            words = [describe(a) for a in args] + [
                f"{k}={describe(v)}" for k, v in sorted(kwargs.items())
            ]
            call = f"{func.overloadpacket.__name__}({', '.join(words)}) -> "
            try:
                result = func(*args, **kwargs)
            except Exception as error:
                write(call + type(error).__name__)
                raise
            write(call + describe(result))
            return result

    return Logger()


# %% wrong="opens no lists" says=["a line"]
def tensor_logger(write):
    class Logger(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            words = [(describe(a) if isinstance(a, torch.Tensor) else repr(a)) for a in args] + [
                f"{k}={describe(v)}" for k, v in kwargs.items()
            ]
            call = f"{func.overloadpacket.__name__}({', '.join(words)}) -> "
            try:
                result = func(*args, **kwargs)
            except Exception as error:
                write(call + type(error).__name__)
                raise
            write(call + describe(result))
            return result

    return Logger()


# %% wrong="remembers what it said of a tensor" says=["describe it anew"]
def tensor_logger(write):
    known = {}

    class Logger(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            words = [known.setdefault(id(a), describe(a)) for a in args] + [
                f"{k}={describe(v)}" for k, v in kwargs.items()
            ]
            call = f"{func.overloadpacket.__name__}({', '.join(words)}) -> "
            try:
                result = func(*args, **kwargs)
            except Exception as error:
                write(call + type(error).__name__)
                raise
            write(call + describe(result))
            return result

    return Logger()


# %% wrong="remembers descriptions by id" says=["in place: a line", "it was described before it changed"]
def tensor_logger(write):
    known = {}

    def words_of(value):
        return known.setdefault(id(value), describe(value))

    class Logger(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            words = [*map(words_of, args), *(f"{k}={words_of(v)}" for k, v in kwargs.items())]
            call = f"{func.overloadpacket.__name__}({', '.join(words)})"
            try:
                result = func(*args, **kwargs)
            except Exception as error:
                write(f"{call} -> {type(error).__name__}")
                raise
            write(f"{call} -> {words_of(result)}")
            return result

    return Logger()


# %% wrong="no line for an operator that returns nothing" says=["nothing comes back", "the number of lines"]
def tensor_logger(write):
    class Logger(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            words = [describe(a) for a in args] + [f"{k}={describe(v)}" for k, v in kwargs.items()]
            call = f"{func.overloadpacket.__name__}({', '.join(words)}) -> "
            try:
                result = func(*args, **kwargs)
            except Exception as error:
                write(call + type(error).__name__)
                raise
            if result is not None:
                write(call + describe(result))
            return result

    return Logger()


# %% wrong="keyword arguments that are None are left out" says=["a keyword that is None", "a keyword argument that is None came, too"]
def tensor_logger(write):
    class Logger(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            words = [describe(value) for value in args]
            words += [
                f"{key}={describe(value)}" for key, value in kwargs.items() if value is not None
            ]
            call = f"{func.overloadpacket.__name__}({', '.join(words)})"
            try:
                result = func(*args, **kwargs)
            except Exception as error:
                write(f"{call} -> {type(error).__name__}")
                raise
            write(f"{call} -> {describe(result)}")
            return result

    return Logger()


# %% wrong="nothing is written without grad mode" says=["it runs without grad mode; write that, too"]
def tensor_logger(write):
    class Logger(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            if "backward" in func.overloadpacket.__name__ or not torch.is_grad_enabled():
                return func(*args, **kwargs)
            words = [describe(value) for value in args]
            words += [f"{key}={describe(value)}" for key, value in kwargs.items()]
            call = f"{func.overloadpacket.__name__}({', '.join(words)})"
            try:
                result = func(*args, **kwargs)
            except Exception as error:
                write(f"{call} -> {type(error).__name__}")
                raise
            write(f"{call} -> {describe(result)}")
            return result

    return Logger()


# %% wrong="empty operators aren't written" says=["new_empty is an operator, too"]
def tensor_logger(write):
    class Logger(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            if "empty" in func.overloadpacket.__name__:
                return func(*args, **kwargs)
            words = [describe(value) for value in args]
            words += [f"{key}={describe(value)}" for key, value in kwargs.items()]
            call = f"{func.overloadpacket.__name__}({', '.join(words)})"
            try:
                result = func(*args, **kwargs)
            except Exception as error:
                write(f"{call} -> {type(error).__name__}")
                raise
            write(f"{call} -> {describe(result)}")
            return result

    return Logger()


# %% wrong="detach isn't written" says=["detach is an operator, too"]
def tensor_logger(write):
    class Logger(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            if func.overloadpacket.__name__ == "detach":
                return func(*args, **kwargs)
            words = [describe(value) for value in args]
            words += [f"{key}={describe(value)}" for key, value in kwargs.items()]
            call = f"{func.overloadpacket.__name__}({', '.join(words)})"
            try:
                result = func(*args, **kwargs)
            except Exception as error:
                write(f"{call} -> {type(error).__name__}")
                raise
            write(f"{call} -> {describe(result)}")
            return result

    return Logger()


# %% wrong="a tensor without dimensions is a number" says=["is described as float32()"]
def tensor_logger(write):
    class Logger(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            words = [
                describe(value)
                if not (isinstance(value, torch.Tensor) and value.dim() == 0)
                else str(value.item())
                for value in args
            ]
            words += [f"{key}={describe(value)}" for key, value in kwargs.items()]
            call = f"{func.overloadpacket.__name__}({', '.join(words)})"
            try:
                result = func(*args, **kwargs)
            except Exception as error:
                write(f"{call} -> {type(error).__name__}")
                raise
            write(f"{call} -> {describe(result)}")
            return result

    return Logger()


# %% wrong="texts and numbers by str" says=["a text among the arguments", "a text keeps its quotes"]
def tensor_logger(write):
    class Logger(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            words = [str(a) if isinstance(a, (str, float, int)) else describe(a) for a in args]
            words += [f"{key}={describe(value)}" for key, value in kwargs.items()]
            call = f"{func.overloadpacket.__name__}({', '.join(words)})"
            try:
                result = func(*args, **kwargs)
            except Exception as error:
                write(f"{call} -> {type(error).__name__}")
                raise
            write(f"{call} -> {describe(result)}")
            return result

    return Logger()


# %% wrong="None among the arguments left out" breaks="arguments and result are put into words by `describe`" says=["None among the arguments: a line", "an argument that is None came, too"]
def tensor_logger(write: Callable[[str], object]) -> TorchDispatchMode:

    class Logger(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            words = [describe(value) for value in args if value is not None]
            words += [f"{key}={describe(value)}" for key, value in kwargs.items()]
            call = f"{func.overloadpacket.__name__}({', '.join(words)})"
            try:
                result = func(*args, **kwargs)
            except Exception as error:
                write(f"{call} -> {type(error).__name__}")
                raise
            write(f"{call} -> {describe(result)}")
            return result

    return Logger()


# %% wrong="None in a list left out" says=["None in a list: a line"]
def tensor_logger(write: Callable[[str], object]) -> TorchDispatchMode:

    class Logger(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            words = []
            for value in args:
                if isinstance(value, list):
                    value = [entry for entry in value if entry is not None]
                words.append(describe(value))
            words += [f"{key}={describe(value)}" for key, value in kwargs.items()]
            call = f"{func.overloadpacket.__name__}({', '.join(words)})"
            try:
                result = func(*args, **kwargs)
            except Exception as error:
                write(f"{call} -> {type(error).__name__}")
                raise
            write(f"{call} -> {describe(result)}")
            return result

    return Logger()


# %% wrong="keywords described after the operator ran" says=["out= was empty before add ran"]
def tensor_logger(write):
    class Logger(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            words = [describe(a) for a in args]
            try:
                result = func(*args, **kwargs)
            except Exception as error:
                words += [f"{key}={describe(value)}" for key, value in kwargs.items()]
                call = f"{func.overloadpacket.__name__}({', '.join(words)})"
                write(f"{call} -> {type(error).__name__}")
                raise
            words += [f"{key}={describe(value)}" for key, value in kwargs.items()]
            call = f"{func.overloadpacket.__name__}({', '.join(words)})"
            write(f"{call} -> {describe(result)}")
            return result

    return Logger()


# %% wrong="text of a call cached by operator" says=["one operator, two shapes"]
def tensor_logger(write):
    class Logger(TorchDispatchMode):
        calls = {}

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            words = [describe(a) for a in args]
            words += [f"{key}={describe(value)}" for key, value in kwargs.items()]
            self.calls.setdefault(func, f"{func.overloadpacket.__name__}({', '.join(words)})")
            call = self.calls[func]
            _ = f"{func.overloadpacket.__name__}({', '.join(words)})"
            try:
                result = func(*args, **kwargs)
            except Exception as error:
                write(f"{call} -> {type(error).__name__}")
                raise
            write(f"{call} -> {describe(result)}")
            return result

    return Logger()


# %% wrong="is quiet after an error" says=["after an error"]
def tensor_logger(write):
    class Logger(TorchDispatchMode):
        depth = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            if Logger.depth:
                return func(*args, **kwargs)
            words = [describe(a) for a in args]
            words += [f"{key}={describe(value)}" for key, value in kwargs.items()]
            call = f"{func.overloadpacket.__name__}({', '.join(words)})"
            try:
                result = func(*args, **kwargs)
            except Exception as error:
                Logger.depth = 1
                write(f"{call} -> {type(error).__name__}")
                raise
            write(f"{call} -> {describe(result)}")
            return result

    return Logger()


# %% wrong="a new exception of the class" breaks="the exception is raised again" says=["got 'a new RuntimeError'", "the exception that the operator raised"]
def tensor_logger(write: Callable[[str], object]) -> TorchDispatchMode:
    class Logger(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            words = [describe(a) for a in args] + [f"{k}={describe(v)}" for k, v in kwargs.items()]
            head = f"{func.overloadpacket.__name__}({', '.join(words)}) -> "
            try:
                result = func(*args, **kwargs)
            except Exception as error:
                write(head + type(error).__name__)
                raise type(error)(f"{func.overloadpacket.__name__}: {error}") from error
            write(head + describe(result))
            return result

    return Logger()
