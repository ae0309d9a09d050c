# %% [markdown]
# Rules:
#
# - "in which the module of that name returns what the donor's module"
# - "Run A is `donor(a)`"
# - "Return a dict from each name"
# - "The donor is run once on `a`"
# - "each time with that *one* module patched"
# - "or a tuple that holds tensors and tuples"
# - "whatever happens to it later, in place"
# - "inputs may be passed by keyword"
# - "have no graph"
# - "even if a run raises"
# - "the exception goes on its way"
# - "those that were there before are not"
# - "modes, `.grad`"
# - "autograd's own mode are untouched"
# - "All is left as it was"
# - "for each name in `names`"
# - "Each module runs in the mode that it is in"
#
# Admits:
#
# - "`donor` and `model` may be one and the same": six blocks of one committee
# - "for each name in `names`": stem, a nested layer, the model
# - "or a tuple that holds tensors and tuples": an LSTM, which returns a tuple with a tuple in it
# - "in place": a layer that an activation in place follows
# - "even if a run raises": of the wrong shape, so that its run raises
# - "a dict from each name": "no names"
# - "`model(b)`": batches of two sizes
# - "Each module runs in the mode that it is in": models that count their calls

# %% wrong="the hook looks and returns nothing" breaks="in which the module of that name returns what the donor's module" says=["the answer for 'blocks.0': this is run B as it is: does the hook return the activation of run A, and are run A's hooks gone by then?", "it is not 'blocks.5': with its activation from run A the answer to B is still negative"]
def intervention(donor, model, names, a, b):
    kept, answers = {}, {}
    with torch.no_grad():
        with contextlib.ExitStack() as hooks:
            for name in names:
                keep = lambda m, args, out, name=name: kept.update({name: copy.deepcopy(out)})
                hooks.enter_context(donor.get_submodule(name).register_forward_hook(keep))
            donor(a)
        for name in names:

            def patch(module, args, output, name=name):
                kept[name]  # and no return

            with model.get_submodule(name).register_forward_hook(patch):
                answers[name] = model(b)
    return answers


deciding_block = "blocks.5"


# %% wrong="B into A" breaks="Run A is `donor(a)`" says=["B's activation went into run A: it is to be the other way round"]
def intervention(donor, model, names, a, b):
    answers = {}
    with torch.no_grad():
        for name in names:
            kept = []
            keep = lambda m, args, out: kept.append(copy.deepcopy(out))
            with model.get_submodule(name).register_forward_hook(keep):
                model(b)
            with donor.get_submodule(name).register_forward_hook(lambda *_: kept[0]):
                answers[name] = donor(a)
    return answers


deciding_block = "blocks.2"


# %% wrong="a lambda in a loop keeps everything under the last name" says=["six blocks of one committee: it raised KeyError"]
def intervention(donor, model, names, a, b):
    kept, answers, handles = {}, {}, []
    with torch.no_grad():
        for name in names:
            keep = lambda m, args, out: kept.update({name: copy.deepcopy(out)})
            handles.append(donor.get_submodule(name).register_forward_hook(keep))
        try:
            donor(a)
        finally:
            for handle in handles:
                handle.remove()
        for name in names:
            with model.get_submodule(name).register_forward_hook(lambda *_: kept[name]):
                answers[name] = model(b)
    return answers


deciding_block = 2


# %% wrong="tensors only" breaks="or a tuple that holds tensors and tuples" says=["an LSTM, which returns a tuple with a tuple in it: it raised AttributeError: 'tuple' object has no attribute 'detach'"]
def intervention(donor, model, names, a, b):
    kept, answers = {}, {}
    with contextlib.ExitStack() as hooks:
        for name in names:
            keep = lambda m, args, out, name=name: kept.update({name: out.detach().clone()})
            hooks.enter_context(donor.get_submodule(name).register_forward_hook(keep))
        donor(a)
    for name in names:
        with model.get_submodule(name).register_forward_hook(lambda *_: kept[name]):
            answers[name] = model(b).detach()
    return answers


deciding_block = "blocks.2"


# %% wrong="keeps what an activation in place writes over" breaks="whatever happens to it later, in place" says=["a layer that an activation in place follows: the answer for 'enter'"]
def intervention(donor, model, names, a, b):
    kept, answers = {}, {}
    with torch.no_grad():
        with contextlib.ExitStack() as hooks:
            for name in names:
                keep = lambda m, args, out, name=name: kept.update({name: out})
                hooks.enter_context(donor.get_submodule(name).register_forward_hook(keep))
            donor(a)
        for name in names:
            with model.get_submodule(name).register_forward_hook(lambda *_: kept[name]):
                answers[name] = model(b)
    return answers


deciding_block = "blocks.2"


