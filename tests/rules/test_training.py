"""CG801 to CG809: training steps in graphs."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules, check_marks

# CG801

AUTOCAST = """
import torch


def build(net, amp):
    x = torch.zeros(4, 4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with {context}:  # {mark}: CG801
        with torch.cuda.graph(graph):
            y = net(x)
    graph.replay()
    return y.clone()
"""


@pytest.mark.parametrize(
    ("context", "mark"),
    [
        ('torch.autocast("cuda", dtype=torch.float16)', "expect"),
        ('torch.autocast(device_type="cuda", enabled=amp)', "expect"),
        ("torch.cuda.amp.autocast()", "expect"),
        ('torch.autocast("cuda", dtype=torch.float16, cache_enabled=False)', "ok"),
        ('torch.autocast("cuda", torch.float16, True, False)', "ok"),
        ('torch.autocast("cuda", enabled=False)', "ok"),
        ("torch.cuda.amp.autocast(enabled=False)", "ok"),
        ('torch.autocast("cpu")', "ok"),
    ],
)
def test_autocast_around_a_capture(context: str, mark: str) -> None:
    check_marks(AUTOCAST.format(context=context, mark=mark))


def test_autocast_inside_the_captured_code_or_closed_before() -> None:
    check_marks(
        """
import torch


def build(net):
    x = torch.zeros(4, 4, device="cuda")
    with torch.autocast("cuda"):  # ok: CG801
        net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        with torch.autocast("cuda"):  # ok: CG801
            y = net(x)
    graph.replay()
    return y.clone()
"""
    )


# CG802

REPLAYED = """
import torch


class Trainer:
    def __init__(self, net, lr):
        self.net = net
        self.opt = torch.optim.SGD(net.parameters(), lr=lr)
        self.x = torch.zeros(4, 4, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.net(self.x)
        self.opt.zero_grad(set_to_none=True)  # ok: CG802
        with torch.cuda.graph(self.graph):
            self.loss = self.net(self.x).sum()
            self.loss.backward()
            {captured}

    def step(self, x):
        self.x.copy_(x)
        {before}  # {mark}: CG802
        self.graph.replay()
        self.opt.step()
"""


@pytest.mark.parametrize(
    ("before", "captured", "mark"),
    [
        ("self.opt.zero_grad()", "pass", "expect"),
        ("self.opt.zero_grad(set_to_none=True)", "pass", "expect"),
        ("self.net.zero_grad()", "pass", "expect"),
        ("self.opt.zero_grad(set_to_none=False)", "pass", "ok"),
        ("self.opt.zero_grad()", "self.opt.step()", "ok"),
        ("pass", "pass", "ok"),
    ],
)
def test_gradients_cleared_between_replays(before: str, captured: str, mark: str) -> None:
    check_marks(REPLAYED.format(before=before, captured=captured, mark=mark))


def test_gradients_dropped_by_a_helper_after_the_capture() -> None:
    program = """
import torch


def forget(net):
    for p in net.parameters():
        p.grad = None  # {mark}: CG802


def build(net, opt):
    x = torch.zeros(4, 4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    {before}
    with torch.cuda.graph(graph):
        loss = net(x).sum()
        loss.backward()
    {after}
    for _ in range(3):
        graph.replay()
        opt.step()
    return loss.clone()
"""
    check_marks(program.format(before="pass", after="forget(net)", mark="expect"))
    check_marks(program.format(before="forget(net)", after="pass", mark="ok"))


def test_gradients_of_another_model() -> None:
    check_marks(
        """
import torch


def build():
    net, critic = torch.nn.Linear(4, 4).cuda(), torch.nn.Linear(4, 1).cuda()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    critic_opt = torch.optim.SGD(critic.parameters(), lr=0.1)
    x = torch.zeros(4, 4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        net(x).sum().backward()
    for _ in range(3):
        graph.replay()
        opt.step()
        critic_opt.zero_grad()  # ok: CG802
        critic(x).sum().backward()
        critic_opt.step()
"""
    )


# CG803

WARMED = """
import torch


def build(net, opt):
    x = torch.zeros(4, 4, device="cuda")
    for _ in range(3):
        opt.zero_grad()
        net(x).sum().backward()
    graph = torch.cuda.CUDAGraph()
    {before}
    with torch.cuda.graph(graph):
        {inside}
        net(x).sum().backward()  # {mark}: CG803
    for _ in range(3):
        {between}
        graph.replay()
        opt.step()
"""


@pytest.mark.parametrize(
    ("before", "inside", "between", "mark"),
    [
        ("pass", "pass", "pass", "expect"),
        ("opt.zero_grad()", "pass", "pass", "ok"),
        ("opt.zero_grad(set_to_none=False)", "pass", "pass", "expect"),
        ("pass", "opt.zero_grad(set_to_none=False)", "pass", "ok"),
        ("pass", "pass", "opt.zero_grad(set_to_none=False)", "ok"),
    ],
)
def test_gradients_that_exist_at_the_capture(before: str, inside: str, between: str, mark: str) -> None:
    check_marks(WARMED.format(before=before, inside=inside, between=between, mark=mark))


# CG804

STEP = """
import torch


def build(options):
    net = torch.nn.Linear(4, 4).cuda()
    opt = {optimizer}
    x = torch.zeros(4, 4, device="cuda")
    net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        net(x).sum().backward()
        opt.step()  # {mark}: CG804
    graph.replay()
"""


@pytest.mark.parametrize(
    ("optimizer", "mark"),
    [
        ("torch.optim.AdamW(net.parameters())", "expect"),
        ("torch.optim.Adam(net.parameters(), fused=True)", "expect"),
        ("torch.optim.RMSprop(net.parameters(), capturable=False)", "expect"),
        ("torch.optim.Adam(net.parameters(), capturable=True)", "ok"),
        ("torch.optim.Adam(net.parameters(), capturable=options.graph)", "ok"),
        ("torch.optim.Adam(net.parameters(), **options)", "ok"),
        ("torch.optim.SGD(net.parameters(), lr=0.1)", "ok"),
    ],
)
def test_a_captured_step(optimizer: str, mark: str) -> None:
    check_marked_rules(STEP.format(optimizer=optimizer, mark=mark))


def test_an_eager_step_of_any_optimizer() -> None:
    check_marks(
        """
import torch


def build():
    net = torch.nn.Linear(4, 4).cuda()
    opt = torch.optim.Adam(net.parameters())
    x = torch.zeros(4, 4, device="cuda")
    net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        net(x).sum().backward()
    graph.replay()
    opt.step()  # ok: CG804
"""
    )


# CG805

LOSS = """
import torch


def build(net):
    x = torch.zeros(4, 4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = net(x).sum()
        {inside}
    for _ in range(3):
        graph.replay()
        {outside}  # {mark}: CG805
"""


def test_backward_outside_of_what_was_captured_inside() -> None:
    check_marks(LOSS.format(inside="pass", outside="loss.backward()", mark="expect"))
    check_marks(LOSS.format(inside="loss.backward()", outside="pass", mark="ok"))


def test_backward_through_a_graphed_callable() -> None:
    check_marks(
        """
import torch


def build(loader):
    x = torch.zeros(4, 4, device="cuda")
    net = torch.cuda.make_graphed_callables(torch.nn.Linear(4, 4).cuda(), (x,))
    for _ in range(3):
        loss = net(x).sum()
        loss.backward()  # ok: CG805
"""
    )


# CG806 and CG809

DISTRIBUTED = """
import torch
from torch.nn.parallel import DistributedDataParallel


def build(net, rank):
    side = torch.cuda.Stream()
    {construct}
        model = DistributedDataParallel(net, device_ids=[rank])  # {built}: CG806
    x = torch.zeros(4, 4, device="cuda")
    with torch.cuda.stream(side):
        for _ in range({times}):  # {warmed}: CG809
            model.zero_grad(set_to_none=True)
            model(x).sum().backward()
    model.zero_grad(set_to_none=True)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = model(x)
        {backward}
    graph.replay()
"""
ON_SIDE = "with torch.cuda.stream(side):"
ON_DEFAULT = "if rank is not None:"


@pytest.mark.parametrize(
    ("construct", "times", "backward", "built", "warmed"),
    [
        (ON_DEFAULT, "11", "y.sum().backward()", "expect", "ok"),
        (ON_SIDE, "11", "y.sum().backward()", "ok", "ok"),
        (ON_SIDE, "3", "y.sum().backward()", "ok", "expect"),
        (ON_SIDE, "rank", "y.sum().backward()", "ok", "ok"),
        (ON_DEFAULT, "3", "pass", "ok", "ok"),
    ],
)
def test_setting_up_distributed_training(
    construct: str, times: str, backward: str, built: str, warmed: str
) -> None:
    program = DISTRIBUTED.format(
        construct=construct, times=times, backward=backward, built=built, warmed=warmed
    )
    check_marks(program)


def test_nested_warm_up_loops_multiply() -> None:
    nested = "for _ in range(3):\n                for _ in range(4):\n                    "
    program = DISTRIBUTED.replace("            model(x).sum()", f"            {nested}model(x).sum()")
    program = program.format(
        construct=ON_SIDE, times="2", backward="y.sum().backward()", built="ok", warmed="ok"
    )
    check_marks(program)


# CG807

GRAPHED = """
import torch


def build(data):
    x = torch.zeros(4, 4, device="cuda")
    net = torch.nn.Linear(4, 4).cuda()
    {hook}
    net = torch.cuda.make_graphed_callables(net, (x,))  # {made}: CG807
    for a, b in data:
        {body}
"""


@pytest.mark.parametrize(
    ("body", "hook", "made"),
    [
        ("net(input=a)  # expect: CG807", "pass", "ok"),
        ("net(a)  # ok: CG807", "pass", "ok"),
        ("net(a)  # ok: CG807", "net.register_forward_hook(lambda *given: None)", "expect"),
    ],
)
def test_calls_of_a_graphed_callable(body: str, hook: str, made: str) -> None:
    check_marks(GRAPHED.format(body=body, hook=hook, made=made))


def test_two_forward_passes_before_one_backward_pass() -> None:
    check_marks(
        """
import torch


def build(data):
    x = torch.zeros(4, 4, device="cuda")
    net = torch.cuda.make_graphed_callables(torch.nn.Linear(4, 4).cuda(), (x,))
    for a, b in data:
        first = net(a)  # expect: CG201
        second = net(b)  # expect: CG807
        (first.sum() + second.sum()).backward()
"""
    )


def test_forward_and_backward_in_turn_and_evaluation() -> None:
    check_marks(
        """
import torch


def evaluate(net, data):
    with torch.no_grad():
        for a in data:
            net(a)  # ok: CG807
            net(a)  # ok: CG807


def build(data):
    x = torch.zeros(4, 4, device="cuda")
    net = torch.cuda.make_graphed_callables(torch.nn.Linear(4, 4).cuda(), (x,))
    for a, b in data:
        evaluate(net, data)
        net(a).sum().backward()
        net(b).sum().backward()  # ok: CG807
"""
    )


# CG808


def test_a_scaler_that_steps_inside_or_outside() -> None:
    program = """
import torch


def build(net, opt):
    scaler = torch.amp.GradScaler("cuda")
    x = torch.zeros(4, 4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        scaler.scale(net(x).sum()).backward()
        {inside}
    for _ in range(3):
        graph.replay()
        scaler.step(opt)  # ok: CG808
        scaler.update()  # ok: CG808
"""
    check_marks(program.format(inside="scaler.step(opt)  # expect: CG808"))
    check_marks(program.format(inside="pass"))


@pytest.mark.parametrize(
    ("between", "mark"),
    [
        ("p.grad = torch.zeros_like(p)", "expect"),
        ("p.grad = flat.new_zeros(p.shape)", "expect"),
        ("p.grad = held[0]", "ok"),
        ("p.grad.zero_()", "ok"),
    ],
)
def test_gradients_that_are_exchanged_for_new_ones(between: str, mark: str) -> None:
    check_marks(
        f"""
        import torch
        from torch import nn


        def main(batches: list):
            net = nn.Linear(4, 4).cuda()
            flat = torch.zeros(20, device="cuda")
            p = net.weight
            p.grad = flat[:16].view_as(p)
            held = [p.grad]
            opt = torch.optim.SGD([p], lr=0.1)
            x = torch.zeros(4, 4, device="cuda")
            net(x).sum().backward()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                net(x).sum().backward()
            for batch in batches:
                {between}  # {mark}: CG802
                x.copy_(batch)
                graph.replay()
                opt.step()
        """,
        select=("CG802",),
    )


@pytest.mark.parametrize(
    ("write", "mark"),
    [
        ("group['lr'] = torch.tensor(rate, device='cuda')", "expect"),
        ("group['lr'].fill_(rate)", "ok"),
        ("group['lr'].copy_(torch.tensor(rate))", "ok"),
    ],
)
def test_the_tensor_of_a_rate_is_exchanged(write: str, mark: str) -> None:
    check_marks(
        f"""
        import torch
        from torch import nn


        def main(rates: list):
            net = nn.Linear(4, 4).cuda()
            opt = torch.optim.Adam(net.parameters(), lr=torch.tensor(0.1, device="cuda"), capturable=True)
            x = torch.zeros(4, 4, device="cuda")

            def step():
                opt.zero_grad(set_to_none=True)
                net(x).sum().backward()
                opt.step()

            step()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                step()
            for rate in rates:
                for group in opt.param_groups:
                    {write}  # {mark}: CG101
                graph.replay()
        """,
        select=("CG101",),
    )


def test_a_function_that_went_through_no_grad_leaves_no_autograd_graph() -> None:
    program = """
import torch


def run(net, x):
    act = {wrap}
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = act()
    graph.replay()
    {backward}
"""
    backward = "(net(x) - y).square().mean().backward()"
    net = "torch.nn.Linear(4, 4).cuda()"
    program = program.replace("    act =", f"    net = {net}\n    act =")
    kept = "torch.no_grad()(lambda: net(x))"
    check_marks(program.format(wrap=kept, backward=f"{backward}  # ok: CG805"), select=("CG805",))
    plain = program.format(wrap="lambda: net(x)", backward=f"{backward}  # expect: CG805")
    check_marks(plain, select=("CG805",))
