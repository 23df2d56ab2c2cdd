"""Copies of outputs to the host, on a stream of their own."""

import torch


class Fetcher:
    def __init__(self):
        self.stream = torch.cuda.Stream()
        self.host = []

    def fetch(self, output: torch.Tensor):
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            self.host.append(output.to("cpu", non_blocking=True))

    def finish(self):
        torch.cuda.current_stream().wait_stream(self.stream)
