"""Streams during a capture, and what other threads may do meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from tests.sentinel.capturing import capture, quietly
from tests.sentinel.scenarios import PROGRAMS, first_words, full, ones, scenario


@scenario()
def inlet_missing_default_stream() -> Any:
    x, out = ones(4), full(0.0)

    def body() -> None:
        with torch.cuda.stream(torch.cuda.default_stream()):
            out.copy_(x)

    graph, _ = capture(body)
    out.zero_()
    x.fill_(10)
    graph.replay()
    return {"expected": 10, "got": out.tolist()}


def _without_inlet(joins: bool) -> None:
    side, x = torch.cuda.Stream(), ones(4)

    def body() -> None:
        with torch.cuda.stream(side):
            x * 2
        if joins:
            torch.cuda.current_stream().wait_stream(side)

    capture(body)


@scenario()
def inlet_missing() -> Any:
    _without_inlet(joins=True)


@scenario()
def inlet_missing_nojoin() -> Any:
    _without_inlet(joins=False)


@scenario()
def outlet_missing() -> Any:
    side, x = torch.cuda.Stream(), ones(4)

    def body() -> None:
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            x.add_(1)

    capture(body)


@scenario()
def isolation() -> Any:
    side, x = torch.cuda.Stream(), ones(4)
    with torch.cuda.stream(side):
        x.add_(1)
    capture(lambda: torch.cuda.current_stream().wait_stream(side))


@scenario("late")
def replay_other_stream_race() -> Any:
    given, side = ones(1), torch.cuda.Stream()
    graph, out = capture(lambda: given + 0)
    graph.replay()
    torch.cuda.synchronize()
    given.fill_(6)
    with torch.cuda.stream(side):
        graph.replay()
        return {"expected 6": out.item()}


@scenario()
def two_captures_threads() -> Any:
    found: dict[int, Any] = {}

    def work(number: int) -> None:
        x = full(2.0)
        graph, out = capture(lambda: x * 1, stream=streams[number], capture_error_mode="thread_local")
        graph.replay()
        found[number] = out.tolist()

    streams = [torch.cuda.Stream(), torch.cuda.Stream()]
    for number in range(2):  # two captures that are open at the same moment are in test_streams.py
        _in_thread(partial(work, number))
    return [found[0], found[1]]


def _in_thread(body: Callable[[], Any]) -> str:
    """What becomes of a call on another thread."""
    outcome: list[str] = []

    def run() -> None:
        try:
            body()
            outcome.append("ok")
        except Exception as error:
            outcome.append(first_words(error))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return outcome[0]


class Other:
    """What another thread does in the middle of a capture."""

    def __init__(self) -> None:
        self.event, self.stream = torch.cuda.Event(), torch.cuda.Stream()
        self.x, self.host = ones(4), torch.ones(4)
        with torch.cuda.stream(self.stream):
            self.there = ones(4)
        self.event.record()
        torch.cuda.synchronize()

    def query(self) -> None:
        self.event.query()

    def sync(self) -> None:
        torch.cuda.synchronize()

    def stream_sync(self) -> None:
        self.stream.synchronize()

    def evsync(self) -> None:
        self.event.synchronize()

    def malloc(self) -> None:
        torch.empty(64 << 20, dtype=torch.uint8, device="cuda")

    def item(self) -> None:
        self.x[0].item()

    def kernel(self) -> None:
        self.x.add_(1)

    def pin(self) -> None:
        torch.ones(4).pin_memory()

    def empty_cache(self) -> None:
        torch.cuda.empty_cache()

    def upload(self) -> None:
        self.x.copy_(self.host)

    def download(self) -> None:
        self.host.copy_(self.x)


def beside(mode: str, what: str) -> tuple[str, str, bool | None]:
    """Of a capture and of a call on another thread meanwhile: what became of them, and of the replay."""
    other, x, stream = Other(), ones(4), torch.cuda.current_stream()
    outcome, replayed = "", None

    def body() -> Any:
        nonlocal outcome
        made = x * 2
        outcome = _in_thread(getattr(other, what))
        return made

    try:
        graph, out = capture(body, capture_error_mode=mode)
        captured = "ok"
        graph.replay()
        replayed = out.tolist() == [2.0] * 4
    except Exception as error:
        captured = first_words(error)
    quietly(stream)
    return captured, outcome, replayed


def _named(mode: str, what: str) -> Callable[[], Any]:
    def run() -> Any:
        captured, outcome, _ = beside(mode, what)
        return {"main": captured, "thread": [outcome]}

    return run


def _listed(mode: str, what: str) -> Callable[[], Any]:
    def run() -> Any:
        captured, outcome, replayed = beside(mode, what)
        found = {"thread": _without_kind(outcome), "capture": _without_kind(captured)}
        return found if replayed is None else found | {"replay": replayed}

    return run


def _without_kind(words: str) -> str:
    return words.split(": ", 1)[-1]


_LISTED = {
    "cudaMalloc (new segment)": "malloc",
    "kernel on default stream": "kernel",
    "cuda.synchronize": "sync",
    "stream.synchronize": "stream_sync",
    "event query": "query",
    "event synchronize": "evsync",
    ".item()": "item",
    "pin_memory": "pin",
    "empty_cache": "empty_cache",
    "H2D pageable": "upload",
    "D2H": "download",
}

for _mode in ("global", "thread_local", "relaxed"):
    for _what in ("query", "sync", "malloc", "item", "kernel", "pin", "evsync"):
        PROGRAMS[f"thread_{_what}_{_mode}"] = (_named(_mode, _what), "early")
    for _words, _what in _LISTED.items():
        PROGRAMS[f"thread, {_mode}: {_words}"] = (_listed(_mode, _what), "early")
