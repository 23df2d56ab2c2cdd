"""What a program makes once: compiled methods, and the captures of a constructor."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules

METHOD = """
    import torch
    from torch import nn

    class Scale(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(8))

        @torch.compile
        def scaled(self, x):
            return x * self.weight

        def forward(self, x):
            return self.scaled(x)  # {mark}: CG702

    def main():
        net, other = Scale().cuda(), Scale().cuda()
        x = torch.zeros(4, 8, device="cuda")
        {warmup}
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = net(x)
        graph.replay()
        return y.clone()
    """


@pytest.mark.parametrize(("warmup", "mark"), [("net(x)", "ok"), ("pass", "expect")])
def test_a_compiled_method_stays_compiled(warmup: str, mark: str) -> None:
    check_marked_rules(METHOD.format(warmup=warmup, mark=mark))


CONSTRUCTOR = """
    import torch

    class Runner:
        def __init__(self, model, shift: int):
            torch.set_default_device("{during}")
            self.model = model.cuda()
            self.shift = shift
            self.capture()
            torch.set_default_device("cpu")

        def capture(self):
            tokens = torch.zeros(8, dtype=torch.long)
            self.model(tokens.cuda())
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                {work}
            self.tokens = tokens

        def step(self, tokens):
            self.tokens.copy_(tokens)
            if self.shift > 1:
                return self.run()

        def run(self):
            return self.out

        def generate(self, prompts):
            for prompt in prompts:
                self.step(prompt)
    """


@pytest.mark.parametrize(
    ("during", "work"),
    [
        ("cuda", "self.out = self.model((tokens * 2).cuda())  # ok: CG306"),
        ("cpu", "self.out = self.model((tokens * 2).cuda())  # expect: CG306"),
    ],
)
def test_a_constructor_that_captures_on_a_device_of_its_own(during: str, work: str) -> None:
    check_marked_rules(CONSTRUCTOR.format(during=during, work=work))


QUESTION = """
    import torch

    def is_capturing():
        try:
            return {question}
        except Exception:
            return None

    def settle():
        if not is_capturing():
            torch.cuda.synchronize()  # {mark}: CG301

    def main():
        x = torch.zeros(8, device="cuda")
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            settle()
            y = x * 2
        graph.replay()
        return y.clone()
    """


@pytest.mark.parametrize(
    ("question", "mark"),
    [("bool(torch.cuda.is_current_stream_capturing())", "ok"), ("bool(int(input()))", "expect")],
)
def test_a_question_that_is_answered_has_not_failed(question: str, mark: str) -> None:
    check_marked_rules(QUESTION.format(question=question, mark=mark))
