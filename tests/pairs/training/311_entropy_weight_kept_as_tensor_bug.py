"""Drawn from soft actor-critic implementations with captured updates (compare pytorch/rl and LeanRL).

Symptom: the weight of the entropy is computed anew from its logarithm after every update of it; the captured
loss of the actor keeps reading the tensor of the capture, and the entropy term never changes.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.distributions import Normal


class Actor(nn.Module):
    def __init__(self, obs: int, act: int) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs, 256), nn.ReLU(), nn.Linear(256, 2 * act))

    def forward(self, obs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        mean, log_std = self.body(obs).chunk(2, dim=-1)
        dist = Normal(mean, log_std.clamp(-5, 2).exp(), validate_args=False)
        raw = mean + dist.stddev * torch.randn_like(mean)
        action = torch.tanh(raw)
        log_prob = dist.log_prob(raw) - torch.log(1 - action.square() + 1e-6)
        return action, log_prob.sum(-1)


class EntropyWeight:
    def __init__(self, target: float) -> None:
        self.target = target
        self.log_alpha = torch.zeros(1, device="cuda", requires_grad=True)
        self.optimizer = torch.optim.Adam([self.log_alpha], lr=3e-4)
        self.alpha = self.log_alpha.detach().exp()

    def update(self, log_prob: torch.Tensor) -> None:
        loss = -(self.log_alpha * (log_prob + self.target)).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.alpha = self.log_alpha.detach().exp()  # HAZARD: rebind-static-input


class Learner:
    def __init__(self, obs: int, act: int, batch: int) -> None:
        self.actor = Actor(obs, act).cuda()
        self.critic = nn.Sequential(nn.Linear(obs + act, 256), nn.ReLU(), nn.Linear(256, 1)).cuda()
        self.entropy = EntropyWeight(-float(act))
        self.optimizer = torch.optim.Adam(self.actor.parameters(), lr=3e-4, capturable=True)
        self.obs = torch.zeros(batch, obs, device="cuda")
        self.graph: torch.cuda.CUDAGraph | None = None
        self.updates = 0

    def _actor_update(self) -> torch.Tensor:
        self.optimizer.zero_grad(set_to_none=True)
        action, log_prob = self.actor(self.obs)
        value = self.critic(torch.cat([self.obs, action], dim=-1)).squeeze(-1)
        loss = (self.entropy.alpha * log_prob - value).mean()
        loss.backward()
        self.optimizer.step()
        return log_prob.detach()

    def _capture(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._actor_update()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.log_prob = self._actor_update()

    def learn(self, batch: torch.Tensor) -> None:
        if self.graph is None:
            self._capture()
        self.obs.copy_(batch)
        self.graph.replay()  # ALT: rebind-static-input
        self.entropy.update(self.log_prob)
        self.updates += 1
