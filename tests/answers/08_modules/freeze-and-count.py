# %% [markdown]
# Rules:
#
# - "`*` means any letters (dots, too)"
# - "`?` for exactly one letter"
# - "capital and small letters differ"
# - "a full name that matches any pattern"
# - "is frozen"
# - "it may be frozen already"
# - "A shared parameter has several names, and each counts"
# - "The others stay as they are"
# - "each `.grad`"
# - "`nn.BatchNorm1d`, `2d`, `3d`"
# - "and their subclasses"
# - "now or before"
# - "is put into eval mode"
# - "even if there is no pattern"
# - "The mode of everything else stays"
# - "With `affine=False` the weight is `None`"
# - "A pattern that matches no parameter is a `ValueError`"
# - "nothing has been changed"
# - "`patterns` itself never is"
# - "the numbers in all parameters"
# - "those that are not frozen"
# - "the memory of parameters *and* buffers"
# - "Whatever is shared counts once"
# - "Python's `fnmatch.fnmatchcase(name, pattern)` compares"
#
# Admits:
#
# - "it may be frozen already": which was frozen before
# - "A shared parameter has several names": a tied table
# - "each counts": a module in two places
# - "`fnmatch.fnmatchcase(name, pattern)` compares": fnmatchcase reads brackets
# - "even if there is no pattern": SmallNet, no pattern
# - "and their subclasses": norms of a subclass
# - "`?` for exactly one letter": a dot is a letter, too

# %% wrong="named_parameters hides the second name" breaks="A shared parameter has several names, and each counts" says=["a tied table, [\"out.*\"]", "not frozen: table.weight, out.weight"]
def freeze_and_count(model, patterns):
    from fnmatch import fnmatchcase

    named = list(model.named_parameters())
    if not all(any(fnmatchcase(n, p) for n, _ in named) for p in patterns):
        raise ValueError("a pattern matches nothing")
    for name, parameter in named:
        if any(fnmatchcase(name, pattern) for pattern in patterns):
            parameter.requires_grad = False
    for m in model.modules():
        if (
            isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d))
            and m.affine
            and not m.weight.requires_grad
        ):
            m.eval()
    ps, bs = list(model.parameters()), list(model.buffers())
    return {
        "total": sum(p.numel() for p in ps),
        "trainable": sum(p.numel() for p in ps if p.requires_grad),
        "bytes": sum(t.nbytes for t in ps + bs),
    }


# %% wrong="the batch norms keep moving" breaks="is put into eval mode" says=["not in eval mode: features.0.norm, features.2.norm"]
def freeze_and_count(model, patterns):
    from fnmatch import fnmatchcase

    named = list(model.named_parameters(remove_duplicate=False))
    if not all(any(fnmatchcase(n, p) for n, _ in named) for p in patterns):
        raise ValueError("a pattern matches nothing")
    for name, parameter in named:
        if any(fnmatchcase(name, pattern) for pattern in patterns):
            parameter.requires_grad = False
    ps, bs = list(model.parameters()), list(model.buffers())
    return {
        "total": sum(p.numel() for p in ps),
        "trainable": sum(p.numel() for p in ps if p.requires_grad),
        "bytes": sum(t.nbytes for t in ps + bs),
    }


# %% wrong="require_grad without the s" breaks="is frozen" says=["not frozen: features.0.conv.weight"]
def freeze_and_count(model, patterns):
    from fnmatch import fnmatchcase

    named = list(model.named_parameters(remove_duplicate=False))
    if not all(any(fnmatchcase(n, p) for n, _ in named) for p in patterns):
        raise ValueError("a pattern matches nothing")
    for name, parameter in named:
        if any(fnmatchcase(name, pattern) for pattern in patterns):
            parameter.require_grad = False
    for m in model.modules():
        if (
            isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d))
            and m.affine
            and not m.weight.requires_grad
        ):
            m.eval()
    ps, bs = list(model.parameters()), list(model.buffers())
    return {
        "total": sum(p.numel() for p in ps),
        "trainable": sum(p.numel() for p in ps if p.requires_grad),
        "bytes": sum(t.nbytes for t in ps + bs),
    }


# %% wrong="no ValueError" breaks="A pattern that matches no parameter is a `ValueError`" says=["no ValueError was raised"]
def freeze_and_count(model, patterns):
    from fnmatch import fnmatchcase

    for name, parameter in model.named_parameters(remove_duplicate=False):
        if any(fnmatchcase(name, pattern) for pattern in patterns):
            parameter.requires_grad = False
    for m in model.modules():
        if (
            isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d))
            and m.affine
            and not m.weight.requires_grad
        ):
            m.eval()
    ps, bs = list(model.parameters()), list(model.buffers())
    return {
        "total": sum(p.numel() for p in ps),
        "trainable": sum(p.numel() for p in ps if p.requires_grad),
        "bytes": sum(t.nbytes for t in ps + bs),
    }


# %% wrong="freezes before it looks" breaks="nothing has been changed" says=["frozen after the ValueError", "nothing is changed then"]
def freeze_and_count(model, patterns):
    from fnmatch import fnmatchcase

    named = list(model.named_parameters(remove_duplicate=False))
    for pattern in patterns:
        hits = [p for n, p in named if fnmatchcase(n, pattern)]
        if not hits:
            raise ValueError(pattern)
        for p in hits:
            p.requires_grad = False
    for m in model.modules():
        if (
            isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d))
            and m.affine
            and not m.weight.requires_grad
        ):
            m.eval()
    ps, bs = list(model.parameters()), list(model.buffers())
    return {
        "total": sum(p.numel() for p in ps),
        "trainable": sum(p.numel() for p in ps if p.requires_grad),
        "bytes": sum(t.nbytes for t in ps + bs),
    }


# %% wrong="thaws the rest" breaks="The others stay as they are" says=["not frozen: head.bias"]
def freeze_and_count(model, patterns):
    from fnmatch import fnmatchcase

    named = list(model.named_parameters(remove_duplicate=False))
    if not all(any(fnmatchcase(n, p) for n, _ in named) for p in patterns):
        raise ValueError("a pattern matches nothing")
    hit = {id(p) for n, p in named if any(fnmatchcase(n, pattern) for pattern in patterns)}
    for _, parameter in named:
        parameter.requires_grad_(id(parameter) not in hit)
    for m in model.modules():
        if (
            isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d))
            and m.affine
            and not m.weight.requires_grad
        ):
            m.eval()
    ps, bs = list(model.parameters()), list(model.buffers())
    return {
        "total": sum(p.numel() for p in ps),
        "trainable": sum(p.numel() for p in ps if p.requires_grad),
        "bytes": sum(t.nbytes for t in ps + bs),
    }


# %% wrong="four bytes a number, tied counted twice" says=["the tied table is counted twice", "(not every number has four bytes"]
def freeze_and_count(model, patterns):
    from fnmatch import fnmatchcase

    named = list(model.named_parameters(remove_duplicate=False))
    if not all(any(fnmatchcase(n, p) for n, _ in named) for p in patterns):
        raise ValueError("a pattern matches nothing")
    for name, parameter in named:
        if any(fnmatchcase(name, pattern) for pattern in patterns):
            parameter.requires_grad = False
    for m in model.modules():
        if (
            isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d))
            and m.affine
            and not m.weight.requires_grad
        ):
            m.eval()
    return {
        "total": sum(p.numel() for _, p in named),
        "trainable": sum(p.numel() for _, p in named if p.requires_grad),
        "bytes": 4 * sum(p.numel() for p in model.parameters()),
    }


