"""The primitives under `torch.cuda.CUDAGraph`: open, close, run and drop a graph. The rest is torch's own
code."""

from __future__ import annotations

import warnings
from typing import Any

from graphlint.sentinel.virtual import ended, errors
from graphlint.sentinel.virtual.capture import Capture, ordered
from graphlint.sentinel.virtual.device import device
from graphlint.sentinel.virtual.instances import bare_graph
from graphlint.sentinel.virtual.rng import Philox, VirtualGenerator
from graphlint.sentinel.virtual.tape import Step
from graphlint.sentinel.virtual.tensors import device_memory

_users: dict[int, int] = {}  # of each graph pool, how many graphs


class Replay(Step):
    """All steps of a graph, with where its generators stood when it was launched."""

    __slots__ = ("_starts", "_steps")

    def __init__(self, steps: list[Step], starts: dict[Philox, tuple[int, int]]) -> None:
        self._steps, self._starts = steps, starts

    def run(self) -> None:
        device_memory().bury()
        for philox, start in self._starts.items():
            philox.replaying = start
        for step in self._steps:
            step.run()


class GraphBase:
    """What torch's extension module calls `_CUDAGraph`; each attribute here is patched onto that class."""

    _capture: Capture | None
    _steps: list[Step] | None
    _draws: dict[Philox, int]
    _generators: list[VirtualGenerator]
    _pool: int | None
    _keep: bool
    _instantiated: bool

    def __new__(cls, keep_graph: bool = False) -> Any:
        graph = ended.remember(bare_graph(cls))
        graph._keep, graph._capture, graph._steps, graph._draws, graph._generators = (
            keep_graph,
            None,
            None,
            {},
            [],
        )
        graph._pool, graph._instantiated = None, False
        return graph

    def __init__(self, keep_graph: bool = False) -> None:
        pass

    def register_generator_state(self, generator: Any) -> None:
        """Let the graph draw from a generator besides the default one."""
        self._generators.append(generator)

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global") -> None:
        """Open a capture on the current stream."""
        if self._steps is not None or self._capture is not None:
            raise RuntimeError(errors.OWNS_GRAPH)
        number = pool[1] if pool is not None else next(device().pools)
        capture = device().begin(number, capture_error_mode)
        self._capture, self._pool = capture, number
        _users[number] = _users.get(number, 0) + 1
        for generator in [device().generator, *self._generators]:
            generator.philox.capture = capture

    def capture_end(self) -> None:
        """Close it, keep what was recorded, make it ready to run unless it was asked not to."""
        self.capture_end_pre()
        self._instantiated = not self._keep

    def capture_end_pre(self) -> None:
        """The first half of that: torch 2.14 and newer let hooks run between the two."""
        capture = self._capture
        if capture is None:
            raise RuntimeError("capture_end was called without a capture underway on this CUDAGraph")
        self._capture = None
        device().end(capture)
        for generator in [device().generator, *self._generators]:
            generator.philox.capture = None
        self._tape = capture.tape
        self._steps = ordered(capture.tape, capture.origin.number, device().order)
        self._draws = capture.draws
        if not self._steps:
            warnings.warn(errors.EMPTY_GRAPH, stacklevel=3)

    def capture_end_post(self) -> None:
        """Nothing is kept that could be dropped now."""

    @property
    def _has_graph_exec(self) -> bool:
        return self._instantiated

    def instantiate(self) -> None:
        """Make it ready to run."""
        if self._steps is None:
            raise RuntimeError("Called CUDAGraph::instantiate without a preceding successful capture.")
        self._instantiated = True

    def replay(self) -> None:
        """Run what was recorded on the current stream."""
        if self._steps is None:
            raise RuntimeError(errors.NEVER_CAPTURED)
        stream = device().current
        if stream.capture is not None:
            raise RuntimeError(errors.REPLAY_IN_CAPTURE)
        for philox in self._draws:
            if philox.capture is not None:
                raise RuntimeError(errors.STUCK_GENERATOR)
        starts = {philox: philox.begin_replay(draws) for philox, draws in self._draws.items()}
        self._instantiated = True
        stream.submit(Replay(self._steps, starts))

    def reset(self) -> None:
        """Drop the graph; its pool goes back when no other graph uses it."""
        if self._pool is not None and (self._steps is not None or self._capture is not None):
            _users[self._pool] -= 1
        self._steps = None
        self._draws = {}

    def pool(self) -> tuple[int, int]:
        """The token of the graph's pool."""
        if self._pool is None:
            raise RuntimeError("Called CUDAGraph::pool() without a preceding successful capture.")
        return (0, self._pool)

    def pools(self) -> list[tuple[int, int]]:
        """The tokens of all its pools."""
        return [self.pool()]

    def enable_debug_mode(self) -> None:
        """Nothing more is kept for a dump than there is anyway."""

    def debug_dump(self, debug_path: str) -> None:
        """Write the recorded steps, one a line."""
        steps = self._steps or []
        with open(debug_path, "w", encoding="utf-8") as file:
            file.writelines(
                f"{at}: {getattr(step, 'function', type(step).__name__)}\n" for at, step in enumerate(steps)
            )

    def raw_cuda_graph(self) -> int:
        errors.refuse("raw_cuda_graph(): there is no driver behind this graph")

    def raw_cuda_graph_exec(self) -> int:
        errors.refuse("raw_cuda_graph_exec(): there is no driver behind this graph")


def unused_pools() -> set[int]:
    """Pools whose graphs are all gone."""
    return {pool for pool, users in _users.items() if users <= 0}


def empty_cache() -> None:
    """Return what nobody uses: free segments of the common pool, and of pools without graphs."""
    memory = device_memory()
    memory.bury()
    if device().captures:
        return
    memory.allocator.trim()
    memory.allocator.trim(unused_pools())
