"""Source: newton-physics/newton#4098.

Symptom: the integral term of a captured actuator stands still: the two state buffers trade places on the host, so a graph
of one control step always starts from the same buffer.
"""

import torch


class PIDActuator:
    def __init__(self, n, gains, dt):
        self.kp, self.ki, self.kd = gains
        self.dt = dt
        self.current = {k: torch.zeros(n, device="cuda") for k in ("integral", "previous")}
        self.upcoming = {k: torch.zeros(n, device="cuda") for k in ("integral", "previous")}

    def compute(self, error):
        integral = self.current["integral"] + error * self.dt
        derivative = (error - self.current["previous"]) / self.dt
        self.upcoming["integral"].copy_(integral)
        self.upcoming["previous"].copy_(error)
        return self.kp * error + self.ki * integral + self.kd * derivative

    def advance(self):
        self.current, self.upcoming = self.upcoming, self.current  # HAZARD: side-effect


class Plant:
    def __init__(self, n, decimation=1, dt=0.01):
        self.target = torch.zeros(n, device="cuda")
        self.pos = torch.zeros(n, device="cuda")
        self.vel = torch.zeros(n, device="cuda")
        self.actuator = PIDActuator(n, (20.0, 4.0, 1.0), dt)
        self.decimation, self.dt = decimation, dt
        self.graph = None

    def _control_step(self):
        for _ in range(self.decimation):
            effort = self.actuator.compute(self.target - self.pos)
            self.vel.add_(effort, alpha=self.dt)
            self.pos.add_(self.vel, alpha=self.dt)
            self.actuator.advance()

    def prepare(self):
        keep = [t.clone() for t in (self.pos, self.vel)]
        s = torch.cuda.Stream()
        s.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(s):
            self._control_step()
        torch.cuda.current_stream().wait_stream(s)
        self.pos.copy_(keep[0])
        self.vel.copy_(keep[1])
        for t in self.actuator.current.values():
            t.zero_()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self._control_step()

    def step(self, target):
        self.target.copy_(target)
        self.graph.replay()
        return self.pos.clone()
