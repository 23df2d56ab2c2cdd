"""Fixed form: an event after the replay is waited for before the host reads."""

import torch
import torch.nn as nn


class TokenBuffer:
    def __init__(self, batch: int):
        self.device = torch.zeros(batch, dtype=torch.long, device="cuda")
        self.host = torch.zeros(batch, dtype=torch.long).pin_memory()
        self.done = torch.cuda.Event()

    def publish(self, tokens: torch.Tensor) -> None:
        self.device.copy_(tokens)
        self.host.copy_(self.device, non_blocking=True)


class DecodeStep:
    def __init__(self, net: nn.Module, batch: int):
        self.net = net
        self.tokens = TokenBuffer(batch)
        self.ids = torch.zeros(batch, dtype=torch.long, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _step(self) -> None:
        self.tokens.publish(self.net(self.ids).argmax(-1))

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self._step()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self._step()

    def run(self, ids: torch.Tensor) -> list[int]:
        self.ids.copy_(ids)
        self.graph.replay()
        self.tokens.done.record()
        self.tokens.done.synchronize()
        return self.tokens.host.tolist()


class Scheduler:
    def __init__(self, step: DecodeStep, stop: int):
        self.step, self.stop = step, stop

    def generate(self, ids: torch.Tensor, most: int) -> list[list[int]]:
        rows = []
        for _ in range(most):
            row = self.step.run(ids)
            rows.append(row)
            if all(token == self.stop for token in row):
                break
            ids = torch.tensor(row, device="cuda")
        return rows
