"""An engine with comments that cannot take effect."""

import torch
from layers import read


class Engine:
    def __init__(self, width: int):
        self.x = torch.zeros(width, device="cuda")
        self.width = width  # graphlint: ignore[CG931] -- fixed at start  # expect: CG902
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            torch.cuda.synchronize()  # graphlint: ignore[CG301] -- a debug build  # ok: CG902
            self.y = read(self.x)

    def step(self):
        self.graph.replay()  # graphlint: ignore-file[CG302] -- not behind code  # expect: CG902
        return self.y
