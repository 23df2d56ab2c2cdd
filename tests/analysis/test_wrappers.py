"""Methods behind decorators, helpers and `*args` are followed like plain ones."""

from __future__ import annotations

from tests.programs import check_marks

TRACED = """
    import functools
    import torch

    def traced(fn):
        @functools.wraps(fn)
        def wrapper(*args, **kwargs):
            return fn(*args, **kwargs)
        return wrapper

    class Runner:
        def __init__(self):
            self.x = torch.zeros(8, 8, device="cuda")
            self.rows = 4
            self.graph = torch.cuda.CUDAGraph()

        @traced
        def deepest(self, x):
            return x[: self.rows] * 2  # {mark}: CG402

        @traced
        def deep(self, x):
            return self.deepest(x)

        @traced
        def middle(self, x):
            return self.deep(x)

        @traced
        def body(self):
            return self.middle(self.x)

        @traced
        def capture(self):
            self.body()
            torch.cuda.synchronize()
            with torch.cuda.graph(self.graph):
                self.y = self.body()

        @traced
        def set_rows(self, rows):
            {set_rows}

        @traced
        def step(self, x, rows):
            self.set_rows(rows)
            self.x.copy_(x)
            self.graph.replay()
            return self.y.clone()
"""


def test_methods_that_share_a_decorator_are_no_recursion() -> None:
    check_marks(TRACED.format(mark="expect", set_rows="self.rows = rows"))
    check_marks(TRACED.format(mark="ok", set_rows="assert rows == self.rows"))


HELPED = """
    import torch

    def launch(graph):
        graph.replay()

    class Runner:
        def __init__(self):
            self.x = torch.zeros(8, device="cuda")
            self.graph = torch.cuda.CUDAGraph()
            self.kept = []

        def capture(self):
            torch.cuda.synchronize()
            with torch.cuda.graph(self.graph):
                self.y = self.x * 2
            self.entry = (self.graph, self.x, self.y)

        def replay(self, entry, x):
            graph, static, out = entry
            static.copy_(x)
            launch(graph)
            return out.clone()  # ok: CG201

        def step(self, x):
            return self.replay(self.entry, x)  # ok: CG201

        def keep(self, x):
            graph, static, out = self.entry
            static.copy_(x)
            launch(graph)
            self.kept.append(out)  # expect: CG201
            return self.kept
"""


def test_an_output_picked_up_before_a_helper_replays_is_meant_for_that_replay() -> None:
    check_marks(HELPED)


def test_a_method_that_a_part_has_too_is_still_called_from_outside() -> None:
    program = """
        import torch

        class Loop:
            def __init__(self, net):
                self.opt = torch.optim.SGD(net.parameters(), lr=0.1)
                self.x = torch.zeros(8, device="cuda")
                self.graph = torch.cuda.CUDAGraph()

            def capture(self):
                torch.cuda.synchronize()
                with torch.cuda.graph(self.graph):
                    self.y = self.x * 2

            def run(self, batch):
                self.x = batch.cuda()  # expect: CG101
                self.graph.replay()
                self.opt.step()
                return self.y.clone()

            def step(self, *args, **kwargs):
                return self.run(*args, **kwargs)
    """
    check_marks(program)


ORDERED = """
    import contextlib
    import torch

    @contextlib.contextmanager
    def capturing(graph, **options):
        with torch.cuda.graph(graph, **options):
            yield graph

    class Scales:
        def __init__(self, net):
            self.net, self.pool, self.entries = net, torch.cuda.graph_pool_handle(), {{}}

        def record(self, size):
            x = torch.zeros(1, 3, size, size, device="cuda")
            self.net(x)
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with capturing(graph, pool=self.pool):
                y = self.net(x)
            self.entries[size] = (graph, x, y)

        def record_all(self, sizes=(384, 448, 512)):
            for size in {order}:  # {mark}: CG601
                self.record(size)

        def __call__(self, image):
            graph, x, y = self.entries[image.shape[-1]]
            x.copy_(image)
            graph.replay()
            return y.clone()
"""


def test_who_enters_a_capturing_context_manager_of_the_module_captures() -> None:
    check_marks(ORDERED.format(order="sorted(sizes)", mark="expect"))
    check_marks(ORDERED.format(order="sorted(sizes, reverse=True)", mark="ok"))


def test_a_wrapped_method_runs_on_every_object_that_it_is_called_on() -> None:
    program = """
        import functools
        import torch

        def traced(fn):
            @functools.wraps(fn)
            def wrapper(*args, **kwargs):
                return fn(*args, **kwargs)
            return wrapper

        class Cache:
            def __init__(self):
                self.keys = None

            @traced
            def fill(self, like):
                self.keys = torch.zeros_like(like)  # ok: CG603

            @traced
            def update(self, k):
                if self.keys is None:
                    self.fill(k)
                self.keys.copy_(k)
                return self.keys

        class Generator:
            def __init__(self, depth):
                self.x = torch.zeros(8, device="cuda")
                self.caches = [Cache() for _ in range(depth)]
                self.spare = [Cache() for _ in range(depth)]
                self.graph = torch.cuda.CUDAGraph()

            def run(self, caches):
                return [cache.update(self.x) for cache in caches]

            def capture(self):
                for _ in range(3):
                    self.run(self.spare)
                for cache in self.caches:
                    cache.fill(self.x)
                torch.cuda.synchronize()
                with torch.cuda.graph(self.graph):
                    self.out = self.run(self.caches)

            def keys(self):
                self.graph.replay()
                return [cache.keys for cache in self.caches]
    """
    check_marks(program)


def test_what_a_call_gave_that_was_not_followed_may_be_a_dict() -> None:
    program = """
        import torch

        def capture(net, x: torch.Tensor):
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                losses = net(x)
                names = sorted(losses)  # ok: CG302
                largest = sorted(x)  # expect: CG302
                device = int(net.place(x))  # ok: CG302
                count = int(x.sum())  # expect: CG302
            return graph, names, largest, device, count
    """
    check_marks(program)
