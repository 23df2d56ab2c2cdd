"""Drawn from asynchronous checkpointing in trainers that capture again for each image size.

Symptom: an executor copies the weights to the host while the next resolution is being captured in the
default mode; the copy is refused, or the capture is invalidated.
"""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch
from torch import nn


class ResizableTrainer:
    def __init__(self, net: nn.Module, folder: Path):
        self.net, self.folder = net.cuda(), folder
        self.writer = ThreadPoolExecutor(max_workers=1)
        self.opt = torch.optim.SGD(net.parameters(), lr=0.01)
        self.steps: dict[int, tuple] = {}
        self.pending = None

    def _write(self, number: int) -> None:
        state = {name: value.cpu() for name, value in self.net.state_dict().items()}
        torch.save(state, self.folder / f"{number}.pt")

    def _build(self, size: int):
        x = torch.zeros(8, 3, size, size, device="cuda")
        s = torch.cuda.Stream()
        s.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(s):
            for _ in range(3):
                self.net(x).mean().backward()
        torch.cuda.current_stream().wait_stream(s)
        self.opt.zero_grad(set_to_none=True)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):  # HAZARD: thread-mode
            loss = self.net(x).mean()
            loss.backward()
            self.opt.step()
        return graph, x, loss

    def fit(self, loader, every: int = 500) -> None:
        for number, images in enumerate(loader):
            size = images.shape[-1]
            if size not in self.steps:
                self.steps[size] = self._build(size)
            graph, x, _ = self.steps[size]
            x.copy_(images)
            graph.replay()
            if number % every == 0:
                self.pending = self.writer.submit(self._write, number)
