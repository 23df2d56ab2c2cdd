"""After disaggregated prefill with layer-wise KV transfer.

Symptom: each layer makes its stream wait for the event that the receiver records when the blocks of the layer
have arrived. Under capture that event belongs to work that is not captured.
"""

from __future__ import annotations

import torch
import torch.nn as nn


class KVReceiver:
    """Copies blocks from a staging area on a stream of its own."""

    def __init__(self, layers: int, blocks: int, width: int):
        self.stream = torch.cuda.Stream()
        self.kv = [torch.zeros(blocks, width, device="cuda") for _ in range(layers)]
        self.staged = [torch.zeros(blocks, width, pin_memory=True) for _ in range(layers)]
        self.arrived = [torch.cuda.Event() for _ in range(layers)]

    def receive(self) -> None:
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            for kv, staged, event in zip(self.kv, self.staged, self.arrived):
                kv.copy_(staged, non_blocking=True)
                event.record()

    def wait_for_layer(self, layer: int) -> None:
        torch.cuda.current_stream().wait_event(self.arrived[layer])  # HAZARD: stream-escape, sync-in-capture


class Attention(nn.Module):
    def __init__(self, layer: int, width: int, receiver: KVReceiver):
        super().__init__()
        self.layer, self.receiver = layer, receiver
        self.q = nn.Linear(width, width, device="cuda")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q = self.q(x)
        self.receiver.wait_for_layer(self.layer)
        kv = self.receiver.kv[self.layer]
        return torch.softmax(q @ kv.T, dim=-1) @ kv


class DecodeInstance:
    def __init__(self, layers: int, blocks: int, width: int, batch: int):
        self.receiver = KVReceiver(layers, blocks, width)
        self.layers = nn.ModuleList(Attention(i, width, self.receiver) for i in range(layers))
        self.x = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _forward(self) -> torch.Tensor:
        x = self.x
        for layer in self.layers:
            x = x + layer(x)
        return x

    @torch.inference_mode()
    def start(self) -> None:
        self.receiver.receive()
        for _ in range(2):
            self._forward()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self._forward()

    @torch.inference_mode()
    def decode(self, x: torch.Tensor) -> torch.Tensor:
        self.receiver.receive()
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
