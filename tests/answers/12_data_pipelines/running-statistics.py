# %% [markdown]
# Rules:
#
# - "the number of pixels for each channel (an `int`)"
# - "the last two float64 tensors of shape (C,)"
# - "the mean, and S"
# - "of one or more pixels each"
# - "of any sizes"
# - "It may be a generator: it can be walked through once"
# - "you keep at most two images at a time"
# - "or copies of so many"
# - "The result is right where $E[x^2] - E[x]^2$ is not"
# - "Work in float64"
# - "One of them may be empty: count 0, zeros, zeros"
# - "Counts may be in the tens of thousands of millions"
# - "Arguments stay as they are"
#
# Admits:
#
# - "of one or more pixels each": one pixel
# - "uint8 or float": half images, from -300 to 300
# - "half and bfloat16, too": bfloat16 images, a dtype that NumPy lacks
# - "of any sizes": three uint8 images of different size
# - "It may be a generator": from a generator
# - "One of them may be empty": nothing and {1, 3}
# - "Counts may be in the tens of thousands of millions": ten thousand million pixels each

# %% wrong="mean of the images' means" breaks="of any sizes" says=["this is the mean of the images' means; count pixels"]
def running_statistics(images):
    images = list(images)
    count = sum(x[0].numel() for x in images)
    mean = torch.stack([x.double().mean((1, 2)) for x in images]).mean(0)
    s = sum(((x.double() - mean[:, None, None]) ** 2).sum((1, 2)) for x in images)
    return count, mean, s


def merge_statistics(a, b):
    count = a[0] + b[0]
    mean = (a[1] + b[1]) / 2
    return count, mean, a[2] + b[2]


# %% wrong="E[x²] − E[x]²" breaks="The result is right where $E[x^2] - E[x]^2$ is not" says=["values near 1e8", "(stable, in float64?)"]
def running_statistics(images):
    count, total, squares = 0, 0, 0
    for x in images:
        x = x.double().flatten(1)
        count, total, squares = count + x.shape[1], total + x.sum(1), squares + (x**2).sum(1)
    return count, total / count, squares - total**2 / count


def merge_statistics(a, b):
    count = a[0] + b[0]
    if not count:
        return a
    mean = (a[0] * a[1] + b[0] * b[1]) / count
    squares = a[2] + a[0] * a[1] ** 2 + b[2] + b[0] * b[1] ** 2
    return count, mean, squares - count * mean**2


# %% wrong="the variance" breaks="the mean, and S" says=["this is the variance; S is a sum", "nothing and nothing"]
def running_statistics(images):
    total = None
    for x in images:
        x = x.double().flatten(1)
        part = x.shape[1], x.mean(1), x.var(1, unbiased=False)
        if total is None:
            total = part
            continue
        n = total[0] + part[0]
        mean = (total[0] * total[1] + part[0] * part[1]) / n
        var = sum(p[0] * (p[2] + (p[1] - mean) ** 2) for p in (total, part)) / n
        total = n, mean, var
    return total


def merge_statistics(a, b):
    n, d = a[0] + b[0], b[1] - a[1]
    return n, a[1] + d * b[0] / n, a[2] + b[2] + d**2 * a[0] * b[0] / n


# %% wrong="float32, and a list of all images" breaks="the last two float64 tensors of shape (C,)" says=["has dtype torch.float32, expected torch.float64"]
def running_statistics(images):
    values = torch.cat([x.float().flatten(1) for x in images], 1)
    mean = values.mean(1)
    return values.shape[1], mean, ((values - mean[:, None]) ** 2).sum(1)


def merge_statistics(a, b):
    n, d = a[0] + b[0], b[1] - a[1]
    if n == 0:
        return a
    return n, a[1] + d * b[0] / n, a[2] + b[2] + d**2 * a[0] * b[0] / n


# %% wrong="keeps all images" breaks="you keep at most two images at a time" says=["images were in memory at once: keep triples, not images"]
def running_statistics(images):
    images = list(images)
    values = torch.cat([x.double().flatten(1) for x in images], 1)
    mean = values.mean(1)
    return values.shape[1], mean, ((values - mean[:, None]) ** 2).sum(1)


