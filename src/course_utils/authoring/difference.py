"""Where two notebooks differ, but for what may vary from run to run."""

from __future__ import annotations

import re
from configparser import ConfigParser
from pathlib import Path

from nbformat import NotebookNode

from course_utils.authoring.source import (
    IGNORE_OUTPUT_TAG,
)

# How large an image is shown.
SIZE = ("width", "height")


def varies(cell: NotebookNode) -> bool:
    """Whether a code cell's output may differ from run to run."""
    return cell.cell_type == "code" and IGNORE_OUTPUT_TAG in cell.metadata.get("tags", [])


def read_sanitizers(root: Path) -> list[tuple[re.Pattern, str]]:
    """The project's nbval sanitising rules: what may vary from run to run inside a text output."""
    parser = ConfigParser(interpolation=None)
    parser.read(root / "nbval_sanitize.cfg", encoding="utf-8")
    return [
        (re.compile(parser[name]["regex"]), parser[name]["replace"]) for name in parser.sections()
    ]


def first_difference(
    old: NotebookNode, new: NotebookNode, sanitizers: list[tuple[re.Pattern, str]]
) -> str | None:
    """Say where two notebooks first differ, leaving aside what may vary.

    What may vary: image bytes (they change with the drawing library's version), outputs of cells
    tagged ``nbval-ignore-output``, and what the sanitising rules replace.

    Returns:
        None, or words such as ``cell view-strides: its source differs``.
    """

    def stable(text: str | list[str]) -> str:
        text = "".join(text)
        for pattern, replacement in sanitizers:
            text = pattern.sub(replacement, text)
        return text

    def outputs(cell: NotebookNode) -> list:
        kept = []
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            texts = {
                kind: stable(str(value)) for kind, value in data.items() if "image/" not in kind
            }
            images = sorted(kind for kind in data if "image/" in kind)
            error = (output.get("ename"), stable(output.get("evalue", "")))
            # Alt texts stand in the metadata; an image's size changes with its bytes.
            metadata = {
                kind: {name: value for name, value in about.items() if name not in SIZE}
                if isinstance(about, dict)
                else about
                for kind, about in output.get("metadata", {}).items()
            }
            metadata = stable(str(metadata))
            printed = stable(output.get("text", ""))
            kept.append((output.output_type, texts, images, metadata, printed, error))
        return kept

    for position, (before, after) in enumerate(zip(old.cells, new.cells, strict=False)):
        name = f"cell {after.get('id', position)}"
        if before.get("id") != after.get("id"):
            return f"{name}: another cell ({before.get('id')}) stands in its place"
        for part in ("cell_type", "source", "metadata"):
            if before[part] != after[part]:
                return f"{name}: its {part.replace('_', ' ')} differs"
        if not varies(after) and outputs(before) != outputs(after):
            return f"{name}: its output differs"
    if len(old.cells) != len(new.cells):
        longer, shorter = (old, new) if len(old.cells) > len(new.cells) else (new, old)
        extra = longer.cells[len(shorter.cells)].get("id")
        return f"cell {extra}: it is in the {'committed' if longer is old else 'built'} file alone"
    if old.metadata != new.metadata:
        return "the notebook's metadata differs"
    return None
