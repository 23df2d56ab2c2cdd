"""CG702: compiled callables and autotuned kernels that first run inside a capture."""

from __future__ import annotations

import pytest

from tests.programs import check_marks

COMPILED = """
import torch

def scale(x, w):
    return torch.tanh(x) * w

{make}

def record(x: torch.Tensor, w: torch.Tensor):
    {warm}
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = fast(x, w)  # {mark}: CG702
    return graph, x, w, y
"""
MAKERS = [
    "fast = torch.compile(scale)",
    "@torch.compile\ndef fast(x, w):\n    return x * w",
    "@torch.compile(mode='max-autotune-no-cudagraphs')\ndef fast(x, w):\n    return x * w",
]


@pytest.mark.parametrize("make", MAKERS)
def test_cold(make: str) -> None:
    check_marks(COMPILED.format(make=make, warm="pass", mark="expect"))


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("warm", ["fast(x, w)", "for _ in range(3):\n        fast(x, w)"])
def test_warm(make: str, warm: str) -> None:
    check_marks(COMPILED.format(make=make, warm=warm, mark="ok"))


def test_warm_on_some_of_the_ways_here_is_silent() -> None:
    warm = "if x.shape[0] > 1:\n        fast(x, w)"
    check_marks(COMPILED.format(make=MAKERS[0], warm=warm, mark="ok"))


def test_compilation_that_is_switched_off() -> None:
    make = "fast = torch.compile(scale, disable=True)"
    check_marks(COMPILED.format(make=make, warm="pass", mark="ok"))


@pytest.mark.parametrize("mode", ["reduce-overhead", "max-autotune"])
@pytest.mark.parametrize("warm", ["pass", "fast(x, w)"])
def test_graphs_of_its_own_inside_a_capture(mode: str, warm: str) -> None:
    make = f"fast = torch.compile(scale, mode={mode!r})"
    check_marks(COMPILED.format(make=make, warm=warm, mark="expect"))


def test_the_branch_of_the_warmup_does_not_reach_it() -> None:
    check_marks(
        """
        import torch

        @torch.compile
        def fused(x):
            return torch.tanh(x) * 2

        class Block(torch.nn.Module):
            def forward(self, x, quick: bool = False):
                if quick:
                    return fused(x)  # expect: CG702
                return torch.tanh(x) * 2

        def record(block: Block, x: torch.Tensor):
            block(x)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = block(x, quick=True)
            return graph, x, y
        """
    )


def test_a_method_of_its_own_warms_up() -> None:
    check_marks(
        """
        import torch

        class Runner:
            def __init__(self, net):
                self.fast = torch.compile(net)
                self.x = torch.zeros(8, 16, device="cuda")
                self.graph = torch.cuda.CUDAGraph()

            def record(self):
                with torch.cuda.graph(self.graph):
                    self.y = self.fast(self.x)  # ok: CG702

            def prepare(self):
                for _ in range(3):
                    self.fast(self.x)
        """
    )


def test_make_graphed_callables_warms_up_itself() -> None:
    check_marks(
        """
        import torch

        def build(net, x: torch.Tensor):
            fast = torch.compile(net)
            return torch.cuda.make_graphed_callables(lambda t: fast(t), (x,))  # ok: CG702
        """
    )


KERNEL = """
import torch
import triton
import triton.language as tl

{decorator}
@triton.jit
def double(x_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)

def record(x: torch.Tensor):
    {warm}
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        double[(8,)](x, 1024)  # {mark}: CG702
    return graph, x
"""
TUNED = "@triton.autotune(configs=[triton.Config({'BLOCK': 128})], key=['n'])"


@pytest.mark.parametrize(
    ("decorator", "warm", "mark"),
    [(TUNED, "pass", "expect"), (TUNED, "double[(8,)](x, 1024)", "ok"), ("# plain", "pass", "ok")],
)
def test_autotuned_kernels(decorator: str, warm: str, mark: str) -> None:
    check_marks(KERNEL.format(decorator=decorator, warm=warm, mark=mark))


def test_a_warm_up_with_other_shapes_leaves_the_captured_one_to_be_compiled() -> None:
    check_marks(
        """
        import torch


        class Runner:
            def __init__(self):
                self.function = torch.compile(lambda x: (x * 2).sum(-1))
                self.x = torch.zeros(4, 8, device="cuda")
                self.function(torch.zeros(16, 8, device="cuda"))
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph):
                    self.y = self.function(self.x)  # expect: CG702

            def step(self, x):
                self.x.copy_(x)
                self.graph.replay()
                return self.y.clone()
        """
    )


