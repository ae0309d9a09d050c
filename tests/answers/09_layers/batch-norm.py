# %% [markdown]
# Rules:
#
# - "in any memory layout"
# - "All are float32 or all are float64, and so are the results"
# - "means of 10000 with a variance of 1 must come out right"
# - "In training it normalises by the batch's statistics"
# - "returns updated running ones"
# - "with one value per channel it raises `ValueError`"
# - "In eval it uses the running statistics"
# - "returns them with unchanged values"
# - "The arguments stay as they are"
# - "momentum=0.1"
# - "momentum=0.1, eps=1e-5"
# - "`grad` is the gradient of `y`"
# - "`x` and `grad` are (N, C, H, W), in any memory layout"
# - "`(grad_x, grad_weight, grad_bias)`"
# - "by formulas"
# - "without autograd"
# - "weight: torch.Tensor, eps: float = 1e-5 )"
# - "Not allowed: PyTorch's own norms"
#
# Admits:
#
# - "in any memory layout": float64, a transposed view
# - "means of 10000 with a variance of 1": numbers about 10000
# - "with one value per channel": one image of 1 x 1 in training
# - "`x` and `grad` are (N, C, H, W), in any memory layout": grad is such a view, too

# %% wrong="normalises by the unbiased variance" says=["the batch is normalised by the variance divided by n"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    column = (1, -1, 1, 1)
    mean, var = running_mean, running_var
    if training:
        n = x.numel() // x.shape[1]
        if n < 2:
            raise ValueError("one value per channel")
        mean, var = x.mean((0, 2, 3)), x.var((0, 2, 3))
        running_mean = running_mean * (1 - momentum) + mean * momentum
        running_var = running_var * (1 - momentum) + var * momentum
    hat = (x - mean.view(column)) / (var.view(column) + eps).sqrt()
    return hat * weight.view(column) + bias.view(column), running_mean, running_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    dims, column = (0, 2, 3), (1, -1, 1, 1)
    n = x.numel() // x.shape[1]
    mean = x.mean(dims, keepdim=True)
    std = (x.var(dims, correction=0, keepdim=True) + eps).sqrt()
    hat = (x - mean) / std
    grad_bias, grad_weight = grad.sum(dims), (grad * hat).sum(dims)
    inner = n * grad - grad_bias.view(column) - hat * grad_weight.view(column)
    return weight.view(column) / (n * std) * inner, grad_weight, grad_bias


# %% wrong="remembers the biased variance" says=["the running variance takes the unbiased one"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    column = (1, -1, 1, 1)
    mean, var = running_mean, running_var
    if training:
        n = x.numel() // x.shape[1]
        if n < 2:
            raise ValueError("one value per channel")
        mean, var = x.mean((0, 2, 3)), x.var((0, 2, 3), correction=0)
        running_mean = running_mean * (1 - momentum) + mean * momentum
        running_var = running_var * (1 - momentum) + var * momentum
    hat = (x - mean.view(column)) / (var.view(column) + eps).sqrt()
    return hat * weight.view(column) + bias.view(column), running_mean, running_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    dims, column = (0, 2, 3), (1, -1, 1, 1)
    n = x.numel() // x.shape[1]
    mean = x.mean(dims, keepdim=True)
    std = (x.var(dims, correction=0, keepdim=True) + eps).sqrt()
    hat = (x - mean) / std
    grad_bias, grad_weight = grad.sum(dims), (grad * hat).sum(dims)
    inner = n * grad - grad_bias.view(column) - hat * grad_weight.view(column)
    return weight.view(column) / (n * std) * inner, grad_weight, grad_bias


# %% wrong="momentum the other way round" says=["momentum is the share of the new value"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    column = (1, -1, 1, 1)
    mean, var = running_mean, running_var
    if training:
        n = x.numel() // x.shape[1]
        if n < 2:
            raise ValueError("one value per channel")
        mean, var = x.mean((0, 2, 3)), x.var((0, 2, 3), correction=0)
        running_mean = running_mean * momentum + mean * (1 - momentum)
        running_var = running_var * momentum + var * (1 - momentum) * n / (n - 1)
    hat = (x - mean.view(column)) / (var.view(column) + eps).sqrt()
    return hat * weight.view(column) + bias.view(column), running_mean, running_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    dims, column = (0, 2, 3), (1, -1, 1, 1)
    n = x.numel() // x.shape[1]
    mean = x.mean(dims, keepdim=True)
    std = (x.var(dims, correction=0, keepdim=True) + eps).sqrt()
    hat = (x - mean) / std
    grad_bias, grad_weight = grad.sum(dims), (grad * hat).sum(dims)
    inner = n * grad - grad_bias.view(column) - hat * grad_weight.view(column)
    return weight.view(column) / (n * std) * inner, grad_weight, grad_bias


# %% wrong="uses the running statistics in training" breaks="In training it normalises by the batch's statistics" says=["in training the batch's statistics are used"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    column = (1, -1, 1, 1)
    mean, var = running_mean, running_var
    if training:
        n = x.numel() // x.shape[1]
        if n < 2:
            raise ValueError("one value per channel")
        m, v = x.mean((0, 2, 3)), x.var((0, 2, 3), correction=0)
        running_mean = running_mean * (1 - momentum) + m * momentum
        running_var = running_var * (1 - momentum) + v * momentum * n / (n - 1)
    hat = (x - mean.view(column)) / (var.view(column) + eps).sqrt()
    return hat * weight.view(column) + bias.view(column), running_mean, running_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    dims, column = (0, 2, 3), (1, -1, 1, 1)
    n = x.numel() // x.shape[1]
    mean = x.mean(dims, keepdim=True)
    std = (x.var(dims, correction=0, keepdim=True) + eps).sqrt()
    hat = (x - mean) / std
    grad_bias, grad_weight = grad.sum(dims), (grad * hat).sum(dims)
    inner = n * grad - grad_bias.view(column) - hat * grad_weight.view(column)
    return weight.view(column) / (n * std) * inner, grad_weight, grad_bias


# %% wrong="always uses the batch" breaks="In eval it uses the running statistics" says=["eval: y: in training the batch's statistics are used", "one image of 1 x 1 in eval"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    column = (1, -1, 1, 1)
    mean, var = running_mean, running_var
    if True:
        n = x.numel() // x.shape[1]
        if n < 2:
            raise ValueError("one value per channel")
        mean, var = x.mean((0, 2, 3)), x.var((0, 2, 3), correction=0)
        running_mean = running_mean * (1 - momentum) + mean * momentum
        running_var = running_var * (1 - momentum) + var * momentum * n / (n - 1)
    hat = (x - mean.view(column)) / (var.view(column) + eps).sqrt()
    return hat * weight.view(column) + bias.view(column), running_mean, running_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    dims, column = (0, 2, 3), (1, -1, 1, 1)
    n = x.numel() // x.shape[1]
    mean = x.mean(dims, keepdim=True)
    std = (x.var(dims, correction=0, keepdim=True) + eps).sqrt()
    hat = (x - mean) / std
    grad_bias, grad_weight = grad.sum(dims), (grad * hat).sum(dims)
    inner = n * grad - grad_bias.view(column) - hat * grad_weight.view(column)
    return weight.view(column) / (n * std) * inner, grad_weight, grad_bias


# %% wrong="never refuses" breaks="with one value per channel it raises `ValueError`" says=["what is raised", "one value has no variance"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    column = (1, -1, 1, 1)
    mean, var = running_mean, running_var
    if training:
        n = x.numel() // x.shape[1]
        mean, var = x.mean((0, 2, 3)), x.var((0, 2, 3), correction=0)
        running_mean = running_mean * (1 - momentum) + mean * momentum
        running_var = running_var * (1 - momentum) + var * momentum * n / max(n - 1, 1)
    hat = (x - mean.view(column)) / (var.view(column) + eps).sqrt()
    return hat * weight.view(column) + bias.view(column), running_mean, running_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    dims, column = (0, 2, 3), (1, -1, 1, 1)
    n = x.numel() // x.shape[1]
    mean = x.mean(dims, keepdim=True)
    std = (x.var(dims, correction=0, keepdim=True) + eps).sqrt()
    hat = (x - mean) / std
    grad_bias, grad_weight = grad.sum(dims), (grad * hat).sum(dims)
    inner = n * grad - grad_bias.view(column) - hat * grad_weight.view(column)
    return weight.view(column) / (n * std) * inner, grad_weight, grad_bias


# %% wrong="updates the arguments" breaks="The arguments stay as they are" says=["an argument was changed"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    column = (1, -1, 1, 1)
    mean, var = running_mean, running_var
    if training:
        n = x.numel() // x.shape[1]
        if n < 2:
            raise ValueError("one value per channel")
        mean, var = x.mean((0, 2, 3)), x.var((0, 2, 3), correction=0)
        running_mean.mul_(1 - momentum).add_(mean * momentum)
        running_var = running_var * (1 - momentum) + var * momentum * n / (n - 1)
    hat = (x - mean.view(column)) / (var.view(column) + eps).sqrt()
    return hat * weight.view(column) + bias.view(column), running_mean, running_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    dims, column = (0, 2, 3), (1, -1, 1, 1)
    n = x.numel() // x.shape[1]
    mean = x.mean(dims, keepdim=True)
    std = (x.var(dims, correction=0, keepdim=True) + eps).sqrt()
    hat = (x - mean) / std
    grad_bias, grad_weight = grad.sum(dims), (grad * hat).sum(dims)
    inner = n * grad - grad_bias.view(column) - hat * grad_weight.view(column)
    return weight.view(column) / (n * std) * inner, grad_weight, grad_bias


# %% wrong="a mean for each image" says=["raised RuntimeError"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    column = (1, -1, 1, 1)
    mean, var = running_mean, running_var
    if training:
        n = x.numel() // x.shape[1]
        if n < 2:
            raise ValueError("one value per channel")
        mean, var = x.mean((2, 3)), x.var((2, 3), correction=0)
        running_mean = running_mean * (1 - momentum) + mean * momentum
        running_var = running_var * (1 - momentum) + var * momentum * n / (n - 1)
    hat = (x - mean.view(column)) / (var.view(column) + eps).sqrt()
    return hat * weight.view(column) + bias.view(column), running_mean, running_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    dims, column = (0, 2, 3), (1, -1, 1, 1)
    n = x.numel() // x.shape[1]
    mean = x.mean(dims, keepdim=True)
    std = (x.var(dims, correction=0, keepdim=True) + eps).sqrt()
    hat = (x - mean) / std
    grad_bias, grad_weight = grad.sum(dims), (grad * hat).sum(dims)
    inner = n * grad - grad_bias.view(column) - hat * grad_weight.view(column)
    return weight.view(column) / (n * std) * inner, grad_weight, grad_bias


