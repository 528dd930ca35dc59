// What the extension holds for the life of the process: libcoda's functions, and torch's.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "coda/coda.h"
#include "dlpack.h"

namespace native {

struct Library {
  decltype(&coda_run) run = nullptr;
  decltype(&coda_workspace_bytes) workspace_bytes = nullptr;
  decltype(&coda_last_error) last_error = nullptr;
  decltype(&coda_run_cross_entropy) run_cross_entropy = nullptr;
  decltype(&coda_cross_entropy_workspace_bytes) cross_entropy_workspace_bytes = nullptr;
  decltype(&coda_define_program) define_program = nullptr;
  decltype(&coda_derive_program) derive_program = nullptr;
  decltype(&coda_program_source) program_source = nullptr;
  decltype(&coda_get_program_port) get_program_port = nullptr;
  decltype(&coda_run_program) run_program = nullptr;
};
inline Library library;

struct Torch {
  PyTypeObject* tensor = nullptr;  // torch.Tensor
  const dlpack::ExchangeApi* api = nullptr;
  PyObject* copy = nullptr;      // tensor -> the same, contiguous
  PyObject* allocate = nullptr;  // (bytes, gpu) -> tensor of bytes
};
inline Torch torch;

// Calls of this thread do nothing: a kernel runs on fake tensors, for its results' shapes.
inline thread_local bool pretending = false;

}  // namespace native
