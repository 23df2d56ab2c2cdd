"""A training script with its capture written out."""

import torch


def build(net: torch.nn.Module, x: torch.Tensor):
    net(x)
    graph = torch.cuda.CUDAGraph()
    graph.capture_begin()  # ok: CG509
    y = net(x)
    graph.capture_end()
    return graph, x, y


def main():
    net = torch.nn.Linear(8, 8).cuda()
    x = torch.zeros(8, 8, device="cuda")
    for turn in range(3):
        net(x).sum().backward()
    net.zero_grad(set_to_none=True)
    graph = torch.cuda.CUDAGraph()
    graph.capture_begin(pool=torch.cuda.graph_pool_handle())  # expect: CG509
    net(x).sum().backward()
    graph.capture_end()
    other = torch.cuda.CUDAGraph()
    other.capture_begin(capture_error_mode="thread_local")  # expect: CG509
    loss = net(x).sum()
    other.capture_end()
    failing = torch.cuda.CUDAGraph()
    failing.capture_begin()  # graphlint: ignore[CG509] -- shows the message
    failing.capture_end()
    return graph, other, x, loss


if __name__ == "__main__":
    main()
    warm = torch.cuda.Stream()
    with torch.cuda.stream(warm):
        x = torch.zeros(8, device="cuda")
    raw = torch.cuda.CUDAGraph()
    raw.capture_begin()  # expect: CG509
    x.add_(1.0)
    raw.capture_end()