def merge_statistics(a, b):
    n, d = a[0] + b[0], b[1] - a[1]
    if n == 0:
        return a
    return n, a[1] + d * b[0] / n, a[2] + b[2] + d**2 * a[0] * b[0] / n


# %% wrong="walks twice" breaks="It may be a generator: it can be walked through once" says=["from a generator"]
def running_statistics(images):
    count = sum(x[0].numel() for x in images)
    mean = sum(x.double().sum((1, 2)) for x in images) / count
    return count, mean, sum(((x.double() - mean[:, None, None]) ** 2).sum((1, 2)) for x in images)


def merge_statistics(a, b):
    n, d = a[0] + b[0], b[1] - a[1]
    if n == 0:
        return a
    return n, a[1] + d * b[0] / n, a[2] + b[2] + d**2 * a[0] * b[0] / n


# %% wrong="merges in place" breaks="Arguments stay as they are" says=["an argument was changed"]
def running_statistics(images):
    total = (0, 0.0, 0.0)
    for x in images:
        x = x.double().flatten(1)
        m = x.mean(1)
        n, d = total[0] + x.shape[1], m - total[1]
        s = total[2] + ((x - m[:, None]) ** 2).sum(1) + d**2 * total[0] * x.shape[1] / n
        total = n, total[1] + d * x.shape[1] / n, s
    return total


def merge_statistics(a, b):
    n, d = a[0] + b[0], b[1] - a[1]
    if n:
        a[2].add_(b[2] + d**2 * a[0] * b[0] / n)
        a[1].add_(d * b[0] / n)
    return n, a[1], a[2]


# %% right="Welford, row by row"
def running_statistics(images):
    n = 0
    for image in images:
        for row in image.to(torch.float64).unbind(1):
            for column in row.unbind(1) if row.numel() < 30 else []:
                n += 1
                if n == 1:
                    mean, s = column.clone(), torch.zeros_like(column)
                    continue
                d = column - mean
                mean = mean + d / n
                s = s + d * (column - mean)
            if row.numel() >= 30:
                m = row.mean(1)
                part = row.shape[1], m, (row - m[:, None]).square().sum(1)
                n, mean, s = part if n == 0 else merge_statistics((n, mean, s), part)
    return n, mean, s


def merge_statistics(a, b):
    if a[0] == 0:
        return b[0], b[1].clone(), b[2].clone()
    if b[0] == 0:
        return tuple(a)
    n = a[0] + b[0]
    mean = (a[0] * a[1] + b[0] * b[1]) / n
    return n, mean, a[2] + b[2] + a[0] * (a[1] - mean) ** 2 + b[0] * (b[1] - mean) ** 2


# %% right="var_mean and reduce"
def running_statistics(images):
    import functools

    def one(image):
        var, mean = torch.var_mean(image.double(), dim=(1, 2), correction=0)
        n = image.shape[1] * image.shape[2]
        return n, mean, var * n

    return functools.reduce(merge_statistics, map(one, images))


def merge_statistics(a, b):
    n = a[0] + b[0]
    share = b[0] / n if n else 0.0
    d = b[1] - a[1]
    return n, torch.lerp(a[1], b[1], share), a[2] + b[2] + d * d * (a[0] * share)


# %% wrong="float64 for the whole session" says=["default dtype"]
def running_statistics(images):
    torch.set_default_dtype(torch.float64)
    total = (0, torch.zeros(()), torch.zeros(()))
    for image in images:
        x = image.double().flatten(1)
        mean = x.mean(1)
        total = merge_statistics(total, (x.shape[1], mean, (x - mean[:, None]).square().sum(1)))
    return total


def merge_statistics(a, b):
    n = a[0] + b[0]
    share = b[0] / n if n else 0.0
    d = b[1] - a[1]
    return n, a[1] + d * share, a[2] + b[2] + d * d * (a[0] * share)


# %% wrong="squares in the image's dtype" breaks="Work in float64" says=["half", "(stable, in float64?)"]
def running_statistics(images):
    total = None
    for image in images:
        x = image.flatten(1) if image.is_floating_point() else image.double().flatten(1)
        n, mean = x.shape[1], x.double().mean(1)
        spread = ((x - mean.to(x.dtype)[:, None]) ** 2).sum(1).double()
        part = n, mean, spread
        total = part if total is None else merge_statistics(total, part)
    return total


