# %% [markdown]
# Rules:
#
# - "returns one `nn.Conv2d`"
# - "with the same output"
# - "with a bias"
# - "padding 1"
# - "and the groups"
# - "stride, dtype and device"
# - "dtype and device of the block's 3 × 3 convolution"
# - "may have a bias or none"
# - "norms may have `affine=False`"
# - "each has its own `eps`"
# - "The block stays as it is"
# - "input channels are counted anew in each group"
#
# Admits:
#
# - "`skip` may be `None`": two branches
# - "may have a bias or none": stride 2, with biases
# - "`affine=False`": norms without weights
# - "dtype and device": float64
# - "dtype and device of the block's": bfloat16
# - "and the groups": groups
# - "norms may have `affine=False`": float16, norms without weights

# %% wrong="no skip" says=["the input's own branch"]
def fold_batch_norm(block: RepBlock) -> nn.Conv2d:

    def scaled(kernel, bias, norm):
        factor = (norm.running_var + norm.eps).rsqrt()
        factor = factor * norm.weight if norm.affine else factor
        shift = (-norm.running_mean if bias is None else bias - norm.running_mean) * factor
        return kernel * factor.view(-1, 1, 1, 1), shift + norm.bias if norm.affine else shift

    wide, narrow = block.wide, block.narrow
    parts = [scaled(wide.weight, wide.bias, block.wide_norm)]
    parts += [scaled(F.pad(narrow.weight, (1, 1, 1, 1)), narrow.bias, block.narrow_norm)]
    if False:
        identity = torch.zeros_like(wide.weight)
        for n in range(len(identity)):
            identity[n, n % identity.shape[1], 1, 1] = 1
        parts += [scaled(identity, None, block.skip)]
    options = {"stride": wide.stride, "padding": 1, "groups": wide.groups}
    conv = nn.Conv2d(wide.in_channels, wide.out_channels, 3, **options).to(wide.weight)
    with torch.no_grad():
        conv.weight.copy_(sum(kernel for kernel, _ in parts))
        conv.bias.copy_(sum(bias for _, bias in parts))
    return conv


# %% wrong="the corner" says=["belongs in the middle"]
def fold_batch_norm(block: RepBlock) -> nn.Conv2d:

    def scaled(kernel, bias, norm):
        factor = (norm.running_var + norm.eps).rsqrt()
        factor = factor * norm.weight if norm.affine else factor
        shift = (-norm.running_mean if bias is None else bias - norm.running_mean) * factor
        return kernel * factor.view(-1, 1, 1, 1), shift + norm.bias if norm.affine else shift

    wide, narrow = block.wide, block.narrow
    parts = [scaled(wide.weight, wide.bias, block.wide_norm)]
    parts += [scaled(F.pad(narrow.weight, (0, 2, 0, 2)), narrow.bias, block.narrow_norm)]
    if block.skip is not None:
        identity = torch.zeros_like(wide.weight)
        for n in range(len(identity)):
            identity[n, n % identity.shape[1], 1, 1] = 1
        parts += [scaled(identity, None, block.skip)]
    options = {"stride": wide.stride, "padding": 1, "groups": wide.groups}
    conv = nn.Conv2d(wide.in_channels, wide.out_channels, 3, **options).to(wide.weight)
    with torch.no_grad():
        conv.weight.copy_(sum(kernel for kernel, _ in parts))
        conv.bias.copy_(sum(bias for _, bias in parts))
    return conv


# %% wrong="the bias is forgotten" breaks="may have a bias or none" says=["the convolution's own bias is missing"]
def fold_batch_norm(block: RepBlock) -> nn.Conv2d:

    def scaled(kernel, bias, norm):
        factor = (norm.running_var + norm.eps).rsqrt()
        factor = factor * norm.weight if norm.affine else factor
        shift = (-norm.running_mean) * factor
        return kernel * factor.view(-1, 1, 1, 1), shift + norm.bias if norm.affine else shift

    wide, narrow = block.wide, block.narrow
    parts = [scaled(wide.weight, wide.bias, block.wide_norm)]
    parts += [scaled(F.pad(narrow.weight, (1, 1, 1, 1)), narrow.bias, block.narrow_norm)]
    if block.skip is not None:
        identity = torch.zeros_like(wide.weight)
        for n in range(len(identity)):
            identity[n, n % identity.shape[1], 1, 1] = 1
        parts += [scaled(identity, None, block.skip)]
    options = {"stride": wide.stride, "padding": 1, "groups": wide.groups}
    conv = nn.Conv2d(wide.in_channels, wide.out_channels, 3, **options).to(wide.weight)
    with torch.no_grad():
        conv.weight.copy_(sum(kernel for kernel, _ in parts))
        conv.bias.copy_(sum(bias for _, bias in parts))
    return conv


# %% wrong="no eps" says=["eps is missing"]
def fold_batch_norm(block: RepBlock) -> nn.Conv2d:

    def scaled(kernel, bias, norm):
        factor = (norm.running_var).rsqrt()
        factor = factor * norm.weight if norm.affine else factor
        shift = (-norm.running_mean if bias is None else bias - norm.running_mean) * factor
        return kernel * factor.view(-1, 1, 1, 1), shift + norm.bias if norm.affine else shift

    wide, narrow = block.wide, block.narrow
    parts = [scaled(wide.weight, wide.bias, block.wide_norm)]
    parts += [scaled(F.pad(narrow.weight, (1, 1, 1, 1)), narrow.bias, block.narrow_norm)]
    if block.skip is not None:
        identity = torch.zeros_like(wide.weight)
        for n in range(len(identity)):
            identity[n, n % identity.shape[1], 1, 1] = 1
        parts += [scaled(identity, None, block.skip)]
    options = {"stride": wide.stride, "padding": 1, "groups": wide.groups}
    conv = nn.Conv2d(wide.in_channels, wide.out_channels, 3, **options).to(wide.weight)
    with torch.no_grad():
        conv.weight.copy_(sum(kernel for kernel, _ in parts))
        conv.bias.copy_(sum(bias for _, bias in parts))
    return conv


# %% wrong="one eps for all" says=["each norm has its own"]
def fold_batch_norm(block: RepBlock) -> nn.Conv2d:

    def scaled(kernel, bias, norm):
        factor = (norm.running_var + 1e-5).rsqrt()
        factor = factor * norm.weight if norm.affine else factor
        shift = (-norm.running_mean if bias is None else bias - norm.running_mean) * factor
        return kernel * factor.view(-1, 1, 1, 1), shift + norm.bias if norm.affine else shift

    wide, narrow = block.wide, block.narrow
    parts = [scaled(wide.weight, wide.bias, block.wide_norm)]
    parts += [scaled(F.pad(narrow.weight, (1, 1, 1, 1)), narrow.bias, block.narrow_norm)]
    if block.skip is not None:
        identity = torch.zeros_like(wide.weight)
        for n in range(len(identity)):
            identity[n, n % identity.shape[1], 1, 1] = 1
        parts += [scaled(identity, None, block.skip)]
    options = {"stride": wide.stride, "padding": 1, "groups": wide.groups}
    conv = nn.Conv2d(wide.in_channels, wide.out_channels, 3, **options).to(wide.weight)
    with torch.no_grad():
        conv.weight.copy_(sum(kernel for kernel, _ in parts))
        conv.bias.copy_(sum(bias for _, bias in parts))
    return conv


# %% wrong="no root" says=["divide by the root"]
def fold_batch_norm(block: RepBlock) -> nn.Conv2d:

    def scaled(kernel, bias, norm):
        factor = (norm.running_var + norm.eps).reciprocal()
        factor = factor * norm.weight if norm.affine else factor
        shift = (-norm.running_mean if bias is None else bias - norm.running_mean) * factor
        return kernel * factor.view(-1, 1, 1, 1), shift + norm.bias if norm.affine else shift

    wide, narrow = block.wide, block.narrow
    parts = [scaled(wide.weight, wide.bias, block.wide_norm)]
    parts += [scaled(F.pad(narrow.weight, (1, 1, 1, 1)), narrow.bias, block.narrow_norm)]
    if block.skip is not None:
        identity = torch.zeros_like(wide.weight)
        for n in range(len(identity)):
            identity[n, n % identity.shape[1], 1, 1] = 1
        parts += [scaled(identity, None, block.skip)]
    options = {"stride": wide.stride, "padding": 1, "groups": wide.groups}
    conv = nn.Conv2d(wide.in_channels, wide.out_channels, 3, **options).to(wide.weight)
    with torch.no_grad():
        conv.weight.copy_(sum(kernel for kernel, _ in parts))
        conv.bias.copy_(sum(bias for _, bias in parts))
    return conv


# %% wrong="no gamma" says=["the norm's weight is missing"]
def fold_batch_norm(block: RepBlock) -> nn.Conv2d:

    def scaled(kernel, bias, norm):
        factor = (norm.running_var + norm.eps).rsqrt()
        factor = factor
        shift = (-norm.running_mean if bias is None else bias - norm.running_mean) * factor
        return kernel * factor.view(-1, 1, 1, 1), shift + norm.bias if norm.affine else shift

    wide, narrow = block.wide, block.narrow
    parts = [scaled(wide.weight, wide.bias, block.wide_norm)]
    parts += [scaled(F.pad(narrow.weight, (1, 1, 1, 1)), narrow.bias, block.narrow_norm)]
    if block.skip is not None:
        identity = torch.zeros_like(wide.weight)
        for n in range(len(identity)):
            identity[n, n % identity.shape[1], 1, 1] = 1
        parts += [scaled(identity, None, block.skip)]
    options = {"stride": wide.stride, "padding": 1, "groups": wide.groups}
    conv = nn.Conv2d(wide.in_channels, wide.out_channels, 3, **options).to(wide.weight)
    with torch.no_grad():
        conv.weight.copy_(sum(kernel for kernel, _ in parts))
        conv.bias.copy_(sum(bias for _, bias in parts))
    return conv


