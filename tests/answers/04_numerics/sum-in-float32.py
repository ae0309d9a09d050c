# %% [markdown]
# Rules:
#
# - "What do these sums of ones give"
# - "by PyTorch's additions"
# - "from the first to the last"
# - "with at most 3 · log₂(n) + 3 additions of tensors"
# - "with an error of at most 2u times the sum of absolute values"
# - "No `sum`, `cumsum`, `mean` or product"
# - "no other dtype"
# - "n may be any number, 0 and odd ones included"
# - "starting at zero"
# - "row after row, with an error"
#
# Admits:
#
# - "0 and odd ones included": of no row
# - "odd ones included": of 7 rows
# - "n may be any number": of one row

# %% wrong="thinks that a loop counts on" breaks="What do these sums of ones give" says=["a loop over 2**25 ones, float32 is not 33554432", "from which total on is 1 only half a step?"]
predicted_sums = {
    "a loop over 2**25 ones, float32": 2**25,
    "a loop over 2**25 ones, float64": 2**25,
    "pairwise over 2**25 ones, float32": 2**25,
    "a loop over 1000 ones, bfloat16": 1000,
    "a loop over 3000 ones, float16": 3000,
}


def sum_in_float32(x, how):
    total, lost = x.new_zeros(x.shape[1]), 0
    if how == "pairwise":
        while len(x) > 1:
            half = len(x) // 2
            x = torch.cat([x[:half] + x[half : 2 * half], x[2 * half :]])
    for row in x:
        wanted = row - lost
        new = total + wanted
        if how == "compensated":
            lost = (new - total) - wanted
        total = new
    return total


# %% wrong="counts bits as if one of them were the sign" says=["bfloat16 is not 128", "where does 1 become half a step?"]
predicted_sums = {
    "a loop over 2**25 ones, float32": 2**24,
    "a loop over 2**25 ones, float64": 2**25,
    "pairwise over 2**25 ones, float32": 2**25,
    "a loop over 1000 ones, bfloat16": 2**7,
    "a loop over 3000 ones, float16": 2**11,
}


def sum_in_float32(x, how):
    return x.sum(0)


# %% wrong="PyTorch's sum" breaks="No `sum`, `cumsum`, `mean` or product" says=["sum ran; add up in float32 by yourself"]
predicted_sums = {
    "a loop over 2**25 ones, float32": 2**24,
    "a loop over 2**25 ones, float64": 2**25,
    "pairwise over 2**25 ones, float32": 2**25,
    "a loop over 1000 ones, bfloat16": 2**8,
    "a loop over 3000 ones, float16": 2**11,
}


def sum_in_float32(x, how):
    return x.sum(0)


# %% wrong="Python numbers, which are exact to 53 digits" breaks="by PyTorch's additions" says=["to the last digit: is it more exact?", "is the sum made elsewhere?"]
predicted_sums = {
    "a loop over 2**25 ones, float32": 2**24,
    "a loop over 2**25 ones, float64": 2**25,
    "pairwise over 2**25 ones, float32": 2**25,
    "a loop over 1000 ones, bfloat16": 2**8,
    "a loop over 3000 ones, float16": 2**11,
}


def sum_in_float32(x, how):
    import math

    return torch.tensor([math.fsum(column) for column in x.T.tolist()], device=x.device)


# %% wrong="a naive loop for all three" says=['"pairwise", x of 3000 tenths', 'at most 13 u']
predicted_sums = {
    "a loop over 2**25 ones, float32": 2**24,
    "a loop over 2**25 ones, float64": 2**25,
    "pairwise over 2**25 ones, float32": 2**25,
    "a loop over 1000 ones, bfloat16": 2**8,
    "a loop over 3000 ones, float16": 2**11,
}


def sum_in_float32(x, how):
    total = x.new_zeros(x.shape[1])
    for row in x:
        total = total + row
    return total


