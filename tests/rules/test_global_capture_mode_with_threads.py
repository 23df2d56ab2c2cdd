"""CG502: which threads endanger a capture in the global mode."""

from __future__ import annotations

import pytest

from tests.programs import check_marks

IMPORTS = """
import queue
import threading
from concurrent.futures import ThreadPoolExecutor

import torch
from torch.utils.data import DataLoader


def upload(items, out):
    for item in items:
        out.put(torch.as_tensor(item).to("cuda"))
"""


def capture(mark: str, mode: str = "") -> str:
    return f"""
    x = torch.zeros(4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph{mode}):  {mark}
        y = net(x)
    graph.replay()
    return y
"""


@pytest.mark.parametrize("mode", ["thread_local", "relaxed"])
def test_other_modes_leave_other_threads_alone(mode: str) -> None:
    start = """
def serve(net, items):
    threading.Thread(target=upload, args=(items, queue.Queue())).start()
"""
    check_marks(IMPORTS + start + capture("# ok: CG502", f', capture_error_mode="{mode}"'))


def test_a_mode_that_is_not_known_is_not_judged() -> None:
    start = """
def serve(net, items, mode):
    threading.Thread(target=upload, args=(items, queue.Queue())).start()
"""
    check_marks(IMPORTS + start + capture("# ok: CG502", ", capture_error_mode=mode"))


def test_a_thread_that_was_started_before_the_capture() -> None:
    start = """
def serve(net, items):
    worker = threading.Thread(target=upload, args=(items, queue.Queue()), daemon=True)
    worker.start()
"""
    check_marks(IMPORTS + start + capture("# expect: CG502"))


def test_a_thread_that_has_been_joined() -> None:
    start = """
def serve(net, items):
    worker = threading.Thread(target=upload, args=(items, queue.Queue()))
    worker.start()
    worker.join()
"""
    check_marks(IMPORTS + start + capture("# ok: CG502"))


def test_a_thread_that_never_calls_cuda() -> None:
    start = """
def count(items, out):
    out.put(len(items))


def serve(net, items):
    threading.Thread(target=count, args=(items, queue.Queue())).start()
"""
    check_marks(IMPORTS + start + capture("# ok: CG502"))


def test_a_thread_that_is_started_after_the_capture() -> None:
    check_marks(
        IMPORTS
        + """
def serve(net, items):
    x = torch.zeros(4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # ok: CG502
        y = net(x)
    threading.Thread(target=upload, args=(items, queue.Queue())).start()
    graph.replay()
    return y
"""
    )


def test_a_method_as_target_that_pins() -> None:
    start = """
class Stager:
    def __init__(self, items):
        self.items, self.out = items, queue.Queue()

    def run(self):
        for item in self.items:
            self.out.put(item.pin_memory())


def serve(net, items):
    stager = Stager(items)
    threading.Thread(target=stager.run, daemon=True).start()
"""
    check_marks(IMPORTS + start + capture("# expect: CG502"))


def test_a_thread_class_of_the_project() -> None:
    start = """
class Uploader(threading.Thread):
    def __init__(self, items):
        super().__init__(daemon=True)
        self.items, self.out = items, queue.Queue()

    def run(self):
        upload(self.items, self.out)


def serve(net, items):
    Uploader(items).start()
"""
    check_marks(IMPORTS + start + capture("# expect: CG502"))


def test_a_job_of_a_pool_and_its_result() -> None:
    start = """
def serve(net, items):
    job = ThreadPoolExecutor(2).submit(upload, items, queue.Queue())
"""
    check_marks(IMPORTS + start + capture("# expect: CG502"))
    check_marks(IMPORTS + start + "    job.result()\n" + capture("# ok: CG502"))


def test_a_pool_that_has_been_left() -> None:
    start = """
def serve(net, items):
    with ThreadPoolExecutor(2) as pool:
        pool.submit(upload, items, queue.Queue())
"""
    check_marks(IMPORTS + start + capture("# ok: CG502"))


