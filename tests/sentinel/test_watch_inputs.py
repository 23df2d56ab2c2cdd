"""Programs whose graphs lose an input, beside those that keep it."""

from __future__ import annotations

from typing import Any

from tests.sentinel.capturing import capture


def codes(watching: Any) -> list[str]:
    return [finding.code for finding in watching.findings]


class Runner:
    """Doubles what its static input holds."""

    def __init__(self) -> None:
        import torch

        self.given = torch.ones(4, device="cuda")
        self.graph, self.out = capture(self.body)

    def body(self) -> Any:
        return self.given * 2


def test_a_static_input_is_rebound(watched: Any) -> None:
    import torch

    runner = Runner()
    runner.graph.replay()
    assert watched.findings == []
    runner.given = torch.zeros(4, device="cuda")
    runner.graph.replay()
    (found,) = watched.findings
    assert (found.code, found.confidence, found.graph > 0, found.replay) == ("CG101", "definite", True, 2)
    assert "`self.given` is bound to another tensor" in found.message
    assert any(place.function == "Runner.__init__" for place in found.captured)
    assert found.replayed[0].function.endswith("test_a_static_input_is_rebound")


def test_the_line_of_the_operation_is_shown(watched: Any) -> None:
    from graphlint.sentinel.virtual.device import active

    runner = Runner()
    del runner.given
    runner.graph.replay()
    (found,) = watched.findings
    assert not active() or found.captured[0].function.endswith("body")


def test_a_static_input_is_written(watched: Any) -> None:
    import torch

    runner = Runner()
    for value in range(3):
        runner.given.copy_(torch.full((4,), float(value)))
        runner.graph.replay()
        assert runner.out.tolist() == [2.0 * value] * 4
    assert watched.findings == []


def test_the_old_tensor_lives_on_in_a_local(watched: Any) -> None:
    import torch

    runner = Runner()
    kept = runner.given
    runner.given = torch.zeros(4, device="cuda")
    runner.graph.replay()
    assert codes(watched) == ["CG101"] and kept is not None


def test_one_of_two_buffers_takes_its_turn(watched: Any) -> None:
    import torch

    runner = Runner()
    both = [runner.given, torch.zeros(4, device="cuda")]
    runner.given = both[1]
    runner.graph.replay()
    assert watched.findings == [] and both


def test_a_local_of_the_function_that_captured(watched: Any) -> None:
    import torch

    def build() -> Any:
        given = torch.ones(4, device="cuda")
        return capture(lambda: given * 2)

    graph, _ = build()
    graph.replay()
    (found,) = watched.findings
    assert found.code == "CG103"
    assert "`given`" in found.message


def test_a_local_that_the_caller_keeps(watched: Any) -> None:
    import torch

    def build(given: Any) -> Any:
        return capture(lambda: given * 2)

    mine = torch.ones(4, device="cuda")
    graph, _ = build(mine)
    graph.replay()
    assert watched.findings == []


def test_weights_get_new_memory(watched: Any) -> None:
    import torch

    layer, given = torch.nn.Linear(4, 4).cuda(), torch.ones(2, 4, device="cuda")
    with torch.no_grad():
        layer(given)
        graph, _ = capture(lambda: layer(given))
    graph.replay()
    layer.weight.data = torch.zeros(4, 4, device="cuda")
    graph.replay()
    (found,) = watched.findings
    assert found.code == "CG102" and "`layer.weight` has new memory" in found.message


def test_weights_are_assigned_from_a_state(watched: Any) -> None:
    import torch

    layer, given = torch.nn.Linear(4, 4).cuda(), torch.ones(2, 4, device="cuda")
    with torch.no_grad():
        layer(given)
        graph, _ = capture(lambda: layer(given))
    state = {name: value.clone() for name, value in layer.state_dict().items()}
    layer.load_state_dict(state)
    graph.replay()
    assert watched.findings == []
    layer.load_state_dict(state, assign=True)
    graph.replay()
    (found,) = watched.findings
    assert found.code == "CG102" and "weight`" in found.message and "bias`" in found.message


