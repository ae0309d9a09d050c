# %% [markdown]
# Rules:
#
# - "each field is an option of its name"
# - "underscores included"
# - "without it, the field's default counts"
# - "an option's text becomes what its default is"
# - "is switched by `--name` and `--no-name`"
# - "takes no text"
# - "an unknown word"
# - "a text that doesn't fit, ends the program with status 2"
# - "makes an object of the dataclass `kind`"
# - "the words of a command line"
# - "`kind` may be any dataclass without slots whose fields have such defaults"
#
# Admits:
#
# - "`kind` may be any dataclass": a dataclass has the fields of its parents, too
# - "`str`, `int` or `float`": -2 is a number and '' a text, not options
# - "an option's text becomes what its default is": its annotation may be wider
# - "kind: type = Config": without a second argument a Config is made

# %% wrong="type bool for the flags" breaks="takes no text" says=["a bool is switched"]
import argparse
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Config:
    data: str = "data"
    out: str = "run"
    steps: int = 240
    batch: int = 32
    rate: float = 5e-3
    width: int = 16
    seed: int = 0
    every: int = 50
    flip: bool = True


def read_config(words: list[str], kind: type = Config) -> object:
    """Make a configuration of the words of a command line, such as ``["--steps", "20"]``.

    Ends with SystemExit, status 2, where a word is unknown or a value does not fit.
    """
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for field in fields(kind):
        how = {"type": type(field.default)}
        parser.add_argument(f"--{field.name}", default=field.default, **how)
    return kind(**vars(parser.parse_args(words)))


# %% wrong="lets unknown words pass" breaks="an unknown word" says=["with status 2, not none"]
import argparse
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Config:
    data: str = "data"
    out: str = "run"
    steps: int = 240
    batch: int = 32
    rate: float = 5e-3
    width: int = 16
    seed: int = 0
    every: int = 50
    flip: bool = True


def read_config(words: list[str], kind: type = Config) -> object:
    """Make a configuration of the words of a command line, such as ``["--steps", "20"]``.

    Ends with SystemExit, status 2, where a word is unknown or a value does not fit.
    """
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for field in fields(kind):
        switch = {"action": argparse.BooleanOptionalAction}
        how = switch if isinstance(field.default, bool) else {"type": type(field.default)}
        parser.add_argument(f"--{field.name}", default=field.default, **how)
    return kind(**vars(parser.parse_known_args(words)[0]))


# %% wrong="every value stays text" breaks="a text that doesn't fit, ends the program with status 2" says=["an option's text becomes what its default is"]
import argparse
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Config:
    data: str = "data"
    out: str = "run"
    steps: int = 240
    batch: int = 32
    rate: float = 5e-3
    width: int = 16
    seed: int = 0
    every: int = 50
    flip: bool = True


def read_config(words: list[str], kind: type = Config) -> object:
    """Make a configuration of the words of a command line, such as ``["--steps", "20"]``.

    Ends with SystemExit, status 2, where a word is unknown or a value does not fit.
    """
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for field in fields(kind):
        switch = {"action": argparse.BooleanOptionalAction}
        how = switch if isinstance(field.default, bool) else {}
        parser.add_argument(f"--{field.name}", default=field.default, **how)
    return kind(**vars(parser.parse_args(words)))


# %% wrong="options of Config alone" breaks="each field is an option of its name" says=["with the fields of `kind`"]
import argparse
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Config:
    data: str = "data"
    out: str = "run"
    steps: int = 240
    batch: int = 32
    rate: float = 5e-3
    width: int = 16
    seed: int = 0
    every: int = 50
    flip: bool = True


def read_config(words: list[str], kind: type = Config) -> object:
    """Make a configuration of the words of a command line, such as ``["--steps", "20"]``.

    Ends with SystemExit, status 2, where a word is unknown or a value does not fit.
    """
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for field in fields(Config):
        switch = {"action": argparse.BooleanOptionalAction}
        how = switch if isinstance(field.default, bool) else {"type": type(field.default)}
        parser.add_argument(f"--{field.name}", default=field.default, **how)
    return kind(**vars(parser.parse_args(words)))


# %% wrong="the program's own words" breaks="the words of a command line" says=["read the words of the argument"]
import argparse
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Config:
    data: str = "data"
    out: str = "run"
    steps: int = 240
    batch: int = 32
    rate: float = 5e-3
    width: int = 16
    seed: int = 0
    every: int = 50
    flip: bool = True