# %% wrong="the whole model into eval mode; bytes without the buffers" says=["in eval mode, and should not be: (the model itself)", "(the buffers are missing)"]
def freeze_and_count(model, patterns):
    from fnmatch import fnmatchcase

    named = list(model.named_parameters(remove_duplicate=False))
    if not all(any(fnmatchcase(n, p) for n, _ in named) for p in patterns):
        raise ValueError("a pattern matches nothing")
    for name, parameter in named:
        if any(fnmatchcase(name, pattern) for pattern in patterns):
            parameter.requires_grad = False
    if patterns:
        model.eval()
    ps = list(model.parameters())
    return {
        "total": sum(p.numel() for p in ps),
        "trainable": sum(p.numel() for p in ps if p.requires_grad),
        "bytes": sum(t.nbytes for t in ps),
    }


# %% wrong="startswith for a pattern" says=["a ValueError, though each pattern matches"]
def freeze_and_count(model, patterns):
    named = list(model.named_parameters(remove_duplicate=False))
    for pattern in patterns:
        if not any(name.startswith(pattern.strip("*")) for name, _ in named):
            raise ValueError(pattern)
    for name, p in named:
        if any(name.startswith(pattern.strip("*")) for pattern in patterns):
            p.requires_grad = False
    for m in model.modules():
        if (
            isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d))
            and m.affine
            and not m.weight.requires_grad
        ):
            m.eval()
    ps, bs = list(model.parameters()), list(model.buffers())
    return {
        "total": sum(p.numel() for p in ps),
        "trainable": sum(p.numel() for p in ps if p.requires_grad),
        "bytes": sum(t.nbytes for t in ps + bs),
    }


# %% right="a regular expression and storages"
def freeze_and_count(model, patterns):
    import fnmatch
    import re

    regexes = [re.compile(fnmatch.translate(pattern)) for pattern in patterns]
    table = {}
    for prefix, module in model.named_modules(remove_duplicate=False):
        for name, parameter in module._parameters.items():
            if parameter is not None:
                table[f"{prefix}.{name}" if prefix else name] = parameter
    hits = [[p for n, p in table.items() if regex.match(n)] for regex in regexes]
    if [] in hits:
        raise ValueError("a pattern without a match")
    for group in hits:
        for parameter in group:
            parameter.requires_grad_(False)

    def rest(module):
        if isinstance(module, nn.modules.batchnorm._BatchNorm) and module.weight is not None:
            if not module.weight.requires_grad:
                module.train(False)

    model.apply(rest)
    unique = {id(p): p for p in table.values()}.values()
    memory = {
        t.untyped_storage().data_ptr(): t.untyped_storage().nbytes()
        for t in (*unique, *model.buffers())
    }
    free = [p.numel() for p in unique if p.requires_grad]
    return dict(
        total=sum(map(torch.numel, unique)), trainable=sum(free), bytes=sum(memory.values())
    )


# %% right="fnmatch.filter on all names first"
def freeze_and_count(model, patterns):
    import fnmatch

    parameters = dict(model.named_parameters(remove_duplicate=False))
    chosen = set()
    for pattern in patterns:
        names = [name for name in parameters if fnmatch.fnmatchcase(name, pattern)]
        assert_some(names, pattern)
        chosen.update(names)
    for name in chosen:
        parameters[name].requires_grad = False
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm) and module.affine:
            module.train(module.training and module.weight.requires_grad)
    count = lambda ts: sum(t.numel() for t in ts)
    weigh = lambda ts: sum(t.numel() * t.element_size() for t in ts)
    total = count(model.parameters())
    frozen = count(p for p in model.parameters() if not p.requires_grad)
    return {
        "bytes": weigh(model.parameters()) + weigh(model.buffers()),
        "trainable": total - frozen,
        "total": total,
    }


def assert_some(names, pattern):
    if not names:
        raise ValueError(f"nothing is called {pattern}")


# %% wrong="only the batch norms that it freezes itself" breaks="now or before" says=["was frozen before: not in eval mode: features.0.norm"]
def freeze_and_count(model, patterns):
    import fnmatch

    named = dict(model.named_parameters(remove_duplicate=False))
    hits = [[n for n in named if fnmatch.fnmatchcase(n, pattern)] for pattern in patterns]
    if not all(hits):
        raise ValueError("a pattern matches nothing")
    for n in sum(hits, []):
        named[n].requires_grad = False
    for m in model.modules():
        if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            w = getattr(m, "weight", None)
            if w is not None and any(w is named[n] for h in hits for n in h):
                m.eval()
    ps = {id(p): p for p in named.values()}
    bs = {id(b): b for _, b in model.named_buffers(remove_duplicate=False)}
    return dict(
        total=sum(p.numel() for p in ps.values()),
        trainable=sum(p.numel() for p in ps.values() if p.requires_grad),
        bytes=sum(t.numel() * t.element_size() for t in (ps | bs).values()),
    )


# %% wrong="every batch norm has a weight" breaks="With `affine=False` the weight is `None`" says=["a batch norm's weight is None"]
def freeze_and_count(model, patterns):
    import fnmatch

    named = dict(model.named_parameters(remove_duplicate=False))
    hits = [[n for n in named if fnmatch.fnmatchcase(n, pattern)] for pattern in patterns]
    if not all(hits):
        raise ValueError("a pattern matches nothing")
    for n in sum(hits, []):
        named[n].requires_grad = False
    for m in model.modules():
        if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            w = getattr(m, "weight", None)
            if not w.requires_grad:
                m.eval()
    ps = {id(p): p for p in named.values()}
    bs = {id(b): b for _, b in model.named_buffers(remove_duplicate=False)}
    return dict(
        total=sum(p.numel() for p in ps.values()),
        trainable=sum(p.numel() for p in ps.values() if p.requires_grad),
        bytes=sum(t.numel() * t.element_size() for t in (ps | bs).values()),
    )


# %% right="names by hand, through _parameters"
def freeze_and_count(model, patterns):
    import re
    from fnmatch import translate

    todo = set()
    for pattern in patterns:
        found = set()
        for prefix, module in model.named_modules(remove_duplicate=False):
            for name, p in module._parameters.items():
                full = f"{prefix}.{name}" if prefix else name
                if p is not None and re.match(translate(pattern), full):
                    found.add(p)
        if not found:
            raise ValueError(f"{pattern!r} matches no parameter")
        todo |= found
    for p in todo:
        p.requires_grad_(False)

    def sleep(module):
        if (
            isinstance(module, nn.modules.batchnorm._BatchNorm)
            and module.affine
            and not module.weight.requires_grad
        ):
            module.training = False

    model.apply(sleep)
    total = trainable = size = 0
    for p in model.parameters():
        total += p.numel()
        trainable += p.numel() * p.requires_grad
        size += p.nbytes
    return {
        "total": total,
        "trainable": trainable,
        "bytes": size + sum(b.nbytes for b in model.buffers()),
    }


# %% wrong="batch norms of films forgotten" breaks="`nn.BatchNorm1d`, `2d`, `3d`" says=["not in eval mode: film"]
def freeze_and_count(model, patterns):
    from fnmatch import fnmatchcase

    named = list(model.named_parameters(remove_duplicate=False))
    chosen = set()
    for pattern in patterns:
        hits = [name for name, _ in named if fnmatchcase(name, pattern)]
        if not hits:
            raise ValueError(pattern)
        chosen.update(hits)
    for name, parameter in named:
        if name in chosen:
            parameter.requires_grad_(False)
    for module in model.modules():
        norm = isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d))
        if norm and module.weight is not None and not module.weight.requires_grad:
            module.eval()
    return {
        "total": sum(p.numel() for p in model.parameters()),
        "trainable": sum(p.numel() for p in model.parameters() if p.requires_grad),
        "bytes": sum(t.nbytes for t in [*model.parameters(), *model.buffers()]),
    }


