"""Clean: target and draft keep their own pools, drafts go into rows of a buffer, acceptance is computed on the
device, and the number of drafts chooses among graphs.
"""

import torch
import torch.nn as nn


class Stage:
    def __init__(self, net: nn.Module, batch: int, steps: int, pool=None):
        self.net, self.steps = net, steps
        self.ids = torch.zeros(batch, steps, dtype=torch.long, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        for _ in range(2):
            self.net(self.ids)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph, pool=pool):
            self.probs = self.net(self.ids).softmax(-1)

    def run(self, ids: torch.Tensor) -> torch.Tensor:
        self.ids[:, : ids.shape[1]].copy_(ids)
        self.graph.replay()
        return self.probs


class Speculation:
    def __init__(self, target: nn.Module, draft: nn.Module, batch: int, most: int):
        self.most, self.accept_rate = most, 1.0
        with torch.inference_mode():
            pool = torch.cuda.graph_pool_handle()
            self.drafts = {n: Stage(draft, batch, n, pool) for n in range(most, 0, -1)}
            self.target = Stage(target, batch, most)
        self.kept = torch.zeros(batch, most, device="cuda")

    def steps(self) -> int:
        return max(1, round(self.most * self.accept_rate))

    @torch.inference_mode()
    def round(self, ids: torch.Tensor) -> list[int]:
        n = self.steps()
        guessed = self.drafts[n].run(ids[:, :n])
        self.kept.zero_()
        self.kept[:, :n].copy_(guessed.amax(-1))
        wanted = self.target.run(ids)
        good = (wanted.amax(-1) >= self.kept).cumprod(-1).sum(-1)
        accepted = good.tolist()
        self.accept_rate = sum(accepted) / (len(accepted) * self.most)
        return accepted
