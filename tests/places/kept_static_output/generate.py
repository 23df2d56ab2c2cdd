"""Sampling loops over a graphed decoder."""

import torch
from engine import Decoder


def beam(decoder: Decoder, tokens: torch.Tensor, steps: int):
    scores = []
    for _ in range(steps):
        logits = decoder.step(tokens)
        scores.append(logits[:, -1])  # expect: CG201
        tokens = logits.argmax(-1)
    return torch.stack(scores)


def greedy(decoder: Decoder, tokens: torch.Tensor, steps: int):
    chosen = []
    for _ in range(steps):
        tokens = decoder.step(tokens).argmax(-1)
        chosen.append(tokens)  # ok: CG201
    return torch.stack(chosen)


def contrast(decoder: Decoder, prompt: torch.Tensor, empty: torch.Tensor):
    with_prompt = decoder.step(prompt)  # expect: CG201
    without = decoder.step(empty)
    return with_prompt - 0.5 * without


def contrast_safely(decoder: Decoder, prompt: torch.Tensor, empty: torch.Tensor):
    with_prompt = decoder.step_copied(prompt)  # ok: CG201
    without = decoder.step(empty)
    return with_prompt - 0.5 * without


def shown_once(decoder: Decoder, prompts):
    for prompt in prompts:
        print(decoder.step(prompt).sum().item())  # ok: CG201