# %% wrong="no running mean" says=["the running mean is missing"]
def fold_batch_norm(block: RepBlock) -> nn.Conv2d:

    def scaled(kernel, bias, norm):
        factor = (norm.running_var + norm.eps).rsqrt()
        factor = factor * norm.weight if norm.affine else factor
        shift = (0 * norm.running_mean if bias is None else bias) * factor
        return kernel * factor.view(-1, 1, 1, 1), shift + norm.bias if norm.affine else shift

    wide, narrow = block.wide, block.narrow
    parts = [scaled(wide.weight, wide.bias, block.wide_norm)]
    parts += [scaled(F.pad(narrow.weight, (1, 1, 1, 1)), narrow.bias, block.narrow_norm)]
    if block.skip is not None:
        identity = torch.zeros_like(wide.weight)
        for n in range(len(identity)):
            identity[n, n % identity.shape[1], 1, 1] = 1
        parts += [scaled(identity, None, block.skip)]
    options = {"stride": wide.stride, "padding": 1, "groups": wide.groups}
    conv = nn.Conv2d(wide.in_channels, wide.out_channels, 3, **options).to(wide.weight)
    with torch.no_grad():
        conv.weight.copy_(sum(kernel for kernel, _ in parts))
        conv.bias.copy_(sum(bias for _, bias in parts))
    return conv


# %% wrong="identity without groups" breaks="input channels are counted anew in each group" says=["counted anew in each group"]
def fold_batch_norm(block: RepBlock) -> nn.Conv2d:

    def scaled(kernel, bias, norm):
        factor = (norm.running_var + norm.eps).rsqrt()
        factor = factor * norm.weight if norm.affine else factor
        shift = (-norm.running_mean if bias is None else bias - norm.running_mean) * factor
        return kernel * factor.view(-1, 1, 1, 1), shift + norm.bias if norm.affine else shift

    wide, narrow = block.wide, block.narrow
    parts = [scaled(wide.weight, wide.bias, block.wide_norm)]
    parts += [scaled(F.pad(narrow.weight, (1, 1, 1, 1)), narrow.bias, block.narrow_norm)]
    if block.skip is not None:
        identity = torch.zeros_like(wide.weight)
        for n in range(len(identity)):
            identity[n, 0, 1, 1] = 1
        parts += [scaled(identity, None, block.skip)]
    options = {"stride": wide.stride, "padding": 1, "groups": wide.groups}
    conv = nn.Conv2d(wide.in_channels, wide.out_channels, 3, **options).to(wide.weight)
    with torch.no_grad():
        conv.weight.copy_(sum(kernel for kernel, _ in parts))
        conv.bias.copy_(sum(bias for _, bias in parts))
    return conv


# %% wrong="identity outside its group" says=["groups"]
def fold_batch_norm(block: RepBlock) -> nn.Conv2d:

    def scaled(kernel, bias, norm):
        factor = (norm.running_var + norm.eps).rsqrt()
        factor = factor * norm.weight if norm.affine else factor
        shift = (-norm.running_mean if bias is None else bias - norm.running_mean) * factor
        return kernel * factor.view(-1, 1, 1, 1), shift + norm.bias if norm.affine else shift

    wide, narrow = block.wide, block.narrow
    parts = [scaled(wide.weight, wide.bias, block.wide_norm)]
    parts += [scaled(F.pad(narrow.weight, (1, 1, 1, 1)), narrow.bias, block.narrow_norm)]
    if block.skip is not None:
        identity = torch.zeros_like(wide.weight)
        for n in range(len(identity)):
            identity[n, n, 1, 1] = 1
        parts += [scaled(identity, None, block.skip)]
    options = {"stride": wide.stride, "padding": 1, "groups": wide.groups}
    conv = nn.Conv2d(wide.in_channels, wide.out_channels, 3, **options).to(wide.weight)
    with torch.no_grad():
        conv.weight.copy_(sum(kernel for kernel, _ in parts))
        conv.bias.copy_(sum(bias for _, bias in parts))
    return conv


# %% wrong="identity is all ones" says=["a single 1 for each output channel"]
def fold_batch_norm(block: RepBlock) -> nn.Conv2d:

    def scaled(kernel, bias, norm):
        factor = (norm.running_var + norm.eps).rsqrt()
        factor = factor * norm.weight if norm.affine else factor
        shift = (-norm.running_mean if bias is None else bias - norm.running_mean) * factor
        return kernel * factor.view(-1, 1, 1, 1), shift + norm.bias if norm.affine else shift

    wide, narrow = block.wide, block.narrow
    parts = [scaled(wide.weight, wide.bias, block.wide_norm)]
    parts += [scaled(F.pad(narrow.weight, (1, 1, 1, 1)), narrow.bias, block.narrow_norm)]
    if block.skip is not None:
        identity = torch.zeros_like(wide.weight)
        for n in range(len(identity)):
            identity[n, :, 1, 1] = 1
        parts += [scaled(identity, None, block.skip)]
    options = {"stride": wide.stride, "padding": 1, "groups": wide.groups}
    conv = nn.Conv2d(wide.in_channels, wide.out_channels, 3, **options).to(wide.weight)
    with torch.no_grad():
        conv.weight.copy_(sum(kernel for kernel, _ in parts))
        conv.bias.copy_(sum(bias for _, bias in parts))
    return conv


# %% wrong="stride forgotten" breaks="stride, dtype and device" says=["stride 2"]
def fold_batch_norm(block: RepBlock) -> nn.Conv2d:

    def scaled(kernel, bias, norm):
        factor = (norm.running_var + norm.eps).rsqrt()
        factor = factor * norm.weight if norm.affine else factor
        shift = (-norm.running_mean if bias is None else bias - norm.running_mean) * factor
        return kernel * factor.view(-1, 1, 1, 1), shift + norm.bias if norm.affine else shift

    wide, narrow = block.wide, block.narrow
    parts = [scaled(wide.weight, wide.bias, block.wide_norm)]
    parts += [scaled(F.pad(narrow.weight, (1, 1, 1, 1)), narrow.bias, block.narrow_norm)]
    if block.skip is not None:
        identity = torch.zeros_like(wide.weight)
        for n in range(len(identity)):
            identity[n, n % identity.shape[1], 1, 1] = 1
        parts += [scaled(identity, None, block.skip)]
    options = {"padding": 1, "groups": wide.groups}
    conv = nn.Conv2d(wide.in_channels, wide.out_channels, 3, **options).to(wide.weight)
    with torch.no_grad():
        conv.weight.copy_(sum(kernel for kernel, _ in parts))
        conv.bias.copy_(sum(bias for _, bias in parts))
    return conv


# %% wrong="float32 always" breaks="dtype and device of the block's 3 × 3 convolution" says=["the convolution is float32, the block float64"]
def fold_batch_norm(block: RepBlock) -> nn.Conv2d:

    def scaled(kernel, bias, norm):
        factor = (norm.running_var + norm.eps).rsqrt()
        factor = factor * norm.weight if norm.affine else factor
        shift = (-norm.running_mean if bias is None else bias - norm.running_mean) * factor
        return kernel * factor.view(-1, 1, 1, 1), shift + norm.bias if norm.affine else shift

    wide, narrow = block.wide, block.narrow
    parts = [scaled(wide.weight, wide.bias, block.wide_norm)]
    parts += [scaled(F.pad(narrow.weight, (1, 1, 1, 1)), narrow.bias, block.narrow_norm)]
    if block.skip is not None:
        identity = torch.zeros_like(wide.weight)
        for n in range(len(identity)):
            identity[n, n % identity.shape[1], 1, 1] = 1
        parts += [scaled(identity, None, block.skip)]
    options = {"stride": wide.stride, "padding": 1, "groups": wide.groups}
    conv = nn.Conv2d(wide.in_channels, wide.out_channels, 3, **options).to(wide.weight.device)
    with torch.no_grad():
        conv.weight.copy_(sum(kernel for kernel, _ in parts))
        conv.bias.copy_(sum(bias for _, bias in parts))
    return conv


# %% wrong="changes the block" breaks="The block stays as it is" says=["were changed: work on copies"]
def fold_batch_norm(block: RepBlock) -> nn.Conv2d:

    def scaled(kernel, bias, norm):
        factor = (norm.running_var + norm.eps).rsqrt()
        factor = factor * norm.weight if norm.affine else factor
        shift = (-norm.running_mean if bias is None else bias - norm.running_mean) * factor
        return kernel * factor.view(-1, 1, 1, 1), shift + norm.bias if norm.affine else shift

    wide, narrow = block.wide, block.narrow
    parts = [scaled(wide.weight, wide.bias, block.wide_norm)]
    parts += [scaled(F.pad(narrow.weight, (1, 1, 1, 1)), narrow.bias, block.narrow_norm)]
    if block.skip is not None:
        identity = torch.zeros_like(wide.weight)
        for n in range(len(identity)):
            identity[n, n % identity.shape[1], 1, 1] = 1
        parts += [scaled(identity, None, block.skip)]
    options = {"stride": wide.stride, "padding": 1, "groups": wide.groups}
    conv = nn.Conv2d(wide.in_channels, wide.out_channels, 3, **options).to(wide.weight)
    with torch.no_grad():
        conv.weight.copy_(sum(kernel for kernel, _ in parts))
        conv.bias.copy_(sum(bias for _, bias in parts))
    block.narrow.weight.data.mul_(0.5)
    return conv


