"""Every measurement of the sentinel on a GPU, in one command.

`python benchmarks/sentinel_on_gpu.py OUT [--virtual] [--seconds N] [--jobs N] [--cases FOLDER] [--only WORD]`
runs the tests, what watching changes and costs, and the table of scenarios and of the annotated programs of
a folder: what is timed alone, the rest N at a time. Each step is a process of its own with a time limit; what
it prints is in `OUT/<step>.txt` as it comes, and how it ended is a line of `OUT/steps.jsonl`. Steps that a
run before has ended well are not run again, and none begins after N seconds: call it as often as there is
time.
With `--only` the steps whose names begin with a word are run, or with one of several with commas between.
With `--virtual` everything runs on the virtual device, which shows that the command works.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

NAMED = ("on_gpu", "shadow", "shadow_modules", "effects", "wrapping", "wrapped_inputs")


@dataclass(frozen=True)
class Step:
    """One process: its name, what it runs, and how many seconds it may take."""

    name: str
    arguments: tuple[str, ...]
    limit: int


def steps(virtual: bool, cases: Path | None = None) -> list[Step]:
    """All of them, what says most first."""
    from benchmarks.sentinel_table import RIGHT, SILENT, case_paths

    device = ("--virtual",) if virtual else ()
    tests = sorted((ROOT / "tests" / "sentinel").glob("test_watch_*.py"))
    tests += [ROOT / "tests" / "sentinel" / f"test_{name}.py" for name in NAMED]
    found = [Step("captures", (_benchmark("gpu"), *device), 300)]
    found += [Step("cost-modes", (_benchmark("cost"), *device), 200)]
    found += [Step("cost-wrapped", (_benchmark("wrapped"), *device), 100)]
    where = () if virtual else ("--gpu",)
    for name in (*SILENT, *RIGHT):
        found.append(Step(f"scenario-{name}", (_benchmark("table"), *where, "--only", name), 90))
    for name in case_paths(cases) if cases is not None else ():
        one = (_benchmark("table"), *where, "--cases", str(cases), "--only", name)
        found.append(Step(f"case-{name.replace('/', '-')}", one, 120))
    for path in tests:
        found.append(Step(path.stem, ("-m", "pytest", "-q", "-p", "no:cacheprovider", str(path)), 180))
    return found


def _benchmark(name: str) -> str:
    return str(ROOT / "benchmarks" / f"sentinel_{name}.py")


def run(step: Step, out: Path) -> dict[str, object]:
    """Run one step to its end or its limit; how it ended. The whole group of its processes ends with it."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    start = time.monotonic()
    with (out / f"{step.name}.txt").open("wb") as text:
        process = subprocess.Popen(
            [sys.executable, *step.arguments],
            stdout=text,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=ROOT,
            start_new_session=True,
        )
        try:
            code, timed_out = process.wait(step.limit), False
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            code, timed_out = process.wait(), True
    seconds = round(time.monotonic() - start, 1)
    return {"step": step.name, "code": code, "timed_out": timed_out, "seconds": seconds}


def done(out: Path) -> set[str]:
    """The steps that have ended well."""
    file = out / "steps.jsonl"
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.exists() else []
    return {row["step"] for row in rows if row["code"] == 0}


def run_all(wanted: list[Step], out: Path, seconds: float, jobs: int) -> int:
    """Run what is left to run while there is time; the number of steps that did not end well."""
    out.mkdir(parents=True, exist_ok=True)
    ended, last = done(out), time.monotonic() + seconds
    left = [step for step in wanted if step.name not in ended]
    timed = [step for step in left if step.name.startswith("cost-")]
    bad = sum(_kept(step, out, last) for step in timed)
    with ThreadPoolExecutor(jobs) as pool:
        rest = [step for step in left if step not in timed]
        return bad + sum(pool.map(lambda step: _kept(step, out, last), rest))


def _kept(step: Step, out: Path, last: float) -> bool:
    """Whether a step ended badly, or had no time; how it ended is written down."""
    if time.monotonic() > last:
        print(f"no time left for {step.name}", flush=True)
        return True
    row = run(step, out)
    with (out / "steps.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
    print(row, flush=True)
    return row["code"] != 0


def _number(arguments: list[str], option: str, otherwise: float) -> float:
    return float(arguments[arguments.index(option) + 1]) if option in arguments else otherwise


def _text(arguments: list[str], option: str) -> str:
    return arguments[arguments.index(option) + 1] if option in arguments else ""


def main() -> int:
    arguments = sys.argv[1:]
    seconds, jobs = _number(arguments, "--seconds", 1e9), int(_number(arguments, "--jobs", 1))
    out, cases = Path(arguments[0]).absolute(), _text(arguments, "--cases")
    wanted = steps("--virtual" in arguments, Path(cases).absolute() if cases else None)
    words = tuple(_text(arguments, "--only").split(","))
    wanted = [step for step in wanted if step.name.startswith(words)]
    return int(run_all(wanted, out, seconds, jobs) > 0)


if __name__ == "__main__":
    raise SystemExit(main())
