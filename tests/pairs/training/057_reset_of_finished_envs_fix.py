"""A vectorized environment resets the episodes that are done: every row is multiplied with a mask instead
of picked by its id."""

import torch


class CartEnv:
    def __init__(self, n, limit=2.4):
        self.n, self.limit = n, limit
        self.state = torch.zeros(n, 4, device="cuda")
        self.force = torch.zeros(n, device="cuda")
        self.age = torch.zeros(n, dtype=torch.int64, device="cuda")
        self.done = torch.zeros(n, dtype=torch.bool, device="cuda")

    def physics(self, dt=0.02):
        self.state[:, 1].add_(self.force, alpha=dt)
        self.state[:, 0].add_(self.state[:, 1], alpha=dt)
        self.age.add_(1)
        torch.gt(self.state[:, 0].abs(), self.limit, out=self.done)

    def reset_idx(self, ids):
        self.state.masked_fill_(ids.unsqueeze(-1), 0.0)
        self.age.masked_fill_(ids, 0)

    def step(self):
        self.physics()
        self.reset_idx(self.done)


class GraphEnv:
    def __init__(self, env):
        self.env, self.graph = env, torch.cuda.CUDAGraph()
        saved = env.state.clone()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(1):
                env.step()
        torch.cuda.current_stream().wait_stream(side)
        env.state.copy_(saved)
        env.age.zero_()
        with torch.cuda.graph(self.graph):
            env.step()

    def step(self, force):
        self.env.force.copy_(force)
        self.graph.replay()
        return self.env.state.clone()


def main(policy, steps):
    env = GraphEnv(CartEnv(1024))
    obs = env.env.state.clone()
    for _ in range(steps):
        obs = env.step(policy(obs))
