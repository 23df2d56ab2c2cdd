"""What looks at torch and tells the machine: adapters that replace attributes in place and put them back."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphlint.sentinel.patches import Patches
    from graphlint.sentinel.session import Watch
    from graphlint.sentinel.watching.observer import Observer


def install(patches: Patches, watches: list[Watch]) -> Observer:
    """Replace what has to be replaced; `patches` knows how to undo it. The innermost watch is the last."""
    import torch

    from graphlint.sentinel.canary.consumed import Consumed
    from graphlint.sentinel.canary.inputs import Canaries
    from graphlint.sentinel.canary.padding import Padding
    from graphlint.sentinel.shadow.shadows import Shadows
    from graphlint.sentinel.shadow.twins import Twins
    from graphlint.sentinel.virtual.device import active
    from graphlint.sentinel.watching import backward, contexts, edges, graphs, virtual
    from graphlint.sentinel.watching.calls import Calls
    from graphlint.sentinel.watching.census import Census
    from graphlint.sentinel.watching.driver import Nodes
    from graphlint.sentinel.watching.observer import Observer
    from graphlint.sentinel.watching.steps import Steps

    if torch.version.cuda is not None and not active():
        observer = Observer(Nodes(), watches)
    else:
        observer = Observer(Steps(patches), watches)
        virtual.follow_waits(patches, observer)
    graphs.install(patches, observer)
    edges.install(patches, observer)
    backward.install(patches, observer)
    contexts.install(patches, observer)
    calls, shadows, twins = Calls(patches, observer), Shadows(observer), Twins(observer)
    canaries = Canaries(observer)  # takes the pattern out of the inputs before a shadow reads them
    observer.add([calls, canaries, shadows, twins, Census(observer), Padding(observer), Consumed(observer)])
    return observer
