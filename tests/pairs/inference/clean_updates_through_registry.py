"""Clean: derived weights are bound by the first load and copied into by later ones, samplers hold their
parameters in device buffers, and steps are registered in a table by a decorator.
"""

import torch
import torch.nn as nn

STEPS: dict[str, type] = {}


def register(name: str):
    def add(cls: type) -> type:
        STEPS[name] = cls
        return cls

    return add


class ScaledLinear(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(width, width), requires_grad=False)
        self.scaled: torch.Tensor | None = None

    @torch.no_grad()
    def finish_loading(self) -> None:
        scaled = self.weight / self.weight.abs().amax(dim=-1, keepdim=True).clamp(min=1e-6)
        if self.scaled is None:
            self.scaled = scaled
        else:
            self.scaled.copy_(scaled)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ self.scaled.t()


class SamplerState:
    def __init__(self, batch: int):
        self.temperature = torch.ones(batch, 1, device="cuda")
        self.top_p = torch.ones(batch, 1, device="cuda")

    def update(self, temperatures: list[float], top_ps: list[float]) -> None:
        n = len(temperatures)
        self.temperature.fill_(1.0)
        self.temperature[:n, 0].copy_(torch.tensor(temperatures))
        self.top_p.fill_(1.0)
        self.top_p[:n, 0].copy_(torch.tensor(top_ps))


class StepBase:
    def __init__(self, net: nn.Module, batch: int, width: int):
        self.net, self.state = net, SamplerState(batch)
        self.x = torch.zeros(batch, width, device="cuda")
        self.graph: torch.cuda.CUDAGraph | None = None

    def body(self) -> torch.Tensor:
        raise NotImplementedError

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self.body()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.out = self.body()
        self.graph = graph

    def run(self, x: torch.Tensor, temperatures: list[float], top_ps: list[float]) -> torch.Tensor:
        self.state.update(temperatures, top_ps)
        self.x.zero_()
        self.x[: x.shape[0]].copy_(x)
        self.graph.replay()
        return self.out[: x.shape[0]].clone()


@register("greedy")
class GreedyStep(StepBase):
    def body(self) -> torch.Tensor:
        return self.net(self.x).argmax(-1)


@register("random")
class RandomStep(StepBase):
    def body(self) -> torch.Tensor:
        probs = torch.softmax(self.net(self.x) / self.state.temperature, dim=-1)
        ordered, index = probs.sort(dim=-1, descending=True)
        ordered = ordered.masked_fill(ordered.cumsum(-1) - ordered > self.state.top_p, 0.0)
        picked = torch.multinomial(ordered + 1e-9, 1)
        return index.gather(-1, picked).squeeze(-1)


class Server:
    def __init__(self, width: int, batch: int, kind: str):
        self.net = nn.Sequential(ScaledLinear(width), nn.GELU(), ScaledLinear(width)).cuda()
        self.step = STEPS[kind](self.net, batch, width)

    def load(self, state: dict[str, torch.Tensor]) -> None:
        self.net.load_state_dict(state)
        for module in self.net.modules():
            if isinstance(module, ScaledLinear):
                module.finish_loading()
        if self.step.graph is None:
            self.step.capture()

    def answer(self, x: torch.Tensor, temperatures: list[float], top_ps: list[float]) -> list[int]:
        return self.step.run(x, temperatures, top_ps).tolist()