# %% wrong="wakes the norms that are free" says=["not in eval mode: still"]
def freeze_and_count(model, patterns):
    from fnmatch import fnmatchcase

    named = list(model.named_parameters(remove_duplicate=False))
    chosen = set()
    for pattern in patterns:
        hits = [name for name, _ in named if fnmatchcase(name, pattern)]
        if not hits:
            raise ValueError(pattern)
        chosen.update(hits)
    for name, parameter in named:
        if name in chosen:
            parameter.requires_grad_(False)
    for module in model.modules():
        norm = isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d))
        if norm and module.weight is not None:
            module.train(module.weight.requires_grad)
    return {
        "total": sum(p.numel() for p in model.parameters()),
        "trainable": sum(p.numel() for p in model.parameters() if p.requires_grad),
        "bytes": sum(t.nbytes for t in [*model.parameters(), *model.buffers()]),
    }


# %% wrong="a pattern as a regular expression" says=["frozen, and should not be: out_bias"]
def freeze_and_count(model, patterns):
    import re

    named = list(model.named_parameters(remove_duplicate=False))
    chosen = set()
    for pattern in patterns:
        hits = [
            name
            for name, _ in named
            if re.match(pattern.replace("*", ".*").replace("?", "."), name)
        ]
        if not hits:
            raise ValueError(pattern)
        chosen.update(hits)
    for name, parameter in named:
        if name in chosen:
            parameter.requires_grad_(False)
    for module in model.modules():
        norm = isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d))
        if norm and module.weight is not None and not module.weight.requires_grad:
            module.eval()
    return {
        "total": sum(p.numel() for p in model.parameters()),
        "trainable": sum(p.numel() for p in model.parameters() if p.requires_grad),
        "bytes": sum(t.nbytes for t in [*model.parameters(), *model.buffers()]),
    }


# %% wrong="puts every frozen layer into eval mode" says=["in eval mode, and should not be: layer"]
def freeze_and_count(model, patterns):
    from fnmatch import fnmatchcase

    named = list(model.named_parameters(remove_duplicate=False))
    chosen = set()
    for pattern in patterns:
        hits = [name for name, _ in named if fnmatchcase(name, pattern)]
        if not hits:
            raise ValueError(pattern)
        chosen.update(hits)
    for name, parameter in named:
        if name in chosen:
            parameter.requires_grad_(False)
    for module in model.modules():
        norm = isinstance(getattr(module, "weight", None), nn.Parameter)
        if norm and module.weight is not None and not module.weight.requires_grad:
            module.eval()
    return {
        "total": sum(p.numel() for p in model.parameters()),
        "trainable": sum(p.numel() for p in model.parameters() if p.requires_grad),
        "bytes": sum(t.nbytes for t in [*model.parameters(), *model.buffers()]),
    }


# %% wrong="empties the list of patterns" says=["the list of patterns is no longer as it was"]
def freeze_and_count(model, patterns):
    from fnmatch import fnmatchcase

    named = list(model.named_parameters(remove_duplicate=False))
    chosen = set()
    while patterns:
        pattern = patterns.pop()
        hits = [name for name, _ in named if fnmatchcase(name, pattern)]
        if not hits:
            raise ValueError(pattern)
        chosen.update(hits)
    for name, parameter in named:
        if name in chosen:
            parameter.requires_grad_(False)
    for module in model.modules():
        norm = isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d))
        if norm and module.weight is not None and not module.weight.requires_grad:
            module.eval()
    return {
        "total": sum(p.numel() for p in model.parameters()),
        "trainable": sum(p.numel() for p in model.parameters() if p.requires_grad),
        "bytes": sum(t.nbytes for t in [*model.parameters(), *model.buffers()]),
    }


# %% wrong="every norm by its name" says=["in eval mode, and should not be: layer"]
def freeze_and_count(model, patterns):
    from fnmatch import fnmatchcase

    named = list(model.named_parameters(remove_duplicate=False))
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name, _ in named):
            raise ValueError(pattern)
    for name, parameter in named:
        if any(fnmatchcase(name, pattern) for pattern in patterns):
            parameter.requires_grad_(False)
    for module in model.modules():
        norm = "Norm" in type(module).__name__ and isinstance(module.weight, nn.Parameter)
        if norm and not module.weight.requires_grad:
            module.eval()
    return {
        "total": sum(p.numel() for p in model.parameters()),
        "trainable": sum(p.numel() for p in model.parameters() if p.requires_grad),
        "bytes": sum(t.nbytes for t in [*model.parameters(), *model.buffers()]),
    }


# %% wrong="a pattern matches inside of names" says=["frozen, and should not be: stillfilm.weight"]
def freeze_and_count(model, patterns):
    from fnmatch import fnmatchcase

    named = list(model.named_parameters(remove_duplicate=False))
    for pattern in patterns:
        if not any(fnmatchcase(n, pattern) for n, _ in named):
            raise ValueError(pattern)
    for n, p in named:
        if any(fnmatchcase(n, "*" + pattern + "*") for pattern in patterns):
            p.requires_grad_(False)
    for m in model.modules():
        if (
            isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d))
            and m.weight is not None
            and not m.weight.requires_grad
        ):
            m.eval()
    return {
        "total": sum(p.numel() for p in model.parameters()),
        "trainable": sum(p.numel() for p in model.parameters() if p.requires_grad),
        "bytes": sum(t.nbytes for t in [*model.parameters(), *model.buffers()]),
    }


# %% wrong="no pattern, nothing to do" breaks="even if there is no pattern" says=["not in eval mode: features.0.norm"]
import fnmatch


def freeze_and_count(model, patterns):
    named = list(model.named_parameters(remove_duplicate=False))
    for pattern in patterns:
        if not [n for n, _ in named if fnmatch.fnmatchcase(n, pattern)]:
            raise ValueError(pattern)
    for n, p in named:
        if any(fnmatch.fnmatchcase(n, pattern) for pattern in patterns):
            p.requires_grad = False
    for m in model.modules() if patterns else []:
        if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            if m.weight is not None and not m.weight.requires_grad:
                m.eval()
    total = sum(p.numel() for p in model.parameters())
    free = sum(p.numel() for p in model.parameters() if p.requires_grad)
    size = sum(p.numel() * p.element_size() for p in model.parameters())
    size += sum(b.numel() * b.element_size() for b in model.buffers())
    return {"total": total, "trainable": free, "bytes": size}


# %% wrong="subclasses of batch norms left out" breaks="and their subclasses" says=["not in eval mode: own"]
import fnmatch


def freeze_and_count(model, patterns):
    named = list(model.named_parameters(remove_duplicate=False))
    for pattern in patterns:
        if not [n for n, _ in named if fnmatch.fnmatchcase(n, pattern)]:
            raise ValueError(pattern)
    for n, p in named:
        if any(fnmatch.fnmatchcase(n, pattern) for pattern in patterns):
            p.requires_grad = False
    for m in model.modules():
        if type(m) in (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d):
            if m.weight is not None and not m.weight.requires_grad:
                m.eval()
    total = sum(p.numel() for p in model.parameters())
    free = sum(p.numel() for p in model.parameters() if p.requires_grad)
    size = sum(p.numel() * p.element_size() for p in model.parameters())
    size += sum(b.numel() * b.element_size() for b in model.buffers())
    return {"total": total, "trainable": free, "bytes": size}


