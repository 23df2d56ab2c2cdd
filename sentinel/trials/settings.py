"""Torch's modes and random numbers: read at a capture or before a replay, and set again."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True, slots=True)
class Modes:
    """The modes under which a body was captured."""

    gradients: bool
    inference: bool
    autocast: bool
    autocast_type: torch.dtype
    autocast_cache: bool

    @staticmethod
    def now() -> Modes:
        return Modes(
            torch.is_grad_enabled(),
            torch.is_inference_mode_enabled(),
            torch.is_autocast_enabled("cuda"),
            torch.get_autocast_dtype("cuda"),
            torch.is_autocast_cache_enabled(),
        )

    @contextmanager
    def again(self) -> Iterator[None]:
        """Run something in them."""
        with ExitStack() as stack:
            if self.inference != torch.is_inference_mode_enabled():
                stack.enter_context(torch.inference_mode(self.inference))
            stack.enter_context(torch.set_grad_enabled(self.gradients))
            stack.enter_context(
                torch.autocast("cuda", self.autocast_type, self.autocast, self.autocast_cache)
            )
            yield


class RandomNumbers:
    """Where every generator stands that captured code may draw from."""

    def __init__(self, generators: list[torch.Generator]) -> None:
        default = [*torch.cuda.default_generators, torch.default_generator]
        self._device = [(generator, generator.get_state()) for generator in [*default, *generators]]
        self._host = random.getstate()
        numpy = sys.modules.get("numpy.random")
        self._numpy = numpy.get_state() if numpy is not None else None

    def set_back(self) -> bool:
        """Put them there again; returns whether a generator of the host had moved."""
        moved = random.getstate() != self._host
        for generator, state in self._device:
            if generator.device.type == "cpu":
                moved = moved or not torch.equal(generator.get_state(), state)
            generator.set_state(state)
        random.setstate(self._host)
        return self._numpy_back() or moved

    def _numpy_back(self) -> bool:
        if self._numpy is None:
            return False
        numpy: Any = sys.modules["numpy.random"]
        now = numpy.get_state()
        numpy.set_state(self._numpy)
        return bool(now[2] != self._numpy[2] or (now[1] != self._numpy[1]).any())
