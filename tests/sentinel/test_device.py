"""Ordinary programs written for CUDA."""

from __future__ import annotations

import copy
import io
import pickle
import threading
from typing import Any

import pytest


def test_the_device_is_there_and_has_a_name(cuda: Any) -> None:
    import torch

    assert torch.cuda.is_available() and torch.cuda.device_count() == 1
    assert torch.cuda.get_device_name() == torch.cuda.get_device_properties(0).name
    assert torch.accelerator.current_accelerator() == torch.device("cuda")


def test_tensors_report_their_device(cuda: Any) -> None:
    import torch

    x = torch.ones(2, device="cuda")
    assert (x.device, x.is_cuda, x.is_cpu, x.get_device()) == (torch.device("cuda", 0), True, False, 0)
    assert x.type() == "torch.cuda.FloatTensor" and isinstance(x, torch.cuda.FloatTensor)
    assert repr(x) == "tensor([1., 1.], device='cuda:0')"


def test_tensors_do_not_mix_with_those_of_the_host(cuda: Any) -> None:
    import torch

    x = torch.ones(2, device="cuda")
    with pytest.raises(RuntimeError, match="two devices, cuda:0 and cpu"):
        x + torch.ones(2)
    assert (x + torch.tensor(1.0)).tolist() == [2, 2]
    with pytest.raises(TypeError, match="can't convert cuda:0"):
        x.numpy()


@pytest.mark.parametrize("inference", [False, True])
def test_what_is_made_from_a_tensor_is_where_it_is(cuda: Any, inference: bool) -> None:
    import torch

    with torch.inference_mode(inference):
        x = torch.arange(6.0, device="cuda").view(2, 3)
        made = [x.long(), x.to(torch.half), x.new_zeros(2), x.new_tensor([1.0]), torch.zeros_like(x), x.t()]
        made += [
            torch.cat([x, x]),
            x[x > 2],
            x.unbind()[0],
            torch.nn.functional.one_hot(x.long()),
            x.sort()[1],
        ]
        made += [torch.cdist(x, x), torch.einsum("ij,kj->ik", x, x), x.contiguous(), x.t().contiguous()]
        assert {t.device.type for t in made} == {"cuda"}
        assert torch.zeros_like(x, device="cpu").device.type == "cpu"
        assert torch.zeros(3).device.type == "cpu"


def test_views_share_memory(cuda: Any) -> None:
    import torch

    x = torch.zeros(4, 4, device="cuda")
    x[1:3].t().add_(1)
    x.view(-1)[5:7].mul_(3)
    assert x.sum().item() == 12
    assert x[1:].data_ptr() - x.data_ptr() == 16


def test_modules_move(cuda: Any) -> None:
    import torch
    from torch import nn

    layer = nn.Linear(3, 2)
    weight = layer.weight
    layer.to("cuda")
    assert layer.weight is weight and weight.is_cuda and isinstance(weight, nn.Parameter)
    assert layer(torch.ones(1, 3, device="cuda")).is_cuda
    layer.to(device="cuda", dtype=torch.bfloat16)
    assert layer.weight.dtype == torch.bfloat16
    assert not layer.cpu().weight.is_cuda


def test_default_device(cuda: Any) -> None:
    import torch

    with torch.device("cuda"):
        assert torch.zeros(2).is_cuda and torch.nn.Linear(2, 2).weight.is_cuda


def test_gradients_cross_between_host_and_device(cuda: Any) -> None:
    import torch

    x = torch.ones(3, requires_grad=True)
    (x.cuda() * 2).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2, 2, 2] and not x.grad.is_cuda


def test_copies_of_objects_keep_their_device(cuda: Any) -> None:
    import torch

    x = torch.arange(3.0, device="cuda")
    for other in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert other.is_cuda and other.tolist() == [0, 1, 2] and other.data_ptr() != x.data_ptr()


@pytest.mark.parametrize("where, kind", [(None, "cuda"), ("cpu", "cpu"), ("cuda", "cuda")])
def test_saving_and_loading(cuda: Any, where: Any, kind: str) -> None:
    import torch

    file = io.BytesIO()
    torch.save({"a": torch.ones(2, device="cuda")}, file)
    file.seek(0)
    loaded = torch.load(file, map_location=where)["a"]
    assert loaded.device.type == kind and loaded.tolist() == [1, 1]


def test_loading_a_file_of_the_host_onto_the_device(cuda: Any) -> None:
    import torch

    file = io.BytesIO()
    torch.save(torch.ones(2), file)
    file.seek(0)
    assert torch.load(file, map_location="cuda").is_cuda