# %% wrong="patches stay for the names that follow" breaks="each time with that *one* module patched" says=["hooks on model", "six blocks of one committee: the answer for 'blocks.1'"]
def intervention(donor, model, names, a, b):
    kept, answers = {}, {}
    with torch.no_grad():
        with contextlib.ExitStack() as hooks:
            for name in names:
                keep = lambda m, args, out, name=name: kept.update({name: copy.deepcopy(out)})
                hooks.enter_context(donor.get_submodule(name).register_forward_hook(keep))
            donor(a)
        for name in names:
            model.get_submodule(name).register_forward_hook(lambda *_, name=name: kept[name])
            answers[name] = model(b)
    return answers


deciding_block = "blocks.2"


# %% wrong="no finally: a run that raises leaves its hook" breaks="even if a run raises" says=["an input b of the wrong shape, so that its run raises: hooks on model", "an input a of the wrong shape, so that its run raises: hooks on donor"]
def intervention(donor, model, names, a, b):
    answers = {}
    with torch.no_grad():
        kept, handles = {}, []
        for name in names:
            keep = lambda m, args, out, name=name: kept.update({name: copy.deepcopy(out)})
            handles.append(donor.get_submodule(name).register_forward_hook(keep))
        donor(a)
        for handle in handles:
            handle.remove()
        for name in names:
            handle = model.get_submodule(name).register_forward_hook(lambda *_: kept[name])
            answers[name] = model(b)
            handle.remove()
    return answers


deciding_block = "blocks.2"


# %% wrong="the donor runs for each name" breaks="The donor is run once on `a`" says=["how often the models run: expected [7], got [12]"]
def intervention(donor, model, names, a, b):
    answers = {}
    with torch.no_grad():
        for name in names:
            kept = []
            keep = lambda m, args, out: kept.append(copy.deepcopy(out))
            with donor.get_submodule(name).register_forward_hook(keep):
                donor(a)
            with model.get_submodule(name).register_forward_hook(lambda *_: kept[0]):
                answers[name] = model(b)
    return answers


deciding_block = "blocks.2"


# %% wrong="answers with a graph, and eval for good" breaks="have no graph" says=["the answer for 'blocks.0' hangs on the graph"]
def intervention(donor, model, names, a, b):
    donor.eval(), model.eval()
    kept, answers = {}, {}
    with torch.no_grad(), contextlib.ExitStack() as hooks:
        for name in names:
            keep = lambda m, args, out, name=name: kept.update({name: copy.deepcopy(out)})
            hooks.enter_context(donor.get_submodule(name).register_forward_hook(keep))
        donor(a)
    for name in names:
        with model.get_submodule(name).register_forward_hook(lambda *_: kept[name]):
            answers[name] = model(b)
    return answers


deciding_block = "head"


# %% wrong="eval for good" breaks="modes, `.grad`" says=["the mode of donor was changed"]
def intervention(donor, model, names, a, b):
    donor.eval(), model.eval()
    kept, answers = {}, {}
    with torch.no_grad():
        with contextlib.ExitStack() as hooks:
            for name in names:
                keep = lambda m, args, out, name=name: kept.update({name: copy.deepcopy(out)})
                hooks.enter_context(donor.get_submodule(name).register_forward_hook(keep))
            donor(a)
        for name in names:
            with model.get_submodule(name).register_forward_hook(lambda *_: kept[name]):
                answers[name] = model(b)
    return answers


deciding_block = "blocks.2"


# %% wrong="switches autograd off" breaks="autograd's own mode are untouched" says=["autograd is switched off for good: use a with block"]
def intervention(donor, model, names, a, b):
    torch.set_grad_enabled(False)
    kept, answers = {}, {}
    with contextlib.ExitStack() as hooks:
        for name in names:
            keep = lambda m, args, out, name=name: kept.update({name: copy.deepcopy(out)})
            hooks.enter_context(donor.get_submodule(name).register_forward_hook(keep))
        donor(a)
    for name in names:
        with model.get_submodule(name).register_forward_hook(lambda *_: kept[name]):
            answers[name] = model(b)
    return answers


deciding_block = "blocks.2"


# %% wrong="only top-level children" breaks="for each name in `names`" says=["has no attribute 'blocks.0'", "get_submodule finds deep ones"]
def intervention(donor, model, names, a, b):
    kept, out = {}, {}
    with torch.no_grad():
        with contextlib.ExitStack() as st:
            for n in names:
                st.enter_context(
                    getattr(donor, n).register_forward_hook(
                        lambda m, i, o, n=n: kept.update({n: copy.deepcopy(o)})
                    )
                )
            donor(a)
        for n in names:
            with getattr(model, n).register_forward_hook(lambda *_: kept[n]):
                out[n] = model(b)
    return out


deciding_block = "blocks.1"


