# %% [markdown]
# Rules:
#
# - "rank 0's parameters and buffers are sent to all ranks"
# - "also buffers that `state_dict()` leaves out"
# - "Before each forward"
# - "in training or not"
# - "A forward may have replaced a buffer by another tensor"
# - "Parameters with `requires_grad`"
# - "from the last of `model.parameters()` to the first"
# - "when the next gradient would bring it above `bucket_bytes`"
# - "a single larger gradient has a bucket to itself"
# - "All have one dtype, whichever"
# - "a bucket is all-reduced as soon as it is complete"
# - "*and* all buckets before it have been"
# - "One `all_reduce` for each bucket"
# - "during backward and `finish` nothing else is sent"
# - "is the average over all ranks"
# - "a rank that did not use it counts as zero"
# - "Then all is ready for the next step"
# - "Do not use DDP itself"
# - "the modes stay as they are"
# - "tied, frozen"
#
# Admits:
#
# - "in training or not": in eval mode the buffer isn't rank 0's
# - "All have one dtype, whichever": dtype=torch.float64
# - "on some ranks, unused layers": # each rank leaves another layer unused
# - "a single larger gradient": # gradients larger than a bucket

# %% wrong="averages after backward, one call for each parameter" says=["no all-reduce had begun", "the buckets of one step are"]
def ddp_by_hand(model, bucket_bytes):
    for t in [*model.parameters(), *model.buffers()]:
        dist.broadcast(t.detach(), 0)
    model.register_forward_pre_hook(
        lambda *_: [dist.broadcast(b, 0) for b in model.buffers()] and None
    )

    def finish():
        for p in reversed([p for p in model.parameters() if p.requires_grad]):
            if p.grad is None:
                p.grad = torch.zeros_like(p)
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()

    return finish


# %% wrong="the weights are not shared" breaks="rank 0's parameters and buffers are sent to all ranks" says=["is not rank 0's: broadcast it"]
def ddp_by_hand(model, bucket_bytes):
    def finish():
        for p in model.parameters():
            if p.grad is not None:
                dist.all_reduce(p.grad)
                p.grad /= dist.get_world_size()

    return finish


# %% wrong="the real one" breaks="Do not use DDP itself" says=["this uses DistributedDataParallel itself"]
def ddp_by_hand(model, bucket_bytes):
    DDP(model)
    return lambda: None


# %% wrong="sums, and buffers only once" says=["is the sum, not the average", "the buffer is not rank 0's (each rank kept its own)"]
def ddp_by_hand(model, bucket_bytes):
    for t in [*model.parameters(), *model.buffers()]:
        dist.broadcast(t.detach(), 0)

    def finish():
        for p in reversed([p for p in model.parameters() if p.requires_grad]):
            if p.grad is None:
                p.grad = torch.zeros_like(p)
            dist.all_reduce(p.grad)

    return finish


# %% wrong="sends in the order of arrival, unused ones hang" breaks="*and* all buckets before it have been" says=["other layers unused on each rank"]
def ddp_by_hand(model, bucket_bytes):
    for t in [*model.parameters(), *model.buffers()]:
        dist.broadcast(t.detach(), 0)
    model.register_forward_pre_hook(
        lambda *_: [dist.broadcast(b, 0) for b in model.buffers()] and None
    )
    buckets, size = [[]], 0
    for p in reversed([p for p in model.parameters() if p.requires_grad]):
        if size and size + p.nbytes > bucket_bytes:
            buckets.append([])
            size = 0
        buckets[-1].append(p)
        size += p.nbytes
    waiting, works = [], []

    def note(p):
        waiting.append(id(p))
        for bucket in buckets:
            if id(p) in map(id, bucket) and all(id(q) in waiting for q in bucket):
                flat = torch.cat([q.grad.flatten() for q in bucket])
                works.append((bucket, flat, dist.all_reduce(flat, async_op=True)))

    for p in model.parameters():
        if p.requires_grad:
            p.register_post_accumulate_grad_hook(note)

    def finish():
        for bucket, flat, work in works:
            work.wait()
            for p, part in zip(bucket, flat.split([p.numel() for p in bucket])):
                p.grad = (part / dist.get_world_size()).view_as(p)
        waiting.clear()
        works.clear()

    return finish


# %% wrong="notes are not cleared" breaks="Then all is ready for the next step" says=["cases fail"]
def ddp_by_hand(model, bucket_bytes):
    for t in [*model.parameters(), *model.buffers()]:
        dist.broadcast(t.detach(), 0)
    model.register_forward_pre_hook(
        lambda *_: [dist.broadcast(b, 0) for b in model.buffers()] and None
    )
    buckets, size = [[]], 0
    for p in reversed([p for p in model.parameters() if p.requires_grad]):
        if size and size + p.nbytes > bucket_bytes:
            buckets.append([])
            size = 0
        buckets[-1].append(p)
        size += p.nbytes
    ready, started = set(), []

    def begin():
        bucket = buckets[len(started)]
        flat = torch.cat(
            [(torch.zeros_like(q) if q.grad is None else q.grad).flatten() for q in bucket]
        )
        started.append((flat, dist.all_reduce(flat, async_op=True)))

    def note(p):
        ready.add(p)
        while len(started) < len(buckets) and all(q in ready for q in buckets[len(started)]):
            begin()

    for p in model.parameters():
        if p.requires_grad:
            p.register_post_accumulate_grad_hook(note)

    def finish():
        while len(started) < len(buckets):
            begin()
        for bucket, (flat, work) in zip(buckets, started):
            work.wait()
            for p, part in zip(bucket, flat.split([p.numel() for p in bucket])):
                p.grad = (part / dist.get_world_size()).view_as(p)

    return finish


# %% right="a class, blocking sums inside the hooks"
class ByHand:
    def __init__(self, model, limit):
        self.ranks = dist.get_world_size()
        for name, tensor in sorted([*model.named_parameters(), *model.named_buffers()]):
            dist.broadcast(tensor, src=0)
        model.register_forward_pre_hook(self.share_buffers)
        self.groups, room = [], 0
        for p in list(model.parameters())[::-1]:
            if not p.requires_grad:
                continue
            need = p.numel() * p.element_size()
            if not self.groups or need > room:
                self.groups.append({})
                room = limit
            self.groups[-1][id(p)] = p
            room -= need
            p.register_post_accumulate_grad_hook(self.arrived)
        self.reset()

    def share_buffers(self, module, inputs):
        for buffer in module.buffers():
            dist.broadcast(buffer, src=0)

    def reset(self):
        self.next, self.missing = 0, [set(group) for group in self.groups]

    def arrived(self, p):
        for missing in self.missing:
            missing.discard(id(p))
        while self.next < len(self.groups) and not self.missing[self.next]:
            self.reduce_next()

    def reduce_next(self):
        params = list(self.groups[self.next].values())
        self.next += 1
        for p in params:
            if p.grad is None:
                p.grad = torch.zeros_like(p)
        vector = torch.nn.utils.parameters_to_vector([p.grad for p in params]) / self.ranks
        dist.all_reduce(vector)
        torch.nn.utils.vector_to_parameters(vector, [p.grad for p in params])

    def __call__(self):
        while self.next < len(self.groups):
            self.reduce_next()
        self.reset()


def ddp_by_hand(model, bucket_bytes):
    return ByHand(model, bucket_bytes)


# %% right="counts what is missing, futures"
def ddp_by_hand(model, bucket_bytes):
    n = dist.get_world_size()
    with torch.no_grad():
        for t in list(model.parameters()) + list(model.buffers()):
            dist.broadcast(t, 0)
    trained = [p for p in model.parameters() if p.requires_grad][::-1]
    number, fill, k = {}, 0, -1
    for p in trained:
        if k < 0 or fill + p.nbytes > bucket_bytes:
            k, fill = k + 1, 0
        number[p] = k
        fill += p.nbytes
    members = [[p for p in trained if number[p] == b] for b in range(k + 1)]
    state = {"left": [len(m) for m in members], "sent": []}

    def send():
        flat = torch.cat(
            [
                torch.zeros(p.numel(), dtype=p.dtype, device=p.device)
                if p.grad is None
                else p.grad.reshape(-1)
                for p in members[len(state["sent"])]
            ]
        )
        state["sent"].append((flat, dist.all_reduce(flat, async_op=True)))

    def hook(p):
        state["left"][number[p]] -= 1
        while len(state["sent"]) < len(members) and state["left"][len(state["sent"])] == 0:
            send()

    for p in trained:
        p.register_post_accumulate_grad_hook(hook)

    def before(module, args):
        with torch.no_grad():
            for b in module.buffers():
                dist.broadcast(b, 0)

    model.register_forward_pre_hook(before)

    def finish():
        for _ in range(len(members) - len(state["sent"])):
            send()
        for group, (flat, work) in zip(members, state["sent"]):
            work.wait()
            start = 0
            for p in group:
                p.grad = flat[start : start + p.numel()].reshape(p.shape) / n
                start += p.numel()
        state["left"], state["sent"] = [len(m) for m in members], []

    return finish