def test_jobs_of_a_pool_that_capture() -> None:
    program = """
def build(net, sizes):
    def one(size):
        x = torch.zeros(4, device="cuda")
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):  # {mark}: CG502
            y = net(x)
        graph.replay()

    with ThreadPoolExecutor(max_workers={workers}) as pool:
        for size in sizes:
            pool.submit(one, size)
"""
    check_marks(IMPORTS + program.format(mark="expect", workers=4))
    check_marks(IMPORTS + program.format(mark="ok", workers=1))


def test_threads_that_capture_each_for_itself() -> None:
    check_marks(
        IMPORTS
        + """
class Runner:
    def __init__(self, net):
        self.net, self.graph = net, None

    def __call__(self, batch):
        if self.graph is None:
            self.x = batch.clone()
            self.net(self.x)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):  # expect: CG502
                self.y = self.net(self.x)
        self.x.copy_(batch)
        self.graph.replay()
        return self.y.clone()


def serve(nets, sources):
    def drain(run, source):
        for batch in source:
            run(batch.cuda())

    for net, source in zip(nets, sources):
        threading.Thread(target=drain, args=(Runner(net), source)).start()
"""
    )


def test_one_thread_that_captures_while_the_program_only_feeds_it() -> None:
    check_marks(
        IMPORTS
        + """
class Engine:
    def __init__(self, net):
        self.net, self.inbox = net, queue.Queue()

    def launch(self):
        threading.Thread(target=self._loop, daemon=True).start()

    def _loop(self):
        x = torch.zeros(4, device="cuda")
        self.net(x)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):  # ok: CG502
            y = self.net(x)
        while True:
            x.copy_(self.inbox.get())
            graph.replay()
"""
    )


def test_a_lock_around_every_cuda_call() -> None:
    program = """
lock = threading.Lock()


def guarded(items, out):
    for item in items:
        with lock:
            out.put(torch.as_tensor(item).to("cuda"))


def serve(net, items):
    threading.Thread(target=guarded, args=(items, queue.Queue()), daemon=True).start()
    x = torch.zeros(4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with {locks}torch.cuda.graph(graph):  # {mark}: CG502
        y = net(x)
    graph.replay()
    return y
"""
    check_marks(IMPORTS + program.format(locks="lock, ", mark="ok"))
    check_marks(IMPORTS + program.format(locks="", mark="expect"))


LOADERS = """
def fit(net, data):
    loader = DataLoader(data, {options})
    graph = None
    for batch in {loop}:
        if graph is None:
            x = torch.zeros(4, device="cuda")
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):  # {mark}: CG502
                y = net(x)
        graph.replay()
"""


@pytest.mark.parametrize("loop", ["loader", "iter(loader)", "tqdm(loader)"])
def test_a_loader_that_pins_while_it_is_iterated_over(loop: str) -> None:
    program = "from tqdm import tqdm\n" + IMPORTS + LOADERS
    check_marks(program.format(options="num_workers=4, pin_memory=True", loop=loop, mark="expect"))


@pytest.mark.parametrize("options", ["num_workers=4", "pin_memory=True", "num_workers=0, pin_memory=True"])
def test_a_loader_without_a_pinning_thread(options: str) -> None:
    check_marks((IMPORTS + LOADERS).format(options=options, loop="loader", mark="ok"))


def test_a_loader_outside_its_loop() -> None:
    program = """
def fit(net, data):
    loader = DataLoader(data, num_workers=4, pin_memory=True)
    first = {first}
    x = torch.zeros(4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # {mark}: CG502
        y = net(x)
    for batch in loader:
        x.copy_(batch)
        graph.replay()
"""
    check_marks(IMPORTS + program.format(first="next(iter(loader))", mark="ok"))
    check_marks(IMPORTS + program.format(first="iter(loader)", mark="expect"))
