"""What engineers print when something is wrong."""

import logging

import torch

log = logging.getLogger(__name__)


def describe(name: str, value: torch.Tensor) -> str:
    return f"{name}: {value.min()} .. {value.max()}"  # expect: CG304


def shape_of(name: str, value: torch.Tensor) -> str:
    return f"{name}: {tuple(value.shape)} {value.dtype} on {value.device}"  # ok: CG304


class Probe:
    def __init__(self, name: str):
        self.name = name
        self.lines = []

    def __call__(self, value: torch.Tensor):
        log.info(describe(self.name, value))
        log.info(shape_of(self.name, value))
        log.warning("%s has rank %d", self.name, value.dim())  # ok: CG304
        print(self.name, value[0])  # expect: CG304
        print(self.name, value.shape[0])  # ok: CG304
        self.lines.append("%s" % value.sum())  # expect: CG304
        self.lines.append(format(value.mean()))  # expect: CG304
