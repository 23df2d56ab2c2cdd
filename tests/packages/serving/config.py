from __future__ import annotations

import enum
from dataclasses import dataclass, field

import torch


class GraphMode(enum.Enum):
    NONE = 0
    PIECEWISE = 1
    FULL = 2


@dataclass
class ModelConfig:
    architecture: str = "DenseForCausalLM"
    vocab_size: int = 32000
    hidden_size: int = 1024
    num_heads: int = 16
    num_layers: int = 24
    num_experts: int = 8
    max_model_len: int = 4096
    dtype: torch.dtype = torch.bfloat16

    @property
    def head_size(self) -> int:
        return self.hidden_size // self.num_heads


@dataclass
class CacheConfig:
    block_size: int = 16
    num_blocks: int = 4096


@dataclass
class SchedulerConfig:
    max_num_seqs: int = 256


@dataclass
class CompilationConfig:
    mode: GraphMode = GraphMode.FULL
    capture_sizes: list[int] = field(default_factory=list)
    num_warmups: int = 1
    # Attention layers by name, filled by their constructors.
    layers: dict[str, object] = field(default_factory=dict)


@dataclass
class EngineConfig:
    model: ModelConfig = field(default_factory=ModelConfig)
    cache: CacheConfig = field(default_factory=CacheConfig)
    scheduler: SchedulerConfig = field(default_factory=SchedulerConfig)
    compilation: CompilationConfig = field(default_factory=CompilationConfig)
    backend: str = "PAGED"
    device: str = "cuda"

    def __post_init__(self) -> None:
        if not self.compilation.capture_sizes:
            limit = self.scheduler.max_num_seqs
            sizes = [1, 2, 4] + list(range(8, limit + 1, 8))
            self.compilation.capture_sizes = [size for size in sizes if size <= limit]

    @property
    def max_blocks_per_seq(self) -> int:
        return -(-self.model.max_model_len // self.cache.block_size)
