"""The slots are copied into one index tensor that the graph reads."""

from __future__ import annotations

import torch
import torch.nn as nn


class StateManager:
    """Owns the states of all requests and knows which slot belongs to whom."""

    def __init__(self, slots: int, channels: int, kernel: int, device: str = "cuda"):
        self.device = device
        self.conv = torch.zeros(slots, channels, kernel - 1, device=device)
        self.ssm = torch.zeros(slots, channels, device=device)
        self.free = list(range(slots))
        self.slot_of: dict[int, int] = {}
        self.state_indices = torch.zeros(slots, dtype=torch.int64, device=device)
        self.active = 0

    def add_dummies(self, count: int) -> None:
        self.prepare([-1 - i for i in range(count)])

    def release(self, request_id: int) -> None:
        self.free.append(self.slot_of.pop(request_id))

    def prepare(self, request_ids: list[int]) -> None:
        rows = []
        for request_id in request_ids:
            if request_id not in self.slot_of:
                self.slot_of[request_id] = self.free.pop()
            rows.append(self.slot_of[request_id])
        self.active = len(rows)
        self.state_indices[: self.active].copy_(torch.as_tensor(rows, dtype=torch.int64))

    def get_state_indices(self) -> torch.Tensor:
        return self.state_indices[: self.active]


class Mixer(nn.Module):
    def __init__(self, channels: int, kernel: int, states: StateManager):
        super().__init__()
        self.inner = nn.Linear(channels, channels, device="cuda")
        self.taps = nn.Parameter(torch.zeros(channels, kernel, device="cuda"))
        self.decay = nn.Parameter(torch.zeros(channels, device="cuda"))
        self.states = states

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows = self.states.get_state_indices()
        window = torch.cat([self.states.conv[rows], self.inner(x).unsqueeze(-1)], dim=-1)
        self.states.conv.index_copy_(0, rows, window[..., 1:])
        y = (window * self.taps).sum(-1)
        state = self.states.ssm[rows] * torch.sigmoid(self.decay) + y
        self.states.ssm.index_copy_(0, rows, state)
        return state * y


class DecodeGraph:
    def __init__(self, layers: list[Mixer], states: StateManager, batch: int, channels: int):
        self.layers, self.states, self.batch = layers, states, batch
        self.hidden = torch.zeros(batch, channels, device="cuda")
        self.graph: torch.cuda.CUDAGraph | None = None

    def _forward(self) -> torch.Tensor:
        x = self.hidden
        for layer in self.layers:
            x = x + layer(x)
        return x

    @torch.inference_mode()
    def capture(self) -> None:
        self.states.add_dummies(self.batch)
        for _ in range(2):
            self._forward()
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.out = self._forward()

    @torch.inference_mode()
    def step(self, hidden: torch.Tensor, request_ids: list[int]) -> torch.Tensor:
        self.states.prepare(request_ids)
        self.hidden.copy_(hidden)
        self.graph.replay()
        return self.out.clone()
