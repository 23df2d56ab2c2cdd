"""After tree attention of Medusa-like decoders.

Symptom: the tree of candidates can be changed while the server runs. Its tensors are made anew and handed to
the model by keyword; the graph was recorded with the tensors of the first tree.
"""

from __future__ import annotations

import torch
import torch.nn as nn


def tree_tensors(paths: list[tuple[int, ...]], nodes: int) -> dict[str, torch.Tensor]:
    """Mask, depth and parent of every node, padded to the largest tree."""
    mask = torch.eye(nodes)
    depth = torch.zeros(nodes, dtype=torch.long)
    parent = torch.zeros(nodes, dtype=torch.long)
    index = {(): 0}
    for number, path in enumerate(sorted(paths, key=len), 1):
        index[path] = number
        depth[number] = len(path)
        parent[number] = index[path[:-1]]
        mask[number] += mask[index[path[:-1]]]
    return {"tree_mask": mask, "depth": depth, "parent": parent}


class TreeModel(nn.Module):
    def __init__(self, width: int, vocabulary: int):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width, device="cuda")
        self.place = nn.Embedding(64, width, device="cuda")
        self.head = nn.Linear(width, vocabulary, device="cuda")

    def forward(self, ids, *, tree_mask, depth, parent):
        x = self.embed(ids) + self.place(depth)
        scores = (x @ x.transpose(-1, -2)).masked_fill(tree_mask == 0, float("-inf"))
        x = torch.softmax(scores, dim=-1) @ x
        return self.head(x + x.index_select(1, parent))


class TreeDecoder:
    def __init__(self, model: TreeModel, batch: int, nodes: int):
        self.model, self.nodes = model, nodes
        self.ids = torch.zeros(batch, nodes, dtype=torch.long, device="cuda")
        self.tree: dict[str, torch.Tensor] = {}
        self.graph = torch.cuda.CUDAGraph()

    def set_tree(self, paths: list[tuple[int, ...]]) -> None:
        made = tree_tensors(paths, self.nodes)
        self.tree = {name: value.to("cuda") for name, value in made.items()}  # HAZARD: rebind-static-input

    @torch.inference_mode()
    def start(self, paths: list[tuple[int, ...]]) -> None:
        self.set_tree(paths)
        for _ in range(3):
            self.model(self.ids, **self.tree)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.logits = self.model(self.ids, **self.tree)

    @torch.inference_mode()
    def propose(self, ids: torch.Tensor) -> torch.Tensor:
        self.ids.copy_(ids)
        self.graph.replay()
        return self.logits.argmax(-1)


def serve(decoder: TreeDecoder, requests) -> list[torch.Tensor]:
    decoder.start([(0,), (1,), (0, 0)])
    results = []
    for request in requests:
        if request.paths is not None:
            decoder.set_tree(request.paths)
        results.append(decoder.propose(request.ids))
    return results
