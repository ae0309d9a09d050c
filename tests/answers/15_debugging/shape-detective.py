# %% [markdown]
# Rules:
#
# - "It runs the model once"
# - "on a float32 input of that shape"
# - "in the mode the model is in"
# - "`None` if that works"
# - "the name, as `named_modules()` gives it"
# - "the innermost module whose `forward` began and did not finish"
# - "the shape of its first argument (a tensor, handed by position)"
# - "as it came"
# - "as a tuple"
# - "The exception, whatever its class, does not leave your function"
# - "buffers (a BatchNorm in training counts its batches)"
# - "its own hooks included"
# - "`.grad`"
# - "and the global random state"
#
# Admits:
#
# - "in the mode the model is in": in eval mode it works
# - "which may be `()`": no dimension

# %% wrong="the last module that began" breaks="the innermost module whose `forward` began and did not finish" says=["both children finished; their parent did not"]
# ruff: noqa: E402
import copy


def shape_detective(model, shape):
    twin, began = copy.deepcopy(model), []
    for name, module in twin.named_modules():
        module.register_forward_pre_hook(
            lambda m, args, name=name: began.append((name, tuple(args[0].shape)))
        )
    try:
        twin.to("meta")(torch.empty(shape, device="meta"))
    except Exception:
        return began[-1]
    return None


# %% wrong="runs the model itself" breaks="buffers (a BatchNorm in training counts its batches)" says=["parameters or buffers", "random state"]
def shape_detective(model, shape):
    running, handles = [], []
    for name, module in model.named_modules():
        handles.append(
            module.register_forward_pre_hook(
                lambda m, args, name=name: running.append((name, tuple(args[0].shape)))
            )
        )
        handles.append(module.register_forward_hook(lambda *_: running.pop() and None))
    try:
        model(torch.zeros(shape, device=next(model.parameters()).device))
    except Exception:
        return running[-1]
    finally:
        for handle in handles:
            handle.remove()
    return None


# %% wrong="the hooks stay" says=["hooks"]
def shape_detective(model, shape):
    running = []
    for name, module in model.named_modules():
        module.register_forward_pre_hook(
            lambda m, args, name=name: running.append((name, tuple(args[0].shape)))
        )
        module.register_forward_hook(lambda *_: running.pop() and None)
    state = torch.get_rng_state()
    buffers = [b.clone() for b in model.buffers()]
    try:
        model(torch.zeros(shape, device=next(model.parameters()).device))
    except Exception:
        return running[-1]
    finally:
        torch.set_rng_state(state)
        for old, b in zip(buffers, model.buffers(), strict=True):
            b.copy_(old)
    return None


# %% wrong="in eval mode" breaks="in the mode the model is in" says=["in training, one sample has no variance"]
import copy


def shape_detective(model, shape):
    twin, running = copy.deepcopy(model).to("meta").eval(), []
    for name, module in twin.named_modules():
        module.register_forward_pre_hook(
            lambda m, args, name=name: running.append((name, tuple(args[0].shape)))
        )
        module.register_forward_hook(lambda *_: running.pop() and None)
    try:
        twin(torch.empty(shape, device="meta"))
    except Exception:
        return running[-1]
    return None


# %% wrong="the first leaf that did not finish, in the order of names" says=["the second call fails, not the first"]
import copy


def shape_detective(model, shape):
    twin, sizes, done = copy.deepcopy(model).to("meta"), {}, set()
    leaves = {n: m for n, m in twin.named_modules() if not list(m.children())}
    for name, module in leaves.items():
        module.register_forward_pre_hook(
            lambda m, args, name=name: sizes.update({name: tuple(args[0].shape)})
        )
        module.register_forward_hook(lambda *_, name=name: done.add(name))
    try:
        twin(torch.empty(shape, device="meta"))
    except Exception:
        missing = [name for name in reversed(list(leaves)) if name not in done]
        return missing[0] if missing else "", sizes.get(missing[0] if missing else "", shape)
    return None


