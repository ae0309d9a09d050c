"""Answers with one thing changed: the checks refuse them, or a line says why not."""

import ast
import importlib
import random
import subprocess
import sys
import time

import psutil
import pytest
import torch
from rich.console import Console

from course_utils.authoring.mutants import known, making, running, table, trees, words
from course_utils.authoring.mutants.running import HIDDEN, IDLE, SURVIVED, VISIBLE, Result
from course_utils.authoring.mutants.trees import Mutant
from course_utils.command import mutants as measuring
from course_utils.errors import CourseError
from support.answers import chapters, settle

CHAPTERS = chapters()
FEW = 2
# Chapters whose lists were measured and have survivors that nobody has looked at yet.
STILL_OPEN: set[str] = set()
# Answers may warn, as in test_answers.
pytestmark = pytest.mark.filterwarnings("default")


def in_a_fork(chapter, choose, exercises):
    """The results of a run whose locked cells stay out of this process."""
    return list(running.apart(chapter, choose, exercises))


@pytest.fixture(scope="module", autouse=True)
def imported():
    """What the forks would each import anew."""
    settle()
    importlib.import_module("torch._dynamo")


@pytest.fixture(autouse=True)
def between_two_numbers():
    """The generator stands where no seed puts it, whatever tests ran before: seeding is seen."""
    torch.rand(1)


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.name)
def test_no_new_mutant_survives(chapter, mutants_of_each):
    path = running.list_of(chapter)
    if not path.exists():
        pytest.skip(f"not measured yet; run: course mutants {chapter.name} --model --note")
    listed, sampled = known.read(path), known.sampled(path)
    few = mutants_of_each == FEW

    def choose(exercise):
        found = running.mutants_of_the_model(chapter, exercise)
        sizes = {mutants_of_each, sampled.get(exercise)} - {None}
        if few and exercise in sampled:
            sizes.add(1)
        return running.sampled(found, min(sizes, default=None), f"0 {exercise}")

    exercises = running.exercises_in(chapter)
    if few:
        # Two quick exercises of each chapter, or a slow one: two minutes in all.
        quick = [one for one in exercises if one not in sampled]
        exercises = running.sampled(quick or exercises, 2 if quick else 1, chapter.name)
    results = in_a_fork(chapter, choose, exercises)
    assert results
    new = [
        table.difference(result)
        for result in results
        if result.verdict == SURVIVED and known.key_of(result.exercise, result.mutant) not in listed
    ]
    assert not new, "give them a case, or a line why in tests/mutants:\n" + "\n".join(new)


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.name)
def test_what_is_listed_is_a_mutant_of_today(chapter, mutants_of_each):
    listed = known.read(running.list_of(chapter))
    exercises = sorted({entry.exercise for entry in listed.values()})
    if mutants_of_each == FEW:
        exercises = running.sampled(exercises, 2, chapter.name)
    missing = {key for key in listed if key[0] in exercises}
    for exercise in exercises:
        for _, mutant in running.mutants_of(chapter, exercise):
            if not any(key[0] == exercise for key in missing):
                break
            missing.discard(known.key_of(exercise, mutant))
    assert not missing, (
        f"{missing}: no such mutant any more: run course mutants CHAPTER --model --note"
    )


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.name)
def test_each_listed_survivor_says_why_it_is_right(chapter):
    listed = known.read(running.list_of(chapter)).values()
    silent = [f"{entry.exercise}: {entry.operator}" for entry in listed if not entry.why.strip()]
    if chapter.name in STILL_OPEN:
        assert silent, f"all survivors are explained: take {chapter.name} out of STILL_OPEN"
    else:
        assert not silent, "give them a case, or a line why:\n" + "\n".join(silent)


# The tool itself.


