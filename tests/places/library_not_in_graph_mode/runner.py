"""Captures the backends, and some wrappers of its own."""

import flashinfer
import torch
from backends import DecodeBackend, LatentBackend, PrefillBackend


def record(workspace, kv_cache, server_args, options):
    q = torch.zeros(8, 64, device="cuda")
    decode = DecodeBackend(workspace)
    prefill = PrefillBackend(workspace, server_args)
    latent = LatentBackend(workspace, options)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        a = decode.attend(q, kv_cache) + decode.attend_graphed(q, kv_cache)
        b = prefill.extend(q, q, q) + prefill.extend_paged(q, kv_cache) + prefill.extend_chosen(q, kv_cache)
        c = latent.decode(q, kv_cache)
    return graph, q, a, b, c


def record_once(workspace, kv_cache):
    q = torch.zeros(8, 64, device="cuda")
    wrapper = flashinfer.BatchDecodeWithPagedKVCacheWrapper(workspace)
    fixed = flashinfer.CUDAGraphBatchDecodeWithPagedKVCacheWrapper(workspace)
    wrapper.run(q, kv_cache)  # ok: CG104
    fixed.run(q, kv_cache)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = wrapper.run(q, kv_cache)  # expect: CG104
        lse = wrapper.run_return_lse(q, kv_cache)  # expect: CG104
        other = fixed.run(q, kv_cache)  # ok: CG104
        again = wrapper.run(q, kv_cache)  # graphlint: ignore[CG104] -- planned once, for all
    return graph, q, out, other, again, lse