def read_config(words: list[str], kind: type = Config) -> object:
    """Make a configuration of the words of a command line, such as ``["--steps", "20"]``.

    Ends with SystemExit, status 2, where a word is unknown or a value does not fit.
    """
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for field in fields(kind):
        switch = {"action": argparse.BooleanOptionalAction}
        how = switch if isinstance(field.default, bool) else {"type": type(field.default)}
        parser.add_argument(f"--{field.name}", default=field.default, **how)
    return kind(**vars(parser.parse_args()))


# %% wrong="whole numbers as floats" says=["count is 7.0"]
import argparse
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Config:
    data: str = "data"
    out: str = "run"
    steps: int = 240
    batch: int = 32
    rate: float = 5e-3
    width: int = 16
    seed: int = 0
    every: int = 50
    flip: bool = True


def read_config(words: list[str], kind: type = Config) -> object:
    """Make a configuration of the words of a command line, such as ``["--steps", "20"]``.

    Ends with SystemExit, status 2, where a word is unknown or a value does not fit.
    """
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for field in fields(kind):
        switch = {"action": argparse.BooleanOptionalAction}
        how = (
            switch
            if isinstance(field.default, bool)
            else {"type": (float if type(field.default) is int else type(field.default))}
        )
        parser.add_argument(f"--{field.name}", default=field.default, **how)
    return kind(**vars(parser.parse_args(words)))


# %% wrong="a dict comes back" breaks="makes an object of the dataclass `kind`" says=["not an object of the dataclass"]
import argparse
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Config:
    data: str = "data"
    out: str = "run"
    steps: int = 240
    batch: int = 32
    rate: float = 5e-3
    width: int = 16
    seed: int = 0
    every: int = 50
    flip: bool = True


def read_config(words: list[str], kind: type = Config) -> object:
    """Make a configuration of the words of a command line, such as ``["--steps", "20"]``.

    Ends with SystemExit, status 2, where a word is unknown or a value does not fit.
    """
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for field in fields(kind):
        switch = {"action": argparse.BooleanOptionalAction}
        how = switch if isinstance(field.default, bool) else {"type": type(field.default)}
        parser.add_argument(f"--{field.name}", default=field.default, **how)
    return vars(parser.parse_args(words))


# %% wrong="no way to switch off" breaks="is switched by `--name` and `--no-name`" says=["all right and ended the program"]
import argparse
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Config:
    data: str = "data"
    out: str = "run"
    steps: int = 240
    batch: int = 32
    rate: float = 5e-3
    width: int = 16
    seed: int = 0
    every: int = 50
    flip: bool = True


def read_config(words: list[str], kind: type = Config) -> object:
    """Make a configuration of the words of a command line, such as ``["--steps", "20"]``.

    Ends with SystemExit, status 2, where a word is unknown or a value does not fit.
    """
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for field in fields(kind):
        switch = {"action": "store_true"}
        how = switch if isinstance(field.default, bool) else {"type": type(field.default)}
        parser.add_argument(f"--{field.name}", default=field.default, **how)
    return kind(**vars(parser.parse_args(words)))


# %% right="options by hand"
import argparse
import dataclasses
from dataclasses import dataclass


@dataclass(frozen=True)
class Config:
    steps: int = 240
    flip: bool = True


def read_config(words, kind=Config):
    parser = argparse.ArgumentParser()
    defaults = {field.name: field.default for field in dataclasses.fields(kind)}
    for name, default in defaults.items():
        if default is True or default is False:
            parser.add_argument(f"--{name}", dest=name, action="store_true")
            parser.add_argument(f"--no-{name}", dest=name, action="store_false")
        else:
            parser.add_argument(f"--{name}", type=default.__class__)
    parser.set_defaults(**defaults)
    found = parser.parse_args(list(words))
    return dataclasses.replace(kind(), **{name: getattr(found, name) for name in defaults})


# %% right="a parser without argparse"
import sys
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Config:
    steps: int = 240
    rate: float = 5e-3
    flip: bool = True


