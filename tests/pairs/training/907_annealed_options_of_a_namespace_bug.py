"""Drawn from single-file PPO scripts that anneal their options in place.

Symptom: with the update captured the clip range stays at its first value, although the script writes the annealed one
into its options at the top of every iteration.
"""

from __future__ import annotations

from types import SimpleNamespace

import torch
from torch import nn

DEFAULTS = dict(
    iterations=500, epochs=4, minibatch=1024, clip_start=0.3, clip_end=0.1, ent_coef=0.01, lr=2.5e-4
)


class Policy(nn.Module):
    def __init__(self, obs: int, actions: int) -> None:
        super().__init__()
        self.pi = nn.Sequential(nn.Linear(obs, 64), nn.Tanh(), nn.Linear(64, actions))
        self.v = nn.Sequential(nn.Linear(obs, 64), nn.Tanh(), nn.Linear(64, 1))

    def evaluate(self, obs, actions):
        logp = self.pi(obs).log_softmax(-1)
        chosen = logp.gather(-1, actions.unsqueeze(-1)).squeeze(-1)
        return chosen, -(logp.exp() * logp).sum(-1), self.v(obs).squeeze(-1)


def surrogate(policy, batch, opts):
    logp, entropy, value = policy.evaluate(batch["obs"], batch["actions"])
    ratio = (logp - batch["logp"]).exp()
    clipped = ratio.clamp(1.0 - opts.clip, 1.0 + opts.clip)  # HAZARD: frozen-scalar
    gain = torch.min(ratio * batch["adv"], clipped * batch["adv"])
    loss_v = 0.5 * (value - batch["returns"]).square()
    return (loss_v - gain - opts.ent_coef * entropy).mean()


def capture(fn, warmup=3):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(warmup):
            fn()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = fn()
    return graph, out


def run(collect, obs_dim: int, n_actions: int, **overrides):
    opts = SimpleNamespace(**{**DEFAULTS, **overrides})
    opts.clip = opts.clip_start
    policy = Policy(obs_dim, n_actions).cuda()
    optimizer = torch.optim.Adam(policy.parameters(), lr=opts.lr, capturable=True)
    n = opts.minibatch
    batch = {
        "obs": torch.zeros(n, obs_dim, device="cuda"),
        "actions": torch.zeros(n, dtype=torch.long, device="cuda"),
        "logp": torch.zeros(n, device="cuda"),
        "adv": torch.zeros(n, device="cuda"),
        "returns": torch.zeros(n, device="cuda"),
    }

    def update():
        optimizer.zero_grad(set_to_none=True)
        loss = surrogate(policy, batch, opts)
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
        optimizer.step()
        return loss.detach()

    graph, loss = capture(update)
    for iteration in range(opts.iterations):
        share = iteration / opts.iterations
        opts.clip = opts.clip_start + share * (opts.clip_end - opts.clip_start)  # ALT: frozen-scalar
        for minibatch in collect(policy, opts.epochs):
            for key, held in batch.items():
                held.copy_(minibatch[key])
            graph.replay()
        if iteration % 10 == 0:
            print(iteration, round(opts.clip, 3), loss.item())
