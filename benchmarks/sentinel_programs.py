"""Whole programs under the sentinel: `programs/right` has no finding, each of `programs/wrong` has one.

`python benchmarks/sentinel_programs.py [--virtual]` runs each in each mode, in a process of its own, and
prints a table in Markdown. With `--virtual` what needs a GPU, a compiler for it or transformers is left out.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
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


def main() -> None:
    virtual = "--virtual" in sys.argv
    for folder in ("right", "wrong"):
        print(f"| {folder} | {' | '.join(MODES)} |\n|---|---|---|---|")
        for path in programs(folder, virtual=virtual):
            cells = (", ".join(found(path, mode, virtual=virtual)) or "–" for mode in MODES)
            print(f"| {path.stem} | {' | '.join(cells)} |", flush=True)
        print()


if __name__ == "__main__":
    main()
