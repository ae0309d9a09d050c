# %% [markdown]
# Rules:
#
# - "not equally many on all ranks"
# - "as a `float`"
# - "with all its digits"
# - "of all numbers of *all* ranks"
# - "text that `float` refuses (`"six"`) counts as nothing"
# - "what it accepts counts"
# - "`"inf"`"
# - "`"nan"`"
# - "some perhaps empty"
# - "and stays as it is"
# - "Rank `r` reads `batches[r]` only"
# - "Rank 0 alone appends the total to `saved`, once"
# - "appends the total to `saved`"
# - "no rank returns before that"
#
# Admits:
#
# - "some perhaps empty": [[], ["five"
# - "`"1e2"`": "1e2"
# - "`"inf"`": ["3", "inf"]
# - "`"nan"`": ["nan", "3"]

# %% wrong="skips the collective of bad text" breaks="not equally many on all ranks" says=["was in all_reduce"]
def clinic_repair(rank, world_size, batches, saved):
    total = 0.0
    for text in batches[rank]:
        value = torch.zeros(1, device=rank_device())
        try:
            value += float(text)
        except ValueError:
            continue
        dist.all_reduce(value)
        total += value.item()
    if rank == 0:
        saved.append(total)
    dist.barrier()
    return total


# %% wrong="reads all batches on every rank" breaks="Rank `r` reads `batches[r]` only" says=["read your own, and add up over the ranks"]
def clinic_repair(rank, world_size, batches, saved):
    total = 0.0
    for mine in batches:
        for text in mine:
            try:
                total += float(text)
            except ValueError:
                pass
    if rank == 0:
        saved.append(total)
    return total


# %% wrong="the barrier stays in the branch" says=["was in barrier"]
def clinic_repair(rank, world_size, batches, saved):
    own = 0.0
    for text in batches[rank]:
        try:
            own += float(text)
        except ValueError:
            pass
    total = torch.tensor([own], device=rank_device())
    dist.all_reduce(total)
    if rank == 0:
        saved.append(total.item())
        dist.barrier()
    return total.item()


# %% wrong="every rank saves" breaks="Rank 0 alone appends the total to `saved`, once" says=["rank 0 alone saves the total, once, whatever is there already"]
def clinic_repair(rank, world_size, batches, saved):
    own = 0.0
    for text in batches[rank]:
        try:
            own += float(text)
        except ValueError:
            pass
    total = torch.tensor([own], device=rank_device())
    dist.all_reduce(total)
    saved.append(total.item())
    dist.barrier()
    return total.item()


# %% wrong="stops at the first bad text, each keeps its own sum" says=["the total over all ranks"]
def clinic_repair(rank, world_size, batches, saved):
    total = 0.0
    try:
        for text in batches[rank]:
            total += float(text)
    except ValueError:
        pass
    dist.barrier()
    if rank == 0:
        saved.append(total)
    dist.barrier()
    return total


# %% right="round by round, as before"
def clinic_repair(rank, world_size, batches, saved):
    rounds = torch.tensor([len(batches[rank])], device=rank_device())
    dist.all_reduce(rounds, dist.ReduceOp.MAX)
    total, mine = (
        0.0,
        list(reversed([text for text in (batches[rank][k] for k in range(len(batches[rank])))])),
    )
    for _ in range(rounds.item()):
        value = torch.zeros(1, dtype=torch.float64, device=rank_device())
        if mine:
            try:
                value += float(mine.pop())
            except ValueError:
                pass
        dist.all_reduce(value)
        total += value.item()
    if rank == 0:
        saved.append(total)
    dist.barrier()
    return total


# %% right="objects are gathered"
def clinic_repair(rank, world_size, batches, saved):
    def number(text):
        try:
            return float(text)
        except ValueError:
            return 0.0

    sums = [None] * world_size
    dist.all_gather_object(sums, sum(map(number, batches[rank])))
    total = float(sum(sums))
    if rank == 0:
        saved.append(total)
    dist.barrier()
    return total


# %% wrong="forgets that rank 1 must wait" breaks="no rank returns before that" says=["another rank had returned before rank 0 saved"]
def clinic_repair(rank, world_size, batches, saved):
    total = torch.zeros(1, dtype=torch.float64, device=rank_device())
    for text in batches[rank]:
        try:
            total += float(text)
        except ValueError:
            continue
    dist.all_reduce(total)
    if rank == 0:
        saved.append(total.item())
    return total.item()