# %% wrong="forgets weight and bias" says=["weight and bias are missing"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    column = (1, -1, 1, 1)
    mean, var = running_mean, running_var
    if training:
        n = x.numel() // x.shape[1]
        if n < 2:
            raise ValueError("one value per channel")
        mean, var = x.mean((0, 2, 3)), x.var((0, 2, 3), correction=0)
        running_mean = running_mean * (1 - momentum) + mean * momentum
        running_var = running_var * (1 - momentum) + var * momentum * n / (n - 1)
    hat = (x - mean.view(column)) / (var.view(column) + eps).sqrt()
    return hat, running_mean, running_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    dims, column = (0, 2, 3), (1, -1, 1, 1)
    n = x.numel() // x.shape[1]
    mean = x.mean(dims, keepdim=True)
    std = (x.var(dims, correction=0, keepdim=True) + eps).sqrt()
    hat = (x - mean) / std
    grad_bias, grad_weight = grad.sum(dims), (grad * hat).sum(dims)
    inner = n * grad - grad_bias.view(column) - hat * grad_weight.view(column)
    return weight.view(column) / (n * std) * inner, grad_weight, grad_bias


# %% wrong="eps outside the root" says=["eps is added to the variance, under the root"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    column = (1, -1, 1, 1)
    mean, var = running_mean, running_var
    if training:
        n = x.numel() // x.shape[1]
        if n < 2:
            raise ValueError("one value per channel")
        mean, var = x.mean((0, 2, 3)), x.var((0, 2, 3), correction=0)
        running_mean = running_mean * (1 - momentum) + mean * momentum
        running_var = running_var * (1 - momentum) + var * momentum * n / (n - 1)
    hat = (x - mean.view(column)) / (var.view(column).sqrt() + eps)
    return hat * weight.view(column) + bias.view(column), running_mean, running_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    dims, column = (0, 2, 3), (1, -1, 1, 1)
    n = x.numel() // x.shape[1]
    mean = x.mean(dims, keepdim=True)
    std = (x.var(dims, correction=0, keepdim=True) + eps).sqrt()
    hat = (x - mean) / std
    grad_bias, grad_weight = grad.sum(dims), (grad * hat).sum(dims)
    inner = n * grad - grad_bias.view(column) - hat * grad_weight.view(column)
    return weight.view(column) / (n * std) * inner, grad_weight, grad_bias


# %% wrong="the library" breaks="Not allowed: PyTorch's own norms" says=["the answer calls batch_norm"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    mean, var = running_mean.clone(), running_var.clone()
    y = F.batch_norm(x, mean, var, weight, bias, training, momentum, eps)
    return y, mean, var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    dims, column = (0, 2, 3), (1, -1, 1, 1)
    n = x.numel() // x.shape[1]
    mean = x.mean(dims, keepdim=True)
    std = (x.var(dims, correction=0, keepdim=True) + eps).sqrt()
    hat = (x - mean) / std
    grad_bias, grad_weight = grad.sum(dims), (grad * hat).sum(dims)
    inner = n * grad - grad_bias.view(column) - hat * grad_weight.view(column)
    return weight.view(column) / (n * std) * inner, grad_weight, grad_bias


# %% wrong="mean and variance are constants in backward" says=["mean and variance depend on x too"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    column = (1, -1, 1, 1)
    mean, var = running_mean, running_var
    if training:
        n = x.numel() // x.shape[1]
        if n < 2:
            raise ValueError("one value per channel")
        mean, var = x.mean((0, 2, 3)), x.var((0, 2, 3), correction=0)
        running_mean = running_mean * (1 - momentum) + mean * momentum
        running_var = running_var * (1 - momentum) + var * momentum * n / (n - 1)
    hat = (x - mean.view(column)) / (var.view(column) + eps).sqrt()
    return hat * weight.view(column) + bias.view(column), running_mean, running_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    dims, column = (0, 2, 3), (1, -1, 1, 1)
    n = x.numel() // x.shape[1]
    mean = x.mean(dims, keepdim=True)
    std = (x.var(dims, correction=0, keepdim=True) + eps).sqrt()
    hat = (x - mean) / std
    grad_bias, grad_weight = grad.sum(dims), (grad * hat).sum(dims)
    inner = n * grad
    return weight.view(column) / (n * std) * inner, grad_weight, grad_bias


# %% wrong="only the mean is differentiated" says=["the variance depends on x too"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    column = (1, -1, 1, 1)
    mean, var = running_mean, running_var
    if training:
        n = x.numel() // x.shape[1]
        if n < 2:
            raise ValueError("one value per channel")
        mean, var = x.mean((0, 2, 3)), x.var((0, 2, 3), correction=0)
        running_mean = running_mean * (1 - momentum) + mean * momentum
        running_var = running_var * (1 - momentum) + var * momentum * n / (n - 1)
    hat = (x - mean.view(column)) / (var.view(column) + eps).sqrt()
    return hat * weight.view(column) + bias.view(column), running_mean, running_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    dims, column = (0, 2, 3), (1, -1, 1, 1)
    n = x.numel() // x.shape[1]
    mean = x.mean(dims, keepdim=True)
    std = (x.var(dims, correction=0, keepdim=True) + eps).sqrt()
    hat = (x - mean) / std
    grad_bias, grad_weight = grad.sum(dims), (grad * hat).sum(dims)
    inner = n * grad - grad_bias.view(column)
    return weight.view(column) / (n * std) * inner, grad_weight, grad_bias


# %% wrong="backward forgets the weight" breaks="`grad` is the gradient of `y`" says=["after the weight: multiply by it"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    column = (1, -1, 1, 1)
    mean, var = running_mean, running_var
    if training:
        n = x.numel() // x.shape[1]
        if n < 2:
            raise ValueError("one value per channel")
        mean, var = x.mean((0, 2, 3)), x.var((0, 2, 3), correction=0)
        running_mean = running_mean * (1 - momentum) + mean * momentum
        running_var = running_var * (1 - momentum) + var * momentum * n / (n - 1)
    hat = (x - mean.view(column)) / (var.view(column) + eps).sqrt()
    return hat * weight.view(column) + bias.view(column), running_mean, running_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    dims, column = (0, 2, 3), (1, -1, 1, 1)
    n = x.numel() // x.shape[1]
    mean = x.mean(dims, keepdim=True)
    std = (x.var(dims, correction=0, keepdim=True) + eps).sqrt()
    hat = (x - mean) / std
    grad_bias, grad_weight = grad.sum(dims), (grad * hat).sum(dims)
    inner = n * grad - grad_bias.view(column) - hat * grad_weight.view(column)
    return 1 / (n * std) * inner, grad_weight, grad_bias


# %% wrong="backward by autograd" breaks="without autograd" says=["the answer calls autograd.grad"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    column = (1, -1, 1, 1)
    mean, var = running_mean, running_var
    if training:
        n = x.numel() // x.shape[1]
        if n < 2:
            raise ValueError("one value per channel")
        mean, var = x.mean((0, 2, 3)), x.var((0, 2, 3), correction=0)
        running_mean = running_mean * (1 - momentum) + mean * momentum
        running_var = running_var * (1 - momentum) + var * momentum * n / (n - 1)
    hat = (x - mean.view(column)) / (var.view(column) + eps).sqrt()
    return hat * weight.view(column) + bias.view(column), running_mean, running_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    x, weight = x.clone().requires_grad_(), weight.clone().requires_grad_()
    bias = torch.zeros_like(weight, requires_grad=True)
    zero, one = torch.zeros_like(weight), torch.ones_like(weight)
    y = batch_norm(x, weight, bias, zero, one, True, 0.1, eps)[0]
    return torch.autograd.grad(y, (x, weight, bias), grad)


# %% wrong="gradients of weight and bias as means" says=["a sum, not a mean"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    column = (1, -1, 1, 1)
    mean, var = running_mean, running_var
    if training:
        n = x.numel() // x.shape[1]
        if n < 2:
            raise ValueError("one value per channel")
        mean, var = x.mean((0, 2, 3)), x.var((0, 2, 3), correction=0)
        running_mean = running_mean * (1 - momentum) + mean * momentum
        running_var = running_var * (1 - momentum) + var * momentum * n / (n - 1)
    hat = (x - mean.view(column)) / (var.view(column) + eps).sqrt()
    return hat * weight.view(column) + bias.view(column), running_mean, running_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    dims, column = (0, 2, 3), (1, -1, 1, 1)
    n = x.numel() // x.shape[1]
    mean = x.mean(dims, keepdim=True)
    std = (x.var(dims, correction=0, keepdim=True) + eps).sqrt()
    hat = (x - mean) / std
    grad_bias, grad_weight = grad.sum(dims), (grad * hat).sum(dims)
    inner = n * grad - grad_bias.view(column) - hat * grad_weight.view(column)
    return weight.view(column) / (n * std) * inner, grad_weight / n, grad_bias / n


# %% right="by the textbook, without var"
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    column = (1, -1, 1, 1)
    mean, var = running_mean, running_var
    if training:
        n = x.numel() // x.shape[1]
        if n < 2:
            raise ValueError("one value per channel")
        mean, var = x.mean((0, 2, 3)), x.var((0, 2, 3), correction=0)
        running_mean = running_mean * (1 - momentum) + mean * momentum
        running_var = running_var * (1 - momentum) + var * momentum * n / (n - 1)
    hat = (x - mean.view(column)) / (var.view(column) + eps).sqrt()
    return hat * weight.view(column) + bias.view(column), running_mean, running_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    dims, column = (0, 2, 3), (1, -1, 1, 1)
    n = x.numel() // x.shape[1]
    mean = x.mean(dims, keepdim=True)
    std = (x.var(dims, correction=0, keepdim=True) + eps).sqrt()
    hat = (x - mean) / std
    grad_bias, grad_weight = grad.sum(dims), (grad * hat).sum(dims)
    inner = n * grad - grad_bias.view(column) - hat * grad_weight.view(column)
    return weight.view(column) / (n * std) * inner, grad_weight, grad_bias


# %% right="channels last, and one loop over them"
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    rows = x.movedim(1, -1)
    flat = rows.reshape(-1, x.shape[1])
    if training and len(flat) == 1:
        raise ValueError(flat.shape)
    if training:
        mean = flat.sum(0) / len(flat)
        squares = ((flat - mean) ** 2).sum(0)
        var = squares / len(flat)
        running_mean = torch.lerp(running_mean, mean, momentum)
        running_var = torch.lerp(running_var, squares / (len(flat) - 1), momentum)
    else:
        mean, var = running_mean, running_var
    y = torch.rsqrt(var + eps) * weight * (rows - mean) + bias
    return [y.movedim(-1, 1), running_mean, running_var]


def batch_norm_backward(grad, x, weight, eps=1e-5):
    parts = []
    for g, values, w in zip(grad.transpose(0, 1), x.transpose(0, 1), weight):
        g, values = g.flatten(), values.flatten()
        var, mean = torch.var_mean(values, correction=0)
        hat = (values - mean) * (var + eps) ** -0.5
        inner = w * (g - g.mean() - hat * torch.dot(g, hat) / len(g)) * (var + eps) ** -0.5
        parts.append((inner.view(len(x), *x.shape[2:]), torch.dot(g, hat), g.sum()))
    xs, ws, bs = zip(*parts)
    return torch.stack(xs, 1), torch.stack(ws), torch.stack(bs)


