"""Pytest run by pytest, with the plugin and on the virtual device."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from importlib.metadata import entry_points

import pytest
from _pytest.pytester import SysModulesSnapshot

from graphlint.sentinel import session

MODULE = "graphlint.sentinel.pytest_plugin"
IS_INSTALLED = any(each.value == MODULE for each in entry_points(group="pytest11"))
PLUGIN = () if IS_INSTALLED else ("-p", MODULE)
Run = Callable[..., pytest.RunResult]


@pytest.fixture(scope="module", autouse=True)
def _modules_are_kept() -> Iterator[None]:
    """Pytester forgets what a run has imported, but nothing of torch can be imported twice."""
    kept = functools.partial(SysModulesSnapshot, lambda name: not name.startswith(("test_", "conftest")))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pytest.Pytester, "_Pytester__take_sys_modules_snapshot", lambda self: kept())
        yield


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run pytest with the plugin in this process, on a file of tests."""
    torch = pytest.importorskip("torch")
    if torch.version.cuda is not None:
        pytest.skip("the virtual device needs torch for the CPU")
    monkeypatch.delenv("GRAPHLINT_SENTINEL", raising=False)

    def run_pytest(text: str, *arguments: str) -> pytest.RunResult:
        pytester.makepyfile(test_it=text)
        result = pytester.runpytest_inprocess(*PLUGIN, "-p", "no:cacheprovider", *arguments)
        assert not session.is_watching()
        return result

    return run_pytest
