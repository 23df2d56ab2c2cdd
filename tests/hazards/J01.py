import torch


def build():
    net = torch.nn.Linear(8, 8).cuda()
    opt = torch.optim.Adam(net.parameters())
    x = torch.zeros(8, 8, device="cuda")
    net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        net(x).sum().backward()
        opt.step()  # expect: CG804
    return graph, x
