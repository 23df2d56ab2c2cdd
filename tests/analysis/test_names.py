"""Names lead through imports of every form, re-exports and conditions to the function that runs."""

from __future__ import annotations

import pytest

from tests.programs import check_marks, with_region

READS = "def read(t):\n    return t.item()  # expect: CG302\n"
UNUSED = "def read(t):\n    return t.item()  # ok: CG302\n"


@pytest.mark.parametrize(
    ("statement", "call"),
    [
        ("import helpers", "helpers.read(x)"),
        ("import helpers as h", "h.read(x)"),
        ("from helpers import read", "read(x)"),
        ("from helpers import read as get", "get(x)"),
        ("from helpers import *", "read(x)"),
    ],
)
def test_absolute_imports(statement: str, call: str) -> None:
    check_marks({"helpers.py": READS, "main.py": with_region(statement, call)})


@pytest.mark.parametrize(
    ("statement", "call"),
    [
        ("from . import helpers", "helpers.read(x)"),
        ("from . import helpers as h", "h.read(x)"),
        ("from .helpers import read", "read(x)"),
        ("from .helpers import *", "read(x)"),
        ("import pkg.helpers", "pkg.helpers.read(x)"),
        ("import pkg.helpers as h", "h.read(x)"),
        ("from pkg import helpers", "helpers.read(x)"),
        ("from pkg.helpers import read", "read(x)"),
    ],
)
def test_imports_inside_a_package(statement: str, call: str) -> None:
    files = {"pkg/__init__.py": "", "pkg/helpers.py": READS, "pkg/main.py": with_region(statement, call)}
    check_marks(files)


def test_relative_import_from_the_parent_package() -> None:
    check_marks(
        {
            "pkg/__init__.py": "",
            "pkg/helpers.py": READS,
            "pkg/models/__init__.py": "",
            "pkg/models/main.py": with_region("from ..helpers import read", "read(x)"),
        }
    )


@pytest.mark.parametrize(
    "exported",
    [
        "from .helpers import read",
        "from .helpers import read as read",
        "from .helpers import *",
        "from . import helpers\nread = helpers.read",
    ],
)
def test_reexport_of_a_package(exported: str) -> None:
    check_marks(
        {
            "pkg/__init__.py": exported,
            "pkg/helpers.py": READS,
            "main.py": with_region("from pkg import read", "read(x)"),
        }
    )


def test_star_import_takes_what_all_lists_only() -> None:
    check_marks(
        {
            "helpers.py": "__all__ = ['other']\n" + UNUSED + "def other(t):\n    return t + 1\n",
            "main.py": with_region("from helpers import *", "read(x)"),
        }
    )


def test_star_import_through_a_star_import() -> None:
    check_marks(
        {
            "first.py": READS,
            "second.py": "from first import *\n",
            "main.py": with_region("from second import *", "read(x)"),
        }
    )


def test_import_inside_a_function() -> None:
    check_marks(
        {
            "helpers.py": READS,
            "main.py": with_region(
                """
                def step(t):
                    from helpers import read
                    return read(t)
                """,
                "step(x)",
            ),
        }
    )


def test_import_inside_a_method_of_a_module_that_imports_back() -> None:
    check_marks(
        {
            "helpers.py": "import main\n" + READS,
            "main.py": with_region(
                """
                class Step:
                    def run(self, t):
                        from helpers import read
                        return read(t)
                step = Step()
                """,
                "step.run(x)",
            ),
        }
    )


def test_the_project_serves_an_import_that_may_fail() -> None:
    check_marks(
        {
            "helpers.py": READS,
            "main.py": with_region(
                """
                try:
                    from helpers import read
                except ImportError:
                    def read(t):
                        return t.tolist()  # ok: CG303
                """,
                "read(x)",
            ),
        }
    )


def test_a_fallback_runs_when_the_import_is_not_of_the_project() -> None:
    check_marks(
        with_region(
            """
            try:
                from fast_kernels import read
            except ImportError:
                def read(t):
                    return t.item()  # expect: CG302
            """,
            "read(x)",
        )
    )


def test_imports_for_type_checking_do_not_hide_the_real_one() -> None:
    check_marks(
        {
            "types_only.py": UNUSED,
            "helpers.py": READS,
            "main.py": with_region(
                """
                from typing import TYPE_CHECKING
                if TYPE_CHECKING:
                    from types_only import read
                else:
                    from helpers import read
                """,
                "read(x)",
            ),
        }
    )


def test_annotation_imported_for_type_checking_only() -> None:
    check_marks(
        {
            "models.py": """
                class Model:
                    def run(self, t):
                        return t.item()  # expect: CG302
                """,
            "main.py": """
                from __future__ import annotations
                import torch
                from typing import TYPE_CHECKING
                if TYPE_CHECKING:
                    from models import Model

                def capture(model: Model):
                    x = torch.zeros(4, device="cuda")
                    graph = torch.cuda.CUDAGraph()
                    with torch.cuda.graph(graph):
                        model.run(x)
                """,
        }
    )


def test_version_tests_choose_the_import() -> None:
    check_marks(
        {
            "new.py": READS,
            "old.py": UNUSED,
            "main.py": with_region(
                """
                import sys
                if sys.version_info >= (3, 8):
                    from new import read
                else:
                    from old import read
                """,
                "read(x)",
            ),
        }
    )


def test_a_later_definition_replaces_an_earlier_one() -> None:
    check_marks(
        with_region(
            """
            def read(t):
                return t.item()  # ok: CG302
            def read(t):
                return t + 1
            """,
            "read(x)",
        )
    )


def test_a_module_passed_as_a_value() -> None:
    check_marks(
        {
            "helpers.py": READS,
            "main.py": with_region(
                """
                import helpers
                def step(ops, t):
                    return ops.read(t)
                """,
                "step(helpers, x)",
            ),
        }
    )


def test_import_by_name() -> None:
    check_marks(
        {
            "helpers.py": READS,
            "main.py": with_region(
                """
                import importlib
                helpers = importlib.import_module("helpers")
                """,
                "helpers.read(x)",
            ),
        }
    )


def test_getattr_of_a_module() -> None:
    check_marks(
        {
            "helpers.py": READS,
            "main.py": with_region("import helpers", 'getattr(helpers, "read")(x)'),
        }
    )
