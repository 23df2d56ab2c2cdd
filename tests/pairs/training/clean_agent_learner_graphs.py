"""Clean: acting and learning have graphs of their own, epsilon and rate live on the device, the target
network follows by lerp inside the graph, and what is printed is read after a replay."""

import copy

import torch
from torch import nn


class Memory:
    def __init__(self, size: int, obs: int):
        self.obs = torch.zeros(size, obs, device="cuda")
        self.next = torch.zeros(size, obs, device="cuda")
        self.action = torch.zeros(size, dtype=torch.long, device="cuda")
        self.reward = torch.zeros(size, device="cuda")
        self.size, self.position = size, 0

    def add(self, obs, action, reward, following) -> None:
        rows = slice(self.position, self.position + obs.shape[0])
        for dst, src in (
            (self.obs, obs),
            (self.action, action),
            (self.reward, reward),
            (self.next, following),
        ):
            dst[rows].copy_(src)
        self.position = (self.position + obs.shape[0]) % self.size

    def sample(self, batch: int):
        rows = torch.randint(0, self.size, (batch,), device="cuda")
        return self.obs[rows], self.action[rows], self.reward[rows], self.next[rows]


class Graphed:
    def __init__(self, body):
        self.body, self.graph, self.result = body, None, None

    def __call__(self):
        if self.graph is None:
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(3):
                    self.body()
            torch.cuda.current_stream().wait_stream(side)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.result = self.body()
        self.graph.replay()
        return self.result


class Agent:
    def __init__(self, q: nn.Module, envs: int, obs: int, actions: int):
        self.q, self.target = q.cuda(), copy.deepcopy(q).cuda()
        self.actions = actions
        self.memory = Memory(envs * 1024, obs)
        self.obs = torch.zeros(envs, obs, device="cuda")
        self.epsilon = torch.ones((), device="cuda")
        self.opt = torch.optim.Adam(
            self.q.parameters(), lr=torch.tensor(1e-3, device="cuda"), capturable=True
        )
        self.act, self.learn = Graphed(self._act), Graphed(self._learn)

    @torch.no_grad()
    def _act(self) -> torch.Tensor:
        greedy = self.q(self.obs).argmax(-1)
        random = torch.randint(0, self.actions, greedy.shape, device="cuda")
        return torch.where(torch.rand(greedy.shape, device="cuda") < self.epsilon, random, greedy)

    def _learn(self) -> torch.Tensor:
        obs, action, reward, following = self.memory.sample(256)
        with torch.no_grad():
            goal = reward + 0.99 * self.target(following).max(-1).values
        self.opt.zero_grad(set_to_none=True)
        loss = nn.functional.smooth_l1_loss(self.q(obs).gather(1, action[:, None]).squeeze(1), goal)
        loss.backward()
        self.opt.step()
        with torch.no_grad():
            for mine, theirs in zip(self.target.parameters(), self.q.parameters()):
                mine.lerp_(theirs, 0.005)
        return loss.detach()

    def run(self, env, steps: int) -> None:
        obs = env.reset()
        for step in range(steps):
            self.obs.copy_(obs)
            self.epsilon.mul_(0.999).clamp_(min=0.05)
            action = self.act().clone()
            following, reward = env.step(action)
            self.memory.add(obs, action, reward, following)
            obs = following
            if step > 1000:
                loss = self.learn()
                if step % 500 == 0:
                    print(step, loss.item())
