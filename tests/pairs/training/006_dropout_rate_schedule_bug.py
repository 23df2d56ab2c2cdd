"""The dropout rate is lowered from epoch to epoch by writing the module's `p`; the captured kernels keep
the rate of the first epoch."""

import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self, dim, classes):
        super().__init__()
        self.fc = nn.Linear(dim, dim)
        self.drop_rate = 0.5
        self.out = nn.Linear(dim, classes)

    def forward(self, x):
        h = torch.relu(self.fc(x))
        h = nn.functional.dropout(h, p=self.drop_rate, training=self.training)  # HAZARD: frozen-scalar
        return self.out(h)


class EpochCallback:
    def __init__(self, net, start, end, epochs):
        self.net, self.start, self.end, self.epochs = net, start, end, epochs

    def on_epoch(self, epoch):
        t = epoch / max(1, self.epochs - 1)
        self.net.drop_rate = self.start + t * (self.end - self.start)  # ALT: frozen-scalar


class Engine:
    def __init__(self, net, dim):
        self.net, self.x = net.train(), torch.zeros(32, dim, device="cuda")
        self.callbacks = []
        self.graph = torch.cuda.CUDAGraph()

    def loss_step(self):
        self.net.zero_grad(set_to_none=True)
        loss = self.net(self.x).logsumexp(-1).mean()
        loss.backward()
        return loss

    def prepare(self):
        s = torch.cuda.Stream()
        s.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(s):
            for _ in range(3):
                self.loss_step()
        torch.cuda.current_stream().wait_stream(s)
        with torch.cuda.graph(self.graph):
            self.loss = self.loss_step()

    def fit(self, loader, epochs):
        self.prepare()
        opt = torch.optim.SGD(self.net.parameters(), lr=0.1)
        for epoch in range(epochs):
            for callback in self.callbacks:
                callback.on_epoch(epoch)
            for batch in loader:
                self.x.copy_(batch)
                self.graph.replay()
                opt.step()


def main(loader):
    engine = Engine(Classifier(64, 10).cuda(), 64)
    engine.callbacks.append(EpochCallback(engine.net, 0.5, 0.1, 20))
    engine.fit(loader, 20)
