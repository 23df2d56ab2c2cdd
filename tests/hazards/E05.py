import torch
from torch.nn.parallel import DistributedDataParallel


def build(net, x):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    model = DistributedDataParallel(net)  # expect: CG806
    with torch.cuda.stream(side):
        print("warming up")
        for _ in range(11):
            model.zero_grad()
            model(x).sum().backward()
        model.zero_grad()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        model(x).sum().backward()
    return graph