# %% wrong="loses the odd row" breaks="n may be any number, 0 and odd ones included" says=['"pairwise"', "error"]
predicted_sums = {
    "a loop over 2**25 ones, float32": 2**24,
    "a loop over 2**25 ones, float64": 2**25,
    "pairwise over 2**25 ones, float32": 2**25,
    "a loop over 1000 ones, bfloat16": 2**8,
    "a loop over 3000 ones, float16": 2**11,
}


def sum_in_float32(x, how):
    total, lost = x.new_zeros(x.shape[1]), 0
    if how == "pairwise":
        while len(x) > 1:
            half = len(x) // 2
            x = x[:half] + x[half : 2 * half]
    for row in x:
        wanted = row - lost
        new = total + wanted
        if how == "compensated":
            lost = (new - total) - wanted
        total = new
    return total


# %% wrong="the compensation with the wrong sign" breaks="with an error of at most 2u times the sum of absolute values" says=['"compensated"', "error"]
predicted_sums = {
    "a loop over 2**25 ones, float32": 2**24,
    "a loop over 2**25 ones, float64": 2**25,
    "pairwise over 2**25 ones, float32": 2**25,
    "a loop over 1000 ones, bfloat16": 2**8,
    "a loop over 3000 ones, float16": 2**11,
}


def sum_in_float32(x, how):
    total, lost = x.new_zeros(x.shape[1]), 0
    if how == "pairwise":
        while len(x) > 1:
            half = len(x) // 2
            x = torch.cat([x[:half] + x[half : 2 * half], x[2 * half :]])
    for row in x:
        wanted = row + lost
        new = total + wanted
        if how == "compensated":
            lost = (new - total) - wanted
        total = new
    return total


# %% wrong="converts to float64 first" breaks="no other dtype" says=["a dtype was converted; stay in float32"]
predicted_sums = {
    "a loop over 2**25 ones, float32": 2**24,
    "a loop over 2**25 ones, float64": 2**25,
    "pairwise over 2**25 ones, float32": 2**25,
    "a loop over 1000 ones, bfloat16": 2**8,
    "a loop over 3000 ones, float16": 2**11,
}


def sum_in_float32(x, how):
    return x.double().sum(0).float() if how != "naive" else sum(x, x.new_zeros(x.shape[1]))


# %% wrong="pairwise for all three" says=['"naive", x of 41 tenths: not what a loop over the rows gives']
predicted_sums = {
    "a loop over 2**25 ones, float32": 2**24,
    "a loop over 2**25 ones, float64": 2**25,
    "pairwise over 2**25 ones, float32": 2**25,
    "a loop over 1000 ones, bfloat16": 2**8,
    "a loop over 3000 ones, float16": 2**11,
}


def sum_in_float32(x, how):
    total = x.new_zeros(x.shape[1])
    while len(x) > 1:
        half = len(x) // 2
        x = torch.cat([x[:half] + x[half : 2 * half], x[2 * half :]])
    return total + x[0] if len(x) else total


# %% wrong="a loop where it should be pairwise, with compensation" breaks="with at most 3 · log₂(n) + 3 additions of tensors" says=['"pairwise"', "additions for 41 rows; add halves to halves"]
predicted_sums = {
    "a loop over 2**25 ones, float32": 2**24,
    "a loop over 2**25 ones, float64": 2**25,
    "pairwise over 2**25 ones, float32": 2**25,
    "a loop over 1000 ones, bfloat16": 2**8,
    "a loop over 3000 ones, float16": 2**11,
}


def sum_in_float32(x, how):
    total, lost = x.new_zeros(x.shape[1]), 0
    for row in x:
        wanted = row - lost
        new = total + wanted
        if how != "naive":
            lost = (new - total) - wanted
        total = new
    return total


# %% right="neighbours in pairs, padded with zeros; Neumaier's variant; in-place sums of a copy"
predicted_sums = dict(
    zip(
        (
            "a loop over 2**25 ones, float32",
            "a loop over 2**25 ones, float64",
            "pairwise over 2**25 ones, float32",
            "a loop over 1000 ones, bfloat16",
            "a loop over 3000 ones, float16",
        ),
        (16777216.0, 33554432.0, 33554432.0, 256.0, 2048.0),
    )
)


