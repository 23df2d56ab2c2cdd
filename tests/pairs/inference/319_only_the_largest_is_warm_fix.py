"""Source: vllm-project/vllm#25563, sgl-project/sglang#13347

Fixed form: each size is run eagerly before it is recorded.
"""

import torch
import torch.nn as nn
from tqdm import tqdm


class CapturePlan:
    def __init__(self, max_batch: int, step: int):
        self.sizes = list(range(step, max_batch + 1, step))

    def largest_first(self) -> list[int]:
        return sorted(self.sizes, reverse=True)

    def fit(self, n: int) -> int:
        return next(size for size in self.sizes if size >= n)


class CompiledRunner:
    def __init__(self, model: nn.Module, plan: CapturePlan, width: int):
        self.plan = plan
        self.model = torch.compile(model.cuda().eval(), dynamic=False, mode="max-autotune-no-cudagraphs")
        self.x = torch.zeros(max(plan.sizes), width, device="cuda")
        self.graphs: dict[int, torch.cuda.CUDAGraph] = {}
        self.outs: dict[int, torch.Tensor] = {}

    @torch.inference_mode()
    def capture(self) -> None:
        pool = torch.cuda.graph_pool_handle()
        for size in tqdm(self.plan.largest_first(), desc="Capturing"):
            for _ in range(2):
                self.model(self.x[:size])
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=pool):
                self.outs[size] = self.model(self.x[:size])
            self.graphs[size] = graph

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n = x.shape[0]
        size = self.plan.fit(n)
        self.x[:n].copy_(x)
        self.x[n:size].zero_()
        self.graphs[size].replay()
        return self.outs[size][:n].clone()