# %% wrong="a pattern must match something trainable" breaks="it may be frozen already" says=["though each pattern matches: head.bias"]
import fnmatch


def freeze_and_count(model, patterns):
    named = list(model.named_parameters(remove_duplicate=False))
    for pattern in patterns:
        if not [n for n, p in named if p.requires_grad and fnmatch.fnmatchcase(n, pattern)]:
            raise ValueError(pattern)
    for n, p in named:
        if any(fnmatch.fnmatchcase(n, pattern) for pattern in patterns):
            p.requires_grad = False
    for m in model.modules():
        if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            if m.weight is not None and not m.weight.requires_grad:
                m.eval()
    total = sum(p.numel() for p in model.parameters())
    free = sum(p.numel() for p in model.parameters() if p.requires_grad)
    size = sum(p.numel() * p.element_size() for p in model.parameters())
    size += sum(b.numel() * b.element_size() for b in model.buffers())
    return {"total": total, "trainable": free, "bytes": size}


# %% wrong="the model in eval" breaks="The mode of everything else stays" says=["should not be: (the model itself)"]
import fnmatch


def freeze_and_count(model, patterns):
    named = list(model.named_parameters(remove_duplicate=False))
    for pattern in patterns:
        if not [n for n, _ in named if fnmatch.fnmatchcase(n, pattern)]:
            raise ValueError(pattern)
    for n, p in named:
        if any(fnmatch.fnmatchcase(n, pattern) for pattern in patterns):
            p.requires_grad = False
    for m in model.modules():
        if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            if m.weight is not None and not m.weight.requires_grad:
                m.eval()
    model.eval() if not any(p.requires_grad for p in model.parameters()) else None
    total = sum(p.numel() for p in model.parameters())
    free = sum(p.numel() for p in model.parameters() if p.requires_grad)
    size = sum(p.numel() * p.element_size() for p in model.parameters())
    size += sum(b.numel() * b.element_size() for b in model.buffers())
    return {"total": total, "trainable": free, "bytes": size}


# %% wrong="question mark means perhaps a letter" breaks="`?` for exactly one letter" says=["a pattern matches nothing"]
import re


def match(n, p):
    return re.fullmatch(re.escape(p).replace(r"\*", ".*").replace(r"\?", ".?"), n)


def freeze_and_count(model, patterns):
    named = list(model.named_parameters(remove_duplicate=False))
    for pattern in patterns:
        if not [n for n, _ in named if match(n, pattern)]:
            raise ValueError(pattern)
    for n, p in named:
        if any(match(n, pattern) for pattern in patterns):
            p.requires_grad = False
    for m in model.modules():
        if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            if m.weight is not None and not m.weight.requires_grad:
                m.eval()
    total = sum(p.numel() for p in model.parameters())
    free = sum(p.numel() for p in model.parameters() if p.requires_grad)
    size = sum(p.numel() * p.element_size() for p in model.parameters())
    size += sum(b.numel() * b.element_size() for b in model.buffers())
    return {"total": total, "trainable": free, "bytes": size}


# %% wrong="capital letters don't count" breaks="capital and small letters differ" says=["a pattern matches nothing"]
import fnmatch


def freeze_and_count(model, patterns):
    named = list(model.named_parameters(remove_duplicate=False))
    for pattern in patterns:
        if not [n for n, _ in named if fnmatch.fnmatchcase(n.lower(), pattern.lower())]:
            raise ValueError(pattern)
    for n, p in named:
        if any(fnmatch.fnmatchcase(n.lower(), pattern.lower()) for pattern in patterns):
            p.requires_grad = False
    for m in model.modules():
        if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            if m.weight is not None and not m.weight.requires_grad:
                m.eval()
    total = sum(p.numel() for p in model.parameters())
    free = sum(p.numel() for p in model.parameters() if p.requires_grad)
    size = sum(p.numel() * p.element_size() for p in model.parameters())
    size += sum(b.numel() * b.element_size() for b in model.buffers())
    return {"total": total, "trainable": free, "bytes": size}


# %% wrong="a module's name counts as a match" says=["head is a module, not a parameter"]
from fnmatch import fnmatchcase


def freeze_and_count(model, patterns):
    named = list(model.named_parameters(remove_duplicate=False))
    for pattern in patterns:
        if not any(
            fnmatchcase(name, pattern) for name, _ in list(named) + list(model.named_modules())
        ):
            raise ValueError(f"{pattern} matches nothing")
    for name, p in named:
        if any(fnmatchcase(name, pattern) for pattern in patterns):
            p.requires_grad_(False)
    for m in model.modules():
        if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            if m.weight is not None and not m.weight.requires_grad:
                m.eval()
    ps, bs = list(model.parameters()), list(model.buffers())
    return {
        "total": sum(p.numel() for p in ps),
        "trainable": sum(p.numel() for p in ps if p.requires_grad),
        "bytes": sum(t.nbytes for t in ps + bs),
    }


# %% wrong="a pattern matches the beginning of a name" says=["head is a module, not a parameter"]
from fnmatch import fnmatchcase


def freeze_and_count(model, patterns):
    named = list(model.named_parameters(remove_duplicate=False))
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern + "*") for name, _ in named):
            raise ValueError(f"{pattern} matches nothing")
    for name, p in named:
        if any(fnmatchcase(name, pattern + "*") for pattern in patterns):
            p.requires_grad_(False)
    for m in model.modules():
        if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            if m.weight is not None and not m.weight.requires_grad:
                m.eval()
    ps, bs = list(model.parameters()), list(model.buffers())
    return {
        "total": sum(p.numel() for p in ps),
        "trainable": sum(p.numel() for p in ps if p.requires_grad),
        "bytes": sum(t.nbytes for t in ps + bs),
    }


# %% wrong="sorts the caller's patterns" breaks="`patterns` itself never is" says=["the list of patterns is no longer as it was"]
from fnmatch import fnmatchcase


def freeze_and_count(model, patterns):
    patterns.sort()
    named = list(model.named_parameters(remove_duplicate=False))
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name, _ in named):
            raise ValueError(f"{pattern} matches nothing")
    for name, p in named:
        if any(fnmatchcase(name, pattern) for pattern in patterns):
            p.requires_grad_(False)
    for m in model.modules():
        if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            if m.weight is not None and not m.weight.requires_grad:
                m.eval()
    ps, bs = list(model.parameters()), list(model.buffers())
    return {
        "total": sum(p.numel() for p in ps),
        "trainable": sum(p.numel() for p in ps if p.requires_grad),
        "bytes": sum(t.nbytes for t in ps + bs),
    }


# %% wrong="buffers in the total" breaks="the numbers in all parameters" says=["the buffers are counted as well, and aren't parameters"]
from fnmatch import fnmatchcase


def freeze_and_count(model, patterns):
    named = list(model.named_parameters(remove_duplicate=False))
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name, _ in named):
            raise ValueError(f"{pattern} matches nothing")
    for name, p in named:
        if any(fnmatchcase(name, pattern) for pattern in patterns):
            p.requires_grad_(False)
    for m in model.modules():
        if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            if m.weight is not None and not m.weight.requires_grad:
                m.eval()
    ps, bs = list(model.parameters()), list(model.buffers())
    return {
        "total": sum(p.numel() for p in ps + bs),
        "trainable": sum(p.numel() for p in ps if p.requires_grad),
        "bytes": sum(t.nbytes for t in ps + bs),
    }


