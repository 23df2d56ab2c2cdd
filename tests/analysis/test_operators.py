"""Custom operators, autograd functions and threads: Python that runs inside a region by another door."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.programs import check_marks, unresolved, with_region

BODY = """
def body(t: torch.Tensor) -> torch.Tensor:
    t.item()  # expect: CG302
    return t + 1
def fake(t):
    t.item()  # ok: CG302
    return torch.empty_like(t)
"""
CALLS = ["torch.ops.mine.step(x)", "torch.ops.mine.step.default(x)"]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    "registration",
    [
        pytest.param(
            'made = torch.library.custom_op("mine::step", body, mutates_args=())\nmade.register_fake(fake)',
            id="custom_op call",
        ),
        pytest.param(
            """
            @torch.library.custom_op("mine::step", mutates_args=())
            def step(t: torch.Tensor) -> torch.Tensor:
                return body(t)
            @step.register_fake
            def _(t):
                return fake(t)
            """,
            id="custom_op decorator",
        ),
        pytest.param(
            """
            from torch.library import custom_op, register_fake
            @custom_op("mine::step", mutates_args={})
            def step(t: torch.Tensor) -> torch.Tensor:
                return body(t)
            register_fake("mine::step", fake)
            """,
            id="names imported",
        ),
        pytest.param(
            """
            lib = torch.library.Library("mine", "DEF")
            lib.define("step(Tensor t) -> Tensor")
            lib.impl("step", body, "CUDA")
            lib.impl("step", fake, "Meta")
            """,
            id="library",
        ),
        pytest.param(
            """
            from torch.library import Library
            lib = Library("mine", "FRAGMENT")
            lib.define("step(Tensor t) -> Tensor")
            lib.impl("step", body, dispatch_key="CUDA")
            lib._register_fake("step", fake)
            """,
            id="library fragment",
        ),
        pytest.param(
            """
            torch.library.define("mine::step", "(Tensor t) -> Tensor")
            @torch.library.impl("mine::step", "cuda")
            def step(t):
                return body(t)
            @torch.library.register_fake("mine::step")
            def step_fake(t):
                return fake(t)
            """,
            id="impl decorator",
        ),
        pytest.param(
            """
            lib = torch.library.Library("mine", "DEF")
            lib.define("step(Tensor t) -> Tensor")
            @torch.library.impl(lib, "step", "CUDA")
            def step(t):
                return body(t)
            @torch.library.impl(lib, "step", "Meta")
            def step_meta(t):
                return fake(t)
            """,
            id="impl decorator on a library",
        ),
        pytest.param(
            """
            lib = torch.library.Library("mine", "FRAGMENT")
            def register(op_name, op_func, fake_impl=None, target_lib=None, dispatch_key="CUDA"):
                schema = torch.library.infer_schema(op_func, mutates_args=[])
                chosen = target_lib or lib
                chosen.define(op_name + schema)
                chosen.impl(op_name, op_func, dispatch_key=dispatch_key)
                if fake_impl is not None:
                    chosen._register_fake(op_name, fake_impl)
            register("step", body, fake)
            """,
            id="helper of the project",
        ),
        pytest.param(
            """
            lib = torch.library.Library("mine", "FRAGMENT")
            def register(fn=None, *, op_name=None, fake_impl=None):
                def decorate(op_func):
                    name = op_name or op_func.__name__
                    lib.define(name + torch.library.infer_schema(op_func, mutates_args=[]))
                    lib.impl(name, op_func, "CUDA")
                    if fake_impl is not None:
                        lib._register_fake(name, fake_impl)
                    return getattr(torch.ops.mine, name)
                return decorate if fn is None else decorate(fn)
            @register(fake_impl=fake)
            def step(t: torch.Tensor) -> torch.Tensor:
                return body(t)
            """,
            id="decorator of the project",
        ),
    ],
)
def test_operator_leads_to_its_body_never_to_its_fake(registration: str, call: str) -> None:
    check_marks(with_region(BODY + dedent(registration), call))


def test_operator_registered_in_another_file_that_the_region_imports() -> None:
    check_marks(
        {
            "ops.py": "import torch\n"
            + BODY
            + 'torch.library.custom_op("mine::step", body, mutates_args=())\n',
            "main.py": with_region("import ops", "torch.ops.mine.step(x)"),
        }
    )


def test_operator_registered_by_a_helper_in_another_file() -> None:
    check_marks(
        {
            "helpers.py": """
                from torch.library import Library
                lib = Library("mine", "FRAGMENT")
                def direct_register(op_name, op_func, fake_impl=None):
                    lib.define(op_name + "(Tensor t) -> Tensor")
                    lib.impl(op_name, op_func, dispatch_key="CUDA")
                    if fake_impl is not None:
                        lib._register_fake(op_name, fake_impl)
                """,
            "layers.py": "import torch\nfrom helpers import direct_register\n"
            + BODY
            + 'direct_register(op_name="step", op_func=body, fake_impl=fake)\n'
            + """
