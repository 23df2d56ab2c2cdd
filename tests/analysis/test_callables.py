"""Callables as values: passed, stored, wrapped, bound, decorated, suspended; what runs is followed."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.programs import check_marks, unresolved, with_region

READ = """
def read(t):
    return t.item()  # expect: CG302
def other(t):
    return t.item()  # ok: CG302
"""


@pytest.mark.parametrize(
    ("definitions", "region"),
    [
        pytest.param("def run(fn, t):\n    return fn(t)", "run(read, x)", id="argument"),
        pytest.param("def run(t, *, fn=other):\n    return fn(t)", "run(x, fn=read)", id="keyword only"),
        pytest.param("def run(t, fn=read):\n    return fn(t)", "run(x)", id="default"),
        pytest.param(
            """
            class Model:
                def __init__(self, fn):
                    self.fn = fn
            model = Model(read)
            """,
            "model.fn(x)",
            id="attribute",
        ),
        pytest.param("steps = [read]", "for step in steps:\n    step(x)", id="list"),
        pytest.param("steps = [other, read]", "steps[-1](x)", id="list by index"),
        pytest.param('table = {"a": read, "b": other}', 'table["a"](x)', id="dict"),
        pytest.param('table = {"a": read}', 'table.get("a", other)(x)', id="dict.get"),
        pytest.param("table = dict(a=read, b=other)", 'table["a"](x)', id="dict call"),
        pytest.param(
            """
            def make(fn):
                def run(t):
                    return fn(t)
                return run
            unused = make(other)
            run = make(read)
            """,
            "run(x)",
            id="closure of a factory, by its argument",
        ),
        pytest.param(
            """
            def outer():
                count = 0
                def run(t):
                    nonlocal count
                    count += 1
                    return inner(t)
                def inner(t):
                    return read(t)
                return run
            run = outer()
            """,
            "run(x)",
            id="nested functions that know each other",
        ),
        pytest.param(
            "import functools\nrun = functools.partial(read, x)", "run()", id="partial with arguments"
        ),
        pytest.param(
            "from functools import partial\ndef two(a, *, t):\n    return read(t)\nrun = partial(partial(two, 1), t=x)",
            "run()",
            id="partial of a partial with keywords",
        ),
        pytest.param("run = lambda t: read(t)", "run(x)", id="lambda"),
        pytest.param(
            "runs = [lambda t, fn=fn: fn(t) for fn in (other, read)]", "runs[1](x)", id="lambda default"
        ),
        pytest.param(
            """
            class Model:
                def run(self, t):
                    return read(t)
                def pick(self):
                    fn = self.run
                    return fn
            model = Model()
            """,
            "model.pick()(x)",
            id="bound method as a value",
        ),
        pytest.param(
            """
            class Model:
                def run(self, t):
                    return read(t)
            model = Model()
            """,
            "Model.run(model, x)",
            id="method got from the class",
        ),
        pytest.param(
            """
            class Model:
                def __init__(self):
                    self.forward = self.slow if True else self.fast
                def slow(self, t):
                    return read(t)
                def fast(self, t):
                    return other(t)
            model = Model()
            """,
            "model.forward(x)",
            id="method chosen in the constructor",
        ),
        pytest.param(
            """
            class Model:
                def run(self, t):
                    return other(t)
            model = Model()
            model.run = read
            """,
            "model.run(x)",
            id="method replaced on the instance",
        ),
        pytest.param(
            """
            class Model:
                def run(self, t):
                    return other(t)
            def patched(self, t):
                return read(t)
            Model.run = patched
            model = Model()
            """,
            "model.run(x)",
            id="method replaced on the class",
        ),
        pytest.param(
            """
            import types
            class Model:
                pass
            def patched(self, t):
                return read(t)
            model = Model()
            model.run = types.MethodType(patched, model)
            """,
            "model.run(x)",
            id="function bound to an instance by hand",
        ),
        pytest.param(
            "import functools\nclass Model:\n    def run(self, t):\n        return read(t)\n"
            "model = Model()\ncall = functools.partialmethod",
            "model.run(x)",
            id="plain method beside an unused partialmethod",
        ),
        pytest.param(
            """
            import operator
            class Model:
                def run(self, t):
                    return read(t)
            model = Model()
            get = operator.attrgetter("run")
            """,
            "get(model)(x)",
            id="attrgetter",
        ),
        pytest.param(
            """
            import operator
            class Model:
                def run(self, t):
                    return read(t)
            model = Model()
            call = operator.methodcaller("run", x)
            """,
            "call(model)",
            id="methodcaller",
        ),
        pytest.param(
            'import operator\nget = operator.itemgetter("a")', 'get({"a": read})(x)', id="itemgetter"
        ),
        pytest.param(
            "def forward_all(*args, **kwargs):\n    return read(*args, **kwargs)",
            "forward_all(t=x)",
            id="star arguments",
        ),
        pytest.param(
            "def call(fn, *args, **kwargs):\n    return fn(*args, **kwargs)",
            "call(read, x)",
            id="callable with forwarded arguments",
        ),
        pytest.param(
            "class Call:\n    def __call__(self, t):\n        return read(t)", "Call()(x)", id="call operator"
        ),
        pytest.param(
            """
            class Model:
                def a(self, t):
                    return other(t)
                def b(self, t):
                    return read(t)
                def run(self, name, t):
                    return getattr(self, name)(t)
            model = Model()
            """,
            'model.run("b", x)',
            id="getattr by a known name",
        ),
        pytest.param(
            """
            class Model:
                def step_a(self, t):
                    return read(t)
                def run(self, kind, t):
                    return getattr(self, f"step_{kind}")(t)
            model = Model()
            """,
            'model.run("a", x)',
            id="getattr by a composed name",
        ),
        pytest.param("", "list(map(read, [x]))", id="map"),
        pytest.param("", "[read(t) for t in (x,)]", id="comprehension"),
        pytest.param("", "sum(read(t) for t in (x,))", id="generator expression"),
        pytest.param("", "max([x], key=read)", id="key of max"),
        pytest.param("", "sorted([x], key=read)", id="key of sorted"),
        pytest.param("", "list(filter(read, [x]))", id="filter"),
        pytest.param("import functools", "functools.reduce(lambda a, b: read(b), [x, x], x)", id="reduce"),
        pytest.param("import itertools", "for t in itertools.chain([x], [x]):\n    read(t)", id="chain"),
        pytest.param(
            "import itertools", "for t, n in itertools.product([x], [1, 2]):\n    read(t)", id="product"
        ),
        pytest.param(
            "fns = [read]", "for fn, t in zip(fns, [x], strict=True):\n    fn(t)", id="zip with strict"
        ),
        pytest.param(
            "fns = [other, read]",
            "for i, fn in enumerate(fns):\n    if i == 1:\n        fn(x)",
            id="enumerate",
        ),
        pytest.param(
            "import itertools",
            "for fn, n in itertools.zip_longest([read], [1]):\n    fn(x)",
            id="zip_longest",
        ),
        pytest.param("import itertools", "list(itertools.starmap(read, [(x,)]))", id="starmap"),
        pytest.param(
            "async def run(t):\n    return read(t)\nasync def main(t):\n    return await run(t)",
            "main(x).send(None)",
            id="coroutine driven by hand",
        ),
        pytest.param(
            "def rows(t):\n    yield 1\n    yield read(t)",
            "for row in rows(x):\n    pass",
            id="generator in a loop",
        ),
        pytest.param("def rows(t):\n    yield read(t)", "list(rows(x))", id="generator in a list"),
        pytest.param("def rows(t):\n    yield read(t)", "next(rows(x))", id="generator and next"),
        pytest.param(
            "def inner(t):\n    yield t\ndef rows(t):\n    yield from inner(t)",
            "for row in rows(x):\n    read(row)",
            id="yield from",
        ),
        pytest.param(
            "def inner(t):\n    yield 1\n    return t\ndef rows(t):\n    got = yield from inner(t)\n    read(got)",
            "for row in rows(x):\n    pass",
            id="result of yield from",
        ),
        pytest.param(
            """
            import contextlib
            @contextlib.contextmanager
            def scope(t):
                yield t
                read(t)
            """,
            "with scope(x):\n    x + 1",
            id="context manager made of a generator",
        ),
        pytest.param(
            """
            import contextlib
            """,
            "with contextlib.ExitStack() as stack:\n    stack.callback(read, x)",
            id="callback of an exit stack",
        ),
        pytest.param("run = read if True else other", "run(x)", id="conditional"),
        pytest.param("run = None or read", "run(x)", id="or"),
        pytest.param(
            "try:\n    from fast import run\nexcept ImportError:\n    run = read", "run(x)", id="fallback"
        ),
        pytest.param("", "(lambda: read(x))()", id="lambda called at once"),
        pytest.param(
            "class Hub:\n    def __init__(self):\n        self.hooks = {}\n    def on(self, name, fn):\n"
            "        self.hooks.setdefault(name, []).append(fn)\n    def fire(self, name, t):\n"
            "        for fn in self.hooks.get(name, ()):\n            fn(t)\nhub = Hub()\n"
            "hub.on('a', read)\nhub.on('b', other)",
            "hub.fire('a', x)",
            id="callbacks by event",
        ),
    ],
)
def test_callable_reaches_the_region(definitions: str, region: str) -> None:
    check_marks(with_region(READ + dedent(definitions), region))


@pytest.mark.parametrize(
    ("decorator", "use"),
    [
        pytest.param(
            """
            import functools
            def decorate(fn):
                @functools.wraps(fn)
                def wrapper(*args, **kwargs):
                    return fn(*args, **kwargs)
                return wrapper
            """,
            "@decorate",
            id="wraps",
        ),
        pytest.param(
            """
            def decorate(level, name="a"):
                def outer(fn):
                    def wrapper(*args, **kwargs):
                        return fn(*args, **kwargs)
                    return wrapper
                return outer
            """,
            "@decorate(3)",
            id="factory",
        ),
        pytest.param(
            """
            class decorate:
                def __init__(self, fn):
                    self.fn = fn
                def __call__(self, *args):
                    return self.fn(*args)
                def __get__(self, owner, cls):
                    import functools
                    return functools.partial(self, owner)
            """,
            "@decorate",
            id="class",
        ),
        pytest.param(
            """
            class decorate:
                def __init__(self, level):
                    self.level = level
                def __call__(self, fn):
                    def wrapper(*args):
                        return fn(*args)
                    return wrapper
            """,
            "@decorate(3)",
            id="class as a factory",
        ),
        pytest.param(
            """
            import functools
            def decorate(fn=None, *, level=0):
                if fn is None:
                    return functools.partial(decorate, level=level)
                @functools.wraps(fn)
                def wrapper(*args):
                    return fn(*args)
                return wrapper
            """,
            "@decorate(level=2)",
            id="with optional arguments",
        ),
        pytest.param("from elsewhere import decorate", "@decorate", id="not of the project"),
        pytest.param("from elsewhere import decorate", "@decorate(1)", id="factory not of the project"),
        pytest.param("import torch", "@torch.no_grad()", id="no_grad"),
        pytest.param("import torch", "@torch.inference_mode", id="inference_mode"),
        pytest.param("import torch", "@torch.compiler.disable", id="compiler.disable"),
        pytest.param("import functools", "@functools.lru_cache(maxsize=None)", id="lru_cache"),
    ],
)
def test_decorated_function_and_method(decorator: str, use: str) -> None:
    check_marks(
        with_region(
            dedent(decorator)
            + f"""
{use}
def read(t):
    return t.item()  # expect: CG302
