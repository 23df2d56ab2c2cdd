"""How far the virtual CUDA device agrees with a real one, expression by expression.

    python benchmarks/fidelity.py                 # both figures and every disagreement
    python benchmarks/fidelity.py SUBSTRING ...   # only these rows, with details
    python benchmarks/fidelity.py blind blind2    # the expressions that were measured later

Needs torch and no GPU. Each row of docs/measured/virtual/expressions.json was measured on an H200: did the
capture end, with which chain of errors otherwise, do the outputs follow new input data at replay, did eager
execution wait for the device. The same expression runs here with the same treatment, and where it was
captured the values after a replay are compared with those of eager execution.

A third of the rows was put aside before the device was built (drawn with the seed below); its figure tells
how the device does on what it was not built against.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from treatment import DATA, Outcome, logging_as_usual, run

SEED = 20261129
BLIND = ("blind", "blind2")  # sets that were measured after the device was built


def rows(name: str = "expressions") -> list[dict[str, Any]]:
    """The measured rows of one file."""
    found: list[dict[str, Any]] = json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))["rows"]
    return [row for row in found if "harness" not in row]


def put_aside(all_rows: list[dict[str, Any]]) -> set[str]:
    """The ids of the third that the device was not built against."""
    names = sorted(row["id"] for row in all_rows)
    return set(random.Random(SEED).sample(names, len(names) // 3))


def agreement(row: dict[str, Any], outcome: Outcome) -> str | None:
    """What the device does otherwise than the GPU did, or None."""
    known = len(row["ends"]) if row["id"].startswith("scenarios:") else 4  # there only two of the chain are
    if row["id"].startswith("blind") and row.get("eager") != outcome.eager:
        return f"eagerly {outcome.eager} and not {row.get('eager')}"
    if outcome.ends != row["ends"] and outcome.ends[:known] != row["ends"]:
        return f"ends {outcome.ends} and not {row['ends']}"
    if "replay" in row and row["replay"] != outcome.replay:
        return f"replay is {outcome.replay} and not {row.get('replay')}"
    return None


def judged(chosen: list[dict[str, Any]]) -> dict[str, Outcome]:
    """The outcomes of some rows, as on the GPU: on one device, where what earlier rows warmed up stays warm,
    or, for those of the later sets, which had a process each, on a device for each."""
    import torch

    from graphlint.sentinel import virtual_cuda

    outcomes: dict[str, Outcome] = {}
    # torch's compiler turns the checks of distributions off for the whole process once it has been used.
    torch.distributions.Distribution.set_default_validate_args(True)
    with _scratch_folder(), logging_as_usual(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for rows_of_a_device in _devices(chosen):
            with virtual_cuda():
                outcomes |= {row["id"]: run(row) for row in rows_of_a_device}
    return outcomes


def _devices(chosen: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    together = [row for row in chosen if not row["id"].startswith("blind")]
    return ([together] if together else []) + [[row] for row in chosen if row["id"].startswith("blind")]


@contextmanager
def _scratch_folder() -> Iterator[None]:
    """Some rows write files into the working folder."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        try:
            yield
        finally:
            os.chdir(before)


def further(row: dict[str, Any], outcome: Outcome) -> str | None:
    """What differs from the GPU in types, shapes and values, where these were measured."""
    if outcome.looks != row.get("looks", []):
        return f"looks {outcome.looks} and not {row.get('looks', [])}"
    if outcome.values == row.get("values") == "equal":
        near = zip(outcome.sums, row.get("sums", []))
        if any(abs(here - there) > 2e-3 * (1 + abs(there)) for here, there in near):
            return f"sums {outcome.sums} and not {row['sums']}"
    return None


def figures(chosen: list[dict[str, Any]], outcomes: dict[str, Outcome]) -> dict[str, tuple[int, int]]:
    """How many agree of how many, for what the device was built against and for what was put aside."""
    aside = put_aside(rows())
    counts = {"built against": [0, 0], "put aside": [0, 0]}
    for row in chosen:
        count = counts["put aside" if row["id"] in aside else "built against"]
        count[0] += agreement(row, outcomes[row["id"]]) is None
        count[1] += 1
    return {name: (good, of) for name, (good, of) in counts.items()}


def main(arguments: list[str]) -> None:
    """Run the rows and print the figures."""
    words = [argument for argument in arguments if argument not in BLIND]
    for name in [argument for argument in arguments if argument in BLIND]:
        _blind(_chosen(rows(name), words), name)
    if len(words) < len(arguments):
        return
    chosen = _chosen(rows(), words)
    outcomes = judged(chosen)
    for row in chosen:
        _print(row, outcomes[row["id"]])
    for name, (good, of) in figures(chosen, outcomes).items():
        if of:
            print(f"{name}: {good} of {of} agree ({100 * good / of:.1f} %)")
    _print_others(chosen, outcomes)


def _chosen(found: list[dict[str, Any]], words: list[str]) -> list[dict[str, Any]]:
    return [row for row in found if not words or any(word in row["id"] + row["src"] for word in words)]


def _blind(chosen: list[dict[str, Any]], name: str) -> None:
    outcomes = judged(chosen)
    for row in chosen:
        outcome = outcomes[row["id"]]
        problem = agreement(row, outcome) or further(row, outcome)
        if problem:
            print(f"{row['src'][:90]}\n    {problem}  {outcome.texts[:2]}")
    good = sum(agreement(row, outcomes[row["id"]]) is None for row in chosen)
    print(f"{name}: {good} of {len(chosen)} agree ({100 * good / len(chosen):.1f} %)")


def _print(row: dict[str, Any], outcome: Outcome) -> None:
    problem = agreement(row, outcome)
    if problem:
        print(f"{row['id']}  {row['src'][:90]}\n    {problem}  {outcome.texts[:2]}")
    if outcome.values in ("differ", "eager fails"):
        print(f"{row['id']}  {row['src'][:90]}\n    values {outcome.values}")
    if "cold" not in row and outcome.waits != bool(row.get("waits")):
        print(f"{row['id']}  {row['src'][:90]}\n    waits {outcome.waits}")


def _print_others(chosen: list[dict[str, Any]], outcomes: dict[str, Outcome]) -> None:
    values = Counter(outcome.values for outcome in outcomes.values() if outcome.values)
    warm = [row for row in chosen if "cold" not in row]
    waits = sum(outcomes[row["id"]].waits == bool(row.get("waits")) for row in warm)
    print(f"values after a replay against eager execution: {dict(values)}")
    print(f"waits for the device in eager execution: {waits} of {len(warm)} agree")


if __name__ == "__main__":
    main(sys.argv[1:])
