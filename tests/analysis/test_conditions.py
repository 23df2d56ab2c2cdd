"""Conditions as they stand at capture: which branches are dead, and how sure the others leave a finding."""

from __future__ import annotations

import pytest

from graphlint.finding import Confidence, Level
from tests.programs import check_marked_rules, check_marks, findings

REGION = """

def record(g):
    x = torch.zeros(4, device="cuda")
    with torch.cuda.graph(g):
        work(x)


def eager():
    work(torch.zeros(4, device="cuda"))
"""

QUESTIONS = {
    "branch": """
    if torch.cuda.is_current_stream_capturing():
        x.sum().item()  # expect: CG302
    else:
        x.max().item()  # ok: CG302""",
    "not": """
    if not torch.cuda.is_current_stream_capturing():
        x.max().item()  # ok: CG302""",
    "early return": """
    if torch.cuda.is_current_stream_capturing():
        return x
    x.max().item()  # ok: CG302""",
    "early return outside": """
    if not torch.cuda.is_current_stream_capturing():
        return x
    x.max().item()  # expect: CG302""",
    "assert": """
    assert not torch.cuda.is_current_stream_capturing()
    x.max().item()  # ok: CG302""",
    "raise": """
    if torch.cuda.is_current_stream_capturing():
        raise RuntimeError("not here")
    x.max().item()  # ok: CG302""",
    "and": """
    if check and not torch.cuda.is_current_stream_capturing():
        x.max().item()  # ok: CG302""",
    "and, the question first": """
    if not torch.cuda.is_current_stream_capturing() and bool(x.max()):  # ok: CG302
        print("large")""",
    "or": """
    if torch.cuda.is_current_stream_capturing() or check:
        return x
    x.max().item()  # ok: CG302""",
    "not and": """
    if not (check and torch.cuda.is_current_stream_capturing()) and is_capturing() is False:
        x.max().item()  # ok: CG302""",
    "cached": """
    capturing = torch.cuda.is_current_stream_capturing()
    if not capturing:
        x.max().item()  # ok: CG302
    if capturing:
        x.sum().item()  # expect: CG302""",
    "conditional expression": """
    return 0 if torch.cuda.is_current_stream_capturing() else x.max().item()  # ok: CG302""",
    "short circuit": """
    torch.cuda.is_current_stream_capturing() or print(x.max().item())  # ok: CG302""",
    "availability first": """
    if torch.cuda.is_available() and torch.cuda.is_current_stream_capturing():
        return x
    x.max().item()  # ok: CG302""",
    "compared": """
    if torch.cuda.is_current_stream_capturing() is False:
        x.max().item()  # ok: CG302
    if torch.cuda.is_current_stream_capturing() == True:
        x.sum().item()  # expect: CG302""",
    "while": """
    while not torch.cuda.is_current_stream_capturing():
        x.max().item()  # ok: CG302
        break""",
    "helper": """
    if is_capturing():
        return x
    x.max().item()  # ok: CG302""",
    "negated helper": """
    if may_wait():
        x.max().item()  # ok: CG302""",
    "property": """
    if State().capturing:
        return x
    x.max().item()  # ok: CG302""",
    "argument": """
    finish(x, wait=not torch.cuda.is_current_stream_capturing())""",
}


@pytest.mark.parametrize("body", QUESTIONS.values(), ids=QUESTIONS)
def test_asking_whether_the_stream_is_capturing(body: str) -> None:
    check_marked_rules(
        f"""
import torch


def is_capturing():
    return torch.cuda.is_available() and torch.cuda.is_current_stream_capturing()


def may_wait():
    if is_capturing():
        return False
    return True


class State:
    @property
    def capturing(self):
        return torch.cuda.is_current_stream_capturing()


def finish(x, wait):
    if wait:
        x.max().item()  # ok: CG302


def work(x, check: bool = True):{body}
{REGION}
"""
    )


