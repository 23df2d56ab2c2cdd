"""A vectorised simulator and a policy, each a graph of the same pool; what a rollout keeps is copied."""

import torch
from torch import nn

torch.manual_seed(0)
N, T = 64, 6


class Cart:
    def __init__(self):
        self.state = torch.zeros(N, 4, device="cuda")
        self.action = torch.zeros(N, device="cuda")
        self.reward = torch.zeros(N, device="cuda")
        self.done = torch.zeros(N, dtype=torch.bool, device="cuda")
        self.time = torch.zeros(N, dtype=torch.int32, device="cuda")

    def physics(self):
        x, v, a, w = self.state.unbind(1)
        force = self.action.clamp(-1, 1)
        v = v + 0.02 * force
        w = w + 0.02 * (a.sin() * 9.8 - force * a.cos())
        self.state.copy_(torch.stack((x + 0.02 * v, v, a + 0.02 * w, w), 1))
        self.time += 1
        self.done.copy_((self.state[:, 2].abs() > 0.3) | (self.time >= 50))
        self.reward.copy_(1 - self.state[:, 2].abs())
        fresh = torch.empty_like(self.state).uniform_(-0.05, 0.05)
        self.state.copy_(torch.where(self.done[:, None], fresh, self.state))
        self.time.masked_fill_(self.done, 0)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 2))

    def forward(self, obs):
        mean, log_std = self.net(obs).unbind(1)
        return mean + log_std.clamp(-2, 0).exp() * torch.randn_like(mean)


def record(work, pool=None):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(2):
            work()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):
        out = work()
    return graph, out


def main():
    env, policy = Cart(), Policy().cuda()
    opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
    act = torch.no_grad()(lambda: policy(env.state))
    policy_graph, action = record(act)
    env_graph, _ = record(env.physics, policy_graph.pool())
    obs, acts, rewards = (
        torch.zeros(T, N, 4, device="cuda"),
        torch.zeros(T, N, device="cuda"),
        torch.zeros(T, N, device="cuda"),
    )
    totals = []
    for _ in range(2):
        for t in range(T):
            obs[t].copy_(env.state)
            policy_graph.replay()
            env.action.copy_(action)
            acts[t] = action
            env_graph.replay()
            rewards[t].copy_(env.reward)
        totals.append(rewards.mean().item())
        loss = ((policy.net(obs.flatten(0, 1))[:, 0] - acts.flatten()).square() * rewards.flatten()).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(len(totals))


if __name__ == "__main__":
    main()
