import contextlib
import io
import sys
from dataclasses import asdict, dataclass, field, make_dataclass
from typing import ClassVar

from expect import NOTHING

from shapefinder.config import Config, read_config


@dataclass(frozen=True)
class Other:
    name: str = "x"
    count: int = 3
    ratio: float = 2.0
    fast: bool = False
    safe: bool = True
    most_words: int = 4
    keep_all: bool = True


def read(words, kind=Other):
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            result = read_config(words, kind)
    except SystemExit:
        raise AssertionError(f"the words {words} are all right and ended the program") from None
    except TypeError as error:
        if "unexpected keyword argument" not in str(error):
            raise
        raise AssertionError(
            f"an option that {kind.__name__} doesn't have, or an object of another class: every "
            f"call has its own parser, with the fields of `kind`, and makes a `kind`: {error}"
        ) from None
    assert result is not None, NOTHING
    assert type(result) is kind, (
        f"the result is a {type(result).__name__}, not an object of the dataclass {kind.__name__}"
    )
    return asdict(result)


def status_of(words, kind=Other):
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            result = read_config(words, kind)
    except SystemExit as told:
        return "1: SystemExit of a text" if isinstance(told.code, str) else told.code
    assert result is not None, NOTHING
    return "none: it returned"


def test_the_words_are_those_that_were_handed_in():
    words, before = ["--count", "5"], sys.argv
    sys.argv = ["prog", "--count", "8"]
    try:
        found, default = read(words)["count"], read([])["count"]
    finally:
        sys.argv = before
    assert int(found) == 5, "read the words of the argument, not the program's own"
    assert default != 8, "an empty list of words means no words, not the program's own"
    assert words == ["--count", "5"], "the list of words was changed"
    assert default != 5, "a second call remembers the words of the first"
    assert default == 3, f"without words count is {default!r}, and its default is 3"


def test_without_words_every_field_has_its_default():
    assert read([]) == asdict(Other()), "without words the dataclass's defaults count"
    default = read_config([])
    assert default is not None, NOTHING
    assert type(default).__name__ == "Config", "without a second argument a Config is made"
    assert default == type(default)(), "without words every field of Config has its default"
    assert {"data", "out", "steps", "rate"} <= set(vars(Config())), "Config lost a field"


def test_a_value_has_the_type_of_its_field():
    result = read(["--count", "7", "--ratio", "5", "--name", "12"])
    for name, right in (("count", 7), ("ratio", 5.0), ("name", "12")):
        value = result[name]
        assert (type(value), value) == (type(right), right), (
            f"{name} is {value!r}: an option's text becomes what its default is"
        )
    assert read(["--count", "007"])["count"] == 7, "007 is the number 7, as int() reads it"
    try:
        found = read(["--count", "9" * 30])["count"]
    except (AssertionError, OverflowError) as error:
        why = f"an int has as many digits as it likes, 30 for example: {error}"
        raise AssertionError(why) from None
    assert found == int("9" * 30), f"an int of 30 digits became {found}: keep all of them"


def test_an_option_has_its_fields_name():
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            result = read_config(["--most_words", "9"], Other)
    except SystemExit:
        raise AssertionError(
            "the field most_words is the option --most_words: its name as it is, underscore and all"
        ) from None
    assert result is not None, NOTHING
    assert result.most_words == 9, f"--most_words 9 gave {result.most_words!r}"


def test_a_bool_is_switched_on_and_off():
    on, off = read(["--fast", "--safe"]), read(["--no-fast", "--no-safe"])
    assert on["fast"] is True and on["safe"] is True, "--fast and --safe mean True"
    assert off["fast"] is False and off["safe"] is False, "--no-fast and --no-safe mean False"
    for word, right in (("--keep_all", True), ("--no-keep_all", False)):
        try:
            found = read([word])["keep_all"]
        except AssertionError as error:
            raise AssertionError(
                f"the switch of the field keep_all is {word}, underscore and all. {error}"
            ) from None
        assert found is right, f"{word} means {right}, not {found!r}"


