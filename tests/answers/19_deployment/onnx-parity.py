# %% [markdown]
# Rules:
#
# - "export what the model is *in eval mode*"
# - "input named `picture`"
# - "any number of rows"
# - "one file"
# - "over all outputs"
# - "the largest absolute difference"
# - "those of a float64 copy of it"
# - "between ONNX Runtime's outputs and the model's"
# - "Leave the model as it is: weights, dtype"
# - "the mode of each part"
# - "whatever its `forward` calls it"
# - "to the file `path`"
#
# Admits:
#
# - "over all outputs": one row, three outputs, one part trains
# - "(also when `x` has a single row)": one row
# - "some of its parts may be in training mode": partly in training
# - "any number of rows": seven rows
# - "whatever its `forward` calls it": one row, three outputs, one part trains

# %% wrong="forgets eval mode" breaks="export what the model is *in eval mode*" says=["partly in training", "compared with a model in training mode"]
def onnx_parity(model, x, path):
    free = ({0: torch.export.Dim.DYNAMIC},)
    torch.onnx.export(
        model, (x,), path, input_names=["picture"], dynamic_shapes=free, external_data=False
    )
    with torch.no_grad():
        outputs = model(x)
        exact = copy.deepcopy(model).double()(x.double())
    found = [torch.from_numpy(one) for one in runner(path)(x)]
    gap = lambda others: max((a - b).abs().max().item() for a, b in zip(outputs, others))
    return gap(found), gap(exact)


# %% wrong="a fixed batch" breaks="any number of rows" says=["is its first dimension free?"]
def onnx_parity(model, x, path):
    plain = copy.deepcopy(model).eval()
    torch.onnx.export(plain, (x,), path, input_names=["picture"], external_data=False)
    with torch.no_grad():
        outputs = plain(x)
        found = [torch.from_numpy(one) for one in runner(path)(x)]
        exact = plain.double()(x.double())
    gap = lambda others: max((a - b).abs().max().item() for a, b in zip(outputs, others))
    return gap(found), gap(exact)


# %% wrong="leaves the model in eval mode and float64" breaks="Leave the model as it is: weights, dtype" says=["weights or dtypes are changed"]
def onnx_parity(model, x, path):
    parts = [part.training for part in model.modules()]
    model.eval()
    free = ({0: torch.export.Dim.DYNAMIC},)
    torch.onnx.export(
        model, (x,), path, input_names=["picture"], dynamic_shapes=free, external_data=False
    )
    with torch.no_grad():
        outputs = model(x)
        found = [torch.from_numpy(one) for one in runner(path)(x)]
        exact = model.double()(x.double())
    gap = lambda others: max((a - b).abs().max().item() for a, b in zip(outputs, others))
    for part, mode in zip(model.modules(), parts):
        part.training = mode
    return gap(found), gap(exact)


# %% wrong="train() puts all parts into training" breaks="the mode of each part" says=["is left in another mode"]
def onnx_parity(model, x, path):
    was = model.training
    model.eval()
    free = ({0: torch.export.Dim.DYNAMIC},)
    torch.onnx.export(
        model, (x,), path, input_names=["picture"], dynamic_shapes=free, external_data=False
    )
    with torch.no_grad():
        outputs = model(x)
        found = [torch.from_numpy(one) for one in runner(path)(x)]
        exact = copy.deepcopy(model).double()(x.double())
    gap = lambda others: max((a - b).abs().max().item() for a, b in zip(outputs, others))
    model.train(was)
    return gap(found), gap(exact)


# %% wrong="the first output alone" breaks="over all outputs" says=["that is of the first output alone"]
def onnx_parity(model, x, path):
    plain = copy.deepcopy(model).eval()
    free = ({0: torch.export.Dim.DYNAMIC},)
    torch.onnx.export(
        plain, (x,), path, input_names=["picture"], dynamic_shapes=free, external_data=False
    )
    with torch.no_grad():
        output = plain(x)[0]
        found = torch.from_numpy(runner(path)(x)[0])
        exact = plain.double()(x.double())[0]
    return (output - found).abs().max().item(), (output - exact).abs().max().item()


