"""When a line runs decides what it means: before the capture, in warm-up, between replays, again."""

from __future__ import annotations

from tests.programs import check_marked_rules


def test_the_same_line_before_and_after_the_capture() -> None:
    check_marked_rules(
        """
import torch


class Runner:
    def __init__(self, net: torch.nn.Module):
        self.net = net
        self.x = torch.zeros(4, device="cuda")
        self.x = torch.zeros(8, device="cuda")  # ok: CG101

    def capture(self):
        self.x = torch.zeros(16, device="cuda")  # ok: CG101
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.net(self.x)

    def run(self, x: torch.Tensor):
        self.x = x  # expect: CG101
        self.graph.replay()
        return self.y.clone()
"""
    )


def test_statement_order_in_one_function() -> None:
    check_marked_rules(
        """
import torch


def main(net: torch.nn.Module, batches: list[torch.Tensor]):
    x = torch.zeros(4, device="cuda")
    x = torch.ones(4, device="cuda")  # ok: CG101
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        y = net(x)
    g.replay()
    x = batches[0].cuda()  # expect: CG101
    g.replay()


def unused_afterwards(net: torch.nn.Module, batches: list[torch.Tensor]):
    x = torch.zeros(4, device="cuda")
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        y = net(x)
    g.replay()
    x = batches[0].cuda()  # ok: CG101
    return x
"""
    )


def test_a_rebinding_after_the_region_in_the_capturing_method() -> None:
    check_marked_rules(
        """
import torch


class Runner:
    def __init__(self):
        self.x = torch.zeros(4, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def capture(self):
        with torch.cuda.graph(self.graph):
            self.y = self.x * 2
        self.x = torch.ones(4, device="cuda")  # expect: CG101

    def run(self):
        self.graph.replay()
        return self.y.clone()
"""
    )


def test_a_rebinding_that_is_followed_by_a_recapture() -> None:
    check_marked_rules(
        """
import torch


class Runner:
    def __init__(self):
        self.x = torch.zeros(4, device="cuda")
        self.capture()

    def capture(self):
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.x * 2

    def resize(self, n: int):
        self.x = torch.zeros(n, device="cuda")  # ok: CG101
        self.capture()

    def run(self, x: torch.Tensor):
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()


class Forgetful:
    def __init__(self):
        self.x = torch.zeros(4, device="cuda")
        self.capture()

    def capture(self):
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.x * 2

    def resize(self, n: int):
        self.x = torch.zeros(n, device="cuda")  # expect: CG101

    def run(self, x: torch.Tensor):
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
"""
    )


RELEASE = """
import torch


class Pool:
    def __init__(self):
        self.buffer = torch.zeros(64, device="cuda")

    def release(self):
        self.buffer = torch.empty(0, device="cuda")  # {release}: CG101

    def restore(self, saved: torch.Tensor):
        self.buffer = saved.cuda()  # {release}: CG101


class Worker:
    def __init__(self, pool: Pool):
        self.pool = pool
        self.capture()

    def capture(self):
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.out = self.pool.buffer * 2

    def sleep(self):
        self.saved = self.pool.buffer.cpu()
        self.pool.release()

    def wake(self):
        self.pool.restore(self.saved)
        {recapture}

    def run(self):
        self.graph.replay()
        return self.out.clone()
"""


def test_release_and_restore_with_a_recapture() -> None:
    check_marked_rules(RELEASE.format(release="ok", recapture="self.capture()"))


def test_release_and_restore_without_a_recapture() -> None:
    check_marked_rules(RELEASE.format(release="expect", recapture="self.saved = None"))


def test_replay_stands_before_sleep_and_wake_in_the_text() -> None:
    moved = RELEASE.format(release="ok", recapture="self.capture()")
    run = moved[moved.index("    def run(self)") :]
    moved = moved.replace(run, "").replace("    def sleep(self)", f"{run}\n    def sleep(self)")
    check_marked_rules(moved)


def test_a_graph_dropped_by_the_writer_and_captured_again_on_demand() -> None:
    check_marked_rules(
        """
import torch


class Lazy:
    def __init__(self):
        self.x = torch.zeros(4, device="cuda")
        self.graph = None

    def load(self, x: torch.Tensor):
        self.x = x.cuda()  # ok: CG101
        self.graph = None

    def run(self):
        if self.graph is None:
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = self.x * 2
        self.graph.replay()
        return self.y.clone()


class Stale:
    def __init__(self):
        self.x = torch.zeros(4, device="cuda")
        self.graph = None

    def load(self, x: torch.Tensor):
        self.x = x.cuda()  # expect: CG101

    def run(self):
        if self.graph is None:
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = self.x * 2
        self.graph.replay()
        return self.y.clone()
"""
    )


