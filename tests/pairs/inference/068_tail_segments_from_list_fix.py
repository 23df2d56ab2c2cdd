"""Fixed form: the lengths are computed on the device."""

import torch
import torch.nn as nn


def tail_lengths(tokens: int, pad: int, device: torch.device) -> torch.Tensor:
    steps = torch.arange(2, dtype=torch.int32, device=device)
    return tokens - pad + steps * pad


class JointBlock(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        index = torch.arange(x.shape[1], device=x.device)
        same = (index[:, None] < ends[0]) == (index[None] < ends[0])
        scores = (q @ k.transpose(-1, -2)).masked_fill(~same, -1e9)
        return x + self.out(scores.softmax(-1) @ v)


class ShardedTransformer(nn.Module):
    def __init__(self, width: int, depth: int, ranks: int):
        super().__init__()
        self.ranks = ranks
        self.blocks = nn.ModuleList(JointBlock(width) for _ in range(depth))

    def _pad(self, x: torch.Tensor) -> tuple[torch.Tensor, int]:
        pad = -x.shape[1] % self.ranks
        return nn.functional.pad(x, (0, 0, 0, pad)), pad

    def forward(self, x: torch.Tensor, text: torch.Tensor) -> torch.Tensor:
        joint, pad = self._pad(torch.cat([text, x], dim=1))
        ends = tail_lengths(joint.shape[1], pad, joint.device)
        for block in self.blocks:
            joint = block(joint, ends)
        return joint[:, text.shape[1] : text.shape[1] + x.shape[1]]


class DenoiseGraphs:
    def __init__(self, model: ShardedTransformer):
        self.model = model
        self.records: dict[tuple, tuple] = {}

    def _record(self, x: torch.Tensor, text: torch.Tensor) -> tuple:
        static = (torch.empty_like(x), torch.empty_like(text))
        static[0].copy_(x)
        static[1].copy_(text)
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.model(*static)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = self.model(*static)
        return graph, static, out

    @torch.inference_mode()
    def __call__(self, x: torch.Tensor, text: torch.Tensor) -> torch.Tensor:
        key = (x.shape, text.shape, x.dtype)
        if key not in self.records:
            self.records[key] = self._record(x, text)
        graph, static, out = self.records[key]
        for mine, given in zip(static, (x, text), strict=False):
            mine.copy_(given)
        graph.replay()
        return out.clone()


def build(width: int, depth: int) -> DenoiseGraphs:
    return DenoiseGraphs(ShardedTransformer(width, depth, ranks=3).cuda().eval())
