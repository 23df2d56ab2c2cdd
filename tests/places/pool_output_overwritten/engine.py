"""What callers of the phases read, and when."""

import torch
from graphs import Phases


def backwards(phases: Phases):
    b = phases.run_second()
    a = phases.run_first()
    return a + b  # expect: CG604


def in_order(phases: Phases):
    a = phases.run_first()
    b = phases.run_second()
    return a + b  # ok: CG604


def copied(phases: Phases):
    b = phases.run_second().clone()
    a = phases.run_first()
    return a + b  # ok: CG604


class Decoder:
    def __init__(self, width: int):
        self.x = torch.zeros(width, device="cuda")
        self.draft, self.verify = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.draft):
            self.drafted = torch.softmax(self.x * 2, -1)
        with torch.cuda.graph(self.verify, pool=self.draft.pool()):
            self.verified = torch.softmax(self.x * 3, -1)

    def step(self, x: torch.Tensor):
        self.x.copy_(x)
        self.verify.replay()
        self.draft.replay()
        accepted = self.verified > self.drafted  # expect: CG604
        return accepted

    def step_in_order(self, x: torch.Tensor):
        self.x.copy_(x)
        self.draft.replay()
        self.verify.replay()
        accepted = self.verified > self.drafted  # ok: CG604
        return accepted


class Separate:
    def __init__(self, width: int):
        self.x = torch.zeros(width, device="cuda")
        self.draft, self.verify = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.draft):
            self.drafted = torch.softmax(self.x * 2, -1)
        with torch.cuda.graph(self.verify):
            self.verified = torch.softmax(self.x * 3, -1)

    def step(self, x: torch.Tensor):
        self.x.copy_(x)
        self.verify.replay()
        self.draft.replay()
        return self.verified > self.drafted  # ok: CG604
