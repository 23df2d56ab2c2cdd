"""Threads that find their work only after they were started, beside captures that restrict every thread."""

from __future__ import annotations

import pytest

from tests.programs import check_marks

PROGRAM = """
import threading

import torch

class Engine:
    def __init__(self):
        self.pending = []
        self.graph = None
        threading.Thread(target=self.watch, daemon=True).start()

    def watch(self):
        while True:
            for event in self.pending:
                {work}

    def record(self, x):
        x * 2
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):  # {mark}: CG502
            self.y = x * 2

    def __call__(self, x):
        event = torch.cuda.Event()
        event.record()
        self.pending.append(event)
        if self.graph is None:
            self.x = x.clone()
            self.record(self.x)
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(("work", "mark"), [("event.query()", "expect"), ("print(event)", "ok")])
def test_a_thread_is_looked_at_again_at_the_end(work: str, mark: str) -> None:
    check_marks(PROGRAM.format(work=work, mark=mark), select=("CG502",))


def test_what_starts_a_thread_that_replays_is_done_once() -> None:
    check_marks(
        """
        import queue
        import threading

        import torch

        class Service:
            def __init__(self):
                self.inbox = queue.Queue()
                self.x = torch.zeros(4, device="cuda")
                self.graph = torch.cuda.CUDAGraph()

            def start(self):
                with torch.cuda.graph(self.graph):  # ok: CG502
                    self.y = self.x * 2
                threading.Thread(target=self.work).start()

            def work(self):
                while True:
                    self.x.copy_(self.inbox.get().cuda())
                    self.graph.replay()
        """,
        select=("CG502",),
    )
