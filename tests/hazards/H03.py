import torch

x = torch.zeros(8, device="cuda")
stage = torch.ones(8, pin_memory=True)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    x.copy_(stage, non_blocking=True)
    y = x * 2
    stage.fill_(2)  # expect: CG107
    x.copy_(stage, non_blocking=True)
    z = x * 2
