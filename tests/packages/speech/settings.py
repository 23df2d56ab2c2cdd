from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class EncoderSettings:
    features: int = 80
    width: int = 512
    heads: int = 8
    blocks: int = 12
    left_context: int = 64
    conv_kernel: int = 9


@dataclass(frozen=True)
class DenoiserSettings:
    width: int = 256
    blocks: int = 6
    steps: int = 8
    guidance: float = 2.0


@dataclass(frozen=True)
class ServerSettings:
    encoder: EncoderSettings = field(default_factory=EncoderSettings)
    denoiser: DenoiserSettings = field(default_factory=DenoiserSettings)
    vocabulary: int = 1024
    max_streams: int = 32
    chunk: int = 32
    buckets: tuple[int, ...] = (64, 128, 256, 512)
    graphs_kept: int = 8
    use_graphs: bool = True
    device: str = "cuda"