@pytest.mark.parametrize(
    ("source", "operator", "now"),
    [
        ("x + y", "arithmetic", "x - y"),
        ("x - y", "operands swapped", "y - x"),
        ("x < y", "comparison", "x <= y"),
        ("x and y", "and, or", "x or y"),
        ("x and y", "condition lost", "y"),
        ("not x", "sign or not lost", "x"),
        ("x[2:]", "bound of a slice lost", "x[:]"),
        ("x.sum(dim=3)", "constant", "x.sum(dim=4)"),
        ("x.sum(dim=1)", "dim lost", "x.sum()"),
        ("x.amax(1, keepdim=True)", "keepdim lost", "x.amax(1)"),
        ("f(x, reduction='mean')", "reduction or mode", "f(x, reduction='sum')"),
        ("x.var(unbiased=False)", "constant", "x.var(unbiased=True)"),
        ("x.detach()", "detach taken away", "x"),
        ("max(x, 0)", "max taken away (0)", "x"),
        ("x.add(y)", "in place", "x.add_(y)"),
        ("x.add_(y)", "out of place", "x.add(y)"),
        ("torch.float64", "dtype", "torch.float32"),
        ("f(x, y)", "arguments swapped", "f(y, x)"),
        ("range(rank)", "rank is 0", "range(0)"),
        ("a if b else c", "branch never taken", "c"),
        ("[a for a in b]", "the first alone", "[a for a in list(b)[:1]]"),
        ("[a for a in b]", "the last forgotten", "[a for a in list(b)[:-1]]"),
    ],
)
def test_an_expression_is_changed(source, operator, now):
    found = [(mutant.operator, mutant.now) for mutant in making.mutants(f"z = {source}")]
    assert (operator, f"z = {now}") in found


@pytest.mark.parametrize(
    ("source", "operator", "now"),
    [
        ("x = 1\ny = x", "exchanged", "y = x\nx = 1"),
        ("x = 1\ny = x", "statement deleted", "x = 1"),
        ("if x:\n    y = 1\nelse:\n    y = 2", "branch always taken", "y = 1"),
        ("if x:\n    y = 1\nelse:\n    y = 2", "branch never taken", "y = 2"),
        ("for x in y:\n    z(x)", "the first alone", "for x in y:\n    z(x)\n    break"),
        ("with f():\n    y = 1", "with block taken away", "y = 1"),
        ("try:\n    f()\nfinally:\n    g()", "finally taken away", "f()"),
        ("@f\ndef g():\n    h()", "decorator taken away", "def g():\n    h()"),
        ("x = x + y", "in place", "x += y"),
        ("x.y += z", "out of place", "x.y = x.y + z"),
        (
            "class A:\n    def __init__(self):\n        self.x = []\n        f()",
            "state on the class",
            "class A:\n    x = []\n\n    def __init__(self):\n        f()",
        ),
    ],
)
def test_a_statement_is_changed(source, operator, now):
    assert (operator, now) in [(one.operator, one.source) for one in making.mutants(source)]


def test_what_people_read_is_left_alone():
    source = 'def f(x: int = y[1]):\n    """Adds 1 + 1."""\n    raise ValueError(1 + 1)'
    changed = [mutant for mutant in making.mutants(source) if "_habit" not in mutant.source]
    assert {mutant.operator for mutant in changed} == {"constant", "statement deleted"}
    for mutant in changed:
        assert "def f(x: int=y[" in mutant.source
        assert "Adds 1 + 1." in mutant.source
        assert mutant.operator == "statement deleted" or "ValueError(1 + 1)" in mutant.source


def test_each_mutant_is_there_once_and_can_be_compiled():
    found = making.mutants("def f(x, y=3):\n    return (x + y) * 2 if x > 1 else max(x, -y)")
    assert len(found) == len({mutant.source for mutant in found}) > 30
    for mutant in found:
        ast.parse(mutant.source)


def test_what_is_given_is_not_changed():
    answer = "def f(x):\n    return x + 1\n\ndef g(x):\n    'Given: f.'\n    return f(x) * 2"
    found = making.mutants(answer)
    assert found
    assert all("return f(x) * 2" in mutant.source for mutant in found)
    assert found[-1].source.endswith("f = _habit(f)\n")


def test_a_larger_sample_has_what_a_smaller_has():
    numbers = list(range(300))
    small, large = (running.sampled(numbers, size, "0 double") for size in (3, 20))
    assert len(small) == 3
    assert set(small) < set(large) < set(numbers)
    assert large == sorted(large)


def test_a_mutant_says_what_was_there_and_what_is():
    (mutant,) = [one for one in making.mutants("a = 1\nb = a + c") if one.operator == "arithmetic"]
    assert (mutant.was, mutant.now) == ("b = a + c", "b = a - c")


def test_a_chapter_may_have_operators_of_its_subject():
    def to_three(node):
        if isinstance(node, ast.Name):
            yield "three", ast.Constant(3)

    found = making.mutants("y = x", {"CHANGES": (to_three,)})
    assert ("three", "y = 3") in [(mutant.operator, mutant.now) for mutant in found]


