"""Parameters without annotations: their use says that they are host integers, or modules to be graphed."""

from __future__ import annotations

from tests.programs import check_marked_rules, check_marks

RUNNER = """
    import torch

    class Cache:
        def __init__(self, limit, window):
            self.window = window
            self.end = window
            self.keys = torch.zeros(limit, 8, device="cuda")

        def advance(self, end):
            self.end = end

        def read(self):
            {read}

    class Runner:
        def __init__(self, limit, window):
            self.cache = Cache(limit, window)
            self.graph = torch.cuda.CUDAGraph()

        def capture(self):
            self.cache.read()
            torch.cuda.synchronize()
            with torch.cuda.graph(self.graph):
                self.y = self.cache.read()

        def step(self, position):
            self.cache.advance(position + 1)
            self.graph.replay()
            return self.y.clone()
"""


def test_a_parameter_that_bounds_a_slice_is_a_number_that_a_graph_freezes() -> None:
    check_marks(
        RUNNER.format(read="return self.keys[self.end - self.window : self.end] * 2  # expect: CG402")
    )


def test_a_parameter_that_is_only_multiplied_may_be_a_tensor() -> None:
    check_marks(RUNNER.format(read="return self.keys * self.end  # ok: CG402"))


def test_a_size_that_the_constructor_fixes_freezes_nothing() -> None:
    check_marks(RUNNER.format(read="return self.keys[: self.window] * 2  # ok: CG402"))


CHOOSING = """
    import torch

    class Runner:
        def __init__(self):
            self.x = torch.zeros(8, device="cuda")
            self.longest = 1
            self.graph = torch.cuda.CUDAGraph()

        def body(self):
            if self.longest > 2048:  # {mark}: CG402
                return self.x.cumsum(0)
            return self.x * 2

        def capture(self):
            self.body()
            torch.cuda.synchronize()
            with torch.cuda.graph(self.graph):
                self.y = self.body()

        def step(self, x, lens, other):
            self.longest = {longest}
            self.x.copy_(x)
            self.graph.replay()
            return self.y.clone()
"""


def test_the_largest_of_a_list_is_a_number() -> None:
    check_marks(CHOOSING.format(longest="max(lens)", mark="expect"))
    check_marks(CHOOSING.format(longest="max(1, other // 4)", mark="expect"))


def test_the_larger_of_two_unknown_things_is_unknown() -> None:
    check_marks(CHOOSING.format(longest="max(lens, other)", mark="ok"))


def test_a_loop_bounded_by_a_number_that_a_later_call_changes_is_frozen_however_it_is_written() -> None:
    program = """
        import torch

        class Solver:
            def __init__(self):
                self.x = torch.zeros(8, device="cuda")
                self.iterations = 4
                self.most = 4
                self.graph = torch.cuda.CUDAGraph()

            def body(self):
                y, i, j = self.x, 0, 0
                while i < self.iterations:  # expect: CG402
                    y = torch.tanh(y)
                    i += 1
                while j < self.most:  # ok: CG402
                    y = torch.relu(y)
                    j += 1
                return y

            def capture(self):
                self.body()
                torch.cuda.synchronize()
                with torch.cuda.graph(self.graph):
                    self.y = self.body()

            def step(self, x, iterations):
                self.iterations = iterations
                self.x.copy_(x)
                self.graph.replay()
                return self.y.clone()
    """
    check_marks(program)


GRAPHED = """
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.lin = nn.Linear(width, width)

        def forward(self, x):
            y = self.lin(x)
            print(y.max().item())  # {mark}: CG302
            return y

    def graphed(block, width):
        sample = torch.zeros(4, width, device="cuda")
        block = block.cuda().requires_grad_(False)
        return torch.cuda.make_graphed_callables({given})
"""


def test_a_module_that_is_handed_to_make_graphed_callables_is_the_one_that_takes_its_samples() -> None:
    check_marks(GRAPHED.format(mark="expect", given="block, (sample,)"))
    check_marks(GRAPHED.format(mark="ok", given="block, (sample, sample)"))


