"""Watching leaves no trace: everything is put back, nothing is kept alive, blocks may be nested."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

from tests.sentinel.capturing import capture

_ABSENT = object()
_WATCHED = ("capture_begin", "capture_end", "replay", "reset")


def _torch() -> Any:
    torch = pytest.importorskip("torch")
    if torch.version.cuda is not None:
        pytest.skip("the virtual device needs torch for the CPU")
    return torch


def _attributes(torch: Any) -> list[Any]:
    return [vars(torch.cuda.CUDAGraph).get(name, _ABSENT) for name in _WATCHED]


@pytest.mark.parametrize("mode", ["watch", "test"])
@pytest.mark.parametrize("fails", [False, True])
def test_every_attribute_is_put_back(mode: Any, fails: bool) -> None:
    torch = _torch()
    from graphlint.sentinel import session, watch

    before = _attributes(torch)
    replaced: list[Any] = []
    try:
        with watch(mode, virtual=True):
            replaced = [(owner, name) for owner, name in session._installed.patches]
            assert _attributes(torch) != before
            capture(lambda: torch.ones(2, device="cuda") * 2)
            if fails:
                raise KeyError("the program's own")
    except KeyError:
        assert fails
    assert len(replaced) >= len(_WATCHED)
    assert _attributes(torch) == before
    assert list(session._installed.patches) == []


def test_enable_and_disable_do_what_the_block_does() -> None:
    torch = _torch()
    from graphlint.sentinel import disable, enable

    before = _attributes(torch)
    watching = enable(virtual=True)
    held = [torch.ones(2, device="cuda")]
    graph, _ = capture(lambda: held[0] * 2)
    held.clear()
    graph.replay()
    assert [finding.code for finding in disable()] == ["CG103"]
    assert watching.findings and _attributes(torch) == before
    with pytest.raises(RuntimeError, match="not enabled"):
        disable()


def test_the_inner_block_collects_what_happens_in_it(watched: Any) -> None:
    import torch

    from graphlint.sentinel import watch

    given = torch.ones(2, device="cuda")
    graph, _ = capture(lambda: given * 2)
    given = torch.zeros(2, device="cuda")
    with watch() as inner:
        graph.replay()
    assert [finding.code for finding in inner.findings] == ["CG101"]
    assert watched.findings == []


def test_nothing_is_kept_alive(watched: Any) -> None:
    import torch

    def build() -> tuple[Any, ...]:
        given, layer = torch.ones(1, 4, device="cuda"), torch.nn.Linear(4, 4).cuda()
        layer(given)
        graph, out = capture(lambda: layer(given).detach())
        graph.replay()
        return tuple(weakref.ref(held) for held in (given, layer, graph, out))

    assert [reference() for reference in build()] == [None] * 4


def test_captures_are_the_same_when_watched() -> None:
    torch = _torch()
    from graphlint.sentinel import virtual_cuda, watch

    def steps() -> list[str]:
        layer, given = torch.nn.Linear(4, 4).cuda(), torch.ones(2, 4, device="cuda")
        layer(given)
        graph, _ = capture(lambda: torch.relu(layer(given)).sum())
        return [str(step.function) for step in graph._steps]

    with virtual_cuda():
        bare = steps()
        with watch("test"):
            assert steps() == bare
        assert steps() == bare


def test_importing_the_sentinel_imports_neither_torch_nor_libcst() -> None:
    import subprocess
    import sys

    code = (
        "import sys, graphlint.sentinel, graphlint.sentinel.session, graphlint.sentinel.core.checks; "
        "sys.exit(any(name in sys.modules for name in ('torch', 'libcst')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_nothing_is_collected_while_a_capture_is_open(watched: Any) -> None:
    import torch

    given = torch.ones(2, device="cuda")
    enabled: list[bool] = []

    def body() -> Any:
        enabled.append(gc.isenabled())
        return given * 2

    assert gc.isenabled()
    capture(body)
    assert enabled == [False] and gc.isenabled()
    with pytest.raises(RuntimeError):
        capture(lambda: given.sum().item())
    assert gc.isenabled()


def test_the_collector_waits_for_captures_made_by_hand(watched: Any) -> None:
    import torch

    stream, graph, enabled = torch.cuda.Stream(), torch.cuda.CUDAGraph(), []
    given = torch.ones(4, device="cuda")
    with torch.cuda.stream(stream):
        graph.capture_begin()
        enabled.append(gc.isenabled())
        given * 2
        graph.capture_end()
    assert enabled == [False] and gc.isenabled()


def test_the_collector_goes_on_after_a_capture_that_never_ends() -> None:
    torch = pytest.importorskip("torch")
    from graphlint.sentinel import watch

    with watch(virtual=not torch.cuda.is_available()):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.stream(torch.cuda.Stream()):
            graph.capture_begin()
        assert not gc.isenabled()
        callbacks = list(gc.callbacks)
    assert gc.isenabled() and len(gc.callbacks) == len(callbacks) - 1
