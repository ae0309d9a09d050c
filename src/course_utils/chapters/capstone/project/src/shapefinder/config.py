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
    return kind(**vars(parser.parse_args(words)))
