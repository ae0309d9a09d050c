# %% [markdown]
# Rules:
#
# - "make `picture` the image as it was before it was normalised"
# - "(height, width, 3)"
# - "What is beyond 0 or 1 is shown as 0 or 1"
# - "Images may need a gradient"
# - "be on a GPU"
# - "are not to be changed"
# - "a new figure"
# - "one axes for each image, in order"
#
# Admits:
#
# - "Images may need a gradient": images that need a gradient
# - "be on a GPU": images on a GPU, or on what the course takes for one

# %% wrong="the stub" says=["raised TypeError", "imshow wants (height, width, channel)"]
def show_batch(images, labels, names, mean, std):
    figure, grid = plt.subplots(1, len(images), squeeze=False)
    for axes, image, label in zip(grid[0], images, labels, strict=True):
        axes.imshow(image)
        axes.set_title(names[label])
    return figure


# %% wrong="still normalised" says=["picture 0: it is still normalised: times std, plus mean"]
def show_batch(images, labels, names, mean, std):
    figure, grid = plt.subplots(1, len(images), squeeze=False)
    for axes, image, label in zip(grid[0], images, labels, strict=True):
        axes.imshow(image.detach().cpu().clamp(0, 1).permute(1, 2, 0))
        axes.set_title(names[label])
    return figure


# %% wrong="normalised once more" breaks="make `picture` the image as it was before it was normalised" says=["that normalises it once more; go back"]
def show_batch(images, labels, names, mean, std):
    figure, grid = plt.subplots(1, len(images), squeeze=False)
    for axes, image, label in zip(grid[0], images, labels, strict=True):
        picture = (image - mean[:, None, None]) / std[:, None, None]
        axes.imshow(picture.detach().cpu().clamp(0, 1).permute(1, 2, 0))
        axes.set_title(names[label])
    return figure


# %% wrong="reshape in place of permute" breaks="(height, width, 3)" says=["view and reshape don't move the channel"]
def show_batch(images, labels, names, mean, std):
    figure, grid = plt.subplots(1, len(images), squeeze=False)
    for axes, image, label in zip(grid[0], images, labels, strict=True):
        back = (image * std[:, None, None] + mean[:, None, None]).clamp(0, 1)
        axes.imshow(back.detach().cpu().reshape(*image.shape[1:], 3))
        axes.set_title(names[label])
    return figure


# %% wrong="min and max in place of clamp" says=["stretched to its own range: cut off at 0 and 1 instead"]
def show_batch(images, labels, names, mean, std):
    figure, grid = plt.subplots(1, len(images), squeeze=False)
    for axes, image, label in zip(grid[0], images, labels, strict=True):
        back = (image * std[:, None, None] + mean[:, None, None]).detach().cpu()
        back = (back - back.min()) / (back.max() - back.min())
        axes.imshow(back.permute(1, 2, 0))
        axes.set_title(names[label])
    return figure


# %% wrong="bytes that wrap around" breaks="What is beyond 0 or 1 is shown as 0 or 1" says=["bytes wrap around: clamp first"]
def show_batch(images, labels, names, mean, std):
    figure, grid = plt.subplots(1, len(images), squeeze=False)
    for axes, image, label in zip(grid[0], images, labels, strict=True):
        back = (image * std[:, None, None] + mean[:, None, None]).detach().cpu()
        axes.imshow((back * 255).int().to(torch.uint8).permute(1, 2, 0))
        axes.set_title(names[label])
    return figure


# %% wrong="forgets detach" breaks="Images may need a gradient" says=["images that need a gradient", "requires grad"]
def show_batch(images, labels, names, mean, std):
    figure, grid = plt.subplots(1, len(images), squeeze=False)
    for axes, image, label in zip(grid[0], images, labels, strict=True):
        back = (image * std[:, None, None] + mean[:, None, None]).clamp(0, 1)
        axes.imshow(back.cpu().permute(1, 2, 0))
        axes.set_title(names[label])
    return figure


# %% wrong="changes its argument" breaks="are not to be changed" says=["an argument was changed"]
def show_batch(images, labels, names, mean, std):
    images = images.detach()
    images.mul_(std[:, None, None]).add_(mean[:, None, None]).clamp_(0, 1)
    figure, grid = plt.subplots(1, len(images), squeeze=False)
    for axes, image, label in zip(grid[0], images, labels, strict=True):
        axes.imshow(image.cpu().permute(1, 2, 0))
        axes.set_title(names[label])
    return figure