@pytest.mark.parametrize("chapter", ["99_nothing", "08_modules"])
def test_a_chapter_needs_no_operators_of_its_subject(chapter):
    assert making.domain_of(chapter) == {}


@pytest.mark.parametrize(
    ("chapter", "source", "operator", "now"),
    [
        ("17_distributed", "x = world_size", "world size is 1", "x = 1"),
        ("17_distributed", "x = y[world_size]", "world size one less", "x = y[world_size - 1]"),
        ("18_sharding", "x = job['ranks']", "world size is 1", "x = 1"),
        (
            "17_distributed",
            "dist.all_reduce(x)",
            "AVG in place of the sum",
            "dist.all_reduce(x, op=dist.ReduceOp.AVG)",
        ),
        ("17_distributed", "dist.all_reduce(x)", "the sum on rank 0 alone", "dist.reduce(x, 0)"),
        (
            "17_distributed",
            "dist.all_reduce(x)",
            "rank 0 alone calls it",
            "if dist.get_rank() == 0:\n    dist.all_reduce(x)",
        ),
        ("17_distributed", "dist.send(x, to)", "the other rank is rank 0", "dist.send(x, 0)"),
        (
            "17_distributed",
            "dist.P2POp(f, x, to)",
            "the other rank is each rank itself",
            "dist.P2POp(f, x, dist.get_rank())",
        ),
        ("18_sharding", "x.chunk(4)", "another dimension cut or joined", "x.chunk(4, dim=1)"),
        (
            "18_sharding",
            "torch.cat(parts)",
            "another dimension cut or joined",
            "torch.cat(parts, dim=1)",
        ),
        ("18_sharding", "x = parts[rank]", "another rank's shard", "x = parts[rank - 1]"),
        ("18_sharding", "x = -(-a // b)", "rounded down", "x = a // b"),
        ("18_sharding", "x = gather_rows(y)", "gather_rows taken away", "x = y"),
        ("18_sharding", "x = file.with_suffix('.part')", "written in place", "x = file"),
        ("18_sharding", "x = stage", "stages from 1", "x = stage + 1"),
    ],
)
def test_what_several_ranks_run_is_changed(chapter, source, operator, now):
    found = making.mutants(source, making.domain_of(chapter))
    assert (operator, now) in [(mutant.operator, mutant.source) for mutant in found]


DOUBLE = "def double(x):\n    return 2 * x"


def results_of(chapter, *sources):
    answer = running.Answer("an answer", DOUBLE)
    listed = [(answer, trees.as_mutant("by hand", DOUBLE, source)) for source in sources]
    return in_a_fork(chapter, lambda exercise: listed, ["double"])


def test_visible_and_hidden_refusals_are_told_apart(tiny_chapter):
    found = results_of(
        tiny_chapter,
        "def double(x):\n    return x * x",
        "def double(x):\n    return x",
        "def double(x):\n    return x + x",
        "def double(x):\n    raise ValueError('never')",
        "import os\ndef double(x):\n    os._exit(0)",
    )
    assert [result.verdict for result in found] == [HIDDEN, VISIBLE, SURVIVED, VISIBLE, VISIBLE]
    assert [result.kind for result in found[-2:]] == ["ValueError", "dies"]
    assert found[1].words == "double(2) is 4, not 2"


def test_a_mutant_that_hangs_is_refused():
    trial = running.Trial([], {})
    assert trial.run("while True: pass", 0.5)["kind"] == "hangs"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux ends them")
def test_a_mutant_that_hangs_ends_with_who_runs_it(tmp_path):
    """Whoever kills the command leaves no endless loop behind."""
    told = tmp_path / "told"
    answer = f"import os\nopen({str(told)!r}, 'w').write(str(os.getpid()) + ' ')\nwhile True: pass"
    run = "from course_utils.authoring.mutants.running import Trial"
    process = subprocess.Popen(
        [sys.executable, "-c", f"{run}\nTrial([], {{}}).run({answer!r}, 120)"]
    )
    limit = time.monotonic() + 60
    try:
        while not (told.exists() and told.read_text().endswith(" ")):
            started = process.poll() is None and time.monotonic() < limit
            assert started, "no mutant was started"
            time.sleep(0.1)
    finally:
        process.kill()
        process.wait()
    pid = int(told.read_text())
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < limit, "the mutant goes on"
        time.sleep(0.1)


