from __future__ import annotations

from dataclasses import dataclass, field

import torch


@dataclass
class TransformerConfig:
    num_layers: int = 8
    hidden_size: int = 1024
    num_heads: int = 16
    vocab_size: int = 32000
    hidden_dropout: float = 0.1
    layernorm_epsilon: float = 1e-5
    num_experts: int = 8
    aux_loss_coeff: float = 1e-2
    params_dtype: torch.dtype = torch.bfloat16
    enable_cuda_graph: bool = True
    cuda_graph_warmup_steps: int = 3


@dataclass
class TrainingConfig:
    model: TransformerConfig = field(default_factory=TransformerConfig)
    train_iters: int = 1000
    num_microbatches: int = 4
    micro_batch_size: int = 2
    seq_length: int = 2048
    lr: float = 3e-4
    clip_grad: float = 1.0
    eval_interval: int = 100
    save_interval: int = 500
    load: str | None = None
    save: str = "checkpoints"
    pipeline_size: int = 1
    tensor_size: int = 1
    seed: int = 1234
