"""Programs that come to their capture late, and registries that a base class fills by its hook."""

from __future__ import annotations

from tests.programs import check_marked_rules

STEPPER = """
    import torch

    class OnDemand:
        def __init__(self, work):
            self.work, self.rounds, self.graph, self.out = work, 0, None, None

        def run(self):
            self.rounds += 1
            if self.rounds <= 3:
                return self.work()
            if self.graph is None:
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph):
                    self.out = self.work()
                self.graph = graph
            self.graph.replay()
            return self.out

    def main():
        x = torch.zeros(8, device="cuda")
        runner, seen = OnDemand(lambda: x * 2), []
        for turn in range(4000):
            KEEP
        return torch.stack(seen)
"""


def test_what_a_loop_keeps_after_its_late_capture_is_found() -> None:
    check_marked_rules(STEPPER.replace("KEEP", "seen.append(runner.run())  # expect: CG201"))


def test_copies_of_it_are_fine_and_one_guarded_capture_is_not_thousands() -> None:
    check_marked_rules(STEPPER.replace("KEEP", "seen.append(runner.run().clone())  # ok: CG201, CG607"))


REGISTRY = {
    "parts/base.py": """
        TABLE = {}

        class Step:
            key = ""

            def __init_subclass__(cls, **more):
                super().__init_subclass__(**more)
                TABLE[cls.key] = cls
    """,
    "parts/kinds.py": """
        from .base import Step

        class Loud(Step):
            key = "loud"

            def run(self, x):
                return x.sum().item()  # expect: CG302

        class Quiet(Step):
            key = "quiet"

            def run(self, x):
                return x.sum()
    """,
    "parts/main.py": """
        import torch
        from .base import TABLE

        x = torch.ones(4, device="cuda")
        step = TABLE["loud"]()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = step.run(x)
    """,
}


def test_a_registry_that_the_hook_of_a_base_class_fills_is_followed() -> None:
    check_marked_rules(REGISTRY)


def test_only_the_class_that_is_asked_for_is_run() -> None:
    quiet = REGISTRY["parts/main.py"].replace("loud", "quiet")
    kinds = REGISTRY["parts/kinds.py"].replace("expect", "ok")
    check_marked_rules({**REGISTRY, "parts/main.py": quiet, "parts/kinds.py": kinds})
