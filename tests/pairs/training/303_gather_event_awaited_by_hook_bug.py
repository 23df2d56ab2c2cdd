"""Drawn from NVIDIA/Megatron-LM#7282 and NVIDIA-NeMo/Megatron-Bridge#5788.

Symptom: each optimizer step starts to gather the parameters of the first layers and records an event; a
pre-hook of each layer waits for it. Under capture that wait depends on work that is not being recorded.
"""

from __future__ import annotations

import torch
from torch import nn


class ShardedParameters:
    """Full weights are filled from shards on a side stream, one event for each layer."""

    def __init__(self, layers: nn.ModuleList) -> None:
        self.layers = layers
        self.shards = [[p.detach().clone() for p in layer.parameters()] for layer in layers]
        self.side = torch.cuda.Stream()
        self.gathered = [torch.cuda.Event() for _ in layers]
        for index, layer in enumerate(layers):
            layer.register_forward_pre_hook(self._hook(index))

    def _hook(self, index: int):
        def wait(module: nn.Module, args: tuple) -> None:
            torch.cuda.current_stream().wait_event(self.gathered[index])  # HAZARD: stream-escape

        return wait

    @torch.no_grad()
    def gather(self) -> None:
        self.side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.side):
            for event, layer, shards in zip(self.gathered, self.layers, self.shards):
                for param, shard in zip(layer.parameters(), shards):
                    param.copy_(shard)
                event.record()

    def wait_all(self) -> None:
        for event in self.gathered:
            torch.cuda.current_stream().wait_event(event)

    @torch.no_grad()
    def update(self, lr: float) -> None:
        for layer, shards in zip(self.layers, self.shards):
            for param, shard in zip(layer.parameters(), shards):
                if param.grad is not None:
                    shard.sub_(param.grad, alpha=lr)


class Stack(nn.Module):
    def __init__(self, width: int, depth: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x


def train(batches, width: int = 512, depth: int = 8) -> None:
    model = Stack(width, depth).cuda()
    sharded = ShardedParameters(model.layers)
    static = torch.zeros(64, width, device="cuda")

    def step() -> torch.Tensor:
        model.zero_grad(set_to_none=True)
        loss = model(static).square().mean()
        loss.backward()
        return loss

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            sharded.gather()
            step()
    torch.cuda.current_stream().wait_stream(stream)

    sharded.gather()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        loss = step()

    for number, batch in enumerate(batches):
        sharded.wait_all()
        static.copy_(batch)
        graph.replay()
        sharded.update(lr=1e-3)
        sharded.gather()
        if number % 100 == 0:
            print(number, loss.item())
