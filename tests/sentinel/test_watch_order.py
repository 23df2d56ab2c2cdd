"""Programs without an edge that they need, beside those that have it."""

from __future__ import annotations

from typing import Any

from tests.sentinel.capturing import capture


def codes(watching: Any) -> list[str]:
    return [finding.code for finding in watching.findings]


def keep_busy() -> None:
    """On a GPU, have the current stream at work for a while."""
    import torch

    torch.cuda._sleep(100_000_000)


def doubled() -> tuple[Any, Any, Any]:
    import torch

    given = torch.ones(4, device="cuda")
    graph, out = capture(lambda: (given + 1) * 2)
    torch.cuda.synchronize()
    return given, graph, out


def test_two_replays_on_two_streams(watched: Any) -> None:
    import torch

    _given, graph, _out = doubled()
    side = torch.cuda.Stream()
    keep_busy()
    graph.replay()
    with torch.cuda.stream(side):
        graph.replay()
    assert codes(watched) == ["CG608"]


def test_the_second_stream_waits(watched: Any) -> None:
    import torch

    _given, graph, _out = doubled()
    side = torch.cuda.Stream()
    graph.replay()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        graph.replay()
        side.synchronize()
    graph.replay()
    assert watched.findings == []


def test_the_host_waits_by_reading_a_value(watched: Any) -> None:
    import torch

    _given, graph, out = doubled()
    side = torch.cuda.Stream()
    graph.replay()
    out.sum().item()
    with torch.cuda.stream(side):
        graph.replay()
    assert watched.findings == []


def test_graphs_of_one_pool_on_two_streams(watched: Any) -> None:
    import torch

    given = torch.ones(4, device="cuda")
    first, _one = capture(lambda: (given + 1) * 2)
    second, _two = capture(lambda: (given + 2) * 3, pool=first.pool())
    side = torch.cuda.Stream()
    keep_busy()
    first.replay()
    with torch.cuda.stream(side):
        second.replay()
    assert codes(watched) == ["CG608"]


def test_graphs_of_two_pools_on_two_streams(watched: Any) -> None:
    import torch

    given = torch.ones(4, device="cuda")
    first, _one = capture(lambda: (given + 1) * 2)
    second, _two = capture(lambda: (given + 2) * 3)
    side = torch.cuda.Stream()
    first.replay()
    with torch.cuda.stream(side):
        second.replay()
    assert watched.findings == []


def test_an_output_is_read_on_a_stream_that_does_not_wait(tested: Any) -> None:
    import torch

    _given, graph, out = doubled()
    side = torch.cuda.Stream()
    graph.replay()
    with torch.cuda.stream(side):
        out.clone()
    assert codes(tested) == ["CG202"]


def test_a_replay_does_not_wait_for_who_reads_the_last_one(tested: Any) -> None:
    import torch

    _given, graph, out = doubled()
    side = torch.cuda.Stream()
    graph.replay()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        out.clone()
    graph.replay()
    assert codes(tested) == ["CG203"]


def test_reads_on_another_stream_with_both_edges(tested: Any) -> None:
    import torch

    _given, graph, out = doubled()
    side = torch.cuda.Stream()
    for _ in range(2):
        graph.replay()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            out.clone()
        torch.cuda.current_stream().wait_stream(side)
    assert tested.findings == []


def test_an_input_is_written_on_a_stream_that_the_replay_does_not_wait_for(tested: Any) -> None:
    import torch

    given, graph, _out = doubled()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        given.fill_(2)
    graph.replay()
    assert codes(tested) == ["CG105"]


def test_an_input_is_written_while_the_replay_may_still_read_it(tested: Any) -> None:
    import torch

    given, graph, _out = doubled()
    side = torch.cuda.Stream()
    graph.replay()
    with torch.cuda.stream(side):
        given.fill_(2)
    torch.cuda.current_stream().wait_stream(side)
    graph.replay()
    assert codes(tested) == ["CG105"]


def test_an_input_is_written_between_two_edges(tested: Any) -> None:
    import torch

    given, graph, _out = doubled()
    side = torch.cuda.Stream()
    for _ in range(2):
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            given.fill_(2)
        torch.cuda.current_stream().wait_stream(side)
        graph.replay()
    assert tested.findings == []