def merge_statistics(a, b):
    n = a[0] + b[0]
    share = b[0] / n if n else 0.0
    d = b[1] - a[1]
    return n, a[1] + d * share, a[2] + b[2] + d * d * (a[0] * share)


# %% wrong="the first triple is the first image's tensor" says=["an argument was changed"]
def running_statistics(images):
    total = None
    for image in images:
        x = image.double().flatten(1)
        mean = x.mean(1)
        x -= mean[:, None]
        part = x.shape[1], mean, (x * x).sum(1)
        total = part if total is None else merge_statistics(total, part)
    return total


def merge_statistics(a, b):
    n = a[0] + b[0]
    share = b[0] / n if n else 0.0
    d = b[1] - a[1]
    return n, a[1] + d * share, a[2] + b[2] + d * d * (a[0] * share)


# %% wrong="the count as a tensor" says=["count"]
def running_statistics(images):
    total = (torch.tensor(0), torch.zeros(()).double(), torch.zeros(()).double())
    for image in images:
        x = image.double().flatten(1)
        mean = x.mean(1)
        part = torch.tensor(x.shape[1]), mean, (x - mean[:, None]).square().sum(1)
        total = merge_statistics(total, part)
    return total


def merge_statistics(a, b):
    n = a[0] + b[0]
    share = b[0] / n if n else 0.0
    d = b[1] - a[1]
    return n, a[1] + d * share, a[2] + b[2] + d * d * (a[0] * share)


# %% wrong="all pixels kept as doubles" breaks="or copies of so many" says=["the numbers of more than two images are kept, in copies; keep triples"]
def merge_statistics(a, b):
    (na, ma, sa), (nb, mb, sb) = a, b
    n = na + nb
    if n == 0:
        return 0, ma.clone(), sa.clone()
    d = mb - ma
    return n, ma + d * (nb / n), sa + sb + d**2 * (na / n * nb)


def running_statistics(images):
    x = torch.cat([image.double().clone().flatten(1) for image in images], 1)
    m = x.mean(1)
    return x.shape[1], m, ((x - m[:, None]) ** 2).sum(1)


# %% wrong="the counts multiplied as an int64 tensor" breaks="Counts may be in the tens of thousands of millions" says=["ten thousand million pixels each", "more than int64 holds"]
def merge_statistics(a, b):
    (na, ma, sa), (nb, mb, sb) = a, b
    n = na + nb
    if n == 0:
        return 0, ma.clone(), sa.clone()
    d = mb - ma
    return n, ma + d * (nb / n), sa + sb + d**2 * (torch.tensor(na) * torch.tensor(nb)) / n


def running_statistics(images):
    total = None
    for image in images:
        x = image.double().flatten(1)
        m = x.mean(1)
        one = (x.shape[1], m, ((x - m[:, None]) ** 2).sum(1))
        total = one if total is None else merge_statistics(total, one)
    return total


# %% wrong="count as a float" breaks="the number of pixels for each channel (an `int`)" says=["the count is a float, expected an int"]
def merge_statistics(a, b):
    (na, ma, sa), (nb, mb, sb) = a, b
    n = na + nb
    if n == 0:
        return 0, ma.clone(), sa.clone()
    d = mb - ma
    return float(n), ma + d * (nb / n), sa + sb + d**2 * (na / n * nb)


def running_statistics(images):
    total = None
    for image in images:
        x = image.double().flatten(1)
        m = x.mean(1)
        one = (x.shape[1], m, ((x - m[:, None]) ** 2).sum(1))
        total = one if total is None else merge_statistics(total, one)
    return total


# %% wrong="a later image of one pixel is skipped" breaks="of one or more pixels each" says=["9 pixels, then 1"]
def merge_statistics(a, b):
    (na, ma, sa), (nb, mb, sb) = a, b
    n = na + nb
    if n == 0:
        return 0, ma.clone(), sa.clone()
    d = mb - ma
    return n, ma + d * (nb / n), sa + sb + d**2 * (na / n * nb)


