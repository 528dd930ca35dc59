#include "coda/block/parameters.h"

#include "coda/block/call.h"

namespace coda::block {
namespace {

// Floats of its share of the sums of squares, so that each begins at 256 bytes.
int64_t squares_count(const Parameter& parameter) { return (parameter.rows + 63) / 64 * 64; }

}  // namespace

StockTensor stock_matrix(std::string name, int64_t rows, int64_t columns) {
  return {std::move(name), {rows, columns}, 0, rows};
}
StockTensor stock_vector(std::string name, int64_t length) {
  return {std::move(name), {length}, 0, 1};
}

TensorView Parameter::part(const TensorView& whole, size_t i) const {
  return rows_of(whole, stock[i].first_row, stock[i].rows);
}

std::vector<TensorView> Parameter::multiplied_parts() const {
  std::vector<TensorView> parts;
  for (size_t i = 0; i < stock.size(); ++i) parts.push_back(part(multiplied(), i));
  return parts;
}

int64_t Parameter::row_parts() const {
  int64_t count = 0;
  for (const StockTensor& tensor : stock) count += partials(tensor.rows);
  return count;
}

Parameter* Parameters::add(Role role, std::vector<StockTensor> stock) {
  Parameter& parameter = all_.emplace_back();
  parameter.role = role;
  parameter.columns = stock[0].shape.back();
  for (StockTensor& tensor : stock) {
    tensor.first_row = parameter.rows;
    parameter.rows += tensor.rows;
  }
  parameter.stock = std::move(stock);
  return &parameter;
}

void Parameters::add_embedding(const std::string& name, const Sizes& sizes) {
  embedding_ = add(Role::kEmbedding, {stock_matrix(name, sizes.vocab, sizes.hidden)});
}

void Parameters::add_head(const Sizes& sizes) {
  head_ = sizes.tied
              ? embedding_
              : add(Role::kEmbedding, {stock_matrix("lm_head.weight", sizes.vocab, sizes.hidden)});
}

void Parameters::declare(DType type, bool training, MemoryPlan& plan) {
  for (Parameter& parameter : all_) declare(parameter, type, training, plan);
  if (training) declare_squares(plan);
}

void Parameters::declare(Parameter& parameter, DType type, bool training, MemoryPlan& plan) {
  const auto one = [&](const char* what, Use use, DType of) {
    return plan.declare(parameter.stock[0].name + what, use, of, parameter.rows, parameter.columns);
  };
  parameter.weight = one("", Use::kWeights, type);
  if (parameter.folded_norm != nullptr) {
    parameter.folded = one(", folded", Use::kFolded, type);
  }
  if (!training) return;
  parameter.gradient = one(", gradient", Use::kGradients, DType::kFp32);
  parameter.master = one(", fp32", Use::kMaster, DType::kFp32);
  parameter.m = one(", first moment", Use::kMoments, DType::kFp32);
  parameter.v = one(", second moment", Use::kMoments, DType::kFp32);
}

void Parameters::declare_squares(MemoryPlan& plan) {
  int64_t total = 0;
  for (const Parameter& parameter : all_) total += squares_count(parameter);
  squares_ = plan.declare("sums of squared gradients", Use::kInputs, DType::kFp32, 1, total);
  const auto* next = static_cast<const char*>(squares_.data);
  for (Parameter& parameter : all_) {
    parameter.squares = squares_;
    parameter.squares.data = next;
    parameter.squares.columns = parameter.squares.ld = parameter.rows;
    next += squares_count(parameter) * squares_.element_bytes;
  }
}

int64_t Parameters::count() const {
  int64_t sum = 0;
  for (const Parameter& parameter : all_) sum += parameter.rows * parameter.columns;
  return sum;
}

void Parameters::make_real(const MemoryPlan& plan, void* base) {
  for (Parameter& p : all_) {
    for (TensorView* view : {&p.weight, &p.folded, &p.gradient, &p.master, &p.m, &p.v, &p.squares})
      *view = plan.real(*view, base);
  }
  squares_ = plan.real(squares_, base);
}

}  // namespace coda::block