# %% wrong="stops at the first bad text" breaks="text that `float` refuses (`\"six\"`) counts as nothing" says=["continue with the next"]
def clinic_repair(rank, world_size, batches, saved):
    total = torch.zeros(1, device=rank_device())
    try:
        for text in batches[rank]:
            total += float(text)
    except ValueError:
        pass
    dist.all_reduce(total)
    if rank == 0:
        saved.append(total.item())
    dist.barrier()
    return total.item()


# %% wrong="isdigit instead of float" breaks="what it accepts counts" says=["could not convert string to float: '²'"]
def clinic_repair(rank, world_size, batches, saved):
    total = torch.zeros(1, device=rank_device())
    for text in batches[rank]:
        if text.isdigit():
            total += float(text)
    dist.all_reduce(total)
    if rank == 0:
        saved.append(total.item())
    dist.barrier()
    return total.item()


# %% right="rank 0 sums and broadcasts after it has saved"
def clinic_repair(rank, world_size, batches, saved):
    mine = 0.0
    for text in batches[rank]:
        try:
            mine += float(text)
        except ValueError:
            mine += 0.0
    value = torch.tensor([mine], dtype=torch.float64, device=rank_device())
    dist.reduce(value, 0)
    if rank == 0:
        saved.append(value.item())
    dist.broadcast(value, 0)
    return value.item()


# %% wrong="digits, a sign and a point instead of float" says=["let float decide"]
def clinic_repair(rank, world_size, batches, saved):
    total = torch.zeros(1, device=rank_device())
    for text in batches[rank]:
        if text.lstrip("-").replace(".", "", 1).isdecimal():
            total += float(text)
    dist.all_reduce(total)
    if rank == 0:
        saved.append(total.item())
    dist.barrier()
    return total.item()


# %% wrong="adds up in float32" says=["it was rounded to float32"]
def clinic_repair(rank, world_size, batches, saved):
    own = 0.0
    for text in batches[rank]:
        try:
            own += float(text)
        except ValueError:
            continue
    total = torch.tensor([own], device=rank_device())
    dist.all_reduce(total)
    if rank == 0:
        saved.append(total.item())
    dist.barrier()
    return total.item()


# %% wrong="leaves out what isn't finite" breaks="`\"inf\"`" says=["float accepts 'inf'"]
def clinic_repair(rank, world_size, batches, saved):
    own = 0.0
    for text in batches[rank]:
        try:
            value = float(text)
        except ValueError:
            continue
        own += value if abs(value) < float("inf") else 0.0
    parts = [None] * world_size
    dist.all_gather_object(parts, own)
    if rank == 0:
        saved.append(sum(parts))
    dist.barrier()
    return sum(parts)


# %% wrong="a whole number as an int" breaks="as a `float`" says=["is an int: return a float"]
def clinic_repair(rank, world_size, batches, saved):
    own = 0.0
    for text in batches[rank]:
        try:
            own += float(text)
        except ValueError:
            continue
    parts = [None] * world_size
    dist.all_gather_object(parts, own)
    total = sum(parts)
    total = int(total) if total % 1 == 0 else total
    if rank == 0:
        saved.append(total)
    dist.barrier()
    return total


# %% wrong="saves its own sum, before the others' came" breaks="of all numbers of *all* ranks" says=["rank 0 alone saves the total"]
def clinic_repair(rank, world_size, batches, saved):
    own = 0.0
    for text in batches[rank]:
        try:
            own += float(text)
        except ValueError:
            continue
    if rank == 0:
        saved.append(own)
    total = torch.tensor([own], dtype=torch.float64, device=rank_device())
    dist.all_reduce(total)
    return total.item()


# %% wrong="leaves nan out" breaks="`\"nan\"`" says=["float accepts 'nan' as well"]
def clinic_repair(rank, world_size, batches, saved):
    own = 0.0
    for text in batches[rank]:
        try:
            value = float(text)
        except ValueError:
            continue
        if value == value:
            own += value
    total = torch.tensor([own], dtype=torch.float64, device=rank_device())
    dist.all_reduce(total)
    if rank == 0:
        saved.append(total.item())
    dist.barrier()
    return total.item()


# %% wrong="numbers by a pattern that knows inf alone" says=["float accepts 'inf' and ' -Infinity' as well"]
import re


def clinic_repair(rank, world_size, batches, saved):
    own = 0.0
    for text in batches[rank]:
        if re.fullmatch(r"\s*[+-]?(\d[\d_]*\.?\d*|\.\d+)([eE][+-]?\d+)?\s*|inf", text):
            own += float(text)
    total = torch.tensor([own], dtype=torch.float64, device=rank_device())
    dist.all_reduce(total)
    if rank == 0:
        saved.append(total.item())
    dist.barrier()
    return total.item()


