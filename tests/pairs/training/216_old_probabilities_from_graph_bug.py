"""Drawn from policy optimization loops (PPO, GRPO) with a graphed scoring step.

Symptom: the log-probabilities before the update are taken from the graph and kept for the ratio; the
same graph scores the batch in each epoch, so that the ratio is always one.
"""

import torch
from torch import nn


class Scorer:
    def __init__(self, policy: nn.Module, tokens: torch.Tensor):
        self.policy = policy
        self.tokens = tokens.clone()
        s = torch.cuda.Stream()
        s.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(s), torch.no_grad():
            for _ in range(3):
                self._score()
        torch.cuda.current_stream().wait_stream(s)
        self.graph = torch.cuda.CUDAGraph()
        with torch.no_grad(), torch.cuda.graph(self.graph):
            self.logp = self._score()

    def _score(self) -> torch.Tensor:
        return self.policy(self.tokens).log_softmax(-1).amax(-1)

    def __call__(self, tokens: torch.Tensor) -> torch.Tensor:
        self.tokens.copy_(tokens)
        self.graph.replay()
        return self.logp


class PolicyTrainer:
    def __init__(self, policy: nn.Module, example: torch.Tensor):
        self.policy = policy.cuda()
        self.score = Scorer(self.policy, example.cuda())
        self.opt = torch.optim.AdamW(policy.parameters(), lr=1e-5)

    def update(self, tokens: torch.Tensor, advantage: torch.Tensor, epochs: int = 4) -> list[torch.Tensor]:
        old = self.score(tokens)  # HAZARD: stale-output
        ratios = []
        for _ in range(epochs):
            logp = self.policy(tokens).log_softmax(-1).amax(-1)
            loss = -((logp - old).exp() * advantage).mean()
            loss.backward()
            self.opt.step()
            self.opt.zero_grad()
            ratios.append((self.score(tokens) - old).exp().mean())
        return ratios
