# %% [markdown]
# Rules:
#
# - "scaled from 0…255 to 0…1"
# - "which stays float32"
# - "of any number of classes"
# - "return a new float32 tensor, their sum"
# - "`hits` stays as it is"
# - "add 0, 1, …, n−1 along the last dimension"
# - "the mean absolute difference, float32, 0-dim"
# - "No argument is changed, not the array either"
# - "a layer runs at most once"
# - "All results are float32, to its full precision"
# - "on the device of the input"
#
# Admits:
#
# - "of any number of classes": labels of 257 classes
# - "on any device": number, on another device
# - "a float64 array (batch, 3)": rows, a batch of none
# - "two uint8 images": frames in colour

# %% wrong="turns the layer into the data's dtype" breaks="which stays float32" says=["the layer was made float64: convert the data instead"]
dtype_and_device = {
    "photo": lambda layer, photo: layer(photo.float() / 255),
    "rows": lambda layer, rows: layer.double()(torch.from_numpy(rows)).float(),
    "labels": lambda scores, labels: F.cross_entropy(scores, labels.long()),
    "hits": lambda hits, scores: (hits + scores).float(),
    "number": lambda x: x + torch.arange(x.shape[-1], device=x.device),
    "frames": lambda a, b: (a.float() - b.float()).abs().mean(),
}

# %% wrong="forgets to scale; converts after the difference" says=["the photo is not scaled to 0…1", "3 - 5 is 254 in uint8"]
dtype_and_device = {
    "photo": lambda layer, photo: layer(photo.float()),
    "rows": lambda layer, rows: layer(torch.from_numpy(rows).float().to(layer.weight.device)),
    "labels": lambda scores, labels: F.cross_entropy(scores, labels.long()),
    "hits": lambda hits, scores: (hits + scores).float(),
    "number": lambda x: x + torch.arange(x.shape[-1], device=x.device),
    "frames": lambda a, b: (a - b).float().abs().mean(),
}

# %% wrong="cuts the fractions; works on the CPU only" says=["the fractions were cut off", "device=x.device"]
dtype_and_device = {
    "photo": lambda layer, photo: layer(photo.float() / 255),
    "rows": lambda layer, rows: layer(torch.from_numpy(rows).to(layer.weight)),
    "labels": lambda scores, labels: F.cross_entropy(scores, labels.long()),
    "hits": lambda hits, scores: (hits + scores.to(hits.dtype)).float(),
    "number": lambda x: x + torch.arange(x.shape[-1]).float(),
    "frames": lambda a, b: (a.float() - b.float()).abs().mean(),
}


# %% wrong="writes into an argument" says=["an argument was changed"]
def add(hits, scores):
    return scores.add_(hits)


dtype_and_device = {
    "photo": lambda layer, photo: layer(photo.float() / 255),
    "rows": lambda layer, rows: layer(torch.from_numpy(rows).to(layer.weight)),
    "labels": lambda scores, labels: F.cross_entropy(scores, labels.long()),
    "hits": add,
    "number": lambda x: x + torch.arange(x.shape[-1], device=x.device),
    "frames": lambda a, b: (a.float() - b.float()).abs().mean(),
}

# %% wrong="float64 all along" says=["the layer takes its own dtype alone", "the result has dtype torch.float64, expected torch.float32"]
dtype_and_device = {
    "photo": lambda layer, photo: layer(photo.float() / 255),
    "rows": lambda layer, rows: layer(torch.tensor(rows)),
    "labels": lambda scores, labels: F.cross_entropy(scores, labels.long()),
    "hits": lambda hits, scores: hits.double() + scores,
    "number": lambda x: x + torch.arange(x.shape[-1], device=x.device, dtype=torch.float64),
    "frames": lambda a, b: (a.double() - b.double()).abs().mean(),
}


# %% right="functions with names"
def photo(layer, photo):
    return F.linear(torch.true_divide(photo, 255.0), layer.weight, layer.bias)


