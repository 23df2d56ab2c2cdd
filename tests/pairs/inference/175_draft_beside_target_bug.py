"""After overlapped speculation: the draft of the next round starts while the target still verifies.

Symptom: both graphs were recorded into one pool, so that their temporaries lie in the same memory; replayed on
two streams at a time they overwrite each other.
"""

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
        pool = torch.cuda.graph_pool_handle()
        with torch.inference_mode():
            self.target_graph, self.target_y = record(target, self.target_x, pool)
            self.draft_graph, self.draft_y = record(draft, self.draft_x, pool)

    @torch.inference_mode()
    def round(self, guess: torch.Tensor, following: torch.Tensor):
        main = torch.cuda.current_stream()
        self.target_x.copy_(guess)
        self.side.wait_stream(main)
        with torch.cuda.stream(self.side):
            self.draft_x.copy_(following)
            self.draft_graph.replay()
            drafted = self.draft_y.clone()
        self.target_graph.replay()  # HAZARD: pool-misuse
        verified = self.target_y.clone()
        main.wait_stream(self.side)
        return verified, drafted
