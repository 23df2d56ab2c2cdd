"""A timer that engineers leave in their models."""

import torch


class Timer:
    def __init__(self):
        self.start = torch.cuda.Event(enable_timing=True)
        self.stop = torch.cuda.Event(enable_timing=True)
        self.elapsed = []

    def __enter__(self):
        self.start.record()
        return self

    def __exit__(self, *error):
        self.stop.record()
        self.stop.synchronize()  # expect: CG301
        self.elapsed.append(self.start.elapsed_time(self.stop))  # expect: CG301


class GpuBarrier:
    def __call__(self):
        if torch.cuda.is_current_stream_capturing():
            return
        torch.cuda.synchronize()  # ok: CG301
