// Methods of the module: programs that Python has traced, coda_define_program in coda/coda.h. A
// program is a capsule, for the life of the process.
#pragma once
#include "library.h"

namespace native {

// Null with a Python error where the object is none.
const coda_program* program_of(PyObject* object);

PyObject* define_program(PyObject*, PyObject* text);
// (program, outputs, gradients, accumulators, kept, kept_dtype) -> program; dtype: "bf16", ...
PyObject* derive_program(PyObject*, PyObject* const* values, Py_ssize_t count);
PyObject* program_source(PyObject*, PyObject* program);
PyObject* program_ports(PyObject*, PyObject* program);

}  // namespace native
