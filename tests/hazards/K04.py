import torch


@torch.library.custom_op("mine::clip", mutates_args=())
def clip(x: torch.Tensor) -> torch.Tensor:
    if x.sum().item() > 0:  # expect: CG302
        return x * 2
    return x.clone()


@torch.compile(mode="reduce-overhead")
def model(x):
    return clip(x) * 2


def run(x: torch.Tensor):
    return model(x.cuda()).clone()
