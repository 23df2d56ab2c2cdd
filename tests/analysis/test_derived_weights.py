"""Tensors made from others in every module: what goes through all modules, and what `contiguous` copies."""

from __future__ import annotations

import pytest

from tests.programs import check_marks

PROGRAM = """
import torch
import torch.nn as nn

class Layer(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.lin = nn.Linear(width, width)
        self.derived = None

    def derive(self):
        self.derived = self.lin.weight{how}  # {mark}: CG101

    def forward(self, x):
        return x @ self.derived

class Model(nn.Module):
    def __init__(self, width: int, depth: int):
        super().__init__()
        self.layers = nn.ModuleList(Layer(width) for _ in range(depth))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

    def derive(self):
        for {names} in {modules}:
            if isinstance(module, Layer):
                module.derive()

class Runner:
    def __init__(self, width: int, depth: int):
        self.model = Model(width, depth).cuda()
        self.x = torch.zeros(2, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.model.derive()

    def capture(self):
        self.model(self.x)
        with torch.cuda.graph(self.graph):
            self.y = self.model(self.x)

    def update(self):
        self.model.derive()

    def __call__(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(
    ("names", "modules"),
    [("module", "self.modules()"), ("name, module", "self.named_modules()"), ("module", "self.layers")],
)
def test_a_loop_over_all_modules_comes_to_nested_ones(names: str, modules: str) -> None:
    check_marks(
        PROGRAM.format(how=".detach() + 1", names=names, modules=modules, mark="expect"), select=("CG101",)
    )


@pytest.mark.parametrize(
    ("how", "mark"),
    [
        (".detach().t().contiguous()", "expect"),
        (".mT.contiguous()", "expect"),
        (".detach().contiguous()", "ok"),
    ],
)
def test_contiguous_copies_a_transposed_tensor(how: str, mark: str) -> None:
    check_marks(PROGRAM.format(how=how, names="module", modules="self.layers", mark=mark), select=("CG101",))


BEAMS = """
import torch

class Search:
    def __init__(self, depth: int):
        self.caches = [torch.zeros(4, device="cuda") for _ in range(depth)]
        self.graph = torch.cuda.CUDAGraph()

    def run(self):
        for cache in self.caches:
            self.y = cache * 2

    def capture(self):
        with torch.cuda.graph(self.graph):
            self.run()

    def step(self, parents):
        self.graph.replay()
        {reorder}  # {mark}: CG101
        return self.y.clone()
"""


@pytest.mark.parametrize(
    ("reorder", "mark"),
    [
        ("self.caches = [cache.index_select(0, parents) for cache in self.caches]", "expect"),
        ("self.caches = [cache for cache in self.caches]", "ok"),
    ],
)
def test_a_list_made_anew_holds_other_tensors_when_its_elements_do(reorder: str, mark: str) -> None:
    check_marks(BEAMS.format(reorder=reorder, mark=mark), select=("CG101",))


FORGOTTEN = """
import torch
import torch.nn as nn

class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(8, 8)
        self.absorbed = None

    def absorb(self):
        self.absorbed = self.lin.weight{how}  # {mark}: CG101

    def forward(self, x):
        return x @ self.absorbed

class Runner:
    def __init__(self):
        self.layer = Layer().cuda()
        self.layer.absorb()
        self.x = torch.zeros(2, 8, device="cuda")
        self.layer(self.x)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.layer(self.x)

    def reload(self, state):
        {reload}

    def __call__(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize("how", [" * 2.0", ".t() @ self.lin.weight", ".square().contiguous()"])
@pytest.mark.parametrize(
    "reload",
    [
        "self.layer.load_state_dict(state)",
        "self.layer.lin.load_state_dict(state['lin'])",
        "self.layer.lin.weight.data.copy_(state['lin.weight'])",
    ],
)
def test_a_reload_that_forgets_what_was_computed_from_the_weights(how: str, reload: str) -> None:
    check_marks(FORGOTTEN.format(how=how, reload=reload, mark="expect"))


@pytest.mark.parametrize(
    ("how", "reload"),
    [
        (".float()", "self.layer.load_state_dict(state)"),  # may be the weight itself
        (".float().contiguous()", "self.layer.load_state_dict(state)"),
        (".t()", "self.layer.load_state_dict(state)"),
        (" * 2.0", "self.layer.lin.bias.data.copy_(state['lin.bias'])"),
        (" * 2.0", "self.layer.load_state_dict(state); self.layer.absorbed.copy_(self.layer.lin.weight * 2)"),
        (" * 2.0", "pass"),
    ],
)
def test_what_a_reload_takes_along_or_leaves_alone(how: str, reload: str) -> None:
    check_marks(FORGOTTEN.format(how=how, reload=reload, mark="ok"))
