"""Measure expressions on a GPU as benchmarks/fidelity.py treats them without one.

    python benchmarks/measure_blind.py NAME OUTPUT.json [PROCESSES]

Needs a CUDA device and torch. Every line of docs/measured/virtual/NAME.txt is run in a process of its own,
because some leave the device unusable. The result is what docs/measured/virtual/NAME.json holds.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from treatment import DATA, logging_as_usual, run

LONGEST = 90.0  # seconds for one expression


def measure(name: str, source: str, answer: Any) -> None:
    """In the process of one expression: send what came out."""
    warnings.simplefilter("ignore")
    row: dict[str, Any] = {"id": f"{name}:{source}", "src": source}
    try:
        with logging_as_usual():
            outcome = run(row)
    except Exception as error:
        answer.send(row | {"harness": f"{type(error).__name__}: {error}"[:200]})
        return
    found = {key: value for key, value in vars(outcome).items() if value not in (None, [], False)}
    answer.send(row | found | {"healthy": outcome.healthy})


def one(name: str, source: str) -> dict[str, Any]:
    """Start the process, wait for its answer; a process that dies has none."""
    context = multiprocessing.get_context("forkserver")
    mine, theirs = context.Pipe(duplex=False)
    process = context.Process(target=measure, args=(name, source, theirs))
    process.start()
    theirs.close()
    try:
        if mine.poll(LONGEST):
            row: dict[str, Any] = mine.recv()
            return row
    except EOFError:
        pass
    finally:
        process.kill()
        process.join()
    return {"id": f"{name}:{source}", "src": source, "ends": "process died"}


def main(arguments: list[str]) -> None:
    """Measure all lines of one file."""
    import torch

    name, output, *processes = arguments
    sources = (DATA / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    multiprocessing.get_context("forkserver").set_forkserver_preload(["torch", "numpy", "treatment"])
    with ThreadPoolExecutor(int(processes[0]) if processes else 8) as pool:
        rows = list(pool.map(lambda source: one(name, source), sources))
    document = {"torch": torch.__version__, "machine": "one NVIDIA H200", "rows": rows}
    Path(output).write_text(json.dumps(document, indent=0) + "\n", encoding="utf-8")
    print(f"{len(rows)} rows")


if __name__ == "__main__":
    main(sys.argv[1:])