# %% wrong="the same difference twice" breaks="those of a float64 copy of it" says=["compare the model with a float64 copy"]
def onnx_parity(model, x, path):
    plain = copy.deepcopy(model).eval()
    free = ({0: torch.export.Dim.DYNAMIC},)
    torch.onnx.export(
        plain, (x,), path, input_names=["picture"], dynamic_shapes=free, external_data=False
    )
    with torch.no_grad():
        outputs = plain(x)
    gap = max(np.abs(a.numpy() - b).max() for a, b in zip(outputs, runner(path)(x)))
    return float(gap), float(gap)


# %% wrong="float64 is compared with the runtime" breaks="between ONNX Runtime's outputs and the model's" says=["own_error: that is a mean"]
def onnx_parity(model, x, path):
    plain = copy.deepcopy(model).eval()
    free = ({0: torch.export.Dim.DYNAMIC},)
    torch.onnx.export(
        plain, (x,), path, input_names=["picture"], dynamic_shapes=free, external_data=False
    )
    with torch.no_grad():
        outputs = plain(x)
        found = [torch.from_numpy(one) for one in runner(path)(x)]
        exact = plain.double()(x.double())
    gap = lambda one, other: max((a - b).abs().mean().item() for a, b in zip(one, other))
    return max((a - b).abs().max().item() for a, b in zip(outputs, found)), gap(outputs, exact)


# %% wrong="weights beside the file, another name" breaks="one file" says=["more than the file came"]
def onnx_parity(model, x, path):
    plain = copy.deepcopy(model).eval()
    free = ({0: torch.export.Dim.DYNAMIC},)
    torch.onnx.export(plain, (x,), path, dynamic_shapes=free, external_data=True)
    return 0.0, 0.0


# %% right="modes noted and put back, NumPy throughout"
def onnx_parity(model, x, path):
    modes = {part: part.training for part in model.modules()}
    model.eval()
    try:
        batch = torch.export.Dim("batch", min=1, max=4096)
        torch.onnx.export(
            model, (x,), path, input_names=["picture"], dynamic_shapes=[{0: batch}],
            external_data=False, verbose=False,
        )  # fmt: skip
        with torch.inference_mode():
            outputs = [one.numpy() for one in model(x)]
            wide = copy.deepcopy(model).to(torch.float64)
            exact = [one.numpy() for one in wide(x.to(torch.float64))]
    finally:
        for part, mode in modes.items():
            part.training = mode
    found = runner(path)(x.numpy())
    difference = max(np.abs(a - b).max() for a, b in zip(outputs, found))
    return float(difference), float(max(np.abs(a - b).max() for a, b in zip(outputs, exact)))


# %% wrong="the file's own error" says=["that is between the file and the float64 copy"]
def onnx_parity(model: nn.Module, x: torch.Tensor, path: str) -> tuple[float, float]:
    plain = copy.deepcopy(model).eval()
    free = ({0: torch.export.Dim.DYNAMIC},)
    torch.onnx.export(
        plain, (x,), path, input_names=["picture"], dynamic_shapes=free, external_data=False
    )
    with torch.no_grad():
        outputs = plain(x)
        exact = copy.deepcopy(plain).double()(x.double())
    found = [torch.from_numpy(array) for array in runner(path)(x)]
    apart = [
        max((one - other).abs().max().item() for one, other in zip(outputs, others, strict=True))
        for others in (found, exact)
    ]
    own = max((a.double() - b).abs().max().item() for a, b in zip(found, exact, strict=True))
    return apart[0], own


