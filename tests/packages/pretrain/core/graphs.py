from __future__ import annotations

import torch
from torch import nn

from ..config import TransformerConfig
from . import parallel_state
from .rng import all_states

_POOL = None


def graph_pool():
    global _POOL
    if _POOL is None:
        _POOL = torch.cuda.graph_pool_handle()
    return _POOL


class _Replay(torch.autograd.Function):
    """The forward and backward graphs of one layer and microbatch as one step of autograd."""

    @staticmethod
    def forward(ctx, runner: GraphRunner, hidden: torch.Tensor) -> torch.Tensor:
        ctx.runner = runner
        if hidden.data_ptr() != runner.input.data_ptr():
            runner.input.data.copy_(hidden)
        runner.fwd_graph.replay()
        return runner.output.detach()

    @staticmethod
    def backward(ctx, grad: torch.Tensor):
        runner = ctx.runner
        runner.grad_output.copy_(grad)
        runner.bwd_graph.replay()
        return None, runner.grad_input.detach().clone()


class GraphRunner:
    def __init__(self, layer: nn.Module, config: TransformerConfig) -> None:
        self.layer = layer
        self.config = config
        self.fwd_graph: torch.cuda.CUDAGraph | None = None

    def _warm_up(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(self.config.cuda_graph_warmup_steps):
                output = self.layer.forward(self.input)
                torch.autograd.grad(
                    output, self._differentiated(), torch.zeros_like(output), allow_unused=True
                )
        torch.cuda.current_stream().wait_stream(side)

    def _differentiated(self) -> tuple[torch.Tensor, ...]:
        return (self.input, *self.parameters)

    def capture(self, hidden: torch.Tensor) -> None:
        self.input = torch.empty_like(hidden).copy_(hidden.detach()).requires_grad_()
        self.parameters = tuple(each for each in self.layer.parameters() if each.requires_grad)
        self._warm_up()
        self.fwd_graph, self.bwd_graph = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
        for graph in (self.fwd_graph, self.bwd_graph):
            for state in all_states():
                graph.register_generator_state(state)
        with torch.cuda.graph(self.fwd_graph):
            self.output = self.layer.forward(self.input)
        self.grad_output = torch.zeros_like(self.output)
        with torch.cuda.graph(self.bwd_graph, pool=self.fwd_graph.pool()):
            grads = torch.autograd.grad(
                self.output, self._differentiated(), self.grad_output, allow_unused=True
            )
            for parameter, grad in zip(self.parameters, grads[1:]):
                if grad is not None:
                    parameter.main_grad.add_(grad)
        self.grad_input = grads[0]

    def __call__(self, hidden: torch.Tensor) -> torch.Tensor:
        if self.fwd_graph is None:
            self.capture(hidden)
        return _Replay.apply(self, hidden)


class GraphManager:
    """One runner for each microbatch that is under way, so that no output is overwritten before its backward."""

    def __init__(self, config: TransformerConfig) -> None:
        self.config = config
        self.runners: dict[int, GraphRunner] = {}

    def __call__(self, layer: nn.Module, hidden: torch.Tensor) -> torch.Tensor:
        key = parallel_state.get_microbatch()
        if key not in self.runners:
            self.runners[key] = GraphRunner(layer, self.config)
        return self.runners[key](hidden)

    def clear(self) -> None:
        self.runners.clear()
