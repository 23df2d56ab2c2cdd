"""Fixed form: extending the tables drops the graph, and decoding captures a new one."""

import torch
import torch.nn as nn


class Rotary(nn.Module):
    def __init__(self, width: int, length: int):
        super().__init__()
        self.width = width
        self._extend(length)

    def _extend(self, length: int) -> None:
        self.length = length
        angle = torch.arange(length, device="cuda")[:, None] / torch.arange(1, self.width + 1, device="cuda")
        self.register_buffer("cos", angle.cos(), persistent=False)
        self.register_buffer("sin", angle.sin(), persistent=False)

    def prepare(self, length: int) -> None:
        if length > self.length:
            self._extend(length)

    def forward(self, x: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        return x * self.cos[at] + x.flip(-1) * self.sin[at]


class RotaryDecoder(nn.Module):
    def __init__(self, width: int, length: int):
        super().__init__()
        self.rotary = Rotary(width, length)
        self.lin = nn.Linear(width, width)

    def forward(self, x: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        return self.lin(self.rotary(x, at))


class ChatEngine:
    def __init__(self, width: int, batch: int, length: int = 2048):
        self.net = RotaryDecoder(width, length).cuda()
        self.x = torch.zeros(batch, width, device="cuda")
        self.at = torch.zeros(batch, dtype=torch.long, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def warm_and_capture(self) -> None:
        for _ in range(2):
            self.net(self.x, self.at)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self.net(self.x, self.at)

    @torch.inference_mode()
    def prefill(self, prompt: torch.Tensor) -> torch.Tensor:
        if prompt.shape[0] > self.net.rotary.length:
            self.net.rotary.prepare(prompt.shape[0])
            self.graph = torch.cuda.CUDAGraph()
            self.warm_and_capture()
        return self.net(prompt, torch.arange(prompt.shape[0], device="cuda"))[-1:]

    def decode(self, x: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.at.copy_(at)
        self.graph.replay()
        return self.y.clone()
