"""Seen in local-inference-lab/vllm#130 and #117.

Symptom: staging buffers for the exchange between ranks are kept per shape only while a stream is
captured, so their memory belongs to the graph that was recorded first; eager prefills of the same
shape go on using it.
"""

import torch
import torch.distributed as dist
import torch.nn as nn

_STAGING: dict[tuple, tuple[torch.Tensor, torch.Tensor]] = {}


def staging_pair(shape: torch.Size, dtype: torch.dtype, device: torch.device):
    key = (tuple(shape), dtype, device)
    if key in _STAGING:
        return _STAGING[key]
    pair = torch.empty(shape, dtype=dtype, device=device), torch.empty(shape, dtype=dtype, device=device)
    if not torch.cuda.is_current_stream_capturing():
        _STAGING[key] = pair
    return pair


class ContextParallelOutput(nn.Module):
    def __init__(self, width: int, group):
        super().__init__()
        self.proj = nn.Linear(width, width, device="cuda")
        self.group = group

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.proj(x)
        send, recv = staging_pair(y.shape, y.dtype, y.device)
        send.copy_(y)
        dist.all_to_all_single(recv, send, group=self.group)
        return recv + x


class DecodeGraph:
    def __init__(self, layer: ContextParallelOutput, batch: int, width: int):
        self.layer = layer
        self.x = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self.layer(self.x)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self.layer(self.x)

    @torch.inference_mode()
    def decode(self, x: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()

    @torch.inference_mode()
    def prefill(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)
