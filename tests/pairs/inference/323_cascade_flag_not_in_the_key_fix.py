"""Source: vllm-project/vllm#28207, vllm-project/vllm#24460

Fixed form: the choice is part of the key.
"""

from functools import partial

import torch
import torch.nn as nn


class CascadeAttention(nn.Module):
    def __init__(self, width: int, prefix: int):
        super().__init__()
        self.qkv = nn.Linear(width, width)
        self.register_buffer("prefix_kv", torch.zeros(prefix, width))

    def forward(self, x: torch.Tensor, use_cascade: bool) -> torch.Tensor:
        q = self.qkv(x)
        if use_cascade:
            shared = torch.softmax(q @ self.prefix_kv.t(), dim=-1) @ self.prefix_kv
            return q + shared
        return q


class LazyGraphs:
    def __init__(self, attn: CascadeAttention, width: int):
        self.attn, self.width = attn.cuda().eval(), width
        self.entries: dict[tuple[int, bool], tuple] = {}
        self.pool = torch.cuda.graph_pool_handle()

    @torch.inference_mode()
    def _record(self, bs: int, forward):
        x = torch.zeros(bs, self.width, device="cuda")
        for _ in range(2):
            forward(x)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool):
            y = forward(x)
        return graph, x, y

    def run(self, x: torch.Tensor, common_prefix: int) -> torch.Tensor:
        use_cascade = common_prefix >= 256
        bs = x.shape[0]
        key = (bs, use_cascade)
        if key not in self.entries:
            forward = partial(self.attn, use_cascade=use_cascade)
            self.entries[key] = self._record(bs, forward)
        graph, static, y = self.entries[key]
        static.copy_(x)
        graph.replay()
        return y.clone()
