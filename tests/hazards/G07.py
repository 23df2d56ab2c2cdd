import torch

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    x = torch.zeros(8, device="cuda")  # expect: CG606
    y = x * 2
for step in range(3):
    x.copy_(torch.full((8,), step, device="cuda"))
    graph.replay()