FLAGS = {
    "attribute": """
class Runner:
    def __init__(self):
        self.capturing = False

    def work(self, x):
        if not self.capturing:
            x.max().item()  # ok: CG302
        if self.capturing:
            x.sum().item()  # expect: CG302

    def record(self, g):
        x = torch.zeros(4, device="cuda")
        self.work(x)
        self.capturing = True
        try:
            with torch.cuda.graph(g):
                self.work(x)
        finally:
            self.capturing = False
        self.work(x)
""",
    "global": """
CAPTURING = False


def work(x):
    if CAPTURING:
        x.sum().item()  # expect: CG302
        return
    x.max().item()  # ok: CG302


def record(g):
    global CAPTURING
    x = torch.zeros(4, device="cuda")
    CAPTURING = True
    with torch.cuda.graph(g):
        work(x)
    CAPTURING = False
    work(x)
""",
    "context manager": """
_capturing = False


@contextlib.contextmanager
def capturing():
    global _capturing
    _capturing = True
    try:
        yield
    finally:
        _capturing = False


def is_capturing():
    return _capturing


def work(x):
    if is_capturing():
        x.sum().item()  # expect: CG302
    else:
        x.max().item()  # ok: CG302


def record(g):
    x = torch.zeros(4, device="cuda")
    work(x)
    with capturing(), torch.cuda.graph(g):
        work(x)
    work(x)
""",
    "context class": """
class Mode:
    active = False

    def __enter__(self):
        Mode.active = True

    def __exit__(self, *error):
        Mode.active = False


def work(x):
    if Mode.active:
        x.sum().item()  # expect: CG302
    else:
        x.max().item()  # ok: CG302


def record(g):
    x = torch.zeros(4, device="cuda")
    with Mode():
        with torch.cuda.graph(g):
            work(x)
    work(x)
""",
    "state object": """
class Forward:
    def __init__(self):
        self.mode = "eager"


STATE = Forward()


def get_state():
    return STATE


def work(x):
    if get_state().mode == "graph":
        x.sum().item()  # expect: CG302
    else:
        x.max().item()  # ok: CG302


def record(g):
    x = torch.zeros(4, device="cuda")
    STATE.mode = "graph"
    with torch.cuda.graph(g):
        work(x)
    STATE.mode = "eager"
    work(x)
""",
}


@pytest.mark.parametrize("program", FLAGS.values(), ids=FLAGS)
def test_flags_that_the_project_sets_around_its_regions(program: str) -> None:
    check_marked_rules(f"import contextlib\n\nimport torch\n\n{program}")


CONSTANTS = {
    "constant": ("DEBUG = False", "if DEBUG:"),
    "number": ("LIMIT = 0", "if LIMIT > 4:"),
    "text": ('MODE = "decode"', 'if MODE == "prefill":'),
    "tuple": ('MODES = ("decode", "mixed")', 'if "prefill" in MODES:'),
    "enum": ("MODE = Mode.DECODE", "if MODE is Mode.PREFILL:"),
    "enum equality": ("MODE = Mode.DECODE", "if MODE == Mode.PREFILL:"),
    "enum method": ("MODE = Mode.DECODE", "if MODE.is_prefill():"),
    "enum membership": ("MODE = Mode.DECODE", "if MODE in (Mode.PREFILL, Mode.EXTEND):"),
    "none": ("HOOK = None", "if HOOK is not None:"),
    "none truth": ("HOOK = None", "if HOOK:"),
    "type checking": ("pass", "if TYPE_CHECKING:"),
    "version": ("pass", "if sys.version_info < (3, 8):"),
    "platform": ("pass", 'if sys.platform == "win32":'),
    "hip": ("pass", "if torch.version.hip:"),
    "compiling": ("pass", "if torch.compiler.is_compiling():"),
    "debug builds": ("pass", "if not __debug__:"),
    "all of": ("DEBUG = False", "if all([DEBUG, True]):"),
    "any of": ("DEBUG = False", "if any([DEBUG, False]):"),
    "length": ("HOOKS = []", "if len(HOOKS) > 0:"),
    "empty list": ("HOOKS = []", "for hook in HOOKS:"),
    "match": ("MODE = 'decode'", "match MODE:\n        case 'prefill':"),
}


@pytest.mark.parametrize(("made", "test"), CONSTANTS.values(), ids=CONSTANTS)
def test_dead_branches_are_dead(made: str, test: str) -> None:
    indent = "            " if test.startswith("match") else "        "
    check_marked_rules(
        f"""
import enum
import sys
from typing import TYPE_CHECKING

import torch


class Mode(enum.Enum):
    DECODE = enum.auto()
    PREFILL = enum.auto()
    EXTEND = enum.auto()

    def is_prefill(self):
        return self in (Mode.PREFILL, Mode.EXTEND)


{made}


def work(x):
    {test}
{indent}x.sum().item()  # ok: CG302
    return x.max().item()  # expect: CG302
{REGION}
"""
    )