# %% wrong="four bytes for every number" breaks="the memory of parameters *and* buffers" says=["not every number has four bytes"]
from fnmatch import fnmatchcase


def freeze_and_count(model, patterns):
    named = list(model.named_parameters(remove_duplicate=False))
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name, _ in named):
            raise ValueError(f"{pattern} matches nothing")
    for name, p in named:
        if any(fnmatchcase(name, pattern) for pattern in patterns):
            p.requires_grad_(False)
    for m in model.modules():
        if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            if m.weight is not None and not m.weight.requires_grad:
                m.eval()
    ps, bs = list(model.parameters()), list(model.buffers())
    return {
        "total": sum(p.numel() for p in ps),
        "trainable": sum(p.numel() for p in ps if p.requires_grad),
        "bytes": sum(4 * t.numel() for t in ps + bs),
    }


# %% wrong="takes the gradients away" breaks="each `.grad`" says=["a parameter's .grad is no longer as it was"]
import fnmatch


def freeze_and_count(model, patterns):
    names = [n for n, _ in model.named_parameters(remove_duplicate=False)]
    table = dict(model.named_parameters(remove_duplicate=False))
    hit = set()
    for p in patterns:
        m = [n for n in names if fnmatch.fnmatchcase(n, p)]
        if not m:
            raise ValueError(p)
        hit.update(m)
    for n in hit:
        table[n].requires_grad = False
        table[n].grad = None
    for m in model.modules():
        if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            if m.weight is not None and not m.weight.requires_grad:
                m.training = False
    ps = list(model.parameters())
    return {
        "total": sum(p.numel() for p in ps),
        "trainable": sum(p.numel() for p in ps if p.requires_grad),
        "bytes": sum(t.numel() * t.element_size() for t in [*ps, *model.buffers()]),
    }


# %% wrong="instance norms as well" says=["in eval mode, and should not be: instance"]
import fnmatch


def freeze_and_count(model, patterns):
    names = [n for n, _ in model.named_parameters(remove_duplicate=False)]
    table = dict(model.named_parameters(remove_duplicate=False))
    hit = set()
    for p in patterns:
        m = [n for n in names if fnmatch.fnmatchcase(n, p)]
        if not m:
            raise ValueError(p)
        hit.update(m)
    for n in hit:
        table[n].requires_grad = False
    for m in model.modules():
        if isinstance(m, nn.modules.batchnorm._NormBase):
            if m.weight is not None and not m.weight.requires_grad:
                m.training = False
    ps = list(model.parameters())
    return {
        "total": sum(p.numel() for p in ps),
        "trainable": sum(p.numel() for p in ps if p.requires_grad),
        "bytes": sum(t.numel() * t.element_size() for t in [*ps, *model.buffers()]),
    }


# %% wrong="looks at the last pattern alone" breaks="a full name that matches any pattern" says=["SmallNet, [\"nose.*\", \"features.*\"]: a pattern matches nothing"]
import fnmatch


def freeze_and_count(model, patterns):
    names = [n for n, _ in model.named_parameters(remove_duplicate=False)]
    table = dict(model.named_parameters(remove_duplicate=False))
    hit = set()
    for p in patterns:
        m = [n for n in names if fnmatch.fnmatchcase(n, p)]
        hit.update(m)
    if patterns and not m:
        raise ValueError(p)
    for n in hit:
        table[n].requires_grad = False
    for m in model.modules():
        if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            if m.weight is not None and not m.weight.requires_grad:
                m.training = False
    ps = list(model.parameters())
    return {
        "total": sum(p.numel() for p in ps),
        "trainable": sum(p.numel() for p in ps if p.requires_grad),
        "bytes": sum(t.numel() * t.element_size() for t in [*ps, *model.buffers()]),
    }


# %% wrong="bytes of the gradients as well" says=["gradients aren't asked for"]
import fnmatch


def freeze_and_count(model, patterns):
    names = [n for n, _ in model.named_parameters(remove_duplicate=False)]
    table = dict(model.named_parameters(remove_duplicate=False))
    hit = set()
    for p in patterns:
        m = [n for n in names if fnmatch.fnmatchcase(n, p)]
        if not m:
            raise ValueError(p)
        hit.update(m)
    for n in hit:
        table[n].requires_grad = False
    for m in model.modules():
        if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            if m.weight is not None and not m.weight.requires_grad:
                m.training = False
    ps = list(model.parameters())
    return {
        "total": sum(p.numel() for p in ps),
        "trainable": sum(p.numel() for p in ps if p.requires_grad),
        "bytes": sum(
            t.numel() * t.element_size()
            for t in [*ps, *model.buffers(), *[p.grad for p in ps if p.grad is not None]]
        ),
    }


# %% wrong="a norm whose bias is frozen" says=["the batch norms' weights stay free"]
import fnmatch


def freeze_and_count(model, patterns):
    names = [n for n, _ in model.named_parameters(remove_duplicate=False)]
    table = dict(model.named_parameters(remove_duplicate=False))
    hit = set()
    for p in patterns:
        m = [n for n in names if fnmatch.fnmatchcase(n, p)]
        if not m:
            raise ValueError(p)
        hit.update(m)
    for n in hit:
        table[n].requires_grad = False
    for m in model.modules():
        if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            if m.bias is not None and not m.bias.requires_grad:
                m.training = False
    ps = list(model.parameters())
    return {
        "total": sum(p.numel() for p in ps),
        "trainable": sum(p.numel() for p in ps if p.requires_grad),
        "bytes": sum(t.numel() * t.element_size() for t in [*ps, *model.buffers()]),
    }


# %% right="a set of names, training = False"
import fnmatch


def freeze_and_count(model, patterns):
    names = [n for n, _ in model.named_parameters(remove_duplicate=False)]
    table = dict(model.named_parameters(remove_duplicate=False))
    hit = set()
    for p in patterns:
        m = [n for n in names if fnmatch.fnmatchcase(n, p)]
        if not m:
            raise ValueError(p)
        hit.update(m)
    for n in hit:
        table[n].requires_grad = False
    for m in model.modules():
        if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            if m.weight is not None and not m.weight.requires_grad:
                m.training = False
    ps = list(model.parameters())
    return {
        "total": sum(p.numel() for p in ps),
        "trainable": sum(p.numel() for p in ps if p.requires_grad),
        "bytes": sum(t.numel() * t.element_size() for t in [*ps, *model.buffers()]),
    }


# %% wrong="sets the mode of every norm" says=["not in eval mode: stillfilm"]
import fnmatch


def freeze_and_count(model, patterns):
    names = [n for n, _ in model.named_parameters(remove_duplicate=False)]
    table = dict(model.named_parameters(remove_duplicate=False))
    hit = set()
    for p in patterns:
        m = [n for n in names if fnmatch.fnmatchcase(n, p)]
        if not m:
            raise ValueError(p)
        hit.update(m)
    for n in hit:
        table[n].requires_grad = False
    for m in model.modules():
        if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            if m.weight is not None and not m.weight.requires_grad:
                m.training = False
            else:
                m.training = True
    ps = list(model.parameters())
    return {
        "total": sum(p.numel() for p in ps),
        "trainable": sum(p.numel() for p in ps if p.requires_grad),
        "bytes": sum(t.numel() * t.element_size() for t in [*ps, *model.buffers()]),
    }


# %% wrong="freezes the whole module of a match" says=["frozen, and should not be: features.0.norm.weight"]
import fnmatch