def sum_in_float32(x, how):
    if how == "naive":
        result = torch.zeros(x.shape[1], dtype=x.dtype, device=x.device)
        for i in range(x.shape[0]):
            result += x[i]
        return result
    if how == "pairwise":
        if len(x) == 0:
            return torch.zeros(x.shape[1], device=x.device)
        while len(x) > 1:
            if len(x) % 2:
                x = F.pad(x, (0, 0, 0, 1))
            x = x[0::2] + x[1::2]
        return x[0].clone()
    total = torch.zeros_like(x[0]) if len(x) else torch.zeros(x.shape[1], device=x.device)
    rest = torch.zeros_like(total)
    for row in x:
        new = total + row
        rest += torch.where(total.abs() >= row.abs(), (total - new) + row, (row - new) + total)
        total = new
    return total + rest


# %% right="pairwise by recursion over halves of columns at once"
predicted_sums = {
    "a loop over 2**25 ones, float32": 1 << 24,
    "a loop over 2**25 ones, float64": 1 << 25,
    "pairwise over 2**25 ones, float32": 1 << 25,
    "a loop over 1000 ones, bfloat16": 1 << 8,
    "a loop over 3000 ones, float16": 1 << 11,
}


def sum_in_float32(x, how):
    rows = x.unbind(0)
    zero = x.new_zeros(x.shape[1])
    if how == "pairwise":
        size = 1
        while size < len(x):
            size *= 2
        y = torch.cat([x, x.new_zeros(size - len(x), x.shape[1])]) if len(x) else zero[None]
        while len(y) > 1:
            top, bottom = y.chunk(2)
            y = top + bottom
        return y.squeeze(0)
    total, carry = zero, zero
    for row in rows:
        if how == "compensated":
            y = row + carry
            t = total + y
            carry = y - (t - total)
            total = t
        else:
            total = torch.add(total, row)
    return total


# %% wrong="exact sums for the pairwise way alone" says=['"pairwise", x of 41 tenths', "is the sum made elsewhere?"]
predicted_sums = {
    "a loop over 2**25 ones, float32": 2**24,
    "a loop over 2**25 ones, float64": 2**25,
    "pairwise over 2**25 ones, float32": 2**25,
    "a loop over 1000 ones, bfloat16": 2**8,
    "a loop over 3000 ones, float16": 2**11,
}


def sum_in_float32(x, how):
    import math

    if how == "pairwise":
        return torch.tensor([math.fsum(column) for column in x.T.tolist()], device=x.device)
    total, lost = x.new_zeros(x.shape[1]), 0
    for row in x:
        wanted = row - lost
        new = total + wanted
        if how == "compensated":
            lost = (new - total) - wanted
        total = new
    return total


# %% wrong="starts at the first row, so that no row is an error" breaks="starting at zero" says=["x of no row"]
predicted_sums = {
    "a loop over 2**25 ones, float32": 2**24,
    "a loop over 2**25 ones, float64": 2**25,
    "pairwise over 2**25 ones, float32": 2**25,
    "a loop over 1000 ones, bfloat16": 2**8,
    "a loop over 3000 ones, float16": 2**11,
}


def sum_in_float32(x, how):
    if how == "pairwise":
        while len(x) > 1:
            half = len(x) // 2
            x = torch.cat([x[:half] + x[half : 2 * half], x[2 * half :]])
        return x[0]
    total, lost = x[0], 0
    for row in x[1:]:
        wanted = row - lost
        new = total + wanted
        if how == "compensated":
            lost = (new - total) - wanted
        total = new
    return total


