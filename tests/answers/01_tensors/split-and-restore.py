# %% wrong="chunk" says=["chunk may give fewer than you ask for", "3 pieces were worked on, 4 were asked for"]
def split_and_restore(x, parts, function, dim=0):
    done = [function(piece) for piece in x.chunk(parts, dim)]
    return done[0] if parts == 1 else torch.cat(done, dim)


# %% wrong="what is left over goes to the last piece" says=["with 5 entries, pieces of [3, 2]"]
def split_and_restore(x, parts, function, dim=0):
    size = x.shape[dim] // parts
    sizes = [size] * (parts - 1) + [x.shape[dim] - size * (parts - 1)]
    done = [function(piece) for piece in x.split(sizes, dim)]
    return done[0] if parts == 1 else torch.cat(done, dim)


# %% wrong="pieces by lists of indices, which copies" says=["did not reach x: the pieces are not views"]
def split_and_restore(x, parts, function, dim=0):
    places = torch.arange(x.shape[dim], device=x.device).tensor_split(parts)
    done = [function(x.index_select(dim, place)) for place in places]
    return done[0] if parts == 1 else torch.cat(done, dim)


# %% wrong="cat even of a single piece" says=["a copy was made: cat allocated"]
def split_and_restore(x, parts, function, dim=0):
    size, more = divmod(x.shape[dim], parts)
    sizes = [size + 1] * more + [size] * (parts - more)
    return torch.cat([function(piece) for piece in x.split(sizes, dim)], dim)


# %% wrong="joins along dimension 0 always" says=["RuntimeError", "Sizes of tensors must match except in dimension 0"]
def split_and_restore(x, parts, function, dim=0):
    size, more = divmod(x.shape[dim], parts)
    sizes = [size + 1] * more + [size] * (parts - more)
    done = [function(piece) for piece in x.split(sizes, dim)]
    return done[0] if parts == 1 else torch.cat(done)


# %% wrong="applies the function to the whole" says=["with 5 entries, pieces of [3, 2]", "differs in"]
def split_and_restore(x, parts, function, dim=0):
    return function(x)


# %% wrong="makes it contiguous first, which may copy" says=["did not reach x: the pieces are not views"]
def split_and_restore(x, parts, function, dim=0):
    done = [function(piece) for piece in x.contiguous().tensor_split(parts, dim)]
    return done[0] if parts == 1 else torch.cat(done, dim)


# %% wrong="leaves out empty pieces" says=["2 pieces were worked on, 3 were asked for"]
def split_and_restore(x, parts, function, dim=0):
    pieces = [piece for piece in x.tensor_split(parts, dim) if piece.shape[dim]]
    done = [function(piece) for piece in pieces or [x]]
    return done[0] if len(done) == 1 else torch.cat(done, dim)


# %% right="tensor_split, and an empty result that is filled"
def split_and_restore(x, parts, function, dim=0):
    done = list(map(function, torch.tensor_split(x, parts, dim=dim)))
    if len(done) == 1:
        return done[0]
    shape = list(done[0].shape)
    shape[dim] = x.shape[dim]
    result, start = done[0].new_empty(shape), 0
    for piece in done:
        result.narrow(dim, start, piece.shape[dim]).copy_(piece)
        start += piece.shape[dim]
    return result


# %% right="narrow, with boundaries by rounding up"
def split_and_restore(x, parts, function, dim=0):
    n = x.shape[dim]
    ends = [0]
    for part in range(parts):
        ends.append(ends[-1] + (n - part + parts - 1) // parts)
    done = [function(x.narrow(dim, a, b - a)) for a, b in zip(ends, ends[1:])]
    return torch.concatenate(done, dim) if len(done) > 1 else done[0]