def read_config(words, kind=Config):
    known, values, waiting = {field.name: field.default for field in fields(kind)}, {}, list(words)
    try:
        while waiting:
            word = waiting.pop(0)
            if not word.startswith("--"):
                raise ValueError(word)
            name = word[2:]
            if name.startswith("no-") and isinstance(known[name[3:]], bool):
                values[name[3:]] = False
            elif isinstance(known[name], bool):
                values[name] = True
            else:
                values[name] = type(known[name])(waiting.pop(0))
    except (KeyError, ValueError, IndexError):
        sys.exit(2)
    return kind(**values)


# %% wrong="underscores become dashes" breaks="underscores included" says=["its name as it is, underscore and all"]
import argparse
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Config:
    data: str = "data"
    out: str = "run"
    steps: int = 240
    batch: int = 32
    rate: float = 5e-3
    width: int = 16
    seed: int = 0
    every: int = 50
    flip: bool = True


def read_config(words: list[str], kind: type = Config) -> object:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for field in fields(kind):
        switch = {"action": argparse.BooleanOptionalAction}
        how = switch if isinstance(field.default, bool) else {"type": type(field.default)}
        parser.add_argument("--" + field.name.replace("_", "-"), default=field.default, **how)
    return kind(**vars(parser.parse_args(words)))


# %% wrong="an empty list is taken for none" breaks="without it, the field's default counts" says=["means no words, not the program's own"]
import argparse
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Config:
    data: str = "data"
    out: str = "run"
    steps: int = 240
    batch: int = 32
    rate: float = 5e-3
    width: int = 16
    seed: int = 0
    every: int = 50
    flip: bool = True


def read_config(words: list[str], kind: type = Config) -> object:
    """Make a configuration of the words of a command line, such as ``["--steps", "20"]``.

    Ends with SystemExit, status 2, where a word is unknown or a value does not fit.
    """
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for field in fields(kind):
        switch = {"action": argparse.BooleanOptionalAction}
        how = switch if isinstance(field.default, bool) else {"type": type(field.default)}
        parser.add_argument(f"--{field.name}", default=field.default, **how)
    return kind(**vars(parser.parse_args(words or None)))


# %% wrong="negative numbers are options" says=["-2 is a number and '' a text"]
import sys
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Config:
    data: str = "data"
    out: str = "run"
    steps: int = 240
    batch: int = 32
    rate: float = 5e-3
    width: int = 16
    seed: int = 0
    every: int = 50
    flip: bool = True


def read_config(words, kind=Config):
    values = {f.name: f.default for f in fields(kind)}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        name = word.removeprefix("--")
        if not word.startswith("--"):
            sys.exit(2)
        if name in values and isinstance(values[name], bool):
            values[name] = True
        elif name.startswith("no-") and isinstance(values.get(name[3:]), bool):
            values[name[3:]] = False
        elif name in values and rest and not rest[0].startswith("-"):
            try:
                values[name] = type(values[name])(rest.pop(0))
            except ValueError:
                sys.exit(2)
        else:
            sys.exit(2)
    return kind(**values)


# %% wrong="the type of the annotation" breaks="an option's text becomes what its default is" says=["go by a field's default"]
import argparse
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Config:
    data: str = "data"
    out: str = "run"
    steps: int = 240
    batch: int = 32
    rate: float = 5e-3
    width: int = 16
    seed: int = 0
    every: int = 50
    flip: bool = True


def read_config(words: list[str], kind: type = Config) -> object:
    """Make a configuration of the words of a command line, such as ``["--steps", "20"]``.

    Ends with SystemExit, status 2, where a word is unknown or a value does not fit.
    """
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for field in fields(kind):
        switch = {"action": argparse.BooleanOptionalAction}
        how = switch if field.type is bool else {"type": field.type}
        parser.add_argument(f"--{field.name}", default=field.default, **how)
    return kind(**vars(parser.parse_args(words)))


# %% wrong="values by position" breaks="`kind` may be any dataclass without slots whose fields have such defaults" says=["make the object by keywords"]
import argparse
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Config:
    data: str = "data"
    out: str = "run"
    steps: int = 240
    batch: int = 32
    rate: float = 5e-3
    width: int = 16
    seed: int = 0
    every: int = 50
    flip: bool = True


def read_config(words: list[str], kind: type = Config) -> object:
    """Make a configuration of the words of a command line, such as ``["--steps", "20"]``.

    Ends with SystemExit, status 2, where a word is unknown or a value does not fit.
    """
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for field in fields(kind):
        switch = {"action": argparse.BooleanOptionalAction}
        how = switch if isinstance(field.default, bool) else {"type": type(field.default)}
        parser.add_argument(f"--{field.name}", default=field.default, **how)
    return kind(*vars(parser.parse_args(words)).values())


