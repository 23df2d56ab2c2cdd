"""The primitives under `torch.cuda.CUDAGraph`: open, close, run and drop a graph. The rest is torch's own
code."""

from __future__ import annotations

import warnings
from typing import Any
from weakref import WeakValueDictionary

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


class Seeds:
    """Memory for the seed and the offset of a generator, shared by all graphs that draw from it."""

    def __init__(self) -> None:
        stream = device().current.number
        self._memory = [device_memory().take(8, 0, stream) for _ in range(2)]


_seeds_of: WeakValueDictionary[Philox, Seeds] = WeakValueDictionary()


def _seeds(philox: Philox) -> Seeds:
    found = _seeds_of.get(philox)
    if found is None:
        found = _seeds_of[philox] = Seeds()
    return found


class Held:
    """What a graph holds until it is reset or dies: a use of its pool, and its generators' seeds."""

    def __init__(self, pool: int, seeds: list[Seeds]) -> None:
        self.instantiated = False
        self._pool, self._seeds = pool, seeds
        _users[pool] = _users.get(pool, 0) + 1

    def release(self) -> None:
        """Give it all back, once."""
        if not self._seeds:
            return
        self._seeds = []
        _users[self._pool] -= 1

    __del__ = release


class GraphBase:
    """What torch's extension module calls `_CUDAGraph`; each attribute here is patched onto that class."""

    _capture: Capture | None
    _steps: list[Step] | None
    _draws: dict[Philox, int]
    _generators: list[VirtualGenerator]
    _pool: int | None
    _keep: bool
    _held: Held | None

    def __new__(cls, keep_graph: bool = False) -> Any:
        graph = ended.remember(bare_graph(cls))
        graph._keep, graph._capture, graph._steps, graph._draws, graph._generators = (
            keep_graph,
            None,
            None,
            {},
            [],
        )
        graph._pool, graph._held = None, None
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
        generators = [device().generator, *self._generators]
        held = Held(number, [_seeds(generator.philox) for generator in generators])
        capture = device().begin(number, capture_error_mode)
        self._capture, self._pool, self._held = capture, number, held
        for generator in generators:
            generator.philox.capture = capture

    def capture_end(self) -> None:
        """Close it, keep what was recorded, make it ready to run unless it was asked not to."""
        self.capture_end_pre()
        if self._held is not None and not self._keep:
            self._held.instantiated = True

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
        return self._held is not None and self._held.instantiated

    def instantiate(self) -> None:
        """Make it ready to run."""
        if self._steps is None or self._held is None:
            raise RuntimeError("Called CUDAGraph::instantiate without a preceding successful capture.")
        self._held.instantiated = True

    def replay(self) -> None:
        """Run what was recorded on the current stream."""
        if self._steps is None or self._held is None:
            raise RuntimeError(errors.NEVER_CAPTURED)
        stream = device().current
        if stream.capture is not None:
            raise RuntimeError(errors.REPLAY_IN_CAPTURE)
        for philox in self._draws:
            if philox.capture is not None:
                raise RuntimeError(errors.STUCK_GENERATOR)
        starts = {philox: philox.begin_replay(draws) for philox, draws in self._draws.items()}
        self._held.instantiated = True
        stream.submit(Replay(self._steps, starts))

    def reset(self) -> None:
        """Drop the graph; its pool goes back when no other graph uses it."""
        if self._held is not None:
            self._held.release()
        self._steps, self._held = None, None
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


def forget() -> None:
    """The device is gone, and its graphs with it."""
    _users.update(dict.fromkeys(_users, 0))


def empty_cache() -> None:
    """Return what nobody uses: free segments of the common pool, and of pools without graphs."""
    memory = device_memory()
    memory.bury()
    if device().captures:
        return
    memory.allocator.trim()
    memory.allocator.trim(unused_pools())
