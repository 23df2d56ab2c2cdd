"""Model-parallel dropout forks the random state: it is fetched and set inside the captured layer, which happens
once, so that all replays draw the same mask. (The form of Megatron's random tracker.)"""

import contextlib

import torch
from torch import nn


class Tracker:
    def __init__(self):
        self.states = {}

    def add(self, name, seed):
        before = torch.cuda.get_rng_state()
        torch.cuda.manual_seed(seed)
        self.states[name] = torch.cuda.get_rng_state()
        torch.cuda.set_rng_state(before)

    @contextlib.contextmanager
    def fork(self, name="parallel"):
        before = torch.cuda.get_rng_state()
        torch.cuda.set_rng_state(self.states[name])
        try:
            yield
        finally:
            self.states[name] = torch.cuda.get_rng_state()
            torch.cuda.set_rng_state(before)


TRACKER = Tracker()


class Block(nn.Module):
    def __init__(self, width, rate=0.1):
        super().__init__()
        self.up, self.down, self.rate = nn.Linear(width, width), nn.Linear(width, width), rate

    def forward(self, x):
        h = torch.relu(self.up(x))
        h = nn.functional.dropout(h, self.rate)
        return self.down(h)


class Job:
    def __init__(self, net, shape):
        self.net, self.x = net, torch.zeros(shape, device="cuda")

    def step(self):
        self.net.zero_grad(set_to_none=True)
        loss = self.net(self.x).square().mean()
        loss.backward()
        return loss

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.step()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self.step()


def main():
    TRACKER.add("parallel", 1234)
    job = Job(Block(16).cuda(), (4, 16))
    job.capture()
    return job
