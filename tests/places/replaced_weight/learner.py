"""What the learner does to an actor between its steps."""

import torch
from policy import Actor
from torch import nn


def push(actor: Actor, weights: dict[str, torch.Tensor]):
    for name, parameter in actor.policy.named_parameters():
        parameter.data = weights[name].cuda()  # expect: CG102


def pull(actor: Actor, weights: dict[str, torch.Tensor]):
    with torch.no_grad():
        for name, parameter in actor.policy.named_parameters():
            parameter.copy_(weights[name])  # ok: CG102


def run(stream, weights):
    actor = Actor(64)
    for observation, message in stream:
        action = actor.act(observation)
        if message == "push":
            push(actor, weights)
        elif message == "pull":
            pull(actor, weights)
        elif message == "new head":
            actor.policy.head.weight = nn.Parameter(weights["head.weight"].cuda())  # expect: CG102
        elif message == "soften":
            actor.policy.scale.data.mul_(0.5)  # ok: CG102
        elif message == "restore":
            actor.resume(weights)
        elif message == "adopt":
            actor.refresh(weights)
        elif message == "halve":
            actor.shrink()
        elif message == "rest":
            actor.policy.cpu()  # graphlint: ignore[CG102] -- the process is about to end
        yield action


def distil(teacher_weights, batches):
    teacher = Actor(64)
    teacher.policy.load_state_dict(teacher_weights)  # ok: CG102
    student = nn.Linear(64, 4).cuda()
    for batch in batches:
        target = teacher.act(batch)
        student.weight.data = student.weight.data - 0.1 * target.T @ batch  # ok: CG102
    return student
