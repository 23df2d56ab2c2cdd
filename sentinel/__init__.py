"""The runtime half of graphlint: watches CUDA graphs while they run. Nothing of it is here yet.

This package never imports libcst, and importing it never imports torch.
"""
