"""CG402: numbers that change between calls are recorded into a graph."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules
from tests.rules.conftest import Shows

SAMPLER = """\
import torch


class Sampler:
    def __init__(self, size: int, top: int):
        self.top = top
        self.temperature = 1.0
        self.count = 4
        self.greedy = False
        self.scale = torch.ones((), device="cuda")
        self.logits = torch.zeros(8, 100, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def capture(self):
        with torch.cuda.graph(self.graph):
            out = self.logits
            {statement}  # {mark}
            self.out = out * 1.0

    def sample(self, logits: torch.Tensor, temperature: float, count: int, greedy: bool):
        self.temperature = temperature
        self.count = count
        self.greedy = greedy
        self.scale.fill_(temperature)
        self.logits.copy_(logits)
        self.graph.replay()
        return self.out.clone()
"""


@pytest.mark.parametrize(
    "statement",
    [
        "out = self.logits / self.temperature",
        "out = self.logits[: self.count]",
        "out = torch.full_like(self.logits, self.temperature)",
        "out = self.logits.masked_fill(self.logits < 0, self.temperature)",
        "for _ in range(self.count): out = out + 1",
        "out = self.logits[self.count]",
        "out = self.logits.clamp(max=self.temperature)",
        "out = self.logits * (1.0 / self.temperature)",
    ],
)
def test_reported(statement: str) -> None:
    check_marked_rules(SAMPLER.format(statement=statement, mark="expect: CG402"))


@pytest.mark.parametrize(
    "statement",
    [
        "out = self.logits / self.scale",
        "out = self.logits[: self.top]",
        "out = self.logits / 2.0",
        "out = torch.topk(self.logits, self.top).values",
        "for _ in range(self.top): out = out + 1",
        "out = self.logits[: self.logits.shape[0] // 2]",
        "label = f'{self.temperature}'",
        "out = self.logits.view(self.logits.shape[0], -1)",
    ],
)
def test_fine(statement: str) -> None:
    check_marked_rules(SAMPLER.format(statement=statement, mark="ok: CG402"))


def test_a_number_that_is_the_key_of_the_graph_is_fine() -> None:
    check_marked_rules(
        """
        import torch


        class Buckets:
            def __init__(self, net: torch.nn.Module):
                self.net = net
                self.x = torch.zeros(64, 16, device="cuda")
                self.graphs = {}

            def run(self, batch: torch.Tensor, count: int):
                if count not in self.graphs:
                    graph = torch.cuda.CUDAGraph()
                    with torch.cuda.graph(graph):
                        y = self.net(self.x[:count])  # ok: CG402
                    self.graphs[count] = (graph, y)
                graph, y = self.graphs[count]
                self.x[:count].copy_(batch)
                graph.replay()
                return y.clone()
        """
    )


ACROSS_FILES = {
    "schedule.py": """\
        class Schedule:
            def __init__(self):
                self.noise = 1.0

            def advance(self):
                self.noise *= 0.9
        """,
    "diffusion.py": """\
        import torch

        from schedule import Schedule


        class Diffusion:
            def __init__(self, net: torch.nn.Module):
                self.net = net
                self.schedule = Schedule()
                self.latent = torch.zeros(1, 4, 64, 64, device="cuda")
                self.graph = torch.cuda.CUDAGraph()

            def denoise(self):
                return self.latent - self.schedule.noise * self.net(self.latent)  # expect: CG402

            def capture(self):
                with torch.cuda.graph(self.graph):
                    self.latent.copy_(self.denoise())

            def sample(self, steps: int):
                for _ in range(steps):
                    self.schedule.advance()
                    self.graph.replay()
                return self.latent.clone()
        """,
}


def test_across_files(shows: Shows) -> None:
    check_marked_rules(ACROSS_FILES)
    shows("CG402-across-files", ACROSS_FILES)


def test_suppressed() -> None:
    statement = "out = self.logits / self.temperature  # graphlint: ignore[CG402] -- always 1 when captured"
    check_marked_rules(SAMPLER.format(statement=statement, mark="ok: CG402"))


COUNTS = """
import torch


class Step:
    def __init__(self, net):
        self.net = net
        self.count = 1
        self.x = torch.zeros(4, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            sizes = torch.tensor([self.count]{device})  # {mark}: CG402
            self.y = self.net(self.x, sizes)

    def __call__(self, x, count: int):
        self.count = count
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(("device", "mark"), [("", "ok"), (', device="cuda"', "expect")])
def test_a_number_in_a_tensor_of_the_host(device: str, mark: str) -> None:
    check_marked_rules(COUNTS.format(device=device, mark=mark))


BRANCH = """
import logging
import time

import torch

log = logging.getLogger(__name__)


class Step:
    def __init__(self, net, limit: int):
        self.net = net
        self.count = 1
        self.limit = limit
        self.seen = 0.0
        self.x = torch.zeros(4, device="cuda")
        self.net(self.x)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.run()

    def run(self):
        y = self.net(self.x)
        if self.count > self.limit:  # {mark}: CG402
            {statement}
        return y

    def __call__(self, x, count: int):
        self.count = count
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(
    ("statement", "mark"),
    [
        ("log.warning('many')", "ok"),
        ("raise ValueError(self.limit)", "ok"),
        ("y = y + 1", "expect"),
        ("y.add_(1)", "expect"),
        ("return y + 1", "expect"),
        ("elsewhere(y)", "expect"),
    ],
)
def test_what_depends_on_a_branch(statement: str, mark: str) -> None:
    check_marked_rules(BRANCH.format(statement=statement, mark=mark))


def test_each_turn_of_a_loop_captures_a_graph_of_its_own() -> None:
    check_marked_rules(
        """
        import torch

        def record(x: torch.Tensor):
            def run():
                return x * width  # ok: CG402

            graphs = {}
            for width in (1, 2):
                run()
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph):
                    y = run()
                graphs[name(width)] = graph
            for width in reversed((1, 2)):
                graphs[name(width)].replay()
            return y

        def name(width):
            return tuple(sorted({"width": width}.items()))
        """
    )


def test_a_name_that_changes_for_the_one_graph() -> None:
    check_marked_rules(
        """
        import torch

        def record(x: torch.Tensor):
            width = 1

            def run():
                return x * width  # expect: CG402

            run()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = run()
            for _ in range(3):
                width = width + 1
                graph.replay()
            return y.clone()
        """
    )


READ_BACK = """
import torch


class Step:
    def __init__(self, net):
        self.net = net
        self.known = torch.ones(2, dtype=torch.int64)
        self.x = torch.zeros(4, device="cuda")
        self.net(self.x)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            {made}
            if counts.max().item() > 3:  # {mark}: CG402
                self.x.mul_(2)
            self.y = self.net(self.x)

    def __call__(self, x, counts: torch.Tensor):
        self.known.copy_(counts)
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(
    ("made", "mark"), [("counts = self.known", "expect"), ("counts = torch.ones(2)", "ok")]
)
def test_numbers_read_from_host_tensors(made: str, mark: str) -> None:
    check_marked_rules(READ_BACK.format(made=made, mark=mark))


def test_a_flag_that_a_call_turns_around_is_a_flag_whatever_it_was_made_of() -> None:
    check_marked_rules(
        """
        import torch


        class Sampler:
            def __init__(self):
                self.x = torch.zeros(4, 8, device="cuda")
                self.sampling = True
                self.graph = None

            def pick(self):
                if self.sampling:  # expect: CG402
                    return self.x.topk(4)[1]
                return self.x.argmax(-1)

            def step(self, x, greedy):
                self.sampling = not greedy
                self.x.copy_(x)
                if self.graph is None:
                    self.pick()
                    self.graph = torch.cuda.CUDAGraph()
                    with torch.cuda.graph(self.graph):
                        self.y = self.pick()
                self.graph.replay()
                return self.y.clone()
        """
    )


def test_a_number_given_to_a_module_of_a_library() -> None:
    check_marked_rules(
        """
        import torch
        import layers


        class Runner:
            def __init__(self):
                self.layer = layers.Scale(8)
                self.x = torch.zeros(8, device="cuda")
                self.factor, self.bias = 2, 1
                self.layer(self.x, factor=2, bias=1)
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph):
                    self.y = self.layer(self.x, factor=self.factor, bias=1)  # expect: CG402

            def step(self, x, factor: int):
                self.factor = factor
                self.x.copy_(x)
                self.graph.replay()
                return self.y.clone()
        """
    )