def freeze_and_count(model, patterns):
    names = [n for n, _ in model.named_parameters(remove_duplicate=False)]
    table = dict(model.named_parameters(remove_duplicate=False))
    hit = set()
    for p in patterns:
        m = [n for n in names if fnmatch.fnmatchcase(n, p)]
        if not m:
            raise ValueError(p)
        hit.update(m)
    for n in hit:
        model.get_submodule(n.rpartition(".")[0]).requires_grad_(False) if "." in n else table[
            n
        ].requires_grad_(False)
    for m in model.modules():
        if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            if m.weight is not None and not m.weight.requires_grad:
                m.training = False
    ps = list(model.parameters())
    return {
        "total": sum(p.numel() for p in ps),
        "trainable": sum(p.numel() for p in ps if p.requires_grad),
        "bytes": sum(t.numel() * t.element_size() for t in [*ps, *model.buffers()]),
    }


# %% wrong="a star stops at a dot" breaks="`*` means any letters (dots, too)" says=["a ValueError, though each pattern matches: features.*"]
import fnmatch


def freeze_and_count(model, patterns):
    names = [n for n, _ in model.named_parameters(remove_duplicate=False)]

    def fits(n, pattern):
        pieces, wanted = n.split("."), pattern.split(".")
        same = len(pieces) == len(wanted)
        return same and all(map(fnmatch.fnmatchcase, pieces, wanted))

    for pattern in patterns:
        if not any(fits(n, pattern) for n in names):
            raise ValueError(pattern)
    for n, p in model.named_parameters(remove_duplicate=False):
        if any(fits(n, pattern) for pattern in patterns):
            p.requires_grad_(False)
    for m in model.modules():
        if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            if m.weight is not None and not m.weight.requires_grad:
                m.eval()
    ps = list(model.parameters())
    every = ps + list(model.buffers())
    return {
        "total": sum(p.numel() for p in ps),
        "trainable": sum(p.numel() for p in ps if p.requires_grad),
        "bytes": sum(t.numel() * t.element_size() for t in every),
    }


# %% wrong="counts before it freezes" breaks="those that are not frozen" says=["those that are frozen here count as frozen"]
import fnmatch


def freeze_and_count(model, patterns):
    free = sum(p.numel() for p in model.parameters() if p.requires_grad)
    names = [n for n, _ in model.named_parameters(remove_duplicate=False)]
    for pattern in patterns:
        if not any(fnmatch.fnmatchcase(n, pattern) for n in names):
            raise ValueError(pattern)
    for n, p in model.named_parameters(remove_duplicate=False):
        if any(fnmatch.fnmatchcase(n, pattern) for pattern in patterns):
            p.requires_grad_(False)
    for m in model.modules():
        if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            if m.weight is not None and not m.weight.requires_grad:
                m.eval()
    ps = list(model.parameters())
    every = ps + list(model.buffers())
    return {
        "total": sum(p.numel() for p in ps),
        "trainable": free,
        "bytes": sum(t.numel() * t.element_size() for t in every),
    }


# %% wrong="what is shared counts under each name" breaks="Whatever is shared counts once" says=["'total' is 76, expected 48 (the tied table is counted twice)"]
import fnmatch


def freeze_and_count(model, patterns):
    names = [n for n, _ in model.named_parameters(remove_duplicate=False)]
    for pattern in patterns:
        if not any(fnmatch.fnmatchcase(n, pattern) for n in names):
            raise ValueError(pattern)
    for n, p in model.named_parameters(remove_duplicate=False):
        if any(fnmatch.fnmatchcase(n, pattern) for pattern in patterns):
            p.requires_grad_(False)
    for m in model.modules():
        if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            if m.weight is not None and not m.weight.requires_grad:
                m.eval()
    ps = [p for _, p in model.named_parameters(remove_duplicate=False)]
    every = ps + list(model.buffers())
    return {
        "total": sum(p.numel() for p in ps),
        "trainable": sum(p.numel() for p in ps if p.requires_grad),
        "bytes": sum(t.numel() * t.element_size() for t in every),
    }


# %% wrong="small and capital letters alike in the loop" says=["frozen, and should not be: Own.weight"]
import fnmatch


def freeze_and_count(model, patterns):
    names = [n for n, _ in model.named_parameters(remove_duplicate=False)]
    for pattern in patterns:
        if not any(fnmatch.fnmatchcase(n, pattern) for n in names):
            raise ValueError(pattern)
    for n, p in model.named_parameters(remove_duplicate=False):
        if any(fnmatch.fnmatchcase(n.lower(), pattern.lower()) for pattern in patterns):
            p.requires_grad_(False)
    for m in model.modules():
        if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            if m.weight is not None and not m.weight.requires_grad:
                m.eval()
    ps = list(model.parameters())
    every = ps + list(model.buffers())
    return {
        "total": sum(p.numel() for p in ps),
        "trainable": sum(p.numel() for p in ps if p.requires_grad),
        "bytes": sum(t.numel() * t.element_size() for t in every),
    }


# %% wrong="counts buffers module by module" says=["a buffer that two modules hold is counted for each"]
from fnmatch import fnmatchcase


def freeze_and_count(model, patterns):
    named = list(model.named_parameters(remove_duplicate=False))
    hits = []
    for pattern in patterns:
        found = [p for n, p in named if fnmatchcase(n, pattern)]
        if not found:
            raise ValueError(pattern)
        hits += found
    for p in hits:
        p.requires_grad_(False)
    for m in model.modules():
        if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            if m.weight is not None and not m.weight.requires_grad:
                m.eval()
    parameters = list(model.parameters())
    return {
        "total": sum(p.numel() for p in parameters),
        "trainable": sum(p.numel() for p in parameters if p.requires_grad),
        "bytes": sum(
            t.nbytes
            for t in [*parameters, *(b for m in model.modules() for b in m.buffers(recurse=False))]
        ),
    }


# %% wrong="looks for matches among what is left" says=["the first has all of the second's"]
from fnmatch import fnmatchcase


def freeze_and_count(model, patterns):
    named = list(model.named_parameters(remove_duplicate=False))
    hits = []
    for pattern in patterns:
        found = [p for n, p in named if fnmatchcase(n, pattern)]
        if not found:
            raise ValueError(pattern)
        hits += found
        named = [(n, p) for n, p in named if not any(p is q for q in hits)]
    for p in hits:
        p.requires_grad_(False)
    for m in model.modules():
        if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            if m.weight is not None and not m.weight.requires_grad:
                m.eval()
    parameters = list(model.parameters())
    return {
        "total": sum(p.numel() for p in parameters),
        "trainable": sum(p.numel() for p in parameters if p.requires_grad),
        "bytes": sum(t.nbytes for t in [*parameters, *model.buffers()]),
    }


# %% wrong="forgets what was frozen before" says=["those that were frozen before count as frozen, too"]
from fnmatch import fnmatchcase


def freeze_and_count(model, patterns):
    named = list(model.named_parameters(remove_duplicate=False))
    hits = []
    for pattern in patterns:
        found = [p for n, p in named if fnmatchcase(n, pattern)]
        if not found:
            raise ValueError(pattern)
        hits += found
    for p in hits:
        p.requires_grad_(False)
    for m in model.modules():
        if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            if m.weight is not None and not m.weight.requires_grad:
                m.eval()
    parameters = list(model.parameters())
    return {
        "total": sum(p.numel() for p in parameters),
        "trainable": sum(p.numel() for p in parameters)
        - sum(p.numel() for p in {id(p): p for p in hits}.values()),
        "bytes": sum(t.nbytes for t in [*parameters, *model.buffers()]),
    }


