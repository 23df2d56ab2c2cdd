"""The same rules for other ways to capture: CuPy, Warp, the CUDA driver, and devices whose module looks like torch.cuda."""

from __future__ import annotations

from textwrap import indent

import pytest

from tests.programs import captured, check_marks
from tests.rules.conftest import Shows

CUPY = """
import cupy as cp
import numpy as np

{definitions}


def solve(n, rhs):
    u, f = cp.zeros((n, n)), cp.ones((n, n))
    sizes = np.zeros(4)
    event = cp.cuda.Event()
    stream = cp.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
{body}
        graph = stream.end_capture()
        for k in range(10):
            u.set(rhs)
            graph.launch()
    stream.synchronize()
    return cp.asnumpy(u)
"""


def cupy(body: str, definitions: str = "") -> None:
    check_marks(CUPY.format(body=indent(body.strip("\n"), "        "), definitions=definitions))


@pytest.mark.parametrize(
    "body",
    [
        "v = (u + f).get()  # expect: CG303",
        "v = cp.asnumpy(u)  # expect: CG303",
        "if cp.abs(u - f).max() < 1e-3:  # expect: CG401\n    u += f",
        "residual = float(cp.abs(u).sum())  # expect: CG302",
        "total = u.sum().item()  # expect: CG302",
        "where = cp.where(u > 0)  # expect: CG305",
        "kept = u[u > 0]  # expect: CG305",
        "w = cp.array([0.25, 0.5])  # expect: CG306",
        "w = cp.asarray(sizes)  # expect: CG306",
        "stream.synchronize()  # expect: CG301",
        "cp.cuda.Device().synchronize()  # expect: CG301",
        "cp.cuda.runtime.deviceSynchronize()  # expect: CG301",
        "event.record()\nevent.synchronize()  # expect: CG301",
        "while not stream.done:  # expect: CG301\n    pass",
        "v = cp.matmul(u, f)  # expect: CG307",
        "v = u @ f  # expect: CG307",
        "v = cp.linalg.solve(u, f)  # expect: CG307",
        "noise = cp.random.standard_normal(u.shape)  # expect: CG307",
        "noise = cp.random.default_rng(1).standard_normal(u.shape)  # expect: CG307",
        "noise = cp.random.RandomState(1).normal(size=u.shape)  # expect: CG307",
        "print(u)  # expect: CG304",
    ],
)
def test_cupy_reported(body: str) -> None:
    cupy(body)


@pytest.mark.parametrize(
    "body",
    [
        "v = cp.exp(u) * 0.5 + f  # ok: CG302",
        "u += f * 2",
        "v = cp.where(u > 0, u, f)  # ok: CG305",
        "v = u.reshape(-1).astype(cp.float32)",
        "v = u.sum(axis=0)",
        "v = cp.fft.ifft(cp.fft.fft(u))",
        "stream.launch_host_func(print, None)",
        "v = cp.zeros_like(u)",
        "u.fill(0)",
        "n2 = u.shape[0] * 2",
    ],
)
def test_cupy_not_reported(body: str) -> None:
    cupy(body)


def test_cupy_kernels_freeze_their_numbers_and_inputs_are_rebound() -> None:
    check_marks("""
import cupy as cp

decay = cp.RawKernel(SOURCE, "decay")


class Filter:
    def __init__(self, n):
        self.n, self.rate = n, 0.5
        self.x = cp.zeros(n)
        self.y = cp.zeros(n)
        self.stream = cp.cuda.Stream(non_blocking=True)
        with self.stream:
            self.stream.begin_capture()
            decay((self.n,), (128,), (self.x, self.y, self.rate))  # expect: CG402
            self.graph = self.stream.end_capture()

    def __call__(self, x):
        self.x = cp.asarray(x)  # expect: CG101
        self.rate *= 0.9
        self.graph.launch(self.stream)
        return self.y.copy()
""")


def test_cupy_outputs_are_overwritten() -> None:
    check_marks("""
import cupy as cp


def trajectory(x, steps):
    x = cp.asarray(x)
    s = cp.cuda.Stream()
    with s:
        s.begin_capture()
        y = cp.sin(x)
        graph = s.end_capture()
        frames, copies = [], []
        for _ in range(steps):
            x += y
            graph.launch()
            frames.append(y)  # expect: CG201
            copies.append(y.copy())  # ok: CG201
    cp.savez("run", *copies)
    return frames
""")


