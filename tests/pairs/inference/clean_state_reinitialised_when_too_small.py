"""Clean: the decoder makes its state anew for a larger batch and captures again in the same call; host
reads happen between replays only.
"""

import torch
import torch.nn as nn


class LoopState:
    def __init__(self, batch: int, frames: int, width: int):
        self.batch, self.frames = batch, frames
        self.encoded = torch.zeros(batch, frames, width, device="cuda")
        self.lengths = torch.zeros(batch, dtype=torch.long, device="cuda")
        self.time = torch.zeros(batch, dtype=torch.long, device="cuda")
        self.labels = torch.zeros(batch, frames, dtype=torch.long, device="cuda")
        self.active = torch.zeros(batch, dtype=torch.bool, device="cuda")
        self.any_active = torch.zeros((), dtype=torch.bool, device="cuda")
        self.rows = torch.arange(batch, device="cuda")

    def too_small_for(self, encoded: torch.Tensor) -> bool:
        return self.batch < encoded.shape[0] or self.frames < encoded.shape[1]


class LoopDecoder:
    def __init__(self, joint: nn.Module, use_graphs: bool = True):
        self.joint, self.use_graphs = joint, use_graphs
        self.state: LoopState | None = None
        self.graph: torch.cuda.CUDAGraph | None = None

    def reset(self) -> None:
        self.state = None
        self.graph = None

    def _body(self) -> None:
        s = self.state
        label = self.joint(s.encoded[s.rows, s.time]).argmax(-1)
        s.labels[s.rows, s.time] = torch.where(s.active, label, s.labels[s.rows, s.time])
        s.time.add_(1).clamp_(max=s.frames - 1)
        torch.lt(s.time, s.lengths, out=s.active)
        torch.any(s.active, dim=0, out=s.any_active)

    def _reinitialise(self, encoded: torch.Tensor) -> None:
        batch, frames, width = encoded.shape
        if self.state is not None:
            batch, frames = max(batch, self.state.batch), max(frames, self.state.frames)
        self.state = LoopState(batch, frames, width)
        if self.use_graphs:
            self._capture()

    def _capture(self) -> None:
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream), torch.inference_mode():
            for _ in range(2):
                self._body()
        torch.cuda.current_stream().wait_stream(stream)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph), torch.inference_mode():
            self._body()

    def __call__(self, encoded: torch.Tensor, lengths: torch.Tensor) -> list[list[int]]:
        if self.state is None or self.state.too_small_for(encoded):
            self._reinitialise(encoded)
        n, t = encoded.shape[:2]
        self.state.encoded[:n, :t].copy_(encoded)
        self.state.lengths.zero_()
        self.state.lengths[:n].copy_(lengths)
        self.state.time.zero_()
        self.state.active.copy_(self.state.lengths > 0)
        self.state.any_active.copy_(self.state.active.any())
        while self.state.any_active.item():
            if self.graph is not None:
                self.graph.replay()
            else:
                self._body()
        return [
            row[:length] for row, length in zip(self.state.labels.tolist(), lengths.tolist(), strict=False)
        ]
