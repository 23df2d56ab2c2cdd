"""Names of what `nn.Module` has: its methods, and those that cast or move it."""

from __future__ import annotations

CASTS: frozenset[str] = frozenset(
    {"to", "half", "float", "double", "bfloat16", "cuda", "cpu", "type", "to_empty"}
)


METHODS = frozenset(
    {
        "parameters",
        "named_parameters",
        "buffers",
        "named_buffers",
        "modules",
        "named_modules",
        "children",
        "named_children",
        "register_buffer",
        "register_parameter",
        "register_module",
        "add_module",
        "register_forward_hook",
        "register_forward_pre_hook",
        "register_full_backward_hook",
        "register_full_backward_pre_hook",
        "state_dict",
        "load_state_dict",
        "zero_grad",
        "requires_grad_",
        "train",
        "eval",
        "apply",
        "share_memory",
        "get_parameter",
        "get_submodule",
        "get_buffer",
        "compile",
        "extra_repr",
        "__init__",
        "_apply",
        *CASTS,
    }
)