def test_a_habit_that_has_nothing_to_work_on_is_no_mutant(tiny_chapter):
    habits = [
        (running.Answer("an answer", DOUBLE), mutant)
        for mutant in making.mutants(DOUBLE)
        if mutant.operator in ("leaves .eval()", "seeds the global generator")
    ]
    found = in_a_fork(tiny_chapter, lambda exercise: habits, ["double"])
    assert [(one.mutant.operator, one.verdict) for one in found] == [
        ("seeds the global generator", VISIBLE)
    ]
    assert "torch's global generator is seeded" in found[0].words
    assert IDLE not in [one.verdict for one in found]


def test_the_list_is_written_and_read(tmp_path):
    path = tmp_path / "mutants" / "01_tiny.toml"
    entries = [
        known.Known("double", "constant", 'a = "1"\nb', "c = \\n", "no one asks"),
        known.Known("halve", "constant", "", "é"),
    ]
    known.write(path, entries, {"halve": 6})
    assert list(known.read(path).values()) == entries
    assert known.sampled(path) == {"halve": 6}
    path.write_text("[[survivor]]\nexercise = 1\nother = 2")
    with pytest.raises(CourseError, match=r"01_tiny\.toml"):
        known.read(path)


def test_the_command_tells_and_notes_who_survived(tiny_chapter):
    text = tiny_chapter.source.read_text(encoding="utf-8")
    tiny_chapter.source.write_text(text.replace("return x / 2", "return x / 2 if x else 0.0"))
    console = Console(record=True, width=120)
    results = measuring.measure(tiny_chapter, None, console)
    survivors = measuring.show(tiny_chapter, results, console)
    text = console.export_text()
    assert "halve, the model solution: branch always taken" in text
    assert "double, the model solution" not in text
    path = measuring.note(tiny_chapter, results)
    listed = known.read(path)
    assert {result.mutant.now for result in survivors} == {entry.now for entry in listed.values()}
    explained = [known.Known(**{**vars(entry), "why": "as right"}) for entry in listed.values()]
    known.write(path, explained)
    assert measuring.show(tiny_chapter, results, Console(quiet=True)) == []
    assert known.sampled(measuring.note(tiny_chapter, results, 2)) == {"double": 2, "halve": 2}
    assert known.sampled(measuring.note(tiny_chapter, results)) == {}
    (last,) = [row for row in table.rows(results, known.read(path)) if row[0] == "all"]
    assert last[4:6] == (0, len(survivors))
    with pytest.raises(CourseError, match="no exercise 'none' in 01_tiny: double, halve"):
        measuring.measure(tiny_chapter, "none", console)


def refused(said, operator="constant", kind="AssertionError", was="a"):
    return Result("double", "an answer", Mutant(operator, was, "b", ""), VISIBLE, kind, said)


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("the sum: expected 4, got 5", words.NUMBERS),
        ("the sum: expected 4, got 5 (both rows count)", words.NAMED),
        ("the sum: expected 4, got 5.25. The mean is asked for.", words.NAMED),
        (
            "2 of 3 cases fail:\n  a: the sum: expected 4, got 5\n  b: raised TypeError: x",
            words.NUMBERS,
        ),
        ("the result has shape (2,), expected (3,)", words.NUMBERS),
        (
            "the result has shape (2, 3), expected (3, 2): the same sizes in another order",
            words.NAMED,
        ),
        (
            "the result differs in 2 of 4 elements, first at index (0,): expected 1, got 2",
            words.NUMBERS,
        ),
        ("one row: raised RuntimeError: sizes differ", words.BARE),
        ("the argument was changed", words.NAMED),
    ],
)
def test_words_that_name_the_slip_are_told_from_numbers(said, kind):
    assert words.kind_of(refused(said)) == kind
    assert words.kind_of(refused(said, kind="TypeError")) == words.BARE


def test_three_different_mutants_that_are_told_numbers_alone_are_candidates():
    numbers = "the sum: expected 4, got 5"
    results = [refused(numbers, was=line) for line in "abb"]
    assert words.candidates(results) == {}
    results.append(refused(numbers, operator="arithmetic"))
    assert len(words.candidates(results)["double"]) == 3
    assert words.share_named(results) == 0
    assert words.share_named([]) == 1


def test_a_sample_is_the_same_each_time():
    state = random.getstate()
    found = running.sampled(list(range(100)), 5, "a seed")
    assert found == running.sampled(list(range(100)), 5, "a seed") == sorted(found)
    assert running.sampled([1, 2], 5, "a seed") == [1, 2]
    assert random.getstate() == state