# %% wrong="fields from the annotations" says=["fields of its parents"]
import argparse
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Config:
    data: str = "data"
    out: str = "run"
    steps: int = 240
    batch: int = 32
    rate: float = 5e-3
    width: int = 16
    seed: int = 0
    every: int = 50
    flip: bool = True


def read_config(words: list[str], kind: type = Config) -> object:
    """Make a configuration of the words of a command line, such as ``["--steps", "20"]``.

    Ends with SystemExit, status 2, where a word is unknown or a value does not fit.
    """
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for name in kind.__annotations__:
        field = kind.__dataclass_fields__[name]
        switch = {"action": argparse.BooleanOptionalAction}
        how = switch if isinstance(field.default, bool) else {"type": type(field.default)}
        parser.add_argument(f"--{field.name}", default=field.default, **how)
    return kind(**vars(parser.parse_args(words)))


# %% right="by a loop over pairs"
import argparse
import dataclasses
from dataclasses import dataclass


@dataclass(frozen=True)
class Config:
    data: str = "data"
    out: str = "run"
    steps: int = 240
    batch: int = 32
    rate: float = 5e-3
    width: int = 16
    seed: int = 0
    every: int = 50
    flip: bool = True


def read_config(words, kind=Config):
    base = kind()
    parser = argparse.ArgumentParser(argument_default=argparse.SUPPRESS)
    for name in [f.name for f in dataclasses.fields(kind)]:
        default = getattr(base, name)
        if default is True or default is False:
            parser.add_argument("--" + name, dest=name, action="store_const", const=True)
            parser.add_argument("--no-" + name, dest=name, action="store_const", const=False)
        else:
            parser.add_argument("--" + name, dest=name, type=default.__class__)
    return dataclasses.replace(base, **vars(parser.parse_args(list(words))))


# %% wrong="one parser for every call" says=["every call has its own parser"]
import argparse
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Config:
    data: str = "data"
    out: str = "run"
    steps: int = 240
    batch: int = 32
    rate: float = 5e-3
    width: int = 16
    seed: int = 0
    every: int = 50
    flip: bool = True


PARSER = argparse.ArgumentParser(conflict_handler="resolve")


def read_config(words, kind=Config):
    parser = PARSER
    for field in fields(kind):
        name = "--" + field.name
        if isinstance(field.default, bool):
            parser.add_argument(name, action=argparse.BooleanOptionalAction, default=field.default)
        else:
            parser.add_argument(name, type=type(field.default), default=field.default)
    return kind(**vars(parser.parse_args(words)))


# %% wrong="always a Config, with the options of kind" says=["and makes a `kind`"]
import argparse
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Config:
    data: str = "data"
    out: str = "run"
    steps: int = 240
    batch: int = 32
    rate: float = 5e-3
    width: int = 16
    seed: int = 0
    every: int = 50
    flip: bool = True


def read_config(words, kind=Config):
    parser = argparse.ArgumentParser()
    for field in fields(kind):
        name = "--" + field.name
        if isinstance(field.default, bool):
            parser.add_argument(name, action=argparse.BooleanOptionalAction, default=field.default)
        else:
            parser.add_argument(name, type=type(field.default), default=field.default)
    return Config(**vars(parser.parse_args(words)))


# %% wrong="Config's defaults where names agree" says=["the options follow from the fields"]
import argparse
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Config:
    data: str = "data"
    out: str = "run"
    steps: int = 240
    batch: int = 32
    rate: float = 5e-3
    width: int = 16
    seed: int = 0
    every: int = 50
    flip: bool = True


def read_config(words, kind=Config):
    parser = argparse.ArgumentParser()
    for field in fields(kind):
        if hasattr(Config, field.name):
            field.default = getattr(Config, field.name)
        if isinstance(field.default, bool):
            parser.add_argument(
                f"--{field.name}", action=argparse.BooleanOptionalAction, default=field.default
            )
        else:
            parser.add_argument(f"--{field.name}", type=type(field.default), default=field.default)
    return kind(**vars(parser.parse_args(words)))


