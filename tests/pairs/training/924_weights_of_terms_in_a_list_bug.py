"""Drawn from the same reward terms as 906, as a callable with lists of terms and weights.

Symptom: a weight that is scaled during the training has no effect on the recorded rewards.
"""

from functools import partial

import torch


def distance(obs, goal):
    return (obs - goal).norm(dim=-1)


def effort(obs, goal):
    return obs.square().sum(-1)


class Rewards:
    def __init__(self, terms, weights):
        self.terms = list(terms)
        self.weights = list(weights)

    def __call__(self, obs, goal):
        parts = [w * term(obs, goal) for term, w in zip(self.terms, self.weights)]  # HAZARD: frozen-scalar
        return torch.stack(parts).sum(0)

    def scale(self, index, factor):
        self.weights[index] *= factor  # ALT: frozen-scalar


def recorded(fn):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        fn()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = fn()
    return graph, out


def rollouts(policy, sim, iterations, steps=24):
    rewards = Rewards([distance, effort], [1.0, 0.01])
    obs = torch.zeros(512, 3, device="cuda")
    goal = torch.ones(3, device="cuda")
    graph, reward = recorded(partial(rewards, obs, goal))
    totals = []
    for iteration in range(iterations):
        total = torch.zeros(512, device="cuda")
        for _ in range(steps):
            obs.copy_(sim(policy(obs)))
            graph.replay()
            total += reward
        totals.append(total.mean())
        if iteration % 50 == 49:
            rewards.scale(1, 2.0)
    return totals
