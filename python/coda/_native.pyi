from collections.abc import Callable, Sequence

from torch import Tensor

Value = Tensor | Sequence[int | Tensor | None] | float | None

def load(path: str) -> tuple[str, str]: ...
def use_torch(
    tensor: type,
    table: object,
    copy: Callable[[Tensor], Tensor],
    allocate: Callable[[int, int], Tensor],
) -> tuple[int, int]: ...
def declare(operation: str, a: str, b: str, *ports: str) -> int: ...
def run(handle: int, variant: str, *values: Value) -> None: ...
