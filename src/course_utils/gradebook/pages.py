"""A student's cells as HTML: quick to write, and no place for a student's scripts.

nbgrader shows what students wrote, and what their code printed as HTML, in the instructor's
browser. ``nbgrader_config.py`` names these functions and classes as nbconvert's filters and steps
for formgrader; feedback has them by ``cells_exporter``.
"""

from __future__ import annotations

import functools
import json
import re
import secrets
from collections.abc import Callable

import bleach
from nbconvert.exporters import HTMLExporter, TemplateExporter
from nbconvert.filters import Highlight2HTML
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbconvert.filters.widgetsdatatypefilter import WidgetsDataTypeFilter
from nbconvert.preprocessors import Preprocessor
from nbformat import NotebookNode, from_dict

from course_utils.gradebook.exporters import WithoutChecks
from course_utils.gradebook.feedback import TEMPLATES, check_title

TAGS = {
    *bleach.ALLOWED_TAGS,
    *("p", "br", "hr", "div", "span", "pre", "del", "s", "sub", "sup", "kbd", "small", "mark"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "dl", "dt", "dd", "details", "summary", "figure"),
    *("figcaption", "img", "table", "caption", "thead", "tbody", "tfoot", "tr", "th", "td"),
}
# A picture travels inside the page: one from elsewhere would tell its owner who reads what.
PICTURE = re.compile(r"data:image/(png|jpeg|gif|svg\+xml);base64,[A-Za-z0-9+/=\s]*\Z")
LINK = re.compile(r"(https?://|mailto:|#)", re.IGNORECASE)
NUMBER = re.compile(r"\d{1,5}(\.\d{1,5})?\Z")
# The words of a style sheet are no text.
STYLE_SHEET = re.compile(r"<style[^<>]*>[^<]*</style>", re.IGNORECASE)
WORDLESS_PICTURE = re.compile(r"<img(?![^>]*\salt=)")
LONG_CHARACTERS = 20_000
MOST_REMEMBERED = 1000
OUTPUT_KINDS = {
    *("text/plain", "text/latex", "text/markdown", "text/html"),
    *("image/png", "image/jpeg", "image/gif", "image/svg+xml"),
}


def allowed(tag: str, name: str, value: str) -> bool:
    """Whether an HTML attribute does no more than format, name or link."""
    if name == "src":
        return tag == "img" and bool(PICTURE.match(value))
    if name == "href":
        return tag == "a" and bool(LINK.match(value))
    if name in ("width", "height", "colspan", "rowspan", "start"):
        return bool(NUMBER.match(value))
    return name in ("class", "id", "title", "alt", "align", "lang", "open", "hidden")


def remembered(render: Callable[[str], str]) -> Callable[[str], str]:
    """Keep what was rendered, long texts aside: most cells are the same for a whole class."""
    keep = functools.lru_cache(maxsize=MOST_REMEMBERED)(render)

    @functools.wraps(render)
    def look_up(source: str) -> str:
        return keep(source) if len(source) < LONG_CHARACTERS else render(source)

    return look_up


@remembered
def safe_html(html: str) -> str:
    """HTML without scripts, styles, forms, frames and pictures from elsewhere."""
    protocols = {*bleach.ALLOWED_PROTOCOLS, "data"}
    html = STYLE_SHEET.sub("", html)
    return bleach.clean(html, tags=TAGS, attributes=allowed, protocols=protocols, strip=True)


class TextRenderer(IPythonRenderer):
    """nbconvert's renderer, for which a picture whose attachment is missing is no error."""

    def image(self, text: str, url: str, title: str | None = None) -> str:
        return super().image(text, "" if url.startswith("attachment:") else url, title)


@remembered
def safe_markdown(source: str) -> str:
    """A Markdown cell as safe HTML."""
    return safe_html(MarkdownWithMath(renderer=TextRenderer(escape=False)).render(source))


@remembered
def highlight(source: str) -> str:
    # Not IPython's own lexer: many blank lines take it minutes.
    return Highlight2HTML(pygments_lexer="python3")(source)


def highlight_code(source: str, language: str | None = None, metadata: dict | None = None) -> str:
    """A code cell in colours."""
    return highlight(source)


