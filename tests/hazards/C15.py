import torch

x = torch.rand(8, 16, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = torch.distributions.Normal(x, x.exp()).sample()  # expect: CG307