# %% wrong="unused parameters left out where unused" breaks="a rank that did not use it counts as zero" says=["some rank used it"]
def ddp_by_hand(model, bucket_bytes):
    n = dist.get_world_size()
    for t in [*model.parameters(), *model.buffers()]:
        dist.broadcast(t.data, 0)
    model.register_forward_pre_hook(
        lambda m, a: [dist.broadcast(b, 0) for b in m.buffers()] and None
    )
    params = [p for p in reversed(list(model.parameters())) if p.requires_grad]
    buckets, size = [[]], 0
    for p in params:
        if buckets[-1] and size + p.nbytes > bucket_bytes:
            buckets.append([])
            size = 0
        buckets[-1].append(p)
        size += p.nbytes
    ready, flying = set(), []

    def advance(everything=False):
        while len(flying) < len(buckets):
            bucket = buckets[len(flying)]
            if not everything and not all(p in ready for p in bucket):
                return
            flat = torch.cat(
                [(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in bucket]
            )
            flying.append((flat, dist.all_reduce(flat, async_op=True)))

    def hook(p):
        ready.add(p)
        advance()

    for p in params:
        p.register_post_accumulate_grad_hook(hook)

    def finish():
        advance(True)
        for bucket, (flat, work) in zip(buckets, flying):
            work.wait()
            for p, piece in zip(bucket, flat.split([p.numel() for p in bucket])):
                if p.grad is not None:
                    p.grad = piece.view_as(p) / n
        flying.clear()
        ready.clear()

    return finish


# %% right="a class with flat storages, forward wrapped"
class ByHand:
    def __init__(self, model, bucket_bytes):
        self.model, self.n = model, dist.get_world_size()
        with torch.no_grad():
            for tensor in (*model.parameters(), *model.buffers()):
                dist.broadcast(tensor, src=0)
        inner = model.forward

        def forward(*args, **kwargs):
            for buffer in model.buffers():
                dist.broadcast(buffer, src=0)
            return inner(*args, **kwargs)

        model.forward = forward
        self.place, groups, filled = {}, [], 0
        for p in list(model.parameters())[::-1]:
            if not p.requires_grad:
                continue
            size = p.numel() * p.element_size()
            if not groups or filled + size > bucket_bytes:
                groups.append([])
                filled = 0
            offset = sum(q.numel() for q in groups[-1])
            self.place[p] = (len(groups) - 1, offset)
            groups[-1].append(p)
            filled += size
        self.groups = groups
        self.reset()
        for p in self.place:
            p.register_post_accumulate_grad_hook(self.arrived)

    def reset(self):
        self.flat = [
            torch.zeros(sum(p.numel() for p in g), dtype=g[0].dtype, device=g[0].device)
            for g in self.groups
        ]
        self.missing = [len(g) for g in self.groups]
        self.futures = []

    def arrived(self, p):
        bucket, offset = self.place[p]
        self.flat[bucket][offset : offset + p.numel()] = p.grad.reshape(-1)
        self.missing[bucket] -= 1
        while len(self.futures) < len(self.flat) and self.missing[len(self.futures)] == 0:
            self.send()

    def send(self):
        work = dist.all_reduce(self.flat[len(self.futures)], async_op=True)
        self.futures.append(work.get_future())

    def __call__(self):
        while len(self.futures) < len(self.flat):
            self.send()
        torch.futures.wait_all(self.futures)
        for p, (bucket, offset) in self.place.items():
            average = self.flat[bucket][offset : offset + p.numel()].view_as(p) / self.n
            if p.grad is None:
                p.grad = average
            else:
                p.grad.copy_(average)
        self.reset()


def ddp_by_hand(model, bucket_bytes):
    return ByHand(model, bucket_bytes)


# %% wrong="four bytes for a gradient's number, whatever the dtype" breaks="All have one dtype, whichever" says=["these gradients have 8 bytes an element, not 4"]
def ddp_by_hand(model, bucket_bytes):
    n = dist.get_world_size()
    for t in [*model.parameters(), *model.buffers()]:
        dist.broadcast(t.data, 0)
    model.register_forward_pre_hook(
        lambda m, a: [dist.broadcast(b, 0) for b in m.buffers()] and None
    )
    params = [p for p in reversed(list(model.parameters())) if p.requires_grad]
    buckets, size = [[]], 0
    for p in params:
        if buckets[-1] and size + 4 * p.numel() > bucket_bytes:
            buckets.append([])
            size = 0
        buckets[-1].append(p)
        size += 4 * p.numel()
    ready, flying = set(), []

    def advance(everything=False):
        while len(flying) < len(buckets):
            bucket = buckets[len(flying)]
            if not everything and not all(p in ready for p in bucket):
                return
            flat = torch.cat(
                [(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in bucket]
            )
            flying.append((flat, dist.all_reduce(flat, async_op=True)))

    def hook(p):
        ready.add(p)
        advance()

    for p in params:
        p.register_post_accumulate_grad_hook(hook)

    def finish():
        advance(True)
        for bucket, (flat, work) in zip(buckets, flying):
            work.wait()
            for p, piece in zip(bucket, flat.split([p.numel() for p in bucket])):
                p.grad = piece.view_as(p) / n
        flying.clear()
        ready.clear()

    return finish


# %% wrong="closes a bucket that is exactly full" breaks="when the next gradient would bring it above `bucket_bytes`" says=["exactly full is not above the limit yet"]
def ddp_by_hand(model, bucket_bytes):
    n = dist.get_world_size()
    for t in [*model.parameters(), *model.buffers()]:
        dist.broadcast(t.data, 0)
    model.register_forward_pre_hook(
        lambda m, a: [dist.broadcast(b, 0) for b in m.buffers()] and None
    )
    params = [p for p in reversed(list(model.parameters())) if p.requires_grad]
    buckets, size = [[]], 0
    for p in params:
        if buckets[-1] and size + p.nbytes >= bucket_bytes:
            buckets.append([])
            size = 0
        buckets[-1].append(p)
        size += p.nbytes
    ready, flying = set(), []

    def advance(everything=False):
        while len(flying) < len(buckets):
            bucket = buckets[len(flying)]
            if not everything and not all(p in ready for p in bucket):
                return
            flat = torch.cat(
                [(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in bucket]
            )
            flying.append((flat, dist.all_reduce(flat, async_op=True)))

    def hook(p):
        ready.add(p)
        advance()

    for p in params:
        p.register_post_accumulate_grad_hook(hook)

    def finish():
        advance(True)
        for bucket, (flat, work) in zip(buckets, flying):
            work.wait()
            for p, piece in zip(bucket, flat.split([p.numel() for p in bucket])):
                p.grad = piece.view_as(p) / n
        flying.clear()
        ready.clear()

    return finish


# %% wrong="looks the buffers up once" breaks="A forward may have replaced a buffer by another tensor" says=["ask the model for its buffers each time"]
def ddp_by_hand(model, bucket_bytes):
    n = dist.get_world_size()
    for t in [*model.parameters(), *model.buffers()]:
        dist.broadcast(t.data, 0)
    buffers = list(model.buffers())
    model.register_forward_pre_hook(lambda m, a: [dist.broadcast(b, 0) for b in buffers] and None)
    params = [p for p in reversed(list(model.parameters())) if p.requires_grad]
    buckets, size = [[]], 0
    for p in params:
        if buckets[-1] and size + p.nbytes > bucket_bytes:
            buckets.append([])
            size = 0
        buckets[-1].append(p)
        size += p.nbytes
    ready, flying = set(), []

    def advance(everything=False):
        while len(flying) < len(buckets):
            bucket = buckets[len(flying)]
            if not everything and not all(p in ready for p in bucket):
                return
            flat = torch.cat(
                [(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in bucket]
            )
            flying.append((flat, dist.all_reduce(flat, async_op=True)))

    def hook(p):
        ready.add(p)
        advance()

    for p in params:
        p.register_post_accumulate_grad_hook(hook)

    def finish():
        advance(True)
        for bucket, (flat, work) in zip(buckets, flying):
            work.wait()
            for p, piece in zip(bucket, flat.split([p.numel() for p in bucket])):
                p.grad = piece.view_as(p) / n
        flying.clear()
        ready.clear()

    return finish


# %% wrong="starts the first bucket early, the others in finish" breaks="a bucket is all-reduced as soon as it is complete" says=["start each as soon as it is"]
def ddp_by_hand(model, bucket_bytes):
    n = dist.get_world_size()
    for t in [*model.parameters(), *model.buffers()]:
        dist.broadcast(t.data, 0)
    model.register_forward_pre_hook(
        lambda m, a: [dist.broadcast(b, 0) for b in m.buffers()] and None
    )
    params = [p for p in reversed(list(model.parameters())) if p.requires_grad]
    buckets, size = [[]], 0
    for p in params:
        if buckets[-1] and size + p.nbytes > bucket_bytes:
            buckets.append([])
            size = 0
        buckets[-1].append(p)
        size += p.nbytes
    ready, flying = set(), []

    def advance(everything=False):
        while len(flying) < len(buckets):
            bucket = buckets[len(flying)]
            if not everything and not all(p in ready for p in bucket):
                return
            flat = torch.cat(
                [(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in bucket]
            )
            flying.append((flat, dist.all_reduce(flat, async_op=True)))

    def hook(p):
        ready.add(p)
        if not flying:
            advance()

    for p in params:
        p.register_post_accumulate_grad_hook(hook)

    def finish():
        advance(True)
        for bucket, (flat, work) in zip(buckets, flying):
            work.wait()
            for p, piece in zip(bucket, flat.split([p.numel() for p in bucket])):
                p.grad = piece.view_as(p) / n
        flying.clear()
        ready.clear()

    return finish


# %% wrong="starts early in the first step alone" says=["no all-reduce had begun"]
def ddp_by_hand(model, bucket_bytes):
    n = dist.get_world_size()
    for t in [*model.parameters(), *model.buffers()]:
        dist.broadcast(t.data, 0)
    used = []
    model.register_forward_pre_hook(
        lambda m, a: [dist.broadcast(b, 0) for b in m.buffers()] and None
    )
    params = [p for p in reversed(list(model.parameters())) if p.requires_grad]
    buckets, size = [[]], 0
    for p in params:
        if buckets[-1] and size + p.nbytes > bucket_bytes:
            buckets.append([])
            size = 0
        buckets[-1].append(p)
        size += p.nbytes
    ready, flying = set(), []

    def advance(everything=False):
        while len(flying) < len(buckets):
            bucket = buckets[len(flying)]
            if not everything and not all(p in ready for p in bucket):
                return
            flat = torch.cat(
                [(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in bucket]
            )
            flying.append((flat, dist.all_reduce(flat, async_op=True)))

    def hook(p):
        ready.add(p)
        if not used:
            advance()

    for p in params:
        p.register_post_accumulate_grad_hook(hook)

    def finish():
        advance(True)
        for bucket, (flat, work) in zip(buckets, flying):
            work.wait()
            for p, piece in zip(bucket, flat.split([p.numel() for p in bucket])):
                p.grad = piece.view_as(p) / n
        used.append(1)
        flying.clear()
        ready.clear()

    return finish


# %% wrong="buffers in training alone" breaks="in training or not" says=["in eval mode the buffer isn't rank 0's"]
def ddp_by_hand(model, bucket_bytes):
    def share(tensors):
        for tensor in tensors:
            dist.broadcast(tensor.detach(), 0)

    parameters = [p for p in model.parameters() if p.requires_grad]
    buckets, ready, started, filled = [], set(), [], 0
    for parameter in reversed(parameters):
        if not buckets or filled + parameter.nbytes > bucket_bytes:
            buckets.append([])
            filled = 0
        buckets[-1].append(parameter)
        filled += parameter.nbytes

    def start_next():
        bucket = buckets[len(started)]
        grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in bucket]
        flat = torch.cat([grad.flatten() for grad in grads])
        started.append((bucket, flat, dist.all_reduce(flat, async_op=True)))

    def note(parameter):
        ready.add(parameter)
        while len(started) < len(buckets) and ready.issuperset(buckets[len(started)]):
            start_next()

    def finish():
        while len(started) < len(buckets):
            start_next()
        for bucket, flat, work in started:
            work.wait()
            parts = (flat / dist.get_world_size()).split([p.numel() for p in bucket])
            for p, part in zip(bucket, parts, strict=True):
                p.grad = part.view_as(p)
        ready.clear()
        started.clear()

    share([*model.parameters(), *model.buffers()])
    model.register_forward_pre_hook(lambda m, _: share(m.buffers()) if m.training else None)
    for parameter in parameters:
        parameter.register_post_accumulate_grad_hook(note)
    return finish


# %% wrong="buffers that are saved alone" breaks="also buffers that `state_dict()` leaves out" says=["the buffer last.count is not rank 0's"]
def ddp_by_hand(model, bucket_bytes):
    def share(tensors):
        for tensor in tensors:
            dist.broadcast(tensor.detach(), 0)

    parameters = [p for p in model.parameters() if p.requires_grad]
    buckets, ready, started, filled = [], set(), [], 0
    for parameter in reversed(parameters):
        if not buckets or filled + parameter.nbytes > bucket_bytes:
            buckets.append([])
            filled = 0
        buckets[-1].append(parameter)
        filled += parameter.nbytes

    def start_next():
        bucket = buckets[len(started)]
        grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in bucket]
        flat = torch.cat([grad.flatten() for grad in grads])
        started.append((bucket, flat, dist.all_reduce(flat, async_op=True)))

    def note(parameter):
        ready.add(parameter)
        while len(started) < len(buckets) and ready.issuperset(buckets[len(started)]):
            start_next()

    def finish():
        while len(started) < len(buckets):
            start_next()
        for bucket, flat, work in started:
            work.wait()
            parts = (flat / dist.get_world_size()).split([p.numel() for p in bucket])
            for p, part in zip(bucket, parts, strict=True):
                p.grad = part.view_as(p)
        ready.clear()
        started.clear()

    share(model.state_dict().values())
    model.register_forward_pre_hook(
        lambda m, _: share([t for n, t in m.state_dict().items() if n in dict(m.named_buffers())])
    )
    for parameter in parameters:
        parameter.register_post_accumulate_grad_hook(note)
    return finish


# %% wrong="frozen parameters keep their own values" says=["the parameter frozen.weight is not rank 0's"]
def ddp_by_hand(model, bucket_bytes):
    def share(tensors):
        for tensor in tensors:
            dist.broadcast(tensor.detach(), 0)

    parameters = [p for p in model.parameters() if p.requires_grad]
    buckets, ready, started, filled = [], set(), [], 0
    for parameter in reversed(parameters):
        if not buckets or filled + parameter.nbytes > bucket_bytes:
            buckets.append([])
            filled = 0
        buckets[-1].append(parameter)
        filled += parameter.nbytes

    def start_next():
        bucket = buckets[len(started)]
        grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in bucket]
        flat = torch.cat([grad.flatten() for grad in grads])
        started.append((bucket, flat, dist.all_reduce(flat, async_op=True)))

    def note(parameter):
        ready.add(parameter)
        while len(started) < len(buckets) and ready.issuperset(buckets[len(started)]):
            start_next()

    def finish():
        while len(started) < len(buckets):
            start_next()
        for bucket, flat, work in started:
            work.wait()
            parts = (flat / dist.get_world_size()).split([p.numel() for p in bucket])
            for p, part in zip(bucket, parts, strict=True):
                p.grad = part.view_as(p)
        ready.clear()
        started.clear()

    share([*parameters, *model.buffers()])
    model.register_forward_pre_hook(lambda m, _: share(m.buffers()))
    for parameter in parameters:
        parameter.register_post_accumulate_grad_hook(note)
    return finish


# %% wrong="buffers after the forward" breaks="Before each forward" says=["before the second forward the buffer is not rank 0's"]
def ddp_by_hand(model, bucket_bytes):
    def share(tensors):
        for tensor in tensors:
            dist.broadcast(tensor.detach(), 0)

    parameters = [p for p in model.parameters() if p.requires_grad]
    buckets, ready, started, filled = [], set(), [], 0
    for parameter in reversed(parameters):
        if not buckets or filled + parameter.nbytes > bucket_bytes:
            buckets.append([])
            filled = 0
        buckets[-1].append(parameter)
        filled += parameter.nbytes

    def start_next():
        bucket = buckets[len(started)]
        grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in bucket]
        flat = torch.cat([grad.flatten() for grad in grads])
        started.append((bucket, flat, dist.all_reduce(flat, async_op=True)))

    def note(parameter):
        ready.add(parameter)
        while len(started) < len(buckets) and ready.issuperset(buckets[len(started)]):
            start_next()

    def finish():
        while len(started) < len(buckets):
            start_next()
        for bucket, flat, work in started:
            work.wait()
            parts = (flat / dist.get_world_size()).split([p.numel() for p in bucket])
            for p, part in zip(bucket, parts, strict=True):
                p.grad = part.view_as(p)
        ready.clear()
        started.clear()

    share([*model.parameters(), *model.buffers()])
    model.register_forward_hook(lambda m, *_: share(m.buffers()))
    for parameter in parameters:
        parameter.register_post_accumulate_grad_hook(note)
    return finish


# %% wrong="buffers of whole numbers at the start alone" says=["send all buffers, whatever their dtype"]
def ddp_by_hand(model, bucket_bytes):
    n = dist.get_world_size()
    with torch.no_grad():
        for t in [*model.parameters(), *model.buffers()]:
            dist.broadcast(t.data, 0)

    def before(module, args):
        with torch.no_grad():
            for b in model.buffers():
                if not b.is_floating_point():
                    continue
                dist.broadcast(b, 0)

    model.register_forward_pre_hook(before)
    buckets, size = [], 0
    for p in reversed([p for p in model.parameters() if p.requires_grad]):
        b = p.numel() * p.element_size()
        if not buckets or size + b > bucket_bytes:
            buckets.append([])
            size = 0
        buckets[-1].append(p)
        size += b
    ready, works = set(), []

    def start(bucket):
        flat = torch.cat(
            [(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in bucket]
        )
        works.append((bucket, flat, dist.all_reduce(flat, async_op=True)))

    def hook(p):
        ready.add(p)
        while len(works) < len(buckets) and all(q in ready for q in buckets[len(works)]):
            start(buckets[len(works)])

    for bucket in buckets:
        for p in bucket:
            p.register_post_accumulate_grad_hook(hook)

    def finish():
        while len(works) < len(buckets):
            start(buckets[len(works)])
        for bucket, flat, work in works:
            work.wait()
            flat /= n
            for p, g in zip(bucket, flat.split([p.numel() for p in bucket])):
                p.grad = g.view_as(p).clone()
        works.clear()
        ready.clear()

    return finish


# %% wrong="the average is rounded to float32" says=["right to seven digits only"]
def ddp_by_hand(model, bucket_bytes):
    n = dist.get_world_size()
    with torch.no_grad():
        for t in [*model.parameters(), *model.buffers()]:
            dist.broadcast(t.data, 0)

    def before(module, args):
        with torch.no_grad():
            for b in model.buffers():
                dist.broadcast(b, 0)

    model.register_forward_pre_hook(before)
    buckets, size = [], 0
    for p in reversed([p for p in model.parameters() if p.requires_grad]):
        b = p.numel() * p.element_size()
        if not buckets or size + b > bucket_bytes:
            buckets.append([])
            size = 0
        buckets[-1].append(p)
        size += b
    ready, works = set(), []

    def start(bucket):
        flat = torch.cat(
            [(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in bucket]
        )
        works.append((bucket, flat, dist.all_reduce(flat, async_op=True)))

    def hook(p):
        ready.add(p)
        while len(works) < len(buckets) and all(q in ready for q in buckets[len(works)]):
            start(buckets[len(works)])

    for bucket in buckets:
        for p in bucket:
            p.register_post_accumulate_grad_hook(hook)

    def finish():
        while len(works) < len(buckets):
            start(buckets[len(works)])
        for bucket, flat, work in works:
            work.wait()
            flat /= n
            for p, g in zip(bucket, flat.split([p.numel() for p in bucket])):
                p.grad = g.float().view_as(p).to(p.dtype)
        works.clear()
        ready.clear()

    return finish


# %% wrong="the number of ranks is never above two" says=["rank 0 of 3", "gradients"]
def ddp_by_hand(model, bucket_bytes):
    n = dist.get_world_size()
    with torch.no_grad():
        for t in [*model.parameters(), *model.buffers()]:
            dist.broadcast(t.data, 0)

    def before(module, args):
        with torch.no_grad():
            for b in model.buffers():
                dist.broadcast(b, 0)

    model.register_forward_pre_hook(before)
    buckets, size = [], 0
    for p in reversed([p for p in model.parameters() if p.requires_grad]):
        b = p.numel() * p.element_size()
        if not buckets or size + b > bucket_bytes:
            buckets.append([])
            size = 0
        buckets[-1].append(p)
        size += b
    ready, works = set(), []

    def start(bucket):
        flat = torch.cat(
            [(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in bucket]
        )
        works.append((bucket, flat, dist.all_reduce(flat, async_op=True)))

    def hook(p):
        ready.add(p)
        while len(works) < len(buckets) and all(q in ready for q in buckets[len(works)]):
            start(buckets[len(works)])

    for bucket in buckets:
        for p in bucket:
            p.register_post_accumulate_grad_hook(hook)

    def finish():
        while len(works) < len(buckets):
            start(buckets[len(works)])
        for bucket, flat, work in works:
            work.wait()
            flat /= min(n, 2)
            for p, g in zip(bucket, flat.split([p.numel() for p in bucket])):
                p.grad = g.view_as(p).clone()
        works.clear()
        ready.clear()

    return finish


# %% wrong="buckets from the first parameter to the last" breaks="from the last of `model.parameters()` to the first" says=["from the first parameter to the last: turn the order"]
def ddp_by_hand(model, bucket_bytes):
    n = dist.get_world_size()
    with torch.no_grad():
        for t in [*model.parameters(), *model.buffers()]:
            dist.broadcast(t.data, 0)

    def before(module, args):
        with torch.no_grad():
            for b in model.buffers():
                dist.broadcast(b, 0)

    model.register_forward_pre_hook(before)
    buckets, size = [], 0
    for p in [p for p in model.parameters() if p.requires_grad]:
        b = p.numel() * p.element_size()
        if not buckets or size + b > bucket_bytes:
            buckets.append([])
            size = 0
        buckets[-1].append(p)
        size += b
    ready, works = set(), []

    def start(bucket):
        flat = torch.cat(
            [(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in bucket]
        )
        works.append((bucket, flat, dist.all_reduce(flat, async_op=True)))

    def hook(p):
        ready.add(p)
        while len(works) < len(buckets) and all(q in ready for q in buckets[len(works)]):
            start(buckets[len(works)])

    for bucket in buckets:
        for p in bucket:
            p.register_post_accumulate_grad_hook(hook)

    def finish():
        while len(works) < len(buckets):
            start(buckets[len(works)])
        for bucket, flat, work in works:
            work.wait()
            flat /= n
            for p, g in zip(bucket, flat.split([p.numel() for p in bucket])):
                p.grad = g.view_as(p).clone()
        works.clear()
        ready.clear()

    return finish


# %% wrong="frozen parameters fill buckets" breaks="Parameters with `requires_grad`" says=["frozen parameters went into the buckets"]
def ddp_by_hand(model, bucket_bytes):
    n = dist.get_world_size()
    with torch.no_grad():
        for t in [*model.parameters(), *model.buffers()]:
            dist.broadcast(t.data, 0)

    def before(module, args):
        with torch.no_grad():
            for b in model.buffers():
                dist.broadcast(b, 0)

    model.register_forward_pre_hook(before)
    buckets, size = [], 0
    for p in reversed(list(model.parameters())):
        b = p.numel() * p.element_size()
        if not buckets or size + b > bucket_bytes:
            buckets.append([])
            size = 0
        buckets[-1].append(p)
        size += b
    ready, works = set(), []

    def start(bucket):
        flat = torch.cat(
            [(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in bucket]
        )
        works.append((bucket, flat, dist.all_reduce(flat, async_op=True)))

    def hook(p):
        ready.add(p)
        while len(works) < len(buckets) and all(q in ready for q in buckets[len(works)]):
            start(buckets[len(works)])

    for bucket in buckets:
        for p in bucket:
            if p.requires_grad:
                p.register_post_accumulate_grad_hook(hook)

    def finish():
        while len(works) < len(buckets):
            start(buckets[len(works)])
        for bucket, flat, work in works:
            work.wait()
            flat /= n
            for p, g in zip(bucket, flat.split([p.numel() for p in bucket])):
                p.grad = g.view_as(p).clone()
        works.clear()
        ready.clear()

    return finish


# %% wrong="a tied weight is sent twice" breaks="tied, frozen" says=["is one parameter, and goes along once"]
def ddp_by_hand(model, bucket_bytes):
    n = dist.get_world_size()
    with torch.no_grad():
        for t in [*model.parameters(), *model.buffers()]:
            dist.broadcast(t.data, 0)

    def before(module, args):
        with torch.no_grad():
            for b in model.buffers():
                dist.broadcast(b, 0)

    model.register_forward_pre_hook(before)
    buckets, size = [], 0
    for p in reversed(
        [p for _, p in model.named_parameters(remove_duplicate=False) if p.requires_grad]
    ):
        b = p.numel() * p.element_size()
        if not buckets or size + b > bucket_bytes:
            buckets.append([])
            size = 0
        buckets[-1].append(p)
        size += b
    ready, works = set(), []

    def start(bucket):
        flat = torch.cat(
            [(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in bucket]
        )
        works.append((bucket, flat, dist.all_reduce(flat, async_op=True)))

    def hook(p):
        ready.add(p)
        while len(works) < len(buckets) and all(q in ready for q in buckets[len(works)]):
            start(buckets[len(works)])

    for bucket in buckets:
        for p in bucket:
            p.register_post_accumulate_grad_hook(hook)

    def finish():
        while len(works) < len(buckets):
            start(buckets[len(works)])
        for bucket, flat, work in works:
            work.wait()
            flat /= n
            for p, g in zip(bucket, flat.split([p.numel() for p in bucket])):
                p.grad = g.view_as(p).clone()
        works.clear()
        ready.clear()

    return finish


# %% wrong="a bucket is closed when it is above the limit" says=["each bucket is closed one gradient too late"]
def ddp_by_hand(model, bucket_bytes):
    n = dist.get_world_size()
    with torch.no_grad():
        for t in [*model.parameters(), *model.buffers()]:
            dist.broadcast(t.data, 0)

    def before(module, args):
        with torch.no_grad():
            for b in model.buffers():
                dist.broadcast(b, 0)

    model.register_forward_pre_hook(before)
    buckets, size = [], 0
    for p in reversed([p for p in model.parameters() if p.requires_grad]):
        b = p.numel() * p.element_size()
        if not buckets or size > bucket_bytes:
            buckets.append([])
            size = 0
        buckets[-1].append(p)
        size += b
    ready, works = set(), []

    def start(bucket):
        flat = torch.cat(
            [(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in bucket]
        )
        works.append((bucket, flat, dist.all_reduce(flat, async_op=True)))

    def hook(p):
        ready.add(p)
        while len(works) < len(buckets) and all(q in ready for q in buckets[len(works)]):
            start(buckets[len(works)])

    for bucket in buckets:
        for p in bucket:
            p.register_post_accumulate_grad_hook(hook)

    def finish():
        while len(works) < len(buckets):
            start(buckets[len(works)])
        for bucket, flat, work in works:
            work.wait()
            flat /= n
            for p, g in zip(bucket, flat.split([p.numel() for p in bucket])):
                p.grad = g.view_as(p).clone()
        works.clear()
        ready.clear()

    return finish


# %% wrong="the set of ready parameters is kept from step to step" says=["are the notes of a step cleared"]
def ddp_by_hand(model, bucket_bytes):
    n = dist.get_world_size()
    with torch.no_grad():
        for t in [*model.parameters(), *model.buffers()]:
            dist.broadcast(t.data, 0)

    def before(module, args):
        with torch.no_grad():
            for b in model.buffers():
                dist.broadcast(b, 0)

    model.register_forward_pre_hook(before)
    buckets, size = [], 0
    for p in reversed([p for p in model.parameters() if p.requires_grad]):
        b = p.numel() * p.element_size()
        if not buckets or size + b > bucket_bytes:
            buckets.append([])
            size = 0
        buckets[-1].append(p)
        size += b
    ready, works = set(), []

    def start(bucket):
        flat = torch.cat(
            [(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in bucket]
        )
        works.append((bucket, flat, dist.all_reduce(flat, async_op=True)))

    def hook(p):
        ready.add(p)
        while len(works) < len(buckets) and all(q in ready for q in buckets[len(works)]):
            start(buckets[len(works)])

    for bucket in buckets:
        for p in bucket:
            p.register_post_accumulate_grad_hook(hook)

    def finish():
        while len(works) < len(buckets):
            start(buckets[len(works)])
        for bucket, flat, work in works:
            work.wait()
            flat /= n
            for p, g in zip(bucket, flat.split([p.numel() for p in bucket])):
                p.grad = g.view_as(p).clone()
        works.clear()

    return finish


# %% wrong="parameters before each forward as well" says=["parameters are sent once"]
def ddp_by_hand(model: nn.Module, bucket_bytes: int) -> Callable[[], None]:
    """Make ``model`` one of many equal copies; the function returned ends each backward."""

    def share(tensors):
        for tensor in tensors:
            dist.broadcast(tensor.detach(), 0)

    buckets, ready, started, filled = [], set(), [], 0
    for parameter in reversed([p for p in model.parameters() if p.requires_grad]):
        if not buckets or filled + parameter.nbytes > bucket_bytes:
            buckets.append([])
            filled = 0
        buckets[-1].append(parameter)
        filled += parameter.nbytes

    def start_next():
        bucket = buckets[len(started)]
        grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in bucket]
        flat = torch.cat([grad.flatten() for grad in grads])
        started.append((bucket, flat, dist.all_reduce(flat, async_op=True)))

    def note(parameter):
        ready.add(parameter)
        while len(started) < len(buckets) and ready.issuperset(buckets[len(started)]):
            start_next()

    def finish():
        while len(started) < len(buckets):
            start_next()
        for bucket, flat, work in started:
            work.wait()
            parts = (flat / dist.get_world_size()).split([p.numel() for p in bucket])
            for p, part in zip(bucket, parts, strict=True):
                p.grad = part.view_as(p)
        ready.clear()
        started.clear()

    share([*model.parameters(), *model.buffers()])
    model.register_forward_pre_hook(lambda *_: share([*model.parameters(), *model.buffers()]))
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(note)
    return finish


# %% wrong="a barrier in finish" breaks="during backward and `finish` nothing else is sent" says=["barrier was called in backward or finish"]
def ddp_by_hand(model: nn.Module, bucket_bytes: int) -> Callable[[], None]:
    """Make ``model`` one of many equal copies; the function returned ends each backward."""

    def share(tensors):
        for tensor in tensors:
            dist.broadcast(tensor.detach(), 0)

    buckets, ready, started, filled = [], set(), [], 0
    for parameter in reversed([p for p in model.parameters() if p.requires_grad]):
        if not buckets or filled + parameter.nbytes > bucket_bytes:
            buckets.append([])
            filled = 0
        buckets[-1].append(parameter)
        filled += parameter.nbytes

    def start_next():
        bucket = buckets[len(started)]
        grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in bucket]
        flat = torch.cat([grad.flatten() for grad in grads])
        started.append((bucket, flat, dist.all_reduce(flat, async_op=True)))

    def note(parameter):
        ready.add(parameter)
        while len(started) < len(buckets) and ready.issuperset(buckets[len(started)]):
            start_next()

    def finish():
        while len(started) < len(buckets):
            start_next()
        for bucket, flat, work in started:
            work.wait()
            parts = (flat / dist.get_world_size()).split([p.numel() for p in bucket])
            for p, part in zip(bucket, parts, strict=True):
                p.grad = part.view_as(p)
        dist.barrier()
        ready.clear()
        started.clear()

    share([*model.parameters(), *model.buffers()])
    model.register_forward_pre_hook(lambda *_: share(model.buffers()))
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(note)
    return finish


# %% wrong="buffers at the end, in finish" says=["broadcast was called in backward or finish"]
def ddp_by_hand(model: nn.Module, bucket_bytes: int) -> Callable[[], None]:
    """Make ``model`` one of many equal copies; the function returned ends each backward."""

    def share(tensors):
        for tensor in tensors:
            dist.broadcast(tensor.detach(), 0)

    buckets, ready, started, filled = [], set(), [], 0
    for parameter in reversed([p for p in model.parameters() if p.requires_grad]):
        if not buckets or filled + parameter.nbytes > bucket_bytes:
            buckets.append([])
            filled = 0
        buckets[-1].append(parameter)
        filled += parameter.nbytes

    def start_next():
        bucket = buckets[len(started)]
        grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in bucket]
        flat = torch.cat([grad.flatten() for grad in grads])
        started.append((bucket, flat, dist.all_reduce(flat, async_op=True)))

    def note(parameter):
        ready.add(parameter)
        while len(started) < len(buckets) and ready.issuperset(buckets[len(started)]):
            start_next()

    def finish():
        while len(started) < len(buckets):
            start_next()
        for bucket, flat, work in started:
            work.wait()
            parts = (flat / dist.get_world_size()).split([p.numel() for p in bucket])
            for p, part in zip(bucket, parts, strict=True):
                p.grad = part.view_as(p)
        share(model.buffers())
        ready.clear()
        started.clear()

    share([*model.parameters(), *model.buffers()])
    model.register_forward_pre_hook(lambda *_: share(model.buffers()))
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(note)
    return finish


# %% wrong="starts all from the last hook alone" says=["no all-reduce had begun"]
def ddp_by_hand(model: nn.Module, bucket_bytes: int) -> Callable[[], None]:
    """Make ``model`` one of many equal copies; the function returned ends each backward."""

    def share(tensors):
        for tensor in tensors:
            dist.broadcast(tensor.detach(), 0)

    buckets, ready, started, filled = [], set(), [], 0
    for parameter in reversed([p for p in model.parameters() if p.requires_grad]):
        if not buckets or filled + parameter.nbytes > bucket_bytes:
            buckets.append([])
            filled = 0
        buckets[-1].append(parameter)
        filled += parameter.nbytes

    def start_next():
        bucket = buckets[len(started)]
        grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in bucket]
        flat = torch.cat([grad.flatten() for grad in grads])
        started.append((bucket, flat, dist.all_reduce(flat, async_op=True)))

    def note(parameter):
        ready.add(parameter)
        if len(ready) == sum(map(len, buckets)):
            while len(started) < len(buckets):
                start_next()

    def finish():
        while len(started) < len(buckets):
            start_next()
        for bucket, flat, work in started:
            work.wait()
            parts = (flat / dist.get_world_size()).split([p.numel() for p in bucket])
            for p, part in zip(bucket, parts, strict=True):
                p.grad = part.view_as(p)
        ready.clear()
        started.clear()

    share([*model.parameters(), *model.buffers()])
    model.register_forward_pre_hook(lambda *_: share(model.buffers()))
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(note)
    return finish


# %% right="parameters and buffers are broadcast in one row for each dtype"
def ddp_by_hand(model: nn.Module, bucket_bytes: int) -> Callable[[], None]:
    """Make ``model`` one of many equal copies; the function returned ends each backward."""

    def share(tensors):
        groups = {}
        for tensor in tensors:
            groups.setdefault(tensor.dtype, []).append(tensor.detach())
        for group in groups.values():
            flat = torch.cat([t.flatten() for t in group])
            dist.broadcast(flat, 0)
            for t, part in zip(group, flat.split([t.numel() for t in group])):
                t.copy_(part.view_as(t))

    buckets, ready, started, filled = [], set(), [], 0
    for parameter in reversed([p for p in model.parameters() if p.requires_grad]):
        if not buckets or filled + parameter.nbytes > bucket_bytes:
            buckets.append([])
            filled = 0
        buckets[-1].append(parameter)
        filled += parameter.nbytes

    def start_next():
        bucket = buckets[len(started)]
        grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in bucket]
        flat = torch.cat([grad.flatten() for grad in grads])
        started.append((bucket, flat, dist.all_reduce(flat, async_op=True)))

    def note(parameter):
        ready.add(parameter)
        while len(started) < len(buckets) and ready.issuperset(buckets[len(started)]):
            start_next()

    def finish():
        while len(started) < len(buckets):
            start_next()
        for bucket, flat, work in started:
            work.wait()
            parts = (flat / dist.get_world_size()).split([p.numel() for p in bucket])
            for p, part in zip(bucket, parts, strict=True):
                p.grad = part.view_as(p)
        ready.clear()
        started.clear()

    share([*model.parameters(), *model.buffers()])
    model.register_forward_pre_hook(lambda *_: share(model.buffers()))
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(note)
    return finish


# %% right="divides before it sends"
def ddp_by_hand(model: nn.Module, bucket_bytes: int) -> Callable[[], None]:
    """Make ``model`` one of many equal copies; the function returned ends each backward."""

    def share(tensors):
        for tensor in tensors:
            dist.broadcast(tensor.detach(), 0)

    buckets, ready, started, filled = [], set(), [], 0
    for parameter in reversed([p for p in model.parameters() if p.requires_grad]):
        if not buckets or filled + parameter.nbytes > bucket_bytes:
            buckets.append([])
            filled = 0
        buckets[-1].append(parameter)
        filled += parameter.nbytes

    def start_next():
        bucket = buckets[len(started)]
        grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in bucket]
        flat = torch.cat([grad.flatten() for grad in grads]) / dist.get_world_size()
        started.append((bucket, flat, dist.all_reduce(flat, async_op=True)))

    def note(parameter):
        ready.add(parameter)
        while len(started) < len(buckets) and ready.issuperset(buckets[len(started)]):
            start_next()

    def finish():
        while len(started) < len(buckets):
            start_next()
        for bucket, flat, work in started:
            work.wait()
            parts = flat.split([p.numel() for p in bucket])
            for p, part in zip(bucket, parts, strict=True):
                p.grad = part.view_as(p)
        ready.clear()
        started.clear()

    share([*model.parameters(), *model.buffers()])
    model.register_forward_pre_hook(lambda *_: share(model.buffers()))
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(note)
    return finish


# %% wrong="small gradients join a larger one" breaks="a single larger gradient has a bucket to itself" says=["a gradient above the limit has a bucket to itself"]
def ddp_by_hand(model, bucket_bytes):
    world_size = dist.get_world_size()
    with torch.no_grad():
        for tensor in [*model.parameters(), *model.buffers()]:
            dist.broadcast(tensor.data, 0)

    def send_buffers(module, args):
        for buffer in model.buffers():
            dist.broadcast(buffer, 0)

    model.register_forward_pre_hook(send_buffers)

    buckets, used = [], 0
    wanted = [p for p in model.parameters() if p.requires_grad]
    for parameter in reversed(wanted):
        if buckets and used + parameter.nbytes <= bucket_bytes:
            buckets[-1].append(parameter)
            used += parameter.nbytes
        else:
            buckets.append([parameter])
            used = parameter.nbytes if parameter.nbytes <= bucket_bytes else 0

    ready, started = set(), []

    def start(bucket):
        pieces = [torch.zeros_like(p) if p.grad is None else p.grad for p in bucket]
        flat = torch.cat([piece.flatten() for piece in pieces])
        started.append((bucket, flat, dist.all_reduce(flat, async_op=True)))

    def arrived(parameter):
        ready.add(parameter)
        while len(started) < len(buckets) and ready.issuperset(buckets[len(started)]):
            start(buckets[len(started)])

    for parameter in wanted:
        parameter.register_post_accumulate_grad_hook(arrived)

    def finish():
        while len(started) < len(buckets):
            start(buckets[len(started)])
        for bucket, flat, work in started:
            work.wait()
            flat /= world_size
            for parameter, piece in zip(bucket, flat.split([p.numel() for p in bucket])):
                parameter.grad = piece.view_as(parameter).clone()
        ready.clear()
        started.clear()

    return finish


# %% wrong="one call for each parameter, each as soon as it is ready" breaks="One `all_reduce` for each bucket" says=["each gradient has a bucket to itself"]
def ddp_by_hand(model, bucket_bytes):
    world_size = dist.get_world_size()
    with torch.no_grad():
        for tensor in [*model.parameters(), *model.buffers()]:
            dist.broadcast(tensor.data, 0)

    def send_buffers(module, args):
        for buffer in model.buffers():
            dist.broadcast(buffer, 0)

    model.register_forward_pre_hook(send_buffers)

    buckets, used = [], 0
    wanted = [p for p in model.parameters() if p.requires_grad]
    for parameter in reversed(wanted):
        if buckets and False:
            buckets[-1].append(parameter)
            used += parameter.nbytes
        else:
            buckets.append([parameter])
            used = parameter.nbytes

    ready, started = set(), []

    def start(bucket):
        pieces = [torch.zeros_like(p) if p.grad is None else p.grad for p in bucket]
        flat = torch.cat([piece.flatten() for piece in pieces])
        started.append((bucket, flat, dist.all_reduce(flat, async_op=True)))

    def arrived(parameter):
        ready.add(parameter)
        while len(started) < len(buckets) and ready.issuperset(buckets[len(started)]):
            start(buckets[len(started)])

    for parameter in wanted:
        parameter.register_post_accumulate_grad_hook(arrived)

    def finish():
        while len(started) < len(buckets):
            start(buckets[len(started)])
        for bucket, flat, work in started:
            work.wait()
            flat /= world_size
            for parameter, piece in zip(bucket, flat.split([p.numel() for p in bucket])):
                parameter.grad = piece.view_as(parameter).clone()
        ready.clear()
        started.clear()

    return finish


# %% wrong="the sum is written back" breaks="is the average over all ranks" says=["is the sum, not the average"]
def ddp_by_hand(model, bucket_bytes):
    with torch.no_grad():
        for tensor in [*model.parameters(), *model.buffers()]:
            dist.broadcast(tensor.data, 0)

    def send_buffers(module, args):
        for buffer in model.buffers():
            dist.broadcast(buffer, 0)

    model.register_forward_pre_hook(send_buffers)

    buckets, used = [], 0
    wanted = [p for p in model.parameters() if p.requires_grad]
    for parameter in reversed(wanted):
        if buckets and used + parameter.nbytes <= bucket_bytes:
            buckets[-1].append(parameter)
            used += parameter.nbytes
        else:
            buckets.append([parameter])
            used = parameter.nbytes

    ready, started = set(), []

    def start(bucket):
        pieces = [torch.zeros_like(p) if p.grad is None else p.grad for p in bucket]
        flat = torch.cat([piece.flatten() for piece in pieces])
        started.append((bucket, flat, dist.all_reduce(flat, async_op=True)))

    def arrived(parameter):
        ready.add(parameter)
        while len(started) < len(buckets) and ready.issuperset(buckets[len(started)]):
            start(buckets[len(started)])

    for parameter in wanted:
        parameter.register_post_accumulate_grad_hook(arrived)

    def finish():
        while len(started) < len(buckets):
            start(buckets[len(started)])
        for bucket, flat, work in started:
            work.wait()
            for parameter, piece in zip(bucket, flat.split([p.numel() for p in bucket])):
                parameter.grad = piece.view_as(parameter).clone()
        ready.clear()
        started.clear()

    return finish


# %% wrong="counts numbers, not bytes" says=["close it before it is above the limit, which counts bytes"]
def ddp_by_hand(model, bucket_bytes):
    world_size = dist.get_world_size()
    with torch.no_grad():
        for tensor in [*model.parameters(), *model.buffers()]:
            dist.broadcast(tensor.data, 0)

    def send_buffers(module, args):
        for buffer in model.buffers():
            dist.broadcast(buffer, 0)

    model.register_forward_pre_hook(send_buffers)

    buckets, used = [], 0
    wanted = [p for p in model.parameters() if p.requires_grad]
    for parameter in reversed(wanted):
        if buckets and used + parameter.numel() <= bucket_bytes:
            buckets[-1].append(parameter)
            used += parameter.numel()
        else:
            buckets.append([parameter])
            used = parameter.numel()

    ready, started = set(), []

    def start(bucket):
        pieces = [torch.zeros_like(p) if p.grad is None else p.grad for p in bucket]
        flat = torch.cat([piece.flatten() for piece in pieces])
        started.append((bucket, flat, dist.all_reduce(flat, async_op=True)))

    def arrived(parameter):
        ready.add(parameter)
        while len(started) < len(buckets) and ready.issuperset(buckets[len(started)]):
            start(buckets[len(started)])

    for parameter in wanted:
        parameter.register_post_accumulate_grad_hook(arrived)

    def finish():
        while len(started) < len(buckets):
            start(buckets[len(started)])
        for bucket, flat, work in started:
            work.wait()
            flat /= world_size
            for parameter, piece in zip(bucket, flat.split([p.numel() for p in bucket])):
                parameter.grad = piece.view_as(parameter).clone()
        ready.clear()
        started.clear()

    return finish


# %% wrong="one bucket for all" says=["all gradients are in one bucket"]
def ddp_by_hand(model, bucket_bytes):
    world_size = dist.get_world_size()
    with torch.no_grad():
        for tensor in [*model.parameters(), *model.buffers()]:
            dist.broadcast(tensor.data, 0)

    def send_buffers(module, args):
        for buffer in model.buffers():
            dist.broadcast(buffer, 0)

    model.register_forward_pre_hook(send_buffers)

    buckets, used = [], 0
    wanted = [p for p in model.parameters() if p.requires_grad]
    for parameter in reversed(wanted):
        if buckets and True:
            buckets[-1].append(parameter)
            used += parameter.nbytes
        else:
            buckets.append([parameter])
            used = parameter.nbytes

    ready, started = set(), []

    def start(bucket):
        pieces = [torch.zeros_like(p) if p.grad is None else p.grad for p in bucket]
        flat = torch.cat([piece.flatten() for piece in pieces])
        started.append((bucket, flat, dist.all_reduce(flat, async_op=True)))

    def arrived(parameter):
        ready.add(parameter)
        while len(started) < len(buckets) and ready.issuperset(buckets[len(started)]):
            start(buckets[len(started)])

    for parameter in wanted:
        parameter.register_post_accumulate_grad_hook(arrived)

    def finish():
        while len(started) < len(buckets):
            start(buckets[len(started)])
        for bucket, flat, work in started:
            work.wait()
            flat /= world_size
            for parameter, piece in zip(bucket, flat.split([p.numel() for p in bucket])):
                parameter.grad = piece.view_as(parameter).clone()
        ready.clear()
        started.clear()

    return finish


# %% wrong="one hook starts one bucket at most" says=["start each as soon as it is", "`while`, not `if`"]
def ddp_by_hand(model, bucket_bytes):
    world = dist.get_world_size()

    def send_buffers(*_):
        for buffer in model.buffers():
            dist.broadcast(buffer, 0)

    for parameter in model.parameters():
        dist.broadcast(parameter.data, 0)
    send_buffers()
    model.register_forward_pre_hook(send_buffers)

    buckets, size = [], 0
    for parameter in reversed([p for p in model.parameters() if p.requires_grad]):
        nbytes = parameter.numel() * parameter.element_size()
        if not buckets or size + nbytes > bucket_bytes:
            buckets.append([])
            size = 0
        buckets[-1].append(parameter)
        size += nbytes
    ready, started = set(), []

    def start():
        parts = []
        for p in buckets[len(started)]:
            grad = torch.zeros_like(p) if p.grad is None else p.grad
            parts.append(grad.reshape(-1))
        flat = torch.cat(parts)
        started.append((dist.all_reduce(flat, async_op=True), flat))

    def hook(parameter):
        ready.add(parameter)
        if len(started) < len(buckets) and all(p in ready for p in buckets[len(started)]):
            start()

    for bucket in buckets:
        for parameter in bucket:
            parameter.register_post_accumulate_grad_hook(hook)

    def finish():
        while len(started) < len(buckets):
            start()
        for bucket, (work, flat) in zip(buckets, started, strict=True):
            work.wait()
            flat /= world
            for p, piece in zip(bucket, flat.split([p.numel() for p in bucket]), strict=True):
                p.grad = piece.view_as(p).clone()
        ready.clear()
        started.clear()

    return finish


# %% wrong="buffers travel as float32" says=["the buffer last.count was rounded"]
def ddp_by_hand(model, bucket_bytes):
    world = dist.get_world_size()

    def send_buffers():
        for buffer in model.buffers():
            moved = buffer.float()
            dist.broadcast(moved, 0)
            buffer.copy_(moved)

    for parameter in model.parameters():
        dist.broadcast(parameter.data, 0)
    send_buffers()
    model.register_forward_pre_hook(lambda module, args: send_buffers())
    trained = [p for p in model.parameters() if p.requires_grad][::-1]
    buckets, size = [], 0
    for p in trained:
        if not buckets or size + p.nbytes > bucket_bytes:
            buckets.append([])
            size = 0
        buckets[-1].append(p)
        size += p.nbytes
    ready, works = set(), []

    def start():
        bucket = buckets[len(works)]
        parts = [torch.zeros_like(p) if p.grad is None else p.grad for p in bucket]
        flat = torch.cat([part.reshape(-1) for part in parts])
        works.append((dist.all_reduce(flat, async_op=True), flat))

    def hook(p):
        ready.add(p)
        while len(works) < len(buckets) and all(q in ready for q in buckets[len(works)]):
            start()

    for p in trained:
        p.register_post_accumulate_grad_hook(hook)

    def finish():
        while len(works) < len(buckets):
            start()
        for bucket, (work, flat) in zip(buckets, works):
            work.wait()
            flat /= world
            for p, piece in zip(bucket, flat.split([p.numel() for p in bucket])):
                p.grad = piece.view(p.shape)
        ready.clear()
        works.clear()

    return finish


# %% wrong="the outermost module's buffers" says=["the buffer last.count is not rank 0's"]
def ddp_by_hand(model, bucket_bytes):
    world = dist.get_world_size()

    def send_buffers():
        for buffer in model.buffers(recurse=False):
            dist.broadcast(buffer, 0)

    for parameter in model.parameters():
        dist.broadcast(parameter.data, 0)
    send_buffers()
    model.register_forward_pre_hook(lambda module, args: send_buffers())
    trained = [p for p in model.parameters() if p.requires_grad][::-1]
    buckets, size = [], 0
    for p in trained:
        if not buckets or size + p.nbytes > bucket_bytes:
            buckets.append([])
            size = 0
        buckets[-1].append(p)
        size += p.nbytes
    ready, works = set(), []

    def start():
        bucket = buckets[len(works)]
        parts = [torch.zeros_like(p) if p.grad is None else p.grad for p in bucket]
        flat = torch.cat([part.reshape(-1) for part in parts])
        works.append((dist.all_reduce(flat, async_op=True), flat))

    def hook(p):
        ready.add(p)
        while len(works) < len(buckets) and all(q in ready for q in buckets[len(works)]):
            start()

    for p in trained:
        p.register_post_accumulate_grad_hook(hook)

    def finish():
        while len(works) < len(buckets):
            start()
        for bucket, (work, flat) in zip(buckets, works):
            work.wait()
            flat /= world
            for p, piece in zip(bucket, flat.split([p.numel() for p in bucket])):
                p.grad = piece.view(p.shape)
        ready.clear()
        works.clear()

    return finish


# %% wrong="zeros in float32" says=["the ranks' calls do not fit each other"]
def ddp_by_hand(model, bucket_bytes):
    world = dist.get_world_size()

    def send_buffers():
        for buffer in model.buffers():
            dist.broadcast(buffer, 0)

    for parameter in model.parameters():
        dist.broadcast(parameter.data, 0)
    send_buffers()
    model.register_forward_pre_hook(lambda module, args: send_buffers())
    trained = [p for p in model.parameters() if p.requires_grad][::-1]
    buckets, size = [], 0
    for p in trained:
        if not buckets or size + p.nbytes > bucket_bytes:
            buckets.append([])
            size = 0
        buckets[-1].append(p)
        size += p.nbytes
    ready, works = set(), []

    def start():
        bucket = buckets[len(works)]
        parts = [
            torch.zeros(p.shape, device=p.device) if p.grad is None else p.grad for p in bucket
        ]
        flat = torch.cat([part.reshape(-1) for part in parts])
        works.append((dist.all_reduce(flat, async_op=True), flat))

    def hook(p):
        ready.add(p)
        while len(works) < len(buckets) and all(q in ready for q in buckets[len(works)]):
            start()

    for p in trained:
        p.register_post_accumulate_grad_hook(hook)

    def finish():
        while len(works) < len(buckets):
            start()
        for bucket, (work, flat) in zip(buckets, works):
            work.wait()
            flat /= world
            for p, piece in zip(bucket, flat.split([p.numel() for p in bucket])):
                p.grad = piece.view(p.shape)
        ready.clear()
        works.clear()

    return finish


# %% wrong="notes shared by all models" says=["two models don't work at once"]
ready, works = set(), []


def ddp_by_hand(model: nn.Module, bucket_bytes: int) -> Callable[[], None]:
    n = dist.get_world_size()

    def share(tensors):
        for tensor in tensors:
            dist.broadcast(tensor.detach(), 0)

    def before(module, args):
        share(module.buffers())

    share(model.parameters())
    share(model.buffers())
    model.register_forward_pre_hook(before)
    buckets, size = [], 0
    for p in reversed(list(model.parameters())):
        if not p.requires_grad:
            continue
        if not buckets or size + p.nbytes > bucket_bytes:
            buckets.append([])
            size = 0
        buckets[-1].append(p)
        size += p.nbytes

    def start():
        parts = [torch.zeros_like(p) if p.grad is None else p.grad for p in buckets[len(works)]]
        flat = torch.cat([part.reshape(-1) for part in parts])
        works.append((flat, dist.all_reduce(flat, async_op=True)))

    def hook(p):
        ready.add(p)
        while len(works) < len(buckets) and all(q in ready for q in buckets[len(works)]):
            start()

    for bucket in buckets:
        for p in bucket:
            p.register_post_accumulate_grad_hook(hook)

    def finish():
        while len(works) < len(buckets):
            start()
        for bucket, (flat, work) in zip(buckets, works, strict=True):
            work.wait()
            pieces = (flat / n).split([p.numel() for p in bucket])
            for p, piece in zip(bucket, pieces, strict=True):
                p.grad = piece.view_as(p)
        ready.clear()
        works.clear()

    return finish


# %% wrong="hides a NaN" breaks="is the average over all ranks" says=["the average hides it"]
def ddp_by_hand(model: nn.Module, bucket_bytes: int) -> Callable[[], None]:
    n = dist.get_world_size()
    ready, works = set(), []

    def share(tensors):
        for tensor in tensors:
            dist.broadcast(tensor.detach(), 0)

    def before(module, args):
        share(module.buffers())

    share(model.parameters())
    share(model.buffers())
    model.register_forward_pre_hook(before)
    buckets, size = [], 0
    for p in reversed(list(model.parameters())):
        if not p.requires_grad:
            continue
        if not buckets or size + p.nbytes > bucket_bytes:
            buckets.append([])
            size = 0
        buckets[-1].append(p)
        size += p.nbytes

    def start():
        parts = [torch.zeros_like(p) if p.grad is None else p.grad for p in buckets[len(works)]]
        flat = torch.cat([part.reshape(-1) for part in parts])
        works.append((flat, dist.all_reduce(flat, async_op=True)))

    def hook(p):
        ready.add(p)
        while len(works) < len(buckets) and all(q in ready for q in buckets[len(works)]):
            start()

    for bucket in buckets:
        for p in bucket:
            p.register_post_accumulate_grad_hook(hook)

    def finish():
        while len(works) < len(buckets):
            start()
        for bucket, (flat, work) in zip(buckets, works, strict=True):
            work.wait()
            pieces = (flat / n).split([p.numel() for p in bucket])
            for p, piece in zip(bucket, pieces, strict=True):
                p.grad = piece.view_as(p).nan_to_num()
        ready.clear()
        works.clear()

    return finish


# %% wrong="clips what is large" breaks="is the average over all ranks" says=["was it clipped"]
def ddp_by_hand(model: nn.Module, bucket_bytes: int) -> Callable[[], None]:
    n = dist.get_world_size()
    ready, works = set(), []

    def share(tensors):
        for tensor in tensors:
            dist.broadcast(tensor.detach(), 0)

    def before(module, args):
        share(module.buffers())

    share(model.parameters())
    share(model.buffers())
    model.register_forward_pre_hook(before)
    buckets, size = [], 0
    for p in reversed(list(model.parameters())):
        if not p.requires_grad:
            continue
        if not buckets or size + p.nbytes > bucket_bytes:
            buckets.append([])
            size = 0
        buckets[-1].append(p)
        size += p.nbytes

    def start():
        parts = [torch.zeros_like(p) if p.grad is None else p.grad for p in buckets[len(works)]]
        flat = torch.cat([part.reshape(-1) for part in parts])
        works.append((flat, dist.all_reduce(flat, async_op=True)))

    def hook(p):
        ready.add(p)
        while len(works) < len(buckets) and all(q in ready for q in buckets[len(works)]):
            start()

    for bucket in buckets:
        for p in bucket:
            p.register_post_accumulate_grad_hook(hook)

    def finish():
        while len(works) < len(buckets):
            start()
        for bucket, (flat, work) in zip(buckets, works, strict=True):
            work.wait()
            pieces = (flat / n).split([p.numel() for p in bucket])
            for p, piece in zip(bucket, pieces, strict=True):
                p.grad = piece.view_as(p).clamp(-10, 10)
        ready.clear()
        works.clear()

    return finish


# %% wrong="no buffers in inference mode" breaks="Before each forward" says=["torch.inference_mode()"]
def ddp_by_hand(model: nn.Module, bucket_bytes: int) -> Callable[[], None]:
    n = dist.get_world_size()
    ready, works = set(), []

    def share(tensors):
        for tensor in tensors:
            dist.broadcast(tensor.detach(), 0)

    def before(module, args):
        share([] if torch.is_inference_mode_enabled() else module.buffers())

    share(model.parameters())
    share(model.buffers())
    model.register_forward_pre_hook(before)
    buckets, size = [], 0
    for p in reversed(list(model.parameters())):
        if not p.requires_grad:
            continue
        if not buckets or size + p.nbytes > bucket_bytes:
            buckets.append([])
            size = 0
        buckets[-1].append(p)
        size += p.nbytes

    def start():
        parts = [torch.zeros_like(p) if p.grad is None else p.grad for p in buckets[len(works)]]
        flat = torch.cat([part.reshape(-1) for part in parts])
        works.append((flat, dist.all_reduce(flat, async_op=True)))

    def hook(p):
        ready.add(p)
        while len(works) < len(buckets) and all(q in ready for q in buckets[len(works)]):
            start()

    for bucket in buckets:
        for p in bucket:
            p.register_post_accumulate_grad_hook(hook)

    def finish():
        while len(works) < len(buckets):
            start()
        for bucket, (flat, work) in zip(buckets, works, strict=True):
            work.wait()
            pieces = (flat / n).split([p.numel() for p in bucket])
            for p, piece in zip(bucket, pieces, strict=True):
                p.grad = piece.view_as(p)
        ready.clear()
        works.clear()

    return finish


# %% wrong="buffers of no dimension only" breaks="Before each forward" says=["a buffer of two dimensions"]
def ddp_by_hand(model: nn.Module, bucket_bytes: int) -> Callable[[], None]:
    n = dist.get_world_size()
    ready, works = set(), []

    def share(tensors):
        for tensor in tensors:
            dist.broadcast(tensor.detach(), 0)

    def before(module, args):
        share(b for b in module.buffers() if b.dim() == 0)

    share(model.parameters())
    share(model.buffers())
    model.register_forward_pre_hook(before)
    buckets, size = [], 0
    for p in reversed(list(model.parameters())):
        if not p.requires_grad:
            continue
        if not buckets or size + p.nbytes > bucket_bytes:
            buckets.append([])
            size = 0
        buckets[-1].append(p)
        size += p.nbytes

    def start():
        parts = [torch.zeros_like(p) if p.grad is None else p.grad for p in buckets[len(works)]]
        flat = torch.cat([part.reshape(-1) for part in parts])
        works.append((flat, dist.all_reduce(flat, async_op=True)))

    def hook(p):
        ready.add(p)
        while len(works) < len(buckets) and all(q in ready for q in buckets[len(works)]):
            start()

    for bucket in buckets:
        for p in bucket:
            p.register_post_accumulate_grad_hook(hook)

    def finish():
        while len(works) < len(buckets):
            start()
        for bucket, (flat, work) in zip(buckets, works, strict=True):
            work.wait()
            pieces = (flat / n).split([p.numel() for p in bucket])
            for p, piece in zip(bucket, pieces, strict=True):
                p.grad = piece.view_as(p)
        ready.clear()
        works.clear()

    return finish


# %% wrong="learns in the first step which parameters a rank uses" breaks="a rank that did not use it counts as zero" says=["step 1", "in step 0 it was right"]
def ddp_by_hand(model, bucket_bytes):
    n, ready, started, used = dist.get_world_size(), set(), [], {}

    def share(*_):
        for buffer in model.buffers():
            dist.broadcast(buffer.detach(), 0)

    for parameter in model.parameters():
        dist.broadcast(parameter.detach(), 0)
    share()
    model.register_forward_pre_hook(share)
    buckets, size = [], 0
    for p in reversed([p for p in model.parameters() if p.requires_grad]):
        if not buckets or size + p.nbytes > bucket_bytes:
            buckets.append([])
            size = 0
        buckets[-1].append(p)
        size += p.nbytes

    def start():
        bucket = buckets[len(started)]
        grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in bucket]
        for p in bucket:
            used.setdefault(p, p.grad is not None)
        grads = [g if used[p] else torch.zeros_like(p) for p, g in zip(bucket, grads, strict=True)]
        flat = torch.cat([g.flatten() for g in grads])
        started.append((bucket, flat, dist.all_reduce(flat, async_op=True)))

    def note(p):
        ready.add(p)
        while len(started) < len(buckets) and ready.issuperset(buckets[len(started)]):
            start()

    def finish():
        while len(started) < len(buckets):
            start()
        for bucket, flat, work in started:
            work.wait()
            for p, part in zip(bucket, (flat / n).split([p.numel() for p in bucket]), strict=True):
                p.grad = part.view_as(p)
        ready.clear()
        started.clear()

    for p in model.parameters():
        if p.requires_grad:
            p.register_post_accumulate_grad_hook(note)
    return finish


# %% wrong="an empty bucket before a first gradient that is too large" breaks="a single larger gradient has a bucket to itself" says=["a bucket is empty"]
def ddp_by_hand(model, bucket_bytes):
    n, ready, started = dist.get_world_size(), set(), []

    def share(*_):
        for buffer in model.buffers():
            dist.broadcast(buffer.detach(), 0)

    for parameter in model.parameters():
        dist.broadcast(parameter.detach(), 0)
    share()
    model.register_forward_pre_hook(share)
    buckets, size, like = [[]], 0, next(model.parameters()).detach()
    for p in reversed([p for p in model.parameters() if p.requires_grad]):
        if size + p.nbytes > bucket_bytes:
            buckets.append([])
            size = 0
        buckets[-1].append(p)
        size += p.nbytes

    def start():
        bucket = buckets[len(started)]
        grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in bucket]
        flat = torch.cat([like.new_zeros(0), *(g.flatten() for g in grads)])
        started.append((bucket, flat, dist.all_reduce(flat, async_op=True)))

    def note(p):
        ready.add(p)
        while len(started) < len(buckets) and ready.issuperset(buckets[len(started)]):
            start()

    def finish():
        while len(started) < len(buckets):
            start()
        for bucket, flat, work in started:
            work.wait()
            for p, part in zip(bucket, (flat / n).split([p.numel() for p in bucket]), strict=True):
                p.grad = part.view_as(p)
        ready.clear()
        started.clear()

    for p in model.parameters():
        if p.requires_grad:
            p.register_post_accumulate_grad_hook(note)
    return finish


# %% wrong="sends a buffer only where it is another tensor than before" breaks="Before each forward" says=["the buffer `last.count`, of whole numbers, is not rank 0's"]
def ddp_by_hand(model, bucket_bytes):
    n, ready, started, last = dist.get_world_size(), set(), [], {}

    def share(*_):
        for name, buffer in model.named_buffers():
            if last.get(name) is not buffer:
                dist.broadcast(buffer.detach(), 0)
            last[name] = buffer

    for parameter in model.parameters():
        dist.broadcast(parameter.detach(), 0)
    for buffer in model.buffers():
        dist.broadcast(buffer.detach(), 0)
    model.register_forward_pre_hook(share)
    buckets, size = [], 0
    for p in reversed([p for p in model.parameters() if p.requires_grad]):
        if not buckets or size + p.nbytes > bucket_bytes:
            buckets.append([])
            size = 0
        buckets[-1].append(p)
        size += p.nbytes

    def start():
        bucket = buckets[len(started)]
        grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in bucket]
        flat = torch.cat([g.flatten() for g in grads])
        started.append((bucket, flat, dist.all_reduce(flat, async_op=True)))

    def note(p):
        ready.add(p)
        while len(started) < len(buckets) and ready.issuperset(buckets[len(started)]):
            start()

    def finish():
        while len(started) < len(buckets):
            start()
        for bucket, flat, work in started:
            work.wait()
            for p, part in zip(bucket, (flat / n).split([p.numel() for p in bucket]), strict=True):
                p.grad = part.view_as(p)
        ready.clear()
        started.clear()

    for p in model.parameters():
        if p.requires_grad:
            p.register_post_accumulate_grad_hook(note)
    return finish


# %% wrong="an average of zeros is taken for nobody's" breaks="is the average over all ranks" says=["the ranks' gradients of a bias cancel, their average is 0"]
def ddp_by_hand(model, bucket_bytes):
    world = dist.get_world_size()
    for tensor in (*model.parameters(), *model.buffers()):
        dist.broadcast(tensor.detach(), 0)

    def send_buffers(*_):
        for buffer in model.buffers():
            dist.broadcast(buffer, 0)

    model.register_forward_pre_hook(send_buffers)
    buckets = []
    for p in reversed(list(model.parameters())):
        if p.requires_grad:
            if not buckets or sum(q.nbytes for q in buckets[-1]) + p.nbytes > bucket_bytes:
                buckets.append([])
            buckets[-1].append(p)
    missing, works = [len(b) for b in buckets], []
    where = {p: i for i, b in enumerate(buckets) for p in b}

    def start():
        flat = torch.cat(
            [
                (torch.zeros_like(p) if p.grad is None else p.grad).reshape(-1)
                for p in buckets[len(works)]
            ]
        )
        works.append((flat, dist.all_reduce(flat, async_op=True)))

    def hook(p):
        missing[where[p]] -= 1
        while len(works) < len(buckets) and missing[len(works)] == 0:
            start()

    for p in where:
        p.register_post_accumulate_grad_hook(hook)

    def finish():
        while len(works) < len(buckets):
            start()
        for bucket, (flat, work) in zip(buckets, works):
            work.wait()
            for p, part in zip(bucket, (flat / world).split([p.numel() for p in bucket])):
                if part.any():
                    p.grad = part.view_as(p)
        missing[:] = [len(b) for b in buckets]
        works.clear()

    return finish


# %% wrong="puts every part into training" breaks="the modes stay as they are" says=["the mode of frozen was changed"]
def ddp_by_hand(model, bucket_bytes):
    world = dist.get_world_size()
    model.train()  # training begins
    for tensor in (*model.parameters(), *model.buffers()):
        dist.broadcast(tensor.detach(), 0)

    def send_buffers(*_):
        for buffer in model.buffers():
            dist.broadcast(buffer, 0)

    model.register_forward_pre_hook(send_buffers)
    buckets = []
    for p in reversed(list(model.parameters())):
        if p.requires_grad:
            if not buckets or sum(q.nbytes for q in buckets[-1]) + p.nbytes > bucket_bytes:
                buckets.append([])
            buckets[-1].append(p)
    missing, works = [len(b) for b in buckets], []
    where = {p: i for i, b in enumerate(buckets) for p in b}

    def start():
        flat = torch.cat(
            [
                (torch.zeros_like(p) if p.grad is None else p.grad).reshape(-1)
                for p in buckets[len(works)]
            ]
        )
        works.append((flat, dist.all_reduce(flat, async_op=True)))

    def hook(p):
        missing[where[p]] -= 1
        while len(works) < len(buckets) and missing[len(works)] == 0:
            start()

    for p in where:
        p.register_post_accumulate_grad_hook(hook)

    def finish():
        while len(works) < len(buckets):
            start()
        for bucket, (flat, work) in zip(buckets, works):
            work.wait()
            for p, part in zip(bucket, (flat / world).split([p.numel() for p in bucket])):
                p.grad = part.view_as(p)
        missing[:] = [len(b) for b in buckets]
        works.clear()

    return finish


# %% wrong="a flat tensor is kept, with the step before" says=["is its part of step 0 left?"]
class Bucket:
    def __init__(self, parameters):
        self.parameters, self.work = parameters, None
        first = parameters[0]
        self.flat = torch.zeros(
            sum(p.numel() for p in parameters), dtype=first.dtype, device=first.device
        )
        self.pieces = [
            piece.view(p.shape)
            for p, piece in zip(parameters, self.flat.split([p.numel() for p in parameters]))
        ]
        self.missing = len(parameters)

    def put(self, parameter):
        for p, piece in zip(self.parameters, self.pieces):
            if p is parameter:
                piece.copy_(p.grad)
                self.missing -= 1

    def start(self):
        self.work = dist.all_reduce(self.flat, async_op=True)

    def end(self):
        self.work.wait()
        for p, piece in zip(self.parameters, self.pieces):
            p.grad = piece / dist.get_world_size()
        self.work, self.missing = None, len(self.parameters)


def ddp_by_hand(model, bucket_bytes):
    @torch.no_grad()
    def spread(tensors):
        for tensor in tensors:
            sent = tensor.clone(memory_format=torch.contiguous_format)
            dist.broadcast(sent, src=0)
            tensor.copy_(sent)

    spread([*model.parameters(), *model.buffers()])
    model.register_forward_pre_hook(lambda module, inputs: spread(list(module.buffers())))

    queue, group, room = [], [], bucket_bytes
    for p in list(model.parameters())[::-1]:
        if p.requires_grad:
            if group and p.nbytes > room:
                queue.append(Bucket(group))
                group, room = [], bucket_bytes
            group.append(p)
            room -= p.nbytes
    if group:
        queue.append(Bucket(group))
    home = {p: bucket for bucket in queue for p in bucket.parameters}

    def arrived(p):
        with torch.no_grad():
            home[p].put(p)
        for bucket in queue:
            if bucket.work is None:
                if bucket.missing:
                    return
                bucket.start()

    for p in home:
        p.register_post_accumulate_grad_hook(arrived)

    def finish():
        for bucket in queue:
            if bucket.work is None:
                bucket.start()
        for bucket in queue:
            bucket.end()

    return finish
