"""The bias is adjusted in place."""

import torch
import torch.nn as nn


class Router(nn.Module):
    def __init__(self, width: int, experts: int):
        super().__init__()
        self.gate = nn.Linear(width, experts, bias=False, device="cuda")
        self.register_buffer("bias", torch.zeros(experts, device="cuda"))
        self.register_buffer("load", torch.zeros(experts, device="cuda"))

    def forward(self, x: torch.Tensor):
        scores = self.gate(x).sigmoid()
        _, ids = (scores + self.bias).topk(4, dim=-1)
        self.load.scatter_add_(0, ids.flatten(), torch.ones_like(ids.flatten(), dtype=self.load.dtype))
        return scores.gather(1, ids), ids


class Balancer:
    def __init__(self, routers: list[Router], rate: float = 1e-3, every: int = 100):
        self.routers, self.rate, self.every = routers, rate, every
        self.steps = 0

    def after_step(self) -> None:
        self.steps += 1
        if self.steps % self.every:
            return
        for router in self.routers:
            error = router.load.mean() - router.load
            router.bias.add_(error.sign(), alpha=self.rate)
            router.load.zero_()


class RoutedModel:
    def __init__(self, width: int, experts: int, depth: int, batch: int):
        self.routers = [Router(width, experts) for _ in range(depth)]
        self.balancer = Balancer(self.routers)
        self.x = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _forward(self) -> torch.Tensor:
        x = self.x
        for router in self.routers:
            weights, _ = router(x)
            x = x * weights.sum(-1, keepdim=True)
        return x

    @torch.no_grad()
    def capture(self) -> None:
        for _ in range(2):
            self._forward()
        torch.cuda.synchronize()
        for router in self.routers:
            router.load.zero_()
        with torch.cuda.graph(self.graph):
            self.y = self._forward()

    @torch.no_grad()
    def step(self, x: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.graph.replay()
        self.balancer.after_step()
        return self.y.clone()
