"""CG501, CG506 and CG507: streams that fork from a capture and join it."""

from __future__ import annotations

import pytest

from tests.programs import check_marks

CAPTURED = """
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
        self.side, self.third = torch.cuda.Stream(), torch.cuda.Stream()
        self.main = torch.cuda.current_stream()
        self.ready, self.done = torch.cuda.Event(), torch.cuda.Event()
        self.shared = torch.cuda.Event(external=True)

    def forward(self, x):
{body}


def capture():
    net = Net().cuda()
    x = torch.zeros(4, 4, device="cuda")
    x @ x
    net.ready.record()
    net.shared.record()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = net(x)
    graph.replay()
    return y.clone()
"""


def check(body: str) -> None:
    lines = [f"        {line}" if line.strip() else "" for line in body.strip("\n").splitlines()]
    check_marks(CAPTURED.format(body="\n".join(lines)))


def test_a_fork_and_a_join() -> None:
    check("""
current = torch.cuda.current_stream()
self.side.wait_stream(current)
with torch.cuda.stream(self.side):  # ok: CG501
    a = self.a(x)
b = self.b(x)
current.wait_stream(self.side)  # ok: CG507
return a + b
""")


def test_a_fork_inside_the_block() -> None:
    check("""
current = torch.cuda.current_stream()
with torch.cuda.stream(self.side):  # ok: CG501
    self.side.wait_stream(current)
    a = self.a(x)
current.wait_stream(self.side)
return a + self.b(x)
""")


def test_a_fork_and_a_join_by_events() -> None:
    check("""
self.ready.record()
with torch.cuda.stream(self.side):  # ok: CG501
    self.ready.wait()
    a = self.a(x)
    self.done.record()
torch.cuda.current_stream().wait_event(self.done)
return a + self.b(x)
""")


def test_no_fork() -> None:
    check("""
with torch.cuda.stream(self.side):  # expect: CG501
    a = self.a(x)
torch.cuda.current_stream().wait_stream(self.side)
return a + self.b(x)
""")


def test_the_default_stream() -> None:
    check("""
with torch.cuda.stream(torch.cuda.default_stream()):  # expect: CG501
    a = self.a(x)
return a + self.b(x)
""")


def test_the_stream_that_was_current_before_the_capture() -> None:
    check("""
with torch.cuda.stream(self.main):  # expect: CG501
    a = self.a(x)
return a + self.b(x)
""")


def test_a_block_without_work() -> None:
    check("""
with torch.cuda.stream(self.side):  # ok: CG501
    width = x.shape[-1]
return self.b(x)
""")


def test_no_join() -> None:
    check("""
self.side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(self.side):  # expect: CG506
    a = self.a(x)
return a + self.b(x)
""")


def test_work_after_the_join() -> None:
    check("""
current = torch.cuda.current_stream()
self.side.wait_stream(current)
with torch.cuda.stream(self.side):  # ok: CG506
    a = self.a(x)
current.wait_stream(self.side)
with torch.cuda.stream(self.side):  # expect: CG506
    a = self.a(a)
return a
""")


def test_a_join_through_another_stream() -> None:
    check("""
current = torch.cuda.current_stream()
self.side.wait_stream(current)
with torch.cuda.stream(self.side):  # ok: CG506
    a = self.a(x)
self.third.wait_stream(self.side)
with torch.cuda.stream(self.third):  # ok: CG506
    b = self.b(a)
current.wait_stream(self.third)
return b
""")


@pytest.mark.parametrize(
    ("wait", "mark"),
    [
        ("torch.cuda.current_stream().wait_stream(self.side)", "expect"),
        ("torch.cuda.current_stream().wait_stream(self.main)", "expect"),
        ("torch.cuda.current_stream().wait_event(self.ready)", "expect"),
        ("self.ready.wait()", "expect"),
        ("self.shared.wait()", "ok"),
        ("self.done.wait()", "ok"),
        ("self.side.wait_stream(self.main)", "ok"),
    ],
)
def test_waiting_for_what_happened_outside(wait: str, mark: str) -> None:
    check(f"""
{wait}  # {mark}: CG507
return self.b(x)
""")


@pytest.mark.parametrize(
    ("given", "mark"), [("", "expect"), (", stream=stream", "ok"), (", stream=other", "ok")]
)
def test_a_stream_that_is_passed_in_may_be_the_one_that_was_given(given: str, mark: str) -> None:
    program = """
import torch


def build(net, other, stream: torch.cuda.Stream):
    x = torch.zeros(4, 4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph{given}):
        with torch.cuda.stream(stream):  # {mark}: CG501
            y = net(x)
    graph.replay()
    return y.clone()
"""
    check_marks(program.format(given=given, mark=mark))


def test_the_stream_that_the_capture_was_given() -> None:
    check_marks(
        """
import torch


class Runner:
    def __init__(self, net):
        self.net = net
        self.stream = torch.cuda.Stream()
        self.x = torch.zeros(4, 4, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.net(self.x)

    def capture(self):
        with torch.cuda.graph(self.graph, stream=self.stream):
            with torch.cuda.stream(self.stream):  # ok: CG501, CG506
                self.y = self.net(self.x)

    def step(self):
        self.graph.replay()
        return self.y.clone()
"""
    )


@pytest.mark.parametrize(
    ("before", "inside", "mark"),
    [
        ("self.produce()", "pass", "expect"),
        ("pass", "pass", "ok"),
        ("self.produce()", "self.fork()", "ok"),
    ],
)
def test_one_of_several_events(before: str, inside: str, mark: str) -> None:
    """Events of a list whose length is not known: none of them belongs to the capture, or one may."""
    check_marks(
        f"""
        import torch

        class Chain:
            def __init__(self, layers: list):
                self.side = torch.cuda.Stream()
                self.ready = [torch.cuda.Event() for _ in layers]
                self.x = torch.zeros(4, device="cuda")
                self.graph = torch.cuda.CUDAGraph()

            def produce(self):
                with torch.cuda.stream(self.side):
                    self.x.add_(1)
                    for event in self.ready:
                        event.record()

            def fork(self):
                self.side.wait_stream(torch.cuda.current_stream())
                self.produce()
                torch.cuda.current_stream().wait_stream(self.side)

            def consume(self, index: int):
                torch.cuda.current_stream().wait_event(self.ready[index])  # {mark}: CG507
                return self.x * 2

            def capture(self):
                {before}
                with torch.cuda.graph(self.graph):
                    {inside}
                    for index in range(len(self.ready)):
                        self.y = self.consume(index)
        """,
        select=("CG507",),
    )
