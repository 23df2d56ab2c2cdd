"""Drawn from pytorch/tensordict#1788.

Fix: the captured module writes its new state into the entry it was read from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import nn

Record = dict[str, torch.Tensor]


class RecurrentPolicy(nn.Module):
    """Reads and writes entries of a record, as the rest of the collector does."""

    def __init__(self, obs_dim: int, hidden: int, actions: int) -> None:
        super().__init__()
        self.cell = nn.GRUCell(obs_dim, hidden)
        self.mean = nn.Linear(hidden, actions)
        self.log_std = nn.Parameter(torch.zeros(actions))

    def forward(self, record: Record) -> Record:
        state = self.cell(record["obs"], record["state"])
        noise = torch.randn_like(self.log_std)
        record["action"] = torch.tanh(self.mean(state) + self.log_std.exp() * noise)
        record["state"].copy_(state)
        return record


class GraphedModule:
    """Runs a module of records eagerly for a few calls and as a graph from then on."""

    def __init__(self, module: Callable[[Record], Record], warmup: int = 2) -> None:
        self.module, self.warmup = module, warmup
        self.calls = 0
        self.graph: torch.cuda.CUDAGraph | None = None
        self.stream = torch.cuda.Stream()
        self.record: Record = {}

    def _eager(self, record: Record) -> Record:
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            out = self.module(dict(record))
        torch.cuda.current_stream().wait_stream(self.stream)
        return out

    def _capture(self, record: Record) -> None:
        self.record = {key: value.clone() for key, value in record.items()}
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, stream=self.stream):
            self.module(self.record)

    def __call__(self, record: Mapping[str, torch.Tensor]) -> Record:
        self.calls += 1
        if self.calls <= self.warmup:
            return self._eager(dict(record))
        if self.graph is None:
            self._capture(dict(record))
        for key, value in record.items():
            self.record[key].copy_(value, non_blocking=True)  # ALT: rebind-static-input
        self.graph.replay()  # ALT: rebind-static-input
        return {key: value.clone() for key, value in self.record.items()}


@torch.no_grad()
def collect(env, policy: RecurrentPolicy, steps: int, hidden: int = 128) -> list[Record]:
    policy = policy.cuda().eval()
    run = GraphedModule(policy)
    obs = env.reset().cuda()
    state = torch.zeros(obs.shape[0], hidden, device="cuda")
    history = []
    for _ in range(steps):
        out = run({"obs": obs, "state": state})
        history.append(out)
        obs, done = env.step(out["action"])
        state = out["state"] * (~done).unsqueeze(-1)
    return history
