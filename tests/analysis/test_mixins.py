"""A class that is only mixed into others is lived through as those: its fields are set up there."""

from __future__ import annotations

import pytest

from tests.programs import captured, check_marks

ACTOR = {
    "noise.py": """
        import torch

        class GraphMixin:
            def act(self):
                noise = torch.randn(8, generator=self.noise, device="cuda")  # {mark}: CG503
                return self.scale(self.obs + noise)

            def capture(self):
                torch.cuda.synchronize()
                self.graph = torch.cuda.CUDAGraph()
                {register}
                with torch.cuda.graph(self.graph):
                    self.action = self.act()
    """,
    "actor.py": """
        import torch
        from noise import GraphMixin

        class Actor(GraphMixin):
            def __init__(self, seed):
                self.obs = torch.zeros(8, device="cuda")
                self.noise = torch.Generator(device="cuda").manual_seed(seed)

            def scale(self, x):
                return x * 2

            def step(self, obs):
                self.obs.copy_(obs)
                self.graph.replay()
                return self.action.clone()

        def main(env):
            actor = Actor(1)
            actor.act()
            actor.capture()
            return actor.step(env.reset())
    """,
}


def _actor(mark: str, register: str) -> dict[str, str]:
    return {
        name: text.replace("{mark}", mark).replace("{register}", register) for name, text in ACTOR.items()
    }


def test_a_mixin_has_the_fields_of_the_class_that_it_is_mixed_into() -> None:
    check_marks(_actor("expect", "pass"))
    check_marks(_actor("ok", "self.graph.register_generator_state(self.noise)"))


def test_a_mixin_calls_the_methods_of_the_class_that_it_is_mixed_into() -> None:
    assert captured(_actor("expect", "pass")) == {"Actor.scale", "GraphMixin.act"}


def test_a_class_without_subclasses_is_lived_through_as_itself() -> None:
    check_marks(
        """
        import torch

        class Runner:
            def capture(self):
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph):
                    self.y = torch.ones(4, device="cuda").nonzero()  # expect: CG305
        """
    )


def test_what_a_method_is_given_is_no_class_of_its_own_family() -> None:
    program = """
        import torch

        class Stepping:
            def step(self):
                self.net.zero_grad(set_to_none=True)  # ok: CG802
                self.net(self.x).sum().backward()

            def capture(self):
                self.step()
                torch.cuda.synchronize()
                with torch.cuda.graph(self.graph):
                    self.step()

            def epoch(self, loader, opt):
                for x in loader:
                    self.x.copy_(x)
                    self.graph.replay()
                    opt.step()

        class Runner(Stepping):
            def __init__(self, net):
                self.net = net
                self.x = torch.zeros(8, device="cuda")
                self.graph = torch.cuda.CUDAGraph()
    """
    check_marks(program)


RUNNERS = {
    "runner.py": """
        import torch

        class Runner:
            def __init__(self):
                self.x = torch.zeros(8, device="cuda")
                self.eager = False

            def capture(self):
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph):
                    if not self.eager:
                        torch.cuda.synchronize()  # {mark}: CG301
                    self.y = self.x * 2

            def step(self):
                self.graph.replay()
                return self.y.clone()
    """,
    "host.py": """
        from runner import Runner

        class HostRunner(Runner):
            def __init__(self):
                super().__init__()
                self.eager = True

        def host():
            runner = HostRunner()
            print(runner)
    """,
    "main.py": """
        {imported}

        def main():
            runner = {made}
            print(runner)
    """,
}


@pytest.mark.parametrize(
    ("imported", "made", "mark"),
    [
        ("from runner import Runner as FirstRunner", "FirstRunner()", "expect"),
        ("from runner import Runner", "Runner()", "expect"),
        ("from host import HostRunner as FirstRunner", "FirstRunner()", "ok"),
    ],
)
def test_a_class_that_is_made_under_another_name_is_lived_through_as_itself(
    imported: str, made: str, mark: str
) -> None:
    given = {"{imported}": imported, "{made}": made, "{mark}": mark}
    files = dict(RUNNERS)
    for word, text in given.items():
        files = {name: each.replace(word, text) for name, each in files.items()}
    check_marks(files)