# %% wrong="ValueError whenever the batch is one image" says=["training on one image of 2 x 3 pixels", "raised ValueError"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    col = lambda t: t.view(1, -1, 1, 1)
    if training:
        n = x.numel() // x.shape[1]
        if x.shape[0] == 1:
            raise ValueError("one value per channel")
        var, mean = torch.var_mean(x, dim=(0, 2, 3), correction=0)
        new_mean = (1 - momentum) * running_mean + momentum * mean
        new_var = (1 - momentum) * running_var + momentum * var * n / (n - 1)
    else:
        mean, var = running_mean, running_var
        new_mean, new_var = running_mean, running_var
    y = (x - col(mean)) / (col(var) + eps).sqrt() * col(weight) + col(bias)
    return y, new_mean, new_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    dims = (0, 2, 3)
    var, mean = torch.var_mean(x, dim=dims, correction=0, keepdim=True)
    std = (var + eps).sqrt()
    hat = (x - mean) / std
    g = grad * weight.view(1, -1, 1, 1)
    gx = (g - g.mean(dims, keepdim=True) - hat * (g * hat).mean(dims, keepdim=True)) / std
    return gx, (grad * hat).sum(dims), grad.sum(dims)


# %% wrong="backward normalises hat without eps" says=["eps is part of the hat as well"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    col = lambda t: t.view(1, -1, 1, 1)
    if training:
        n = x.numel() // x.shape[1]
        if n == 1:
            raise ValueError("one value per channel")
        var, mean = torch.var_mean(x, dim=(0, 2, 3), correction=0)
        new_mean = (1 - momentum) * running_mean + momentum * mean
        new_var = (1 - momentum) * running_var + momentum * var * n / (n - 1)
    else:
        mean, var = running_mean, running_var
        new_mean, new_var = running_mean, running_var
    y = (x - col(mean)) / (col(var) + eps).sqrt() * col(weight) + col(bias)
    return y, new_mean, new_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    dims = (0, 2, 3)
    var, mean = torch.var_mean(x, dim=dims, correction=0, keepdim=True)
    std = (var + eps).sqrt()
    hat = (x - mean) / var.sqrt()
    g = grad * weight.view(1, -1, 1, 1)
    gx = (g - g.mean(dims, keepdim=True) - hat * (g * hat).mean(dims, keepdim=True)) / std
    return gx, (grad * hat).sum(dims), grad.sum(dims)


# %% wrong="backward forgets to divide by std" says=["divide by the standard deviation, as the forward pass did"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    col = lambda t: t.view(1, -1, 1, 1)
    if training:
        n = x.numel() // x.shape[1]
        if n == 1:
            raise ValueError("one value per channel")
        var, mean = torch.var_mean(x, dim=(0, 2, 3), correction=0)
        new_mean = (1 - momentum) * running_mean + momentum * mean
        new_var = (1 - momentum) * running_var + momentum * var * n / (n - 1)
    else:
        mean, var = running_mean, running_var
        new_mean, new_var = running_mean, running_var
    y = (x - col(mean)) / (col(var) + eps).sqrt() * col(weight) + col(bias)
    return y, new_mean, new_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    dims = (0, 2, 3)
    var, mean = torch.var_mean(x, dim=dims, correction=0, keepdim=True)
    std = (var + eps).sqrt()
    hat = (x - mean) / std
    g = grad * weight.view(1, -1, 1, 1)
    gx = g - g.mean(dims, keepdim=True) - hat * (g * hat).mean(dims, keepdim=True)
    return gx, (grad * hat).sum(dims), grad.sum(dims)


# %% wrong="grad_weight from x, not hat" says=["weight multiplies the hat, not x"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    col = lambda t: t.view(1, -1, 1, 1)
    if training:
        n = x.numel() // x.shape[1]
        if n == 1:
            raise ValueError("one value per channel")
        var, mean = torch.var_mean(x, dim=(0, 2, 3), correction=0)
        new_mean = (1 - momentum) * running_mean + momentum * mean
        new_var = (1 - momentum) * running_var + momentum * var * n / (n - 1)
    else:
        mean, var = running_mean, running_var
        new_mean, new_var = running_mean, running_var
    y = (x - col(mean)) / (col(var) + eps).sqrt() * col(weight) + col(bias)
    return y, new_mean, new_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    dims = (0, 2, 3)
    var, mean = torch.var_mean(x, dim=dims, correction=0, keepdim=True)
    std = (var + eps).sqrt()
    hat = (x - mean) / std
    g = grad * weight.view(1, -1, 1, 1)
    gx = (g - g.mean(dims, keepdim=True) - hat * (g * hat).mean(dims, keepdim=True)) / std
    return gx, (grad * x).sum(dims), grad.sum(dims)


# %% right="lerp, einsum, channels last"
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    flat = x.movedim(1, -1).reshape(-1, x.shape[1])
    if not training:
        scale = weight * torch.rsqrt(running_var + eps)
        y = x.movedim(1, -1) * scale + (bias - running_mean * scale)
        return [y.movedim(-1, 1), running_mean.clone(), running_var.clone()]
    if len(flat) < 2:
        raise ValueError("a variance needs two values")
    mean = flat.mean(0)
    centred = flat - mean
    biased = torch.einsum("nc,nc->c", centred, centred) / len(flat)
    y = centred * (biased + eps).rsqrt() * weight + bias
    y = y.view(x.shape[0], *x.shape[2:], x.shape[1]).movedim(-1, 1)
    return [y, running_mean.lerp(mean, momentum), running_var.lerp(flat.var(0), momentum)]


def batch_norm_backward(grad, x, weight, eps=1e-5):
    n, c = x.numel() // x.shape[1], x.shape[1]
    X, G = (t.transpose(0, 1).reshape(c, -1) for t in (x, grad))
    mu = X.sum(1, keepdim=True) / n
    xc = X - mu
    inv = (xc.pow(2).sum(1, keepdim=True) / n + eps) ** -0.5
    dhat = G * weight[:, None]
    dvar = (dhat * xc).sum(1, keepdim=True) * -0.5 * inv**3
    dmu = -(dhat * inv).sum(1, keepdim=True)
    dx = dhat * inv + dvar * 2 * xc / n + dmu / n
    dx = dx.reshape(c, x.shape[0], *x.shape[2:]).transpose(0, 1)
    return dx, (G * xc * inv).sum(1), G.sum(1)


# %% wrong="E[x²] - E[x]²" breaks="means of 10000 with a variance of 1 must come out right" says=["numbers about 10000: y is right near zero and wrong at a mean of 10000"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    col = lambda t: t.view(1, -1, 1, 1)
    mean, var = running_mean, running_var
    if training:
        n = x.numel() // x.shape[1]
        if n == 1:
            raise ValueError("one value per channel")
        mean = x.mean((0, 2, 3))
        var = x.square().mean((0, 2, 3)) - mean.square()
        running_mean = (1 - momentum) * running_mean + momentum * mean
        running_var = (1 - momentum) * running_var + momentum * var * n / (n - 1)
    y = (x - col(mean)) / (col(var) + eps).sqrt() * col(weight) + col(bias)
    return y, running_mean, running_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    dims = (0, 2, 3)
    var, mean = torch.var_mean(x, dim=dims, correction=0, keepdim=True)
    std = (var + eps).sqrt()
    hat = (x - mean) / std
    g = grad * weight.view(1, -1, 1, 1)
    gx = (g - g.mean(dims, keepdim=True) - hat * (g * hat).mean(dims, keepdim=True)) / std
    return gx, (grad * hat).sum(dims), grad.sum(dims)


# %% wrong="backward in float64 for float32" breaks="All are float32 or all are float64, and so are the results" says=["grad_x has dtype torch.float64, expected torch.float32"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    col = lambda t: t.view(1, -1, 1, 1)
    mean, var = running_mean, running_var
    if training:
        n = x.numel() // x.shape[1]
        if n == 1:
            raise ValueError("one value per channel")
        mean = x.mean((0, 2, 3))
        var = (x - col(mean)).square().mean((0, 2, 3))
        running_mean = (1 - momentum) * running_mean + momentum * mean
        running_var = (1 - momentum) * running_var + momentum * var * n / (n - 1)
    y = (x - col(mean)) / (col(var) + eps).sqrt() * col(weight) + col(bias)
    return y, running_mean, running_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    dims, grad, x, weight = (0, 2, 3), grad.double(), x.double(), weight.double()
    var, mean = torch.var_mean(x, dim=dims, correction=0, keepdim=True)
    std = (var + eps).sqrt()
    hat = (x - mean) / std
    g = grad * weight.view(1, -1, 1, 1)
    gx = (g - g.mean(dims, keepdim=True) - hat * (g * hat).mean(dims, keepdim=True)) / std
    return gx, (grad * hat).sum(dims), grad.sum(dims)


# %% wrong="computes in float32" says=["float64, a transposed view: y is right to about seven digits only"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    col = lambda t: t.view(1, -1, 1, 1)
    mean, var = running_mean, running_var
    if training:
        n = x.numel() // x.shape[1]
        if n == 1:
            raise ValueError("one value per channel")
        mean = x.mean((0, 2, 3))
        var = (x - col(mean)).square().mean((0, 2, 3))
        running_mean = (1 - momentum) * running_mean + momentum * mean
        running_var = (1 - momentum) * running_var + momentum * var * n / (n - 1)
    hat = (x.float() - col(mean.float())) / (col(var.float()) + eps).sqrt()
    return (hat * col(weight) + col(bias)).to(x.dtype), running_mean, running_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    dims = (0, 2, 3)
    var, mean = torch.var_mean(x, dim=dims, correction=0, keepdim=True)
    std = (var + eps).sqrt()
    hat = (x - mean) / std
    g = grad * weight.view(1, -1, 1, 1)
    gx = (g - g.mean(dims, keepdim=True) - hat * (g * hat).mean(dims, keepdim=True)) / std
    return gx, (grad * hat).sum(dims), grad.sum(dims)


# %% wrong="divides by the variance" says=["divide by the root of the variance, not by the variance itself"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    col = lambda t: t.view(1, -1, 1, 1)
    mean, var = running_mean, running_var
    if training:
        n = x.numel() // x.shape[1]
        if n == 1:
            raise ValueError("one value per channel")
        mean = x.mean((0, 2, 3))
        var = (x - col(mean)).square().mean((0, 2, 3))
        running_mean = (1 - momentum) * running_mean + momentum * mean
        running_var = (1 - momentum) * running_var + momentum * var * n / (n - 1)
    y = (x - col(mean)) / (col(var) + eps) * col(weight) + col(bias)
    return y, running_mean, running_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    dims = (0, 2, 3)
    var, mean = torch.var_mean(x, dim=dims, correction=0, keepdim=True)
    std = (var + eps).sqrt()
    hat = (x - mean) / std
    g = grad * weight.view(1, -1, 1, 1)
    gx = (g - g.mean(dims, keepdim=True) - hat * (g * hat).mean(dims, keepdim=True)) / std
    return gx, (grad * hat).sum(dims), grad.sum(dims)


