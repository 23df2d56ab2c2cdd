import torch

x = torch.zeros(8, device="cuda")
side = torch.cuda.Stream()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x * 2

side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    graph.replay()
print(y.sum().item())  # expect: CG202