# %% wrong="the last part of a name is enough" breaks="a full name that matches any pattern" says=["weight is only the end of names: compare full names"]
from fnmatch import fnmatchcase


def freeze_and_count(model, patterns):
    named = list(model.named_parameters(remove_duplicate=False))
    chosen = []
    for pattern in patterns:
        found = [
            p
            for name, p in named
            if fnmatchcase(name, pattern) or fnmatchcase(name.split(".")[-1], pattern)
        ]
        if not found:
            raise ValueError(f"{pattern} matches nothing")
        chosen += found
    for p in chosen:
        p.requires_grad_(False)
    for module in model.modules():
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            if module.weight is not None and not module.weight.requires_grad:
                module.eval()
    parameters = list(model.parameters())
    return {
        "total": sum(p.numel() for p in parameters),
        "trainable": sum(p.numel() for p in parameters if p.requires_grad),
        "bytes": sum(t.nbytes for t in [*parameters, *model.buffers()]),
    }


# %% wrong="a question mark is no dot" breaks="`?` for exactly one letter" says=["a dot is a letter, too: a ValueError, though each pattern matches"]
import re


def freeze_and_count(model, patterns):
    named = list(model.named_parameters(remove_duplicate=False))
    chosen = []
    for pattern in patterns:
        found = [
            p
            for name, p in named
            if re.fullmatch(re.escape(pattern).replace(r"\*", ".*").replace(r"\?", "[^.]"), name)
        ]
        if not found:
            raise ValueError(f"{pattern} matches nothing")
        chosen += found
    for p in chosen:
        p.requires_grad_(False)
    for module in model.modules():
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            if module.weight is not None and not module.weight.requires_grad:
                module.eval()
    parameters = list(model.parameters())
    return {
        "total": sum(p.numel() for p in parameters),
        "trainable": sum(p.numel() for p in parameters if p.requires_grad),
        "bytes": sum(t.nbytes for t in [*parameters, *model.buffers()]),
    }


# %% wrong="group norms as well" breaks="The mode of everything else stays" says=["in eval mode, and should not be: group"]
from fnmatch import fnmatchcase


def freeze_and_count(model, patterns):
    named = list(model.named_parameters(remove_duplicate=False))
    chosen = []
    for pattern in patterns:
        found = [p for name, p in named if fnmatchcase(name, pattern)]
        if not found:
            raise ValueError(f"{pattern} matches nothing")
        chosen += found
    for p in chosen:
        p.requires_grad_(False)
    for module in model.modules():
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.GroupNorm)):
            if module.weight is not None and not module.weight.requires_grad:
                module.eval()
    parameters = list(model.parameters())
    return {
        "total": sum(p.numel() for p in parameters),
        "trainable": sum(p.numel() for p in parameters if p.requires_grad),
        "bytes": sum(t.nbytes for t in [*parameters, *model.buffers()]),
    }


# %% wrong="norms with running statistics alone" breaks="is put into eval mode" says=["not in eval mode: batchwise"]
from fnmatch import fnmatchcase


def freeze_and_count(model, patterns):
    named = list(model.named_parameters(remove_duplicate=False))
    chosen = []
    for pattern in patterns:
        found = [p for name, p in named if fnmatchcase(name, pattern)]
        if not found:
            raise ValueError(f"{pattern} matches nothing")
        chosen += found
    for p in chosen:
        p.requires_grad_(False)
    for module in model.modules():
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            if (
                module.track_running_stats
                and module.weight is not None
                and not module.weight.requires_grad
            ):
                module.eval()
    parameters = list(model.parameters())
    return {
        "total": sum(p.numel() for p in parameters),
        "trainable": sum(p.numel() for p in parameters if p.requires_grad),
        "bytes": sum(t.nbytes for t in [*parameters, *model.buffers()]),
    }


# %% wrong="buffers' names count as matches" breaks="A pattern that matches no parameter is a `ValueError`" says=["is a buffer, not a parameter"]
from fnmatch import fnmatchcase


def freeze_and_count(model: nn.Module, patterns: list[str]) -> dict[str, int]:
    named = list(model.named_parameters(remove_duplicate=False))
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name, _ in [*named, *model.named_buffers()]):
            raise ValueError(f"nothing matches {pattern}")
    for name, p in named:
        if any(fnmatchcase(name, pattern) for pattern in patterns):
            p.requires_grad_(False)
    for module in model.modules():
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            if module.weight is not None and not module.weight.requires_grad:
                module.eval()
    return {
        "total": sum(p.numel() for p in model.parameters()),
        "trainable": sum(p.numel() for p in model.parameters() if p.requires_grad),
        "bytes": sum(t.nbytes for t in [*model.parameters(), *model.buffers()]),
    }


# %% wrong="old norms into eval mode before the error" breaks="nothing has been changed" says=["not even the mode of a norm that was frozen before"]
from fnmatch import fnmatchcase


def freeze_and_count(model: nn.Module, patterns: list[str]) -> dict[str, int]:
    named = list(model.named_parameters(remove_duplicate=False))
    for module in model.modules():
        if (
            isinstance(module, nn.BatchNorm2d)
            and module.weight is not None
            and not module.weight.requires_grad
        ):
            module.eval()
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name, _ in named):
            raise ValueError(f"nothing matches {pattern}")
    for name, p in named:
        if any(fnmatchcase(name, pattern) for pattern in patterns):
            p.requires_grad_(False)
    for module in model.modules():
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            if module.weight is not None and not module.weight.requires_grad:
                module.eval()
    return {
        "total": sum(p.numel() for p in model.parameters()),
        "trainable": sum(p.numel() for p in model.parameters() if p.requires_grad),
        "bytes": sum(t.nbytes for t in [*model.parameters(), *model.buffers()]),
    }


# %% wrong="resets the statistics of frozen norms" says=["values of the model were changed"]
from fnmatch import fnmatchcase


def freeze_and_count(model: nn.Module, patterns: list[str]) -> dict[str, int]:
    named = list(model.named_parameters(remove_duplicate=False))
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name, _ in named):
            raise ValueError(f"nothing matches {pattern}")
    for name, p in named:
        if any(fnmatchcase(name, pattern) for pattern in patterns):
            p.requires_grad_(False)
    for module in model.modules():
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            if module.weight is not None and not module.weight.requires_grad:
                module.eval()
                module.reset_running_stats()
    return {
        "total": sum(p.numel() for p in model.parameters()),
        "trainable": sum(p.numel() for p in model.parameters() if p.requires_grad),
        "bytes": sum(t.nbytes for t in [*model.parameters(), *model.buffers()]),
    }


# %% wrong="lets a pattern pass that ends in a dot" breaks="A pattern that matches no parameter is a `ValueError`" says=["a pattern matches nothing"]
from fnmatch import fnmatchcase


def freeze_and_count(model: nn.Module, patterns: list[str]) -> dict[str, int]:
    named = list(model.named_parameters(remove_duplicate=False))
    for pattern in patterns:
        if pattern.endswith("."):
            continue
        if not any(fnmatchcase(name, pattern) for name, _ in named):
            raise ValueError(f"nothing matches {pattern}")
    for name, p in named:
        if any(fnmatchcase(name, pattern) for pattern in patterns):
            p.requires_grad_(False)
    for module in model.modules():
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            if module.weight is not None and not module.weight.requires_grad:
                module.eval()
    return {
        "total": sum(p.numel() for p in model.parameters()),
        "trainable": sum(p.numel() for p in model.parameters() if p.requires_grad),
        "bytes": sum(t.nbytes for t in [*model.parameters(), *model.buffers()]),
    }


