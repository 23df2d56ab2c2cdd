"""Actions reach the motors two steps late. The queue of waiting actions is a Python deque that the captured
step rotates, which happens once."""

from collections import deque

import torch


class DelayLine:
    def __init__(self, envs, act, delay):
        self.line = deque(torch.zeros(envs, act, device="cuda") for _ in range(delay))

    def push(self, action):
        self.line.append(action.clone())  # HAZARD: side-effect
        return self.line.popleft()  # ALT: side-effect


class Motor:
    def __init__(self, envs, act, delay=2, gain=20.0):
        self.delay = DelayLine(envs, act, delay)
        self.pos = torch.zeros(envs, act, device="cuda")
        self.gain = gain

    def apply(self, action, dt):
        target = self.delay.push(action)
        self.pos.add_((target - self.pos) * self.gain * dt)


class Env:
    def __init__(self, envs, act, dt=0.005, decimation=4):
        self.motor = Motor(envs, act)
        self.action = torch.zeros(envs, act, device="cuda")
        self.dt, self.decimation = dt, decimation

    def _advance(self):
        for _ in range(self.decimation):
            self.motor.apply(self.action, self.dt)

    def record(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(2):
                self._advance()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self._advance()

    def step(self, action):
        self.action.copy_(action)
        self.graph.replay()
        return self.motor.pos.clone()


def main(policy, steps):
    env = Env(1024, 12)
    env.record()
    obs = torch.zeros(1024, 12, device="cuda")
    for _ in range(steps):
        obs = env.step(policy(obs))
