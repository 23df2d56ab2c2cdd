from __future__ import annotations

import torch

from .config import TermCfg


class ManagerBase:
    def __init__(self, terms: dict[str, TermCfg], env) -> None:
        self.env = env
        self.terms = dict(terms)

    def values(self):
        for name, term in self.terms.items():
            yield name, term, term.func(self.env, **term.params)


class ObservationManager(ManagerBase):
    def compute(self) -> torch.Tensor:
        return torch.cat([value for _, _, value in self.values()], dim=-1)


class RewardManager(ManagerBase):
    def __init__(self, terms, env) -> None:
        super().__init__(terms, env)
        self.total = torch.zeros(env.num_envs, device=env.device)
        self.sums = {name: torch.zeros(env.num_envs, device=env.device) for name in terms}

    def compute(self) -> torch.Tensor:
        self.total.zero_()
        for name, term, value in self.values():
            self.total.add_(value, alpha=term.weight)
            self.sums[name].add_(value)
        return self.total

    def reset(self, ids: torch.Tensor) -> dict[str, float]:
        means = {name: total[ids].mean().item() for name, total in self.sums.items()}
        for total in self.sums.values():
            total[ids] = 0.0
        return means


class CommandManager:
    def __init__(self, num_envs: int, device: str) -> None:
        self.value = torch.zeros(num_envs, 3, device=device)

    def resample(self, ids: torch.Tensor) -> None:
        self.value[ids] = torch.randn(len(ids), 3, device=self.value.device)
