"""Seen in a speech server (the shape of vllm-project/vllm-omni#4525's serving loop).

Symptom: the step loop hands each client its row of the static waveform through an asyncio queue;
the client is scheduled later, when the loop has replayed again.
"""

import asyncio
from collections.abc import AsyncIterator

import torch
import torch.nn as nn


class Session:
    def __init__(self, row: int):
        self.row = row
        self.chunks: asyncio.Queue = asyncio.Queue()

    async def stream(self) -> AsyncIterator[bytes]:
        while True:
            chunk = await self.chunks.get()
            if chunk is None:
                return
            yield chunk.cpu().numpy().tobytes()


class StepLoop:
    def __init__(self, vocoder: nn.Module, rows: int, width: int):
        self.vocoder = vocoder
        self.codes = torch.zeros(rows, width, device="cuda")
        self.sessions: dict[int, Session] = {}
        self.graph: torch.cuda.CUDAGraph | None = None
        self.wave: torch.Tensor | None = None

    @torch.inference_mode()
    def warm_up(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.vocoder(self.codes)
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.wave = self.vocoder(self.codes)

    def open(self, row: int) -> Session:
        session = self.sessions[row] = Session(row)
        return session

    async def run(self, source) -> None:
        while self.sessions:
            codes = await source.next_codes()
            self.codes.copy_(codes)
            self.graph.replay()
            for row, session in self.sessions.items():
                await session.chunks.put(self.wave[row].clone())
