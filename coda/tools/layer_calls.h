// The layer of layer_reference.h as a list of catalogue calls on tensors in host memory: F1 to F4,
// then B0 to B7, in the order in which they run.
#pragma once
#include <string>
#include <vector>

#include "coda/catalogue/operation.h"
#include "coda/tools/stacked_tensors.h"

namespace coda::tools {

struct LayerSizes {
  int64_t tokens = 0, hidden = 0, ffn = 0, heads = 0, kv_heads = 0, head_dim = 0;
};

struct LayerCall {
  const catalogue::Operation* operation = nullptr;
  const catalogue::Variant* variant = nullptr;
  catalogue::Call call;
};

class LayerCalls : public StackedTensors {  // named as by layer_reference()
 public:
  // inputs: as layer_reference() takes them, already numbers of the type. The norms' weights are
  // kept, or folded into the weights behind them by the first calls.
  LayerCalls(const LayerSizes& sizes, DType type, bool folded, const reference::Arrays& inputs);

  const std::vector<LayerCall>& calls() const { return calls_; }

 private:
  using Names = std::vector<std::string>;

  Argument port(const char* name, const std::string& tensor) const;
  std::vector<TensorView> views(const Names& names, bool transposed = false) const;
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
  std::vector<LayerCall> calls_;
};

}  // namespace coda::tools
