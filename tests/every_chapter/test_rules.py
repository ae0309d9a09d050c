"""A statement's rules are listed beside its answers, and neither drifts."""

import pytest

from course_utils.authoring import rules
from course_utils.command import testing
from support.answers import chapters


@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: chapter.name)
def test_each_rule_has_an_answer_that_breaks_it(chapter):
    assert rules.problems(chapter) == []


GOOD = """# %% [markdown]
# Rules:
#
# - "Twice x"
#
# Admits:
#
# - "Double a number": double(2)

# %% wrong="a square" breaks="Twice x" says=["not"]
def double(x):
    return x * x
"""


def told(tiny_chapter, text):
    path = tiny_chapter.root / "tests" / "answers" / "01_tiny" / "double.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return rules.problems(tiny_chapter)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("", "", None),
        ('# - "Twice x"', '# - "Thrice x"', 'the statement doesn\'t say "Thrice x"'),
        ('breaks="Twice x" ', "", 'no wrong answer breaks "Twice x"'),
        ('breaks="Twice x"', 'breaks="No loop"', 'it breaks "No loop", which is not listed'),
        ("double(2)", "double(4)", 'no case for "Double a number": the check says nothing'),
        ('# - "Twice x"', "# - twice x", "not a rule of the list: - twice x"),
        (": double(2)", "", 'not a rule of the list: - "Double a number"'),
    ],
)
def test_what_drifts_is_told(tiny_chapter, old, new, words):
    found = told(tiny_chapter, GOOD.replace(old, new) if old else GOOD)
    assert not found if words is None else any(words in line for line in found)
    if words is not None:
        assert any(words in line for line in testing.at_a_glance(tiny_chapter.root, tiny_chapter))


def test_what_has_no_list_yet_is_told_and_fails_nothing(tiny_chapter):
    assert told(tiny_chapter, GOOD.partition("# %% wrong")[2].join(["# %% wrong", ""])) == []
    assert rules.unlisted(tiny_chapter) == ["double", "halve"]
    assert testing.not_yet(tiny_chapter) == ["no list of rules yet: double, halve"]
    told(tiny_chapter, GOOD)
    assert rules.unlisted(tiny_chapter) == ["halve"]


def test_a_case_may_stand_in_the_chapters_package_but_not_in_its_docstrings(tiny_chapter):
    package = tiny_chapter.root / "src" / "course_utils" / "chapters" / "tiny"
    package.mkdir(parents=True)
    trials = package / "trials.py"
    source = '"""A list of numbers."""\nCASES = {"a list of none": []}\n'
    trials.write_text(source, encoding="utf-8")
    assert told(tiny_chapter, GOOD.replace("double(2)", "a list of none")) == []
    assert told(tiny_chapter, GOOD.replace("double(2)", "a list of numbers")) != []
