"""Source: vllm-project/vllm#12094 (input batch), GeeeekExplorer/nano-vllm#131

Fixed form: the condensed rows are copied into the tensors that the graph reads.
"""

import torch
import torch.nn as nn


class BatchStateMixin:
    tokens: torch.Tensor
    positions: torch.Tensor

    def init_batch(self, max_batch: int) -> None:
        self.tokens = torch.zeros(max_batch, dtype=torch.long, device="cuda")
        self.positions = torch.zeros(max_batch, dtype=torch.long, device="cuda")
        self.req_ids: list[str] = []

    def add_request(self, req_id: str, token: int, position: int) -> None:
        row = len(self.req_ids)
        self.req_ids.append(req_id)
        self.tokens[row].fill_(token)
        self.positions[row].fill_(position)

    def condense(self, finished: set[str]) -> None:
        keep = [i for i, r in enumerate(self.req_ids) if r not in finished]
        order = keep + [i for i in range(self.tokens.shape[0]) if i not in keep]
        index = torch.tensor(order, device="cuda")
        self.tokens.copy_(self.tokens[index])
        self.positions.copy_(self.positions[index])
        self.req_ids = [self.req_ids[i] for i in keep]


class DecodeRunner(BatchStateMixin):
    def __init__(self, model: nn.Module, max_batch: int):
        self.model = model.cuda().eval()
        self.init_batch(max_batch)
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture_model(self) -> None:
        for _ in range(2):
            self.model(self.tokens, self.positions)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.next_tokens = self.model(self.tokens, self.positions).argmax(-1)

    def execute(self) -> list[int]:
        self.graph.replay()
        self.tokens.copy_(self.next_tokens)
        self.positions.add_(1)
        return self.next_tokens[: len(self.req_ids)].tolist()


def serve(runner: DecodeRunner, prompts: dict[str, int], limit: int) -> dict[str, list[int]]:
    runner.capture_model()
    answers: dict[str, list[int]] = {name: [] for name in prompts}
    for name, token in prompts.items():
        runner.add_request(name, token, 0)
    while runner.req_ids:
        produced = runner.execute()
        for name, token in zip(runner.req_ids, produced):
            answers[name].append(token)
        runner.condense({name for name in runner.req_ids if len(answers[name]) >= limit})
    return answers