# %% wrong="needs affine norms" breaks="norms may have `affine=False`" says=["norms without weights"]
def fold_batch_norm(block: RepBlock) -> nn.Conv2d:

    def scaled(kernel, bias, norm):
        factor = (norm.running_var + norm.eps).rsqrt()
        factor = factor * norm.weight
        shift = (-norm.running_mean if bias is None else bias - norm.running_mean) * factor
        return kernel * factor.view(-1, 1, 1, 1), shift + norm.bias if norm.affine else shift

    wide, narrow = block.wide, block.narrow
    parts = [scaled(wide.weight, wide.bias, block.wide_norm)]
    parts += [scaled(F.pad(narrow.weight, (1, 1, 1, 1)), narrow.bias, block.narrow_norm)]
    if block.skip is not None:
        identity = torch.zeros_like(wide.weight)
        for n in range(len(identity)):
            identity[n, n % identity.shape[1], 1, 1] = 1
        parts += [scaled(identity, None, block.skip)]
    options = {"stride": wide.stride, "padding": 1, "groups": wide.groups}
    conv = nn.Conv2d(wide.in_channels, wide.out_channels, 3, **options).to(wide.weight)
    with torch.no_grad():
        conv.weight.copy_(sum(kernel for kernel, _ in parts))
        conv.bias.copy_(sum(bias for _, bias in parts))
    return conv


# %% wrong="freezes the block" says=["requires_grad of the block"]
def fold_batch_norm(block: RepBlock) -> nn.Conv2d:

    def scaled(kernel, bias, norm):
        factor = (norm.running_var + norm.eps).rsqrt()
        factor = factor * norm.weight if norm.affine else factor
        shift = (-norm.running_mean if bias is None else bias - norm.running_mean) * factor
        return kernel * factor.view(-1, 1, 1, 1), shift + norm.bias if norm.affine else shift

    wide, narrow = block.wide, block.narrow
    parts = [scaled(wide.weight, wide.bias, block.wide_norm)]
    parts += [scaled(F.pad(narrow.weight, (1, 1, 1, 1)), narrow.bias, block.narrow_norm)]
    if block.skip is not None:
        identity = torch.zeros_like(wide.weight)
        for n in range(len(identity)):
            identity[n, n % identity.shape[1], 1, 1] = 1
        parts += [scaled(identity, None, block.skip)]
    options = {"stride": wide.stride, "padding": 1, "groups": wide.groups}
    conv = nn.Conv2d(wide.in_channels, wide.out_channels, 3, **options).to(wide.weight)
    block.requires_grad_(False)
    with torch.no_grad():
        conv.weight.copy_(sum(kernel for kernel, _ in parts))
        conv.bias.copy_(sum(bias for _, bias in parts))
    return conv


# %% wrong="leaves grad off" says=["gradients are off"]
def fold_batch_norm(block: RepBlock) -> nn.Conv2d:

    def scaled(kernel, bias, norm):
        factor = (norm.running_var + norm.eps).rsqrt()
        factor = factor * norm.weight if norm.affine else factor
        shift = (-norm.running_mean if bias is None else bias - norm.running_mean) * factor
        return kernel * factor.view(-1, 1, 1, 1), shift + norm.bias if norm.affine else shift

    wide, narrow = block.wide, block.narrow
    parts = [scaled(wide.weight, wide.bias, block.wide_norm)]
    parts += [scaled(F.pad(narrow.weight, (1, 1, 1, 1)), narrow.bias, block.narrow_norm)]
    if block.skip is not None:
        identity = torch.zeros_like(wide.weight)
        for n in range(len(identity)):
            identity[n, n % identity.shape[1], 1, 1] = 1
        parts += [scaled(identity, None, block.skip)]
    options = {"stride": wide.stride, "padding": 1, "groups": wide.groups}
    conv = nn.Conv2d(wide.in_channels, wide.out_channels, 3, **options).to(wide.weight)
    torch.set_grad_enabled(False)
    with torch.no_grad():
        conv.weight.copy_(sum(kernel for kernel, _ in parts))
        conv.bias.copy_(sum(bias for _, bias in parts))
    return conv


# %% wrong="folds the 3 × 3 alone" breaks="with the same output" says=["its output differs"]
def fold_batch_norm(block: RepBlock) -> nn.Conv2d:

    def scaled(kernel, bias, norm):
        factor = (norm.running_var + norm.eps).rsqrt()
        factor = factor * norm.weight if norm.affine else factor
        shift = (-norm.running_mean if bias is None else bias - norm.running_mean) * factor
        return kernel * factor.view(-1, 1, 1, 1), shift + norm.bias if norm.affine else shift

    wide, narrow = block.wide, block.narrow
    parts = [scaled(wide.weight, wide.bias, block.wide_norm)]
    parts += [scaled(F.pad(narrow.weight, (1, 1, 1, 1)), narrow.bias, block.narrow_norm)]
    if block.skip is not None:
        identity = torch.zeros_like(wide.weight)
        for n in range(len(identity)):
            identity[n, n % identity.shape[1], 1, 1] = 1
        parts += [scaled(identity, None, block.skip)]
    options = {"stride": wide.stride, "padding": 1, "groups": wide.groups}
    conv = nn.Conv2d(wide.in_channels, wide.out_channels, 3, **options).to(wide.weight)
    with torch.no_grad():
        conv.weight.copy_(parts[0][0])
        conv.bias.copy_(parts[0][1])
    return conv


# %% wrong="returns the block" breaks="returns one `nn.Conv2d`" says=["a RepBlock came back"]
def fold_batch_norm(block: RepBlock) -> nn.Conv2d:

    def scaled(kernel, bias, norm):
        factor = (norm.running_var + norm.eps).rsqrt()
        factor = factor * norm.weight if norm.affine else factor
        shift = (-norm.running_mean if bias is None else bias - norm.running_mean) * factor
        return kernel * factor.view(-1, 1, 1, 1), shift + norm.bias if norm.affine else shift

    wide, narrow = block.wide, block.narrow
    parts = [scaled(wide.weight, wide.bias, block.wide_norm)]
    parts += [scaled(F.pad(narrow.weight, (1, 1, 1, 1)), narrow.bias, block.narrow_norm)]
    if block.skip is not None:
        identity = torch.zeros_like(wide.weight)
        for n in range(len(identity)):
            identity[n, n % identity.shape[1], 1, 1] = 1
        parts += [scaled(identity, None, block.skip)]
    options = {"stride": wide.stride, "padding": 1, "groups": wide.groups}
    conv = nn.Conv2d(wide.in_channels, wide.out_channels, 3, **options).to(wide.weight)
    with torch.no_grad():
        conv.weight.copy_(sum(kernel for kernel, _ in parts))
        conv.bias.copy_(sum(bias for _, bias in parts))
    return block


# %% wrong="nothing yet" says=["is there an answer yet"]
def fold_batch_norm(block):
    pass


# %% right="the library folds each branch"
import copy  # noqa: E402

from torch.nn.utils.fusion import fuse_conv_bn_eval  # noqa: E402


def fold_batch_norm(block):
    block = copy.deepcopy(block)
    wide = fuse_conv_bn_eval(block.wide, block.wide_norm)
    narrow = fuse_conv_bn_eval(block.narrow, block.narrow_norm)
    with torch.no_grad():
        wide.weight[:, :, 1:2, 1:2] += narrow.weight
        wide.bias += narrow.bias
        if block.skip is not None:
            same = nn.Conv2d(wide.in_channels, wide.out_channels, 1, groups=wide.groups, bias=False)
            same = same.to(wide.weight).eval()
            nn.init.dirac_(same.weight, groups=wide.groups)
            own = fuse_conv_bn_eval(same, block.skip)
            wide.weight[:, :, 1:2, 1:2] += own.weight
            wide.bias += own.bias
    return wide


# %% right="measured: what the block makes of single pixels"
def fold_batch_norm(block):
    wide = block.wide
    size, outputs = wide.in_channels, wide.out_channels
    conv = nn.Conv2d(size, outputs, 3, stride=wide.stride, padding=1, groups=wide.groups).to(
        wide.weight
    )
    each, per = size // wide.groups, outputs // wide.groups
    with torch.no_grad():
        big = torch.zeros(1, size, 5, 5).to(wide.weight)
        row, column = wide.stride  # the middle of the window of the result's place (1, 1)
        conv.bias.copy_(block(big)[0, :, 1, 1])
        for channel in range(size):
            group = channel // each
            rows = slice(group * per, (group + 1) * per)
            for dy in range(3):
                for dx in range(3):
                    x = big.clone()
                    x[0, channel, row + dy - 1, column + dx - 1] = 1
                    y = block(x)[0, :, 1, 1] - conv.bias
                    conv.weight[rows, channel % each, dy, dx] = y[rows]
    return conv


# %% wrong="one eps for all norms" breaks="each has its own `eps`" says=["each norm has its own eps"]
def fold_batch_norm(block):
    def folded(conv, norm):
        factor = (norm.running_var + block.wide_norm.eps).rsqrt()
        factor = factor * norm.weight if norm.affine else factor
        bias = conv.bias if conv.bias is not None else torch.zeros_like(factor)
        shift = (bias - norm.running_mean) * factor
        return conv.weight * factor[
            :, None, None, None
        ], shift + norm.bias if norm.affine else shift

    wide, narrow = block.wide, copy.deepcopy(block.narrow)
    with torch.no_grad():
        weight, bias = folded(wide, block.wide_norm)
        small, more = folded(narrow, block.narrow_norm)
        weight, bias = weight + F.pad(small, (1, 1, 1, 1)), bias + more
        if block.skip is not None:
            size = narrow.weight.shape[1]
            eye = torch.eye(size).repeat(wide.groups, 1)[..., None, None]
            narrow.weight.copy_(eye)
            narrow.bias = None
            small, more = folded(narrow, block.skip)
            weight, bias = weight + F.pad(small, (1, 1, 1, 1)), bias + more
        conv = nn.Conv2d(
            wide.in_channels, wide.out_channels, 3, wide.stride, 1, groups=wide.groups
        ).to(weight)
        conv.weight.copy_(weight)
        conv.bias.copy_(bias)
    return conv


