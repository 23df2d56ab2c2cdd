"""Source: FunAudioLLM/CosyVoice#1190 (comment), fishaudio/fish-speech#702

Symptom: the slow and the fast transformer share one memory pool; the hidden state that the slow
graph left is read again after the graphs of the fast one have replayed over its memory.
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
        pool = torch.cuda.graph_pool_handle()
        with torch.inference_mode():
            self.fast = GraphModule(fast, example, pool)
            self.slow = GraphModule(slow, example, pool)

    def generate(self, x: torch.Tensor, codebooks: int) -> torch.Tensor:
        hidden = self.slow(x)
        codes = []
        for _ in range(codebooks):
            out = self.fast(hidden)  # HAZARD: pool-misuse
            codes.append(out.argmax(-1))
            hidden = hidden + out  # ALT: pool-misuse
        return torch.stack(codes)
