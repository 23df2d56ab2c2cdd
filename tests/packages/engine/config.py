from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class ModelConfig:
    architecture: str = "DecoderForCausalLM"
    vocab_size: int = 32000
    hidden_size: int = 1024
    num_heads: int = 8
    num_layers: int = 4
    rms_eps: float = 1e-6
    logit_cap: float = 30.0

    @property
    def head_dim(self) -> int:
        return self.hidden_size // self.num_heads


@dataclass
class CacheConfig:
    block_size: int = 16
    num_blocks: int = 512
    max_blocks_per_request: int = 64


@dataclass
class DebugConfig:
    check_activations: bool = False
    log_slots: bool = False


@dataclass
class GraphConfig:
    enabled: bool = True
    sizes: tuple[int, ...] = (1, 2, 4, 8, 16, 32)
    warmup_steps: int = 2


@dataclass
class EngineConfig:
    model: ModelConfig = field(default_factory=ModelConfig)
    cache: CacheConfig = field(default_factory=CacheConfig)
    debug: DebugConfig = field(default_factory=DebugConfig)
    graphs: GraphConfig = field(default_factory=GraphConfig)
    attention_backend: str = "paged"
    device: str = "cuda"

    @property
    def max_batch(self) -> int:
        return max(self.graphs.sizes)
