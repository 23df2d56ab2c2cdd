"""Symptom: the streaming vocoder captures again whenever a session was closed, while the language
model's thread reads its tokens back; the read is refused and the request fails.
"""

import queue
import threading

import torch
import torch.nn as nn


class VocoderGraph:
    def __init__(self, codec: nn.Module, frames: int):
        self.codec = codec
        self.codes = torch.zeros(1, frames, dtype=torch.long, device="cuda")
        self.pool = torch.cuda.graph_pool_handle()
        self.graph = None

    def close(self) -> None:
        self.graph = None

    @torch.inference_mode()
    def open(self) -> None:
        if self.graph is not None:
            return
        for _ in range(2):
            self.codec(self.codes)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool):  # HAZARD: thread-mode
            self.wave = self.codec(self.codes)
        self.graph = graph

    def decode(self, codes: torch.Tensor) -> torch.Tensor:
        self.codes.copy_(codes)
        self.graph.replay()
        return self.wave.clone()


class VocoderStage(threading.Thread):
    def __init__(self, vocoder: VocoderGraph, inbox: queue.Queue):
        super().__init__(daemon=True)
        self.vocoder, self.inbox = vocoder, inbox

    def run(self) -> None:
        while True:
            session, codes = self.inbox.get()
            self.vocoder.open()
            session.append(self.vocoder.decode(codes))
            if codes is None:
                self.vocoder.close()


class TalkerStage(threading.Thread):
    def __init__(self, model: nn.Module, outbox: queue.Queue):
        super().__init__(daemon=True)
        self.model, self.outbox = model, outbox
        self.history: list[int] = []

    def run(self) -> None:
        token = torch.zeros(1, dtype=torch.long, device="cuda")
        session: list[torch.Tensor] = []
        while True:
            token = self.model(token).argmax(-1)
            self.history.extend(token.tolist())
            self.outbox.put((session, token[None]))


def serve(model: nn.Module, codec: nn.Module, frames: int) -> None:
    box: queue.Queue = queue.Queue()
    vocoder = VocoderGraph(codec, frames)
    vocoder.open()
    VocoderStage(vocoder, box).start()
    TalkerStage(model, box).start()
