"""Symptom: the grouped product is a custom operator whose Python body splits the rows by counts that it
reads from the device; inside a capture the read is not permitted.
"""

import torch
import torch.nn as nn


@torch.library.custom_op("experts::grouped_mm", mutates_args=())
def grouped_mm(x: torch.Tensor, w: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
    outs, start = [], 0
    for e in range(w.shape[0]):
        rows = counts[e].item()  # HAZARD: sync-in-capture
        outs.append(x[start : start + rows] @ w[e])
        start += rows
    return torch.cat(outs)


@grouped_mm.register_fake
def _(x: torch.Tensor, w: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
    return x.new_empty(x.shape[0], w.shape[2])


class GroupedExperts(nn.Module):
    def __init__(self, experts: int, width: int):
        super().__init__()
        self.gate = nn.Linear(width, experts, bias=False)
        self.w = nn.Parameter(torch.zeros(experts, width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        expert = self.gate(x).argmax(-1)
        order = expert.argsort(stable=True)
        counts = torch.zeros(self.w.shape[0], dtype=torch.long, device=x.device)
        counts.scatter_add_(0, expert, torch.ones_like(expert))
        mixed = torch.ops.experts.grouped_mm(x[order], self.w, counts)
        return torch.empty_like(mixed).index_copy_(0, order, mixed)


def capture(experts: GroupedExperts, batch: int, width: int):
    x = torch.zeros(batch, width, device="cuda")
    with torch.inference_mode():
        for _ in range(2):
            experts(x)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = experts(x)

    def run(new: torch.Tensor) -> torch.Tensor:
        x.copy_(new)
        graph.replay()
        return y.clone()

    run.experts = experts
    return run


def main(width: int = 64) -> None:
    run = capture(GroupedExperts(8, width).cuda(), 16, width)
    print(run(torch.zeros(16, width, device="cuda")).sum().item())
