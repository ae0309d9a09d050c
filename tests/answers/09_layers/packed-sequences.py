# %% [markdown]
# Rules:
#
# - "maybe bidirectional, with several layers, `batch_first` or a `proj_size`"
# - "in any order"
# - "a tensor may be in it twice"
# - "(time, features of the output)"
# - "in the order of `sequences`"
# - "each equal to what `rnn` gives for that sequence alone"
# - "whatever ran before"
# - "Gradients flow through the outputs"
# - "back to the weights and the sequences"
# - "Call `rnn` exactly once"
# - "Leave it and the list as they are"
# - "its mode"
# - "what is frozen, each `.grad`"
# - "It returns a list of outputs"
# - "Dtype and device are the layer's"
#
# Admits:
#
# - "maybe bidirectional": a bidirectional GRU, lengths 1, 3, 2
# - "`batch_first` or a `proj_size`": an LSTM with proj_size=2, lengths 3, 1
# - "one or more tensors": one sequence, float32
# - "a tensor may be in it twice": the last is the first once more
# - "tensors of shape (time, feature)": each ends with a row of zeros

# %% wrong="pads and never packs" breaks="each equal to what `rnn` gives for that sequence alone" says=["the layer read the padding: pack the sequences"]
def packed_sequences(rnn, sequences):
    rows = nn.utils.rnn.pad_sequence(sequences, batch_first=rnn.batch_first)
    outputs, _ = rnn(rows)
    outputs = outputs if rnn.batch_first else outputs.transpose(0, 1)
    return [y[: len(x)] for x, y in zip(sequences, outputs)]


# %% wrong="sorts and does not restore" breaks="in the order of `sequences`" says=["these are the sorted ones: bring them back"]
def packed_sequences(rnn, sequences):
    ordered = sorted(sequences, key=len, reverse=True)
    outputs, _ = rnn(nn.utils.rnn.pack_sequence(ordered))
    padded, lengths = nn.utils.rnn.pad_packed_sequence(outputs, batch_first=True)
    return [y[:n] for y, n in zip(padded, lengths)]


# %% wrong="forgets that they are not sorted" breaks="in any order" says=["raised RuntimeError", "sorted"]
def packed_sequences(rnn, sequences):
    outputs, _ = rnn(nn.utils.rnn.pack_sequence(sequences))
    padded, lengths = nn.utils.rnn.pad_packed_sequence(outputs, batch_first=True)
    return [y[:n] for y, n in zip(padded, lengths)]


# %% wrong="leaves the padding on" breaks="(time, features of the output)" says=["the outputs' times: expected [2, 4, 3], got [4, 4, 4] (the padding is still there"]
def packed_sequences(rnn, sequences):
    outputs, _ = rnn(nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False))
    padded, lengths = nn.utils.rnn.pad_packed_sequence(outputs, batch_first=True)
    return list(padded)


# %% wrong="one by one" breaks="Call `rnn` exactly once" says=["how often the layer was called: expected 1, got 3"]
def packed_sequences(rnn, sequences):
    return [rnn(x)[0] for x in sequences]


# %% wrong="sorts the caller's list" breaks="Leave it and the list as they are" says=["not as it was: the list of sequences"]
def packed_sequences(rnn, sequences):
    order = sorted(range(len(sequences)), key=lambda i: -len(sequences[i]))
    sequences.sort(key=len, reverse=True)
    outputs, _ = rnn(nn.utils.rnn.pack_sequence(sequences))
    padded, lengths = nn.utils.rnn.pad_packed_sequence(outputs, batch_first=True)
    rows = [y[:n] for y, n in zip(padded, lengths)]
    return [rows[order.index(i)] for i in range(len(rows))]


# %% wrong="restores with the order itself, not its inverse" says=["the outputs' times"]
def packed_sequences(rnn, sequences):
    order = sorted(range(len(sequences)), key=lambda i: -len(sequences[i]))
    outputs, _ = rnn(nn.utils.rnn.pack_sequence([sequences[i] for i in order]))
    padded, lengths = nn.utils.rnn.pad_packed_sequence(outputs, batch_first=True)
    rows = [y[:n] for y, n in zip(padded, lengths)]
    return [rows[i] for i in order]


# %% wrong="the padded rectangle" breaks="It returns a list of outputs" says=["a Tensor came back, expected a list"]
def packed_sequences(rnn, sequences):
    outputs, _ = rnn(nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False))
    return nn.utils.rnn.pad_packed_sequence(outputs, batch_first=True)[0]


