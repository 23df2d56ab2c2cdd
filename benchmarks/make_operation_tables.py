"""Build `rules/tables/operations.json` from the hand-written tables and from measurements.

    make_operation_tables.py collect RAW_FOLDER   raw results -> docs/measured/rows/*.jsonl
    make_operation_tables.py results              run torch on the CPU -> rules/tables/results.toml
    make_operation_tables.py build [--check]      tables and rows -> rules/tables/operations.json

`build` needs the standard library only (tomli on Python 3.10). It reads every measured expression the way a
linter would (`operation_reader.Reader`), asks the tables whether a capture of it fails, compares that with
what happened, and writes the ids of the rows that bear an effect out beside that effect. It fails when a
table and a row disagree, unless `EXCEPTIONS` says why, and when an effect rests on nothing.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TABLES = ROOT / "rules" / "tables"
ROWS = ROOT / "docs" / "measured" / "rows"
HEADER = {"torch": "2.11.0+cu130", "machine": "one NVIDIA H200", "results": "torch 2.13.0, CPU"}

sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]
from operation_reader import Reader  # noqa: E402
from operation_results import results  # noqa: E402

from graphlint.rules import operations as model  # noqa: E402

# ------------------------------------------------------------------------------------------------ rows

# Rows that say nothing about CUDA graphs: the expression was wrong, or its subject is not one operation.
EXCEPTIONS: dict[str, str] = json.loads((ROOT / "docs" / "measured" / "exceptions.json").read_text("utf-8"))


@dataclass(frozen=True)
class Row:
    id: str
    src: str
    failed: bool
    error: str
    sync: bool | None
    operation: str = ""  # of a library other than torch, whose expressions are not read
    holds: tuple[str, ...] = ()


def rows() -> Iterator[Row]:
    for path in sorted(ROWS.glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            raw = json.loads(line)
            other = raw.get("operation", ""), tuple(raw.get("holds", ()))
            yield Row(raw["id"], raw["src"], raw["failed"], raw.get("error", ""), raw.get("sync"), *other)


def collect(folder: Path) -> None:
    """Keep of the raw results what the tables rest on: id, expression, verdict and the first words."""
    ROWS.mkdir(parents=True, exist_ok=True)
    for name in ("truth", "truth2", "gpu"):
        path = folder / f"{name}.jsonl"
        if path.exists():
            write(name, [compact(name, json.loads(line)) for line in path.read_text("utf-8").splitlines()])
    path = folder / "nccl.jsonl"
    if path.exists():
        raw = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        write(
            "nccl",
            [
                {
                    "id": f"nccl:{r['scenario']}",
                    "src": "",
                    "failed": "RAISED" in r["rank0"],
                    "error": r["rank0"][:160],
                }
                for r in raw
            ],
        )
    path = folder / "claims.jsonl"
    if path.exists():
        raw = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        write("claims", [row for row in raw if "operation" not in row])
        write("libraries", [row for row in raw if "operation" in row])
    path = folder / "scenarios.json"
    if path.exists():
        write("scenarios", [compact_scenario(r) for r in json.loads(path.read_text("utf-8"))["ops"]])


def compact(name: str, raw: dict[str, Any]) -> dict[str, Any]:
    row = {
        "id": f"{name}:{raw['op']}",
        "src": raw.get("src", raw["op"]),
        "failed": raw.get("capture") != "ok",
    }
    words = (raw.get("eager_error") and "eager: " + raw["eager_error"]) or (raw.get("errors") or [""])[-1]
    if raw.get("capture") == "process died":
        words = "process died"
    if words:
        row["error"] = words[:160]
    if isinstance(raw.get("sync_debug"), bool):
        row["sync"] = raw["sync_debug"]
    return row


def compact_scenario(raw: dict[str, Any]) -> dict[str, Any]:
    failed = not raw["cap_global"].startswith("ok")
    row = {"id": f"scenarios:{raw['name']}", "src": "", "failed": failed}
    if failed:
        row["error"] = ("eager: " if "eager" in raw else "") + raw["cap_global"].removeprefix("FAIL inner=[")[
            :160
        ]
    if "sync" in raw:
        row["sync"] = "synchronizing" in raw["sync"]
    return row


def write(name: str, lines: list[dict[str, Any]]) -> None:
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    (ROWS / f"{name}.jsonl").write_text(text, "utf-8")


# ------------------------------------------------------------------------------------------------ building


def tables() -> list[dict[str, Any]]:
    """The hand-written tables and what a run on the CPU showed, which comes first: it is overruled."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    paths = sorted(TABLES.glob("*.toml"), key=lambda p: (p.name != "results.toml", p.name))
    return [tomllib.loads(path.read_text("utf-8")) for path in paths]


def shared() -> dict[str, Any]:
    """What the tables say of more than one operation: libraries, look-alikes, and lists of names."""
    made: dict[str, Any] = {"libraries": {}, "look_alikes": {}, "lists": {}, "maps": {}}
    for data in tables():
        made["libraries"].update(data.get("library", {}))
        made["look_alikes"].update(data.get("look_alike", {}))
        made["maps"].update(data.get("maps", {}))
        for key, listed in data.get("lists", {}).items():
            made["lists"][key] = sorted({*made["lists"].get(key, ()), *listed})
    return made


