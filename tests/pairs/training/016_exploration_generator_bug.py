"""Exploration noise has a generator of its own, so that it does not disturb the other random numbers; the
graph does not know that generator and the capture fails."""

import torch
from torch import nn


class NoisyActor:
    def __init__(self, net, envs, obs_dim, seed):
        self.net = net
        self.obs = torch.zeros(envs, obs_dim, device="cuda")
        self.scale = torch.full((), 0.1, device="cuda")
        self.noise = torch.Generator(device="cuda").manual_seed(seed)
        self.graph = torch.cuda.CUDAGraph()

    def _draw(self, like):
        return torch.randn(like.shape, generator=self.noise, device=like.device)  # HAZARD: rng-unregistered

    def _act(self):
        action = self.net(self.obs)
        return torch.tanh(action + self.scale * self._draw(action))

    @torch.no_grad()
    def capture(self):
        s = torch.cuda.Stream()
        s.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(s):
            for _ in range(3):
                self._act()
        torch.cuda.current_stream().wait_stream(s)
        with torch.cuda.graph(self.graph):
            self.action = self._act()

    def __call__(self, obs):
        self.obs.copy_(obs)
        self.graph.replay()
        return self.action.clone()


def main(env, steps):
    actor = NoisyActor(nn.Linear(12, 4).cuda(), 64, 12, seed=1)
    actor.capture()
    obs = env.reset()
    for _ in range(steps):
        obs = env.step(actor(obs))
