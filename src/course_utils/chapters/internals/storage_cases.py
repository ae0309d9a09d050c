"""The cases of steps and of merged loops, with why each is right."""

from __future__ import annotations

# size, stride, shape of the whole; the strides, and why.
SPREAD = {
    "a row below a matrix": ((3,), (1,), (2, 3), (0, 1), "a new dimension comes first"),
    "a column": ((2, 1), (1, 7), (2, 3), (1, 0), "the only column is read three times"),
    "a single number": ((), (), (2, 2), (0, 0), "every place reads the same entry"),
    "a transposed matrix": ((2, 3), (1, 2), (2, 3), (1, 2), "its own strides are kept"),
    "size 1 stays size 1": ((1, 3), (9, 1), (1, 3), (0, 1), "size 1 always gets step 0"),
    "two new dimensions": ((2,), (5,), (4, 3, 2), (0, 0, 5), "sizes are lined up at the end"),
    "an empty dimension": ((1, 2), (2, 1), (0, 2), (0, 1), "size 1 fits size 0"),
    "turned around": ((3,), (-1,), (2, 3), (0, -1), "its own strides are kept, below 0 as well"),
    "size 0 as it is": ((0, 2), (2, 1), (0, 2), (2, 1), "size 0 isn't size 1: it keeps its stride"),
    "a step of 0 already": ((2, 3), (0, 1), (2, 3), (0, 1), "its own strides are kept"),
}
REFUSED = {
    "2 entries for 3": ((2,), (1,), (3,)),
    "too many dimensions": ((1, 3), (3, 1), (3,)),
    "3 entries for 1": ((3,), (1,), (1,)),
    "sizes lined up at the front": ((2,), (1,), (2, 3)),
    "2 entries for none": ((2,), (1,), (0,)),
    "no entry for 3": ((0,), (1,), (3,)),
    "no entry for 1": ((0,), (1,), (1,)),
    "the first size fits, the second doesn't": ((3, 2), (2, 1), (3, 4)),
}

# shape, strides of each operand; what is left, and why.
MERGE = {
    "both contiguous": (
        ((2, 3, 4), [(12, 4, 1), (12, 4, 1)]),
        ((24,), [(1,), (1,)]),
        "three dimensions make one: chains merge too",
    ),
    "four dimensions": (
        ((2, 3, 4, 5), [(60, 20, 5, 1), (60, 20, 5, 1)]),
        ((120,), [(1,), (1,)]),
        "four dimensions make one: however many there are, each is looked at",
    ),
    "a size of 1 among four": (
        ((3, 3, 1, 4), [(12, 4, 4, 1)]),
        ((36,), [(1,)]),
        "without the size of 1 the others are neighbours, and three of them make one",
    ),
    "a matrix and a row": (
        ((2, 3), [(3, 1), (0, 1)]),
        ((2, 3), [(3, 1), (0, 1)]),
        "the first operand could be merged, the second could not: all of them have to",
    ),
    "a row, then a matrix": (
        ((2, 3), [(0, 1), (3, 1)]),
        ((2, 3), [(0, 1), (3, 1)]),
        "the second operand could be merged, the first could not: all of them have to",
    ),
    "a size of 1 between": (
        ((2, 1, 3), [(3, 99, 1)]),
        ((6,), [(1,)]),
        "a dimension of size 1 is no loop: it goes, whatever its stride, and its neighbours meet",
    ),
    "the last two": (
        ((5, 3, 4), [(40, 4, 1), (12, 4, 1)]),
        ((5, 12), [(40, 1), (12, 1)]),
        "only the last two meet the rule in both operands; the inner step is kept",
    ),
    "the first two": (
        ((2, 3, 4), [(30, 10, 2), (3, 1, 0)]),
        ((6, 4), [(10, 2), (1, 0)]),
        "only the first two meet the rule in both operands; the inner step is kept",
    ),
    "a single number everywhere": (
        ((2, 3), [(0, 0)]),
        ((6,), [(0,)]),
        "0 = 3 · 0: repeated twice is repeated six times",
    ),
    "transposed": (((3, 2), [(1, 3)]), ((3, 2), [(1, 3)]), "1 is not 2 · 3: the rule fails"),
    "with gaps": (((3, 2), [(4, 2)]), ((6,), [(2,)]), "4 = 2 · 2: an even step throughout"),
    "turned around": (((2, 3), [(-3, -1)]), ((6,), [(-1,)]), "-3 = 3 · -1: the rule as it is"),
    "the outer turned around": (
        ((2, 3), [(-3, 1)]),
        ((2, 3), [(-3, 1)]),
        "-3 is not 3 · 1: the rule fails, though the sizes of the steps would fit",
    ),
    "no dimension": (((), [(), ()]), ((), [(), ()]), "nothing to merge, two operands"),
    "nothing but ones": (((1, 1), [(7, 8), (1, 1)]), ((), [(), ()]), "no loop is left"),
    "three operands": (
        ((2, 2), [(2, 1), (2, 1), (1, 2)]),
        ((2, 2), [(2, 1), (2, 1), (1, 2)]),
        "the third is transposed",
    ),
}
