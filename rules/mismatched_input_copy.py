"""CG108: a copy into an input of a graph broadcasts, cuts off or loses what it copies."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis import extents
from graphlint.analysis.events import Called, CaptureEnded
from graphlint.analysis.values import Host, SliceValue, Storage, Tensor, is_none
from graphlint.facts import nodes as ast
from graphlint.finding import Confidence, Hop, Level
from graphlint.rules.rule import Report, Rule

CUT = "what is copied is cut to the size of the input: the rest of a larger batch is never computed"
HELP = "check the shape and the data type of what comes in before the copy"


class MismatchedInputCopy(Rule):
    code = "CG108"
    name = "mismatched-input-copy"
    hazard = "dynamic-shape"
    level = Level.WARNING
    summary = "a copy into an input of a graph broadcasts, cuts off or loses what it copies"
    rows = ("A04", "A05", "A14")
    subscribes = (Called, CaptureEnded)

    def __init__(self) -> None:
        self.inputs: dict[Storage, Hop] = {}

    def on(self, event: Called | CaptureEnded) -> Iterator[Report]:
        if isinstance(event, CaptureEnded):
            if event.capture is not None:
                self.inputs.update(dict.fromkeys(event.capture.storages, event.capture.place.hop))
        elif event.what == "tensor-write" and event.capture is None and _is_copy(event):
            target, (source, *_) = event.target, event.arguments
            if not isinstance(target, Tensor) or target.storage not in self.inputs:
                return
            chain = (self.inputs[target.storage], event.place.hop)
            if _cuts_off_as_written(event) or (isinstance(source, Tensor) and _cuts_off(target, source)):
                yield Report(event.place, CUT, Confidence.LIKELY, chain=chain, help=HELP)
            if isinstance(source, Tensor):
                for message in _mismatches(target, source):
                    yield Report(event.place, message, Confidence.LIKELY, chain=chain, help=HELP)


def _is_copy(event: Called) -> bool:
    """Whether a write is `target.copy_(source)`: a store by index says itself what it fills."""
    node = event.place.node
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "copy_"


def _mismatches(target: Tensor, source: Tensor) -> Iterator[str]:
    if _broadcasts(target, source):
        yield "this input is larger than what is copied into it, so that the copy repeats it"
    if _truncates(target, source):
        yield "this copies numbers with fractions into an input of whole numbers, which drops the fractions"


def _broadcasts(target: Tensor, source: Tensor) -> bool:
    """Whether a known dimension of the source is repeated: what has no dimensions at all is meant to be."""
    if target.shape is None or not source.shape or target.part is not None or source.part is not None:
        return False
    wanted, given = [[extents.number(each) for each in shape] for shape in (target.shape, source.shape)]
    if len(given) < len(wanted):
        return False
    pairs = list(zip(reversed(wanted), reversed(given), strict=False))
    return any(size is not None and size > 1 and other == 1 for size, other in pairs)


def _cuts_off(target: Tensor, source: Tensor) -> bool:
    """Whether the source is `x[:n]` with the size of the whole target for `n`."""
    part = source.part
    if not isinstance(part, SliceValue) or target.part is not None or not is_none(part.lower):
        return False
    bound = part.upper
    if isinstance(bound, Host) and isinstance(bound.symbol, tuple):
        return bound.symbol[:2] == ("size", target.storage.serial)
    size = extents.number(target.shape[0]) if target.shape else None
    return size is not None and extents.number(bound) == size


def _cuts_off_as_written(event: Called) -> bool:
    """Whether it says so: `buffer.copy_(x[: buffer.shape[0]])`, or `len(buffer)`, `buffer.size(0)`."""
    node = event.place.node
    assert isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    source, buffer = node.args[0] if node.args else None, ast.unparse(node.func.value)
    if not isinstance(source, ast.Subscript) or not isinstance(source.slice, ast.Slice):
        return False
    part, target = source.slice, event.target
    sizes = [f"{buffer}.shape[0]", f"len({buffer})", f"{buffer}.size(0)"]
    if (
        isinstance(target, Tensor)
        and target.part is None
        and target.shape
        and extents.number(target.shape[0]) is not None
    ):
        sizes.append(str(extents.number(target.shape[0])))
    return part.lower is None and part.upper is not None and ast.unparse(part.upper) in sizes


def _truncates(target: Tensor, source: Tensor) -> bool:
    """Whether numbers with fractions are copied into whole ones."""
    return target.kind == "int" and source.kind == "float"
