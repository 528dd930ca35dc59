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

class Program: ...

def declare(operation: str | Program, a: str, b: str, *ports: str) -> int: ...
def run(handle: int, variant: str, *values: Value) -> None: ...
def pretend(whether: bool) -> bool: ...
def pretending() -> bool: ...
def define_program(text: str) -> Program: ...
def derive_program(
    program: Program, outputs: str, gradients: str, accumulators: bool, kept: bool, kept_dtype: str
) -> Program: ...
def program_source(program: Program) -> str: ...
def program_ports(program: Program) -> list[tuple[str, bool]]: ...
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