def test_state_dicts(cuda: Any) -> None:
    import torch
    from torch import nn

    first, second = nn.Linear(2, 2).cuda(), nn.Linear(2, 2).cuda()
    pointer = second.weight.data_ptr()
    second.load_state_dict(first.state_dict())
    assert second.weight.data_ptr() == pointer and torch.equal(first.weight, second.weight)
    second.load_state_dict(first.state_dict(), assign=True)
    assert second.weight.data_ptr() == first.weight.data_ptr()


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad"])
def test_optimizers(cuda: Any, name: str) -> None:
    import torch

    layer = torch.nn.Linear(3, 2, device="cuda")
    optimizer = getattr(torch.optim, name)(layer.parameters(), lr=0.1)
    before = layer.weight.detach().clone()
    layer(torch.ones(4, 3, device="cuda")).sum().backward()
    torch.nn.utils.clip_grad_norm_(layer.parameters(), 1.0)
    optimizer.step()
    assert layer.weight.is_cuda and not torch.equal(before, layer.weight)


def test_layers(cuda: Any) -> None:
    import torch
    from torch import nn

    x = torch.randn(2, 4, 8, device="cuda")
    for layer in (nn.GRU(8, 8, batch_first=True), nn.LSTM(8, 8, batch_first=True)):
        assert layer.cuda()(x)[0].is_cuda
    encoder = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).cuda()
    encoder(x).sum().backward()
    assert all(p.grad is not None and p.grad.is_cuda for p in encoder.parameters())
    convolution = nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3)).cuda()
    convolution(torch.randn(1, 2, 8, 8, device="cuda")).sum().backward()


def test_autocast(cuda: Any) -> None:
    import torch
    import torch.nn.functional as F

    layer = torch.nn.Linear(4, 4).cuda()
    x = torch.ones(2, 4, device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        y = layer(x)
        assert y.dtype == torch.bfloat16 and (y @ y.t()).dtype == torch.bfloat16
        assert F.softmax(y, -1).dtype == torch.float32
        assert F.mse_loss(y, x).dtype == torch.float32
        y.float().sum().backward()
    assert layer(x).dtype == torch.float32 and layer.weight.grad.dtype == torch.float32


def test_gradient_scaling(cuda: Any) -> None:
    import torch

    layer = torch.nn.Linear(4, 4).cuda()
    optimizer, scaler = torch.optim.SGD(layer.parameters(), 0.1), torch.amp.GradScaler("cuda", init_scale=8.0)
    with torch.autocast("cuda", dtype=torch.float16):
        loss = layer(torch.ones(2, 4, device="cuda")).float().sum()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == 8.0


def test_other_threads(cuda: Any) -> None:
    import torch

    made: list[Any] = []
    thread = threading.Thread(target=lambda: made.append(torch.ones(2, device="cuda") + 1))
    thread.start()
    thread.join()
    assert made[0].is_cuda and made[0].tolist() == [2, 2]


def test_function_transforms(cuda: Any) -> None:
    import torch

    x = torch.arange(3.0, device="cuda")
    assert torch.func.vmap(lambda row: row * 2)(x).is_cuda
    assert torch.func.grad(lambda t: (t**2).sum())(x).tolist() == [0, 2, 4]


def test_memory_figures(counted_cuda: Any) -> None:
    import torch

    before = torch.cuda.memory_allocated()
    x = torch.empty(1 << 20, dtype=torch.uint8, device="cuda")
    assert torch.cuda.memory_allocated() - before == 1 << 20
    del x
    assert torch.cuda.memory_allocated() == before
    assert torch.cuda.memory_reserved() >= before
    assert {"address", "blocks", "total_size"} <= set(torch.cuda.memory_snapshot()[0])


def test_random_numbers_follow_the_seed(cuda: Any) -> None:
    import torch

    torch.cuda.manual_seed(3)
    first = torch.rand(4, device="cuda")
    state = torch.cuda.get_rng_state()
    second = torch.rand(4, device="cuda")
    torch.cuda.set_rng_state(state)
    assert torch.equal(torch.rand(4, device="cuda"), second)
    torch.cuda.manual_seed(3)
    assert torch.equal(torch.rand(4, device="cuda"), first)
    own = torch.Generator(device="cuda").manual_seed(3)
    assert torch.equal(torch.rand(4, device="cuda", generator=own), first)


def test_a_custom_operator_with_a_python_body(cuda: Any) -> None:
    import torch

    define = torch.library.custom_op(
        "graphlint_tests::twice", mutates_args=(), device_types="cuda", schema="(Tensor x) -> Tensor"
    )
    twice = define(lambda x: x * 2)
    assert twice(torch.ones(2, device="cuda")).tolist() == [2, 2]


def test_an_operator_without_one_is_refused_by_name(cuda: Any) -> None:
    import torch

    library = torch.library.Library("graphlint_tests_native", "DEF")
    library.define("f(Tensor x) -> Tensor")
    with pytest.raises(NotImplementedError, match=r"graphlint_tests_native.f"):
        torch.ops.graphlint_tests_native.f(torch.ones(1, device="cuda"))


def test_it_is_refused_beside_a_gpu_unless_asked_for_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    from graphlint.sentinel import virtual_cuda

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    for beside in (False, True):
        with pytest.raises(RuntimeError, match="device twice"), virtual_cuda(beside_gpu=beside):
            pass