def test_constructor_arguments_defaults_and_keywords_reach_the_branch() -> None:
    check_marked_rules(
        """
import torch


class Checked(torch.nn.Module):
    def __init__(self, width: int, check_errors: bool = True, hook=None, **options):
        super().__init__()
        self.check_errors = check_errors
        self.hook = hook
        self.strict = options.get("strict", False)
        self.verbose = options.pop("verbose", False)

    def forward(self, x):
        if self.check_errors:
            x.sum().item()  # ok: CG302
        if self.hook is not None:
            self.hook(x.max().item())  # ok: CG302
        if self.strict:
            x.min().item()  # ok: CG302
        if self.verbose:
            x.mean().item()  # ok: CG302
        return x


def make(width, **options):
    options.setdefault("check_errors", False)
    return Checked(width, **options)


def make_strict(**kwargs):
    return Strict(**kwargs)


class Strict(Checked):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, check_errors=False, **kwargs)

    def forward(self, x):
        if self.strict:
            x.sum().item()  # expect: CG302
        return super().forward(x)


def record(g):
    x = torch.zeros(4, device="cuda")
    net = make(4)
    with torch.cuda.graph(g):
        net(x)


def record_strict(g):
    x = torch.zeros(4, device="cuda")
    net = Strict(4, strict=True)
    with torch.cuda.graph(g):
        x = Strict.forward.__get__(net)(x) if False else x


def record_direct(g):
    x = torch.zeros(4, device="cuda")
    net = Eager(4, strict=True)
    with torch.cuda.graph(g):
        net(x)


class Eager(Strict):
    def forward(self, x):
        if self.strict:
            x.sum().item()  # expect: CG302
        return x
""".replace(
            """        if self.strict:
            x.sum().item()  # expect: CG302
        return super().forward(x)
""",
            """        return super().forward(x)
""",
        )
    )


def test_a_method_argument_decides() -> None:
    check_marked_rules(
        """
import torch


def work(x, *, check=True, mode: str = "decode", **extra):
    if check:
        x.sum().item()  # ok: CG302
    if mode != "decode":
        x.max().item()  # ok: CG302
    if extra.get("log"):
        x.min().item()  # ok: CG302
    if "trace" in extra:
        x.mean().item()  # expect: CG302


def record(g):
    x = torch.zeros(4, device="cuda")
    options = dict(check=False)
    with torch.cuda.graph(g):
        work(x, **options)
        work(x, check=False, trace=True)
"""
    )


DEVICE_CODE = {
    "triton": ("import triton\nimport triton.language as tl", "@triton.jit", "work[(1,)](x)"),
    "tuned triton": (
        "import triton\nimport triton.language as tl",
        "@triton.autotune(configs=[], key=[])\n@triton.jit",
        "work[(1,)](x)",
    ),
    "numba": ("from numba import cuda", "@cuda.jit", "work[1, 32](x)"),
    "warp": ("import warp as wp", "@wp.kernel", "wp.launch(work, dim=4, inputs=[x])"),
    "cute": ("import cutlass.cute as cute", "@cute.jit", "work(x)"),
    "cute kernel": ("import cutlass.cute as cute", "@cute.kernel", "work(x).launch(grid=[1, 1, 1])"),
    "tilelang": ("import tilelang", "@tilelang.jit", "work(x)"),
}


@pytest.mark.parametrize(("imports", "decorator", "launch"), DEVICE_CODE.values(), ids=DEVICE_CODE)
def test_device_code_is_never_entered(imports: str, decorator: str, launch: str) -> None:
    check_marked_rules(
        f"""
import torch
{imports}


def helper(x: torch.Tensor):
    return x.sum().item()  # ok: CG302


{decorator}
def work(x: torch.Tensor):
    if x[0] > 0:  # ok: CG401
        helper(x)
    return x.sum().item()  # ok: CG302


def record(g):
    x = torch.zeros(4, device="cuda")
    {launch}
    with torch.cuda.graph(g):
        {launch}
        x.max().item()  # expect: CG302
"""
    )


