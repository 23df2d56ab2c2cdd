"""Fixed form: the ring is rolled in place."""

import torch
import torch.nn as nn


class FrameRing:
    ring: torch.Tensor

    def make_ring(self, frames: int, width: int) -> None:
        self.ring = torch.zeros(frames, width, device="cuda")

    def push(self, frame: torch.Tensor) -> None:
        self.ring.copy_(torch.roll(self.ring, -1, dims=0))
        self.ring[-1].copy_(frame)


class Encoder(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.mix = nn.Linear(width, width)

    def forward(self, ring: torch.Tensor) -> torch.Tensor:
        return self.mix(ring).mean(0)


class StreamingEncoder(FrameRing):
    def __init__(self, width: int, frames: int):
        self.encoder = Encoder(width).cuda()
        self.make_ring(frames, width)
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> "StreamingEncoder":
        for _ in range(2):
            self.encoder(self.ring)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.code = self.encoder(self.ring)
        return self

    def feed(self, frame: torch.Tensor) -> torch.Tensor:
        self.push(frame)
        self.graph.replay()
        return self.code.clone()


def encode(frames: list[torch.Tensor], width: int) -> torch.Tensor:
    encoder = StreamingEncoder(width, 16).capture()
    return torch.stack([encoder.feed(frame.cuda()) for frame in frames])
