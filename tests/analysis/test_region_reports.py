"""What a region's report says besides its functions: replays, what it leaves behind, calls followed."""

from __future__ import annotations

from graphlint.regions import Shares, shares
from tests.programs import regions

RUNNER = """
    import torch
    from torch import nn

    class Runner:
        def __init__(self, model):
            self.model = model
            self.head = nn.Linear(8, 8).cuda()
            self.x = torch.zeros(8, 8, device="cuda")
            self.graph = torch.cuda.CUDAGraph()

        def scaled(self, x):
            return x.mul(2) if len(x.shape) == 2 else torch.relu(x)

        def body(self):
            hidden = self.scaled(self.x)
            self.scratch = self.head(hidden)
            self.rows = 8
            self.out = self.model(self.scratch)

        def capture(self):
            with torch.cuda.graph(self.graph):
                self.body()

        def step(self, x):
            self.x.copy_(x)
            self.graph.replay()
            return self.out.clone()

        def again(self):
            self.graph.replay()
"""


def test_a_region_lists_where_its_graph_is_replayed() -> None:
    (region,) = regions(RUNNER)
    assert [(each.line, each.function) for each in region.replays] == [
        (27, "Runner.step"),
        (31, "Runner.again"),
    ]


def test_a_region_lists_the_names_that_it_leaves_bound_to_memory_of_its_pool() -> None:
    (region,) = regions(RUNNER)
    assert [(each.line, each.name) for each in region.left_behind] == [(17, "self.scratch"), (19, "self.out")]


def test_shares_count_calls_but_for_builtins_and_functions_of_torch() -> None:
    assert shares(regions(RUNNER)) == Shares(calls=5, resolved=4, own_calls=4, own_resolved=3)


def test_a_call_site_of_two_regions_counts_once_and_as_followed_where_one_of_them_followed_it() -> None:
    program = """
        import torch

        def run(callback, x):
            callback(x)

        def double(x):
            x.mul_(2)

        def first(x, graph):
            with torch.cuda.graph(graph):
                run(double, x)

        def second(x, graph, callback):
            with torch.cuda.graph(graph):
                run(callback, x)

        def main(callback):
            x = torch.zeros(8, device="cuda")
            first(x, torch.cuda.CUDAGraph())
            second(x, torch.cuda.CUDAGraph(), callback)
    """
    found = regions(program)
    assert [shares([region]) for region in found] == [Shares(3, 3, 0, 0), Shares(2, 1, 0, 0)]
    assert shares(found) == Shares(calls=4, resolved=4, own_calls=0, own_resolved=0)
