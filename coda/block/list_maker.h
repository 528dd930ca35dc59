// What the lists of every architecture are made with: calls of the catalogue on planned memory.
#pragma once
#include "coda/block/call.h"
#include "coda/block/parameters.h"

namespace coda::block {

// What backward makes again instead of finding it saved.
enum class Recompute {
  kNothing,
  kActivation,  // the MLP's activated output and the scaled stream, in epilogues that run anyway
  kBlock,       // everything but the block's input
};

class ListMaker {
 public:
  ListMaker(const Sizes& sizes, DType type, Recompute recompute, MemoryPlan& plan);

  TensorView activation(const std::string& name, DType type, int64_t rows, int64_t columns) const;
  TensorView activation(const std::string& name, int64_t columns) const {  // one row per token
    return activation(name, type_, sizes_.tokens(), columns);
  }
  // Sums over columns, [⌈columns/64⌉, M], and over rows, [⌈M/64⌉, columns].
  TensorView row_sums(const std::string& name, int64_t columns) const;
  TensorView column_sums(const std::string& name, int64_t columns) const;

  void add(Nodes& nodes, const char* label, const char* operation, const std::string& variant,
           const OperandView& a, const OperandView& b, std::vector<Argument> arguments) const;
  void add_rows(Nodes& nodes, const char* label, const char* operation,  // without operands
                std::vector<Argument> arguments) const {
    add(nodes, label, operation, type_name_, {}, {}, std::move(arguments));
  }
  // Adds a norm's, bias's gradient up from partials.
  void finish_gradient(Nodes& nodes, const TensorView& partials, const TensorView& gradient,
                       bool accumulate) const;
  // gradient = A·Bᵀ, fp32; accumulate: added to what is there.
  void weight_grad(Nodes& nodes, const char* label, const OperandView& a, const OperandView& b,
                   const Parameter& weight, bool accumulate) const;
  // The gradient of a table whose rows `ids` [M] chose; dx [M, h].
  void embedding_backward(Nodes& nodes, const TensorView& dx, const TensorView& ids,
                          const Parameter& table, bool accumulate) const;

  void attention(Nodes& nodes, const attention::Forward& tensors) const;
  void attention_backward(Nodes& nodes, const attention::Backward& tensors) const;

 protected:
  std::vector<Argument> weight_grad_arguments(const Parameter& weight, bool accumulate) const;
  // Of operations with fp32 results.
  std::string fp32_variant() const {
    return type_ == DType::kFp32 ? type_name_ : type_name_ + "-fp32";
  }

  const Sizes& sizes_;
  DType type_;
  std::string type_name_;
  Recompute recompute_;
  MemoryPlan& plan_;
};

}  // namespace coda::block