def rows(layer, rows):
    return layer(torch.as_tensor(rows, dtype=torch.float32, device=layer.weight.device))


def labels(scores, labels):
    rows = torch.arange(len(labels), device=scores.device)
    return -scores.log_softmax(1)[rows, labels.long()].mean()


def number(x):
    return x + (torch.ones_like(x).cumsum(-1) - 1)


def frames(a, b):
    return (torch.maximum(a, b) - torch.minimum(a, b)).float().mean()


dtype_and_device = dict(
    photo=photo,
    rows=rows,
    labels=labels,
    hits=lambda hits, scores: torch.add(scores, hits),
    number=number,
    frames=frames,
)

# %% right="int16, new_tensor, nll_loss"
dtype_and_device = {
    "photo": lambda layer, photo: layer(photo.to(layer.weight.dtype).mul(1 / 255)),
    "rows": lambda layer, rows: layer(layer.weight.new_tensor(rows)),
    "labels": lambda scores, labels: F.nll_loss(F.log_softmax(scores, -1), labels.to(torch.int64)),
    "hits": lambda hits, scores: hits.clone().float() + scores,
    "number": lambda x: torch.stack([c + i for i, c in enumerate(x.unbind(-1))], -1),
    "frames": lambda a, b: (a.short() - b.short()).abs().float().mean(),
}


# %% wrong="moves to the course's device, and works in place on hits" breaks="`hits` stays as it is" says=["device=x.device"]
dtype_and_device = {
    "photo": lambda layer, photo: layer(photo.float().div_(255)),
    "rows": lambda layer, rows: layer(torch.from_numpy(rows).float().to(device)),
    "labels": lambda scores, labels: F.cross_entropy(scores, labels.to(torch.int64)),
    "hits": lambda hits, scores: hits.float().add_(scores),
    "number": lambda x: x + torch.arange(x.shape[-1]).to(device),
    "frames": lambda a, b: (a.int() - b.int()).abs().float().mean(),
}


# %% right="functional, int16 and cumsum"
dtype_and_device = {
    "photo": lambda layer, photo: F.linear(photo.to(layer.weight) / 255, layer.weight, layer.bias),
    "rows": lambda layer, rows: layer(
        torch.tensor(rows, dtype=torch.float32, device=layer.weight.device)
    ),
    "labels": lambda scores, labels: (
        -scores.log_softmax(1).gather(1, labels.long()[:, None]).mean()
    ),
    "hits": lambda hits, scores: torch.add(hits, scores),
    "number": lambda x: x + (torch.ones_like(x).cumsum(-1) - 1),
    "frames": lambda a, b: (a.to(torch.int16) - b.to(torch.int16)).abs().to(torch.float32).mean(),
}


# %% wrong="labels as bytes" breaks="of any number of classes" says=["label 256 became 0", "uint8 holds 0 to 255"]
dtype_and_device = {
    "photo": lambda layer, photo: layer(photo.float() / 255),
    "rows": lambda layer, rows: layer(torch.from_numpy(rows).to(layer.weight)),
    "labels": lambda scores, labels: F.cross_entropy(scores, labels.byte()),
    "hits": lambda hits, scores: (hits + scores).float(),
    "number": lambda x: x + torch.arange(x.shape[-1], device=x.device),
    "frames": lambda a, b: (a.float() - b.float()).abs().mean(),
}

# %% wrong="the array goes to the layer's dtype alone" says=["the data goes where layer.weight is"]
dtype_and_device = {
    "photo": lambda layer, photo: layer(photo.float() / 255),
    "rows": lambda layer, rows: layer(torch.from_numpy(rows).float()),
    "labels": lambda scores, labels: F.cross_entropy(scores, labels.long()),
    "hits": lambda hits, scores: (hits + scores).float(),
    "number": lambda x: x + torch.arange(x.shape[-1], device=x.device),
    "frames": lambda a, b: (a.float() - b.float()).abs().mean(),
}

