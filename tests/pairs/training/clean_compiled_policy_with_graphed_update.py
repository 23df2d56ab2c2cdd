"""Clean: acting uses a policy compiled with its own graphs and copies what it keeps; learning is a captured step
that never calls the compiled policy. Counters and logs live in the loop."""

from collections import deque

import torch
from torch import nn


class Transitions:
    def __init__(self, capacity, envs, obs, act):
        self.obs = torch.zeros(capacity, envs, obs, device="cuda")
        self.act = torch.zeros(capacity, envs, act, device="cuda")
        self.capacity, self.added = capacity, 0

    def add(self, obs, act):
        row = self.added % self.capacity
        self.obs[row].copy_(obs)
        self.act[row].copy_(act)
        self.added += 1


class Learner:
    def __init__(self, net, memory, batch):
        self.net, self.memory = net, memory
        self.opt = torch.optim.Adam(net.parameters(), lr=1e-3, capturable=True)
        envs = memory.obs.shape[1]
        self.rows = torch.zeros(batch, dtype=torch.long, device="cuda")
        self.cols = torch.zeros(batch, dtype=torch.long, device="cuda")
        self.envs, self.graph = envs, None

    def _step(self):
        obs, act = self.memory.obs[self.rows, self.cols], self.memory.act[self.rows, self.cols]
        self.opt.zero_grad(set_to_none=True)
        loss = (self.net(obs) - act).square().mean()
        loss.backward()
        self.opt.step()
        return loss.detach()

    def __call__(self):
        filled = min(self.memory.added, self.memory.capacity)
        self.rows.random_(0, filled)
        self.cols.random_(0, self.envs)
        if self.graph is None:
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(3):
                    self._step()
            torch.cuda.current_stream().wait_stream(side)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.loss = self._step()
        self.graph.replay()
        return self.loss.clone()


def main(env, steps, start=100):
    net = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 2)).cuda()
    act_fn = torch.compile(net, mode="reduce-overhead")
    memory = Transitions(1000, 16, 8, 2)
    learner, recent = Learner(net, memory, 256), deque(maxlen=100)
    obs = env.reset()
    for step in range(steps):
        with torch.no_grad():
            torch.compiler.cudagraph_mark_step_begin()
            act = act_fn(obs) + 0.1 * torch.randn(16, 2, device="cuda")
        memory.add(obs, act)
        obs = env.step(act)
        if step >= start:
            recent.append(learner())
        if step % 100 == 0 and recent:
            print(step, torch.stack(list(recent)).mean().item())
