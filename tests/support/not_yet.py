"""Chapters that are not in the form of today, and the rules that they don't keep yet.

The list may only shrink: a test fails when a chapter keeps a rule that it is excused from.
"""

NOT_YET: dict[str, tuple[str, ...]] = {
    # Three folded cells of trials, and comments for the formatter.
    "08_modules": ("folded", "line_lengths", "comments_for_tools"),
}
