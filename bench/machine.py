"""What a measurement says about where it was made: processor, GPU, commit, versions of what took
part, clocks and power."""

import contextlib
import ctypes
import importlib.metadata
import json
import os
import platform
import threading
from ctypes import byref, c_uint, c_void_p
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean

import torch
from capi import Coda


def keep_memory() -> None:
    """Freed tensors are reused instead of going back to the system, as in a loop that has run for a
    while; otherwise page faults would slow PyTorch's operators, which allocate their results."""
    libc = ctypes.CDLL(None)
    libc.mallopt(-4, 0)  # M_MMAP_MAX
    libc.mallopt(-1, 2**31 - 1)  # M_TRIM_THRESHOLD


def check_one_openmp() -> None:
    """With two runtimes the idle threads of one would take time from the other."""
    maps = Path("/proc/self/maps").read_text().split("\n")
    runtimes = {line.split()[-1] for line in maps if "libgomp" in line or "libiomp" in line}
    if len(runtimes) > 1:
        raise SystemExit(f"several OpenMP runtimes in one process: {', '.join(sorted(runtimes))}")


def machine() -> str:
    names = [line for line in Path("/proc/cpuinfo").read_text().split("\n") if "model name" in line]
    return f"{names[0].split(': ')[1] if names else 'unknown processor'}, {os.cpu_count()} cores"


def gpu() -> str | None:
    if not torch.cuda.is_available():
        return None
    facts = torch.cuda.get_device_properties(0)
    return (
        f"{facts.name}, {facts.multi_processor_count} multiprocessors, "
        f"PyTorch {torch.__version__} with CUDA {torch.version.cuda}"
    )


# Peers, and what they or torch.compile generate code with.
PACKAGES = ("transformers", "triton", "liger_kernel", "quack-kernels", "flashinfer-python")


def nvml() -> ctypes.CDLL | None:
    """The driver's library; None where there is none."""
    with contextlib.suppress(OSError):
        library = ctypes.CDLL("libnvidia-ml.so.1")
        return library if library.nvmlInit_v2() == 0 else None
    return None


def driver() -> str | None:
    """Of the GPU."""
    text, library = ctypes.create_string_buffer(96), nvml()
    if library is None or library.nvmlSystemGetDriverVersion(text, len(text)) != 0:
        return None
    return text.value.decode()


def cudnn() -> str | None:
    """PyTorch's: 91002 is 9.10.2."""
    number = torch.backends.cudnn.version()
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}" if number else None


def versions() -> dict[str, str]:
    """Of all that is here and can change a figure, PyTorch and coda excepted."""
    found = {"Python": platform.python_version(), "cuDNN": cudnn(), "driver": driver()}
    for name in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return {name: version for name, version in found.items() if version}


def write_results(path: Path | None, coda: Coda, results: list[dict], **more) -> dict:
    """Results with what, where and with what they were measured, as JSON where a file is named."""
    document = {
        **more,
        "commit": coda.commit(),
        "date": datetime.now(UTC).date().isoformat(),
        "machine": machine(),
        "gpu": gpu() if coda.device == "cuda" else None,
        "torch": torch.__version__,
        "versions": versions(),
        "results": results,
    }
    if path:
        path.write_text(json.dumps(document, indent=2) + "\n")
    return document


class PowerMeter:
    """Mean clock of the multiprocessors and power of the first GPU while it is open, from NVML;
    nothing where there is none."""

    def __init__(self):
        self.clocks, self.powers = [], []
        self.done = threading.Event()
        self.nvml = nvml()

    def sample(self) -> None:
        device, value = c_void_p(), c_uint()
        if self.nvml.nvmlDeviceGetHandleByIndex_v2(0, byref(device)):
            return
        while not self.done.wait(0.02):
            if self.nvml.nvmlDeviceGetClockInfo(device, 1, byref(value)) == 0:
                self.clocks.append(value.value)
            if self.nvml.nvmlDeviceGetPowerUsage(device, byref(value)) == 0:
                self.powers.append(value.value / 1e3)

    def __enter__(self):
        self.thread = threading.Thread(target=self.sample)
        if self.nvml is not None:
            self.thread.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        if self.nvml is not None:
            self.thread.join()

    def reading(self) -> dict:
        mean = {"clock_mhz": self.clocks, "power_w": self.powers}
        return {name: fmean(values) if values else None for name, values in mean.items()}
