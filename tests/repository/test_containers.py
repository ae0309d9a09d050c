"""The dev container's file says what the format allows, and what the course needs."""

import json5
import pytest
from jsonschema import Draft202012Validator

from support.answers import ROOT

FILE = ROOT / ".devcontainer" / "devcontainer.json"
AMOUNT = {"type": "string", "pattern": r"^\d+([tgmk]b)?$"}
TEXTS = {"type": "object", "additionalProperties": {"type": "string"}}
# Those properties of the format that the file uses, as containers.dev describes them.
SCHEMA = {
    "type": "object",
    "required": ["image"],
    "additionalProperties": False,
    "properties": {
        "name": {"type": "string"},
        "image": {"type": "string", "pattern": r"^[\w./-]+:[\w.-]+$"},
        "hostRequirements": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "cpus": {"type": "integer", "minimum": 1},
                "memory": AMOUNT,
                "storage": AMOUNT,
            },
        },
        "containerEnv": TEXTS,
        "postCreateCommand": {"type": "string"},
        "forwardPorts": {
            "type": "array",
            "items": {"type": "integer", "minimum": 0, "maximum": 65535},
        },
        "portsAttributes": {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    "label": {"type": "string"},
                    "onAutoForward": {
                        "enum": ["notify", "openBrowser", "openBrowserOnce", "silent", "ignore"]
                    },
                },
            },
        },
        "customizations": {
            "type": "object",
            "properties": {
                "vscode": {
                    "type": "object",
                    "additionalProperties": False,
                    "properties": {
                        "extensions": {
                            "type": "array",
                            "items": {"type": "string", "pattern": r"^[\w-]+\.[\w-]+$"},
                        },
                        "settings": {"type": "object"},
                    },
                },
                "codespaces": {"type": "object"},
            },
        },
    },
}


@pytest.fixture(scope="module")
def container():
    return json5.loads(FILE.read_text(encoding="utf-8"))


def test_the_file_is_of_the_format(container):
    problems = [error.message for error in Draft202012Validator(SCHEMA).iter_errors(container)]
    assert problems == []


def test_it_installs_as_the_readme_does(container):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    program, target = container["postCreateCommand"].split()
    assert program == "make"
    assert f"\n{target}: " in makefile
    assert set(container["containerEnv"]) == {"UV_TORCH_BACKEND"}
    for file in container["customizations"]["codespaces"]["openFiles"]:
        assert (ROOT / file).exists()