def test_cupy_work_on_another_stream_escapes() -> None:
    check_marks("""
import cupy as cp

x = cp.ones(8)
main = cp.cuda.Stream(non_blocking=True)
side = cp.cuda.Stream(non_blocking=True)
ready, done = cp.cuda.Event(), cp.cuda.Event()
with main:
    main.begin_capture()
    y = x * 2
    ready.record(main)
    side.wait_event(ready)
    with side:  # ok: CG501
        z = y + 1
        done.record(side)
    main.wait_event(done)
    graph = main.end_capture()
graph.launch()

other = cp.cuda.Stream(non_blocking=True)
other.begin_capture()
w = x * 3  # expect: CG501
late = other.end_capture()
late.launch()
""")


def test_cupy_across_files() -> None:
    check_marks(
        {
            "physics.py": """
            import cupy as cp


            def limit(u):
                if u.max() > 1:  # expect: CG401
                    return cp.clip(u, 0, 1)
                return u
            """,
            "solver.py": """
            import cupy

            from physics import limit


            def build(u):
                u = cupy.asarray(u)
                stream = cupy.cuda.Stream(non_blocking=True)
                with stream:
                    stream.begin_capture()
                    u[...] = limit(u * 1.1)
                    return u, stream.end_capture()
            """,
        }
    )


WARP = """
import warp as wp


@wp.kernel
def push(x: wp.array(dtype=float), v: wp.array(dtype=float), dt: float):
    i = wp.tid()
    x[i] = x[i] + v[i] * dt


class Sim:
    def __init__(self, n):
        self.n, self.dt = n, 0.01
        self.x = wp.zeros(n, dtype=float, device="cuda")
        self.v = wp.ones(n, dtype=float, device="cuda")
        self.flag = wp.zeros(1, dtype=int, device="cuda")
        {setup}

    def advance(self):
        wp.launch(push, dim=self.n, inputs=[self.x, self.v, self.dt])

    def record(self):
        self.advance()
        with wp.ScopedCapture(device="cuda") as capture:
{body}
        self.graph = capture.graph

    def frames(self, count):
        self.record()
        for k in range(count):
{step}
            wp.capture_launch(self.graph)
        return self.x.numpy()
"""


def warp(body: str, step: str = "pass", setup: str = "pass") -> None:
    check_marks(WARP.format(body=indent(body, " " * 12), step=indent(step, " " * 12), setup=setup))


@pytest.mark.parametrize(
    ("body", "step"),
    [
        ("self.advance()\nwp.synchronize()  # expect: CG301", "pass"),
        ("host = self.x.numpy()  # expect: CG303", "pass"),
        ("host = self.x.list()  # expect: CG303", "pass"),
        ("wp.synchronize_stream(wp.get_stream())  # expect: CG301", "pass"),
        ("w = wp.array([1.0, 2.0], dtype=float, device='cuda')  # expect: CG306", "pass"),
        ("busy = wp.get_stream().is_complete  # expect: CG301", "pass"),
        ("self.advance()", "self.x = wp.zeros(self.n, dtype=float, device='cuda')  # expect: CG101"),
        ("wp.capture_while(self.flag, lambda: wp.synchronize())  # expect: CG301", "pass"),
        ("with wp.ScopedTimer('x', synchronize=True):  # expect: CG301\n    self.advance()", "pass"),
    ],
)
def test_warp_reported(body: str, step: str) -> None:
    warp(body, step)


@pytest.mark.parametrize(
    ("body", "step"),
    [
        ("self.advance()  # ok: CG301", "pass"),
        ("scratch = wp.zeros(self.n, dtype=float, device='cuda')  # ok: CG307", "pass"),
        ("self.advance()", "wp.copy(self.v, self.x)"),
        ("self.advance()", "self.v.fill_(2.0)  # ok: CG101"),
        ("self.advance()", "host = self.x.numpy()  # ok: CG303"),
        ("wp.capture_while(self.flag, self.advance)", "pass"),
        ("wp.capture_if(self.flag, on_true=self.advance)", "pass"),
        ("self.x.zero_()\nself.advance()", "wp.synchronize()"),
        (
            "with wp.ScopedTimer('x', active=False, synchronize=True):  # ok: CG301\n    self.advance()",
            "pass",
        ),
        ("with wp.ScopedTimer('x'):  # ok: CG301\n    self.advance()", "pass"),
    ],
)
def test_warp_not_reported(body: str, step: str) -> None:
    warp(body, step)


