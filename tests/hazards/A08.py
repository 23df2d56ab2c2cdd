import torch

x = torch.zeros(8, device="cuda")
side = torch.cuda.Stream()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x * 2

x.fill_(5)  # expect: CG105
with torch.cuda.stream(side):
    graph.replay()
