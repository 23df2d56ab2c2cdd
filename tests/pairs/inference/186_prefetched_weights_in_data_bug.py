"""After layer-wise weight streaming: a layer's weights are swapped in before it runs.

Symptom: the swap gives the parameter another of two buffers. Under replay the swap does not run, and the recorded
layer reads the buffer of another layer.
"""

import torch
import torch.nn as nn


class Swapper:
    def __init__(self, layers: list[nn.Linear]):
        self.layers = layers
        self.host = [layer.weight.detach().cpu().pin_memory() for layer in layers]
        self.slots = [torch.empty_like(layers[0].weight) for _ in range(2)]

    def load(self, index: int) -> None:
        slot = self.slots[index % 2]
        slot.copy_(self.host[index], non_blocking=True)
        self.layers[index].weight.data = slot  # HAZARD: stale-pointer


class StreamedModel:
    def __init__(self, width: int, depth: int, batch: int):
        self.layers = [nn.Linear(width, width, device="cuda") for _ in range(depth)]
        self.swapper = Swapper(self.layers)
        self.x = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self.layers[0](self.x)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self.layers[0](self.x)

    @torch.inference_mode()
    def run(self, x: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.swapper.load(0)
        self.graph.replay()
        return self.y.clone()
