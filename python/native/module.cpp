// coda._native: runs operations of libcoda on torch tensors. A tensor is read through torch's
// DLPack table, without torch's headers, and libcoda is opened at run time: one binary serves every
// torch from 2.10 on and, with the limited API, every Python from 3.10 on.
#include <dlfcn.h>

#include <cstring>
#include <deque>
#include <utility>

#include "call.h"
#include "cross_entropy.h"
#include "programs.h"

namespace native {
namespace {

std::deque<Declaration> declarations;  // a handle is an index

template <class Function>
bool find(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(handle, name));
  if (function != nullptr) return true;
  PyErr_Format(PyExc_OSError, "no function %s in it", name);
  return false;
}

PyObject* load(PyObject*, PyObject* path) {
  const char* file = PyUnicode_AsUTF8AndSize(path, nullptr);
  if (file == nullptr) return nullptr;
  void* handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    PyErr_SetString(PyExc_OSError, dlerror());
    return nullptr;
  }
  Library found;
  decltype(&coda_version) version = nullptr, commit = nullptr;
  if (!find(handle, "coda_version", version) || !find(handle, "coda_commit", commit) ||
      !find(handle, "coda_run", found.run) || !find(handle, "coda_last_error", found.last_error) ||
      !find(handle, "coda_workspace_bytes", found.workspace_bytes) ||
      !find(handle, "coda_run_cross_entropy", found.run_cross_entropy) ||
      !find(handle, "coda_cross_entropy_workspace_bytes", found.cross_entropy_workspace_bytes) ||
      !find(handle, "coda_define_program", found.define_program) ||
      !find(handle, "coda_derive_program", found.derive_program) ||
      !find(handle, "coda_program_source", found.program_source) ||
      !find(handle, "coda_get_program_port", found.get_program_port) ||
      !find(handle, "coda_run_program", found.run_program)) {
    dlclose(handle);
    return nullptr;
  }
  library = found;
  return Py_BuildValue("ss", version(), commit());
}

PyObject* use_torch(PyObject*, PyObject* const* values, Py_ssize_t count) {
  if (count != 4) {
    PyErr_SetString(PyExc_TypeError, "use_torch: expected Tensor, table, copy, allocate");
    return nullptr;
  }
  const auto* api =
      static_cast<dlpack::ExchangeApi*>(PyCapsule_GetPointer(values[1], "dlpack_exchange_api"));
  while (api != nullptr && api->major != dlpack::kMajor) api = api->previous;
  if (api == nullptr || api->tensor_from_object == nullptr || api->current_stream == nullptr) {
    if (PyErr_Occurred() == nullptr) {
      PyErr_Format(PyExc_RuntimeError,
                   "torch.Tensor.__dlpack_c_exchange_api__ has no table of DLPack %d",
                   static_cast<int>(dlpack::kMajor));
    }
    return nullptr;
  }
  for (Py_ssize_t i : {0, 2, 3}) Py_IncRef(values[i]);
  torch = {reinterpret_cast<PyTypeObject*>(values[0]), api, values[2], values[3]};
  return Py_BuildValue("II", api->major, api->minor);
}

// "x", or with words before the name: "transposed", "either" (major, on a GPU), and one of "pair",
// "halves" (of q, k, v, after head_dim), "rows", "contraction".
OperandKind parse_operand(std::string text) {
  OperandKind kind;
  for (size_t space = text.find(' '); space != std::string::npos; space = text.find(' ')) {
    const std::string word = text.substr(0, space);
    kind.transposed |= word == "transposed";
    kind.either |= word == "either";
    kind.pair |= word == "pair";
    kind.halves |= word == "halves";
    if (word == "rows" || word == "halves") kind.cut = CODA_CUT_ROWS;
    if (word == "contraction") kind.cut = CODA_CUT_CONTRACTION;
    text.erase(0, space + 1);
  }
  kind.name = text;
  return kind;
}

