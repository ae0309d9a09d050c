"""Mathematics as MathML, which browsers lay out and read out themselves: no script, no network.

The font that it needs, STIX Two Math, comes with the package ziamath.
"""

from __future__ import annotations

import importlib.resources
import shutil
from pathlib import Path

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx

FONT = "STIXTwoMath-Regular.ttf"


def mathml(latex: str, display: str) -> str:
    """A formula as an element of MathML; ``display`` is ``"inline"`` or ``"block"``."""
    return convert(latex.strip(), display=display)


def visit_inline(translator, node: nodes.math) -> None:
    translator.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def visit_block(translator, node: nodes.math_block) -> None:
    formula = mathml(node.astext(), "block")
    translator.body.append(f'<div class="formula" tabindex="0">{formula}</div>')
    raise nodes.SkipNode


def copy_font(app: Sphinx, exception: Exception | None) -> None:
    """Put the font beside the pages' other static files."""
    if exception is None and app.builder.format == "html":
        font = importlib.resources.files("ziamath") / "fonts" / FONT
        with importlib.resources.as_file(font) as path:
            shutil.copyfile(path, Path(app.outdir) / "_static" / FONT)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.connect("build-finished", copy_font)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