# %% wrong="eps is missing" says=["a large eps: y: eps is missing"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    col = lambda t: t.view(1, -1, 1, 1)
    mean, var = running_mean, running_var
    if training:
        n = x.numel() // x.shape[1]
        if n == 1:
            raise ValueError("one value per channel")
        mean = x.mean((0, 2, 3))
        var = (x - col(mean)).square().mean((0, 2, 3))
        running_mean = (1 - momentum) * running_mean + momentum * mean
        running_var = (1 - momentum) * running_var + momentum * var * n / (n - 1)
    y = (x - col(mean)) / col(var).sqrt() * col(weight) + col(bias)
    return y, running_mean, running_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    dims = (0, 2, 3)
    var, mean = torch.var_mean(x, dim=dims, correction=0, keepdim=True)
    std = (var + eps).sqrt()
    hat = (x - mean) / std
    g = grad * weight.view(1, -1, 1, 1)
    gx = (g - g.mean(dims, keepdim=True) - hat * (g * hat).mean(dims, keepdim=True)) / std
    return gx, (grad * hat).sum(dims), grad.sum(dims)


# %% wrong="a mean over the batch alone" says=["not over the batch alone"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    col = lambda t: t.view(1, -1, 1, 1)
    mean, var = running_mean, running_var
    if training:
        n = x.numel() // x.shape[1]
        if n == 1:
            raise ValueError("one value per channel")
        mean = x.mean((0, 2, 3))
        var = (x - col(mean)).square().mean((0, 2, 3))
        running_mean = (1 - momentum) * running_mean + momentum * mean
        running_var = (1 - momentum) * running_var + momentum * var * n / (n - 1)
    if training:
        own, middle = torch.var_mean(x, 0, correction=0)
        hat = (x - middle) / (own + eps).sqrt()
    else:
        hat = (x - col(mean)) / (col(var) + eps).sqrt()
    y = hat * col(weight) + col(bias)
    return y, running_mean, running_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    dims = (0, 2, 3)
    var, mean = torch.var_mean(x, dim=dims, correction=0, keepdim=True)
    std = (var + eps).sqrt()
    hat = (x - mean) / std
    g = grad * weight.view(1, -1, 1, 1)
    gx = (g - g.mean(dims, keepdim=True) - hat * (g * hat).mean(dims, keepdim=True)) / std
    return gx, (grad * hat).sum(dims), grad.sum(dims)


# %% wrong="the memory never changes" breaks="returns updated running ones" says=["the new running mean: training updates the running statistics; this is the old value"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    col = lambda t: t.view(1, -1, 1, 1)
    mean, var = running_mean, running_var
    if training:
        n = x.numel() // x.shape[1]
        if n == 1:
            raise ValueError("one value per channel")
        mean = x.mean((0, 2, 3))
        var = (x - col(mean)).square().mean((0, 2, 3))
    y = (x - col(mean)) / (col(var) + eps).sqrt() * col(weight) + col(bias)
    return y, running_mean, running_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    dims = (0, 2, 3)
    var, mean = torch.var_mean(x, dim=dims, correction=0, keepdim=True)
    std = (var + eps).sqrt()
    hat = (x - mean) / std
    g = grad * weight.view(1, -1, 1, 1)
    gx = (g - g.mean(dims, keepdim=True) - hat * (g * hat).mean(dims, keepdim=True)) / std
    return gx, (grad * hat).sum(dims), grad.sum(dims)


# %% wrong="remembers the last batch alone" says=["mix the batch's value with the old one; this is the batch's alone"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    col = lambda t: t.view(1, -1, 1, 1)
    mean, var = running_mean, running_var
    if training:
        n = x.numel() // x.shape[1]
        if n == 1:
            raise ValueError("one value per channel")
        mean = x.mean((0, 2, 3))
        var = (x - col(mean)).square().mean((0, 2, 3))
        running_mean = mean
        running_var = (1 - momentum) * running_var + momentum * var * n / (n - 1)
    y = (x - col(mean)) / (col(var) + eps).sqrt() * col(weight) + col(bias)
    return y, running_mean, running_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    dims = (0, 2, 3)
    var, mean = torch.var_mean(x, dim=dims, correction=0, keepdim=True)
    std = (var + eps).sqrt()
    hat = (x - mean) / std
    g = grad * weight.view(1, -1, 1, 1)
    gx = (g - g.mean(dims, keepdim=True) - hat * (g * hat).mean(dims, keepdim=True)) / std
    return gx, (grad * hat).sum(dims), grad.sum(dims)


# %% wrong="the variance is mixed the other way round" says=["the new running variance: "]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    col = lambda t: t.view(1, -1, 1, 1)
    mean, var = running_mean, running_var
    if training:
        n = x.numel() // x.shape[1]
        if n == 1:
            raise ValueError("one value per channel")
        mean = x.mean((0, 2, 3))
        var = (x - col(mean)).square().mean((0, 2, 3))
        running_mean = (1 - momentum) * running_mean + momentum * mean
        running_var = momentum * running_var + (1 - momentum) * var * n / (n - 1)
    y = (x - col(mean)) / (col(var) + eps).sqrt() * col(weight) + col(bias)
    return y, running_mean, running_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    dims = (0, 2, 3)
    var, mean = torch.var_mean(x, dim=dims, correction=0, keepdim=True)
    std = (var + eps).sqrt()
    hat = (x - mean) / std
    g = grad * weight.view(1, -1, 1, 1)
    gx = (g - g.mean(dims, keepdim=True) - hat * (g * hat).mean(dims, keepdim=True)) / std
    return gx, (grad * hat).sum(dims), grad.sum(dims)


# %% wrong="remembers standard deviations" says=["the running variance takes variances, not standard deviations"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    col = lambda t: t.view(1, -1, 1, 1)
    mean, var = running_mean, running_var
    if training:
        n = x.numel() // x.shape[1]
        if n == 1:
            raise ValueError("one value per channel")
        mean = x.mean((0, 2, 3))
        var = (x - col(mean)).square().mean((0, 2, 3))
        running_mean = (1 - momentum) * running_mean + momentum * mean
        running_var = (1 - momentum) * running_var + momentum * (var * n / (n - 1)).sqrt()
    y = (x - col(mean)) / (col(var) + eps).sqrt() * col(weight) + col(bias)
    return y, running_mean, running_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    dims = (0, 2, 3)
    var, mean = torch.var_mean(x, dim=dims, correction=0, keepdim=True)
    std = (var + eps).sqrt()
    hat = (x - mean) / std
    g = grad * weight.view(1, -1, 1, 1)
    gx = (g - g.mean(dims, keepdim=True) - hat * (g * hat).mean(dims, keepdim=True)) / std
    return gx, (grad * hat).sum(dims), grad.sum(dims)


# %% wrong="remembers in eval as well" breaks="returns them with unchanged values" says=["in eval the running statistics stay as they are"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    col = lambda t: t.view(1, -1, 1, 1)
    mean, var = running_mean, running_var
    if training:
        n = x.numel() // x.shape[1]
        if n == 1:
            raise ValueError("one value per channel")
        mean = x.mean((0, 2, 3))
        var = (x - col(mean)).square().mean((0, 2, 3))
        running_mean = (1 - momentum) * running_mean + momentum * mean
        running_var = (1 - momentum) * running_var + momentum * var * n / (n - 1)
    else:
        running_mean = torch.lerp(running_mean, x.mean((0, 2, 3)), momentum)
    y = (x - col(mean)) / (col(var) + eps).sqrt() * col(weight) + col(bias)
    return y, running_mean, running_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    dims = (0, 2, 3)
    var, mean = torch.var_mean(x, dim=dims, correction=0, keepdim=True)
    std = (var + eps).sqrt()
    hat = (x - mean) / std
    g = grad * weight.view(1, -1, 1, 1)
    gx = (g - g.mean(dims, keepdim=True) - hat * (g * hat).mean(dims, keepdim=True)) / std
    return gx, (grad * hat).sum(dims), grad.sum(dims)


# %% wrong="only sums are taken off in backward" says=["which is the mean of g, not its sum"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    col = lambda t: t.view(1, -1, 1, 1)
    mean, var = running_mean, running_var
    if training:
        n = x.numel() // x.shape[1]
        if n == 1:
            raise ValueError("one value per channel")
        mean = x.mean((0, 2, 3))
        var = (x - col(mean)).square().mean((0, 2, 3))
        running_mean = (1 - momentum) * running_mean + momentum * mean
        running_var = (1 - momentum) * running_var + momentum * var * n / (n - 1)
    y = (x - col(mean)) / (col(var) + eps).sqrt() * col(weight) + col(bias)
    return y, running_mean, running_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    dims = (0, 2, 3)
    var, mean = torch.var_mean(x, dim=dims, correction=0, keepdim=True)
    std = (var + eps).sqrt()
    hat = (x - mean) / std
    g = grad * weight.view(1, -1, 1, 1)
    gx = (g - g.sum(dims, keepdim=True) - hat * (g * hat).mean(dims, keepdim=True)) / std
    return gx, (grad * hat).sum(dims), grad.sum(dims)


# %% wrong="backward keeps the mean of g" says=["the part along 1, which is the mean of g, is still there"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    col = lambda t: t.view(1, -1, 1, 1)
    mean, var = running_mean, running_var
    if training:
        n = x.numel() // x.shape[1]
        if n == 1:
            raise ValueError("one value per channel")
        mean = x.mean((0, 2, 3))
        var = (x - col(mean)).square().mean((0, 2, 3))
        running_mean = (1 - momentum) * running_mean + momentum * mean
        running_var = (1 - momentum) * running_var + momentum * var * n / (n - 1)
    y = (x - col(mean)) / (col(var) + eps).sqrt() * col(weight) + col(bias)
    return y, running_mean, running_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    dims = (0, 2, 3)
    var, mean = torch.var_mean(x, dim=dims, correction=0, keepdim=True)
    std = (var + eps).sqrt()
    hat = (x - mean) / std
    g = grad * weight.view(1, -1, 1, 1)
    gx = (g - hat * (g * hat).mean(dims, keepdim=True)) / std
    return gx, (grad * hat).sum(dims), grad.sum(dims)


# %% wrong="weight enters its own gradient" says=["weight itself doesn't enter its own gradient"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    col = lambda t: t.view(1, -1, 1, 1)
    mean, var = running_mean, running_var
    if training:
        n = x.numel() // x.shape[1]
        if n == 1:
            raise ValueError("one value per channel")
        mean = x.mean((0, 2, 3))
        var = (x - col(mean)).square().mean((0, 2, 3))
        running_mean = (1 - momentum) * running_mean + momentum * mean
        running_var = (1 - momentum) * running_var + momentum * var * n / (n - 1)
    y = (x - col(mean)) / (col(var) + eps).sqrt() * col(weight) + col(bias)
    return y, running_mean, running_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    dims = (0, 2, 3)
    var, mean = torch.var_mean(x, dim=dims, correction=0, keepdim=True)
    std = (var + eps).sqrt()
    hat = (x - mean) / std
    g = grad * weight.view(1, -1, 1, 1)
    gx = (g - g.mean(dims, keepdim=True) - hat * (g * hat).mean(dims, keepdim=True)) / std
    return gx, (g * hat).sum(dims), g.sum(dims)


