from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field


@dataclass
class Request:
    request_id: str
    prompt: list[int]
    max_tokens: int = 128
    adapter: int | None = None
    output: list[int] = field(default_factory=list)
    blocks: list[int] = field(default_factory=list)

    @property
    def num_tokens(self) -> int:
        return len(self.prompt) + len(self.output)

    @property
    def finished(self) -> bool:
        return len(self.output) >= self.max_tokens


class BlockPool:
    def __init__(self, num_blocks: int) -> None:
        # Block 0 takes what padded rows write.
        self.free: deque[int] = deque(range(1, num_blocks))

    def take(self) -> int:
        return self.free.popleft()

    def give_back(self, blocks: list[int]) -> None:
        self.free.extend(blocks)


class KVCacheManager:
    def __init__(self, num_blocks: int, block_size: int) -> None:
        self.pool = BlockPool(num_blocks)
        self.block_size = block_size

    def allocate(self, request: Request) -> None:
        needed = -(-request.num_tokens // self.block_size)
        while len(request.blocks) < needed:
            request.blocks.append(self.pool.take())

    def release(self, request: Request) -> None:
        self.pool.give_back(request.blocks)
        request.blocks = []
