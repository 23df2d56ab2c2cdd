import torch

x = torch.rand(8, 16, device="cuda")
generator = torch.Generator(device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = torch.rand(8, device="cuda", generator=generator)  # expect: CG503
