"""Clean: both losses of an actor and its temperature are in one captured update; Python numbers are read for the log
only, every few steps, and the schedule of the exploration noise stays outside of the graph."""

from __future__ import annotations

import torch
from torch import nn


class Update:
    def __init__(self, obs: int, act: int, size: int, target_entropy: float) -> None:
        self.actor = nn.Sequential(nn.Linear(obs, 128), nn.ReLU(), nn.Linear(128, 2 * act)).cuda()
        self.critic = nn.Sequential(nn.Linear(obs + act, 128), nn.ReLU(), nn.Linear(128, 1)).cuda()
        self.log_alpha = torch.zeros((), device="cuda", requires_grad=True)
        self.target_entropy = target_entropy
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=3e-4, capturable=True)
        self.alpha_opt = torch.optim.Adam([self.log_alpha], lr=3e-4, capturable=True)
        self.obs = torch.randn(size, obs, device="cuda")
        self.info = {}
        self.graph = torch.cuda.CUDAGraph()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._update()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.info = self._update()

    def _update(self) -> dict[str, torch.Tensor]:
        mean, log_std = self.actor(self.obs).chunk(2, dim=-1)
        noise = torch.randn_like(mean)
        action = torch.tanh(mean + log_std.clamp(-5, 2).exp() * noise)
        log_prob = (-0.5 * noise.square() - log_std).sum(-1)
        value = self.critic(torch.cat([self.obs, action], -1)).squeeze(-1)
        alpha = self.log_alpha.exp()
        actor_loss = (alpha.detach() * log_prob - value).mean()
        self.actor_opt.zero_grad(set_to_none=True)
        actor_loss.backward()
        self.actor_opt.step()
        alpha_loss = -(self.log_alpha * (log_prob.detach() + self.target_entropy)).mean()
        self.alpha_opt.zero_grad(set_to_none=True)
        alpha_loss.backward()
        self.alpha_opt.step()
        return {"actor": actor_loss.detach(), "alpha": alpha.detach(), "entropy": -log_prob.detach().mean()}

    def __call__(self, obs: torch.Tensor) -> None:
        self.obs.copy_(obs, non_blocking=True)
        self.graph.replay()


def learn(env, memory, steps: int, sigma: float = 0.3, log_every: int = 200) -> list[dict[str, float]]:
    update = Update(17, 6, 256, target_entropy=-6.0)
    obs, log = env.reset(), []
    for step in range(steps):
        sigma = max(0.05, sigma * 0.9999)
        with torch.no_grad():
            action = torch.tanh(
                update.actor(obs)[:, :6] + sigma * torch.randn(obs.shape[0], 6, device="cuda")
            )
        obs, reward, done = env.step(action)
        memory.add(obs, action, reward, done)
        update(memory.sample(256))
        if step % log_every == 0:
            log.append({"sigma": sigma, **{name: value.item() for name, value in update.info.items()}})
    return log