def build() -> dict[str, dict[str, Any]]:
    """The merged table without evidence."""
    table: dict[str, dict[str, Any]] = {}
    for data in tables():
        for group in data.get("effect", ()):
            for name in group["operations"]:
                effect = {key: value for key, value in group.items() if key != "operations"}
                table.setdefault(name, {}).setdefault("effects", []).append(effect)
        for group in data.get("facts", ()):
            facts = {key: value for key, value in group.items() if key != "operations"}
            for name in group["operations"]:
                table.setdefault(name, {}).update(facts)
        for name, target in data.get("alias", {}).items():
            table[name] = {"alias": target}
    for name in [n for n in table if n.startswith("Tensor.") and f"torch.{n[7:]}" in table]:
        method, function = table[name], table[f"torch.{name[7:]}"]
        if all(function.get(key, value) == value for key, value in method.items()):
            function |= table.pop(name)  # they agree: one entry answers for both
        else:
            table[name] = json.loads(json.dumps({**function, **method}))
    return dict(sorted(table.items()))


def install(table: dict[str, dict[str, Any]]) -> None:
    """Let `rules.operations` answer from this table."""
    for cached in (model.lookup, model.canonical, model.libraries, model.library_of, model.listed):
        cached.cache_clear()
    libraries = shared()
    model._raw = lambda: table  # type: ignore[assignment]
    model._file = lambda: libraries  # type: ignore[assignment]


def readings() -> Iterator[tuple[Row, list[tuple[str, model.Effect]], list[str]]]:
    """Every row that says something, with the effects predicted for it and the operations it calls."""
    sources = json.loads((ROOT / "docs" / "measured" / "sources.json").read_text("utf-8"))
    for row in rows():
        if row.id in EXCEPTIONS or row.error.startswith("eager: "):
            continue
        if row.operation:
            entry = model.lookup(row.operation)
            effect = entry.effect_of(row.holds) if entry is not None else None
            yield row, [(row.operation, effect)] if effect is not None else [], [row.operation]
            continue
        source = sources.get(row.id) or row.src
        if not source:
            continue
        reader = Reader()
        reader.read(source)
        yield row, reader.found, reader.called


def with_evidence(table: dict[str, dict[str, Any]]) -> tuple[dict[str, dict[str, Any]], list[str]]:
    install(table)
    problems: list[str] = []
    evidence: dict[tuple[str, int], list[str]] = {}
    for row, found, called in readings():
        if row.failed != bool(found):
            problems.append(
                f"{row.id}: {'failed' if row.failed else 'captured'}, the tables say {found}; {row.src}"
            )
            continue
        for name, effect in found[:1]:
            owner = owner_of(name, table)
            for index, raw in enumerate(table[owner].get("effects", ())):
                if model._effect(raw) == effect:
                    evidence.setdefault((owner, index), []).append(row.id)
        if not row.failed:
            for name in called[-1:]:
                owner = owner_of(name, table)
                if owner in table:
                    evidence.setdefault((owner, -1), []).append(row.id)
    for (owner, index), ids in evidence.items():
        target = table[owner] if index < 0 else table[owner]["effects"][index]
        target["evidence"] = sorted(set(ids))[:6]
    for name, raw in table.items():
        for effect in raw.get("effects", ()):
            if not effect.get("evidence") and not effect.get("source"):
                problems.append(f"{name}: {effect['kind']} {effect.get('when', '')} rests on nothing")
            if effect.get("evidence") and effect.get("source"):
                del effect["source"]
    return table, problems


def owner_of(name: str, table: dict[str, dict[str, Any]]) -> str:
    """The table's key that answers for a name."""
    name = name.removeprefix("torch.") if name.startswith("torch.Tensor.") else name
    last = name.rpartition(".")[2]
    candidates = [name, f"torch.{last}", f"Tensor.{last.rstrip('_')}", f"torch.{last.rstrip('_')}"]
    if name.startswith("math."):
        candidates.append("math.*")
    for candidate in candidates:
        if candidate in table:
            return str(table[candidate].get("alias", candidate))
    return name


def dump(table: dict[str, dict[str, Any]]) -> str:
    lines = [f"{json.dumps(name)}: {json.dumps(raw)}" for name, raw in table.items()]
    head = "".join(f"{json.dumps(name)}: {json.dumps(part)},\n" for name, part in shared().items())
    return f'{{"measured": {json.dumps(HEADER)},\n{head}"operations": {{\n' + ",\n".join(lines) + "\n}}\n"


# ------------------------------------------------------------------------------------------------ command


def main(arguments: list[str]) -> int:
    match arguments:
        case ["collect", folder]:
            collect(Path(folder))
        case ["results"]:
            (TABLES / "results.toml").write_text(results(), "utf-8")
        case ["build"] | ["build", "--check"]:
            table, problems = with_evidence(build())
            if problems:
                print("\n".join(problems), file=sys.stderr)
                return 1
            target, text = TABLES / "operations.json", dump(table)
            if "--check" in arguments:
                return int(target.read_text("utf-8") != text)
            target.write_text(text, "utf-8")
            print(f"{len(table)} operations")
        case _:
            print(__doc__)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
