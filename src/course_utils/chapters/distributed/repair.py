"""Exercise 17.9: a program in which ranks disagree."""

from __future__ import annotations

import itertools
import math
import tempfile
import time
from pathlib import Path

import torch

from course_utils.chapters.distributed.launches import check_ran, launched
from course_utils.learner.cases import every_case
from course_utils.learner.checks import check_equal
from course_utils.learner.tracebacks import ends_in_notebook


class Unread(list):
    """A list that tells who reads another rank's data."""

    def __init__(self, batches, rank):
        super().__init__(batches)
        self.rank = rank

    def __getitem__(self, key):
        allowed = key == self.rank
        assert allowed, (
            f"rank {self.rank} read batches[{key}]: read your own, and add up over the ranks"
        )
        return super().__getitem__(key)

    def __iter__(self):
        raise AssertionError(
            f"rank {self.rank} read all batches: read your own, and add up over the ranks"
        )


# What is in `saved` before: the total of an earlier batch, which comes again.
EARLIER = (10.0,)


class Saved(list):
    """A list to which rank 0 appends slowly: meanwhile it looks whether another rank is through."""

    def __init__(self, rank, folder, patience):
        super().__init__(EARLIER)
        self.rank, self.folder, self.alone, self.patience = rank, folder, False, patience

    def append(self, value):
        until = time.monotonic() + (self.patience if self.rank == 0 else 0)
        while time.monotonic() < until and not self.alone:
            self.alone = any(self.folder.iterdir())
            time.sleep(0.01)
        super().append(value)

    def extend(self, values):
        for value in values:
            self.append(value)

    def __iadd__(self, values):
        self.extend(values)
        return self

    def insert(self, place, value):
        self.append(value)


def run_repair(answer, world_size: int, cases: list) -> list | str:
    """For each rank and case: what it returned, what it found in ``saved``, and what else it did.

    All cases share a launch; rank 0 takes its time to save in the first alone.
    """

    with tempfile.TemporaryDirectory() as folder:

        def work(rank, world_size):
            found = []
            for number, batches in enumerate(cases):
                print(f"batches {batches}")
                here = Path(folder, str(number))
                here.mkdir(exist_ok=True)
                patience = 0.02 if number or world_size == 1 else 0.3
                saved = Saved(rank, here, patience)
                own = Unread([list(texts) for texts in batches], rank)
                total = answer(rank, world_size, own, saved)
                if rank > 0:
                    Path(here, str(rank)).touch()
                there = tuple(saved[:1]) == EARLIER
                kept = list.__eq__(own, batches)
                found.append((total, saved[there:], (saved.alone, there), kept))
            return found

        return launched(work, world_size, timeout=5)


@ends_in_notebook
def check_repair(try_repair, world_size, *cases):
    """Each of ``cases`` has a list of texts for each rank."""
    found = try_repair(world_size, list(cases))
    check_ran(found, world_size, "clinic_repair")
    with every_case() as case:
        for number, batches in enumerate(cases):
            of_ranks = [of_rank[number] for of_rank in found]
            for rank in range(world_size):
                with case(f"{batches}, rank {rank}"):
                    check_one_repair(of_ranks, batches, rank)


def check_one_repair(of_ranks, batches, rank):
    _, saved, (alone, there), kept = of_ranks[rank]
    check_total([each[0] for each in of_ranks], batches, rank)
    want = [total_of(batches)] if rank == 0 else []
    assert there, "what was in `saved` before is gone: append, and leave the rest"
    if repr(saved) != repr(want):  # a nan equals nothing, not even itself
        check_equal(
            saved, want, "saved", "rank 0 alone saves the total, once, whatever is there already"
        )
    assert kept, "`batches` was changed: it is the caller's list; leave its texts in it"
    assert not alone, (
        "another rank had returned before rank 0 saved the total: all wait for it, at a barrier "
        "that every rank comes to after rank 0 has saved"
    )


def is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


