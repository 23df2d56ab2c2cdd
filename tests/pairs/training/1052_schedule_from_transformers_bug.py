"""Source: huggingface/transformers schedules in a trainer that captures the whole iteration.

Symptom: the learning rate printed by the scheduler warms up and decays, the weights move as with the rate of the capture: the
rate is a float of the group, recorded as a kernel argument.
"""

import torch
from torch import nn
from transformers import get_cosine_schedule_with_warmup


class Finetuner:
    def __init__(self, model: nn.Module, args):
        self.model = model.cuda()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.lr, capturable=True)
        self.scheduler = get_cosine_schedule_with_warmup(self.optimizer, args.warmup_steps, args.total_steps)
        self.ids = torch.zeros(args.batch, args.length, dtype=torch.int64, device="cuda")
        self.labels = torch.zeros(args.batch, args.length, dtype=torch.int64, device="cuda")

    def compute_loss(self):
        logits = self.model(self.ids)
        return nn.functional.cross_entropy(logits.flatten(0, 1), self.labels.flatten())

    def iteration(self):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.compute_loss()
        loss.backward()
        self.optimizer.step()  # ALT: frozen-scalar
        return loss

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.iteration()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self.iteration()

    def train(self, loader):
        for step, batch in enumerate(loader):
            self.ids.copy_(batch["input_ids"])
            self.labels.copy_(batch["labels"])
            self.graph.replay()
            self.scheduler.step()  # HAZARD: frozen-scalar
            if step % 50 == 0:
                print(step, self.scheduler.get_last_lr(), self.loss.item())
