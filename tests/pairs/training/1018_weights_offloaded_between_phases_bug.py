"""Source: volcengine/verl (parameters offloaded between rollout and update) with a captured actor.

Symptom: after the first update the graphed actor generates from freed memory: offloading and loading give every parameter new
storage, and the graph still reads the first one.
"""

from contextlib import contextmanager

import torch
from torch import nn


@torch.no_grad()
def move_parameters(module: nn.Module, device):
    for p in module.parameters():
        p.data = p.data.to(device, non_blocking=True)  # HAZARD: stale-pointer
    torch.cuda.synchronize()


def move_optimizer(opt, device):
    for state in opt.state.values():
        for key, value in state.items():
            if torch.is_tensor(value):
                state[key] = value.to(device)


@contextmanager
def offloaded(actor, opt):
    move_parameters(actor, "cpu")
    move_optimizer(opt, "cpu")
    try:
        yield
    finally:
        move_parameters(actor, "cuda")
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
        with offloaded(worker.actor, worker.opt):
            reward = reward_model(obs, actions)
        loss = -(reward * worker.actor(obs).log_softmax(-1).gather(-1, actions[:, None]).squeeze(-1)).mean()
        worker.opt.zero_grad()
        loss.backward()
        worker.opt.step()
