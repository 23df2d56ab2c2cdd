"""Source: NVIDIA/Megatron-LM#1494.

Symptom: the load-balancing loss in the log is right for the first iteration and zero afterwards: the log function
gives the tracker new tensors, while the captured routers keep adding into the old ones.
"""

import torch
from torch import nn

_AUX_LOSSES = {}


def save_to_aux_losses_tracker(name, loss, layer_number, num_layers):
    if name not in _AUX_LOSSES:
        _AUX_LOSSES[name] = {"values": torch.zeros(num_layers, device=loss.device)}
    _AUX_LOSSES[name]["values"][layer_number] += loss.detach()


def track_metrics(iteration, writer):
    for name, entry in _AUX_LOSSES.items():
        writer.add_scalar(name, entry["values"].mean().item(), iteration)
        entry["values"] = torch.zeros_like(entry["values"])  # HAZARD: rebind-static-input


class Router(nn.Module):
    def __init__(self, d, experts, layer_number, num_layers):
        super().__init__()
        self.gate = nn.Linear(d, experts, bias=False)
        self.layer_number, self.num_layers = layer_number, num_layers

    def forward(self, x):
        probs = self.gate(x).softmax(-1)
        aux = probs.mean(0).square().sum() * probs.shape[-1]
        save_to_aux_losses_tracker("load_balancing_loss", aux, self.layer_number, self.num_layers)
        return probs, aux


class MoEStep:
    def __init__(self, d, experts, num_layers):
        self.routers = nn.ModuleList([Router(d, experts, i, num_layers) for i in range(num_layers)]).cuda()
        self.x = torch.zeros(256, d, device="cuda")
        self.opt = torch.optim.SGD(self.routers.parameters(), lr=0.1)

    def forward_backward(self):
        self.opt.zero_grad(set_to_none=True)
        loss = 0.0
        for router in self.routers:
            probs, aux = router(self.x)
            loss = loss + probs.max(-1).values.mean() + 0.01 * aux
        loss.backward()
        return loss

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.forward_backward()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self.forward_backward()


def train(step, batches, writer):
    step.capture()
    for iteration, batch in enumerate(batches):
        step.x.copy_(batch)
        step.graph.replay()
        step.opt.step()
        track_metrics(iteration, writer)
