"""Source: FunAudioLLM/CosyVoice#1190 (comment), fishaudio/fish-speech#702

Fixed form: each of the two networks records into a pool of its own, and the slow result is copied.
"""

import torch
import torch.nn as nn


class GraphModule:
    def __init__(self, fn, example: torch.Tensor, pool):
        self.inp = example.clone()
        for _ in range(2):
            fn(self.inp)
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, pool=pool):
            self.out = fn(self.inp)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        self.inp.copy_(x)
        self.graph.replay()
        return self.out


class DualTransformer:
    def __init__(self, slow: nn.Module, fast: nn.Module, batch: int, width: int):
        example = torch.zeros(batch, width, device="cuda")
        with torch.inference_mode():
            self.fast = GraphModule(fast, example, torch.cuda.graph_pool_handle())
            self.slow = GraphModule(slow, example, torch.cuda.graph_pool_handle())

    def generate(self, x: torch.Tensor, codebooks: int) -> torch.Tensor:
        hidden = self.slow(x).clone()
        codes = []
        for _ in range(codebooks):
            out = self.fast(hidden)
            codes.append(out.argmax(-1))
            hidden = hidden + out
        return torch.stack(codes)