def running_statistics(images):
    total = None
    for image in images:
        x = image.double().flatten(1)
        if x.shape[1] == 1 and total is not None:
            continue
        m = x.mean(1)
        one = (x.shape[1], m, ((x - m[:, None]) ** 2).sum(1))
        total = one if total is None else merge_statistics(total, one)
    return total


# %% wrong="view, which refuses a transposed image" says=["transposed images"]
def running_statistics(images):
    total = None
    for image in images:
        v = image.double().view(image.shape[0], -1)
        m = v.mean(1)
        part = v.shape[1], m, ((v - m[:, None]) ** 2).sum(1)
        total = part if total is None else merge_statistics(total, part)
    return total


def merge_statistics(a, b):
    n = a[0] + b[0]
    if n == 0:
        return 0, a[1].clone(), a[2].clone()
    d = b[1] - a[1]
    return n, a[1] + d * (b[0] / n), a[2] + b[2] + d**2 * (a[0] * b[0] / n)


# %% right="shifted by the first image's mean"
def running_statistics(images):
    n, k, s1, s2 = 0, None, 0.0, 0.0
    for image in images:
        x = image.to(torch.float64)
        if k is None:
            k = x.mean((1, 2))
        d = x - k[:, None, None]
        n += d[0].numel()
        s1 = s1 + d.sum((1, 2))
        s2 = s2 + d.square().sum((1, 2))
    return n, k + s1 / n, s2 - s1.square() / n


def merge_statistics(a, b):
    n = a[0] + b[0]
    if n == 0:
        return a
    mean = a[1] * (a[0] / n) + b[1] * (b[0] / n)
    s = a[2] + b[2] + a[0] * (a[1] - mean) ** 2 + b[0] * (b[1] - mean) ** 2
    return n, mean, s


# %% wrong="nothing merged with nothing is NaN" breaks="One of them may be empty: count 0, zeros, zeros" says=["nothing and nothing: merged with an empty one, which changes nothing: the mean: expected 0, got nan"]
def running_statistics(images):
    total = None
    for image in images:
        x = image.double().flatten(1)
        mean = x.mean(1)
        own = x.shape[1], mean, ((x - mean[:, None]) ** 2).sum(1)
        total = own if total is None else merge_statistics(total, own)
    return total


def merge_statistics(a, b):
    n = a[0] + b[0]
    d, share = b[1] - a[1], torch.tensor(b[0], dtype=torch.float64) / n
    return n, a[1] + d * share, a[2] + b[2] + d**2 * (a[0] * share)


# %% wrong="S of both, and nothing for what lies between" says=["how far their means are apart is left out"]
def running_statistics(images):
    total = None
    for image in images:
        x = image.double().flatten(1)
        mean = x.mean(1)
        part = x.shape[1], mean, ((x - mean[:, None]) ** 2).sum(1)
        total = part if total is None else merge_statistics(total, part)
    return total


def merge_statistics(a, b):
    count = a[0] + b[0]
    if count == 0:
        return a
    mean = (a[0] * a[1] + b[0] * b[1]) / count
    return count, mean, a[2] + b[2]


# %% wrong="the difference the other way round" says=["it is outside of what their means span"]
def running_statistics(images):
    total = None
    for image in images:
        x = image.double().flatten(1)
        mean = x.mean(1)
        part = x.shape[1], mean, ((x - mean[:, None]) ** 2).sum(1)
        total = part if total is None else merge_statistics(total, part)
    return total


def merge_statistics(a, b):
    count, d = a[0] + b[0], a[1] - b[1]
    if count == 0:
        return a
    return count, a[1] + d * b[0] / count, a[2] + b[2] + d**2 * (a[0] * b[0] / count)


# %% wrong="images are counted" says=["the images are counted; count their pixels"]
def running_statistics(images):
    total = None
    for image in images:
        x = image.double().flatten(1)
        mean = x.mean(1)
        part = 1, mean, ((x - mean[:, None]) ** 2).sum(1)
        total = part if total is None else merge_statistics(total, part)
    return total


def merge_statistics(a, b):
    count, d = a[0] + b[0], b[1] - a[1]
    if count == 0:
        return a
    return count, a[1] + d * b[0] / count, a[2] + b[2] + d**2 * (a[0] * b[0] / count)


