"""The encoder of a detector tells its attention the height and width of each feature level in a device
tensor that it builds from Python tuples in every forward. (Seen in roboflow/rf-detr#1468.)"""

import torch
from torch import nn


class LevelAttention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.proj = nn.Linear(width, width)

    def forward(self, tokens, shapes):
        area = shapes.prod(-1).sum().to(tokens.dtype)
        return self.proj(tokens) / area


class Encoder(nn.Module):
    def __init__(self, width, layers):
        super().__init__()
        self.layers = nn.ModuleList(LevelAttention(width) for _ in range(layers))

    def _shapes(self, features):
        return [tuple(f.shape[-2:]) for f in features]

    def forward(self, features):
        sizes = self._shapes(features)
        tokens = torch.cat([f.flatten(2).transpose(1, 2) for f in features], dim=1)
        shapes = torch.as_tensor(sizes, dtype=torch.long, device=tokens.device)  # HAZARD: pageable-copy
        for layer in self.layers:
            tokens = tokens + layer(tokens, shapes)
        return tokens


class GraphedEncoder:
    def __init__(self, encoder, width, sizes=(32, 16, 8)):
        self.encoder = encoder
        self.features = [torch.zeros(2, width, s, s, device="cuda") for s in sizes]

    def _run(self):
        self.encoder.zero_grad(set_to_none=True)
        loss = self.encoder(self.features).square().mean()
        loss.backward()
        return loss

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._run()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self._run()


def main():
    run = GraphedEncoder(Encoder(64, 2).cuda(), 64)
    run.capture()
    return run