# %% wrong="biases are not scaled" says=["own bias is scaled by its norm as well"]
def fold_batch_norm(block):
    def folded(conv, norm):
        factor = (norm.running_var + norm.eps).rsqrt()
        factor = factor * norm.weight if norm.affine else factor
        bias = conv.bias if conv.bias is not None else torch.zeros_like(factor)
        shift = bias - norm.running_mean * factor
        return conv.weight * factor[
            :, None, None, None
        ], shift + norm.bias if norm.affine else shift

    wide, narrow = block.wide, copy.deepcopy(block.narrow)
    with torch.no_grad():
        weight, bias = folded(wide, block.wide_norm)
        small, more = folded(narrow, block.narrow_norm)
        weight, bias = weight + F.pad(small, (1, 1, 1, 1)), bias + more
        if block.skip is not None:
            size = narrow.weight.shape[1]
            eye = torch.eye(size).repeat(wide.groups, 1)[..., None, None]
            narrow.weight.copy_(eye)
            narrow.bias = None
            small, more = folded(narrow, block.skip)
            weight, bias = weight + F.pad(small, (1, 1, 1, 1)), bias + more
        conv = nn.Conv2d(
            wide.in_channels, wide.out_channels, 3, wide.stride, 1, groups=wide.groups
        ).to(weight)
        conv.weight.copy_(weight)
        conv.bias.copy_(bias)
    return conv


# %% wrong="clears the block's gradients" says=["the gradient (.grad) of wide.weight was changed: it is the caller's"]
def fold_batch_norm(block):
    block.zero_grad()
    wide = block.wide
    middle = F.pad(block.narrow.weight, (1, 1, 1, 1))
    parts = [(wide.weight, wide.bias, block.wide_norm)]
    parts += [(middle, block.narrow.bias, block.narrow_norm)]
    if block.skip is not None:
        one = torch.zeros_like(wide.weight)
        for n in range(len(one)):
            one[n, n % one.shape[1], 1, 1] = 1
        parts += [(one, None, block.skip)]
    options = {"stride": wide.stride, "padding": 1, "groups": wide.groups}
    conv = nn.Conv2d(wide.in_channels, wide.out_channels, 3, **options).to(wide.weight)
    with torch.no_grad():
        conv.weight.zero_()
        conv.bias.zero_()
        for kernel, bias, norm in parts:
            factor = (norm.running_var + norm.eps) ** -0.5
            factor = factor * norm.weight if norm.affine else factor
            conv.weight += kernel * factor[:, None, None, None]
            conv.bias += ((0 if bias is None else bias) - norm.running_mean) * factor
            conv.bias += norm.bias if norm.affine else 0
    return conv


# %% wrong="a bias only where there was one" breaks="with a bias" says=["the convolution has no bias"]
def fold_batch_norm(block: RepBlock) -> nn.Conv2d:
    """One convolution that does what the block does in eval mode."""

    def scaled(kernel, bias, norm):
        factor = (norm.running_var + norm.eps).rsqrt()
        factor = factor * norm.weight if norm.affine else factor
        shift = (-norm.running_mean if bias is None else bias - norm.running_mean) * factor
        return kernel * factor.view(-1, 1, 1, 1), shift + norm.bias if norm.affine else shift

    wide, narrow = block.wide, block.narrow
    parts = [scaled(wide.weight, wide.bias, block.wide_norm)]
    parts += [scaled(F.pad(narrow.weight, (1, 1, 1, 1)), narrow.bias, block.narrow_norm)]
    if block.skip is not None:
        identity = torch.zeros_like(wide.weight)
        for n in range(len(identity)):
            identity[n, n % identity.shape[1], 1, 1] = 1
        parts += [scaled(identity, None, block.skip)]
    options = {"stride": wide.stride, "padding": 1, "groups": wide.groups}
    conv = nn.Conv2d(
        wide.in_channels, wide.out_channels, 3, bias=wide.bias is not None, **options
    ).to(wide.weight)
    with torch.no_grad():
        conv.weight.copy_(sum(kernel for kernel, _ in parts))
        if conv.bias is not None:
            conv.bias.copy_(sum(bias for _, bias in parts))
    return conv


# %% wrong="no padding" breaks="padding 1" says=["shape"]
def fold_batch_norm(block: RepBlock) -> nn.Conv2d:
    """One convolution that does what the block does in eval mode."""

    def scaled(kernel, bias, norm):
        factor = (norm.running_var + norm.eps).rsqrt()
        factor = factor * norm.weight if norm.affine else factor
        shift = (-norm.running_mean if bias is None else bias - norm.running_mean) * factor
        return kernel * factor.view(-1, 1, 1, 1), shift + norm.bias if norm.affine else shift

    wide, narrow = block.wide, block.narrow
    parts = [scaled(wide.weight, wide.bias, block.wide_norm)]
    parts += [scaled(F.pad(narrow.weight, (1, 1, 1, 1)), narrow.bias, block.narrow_norm)]
    if block.skip is not None:
        identity = torch.zeros_like(wide.weight)
        for n in range(len(identity)):
            identity[n, n % identity.shape[1], 1, 1] = 1
        parts += [scaled(identity, None, block.skip)]
    options = {"stride": wide.stride, "padding": 0, "groups": wide.groups}
    conv = nn.Conv2d(wide.in_channels, wide.out_channels, 3, **options).to(wide.weight)
    with torch.no_grad():
        conv.weight.copy_(sum(kernel for kernel, _ in parts))
        conv.bias.copy_(sum(bias for _, bias in parts))
    return conv


# %% wrong="no groups in the result" breaks="and the groups" says=["the weight has another shape"]
def fold_batch_norm(block: RepBlock) -> nn.Conv2d:
    """One convolution that does what the block does in eval mode."""

    def scaled(kernel, bias, norm):
        factor = (norm.running_var + norm.eps).rsqrt()
        factor = factor * norm.weight if norm.affine else factor
        shift = (-norm.running_mean if bias is None else bias - norm.running_mean) * factor
        return kernel * factor.view(-1, 1, 1, 1), shift + norm.bias if norm.affine else shift

    wide, narrow = block.wide, block.narrow
    parts = [scaled(wide.weight, wide.bias, block.wide_norm)]
    parts += [scaled(F.pad(narrow.weight, (1, 1, 1, 1)), narrow.bias, block.narrow_norm)]
    if block.skip is not None:
        identity = torch.zeros_like(wide.weight)
        for n in range(len(identity)):
            identity[n, n % identity.shape[1], 1, 1] = 1
        parts += [scaled(identity, None, block.skip)]
    options = {"stride": wide.stride, "padding": 1, "groups": 1}
    conv = nn.Conv2d(wide.in_channels, wide.out_channels, 3, **options).to(wide.weight)
    with torch.no_grad():
        conv.weight.copy_(sum(kernel for kernel, _ in parts))
        conv.bias.copy_(sum(bias for _, bias in parts))
    return conv


# %% wrong="the identity's place by the number of groups" says=["two groups of three: its output: with groups, an input channel's number is n % (inputs / groups)"]
def fold_batch_norm(block):
    def folded(kernel, bias, norm):
        spread = (norm.running_var + norm.eps).sqrt()
        gamma = torch.ones_like(spread) if norm.weight is None else norm.weight
        beta = torch.zeros_like(spread) if norm.bias is None else norm.bias
        factor = gamma / spread
        bias = torch.zeros_like(spread) if bias is None else bias
        return kernel * factor.view(-1, 1, 1, 1), (bias - norm.running_mean) * factor + beta

    wide, narrow = block.wide, block.narrow
    with torch.no_grad():
        weight, bias = folded(wide.weight, wide.bias, block.wide_norm)
        small, extra = folded(F.pad(narrow.weight, (1, 1, 1, 1)), narrow.bias, block.narrow_norm)
        weight, bias = weight + small, bias + extra
        if block.skip is not None:
            kernel = torch.zeros_like(wide.weight)
            for n in range(wide.out_channels):
                kernel[n, n % wide.groups if wide.groups > 1 else n, 1, 1] = 1
            small, extra = folded(kernel, None, block.skip)
            weight, bias = weight + small, bias + extra
        conv = nn.Conv2d(
            wide.in_channels, wide.out_channels, 3, wide.stride, 1, groups=wide.groups
        ).to(wide.weight)
        conv.weight.copy_(weight)
        conv.bias.copy_(bias)
    return conv


