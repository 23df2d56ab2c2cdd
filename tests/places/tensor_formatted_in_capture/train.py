"""A progress line in a captured step."""

import torch


class Progress:
    def __init__(self, total: int):
        self.total = total
        self.text = ""

    def update(self, loss: torch.Tensor, lr: float):
        self.text = f"loss {loss.item():.4f} lr {lr:.1e}"  # expect: CG302
        self.text = f"loss {loss} of {self.total}"  # expect: CG304
        self.text += f" lr {lr:.1e}"  # ok: CG304


class Trainer:
    def __init__(self, net: torch.nn.Module):
        self.net = net
        self.x = torch.zeros(8, 8, device="cuda")
        self.progress = Progress(100)
        self.graph = torch.cuda.CUDAGraph()
        self.step()
        with torch.cuda.graph(self.graph):
            self.loss = self.step()

    def step(self):
        loss = self.net(self.x).mean()
        self.progress.update(loss, 1e-3)
        repr(loss)  # graphlint: ignore[CG304] -- the linter of the linter
        return loss

    def run(self):
        self.graph.replay()
        return str(self.loss)  # ok: CG304
