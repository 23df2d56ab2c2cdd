"""What a capture does, refuses and leaves behind; what a replay does."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sentinel.capturing import capture, take_over


def test_nothing_runs_while_capturing(cuda: Any) -> None:
    import torch

    counter = torch.zeros(1, device="cuda")
    graph, _ = capture(lambda: counter.add_(1))
    assert counter.item() == 0
    graph.replay()
    graph.replay()
    assert counter.item() == 2


def test_outputs_hold_poison_before_the_first_replay(cuda: Any) -> None:
    import torch

    ones = torch.ones(3, device="cuda")
    graph, twice = capture(lambda: ones * 2)
    assert twice.isnan().all()
    graph.replay()
    assert twice.tolist() == [2, 2, 2]


def test_a_replay_reads_what_the_static_input_holds_now(cuda: Any) -> None:
    import torch

    given = torch.ones(3, device="cuda")
    graph, twice = capture(lambda: given * 2)
    given.copy_(torch.tensor([1.0, 2.0, 3.0]))
    graph.replay()
    assert twice.tolist() == [2, 4, 6]


def test_a_rebound_input_is_not_read(cuda: Any) -> None:
    import torch

    names = {"given": torch.ones(2, device="cuda")}
    kept = names["given"]
    graph, twice = capture(lambda: names["given"] * 2)
    names["given"] = torch.full((2,), 5.0, device="cuda")
    graph.replay()
    assert twice.tolist() == (kept * 2).tolist() == [2, 2]


def test_a_freed_input_is_read_as_whatever_lies_there(cuda: Any) -> None:
    import torch

    names = {"given": torch.ones(4, device="cuda")}
    graph, twice = capture(lambda: names["given"] * 2)
    address = names.pop("given").data_ptr()
    graph.replay()
    assert twice.isnan().all()
    taken = take_over(address, lambda: torch.full((4,), 50.0, device="cuda"))
    graph.replay()
    assert twice.tolist() == [100.0] * 4 and taken[-1].sum() == 200


def test_host_numbers_are_frozen(cuda: Any) -> None:
    import torch

    scale = [2.0]
    ones = torch.ones(2, device="cuda")
    graph, made = capture(lambda: ones * scale[0])
    scale[0] = 5.0
    graph.replay()
    assert made.tolist() == [2, 2]


def test_the_same_output_is_overwritten_by_each_replay(cuda: Any) -> None:
    import torch

    given = torch.zeros(1, device="cuda")
    graph, out = capture(lambda: given + 1)
    kept = []
    for value in range(3):
        given.fill_(value)
        graph.replay()
        kept.append(out)
    assert [t.item() for t in kept] == [3, 3, 3]


def test_temporaries_share_memory_within_a_graph(counted_cuda: Any) -> None:
    import torch

    ones = torch.ones(1000, device="cuda")

    def chain() -> Any:
        value = ones
        for _ in range(50):
            value = value + 1
        return value

    before = torch.cuda.memory_allocated()
    graph, out = capture(chain)
    graph.replay()
    assert out[0].item() == 51
    assert torch.cuda.memory_allocated() - before <= 2 * 4096


def test_graphs_that_share_a_pool_overwrite_each_other(cuda: Any) -> None:
    import torch

    ones = torch.ones(4, device="cuda")
    pool = torch.cuda.graph_pool_handle()
    stream = torch.cuda.Stream()
    first, y1 = capture(lambda: (ones + 1) * (ones + 2), pool=pool, stream=stream)
    second, y2 = capture(lambda: ones + 6, pool=pool, stream=stream)
    second.replay()
    assert y2.tolist() == [7.0] * 4
    first.replay()
    assert y1.tolist() == [6.0] * 4
    assert y2.tolist() != [7.0] * 4


def test_lazy_conjugates_are_recorded_as_such(cuda: Any) -> None:
    import torch

    x = torch.tensor([1 + 2j, 3 - 1j], device="cuda")
    graph, made = capture(lambda: (x.conj() * 2, x.conj().imag + 1))
    graph.replay()
    assert made[0].tolist() == [2 - 4j, 6 + 2j] and made[1].tolist() == [-1, 2]


def test_waiting_for_a_value_loses_the_capture(cuda: Any) -> None:
    import torch

    ones = torch.ones(3, device="cuda")
    with pytest.raises(RuntimeError, match="previous error during capture") as failure:
        capture(lambda: ones.sum().item())
    assert "operation not permitted when stream is capturing" in str(failure.value.__context__)


def test_a_swallowed_error_still_loses_the_capture(cuda: Any) -> None:
    import torch

    ones = torch.ones(3, device="cuda")

    def body() -> Any:
        try:
            ones.sum().item()
        except RuntimeError:
            return None

    with pytest.raises(RuntimeError, match="previous error during capture"):
        capture(body)


def test_a_pageable_copy_fails_and_the_capture_survives(cuda: Any) -> None:
    import torch

    ones = torch.ones(3, device="cuda")

    def body() -> Any:
        with pytest.raises(RuntimeError, match="unless the CPU tensor is pinned"):
            ones.cpu()
        return ones + 1

    graph, made = capture(body)
    graph.replay()
    assert made.tolist() == [2, 2, 2]


def test_the_default_stream_cannot_be_captured(cuda: Any) -> None:
    import torch

    with pytest.raises(RuntimeError, match="non-default stream"):
        torch.cuda.CUDAGraph().capture_begin()


def test_a_graph_is_captured_once(cuda: Any) -> None:
    import torch

    ones = torch.ones(1, device="cuda")
    graph, _ = capture(lambda: ones + 1)
    with pytest.raises(RuntimeError, match="already owns a captured graph"), torch.cuda.graph(graph):
        pass


def test_replay_needs_a_capture(cuda: Any) -> None:
    import torch

    with pytest.raises(RuntimeError, match="without a preceding successful capture"):
        torch.cuda.CUDAGraph().replay()


def test_an_empty_graph_is_said_to_be_empty(cuda: Any) -> None:
    with pytest.warns(UserWarning, match="The CUDA Graph is empty"):
        capture(lambda: None)


def test_work_on_a_stream_that_does_not_capture_runs_once(cuda: Any) -> None:
    import torch

    side = torch.cuda.Stream()
    counter = torch.zeros(1, device="cuda")

    def body() -> Any:
        with torch.cuda.stream(side):
            counter.add_(1)
        return counter * 1

    graph, made = capture(body)
    assert counter.item() == 1
    graph.replay()
    graph.replay()
    assert (counter.item(), made.item()) == (1, 1)


def test_a_forked_stream_belongs_to_the_capture(cuda: Any) -> None:
    import torch

    side = torch.cuda.Stream()
    counter = torch.zeros(1, device="cuda")

    def body() -> None:
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            counter.add_(1)
        torch.cuda.current_stream().wait_stream(side)

    graph, _ = capture(body)
    assert counter.item() == 0
    graph.replay()
    assert counter.item() == 1


def test_a_forked_stream_must_be_joined(cuda: Any) -> None:
    import torch

    side = torch.cuda.Stream()
    ones = torch.ones(1, device="cuda")

    def body() -> None:
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            ones.add_(1)

    with pytest.raises(RuntimeError, match="unjoined work"):
        capture(body)


def test_a_whole_training_step_is_captured(cuda: Any) -> None:
    import torch

    torch.manual_seed(0)
    layer = torch.nn.Linear(4, 2).cuda()
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.01, capturable=True)
    given = torch.ones(3, 4, device="cuda")

    def step() -> Any:
        optimizer.zero_grad(set_to_none=True)
        loss = (layer(given) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        step()
    before = layer.weight.detach().clone()
    graph, loss = capture(step)
    assert torch.equal(before, layer.weight)
    losses = []
    for _ in range(5):
        graph.replay()
        losses.append(loss.item())
    assert losses == sorted(losses, reverse=True)


def test_make_graphed_callables(cuda: Any) -> None:
    import torch

    torch.manual_seed(0)
    layer = torch.nn.Linear(4, 4).cuda()
    given = torch.randn(2, 4, device="cuda")
    graphed = torch.cuda.make_graphed_callables(layer, (torch.zeros(2, 4, device="cuda"),))
    out = graphed(given)
    assert torch.allclose(out, given @ layer.weight.t() + layer.bias)
    out.sum().backward()
    assert torch.allclose(layer.weight.grad, given.sum(0).expand(4, 4))


def test_a_dropped_graph_gives_its_pool_back(counted_cuda: Any) -> None:
    import torch

    x = torch.ones(1 << 20, device="cuda")
    torch.cuda.empty_cache()
    before = torch.cuda.memory_reserved()
    graph, out = capture(lambda: x * 2)
    del out
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() > before
    del graph
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() == before
