// The parameters of a model: stock tensors, those that are multiplied together one above the other,
// with everything training keeps for them.
#pragma once
#include <deque>
#include <string>
#include <vector>

#include "coda/block/memory_plan.h"
#include "coda/block/sizes.h"

namespace coda::block {

struct StockTensor {
  std::string name;  // as Hugging Face's checkpoints have it
  std::vector<int64_t> shape;
  int64_t first_row = 0, rows = 0;  // of the parameter
};

enum class Role { kEmbedding, kMatrix, kNorm, kBias };

struct Parameter {
  std::vector<StockTensor> stock;
  Role role = Role::kMatrix;
  int64_t rows = 0, columns = 0;
  const Parameter* folded_norm = nullptr;  // γ of the norm before it, where `folded` holds W⊙γ

  TensorView weight;        // [rows, columns], what the operations read
  TensorView folded;        // the same shape
  TensorView gradient;      // fp32, of the loss by `weight`
  TensorView master, m, v;  // fp32
  TensorView squares;       // [1, rows], fp32: Σ gradient² of each

  // What the operations multiply by.
  const TensorView& multiplied() const { return folded_norm != nullptr ? folded : weight; }
  bool decays() const { return role == Role::kMatrix || role == Role::kEmbedding; }
  TensorView part(const TensorView& whole, size_t i) const;  // stock tensor i of it
  std::vector<TensorView> multiplied_parts() const;
  int64_t row_parts() const;  // partial sums along the rows; a stock tensor begins a new one
};

struct LayerParameters {
  Parameter *input_norm = nullptr, *qkv = nullptr, *o = nullptr;
  Parameter *q_bias = nullptr, *k_bias = nullptr, *v_bias = nullptr;  // where there are biases
  Parameter *q_norm = nullptr, *k_norm = nullptr;                     // where heads are normalised
  Parameter *post_norm = nullptr, *gate_up = nullptr, *down = nullptr;
};

class Parameters {
 public:
  // training: with gradients, fp32 weights and moments.
  Parameters(const Sizes& sizes, DType type, bool fold, bool training, MemoryPlan& plan);
  Parameters(const Parameters&) = delete;
  Parameters& operator=(const Parameters&) = delete;

  const std::deque<Parameter>& all() const { return all_; }
  const Parameter& embedding() const { return *embedding_; }
  const Parameter& final_norm() const { return *final_norm_; }
  const Parameter& head() const { return *head_; }  // the embedding where they are tied
  const LayerParameters& layer(int64_t i) const { return layers_[static_cast<size_t>(i)]; }
  const TensorView& squares() const { return squares_; }  // [1, n]: those of all
  int64_t count() const;                                  // of numbers

  // Views and lists that declare() gave become real.
  void make_real(const MemoryPlan& plan, void* base);

 private:
  Parameter* add(Role role, std::vector<StockTensor> stock);
  void add_layer(int64_t i, const Sizes& sizes, bool fold);
  void declare(Parameter& parameter, DType type, bool training, MemoryPlan& plan);
  void declare_squares(MemoryPlan& plan);

  std::deque<Parameter> all_;
  std::vector<LayerParameters> layers_;
  Parameter *embedding_ = nullptr, *final_norm_ = nullptr, *head_ = nullptr;
  TensorView squares_;
};

}  // namespace coda::block