# %% wrong="eps beside the root" says=["eps belongs under the root"]
def fold_batch_norm(block):
    def folded(kernel, bias, norm):
        spread = norm.running_var.sqrt() + norm.eps
        gamma = torch.ones_like(spread) if norm.weight is None else norm.weight
        beta = torch.zeros_like(spread) if norm.bias is None else norm.bias
        factor = gamma / spread
        bias = torch.zeros_like(spread) if bias is None else bias
        return kernel * factor.view(-1, 1, 1, 1), (bias - norm.running_mean) * factor + beta

    wide, narrow = block.wide, block.narrow
    with torch.no_grad():
        weight, bias = folded(wide.weight, wide.bias, block.wide_norm)
        small, extra = folded(F.pad(narrow.weight, (1, 1, 1, 1)), narrow.bias, block.narrow_norm)
        weight, bias = weight + small, bias + extra
        if block.skip is not None:
            kernel = torch.zeros_like(wide.weight)
            for n in range(wide.out_channels):
                kernel[n, n % kernel.shape[1], 1, 1] = 1
            small, extra = folded(kernel, None, block.skip)
            weight, bias = weight + small, bias + extra
        conv = nn.Conv2d(
            wide.in_channels, wide.out_channels, 3, wide.stride, 1, groups=wide.groups
        ).to(wide.weight)
        conv.weight.copy_(weight)
        conv.bias.copy_(bias)
    return conv


# %% wrong="the identity as it is" says=["skip is a norm: it scales and shifts its input"]
def fold_batch_norm(block):
    def folded(kernel, bias, norm):
        spread = (norm.running_var + norm.eps).sqrt()
        gamma = torch.ones_like(spread) if norm.weight is None else norm.weight
        beta = torch.zeros_like(spread) if norm.bias is None else norm.bias
        factor = gamma / spread
        bias = torch.zeros_like(spread) if bias is None else bias
        return kernel * factor.view(-1, 1, 1, 1), (bias - norm.running_mean) * factor + beta

    wide, narrow = block.wide, block.narrow
    with torch.no_grad():
        weight, bias = folded(wide.weight, wide.bias, block.wide_norm)
        small, extra = folded(F.pad(narrow.weight, (1, 1, 1, 1)), narrow.bias, block.narrow_norm)
        weight, bias = weight + small, bias + extra
        if block.skip is not None:
            kernel = torch.zeros_like(wide.weight)
            for n in range(wide.out_channels):
                kernel[n, n % kernel.shape[1], 1, 1] = 1
            small, extra = kernel, 0
            weight, bias = weight + small, bias + extra
        conv = nn.Conv2d(
            wide.in_channels, wide.out_channels, 3, wide.stride, 1, groups=wide.groups
        ).to(wide.weight)
        conv.weight.copy_(weight)
        conv.bias.copy_(bias)
    return conv


# %% wrong="adds the mean" says=["the running mean is subtracted, not added"]
def fold_batch_norm(block):
    def folded(kernel, bias, norm):
        spread = (norm.running_var + norm.eps).sqrt()
        gamma = torch.ones_like(spread) if norm.weight is None else norm.weight
        beta = torch.zeros_like(spread) if norm.bias is None else norm.bias
        factor = gamma / spread
        bias = torch.zeros_like(spread) if bias is None else bias
        return kernel * factor.view(-1, 1, 1, 1), (bias + norm.running_mean) * factor + beta

    wide, narrow = block.wide, block.narrow
    with torch.no_grad():
        weight, bias = folded(wide.weight, wide.bias, block.wide_norm)
        small, extra = folded(F.pad(narrow.weight, (1, 1, 1, 1)), narrow.bias, block.narrow_norm)
        weight, bias = weight + small, bias + extra
        if block.skip is not None:
            kernel = torch.zeros_like(wide.weight)
            for n in range(wide.out_channels):
                kernel[n, n % kernel.shape[1], 1, 1] = 1
            small, extra = folded(kernel, None, block.skip)
            weight, bias = weight + small, bias + extra
        conv = nn.Conv2d(
            wide.in_channels, wide.out_channels, 3, wide.stride, 1, groups=wide.groups
        ).to(wide.weight)
        conv.weight.copy_(weight)
        conv.bias.copy_(bias)
    return conv


# %% wrong="takes the norm's weight for granted" says=["norms without weights", "weight and bias of a norm may be None"]
def fold_batch_norm(block):
    def folded(kernel, bias, norm):
        spread = (norm.running_var + norm.eps).sqrt()
        gamma = norm.weight
        beta = norm.bias
        factor = gamma / spread
        bias = torch.zeros_like(spread) if bias is None else bias
        return kernel * factor.view(-1, 1, 1, 1), (bias - norm.running_mean) * factor + beta

    wide, narrow = block.wide, block.narrow
    with torch.no_grad():
        weight, bias = folded(wide.weight, wide.bias, block.wide_norm)
        small, extra = folded(F.pad(narrow.weight, (1, 1, 1, 1)), narrow.bias, block.narrow_norm)
        weight, bias = weight + small, bias + extra
        if block.skip is not None:
            kernel = torch.zeros_like(wide.weight)
            for n in range(wide.out_channels):
                kernel[n, n % kernel.shape[1], 1, 1] = 1
            small, extra = folded(kernel, None, block.skip)
            weight, bias = weight + small, bias + extra
        conv = nn.Conv2d(
            wide.in_channels, wide.out_channels, 3, wide.stride, 1, groups=wide.groups
        ).to(wide.weight)
        conv.weight.copy_(weight)
        conv.bias.copy_(bias)
    return conv


