"""Attention backends around the wrappers of FlashInfer."""

import flashinfer
from flashinfer import BatchPrefillWithRaggedKVCacheWrapper
from flashinfer.decode import BatchDecodeWithPagedKVCacheWrapper


class DecodeBackend:
    def __init__(self, workspace):
        self.plain = BatchDecodeWithPagedKVCacheWrapper(workspace, "NHD")
        self.graphed = BatchDecodeWithPagedKVCacheWrapper(workspace, "NHD", use_cuda_graph=True)

    def attend(self, q, kv_cache):
        return self.plain.run(q, kv_cache)  # expect: CG104

    def attend_graphed(self, q, kv_cache):
        return self.graphed.run(q, kv_cache)  # ok: CG104


class PrefillBackend:
    def __init__(self, workspace, server_args):
        self.ragged = BatchPrefillWithRaggedKVCacheWrapper(workspace, "NHD")
        self.paged = flashinfer.prefill.BatchPrefillWithPagedKVCacheWrapper(workspace, use_cuda_graph=False)
        self.chosen = flashinfer.BatchPrefillWithPagedKVCacheWrapper(workspace, "NHD", server_args.cuda_graph)

    def extend(self, q, k, v):
        return self.ragged.run(q, k, v)  # expect: CG104

    def extend_paged(self, q, kv_cache):
        return self.paged.forward(q, kv_cache)  # expect: CG104

    def extend_chosen(self, q, kv_cache):
        return self.chosen.run(q, kv_cache)  # ok: CG104


class LatentBackend:
    def __init__(self, workspace, options):
        self.latent = flashinfer.mla.BatchMLAPagedAttentionWrapper(workspace)
        self.static = flashinfer.mla.BatchMLAPagedAttentionWrapper(workspace, True)
        self.passed = flashinfer.mla.BatchMLAPagedAttentionWrapper(workspace, **options)

    def decode(self, q, cache):
        out = self.latent.run(q, cache)  # expect: CG104
        out = out + self.static.run(q, cache)  # ok: CG104
        return out + self.passed.run(q, cache)  # ok: CG104