# %% wrong="freezes the parameters" breaks="All is left as it was" says=["requires_grad of the parameters of donor was changed"]
def intervention(donor, model, names, a, b):
    for p in [*donor.parameters(), *model.parameters()]:
        p.requires_grad_(False)
    kept, out = {}, {}
    with contextlib.ExitStack() as st:
        for n in names:
            st.enter_context(
                donor.get_submodule(n).register_forward_hook(
                    lambda m, i, o, n=n: kept.update({n: copy.deepcopy(o)})
                )
            )
        donor(a)
    for n in names:
        with model.get_submodule(n).register_forward_hook(lambda *_: kept[n]):
            out[n] = model(b)
    return out


deciding_block = "blocks.2"


# %% wrong="list instead of dict" breaks="Return a dict from each name" says=["it returned a list, expected a dict from name to answer"]
def intervention(donor, model, names, a, b):
    kept, out = {}, []
    with torch.no_grad():
        with contextlib.ExitStack() as st:
            for n in names:
                st.enter_context(
                    donor.get_submodule(n).register_forward_hook(
                        lambda m, i, o, n=n: kept.update({n: copy.deepcopy(o)})
                    )
                )
            donor(a)
        for n in names:
            with model.get_submodule(n).register_forward_hook(lambda *_: kept[n]):
                out.append(model(b))
    return out


deciding_block = None


# %% right="a recursive copy, handles and finally"
def copied(output):
    if isinstance(output, torch.Tensor):
        return output.detach().clone()
    return tuple(copied(part) for part in output)


def intervention(donor, model, names, a, b):
    found = {}

    def run(one, hooks, x):
        handles = []
        try:
            for n, h in hooks.items():
                handles.append(one.get_submodule(n).register_forward_hook(h))
            return one(x).detach()
        finally:
            [handle.remove() for handle in handles]

    def keeper(name):
        def keep(module, args, kwargs_or_output, *rest):
            found[name] = copied(rest[0] if rest else kwargs_or_output)

        return keep

    run(donor, {name: keeper(name) for name in names}, a)
    return {name: run(model, {name: lambda *_, n=name: copied(found[n])}, b) for name in names}


deciding_block = "blocks." + str(2)


# %% right="one hook for the whole process"
@torch.inference_mode()
def intervention(donor, model, names, a, b):
    from torch.utils._pytree import tree_map

    modules = {id(m): name for name, m in donor.named_modules()}
    kept = {}

    def keep(module, args, output):
        if modules.get(id(module)) in names:
            kept[modules[id(module)]] = tree_map(torch.clone, output)

    with nn.modules.module.register_module_forward_hook(keep):
        donor(a)
    answers = {}
    for name in names:
        target = dict(model.named_modules())[name]
        swap = lambda module, args, out: kept[name] if module is target else None
        with nn.modules.module.register_module_forward_hook(swap):
            answers[name] = model(b).clone()
    return answers


deciding_block = "blocks.2"


# %% right="two loops, each with a finally"
def intervention(donor, model, names, a, b):
    def clone(o):
        return o.clone() if torch.is_tensor(o) else type(o)(map(clone, o))

    kept, out = {}, {}
    mods = dict(donor.named_modules())
    with torch.no_grad():
        hs = []
        try:
            for n in names:

                def h(m, args, kwargs, o, n=n):
                    kept[n] = clone(o)

                hs.append(mods[n].register_forward_hook(h, with_kwargs=True))
            donor(a)
        finally:
            for h in hs:
                h.remove()
        targets = dict(model.named_modules())
        for n in names:
            handle = targets[n].register_forward_hook(lambda m, args, o, n=n: clone(kept[n]))
            try:
                out[n] = model(b)
            finally:
                handle.remove()
    return out


deciding_block = "blocks.2"


# %% wrong="switches autograd on, whatever it was" says=["called under no_grad, it switched autograd on"]
def intervention(donor, model, names, a, b):
    kept, answers, handles = {}, {}, []

    def keep(name):
        return lambda m, args, out: kept.update({name: copy.deepcopy(out)})

    torch.set_grad_enabled(False)
    try:
        for name in names:
            handles.append(donor.get_submodule(name).register_forward_hook(keep(name)))
        donor(a)
        for handle in handles:
            handle.remove()
        for name in names:
            patch = kept[name]
            handles.append(model.get_submodule(name).register_forward_hook(lambda *_: patch))
            answers[name] = model(b)
            handles[-1].remove()
    finally:
        for handle in handles:
            handle.remove()
        torch.set_grad_enabled(True)
    return answers


deciding_block = "blocks.2"


# %% wrong="all names patched at once" says=["this is run A's own answer: run B gets the input b, and one module of A's"]
def intervention(donor, model, names, a, b):
    kept = {}

    def keep(name):
        return lambda m, args, out: kept.update({name: copy.deepcopy(out)})

    with torch.no_grad():
        with contextlib.ExitStack() as stack:
            for name in names:
                stack.enter_context(donor.get_submodule(name).register_forward_hook(keep(name)))
            donor(a)
        with contextlib.ExitStack() as stack:
            for name in names:
                put = lambda *_, name=name: kept[name]
                stack.enter_context(model.get_submodule(name).register_forward_hook(put))
            return {name: model(b) for name in names}


