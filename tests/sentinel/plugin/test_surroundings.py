"""The plugin beside others: several processes, reruns, parameters, coroutines, JUnit, allowed findings."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree

import pytest

from tests.sentinel.plugin.conftest import Run
from tests.sentinel.plugin.programs import HELPERS, TWO

ASKED = ("--graph-sentinel", "--virtual")


def test_results_come_from_other_processes(run: Run) -> None:
    pytest.importorskip("xdist")
    result = run(TWO, *ASKED, "-n", "1")
    assert result.parseoutcomes() == {"failed": 1, "passed": 1}
    result.stdout.fnmatch_lines(
        [
            "*error: CG101 *",
            "    captured  test_it.py:* Engine.__init__ *",
            "*= graph sentinel =*",
            "CG101 [[]rebound-static-input[]] test_it.py:11 in test_it.py::test_wrong",
            "1 finding (2 watched tests, mode watch, 2 graphs, 2 replays)",
            "GRAPH HAZARD test_it.py::test_wrong *",
        ]
    )


def test_junit_has_the_number_of_findings_and_their_codes(run: Run, pytester: pytest.Pytester) -> None:
    run(TWO, *ASKED, "--junitxml=out.xml")
    cases = ElementTree.parse(pytester.path / "out.xml").getroot().iter("testcase")
    properties = {
        case.get("name"): {each.get("name"): each.get("value") for each in case.iter("property")}
        for case in cases
    }
    assert properties == {
        "test_wrong": {"graph_sentinel_findings": "1", "graph_sentinel_codes": "CG101"},
        "test_right": {},
    }


def test_each_run_of_a_test_that_is_run_again_is_judged_for_itself(
    run: Run, pytester: pytest.Pytester
) -> None:
    pytester.makeconftest(
        "from _pytest.runner import runtestprotocol\n"
        "def pytest_runtest_protocol(item, nextitem):\n"
        "    for last in (False, True):\n"
        "        reports = runtestprotocol(item, nextitem=nextitem, log=False)\n"
        "        failed = any(report.failed for report in reports)\n"
        "        if last or not failed:\n"
        "            for report in reports: item.ihook.pytest_runtest_logreport(report=report)\n"
        "            return True\n"
        "        item._initrequest()\n"
    )
    text = f"{HELPERS}\nruns = []\ndef test():\n    runs.append(1)\n    go_wrong() if len(runs) == 1 else go_right()\n"
    result = run(text, *ASKED)
    assert result.parseoutcomes() == {"passed": 1}
    result.stdout.fnmatch_lines(["No findings (1 watched test*"])


def test_parameters_and_long_names(run: Run) -> None:
    text = (
        f"{HELPERS}\n@pytest.mark.parametrize('text', ['x' * 300, 'y' * 300], ids=str)\n"
        "def test(text): go_wrong() if text[0] == 'y' else go_right()\n"
    )
    result = run(text, *ASKED)
    assert result.parseoutcomes() == {"failed": 1, "passed": 1}
    result.stdout.fnmatch_lines([f"CG101 * in test_it.py::test[[]{'y' * 300}[]]"])


def test_coroutines(run: Run, pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        "import asyncio, inspect\n"
        "def pytest_pyfunc_call(pyfuncitem):\n"
        "    if inspect.iscoroutinefunction(pyfuncitem.obj):\n"
        "        asyncio.run(pyfuncitem.obj())\n"
        "        return True\n"
    )
    text = f"{HELPERS}\nasync def test_wrong(): go_wrong()\nasync def test_right(): go_right()\n"
    result = run(text, *ASKED)
    assert result.parseoutcomes() == {"failed": 1, "passed": 1}
    result.stdout.fnmatch_lines(["*captured *Engine.__init__*", "* go_wrong *", "* test_wrong *"])


def test_classes_of_unittest(run: Run) -> None:
    text = (
        f"{HELPERS}\nimport unittest\nclass Case(unittest.TestCase):\n"
        "    def setUp(self): self.engine = Engine()\n"
        "    def test_wrong(self): self.engine.go_wrong()\n"
        "    def test_right(self): self.engine.go_right()\n"
    )
    assert run(text, *ASKED).parseoutcomes() == {"failed": 1, "passed": 1}


def test_the_project_may_allow_findings_and_hears_of_idle_entries(
    run: Run, pytester: pytest.Pytester
) -> None:
    entry = "{{code = '{}', where = 'test_it.py:Engine.go_wrong', reason = 'on purpose'}}"
    entries = ", ".join(entry.format(code) for code in ("CG101", "CG201"))
    pytester.makepyprojecttoml(f"[tool.graphlint.sentinel]\nallow = [{entries}]\n")
    result = run(TWO, *ASKED, "-v")
    assert result.parseoutcomes() == {"passed": 2}
    result.stdout.fnmatch_lines(
        [
            "No findings; 1 allowed (2 watched tests*",
            "allowed 1 time: CG101 in `test_it.py:Engine.go_wrong` (on purpose)",
            "allowed and not found in this run: CG201 in `test_it.py:Engine.go_wrong` (on purpose)",
        ]
    )


def test_the_first_of_many_findings_are_shown(run: Run, pytester: pytest.Pytester) -> None:
    pytester.makepyprojecttoml("[tool.graphlint.sentinel]\nmax-findings = 2\n")
    lines = "\n".join("    e = Engine(); e.x = e.x + 1; e.graph.replay()" for _ in range(5))
    result = run(f"{HELPERS}\ndef test():\n{lines}\n", *ASKED)
    result.stdout.fnmatch_lines(["… 3 more findings", "*= graph sentinel =*", "5 findings (1 watched test*"])
    shown, _ = result.stdout.str().split("= graph sentinel =")
    assert shown.count("error: CG101") == 2


def test_watching_leaves_torch_as_it_was(run: Run) -> None:
    torch = pytest.importorskip("torch")
    before = {
        name: dict(vars(owner)) for name, owner in (("graph", torch.cuda.CUDAGraph), ("tensor", torch.Tensor))
    }
    run(TWO, *ASKED)
    run(
        f"{HELPERS}\n@pytest.fixture\ndef broken():\n    go_wrong()\n    raise KeyError\ndef test(broken): pass\n",
        *ASKED,
    )
    assert dict(vars(torch.cuda.CUDAGraph)) == before["graph"]
    assert dict(vars(torch.Tensor)) == before["tensor"]


def test_without_torch_tests_that_ask_for_it_are_skipped(
    run: Run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    text = "def test(graph_sentinel): pass\ndef test_other(): pass\n"
    result = run(text, "-rs")
    assert result.parseoutcomes() == {"skipped": 1, "passed": 1}
    result.stdout.fnmatch_lines(["*graph sentinel: torch is not installed*"])
