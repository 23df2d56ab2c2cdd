"""Where torch has no CUDA device, and the virtual one is not asked for, programs run as they are."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from graphlint.sentinel import disable, enable, virtual_cuda, watch
from graphlint.sentinel.session import is_watching
from tests.sentinel.capturing import capture

torch: Any = pytest.importorskip("torch")
if torch.cuda.is_available():
    pytest.skip("there is a GPU on this machine", allow_module_level=True)

ROOT = Path(__file__).parents[2]
OWNERS = (
    torch,
    torch._C,
    torch.cuda,
    torch.cuda.CUDAGraph,
    torch.cuda.Event,
    torch.cuda.Stream,
    threading.Thread,
)
PLAIN = """\
import multiprocessing, sys
import torch

def work():
    print(torch.ones(2).sum().item(), flush=True)

if __name__ == "__main__":
    for method in sys.argv[2:]:
        child = multiprocessing.get_context(method).Process(target=work)
        child.start()
        child.join()
    work()
    sys.exit(int(sys.argv[1]))
"""
TOLD = """\
No findings (mode test, 0 graphs, 0 replays)
Not seen: anything. Nothing was watched, because torch sees no CUDA device; `--virtual` (`virtual_cuda()` in a program, \
`virtual` in GRAPHLINT_SENTINEL) runs it on the virtual device
"""


def _attributes() -> list[dict[str, Any]]:
    return [dict(vars(owner)) for owner in OWNERS]


def _started(folder: Path, text: str, *command: str, words: str = "") -> tuple[str, str, int]:
    (folder / "plain.py").write_text(text, encoding="utf-8")
    result = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "GRAPHLINT_SENTINEL": words},
        capture_output=True,
        encoding="utf-8",
    )
    return result.stdout, result.stderr, result.returncode


@pytest.mark.parametrize(("code", "children"), [(0, ()), (3, ("spawn", "fork"))])
def test_a_program_runs_as_it_is_and_the_report_says_once_that_nothing_was_watched(
    tmp_path: Path, code: int, children: tuple[str, ...]
) -> None:
    text = f"import graphlint.sentinel.auto\n{PLAIN}"  # does nothing under `graphlint run`
    command = ("-m", "graphlint", "run", "--mode", "test", "plain.py", str(code), *children)
    assert _started(tmp_path, text, *command) == ("2.0\n" * (1 + len(children)), TOLD, code)


def test_the_line_for_programs_that_something_else_starts_says_the_same(tmp_path: Path) -> None:
    text = "import graphlint.sentinel.auto\nimport torch\nprint(torch.ones(2).sum().item())\n"
    assert _started(tmp_path, text, "plain.py", words="test") == ("2.0\n", TOLD, 0)


@pytest.mark.parametrize("mode", ["watch", "canary", "test"])
def test_a_block_replaces_nothing_and_says_so(mode: Any) -> None:
    before = _attributes()
    with watch(mode) as seen:
        assert _attributes() == before
        assert is_watching()
        torch.ones(2).add_(1)
    assert _attributes() == before
    assert not is_watching()
    assert (seen.findings, seen.graphs, seen.replays) == ([], 0, 0)
    assert [reason.partition(",")[0] for reason in seen.unseen] == ["anything. Nothing was watched"]


def test_enable_and_disable_do_the_same() -> None:
    seen = enable("test")
    assert disable() == [] and len(seen.unseen) == 1 and not is_watching()


def test_errors_are_the_programs_own() -> None:
    with pytest.raises(KeyError), watch("test"):
        raise KeyError("the program's own")
    assert not is_watching()


def test_the_virtual_device_can_be_watched_inside_and_leaves_nothing() -> None:
    with virtual_cuda():
        torch.ones(2, device="cuda")
    before = _attributes()
    with watch("test") as outer:
        with virtual_cuda(), watch("test") as inner:
            graph, _ = capture(lambda: torch.ones(2, device="cuda"))
            graph.replay()
        assert _attributes() == before
    assert (inner.graphs, inner.replays, outer.graphs) == (1, 1, 0)
