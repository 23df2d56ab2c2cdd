import torch
import torch.distributed as dist


class Reducer:
    def __init__(self, size):
        self.x = torch.zeros(size, device="cuda")
        self.graph = None

    def capture(self):
        dist.all_reduce(self.x)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            dist.all_reduce(self.x)


def main(rank, world, rounds):
    dist.init_process_group("nccl", rank=rank, world_size=world)
    reducer = Reducer(1024)
    reducer.capture()
    for _ in range(rounds):
        reducer.graph.replay()
    dist.destroy_process_group()  # expect: CG810
