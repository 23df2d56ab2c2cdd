"""Watches tests: a block around all of them, a watch for each, and a verdict on what it has seen."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from graphlint.config import ConfigError
from graphlint.sentinel import allowing, reporting
from graphlint.sentinel.findings import Finding
from graphlint.sentinel.pytest_payload import PROPERTIES, Payload, payload_of, properties_of, rendered
from graphlint.sentinel.pytest_plugin import NAME, Listening, asks, is_virtual, request_for
from graphlint.sentinel.session import Watch, watch
from graphlint.sentinel.settings import OFF, Request
from graphlint.sentinel.wrapping import wrap

NO_DEVICE = "no CUDA device (--graph-sentinel-virtual gives one that needs no GPU)"


@dataclass(slots=True)
class TestWatch:
    """What the fixture `graph_sentinel` gives; `seen` is None where the test is not watched after all."""

    __test__ = False

    request: Request = field(default_factory=Request)
    seen: Watch | None = None
    told: int = 0
    is_reported: bool = False
    closing: ExitStack = field(default_factory=ExitStack)

    wrap = staticmethod(wrap)

    @property
    def findings(self) -> list[Finding]:
        """What has been found in this test so far, allowed or not."""
        return self.seen.findings if self.seen is not None else []

    @property
    def unseen(self) -> list[str]:
        """What could not be looked at, and why."""
        return self.seen.unseen if self.seen is not None else []


_WATCH = pytest.StashKey[TestWatch]()
_PAYLOAD = pytest.StashKey[Payload]()
_SECTION = pytest.StashKey[str]()


def watch_of(item: pytest.Item) -> TestWatch:
    """Return the watch of a test that is running."""
    return item.stash.get(_WATCH, TestWatch())


class Watching:
    """The part of the plugin that knows torch; made where there is something to watch, and begun at once."""

    def __init__(self, config: pytest.Config, listening: Listening) -> None:
        self._config = config
        self._listening = listening
        self._request = request_for(config)
        self._seen: Watch | None = None
        self._around = ExitStack()
        try:
            self._table = allowing.load(config.rootpath)
            self._lack = self._begin()
        except (ConfigError, RuntimeError) as error:
            raise pytest.UsageError(str(error)) from None

    def _begin(self) -> str:
        """Open what is around all tests, and return why none can be watched, if that is so.

        Graphs may be captured by fixtures of a session, so that the watch begins before any test.
        """
        try:
            import torch
        except ModuleNotFoundError:
            return "torch is not installed"
        virtual = is_virtual(self._config) or bool(self._request and self._request.virtual)
        if virtual:
            from graphlint.sentinel.virtual import virtual_cuda

            self._around.enter_context(virtual_cuda())
        elif not torch.cuda.is_available():
            return NO_DEVICE
        if self._request is not None:
            # In the cheapest mode: each test has a watch of its own in the mode that it asks for.
            self._seen = self._around.enter_context(watch())
        return ""

    def pytest_report_header(self) -> str | None:
        if self._request is None:
            return None
        where = ", virtual device" if self._request.virtual else ""
        return f"graph sentinel: {self._lack or f'mode {self._request.mode}{where}'}"

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, Any, Any]:
        request = request_for(self._config, item)
        item.stash[_WATCH] = own = TestWatch(request or Request())
        if request is not None and not self._lack:
            own.seen = own.closing.enter_context(_watch(request))
        elif self._seen is not None:  # what happens in a test that is not to be watched is nobody's
            own.closing.enter_context(watch())
        return (yield)

    def skip(self, item: pytest.Item) -> None:
        """Skip a test that asks to be watched where it cannot be."""
        if self._lack and asks(item) and request_for(self._config, item) is not None:
            pytest.skip(f"graph sentinel: {self._lack}")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        with self._judged(item):
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, Any, Any]:
        with self._judged(item), watch_of(item).closing:
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        payload = item.stash.get(_PAYLOAD, None)
        if payload is not None and report.when != "setup":
            setattr(report, NAME, payload)
            del item.stash[_PAYLOAD]
            text = item.stash.get(_SECTION, "")
            item.stash[_SECTION] = ""
            if text:
                report.sections.append(("graph sentinel", text))
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """End the watch around all tests, and tell what it found outside of them."""
        self._around.close()
        if self._seen is None or self._request is None:
            return
        outcome = self._outcome(self._seen)
        payload = payload_of(outcome, self._request, self._table.max_findings)
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput[NAME] = payload
        elif outcome.findings or not self._lack:
            self._listening.summary().add("", payload)

    def _outcome(self, seen: Watch) -> reporting.Outcome:
        return reporting.outcome_of(seen, self._table, self._config.invocation_params.dir)

    @contextmanager
    def _judged(self, item: pytest.Item) -> Iterator[None]:
        """Judge a test after a part of it; what it fails of itself stays the reason."""
        try:
            yield
        except BaseException:
            item.stash[_SECTION] = self._judge(item)
            raise
        own = watch_of(item)
        text = self._judge(item)
        if text and own.request.warn:
            item.stash[_SECTION] = text
        elif text:
            item.stash[_PAYLOAD]["failed"] = True
            pytest.fail(text, pytrace=False)

    def _judge(self, item: pytest.Item) -> str:
        """Note what was seen in a test, and return as text what is new since it was last judged."""
        own = watch_of(item)
        if own.seen is None:
            return ""
        outcome = self._outcome(own.seen)
        text = rendered(outcome, self._table.max_findings, since=own.told)
        own.told = len(outcome.findings)
        if text or not own.is_reported:
            own.is_reported = True
            item.stash[_PAYLOAD] = payload_of(outcome, own.request, self._table.max_findings)
        kept = [each for each in item.user_properties if each[0] not in PROPERTIES]
        item.user_properties[:] = [*kept, *properties_of(outcome)]
        return text


def _watch(request: Request) -> AbstractContextManager[Watch]:
    assert request.mode is not None and request.mode != OFF
    return watch(request.mode)
