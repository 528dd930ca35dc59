"""Which operators of coda run."""

from torch.utils._python_dispatch import TorchDispatchMode


class Calls(TorchDispatchMode):
    """Their names, in order, while it is entered; gradients too."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func.namespace == "coda":
            self.names.append(func.__name__.removesuffix(".default"))
        return func(*args, **(kwargs or {}))