@pytest.mark.parametrize(
    ("options", "warm"),
    [
        ("", "torch.zeros(4, 8, device='cuda')"),
        (", dynamic=True", "torch.zeros(16, 8, device='cuda')"),
        ("", "torch.zeros(size, 8, device='cuda')"),
        ("", "given"),
    ],
)
def test_a_warm_up_that_may_serve_the_captured_shape(options: str, warm: str) -> None:
    check_marks(
        f"""
        import torch


        class Runner:
            def __init__(self, size: int, given: torch.Tensor):
                self.function = torch.compile(lambda x: (x * 2).sum(-1){options})
                self.x = torch.zeros(4, 8, device="cuda")
                self.function({warm})
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph):
                    self.y = self.function(self.x)  # ok: CG702

            def step(self, x):
                self.x.copy_(x)
                self.graph.replay()
                return self.y.clone()
        """
    )


def test_two_shapes_make_the_compiler_take_sizes_as_variable() -> None:
    check_marks(
        """
        import torch


        class Runner:
            def __init__(self):
                self.function = torch.compile(lambda x: (x * 2).sum(-1))
                self.x = torch.zeros(4, 8, device="cuda")
                for size in (16, 32):
                    self.function(torch.zeros(size, 8, device="cuda"))
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph):
                    self.y = self.function(self.x)  # ok: CG702

            def step(self, x):
                self.x.copy_(x)
                self.graph.replay()
                return self.y.clone()
        """
    )


@pytest.mark.parametrize(("size", "mark"), [(4096, "expect"), (1024, "ok")])
def test_an_autotuned_kernel_is_tuned_for_each_value_of_its_key(size: int, mark: str) -> None:
    check_marks(
        f"""
        import torch
        import triton
        import triton.language as tl


        @triton.autotune(configs=[triton.Config({{"BLOCK": 64}}), triton.Config({{"BLOCK": 128}})], key=["n"])
        @triton.jit
        def double(x, n, BLOCK: tl.constexpr):
            at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(x + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


        class Runner:
            def __init__(self):
                self.x = torch.zeros(1024, device="cuda")
                double[(16,)](torch.zeros({size}, device="cuda"), {size})
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph):
                    double[(16,)](self.x, 1024)  # {mark}: CG702

            def step(self, x):
                self.x.copy_(x)
                self.graph.replay()
                return self.x.clone()
        """
    )


@pytest.mark.parametrize(
    ("benchmark", "batch", "mark"), [("True", 8, "expect"), ("True", 2, "ok"), ("False", 8, "ok")]
)
def test_a_convolution_whose_algorithms_are_tried_out(benchmark: str, batch: int, mark: str) -> None:
    check_marks(
        f"""
        import torch
        from torch import nn

        torch.backends.cudnn.benchmark = {benchmark}


        class Runner:
            def __init__(self):
                self.layer = nn.Conv2d(3, 8, 3).cuda()
                self.x = torch.zeros(2, 3, 64, 64, device="cuda")
                self.layer(torch.zeros({batch}, 3, 64, 64, device="cuda"))
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph):
                    self.y = self.layer(self.x)  # {mark}: CG702

            def step(self, x):
                self.x.copy_(x)
                self.graph.replay()
                return self.y.clone()
        """
    )


def test_another_number_of_dimensions_is_captured() -> None:
    check_marks(
        """
        import torch


        class Runner:
            def __init__(self):
                self.function = torch.compile(lambda x: (x * 2).sum(-1))
                self.x = torch.zeros(2, 4, 8, device="cuda")
                self.function(torch.zeros(16, 8, device="cuda"))
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph):
                    self.y = self.function(self.x)  # ok: CG702

            def step(self, x):
                self.x.copy_(x)
                self.graph.replay()
                return self.y.clone()
        """
    )


@pytest.mark.parametrize(
    ("make", "warm", "mark"),
    [
        (MAKERS[0], "fast(x[:1], w)", "expect"),
        ("fast = torch.compile(scale, dynamic=True)", "fast(x[:1], w)", "ok"),
        (MAKERS[0], "fast(x[:1], w); fast(x, w)", "ok"),
        (MAKERS[0], "fast(w[:1], w)", "ok"),
        ("fast = torch.compile(scale, dynamic=False)", "fast(x[:1], w); fast(x[:2], w)", "expect"),
        ("fast = torch.compile(scale, dynamic=False)", "fast(x[:1], w); fast(x, w)", "ok"),
        ("fast = torch.compile(scale, dynamic=None)", "fast(x[:1], w); fast(x[:2], w)", "ok"),
    ],
)
def test_warm_with_some_of_the_rows_only(make: str, warm: str, mark: str) -> None:
    check_marks(COMPILED.format(make=make, warm=warm, mark=mark))
