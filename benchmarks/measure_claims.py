"""Measure on a GPU what the tables and pages had taken from documents.

    measure_claims.py FOLDER        writes FOLDER/claims.jsonl and FOLDER/claims.json

The expressions are those of `docs/measured/claims.txt`, each in a capture of its library; the programs are
functions of `claim_programs.py`. Every program, and every part of the expressions, has a process of its own:
a failed capture may leave it unusable, and what waits for ever is killed after a while.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
EXPRESSIONS = ROOT / "docs" / "measured" / "claims.txt"
LONGEST_WAIT = 60
PART = 12  # expressions for one process
AT_ONCE = 8

sys.path[:0] = [str(ROOT / "docs" / "measured"), str(ROOT / "benchmarks")]
import measure_on_gpu as harness  # noqa: E402


def expressions() -> Iterator[tuple[str, str, tuple[str, ...], str]]:
    """Library, operation, the conditions that hold, and the expression."""
    library = ""
    for line in EXPRESSIONS.read_text("utf-8").splitlines():
        if line.startswith("["):
            library = line.strip("[]")
        elif line and not line.startswith("#"):
            parts = line.split(" : ") if library != "torch" else [line]
            holds = tuple(parts[1].split()) if len(parts) > 2 else ()
            yield library, parts[0] if len(parts) > 1 else "", holds, parts[-1].removeprefix(": ")


# ------------------------------------------------------------------------------------------- in a process


def answer(index: int) -> dict[str, Any]:
    library, operation, holds, source = list(expressions())[index]
    row: dict[str, Any] = {"id": f"claims:{' '.join((*holds, source))}", "src": source}
    if library == "torch":
        return row | in_torch(source)
    row |= {"operation": operation, "holds": list(holds)}
    strict = "strict-mode" in holds
    return row | (in_cupy(source, strict) if library == "cupy" else in_driver(source, strict))


def in_torch(source: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(harness.SETUP + "\ngen = torch.Generator(device='cuda')\n", names)
    found = harness.measure(source, names)
    if "eager_error" in found:
        return {"failed": True, "error": f"eager: {found['eager_error']}", "healthy": found["healthy_after"]}
    errors: list[str] = found.get("errors", [])  # type: ignore[assignment]
    made: dict[str, Any] = {"failed": found["capture"] != "ok", "healthy": found["healthy_after"]}
    if errors:
        made["error"] = errors[-1]
    return made | ({"sync": found["sync_debug"]} if "sync_debug" in found else {})


def in_cupy(source: str, strict: bool) -> dict[str, Any]:
    names = cupy_names()
    cp, stream = names["cp"], names["stream"]
    code = compile(source, "expression", "eval")
    with stream:
        try:
            eval(code, names)
        except Exception as error:
            return {"failed": True, "error": f"eager: {harness.words(error)}", "healthy": True}
    cp.cuda.runtime.deviceSynchronize()
    errors, graph = [], None
    with stream:
        stream.begin_capture(cp.cuda.runtime.streamCaptureModeGlobal if strict else None)
        for step in (lambda: eval(code, names), lambda: names.__setitem__("graph", stream.end_capture())):
            try:
                step()
            except Exception as error:
                errors.append(harness.words(error))
    graph = names.get("graph")
    if graph is not None and not errors:
        graph.launch(stream)
        stream.synchronize()
    return {"failed": bool(errors), **({"error": errors[0]} if errors else {}), "healthy": not errors}


def cupy_names() -> dict[str, Any]:
    import io  # noqa: F401

    import cupy as cp
    import numpy as np  # noqa: F401

    stream = cp.cuda.Stream(non_blocking=True)
    old, old2 = cp.cuda.Event(), cp.cuda.Event()
    with stream:
        a, b = cp.arange(16, dtype=cp.float32), cp.ones(16, dtype=cp.float32)
        sq, z, ints = cp.eye(4, dtype=cp.float32) * 2, cp.float32(1) * cp.ones(()), cp.arange(4)
        old.record(stream)
        old2.record(stream)
    stream.synchronize()

    return locals()


def in_driver(source: str, strict: bool) -> dict[str, Any]:
    import cupy as cp
    import numpy as np
    from cuda.bindings import driver as drv  # noqa: F401
    from cuda.bindings import runtime as rt

    a, b, host = (
        cp.zeros(16, dtype=cp.float32),
        cp.zeros(16, dtype=cp.float32),
        np.zeros(16, dtype=np.float32),
    )
    _, stream = rt.cudaStreamCreateWithFlags(rt.cudaStreamNonBlocking)
    _, old = rt.cudaEventCreate()
    rt.cudaEventRecord(old, stream)
    spare, spare_host = rt.cudaMalloc(64)[1], rt.cudaMallocHost(64)[1]
    rt.cudaDeviceSynchronize()

    modes = rt.cudaStreamCaptureMode
    mode = modes.cudaStreamCaptureModeGlobal if strict else modes.cudaStreamCaptureModeRelaxed
    rt.cudaStreamBeginCapture(stream, mode)
    errors = []
    try:
        result = eval(compile(source, "expression", "eval"), locals())
        if isinstance(result, tuple) and int(result[0]):
            errors.append(str(result[0]))
    except Exception as error:
        errors.append(harness.words(error))
    ended, _ = rt.cudaStreamEndCapture(stream)
    if int(ended):
        errors.append(f"at the end: {ended}")
    return {"failed": bool(errors), **({"error": errors[0]} if errors else {}), "healthy": False}


# ------------------------------------------------------------------------------------------- processes


def child(*arguments: str) -> str:
    command = [sys.executable, __file__, *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_WAIT, check=False)
    except subprocess.TimeoutExpired:
        return json.dumps({"hang": f"killed after {LONGEST_WAIT} s"})
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    return "\n".join(lines) or json.dumps({"died": done.stderr.strip().splitlines()[-1:]})


def part(first: int) -> list[str]:
    """The rows from `first` on, by as many processes as it takes."""
    count = len(list(expressions()))
    last, rows = min(first + PART, count), []
    while first < last:
        found = child("--from", str(first), str(last)).splitlines()
        rows += [line for line in found if '"id"' in line]
        if not any('"id"' in line for line in found):
            _, operation, holds, source = list(expressions())[first]
            row = {"id": f"claims:{' '.join((*holds, source))}", "src": source, "failed": True}
            row |= {"operation": operation, "holds": list(holds)} if operation else {}
            rows.append(json.dumps(row | {"error": "process died"}))
            found = rows[-1:]
        first += len([line for line in found if '"id"' in line])
    return rows


def main(folder: Path) -> None:
    programs = sorted(name for name in vars(claims()) if name.startswith("shows_"))
    folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        told = pool.map(lambda name: child("--program", name), programs)
        rows = pool.map(part, range(0, len(list(expressions())), PART))
        results = {name.removeprefix("shows_"): json.loads(text) for name, text in zip(programs, told)}
        lines = [line for chunk in rows for line in chunk]
    (folder / "claims.json").write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    (folder / "claims.jsonl").write_text("\n".join(lines) + "\n", "utf-8")


def claims() -> ModuleType:
    import claim_programs

    return claim_programs


def run(arguments: list[str]) -> None:
    if arguments[0] == "--from":
        for index in range(int(arguments[1]), int(arguments[2])):
            row = answer(index)
            healthy = row.pop("healthy")
            print(json.dumps(row), flush=True)
            if not healthy:
                return
    elif arguments[0] == "--program":
        try:
            result = {"result": getattr(claims(), arguments[1])()}
        except Exception as error:
            result = {"error": harness.chain(error)[::-1]}
        print(json.dumps(result), flush=True)
    else:
        main(Path(arguments[0]))


if __name__ == "__main__":
    run(sys.argv[1:])