def test_an_item_of_a_dict_is_replaced(watched: Any) -> None:
    import torch

    held = {"ids": torch.ones(4, device="cuda"), "mask": torch.ones(4, device="cuda")}
    graph, _ = capture(lambda: held["ids"] * held["mask"])
    held["mask"].zero_()
    graph.replay()
    assert watched.findings == []
    held["mask"] = torch.ones(4, device="cuda")
    graph.replay()
    (found,) = watched.findings
    assert found.code == "CG101" and "`held['mask']`" in found.message


def test_pinned_memory_of_a_recorded_copy_is_dropped(watched: Any) -> None:
    import torch

    into = torch.zeros(4, device="cuda")

    def build() -> Any:
        host = torch.ones(4).pin_memory()
        return capture(lambda: into.copy_(host, non_blocking=True))

    graph, _ = build()
    graph.replay()
    assert codes(watched) == ["CG103"]


def test_the_same_finding_is_counted(watched: Any) -> None:
    import torch

    runner = Runner()
    runner.given = torch.zeros(4, device="cuda")
    for _ in range(3):
        runner.graph.replay()
    (found,) = watched.findings
    assert found.times == 3


def test_inputs_that_the_garbage_collector_was_told_to_forget(watched: Any) -> None:
    import gc

    gc.freeze()
    try:
        runner = Runner()
        runner.graph.replay()
    finally:
        gc.unfreeze()
    assert watched.findings == []


class Wrapper:
    """Captures with the arguments of its first call."""

    def __init__(self, copies: bool) -> None:
        self.graph: Any = None
        self.copies = copies

    def __call__(self, x: Any, extra: dict[str, Any]) -> Any:
        if self.graph is None:
            self.x, self.extra = x, extra
            self.graph, self.out = capture(lambda: x * extra["scale"])
        else:
            self.x.copy_(x)
            if self.copies:
                self.extra["scale"].copy_(extra["scale"])
        self.graph.replay()
        return self.out.clone()


def test_an_argument_of_a_later_call_is_ignored(tested: Any) -> None:
    import torch

    run = Wrapper(copies=False)
    for value in (1.0, 2.0):
        run(torch.full((2,), value, device="cuda"), {"scale": torch.full((2,), value, device="cuda")})
    (found,) = tested.findings
    assert found.code == "CG101" and "`extra['scale']` of an earlier call" in found.message


def test_every_argument_of_a_later_call_is_copied(tested: Any) -> None:
    import torch

    run = Wrapper(copies=True)
    for value in (1.0, 2.0, 3.0):
        scale = {"scale": torch.full((2,), value, device="cuda")}
        assert run(torch.full((2,), value, device="cuda"), scale).tolist() == [value * value] * 2
    assert tested.findings == []


def part(given: Any, size: int) -> Any:
    return lambda: given[:size] + 1


def test_each_graph_of_a_pool_is_larger_than_the_last(watched: Any) -> None:
    import torch

    given = torch.ones(4096, device="cuda")
    pool = torch.cuda.graph_pool_handle()
    graphs = [capture(part(given, size), pool=pool) for size in (1024, 2048, 4096)]
    (found,) = watched.findings
    assert (found.code, found.level) == ("CG601", "warning") and graphs


def test_each_graph_of_a_pool_is_smaller_than_the_last(watched: Any) -> None:
    import torch

    given = torch.ones(4096, device="cuda")
    pool = torch.cuda.graph_pool_handle()
    graphs = [capture(part(given, size), pool=pool) for size in (4096, 2048, 1024)]
    assert watched.findings == [] and graphs


def test_graphs_that_all_fit_into_one_block_make_no_pool_grow(watched: Any) -> None:
    import torch

    given = torch.ones(64, device="cuda")
    pool = torch.cuda.graph_pool_handle()
    graphs = [capture(part(given, size), pool=pool) for size in (8, 16, 32)]
    assert watched.findings == [] and graphs


