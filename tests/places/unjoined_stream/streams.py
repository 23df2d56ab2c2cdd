"""Helpers that put work on another stream."""

import torch


class SideStream:
    def __init__(self):
        self.stream = torch.cuda.Stream()
        self.done = torch.cuda.Event()

    def run(self, work, *args):
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):  # expect: CG506
            return work(*args)


class JoinedStream(SideStream):
    def run(self, work, *args):
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):  # ok: CG506
            out = work(*args)
            self.done.record()
        self.done.wait()
        return out


def offload(x: torch.Tensor, host: torch.Tensor, stream: torch.cuda.Stream):
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):  # expect: CG506
        host.copy_(x, non_blocking=True)
