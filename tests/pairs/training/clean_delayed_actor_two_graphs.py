"""Clean: critic and delayed actor updates are two graphs; which of them runs is decided by the loop, between
replays, from a step counter that no captured code reads."""

import torch
from torch import nn


class Graphed:
    def __init__(self, fn, warm=3):
        self.fn, self.warm = fn, warm
        self.graph, self.out = None, None

    def __call__(self):
        if self.graph is None:
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(self.warm):
                    self.fn()
            torch.cuda.current_stream().wait_stream(side)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.out = self.fn()
        self.graph.replay()
        return self.out


class Agent:
    def __init__(self, obs, act, batch, delay=2, tau=0.005):
        self.actor = nn.Linear(obs, act).cuda()
        self.critic = nn.Linear(obs + act, 1).cuda()
        self.target = nn.Linear(obs + act, 1).cuda().requires_grad_(False)
        self.target.load_state_dict(self.critic.state_dict())
        self.obs = torch.zeros(batch, obs, device="cuda")
        self.act = torch.zeros(batch, act, device="cuda")
        self.reward = torch.zeros(batch, 1, device="cuda")
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=3e-4, capturable=True)
        self.critic_opt = torch.optim.Adam(self.critic.parameters(), lr=3e-4, capturable=True)
        self.delay, self.tau, self.updates = delay, tau, 0
        self.run = {"critic": Graphed(self._critic), "actor": Graphed(self._actor)}

    def _critic(self):
        with torch.no_grad():
            goal = self.reward + 0.99 * self.target(torch.cat([self.obs, self.actor(self.obs)], -1))
        self.critic_opt.zero_grad(set_to_none=True)
        loss = (self.critic(torch.cat([self.obs, self.act], -1)) - goal).square().mean()
        loss.backward()
        self.critic_opt.step()
        return loss.detach()

    def _actor(self):
        self.actor_opt.zero_grad(set_to_none=True)
        loss = -self.critic(torch.cat([self.obs, self.actor(self.obs)], -1)).mean()
        loss.backward()
        self.actor_opt.step()
        return loss.detach()

    @torch.no_grad()
    def _follow(self):
        for slow, fast in zip(self.target.parameters(), self.critic.parameters(), strict=False):
            slow.lerp_(fast, self.tau)

    def update(self, obs, act, reward):
        self.obs.copy_(obs)
        self.act.copy_(act)
        self.reward.copy_(reward)
        losses = {"critic": self.run["critic"]().clone()}
        self.updates += 1
        if self.updates % self.delay == 0:
            losses["actor"] = self.run["actor"]().clone()
            self._follow()
        return losses


def main(memory, steps):
    agent, history = Agent(8, 2, 256), []
    for step in range(steps):
        losses = agent.update(*memory.sample(256))
        if step % 100 == 0:
            history.append({name: value.item() for name, value in losses.items()})
            print(step, f"{history[-1]['critic']:.3f}")
    return history
