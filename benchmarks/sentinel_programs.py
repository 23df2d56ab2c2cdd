"""Whole programs under the sentinel: `programs/right` has no finding, each of `programs/wrong` has one.

`python benchmarks/sentinel_programs.py [--virtual] [--jobs N]` runs each in each mode, in a process of its
own, N at a time, and prints a table in Markdown. With `--virtual` what needs a GPU, a compiler for it or
transformers is left out.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "benchmarks" / "programs"
NEED_A_GPU = {"compiled", "ddp", "generate_static", "kernels", "llama"}
MODES = ("watch", "canary", "test")
LONGEST = 200  # seconds for one run


def programs(folder: str, *, virtual: bool) -> Iterator[Path]:
    """The programs of `right` or `wrong` that can run here."""
    for path in sorted((PROGRAMS / folder).glob("*.py")):
        if not (virtual and path.stem in NEED_A_GPU):
            yield path


def found(path: Path, mode: str, *, virtual: bool) -> list[str]:
    """The codes of what the sentinel finds in a run of a program; what it printed when it failed."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        device = ["--virtual"] if virtual else []
        command = [sys.executable, "-m", "graphlint", "run", "--mode", mode, *device]
        run = subprocess.run(
            [*command, "--report-json", str(report), str(path)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=LONGEST,
        )
        if run.returncode not in (0, 1) or not report.exists():
            return [f"exit {run.returncode}: {(run.stderr or run.stdout).strip()[-200:]}"]
        return sorted({finding["code"] for finding in json.loads(report.read_text("utf-8"))["findings"]})


def print_table(folder: str, pool: ThreadPoolExecutor, *, virtual: bool) -> None:
    """Run the programs of `right` or `wrong`, and print what was found as a table in Markdown."""
    print(f"| {folder} | {' | '.join(MODES)} |\n|---|---|---|---|")
    paths = list(programs(folder, virtual=virtual))
    runs = [(path, [pool.submit(found, path, mode, virtual=virtual) for mode in MODES]) for path in paths]
    for path, in_modes in runs:
        cells = (", ".join(run.result()) or "–" for run in in_modes)
        print(f"| {path.stem} | {' | '.join(cells)} |", flush=True)
    print()


def main() -> None:
    arguments = sys.argv[1:]
    jobs = int(arguments[arguments.index("--jobs") + 1]) if "--jobs" in arguments else 1
    with ThreadPoolExecutor(jobs) as pool:
        for folder in ("right", "wrong"):
            print_table(folder, pool, virtual="--virtual" in arguments)


if __name__ == "__main__":
    main()
