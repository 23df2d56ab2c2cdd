"""Kernels of other libraries in a capture of torch: they run on a stream that the library has been told of."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules

CUPY = """
import cupy as cp
import torch

double = cp.RawKernel(r"extern \\"C\\" __global__ void twice(float* x) {{ }}", "twice")


def main():
    x = torch.ones(8, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        x.add_(1.0)
        {enter}
            double((1,), (8,), (x.data_ptr(),))  # {mark}: CG501
    graph.replay()
"""


@pytest.mark.parametrize(
    ("enter", "mark"),
    [
        ("if True:", "expect"),
        ("with torch.no_grad():", "expect"),
        ("with cp.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):", "ok"),
    ],
)
def test_a_kernel_of_cupy_in_a_capture_of_torch(enter: str, mark: str) -> None:
    check_marked_rules(CUPY.format(enter=enter, mark=mark))


def test_a_stream_made_from_the_number_of_another_is_that_stream() -> None:
    check_marked_rules("""
        import torch

        def main(x: torch.Tensor):
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                same = torch.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream)
                with torch.cuda.stream(same):
                    y = x * 2  # ok: CG501
                with torch.cuda.stream(torch.cuda.ExternalStream(12345)):  # expect: CG501
                    z = x * 3
            return graph, y, z
    """)