# %% wrong="a count in float32" says=["is all of it float64, the counts as well?"]
def running_statistics(images):
    total = None
    for image in images:
        x = image.double().flatten(1)
        mean = x.mean(1)
        one = x.shape[1], mean, (x - mean[:, None]).square().sum(1)
        total = one if total is None else merge_statistics(total, one)
    return total


def merge_statistics(a, b):
    n = a[0] + b[0]
    if n == 0:
        return 0, a[1].clone(), a[2].clone()
    d = b[1] - a[1]
    return n, a[1] + d * (b[0] / n), a[2] + b[2] + d * d * (torch.tensor(float(a[0])) * b[0] / n)


# %% wrong="black pixels don't count" says=["black pixels among others"]
def running_statistics(images):
    total = None
    for image in images:
        x = image.double().flatten(1)
        mean = x.sum(1) / (x != 0).sum(1).clamp(min=1)
        one = x.shape[1], mean, (x - mean[:, None]).square().sum(1)
        total = one if total is None else merge_statistics(total, one)
    return total


def merge_statistics(a, b):
    n = a[0] + b[0]
    if n == 0:
        return 0, a[1].clone(), a[2].clone()
    d = b[1] - a[1]
    return n, a[1] + d * (b[0] / n), a[2] + b[2] + d * d * (a[0] * b[0] / n)


# %% wrong="divides by no pixel" says=["without a pixel there is nothing to divide by"]
def running_statistics(images):
    total = None
    for image in images:
        x = image.double().flatten(1)
        mean = x.mean(1)
        one = x.shape[1], mean, (x - mean[:, None]).square().sum(1)
        total = one if total is None else merge_statistics(total, one)
    return total


def merge_statistics(a, b):
    n = a[0] + b[0]
    d = b[1] - a[1]
    return n, a[1] + d * (b[0] / n), a[2] + b[2] + d * d * (a[0] * b[0] / n)


# %% wrong="an empty second triple takes S along" says=["{1, 3} and nothing: merged with an empty one, which changes nothing: S: expected 2, got 0"]
def running_statistics(images):
    total = None
    for image in images:
        x = image.double().flatten(1)
        mean = x.mean(1)
        one = x.shape[1], mean, ((x - mean[:, None]) ** 2).sum(1)
        total = one if total is None else merge_statistics(total, one)
    return total


def merge_statistics(a, b):
    (na, ma, sa), (nb, mb, sb) = a, b
    n = na + nb
    if n == 0:
        return 0, ma.clone(), sa.clone()
    if nb == 0:
        return na, ma, sb
    d = mb - ma
    return n, ma + d * (nb / n), sa + sb + d**2 * (na * nb / n)


# %% wrong="half and half where the counts are nearly alike" says=["1000 zeros and 1001 twos", "this is the mean of the images' means"]
def running_statistics(images):
    total = None
    for image in images:
        x = image.double().flatten(1)
        mean = x.mean(1)
        one = x.shape[1], mean, ((x - mean[:, None]) ** 2).sum(1)
        total = one if total is None else merge_statistics(total, one)
    return total


def merge_statistics(a, b):
    (na, ma, sa), (nb, mb, sb) = a, b
    n = na + nb
    if n == 0:
        return 0, ma.clone(), sa.clone()
    d = mb - ma
    return (
        n,
        (ma + mb) / 2 if abs(na - nb) * 1000 < n else ma + d * (nb / n),
        sa + sb + d**2 * (na * nb / n),
    )


# %% wrong="no pixel is NaN" says=["makes its mean NaN"]
def running_statistics(images):
    total = None
    for image in images:
        x = image.double().flatten(1)
        x = x.nan_to_num()
        mean = x.mean(1)
        triple = x.shape[1], mean, ((x - mean[:, None]) ** 2).sum(1)
        total = triple if total is None else merge_statistics(total, triple)
    return total


def merge_statistics(a, b):
    n = a[0] + b[0]
    if n == 0:
        return a
    d = b[1] - a[1]
    mean = a[1] + d * (b[0] / n)
    return n, mean, a[2] + b[2] + d**2 * (a[0] * b[0] / n)


