import torch

x = torch.rand(8, 16, device="cuda")
event = torch.cuda.Event()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    done = event.query()  # expect: CG301
    torch.cuda.current_stream().query()  # expect: CG301
