"""What a field holds: from constructors, factories, classes as values, registries, annotations, records."""

from __future__ import annotations

import pytest

from tests.programs import check_marks, with_region

READER = """
class Reader:
    def read(self, t):
        return t.item()  # expect: CG302
class Other:
    def read(self, t):
        return t.item()  # ok: CG302
"""


@pytest.mark.parametrize(
    ("definitions", "region"),
    [
        pytest.param(
            """
            class Model:
                def __init__(self):
                    self.reader = Reader()
                    self.other = Other()
            model = Model()
            """,
            "model.reader.read(x)",
            id="assigned in the constructor",
        ),
        pytest.param(
            """
            class Base:
                def __init__(self, reader):
                    self.reader = reader
            class Model(Base):
                pass
            model = Model(Reader())
            """,
            "model.reader.read(x)",
            id="inherited constructor",
        ),
        pytest.param(
            """
            class Base:
                def __init__(self, *, reader=None):
                    self.reader = reader
            class Model(Base):
                def __init__(self, size, **kwargs):
                    super().__init__(**kwargs)
                    self.size = size
            model = Model(3, reader=Reader())
            """,
            "model.reader.read(x)",
            id="constructor that forwards keywords",
        ),
        pytest.param(
            """
            class Model:
                def __init__(self):
                    self.setup()
                def setup(self):
                    self.reader = Reader()
            model = Model()
            """,
            "model.reader.read(x)",
            id="assigned by a helper of the constructor",
        ),
        pytest.param(
            """
            def make(kind):
                if kind == "fast":
                    return Other()
                return Reader()
            class Model:
                def __init__(self, kind):
                    self.reader = make(kind)
            model = Model("slow")
            """,
            "model.reader.read(x)",
            id="factory that a constant decides",
        ),
        pytest.param(
            """
            class Model:
                def __init__(self, cls):
                    self.reader = cls()
            model = Model(Reader)
            """,
            "model.reader.read(x)",
            id="class passed as a parameter",
        ),
        pytest.param(
            """
            class Model:
                reader_class = Other
                def __init__(self):
                    self.reader = self.reader_class()
            class Special(Model):
                reader_class = Reader
            model = Special()
            """,
            "model.reader.read(x)",
            id="class held by a class attribute",
        ),
        pytest.param(
            """
            class Maker(Reader):
                @classmethod
                def build(cls):
                    return cls()
            reader = Maker.build()
            """,
            "reader.read(x)",
            id="cls() in a class method",
        ),
        pytest.param(
            """
            class Maker(Reader):
                def clone(self):
                    return type(self)()
                def again(self):
                    return self.__class__()
            maker = Maker()
            """,
            "maker.clone().again().read(x)",
            id="type(self)() and self.__class__()",
        ),
        pytest.param(
            'READERS = {"one": Reader, "two": Other}\nreader = READERS["one"]()',
            "reader.read(x)",
            id="table from names to classes",
        ),
        pytest.param(
            """
            def make(name):
                return READERS[name]()
            READERS = {}
            READERS["one"] = Reader
            READERS["two"] = Other
            """,
            'make("one").read(x)',
            id="table filled by statements",
        ),
        pytest.param(
            """
            READERS = {}
            def register(name):
                def keep(cls):
                    READERS[name] = cls
                    return cls
                return keep
            @register("one")
            class Registered(Reader):
                pass
            """,
            'READERS["one"]().read(x)',
            id="decorator that registers",
        ),
        pytest.param(
            """
            class Registry:
                def __init__(self):
                    self.known = {}
                def register(self, cls):
                    self.known[cls.__name__] = cls
                    return cls
                def make(self, name):
                    return self.known[name]()
            registry = Registry()
            @registry.register
            class Registered(Reader):
                pass
            """,
            'registry.make("Registered").read(x)',
            id="object that registers under the name of the class",
        ),
        pytest.param(
            """
            import random
            reader = Reader() if random.random() > 0.5 else None
            """,
            "if reader is not None:\n    reader.read(x)",
            id="conditional",
        ),
        pytest.param(
            """
            from dataclasses import dataclass, field
            @dataclass
            class Config:
                size: int = 3
                reader: Reader = field(default_factory=Reader)
            config = Config()
            """,
            "config.reader.read(x)",
            id="dataclass field with a factory",
        ),
        pytest.param(
            """
            from dataclasses import dataclass
            @dataclass
            class Base:
                reader: object
            @dataclass
            class Config(Base):
                size: int = 3
            config = Config(Reader(), size=4)
            """,
            "config.reader.read(x)",
            id="inherited dataclass field",
        ),
        pytest.param(
            """
            from dataclasses import dataclass, field
            @dataclass
            class Config:
                size: int
                reader: Reader = field(init=False)
                def __post_init__(self):
                    self.reader = Reader()
            config = Config(3)
            """,
            "config.reader.read(x)",
            id="dataclass field set after construction",
        ),
        pytest.param(
            """
            from typing import NamedTuple
            class Pair(NamedTuple):
                first: Other
                second: Reader
            pair = Pair(Other(), Reader())
            """,
            "pair.second.read(x)\nfirst, second = pair\nsecond.read(x)\npair[1].read(x)",
            id="named tuple",
        ),
        pytest.param(
            """
            from collections import namedtuple
            Pair = namedtuple("Pair", ["first", "second"])
            pair = Pair(Other(), second=Reader())
            """,
            "pair.second.read(x)",
            id="named tuple made by a call",
        ),
        pytest.param(
            """
            from types import SimpleNamespace
            parts = SimpleNamespace(first=Other(), second=Reader())
            """,
            "parts.second.read(x)",
            id="namespace",
        ),
        pytest.param(
            """
            class Model:
                reader = None
            model = Model()
            setattr(model, "reader", Reader())
            """,
            'getattr(model, "reader").read(x)',
            id="setattr and getattr",
        ),
        pytest.param(
            """
            class Model:
                def __init__(self, **parts):
                    self.__dict__.update(parts)
            model = Model(reader=Reader())
            """,
            "model.reader.read(x)",
            id="update of __dict__",
        ),
        pytest.param(
            """
            class Model:
                def __init__(self, parts):
                    for name, part in parts.items():
                        setattr(self, name, part)
            model = Model({"reader": Reader(), "other": Other()})
            """,
            "model.reader.read(x)",
            id="setattr in a loop over known names",
        ),
        pytest.param(
            """
            _reader = None
            def get_reader():
                global _reader
                if _reader is None:
                    _reader = Reader()
                return _reader
            """,
            "get_reader().read(x)",
            id="getter of a global",
        ),
        pytest.param(
            """
            class Holder:
                _instance = None
                @classmethod
                def get(cls):
                    if cls._instance is None:
                        cls._instance = cls()
                    return cls._instance
                def __init__(self):
                    self.reader = Reader()
            """,
            "Holder.get().reader.read(x)",
            id="singleton",
        ),
        pytest.param(
            """
            class Context:
                reader = None
            _context = Context()
            def get_context():
                return _context
            def set_context(reader):
                _context.reader = reader
            set_context(Reader())
            """,
            "get_context().reader.read(x)",
            id="field of an ambient object",
        ),
        pytest.param(
            """
            import contextvars
            current = contextvars.ContextVar("current", default=None)
            current.set(Reader())
            """,
            "current.get().read(x)",
            id="context variable",
        ),
        pytest.param(
            """
            import threading
            local = threading.local()
            local.reader = Reader()
            """,
            "local.reader.read(x)",
            id="thread-local",
        ),
        pytest.param(
            """
            import weakref
            kept = Reader()
            reference = weakref.ref(kept)
            """,
            "reference().read(x)",
            id="weak reference",
        ),
        pytest.param(
            """
            import copy
            first = Reader()
            second = copy.copy(first)
            third = copy.deepcopy(second)
            """,
            "third.read(x)",
            id="copies",
        ),
        pytest.param(
            """
            class Model:
                def __init__(self):
                    self.parts = [Reader(), 3]
                    self.table = {"a": {"b": (Reader(), Other())}}
            model = Model()
            """,
            'model.parts[0].read(x)\nmodel.table["a"]["b"][0].read(x)',
            id="nested containers",
        ),
        pytest.param(
            "def pair():\n    return Other(), Reader()\n",
            "_, reader = pair()\nreader.read(x)",
            id="one of several returned values",
        ),
        pytest.param(
            "parts = [Other(), Reader()]\n",
            "first, *rest = parts\nrest[0].read(x)",
            id="starred target",
        ),
        pytest.param(
            "def find():\n    return Reader()\n",
            "if (found := find()) is not None:\n    found.read(x)",
            id="walrus",
        ),
    ],
)
def test_value_reaches_the_region(definitions: str, region: str) -> None:
    from textwrap import dedent

    check_marks(with_region(READER + dedent(definitions), region))


