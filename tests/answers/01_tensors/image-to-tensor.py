# %% [markdown]
# Rules:
#
# - "Write both ways by hand, without torchvision"
# - "into a `float32` tensor from 0 to 1"
# - "whatever the default dtype is"
# - "becomes (channel, height, width)"
# - "for any number of channels"
# - "a grey image, becomes (1, height, width)"
# - "(batch, height, width, channel) becomes (batch, channel, height, width)"
# - "the values are those of v2, **bit for bit**"
# - "but one channel becomes (height, width)"
# - "becomes (batch, height, width, channel), always"
# - "values outside of 0 to 1 are clamped"
# - "times 255.999, fraction cut off"
# - "may require a gradient"
# - "and stays as it is"
#
# Admits:
#
# - "for any number of channels": of five channels
# - "(height, width), a grey image": grey, 3 wide
# - "turns a `uint8` array": an image that is a slice
# - "(batch, height, width, channel)": a batch of none
# - "turns a `float32` tensor": in grey, transposed
# - "(batch, channel, height, width)": a grey batch
# - "values outside of 0 to 1": in grey, out of range
# - "may require a gradient": with a gradient
# - "on any device": device=device

# %% wrong="reshape instead of permute" breaks="becomes (channel, height, width)" says=["in colour", "differs in"]
def image_to_tensor(image):
    x = torch.tensor(image)
    x = x[..., None] if x.dim() == 2 else x
    *batch, height, width, channels = x.shape
    return x.reshape(*batch, channels, height, width).float() * (1 / 255)


def tensor_to_image(x):
    *batch, channels, height, width = x.shape
    y = (x.detach().cpu().clamp(0, 1) * 255.999).byte().reshape(*batch, height, width, channels)
    return y.squeeze(-1).numpy() if y.dim() == 3 else y.numpy()


# %% wrong="divides by 255, and rounds on the way back" says=["differ in the last bit: multiply by 1 / 255 in float32", "expected 127, got 128"]
def image_to_tensor(image):
    x = torch.tensor(image)
    x = x[None] if x.dim() == 2 else x.movedim(-1, -3)
    return x.float() / 255


def tensor_to_image(x):
    y = (x.detach().cpu().clamp(0, 1) * 255).round().to(torch.uint8).movedim(-3, -1)
    return (y[..., 0] if y.dim() == 3 and y.shape[-1] == 1 else y).numpy()


# %% wrong="no clamp, and the channel of a grey image stays" says=["in grey, out of range", "two dimensions"]
def image_to_tensor(image):
    x = torch.tensor(image)
    x = x[None] if x.dim() == 2 else x.movedim(-1, -3)
    return x.float() * (1 / 255)


def tensor_to_image(x):
    return (x.detach().cpu() * 255.999).to(torch.uint8).movedim(-3, -1).numpy()


# %% wrong="permutes one image only" breaks="(batch, height, width, channel) becomes (batch, channel, height, width)" says=["RuntimeError", "number of dimensions in the tensor input"]
def image_to_tensor(image):
    return torch.tensor(image).permute(2, 0, 1).float() * (1 / 255)


def tensor_to_image(x):
    return (x.detach().cpu().clamp(0, 1) * 255.999).byte().permute(1, 2, 0).numpy()


# %% wrong="clamps in place" breaks="and stays as it is" says=["an argument was changed (its values)"]
def image_to_tensor(image):
    x = torch.tensor(image)
    x = x[None] if x.dim() == 2 else x.movedim(-1, -3)
    return x.float() * (1 / 255)


def tensor_to_image(x):
    y = (x.detach().clamp_(0, 1) * 255.999).cpu().to(torch.uint8).movedim(-3, -1)
    return y[..., 0].numpy() if y.dim() == 3 and y.shape[-1] == 1 else y.numpy()


# %% wrong="forgets the gradient" breaks="may require a gradient" says=["RuntimeError", "requires grad"]
def image_to_tensor(image):
    x = torch.tensor(image)
    x = x[None] if x.dim() == 2 else x.movedim(-1, -3)
    return x.float() * (1 / 255)


def tensor_to_image(x):
    y = (x.clamp(0, 1) * 255.999).cpu().movedim(-3, -1)
    y = y[..., 0] if y.dim() == 3 and y.shape[-1] == 1 else y
    return y.numpy().astype(np.uint8)


# %% wrong="squeezes every size of 1" says=["the shape of tensor_to_image(x) with x of one pixel: expected (1, 1, 3), got (3,)"]
def image_to_tensor(image):
    x = torch.tensor(image)
    x = x[None] if x.dim() == 2 else x.movedim(-1, -3)
    return x.float() * (1 / 255)


