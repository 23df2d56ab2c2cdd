from __future__ import annotations

import torch

from .config import SimCfg
from .solvers import SOLVERS
from .state import Control, State


class Simulation:
    def __init__(self, cfg: SimCfg, device: str, solver: str = "penalty") -> None:
        self.cfg = cfg
        self.device = device
        self.solver = SOLVERS[solver](cfg, device)
        self.state_0, self.state_1 = State.zeros(cfg, device), State.zeros(cfg, device)
        self.control = Control(torch.zeros(cfg.num_envs, cfg.num_joints, device=device))
        self.time = 0.0
        self.graph: torch.cuda.CUDAGraph | None = None

    def simulate(self) -> None:
        dt = self.cfg.dt / self.cfg.substeps
        for _ in range(self.cfg.substeps):
            self.solver.step(self.state_0, self.state_1, self.control, dt)
            self.state_0.assign(self.state_1)

    def capture(self) -> None:
        if not self.cfg.use_graph:
            return
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            self.simulate()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.simulate()
        self.graph = graph

    def step(self) -> None:
        if self.graph is not None:
            self.graph.replay()
        else:
            self.simulate()
        self.time += self.cfg.dt

    def reset_envs(self, ids: torch.Tensor) -> None:
        self.state_0.joint_pos[ids] = 0.0
        self.state_0.joint_vel[ids] = 0.0
        self.state_0.root_height[ids] = 1.0