# %% wrong="half is enough for bytes" says=["frames: the result: it was rounded to half"]
dtype_and_device = {
    "photo": lambda layer, photo: layer(photo.float() / 255),
    "rows": lambda layer, rows: layer(torch.from_numpy(rows).to(layer.weight)),
    "labels": lambda scores, labels: F.cross_entropy(scores, labels.long()),
    "hits": lambda hits, scores: (hits + scores).float(),
    "number": lambda x: x + torch.arange(x.shape[-1], device=x.device),
    "frames": lambda a, b: (a.half() - b.half()).abs().mean().float(),
}

# %% wrong="counts from 1, and forgets the sign" says=["number: the result: it counts from 1", "frames: the result: differences of both signs cancel"]
dtype_and_device = {
    "photo": lambda layer, photo: layer(photo.float() / 255),
    "rows": lambda layer, rows: layer(torch.from_numpy(rows).to(layer.weight)),
    "labels": lambda scores, labels: F.cross_entropy(scores, labels.long()),
    "hits": lambda hits, scores: (hits + scores).float(),
    "number": lambda x: x + torch.arange(1, x.shape[-1] + 1, device=x.device),
    "frames": lambda a, b: (a.float() - b.float()).mean().abs(),
}

# %% wrong="numbers the rows" says=["number: the result: it counts along the first dimension"]
dtype_and_device = {
    "photo": lambda layer, photo: layer(photo.float() / 255),
    "rows": lambda layer, rows: layer(torch.from_numpy(rows).to(layer.weight)),
    "labels": lambda scores, labels: F.cross_entropy(scores, labels.long()),
    "hits": lambda hits, scores: (hits + scores).float(),
    "number": lambda x: x + torch.arange(len(x), device=x.device).view(-1, *[1] * (x.ndim - 1)),
    "frames": lambda a, b: (a.float() - b.float()).abs().mean(),
}

# %% wrong="the photo by 256" breaks="scaled from 0…255 to 0…1" says=["photo: the result: 255 is the largest value"]
dtype_and_device = {
    "photo": lambda layer, photo: layer(photo.float() / 256),
    "rows": lambda layer, rows: layer(torch.from_numpy(rows).to(layer.weight)),
    "labels": lambda scores, labels: F.cross_entropy(scores, labels.long()),
    "hits": lambda hits, scores: (hits + scores).float(),
    "number": lambda x: x + torch.arange(x.shape[-1], device=x.device),
    "frames": lambda a, b: (a.float() - b.float()).abs().mean(),
}


# %% wrong="a photo by its own maximum" says=["divided by its own largest value"]
dtype_and_device = {
    "photo": lambda layer, photo: layer(photo.float() / photo.max()),
    "rows": lambda layer, rows: layer(torch.from_numpy(rows).to(layer.weight)),
    "labels": lambda scores, labels: F.cross_entropy(scores, labels.long()),
    "hits": lambda hits, scores: (hits + scores).float(),
    "number": lambda x: x + torch.arange(x.shape[-1], device=x.device),
    "frames": lambda a, b: (a.float() - b.float()).abs().mean(),
}


# %% wrong="as many classes as the labels have" says=["there are as many classes as scores"]
dtype_and_device = {
    "photo": lambda layer, photo: layer(photo.float() / 255),
    "rows": lambda layer, rows: layer(torch.from_numpy(rows).to(layer.weight)),
    "labels": lambda scores, labels: F.cross_entropy(
        scores[:, : int(labels.max()) + 1], labels.long()
    ),
    "hits": lambda hits, scores: (hits + scores).float(),
    "number": lambda x: x + torch.arange(x.shape[-1], device=x.device),
    "frames": lambda a, b: (a.float() - b.float()).abs().mean(),
}


# %% wrong="devices forgotten, fractions cut" says=["the data goes where layer.weight is", "device=x.device"]
dtype_and_device = {
    "photo": lambda layer, photo: layer(photo.float() / 255),
    "rows": lambda layer, rows: layer(torch.from_numpy(rows).float()),
    "labels": lambda scores, labels: F.cross_entropy(scores, labels.long()),
    "hits": lambda hits, scores: hits.clone().add_(scores.long()).float(),
    "number": lambda x: x + torch.arange(x.shape[-1]),
    "frames": lambda a, b: (a.float() - b.float()).abs().mean(),
}


