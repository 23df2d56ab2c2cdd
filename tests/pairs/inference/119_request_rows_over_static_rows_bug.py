"""Symptom: the batch manager swaps whole tensors between the running and the waiting set when requests move;
the graph keeps reading what the running set was made of at the capture.
"""

import torch
import torch.nn as nn


class RequestSet:
    def __init__(self, rows: int, width: int):
        self.hidden = torch.zeros(rows, width, device="cuda")
        self.lengths = torch.zeros(rows, dtype=torch.long, device="cuda")

    def exchange(self, other: "RequestSet") -> None:
        self.hidden, other.hidden = other.hidden, self.hidden  # HAZARD: rebind-static-input
        self.lengths, other.lengths = other.lengths, self.lengths  # HAZARD: rebind-static-input


class BatchManager:
    def __init__(self, rows: int, width: int):
        self.sets = {"running": RequestSet(rows, width), "waiting": RequestSet(rows, width)}

    @property
    def running(self) -> RequestSet:
        return self.sets["running"]

    def rotate(self) -> None:
        self.running.exchange(self.sets["waiting"])

    def fill_waiting(self, hidden: torch.Tensor, lengths: torch.Tensor) -> None:
        self.sets["waiting"].hidden.copy_(hidden)
        self.sets["waiting"].lengths.copy_(lengths)


class RotatingEngine:
    def __init__(self, net: nn.Module, rows: int, width: int):
        self.net, self.manager = net.cuda(), BatchManager(rows, width)
        self.graph = torch.cuda.CUDAGraph()
        self._record()

    def _run(self) -> torch.Tensor:
        running = self.manager.running
        return self.net(running.hidden) * (running.lengths[:, None] > 0)

    @torch.inference_mode()
    def _record(self) -> None:
        for _ in range(2):
            self._run()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.out = self._run()

    def turn(self, hidden: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        self.manager.fill_waiting(hidden, lengths)
        self.manager.rotate()
        self.graph.replay()
        return self.out.clone()