# %% wrong="rounds the total" breaks="with all its digits" says=["it was rounded"]
def clinic_repair(rank, world_size, batches, saved):
    own = 0.0
    for text in batches[rank]:
        try:
            own += float(text)
        except ValueError:
            continue
    total = torch.tensor([own], dtype=torch.float64, device=rank_device())
    dist.all_reduce(total)
    total = round(total.item(), 6)
    if rank == 0:
        saved.append(total)
    dist.barrier()
    return total


# %% wrong="takes the texts out of the caller's list" breaks="and stays as it is" says=["`batches` was changed"]
def clinic_repair(rank, world_size, batches, saved):
    own = 0.0
    mine = batches[rank]
    while mine:
        try:
            own += float(mine.pop())
        except ValueError:
            continue
    total = torch.tensor([own], dtype=torch.float64, device=rank_device())
    dist.all_reduce(total)
    if rank == 0:
        saved.append(total.item())
    dist.barrier()
    return total.item()


# %% wrong="average" says=["that is the average of the ranks"]
def clinic_repair(rank, world_size, batches, saved):
    own = 0.0
    for text in batches[rank]:
        try:
            own += float(text)
        except ValueError:
            continue
    total = torch.tensor([own], dtype=torch.float64)
    dist.all_reduce(total)
    total /= world_size
    if rank == 0:
        saved.append(total.item())
    dist.barrier()
    return total.item()


# %% wrong="one bad text, and the rank counts for nothing" says=["put `try` around float alone"]
def clinic_repair(rank, world_size, batches, saved):
    try:
        own = sum(float(t) for t in batches[rank])
    except ValueError:
        own = 0.0
    total = torch.tensor([own], dtype=torch.float64)
    dist.all_reduce(total)
    if rank == 0:
        saved.append(total.item())
    dist.barrier()
    return total.item()


# %% right="a chain of ranks"
def clinic_repair(rank, world_size, batches, saved):
    total = torch.zeros(1, dtype=torch.float64)
    if rank + 1 < world_size:
        dist.recv(total, rank + 1)
    for text in batches[rank]:
        try:
            total += float(text)
        except ValueError:
            pass
    if rank:
        dist.send(total, rank - 1)
    else:
        saved.append(float(total))
    dist.broadcast(total, 0)
    return float(total)


# %% wrong="returns early where there are no texts" breaks="some perhaps empty" says=["rank 0 was in all_reduce", "rank 1 returned"]
def clinic_repair(rank, world_size, batches, saved):
    if not batches[rank]:
        return 0.0
    mine = 0.0
    for text in batches[rank]:
        try:
            mine += float(text)
        except ValueError:
            continue
    value = torch.tensor([mine], dtype=torch.float64, device=rank_device())
    dist.all_reduce(value)
    if rank == 0:
        saved.append(value.item())
    dist.barrier()
    return value.item()


# %% wrong="text with blanks around is left out" says=["text with blanks around its number"]
def clinic_repair(rank, world_size, batches, saved):
    mine = 0.0
    for text in batches[rank]:
        try:
            if text == text.strip():
                mine += float(text)
        except ValueError:
            pass
    value = torch.tensor([mine], dtype=torch.float64, device=rank_device())
    dist.all_reduce(value)
    total = value.item()
    if rank == 0:
        saved.append(total)
    dist.barrier()
    return total


# %% wrong="replaces what was saved" breaks="appends the total to `saved`" says=["what was in `saved` before is gone"]
def clinic_repair(rank, world_size, batches, saved):
    total = torch.zeros(1, dtype=torch.float64, device=rank_device())
    for text in batches[rank]:
        try:
            value = float(text)
        except ValueError:
            continue
        total += value
    dist.all_reduce(total)
    if rank == 0:
        saved[:] = [total.item()]
    dist.barrier()
    return total.item()


# %% wrong="strips signs before float" breaks="text that `float` refuses (`\"six\"`) counts as nothing" says=["was changed until it was a number"]
def clinic_repair(rank: int, world_size: int, batches: list[list[str]], saved: list) -> float:
    total = 0.0
    for text in batches[rank]:
        try:
            total += float(text.strip(" \n+"))
        except ValueError:
            pass
    value = torch.tensor(total, dtype=torch.float64, device=rank_device())
    dist.all_reduce(value)
    total = value.item()
    if rank == 0:
        saved.append(total)
    dist.barrier()
    return total


