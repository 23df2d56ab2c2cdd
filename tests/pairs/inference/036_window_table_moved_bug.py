"""Symptom: the spectral front end keeps its window in a plain attribute on the CPU and moves it on
each call.
"""

import torch
import torch.nn as nn


class Windowed(nn.Module):
    def __init__(self, size: int):
        super().__init__()
        self.window = torch.hann_window(size)

    def forward(self, frames: torch.Tensor) -> torch.Tensor:
        return frames * self.window.to(frames.device)  # HAZARD: pageable-copy


class FrontEnd(nn.Module):
    def __init__(self, size: int, mel: int):
        super().__init__()
        self.window = Windowed(size)
        self.mel = nn.Linear(size, mel, bias=False)

    def forward(self, frames: torch.Tensor) -> torch.Tensor:
        return self.mel(self.window(frames)).abs().clamp(min=1e-5).log()


class AsrSession:
    def __init__(self, size: int, mel: int, frames: int):
        self.front = FrontEnd(size, mel).cuda().eval()
        self.frames = torch.zeros(frames, size, device="cuda")
        self.graph = None

    @torch.inference_mode()
    def features(self, frames: torch.Tensor) -> torch.Tensor:
        self.frames.zero_()
        self.frames[: frames.shape[0]].copy_(frames)
        if self.graph is None:
            self._record()
        self.graph.replay()
        return self.mels[: frames.shape[0]].clone()

    def _record(self) -> None:
        for _ in range(2):
            self.front(self.frames)
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.mels = self.front(self.frames)
