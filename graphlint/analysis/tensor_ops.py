"""Tensor arithmetic and library operations, as far as the operation tables describe them."""

from __future__ import annotations

from collections.abc import Set
from typing import TYPE_CHECKING

from graphlint.analysis import (
    certainty,
    derived,
    effects,
    gradients,
    host_work,
    ignored,
    outputs,
    parallel,
    rows,
    streams,
    timeline,
)
from graphlint.analysis.events import Called, Operation
from graphlint.analysis.frames import Frame, Place
from graphlint.analysis.graphs import Capture, HostUse
from graphlint.analysis.identities import identity_of
from graphlint.analysis.parts import cells_of, change_of, host_parts, tensors_in
from graphlint.analysis.symbols import symbols_in
from graphlint.analysis.values import (
    CONTENT,
    MOVED,
    RESULT,
    TAKEN,
    Change,
    Const,
    External,
    Host,
    Mapping,
    Obj,
    Sequence_,
    Tensor,
    Union,
    Unknown,
    Value,
    alternatives,
    is_none,
)
from graphlint.facts import nodes as ast
from graphlint.rules import operations

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


# The device of a tensor that is made where the program chooses.
EITHER = "either"


def is_tensor(value: Value) -> bool:
    return type(value) is Tensor or (type(value) is Unknown and value.typed == "tensor")


def any_tensor(*values: Value) -> bool:
    """Whether one of the operands is, or may be, a tensor."""
    for value in values:
        if any(map(is_tensor, value.values)) if type(value) is Union else is_tensor(value):
            return True
    return False


def belongs_to(made: Value, library: str) -> None:
    """What an operation makes are arrays of its library."""
    for tensor in tensors_in(made):
        tensor.library = library


def common_device(values: list[Tensor]) -> str | None:
    """The device of an operation's result: where its operands with dimensions are."""
    devices = [v.device for v in values if v.ndim != 0 or len(values) == 1] or [v.device for v in values]
    if "cuda" in devices:
        return "cuda"
    if devices and all(device in ("cpu", "pinned") for device in devices):
        return "cpu"
    return EITHER if EITHER in devices else None


def operands_of(*values: Value) -> list[Tensor]:
    return [t for value in values for t in tensors_in(value, 2)]


def arithmetic(
    m: Machine, node: ast.AST, left: Value, right: Value, frame: Frame, kind: str | None = None
) -> Value:
    """A tensor operator: a new tensor; a host operand becomes part of the recorded kernel."""
    place = frame.place(node)
    for value in (left, right):
        if not any_tensor(value):
            host_use(m, node, value, "arithmetic", frame)
    tensors = operands_of(left, right)
    if not tensors:
        return Unknown("tensor arithmetic", typed="tensor")
    if not any(tensor.on_device for tensor in tensors):
        timeline.host_reads(m, tensors, place)
        host_work.read(m, tensors, place)
    read_scalars(m, node, tensors, frame)
    note_use(m, tensors, place)
    library = next((t.library for t in tensors if t.library), "")
    if isinstance(getattr(node, "op", None), ast.MatMult):
        _multiplied(m, node, library, (left, right), frame)
    kinds = {t.kind for t in tensors}
    joined = kind or (kinds.pop() if len(kinds) == 1 else "float" if "float" in kinds else None)
    ranks = [t.ndim for t in tensors]
    rank = max(r for r in ranks if r is not None) if None not in ranks else None
    made = m.tensor(common_device(tensors), place, joined, rank)
    made.library = library
    rows.note_made(m, tensors, made)
    effects.note_operands(m, tensors, made)
    host_work.note(m, tensors, [made], place)
    if kind == "bool" and all(t.storage.owner == "opaque" for t in tensors):
        made.storage.owner = "opaque"  # a comparison of what may be no tensor decides nothing about one
    derived.note_made(m, tensors, made)
    gradients.note_made(m, "", tensors, made)
    return made


def _multiplied(m: Machine, node: ast.AST, library: str, operands: tuple[Value, ...], frame: Frame) -> None:
    """`a @ b`: work for a library, which some arrays cannot be given in a capture."""
    if not library:
        target = External("Tensor.__matmul__")
        m.emit(Called(place=frame.place(node), what="library", target=target, arguments=operands))
        return
    name = f"{operations.libraries()[library].array}.__matmul__"
    operation = operations.lookup(name)
    found = operation.effect_of() if operation is not None else None
    if found is not None:
        effect(m, node, name, found.kind, operands, frame, how="@")


