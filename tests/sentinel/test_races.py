"""Every pair of steps that no edge orders is run both ways round, and no others are."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import combinations
from typing import Any

import pytest

STREAMS = 3
Action = tuple[str, int, int]


def _program(seed: int) -> list[Action]:
    """Steps on streams, streams that wait for others, a host that waits for a stream."""
    draw = random.Random(seed)
    kinds = ["step"] * 6 + ["wait"] * 3 + ["host"]
    return [
        (draw.choice(kinds), draw.randrange(STREAMS), draw.randrange(STREAMS))
        for _ in range(draw.randint(6, 24))
    ]


def _ordered_pairs(actions: list[Action]) -> tuple[int, set[tuple[int, int]]]:
    """How many steps there are, and which of them come before which, by the edges."""
    before: dict[int, set[int]] = {stream: set() for stream in range(STREAMS)}  # of what a stream does next
    pairs: set[tuple[int, int]] = set()
    steps = 0
    for kind, stream, other in actions:
        if kind == "step":
            pairs |= {(earlier, steps) for earlier in before[stream]}
            before[stream] |= {steps}
            steps += 1
        elif kind == "wait":
            before[stream] |= before[other]
        else:
            for each in before.values():  # the host issues what follows only then
                each |= before[stream]
    return steps, pairs


def _issue(actions: list[Action], streams: list[Any], happened: list[int]) -> None:
    import torch

    from graphlint.sentinel.virtual.tape import Call
    from graphlint.sentinel.virtual.transfers import issue

    steps = 0
    for kind, stream, other in actions:
        if kind == "step":
            with torch.cuda.stream(streams[stream]):
                issue(Call(lambda step=steps: happened.append(step)))  # type: ignore[misc]
            steps += 1
        elif kind == "wait":
            streams[stream].wait_stream(streams[other])
        else:
            streams[stream].synchronize()


def _eagerly(actions: list[Action]) -> list[int]:
    import torch

    happened: list[int] = []
    streams = [torch.cuda.default_stream(), torch.cuda.Stream(), torch.cuda.Stream()]
    _issue(actions, streams, happened)
    torch.cuda.synchronize()
    return happened


def _in_a_graph(actions: list[Action]) -> list[int]:
    import torch

    happened: list[int] = []
    origin, *others = streams = [torch.cuda.Stream(), torch.cuda.Stream(), torch.cuda.Stream()]
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=origin):
        for other in others:
            other.wait_stream(origin)
        _issue([action for action in actions if action[0] != "host"], streams, happened)
        for other in others:
            origin.wait_stream(other)
    graph.replay()
    torch.cuda.synchronize()
    return happened


def _orders(run: Callable[[list[Action]], list[int]], actions: list[Action], first: int) -> list[list[int]]:
    from graphlint.sentinel import virtual_cuda

    seen = []
    for number in range(first, first + STREAMS):
        with virtual_cuda(order=number):
            seen.append(run(actions))
    return seen


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("run, first", [(_eagerly, 0), (_in_a_graph, 1)], ids=["eagerly", "in a graph"])
def test_unordered_pairs_happen_both_ways(
    run: Callable[[list[Action]], list[int]], first: int, seed: int
) -> None:
    pytest.importorskip("torch")
    actions = _program(seed)
    if first:
        actions = [action for action in actions if action[0] != "host"]
    steps, ordered = _ordered_pairs(actions)
    orders = _orders(run, actions, first)
    assert all(sorted(happened) == list(range(steps)) for happened in orders)
    for one, other in combinations(range(steps), 2):
        ways = {happened.index(one) < happened.index(other) for happened in orders}
        if (one, other) in ordered:
            assert ways == {True}
        else:
            assert ways == {True, False}, (one, other, orders)


def _unjoined() -> Any:
    import torch

    side, value = torch.cuda.Stream(), torch.zeros(1, device="cuda")
    torch.cuda.synchronize()
    value.fill_(5)
    with torch.cuda.stream(side):
        seen = value * 1
    torch.cuda.synchronize()
    return seen


def _joined() -> Any:
    import torch

    side, value = torch.cuda.Stream(), torch.zeros(1, device="cuda")
    value.fill_(5)
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        seen = value * 1
    torch.cuda.current_stream().wait_stream(side)
    return seen


def test_a_race_is_reported_with_the_stream_that_shows_it() -> None:
    pytest.importorskip("torch")
    from graphlint.sentinel.virtual import race

    found = race(_unjoined)
    assert found.found and found.returned.item() == 5
    assert [seen.item() for seen in found.differing.values()] == [0]


def test_a_program_with_edges_has_no_race() -> None:
    pytest.importorskip("torch")
    from graphlint.sentinel.virtual import race

    assert not race(_joined).found
