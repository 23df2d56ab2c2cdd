"""Symptom: a forward hook registered for activation ranges reads the maximum on the host, and the
hooked module is captured.
"""

import torch
import torch.nn as nn


class RangeObserver:
    def __init__(self):
        self.ranges: dict[str, float] = {}
        self.device_ranges: dict[str, torch.Tensor] = {}

    def hook(self, name: str):
        self.device_ranges[name] = torch.zeros((), device="cuda")

        def observe(module, args, output):
            peak = output.abs().amax()
            self.ranges[name] = max(self.ranges.get(name, 0.0), peak.item())  # HAZARD: sync-in-capture

        return observe

    def attach(self, model: nn.Module) -> None:
        for name, module in model.named_modules():
            if isinstance(module, nn.Linear):
                module.register_forward_hook(self.hook(name))


def calibrated_graph(width: int, batch: int):
    model = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width)).cuda()
    observer = RangeObserver()
    observer.attach(model)
    x = torch.zeros(batch, width, device="cuda")
    with torch.no_grad():
        for _ in range(2):
            model(x)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = model(x)
    return graph, x, y, observer
