"""Mermaid as pictures, drawn while the site is built.

It is Mermaid itself that draws, in an engine that mermaidx brings: no browser, no network. Each
diagram is drawn twice, for light and for dark pages.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache

import mermaidx
from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

THEMES = {"only-light": "neutral", "only-dark": "dark"}
# A flowchart to the right that is wider than this, in pixels, is drawn downwards instead.
PAGE = 1000
TO_THE_RIGHT = re.compile(r"\s*(flowchart|graph) LR\b")


class Diagram(Directive):
    """A fence whose language is ``mermaid``."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        source = "\n".join(self.content)
        drawings = "".join(
            f'<div class="{style}">{drawn(source, theme)}</div>' for style, theme in THEMES.items()
        )
        return [nodes.raw("", f'<div class="diagram" tabindex="0">{drawings}</div>', format="html")]


@cache
def drawn(source: str, theme: str) -> str:
    """A diagram as SVG, in its natural size, with ids that no other has; read out as its source."""
    picture = mermaidx.render(source, theme=theme).svg()
    if _width(picture) > PAGE and TO_THE_RIGHT.match(source):
        picture = mermaidx.render(TO_THE_RIGHT.sub(r"\1 TB", source, 1), theme=theme).svg()
    own = "diagram-" + hashlib.sha256((source + theme).encode()).hexdigest()[:8]
    picture = picture.replace("my-svg", own)
    words = " ".join(re.findall(r'"([^"]+)"', source)).replace("<br>", " ")
    width = f' style="--natural: {_width(picture):.0f}px"'
    picture = re.sub(r' style="max-width[^"]*"', "", picture, count=1)
    picture = re.sub(
        r' role="graphics-document document"[^>]*?>',
        f' role="img" aria-label="Diagram: {words}"{width}>',
        picture,
        count=1,
    )
    return picture.replace(' width="100%"', "", 1)


def _width(picture: str) -> float:
    """The width of an SVG in pixels."""
    found = re.search(r'viewBox="[\d.-]+ [\d.-]+ ([\d.]+) [\d.]+"', picture)
    return float(found[1]) if found else PAGE


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("mermaid", Diagram)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
