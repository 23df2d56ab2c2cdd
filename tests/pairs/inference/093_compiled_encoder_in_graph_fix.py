"""Fixed form: code that will be captured is compiled without graphs."""

import torch
import torch.nn as nn


class Encoder(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.net(x)


class Options:
    def __init__(self, compile_encoder: bool = True, mode: str = "max-autotune-no-cudagraphs"):
        self.compile_encoder, self.mode = compile_encoder, mode


def prepare(module: nn.Module, options: Options) -> nn.Module:
    module = module.cuda().eval()
    if options.compile_encoder:
        return torch.compile(module, mode=options.mode)
    return module


class Pipeline:
    def __init__(self, width: int, batch: int, options: Options):
        self.encoder = prepare(Encoder(width), options)
        self.decoder = nn.Linear(width, width).cuda().eval()
        self.x = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _run(self) -> torch.Tensor:
        return self.decoder(self.encoder(self.x))

    @torch.inference_mode()
    def record(self) -> None:
        for _ in range(3):
            self._run()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self._run()

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()


def build(width: int = 256, batch: int = 4) -> Pipeline:
    pipeline = Pipeline(width, batch, Options())
    pipeline.record()
    return pipeline