@pytest.mark.parametrize(
    "annotation",
    [
        "Reader",
        "'Reader'",
        "Optional[Reader]",
        "Optional['Reader']",
        "Union[Reader, None]",
        "Reader | None",
        "'Reader | None'",
        "Annotated[Reader, 3]",
        "Final[Reader]",
    ],
)
def test_annotations_say_what_nobody_passes(annotation: str) -> None:
    check_marks(
        f"""
import torch
from typing import Annotated, Final, Optional, Union
{READER}
def capture(reader: {annotation}):
    x = torch.zeros(4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        if reader is not None:
            reader.read(x)
"""
    )


@pytest.mark.parametrize(
    ("annotation", "use"),
    [
        ("list[Reader]", "readers[0].read(x)"),
        ("Sequence[Reader]", "[r.read(x) for r in readers]"),
        ("dict[str, Reader]", "readers['a'].read(x)"),
        ("dict[str, list[Reader]]", "for many in readers.values():\n            many[0].read(x)"),
        ("tuple[Other, Reader]", "readers[1].read(x)"),
        ("tuple[Reader, ...]", "for r in readers:\n            r.read(x)"),
        ("type[Reader]", "readers().read(x)"),
        ("Callable[[], Reader]", "readers().read(x)"),
        ("Iterable[tuple[str, Reader]]", "for name, r in readers:\n            r.read(x)"),
    ],
)
def test_annotations_of_containers(annotation: str, use: str) -> None:
    check_marks(
        f"""
import torch
from collections.abc import Callable, Iterable, Sequence
{READER}
def capture(readers: {annotation}):
    x = torch.zeros(4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        {use}
"""
    )


