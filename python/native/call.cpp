#include "call.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace native {
namespace {

// -1: libcoda has no such type.
int dtype_of(const dlpack::Tensor& view) {
  if (view.type_lanes != 1) return -1;
  switch (view.type_code) {
    case dlpack::kBfloat: return view.type_bits == 16 ? CODA_BF16 : -1;
    case dlpack::kFloat:
      return view.type_bits == 16 ? CODA_FP16 : view.type_bits == 32 ? CODA_FP32 : -1;
    case dlpack::kInt:
      return view.type_bits == 32 ? CODA_INT32 : view.type_bits == 64 ? CODA_INT64 : -1;
    default: return -1;
  }
}

std::string device_text(int32_t type, int32_t id) {
  if (type == dlpack::kCpu) return "cpu";
  if (type == dlpack::kCuda) return "cuda:" + std::to_string(id);
  return "DLPack device " + std::to_string(type) + ":" + std::to_string(id);
}

// A matrix of either major, or a vector as one row. False where no step is 1, or rows overlap.
bool fill(const dlpack::Tensor& view, bool either_major, coda_tensor& out) {
  const bool matrix = view.dimensions == 2;
  const int64_t rows = matrix ? view.shape[0] : 1;
  const int64_t columns = view.dimensions == 0 ? 1 : view.shape[view.dimensions - 1];
  const int64_t row_step = matrix && rows > 1 ? view.strides[0] : columns;
  const int64_t column_step = columns > 1 ? view.strides[view.dimensions - 1] : 1;
  out.data = static_cast<char*>(view.data) + view.byte_offset;
  out.dtype = dtype_of(view);
  out.rows = rows;
  out.columns = columns;
  out.column_major = 0;
  out.ld = std::max(row_step, columns);
  if (rows == 0 || columns == 0) {
    out.ld = columns;
    return true;
  }
  if (column_step == 1 && row_step >= columns) return true;
  out.column_major = 1;
  out.ld = columns > 1 ? column_step : rows;
  return either_major && (rows == 1 || row_step == 1) && out.ld >= rows;
}

// -1: no tuple and no list.
Py_ssize_t list_size(PyObject* value) {
  if (PyTuple_Check(value) != 0) return PyTuple_Size(value);
  return PyList_Check(value) != 0 ? PyList_Size(value) : -1;
}

PyObject* list_item(PyObject* value, size_t i) {
  const auto index = static_cast<Py_ssize_t>(i);
  return PyTuple_Check(value) != 0 ? PyTuple_GetItem(value, index) : PyList_GetItem(value, index);
}

}  // namespace

bool succeeded(coda_status status) {
  if (status == CODA_OK) return true;
  PyErr_SetString(status == CODA_BAD_ARGUMENT ? PyExc_ValueError : PyExc_RuntimeError,
                  library.last_error());
  return false;
}

Call::~Call() {
  for (size_t i = 0; i < copy_count_; ++i) Py_DecRef(copies_[i]);
}

bool Call::read(PyObject* const* values, size_t count) {
  const size_t operands = a() != nullptr ? 2 : 0;
  const size_t expected = operands + declaration_.ports.size();
  if (count != expected) {
    PyErr_Format(PyExc_TypeError, "%s: expected %zu values, got %zu", operation(), expected, count);
    return false;
  }
  if (operands != 0 && (!operand(declaration_.a, values[0], a_) ||  //
                        !operand(declaration_.b, values[1], b_))) {
    return false;
  }
  for (size_t i = operands; i < count; ++i) {
    if (!port(declaration_.ports[i - operands], values[i])) return false;
  }
  return true;
}

bool Call::run(const char* variant) {
  coda_options options{};
  PyObject* workspace = nullptr;
  if (!find_device(options)) return false;
  const coda_program* program = declaration_.program;
  if (options.device == CODA_CUDA && program == nullptr &&
      !find_workspace(variant, options, workspace)) {
    return false;
  }
  const auto count = static_cast<int32_t>(argument_count_);
  coda_status status = CODA_OK;
  Py_BEGIN_ALLOW_THREADS;
  status = program == nullptr
               ? library.run(operation(), variant, a(), b(), arguments_.data(), count, &options)
               : library.run_program(program, a(), b(), arguments_.data(), count, &options);
  Py_END_ALLOW_THREADS;
  Py_DecRef(workspace);
  return succeeded(status);
}

bool Call::find_device(coda_options& options) const {
  options.size = sizeof(options);
  if (device_type_ != dlpack::kCuda) return true;
  options.device = CODA_CUDA;
  options.gpu = device_id_;
  return torch.api->current_stream(device_type_, device_id_, &options.stream) == 0;
}

const coda_tensor* Call::tensor_of(const char* port) const {
  for (size_t i = 0; i < argument_count_; ++i) {
    if (std::strcmp(arguments_[i].name, port) == 0) return arguments_[i].tensors;
  }
  return nullptr;
}

// The caching allocator gives the memory to later work of the same stream only.
bool Call::find_workspace(const char* variant, coda_options& options, PyObject*& workspace) {
  static WorkspaceSizes sizes;
  const Key key = workspace_key(variant);
  int64_t bytes = sizes.find(key);
  if (bytes < 0) {
    if (!succeeded(library.workspace_bytes(operation(), variant, a(), b(), arguments_.data(),
                                           static_cast<int32_t>(argument_count_), &options,
                                           &bytes))) {
      return false;
    }
    sizes.add(key, bytes);
  }
  if (bytes == 0) return true;
  workspace = PyObject_CallFunction(torch.allocate, "Li", static_cast<long long>(bytes),
                                    static_cast<int>(device_id_));
  dlpack::Tensor view{};
  if (workspace == nullptr || torch.api->tensor_from_object(workspace, &view) != 0) {
    Py_DecRef(workspace);
    return false;
  }
  options.workspace = view.data;
  options.workspace_bytes = bytes;
  return true;
}

