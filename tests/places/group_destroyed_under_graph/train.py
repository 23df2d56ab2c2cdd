"""Training programs, from the first rendezvous to the end."""

import torch
import torch.distributed as dist
from reducer import Reducer, finish, scaled


def main(rank: int, world: int, rounds: int):
    dist.init_process_group("nccl", rank=rank, world_size=world)
    reducer = Reducer(1024)
    reducer.capture()
    for _ in range(rounds):
        reducer.run()
    dist.destroy_process_group()  # expect: CG810


def main_that_closes(rank: int, world: int, rounds: int):
    dist.init_process_group("nccl", rank=rank, world_size=world)
    reducer = Reducer(1024)
    reducer.capture()
    for _ in range(rounds):
        reducer.run()
    reducer.close()
    dist.destroy_process_group()  # ok: CG810


def main_without_collectives(rank: int, world: int):
    dist.init_process_group("nccl", rank=rank, world_size=world)
    x = torch.zeros(8, device="cuda")
    graph, y = scaled(x)
    graph.replay()
    dist.all_reduce(y)
    dist.destroy_process_group()  # ok: CG810
    return graph, x


class Trainer:
    def __init__(self, width: int):
        self.x = torch.zeros(width, device="cuda")
        self.gathered = torch.zeros(4 * width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        dist.all_gather_into_tensor(self.gathered, self.x)
        with torch.cuda.graph(self.graph):
            dist.all_gather_into_tensor(self.gathered, self.x)

    def run(self):
        self.graph.replay()
        return self.gathered.clone()

    def stop(self):
        torch.cuda.synchronize()
        dist.destroy_process_group()  # expect: CG810

    def release(self):
        self.graph.reset()


def main_in_a_guard(width: int):
    trainer = Trainer(width)
    try:
        trainer.run()
    finally:
        finish()


def main_that_releases(width: int):
    trainer = Trainer(width)
    trainer.run()
    trainer.release()
    dist.destroy_process_group()  # ok: CG810
