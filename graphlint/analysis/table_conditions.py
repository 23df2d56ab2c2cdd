"""Which conditions of the operation tables (`rules.operations.CONDITIONS`) hold in a call or subscript.

`Reader` in benchmarks/operation_reader.py computes the same conditions from measured expressions; the
two must agree, and tests/analysis/test_measured_expressions.py says whether they do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from graphlint.analysis.parts import tensors_in
from graphlint.analysis.values import (
    Const,
    External,
    Host,
    Obj,
    Sequence_,
    SliceValue,
    Tensor,
    Unknown,
    Value,
    alternatives,
    is_none,
)
from graphlint.rules import operations
from graphlint.rules.operations import Operation

MASKS = ("bool", "byte")


@dataclass(frozen=True, slots=True)
class Arguments:
    """The operands (the tensor of a method call first), keywords and destination of one operation."""

    operation: Operation
    operands: list[Value]
    keywords: Mapping[str, Value]
    device: str | None
    complete: bool = True  # no `*args` or `**kwargs` of unknown content

    @property
    def last(self) -> str:
        """The operation without its namespace and without the underscore of its in-place form."""
        return self.operation.name.rpartition(".")[2].rstrip("_")

    @property
    def target(self) -> str | None:
        """The device that data goes to; where a tensor of unknown device is, is the captured one."""
        named = [self.keywords.get("device"), *self.operands[1:]]
        parts = (part for value in named if value is not None for part in alternatives(value))
        assumed = any(
            isinstance(p, Obj) and p.cls == "torch.device" and p.fields.get("assumed") for p in parts
        )
        return "cuda" if self.device is None and assumed else self.device

    def get(self, index: int, name: str) -> Value | None:
        return self.operands[index] if len(self.operands) > index else self.keywords.get(name)


def of_call(call: Arguments) -> set[str]:
    """The conditions that hold in a call."""
    return {name for name, holds in _of_call(call) if holds} | _of_operands(call) | _of_movement(call)


def _of_call(call: Arguments) -> Iterator[tuple[str, bool]]:
    keywords = call.keywords
    second = call.get(1, "repeats") if call.last == "repeat_interleave" else call.get(1, "std")
    yield "one-argument", len(call.operands) == 1 and call.complete and not {"input", "other"} & set(keywords)
    yield "tensor-repeats", _on_device(second)
    yield "tensor-std", _on_device(second)
    yield "own-generator", not is_none(keywords.get("generator"))
    yield "error-check", _checks(call)
    yield "spectral-order", _literal(call.get(1, "ord")) in (2, -2, "nuc")
    yield "jagged-layout", _dotted(keywords.get("layout")) == "torch.jagged"
    yield "cpu-scalar", any(_is_host_scalar(value) for value in call.operands[1:])
    yield "tensor-as-number", _number_is_tensor(call)


def _number_is_tensor(call: Arguments) -> bool:
    passed: list[tuple[int | str, Value]] = [*enumerate(call.operands), *call.keywords.items()]
    return any(call.operation.takes_number(where) and _holds_device_tensor(value) for where, value in passed)


def told(call: Arguments) -> tuple[set[str], int]:
    """The keywords that were given and the number of positional arguments, as `effect_of` wants them.

    What is None, and -1 for a number of classes, asks the operation to find out by itself.
    """
    asked = (
        {"num_classes"} if call.last == "one_hot" and _literal(call.get(1, "num_classes")) == -1 else set()
    )
    given = {name for name, value in call.keywords.items() if not is_none(value)} - asked
    return given, 1 if asked else len(call.operands)


def _checks(call: Arguments) -> bool:
    if call.operation.name.startswith("torch.distributions."):
        return _literal(call.keywords.get("validate_args")) is not False
    return any(is_true(call.keywords.get(name)) for name in ("check_errors", "error_if_nonfinite"))


def _of_operands(call: Arguments) -> set[str]:
    """What the value written, or the index, of a call is."""
    operands = call.operands
    if call.last == "index_put" and len(operands) > 2 and isinstance(operands[0], Tensor):
        return of_index(operands[0], operands[1]) | of_written(operands[2])
    if call.last in ("masked_fill", "index_fill"):
        value = call.keywords.get("value") or (operands[-1] if len(operands) > 2 else None)
        return of_written(value) if value is not None else set()
    return set()


# subscripts


def of_index(owner: Tensor, index: Value) -> set[str]:
    """The conditions that an index holds: `owner[index]`."""
    holds: set[str] = set()
    parts = parts_of(index)
    integers = [part for part in parts if _is_integer(part)]
    for part in parts:
        for one in alternatives(part):
            holds |= _of_index_part(one)
    if owner.ndim is not None and owner.ndim == len(integers) and not holds:
        holds.add("single-element")
    return holds


def parts_of(index: Value) -> tuple[Value, ...]:
    """The parts of an index: `x[a, b]` has two."""
    if isinstance(index, Sequence_) and index.kind == "tuple":
        return index.items
    return (index,)


def _of_index_part(part: Value) -> set[str]:
    if isinstance(part, SliceValue):
        return {"scalar-index"} if any(_on_device(bound) for bound in part.bounds) else set()
    if isinstance(part, Tensor):
        return _of_index_tensor(part)
    if isinstance(part, Sequence_) and not any(isinstance(item, Tensor) for item in part.elements()):
        return {"list-index"}
    return {"list-index"} if isinstance(part, Unknown) and part.typed == "numpy" else set()


def _of_index_tensor(part: Tensor) -> set[str]:
    if part.ndim == 0:
        return {"scalar-index"} if part.on_device else set()
    if part.kind in MASKS:
        return {"mask-index"} if part.on_device else {"cpu-mask-index"}
    if part.kind is None:
        return set() if part.on_device else {"cpu-index"}
    return {"tensor-index"} if part.on_device else {"cpu-index"}


def of_written(value: Value) -> set[str]:
    """The conditions that a value holds which is written into a tensor.

    What may be on the device or on the host is the program's choice: nothing is claimed of the host then.
    """
    holds: set[str] = set()
    if _on_device(value):
        return {"tensor-value"}
    for part in alternatives(value):
        if isinstance(part, Tensor) and part.ndim != 0:
            holds |= {"cpu-value", _memory(part)}
        elif isinstance(part, Tensor) or _is_number(part):
            holds.add("number-value")
    return holds


# copies between host and device


def _of_movement(call: Arguments) -> set[str]:
    """Which way a copy goes, and whether its host side is pinned."""
    holds = set() if _non_blocking(call) else {"blocking"}
    if call.last in operations.listed("from_host_data") or call.operation.name.startswith("torch.cuda."):
        return holds | _of_data(call)
    source, target = _ends(call)
    if source is None:
        return holds
    if source.device in ("cpu", "pinned") and target == "cuda":
        holds |= {"to-gpu", _memory(source)}
    elif source.on_device and target in ("cpu", "pinned"):
        holds |= {"to-cpu", "pinned" if target == "pinned" else "pageable"}
    return holds


def _ends(call: Arguments) -> tuple[Tensor | None, str | None]:
    """The tensor that is copied and the device that it is copied to."""
    first, second = _tensor(call.get(0, "input")), _tensor(call.get(1, "src"))
    if call.last == "copy":
        return second, first.device if first is not None else None
    if call.last == "_foreach_copy":
        return second, first.device if first is not None else None
    return first, call.target


def _of_data(call: Arguments) -> set[str]:
    """What a tensor is built from."""
    data = call.get(
        1 if call.last in ("new_tensor", "assign") else 0, "src" if call.last == "assign" else "data"
    )
    holds: set[str] = set()
    for part in alternatives(data) if data is not None else ():
        if isinstance(part, Tensor):
            holds |= {_memory(part)} if part.device in ("cpu", "pinned") else {"device-data"}
        elif isinstance(part, Sequence_):
            holds |= _of_elements(part)
        elif _is_number(part) or (isinstance(part, Unknown) and part.typed == "numpy"):
            holds.add("host-data")
    if call.target == "cuda" and "device-data" not in holds:
        holds.add("to-gpu")
    return holds - {"device-data"}


def _of_elements(data: Sequence_) -> set[str]:
    held = list(tensors_in(data, 3))
    holds = {"tensor-elements"} if any(t.on_device for t in held) else set()
    return holds | {"host-data"} if len(held) < len(data.elements()) and data.elements() else holds


# single values


def _memory(tensor: Tensor) -> str:
    return "pinned" if tensor.device == "pinned" else "pageable"


def _tensor(value: Value | None) -> Tensor | None:
    """The tensor that a value is, or the first one that it holds."""
    return next(iter(tensors_in(value, 1)), None) if value is not None else None


def _on_device(value: Value | None) -> bool:
    return value is not None and any(isinstance(p, Tensor) and p.on_device for p in alternatives(value))


def _holds_device_tensor(value: Value) -> bool:
    return any(t.on_device for t in tensors_in(value, 1))


def _is_host_scalar(value: Value) -> bool:
    return any(
        isinstance(p, Tensor) and p.device in ("cpu", "pinned") and p.ndim == 0 for p in alternatives(value)
    )


def _is_number(value: Value) -> bool:
    if isinstance(value, Const):
        return isinstance(value.value, (int, float, complex))
    return isinstance(value, Host) and value.kind in ("int", "float", "bool", "any")


def _is_integer(value: Value) -> bool:
    if isinstance(value, Const):
        return isinstance(value.value, int) and not isinstance(value.value, bool)
    return isinstance(value, Host) and value.kind == "int"


def is_true(value: Value | None) -> bool:
    """Whether an argument is given and known to be true."""
    return isinstance(value, Const) and bool(value.value)


def _literal(value: Value | None) -> object:
    return value.value if isinstance(value, Const) else None


def _dotted(value: Value | None) -> str:
    return value.name if isinstance(value, External) else ""


def _non_blocking(call: Arguments) -> bool:
    value = call.keywords.get("non_blocking")
    if value is None and call.last == "copy":
        value = call.get(2, "non_blocking")
    return is_true(value)
