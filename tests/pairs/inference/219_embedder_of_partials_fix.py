"""Another shape of an embedder whose results are kept: functions and partials instead of a class.

Fixed form: each result is a copy.
"""

from __future__ import annotations

import functools

import torch
import torch.nn as nn


def _record(encoder: nn.Module, shape: tuple[int, int]):
    ids = torch.zeros(shape, dtype=torch.long, device="cuda")
    for _ in range(2):
        encoder(ids)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        pooled = encoder(ids).mean(1)
    return {"graph": graph, "ids": ids, "pooled": pooled}


def _embed(entry: dict, rows: torch.Tensor) -> torch.Tensor:
    entry["ids"].zero_()
    entry["ids"][: rows.shape[0], : rows.shape[1]].copy_(rows)
    entry["graph"].replay()
    return entry["pooled"][: rows.shape[0]].clone()


@torch.no_grad()
def embed_corpus(encoder: nn.Module, corpus: list[torch.Tensor]) -> torch.Tensor:
    embed = functools.partial(_embed, _record(encoder.cuda().eval(), (32, 128)))
    vectors = [embed(rows) for rows in corpus]
    return torch.cat(vectors)