# %% wrong="naive from the last row to the first" breaks="from the first to the last" says=["that is the sum from the last row to the first"]
predicted_sums = {
    "a loop over 2**25 ones, float32": 2**24,
    "a loop over 2**25 ones, float64": 2**25,
    "pairwise over 2**25 ones, float32": 2**25,
    "a loop over 1000 ones, bfloat16": 256,
    "a loop over 3000 ones, float16": 2048,
}


def _pairwise(x):
    if not len(x):
        return x.new_zeros(x.shape[1])
    while len(x) > 1:
        half = len(x) // 2
        rest = x[2 * half :]
        x = torch.cat([x[:half] + x[half : 2 * half], rest])
    return x[0].clone()


def _compensated(x):
    total = excess = x.new_zeros(x.shape[1])
    for row in x:
        wanted = row - excess
        new = total + wanted
        excess = (new - total) - wanted
        total = new
    return total


def sum_in_float32(x, how):
    return {"naive": _naive, "pairwise": _pairwise, "compensated": _compensated}[how](x)


def _naive(x):
    total = x.new_zeros(x.shape[1])
    for row in reversed(list(x)):
        total = total + row
    return total


# %% wrong="pairwise by a view of pairs" says=["of 7 rows below zero, transposed: raised RuntimeError"]
predicted_sums = {
    "a loop over 2**25 ones, float32": 2**24,
    "a loop over 2**25 ones, float64": 2**25,
    "pairwise over 2**25 ones, float32": 2**25,
    "a loop over 1000 ones, bfloat16": 256,
    "a loop over 3000 ones, float16": 2048,
}


def sum_in_float32(x, how):
    total = torch.zeros_like(x[:0].new_zeros(x.shape[1]))
    if how == "naive":
        for row in x:
            total = total + row
        return total
    if how == "pairwise":
        while len(x) > 1:
            half = len(x) // 2
            left = x[2 * half :]
            pairs = x[: 2 * half].view(half, 2 * x.shape[1])
            x = pairs[:, : x.shape[1]] + pairs[:, x.shape[1] :]
            if len(left):
                x = torch.cat([x, left])
        return x[0] if len(x) else total
    excess = torch.zeros_like(total)
    for row in x:
        wanted = row - excess
        new = total + wanted
        excess = (new - total) - wanted
        total = new
    return total


# %% wrong="one excess for all columns" says=["\"compensated\", x of columns that have little in common", "in each column"]
predicted_sums = {
    "a loop over 2**25 ones, float32": 2**24,
    "a loop over 2**25 ones, float64": 2**25,
    "pairwise over 2**25 ones, float32": 2**25,
    "a loop over 1000 ones, bfloat16": 256,
    "a loop over 3000 ones, float16": 2048,
}


def sum_in_float32(x, how):
    total = torch.zeros_like(x[:0].new_zeros(x.shape[1]))
    if how == "naive":
        for row in x:
            total = total + row
        return total
    if how == "pairwise":
        while len(x) > 1:
            half = len(x) // 2
            left = x[2 * half :]
            x = x[:half] + x[half : 2 * half]
            if len(left):
                x = torch.cat([x, left])
        return x[0] if len(x) else total
    excess = torch.zeros_like(total)
    for row in x:
        wanted = row - excess
        new = total + wanted
        excess = ((new - total) - wanted).amax().expand_as(total) if len(total) else excess
        total = new
    return total


# %% wrong="the first column chooses Neumaier's branch" says=["\"compensated\", x of columns that have little in common"]
predicted_sums = {
    "a loop over 2**25 ones, float32": 2**24,
    "a loop over 2**25 ones, float64": 2**25,
    "pairwise over 2**25 ones, float32": 2**25,
    "a loop over 1000 ones, bfloat16": 256,
    "a loop over 3000 ones, float16": 2048,
}


