"""What cannot be followed is silent, kept and shown; what is followed is counted as reached."""

from __future__ import annotations

import pytest

from tests.programs import captured, check_marks, regions, unresolved, with_region


@pytest.mark.parametrize(
    ("definitions", "region", "text"),
    [
        ("from elsewhere import run", "run(x)", "run(x)"),
        ("import elsewhere", "elsewhere.deep.run(x)", "elsewhere.deep.run(x)"),
        ("def make(config):\n    return config['run']", "make(unknown)(x)", "make(unknown)(x)"),
        (
            "class Model:\n    def __init__(self, parts):\n        self.parts = parts\nmodel = Model(unknown)",
            "model.parts.run(x)",
            "model.parts.run(x)",
        ),
        (
            "class Model:\n    def run(self, name, t):\n        return getattr(self, name)(t)\nmodel = Model()",
            "model.run(unknown, x)",
            "getattr(self, name)(t)",
        ),
    ],
)
def test_calls_that_lead_out_of_the_project_are_kept(definitions: str, region: str, text: str) -> None:
    program = with_region(definitions, region)
    check_marks(program)
    assert unresolved(program) == {text}


@pytest.mark.parametrize(
    "region",
    [
        "y = torch.relu(x) + x.sum(dim=0).view(-1)",
        "y = [t * 2 for t in (x, x)]\nlen(y)\nmin(3, len(y))",
        "import math\nz = math.sqrt(2.0)",
        "for i in range(3):\n    x.mul_(i)",
        "torch.nn.functional.layer_norm(x, (4,))",
        "d = {}\nd.setdefault('a', []).append(x)\nd.get('a')",
        "isinstance(x, torch.Tensor) and hasattr(x, 'foo')",
        "text = 'a'.upper().join(['b'])",
        "import functools\nrun = functools.partial(torch.add, x)\nrun(x)",
        "layer(x)",
    ],
)
def test_known_calls_are_resolved(region: str) -> None:
    assert unresolved(with_region("layer = torch.nn.Linear(4, 4).cuda()", region)) == set()


def test_a_region_lists_what_it_reaches_with_the_chain() -> None:
    program = {
        "model.py": "def inner(t):\n    return t + 1\ndef outer(t):\n    return inner(t)\ndef unused(t):\n    return t\n",
        "main.py": with_region("from model import outer", "outer(x)"),
    }
    (region,) = regions(program)
    assert (region.path, region.kind) == ("main.py", "torch.cuda.graph")
    assert [(each.path, each.line, each.function) for each in region.captured] == [
        ("model.py", 1, "inner"),
        ("model.py", 3, "outer"),
    ]
    assert [hop.function for hop in region.captured[0].chain][-2:] == ["<module>", "outer"]


def test_qualified_names_of_methods_and_nested_functions() -> None:
    program = with_region(
        """
        class Model:
            class Part:
                def run(self, t):
                    def inner(t):
                        return t
                    return inner(t)
        """,
        "Model.Part().run(x)",
    )
    assert captured(program) == {"Model.Part.run", "Model.Part.run.inner"}


def test_what_is_not_a_tensor_is_silent() -> None:
    check_marks(
        with_region(
            """
            import numpy
            class Scalar:
                def item(self):
                    return 3
            host = numpy.zeros(3)
            on_cpu = torch.zeros(3)
            """,
            """
            Scalar().item()  # ok: CG302
            host.item()  # ok: CG302
            on_cpu.item()  # ok: CG302
            unknown.item()  # ok: CG302
            """,
        )
    )


def test_recursion_ends() -> None:
    check_marks(
        with_region(
            """
            def walk(tree, t):
                if isinstance(tree, list):
                    return [walk(child, t) for child in tree]
                return t.item()  # expect: CG302
            """,
            "walk([[1, 2], [3, [4, [5]]]], x)",
        )
    )


def test_mutual_recursion_between_objects_ends() -> None:
    check_marks(
        with_region(
            """
            class Node:
                def __init__(self, child):
                    self.child = child
                def run(self, t):
                    if self.child is not None:
                        return self.child.run(t)
                    return t.item()  # expect: CG302
            node = Node(Node(Node(Node(Node(None)))))
            """,
            "node.run(x)",
        )
    )
