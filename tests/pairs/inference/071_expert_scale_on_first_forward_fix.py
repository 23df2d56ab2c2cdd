"""Fixed form: the warm-up takes the same path as the capture, so calibration has happened by then."""

import torch
import torch.nn as nn


class ScaledAttention(nn.Module):
    def __init__(self, width: int, calibrate: bool):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.register_buffer("k_scale", torch.ones(()))
        self.k_scale_host = 1.0
        self.calibrate = calibrate

    def _calibrate(self, k: torch.Tensor) -> None:
        self.k_scale.copy_(k.abs().max() / 448.0)
        self.k_scale_host = self.k_scale.item()
        self.calibrate = False

    def forward(self, x: torch.Tensor, profile: bool = False) -> torch.Tensor:
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        if profile:
            return v
        if self.calibrate:
            self._calibrate(k)
        scores = q @ (k / self.k_scale).transpose(-1, -2)
        return scores.softmax(-1) @ v


class Decoder(nn.Module):
    def __init__(self, width: int, layers: int, calibrate: bool):
        super().__init__()
        self.layers = nn.ModuleList(ScaledAttention(width, calibrate) for _ in range(layers))

    def forward(self, x: torch.Tensor, profile: bool = False) -> torch.Tensor:
        for layer in self.layers:
            x = x + layer(x, profile)
        return x


class Worker:
    def __init__(self, width: int, layers: int, batch: int, calibrate: bool = True):
        self.model = Decoder(width, layers, calibrate).cuda().eval()
        self.x = torch.zeros(batch, 1, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def profile_run(self) -> None:
        self.model(self.x, profile=True)

    @torch.inference_mode()
    def compile_or_warm_up(self) -> None:
        self.profile_run()
        self.model(self.x)
        self.model(self.x)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self.model(self.x)

    def execute(self, x: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
