"""Methods are found where Python finds them: class hierarchies, mixins, `super()`, descriptors."""

from __future__ import annotations

from tests.programs import check_marks, unresolved, with_region


def test_inherited_method() -> None:
    check_marks(
        with_region(
            """
            class Base:
                def run(self, t):
                    return self.read(t)
                def read(self, t):
                    return t.tolist()  # ok: CG303
            class Derived(Base):
                def read(self, t):
                    return t.item()  # expect: CG302
            """,
            "Derived().run(x)",
        )
    )


def test_mixin_comes_before_the_base_to_its_right() -> None:
    check_marks(
        with_region(
            """
            class Base:
                def read(self, t):
                    return t.tolist()  # ok: CG303
            class Mixin:
                def read(self, t):
                    return t.item()  # expect: CG302
            class Model(Mixin, Base):
                pass
            """,
            "Model().read(x)",
        )
    )


def test_diamond_takes_the_nearer_override_not_the_common_base() -> None:
    check_marks(
        with_region(
            """
            class Root:
                def read(self, t):
                    return t.tolist()  # ok: CG303
            class Left(Root):
                pass
            class Right(Root):
                def read(self, t):
                    return t.item()  # expect: CG302
            class Model(Left, Right):
                pass
            """,
            "Model().read(x)",
        )
    )


def test_super_follows_the_order_of_the_instance() -> None:
    check_marks(
        with_region(
            """
            class Root:
                def run(self, t):
                    return t + 1
            class Left(Root):
                def run(self, t):
                    return super().run(t)
            class Right(Root):
                def run(self, t):
                    t.item()  # expect: CG302
                    return super().run(t)
            class Model(Left, Right):
                def run(self, t):
                    return super(Model, self).run(t)
            """,
            "Model().run(x)",
        )
    )


def test_super_of_a_single_base_does_not_visit_siblings() -> None:
    check_marks(
        with_region(
            """
            class Root:
                def run(self, t):
                    return t + 1
            class Left(Root):
                def run(self, t):
                    return super().run(t)
            class Right(Root):
                def run(self, t):
                    t.item()  # ok: CG302
                    return super().run(t)
            """,
            "Left().run(x)",
        )
    )


def test_super_in_a_nested_class_and_inside_a_helper_of_the_method() -> None:
    check_marks(
        with_region(
            """
            class Outer:
                class Base:
                    def read(self, t):
                        return t.item()  # expect: CG302
                class Inner(Base):
                    def read(self, t):
                        return super().read(t)
            def make():
                class Local(Outer.Inner):
                    def read(self, t):
                        return super().read(t)
                return Local()
            local = make()
            """,
            "local.read(x)",
        )
    )


def test_super_in_a_classmethod() -> None:
    check_marks(
        with_region(
            """
            class Base:
                @classmethod
                def read(cls, t):
                    return t.item()  # expect: CG302
            class Derived(Base):
                @classmethod
                def read(cls, t):
                    return super().read(t)
            """,
            "Derived.read(x)",
        )
    )


def test_base_called_by_its_name() -> None:
    check_marks(
        with_region(
            """
            class Base:
                def read(self, t):
                    return t.item()  # expect: CG302
            class Derived(Base):
                def read(self, t):
                    return Base.read(self, t)
            """,
            "Derived().read(x)",
        )
    )


def test_properties() -> None:
    check_marks(
        with_region(
            """
            import functools
            class Model:
                def __init__(self, t):
                    self.t = t
                @property
                def length(self):
                    return self.t.item()  # expect: CG302
                @functools.cached_property
                def lengths(self):
                    return self.t.tolist()  # expect: CG303
                @property
                def unused(self):
                    return self.t.item()  # ok: CG302
            model = Model(x)
            """,
            "model.length\nmodel.lengths",
        )
    )


def test_property_setter() -> None:
    check_marks(
        with_region(
            """
            class Model:
                @property
                def length(self):
                    return 1
                @length.setter
                def length(self, t):
                    self.n = t.item()  # expect: CG302
            model = Model()
            """,
            "model.length = x",
        )
    )


