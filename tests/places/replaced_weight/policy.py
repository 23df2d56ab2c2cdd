"""A graphed policy, whose weights a learner replaces while it acts."""

import torch
from torch import nn


class Policy(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.body = nn.Linear(width, width)
        self.head = nn.Linear(width, 4)
        self.scale = nn.Parameter(torch.ones(width))
        self.register_buffer("mean", torch.zeros(width))

    def forward(self, observation):
        return self.head(torch.tanh(self.body((observation - self.mean) * self.scale)))


class Actor:
    def __init__(self, width: int):
        self.policy = Policy(width).cuda()
        self.observation = torch.zeros(1, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.policy(self.observation)
        with torch.cuda.graph(self.graph):
            self.action = self.policy(self.observation)

    def act(self, observation):
        self.observation.copy_(observation)
        self.graph.replay()
        return self.action.clone()

    def resume(self, state):
        self.policy.load_state_dict(state)  # ok: CG102

    def refresh(self, state):
        self.policy.load_state_dict(state, assign=True)  # expect: CG102

    def shrink(self):
        self.policy.half()  # expect: CG102

    def normalise(self, mean):
        self.policy.mean.copy_(mean)  # ok: CG102