class SafeOutputs(Preprocessor):
    """Keep of each output what a page may show: no scripts, and no notes on how to lay it out."""

    def preprocess_cell(
        self, cell: NotebookNode, resources: dict, index: int
    ) -> tuple[NotebookNode, dict]:
        for name, kinds in cell.pop("attachments", {}).items():
            for kind, data in kinds.items():
                # Once: a cell could name a large one ten thousand times.
                cell.source = cell.source.replace(
                    f"attachment:{name}", f"data:{kind};base64,{data}", 1
                )
        if cell.cell_type == "raw":
            cell.source = safe_html(cell.source)
        for output in cell.get("outputs", []):
            if "data" not in output:
                continue
            output.data = {
                kind: safe_html("".join(data)) if kind == "text/html" else data
                for kind, data in output.data.items()
                if kind in OUTPUT_KINDS
            }
            # nbconvert writes a width or a height into the page without quotes.
            output.metadata = {
                kind: {"alt": str(notes["alt"])}
                for kind, notes in output.metadata.items()
                if isinstance(notes, dict) and "alt" in notes
            }
        return cell, resources


class CellsExporter(WithoutChecks, HTMLExporter):
    """nbconvert's ``HTMLExporter`` that lays out each cell once, and leaves out its last step.

    Most cells are the same for a whole class. The last step reads the whole page again to name
    pictures without words, and takes two thirds of the time.
    """

    def __init__(self, **keywords) -> None:
        super().__init__(**keywords)
        # Between two cells; nobody else knows it, so that no cell can write it.
        self.mark = f"<!--{secrets.token_hex(16)}-->"
        # From a cell, as JSON, to its HTML; what was asked for last comes last.
        self.known: dict[str, str] = {}

    def from_notebook_node(  # ty: ignore[incompatible-method-override]  as nbconvert's own: text
        self, nb: NotebookNode, resources: dict | None = None, **keywords
    ) -> tuple[str, dict]:
        resources = self._init_resources(resources or {}) | {"mark": self.mark}
        asked = [json.dumps(cell, sort_keys=True) for cell in nb.cells]
        cells = dict(zip(asked, nb.cells, strict=True))
        fresh = [key for key in cells if key not in self.known]
        rest = {**nb, "cells": [cells[key] for key in fresh]}
        page, resources = self.lay_out(rest, resources, **keywords)
        around, *parts = page.split(self.mark)
        known = self.known | dict(zip(fresh, map(str.strip, parts), strict=True))
        html = "\n".join([around.strip(), *(known[key] for key in asked)])
        self.remember({key: known[key] for key in asked})
        return html, resources

    def lay_out(self, nb: dict, resources: dict, **keywords) -> tuple[str, dict]:
        """All cells of a notebook as HTML, each with the mark before it."""
        kinds = WidgetsDataTypeFilter(
            notebook_metadata=self._nb_metadata, parent=self, resources=resources
        )
        self.register_filter("filter_data_type", kinds)
        page, resources = TemplateExporter.from_notebook_node(
            self, from_dict(nb), resources, **keywords
        )
        return WORDLESS_PICTURE.sub('<img alt="A picture without a description"', page), resources

    def remember(self, cells: dict[str, str]) -> None:
        """Keep the HTML of some cells, by their JSON, in place of what was long not asked for."""
        for key, html in cells.items():
            self.known.pop(key, None)
            if len(key) + len(html) < LONG_CHARACTERS:
                self.known[key] = html
        for key in list(self.known)[:-MOST_REMEMBERED]:
            del self.known[key]


def cells_exporter() -> CellsExporter:
    """What turns a notebook's cells, and nothing around them, into safe HTML."""
    return CellsExporter(
        template_name="cells",
        extra_template_basedirs=[str(TEMPLATES)],
        preprocessors=[SafeOutputs],
        filters={
            "check_title": check_title,
            "clean_html": safe_html,
            "highlight_code": highlight_code,
            "markdown2html": safe_markdown,
        },
        sanitize_html=True,
        exclude_input_prompt=True,
        exclude_output_prompt=True,
    )
