"""A linter for CUDA-graph capture hazards in PyTorch code.

This package reads code; it never imports or runs the code it reads, and it never imports torch.
"""

__version__ = "0.1.0"