# %% wrong="grey images made three channels" says=["grey uint8 images"]
def running_statistics(images):
    total = None
    for image in images:
        x = (
            (image.expand(3, -1, -1) if len(image) == 1 and image.dtype == torch.uint8 else image)
            .double()
            .flatten(1)
        )
        mean = x.mean(1)
        triple = x.shape[1], mean, ((x - mean[:, None]) ** 2).sum(1)
        total = triple if total is None else merge_statistics(total, triple)
    return total


def merge_statistics(a, b):
    n = a[0] + b[0]
    if n == 0:
        return a
    d = b[1] - a[1]
    mean = a[1] + d * (b[0] / n)
    return n, mean, a[2] + b[2] + d**2 * (a[0] * b[0] / n)


# %% wrong="the mean of half images in half" breaks="Work in float64" says=["half images, a third", "right to some digits: is all of it float64?"]
def running_statistics(images):
    total = None
    for image in images:
        x = image.double().flatten(1)
        mean = x.mean(1)
        if image.dtype == torch.float16:
            mean = image.flatten(1).mean(1).double()
        part = x.shape[1], mean, ((x - mean[:, None]) ** 2).sum(1)
        total = part if total is None else merge_statistics(total, part)
    return total


def merge_statistics(a, b):
    n = a[0] + b[0]
    share = b[0] / n if n else 0.0
    d = b[1] - a[1]
    return n, a[1] + d * share, a[2] + b[2] + d * d * (a[0] * share)


# %% wrong="E[x²] − E[x]² in each image, merged well" breaks="The result is right where $E[x^2] - E[x]^2$ is not" says=["one channel near 0, the other near 1e8", "(stable, in float64?)"]
def running_statistics(images):
    total = None
    for image in images:
        x = image.double().flatten(1)
        mean, n = x.mean(1), x.shape[1]
        spread = (x**2).sum(1) - n * mean**2 if n > 9 else ((x - mean[:, None]) ** 2).sum(1)
        total = (n, mean, spread) if total is None else merge_statistics(total, (n, mean, spread))
    return total


def merge_statistics(a, b):
    n = a[0] + b[0]
    share = b[0] / n if n else 0.0
    d = b[1] - a[1]
    return n, a[1] + d * share, a[2] + b[2] + d * d * (a[0] * share)


# %% wrong="merged by the distance of all channels" says=["two images of three channels", "S of both"]
def running_statistics(images):
    total = None
    for image in images:
        x = image.double().flatten(1)
        n = 0 if total is None else total[0]
        mean, count = x.mean(1), x.shape[1]
        spread = ((x - mean[:, None]) ** 2).sum(1)
        if total is None:
            total = count, mean, spread
            continue
        d = mean - total[1]
        all_of = n + count
        total = all_of, total[1] + d * count / all_of, total[2] + spread + d**2 * n * count / all_of
    return total


def merge_statistics(a, b):
    n = a[0] + b[0]
    if n == 0:
        return a
    d = b[1] - a[1]
    return n, a[1] + d * (b[0] / n), a[2] + b[2] + d.dot(d) * (a[0] * b[0] / n)


# %% wrong="one shift for all channels" says=["one channel near 0, the other near 1e8: the triple: S"]
def running_statistics(images):
    n, shift = 0, None
    for image in images:
        x = image.double().flatten(1)
        if shift is None:
            shift = x[0, 0]
            first = second = x.new_zeros(len(x))
        x = x - shift
        n = n + x.shape[1]
        first = first + x.sum(1)
        second = second + (x**2).sum(1)
    return n, shift + first / n, second - first**2 / n


def merge_statistics(a, b):
    (na, ma, sa), (nb, mb, sb) = a, b
    n = na + nb
    if n == 0:
        return 0, ma.clone(), sa.clone()
    d = mb - ma
    return n, ma + d * (nb / n), sa + sb + d**2 * (na / n * nb)


# %% right="distances from the first pixel, whose own is part of S"
def running_statistics(images):
    n, shift = 0, None
    for image in images:
        x = image.double().flatten(1)
        if shift is None:
            shift = x[:, :1].clone()
            first = second = x.new_zeros(len(x))
        x = x - shift
        n = n + x.shape[1]
        first = first + x.sum(1)
        second = second + (x**2).sum(1)
    return n, shift[:, 0] + first / n, second - first**2 / n