# %% wrong="an input of another name" breaks="input named `picture`" says=["not ['picture']"]
def onnx_parity(model: nn.Module, x: torch.Tensor, path: str) -> tuple[float, float]:
    """Export ``model`` in eval mode; the largest difference, and PyTorch's own error.

    ``x``: (n, 6), float32. Writes one ONNX file that takes any number of rows.
    """
    plain = copy.deepcopy(model).eval()
    free = ({0: torch.export.Dim.DYNAMIC},)
    torch.onnx.export(
        plain, (x,), path, input_names=["x"], dynamic_shapes=free, external_data=False
    )
    with torch.no_grad():
        outputs = plain(x)
        exact = copy.deepcopy(plain).double()(x.double())
    found = [torch.from_numpy(array) for array in runner(path)(x)]
    apart = [
        max((one - other).abs().max().item() for one, other in zip(outputs, others, strict=True))
        for others in (found, exact)
    ]
    return apart[0], apart[1]


# %% wrong="a relative difference" breaks="the largest absolute difference" says=["that is a share of the outputs"]
def onnx_parity(model: nn.Module, x: torch.Tensor, path: str) -> tuple[float, float]:
    """Export ``model`` in eval mode; the largest difference, and PyTorch's own error.

    ``x``: (n, 6), float32. Writes one ONNX file that takes any number of rows.
    """
    plain = copy.deepcopy(model).eval()
    free = ({0: torch.export.Dim.DYNAMIC},)
    torch.onnx.export(
        plain, (x,), path, input_names=["picture"], dynamic_shapes=free, external_data=False
    )
    with torch.no_grad():
        outputs = plain(x)
        exact = copy.deepcopy(plain).double()(x.double())
    found = [torch.from_numpy(array) for array in runner(path)(x)]
    apart = [
        max(
            ((one - other).abs() / other.abs()).max().item()
            for one, other in zip(outputs, others, strict=True)
        )
        for others in (found, exact)
    ]
    return apart[0], apart[1]


# %% wrong="freezes the model" says=["requires_grad"]
def onnx_parity(model: nn.Module, x: torch.Tensor, path: str) -> tuple[float, float]:
    """Export ``model`` in eval mode; the largest difference, and PyTorch's own error.

    ``x``: (n, 6), float32. Writes one ONNX file that takes any number of rows.
    """
    model.requires_grad_(False)
    plain = copy.deepcopy(model).eval()
    free = ({0: torch.export.Dim.DYNAMIC},)
    torch.onnx.export(
        plain, (x,), path, input_names=["picture"], dynamic_shapes=free, external_data=False
    )
    with torch.no_grad():
        outputs = plain(x)
        exact = copy.deepcopy(plain).double()(x.double())
    found = [torch.from_numpy(array) for array in runner(path)(x)]
    apart = [
        max((one - other).abs().max().item() for one, other in zip(outputs, others, strict=True))
        for others in (found, exact)
    ]
    return apart[0], apart[1]


# %% wrong="the sum of both outputs' largest" breaks="over all outputs" says=["that is the sum of the outputs' largest"]
def onnx_parity(model, x, path):
    single = copy.deepcopy(model).eval()
    exact = copy.deepcopy(single).double()
    example = torch.cat([x, x])
    with quiet():
        torch.onnx.export(
            single,
            (example,),
            path,
            input_names=["picture"],
            dynamic_shapes=({0: torch.export.Dim.DYNAMIC},),
            external_data=False,
        )
    with torch.no_grad():
        here = single(x)
        truth = exact(x.double())
    there = runner(path)(x)
    difference = sum(np.abs(a - b.numpy()).max() for a, b in zip(there, here, strict=True))
    own = sum((a - b).abs().max().item() for a, b in zip(truth, here, strict=True))
    return float(difference), float(own)


