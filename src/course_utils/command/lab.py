"""JupyterLab on a learner's folder, and how far the learner is, on a terminal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from course_utils.copies.copying import KEPT
from course_utils.exercises import FOLDER_VARIABLE, STATES, ChapterProgress, what_is_left

FIRST = "00_start_here"
# One sign an exercise: solved, tried, untouched.
BAR = "█▒·"


def show_bars(chapters: list[ChapterProgress], console: Console) -> None:
    """Draw one bar a chapter: solved, tried, untouched; points; minutes left; the next exercise."""
    table = Table(box=None, pad_edge=False)
    table.add_column("chapter", min_width=22, no_wrap=True)
    table.add_column(f"solved {BAR[0]}, tried {BAR[1]}, open {BAR[2]}", min_width=12)
    table.add_column("points", justify="right", min_width=6)
    table.add_column("core left", justify="right", min_width=9)
    table.add_column("next", no_wrap=True, overflow="ellipsis")
    for chapter in chapters:
        title = f"{chapter.name[:2]} {chapter.title}"
        if chapter.problem:
            table.add_row(chapter.name, Text(chapter.problem, style="red"), "", "", "")
            continue
        bar = "".join(sign * chapter.count(state) for sign, state in zip(BAR, STATES, strict=True))
        points = f"{chapter.earned:g}/{chapter.points:g}"
        upcoming = chapter.next.label if chapter.next else ("all solved" if bar else "")
        left = f"{chapter.core_minutes_left} min"
        table.add_row(Text(title), bar, points, left, Text(upcoming))
    console.print(table)
    console.print(what_is_left(chapters))


def jupyter_variables(root: Path) -> dict[str, str]:
    """The variables with which JupyterLab has the course's settings for learners."""
    settings = root / "etc" / "jupyter"
    paths = [str(settings / "learner"), str(settings)]
    if os.environ.get("JUPYTER_CONFIG_PATH"):
        paths.append(os.environ["JUPYTER_CONFIG_PATH"])
    return {**os.environ, "JUPYTER_CONFIG_PATH": os.pathsep.join(paths)}


def first_workspace(folder: Path, workspaces: Path) -> None:
    """Let the first start open the first chapter; later ones open the tabs that were open."""
    if any(workspaces.glob("*")) or not (folder / FIRST).is_dir():
        return
    from jupyterlab_server.workspaces_handler import WorkspacesManager

    path = f"{FIRST}/{FIRST}.ipynb"
    widget = f"notebook:{path}"
    area = {"type": "tab-area", "currentIndex": 0, "widgets": [widget]}
    layout = {"main": {"dock": area, "current": widget}}
    data = {
        "layout-restorer:data": layout,
        widget: {"data": {"path": path, "factory": "Notebook"}},
        "file-browser-filebrowser:cwd": {"path": ""},
    }
    workspaces.mkdir(parents=True, exist_ok=True)
    WorkspacesManager(str(workspaces)).save(
        "default", json.dumps({"data": data, "metadata": {"id": "default"}})
    )


def open_lab(root: Path, folder: Path, arguments: tuple[str, ...]) -> int:
    """Run JupyterLab in the learner's folder until it ends; its exit status."""
    workspaces = folder / KEPT / "workspaces"
    first_workspace(folder, workspaces)
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={folder}"]
    # Which tabs were open belongs to this folder: tabs of another would come back without files.
    command += [f"--LabApp.workspaces_dir={workspaces}", *arguments]
    variables = {**jupyter_variables(root), FOLDER_VARIABLE: str(folder)}
    if hasattr(os, "fork"):
        # In this process's place, so that Ctrl-C reaches JupyterLab with nothing in between.
        os.chdir(folder)
        os.execve(sys.executable, command, variables)
    try:
        return subprocess.run(command, cwd=folder, env=variables).returncode
    except KeyboardInterrupt:
        return 130