# %% right="sorted and restored by hand"
def packed_sequences(rnn, sequences):
    lengths = torch.tensor([len(x) for x in sequences])
    lengths, order = lengths.sort(descending=True)
    rows = nn.utils.rnn.pad_sequence([sequences[i] for i in order.tolist()])
    packed, _ = rnn(nn.utils.rnn.pack_padded_sequence(rows, lengths))
    padded, lengths = nn.utils.rnn.pad_packed_sequence(packed)
    found = [None] * len(sequences)
    for column, i in enumerate(order.tolist()):
        found[i] = padded[: int(lengths[column]), column]
    return found


# %% right="unpack_sequence"
def packed_sequences(rnn, sequences):
    packed = nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False)
    return nn.utils.rnn.unpack_sequence(rnn(packed)[0])


# %% wrong="one call of forward for each sequence" says=["how often the layer was called: expected 1, got 3"]
def packed_sequences(rnn, sequences):
    return [rnn.forward(s)[0] for s in sequences]


# %% wrong="joins all into one long sequence" says=["each sequence starts from zeros"]
def packed_sequences(rnn, sequences):
    y, _ = rnn(torch.cat(sequences))
    return list(y.split([len(s) for s in sequences]))


# %% right="sorted by hand and back, walks batch_sizes"
def packed_sequences(rnn, sequences):
    order = sorted(range(len(sequences)), key=lambda i: -len(sequences[i]))
    packed = nn.utils.rnn.pack_sequence([sequences[i] for i in order])
    out = rnn(packed)[0]
    rows = [[] for _ in sequences]
    at = 0
    for count in out.batch_sizes.tolist():
        for j in range(count):
            rows[order[j]].append(out.data[at + j])
        at += count
    return tuple(torch.stack(r) for r in rows)


# %% wrong="room for hidden_size features" breaks="maybe bidirectional, with several layers, `batch_first` or a `proj_size`" says=["an LSTM with proj_size=2, lengths 3, 1: raised"]
def packed_sequences(rnn, sequences):
    packed = nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False)
    padded, lengths = nn.utils.rnn.pad_packed_sequence(rnn(packed)[0], batch_first=True)
    width = rnn.hidden_size * (2 if rnn.bidirectional else 1)
    found = [padded.new_zeros(length, width) for length in lengths.tolist()]
    for y, row in zip(found, padded):
        y.copy_(row[: len(y)])
    return found


# %% wrong="carries the last state over to the next call" breaks="whatever ran before" says=["a second call with the same sequences gives another result: what is kept?"]
def packed_sequences(rnn, sequences, last={}):
    packed = nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False)
    y, last[rnn] = rnn(packed, last.get(rnn))
    return nn.utils.rnn.unpack_sequence(y)


# %% wrong="finds a sequence's place by the object" breaks="a tensor may be in it twice" says=["the list holds a sequence twice: are places looked up by the tensor?"]
def packed_sequences(rnn, sequences):
    order = sorted(sequences, key=len, reverse=True)
    packed = nn.utils.rnn.pack_sequence(order)
    found = nn.utils.rnn.unpack_sequence(rnn(packed)[0])
    places = {id(x): i for i, x in enumerate(sequences)}
    result = [None] * len(sequences)
    for x, y in zip(order, found):
        result[places[id(x)]] = y
    return result


# %% wrong="eval on the way" says=["not as it was"]
def packed_sequences(rnn, sequences):
    lengths = [len(s) for s in sequences]
    padded = nn.utils.rnn.pad_sequence(sequences, batch_first=True)
    packed = nn.utils.rnn.pack_padded_sequence(
        padded, lengths, batch_first=True, enforce_sorted=False
    )
    rnn.eval()
    out, _ = rnn(packed)
    rect, _ = nn.utils.rnn.pad_packed_sequence(out, batch_first=True)
    return [rect[i, :n] for i, n in enumerate(lengths)]


# %% wrong="the mode is turned over" breaks="its mode" says=["the mode of the model was changed"]
def packed_sequences(rnn, sequences):
    mode = rnn.training
    rnn.eval()
    packed = nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False)
    output, _ = rnn(packed)
    padded, lengths = nn.utils.rnn.pad_packed_sequence(output, batch_first=True)
    rnn.train(not mode)
    return [row[:n] for row, n in zip(padded, lengths.tolist())]


# %% wrong="detached outputs" breaks="Gradients flow through the outputs" says=["no gradient flows from an output"]
def packed_sequences(rnn, sequences):
    packed = nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False)
    output, _ = rnn(packed)
    padded, lengths = nn.utils.rnn.pad_packed_sequence(output, batch_first=True)
    return [row[:n].detach() for row, n in zip(padded, lengths.tolist())]


