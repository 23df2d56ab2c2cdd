"""Drawn from the same environments as 702, with the state in a named tuple and the graph behind lambdas.

Fixed: the positions are drawn in place.
"""

from typing import NamedTuple

import torch


class State(NamedTuple):
    pos: torch.Tensor
    vel: torch.Tensor


def fresh(n):
    return State(torch.rand(n, 2, device="cuda"), torch.zeros(n, 2, device="cuda"))


def physics(state, action, dt=0.02):
    state.vel.add_(action, alpha=dt)
    state.pos.add_(state.vel, alpha=dt)


class VecEnv:
    def __init__(self, n):
        self.n = n
        self.state = fresh(n)
        self.action = torch.zeros(n, 2, device="cuda")
        self.play = Graph(lambda: physics(self.state, self.action), keep=lambda: self.state)

    def reset(self):
        self.state.pos.uniform_()
        self.state.vel.zero_()
        return torch.cat(self.state, dim=1)

    def step(self, action):
        self.action.copy_(action)
        self.play()
        return torch.cat(self.state, dim=1)


class Graph:
    def __init__(self, fn, keep):
        saved = [t.clone() for t in keep()]
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            fn()
        torch.cuda.current_stream().wait_stream(side)
        for t, old in zip(keep(), saved):
            t.copy_(old)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            fn()

    def __call__(self):
        self._graph.replay()


def episodes(policy, count, length=100):
    env = VecEnv(256)
    for _ in range(count):
        obs = env.reset()
        for _ in range(length):
            obs = env.step(policy(obs))
    return obs
