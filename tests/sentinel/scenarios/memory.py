"""Inputs, outputs, pools, copies from the host."""

from __future__ import annotations

from typing import Any

import torch

from tests.sentinel.capturing import capture
from tests.sentinel.scenarios import full, ones, scenario


@scenario()
def unpinned_nonblocking_local() -> Any:
    capture(lambda: torch.full((4,), 7.0).to("cuda", non_blocking=True))


@scenario()
def pinned_local_dropped() -> Any:
    graph, out = capture(lambda: torch.full((4,), 7.0).pin_memory().to("cuda", non_blocking=True))
    graph.replay()
    return {"expected": 7, "got": out.tolist()}


@scenario()
def pinned_outer_dropped() -> Any:
    held = [torch.full((4,), 7.0).pin_memory()]
    address = held[0].data_ptr()
    graph, out = capture(lambda: held[0].to("cuda", non_blocking=True))
    held.clear()
    other = torch.full((4,), 99.0).pin_memory()
    graph.replay()
    return {"expected": 7, "got": out.tolist(), "reused": other.data_ptr() == address}


@scenario()
def pinned_war_in_capture() -> Any:
    host = torch.ones(8).pin_memory()

    def body() -> Any:
        out = host.to("cuda", non_blocking=True)
        host.fill_(2)
        return out

    graph, out = capture(body)
    graph.replay()
    return {"expected": "1,1,1,1,2..", "got": out.tolist()}


@scenario()
def input_freed_reused() -> Any:
    held = [ones(4)]
    graph, out = capture(lambda: held[0] * 2)
    held.clear()
    kept = full(50.0)
    graph.replay()
    return {"expected": 2, "got": out.tolist()} if kept is not None else None


@scenario("late")
def pinned_race_replay() -> Any:
    host, given = torch.ones(4).pin_memory(), ones(4)
    graph, out = capture(lambda: given * 1)
    for value in (1.0, 2.0, 3.0):
        host.fill_(value)
        given.copy_(host, non_blocking=True)
        graph.replay()
    return out.tolist()


@scenario()
def rebind_input() -> Any:
    given = ones(4)
    kept = given
    graph, out = capture(lambda: given * 2)
    given = full(5.0)
    graph.replay()
    return {"expected": 10, "got": out.tolist()} if kept is not None else None


@scenario()
def param_data_swap() -> Any:
    layer, x = torch.nn.Linear(4, 4, bias=False).cuda(), ones(1, 4)
    kept = layer.weight.data.fill_(1)
    with torch.no_grad():
        layer(x)
        graph, out = capture(lambda: layer(x))
    layer.weight.data = full(10.0, 4, 4)
    graph.replay()
    return {"expected": 40, "got": out[0].tolist()} if kept is not None else None


@scenario()
def load_state_dict_inplace() -> Any:
    layer, x = torch.nn.Linear(4, 4, bias=False).cuda(), ones(1, 4)
    pointer, kept = layer.weight.data_ptr(), layer.weight
    with torch.no_grad():
        layer(x)
        graph, out = capture(lambda: layer(x))
    layer.load_state_dict({"weight": torch.full((4, 4), 10.0)})
    graph.replay()
    copied, same = out[0].tolist(), layer.weight.data_ptr() == pointer
    layer.load_state_dict({"weight": full(20.0, 4, 4)}, assign=True)
    graph.replay()
    return {
        "after_copy": copied,
        "ptr_same_copy": same,
        "ptr_same_assign": layer.weight.data_ptr() == kept.data_ptr(),
        "after_assign expected 80": out[0].tolist(),
    }


@scenario()
def module_to_dtype() -> Any:
    layer = torch.nn.Linear(4, 4).cuda()
    first = layer.weight.data_ptr()
    keep = layer.weight.data
    layer.half()
    second = layer.weight.data_ptr()
    keep = layer.weight.data
    layer.cpu().cuda()
    third = layer.weight.data_ptr()
    return {"half moved ptr": second != first, "cpu-cuda roundtrip moved": third != keep.data_ptr()}


@scenario()
def shared_pool_clobber() -> Any:
    given = ones(1)
    pool = torch.cuda.graph_pool_handle()

    def larger() -> Any:
        return given * 2 * 2

    first, y1 = capture(lambda: larger() + 4, pool=pool)
    y2_kept = []

    def body() -> Any:
        middle = given + 1
        y2_kept.append(middle + 1)
        return y2_kept[0]

    first.replay()
    y1_value = y1.tolist()
    second, y2 = capture(body, pool=pool)
    second.replay()
    return {"y2 expected 4": y2.tolist(), "y1": y1_value}


@scenario()
def accumulate_outputs() -> Any:
    given = ones(1)
    graph, out = capture(lambda: given * 1)
    outputs = []
    for value in (1.0, 2.0, 3.0):
        given.fill_(value)
        graph.replay()
        outputs.append(out)
    return [kept.item() for kept in outputs]


@scenario()
def python_side_effect() -> Any:
    x, seen, counter = ones(4), [], [0]

    def body() -> Any:
        counter[0] += 1
        seen.append(1)
        return x * counter[0]

    graph, out = capture(body)
    for _ in range(3):
        graph.replay()
    return {"counter": counter[0], "list len": len(seen), "y": out.tolist()}


@scenario()
def broadcast_copy_silent() -> Any:
    given = ones(4)
    graph, out = capture(lambda: given * 1)
    given.copy_(full(2.0, 1))
    graph.replay()
    return out.tolist()


@scenario()
def padding_stale_rows() -> Any:
    given = ones(4)
    graph, out = capture(lambda: given.sum())
    given.fill_(2)
    graph.replay()
    given[:1].copy_(full(2.0, 1))  # one row now; the other three are still the old ones
    graph.replay()
    return {"expected 2": out.item()}


@scenario("late")
def host_item_after_replay_no_sync() -> Any:
    given, host = ones(4), torch.zeros(4).pin_memory()

    def body() -> None:
        host.copy_(given * 5, non_blocking=True)

    graph, _ = capture(body)
    graph.replay()
    return {"expected 5 (no sync)": host.tolist()}
