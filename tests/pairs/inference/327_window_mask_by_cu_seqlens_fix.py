"""Source: huggingface/transformers#35837 (Qwen2-VL eager attention), modelscope/ms-swift#3009

Fixed form: each patch looks up its image, and the mask compares images.
"""

import torch
import torch.nn as nn


class VisionBlock(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: torch.Tensor, cu_seqlens: torch.Tensor) -> torch.Tensor:
        length = x.shape[0]
        q, k, v = self.qkv(self.norm(x)).chunk(3, dim=-1)
        image = torch.bucketize(torch.arange(length, device=q.device), cu_seqlens, right=True)
        mask = torch.where(image[:, None] == image[None, :], 0.0, torch.finfo(q.dtype).min)
        return x + self.out(torch.softmax(q @ k.t() + mask, dim=-1) @ v)


class VisionEncoder(nn.Module):
    def __init__(self, depth: int, width: int):
        super().__init__()
        self.blocks = nn.ModuleList([VisionBlock(width) for _ in range(depth)])

    def forward(self, patches: torch.Tensor, cu_seqlens: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            patches = block(patches, cu_seqlens)
        return patches


class EncoderCudaGraph:
    def __init__(self, encoder: VisionEncoder, budget: int, images: int, width: int):
        self.encoder = encoder.to("cuda").eval()
        self.buffers = {
            "patches": torch.zeros(budget, width, device="cuda"),
            "cu_seqlens": torch.linspace(0, budget, images + 1, device="cuda").int(),
        }
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self.encoder(**self.buffers)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.features = self.encoder(**self.buffers)

    def run(self, patches: torch.Tensor, cu_seqlens: torch.Tensor) -> torch.Tensor:
        self.buffers["patches"].zero_()
        self.buffers["patches"][: patches.shape[0]].copy_(patches)
        self.buffers["cu_seqlens"].copy_(cu_seqlens)
        self.graph.replay()
        return self.features[: patches.shape[0]].clone()
