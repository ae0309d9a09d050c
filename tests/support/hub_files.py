"""The class server's files and tools, for tests that start none."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from traitlets.config import PyFileConfigLoader

from support.answers import ROOT

HUB = ROOT / "hub"


def tool(name):
    """A tool that the class server's lock installs."""
    path = Path(sys.prefix, "bin", name)
    if not path.exists():
        if os.environ.get("COURSE_REQUIRE_HUB") == "1":
            pytest.fail(f"no {name}, and COURSE_REQUIRE_HUB=1 asks for it; run: make install-hub")
        pytest.skip(f"no {name}; make install-hub brings it")
    return path


def settings_with(folder, text):
    """hub/jupyterhub_config.py as the hub reads it in a folder with this class.toml."""
    shutil.copytree(HUB, folder / "course" / "hub")
    (folder / "class.toml").write_text(text, encoding="utf-8")
    modules, path = dict(sys.modules), list(sys.path)
    try:
        loader = PyFileConfigLoader("jupyterhub_config.py", path=str(folder / "course" / "hub"))
        return loader.load_config()
    finally:
        sys.path[:] = path
        sys.modules.pop("class_settings", None)
        sys.modules.update(modules)
