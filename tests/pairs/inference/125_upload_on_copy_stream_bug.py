"""Symptom: the next batch is uploaded on a copy stream into the static input, and the replay on the main
stream does not wait for the upload.
"""

import torch
import torch.nn as nn


class Uploader:
    def __init__(self, target: torch.Tensor):
        self.target = target
        self.stage = torch.zeros(target.shape).pin_memory()
        self.stream = torch.cuda.Stream()
        self.arrived = torch.cuda.Event()

    def send(self, rows: torch.Tensor) -> None:
        self.arrived.synchronize()
        self.stage.copy_(rows)
        with torch.cuda.stream(self.stream):
            self.target.copy_(self.stage, non_blocking=True)  # HAZARD: stream-escape
            self.arrived.record()


class UploadEngine:
    def __init__(self, net: nn.Module, batch: int, width: int):
        self.net = net.cuda().eval()
        self.x = torch.zeros(batch, width, device="cuda")
        self.uploader = Uploader(self.x)
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self.net(self.x)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self.net(self.x)

    def infer(self, rows: torch.Tensor) -> list[list[float]]:
        self.uploader.send(rows)
        self.graph.replay()  # ALT: stream-escape
        return self.y.tolist()
