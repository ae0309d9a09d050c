"""Chapters that are not in the form of today, and the rules that they don't keep yet.

The issue on the second edition of the first chapters brings them there. The list may only shrink: a
test fails when a chapter keeps a rule that it is excused from.
"""

NOT_YET: dict[str, tuple[str, ...]] = {
    "00_start_here": ("core_path", "visible_kinds"),
    "01_tensors": ("core_path", "quick_win", "call_outs", "visible_kinds"),
    "02_storage_and_strides": ("core_path", "quick_win", "scaffolding", "call_outs"),
}
