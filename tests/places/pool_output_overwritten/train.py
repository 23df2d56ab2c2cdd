"""Actor and critic, or several phases of a solver, in one pool."""

import torch


class ActorCritic:
    def __init__(self, width: int):
        self.state = torch.zeros(width, device="cuda")
        pool = torch.cuda.graph_pool_handle()
        self.actor, self.critic = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.actor, pool=pool):
            self.action = torch.tanh(self.state + 1)
        with torch.cuda.graph(self.critic, pool=pool):
            self.value = torch.tanh(self.state - 1)

    def advantage(self, state: torch.Tensor, following: torch.Tensor):
        self.state.copy_(state)
        self.critic.replay()
        before = self.value
        self.state.copy_(following)
        self.actor.replay()
        return self.action - before  # expect: CG604

    def judged(self, state: torch.Tensor):
        self.state.copy_(state)
        self.critic.replay()
        judged = self.value * 2  # ok: CG604
        self.actor.replay()
        return judged, self.action.clone()

    def logged(self, state: torch.Tensor):
        self.state.copy_(state)
        self.critic.replay()
        self.actor.replay()
        print(self.value.mean())  # graphlint: ignore[CG604] -- the log shows garbage on purpose


def solver(u: torch.Tensor):
    u, pool = u.cuda(), torch.cuda.graph_pool_handle()
    predict, correct, check = (torch.cuda.CUDAGraph() for _ in range(3))
    with torch.cuda.graph(predict, pool=pool):
        guess = torch.sin(u * 2)
    with torch.cuda.graph(correct, pool=pool):
        better = torch.sin(u * 3)
    with torch.cuda.graph(check, pool=pool):
        residual = torch.sin(u * 4)
    check.replay()
    correct.replay()
    total = residual.sum()  # expect: CG604
    predict.replay()
    return total + better.sum() + guess.sum()  # expect: CG604


def multigrid(u: torch.Tensor):
    u, pool = u.cuda(), torch.cuda.graph_pool_handle()
    coarse, fine = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(coarse, pool=pool):
        low = torch.sin(u * 2)
    with torch.cuda.graph(fine, pool=pool):
        high = torch.sin(u * 3)
    fine.replay()
    shown = high.view(-1)
    coarse.replay()
    kept = [low.clone(), shown.clone()]  # expect: CG604
    fine.replay()
    kept.append(high.clone())  # ok: CG604
    return kept
