#!/usr/bin/env bash
# On a GPU machine (H100 or H200): correctness, speed, sanitizers, in this order.
#
# usage: bench/gpu.sh [FOLDER]     results go there; bench/results if left out
#
# Takes build-gpu/coda and build-gpu/lib/libcoda.so where somebody brought them along (they need
# nothing but the driver), else builds them. Where python3 has PyTorch, coda runs beside it too.
# CASES, ROUNDS and SANITIZER_CASES change how much is done. The last lines are a short table.
set -uo pipefail
cd "$(dirname "$0")/.."

results=${1:-bench/results}
coda=build-gpu/coda
mkdir -p "$results"
report=()
failed=0

note() {  # what, status, seconds
  report+=("$(printf '%-28s %-7s %5d s' "$1" "$([[ $2 == 0 ]] && echo ok || echo FAILED)" "$3")")
  [[ $2 == 0 ]] || failed=1
}

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
"$coda" info

# cuBLAS of the toolkit, or of PyTorch's wheels.
for folder in /usr/local/cuda/lib64 $(python3 -c '
import glob, site
for root in site.getsitepackages():
    print(*glob.glob(root + "/nvidia/*/lib"))' 2>/dev/null); do
  export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder"
done

step "check" "$coda" check --backend cuda --cases "${CASES:-500}"
step "check a whole layer" "$coda" check --backend cuda --layer
step "check beyond 2^31 elements" "$coda" check --backend cuda --huge
step "bench" "$coda" bench --backend cuda --rounds "${ROUNDS:-20}" --json "$results/gpu.json" \
  >"$results/gpu.txt"

beside_torch() {  # script; writes SCRIPT.json and SCRIPT.txt
  local to=$results/$1
  python3 "bench/$1.py" "${@:2}" --json "$to.json" >"$to.txt" 2>"$to.log" || {
    tail -n 5 "$to.log"
    return 1
  }
}
texts=(gpu)
if python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
  step "errors beside PyTorch" beside_torch numerics --device cuda
  step "a layer beside PyTorch" beside_torch layer --rounds "${ROUNDS:-20}"
  step "operations beside PyTorch" beside_torch operations --rounds "${ROUNDS:-20}"
  step "cross-entropy beside PyTorch" beside_torch cross_entropy --rounds "${ROUNDS:-20}"
  texts+=(numerics layer operations cross_entropy)
else
  echo "no PyTorch with CUDA here: left out"
fi

sanitize() {  # tool
  local log=$results/$1.txt
  timeout 300 compute-sanitizer --tool "$1" --error-exitcode 9 "$coda" check --backend cuda \
    --cases "${SANITIZER_CASES:-6}" --seed 3 >"$log" 2>&1
  local status=$?
  tail -n 3 "$log"
  return $status
}
if command -v compute-sanitizer >/dev/null; then
  for tool in memcheck racecheck synccheck initcheck; do step "$tool" sanitize "$tool"; done
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
