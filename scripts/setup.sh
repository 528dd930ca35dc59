#!/usr/bin/env bash
# Installs what building and testing need and is missing: Debian packages (with apt-get, as root or
# through sudo) and Python packages in .venv. Does nothing when all is there.
#   --torch   with PyTorch and transformers, which tests compare with
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
  cmake g++ git ninja-build pkg-config                   # build
  libcli11-dev libfmt-dev libhwy-dev nlohmann-json3-dev  # the library and the command
  libboost-context-dev                                   # the simulator
  libgtest-dev librapidcheck-dev                         # tests
  libopenblas-openmp-dev                                 # what `coda bench` compares with
  clang-format-19 clang-tidy-19                          # layout and lint
  clang-19 libclang-rt-19-dev libomp-19-dev              # ThreadSanitizer
  python3 python3-dev python3-venv                       # the Python package, checks
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

# More packages in .venv, where they are not there yet.
add_packages() {  # requirements, what for and how large, what is lost without them, options of pip
  local file=scripts/requirements-$1.txt stamp=.venv/$1.stamp
  [[ $(cat "$stamp" 2>/dev/null) != $(sha256sum "$file") ]] || return 0
  say "installing $2 from PyPI in .venv"
  if .venv/bin/pip install -q --disable-pip-version-check "${@:4}" -r "$file"; then
    sha256sum "$file" >"$stamp"
  else
    say "PyPI could not be reached: $3"
  fi
}

if [[ ${1:-} == --torch ]]; then
  add_packages torch "PyTorch and transformers, to compare with (about 300 MB)" \
    "the tests beside PyTorch will be skipped"
fi

# Attention of models on the GPU: where there is one, with the library that cuDNN calls there, or
# where CODA_CUDNN=ON asks for its headers to build for one elsewhere.
if nvidia-smi -L >/dev/null 2>&1; then
  add_packages cudnn "cuDNN, its frontend and cuBLAS (about 800 MB)" \
    "models will not run on the GPU" --no-deps nvidia-cublas==13.0.2.14
elif [[ ${CODA_CUDNN:-} == ON ]]; then
  add_packages cudnn "cuDNN and its frontend (about 400 MB)" \
    "models will not run on the GPU" --no-deps
fi
