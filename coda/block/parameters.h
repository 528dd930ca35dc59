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

StockTensor stock_matrix(std::string name, int64_t rows, int64_t columns);
StockTensor stock_vector(std::string name, int64_t length);

enum class Role {
  kEmbedding,
  kMatrix,
  kNorm,  // a row of weights and, where the norm has one, one of biases
  kBias,
};

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

// What all architectures have; theirs add the layers'.
class Parameters {
 public:
  virtual ~Parameters() = default;
  Parameters(const Parameters&) = delete;
  Parameters& operator=(const Parameters&) = delete;

  const std::deque<Parameter>& all() const { return all_; }
  const Parameter& embedding() const { return *embedding_; }
  const Parameter& final_norm() const { return *final_norm_; }
  const Parameter& head() const { return *head_; }        // the embedding where they are tied
  const TensorView& squares() const { return squares_; }  // [1, n]: those of all
  int64_t count() const;                                  // of numbers

  // Views and lists that declare() gave become real.
  void make_real(const MemoryPlan& plan, void* base);

 protected:
  Parameters() = default;
  Parameter* add(Role role, std::vector<StockTensor> stock);
  void add_embedding(const std::string& name, const Sizes& sizes);
  void add_head(const Sizes& sizes);
  // After all add(). training: with gradients, fp32 weights and moments.
  void declare(DType type, bool training, MemoryPlan& plan);

  Parameter* final_norm_ = nullptr;

 private:
  static void declare(Parameter& parameter, DType type, bool training, MemoryPlan& plan);
  void declare_squares(MemoryPlan& plan);

  std::deque<Parameter> all_;
  Parameter *embedding_ = nullptr, *head_ = nullptr;
  TensorView squares_;
};

}  // namespace coda::block
