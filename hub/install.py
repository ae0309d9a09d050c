"""Lays down what a class server needs around this folder. Run again, it mends and renews.

The Python beside the course's folder is made before, by ``sudo make install-class``.
"""

from __future__ import annotations

import grp
import os
import pwd
import shutil
import subprocess
import sys
from pathlib import Path

from class_settings import COURSE, COURSE_ID, OPEN_TO_ALL, ClassSettings, SettingsError, load

HUB = Path(__file__).resolve().parent
UNIT = Path("/etc/systemd/system/course-hub.service")


def main() -> int:
    if os.geteuid() != 0:
        print("class server: only root can do this; run: sudo make install-class", file=sys.stderr)
        return 1
    own = COURSE.parent / "class.toml"
    if not own.exists():
        shutil.copy(HUB / "class.toml", own)
    try:
        settings = load(own)
    except SettingsError as error:
        print(f"class server: {error}", file=sys.stderr)
        return 1
    make_accounts(settings)
    make_folders(settings)
    copy_settings(settings)
    if Path("/run/systemd/system").is_dir():
        unit = (HUB / "course-hub.service").read_text(encoding="utf-8")
        UNIT.write_text(unit.replace("/srv/class", str(settings.folder)), encoding="utf-8")
        subprocess.run(["systemctl", "daemon-reload"], check=True)
    return 0


def make_accounts(settings: ClassSettings) -> None:
    """Two groups, and the account of the course, which has no password."""
    known = {group.gr_name for group in grp.getgrall()}
    for group in (settings.students, settings.instructors):
        if group not in known:
            subprocess.run(["groupadd", group], check=True)
    if settings.account not in {user.pw_name for user in pwd.getpwall()}:
        home = ["--home-dir", str(settings.home), "--no-create-home", "--shell", "/bin/bash"]
        subprocess.run(["useradd", "--system", "--user-group", *home, settings.account], check=True)


def make_folders(settings: ClassSettings) -> None:
    """Each with its rights: what is the course's, the hub's, and everyone's."""
    for folder, mode in (
        (settings.folder, 0o755),
        (settings.settings, 0o755),
        (settings.exchange, OPEN_TO_ALL),
        (settings.state, 0o700),
        (settings.home, 0o700),
        (settings.course, 0o700),
    ):
        folder.mkdir(exist_ok=True)
        folder.chmod(mode)
    owner = f"{settings.account}:"
    subprocess.run(["chown", "--recursive", owner, settings.course, settings.home], check=True)
    # Else a student could make the course's folder of the exchange first.
    mine = settings.exchange / COURSE_ID
    mine.mkdir(exist_ok=True)
    shutil.chown(mine, settings.account, settings.account)


def copy_settings(settings: ClassSettings) -> None:
    """Jupyter's settings where students can read them, and what ``course renew`` looks for."""
    for source in (COURSE / "etc" / "jupyter", HUB / "jupyter"):
        shutil.copytree(source, settings.settings, dirs_exist_ok=True)
    subprocess.run(["chmod", "--recursive", "u=rwX,go=rX", settings.settings], check=True)
    releases = settings.settings / "notebooks"
    if not releases.is_symlink():
        releases.symlink_to(settings.exchange / COURSE_ID / "outbound")


if __name__ == "__main__":
    sys.exit(main())