# %% wrong="counts along dimension 1" breaks="add 0, 1, …, n−1 along the last dimension" says=["number, three dimensions"]
dtype_and_device = {
    "photo": lambda layer, photo: layer(photo.float() / 255),
    "rows": lambda layer, rows: layer(torch.from_numpy(rows).to(layer.weight)),
    "labels": lambda scores, labels: F.cross_entropy(scores, labels.long()),
    "hits": lambda hits, scores: (hits + scores).float(),
    "number": lambda x: (
        x + torch.arange(x.shape[1] if x.dim() > 1 else x.shape[0], device=x.device)
    ),
    "frames": lambda a, b: (a.float() - b.float()).abs().mean(),
}


# %% wrong="the layer doubled for a while" says=["the layer was made float64"]
def _rows(layer, rows):
    out = layer.double()(torch.from_numpy(rows).to(layer.weight.device))
    layer.float()
    return out.float()


dtype_and_device = {
    "photo": lambda layer, photo: layer(photo.float() / 255),
    "rows": _rows,
    "labels": lambda scores, labels: F.cross_entropy(scores, labels.long()),
    "hits": lambda hits, scores: (hits + scores).float(),
    "number": lambda x: x + torch.arange(x.shape[-1], device=x.device),
    "frames": lambda a, b: (a.float() - b.float()).abs().mean(),
}


# %% wrong="counts in bytes" says=["uint8 ends at 255"]
dtype_and_device = {
    "photo": lambda layer, photo: layer(photo / 255),
    "rows": lambda layer, rows: layer(torch.from_numpy(rows).to(layer.weight)),
    "labels": lambda scores, labels: F.cross_entropy(scores, labels.long()),
    "hits": lambda hits, scores: hits + scores,
    "number": lambda x: x + torch.arange(x.shape[-1], device=x.device, dtype=torch.uint8),
    "frames": lambda a, b: (a.float() - b.float()).abs().mean(),
}


# %% wrong="subtracts int8" breaks="the mean absolute difference, float32, 0-dim" says=["int8 ends at 127"]
dtype_and_device = {
    "photo": lambda layer, photo: layer(photo / 255),
    "rows": lambda layer, rows: layer(torch.from_numpy(rows).to(layer.weight)),
    "labels": lambda scores, labels: F.cross_entropy(scores, labels.long()),
    "hits": lambda hits, scores: hits + scores,
    "number": lambda x: x + torch.arange(x.shape[-1], device=x.device),
    "frames": lambda a, b: (a.char() - b.char()).float().abs().mean(),
}


# %% wrong="everything to the CPU" says=["photo, on another device", "hits, on another device", "the data stays where it is"]
dtype_and_device = {
    "photo": lambda layer, photo: layer((photo.float() / 255).cpu()).cpu(),
    "rows": lambda layer, rows: layer(torch.from_numpy(rows).to(layer.weight)),
    "labels": lambda scores, labels: F.cross_entropy(scores, labels.long()),
    "hits": lambda hits, scores: (hits + scores).float().cpu(),
    "number": lambda x: x + torch.arange(x.shape[-1], device=x.device),
    "frames": lambda a, b: (a.float() - b.float()).abs().mean().cpu(),
}


# %% wrong="numbers by way of the CPU" breaks="on the device of the input" says=["number, on another device"]
dtype_and_device = {
    "photo": lambda layer, photo: layer(photo.float() / 255),
    "rows": lambda layer, rows: layer(torch.from_numpy(rows).to(layer.weight)),
    "labels": lambda scores, labels: F.cross_entropy(scores, labels.long()),
    "hits": lambda hits, scores: (hits + scores).float(),
    "number": lambda x: (x.cpu() + torch.arange(x.shape[-1])).to(x.device),
    "frames": lambda a, b: (a.float() - b.float()).abs().mean(),
}