def sum_in_float32(x, how):
    total = torch.zeros_like(x[:0].new_zeros(x.shape[1]))
    if how == "naive":
        for row in x:
            total = total + row
        return total
    if how == "pairwise":
        while len(x) > 1:
            half = len(x) // 2
            left = x[2 * half :]
            x = x[:half] + x[half : 2 * half]
            if len(left):
                x = torch.cat([x, left])
        return x[0] if len(x) else total
    excess = torch.zeros_like(total)
    for row in x:
        new = total + row
        if len(row) and total[0].abs() >= row[0].abs():
            excess = excess + ((total - new) + row)
        else:
            excess = excess + ((row - new) + total)
        total = new
    return total + excess


# %% wrong="the row that is left over loses its sign" says=["\"pairwise\", x of 7 rows below zero"]
predicted_sums = {
    "a loop over 2**25 ones, float32": 2**24,
    "a loop over 2**25 ones, float64": 2**25,
    "pairwise over 2**25 ones, float32": 2**25,
    "a loop over 1000 ones, bfloat16": 256,
    "a loop over 3000 ones, float16": 2048,
}


def sum_in_float32(x, how):
    total = torch.zeros_like(x[:0].new_zeros(x.shape[1]))
    if how == "naive":
        for row in x:
            total = total + row
        return total
    if how == "pairwise":
        while len(x) > 1:
            half = len(x) // 2
            left = x[2 * half :].abs()
            x = x[:half] + x[half : 2 * half]
            if len(left):
                x = torch.cat([x, left])
        return x[0] if len(x) else total
    excess = torch.zeros_like(total)
    for row in x:
        wanted = row - excess
        new = total + wanted
        excess = (new - total) - wanted
        total = new
    return total


# %% wrong="sorts the rows first" says=["the rows were sorted: add row after row"]
predicted_sums = {
    "a loop over 2**25 ones, float32": 2**24,
    "a loop over 2**25 ones, float64": 2**25,
    "pairwise over 2**25 ones, float32": 2**25,
    "a loop over 1000 ones, bfloat16": 256,
    "a loop over 3000 ones, float16": 2048,
}


def sum_in_float32(x, how):
    total = torch.zeros_like(x[:0].new_zeros(x.shape[1]))
    if how == "naive":
        for row in x:
            total = total + row
        return total
    if how == "pairwise":
        while len(x) > 1:
            half = len(x) // 2
            left = x[2 * half :]
            x = x[:half] + x[half : 2 * half]
            if len(left):
                x = torch.cat([x, left])
        return x[0] if len(x) else total
    excess = torch.zeros_like(total)
    for row in x.sort(0).values:
        wanted = row - excess
        new = total + wanted
        excess = (new - total) - wanted
        total = new
    return total


# %% wrong="forgets the excess every 100 rows" breaks="with an error of at most 2u times the sum of absolute values" says=["of 3001 rows: error"]
predicted_sums = {
    "a loop over 2**25 ones, float32": 2**24,
    "a loop over 2**25 ones, float64": 2**25,
    "pairwise over 2**25 ones, float32": 2**25,
    "a loop over 1000 ones, bfloat16": 256,
    "a loop over 3000 ones, float16": 2048,
}


def sum_in_float32(x, how):
    total = torch.zeros_like(x[:0].new_zeros(x.shape[1]))
    if how == "naive":
        for row in x:
            total = total + row
        return total
    if how == "pairwise":
        while len(x) > 1:
            half = len(x) // 2
            left = x[2 * half :]
            x = x[:half] + x[half : 2 * half]
            if len(left):
                x = torch.cat([x, left])
        return x[0] if len(x) else total
    excess = torch.zeros_like(total)
    for i, row in enumerate(x):
        wanted = row - excess if i % 100 else row
        new = total + wanted
        excess = (new - total) - wanted
        total = new
    return total


# %% right="adds into a buffer by out="
predicted_sums = {
    "a loop over 2**25 ones, float32": 2**24,
    "a loop over 2**25 ones, float64": 2**25,
    "pairwise over 2**25 ones, float32": 2**25,
    "a loop over 1000 ones, bfloat16": 256,
    "a loop over 3000 ones, float16": 2048,
}


