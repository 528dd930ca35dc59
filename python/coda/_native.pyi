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
def pretend(whether: bool) -> bool: ...
def pretending() -> bool: ...
def cross_entropy_workspace_bytes(step: int, chunk: int, x: Tensor, weight: Tensor) -> int: ...
def run_cross_entropy(
    step: int,
    reduction: int,
    chunk: int,
    ignore_index: int,
    soft_cap: float,
    z_loss: float,
    smoothing: float,
    x: Tensor,
    weight: Tensor,
    target: Tensor,
    loss: Tensor | None,
    lse: Tensor,
    dloss: Tensor | None,
    dweight: Tensor | None,
    dx: Tensor | None,
    workspace: Tensor,
) -> None: ...
