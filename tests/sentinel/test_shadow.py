"""Programs whose graph keeps what Python decided at the capture, beside those that give the graph the same."""

from __future__ import annotations

import random
from contextlib import contextmanager
from typing import Any

import pytest

from tests.sentinel.watching import codes, messages


class Scaler:
    """Multiplies a static input by a number of the host."""

    def __init__(self) -> None:
        import torch

        self.factor = 2.0
        self.calls = 0
        self.given = torch.ones(4, device="cuda")
        self.total = torch.zeros(4, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def body(self) -> Any:
        return self.given * self.factor

    def capture(self) -> None:
        import torch

        with torch.cuda.graph(self.graph):
            self.out = self.body()


def test_a_host_number_changes_after_the_capture(tested: Any) -> None:
    scaler = Scaler()
    scaler.capture()
    scaler.graph.replay()
    assert tested.findings == []
    scaler.factor = 3.0
    scaler.graph.replay()
    (found,) = tested.findings
    assert (found.code, found.check, found.confidence, found.replay) == ("CG402", "shadow", "definite", 2)
    assert found.message.startswith("`self.out` is not what the captured code computes now: 4 of 4 elements")
    assert found.message.endswith("`self.factor` was 2.0 at the capture and is 3.0 now")
    assert found.captured[0].function.endswith("capture")
    assert found.replayed[0].function.endswith("test_a_host_number_changes_after_the_capture")


def test_a_device_number_changes_after_the_capture(tested: Any) -> None:
    import torch

    scaler = Scaler()
    scaler.factor = torch.tensor(2.0, device="cuda")
    scaler.capture()
    for value in (3.0, 4.0):
        scaler.factor.fill_(value)  # type: ignore[attr-defined]
        scaler.graph.replay()
        assert scaler.out.tolist() == [value] * 4
    assert tested.findings == []


def test_the_same_finding_is_counted(tested: Any) -> None:
    scaler = Scaler()
    scaler.capture()
    for factor in (3.0, 4.0, 5.0):
        scaler.factor = factor
        scaler.graph.replay()
    (found,) = tested.findings
    assert found.times == 3


def test_only_mode_test_pays_for_it(watched: Any) -> None:
    scaler = Scaler()
    scaler.capture()
    scaler.factor = 3.0
    scaler.graph.replay()
    assert watched.findings == []


def test_a_local_number_changes_while_its_function_runs(tested: Any) -> None:
    import torch

    given, graph, factor = torch.ones(4, device="cuda"), torch.cuda.CUDAGraph(), 2.0
    with torch.cuda.graph(graph):
        doubled = given * factor
    graph.replay()
    assert tested.findings == []
    factor = 5.0
    graph.replay()
    assert doubled.tolist() == [2.0] * 4 and factor == 5.0
    (found,) = tested.findings
    assert "`doubled`" in found.message and "`factor` was 2.0 at the capture and is 5.0 now" in found.message


def test_a_number_of_a_loop_over_captures_is_not_a_change(tested: Any) -> None:
    import torch

    given, graphs, outs = torch.ones(8, device="cuda"), {}, {}
    for size in (1, 2, 4):
        graphs[size] = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graphs[size]):
            outs[size] = given[:size] * size
    for size in (4, 1, 2):
        graphs[size].replay()
        assert outs[size].tolist() == [float(size)] * size
    assert tested.findings == []


class Buckets:
    """Captures one graph for each size, and tells the size to its layers through an attribute."""

    def __init__(self) -> None:
        import torch

        self.given = torch.ones(8, device="cuda")
        self.size = 0
        self.graphs: dict[int, Any] = {}
        self.outs: dict[int, Any] = {}

    def body(self) -> Any:
        import torch

        return torch.where(torch.arange(8, device="cuda") < self.size, self.given, 0.0)

    def capture(self) -> None:
        import torch

        for self.size in (2, 4, 8):
            self.graphs[self.size] = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graphs[self.size]):
                self.outs[self.size] = self.body()


def test_an_attribute_that_chooses_among_graphs_is_not_a_change(tested: Any) -> None:
    buckets = Buckets()
    buckets.capture()
    buckets.graphs[2].replay()
    buckets.graphs[8].replay()
    assert tested.findings == []


class Counter(Scaler):
    """Counts its calls in Python, and uses the count."""

    def body(self) -> Any:
        self.calls += 1
        return self.given * self.calls


