"""What a command costs: processor time, wall time and the most memory that all of its processes held."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_INTERVAL = 0.1


@dataclass(frozen=True)
class Cost:
    """Seconds of processor time (user and system, children included), of wall time, and megabytes."""

    cpu: float
    wall: float
    memory: float


def cost_of(command: Sequence[str], folder: Path) -> Cost:
    """Run a command in a folder, its output thrown away; exit codes 0 and 1 (findings) are successes."""
    before, start = os.times(), time.perf_counter()
    environment = {**os.environ, "GRAPHLINT_DEBUG": ""}
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
    )
    peak = [0.0]
    watcher = threading.Thread(target=_watch, args=(process, peak))
    watcher.start()
    code = process.wait()
    wall = time.perf_counter() - start
    watcher.join()
    after = os.times()
    if code not in (0, 1):
        raise SystemExit(f"{' '.join(command)} ended with {code} in {folder}")
    own = after.children_user + after.children_system - before.children_user - before.children_system
    return Cost(own, wall, peak[0])


def least_of(command: Sequence[str], folder: Path, times: int = 3) -> Cost:
    """The cheapest of several runs: what others do on the machine only adds."""
    costs = [cost_of(command, folder) for _ in range(times)]
    return Cost(
        min(cost.cpu for cost in costs), min(cost.wall for cost in costs), max(cost.memory for cost in costs)
    )


def _watch(process: subprocess.Popen[bytes], peak: list[float]) -> None:
    while process.poll() is None:
        peak[0] = max(peak[0], sum(map(_megabytes, _family(process.pid))))
        time.sleep(_INTERVAL)


def _family(pid: int) -> list[int]:
    """A process and all below it."""
    found = [pid]
    for thread in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = thread.read_text().split()
        except OSError:
            continue
        for child in children:
            found += _family(int(child))
    return found


def _megabytes(pid: int) -> float:
    """The memory of one process, what it shares with others counted in parts (Linux only)."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:  # it has ended
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024
