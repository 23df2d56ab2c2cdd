import torch

x = torch.rand(8, 16, device="cuda")
inner = torch.cuda.CUDAGraph()
with torch.cuda.graph(inner):
    z = x * 3
graph = torch.cuda.CUDAGraph()
other = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    inner.replay()  # expect: CG504
    y = x * 2
    with torch.cuda.graph(other):  # expect: CG504
        w = y + 1