def test_graphs_cleared_from_a_dict_before_the_next_run() -> None:
    check_marked_rules(
        """
import torch


class Lazy:
    def __init__(self):
        self.x = torch.zeros(4, device="cuda")
        self.graphs = {}

    def load(self, x: torch.Tensor):
        self.x = x.cuda()  # ok: CG101
        self.graphs.clear()

    def run(self, n: int):
        if n not in self.graphs:
            g = torch.cuda.CUDAGraph()
            with torch.cuda.graph(g):
                y = self.x * 2
            self.graphs[n] = (g, y)
        g, y = self.graphs[n]
        g.replay()
        return y.clone()


class Stale:
    def __init__(self):
        self.x = torch.zeros(4, device="cuda")
        self.graphs = {}

    def load(self, x: torch.Tensor):
        self.x = x.cuda()  # expect: CG101

    def run(self, n: int):
        if n not in self.graphs:
            g = torch.cuda.CUDAGraph()
            with torch.cuda.graph(g):
                y = self.x * 2
            self.graphs[n] = (g, y)
        g, y = self.graphs[n]
        g.replay()
        return y.clone()
"""
    )


GUARDS = {
    "None": ("self.x = None", "self.x is None"),
    "flag": ("self.ready = False", "not self.ready"),
    "hasattr": ("pass", 'not hasattr(self, "x")'),
}


def test_buffers_made_once_in_warm_up() -> None:
    for first, test in GUARDS.values():
        check_marked_rules(
            f"""
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        {first}

    def forward(self, h):
        if {test}:
            self.x = torch.zeros(4, device="cpu").cuda()  # ok: CG306
            self.ready = True
        return self.x + h


def warmed():
    net = Net()
    h = torch.zeros(4, device="cuda")
    net(h)
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        net(h)
"""
        )
        check_marked_rules(
            f"""
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        {first}

    def forward(self, h):
        if {test}:
            self.x = torch.zeros(4, device="cpu").cuda()  # expect: CG306
            self.ready = True
        return self.x + h


def cold():
    net = Net()
    h = torch.zeros(4, device="cuda")
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        net(h)
"""
        )


def test_dict_entries_made_once_in_warm_up() -> None:
    program = """
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.tables = {{}}

    def forward(self, h):
        n = h.shape[0]
        if n not in self.tables:
            self.tables[n] = torch.arange(4).cuda()  # {mark}: CG306
        return self.tables[n] + h


def main():
    net = Net()
    h = torch.zeros(4, device="cuda")
    {warm}
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        net(h)
"""
    check_marked_rules(program.format(warm="net(h)", mark="ok"))
    check_marked_rules(program.format(warm="pass", mark="expect"))


def test_methods_that_prepare_come_first_wherever_they_stand() -> None:
    check_marked_rules(
        """
import torch


class Runner:
    def __init__(self, net: torch.nn.Module):
        self.net = net
        self.x = None
        self.weights = None

    def capture(self):
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.net(self.x) * self.weights

    def run(self, x: torch.Tensor):
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()

    def load_weights(self, path: str):
        self.weights = torch.load(path).cuda()  # ok: CG101

    def init_buffers(self, n: int):
        self.x = torch.zeros(n, device="cuda")  # ok: CG101
"""
    )


def test_each_graph_of_a_loop_reads_its_own_buffer() -> None:
    check_marked_rules(
        """
import torch


class Buckets:
    def __init__(self, net: torch.nn.Module, sizes: list[int]):
        self.net = net
        self.entries = {}
        for n in sizes:
            x = torch.zeros(n, device="cuda")  # ok: CG101
            g = torch.cuda.CUDAGraph()
            with torch.cuda.graph(g):
                y = self.net(x)
            self.entries[n] = (g, x, y)

    def run(self, n: int, batch: torch.Tensor):
        g, x, y = self.entries[n]
        x.copy_(batch)
        g.replay()
        return y.clone()
"""
    )


def test_replays_in_the_capture_loop() -> None:
    check_marked_rules(
        """
import torch


def per_size(net: torch.nn.Module, sizes: list[int]):
    graphs = []
    for n in sizes:
        x = torch.zeros(n, device="cuda")  # ok: CG101
        g = torch.cuda.CUDAGraph()
        with torch.cuda.graph(g):
            y = net(x)
        g.replay()
        graphs.append((g, x, y))
    for g, x, y in graphs:
        g.replay()


def shared(net: torch.nn.Module, batches: list[torch.Tensor]):
    x = torch.zeros(4, device="cuda")
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        y = net(x)
    for batch in batches:
        x = batch.cuda()  # expect: CG101
        g.replay()
"""
    )


