"""Chapters that are not in the form of today, and the rules that they don't keep yet.

The list may only shrink: a test fails when a chapter keeps a rule that it is excused from.
"""

NOT_YET: dict[str, tuple[str, ...]] = {}
