"""Drawn from gradient-based trajectory optimization with Warp (its examples capture forward and tape).

Symptom: the rate is passed to the update kernel as a Python float and lowered after every iteration;
launches in the graph have the rate of the capture.
"""

import warp as wp


@wp.kernel
def rollout(u: wp.array(dtype=float), x: wp.array(dtype=float), loss: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] + u[i]
    wp.atomic_add(loss, 0, x[i] * x[i])


@wp.kernel
def descend(u: wp.array(dtype=float), g: wp.array(dtype=float), rate: float):
    i = wp.tid()
    u[i] = u[i] - rate * g[i]


@wp.kernel
def descend_by(u: wp.array(dtype=float), g: wp.array(dtype=float), rate: wp.array(dtype=float)):
    i = wp.tid()
    u[i] = u[i] - rate[0] * g[i]


class Optimizer:
    def __init__(self, steps: int, rate: float = 0.1, decay: float = 0.99):
        self.steps, self.rate, self.decay = steps, rate, decay
        self.u = wp.zeros(steps, dtype=float, device="cuda:0", requires_grad=True)
        self.x = wp.zeros(steps, dtype=float, device="cuda:0", requires_grad=True)
        self.loss = wp.zeros(1, dtype=float, device="cuda:0", requires_grad=True)
        self.rates = wp.full(1, rate, dtype=float, device="cuda:0")
        self.tape = wp.Tape()
        self.graph = None

    def _iteration(self) -> None:
        self.loss.zero_()
        with self.tape:
            wp.launch(rollout, dim=self.steps, inputs=[self.u, self.x, self.loss])
        self.tape.backward(self.loss)
        wp.launch(descend_by, dim=self.steps, inputs=[self.u, self.u.grad, self.rates])
        self.tape.zero()

    def optimize(self, iterations: int) -> float:
        wp.load_module(device="cuda:0")
        with wp.ScopedCapture(device="cuda:0") as capture:
            self._iteration()
        self.graph = capture.graph
        for _ in range(iterations):
            wp.capture_launch(self.graph)
            self.rate *= self.decay
            self.rates.fill_(self.rate)
        return self.loss.numpy()[0]