def merge_statistics(a, b):
    (na, ma, sa), (nb, mb, sb) = a, b
    n = na + nb
    if n == 0:
        return 0, ma.clone(), sa.clone()
    d = mb - ma
    return n, ma + d * (nb / n), sa + sb + d**2 * (na / n * nb)


# %% wrong="eight images in copies, computed together" breaks="or copies of so many" says=["the numbers of more than two images are kept, in copies; keep triples"]
def triple_of_many(many):
    x = torch.cat(many, dim=1)
    mean = x.mean(1)
    return x.shape[1], mean, ((x - mean[:, None]) ** 2).sum(1)


def running_statistics(images: object) -> tuple[int, torch.Tensor, torch.Tensor]:
    total, waiting = None, []
    for image in images:
        waiting.append(image.to(torch.float64, copy=True).flatten(1))
        del image
        if len(waiting) == 8:
            new = triple_of_many(waiting)
            total = new if total is None else merge_statistics(total, new)
            waiting = []
    if waiting:
        new = triple_of_many(waiting)
        total = new if total is None else merge_statistics(total, new)
    return total


def merge_statistics(a: tuple, b: tuple) -> tuple[int, torch.Tensor, torch.Tensor]:
    (n_a, m_a, s_a), (n_b, m_b, s_b) = a, b
    n = n_a + n_b
    if n == 0:
        return 0, m_a.clone(), s_a.clone()
    d = m_b - m_a
    return n, m_a + d * (n_b / n), s_a + s_b + d**2 * (n_a * n_b / n)


# %% wrong="by way of NumPy" says=["bfloat16 images, a dtype that NumPy lacks"]
import numpy as np


def running_statistics(images: object) -> tuple[int, torch.Tensor, torch.Tensor]:
    result = None
    for image in images:
        x = np.asarray(image).astype(np.float64).reshape(len(image), -1)
        m = x.mean(axis=1)
        s = ((x - m[:, None]) ** 2).sum(axis=1)
        one = (x.shape[1], torch.from_numpy(m), torch.from_numpy(s))
        result = one if result is None else merge_statistics(result, one)
    return result


def merge_statistics(a: tuple, b: tuple) -> tuple[int, torch.Tensor, torch.Tensor]:
    n = int(a[0] + b[0])
    if n == 0:
        return 0, a[1].clone(), a[2].clone()
    d = b[1] - a[1]
    return n, a[1] + d * (b[0] / n), a[2] + b[2] + d * d * (float(a[0]) * float(b[0]) / n)


# %% right="two images at a time, in copies"
def running_statistics(images):
    total, waiting = (0, 0.0, 0.0), []
    for image in images:
        waiting.append(image.double().flatten(1))
        if len(waiting) == 2:
            x = torch.cat(waiting, dim=1)
            apart = x - x.mean(1, keepdim=True)
            total = merge_statistics(total, (x.shape[1], x.mean(1), apart.square().sum(1)))
            waiting.clear()
    for x in waiting:
        apart = x - x.mean(1, keepdim=True)
        total = merge_statistics(total, (x.shape[1], x.mean(1), apart.square().sum(1)))
    return total


def merge_statistics(a, b):
    n = a[0] + b[0]
    if n == 0:
        return 0, a[1] + 0, a[2] + 0
    d = b[1] - a[1]
    return n, a[1] + d * (b[0] / n), a[2] + b[2] + d * d * (a[0] / n) * b[0]


# %% wrong="a NaN is left out of the mean" says=["a NaN beside other numbers"]
def running_statistics(images):
    total = None
    for image in images:
        x = image.double().flatten(1)
        mean = x.nanmean(1)
        one = x.shape[1], mean, (x - mean[:, None]).square().sum(1)
        total = one if total is None else merge_statistics(total, one)
    return total


def merge_statistics(a, b):
    n = a[0] + b[0]
    if not n:
        return 0, a[1].clone(), a[2].clone()
    d = b[1] - a[1]
    return n, a[1] + d * (b[0] / n), a[2] + b[2] + d.square() * (a[0] / n * b[0])
