"""`pytest --graph-sentinel`: options, marker and fixture.

Every run of pytest in an environment with graphlint loads this module, so it imports pytest and nothing of
torch or of the linter. What watches is in `pytest_watching`, what tells the outcome in `pytest_summary`; both
are loaded when there is a test to be watched.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, TypeVar, cast

import pytest

from graphlint.sentinel.settings import (
    MODES,
    OFF,
    ON,
    Mode,
    Request,
    SettingsError,
    merged,
    request_in,
    request_of,
)

if TYPE_CHECKING:
    from graphlint.sentinel.pytest_summary import Summary
    from graphlint.sentinel.pytest_watching import TestWatch, Watching

T = TypeVar("T")
R = TypeVar("R")
NAME = "graph_sentinel"
FLAG = "--graph-sentinel"
SHORT = "--virtual"
WATCHING = "graph-sentinel-watching"
LISTENING = "graph-sentinel-listening"
SUMMARY = "graph-sentinel-summary"
MARKER = (
    "graph_sentinel(mode=None, *, warn=None): watch a test's CUDA graphs, in mode watch, canary or test, "
    "or not at all with off; warn=True reports hazards without failing the test"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup(NAME, "CUDA graphs (graphlint)")
    group.addoption(
        FLAG,
        nargs="?",
        const=ON,
        type=_mode,
        metavar="MODE",
        help="Watch the CUDA graphs of every test, and fail where a hazard happens: watch (default), canary, "
        "test, or off.",
    )
    group.addoption(f"{FLAG}-warn", action="store_true", help="Report hazards without failing the tests.")
    group.addoption(
        f"{FLAG}-virtual",
        action="store_true",
        help=f"Run on a virtual CUDA device, without a GPU; {SHORT} for short, if no other plugin has it.",
    )
    parser.addini(NAME, f"What {FLAG} says, where it is not given.", default="")
    parser.addini(f"{NAME}_warn", f"What {FLAG}-warn says.", type="bool", default=False)
    parser.addini(f"{NAME}_virtual", f"What {FLAG}-virtual says.", type="bool", default=False)


def _mode(word: str) -> str:
    if word not in (*MODES, OFF, ON):
        from argparse import ArgumentTypeError

        raise ArgumentTypeError(f"`{word}` is no mode; before paths write {FLAG}=watch")
    return word


@pytest.hookimpl(hookwrapper=True)  # what old versions of pytest know: they load this file as well
def pytest_load_initial_conftests(parser: pytest.Parser, args: list[str]) -> Generator[None, None, None]:
    """Add the short name only where it is used and nobody else's: a name in two plugins ends a run."""
    yield
    if SHORT in args and SHORT in parser.parse_known_and_unknown_args([SHORT])[1]:
        parser.getgroup(NAME).addoption(SHORT, action="store_true", dest=f"{NAME}_virtual")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)
    config.pluginmanager.register(Listening(config), LISTENING)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    if _usable(request_for, session.config) is not None or is_virtual(session.config):
        _load(session.config)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if any(_usable(asks, item) for item in items):
        _load(config)


def _load(config: pytest.Config) -> None:
    """Load what watches, once. A process that only hands out tests to others watches nothing itself."""
    if config.pluginmanager.hasplugin(WATCHING) or config.pluginmanager.hasplugin("dsession"):
        return
    from graphlint.sentinel.pytest_watching import Watching

    listening: Listening = config.pluginmanager.getplugin(LISTENING)
    config.pluginmanager.register(Watching(config, listening), WATCHING)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip from here: a wrapper that skips keeps others from preparing for what they do afterwards."""
    watching: Watching | None = item.config.pluginmanager.getplugin(WATCHING)
    if watching is not None:
        watching.skip(item)


def _usable(ask: Callable[[T], R], argument: T) -> R:
    try:
        return ask(argument)
    except SettingsError as error:
        raise pytest.UsageError(str(error)) from None


class Listening:
    """Hands what watched tests tell, also those of other processes, to what shows it; made for every run."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def summary(self) -> Summary:
        """Return what shows the outcome, made when there is something to show."""
        manager = self._config.pluginmanager
        if not manager.hasplugin(SUMMARY):
            from graphlint.sentinel.pytest_summary import Summary

            manager.register(Summary(self._config), SUMMARY)
        summary: Summary = manager.getplugin(SUMMARY)
        return summary

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if hasattr(report, NAME):
            self.summary().add(report.nodeid, getattr(report, NAME))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take what a process of pytest-xdist has seen outside of its tests."""
        payload = getattr(node, "workeroutput", {}).get(NAME)
        if payload is not None:
            self.summary().add("", payload)


def is_virtual(config: pytest.Config) -> bool:
    """Return whether the run is to have a virtual device, watched or not."""
    return bool(config.getoption(f"{NAME}_virtual") or config.getini(f"{NAME}_virtual"))


def asks(item: pytest.Item) -> bool:
    """Return whether a test asks to be watched itself, by the marker or the fixture."""
    return _own_request(item) not in (None, Request(OFF))


def request_for(config: pytest.Config, item: pytest.Item | None = None) -> Request | None:
    """Return how to watch a test, without one every test; None where that is not asked for.

    Flag, marker or fixture, ini-file, environment variable, in this order. Raises SettingsError.
    """
    flag, ini = config.getoption(NAME), config.getini(NAME)
    options = Request(
        None, config.getoption(f"{NAME}_virtual") or None, config.getoption(f"{NAME}_warn") or None
    )
    twins = Request(None, config.getini(f"{NAME}_virtual") or None, config.getini(f"{NAME}_warn") or None)
    asked = [
        request_of(flag or "", FLAG),
        _own_request(item) if item is not None else None,
        request_of(ini, f"`{NAME}` in the ini-file"),
        request_in(os.environ),
    ]
    strongest = next((request for request in asked if request is not None), None)
    if strongest is None or strongest.mode == OFF:
        return None
    return merged([options, *asked[:2], twins, *asked[2:]])


def _own_request(item: pytest.Item) -> Request | None:
    """What the closest marker of a test says, or the use of the fixture. Raises SettingsError."""
    marker = item.get_closest_marker(NAME)
    if marker is None:
        return Request() if NAME in getattr(item, "fixturenames", ()) else None
    mode = marker.args[0] if marker.args else marker.kwargs.get("mode")
    if len(marker.args) > 1 or set(marker.kwargs) - {"mode", "warn"} or mode not in (None, *MODES, OFF):
        raise SettingsError(f"{item.nodeid}: not what the marker `{NAME}` takes: {MARKER}")
    return Request(cast("Mode | None", mode), None, marker.kwargs.get("warn"))


@pytest.fixture
def graph_sentinel(request: pytest.FixtureRequest) -> TestWatch:
    """Watch this test; `graph_sentinel.wrap(runner, inputs=..., padding=..., eager=...)` tells it more."""
    from graphlint.sentinel.pytest_watching import watch_of

    return watch_of(request.node)
