"""Where a learner stopped."""

import json
import re
from pathlib import Path

from course_utils.cells import text_of
from course_utils.exercises import CHAPTER

SECTION = re.compile(r"^#{2,3} +(.+?) *$", re.MULTILINE)


def where_stopped(folder: Path) -> str:
    """The chapter that was saved last and the section of the cell that ran last in it; or nothing.

    Cells count within a kernel: of two sittings the later one is right unless it ran less.
    """
    saved = [path for path in folder.glob("*/*.ipynb") if CHAPTER.fullmatch(path.stem)]
    saved.sort(key=lambda path: path.stat().st_mtime)
    for path in reversed(saved):
        try:
            cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
            counts = [cell.get("execution_count") or 0 for cell in cells]
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            continue
        if any(counts):
            last = counts.index(max(counts))
            above = "\n".join(
                text_of(cell) for cell in cells[:last] if cell.get("cell_type") == "markdown"
            )
            sections = SECTION.findall(above)
            section = sections[-1].removesuffix(" · core") if sections else ""
            return f"{path.stem}: {section}" if section else path.stem
    return ""