# %% wrong="returns tensors" says=["difference is a Tensor, not a float"]
def onnx_parity(model, x, path):
    single = copy.deepcopy(model).eval()
    exact = copy.deepcopy(single).double()
    example = torch.cat([x, x])
    with quiet():
        torch.onnx.export(
            single,
            (example,),
            path,
            input_names=["picture"],
            dynamic_shapes=({0: torch.export.Dim.DYNAMIC},),
            external_data=False,
        )
    with torch.no_grad():
        here = single(x)
        truth = exact(x.double())
    there = runner(path)(x)
    difference = max(np.abs(a - b.numpy()).max() for a, b in zip(there, here, strict=True))
    own = max((a - b).abs().max().item() for a, b in zip(truth, here, strict=True))
    return torch.tensor(difference), torch.tensor(own)


# %% wrong="a mean difference" breaks="the largest absolute difference" says=["that is a mean"]
def onnx_parity(model, x, path):
    single = copy.deepcopy(model).eval()
    exact = copy.deepcopy(single).double()
    example = torch.cat([x, x])
    with quiet():
        torch.onnx.export(
            single,
            (example,),
            path,
            input_names=["picture"],
            dynamic_shapes=({0: torch.export.Dim.DYNAMIC},),
            external_data=False,
        )
    with torch.no_grad():
        here = single(x)
        truth = exact(x.double())
    there = runner(path)(x)
    difference = max(np.abs(a - b.numpy()).mean() for a, b in zip(there, here, strict=True))
    own = max((a - b).abs().max().item() for a, b in zip(truth, here, strict=True))
    return float(difference), float(own)


# %% wrong="the float64 outputs are rounded" says=["rounded to float32"]
def onnx_parity(model, x, path):
    single = copy.deepcopy(model).eval()
    exact = copy.deepcopy(single).double()
    example = torch.cat([x, x])
    with quiet():
        torch.onnx.export(
            single,
            (example,),
            path,
            input_names=["picture"],
            dynamic_shapes=({0: torch.export.Dim.DYNAMIC},),
            external_data=False,
        )
    with torch.no_grad():
        here = single(x)
        truth = exact(x.double())
    there = runner(path)(x)
    difference = max(np.abs(a - b.numpy()).max() for a, b in zip(there, here, strict=True))
    own = max((a.float() - b).abs().max().item() for a, b in zip(truth, here, strict=True))
    return float(difference), float(own)


# %% wrong="the file against float64" breaks="between ONNX Runtime's outputs and the model's" says=["the file against the float64 copy"]
def onnx_parity(model, x, path):
    single = copy.deepcopy(model).eval()
    exact = copy.deepcopy(single).double()
    example = torch.cat([x, x])
    with quiet():
        torch.onnx.export(
            single,
            (example,),
            path,
            input_names=["picture"],
            dynamic_shapes=({0: torch.export.Dim.DYNAMIC},),
            external_data=False,
        )
    with torch.no_grad():
        here = single(x)
        truth = exact(x.double())
    there = runner(path)(x)
    difference = max(np.abs(a - b.numpy()).max() for a, b in zip(there, truth, strict=True))
    own = max((a - b).abs().max().item() for a, b in zip(truth, here, strict=True))
    return float(difference), float(own)


# %% wrong="a fixed number of rows, other than x's" says=["the file takes a fixed number of rows"]
def onnx_parity(model, x, path):
    single = copy.deepcopy(model).eval()
    exact = copy.deepcopy(single).double()
    example = torch.cat([x, x])
    with quiet():
        torch.onnx.export(
            single,
            (example,),
            path,
            input_names=["picture"],
            external_data=False,
        )
    with torch.no_grad():
        here = single(x)
        truth = exact(x.double())
    there = runner(path)(x)
    difference = max(np.abs(a - b.numpy()).max() for a, b in zip(there, here, strict=True))
    own = max((a - b).abs().max().item() for a, b in zip(truth, here, strict=True))
    return float(difference), float(own)


