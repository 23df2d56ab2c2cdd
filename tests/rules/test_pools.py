"""CG602 and CG605: pools that are not shared, and pools that cannot be shared."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules, check_marks

LOOP = """
import torch

def record(net, sizes: list[int]):
    x = torch.zeros(max(sizes), 16, device="cuda")
    {setup}
    graphs = {{}}
    for size in sorted(sizes, reverse=True):
        net(x[:size])
        {inside}
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph{arguments}):{mark}
            y = net(x[:size])
        graphs[size] = (graph, x, y)
    return graphs
"""


def loop(mark: str, arguments: str = "", setup: str = "pass", inside: str = "pass") -> str:
    return LOOP.format(arguments=arguments, setup=setup, inside=inside, mark=mark)


def test_each_size_gets_a_pool_of_its_own() -> None:
    check_marks(loop("  # expect: CG602"))


@pytest.mark.parametrize(
    "setup", ["pool = torch.cuda.graph_pool_handle()", "pool = torch.cuda.CUDAGraph().pool()"]
)
def test_one_pool_for_all_sizes(setup: str) -> None:
    check_marks(loop("  # ok: CG602", ", pool=pool", setup))


def test_graphs_on_streams_of_their_own_need_pools_of_their_own() -> None:
    check_marks(loop("  # ok: CG602", ", stream=side", inside="side = torch.cuda.Stream()"))


def test_graphs_of_different_layers_may_run_one_after_another() -> None:
    check_marks(
        """
        import torch

        def record(layers: list[torch.nn.Linear], x: torch.Tensor):
            kept = []
            for layer in layers:
                layer(x)
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph):  # ok: CG602
                    y = layer(x)
                kept.append((graph, x, y))
            return kept
        """
    )


def test_a_pool_is_given_to_captures_on_different_streams() -> None:
    inside = "side = torch.cuda.Stream()"
    setup = "pool = torch.cuda.graph_pool_handle()"
    check_marks(loop("  # expect: CG605", ", pool=pool, stream=side", setup, inside))


def test_a_pool_is_given_to_captures_on_one_stream() -> None:
    setup = "pool, side = torch.cuda.graph_pool_handle(), torch.cuda.Stream()"
    check_marks(loop("  # ok: CG605", ", pool=pool, stream=side", setup))


def test_a_stream_that_is_not_known_is_silent() -> None:
    setup = "pool = torch.cuda.graph_pool_handle()"
    check_marks(loop("  # ok: CG605", ", pool=pool, stream=net.stream", setup))


TWO = """
import torch

def build(x: torch.Tensor):
    {pools}
    first, second = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(first{one}):
        a = torch.tanh(x * 2)
    with torch.cuda.graph(second{two}):
        b = torch.tanh(x * 3)
    {replays}
    return (a if x is None else 0) + {read}  # {mark}: CG604
"""
SHARED = {"pools": "pool = torch.cuda.graph_pool_handle()", "one": ", pool=pool", "two": ", pool=pool"}
FIRST_POOL = {"pools": "pass", "one": "", "two": ", pool=first.pool()"}
SEPARATE = {"pools": "pass", "one": "", "two": ""}


@pytest.mark.parametrize(
    ("pools", "replays", "read", "mark"),
    [
        (SHARED, "second.replay(); first.replay()", "b.sum()", "expect"),
        (FIRST_POOL, "second.replay(); first.replay()", "b.sum()", "expect"),
        (SEPARATE, "second.replay(); first.replay()", "b.sum()", "ok"),
        (SHARED, "first.replay(); second.replay()", "b.sum()", "ok"),
        (SHARED, "first.replay(); second.replay()", "a.sum()", "ok"),
        (SHARED, "second.replay(); kept = b.clone(); first.replay()", "kept.sum()", "ok"),
    ],
)
def test_outputs_after_a_replay_of_another_graph(
    pools: dict[str, str], replays: str, read: str, mark: str
) -> None:
    check_marked_rules(TWO.format(**pools, replays=replays, read=read, mark=mark))


DROPPED = """
import torch

def measure(net, sizes: list[int], kept: dict):
    x = torch.zeros(max(sizes), 16, device="cuda")
    runs = []
    for size in sorted(sizes, reverse=True):
        net(x[:size])
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):  # {mark}: CG602
            net(x[:size])
        {use}
    return runs
"""


@pytest.mark.parametrize(
    ("use", "mark"),
    [
        ("graph.replay()", "ok"),
        ("runs.append(graph)", "expect"),
        ("kept[size] = graph", "expect"),
    ],
)
def test_a_graph_that_the_next_turn_drops(use: str, mark: str) -> None:
    check_marked_rules(DROPPED.format(use=use, mark=mark))


@pytest.mark.parametrize(("guard", "mark"), [("graph is None", "ok"), ("number % 1 == 0", "expect")])
def test_a_loop_that_captures_in_its_first_round_only(guard: str, mark: str) -> None:
    check_marks(
        f"""
        import torch

        def main():
            x = torch.zeros(8, device="cuda")
            y = x * 2
            graph = None
            for number in range(5000):
                if {guard}:
                    graph = torch.cuda.CUDAGraph()
                    with torch.cuda.graph(graph):  # {mark}: CG607
                        y = x * 2
                graph.replay()
            return y.clone()
        """,
        select=("CG607",),
    )
