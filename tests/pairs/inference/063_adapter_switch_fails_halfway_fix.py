"""Fixed form: the graph is dropped as soon as an adapter is touched."""

import torch
import torch.nn as nn


class AdapterLinear(nn.Module):
    def __init__(self, width: int, rank: int):
        super().__init__()
        self.base = nn.Linear(width, width)
        self.down = nn.Parameter(torch.zeros(rank, width))
        self.up = nn.Parameter(torch.zeros(width, rank))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.base(x) + x @ self.down.t() @ self.up.t()


class Denoiser:
    def __init__(self, width: int, rank: int, batch: int):
        self.net = AdapterLinear(width, rank).cuda().eval()
        self.x = torch.zeros(batch, width, device="cuda")
        self.graph = None
        self.applied: tuple[str, ...] = ()

    @torch.inference_mode()
    def denoise(self, x: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        if self.graph is None:
            self._record()
        self.graph.replay()
        return self.y.clone()

    def _record(self) -> None:
        for _ in range(2):
            self.net(self.x)
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.net(self.x)

    def _unload(self) -> None:
        self.net.down = nn.Parameter(torch.zeros_like(self.net.down))
        self.net.up = nn.Parameter(torch.zeros_like(self.net.up))

    def apply(self, names: tuple[str, ...], loader) -> None:
        self.graph = None
        try:
            self._unload()
            for name in names:
                state = loader(name)
                self.net.down.data.copy_(state["down"])
                self.net.up.data.copy_(state["up"])
        except OSError as problem:
            self.applied = ()
            raise ValueError(f"cannot apply {names}") from problem
        self.applied = names
