"""Source: vllm-project/vllm#32005, vllm-project/vllm#30984

Symptom: a graph is recorded for each batch size up to the maximum, for each number of adapters and for
each draft length; start-up takes minutes and the graphs take gigabytes.
"""

import itertools

import torch
import torch.nn as nn


class CaptureConfig:
    def __init__(self, max_batch: int = 256, max_loras: int = 8, max_draft: int = 4):
        self.max_batch, self.max_loras, self.max_draft = max_batch, max_loras, max_draft

    def variants(self):
        sizes = range(self.max_batch, 0, -1)
        return itertools.product(sizes, range(self.max_loras + 1), range(self.max_draft + 1))


class Engine:
    def __init__(self, model: nn.Module, width: int):
        self.config = CaptureConfig()
        self.model = model.cuda().eval()
        self.x = torch.zeros(self.config.max_batch * (self.config.max_draft + 1), width, device="cuda")
        self.graphs: dict[tuple[int, int, int], torch.cuda.CUDAGraph] = {}
        self.outs: dict[tuple[int, int, int], torch.Tensor] = {}

    @torch.inference_mode()
    def capture(self) -> None:
        pool = torch.cuda.graph_pool_handle()
        for key in self.config.variants():  # HAZARD: other
            rows = key[0] * (key[2] + 1)
            for _ in range(2):
                self.model(self.x[:rows])
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=pool):  # ALT: other
                self.outs[key] = self.model(self.x[:rows])
            self.graphs[key] = graph

    def run(self, x: torch.Tensor, loras: int, draft: int) -> torch.Tensor:
        n = x.shape[0]
        key = (n // (draft + 1), loras, draft)
        self.x[:n].copy_(x)
        self.graphs[key].replay()
        return self.outs[key].clone()
