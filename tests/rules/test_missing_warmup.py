"""CG701: captures that record what has never run before."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules, check_marks
from tests.programs import check_marked_rules as check

REGION = """
import torch
from torch import nn
import torch.nn.functional as F

class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(16, 16)
        self.norm = nn.LayerNorm(16)

    def forward(self, x, scale: bool = False):
        return self.norm(self.proj(x))

def project(x, w):
    return x @ w

def smooth(x):
    return torch.tanh(x) * 2

def record(head: Head, model: nn.Module, w: torch.Tensor, image: torch.Tensor, fn):
    x = torch.zeros(8, 16, device="cuda")
    {warm}
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # {mark}: CG701
        y = {body}
    return graph, x, y, w, image
"""
NEEDY = [
    "x @ w",
    "torch.matmul(x, w)",
    "F.linear(x, w)",
    "project(x, w)",
    "(lambda t: t @ w)(x)",
    "head(x)",
    "model(x)",
    "F.conv2d(image, w)",
    "torch.fft.rfft(x)",
]


@pytest.mark.parametrize("body", NEEDY)
def test_first_run_in_a_capture(body: str) -> None:
    check(REGION.format(warm="pass", body=body, mark="expect"))


@pytest.mark.parametrize("body", NEEDY)
def test_run_before_the_capture(body: str) -> None:
    check(REGION.format(warm=body, body=body, mark="ok"))
    check(REGION.format(warm=f"for _ in range(3):\n        {body}", body=body, mark="ok"))


@pytest.mark.parametrize("body", ["x * 2 + 1", "smooth(x)", "torch.softmax(x, -1)", "head.norm(x)"])
def test_plain_kernels_need_no_warmup(body: str) -> None:
    check(REGION.format(warm="pass", body=body, mark="ok"))


@pytest.mark.parametrize(
    ("warm", "body", "mark"),
    [
        ("project(x, w)", "head(x)", "ok"),
        ("F.conv2d(image, w)", "project(x, w)", "expect"),
        ("smooth(x)", "project(x, w)", "expect"),
        ("model(x)", "project(x, w)", "ok"),
        ("model(x)", "head(model(x))", "ok"),
        ("project(x.cpu(), w.cpu())", "project(x, w)", "expect"),
    ],
)
def test_what_a_warmup_of_something_else_is_good_for(warm: str, body: str, mark: str) -> None:
    check(REGION.format(warm=warm, body=body, mark=mark))


def test_a_callable_that_is_passed_in_may_have_run_at_the_caller() -> None:
    check(
        """
        import torch

        def record(fn, x: torch.Tensor):
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):  # ok: CG701
                y = fn(x)
            return graph, x, y
        """
    )


RUNNER = """
import torch
from torch import nn

class Runner:
    def __init__(self, model: nn.Module, limit: int):
        self.model = model
        self.fused = torch.compile(model)
        self.x = torch.zeros(limit, 16, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def record(self):
        {warm}
        with torch.cuda.graph(self.graph):  # {mark}: CG701
            self.y = {body}

    def __call__(self, x):
        {first}
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
"""


def runner(mark: str, warm: str = "pass", body: str = "self.model(self.x)", first: str = "pass") -> str:
    return RUNNER.format(mark=mark, warm=warm, body=body, first=first)


def test_a_runner_of_a_given_model() -> None:
    check(runner("expect"))
    check(runner("ok", warm="self.model(self.x)"))


def test_another_closure_is_warmed_up_than_the_captured_one() -> None:
    closures = """
    def forward_of(self, plain: bool):
        run = self.model if plain else self.fused
        return lambda: run(self.x)
"""
    check(runner("expect", "self.forward_of(True)()", "self.forward_of(False)()") + closures)
    check(runner("ok", "self.forward_of(False)()", "self.forward_of(False)()") + closures)


def test_a_method_of_its_own_warms_up() -> None:
    method = "\n    def prepare(self):\n        for _ in range(3):\n            self.model(self.x)\n"
    check(runner("ok") + method)


def test_code_that_also_runs_eagerly_may_have_run_before() -> None:
    check(runner("ok", first="if x.shape[0] > 8:\n            return self.model(x)"))


def test_regions_that_warm_up_themselves() -> None:
    check(
        """
        import torch

        def build(model: torch.nn.Module, x: torch.Tensor):
            fast = torch.cuda.make_graphed_callables(model, (x,))  # ok: CG701
            return fast(x)
        """
    )


def test_a_declared_function_that_warm_up_runs_is_warm_in_its_own_graph() -> None:
    program = """
        import torch

        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = torch.nn.Linear(8, 8)

            def forward(self, x):
                return self.linear(x)

        def main():
            model = Model().cuda()
            x = torch.zeros(8, 8, device="cuda")
            {warmup}
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):  # {mark}: CG701
                y = model(x)
            graph.replay()
            return x, y
        """
    check_marks(program.format(warmup="model(x)", mark="ok"), captured=("program:Model.forward",))
    check_marks(program.format(warmup="model(x)", mark="ok"))
    check_marks(program.format(warmup="pass", mark="expect"))


GROUP = """
import torch
import torch.distributed as dist


def main(rank, world, x: torch.Tensor):
    dist.init_process_group("nccl", rank=rank, world_size=world{device})
    {warm}
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # {mark}: CG701
        dist.all_reduce(x)
    return graph
"""


@pytest.mark.parametrize(
    ("device", "warm", "mark"),
    [
        ("", "pass", "expect"),
        ("", "dist.all_reduce(x)", "ok"),
        (", device_id=torch.device('cuda', rank)", "pass", "ok"),
    ],
)
def test_the_first_collective_makes_the_communicator(device: str, warm: str, mark: str) -> None:
    check_marked_rules(GROUP.format(device=device, warm=warm, mark=mark))


def test_a_group_that_is_made_elsewhere_may_have_its_communicator() -> None:
    program = GROUP.format(device="", warm="pass", mark="ok")
    check_marked_rules(program.replace("dist.init_process_group", "print"))
