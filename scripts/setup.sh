#!/usr/bin/env bash
# Installs what building and testing need and is missing: Debian packages (with apt-get, as root or
# through sudo) and Python packages in .venv. Does nothing when all is there.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
  cmake g++ git ninja-build pkg-config                   # build
  libcli11-dev libfmt-dev libhwy-dev nlohmann-json3-dev  # the library and the command
  libboost-context-dev                                   # the simulator
  libbenchmark-dev libgtest-dev librapidcheck-dev        # tests and micro-benchmarks
  libopenblas-openmp-dev                                 # what `coda bench` compares with
  clang-format-19 clang-tidy-19                          # layout and lint
  clang-19 libclang-rt-19-dev libomp-19-dev              # ThreadSanitizer
  python3 python3-venv                                   # checks
)

say() { echo "setup: $*"; }

missing=()
if command -v dpkg-query >/dev/null; then
  states=$(dpkg-query -Wf '${Package} ${db:Status-Status}\n' "${packages[@]}" 2>/dev/null || true)
  for package in "${packages[@]}"; do
    grep -qx "$package installed" <<<"$states" || missing+=("$package")
  done
  if ((${#missing[@]})); then
    as_root=()
    if (($(id -u) != 0)); then
      command -v sudo >/dev/null || {
        say "not root and no sudo; as root run: apt-get install ${missing[*]}" >&2
        exit 1
      }
      as_root=(sudo)
    fi
    say "apt-get installs ${missing[*]}"
    "${as_root[@]}" apt-get update -qq
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
      apt-get install -qq -y --no-install-recommends "${missing[@]}" >/dev/null
  fi
else
  say "no dpkg here: taking it that these, or what matches them, are installed: ${packages[*]}"
fi

# Debian's own Python where there is one: its version is known.
python=/usr/bin/python3
[[ -x $python ]] || python=python3
wanted=$(cat scripts/setup.sh scripts/requirements.txt | sha256sum)
if [[ $(cat .venv/setup.stamp 2>/dev/null) != "$wanted" ]]; then
  say "making .venv with ruff and NVRTC from PyPI (about 100 MB)"
  rm -rf .venv
  $python -m venv .venv
  if .venv/bin/pip install -q --disable-pip-version-check -r scripts/requirements.txt; then
    echo "$wanted" >.venv/setup.stamp
  else
    say "PyPI could not be reached: the checks that need ruff or NVRTC will be skipped"
  fi
fi

# Attention of models on the GPU. cuDNN is 370 MB: where there is a GPU, with the library that it calls
# there, or where CODA_CUDNN=ON asks for it to build for one elsewhere.
libraries=()
if nvidia-smi -L >/dev/null 2>&1; then
  libraries=(nvidia-cublas==13.0.2.14)
elif [[ ${CODA_CUDNN:-} != ON ]]; then
  exit 0
fi
wanted=$(echo "${libraries[@]}" | cat - scripts/requirements-cudnn.txt | sha256sum)
if [[ $(cat .venv/cudnn.stamp 2>/dev/null) != "$wanted" ]]; then
  say "installing cuDNN and its frontend from PyPI (400 MB, with cuBLAS 800 MB) in .venv"
  if .venv/bin/pip install -q --disable-pip-version-check --no-deps \
    -r scripts/requirements-cudnn.txt "${libraries[@]}"; then
    echo "$wanted" >.venv/cudnn.stamp
  else
    say "PyPI could not be reached: models will not run on the GPU"
  fi
fi
