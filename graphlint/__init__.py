"""A linter and a runtime sentinel for CUDA-graph capture hazards in PyTorch code.

The linter reads code; it never imports or runs the code it reads, and it never imports torch. What watches
programs run is `graphlint.sentinel`.
"""

__version__ = "0.1.0"
