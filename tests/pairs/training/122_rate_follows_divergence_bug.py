"""The learning rate follows the divergence between old and new policy. The divergence is on the device and
the comparison is made inside the captured update. (The schedule is that of rsl_rl.)"""

import torch
from torch import nn


class AdaptiveRate:
    def __init__(self, optimizer, desired=0.01, low=1e-5, high=1e-2):
        self.optimizer = optimizer
        self.desired, self.low, self.high = desired, low, high
        self.rate = optimizer.param_groups[0]["lr"]

    def follow(self, divergence):
        if divergence > self.desired * 2.0:  # HAZARD: host-branch-on-device
            self.rate = max(self.low, self.rate / 1.5)
        elif 0.0 < divergence < self.desired / 2.0:  # HAZARD: host-branch-on-device
            self.rate = min(self.high, self.rate * 1.5)
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate


class Policy(nn.Module):
    def __init__(self, obs, act):
        super().__init__()
        self.mean = nn.Linear(obs, act)
        self.log_std = nn.Parameter(torch.zeros(act))

    def forward(self, obs):
        return self.mean(obs), self.log_std.exp()


def gaussian_divergence(mean, std, old_mean, old_std):
    ratio = (old_std.square() + (mean - old_mean).square()) / (2.0 * std.square())
    return (torch.log(std / old_std + 1e-5) + ratio - 0.5).sum(-1).mean()


class Update:
    def __init__(self, policy, schedule, size, obs, act):
        self.policy, self.schedule = policy, schedule
        self.obs = torch.zeros(size, obs, device="cuda")
        self.old_mean = torch.zeros(size, act, device="cuda")
        self.old_std = torch.ones(act, device="cuda")
        self.advantage = torch.zeros(size, 1, device="cuda")

    def __call__(self):
        mean, std = self.policy(self.obs)
        with torch.no_grad():
            self.schedule.follow(gaussian_divergence(mean, std, self.old_mean, self.old_std))
        loss = -(self.advantage * (mean - self.old_mean)).mean()
        self.schedule.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.schedule.optimizer.step()
        return loss

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self()


def main():
    policy = Policy(8, 2).cuda()
    rate = torch.tensor(1e-3, device="cuda")
    opt = torch.optim.Adam(policy.parameters(), lr=rate, capturable=True)
    update = Update(policy, AdaptiveRate(opt), 1024, 8, 2)
    update.capture()
    return update
