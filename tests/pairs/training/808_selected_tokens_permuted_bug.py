"""Drawn from NVIDIA/Megatron-LM#3373 (masked_select in the permutation of tokens).

Symptom: training with captured layers fails when the dispatcher permutes: the rows of a routing map are selected with
a mask, and the size of the result has to be asked from the device.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import nn


def permute(tokens: torch.Tensor, routing_map: torch.Tensor, num_out: int | None = None):
    count, experts = routing_map.shape
    by_expert = routing_map.bool().T.contiguous()
    rows = torch.arange(count, device=tokens.device).unsqueeze(0).expand(experts, -1)
    order = rows.masked_select(by_expert)  # HAZARD: dynamic-shape
    return tokens.index_select(0, order), order


def unpermute(permuted: torch.Tensor, order: torch.Tensor, shape: torch.Size) -> torch.Tensor:
    out = torch.zeros(shape, dtype=permuted.dtype, device=permuted.device)
    return out.index_add(0, order, permuted)


class Dispatcher(ABC):
    @abstractmethod
    def dispatch(self, hidden: torch.Tensor, routing_map: torch.Tensor) -> torch.Tensor: ...

    @abstractmethod
    def combine(self, hidden: torch.Tensor) -> torch.Tensor: ...


class LocalDispatcher(Dispatcher):
    def __init__(self, topk: int) -> None:
        self.topk = topk
        self.order = None
        self.shape = None

    def dispatch(self, hidden, routing_map):
        self.shape = hidden.shape
        out, self.order = permute(hidden, routing_map, num_out=hidden.shape[0] * self.topk)
        return out

    def combine(self, hidden):
        return unpermute(hidden, self.order, self.shape)


class MoELayer(nn.Module):
    def __init__(
        self, dim: int, experts: int, topk: int, dispatcher: type[Dispatcher] = LocalDispatcher
    ) -> None:
        super().__init__()
        self.router = nn.Linear(dim, experts, bias=False)
        self.expert = nn.Sequential(nn.Linear(dim, 4 * dim), nn.SiLU(), nn.Linear(4 * dim, dim))
        self.topk = topk
        self.dispatcher = dispatcher(topk)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores = self.router(x).softmax(-1)
        _, picked = scores.topk(self.topk, dim=-1)
        routing_map = torch.zeros_like(scores).scatter(1, picked, 1.0)
        hidden = self.dispatcher.dispatch(x, routing_map)
        return self.dispatcher.combine(self.expert(hidden))


def graph_layers(layers: list[MoELayer], tokens: int, dim: int) -> list[nn.Module]:
    samples = tuple((torch.zeros(tokens, dim, device="cuda", requires_grad=True),) for _ in layers)
    return list(torch.cuda.make_graphed_callables(tuple(layers), samples, num_warmup_iters=3))


def build(depth: int = 4, dim: int = 128) -> nn.Sequential:
    layers = [MoELayer(dim, 8, 2).cuda() for _ in range(depth)]
    return nn.Sequential(*graph_layers(layers, 512, dim))
