"""State that is filled while the program is imported: registries and tables, in one file or several."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.programs import check_marks

CAPTURE = """
def capture():
    x = torch.zeros(4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        {call}
"""


def program(definitions: str, call: str) -> str:
    return "import torch\n" + dedent(definitions) + CAPTURE.format(call=call)


@pytest.mark.parametrize(
    ("definitions", "call"),
    [
        pytest.param(
            """
            TABLE = {}
            def read(t):
                return t.item()  # expect: CG302
            TABLE["read"] = read
            """,
            'TABLE["read"](x)',
            id="item",
        ),
        pytest.param(
            """
            HOOKS = []
            def read(t):
                return t.item()  # expect: CG302
            HOOKS.append(read)
            """,
            "[hook(x) for hook in HOOKS]",
            id="append",
        ),
        pytest.param(
            """
            TABLE = {}
            def register(name):
                def keep(fn):
                    TABLE[name] = fn
                    return fn
                return keep
            @register("read")
            def read(t):
                return t.item()  # expect: CG302
            @register("other")
            def other(t):
                return t.tolist()  # ok: CG303
            """,
            'TABLE["read"](x)',
            id="decorator",
        ),
        pytest.param(
            """
            class Registry:
                def __init__(self):
                    self.known = {}
                def register(self, name, fn=None):
                    if fn is None:
                        return lambda fn: self.register(name, fn)
                    self.known[name] = fn
                    return fn
                def get(self, name):
                    return self.known[name]
            OPS = Registry()
            @OPS.register("read")
            def read(t):
                return t.item()  # expect: CG302
            OPS.register("other", lambda t: t.tolist())  # ok: CG303
            """,
            'OPS.get("read")(x)',
            id="registry object",
        ),
        pytest.param(
            """
            class Registered:
                known = {}
                def __init_subclass__(cls, **kwargs):
                    super().__init_subclass__(**kwargs)
                    Registered.known[cls.__name__] = cls
            class Reader(Registered):
                def read(self, t):
                    return t.item()  # expect: CG302
            """,
            'Registered.known["Reader"]().read(x)',
            id="init_subclass",
        ),
    ],
)
def test_filled_in_the_same_file(definitions: str, call: str) -> None:
    check_marks(program(definitions, call))


def test_filled_by_a_decorator_in_other_files() -> None:
    check_marks(
        {
            "registry.py": """
                TABLE = {}
                def register(name):
                    def keep(cls):
                        TABLE[name] = cls
                        return cls
                    return keep
                def make(name, *args):
                    return TABLE[name](*args)
                """,
            "first.py": """
                from registry import register
                @register("first")
                class First:
                    def run(self, t):
                        return t.item()  # expect: CG302
                """,
            "second.py": """
                import registry
                @registry.register("second")
                class Second:
                    def run(self, t):
                        return t.tolist()  # expect: CG303
                @registry.register("third")
                class Third:
                    def run(self, t):
                        return t.tolist()  # ok: CG303
                """,
            "main.py": "import torch\nfrom registry import make\n"
            + CAPTURE.format(call='make("first").run(x)\n        make("second").run(x)'),
        }
    )


def test_filled_by_statements_of_another_file() -> None:
    check_marks(
        {
            "tables.py": "TABLE = {}\n",
            "fill.py": """
                import tables
                from tables import TABLE
                def read(t):
                    return t.item()  # expect: CG302
                def other(t):
                    return t.tolist()  # expect: CG303
                TABLE["read"] = read
                tables.TABLE["other"] = other
                """,
            "main.py": "import torch\nfrom tables import TABLE\n"
            + CAPTURE.format(call='TABLE["read"](x)\n        TABLE["other"](x)'),
        }
    )


def test_what_runs_only_as_a_script_does_not_fill() -> None:
    check_marks(
        program(
            """
            def read(t):
                return t.item()  # ok: CG302
            def other(t):
                return t + 1
            TABLE = {"run": other}
            if __name__ == "__main__":
                TABLE["run"] = read
            """,
            'TABLE["run"](x)',
        )
    )


def test_single_dispatch_registered_elsewhere() -> None:
    check_marks(
        {
            "general.py": """
                import functools
                @functools.singledispatch
                def read(value):
                    return value
                """,
            "special.py": """
                import torch
                from general import read
                @read.register
                def _(value: torch.Tensor):
                    return value.item()  # expect: CG302
                """,
            "main.py": "import torch\nfrom general import read\n" + CAPTURE.format(call="read(x)"),
        }
    )
