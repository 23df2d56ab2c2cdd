"""Drawn from logprob collection in servers (a hook that stores the top probabilities of each step).

Symptom: the step hands the top-k of its output to a sink that was chosen by name; the sink keeps them
until the request ends, and all of them are the same memory.
"""

from collections.abc import Callable

import torch
import torch.nn as nn

Sink = Callable[[dict[str, torch.Tensor]], None]


class Recorder:
    def __init__(self):
        self.steps: list[dict[str, torch.Tensor]] = []

    def __call__(self, values: dict[str, torch.Tensor]) -> None:
        self.steps.append({name: value.clone() for name, value in values.items()})

    def result(self) -> torch.Tensor:
        return torch.stack([step["values"] for step in self.steps])


class Sampler:
    def __init__(self, model: nn.Module, batch: int, k: int = 5):
        self.model, self.k = model, k
        self.ids = torch.zeros(batch, dtype=torch.long, device="cuda")
        self.sinks: dict[str, Sink] = {"none": lambda values: None}
        self.graph = torch.cuda.CUDAGraph()

    def add_sink(self, name: str, sink: Sink) -> None:
        self.sinks[name] = sink

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self.model(self.ids).topk(self.k)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.values, self.indices = self.model(self.ids).topk(self.k)

    @torch.inference_mode()
    def step(self, sink: str) -> torch.Tensor:
        self.graph.replay()
        self.sinks[sink]({"values": self.values, "indices": self.indices})
        self.ids.copy_(self.indices[:, 0])
        return self.ids.clone()


def logprobs(model: nn.Module, batch: int, steps: int) -> torch.Tensor:
    sampler, recorder = Sampler(model, batch), Recorder()
    sampler.add_sink("record", recorder)
    sampler.capture()
    for _ in range(steps):
        sampler.step("record")
    return recorder.result()
