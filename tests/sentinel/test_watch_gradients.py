"""Captured backward passes that add to gradients of an earlier one."""

from __future__ import annotations

from typing import Any

from tests.sentinel.capturing import capture
from tests.sentinel.watching import codes


class Trainer:
    """Captures a backward pass while a gradient is there already."""

    def __init__(self, body: Any = None) -> None:
        import torch

        self.weight = torch.nn.Parameter(torch.ones(4, device="cuda"))
        self.given = torch.ones(4, device="cuda")
        self.backward()
        self.graph, _ = capture(lambda: (body or Trainer.backward)(self))
        self.optimizer = torch.optim.SGD([self.weight], lr=0.1)

    def backward(self) -> None:
        (self.weight * self.given).sum().backward()

    def cleared(self) -> None:
        self.optimizer_free_zero()
        self.backward()

    def optimizer_free_zero(self) -> None:
        assert self.weight.grad is not None
        self.weight.grad.zero_()


def test_an_optimizer_steps_and_nothing_clears_the_gradients(tested: Any) -> None:
    trainer = Trainer()
    for _ in range(3):
        trainer.graph.replay()
        trainer.optimizer.step()
    assert trainer.weight.grad is not None and trainer.weight.grad.tolist() == [4.0] * 4
    (found,) = tested.findings
    assert (found.code, found.check, found.confidence) == ("CG803", "accumulating-gradients", "likely")
    assert "adds to `self.weight.grad`" in found.message and found.touched


def test_the_gradients_are_set_to_zero_between_the_steps(tested: Any) -> None:
    trainer = Trainer()
    for _ in range(3):
        trainer.optimizer.zero_grad(set_to_none=False)
        trainer.graph.replay()
        trainer.optimizer.step()
    assert tested.findings == []


def test_the_gradients_of_several_batches_add_up(tested: Any) -> None:
    trainer = Trainer()
    for _ in range(2):
        trainer.optimizer.zero_grad(set_to_none=False)
        for _ in range(3):
            trainer.graph.replay()
            assert trainer.weight.grad is not None
            trainer.weight.grad.norm().item()
        trainer.optimizer.step()
    assert tested.findings == []


def test_the_graph_clears_its_gradients(tested: Any) -> None:
    trainer = Trainer(Trainer.cleared)
    for _ in range(3):
        trainer.graph.replay()
        trainer.optimizer.step()
    assert tested.findings == []


def test_the_graph_makes_its_gradients(tested: Any) -> None:
    import torch

    weight = torch.nn.Parameter(torch.ones(4, device="cuda"))
    given = torch.ones(4, device="cuda")
    graph, _ = capture(lambda: (weight * given).sum().backward())
    optimizer = torch.optim.SGD([weight], lr=0.1)
    for _ in range(3):
        graph.replay()
        optimizer.step()
    assert tested.findings == []


def test_the_step_is_a_graph_of_its_own(tested: Any) -> None:
    import torch

    trainer = Trainer()
    with torch.no_grad():
        step, _ = capture(lambda: trainer.weight.sub_(trainer.weight.grad))
    for _ in range(3):
        trainer.graph.replay()
        step.replay()
    assert set(codes(tested)) == {"CG803"}
