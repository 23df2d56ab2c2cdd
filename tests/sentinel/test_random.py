"""Random numbers in graphs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sentinel.capturing import capture


def test_each_replay_draws_new_numbers(cuda: Any) -> None:
    import torch

    graph, drawn = capture(lambda: torch.rand(4, device="cuda"))
    graph.replay()
    first = drawn.clone()
    graph.replay()
    assert not torch.equal(first, drawn)


def test_reseeding_between_replays_repeats_them(cuda: Any) -> None:
    import torch

    graph, drawn = capture(lambda: torch.nn.functional.dropout(torch.ones(32, device="cuda")))
    kept = []
    for _ in range(2):
        torch.cuda.manual_seed(5)
        graph.replay()
        kept.append(drawn.clone())
    assert torch.equal(*kept)


def test_a_replay_draws_what_eager_execution_would(cuda: Any) -> None:
    import torch

    def body() -> Any:
        return torch.rand(3, device="cuda") + torch.randn(3, device="cuda")

    graph, drawn = capture(body)
    state = torch.cuda.get_rng_state()
    graph.replay()
    after = torch.cuda.get_rng_state()
    torch.cuda.set_rng_state(state)
    assert torch.equal(body(), drawn)
    assert torch.equal(torch.cuda.get_rng_state(), after)


def test_a_generator_must_be_registered(cuda: Any) -> None:
    import torch

    own = torch.Generator(device="cuda")

    def body() -> Any:
        return torch.rand(2, device="cuda", generator=own)

    stream = torch.cuda.current_stream()
    with (
        pytest.raises(RuntimeError, match="generator not in capture mode"),
        pytest.warns(UserWarning, match="Graph is empty"),
    ):
        capture(body)
    torch.cuda.set_stream(stream)
    graph = torch.cuda.CUDAGraph()
    graph.register_generator_state(own)
    with torch.cuda.graph(graph):
        drawn = body()
    graph.replay()
    first = drawn.clone()
    graph.replay()
    assert not torch.equal(first, drawn)


def test_a_lost_capture_leaves_the_generator_stuck_until_a_good_one(cuda: Any) -> None:
    import torch

    ones = torch.ones(1, device="cuda")
    stream = torch.cuda.current_stream()
    with pytest.raises(RuntimeError, match="previous error"):
        capture(lambda: ones.item())
    torch.cuda.set_stream(stream)
    assert (ones + 1).item() == 2
    with pytest.raises(RuntimeError, match="Offset increment outside graph capture"):
        torch.rand(1, device="cuda")
    capture(lambda: ones + 1)
    torch.rand(1, device="cuda")


def test_random_numbers_of_the_host_are_frozen(cuda: Any) -> None:
    import random

    import torch

    ones = torch.ones(1, device="cuda")
    graph, made = capture(lambda: ones * random.random())
    graph.replay()
    first = made.item()
    graph.replay()
    assert made.item() == first
