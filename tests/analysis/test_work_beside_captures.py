"""Threads, events and host arrays around a capture: what is part of it, and what only looks so."""

from __future__ import annotations

import pytest

from tests.programs import check_marks

THREADS = """
import threading

import torch

class Halves:
    def __init__(self):
        self.x = torch.zeros(8, 4, device="cuda")
        self.y = torch.zeros(8, 4, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def part(self, rows, stream):
        {context}
            self.y[rows].copy_(self.x[rows] * 2)  # {mark}

    def both(self):
        stream = torch.cuda.current_stream()
        threads = [threading.Thread(target=self.part, args=(r, stream)) for r in (slice(0, 4), slice(4, 8))]
        for thread in threads:
            thread.start()
        {join}

    def record(self):
        self.both()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph, capture_error_mode="thread_local"):
            self.x + 1
            self.both()
"""


@pytest.mark.parametrize(
    ("context", "join", "mark"),
    [
        ("if True:", "[thread.join() for thread in threads]", "expect: CG501"),
        ("with torch.cuda.stream(stream):", "[thread.join() for thread in threads]", "ok: CG501"),
        ("if True:", "pass", "ok: CG501"),
    ],
)
def test_work_of_a_thread_that_captured_code_waits_for(context: str, join: str, mark: str) -> None:
    check_marks(THREADS.format(context=context, join=join, mark=mark))


EVENTS = """
import torch

class Layers:
    def __init__(self, count):
        self.side = torch.cuda.Stream()
        self.done = [torch.cuda.Event() for _ in range(count)]
        self.kv = torch.zeros(4, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def load(self):
        self.side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.side):
            for event in self.done:
                self.kv.mul_(2)
                event.record()

    def run(self):
        {before}
        for event in self.done:
            torch.cuda.current_stream().wait_event(event)  # {mark}
        return self.kv + 1

    def record(self):
        self.load()
        self.run()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.out = self.run()
"""


@pytest.mark.parametrize(("before", "mark"), [("pass", "expect: CG507"), ("self.load()", "ok: CG507")])
def test_one_of_several_events_recorded_before_the_capture(before: str, mark: str) -> None:
    check_marks(EVENTS.format(before=before, mark=mark))


ARRAY = """
import torch

class Masked:
    def __init__(self):
        self.host = torch.zeros(4, 32, dtype=torch.int32, pin_memory=True)
        self.rows = self.host.numpy()
        self.mask = torch.zeros(4, 32, dtype=torch.int32, device="cuda")
        self.x = torch.zeros(4, 32, device="cuda")
        self.sent = torch.cuda.Event()
        self.graph = torch.cuda.CUDAGraph()
        self.x * self.mask
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self.x * self.mask

    def step(self, bits):
        for _ in range(3):
            {wait}
            row = self.rows[0]
            {write}  # {mark}
            self.mask.copy_(self.host, non_blocking=True)
            self.sent.record()
            self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(
    ("wait", "write", "mark"),
    [
        ("pass", "row[:] = bits", "expect: CG107"),
        ("pass", "self.rows[1] = bits", "expect: CG107"),
        ("self.sent.synchronize()", "row[:] = bits", "ok: CG107"),
        ("pass", "bits = row[0]", "ok: CG107"),
    ],
)
def test_an_array_over_pinned_memory(wait: str, write: str, mark: str) -> None:
    check_marks(ARRAY.format(wait=wait, write=write, mark=mark))


SMALL = """
import torch

class Overlapped:
    def __init__(self):
        self.side = torch.cuda.Stream()
        self.x = torch.zeros(8, 4, device="cuda")
        self.graphs = {{}}

    def layer(self, x):
        here = torch.cuda.current_stream()
        self.side.wait_stream(here)
        with torch.cuda.stream(self.side):  # {mark}
            extra = x * 2
        if x.shape[0] < {limit}:
            return x
        here.wait_stream(self.side)
        return x + extra

    def record(self):
        pool = torch.cuda.graph_pool_handle()
        for rows in (8, 4):
            self.layer(self.x[:rows])
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=pool):
                out = self.layer(self.x[:rows])
            self.graphs[rows] = (graph, out)
"""


@pytest.mark.parametrize(("limit", "mark"), [(6, "expect: CG506"), (2, "ok: CG506")])
def test_a_part_with_a_known_number_of_rows(limit: int, mark: str) -> None:
    check_marks(SMALL.format(limit=limit, mark=mark))
