"""Source: leggedrobotics/legged_gym (robots pushed every few seconds) in a captured environment step.

Fixed: the counter is a device tensor and the push is masked by it.
"""

import torch


class LeggedEnv:
    def __init__(self, num_envs, push_interval=250, max_push=1.0, dt=0.02):
        self.num_envs, self.dt = num_envs, dt
        self.push_interval, self.max_push = push_interval, max_push
        self.actions = torch.zeros(num_envs, 12, device="cuda")
        self.root_vel = torch.zeros(num_envs, 3, device="cuda")
        self.obs_buf = torch.zeros(num_envs, 15, device="cuda")
        self.rew_buf = torch.zeros(num_envs, device="cuda")
        self.common_step_counter = torch.zeros((), dtype=torch.int64, device="cuda")

    def _push_robots(self, when):
        push = torch.empty_like(self.root_vel).uniform_(-self.max_push, self.max_push)
        self.root_vel.add_(push * when)

    def _post_physics_step(self):
        self.common_step_counter.add_(1)
        self._push_robots(self.common_step_counter % self.push_interval == 0)
        self.rew_buf.copy_(-self.root_vel.square().sum(1))
        self.obs_buf.copy_(torch.cat([self.root_vel, self.actions], dim=1))

    def _step(self):
        self.root_vel.add_(self.actions[:, :3], alpha=self.dt)
        self._post_physics_step()


class GraphedEnv:
    def __init__(self, env):
        self.env = env
        vel = env.root_vel.clone()
        s = torch.cuda.Stream()
        s.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(s):
            for _ in range(2):
                env._step()
        torch.cuda.current_stream().wait_stream(s)
        env.root_vel.copy_(vel)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            env._step()

    def step(self, actions):
        self.env.actions.copy_(actions)
        self.graph.replay()
        return self.env.obs_buf.clone(), self.env.rew_buf.clone()