# %% wrong="runs the layer twice" breaks="a layer runs at most once" says=["the layer ran 2 times"]
dtype_and_device = {
    "photo": lambda layer, photo: (
        layer(photo.float() / 255) if layer(photo.float()).sum() > -1e9 else None
    ),
    "rows": lambda layer, rows: layer(torch.from_numpy(rows).to(layer.weight)),
    "labels": lambda scores, labels: F.cross_entropy(scores, labels.long()),
    "hits": lambda hits, scores: (hits + scores).float(),
    "number": lambda x: x + torch.arange(x.shape[-1], device=x.device),
    "frames": lambda a, b: (a.float() - b.float()).abs().mean(),
}


# %% wrong="rows by way of half" breaks="All results are float32, to its full precision" says=["it was rounded to half"]
dtype_and_device = {
    "photo": lambda layer, photo: layer(photo.float() / 255),
    "rows": lambda layer, rows: layer(torch.from_numpy(rows).half().to(layer.weight)),
    "labels": lambda scores, labels: F.cross_entropy(scores, labels.long()),
    "hits": lambda hits, scores: (hits + scores).float(),
    "number": lambda x: x + torch.arange(x.shape[-1], device=x.device),
    "frames": lambda a, b: (a.float() - b.float()).abs().mean(),
}


# %% wrong="writes into the array" breaks="No argument is changed, not the array either" says=["the array was changed"]
def _rows(layer, rows):
    t = torch.from_numpy(rows)
    out = layer(t.to(layer.weight))
    t.zero_()
    return out


dtype_and_device = {
    "photo": lambda layer, photo: layer(photo.float() / 255),
    "rows": _rows,
    "labels": lambda scores, labels: F.cross_entropy(scores, labels.long()),
    "hits": lambda hits, scores: (hits + scores).float(),
    "number": lambda x: x + torch.arange(x.shape[-1], device=x.device),
    "frames": lambda a, b: (a.float() - b.float()).abs().mean(),
}


# %% wrong="hits by way of half" breaks="return a new float32 tensor, their sum" says=["hits: the result: it was rounded to half"]
dtype_and_device = {
    "photo": lambda layer, photo: layer(photo.float() / 255),
    "rows": lambda layer, rows: layer(torch.from_numpy(rows).to(layer.weight)),
    "labels": lambda scores, labels: F.cross_entropy(scores, labels.long()),
    "hits": lambda hits, scores: (hits.half() + scores.half()).float(),
    "number": lambda x: x + torch.arange(x.shape[-1], device=x.device),
    "frames": lambda a, b: (a.float() - b.float()).abs().mean(),
}


# %% wrong="counts in half" says=["half steps by 2 above 2048"]
dtype_and_device = {
    "photo": lambda layer, photo: layer(photo.float() / 255),
    "rows": lambda layer, rows: layer(torch.from_numpy(rows).to(layer.weight)),
    "labels": lambda scores, labels: F.cross_entropy(scores, labels.long()),
    "hits": lambda hits, scores: (hits + scores).float(),
    "number": lambda x: x + torch.ones_like(x, dtype=torch.half).cumsum(-1).float() - 1,
    "frames": lambda a, b: (a.float() - b.float()).abs().mean(),
}


# %% right="the larger less the smaller"
dtype_and_device = {
    "photo": lambda layer, photo: layer(photo.float() / 255),
    "rows": lambda layer, rows: layer(
        torch.as_tensor(rows, dtype=layer.weight.dtype, device=layer.weight.device)
    ),
    "labels": lambda scores, labels: (
        -scores.log_softmax(1).gather(1, labels.to(torch.int64)[:, None]).mean()
    ),
    "hits": lambda hits, scores: torch.add(scores, hits),
    "number": lambda x: torch.stack([c + n for n, c in enumerate(x.unbind(-1))], -1),
    "frames": lambda a, b: (torch.maximum(a, b) - torch.minimum(a, b)).float().mean(),
}