# %% wrong="the gradients of weight and bias swapped" breaks="`(grad_x, grad_weight, grad_bias)`" says=["grad_weight comes before grad_bias: they are swapped"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    col = lambda t: t.view(1, -1, 1, 1)
    mean, var = running_mean, running_var
    if training:
        n = x.numel() // x.shape[1]
        if n == 1:
            raise ValueError("one value per channel")
        mean = x.mean((0, 2, 3))
        var = (x - col(mean)).square().mean((0, 2, 3))
        running_mean = (1 - momentum) * running_mean + momentum * mean
        running_var = (1 - momentum) * running_var + momentum * var * n / (n - 1)
    y = (x - col(mean)) / (col(var) + eps).sqrt() * col(weight) + col(bias)
    return y, running_mean, running_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    dims = (0, 2, 3)
    var, mean = torch.var_mean(x, dim=dims, correction=0, keepdim=True)
    std = (var + eps).sqrt()
    hat = (x - mean) / std
    g = grad * weight.view(1, -1, 1, 1)
    gx = (g - g.mean(dims, keepdim=True) - hat * (g * hat).mean(dims, keepdim=True)) / std
    return gx, grad.sum(dims), (grad * hat).sum(dims)


# %% wrong="a memory in place" says=["an argument was changed"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    col = lambda t: t.view(1, -1, 1, 1)
    mean, var = running_mean, running_var
    if training:
        n = x.numel() // x.shape[1]
        if n == 1:
            raise ValueError("one value per channel")
        mean = x.mean((0, 2, 3))
        var = (x - col(mean)).square().mean((0, 2, 3))
        running_mean = running_mean.lerp_(mean, momentum)
        running_var = (1 - momentum) * running_var + momentum * var * n / (n - 1)
    y = (x - col(mean)) / (col(var) + eps).sqrt() * col(weight) + col(bias)
    return y, running_mean, running_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    dims = (0, 2, 3)
    var, mean = torch.var_mean(x, dim=dims, correction=0, keepdim=True)
    std = (var + eps).sqrt()
    hat = (x - mean) / std
    g = grad * weight.view(1, -1, 1, 1)
    gx = (g - g.mean(dims, keepdim=True) - hat * (g * hat).mean(dims, keepdim=True)) / std
    return gx, (grad * hat).sum(dims), grad.sum(dims)


# %% right="channel by channel, Welford's way"
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    rows = x.transpose(0, 1).reshape(x.shape[1], -1)
    if training and rows.shape[1] < 2:
        raise ValueError("too few values")
    new_mean, new_var, ys = running_mean.clone(), running_var.clone(), []
    for c, row in enumerate(rows):
        mean, var = running_mean[c], running_var[c]
        if training:
            mean, squares = row.new_zeros(()), row.new_zeros(())
            for n, value in enumerate(row, start=1):
                step = value - mean
                mean = mean + step / n
                squares = squares + step * (value - mean)
            new_mean[c] += momentum * (mean - new_mean[c])
            new_var[c] += momentum * (squares / (n - 1) - new_var[c])
            var = squares / n
        ys.append((row - mean) / torch.sqrt(var + eps) * weight[c] + bias[c])
    y = torch.stack(ys).view(x.shape[1], x.shape[0], *x.shape[2:]).transpose(0, 1)
    return y, new_mean, new_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    c = x.shape[1]
    rows, g = (t.transpose(0, 1).reshape(c, -1) for t in (x, grad))
    n = rows.shape[1]
    centred = rows - rows.mean(1, keepdim=True)
    inverse = (centred.square().mean(1, keepdim=True) + eps).rsqrt()
    hat = centred * inverse
    jacobian = torch.eye(n, dtype=x.dtype, device=x.device) - 1 / n
    jacobian = jacobian - torch.einsum("ci,cj->cij", hat, hat) / n
    gx = torch.einsum("cij,cj->ci", jacobian, g) * inverse * weight[:, None]
    gx = gx.view(c, x.shape[0], *x.shape[2:]).transpose(0, 1)
    return gx, (g * hat).sum(1), g.sum(1)


# %% wrong="backward by E[x²] - E[x]²" says=["right near zero and wrong at a mean of 10000"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    shape = (1, -1, 1, 1)
    if training:
        n = x.numel() // x.shape[1]
        if n <= 1:
            raise ValueError("n")
        mean = x.mean(dim=(0, 2, 3))
        var = (x - mean.view(shape)).square().mean(dim=(0, 2, 3))
        new_mean = running_mean * (1 - momentum) + mean * momentum
        new_var = running_var * (1 - momentum) + var * n / (n - 1) * momentum
    else:
        mean, var = running_mean, running_var
        new_mean, new_var = running_mean.clone(), running_var.clone()
    hat = (x - mean.view(shape)) / (var.view(shape) + eps).sqrt()
    return hat * weight.view(shape) + bias.view(shape), new_mean, new_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    n = x.numel() // x.shape[1]
    d = (0, 2, 3)
    mean = x.mean(dim=d, keepdim=True)
    var = x.square().mean(dim=d, keepdim=True) - mean.square()
    std = (var + eps).sqrt()
    hat = (x - mean) / std
    gb = grad.sum(d)
    gw = (grad * hat).sum(d)
    gx = (
        weight.view(1, -1, 1, 1)
        / std
        * (grad - gb.view(1, -1, 1, 1) / n - hat * gw.view(1, -1, 1, 1) / n)
    )
    return gx, gw, gb


# %% wrong="eps in eval is missing" says=["eps is missing"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    shape = (1, -1, 1, 1)
    if training:
        n = x.numel() // x.shape[1]
        if n <= 1:
            raise ValueError("n")
        mean = x.mean(dim=(0, 2, 3))
        var = (x - mean.view(shape)).square().mean(dim=(0, 2, 3))
        new_mean = running_mean * (1 - momentum) + mean * momentum
        new_var = running_var * (1 - momentum) + var * n / (n - 1) * momentum
    else:
        mean, var = running_mean, running_var
        new_mean, new_var = running_mean.clone(), running_var.clone()
    hat = (x - mean.view(shape)) / (var.view(shape) + (eps if training else 0)).sqrt()
    return hat * weight.view(shape) + bias.view(shape), new_mean, new_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    n = x.numel() // x.shape[1]
    d = (0, 2, 3)
    mean = x.mean(dim=d, keepdim=True)
    var = (x - mean).square().mean(dim=d, keepdim=True)
    std = (var + eps).sqrt()
    hat = (x - mean) / std
    gb = grad.sum(d)
    gw = (grad * hat).sum(d)
    gx = (
        weight.view(1, -1, 1, 1)
        / std
        * (grad - gb.view(1, -1, 1, 1) / n - hat * gw.view(1, -1, 1, 1) / n)
    )
    return gx, gw, gb


# %% wrong="momentum fixed" breaks="momentum=0.1" says=["0.1 is only its default"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    shape = (1, -1, 1, 1)
    if training:
        n = x.numel() // x.shape[1]
        if n <= 1:
            raise ValueError("n")
        mean = x.mean(dim=(0, 2, 3))
        var = (x - mean.view(shape)).square().mean(dim=(0, 2, 3))
        new_mean = running_mean * 0.9 + mean * 0.1
        new_var = running_var * (1 - momentum) + var * n / (n - 1) * momentum
    else:
        mean, var = running_mean, running_var
        new_mean, new_var = running_mean.clone(), running_var.clone()
    hat = (x - mean.view(shape)) / (var.view(shape) + eps).sqrt()
    return hat * weight.view(shape) + bias.view(shape), new_mean, new_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    n = x.numel() // x.shape[1]
    d = (0, 2, 3)
    mean = x.mean(dim=d, keepdim=True)
    var = (x - mean).square().mean(dim=d, keepdim=True)
    std = (var + eps).sqrt()
    hat = (x - mean) / std
    gb = grad.sum(d)
    gw = (grad * hat).sum(d)
    gx = (
        weight.view(1, -1, 1, 1)
        / std
        * (grad - gb.view(1, -1, 1, 1) / n - hat * gw.view(1, -1, 1, 1) / n)
    )
    return gx, gw, gb


# %% wrong="grad_x with n - 1" says=["divided by n, not n - 1"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    shape = (1, -1, 1, 1)
    if training:
        n = x.numel() // x.shape[1]
        if n <= 1:
            raise ValueError("n")
        mean = x.mean(dim=(0, 2, 3))
        var = (x - mean.view(shape)).square().mean(dim=(0, 2, 3))
        new_mean = running_mean * (1 - momentum) + mean * momentum
        new_var = running_var * (1 - momentum) + var * n / (n - 1) * momentum
    else:
        mean, var = running_mean, running_var
        new_mean, new_var = running_mean.clone(), running_var.clone()
    hat = (x - mean.view(shape)) / (var.view(shape) + eps).sqrt()
    return hat * weight.view(shape) + bias.view(shape), new_mean, new_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    n = x.numel() // x.shape[1]
    d = (0, 2, 3)
    mean = x.mean(dim=d, keepdim=True)
    var = (x - mean).square().mean(dim=d, keepdim=True)
    std = (var + eps).sqrt()
    hat = (x - mean) / std
    gb = grad.sum(d)
    gw = (grad * hat).sum(d)
    gx = (
        weight.view(1, -1, 1, 1)
        / std
        * (grad - gb.view(1, -1, 1, 1) / n - hat * gw.view(1, -1, 1, 1) / (n - 1))
    )
    return gx, gw, gb


# %% wrong="refuses images of one pixel" says=["training on four images of 1 x 1: raised ValueError"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    mean, var = running_mean.clone(), running_var.clone()
    new_mean, new_var = mean, var
    if training:
        n = x.numel() // x.shape[1]
        if n == 1 or x.shape[2] * x.shape[3] == 1:
            raise ValueError("one value")
        var, mean = torch.var_mean(x, dim=(0, 2, 3), correction=0)
        new_mean = (1 - momentum) * running_mean + momentum * mean
        new_var = (1 - momentum) * running_var + momentum * var * n / (n - 1)
    s = lambda t: t.view(1, -1, 1, 1)
    y = (x - s(mean)) / (s(var) + eps).sqrt() * s(weight) + s(bias)
    return y, new_mean, new_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    d = (0, 2, 3)
    var, mean = torch.var_mean(x, dim=d, correction=0, keepdim=True)
    std = (var + eps).sqrt()
    hat = (x - mean) / std
    g = grad * weight.view(1, -1, 1, 1)
    gx = (g - g.mean(d, keepdim=True) - hat * (g * hat).mean(d, keepdim=True)) / std
    return gx, (grad * hat).sum(d), grad.sum(d)


# %% wrong="normalises by the updated running statistics" says=["not by the updated running ones"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    mean, var = running_mean.clone(), running_var.clone()
    new_mean, new_var = mean, var
    if training:
        n = x.numel() // x.shape[1]
        if n == 1:
            raise ValueError("one value")
        var, mean = torch.var_mean(x, dim=(0, 2, 3), correction=0)
        new_mean = (1 - momentum) * running_mean + momentum * mean
        new_var = (1 - momentum) * running_var + momentum * var * n / (n - 1)
    mean, var = (running_mean, running_var) if not training else (new_mean, new_var)
    s = lambda t: t.view(1, -1, 1, 1)
    y = (x - s(mean)) / (s(var) + eps).sqrt() * s(weight) + s(bias)
    return y, new_mean, new_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    d = (0, 2, 3)
    var, mean = torch.var_mean(x, dim=d, correction=0, keepdim=True)
    std = (var + eps).sqrt()
    hat = (x - mean) / std
    g = grad * weight.view(1, -1, 1, 1)
    gx = (g - g.mean(d, keepdim=True) - hat * (g * hat).mean(d, keepdim=True)) / std
    return gx, (grad * hat).sum(d), grad.sum(d)


