"""The commands in the README give what the README shows."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from graphlint.cli import cli

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text("utf-8")
SHOWN = re.findall(r"^```console\n\$ graphlint (.*?)\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def test_the_readme_shows_commands() -> None:
    assert [command.split()[0] for command, _ in SHOWN] == ["check", "regions", "run"]


@pytest.mark.parametrize(("command", "output"), SHOWN[:2], ids=[command for command, _ in SHOWN[:2]])
def test_the_output_is_real(command: str, output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    name, *arguments = shlex.split(command)
    result = CliRunner().invoke(cli, [name, "--no-cache", *arguments])
    assert result.output == output


def test_the_hook_for_pre_commit_exists_and_checks_the_whole_project() -> None:
    (snippet,) = re.findall(r"^```yaml\n(repos:\n.*?)^```", README, re.DOTALL | re.MULTILINE)
    keys = re.findall(r"^[ -]*(\w+):", snippet, re.MULTILINE)
    assert keys == ["repos", "repo", "rev", "hooks", "id"]
    (hook,) = (ROOT / ".pre-commit-hooks.yaml").read_text("utf-8").split("- id: ")[1:]
    assert re.findall(r"- id: (\S+)", snippet) == [hook.splitlines()[0]]
    assert "  entry: graphlint check\n" in hook
    assert "  pass_filenames: false\n" in hook


def test_the_report_of_the_sentinel_is_real() -> None:
    torch = pytest.importorskip("torch")
    if torch.version.cuda is not None:
        pytest.skip("the virtual device needs torch for the CPU")
    ((command, output),) = SHOWN[2:]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("GRAPHLINT_SENTINEL", None)
    result = subprocess.run(
        [sys.executable, "-m", "graphlint", *shlex.split(command)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        encoding="utf-8",
    )
    assert (result.stdout + result.stderr, result.returncode) == (output, 1)


def test_the_program_for_the_virtual_device_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    (program,) = re.findall(r"^```python\n(import torch\n.*?)^```", README, re.DOTALL | re.MULTILINE)
    exec(program, {})
    assert capsys.readouterr().out.strip() == program.rpartition("# ")[2].strip()