# %% wrong="dashes for underscores in a switch alone" breaks="underscores included" says=["the switch of the field keep_all is --keep_all"]
import argparse
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Config:
    data: str = "data"
    out: str = "run"
    steps: int = 240
    batch: int = 32
    rate: float = 5e-3
    width: int = 16
    seed: int = 0
    every: int = 50
    flip: bool = True


def read_config(words, kind=Config):
    parser = argparse.ArgumentParser()
    for field in fields(kind):
        name, default = field.name, field.default
        if isinstance(default, bool):
            parser.add_argument(
                "--" + name.replace("_", "-"),
                action=argparse.BooleanOptionalAction,
                default=default,
            )
        else:
            parser.add_argument("--" + name, type=type(default), default=default)
    values = vars(parser.parse_args(words))
    return kind(**values)


# %% wrong="texts lose their capitals" says=["leave it as it is"]
import argparse
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Config:
    data: str = "data"
    out: str = "run"
    steps: int = 240
    batch: int = 32
    rate: float = 5e-3
    width: int = 16
    seed: int = 0
    every: int = 50
    flip: bool = True


def read_config(words, kind=Config):
    parser = argparse.ArgumentParser()
    for field in fields(kind):
        option = "--" + field.name
        if isinstance(field.default, bool):
            parser.add_argument(
                option, action=argparse.BooleanOptionalAction, default=field.default
            )
        else:
            parser.add_argument(
                option,
                type=(lambda t: t.strip().lower())
                if type(field.default) is str
                else type(field.default),
                default=field.default,
            )
    return kind(**vars(parser.parse_args(words)))


# %% wrong="a parser for each name of a class" says=["a second dataclass, named as the first"]
import argparse
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Config:
    data: str = "data"
    out: str = "run"
    steps: int = 240
    batch: int = 32
    rate: float = 5e-3
    width: int = 16
    seed: int = 0
    every: int = 50
    flip: bool = True


PARSERS = {}


def read_config(words, kind=Config):
    parser = PARSERS.setdefault(kind.__name__, argparse.ArgumentParser())
    for field in fields(kind):
        if any(a.dest == field.name for a in parser._actions):
            continue
        option = "--" + field.name
        if isinstance(field.default, bool):
            parser.add_argument(
                option, action=argparse.BooleanOptionalAction, default=field.default
            )
        else:
            parser.add_argument(option, type=type(field.default), default=field.default)
    return kind(**vars(parser.parse_args(words)))


# %% wrong="made without a call" says=["may look at its fields in __post_init__"]
import argparse
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Config:
    data: str = "data"
    out: str = "run"
    steps: int = 240
    batch: int = 32
    rate: float = 5e-3
    width: int = 16
    seed: int = 0
    every: int = 50
    flip: bool = True


def read_config(words, kind=Config):
    parser = argparse.ArgumentParser()
    for field in fields(kind):
        option = "--" + field.name
        if isinstance(field.default, bool):
            parser.add_argument(
                option, action=argparse.BooleanOptionalAction, default=field.default
            )
        else:
            parser.add_argument(option, type=type(field.default), default=field.default)
    made = object.__new__(kind)
    for name, value in vars(parser.parse_args(words)).items():
        object.__setattr__(made, name, value)
    return made


# %% right="only what was said"
import argparse
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Config:
    data: str = "data"
    out: str = "run"
    steps: int = 240
    batch: int = 32
    rate: float = 5e-3
    width: int = 16
    seed: int = 0
    every: int = 50
    flip: bool = True


def read_config(words, kind=Config):
    parser = argparse.ArgumentParser()
    for field in fields(kind):
        option = "--" + field.name
        if isinstance(field.default, bool):
            parser.add_argument(
                option, action=argparse.BooleanOptionalAction, default=argparse.SUPPRESS
            )
        else:
            parser.add_argument(option, type=type(field.default), default=argparse.SUPPRESS)
    return kind(**vars(parser.parse_args(words)))


# %% wrong="infinity is no float" says=["'inf'"]
import argparse
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Config:
    data: str = "data"
    out: str = "run"
    steps: int = 240
    batch: int = 32
    rate: float = 5e-3
    width: int = 16
    seed: int = 0
    every: int = 50
    flip: bool = True


def finite(text):
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(text)
    return value