# %% right="bytes, numpy, two rows, matplotlib clips"
def show_batch(images, labels, names, mean, std):
    pictures = images.detach().cpu().numpy().transpose(0, 2, 3, 1)
    pictures = pictures * std.cpu().numpy() + mean.cpu().numpy()
    figure = plt.figure()
    for n, picture in enumerate(pictures):
        axes = figure.add_subplot(2, (len(pictures) + 1) // 2, n + 1)
        axes.imshow((picture.clip(0, 1) * 255).round().astype("uint8"))
        axes.set_title(names[labels[n]], loc="left")
    return figure


# %% right="torchvision's normalize, backwards, in a gallery with an empty corner"
def show_batch(images, labels, names, mean, std):
    from torchvision.transforms.functional import normalize

    back = normalize(images.detach(), (-mean / std).tolist(), (1 / std).tolist())
    figure, grid = plt.subplots(3, 3)
    for axes, image, label in zip(grid.flat, back.cpu(), labels):
        axes.imshow(torch.einsum("chw->hwc", image))
        axes.set_title(names[label])
    return figure


# %% wrong="clamps before it goes back" says=["clamp comes last, after times std, plus mean"]
def show_batch(images, labels, names, mean, std):
    figure, grid = plt.subplots(1, len(images), squeeze=False, figsize=(1.2 * len(images), 1.5))
    for axes, image, label in zip(grid[0], images, labels, strict=True):
        picture = (
            image.detach().cpu().clamp(0, 1) * std.cpu()[:, None, None] + mean.cpu()[:, None, None]
        )
        axes.imshow(picture.permute(1, 2, 0))
        axes.set_title(names[label])
        axes.axis("off")
    return figure


# %% right="clamps between the normalised ends"
def show_batch(images, labels, names, mean, std):
    figure, grid = plt.subplots(1, len(images), squeeze=False, figsize=(1.2 * len(images), 1.5))
    mean, std = mean[:, None, None], std[:, None, None]
    for axes, image, label in zip(grid[0], images.detach(), labels, strict=True):
        picture = torch.max(torch.min(image, (1 - mean) / std), -mean / std) * std + mean
        axes.imshow(picture.permute(1, 2, 0).cpu())
        axes.set_title(names[label])
        axes.axis("off")
    return figure


# %% wrong="forgets cpu()" breaks="be on a GPU" says=["images on a GPU", "can't convert cuda:0 device type tensor to numpy", "cpu()"]
def show_batch(images, labels, names, mean, std):
    figure, grid = plt.subplots(1, len(images), squeeze=False, figsize=(1.2 * len(images), 1.5))
    for axes, image, label in zip(grid[0], images, labels, strict=True):
        picture = image.detach() * std[:, None, None] + mean[:, None, None]
        picture = picture.clamp(0, 1).permute(1, 2, 0)
        axes.imshow(picture)
        axes.set_title(names[label])
        axes.axis("off")
    return figure


# %% wrong="switches the caller's gradient off" says=["an argument was changed (its requires_grad)"]
def show_batch(images, labels, names, mean, std):
    figure, grid = plt.subplots(1, len(images), squeeze=False, figsize=(1.2 * len(images), 1.5))
    images.requires_grad_(False)
    for axes, image, label in zip(grid[0], images, labels, strict=True):
        picture = image * std[:, None, None] + mean[:, None, None]
        axes.imshow(picture.clamp(0, 1).permute(1, 2, 0).cpu())
        axes.set_title(names[label])
        axes.axis("off")
    return figure


# %% wrong="one mean and std for all channels" says=["mean and std of each channel, not one for all"]
def show_batch(images, labels, names, mean, std):
    figure, grid = plt.subplots(1, len(images), squeeze=False)
    for axes, image, label in zip(grid[0], images, labels, strict=True):
        picture = (image * std.mean() + mean.mean()).clamp(0, 1).permute(1, 2, 0).detach().cpu()
        axes.imshow(picture)
        axes.set_title(names[label])
    return figure


# %% wrong="the first channel's mean and std for all" says=["each channel has its own"]
def show_batch(images, labels, names, mean, std):
    figure, grid = plt.subplots(1, len(images), squeeze=False)
    for axes, image, label in zip(grid[0], images, labels, strict=True):
        picture = (image * std[0] + mean[0]).clamp(0, 1).permute(1, 2, 0).detach().cpu()
        axes.imshow(picture)
        axes.set_title(names[label])
    return figure


# %% wrong="turns the sign of what is below 0" says=["not with its sign turned"]
def show_batch(images, labels, names, mean, std):
    figure, grid = plt.subplots(1, len(images), squeeze=False)
    for axes, image, label in zip(grid[0], images, labels, strict=True):
        picture = (
            (image * std[:, None, None] + mean[:, None, None])
            .abs()
            .clamp(0, 1)
            .permute(1, 2, 0)
            .detach()
            .cpu()
        )
        axes.imshow(picture)
        axes.set_title(names[label])
    return figure


# %% wrong="subtracts the mean" says=["plus mean: it was subtracted"]
def show_batch(images, labels, names, mean, std):
    figure, grid = plt.subplots(1, len(images), squeeze=False)
    for axes, image, label in zip(grid[0], images, labels, strict=True):
        picture = (
            (image * std.view(-1, 1, 1) - mean.view(-1, 1, 1))
            .clamp(0, 1)
            .permute(1, 2, 0)
            .detach()
            .cpu()
        )
        axes.imshow(picture)
        axes.set_title(names[label])
    return figure


# %% wrong="the first image in each axes" says=["that is the first image; each has its own axes"]
def show_batch(images, labels, names, mean, std):
    figure, grid = plt.subplots(1, len(images), squeeze=False)
    for axes, image, label in zip(grid[0], images, labels, strict=True):
        picture = (
            (images[0] * std.view(-1, 1, 1) + mean.view(-1, 1, 1))
            .clamp(0, 1)
            .permute(1, 2, 0)
            .detach()
            .cpu()
        )
        axes.imshow(picture)
        axes.set_title(names[label])
    return figure


# %% right="addcmul on the last dimension"
def show_batch(images, labels, names, mean, std):
    figure, grid = plt.subplots(1, len(images), squeeze=False)
    for axes, image, label in zip(grid[0], images, labels, strict=True):
        with torch.no_grad():
            picture = torch.addcmul(mean, image.movedim(0, -1), std).clip(0, 1).to("cpu").numpy()
        axes.imshow(picture)
        axes.set_title(names[label])
    return figure


# %% wrong="cuts off before the mean is added" says=["clamp comes last, after plus mean"]
def show_batch(images, labels, names, mean, std):
    figure, grid = plt.subplots(1, len(images), squeeze=False, figsize=(1.2 * len(images), 1.5))
    for axes, image, label in zip(grid[0], images, labels, strict=True):
        picture = image
        picture = (
            (image.detach() * std[:, None, None])
            .clamp(0, 1)
            .add(mean[:, None, None])
            .permute(1, 2, 0)
            .cpu()
        )
        axes.imshow(picture)
        axes.set_title(names[label])
        axes.axis("off")
    return figure


# %% wrong="the upper limit first" says=["black all over: clamp(0, 1) takes the lower limit first"]
def show_batch(images, labels, names, mean, std):
    figure, grid = plt.subplots(1, len(images), squeeze=False, figsize=(1.2 * len(images), 1.5))
    for axes, image, label in zip(grid[0], images, labels, strict=True):
        picture = image.detach() * std[:, None, None] + mean[:, None, None]
        axes.imshow(picture.clamp(1, 0).permute(1, 2, 0).cpu())
        axes.set_title(names[label])
        axes.axis("off")
    return figure


# %% wrong="everything up to 1" says=["white all over: cut off at 0 below and at 1 above"]
def show_batch(images, labels, names, mean, std):
    figure, grid = plt.subplots(1, len(images), squeeze=False, figsize=(1.2 * len(images), 1.5))
    for axes, image, label in zip(grid[0], images, labels, strict=True):
        picture = image.detach() * std[:, None, None] + mean[:, None, None]
        axes.imshow(picture.clamp(1, 1).permute(1, 2, 0).cpu())
        axes.set_title(names[label])
        axes.axis("off")
    return figure


# %% wrong="mean and std along the columns" says=["mean and std belong to channels, not to columns"]
def show_batch(
    images: torch.Tensor, labels: list[int], names: list[str], mean: torch.Tensor, std: torch.Tensor
) -> plt.Figure:
    figure, grid = plt.subplots(1, len(images), squeeze=False, figsize=(1.2 * len(images), 1.5))
    for axes, image, label in zip(grid[0], images, labels, strict=True):
        picture = image
        picture = (image * std + mean).clamp(0, 1).permute(1, 2, 0).detach().cpu()
        axes.imshow(picture)
        axes.set_title(names[label])
        axes.axis("off")
    return figure


# %% wrong="wraps round" says=["it was wrapped round"]
def show_batch(
    images: torch.Tensor, labels: list[int], names: list[str], mean: torch.Tensor, std: torch.Tensor
) -> plt.Figure:
    figure, grid = plt.subplots(1, len(images), squeeze=False, figsize=(1.2 * len(images), 1.5))
    for axes, image, label in zip(grid[0], images, labels, strict=True):
        picture = image
        picture = (
            ((image * std[:, None, None] + mean[:, None, None]) % 1).permute(1, 2, 0).detach().cpu()
        )
        axes.imshow(picture)
        axes.set_title(names[label])
        axes.axis("off")
    return figure


# %% wrong="squeezes away a height or width of 1" says=["images of 1 x 4 pixels: picture 0 has shape (4, 3), not (1, 4, 3)", "all three dimensions stay"]
def show_batch(images, labels, names, mean, std):
    """A figure of the images (batch, 3, height, width) as they were before ``(x - mean) / std``."""
    figure, grid = plt.subplots(1, len(images), squeeze=False, figsize=(1.2 * len(images), 1.5))
    for axes, image, label in zip(grid[0], images, labels, strict=True):
        picture = image
        picture = (
            (image * std[:, None, None] + mean[:, None, None])
            .clamp(0, 1)
            .permute(1, 2, 0)
            .detach()
            .cpu()
            .squeeze()
        )
        axes.imshow(picture)
        axes.set_title(names[label])
        axes.axis("off")
    return figure


# %% wrong="bytes, cut off at 1 alone" says=["bytes wrap around: clamp at 0 as well"]
def show_batch(images, labels, names, mean, std):
    figure, grid = plt.subplots(1, len(images), squeeze=False)
    for axes, image, label in zip(grid[0], images, labels):
        back = (image.detach() * std[:, None, None] + mean[:, None, None]).clamp(max=1)
        axes.imshow((255 * back).to(torch.int16).to(torch.uint8).permute(1, 2, 0).cpu())
        axes.set_title(names[label])
    return figure


# %% wrong="one figure for all calls" breaks="a new figure" says=["a second call gave the same figure", "make a new one in each call"]
def show_batch(
    images: torch.Tensor, labels: list[int], names: list[str], mean: torch.Tensor, std: torch.Tensor
) -> plt.Figure:
    figure, grid = plt.subplots(
        1,
        len(images),
        squeeze=False,
        figsize=(1.2 * len(images), 1.5),
        num="show_batch",
        clear=True,
    )
    for axes, image, label in zip(grid[0], images, labels, strict=True):
        picture = image.detach().cpu() * std.cpu()[:, None, None] + mean.cpu()[:, None, None]
        picture = picture.clamp(0, 1).permute(1, 2, 0)
        axes.imshow(picture)
        axes.set_title(names[label])
        axes.axis("off")
    return figure


# %% wrong="a figure kept for each number of images" says=["a second call gave the same figure"]
import functools


@functools.cache
def frame(n):
    return plt.subplots(1, n, squeeze=False, figsize=(1.2 * n, 1.5))


def show_batch(images, labels, names, mean, std):
    figure, grid = frame(len(images))
    for axes, image, label in zip(grid[0], images, labels, strict=True):
        picture = image.detach() * std[:, None, None] + mean[:, None, None]
        axes.clear()
        axes.imshow(picture.clamp(0, 1).permute(1, 2, 0).cpu())
        axes.set_title(names[label])
        axes.axis("off")
    return figure


# %% wrong="a grid filled column by column" breaks="one axes for each image, in order" says=["five images: the titles", "in the order of the images"]
def show_batch(images, labels, names, mean, std):
    columns = min(4, len(images))
    figure, grid = plt.subplots(-(-len(images) // columns), columns, squeeze=False)
    for axes in grid.flat:
        axes.axis("off")
    for axes, image, label in zip(grid.T.flat, images, labels):
        picture = image * std[:, None, None] + mean[:, None, None]
        axes.imshow(picture.clamp(0, 1).permute(1, 2, 0).detach().cpu())
        axes.set_title(names[label])
    return figure