def sum_in_float32(x, how):
    total = torch.zeros_like(x[:0].new_zeros(x.shape[1]))
    if how == "naive":
        for row in x:
            torch.add(total, row, out=total)
        return total
    if how == "pairwise":
        while len(x) > 1:
            half = len(x) // 2
            left = x[2 * half :]
            x = x[:half] + x[half : 2 * half]
            if len(left):
                x = torch.cat([x, left])
        return x[0] if len(x) else total
    excess = torch.zeros_like(total)
    for row in x:
        wanted = row - excess
        new = total + wanted
        excess = (new - total) - wanted
        total = new
    return total


# %% wrong="one total for all calls" says=["a second call: the next call changed what this one gave"]
predicted_sums = {
    "a loop over 2**25 ones, float32": 2**24,
    "a loop over 2**25 ones, float64": 2**25,
    "pairwise over 2**25 ones, float32": 2**25,
    "a loop over 1000 ones, bfloat16": 256,
    "a loop over 3000 ones, float16": 2048,
}
totals = {}


def sum_in_float32(x, how):
    if how == "pairwise":
        while len(x) > 1:
            half = len(x) // 2
            x = torch.cat([x[:half] + x[half : 2 * half], x[2 * half :]])
    total = totals.setdefault(x.shape[1], torch.zeros(x.shape[1]))
    excess = torch.zeros_like(total)
    total.zero_()
    for row in x:
        wanted = row - excess if how == "compensated" else row
        new = total + wanted
        if how == "compensated":
            excess = (new - total) - wanted
        total.copy_(new)
    return total


# %% wrong="the library's sum where there is no row" says=["x of no row: sum ran; add up in float32 by yourself"]
predicted_sums = {
    "a loop over 2**25 ones, float32": 2**24,
    "a loop over 2**25 ones, float64": 2**25,
    "pairwise over 2**25 ones, float32": 2**25,
    "a loop over 1000 ones, bfloat16": 256,
    "a loop over 3000 ones, float16": 2048,
}


def sum_in_float32(x, how):
    if not len(x):
        return x.sum(0)
    if how == "pairwise":
        while len(x) > 1:
            h = len(x) // 2
            x = torch.cat([x[:h] + x[h : 2 * h], x[2 * h :]])
        return x[0]
    t = torch.zeros(x.shape[1])
    e = torch.zeros(x.shape[1])
    for row in x:
        w = row - e if how == "compensated" else row
        n = t + w
        e = (n - t) - w
        t = n
    return t


# %% wrong="adds up blocks of 512 rows one after the other" says=["60 additions for 3000 rows; add halves to halves"]
predicted_sums = {
    "a loop over 2**25 ones, float32": 2**24,
    "a loop over 2**25 ones, float64": 2**25,
    "pairwise over 2**25 ones, float32": 2**25,
    "a loop over 1000 ones, bfloat16": 256,
    "a loop over 3000 ones, float16": 2048,
}


def sum_in_float32(x, how):
    if how == "pairwise":
        t = torch.zeros(x.shape[1])
        for i in range(0, len(x), 512):
            y = x[i : i + 512]
            while len(y) > 1:
                h = len(y) // 2
                y = torch.cat([y[:h] + y[h : 2 * h], y[2 * h :]])
            t = t + y[0]
        return t
    t = torch.zeros(x.shape[1])
    e = torch.zeros(x.shape[1])
    for row in x:
        w = row - e if how == "compensated" else row
        n = t + w
        e = (n - t) - w
        t = n
    return t


# %% wrong="the excess is kept for the next call" says=["the compensated sum, after another one: is something kept between two calls?"]
predicted_sums = {
    "a loop over 2**25 ones, float32": 2**24,
    "a loop over 2**25 ones, float64": 2**25,
    "pairwise over 2**25 ones, float32": 2**25,
    "a loop over 1000 ones, bfloat16": 256,
    "a loop over 3000 ones, float16": 2048,
}


