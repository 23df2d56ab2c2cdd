"""Fixed form: an absorbed weight that is there is copied into."""

from collections.abc import Iterable

import torch
import torch.nn as nn


class LatentAttention(nn.Module):
    def __init__(self, width: int, rank: int):
        super().__init__()
        self.down = nn.Linear(width, rank, bias=False)
        self.kv_b = nn.Linear(rank, width, bias=False)
        self.absorbed: torch.Tensor | None = None

    def process_weights_after_loading(self) -> None:
        derived = self.kv_b.weight.t().contiguous()
        if self.absorbed is None:
            self.absorbed = derived
        else:
            self.absorbed.copy_(derived)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.down(x)) @ self.absorbed


class Stack(nn.Module):
    def __init__(self, width: int, rank: int, depth: int):
        super().__init__()
        self.layers = nn.ModuleList(LatentAttention(width, rank) for _ in range(depth))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = x + layer(x)
        return x

    def load_weights(self, weights: Iterable[tuple[str, torch.Tensor]]) -> None:
        own = dict(self.named_parameters())
        for name, tensor in weights:
            own[name].data.copy_(tensor)
        for module in self.modules():
            if hasattr(module, "process_weights_after_loading"):
                module.process_weights_after_loading()


class ModelRunner:
    def __init__(self, width: int, rank: int, depth: int, batch: int):
        self.model = Stack(width, rank, depth).cuda().eval()
        self.x = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def load(self, weights: Iterable[tuple[str, torch.Tensor]]) -> None:
        self.model.load_weights(weights)
        self.capture()

    @torch.no_grad()
    def capture(self) -> None:
        for _ in range(2):
            self.model(self.x)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self.model(self.x)

    def update_weights(self, weights: Iterable[tuple[str, torch.Tensor]]) -> None:
        with torch.no_grad():
            self.model.load_weights(weights)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
