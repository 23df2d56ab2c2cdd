import torch

x = torch.ones(8, device="cuda")
host = torch.zeros(8, pin_memory=True)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    host.copy_(x * 5, non_blocking=True)
graph.replay()
print(host[0])  # expect: CG204
