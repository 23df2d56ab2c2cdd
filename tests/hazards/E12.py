import torch

x = torch.zeros(8, device="cuda")
side = torch.cuda.Stream()
pool = torch.cuda.graph_pool_handle()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x * 2
graph.replay()
with torch.cuda.stream(side):
    graph.replay()  # expect: CG608
