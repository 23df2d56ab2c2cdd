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


@pytest.mark.parametrize(
    ("body", "mark"),
    [
        ("slot = self.free.pop()", "# expect: CG403"),
        ("slot = self.free.pop()\n                self.free.append(slot)", ""),
    ],
)
def test_numbers_taken_out_of_a_list_in_captured_code(body: str, mark: str) -> None:
    first, *more = body.split("\n")
    check_marked_rules(
        f"""
        import torch

        class Runner:
            def __init__(self, net: torch.nn.Module, slots: int):
                self.net, self.free = net, list(range(slots))
                self.x = torch.zeros(8, 8, device="cuda")

            def body(self):
                {first}  {mark}
                {more[0].strip() if more else "pass"}
                return self.net(self.x[slot])

            def capture(self):
                self.body()
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph):
                    self.y = self.body()  # ok: CG403

            def run(self):
                self.graph.replay()
                return self.y.clone()
        """
    )


@pytest.mark.parametrize(
    ("filled", "mark"), [("self.x[:n].copy_(x)", "# expect: CG402"), ("self.x.copy_(x)", "# ok: CG402")]
)
def test_a_size_that_fills_a_part_of_memory_changes(filled: str, mark: str) -> None:
    check_marked_rules(
        f"""
        from dataclasses import dataclass
        import torch

        @dataclass
        class Step:
            tokens: int

        class Runner:
            def __init__(self, net: torch.nn.Module, rows: int):
                self.net, self.step = net, Step(rows)
                self.x = torch.zeros(rows, 8, device="cuda")

            def body(self):
                return self.net(self.x) * self.step.tokens  {mark}

            def capture(self):
                self.body()
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph):
                    self.y = self.body()

            def run(self, x: torch.Tensor):
                n = x.shape[0]
                self.step = Step(n)
                {filled}
                self.graph.replay()
                return self.y.clone()
        """
    )


@pytest.mark.parametrize(("read", "mark"), [("v.cpu()", "# expect: CG502"), ("v.shape", "# ok: CG502")])
def test_a_thread_that_reads_weights_while_another_captures(read: str, mark: str) -> None:
    check_marked_rules(
        f"""
        import threading
        import torch

        def save(net: torch.nn.Module, kept):
            for v in net.state_dict().values():
                kept.append({read})

        def serve(net: torch.nn.Module, requests):
            kept, x = [], torch.zeros(8, device="cuda")
            net(x)
            threading.Thread(target=save, args=(net, kept)).start()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):  {mark}
                y = net(x)
            for request in requests:
                x.copy_(request)
                graph.replay()
                print(y.sum().item())
        """
    )


def test_what_a_handler_of_a_failed_capture_does_is_no_warm_up() -> None:
    check_marked_rules(
        """
        import torch

        class Runner:
            def __init__(self, net: torch.nn.Module):
                self.net, self.graph = net, None
                self.x = torch.zeros(8, device="cuda")
                self.total = torch.zeros(8, device="cuda")

            def body(self):
                self.total.add_(self.net(self.x))  # ok: CG704

            def record(self):
                graph = torch.cuda.CUDAGraph()
                try:
                    with torch.cuda.graph(graph):
                        self.body()
                except RuntimeError:
                    self.body()
                    return None
                return graph

            def run(self):
                if self.graph is None:
                    self.graph = self.record()
                if self.graph is not None:
                    self.graph.replay()
                return self.total.clone()
        """
    )


@pytest.mark.parametrize(("key", "mark"), [("index", "# ok: CG302"), ("rows", "# expect: CG302")])
def test_nothing_is_found_under_the_text_of_another_entry(key: str, mark: str) -> None:
    check_marked_rules(
        f"""
        import torch

        class Runner:
            def __init__(self, net: torch.nn.Module, more):
                self.net, self.held = net, {{"rows": torch.zeros((), dtype=torch.int64, device="cuda")}}
                self.x = torch.zeros(8, device="cuda")
                more.fill(self.held)

            def body(self):
                return self.net(self.x) * int(self.held["{key}"])  {mark}

            def capture(self):
                self.body()
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph):
                    self.y = self.body()
        """
    )


@pytest.mark.parametrize(("eager", "mark"), [("pass", "# expect: CG402"), ("self.plan()", "# ok: CG402")])
def test_a_request_that_only_captured_code_would_see(eager: str, mark: str) -> None:
    check_marked_rules(
        f"""
        import torch

        class Runner:
            def __init__(self, net: torch.nn.Module):
                self.net, self.due = net, False
                self.x = torch.zeros(8, device="cuda")

            def plan(self):
                if self.due:  {mark}
                    self.x.zero_()
                    self.due = False

            def body(self):
                self.plan()
                return self.net(self.x)

            def capture(self):
                self.body()
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph):
                    self.y = self.body()

            def run(self):
                self.due = True
                {eager}
                self.graph.replay()
                return self.y.clone()
        """
    )
