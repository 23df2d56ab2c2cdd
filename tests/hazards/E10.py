import torch

x = torch.rand(8, 16, device="cuda")
inner = torch.cuda.CUDAGraph()
with torch.cuda.graph(inner):
    z = x * 3
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    inner.replay()  # expect: CG504
    y = x * 2
