"""Source: a sanity check in a segmentation trainer, left on in its captured step.

Fixed: labels are checked when the batch is copied in, outside of the graph.
"""

from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class SegBatch:
    image: torch.Tensor
    label: torch.Tensor

    @classmethod
    def static(cls, n, size):
        return cls(
            torch.zeros(n, 3, size, size, device="cuda"),
            torch.zeros(n, size, size, dtype=torch.int64, device="cuda"),
        )

    def load(self, image, label):
        self.image.copy_(image, non_blocking=True)
        self.label.copy_(label, non_blocking=True)


class DiceLoss(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.classes = classes

    def forward(self, logits, label):
        target = nn.functional.one_hot(label, self.classes).movedim(-1, 1).to(logits.dtype)
        probs = logits.softmax(1)
        overlap = (probs * target).sum((0, 2, 3))
        return 1.0 - (2.0 * overlap / (probs + target).sum((0, 2, 3)).clamp(min=1e-6)).mean()


class Segmenter:
    def __init__(self, net: nn.Module, classes, n=4, size=64):
        self.net = net.cuda()
        self.loss_fn = DiceLoss(classes)
        self.batch = SegBatch.static(n, size)
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.01)

    def _step(self):
        self.opt.zero_grad(set_to_none=True)
        loss = self.loss_fn(self.net(self.batch.image), self.batch.label)
        loss.backward()
        self.opt.step()
        return loss

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._step()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self._step()

    def train_on(self, image, label):
        assert label.min() >= 0 and label.max() < self.loss_fn.classes, "label out of range"
        self.batch.load(image, label)
        self.graph.replay()
        return self.loss