def sum_in_float32(x, how, memory={}):
    if how == "pairwise":
        while len(x) > 1:
            h = len(x) // 2
            x = torch.cat([x[:h] + x[h : 2 * h], x[2 * h :]])
        return x[0] if len(x) else torch.zeros(x.shape[1])
    e = memory.setdefault(x.shape[1], torch.zeros(x.shape[1]))
    t = torch.zeros(x.shape[1])
    for row in x:
        w = row - e if how == "compensated" else row
        n = t + w
        e = (n - t) - w
        t = n
    memory[x.shape[1]] = e
    return t


# %% wrong="compares total and row with their signs" says=["of -1e8 and 199 times -1"]
predicted_sums = {
    "a loop over 2**25 ones, float32": 2**24,
    "a loop over 2**25 ones, float64": 2**25,
    "pairwise over 2**25 ones, float32": 2**25,
    "a loop over 1000 ones, bfloat16": 256,
    "a loop over 3000 ones, float16": 2048,
}


def sum_in_float32(x: torch.Tensor, how: str) -> torch.Tensor:
    total = x.new_zeros(x.shape[1])
    if how == "naive":
        for row in x:
            total = total + row
        return total
    if how == "pairwise":
        if len(x) == 0:
            return total
        while len(x) > 1:
            half = len(x) // 2
            x = torch.cat([x[:half] + x[half : 2 * half], x[2 * half :]])
        return x[0]
    missing = torch.zeros_like(total)
    for row in x:
        new = total + row
        lost = torch.where(total >= row, (total - new) + row, (row - new) + total)
        missing = missing + lost
        total = new
    return total + missing


# %% wrong="kept by its tensor" says=["a second time with the same tensors, which had other numbers the first time"]
predicted_sums = {
    "a loop over 2**25 ones, float32": 2**24,
    "a loop over 2**25 ones, float64": 2**25,
    "pairwise over 2**25 ones, float32": 2**25,
    "a loop over 1000 ones, bfloat16": 2**8,
    "a loop over 3000 ones, float16": 2**11,
}

known = {}


def sum_in_float32(x, how):
    if (id(x), how) in known:
        return known[id(x), how][1]
    total, lost, rows = x.new_zeros(x.shape[1]), 0, x
    if how == "pairwise":
        while len(rows) > 1:
            half = len(rows) // 2
            rows = torch.cat([rows[:half] + rows[half : 2 * half], rows[2 * half :]])
    for row in rows:
        wanted = row - lost
        new = total + wanted
        lost = (new - total) - wanted if how == "compensated" else 0
        total = new
    known[id(x), how] = x, total
    return total


# %% wrong="a compensated sum made as a tree" breaks="row after row, with an error" says=["64 tenths", "Add row after row, not in a tree"]
predicted_sums = {
    "a loop over 2**25 ones, float32": 2**24,
    "a loop over 2**25 ones, float64": 2**25,
    "pairwise over 2**25 ones, float32": 2**25,
    "a loop over 1000 ones, bfloat16": 256,
    "a loop over 3000 ones, float16": 2048,
}


def _padded(x):
    return torch.cat([x, torch.zeros_like(x[:1])]) if len(x) % 2 else x


def sum_in_float32(x: torch.Tensor, how: str) -> torch.Tensor:
    zero = x.new_zeros(x.shape[1])
    if how == "naive":
        for row in x:
            zero = zero + row
        return zero
    if len(x) == 0:
        return zero
    if how == "pairwise":
        while len(x) > 1:
            x = _padded(x)
            x = x[: len(x) // 2] + x[len(x) // 2 :]
        return x[0]
    high, low = x, torch.zeros_like(x)
    while len(high) > 1:
        high, low = _padded(high), _padded(low)
        a, b = high.chunk(2)
        c, d = low.chunk(2)
        s = a + b
        t = s - a
        high, low = s, ((a - (s - t)) + (b - t)) + (c + d)
    return (high + low)[0]
