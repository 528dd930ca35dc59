"""The package's version, that of libcoda."""

__version__ = "0.1.0"
