"""Words and judgements that several rules share when they report."""

from __future__ import annotations

from graphlint.analysis.events import Operation
from graphlint.analysis.graphs import Capture
from graphlint.analysis.parts import tensors_in
from graphlint.analysis.values import Tensor, Unknown, Value, alternatives
from graphlint.facts import nodes as ast
from graphlint.finding import Confidence, Hop
from graphlint.rules import operations

# Where a run of the program begins, nobody calls: such a call stands at the definition itself.
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)

# Syntax that asks for the truth of a value: the answer decides which Python runs.
CONTROL_FLOW = {
    "if": "`if`",
    "while": "`while`",
    "assert": "`assert`",
    "and": "`and`",
    "or": "`or`",
    "not": "`not`",
    "in": "`in`",
    "conditional expression": "a conditional expression",
    "chained comparison": "a chained comparison",
    "comprehension filter": "the filter of a comprehension",
}

# Other syntax that reaches an operation.
SYNTAX = {
    "for": "a loop over a tensor",
    "f-string": "an f-string",
    "%-format": "`%` formatting",
    "index": "a tensor used as an index",
    "mask index": "indexing with a boolean mask",
    "mask store": "a store through a boolean mask",
    "scalar index": "an index that is a tensor",
    "list index": "indexing with Python data",
    "cpu index": "indexing with a CPU tensor",
    "store": "a store into a tensor",
}


def confidence_in(operands: tuple[Value, ...]) -> Confidence:
    """Definite for a tensor known to be on the device, likely for one whose device is not known."""
    tensors = [tensor for operand in operands for tensor in tensors_in(operand, 2)]
    if any(tensor.device == "cuda" for tensor in tensors):
        return Confidence.DEFINITE
    parts = [part for operand in operands for part in alternatives(operand)]
    if not tensors and any(isinstance(part, Unknown) and part.typed != "numpy" for part in parts):
        return Confidence.POSSIBLE
    return Confidence.LIKELY


def confidence_of(event: Operation) -> Confidence:
    """Definite for what no call may do in a capture, else by the operands."""
    effects = event.entry.effects if event.entry is not None else ()
    if any(effect.always and effect.kind == event.effect for effect in effects):
        return Confidence.DEFINITE
    return confidence_in(event.operands)


def reached_by(event: Operation) -> str:
    """The operation as the user wrote it: a method, a function, a builtin or other syntax."""
    if event.how == "call":
        read = event.entry is not None and event.entry.on_read
        return f"`{_called(event.name)}`" if read else f"`{_called(event.name)}()`"
    return CONTROL_FLOW.get(event.how) or SYNTAX.get(event.how) or f"`{event.how}()`"


def _called(dotted: str) -> str:
    """The shortest name that says it: `.item` of a tensor, `Event.query` of an object, `torch.unique`."""
    owner, _, name = dotted.rpartition(".")
    if owner == "Tensor" or owner in {library.array for library in operations.libraries().values()}:
        return f".{name}"
    owner = owner.rpartition(".")[2]
    return f"{owner}.{name}" if owner[:1].isupper() else dotted


def is_parameter(value: Value) -> bool:
    """Whether a value is a weight or buffer of a module."""
    return any(
        isinstance(part, Tensor) and (part.parameter or part.storage.owner == "parameter")
        for part in alternatives(value)
    )


def way_to(capture: Capture) -> tuple[Hop, ...]:
    """How the program comes to a region: the calls from its entry point, then the region; empty for none."""
    calls = [frame.call for frame in capture.facts["frames"] if frame.call is not None]
    hops = [call.hop for call in calls if not isinstance(call.node, DEFINITIONS)]
    return (*hops, capture.place.hop) if hops else ()
