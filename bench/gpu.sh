#!/usr/bin/env bash
# Everything that needs a GPU: checks, tests of the PyTorch package, benchmarks, sanitizers.
#   bench/gpu.sh [FOLDER [PART...]]     results go to FOLDER; bench/results if left out
# Parts, all of them if none is named: check bench rows ceiling package numerics overhead programs
# layer operations cross_entropy train model decode sanitizers.
#
# Takes build-gpu/coda and build-gpu/lib/libcoda.so where somebody brought them along (they need
# nothing but the driver and gcc's runtime libraries), else builds them; the package's extension
# from python/coda or build-gpu/python. What needs PyTorch, transformers or pytest is left out where
# python3 has none of it.
# CASES, ROUNDS and SANITIZER_CASES change how much is done. The last lines are a short table.
set -uo pipefail
cd "$(dirname "$0")/.."

known=" check bench rows ceiling package numerics overhead programs layer operations cross_entropy \
train model decode sanitizers "
results=${1:-bench/results}
parts=" ${*:2} "
for part in "${@:2}"; do
  [[ $known == *" $part "* ]] || {
    echo "bench/gpu.sh: no part $part; there are$known" >&2
    exit 2
  }
done
if [[ $known == *" $results "* ]]; then
  echo "bench/gpu.sh: $results is a part; the folder for results comes before it" >&2
  exit 2
fi
coda=build-gpu/coda
mkdir -p "$results"
report=()
failed=0

note() {  # what, status, seconds
  report+=("$(printf '%-28s %-7s %5d s' "$1" "$([[ $2 == 0 ]] && echo ok || echo FAILED)" "$3")")
  [[ $2 == 0 ]] || failed=1
}

wanted() { [[ $parts =~ ^\ *$ || $parts == *" $1 "* ]]; }  # part

step() {  # what, command...
  local what=$1 start=$SECONDS status=0
  shift
  echo "== $what"
  "$@" || status=$?
  note "$what" "$status" $((SECONDS - start))
}

if ! "$coda" --version >/dev/null 2>&1 || [[ ! -f build-gpu/lib/libcoda.so ]]; then
  cmake --preset gpu >/dev/null && cmake --build --preset gpu || exit 1
fi
# The wgmma instructions as C++, which the build has written where it was made.
generated=build-gpu/generated
wgmma=coda/ptx/wgmma_instruction.cuh
if [[ ! -f $generated/$wgmma ]]; then
  mkdir -p "$generated/${wgmma%/*}"
  python3 scripts/generate_wgmma.py "$generated/$wgmma"
fi
"$coda" info
commit=$("$coda" --version | grep -o '[0-9a-f]\{12\}[-a-z]*')
if [[ $commit == *-dirty ]]; then
  echo "warning: $coda was built with changes that no commit has: page and tables will say so"
elif [[ -n $(git status --porcelain --untracked-files=no 2>/dev/null) ]]; then
  echo "warning: this tree has changes that no commit has, and $coda was built without: the" \
    "results will name $commit alone"
fi

# cuBLAS of the toolkit, or of PyTorch's wheels.
for folder in /usr/local/cuda/lib64 $(python3 -c '
import glob, site
for root in site.getsitepackages():
    print(*glob.glob(root + "/nvidia/*/lib"))' 2>/dev/null); do
  export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder"
done

# A process for every operation and seed, many at a time: most of a case is its fp64 formula.
check_operations() {
  local seeds=4 logs log
  logs=$(mktemp -d)
  local each=$(((${CASES:-1000} + seeds - 1) / seeds)) status=0 names
  names=$("$coda" list | sed -n 's/^\([a-z_0-9]*\): .*/\1/p')
  for seed in $(seq "$seeds"); do printf "%s $seed\n" $names; done |
    xargs -P "$(nproc)" -L 1 sh -c '"$0" check "$3" --seed "$4" --backend cuda --cases "$1" \
      >"$2/$3.$4" 2>&1' "$coda" "$each" "$logs" || status=$?
  grep -h "coda check" "$logs"/* | head -n 20  # what failed
  for log in "$logs"/*; do
    grep -q " passed, " "$log" || echo "${log##*/} ended: $(tail -n 1 "$log")"
  done
  (cd "$logs" && tail -n +1 -- *) >"$results/check.txt"
  rm -r "$logs"
  awk '/ passed, / { passed += $1; failed += $3 }
    END { print passed " passed, " failed " failed" }' "$results/check.txt"
  return $status
}
if wanted check; then
  step "check" check_operations
  step "check a whole layer" "$coda" check --backend cuda --layer
  step "check whole models" "$coda" check --backend cuda --model
  step "check beyond 2^31 elements" "$coda" check --backend cuda --huge
