import threading

import torch


def record(x: torch.Tensor):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # expect: CG502
        x.mul_(2)
    graph.replay()


def run(a: torch.Tensor, b: torch.Tensor):
    threads = [threading.Thread(target=record, args=(x,)) for x in (a, b)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
