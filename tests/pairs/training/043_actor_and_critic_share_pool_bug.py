"""Actor and critic graphs share one pool. The critic is replayed before the action is used, and its
temporaries may lie where the action does."""

import torch
from torch import nn


class GraphedNet:
    def __init__(self, net, x, pool, stream):
        self.net, self.x = net, x
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(2):
                net(x)
        torch.cuda.current_stream().wait_stream(stream)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, pool=pool, stream=stream):
            self.y = net(x)


class ActorCritic:
    def __init__(self, obs, act, envs):
        self.obs = torch.zeros(envs, obs, device="cuda")
        pool = torch.cuda.graph_pool_handle()
        stream = torch.cuda.Stream()
        with torch.no_grad():
            self.critic = GraphedNet(nn.Linear(obs, 1).cuda(), self.obs, pool, stream)
            self.actor = GraphedNet(nn.Linear(obs, act).cuda(), self.obs, pool, stream)

    def step(self, obs):
        self.obs.copy_(obs)
        self.actor.graph.replay()
        action = self.actor.y
        self.critic.graph.replay()  # ALT: pool-misuse
        return torch.tanh(action), self.critic.y.squeeze(-1)  # HAZARD: pool-misuse


def rollout(env, steps):
    model = ActorCritic(8, 2, 64)
    obs, total = env.reset(), 0.0
    for _ in range(steps):
        action, value = model.step(obs)
        obs, reward = env.step(action)
        total += (reward - value).mean().item()
    return total
