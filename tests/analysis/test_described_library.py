"""The sources of the described library itself: its public names mean what they mean to everybody else."""

from __future__ import annotations

from tests.programs import check_marks

_TREE = {
    "torch/__init__.py": "from torch import cuda\n",
    "torch/cuda/__init__.py": """
from torch.cuda.graphs import CUDAGraph, graph

def synchronize():
    _lazy_init()

def _lazy_init():
    pass
""",
    "torch/cuda/graphs.py": """
class CUDAGraph:
    def replay(self):
        super().replay()

class graph:
    def __init__(self, cuda_graph):
        self.cuda_graph = cuda_graph

    def __enter__(self):
        self.cuda_graph.capture_begin()

    def __exit__(self, *args):
        self.cuda_graph.capture_end()
""",
    "torch/_tools/record.py": """
import torch
from torch.cuda import synchronize

def record(x: torch.Tensor, check: bool):
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()  # ok: CG301
    with torch.cuda.graph(graph):
        y = x + 1
        synchronize()  # expect: CG301
    synchronize()  # ok: CG301
    return graph, y
""",
}


def test_public_names_are_described_in_the_library_s_own_tree() -> None:
    check_marks(_TREE, select=("CG301",))