# %% wrong="raises it again" says=["RuntimeError left the function"]
import copy


def shape_detective(model, shape):
    copy.deepcopy(model).to("meta")(torch.empty(shape, device="meta"))
    return None


# %% right="real tensors, everything put back"
def shape_detective(model, shape):
    running, handles = [], []
    buffers = {name: b.clone() for name, b in model.named_buffers()}
    state = torch.get_rng_state()

    def before(name):
        return lambda module, args: running.append([name, list(args[0].shape)])

    def after(module, args, output):
        del running[-1]

    for name, module in model.named_modules():
        handles += [
            module.register_forward_pre_hook(before(name), prepend=True),
            module.register_forward_hook(after),
        ]
    try:
        with torch.no_grad(), torch.random.fork_rng():
            model(torch.ones(shape, device=device))
    except Exception:
        name, size = running[-1]
        return name, tuple(size)
    finally:
        for handle in handles:
            handle.remove()
        with torch.no_grad():
            for name, b in model.named_buffers():
                b.copy_(buffers[name])
        torch.set_rng_state(state)
    return None


# %% wrong="from the frames of the traceback" says=["as it came, before forward turns it"]
import copy


def shape_detective(model, shape):
    twin = copy.deepcopy(model).to("meta")
    names = {id(module): name for name, module in twin.named_modules()}
    for hook in ("_forward_hooks", "_forward_pre_hooks"):
        for module in twin.modules():
            getattr(module, hook).clear()
    try:
        twin(torch.empty(*shape, device="meta"))
    except Exception as error:
        found, entry = None, error.__traceback__
        while entry is not None:
            local = entry.tb_frame.f_locals
            module = local.get("self")
            if (
                id(module) in names
                and "args" in local
                and entry.tb_frame.f_code.co_name == "_call_impl"
            ):
                found = names[id(module)], tuple(local["args"][0].shape)
            entry = entry.tb_next
        return found


# %% right="wraps each forward of a copy"
import copy


def shape_detective(model, shape):
    twin, stack = copy.deepcopy(model).to("meta"), []

    def wrap(name, forward):
        def call(x, *others):
            stack.append((name, tuple(x.shape)))
            result = forward(x, *others)
            stack.pop()
            return result

        return call

    for name, module in twin.named_modules():
        module.forward = wrap(name, module.forward)
    try:
        twin(torch.rand(shape, device="meta"))
    except Exception:
        return stack.pop()


# %% wrong="reads the argument in the frame, where forward has put another in its place" breaks="as it came" says=["the argument as it came"]
import copy


def shape_detective(model, shape):
    twin = copy.deepcopy(model).to("meta")
    for module in twin.modules():
        module._forward_hooks.clear()
        module._forward_pre_hooks.clear()
    names = {id(module): name for name, module in twin.named_modules()}
    try:
        twin(torch.empty(shape, device="meta"))
    except Exception as error:
        found, entry = None, error.__traceback__
        while entry is not None:
            code, local = entry.tb_frame.f_code, entry.tb_frame.f_locals
            if code.co_name == "forward" and id(local.get("self")) in names:
                first = local[code.co_varnames[1]]
                found = names[id(local["self"])], tuple(first.shape)
            entry = entry.tb_next
        return found
    return None


# %% wrong="runs it once to see whether it works, and again to find where" breaks="It runs the model once" says=["the model ran 2 times"]
import copy


def shape_detective(model, shape):
    def run(watched):
        twin, running = copy.deepcopy(model).to("meta"), []
        for name, module in twin.named_modules() if watched else ():
            module.register_forward_pre_hook(
                lambda m, a, name=name: running.append((name, tuple(a[0].shape)))
            )
            module.register_forward_hook(lambda *_: running.pop() and None)
        try:
            twin(torch.empty(shape, device="meta"))
        except Exception:
            return running[-1] if watched else True
        return None

    return run(watched=True) if run(watched=False) else None


