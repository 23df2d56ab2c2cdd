"""Build `rules/tables/operations.json` from the hand-written tables and from measurements.

    make_operation_tables.py collect RAW_FOLDER   raw results -> docs/measured/rows/*.jsonl
    make_operation_tables.py results              run torch on the CPU -> rules/tables/results.toml
    make_operation_tables.py build [--check]      tables and rows -> rules/tables/operations.json

`build` needs the standard library only (tomli on Python 3.10). It reads every measured expression the way a
linter would (`Reader`), asks the tables whether a capture of it fails, compares that with what happened, and
writes the ids of the rows that bear an effect out beside that effect. It fails when a table and a row
disagree, unless `EXCEPTIONS` says why, and when an effect rests on nothing.
"""

from __future__ import annotations

import ast
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TABLES = ROOT / "rules" / "tables"
ROWS = ROOT / "docs" / "measured" / "rows"
HEADER = {"torch": "2.11.0+cu130", "machine": "one NVIDIA H200", "results": "torch 2.13.0, CPU"}

sys.path.insert(0, str(ROOT))
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


def rows() -> Iterator[Row]:
    for path in sorted(ROWS.glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            raw = json.loads(line)
            yield Row(raw["id"], raw["src"], raw["failed"], raw.get("error", ""), raw.get("sync"))


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


# ------------------------------------------------------------------------------------------------ reading


@dataclass(frozen=True)
class Value:
    """What is known of a value in an expression. `place`: gpu, pinned, pageable, or host for no tensor."""

    place: str = "host"
    kind: str = "float"
    ndim: int | None = None
    path: str = ""  # a dotted name, for modules, functions and objects
    items: tuple[Value, ...] | None = None  # elements of a literal list or tuple
    literal: Any = None
    sequence: str = ""  # "list", "tuple", "slice", "numpy"

    @property
    def tensor(self) -> bool:
        return self.place != "host"

    @property
    def gpu(self) -> bool:
        return self.place == "gpu" or any(v.gpu for v in self.items or ())


def gpu(kind: str, ndim: int | None) -> Value:
    return Value("gpu", kind, ndim)


def named(path: str) -> Value:
    return Value(path=path)


NAMES: dict[str, Value] = {
    "x": gpu("float", 2),
    "v": gpu("float", 1),
    "s": gpu("float", 0),
    "n": gpu("int", 0),
    "i": gpu("int", 1),
    "m": gpu("bool", 1),
    "sq": gpu("float", 2),
    "k": gpu("float", 4),
    "d": gpu("float", 3),
    "pad": gpu("bool", 2),
    "c": Value("pinned", "float", 1),
    "h": Value("pageable", "float", 1),
    "hi": Value("pageable", "int", 1),
    "hm": Value("pageable", "bool", 1),
    "h0": Value("pageable", "float", 0),
    "np": named("numpy"),
    "F": named("torch.nn.functional"),
    "nn": named("torch.nn"),
    "cuda": Value(literal="cuda"),
    "event": named("torch.cuda.Event:old"),
    "event2": named("torch.cuda.Event:old"),
    "_oldev": named("torch.cuda.Event:old"),
    "side": named("torch.cuda.Stream:other"),
    "_g0": named("torch.cuda.CUDAGraph:"),
    "gen": named("torch.Generator:"),
    "lin": named("module"),
    "params": Value(items=(gpu("float", 2),), sequence="list"),
}
OPTIMIZERS = ("Adam", "AdamW", "RMSprop", "Adadelta", "NAdam", "Adamax", "RAdam", "Rprop", "ASGD")
NAMES |= {name.lower(): named(f"torch.optim.{name}:") for name in OPTIMIZERS}
BUILTINS = {
    "any",
    "all",
    "max",
    "min",
    "sorted",
    "print",
    "range",
    "round",
    "sum",
    "len",
    "hash",
    "abs",
    "pow",
}
CONVERSIONS = {"bool": "__bool__", "int": "__int__", "float": "__float__", "complex": "__complex__",
               "str": "__str__", "repr": "__repr__"}  # fmt: skip
OBJECTS = {
    "torch.cuda.Event": "torch.cuda.Event:", "torch.cuda.Stream": "torch.cuda.Stream:",
    "torch.cuda.current_stream": "torch.cuda.Stream:", "torch.cuda.default_stream": "torch.cuda.Stream:",
    "torch.cuda.CUDAGraph": "torch.cuda.CUDAGraph:",
}  # fmt: skip


@dataclass
class Reader:
    """Reads one expression and lists the effects that the tables predict for it."""

    found: list[tuple[str, model.Effect]] = field(default_factory=list)
    called: list[str] = field(default_factory=list)

    def read(self, source: str) -> None:
        self.value(ast.parse(source, mode="eval").body)

    def value(self, node: ast.expr) -> Value:
        match node:
            case ast.Constant(value):
                return Value(literal=value)
            case ast.Name(name):
                if name in CONVERSIONS or name in BUILTINS:
                    return named(f"builtins.{name}")
                return NAMES.get(name) or named(name)
            case ast.Attribute(base, attr):
                owner = self.value(base)
                if owner.tensor:
                    return self.attribute(owner, attr)
                return named(f"{owner.path}.{attr}") if owner.path else Value()
            case ast.List(elements) | ast.Tuple(elements) | ast.Set(elements):
                kind = "tuple" if isinstance(node, ast.Tuple) else "list"
                return Value(items=tuple(self.value(e) for e in elements), sequence=kind)
            case ast.Slice(low, high, step):
                return Value(items=tuple(self.value(e) for e in (low, high, step) if e), sequence="slice")
            case ast.Subscript(base, index):
                owner, key = self.value(base), self.value(index)
                if owner.tensor:
                    return self.method(owner, "__getitem__", [key], {})
                if key.gpu:
                    self.method(key, "__index__", [], {})
                return Value()
            case ast.Call():
                return self.call(node)
            case ast.BinOp(left, op, right):
                one, two = self.value(left), self.value(right)
                if isinstance(op, ast.Mod) and isinstance(one.literal, str) and two.gpu:
                    self.method(two, "__format__", [], {})
                    return Value()
                if isinstance(op, ast.MatMult):
                    return replace(one, ndim=2)
                both = [t for t in (one, two) if t.tensor]
                return (
                    max(both, key=lambda t: (t.place == "gpu", t.ndim or 0))
                    if both
                    else Value(sequence=one.sequence)
                )
            case ast.UnaryOp(op, operand):
                inner = self.value(operand)
                if isinstance(op, ast.Not):
                    self.truth(inner)
                    return Value()
                return (
                    inner
                    if inner.tensor or not isinstance(inner.literal, int)
                    else Value(literal=-inner.literal)
                )
            case ast.BoolOp(_, parts):
                for part in parts[:-1]:
                    self.truth(self.value(part))
                return self.value(parts[-1])
            case ast.IfExp(test, body):
                self.truth(self.value(test))
                return self.value(body)
            case ast.Compare(left, [op], [right]):
                one, two = self.value(left), self.value(right)
                if isinstance(op, (ast.Is, ast.IsNot)):
                    return Value()
                if isinstance(op, (ast.In, ast.NotIn)):
                    if two.tensor:
                        self.method(two, "__contains__", [one], {})
                    elif (
                        one.gpu
                        and two.items
                        and not any(t.literal is None and not t.tensor for t in two.items)
                    ):
                        self.truth(one)
                    return Value()
                both = [t for t in (one, two) if t.tensor]
                if not both or (not two.tensor and two.literal is None and isinstance(right, ast.Constant)):
                    return Value()
                return replace(max(both, key=lambda t: t.ndim or 0), kind="bool")
            case ast.JoinedStr(values):
                for part in values:
                    if isinstance(part, ast.FormattedValue) and self.value(part.value).tensor:
                        self.method(self.value(part.value), "__format__", [], {})
                return Value()
            case ast.Lambda(_, body):
                return self.value(body)
            case ast.ListComp(element, [loop]) | ast.GeneratorExp(element, [loop]):
                source = self.value(loop.iter)
                if isinstance(loop.target, ast.Name) and source.tensor:
                    before = NAMES.get(loop.target.id)
                    NAMES[loop.target.id] = replace(source, ndim=(source.ndim or 1) - 1)
                    if not (isinstance(loop.iter, ast.Subscript)):  # v[:0]: an empty loop reads nothing
                        self.value(element)
                    NAMES.pop(loop.target.id)
                    if before:
                        NAMES[loop.target.id] = before
                return Value()
        return Value()

    def truth(self, value: Value) -> None:
        if value.tensor:
            self.method(value, "__bool__", [], {})

    def attribute(self, owner: Value, attr: str) -> Value:
        if attr in ("T", "mT", "H", "data"):
            return owner
        if attr == "grad":
            return owner
        if attr == "device":
            return Value(literal="cuda" if owner.gpu else "cpu")
        return Value(literal=attr, sequence="shape" if attr == "shape" else "")

    def call(self, node: ast.Call) -> Value:
        function = node.func
        if isinstance(function, ast.Attribute):
            owner = self.value(function.value)
            arguments = [self.value(a) for a in node.args if not isinstance(a, ast.Starred)]
            keywords = {k.arg: self.value(k.value) for k in node.keywords if k.arg}
            if owner.tensor:
                return self.method(owner, function.attr, arguments, keywords)
            if isinstance(owner.literal, str) and function.attr == "format" and any(a.gpu for a in arguments):
                return self.method(next(a for a in arguments if a.gpu), "__format__", [], {})
            path = owner.path + "." + function.attr if owner.path else function.attr
            if ":" in path:
                kind, _, rest = path.partition(":")
                return self.object(kind, rest, arguments)
            return self.function(path, arguments, keywords)
        if isinstance(function, ast.Lambda):
            for parameter, argument in zip(function.args.args, node.args, strict=False):
                NAMES[parameter.arg] = self.value(argument)
            result = self.value(function.body)
            for parameter in function.args.args:
                NAMES.pop(parameter.arg, None)
            return result
        arguments = [self.value(a) for a in node.args if not isinstance(a, ast.Starred)]
        callee = self.value(function)
        name = callee.path.removeprefix("builtins.")
        if name in CONVERSIONS and arguments:
            return self.method(arguments[0], CONVERSIONS[name], [], {}) if arguments[0].tensor else Value()
        if name == "__import__" and node.args:
            return named(str(arguments[0].literal))
        if name == "range" and not any(a.gpu for a in arguments):
            return Value(sequence="list")
        if name == "list" and arguments and not arguments[0].tensor:
            return Value(sequence="list")
        if name == "slice":
            return Value(items=tuple(arguments), sequence="slice", literal=None)
        if name == "_on" and len(node.args) == 2:
            return self.value(node.args[1])
        return self.function(
            callee.path, arguments, {k.arg: self.value(k.value) for k in node.keywords if k.arg}
        )

    def object(self, kind: str, rest: str, arguments: list[Value]) -> Value:
        state, _, name = rest.partition(".")
        if kind.startswith("torch.optim"):
            self.apply(kind, {"not-capturable"}, [], {}, True)
            return Value()
        source = arguments[0].path if arguments else ""
        waits = (name == "wait" and state == "old") or source.endswith((":old", ":other"))
        self.apply(f"{kind}.{name}", {"uncaptured-source"} if waits else set(), arguments, {}, False)
        return Value()

    def function(self, path: str, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        if path in OBJECTS:
            return named(OBJECTS[path])
        if path.startswith("torch.distributions.") and path.count(".") == 2:
            checked = keywords.get("validate_args", Value()).literal is not False
            tensors = any(a.gpu for a in (*arguments, *keywords.values()))
            self.apply("torch.distributions.*", {"error-check"} if checked else set(), [], {}, tensors)
            return named(path)
        if path == "numpy.int64":
            return Value(literal=0)
        if path.startswith("numpy"):
            return Value(sequence="numpy") if "array" in path or "ones" in path else Value()
        if path in ("torch.FloatTensor", "torch.Tensor", "torch.from_numpy"):
            return Value("pageable", "float", 1)
        entry = model.function(path)
        if entry is None and path.startswith("builtins."):
            return Value()
        return self.apply(path, self.conditions(path, arguments, keywords), arguments, keywords)

    def method(self, owner: Value, name: str, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        if name == "__setitem__":
            holds = self.index(owner, arguments[0]) | self.written(arguments[1])
        elif name == "__getitem__":
            holds = self.index(owner, arguments[0])
        elif name in ("index_put_", "index_put"):
            holds = self.index(owner, arguments[0]) | self.written(arguments[1])
        else:
            holds = self.conditions(f"Tensor.{name}", [owner, *arguments], keywords)
        result = self.apply(f"Tensor.{name}", holds, [owner, *arguments], keywords)
        return self.selected(owner, arguments[0]) if name == "__getitem__" else result

    def conditions(self, name: str, arguments: list[Value], keywords: dict[str, Value]) -> set[str]:
        holds = set()
        entry = (
            model.method(name[7:]) if name.startswith("Tensor.") else model.function(name)
        ) or model.Operation(name)
        last = name.rpartition(".")[2].rstrip("_")
        passed: list[tuple[int | str, Value]] = [*enumerate(arguments), *keywords.items()]
        for position, argument in passed:
            if argument.gpu and entry.takes_number(position):
                holds.add("tensor-as-number")
        second = arguments[1] if len(arguments) > 1 else Value()
        if last == "where" and len(arguments) == 1:
            holds.add("one-argument")
        if last == "repeat_interleave" and second.gpu:
            holds.add("tensor-repeats")
        if last == "normal" and second.gpu:
            holds.add("tensor-std")
        if last == "index_put":
            holds |= self.index(arguments[0], arguments[1]) | self.written(arguments[2])
        if last in ("masked_fill", "index_fill") and len(arguments) > 2:
            holds |= self.written(arguments[-1])
        if any(a.place in ("pinned", "pageable") and a.ndim == 0 for a in arguments[1:]):
            holds.add("cpu-scalar")
        if any(keywords.get(k, Value()).literal for k in ("check_errors", "error_if_nonfinite")):
            holds.add("error-check")
        if last in ("matrix_norm", "norm") and second.literal in (2, -2, "nuc"):
            holds.add("spectral-order")
        if keywords.get("layout", Value()).path == "torch.jagged":
            holds.add("jagged-layout")
        if "generator" in keywords:
            holds.add("own-generator")
        return holds | self.movement(name, last, arguments, keywords)

    def movement(self, name: str, last: str, arguments: list[Value], keywords: dict[str, Value]) -> set[str]:
        """Conditions on copies between host and device."""
        holds: set[str] = set()
        if not keywords.get("non_blocking", Value()).literal:
            holds.add("blocking")
        subject = arguments[0] if arguments else Value()
        target = destination(last, arguments, keywords)
        if last in ("tensor", "as_tensor", "asarray", "new_tensor") or name.startswith("torch.cuda."):
            data = arguments[1] if last == "new_tensor" and len(arguments) > 1 else subject
            if last == "new_tensor":
                target = subject.place
            if not data.tensor:
                holds.add("tensor-elements" if data.gpu else "host-data")
            elif not data.gpu and target == "gpu":
                holds.add(data.place)
            if target == "gpu" and data.place != "gpu":
                holds.add("to-gpu")
            return holds
        if last == "copy" and len(arguments) > 1:
            source, target = arguments[1], subject.place
        elif last == "_foreach_copy":
            source, target = (arguments[1].items or (Value(),))[0], "gpu"
        else:
            source = subject
        if target == "gpu" and source.place in ("pinned", "pageable"):
            holds |= {"to-gpu", source.place}
        if target in ("pageable", "pinned") and source.place == "gpu":
            holds |= {"to-cpu", target} if last == "copy" else {"to-cpu"}
        return holds

    def index(self, owner: Value, key: Value) -> set[str]:
        holds, integers, others = set(), 0, 0
        for part in key.items or () if key.sequence == "tuple" else (key,):
            if part.sequence in ("list", "numpy"):
                holds.add("list-index")
            elif part.tensor and part.ndim == 0:
                holds.add("scalar-index" if part.gpu else "")
            elif part.tensor and part.kind == "bool":
                holds.add("mask-index" if part.gpu else "cpu-mask-index")
            elif part.tensor:
                holds.add("tensor-index" if part.gpu else "cpu-index")
            elif part.sequence == "slice":
                holds |= {"scalar-index"} if part.gpu else set()
                others += 1
            elif type(part.literal) is int:
                integers += 1
                continue
        if owner.ndim == integers and not holds:
            holds.add("single-element")
        return holds - {""}

    def written(self, value: Value) -> set[str]:
        if value.gpu:
            return {"tensor-value"}
        if value.tensor and value.ndim != 0:
            return {"cpu-value", value.place}
        return {"number-value"}

    def selected(self, owner: Value, key: Value) -> Value:
        parts = key.items or () if key.sequence == "tuple" else (key,)
        gone = sum(type(p.literal) is int or (p.tensor and p.ndim == 0) for p in parts)
        return replace(owner, ndim=None if owner.ndim is None else max(owner.ndim - gone, 0))

    def apply(
        self,
        name: str,
        holds: set[str],
        arguments: list[Value],
        keywords: dict[str, Value],
        gpu: bool | None = None,
    ) -> Value:
        last = name.rpartition(".")[2]
        entry = (
            model.method(last) if name.startswith("Tensor.") else model.function(name) or model.lookup(name)
        )
        self.called.append(name)
        subject = arguments[0] if arguments else Value()
        everything = (*arguments, *keywords.values())
        on_gpu = any(a.gpu for a in everything) if gpu is None else gpu
        on_gpu = on_gpu or bool(holds & {"to-gpu", "to-cpu", "own-generator"})
        if entry is None:
            return Value()
        given = {k for k, value in keywords.items() if not (k == "num_classes" and value.literal == -1)}
        positionals = len(arguments)
        if last == "one_hot" and positionals > 1 and arguments[1].literal == -1:
            positionals = 1
        effect = entry.effect_of(holds, given, positionals)
        if effect is not None and (effect.always or on_gpu):
            self.found.append((entry.name, effect))
        place = destination(last, arguments, keywords)
        if place == "gpu" and not entry.factory and last not in ("to", "cuda"):
            place = ""
        if place == "" and entry.factory:
            place = subject.place if name.startswith("Tensor.") or last.endswith("_like") else "pageable"
        if (entry.factory and keywords.get("pin_memory", Value()).literal) or last == "pin_memory":
            place = "pinned"
        if entry.result.startswith(("host", "shape", "none", "numpy", "object")):
            return Value(sequence="list" if entry.result == "host-list" else "")
        kind = entry.dtype if entry.dtype in ("bool", "int", "float") else subject.kind
        if last == "to" and any(a.path == "torch.uint8" for a in everything):
            kind = "bool"
        ndim = subject.ndim
        if entry.factory and not last.endswith("_like"):
            first = arguments[1] if name.startswith("Tensor.") and len(arguments) > 1 else subject
            ndim = len(first.items) if first.items is not None and last not in ("tensor", "as_tensor") else 1
            if last in ("tensor", "as_tensor") and first.items is None:
                ndim = first.ndim or 0
        if entry.reduces == "always" or (entry.reduces and len(arguments) == 1):
            ndim = 0
        gpu_place = "gpu" if any(a.gpu for a in everything) else subject.place
        return Value(place or gpu_place, kind, ndim)


def destination(last: str, arguments: list[Value], keywords: dict[str, Value]) -> str:
    """Where the result lies: "gpu", "pageable" or "" for unsaid."""
    if last == "cuda":
        return "gpu"
    if last == "cpu":
        return "pageable"
    for argument in (*arguments[1:], keywords.get("device", Value())):
        if argument.literal in ("cuda", "cpu"):
            return "gpu" if argument.literal == "cuda" else "pageable"
        if last == "to" and argument.tensor:
            return "gpu" if argument.gpu else "pageable"
        if last == "type" and (
            argument.path == "torch.cuda.FloatTensor" or argument.literal == "torch.FloatTensor"
        ):
            return "gpu" if "cuda" in argument.path else "pageable"
    return ""


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
    """What the tables say of whole libraries: their arrays, and which names and devices are look-alikes."""
    made: dict[str, Any] = {"libraries": {}, "look_alikes": {}, "devices": []}
    for data in tables():
        made["libraries"].update(data.get("library", {}))
        made["look_alikes"].update(data.get("look_alike", {}))
        made["devices"] += data.get("devices", [])
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
    model.lookup.cache_clear()
    model._raw = lambda: table  # type: ignore[assignment]
    model._file = shared  # type: ignore[assignment]


def readings() -> Iterator[tuple[Row, list[tuple[str, model.Effect]], list[str]]]:
    """Every row that says something, with the effects predicted for it and the operations it calls."""
    sources = json.loads((ROOT / "docs" / "measured" / "sources.json").read_text("utf-8"))
    for row in rows():
        if row.id in EXCEPTIONS or row.error.startswith("eager: "):
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


# ------------------------------------------------------------------------------------------------ results

# Not run: they change global state, need another device, or are described by hand.
SKIP = {
    "Tensor": {
        "apply_",
        "map_",
        "map2_",
        "backward",
        "set_",
        "share_memory_",
        "cuda",
        "cpu",
        "to",
        "type",
        "xpu",
        "ipu",
        "hpu",
        "mtia",
        "register_hook",
        "module_load",
        "register_post_accumulate_grad_hook",
        "resize_as_sparse_",
    },
    "torch": {
        "save",
        "load",
        "compile",
        "cond",
        "while_loop",
        "set_default_device",
        "asarray",
        "tensor",
        "as_tensor",
        "broadcast_shapes",
        "from_numpy",
        "frombuffer",
        "from_file",
        "rand",
        "randn",
        "empty",
        "zeros",
        "ones",
    },
}


def results() -> str:
    """Run every overridable function on small CPU tensors and group the names by what came back."""
    import torch
    from torch.overrides import get_overridable_functions, resolve_name

    warnings.simplefilter("ignore")
    seen: dict[str, dict[str, str]] = {}
    functions: dict[str, Callable[..., Any]] = {}
    for group in get_overridable_functions().values():
        for function in group:
            name = resolve_name(function)
            if name and name.split(".")[0] == "torch":
                functions[name.replace("torch.Tensor.", "Tensor.").replace("torch.functional.", "torch.")] = (
                    function
                )
    for name in dir(torch.Tensor):
        if not name.startswith("_") and callable(getattr(torch.Tensor, name)):
            functions.setdefault(f"Tensor.{name}", getattr(torch.Tensor, name))
        elif not name.startswith("_"):
            functions.setdefault(f"Tensor.{name}", lambda t, name=name: getattr(t, name))
    for name, function in sorted(functions.items()):
        owner, _, last = name.rpartition(".")
        if owner not in (
            "Tensor",
            "torch",
            "torch.nn.functional",
            "torch.linalg",
            "torch.special",
            "torch.fft",
        ):
            continue
        if last.startswith("_") or last in SKIP.get(owner, ()):
            continue
        facts = observe(function, last)
        if owner == "torch.nn.functional" and facts.get("result") in ("view", "maybe-view"):
            del facts["result"]  # the first extra argument of an activation is `inplace`
        if facts and facts != {"result": "inplace"}:
            seen[name] = facts
    for name in list(seen):  # a method that says what its function says needs no line
        if name.startswith("Tensor.") and seen.get(f"torch.{name[7:]}") == seen[name]:
            del seen[name]
    groups: dict[str, list[str]] = {}
    for name, facts in seen.items():
        groups.setdefault(json.dumps(facts, sort_keys=True), []).append(name)
    text = [
        "# What torch operations return: seen by running them on small CPU tensors (torch "
        + torch.__version__
        + ").",
        "# Generated by benchmarks/make_operation_tables.py results. Operations that return one new tensor",
        "# of the dtype of their argument have no line.",
    ]
    for facts_text, members in sorted(groups.items()):
        text += ["", "[[facts]]", *(f"{k} = {json.dumps(v)}" for k, v in json.loads(facts_text).items())]
        text += ["operations = [", *(f'    "{m}",' for m in sorted(members)), "]"]
    return "\n".join(text) + "\n"


def observe(function: Callable[..., Any], last: str) -> dict[str, str]:
    """Call with several arguments until it answers; sum up what the answers have in common."""
    import torch

    def inputs() -> list[Any]:
        square = torch.rand(4, 4) + torch.eye(4) * 4
        whole = torch.arange(16).reshape(4, 4)
        return [
            square,
            square.clone().t(),
            whole,
            torch.rand(4),
            torch.rand(2, 4, 4),
            torch.rand(1, 4, 1),
            square > 1,
            torch.rand(4, 4, dtype=torch.complex64),
            torch.rand(1, 1, 4, 4),
        ]

    extra: list[tuple[Any, ...]] = [
        (),
        (0,),
        (1,),
        (torch.rand(4, 4),),
        (0, 1),
        (torch.tensor([0, 1]),),
        (0, torch.tensor([0, 1])),
        (torch.rand(4, 4) > 0.5,),
        (torch.rand(4, 4), torch.rand(4, 4)),
        (0, 0, 2),
        (0.5,),
        (2, 2),
        (-1,),
        ((4, 4),),
        (torch.rand(4, 4) > 0.5, 1.0),
        (0, torch.zeros(4, 4, dtype=torch.long), torch.rand(4, 4)),
        (4,),
        ([1, 1, 0],),
        (0, torch.zeros(4, 4, dtype=torch.long)),
        (torch.float32,),
        (0, 0),
        (0, 2, 1),
        ((16,),),
        ((4,),),
        ((2, 8),),
        (1, -1),
        (1, (2, 2)),
        (0, torch.tensor([0, 1]), 1.0),
        (torch.zeros(4, dtype=torch.long),),
        ((1, 1),),
    ]
    kinds: set[str] = set()
    reduced: dict[str, set[str]] = {"bare": set(), "dim": set()}
    ndims: dict[str, set[bool]] = {"bare": set(), "dim": set()}
    dtypes: set[str] = set()
    answers = 0
    for position in range(len(inputs())):
        for arguments in extra:
            argument = inputs()[position]
            passed = tuple(a.clone() if isinstance(a, torch.Tensor) else a for a in arguments)
            before = (argument.data_ptr(), argument.dtype, argument.ndim)
            try:
                out = function(argument, *passed)
            except Exception:
                continue
            if isinstance(out, torch.Tensor) and not out.numel():
                continue  # an empty result aliases nothing and proves nothing
            answers += 1
            kind = kind_of(out, argument, before[0])
            kinds.add(kind)
            shape = (
                "bare"
                if not arguments
                else "dim"
                if len(arguments) == 1 and type(arguments[0]) is int
                else ""
            )
            if shape:
                reduced[shape].add(kind)
                if isinstance(out, torch.Tensor) and before[2]:
                    ndims[shape].add(out.ndim == 0)
            first = out[0] if isinstance(out, tuple) and out and isinstance(out[0], torch.Tensor) else out
            if isinstance(first, torch.Tensor) and (out is not argument or not last.endswith("_")):
                dtypes.add(f"{family(before[1])}>{family(first.dtype)}")
            if not arguments and len(kinds) == 1 and position > 4:
                break
    if not answers:
        return {}
    facts: dict[str, str] = {}
    plain = kinds - {"inplace", "view", "fresh"}
    if kinds <= {"inplace"} or (last.endswith("_") and "inplace" in kinds):
        facts["result"] = "inplace" if last.endswith("_") else "view"
    elif kinds <= {"view", "inplace"}:
        facts["result"] = "view"
    elif kinds <= {"fresh", "view", "inplace"} and kinds != {"fresh"}:
        facts["result"] = "maybe-view"
    elif len(plain) == 1 and kinds == plain:
        facts["result"] = plain.pop()
    elif "fresh" in reduced["bare"] and any(k.startswith("tuple") for k in reduced["dim"]):
        facts["with_dim"] = next(k for k in sorted(reduced["dim"]) if k.startswith("tuple"))
    elif any(k.startswith(("tuple", "views")) for k in kinds):
        tuples = {k for k in kinds if k.startswith(("tuple", "views"))}
        facts["result"] = (
            tuples.pop() if len(tuples) == 1 and len(kinds) == 1 else "views" if "views" in kinds else "tuple"
        )
    if facts.get("result", "fresh") == "fresh" and ndims["bare"] == {True}:
        facts["reduces"] = "without-dim" if False in ndims["dim"] or "with_dim" in facts else "always"
    if facts.get("result", "fresh") not in ("view", "inplace", "views"):
        if all(d.endswith(">bool") for d in dtypes) and dtypes:
            facts["dtype"] = "bool"
        elif (
            dtypes and all(d.endswith(">int") for d in dtypes) and any(d.startswith("float") for d in dtypes)
        ):
            facts["dtype"] = "int"
        elif "int>float" in dtypes and "int>int" not in dtypes and "float>int" not in dtypes:
            facts["dtype"] = "float"
        elif (
            dtypes
            and all(d.endswith(">complex") for d in dtypes)
            and any(d.startswith("float") for d in dtypes)
        ):
            facts["dtype"] = "complex"
    return facts


def family(dtype: Any) -> str:
    if str(dtype) == "torch.bool":
        return "bool"
    return "float" if dtype.is_floating_point else "complex" if dtype.is_complex else "int"


def kind_of(out: Any, argument: Any, address: int) -> str:
    import torch

    def alias(value: Any) -> bool:
        if not isinstance(value, torch.Tensor) or value.layout is not torch.strided or not value.numel():
            return False
        end = value.untyped_storage().data_ptr()
        return bool(end == argument.untyped_storage().data_ptr())

    if out is argument:
        return "inplace"
    if isinstance(out, torch.Tensor):
        return "view" if alias(out) else "fresh"
    if isinstance(out, (torch.Size, torch.dtype, torch.device, torch.layout)):
        return "host-meta" if not isinstance(out, torch.Size) else "shape"
    if isinstance(out, (tuple, list)):
        if out and all(isinstance(t, torch.Tensor) for t in out):
            if all(alias(t) for t in out if t.numel()) and any(t.numel() for t in out):
                return "views"
            return f"tuple:{len(out)}" if type(out) is not tuple or len(out) < 4 else "tuple"
        return "tuple" if isinstance(out, tuple) else "host-list"
    for python, word in ((bool, "host-bool"), (int, "host-int"), (float, "host-float"), (str, "host-str")):
        if isinstance(out, python):
            return word
    return "none" if out is None else "object"


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
