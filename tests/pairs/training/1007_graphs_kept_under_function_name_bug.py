"""Source: deepspeedai/DeepSpeed#4318 (graphs of short kernel sequences).

Symptom: with graph harvesting the low-precision gradients are never cleared in the last accumulation step: graphs are kept
under the name of the function, and the flag of the first call is in the recording.
"""

import torch

GRAPH_CACHE = {}


def graph_process(fn, *args, **kwargs):
    key = fn.__name__
    if key not in GRAPH_CACHE:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            fn(*args, **kwargs)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            fn(*args, **kwargs)  # HAZARD: frozen-scalar
        GRAPH_CACHE[key] = graph
    else:
        GRAPH_CACHE[key].replay()


class BF16Optimizer:
    def __init__(self, params, lr=1e-3, accumulation=4):
        self.lp_params = params
        self.hp_params = [p.detach().float().clone() for p in params]
        self.hp_grads = [torch.zeros_like(p) for p in self.hp_params]
        self.lr, self.accumulation, self.micro = lr, accumulation, 0

    def _update_hp_grads(self, clear_lp_grads):
        for lp, hp in zip(self.lp_params, self.hp_grads):
            hp.add_(lp.grad)
            if clear_lp_grads:  # ALT: frozen-scalar
                lp.grad.zero_()

    def accumulate(self):
        self.micro += 1
        boundary = self.micro % self.accumulation == 0
        graph_process(self._update_hp_grads, clear_lp_grads=boundary)  # ALT: frozen-scalar
        return boundary

    def step(self):
        for hp, grad, lp in zip(self.hp_params, self.hp_grads, self.lp_params):
            hp.sub_(grad, alpha=self.lr)
            grad.zero_()
            lp.data.copy_(hp)


def train(net, loader):
    opt = BF16Optimizer(list(net.parameters()))
    for batch in loader:
        net(batch.cuda()).mean().backward()
        if opt.accumulate():
            opt.step()
