"""Source: Blaizzy/mlx-audio port, canopyai/Orpheus-TTS#142 (CUDA graph decoder)

Fixed form: a chunk leaves the device before the next one is decoded.
"""

import asyncio
from collections.abc import AsyncIterator

import torch
import torch.nn as nn


class CodecDecoder:
    def __init__(self, codec: nn.Module, frames: int):
        self.codec = codec.cuda().eval()
        self.codes = torch.zeros(1, frames, dtype=torch.long, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self._record()

    @torch.inference_mode()
    def _record(self) -> None:
        for _ in range(3):
            self.codec(self.codes)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.wave = self.codec(self.codes)

    async def stream(self, queue: asyncio.Queue) -> AsyncIterator[torch.Tensor]:
        while True:
            codes = await queue.get()
            if codes is None:
                return
            self.codes.copy_(codes)
            self.graph.replay()
            yield self.wave


class SpeechService:
    def __init__(self, decoder: CodecDecoder):
        self.decoder = decoder

    async def synthesize(self, queue: asyncio.Queue) -> torch.Tensor:
        chunks = []
        async for chunk in self.decoder.stream(queue):
            chunks.append(chunk.cpu())
        return torch.cat(chunks, dim=-1)
