"""Drawn from NVIDIA/Megatron-LM#6077.

Fix: the reduction stream is joined in the capture too; only the host side wait is left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import nn


@dataclass
class Bucket:
    params: list[nn.Parameter]
    main_grad: torch.Tensor
    ready: torch.cuda.Event = field(default_factory=torch.cuda.Event)


def make_buckets(module: nn.Module, per_bucket: int) -> list[Bucket]:
    params = [p for p in module.parameters() if p.requires_grad]
    groups = [params[i : i + per_bucket] for i in range(0, len(params), per_bucket)]
    return [Bucket(group, torch.zeros(sum(p.numel() for p in group), device="cuda")) for group in groups]


class GradientReducer:
    """Adds the gradients of each bucket to a flat float32 buffer on a side stream."""

    def __init__(self, module: nn.Module, per_bucket: int = 4) -> None:
        self.buckets = make_buckets(module, per_bucket)
        self.side = torch.cuda.Stream()

    def start(self) -> None:
        self.side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.side):
            for bucket in self.buckets:
                flat = torch.cat([p.grad.reshape(-1).float() for p in bucket.params])
                bucket.main_grad.add_(flat)
                bucket.ready.record(self.side)

    def wait(self) -> None:
        if torch.cuda.is_current_stream_capturing():
            torch.cuda.current_stream().wait_stream(self.side)
            return
        for bucket in self.buckets:
            bucket.ready.synchronize()
        torch.cuda.current_stream().wait_stream(self.side)


class IterationGraph:
    def __init__(self, model: nn.Module, sample: torch.Tensor, lr: float = 1e-3) -> None:
        self.model = model.cuda()
        self.tokens = sample.cuda().clone()
        self.reducer = GradientReducer(self.model)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=lr, capturable=True)
        self.graph = torch.cuda.CUDAGraph()
        self.stream = torch.cuda.Stream()

    def _forward_backward(self) -> torch.Tensor:
        self.model.zero_grad(set_to_none=True)
        loss = self.model(self.tokens).square().mean()
        loss.backward()
        self.reducer.start()
        self.reducer.wait()
        return loss

    def capture(self) -> None:
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            for _ in range(3):
                self._forward_backward()
        torch.cuda.current_stream().wait_stream(self.stream)
        with torch.cuda.graph(self.graph, stream=self.stream):
            self.loss = self._forward_backward()

    def run(self, batches) -> list[float]:
        losses = []
        for batch in batches:
            self.tokens.copy_(batch)
            self.graph.replay()
            self.optimizer.step()
            losses.append(self.loss.item())
        return losses
