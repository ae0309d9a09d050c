"""Files that are the old one or the new one, never a part of it."""

import os
import stat
from contextlib import suppress

import pytest

from course_utils.files import remove_unfinished, replacing, write_whole


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "folder" / "file.json"
    write_whole(path, "old")

    def no_space(*arguments):
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(OSError, match="no space"):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert list(path.parent.iterdir()) == [path]


def test_what_killed_writers_left_is_removed(tmp_path):
    left, young = tmp_path / "folder" / ".new-left", tmp_path / ".new-young"
    left.parent.mkdir()
    for path in (left, young):
        path.write_text("half")
    write_whole(tmp_path / "whole.json", "whole")
    os.utime(left, (0, 0))
    remove_unfinished(tmp_path)
    assert not left.exists()
    assert {path.name for path in tmp_path.iterdir()} == {"folder", ".new-young", "whole.json"}


def test_what_is_private_is_no_other_users(tmp_path):
    write_whole(tmp_path / "marks.json", "{}", private=True)
    assert stat.S_IMODE((tmp_path / "marks.json").stat().st_mode) == 0o600


def test_a_block_that_fails_replaces_nothing(tmp_path):
    path = tmp_path / "grades.csv"
    path.write_text("old")
    with suppress(BrokenPipeError), replacing(path) as unfinished:
        unfinished.write_text("half")
        raise BrokenPipeError
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_text() == "old"
    with replacing(path) as unfinished:
        unfinished.write_text("new")
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_text() == "new"
