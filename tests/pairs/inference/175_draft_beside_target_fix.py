"""Each graph has a pool of its own."""

import torch
import torch.nn as nn


def record(model: nn.Module, x: torch.Tensor, pool):
    for _ in range(2):
        model(x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):
        y = model(x)
    return graph, y


class OverlappedSpeculation:
    def __init__(self, draft: nn.Module, target: nn.Module, batch: int, width: int):
        self.draft_x = torch.zeros(batch, width, device="cuda")
        self.target_x = torch.zeros(batch, width, device="cuda")
        self.side = torch.cuda.Stream()
        with torch.inference_mode():
            self.target_graph, self.target_y = record(target, self.target_x, None)
            self.draft_graph, self.draft_y = record(draft, self.draft_x, None)

    @torch.inference_mode()
    def round(self, guess: torch.Tensor, following: torch.Tensor):
        main = torch.cuda.current_stream()
        self.target_x.copy_(guess)
        self.side.wait_stream(main)
        with torch.cuda.stream(self.side):
            self.draft_x.copy_(following)
            self.draft_graph.replay()
            drafted = self.draft_y.clone()
        self.target_graph.replay()
        verified = self.target_y.clone()
        main.wait_stream(self.side)
        return verified, drafted
