"""The entropy weight is learned as a logarithm. A property hands it out as a Python number, and both captured
losses ask for it."""

import torch
from torch import nn


class Entropy:
    def __init__(self, target, device="cuda"):
        self.target = target
        self.log_value = torch.zeros(1, device=device, requires_grad=True)
        self.opt = torch.optim.Adam([self.log_value], lr=3e-4, capturable=True)

    @property
    def value(self):
        return self.log_value.exp().detach()

    def loss(self, log_prob):
        return -(self.log_value.exp() * (log_prob.detach() + self.target)).mean()


class SquashedPolicy(nn.Module):
    def __init__(self, obs, act):
        super().__init__()
        self.net = nn.Linear(obs, 2 * act)

    def forward(self, obs):
        mean, log_std = self.net(obs).chunk(2, -1)
        std = log_std.clamp(-5, 2).exp()
        noise = torch.randn_like(mean)
        raw = mean + std * noise
        act = torch.tanh(raw)
        log_prob = -0.5 * noise.square() - std.log() - torch.log1p(-act.square() + 1e-6)
        return act, log_prob.sum(-1, keepdim=True)


class SoftUpdate:
    def __init__(self, obs, act, batch):
        self.policy, self.critic = SquashedPolicy(obs, act).cuda(), nn.Linear(obs + act, 1).cuda()
        self.entropy = Entropy(-float(act))
        self.opt = torch.optim.Adam(self.policy.parameters(), lr=3e-4, capturable=True)
        self.obs = torch.zeros(batch, obs, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _policy_loss(self):
        act, log_prob = self.policy(self.obs)
        value = self.critic(torch.cat([self.obs, act], -1))
        return (self.entropy.value * log_prob - value).mean(), log_prob

    def _update(self):
        loss, log_prob = self._policy_loss()
        self.opt.zero_grad(set_to_none=True)
        loss.backward()
        self.opt.step()
        self.entropy.opt.zero_grad(set_to_none=True)
        self.entropy.loss(log_prob).backward()
        self.entropy.opt.step()
        return loss

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._update()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.loss = self._update()


def main():
    update = SoftUpdate(8, 2, 256)
    update.capture()
    return update
