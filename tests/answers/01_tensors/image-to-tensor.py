# %% wrong="reshape instead of permute" says=["in colour", "differs in"]
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


# %% wrong="permutes one image only" says=["RuntimeError", "number of dimensions in the tensor input"]
def image_to_tensor(image):
    return torch.tensor(image).permute(2, 0, 1).float() * (1 / 255)


def tensor_to_image(x):
    return (x.detach().cpu().clamp(0, 1) * 255.999).byte().permute(1, 2, 0).numpy()


# %% wrong="clamps in place" says=["an argument was changed (its values)"]
def image_to_tensor(image):
    x = torch.tensor(image)
    x = x[None] if x.dim() == 2 else x.movedim(-1, -3)
    return x.float() * (1 / 255)


def tensor_to_image(x):
    y = (x.detach().clamp_(0, 1) * 255.999).cpu().to(torch.uint8).movedim(-3, -1)
    return y[..., 0].numpy() if y.dim() == 3 and y.shape[-1] == 1 else y.numpy()


# %% wrong="forgets the gradient" says=["RuntimeError", "requires grad"]
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


# %% wrong="keeps the range of the file" says=["the example, of one pixel: the result", "expected 1, got 255"]
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


# %% wrong="multiplies in float64" says=["a product in float64 gives other last bits"]
def image_to_tensor(image):
    x = torch.tensor(image)
    x = x[None] if x.dim() == 2 else x.movedim(-1, -3)
    return (x.double() * (1 / 255)).float()


def tensor_to_image(x):
    y = (x.detach().cpu().clamp(0, 1) * 255.999).to(torch.uint8).movedim(-3, -1)
    return (y[..., 0] if y.dim() == 3 and y.shape[-1] == 1 else y).numpy()


# %% wrong="knows a colour image by its three channels" says=["an image of two channels", "an image of five channels"]
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


# %% wrong="v2 does it" says=["to_dtype ran: write it without torchvision"]
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
