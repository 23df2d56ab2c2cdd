"""Source: a grid of positions behind functools.lru_cache in a multi-scale detector.

Symptom: losses of the first size become garbage when a fifth size appears: the only owner of a size's position grid is a cache
of four entries, and a captured step still reads the grid that was thrown out.
"""

import functools

import torch
from torch import nn


@functools.lru_cache(maxsize=4)
def grid(size):
    axis = torch.linspace(-1.0, 1.0, size, device="cuda")
    return torch.stack(torch.meshgrid(axis, axis, indexing="ij"))


class PositionNet(nn.Module):
    def __init__(self, channels=16):
        super().__init__()
        self.conv = nn.Conv2d(5, channels, 3, padding=1)
        self.head = nn.Conv2d(channels, 1, 1)

    def forward(self, image):
        where = grid(image.shape[-1]).expand(image.shape[0], -1, -1, -1)  # HAZARD: stale-pointer
        return self.head(torch.relu(self.conv(torch.cat([image, where], dim=1))))


class SizedSteps:
    def __init__(self):
        self.net = PositionNet().cuda()
        self.entries = {}
        self.pool = torch.cuda.graph_pool_handle()
        self.side = torch.cuda.Stream()

    @torch.no_grad()
    def _capture(self, size):
        image = torch.zeros(2, 3, size, size, device="cuda")
        self.side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.side):
            for _ in range(2):
                self.net(image)
        torch.cuda.current_stream().wait_stream(self.side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool, stream=self.side):
            heat = self.net(image)
        return graph, image, heat

    def prepare(self, sizes=(640, 576, 512, 448, 384)):
        for size in sizes:
            self.entries[size] = self._capture(size)

    def __call__(self, image):
        graph, static, heat = self.entries[image.shape[-1]]
        static.copy_(image)
        graph.replay()
        return heat.clone()
