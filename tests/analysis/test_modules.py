"""Calling an `nn.Module` runs its `forward`, its hooks and those of its children, however they are held."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.programs import check_marks, with_region

LAYERS = """
class Layer(torch.nn.Module):
    def forward(self, t):
        t.item()  # expect: CG302
        return t + 1
class Unused(torch.nn.Module):
    def forward(self, t):
        t.item()  # ok: CG302
        return t + 1
"""


@pytest.mark.parametrize(
    ("definitions", "region"),
    [
        pytest.param("layer = Layer()", "layer(x)", id="call"),
        pytest.param("layer = Layer()", "layer.forward(x)", id="forward by name"),
        pytest.param("layer = Layer().cuda().eval()", "layer(x)", id="chained moves"),
        pytest.param("layer = Layer()\nlayer = layer.to('cuda')", "layer(x)", id="moved"),
        pytest.param(
            "layers = torch.nn.ModuleList([Layer(), Layer()])",
            "for layer in layers:\n    layer(x)",
            id="list",
        ),
        pytest.param(
            "layers = torch.nn.ModuleList(Layer() for _ in range(3))",
            "layers[0](x)",
            id="list of a generator",
        ),
        pytest.param(
            """
            layers = torch.nn.ModuleList()
            for _ in range(3):
                layers.append(Layer())
            """,
            "for layer in layers:\n    layer(x)",
            id="list filled by append",
        ),
        pytest.param(
            "layers = torch.nn.ModuleList([Unused()])\nlayers.extend([Layer()])\n",
            "layers[1](x)",
            id="list extended",
        ),
        pytest.param(
            "layers = torch.nn.ModuleList([Layer()])",
            "for i, layer in enumerate(layers):\n    layer(x)",
            id="enumerate",
        ),
        pytest.param(
            "layers = torch.nn.ModuleList([Layer() for _ in range(4)])",
            "for layer in layers[1:3]:\n    layer(x)",
            id="slice of a list",
        ),
        pytest.param(
            "layers = torch.nn.ModuleDict({'a': Layer(), 'b': Unused()})", "layers['a'](x)", id="dict"
        ),
        pytest.param(
            "layers = torch.nn.ModuleDict()\nlayers['a'] = Layer()\n",
            "layers['a'](x)",
            id="dict filled by item",
        ),
        pytest.param(
            "layers = torch.nn.ModuleDict({'a': Layer()})",
            "for name, layer in layers.items():\n    layer(x)",
            id="items of a dict",
        ),
        pytest.param("model = torch.nn.Sequential(Layer(), torch.nn.ReLU())", "model(x)", id="sequential"),
        pytest.param(
            "model = torch.nn.Sequential(*[Layer() for _ in range(2)])", "model(x)", id="sequential of a list"
        ),
        pytest.param(
            "from collections import OrderedDict\nmodel = torch.nn.Sequential(OrderedDict([('a', Layer())]))",
            "model(x)",
            id="named sequential",
        ),
        pytest.param(
            "class Chain(torch.nn.Sequential):\n    pass\nmodel = Chain(Layer())",
            "model(x)",
            id="subclass of sequential",
        ),
        pytest.param(
            "class Layers(torch.nn.ModuleList):\n    def run(self, t):\n        for layer in self:\n            layer(t)\n"
            "layers = Layers([Layer()])",
            "layers.run(x)",
            id="subclass of list",
        ),
        pytest.param(
            """
            class Model(torch.nn.Module):
                def __init__(self, depth):
                    super().__init__()
                    self.layers = torch.nn.ModuleList([Layer() for _ in range(depth)])
                def forward(self, t):
                    for layer in self.layers:
                        t = layer(t)
                    return t
            model = Model(2)
            """,
            "model(x)",
            id="list of a model",
        ),
        pytest.param(
            """
            def make_layers(build, count):
                return torch.nn.ModuleList([build(i) for i in range(count)])
            class Model(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.layers = make_layers(lambda i: Layer(), 2)
                def forward(self, t):
                    for layer in self.layers:
                        t = layer(t)
                    return t
            model = Model()
            """,
            "model(x)",
            id="list made by a helper and a lambda",
        ),
        pytest.param(
            """
            class Model(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.add_module("layer", Layer())
                    self.register_module("other", Unused())
                def forward(self, t):
                    return self.layer(t)
            model = Model()
            """,
            "model(x)",
            id="add_module",
        ),
        pytest.param(
            """
            class Model(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    for i in range(2):
                        setattr(self, f"layer{i}", Layer())
                def forward(self, t):
                    return getattr(self, f"layer{1}")(t)
            model = Model()
            """,
            "model(x)",
            id="numbered attributes",
        ),
        pytest.param(
            """
            class Model(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.layer = Layer()
            model = Model()
            """,
            'model.get_submodule("layer")(x)',
            id="get_submodule",
        ),
        pytest.param(
            """
            class Model(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.layer = Layer()
            model = Model()
            """,
            "for child in model.children():\n    child(x)",
            id="children",
        ),
        pytest.param(
            """
            class Model(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.inner = Layer()
                def forward(self, t):
                    return self.inner(t)
            model = torch.nn.DataParallel(Model())
            """,
            "model(x)",
            id="data parallel",
        ),
        pytest.param(
            "model = torch.nn.parallel.DistributedDataParallel(Layer())",
            "model.module(x)",
            id="module of ddp",
        ),
        pytest.param(
            """
            class Model(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.act = {"a": Layer, "b": Unused}["a"]()
                def forward(self, t):
                    return self.act(t)
            model = Model()
            """,
            "model(x)",
            id="from a table",
        ),
        pytest.param(
            """
            class Model(torch.nn.Module):
                def __init__(self, block):
                    super().__init__()
                    self.block = block if block is not None else torch.nn.Identity()
                def forward(self, t):
                    return self.block(t)
            model = Model(Layer())
            """,
            "model(x)",
            id="passed or default",
        ),
        pytest.param(
            """
            def patched(t):
                t.item()  # expect: CG302
                return t
            keep = Layer()
            keep(x * 1.0)
            model = Unused()
            model.forward = patched
            """,
            "model(x)\nkeep(x)",
            id="forward replaced on the instance",
        ),
        pytest.param(
            "class Model(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            "        self.layer = Layer()\n    def forward(self, t):\n"
            "        return torch.utils.checkpoint.checkpoint(self.layer, t, use_reentrant=False)\n"
            "import torch.utils.checkpoint\nmodel = Model()",
            "model(x)",
            id="checkpointed",
        ),
        pytest.param(
            "model = Unused()\nclass Wrap(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            "        self.layer = Layer()\n    def __call__(self, t):\n        return self.layer(t)\nwrap = Wrap()",
            "wrap(x)",
            id="own __call__",
        ),
        pytest.param("layer = torch.jit.script(Layer())", "layer(x)", id="scripted"),
        pytest.param(
            "import copy\nlayers = [copy.deepcopy(Layer()) for _ in range(2)]", "layers[1](x)", id="copied"
        ),
    ],
)
def test_module_reaches_the_region(definitions: str, region: str) -> None:
    check_marks(with_region(LAYERS + dedent(definitions), region))


def test_forward_hooks_run_when_the_module_is_called() -> None:
    check_marks(
        with_region(
            """
            layer = torch.nn.Linear(4, 4).cuda()
            layer(x)
            def after(module, args, output):
                output.item()  # expect: CG302
            def before(module, args):
                args[0].tolist()  # expect: CG303
            layer.register_forward_hook(after)
            layer.register_forward_pre_hook(before)
            """,
            "layer(x)",
        )
    )


def test_hooks_of_project_modules_and_of_every_child() -> None:
    check_marks(
        with_region(
            """
            class Model(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.first = torch.nn.Linear(4, 4)
                def forward(self, t):
                    return self.first(t)
            seen = []
            def watch(module, args, output):
                seen.append(output.item())  # expect: CG302
            model = Model().cuda()
            model(x)
            for module in model.modules():
                module.register_forward_hook(watch)
            """,
            "model(x)",
        )
    )


def test_hook_with_keywords_and_a_hook_of_another_module() -> None:
    check_marks(
        with_region(
            """
            first, second = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
            first(x)
            def watch(module, args, kwargs, output):
                output.item()  # expect: CG302
            def other(module, args, output):
                output.item()  # ok: CG302
            first.register_forward_hook(watch, with_kwargs=True)
            second.register_forward_hook(other)
            """,
            "first(x)",
        )
    )


def test_removed_hook_does_not_run() -> None:
    check_marks(
        with_region(
            """
            layer = torch.nn.Linear(4, 4)
            layer(x)
            def watch(module, args, output):
                output.item()  # ok: CG302
            handle = layer.register_forward_hook(watch)
            handle.remove()
            """,
            "layer(x)",
        )
    )


def test_result_of_a_hook_replaces_the_output() -> None:
    check_marks(
        with_region(
            """
            class Layer(torch.nn.Module):
                def forward(self, t):
                    return t
            layer = Layer()
            layer.register_forward_hook(lambda module, args, output: output.nonzero())  # expect: CG305
            """,
            "layer(x)",
        )
    )


def test_modules_of_one_class_stay_apart() -> None:
    check_marks(
        """
        import torch
        class Layer(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = torch.nn.Parameter(torch.zeros(4, device="cuda"))
            def forward(self, t):
                return t * self.weight
        first, second = Layer(), Layer()
        x = torch.zeros(4, device="cuda")
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = first(x)
        second.weight = torch.nn.Parameter(torch.ones(4, device="cuda"))  # ok: CG101, CG102
        graph.replay()
        """
    )