def moved_tensor(m: Machine, value: Value) -> Tensor | None:
    """The tensor that an unknown value is, which was moved to the device, once an operation has taken it."""
    found = m.memo.get(("moved tensor", value.serial)) if isinstance(value, Unknown) else None
    return found if isinstance(found, Tensor) else None


def as_operand(m: Machine, value: Value) -> Value:
    """What an operation takes: something unknown that was moved to the device is a tensor there."""
    if not isinstance(value, Unknown) or value.typed not in (MOVED, TAKEN):
        return value
    value.typed = TAKEN
    made = moved_tensor(m, value)
    if made is None:
        with m.before_everything():
            made = m.tensor("cuda", m.memo.get(("moved at", value.serial)))
        m.memo["moved tensor", value.serial] = made
    return made


def fresh_like(m: Machine, value: Tensor, place: Place, kind: str | None = None) -> Tensor:
    note_use(m, [value], place)
    made = m.tensor(value.device, place, kind or value.kind, value.ndim)
    made.library = value.library
    return made


def opaque_result(m: Machine, place: Place) -> Value:
    """What something that could not be followed makes of tensors: in a capture, memory of the graph."""
    if not m.captures:
        return Unknown("result of a call that could not be followed", typed="tensor")
    m.captures[-1].work += 1
    with streams.not_followed(m):
        made = m.tensor(None, place)
    made.storage.owner = "opaque"
    return made


def note_use(m: Machine, tensors: list[Tensor], place: Place) -> None:
    """An operation touches these tensors: a stale alias among them is read here."""
    stamped = [tensor for tensor in tensors if tensor.stamp]
    if stamped:
        outputs.check_all(m, stamped, place)
    capture = m.capture
    if capture is None:
        timeline.used(m, tensors, place)
        ignored.note_touched(m, *tensors)
        return
    capture.operations += any(tensor.on_device for tensor in tensors)
    for tensor in tensors:
        if tensor.storage.graph is None or tensor.storage.graph is not capture.graph:
            capture.storages.setdefault(tensor.storage, place)
        elif tensor.storage.owner != "opaque":
            capture.facts.setdefault("own-reads", set()).add(tensor.storage)
    if tensors:
        streams.on_work(m, place)


def effect(
    m: Machine,
    node: ast.AST,
    name: str,
    what: str,
    operands: tuple[Value, ...],
    frame: Frame,
    *,
    how: str = "call",
    keywords: dict[str, Value] | None = None,
) -> None:
    """Tell the rules of an operation with an effect on the capture."""
    if m.running and what != "host-check":
        parallel.note_cuda_call(m)
    capture = broken_capture(m, name, what)
    if capture is None:
        timeline.waits_for(m, what)
    else:
        place = frame.place(node)
        event = Operation(place=place, name=name, effect=what, operands=operands, how=how, capture=capture)
        event.keywords = keywords or {}
        m.emit(event)


def broken_capture(m: Machine, name: str, what: str) -> Capture | None:
    """The open capture that an operation here acts on: this thread's, or the one that started the thread."""
    if m.capture is None and m.foreign is not None and _reaches_over(m.foreign, name, what):
        return m.foreign
    return m.capture


def _reaches_over(capture: Capture, name: str, what: str) -> bool:
    """Whether an operation on one thread breaks the capture that another thread has open."""
    if name == "torch.cuda.synchronize":
        return True
    return capture.mode == "global" and what in ("sync", "query", "scalar-read", "bulk-read", "format")


def formatted(m: Machine, node: ast.AST, value: Value, frame: Frame, how: str) -> None:
    """Formatting reads the values of device tensors, also inside containers."""
    printed = _printed(value)
    if not m.captures:
        timeline.host_reads(m, printed, frame.place(node))
        host_work.read(m, printed, frame.place(node))
        if isinstance(value, (Sequence_, Mapping)):
            outputs.check_all(m, printed, frame.place(node))
    found = [t for t in printed if t.on_device]
    if found:
        effect(m, node, "Tensor.__format__", "format", tuple(found), frame, how=how)


def _printed(value: Value) -> list[Tensor]:
    if isinstance(value, (Sequence_, Mapping, Tensor, Union)):
        return list(tensors_in(value, 3))
    return []


