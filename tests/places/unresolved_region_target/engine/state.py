"""Whether something is being recorded."""


class State:
    active = False

    def recording(self) -> bool:
        return self.active


def is_recording() -> bool:
    return State.active
