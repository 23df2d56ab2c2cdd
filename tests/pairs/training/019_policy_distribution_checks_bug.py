"""The policy loss builds a Normal inside the captured update; its constructor validates the scale on the
host."""

import torch
from torch import nn
from torch.distributions import Normal


class GaussianPolicy(nn.Module):
    def __init__(self, obs, act):
        super().__init__()
        self.mean = nn.Linear(obs, act)
        self.log_std = nn.Parameter(torch.zeros(act))

    def dist(self, obs):
        return Normal(self.mean(obs), self.log_std.exp())  # HAZARD: implicit-sync


class PPOUpdate:
    def __init__(self, policy, n, obs, act, clip=0.2):
        self.policy, self.clip = policy, clip
        self.obs = torch.zeros(n, obs, device="cuda")
        self.act = torch.zeros(n, act, device="cuda")
        self.old_logp = torch.zeros(n, device="cuda")
        self.adv = torch.zeros(n, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def gradients(self):
        self.policy.zero_grad(set_to_none=True)
        d = self.policy.dist(self.obs)
        ratio = (d.log_prob(self.act).sum(-1) - self.old_logp).exp()
        clipped = ratio.clamp(1.0 - self.clip, 1.0 + self.clip)
        loss = -torch.min(ratio * self.adv, clipped * self.adv).mean()
        loss.backward()
        return loss

    def prepare(self):
        s = torch.cuda.Stream()
        s.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(s):
            for _ in range(3):
                self.gradients()
        torch.cuda.current_stream().wait_stream(s)
        with torch.cuda.graph(self.graph):
            self.loss = self.gradients()


def main():
    update = PPOUpdate(GaussianPolicy(8, 2).cuda(), 256, 8, 2)
    update.prepare()
    return update