# %% wrong="backward with the unbiased variance" says=["the batch was normalised by the variance divided by n, not n - 1"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    mean, var = running_mean.clone(), running_var.clone()
    new_mean, new_var = mean, var
    if training:
        n = x.numel() // x.shape[1]
        if n == 1:
            raise ValueError("one value")
        var, mean = torch.var_mean(x, dim=(0, 2, 3), correction=0)
        new_mean = (1 - momentum) * running_mean + momentum * mean
        new_var = (1 - momentum) * running_var + momentum * var * n / (n - 1)
    s = lambda t: t.view(1, -1, 1, 1)
    y = (x - s(mean)) / (s(var) + eps).sqrt() * s(weight) + s(bias)
    return y, new_mean, new_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    d = (0, 2, 3)
    var, mean = torch.var_mean(x, dim=d, correction=1, keepdim=True)
    std = (var + eps).sqrt()
    hat = (x - mean) / std
    g = grad * weight.view(1, -1, 1, 1)
    gx = (g - g.mean(d, keepdim=True) - hat * (g * hat).mean(d, keepdim=True)) / std
    return gx, (grad * hat).sum(d), grad.sum(d)


# %% wrong="eps outside of the root" says=["float64, a transposed view: y: eps is added to the variance, under the root"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    mean, var = running_mean.clone(), running_var.clone()
    new_mean, new_var = mean, var
    if training:
        n = x.numel() // x.shape[1]
        if n == 1:
            raise ValueError("one value")
        var, mean = torch.var_mean(x, dim=(0, 2, 3), correction=0)
        new_mean = (1 - momentum) * running_mean + momentum * mean
        new_var = (1 - momentum) * running_var + momentum * var * n / (n - 1)
    s = lambda t: t.view(1, -1, 1, 1)
    y = (x - s(mean)) / (s(var).sqrt() + eps) * s(weight) + s(bias)
    return y, new_mean, new_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    d = (0, 2, 3)
    var, mean = torch.var_mean(x, dim=d, correction=0, keepdim=True)
    std = (var + eps).sqrt()
    hat = (x - mean) / std
    g = grad * weight.view(1, -1, 1, 1)
    gx = (g - g.mean(d, keepdim=True) - hat * (g * hat).mean(d, keepdim=True)) / std
    return gx, (grad * hat).sum(d), grad.sum(d)


# %% wrong="clamps the variance by eps" says=["y: eps is missing: it is added to the variance"]
def _stats(x):
    return x.mean((0, 2, 3)), x.var((0, 2, 3), correction=0)


def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    C = x.shape[1]
    if training:
        n = x.numel() // C
        if n < 2:
            raise ValueError
        m, v = _stats(x)
        new_m = running_mean.lerp(m, momentum)
        new_v = running_var.lerp(v * n / (n - 1), momentum)
    else:
        m, v = running_mean, running_var
        new_m, new_v = running_mean, running_var
    y = (x - m.view(1, C, 1, 1)) / torch.sqrt(v.view(1, C, 1, 1).clamp(min=eps)) * weight.view(
        1, C, 1, 1
    ) + bias.view(1, C, 1, 1)
    return y, new_m, new_v


def batch_norm_backward(grad, x, weight, eps=1e-5):
    C = x.shape[1]
    n = x.numel() // C
    m, v = _stats(x)
    s = v.clamp(min=eps).rsqrt().view(1, C, 1, 1)
    h = (x - m.view(1, C, 1, 1)) * s
    gb = grad.sum((0, 2, 3))
    gw = (grad * h).sum((0, 2, 3))
    gx = (
        weight.view(1, C, 1, 1) * s / n * (n * grad - gb.view(1, C, 1, 1) - h * gw.view(1, C, 1, 1))
    )
    return gx, gw, gb


# %% wrong="the mean of the images' variances; a sign in backward" says=["training on four images of 1 x 1"]
def _stats(x):
    return x.mean((0, 2, 3)), x.var((2, 3), correction=0).mean(0)


def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    C = x.shape[1]
    n = x.numel() // C
    if training:
        if n < 2:
            raise ValueError
        m, v = _stats(x)
        new_m = running_mean.lerp(m, momentum)
        new_v = running_var.lerp(v * n / (n - 1), momentum)
    else:
        m, v = running_mean, running_var
        new_m, new_v = running_mean, running_var
    y = (x - m.view(1, C, 1, 1)) / torch.sqrt(v.view(1, C, 1, 1) + eps) * weight.view(
        1, C, 1, 1
    ) + bias.view(1, C, 1, 1)
    return y, new_m, new_v


def batch_norm_backward(grad, x, weight, eps=1e-5):
    C = x.shape[1]
    n = x.numel() // C
    m, v = _stats(x)
    s = (v + eps).rsqrt().view(1, C, 1, 1)
    h = (x - m.view(1, C, 1, 1)) * s
    gb = grad.sum((0, 2, 3))
    gw = (grad * h).sum((0, 2, 3))
    gx = (
        weight.view(1, C, 1, 1) * s / n * (n * grad - gb.view(1, C, 1, 1) + h * gw.view(1, C, 1, 1))
    )
    return gx, gw, gb


# %% right="rows of a matrix; a projection"
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    C = x.shape[1]
    rows = x.transpose(0, 1).reshape(C, -1)
    n = rows.shape[1]
    if training and n == 1:
        raise ValueError("no variance")
    if training:
        centre = rows.mean(1)
        spread = (rows - centre[:, None]).pow(2).sum(1)
        running_mean = running_mean + momentum * (centre - running_mean)
        running_var = running_var + momentum * (spread / (n - 1) - running_var)
        spread = spread / n
    else:
        centre, spread = running_mean, running_var
    z = torch.addcmul(
        bias[:, None],
        (rows - centre[:, None]) * torch.rsqrt(spread + eps)[:, None],
        weight[:, None],
    )
    return z.view(C, x.shape[0], *x.shape[2:]).transpose(0, 1), running_mean, running_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    C = x.shape[1]
    rows, g = x.transpose(0, 1).reshape(C, -1), grad.transpose(0, 1).reshape(C, -1)
    n = rows.shape[1]
    c = rows - rows.mean(1, keepdim=True)
    s = torch.rsqrt(c.pow(2).mean(1, keepdim=True) + eps)
    h = c * s
    basis = torch.eye(n, dtype=x.dtype, device=x.device) - 1 / n - h[:, :, None] * h[:, None, :] / n
    gx = torch.einsum("cij,cj->ci", basis, g) * s * weight[:, None]
    return gx.view(C, x.shape[0], *x.shape[2:]).transpose(0, 1), (g * h).sum(1), g.sum(1)


# %% wrong="view of a matrix" breaks="in any memory layout" says=["float64, a transposed view: raised RuntimeError"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    def per(t):
        return t.view(-1, 1, 1)

    new_mean, new_var = running_mean.clone(), running_var.clone()
    mean, var = running_mean, running_var
    if training:
        count = x.numel() // x.shape[1]
        if count == 1:
            raise ValueError("one value")
        var, mean = torch.var_mean(x.view(len(x), x.shape[1], -1), (0, 2), correction=0)
        new_mean = running_mean.lerp(mean, momentum)
        new_var = running_var.lerp(var * count / (count - 1), momentum)
    y = (x - per(mean)) / per(var + eps).sqrt() * per(weight) + per(bias)
    return y, new_mean, new_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    dims = (0, 2, 3)
    var, mean = torch.var_mean(x, dims, correction=0, keepdim=True)
    root = (var + eps).sqrt()
    hat = (x - mean) / root
    gw, gb = (grad * hat).sum(dims), grad.sum(dims)
    g = grad * weight.reshape(-1, 1, 1)
    gx = (g - g.mean(dims, keepdim=True) - hat * (g * hat).mean(dims, keepdim=True)) / root
    return gx, gw, gb


# %% wrong="differences of the loss in float64" breaks="by formulas" says=["grad_x is right to ten digits or so, and float64 has fifteen"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    dims, shape = (0, 2, 3), (1, -1, 1, 1)
    mean, var, new_mean, new_var = running_mean, running_var, running_mean, running_var
    if training:
        count = x.numel() // x.shape[1]
        if count < 2:
            raise ValueError("one value per channel")
        mean, var = x.mean(dims), x.var(dims, correction=0)
        new_mean = running_mean.lerp(mean, momentum)
        new_var = running_var.lerp(var * count / (count - 1), momentum)
    y = (x - mean.view(shape)) / (var.view(shape) + eps).sqrt()
    return y * weight.view(shape) + bias.view(shape), new_mean.clone(), new_var.clone()


def batch_norm_backward(grad, x, weight, eps=1e-5):
    ones, zeros = torch.ones_like(weight).double(), torch.zeros_like(weight).double()

    def hat(x):
        return batch_norm(x, ones, zeros, zeros, ones, True, eps=eps)[0]

    values, g = x.double().contiguous(), (grad * weight.view(1, -1, 1, 1)).double()
    grad_x = torch.zeros_like(values)
    for i in range(values.numel()):
        for step in (1e-5, -1e-5):
            moved = values.clone()
            moved.view(-1)[i] += step
            grad_x.view(-1)[i] += (g * hat(moved)).sum() / (2 * step)
    grad_weight = (grad * hat(values)).sum((0, 2, 3)).to(x.dtype)
    return grad_x.to(x.dtype), grad_weight, grad.sum((0, 2, 3))


# %% wrong="another eps by default in backward" breaks="weight: torch.Tensor, eps: float = 1e-5 )" says=["numbers near each other, eps left out: grad_x"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    def per(t):
        return t.view(-1, 1, 1)

    new_mean, new_var = running_mean.clone(), running_var.clone()
    mean, var = running_mean, running_var
    if training:
        count = x.numel() // x.shape[1]
        if count == 1:
            raise ValueError("one value")
        var, mean = torch.var_mean(x, (0, 2, 3), correction=0)
        new_mean = running_mean.lerp(mean, momentum)
        new_var = running_var.lerp(var * count / (count - 1), momentum)
    y = (x - per(mean)) / per(var + eps).sqrt() * per(weight) + per(bias)
    return y, new_mean, new_var


def batch_norm_backward(grad, x, weight, eps=1e-3):
    dims = (0, 2, 3)
    var, mean = torch.var_mean(x, dims, correction=0, keepdim=True)
    root = (var + eps).sqrt()
    hat = (x - mean) / root
    gw, gb = (grad * hat).sum(dims), grad.sum(dims)
    g = grad * weight.reshape(-1, 1, 1)
    gx = (g - g.mean(dims, keepdim=True) - hat * (g * hat).mean(dims, keepdim=True)) / root
    return gx, gw, gb


