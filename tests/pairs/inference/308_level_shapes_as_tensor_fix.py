"""Source: huggingface/transformers#26772 (Deformable DETR), IDEA-Research/GroundingDINO#219

Fixed form: the level sizes are numbers of the configuration and lie in a buffer.
"""

import torch
import torch.nn as nn


class LevelAttention(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.value = nn.Linear(width, width)

    def forward(self, tokens: torch.Tensor, shapes: torch.Tensor, starts: torch.Tensor) -> torch.Tensor:
        scale = shapes.prod(dim=1).float().rsqrt()
        share = (tokens[:, starts] * scale[None, :, None]).sum(dim=1, keepdim=True)
        return self.value(tokens + share)


class PixelDecoder(nn.Module):
    def __init__(self, channels: list[int], width: int, side: int):
        super().__init__()
        sizes = [(side >> i, side >> i) for i in range(len(channels))]
        self.register_buffer("shapes", torch.tensor(sizes, dtype=torch.long))
        self.project = nn.ModuleList(nn.Conv2d(c, width, 1) for c in channels)
        self.attend = LevelAttention(width)

    def forward(self, levels: list[torch.Tensor]) -> torch.Tensor:
        flat = []
        for conv, level in zip(self.project, levels):
            flat.append(conv(level).flatten(2).transpose(1, 2))
        tokens = torch.cat(flat, dim=1)
        shapes = self.shapes
        starts = torch.cat([shapes.new_zeros(1), shapes.prod(dim=1).cumsum(0)[:-1]])
        return self.attend(tokens, shapes, starts)


def capture(decoder: PixelDecoder, channels: list[int], side: int):
    decoder = decoder.cuda().eval()
    levels = [torch.zeros(1, c, side >> i, side >> i, device="cuda") for i, c in enumerate(channels)]
    with torch.no_grad():
        warm = torch.cuda.Stream()
        warm.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(warm):
            decoder(levels)
            decoder(levels)
        torch.cuda.current_stream().wait_stream(warm)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            memory = decoder(levels)

    def run(features: list[torch.Tensor]) -> torch.Tensor:
        for static, new in zip(levels, features):
            static.copy_(new)
        graph.replay()
        return memory.clone()

    return run
