"""Which tensors a gradient flows back through: what modules and operations make of parameters.

Only what is certain is noted: a tensor that is not marked may still be one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from graphlint.analysis.classes import last_name
from graphlint.analysis.events import Called
from graphlint.analysis.frames import Place
from graphlint.analysis.parts import tensors_in
from graphlint.analysis.values import FALSE, NONE, Const, Function, Obj, Tensor, Value, alternatives
from graphlint.facts import nodes as ast
from graphlint.facts.pernode import per_node
from graphlint.rules import operations

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine

FROZEN = "frozen parameters"
WRAPPED = "functions that keep no gradients"
GRAPHED, PRESENT = "graphs with a backward pass", "gradients are there"
# What `.grad` of the parameters of a graphed callable is, while it is not None.
BUFFER, OTHER = Const("a buffer of the graph"), Const("memory of its own")
LEFT_OUT = "left-out"
"""The fact of a capture that holds what its update has left out."""


def enabled(m: Machine) -> bool:
    """Whether operations are recorded for a backward pass here."""
    if any(context.cls in operations.listed("no_grad") for context in m.contexts):
        return False
    wrapped = m.memo.get(WRAPPED, ())
    nodes = (frame.function.node for frame in m.frames if frame.function is not None)
    return not any(id(node) in wrapped or _is_decorated(node) for node in nodes)


def note_wrapped(m: Machine, name: str, value: Value) -> None:
    """A function goes through `torch.no_grad()(function)` or the like."""
    if name.removesuffix(".__call__") in operations.listed("no_grad") and isinstance(value, Function):
        m.memo.setdefault(WRAPPED, set()).add(id(value.node))


@per_node
def _is_decorated(node: ast.AST) -> bool:
    """Whether a function is one that keeps no gradients: `@torch.no_grad()`."""
    decorators = getattr(node, "decorator_list", ())
    called = [d.func if isinstance(d, ast.Call) and not d.args else d for d in decorators]
    last = {name.rpartition(".")[2] for name in operations.listed("no_grad")}
    return any(last_name(each) in last for each in called)


def note_frozen(m: Machine, tensors: Iterable[Tensor], *, frozen: bool) -> None:
    """`requires_grad` of these tensors is set."""
    known = _known(m)
    for tensor in tensors:
        m.heap.write(known.fields, tensor.storage, Const(frozen))
        tensor.trained = not frozen


def note_update(m: Machine, tensors: Iterable[Tensor]) -> None:
    """Captured code updates tensors by their gradients: it leaves out those that have none, being frozen."""
    if m.capture is not None:
        frozen = frozen_among(m, tensors)
        m.capture.facts.setdefault(LEFT_OUT, set()).update(each.storage for each in frozen)


def frozen_among(m: Machine, tensors: Iterable[Tensor]) -> list[Tensor]:
    """The tensors that are said not to be trained, on some of the ways here."""
    return [each for each in tensors if any(_answers(m, each.storage))]


def is_frozen(m: Machine, storage: object) -> bool:
    """Whether memory is not to be trained, on all the ways here."""
    return all(_answers(m, storage))


def _answers(m: Machine, storage: object) -> list[bool]:
    said = _known(m).fields.get(storage, FALSE)
    return [isinstance(part, Const) and bool(part.value) for part in alternatives(said)]


def _known(m: Machine) -> Obj:
    known = m.memo.setdefault(FROZEN, Obj(FROZEN))
    assert isinstance(known, Obj)
    return known


def flows_into(m: Machine, tensor: Tensor) -> bool:
    """Whether a backward pass computes a gradient for a tensor."""
    return tensor.trained or (tensor.parameter and not frozen_among(m, [tensor]))


def note_made(m: Machine, name: str, operands: Iterable[Tensor], made: Value) -> None:
    """An operation has made something of tensors."""
    recorded = enabled(m) and name not in operations.listed("without_gradient")
    flowing = [each for each in operands if flows_into(m, each)] if recorded else []
    # What captured code made is an output once it has been read after a replay.
    outputs = [each for each in flowing if each.stamp or each.storage.graph is None]
    through = frozenset(graph for each in outputs for graph in each.through)
    if m.capture is not None and m.capture.graph is not None:
        through |= {m.capture.graph}
    for tensor in tensors_in(made, 1):
        if not tensor.parameter:
            tensor.trained = bool(flowing) and tensor.kind not in ("bool", "int", "byte")
            tensor.through = through if tensor.trained else frozenset()


def is_plain(sample: Tensor) -> bool:
    """Whether nobody wants a gradient of a tensor: a factory has made it, without a word of one."""
    node = sample.storage.site.node if sample.storage.site is not None else None
    if sample.trained or not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    asked = any(keyword.arg in (None, "requires_grad") for keyword in node.keywords)
    return node.func.attr in operations.listed("sized") and not asked and sample.kind == "float"


def note_graphed(m: Machine, graph: Obj) -> None:
    """A replayed backward pass returns the gradients of parameters in buffers of its graph.

    Autograd keeps a first gradient as it comes, without a copy (measured: `benchmarks/graphed_gradients.py`).
    """
    known = m.memo.setdefault(GRAPHED, [])
    if graph not in known:
        known.append(graph)
        m.heap.write(graph.fields, "gradient", OTHER if m.memo.get(PRESENT) else NONE)


def note_backward(m: Machine, target: Value, place: Place) -> None:
    """A replayed backward pass overwrites the gradients that are their buffers."""
    through = target.through if isinstance(target, Tensor) and not m.captures else frozenset()
    m.memo[PRESENT] = True
    for graph in m.memo.get(GRAPHED, ()):
        held = alternatives(graph.fields["gradient"])
        if graph not in through or m.backward_hooks:
            continue
        if BUFFER in held:
            first = m.memo["first gradient", graph.serial]
            m.emit(Called(place=place, what="gradient-overwritten", target=graph, data=first))
        if any(part is NONE for part in held):
            m.memo["first gradient", graph.serial] = place
            m.heap.write(graph.fields, "gradient", BUFFER)


def note_replaced(m: Machine, *, dropped: bool) -> None:
    """The program drops gradients, or gives parameters memory of its own for them."""
    m.memo[PRESENT] = not dropped
    for graph in m.memo.get(GRAPHED, ()):
        m.heap.write(graph.fields, "gradient", NONE if dropped else OTHER)
