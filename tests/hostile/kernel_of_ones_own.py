"""The metadata name a kernel, with a command line, that the student's files describe."""

import json

from support.hostile import RIGHT_SHAPES, SHAPES, answer, forbidden_file

ARRIVED = ["right, 1 point"]
EARNS = {SHAPES: 1}


def hand_in(chapter, notebook, folder):
    command = ["touch", str(forbidden_file(chapter))]
    spec = {"argv": command, "display_name": "mine", "language": "python"}
    place = folder / "kernels" / "mine"
    place.mkdir(parents=True)
    (place / "kernel.json").write_text(json.dumps(spec))
    notebook.metadata["kernelspec"] = {"name": "mine", "language": "python", **spec}
    answer(notebook, SHAPES, RIGHT_SHAPES)


def harm(graded):
    assert not forbidden_file(graded.chapter).exists()
