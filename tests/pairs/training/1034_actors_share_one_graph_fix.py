"""Source: asynchronous actors in the style of torchbeast, with one captured policy.

Fixed: a lock is held from the copy into the buffer until the result has been copied out and is complete.
"""

import threading

import torch
from torch import nn


class PolicyServer:
    def __init__(self, policy: nn.Module, obs_dim):
        self.policy = policy.cuda().eval()
        self.obs = torch.zeros(1, obs_dim, device="cuda")
        self.lock = threading.Lock()
        with torch.no_grad():
            s = torch.cuda.Stream()
            s.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(s):
                for _ in range(3):
                    self.policy(self.obs)
            torch.cuda.current_stream().wait_stream(s)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.logits = self.policy(self.obs)

    def act(self, obs):
        with self.lock:
            self.obs.copy_(obs)
            self.graph.replay()
            return self.logits.argmax(-1).item()


def actor(server, env, steps, out):
    stream = torch.cuda.Stream()
    obs = env.reset()
    with torch.cuda.stream(stream):
        for _ in range(steps):
            action = server.act(obs)
            obs, reward, _ = env.step(action)
            out.append((action, reward))


def collect(policy, envs, obs_dim, steps=100):
    server = PolicyServer(policy, obs_dim)
    results = [[] for _ in envs]
    threads = [
        threading.Thread(target=actor, args=(server, env, steps, out)) for env, out in zip(envs, results)
    ]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return results
