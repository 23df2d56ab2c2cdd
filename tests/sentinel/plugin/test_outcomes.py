"""`pytest --graph-sentinel`: what a hazard in a test does to it, and what is told."""

from __future__ import annotations

import pytest

from tests.sentinel.plugin.conftest import Run
from tests.sentinel.plugin.programs import HELPERS, TWO


def test_a_test_fails_for_a_hazard_with_all_its_places(run: Run) -> None:
    result = run(TWO, "--graph-sentinel", "--virtual")
    assert result.parseoutcomes() == {"failed": 1, "passed": 1}
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "graph sentinel: mode watch, virtual device",
            "test_it.py G.*",
            "*_ test_wrong _*",
            "test_it.py:11:9: error: CG101 [[]rebound-static-input[]] *",
            "    captured  test_it.py:*  Engine.__init__ *",
            "              test_it.py:19 *go_wrong *",
            "              test_it.py:22 *test_wrong *",
            "    touched   test_it.py:11 *Engine.go_wrong *self.x = self.x + 1",
            "    replayed  test_it.py:12 *Engine.go_wrong *self.graph.replay()",
            "              test_it.py:19 *go_wrong *",
            "              test_it.py:22 *test_wrong *",
            "  explain with: graphlint explain CG101",
            "*= graph sentinel =*",
            "CG101 [[]rebound-static-input[]] test_it.py:11 in test_it.py::test_wrong",
            "1 finding (2 watched tests, mode watch, 2 graphs, 2 replays)",
            "GRAPH HAZARD test_it.py::test_wrong *",
        ]
    )
    result.stdout.no_fnmatch_line("*/pluggy/*")


def test_nothing_happens_unless_it_is_asked_for(run: Run) -> None:
    result = run("import torch\ndef test(): assert not torch.cuda.is_available()")
    assert result.parseoutcomes() == {"passed": 1}
    result.stdout.no_fnmatch_line("*graph sentinel*")


def test_verbosity_is_honoured(run: Run) -> None:
    options = ("--graph-sentinel", "--virtual")
    right = f"{HELPERS}\ndef test_right(): go_right()\n"
    run(TWO, *options, "-v").stdout.fnmatch_lines(["*::test_wrong GRAPH HAZARD*", "*::test_right PASSED*"])
    run(right, *options).stdout.fnmatch_lines(["No findings (1 watched test, *"])
    run(right, *options, "-q").stdout.no_fnmatch_line("*graph sentinel*")


def test_warn_mode_reports_and_fails_nothing(run: Run) -> None:
    result = run(TWO, "--graph-sentinel", "--virtual", "--graph-sentinel-warn", "-v")
    assert result.parseoutcomes() == {"passed": 2}
    result.stdout.fnmatch_lines(
        [
            "*::test_wrong GRAPH WARNING*",
            "*::test_right PASSED*",
            "*= graph sentinel =*",
            "in test_it.py::test_wrong:",
            "test_it.py:11:9: error: CG101 *",
            "    captured  *",
            "1 finding (2 watched tests*",
        ]
    )


def test_a_test_that_fails_of_itself_keeps_its_reason(run: Run) -> None:
    result = run(f"{HELPERS}\ndef test(): go_wrong(); assert 0, 'own'", "--graph-sentinel", "--virtual")
    assert result.parseoutcomes() == {"failed": 1}
    result.stdout.fnmatch_lines(
        [
            "test_it.py F*",
            "*AssertionError: own*",
            "*- graph sentinel -*",
            "*CG101*",
            "FAILED test_it.py::test *own*",
        ]
    )


def test_a_test_that_is_expected_to_fail_may_fail_for_a_hazard(run: Run) -> None:
    text = f"{HELPERS}\n@pytest.mark.xfail(strict=True)\ndef test(): go_wrong()"
    assert run(text, "--graph-sentinel", "--virtual").parseoutcomes() == {"xfailed": 1}


@pytest.mark.parametrize("scope", ["session", "module", "function"])
def test_graphs_of_fixtures_are_known(run: Run, scope: str) -> None:
    fixture = f"@pytest.fixture(scope='{scope}')\ndef engine(): return Engine()\n"
    text = f"{HELPERS}\n{fixture}\ndef test(engine): engine.go_wrong()\n"
    result = run(text, "--graph-sentinel", "--virtual")
    assert result.parseoutcomes() == {"failed": 1}
    result.stdout.fnmatch_lines(["*captured *Engine.__init__ *", "*engine*", "CG101 *in test_it.py::test"])


def test_hazards_of_a_teardown_are_its_error(run: Run) -> None:
    text = f"{HELPERS}\n@pytest.fixture\ndef late():\n    yield\n    go_wrong()\ndef test(late): pass\n"
    result = run(text, "--graph-sentinel", "--virtual")
    assert result.parseoutcomes() == {"passed": 1, "errors": 1}
    result.stdout.fnmatch_lines(["*ERROR at teardown of test*", "*CG101*", "*in test_it.py::test"])


def test_hazards_outside_of_tests_fail_the_run(run: Run) -> None:
    text = f"{HELPERS}\ngo_wrong()\ndef test(): pass"
    result = run(text, "--graph-sentinel", "--virtual")
    assert (result.parseoutcomes(), result.ret) == ({"passed": 1}, pytest.ExitCode.TESTS_FAILED)
    result.stdout.fnmatch_lines(["in outside of tests:", "*CG101*", "1 finding (1 watched test*"])
    assert run(text, "--graph-sentinel", "--virtual", "--graph-sentinel-warn").ret == pytest.ExitCode.OK


def test_a_closer_look_is_taken_once(run: Run) -> None:
    text = (
        f"{HELPERS}\ndef test():\n    engine = Engine()\n    engine.graph.replay()\n    kept = engine.y.view(2, 2)\n"
        "    engine.graph.replay()\n    kept.sum()\n"
    )
    result = run(text, "--graph-sentinel=test", "--virtual")
    assert result.parseoutcomes() == {"failed": 1}
    result.stdout.fnmatch_lines(
        [
            "*error: CG201 *",
            "  seen at replay 2 of graph *",
            "1 finding (1 watched test, mode test, 1 graph, 2 replays)",
        ]
    )
