"""Source: NVIDIA/TensorRT-LLM#3980 (nvtx helper), InternLM/lmdeploy#2544

Symptom: a helper collects profiler ranges and a final synchronisation on an ExitStack; the model enters
it around its layers, so the synchronisation happens while the stream is capturing.
"""

from contextlib import ExitStack

import torch
import torch.nn as nn


class LayerProfiler:
    def __init__(self, enabled: bool):
        self.enabled = enabled

    def scope(self, name: str) -> ExitStack:
        stack = ExitStack()
        if self.enabled:
            torch.cuda.nvtx.range_push(name)
            stack.callback(torch.cuda.nvtx.range_pop)
            stack.callback(torch.cuda.synchronize)  # ALT: sync-in-capture
        return stack


class ProfiledModel(nn.Module):
    def __init__(self, width: int, depth: int, profiler: LayerProfiler):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.profiler = profiler

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with self.profiler.scope("layers"):  # HAZARD: sync-in-capture
            for layer in self.layers:
                x = torch.relu(layer(x))
        return x


@torch.inference_mode()
def build(width: int, depth: int, batch: int):
    profiler = LayerProfiler(enabled=True)
    model = ProfiledModel(width, depth, profiler).cuda()
    x = torch.zeros(batch, width, device="cuda")
    for _ in range(3):
        model(x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = model(x)
    return graph, x, y
