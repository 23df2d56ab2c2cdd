"""Source: volcengine/verl (parameters offloaded between rollout and update) with a captured actor.

Fixed: the device storage stays; only the optimizer state is offloaded.
"""

from contextlib import contextmanager

import torch
from torch import nn


def move_optimizer(opt, device):
    for state in opt.state.values():
        for key, value in state.items():
            if torch.is_tensor(value):
                state[key] = value.to(device)


@contextmanager
def offloaded(opt):
    move_optimizer(opt, "cpu")
    try:
        yield
    finally:
        move_optimizer(opt, "cuda")


class RolloutWorker:
    def __init__(self, actor: nn.Module, opt, n, d):
        self.actor, self.opt = actor.cuda(), opt
        self.obs = torch.zeros(n, d, device="cuda")
        s = torch.cuda.Stream()
        s.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(s), torch.no_grad():
            for _ in range(3):
                actor(self.obs)
        torch.cuda.current_stream().wait_stream(s)
        self.graph = torch.cuda.CUDAGraph()
        with torch.no_grad(), torch.cuda.graph(self.graph):
            self.logits = actor(self.obs)

    def generate(self, obs):
        self.obs.copy_(obs)
        self.graph.replay()
        return self.logits.argmax(-1)


def train(worker, reward_model, loader):
    for obs in loader:
        actions = worker.generate(obs)
        with offloaded(worker.opt):
            reward = reward_model(obs, actions)
        loss = -(reward * worker.actor(obs).log_softmax(-1).gather(-1, actions[:, None]).squeeze(-1)).mean()
        worker.opt.zero_grad()
        loss.backward()
        worker.opt.step()
