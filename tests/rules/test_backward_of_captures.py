"""Backward passes that go through what a graph has recorded."""

from __future__ import annotations

from tests.programs import check_marked_rules


def test_a_loss_computed_from_a_captured_output() -> None:
    check_marked_rules(
        """
        import torch
        import torch.nn.functional as F
        from torch import nn


        class Trainer:
            def __init__(self):
                self.net = nn.Linear(8, 1).cuda()
                self.head = nn.Linear(1, 1).cuda()
                self.x = torch.zeros(4, 8, device="cuda")
                self.net(self.x)
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph):
                    self.y = self.net(self.x)

            def through_the_graph(self, x, target):
                self.x.copy_(x)
                self.graph.replay()
                F.mse_loss(self.head(self.y), target).backward()  # expect: CG805

            def beside_the_graph(self, x, target):
                self.x.copy_(x)
                self.graph.replay()
                F.mse_loss(self.head(self.y.detach()), target).backward()  # ok: CG805

            def from_a_new_leaf(self, x, target):
                self.x.copy_(x)
                self.graph.replay()
                leaf = self.y.detach().requires_grad_()
                F.mse_loss(self.head(leaf), target).backward()  # ok: CG805
        """
    )


def test_what_is_captured_without_gradients_has_no_backward_pass() -> None:
    check_marked_rules(
        """
        import torch
        from torch import nn


        class Encoder:
            def __init__(self):
                self.net = nn.Linear(8, 8).cuda()
                self.head = nn.Linear(8, 1).cuda()
                self.x = torch.zeros(4, 8, device="cuda")
                self.net(self.x)
                self.graph = torch.cuda.CUDAGraph()
                with torch.no_grad(), torch.cuda.graph(self.graph):
                    self.y = self.net(self.x)

            def step(self, x):
                self.x.copy_(x)
                self.graph.replay()
                self.head(self.y).square().mean().backward()  # ok: CG805
        """
    )


def test_graphed_callables_bring_their_own_backward_pass() -> None:
    check_marked_rules(
        """
        import torch
        from torch import nn


        def train(data):
            x = torch.zeros(4, 8, device="cuda")
            net = torch.cuda.make_graphed_callables(nn.Linear(8, 8).cuda(), (x,))
            for batch in data:
                net(batch).square().mean().backward()  # ok: CG805
        """
    )


def test_a_graphed_callable_has_no_second_derivative() -> None:
    check_marked_rules(
        """
        import torch
        from torch import nn


        def penalty(net: nn.Module, x: torch.Tensor):
            sample = torch.zeros(4, 8, device="cuda", requires_grad=True)
            graphed = torch.cuda.make_graphed_callables(nn.Linear(8, 8).cuda(), (sample,))
            y = graphed(x).sum()
            (slope,) = torch.autograd.grad(y, x, create_graph=True)  # expect: CG807
            return slope.square().sum()


        def slope(x: torch.Tensor):
            sample = torch.zeros(4, 8, device="cuda", requires_grad=True)
            graphed = torch.cuda.make_graphed_callables(nn.Linear(8, 8).cuda(), (sample,))
            return torch.autograd.grad(graphed(x).sum(), x)  # ok: CG807


        def penalty_of_plain(x: torch.Tensor):
            net = nn.Linear(8, 8).cuda()
            (slope,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)  # ok: CG807
            return slope.square().sum()
        """
    )


def test_a_sample_must_want_the_gradient_that_an_argument_wants() -> None:
    check_marked_rules(
        """
        import torch
        from torch import nn


        def run():
            sample = torch.zeros(4, 8, device="cuda")
            net = torch.cuda.make_graphed_callables(nn.Linear(8, 8).cuda(), (sample,))  # expect: CG807
            x = torch.randn(4, 8, device="cuda", requires_grad=True)
            net(x).sum().backward()
            return x.grad


        def run_without():
            sample = torch.zeros(4, 8, device="cuda")
            net = torch.cuda.make_graphed_callables(nn.Linear(8, 8).cuda(), (sample,))  # ok: CG807
            x = torch.randn(4, 8, device="cuda", requires_grad=False)
            net(x).sum().backward()
        """
    )


def test_a_fused_step_leaves_its_check_to_the_gpu_and_so_may_the_update() -> None:
    program = """
        import torch
        from torch import nn


        def build(net: nn.Module):
            optimizer = torch.optim.{optimizer}
            scaler = torch.amp.GradScaler("cuda")
            x = torch.zeros(4, 4, device="cuda")
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                scaler.scale(net(x).sum()).backward()
                scaler.step(optimizer)  # {mark}: CG808
                scaler.update()  # {mark}: CG808
            return graph, x
        """
    fused = "Adam(net.parameters(), fused=True, capturable=True)"
    check_marked_rules(program.format(optimizer=fused, mark="ok"))
    check_marked_rules(program.format(optimizer="SGD(net.parameters())", mark="expect"))


def test_an_eager_result_that_an_object_keeps_holds_its_accumulators() -> None:
    program = """
        import torch
        from torch import nn


        class Trainer:
            def __init__(self):
                self.net = nn.Linear(8, 1).cuda()
                self.x = torch.zeros(4, 8, device="cuda")
                self.last = None

            def warm(self):
                loss = self.net(self.x).square().mean()
                loss.backward()
                self.last = {kept}

            def capture(self):
                self.warm()
                self.net.zero_grad(set_to_none=True)
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph):
                    self.net(self.x).square().mean().backward()  # {mark}: CG703

            def fit(self, data):
                self.capture()
                for x in data:
                    self.x.copy_(x)
                    self.graph.replay()
        """
    check_marked_rules(program.format(kept="loss", mark="expect"))
    check_marked_rules(program.format(kept="loss.item()", mark="ok"))
    check_marked_rules(program.format(kept="loss.detach()", mark="ok"))
    check_marked_rules(program.format(kept="loss.detach().clone()", mark="ok"))
