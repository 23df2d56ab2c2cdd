"""Source: flashinfer-ai/flashinfer#1102, flashinfer-ai/flashinfer#3904

Symptom: a module level table hands out workspaces by name and makes a larger one on demand; a long
eager prefill replaces the block that the recorded decode kernels still write to.
"""

import torch
import torch.nn as nn

_cache_buf: dict[tuple[str, torch.device], torch.Tensor] = {}


def get_cache_buf(name: str, numel: int, device: torch.device) -> torch.Tensor:
    key = (name, device)
    buf = _cache_buf.get(key)
    if buf is None or buf.numel() < numel:
        buf = torch.empty(numel, device=device)
        _cache_buf[key] = buf  # HAZARD: stale-pointer
    return buf[:numel]


def split_attention(q: torch.Tensor, kv: torch.Tensor, splits: int) -> torch.Tensor:
    scratch = get_cache_buf("split_scratch", splits * q.numel(), q.device).view(splits, *q.shape)
    for i, part in enumerate(kv.chunk(splits)):
        torch.mm(torch.softmax(q @ part.t(), dim=-1), part, out=scratch[i])
    return scratch.mean(dim=0)


class Attention(nn.Module):
    def __init__(self, width: int, max_kv: int):
        super().__init__()
        self.q = nn.Linear(width, width, device="cuda")
        self.register_buffer("kv", torch.zeros(max_kv, width, device="cuda"))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return split_attention(self.q(x), self.kv, 4)


class Scheduler:
    def __init__(self, attn: Attention, batch: int, width: int):
        self.attn = attn
        self.x = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def start(self) -> None:
        for _ in range(2):
            self.attn(self.x)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self.attn(self.x)

    @torch.inference_mode()
    def prefill(self, prompt: torch.Tensor) -> torch.Tensor:
        return self.attn(prompt)[-1:]

    def decode(self, x: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()


def loop(scheduler: Scheduler, prompts: list[torch.Tensor], steps: int) -> None:
    scheduler.start()
    for prompt in prompts:
        token = scheduler.prefill(prompt)
        for _ in range(steps):
            token = scheduler.decode(token.expand_as(scheduler.x))
