"""Attributes wrapped by themselves, lazy modules and dynamic classes: what the last assignment left is run."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.programs import check_marks, with_region


@pytest.mark.parametrize(
    ("definitions", "region"),
    [
        pytest.param(
            """
            def timed(fn):
                def wrapper(*args, **kwargs):
                    return fn(*args, **kwargs)
                return wrapper
            class Model:
                def __init__(self):
                    self.run = timed(self.run)
                def run(self, t):
                    return t.item()  # expect: CG302
            model = Model()
            """,
            "model.run(x)",
            id="method wrapped by itself",
        ),
        pytest.param(
            """
            class Model(torch.nn.Module):
                def forward(self, t):
                    return t.item()  # expect: CG302
            model = Model()
            original = model.forward
            def wrapped(*args):
                return original(*args)
            model.forward = wrapped
            """,
            "model(x)",
            id="forward wrapped from outside",
        ),
        pytest.param(
            """
            class Base:
                def __init__(self, *args, **kwargs):
                    self.fn = kwargs["fn"]
            class Model(Base):
                def __init__(self, *args, **kwargs):
                    super().__init__(*args, **kwargs)
            def read(t):
                return t.item()  # expect: CG302
            model = Model(1, fn=read)
            """,
            "model.fn(x)",
            id="keywords passed up",
        ),
        pytest.param(
            """
            def read(self, t):
                return t.item()  # expect: CG302
            Model = type("Model", (), {"read": read})
            model = Model()
            """,
            "model.read(x)",
            id="class made by a call",
        ),
        pytest.param(
            """
            class Base:
                def read(self, t):
                    return t.item()  # expect: CG302
            def make(base):
                class Derived(base):
                    pass
                return Derived
            Derived = make(Base)
            """,
            "Derived().read(x)",
            id="class made by a factory",
        ),
        pytest.param(
            """
            class Pipeline:
                def __init__(self):
                    self.steps = []
                def add(self, fn):
                    self.steps.append(fn)
                    return self
                def run(self, t):
                    for step in self.steps:
                        t = step(t)
                    return t
            def read(t):
                return t.item()  # expect: CG302
            pipeline = Pipeline().add(lambda t: t + 1).add(read)
            """,
            "pipeline.run(x)",
            id="fluent builder",
        ),
    ],
)
def test_last_assignment_is_run(definitions: str, region: str) -> None:
    check_marks(with_region(dedent(definitions), region))


def test_lazily_imported_module() -> None:
    check_marks(
        {
            "heavy.py": "def read(t):\n    return t.item()  # expect: CG302\n",
            "lazy.py": """
                import importlib
                class Lazy:
                    def __init__(self, name):
                        self._name = name
                    def __getattr__(self, name):
                        return getattr(importlib.import_module(self._name), name)
                """,
            "main.py": with_region('from lazy import Lazy\nheavy = Lazy("heavy")', "heavy.read(x)"),
        }
    )


def test_module_level_getattr() -> None:
    check_marks(
        {
            "pkg/__init__.py": """
                def __getattr__(name):
                    if name == "read":
                        from pkg.heavy import read
                        return read
                    raise AttributeError(name)
                """,
            "pkg/heavy.py": "def read(t):\n    return t.item()  # expect: CG302\n",
            "main.py": with_region("from pkg import read", "read(x)"),
        }
    )
