import torch

x = torch.zeros(8, device="cuda")
side = torch.cuda.Stream()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x * 2
kept = []
for step in range(10):
    x.fill_(step)
    graph.replay()  # expect: CG203
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        kept.append(y.to("cpu", non_blocking=True))
torch.cuda.synchronize()
