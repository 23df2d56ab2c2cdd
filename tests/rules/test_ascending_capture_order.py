"""CG601: the order in which graphs that share a pool are captured."""

from __future__ import annotations

import pytest

from tests.programs import check_marks

RUNNER = """
import bisect

import torch

LADDER = [1, 2, 4, 8]

class Runner:
    def __init__(self, net, limit: int, given: list[int]):
        self.net = net
        self.sizes = {sizes}
        self.x = torch.zeros(limit, 16, device="cuda")
        self.pool = {pool}
        self.graphs = {{}}

    def record(self, size: int):
        rows = self.x[:size]
        self.net(rows)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool):
            out = self.net(rows)
        {after}
        self.graphs[size] = (graph, out)

    def record_all(self, limit: int):
        for size in {loop}:  # {mark}: CG601
            self.record(size)
"""


def runner(
    loop: str,
    mark: str,
    *,
    sizes: str = "sorted(given)",
    pool: str = "torch.cuda.graph_pool_handle()",
    after: str = "pass",
) -> str:
    return RUNNER.format(loop=loop, mark=mark, sizes=sizes, pool=pool, after=after)


@pytest.mark.parametrize(
    "loop",
    [
        "self.sizes",
        "sorted(self.sizes)",
        "list(self.sizes)",
        "[1, 2, 4, 8]",
        "LADDER",
        "range(1, limit)",
        "range(8, 64, 8)",
        "[2 * n for n in range(1, limit)]",
        "[n for n in self.sizes if n <= limit]",
        "[1, 2, 4] + [8 * n for n in range(1, limit)]",
        "reversed(sorted(self.sizes, reverse=True))",
        "self.sizes[1:]",
    ],
)
def test_small_to_large(loop: str) -> None:
    check_marks(runner(loop, "expect"))


@pytest.mark.parametrize(
    "loop",
    [
        "reversed(self.sizes)",
        "sorted(self.sizes, reverse=True)",
        "self.sizes[::-1]",
        "[8, 4, 2, 1]",
        "range(limit, 0, -1)",
        "list(reversed([1, 2, 4]))",
        "sorted(self.sizes, key=lambda n: -n)",
    ],
)
def test_large_to_small(loop: str) -> None:
    check_marks(runner(loop, "ok"))


def test_an_order_that_nobody_knows_is_silent() -> None:
    check_marks(runner("self.sizes", "ok", sizes="given"))


@pytest.mark.parametrize("sizes", ["self.order(given)", "list(self.order(given))"])
def test_sorted_in_another_method(sizes: str) -> None:
    method = "\n    @staticmethod\n    def order(given):\n        return sorted(set(given))\n"
    check_marks(runner("self.sizes", "expect", sizes=sizes) + method)


@pytest.mark.parametrize(
    ("change", "mark"),
    [
        ("self.sizes.sort()", "expect"),
        ("self.sizes.sort(reverse=True)", "ok"),
        ("self.sizes.reverse()", "ok"),
    ],
)
def test_sorted_in_place(change: str, mark: str) -> None:
    text = runner("self.sizes", mark).replace("        self.x =", f"        {change}\n        self.x =")
    check_marks(text)


def test_the_pool_of_the_first_graph_is_used_again() -> None:
    text = runner("self.sizes", "expect", pool="None", after="self.pool = self.pool or graph.pool()")
    check_marks(text)


@pytest.mark.parametrize(
    ("loop", "target"),
    [("enumerate(self.sizes)", "index, size"), ("zip(self.sizes, self.names)", "size, name")],
)
def test_the_size_is_a_part_of_the_element(loop: str, target: str) -> None:
    text = runner(loop, "expect").replace("for size in", f"for {target} in")
    check_marks(text)


def test_sizes_that_are_searched_by_bisection_are_ascending() -> None:
    search = "\n    def pick(self, n: int):\n        return self.sizes[bisect.bisect_left(self.sizes, n)]\n"
    check_marks(runner("self.sizes", "expect", sizes="given") + search)


def test_numbers_that_are_no_sizes_have_no_order_to_keep() -> None:
    check_marks(
        """
        import torch

        def record_layers(layers: list[torch.nn.Linear], x: torch.Tensor):
            pool = torch.cuda.graph_pool_handle()
            graphs = []
            for index in range(len(layers)):  # ok: CG601
                layers[index](x)
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph, pool=pool):
                    y = layers[index](x)
                graphs.append((graph, y, x))
            return graphs
        """
    )


def test_graphs_with_pools_of_their_own_have_no_common_order() -> None:
    text = runner("self.sizes", "ok", pool="None")
    check_marks(text.replace("pool=self.pool):", "pool=self.pool):  # expect: CG602"))


COUNTING = """
import torch

class Runner:
    def __init__(self, net, limit: int):
        self.net = net
        self.x = torch.zeros(limit, 16, device="cuda")
        self.pool = torch.cuda.graph_pool_handle()
        self.graphs = {{}}

    def record(self, size: int):
        rows = self.x[:size]
        self.net(rows)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool):
            out = self.net(rows)
        self.graphs[size] = (graph, out)

    def record_all(self, limit: int):
        {start}
        while {test}:  # {mark}: CG601
            self.record({size})
            {step}
"""


@pytest.mark.parametrize(
    ("start", "test", "step"),
    [
        ("size = 1", "size <= limit", "size *= 2"),
        ("size = 1", "size <= limit", "size = size + 8"),
        ("size = 1", "size < limit", "size = min(2 * size, limit)"),
        (
            "size = 1",
            "True",
            "if size >= limit:\n                break\n            size = min(2 * size, limit)",
        ),
    ],
)
def test_counting_up(start: str, test: str, step: str) -> None:
    check_marks(COUNTING.format(start=start, test=test, step=step, size="size", mark="expect"))


@pytest.mark.parametrize(
    ("start", "test", "step", "size"),
    [
        ("size = limit", "size >= 1", "size //= 2", "size"),
        ("size = limit", "size > 1", "size = max(size // 2, 1)", "size"),
        ("size, turn = limit, 0", "turn < 3", "turn += 1", "size"),
        ("turn = 0", "turn < 3", "turn += 1", "limit"),
        ("size = 1", "size <= limit", "size *= 2\n            size -= 1", "size"),
    ],
)
def test_counting_down_or_something_else(start: str, test: str, step: str, size: str) -> None:
    check_marks(COUNTING.format(start=start, test=test, step=step, size=size, mark="ok"), select=("CG601",))
