from __future__ import annotations

import torch

from .config import EngineConfig
from .kv_cache import Request


class HostDeviceBuffer:
    """A pinned host tensor with its twin on the device."""

    def __init__(self, *size: int, dtype: torch.dtype, device: torch.device) -> None:
        self.cpu = torch.zeros(*size, dtype=dtype, pin_memory=True)
        self.np = self.cpu.numpy()
        self.gpu = torch.zeros(*size, dtype=dtype, device=device)

    def copy_to_gpu(self, n: int) -> torch.Tensor:
        self.gpu[:n].copy_(self.cpu[:n], non_blocking=True)
        return self.gpu[:n]

    def clear_after(self, n: int) -> None:
        self.gpu[n:].zero_()


class InputBatch:
    def __init__(self, config: EngineConfig, device: torch.device) -> None:
        rows, blocks = config.scheduler.max_num_seqs, config.max_blocks_per_seq
        self.block_size = config.cache.block_size
        self.input_ids = HostDeviceBuffer(rows, dtype=torch.int64, device=device)
        self.positions = HostDeviceBuffer(rows, dtype=torch.int64, device=device)
        self.seq_lens = HostDeviceBuffer(rows, dtype=torch.int32, device=device)
        self.slot_mapping = HostDeviceBuffer(rows, dtype=torch.int64, device=device)
        self.block_table = HostDeviceBuffer(rows, blocks, dtype=torch.int32, device=device)
        self.copied = torch.cuda.Event()

    def buffers(self) -> list[HostDeviceBuffer]:
        return [self.input_ids, self.positions, self.seq_lens, self.slot_mapping, self.block_table]

    def load(self, requests: list[Request]) -> None:
        self.copied.synchronize()
        for row, request in enumerate(requests):
            last = request.num_tokens - 1
            self.input_ids.np[row] = (request.prompt + request.output)[-1]
            self.positions.np[row] = last
            self.seq_lens.np[row] = request.num_tokens
            self.block_table.np[row, : len(request.blocks)] = request.blocks
            block = request.blocks[last // self.block_size]
            self.slot_mapping.np[row] = block * self.block_size + last % self.block_size
        n = len(requests)
        for buffer in self.buffers():
            buffer.copy_to_gpu(n)
            buffer.clear_after(n)
        self.copied.record()
