"""Drawn from detectors that capture their proposal stage (compare roboflow and LibreYOLO reports).

Symptom: non-maximum suppression returns as many indices as boxes are left; their number comes to the
host before the result can be made.
"""

import torch
import torchvision
from torch import nn


class ProposalHead(nn.Module):
    def __init__(self, channels: int, keep: int = 100, overlap: float = 0.7):
        super().__init__()
        self.score = nn.Conv2d(channels, 1, 1)
        self.delta = nn.Conv2d(channels, 4, 1)
        self.keep, self.overlap = keep, overlap

    def decode(self, delta: torch.Tensor) -> torch.Tensor:
        flat = delta.flatten(2).transpose(1, 2)[0]
        centre, size = flat[:, :2], flat[:, 2:].exp()
        return torch.cat([centre - size / 2, centre + size / 2], dim=1)

    def forward(self, features: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        scores = self.score(features).flatten()
        boxes = self.decode(self.delta(features))
        scores, order = scores.topk(self.keep)
        boxes = boxes[order]
        kept = torchvision.ops.nms(boxes, scores, self.overlap)  # HAZARD: dynamic-shape, sync-in-capture
        return boxes[kept], scores[kept]


class Detector:
    def __init__(self, head: ProposalHead, shape: tuple[int, int, int]):
        self.head = head.cuda().eval()
        self.features = torch.zeros(1, *shape, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.no_grad()
    def capture(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.head(self.features)
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.boxes, self.scores = self.head(self.features)

    @torch.no_grad()
    def propose(self, features: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        self.features.copy_(features)
        self.graph.replay()
        boxes, scores = self.boxes.clone(), self.scores.clone()
        return boxes, scores