# %% wrong="another eps by default" breaks="momentum=0.1, eps=1e-5" says=["numbers near each other, momentum and eps left out"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-3):
    def column(t):
        return t.view(1, -1, 1, 1)

    mean, var = running_mean, running_var
    if training:
        n = x.numel() // x.shape[1]
        if n == 1:
            raise ValueError("one value per channel")
        mean, var = x.mean((0, 2, 3)), x.var((0, 2, 3), correction=0)
        running_mean = (1 - momentum) * running_mean + momentum * mean
        running_var = (1 - momentum) * running_var + momentum * var * n / (n - 1)
    hat = (x - column(mean)) / (column(var) + eps).sqrt()
    return hat * column(weight) + column(bias), running_mean, running_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    dims = (0, 2, 3)
    mean, var = x.mean(dims, keepdim=True), x.var(dims, correction=0, keepdim=True)
    std = (var + eps).sqrt()
    hat, g = (x - mean) / std, grad * weight.view(1, -1, 1, 1)
    both = g.mean(dims, keepdim=True) + hat * (g * hat).mean(dims, keepdim=True)
    return (g - both) / std, (grad * hat).sum(dims), grad.sum(dims)


# %% wrong="backward by the size of the weight" says=["a negative weight turns the gradient round: here its sign is lost"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    new_mean, new_var = running_mean.clone(), running_var.clone()
    if training:
        n = x.numel() // x.shape[1]
        if n <= 1:
            raise ValueError("one value for each channel")
        var, mean = torch.var_mean(x, dim=(0, 2, 3), correction=0)
        new_mean = (1 - momentum) * running_mean + momentum * mean
        new_var = (1 - momentum) * running_var + momentum * var * n / (n - 1)
    else:
        mean, var = running_mean, running_var
    mean, var, weight, bias = (t.view(-1, 1, 1) for t in (mean, var, weight, bias))
    return (x - mean) / (var + eps).sqrt() * weight + bias, new_mean, new_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    var, mean = torch.var_mean(x, dim=(0, 2, 3), correction=0, keepdim=True)
    std = (var + eps).sqrt()
    hat = (x - mean) / std
    g = grad * weight.abs().view(-1, 1, 1)
    g = g - g.mean((0, 2, 3), keepdim=True) - hat * (g * hat).mean((0, 2, 3), keepdim=True)
    return g / std, (grad * hat).sum((0, 2, 3)), grad.sum((0, 2, 3))


# %% wrong="backward: the last part is not divided" says=["here x less its mean is not divided"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    if training:
        n = x.numel() // x.shape[1]
        if n < 2:
            raise ValueError("one value per channel")
        var, mean = torch.var_mean(x, dim=(0, 2, 3), correction=0)
        new_mean = (1 - momentum) * running_mean + momentum * mean
        new_var = (1 - momentum) * running_var + momentum * var * n / (n - 1)
    else:
        mean, var = running_mean, running_var
        new_mean, new_var = running_mean.clone(), running_var.clone()
    hat = (x - mean.view(-1, 1, 1)) / (var.view(-1, 1, 1) + eps).sqrt()
    return hat * weight.view(-1, 1, 1) + bias.view(-1, 1, 1), new_mean, new_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    dims = (0, 2, 3)
    var, mean = torch.var_mean(x, dim=dims, correction=0, keepdim=True)
    std = (var + eps).sqrt()
    hat = (x - mean) / std
    g = grad * weight.view(-1, 1, 1)
    along = (x - mean) * (g * hat).mean(dims, keepdim=True)
    grad_x = (g - g.mean(dims, keepdim=True) - along) / std
    return grad_x, (grad * hat).sum(dims), grad.sum(dims)


# %% wrong="backward divides by the weight" says=["the weight of a channel is 0: grad_weight has a nan where the weight is 0"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    if training:
        n = x.numel() // x.shape[1]
        if n == 1:
            raise ValueError("one value per channel")
        var, mean = torch.var_mean(x, dim=(0, 2, 3), correction=0)
        new_mean = (1 - momentum) * running_mean + momentum * mean
        new_var = (1 - momentum) * running_var + momentum * var * n / (n - 1)
    else:
        mean, var = running_mean, running_var
        new_mean, new_var = running_mean, running_var
    hat = (x - mean.view(-1, 1, 1)) / (var.view(-1, 1, 1) + eps).sqrt()
    return hat * weight.view(-1, 1, 1) + bias.view(-1, 1, 1), new_mean, new_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    every = (0, 2, 3)
    var, mean = torch.var_mean(x, dim=every, correction=0, keepdim=True)
    std = (var + eps).sqrt()
    hat = (x - mean) / std
    g = grad * weight.view(-1, 1, 1)
    grad_x = (g - g.mean(every, keepdim=True) - hat * (g * hat).mean(every, keepdim=True)) / std
    return grad_x, (g * hat).sum(every) / weight, g.sum(every) / weight


# %% wrong="a view of grad" breaks="`x` and `grad` are (N, C, H, W), in any memory layout" says=["grad is such a view, too: raised RuntimeError"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    if training:
        n = x.numel() // x.shape[1]
        if n == 1:
            raise ValueError("one value per channel")
        var, mean = torch.var_mean(x, dim=(0, 2, 3), correction=0)
        new_mean = (1 - momentum) * running_mean + momentum * mean
        new_var = (1 - momentum) * running_var + momentum * var * n / (n - 1)
    else:
        mean, var = running_mean, running_var
        new_mean, new_var = running_mean, running_var
    hat = (x - mean.view(-1, 1, 1)) / (var.view(-1, 1, 1) + eps).sqrt()
    return hat * weight.view(-1, 1, 1) + bias.view(-1, 1, 1), new_mean, new_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    every = (0, 2, 3)
    var, mean = torch.var_mean(x, dim=every, correction=0, keepdim=True)
    std = (var + eps).sqrt()
    hat = (x - mean) / std
    g = (grad.view(len(grad), len(weight), -1) * weight.view(-1, 1)).view(x.shape)
    grad_x = (g - g.mean(every, keepdim=True) - hat * (g * hat).mean(every, keepdim=True)) / std
    return grad_x, (grad * hat).sum(every), grad.sum(every)


# %% wrong="backward refuses a single image" says=["one image of 2 x 3 pixels; the weight of a channel is 0: raised ValueError"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    if training:
        n = x.numel() // x.shape[1]
        if n == 1:
            raise ValueError("one value per channel")
        var, mean = torch.var_mean(x, dim=(0, 2, 3), correction=0)
        new_mean = (1 - momentum) * running_mean + momentum * mean
        new_var = (1 - momentum) * running_var + momentum * var * n / (n - 1)
    else:
        mean, var = running_mean, running_var
        new_mean, new_var = running_mean, running_var
    hat = (x - mean.view(-1, 1, 1)) / (var.view(-1, 1, 1) + eps).sqrt()
    return hat * weight.view(-1, 1, 1) + bias.view(-1, 1, 1), new_mean, new_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    if len(x) == 1:
        raise ValueError("one image")
    every = (0, 2, 3)
    var, mean = torch.var_mean(x, dim=every, correction=0, keepdim=True)
    std = (var + eps).sqrt()
    hat = (x - mean) / std
    g = grad * weight.view(-1, 1, 1)
    grad_x = (g - g.mean(every, keepdim=True) - hat * (g * hat).mean(every, keepdim=True)) / std
    return grad_x, (grad * hat).sum(every), grad.sum(every)


# %% wrong="a momentum of 0 is the default" says=["a momentum of 0 is none"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    shape = (1, -1, 1, 1)
    momentum = momentum or 0.1
    if training:
        n = x.numel() // x.shape[1]
        if n == 1:
            raise ValueError("one value for each channel has no variance")
        mean = x.mean((0, 2, 3))
        var = (x - mean.view(shape)).square().mean((0, 2, 3))
        new_mean = (1 - momentum) * running_mean + momentum * mean
        new_var = (1 - momentum) * running_var + momentum * var * n / (n - 1)
    else:
        mean, var = running_mean, running_var
        new_mean, new_var = running_mean.clone(), running_var.clone()
    normal = (x - mean.view(shape)) / (var.view(shape) + eps).sqrt()
    return normal * weight.view(shape) + bias.view(shape), new_mean, new_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    shape, over = (1, -1, 1, 1), (0, 2, 3)
    centred = x - x.mean(over, keepdim=True)
    deviation = (centred.square().mean(over, keepdim=True) + eps).sqrt()
    normal = centred / deviation
    grad_bias, grad_weight = grad.sum(over), (grad * normal).sum(over)
    inner = grad - grad.mean(over, keepdim=True) - normal * (grad * normal).mean(over, keepdim=True)
    return inner * weight.view(shape) / deviation, grad_weight, grad_bias


# %% wrong="x in float32 where it is normalised" says=["float64, a transposed view"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    shape = (1, -1, 1, 1)
    if training:
        n = x.numel() // x.shape[1]
        if n == 1:
            raise ValueError("one value for each channel has no variance")
        mean = x.mean((0, 2, 3))
        var = (x - mean.view(shape)).square().mean((0, 2, 3))
        new_mean = (1 - momentum) * running_mean + momentum * mean
        new_var = (1 - momentum) * running_var + momentum * var * n / (n - 1)
    else:
        mean, var = running_mean, running_var
        new_mean, new_var = running_mean.clone(), running_var.clone()
    x = x.float()
    normal = (x - mean.view(shape)) / (var.view(shape) + eps).sqrt()
    return normal * weight.view(shape) + bias.view(shape), new_mean, new_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    shape, over = (1, -1, 1, 1), (0, 2, 3)
    centred = x - x.mean(over, keepdim=True)
    deviation = (centred.square().mean(over, keepdim=True) + eps).sqrt()
    normal = centred / deviation
    grad_bias, grad_weight = grad.sum(over), (grad * normal).sum(over)
    inner = grad - grad.mean(over, keepdim=True) - normal * (grad * normal).mean(over, keepdim=True)
    return inner * weight.view(shape) / deviation, grad_weight, grad_bias


# %% wrong="mean and variance are constants in the graph" says=["the gradient of x is that of a fixed mean and variance"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    mean, var = running_mean, running_var
    if training:
        n = x.shape[0] * x.shape[2] * x.shape[3]
        if n == 1:
            raise ValueError("one value per channel has no variance")
        var, mean = torch.var_mean(x.detach(), dim=(0, 2, 3), correction=0)
        running_mean = (1 - momentum) * running_mean + momentum * mean
        running_var = (1 - momentum) * running_var + momentum * var * n / (n - 1)
    scale = (weight / (var + eps).sqrt()).view(-1, 1, 1)
    y = (x - mean.view(-1, 1, 1)) * scale + bias.view(-1, 1, 1)
    return y, running_mean, running_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    dims, column = (0, 2, 3), (1, -1, 1, 1)
    var, mean = torch.var_mean(x, dim=dims, correction=0, keepdim=True)
    hat = (x - mean) / (var + eps).sqrt()
    g = grad * weight.view(column)
    along_hat = hat * (g * hat).mean(dims, keepdim=True)
    grad_x = (g - g.mean(dims, keepdim=True) - along_hat) / (var + eps).sqrt()
    return grad_x, (grad * hat).sum(dims), grad.sum(dims)


