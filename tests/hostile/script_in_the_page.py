"""HTML that would run in the instructor's browser: in text, outputs, names, pictures."""

import re

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


def harm(graded):
    page = graded.feedback
    assert not re.search(rf"<script[^>]*>[^<]*{EVIL}", page)
    assert not re.search(rf"<[^>]*\son\w+\s*=[^>]*{EVIL}", page)
    assert not re.search(rf"<[^>]*javascript:[^>]*{EVIL}", page)
    assert not re.search(rf"<(iframe|object|embed|svg)[^>]*{EVIL}", page)
