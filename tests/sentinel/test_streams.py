"""Order: streams, events, copies that land late, other threads during a capture."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from tests.sentinel.capturing import capture


def _unordered() -> tuple[Any, Any]:
    """A write on one stream and a read on another, with no edge between them."""
    import torch

    side = torch.cuda.Stream()
    value = torch.zeros(1, device="cuda")
    torch.cuda.synchronize()
    value.fill_(5)
    with torch.cuda.stream(side):
        seen = value * 1
    side.synchronize()
    return seen.cpu(), side


def test_early_order_is_the_order_of_issue(cuda: Any) -> None:
    assert _unordered()[0].item() == 5


def test_late_order_shows_a_missing_edge(late_cuda: Any) -> None:
    import torch

    side = torch.cuda.Stream()
    value = torch.zeros(1, device="cuda")
    torch.cuda.synchronize()
    value.fill_(5)
    with torch.cuda.stream(side):
        seen = value * 1
        got = seen.item()
    assert got == 0
    assert value.item() == 5


def test_an_edge_orders_them_in_late_order_too(late_cuda: Any) -> None:
    import torch

    side = torch.cuda.Stream()
    value = torch.zeros(1, device="cuda")
    value.fill_(5)
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        assert (value * 1).item() == 5


def test_a_replay_on_another_stream_without_an_edge(late_cuda: Any) -> None:
    import torch

    given = torch.zeros(1, device="cuda")
    graph, out = capture(lambda: given + 1)
    torch.cuda.synchronize()
    side = torch.cuda.Stream()
    given.fill_(5)
    with torch.cuda.stream(side):
        graph.replay()
        assert out.item() == 1


def test_a_program_with_edges_is_the_same_in_both_orders(late_cuda: Any) -> None:
    import torch

    layer = torch.nn.Linear(4, 4).cuda()
    x = torch.randn(2, 4, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(2):
            layer(x)
    torch.cuda.current_stream().wait_stream(side)
    graph, out = capture(lambda: layer(x).relu())
    graph.replay()
    assert torch.equal(out.cpu(), layer(x).relu().cpu())


def _two_callers() -> list[float]:
    """Two streams share a graph; each copies its output and does not wait for the other."""
    import torch

    given = torch.zeros(1, device="cuda")
    graph, out = capture(lambda: given + 1)
    values = [torch.full((1,), float(number), device="cuda") for number in range(2)]
    kept = []
    torch.cuda.synchronize()
    for value in values:
        with torch.cuda.stream(torch.cuda.Stream()):
            given.copy_(value)
            graph.replay()
            kept.append(out.clone())
    torch.cuda.synchronize()
    return [copy.item() for copy in kept]


def test_lagging_order_lets_another_replay_overtake_a_copy() -> None:
    pytest.importorskip("torch")
    from graphlint.sentinel import virtual_cuda

    with virtual_cuda():
        assert _two_callers() == [1, 2]
    with virtual_cuda(order="lagging"):
        assert _two_callers() != [1, 2]


def test_branches_of_a_graph_run_in_the_other_order_when_late(late_cuda: Any) -> None:
    import torch

    value, seen = torch.zeros(1, device="cuda"), torch.zeros(1, device="cuda")
    side = torch.cuda.Stream()

    def body() -> None:
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            value.fill_(7)
        seen.copy_(value)
        torch.cuda.current_stream().wait_stream(side)

    graph, _ = capture(body)
    graph.replay()
    assert seen.item() == 0 and value.item() == 7


def test_a_copy_into_pinned_memory_lands_late(cuda: Any) -> None:
    import torch

    host = torch.zeros(2).pin_memory()
    assert host.is_pinned()
    host.copy_(torch.ones(2, device="cuda"), non_blocking=True)
    assert host.tolist() == [0, 0]
    torch.cuda.synchronize()
    assert host.tolist() == [1, 1]


def test_an_event_lets_the_copies_before_it_land(cuda: Any) -> None:
    import torch

    host, event = torch.zeros(1).pin_memory(), torch.cuda.Event()
    host.copy_(torch.ones(1, device="cuda"), non_blocking=True)
    event.record()
    assert not event.query()
    event.synchronize()
    assert host.item() == 1 and event.query()


def test_reading_the_host_side_of_a_replay_too_early(cuda: Any) -> None:
    import torch

    given, host = torch.full((1,), 5.0, device="cuda"), torch.zeros(1).pin_memory()
    graph, _ = capture(lambda: host.copy_(given, non_blocking=True))
    graph.replay()
    assert host.item() == 0
    torch.cuda.synchronize()
    assert host.item() == 5


def test_pinned_memory_is_read_late_in_late_order(late_cuda: Any) -> None:
    import torch

    host = torch.ones(1).pin_memory()
    copy = host.to("cuda", non_blocking=True)
    host.fill_(2)
    assert copy.item() == 2


def test_a_graph_reads_pinned_memory_at_replay(cuda: Any) -> None:
    import torch

    host = torch.ones(2).pin_memory()
    graph, copy = capture(lambda: host.to("cuda", non_blocking=True))
    host.fill_(3)
    graph.replay()
    assert copy.tolist() == [3, 3]


def test_pinned_memory_that_was_freed_may_be_someone_elses(cuda: Any) -> None:
    import torch

    hosts = [torch.full((4,), 7.0).pin_memory()]
    graph, copy = capture(lambda: hosts[0].to("cuda", non_blocking=True))
    hosts.clear()
    other = torch.full((4,), 99.0).pin_memory()
    graph.replay()
    assert copy.tolist() == [99.0] * 4 and other.is_pinned()


@pytest.mark.parametrize(
    "call, mode, allowed",
    [
        ("item", "global", False),
        ("item", "thread_local", True),
        ("item", "relaxed", True),
        ("synchronize", "global", False),
        ("synchronize", "thread_local", False),
        ("synchronize", "relaxed", False),
        ("pin", "global", False),
        ("pin", "thread_local", True),
        ("kernel", "global", True),
        ("segment", "global", False),
        ("segment", "thread_local", True),
        ("event", "global", False),
        ("event", "relaxed", True),
    ],
)
def test_what_another_thread_may_do_during_a_capture(cuda: Any, call: str, mode: str, allowed: bool) -> None:
    import torch

    ones, event = torch.ones(1, device="cuda"), torch.cuda.Event()
    event.record()
    calls: dict[str, Callable[[], Any]] = {
        "item": ones.item,
        "synchronize": torch.cuda.synchronize,
        "pin": lambda: torch.ones(1).pin_memory(),
        "kernel": lambda: ones + 1,
        "segment": lambda: torch.empty(30 << 20, dtype=torch.uint8, device="cuda"),
        "event": event.query,
    }
    heard: list[str] = []

    def other() -> None:
        try:
            calls[call]()
            heard.append("ok")
        except RuntimeError as error:
            heard.append(str(error).splitlines()[0])

    def body() -> Any:
        made = ones * 2
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        return made

    if allowed:
        graph, made = capture(body, capture_error_mode=mode)
        graph.replay()
        assert heard == ["ok"] and made.item() == 2
    else:
        with pytest.raises(RuntimeError, match="previous error during capture"):
            capture(body, capture_error_mode=mode)
        assert heard == ["CUDA error: operation not permitted when stream is capturing"]


def test_waiting_for_work_outside_the_capture(cuda: Any) -> None:
    import torch

    event = torch.cuda.Event()
    event.record()
    with pytest.raises(RuntimeError, match="previous error") as failure:
        capture(lambda: torch.cuda.current_stream().wait_event(event))
    assert "dependency created on uncaptured work" in str(failure.value.__context__)


def test_the_default_stream_must_not_wait_for_a_capture(cuda: Any) -> None:
    import torch

    def body() -> None:
        event = torch.cuda.Event()
        event.record()
        torch.cuda.default_stream().wait_event(event)

    with pytest.raises(RuntimeError, match="previous error") as failure:
        capture(body)
    assert "legacy stream depend on a capturing" in str(failure.value.__context__)
