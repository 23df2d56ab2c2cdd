import torch

x = torch.rand(8, 16, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    a = torch.equal(x, x * 2)  # expect: CG307
    b = torch.allclose(x, x * 2)  # expect: CG307
