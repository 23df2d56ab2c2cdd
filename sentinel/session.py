"""`watch()`, `enable()` and `disable()`: the sentinel installed for a while, and everything put back."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Literal

from graphlint.sentinel.findings import Finding, Findings
from graphlint.sentinel.patches import Patches
from graphlint.sentinel.settings import Mode

if TYPE_CHECKING:
    from graphlint.sentinel.watching.observer import Observer

Order = Literal["early", "lagging", "late"]
Counts = list[int]  # captures and replays, as an observer counts them

NO_DEVICE = (
    "anything. Nothing was watched, because torch sees no CUDA device; `--virtual` (`virtual_cuda()` in a "
    "program, `virtual` in GRAPHLINT_SENTINEL) runs it on the virtual device"
)


class Watch:
    """What was found since it began, and what could not be looked at."""

    def __init__(self, mode: Mode) -> None:
        self.mode = mode
        self.closing = ExitStack()  # what ends with this watch
        self.on_new: Callable[[], None] = lambda: None  # is called for each finding that is not a repetition
        self._findings = Findings()
        self._unseen: dict[str, int] = {}
        self._counts: Counts = [0, 0]
        self._before: Counts = [0, 0]

    def begin(self, counts: Counts) -> None:
        """From here on what is counted is counted for this watch."""
        self._counts, self._before = counts, list(counts)

    def end(self) -> None:
        """What is counted later is not this watch's."""
        self._counts = list(self._counts)

    def count(self, graphs: int, replays: int) -> None:
        """Count what another process has seen for it, after it has ended."""
        self._counts = [self._counts[0] + graphs, self._counts[1] + replays]

    @property
    def graphs(self) -> int:
        """How many captures came to an end in it."""
        return self._counts[0] - self._before[0]

    @property
    def replays(self) -> int:
        """How many replays of graphs that are known were made in it."""
        return self._counts[1] - self._before[1]

    @property
    def findings(self) -> list[Finding]:
        """The findings, in the order of their first appearance."""
        if self in _installed.watches and _installed.observer is not None:
            _installed.observer.settle()
        return self.so_far()

    def so_far(self) -> list[Finding]:
        """Those that are there already, without waiting for what the device has yet to answer."""
        return self._findings.as_list()

    @property
    def unseen(self) -> list[str]:
        """What could not be looked at and why, each with how often if more than once."""
        return [f"{what} ({times} times)" if times > 1 else what for what, times in self._unseen.items()]

    def add(self, finding: Finding) -> None:
        """Take a finding."""
        if self._findings.add(finding):
            self.on_new()

    def miss(self, what: str) -> None:
        """Note something that could not be looked at."""
        self._unseen[what] = self._unseen.get(what, 0) + 1


class _Installed:
    """The patches, once for the process, and the watches that they serve, the innermost last."""

    def __init__(self) -> None:
        self.watches: list[Watch] = []
        self.patches = Patches()
        self.observer: Observer | None = None

    def enter(self, watch: Watch) -> None:
        self.watches.append(watch)
        try:
            if self.observer is None:
                self._install()
            assert self.observer is not None
            watch.begin(self.observer.counts)
            if watch.mode == "test":
                self._look_at_eager_code(watch)
        except BaseException:
            self.leave(watch)
            raise

    def leave(self, watch: Watch) -> None:
        with ExitStack() as stack:
            stack.callback(self._left, watch)
            stack.callback(watch.closing.close)
            if self.watches == [watch] and self.observer is not None:
                self.observer.finish()

    def _left(self, watch: Watch) -> None:
        self.watches.remove(watch)
        watch.end()
        if not self.watches:
            self.patches.restore()
            seen, self.observer = self.observer, None
            if watch.mode == "test" and seen is not None and seen.counts[0]:
                del seen
                gc.collect()  # the shadow's graphs, which must not be destroyed in a later capture

    def _install(self) -> None:
        from graphlint.sentinel.watching import install

        self.observer = install(self.patches, self.watches)

    def _look_at_eager_code(self, watch: Watch) -> None:
        from graphlint.sentinel.watching.eager import look

        assert self.observer is not None
        watch.closing.enter_context(look(self.observer))


_installed = _Installed()
_idle: list[Watch] = []  # those that are open where there is nothing to watch


def is_watching() -> bool:
    """Whether a watch is open in this process."""
    return bool(_installed.watches or _idle)


def has_device() -> bool:
    """Whether there is a device whose graphs can be watched, of CUDA or the virtual one."""
    import torch

    from graphlint.sentinel.virtual.device import active

    return active() or torch.cuda.device_count() > 0  # unlike `is_available()`, it leaves forks usable


@contextmanager
def watch(
    mode: Mode = "watch", *, virtual: bool = False, order: Order = "early", **device: Any
) -> Iterator[Watch]:
    """Watch the CUDA graphs that the block captures and replays.

    `mode` is the price: "watch" looks at replays only, "canary" also tries what `wrap()` declares,
    "test" looks at every eager operation and runs captured code a second time. With `virtual=True` the
    block runs on the virtual device, in the order of streams that `order` names. Blocks may be nested: the
    inner one collects what happens in it.
    Everything that is replaced meanwhile is put back at the end, also after an exception. Where torch has
    no CUDA device and the virtual one is not in use, nothing is replaced or watched, and `unseen` says so.
    """
    with ExitStack() as stack:
        if virtual:
            from graphlint.sentinel.virtual import virtual_cuda

            stack.enter_context(virtual_cuda(order=order, **device))
        watching = Watch(mode)
        if has_device():
            _installed.enter(watching)
            stack.callback(_installed.leave, watching)
        else:
            watching.miss(NO_DEVICE)
            _idle.append(watching)
            stack.callback(_idle.remove, watching)
        yield watching


_enabled: list[tuple[ExitStack, Watch]] = []


def enable(mode: Mode = "watch", *, virtual: bool = False, order: Order = "early") -> Watch:
    """Begin to watch until `disable()`; what `watch()` does for programs without a block."""
    stack = ExitStack()
    watching = stack.enter_context(watch(mode, virtual=virtual, order=order))
    _enabled.append((stack, watching))
    return watching


def disable() -> list[Finding]:
    """End what the last `enable()` began; what was found meanwhile."""
    if not _enabled:
        raise RuntimeError("the sentinel is not enabled")
    stack, watching = _enabled.pop()
    stack.close()
    return watching.findings
