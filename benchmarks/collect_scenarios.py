"""Collect what whole programs did on a GPU: RAW_FOLDER -> docs/measured/scenarios.json.

    collect_scenarios.py RAW_FOLDER

The folder holds `scenarios.json` (one H200), `threads.txt` (what other threads may do during a capture),
`claims.json` (what `measure_claims.py` writes) and `nccl.jsonl` (two H200s). Of each scenario its name and
its result or the first words of its errors are kept; the pages of the rules refer to them by name.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TARGET = Path(__file__).resolve().parents[1] / "docs" / "measured" / "scenarios.json"
MACHINES = {"single": "one NVIDIA H200", "collective": "two NVIDIA H200, NCCL 2.28.9"}
LONGEST = 200


def single(folder: Path) -> Iterator[tuple[str, Any]]:
    for raw in json.loads((folder / "scenarios.json").read_text("utf-8"))["scen"]:
        yield raw["name"], outcome(raw)
    for line in (folder / "threads.txt").read_text("utf-8").splitlines():
        if line.count(" | ") == 2:
            mode, what, seen = line.split(" | ")
            yield f"thread, {mode}: {what}", json.loads(seen)
    for name, raw in json.loads((folder / "claims.json").read_text("utf-8")).items():
        yield name, outcome(raw)


def collective(folder: Path) -> Iterator[tuple[str, Any]]:
    for line in (folder / "nccl.jsonl").read_text("utf-8").splitlines():
        raw = json.loads(line)
        yield raw["scenario"], first_words(raw["rank0"])


def outcome(raw: dict[str, Any]) -> Any:
    """The result, or the errors from the inside out: the second one hides the first."""
    if "result" in raw:
        return raw["result"]
    if isinstance(raw["error"], list):
        return [first_words(text) for text in raw["error"]]
    return [first_words(text) for text in (raw.get("context"), raw.get("error")) if text]


def first_words(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 2].rstrip() + " …"


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print(__doc__)
        return 2
    folder = Path(arguments[0])
    document = {
        "torch": json.loads((folder / "scenarios.json").read_text("utf-8"))["torch"],
        "machines": MACHINES,
        "single": dict(single(folder)),
        "collective": dict(collective(folder)),
    }
    TARGET.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", "utf-8")
    print(f"{len(document['single']) + len(document['collective'])} scenarios")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