# %% wrong="removes its hooks by clearing all of them" breaks="its own hooks included" says=["the model or the random state was changed: hooks"]
def shape_detective(model, shape):
    import copy

    buffers, running = copy.deepcopy(dict(model.named_buffers())), []
    for name, module in model.named_modules():
        module.register_forward_pre_hook(
            lambda m, a, name=name: running.append((name, tuple(a[0].shape)))
        )
        module.register_forward_hook(lambda *_: running.pop() and None)
    try:
        with torch.no_grad(), torch.random.fork_rng():
            model(torch.zeros(shape, device=next(model.parameters()).device))
    except Exception:
        return running[-1]
    finally:
        for name, buffer in model.named_buffers():
            buffer.data.copy_(buffers[name])
        for module in model.modules():
            module._forward_hooks.clear()
            module._forward_pre_hooks.clear()
    return None


# %% wrong="clears the gradients" breaks="`.grad`" says=[".grad"]
def shape_detective(model, shape):
    import copy

    model.zero_grad()
    twin, running = copy.deepcopy(model).to("meta"), []
    for name, module in twin.named_modules():
        module.register_forward_pre_hook(
            lambda m, a, name=name: running.append((name, tuple(a[0].shape)))
        )
        module.register_forward_hook(lambda *_: running.pop() and None)
    try:
        twin(torch.empty(shape, device="meta"))
    except Exception:
        return running[-1]
    return None


# %% wrong="RuntimeErrors and ValueErrors only" breaks="The exception, whatever its class, does not leave your function" says=["a KeyError"]
def shape_detective(model, shape):
    import copy

    twin, running = copy.deepcopy(model).to("meta"), []
    for name, m in twin.named_modules():
        m.register_forward_pre_hook(
            lambda m, a, name=name: running.append((name, tuple(a[0].shape)))
        )
        m.register_forward_hook(lambda m, a, o: running.pop() and None)
    try:
        twin(torch.empty(shape, device="meta"))
    except (RuntimeError, ValueError):
        return running[-1]
    return None


# %% wrong="a list for the shape" breaks="as a tuple" says=["expected a tuple"]
def shape_detective(model, shape):
    import copy

    twin, running = copy.deepcopy(model).to("meta"), []
    for name, m in twin.named_modules():
        m.register_forward_pre_hook(
            lambda m, a, name=name: running.append((name, list(a[0].shape)))
        )
        m.register_forward_hook(lambda m, a, o: running.pop() and None)
    try:
        twin(torch.empty(shape, device="meta"))
    except Exception:
        return running[-1]
    return None


# %% wrong="names a shared module by its last name" breaks="the name, as `named_modules()` gives it" says=["named_modules() names it once"]
import copy
from functools import partial


def shape_detective(model, shape):
    twin = copy.deepcopy(model).to("meta")
    running = []

    def begin(name, module, args):
        running.append((name, tuple(args[0].shape)))

    def finish(module, args, output):
        running.pop()

    for name, module in [
        (n, m) for m, n in {m: n for n, m in twin.named_modules(remove_duplicate=False)}.items()
    ]:
        module.register_forward_pre_hook(partial(begin, name))
        module.register_forward_hook(finish)
    try:
        twin(torch.empty(shape, device="meta"))
    except Exception:
        return running[-1]
    return None


# %% wrong="the shape of the last argument" breaks="the shape of its first argument (a tensor, handed by position)" says=["the shape of the first argument"]
def shape_detective(model, shape):
    import copy

    twin, running = copy.deepcopy(model).to("meta"), []

    def begin(name, module, args):
        running.append((name, tuple(args[-1].shape)))

    def finish(module, args, output):
        running.pop()

    for name, module in twin.named_modules():
        module.register_forward_pre_hook(partial(begin, name))
        module.register_forward_hook(finish)
    try:
        twin(torch.empty(shape, device="meta"))
    except Exception:
        return running[-1]
    return None


