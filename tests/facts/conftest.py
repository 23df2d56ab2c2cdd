"""A project on disk, written as a mapping from paths to text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from graphlint.facts.project import Project

MakeProject = Callable[..., Project]


@pytest.fixture
def project(tmp_path: Path) -> MakeProject:
    """Write files below a fresh folder and make a project of them; options go to `Project`."""

    def make(files: Mapping[str, str | bytes], **options: Any) -> Project:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode() if isinstance(text, str) else text)
        options.setdefault("cwd", tmp_path)
        return Project([tmp_path / name for name in files], **options)

    return make
