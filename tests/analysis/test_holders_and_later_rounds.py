"""Weak holders of inputs, copies of modules that take a module's place, and what only some rounds do."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules, check_marks


@pytest.mark.parametrize(
    ("table", "mark"), [("weakref.WeakValueDictionary()", "# expect: CG103"), ("{}", "# ok: CG103")]
)
def test_a_weak_table_keeps_no_input_alive(table: str, mark: str) -> None:
    program = f"""
        import weakref
        import torch

        class Runner:
            def __init__(self, net: torch.nn.Module):
                self.net, self.inputs, self.graphs = net, {table}, {{}}

            def record(self, key: str):
                staged = torch.zeros(8, device="cuda")  {mark}
                self.net(staged)
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph):
                    y = self.net(staged)
                self.inputs[key] = staged
                self.graphs[key] = (graph, y)

            def run(self, key: str):
                graph, y = self.graphs[key]
                graph.replay()
                return y.clone()
    """
    check_marked_rules(program)


@pytest.mark.parametrize(
    ("restore", "mark"),
    [
        ("trainer.net = self.best", "# expect: CG101"),
        ("trainer.net.load_state_dict(self.best.state_dict())", "# ok: CG101"),
    ],
)
def test_the_best_model_is_put_back_after_some_bad_rounds(restore: str, mark: str) -> None:
    check_marks(
        f"""
        import copy
        import torch

        class Patience:
            def __init__(self):
                self.bad, self.lowest, self.best = 0, float("inf"), None

            def look(self, trainer, loss: float):
                if loss < self.lowest:
                    self.lowest, self.bad = loss, 0
                    self.best = copy.deepcopy(trainer.net)
                    return
                self.bad += 1
                if self.bad > 5 and self.best is not None:
                    {restore}  {mark}

        class Trainer:
            def __init__(self, net: torch.nn.Module):
                self.net, self.patience = net, Patience()
                self.x = torch.zeros(8, device="cuda")
                self.net(self.x)
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph):
                    self.y = self.net(self.x)

            def epoch(self, batches, loss: float):
                for batch in batches:
                    self.x.copy_(batch)
                    self.graph.replay()
                self.patience.look(self, loss)
        """
    )


@pytest.mark.parametrize(
    ("sizes", "mark"),
    [
        (
            "list(itertools.takewhile(lambda n: n < 512, (8 * 2**i for i in itertools.count())))",
            "# expect: CG601",
        ),
        ("list(reversed(list(itertools.takewhile(lambda n: n < 512, itertools.count(1)))))", "# ok: CG601"),
        ("[2 * n for n in itertools.count(100, -1)]", "# ok: CG601"),
    ],
)
def test_the_order_of_numbers_that_are_counted(sizes: str, mark: str) -> None:
    check_marked_rules(
        f"""
        import itertools
        import torch

        def record(net: torch.nn.Module, x: torch.Tensor):
            pool, graphs = torch.cuda.graph_pool_handle(), {{}}
            for size in {sizes}:  {mark}
                net(x[:size])
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph, pool=pool):
                    y = net(x[:size])
                graphs[size] = (graph, y)
            return graphs
        """
    )


@pytest.mark.parametrize(
    ("wait", "mark"),
    [("torch.cuda.synchronize()", "# expect: CG502"), ("torch.cuda.current_stream().query()", "# ok: CG502")],
)
def test_a_thread_that_waits_for_the_device_ends_any_capture(wait: str, mark: str) -> None:
    check_marked_rules(
        f"""
        import threading
        import torch

        def watch(figures):
            while True:
                {wait}  {mark}
                figures.append(torch.cuda.memory_allocated())

        def serve(net: torch.nn.Module, requests):
            figures, x = [], torch.zeros(8, device="cuda")
            threading.Thread(target=watch, args=(figures,)).start()
            net(x)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, capture_error_mode="thread_local"):
                y = net(x)
            for request in requests:
                x.copy_(request)
                graph.replay()
                print(y.sum().item())
        """
    )