# %% wrong="the outermost module" says=["both children finished"]
def shape_detective(model, shape):
    import copy

    twin, running = copy.deepcopy(model).to("meta"), []

    def begin(name, module, args):
        running.append((name, tuple(args[0].shape)))

    def finish(module, args, output):
        running.pop()

    for name, module in twin.named_modules():
        module.register_forward_pre_hook(partial(begin, name))
        module.register_forward_hook(finish)
    try:
        twin(torch.empty(shape, device="meta"))
    except Exception:
        return running[0]
    return None


# %% wrong="always in training" says=["in eval mode it works"]
def shape_detective(model, shape):
    import copy

    twin, running = copy.deepcopy(model).to("meta"), []

    def begin(name, module, args):
        running.append((name, tuple(args[0].shape)))

    def finish(module, args, output):
        running.pop()

    for name, module in twin.named_modules():
        module.register_forward_pre_hook(partial(begin, name))
        module.register_forward_hook(finish)
    try:
        twin.train()(torch.empty(shape, device="meta"))
    except Exception:
        return running[-1]
    return None


# %% wrong="the class's name" says=["b runs before a"]
def shape_detective(model, shape):
    import copy

    twin, running = copy.deepcopy(model).to("meta"), []

    def begin(name, module, args):
        running.append((type(module).__name__, tuple(args[0].shape)))

    def finish(module, args, output):
        running.pop()

    for name, module in twin.named_modules():
        module.register_forward_pre_hook(partial(begin, name))
        module.register_forward_hook(finish)
    try:
        twin(torch.empty(shape, device="meta"))
    except Exception:
        return running[-1]
    return None


# %% right="hooks for all modules at once"
def shape_detective(model, shape):
    import copy

    from torch.nn.modules.module import (
        register_module_forward_hook,
        register_module_forward_pre_hook,
    )

    twin = copy.deepcopy(model).to("meta")
    names = {m: n for n, m in twin.named_modules()}
    stack = []
    a = register_module_forward_pre_hook(lambda m, i: stack.append((names[m], tuple(i[0].size()))))

    def done(m, i, o):
        stack.pop()

    b = register_module_forward_hook(done)
    try:
        twin(torch.zeros(shape, device="meta"))
    except Exception:
        return stack.pop()
    finally:
        a.remove()
        b.remove()


# %% wrong="True where it works" breaks="`None` if that works" says=["found True, but there is nothing to find"]
import copy
from functools import partial


def shape_detective(model, shape):
    twin = copy.deepcopy(model).to("meta")
    running = []

    def begin(name, module, args):
        running.append((name, tuple(args[0].shape)))

    def finish(module, args, output):
        running.pop()

    for name, module in twin.named_modules():
        module.register_forward_pre_hook(partial(begin, name))
        module.register_forward_hook(finish)
    try:
        twin(torch.zeros(shape, device="meta"))
    except Exception:
        return running[-1]
    return True


# %% wrong="draws its input" breaks="and the global random state" says=["random state"]
import copy
from functools import partial


def shape_detective(model, shape):
    twin = copy.deepcopy(model)
    running = []

    def begin(name, module, args):
        running.append((name, tuple(args[0].shape)))

    def finish(module, args, output):
        running.pop()

    for name, module in twin.named_modules():
        module.register_forward_pre_hook(partial(begin, name))
        module.register_forward_hook(finish)
    try:
        twin(torch.randn(shape))
    except Exception:
        return running[-1]
    return None


# %% wrong="runs it for real as well" says=["it fits: the model or the random state was changed"]
import copy
from functools import partial


def shape_detective(model, shape):
    twin = copy.deepcopy(model).to("meta")
    running = []

    def begin(name, module, args):
        running.append((name, tuple(args[0].shape)))

    def finish(module, args, output):
        running.pop()

    for name, module in twin.named_modules():
        module.register_forward_pre_hook(partial(begin, name))
        module.register_forward_hook(finish)
    try:
        twin(torch.zeros(shape, device="meta"))
        model(torch.zeros(shape))
    except Exception:
        return running[-1]
    return None