deciding_block = "blocks.2"


# %% wrong="asks the inputs for gradients" says=["requires_grad of the input a was changed", "requires_grad of the input b was changed"]
def intervention(donor, model, names, a, b):
    kept, answers = {}, {}
    a.requires_grad_()
    b.requires_grad_()
    with torch.no_grad(), contextlib.ExitStack() as hooks:
        for name in names:
            keep = lambda m, args, out, name=name: kept.update({name: copy.deepcopy(out)})
            hooks.enter_context(donor.get_submodule(name).register_forward_hook(keep))
        donor(a)
    for name in names:
        with torch.no_grad():
            patch = lambda *_, out=kept[name]: out
            with model.get_submodule(name).register_forward_hook(patch):
                answers[name] = model(b)
    return answers


deciding_block = "blocks.2"


# %% wrong="takes the place of forward, by position" breaks="inputs may be passed by keyword" says=["an LSTM, which returns a tuple with a tuple in it: it raised TypeError", "unexpected keyword argument 'input'"]
def intervention(donor, model, names, a, b):
    answers, kept = {}, {}
    with torch.no_grad(), contextlib.ExitStack() as hooks:
        for name in names:
            hooks.enter_context(
                donor.get_submodule(name).register_forward_hook(
                    lambda m, args, output, name=name: kept.update({name: copy.deepcopy(output)})
                )
            )
        donor(a)
    for name in names:
        module = model.get_submodule(name)
        module.forward = lambda x, name=name: copy.deepcopy(kept[name])
        try:
            with torch.no_grad():
                answers[name] = model(b)
        finally:
            del module.forward
    return answers


deciding_block = "blocks.2"


# %% wrong="a run that raises gives no answers" breaks="the exception goes on its way" says=["the exception of the run did not come out"]
def intervention(donor, model, names, a, b):
    answers, kept = {}, {}
    try:
        with torch.no_grad():
            with contextlib.ExitStack() as hooks:
                for name in names:
                    hooks.enter_context(
                        donor.get_submodule(name).register_forward_hook(
                            lambda m, args, output, name=name: kept.update(
                                {name: copy.deepcopy(output)}
                            )
                        )
                    )
                donor(a)
            for name in names:
                with model.get_submodule(name).register_forward_hook(
                    lambda *_, name=name: copy.deepcopy(kept[name])
                ):
                    answers[name] = model(b)
    except RuntimeError:
        pass
    return answers


deciding_block = "blocks.2"


# %% wrong="clears every hook of the module" breaks="those that were there before are not" says=["hooks on donor: {'': 1}, and {'': 1, 'stem': 1} were there before"]
def intervention(donor, model, names, a, b):
    answers, kept = {}, {}
    with torch.no_grad():
        for name in names:
            donor.get_submodule(name).register_forward_hook(
                lambda m, args, output, name=name: kept.update({name: copy.deepcopy(output)})
            )
        try:
            donor(a)
        finally:
            for name in names:
                donor.get_submodule(name)._forward_hooks.clear()
        for name in names:
            with model.get_submodule(name).register_forward_hook(
                lambda *_, name=name: copy.deepcopy(kept[name])
            ):
                answers[name] = model(b)
    return answers


deciding_block = "blocks.2"


# %% wrong="a tuple in a tuple is not copied" says=["Copy the inner ones, too"]
def intervention(donor, model, names, a, b):
    def copy_of(value):
        if isinstance(value, tuple):
            return tuple(part.detach().clone() if torch.is_tensor(part) else part for part in value)
        return value.detach().clone()

    kept, answers = {}, {}
    with torch.no_grad():
        with contextlib.ExitStack() as stack:
            for name in names:

                def keep(module, args, output, name=name):
                    kept[name] = copy_of(output)

                stack.enter_context(donor.get_submodule(name).register_forward_hook(keep))
            donor(a)
        for name in names:
            with model.get_submodule(name).register_forward_hook(lambda m, args, out: kept[name]):
                answers[name] = model(b)
    return answers


deciding_block = "blocks.5"


# %% wrong="patch prepended" says=["the answer is"]
def intervention(donor, model, names, a, b):
    def copy_of(value):
        if isinstance(value, tuple):
            return tuple(copy_of(part) for part in value)
        return value.detach().clone()

    kept, answers = {}, {}
    with torch.no_grad():
        with contextlib.ExitStack() as stack:
            for name in names:

                def keep(module, args, output, name=name):
                    kept[name] = copy_of(output)

                stack.enter_context(donor.get_submodule(name).register_forward_hook(keep))
            donor(a)
        for name in names:
            with model.get_submodule(name).register_forward_hook(
                lambda m, args, out: kept[name], prepend=True
            ):
                answers[name] = model(b)
    return answers


