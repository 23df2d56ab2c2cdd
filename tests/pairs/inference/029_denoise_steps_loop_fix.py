"""Fixed form: changing the count records the graph again."""

import torch
import torch.nn as nn


class ConsistencyDecoder(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.net = nn.Linear(width, width)
        self.steps = 4

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(self.steps):
            x = x - self.net(x)
        return x


class DecoderSession:
    def __init__(self, width: int, batch: int):
        self.decoder = ConsistencyDecoder(width).cuda()
        self.x = torch.zeros(batch, width, device="cuda")
        self.record()

    @torch.inference_mode()
    def record(self) -> None:
        for _ in range(2):
            self.decoder(self.x)
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.decoder(self.x)

    def configure(self, steps: int) -> None:
        self.decoder.steps = steps
        self.record()

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
