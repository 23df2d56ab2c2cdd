"""Drawn from the KV connectors of vllm and lmdeploy (loading of cache blocks layer by layer).

Symptom: with the offloading connector each layer waits on the host for its blocks before attention;
the wait is part of the forward that is captured.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn as nn


@dataclass
class TransferConfig:
    kind: str = "offload"
    layers: int = 8
    width: int = 128
    pages: int = 512


class Connector(ABC):
    registry: ClassVar[dict[str, Callable[[TransferConfig], Connector]]] = {}

    def __init_subclass__(cls, kind: str = "", **kwargs):
        super().__init_subclass__(**kwargs)
        if kind:
            Connector.registry[kind] = cls

    @classmethod
    def create(cls, cfg: TransferConfig) -> Connector:
        return cls.registry[cfg.kind](cfg)

    @abstractmethod
    def begin(self, caches: list[torch.Tensor]) -> None: ...

    @abstractmethod
    def wait_for_layer(self, index: int) -> None: ...

    def finish(self) -> None:
        return None

    @contextlib.contextmanager
    def layer(self, index: int):
        self.wait_for_layer(index)
        try:
            yield
        finally:
            self.layer_done(index)

    def layer_done(self, index: int) -> None:
        return None


class NullConnector(Connector, kind="none"):
    def __init__(self, cfg: TransferConfig):
        self.cfg = cfg

    def begin(self, caches):
        return None

    def wait_for_layer(self, index):
        return None


class OffloadConnector(Connector, kind="offload"):
    def __init__(self, cfg: TransferConfig):
        self.stream = torch.cuda.Stream()
        self.host = [torch.zeros(cfg.pages, cfg.width, pin_memory=True) for _ in range(cfg.layers)]
        self.ready = [torch.cuda.Event() for _ in range(cfg.layers)]

    def begin(self, caches: list[torch.Tensor]) -> None:
        with torch.cuda.stream(self.stream):
            for cache, host, event in zip(caches, self.host, self.ready):
                cache.copy_(host, non_blocking=True)
                event.record(self.stream)

    def wait_for_layer(self, index: int) -> None:
        return None

    def finish(self) -> None:
        for event in self.ready:
            event.synchronize()


class Layer(nn.Module):
    def __init__(self, index: int, cfg: TransferConfig):
        super().__init__()
        self.index = index
        self.q = nn.Linear(cfg.width, cfg.width, device="cuda")
        self.o = nn.Linear(cfg.width, cfg.width, device="cuda")

    def forward(self, x: torch.Tensor, cache: torch.Tensor, connector: Connector) -> torch.Tensor:
        with connector.layer(self.index):
            scores = torch.softmax(self.q(x) @ cache.T, dim=-1)
            return x + self.o(scores @ cache)


class Worker:
    def __init__(self, cfg: TransferConfig, batch: int):
        self.connector = Connector.create(cfg)
        self.layers = nn.ModuleList(Layer(i, cfg) for i in range(cfg.layers))
        self.caches = [torch.zeros(cfg.pages, cfg.width, device="cuda") for _ in range(cfg.layers)]
        self.x = torch.zeros(batch, cfg.width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _forward(self) -> torch.Tensor:
        x = self.x
        for layer, cache in zip(self.layers, self.caches):
            x = layer(x, cache, self.connector)
        return x

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self._forward()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self._forward()

    @torch.inference_mode()
    def execute(self, x: torch.Tensor, load: bool) -> torch.Tensor:
        if load:
            self.connector.begin(self.caches)
        self.x.copy_(x)
        self.connector.finish()
        self.graph.replay()
        return self.y.clone()