# %% wrong="a photo by way of half; rows, scores and a mean without fractions" says=["photo: the result: it was rounded to half", "rows: the result: the fractions were cut off", "the scores' fractions were cut off", "frames: the result: the fraction was cut off"]
dtype_and_device = {
    "photo": lambda layer, photo: layer((photo.half() / 255).float()),
    "rows": lambda layer, rows: layer(torch.from_numpy(rows).long().to(layer.weight)),
    "labels": lambda scores, labels: F.cross_entropy(scores.trunc(), labels.long()),
    "hits": lambda hits, scores: hits + scores,
    "number": lambda x: x + torch.arange(x.shape[-1], device=x.device),
    "frames": lambda a, b: ((a.int() - b.int()).abs().sum() // a.numel()).float(),
}


# %% wrong="rows by way of bfloat16; the sum of the losses; counts on from row to row" says=["it was rounded to bfloat16", "labels: the result: the sum of the losses", "it counts on from row to row"]
dtype_and_device = {
    "photo": lambda layer, photo: layer(photo.float() / 255),
    "rows": lambda layer, rows: layer(torch.from_numpy(rows).bfloat16().to(layer.weight)),
    "labels": lambda scores, labels: F.cross_entropy(scores, labels.long(), reduction="sum"),
    "hits": lambda hits, scores: hits + scores,
    "number": lambda x: x + torch.arange(x.numel(), device=x.device).view(x.shape),
    "frames": lambda a, b: (a.float() - b.float()).abs().mean(),
}


# %% wrong="labels as int16" says=["label 65537 became 1: int16 ends at 32767"]
dtype_and_device = {
    "photo": lambda layer, photo: layer(photo.float() / 255),
    "rows": lambda layer, rows: layer(torch.from_numpy(rows).to(layer.weight)),
    "labels": lambda scores, labels: F.cross_entropy(scores, labels.short().long()),
    "hits": lambda hits, scores: hits + scores,
    "number": lambda x: x + torch.arange(x.shape[-1], device=x.device),
    "frames": lambda a, b: (a.float() - b.float()).abs().mean(),
}


# %% wrong="as many numbers as rows" says=["0 … n - 1 belong along the last dimension"]
dtype_and_device = {
    "photo": lambda layer, photo: layer(photo.float() / 255),
    "rows": lambda layer, rows: layer(torch.from_numpy(rows).to(layer.weight)),
    "labels": lambda scores, labels: F.cross_entropy(scores, labels.long()),
    "hits": lambda hits, scores: hits + scores,
    "number": lambda x: x + torch.arange(x.shape[0], device=x.device),
    "frames": lambda a, b: (a.float() - b.float()).abs().mean(),
}


# %% wrong="the array is rounded where it lies" breaks="No argument is changed, not the array either" says=["rows: the array was changed"]
dtype_and_device = {
    "photo": lambda layer, photo: layer(photo.float() / 255),
    "rows": lambda layer, rows: layer(torch.from_numpy(rows).round_(decimals=6).to(layer.weight)),
    "labels": lambda scores, labels: F.cross_entropy(scores, labels.long()),
    "hits": lambda hits, scores: hits + scores,
    "number": lambda x: x + torch.arange(x.shape[-1], device=x.device),
    "frames": lambda a, b: (a.float() - b.float()).abs().mean(),
}


# %% wrong="number by views" says=["number, blocks turned in memory: RuntimeError"]
dtype_and_device = {
    "photo": lambda layer, photo: layer(photo.float() / 255),
    "rows": lambda layer, rows: layer(torch.from_numpy(rows).to(layer.weight)),
    "labels": lambda scores, labels: F.cross_entropy(scores, labels.long()),
    "hits": lambda hits, scores: hits + scores,
    "number": lambda x: (
        x.view(-1, x.shape[-1]).add(torch.arange(x.shape[-1], device=x.device)).view(x.shape)
    ),
    "frames": lambda a, b: (a.float() - b.float()).abs().mean(),
}


# %% wrong="counts up from x, then takes 1 off" breaks="All results are float32, to its full precision" says=["number, a millionth"]
dtype_and_device = {
    "photo": lambda layer, photo: layer(photo.float() / 255),
    "rows": lambda layer, rows: layer(torch.from_numpy(rows).to(layer.weight)),
    "labels": lambda scores, labels: F.cross_entropy(scores, labels.long()),
    "hits": lambda hits, scores: hits + scores,
    "number": lambda x: x + torch.ones_like(x).cumsum(-1) - 1,
    "frames": lambda a, b: (a.float() - b.float()).abs().mean(),
}


# %% wrong="the log of a softmax" breaks="All results are float32, to its full precision" says=["labels, scores 200 apart", "expected 200, got inf"]
dtype_and_device = {
    "photo": lambda layer, photo: layer(photo.float() / 255),
    "rows": lambda layer, rows: layer(torch.from_numpy(rows).to(layer.weight)),
    "labels": lambda scores, labels: F.nll_loss(scores.softmax(1).log(), labels.long()),
    "hits": lambda hits, scores: (hits + scores).float(),
    "number": lambda x: x + torch.arange(x.shape[-1], device=x.device),
    "frames": lambda a, b: (a.float() - b.float()).abs().mean(),
}


# %% wrong="rows by way of lists, which lose the 3" says=["rows, a batch of none"]
dtype_and_device = {
    "photo": lambda layer, photo: layer(photo.float() / 255),
    "rows": lambda layer, rows: layer(
        torch.tensor(rows.tolist(), dtype=torch.float32, device=layer.weight.device)
    ),
    "labels": lambda scores, labels: F.cross_entropy(scores, labels.long()),
    "hits": lambda hits, scores: (hits + scores).float(),
    "number": lambda x: x + torch.arange(x.shape[-1], device=x.device),
    "frames": lambda a, b: (a.float() - b.float()).abs().mean(),
}


# %% wrong="a mean of two dimensions" breaks="the mean absolute difference, float32, 0-dim" says=["frames in colour"]
dtype_and_device = {
    "photo": lambda layer, photo: layer(photo.float() / 255),
    "rows": lambda layer, rows: layer(torch.from_numpy(rows).to(layer.weight)),
    "labels": lambda scores, labels: F.cross_entropy(scores, labels.long()),
    "hits": lambda hits, scores: (hits + scores).float(),
    "number": lambda x: x + torch.arange(x.shape[-1], device=x.device),
    "frames": lambda a, b: (a.float() - b.float()).abs().mean((0, 1)),
}


# %% wrong="half for the hits alone" breaks="All results are float32, to its full precision" says=["hits: the result: the hits were rounded to half"]
dtype_and_device = {
    "photo": lambda layer, photo: layer(photo.float() / 255),
    "rows": lambda layer, rows: layer(torch.from_numpy(rows).to(next(layer.parameters()))),
    "labels": lambda scores, labels: F.cross_entropy(scores, labels.long()),
    "hits": lambda hits, scores: hits.half() + scores,
    "number": lambda x: x + torch.arange(x.shape[-1], device=x.device),
    "frames": lambda a, b: (a.float() - b.float()).abs().mean(),
}


# %% wrong="the mean made anew from a number" breaks="on the device of the input" says=["frames, on another device", "its result is on 'cpu'", "what torch.tensor makes of a number is on the CPU"]
def mean_difference(a, b):
    total = (a.float() - b.float()).abs().mean()
    return torch.tensor(total.item(), dtype=torch.float32)


dtype_and_device = {
    "photo": lambda layer, photo: layer(photo.float() / 255),
    "rows": lambda layer, rows: layer(torch.from_numpy(rows).to(next(layer.parameters()))),
    "labels": lambda scores, labels: F.cross_entropy(scores, labels.long()),
    "hits": lambda hits, scores: hits + scores,
    "number": lambda x: x + torch.arange(x.shape[-1], device=x.device),
    "frames": mean_difference,
}