def test_property_setter_outside_the_region() -> None:
    check_marks(
        with_region(
            """
            class Model:
                @property
                def length(self):
                    return 1
                @length.setter
                def length(self, t):
                    self.n = t.item()  # ok: CG302
            model = Model()
            model.length = x
            """,
            "model.length",
        )
    )


def test_property_made_by_a_call() -> None:
    check_marks(
        with_region(
            """
            class Model:
                def __init__(self, t):
                    self.t = t
                def _get(self):
                    return self.t.item()  # expect: CG302
                length = property(_get)
            model = Model(x)
            """,
            "model.length",
        )
    )


def test_static_and_class_methods() -> None:
    check_marks(
        with_region(
            """
            class Model:
                @staticmethod
                def first(t):
                    return t.item()  # expect: CG302
                @classmethod
                def second(cls, t):
                    return cls.third(t)
                @staticmethod
                def third(t):
                    return t.tolist()  # expect: CG303
                @staticmethod
                def fourth(t):
                    return t.tolist()  # ok: CG303
            """,
            "Model.first(x)\nModel().second(x)",
        )
    )


def test_call_operator() -> None:
    check_marks(
        with_region(
            """
            class Step:
                def __call__(self, t):
                    return t.item()  # expect: CG302
            step = Step()
            """,
            "step(x)",
        )
    )


def test_operators_defined_by_the_class() -> None:
    check_marks(
        with_region(
            """
            class Pair:
                def __init__(self, t):
                    self.t = t
                def __add__(self, other):
                    return self.t.item()  # expect: CG302
                def __len__(self):
                    return self.t.item()  # expect: CG302
                def __getitem__(self, key):
                    return self.t.tolist()  # expect: CG303
                def __contains__(self, key):
                    return self.t.item() == key  # expect: CG302
                def __eq__(self, other):
                    return self.t.item() == other  # expect: CG302
                def __sub__(self, other):
                    return self.t.item()  # ok: CG302
            pair = Pair(x)
            """,
            "pair + pair\nlen(pair)\npair[0]\n3 in pair\npair == 4",
        )
    )


def test_truth_of_an_object_runs_its_bool() -> None:
    check_marks(
        with_region(
            """
            class Flag:
                def __init__(self, t):
                    self.t = t
                def __bool__(self):
                    return self.t.item() > 0  # expect: CG302
            flag = Flag(x)
            """,
            "if flag:\n    x + 1",
        )
    )


def test_item_assignment_and_iteration_of_an_object() -> None:
    check_marks(
        with_region(
            """
            class Table:
                def __init__(self, t):
                    self.t = t
                def __setitem__(self, key, value):
                    self.n = value.item()  # expect: CG302
                def __iter__(self):
                    yield self.t.tolist()  # expect: CG303
            table = Table(x)
            """,
            "table[0] = x\nfor row in table:\n    pass",
        )
    )


def test_context_manager_of_the_project() -> None:
    check_marks(
        with_region(
            """
            class Timer:
                def __enter__(self):
                    torch.cuda.synchronize()  # expect: CG301
                    return self
                def __exit__(self, *exc):
                    torch.cuda.synchronize()  # expect: CG301
            """,
            "with Timer():\n    x + 1",
        )
    )


def test_abstract_parameter_reaches_the_subclasses_that_are_made_somewhere() -> None:
    check_marks(
        {
            "backends.py": """
                from abc import ABC, abstractmethod
                class Backend(ABC):
                    @abstractmethod
                    def run(self, t): ...
                class Used(Backend):
                    def run(self, t):
                        return t.item()  # expect: CG302
                class NeverMade(Backend):
                    def run(self, t):
                        return t.tolist()  # ok: CG303
                """,
            "setup.py": "from backends import Used\ndef make():\n    return Used()\n",
            "main.py": """
                import torch
                from backends import Backend
                def capture(backend: Backend):
                    x = torch.zeros(4, device="cuda")
                    graph = torch.cuda.CUDAGraph()
                    with torch.cuda.graph(graph):
                        backend.run(x)
                """,
        }
    )


