"""The target network runs on a stream of its own inside the capture; it is forked from the capturing stream
and joined again."""

import torch
from torch import nn


class TDStep:
    def __init__(self, online, target, batch, obs):
        self.online, self.target = online, target
        self.obs = torch.zeros(batch, obs, device="cuda")
        self.next_obs = torch.zeros(batch, obs, device="cuda")
        self.reward = torch.zeros(batch, device="cuda")
        self.side = torch.cuda.Stream()
        self.graph = torch.cuda.CUDAGraph()

    def bootstrap(self):
        with torch.no_grad():
            return self.reward + 0.99 * self.target(self.next_obs).amax(-1)

    def loss(self):
        main = torch.cuda.current_stream()
        self.side.wait_stream(main)
        with torch.cuda.stream(self.side):
            goal = self.bootstrap()
        value = self.online(self.obs).amax(-1)
        main.wait_stream(self.side)
        return (value - goal).square().mean()

    def update(self):
        self.online.zero_grad(set_to_none=True)
        loss = self.loss()
        loss.backward()
        return loss

    def capture(self):
        s = torch.cuda.Stream()
        s.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(s):
            for _ in range(3):
                self.update()
        torch.cuda.current_stream().wait_stream(s)
        with torch.cuda.graph(self.graph):
            self.value = self.update()


def main():
    step = TDStep(nn.Linear(8, 4).cuda(), nn.Linear(8, 4).cuda(), 32, 8)
    step.capture()
    return step
