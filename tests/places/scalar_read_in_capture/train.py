"""A captured training step with a meter, and a simulator with an adaptive step."""

import math

import torch


class Meter:
    def __init__(self):
        self.total = 0.0

    def update(self, loss: torch.Tensor):
        self.total += loss.detach().item()  # expect: CG302


def clipped(grads: list[torch.Tensor], limit: float):
    norm = torch.stack([g.norm() for g in grads]).norm()
    scale = limit / max(float(norm), limit)  # expect: CG302
    return [g * scale for g in grads]


def record(weights: torch.Tensor, batch: torch.Tensor, meter: Meter):
    weights, batch = weights.cuda(), batch.cuda()
    steps = math.ceil(batch.numel() / 32)  # ok: CG302

    def step():
        loss = (weights * batch).pow(2).mean()
        meter.update(loss)
        return clipped([loss * weights], 1.0)

    step()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        grads = step()
    return graph, grads, steps, weights, batch


def advance(speed: torch.Tensor, position: torch.Tensor, dx: float):
    dt = dx / speed.abs().max().item()  # expect: CG302
    return position + dt * speed


def advance_on_device(speed: torch.Tensor, position: torch.Tensor, dx: float):
    dt = dx / speed.abs().max()  # ok: CG302
    return position + dt * speed


def simulate(position: torch.Tensor, speed: torch.Tensor):
    position, speed = position.cuda(), speed.cuda()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        moved = advance(speed, advance_on_device(speed, position, 0.1), 0.1)
    return graph, position, speed, moved
