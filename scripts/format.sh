#!/usr/bin/env bash
# Formats C++ and Python in place; with --check only says what is not as it should be.
set -euo pipefail
cd "$(dirname "$0")/.."
mapfile -t sources < <(git ls-files -co --exclude-standard -- coda tests bench examples python |
  grep -E '\.(h|c|cpp|cu|cuh)$')
ruff=.venv/bin/ruff
[[ -x $ruff ]] || echo "Python skipped: no $ruff (scripts/setup.sh could not reach PyPI)"
if [[ ${1:-} == --check ]]; then
  clang-format-19 --dry-run -Werror --ferror-limit=1 "${sources[@]}"
  if [[ -x $ruff ]]; then $ruff format -q --check && $ruff check -q; fi
else
  clang-format-19 -i "${sources[@]}"
  if [[ -x $ruff ]]; then $ruff format -q && $ruff check -q --fix; fi
fi