def test_warp_allocations_need_the_memory_pools() -> None:
    body = "scratch = wp.zeros(self.n, dtype=float, device='cuda')  # {}"
    warp(body.format("expect: CG307"), setup="wp.set_mempool_enabled('cuda', False)")
    warp(body.format("ok: CG307"), setup="wp.set_mempool_enabled('cuda', True)")


def test_warp_takes_part_in_a_capture_of_torch() -> None:
    check_marks("""
import torch
import warp as wp

x = torch.zeros(8, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    with wp.ScopedCapture(external=True):  # ok: CG504
        wp.launch(push, dim=8, inputs=[wp.from_torch(x)])
    host = wp.from_torch(x).numpy()  # expect: CG303
""")


def test_warp_captures_do_not_nest() -> None:
    check_marks("""
import warp as wp

x = wp.zeros(8, device="cuda")
wp.capture_begin()
with wp.ScopedCapture() as inner:  # expect: CG504
    x.zero_()
graph = wp.capture_end()
""")


DRIVER = """
import torch
from cuda import cudart
from cuda.bindings import driver


def check(result):
    error, *values = result
    if error != cudart.cudaError_t.cudaSuccess:
        raise RuntimeError(error)
    return values[0] if values else None


class Engine:
    def __init__(self, context):
        self.context = context
        self.stream = check(cudart.cudaStreamCreate())
        self.x = torch.zeros(8, device="cuda")
        self.out = check(cudart.cudaMalloc(32))
        self.launchable = None

    def record(self):
        self.context.execute_async_v3(self.stream)
        mode = cudart.cudaStreamCaptureMode.{mode}
        check(cudart.cudaStreamBeginCapture(self.stream, mode))
        self.context.execute_async_v3(self.stream)
        {body}
        graph = check(cudart.cudaStreamEndCapture(self.stream))
        self.launchable = check(cudart.cudaGraphInstantiate(graph, 0))

    def infer(self, x):
        if self.launchable is None:
            self.record()
        {step}
        check(cudart.cudaGraphLaunch(self.launchable, self.stream))
        check(cudart.cudaStreamSynchronize(self.stream))
"""
GLOBAL = "cudaStreamCaptureModeGlobal"


def driver(body: str, step: str = "self.x.copy_(x)", mode: str = GLOBAL) -> None:
    check_marks(DRIVER.format(body=body, step=step, mode=mode))


@pytest.mark.parametrize(
    ("body", "step"),
    [
        ("check(cudart.cudaStreamSynchronize(self.stream))  # expect: CG301", "pass"),
        ("check(cudart.cudaDeviceSynchronize())  # expect: CG301", "pass"),
        ("driver.cuCtxSynchronize()  # expect: CG301", "pass"),
        ("cudart.cudaStreamQuery(self.stream)  # expect: CG301", "pass"),
        ("check(cudart.cudaMalloc(1024))  # expect: CG307", "pass"),
        ("cudart.cudaMemcpy(self.out, self.x.data_ptr(), 32, 2)  # expect: CG307", "pass"),
        ("print(self.x.sum().item())  # expect: CG302", "pass"),
        ("y = self.x * 2", "self.x = x.cuda()  # expect: CG101"),
    ],
)
def test_cuda_python_reported(body: str, step: str) -> None:
    driver(body, step)


@pytest.mark.parametrize(
    ("body", "step", "mode"),
    [
        ("pass", "self.x.copy_(x)", GLOBAL),
        ("y = self.x * 2", "self.x.copy_(x)  # ok: CG101", GLOBAL),
        (
            "cudart.cudaMemcpyAsync(self.out, self.x.data_ptr(), 32, 3, self.stream)  # ok: CG307",
            "pass",
            GLOBAL,
        ),
        ("check(cudart.cudaMalloc(1024))  # ok: CG307", "pass", "cudaStreamCaptureModeRelaxed"),
        ("pass", "check(cudart.cudaDeviceSynchronize())  # ok: CG301", GLOBAL),
        ("cudart.cudaMallocAsync(64, self.stream)  # ok: CG307", "pass", GLOBAL),
    ],
)
def test_cuda_python_not_reported(body: str, step: str, mode: str) -> None:
    driver(body, step, mode)


