"""Drawn from functional inference code (the shape of gpt-fast), where state lives in closures.

Symptom: the function that switches the system prompt binds a new prefix to the enclosing name; the
captured function has read the prefix of the first one.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn as nn


class Decoder(NamedTuple):
    warm: Callable[[], None]
    decode: Callable[[torch.Tensor], torch.Tensor]
    use_prompt: Callable[[torch.Tensor], None]


def make_decoder(layers: list[nn.Module], width: int, prefix_rows: int = 16) -> Decoder:
    token = torch.zeros(1, width, device="cuda")
    prefix = torch.zeros(prefix_rows, width, device="cuda")
    graph, output = None, None

    def attend(x: torch.Tensor) -> torch.Tensor:
        weights = torch.softmax(x @ prefix.T, dim=-1)
        return x + weights @ prefix

    def forward(x: torch.Tensor) -> torch.Tensor:
        for layer in layers:
            x = layer(attend(x))
        return x

    @torch.inference_mode()
    def warm() -> None:
        nonlocal graph, output
        for _ in range(3):
            forward(token)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            output = forward(token)

    def decode(x: torch.Tensor) -> torch.Tensor:
        token.copy_(x)
        graph.replay()
        return output.clone()

    def use_prompt(rows: torch.Tensor) -> None:
        nonlocal prefix
        prefix = rows.to("cuda")  # HAZARD: rebind-static-input

    return Decoder(warm, decode, use_prompt)


def chat(layers: list[nn.Module], width: int, prompts, turns) -> list[torch.Tensor]:
    decoder = make_decoder(layers, width)
    decoder.warm()
    answers = []
    for prompt, turn in zip(prompts, turns):
        decoder.use_prompt(prompt)
        answers.append(decoder.decode(turn))
    return answers