# %% wrong="looks at the shape after the failure" says=["as it came, before forward turns it"]
import copy
from functools import partial


def shape_detective(model, shape):
    twin = copy.deepcopy(model).to("meta")
    running = []

    def begin(name, module, args):
        running.append((name, args[0]))

    def finish(module, args, output):
        running.pop()

    for name, module in twin.named_modules():
        module.register_forward_pre_hook(partial(begin, name))
        module.register_forward_hook(finish)
    try:
        twin(torch.zeros(shape, device="meta"))
    except Exception:
        return running[-1][0], tuple(running[-1][1].shape)
    return None


# %% wrong="an input of the weights' dtype" breaks="on a float32 input of that shape" says=["float64 weights", "the input is float32, whatever the weights"]
import copy
from functools import partial


def shape_detective(model, shape):
    twin, running = copy.deepcopy(model).to("meta"), []

    def begin(name, module, args):
        running.append((name, tuple(args[0].shape)))

    def finish(module, args, output):
        running.pop()

    for name, module in twin.named_modules():
        module.register_forward_pre_hook(partial(begin, name))
        module.register_forward_hook(finish)
    dtype = next((p.dtype for p in twin.parameters()), torch.float32)
    try:
        twin(torch.empty(shape, device="meta", dtype=dtype))
    except Exception:
        return running[-1]
    return None


# %% wrong="the whole model's mode for each of its parts" breaks="in the mode the model is in" says=["a norm in eval mode", "each part in the mode that it is in"]
import copy
from functools import partial


def shape_detective(model, shape):
    twin, running = copy.deepcopy(model).to("meta"), []
    twin.train(model.training)

    def begin(name, module, args):
        running.append((name, tuple(args[0].shape)))

    def finish(module, args, output):
        running.pop()

    for name, module in twin.named_modules():
        module.register_forward_pre_hook(partial(begin, name))
        module.register_forward_hook(finish)
    try:
        twin(torch.empty(shape, device="meta"))
    except Exception:
        return running[-1]
    return None


# %% wrong="moves the model itself" says=["the model itself is on the device meta now"]
import copy
from functools import partial


def shape_detective(model, shape):
    twin = model.to("meta")
    running = []

    def begin(name, module, args):
        running.append((name, tuple(args[0].shape)))

    def finish(module, args, output):
        running.pop()

    for name, module in twin.named_modules():
        module.register_forward_pre_hook(partial(begin, name))
        module.register_forward_hook(finish)
    try:
        twin(torch.empty(shape, device="meta"))
    except Exception:
        return running[-1]
    return None


# %% wrong="the copy is made float32 first" says=["a slope in float64", "float32 is refused: don't convert it"]
import copy


def shape_detective(model, shape):
    double = copy.deepcopy(model).float().to("meta")
    running = []

    def begin(name, module, args):
        running.append((name, tuple(args[0].shape)))

    def finish(module, args, output):
        running.pop()

    for name, module in double.named_modules():
        module.register_forward_pre_hook(partial(begin, name))
        module.register_forward_hook(finish)
    try:
        double(torch.empty(shape, dtype=torch.float32, device="meta"))
    except Exception:
        return running[-1]
    return None


# %% wrong="the copy's own hooks are taken off" says=["its own hook flattens", "the model runs with its own hooks"]
import copy


def shape_detective(model, shape):
    double = copy.deepcopy(model).to("meta")
    running = []

    def begin(name, module, args):
        running.append((name, tuple(args[0].shape)))

    def finish(module, args, output):
        running.pop()

    for name, module in double.named_modules():
        module._forward_hooks.clear()
        module._forward_pre_hooks.clear()
        module.register_forward_pre_hook(partial(begin, name))
        module.register_forward_hook(finish)
    try:
        double(torch.empty(shape, dtype=torch.float32, device="meta"))
    except Exception:
        return running[-1]
    return None


