"""Drawn from LibreYOLO/libreyolo#681 and similar reports from trainers.

Symptom: the step is captured in the first iteration of the loop over a pinning loader with workers, in
the default mode; the loader's thread pins the next batches at the same time.
"""

from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.data import DataLoader


@dataclass
class LoaderOptions:
    batch_size: int = 32
    workers: int = 4
    pin: bool = True

    def build(self, dataset) -> DataLoader:
        return DataLoader(
            dataset,
            self.batch_size,
            shuffle=True,
            drop_last=True,
            num_workers=self.workers,
            pin_memory=self.pin,
        )


class Trainer:
    def __init__(self, net: nn.Module, dataset, options: LoaderOptions):
        self.net = net.cuda()
        self.loader = options.build(dataset)
        self.opt = torch.optim.SGD(net.parameters(), lr=0.1)
        self.graph: torch.cuda.CUDAGraph | None = None

    def _step(self) -> None:
        self.opt.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(self.net(self.x), self.y).backward()
        self.opt.step()

    def _capture(self, x: torch.Tensor, y: torch.Tensor) -> None:
        self.x, self.y = x.clone(), y.clone()
        s = torch.cuda.Stream()
        s.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(s):
            for _ in range(3):
                self._step()
        torch.cuda.current_stream().wait_stream(s)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):  # HAZARD: thread-mode
            self._step()

    def epoch(self) -> None:
        for x, y in self.loader:
            x, y = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
            if self.graph is None:
                self._capture(x, y)
            self.x.copy_(x)
            self.y.copy_(y)
            self.graph.replay()
