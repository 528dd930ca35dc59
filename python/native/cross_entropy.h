// Methods of the module: the loss of a language model's head, coda_cross_entropy in coda/coda.h.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace native {

// (step, chunk, x, weight) -> bytes
PyObject* cross_entropy_workspace_bytes(PyObject*, PyObject* const* values, Py_ssize_t count);
// (step, reduction, chunk, ignore_index, soft_cap, z_loss, smoothing, then tensors or None: x,
// weight, target, loss, lse, dloss, dweight, dx, workspace). The workspace has 256 bytes more than
// it must have, to be aligned.
PyObject* run_cross_entropy(PyObject*, PyObject* const* values, Py_ssize_t count);

}  // namespace native