# %% wrong="eval where the model itself isn't" breaks="export what the model is *in eval mode*" says=["here a part of it alone is in training"]
def onnx_parity(model, x, path):
    frozen = copy.deepcopy(model)
    if frozen.training:
        frozen.eval()
    example = torch.cat([x, x])
    free = ({0: torch.export.Dim.DYNAMIC},)
    torch.onnx.export(
        frozen, (example,), path, input_names=["picture"], dynamic_shapes=free, external_data=False
    )
    exact_model = copy.deepcopy(frozen).double()
    with torch.no_grad():
        here = frozen(x)
        exact = exact_model(x.double())
    there = runner(path)(x)
    difference = max(float((a - torch.from_numpy(b)).abs().max()) for a, b in zip(here, there))
    own = max(float((a - b).abs().max()) for a, b in zip(here, exact))
    return difference, own


# %% wrong="the float64 copy keeps the mode of the model" breaks="those of a float64 copy of it" says=["own_error is far more than rounding", "is the float64 copy in eval mode"]
def onnx_parity(model, x, path):
    plain = copy.deepcopy(model).eval()
    free = ({0: torch.export.Dim.DYNAMIC},)
    torch.onnx.export(
        plain, (x,), path, input_names=["picture"], dynamic_shapes=free, external_data=False
    )
    double = copy.deepcopy(model).double()
    with torch.no_grad():
        outputs, exact = plain(x), double(x.double())
    found = [torch.from_numpy(array) for array in runner(path)(x)]
    gap = lambda others: max((a - b).abs().max().item() for a, b in zip(outputs, others))
    return gap(found), gap(exact)


# %% wrong="two outputs" breaks="over all outputs" says=["that is of the first two outputs alone"]
def onnx_parity(model, x, path):
    plain = copy.deepcopy(model).eval()
    with quiet(), torch.no_grad():
        torch.onnx.export(
            plain,
            (torch.cat([x, x]),),
            path,
            input_names=["picture"],
            dynamic_shapes=({0: torch.export.Dim.DYNAMIC},),
            external_data=False,
        )
        mine = plain(x)
        exact = copy.deepcopy(plain).double()(x.double())
    theirs = runner(path)(x)
    difference = max((torch.as_tensor(a) - b).abs().max().item() for a, b in zip(theirs[:2], mine))
    own_error = max((a - b).abs().max().item() for a, b in zip(exact[:2], mine))
    return difference, own_error


# %% wrong="double and back" breaks="Leave the model as it is: weights, dtype" says=["(a buffer is float64)"]
def onnx_parity(model, x, path):
    modes = [(m, m.training) for m in model.modules()]
    model.eval()
    try:
        with quiet(), torch.no_grad():
            torch.onnx.export(
                model,
                (torch.cat([x, x]),),
                path,
                input_names=["picture"],
                dynamic_shapes=({0: torch.export.Dim.DYNAMIC},),
                external_data=False,
            )
            mine = model(x)
            exact = model.double()(x.double())
            model.float()
    finally:
        for m, mode in modes:
            m.training = mode
    theirs = runner(path)(x)
    difference = max((torch.as_tensor(a) - b).abs().max().item() for a, b in zip(theirs, mine))
    own_error = max((a - b).abs().max().item() for a, b in zip(exact, mine))
    return difference, own_error


# %% wrong="restored without finally" breaks="the mode of each part" says=["restore them in a `finally`"]
def onnx_parity(model, x, path):
    modes = [(m, m.training) for m in model.modules()]
    model.eval()
    if True:
        with quiet(), torch.no_grad():
            torch.onnx.export(
                model,
                (torch.cat([x, x]),),
                path,
                input_names=["picture"],
                dynamic_shapes=({0: torch.export.Dim.DYNAMIC},),
                external_data=False,
            )
            mine = model(x)
            exact = copy.deepcopy(model).double()(x.double())
    if True:
        for m, mode in modes:
            m.training = mode
    theirs = runner(path)(x)
    difference = max((torch.as_tensor(a) - b).abs().max().item() for a, b in zip(theirs, mine))
    own_error = max((a - b).abs().max().item() for a, b in zip(exact, mine))
    return difference, own_error