# %% wrong="mean not scaled" says=["the running mean is scaled as well"]
def fold_batch_norm(block):
    def fold(kernel, bias, norm):
        factor = 1 / (norm.running_var + norm.eps).sqrt()
        shift = -norm.running_mean
        if bias is not None:
            shift = shift + bias
        if norm.affine:
            factor = factor * norm.weight
        shift = -norm.running_mean + (bias * factor if bias is not None else 0)
        if norm.affine:
            shift = shift + norm.bias
        return kernel * factor.view(-1, 1, 1, 1), shift

    wide, narrow = block.wide, block.narrow
    with torch.no_grad():
        weight, bias = fold(wide.weight, wide.bias, block.wide_norm)
        w, b = fold(F.pad(narrow.weight, (1, 1, 1, 1)), narrow.bias, block.narrow_norm)
        weight, bias = weight + w, bias + b
        if block.skip is not None:
            identity = torch.zeros_like(wide.weight)
            for i in range(wide.out_channels):
                identity[i, i % (wide.in_channels // wide.groups), 1, 1] = 1
            w, b = fold(identity, None, block.skip)
            weight, bias = weight + w, bias + b
        conv = nn.Conv2d(
            wide.in_channels, wide.out_channels, 3, wide.stride, 1, groups=wide.groups
        ).to(weight)
        conv.weight.copy_(weight)
        conv.bias.copy_(bias)
    return conv


# %% wrong="beta left out" says=["the norm's bias is missing"]
def fold_batch_norm(block):
    def fold(kernel, bias, norm):
        factor = 1 / (norm.running_var + norm.eps).sqrt()
        shift = -norm.running_mean
        if bias is not None:
            shift = shift + bias
        if norm.affine:
            factor = factor * norm.weight
        shift = shift * factor
        return kernel * factor.view(-1, 1, 1, 1), shift

    wide, narrow = block.wide, block.narrow
    with torch.no_grad():
        weight, bias = fold(wide.weight, wide.bias, block.wide_norm)
        w, b = fold(F.pad(narrow.weight, (1, 1, 1, 1)), narrow.bias, block.narrow_norm)
        weight, bias = weight + w, bias + b
        if block.skip is not None:
            identity = torch.zeros_like(wide.weight)
            for i in range(wide.out_channels):
                identity[i, i % (wide.in_channels // wide.groups), 1, 1] = 1
            w, b = fold(identity, None, block.skip)
            weight, bias = weight + w, bias + b
        conv = nn.Conv2d(
            wide.in_channels, wide.out_channels, 3, wide.stride, 1, groups=wide.groups
        ).to(weight)
        conv.weight.copy_(weight)
        conv.bias.copy_(bias)
    return conv


# %% wrong="1 x 1 stretched over the kernel" says=["stands in the middle alone, with zeros around it"]
def fold_batch_norm(block):
    def fold(kernel, bias, norm):
        factor = 1 / (norm.running_var + norm.eps).sqrt()
        shift = -norm.running_mean
        if bias is not None:
            shift = shift + bias
        if norm.affine:
            factor = factor * norm.weight
        shift = shift * factor
        if norm.affine:
            shift = shift + norm.bias
        return kernel * factor.view(-1, 1, 1, 1), shift

    wide, narrow = block.wide, block.narrow
    with torch.no_grad():
        weight, bias = fold(wide.weight, wide.bias, block.wide_norm)
        w, b = fold(narrow.weight.expand(-1, -1, 3, 3), narrow.bias, block.narrow_norm)
        weight, bias = weight + w, bias + b
        if block.skip is not None:
            identity = torch.zeros_like(wide.weight)
            for i in range(wide.out_channels):
                identity[i, i % (wide.in_channels // wide.groups), 1, 1] = 1
            w, b = fold(identity, None, block.skip)
            weight, bias = weight + w, bias + b
        conv = nn.Conv2d(
            wide.in_channels, wide.out_channels, 3, wide.stride, 1, groups=wide.groups
        ).to(weight)
        conv.weight.copy_(weight)
        conv.bias.copy_(bias)
    return conv


# %% wrong="the identity at the last channel of a group" says=["input channels are counted anew in each group"]
def fold_batch_norm(block):
    def fold(kernel, bias, norm):
        factor = 1 / (norm.running_var + norm.eps).sqrt()
        shift = -norm.running_mean
        if bias is not None:
            shift = shift + bias
        if norm.affine:
            factor = factor * norm.weight
        shift = shift * factor
        if norm.affine:
            shift = shift + norm.bias
        return kernel * factor.view(-1, 1, 1, 1), shift

    wide, narrow = block.wide, block.narrow
    with torch.no_grad():
        weight, bias = fold(wide.weight, wide.bias, block.wide_norm)
        w, b = fold(F.pad(narrow.weight, (1, 1, 1, 1)), narrow.bias, block.narrow_norm)
        weight, bias = weight + w, bias + b
        if block.skip is not None:
            identity = torch.zeros_like(wide.weight)
            for i in range(wide.out_channels):
                identity[i, min(i, wide.in_channels // wide.groups - 1), 1, 1] = 1
            w, b = fold(identity, None, block.skip)
            weight, bias = weight + w, bias + b
        conv = nn.Conv2d(
            wide.in_channels, wide.out_channels, 3, wide.stride, 1, groups=wide.groups
        ).to(weight)
        conv.weight.copy_(weight)
        conv.bias.copy_(bias)
    return conv


# %% wrong="identity over the whole kernel" says=["the identity's 1 stands in the middle of the kernel alone"]
def fold_batch_norm(block):
    def fold(kernel, bias, norm):
        factor = 1 / (norm.running_var + norm.eps).sqrt()
        shift = -norm.running_mean
        if bias is not None:
            shift = shift + bias
        if norm.affine:
            factor = factor * norm.weight
        shift = shift * factor
        if norm.affine:
            shift = shift + norm.bias
        return kernel * factor.view(-1, 1, 1, 1), shift

    wide, narrow = block.wide, block.narrow
    with torch.no_grad():
        weight, bias = fold(wide.weight, wide.bias, block.wide_norm)
        w, b = fold(F.pad(narrow.weight, (1, 1, 1, 1)), narrow.bias, block.narrow_norm)
        weight, bias = weight + w, bias + b
        if block.skip is not None:
            identity = torch.zeros_like(wide.weight)
            for i in range(wide.out_channels):
                identity[i, i % (wide.in_channels // wide.groups)] = 1
            w, b = fold(identity, None, block.skip)
            weight, bias = weight + w, bias + b
        conv = nn.Conv2d(
            wide.in_channels, wide.out_channels, 3, wide.stride, 1, groups=wide.groups
        ).to(weight)
        conv.weight.copy_(weight)
        conv.bias.copy_(bias)
    return conv


# %% wrong="kernel scaled by input channel" says=["a filter is scaled by its output channel's factor"]
def fold_batch_norm(block):
    def fold(kernel, bias, norm):
        factor = 1 / (norm.running_var + norm.eps).sqrt()
        shift = -norm.running_mean
        if bias is not None:
            shift = shift + bias
        if norm.affine:
            factor = factor * norm.weight
        shift = shift * factor
        if norm.affine:
            shift = shift + norm.bias
        return kernel * (
            factor.view(1, -1, 1, 1) if kernel.shape[1] == len(factor) else factor.view(-1, 1, 1, 1)
        ), shift

    wide, narrow = block.wide, block.narrow
    with torch.no_grad():
        weight, bias = fold(wide.weight, wide.bias, block.wide_norm)
        w, b = fold(F.pad(narrow.weight, (1, 1, 1, 1)), narrow.bias, block.narrow_norm)
        weight, bias = weight + w, bias + b
        if block.skip is not None:
            identity = torch.zeros_like(wide.weight)
            for i in range(wide.out_channels):
                identity[i, i % (wide.in_channels // wide.groups), 1, 1] = 1
            w, b = fold(identity, None, block.skip)
            weight, bias = weight + w, bias + b
        conv = nn.Conv2d(
            wide.in_channels, wide.out_channels, 3, wide.stride, 1, groups=wide.groups
        ).to(weight)
        conv.weight.copy_(weight)
        conv.bias.copy_(bias)
    return conv


# %% wrong="kernels averaged" says=["a half of their sum was taken"]
def fold_batch_norm(block):
    def fold(kernel, bias, norm):
        factor = 1 / (norm.running_var + norm.eps).sqrt()
        shift = -norm.running_mean
        if bias is not None:
            shift = shift + bias
        if norm.affine:
            factor = factor * norm.weight
        shift = shift * factor
        if norm.affine:
            shift = shift + norm.bias
        return kernel * factor.view(-1, 1, 1, 1), shift

    wide, narrow = block.wide, block.narrow
    with torch.no_grad():
        weight, bias = fold(wide.weight, wide.bias, block.wide_norm)
        w, b = fold(F.pad(narrow.weight, (1, 1, 1, 1)), narrow.bias, block.narrow_norm)
        weight, bias = (weight + w) / 2, (bias + b) / 2
        if block.skip is not None:
            identity = torch.zeros_like(wide.weight)
            for i in range(wide.out_channels):
                identity[i, i % (wide.in_channels // wide.groups), 1, 1] = 1
            w, b = fold(identity, None, block.skip)
            weight, bias = weight + w, bias + b
        conv = nn.Conv2d(
            wide.in_channels, wide.out_channels, 3, wide.stride, 1, groups=wide.groups
        ).to(weight)
        conv.weight.copy_(weight)
        conv.bias.copy_(bias)
    return conv


# %% wrong="device of the default" says=["The convolution is on another device than the block"]
def fold_batch_norm(block):
    def fold(kernel, bias, norm):
        factor = 1 / (norm.running_var + norm.eps).sqrt()
        shift = -norm.running_mean
        if bias is not None:
            shift = shift + bias
        if norm.affine:
            factor = factor * norm.weight
        shift = shift * factor
        if norm.affine:
            shift = shift + norm.bias
        return kernel * factor.view(-1, 1, 1, 1), shift

    wide, narrow = block.wide, block.narrow
    with torch.no_grad():
        weight, bias = fold(wide.weight, wide.bias, block.wide_norm)
        w, b = fold(F.pad(narrow.weight, (1, 1, 1, 1)), narrow.bias, block.narrow_norm)
        weight, bias = weight + w, bias + b
        if block.skip is not None:
            identity = torch.zeros_like(wide.weight)
            for i in range(wide.out_channels):
                identity[i, i % (wide.in_channels // wide.groups), 1, 1] = 1
            w, b = fold(identity, None, block.skip)
            weight, bias = weight + w, bias + b
        conv = nn.Conv2d(
            wide.in_channels, wide.out_channels, 3, wide.stride, 1, groups=wide.groups
        ).to(weight.dtype)
        conv.weight.copy_(weight)
        conv.bias.copy_(bias)
    return conv


# %% wrong="float32 for half" says=["bfloat16: the convolution is float32, the block bfloat16"]
def fold_batch_norm(block):
    def folded(kernel, bias, norm):
        factor = 1 / (norm.running_var + norm.eps).sqrt()
        shift = -norm.running_mean * factor
        if norm.affine:
            factor, shift = factor * norm.weight, shift * norm.weight + norm.bias
        if bias is not None:
            shift = shift + bias * (factor)
        return kernel * factor.view(-1, 1, 1, 1), shift

    wide = block.wide
    with torch.no_grad():
        w, b = folded(wide.weight, wide.bias, block.wide_norm)
        w1, b1 = folded(block.narrow.weight, block.narrow.bias, block.narrow_norm)
        w, b = w + F.pad(w1, (1, 1, 1, 1)), b + b1
        if block.skip is not None:
            eye = torch.zeros_like(wide.weight)
            for c in range(eye.shape[0]):
                eye[c, c % eye.shape[1], 1, 1] = 1
            w2, b2 = folded(eye, None, block.skip)
            w, b = w + w2, b + b2
        conv = nn.Conv2d(
            wide.in_channels, wide.out_channels, 3, wide.stride, 1, groups=wide.groups
        ).to(
            wide.weight.device,
            torch.float64 if wide.weight.dtype == torch.float64 else torch.float32,
        )
        conv.weight.copy_(w)
        conv.bias.copy_(b)
    return conv


# %% wrong="float64 for float16" says=["float16: the convolution is float64, the block float16"]
def fold_batch_norm(block):
    wide = block.wide

    def folded(kernel, bias, norm):
        gamma = torch.ones_like(norm.running_var) if norm.weight is None else norm.weight.detach()
        beta = torch.zeros_like(norm.running_mean) if norm.bias is None else norm.bias.detach()
        bias = 0 if bias is None else bias.detach()
        factor = gamma / (norm.running_var + norm.eps).sqrt()
        return kernel.detach() * factor.view(-1, 1, 1, 1), (
            bias - norm.running_mean
        ) * factor + beta

    parts = [folded(wide.weight, wide.bias, block.wide_norm)]
    parts.append(
        folded(F.pad(block.narrow.weight, (1, 1, 1, 1)), block.narrow.bias, block.narrow_norm)
    )
    if block.skip is not None:
        identity = torch.zeros_like(wide.weight)
        group = wide.weight.shape[1]
        for o in range(wide.out_channels):
            identity[o, o % group, 1, 1] = 1
        parts.append(folded(identity, None, block.skip))
    result = nn.Conv2d(
        wide.in_channels, wide.out_channels, 3, stride=wide.stride, padding=1, groups=wide.groups
    )
    result = result.to(
        wide.weight.device,
        torch.float64 if wide.weight.dtype == torch.float16 else wide.weight.dtype,
    )
    with torch.no_grad():
        result.weight.copy_(sum(k for k, _ in parts))
        result.bias.copy_(sum(b for _, b in parts))
    return result


# %% wrong="asks the 3 × 3 convolution alone for a bias" breaks="may have a bias or none" says=["here, none there", "own bias is missing"]
def fold_batch_norm(block):
    wide = block.wide

    def folded(kernel, bias, norm):
        factor = 1 / (norm.running_var + norm.eps).sqrt()
        start = -norm.running_mean if bias is None else bias - norm.running_mean
        if norm.affine:
            return kernel * (factor * norm.weight).view(
                -1, 1, 1, 1
            ), start * factor * norm.weight + norm.bias
        return kernel * factor.view(-1, 1, 1, 1), start * factor

    with torch.no_grad():
        narrow = F.pad(block.narrow.weight, (1, 1, 1, 1))
        parts = [folded(wide.weight, wide.bias, block.wide_norm)]
        bias = None if wide.bias is None else block.narrow.bias
        parts.append(folded(narrow, bias, block.narrow_norm))
        if block.skip is not None:
            unit = torch.zeros_like(wide.weight)
            for n in range(len(unit)):
                unit[n, n % unit.shape[1], 1, 1] = 1
            parts.append(folded(unit, None, block.skip))
        conv = nn.Conv2d(
            wide.in_channels, wide.out_channels, 3, wide.stride, 1, groups=wide.groups
        ).to(wide.weight)
        conv.weight.copy_(sum(weight for weight, _ in parts))
        conv.bias.copy_(sum(bias for _, bias in parts))
    return conv


# %% wrong="folds in float32" breaks="stride, dtype and device" says=["float64: its output is right to a few digits only"]
def fold_batch_norm(block):
    wide = block.wide

    def folded(kernel, bias, norm):
        factor = 1 / (norm.running_var.float() + norm.eps).sqrt()
        start = -norm.running_mean if bias is None else bias - norm.running_mean
        if norm.affine:
            return kernel * (factor * norm.weight).view(
                -1, 1, 1, 1
            ), start * factor * norm.weight + norm.bias
        return kernel * factor.view(-1, 1, 1, 1), start * factor

    with torch.no_grad():
        narrow = F.pad(block.narrow.weight, (1, 1, 1, 1))
        parts = [folded(wide.weight, wide.bias, block.wide_norm)]
        parts.append(folded(narrow, block.narrow.bias, block.narrow_norm))
        if block.skip is not None:
            unit = torch.zeros_like(wide.weight)
            for n in range(len(unit)):
                unit[n, n % unit.shape[1], 1, 1] = 1
            parts.append(folded(unit, None, block.skip))
        conv = nn.Conv2d(
            wide.in_channels, wide.out_channels, 3, wide.stride, 1, groups=wide.groups
        ).to(wide.weight)
        conv.weight.copy_(sum(weight for weight, _ in parts))
        conv.bias.copy_(sum(bias for _, bias in parts))
    return conv


# %% wrong="the input's own branch is left out where there is a group for each channel" breaks="and the groups" says=["depthwise: its output", "the input's own branch"]
def fold_batch_norm(block):
    wide = block.wide

    def folded(kernel, bias, norm):
        factor = 1 / (norm.running_var + norm.eps).sqrt()
        start = -norm.running_mean if bias is None else bias - norm.running_mean
        if norm.affine:
            return kernel * (factor * norm.weight).view(
                -1, 1, 1, 1
            ), start * factor * norm.weight + norm.bias
        return kernel * factor.view(-1, 1, 1, 1), start * factor

    with torch.no_grad():
        narrow = F.pad(block.narrow.weight, (1, 1, 1, 1))
        parts = [folded(wide.weight, wide.bias, block.wide_norm)]
        parts.append(folded(narrow, block.narrow.bias, block.narrow_norm))
        if block.skip is not None and wide.groups < wide.in_channels:
            unit = torch.zeros_like(wide.weight)
            for n in range(len(unit)):
                unit[n, n % unit.shape[1], 1, 1] = 1
            parts.append(folded(unit, None, block.skip))
        conv = nn.Conv2d(
            wide.in_channels, wide.out_channels, 3, wide.stride, 1, groups=wide.groups
        ).to(wide.weight)
        conv.weight.copy_(sum(weight for weight, _ in parts))
        conv.bias.copy_(sum(bias for _, bias in parts))
    return conv


# %% wrong="weights keep a graph to the block" says=["weight and bias are no parameters"]
def fold_batch_norm(block: RepBlock) -> nn.Conv2d:
    """One convolution that does what the block does in eval mode."""
    wide = block.wide

    def fold(kernel, bias, norm):
        factor = 1 / (norm.running_var + norm.eps).sqrt()
        if norm.affine:
            factor = factor * norm.weight
        bias = 0 if bias is None else bias
        shift = (bias - norm.running_mean) * factor
        if norm.affine:
            shift = shift + norm.bias
        return kernel * factor.view(-1, 1, 1, 1), shift

    with torch.enable_grad():
        weight, bias = fold(wide.weight, wide.bias, block.wide_norm)
        kernel, shift = fold(
            F.pad(block.narrow.weight, (1, 1, 1, 1)), block.narrow.bias, block.narrow_norm
        )
        weight, bias = weight + kernel, bias + shift
        if block.skip is not None:
            identity = torch.zeros_like(wide.weight)
            per_group = identity.shape[1]
            for n in range(identity.shape[0]):
                identity[n, n % per_group, 1, 1] = 1
            kernel, shift = fold(identity, None, block.skip)
            weight, bias = weight + kernel, bias + shift
        conv = nn.Conv2d(
            wide.in_channels,
            wide.out_channels,
            3,
            stride=wide.stride,
            padding=1,
            groups=wide.groups,
        ).to(weight)
        del conv.weight, conv.bias
        conv.weight, conv.bias = weight, bias
    return conv.eval()


# %% wrong="a bias only where the block has one" says=["no bias, norms without weights: the convolution has no bias"]
def fold_batch_norm(block: RepBlock) -> nn.Conv2d:
    """One convolution that does what the block does in eval mode."""
    wide = block.wide

    def fold(kernel, bias, norm):
        factor = 1 / (norm.running_var + norm.eps).sqrt()
        if norm.affine:
            factor = factor * norm.weight
        bias = 0 if bias is None else bias
        shift = (bias - norm.running_mean) * factor
        if norm.affine:
            shift = shift + norm.bias
        return kernel * factor.view(-1, 1, 1, 1), shift

    with torch.no_grad():
        weight, bias = fold(wide.weight, wide.bias, block.wide_norm)
        kernel, shift = fold(
            F.pad(block.narrow.weight, (1, 1, 1, 1)), block.narrow.bias, block.narrow_norm
        )
        weight, bias = weight + kernel, bias + shift
        if block.skip is not None:
            identity = torch.zeros_like(wide.weight)
            per_group = identity.shape[1]
            for n in range(identity.shape[0]):
                identity[n, n % per_group, 1, 1] = 1
            kernel, shift = fold(identity, None, block.skip)
            weight, bias = weight + kernel, bias + shift
        conv = nn.Conv2d(
            wide.in_channels,
            wide.out_channels,
            3,
            stride=wide.stride,
            padding=1,
            groups=wide.groups,
        ).to(weight)
        conv.weight.copy_(weight)
        if wide.bias is None and block.narrow.bias is None and not block.wide_norm.affine:
            conv.bias = None
        else:
            conv.bias.copy_(bias)
    return conv.eval()


# %% wrong="the identity of two groups at most" says=["three groups: its output"]
def folded(kernel, bias, norm):
    factor = 1 / (norm.running_var + norm.eps).sqrt()
    if norm.weight is not None:
        factor = factor * norm.weight
    shift = -norm.running_mean * factor
    if norm.bias is not None:
        shift = shift + norm.bias
    if bias is not None:
        shift = shift + bias * factor
    return kernel * factor.view(-1, 1, 1, 1), shift


@torch.no_grad()
def fold_batch_norm(block):
    wide = block.wide
    weight, bias = folded(wide.weight, wide.bias, block.wide_norm)
    one, shift = folded(
        F.pad(block.narrow.weight, (1, 1, 1, 1)), block.narrow.bias, block.narrow_norm
    )
    weight, bias = weight + one, bias + shift
    if block.skip is not None:
        identity = torch.zeros_like(wide.weight)
        for n in range(wide.out_channels):
            identity[n, n % identity.shape[1] if wide.groups <= 2 else 0, 1, 1] = 1
        more, shift = folded(identity, None, block.skip)
        weight, bias = weight + more, bias + shift
    conv = nn.Conv2d(wide.in_channels, wide.out_channels, 3, wide.stride, 1, groups=wide.groups).to(
        weight
    )
    conv.weight.copy_(weight)
    conv.bias.copy_(bias)
    return conv


# %% wrong="kept by the block" says=["two branches: folded again, with other weights in the block: its output: that is the first one"]
def fold_batch_norm(block, done={}):
    if block in done:
        return done[block]
    conv = nn.Conv2d(
        block.wide.in_channels,
        block.wide.out_channels,
        3,
        stride=block.wide.stride,
        padding=1,
        groups=block.wide.groups,
    ).to(block.wide.weight)
    eye = torch.zeros_like(block.wide.weight)
    for n in range(len(eye)):
        eye[n, n % eye.shape[1], 1, 1] = 1
    parts = [
        (block.wide.weight, block.wide.bias, block.wide_norm),
        (F.pad(block.narrow.weight, (1, 1, 1, 1)), block.narrow.bias, block.narrow_norm),
    ]
    if block.skip is not None:
        parts.append((eye, None, block.skip))
    with torch.no_grad():
        weight, bias = torch.zeros_like(conv.weight), torch.zeros_like(conv.bias)
        for kernel, b, norm in parts:
            factor = 1 / torch.sqrt(norm.running_var + norm.eps)
            factor = factor * norm.weight if norm.affine else factor
            weight += kernel * factor.view(-1, 1, 1, 1)
            bias += ((0 if b is None else b) - norm.running_mean) * factor + (
                norm.bias if norm.affine else 0
            )
        conv.weight.copy_(weight)
        conv.bias.copy_(bias)
    done[block] = conv
    return conv


# %% wrong="one convolution for all blocks of a kind" says=["two branches: its output after a second call of fold_batch_norm"]
def fold_batch_norm(block, done={}):
    key = (block.wide.in_channels, block.wide.out_channels, block.wide.groups, block.wide.stride)
    key = (*key, block.wide.weight.dtype, block.wide.weight.device)
    conv = done.get(key) or nn.Conv2d(
        block.wide.in_channels,
        block.wide.out_channels,
        3,
        stride=block.wide.stride,
        padding=1,
        groups=block.wide.groups,
    ).to(block.wide.weight)
    eye = torch.zeros_like(block.wide.weight)
    for n in range(len(eye)):
        eye[n, n % eye.shape[1], 1, 1] = 1
    parts = [
        (block.wide.weight, block.wide.bias, block.wide_norm),
        (F.pad(block.narrow.weight, (1, 1, 1, 1)), block.narrow.bias, block.narrow_norm),
    ]
    if block.skip is not None:
        parts.append((eye, None, block.skip))
    with torch.no_grad():
        weight, bias = torch.zeros_like(conv.weight), torch.zeros_like(conv.bias)
        for kernel, b, norm in parts:
            factor = 1 / torch.sqrt(norm.running_var + norm.eps)
            factor = factor * norm.weight if norm.affine else factor
            weight += kernel * factor.view(-1, 1, 1, 1)
            bias += ((0 if b is None else b) - norm.running_mean) * factor + (
                norm.bias if norm.affine else 0
            )
        conv.weight.copy_(weight)
        conv.bias.copy_(bias)
    done[key] = conv
    return conv


# %% wrong="skip with the first norm's eps" says=["with the input's own: its output: each norm has its own eps, skip as well"]
def fold_batch_norm(block):
    conv = nn.Conv2d(
        block.wide.in_channels,
        block.wide.out_channels,
        3,
        stride=block.wide.stride,
        padding=1,
        groups=block.wide.groups,
    ).to(block.wide.weight)
    weight, bias = torch.zeros_like(conv.weight), torch.zeros_like(conv.bias)
    eye = torch.zeros_like(block.wide.weight)
    for n in range(len(eye)):
        eye[n, n % eye.shape[1], 1, 1] = 1
    parts = [
        (block.wide.weight, block.wide.bias, block.wide_norm),
        (F.pad(block.narrow.weight, (1, 1, 1, 1)), block.narrow.bias, block.narrow_norm),
    ]
    if block.skip is not None:
        parts.append((eye, None, block.skip))
    with torch.no_grad():
        for kernel, b, norm in parts:
            factor = 1 / torch.sqrt(
                norm.running_var + block.wide_norm.eps
                if norm is block.skip
                else norm.running_var + norm.eps
            )
            factor = factor * norm.weight if norm.affine else factor
            weight += kernel * factor.view(-1, 1, 1, 1)
            bias += ((0 if b is None else b) - norm.running_mean) * factor + (
                norm.bias if norm.affine else 0
            )
        conv.weight.copy_(weight)
        conv.bias.copy_(bias)
    return conv


# %% wrong="dirac without groups" says=["two groups of three: its output: with groups, input channels are counted anew"]
def fold_batch_norm(block: RepBlock) -> nn.Conv2d:
    convs = [m for m in block.modules() if isinstance(m, nn.Conv2d)]
    large = next(c for c in convs if c.kernel_size == (3, 3))
    norms = [m for m in block.modules() if isinstance(m, nn.BatchNorm2d) and m is not block.skip]

    def folded(kernel, bias, norm):
        factor = 1 / (norm.running_var + norm.eps).sqrt()
        shift = -norm.running_mean * factor
        if bias is not None:
            shift = shift + bias * factor
        if norm.affine:
            factor, shift = factor * norm.weight, shift * norm.weight + norm.bias
        return kernel * factor.view(-1, 1, 1, 1), shift

    with torch.no_grad():
        weight, bias = 0, 0
        for conv, norm in zip(convs, norms):
            kernel = conv.weight
            if conv.kernel_size == (1, 1):
                kernel = F.pad(kernel, (1, 1, 1, 1))
            kernel, shift = folded(kernel, conv.bias, norm)
            weight, bias = weight + kernel, bias + shift
        if block.skip is not None:
            identity = torch.zeros_like(large.weight)
            nn.init.dirac_(identity)
            kernel, shift = folded(identity, None, block.skip)
            weight, bias = weight + kernel, bias + shift
        result = nn.Conv2d(
            large.in_channels, large.out_channels, 3, large.stride, 1, groups=large.groups
        ).to(large.weight)
        result.weight.copy_(weight)
        result.bias.copy_(bias)
    return result


# %% right="NumPy on the host, in float64"
import numpy as np


def parts(block):
    """(3 × 3 convolution, its norm), (1 × 1 convolution, its norm), and the skip's norm or None."""
    convs = [m for m in block.modules() if isinstance(m, nn.Conv2d)]
    norms = [m for m in block.modules() if isinstance(m, nn.BatchNorm2d) and m is not block.skip]
    pairs = sorted(zip(convs, norms, strict=True), key=lambda pair: -pair[0].kernel_size[0])
    return *pairs, block.skip


class Affine:
    """A kernel and a bias as float64 arrays, to be added up."""

    def __init__(self, kernel, bias):
        self.kernel, self.bias = kernel, bias

    def __add__(self, other):
        return Affine(self.kernel + other.kernel, self.bias + other.bias)

    def then(self, norm):
        mean, var, gamma, beta = (
            default if t is None else t.detach().double().cpu().numpy()
            for t, default in (
                (norm.running_mean, 0.0),
                (norm.running_var, 1.0),
                (norm.weight, 1.0),
                (norm.bias, 0.0),
            )
        )
        gain = gamma / np.sqrt(var + norm.eps)
        return Affine(
            np.einsum("oikl,o->oikl", self.kernel, gain), (self.bias - mean) * gain + beta
        )

    @classmethod
    def of(cls, conv):
        kernel = conv.weight.detach().double().cpu().numpy()
        rim = (3 - kernel.shape[-1]) // 2
        kernel = np.pad(kernel, [(0, 0), (0, 0), (rim, rim), (rim, rim)])
        bias = (
            np.zeros(len(kernel))
            if conv.bias is None
            else conv.bias.detach().double().cpu().numpy()
        )
        return cls(kernel, bias)


def fold_batch_norm(block: RepBlock) -> nn.Conv2d:
    (conv, norm), (point, point_norm), skip = parts(block)
    total = Affine.of(conv).then(norm) + Affine.of(point).then(point_norm)
    if skip is not None:
        kernel = np.zeros(tuple(conv.weight.shape))
        for channel in range(len(kernel)):
            kernel[channel, channel % kernel.shape[1], 1, 1] = 1
        total = total + Affine(kernel, np.zeros(len(kernel))).then(skip)
    result = nn.Conv2d(
        conv.in_channels,
        conv.out_channels,
        kernel_size=3,
        stride=conv.stride,
        padding=1,
        groups=conv.groups,
        device=conv.weight.device,
        dtype=conv.weight.dtype,
    )
    state = {"weight": torch.from_numpy(total.kernel), "bias": torch.from_numpy(total.bias)}
    result.load_state_dict(state)
    return result


# %% right="the slope of the block, by autograd"
def fold_batch_norm(block: RepBlock) -> nn.Conv2d:
    """In eval mode the block is affine: its bias is the block of zeros, its kernel the slope."""
    conv = block.wide
    down, across = conv.stride
    zeros = conv.weight.new_zeros(1, conv.in_channels, 2 * down + 1, 2 * across + 1).detach()
    with torch.enable_grad():
        slope = torch.autograd.functional.jacobian(lambda x: block(x)[0, :, 1, 1], zeros)[:, 0]
    slope = slope[:, :, down - 1 : down + 2, across - 1 : across + 2]
    inside, per = conv.weight.shape[1], conv.out_channels // conv.groups
    result = nn.Conv2d(
        conv.in_channels, conv.out_channels, 3, stride=conv.stride, padding=1, groups=conv.groups
    ).to(conv.weight)
    with torch.no_grad():
        for channel in range(conv.out_channels):
            begin = channel // per * inside
            result.weight[channel] = slope[channel, begin : begin + inside]
        result.bias.copy_(block(zeros)[0, :, 1, 1])
    return result


# %% wrong="float32 stands in for weights that a norm has not" breaks="dtype and device of the block's 3 × 3 convolution" says=["float16, norms without weights: the convolution is float32, the block float16"]
def fold_batch_norm(block: RepBlock) -> nn.Conv2d:
    def folded(kernel, bias, norm):
        channels, device = norm.num_features, kernel.device
        gamma = norm.weight if norm.affine else torch.ones(channels, device=device)
        beta = norm.bias if norm.affine else torch.zeros(channels, device=device)
        factor = gamma / (norm.running_var + norm.eps).sqrt()
        shift = -norm.running_mean if bias is None else bias - norm.running_mean
        return kernel * factor.view(-1, 1, 1, 1), shift * factor + beta

    wide, narrow = block.wide, block.narrow
    with torch.no_grad():
        parts = [folded(wide.weight, wide.bias, block.wide_norm)]
        small = F.pad(narrow.weight, (1, 1, 1, 1))
        parts.append(folded(small, narrow.bias, block.narrow_norm))
        if block.skip is not None:
            eye = nn.init.dirac_(torch.empty_like(wide.weight), wide.groups)
            parts.append(folded(eye, None, block.skip))
        conv = nn.Conv2d(wide.in_channels, wide.out_channels, 3, wide.stride, 1, groups=wide.groups)
        conv.weight = nn.Parameter(sum(weight for weight, _ in parts))
        conv.bias = nn.Parameter(sum(bias for _, bias in parts))
    return conv
