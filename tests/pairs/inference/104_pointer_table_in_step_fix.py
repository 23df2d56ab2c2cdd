"""Fixed form: the table is made once, before the capture, and kept as a buffer."""

import torch
import torch.nn as nn

try:
    from grouped_kernels import grouped_gemm
except ImportError:

    def grouped_gemm(x: torch.Tensor, table: torch.Tensor, picks: torch.Tensor) -> torch.Tensor:
        return x * table[picks].to(x.dtype)[:, None]


class GroupedAdapters(nn.Module):
    def __init__(self, count: int, width: int):
        super().__init__()
        self.weights = nn.ParameterList(nn.Parameter(torch.zeros(width, width)) for _ in range(count))

        self.table: torch.Tensor | None = None

    def make_table(self) -> None:
        self.table = torch.as_tensor([w.data_ptr() for w in self.weights], device="cuda")

    def forward(self, x: torch.Tensor, picks: torch.Tensor) -> torch.Tensor:
        return grouped_gemm(x, self.table, picks)


class MultiAdapterStep:
    def __init__(self, base: nn.Module, adapters: GroupedAdapters, batch: int, width: int):
        self.base, self.adapters = base.cuda(), adapters.cuda()
        self.x = torch.zeros(batch, width, device="cuda")
        self.picks = torch.zeros(batch, dtype=torch.long, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _body(self) -> torch.Tensor:
        return self.base(self.x) + self.adapters(self.x, self.picks)

    @torch.inference_mode()
    def capture(self) -> None:
        self.adapters.make_table()
        for _ in range(2):
            self._body()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self._body()

    def step(self, x: torch.Tensor, picks: list[int]) -> torch.Tensor:
        self.x.copy_(x)
        self.picks.copy_(torch.tensor(picks))
        self.graph.replay()
        return self.y.clone()
