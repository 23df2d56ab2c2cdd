"""Source: NVIDIA/TensorRT-LLM#6121 (memory), SYSTRAN/faster-whisper fork

Fixed form: both stages are recorded on one stream.
"""

import torch
import torch.nn as nn


class Stage:
    def __init__(self, net: nn.Module, example: torch.Tensor, stream: torch.cuda.Stream):
        self.net = net.cuda().eval()
        self.inp = example.cuda()
        self.stream = stream
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def record(self, pool) -> None:
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            for _ in range(2):
                self.net(self.inp)
        torch.cuda.current_stream().wait_stream(self.stream)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph, pool=pool, stream=self.stream):
            self.out = self.net(self.inp)

    def run(self, x: torch.Tensor) -> torch.Tensor:
        self.inp.copy_(x)
        self.graph.replay()
        return self.out


class Transcriber:
    def __init__(self, encoder: nn.Module, decoder: nn.Module, mel: torch.Tensor, features: torch.Tensor):
        stream = torch.cuda.Stream()
        self.encoder = Stage(encoder, mel, stream)
        self.decoder = Stage(decoder, features, stream)
        pool = torch.cuda.graph_pool_handle()
        for stage in (self.encoder, self.decoder):
            stage.record(pool)

    def __call__(self, mel: torch.Tensor) -> torch.Tensor:
        return self.decoder.run(self.encoder.run(mel)).clone()