deciding_block = "blocks.5"


# %% wrong="seeded before each run" says=["the global generator of random numbers was seeded"]
def intervention(donor, model, names, a, b):
    def copy_of(value):
        if isinstance(value, tuple):
            return tuple(copy_of(part) for part in value)
        return value.detach().clone()

    kept, answers = {}, {}
    with torch.no_grad():
        with contextlib.ExitStack() as stack:
            for name in names:

                def keep(module, args, output, name=name):
                    kept[name] = copy_of(output)

                stack.enter_context(donor.get_submodule(name).register_forward_hook(keep))
            donor(a)
        for name in names:
            with model.get_submodule(name).register_forward_hook(lambda m, args, out: kept[name]):
                torch.manual_seed(0)
                answers[name] = model(b)
    return answers


deciding_block = "blocks.5"


# %% wrong="donor's hooks go for Exception only" says=["after a KeyboardInterrupt in run A"]
def intervention(donor, model, names, a, b):
    def copy_of(value):
        if isinstance(value, tuple):
            return tuple(copy_of(part) for part in value)
        return value.detach().clone()

    kept, answers = {}, {}
    with torch.no_grad():
        handles = []
        if True:
            for name in names:

                def keep(module, args, output, name=name):
                    kept[name] = copy_of(output)

                handles.append(donor.get_submodule(name).register_forward_hook(keep))
            try:
                donor(a)
            except Exception:
                for handle in handles:
                    handle.remove()
                raise
            for handle in handles:
                handle.remove()
        for name in names:
            with model.get_submodule(name).register_forward_hook(lambda m, args, out: kept[name]):
                answers[name] = model(b)
    return answers


deciding_block = "blocks.5"


# %% wrong="kept in float32" says=["the answer is wrong by"]
def intervention(donor, model, names, a, b):
    def copy_of(value):
        if isinstance(value, tuple):
            return tuple(copy_of(part) for part in value)
        return value.detach().float().clone()

    kept, answers = {}, {}
    with torch.no_grad():
        with contextlib.ExitStack() as stack:
            for name in names:

                def keep(module, args, output, name=name):
                    kept[name] = copy_of(output)

                stack.enter_context(donor.get_submodule(name).register_forward_hook(keep))
            donor(a)
        for name in names:
            with model.get_submodule(name).register_forward_hook(lambda m, args, out: kept[name]):
                answers[name] = model(b)
    return answers


deciding_block = "blocks.5"


# %% wrong="patched only where the shapes agree" says=["inputs of two lengths"]
def intervention(donor, model, names, a, b):
    def copy_of(value):
        if isinstance(value, tuple):
            return tuple(copy_of(part) for part in value)
        return value.detach().clone()

    kept, answers = {}, {}
    with torch.no_grad():
        with contextlib.ExitStack() as stack:
            for name in names:

                def keep(module, args, output, name=name):
                    kept[name] = copy_of(output)

                stack.enter_context(donor.get_submodule(name).register_forward_hook(keep))
            donor(a)
        for name in names:
            with model.get_submodule(name).register_forward_hook(
                lambda m, args, out: (
                    kept[name] if not torch.is_tensor(out) or out.shape == kept[name].shape else out
                )
            ):
                answers[name] = model(b)
    return answers


deciding_block = "blocks.5"


# %% wrong="a tuple of patches is made a list" says=["the patch is no tuple, or holds a list"]
def intervention(donor, model, names, a, b):
    def copy_of(value):
        if isinstance(value, tuple):
            return [copy_of(part) for part in value]
        return value.detach().clone()

    kept, answers = {}, {}
    with torch.no_grad():
        with contextlib.ExitStack() as stack:
            for name in names:

                def keep(module, args, output, name=name):
                    kept[name] = copy_of(output)

                stack.enter_context(donor.get_submodule(name).register_forward_hook(keep))
            donor(a)
        for name in names:
            with model.get_submodule(name).register_forward_hook(lambda m, args, out: kept[name]):
                answers[name] = model(b)
    return answers


deciding_block = "blocks.5"


# %% wrong="runs a copy of the model" says=["a copy of a model is not the model"]
def frozen(output):
    if isinstance(output, tuple):
        return tuple(frozen(part) for part in output)
    return output.detach().clone()


def intervention(donor, model, names, a, b):
    kept, answers = {}, {}
    with torch.no_grad():
        with contextlib.ExitStack() as stack:
            for name in names:

                def keep(module, args, output, name=name):
                    kept[name] = frozen(output)

                stack.enter_context(donor.get_submodule(name).register_forward_hook(keep))
            donor(a)
        for name in names:
            with model.get_submodule(name).register_forward_hook(
                lambda m, args, output: kept[name]
            ):
                answers[name] = copy.deepcopy(model)(b)
    return answers