# %% wrong="lets an empty pattern pass" breaks="A pattern that matches no parameter is a `ValueError`" says=["a pattern matches nothing"]
from fnmatch import fnmatchcase


def freeze_and_count(model: nn.Module, patterns: list[str]) -> dict[str, int]:
    named = list(model.named_parameters(remove_duplicate=False))
    for pattern in filter(None, patterns):
        if not any(fnmatchcase(name, pattern) for name, _ in named):
            raise ValueError(f"nothing matches {pattern}")
    for name, p in named:
        if any(fnmatchcase(name, pattern) for pattern in patterns):
            p.requires_grad_(False)
    for module in model.modules():
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            if module.weight is not None and not module.weight.requires_grad:
                module.eval()
    return {
        "total": sum(p.numel() for p in model.parameters()),
        "trainable": sum(p.numel() for p in model.parameters() if p.requires_grad),
        "bytes": sum(t.nbytes for t in [*model.parameters(), *model.buffers()]),
    }


# %% wrong="refuses a pattern that comes twice" breaks="it may be frozen already" says=["one pattern twice"]
from fnmatch import fnmatchcase


def freeze_and_count(model: nn.Module, patterns: list[str]) -> dict[str, int]:
    named = list(model.named_parameters(remove_duplicate=False))
    if len(set(patterns)) < len(patterns):
        raise ValueError("twice")
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name, _ in named):
            raise ValueError(f"nothing matches {pattern}")
    for name, p in named:
        if any(fnmatchcase(name, pattern) for pattern in patterns):
            p.requires_grad_(False)
    for module in model.modules():
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            if module.weight is not None and not module.weight.requires_grad:
                module.eval()
    return {
        "total": sum(p.numel() for p in model.parameters()),
        "trainable": sum(p.numel() for p in model.parameters() if p.requires_grad),
        "bytes": sum(t.nbytes for t in [*model.parameters(), *model.buffers()]),
    }


# %% wrong="freezes what is in a module whose name matches" breaks="a full name that matches any pattern" says=["table is a module"]
from fnmatch import fnmatchcase


def freeze_and_count(model, patterns):
    named = list(model.named_parameters(remove_duplicate=False))
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name, _ in named):
            raise ValueError(f"{pattern!r} matches nothing")
    for name, parameter in named:
        if any(
            fnmatchcase(name, pattern) or fnmatchcase(name.rpartition(".")[0], pattern)
            for pattern in patterns
        ):
            parameter.requires_grad_(False)
    for module in model.modules():
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            if module.weight is not None and not module.weight.requires_grad:
                module.eval()
    parameters = list(model.parameters())
    return {
        "total": sum(p.numel() for p in parameters),
        "trainable": sum(p.numel() for p in parameters if p.requires_grad),
        "bytes": sum(t.nbytes for t in [*parameters, *model.buffers()]),
    }


# %% wrong="four bytes for every number of a parameter" breaks="the memory of parameters *and* buffers" says=["not every parameter's number has four bytes"]
from fnmatch import fnmatchcase


def freeze_and_count(model, patterns):
    named = list(model.named_parameters(remove_duplicate=False))
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name, _ in named):
            raise ValueError(f"{pattern} matches no parameter")
    for name, parameter in named:
        if any(fnmatchcase(name, pattern) for pattern in patterns):
            parameter.requires_grad_(False)
    for module in model.modules():
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            if module.weight is not None and not module.weight.requires_grad:
                module.eval()
    parameters = list(model.parameters())
    return {
        "total": sum(p.numel() for p in parameters),
        "trainable": sum(p.numel() for p in parameters if p.requires_grad),
        "bytes": sum(t.numel() * 4 for t in parameters) + sum(b.nbytes for b in model.buffers()),
    }


# %% wrong="a regular expression made of the star and the question mark alone" breaks="Python's `fnmatch.fnmatchcase(name, pattern)` compares" says=["fnmatchcase reads brackets", "features.0.conv.weight"]
import re


def translate(pattern: str) -> re.Pattern:
    """A shell's pattern as a regular expression."""
    return re.compile(pattern.replace(".", r"\.").replace("*", ".*").replace("?", "."))


def freeze_and_count(model: nn.Module, patterns: list[str]) -> dict[str, int]:
    named = list(model.named_parameters(remove_duplicate=False))
    chosen = []
    for pattern in patterns:
        regex = translate(pattern)
        hits = [p for name, p in named if regex.fullmatch(name)]
        if not hits:
            raise ValueError(f"{pattern!r} matches no parameter")
        chosen += hits
    for p in chosen:
        p.requires_grad_(False)
    for m in model.modules():
        if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            if m.weight is not None and not m.weight.requires_grad:
                m.eval()
    tensors = [*model.parameters(), *model.buffers()]
    return {
        "total": sum(p.numel() for p in model.parameters()),
        "trainable": sum(p.numel() for p in model.parameters() if p.requires_grad),
        "bytes": sum(t.nbytes for t in tensors),
    }


# %% wrong="walks the modules, each under its first name alone" breaks="A shared parameter has several names, and each counts" says=["a module in two places"]
from fnmatch import fnmatchcase


def freeze_and_count(model: nn.Module, patterns: list[str]) -> dict[str, int]:
    named = []
    for path, module in model.named_modules():
        for name, p in module.named_parameters(recurse=False, remove_duplicate=False):
            named.append((f"{path}.{name}" if path else name, p))
    unused = [q for q in patterns if not any(fnmatchcase(name, q) for name, _ in named)]
    if unused:
        raise ValueError(f"match nothing: {unused}")
    for name, p in named:
        if any(fnmatchcase(name, pattern) for pattern in patterns):
            p.requires_grad_(False)
    for m in model.modules():
        if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            if m.weight is not None and not m.weight.requires_grad:
                m.eval()
    return {
        "total": sum(p.numel() for p in model.parameters()),
        "trainable": sum(p.numel() for p in model.parameters() if p.requires_grad),
        "bytes": sum(t.nbytes for t in [*model.parameters(), *model.buffers()]),
    }


# %% right="a matcher that calls itself, with stars, question marks and brackets"
from functools import cache


@cache
def _fits(name, pattern):
    if not pattern:
        return not name
    first, rest = pattern[0], pattern[1:]
    if first == "[" and "]" in pattern[2:]:
        inside, _, rest = rest.partition("]")
        listed = inside.removeprefix("!")
        held = bool(name) and (name[0] in listed) == (inside == listed)
        return held and _fits(name[1:], rest)
    if first == "*":
        return _fits(name, rest) or bool(name) and _fits(name[1:], pattern)
    return bool(name) and first in ("?", name[0]) and _fits(name[1:], rest)


def freeze_and_count(model: nn.Module, patterns: list[str]) -> dict[str, int]:
    named = list(model.named_parameters(remove_duplicate=False))
    table = [[_fits(name, pattern) for name, _ in named] for pattern in patterns]
    if not all(map(any, table)):
        raise ValueError("there is a pattern without a parameter")
    for row in table:
        for hit, (_, p) in zip(row, named, strict=True):
            if hit:
                p.requires_grad_(False)
    norms = [m for m in model.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)]
    for norm in norms:
        if norm.weight is not None and not norm.weight.requires_grad:
            norm.training = False
    counted = dict.fromkeys(model.parameters())
    learning = filter(lambda p: p.requires_grad, counted)
    return {
        "total": sum(map(torch.numel, counted)),
        "trainable": sum(map(torch.numel, learning)),
        "bytes": sum(t.nbytes for t in dict.fromkeys([*counted, *model.buffers()])),
    }
