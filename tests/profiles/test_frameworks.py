"""What the profiles that come along know of their frameworks, on small projects that use them."""

from __future__ import annotations

import pytest

from graphlint.profiles import built_in
from tests.programs import check_marked_rules, findings, regions

BACKEND = """
import torch
from sglang.srt.layers.attention.base_attn_backend import AttentionBackend


class PagedBackend(AttentionBackend):
    def __init__(self, rows: int):
        self.lengths = torch.zeros(rows, device="cuda")
        self.table = None

    def init_forward_metadata_out_graph(self, batch, in_capture=False):
        self.longest = self.lengths.max().item()  # ok: CG302

    def init_forward_metadata_in_graph(self, batch):
        self.longest = self.lengths.max().item()  # expect: CG302

    def forward_extend(self, q: torch.Tensor, batch):
        return q * self.lengths.sum().item()  # ok: CG302
"""


def test_attention_backends_of_sglang_are_captured_where_the_framework_says() -> None:
    check_marked_rules(BACKEND)


def test_other_classes_of_the_same_project_are_not_meant() -> None:
    other = BACKEND.replace("(AttentionBackend)", "").replace("# expect", "# ok").replace("Paged", "Own")
    check_marked_rules(other.replace("base_attn_backend", "other"))


def test_without_the_framework_nothing_is_captured() -> None:
    assert not regions(BACKEND.replace("sglang.srt", "mine"))


def test_an_empty_list_switches_all_profiles_off() -> None:
    assert not findings(BACKEND, profiles=())


def test_a_list_switches_others_off() -> None:
    assert not regions(BACKEND, profiles=("vllm",))
    assert regions(BACKEND, profiles=("sglang",))


def test_what_the_warm_up_of_a_framework_fills_is_no_cache_filled_in_capture() -> None:
    check_marked_rules(
        """
import torch
from sglang.srt.layers.attention.base_attn_backend import AttentionBackend


class PagedBackend(AttentionBackend):
    def __init__(self):
        self.workspace = None

    def init_forward_metadata_in_graph(self, q: torch.Tensor, batch):
        if self.workspace is None:
            self.workspace = torch.zeros(16, device="cuda")  # ok: CG603
        return q + self.workspace
"""
    )


def test_guards_and_eager_pieces_of_sglang() -> None:
    check_marked_rules(
        """
import torch
from sglang.srt.layers.attention.base_attn_backend import AttentionBackend
from sglang.srt.model_executor.runner_backend_utils.breakable_cuda_graph import eager_on_graph
from sglang.srt.model_executor.runner_utils.capture_mode import get_is_capture_mode


@eager_on_graph
def outside(x: torch.Tensor) -> torch.Tensor:
    return x * x.max().item()  # ok: CG302


class PagedBackend(AttentionBackend):
    def init_forward_metadata_in_graph(self, q: torch.Tensor, batch):
        if not get_is_capture_mode():
            print(q.sum().item())  # ok: CG302
        return outside(q) * q.min().item()  # expect: CG302
"""
    )


def test_the_mode_of_a_batch_is_decode() -> None:
    check_marked_rules(
        {
            "sglang/__init__.py": "",
            "sglang/batch.py": """
from dataclasses import dataclass
from enum import IntEnum, auto

import torch


class ForwardMode(IntEnum):
    EXTEND = auto()
    DECODE = auto()

    def is_extend(self):
        return self == ForwardMode.EXTEND


@dataclass
class ForwardBatch:
    forward_mode: ForwardMode
    lengths: torch.Tensor
""",
            "sglang/backend.py": """
import torch
from sglang.batch import ForwardBatch


class PagedBackend:
    def init_forward_metadata_in_graph(self, q: torch.Tensor, batch: ForwardBatch):
        if batch.forward_mode.is_extend():
            return q * batch.lengths.max().item()  # ok: CG302
        return q * batch.lengths.min().item()  # expect: CG302
""",
        }
    )


def test_operators_registered_with_vllm_are_followed_and_their_fakes_are_not() -> None:
    check_marked_rules(
        """
import torch
from vllm.compilation.decorators import support_torch_compile
from vllm.utils.torch_utils import direct_register_custom_op


def scale(x: torch.Tensor) -> torch.Tensor:
    return x * x.max().item()  # expect: CG302


def scale_fake(x: torch.Tensor) -> torch.Tensor:
    return x * x.min().item()  # ok: CG302


direct_register_custom_op(op_name="my_scale", op_func=scale, fake_impl=scale_fake)


@support_torch_compile
class Model(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        print(x.shape)
        return torch.ops.vllm.my_scale(x)

    def load(self, x: torch.Tensor):
        return x.sum().item()  # ok: CG302


class Plain(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        return x.sum().item()  # ok: CG302
"""
    )


