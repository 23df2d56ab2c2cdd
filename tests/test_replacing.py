"""Files are replaced as wholes."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from graphlint.replacing import replace


def test_the_old_file_stays_when_the_new_one_cannot_be_put_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kept.json").write_bytes(b"old")

    def fail(source: str, target: Path) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="no space"):
        replace(tmp_path / "kept.json", b"new")
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("kept.json", b"old")]


def test_permissions_stay_as_they_were(tmp_path: Path) -> None:
    file = tmp_path / "shared.json"
    file.touch(mode=0o600)
    file.chmod(0o640)
    replace(file, b"new")
    assert (file.read_bytes(), stat.S_IMODE(file.stat().st_mode)) == (b"new", 0o640)


def test_a_new_file_has_the_permissions_of_any_other(tmp_path: Path) -> None:
    (tmp_path / "other").touch()
    replace(tmp_path / "new", b"")
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"old")
    (tmp_path / "link").symlink_to("target")
    replace(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"new"
