import torch


@torch.compile(mode="reduce-overhead")
def step(x):
    return x * 2


def run(xs: list[torch.Tensor]):
    kept = []
    for x in xs:
        kept.append(step(x))  # expect: CG201
    return torch.stack(kept)
