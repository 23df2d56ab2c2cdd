"""What PyTorch operations do to a capture and what they return: a table, not code.

The table is `tables/operations.json`, built by `benchmarks/make_operation_tables.py` from the readable
`tables/*.toml` and from measured rows in `docs/measured`. Names are canonical dotted names: `torch.nonzero`,
`Tensor.item`, `torch.nn.functional.one_hot`. A method that is also a function shares the function's entry;
`Tensor.foo_` without an entry of its own is `Tensor.foo` in place.

Other libraries have tables of their own: CuPy, Warp, the CUDA driver. What only spells a call of `torch.cuda`
otherwise, as `torch.xpu` does, is listed as its look-alike and shares its entry.

Whether an effect happens may depend on the call. The caller says which conditions of `CONDITIONS` hold and
which arguments were given; `Operation.effect_of` answers with the effect, or None.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

EFFECTS: Mapping[str, str] = {
    "scalar-read": "reads one value back to the host (item, int, bool, an index or a bound)",
    "bulk-read": "copies a tensor to the host and waits for it (cpu, tolist, numpy)",
    "format": "reads the values to make text (print, str, repr, format)",
    "dynamic-shape": "the size of the result depends on the data, so the host reads it",
    "size-read": "reads the data to size the result, which a keyword would have told",
    "host-compare": "compares tensors and returns a Python bool",
    "host-data": "copies Python data or pageable memory to the GPU",
    "sync": "waits for the GPU",
    "query": "asks the GPU whether work has finished",
    "host-check": "reads an error code or a validity flag back to the host",
    "unsupported": "cannot run in a capture for another reason",
    "graph-mode": "belongs to an object that was not built for graphs, and moves its buffers",
    "rng-state": "touches random state that the capture does not own",
    "collective-host": "a collective that waits or moves Python objects",
}

CONDITIONS: Mapping[str, str] = {
    "tensor-as-number": "an argument named by `numbers` is a tensor on the GPU, or holds one",
    "tensor-elements": "the data is a Python sequence that holds tensors on the GPU",
    "tensor-repeats": "argument 1 is a tensor on the GPU",
    "tensor-std": "the standard deviation is a tensor on the GPU",
    "one-argument": "only the condition was given",
    "host-data": "the data is a Python number, sequence or NumPy array",
    "to-gpu": "the result, or the tensor written to, is on the GPU, and the source is not",
    "to-cpu": "the result, or the tensor written to, is on the CPU, and the source is on the GPU",
    "pageable": "the CPU tensor taking part is not pinned",
    "pinned": "the CPU tensor taking part is pinned",
    "blocking": "non_blocking is not true",
    "mask-index": "an index is a boolean or uint8 tensor on the GPU",
    "cpu-mask-index": "an index is a boolean tensor on the CPU",
    "tensor-index": "an index is an integer tensor on the GPU with one dimension or more",
    "scalar-index": "an index or a slice bound is a 0-d integer tensor on the GPU",
    "cpu-index": "an index is an integer tensor on the CPU with one dimension or more",
    "list-index": "an index is a list, a range or a NumPy array",
    "single-element": "the index selects one element, so that the target is 0-d",
    "number-value": "the value written is a Python number or a 0-d tensor on the CPU",
    "cpu-value": "the value written is a tensor on the CPU with one dimension or more",
    "tensor-value": "the value written is a tensor on the GPU",
    "cpu-scalar": "an operand is a 0-d tensor on the CPU",
    "error-check": "a checking option is on (check_errors, error_if_nonfinite, validate_args not false)",
    "spectral-order": "the order of the norm needs singular values (2, -2, 'nuc')",
    "not-capturable": "the optimizer was built without capturable=True",
    "own-generator": "generator= is given and is not known to be registered with the graph",
    "jagged-layout": "layout=torch.jagged is given",
    "not-in-graph-mode": "the object was built without the option that makes its buffers stay in place",
    "no-memory-pool": "the memory pools of the library were switched off",
    "strict-mode": "the capture is not in the relaxed mode",
    "uncaptured-source": "the event or stream waited for has not joined the capture",
}

RESULTS: Mapping[str, str] = {
    "fresh": "a new tensor",
    "view": "an alias of argument 0",
    "maybe-view": "argument 0 or an alias where nothing has to change, else a new tensor",
    "views": "a sequence of aliases of argument 0",
    "inplace": "argument 0, modified",
    "tuple": "a tuple of new tensors, of unknown length",
    "tuple:N": "a tuple of N new tensors (tuple:2, tuple:3, ...)",
    "host-bool": "a Python bool read from, or computed by, the operation",
    "host-int": "a Python int",
    "host-float": "a Python float",
    "host-complex": "a Python complex number",
    "host-number": "a Python number",
    "host-list": "a Python list of numbers",
    "host-str": "a string",
    "numpy": "a NumPy array",
    "shape": "host numbers that describe the shape (size, dim, stride, numel)",
    "host-meta": "host facts about the tensor that need no data (dtype, device, data_ptr, is_contiguous)",
    "none": "nothing",
    "object": "another Python object (a stream, an event, a generator, a handle)",
}


@dataclass(frozen=True, slots=True)
class Effect:
    """One thing that an operation may do to a capture, and when.

    Without `always` it needs a tensor on the captured device among its arguments.
    """

    kind: str
    when: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    unless_positional: tuple[tuple[str, int], ...] = ()
    always: bool = False
    evidence: tuple[str, ...] = ()
    source: str = ""

    def applies(self, holds: Collection[str], given: Collection[str] = (), positionals: int = 0) -> bool:
        """Whether it happens in a call with these conditions, keywords and number of positional arguments.

        `positionals` counts as the function form does: the tensor of a method call is the first one.
        """
        if any(condition not in holds for condition in self.when):
            return False
        named = set(given) | {name for name, index in self.unless_positional if index < positionals}
        return not self.unless or any(name not in named for name in self.unless)


@dataclass(frozen=True, slots=True)
class Operation:
    """The facts about one operation. Positions count the tensor of a method call as argument 0."""

    name: str
    effects: tuple[Effect, ...] = ()
    result: str = "fresh"
    with_dim: str = ""  # the result when a dimension is given, where it differs (max, min, median, mode)
    reduces: str = ""  # "always" or "without-dim": the result is 0-d
    dtype: str = "same"  # "bool", "int", "float", "complex", "argument" or "same"
    device: str = "same"  # "cpu", "cuda", "argument" or "same"
    numbers: tuple[int | str, ...] = ()  # positions and keywords that must be Python numbers
    numbers_from: int | None = None  # every position from here on must be a Python number
    factory: bool = False
    random: bool = False
    warmup: bool = False  # a library handle or workspace is made at the first use
    graph_option: str = ""  # the argument that builds an object for graphs, and its position
    graph_option_at: int | None = None
    on_read: bool = False  # an attribute that does its work when it is read
    evidence: tuple[str, ...] = field(default=(), repr=False)  # rows in which it was captured

    @property
    def effect(self) -> str:
        """The kind of the effect that needs no condition, or "none"."""
        return next((e.kind for e in self.effects if not e.when and not e.unless), "none")

    def effect_of(
        self, holds: Collection[str] = (), given: Collection[str] = (), positionals: int = 0
    ) -> Effect | None:
        """The first effect that happens in such a call."""
        return next((e for e in self.effects if e.applies(holds, given, positionals)), None)

    def takes_number(self, argument: int | str) -> bool:
        """Whether the argument at this position, or of this name, must be a Python number."""
        if argument in self.numbers:
            return True
        return isinstance(argument, int) and self.numbers_from is not None and argument >= self.numbers_from


@dataclass(frozen=True, slots=True)
class Library:
    """A library with arrays of its own: the class of them, where they are made, and its namespaces.

    A function of one of the `namespaces` without an entry is a plain operation on arrays. The truth
    of an array is its value, which is read from the device, or its `length`, which the host knows. What
    the functions in `to_torch` return are tensors of torch.
    """

    array: str
    device: str | None = None
    namespaces: Sequence[str] = ()
    truth: str = "value"
    to_torch: Sequence[str] = ()


_TABLE = Path(__file__).parent / "tables" / "operations.json"


@cache
def _file() -> dict[str, dict[str, Any]]:
    table: dict[str, dict[str, Any]] = json.loads(_TABLE.read_text(encoding="utf-8"))
    return table


@cache
def _raw() -> dict[str, dict[str, Any]]:
    return _file()["operations"]


@cache
def libraries() -> Mapping[str, Library]:
    """The libraries with arrays of their own, by the first part of their dotted names."""
    return {name: Library(**raw) for name, raw in _file()["libraries"].items()}


@cache
def library_of(name: str) -> str:
    """The library whose arrays an operation makes; empty for torch."""
    root = name.partition(".")[0]
    library = libraries().get(root)
    return "" if library is None or name in library.to_torch else root


@cache
def canonical(name: str) -> str:
    """The name of the call of `torch.cuda` that this one spells otherwise, else the name itself."""
    look_alikes = _file()["look_alikes"]
    head, tail = name, ""
    while head:
        if head in look_alikes:
            return canonical(look_alikes[head] + tail)
        head, _, last = head.rpartition(".")
        tail = f".{last}{tail}"
    return name


def accumulates(name: str) -> bool:
    """Whether an operation in place goes on from what is there, so that twice is not once."""
    return name in listed("accumulates")


def is_tensor_method(name: str) -> bool:
    """Whether only tensors have a method of this name, `Tensor.unsqueeze` for example."""
    return name in listed("tensor_methods")


def in_place(name: str) -> bool:
    """Whether a method of this name works in place, as PyTorch names them: `mul_`, not `__add__`."""
    return name.endswith("_") and not name.endswith("__")


def devices() -> Collection[str]:
    """The device types that look like `cuda`."""
    return listed("devices")


@cache
def listed(key: str) -> frozenset[str]:
    """The names of one list of the tables, `capturing` for example."""
    return frozenset(_file()["lists"][key])


@cache
def mapped(key: str) -> Mapping[str, Any]:
    """What one map of the tables says of each of its names."""
    found: Mapping[str, Any] = _file()["maps"][key]
    return found


@cache
def beginnings(key: str) -> tuple[str, ...]:
    """The names of a list whose entries are what longer names begin with."""
    return tuple(sorted(listed(key)))


@cache
def lookup(name: str) -> Operation | None:
    """The entry for a canonical dotted name, or None when the table has none."""
    name = name.removeprefix("torch.") if name.startswith("torch.Tensor.") else name
    table = _raw()
    if name in table:
        raw = table[name]
        if "alias" in raw:
            target = lookup(raw["alias"])
            return target and replace(target, name=name)
        return _operation(name, raw)
    if (other := canonical(name)) != name:
        found = lookup(other)
        return found and replace(found, name=name)
    owner, _, last = name.rpartition(".")
    if owner == "Tensor":
        if f"torch.{last}" in table:
            found = lookup(f"torch.{last}")
            return found and replace(found, name=name)
        if in_place(last):
            base = lookup(f"Tensor.{last[:-1]}")
            return base and replace(base, name=name, result="inplace", with_dim="", reduces="", dtype="same")
    if owner in ("torch", "torch.nn.functional") and in_place(last):
        base = lookup(f"{owner}.{last[:-1]}")
        return base and replace(base, name=name, result="inplace", with_dim="", reduces="", dtype="same")
    if owner == "math":
        return lookup("math.*") and replace(_known("math.*"), name=name)
    if owner in ("torch.optim", "torch.distributions") and f"{owner}.*" in table:
        return replace(_known(f"{owner}.*"), name=name)
    return None


def method(name: str, of: str = "Tensor") -> Operation:
    """The method of this name of a class of arrays; one without an entry makes a new one, or is in place."""
    found = lookup(f"{of}.{name}")
    return found or Operation(f"{of}.{name}", result="inplace" if in_place(name) else "fresh")


def attribute(name: str) -> Operation | None:
    """The tensor attribute of this name (`T`, `shape`, `grad`, `data`), or None."""
    return lookup(f"Tensor.{name}")


def function(dotted: str) -> Operation | None:
    """The function of this name; one without an entry is a plain operation where its module holds tensor
    operations only (`torch.foo`), and None elsewhere (`torch.cuda.foo`, `torch.utils.foo`)."""
    found = lookup(dotted)
    if found is not None:
        return found
    owner, _, last = dotted.rpartition(".")
    if last.startswith(beginnings("questions")):  # about the settings of the process
        return None
    library = libraries().get(library_of(dotted))
    if library is not None:
        return Operation(dotted) if owner in library.namespaces and last[:1].islower() else None
    spaces = listed("tensor_namespaces")  # where a name without an entry still is an operation on tensors
    if owner in spaces and last[:1].islower() and dotted not in spaces:
        return Operation(dotted, result="inplace" if in_place(last) else "fresh")
    return None


def names() -> Collection[str]:
    """Every name that has an entry."""
    return _raw().keys()


def _known(name: str) -> Operation:
    found = lookup(name)
    if found is None:
        raise KeyError(name)
    return found


def _operation(name: str, raw: Mapping[str, Any]) -> Operation:
    values = dict(raw)
    effects = tuple(_effect(e) for e in values.pop("effects", ()))
    for key in ("numbers", "evidence"):
        if key in values:
            values[key] = tuple(values[key])
    if in_place(name):
        values.setdefault("result", "inplace")
    return Operation(name, effects, **values)


def _effect(raw: Mapping[str, Any]) -> Effect:
    return Effect(
        kind=raw["kind"],
        when=tuple(raw.get("when", ())),
        unless=tuple(raw.get("unless", ())),
        unless_positional=tuple(raw.get("unless_positional", {}).items()),
        always=raw.get("always", False),
        evidence=tuple(raw.get("evidence", ())),
        source=raw.get("source", ""),
    )
