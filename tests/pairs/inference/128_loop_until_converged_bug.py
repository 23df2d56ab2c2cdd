"""Symptom: the duration predictor refines its alignment until no position moves any more and asks the device
in the condition of the loop; the whole predictor is captured.
"""

import torch
import torch.nn as nn


class Aligner(nn.Module):
    def __init__(self, width: int, most: int = 8):
        super().__init__()
        self.score, self.most = nn.Linear(width, width), most

    def _improve(self, centres: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        weights = (self.score(x) @ centres.transpose(-1, -2)).softmax(-2)
        return weights.transpose(-1, -2) @ x

    def forward(self, x: torch.Tensor, centres: torch.Tensor) -> torch.Tensor:
        turns = 0
        while turns < 8 and (moved := self._moved(centres, x)) > 0.01:  # HAZARD: host-branch-on-device
            centres = self._improve(centres, x) * (1 - 0.1 * moved)
            turns += 1
        return centres

    def _moved(self, centres: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return (self._improve(centres, x) - centres).abs().max()


class AlignerGraph:
    def __init__(self, aligner: Aligner, frames: int, centres: int, width: int):
        self.aligner = aligner.cuda()
        self.inputs = {
            "x": torch.zeros(1, frames, width, device="cuda"),
            "centres": torch.zeros(1, centres, width, device="cuda"),
        }
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self.aligner(**self.inputs)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.found = self.aligner(**self.inputs)

    def align(self, **given: torch.Tensor) -> torch.Tensor:
        for name, value in given.items():
            self.inputs[name].copy_(value)
        self.graph.replay()
        return self.found.clone()
