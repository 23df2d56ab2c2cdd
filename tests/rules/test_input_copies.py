"""CG104, CG108 and CG606: inputs that the graph reads otherwise than the program means them."""

from __future__ import annotations

from textwrap import indent

import pytest

from tests.programs import check_marked_rules
from tests.rules.conftest import Shows

SERVER = """
import torch


class Server:
    def __init__(self, net: torch.nn.Linear):
        self.net = net
        self.feats = torch.zeros(32, 64, device="cuda")
        self.lens = torch.zeros(32, dtype=torch.int32, device="cuda")
        self.scale = torch.ones(1, device="cuda")
        self.net(self.feats)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.out = self.net(self.feats) * self.lens[:, None] * self.scale

    def step(self, batch, x: torch.Tensor, start, count):
{body}
        self.graph.replay()
        return self.out.clone()
"""


def check(body: str) -> None:
    check_marked_rules(SERVER.format(body=indent(body, " " * 8)))


@pytest.mark.parametrize(
    "body",
    [
        "self.feats.copy_(batch[: self.feats.shape[0]])  # expect: CG108",
        "self.feats.copy_(batch[:len(self.feats)], non_blocking=True)  # expect: CG108",
        "self.feats.copy_(x[: self.feats.size(0)])  # expect: CG108",
        "limit = self.feats.shape[0]\nself.feats.copy_(x[:limit])  # expect: CG108",
        "self.feats.copy_(x[:32])  # expect: CG108",
        "row = torch.rand(1, 64, device='cuda')\nself.feats.copy_(row)  # expect: CG108",
        "self.lens.copy_(torch.rand(32, device='cuda'))  # expect: CG108",
        "ratio = torch.full((32,), 0.5)\nself.lens.copy_(ratio.to('cuda').float())  # expect: CG108",
    ],
)
def test_copies_that_do_not_fit(body: str) -> None:
    check(body)


@pytest.mark.parametrize(
    "body",
    [
        "self.feats.copy_(batch)  # ok: CG108",
        "self.feats[:count].copy_(x[:count])  # ok: CG108",
        "self.feats.copy_(x[start : start + 32])  # ok: CG108",
        "self.feats.copy_(torch.rand(32, 64, device='cuda'))  # ok: CG108",
        "self.scale.copy_(torch.tensor(0.5))  # ok: CG108",
        "self.lens.copy_(torch.arange(32, device='cuda'))  # ok: CG108",
        "other = torch.zeros(8, 64)\nother.copy_(torch.zeros(1, 64))  # ok: CG108",
        "self.feats.copy_(x[:count])  # ok: CG108",
    ],
)
def test_copies_that_fit(body: str) -> None:
    check(body)


ATTENTION = """
import torch
import flashinfer
from flashinfer import BatchPrefillWithRaggedKVCacheWrapper
from flashinfer.decode import BatchDecodeWithPagedKVCacheWrapper


class Backend:
    def __init__(self, workspace, buffers, options, capturing):
        self.q = torch.zeros(8, 64, device="cuda")
        self.attn = {made}

    def forward(self, q, kv):
        return self.attn.{run}

    def record(self, kv):
        graph = torch.cuda.CUDAGraph()
        self.forward(self.q, kv)
        with torch.cuda.graph(graph):
            out = self.forward(self.q, kv)
        return graph, out
"""


def attention(made: str, run: str) -> None:
    check_marked_rules(ATTENTION.format(made=made, run=run))


@pytest.mark.parametrize(
    ("made", "run"),
    [
        ("BatchDecodeWithPagedKVCacheWrapper(workspace)", "run(q, kv)  # expect: CG104"),
        ("BatchDecodeWithPagedKVCacheWrapper(workspace, 'NHD')", "forward(q, kv)  # expect: CG104"),
        (
            "flashinfer.BatchDecodeWithPagedKVCacheWrapper(workspace, 'NHD', False)",
            "run(q, kv)  # expect: CG104",
        ),
        ("BatchPrefillWithRaggedKVCacheWrapper(workspace)", "run(q, kv, kv)  # expect: CG104"),
        ("flashinfer.mla.BatchMLAPagedAttentionWrapper(workspace)", "run(q, kv)  # expect: CG104"),
        (
            "flashinfer.prefill.BatchPrefillWithPagedKVCacheWrapper(workspace, use_cuda_graph=False)",
            "run(q, kv)  # expect: CG104",
        ),
    ],
)
def test_wrappers_that_are_not_built_for_graphs(made: str, run: str) -> None:
    attention(made, run)


@pytest.mark.parametrize(
    ("made", "run"),
    [
        ("BatchDecodeWithPagedKVCacheWrapper(workspace, use_cuda_graph=True)", "run(q, kv)  # ok: CG104"),
        ("BatchDecodeWithPagedKVCacheWrapper(workspace, 'NHD', True)", "run(q, kv)  # ok: CG104"),
        (
            "BatchDecodeWithPagedKVCacheWrapper(workspace, use_cuda_graph=capturing)",
            "run(q, kv)  # ok: CG104",
        ),
        ("BatchDecodeWithPagedKVCacheWrapper(workspace, **options)", "run(q, kv)  # ok: CG104"),
        ("flashinfer.mla.BatchMLAPagedAttentionWrapper(workspace, True)", "run(q, kv)  # ok: CG104"),
        (
            "flashinfer.CUDAGraphBatchDecodeWithPagedKVCacheWrapper(workspace, *buffers)",
            "run(q, kv)  # ok: CG104",
        ),
    ],
)
def test_wrappers_for_graphs(made: str, run: str) -> None:
    attention(made, run)


