"""Drawn from LeanRL-like scripts whose advantage computation is captured as a closure over the locals of main.

Symptom: every iteration bootstraps with the value of the first rollout's last observation: the loop binds `next_obs`
and `next_done` anew, the captured closure read what they were.
"""

import torch
from torch import nn


def main(envs, num_steps=128, num_envs=64, obs_dim=24, iterations=1000, gamma=0.99, lam=0.95):
    device = torch.device("cuda")
    actor = nn.Sequential(nn.Linear(obs_dim, 64), nn.Tanh(), nn.Linear(64, 4)).to(device)
    critic = nn.Sequential(nn.Linear(obs_dim, 64), nn.Tanh(), nn.Linear(64, 1)).to(device)
    optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=3e-4)

    obs = torch.zeros(num_steps, num_envs, obs_dim, device=device)
    rewards = torch.zeros(num_steps, num_envs, device=device)
    dones = torch.zeros(num_steps, num_envs, device=device)
    values = torch.zeros(num_steps, num_envs, device=device)
    advantages = torch.zeros(num_steps, num_envs, device=device)

    next_obs = envs.reset().to(device)
    next_done = torch.zeros(num_envs, device=device)

    @torch.no_grad()
    def gae():
        next_value = critic(next_obs).squeeze(-1)
        nonterminal = 1.0 - next_done
        last = torch.zeros(num_envs, device=device)
        for t in reversed(range(num_steps)):
            delta = rewards[t] + gamma * next_value * nonterminal - values[t]
            last = delta + gamma * lam * nonterminal * last
            advantages[t] = last
            nonterminal, next_value = 1.0 - dones[t], values[t]

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(2):
            gae()
    torch.cuda.current_stream().wait_stream(side)
    gae_graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(gae_graph):
        gae()

    for _ in range(iterations):
        for step in range(num_steps):
            obs[step].copy_(next_obs)
            dones[step].copy_(next_done)
            with torch.no_grad():
                values[step].copy_(critic(next_obs).squeeze(-1))
                action = torch.distributions.Categorical(logits=actor(next_obs)).sample()
            next_obs, reward, next_done = envs.step(action)
            next_obs, next_done = next_obs.to(device), next_done.to(device)  # HAZARD: rebind-static-input
            rewards[step].copy_(reward)
        gae_graph.replay()
        returns = advantages + values
        loss = (critic(obs).squeeze(-1) - returns).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
