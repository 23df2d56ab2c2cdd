"""Seen in vllm-project/vllm#53915.

Symptom: the model is cut at attention. The recorded pieces read the address that the first
attention call returned, and every later attention call returns a tensor of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass(frozen=True)
class EngineConfig:
    layers: int = 4
    width: int = 256
    heads: int = 8
    max_tokens: int = 64
    warmups: int = 2


@dataclass
class Metadata:
    lengths: torch.Tensor
    slots: torch.Tensor


class Block(nn.Module):
    def __init__(self, cfg: EngineConfig):
        super().__init__()
        self.norm = nn.LayerNorm(cfg.width, device="cuda")
        self.qkv = nn.Linear(cfg.width, 3 * cfg.width, device="cuda")
        self.out = nn.Linear(cfg.width, cfg.width, device="cuda")
        self.up = nn.Linear(cfg.width, 2 * cfg.width, device="cuda")
        self.down = nn.Linear(2 * cfg.width, cfg.width, device="cuda")

    def before(self, x: torch.Tensor) -> torch.Tensor:
        return self.qkv(self.norm(x))

    def after(self, attended: torch.Tensor) -> torch.Tensor:
        y = self.out(attended)
        return y + self.down(F.silu(self.up(y)))


class Piece(ABC):
    @abstractmethod
    def __call__(self, value: torch.Tensor) -> torch.Tensor: ...


@dataclass
class Recorded:
    graph: torch.cuda.CUDAGraph
    given: torch.Tensor
    output: torch.Tensor


class GraphPiece(Piece):
    """Records its function once per row count; inputs are expected at the address of that time."""

    def __init__(self, fn, cfg: EngineConfig, pool):
        self.fn, self.cfg, self.pool = fn, cfg, pool
        self.entries: dict[int, Recorded] = {}

    def _record(self, value: torch.Tensor) -> Recorded:
        for _ in range(self.cfg.warmups):
            self.fn(value)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool):
            output = self.fn(value)
        return Recorded(graph, value, output)

    def __call__(self, value: torch.Tensor) -> torch.Tensor:
        rows = value.shape[0]
        entry = self.entries.get(rows)
        if entry is None:
            entry = self.entries[rows] = self._record(value)
        entry.graph.replay()  # HAZARD: rebind-static-input
        return entry.output


class AttentionPiece(Piece):
    """Always eager: its shapes depend on the requests."""

    def __init__(self, cfg: EngineConfig, cache: torch.Tensor):
        self.cfg, self.cache = cfg, cache
        self.metadata: Metadata | None = None

    def __call__(self, value: torch.Tensor) -> torch.Tensor:
        meta = self.metadata
        q, k, v = value.chunk(3, dim=-1)
        self.cache[meta.slots] = k
        keys = self.cache[: int(meta.lengths.max())]
        weights = torch.softmax(q @ keys.T, dim=-1)
        out = weights @ keys + v
        return out


class PieceEngine:
    def __init__(self, cfg: EngineConfig):
        self.cfg = cfg
        self.pool = torch.cuda.graph_pool_handle()
        self.x = torch.zeros(cfg.max_tokens, cfg.width, device="cuda")
        self.blocks = [Block(cfg) for _ in range(cfg.layers)]
        self.attentions: list[AttentionPiece] = []
        self.pieces: list[Piece] = []
        for block in self.blocks:
            attention = AttentionPiece(cfg, torch.zeros(4096, cfg.width, device="cuda"))
            self.attentions.append(attention)
            self.pieces += [GraphPiece(block.before, cfg, self.pool), attention]
            self.pieces.append(GraphPiece(block.after, cfg, self.pool))

    @torch.inference_mode()
    def step(self, tokens: torch.Tensor, metadata: Metadata) -> torch.Tensor:
        n = tokens.shape[0]
        self.x[:n].copy_(tokens)
        for attention in self.attentions:
            attention.metadata = metadata
        value = self.x[:n]
        for piece in self.pieces:
            value = piece(value)
        return value.clone()
