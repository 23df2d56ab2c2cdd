"""What is loaded by every run of pytest, and by every command, is small."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.sentinel.plugin.conftest import PLUGIN

# Loaded by the plugin at most: pytest itself needs them, or they are a few lines.
OWN = {
    "graphlint",
    "graphlint.sentinel",
    "graphlint.sentinel.pytest_plugin",
    "graphlint.sentinel.settings",
}
HEAVY = {
    "torch",
    "libcst",
    "numpy",
    "rich",
    "click",
    "pathspec",
    "ast",
    "graphlint.analysis",
    "graphlint.rules",
}


def loaded(statements: str) -> set[str]:
    """The modules that statements load into a fresh Python, as far as they are ours or heavy."""
    code = f"import sys\n{statements}\nprint(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name for name in result.stdout.split() if name.split(".")[0] == "graphlint" or name in HEAVY}


def test_the_plugin_of_pytest_loads_next_to_nothing() -> None:
    before = loaded("import pytest")
    assert loaded("import pytest, graphlint.sentinel.pytest_plugin") - before <= OWN


def test_the_plugin_loads_nothing_more_in_a_run_that_does_not_ask_for_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("import sys\ndef test(): print(*sys.modules)")
    result = pytester.runpytest_subprocess(*PLUGIN, "-s")
    result.assert_outcomes(passed=1)
    names = set(result.stdout.str().split())
    assert {name for name in names if name.split(".")[0] in ("graphlint", "torch", "libcst")} <= OWN


@pytest.mark.parametrize(
    "module",
    [
        "graphlint.sentinel.auto",
        "graphlint.sentinel.running",
        "graphlint.sentinel.reporting",
        "graphlint.sentinel.pytest_watching",
        "graphlint.sentinel.pytest_summary",
        "graphlint.commands.run",
    ],
)
def test_no_way_in_loads_torch_before_it_watches(module: str) -> None:
    assert not {"torch", "libcst"} & loaded(f"import {module}")


def test_a_report_loads_neither_torch_nor_libcst() -> None:
    statements = (
        "from pathlib import Path\n"
        "from graphlint.sentinel.allowing import Table\n"
        "from graphlint.sentinel.findings import Finding, Place\n"
        "from graphlint.sentinel.reporting import outcome_of, rendered\n"
        "from graphlint.sentinel.session import Watch\n"
        "watch = Watch('watch')\n"
        "watch.add(Finding('CG101', 'x', (Place('a.py', 1, 'f'),), (), (), 'c', 1, 1))\n"
        "report = outcome_of(watch, Table(), Path()).report\n"
        "assert 'CG101' in rendered('text', report) + rendered('sarif', report)"
    )
    assert not {"torch", "libcst"} & loaded(statements)