def test_torch_chooses_the_order_of_captures(watched: Any) -> None:
    import torch

    wide = [torch.nn.Linear(256, 1).cuda(), torch.nn.Linear(256, 512).cuda()]
    samples = [(torch.randn(size, 256, device="cuda"),) for size in (200, 400)]
    graphs = torch.cuda.make_graphed_callables(tuple(wide), tuple(samples))
    assert watched.findings == [] and graphs


def test_a_local_is_bound_to_another_tensor_and_the_old_one_has_another_name(watched: Any) -> None:
    import torch

    given = torch.ones(4, device="cuda")
    kept = given
    graph, _ = capture(lambda: given * 2)
    given = torch.zeros(4, device="cuda")
    graph.replay()
    assert codes(watched) == ["CG101"] and kept is not None


def backward_of(parameter: Any) -> Any:
    graph, _ = capture(lambda: (parameter * 2).sum().backward())
    return graph


def test_gradients_are_dropped_after_the_capture(watched: Any) -> None:
    import torch

    from graphlint.sentinel.virtual.device import active

    parameter = torch.nn.Parameter(torch.ones(4, device="cuda"))
    graph = backward_of(parameter)
    graph.replay()
    assert watched.findings == []
    if not active():
        return  # on a GPU it is not known which of its inputs a graph writes
    parameter.grad = None
    graph.replay()
    (found,) = watched.findings
    assert found.code == "CG802" and "`parameter.grad` is None" in found.message


def test_gradients_are_set_to_zero(watched: Any) -> None:
    import torch

    parameter = torch.nn.Parameter(torch.ones(4, device="cuda"))
    optimizer = torch.optim.SGD([parameter], lr=0.1)
    graph = backward_of(parameter)
    for _ in range(2):
        optimizer.zero_grad(set_to_none=False)
        graph.replay()
        optimizer.step()
    assert watched.findings == []


def test_the_graph_has_its_own_optimizer(watched: Any) -> None:
    import torch

    parameter = torch.nn.Parameter(torch.ones(4, device="cuda"))
    optimizer = torch.optim.SGD([parameter], lr=0.1)

    def body() -> None:
        (parameter * 2).sum().backward()
        optimizer.step()

    graph, _ = capture(body)
    graph.replay()
    optimizer.zero_grad(set_to_none=True)
    graph.replay()
    assert watched.findings == []


def cast_before(cache: bool) -> Any:
    import torch

    layer, given = torch.nn.Linear(4, 4).cuda(), torch.ones(2, 4, device="cuda")
    with torch.autocast("cuda", dtype=torch.float16, cache_enabled=cache):
        layer(given)
        graph, _ = capture(lambda: layer(given))
        graph.replay()
    return layer


def test_a_weight_was_cast_before_the_capture(canary: Any) -> None:
    """On a GPU operations have to be looked at: only then does Python know what autocast has made."""
    assert cast_before(cache=True) is not None
    assert set(codes(canary)) == {"CG801"}


def test_weights_are_cast_by_the_graph(watched: Any) -> None:
    assert cast_before(cache=False) is not None
    assert watched.findings == []


def test_the_line_that_lets_an_input_go_is_shown(watched: Any) -> None:
    runner = Runner()
    runner.given = runner.given + 1
    runner.graph.replay()
    (found,) = watched.findings
    assert found.touched[0].line == found.replayed[0].line - 1


def test_an_input_that_the_collector_ends_is_let_go_at_no_line(watched: Any) -> None:
    import gc

    import torch

    def recorded() -> Any:
        cycle: dict[str, Any] = {"given": torch.ones(4, device="cuda")}
        cycle["self"] = cycle
        return capture(lambda: cycle["given"] * 2)

    graph, _ = recorded()
    gc.collect()
    graph.replay()
    (found,) = watched.findings
    assert (found.code, found.touched) == ("CG103", ())
