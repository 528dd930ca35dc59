#!/usr/bin/env bash
# On a GPU machine (H100 or H200): correctness, speed, sanitizers, in this order.
#
# usage: bench/gpu.sh [FOLDER]     results go there; bench/results if left out
#
# Takes build-gpu/coda where somebody brought it along (it needs nothing but the driver), else builds
# it. CASES, ROUNDS and SANITIZER_CASES change how much is done. The last lines are a short table.
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

if ! "$coda" --version >/dev/null 2>&1; then
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
step "check beyond 2^31 elements" "$coda" check --backend cuda --huge
step "bench" "$coda" bench --backend cuda --rounds "${ROUNDS:-20}" --json "$results/gpu.json" \
  >"$results/gpu.txt"

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

echo
cat "$results/gpu.txt"
echo
printf '%s\n' "${report[@]}"
exit $failed