def tensor_to_image(x):
    return (
        (x.detach().cpu().clamp(0, 1) * 255.999).to(torch.uint8).movedim(-3, -1).squeeze().numpy()
    )


# %% wrong="keeps the range of the file" breaks="into a `float32` tensor from 0 to 1" says=["the example, of one pixel: the result", "expected 1, got 255"]
def image_to_tensor(image):
    x = torch.tensor(image).float()
    return x[None] if x.dim() == 2 else x.movedim(-1, -3)


def tensor_to_image(x):
    y = (x.detach().cpu().clamp(0, 1) * 255.999).to(torch.uint8).movedim(-3, -1)
    return y[..., 0].numpy() if y.dim() == 3 and y.shape[-1] == 1 else y.numpy()


# %% right="NumPy does the work"
def image_to_tensor(image):
    image = image[:, :, None] if image.ndim == 2 else image
    scaled = image.astype(np.float32) * np.float32(1 / 255)
    return torch.from_numpy(np.ascontiguousarray(np.moveaxis(scaled, -1, -3)))


def tensor_to_image(x):
    y = x.detach().cpu().numpy().clip(0, 1) * np.float32(255.999)
    y = np.moveaxis(y.astype(np.uint8), -3, -1)
    return np.squeeze(y, -1) if y.ndim == 3 and y.shape[-1] == 1 else y


# %% right="torch.where and a stack of planes"
def image_to_tensor(image):
    if image.ndim == 2:
        image = image.reshape(*image.shape, 1)
    planes = [torch.tensor(image[..., c]) for c in range(image.shape[-1])]
    return torch.stack(planes, dim=-3).type(torch.float32).mul_(1 / 255)


def tensor_to_image(x):
    with torch.no_grad():
        x = torch.where(x < 0, 0, torch.where(x > 1, 1, x)).mul(255.999).floor().byte().cpu()
    if x.dim() == 3 and len(x) == 1:
        return x[0].numpy()
    return x.transpose(-3, -1).transpose(-3, -2).numpy()


# %% wrong="multiplies in float64" breaks="the values are those of v2, **bit for bit**" says=["a product in float64 gives other last bits"]
def image_to_tensor(image):
    x = torch.tensor(image)
    x = x[None] if x.dim() == 2 else x.movedim(-1, -3)
    return (x.double() * (1 / 255)).float()


def tensor_to_image(x):
    y = (x.detach().cpu().clamp(0, 1) * 255.999).to(torch.uint8).movedim(-3, -1)
    return (y[..., 0] if y.dim() == 3 and y.shape[-1] == 1 else y).numpy()


# %% wrong="knows a colour image by its three channels" breaks="for any number of channels" says=["an image of two channels", "an image of five channels"]
def image_to_tensor(image):
    x = torch.tensor(image)
    x = x.movedim(-1, -3) if x.shape[-1] in (1, 3, 4) and x.dim() > 2 else x[None]
    return x.float() * (1 / 255)


def tensor_to_image(x):
    y = (x.detach().cpu().clamp(0, 1) * 255.999).to(torch.uint8)
    y = y.movedim(-3, -1) if y.shape[-3] in (1, 3, 4) else y
    return (y[..., 0] if y.dim() == 3 and y.shape[-1] == 1 else y).numpy()


# %% wrong="requires_grad_(False) on the caller's tensor" says=["x required a gradient and does not afterwards"]
def image_to_tensor(image):
    x = torch.from_numpy(image).float() * (1 / 255)
    return x[None] if x.dim() == 2 else x.movedim(-1, -3)


def tensor_to_image(x):
    x.requires_grad_(False)
    y = (x.cpu().clamp(0, 1) * 255.999).to(torch.uint8)
    if y.dim() == 3 and y.shape[0] == 1:
        return y[0].numpy()
    return y.movedim(-3, -1).numpy()


# %% wrong="v2 does it" breaks="Write both ways by hand, without torchvision" says=["to_dtype ran: write it without torchvision"]
def image_to_tensor(image):
    from torchvision.transforms.v2 import functional as v2

    x = torch.from_numpy(image)
    x = x[None] if x.dim() == 2 else x.movedim(-1, -3)
    return v2.to_dtype(x, torch.float32, scale=True)


def tensor_to_image(x):
    from torchvision.transforms.v2 import functional as v2

    y = v2.to_dtype(x.detach().cpu().clamp(0, 1), torch.uint8, scale=True)
    if y.dim() == 3 and y.shape[0] == 1:
        return y[0].numpy()
    return y.movedim(-3, -1).numpy()


