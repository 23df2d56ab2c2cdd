"""CG105, CG202 and CG203: work on one stream that touches what a replay on another one reads or writes."""

from __future__ import annotations

from textwrap import indent

import pytest

from tests.programs import check_marked_rules, check_marks
from tests.rules.conftest import Shows

DECODER = """
import torch


class Decoder:
    def __init__(self, net: torch.nn.Linear):
        self.net = net
        self.tokens = torch.zeros(8, 16, device="cuda")
        self.copy_stream, self.run_stream = torch.cuda.Stream(), torch.cuda.Stream()
        self.copied, self.ready = torch.cuda.Event(), torch.cuda.Event()
        self.graph = torch.cuda.CUDAGraph()
        self.host = torch.zeros(8, 16, pin_memory=True)
        self.net(self.tokens)
        with torch.cuda.graph(self.graph):
            self.logits = self.net(self.tokens)

    def decode(self, batches, main=None):
        main = {main}
        results = []
        for batch in batches:
{body}
        return results


def serve(net, batches):
    return Decoder(net).decode(batches)
"""


def check(body: str, main: str = "torch.cuda.current_stream()") -> None:
    check_marked_rules(DECODER.format(body=indent(body.strip("\n"), " " * 12), main=main))


@pytest.mark.parametrize(
    "body",
    [
        """
with torch.cuda.stream(self.copy_stream):
    self.tokens.copy_(batch, non_blocking=True)  # expect: CG105
self.graph.replay()
""",
        """
self.tokens.copy_(batch)  # expect: CG105
with torch.cuda.stream(self.run_stream):
    self.graph.replay()
self.run_stream.synchronize()
""",
        """
self.copy_stream.wait_stream(main)
with torch.cuda.stream(self.copy_stream):
    self.tokens[:4] = batch  # expect: CG105
self.graph.replay()
""",
        """
with torch.cuda.stream(self.copy_stream):
    self.copied.record()
    self.tokens.zero_()  # expect: CG105
main.wait_event(self.copied)
self.graph.replay()
""",
        """
with torch.cuda.stream(self.copy_stream):
    torch.add(self.tokens, 1, out=self.tokens)  # expect: CG105
with torch.cuda.stream(self.run_stream):
    self.graph.replay()
self.run_stream.synchronize()
""",
        """
with torch.cuda.stream(self.copy_stream):
    self.tokens += 1  # expect: CG105
main.synchronize()
self.graph.replay()
""",
    ],
)
def test_inputs_written_elsewhere(body: str) -> None:
    check(body)


@pytest.mark.parametrize(
    "body",
    [
        "self.tokens.copy_(batch)  # ok: CG105\nself.graph.replay()",
        """
with torch.cuda.stream(self.copy_stream):
    self.tokens.copy_(batch, non_blocking=True)  # ok: CG105
main.wait_stream(self.copy_stream)
self.graph.replay()
""",
        """
with torch.cuda.stream(self.copy_stream):
    self.tokens.copy_(batch, non_blocking=True)  # ok: CG105
    self.copied.record()
self.copied.wait()
self.graph.replay()
""",
        """
with torch.cuda.stream(self.copy_stream):
    self.tokens.copy_(batch, non_blocking=True)  # ok: CG105
self.copy_stream.synchronize()
self.graph.replay()
""",
        """
self.tokens.copy_(batch)  # ok: CG105
self.run_stream.wait_stream(main)
with torch.cuda.stream(self.run_stream):
    self.graph.replay()
main.wait_stream(self.run_stream)
""",
        """
with torch.cuda.stream(self.copy_stream):
    self.tokens.copy_(batch)  # ok: CG105
    self.copy_stream.record_event(self.copied)
self.run_stream.wait_event(self.copied)
with torch.cuda.stream(self.run_stream):
    self.graph.replay()
torch.cuda.synchronize()
""",
        """
with torch.cuda.stream(self.copy_stream):
    self.tokens.copy_(batch)  # ok: CG105
batch.wait_until_copied()
self.graph.replay()
""",
    ],
)
def test_inputs_written_in_order(body: str) -> None:
    check(body)


def test_a_stream_that_is_passed_in_is_taken_to_be_the_right_one() -> None:
    check(
        """
with torch.cuda.stream(main):
    self.tokens.copy_(batch)  # ok: CG105
self.graph.replay()
""",
        main="main",
    )


REPLAYED = """
self.tokens.copy_(batch)
self.run_stream.wait_stream(main)
with torch.cuda.stream(self.run_stream):
    self.graph.replay()
"""


@pytest.mark.parametrize(
    "after",
    [
        "results.append(self.logits.argmax().item())  # expect: CG202",
        "best = self.logits.max()  # expect: CG202",
        "results.append(self.logits.clone())  # expect: CG202",
        "self.host.copy_(self.logits)  # expect: CG202",
        "total = self.logits + self.tokens  # expect: CG202",
        "self.ready.record()\nself.ready.synchronize()\nresults.append(self.logits.sum())  # expect: CG202",
    ],
)
def test_outputs_read_elsewhere(after: str) -> None:
    check(REPLAYED + after)


@pytest.mark.parametrize(
    "after",
    [
        "main.wait_stream(self.run_stream)\nresults.append(self.logits.argmax().item())  # ok: CG202",
        "self.run_stream.synchronize()\nresults.append(self.logits.clone())  # ok: CG202",
        "torch.cuda.synchronize()\nbest = self.logits.max()  # ok: CG202",
        "self.ready.record(self.run_stream)\nself.ready.wait()\nbest = self.logits.max()  # ok: CG202",
        "with torch.cuda.stream(self.run_stream):\n    best = self.logits.max().item()  # ok: CG202",
        "while not self.run_stream.query():\n    pass\nbest = self.logits.max()  # ok: CG202",
    ],
)
def test_outputs_read_in_order(after: str) -> None:
    check(REPLAYED + after)


