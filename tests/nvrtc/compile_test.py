"""Compiles one_value.cu with NVRTC for sm_90a. Needs no GPU and no CUDA toolkit, only the wheel in
scripts/requirements.txt; exits with 77, which ctest reports as skipped, where it is missing.
"""

import ctypes
import site
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = Path(__file__).with_name("one_value.cu")
KERNELS = (b"scaled_relu", b"gated_math")
SKIPPED = 77


def find_wheel() -> Path | None:
    """The folder of NVRTC's wheel, with lib/."""
    for packages in site.getsitepackages():
        for library in Path(packages).glob("nvidia/*/lib/libnvrtc.so.*"):
            return library.parents[1]
    return None


def text_of(nvrtc: ctypes.CDLL, what: str, program: ctypes.c_void_p) -> bytes:
    size = ctypes.c_size_t()
    getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    getattr(nvrtc, f"nvrtcGet{what}")(program, buffer)
    return buffer.raw


def main() -> int:
    wheel = find_wheel()
    if wheel is None:
        print("skipped: no NVRTC here; scripts/setup.sh installs it from PyPI")
        return SKIPPED
    for builtins in wheel.glob("lib/libnvrtc-builtins.so.*"):  # NVRTC looks it up by name only
        ctypes.CDLL(str(builtins))
    nvrtc = ctypes.CDLL(str(next(wheel.glob("lib/libnvrtc.so.*"))))
    options = [
        "--gpu-architecture=sm_90a",
        "--std=c++20",
        "--device-as-default-execution-space",
        f"--include-path={ROOT}",
    ]
    program = ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(
        ctypes.byref(program), SOURCE.read_bytes(), SOURCE.name.encode(), 0, None, None
    )
    arguments = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
    status = nvrtc.nvrtcCompileProgram(program, len(options), arguments)
    print(text_of(nvrtc, "ProgramLog", program).rstrip(b"\0").decode())
    if status != 0:
        print(f"NVRTC failed with status {status}")
        return 1
    cubin = text_of(nvrtc, "CUBIN", program)
    missing = [name for name in KERNELS if b".text." + name not in cubin]
    print(f"{len(cubin)} bytes for sm_90a, kernels missing: {missing}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
