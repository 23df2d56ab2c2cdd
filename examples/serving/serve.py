"""Answers requests with a captured model; a request names the fields that it sets."""

import torch

REQUESTS = [{"scale": [1.0]}, {"scale": [3.0]}, {"scale": [5.0]}]


class Server:
    def __init__(self) -> None:
        self.weights = torch.arange(4.0, device="cuda")
        self.scale = torch.ones(1, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.run_model()
        with torch.cuda.graph(self.graph):
            self.answer = self.run_model()

    def run_model(self) -> torch.Tensor:
        return self.weights * self.scale

    def serve(self, request: dict[str, list[float]]) -> list[float]:
        for name, values in request.items():
            setattr(self, name, torch.tensor(values, device="cuda"))
        self.graph.replay()
        return self.answer.tolist()


if __name__ == "__main__":
    server = Server()
    for request in REQUESTS:
        print(request, "gives", server.serve(request))