def test_an_adapter_bound_in_one_of_several_layers_is_not_the_captured_one() -> None:
    program = """
        import torch

        class Adapted:
            def __init__(self):
                self.down = torch.zeros(8, 8, device="cuda")
                self.up = torch.zeros(8, 8, device="cuda")

            def bind(self, down, up):
                self.down = down.to("cuda")  # expect: CG101
                self.up.copy_(up)  # ok: CG101

            def forward(self, x):
                return x @ self.down @ self.up

        class Runner:
            def __init__(self, depth, loaded):
                self.layers = {f"layer{i}": Adapted() for i in range(depth)}
                self.loaded = loaded
                self.x = torch.zeros(8, 8, device="cuda")
                self.graph = torch.cuda.CUDAGraph()

            def body(self):
                h = self.x
                for layer in self.layers.values():
                    h = layer.forward(h)
                return h

            def capture(self):
                self.body()
                torch.cuda.synchronize()
                with torch.cuda.graph(self.graph):
                    self.y = self.body()

            def run(self, x, adapter):
                for name, weights in self.loaded[adapter].items():
                    self.layers[name].bind(*weights)
                self.x.copy_(x)
                self.graph.replay()
                return self.y.clone()
    """
    check_marks(program)


def test_a_graph_and_a_stream_are_told_by_what_they_are_given_to() -> None:
    program = """
        import torch

        def record(graph, x):
            torch.cuda.synchronize()
            with torch.cuda.graph(graph):
                y = x * 2
            return y

        def run(graph, x):
            kept = []
            y = record(graph, x)
            for batch in range(8):
                x.copy_(torch.ones(8))
                graph.replay()
                kept.append(y)  # expect: CG201
            return kept

        def beside(side, x):
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                with torch.cuda.stream(side):  # expect: CG501
                    x.mul_(2)

        def joined(side, x):
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                side.wait_stream(torch.cuda.current_stream())
                with torch.cuda.stream(side):  # ok: CG501
                    x.mul_(2)
                torch.cuda.current_stream().wait_stream(side)
    """
    check_marks(program)


def test_what_a_class_of_the_program_is_made_for_is_no_graph() -> None:
    program = """
        import torch

        class Recorded:
            def __init__(self):
                self.y = torch.zeros(8, device="cuda")

            def replay(self):
                return self.y

        def run(recorded):
            kept = []
            for batch in range(8):
                kept.append(recorded.replay())  # ok: CG201
            return kept
    """
    check_marks(program)


def _step_that_is_called(capture: str, mark: str) -> str:
    return f"""
        import torch

        class Step:
            def __init__(self, rows):
                self.x = torch.zeros(rows, device="cuda")

            def __call__(self):
                return self.x.sum().item()  # {mark}: CG302

        {capture}
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                out = step()
            return graph, out
    """


def test_what_is_called_like_a_function_may_be_the_one_class_of_that_form() -> None:
    check_marked_rules(_step_that_is_called("def capture(step):", "expect"))


def test_a_function_that_is_called_with_something_is_not_guessed() -> None:
    program = _step_that_is_called("def capture(step, x):", "ok").replace("out = step()", "out = step(x)")
    check_marked_rules(program)


MOVED = """
    import torch

    class Potential(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = torch.nn.Parameter(torch.ones(3))

        def forward(self, pos, cell):
            return (pos @ cell.inverse() * self.scale).sum()  # {mark}: CG307

    class Dynamics:
        def __init__(self, model, pos: torch.Tensor, cell):
            self.model = model.cuda()
            self.pos = pos.cuda()
            self.cell = cell.cuda()

        def record(self):
            self.model(self.pos, {cell})
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.energy = self.model(self.pos, {cell})
"""


def test_what_is_moved_and_given_to_a_module_is_a_tensor() -> None:
    check_marked_rules(MOVED.format(cell="self.cell", mark="expect"))


def test_what_has_parts_of_its_own_is_none() -> None:
    check_marked_rules(MOVED.format(cell="self.cell.lattice", mark="ok"))
