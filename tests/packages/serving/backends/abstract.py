from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import torch

from ..config import EngineConfig

M = TypeVar("M")


@dataclass
class CommonMetadata:
    """What every backend is told of a batch; the tensors lie in the runner's static buffers."""

    num_reqs: int
    num_tokens: int
    max_seq_len: int
    seq_lens: torch.Tensor
    block_table: torch.Tensor
    slot_mapping: torch.Tensor


class MetadataBuilder(ABC, Generic[M]):
    def __init__(self, config: EngineConfig, device: torch.device) -> None:
        self.config = config
        self.device = device

    @abstractmethod
    def build(self, common: CommonMetadata) -> M: ...

    def build_for_capture(self, common: CommonMetadata) -> M:
        return self.build(common)


class AttentionBackend(ABC):
    @staticmethod
    @abstractmethod
    def get_impl_cls() -> type[Any]: ...

    @staticmethod
    @abstractmethod
    def get_builder_cls() -> type[MetadataBuilder]: ...


_BACKENDS = {"PAGED": "serving.backends.paged.PagedBackend"}


def get_backend(name: str) -> type[AttentionBackend]:
    module, _, cls = _BACKENDS[name].rpartition(".")
    return getattr(importlib.import_module(module), cls)
