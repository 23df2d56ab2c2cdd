from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class TermCfg:
    func: Callable[..., Any]
    weight: float = 1.0
    params: dict[str, Any] = field(default_factory=dict)


@dataclass
class SimCfg:
    dt: float = 0.005
    substeps: int = 4
    num_envs: int = 1024
    num_joints: int = 12
    gravity: float = -9.81
    use_graph: bool = True
    report_energy: bool = False


@dataclass
class EnvCfg:
    sim: SimCfg = field(default_factory=SimCfg)
    episode_length: int = 500
    device: str = "cuda:0"