def test_the_host_reads_before_it_waits(tested: Any) -> None:
    import torch

    _given, graph, out = doubled()
    host = torch.zeros(4).pin_memory()
    graph.replay()
    host.copy_(out, non_blocking=True)
    host.sum()
    assert codes(tested) == ["CG204"]


def test_the_host_waits_and_reads(tested: Any) -> None:
    import torch

    _given, graph, out = doubled()
    host = torch.zeros(4).pin_memory()
    for _ in range(2):
        graph.replay()
        host.copy_(out, non_blocking=True)
        torch.cuda.current_stream().synchronize()
        assert host.tolist() == [4.0] * 4
    other = out.to("cpu", non_blocking=True)
    torch.cuda.synchronize()
    other.sum()
    assert tested.findings == []


def test_the_host_writes_what_a_copy_has_yet_to_read(tested: Any) -> None:
    import torch

    given, graph, _out = doubled()
    host = torch.ones(4).pin_memory()
    given.copy_(host, non_blocking=True)
    graph.replay()
    host.fill_(3)
    assert codes(tested) == ["CG107"]


def test_the_host_waits_and_writes(tested: Any) -> None:
    import torch

    given, graph, _out = doubled()
    host = torch.ones(4).pin_memory()
    for value in range(3):
        host.fill_(value)
        given.copy_(host, non_blocking=True)
        graph.replay()
        torch.cuda.synchronize()
    assert tested.findings == []


def test_a_copy_that_repeats_or_rounds(tested: Any) -> None:
    import torch

    given, graph, _out = doubled()
    graph.replay()
    given.copy_(torch.full((1,), 2.0, device="cuda"))
    counts = torch.zeros(2, dtype=torch.int64, device="cuda")
    other, _ = capture(lambda: counts + 1)
    counts.copy_(torch.tensor([1.5, 2.5], device="cuda"))
    other.replay()
    assert codes(tested) == ["CG108", "CG108"]


def test_copies_that_fit(tested: Any) -> None:
    import torch

    given, graph, _out = doubled()
    given.copy_(torch.full((4,), 2.0))
    given.copy_(torch.tensor(2.0))
    given.copy_(torch.ones(4, dtype=torch.int64, device="cuda"))
    given[:2].copy_(torch.ones(2, device="cuda"))
    graph.replay()
    assert tested.findings == []


def test_the_host_writes_between_two_recorded_copies(tested: Any) -> None:
    import torch

    host = torch.ones(4).pin_memory()
    into = torch.zeros(4, device="cuda")

    def body() -> None:
        into.copy_(host, non_blocking=True)
        host.fill_(2)

    graph, _ = capture(body)
    graph.replay()
    (found,) = tested.findings
    assert found.code == "CG107" and found.touched[0].function.endswith("body")


def test_the_host_writes_before_a_copy_is_recorded(tested: Any) -> None:
    import torch

    host = torch.ones(4).pin_memory()
    into = torch.zeros(4, device="cuda")

    def body() -> None:
        host.fill_(2)
        into.copy_(host, non_blocking=True)

    graph, _ = capture(body)
    graph.replay()
    assert tested.findings == []


def test_the_seed_that_torch_writes_into_a_graph_is_no_input_of_the_program(watched: Any) -> None:
    """On an H200 it was taken for one: the begin of a capture fills it, on the stream of the capture."""
    import torch

    x = torch.ones(64, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        torch.nn.functional.dropout(x)
        keep_busy()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=side):
        torch.nn.functional.dropout(x)
    graph.replay()
    graph.replay()
    assert watched.findings == []


def test_gradients_are_added_on_the_stream_of_the_capture(watched: Any) -> None:
    import torch

    layer = torch.nn.Linear(4, 4).cuda()
    graphed = torch.cuda.make_graphed_callables(layer, (torch.ones(2, 4, device="cuda"),))
    for _ in range(2):
        graphed(torch.ones(2, 4, device="cuda")).sum().backward()
    torch.nn.utils.clip_grad_norm_(graphed.parameters(), 1.0)
    assert not {"CG202", "CG203"} & set(codes(watched))
