"""CG503 and CG505: generators and random state in captured code."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules, check_marks

SAMPLER = """
import torch


class Noise(torch.nn.Module):
    def __init__(self, generator):
        super().__init__()
        self.generator = generator

    def forward(self, x):
        return x + torch.empty_like(x).normal_(generator=self.generator)  # {mark}: CG503


class Sampler:
    def __init__(self, seed):
        self.used = torch.Generator(device="{device}").manual_seed(seed)
        self.other = torch.Generator(device="cuda").manual_seed(seed + 1)
        self.noise = Noise(self.used)
        self.x = torch.zeros(4, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def capture(self):
        {register}
        with torch.cuda.graph(self.graph):
            self.y = self.noise(self.x)

    def step(self):
        self.x.normal_(generator=self.other)
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(
    ("register", "mark"),
    [
        ("pass", "expect"),
        ("self.graph.register_generator_state(self.used)", "ok"),
        ("self.graph.register_generator_state(self.other)", "expect"),
    ],
)
def test_a_generator_in_a_field_of_another_object(register: str, mark: str) -> None:
    check_marks(SAMPLER.format(device="cuda", register=register, mark=mark))


def test_a_generator_on_the_cpu_is_another_matter() -> None:
    check_marks(SAMPLER.format(device="cpu", register="pass", mark="ok"))


FUNCTION = """
import torch


def build(net, generator):
    x = torch.zeros(4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    {register}
    with torch.cuda.graph(graph):
        y = net(x) * torch.bernoulli(x, generator={given})  # {mark}: CG503
    graph.replay()
    return y.clone()
"""


@pytest.mark.parametrize(
    ("given", "register", "mark"),
    [
        ("generator", "pass", "expect"),
        ("generator", "graph.register_generator_state(generator)", "ok"),
        ("None", "pass", "ok"),
        ("torch.cuda.default_generators[0]", "pass", "ok"),
    ],
)
def test_a_generator_that_is_passed_in(given: str, register: str, mark: str) -> None:
    check_marks(FUNCTION.format(given=given, register=register, mark=mark))


SEEDING = """
import torch


def build(net, state):
    x = torch.zeros(4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    {before}
    with torch.cuda.graph(graph):
        {inside}  # {mark}: CG505
        y = torch.nn.functional.dropout(net(x))
    graph.replay()
    return y.clone()
"""


@pytest.mark.parametrize(
    "call",
    [
        "torch.manual_seed(3)",
        "torch.cuda.manual_seed_all(3)",
        "torch.cuda.set_rng_state(state)",
        "kept = torch.cuda.get_rng_state()",
        "torch.seed()",
    ],
)
def test_python_touches_random_state(call: str) -> None:
    check_marks(SEEDING.format(before="pass", inside=call, mark="expect"))
    check_marks(SEEDING.format(before=call, inside="pass", mark="ok"))


@pytest.mark.parametrize(
    ("save", "restore", "mark"),
    [
        ("torch.get_rng_state()", "torch.set_rng_state", "ok"),
        ("torch.random.get_rng_state()", "torch.random.set_rng_state", "ok"),
        ("torch.cuda.get_rng_state()", "torch.cuda.set_rng_state", "expect"),
    ],
)
def test_only_the_state_of_the_device_is_a_matter_of_kernels(save: str, restore: str, mark: str) -> None:
    program = f"""
        import torch

        class Kept:
            def __init__(self):
                self.x = torch.zeros(4, device="cuda")

            def body(self):
                state = {save}  # {mark}: CG505
                y = self.x * 2
                {restore}(state)  # {mark}: CG505
                return y

            def capture(self):
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph):
                    self.y = self.body()
        """
    check_marked_rules(program)
