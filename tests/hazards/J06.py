import torch
from torch.nn.parallel import DistributedDataParallel


def build(net, x):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    print("building")
    with torch.cuda.stream(side):
        model = DistributedDataParallel(net)
        for _ in range(3):  # expect: CG809
            model.zero_grad()
            model(x).sum().backward()
        model.zero_grad()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        model(x).sum().backward()
    return graph