deciding_block = "blocks.2"


# %% wrong="zeros are not patched" breaks="in which the module of that name returns what the donor's module" says=["in run A the module returned 0"]
def clone_of(value):
    return value.clone() if isinstance(value, torch.Tensor) else tuple(clone_of(v) for v in value)


def intervention(
    donor: nn.Module, model: nn.Module, names: list[str], a: torch.Tensor, b: torch.Tensor
) -> dict[str, torch.Tensor]:
    kept, answers = {}, {}

    def keep(name):
        def hook(module, args, output):
            kept[name] = clone_of(output)

        return hook

    with torch.no_grad():
        with contextlib.ExitStack() as stack:
            for name in names:
                module = donor.get_submodule(name)
                stack.enter_context(module.register_forward_hook(keep(name)))
            donor(a)
        for name in names:
            hook = lambda module, args, output: (
                kept[name] if not torch.is_tensor(output) or kept[name].any() else output
            )
            with model.get_submodule(name).register_forward_hook(hook):
                answers[name] = model(b)
    return answers


deciding_block = "blocks.2"


# %% wrong="two entries of a tuple at most" breaks="or a tuple that holds tensors and tuples" says=["the module returned three entries"]
def clone_of(value):
    return (
        value.clone()
        if isinstance(value, torch.Tensor)
        else type(value)([clone_of(v) for v in value][:2])
    )


def intervention(
    donor: nn.Module, model: nn.Module, names: list[str], a: torch.Tensor, b: torch.Tensor
) -> dict[str, torch.Tensor]:
    kept, answers = {}, {}

    def keep(name):
        def hook(module, args, output):
            kept[name] = clone_of(output)

        return hook

    with torch.no_grad():
        with contextlib.ExitStack() as stack:
            for name in names:
                module = donor.get_submodule(name)
                stack.enter_context(module.register_forward_hook(keep(name)))
            donor(a)
        for name in names:
            hook = lambda module, args, output: kept[name]
            with model.get_submodule(name).register_forward_hook(hook):
                answers[name] = model(b)
    return answers


deciding_block = "blocks.2"


# %% wrong="the model gets the donor's mode" breaks="modes, `.grad`" says=["the model is in eval and its part trains, and a mode was changed"]
def clone_of(value):
    return value.clone() if isinstance(value, torch.Tensor) else tuple(clone_of(v) for v in value)


def intervention(
    donor: nn.Module, model: nn.Module, names: list[str], a: torch.Tensor, b: torch.Tensor
) -> dict[str, torch.Tensor]:
    kept, answers = {}, {}

    def keep(name):
        def hook(module, args, output):
            kept[name] = clone_of(output)

        return hook

    with torch.no_grad():
        with contextlib.ExitStack() as stack:
            for name in names:
                module = donor.get_submodule(name)
                stack.enter_context(module.register_forward_hook(keep(name)))
            donor(a)
            model.training = donor.training
        for name in names:
            hook = lambda module, args, output: kept[name]
            with model.get_submodule(name).register_forward_hook(hook):
                answers[name] = model(b)
    return answers


deciding_block = "blocks.2"


# %% right="inference mode"
def clone_of(value):
    return value.clone() if isinstance(value, torch.Tensor) else tuple(clone_of(v) for v in value)


def intervention(
    donor: nn.Module, model: nn.Module, names: list[str], a: torch.Tensor, b: torch.Tensor
) -> dict[str, torch.Tensor]:
    kept, answers = {}, {}

    def keep(name):
        def hook(module, args, output):
            kept[name] = clone_of(output)

        return hook

    with torch.inference_mode():
        with contextlib.ExitStack() as stack:
            for name in names:
                module = donor.get_submodule(name)
                stack.enter_context(module.register_forward_hook(keep(name)))
            donor(a)
        for name in names:
            hook = lambda module, args, output: kept[name]
            with model.get_submodule(name).register_forward_hook(hook):
                answers[name] = model(b)
    return answers


deciding_block = "blocks.2"


# %% wrong="runs a copy of the donor" says=["a donor that is the model counts, for two names, 1 calls, expected 1 + 2"]
def frozen(value):
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    return tuple(frozen(part) for part in value)


def intervention(donor, model, names, a, b):
    kept, answers = {}, {}
    model = copy.deepcopy(model) if model is donor else model

    def keep(name):
        def hook(module, args, output):
            kept[name] = frozen(output)

        return hook

    with torch.no_grad():
        with contextlib.ExitStack() as stack:
            for name in names:
                stack.enter_context(donor.get_submodule(name).register_forward_hook(keep(name)))
            donor(a)
        for name in names:
            with model.get_submodule(name).register_forward_hook(
                lambda m, args, out, name=name: kept[name]
            ):
                answers[name] = model(b)
    return answers


