"""Fixed form: the model hands out copies."""

import torch
import torch.nn as nn
from torch.cuda import CUDAGraph, Stream, current_stream
from torch.cuda import graph as record_graph
from torch.cuda import stream as on_stream


class FeatureTap:
    def __init__(self, net: nn.Sequential, layers: tuple[int, ...]):
        self.found: dict[int, torch.Tensor] = {}
        for index in layers:
            net[index].register_forward_hook(self._file(index))

    def _file(self, index: int):
        def hook(module, args, output):
            self.found[index] = output

        return hook


class TappedModel:
    def __init__(self, width: int, depth: int, batch: int):
        self.net = nn.Sequential(*(nn.Linear(width, width) for _ in range(depth))).cuda()
        self.tap = FeatureTap(self.net, (0, 2))
        self.x = torch.zeros(batch, width, device="cuda")
        self.graph = CUDAGraph()
        self._record()

    @torch.inference_mode()
    def _record(self) -> None:
        side = Stream()
        side.wait_stream(current_stream())
        with on_stream(side):
            for _ in range(3):
                self.net(self.x)
        current_stream().wait_stream(side)
        with record_graph(self.graph):
            self.y = self.net(self.x)

    def features(self, x: torch.Tensor) -> dict[int, torch.Tensor]:
        self.x.copy_(x)
        self.graph.replay()
        return {index: value.clone() for index, value in self.tap.found.items()}


class ProbeClient:
    def __init__(self, model: TappedModel):
        self.model = model
        self.kept: list[dict[int, torch.Tensor]] = []

    def observe(self, x: torch.Tensor) -> None:
        self.kept.append(self.model.features(x))

    def mean(self, layer: int) -> torch.Tensor:
        return torch.stack([found[layer] for found in self.kept]).mean(0)


def probe(model: TappedModel, inputs: list[torch.Tensor]) -> torch.Tensor:
    client = ProbeClient(model)
    for x in inputs:
        client.observe(x)
    return client.mean(0)
