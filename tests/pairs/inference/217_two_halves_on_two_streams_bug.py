"""After a translator that overlaps two halves of a batch.

Symptom: both halves replay the same graph, each on a stream of its own; they share all of its memory.
"""

from __future__ import annotations

import torch
import torch.nn as nn


class HalfBatchTranslator:
    def __init__(self, model: nn.Module, batch: int, width: int):
        self.model = model
        self.streams = [torch.cuda.Stream(), torch.cuda.Stream()]
        self.graphs: list[torch.cuda.CUDAGraph] = []
        self.inputs = [torch.zeros(batch // 2, width, device="cuda") for _ in self.streams]
        self.outputs: list[torch.Tensor] = []
        self.results = torch.zeros(batch, width, device="cuda")

    def _record(self, x: torch.Tensor, pool) -> None:
        for _ in range(2):
            self.model(x)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool):
            self.outputs.append(self.model(x))
        self.graphs.append(graph)

    @torch.inference_mode()
    def capture(self) -> None:
        pool = torch.cuda.graph_pool_handle()
        for x in self.inputs:
            self._record(x, pool)

    def translate(self, x: torch.Tensor) -> torch.Tensor:
        main = torch.cuda.current_stream()
        halves = zip(x.chunk(2), self.results.chunk(2))
        for i, (half, result) in enumerate(halves):
            stream = self.streams[i]
            stream.wait_stream(main)
            with torch.cuda.stream(stream):
                self.inputs[i].copy_(half)
                self.graphs[i].replay()  # HAZARD: pool-misuse
                result.copy_(self.outputs[i])
        for stream in self.streams:
            main.wait_stream(stream)
        return self.results.clone()
