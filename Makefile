# `make help` lists what there is. Everything runs scripts/setup.sh first, which does nothing when
# all is installed.
.PHONY: help setup build kernels run test bench report format lint clean
.DEFAULT_GOAL := build

help:
	@echo "make build    compile; leaves the command build/coda and the Python package build/python"
	@echo "make kernels  compile every GPU kernel (nvcc); leaves build-gpu/coda and build-gpu/lib/libcoda.so for a GPU machine"
	@echo "make run      build, train a small model on the sources here, on the GPU if there is one"
	@echo "make test     everything that must pass before a change is merged"
	@echo "make bench    measure on this machine; writes runs/bench.json"
	@echo "make report   write docs/benchmarks, a page of plots, and the tables of README and docs from bench/results"
	@echo "make format   clang-format and ruff, in place"
	@echo "make lint     clang-tidy over all files, and the format check"
	@echo "make setup    install what is missing (Debian packages, a .venv)"
	@echo "make clean    remove the build folders"

setup:
	@scripts/setup.sh

build: setup
	@cmake --preset default --log-level=WARNING >/dev/null
	@cmake --build --preset default --target coda_command coda_native coda_shared

# Spills, local memory and serialised wgmma are errors (scripts/check_ptxas.py).
kernels: setup
	@cmake --preset gpu --log-level=WARNING >/dev/null
	@cmake --build --preset gpu

run: build
	@rm -rf runs/demo
	build/coda train --device auto --out runs/demo

test:
	@scripts/test.sh

bench: build
	@mkdir -p runs
	build/coda bench --json runs/bench.json

report:
	@python3 bench/tables.py
	@python3 bench/report.py

format: setup
	@scripts/format.sh

lint: build
	@.venv/bin/python scripts/lint.py --all
	@scripts/format.sh --check

clean:
	rm -rf build build-*
