"""Programs that write their static inputs before each replay, all of them or not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sentinel.capturing import capture
from tests.sentinel.watching import codes


class Decoder:
    """Has an input that only some of its callers give."""

    def __init__(self) -> None:
        import torch

        self.ids = torch.zeros(4, device="cuda")
        self.shift = torch.zeros(4, device="cuda")
        self.count = torch.zeros(1, device="cuda")
        self.graph, self.out = capture(self.body)

    def body(self) -> Any:
        self.count += 1
        return self.ids + self.shift

    def run(self, ids: float, shift: float | None = None) -> Any:
        self.ids.fill_(ids)
        if shift is not None:
            self.shift.fill_(shift)
        self.graph.replay()
        return self.out.clone()


@pytest.mark.parametrize("mode", ["canary", "test"])
def test_an_input_is_left_as_it_was_for_the_last_caller(mode: Any) -> None:
    torch = pytest.importorskip("torch")
    from graphlint.sentinel import watch

    with watch(mode, virtual=not torch.cuda.is_available()) as watching:
        decoder = Decoder()
        for step in range(3):
            decoder.run(step, 1.0)
        decoder.run(3.0)
    (found,) = watching.findings
    assert (found.code, found.check, found.confidence) == ("CG109", "rewritten-inputs", "likely")
    assert found.level == "warning" and found.replay == 4
    assert "`self.shift` was written before each of the last 3 replays and not before this" in found.message
    if mode == "test":
        assert found.touched[0].function == "Decoder.run"


def test_mode_watch_does_not_look(watched: Any) -> None:
    decoder = Decoder()
    for step in range(3):
        decoder.run(step, 1.0)
    decoder.run(3.0)
    assert watched.findings == []


def test_each_caller_gives_it(tested: Any) -> None:
    decoder = Decoder()
    for step in range(6):
        decoder.run(step, 1.0)
    assert tested.findings == []


def test_it_is_set_up_once_or_twice(tested: Any) -> None:
    decoder = Decoder()
    decoder.run(0.0, 1.0)
    decoder.run(1.0, 2.0)
    for step in range(5):
        decoder.run(step)
    assert tested.findings == []


def test_nothing_at_all_is_written(tested: Any) -> None:
    """A program that measures itself replays what is there."""
    decoder = Decoder()
    for step in range(5):
        decoder.run(step, 1.0)
    for _ in range(5):
        decoder.graph.replay()
    assert tested.findings == []


def test_it_is_written_now_and_then(tested: Any) -> None:
    decoder = Decoder()
    for step in range(9):
        decoder.run(step, 1.0 if step % 3 else None)
    assert tested.findings == []


def test_it_is_written_through_data(tested: Any) -> None:
    decoder = Decoder()
    for step in range(3):
        decoder.run(step, 1.0)
    decoder.shift.data[1:].fill_(2.0)
    decoder.run(3.0)
    assert tested.findings == []


def test_weights_are_trained_for_a_while(tested: Any) -> None:
    import torch

    layer, given = torch.nn.Linear(4, 4).cuda(), torch.ones(2, 4, device="cuda")
    layer(given)
    graph, _ = capture(lambda: layer(given))
    for step in range(8):
        given.fill_(step)
        if step < 4:
            with torch.no_grad():
                for weight in layer.parameters():
                    weight.mul_(0.5)
        graph.replay()
    assert tested.findings == []


def test_a_graph_writes_it_when_eager_code_does_not(tested: Any) -> None:
    import torch

    given, noise = torch.ones(4, device="cuda"), torch.ones(4, device="cuda")
    fill, _ = capture(lambda: noise.normal_())
    graph, _ = capture(lambda: given + noise)
    for step in range(8):
        given.fill_(step)
        if step < 4:
            noise.fill_(step)
        else:
            fill.replay()
        graph.replay()
    assert "CG109" not in codes(tested)


def test_a_graphed_callable_is_given_its_own_input(tested: Any) -> None:
    """Torch does not copy then; the weights, which an optimizer writes, say nothing of inputs."""
    import torch

    layer, given = torch.nn.Linear(4, 4).cuda(), torch.ones(2, 4, device="cuda")
    graphed = torch.cuda.make_graphed_callables(layer, (given,))
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    for step in range(5):
        optimizer.zero_grad()
        graphed(torch.full((2, 4), float(step), device="cuda")).sum().backward()
        optimizer.step()
    with torch.no_grad():
        graphed(given).sum().item()
    assert tested.findings == []