def test_a_bool_takes_no_text():
    assert status_of(["--safe", "False"]) == 2, (
        'bool("False") is True: a bool is switched by --safe and --no-safe, and takes no text'
    )


def test_a_text_stays_as_it_is():
    for text in ("Data Set", " x ", "50%", "None", "größe", "a=b", "@here", "1e3"):
        why = f"the text {text!r} is a text as any other: leave it as it is"
        try:
            found = read(["--name", text])["name"]
        except AssertionError as error:
            raise AssertionError(f"{why}. {error}") from None
        assert found == text, f"{why}; it became {found!r}"


def test_two_dataclasses_of_one_name():
    for name in ("depth", "size"):
        kind = make_dataclass("Small", [(name, int, 1)])
        try:
            found = read([f"--{name}", "9"], kind)
        except AssertionError as error:
            raise AssertionError(f"a second dataclass, named as the first: {error}") from None
        assert found == {name: 9}, f"two dataclasses of one name: the second gave {found}"


def test_an_option_of_an_earlier_call_is_unknown():
    kind = make_dataclass("Small", [("depth", int, 1), ("wide", bool, False)])
    read(["--depth", "2", "--wide"], kind)
    for words, later in ((["--depth", "2"], Other), (["--count", "2"], kind), (["--wide"], Other)):
        status = status_of(words, later)
        assert status == 2, (
            f"{words}: the dataclass of an earlier call had that field, and this one hasn't. The "
            f"status is 2, not {status}: every call has its own parser"
        )


def test_the_last_word_counts():
    for words, right in (
        (["--fast", "--no-fast"], ("fast", False)),
        (["--no-safe", "--safe"], ("safe", True)),
        (["--count", "1", "--name", "y", "--count", "4"], ("count", 4)),
    ):
        name, value = right
        try:
            found = read(words)[name]
        except AssertionError as error:
            raise AssertionError(f"of two words for a field the last one counts. {error}") from None
        assert found == value, f"{words}: the last word for a field counts, and {found!r} came out"


def test_the_example_of_the_statement():
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            found = read_config(["--steps", "20", "--no-flip"])
    except SystemExit:
        raise AssertionError("--steps 20 --no-flip are options of Config") from None
    assert found is not None, NOTHING
    changed = {n: v for n, v in asdict(found).items() if v != getattr(Config(), n)}
    assert changed == {"steps": 20, "flip": False}, (
        f"--steps 20 --no-flip changed {changed}, not steps and flip alone"
    )


def test_names_that_are_no_fields():
    @dataclass(frozen=True)
    class Named:
        unit: ClassVar[str] = "pixels"
        depth: int = 1
        on: bool = field(default=False, repr=False)

    why = (
        "a dataclass may have names of the class that are no fields: fields(kind) tells what it "
        "has, and each has a name and a default"
    )
    for words, right in (([], (1, False)), (["--depth", "9", "--on"], (9, True))):
        try:
            found = read(words, Named)
        except (AssertionError, AttributeError, TypeError, ValueError) as error:
            raise AssertionError(f"{why}. {error}") from None
        assert found == {"depth": right[0], "on": right[1]}, f"{why}; {words} gave {found}"
    status = status_of(["--unit", "x"], Named)
    assert status == 2, f"{why}; --unit is no field's, and the status is {status}, not 2"


def test_the_object_is_made_by_a_call():
    noted = []

    @dataclass
    class Noting:
        count: int = 3

        def __post_init__(self):
            noted.append(self.count)

    assert read_config(["--count", "7"], Noting) is not None, NOTHING
    assert 7 in noted, (
        "a dataclass may look at its fields in __post_init__: make the object by kind(…), with all "
        "values"
    )


