import torch

x = torch.zeros(4, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    total = x.sum()
for n in (4, 1):
    x[:n].copy_(torch.ones(n, device="cuda") * 2)  # expect: CG109
    graph.replay()
