"""Source: a custom operator for segment means, registered for torch.compile.

Symptom: the layer is captured only as long as the fused operator is not used: its Python body makes a list of the segment
lengths before it loops over them.
"""

import torch
from torch import nn


@torch.library.custom_op("segments::mean", mutates_args=())
def segment_mean(values: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    start, rows = 0, []
    for n in lengths.tolist():  # HAZARD: implicit-sync
        rows.append(values[start : start + n].mean(0))
        start += n
    return torch.stack(rows)


@segment_mean.register_fake
def _(values, lengths):
    return values.new_empty(lengths.shape[0], values.shape[1])


class Pooling(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.proj = nn.Linear(d, d)

    def forward(self, x, lengths):
        return torch.ops.segments.mean(self.proj(x), lengths)


class Evaluator:
    def __init__(self, model: Pooling, rows, segments, d):
        self.model = model.cuda().eval()
        self.x = torch.zeros(rows, d, device="cuda")
        self.lengths = torch.full((segments,), rows // segments, device="cuda")

    @torch.inference_mode()
    def record(self):
        s = torch.cuda.Stream()
        s.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(s):
            for _ in range(3):
                self.model(self.x, self.lengths)
        torch.cuda.current_stream().wait_stream(s)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.pooled = self.model(self.x, self.lengths)