// declare(operation, a, b, *ports) -> handle. A port is "name", or "port=name" where Python has
// another name for it. The operation is a name, or a program.
PyObject* declare(PyObject*, PyObject* const* values, Py_ssize_t count) {
  if (count < 3 || count - 3 > static_cast<Py_ssize_t>(kMaxPorts)) {
    PyErr_Format(PyExc_TypeError,
                 "declare: expected an operation, two operands and at most %zu "
                 "ports",
                 kMaxPorts);
    return nullptr;
  }
  Declaration made;
  std::vector<std::string> texts;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (i == 0 && PyCapsule_CheckExact(values[0]) != 0) {
      made.program = program_of(values[0]);
      if (made.program == nullptr) return nullptr;
      texts.emplace_back("program");
      continue;
    }
    const char* text = PyUnicode_AsUTF8AndSize(values[i], nullptr);
    if (text == nullptr) return nullptr;
    texts.emplace_back(text);
  }
  made.operation = texts[0];
  made.a = parse_operand(texts[1]);
  made.b = parse_operand(texts[2]);
  for (size_t i = 3; i < texts.size(); ++i) {
    const size_t sign = texts[i].find('=');
    made.ports.push_back(sign == std::string::npos
                             ? Port{texts[i], texts[i]}
                             : Port{texts[i].substr(0, sign), texts[i].substr(sign + 1)});
  }
  declarations.push_back(std::move(made));
  return PyLong_FromSize_t(declarations.size() - 1);
}

// run(handle, variant, *values)
PyObject* run(PyObject*, PyObject* const* values, Py_ssize_t count) {
  if (count < 2) {
    PyErr_SetString(PyExc_TypeError, "run: expected a handle, a variant and values");
    return nullptr;
  }
  const size_t handle = PyLong_AsSize_t(values[0]);
  const char* variant = PyUnicode_AsUTF8AndSize(values[1], nullptr);
  if (PyErr_Occurred() != nullptr) return nullptr;
  if (handle >= declarations.size() || torch.api == nullptr || library.run == nullptr) {
    PyErr_SetString(PyExc_RuntimeError, "run: expected a declared handle, load() and use_torch()");
    return nullptr;
  }
  if (!pretending) {
    Call call(declarations[handle]);
    if (!call.read(values + 2, static_cast<size_t>(count - 2)) || !call.run(variant)) {
      return nullptr;
    }
  }
  Py_IncRef(Py_None);
  return Py_None;
}

PyObject* pretend(PyObject*, PyObject* value) {
  const int truth = PyObject_IsTrue(value);
  if (truth < 0) return nullptr;
  return PyBool_FromLong(std::exchange(pretending, truth != 0) ? 1 : 0);
}

PyObject* is_pretending(PyObject*, PyObject*) { return PyBool_FromLong(pretending ? 1 : 0); }

template <class Function>
PyCFunction method(Function function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef methods[] = {
    {"load", load, METH_O, "load(path): opens libcoda; gives its version and commit"},
    {"use_torch", method(use_torch), METH_FASTCALL,
     "use_torch(Tensor, table, copy, allocate): gives the version of torch's DLPack table"},
    {"declare", method(declare), METH_FASTCALL, "declare(operation, a, b, *ports): gives a handle"},
    {"run", method(run), METH_FASTCALL, "run(handle, variant, *values): runs a declared operation"},
    {"pretend", pretend, METH_O,
     "pretend(whether): from now on calls of this thread do nothing, for fake kernels; gives what "
     "was so before"},
    {"pretending", is_pretending, METH_NOARGS, "pretending(): what pretend() was last told"},
    {"define_program", define_program, METH_O, "define_program(text): gives a program"},
    {"derive_program", method(derive_program), METH_FASTCALL,
     "derive_program(program, outputs, gradients, accumulators, kept, kept_dtype): gives the "
     "program of its gradients"},
    {"program_source", program_source, METH_O, "program_source(program): its C++"},
    {"program_ports", program_ports, METH_O, "program_ports(program): ((name, output), ...)"},
    {"cross_entropy_workspace_bytes", method(cross_entropy_workspace_bytes), METH_FASTCALL,
     "cross_entropy_workspace_bytes(step, chunk, x, weight): what run_cross_entropy needs"},
    {"run_cross_entropy", method(run_cross_entropy), METH_FASTCALL,
     "run_cross_entropy(step, reduction, chunk, ignore_index, soft_cap, z_loss, smoothing, x, "
     "weight, target, loss, lse, dloss, dweight, dx, workspace): a step of the loss"},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef module{PyModuleDef_HEAD_INIT,
                   "coda._native",
                   "Operations of libcoda on torch tensors",
                   -1,
                   methods,
                   nullptr,
                   nullptr,
                   nullptr,
                   nullptr};

}  // namespace
}  // namespace native

PyMODINIT_FUNC PyInit__native() { return PyModule_Create(&native::module); }
