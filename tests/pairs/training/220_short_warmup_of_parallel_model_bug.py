"""Drawn from the notes on DistributedDataParallel and graphs (at least eleven iterations, side stream).

Symptom: the parallel model is made on the default stream and warmed up for three iterations, so that the
reducer still rebuilds its buckets when the step is captured.
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

WARMUPS = 3


class Setup:
    def __init__(self, net: nn.Module, rank: int):
        self.rank, self.stream = rank, torch.cuda.Stream()
        self.net = DistributedDataParallel(
            net.cuda(rank), device_ids=[rank]
        )  # ALT: stream-escape, missing-warmup

    def optimizer(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.net.parameters(), lr=0.1, momentum=0.9)


class StepGraph:
    def __init__(self, setup: Setup, x: torch.Tensor, y: torch.Tensor):
        self.setup, self.x, self.y = setup, x.clone(), y.clone()
        self.opt = setup.optimizer()

    def _step(self) -> torch.Tensor:
        self.opt.zero_grad(set_to_none=True)
        loss = nn.functional.mse_loss(self.setup.net(self.x), self.y)
        loss.backward()
        self.opt.step()
        return loss

    def capture(self) -> None:
        stream = self.setup.stream
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(WARMUPS):
                self._step()
        torch.cuda.current_stream().wait_stream(stream)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, stream=stream):  # HAZARD: missing-warmup
            self.loss = self._step()

    def run(self, x: torch.Tensor, y: torch.Tensor) -> None:
        self.x.copy_(x)
        self.y.copy_(y)
        self.graph.replay()


def main(net: nn.Module, loader, rank: int, world: int) -> None:
    dist.init_process_group("nccl", rank=rank, world_size=world)
    x, y = (t.cuda(rank) for t in next(iter(loader)))
    step = StepGraph(Setup(net, rank), x, y)
    step.capture()
    for x, y in loader:
        step.run(x, y)
