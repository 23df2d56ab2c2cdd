"""Source: vllm-project/vllm#51119, ROCm/aiter#2207

Symptom: the number of key-value splits follows from the longest sequence of the batch on the host;
the launch recorded with the dummy batch has one split and long contexts are cut off.
"""

import torch
import torch.nn as nn
import triton
import triton.language as tl

BLOCK = 128


@triton.jit
def _partial_sum(kv, lens, out, width: tl.constexpr, block: tl.constexpr):
    row, split = tl.program_id(0), tl.program_id(1)
    length = tl.load(lens + row)
    cols = tl.arange(0, width)
    acc = tl.zeros([width], dtype=tl.float32)
    for i in range(split * block, tl.minimum(length, (split + 1) * block)):
        acc += tl.load(kv + i * width + cols)
    tl.atomic_add(out + row * width + cols, acc)


class SplitDecode(nn.Module):
    def __init__(self, max_kv: int, width: int, batch: int):
        super().__init__()
        self.register_buffer("kv", torch.zeros(max_kv, width, device="cuda"))
        self.register_buffer("lens", torch.ones(batch, dtype=torch.int32, device="cuda"))
        self.longest = 1
        self.limit = max_kv

    def plan(self, seq_lens: list[int]) -> None:
        self.longest = max(seq_lens)  # HAZARD: frozen-scalar
        self.lens.copy_(torch.tensor(seq_lens, dtype=torch.int32))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = torch.zeros_like(x)
        splits = triton.cdiv(self.longest, BLOCK)
        _partial_sum[(x.shape[0], splits)](self.kv, self.lens, out, x.shape[1], BLOCK)  # ALT: frozen-scalar
        return out + x


class DecodeWorker:
    def __init__(self, attn: SplitDecode, batch: int, width: int):
        self.attn = attn
        self.x = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> None:
        self.attn.plan([1] * self.x.shape[0])
        for _ in range(2):
            self.attn(self.x)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self.attn(self.x)

    def decode(self, x: torch.Tensor, seq_lens: list[int]) -> torch.Tensor:
        self.attn.plan(seq_lens)
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
