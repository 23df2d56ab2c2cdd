"""Values that nest and share their parts are read once a part, not once a way to it."""

from __future__ import annotations

from graphlint.analysis.parts import cells_of, change_of
from graphlint.analysis.values import Change, Const, Host, Sequence_, Union, Value
from tests.programs import check_marks


def _shared(leaf: Value, depth: int) -> Value:
    value = leaf
    for _ in range(depth):
        value = Union((Sequence_((value, value), "list"), Sequence_((value,), "tuple")))
    return value


def test_the_change_of_a_deep_value_is_that_of_its_most_changing_part() -> None:
    assert change_of(_shared(Host("int", Change.CHANGING), 100)) is Change.CHANGING
    assert change_of(_shared(Host("int", Change.CONFIG), 100)) is Change.CONFIG


def test_the_cells_of_a_deep_value_are_those_of_its_parts() -> None:
    assert cells_of(_shared(Const(1, frozenset({(1, "size")})), 100)) == {(1, "size")}


def test_a_function_that_rebuilds_nested_outputs_is_run_to_its_end() -> None:
    check_marks(
        """
        import torch

        def like(output):
            if torch.is_tensor(output):
                return torch.empty_like(output)
            if isinstance(output, (list, tuple)) and output:
                parts = [like(part) for part in output]
                return tuple(parts) if isinstance(output, tuple) else parts
            return None

        class Runner:
            def capture(self, forward):
                self.output = like(forward())
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph):
                    self.result = forward()
                    torch.cuda.synchronize()  # expect: CG301
                self.graph = graph
        """
    )
