"""Random numbers that Python or NumPy draws, and clocks: values that differ each time the code runs."""

from __future__ import annotations

from graphlint.analysis import loops
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

CLOCKS = ("time", "perf_counter", "monotonic", "time_ns", "perf_counter_ns", "monotonic_ns", "process_time")
FLOATS = ("random", "uniform", "gauss", "normalvariate", "betavariate", "expovariate", "triangular")
INTEGERS = ("randint", "randrange", "getrandbits")
CHOICES = ("choice", "choices", "sample")
ARRAYS = ("rand", "randn", "uniform", "normal", "random", "random_sample", "standard_normal", "integers")
MORE_ARRAYS = ("randint", "binomial", "poisson", "exponential", "permutation", "beta", "gamma")
OWNERS = ("random", "random.Random", "random.SystemRandom")
NUMPY_OWNERS = ("numpy.random", "numpy.random.Generator", "numpy.random.RandomState")


def _each(owners: tuple[str, ...], names: tuple[str, ...]) -> list[str]:
    return [f"{owner}.{name}" for owner in owners for name in names]


@model(*_each(("time",), CLOCKS), "datetime.datetime.now", "datetime.datetime.utcnow")
def _now(call: Call) -> Value:
    return _drawn(call, "clock", "float")


@model(*_each(OWNERS, FLOATS))
def _float(call: Call) -> Value:
    return _drawn(call, "host-random", "float")


@model(*_each(OWNERS, INTEGERS))
def _integer(call: Call) -> Value:
    return _drawn(call, "host-random", "int")


@model(*_each(NUMPY_OWNERS, (*ARRAYS, *MORE_ARRAYS)))
def _array(call: Call) -> Value:
    return _drawn(call, "host-random", "float")


@model(*_each(OWNERS, CHOICES), *_each(NUMPY_OWNERS, ("choice",)))
def _choice(call: Call) -> Value:
    """One of the given elements: nobody knows which."""
    number = _drawn(call, "host-random", "any")
    population = call.args[0] if call.args else None
    if population is None or isinstance(population, (Const, Host)):
        return number
    chosen = loops.joined_elements(call.m, population)
    picked = number if isinstance(chosen, (Const, Host)) else chosen
    single = call.name.endswith(".choice")
    return picked if single else Sequence_((), "list", picked, Change.CHANGING)


@model(*_each(OWNERS, ("shuffle",)), *_each(NUMPY_OWNERS, ("shuffle",)))
def _shuffle(call: Call) -> Value:
    _drawn(call, "host-random", "any")
    return NONE


@model("numpy.random.default_rng")
def _generator(call: Call) -> Value:
    return Obj("numpy.random.Generator", call.place)


@model(*_each(OWNERS, ("seed",)), *_each(NUMPY_OWNERS, ("seed",)))
def _seed(call: Call) -> Value:
    return Unknown("nothing")


def _drawn(call: Call, what: str, kind: str) -> Value:
    """A number that captured code draws is marked, so that its use can be told from that of other numbers."""
    call.m.emit(Called(place=call.place, what=what, target=Const(call.name)))
    mark = OF_CLOCK if what == "clock" else OF_CHANCE
    marks = frozenset({mark}) if call.m.captures else NO_CELLS
    return Host(kind, Change.CHANGING, None, marks)