# %% wrong="keeps a file that is there" says=["the older file at `path` is still there"]
def onnx_parity(model, x, path):
    plain = copy.deepcopy(model).eval()
    example = x if len(x) > 1 else torch.cat([x, x])
    if not Path(path).exists():
        free = ({0: torch.export.Dim.DYNAMIC},)
        torch.onnx.export(
            plain,
            (example,),
            path,
            input_names=["picture"],
            dynamic_shapes=free,
            external_data=False,
        )
    with torch.no_grad():
        mine = plain(x)
        exact = copy.deepcopy(plain).double()(x.double())
    theirs = [torch.from_numpy(one) for one in runner(path)(x)]
    difference = max((a - b).abs().max().item() for a, b in zip(theirs, mine, strict=True))
    own_error = max((a - b).abs().max().item() for a, b in zip(exact, mine, strict=True))
    return difference, own_error


# %% wrong="64 rows at most" breaks="any number of rows" says=["partly in training: any number of rows is asked for", "70 not in range"]
def onnx_parity(model, x, path):
    plain = copy.deepcopy(model).eval()
    example = x if len(x) > 1 else torch.cat([x, x])
    with quiet():
        torch.onnx.export(
            plain,
            (example,),
            path,
            input_names=["picture"],
            dynamic_shapes=({0: torch.export.Dim("batch", max=64)},),
            external_data=False,
        )
    with torch.no_grad():
        mine = plain(x)
        exact = copy.deepcopy(plain).double()(x.double())
    theirs = [torch.from_numpy(one) for one in runner(path)(x)]
    difference = max((a - b).abs().max().item() for a, b in zip(theirs, mine, strict=True))
    own_error = max((a - b).abs().max().item() for a, b in zip(exact, mine, strict=True))
    return difference, own_error


# %% wrong="float64 for everybody, from now on" says=["default dtype or its recording of gradients is left switched"]
def onnx_parity(model, x, path):
    plain = copy.deepcopy(model).eval()
    example = x if len(x) > 1 else torch.cat([x, x])
    with quiet():
        torch.onnx.export(
            plain,
            (example,),
            path,
            input_names=["picture"],
            dynamic_shapes=({0: torch.export.Dim.DYNAMIC},),
            external_data=False,
        )
    with torch.no_grad():
        mine = plain(x)
        torch.set_default_dtype(torch.float64)
        exact = copy.deepcopy(plain).double()(x.double())
    theirs = [torch.from_numpy(one) for one in runner(path)(x)]
    difference = max((a - b).abs().max().item() for a, b in zip(theirs, mine, strict=True))
    own_error = max((a - b).abs().max().item() for a, b in zip(exact, mine, strict=True))
    return difference, own_error


# %% wrong="takes away the gradients of the step before" says=["requires_grad or .grad of the model's weights is changed"]
def onnx_parity(model, x, path):
    model.zero_grad()
    plain = copy.deepcopy(model).eval()
    example = x if len(x) > 1 else torch.cat([x, x])
    with quiet():
        torch.onnx.export(
            plain,
            (example,),
            path,
            input_names=["picture"],
            dynamic_shapes=({0: torch.export.Dim.DYNAMIC},),
            external_data=False,
        )
    with torch.no_grad():
        mine = plain(x)
        exact = copy.deepcopy(plain).double()(x.double())
    theirs = [torch.from_numpy(one) for one in runner(path)(x)]
    difference = max((a - b).abs().max().item() for a, b in zip(theirs, mine, strict=True))
    own_error = max((a - b).abs().max().item() for a, b in zip(exact, mine, strict=True))
    return difference, own_error


