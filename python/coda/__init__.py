"""coda: GEMM-plus-epilogue programs for Transformers, as PyTorch operators.

    import coda, torch
    out = torch.ops.coda.linear(x, weight)      # x [M, K], weight [N, K] -> [M, N]

    @coda.program                               # an operator of one's own; docs/python.md
    def activated(acc, bias: coda.PerColumn):
        return coda.store(out=coda.silu(acc + bias))

Importing registers `torch.ops.coda.*` where PyTorch is installed; `python -m coda info` says what
was found.
"""

import importlib.util
import sys

from coda import library
from coda.version import __version__

__all__ = ["__version__", "library"]


def _is_run() -> bool:
    """Whether Python imports this package in order to run it, and not another one that imports
    this: `python -m coda info` must be able to say why the rest cannot be imported."""
    if sys.argv[:1] != ["-m"]:
        return False
    module = sys.orig_argv[-len(sys.argv)]  # before its arguments: "coda", or "-mcoda"
    if module.startswith("-"):
        module = module.partition("m")[2]
    return module.partition(".")[0] == "coda"


if importlib.util.find_spec("torch") is not None and not _is_run():
    library.load()  # says what is missing, where something is
    from coda import authoring, nn, operators
    from coda.authoring import *  # noqa: F403
    from coda.loss import linear_cross_entropy
    from coda.patching import patch, unpatch

    __all__ += ["authoring", "linear_cross_entropy", "nn", "operators", "patch", "unpatch"]
    __all__ += authoring.__all__
