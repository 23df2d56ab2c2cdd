"""Clean: positions, lengths and recurrent state live on the device and are advanced in place; a reset fills
them, an inherited hook prepares each chunk, and the graph is captured with begin and end calls.
"""

import torch
import torch.nn as nn


class StreamState:
    def __init__(self, streams: int, width: int):
        self.offset = torch.zeros(streams, dtype=torch.long, device="cuda")
        self.hidden = torch.zeros(streams, width, device="cuda")

    def reset(self, stream: int | None = None) -> None:
        if stream is None:
            self.offset.zero_()
            self.hidden.zero_()
        else:
            self.offset[stream].fill_(0)
            self.hidden[stream].fill_(0.0)


class StreamingCell(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.inp, self.rec = nn.Linear(width, width), nn.Linear(width, width)
        self.register_buffer("scale", torch.arange(1, width + 1).float())

    def forward(self, x: torch.Tensor, state: StreamState) -> torch.Tensor:
        angle = state.offset[:, None] / self.scale
        hidden = torch.tanh(self.inp(x) + self.rec(state.hidden) + angle.cos())
        state.hidden.copy_(hidden)
        state.offset.add_(1)
        return hidden


class ChunkRunner:
    def __init__(self, streams: int, width: int):
        self.cell = StreamingCell(width).cuda().eval()
        self.state = StreamState(streams, width)
        self.x = torch.zeros(streams, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.stream = torch.cuda.Stream()
        self.chunks = 0

    def before_chunk(self, chunk: torch.Tensor) -> None:
        self.x.zero_()
        self.x[: chunk.shape[0]].copy_(chunk)

    @torch.inference_mode()
    def start(self) -> None:
        with torch.cuda.stream(self.stream):
            for _ in range(2):
                self.cell(self.x, self.state)
            self.stream.synchronize()
            self.graph.capture_begin()
            self.y = self.cell(self.x, self.state)
            self.graph.capture_end()
        torch.cuda.current_stream().wait_stream(self.stream)
        self.state.reset()

    def chunk(self, chunk: torch.Tensor) -> torch.Tensor:
        self.before_chunk(chunk)
        self.graph.replay()
        self.chunks += 1
        return self.y[: chunk.shape[0]].clone()


class GainRunner(ChunkRunner):
    def __init__(self, streams: int, width: int, gain: float):
        super().__init__(streams, width)
        self.gain = gain

    def before_chunk(self, chunk: torch.Tensor) -> None:
        super().before_chunk(chunk * self.gain)

    def set_gain(self, gain: float) -> None:
        self.gain = gain