# %% right="einops and branches"
def image_to_tensor(image):
    import einops

    if image.ndim == 2:
        image = image[..., None]
    x = einops.rearrange(torch.tensor(image), "... h w c -> ... c h w")
    return torch.mul(x.to(torch.float32), 1 / 255)


def tensor_to_image(x):
    import einops

    with torch.no_grad():
        y = x.minimum(torch.ones_like(x)).maximum(torch.zeros_like(x)).mul(255.999).byte().cpu()
    if len(y.shape) == 3 and len(y) == 1:
        return y.numpy()[0]
    return einops.rearrange(y.numpy(), "... c h w -> ... h w c")


# %% wrong="a grey image stays as it is" breaks="a grey image, becomes (1, height, width)" says=["an image in grey, of shape (12, 21): the result has shape (12, 21), expected (1, 12, 21)"]
def image_to_tensor(image):
    x = torch.tensor(image)
    x = x if x.dim() == 2 else x.movedim(-1, -3)
    return x.to(torch.float32) * (1 / 255)


def tensor_to_image(x):
    x = x.detach().clamp(0, 1).mul(255.999).to(torch.uint8).movedim(-3, -1).cpu().numpy()
    return x[..., 0] if x.ndim == 3 and x.shape[-1] == 1 else x


# %% wrong="one channel stays" breaks="but one channel becomes (height, width)" says=["expected (1, 3), got (1, 3, 1) (one channel: two dimensions)"]
def image_to_tensor(image):
    x = torch.tensor(image)
    x = x[None] if x.dim() == 2 else x.movedim(-1, -3)
    return x.to(torch.float32) * (1 / 255)


def tensor_to_image(x):
    return x.detach().clamp(0, 1).mul(255.999).to(torch.uint8).movedim(-3, -1).cpu().numpy()


# %% wrong="a grey batch loses its channel" breaks="becomes (batch, height, width, channel), always" says=["expected (1, 1, 3, 1), got (1, 1, 3) (a batch keeps its channel)"]
def image_to_tensor(image):
    x = torch.tensor(image)
    x = x[None] if x.dim() == 2 else x.movedim(-1, -3)
    return x.to(torch.float32) * (1 / 255)


def tensor_to_image(x):
    x = x.detach().clamp(0, 1).mul(255.999).to(torch.uint8).movedim(-3, -1).cpu().numpy()
    return x[..., 0] if x.shape[-1] == 1 else x


# %% wrong="no clamp" breaks="values outside of 0 to 1 are clamped" says=["in grey, out of range differs", "expected 255, got 51"]
def image_to_tensor(image):
    x = torch.tensor(image)
    x = x[None] if x.dim() == 2 else x.movedim(-1, -3)
    return x.to(torch.float32) * (1 / 255)


def tensor_to_image(x):
    x = x.detach().mul(255.999).to(torch.uint8).movedim(-3, -1).cpu().numpy()
    return x[..., 0] if x.ndim == 3 and x.shape[-1] == 1 else x


# %% wrong="times 255, rounded" breaks="times 255.999, fraction cut off" says=["in grey, out of range differs", "expected 127, got 128"]
def image_to_tensor(image):
    x = torch.tensor(image)
    x = x[None] if x.dim() == 2 else x.movedim(-1, -3)
    return x.to(torch.float32) * (1 / 255)


def tensor_to_image(x):
    x = x.detach().clamp(0, 1).mul(255).round().to(torch.uint8).movedim(-3, -1).cpu().numpy()
    return x[..., 0] if x.ndim == 3 and x.shape[-1] == 1 else x


# %% wrong="takes a first size of 3 for channels" says=["in colour, 3 high"]
def image_to_tensor(image):
    x = torch.tensor(image)
    x = x[None] if x.dim() == 2 else x if x.shape[0] == 3 else x.movedim(-1, -3)
    return x.float() * (1 / 255)


def tensor_to_image(x):
    x = (x.detach().cpu().clamp(0, 1) * 255.999).to(torch.uint8).movedim(-3, -1)
    if x.dim() == 3 and x.shape[-1] == 1:
        x = x[..., 0]
    return x.numpy()


# %% wrong="scales in half precision" says=["of four channels"]
def image_to_tensor(image):
    x = torch.tensor(image)
    x = x[None] if x.dim() == 2 else x.movedim(-1, -3)
    return x.float() * (1 / 255)


def tensor_to_image(x):
    x = (x.detach().cpu().half().clamp(0, 1).float() * 255.999).to(torch.uint8).movedim(-3, -1)
    if x.dim() == 3 and x.shape[-1] == 1:
        x = x[..., 0]
    return x.numpy()