def test_a_later_method_of_the_same_step_recaptures() -> None:
    check_marked_rules(
        """
import torch


class Runner:
    def __init__(self):
        self.table = torch.zeros(4, device="cuda")
        self.record()

    def record(self):
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.out = self.table * 2

    def replay(self):
        self.graph.replay()
        return self.out.clone()

    def update(self, table: torch.Tensor):
        self.table = table.cuda()  # ok: CG101
        self.graph.reset()
        self.graph = None

    def refresh(self):
        self.record()
"""
    )


def test_a_loop_that_recaptures_now_and_then() -> None:
    check_marked_rules(
        """
import torch


def main(net: torch.nn.Module, batches: list[torch.Tensor]):
    g = None
    x = None
    for step, batch in enumerate(batches):
        if g is None or step % 100 == 0:
            x = batch.clone()  # ok: CG101
            g = torch.cuda.CUDAGraph()
            with torch.cuda.graph(g):
                y = net(x)
        x.copy_(batch)
        g.replay()
"""
    )


RUNNER = """
import torch


class Runner:
    def __init__(self, net: torch.nn.Module):
        self.net = net
        self.x = torch.zeros(4, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.net(self.x)

    def run(self):
        self.graph.replay()
        return self.y.clone()
"""


def test_a_rebinding_in_another_file() -> None:
    check_marked_rules(
        {
            "runner.py": RUNNER,
            "engine.py": """
import torch

from runner import Runner


class Engine:
    def __init__(self, net: torch.nn.Module):
        self.runner = Runner(net)

    def step(self, batch: torch.Tensor):
        self.runner.x = batch.cuda()  # expect: CG101
        return self.runner.run()


class Careful:
    def __init__(self, net: torch.nn.Module):
        self.runner = Runner(net)

    def step(self, batch: torch.Tensor):
        self.runner.x.copy_(batch)  # ok: CG101
        return self.runner.run()


def serve(net: torch.nn.Module, batches: list[torch.Tensor]):
    runner = Runner(net)
    for batch in batches:
        runner.x = batch  # expect: CG101
        runner.run()
""",
        }
    )


def test_an_output_kept_in_another_file() -> None:
    check_marked_rules(
        {
            "runner.py": RUNNER.replace("self.y.clone()", "self.y"),
            "engine.py": """
import torch

from runner import Runner


def collect(net: torch.nn.Module, batches: list[torch.Tensor]):
    runner = Runner(net)
    kept, copied = [], []
    for batch in batches:
        runner.x.copy_(batch)
        kept.append(runner.run())  # expect: CG201
        copied.append(runner.run().clone())  # ok: CG201
    return torch.stack(kept), torch.stack(copied)
""",
        }
    )


def test_writes_before_and_after_the_region_in_a_loop_of_steps() -> None:
    check_marked_rules(
        """
import torch


class Trainer:
    def __init__(self, net: torch.nn.Module):
        self.net = net
        self.x = torch.zeros(4, device="cuda")
        self.steps = 0
        self.graph = None

    def step(self, batch: torch.Tensor):
        self.steps += 1
        if self.steps < 4:
            self.x = batch.cuda()  # ok: CG101
            return self.net(self.x)
        if self.graph is None:
            self.x = batch.cuda()  # ok: CG101
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = self.net(self.x)
        self.x.copy_(batch)
        self.graph.replay()
        return self.y.clone()
"""
    )


def test_an_undecided_recapture_does_not_excuse_a_sure_rebinding() -> None:
    check_marked_rules(
        """
import torch


class Trainer:
    def __init__(self, net: torch.nn.Module):
        self.net = net
        self.x = torch.zeros(4, device="cuda")
        self.capture()

    def capture(self):
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.net(self.x)

    def step(self, batch: torch.Tensor):
        self.x = batch.cuda()  # expect: CG101
        self.graph.replay()
        return self.y.clone()

    def resize(self, n: int):
        self.x = torch.zeros(n, device="cuda")  # ok: CG101
        self.capture()
"""
    )


def test_a_method_that_extends_a_capturing_one_captures() -> None:
    check_marked_rules(
        """
import torch


class Base:
    def __init__(self):
        self.x = torch.zeros(64, device="cuda")

    def capture(self, fn):
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = fn()

    def run(self, n: int):
        self.graph.replay()
        return self.y.clone()


class Derived(Base):
    def capture(self, n: int):
        super().capture(lambda: self.x[:n] * n)  # ok: CG402


class Stepped(Base):
    def __init__(self):
        super().__init__()
        self.n = 0
        self.capture(lambda: self.x * self.n)  # expect: CG402

    def run(self, n: int):
        self.n = n
        return super().run(n)
"""
    )
