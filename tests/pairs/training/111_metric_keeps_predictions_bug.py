"""A ranking metric needs all predictions of an epoch. It keeps the tensors it is given, which are the
outputs of one graph, so that the curve is made of copies of the last batch. (Seen in meta-pytorch/torchrec#2951.)"""

import torch
from torch import nn


class AreaUnderCurve:
    def __init__(self):
        self.reset()

    def reset(self):
        self.parts = {"prediction": [], "label": []}

    def update(self, **tensors):
        for name, value in tensors.items():
            self.parts[name].append(value.detach())  # ALT: stale-output

    def compute(self):
        pred, label = (torch.cat(self.parts[k]) for k in ("prediction", "label"))
        order = pred.argsort()
        rank = torch.empty_like(pred).scatter_(0, order, torch.arange(1.0, len(pred) + 1, device=pred.device))
        pos = label.sum()
        return ((rank * label).sum() - pos * (pos + 1) / 2) / (pos * (len(label) - pos))


class Metrics:
    def __init__(self, **metrics):
        self.metrics = metrics

    def update(self, **tensors):
        for metric in self.metrics.values():
            metric.update(**tensors)


class ClickModel(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(width, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, x, label):
        logits = self.net(x).squeeze(-1)
        return nn.functional.binary_cross_entropy_with_logits(logits, label), logits.sigmoid()


class Trainer:
    def __init__(self, model, batch, width):
        self.model, self.metrics = model, Metrics(auc=AreaUnderCurve())
        self.x, self.label = torch.zeros(batch, width, device="cuda"), torch.zeros(batch, device="cuda")
        self.opt = torch.optim.SGD(model.parameters(), lr=0.1)
        self.graph = torch.cuda.CUDAGraph()

    def _step(self):
        self.opt.zero_grad(set_to_none=True)
        loss, score = self.model(self.x, self.label)
        loss.backward()
        self.opt.step()
        return loss, score

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._step()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.loss, self.score = self._step()

    def epoch(self, loader):
        for x, label in loader:
            self.x.copy_(x)
            self.label.copy_(label)
            self.graph.replay()
            self.metrics.update(prediction=self.score, label=label.cuda())  # HAZARD: stale-output
        return self.metrics.metrics["auc"].compute().item()


def main(loader):
    trainer = Trainer(ClickModel(16).cuda(), 256, 16)
    trainer.capture()
    return trainer.epoch(loader)
