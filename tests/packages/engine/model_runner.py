from __future__ import annotations

import torch

from .attention.abstract import get_backend
from .config import EngineConfig
from .forward_context import set_forward_context
from .graph_manager import GraphManager
from .models.registry import load_model
from .requests import Batch


class ModelRunner:
    def __init__(self, config: EngineConfig, device: torch.device) -> None:
        self.config = config
        self.device = device
        self.model = load_model(config, device)
        self.builder = get_backend(config.attention_backend).get_builder_cls()(config, device)
        self.input_ids = torch.zeros(config.max_batch, dtype=torch.int64, device=device)
        self.positions = torch.zeros(config.max_batch, dtype=torch.int64, device=device)
        self.kv_caches: list[tuple[torch.Tensor, torch.Tensor]] = []
        self.graphs = GraphManager(config.graphs, device)

    def initialize_kv_cache(self) -> None:
        cache, model = self.config.cache, self.config.model
        shape = (cache.num_blocks * cache.block_size, model.num_heads, model.head_dim)
        self.kv_caches = [
            (torch.zeros(shape, device=self.device), torch.zeros(shape, device=self.device))
            for _ in range(model.num_layers)
        ]

    @torch.inference_mode()
    def capture_model(self) -> None:
        self.graphs.capture_all(self._dummy_run)

    def _dummy_run(self, size: int) -> torch.Tensor:
        return self._forward(self.builder.build_for_capture(size), size)

    def _forward(self, metadata, size: int) -> torch.Tensor:
        with set_forward_context(metadata, self.kv_caches, self.config.debug):
            return self.model(self.input_ids[:size], self.positions[:size])

    @torch.inference_mode()
    def execute(self, batch: Batch) -> list[int]:
        n = len(batch)
        size = self.graphs.size_for(n) if self.config.graphs.enabled else None
        self._load_inputs(batch)
        metadata = self.builder.build(batch, size or n)
        hidden = self._forward(metadata, n) if size is None else self.graphs.replay(size)
        logits = self.model.compute_logits(hidden[:n])
        return logits.argmax(dim=-1).tolist()

    def _load_inputs(self, batch: Batch) -> None:
        n = len(batch)
        self.input_ids[:n].copy_(batch.input_ids, non_blocking=True)
        self.input_ids[n:].zero_()
        self.positions[:n].copy_(batch.positions, non_blocking=True)
        self.positions[n:].zero_()