# %% wrong="runs under no_grad" says=["no gradient flows from an output"]
def packed_sequences(rnn, sequences):
    packed = nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False)
    with torch.no_grad():
        output, _ = rnn(packed)
    padded, lengths = nn.utils.rnn.pad_packed_sequence(output, batch_first=True)
    return [row[:n] for row, n in zip(padded, lengths.tolist())]


# %% wrong="lengths counted by what isn't zero" says=["weights of 0, and so outputs of 0"]
def packed_sequences(rnn, sequences):
    packed = nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False)
    output, _ = rnn(packed)
    padded, lengths = nn.utils.rnn.pad_packed_sequence(output, batch_first=True)
    return [row[: int(row.abs().sum(1).ne(0).sum())] for row, n in zip(padded, lengths.tolist())]


# %% wrong="outputs by the length of their sequence" says=["output 1, of length 2: this belongs to sequence 0, which is as long"]
def packed_sequences(rnn, sequences):
    order = sorted(range(len(sequences)), key=lambda i: -len(sequences[i]))
    packed = nn.utils.rnn.pack_sequence([sequences[i] for i in order])
    out, _ = rnn(packed)
    ys = nn.utils.rnn.unpack_sequence(out)
    back = {len(sequences[i]): y for i, y in zip(order, ys)}
    return [back[len(s)] for s in sequences]


# %% wrong="sets batch_first" says=["the layer's batch_first was changed"]
def packed_sequences(rnn, sequences):
    rnn.batch_first = True
    packed = nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False)
    out, _ = rnn(packed)
    y, n = nn.utils.rnn.pad_packed_sequence(out, batch_first=True)
    return [a[: int(b)] for a, b in zip(y, n)]


# %% wrong="the forward half alone" says=["has shape (1, 4), expected (1, 8)"]
def packed_sequences(rnn, sequences):
    packed = nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False)
    out, _ = rnn(packed)
    y, n = nn.utils.rnn.pad_packed_sequence(out, batch_first=True)
    return [a[: int(b), : rnn.hidden_size] for a, b in zip(y, n)]


# %% right="rows of data by index"
def packed_sequences(rnn, sequences):
    P = nn.utils.rnn
    out = rnn(P.pack_sequence(list(sequences), False))[0]
    starts = torch.cat([torch.zeros(1, dtype=torch.int64), out.batch_sizes.cumsum(0)[:-1]])
    return [
        out.data[(starts[: len(s)] + p).to(out.data.device)]
        for s, p in zip(sequences, out.unsorted_indices.tolist())
    ]


# %% wrong="detached outputs that say they require a gradient" says=["no gradient flows from an output to the layer's weights"]
def packed_sequences(rnn, sequences):
    packed = nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False)
    out, _ = rnn(packed)
    return [y.requires_grad_() for y in [t.detach() for t in nn.utils.rnn.unpack_sequence(out)]]


# %% wrong="seeds PyTorch" says=["PyTorch's random generator was moved or seeded"]
def packed_sequences(rnn, sequences):
    torch.manual_seed(0)
    packed = nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False)
    out, _ = rnn(packed)
    return list(nn.utils.rnn.unpack_sequence(out))


# %% wrong="a first state in float32, for one direction" breaks="Dtype and device are the layer's" says=["raised RuntimeError"]
def packed_sequences(rnn, sequences):
    packed = nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False)
    h = torch.zeros(rnn.num_layers, len(sequences), rnn.hidden_size)
    out, _ = rnn(packed, (h, h) if isinstance(rnn, nn.LSTM) else h)
    return list(nn.utils.rnn.unpack_sequence(out))


# %% wrong="thaws the layer" breaks="what is frozen, each `.grad`" says=["requires_grad of weight_ih_l0 was changed"]
def packed_sequences(rnn, sequences):
    from torch.nn.utils.rnn import pack_sequence, pad_packed_sequence

    rnn.requires_grad_(True)
    packed = pack_sequence(sequences, enforce_sorted=False)
    out, _ = rnn(packed)
    padded, lengths = pad_packed_sequence(out, batch_first=True)
    return [padded[i, :n] for i, n in enumerate(lengths.tolist())]


# %% wrong="the sequences are cut off" breaks="back to the weights and the sequences" says=["no gradient flows from the outputs back to sequence 0"]
def packed_sequences(rnn, sequences):
    from torch.nn.utils.rnn import pack_sequence, pad_packed_sequence

    packed = pack_sequence([sequence.detach() for sequence in sequences], enforce_sorted=False)
    out, _ = rnn(packed)
    padded, lengths = pad_packed_sequence(out, batch_first=True)
    return [padded[i, :n] for i, n in enumerate(lengths.tolist())]


