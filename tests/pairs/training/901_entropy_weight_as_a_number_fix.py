"""Drawn from the single-file SAC of CleanRL when its updates are captured (compare LeanRL's rewrite).

Fixed: the update computes alpha on the device from the tensor that is trained in place.
"""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim


class Actor(nn.Module):
    def __init__(self, obs_dim, act_dim):
        super().__init__()
        self.fc = nn.Linear(obs_dim, 256)
        self.mean = nn.Linear(256, act_dim)
        self.logstd = nn.Linear(256, act_dim)

    def get_action(self, x):
        h = F.relu(self.fc(x))
        mean, std = self.mean(h), self.logstd(h).clamp(-5, 2).exp()
        raw = mean + std * torch.randn_like(mean)
        log_prob = (-0.5 * ((raw - mean) / std).square() - std.log()).sum(-1)
        return torch.tanh(raw), log_prob


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--total-timesteps", type=int, default=100_000)
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--policy-lr", type=float, default=3e-4)
    return parser.parse_args()


def main(env, rb):
    args = parse_args()
    actor = Actor(17, 6).cuda()
    qf = nn.Sequential(nn.Linear(23, 256), nn.ReLU(), nn.Linear(256, 1)).cuda()
    actor_optimizer = optim.Adam(actor.parameters(), lr=args.policy_lr, capturable=True)
    log_alpha = torch.zeros(1, requires_grad=True, device="cuda")
    a_optimizer = optim.Adam([log_alpha], lr=args.policy_lr)
    static_obs = torch.zeros(args.batch_size, 17, device="cuda")

    def update_actor():
        actor_optimizer.zero_grad(set_to_none=True)
        pi, log_pi = actor.get_action(static_obs)
        min_q = qf(torch.cat([static_obs, pi], 1)).view(-1)
        actor_loss = ((log_alpha.detach().exp() * log_pi) - min_q).mean()
        actor_loss.backward()
        actor_optimizer.step()
        return actor_loss.detach()

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            update_actor()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        actor_loss = update_actor()

    obs = env.reset()
    for global_step in range(args.total_timesteps):
        with torch.no_grad():
            action, _ = actor.get_action(obs)
        next_obs, reward, done = env.step(action)
        rb.add(obs, action, reward, next_obs, done)
        obs = next_obs
        data = rb.sample(args.batch_size)
        static_obs.copy_(data.observations)
        graph.replay()
        with torch.no_grad():
            _, log_pi = actor.get_action(static_obs)
        alpha_loss = (-log_alpha.exp() * (log_pi - 6.0)).mean()
        a_optimizer.zero_grad()
        alpha_loss.backward()
        a_optimizer.step()
        if global_step % 100 == 0:
            print(global_step, actor_loss.item(), log_alpha.exp().item())
