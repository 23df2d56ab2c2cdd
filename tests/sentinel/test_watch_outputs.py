"""Programs that read what a later replay has overwritten, beside those that do not."""

from __future__ import annotations

from typing import Any

from tests.sentinel.capturing import capture


def codes(watching: Any) -> list[str]:
    return [finding.code for finding in watching.findings]


class Runner:
    """Doubles what it is given and returns a part of its static output."""

    def __init__(self) -> None:
        import torch

        self.given = torch.ones(4, device="cuda")
        self.graph, self.out = capture(lambda: self.given * 2)

    def __call__(self, value: float) -> Any:
        self.given.fill_(value)
        self.graph.replay()
        return self.out[:2]


def test_a_result_is_kept_and_read_after_the_next_replay(tested: Any) -> None:
    runner = Runner()
    first = runner(1.0)
    second = runner(2.0)
    (first + second).tolist()
    (found,) = tested.findings
    assert (found.code, found.confidence) == ("CG201", "definite")
    assert found.touched[0].function.endswith("__call__")
    assert found.replayed[0].function.endswith("after_the_next_replay")


def test_a_result_is_copied(tested: Any) -> None:
    runner = Runner()
    first = runner(1.0).clone()
    second = runner(2.0)
    assert (first + second).tolist() == [6.0, 6.0]
    assert tested.findings == []


def test_each_result_is_used_before_the_next_replay(tested: Any) -> None:
    runner = Runner()
    total = 0.0
    for value in range(3):
        out = runner(float(value))
        total += out.sum().item()
    assert total == 12.0 and tested.findings == []


def test_a_view_of_an_old_result_is_as_old(tested: Any) -> None:
    runner = Runner()
    first = runner(1.0)
    runner(2.0)
    first[:1].item()
    assert codes(tested) == ["CG201"]


def test_a_view_made_before_the_first_replay_shows_the_last_one(tested: Any) -> None:
    runner = Runner()
    view = runner.out[1:]
    runner(1.0)
    runner(2.0)
    assert view.sum().item() == 12.0 and tested.findings == []


def test_reads_that_no_mode_sees(tested: Any) -> None:
    import torch

    runner = Runner()
    for read in (repr, torch.Tensor.tolist, torch.Tensor.cpu, lambda t: t.__dlpack__()):
        before = len(tested.findings)
        first = runner(1.0)
        runner(2.0)
        read(first)
        assert len(tested.findings) == before + 1 or tested.findings[-1].times > 1, read


def test_reads_in_another_thread(tested: Any) -> None:
    import threading

    runner = Runner()
    first = runner(1.0)
    runner(2.0)
    thread = threading.Thread(target=lambda: first.sum())
    thread.start()
    thread.join()
    assert codes(tested) == ["CG201"]


def test_one_output_is_stacked_as_if_it_were_three(tested: Any) -> None:
    import torch

    given = torch.ones(2, device="cuda")
    graph, out = capture(lambda: given * 2)
    results = []
    for value in range(3):
        given.fill_(value)
        graph.replay()
        results.append(out)
    torch.stack(results)
    assert set(codes(tested)) == {"CG201"}
    assert any("is read 3 times" in finding.message for finding in tested.findings)


def test_an_output_is_overwritten_by_another_graph_of_the_pool(tested: Any) -> None:
    import torch

    given = torch.ones(4, device="cuda")
    first, one = capture(lambda: (given + 1) + 1)
    second, two = capture(lambda: given * 4, pool=first.pool())
    second.replay()
    first.replay()
    assert one.tolist() == [3.0] * 4
    assert tested.findings == []
    two.sum()
    assert codes(tested) == ["CG604"]


def test_graphs_of_a_pool_in_the_order_of_capture(tested: Any) -> None:
    import torch

    given = torch.ones(4, device="cuda")
    first, one = capture(lambda: (given + 1) + 1)
    second, two = capture(lambda: given * 4, pool=first.pool())
    for _ in range(2):
        first.replay()
        assert one.tolist() == [3.0] * 4
        second.replay()
        assert two.tolist() == [4.0] * 4
    assert tested.findings == []


def test_a_graph_takes_the_output_of_another_as_its_input(tested: Any) -> None:
    import torch

    given = torch.ones(4, device="cuda")
    first, one = capture(lambda: given + 1)
    second, two = capture(lambda: one * 2, pool=first.pool())
    for _ in range(2):
        first.replay()
        second.replay()
    assert two.tolist() == [4.0] * 4 and tested.findings == []


def test_raw_pointers_are_said_to_be_unseen(tested: Any) -> None:
    runner = Runner()
    runner.out.data_ptr()
    assert tested.unseen == ["reads through `data_ptr()` of an output are not seen"]


class Whole(Runner):
    """Returns the very tensor that the graph writes."""

    def __call__(self, value: float) -> Any:
        self.given.fill_(value)
        self.graph.replay()
        return self.out


