"""`capture_begin` and `capture_end`: regions without a `with` statement."""

from __future__ import annotations

from tests.programs import check_marked_rules


def test_between_begin_and_end() -> None:
    check_marked_rules(
        """
import torch


def record():
    g = torch.cuda.CUDAGraph()
    x = torch.zeros(4, device="cuda")
    with torch.cuda.stream(torch.cuda.Stream()):
        x.sum().item()  # ok: CG302
        g.capture_begin()
        x.sum().item()  # expect: CG302
        g.capture_end()
        x.sum().item()  # ok: CG302
"""
    )


def test_try_and_finally() -> None:
    check_marked_rules(
        """
import torch


def record(pool):
    g = torch.cuda.CUDAGraph()
    x = torch.zeros(4, device="cuda")
    g.capture_begin(pool=pool, capture_error_mode="thread_local")
    try:
        x.sum().item()  # expect: CG302
    finally:
        g.capture_end()
    x.sum().item()  # ok: CG302


def careful(pool):
    g = torch.cuda.CUDAGraph()
    x = torch.zeros(4, device="cuda")
    g.capture_begin(pool=pool)
    try:
        x.max().item()  # expect: CG302
    except RuntimeError:
        raise
    finally:
        g.capture_end()
    x.max().item()  # ok: CG302
"""
    )


def test_sibling_methods_with_the_work_done_by_a_caller() -> None:
    check_marked_rules(
        """
import torch


class Recorder:
    def __init__(self):
        self.graph = torch.cuda.CUDAGraph()
        self.stream = torch.cuda.Stream()

    def begin(self):
        torch.cuda.synchronize()  # ok: CG301
        self.graph.capture_begin()

    def end(self):
        self.graph.capture_end()
        torch.cuda.synchronize()  # ok: CG301


def work(x):
    x.sum().item()  # expect: CG302


def idle(x):
    x.sum().item()  # ok: CG302


def run(recorder: Recorder):
    x = torch.zeros(4, device="cuda")
    idle(x)
    recorder.begin()
    work(x)
    recorder.end()
    idle(x)
"""
    )


def test_sibling_methods_called_from_another_file() -> None:
    check_marked_rules(
        {
            "recorder.py": """
import torch


class Recorder:
    def __init__(self):
        self.graph = torch.cuda.CUDAGraph()

    def begin(self):
        self.graph.capture_begin()

    def end(self):
        self.graph.capture_end()
""",
            "main.py": """
import torch

from recorder import Recorder


def run():
    x = torch.zeros(4, device="cuda")
    recorder = Recorder()
    recorder.begin()
    x.sum().item()  # expect: CG302
    recorder.end()
    x.sum().item()  # ok: CG302
""",
        }
    )


def test_enter_and_exit() -> None:
    check_marked_rules(
        """
import torch


class Recording:
    def __init__(self):
        self.graph = torch.cuda.CUDAGraph()

    def __enter__(self):
        torch.cuda.synchronize()  # ok: CG301
        self.graph.capture_begin()
        return self

    def __exit__(self, kind, value, trace):
        self.graph.capture_end()
        torch.cuda.synchronize()  # ok: CG301


def record():
    x = torch.zeros(4, device="cuda")
    with Recording() as recording:
        x.sum().item()  # expect: CG302
    x.sum().item()  # ok: CG302
    return recording
"""
    )


def test_a_subclass_of_the_graph() -> None:
    check_marked_rules(
        """
import torch


class Graph(torch.cuda.CUDAGraph):
    def __init__(self, name):
        super().__init__()
        self.name = name

    def start(self):
        self.capture_begin()

    def stop(self):
        super().capture_end()


class Runner:
    def __init__(self):
        self.graph = Graph("decode")
        self.x = torch.zeros(4, device="cuda")

    def record(self):
        self.graph.start()
        self.y = self.x * 2
        self.y.sum().item()  # expect: CG302
        self.graph.stop()
        self.y.sum().item()  # ok: CG302

    def run(self, x: torch.Tensor):
        self.x = x.cuda()  # expect: CG101
        self.graph.replay()
        return self.y.clone()


class GoodRunner:
    def __init__(self):
        self.graph = Graph("decode")
        self.x = torch.zeros(4, device="cuda")
        with torch.cuda.graph(self.graph):
            self.y = self.x * 2

    def run(self, x):
        self.x.copy_(x)  # ok: CG101
        self.graph.replay()
        return self.y.clone()
"""
    )


def test_a_method_of_another_object_with_the_same_name() -> None:
    check_marked_rules(
        """
import torch


class Camera:
    def capture_begin(self):
        return self

    def capture_end(self):
        return self


def film(camera: Camera):
    x = torch.zeros(4, device="cuda")
    camera.capture_begin()
    x.sum().item()  # ok: CG302
    camera.capture_end()
"""
    )


def test_an_undecided_capture_is_closed_where_it_was_opened() -> None:
    check_marked_rules(
        """
import torch


def record(use_graph: bool):
    g = torch.cuda.CUDAGraph()
    x = torch.zeros(4, device="cuda")
    if use_graph:
        g.capture_begin()
    x.sum().item()  # expect: CG302
    if use_graph:
        g.capture_end()
    x.max().item()  # ok: CG302
"""
    )


def test_methods_between_begin_and_end_are_not_the_work() -> None:
    check_marked_rules(
        """
import torch


class Recorder:
    def __init__(self):
        self.graph = torch.cuda.CUDAGraph()
        self.x = torch.zeros(4, device="cuda")

    def begin(self):
        self.graph.capture_begin()

    def report(self):
        return self.x.sum().item()  # ok: CG302

    def end(self):
        self.graph.capture_end()

    def total(self):
        return self.x.sum().item()  # ok: CG302


class Recording:
    def __init__(self):
        self.graph = torch.cuda.CUDAGraph()
        self.x = torch.zeros(4, device="cuda")

    def __enter__(self):
        self.graph.capture_begin()

    def report(self):
        return self.x.sum().item()  # ok: CG302

    def __exit__(self, *error):
        self.graph.capture_end()
"""
    )


def test_a_context_class_whose_exit_cannot_be_followed() -> None:
    check_marked_rules(
        """
import torch

from driver import finish


class Recording:
    def __init__(self):
        self.graph = torch.cuda.CUDAGraph()

    def __enter__(self):
        self.graph.capture_begin()
        return self

    def __exit__(self, *error):
        finish(self.graph)


def record():
    x = torch.zeros(4, device="cuda")
    with Recording():
        x.sum().item()  # expect: CG302
    torch.cuda.synchronize()  # ok: CG301
    x.sum().item()  # ok: CG302
"""
    )
