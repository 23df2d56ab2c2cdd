"""Source: yl4579/StyleTTS2#198 (fork), hexgrad/kokoro#64

Fixed form: the recorded module runs its full depth and the caller cuts behind the end token.
"""

import torch
import torch.nn as nn


class Unrolled(nn.Module):
    def __init__(self, cell: nn.Module, depth: int, end: int, stop_early: bool = True):
        super().__init__()
        self.cell, self.depth, self.end, self.stop_early = cell, depth, end, stop_early

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        produced = [tokens]
        while len(produced) < self.depth:
            produced.append(self.cell(produced[-1]).argmax(dim=-1))
            if self.stop_early and self.end in produced[-1]:
                break
        return torch.stack(produced, dim=1)


def graphed(module: Unrolled, batch: int, **kwargs):
    tokens = torch.zeros(batch, dtype=torch.long, device="cuda")
    graph = torch.cuda.CUDAGraph()
    stream = torch.cuda.Stream()
    with torch.inference_mode():
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                module(tokens)
        torch.cuda.current_stream().wait_stream(stream)
        with torch.cuda.graph(graph, stream=stream, **kwargs):
            produced = module(tokens)

    def call(new: torch.Tensor) -> torch.Tensor:
        tokens.copy_(new)
        graph.replay()
        return produced.clone()

    return call


def speak(cell: nn.Module, batch: int, prompts: list[torch.Tensor]) -> list[torch.Tensor]:
    step = graphed(
        Unrolled(cell.cuda(), depth=4, end=2, stop_early=False), batch, capture_error_mode="thread_local"
    )
    return [step(prompt) for prompt in prompts]