fi
texts=()
# The catalogue's GEMM operations, or those without one.
names_of() {  # gemms or rows
  "$coda" list | awk -v asked="$1" -F: '
    function tell() { if (name != "" && asked == (rows ? "rows" : "gemms")) print name }
    /^[a-z_0-9]+: / { tell(); name = $1; rows = 0 }
    /^ *no operands/ { rows = 1 }
    END { tell() }'
}
bench() {  # gemms or rows, name of the files
  rm -f "$results/$2.json"  # that of another run
  # shellcheck disable=SC2046  # a word for every operation
  "$coda" bench $(names_of "$1") --backend cuda --rounds "${ROUNDS:-20}" \
    --json "$results/$2.json" >"$results/$2.txt" && texts+=("$2")
}
if wanted bench; then step "bench" bench gemms gpu; fi
if wanted rows; then step "bench of row operations" bench rows rows; fi

ceiling() {
  nvcc -std=c++20 -O3 -gencode=arch=compute_90a,code=sm_90a --expt-relaxed-constexpr -I. \
    "-I$generated" bench/ceiling.cu -o build-gpu/ceiling -ldl &&
    build-gpu/ceiling "$commit" "$(date -u +%F)" >"$results/ceiling.json"
}
if ! wanted ceiling; then
  :
elif command -v nvcc >/dev/null; then
  step "ceiling" ceiling
else
  echo "no nvcc here: the ceiling left out"
fi

# PyTorch, the package beside it, and libcoda for both.
export CODA_LIBRARY=$PWD/build-gpu/lib/libcoda.so
export CODA_INCLUDE=$PWD  # which programs from Python are compiled with
extension=coda/_native.abi3.so
[[ -f python/$extension ]] || cp "build-gpu/python/$extension" "python/$extension" 2>/dev/null
export PYTHONPATH=$PWD/python${PYTHONPATH:+:$PYTHONPATH}
has() { python3 -c "import $1" 2>/dev/null; }  # Python module
beside_torch() {  # part, script, arguments of it; writes PART.json and PART.txt
  local to=$results/$1
  wanted "$1" || return 0
  rm -f "$to.json"  # that of another run
  run() {
    if python3 "bench/$2.py" "${@:3}" --json "$to.json" >"$to.txt" 2>"$to.log"; then
      texts+=("$1")
    else
      tail -n 5 "$to.log"
      return 1
    fi
  }
  step "bench/$2.py" run "$@"
}
rounds=(--rounds "${ROUNDS:-20}")
if ! python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
  echo "no PyTorch with CUDA here: left out"
elif ! has coda.operators; then
  echo "the coda package does not load:"
  python3 -c 'import coda.operators' 2>&1 | tail -n 1
  note "the package" 1 0
else
  if ! wanted package; then
    :
  elif has pytest && has hypothesis; then
    step "tests of the package" python3 -m pytest -q -m gpu tests/python
  else
    echo "no pytest or hypothesis here: tests of the package left out"
  fi
  beside_torch numerics numerics --device cuda
  beside_torch overhead overhead --device cuda
  beside_torch programs programs --device cuda "${rounds[@]}"
  beside_torch layer layer "${rounds[@]}"
  beside_torch operations operations "${rounds[@]}"
  beside_torch cross_entropy cross_entropy "${rounds[@]}"
  CODA=$PWD/$coda beside_torch train train --device cuda "${rounds[@]}"
  if has transformers && wanted model; then
    beside_torch model patched_llama "${rounds[@]}"
    [[ -f $results/model.json ]] && step "first steps" python3 bench/patched_llama.py \
      --json "$results/model.json" --first-steps coda "coda compiled" compile
  fi
  if has transformers; then beside_torch decode decode --device cuda "${rounds[@]}"; fi
fi

sanitize() {  # tool
  timeout 500 compute-sanitizer --tool "$1" --error-exitcode 9 "$coda" check --backend cuda \
    --cases "${SANITIZER_CASES:-6}" --seed 3 >"$results/$1.txt" 2>&1
}
sanitizers() {  # all of them at once
  local tool tools="memcheck racecheck synccheck initcheck" status=0
  local -A running
  for tool in $tools; do
    sanitize "$tool" &
    running[$tool]=$!
  done
  for tool in $tools; do
    wait "${running[$tool]}" || status=$?
    echo "$tool: $(tail -n 1 "$results/$tool.txt")"
  done
  return $status
}
if ! wanted sanitizers; then
  :
elif command -v compute-sanitizer >/dev/null; then
  step "sanitizers" sanitizers
else
  echo "no compute-sanitizer here: left out"
fi

for text in "${texts[@]}"; do
  echo
  cat "$results/$text.txt"
done
echo
printf '%s\n' "${report[@]}"
exit $failed
