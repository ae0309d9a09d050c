"""HTML that would run in the instructor's browser: in text, outputs, names, pictures."""

from html.parser import HTMLParser

from support.hostile import (
    ERROR,
    EVERYTHING,
    RIGHT_ERROR,
    RIGHT_SHAPES,
    SHAPES,
    add_cell,
    add_text,
    answer,
)

ARRIVED = ["stolen-cookie"]
EARNS = EVERYTHING
EVIL = "stolen-cookie"
SCRIPT = f"<script>alert('{EVIL}')</script>"
SHOW = f"""
from IPython.display import HTML, Javascript, Markdown, SVG, display
script = "{SCRIPT}"
display(HTML(script), Javascript("alert('{EVIL}')"), Markdown(script))
display(HTML('<img src=x onerror="{EVIL}()"><iframe src="//{EVIL}"></iframe>'))
display(SVG(data='<svg xmlns="http://www.w3.org/2000/svg" onload="{EVIL}()">' + script + '</svg>'))
display({{"text/plain": script, "application/javascript": script, "text/latex": script}}, raw=True)
metadata = {{"image/png": {{"width": '1" onload="{EVIL}()'}}}}
display({{"image/png": 'x" onerror="{EVIL}()'}}, metadata=metadata, raw=True)
raise ValueError(script)
"""


def hand_in(chapter, notebook, folder):
    add_cell(notebook, SHOW)
    add_text(notebook, f'{SCRIPT} <a href="javascript:{EVIL}()">a</a> <img src=x onerror={EVIL}()>')
    notebook.metadata["title"] = f"</title>{SCRIPT}"
    answer(notebook, SHAPES, RIGHT_SHAPES)
    answer(notebook, ERROR, RIGHT_ERROR)


class Reader(HTMLParser):
    """Collects what a browser would run."""

    def __init__(self) -> None:
        super().__init__()
        self.runs: list[str] = []
        self.element = ""

    def handle_starttag(self, tag, attributes):
        self.element = tag
        for name, value in attributes:
            runs = name.startswith("on") or (value or "").lower().startswith("javascript:")
            if runs or tag in ("iframe", "object", "embed", "svg", "base", "form"):
                self.runs.append(f"{tag} {name} {value}")

    def handle_endtag(self, tag):
        self.element = ""

    def handle_data(self, data):
        if self.element in ("script", "style", "title"):
            self.runs.append(data)


def harm(graded):
    reader = Reader()
    reader.feed(graded.feedback)
    assert reader.runs, "the page's own scripts are seen"
    assert not [text for text in reader.runs if EVIL in text]