# %% wrong="recording is switched off for good" says=["default dtype or its recording of gradients is left switched"]
def onnx_parity(model, x, path):
    plain = copy.deepcopy(model).eval()
    example = x if len(x) > 1 else torch.cat([x, x])
    with quiet():
        torch.onnx.export(
            plain,
            (example,),
            path,
            input_names=["picture"],
            dynamic_shapes=({0: torch.export.Dim.DYNAMIC},),
            external_data=False,
        )
    torch.set_grad_enabled(False)
    mine = plain(x)
    exact = copy.deepcopy(plain).double()(x.double())
    theirs = [torch.from_numpy(one) for one in runner(path)(x)]
    difference = max((a - b).abs().max().item() for a, b in zip(theirs, mine, strict=True))
    own_error = max((a - b).abs().max().item() for a, b in zip(exact, mine, strict=True))
    return difference, own_error


# %% wrong="on the first row alone" says=["difference: that is of the first row alone; take the largest over all rows of x"]
def onnx_parity(model, x, path):
    twin = copy.deepcopy(model).eval()
    rows = x if len(x) > 1 else torch.cat([x, x])
    torch.onnx.export(
        twin,
        (rows,),
        path,
        input_names=["picture"],
        external_data=False,
        dynamic_shapes=({0: torch.export.Dim.DYNAMIC},),
    )
    with torch.no_grad():
        mine = [m[:1] for m in twin(x)]
        exact = [e[:1] for e in copy.deepcopy(twin).double()(x.double())]
    theirs = [t[:1] for t in runner(path)(x)]
    difference = max(float(np.abs(t - m.numpy()).max()) for t, m in zip(theirs, mine))
    own_error = max(float((e - m).abs().max()) for e, m in zip(exact, mine))
    return difference, own_error


# %% wrong="the copy stays in float32" says=["own_error: the same numbers twice: one of the two is in float64"]
def onnx_parity(model, x, path):
    twin = copy.deepcopy(model).eval()
    rows = x if len(x) > 1 else torch.cat([x, x])
    torch.onnx.export(
        twin,
        (rows,),
        path,
        input_names=["picture"],
        external_data=False,
        dynamic_shapes=({0: torch.export.Dim.DYNAMIC},),
    )
    with torch.no_grad():
        mine = twin(x)
        exact = copy.deepcopy(twin)(x)
    theirs = runner(path)(x)
    difference = max(float(np.abs(t - m.numpy()).max()) for t, m in zip(theirs, mine))
    own_error = max(float((e - m).abs().max()) for e, m in zip(exact, mine))
    return difference, own_error


# %% wrong="the sign is kept" breaks="the largest absolute difference" says=["difference: a difference below 0 counts by its size", "or a difference below 0 counts by its size"]
def onnx_parity(model: nn.Module, x: torch.Tensor, path: str) -> tuple[float, float]:
    still = copy.deepcopy(model).eval()
    rows = torch.cat([x, x])
    with quiet():
        torch.onnx.export(
            still,
            (rows,),
            path,
            dynamic_shapes=({0: torch.export.Dim.DYNAMIC},),
            external_data=False,
            input_names=["picture"],
        )
    with torch.no_grad():
        plain = still(x)
        exact = copy.deepcopy(still).double()(x.double())
    theirs = runner(path)(x)
    difference = max(float((a - b.numpy()).max()) for a, b in zip(theirs, plain, strict=True))
    own_error = max((a.double() - b).max().item() for a, b in zip(plain, exact, strict=True))
    return difference, own_error


# %% wrong="a part of two modules gets the later mode" breaks="the mode of each part" says=["also one that two modules share"]
def onnx_parity(model, x, path):
    modes = [(part, part.training) for part in model.modules()]
    model.eval()
    try:
        with quiet():
            torch.onnx.export(
                model,
                (torch.cat([x, x]),),
                path,
                input_names=["picture"],
                dynamic_shapes=({0: torch.export.Dim.DYNAMIC},),
                external_data=False,
            )
        with torch.no_grad():
            plain = model(x)
            exact = copy.deepcopy(model).double()(x.double())
    finally:
        for part, mode in modes:  # parents come before their children
            part.train(mode)
    elsewhere = runner(path)(x)
    difference = max(np.abs(a - b.numpy()).max() for a, b in zip(elsewhere, plain, strict=True))
    own = max((a - b).abs().max().item() for a, b in zip(exact, plain, strict=True))
    return float(difference), own


