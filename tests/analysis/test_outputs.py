"""Which reads of a graph's output are stale, and which mean what the replay has just written."""

from __future__ import annotations

from tests.programs import check_marks

RUNNER = """
    import torch


    class Runner:
        def __init__(self, net: torch.nn.Module):
            self.net = net
            self.x = torch.zeros(4, 4, device="cuda")
            self.entries = {}

        def capture(self, key):
            self.net(self.x)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = self.net(self.x)
            self.entries[key] = (graph, y)

"""


def test_an_output_picked_up_before_the_replay_means_the_new_one() -> None:
    check_marks(
        RUNNER
        + """
        def step(self, key, batch):
            graph, y = self.entries[key]
            self.x.copy_(batch)
            graph.replay()
            return y.clone()

        def steps(self, key, batches):
            for batch in batches:
                graph, y = self.entries[key]
                self.x.copy_(batch)
                graph.replay()
                print(y.sum())
    """
    )


def test_two_generations_of_one_output_cannot_be_compared() -> None:
    check_marks(
        """
    import torch


    class Solver:
        def __init__(self):
            self.field = torch.zeros(64, device="cuda")
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.result = self.field * 2

        def step(self, field):
            before = self.result  # expect: CG201
            self.field.copy_(field)
            self.graph.replay()
            return (self.result - before).abs().max()

        def run(self, fields):
            previous = None
            for field in fields:
                self.field.copy_(field)
                self.graph.replay()
                if previous is not None:
                    print((self.result - previous).norm())
                previous = self.result  # expect: CG201
    """
    )


def test_the_output_of_a_module_that_nobody_constructs_is_an_output() -> None:
    check_marks(
        """
    import torch


    def collect(net: torch.nn.Module, x: torch.Tensor):
        x = x.cuda()
        net(x)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = net(x)
            if y:  # ok: CG401
                y = y[0]
        kept = []
        for _ in range(3):
            graph.replay()
            kept.append(y)  # expect: CG201
        return sum(kept)
    """
    )