def test_annotation_of_a_local_a_field_and_a_result() -> None:
    check_marks(
        f"""
import torch
from somewhere import lookup, build
{READER}
class Model:
    reader: Reader
    def __init__(self, config):
        self.second: Reader = lookup(config)
def make() -> Reader:
    return build()
def capture(model: Model):
    x = torch.zeros(4, device="cuda")
    first: Reader = lookup("first")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        first.read(x)
        model.reader.read(x)
        model.second.read(x)
        make().read(x)
"""
    )


def test_enum_members_decide_branches() -> None:
    check_marks(
        with_region(
            """
            from enum import Enum, auto
            class Mode(Enum):
                FAST = auto()
                SLOW = auto()
            class Model:
                def __init__(self, mode):
                    self.mode = mode
                def run(self, t):
                    if self.mode is Mode.FAST:
                        return t + 1
                    if self.mode == Mode.SLOW:
                        return t.item()  # expect: CG302
                    return t.tolist()  # ok: CG303
            model = Model(Mode.SLOW)
            """,
            "model.run(x)",
        )
    )


def test_enum_as_key_and_method_of_an_enum() -> None:
    check_marks(
        with_region(
            READER
            + """
from enum import Enum
class Mode(Enum):
    FAST = 1
    SLOW = 2
    def is_slow(self):
        return self is Mode.SLOW
TABLE = {Mode.FAST: Other, Mode.SLOW: Reader}
mode = Mode.SLOW
""",
            "TABLE[mode]().read(x)\nif not mode.is_slow():\n    x.tolist()  # ok: CG303",
        )
    )


def test_match_takes_the_case_that_fits() -> None:
    check_marks(
        with_region(
            """
            from enum import Enum
            class Mode(Enum):
                FAST = 1
                SLOW = 2
            def run(mode, t):
                match mode:
                    case Mode.FAST:
                        return t.tolist()  # ok: CG303
                    case Mode.SLOW:
                        return t.item()  # expect: CG302
                    case _:
                        return t.nonzero()  # ok: CG305
            """,
            "run(Mode.SLOW, x)",
        )
    )


def test_match_by_class_and_literal() -> None:
    check_marks(
        with_region(
            READER
            + """
def run(value, t):
    match value:
        case "a" | "b":
            return t.tolist()  # ok: CG303
        case Other():
            return t.nonzero()  # ok: CG305
        case Reader() as reader:
            return reader.read(t)
""",
            "run(Reader(), x)",
        )
    )


def test_two_objects_of_one_class_stay_apart() -> None:
    check_marks(
        """
        import torch
        class Holder:
            def __init__(self):
                self.buffer = torch.zeros(4, device="cuda")
            def set(self, value):
                self.buffer = value
        read, other = Holder(), Holder()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = read.buffer + 1
        other.buffer = torch.ones(4, device="cuda")  # ok: CG101
        graph.replay()
        """
    )


def test_the_object_that_the_region_reads_is_the_one_written() -> None:
    check_marks(
        """
        import torch
        class Holder:
            def __init__(self):
                self.buffer = torch.zeros(4, device="cuda")
        read, other = Holder(), Holder()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = read.buffer + 1
        read.buffer = torch.ones(4, device="cuda")  # expect: CG101
        graph.replay()
        """
    )


def test_objects_in_a_list_stay_apart() -> None:
    check_marks(
        """
        import torch
        class Holder:
            def __init__(self):
                self.buffer = torch.zeros(4, device="cuda")
        holders = [Holder() for _ in range(2)]
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = holders[0].buffer + 1
        holders[1].buffer = torch.ones(4, device="cuda")  # ok: CG101
        graph.replay()
        """
    )


def test_a_second_name_of_the_object_is_the_same_object() -> None:
    check_marks(
        """
        import torch
        class Holder:
            def __init__(self):
                self.buffer = torch.zeros(4, device="cuda")
        class Runner:
            def __init__(self, holder):
                self.holder = holder
            def run(self):
                return self.holder.buffer + 1
        holder = Holder()
        runner = Runner(holder)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = runner.run()
        holder.buffer = torch.ones(4, device="cuda")  # expect: CG101
        graph.replay()
        """
    )
