// The values of one call of an operation, read from Python objects into what libcoda takes.
// Functions that fail set a Python error and give false.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "library.h"
#include "workspace_sizes.h"

namespace native {

// How an operand is put together from a value: a tensor, or a tuple of them.
struct OperandKind {
  std::string name;  // the value's, for messages; "": the operation has no operands
  bool transposed = false, pair = false, halves = false;
  bool either = false;  // GPU kernels take both majors; else a tensor is row-major there
  coda_cut cut = CODA_CUT_NONE;
};

struct Port {
  std::string port, name;  // libcoda's name, and the value's for messages
};

struct Declaration {
  std::string operation;
  OperandKind a, b;
  std::vector<Port> ports;
  const coda_program* program = nullptr;  // instead of the operation, which is then its name
};

// Whether a call of libcoda did; else its error as Python's.
bool succeeded(coda_status status);

inline constexpr size_t kMaxPorts = 32, kMaxSegments = 4;

class Call {
 public:
  explicit Call(const Declaration& declaration) : declaration_(declaration) {}
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call();

  // Values of A and B, where the operation has operands, then of every port: a tensor, a tuple or
  // list of tensors (one per segment), a number, or None for a port that is left out.
  bool read(PyObject* const* values, size_t count);
  // On the device of the tensors; on a GPU on torch's current stream.
  bool run(const char* variant);

  // For a function of libcoda that takes a structure of its own: the tensor of a port, null where
  // it was left out; and where to run.
  const coda_tensor* tensor_of(const char* port) const;
  bool find_device(coda_options& options) const;

 private:
  const char* operation() const { return declaration_.operation.c_str(); }
  const coda_operand* a() const { return declaration_.a.name.empty() ? nullptr : &a_; }
  const coda_operand* b() const { return declaration_.b.name.empty() ? nullptr : &b_; }

  bool operand(const OperandKind& kind, PyObject* value, coda_operand& out);
  bool port(const Port& port, PyObject* value);
  // kind: of an operand; null for a port.
  bool tensors(const std::string& name, PyObject* list, size_t first, const OperandKind* kind);
  bool tensor(const std::string& name, PyObject* object, const OperandKind* kind);
  bool view_of(const std::string& name, PyObject* object, dlpack::Tensor& view);
  bool check_device(const std::string& name, const dlpack::Tensor& view);
  bool find_workspace(const char* variant, coda_options& options, PyObject*& workspace);
  Key workspace_key(const char* variant) const;

  const Declaration& declaration_;
  coda_operand a_{}, b_{};
  std::array<coda_tensor, (kMaxPorts + 2) * kMaxSegments> tensors_;
  std::array<coda_argument, kMaxPorts> arguments_;
  std::array<PyObject*, (kMaxPorts + 2) * kMaxSegments> copies_;
  size_t tensor_count_ = 0, argument_count_ = 0, copy_count_ = 0;
  const std::string* first_name_ = nullptr;  // of the tensor whose device is the call's
  int32_t device_type_ = 0, device_id_ = 0;
};

}  // namespace native
