"""Clean: a sampling-based controller: the rollouts of one control step are a graph whose generator is registered, costs
are read on the host after the replay, the plan is shifted in place."""

from functools import partial

import torch


def quadratic(target, weight, states):
    return weight * (states - target).square().sum(-1)


class Controller:
    def __init__(self, horizon, samples, dim, seed=0):
        self.horizon, self.samples = horizon, samples
        self.state = torch.zeros(dim, device="cuda")
        self.target = torch.zeros(dim, device="cuda")
        self.plan = torch.zeros(horizon, dim, device="cuda")
        self.sigma = torch.full((), 0.5, device="cuda")
        self.gen = torch.Generator(device="cuda")
        self.gen.manual_seed(seed)
        self.terms = [partial(quadratic, self.target, 1.0), lambda s: 0.01 * s.abs().sum(-1)]

    def _improve(self):
        noise = torch.randn(self.samples, *self.plan.shape, device="cuda", generator=self.gen) * self.sigma
        controls = self.plan + noise
        s = self.state.expand(self.samples, -1)
        cost = torch.zeros(self.samples, device="cuda")
        for t in range(self.horizon):
            s = s + 0.05 * torch.tanh(controls[:, t])
            for term in self.terms:
                cost = cost + term(s)
        weights = torch.softmax(-(cost - cost.min()), dim=0)
        self.plan.add_(torch.einsum("s,std->td", weights, noise))
        return cost

    def build(self):
        before = self.plan.clone()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(2):
                self._improve()
        torch.cuda.current_stream().wait_stream(side)
        self.plan.copy_(before)
        self.graph = torch.cuda.CUDAGraph()
        self.graph.register_generator_state(self.gen)
        with torch.cuda.graph(self.graph):
            self.cost = self._improve()

    def act(self, state, target, verbose=False):
        self.state.copy_(state)
        self.target.copy_(target)
        for _ in range(4):
            self.graph.replay()
        if verbose:
            print("best cost", self.cost.min().item())
        action = self.plan[0].cpu().numpy()
        shifted = self.plan.roll(-1, dims=0)
        shifted[-1].zero_()
        self.plan.copy_(shifted)
        return action
