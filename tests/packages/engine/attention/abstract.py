from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import torch

from ..config import EngineConfig
from ..requests import Batch


@dataclass
class AttentionMetadata:
    num_reqs: int
    seq_lens: torch.Tensor
    block_table: torch.Tensor
    slot_mapping: torch.Tensor


class MetadataBuilder(ABC):
    def __init__(self, config: EngineConfig, device: torch.device) -> None:
        self.config = config
        self.device = device

    @abstractmethod
    def build_for_capture(self, size: int) -> AttentionMetadata: ...

    @abstractmethod
    def build(self, batch: Batch, size: int) -> AttentionMetadata: ...


class AttentionImpl(ABC):
    @abstractmethod
    def write_cache(
        self, key: torch.Tensor, value: torch.Tensor, cache: Any, meta: AttentionMetadata
    ) -> None: ...

    @abstractmethod
    def forward(self, query: torch.Tensor, cache: Any, meta: AttentionMetadata) -> torch.Tensor: ...


class AttentionBackend(ABC):
    @staticmethod
    @abstractmethod
    def get_builder_cls() -> type[MetadataBuilder]: ...

    @staticmethod
    @abstractmethod
    def get_impl_cls() -> type[AttentionImpl]: ...


_BACKENDS: dict[str, type[AttentionBackend]] = {}


def register_backend(name: str):
    def add(cls: type[AttentionBackend]) -> type[AttentionBackend]:
        _BACKENDS[name] = cls
        return cls

    return add


def get_backend(name: str) -> type[AttentionBackend]:
    try:
        return _BACKENDS[name]
    except KeyError:
        raise ValueError(f"unknown attention backend {name!r}") from None