def test_base_whose_method_raises_reaches_subclasses_through_an_attribute() -> None:
    check_marks(
        """
        import torch
        class Method:
            def apply(self, t):
                raise NotImplementedError
        class Plain(Method):
            def apply(self, t):
                return t.item()  # expect: CG302
        class Layer(torch.nn.Module):
            def __init__(self, method: Method):
                super().__init__()
                self.method = method
            def forward(self, t):
                return self.method.apply(t)
        def make():
            return Layer(Plain())
        def capture(layer: Layer):
            x = torch.zeros(4, device="cuda")
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                layer(x)
        """
    )


def test_protocol_parameter_reaches_what_derives_from_it() -> None:
    check_marks(
        """
        import torch
        from typing import Protocol
        class Runner(Protocol):
            def run(self, t): ...
        class Eager(Runner):
            def run(self, t):
                return t.item()  # expect: CG302
        eager = Eager()
        def capture(runner: Runner):
            x = torch.zeros(4, device="cuda")
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                runner.run(x)
        """
    )


def test_concrete_base_stays_with_its_own_method() -> None:
    check_marks(
        """
        import torch
        class Runner:
            def run(self, t):
                return t + 1
        class Slow(Runner):
            def run(self, t):
                return t.item()  # ok: CG302
        slow = Slow()
        def capture(runner: Runner):
            x = torch.zeros(4, device="cuda")
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                runner.run(x)
        """
    )


def test_more_than_eight_subclasses_are_unresolved_and_said() -> None:
    many = "\n".join(
        f"class Backend{n}(Backend):\n    def run(self, t):\n        return t.item()  # ok: CG302\n"
        f"made_{n} = Backend{n}()"
        for n in range(9)
    )
    program = f"""
import torch
class Backend:
    def run(self, t):
        raise NotImplementedError
{many}
def capture(backend: Backend):
    x = torch.zeros(4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        backend.run(x)
"""
    check_marks(program)
    assert "backend.run(x)" in unresolved(program)


def test_delegation_by_getattr() -> None:
    check_marks(
        with_region(
            """
            class Inner:
                def read(self, t):
                    return t.item()  # expect: CG302
                def unused(self, t):
                    return t.item()  # ok: CG302
            class Wrapper:
                def __init__(self, inner):
                    self.inner = inner
                def __getattr__(self, name):
                    return getattr(self.inner, name)
            wrapper = Wrapper(Inner())
            """,
            "wrapper.read(x)",
        )
    )


def test_delegation_to_a_parent_of_the_framework() -> None:
    check_marks(
        with_region(
            """
            class Wrapper(torch.nn.Module):
                def __init__(self, inner):
                    super().__init__()
                    self.inner = inner
                def __getattr__(self, name):
                    try:
                        return super().__getattr__(name)
                    except AttributeError:
                        return getattr(self.inner, name)
            class Inner(torch.nn.Module):
                def read(self, t):
                    return t.item()  # expect: CG302
            wrapper = Wrapper(Inner())
            """,
            "wrapper.read(x)",
        )
    )


def test_generic_class() -> None:
    check_marks(
        with_region(
            """
            from typing import Generic, TypeVar
            T = TypeVar("T")
            class Holder(Generic[T]):
                def __init__(self, value: T):
                    self.value = value
                def read(self):
                    return self.value.item()  # expect: CG302
            class Special(Holder[int]):
                pass
            special = Special(x)
            """,
            "special.read()",
        )
    )


def test_new_and_metaclass_call_still_construct() -> None:
    check_marks(
        with_region(
            """
            class Singleton:
                _instance = None
                def __new__(cls):
                    if cls._instance is None:
                        cls._instance = super().__new__(cls)
                    return cls._instance
                def read(self, t):
                    return t.item()  # expect: CG302
            one = Singleton()
            """,
            "one.read(x)",
        )
    )


def test_the_call_of_a_module_above_a_named_class_runs_its_forward() -> None:
    check_marks(
        """
import torch

class Base(torch.nn.Module):
    pass

class Layer(Base):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def __call__(self, x):
        return self.record(x)

    def record(self, x: torch.Tensor):
        run = super(Base, self).__call__
        run(x)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = run(x)
        return graph, y

    def forward(self, x):
        y = self.linear(x)
        torch.cuda.synchronize()  # expect: CG301
        return y

    def reset(self):
        torch.cuda.synchronize()  # ok: CG301
""",
        select=("CG301",),
    )
