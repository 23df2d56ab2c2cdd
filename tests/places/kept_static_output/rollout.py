"""Environment steps in a graph; transitions are kept for the learner."""

from dataclasses import dataclass

import torch


@dataclass
class Transition:
    observation: torch.Tensor
    reward: torch.Tensor


class Environment:
    def __init__(self, count: int):
        self.state = torch.zeros(count, 12, device="cuda")
        self.actions = torch.zeros(count, 3, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.state[:, :3] += self.actions
            self.observation = self.state * 0.5
            self.reward = -self.state.norm(dim=-1)

    def step(self, actions: torch.Tensor):
        self.actions.copy_(actions)
        self.graph.replay()
        return self.observation, self.reward


def collect(environment: Environment, policy, horizon: int):
    replay_buffer = []
    observation, reward = environment.step(torch.zeros(8, 3, device="cuda"))
    for _ in range(horizon):
        observation, reward = environment.step(policy(observation))
        replay_buffer.append(Transition(observation, reward.clone()))  # expect: CG201
    return torch.stack([transition.observation for transition in replay_buffer])


def returns(environment: Environment, policy, horizon: int):
    total = torch.zeros(8, device="cuda")
    observation, reward = environment.step(torch.zeros(8, 3, device="cuda"))
    for _ in range(horizon):
        observation, reward = environment.step(policy(observation))
        total += reward  # ok: CG201
    return total


def reward_curve(environment: Environment, actions: list[torch.Tensor]):
    curve = []
    for action in actions:
        _, reward = environment.step(action)
        curve.append(reward.view(-1))  # expect: CG201
    return torch.stack(curve).mean(dim=1)


def last_reward(environment: Environment, actions: list[torch.Tensor]):
    latest = None
    for action in actions:
        _, latest = environment.step(action)  # ok: CG201
    return latest.mean().item()


def heights(environment: Environment, actions: list[torch.Tensor]):
    trace = torch.zeros(len(actions), 8, device="cuda")
    for turn, action in enumerate(actions):
        observation, _ = environment.step(action)
        trace[turn] = observation[:, 2]  # ok: CG201
    return trace


def compare(environment: Environment, first: torch.Tensor, second: torch.Tensor):
    before = environment.step(first)[1]  # graphlint: ignore[CG201] -- the demonstration of the bug
    after = environment.step(second)[1]
    return torch.equal(before, after)


def improvement(environment: Environment, first: torch.Tensor, second: torch.Tensor):
    before = environment.step(first)[1].detach()  # expect: CG201
    after = environment.step(second)[1]
    return (after - before).mean().item()
