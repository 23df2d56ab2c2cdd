"""What the host knows of arrays: the length that decides their truth, the address that is a key of a cache."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules

LENGTH = """\
import warp as wp


@wp.kernel
def scale(x: wp.array(dtype=float), mask: wp.array(dtype=bool)):
    pass


def damp(x, mask):
    mask = mask or wp.empty(0, dtype=bool)  # ok: CG401
    wp.launch(scale, dim=8, inputs=[x, mask])


def record():
    x = wp.zeros(8, dtype=float, device="cuda")
    mask = wp.zeros(8, dtype=bool, device="cuda")
    with wp.ScopedCapture() as capture:
        damp(x, mask)
    return capture.graph
"""

VALUE = """\
import torch


def damp(x, mask):
    mask = mask or torch.ones((), device="cuda")  # expect: CG401
    return x * mask


def record():
    x = torch.zeros(8, device="cuda")
    mask = torch.zeros((), device="cuda")
    damp(x, mask)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = damp(x, mask)
    return graph, y
"""

CACHE = """\
import torch

TABLES = {{}}


def table(weights):
    key = (weights.data_ptr(), weights.dtype)
    found = TABLES.get(key)
    if found is None:
        found = weights.float() * 2
        if found.sum().item() == 0.0:  # {mark}
            raise ValueError("no weight is set")
        TABLES[key] = found
    return found


class Mixer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("weights", torch.ones(16, device="cuda"))

    def forward(self, x):
        return x @ table(self.weights)


def record():
    net, x = Mixer(), torch.zeros(4, 16, device="cuda")
    {warm_up}
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = net(x)
    return graph, y
"""


@pytest.mark.parametrize("program", [LENGTH, VALUE])
def test_the_truth_of_an_array_is_what_its_library_says(program: str) -> None:
    check_marked_rules(program)


@pytest.mark.parametrize(
    ("warm_up", "mark"),
    [
        ("net(x)", "ok: CG302"),  # fills the item of this address
        ("pass", "expect: CG302"),
        ("net.weights = torch.ones(16, device='cuda')", "expect: CG302"),
    ],
)
def test_a_cache_by_address_is_warm_once_this_memory_has_been_seen(warm_up: str, mark: str) -> None:
    check_marked_rules(CACHE.format(warm_up=warm_up, mark=mark))


WHERE = """\
import torch


def places(start, count, most):
    at = start + torch.arange(count, device="cuda")
    return torch.where(at < most, {chosen})


def record():
    table, start = torch.zeros(64, 8, device="cuda"), torch.zeros(16, dtype=torch.long, device="cuda")
    table[places(start, 16, 64)]
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = table[places(start, 16, 64)]  # {mark}
    return graph, y, table, start
"""


@pytest.mark.parametrize(
    ("chosen", "mark"),
    [("at, most - 1", "ok: CG305"), ("at > 3, at > 5", "expect: CG305")],
)
def test_what_where_chooses_from_decides_its_kind(chosen: str, mark: str) -> None:
    check_marked_rules(WHERE.format(chosen=chosen, mark=mark))


WARP_AND_TORCH = """\
import torch
import warp as wp


def frame():
    residual = wp.zeros(8, dtype=float, device="cuda:0")
    with wp.ScopedCapture(device="cuda:0") as capture:
        if {truth}:  # {mark}
            residual.zero_()
    return capture.graph
"""


@pytest.mark.parametrize(
    ("truth", "mark"),
    [
        ("residual", "ok: CG401"),
        ("wp.to_torch(residual).sum()", "expect: CG401"),
        ("wp.from_torch(wp.to_torch(residual))", "ok: CG401"),
    ],
)
def test_a_view_of_a_warp_array_is_a_tensor_of_torch(truth: str, mark: str) -> None:
    check_marked_rules(WARP_AND_TORCH.format(truth=truth, mark=mark))
