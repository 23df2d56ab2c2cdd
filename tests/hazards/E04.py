import torch

x = torch.rand(8, 16, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    z = x * 3
    with torch.cuda.stream(torch.cuda.default_stream()):  # expect: CG501
        y = x * 2
