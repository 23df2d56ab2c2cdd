"""Symptom: captured code waits for an event that the page loader recorded on its own stream before the
capture: the dependency is on work outside of the graph.
"""

import torch
import torch.nn as nn


class PageLoader:
    def __init__(self, pages: int, width: int):
        self.stream = torch.cuda.Stream()
        self.loaded = torch.cuda.Event()
        self.pages = torch.zeros(pages, width, device="cuda")
        self.host = torch.zeros(pages, width).pin_memory()

    def load(self, first: int, count: int) -> None:
        with torch.cuda.stream(self.stream):
            part = slice(first, first + count)
            self.pages[part].copy_(self.host[part], non_blocking=True)
            self.loaded.record()

    def wait(self) -> None:
        torch.cuda.current_stream().wait_event(self.loaded)  # HAZARD: stream-escape


class PagedLayer(nn.Module):
    def __init__(self, width: int, loader: PageLoader):
        super().__init__()
        self.q = nn.Linear(width, width)
        self.loader = loader

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.loader.wait()
        keys = self.loader.pages
        return (self.q(x) @ keys.t()).softmax(-1) @ keys


class PagedEngine:
    def __init__(self, width: int, pages: int, batch: int):
        self.loader = PageLoader(pages, width)
        self.layer = PagedLayer(width, self.loader).cuda()
        self.x = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.no_grad()
    def start(self) -> None:
        self.loader.load(0, 4)
        for _ in range(2):
            self.layer(self.x)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self.layer(self.x)

    def step(self, x: torch.Tensor, first: int) -> torch.Tensor:
        self.loader.load(first, 4)
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
