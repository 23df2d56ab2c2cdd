"""Sampling of actions, and a clipped update."""

import torch
from torch import nn
from torch.distributions import Categorical, Normal


class Policy(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.logits = nn.Linear(width, 4)
        self.mean = nn.Linear(width, 2)

    def forward(self, x):
        choice = Categorical(logits=self.logits(x)).sample()  # expect: CG307
        move = Normal(self.mean(x), 1.0, validate_args=False).rsample()  # ok: CG307
        return choice, move


class Learner:
    def __init__(self, width: int):
        self.policy = Policy(width).cuda()
        self.weights = list(self.policy.parameters())
        self.x = torch.zeros(16, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.policy(self.x)
        with torch.cuda.graph(self.graph):
            self.choice, self.move = self.policy(self.x)
            nn.utils.clip_grad_norm_(self.weights, 1.0)  # ok: CG307
            nn.utils.clip_grad_norm_(self.weights, 1.0, error_if_nonfinite=True)  # expect: CG307

    def act(self, x):
        self.x.copy_(x)
        self.graph.replay()
        assert not torch.equal(self.move, self.x[:, :2])  # ok: CG307
        return self.move.clone()
