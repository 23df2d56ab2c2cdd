"""CG405: captured code that sleeps or cleans up on the host."""

from __future__ import annotations

import pytest

from tests.programs import check_marks

PROGRAM = """
import gc
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import torch

pool = ThreadPoolExecutor(1)


def size():
    return 3


class Step:
    def __init__(self):
        self.x = torch.zeros(8, 8, device="cuda")
        self.ready = threading.Event()
        self.graph = torch.cuda.CUDAGraph()
        self.job = pool.submit(size)

    def run(self):
        {inside}
        return self.x * 2

    def capture(self):
        {before}
        with torch.cuda.graph(self.graph):
            self.y = self.run()
        {after}
"""

EFFECTS = ["gc.collect()", "time.sleep(0.1)"]
WAITS = ["self.ready.wait()", "self.job.result()"]


@pytest.mark.parametrize("call", EFFECTS)
def test_in_captured_code(call: str) -> None:
    check_marks(PROGRAM.format(inside=f"{call}  # expect: CG405", before="pass", after="pass"))


@pytest.mark.parametrize("call", EFFECTS)
@pytest.mark.parametrize("where", ["before", "after"])
def test_around_the_capture(call: str, where: str) -> None:
    rows = {"inside": "pass", "before": "pass", "after": "pass"} | {where: f"{call}  # ok: CG405"}
    check_marks(PROGRAM.format(**rows))


@pytest.mark.parametrize("call", WAITS)
def test_waiting_for_a_thread_whose_work_may_be_captured(call: str) -> None:
    check_marks(PROGRAM.format(inside=f"{call}  # ok: CG405", before="pass", after="pass"))


def test_only_while_capturing() -> None:
    guarded = "torch.cuda.is_current_stream_capturing() or gc.collect()  # ok: CG405"
    check_marks(PROGRAM.format(inside=guarded, before="self.run()", after="pass"))


def test_a_suppressed_one() -> None:
    line = "gc.collect()  # graphlint: ignore[CG405] -- no other graph exists"
    check_marks(PROGRAM.format(inside=line, before="pass", after="pass"))


def test_in_a_helper_of_another_file() -> None:
    check_marks(
        {
            "main.py": PROGRAM.format(inside="import tidy; tidy.tidy_up()", before="pass", after="pass"),
            "tidy.py": "import gc\n\n\ndef tidy_up():\n    gc.collect()  # expect: CG405\n",
        }
    )