CERTAINTY = {
    "no condition": ("", "", Level.ERROR, Confidence.DEFINITE),
    "per call": ("n: int", "if n > 4:", Level.WARNING, Confidence.LIKELY),
    "mode": ("debug: bool", "if debug:", Level.ERROR, Confidence.POSSIBLE),
    "mode field": ("options", "if options.is_prefill:", Level.ERROR, Confidence.POSSIBLE),
}


@pytest.mark.parametrize(("parameter", "test", "level", "confidence"), CERTAINTY.values(), ids=CERTAINTY)
def test_undecided_conditions_lower_what_is_claimed(
    parameter: str, test: str, level: Level, confidence: Confidence
) -> None:
    body = f"{test}\n                x.sum().item()" if test else "x.sum().item()"
    program = f"""
import torch


class Runner:
    def __init__(self):
        self.x = torch.zeros(4, device="cuda")

    def run(self{", " + parameter if parameter else ""}):
        x = self.x
        g = torch.cuda.CUDAGraph()
        with torch.cuda.graph(g):
            {body}
        g.replay()
"""
    found = [each for each in findings(program, select=("CG302",))]
    assert [(each.level, each.confidence) for each in found] == [(level, confidence)]


def test_configuration_that_never_changes_does_not_demote() -> None:
    program = """
import torch


class Runner:
    def __init__(self, window: int):
        self.window = window
        self.x = torch.zeros(4, device="cuda")

    def capture(self):
        g = torch.cuda.CUDAGraph()
        with torch.cuda.graph(g):
            if self.window > 4:
                self.x.sum().item()
"""
    found = findings(program, select=("CG302",))
    assert [(each.level, each.confidence) for each in found] == [(Level.ERROR, Confidence.DEFINITE)]


def test_conditions_outside_the_region_do_not_demote() -> None:
    program = """
import torch


class Runner:
    def __init__(self):
        self.x = torch.zeros(4, device="cuda")

    def run(self, debug: bool, n: int):
        if debug and n > 4:
            g = torch.cuda.CUDAGraph()
            with torch.cuda.graph(g):
                self.x.sum().item()
"""
    found = findings(program, select=("CG302",))
    assert [(each.level, each.confidence) for each in found] == [(Level.ERROR, Confidence.DEFINITE)]


def test_environment_flags_are_configuration() -> None:
    program = """
import os

import torch

CHECK = os.environ.get("ENGINE_EXTRA", "0") == "1"


def record(g):
    x = torch.zeros(4, device="cuda")
    with torch.cuda.graph(g):
        if CHECK:
            x.sum().item()
        if os.getenv("ENGINE_OTHER"):
            x.max().item()
"""
    found = findings(program, select=("CG302",))
    assert {each.span.line for each in found} == {13, 15}
    assert {each.level for each in found} == {Level.ERROR}


TRAINED = """
    import random
    import torch
    from torch import nn

    class Stack(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(8, 8)

        def forward(self, x):
            if self.training and random.random() < 0.2:  # {mark}: CG404
                return x
            return self.lin(x)

    def capture(x):
        net = Stack().cuda()

        def step():
            loss = net(x).square().mean()
            {backward}
            return loss

        step()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            loss = step()
        return graph, loss
"""


def test_modules_of_a_program_that_runs_a_backward_pass_are_in_training_mode() -> None:
    check_marks(TRAINED.format(mark="expect", backward="loss.backward()"))
    check_marks(TRAINED.format(mark="ok", backward="pass"))


def test_a_bool_is_never_none() -> None:
    check_marks(
        """
        import torch

        class Step:
            def __init__(self, net: torch.nn.Module):
                self.net = net
                self.x = torch.zeros(8, device="cuda")
                self.net(self.x)

            def run(self, whole, other=None):
                y = self.net(self.x)
                if whole is None:
                    print(y.sum().item())  # ok: CG302
                if other is None:
                    print(y.sum().item())  # expect: CG302
                return y

            def capture(self, lengths: torch.Tensor, names: list[str]):
                whole = False if not names else (all(names) and bool(lengths.all().item()))
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph):
                    self.y = self.run(whole)
        """
    )
