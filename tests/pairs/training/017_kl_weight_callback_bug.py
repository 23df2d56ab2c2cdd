"""The weight of the KL term is annealed by a callback that sets a float on the settings object; the
captured multiplication keeps the weight of the first step."""

from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class LossSettings:
    beta: float = 0.0
    free_bits: float = 0.05


class KLAnneal:
    def __init__(self, settings, per_step):
        self.settings, self.per_step = settings, per_step

    def __call__(self, step):
        self.settings.beta = min(1.0, step * self.per_step)  # ALT: frozen-scalar


class VAE(nn.Module):
    def __init__(self, dim, latent, settings):
        super().__init__()
        self.enc = nn.Linear(dim, 2 * latent)
        self.dec = nn.Linear(latent, dim)
        self.settings = settings

    def forward(self, x):
        mean, logvar = self.enc(x).chunk(2, -1)
        z = mean + torch.randn_like(mean) * torch.exp(0.5 * logvar)
        kl = (mean.square() + logvar.exp() - 1.0 - logvar).sum(-1).mul(0.5)
        rec = (self.dec(z) - x).square().sum(-1)
        return (rec + self.settings.beta * kl).mean()  # HAZARD: frozen-scalar


class Trainer:
    def __init__(self, vae, x):
        self.vae, self.x = vae, x.clone()
        self.on_step = []
        self.graph = torch.cuda.CUDAGraph()

    def closure(self):
        self.vae.zero_grad(set_to_none=True)
        loss = self.vae(self.x)
        loss.backward()
        return loss

    def fit(self, loader):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.closure()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.loss = self.closure()
        opt = torch.optim.SGD(self.vae.parameters(), lr=1e-3)
        for step, x in enumerate(loader):
            for fn in self.on_step:
                fn(step)
            self.x.copy_(x)
            self.graph.replay()
            opt.step()


def main(loader):
    settings = LossSettings()
    trainer = Trainer(VAE(64, 8, settings).cuda(), torch.zeros(16, 64, device="cuda"))
    trainer.on_step.append(KLAnneal(settings, 1e-4))
    trainer.fit(loader)
