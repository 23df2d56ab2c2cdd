"""Schedules of a captured training step, and an integrator with a time step."""

import torch


class Average:
    def __init__(self, weight: torch.Tensor):
        self.weight = weight.cuda()
        self.mean = torch.zeros_like(self.weight)
        self.step = 1
        self.decay = 0.999
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.mean.mul_(self.decay)  # ok: CG402
            self.mean.lerp_(self.weight, 1.0 / self.step)  # expect: CG402

    def update(self):
        self.step += 1
        self.graph.replay()


class Loss:
    def __init__(self, kl_weight: float):
        self.kl_weight = kl_weight
        self.noise = 0.1

    def anneal(self, epoch: int):
        self.kl_weight = min(1.0, 0.1 * epoch)
        self.noise = 0.1 / (1 + epoch)

    def __call__(self, x, y):
        error = (x - y).pow(2).mean()
        return error + self.kl_weight * y.abs().mean()  # expect: CG402


class Trainer:
    def __init__(self, width: int):
        self.loss = Loss(0.0)
        self.x = torch.zeros(8, width, device="cuda")
        self.y = torch.zeros(8, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            noisy = self.x + self.loss.noise  # graphlint: ignore[CG402] -- only the first noise is meant
            self.value = self.loss(noisy, self.y)

    def epoch(self, number: int, batches):
        self.loss.anneal(number)
        for x, y in batches:
            self.x.copy_(x)
            self.y.copy_(y)
            self.graph.replay()
            yield self.value.clone()


class Integrator:
    def __init__(self, bodies: int):
        self.position = torch.zeros(bodies, 3, device="cuda")
        self.velocity = torch.ones(bodies, 3, device="cuda")
        self.dt = 0.01
        self.substeps = 4
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            for _ in range(self.substeps):  # ok: CG402
                self.position.add_(self.velocity, alpha=self.dt)  # expect: CG402

    def advance(self, speed: float):
        self.dt = 0.1 / speed
        self.graph.replay()
        return self.position.clone()
