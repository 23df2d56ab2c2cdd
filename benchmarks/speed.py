"""The table of docs/performance.md: graphlint on real trees against ruff and TorchFix, in one run.

    python benchmarks/speed.py FOLDER [TORCHFIX]

FOLDER holds unpacked trees, each under the name of its distribution. ruff and graphlint are those beside the
interpreter that runs this, TORCHFIX is the command of an environment of its own; `make bench` sets that up.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from measure import Cost, cost_of, least_of

BESIDE = Path(sys.executable).parent
GRAPHLINT = str(BESIDE / "graphlint")
CHECK = [GRAPHLINT, "check", "--isolated", "--exit-zero", "."]
RUFF = [str(BESIDE / "ruff"), "check", "--no-cache", "--isolated", "--quiet", "--exit-zero", "."]
# Seconds in which a changed file is too young to be known by its time of change (`graphlint/lastrun.py`).
YOUNG = 3
CHANGED = "\nCHANGED_BY_THE_BENCHMARK = True\n"
AGAINST_TORCHFIX = "megatron-core"


def main() -> None:
    trees = sorted(path for path in Path(sys.argv[1]).iterdir() if path.is_dir())
    print("| tree | run | CPU s | wall s | memory MB | CPU ratio | wall ratio |")
    print("|---|---|---|---|---|---|---|")
    for tree in trees:
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / tree.name
            shutil.copytree(tree, copy, symlinks=True)
            time.sleep(YOUNG)
            _measure(tree.name, copy)
    version, bare = cost_of_start([GRAPHLINT, "--version"]), cost_of_start([sys.executable, "-c", "pass"])
    _row("", "bare Python", bare, bare)
    _row("", "`graphlint --version`", version, bare)


def cost_of_start(command: list[str]) -> Cost:
    return least_of(command, Path(), times=10)


def _measure(name: str, copy: Path) -> None:
    ruff = least_of(RUFF, copy)
    _row(name, "ruff, no cache", ruff, ruff)
    _row(name, "first run", cost_of(CHECK, copy), ruff)
    _row(name, "second run", least_of(CHECK, copy), ruff)
    leaf, popular = _least_and_most_imported(copy)
    for what, path in (("one leaf changed", leaf), ("most imported changed", popular)):
        path.write_text(path.read_text(encoding="utf-8") + CHANGED, encoding="utf-8")
        _row(name, f"{what} ({path.name})", cost_of(CHECK, copy), ruff)
    if name == AGAINST_TORCHFIX and len(sys.argv) > 2:
        torchfix = [str(Path(sys.argv[2]).absolute()), "--select", "ALL", "."]
        _row(name, "TorchFix", cost_of(torchfix, copy), ruff)


def _row(tree: str, what: str, cost: Cost, base: Cost) -> None:
    ratios = f"{cost.cpu / base.cpu:.1f} | {cost.wall / base.wall:.1f}"
    print(
        f"| {tree} | {what} | {cost.cpu:.2f} | {cost.wall:.2f} | {cost.memory:.0f} | {ratios} |", flush=True
    )


def _least_and_most_imported(folder: Path) -> tuple[Path, Path]:
    """A file that no other imports, and the one that most others import, by the text of the imports."""
    imported: Counter[str] = Counter()
    paths = sorted(folder.rglob("*.py"))
    for path in paths:
        text = path.read_text(encoding="utf-8", errors="replace")
        imported.update(set(re.findall(r"^\s*(?:from|import) +([\w.]+)", text, re.MULTILINE)))
    counts = {path: imported[_dotted(path, folder)] for path in paths if path.name != "__init__.py"}
    return min(counts, key=lambda path: (counts[path], str(path))), max(counts, key=lambda path: counts[path])


def _dotted(path: Path, folder: Path) -> str:
    return ".".join(path.relative_to(folder).with_suffix("").parts)


if __name__ == "__main__":
    main()
