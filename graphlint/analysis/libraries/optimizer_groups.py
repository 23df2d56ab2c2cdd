"""The parameter groups of an optimizer: dicts with parameters and the numbers that a step computes with."""

from __future__ import annotations

from graphlint.analysis import cells, elements, tensor_ops
from graphlint.analysis.libraries.registry import Call, model
from graphlint.analysis.values import NONE, Change, Const, Host, Mapping, Sequence_, Unknown, Value
from graphlint.facts import nodes as ast
from graphlint.rules import operations


def of_call(call: Call) -> Sequence_:
    """The groups that a constructor of the library makes."""
    return _completed(call, _options(call))


def of_defaults(call: Call) -> Sequence_:
    """The groups that the base class makes for a project's own optimizer."""
    defaults = call.get(1, "defaults")
    entries = defaults.entries() if isinstance(defaults, Mapping) else []
    named = {
        key.value: value for key, value in entries if isinstance(key, Const) and isinstance(key.value, str)
    }
    return _completed(call, named)


def _completed(call: Call, options: dict[str, Value]) -> Sequence_:
    """The groups that a constructor is given, completed, else one of all parameters."""
    parameters = call.get(0, "params")
    known, rest = elements.of(call.m, parameters) if parameters is not None else ((), None)
    given = [part for part in (*known, rest) if isinstance(part, Mapping)]
    for group in given:
        for name, value in options.items():
            if ("const", name) not in group.fields:
                call.m.heap.write(group.fields, ("const", name), (Const(name), value))
    if given:
        return Sequence_(given, "list")
    group = Mapping(call.place)
    if parameters is not None:
        options["params"] = parameters
    group.fields.update({("const", name): (Const(name), value) for name, value in options.items()})
    return Sequence_([group], "list")


def _options(call: Call) -> dict[str, Value]:
    kind = call.name.rpartition(".")[2]
    options = {name: value for name, value in call.arguments.kwargs.items() if name != "params"}
    if len(call.args) > 1:
        options["lr"] = call.args[1]
    options.setdefault("lr", Const(1e-3))
    if isinstance(options["lr"], Unknown) and _is_an_option(call):
        options["lr"] = Host("float", Change.CONFIG)
    for name in ("weight_decay", "betas"):
        if kind not in operations.listed(f"without_{name}"):
            options.setdefault(name, Host("float", Change.CONSTANT))
    if kind in operations.listed("with_momentum"):
        options.setdefault("momentum", Host("float", Change.CONSTANT))
    return options


def _is_an_option(call: Call) -> bool:
    """Whether the rate is taken from options of the program, `args.lr` or `config["lr"]`: a number, then."""
    words = call.node.keywords if isinstance(call.node, ast.Call) else []
    given = next((word.value for word in words if word.arg == "lr"), None)
    owner = given.value if isinstance(given, (ast.Attribute, ast.Subscript)) else None
    return owner is not None and not (isinstance(owner, ast.Name) and owner.id == "self")


GROUPS = "?groups"


@model("torch.optim.Optimizer.add_param_group")
def _add(call: Call) -> Value:
    """Another group: a step that was captured before does not know it."""
    group = call.get(0, "param_group")
    held = call.this.fields.get("param_groups")
    if isinstance(held, Sequence_) and isinstance(group, Mapping):
        call.m.heap.write(held.fields, "items", (*held.items, group))
    count = call.this.fields.get(GROUPS)
    number = count.value if isinstance(count, Const) else 1
    cells.write(call.m, call.this.fields, GROUPS, Const(number + 1), call.place)
    return NONE


def use_count(call: Call) -> None:
    """A captured step goes through the groups that there are."""
    with call.m.heap.aside():
        count = call.this.fields.setdefault(GROUPS, Const(1))
    read = cells.tainted(call.m, call.this.fields, GROUPS, count, call.place, call.this, GROUPS)
    tensor_ops.host_use(call.m, call.node, read, "optimizer-groups", call.frame)


def use(call: Call, group: Mapping) -> None:
    """A captured step computes with the numbers of a group; a tensor among them is read when it runs."""
    for key, (name, value) in list(group.fields.items()):
        if (
            not isinstance(name, Const)
            or name.value in operations.listed("optimizer_switches")
            or isinstance(value, Unknown)
        ):
            continue
        cells.note_read(call.m, group.fields, key, value, call.place, group, str(name.value))
        read = cells.tainted(call.m, group.fields, key, value, call.place, call.this, str(name.value))
        if not tensor_ops.any_tensor(read):
            how = "learning-rate" if name.value == "lr" else "optimizer-option"
            for part in elements.all_elements(call.m, read) if isinstance(read, Sequence_) else [read]:
                tensor_ops.host_use(call.m, call.node, part, how, call.frame)
