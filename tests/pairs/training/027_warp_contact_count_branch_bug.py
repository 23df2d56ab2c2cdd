"""A simulation skips its contact solver when there are no contacts; the count is read back between
capture_begin and capture_end."""

import warp as wp


@wp.kernel
def find_contacts(q: wp.array(dtype=wp.vec3), count: wp.array(dtype=int)):
    i = wp.tid()
    if q[i][2] < 0.0:
        wp.atomic_add(count, 0, 1)


@wp.kernel
def push_out(q: wp.array(dtype=wp.vec3), count: wp.array(dtype=int)):
    i = wp.tid()
    if count[0] > 0 and q[i][2] < 0.0:
        q[i] = wp.vec3(q[i][0], q[i][1], 0.0)


class Scene:
    def __init__(self, n, device="cuda:0"):
        self.n, self.device = n, device
        self.q = wp.zeros(n, dtype=wp.vec3, device=device)
        self.count = wp.zeros(1, dtype=int, device=device)
        self.graph = None

    def simulate(self):
        self.count.zero_()
        wp.launch(find_contacts, dim=self.n, inputs=[self.q, self.count], device=self.device)
        if self.count.numpy()[0] > 0:  # HAZARD: implicit-sync, sync-in-capture
            wp.launch(push_out, dim=self.n, inputs=[self.q, self.count], device=self.device)

    def prepare(self):
        wp.load_module(device=self.device)
        self.simulate()
        wp.capture_begin(device=self.device)
        try:
            self.simulate()
        finally:
            self.graph = wp.capture_end(device=self.device)

    def step(self):
        wp.capture_launch(self.graph)


def main(frames):
    scene = Scene(1024)
    scene.prepare()
    for _ in range(frames):
        scene.step()
    return scene.q.numpy()
