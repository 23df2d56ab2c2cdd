"""Source: triton-inference-server/server#6643 (python backend), roboflow/inference#1190

Symptom: start-up records the graphs of all models in a thread pool; the warm-up synchronisation of
one model falls into the capture of another one and invalidates it.
"""

from concurrent.futures import ThreadPoolExecutor

import torch
import torch.nn as nn


class GraphedModel:
    def __init__(self, name: str, model: nn.Module, shape: tuple[int, ...]):
        self.name = name
        self.model = model.cuda().eval()
        self.x = torch.zeros(shape, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def record(self) -> str:
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for _ in range(3):
                self.model(self.x)
            stream.synchronize()
            with torch.cuda.graph(self.graph, stream=stream):  # HAZARD: thread-mode
                self.y = self.model(self.x)
        return self.name

    @torch.inference_mode()
    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()


class ModelRepository:
    def __init__(self, models: dict[str, tuple[nn.Module, tuple[int, ...]]]):
        self.models = {name: GraphedModel(name, net, shape) for name, (net, shape) in models.items()}

    def warm_up(self, workers: int = 4) -> list[str]:
        with ThreadPoolExecutor(max_workers=workers) as pool:  # ALT: thread-mode
            return list(pool.map(GraphedModel.record, self.models.values()))  # ALT: thread-mode

    def infer(self, name: str, x: torch.Tensor) -> torch.Tensor:
        return self.models[name](x)
