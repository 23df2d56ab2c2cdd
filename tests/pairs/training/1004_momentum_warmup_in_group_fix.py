"""Source: KellerJordan/modded-nanogpt (momentum warm-up of Muon) with the captured step of microsoft/dion#104.

Fixed: every group carries its momentum as a device scalar, filled before each replay.
"""

import torch
from torch import nn


def orthogonalize(g, steps=5):
    x = g / (g.norm() + 1e-7)
    for _ in range(steps):
        a = x @ x.T
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    return x


class Muon(torch.optim.Optimizer):
    def __init__(self, params, lr=0.02, momentum=0.85):
        super().__init__(params, dict(lr=lr))
        for group in self.param_groups:
            group["momentum"] = torch.full((), momentum, device="cuda")

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if "buf" not in state:
                    state["buf"] = torch.zeros_like(p)
                buf = state["buf"]
                buf.mul_(group["momentum"]).add_(p.grad)
                p.add_(orthogonalize(buf), alpha=-group["lr"])


class Run:
    def __init__(self, d):
        self.net = nn.Sequential(nn.Linear(d, d, bias=False), nn.ReLU(), nn.Linear(d, d, bias=False)).cuda()
        self.opt = Muon(self.net.parameters())
        self.x = torch.zeros(128, d, device="cuda")

    def iteration(self):
        self.opt.zero_grad(set_to_none=True)
        loss = (self.net(self.x) - self.x).square().mean()
        loss.backward()
        self.opt.step()
        return loss

    def compile(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.iteration()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self.iteration()


def main(loader, d=512):
    run = Run(d)
    run.compile()
    for step, batch in enumerate(loader):
        frac = min(step / 300, 1)
        for group in run.opt.param_groups:
            group["momentum"].fill_((1 - frac) * 0.85 + frac * 0.95)
        run.x.copy_(batch)
        run.graph.replay()