def read_config(words, kind=Config):
    parser = argparse.ArgumentParser()
    for field in fields(kind):
        option = "--" + field.name
        if isinstance(field.default, bool):
            parser.add_argument(
                option, action=argparse.BooleanOptionalAction, default=field.default
            )
        else:
            parser.add_argument(
                option,
                type=(lambda t: finite(t)) if type(field.default) is float else type(field.default),
                default=field.default,
            )
    return kind(**vars(parser.parse_args(words)))


# %% wrong="a number in quotes makes numbers" says=["a number in quotes"]
import argparse
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Config:
    data: str = "data"
    out: str = "run"
    steps: int = 240
    batch: int = 32
    rate: float = 5e-3
    width: int = 16
    seed: int = 0
    every: int = 50
    flip: bool = True


def read_config(words, kind=Config):
    parser = argparse.ArgumentParser()
    for field in fields(kind):
        option = "--" + field.name
        if isinstance(field.default, bool):
            parser.add_argument(
                option, action=argparse.BooleanOptionalAction, default=field.default
            )
        else:
            parser.add_argument(
                option,
                type=int if str(field.default).isdigit() else type(field.default),
                default=field.default,
            )
    return kind(**vars(parser.parse_args(words)))


# %% wrong="defaults of 0 have no type" says=["has the default 0, and became '7'"]
import argparse
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Config:
    data: str = "data"
    out: str = "run"
    steps: int = 240
    batch: int = 32
    rate: float = 5e-3
    width: int = 16
    seed: int = 0
    every: int = 50
    flip: bool = True


def read_config(words, kind=Config):
    parser = argparse.ArgumentParser()
    for field in fields(kind):
        option = "--" + field.name
        if isinstance(field.default, bool):
            parser.add_argument(
                option, action=argparse.BooleanOptionalAction, default=field.default
            )
        else:
            parser.add_argument(
                option, type=type(field.default) if field.default else str, default=field.default
            )
    return kind(**vars(parser.parse_args(words)))


# %% wrong="no is a 0 for all" says=["--no-… is for a bool alone"]
import argparse
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Config:
    data: str = "data"
    out: str = "run"
    steps: int = 240
    batch: int = 32
    rate: float = 5e-3
    width: int = 16
    seed: int = 0
    every: int = 50
    flip: bool = True


import sys


def read_config(words, kind=Config):
    given = {f.name: f.default for f in fields(kind)}
    words = list(words)
    while words:
        word = words.pop(0)
        name = word[2:]
        if not word.startswith("--"):
            sys.exit(2)
        if name.startswith("no-") and name[3:] in given:
            given[name[3:]] = type(given[name[3:]])(0)
        elif name not in given:
            sys.exit(2)
        elif isinstance(given[name], bool):
            given[name] = True
        else:
            try:
                given[name] = type(given[name])(words.pop(0))
            except (ValueError, IndexError):
                sys.exit(2)
    return kind(**given)


# %% wrong="a single dash is stripped as well" says=["an option begins with two dashes"]
import argparse
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Config:
    data: str = "data"
    out: str = "run"
    steps: int = 240
    batch: int = 32
    rate: float = 5e-3
    width: int = 16
    seed: int = 0
    every: int = 50
    flip: bool = True


def read_config(words: list[str], kind: type = Config) -> object:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for field in fields(kind):
        name = "--" + field.name
        if isinstance(field.default, bool):
            parser.add_argument(name, action=argparse.BooleanOptionalAction, default=field.default)
        else:
            parser.add_argument(name, type=type(field.default), default=field.default)
    words = [
        "--" + w.lstrip("-") if w.lstrip("-") in {f.name for f in fields(kind)} else w
        for w in words
    ]
    given = vars(parser.parse_args(words))
    return kind(**given)


# %% wrong="text of a switch after an equals sign" says=["a bool takes no text"]
import argparse
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Config:
    data: str = "data"
    out: str = "run"
    steps: int = 240
    batch: int = 32
    rate: float = 5e-3
    width: int = 16
    seed: int = 0
    every: int = 50
    flip: bool = True


def read_config(words: list[str], kind: type = Config) -> object:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for field in fields(kind):
        name = "--" + field.name
        if isinstance(field.default, bool):
            parser.add_argument(name, action=argparse.BooleanOptionalAction, default=field.default)
        else:
            parser.add_argument(name, type=type(field.default), default=field.default)
    words = [w.split("=")[0] if w.endswith(("=False", "=True")) else w for w in words]
    given = vars(parser.parse_args(words))
    return kind(**given)


