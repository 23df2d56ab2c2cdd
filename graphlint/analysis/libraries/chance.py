"""Random numbers that Python or NumPy draws, and clocks: values that differ each time the code runs."""

from __future__ import annotations

from graphlint.analysis import elements
from graphlint.analysis.events import Called
from graphlint.analysis.libraries.registry import Call, model
from graphlint.analysis.values import (
    NO_CELLS,
    NONE,
    OF_CHANCE,
    OF_CLOCK,
    Change,
    Const,
    Host,
    Obj,
    Sequence_,
    Unknown,
    Value,
)
from graphlint.rules import operations


def _each(owners: str, *names: str) -> list[str]:
    """The functions of one kind, each of all its owners."""
    return [f"{owner}.{name}" for owner in operations.listed(owners) for name in names]


def _all(owners: str, *kinds: str) -> list[str]:
    return _each(owners, *(name for kind in kinds for name in operations.listed(kind)))


@model(*[f"time.{name}" for name in operations.listed("clocks")])
@model("datetime.datetime.now", "datetime.datetime.utcnow")
def _now(call: Call) -> Value:
    return _drawn(call, "clock", "float")


@model(*_all("random_owners", "random_floats"))
def _float(call: Call) -> Value:
    return _drawn(call, "host-random", "float")


@model(*_all("random_owners", "random_integers"))
def _integer(call: Call) -> Value:
    return _drawn(call, "host-random", "int")


@model(*_all("numpy_random_owners", "numpy_random_arrays"))
def _array(call: Call) -> Value:
    return _drawn(call, "host-random", "float")


@model(*_all("random_owners", "random_choices"), *_each("numpy_random_owners", "choice"))
def _choice(call: Call) -> Value:
    """One of the given elements: nobody knows which."""
    number = _drawn(call, "host-random", "any")
    population = call.args[0] if call.args else None
    if population is None or isinstance(population, (Const, Host)):
        return number
    chosen = elements.joined_elements(call.m, population)
    picked = number if isinstance(chosen, (Const, Host)) else chosen
    single = call.name.endswith(".choice")
    return picked if single else Sequence_((), "list", picked, Change.CHANGING)


@model(*_each("random_owners", "shuffle"), *_each("numpy_random_owners", "shuffle"))
def _shuffle(call: Call) -> Value:
    _drawn(call, "host-random", "any")
    return NONE


@model("numpy.random.default_rng")
def _generator(call: Call) -> Value:
    return Obj("numpy.random.Generator", call.place)


@model(*_each("random_owners", "seed"), *_each("numpy_random_owners", "seed"))
def _seed(call: Call) -> Value:
    return Unknown("nothing")


def _drawn(call: Call, what: str, kind: str) -> Value:
    """A number that captured code draws is marked, so that its use can be told from that of other numbers."""
    call.m.emit(Called(place=call.place, what=what, target=Const(call.name)))
    mark = OF_CLOCK if what == "clock" else OF_CHANCE
    marks = frozenset({mark}) if call.m.captures else NO_CELLS
    return Host(kind, Change.CHANGING, None, marks)
