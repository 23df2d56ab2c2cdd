"""Drawn from adversarial training with `make_graphed_callables` (its documentation rules out double backward).

Symptom: the gradient penalty differentiates the critic's gradient once more; the critic is a graphed callable,
whose backward pass can be differentiated only once, and training stops there.
"""

from __future__ import annotations

import torch
from torch import autograd, nn


class Generator(nn.Module):
    def __init__(self, latent: int, pixels: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(latent, 256), nn.ReLU(), nn.Linear(256, pixels), nn.Tanh())

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        return self.layers(z)


class Critic(nn.Module):
    def __init__(self, pixels: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(pixels, 256), nn.LeakyReLU(0.2), nn.Linear(256, 1))

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return self.layers(image)


def penalty(critic, real: torch.Tensor, fake: torch.Tensor) -> torch.Tensor:
    share = torch.rand(real.shape[0], 1, device=real.device)
    between = (share * real + (1 - share) * fake).detach().requires_grad_()
    score = critic(between)
    (grad,) = autograd.grad(score.sum(), between, create_graph=True)  # HAZARD: training
    return (grad.norm(2, dim=1) - 1).square().mean()


class Adversaries:
    def __init__(self, latent: int, pixels: int, batch: int) -> None:
        self.latent, self.batch = latent, batch
        self.generator = Generator(latent, pixels).cuda()
        self.critic = Critic(pixels).cuda()
        self.opt_g = torch.optim.Adam(self.generator.parameters(), lr=1e-4, betas=(0.0, 0.9))
        self.opt_c = torch.optim.Adam(self.critic.parameters(), lr=1e-4, betas=(0.0, 0.9))
        sample = torch.randn(batch, pixels, device="cuda", requires_grad=True)
        self.critic = torch.cuda.make_graphed_callables(self.critic, (sample,))  # ALT: training

    def _noise(self) -> torch.Tensor:
        return torch.randn(self.batch, self.latent, device="cuda")

    def critic_step(self, real: torch.Tensor) -> torch.Tensor:
        fake = self.generator(self._noise()).detach()
        self.opt_c.zero_grad()
        (-self.critic(real).mean()).backward()
        self.critic(fake).mean().backward()
        (10.0 * penalty(self.critic, real, fake)).backward()  # ALT: training
        self.opt_c.step()
        return fake

    def generator_step(self) -> None:
        self.opt_g.zero_grad()
        loss = -self.critic(self.generator(self._noise())).mean()
        loss.backward()
        self.opt_g.step()

    def fit(self, loader, critic_steps: int = 5) -> None:
        for number, real in enumerate(loader):
            self.critic_step(real.cuda(non_blocking=True))
            if number % critic_steps == 0:
                self.generator_step()