# %% wrong="squeezes an image of one channel" says=["of one channel, one high", "Dimension out of range"]
def image_to_tensor(image):
    x = torch.tensor(image)
    x = x.squeeze() if x.dim() == 3 and x.shape[-1] == 1 else x
    if x.dim() == 2:
        x = x[None]
    else:
        x = x.movedim(-1, -3)
    return x.to(torch.float32) * (1 / 255)


def tensor_to_image(x):
    x = x.detach().cpu().clamp(0, 1)
    x = (x * 255.999).to(torch.uint8).movedim(-3, -1)
    if x.dim() == 3 and x.shape[-1] == 1:
        x = x[..., 0]
    return x.numpy()


# %% wrong="takes a height of 3 for channels" says=["of two channels, 3 high", "the same sizes in another order"]
def image_to_tensor(image):
    x = torch.tensor(image)
    if x.dim() == 2:
        x = x[None]
    elif x.dim() == 3 and x.shape[0] in (1, 3) and x.shape[-1] not in (1, 3, 4):
        pass
    else:
        x = x.movedim(-1, -3)
    return x.to(torch.float32) * (1 / 255)


def tensor_to_image(x):
    x = x.detach().cpu().clamp(0, 1)
    x = (x * 255.999).to(torch.uint8).movedim(-3, -1)
    if x.dim() == 3 and x.shape[-1] == 1:
        x = x[..., 0]
    return x.numpy()


# %% wrong="reshapes, and scales by 255" says=["reshape keeps the order of the numbers: move the channel instead", "the factor is 255.999, not 255"]
def image_to_tensor(image):
    x = torch.tensor(image)
    if x.dim() == 2:
        x = x[None]
    else:
        x = x.reshape(*x.shape[:-3], x.shape[-1], *x.shape[-3:-1])
    return x.to(torch.float32) * (1 / 255)


def tensor_to_image(x):
    x = x.detach().cpu().clamp(0, 1)
    x = (x * 255).to(torch.uint8).movedim(-3, -1)
    if x.dim() == 3 and x.shape[-1] == 1:
        x = x[..., 0]
    return x.numpy()


# %% wrong="a dark image stays as it is" says=["an image of zeros and ones", "expected 0.00392157, got 1"]
def image_to_tensor(image):
    x = torch.tensor(image)
    if x.dim() == 2:
        x = x[None]
    else:
        x = x.movedim(-1, -3)
    x = x.to(torch.float32)
    return x * (1 / 255) if x.numel() and x.max() > 1 else x


def tensor_to_image(x):
    x = x.detach().cpu().clamp(0, 1)
    x = (x * 255.999).to(torch.uint8).movedim(-3, -1)
    if x.dim() == 3 and x.shape[-1] == 1:
        x = x[..., 0]
    return x.numpy()


# %% wrong="rounds on the way back" says=["this is rounded; the fraction is to be cut off"]
def image_to_tensor(image):
    x = torch.tensor(image)
    if x.dim() == 2:
        x = x[None]
    else:
        x = x.movedim(-1, -3)
    return x.to(torch.float32) * (1 / 255)


def tensor_to_image(x):
    x = x.detach().cpu().clamp(0, 1)
    x = (x * 255).round().to(torch.uint8).movedim(-3, -1)
    if x.dim() == 3 and x.shape[-1] == 1:
        x = x[..., 0]
    return x.numpy()


# %% right="cut off after the largest"
def image_to_tensor(image):
    x = torch.tensor(image)
    if x.dim() == 2:
        x = x[None]
    else:
        x = x.movedim(-1, -3)
    return x.to(torch.float32) * (1 / 255)


def tensor_to_image(x):
    x = x.cpu()
    x = (x * 255.999).clamp(0, 255).to(torch.uint8).movedim(-3, -1)
    if x.dim() == 3 and x.shape[-1] == 1:
        x = x[..., 0]
    return x.numpy()


# %% wrong="leaves the dtype to the default" breaks="whatever the default dtype is" says=["1 of", "while the default dtype is float64", "ask for float32 by name"]
def image_to_tensor(image):
    x = torch.tensor(image)
    x = x[None] if x.dim() == 2 else x.movedim(-1, -3)
    return x * (1 / 255)


def tensor_to_image(x):
    x = (x.detach().cpu().clamp(0, 1) * 255.999).to(torch.uint8).movedim(-3, -1)
    return (x[..., 0] if x.dim() == 3 and x.shape[-1] == 1 else x).numpy()
