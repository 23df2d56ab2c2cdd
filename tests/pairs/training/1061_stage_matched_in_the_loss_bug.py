"""Source: a three-stage vocoder recipe whose loss is captured once.

Symptom: the adversarial term never takes effect: which terms belong to the stage is decided with a match statement in the
captured loss, and the stage is advanced later.
"""

from enum import Enum, auto

import torch
from torch import nn


class Stage(Enum):
    PRETRAIN = auto()
    ADVERSARIAL = auto()
    POLISH = auto()


class VocoderLoss(nn.Module):
    def __init__(self, critic: nn.Module):
        super().__init__()
        self.critic = critic
        self.stage = Stage.PRETRAIN

    def forward(self, fake, real):
        spectral = (fake - real).abs().mean()
        match self.stage:  # ALT: frozen-scalar
            case Stage.PRETRAIN:
                return spectral
            case Stage.ADVERSARIAL:
                return spectral - 0.1 * self.critic(fake).mean()
            case _:
                return 0.5 * spectral - self.critic(fake).mean()


class Recipe:
    def __init__(self, generator: nn.Module, critic: nn.Module, frames):
        self.generator, self.loss_fn = generator.cuda(), VocoderLoss(critic.cuda())
        self.mel = torch.zeros(8, 80, frames, device="cuda")
        self.wave = torch.zeros(8, 1, frames, device="cuda")
        self.opt = torch.optim.SGD(self.generator.parameters(), lr=1e-3)
        self.graphs = {}

    def _step(self):
        self.opt.zero_grad(set_to_none=True)
        loss = self.loss_fn(self.generator(self.mel), self.wave)
        loss.backward()
        self.opt.step()
        return loss

    def _record(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            loss = self._step()
        return graph, loss

    def step(self, mel, wave):
        self.mel.copy_(mel)
        self.wave.copy_(wave)
        key = "step"
        if key not in self.graphs:
            self.graphs[key] = self._record()
        graph, loss = self.graphs[key]
        graph.replay()
        return loss

    def run(self, loader, boundaries):
        for i, (mel, wave) in enumerate(loader):
            if i == boundaries[0]:
                self.loss_fn.stage = Stage.ADVERSARIAL  # HAZARD: frozen-scalar
            elif i == boundaries[1]:
                self.loss_fn.stage = Stage.POLISH  # ALT: frozen-scalar
            self.step(mel, wave)
