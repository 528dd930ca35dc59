#include "programs.h"

#include <string_view>

#include "call.h"

namespace native {
namespace {

constexpr const char* kCapsule = "coda_program";

PyObject* capsule_of(const coda_program* program) {
  return PyCapsule_New(const_cast<coda_program*>(program), kCapsule, nullptr);
}

int32_t dtype_named(std::string_view name) {
  return name == "bf16" ? CODA_BF16 : name == "fp16" ? CODA_FP16 : CODA_FP32;
}

}  // namespace

const coda_program* program_of(PyObject* object) {
  return static_cast<const coda_program*>(PyCapsule_GetPointer(object, kCapsule));
}

PyObject* define_program(PyObject*, PyObject* text) {
  const char* graph = PyUnicode_AsUTF8AndSize(text, nullptr);
  const coda_program* program = nullptr;
  if (graph == nullptr || !succeeded(library.define_program(graph, &program))) return nullptr;
  return capsule_of(program);
}

PyObject* derive_program(PyObject*, PyObject* const* values, Py_ssize_t count) {
  if (count != 6) {
    PyErr_SetString(PyExc_TypeError, "derive_program: expected six values");
    return nullptr;
  }
  const coda_program* forward = program_of(values[0]);
  if (forward == nullptr) return nullptr;
  coda_backward options{};
  options.size = sizeof(options);
  options.outputs = PyUnicode_AsUTF8AndSize(values[1], nullptr);
  options.gradients = PyUnicode_AsUTF8AndSize(values[2], nullptr);
  options.accumulators = PyObject_IsTrue(values[3]);
  options.kept = PyObject_IsTrue(values[4]);
  const char* dtype = PyUnicode_AsUTF8AndSize(values[5], nullptr);
  if (PyErr_Occurred() != nullptr) return nullptr;
  options.kept_dtype = dtype_named(dtype);
  const coda_program* derived = nullptr;
  if (!succeeded(library.derive_program(forward, &options, &derived))) return nullptr;
  return capsule_of(derived);
}

PyObject* program_source(PyObject*, PyObject* object) {
  const coda_program* program = program_of(object);
  return program == nullptr ? nullptr : PyUnicode_FromString(library.program_source(program));
}

PyObject* program_ports(PyObject*, PyObject* object) {
  const coda_program* program = program_of(object);
  PyObject* list = program == nullptr ? nullptr : PyList_New(0);
  coda_port port{};
  port.size = sizeof(port);
  for (int32_t i = 0; list != nullptr && library.get_program_port(program, i, &port) == CODA_OK;
       ++i) {
    PyObject* item = Py_BuildValue("sN", port.name, PyBool_FromLong(port.output));
    if (item == nullptr || PyList_Append(list, item) != 0) {
      Py_DecRef(list);
      list = nullptr;
    }
    Py_DecRef(item);
  }
  return list;
}

}  // namespace native