# %% wrong="puts back what a state_dict holds" says=["a count that isn't saved", "parameters or buffers"]
def shape_detective(model, shape):
    running, handles = [], []
    kept = {name: value.clone() for name, value in model.state_dict().items()}
    for name, module in model.named_modules():
        handles.append(
            module.register_forward_pre_hook(
                lambda m, args, name=name: running.append((name, tuple(args[0].shape)))
            )
        )
        handles.append(module.register_forward_hook(lambda *_: (running.pop(), None)[1]))
    found = None
    with torch.random.fork_rng():
        try:
            model(torch.zeros(shape))
        except Exception:
            found = running[-1]
    for handle in handles:
        handle.remove()
    model.load_state_dict(kept)
    return found


# %% wrong="pre-hooks of others are cleared in the copy" says=["its own pre-hook flattens", "the model runs with its own pre-hooks"]
import copy


def shape_detective(model: nn.Module, shape: tuple[int, ...]) -> tuple[str, tuple[int, ...]] | None:
    twin = copy.deepcopy(model).to("meta")
    running = []

    def begin(name, module, args):
        running.append((name, tuple(args[0].shape)))

    def finish(module, args, output):
        running.pop()

    for name, module in twin.named_modules():
        module._forward_pre_hooks.clear()
        module.register_forward_pre_hook(partial(begin, name))
        module.register_forward_hook(finish)
    try:
        twin(torch.empty(shape, device="meta"))
    except BaseException:
        return running[-1]
    return None


# %% wrong="without parameters nothing runs" says=["no parameters: input (2, 4): None"]
import copy


def shape_detective(model: nn.Module, shape: tuple[int, ...]) -> tuple[str, tuple[int, ...]] | None:
    twin = copy.deepcopy(model).to("meta")
    running = []
    if not list(model.parameters()):
        return None

    def begin(name, module, args):
        running.append((name, tuple(args[0].shape)))

    def finish(module, args, output):
        running.pop()

    for name, module in twin.named_modules():
        module.register_forward_pre_hook(partial(begin, name))
        module.register_forward_hook(finish)
    try:
        twin(torch.empty(shape, device="meta"))
    except BaseException:
        return running[-1]
    return None


# %% wrong="what is left on the list, whether or not it raised" breaks="`None` if that works" says=["a part that helps itself", "it catches what its child raises"]
import copy


def shape_detective(model: nn.Module, shape: tuple[int, ...]) -> tuple[str, tuple[int, ...]] | None:
    twin = copy.deepcopy(model).to("meta")
    running = []

    def begin(name, module, args):
        running.append((name, tuple(args[0].shape)))

    def finish(module, args, output):
        running.pop()

    for name, module in twin.named_modules():
        module.register_forward_pre_hook(partial(begin, name))
        module.register_forward_hook(finish)
    try:
        twin(torch.empty(shape, device="meta"))
    except BaseException:
        pass
    return running[-1] if running else None


# %% wrong="at least one row" breaks="on a float32 input of that shape" says=["a batch of no row"]
import copy


def shape_detective(model: nn.Module, shape: tuple[int, ...]) -> tuple[str, tuple[int, ...]] | None:
    twin = copy.deepcopy(model).to("meta")
    running = []

    def begin(name, module, args):
        running.append((name, tuple(args[0].shape)))

    def finish(module, args, output):
        running.pop()

    for name, module in twin.named_modules():
        module.register_forward_pre_hook(partial(begin, name))
        module.register_forward_hook(finish)
    try:
        twin(torch.empty([max(1, n) for n in shape], device="meta"))
    except BaseException:
        return running[-1]
    return None


# %% wrong="shape () can't be unpacked into empty" says=["IndexError left the function"]
import copy
from functools import partial


def shape_detective(model, shape):
    copied = copy.deepcopy(model).to("meta")
    running = []

    def begin(name, module, args):
        running.append((name, tuple(args[0].shape)))

    def finish(*_):
        running.pop()

    for name, module in copied.named_modules():
        module.register_forward_pre_hook(partial(begin, name), prepend=True)
        module.register_forward_hook(finish)
    try:
        copied(torch.empty(*shape, device="meta"))
    except Exception:
        return running[-1]
    return None


