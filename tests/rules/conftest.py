"""What the tests of rules share: the text that a user sees, compared with a stored one."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest
from click.testing import CliRunner

from graphlint.cli import cli

SNAPSHOTS = Path(__file__).with_name("snapshots")
Shows = Callable[[str, dict[str, str]], None]


@pytest.fixture
def shows(project: Path) -> Shows:
    """Compare the text output for the files of a project with `snapshots/NAME.txt`.

    With GRAPHLINT_UPDATE_SNAPSHOTS set, the stored text is written anew instead.
    """

    def compare(name: str, files: dict[str, str]) -> None:
        for path, text in files.items():
            (project / path).parent.mkdir(parents=True, exist_ok=True)
            (project / path).write_text(dedent(text), encoding="utf-8")
        code = name.partition("-")[0]
        output = CliRunner().invoke(cli, ["check", "--no-cache", "--select", code, "."]).output
        stored = SNAPSHOTS / f"{name}.txt"
        if "GRAPHLINT_UPDATE_SNAPSHOTS" in os.environ:
            stored.parent.mkdir(exist_ok=True)
            stored.write_text(output, encoding="utf-8")
        assert output == stored.read_text(encoding="utf-8")

    return compare