def of_digits(text):
    """A sign, digits and one point: what a test for digits, written by hand, lets through."""
    return text.lstrip("-").replace(".", "", 1).isdigit()


CLEANERS = [
    lambda text: text.replace(",", "."),
    lambda text: text.replace(",", ""),
    lambda text: text.strip(" \n+"),
    lambda text: text.replace(" ", ""),
    lambda text: str(int(text, 0)) if text.startswith("0x") else text,
]


def total_of(batches, counts=is_number):
    return sum(float(text) for mine in batches for text in mine if counts(text) and is_number(text))


def check_total(totals, batches, rank):
    total = totals[rank]
    assert total is not None, "it returned None: is there an answer yet?"
    right = total_of(batches)
    assert type(total) is not int, f"the total {total} is an int: return a float"
    if isinstance(total, float) and math.isnan(total) and math.isnan(right):
        return
    first = [list(itertools.takewhile(is_number, mine)) for mine in batches]
    whole = [mine if all(map(is_number, mine)) else [] for mine in batches]
    slips = {
        "float accepts 'nan' as well, and with it the sum is nan": (
            total_of(batches, lambda text: is_number(text) and not math.isnan(float(text)))
        ),
        "float accepts 'inf' and ' -Infinity' as well, and the sum is infinite then": (
            total_of(batches, lambda text: is_number(text) and math.isfinite(float(text)))
        ),
        "it was rounded to float32; a Python float is float64, so make the tensor torch.float64": (
            torch.tensor([total_of([mine]) for mine in batches], dtype=torch.float32).sum().item()
        ),
        "that is the average of the ranks: it is their sum that is asked for": right / len(batches),
        "one text that isn't a number ends a rank's sum: continue with the next": total_of(first),
        "it leaves out text with blanks around its number, such as ' 8 ': let float decide": (
            total_of(batches, lambda text: text == text.strip())
        ),
        "it leaves out '-2.5', or other numbers that float accepts: let float decide": (
            total_of(batches, str.isdigit)
        ),
        "it leaves out numbers that float accepts, such as ' 8 ' and '+.5': let float decide": (
            total_of(batches, of_digits)
        ),
        "a text that isn't a number takes its rank's numbers along: put `try` around float alone": (
            total_of(whole)
        ),
    }
    for cleaned in CLEANERS:
        texts = [list(map(cleaned, mine)) for mine in batches]
        if isinstance(total, float) and total == total_of(texts) != right:
            raise AssertionError(
                f"the total over all ranks is {right}, got {total}: a text that float refuses was "
                "changed until it was a number: it counts as nothing"
            )
    own = [total_of([mine]) for mine in batches]
    plain = all(isinstance(each, float) for each in totals)
    if plain and all(each in (one, right) for each, one in zip(totals, own, strict=True)):
        slips["that is this rank's own sum: the ranks have to add theirs up"] = total
    for words, slip in slips.items():
        if isinstance(total, float) and total == slip != right:
            raise AssertionError(f"the total over all ranks is {right}, got {total}: {words}")
    if isinstance(total, float) and total != right and total in map(round, [right] * 9, range(9)):
        raise AssertionError(f"the total over all ranks is {right}, got {total}: it was rounded")
    for text in itertools.chain(*batches):
        rest = total_of(batches, lambda other, text=text: other != text)
        assert not (isinstance(total, float) and total == rest != right), (
            f"the total over all ranks is {right}, got {total}: {text!r} is missing in it, and "
            "float accepts it: let float decide what is a number"
        )
    assert not (isinstance(total, float) and math.isnan(total)), (
        f"the total over all ranks is {right}, got nan: a text that float refuses counts as "
        "nothing, and not as nan; or infinity was taken from infinity on the way"
    )
    words = (
        ": the bits of a float64, read as a whole number? The sum of no text is the int 0: give "
        "the tensor its dtype on every rank"
    )
    words *= isinstance(total, float) and abs(total) > 2**60 > abs(right)
    assert not words, f"the total over all ranks is {right}, got {total}{words}"
    check_equal(total, right, "the total over all ranks")