def test_a_counter_that_captured_code_moves_itself(tested: Any) -> None:
    counter = Counter()
    counter.capture()
    counter.graph.replay()
    (found,) = tested.findings
    assert found.code == "CG402" and "`self.calls` was 0 at the capture and is 1 now" in found.message
    assert counter.calls == 1  # as without anybody watching


class Accumulator(Scaler):
    """Adds up in memory that was there before."""

    def body(self) -> Any:
        self.total.add_(self.given)
        return self.total * self.factor


def test_what_the_second_run_writes_is_undone(tested: Any) -> None:
    adder = Accumulator()
    adder.capture()
    version = adder.total._version
    for steps in (1, 2, 3):
        adder.graph.replay()
        assert adder.total.tolist() == [steps] * 4
        assert adder.out.tolist() == [2.0 * steps] * 4
    assert adder.total._version == version
    assert tested.findings == []


def test_memory_that_is_written_is_compared_too(tested: Any) -> None:
    import torch

    total, graph, amount = torch.zeros(4, device="cuda"), torch.cuda.CUDAGraph(), 1.0
    with torch.cuda.graph(graph):
        total.add_(amount)
    graph.replay()
    amount = 2.0
    graph.replay()
    assert total.tolist() == [2.0] * 4 and amount == 2.0
    (found,) = tested.findings
    assert found.message.startswith("`total` is not what the captured code computes now")
    assert "`amount`" in found.message


def test_random_numbers_of_the_device_are_the_same_in_both(tested: Any) -> None:
    import torch

    given, graph = torch.ones(64, device="cuda"), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        dropped = torch.nn.functional.dropout(given, 0.5)
    graph.replay()
    first = dropped.clone()
    graph.replay()
    assert not torch.equal(first, dropped)
    assert tested.findings == []


def test_a_random_number_of_the_host_is_kept(tested: Any) -> None:
    import torch

    given, graph = torch.ones(4, device="cuda"), torch.cuda.CUDAGraph()
    random.seed(1)
    with torch.cuda.graph(graph):
        noisy = given * random.random()
    state = random.getstate()
    graph.replay()
    (found,) = tested.findings
    assert (found.code, found.confidence) == ("CG404", "likely") and not noisy.isnan().any()
    assert "`noisy`" in found.message and random.getstate() == state


def test_a_training_step_with_its_gradients(tested: Any) -> None:
    import torch

    layer, given = torch.nn.Linear(4, 1).cuda(), torch.randn(8, 4, device="cuda")
    step = torch.optim.Adam(layer.parameters(), lr=0.001, capturable=True)
    for _ in range(2):
        step.zero_grad(set_to_none=True)
        layer(given).square().mean().backward()
        step.step()
    step.zero_grad(set_to_none=True)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = layer(given).square().mean()
        loss.backward()
        step.step()
    losses = []
    for _ in range(3):
        graph.replay()
        losses.append(loss.item())
    assert tested.findings == [] and tested.unseen == []
    assert losses[2] < losses[1] < losses[0]


def test_a_module_changes_its_mode(tested: Any) -> None:
    import torch

    layer, given = torch.nn.BatchNorm1d(4).cuda(), torch.randn(8, 4, device="cuda")
    layer(given)
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(graph):
        normal = layer(given)
    graph.replay()
    assert tested.findings == []
    layer.eval()
    graph.replay()
    (found,) = tested.findings
    assert "`layer.training` was True at the capture and is False now" in found.message
    assert normal.shape == (8, 4)
    assert "`normal`" in found.message or "`layer.running_mean`" in found.message


def test_running_statistics_move_once_for_each_replay(tested: Any) -> None:
    import torch

    layer, given = torch.nn.BatchNorm1d(4, momentum=1.0).cuda(), torch.randn(8, 4, device="cuda")
    layer(given)
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(graph):
        layer(given)
    layer.running_mean.zero_()
    graph.replay()
    mean = layer.running_mean.clone()
    given.add_(1)
    graph.replay()
    assert torch.allclose(layer.running_mean, mean + 1, atol=1e-5)
    assert layer.num_batches_tracked.item() == 3 and tested.findings == []


def test_a_branch_that_is_not_taken_any_more(tested: Any) -> None:
    import torch

    total, graph, add = torch.zeros(4, device="cuda"), torch.cuda.CUDAGraph(), True
    with torch.cuda.graph(graph):
        if add:
            total.add_(1)
    graph.replay()
    assert tested.findings == []
    add = False
    graph.replay()
    assert total.tolist() == [2] * 4 and not add
    (found,) = tested.findings
    assert "`total`" in found.message and "`add` was True at the capture and is False now" in found.message