def test_inside_what_vllm_compiles_the_compiler_guards_host_values() -> None:
    assert not findings(
        """
import torch
from vllm.compilation.decorators import support_torch_compile


@support_torch_compile(dynamic_arg_dims={"x": 0})
class Model(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        return x * x.sum().item()
"""
    )


def test_a_captured_batch_of_vllm_holds_decode_requests_only() -> None:
    check_marked_rules(
        {
            "vllm/__init__.py": "",
            "vllm/backend.py": """
from dataclasses import dataclass

import torch


@dataclass
class PagedMetadata:
    num_prefills: int
    lengths: torch.Tensor


class AttentionImpl:
    pass


class PagedImpl(AttentionImpl):
    def forward(self, q: torch.Tensor, metadata: PagedMetadata):
        if metadata.num_prefills > 0:
            return q * metadata.lengths.max().item()  # ok: CG302
        return q * metadata.lengths.min().item()  # expect: CG302
""",
        }
    )


def test_modules_of_a_framework_are_built_on_its_device() -> None:
    program = """
import torch
from vllm.attention import AttentionImpl


class PagedImpl(AttentionImpl, torch.nn.Module):
    def __init__(self):
        self.scale = torch.tensor(2.0)

    def forward(self, q: torch.Tensor):
        return q * self.scale.to("cuda")  # ok: CG306
"""
    check_marked_rules(program)
    foreign = program.replace("vllm.attention", "engine").replace("# ok", "# expect")
    check_marked_rules(foreign, captured=("program:PagedImpl.forward",))


def test_layers_of_megatron() -> None:
    check_marked_rules(
        """
import torch
from megatron.core.transformer.cuda_graphs import is_graph_capturing
from megatron.core.transformer.transformer_layer import TransformerLayer


class Layer(TransformerLayer):
    def forward(self, hidden_states: torch.Tensor):
        if not is_graph_capturing():
            print(hidden_states.max().item())  # ok: CG302
        if self.recompute_mlp:
            torch.cuda.get_rng_state()  # ok: CG505
        return hidden_states * hidden_states.min().item()  # expect: CG302
"""
    )


def test_wrappers_of_flashinfer() -> None:
    check_marked_rules(
        """
import torch
from flashinfer.decode import BatchDecodeWithPagedKVCacheWrapper


class Wrapper(BatchDecodeWithPagedKVCacheWrapper):
    def plan(self, lengths: torch.Tensor):
        self.longest = lengths.max().item()  # ok: CG302

    def run(self, q: torch.Tensor):
        return q * q.min().item()  # expect: CG302
"""
    )


def test_static_caches_of_transformers() -> None:
    check_marked_rules(
        """
import torch
from transformers.cache_utils import StaticLayer


class Layer(StaticLayer):
    def update(self, keys: torch.Tensor):
        self.keys[: int(keys.max())] = keys  # expect: CG302

    def reset(self, keys: torch.Tensor):
        return keys.max().item()  # ok: CG302
"""
    )


@pytest.mark.parametrize("name", sorted(built_in()))
def test_every_profile_says_what_switches_it_on_and_what_is_captured(name: str) -> None:
    profile = built_in()[name]
    assert profile.recognise
    assert profile.captured


LOGGED = """
import torch
from flashinfer.api_logging import flashinfer_api

class BatchDecodeWithPagedKVCacheWrapper:
    def __init__(self):
        self.scale = torch.ones(8, device="cuda")

    @flashinfer_api{call}
    def run(self, q: torch.Tensor):
        return q * self.scale * q.max().item()  # expect: CG302
"""
LOGGING = """
import functools
import os

def flashinfer_api(func=None, *, trace=None):
    def decorator(inner):
        @functools.wraps(inner)
        def wrapper(*args, **kwargs):
            if os.environ.get("LEVEL", "0") != "0":
                print(args[1].sum().item())  # ok: CG302
            return inner(*args, **kwargs)
        return wrapper
    return decorator if func is None else decorator(func)
"""


@pytest.mark.parametrize("call", ["", "(trace='decode')"])
def test_a_decorator_that_only_watches_leaves_what_it_decorates(call: str) -> None:
    check_marked_rules(
        {
            "flashinfer/__init__.py": "",
            "flashinfer/api_logging.py": LOGGING,
            "flashinfer/decode.py": LOGGED.format(call=call),
        }
    )


def test_a_field_that_is_missing_does_not_bring_back_what_the_constructor_was_given() -> None:
    check_marked_rules(
        """
import torch

class Wrapper:
    def __init__(self, fast: bool = False):
        self.fast = fast
        if fast:
            self.table = torch.zeros(8, device="cuda")

class Runner:
    def __init__(self):
        self.wrapper = Wrapper(fast=len("fast") > 3)
        self.wrapper.fast = True

    def record(self, x: torch.Tensor):
        x = x.cuda()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = x * self.wrapper.table
            if not self.wrapper.fast:
                y = y * y.sum().item()  # ok: CG302
        return graph, x, y
"""
    )
