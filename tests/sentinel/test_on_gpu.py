"""What can only be seen on a GPU: atomics, half precision, Triton kernels, cuBLAS."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sentinel.capturing import capture
from tests.sentinel.watching import codes, messages

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def gpu() -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("there is no GPU")


def test_sums_by_atomics_differ_and_are_no_finding(tested: Any) -> None:
    import torch

    index = torch.randint(0, 10, (200_000,), device="cuda")
    source = torch.randn(200_000, device="cuda")
    graph = torch.cuda.CUDAGraph()
    torch.zeros(10, device="cuda").index_add_(0, index, source)
    with torch.cuda.graph(graph):
        sums = torch.zeros(10, device="cuda").index_add_(0, index, source)
    for _ in range(12):
        graph.replay()
    assert tested.findings == [] and sums.shape == (10,)


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "float16"])
def test_matrix_products_and_attention(tested: Any, kind: str) -> None:
    import torch
    from torch.nn import functional

    layer = torch.nn.Linear(256, 256).cuda().to(getattr(torch, kind))
    x = torch.randn(2, 4, 64, 256, device="cuda", dtype=getattr(torch, kind))
    scale = 1.0

    def body() -> Any:
        q = layer(x)
        return functional.scaled_dot_product_attention(q, q, q).softmax(-1)

    with torch.no_grad():
        body()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = body() * scale
    for _ in range(4):
        x.normal_()
        graph.replay()
    assert tested.findings == []
    scale = 1.05
    graph.replay()
    assert codes(tested) == ["CG402"] and "`scale` was 1.0" in messages(tested)
    assert out.dtype == getattr(torch, kind) and scale == 1.05


def kernels() -> Any:
    pytest.importorskip("triton")
    from tests.sentinel import triton_kernels

    return triton_kernels


def test_what_a_triton_kernel_writes_is_undone(tested: Any) -> None:
    import torch

    increase = kernels().increase
    total, graph, amount = torch.zeros(64, device="cuda"), torch.cuda.CUDAGraph(), 1.0
    increase[(1,)](total, 0.0, BLOCK=64)
    with torch.cuda.graph(graph):
        increase[(1,)](total, amount, BLOCK=64)
    graph.replay()
    graph.replay()
    assert total.tolist() == [2.0] * 64 and tested.findings == []
    amount = 3.0
    graph.replay()
    assert total.tolist() == [3.0] * 64 and codes(tested) == ["CG402"]
    assert "`total`" in messages(tested) and amount == 3.0


def test_a_canary_sees_writers_that_torch_does_not(canary: Any) -> None:
    import torch

    from graphlint.sentinel import wrap

    increase = kernels().increase
    given = torch.zeros(64, device="cuda")
    graph, out = capture(lambda: given * 2)

    def run(write: bool) -> Any:
        if write:
            increase[(1,)](given, 1.0, BLOCK=64)
        graph.replay()
        return out

    call = wrap(run, inputs={"given": given})
    call(True)
    assert canary.findings == []
    call(False)
    torch.cuda.synchronize()
    call(True)
    assert codes(canary) == ["CG109"]


def test_a_watched_capture_has_the_nodes_of_an_unwatched_one() -> None:
    import torch

    from graphlint.sentinel import watch

    x = torch.ones(64, 64, device="cuda")

    def nodes() -> int:
        graph = torch.cuda.CUDAGraph(keep_graph=True)
        with torch.cuda.graph(graph):
            (x @ x).relu().softmax(-1)
        return count(graph.raw_cuda_graph())

    (x @ x).relu().softmax(-1)
    plain = nodes()
    for mode in ("watch", "canary", "test"):
        with watch(mode):
            assert nodes() == plain, mode


def count(handle: int) -> int:
    import ctypes

    number = ctypes.c_size_t()
    ctypes.CDLL("libcuda.so.1").cuGraphGetNodes(ctypes.c_void_p(handle), None, ctypes.byref(number))
    return number.value