class Model:
    {use}
    def read(self, t):
        return t.tolist()  # expect: CG303
    {use}
    def unused(self, t):
        return t.tolist()  # ok: CG303
model = Model()
""",
            "read(x)\nmodel.read(x)",
        )
    )


def test_decorator_adds_the_hazard_itself() -> None:
    check_marks(
        with_region(
            """
            import functools
            def timed(fn):
                @functools.wraps(fn)
                def wrapper(*args, **kwargs):
                    out = fn(*args, **kwargs)
                    torch.cuda.synchronize()  # expect: CG301
                    return out
                return wrapper
            @timed
            def run(t):
                return t + 1
            """,
            "run(x)",
        )
    )


def test_the_wrapped_function_is_reached_without_its_wrapper() -> None:
    check_marks(
        with_region(
            """
            import functools
            def timed(fn):
                @functools.wraps(fn)
                def wrapper(*args, **kwargs):
                    torch.cuda.synchronize()  # ok: CG301
                    return fn(*args, **kwargs)
                return wrapper
            @timed
            def run(t):
                return t + 1
            """,
            "run.__wrapped__(x)",
        )
    )


def test_single_dispatch_by_the_class_of_the_argument() -> None:
    check_marks(
        with_region(
            """
            import functools
            @functools.singledispatch
            def read(value):
                return value.nonzero()  # ok: CG305
            @read.register
            def _(value: int):
                return x.tolist()  # ok: CG303
            @read.register(torch.Tensor)
            def _(value):
                return value.item()  # expect: CG302
            """,
            "read(x)",
        )
    )


def test_a_callable_that_is_passed_in_is_unresolved_and_said() -> None:
    program = """
        import torch
        def capture(fn):
            x = torch.zeros(4, device="cuda")
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                fn(x)
        """
    check_marks(program)
    assert unresolved(program) == {"fn(x)"}


def test_more_than_eight_callables_are_unresolved() -> None:
    functions = "\n".join(f"def f{n}(t):\n    return t.item()  # ok: CG302" for n in range(9))
    names = ", ".join(f"f{n}" for n in range(9))
    program = with_region(f"{functions}\nimport random\nrun = random.choice([{names}])", "run(x)")
    check_marks(program)
    assert unresolved(program) == {"run(x)"}


def test_an_attribute_that_an_optional_object_may_lack_is_not_its_default() -> None:
    check_marks(
        """
        import torch

        class Attention:
            def __init__(self, backend):
                self.backend = backend

        class Runner:
            def __init__(self, block):
                self.attention: Attention | None = getattr(block, "attention", None)
                self.backend = getattr(self.attention, "backend", None)

            def capture(self, x: torch.Tensor):
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph):
                    if self.backend != "plain":
                        raise RuntimeError(self.backend)
                    y = x.cuda().relu()
                    torch.cuda.synchronize()  # expect: CG301
                return graph, y
        """
    )


def test_the_default_of_an_attribute_that_certainly_is_missing_is_taken() -> None:
    check_marks(
        """
        import torch

        class Attention:
            pass

        class Runner:
            def __init__(self):
                self.attention = Attention()
                self.backend = getattr(self.attention, "backend", None)

            def capture(self, x: torch.Tensor):
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph):
                    if self.backend is not None:
                        torch.cuda.synchronize()  # ok: CG301
                    y = x.cuda().relu()
                return graph, y
        """
    )
