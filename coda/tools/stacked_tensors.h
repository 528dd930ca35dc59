// Named tensors in host memory, with guard bands; several names may share one tensor, one above the
// other, as the weights of a layer that are multiplied together.
#pragma once
#include <cstddef>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "coda/tools/guarded_tensor.h"

namespace coda::tools {

class StackedTensors {
 public:
  using Named = std::vector<std::pair<std::string, int64_t>>;  // rows

  StackedTensors() = default;
  StackedTensors(const StackedTensors&) = delete;
  StackedTensors& operator=(const StackedTensors&) = delete;

  // One tensor of several names; `whole` names all of it. Lines are padded.
  void stack(const std::string& whole, DType type, int64_t columns, const Named& parts);
  void set(const std::string& name, const reference::Array& values);

  TensorView view(const std::string& name) const;
  reference::Array result(const std::string& name) const;
  std::string damage() const;  // beside a tensor, or nothing
  std::vector<std::span<std::byte>> memory();

 private:
  struct Rows {  // some of a tensor's
    size_t tensor = 0;
    int64_t begin = 0, count = 0;
  };

  std::deque<GuardedTensor> tensors_;
  std::map<std::string, Rows> names_;
};

}  // namespace coda::tools