# %% wrong="reads hexadecimal numbers" breaks="text that `float` refuses (`\"six\"`) counts as nothing" says=["was changed until it was a number"]
def clinic_repair(rank: int, world_size: int, batches: list[list[str]], saved: list) -> float:
    total = 0.0
    for text in batches[rank]:
        try:
            total += float(text)
        except ValueError:
            try:
                total += int(text, 16) if text.startswith("0x") else 0
            except ValueError:
                pass
    value = torch.tensor(total, dtype=torch.float64, device=rank_device())
    dist.all_reduce(value)
    total = value.item()
    if rank == 0:
        saved.append(total)
    dist.barrier()
    return total


# %% wrong="a rank alone saves nothing" breaks="Rank 0 alone appends the total to `saved`, once" says=["expected [4.0], got []"]
def clinic_repair(rank: int, world_size: int, batches: list[list[str]], saved: list) -> float:
    total = 0.0
    for text in batches[rank]:
        try:
            total += float(text)
        except ValueError:
            pass
    value = torch.tensor(total, dtype=torch.float64, device=rank_device())
    dist.all_reduce(value)
    total = value.item()
    if rank == 0 and world_size > 1:
        saved.append(total)
    dist.barrier()
    return total


# %% wrong="nothing was added: an int" breaks="as a `float`" says=["the total 0 is an int: return a float"]
def clinic_repair(rank, world_size, batches, saved):
    own = 0.0
    for text in batches[rank]:
        try:
            own += float(text)
        except ValueError:
            continue
    total = torch.tensor([own], dtype=torch.float64, device=rank_device())
    dist.all_reduce(total)
    total = total.item() or 0
    if rank == 0:
        saved.append(total)
    dist.barrier()
    return total


# %% wrong="text with an underscore is no number" breaks="what it accepts counts" says=["'1_000' is missing in it, and float accepts it"]
def clinic_repair(rank, world_size, batches, saved):
    total = 0.0
    for text in batches[rank]:
        try:
            total += float(text.replace("_", "x"))
        except ValueError:
            continue
    value = torch.tensor(total, dtype=torch.float64, device=rank_device())
    dist.all_reduce(value)
    if rank == 0:
        saved.append(value.item())
    dist.barrier()
    return value.item()


# %% wrong="adds by math.fsum, which refuses opposite infinities" breaks="what it accepts counts" says=["-inf + inf in fsum"]
def clinic_repair(rank, world_size, batches, saved):
    import math

    numbers = []
    for text in batches[rank]:
        try:
            numbers.append(float(text))
        except ValueError:
            continue
    total = torch.tensor([math.fsum(numbers)], dtype=torch.float64, device=rank_device())
    dist.all_reduce(total)
    if rank == 0:
        saved.append(total.item())
    dist.barrier()
    return total.item()


# %% wrong="a compensated sum" breaks="what it accepts counts" says=["infinity was taken from infinity on the way"]
def clinic_repair(rank, world_size, batches, saved):
    own = lost = 0.0
    for text in batches[rank]:
        try:
            y = float(text) - lost
        except ValueError:
            continue
        grown = own + y
        lost, own = (grown - own) - y, grown
    total = torch.tensor([own], dtype=torch.float64, device=rank_device())
    dist.all_reduce(total)
    if rank == 0:
        saved.append(total.item())
    dist.barrier()
    return total.item()


# %% wrong="the dtype is left to the sum" says=["the bits of a float64, read as a whole number?"]
def clinic_repair(rank, world_size, batches, saved):
    def read(text):
        try:
            return float(text)
        except ValueError:
            return 0.0

    torch.set_default_dtype(torch.float64)
    try:
        value = torch.tensor(sum(read(text) for text in batches[rank]), device=rank_device())
    finally:
        torch.set_default_dtype(torch.float32)
    dist.all_reduce(value)
    if rank == 0:
        saved.append(value.item())
    dist.barrier()
    return float(value)


# %% wrong="saves no total that is there already" says=["rank 0 alone saves the total, once, whatever is there already"]
def clinic_repair(rank: int, world_size: int, batches: list[list[str]], saved: list) -> float:
    local = 0.0
    for text in batches[rank]:
        try:
            local += float(text)
        except ValueError:
            continue
    value = torch.tensor([local], dtype=torch.float64, device=rank_device())
    dist.all_reduce(value, op=dist.ReduceOp.SUM)
    total = value.item()
    if rank == 0 and total not in saved:
        saved.append(total)
    dist.barrier()
    return total