def test_a_captured_body_may_ask_whether_it_is_captured(tested: Any) -> None:
    import torch

    given, graph, seen = torch.ones(4, device="cuda"), torch.cuda.CUDAGraph(), []
    with torch.cuda.graph(graph):
        if not torch.cuda.is_current_stream_capturing():
            given.zero_()
        seen.append(1)
        out = given * 2
    graph.replay()
    assert tested.findings == [] and len(seen) == 1 and out.tolist() == [2] * 4


@contextmanager
def recorded(graph: Any) -> Any:
    import torch

    with torch.no_grad(), torch.cuda.graph(graph):
        yield graph


def test_a_capture_behind_a_context_manager_of_the_program(tested: Any) -> None:
    import torch

    given, graph, factor = torch.ones(4, device="cuda"), torch.cuda.CUDAGraph(), 2.0
    with recorded(graph):
        out = given * factor
    graph.replay()
    assert tested.findings == [] and out.tolist() == [2] * 4
    factor = 3.0
    graph.replay()
    assert factor == 3.0 and codes(tested) == ["CG402"] and "`factor`" in messages(tested)


_active: list[float] = []


@contextmanager
def setting(value: float) -> Any:
    _active.append(value)
    try:
        yield
    finally:
        _active.pop()


def test_what_a_context_of_the_program_provided_may_be_missing(tested: Any) -> None:
    import torch

    given, graph = torch.ones(4, device="cuda"), torch.cuda.CUDAGraph()
    with setting(2.0), torch.cuda.graph(graph):
        given.mul_(_active[-1] if _active else 1.0)
    graph.replay()
    assert tested.findings == []
    (unseen,) = tested.unseen
    assert "a difference may come from what `with setting(2.0)` of line" in unseen


def test_a_change_under_a_context_of_the_program_is_told(tested: Any) -> None:
    import torch

    given, graph, factor = torch.ones(4, device="cuda"), torch.cuda.CUDAGraph(), 2.0
    with setting(2.0), torch.cuda.graph(graph):
        given.mul_(factor)
    factor = 3.0
    graph.replay()
    assert factor == 3.0 and codes(tested) == ["CG402"]


def test_a_body_that_fails_when_run_again_says_so_and_leaves_nothing(tested: Any) -> None:
    import torch

    given, graph, names = torch.ones(4, device="cuda"), torch.cuda.CUDAGraph(), {"factor": 2.0}
    with torch.cuda.graph(graph):
        given.add_(1)
        out = given * names["factor"]
    graph.replay()
    names.clear()
    graph.replay()
    assert given.tolist() == [3] * 4 and out.tolist() == [6] * 4
    assert tested.findings == []
    (unseen,) = tested.unseen
    assert "its body raised KeyError when run again" in unseen


def _by_hand(given: Any) -> Any:
    import torch

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.stream(torch.cuda.Stream()):
        graph.capture_begin()
        given * 2
        graph.capture_end()
    graph.replay()


def _graphed(given: Any) -> Any:
    import torch

    torch.cuda.make_graphed_callables(lambda x: x * 2, (given,))(given)


def _compiled(given: Any) -> Any:
    import torch

    run = torch.compile(lambda x: x * 2, mode="reduce-overhead")
    for _ in range(3):
        run(given)


@pytest.mark.filterwarnings("ignore")  # of compilers
@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (_by_hand, "it stands between `capture_begin` and `capture_end`"),
        (_graphed, "it is made by `make_graphed_callables`"),
        (_compiled, "it is made for a compiled function"),
    ],
)
def test_captures_that_are_not_run_again_say_why_in_one_line(tested: Any, program: Any, reason: str) -> None:
    import torch

    program(torch.ones(4, device="cuda"))
    (unseen,) = [one for one in tested.unseen if one.startswith("shadow")]
    assert unseen.startswith(f"shadow: the captured code is not run again: {reason}")
    assert "\n" not in unseen and tested.findings == []


def test_a_local_function_that_calls_itself_is_remembered(tested: Any) -> None:
    import torch

    def power(exponent: int) -> float:
        return 2.0 * power(exponent - 1) if exponent else 1.0

    given, graph = torch.ones(4, device="cuda"), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = given * power(3)
    graph.replay()
    assert out.tolist() == [8.0] * 4
    # What older versions of torch do not let anybody see once something was compiled is no matter of the shadow.
    assert (tested.findings, [one for one in tested.unseen if one.startswith("shadow")]) == ([], [])
