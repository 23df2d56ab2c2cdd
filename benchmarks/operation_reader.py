"""Reads a measured expression the way a linter would, and says which effects the tables predict for it.

Used by `make_operation_tables.py`, which compares the predictions with what was measured.
"""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from graphlint.rules import operations as model


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
    "torch.cuda.CUDAGraph": "torch.cuda.CUDAGraph:", "torch.Stream": "torch.Stream:",
    "torch.cuda.ExternalStream": "torch.cuda.ExternalStream:",
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
