#include "cross_entropy.h"

#include "call.h"

namespace native {
namespace {

const Declaration kTensors{"linear_cross_entropy",
                           {},
                           {},
                           {{"x", "x"},
                            {"weight", "weight"},
                            {"target", "target"},
                            {"loss", "loss"},
                            {"lse", "lse"},
                            {"dloss", "dloss"},
                            {"dweight", "dweight"},
                            {"dx", "dx"},
                            {"workspace", "workspace"}}};
const Declaration kMatrices{"linear_cross_entropy", {}, {}, {{"x", "x"}, {"weight", "weight"}}};
constexpr size_t kNumbers = 7;
constexpr int64_t kAlignment = 256;

bool ready(Py_ssize_t count, size_t expected) {
  if (count == static_cast<Py_ssize_t>(expected) && torch.api != nullptr &&
      library.run_cross_entropy != nullptr) {
    return true;
  }
  PyErr_Format(PyExc_TypeError, "linear_cross_entropy: expected %zu values, load() and use_torch()",
               expected);
  return false;
}

coda_cross_entropy call_on(const Call& call) {
  coda_cross_entropy made{};
  made.size = sizeof(made);
  made.x = call.tensor_of("x");
  made.weight = call.tensor_of("weight");
  made.target = call.tensor_of("target");
  made.loss = call.tensor_of("loss");
  made.lse = call.tensor_of("lse");
  made.dloss = call.tensor_of("dloss");
  made.dweight = call.tensor_of("dweight");
  made.dx = call.tensor_of("dx");
  return made;
}

}  // namespace

PyObject* cross_entropy_workspace_bytes(PyObject*, PyObject* const* values, Py_ssize_t count) {
  if (!ready(count, 2 + kMatrices.ports.size())) return nullptr;
  Call call(kMatrices);
  if (!call.read(values + 2, kMatrices.ports.size())) return nullptr;
  coda_cross_entropy made = call_on(call);
  made.step = static_cast<int32_t>(PyLong_AsLong(values[0]));
  made.chunk = PyLong_AsLongLong(values[1]);
  int64_t bytes = 0;
  if (PyErr_Occurred() != nullptr ||
      !succeeded(library.cross_entropy_workspace_bytes(&made, &bytes))) {
    return nullptr;
  }
  return PyLong_FromLongLong(bytes);
}

PyObject* run_cross_entropy(PyObject*, PyObject* const* values, Py_ssize_t count) {
  if (!ready(count, kNumbers + kTensors.ports.size())) return nullptr;
  Call call(kTensors);
  coda_options options{};
  if (!call.read(values + kNumbers, kTensors.ports.size()) || !call.find_device(options)) {
    return nullptr;
  }
  coda_cross_entropy made = call_on(call);
  made.step = static_cast<int32_t>(PyLong_AsLong(values[0]));
  made.reduction = static_cast<int32_t>(PyLong_AsLong(values[1]));
  made.chunk = PyLong_AsLongLong(values[2]);
  made.ignore_index = PyLong_AsLongLong(values[3]);
  made.soft_cap = PyFloat_AsDouble(values[4]);
  made.z_loss = PyFloat_AsDouble(values[5]);
  made.smoothing = PyFloat_AsDouble(values[6]);
  if (PyErr_Occurred() != nullptr) return nullptr;
  if (const coda_tensor* workspace = call.tensor_of("workspace"); workspace != nullptr) {
    const auto address = reinterpret_cast<uintptr_t>(workspace->data);
    const auto begin = (address + kAlignment - 1) / kAlignment * kAlignment;
    options.workspace = reinterpret_cast<void*>(begin);
    options.workspace_bytes =
        workspace->columns * static_cast<int64_t>(sizeof(int64_t)) - kAlignment;
  }
  coda_status status = CODA_OK;
  Py_BEGIN_ALLOW_THREADS;
  status = library.run_cross_entropy(&made, &options);
  Py_END_ALLOW_THREADS;
  if (!succeeded(status)) return nullptr;
  Py_IncRef(Py_None);
  return Py_None;
}

}  // namespace native
