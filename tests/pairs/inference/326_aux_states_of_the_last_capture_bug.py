"""Source: vllm-project/vllm#22160, sgl-project/sglang#8801 (EAGLE-3)

Symptom: the target model leaves its auxiliary hidden states on an attribute; after all sizes are
recorded the attribute belongs to the last recorded size, whichever graph is replayed.
"""

import torch
import torch.nn as nn


class TargetModel(nn.Module):
    def __init__(self, layers: int, width: int, tap: set[int]):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.tap = tap
        self.aux_hidden: list[torch.Tensor] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        taken = []
        for i, layer in enumerate(self.layers):
            if i in self.tap:
                taken.append(x)
            x = torch.relu(layer(x))
        self.aux_hidden = taken  # ALT: side-effect, stale-output
        return x


class TargetRunner:
    def __init__(self, model: TargetModel, sizes: list[int], width: int):
        self.model = model.cuda().eval()
        self.sizes = sorted(sizes, reverse=True)
        self.x = torch.zeros(self.sizes[0], width, device="cuda")
        self.graphs, self.outs = {}, {}
        self.pool = torch.cuda.graph_pool_handle()

    @torch.inference_mode()
    def capture(self) -> None:
        for bs in self.sizes:
            for _ in range(2):
                self.model(self.x[:bs])
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=self.pool):
                self.outs[bs] = self.model(self.x[:bs])
            self.graphs[bs] = graph

    def verify(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        n = x.shape[0]
        bs = min(s for s in self.sizes if s >= n)
        self.x[:n].copy_(x)
        self.x[n:bs].zero_()
        self.graphs[bs].replay()
        aux = torch.cat([h[:n] for h in self.model.aux_hidden], dim=-1)  # HAZARD: stale-output
        return self.outs[bs][:n].clone(), aux
