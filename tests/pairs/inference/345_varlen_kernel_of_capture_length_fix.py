"""Source: vllm-project/vllm#19300, Dao-AILab/flash-attention#1205 (comment)

Fixed form: the metadata always carries the longest context that the cache can hold.
"""

from dataclasses import dataclass

import torch
import torch.nn as nn
from flash_attn import flash_attn_varlen_func


@dataclass
class AttentionMetadata:
    cu_q: torch.Tensor
    cu_k: torch.Tensor
    max_seqlen_q: int
    max_seqlen_k: int


class VarlenAttention(nn.Module):
    def __init__(self, heads: int, dim: int):
        super().__init__()
        self.heads, self.dim = heads, dim
        self.q = nn.Linear(heads * dim, heads * dim, bias=False)
        self.meta: AttentionMetadata | None = None

    def forward(self, x: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        meta = self.meta
        q = self.q(x).view(-1, self.heads, self.dim)
        out = flash_attn_varlen_func(
            q,
            k,
            v,
            cu_seqlens_q=meta.cu_q,
            cu_seqlens_k=meta.cu_k,
            max_seqlen_q=meta.max_seqlen_q,
            max_seqlen_k=meta.max_seqlen_k,
            causal=True,
        )
        return out.flatten(1)


class VarlenRunner:
    def __init__(self, attn: VarlenAttention, batch: int, max_kv: int):
        self.attn = attn.half().cuda()
        width = attn.heads * attn.dim
        self.x = torch.zeros(batch, width, device="cuda", dtype=torch.half)
        self.k = torch.zeros(max_kv, attn.heads, attn.dim, device="cuda", dtype=torch.half)
        self.v = torch.zeros_like(self.k)
        self.cu_q = torch.arange(batch + 1, dtype=torch.int32, device="cuda")
        self.cu_k = torch.arange(batch + 1, dtype=torch.int32, device="cuda")
        self.max_kv = max_kv
        self.graph = torch.cuda.CUDAGraph()

    def _set_metadata(self, lens: list[int]) -> None:
        self.cu_k[1:].copy_(torch.tensor(lens).cumsum(0))
        self.attn.meta = AttentionMetadata(self.cu_q, self.cu_k, 1, self.max_kv)

    @torch.inference_mode()
    def capture(self) -> None:
        self._set_metadata([1] * self.x.shape[0])
        for _ in range(2):
            self.attn(self.x, self.k, self.v)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self.attn(self.x, self.k, self.v)

    def decode(self, x: torch.Tensor, lens: list[int]) -> torch.Tensor:
        self._set_metadata(lens)
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
