"""An engine whose comments have outlived their findings."""

import torch
from layers import longest


class Engine:
    def __init__(self, width: int):
        self.x = torch.zeros(width, device="cuda")
        self.steps = 0  # graphlint: ignore[CG403] -- counted by the caller now  # expect: CG901
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            torch.cuda.synchronize()  # graphlint: ignore[CG301] -- a debug build  # ok: CG901
            self.y = longest(self.x)

    # graphlint: ignore[CG101] -- the graph is captured anew  # expect: CG901
    def step(self, x: torch.Tensor):
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()

    # graphlint: ignore[host-sync-in-capture] -- waits between replays  # expect: CG901
    def drain(self):
        torch.cuda.synchronize()
