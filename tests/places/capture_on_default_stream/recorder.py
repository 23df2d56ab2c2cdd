"""A recorder that leaves the stream to its caller."""

import torch


class Recorder:
    def __init__(self):
        self.graph = torch.cuda.CUDAGraph()

    def begin(self):
        self.graph.capture_begin()  # expect: CG509

    def end(self):
        self.graph.capture_end()


class OnItsOwnStream(Recorder):
    def __init__(self):
        super().__init__()
        self.stream = torch.cuda.Stream()

    def begin(self):
        with torch.cuda.stream(self.stream):
            self.graph.capture_begin()  # ok: CG509
