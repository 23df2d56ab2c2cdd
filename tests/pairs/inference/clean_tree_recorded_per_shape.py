"""Clean: candidate trees are kept by name, each with graphs of its own that are recorded when the tree is first used;
tensors of a tree never change afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass(frozen=True)
class Tree:
    name: str
    parents: tuple[int, ...]

    def mask(self) -> torch.Tensor:
        size = len(self.parents)
        mask = torch.eye(size, dtype=torch.bool)
        for node, parent in enumerate(self.parents):
            if parent >= 0:
                mask[node] |= mask[parent]
        return mask


class TreeVerifier:
    def __init__(self, model: nn.Module, tree: Tree, batch: int, pool):
        self.model = model
        self.mask = tree.mask().cuda()
        self.parents = torch.tensor([max(p, 0) for p in tree.parents], device="cuda")
        self.ids = torch.zeros(batch, len(tree.parents), dtype=torch.long, device="cuda")
        for _ in range(2):
            self._verify()
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, pool=pool):
            self.best, self.accepted = self._verify()

    def _verify(self) -> tuple[torch.Tensor, torch.Tensor]:
        logits = self.model(self.ids, self.mask)
        best = logits.argmax(-1)
        expected = best.index_select(1, self.parents)
        good = (expected == self.ids).long()
        chain = (good[:, None, :] * self.mask + ~self.mask).amin(-1)
        return best, (chain * self.mask.sum(-1)).amax(-1)

    def run(self, ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        self.ids.copy_(ids)
        self.graph.replay()
        return self.best.clone(), self.accepted.clone()


class TreeServer:
    def __init__(self, model: nn.Module, batch: int):
        self.model, self.batch = model, batch
        self.pool = torch.cuda.graph_pool_handle()
        self.verifiers: dict[str, TreeVerifier] = {}
        self.tree: Tree | None = None

    def use(self, tree: Tree) -> None:
        self.tree = tree

    @torch.inference_mode()
    def step(self, ids: torch.Tensor) -> list[list[int]]:
        verifier = self.verifiers.get(self.tree.name)
        if verifier is None:
            verifier = TreeVerifier(self.model, self.tree, self.batch, self.pool)
            self.verifiers[self.tree.name] = verifier
        best, accepted = verifier.run(ids)
        lengths = accepted.tolist()
        return [row[:n] for row, n in zip(best.tolist(), lengths)]
