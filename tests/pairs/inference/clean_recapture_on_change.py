"""Clean: whatever the graph has frozen, name, phase, list or module, is compared with what it was captured
with, and a difference captures again.
"""

import torch
import torch.nn as nn


class Knobs:
    def __init__(self):
        self.scale, self.window, self.mode = 1.0, 128, "plain"

    def snapshot(self) -> tuple[float, int, str]:
        return self.scale, self.window, self.mode


class WindowNet(nn.Module):
    def __init__(self, width: int, keys: int, knobs: Knobs):
        super().__init__()
        self.q = nn.Linear(width, width)
        self.register_buffer("keys", torch.zeros(keys, width))
        self.knobs = knobs

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        keys = self.keys[: self.knobs.window]
        out = (self.q(x) @ keys.t() * self.knobs.scale).softmax(-1) @ keys
        return -out if self.knobs.mode == "inverse" else out


class AdaptiveRunner:
    def __init__(self, width: int, keys: int, batch: int):
        self.knobs = Knobs()
        self.net = WindowNet(width, keys, self.knobs).cuda()
        self.x = torch.zeros(batch, width, device="cuda")
        self.captured: tuple[float, int, str] | None = None
        self.graph: torch.cuda.CUDAGraph | None = None

    @torch.no_grad()
    def _capture(self) -> None:
        for _ in range(2):
            self.net(self.x)
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.net(self.x)
        self.captured = self.knobs.snapshot()

    def set(self, *, scale: float | None = None, window: int | None = None, mode: str | None = None) -> None:
        if scale is not None:
            self.knobs.scale = scale
        if window is not None:
            self.knobs.window = window
        if mode is not None:
            self.knobs.mode = mode

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        if self.graph is None or self.captured != self.knobs.snapshot():
            self._capture()
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
