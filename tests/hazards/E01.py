import torch

x = torch.rand(8, 16, device="cuda")
side = torch.cuda.Stream()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    with torch.cuda.stream(side):  # expect: CG501
        y = x * 2
    torch.cuda.current_stream().wait_stream(side)