def test_a_builder_of_cuda_core() -> None:
    check_marks("""
import torch
from cuda.core import Device, launch

device = Device()
stream = device.create_stream()
x = torch.zeros(8, device="cuda")
builder = stream.create_graph_builder()
builder.begin_building()
launch(builder, config, kernel, x.data_ptr())
x.cpu()  # expect: CG303
graph = builder.end_building().complete()
graph.launch(stream)
x.cpu()  # ok: CG303
""")


LOOK_ALIKE = """
import torch
{imports}


def build(net: torch.nn.Linear, batches):
    x = torch.zeros(8, 8, device="{device}")
    net(x)
    {module}.synchronize()  # ok: CG301
    graph = {module}.{graph}()
    with {module}.graph(graph):
        y = net(x)
        {module}.synchronize()  # expect: CG301
        {module}.current_stream().synchronize()  # expect: CG301
        z = y.cpu()  # expect: CG303
        w = torch.ones(4).to("{device}")  # expect: CG306
        v = torch.ones(4).{device}()  # expect: CG306
        if y.sum() > 0:  # expect: CG401
            x.zero_()
    kept = []
    for batch in batches:
        x = batch.to("{device}")  # expect: CG101
        graph.replay()
        kept.append(y)  # expect: CG201
    return kept
"""


@pytest.mark.parametrize(
    ("imports", "module", "graph", "device"),
    [
        ("", "torch.cuda", "CUDAGraph", "cuda"),
        ("", "torch.xpu", "XPUGraph", "xpu"),
        ("import torch_npu", "torch.npu", "NPUGraph", "npu"),
        ("import torch_npu", "torch_npu.npu", "NPUGraph", "npu"),
        ("import torch_musa", "torch.musa", "MUSAGraph", "musa"),
    ],
)
def test_look_alikes(imports: str, module: str, graph: str, device: str) -> None:
    check_marks(LOOK_ALIKE.format(imports=imports, module=module, graph=graph, device=device))


def test_a_graph_of_the_device_neutral_module() -> None:
    check_marks("""
import torch

x = torch.zeros(8, device="cuda")
graph = torch.accelerator.Graph()
with torch.cuda.stream(torch.cuda.Stream()):
    with graph:
        y = x * 2
        torch.accelerator.synchronize()  # expect: CG301
for k in range(4):
    x = torch.ones(8, device="cuda") * k  # expect: CG101
    graph.replay()
torch.accelerator.synchronize()  # ok: CG301
""")


def test_suppressed() -> None:
    check_marks("""
import cupy as cp

x = cp.ones(4)
s = cp.cuda.Stream(non_blocking=True)
with s:
    s.begin_capture()
    y = x.get()  # graphlint: ignore[CG303] -- shows the error of the library
    graph = s.end_capture()
""")


def test_what_a_capture_of_cupy_reaches() -> None:
    program = """
import cupy as cp


def inner(x):
    return x + 1


def outer(x):
    return inner(x) * 2


def record(x, stream):
    x = cp.asarray(x)
    stream = cp.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        y = outer(x)
        return y, stream.end_capture()
"""
    assert captured(program) == {"inner", "outer"}


def test_the_text(shows: Shows) -> None:
    shows(
        "CG301-other-frameworks",
        {
            "cupy_program.py": """
            import cupy

            x = cupy.zeros(4)
            stream = cupy.cuda.Stream(non_blocking=True)
            with stream:
                stream.begin_capture()
                x += 1
                cupy.cuda.Device().synchronize()
                graph = stream.end_capture()
            """,
            "npu_program.py": """
            import torch
            import torch_npu

            x = torch.zeros(4, device="npu")
            graph = torch.npu.NPUGraph()
            with torch.npu.graph(graph):
                x += 1
                torch.npu.synchronize()
            """,
        },
    )
