"""Ways to ask pytest for the sentinel, and which of them has the say."""

from __future__ import annotations

import pytest

from tests.sentinel.plugin.conftest import Run
from tests.sentinel.plugin.programs import HELPERS

MARKED = (
    f"{HELPERS}\n@pytest.mark.graph_sentinel\ndef test_marked(): go_wrong()\ndef test_other(): go_wrong()\n"
)


def test_a_marker_asks_for_one_test(run: Run) -> None:
    result = run(MARKED, "--virtual", "-v", "--strict-markers")
    assert result.parseoutcomes() == {"failed": 1, "passed": 1}
    result.stdout.fnmatch_lines(
        ["*test_marked GRAPH HAZARD*", "*test_other PASSED*", "1 finding (1 watched test*"]
    )


def test_the_fixture_asks_for_one_test_and_wraps_runners(run: Run) -> None:
    text = (
        f"{HELPERS}\n"
        "def test_used(graph_sentinel):\n"
        "    engine = Engine()\n"
        "    run = graph_sentinel.wrap(engine.graph.replay, inputs={'x': engine.x})\n"
        "    run()\n"
        "    assert graph_sentinel.findings == [] and engine.y.tolist() == [2.0] * 4\n"
        "    go_wrong()\n"
        "    assert [finding.code for finding in graph_sentinel.findings] == ['CG101']\n"
        "def test_other(): go_wrong()\n"
    )
    assert run(text, "--virtual").parseoutcomes() == {"failed": 1, "passed": 1}


@pytest.mark.parametrize(
    ("flag", "marker", "ini", "environment", "mode"),
    [
        ("--graph-sentinel=canary", "('test')", "watch", "watch", "canary"),
        ("--graph-sentinel", "('test')", "canary", "watch", "test"),
        ("--graph-sentinel", "()", "canary", "watch", "canary"),
        ("--graph-sentinel", "", "on", "test", "test"),
        ("", "(mode='canary')", "test", "watch", "canary"),
        ("", "", "canary", "test", "canary"),
        ("", "", "", "canary,virtual", "canary"),
        ("", "('off')", "test", "test", None),
        ("--graph-sentinel=off", "('test')", "test", "test", None),
        ("", "", "off", "test", None),
        ("", "", "", "off", None),
    ],
)
def test_flag_marker_ini_and_environment_have_the_say_in_this_order(
    run: Run,
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    flag: str,
    marker: str,
    ini: str,
    environment: str,
    mode: str | None,
) -> None:
    monkeypatch.setenv("GRAPHLINT_SENTINEL", environment)
    pytester.makeini(f"[pytest]\ngraph_sentinel = {ini}\ngraph_sentinel_virtual = true\n")
    mark = f"@pytest.mark.graph_sentinel{marker}\n" if marker else ""
    check = f"session._installed.watches[-1].mode == {mode!r}" if mode else "go_wrong() is None"
    text = f"{HELPERS}\nfrom graphlint.sentinel import session\n{mark}def test(): assert {check}\n"
    result = run(text, *filter(None, [flag]))
    assert (result.parseoutcomes(), result.ret) == ({"passed": 1}, pytest.ExitCode.OK)


@pytest.mark.parametrize(
    ("flag", "marker", "ini", "environment", "fails"),
    [
        ("", "", "", "on", True),
        ("--graph-sentinel-warn", "(warn=False)", "", "on", False),
        ("", "(warn=False)", "true", "on,warn", True),
        ("", "(warn=True)", "", "on", False),
        ("", "", "true", "on", False),
        ("", "", "", "on,warn", False),
    ],
)
def test_whether_a_hazard_fails_a_test_is_asked_for_alike(
    run: Run,
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    flag: str,
    marker: str,
    ini: str,
    environment: str,
    fails: bool,
) -> None:
    monkeypatch.setenv("GRAPHLINT_SENTINEL", environment)
    pytester.makeini(f"[pytest]\ngraph_sentinel_warn = {ini or 'false'}\n")
    mark = f"@pytest.mark.graph_sentinel{marker}\n" if marker else ""
    result = run(f"{HELPERS}\n{mark}def test(): go_wrong()", "--virtual", *filter(None, [flag]))
    assert result.parseoutcomes() == ({"failed": 1} if fails else {"passed": 1})


def test_wrong_words_are_errors_of_usage(
    run: Run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = "def test(): pass"
    result = run(empty, "--graph-sentinel", "test_it.py")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*`test_it.py` is no mode; before paths write --graph-sentinel=watch*"])
    monkeypatch.setenv("GRAPHLINT_SENTINEL", "tset")
    result = run(empty)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*GRAPHLINT_SENTINEL: unknown word `tset`; did you mean `test`[?]"])
    monkeypatch.delenv("GRAPHLINT_SENTINEL")
    marked = "import pytest\n@pytest.mark.graph_sentinel('tset')\ndef test(): pass"
    assert run(marked).ret == pytest.ExitCode.USAGE_ERROR
    pytester.makepyprojecttoml("[tool.graphlint.sentinel]\nallow = 1\n")
    result = run(empty, "--graph-sentinel", "--virtual")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*`allow` must be a list of tables*"])


def test_the_short_name_is_left_to_a_plugin_that_has_it(run: Run, pytester: pytest.Pytester) -> None:
    pytester.makeconftest("def pytest_addoption(parser): parser.addoption('--virtual', action='store_true')")
    text = (
        "import torch\ndef test(request):\n"
        "    assert request.config.getoption('--virtual') and not torch.cuda.is_available()"
    )
    assert run(text, "--virtual").parseoutcomes() == {"passed": 1}
    result = run("import torch\ndef test(): assert torch.cuda.is_available()", "--graph-sentinel-virtual")
    assert result.parseoutcomes() == {"passed": 1}


# Without a device.


def test_without_a_device_only_tests_that_ask_for_it_are_skipped(run: Run) -> None:
    text = (
        "import pytest\n"
        "@pytest.mark.graph_sentinel\ndef test_marked(): pass\n"
        "def test_used(graph_sentinel): pass\n"
        "@pytest.mark.graph_sentinel('off')\ndef test_off(): pass\n"
        "def test_other(): pass\n"
    )
    for flags in ((), ("--graph-sentinel",)):
        result = run(text, "-rs", *flags)
        assert result.parseoutcomes() == {"skipped": 2, "passed": 2}
        result.stdout.fnmatch_lines(["*graph sentinel: no CUDA device (--graph-sentinel-virtual gives one*"])


def test_the_virtual_device_is_there_from_collection_on_and_gone_afterwards(run: Run) -> None:
    import torch

    text = (
        "import pytest, torch\nheld = torch.ones(2, device='cuda')\n"
        "@pytest.mark.skipif(not torch.cuda.is_available(), reason='no GPU')\n"
        "def test(): assert held.is_cuda\n"
    )
    assert run(text, "--virtual").parseoutcomes() == {"passed": 1}
    assert not torch.cuda.is_available()
