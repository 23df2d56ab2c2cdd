"""The loop puts each batch into the dict attribute that the captured loss reads: a new dict of new
tensors."""

import torch
from torch import nn


class Pairwise(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.score = nn.Linear(width, 1)

    def forward(self, batch):
        margin = self.score(batch["chosen"]) - self.score(batch["rejected"])
        return -nn.functional.logsigmoid(margin * batch["weight"].unsqueeze(-1)).mean()


class RewardTrainer:
    def __init__(self, model, n, width):
        self.model = model
        self.batch = {
            "chosen": torch.zeros(n, width, device="cuda"),
            "rejected": torch.zeros(n, width, device="cuda"),
            "weight": torch.ones(n, device="cuda"),
        }
        self.graph = torch.cuda.CUDAGraph()

    def compute(self):
        self.model.zero_grad(set_to_none=True)
        loss = self.model(self.batch)
        loss.backward()
        return loss

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.compute()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.loss = self.compute()

    def training_step(self, batch):
        self.batch = {k: v.cuda() for k, v in batch.items()}  # HAZARD: rebind-static-input
        self.graph.replay()
        return self.loss.clone()


def fit(loader):
    trainer = RewardTrainer(Pairwise(64).cuda(), 32, 64)
    trainer.capture()
    opt = torch.optim.SGD(trainer.model.parameters(), lr=1e-2)
    for batch in loader:
        trainer.training_step(batch)
        opt.step()
