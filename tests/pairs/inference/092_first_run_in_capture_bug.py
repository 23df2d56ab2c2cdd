"""Symptom: the capture helper hides that nothing ran before: the first matrix product of the process is the
captured one, and creating the library handle fails there.
"""

from contextlib import contextmanager

import torch
import torch.nn as nn


class GraphBox:
    def __init__(self):
        self.graph = torch.cuda.CUDAGraph()
        self.stream = torch.cuda.Stream()

    @contextmanager
    def recording(self):
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.graph(self.graph, stream=self.stream):  # HAZARD: missing-warmup
            yield self.graph
        torch.cuda.current_stream().wait_stream(self.stream)

    def launch(self) -> None:
        self.graph.replay()


class Projector(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.inner = nn.Linear(width, 4 * width)
        self.outer = nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.outer(nn.functional.silu(self.inner(x)))


class Service:
    def __init__(self, width: int, batch: int):
        self.net = Projector(width).cuda().eval()
        self.box = GraphBox()
        self.x = torch.zeros(batch, width, device="cuda")

    @torch.inference_mode()
    def boot(self) -> "Service":
        with self.box.recording():
            self.y = self.net(self.x)
        return self

    def handle(self, x: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.box.launch()
        return self.y.clone()


def main() -> None:
    service = Service(512, 8).boot()
    print(service.handle(torch.zeros(8, 512, device="cuda")).shape)


if __name__ == "__main__":
    main()
