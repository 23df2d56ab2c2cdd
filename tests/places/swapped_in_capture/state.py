"""Pairs of buffers that take turns."""


class Pair:
    def __init__(self, model):
        self.front = model.state()
        self.rear = model.state()

    def flip(self):
        self.front, self.rear = self.rear, self.front  # expect: CG106
