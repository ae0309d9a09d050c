"""Calls that are made first and compared afterwards, so that a slip can explain all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


class Tried:
    """What each of some calls gave or raised, by name."""

    def __init__(self, calls: Mapping[str, Callable[[], Any]]) -> None:
        self.given, self.raised = {}, {}
        for name, call in calls.items():
            try:
                self.given[name] = call()
            except Exception as error:
                self.raised[name] = error

    def result(self, name: str) -> Any:
        """What the call gave; or what it raised is raised now."""
        if name in self.raised:
            raise self.raised[name]
        return self.given[name]
