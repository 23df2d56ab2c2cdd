from __future__ import annotations

import torch

from .recogniser import Recogniser
from .scheduler import Scheduler
from .sessions import Sessions
from .settings import ServerSettings
from .synthesiser import Synthesiser
from .weights import Voices


class Server:
    def __init__(self, settings: ServerSettings) -> None:
        self.settings = settings
        self.sessions = Sessions(settings.max_streams)
        self.recogniser = Recogniser(settings)
        self.synthesiser = Synthesiser(settings)
        self.voices = Voices(self.synthesiser.denoiser)
        self.scheduler = Scheduler(self.recogniser, self.sessions)

    def start(self) -> None:
        self.recogniser.warm_up()
        self.synthesiser.warm_up()
        self.scheduler.start()

    def listen(self, name: str, chunks: list[torch.Tensor]) -> None:
        self.sessions.start(name)
        for chunk in chunks:
            self.scheduler.push(name, chunk)

    def hear(self) -> tuple[str, list[int]]:
        name, best = self.scheduler.heard.get()
        return name, best.tolist()

    def speak(self, tokens: list[int], voice: str, guidance: float) -> torch.Tensor:
        self.voices.use(voice)
        self.synthesiser.set_guidance(guidance)
        return self.synthesiser.speak(tokens)


def main() -> None:
    server = Server(ServerSettings())
    server.voices.add("calm", "calm.pt")
    server.start()
    server.listen("first", [torch.zeros(32, 80) for _ in range(4)])
    for _ in range(4):
        print(server.hear())
    for guidance in (1.0, 2.0, 3.0):
        print(server.speak([1, 2, 3], "calm", guidance).shape)


if __name__ == "__main__":
    main()
