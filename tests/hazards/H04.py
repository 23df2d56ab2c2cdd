import torch

x = torch.zeros(8, device="cuda")
outs = torch.zeros(3, 8, device="cuda")
stage = torch.ones(8, pin_memory=True)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    x.copy_(stage, non_blocking=True)
    y = x * 2
for step in range(3):
    stage.fill_(step)  # expect: CG107
    graph.replay()
    outs[step].copy_(y)