# %% wrong="modes put back only where they differ" breaks="the mode of each part" says=["partly in training", "also one that two modules share"]
def onnx_parity(model, x, path):
    modes = [(part, part.training) for part in model.modules()]
    model.eval()
    try:
        with quiet():
            torch.onnx.export(
                model,
                (torch.cat([x, x]),),
                path,
                input_names=["picture"],
                dynamic_shapes=({0: torch.export.Dim.DYNAMIC},),
                external_data=False,
            )
        with torch.no_grad():
            plain = model(x)
            exact = copy.deepcopy(model).double()(x.double())
    finally:
        model.train(modes[0][1])
        for part, mode in modes:
            if part.training != mode:
                part.train(mode)
    elsewhere = runner(path)(x)
    difference = max(np.abs(a - b.numpy()).max() for a, b in zip(elsewhere, plain, strict=True))
    own = max((a - b).abs().max().item() for a, b in zip(exact, plain, strict=True))
    return float(difference), own


# %% wrong="takes for granted that forward calls its argument x" breaks="whatever its `forward` calls it" says=["the argument of forward is called `rows` here, not `x`"]
def onnx_parity(model, x, path):
    plain = copy.deepcopy(model).eval()
    example = torch.rand(3, 6, generator=torch.Generator().manual_seed(0))
    torch.onnx.export(
        plain,
        (example,),
        path,
        input_names=["picture"],
        dynamic_shapes={"x": {0: torch.export.Dim.DYNAMIC}},
        external_data=False,
    )
    with torch.no_grad():
        ours = plain(x)
        exact = copy.deepcopy(plain).double()(x.double())
    theirs = [torch.from_numpy(array) for array in runner(path)(x)]
    gap = lambda ones: max((a - b).abs().max().item() for a, b in zip(ones, ours, strict=True))
    return gap(theirs), gap(exact)


# %% wrong="hands the batch over by a name" breaks="whatever its `forward` calls it" says=["the argument of forward is called `rows` here, not `x`"]
def onnx_parity(model, x, path):
    plain = copy.deepcopy(model).eval()
    free = {"x": {0: torch.export.Dim.DYNAMIC}}
    torch.onnx.export(
        plain, kwargs={"x": torch.cat([x, x])}, f=path, input_names=["picture"],
        dynamic_shapes=free, external_data=False,
    )  # fmt: skip
    with torch.no_grad():
        ours = plain(x)
        exact = copy.deepcopy(plain).double()(x.double())
    theirs = [torch.from_numpy(array) for array in runner(path)(x)]
    gap = lambda ones: max((a - b).abs().max().item() for a, b in zip(ones, ours, strict=True))
    return gap(theirs), gap(exact)


# %% wrong="a path without the ending gets one" breaks="to the file `path`" says=["`path` is a file called 'model' here, and the model went to 'model.onnx'"]
def onnx_parity(model, x, path):
    path = Path(path).with_suffix(".onnx")
    plain = copy.deepcopy(model).eval()
    torch.onnx.export(
        plain,
        (torch.cat([x, x])[:2],),
        path,
        input_names=["picture"],
        dynamic_shapes=({0: torch.export.Dim.DYNAMIC},),
        external_data=False,
    )
    with torch.no_grad():
        ours = plain(x)
        exact = copy.deepcopy(plain).double()(x.double())
    theirs = [torch.from_numpy(array) for array in runner(path)(x)]
    gap = lambda ones: max((a - b).abs().max().item() for a, b in zip(ones, ours, strict=True))
    return gap(theirs), gap(exact)
