"""Lay down a chapter that builds and passes, for its author to write over."""

from __future__ import annotations

import re
from pathlib import Path

from course_utils.errors import CourseError
from course_utils.outline import COURSE
from course_utils.project import Chapter, all_chapters

SOURCE = '''# ---
# jupyter:
#   course:
#     title: {title}
#     minutes: 10
#     core: 8
# ---

# %% [markdown]
# # {title}: which question does it answer?
#
# One or two sentences that say why anyone would want to know.
#
# **After this chapter you can**
#
# - say what a sum over one dimension leaves;
# - divide each row by its sum.
#
# **It leans on** chapter 01. **Time:** 10 minutes, 8 of them for the core path.

# %% nbgrader={{"grade_id": "setup", "locked": true}}
import torch
from course_utils import check_close, check_predictions, device, every_case, forbid_changes, show

# %% [markdown]
# ## 1. A question, and a number that surprises · core
#
# **Predict** what this prints before you run it.

# %%
x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
x.sum(dim=0)

# %% [markdown]
# A sum over dimension 0 removes dimension 0: three columns are left.
#
# ### Exercise {number}.1 — What is left? ★ · 2 min · 1 point · core
#
# `x` has the shape (2, 3). Write the shape of each result as a tuple. Example: `x.t()` has the shape
# `(3, 2)`.

# %% nbgrader={{"grade_id": "predict-shapes", "solution": true}}
predict_shapes = {{
    "x.sum(dim=0)": None,
    "x.sum(dim=1)": None,
    "x.sum()": None,
}}
### BEGIN SOLUTION
predict_shapes = {{"x.sum(dim=0)": (3,), "x.sum(dim=1)": (2,), "x.sum()": ()}}
### END SOLUTION

# %% nbgrader={{"grade_id": "predict-shapes-check", "grade": true, "points": 1}} jupyter={{"source_hidden": true}}
because = {{
    "x.sum(dim=0)": "the dimension that is summed over goes away: which one stays?",
    "x.sum(dim=1)": "the dimension that is summed over goes away: which one stays?",
    "x.sum()": "without dim every dimension goes away",
}}
example = torch.zeros(2, 3, device=device)
shapes = {{name: tuple(eval(name, {{"x": example}}).shape) for name in because}}
check_predictions(predict_shapes, shapes, because)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Take one dimension away from (2, 3).
# </details>

# %% [markdown]
# ### Exercise {number}.2 — Shares ★★ · 5 min · 2 points
#
# Write `row_shares(x)`: each entry of `x`, a float tensor of shape (n, m) with positive entries,
# divided by the sum of its row. The result has the shape and dtype of `x`; `x` stays as it is.
# Example: `[[1.0, 3.0]]` gives `[[0.25, 0.75]]`.

# %% nbgrader={{"grade_id": "row-shares", "solution": true}}
def row_shares(x: torch.Tensor) -> torch.Tensor:
    """Each entry of x, of shape (n, m), divided by the sum of its row."""
    ### BEGIN SOLUTION
    return x / x.sum(dim=1, keepdim=True)
    ### END SOLUTION


# %% nbgrader={{"grade_id": "row-shares-check", "grade": true, "points": 2}}
def check_shares(name, x):
    with forbid_changes(x):
        shares = row_shares(x)
    check_close(shares, x / x.sum(dim=1, keepdim=True), f"row_shares of {{name}}")


with every_case() as case:
    with case("the statement's example"):
        check_shares("[[1, 3]]", torch.tensor([[1.0, 3.0]]))
    with case("two rows: each has a sum of its own"):
        check_shares("two rows", torch.tensor([[1.0, 3.0], [2.0, 2.0]]))
    with case("in double precision"):
        check_shares("a float64 tensor", torch.ones(2, 4, dtype=torch.float64))
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(1)
with every_case() as case:
    for size in ((3, 5), (1, 1), (0, 2)):
        with case(f"shape {{size}}"):
            check_shares(f"shape {{size}}", torch.rand(size, generator=generator).add(0.1).to(device))
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint</summary>
#
# A sum over the columns has one entry a row. `keepdim=True` leaves it as a column.
# </details>

# %% [markdown]
# ## What to take home
#
# | question | answer |
# | --- | --- |
# | what does a sum over `dim` leave? | every other dimension |
#
# **Three mistakes to remember:** summing over the dimension that was meant to stay; dividing by a row
# of sums where a column was meant; changing the argument in place.
'''

ANSWERS = {
    "predict-shapes": """# %% wrong="the dimension that is named stays" says=["goes away: which one stays?"]
predict_shapes = {"x.sum(dim=0)": (2,), "x.sum(dim=1)": (3,), "x.sum()": ()}

# %% wrong="a sum is a vector of one" says=["without dim every dimension goes away"]
predict_shapes = {"x.sum(dim=0)": (3,), "x.sum(dim=1)": (2,), "x.sum()": (1,)}

# %% wrong="one is blank" says=["1 of 3 predictions are still blank"]
predict_shapes = {"x.sum(dim=0)": (3,), "x.sum(dim=1)": (2,), "x.sum()": None}

# %% right="lists and sizes"
predict_shapes = {"x.sum(dim=0)": [3], "x.sum(dim=1)": torch.Size([2]), "x.sum()": torch.Size([])}
""",
    "row-shares": """# %% wrong="one sum for all" says=["each has a sum of its own"]
def row_shares(x):
    return x / x.sum()


# %% wrong="in place" says=["an argument was changed"]
def row_shares(x):
    x /= x.sum(dim=1, keepdim=True)
    return x


# %% wrong="in single precision" says=["has dtype torch.float32, expected torch.float64"]
def row_shares(x):
    return x.float() / x.float().sum(dim=1, keepdim=True)


# %% right="through einsum"
def row_shares(x):
    return torch.einsum("ij,i->ij", x, 1 / torch.einsum("ij->i", x))
""",
}


def lay_down(root: Path, name: str) -> list[Path]:
    """Write a new chapter's source and the answers to its two exercises.

    Args:
        root: the course's folder.
        name: ``NN_topic``.

    Returns:
        The files that were written.

    Raises:
        CourseError: the name is none, the number is taken, or a file can't be written. Nothing is
            left then.
    """
    if not re.fullmatch(r"\d\d_[a-z][a-z0-9_]*", name):
        raise CourseError(f"{name!r} is no chapter's name: it is like 16_performance")
    for chapter in all_chapters(root):
        if chapter.name[:2] == name[:2]:
            raise CourseError(f"the number {name[:2]} is taken by {chapter.name}: choose another")
    titles = {chapter: title for part in COURSE.values() for chapter, title in part.items()}
    title = titles.get(name, name[3:].replace("_", " ").capitalize())
    folder = root / "tests" / "answers" / name
    files = {Chapter(name, root).source: SOURCE.format(title=title, number=int(name[:2]))}
    files |= {folder / f"{exercise}.py": text for exercise, text in ANSWERS.items()}
    try:
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        for path in files:
            path.unlink(missing_ok=True)
        raise CourseError(f"{root} can't be written ({error.strerror})") from error
    return list(files)
