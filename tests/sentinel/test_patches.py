"""Everything that is replaced is put back exactly, whatever happened in between."""

from __future__ import annotations

from typing import Any

import pytest

_ABSENT = object()


def _torch() -> Any:
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU on this machine")
    return torch


def _targets() -> list[tuple[Any, str]]:
    from graphlint.sentinel.patches import Patches
    from graphlint.sentinel.virtual import context
    from graphlint.sentinel.virtual.device import Device, use

    patches = Patches()
    use(Device())
    try:
        context.install(patches)
        return list(patches)
    finally:
        patches.restore()
        use(None)


def _values(targets: list[tuple[Any, str]]) -> list[Any]:
    return [vars(owner).get(name, _ABSENT) for owner, name in targets]


@pytest.mark.parametrize("fails", [False, True])
def test_every_patched_attribute_is_restored(fails: bool) -> None:
    torch = _torch()
    from graphlint.sentinel import virtual_cuda

    targets = _targets()
    assert len(targets) > 100
    before = _values(targets)
    try:
        with virtual_cuda():
            assert any(now is not then for now, then in zip(_values(targets), before))
            torch.ones(1, device="cuda")
            if fails:
                raise KeyError("the program's own")
    except KeyError:
        assert fails
    after = _values(targets)
    assert [t for t, a, b in zip(targets, after, before) if a is not b] == []
    assert not torch.cuda.is_available()


def test_a_default_device_of_the_block_ends_with_it() -> None:
    torch = _torch()
    from graphlint.sentinel import virtual_cuda

    with pytest.raises(KeyError), virtual_cuda():
        torch.set_default_device("cuda")
        assert torch.ones(1).is_cuda
        raise KeyError("the program's own")
    assert torch.ones(1).device.type == "cpu"


def test_tensors_made_outside_are_untouched() -> None:
    torch = _torch()
    from graphlint.sentinel import virtual_cuda

    outside = torch.arange(3.0)
    with virtual_cuda():
        assert outside.device.type == "cpu"
        assert (outside + 1).device.type == "cpu"
    assert outside.tolist() == [0, 1, 2]


def test_importing_the_package_does_not_import_torch() -> None:
    import subprocess
    import sys

    code = "import sys, graphlint.sentinel, graphlint.sentinel.virtual; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_what_outlives_the_block_says_so() -> None:
    torch = _torch()
    from graphlint.sentinel import virtual_cuda

    with virtual_cuda():
        graph, stream, event = torch.cuda.CUDAGraph(), torch.cuda.Stream(), torch.cuda.Event()
        x = torch.ones(2, device="cuda")
        with torch.cuda.graph(graph):
            y = x * 2
        graph.replay()
    for left, name in ((graph, "replay"), (stream, "synchronize"), (event, "record")):
        with pytest.raises(RuntimeError, match="block that has ended"):
            getattr(left, name)()
    assert isinstance(graph, torch.cuda.CUDAGraph) and isinstance(stream, torch.cuda.Stream)
    assert y.device.type == "cpu" and y.tolist() == [2, 2]


def test_the_default_device_is_followed_and_told() -> None:
    torch = _torch()
    from graphlint.sentinel import virtual_cuda

    with virtual_cuda():
        assert torch.get_default_device().type == "cpu"
        torch.set_default_device("cuda")
        assert torch.get_default_device() == torch.device("cuda", 0)
        assert torch.tensor([1.0]).is_cuda and torch.zeros(1).is_cuda
    with torch.device("meta"):
        assert torch.tensor([1.0]).is_meta