def read_back(m: Machine, tensors: list[Tensor], kind: str = "any") -> Host:
    """A number made from the values of tensors.

    It changes from call to call. In a capture the read of a device tensor is the hazard, not what is then
    done with the number. What captured code reads from host memory that it has made itself is no news to it,
    and memory that the program has made may stay as it is: its content is a cell.
    """
    capture = m.capture
    if capture is None:
        timeline.host_reads(m, tensors, m.frame.here)
        host_work.read(m, tensors, m.frame.here)
    host_work.read_in_capture(m, tensors)
    told = capture is not None and (
        any(tensor.on_device for tensor in tensors)
        or not any(_is_brought(capture, tensor) for tensor in tensors)
    )
    if told or capture is None or any(tensor.storage.changing for tensor in tensors):
        return Host(kind, Change.SHAPE if told else Change.CHANGING)
    for tensor in tensors:
        capture.contents.setdefault(tensor.storage.serial, (tensor.storage, tensor.storage.version))
    cells = frozenset((tensor.storage.serial, CONTENT) for tensor in tensors)
    return Host(kind, Change.CHANGING, None, cells)


def read_scalars(m: Machine, node: ast.AST, tensors: list[Tensor], frame: Frame) -> None:
    """Tensors of the host without dimensions are numbers for the kernel of an operation on the device.

    What may lie anywhere is taken to be there: on the host the operation would happen once all the same.
    """
    if m.capture is None or not any(tensor.on_device for tensor in tensors):
        return
    for tensor in tensors:
        if tensor.ndim == 0 and tensor.device in ("cpu", "pinned"):
            host_use(m, node, read_back(m, [tensor]), "arithmetic", frame)


def note_source(m: Machine, operands: list[Tensor], made: Value) -> None:
    """What captured code computes from memory that it has not made changes with that memory."""
    capture = m.capture
    if capture is not None and any(_is_brought(capture, tensor) for tensor in operands):
        for tensor in tensors_in(made):
            tensor.storage.changing = True


def _is_brought(capture: Capture, tensor: Tensor) -> bool:
    return tensor.storage.changing or tensor.storage.serial < capture.facts.get("born", 0)


def host_use(m: Machine, node: ast.AST, value: Value, use: str, frame: Frame) -> None:
    """A host value becomes part of the graph that is being captured."""
    capture = m.capture
    if capture is None or capture.compiled:
        return
    for part in host_parts(value):
        _host_use(m, node, part, use, frame)


def _host_use(m: Machine, node: ast.AST, value: Value, use: str, frame: Frame) -> None:
    capture = m.capture
    assert capture is not None
    cells = cells_of(value)
    changing = isinstance(value, Host) and change_of(value) is Change.CHANGING
    if not isinstance(value, (Host, Const)) or not (cells or changing):
        return
    if is_none(value) or (isinstance(value, Host) and _is_guessed(value)):
        return
    place = frame.place(node)
    capture.host_uses.append(HostUse(value, cells, use, place, m.chain(place), certainty.now(m)))


def _is_guessed(value: Host) -> bool:
    """Whether a test only turns round what a call gave that could not be followed."""
    return isinstance(value.symbol, tuple) and value.symbol[0] == RESULT


def is_key(keys: Set[object], value: Value) -> bool:
    """Whether the graph was chosen by this value, or by one that it was computed from."""
    identity = identity_of(value)
    return identity in keys or any(part in keys for part in symbols_in(identity) if isinstance(part, tuple))


def device_of(m: Machine, value: Value | None) -> str | bool | None:
    """The device that an argument names: `cuda`, `cpu`, None (unknown), or False when it names none.

    Where its alternatives name several devices it is `EITHER`: the program decides, so nothing is claimed.
    """
    if value is None:
        return False
    named = {found for part in alternatives(value) if (found := _device_named(part)) is not False}
    return named.pop() if len(named) == 1 else EITHER if named else False


def _device_named(part: Value) -> str | bool | None:
    """The device that a single value names."""
    if isinstance(part, Const):
        if isinstance(part.value, str):
            return _device_text(part.value)
        return "cuda" if isinstance(part.value, int) and not isinstance(part.value, bool) else False
    if isinstance(part, Obj) and part.cls == "torch.device":
        return part.fields.get("type")
    if isinstance(part, Tensor):
        return part.device
    if isinstance(part, External):
        return None if part.name.endswith(".device") else False
    return None if isinstance(part, (Unknown, Host)) else False


def _device_text(text: str) -> str | bool | None:
    head = text.split(":")[0]
    if head in ("cuda", "hip") or head in operations.devices():
        return "cuda"
    if head in ("cpu", "meta"):
        return "cpu"
    return None if head == "mps" else False
