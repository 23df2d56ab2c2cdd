"""Symptom: the vocoder yields its static output chunk by chunk; a consumer that collects the chunks
gets the last one many times.
"""

from collections.abc import Iterator

import torch
import torch.nn as nn


class ChunkVocoder:
    def __init__(self, net: nn.Module, frames: int, mel: int):
        self.net, self.frames = net, frames
        self.mel = torch.zeros(1, mel, frames, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self._record()

    @torch.inference_mode()
    def _record(self) -> None:
        for _ in range(2):
            self.net(self.mel)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.wave = self.net(self.mel)

    def stream(self, mel: torch.Tensor) -> Iterator[torch.Tensor]:
        for start in range(0, mel.shape[-1], self.frames):
            part = mel[..., start : start + self.frames]
            self.mel.zero_()
            self.mel[..., : part.shape[-1]].copy_(part)
            self.graph.replay()
            yield self.wave.squeeze(0)  # ALT: stale-output


def synthesize(net: nn.Module, mel: torch.Tensor) -> torch.Tensor:
    vocoder = ChunkVocoder(net, 64, 80)
    waves = []
    for wave in vocoder.stream(mel):
        waves.append(wave)  # HAZARD: stale-output
    return torch.cat(waves, dim=-1)
