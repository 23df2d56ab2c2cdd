"""Policy and value graphs come from one helper that draws from one pool; the advantage is computed from
graphs that replay in the order in which they were captured."""

import torch
from torch import nn

POOL = torch.cuda.graph_pool_handle()


def graphed(fn, x):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(2):
            fn(x)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=POOL):
        y = fn(x)
    return graph, y


class Evaluator:
    def __init__(self, value, policy, n, obs):
        self.nets = value, policy
        self.obs = torch.zeros(n, obs, device="cuda")
        with torch.no_grad():
            self.policy_graph, self.logits = graphed(policy, self.obs)
            self.value_graph, self.value = graphed(value, self.obs)

    def __call__(self, obs):
        self.obs.copy_(obs)
        self.policy_graph.replay()
        logits = self.logits.clone()
        self.value_graph.replay()
        value = self.value.squeeze(-1)
        return value - logits.logsumexp(-1)


def main(batches):
    evaluator = Evaluator(nn.Linear(8, 1).cuda(), nn.Linear(8, 4).cuda(), 64, 8)
    return [evaluator(obs).mean().item() for obs in batches]
