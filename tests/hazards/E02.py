import torch

x = torch.rand(8, 16, device="cuda")
side = torch.cuda.Stream()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):  # expect: CG506
        y = x * 2
    z = x * 3
