"""What docs/sentinel.md shows is what happens."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from graphlint.commands.run import run as command
from graphlint.sentinel.allowing import table_from

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "sentinel.md").read_text("utf-8")
TESTS, PROGRAM = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def test_the_program_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    torch = pytest.importorskip("torch")
    if torch.version.cuda is not None:
        pytest.skip("the virtual device needs torch for the CPU")
    exec(PROGRAM, {})
    said = re.findall(r"print\(.*\)  # (.*)", PROGRAM)
    assert capsys.readouterr().out.splitlines() == said


def test_the_settings_can_be_used() -> None:
    (text,) = re.findall(r"^```toml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    table = table_from(tomllib.loads(text)["tool"]["graphlint"]["sentinel"], ROOT / "pyproject.toml")
    assert [entry.code for entry in table.allow] == ["CG201", "CG101"]


def test_every_option_is_on_the_page() -> None:
    options = {name for option in command.params for name in option.opts if name.startswith("--")}
    assert {name for name in options if name not in PAGE} == set()
