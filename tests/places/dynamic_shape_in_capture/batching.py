"""Packing and filtering of sequences; the number of rows is known to the device only."""

import torch


def active(tokens: torch.Tensor, finished: torch.Tensor) -> torch.Tensor:
    return tokens[~finished]  # expect: CG305


def first_stop(tokens: torch.Tensor, stop: int) -> torch.Tensor:
    return torch.nonzero(tokens == stop)  # expect: CG305


def masked(tokens: torch.Tensor, finished: torch.Tensor) -> torch.Tensor:
    return torch.where(finished, 0, tokens)  # ok: CG305


def spread(rows: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
    return torch.repeat_interleave(rows, counts, dim=0)  # expect: CG305


def spread_to(rows: torch.Tensor, counts: torch.Tensor, total: int) -> torch.Tensor:
    return torch.repeat_interleave(rows, counts, dim=0, output_size=total)  # ok: CG305