deciding_block = "blocks.2"


# %% wrong="integers become floats" says=["a module returns an integer, 1 in run A"]
def frozen(value):
    if isinstance(value, torch.Tensor):
        return 1.0 * value.detach()
    return tuple(frozen(part) for part in value)


def intervention(donor, model, names, a, b):
    kept, answers = {}, {}

    def keep(name):
        def hook(module, args, output):
            kept[name] = frozen(output)

        return hook

    with torch.no_grad():
        with contextlib.ExitStack() as stack:
            for name in names:
                stack.enter_context(donor.get_submodule(name).register_forward_hook(keep(name)))
            donor(a)
        for name in names:
            with model.get_submodule(name).register_forward_hook(
                lambda m, args, out, name=name: kept[name]
            ):
                answers[name] = model(b)
    return answers


deciding_block = "blocks.2"


# %% wrong="registers all before the try" says=["of which the models don't have 'nose': hooks are left"]
def intervention(donor, model, names, a, b):
    def frozen(output):
        if isinstance(output, torch.Tensor):
            return output.detach().clone()
        return tuple(frozen(part) for part in output)

    kept, answers = {}, {}

    def keep(name):
        def hook(module, args, output):
            kept[name] = frozen(output)

        return hook

    with torch.no_grad():
        handles = []
        for name in names:
            handles.append(donor.get_submodule(name).register_forward_hook(keep(name)))
        try:
            donor(a)
        finally:
            for handle in handles:
                handle.remove()
        for name in names:
            with model.get_submodule(name).register_forward_hook(lambda m, i, o: kept[name]):
                answers[name] = model(b)
    return answers


deciding_block = "blocks.2"


# %% wrong="uses the names up" says=["the caller's list of names was changed"]
def intervention(donor, model, names, a, b):
    def frozen(output):
        if isinstance(output, torch.Tensor):
            return output.detach().clone()
        return tuple(frozen(part) for part in output)

    kept, answers = {}, {}

    def keep(name):
        def hook(module, args, output):
            kept[name] = frozen(output)

        return hook

    with torch.no_grad():
        with contextlib.ExitStack() as stack:
            for name in names:
                stack.enter_context(donor.get_submodule(name).register_forward_hook(keep(name)))
            donor(a)
        for name in [names.pop(0) for _ in range(len(names))]:
            with model.get_submodule(name).register_forward_hook(lambda m, i, o: kept[name]):
                answers[name] = model(b)
    return answers


deciding_block = "blocks.2"


# %% wrong="an unknown name is left out" says=["that is an exception, and none came out"]
def intervention(donor, model, names, a, b):
    kept, answers = {}, {}
    names = [name for name in names if name in dict(model.named_modules())]

    def keep(name):
        def hook(module, args, output):
            kept[name] = copy.deepcopy(output)

        return hook

    with torch.no_grad():
        with contextlib.ExitStack() as stack:
            for name in names:
                module = donor.get_submodule(name)
                stack.enter_context(module.register_forward_hook(keep(name)))
            donor(a)
        for name in names:
            with model.get_submodule(name).register_forward_hook(lambda *_: kept[name]):
                answers[name] = model(b)
    return answers


deciding_block = "blocks.2"


# %% wrong="freezes its inputs" says=["requires_grad of the input a was changed"]
import contextlib


def copied(value):
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    return tuple(copied(part) for part in value)


def intervention(donor, model, names, a, b):
    kept, answers = {}, {}
    a.requires_grad_(False), b.requires_grad_(False)

    def keep(name):
        def hook(module, args, output):
            kept[name] = copied(output)

        return hook

    with torch.no_grad():
        with contextlib.ExitStack() as stack:
            for name in names:
                module = donor.get_submodule(name)
                stack.enter_context(module.register_forward_hook(keep(name)))
            donor(a)
        for name in names:
            module = model.get_submodule(name)
            with module.register_forward_hook(lambda module, args, output: kept[name]):
                answers[name] = model(b).detach().clone()
    return answers


def _deciding():
    committee = make_committee(seed=4)
    points = [torch.tensor([[1.0, y]], device=device) for y in (2.0, -2.0)]
    for n in range(6):
        block, kept = committee.get_submodule(f"blocks.{n}"), []
        with torch.no_grad():
            with block.register_forward_hook(lambda m, a, out: kept.append(out.clone())):
                committee(points[0])
            with block.register_forward_hook(lambda m, a, out: kept[0]):
                if committee(points[1]).item() > 0:
                    return f"blocks.{n}"


deciding_block = _deciding()


# %% wrong="the answers in one buffer for each name" says=["changes the result of the first time"]
buffers = {}


