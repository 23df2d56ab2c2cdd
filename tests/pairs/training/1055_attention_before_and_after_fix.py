"""Source: a report on attention drift during fine-tuning; forward() keeps its attention map (compare pytorch/pytorch#114844).

Fixed: the map is cloned before the step.
"""

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.qkv = nn.Linear(d, 3 * d)
        self.last_map = None

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        weights = (q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5).softmax(-1)
        self.last_map = weights
        return weights @ v


class FineTune:
    def __init__(self, d, tokens):
        self.layer = Attention(d).cuda()
        self.x = torch.zeros(4, tokens, d, device="cuda")
        self.opt = torch.optim.SGD(self.layer.parameters(), lr=0.01)

    def _step(self):
        self.opt.zero_grad(set_to_none=True)
        loss = (self.layer(self.x) - self.x).square().mean()
        loss.backward()
        self.opt.step()
        return loss

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._step()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self._step()

    def step(self, x):
        self.x.copy_(x)
        self.graph.replay()


class DriftProbe:
    def __init__(self, run: FineTune):
        self.run = run
        self.drift = []

    def around(self, x):
        before = self.run.layer.last_map.clone()
        self.run.step(x)
        after = self.run.layer.last_map
        self.drift.append((after - before).abs().max().item())


def main(loader, d=64, tokens=32):
    run = FineTune(d, tokens)
    run.capture()
    probe = DriftProbe(run)
    for x in loader:
        probe.around(x)
    return probe.drift
