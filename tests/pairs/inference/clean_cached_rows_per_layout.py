"""Clean: row tables are cached by layout before anything is captured, graphs are kept by layout, and requests
get copies of their rows.
"""

from dataclasses import dataclass, field

import torch
import torch.nn as nn


@dataclass(frozen=True)
class Layout:
    rows: int
    stride: int


@dataclass
class Request:
    x: torch.Tensor
    layout: Layout
    answer: torch.Tensor | None = None
    history: list[torch.Tensor] = field(default_factory=list)


class RowTables:
    def __init__(self, layouts: list[Layout]):
        self.tables = {each: torch.arange(each.rows, device="cuda") * each.stride for each in layouts}

    def __getitem__(self, layout: Layout) -> torch.Tensor:
        return self.tables[layout]


class LayoutRunner:
    def __init__(self, net: nn.Module, layouts: list[Layout], length: int, width: int):
        self.net = net.cuda().eval()
        self.tables = RowTables(layouts)
        self.x = torch.zeros(length, width, device="cuda")
        self.graphs, self.outs = {}, {}
        pool = torch.cuda.graph_pool_handle()
        with torch.inference_mode():
            for layout in sorted(layouts, key=lambda each: each.rows, reverse=True):
                for _ in range(2):
                    self.net(self.x[self.tables[layout]])
                torch.cuda.synchronize()
                self.graphs[layout] = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graphs[layout], pool=pool):
                    self.outs[layout] = self.net(self.x[self.tables[layout]])

    def serve(self, requests: list[Request]) -> None:
        for request in requests:
            self.x.zero_()
            self.x[: request.x.shape[0]].copy_(request.x)
            self.graphs[request.layout].replay()
            request.answer = self.outs[request.layout].clone()
            request.history.append(request.answer)