def test_one_tensor_is_named_as_two_results(tested: Any) -> None:
    run = Whole()
    first = run(1.0)
    second = run(2.0)
    (first - second).tolist()
    (found,) = tested.findings
    assert (found.code, found.confidence) == ("CG201", "likely")
    assert "`first` is the result of replay 1" in found.message


def test_one_name_is_given_to_each_result(tested: Any) -> None:
    run = Whole()
    out = run(1.0)
    total = out.sum().item()
    for value in (2.0, 3.0):
        out = run(value)
        total += out.sum().item()
    assert total == 48.0 and tested.findings == []


def test_a_result_is_copied_under_its_own_name(tested: Any) -> None:
    run = Whole()
    first = run(1.0)
    first = first.clone()
    second = run(2.0)
    assert (second - first).tolist() == [2.0] * 4 and tested.findings == []


class Module:
    """Keeps an intermediate result under a name."""

    def __init__(self) -> None:
        import torch

        self.given = torch.ones(4, device="cuda")
        self.graph, self.out = capture(self.body)

    def body(self) -> Any:
        self.hidden = self.given * 2
        return self.hidden + 1


def test_the_name_of_a_result_is_given_to_another_tensor(tested: Any) -> None:
    import torch

    module = Module()
    module.hidden = torch.zeros(4, device="cuda")
    module.graph.replay()
    module.hidden.clone()
    (found,) = tested.findings
    assert (
        found.code == "CG101"
        and "`self.hidden` is bound to another tensor, but replays fill" in found.message
    )


def test_eager_code_keeps_its_own_result_under_that_name(tested: Any) -> None:
    module = Module()
    eager = module.body()
    module.graph.replay()
    (eager + module.out).sum()
    assert tested.findings == []


def test_a_name_of_the_static_output_shows_the_last_result(tested: Any) -> None:
    run = Whole()
    run(1.0)
    static = run.out
    for value in (2.0, 3.0):
        run(value)
        static.sum().item()
    assert tested.findings == []


def test_the_last_result_is_compared_with_the_one_before(tested: Any) -> None:
    run = Whole()
    before = None
    for value in (1.0, 2.0, 3.0):
        now = run(value)
        if before is not None:
            (now - before).abs()
        before = now
    assert set(codes(tested)) == {"CG201"}
    assert "`before` is the result of replay 1" in tested.findings[0].message


def test_the_result_before_is_kept_first(tested: Any) -> None:
    run = Whole()
    now = before = None
    for value in (1.0, 2.0, 3.0):
        before = now
        now = run(value)
        if before is not None:
            before.sum()
    assert set(codes(tested)) == {"CG201"}


def test_a_second_name_is_given_to_each_result(tested: Any) -> None:
    run = Whole()
    for value in (1.0, 2.0, 3.0):
        result = run(value)
        logits = result
        logits.sum()
        (logits + result).sum()
    assert tested.findings == []


def test_a_second_name_is_read_before_the_next_result_comes(tested: Any) -> None:
    run = Whole()
    now = run(1.0)
    for value in (2.0, 3.0):
        seen = now
        seen.sum()
        now = run(value)
    assert tested.findings == []


def test_the_result_before_is_a_copy(tested: Any) -> None:
    run = Whole()
    before = None
    for value in (1.0, 2.0, 3.0):
        now = run(value)
        if before is not None:
            assert (now - before).tolist() == [2.0] * 4
        before = now.clone()
    assert tested.findings == []


def test_a_result_is_compared_with_itself_under_an_attribute(tested: Any) -> None:
    run = Whole()
    run.last = run(1.0)  # type: ignore[attr-defined]
    now = run(2.0)
    (now - run.last).abs()  # type: ignore[attr-defined]
    assert codes(tested) == ["CG201"]


def test_results_in_a_dict_are_compared(tested: Any) -> None:
    import torch

    run = Whole()
    results = {name: run(value) for name, value in (("a", 1.0), ("b", 2.0))}
    torch.nn.functional.mse_loss(results["a"], results["b"])
    assert codes(tested) == ["CG201"]


def test_a_result_is_multiplied_by_itself_and_asked_for_nan(tested: Any) -> None:
    run = Whole()
    for value in (1.0, 2.0):
        out = run(value)
        assert not (out * out != out * out).any().item()
        (out != out).any().item()
        (out - out.mean()).sum()
    assert tested.findings == []


_SCRIPT = """
first = run(1.0)
second = run(2.0)
(second + first).sum()
"""
_RIGHT_SCRIPT = """
for value in (1.0, 2.0, 3.0):
    out = run(value)
    out.sum()
    last = out
    last.sum()
"""


def test_names_of_a_script(tested: Any) -> None:
    exec(compile(_RIGHT_SCRIPT, "script.py", "exec"), {"run": Whole()})
    assert tested.findings == []
    exec(compile(_SCRIPT, "script.py", "exec"), {"run": Whole()})
    (found,) = tested.findings
    assert found.code == "CG201" and "`first` is the result of replay 1" in found.message