# %% wrong="in eval weight and bias by .data" says=["running_var, False): no gradient reaches weight"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    mean, var = running_mean, running_var
    if training:
        n = x.shape[0] * x.shape[2] * x.shape[3]
        if n == 1:
            raise ValueError("one value per channel has no variance")
        var, mean = torch.var_mean(x, dim=(0, 2, 3), correction=0)
        running_mean = (1 - momentum) * running_mean + momentum * mean
        running_var = (1 - momentum) * running_var + momentum * var * n / (n - 1)
    else:
        weight, bias = weight.data, bias.data
    scale = (weight / (var + eps).sqrt()).view(-1, 1, 1)
    y = (x - mean.view(-1, 1, 1)) * scale + bias.view(-1, 1, 1)
    return y, running_mean, running_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    dims, column = (0, 2, 3), (1, -1, 1, 1)
    var, mean = torch.var_mean(x, dim=dims, correction=0, keepdim=True)
    hat = (x - mean) / (var + eps).sqrt()
    g = grad * weight.view(column)
    along_hat = hat * (g * hat).mean(dims, keepdim=True)
    grad_x = (g - g.mean(dims, keepdim=True) - along_hat) / (var + eps).sqrt()
    return grad_x, (grad * hat).sum(dims), grad.sum(dims)


# %% wrong="the gradient of weight by E[g x] - E[g] E[x]" says=["grad_weight is right near zero and wrong at a mean of 10000"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    if training:
        n = x.numel() // x.shape[1]
        if n == 1:
            raise ValueError("one value per channel")
        var, mean = torch.var_mean(x, dim=(0, 2, 3), correction=0)
        new_mean = (1 - momentum) * running_mean + momentum * mean
        new_var = (1 - momentum) * running_var + momentum * var * n / (n - 1)
    else:
        mean, var = new_mean, new_var = running_mean, running_var
    hat = (x - mean.view(-1, 1, 1)) / (var.view(-1, 1, 1) + eps).sqrt()
    return hat * weight.view(-1, 1, 1) + bias.view(-1, 1, 1), new_mean, new_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    dims = (0, 2, 3)
    var, mean = torch.var_mean(x, dim=dims, correction=0)
    std = (var + eps).sqrt()
    grad_bias = grad.sum(dims)
    grad_weight = ((grad * x).sum(dims) - mean * grad_bias) / std
    n = x.numel() // x.shape[1]
    hat = (x - mean.view(-1, 1, 1)) / std.view(-1, 1, 1)
    centred = grad - (grad_bias / n).view(-1, 1, 1) - hat * (grad_weight / n).view(-1, 1, 1)
    return centred * (weight / std).view(-1, 1, 1), grad_weight, grad_bias


# %% wrong="one buffer for outputs of a shape" says=["batch_norm(x, weight, bias, running_mean, running_var, True) a second time with the same tensors", "changes the result of the first time"]
kept = {}


def in_one_buffer(y):
    if y.requires_grad:
        return y
    return kept.setdefault((y.shape, y.dtype), torch.empty_like(y)).copy_(y)


def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    mean, var = running_mean, running_var
    if training:
        n = x.shape[0] * x.shape[2] * x.shape[3]
        if n == 1:
            raise ValueError("one value per channel has no variance")
        var, mean = torch.var_mean(x, dim=(0, 2, 3), correction=0)
        running_mean = (1 - momentum) * running_mean + momentum * mean
        running_var = (1 - momentum) * running_var + momentum * var * n / (n - 1)
    scale = (weight / (var + eps).sqrt()).view(-1, 1, 1)
    y = (x - mean.view(-1, 1, 1)) * scale + bias.view(-1, 1, 1)
    return in_one_buffer(y), running_mean, running_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    dims, column = (0, 2, 3), (1, -1, 1, 1)
    var, mean = torch.var_mean(x, dim=dims, correction=0, keepdim=True)
    hat = (x - mean) / (var + eps).sqrt()
    g = grad * weight.view(column)
    along_hat = hat * (g * hat).mean(dims, keepdim=True)
    grad_x = (g - g.mean(dims, keepdim=True) - along_hat) / (var + eps).sqrt()
    return grad_x, (grad * hat).sum(dims), grad.sum(dims)


# %% wrong="one buffer for gradients of a shape" says=["batch_norm_backward(grad, x, weight) a second time with the same tensors", "changes the result of the first time"]
kept = {}


def in_one_buffer(y):
    if y.requires_grad:
        return y
    return kept.setdefault((y.shape, y.dtype), torch.empty_like(y)).copy_(y)


def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    mean, var = running_mean, running_var
    if training:
        n = x.shape[0] * x.shape[2] * x.shape[3]
        if n == 1:
            raise ValueError("one value per channel has no variance")
        var, mean = torch.var_mean(x, dim=(0, 2, 3), correction=0)
        running_mean = (1 - momentum) * running_mean + momentum * mean
        running_var = (1 - momentum) * running_var + momentum * var * n / (n - 1)
    scale = (weight / (var + eps).sqrt()).view(-1, 1, 1)
    y = (x - mean.view(-1, 1, 1)) * scale + bias.view(-1, 1, 1)
    return y, running_mean, running_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    dims, column = (0, 2, 3), (1, -1, 1, 1)
    var, mean = torch.var_mean(x, dim=dims, correction=0, keepdim=True)
    hat = (x - mean) / (var + eps).sqrt()
    g = grad * weight.view(column)
    along_hat = hat * (g * hat).mean(dims, keepdim=True)
    grad_x = (g - g.mean(dims, keepdim=True) - along_hat) / (var + eps).sqrt()
    return in_one_buffer(grad_x), (grad * hat).sum(dims), grad.sum(dims)


# %% wrong="backward: eps beside the root" says=["a large eps: grad_x: eps is added to the variance, under the root"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    mean, var = running_mean, running_var
    if training:
        n = x.numel() // x.shape[1]
        if n == 1:
            raise ValueError("one value per channel")
        var, mean = torch.var_mean(x, dim=(0, 2, 3), correction=0)
        running_mean = (1 - momentum) * running_mean + momentum * mean
        running_var = (1 - momentum) * running_var + momentum * var * n / (n - 1)
    hat = (x - mean.view(-1, 1, 1)) / (var.view(-1, 1, 1) + eps).sqrt()
    return hat * weight.view(-1, 1, 1) + bias.view(-1, 1, 1), running_mean, running_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    dims = (0, 2, 3)
    var, mean = torch.var_mean(x, dim=dims, correction=0, keepdim=True)
    std = var.sqrt() + eps
    hat = (x - mean) / std
    g = grad * weight.view(-1, 1, 1)
    g = g - g.mean(dims, keepdim=True) - hat * (g * hat).mean(dims, keepdim=True)
    return g / std, (grad * hat).sum(dims), grad.sum(dims)


# %% wrong="the variance of the memory by the number of images" says=["n counts all values of a channel, those of every pixel, not the images alone"]
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    column = (1, -1, 1, 1)
    if not training:
        y = (x - running_mean.view(column)) / (running_var.view(column) + eps).sqrt()
        return y * weight.view(column) + bias.view(column), running_mean, running_var
    if x.numel() == x.shape[1]:
        raise ValueError("one value")
    n = len(x)
    mean, var = x.mean((0, 2, 3)), x.var((0, 2, 3), correction=0)
    y = (x - mean.view(column)) / (var.view(column) + eps).sqrt()
    fresh = var * n / max(n - 1, 1)
    return (
        y * weight.view(column) + bias.view(column),
        running_mean + momentum * (mean - running_mean),
        running_var + momentum * (fresh - running_var),
    )


def batch_norm_backward(grad, x, weight, eps=1e-5):
    dims = (0, 2, 3)
    var, mean = torch.var_mean(x, dim=dims, correction=0, keepdim=True)
    std = (var + eps).sqrt()
    hat = (x - mean) / std
    g = grad * weight.view(-1, 1, 1)
    g = g - g.mean(dims, keepdim=True) - hat * (g * hat).mean(dims, keepdim=True)
    return g / std, (grad * hat).sum(dims), grad.sum(dims)


# %% wrong="the root of a squared standard deviation" says=["where x is all zeros: the gradient of x has a NaN"]
def batch_norm(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    running_mean: torch.Tensor,
    running_var: torch.Tensor,
    training: bool,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    if training:
        n = x.shape[0] * x.shape[2] * x.shape[3]
        if n == 1:
            raise ValueError("one value per channel")
        mean = x.mean((0, 2, 3))
        std = (x - mean.view(-1, 1, 1)).square().mean((0, 2, 3)).sqrt()
        new_mean = running_mean + momentum * (mean - running_mean)
        new_var = running_var + momentum * (std**2 * n / (n - 1) - running_var)
    else:
        mean, std = running_mean, running_var.sqrt()
        new_mean, new_var = running_mean.clone(), running_var.clone()
    root = torch.sqrt(std**2 + eps)
    hat = (x - mean.view(-1, 1, 1)) / root.view(-1, 1, 1)
    return hat * weight.view(-1, 1, 1) + bias.view(-1, 1, 1), new_mean, new_var


def batch_norm_backward(
    grad: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-5
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    dims = (0, 2, 3)
    var, mean = torch.var_mean(x, dim=dims, correction=0, keepdim=True)
    std = (var + eps).sqrt()
    hat = (x - mean) / std
    g = grad * weight.view(-1, 1, 1)
    g = g - g.mean(dims, keepdim=True) - hat * (g * hat).mean(dims, keepdim=True)
    return g / std, (grad * hat).sum(dims), grad.sum(dims)


# %% wrong="one number for the whole tensor is taken off" says=["y is right where all means are 10000 and wrong where some are -10000", "grad_x is right where all means are 10000"]
def _moments(x):
    middle = x.detach().mean()
    first = (x - middle).mean((0, 2, 3), keepdim=True)
    second = (x - middle).square().mean((0, 2, 3), keepdim=True)
    return first + middle, (second - first.square()).clamp(min=0)


def batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5):
    mean, var = running_mean.view(-1, 1, 1), running_var.view(-1, 1, 1)
    if training:
        n = x.numel() // x.shape[1]
        if n == 1:
            raise ValueError("one value")
        mean, var = _moments(x)
        running_mean = torch.lerp(running_mean, mean.flatten(), momentum)
        running_var = torch.lerp(running_var, var.flatten() * n / (n - 1), momentum)
    y = (x - mean) / (var + eps).sqrt() * weight.view(-1, 1, 1) + bias.view(-1, 1, 1)
    return y, running_mean, running_var


def batch_norm_backward(grad, x, weight, eps=1e-5):
    mean, var = _moments(x)
    hat = (x - mean) / (var + eps).sqrt()
    g, dims = grad * weight.view(-1, 1, 1), (0, 2, 3)
    left = g - g.mean(dims, keepdim=True) - hat * (g * hat).mean(dims, keepdim=True)
    return left / (var + eps).sqrt(), (grad * hat).sum(dims), grad.sum(dims)
