"""Source: huggingface/transformers style length masks in a captured speech trainer.

Symptom: the capture of the training step ends with error 900 in the mask helper: the number of columns is the largest length
of the batch, which torch.arange has to read from the device.
"""

import torch
from torch import nn


def lengths_to_mask(lengths, width):
    columns = torch.arange(lengths.max(), device=lengths.device)  # HAZARD: implicit-sync
    return columns[None, :] < lengths[:, None]


class Encoder(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.proj = nn.Linear(d, d)
        self.head = nn.Linear(d, 40)

    def forward(self, frames, lengths):
        mask = lengths_to_mask(lengths, frames.shape[1])
        h = torch.relu(self.proj(frames)) * mask[..., None]
        return self.head(h), mask


class SpeechStep:
    def __init__(self, batch, frames, d):
        self.net = Encoder(d).cuda()
        self.frames = torch.zeros(batch, frames, d, device="cuda")
        self.lengths = torch.full((batch,), frames, device="cuda")
        self.labels = torch.zeros(batch, frames, dtype=torch.int64, device="cuda")
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1)

    def __call__(self):
        self.opt.zero_grad(set_to_none=True)
        logits, mask = self.net(self.frames, self.lengths)
        nll = nn.functional.cross_entropy(logits.transpose(1, 2), self.labels, reduction="none")
        loss = (nll * mask).sum() / mask.sum()
        loss.backward()
        self.opt.step()
        return loss


def capture(step):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()
    return graph, loss
