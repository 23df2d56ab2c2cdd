"""What is seen in processes that a program makes is told with the rest."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = """\
import multiprocessing, os, sys, time
import torch

class Engine:
    def __init__(self):
        self.x = torch.ones(4, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.x * 2

    def step(self):
        self.x = self.x + 1
        self.graph.replay()

def work(how):
    engine = Engine()
    for _ in range(2):
        engine.step()
    print(how, flush=True)
    if how == "dies":
        os._exit(5)

if __name__ == "__main__":
    for method, how in (("spawn", "ends"), ("fork", "dies"), ("fork", "is left alone")):
        child = multiprocessing.get_context(method).Process(target=work, args=(how,))
        child.start()
        if how != "is left alone":
            child.join()
            print("with", child.exitcode)
"""


def test_children_hand_over_what_they_have_seen(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    if torch.version.cuda is not None:
        pytest.skip("the virtual device needs torch for the CPU")
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
    environment["TORCHINDUCTOR_CACHE_DIR"] = str(tmp_path.parent / "torch")  # not what is looked for below
    result = subprocess.run(
        [sys.executable, "-m", "graphlint", "run", "--virtual", "program.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        encoding="utf-8",
    )
    assert result.stdout == "ends\nwith 0\ndies\nwith 5\nis left alone\n", result.stderr
    assert result.returncode == 1
    assert result.stderr.count("error: CG101") == 1
    # Twice in each, but the one that dies has written down the first time only.
    assert "  seen 5 times, first at replay 1 of graph 1 " in result.stderr
    assert "BaseProcess" not in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["program.py"]
