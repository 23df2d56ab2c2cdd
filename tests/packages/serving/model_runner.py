from __future__ import annotations

import torch

from .backends.abstract import CommonMetadata, get_backend
from .config import EngineConfig, GraphMode
from .dispatcher import GraphDispatcher
from .forward_context import BatchDescriptor, set_forward_context
from .graph_wrapper import GraphWrapper
from .input_batch import InputBatch
from .kv_cache import Request
from .registry import build_model
from .sampler import Sampler


class ModelRunner:
    def __init__(self, config: EngineConfig, device: torch.device) -> None:
        self.config = config
        self.device = device
        self.batch = InputBatch(config, device)
        self.dispatcher = GraphDispatcher(config)
        self.sampler = Sampler(device)
        self.builder = get_backend(config.backend).get_builder_cls()(config, device)
        self.kv_caches: list[torch.Tensor] = []

    def load_model(self) -> None:
        self.model = build_model(self.config)
        if self.config.compilation.mode is not GraphMode.NONE:
            self.model = GraphWrapper(self.model, self.config, GraphMode.FULL)

    def initialize_kv_cache(self) -> None:
        model, cache = self.config.model, self.config.cache
        shape = (2, cache.num_blocks, cache.block_size, model.num_heads, model.head_size)
        for layer in self.config.compilation.layers.values():
            layer.kv_cache = torch.zeros(shape, dtype=model.dtype, device=self.device)
            self.kv_caches.append(layer.kv_cache)

    def _common(self, num_reqs: int, num_tokens: int, max_seq_len: int) -> CommonMetadata:
        batch = self.batch
        return CommonMetadata(
            num_reqs=num_reqs,
            num_tokens=num_tokens,
            max_seq_len=max_seq_len,
            seq_lens=batch.seq_lens.gpu,
            block_table=batch.block_table.gpu,
            slot_mapping=batch.slot_mapping.gpu,
        )

    @torch.inference_mode()
    def _dummy_run(self, descriptor: BatchDescriptor, mode: GraphMode) -> torch.Tensor:
        size = descriptor.num_tokens
        common = self._common(size, size, self.config.model.max_model_len)
        metadata = self.builder.build_for_capture(common)
        with set_forward_context(metadata, self.config, mode, descriptor):
            return self.model(
                input_ids=self.batch.input_ids.gpu[:size], positions=self.batch.positions.gpu[:size]
            )

    def capture_model(self) -> None:
        self.dispatcher.initialize_keys()
        for descriptor in self.dispatcher.capture_cases():
            for _ in range(self.config.compilation.num_warmups):
                self._dummy_run(descriptor, GraphMode.NONE)
            torch.cuda.synchronize()
            self._dummy_run(descriptor, GraphMode.FULL)

    @torch.inference_mode()
    def execute_model(self, requests: list[Request]) -> list[int]:
        n = len(requests)
        self.batch.load(requests)
        mode, descriptor = self.dispatcher.dispatch(n, uniform=True)
        size = descriptor.num_tokens
        longest = max(request.num_tokens for request in requests)
        metadata = self.builder.build(self._common(n, size, longest))
        with set_forward_context(metadata, self.config, mode, descriptor):
            hidden = self.model(
                input_ids=self.batch.input_ids.gpu[:size], positions=self.batch.positions.gpu[:size]
            )
        logits = self.model.compute_logits(hidden[:n])
        return self.sampler(logits).tolist()
