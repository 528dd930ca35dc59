#!/usr/bin/env bash
# Everything that must pass before a change is merged; stops at the first step that fails.
set -euo pipefail
cd "$(dirname "$0")/.."

jobs=$(nproc)
python=.venv/bin/python
report=()
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

step() {
  local name=$1 start=$SECONDS
  shift
  echo "== $name"
  "$@" || {
    echo "make test: failed at '$name'"
    exit 1
  }
  report+=("$(printf '%5d s  %s' $((SECONDS - start)) "$name")")
}

build() {  # preset, targets
  local preset=$1
  shift
  cmake --preset "$preset" >/dev/null && cmake --build --preset "$preset" "$@"
}

# The sanitizers' memory layout has no room for all the address randomisation of recent kernels.
fixed_addresses=()
if setarch -R true 2>/dev/null; then fixed_addresses=(setarch -R); fi

sanitizer() {  # preset
  build "$1" --target coda_tests &&
    "${fixed_addresses[@]}" ctest --preset "$1" -j "$jobs" --no-tests=error
}

exports() {
  local others
  others=$(nm -D --defined-only build/lib/libcoda.so | awk '$3 !~ /^coda_/')
  [[ -z $others ]] || { echo "libcoda.so shows more than the C API:" "$others" && false; }
}

# What the test of the simulator's teeth said; it failed where the share was too low.
mutations() { grep "mutations of .* noticed" build/Testing/Temporary/LastTest.log; }

# Copies a program out of this repository and builds it against the installed package.
example() {  # folder of examples/
  local program=$scratch/$1
  cp -r "examples/$1" "$program" &&
    cmake -S "$program" -B "$program/build" -G Ninja \
      -DCMAKE_PREFIX_PATH="$scratch/prefix" >/dev/null &&
    cmake --build "$program/build"
}
user_program() {
  cmake --install build --prefix "$scratch/prefix" >/dev/null && example user_program &&
    "$scratch/user_program/build/scaled_relu" &&
    $python scripts/check_isa_symbols.py "$scratch/user_program/build"
}
# A program of one's own, with nothing but the installed package.
own_program() {
  (cd "$scratch" && prefix/bin/coda new own_program &&
    prefix/bin/coda check own_program/ --cases 20 &&
    prefix/bin/coda check own_program/ --backend sim --variant bf16 --cases 2)
}
c_program() { example c && "$scratch/c/build/linear_swiglu"; }
training_program() { example train && "$scratch/train/build/train"; }

has_pytorch() {
  $python -c "import torch" 2>/dev/null || { echo "skipped: no PyTorch in .venv" && false; }
}

# The package in build/python, with PyTorch of .venv.
python_tests() {
  has_pytorch || return 0
  $python -m mypy && PYTHONPATH=build/python OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive \
    $python -m pytest
}

# The package as a user installs it, with the library that is built already, in an environment of its
# own. PyTorch is not installed again: a .pth file shows it the packages of .venv.
python_package() {
  has_pytorch || return 0
  local venv=$scratch/venv packages
  $python -m venv "$venv" &&
    packages=$("$venv/bin/python" -c "import sysconfig; print(sysconfig.get_path('purelib'))") &&
    $python -c "import sysconfig; print(sysconfig.get_path('purelib'))" >"$packages/torch.pth" &&
    "$venv/bin/python" -m pip install -q --disable-pip-version-check --no-deps \
      --no-build-isolation \
      --config-settings=cmake.define.CODA_PYTHON_LIBRARY="$PWD/build/lib/libcoda.so" . &&
    (cd "$scratch" && "$venv/bin/python" -m coda info) || return 1
  local program
  for program in examples/python/*.py; do
    [[ ! -e $program ]] || (cd "$scratch" && "$venv/bin/python" "$OLDPWD/$program") || return 1
  done
}

step "setup" scripts/setup.sh --torch
step "format" scripts/format.sh --check
step "documentation" $python scripts/check_docs.py
step "build" build default
step "includes" $python scripts/check_includes.py
step "symbols per instruction set" $python scripts/check_isa_symbols.py
step "symbols of libcoda.so" exports
step "tests" ctest --preset default -j "$jobs" --no-tests=error
step "share of mutations noticed" mutations
step "clang-tidy on what changed" $python scripts/lint.py
step "Python" python_tests
step "Python package" python_package
step "user program" user_program
step "own program" own_program
step "C program" c_program
step "training program" training_program
step "AddressSanitizer, UndefinedBehaviorSanitizer" sanitizer asan
step "ThreadSanitizer" sanitizer tsan

printf '%s\n' "" "${report[@]}"
echo "make test: all passed in $SECONDS s"
