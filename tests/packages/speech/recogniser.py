from __future__ import annotations

import torch

from .batching import ChunkBatch
from .graph_pool import CAPTURE_LOCK
from .nets.encoder import StreamingEncoder
from .sessions import Session
from .settings import ServerSettings


class Recogniser:
    """One graph for all streams: their state lies in the buffers of the encoder."""

    def __init__(self, settings: ServerSettings) -> None:
        self.settings = settings
        self.device = torch.device(settings.device)
        encoder = StreamingEncoder(settings.encoder, settings.max_streams, settings.vocabulary)
        self.encoder = encoder.to(self.device).eval()
        self.batch = ChunkBatch(settings)
        shape = (settings.max_streams, settings.chunk, settings.encoder.features)
        self.features = torch.zeros(shape, device=self.device)
        self.lengths = torch.zeros(settings.max_streams, dtype=torch.int64, device=self.device)
        self.graph: torch.cuda.CUDAGraph | None = None
        self.scores: torch.Tensor | None = None

    @torch.inference_mode()
    def warm_up(self) -> None:
        for _ in range(3):
            self.encoder(self.features, self.lengths)
        torch.cuda.synchronize()
        if not self.settings.use_graphs:
            return
        with CAPTURE_LOCK:
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.scores = self.encoder(self.features, self.lengths)
        for slot in range(self.settings.max_streams):
            self.encoder.reset(slot)

    @torch.inference_mode()
    def step(self, sessions: list[Session]) -> dict[str, torch.Tensor]:
        features, lengths = self.batch.gather(sessions)
        self.features.copy_(features, non_blocking=True)
        self.lengths.copy_(lengths, non_blocking=True)
        self.batch.was_read()
        if self.graph is None:
            scores = self.encoder(self.features, self.lengths)
        else:
            self.graph.replay()
            scores = self.scores
        best = scores.argmax(dim=-1).cpu()
        return {session.name: best[session.slot] for session in sessions}

    @torch.inference_mode()
    def forget(self, session: Session) -> None:
        self.encoder.reset(session.slot)
