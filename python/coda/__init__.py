"""coda: GEMM-plus-epilogue programs for Transformers, as PyTorch operators.

    import coda, torch
    out = torch.ops.coda.linear(x, weight)      # x [M, K], weight [N, K] -> [M, N]

Importing registers `torch.ops.coda.*` where PyTorch is installed; `python -m coda info` says what
was found.
"""

import importlib.util

from coda import library
from coda.version import __version__

__all__ = ["__version__", "library"]

if importlib.util.find_spec("torch") is not None:
    from coda import nn, operators
    from coda.loss import linear_cross_entropy
    from coda.patching import patch, unpatch

    __all__ += ["linear_cross_entropy", "nn", "operators", "patch", "unpatch"]