def test_every_dataclass_will_do():
    @dataclass
    class Small:
        depth: int = 1

    why = "the options follow from the fields of the dataclass that was handed in"
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            found = read_config(["--depth", "9"], Small)
    except SystemExit:
        raise AssertionError(why) from None
    assert found == Small(9), why if found is not None else NOTHING

    @dataclass
    class Switch:
        on: bool = True
        steps: int = 1  # Config has a field of that name, with another default

    assert read(["--no-on"], Switch) == {"on": False, "steps": 1}, why


def test_what_does_not_fit_ends_with_status_2():
    for words in (["--speed", "1"], ["--count", "many"], ["--count", "1.5"], ["stray"]):
        status = status_of(words)
        assert status == 2, f"{words}: the program ends with status 2, not {status}"
    for words, why in (
        (["--count"], "the text of an option is missing"),
        (["--no-count"], "--no-… is for a bool alone"),
        (["-count", "5"], "an option begins with two dashes"),
        (["count", "5"], "an option begins with two dashes"),
        (["--count", "5", "stray"], "a word is left over"),
        (["--fast=False"], "a bool takes no text"),
    ):
        try:
            status = status_of(words)
        except (IndexError, KeyError, TypeError, ValueError) as error:
            status = f"none: it raised {type(error).__name__}"
        assert status == 2, f"{words}: {why}, so the status is 2, not {status}"


def test_the_default_says_what_a_text_becomes():
    @dataclass
    class Noted:
        count: object = 3
        ratio: float | None = 2.0
        safe: object = True
        wide: float = 3
        digits: int = "3"

    why = "go by a field's default: its annotation may be wider"
    try:
        words = ["--count", "7", "--ratio", "5", "--no-safe", "--wide", "7", "--digits", "08"]
        found = read(words, Noted)
    except (AssertionError, TypeError, ValueError) as error:
        raise AssertionError(f"{why}. {error}") from None
    right = {"count": 7, "ratio": 5.0, "safe": False, "wide": 7, "digits": "08"}
    assert repr(found) == repr(right), f"{why}; {found} came out, not {right}"


def test_defaults_that_are_zero_or_empty():
    @dataclass
    class Empty:
        k: int = 0
        ratio: float = 0.0
        name: str = ""
        digits: str = "3"
        fast: bool = False

    for name, value in read([], Empty).items():
        assert value == getattr(Empty(), name) and value is not None, (
            f"without its option {name} became {value!r}: its default {getattr(Empty(), name)!r} "
            "counts, also where it is 0, empty or a number in quotes"
        )
    right = {"k": 7, "ratio": 5.0, "name": "12", "digits": "08", "fast": True}
    words = ["--k", "7", "--ratio", "5", "--name", "12", "--digits", "08", "--fast"]
    found = read(words, Empty)
    for name, value in right.items():
        assert (type(found[name]), found[name]) == (type(value), value), (
            f"{name} has the default {getattr(Empty(), name)!r}, and became {found[name]!r}: its "
            "type counts, also where it is 0, empty or a number in quotes"
        )


def test_fields_by_keyword_and_of_a_parent():
    @dataclass
    class Parent:
        depth: int = 1

    @dataclass(kw_only=True)
    class Child(Parent):
        name: str = "x"

    why = "a dataclass has the fields of its parents, too; fields(kind) has them all"
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            found = read_config(["--depth", "9", "--name", "y"], Child)
    except SystemExit:
        raise AssertionError(why) from None
    except TypeError as error:
        words = "make the object by keywords, kind(name=value, …)"
        raise AssertionError(f"{words}: {error}") from None
    assert found == Child(depth=9, name="y"), why if found is not None else NOTHING


def test_a_negative_number_and_an_empty_text():
    words = ["--count", "-2", "--ratio", "-0.5", "--name", ""]
    try:
        result = read(words)
    except AssertionError as error:
        raise AssertionError(f"-2 is a number and '' a text, not options. {error}") from None
    found = result["count"], result["ratio"], result["name"]
    why = "what is given counts, also where it is empty or 0"
    assert found == (-2, -0.5, ""), f"the words {words} gave {found}: {why}"
    assert read(["--ratio", "inf"])["ratio"] == float("inf"), "infinity is a float as well"
