// The layer of layer_reference.h as a list of catalogue calls on tensors in host memory: F1 to F4, then
// B0 to B7, in the order in which they run.
#pragma once
#include <cstddef>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "coda/catalogue/operation.h"
#include "coda/tools/guarded_tensor.h"

namespace coda::tools {

struct LayerSizes {
  int64_t tokens = 0, hidden = 0, ffn = 0, heads = 0, kv_heads = 0, head_dim = 0;
};

struct LayerCall {
  const catalogue::Operation* operation = nullptr;
  const catalogue::Variant* variant = nullptr;
  catalogue::Call call;
};

class LayerCalls {
 public:
  // inputs: as layer_reference() takes them, already numbers of the type. The norms' weights are kept,
  // or folded into the weights behind them by the first calls.
  LayerCalls(const LayerSizes& sizes, DType type, bool folded, const reference::Arrays& inputs);
  LayerCalls(const LayerCalls&) = delete;
  LayerCalls& operator=(const LayerCalls&) = delete;

  const std::vector<LayerCall>& calls() const { return calls_; }
  std::vector<std::span<std::byte>> memory();
  reference::Array result(const std::string& name) const;  // named as by layer_reference()
  std::string damage() const;                              // beside a tensor, or nothing

 private:
  struct Rows {  // some of a tensor's
    size_t tensor = 0;
    int64_t begin = 0, count = 0;
  };
  using Named = std::vector<std::pair<std::string, int64_t>>;  // rows
  using Names = std::vector<std::string>;

  // One tensor of several names, one above the other; `whole` names all of it.
  void stack(const std::string& whole, DType type, int64_t columns, const Named& parts = {});
  TensorView view(const std::string& name) const;
  Argument port(const char* name, const std::string& tensor) const;
  OperandView operand(Cut cut, const Names& names, bool transposed = false) const;
  void add(const char* operation, const std::string& variant, const OperandView& a,
           const OperandView& b, std::vector<Argument> arguments);
  std::vector<Argument> row_factor(const std::string& squares) const;

  void make_inputs(const reference::Arrays& inputs);
  void make_activations();
  void make_gradients();
  void add_folds();
  void add_residual_norm(const char* a, const char* weight, const char* residual,
                         const std::string& number);
  void add_forward();
  void add_norm_backward(const Names& dz, const Names& weights, const char* along,
                         const std::string& number);
  void add_weight_grad(const Names& dz, const std::string& x, const std::string& weight,
                       const std::string& number = "");
  void add_backward();

  LayerSizes sizes_;
  DType type_;
  std::string type_name_, form_;
  bool folded_;
  std::deque<GuardedTensor> tensors_;
  std::map<std::string, Rows> names_;
  std::vector<LayerCall> calls_;
};

}  // namespace coda::tools
