import torch


def build(net):
    x = torch.zeros(8, 8, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.autocast("cuda", dtype=torch.float16):  # expect: CG801
        net(x)
        with torch.cuda.graph(graph):
            y = net(x)
    return graph, x, y
