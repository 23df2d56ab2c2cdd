"""Drawn from state pools of recurrent models (mamba slots in sglang and vllm).

Symptom: the captured step takes a free slot from a Python list for its scratch state. It does so once;
all replays use that slot, which the pool has given away again meanwhile.
"""

import torch
import torch.nn as nn


class SlotPool:
    def __init__(self, slots: int, width: int):
        self.state = torch.zeros(slots, width, device="cuda")
        self.free = list(range(slots))

    def take(self) -> int:
        return self.free.pop()

    def give_back(self, slot: int) -> None:
        self.free.append(slot)


class RecurrentStep:
    def __init__(self, cell: nn.GRUCell, pool: SlotPool, batch: int):
        self.cell, self.pool = cell, pool
        self.x = torch.zeros(batch, cell.input_size, device="cuda")
        self.scratch = pool.take()
        self.graph = torch.cuda.CUDAGraph()

    def _step(self) -> torch.Tensor:
        slot = self.scratch
        h = self.pool.state[slot : slot + 1].expand(self.x.shape[0], -1)
        out = self.cell(self.x, h)
        self.pool.state[slot].copy_(out[0])
        return out

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self._step()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self._step()

    @torch.inference_mode()
    def run(self, x: torch.Tensor, requests: list[int]) -> torch.Tensor:
        for _request in requests:
            if self.pool.free:
                slot = self.pool.take()
                self.pool.state[slot].zero_()
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
