"""Near-identical answers are shown; usual, short and released ones are not."""

import time

import pytest

from course_utils.grading.report.similar import (
    BUT_FOR_NAMES,
    LONGEST_ANSWER,
    NEARLY_THE_SAME,
    SHORTEST_ANSWER,
    THE_SAME,
    normal_form,
    similar_answers,
)

SOLUTION = '''def mean(numbers: list[float]) -> float:
    """The mean."""
    ### BEGIN SOLUTION
    return sum(numbers) / len(numbers)
    ### END SOLUTION
'''
COPIED = """def mean(numbers):
    total, count = 0.0, 0
    for number in numbers:
        if number != number:
            continue
        total = total + number
        count = count + 1
    if count == 0:
        return float("nan")
    return total / count
"""
RENAMED = '''def mean(values: list[float]) -> float:
    """My own mean."""
    s, n = 0.0, 0   # two counters
    for v in values:
        if v != v: continue
        s = s + v
        n = n + 1

    if n == 0:
        return float('nan')
    return s / n
'''
# One constant and one operator differ from COPIED.
TOUCHED = COPIED.replace("count + 1", "count - -1").replace("0.0, 0", "0.0, 0")
OTHER = """def mean(numbers):
    import statistics
    kept = [float(entry) for entry in numbers if entry == entry]
    try:
        return statistics.fmean(kept)
    except statistics.StatisticsError as problem:
        print("no numbers", problem, len(kept), len(numbers))
        return float("nan")
"""


def found(texts, solution=SOLUTION):
    return similar_answers({"mean": texts}, {"mean": solution})


def test_an_answer_with_other_names_comments_and_hints_has_the_same_normal_form():
    assert normal_form(COPIED) == normal_form(RENAMED)
    assert normal_form(COPIED) != normal_form(TOUCHED)
    assert len(normal_form(COPIED)) > SHORTEST_ANSWER


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("def f(a, b):\n    return a - b", "def f(a, b):\n    return b - a"),
        ("def f(x):\n    return x.sum()", "def f(x):\n    return x.mean()"),
        ("def f(x):\n    return torch.sum(x)", "def f(x):\n    return torch.mean(x)"),
        ("def f(x):\n    return g(x, dim=1)", "def f(x):\n    return g(x, axis=1)"),
        ("def f(x):\n    return 'a'", "def f(x):\n    return 'b'"),
        ("def f(x):\n    return max(x)", "def f(x):\n    return min(x)"),
        ("def f(x:\n    return 1", "def f(x:\n    return 2"),
    ],
)
def test_different_answers_have_different_normal_forms(one, other):
    assert normal_form(one) != normal_form(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("def f(a):\n    return [b for b in a]", "def f(x):\n    return [y for y in x]"),
        ("def f(a):\n    b: int = a\n    return b", "def f(x):\n    y = x\n    return y"),
        ("def f(a):\n    return f(a=1)", "def f(x):\n    return f(x=1)"),
        ("def f(a): # one\n    return a\n", "def f(a):\n    return (a)  # two"),
        ("def f(x:\n    return 1 # one", "def f(x:\n    return   1"),
    ],
)
def test_what_is_easily_changed_does_not_count(one, other):
    assert normal_form(one) == normal_form(other)


def test_copies_are_shown_in_the_order_of_likeness():
    pairs = found({"ada": COPIED, "bob": RENAMED, "eve": TOUCHED, "dan": OTHER})
    assert [(pair.students, pair.kind) for pair in pairs] == [
        (("ada", "bob"), BUT_FOR_NAMES),
        (("ada", "bob", "eve"), NEARLY_THE_SAME),
    ]
    assert pairs[0].ratio == 1
    assert 0.9 <= pairs[1].ratio < 1
    assert pairs[0].sources == (("ada", COPIED), ("bob", RENAMED))
    assert pairs[1].sources == (("ada", COPIED), ("eve", TOUCHED))


def test_the_same_text_is_called_so():
    (pair,) = found({"ada": COPIED, "bob": COPIED, "dan": OTHER})
    assert (pair.kind, pair.students) == (THE_SAME, ("ada", "bob"))


def test_copied_text_that_is_no_python_is_shown():
    broken = COPIED.replace("def mean(numbers):", "def mean(numbers)")
    (pair,) = found({"ada": broken, "bob": broken, "dan": OTHER})
    assert pair.students == ("ada", "bob")


def test_the_model_solution_and_the_untouched_stub_are_left_out():
    model = COPIED.replace("    total, count", "    ### BEGIN SOLUTION\n    total, count")
    model += "    ### END SOLUTION\n"
    assert found({"ada": COPIED, "bob": RENAMED}, model) == []
    assert found({"ada": TOUCHED, "bob": TOUCHED}, model) == [], "close to the model solution"
    long_stub = COPIED + "### BEGIN SOLUTION\nx = 1\n### END SOLUTION\n"
    assert found({"ada": COPIED, "bob": COPIED}, long_stub) == []


def test_an_answer_that_many_gave_is_usual():
    crowd = {f"student-{number}": COPIED for number in range(5)}
    assert len(found(crowd)) == 1
    assert found(crowd | {"one more": RENAMED}) == []
    assert found(crowd | {"nearly": TOUCHED}) == [], "close to what many gave"
    everybody = {f"other-{number}": OTHER + f"# {number}" for number in range(200)}
    assert len(found(everybody | crowd | {"one more": RENAMED})) == 1


def test_short_answers_and_huge_ones_are_left_out():
    short = "def mean(numbers):\n    return sum(numbers) / max(1, len(numbers))"
    for text in (short, COPIED + "#" * LONGEST_ANSWER):
        assert found({"ada": text, "bob": text}) == []


def test_an_answer_is_as_long_as_what_the_learner_wrote():
    ready = SOLUTION.replace(
        "    ### BEGIN", "    a = b = c = d = e = f = g = h = 1\n    ### BEGIN"
    )
    long = COPIED.replace("):\n", "):\n    a = b = c = d = e = f = g = h = 1\n", 1)
    stub = len(normal_form("def mean(numbers):\n    a = b = c = d = e = f = g = h = 1"))
    assert len(normal_form(long)) - stub >= SHORTEST_ANSWER
    assert len(found({"ada": long, "bob": long}, ready)) == 1
    short = "\n".join([*long.split("\n")[:6], "    return total / count"])
    assert len(normal_form(short)) >= SHORTEST_ANSWER
    assert found({"ada": short, "bob": short}, ready) == []


def test_predicted_values_are_left_out():
    blanks = "### BEGIN SOLUTION\n{}### END SOLUTION\n"
    values = f"predictions = {{{', '.join(f'{n}: (1, {n})' for n in range(30))}}}"
    assert len(found({"ada": values, "bob": values})) == 1
    assert found({"ada": values, "bob": values}, "predictions = {1: None}\n" + blanks) == []


@pytest.mark.parametrize("text", ["(" * 5000, "-" * 15_000 + "1", "\0", "\ud800" * 100])
def test_no_text_makes_it_raise(text):
    found({"ada": text, "bob": text, "eve": COPIED})


def test_a_class_of_four_hundred_takes_seconds():
    def answer(number):
        steps = "\n".join(f"    x = x * {number} + {step}" for step in range(20))
        return f"def f(x):\n{steps}\n    return x"

    texts = {f"student-{number}": answer(number) for number in range(400)}
    start = time.monotonic()
    similar_answers({f"exercise-{n}": texts for n in range(12)}, {})
    assert time.monotonic() - start < 60