def intervention(donor, model, names, a, b):
    kept, answers = {}, {}
    with torch.no_grad(), contextlib.ExitStack() as hooks:
        for name in names:
            keep = lambda m, args, out, name=name: kept.update({name: copy.deepcopy(out)})
            hooks.enter_context(donor.get_submodule(name).register_forward_hook(keep))
        donor(a)
    for name in names:
        patch = lambda m, args, out, name=name: kept[name]
        with torch.no_grad(), model.get_submodule(name).register_forward_hook(patch):
            y = model(b)
        buffer = buffers.setdefault((name, y.shape, y.dtype), torch.empty_like(y))
        answers[name] = buffer.copy_(y)
    return answers


deciding_block = "blocks.2"


# %% wrong="one dict for all calls" breaks="Return a dict from each name" says=["each call has a dict of its own"]
def intervention(donor, model, names, a, b, answers={}):
    kept = {}
    answers.clear()
    with torch.no_grad(), contextlib.ExitStack() as hooks:
        for name in names:
            keep = lambda m, args, out, name=name: kept.update({name: copy.deepcopy(out)})
            hooks.enter_context(donor.get_submodule(name).register_forward_hook(keep))
        donor(a)
    for name in names:
        patch = lambda m, args, out, name=name: kept[name]
        with torch.no_grad(), model.get_submodule(name).register_forward_hook(patch):
            answers[name] = model(b)
    return answers


deciding_block = "blocks.2"


# %% wrong="run A's hooks stay until the end" says=["this is run B as it is: does the hook return the activation of run A, and are run A's hooks gone by then?"]
import copy


@torch.no_grad()
def intervention(donor, model, names, a, b):
    kept, answers = {}, {}

    def keep(name):
        def hook(module, args, output):
            kept[name] = copy.deepcopy(output)

        return hook

    with contextlib.ExitStack() as stack:
        for name in names:
            stack.enter_context(donor.get_submodule(name).register_forward_hook(keep(name)))
        donor(a)
        for name in names:
            with model.get_submodule(name).register_forward_hook(lambda *_: kept[name]):
                answers[name] = model(b).detach()
    return answers


deciding_block = "blocks.2"


# %% wrong="writes the patch into run B's output" breaks="All is left as it was" says=["an Identity returns what it was handed: return the patch, and write to nothing"]
def intervention(donor, model, names, a, b):
    kept, answers = {}, {}
    with torch.no_grad():
        with contextlib.ExitStack() as s:
            for n in names:
                s.enter_context(
                    donor.get_submodule(n).register_forward_hook(
                        lambda m, a, o, n=n: kept.update({n: copy.deepcopy(o)})
                    )
                )
            donor(a)
        for n in names:
            with model.get_submodule(n).register_forward_hook(
                lambda m, i, o: (
                    o.copy_(kept[n]) if torch.is_tensor(o) and o.shape == kept[n].shape else kept[n]
                )
            ):
                answers[n] = model(b)
    return answers


deciding_block = "blocks.2"


# %% wrong="runs in eval mode" breaks="Each module runs in the mode that it is in" says=["and a run was in other modes"]
def intervention(donor, model, names, a, b):
    kept, answers = {}, {}
    modes = [(m, m.training) for one in (donor, model) for m in one.modules()]
    try:
        for module, _ in modes:
            module.training = False
        with torch.no_grad(), contextlib.ExitStack() as hooks:
            for name in names:
                hook = lambda m, args, out, name=name: kept.update({name: copy.deepcopy(out)})
                hooks.enter_context(donor.get_submodule(name).register_forward_hook(hook))
            donor(a)
        for name in names:
            module, patch = model.get_submodule(name), kept[name]
            with torch.no_grad(), module.register_forward_hook(lambda *_, patch=patch: patch):
                answers[name] = model(b)
    finally:
        for module, training in reversed(modes):
            module.training = training
    return answers


deciding_block = "blocks.2"


# %% wrong="the patch is given the shape of the model's own output" says=["batches of two sizes: run A has a batch of 1", "expected (1, 3): the patch is what run A returned"]
def intervention(donor, model, names, a, b):
    kept, answers = {}, {}

    def fit(patch, output):
        if isinstance(patch, tuple):
            return tuple(map(fit, patch, output))
        try:
            return patch.expand_as(output).clone()
        except RuntimeError:
            return patch

    with torch.no_grad(), contextlib.ExitStack() as hooks:
        for name in names:
            hook = lambda m, args, out, name=name: kept.update({name: copy.deepcopy(out)})
            hooks.enter_context(donor.get_submodule(name).register_forward_hook(hook))
        donor(a)
    for name in names:
        module = model.get_submodule(name)
        hook = lambda m, args, out, name=name: fit(kept[name], out)
        with torch.no_grad(), module.register_forward_hook(hook):
            answers[name] = model(b)
    return answers


deciding_block = "blocks.2"