# %% wrong="a list of classes is caught" says=["Unhappy left the function"]
import copy
from functools import partial


def shape_detective(model, shape):
    copied = copy.deepcopy(model).to("meta")
    running = []

    def begin(name, module, args):
        running.append((name, tuple(args[0].shape)))

    def finish(*_):
        running.pop()

    for name, module in copied.named_modules():
        module.register_forward_pre_hook(partial(begin, name), prepend=True)
        module.register_forward_hook(finish)
    try:
        copied(torch.empty(shape, device="meta"))
    except (
        RuntimeError,
        ValueError,
        IndexError,
        KeyError,
        TypeError,
        AttributeError,
        NotImplementedError,
        AssertionError,
    ):
        return running[-1]
    return None


# %% wrong="asks the output for its shape" says=["an output may be anything"]
import copy
from functools import partial


def shape_detective(model, shape):
    copied = copy.deepcopy(model).to("meta")
    running = []

    def begin(name, module, args):
        running.append((name, tuple(args[0].shape)))

    def finish(module, args, output):
        output.shape
        running.pop()

    for name, module in copied.named_modules():
        module.register_forward_pre_hook(partial(begin, name), prepend=True)
        module.register_forward_hook(finish)
    try:
        copied(torch.empty(shape, device="meta"))
    except Exception:
        return running[-1]
    return None


# %% wrong="the shapes of all arguments" breaks="the shape of its first argument (a tensor, handed by position)" says=["None beside a tensor", "an argument behind x may be anything"]
import copy


def shape_detective(model: nn.Module, shape: tuple[int, ...]) -> tuple[str, tuple[int, ...]] | None:
    twin = copy.deepcopy(model).to("meta")
    running = []

    def begin(name, module, args):
        sizes = [tuple(argument.shape) for argument in args]
        running.append((name, sizes[0]))

    def finish(module, args, output):
        running.pop()

    for name, module in twin.named_modules():
        module.register_forward_pre_hook(partial(begin, name))
        module.register_forward_hook(finish)
    try:
        twin(torch.empty(shape, device="meta"))
    except BaseException:
        return running[-1]
    return None


# %% wrong="what runs, in a dict by name" breaks="the innermost module whose `forward` began and did not finish" says=["a part that calls itself", "its inner call finished, not its outer"]
import copy


def shape_detective(model: nn.Module, shape: tuple[int, ...]) -> tuple[str, tuple[int, ...]] | None:
    twin = copy.deepcopy(model).to("meta")
    running = {}

    def begin(name, module, args):
        running[name] = tuple(args[0].shape)

    def finish(name, module, args, output):
        running.pop(name, None)

    for name, module in twin.named_modules():
        module.register_forward_pre_hook(partial(begin, name))
        module.register_forward_hook(partial(finish, name), prepend=True)
    try:
        with torch.device("meta"):
            twin(torch.zeros(shape))
    except Exception:
        return list(running.items())[-1]
    return None


# %% wrong="the deepest of the names" breaks="the innermost module whose `forward` began and did not finish" says=["a layer shared with a deeper part", "1.1 runs it, under the name 0"]
import copy


def shape_detective(model: nn.Module, shape: tuple[int, ...]) -> tuple[str, tuple[int, ...]] | None:
    twin = copy.deepcopy(model).to("meta")
    running = []

    def begin(name, module, args):
        running.append((name, tuple(args[0].shape)))

    def finish(module, args, output):
        running.pop()

    for name, module in twin.named_modules():
        module.register_forward_pre_hook(partial(begin, name))
        module.register_forward_hook(finish, prepend=True)
    try:
        with torch.device("meta"):
            twin(torch.zeros(shape))
    except Exception:
        depth = lambda entry: len(entry[0].split(".")) if entry[0] else 0
        return sorted(running, key=depth)[-1]
    return None
