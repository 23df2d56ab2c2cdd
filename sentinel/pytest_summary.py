"""The section of pytest's summary that says what was seen, and the outcome of single tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from graphlint.formats.style import count
from graphlint.sentinel import allowing, reporting
from graphlint.sentinel.pytest_payload import Payload
from graphlint.sentinel.pytest_plugin import NAME

OUTSIDE = "outside of tests"
_MAX_UNSEEN = 3


class Summary:
    """Collects what watched tests tell, in this process or another, and tells it at the end."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._told: dict[str, Payload] = {}
        self._outside: list[Payload] = []

    def add(self, nodeid: str, payload: Payload) -> None:
        """Take what a test tells, its last word counts; without an id, what was seen outside of tests."""
        if nodeid:
            self._told[nodeid] = payload
        else:
            self._outside.append(payload)

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> Any:
        payload = getattr(report, NAME, None)
        if payload is None or report.when != "call" or not payload["findings"]:
            return None
        if report.failed and payload["failed"]:
            return "failed", "G", ("GRAPH HAZARD", {"red": True})
        if report.passed and not hasattr(report, "wasxfail"):
            return "passed", "g", ("GRAPH WARNING", {"yellow": True})
        return None

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """What happens outside of tests fails the run, as there is no test to fail."""
        fails = any(each["findings"] and not each["warn"] for each in self._outside)
        if fails and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        lines = list(self._lines(terminalreporter.verbosity))
        if not lines:
            return
        terminalreporter.section("graph sentinel")
        for line in lines:
            terminalreporter.write_line(line)

    def _lines(self, verbosity: int) -> Iterator[str]:
        payloads = [*self._told.items(), *((OUTSIDE, payload) for payload in self._outside)]
        found = [(nodeid, payload) for nodeid, payload in payloads if payload["findings"]]
        for nodeid, payload in found:
            yield from _of_test(nodeid, payload, verbosity)
        if verbosity < 0 and not found:
            return
        yield _totals(payloads)
        yield from self._allowed(payloads, verbosity)
        yield from _unseen(payloads, verbosity)

    def _allowed(self, payloads: list[tuple[str, Payload]], verbosity: int) -> Iterator[str]:
        """The entries of the allow-list that were not needed, and with `-v` those that were."""
        used = Counter(entry for _, payload in payloads for entry in payload["used"])
        table = allowing.load(self._config.rootpath)
        if verbosity > 0:
            yield from (f"allowed {count(times, 'time')}: {entry}" for entry, times in used.items())
        yield from reporting.unused(table, (entry for entry in table.allow if str(entry) in used))


def _of_test(nodeid: str, payload: Payload, verbosity: int) -> Iterator[str]:
    """A line for each finding, or the whole of it where no failure has shown it."""
    is_shown = verbosity < 0 or not (payload["warn"] or nodeid == OUTSIDE)
    for finding in payload["findings"]:
        yield f"{finding['line']} in {nodeid}" if is_shown else f"in {nodeid}:"
        yield from () if is_shown else (*finding["text"].splitlines(), "")


def _totals(payloads: list[tuple[str, Payload]]) -> str:
    each = [payload for _, payload in payloads]
    told = [payload for nodeid, payload in payloads if nodeid != OUTSIDE]
    modes = ", ".join(sorted({payload["mode"] for payload in told or each}))
    tests = count(len(told), "watched test")
    found = sum(payload["found"] for payload in each)
    accepted = sum(payload["accepted"] for payload in each)
    # A watch around all tests counts theirs as well.
    around = [payload for nodeid, payload in payloads if nodeid == OUTSIDE] or each
    graphs = sum(payload["graphs"] for payload in around)
    replays = sum(payload["replays"] for payload in around)
    allowed = f"; {accepted:,} allowed" if accepted else ""
    return (
        f"{count(found, 'finding') if found else 'No findings'}{allowed} "
        f"({tests}, mode {modes}, {count(graphs, 'graph')}, {count(replays, 'replay')})"
    )


def _unseen(payloads: list[tuple[str, Payload]], verbosity: int) -> Iterator[str]:
    reasons = list(dict.fromkeys(reason for _, payload in payloads for reason in payload["unseen"]))
    shown = reasons if verbosity > 0 else reasons[:_MAX_UNSEEN]
    yield from (f"Not seen: {reason}" for reason in shown)
    if len(reasons) > len(shown):
        yield f"Not seen: {count(len(reasons) - len(shown), 'more reason')} (-v)"
