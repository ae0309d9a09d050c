"""What README promises is there: the commands, the files it links to."""

import re

import pytest

from support.answers import ROOT

DOCUMENTS = [
    "README.md",
    "docs/architecture.md",
    "docs/authoring.md",
    "docs/class-server.md",
    "docs/instructors.md",
    "docs/rules.md",
]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_to_files(document):
    text = (ROOT / document).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (ROOT / document).parent.joinpath(target).exists(), f"{document} links to {target}"


@pytest.mark.parametrize("document", DOCUMENTS)
def test_commands_exist(document):
    from course_utils.command.cli import main

    text = (ROOT / document).read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"`(?:\w+=\S+ )*make ([a-z]+)", text):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"make {target}"
    for command in re.findall(r"`(?:\.venv/bin/)?course ([a-z]+)", text):
        assert command in main.commands, f"course {command}"
