"""Source: huggingface/diffusers#3286 (comment), chengzeyi/stable-fast#58

Symptom: the decoder is switched to channels-last after its graph was recorded; the weights get new
memory and the graph reads the old blocks, which the allocator soon gives to somebody else.
"""

import torch
import torch.nn as nn


class VaeDecoder(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.conv_in = nn.Conv2d(4, channels, 3, padding=1)
        self.conv_out = nn.Conv2d(channels, 3, 3, padding=1)

    def forward(self, latents: torch.Tensor) -> torch.Tensor:
        return self.conv_out(torch.nn.functional.silu(self.conv_in(latents)))


class ImagePipeline:
    def __init__(self, vae: VaeDecoder):
        self.vae = vae
        self._decode = vae

    def to(self, device: str) -> "ImagePipeline":
        self.vae.to(device)
        return self

    def enable_channels_last(self) -> "ImagePipeline":
        self.vae.to(memory_format=torch.channels_last)  # HAZARD: stale-pointer
        return self

    @torch.inference_mode()
    def enable_graph(self, shape: tuple[int, int, int, int]) -> "ImagePipeline":
        latents = torch.zeros(shape, device="cuda")
        for _ in range(3):
            self.vae(latents)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            image = self.vae(latents)

        def replay(new: torch.Tensor) -> torch.Tensor:
            latents.copy_(new)
            graph.replay()
            return image.clone()

        self._decode = replay
        return self

    def decode(self, latents: torch.Tensor) -> torch.Tensor:
        return self._decode(latents)


def load(channels: int, side: int) -> ImagePipeline:
    pipe = ImagePipeline(VaeDecoder(channels).eval()).to("cuda")
    return pipe.enable_graph((1, 4, side, side)).enable_channels_last()


def render(channels: int, side: int, batches: list[torch.Tensor]) -> list[torch.Tensor]:
    pipe = load(channels, side)
    return [pipe.decode(batch) for batch in batches]
