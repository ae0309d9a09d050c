"""A page that is one file and needs no network, and the report as such a page.

Everything that students wrote is escaped, signs that cannot be seen are spelled out, and the page's
own policy lets no other script run.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from course_utils.files import replacing

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).with_name("templates")
# What the page shows at most, so that it stays readable; report.json has everything.
SHOWN_PAIRS = 40
SHOWN_ALIKE = 20
SHOWN_LINES = 80
SHOWN_COLUMNS = 160
SHOWN_FLAGS = 10
SHOWN_WORDINGS = 6
# Control signs, half characters, and signs that turn or hide the text around them.
UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)


def write_report(report: Mapping[str, Any], folder: Path) -> None:
    """Write ``report.json`` and ``report.html`` into ``folder``, each of them whole or not at all.

    Args:
        report: what :func:`class_report` returned.
        folder: ``reports/CHAPTER`` in the course's root, made where it is missing. The page links
            to the feedback files from there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    texts = {"report.json": json.dumps(report, indent=1) + "\n", "report.html": render(report)}
    for name, text in texts.items():
        with replacing(folder / name) as unfinished:
            unfinished.write_text(text, encoding="utf-8")


@functools.cache
def page_templates(folder: Path) -> Environment:
    """Jinja for a folder's pages: all text is escaped, signs that cannot be seen spelled out."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=spelled_out,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def page_style(own: Path) -> str:
    """A page's style sheet: the colours and the ground of all pages, then its own."""
    return "".join(path.read_text(encoding="utf-8") for path in (TEMPLATES / "theme.css", own))


def render(report: Mapping[str, Any]) -> str:
    """The report as one HTML page."""
    from markupsafe import Markup

    templates = page_templates(TEMPLATES)
    templates.filters.update(
        duration=duration,
        link=lambda name: quote(name, safe="", errors="replace"),
        people=people,
        points="{:g}".format,
    )
    style = page_style(TEMPLATES / "report.css")
    script = (TEMPLATES / "report.js").read_text(encoding="utf-8")
    return templates.get_template("report.html").render(
        report=report,
        style=Markup(style),
        style_hash=policy_hash(style),
        script=Markup(script),
        script_hash=policy_hash(script),
        histogram=_histogram(report["marks"]["bars"]),
        numbers={row["exercise"]: row["number"] for row in report["exercises"]},
        titles={row["exercise"]: row["title"] for row in report["exercises"]},
        side_by_side=side_by_side,
        shown_pairs=SHOWN_PAIRS,
        shown_alike=SHOWN_ALIKE,
        shown_flags=SHOWN_FLAGS,
        shown_wordings=SHOWN_WORDINGS,
    )


def policy_hash(text: str) -> str:
    """How a content security policy names a script or a style that it lets through."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def spelled_out(value: Any) -> Any:
    """A text with the signs that cannot be seen, or that turn the text around, spelled out."""
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    return UNSEEN.sub(lambda sign: f"\\u{ord(sign[0]):04x}", value)


def duration(seconds: float) -> str:
    """Seconds as a person says them: ``0.34 s``, ``12 s``, ``3 min 20 s``."""
    if seconds < 10:
        return f"{seconds:.2f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if rest else f"{minutes} min"


def people(count: int) -> str:
    return "1 student" if count == 1 else f"{count} students"


def _histogram(bars: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Where the bars, the counts and the axis' numbers stand, in the drawing's own units."""
    width, height, left, top = 680, 180, 44, 28
    tallest = max((bar["students"] for bar in bars), default=0) or 1
    # Up to five lines at round numbers of students.
    step = next(s for p in range(7) for s in (10**p, 2 * 10**p, 5 * 10**p) if tallest / s <= 5)
    top_line = math.ceil(tallest / step) * step
    place = width / max(1, len(bars))
    return {
        "bars": [
            {
                "x": round(left + place * (number + 0.06), 1),
                "middle": round(left + place * (number + 0.5), 1),
                "y": round(top + height * (1 - bar["students"] / top_line), 1),
                "width": round(0.88 * place, 1),
                "height": round(height * bar["students"] / top_line, 1),
                "label": bar["label"],
                "students": bar["students"],
            }
            for number, bar in enumerate(bars)
        ],
        "lines": [
            {"y": round(top + height * (1 - value / top_line), 1), "value": value}
            for value in range(0, top_line + 1, step)
        ],
        **{"left": left, "right": left + width, "bottom": top + height},
        **{"width": left + width + 8, "height": top + height + 46},
    }


def side_by_side(sources: Iterable[Sequence[str]]) -> dict[str, Any]:
    """Two texts as rows for a table, so that equal lines stand beside each other.

    Returns:
        ``rows`` of ``(left line, right line, whether they are the same)``, and ``more``, how many
        rows are left out.
    """
    texts = [text.split("\n") for _, text in sources]
    left, right = (text[: 2 * SHOWN_LINES] for text in texts)
    unread = max(0, max(map(len, texts)) - 2 * SHOWN_LINES)
    rows = []
    for kind, a, b, c, d in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        for one, other in zip_longest(left[a:b], right[c:d], fillvalue=""):
            rows.append((_short(one), _short(other), kind == "equal"))
    return {"rows": rows[:SHOWN_LINES], "more": max(0, len(rows) - SHOWN_LINES) + unread}


def _short(line: str) -> str:
    return line if len(line) <= SHOWN_COLUMNS else line[:SHOWN_COLUMNS] + " …"