def test_a_wrapper_plans_outside_of_the_capture() -> None:
    check_marked_rules("""
import torch
import flashinfer

attn = flashinfer.BatchDecodeWithPagedKVCacheWrapper(torch.empty(8, device="cuda"), use_cuda_graph=True)
q = torch.zeros(8, device="cuda")
attn.plan(indptr, indices)  # ok: CG303
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    attn.plan(indptr, indices)  # expect: CG303
    y = attn.run(q, q)  # ok: CG104
""")


FUNCTION = """
import torch


def build(net: torch.nn.Linear, batches):
    outside = torch.zeros(8, 16, device="cuda")
    net(outside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
{captured}
    for index, batch in enumerate(batches):
{eager}
        graph.replay()
    return y.clone()
"""


@pytest.mark.parametrize(
    ("captured", "eager"),
    [
        ("x = torch.zeros(8, 16, device='cuda')  # expect: CG606\ny = net(x)", "x.copy_(batch)"),
        ("x = torch.empty(8, 16, device='cuda')  # expect: CG606\ny = net(x)", "x.copy_(batch)"),
        ("x = torch.zeros(8, 16, device='cuda')  # expect: CG606\ny = net(x) * 2", "x[:4] = batch"),
        ("x = torch.zeros_like(outside)  # expect: CG606\ny = net(x)", "x.copy_(batch, non_blocking=True)"),
        ("x = outside.new_zeros(8, 16)  # expect: CG606\ny = x + net(x)", "x.copy_(batch)"),
        ("x = torch.ones(8, 16, device='cuda')  # expect: CG606\ny = torch.relu(x)", "x[index] = batch"),
    ],
)
def test_inputs_allocated_inside(captured: str, eager: str) -> None:
    check_marked_rules(FUNCTION.format(captured=indent(captured, " " * 8), eager=indent(eager, " " * 8)))


@pytest.mark.parametrize(
    ("captured", "eager"),
    [
        ("y = net(outside)  # ok: CG606", "outside.copy_(batch)"),
        ("x = torch.zeros(8, 16, device='cuda')  # ok: CG606\ny = net(x + outside)", "outside.copy_(batch)"),
        ("y = net(outside)  # ok: CG606", "outside.copy_(batch)\ny.mul_(0.5)"),
        ("y = torch.zeros(8, 16, device='cuda')  # ok: CG606\ny.copy_(net(outside))", "outside.zero_()"),
        ("x = outside * 2  # ok: CG606\ny = net(x)", "print(x.sum())"),
        ("x = outside.view(16, 8)  # ok: CG606\ny = x + 1", "x.copy_(batch)"),
    ],
)
def test_inputs_allocated_outside(captured: str, eager: str) -> None:
    check_marked_rules(FUNCTION.format(captured=indent(captured, " " * 8), eager=indent(eager, " " * 8)))


def test_across_files() -> None:
    check_marked_rules(
        {
            "buffers.py": """
            import torch


            class Buffers:
                def __init__(self, rows):
                    self.ids = torch.zeros(64, 8, device="cuda")

                def load(self, batch):
                    self.ids.copy_(batch[: self.ids.shape[0]])  # expect: CG108
            """,
            "run.py": """
            import torch
            from buffers import Buffers


            def scratch():
                return torch.zeros(64, 8, device="cuda")  # expect: CG606


            def main(batches):
                buffers = Buffers(64)
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph):
                    bias = scratch()
                    y = buffers.ids * 2 + bias
                for batch in batches:
                    buffers.load(batch)
                    bias.copy_(batch)
                    graph.replay()
            """,
        }
    )


def test_suppressed() -> None:
    check("self.feats.copy_(x[:32])  # graphlint: ignore[CG108] -- the loader makes batches of 32")
    attention(
        "BatchDecodeWithPagedKVCacheWrapper(workspace)",
        "run(q, kv)  # graphlint: ignore[CG104] -- never planned again",
    )
    captured = "x = torch.empty(8, 16, device='cuda')  # graphlint: ignore[CG606] -- kept by the list\n        y = net(x)"
    check_marked_rules(FUNCTION.format(captured=" " * 8 + captured, eager=" " * 8 + "x.copy_(batch)"))


def test_the_text(shows: Shows) -> None:
    shows(
        "CG104-flashinfer",
        {
            "a.py": ATTENTION.format(
                made="flashinfer.BatchDecodeWithPagedKVCacheWrapper(workspace)", run="run(q, kv)"
            )
        },
    )
    shows(
        "CG108-cut", {"a.py": SERVER.format(body=" " * 8 + "self.feats.copy_(batch[: self.feats.shape[0]])")}
    )
    captured, eager = (
        " " * 8 + "x = torch.zeros(8, 16, device='cuda')\n        y = net(x)",
        " " * 8 + "x.copy_(batch)",
    )
    shows("CG606-inside", {"a.py": FUNCTION.format(captured=captured, eager=eager)})