@pytest.mark.parametrize(
    "reader",
    [
        "results.append(self.logits.to('cpu', non_blocking=True))",
        "results.append(self.logits.clone())",
        "self.host.copy_(self.logits, non_blocking=True)",
        "results.append(self.logits.float())",
        "torch.mul(self.logits, 2, out=self.other)",
        "results.append(torch.softmax(self.logits, -1))",
    ],
)
def test_replays_that_overtake_readers(reader: str) -> None:
    check(f"""
self.tokens.copy_(batch)
self.graph.replay()  # expect: CG203
self.copy_stream.wait_stream(main)
with torch.cuda.stream(self.copy_stream):
    {reader}
""")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("main.wait_stream(self.copy_stream)", "pass"),
        ("pass", "self.copy_stream.synchronize()"),
        ("pass", "self.copied.record(self.copy_stream)\nself.copied.synchronize()"),
        ("pass", "main.wait_stream(self.copy_stream)"),
        ("self.copied.wait()", "self.copied.record(self.copy_stream)"),
        ("torch.cuda.synchronize()", "pass"),
    ],
)
def test_replays_after_their_readers(before: str, after: str) -> None:
    check(f"""
self.tokens.copy_(batch)
{before}
self.graph.replay()  # ok: CG203
self.copy_stream.wait_stream(main)
with torch.cuda.stream(self.copy_stream):
    results.append(self.logits.to('cpu', non_blocking=True))
{after}
""")


def test_across_files() -> None:
    check_marked_rules(
        {
            "feed.py": """
            import torch


            class Feeder:
                def __init__(self):
                    self.stream = torch.cuda.Stream()

                def put(self, target, batch):
                    with torch.cuda.stream(self.stream):
                        target.copy_(batch, non_blocking=True)  # expect: CG105

                def wait(self):
                    torch.cuda.current_stream().wait_stream(self.stream)
            """,
            "good.py": """
            import torch
            from feed import Feeder


            def run(batches):
                x = torch.zeros(4, device="cuda")
                graph, feeder = torch.cuda.CUDAGraph(), Feeder()
                with torch.cuda.graph(graph):
                    y = x * 2
                for batch in batches:
                    feeder.put(x, batch)
                    graph.replay()
                return y.clone()
            """,
        }
    )


def test_suppressed() -> None:
    check("""
with torch.cuda.stream(self.copy_stream):
    self.tokens.copy_(batch)  # graphlint: ignore[CG105] -- the step does not read the last row
self.graph.replay()  # ok: CG105
""")


SHOWN = """
import torch

x = torch.zeros(8, device="cuda")
side = torch.cuda.Stream()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x * 2
"""


@pytest.mark.parametrize(
    ("code", "body"),
    [
        ("CG105", "x.fill_(1)\nwith torch.cuda.stream(side):\n    graph.replay()\n"),
        ("CG202", "with torch.cuda.stream(side):\n    graph.replay()\nprint(y.sum())\n"),
        (
            "CG203",
            "for step in range(3):\n    graph.replay()\n    side.wait_stream(torch.cuda.current_stream())\n"
            "    with torch.cuda.stream(side):\n        z = y.clone()\n",
        ),
    ],
)
def test_the_text(shows: Shows, code: str, body: str) -> None:
    shows(f"{code}-streams", {"program.py": SHOWN + body})


@pytest.mark.parametrize(
    ("taken", "wait", "mark"),
    [
        ("self.weight", "pass", "expect"),
        ("self.weight", "torch.cuda.current_stream().wait_stream(self.side)", "ok"),
        ("self.weight", "self.side.synchronize()", "ok"),
        ("self.other", "pass", "ok"),
    ],
)
def test_memory_that_the_graph_writes_is_copied_beside_the_next_replay(
    taken: str, wait: str, mark: str
) -> None:
    check_marks(
        f"""
        import torch

        class Sim:
            def __init__(self):
                self.weight = torch.zeros(8, device="cuda")
                self.other = torch.zeros(8, device="cuda")
                self.kept = torch.zeros(8, device="cuda")
                self.side = torch.cuda.Stream()
                self.graph = torch.cuda.CUDAGraph()

            def body(self):
                self.weight.add_(self.other)

            def capture(self):
                self.body()
                with torch.cuda.graph(self.graph):
                    self.body()

            def save(self):
                self.side.wait_stream(torch.cuda.current_stream())
                with torch.cuda.stream(self.side):
                    self.kept.copy_({taken})

            def run(self, steps: int):
                for _ in range(steps):
                    {wait}
                    self.graph.replay()  # {mark}: CG203
                    self.save()
        """,
        select=("CG203",),
    )


@pytest.mark.parametrize(("wait", "mark"), [("pass", "expect"), ("current.wait_event(done)", "ok")])
def test_weights_that_a_captured_step_moves_are_copied_beside_the_next_replay(wait: str, mark: str) -> None:
    check_marks(
        f"""
        import torch
        from torch import nn

        def main(batches: list, kept: dict):
            net = nn.Linear(4, 4).cuda()
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            x = torch.zeros(4, 4, device="cuda")
            side, current, done = torch.cuda.Stream(), torch.cuda.current_stream(), torch.cuda.Event()

            def step():
                opt.zero_grad(set_to_none=True)
                net(x).sum().backward()
                opt.step()

            step()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                step()
            for batch in batches:
                x.copy_(batch)
                {wait}
                graph.replay()  # {mark}: CG203
                side.wait_stream(current)
                with torch.cuda.stream(side):
                    kept["weight"].copy_(net.weight)
                    done.record()
        """,
        select=("CG203",),
    )