# %% wrong="rows of zeros count as padding" says=["each ends with a row of zeros: the outputs' times", "a row of zeros is a word like any other, not padding"]
def packed_sequences(rnn, sequences):
    box = nn.utils.rnn.pad_sequence(sequences, batch_first=True)
    lengths = (box != 0).any(-1).sum(1).clamp(min=1)
    packed = nn.utils.rnn.pack_padded_sequence(box, lengths, batch_first=True, enforce_sorted=False)
    padded, lengths = nn.utils.rnn.pad_packed_sequence(rnn(packed)[0], batch_first=True)
    return [row[:n] for row, n in zip(padded, lengths.tolist())]


# %% wrong="a copy of the layer runs" breaks="back to the weights and the sequences" says=["no gradient flows from an output to the layer's weights (detach, no_grad, a copy?)"]
def packed_sequences(rnn, sequences):
    packed = nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False)
    import copy

    output, _ = copy.deepcopy(rnn)(packed)
    padded, lengths = nn.utils.rnn.pad_packed_sequence(output, batch_first=True)
    return [row[:n] for row, n in zip(padded, lengths.tolist())]


# %% wrong="one sequence squeezed" says=["one sequence, float32"]
def packed_sequences(rnn, sequences):
    packed = nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False)
    output, _ = rnn(packed)
    padded, lengths = nn.utils.rnn.pad_packed_sequence(output, batch_first=True)
    if len(sequences) == 1:
        return [padded.squeeze()]
    return [row[:n] for row, n in zip(padded, lengths.tolist())]


# %% wrong="iterates over time, not over the batch" says=["the rectangle is (time, batch, features)"]
def packed_sequences(rnn, sequences):
    packed = nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False)
    output, _ = rnn(packed)
    padded, lengths = nn.utils.rnn.pad_packed_sequence(output)
    return [row[:length] for row, length in zip(padded, lengths)]


# %% wrong="the rectangle as the layer has it" says=["output 1, of length 3: the rectangle is (time, batch, features)"]
def packed_sequences(rnn, sequences):
    packed = nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False)
    output, lengths = nn.utils.rnn.pad_packed_sequence(rnn(packed)[0], batch_first=rnn.batch_first)
    return [row[:length] for row, length in zip(output, lengths.tolist(), strict=True)]


# %% wrong="packs kept by the tensors" says=["the same tensors with other numbers give other outputs than the layer", "make each result anew"]
_packs = {}


def packed_sequences(rnn, sequences):
    key = tuple(id(sequence) for sequence in sequences)
    if key not in _packs:
        _packs[key] = nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False)
    padded, lengths = nn.utils.rnn.pad_packed_sequence(rnn(_packs[key])[0], batch_first=True)
    return [row[:length] for row, length in zip(padded, lengths.tolist())]


# %% wrong="a graph only where the layer's weights want one" says=["no gradient flows back to the sequences, which alone require one"]
def packed_sequences(rnn, sequences):
    with torch.set_grad_enabled(any(p.requires_grad for p in rnn.parameters())):
        output, _ = rnn(nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False))
        padded, lengths = nn.utils.rnn.pad_packed_sequence(output, batch_first=True)
        return [row[:length] for row, length in zip(padded, lengths.tolist())]


# %% wrong="a graph only where a sequence wants one" says=["no gradient flows back to the layer's weights, which alone require one"]
def packed_sequences(rnn, sequences):
    with torch.set_grad_enabled(sequences[0].requires_grad):
        output, _ = rnn(nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False))
        padded, lengths = nn.utils.rnn.pad_packed_sequence(output, batch_first=True)
        return [row[:length] for row, length in zip(padded, lengths.tolist())]


# %% wrong="the last word is where the output isn't zeros" says=["an output of zeros is an output"]
def packed_sequences(rnn, sequences):
    output, _ = rnn(nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False))
    padded, _ = nn.utils.rnn.pad_packed_sequence(output, batch_first=True)
    return [row[row.ne(0).any(-1)] for row in padded]


# %% wrong="a first state as wide as the layer's, whatever proj_size is" says=["an LSTM with proj_size=2, lengths 3, 1: raised RuntimeError", "with a proj_size h is narrower than c"]
def packed_sequences(rnn, sequences):
    count = rnn.num_layers * (1 + rnn.bidirectional)
    state = sequences[0].new_zeros(count, len(sequences), rnn.hidden_size)
    state = (state, state) if rnn.mode == "LSTM" else state
    output, _ = rnn(nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False), state)
    padded, lengths = nn.utils.rnn.pad_packed_sequence(output, batch_first=True)
    return [row[:length] for row, length in zip(padded, lengths.tolist())]
