from __future__ import annotations

from dataclasses import dataclass


@dataclass
class TrainingArgs:
    hidden: int = 512
    layers: int = 4
    vocab: int = 1000
    seq_length: int = 128
    micro_batch: int = 4
    num_microbatches: int = 2
    lr: float = 3e-4
    min_lr: float = 3e-5
    warmup_iters: int = 100
    train_iters: int = 1000
    clip_grad: float = 1.0
    dropout: float = 0.1
    graph_warmup: int = 3
    log_interval: int = 10
    check_for_nan: bool = False
