"""For which arguments compiled and tuned code has run: other ones make it compile, or tune, again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphlint.analysis import extents, roots
from graphlint.analysis.arguments import Arguments
from graphlint.analysis.parts import cells_of
from graphlint.analysis.values import Const, Function, Obj, Sequence_, SliceValue, Tensor, Value, is_none

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine
    from graphlint.facts.modules import ModuleFile

Rows = tuple[int, object]  # some of the rows of a memory, or all (None), where their number is not known
Sizes = tuple[int | Rows | None, ...]
Signature = tuple[Sizes | None, ...]
"""Of each argument the sizes that it is specialised to, None for what is not known."""

DYNAMIC = "dynamic"
BENCHMARK = "algorithms of cuDNN are tried out"
MARKED = "sizes marked as dynamic"


def of_tensors(arguments: Arguments) -> Signature:
    """The shapes of the tensors that a compiled callable is given."""
    return tuple(_sizes(value) for value in arguments.all())


def of_keys(kernel: Obj, arguments: Arguments) -> Signature:
    """The numbers by which an autotuned kernel chooses its configuration."""
    keys, wrapped = kernel.fields.get("key"), kernel.fields.get("wrapped")
    if not isinstance(keys, Sequence_) or not isinstance(wrapped, Function) or arguments.more is not None:
        return ()
    names = [each.arg for each in wrapped.node.args.args]
    given = dict(zip(names, arguments.args, strict=False)) | arguments.kwargs
    return tuple(
        (extents.number(given.get(str(key.value))),) if isinstance(key, Const) else None for key in keys.items
    )


def _sizes(value: Value) -> Sizes | None:
    if not isinstance(value, Tensor):
        return None
    if value.shape is None:
        return (_rows(value),)
    first, *others = [extents.number(size) for size in value.shape] or [None]
    return (_rows(value) if first is None else first, *others)


def _rows(tensor: Tensor) -> Rows | None:
    """The first rows of a tensor, as `x[:1]` says how many, or all of them."""
    if tensor.part is None:
        return (tensor.storage.serial, None)
    part = tensor.part
    if isinstance(part, SliceValue) and is_none(part.lower) and extents.number(part.upper) is not None:
        return (tensor.storage.serial, extents.number(part.upper))
    return None


def tries_algorithms(m: Machine, module: ModuleFile) -> bool:
    """Whether cuDNN tries its algorithms for every size: `torch.backends.cudnn.benchmark`."""
    if BENCHMARK in m.memo:
        return bool(m.memo[BENCHMARK])
    key = (BENCHMARK, id(module))
    if key not in m.memo:
        m.memo[key] = roots.switches_on(module, "cudnn.benchmark")
    return bool(m.memo[key])


def note_run(m: Machine, owner: Obj, signature: Signature) -> None:
    """The code has run eagerly with such arguments."""
    told = tuple(tuple(None if _is_whole(size) else size for size in each or ()) for each in signature)
    m.memo.setdefault(("ran with", owner.serial), set()).add(told)


def _is_whole(size: int | Rows | None) -> bool:
    return isinstance(size, tuple) and size[1] is None


def is_new(m: Machine, owner: Obj, signature: Signature, *, sizes_adapt: bool) -> bool:
    """Whether the code has certainly never run with such arguments.

    Where `sizes_adapt`, a second set of sizes makes the compiler take them as variable: a third is not new,
    unless it was told that they never are.
    """
    known = m.memo.get(("ran with", owner.serial), set())
    dynamic = owner.fields.get(DYNAMIC)
    adapted = m.memo.get(MARKED) or dynamic or (len(known) > 1 and dynamic is not False)
    if not known or (sizes_adapt and adapted):
        return False
    return all(_differ(signature, each) for each in known)


def note_part(m: Machine, owner: Obj, arguments: Arguments) -> None:
    """The code has run eagerly with these arguments: perhaps with parts, which others may be like."""
    if _bounds(arguments):
        m.memo[("ran with parts", owner.serial)] = True


def meets_new_parts(m: Machine, owner: Obj, arguments: Arguments) -> bool:
    """Whether a loop cuts what the code is given here, and before the loop it has run with one shape only."""
    known = m.memo.get(("ran with", owner.serial), set())
    if len(known) != 1 or m.memo.get(MARKED) or m.memo.get(("ran with parts", owner.serial)):
        return False
    by_loop = any(cells_of(bound) & m.loop_cells.keys() for bound in _bounds(arguments))
    return by_loop and owner.fields.get(DYNAMIC) is not True


def _bounds(arguments: Arguments) -> list[Value]:
    """The `n` of each argument that is `x[:n]`."""
    parts = (value.part for value in arguments.all() if isinstance(value, Tensor))
    return [each.upper for each in parts if isinstance(each, SliceValue)]


def _differ(one: Signature, other: Signature) -> bool:
    """Whether sizes differ; another number of dimensions was captured without an error, for all it costs."""
    pairs = zip(one, other, strict=False)
    known = ((a, b) for a, b in pairs if a and b and (len(a) == len(b) or 1 in (len(a), len(b))))
    same_count = len(one) == len(other)
    return same_count and any(_apart(*sizes) for a, b in known for sizes in zip(a, b, strict=False))


def _apart(one: int | Rows | None, other: int | Rows | None) -> bool:
    if isinstance(one, tuple) and isinstance(other, tuple):
        return one[0] == other[0] and one != other
    return isinstance(one, int) and isinstance(other, int) and one != other
