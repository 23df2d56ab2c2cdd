"""Symptom: the vocoder ends with the inverse short-time Fourier transform of the library, which checks on
the host that the window adds up to more than zero.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class SpectralHead(nn.Module):
    def __init__(self, width: int, fft: int, hop: int):
        super().__init__()
        self.fft, self.hop = fft, hop
        self.out = nn.Linear(width, fft + 2)
        self.register_buffer("window", torch.hann_window(fft))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mag, phase = self.out(x).transpose(1, 2).chunk(2, dim=1)
        spec = torch.polar(mag.exp().clamp(max=100.0), phase)
        return torch.istft(spec, self.fft, self.hop, window=self.window)  # HAZARD: sync-in-capture


class Backbone(nn.Module):
    def __init__(self, mel: int, width: int, depth: int):
        super().__init__()
        self.inp = nn.Conv1d(mel, width, 7, padding=3)
        self.blocks = nn.ModuleList(nn.Conv1d(width, width, 7, padding=3, groups=width) for _ in range(depth))

    def forward(self, mel: torch.Tensor) -> torch.Tensor:
        x = self.inp(mel)
        for block in self.blocks:
            x = x + F.gelu(block(x))
        return x.transpose(1, 2)


class Vocoder(nn.Module):
    def __init__(self, mel: int = 80, width: int = 256, depth: int = 4, fft: int = 1024, hop: int = 256):
        super().__init__()
        self.backbone, self.head = Backbone(mel, width, depth), SpectralHead(width, fft, hop)

    def forward(self, mel: torch.Tensor) -> torch.Tensor:
        return self.head(self.backbone(mel))


_GRAPHS: dict[int, tuple] = {}


@torch.inference_mode()
def synthesise(vocoder: Vocoder, mel: torch.Tensor) -> torch.Tensor:
    frames = mel.shape[-1]
    if frames not in _GRAPHS:
        static = mel.clone()
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                vocoder(static)
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            wave = vocoder(static)
        _GRAPHS[frames] = (graph, static, wave)
    graph, static, wave = _GRAPHS[frames]
    static.copy_(mel)
    graph.replay()
    return wave.clone()


def serve(clips: list[torch.Tensor]) -> list[torch.Tensor]:
    vocoder = Vocoder().cuda().eval()
    return [synthesise(vocoder, clip.cuda()) for clip in clips]
