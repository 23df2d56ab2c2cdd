"""Drawn from servers that export GPU memory figures (a thread that samples them).

Symptom: the monitor synchronizes the device before it reads the figures. Graphs are recorded on demand
while it runs, and a synchronization by any thread ends the capture with an error.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class Gauges:
    allocated: int = 0
    reserved: int = 0
    samples: int = 0


class MemoryMonitor(threading.Thread):
    def __init__(self, gauges: Gauges, period: float = 5.0):
        super().__init__(daemon=True)
        self.gauges, self.period = gauges, period
        self.stopping = threading.Event()

    def run(self) -> None:
        while not self.stopping.is_set():
            torch.cuda.synchronize()  # HAZARD: thread-mode, sync-in-capture
            self.gauges.allocated = torch.cuda.memory_allocated()
            self.gauges.reserved = torch.cuda.memory_reserved()
            self.gauges.samples += 1
            time.sleep(self.period)


class LazyServer:
    def __init__(self, model: nn.Module, width: int):
        self.model, self.width = model, width
        self.gauges = Gauges()
        self.monitor = MemoryMonitor(self.gauges)
        self.entries: dict[int, tuple] = {}

    def start(self) -> None:
        self.monitor.start()

    def _entry(self, rows: int):
        x = torch.zeros(rows, self.width, device="cuda")
        for _ in range(2):
            self.model(x)
        torch.cuda.current_stream().synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):  # ALT: thread-mode
            y = self.model(x)
        return graph, x, y

    @torch.inference_mode()
    def infer(self, x: torch.Tensor) -> torch.Tensor:
        rows = x.shape[0]
        if rows not in self.entries:
            self.entries[rows] = self._entry(rows)
        graph, static, y = self.entries[rows]
        static.copy_(x)
        graph.replay()
        return y.clone()


def serve(model: nn.Module, width: int, requests) -> list[torch.Tensor]:
    server = LazyServer(model, width)
    server.start()
    return [server.infer(x) for x in requests]
