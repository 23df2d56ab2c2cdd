import torch

x = torch.rand(8, 16, device="cuda")
side = torch.cuda.Stream()
with torch.cuda.stream(side):
    x.add_(1)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    torch.cuda.current_stream().wait_stream(side)  # expect: CG507
    z = x * 3
