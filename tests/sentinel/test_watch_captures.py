"""Programs that do in a capture what a capture refuses or does not see, beside those that do not."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any

import pytest

from tests.sentinel.capturing import capture, quietly
from tests.sentinel.watching import codes


def swallowing(call: Callable[[], object]) -> None:
    with contextlib.suppress(RuntimeError):
        call()


def lose(body: Callable[[], object]) -> None:
    """Capture something that cannot be, and go on."""
    import torch

    stream = torch.cuda.current_stream()
    with pytest.raises(RuntimeError):
        capture(body)
    quietly(stream)


def line_of(function: Any) -> int:
    return int(function.__code__.co_firstlineno) + 1


def virtual() -> bool:
    from graphlint.sentinel.virtual.device import active

    return active()


def test_a_swallowed_item_loses_the_capture_at_its_line(tested: Any) -> None:
    import torch

    given = torch.ones(4, device="cuda")

    def body() -> None:
        swallowing(lambda: given.sum().item())

    lose(body)
    (found,) = tested.findings
    assert (found.code, found.check, found.graph) == ("CG302", "calls-in-capture", 0)
    assert "`.item()` is not permitted" in found.message and "the error is swallowed" in found.message
    assert line_of(body) in [place.line for place in found.touched]


def test_a_swallowed_copy_to_the_host_is_missing_from_the_graph(tested: Any) -> None:
    import torch

    given, kept = torch.ones(4, device="cuda"), []

    def body() -> Any:
        swallowing(lambda: kept.append(given.cpu()))
        return given * 2

    graph, out = capture(body)
    graph.replay()
    (found,) = tested.findings
    assert found.code == "CG508" and "missing from the graph" in found.message
    assert out.tolist() == [2] * 4 and kept == []


def test_a_copy_to_pinned_memory_is_recorded(tested: Any) -> None:
    import torch

    given, host = torch.ones(4, device="cuda"), torch.zeros(4).pin_memory()
    graph, _ = capture(lambda: host.copy_(given, non_blocking=True))
    graph.replay()
    assert tested.findings == []


def test_an_error_that_is_not_about_the_capture_is_the_program_s_own(tested: Any) -> None:
    import torch

    given = torch.ones(4, device="cuda")

    def body() -> Any:
        swallowing(lambda: given @ torch.ones(3, device="cuda"))
        return given * 2

    given @ given
    capture(body)
    assert tested.findings == []


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda given: given.cpu(), "CG306"),
        (lambda given: given.nonzero(), "CG305"),
        (lambda given: repr(given), "CG304"),
        (lambda given: _current().synchronize(), "CG301"),
    ],
)
def test_a_call_that_a_capture_refuses(tested: Any, call: Callable[[Any], object], code: str) -> None:
    import torch

    given = torch.ones(4, device="cuda")
    lose(lambda: (given * 2, call(given)))
    assert codes(tested) == [code]
    assert "swallowed" not in tested.findings[0].message


def _current() -> Any:
    import torch

    return torch.cuda.current_stream()


def test_a_generator_that_is_not_registered(tested: Any) -> None:
    import torch

    given, generator = torch.ones(4, device="cuda"), torch.Generator("cuda")
    lose(lambda: (given * 2, torch.rand(1, device="cuda", generator=generator)))
    assert codes(tested) == ["CG503"]


def test_mode_watch_names_waiting_calls(watched: Any) -> None:
    import torch

    given = torch.ones(4, device="cuda")

    def body() -> None:
        given.mul_(2)
        swallowing(torch.cuda.synchronize)

    lose(body)
    (found,) = watched.findings
    assert found.code == "CG301" and "`torch.cuda.synchronize()` is not permitted" in found.message


def test_the_same_calls_outside_a_capture(tested: Any) -> None:
    import torch

    given = torch.ones(4, device="cuda")
    capture(lambda: given * 2)
    given.cpu(), given.nonzero(), repr(given), _current().synchronize()
    assert tested.findings == []


def test_another_thread_waits_for_the_device(tested: Any) -> None:
    import torch

    given = torch.ones(4, device="cuda")

    def body() -> None:
        given.mul_(2)
        thread = threading.Thread(target=swallowing, args=(torch.cuda.synchronize,))
        thread.start()
        thread.join()

    lose(body)
    (found,) = tested.findings
    assert found.code == "CG502" and "`torch.cuda.synchronize()` on another thread" in found.message


def test_work_on_a_stream_that_was_not_forked(tested: Any) -> None:
    import torch

    given, side = torch.zeros(4, device="cuda"), torch.cuda.Stream()

    def body() -> Any:
        with torch.cuda.stream(side):
            given.add_(1)
        return given * 2

    graph, _ = capture(body)
    graph.replay()
    assert given.tolist() == [1] * 4
    (found,) = tested.findings
    assert found.code == "CG501" and "`.add_()` runs on a stream that is not captured" in found.message
    assert found.touched[0].line == line_of(body) + 1


def test_work_on_a_stream_that_was_forked(tested: Any) -> None:
    import torch

    given, side = torch.zeros(4, device="cuda"), torch.cuda.Stream()

    def body() -> None:
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            given.add_(1)
        torch.cuda.current_stream().wait_stream(side)

    graph, _ = capture(body)
    graph.replay()
    assert given.tolist() == [1] * 4
    assert tested.findings == []


def test_the_generator_after_a_capture_that_was_lost(tested: Any) -> None:
    import torch

    given = torch.ones(4, device="cuda")
    lose(lambda: given.sum().item())
    assert tested.findings[0].message.endswith("The random number generator cannot be used any more")


def test_a_first_matrix_product_inside_a_capture(tested: Any) -> None:
    import torch

    if torch.version.cuda is not None and not virtual():
        pytest.skip("on a GPU other tests have made the library ready")

    given = torch.ones(4, 4, device="cuda")
    lose(lambda: given @ given)
    assert codes(tested) == ["CG701"]
