"""Symptom: a thread polls copy events to free host buffers; when the engine captures a new size at that
moment, the poll is an unsafe call and the capture is lost.
"""

import threading
import time

import torch
import torch.nn as nn


class HostBuffers:
    def __init__(self):
        self.waiting: list[tuple[torch.cuda.Event, torch.Tensor]] = []
        self.free: list[torch.Tensor] = []
        self.lock = threading.Lock()

    def give_back(self, buffer: torch.Tensor) -> None:
        event = torch.cuda.Event()
        event.record()
        with self.lock:
            self.waiting.append((event, buffer))

    def poll(self) -> None:
        while True:
            with self.lock:
                done = [pair for pair in self.waiting if pair[0].query()]  # ALT: thread-mode
                self.waiting = [pair for pair in self.waiting if pair not in done]
                self.free += [buffer for _, buffer in done]
            time.sleep(0.001)


class LazyGraphEngine:
    def __init__(self, net: nn.Module, width: int):
        self.net, self.width = net.cuda().eval(), width
        self.buffers = HostBuffers()
        self.graphs: dict[int, tuple] = {}
        self.pool = torch.cuda.graph_pool_handle()
        threading.Thread(target=self.buffers.poll, daemon=True).start()

    @torch.inference_mode()
    def _capture(self, size: int) -> tuple:
        x = torch.zeros(size, self.width, device="cuda")
        for _ in range(2):
            self.net(x)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool):  # HAZARD: thread-mode
            y = self.net(x)
        return graph, x, y

    def infer(self, host: torch.Tensor) -> torch.Tensor:
        size = host.shape[0]
        if size not in self.graphs:
            self.graphs[size] = self._capture(size)
        graph, x, y = self.graphs[size]
        x.copy_(host, non_blocking=True)
        self.buffers.give_back(host)
        graph.replay()
        return y.clone()