class Layer(torch.nn.Module):
    def forward(self, t):
        return torch.ops.mine.step(t)
""",
            "main.py": with_region("from layers import Layer\nlayer = Layer()", "layer(x)"),
        }
    )


def test_the_object_that_custom_op_returns_is_callable() -> None:
    check_marks(
        with_region(
            """
            @torch.library.custom_op("mine::step", mutates_args=())
            def step(t: torch.Tensor) -> torch.Tensor:
                t.item()  # expect: CG302
                return t + 1
            """,
            "step(x)",
        )
    )


def test_overload_and_operator_held_in_a_variable() -> None:
    check_marks(
        with_region(
            BODY + 'lib = torch.library.Library("mine", "DEF")\nlib.impl("step.out", body, "CUDA")\n'
            "op = torch.ops.mine.step.out\n",
            "op(x)",
        )
    )


def test_operator_of_a_compiled_library_is_unresolved() -> None:
    program = with_region("", "torch.ops.compiled_elsewhere.step(x)")
    check_marks(program)
    assert unresolved(program) == {"torch.ops.compiled_elsewhere.step(x)"}


FUNCTION = """
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, t, factor):
        ctx.save_for_backward(t)
        ctx.factor = factor
        t.item()  # {forward}: CG302
        return t * factor
    @staticmethod
    def backward(ctx, grad):
        (t,) = ctx.saved_tensors
        t.tolist()  # {backward}: CG303
        return grad * ctx.factor, None
"""


def test_autograd_function_runs_its_forward() -> None:
    check_marks(with_region(FUNCTION.format(forward="expect", backward="ok"), "Scale.apply(x, 2)"))


def test_autograd_function_held_as_a_value() -> None:
    program = FUNCTION.format(forward="expect", backward="ok") + "scale = Scale.apply\n"
    check_marks(with_region(program, "scale(x, 2)"))


@pytest.mark.parametrize(
    "backward",
    [
        "y.sum().backward()",
        "torch.autograd.backward(y.sum())",
        "torch.autograd.grad(y.sum(), [x])",
        "loss = torch.nn.functional.mse_loss(y, x)\nloss.backward()",
    ],
)
def test_backward_in_the_region_runs_the_functions_used_before(backward: str) -> None:
    program = FUNCTION.format(forward="expect", backward="expect")
    check_marks(with_region(program, f"y = Scale.apply(x, 2)\n{backward}"))


def test_backward_after_the_region_is_not_captured() -> None:
    program = FUNCTION.format(forward="expect", backward="ok")
    check_marks(with_region(program, "y = Scale.apply(x, 2)") + "y.sum().backward()\n")


def test_backward_runs_tensor_hooks() -> None:
    check_marks(
        with_region(
            """
            weight = torch.zeros(4, device="cuda", requires_grad=True)
            def watch(grad):
                grad.item()  # expect: CG302
            weight.register_hook(watch)
            """,
            "loss = (weight * x).sum()\nloss.backward()",
        )
    )


def test_thread_that_the_region_starts_and_waits_for() -> None:
    check_marks(
        with_region(
            """
            import threading
            def work(t):
                torch.cuda.synchronize()  # expect: CG301
            def idle(t):
                torch.cuda.synchronize()  # ok: CG301
            """,
            "worker = threading.Thread(target=work, args=(x,))\nworker.start()\nworker.join()\n"
            "unused = threading.Thread(target=idle, args=(x,))",
        )
    )


def test_pool_that_the_region_submits_to() -> None:
    check_marks(
        with_region(
            """
            from concurrent.futures import ThreadPoolExecutor
            pool = ThreadPoolExecutor(2)
            def work(t):
                torch.cuda.synchronize()  # expect: CG301
            """,
            "pool.submit(work, x).result()",
        )
    )