# %% wrong="an empty text as default becomes None" says=["without its option name became None: its default '' counts"]
import argparse
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Config:
    data: str = "data"
    out: str = "run"
    steps: int = 240
    batch: int = 32
    rate: float = 5e-3
    width: int = 16
    seed: int = 0
    every: int = 50
    flip: bool = True


def read_config(words: list[str], kind: type = Config) -> object:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for field in fields(kind):
        name = "--" + field.name
        default = field.default
        if isinstance(default, bool):
            parser.add_argument(name, action=argparse.BooleanOptionalAction, default=default)
        else:
            parser.add_argument(
                name, type=type(default), default=None if default == "" else default
            )
    return kind(**vars(parser.parse_args(words)))


# %% wrong="options of earlier classes stay" says=["the dataclass of an earlier call had that field"]
import argparse
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Config:
    data: str = "data"
    out: str = "run"
    steps: int = 240
    batch: int = 32
    rate: float = 5e-3
    width: int = 16
    seed: int = 0
    every: int = 50
    flip: bool = True


PARSER = argparse.ArgumentParser(conflict_handler="resolve")


def read_config(words: list[str], kind: type = Config) -> object:
    parser = PARSER
    for field in fields(kind):
        if isinstance(field.default, bool):
            parser.add_argument(
                f"--{field.name}", action=argparse.BooleanOptionalAction, default=field.default
            )
        else:
            parser.add_argument(f"--{field.name}", type=type(field.default), default=field.default)
    got = vars(parser.parse_args(words))
    return kind(**{f.name: got[f.name] for f in fields(kind)})


# %% right="the attributes of an object"
import argparse
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Config:
    data: str = "data"
    out: str = "run"
    steps: int = 240
    batch: int = 32
    rate: float = 5e-3
    width: int = 16
    seed: int = 0
    every: int = 50
    flip: bool = True


def read_config(words: list[str], kind: type = Config) -> object:
    parser = argparse.ArgumentParser()
    for name, default in vars(kind()).items():
        if isinstance(default, bool):
            parser.add_argument(f"--{name}", action=argparse.BooleanOptionalAction, default=default)
        else:
            parser.add_argument(f"--{name}", type=type(default), default=default)
    return kind(**vars(parser.parse_args(words)))


# %% wrong="names of the class, its parents' too" says=["names of the class that are no fields"]
import argparse
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Config:
    data: str = "data"
    out: str = "run"
    steps: int = 240
    batch: int = 32
    rate: float = 5e-3
    width: int = 16
    seed: int = 0
    every: int = 50
    flip: bool = True


def read_config(words: list[str], kind: type = Config) -> object:
    parser = argparse.ArgumentParser()
    known = [k.__dict__.get("__annotations__", {}) for k in kind.__mro__[:-1]]
    made = kind()
    for name in [name for part in reversed(known) for name in part]:
        default = getattr(made, name)
        if isinstance(default, bool):
            parser.add_argument(f"--{name}", action=argparse.BooleanOptionalAction, default=default)
        else:
            parser.add_argument(f"--{name}", type=type(default), default=default)
    return kind(**vars(parser.parse_args(words)))


# %% wrong="words from a file behind @" says=["'@here' is a text as any other"]
import argparse
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Config:
    data: str = "data"
    out: str = "run"
    steps: int = 240
    batch: int = 32
    rate: float = 5e-3
    width: int = 16
    seed: int = 0
    every: int = 50
    flip: bool = True


def read_config(words: list[str], kind: type = Config) -> object:
    parser = argparse.ArgumentParser(fromfile_prefix_chars="@")
    for field in fields(kind):
        if isinstance(field.default, bool):
            parser.add_argument(
                f"--{field.name}", action=argparse.BooleanOptionalAction, default=field.default
            )
        else:
            parser.add_argument(f"--{field.name}", type=type(field.default), default=field.default)
    return kind(**vars(parser.parse_args(words)))


# %% wrong="a switch is set once" says=["of two words for a field the last one counts"]
import argparse
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Config:
    data: str = "data"
    out: str = "run"
    steps: int = 240
    batch: int = 32
    rate: float = 5e-3
    width: int = 16
    seed: int = 0
    every: int = 50
    flip: bool = True


