import torch


def build(net, opt):
    x = torch.zeros(8, 8, device="cuda")
    net(x).sum().backward()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        net(x).sum().backward()  # expect: CG803
    for _ in range(10):
        graph.replay()
        opt.step()
