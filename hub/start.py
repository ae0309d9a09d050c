"""Starts the class server, or says in a line each what keeps it from starting."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from class_settings import SettingsError, load, problems


def main() -> int:
    try:
        settings = load()
        found = problems(settings)
    except SettingsError as error:
        found = [str(error)]
    for line in found:
        print(f"class server: {line}", file=sys.stderr)
    if found:
        return 1
    # The hub starts its proxy by name, and whoever starts it has another PATH.
    bin_folder = Path(sys.executable).parent
    os.environ["PATH"] = os.pathsep.join([str(bin_folder), os.environ.get("PATH", os.defpath)])
    os.chdir(settings.state)
    config = Path(__file__).with_name("jupyterhub_config.py")
    os.execv(sys.executable, [sys.executable, "-m", "jupyterhub", "--config", str(config)])


if __name__ == "__main__":
    sys.exit(main())