def read_config(words: list[str], kind: type = Config) -> object:
    parser = argparse.ArgumentParser()
    for field in fields(kind):
        if isinstance(field.default, bool):
            either = parser.add_mutually_exclusive_group()
            either.add_argument(
                f"--{field.name}", dest=field.name, action="store_true", default=field.default
            )
            either.add_argument(
                f"--no-{field.name}", dest=field.name, action="store_false", default=field.default
            )
        else:
            parser.add_argument(f"--{field.name}", type=type(field.default), default=field.default)
    return kind(**vars(parser.parse_args(words)))


# %% wrong="whole numbers as Python writes them in programs" says=["007", "are all right and ended the program"]
import argparse
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Config:
    data: str = "data"
    out: str = "run"
    steps: int = 240
    batch: int = 32
    rate: float = 5e-3
    width: int = 16
    seed: int = 0
    every: int = 50
    flip: bool = True


def read_config(words, kind=Config):
    parser = argparse.ArgumentParser()
    for field in fields(kind):
        if isinstance(field.default, bool):
            parser.add_argument(
                f"--{field.name}", action=argparse.BooleanOptionalAction, default=field.default
            )
        else:
            parser.add_argument(
                f"--{field.name}",
                type=(lambda t: int(t, 0))
                if isinstance(field.default, int)
                else type(field.default),
                default=field.default,
            )
    return kind(**vars(parser.parse_args(words)))


# %% right="what was given replaces a default"
import argparse
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Config:
    data: str = "data"
    out: str = "run"
    steps: int = 240
    batch: int = 32
    rate: float = 5e-3
    width: int = 16
    seed: int = 0
    every: int = 50
    flip: bool = True


from dataclasses import replace


def read_config(words: list[str], kind: type = Config) -> object:
    default = kind()
    parser = argparse.ArgumentParser(allow_abbrev=False, argument_default=argparse.SUPPRESS)
    for name, value in vars(default).items():
        if value is True or value is False:
            parser.add_argument("--" + name, dest=name, action="store_const", const=True)
            parser.add_argument("--no-" + name, dest=name, action="store_const", const=False)
        else:
            parser.add_argument("--" + name, dest=name, type=value.__class__)
    return replace(default, **vars(parser.parse_args(words)))


# %% wrong="by the annotation, where it is int, float or str" breaks="an option's text becomes what its default is" says=["go by a field's default: its annotation may be wider"]
import argparse
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Config:
    data: str = "data"
    out: str = "run"
    steps: int = 240
    batch: int = 32
    rate: float = 5e-3
    width: int = 16
    seed: int = 0
    every: int = 50
    flip: bool = True


def read_config(words: list[str], kind: type = Config) -> object:
    """Make a configuration of the words of a command line, such as ``["--steps", "20"]``.

    Ends with SystemExit, status 2, where a word is unknown or a value does not fit.
    """
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for field in fields(kind):
        switch = {"action": argparse.BooleanOptionalAction}
        kind_of = field.type if field.type in (int, float, str) else type(field.default)
        how = switch if isinstance(field.default, bool) else {"type": kind_of}
        parser.add_argument(f"--{field.name}", default=field.default, **how)
    return kind(**vars(parser.parse_args(words)))


# %% wrong="whole numbers by NumPy" breaks="an option's text becomes what its default is" says=["an int has as many digits as it likes"]
import argparse
from dataclasses import dataclass, fields

import numpy as np


@dataclass(frozen=True)
class Config:
    data: str = "data"
    out: str = "run"
    steps: int = 240
    batch: int = 32
    rate: float = 5e-3
    width: int = 16
    seed: int = 0
    every: int = 50
    flip: bool = True


def read_config(words: list[str], kind: type = Config) -> object:
    """Make a configuration of the words of a command line, such as ``["--steps", "20"]``.

    Ends with SystemExit, status 2, where a word is unknown or a value does not fit.
    """
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for field in fields(kind):
        switch = {"action": argparse.BooleanOptionalAction}
        read = {int: lambda text: int(np.int64(int(text)))}.get(
            type(field.default), type(field.default)
        )
        how = switch if isinstance(field.default, bool) else {"type": read}
        parser.add_argument(f"--{field.name}", default=field.default, **how)
    return kind(**vars(parser.parse_args(words)))