Key Call::workspace_key(const char* variant) const {
  Key key;
  key.add(&declaration_, device_id_, a_.head_dim, b_.head_dim);
  key.add_text(variant);
  for (size_t i = 0; i < argument_count_; ++i) key.add(arguments_[i].name, arguments_[i].number);
  for (size_t i = 0; i < tensor_count_; ++i) key.add_shape(tensors_[i]);
  return key;
}

bool Call::operand(const OperandKind& kind, PyObject* value, coda_operand& out) {
  out.first = &tensors_[tensor_count_];
  out.cut = kind.cut;
  out.segments = 1;
  if (!kind.pair && kind.cut == CODA_CUT_NONE) {
    return tensor(kind.name, value, &kind);
  }
  const size_t first = kind.halves ? 1 : 0;  // before the tensors of halves: head_dim
  if (kind.halves) {
    out.head_dim = PyLong_AsLongLong(list_item(value, 0));
    if (PyErr_Occurred() != nullptr) return false;
  }
  if (!tensors(kind.name, value, first, &kind)) return false;
  out.segments = static_cast<int32_t>(&tensors_[tensor_count_] - out.first);
  if (kind.pair) {
    out.second = out.first + 1;
    out.segments = 1;
  }
  return true;
}

bool Call::port(const Port& port, PyObject* value) {
  if (value == Py_None) return true;
  coda_argument& argument = arguments_[argument_count_++];
  argument = {port.port.c_str(), nullptr, 1, 0};
  if (PyFloat_Check(value) != 0 || PyLong_Check(value) != 0) {
    argument.number = PyFloat_AsDouble(value);
    return PyErr_Occurred() == nullptr;
  }
  argument.tensors = &tensors_[tensor_count_];
  const Py_ssize_t size = list_size(value);
  if (size < 0) return tensor(port.name, value, nullptr);
  argument.segments = static_cast<int32_t>(size);
  return tensors(port.name, value, 0, nullptr);
}

bool Call::tensors(const std::string& name, PyObject* list, size_t first, const OperandKind* kind) {
  const auto size = static_cast<size_t>(std::max<Py_ssize_t>(list_size(list), 0));
  if (size <= first || size - first > kMaxSegments) {
    PyErr_Format(PyExc_ValueError, "%s: expected 1 to %zu tensors, got %zu", name.c_str(),
                 kMaxSegments, size - std::min(size, first));
    return false;
  }
  for (size_t i = first; i < size; ++i) {
    if (!tensor(name, list_item(list, i), kind)) return false;
  }
  return true;
}

// A copy stands in for a tensor whose strides do not fit.
bool Call::tensor(const std::string& name, PyObject* object, const OperandKind* kind) {
  coda_tensor& out = tensors_[tensor_count_++];
  dlpack::Tensor view{};
  if (!view_of(name, object, view)) return false;
  if (kind != nullptr && view.dimensions != 2) {
    PyErr_Format(PyExc_ValueError,
                 "%s: expected [rows, columns], got %d dimensions: make it a matrix with "
                 ".reshape(rows, columns)",
                 name.c_str(), static_cast<int>(view.dimensions));
    return false;
  }
  const bool either = kind != nullptr && (kind->either || device_type_ == dlpack::kCpu);
  if (!fill(view, either, out)) {
    PyObject* copy = PyObject_CallFunctionObjArgs(torch.copy, object, nullptr);
    if (copy == nullptr) return false;
    copies_[copy_count_++] = copy;
    if (!view_of(name, copy, view)) return false;
    fill(view, either, out);
  }
  if (kind != nullptr && kind->transposed) {
    std::swap(out.rows, out.columns);
    out.column_major = out.column_major == 0 ? 1 : 0;
  }
  return true;
}

bool Call::view_of(const std::string& name, PyObject* object, dlpack::Tensor& view) {
  if (PyType_IsSubtype(Py_TYPE(object), torch.tensor) == 0) {
    PyErr_Format(PyExc_TypeError, "%s: expected a tensor, got %R", name.c_str(), object);
    return false;
  }
  if (torch.api->tensor_from_object(object, &view) != 0) return false;
  if (dtype_of(view) < 0) {
    PyErr_Format(PyExc_TypeError,
                 "%s: expected elements of type bfloat16, float16, float32, int32 or int64: "
                 "convert it with .to(dtype)",
                 name.c_str());
    return false;
  }
  if (view.dimensions > 2) {
    PyErr_Format(PyExc_ValueError,
                 "%s: expected [rows, columns] or a vector, got %d dimensions: flatten the leading "
                 "ones with .flatten(0, -2)",
                 name.c_str(), static_cast<int>(view.dimensions));
    return false;
  }
  return check_device(name, view);
}

bool Call::check_device(const std::string& name, const dlpack::Tensor& view) {
  if (first_name_ == nullptr) {
    first_name_ = &name;
    device_type_ = view.device_type;
    device_id_ = view.device_id;
  }
  if (view.device_type == device_type_ && view.device_id == device_id_) return true;
  PyErr_Format(PyExc_ValueError,
               "%s is on %s, %s on %s: expected one device, move one of them with .to(device)",
               first_name_->c_str(), device_text(device_type_, device_id_).c_str(), name.c_str(),
               device_text(view.device_type, view.device_id).c_str());
  return false;
}

}  // namespace native
